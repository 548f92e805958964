package rowset

import (
	"bytes"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// FuzzBuilder cuts its input into rows, and holds what readers give against
// the rows and against plain slices decoded one by one.
func FuzzBuilder(f *testing.F) {
	f.Add(uint8(2), int64(-1), []byte("\x03abc\xff\x00\x01x"))
	f.Add(uint8(0), int64(-1), []byte("\x00\x00"))
	f.Add(uint8(1), int64(9), []byte("\x05hello\x02"))
	f.Add(uint8(7), int64(100), bytes.Repeat([]byte{4, 0, 0, 0, 1}, 20))
	oids := []uint32{pgtype.TextOID, pgtype.ByteaOID, pgtype.Int4OID, pgtype.JSONBOID, pgtype.DateOID, pgtype.BoolOID, pgtype.TimestamptzOID, pgtype.XIDOID, 99_999}
	ms := typemap.NewMaps()
	f.Fuzz(func(t *testing.T, columns uint8, limit int64, data []byte) {
		var fields []pgconn.FieldDescription
		for i := range int(columns) {
			oid := oids[i%len(oids)]
			fd := field("c", oid)
			fd.Format = ResultFormats[oid]
			fields = append(fields, fd)
		}
		b := NewBuilder(fields, Limits{Rows: 50, Bytes: limit})
		early := NewBuilder(fields, Limits{Rows: 50, Bytes: limit})
		early.Decode(ms)
		var want [][][]byte
		var taken int64
		for len(data) > 0 {
			row := make([][]byte, columns)
			size := int64(0)
			for i := range row {
				if len(data) == 0 {
					break
				}
				n := int(data[0])
				data = data[1:]
				if n == 255 {
					continue // NULL
				}
				n = min(n, len(data))
				row[i] = append([]byte{}, data[:n]...)
				data = data[n:]
				size += int64(n)
			}
			if columns == 0 {
				data = data[1:]
			}
			size += perValue * int64(columns)
			fits := len(want) < 50 && (limit < 0 || taken+size <= limit)
			early.Append(row)
			if got := b.Append(row); got != fits {
				t.Fatalf("Append = %v with %d of %d bytes taken", got, taken, limit)
			}
			if fits {
				taken += size
				want = append(want, row)
				for _, v := range row {
					defer clear(v) // memory is the caller's
				}
			}
		}
		set := b.Set()
		if set.Len() != len(want) || set.NumColumns() != int(columns) {
			t.Fatalf("%d rows of %d columns", set.Len(), set.NumColumns())
		}
		for r, row := range want {
			for c, v := range row {
				got := set.wire(r*len(row) + c)
				if !bytes.Equal(got, v) || (got == nil) != (v == nil) {
					t.Fatalf("row %d column %d: %q (nil %v), want %q", r, c, got, got == nil, v)
				}
			}
		}
		funcs := newValueFuncs(pgtype.NewMap(), fields)
		for _, rows := range []driver.Rows{set.Once(ms, nil), set.Rows(ms, nil), set.Rows(ms, nil), early.Set().Once(ms, nil)} {
			dest := make([]driver.Value, columns)
			for r, row := range want {
				err := rows.Next(dest)
				for c, v := range row {
					if v == nil {
						if dest[c] != nil {
							t.Fatalf("row %d column %d: %v for NULL", r, c, dest[c])
						}
						continue
					}
					one, bad := funcs[c](v)
					if bad != nil {
						if err == nil {
							t.Fatalf("row %d: no error, want %v", r, bad)
						}
						err = nil
						break
					}
					if dump(one) != dump(dest[c]) {
						t.Fatalf("row %d column %d: %v, want %v", r, c, dest[c], one)
					}
				}
				if err != nil {
					t.Fatalf("row %d: %v", r, err)
				}
			}
			if err := rows.Next(dest); err != io.EOF {
				t.Fatalf("after the last row: %v", err)
			}
		}
	})
}
