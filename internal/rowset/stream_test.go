package rowset

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// liveRows are pgx.Rows of given values. They reuse their memory, as a
// connection does.
type liveRows struct {
	pgx.Rows
	fields []pgconn.FieldDescription
	rows   [][][]byte
	values [][]byte
	err    error
	closed bool
}

func (l *liveRows) FieldDescriptions() []pgconn.FieldDescription { return l.fields }
func (l *liveRows) RawValues() [][]byte                          { return l.values }
func (l *liveRows) Close()                                       { l.closed, l.values = true, nil }
func (l *liveRows) Next() bool {
	for _, v := range l.values {
		copy(v, bytes.Repeat([]byte("#"), len(v)))
	}
	if l.closed || len(l.rows) == 0 {
		l.Close()
		return false
	}
	l.values = nil
	for _, v := range l.rows[0] {
		l.values = append(l.values, bytes.Clone(v))
	}
	l.rows = l.rows[1:]
	return true
}

func (l *liveRows) Err() error {
	if l.closed {
		return l.err
	}
	return nil
}

func TestStream(t *testing.T) {
	broken := errors.New("the connection broke")
	for _, tt := range []struct {
		name             string
		rows, take, read int // read of them before Close; -1: to the end
		err              error
	}{
		{"nothing kept", 5, 0, -1, nil},
		{"some kept", 5, 2, -1, nil},
		{"all kept", 5, 5, -1, nil},
		{"no rows", 0, 0, -1, nil},
		{"an error at the end", 5, 2, -1, broken},
		{"closed before the first row", 5, 2, 0, nil},
		{"closed within the prefix", 5, 2, 1, broken},
		{"closed at the pending row", 5, 2, 3, nil},
		{"closed within what is live", 5, 2, 4, broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := &liveRows{fields: product, rows: productRows(t, tt.rows), err: tt.err}
			want, _ := readAll(t, build(t, product, productRows(t, tt.rows)).Once(typemap.NewMaps(), nil))
			b := NewBuilder(live.FieldDescriptions(), Limits{Rows: tt.take, Bytes: -1})
			var pending [][]byte
			for live.Next() {
				if !b.Append(live.RawValues()) {
					pending = live.RawValues()
					break
				}
			}
			done := 0
			rows := NewStream(b.Set(), pending, live, pgtype.NewMap(), func() {
				done++
				if !live.closed {
					t.Error("done before live was closed")
				}
			})
			end := tt.err
			if end == nil {
				end = io.EOF
			}
			if tt.read >= 0 {
				for i := range tt.read {
					dest := make([]driver.Value, 4)
					if err := rows.Next(dest); err != nil || !reflect.DeepEqual(dest, want[i]) {
						t.Errorf("row %d: %v, %v", i, dest, err)
					}
				}
				if done != 0 {
					t.Error("done while there are rows")
				}
			} else if got, err := readAll(t, rows); err != end || !reflect.DeepEqual(got, want) {
				t.Errorf("read %v, %v", got, err)
			} else if done != 1 {
				t.Errorf("done %d times at the end", done)
			}
			for range 2 {
				if err := rows.Close(); err != tt.err {
					t.Errorf("Close: %v", err)
				}
				if err := rows.Next(make([]driver.Value, 4)); err != end {
					t.Errorf("Next after Close: %v", err)
				}
			}
			if done != 1 {
				t.Errorf("done %d times", done)
			}
		})
	}
}

// A result that is not to be kept at all has no prefix.
func TestStreamWithoutPrefix(t *testing.T) {
	live := &liveRows{fields: product, rows: productRows(t, 2)}
	live.Next()
	rows := NewStream(nil, live.RawValues(), live, pgtype.NewMap(), func() {})
	live.fields = nil // the connection's, reused
	got, err := readAll(t, rows)
	want, _ := readAll(t, build(t, product, productRows(t, 2)).Once(typemap.NewMaps(), nil))
	if err != io.EOF || !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	if rows.Columns()[0] != "id" {
		t.Errorf("columns %q", rows.Columns())
	}
}
