package rowset

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

var noLimits = Limits{Rows: -1, Bytes: -1}

// product is a row as shops have them, of four columns.
var product = []pgconn.FieldDescription{
	{Name: "id", DataTypeOID: pgtype.Int8OID, DataTypeSize: 8, TypeModifier: -1, Format: 1},
	{Name: "name", DataTypeOID: pgtype.TextOID, DataTypeSize: -1, TypeModifier: -1},
	{Name: "price", DataTypeOID: pgtype.NumericOID, DataTypeSize: -1, TypeModifier: -1},
	{Name: "created_at", DataTypeOID: pgtype.TimestamptzOID, DataTypeSize: 8, TypeModifier: -1, Format: 1},
}

func productRows(t testing.TB, n int) [][][]byte {
	rows := make([][][]byte, n)
	for i := range rows {
		rows[i] = [][]byte{
			encode(t, pgtype.Int8OID, int64(1000+i)), []byte("a product's name"), []byte("12.50"),
			encode(t, pgtype.TimestamptzOID, time.Unix(1_700_000_000+int64(i), 0)),
		}
	}
	return rows
}

func build(t testing.TB, fields []pgconn.FieldDescription, rows [][][]byte) *Set {
	b := NewBuilder(fields, noLimits)
	for _, row := range rows {
		if !b.Append(row) {
			t.Fatal("refused")
		}
	}
	return b.Set()
}

func readAll(t testing.TB, rows driver.Rows) (all [][]driver.Value, end error) {
	for {
		dest := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(dest); err != nil {
			return all, err
		}
		all = append(all, dest)
	}
}

func TestLimits(t *testing.T) {
	fields := []pgconn.FieldDescription{field("a", pgtype.TextOID), field("b", pgtype.TextOID)}
	row := [][]byte{[]byte("123"), nil} // 3 bytes, and 4 for each value
	tests := []struct {
		name   string
		limits Limits
		want   int
	}{
		{"none", noLimits, 5},
		{"rows", Limits{Rows: 3, Bytes: -1}, 3},
		{"no rows", Limits{Rows: 0, Bytes: -1}, 0},
		{"bytes, inclusive", Limits{Rows: -1, Bytes: 22}, 2},
		{"bytes, one less", Limits{Rows: -1, Bytes: 21}, 1},
		{"no bytes", Limits{Rows: -1, Bytes: 0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder(fields, tt.limits)
			n := 0
			for n < 5 && b.Append(row) {
				n++
			}
			if n != tt.want || b.Len() != tt.want {
				t.Errorf("took %d rows, Len %d, want %d", n, b.Len(), tt.want)
			}
			if n < 5 && b.Append(row) {
				t.Error("took a row after refusing one like it")
			}
			s := b.Set()
			if s.Len() != tt.want || s.WireBytes() != int64(3*tt.want) || s.NumColumns() != 2 {
				t.Errorf("set of %d rows, %d bytes, %d columns", s.Len(), s.WireBytes(), s.NumColumns())
			}
		})
	}
}

// A long row that does not fit must not keep a short one from being taken.
func TestRefusedRowIsNotAdded(t *testing.T) {
	b := NewBuilder([]pgconn.FieldDescription{field("a", pgtype.TextOID)}, Limits{Rows: -1, Bytes: 10})
	for _, step := range []struct {
		value string
		want  bool
	}{{"1234567", false}, {"", true}, {"123", false}, {"12", true}, {"", false}} {
		if got := b.Append([][]byte{[]byte(step.value)}); got != step.want {
			t.Errorf("Append(%q) = %v", step.value, got)
		}
	}
	if b.Append(nil) || b.Append(make([][]byte, 2)) {
		t.Error("took a row of another width")
	}
	got, _ := readAll(t, b.Set().Once(typemap.NewMaps(), nil))
	if want := [][]driver.Value{{""}, {"12"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBuilderCopies(t *testing.T) {
	fields := []pgconn.FieldDescription{field("a", pgtype.TextOID)}
	value := []byte("before")
	b := NewBuilder(fields, noLimits)
	b.Append([][]byte{value})
	s := b.Set()
	copy(value, "after!")
	fields[0].Name = "changed"
	rows := s.Once(typemap.NewMaps(), nil)
	got, _ := readAll(t, rows)
	if got[0][0] != "before" || rows.Columns()[0] != "a" || s.Fields()[0].Name != "a" {
		t.Errorf("got %v of %v", got, rows.Columns())
	}
	// The scratch goes to the next builder.
	b = NewBuilder(fields, noLimits)
	b.Append([][]byte{[]byte("other!")})
	b.Set()
	if got, _ := readAll(t, s.Once(typemap.NewMaps(), nil)); got[0][0] != "before" {
		t.Errorf("after another builder: %v", got)
	}
}

func TestShapeIsShared(t *testing.T) {
	s := build(t, product, productRows(t, 1))
	if ShapeOf(s.Shape(), product) != s.Shape() {
		t.Error("equal columns made another shape")
	}
	other := append([]pgconn.FieldDescription(nil), product...)
	other[1].TypeModifier = 24
	if ShapeOf(s.Shape(), other) == s.Shape() || ShapeOf(s.Shape(), product[:3]) == s.Shape() {
		t.Error("other columns share the shape")
	}
	b := s.Shape().NewBuilder(noLimits)
	b.Append(productRows(t, 1)[0])
	if shared := b.Set(); shared.Shape() != s.Shape() || shared.Size() != s.Size()-s.Shape().Size() {
		t.Errorf("sizes %d, shared %d, shape %d", s.Size(), shared.Size(), s.Shape().Size())
	}
}

func TestTail(t *testing.T) {
	tail := errors.New("the connection broke")
	s := build(t, product, productRows(t, 2))
	for name, open := range map[string]func(*typemap.Maps, error) driver.Rows{"Rows": s.Rows, "Once": s.Once} {
		t.Run(name, func(t *testing.T) {
			for _, want := range []error{nil, tail} {
				end := want
				if end == nil {
					end = io.EOF
				}
				rows := open(typemap.NewMaps(), want)
				got, err := readAll(t, rows)
				if len(got) != 2 || err != end {
					t.Errorf("read %d rows, %v", len(got), err)
				}
				if err := rows.Next(make([]driver.Value, 4)); err != end {
					t.Errorf("Next after the end: %v", err)
				}
				if err := rows.Close(); err != want {
					t.Errorf("Close: %v", err)
				}
				rows = open(typemap.NewMaps(), want)
				if err := rows.Close(); err != want {
					t.Errorf("Close before the first row: %v", err)
				}
				if err := rows.Next(make([]driver.Value, 4)); err != end {
					t.Errorf("Next after Close: %v", err)
				}
			}
		})
	}
}

// A miss must not pay for values that nobody may read again, and what can't be
// decoded must fail at its row, each time.
func TestKeeping(t *testing.T) {
	s := build(t, product, productRows(t, 3))
	ms := typemap.NewMaps()
	readAll(t, s.Once(ms, nil))
	if s.values.Load() != nil {
		t.Error("Once kept values")
	}
	first, _ := readAll(t, s.Rows(ms, nil))
	if s.kept() == nil {
		t.Error("Rows kept no values")
	}
	second, _ := readAll(t, s.Rows(ms, nil))
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%v, then %v", first, second)
	}

	broken := build(t, []pgconn.FieldDescription{{Name: "n", DataTypeOID: pgtype.Int4OID, Format: 1}}, [][][]byte{{{0, 0, 0, 1}}, {{1}}, {nil}})
	for range 3 {
		rows := broken.Rows(ms, nil)
		dest := make([]driver.Value, 1)
		if err := rows.Next(dest); err != nil || dest[0] != int64(1) {
			t.Errorf("row 0: %v, %v", dest, err)
		}
		if err := rows.Next(dest); err == nil || err.Error() != "convert field 0 failed: int4: invalid length: expected 4 bytes, got 1" {
			t.Errorf("row 1: %v", err)
		}
		if err := rows.Next(dest); err != nil || dest[0] != nil {
			t.Errorf("row 2: %v, %v", dest, err)
		}
	}
	if broken.kept() != nil {
		t.Error("kept what can't be decoded")
	}
}

// Fault kind 11: each of the readers writes into all that it is given.
func TestReadersShareNothing(t *testing.T) {
	fields := []pgconn.FieldDescription{
		{Name: "b", DataTypeOID: pgtype.ByteaOID, Format: 1}, {Name: "j", DataTypeOID: pgtype.JSONBOID}, {Name: "t", DataTypeOID: pgtype.TextOID},
		{Name: "h", DataTypeOID: pgtype.ByteaOID},
	}
	want := []driver.Value{[]byte("bytes"), []byte(`{"a": 1}`), "text", []byte{0xff}}
	s := build(t, fields, [][][]byte{{[]byte("bytes"), []byte(`{"a": 1}`), []byte("text"), []byte(`\xff`)}})
	ms := typemap.NewMaps()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 50 {
				rows := s.Rows(ms, nil)
				if i%4 == 0 {
					rows = s.Once(ms, nil)
				}
				columns := rows.Columns()
				for i, fd := range fields {
					if columns[i] != fd.Name {
						t.Errorf("columns %q", columns)
					}
					columns[i] = "overwritten"
				}
				dest := make([]driver.Value, 4)
				if i%8 == 3 {
					rows.Close() // some leave early
					continue
				}
				if err := rows.Next(dest); err != nil {
					t.Error(err)
				}
				if !reflect.DeepEqual(dest, want) {
					t.Errorf("got %q", dest)
				}
				for _, v := range dest {
					if b, ok := v.([]byte); ok {
						for j := range b {
							b[j] = byte(i)
						}
						_ = append(b, "and beyond"...)
					}
				}
				if err := rows.Next(dest); err != io.EOF {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Decoding early must keep what decoding late keeps, and give its map back.
func TestDecodeEarly(t *testing.T) {
	fields := append([]pgconn.FieldDescription{{Name: "b", DataTypeOID: pgtype.ByteaOID, Format: 1}, field("j", pgtype.JSONOID)}, product...)
	var rows [][][]byte
	for i, row := range productRows(t, 5) {
		rows = append(rows, append([][]byte{{byte(i)}, []byte("{}")}, row...))
	}
	rows = append(rows, make([][]byte, len(fields)), [][]byte{{}, {}, nil, {}, {}, nil})
	ms := typemap.NewMaps()
	want, _ := readAll(t, build(t, fields, rows).Once(ms, nil))
	for _, limit := range []int{-1, 3, 0} {
		b := NewBuilder(fields, Limits{Rows: limit, Bytes: -1})
		b.Decode(ms)
		for _, row := range rows {
			b.Append(row)
		}
		s := b.Set()
		if s.Len() > 0 && s.kept() == nil {
			t.Error("no values")
		}
		got, _ := readAll(t, s.Once(ms, nil))
		if len(got) != s.Len() || len(got) > 0 && !reflect.DeepEqual(got, want[:s.Len()]) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	b := NewBuilder(product, noLimits)
	b.Decode(ms)
	row := productRows(t, 1)[0]
	b.Append(row)
	b.Append([][]byte{{1}, nil, nil, nil})
	b.Append(row)
	s := b.Set()
	r := s.Rows(ms, nil)
	dest := make([]driver.Value, 4)
	if s.kept() != nil || r.Next(dest) != nil || r.Next(dest) == nil || r.Next(dest) != nil {
		t.Error("the value that can't be decoded is not an error at its row alone")
	}
	r.Close()
	if ms.Idle() != 1 {
		t.Errorf("%d maps after one use at a time", ms.Idle())
	}
}

func TestReadersGiveTheirMapBack(t *testing.T) {
	// A reader gives its map back at its end, at Close, and only once.
	s := build(t, product, productRows(t, 2))
	ms := typemap.NewMaps()
	readAll(t, s.Once(ms, nil))
	rows := s.Once(ms, nil)
	if err := rows.Next(make([]driver.Value, 4)); err != nil {
		t.Fatal(err)
	}
	rows.Close()
	rows.Close()
	if ms.Idle() != 1 {
		t.Errorf("%d maps after two readers, one after the other", ms.Idle())
	}
}

// heap returns what make leaves on the heap for each of n.
func heap(n int, make func(i int)) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		make(i)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
}

func TestMemoryPerEntry(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's heap is another")
	}
	const n = 20_000
	row := productRows(t, 1)[0]
	sets := make([]*Set, n)
	shape := ShapeOf(nil, product)
	ms := typemap.NewMaps()
	for _, tt := range []struct {
		name    string
		builder func() *Builder
		limit   float64 // 0: only reported
		decoded float64
	}{
		{"shared shape", func() *Builder { return shape.NewBuilder(noLimits) }, 350, 500},
		{"own shape", func() *Builder { return NewBuilder(product, noLimits) }, 0, 0},
	} {
		clear(sets)
		build := func(i int) {
			b := tt.builder()
			b.Append(row)
			sets[i] = b.Set()
		}
		plain := heap(n, build)
		decoded := plain + heap(n, func(i int) { sets[i].keep(ms) })
		wire := float64(sets[0].WireBytes())
		t.Logf("%s: %.0f bytes over %.0f on the wire, %.0f with decoded values; Size says %d", tt.name, plain-wire, wire, decoded-wire, sets[0].Size())
		if tt.limit > 0 && (plain-wire > tt.limit || decoded-wire > tt.decoded) {
			t.Errorf("%s: more than %v and %v", tt.name, tt.limit, tt.decoded)
		}
		if size := float64(sets[0].Size()); decoded > size*1.15 {
			t.Errorf("%s: Size says %v, the heap %v", tt.name, size, decoded)
		}
	}
	runtime.KeepAlive(sets)
}

// Size must bound what is held, for any mixture of types.
func TestSizeIsABound(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's heap is another")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	all := []func() (uint32, []byte){
		func() (uint32, []byte) { return pgtype.TextOID, bytes.Repeat([]byte("x"), rng.IntN(300)) },
		func() (uint32, []byte) { return pgtype.ByteaOID, bytes.Repeat([]byte("x"), rng.IntN(300)) },
		func() (uint32, []byte) { return pgtype.JSONBOID, bytes.Repeat([]byte("x"), rng.IntN(300)) },
		func() (uint32, []byte) { return pgtype.Int8OID, encode(t, pgtype.Int8OID, rng.Int64()) },
		func() (uint32, []byte) { return pgtype.Float8OID, encode(t, pgtype.Float8OID, rng.Float64()) },
		func() (uint32, []byte) { return pgtype.OIDOID, encode(t, pgtype.OIDOID, uint32(math.MaxUint32)) },
		func() (uint32, []byte) { return pgtype.BoolOID, []byte{1} },
		func() (uint32, []byte) { return pgtype.TimestampOID, encode(t, pgtype.TimestampOID, time.Unix(1, 0)) },
		func() (uint32, []byte) {
			return pgtype.DateOID, encode(t, pgtype.DateOID, pgtype.Date{InfinityModifier: pgtype.NegativeInfinity, Valid: true})
		},
		func() (uint32, []byte) { return pgtype.TextOID, nil },
	}
	ms := typemap.NewMaps()
	for _, columns := range []int{1, 3, 10} {
		for first := range all {
			var fields []pgconn.FieldDescription
			for c := range columns {
				oid, _ := all[(first+c)%len(all)]()
				fd := field("column", oid)
				fd.Format = ResultFormats[oid]
				fields = append(fields, fd)
			}
			const n = 200
			sets := make([]*Set, n)
			got := heap(n, func(i int) {
				b := NewBuilder(fields, noLimits)
				for range 20 {
					row := make([][]byte, columns)
					for c := range row {
						_, row[c] = all[(first+c)%len(all)]()
					}
					b.Append(row)
				}
				sets[i] = b.Set()
				if sets[i].keep(ms) == nil {
					t.Fatal("not decoded")
				}
			})
			var size int64
			for _, s := range sets {
				size += s.Size()
			}
			if want := float64(size) / n; got > want*1.15 {
				t.Errorf("%d columns from %d on: Size says %.0f, the heap %.0f", columns, first, want, got)
			}
		}
	}
}
