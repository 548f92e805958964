//go:build go1.27

package rowset

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"io"
	"net/netip"
	"reflect"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

func scanOne(t testing.TB, rows driver.Rows, dest any) error {
	t.Helper()
	scanner := rows.(driver.RowsColumnScanner)
	if err := scanner.NextRow(); err != nil {
		t.Fatal(err)
	}
	return scanner.ScanColumn(driver.ScanContext{}, 0, dest)
}

func TestScanColumnRefuses(t *testing.T) {
	s := build(t, []pgconn.FieldDescription{field("t", pgtype.TextOID)}, [][][]byte{{[]byte("x")}})
	live := &liveRows{fields: s.Fields(), rows: [][][]byte{{[]byte("x")}}}
	for name, rows := range map[string]driver.Rows{
		"set": s.Rows(typemap.NewMaps(), nil), "stream": NewStream(nil, nil, live, pgtype.NewMap(), func() {}),
	} {
		scanner := rows.(driver.RowsColumnScanner)
		if err := scanner.ScanColumn(driver.ScanContext{}, 0, new(string)); err != errNoRow {
			t.Errorf("%s: before the first row: %v", name, err)
		}
		if err := scanner.NextRow(); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			dest any
			want string
		}{
			{nil, "destination not a pointer"}, {(*string)(nil), "destination pointer is nil"}, {5, "destination not a pointer"},
		} {
			if err := scanner.ScanColumn(driver.ScanContext{}, 0, tt.dest); err == nil || err.Error() != tt.want {
				t.Errorf("%s: %T: %v", name, tt.dest, err)
			}
		}
		if err := scanner.NextRow(); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		if err := scanner.ScanColumn(driver.ScanContext{}, 0, new(string)); err != errNoRow {
			t.Errorf("%s: after the last row: %v", name, err)
		}
	}
}

// holder keeps the very slice that it is given, by each of the ways in.
type holder struct{ b []byte }

func (h *holder) ScanBytes(b []byte) error { h.b = b; return nil }

type sqlHolder struct{ b []byte }

func (h *sqlHolder) Scan(v any) error { h.b, _ = v.([]byte); return nil }

type jsonHolder struct{ b []byte }

func (h *jsonHolder) UnmarshalJSON(b []byte) error { h.b = b; return nil }

// Fault kind 11: whatever a destination keeps, or writes into, no set sees it.
func TestScanColumnSharesNothing(t *testing.T) {
	text, _ := pgtype.NewMap().Encode(pgtype.ByteaArrayOID, 0, [][]byte{[]byte("ab")}, nil)
	tests := []struct {
		name   string
		oid    uint32
		format int16
		src    []byte
		dest   func() (dest any, bytes func() []byte)
	}{
		{"RawBytes", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new(sql.RawBytes); return d, func() []byte { return *d } }},
		{"[]byte", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new([]byte); return d, func() []byte { return *d } }},
		{"any", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new(any); return d, func() []byte { return (*d).([]byte) } }},
		{"Scanner", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new(sqlHolder); return d, func() []byte { return d.b } }},
		{"BytesScanner", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new(holder); return d, func() []byte { return d.b } }},
		{"DriverBytes", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new(pgtype.DriverBytes); return d, func() []byte { return *d } }},
		{"DriverBytes of text", pgtype.TextOID, 0, []byte("ab"), func() (any, func() []byte) { d := new(pgtype.DriverBytes); return d, func() []byte { return *d } }},
		{"UndecodedBytes", pgtype.ByteaOID, 1, []byte("ab"), func() (any, func() []byte) { d := new(pgtype.UndecodedBytes); return d, func() []byte { return *d } }},
		{"json", pgtype.JSONBOID, 0, []byte(`["ab"]`), func() (any, func() []byte) {
			d := new([]jsonHolder)
			return d, func() []byte { return (*d)[0].b }
		}},
		{"array of DriverBytes", pgtype.ByteaArrayOID, 0, text, func() (any, func() []byte) {
			d := new([]pgtype.DriverBytes)
			return d, func() []byte { return (*d)[0] }
		}},
		{"array of holders", pgtype.ByteaArrayOID, 0, text, func() (any, func() []byte) { d := new([]holder); return d, func() []byte { return (*d)[0].b } }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := bytes.Clone(tt.src)
			fd := field("c", tt.oid)
			fd.Format = tt.format
			s, ms := build(t, []pgconn.FieldDescription{fd}, [][][]byte{{src}}), typemap.NewMaps()
			var first []byte
			for i, open := range []func(*typemap.Maps, error) driver.Rows{s.Once, s.Rows, s.Rows, s.Once} {
				dest, get := tt.dest()
				if err := scanOne(t, open(ms, nil), dest); err != nil {
					t.Fatal(err)
				}
				got := get()
				if i == 0 {
					first = bytes.Clone(got)
				}
				if !bytes.Equal(got, first) || len(got) == 0 {
					t.Errorf("reader %d got %q, the first %q", i, got, first)
				}
				for j := range got {
					got[j] = '!'
				}
				_ = append(got, "and beyond"...)
			}
			if !bytes.Equal(s.wire(0), src) {
				t.Errorf("the set now holds %q", s.wire(0))
			}
			// The prefix of a stream is a set, too, that may serve others.
			live := &liveRows{fields: s.Fields()}
			dest, get := tt.dest()
			if err := scanOne(t, NewStream(s, nil, live, pgtype.NewMap(), func() {}), dest); err != nil {
				t.Fatal(err)
			}
			clear(get())
			if !bytes.Equal(s.wire(0), src) {
				t.Errorf("the prefix now holds %q", s.wire(0))
			}
		})
	}
}

// nester reads from another set while it is scanned into.
type nester struct {
	t    *testing.T
	set  *Set
	maps *typemap.Maps
	got  []string
}

func (n *nester) SetDimensions([]pgtype.ArrayDimension) error {
	return scanOne(n.t, n.set.Rows(n.maps, nil), &n.got)
}
func (n *nester) ScanIndex(int) any  { return new(string) }
func (n *nester) ScanIndexType() any { return new(string) }

// A destination may run queries of its own, and may panic: neither waits for
// a map nor loses more than one.
func TestScanColumnReentered(t *testing.T) {
	s := build(t, []pgconn.FieldDescription{field("a", pgtype.TextArrayOID)}, [][][]byte{{[]byte("{x,y}")}})
	ms := typemap.NewMaps()
	n := &nester{t: t, set: s, maps: ms}
	if err := scanOne(t, s.Rows(ms, nil), n); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(n.got, []string{"x", "y"}) {
		t.Errorf("nested: %q", n.got)
	}
	func() {
		defer func() { recover() }()
		scanOne(t, s.Rows(ms, nil), &nester{t: t, maps: ms}) // no set: panics
		t.Error("no panic")
	}()
	var got []string
	if err := scanOne(t, s.Rows(ms, nil), &got); err != nil || len(got) != 2 {
		t.Errorf("after a panic: %q, %v", got, err)
	}
}

func TestScanColumnConcurrently(t *testing.T) {
	fields := []pgconn.FieldDescription{
		field("a", pgtype.Int4ArrayOID), field("i", pgtype.InetOID), field("j", pgtype.JSONBOID), field("r", pgtype.Int4rangeOID), field("n", pgtype.NumericOID),
	}
	s := build(t, fields, [][][]byte{{[]byte("{1,NULL}"), []byte("10.0.0.1"), []byte(`{"k":"v"}`), []byte("[1,5)"), []byte("1.50")}})
	ms := typemap.NewMaps()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 20 {
				rows := s.Rows(ms, nil).(driver.RowsColumnScanner)
				if err := rows.NextRow(); err != nil {
					t.Error(err)
				}
				var a []*int32
				var ip netip.Addr
				var j map[string]string
				var r pgtype.Range[pgtype.Int4]
				var n pgtype.Numeric
				var raw sql.RawBytes
				for i, dest := range []any{&a, &ip, &j, &r, &n} {
					if err := rows.ScanColumn(driver.ScanContext{}, i, dest); err != nil {
						t.Errorf("column %d: %v", i, err)
					}
				}
				if err := rows.ScanColumn(driver.ScanContext{}, 2, &raw); err != nil || string(raw) != `{"k":"v"}` {
					t.Errorf("%q, %v", raw, err)
				}
				clear(raw)
				if len(a) != 2 || a[1] != nil || ip.String() != "10.0.0.1" || j["k"] != "v" || r.Upper.Int32 != 5 || !n.Valid {
					t.Errorf("%v %v %v %v %v", a, ip, j, r, n)
				}
				rows.Close()
			}
		})
	}
	wg.Wait()
}

func TestScanColumnAllocations(t *testing.T) {
	set, maps := build(t, product, productRows(t, 100)), typemap.NewMaps()
	var name, price string
	read := func() {
		rows := set.Rows(maps, nil).(driver.RowsColumnScanner)
		rows.Columns()
		for rows.NextRow() == nil {
			if rows.ScanColumn(driver.ScanContext{}, 1, &name) != nil || rows.ScanColumn(driver.ScanContext{}, 2, &price) != nil {
				t.Fatal("scan")
			}
		}
	}
	read()
	// Strings share; for numbers ConvertAssign itself may allocate.
	if got := testing.AllocsPerRun(100, read); got > 1 {
		t.Errorf("%v allocations for 100 rows", got)
	}
}

// BenchmarkScan reads 100 decoded rows column by column, as database/sql does
// with Go 1.27.
func BenchmarkScan(b *testing.B) {
	set, maps := build(b, product, productRows(b, 100)), typemap.NewMaps()
	var name string
	b.ReportAllocs()
	for b.Loop() {
		rows := set.Rows(maps, nil).(driver.RowsColumnScanner)
		for rows.NextRow() == nil {
			if err := rows.ScanColumn(driver.ScanContext{}, 1, &name); err != nil {
				b.Fatal(err)
			}
		}
	}
}
