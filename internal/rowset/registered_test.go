package rowset

import (
	"database/sql/driver"
	"io"
	"reflect"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// tailCodec is another's codec for bytea: it drops the first byte, and hands on
// the memory that it reads from.
type tailCodec struct{ pgtype.ByteaCodec }

func (tailCodec) PlanScan(*pgtype.Map, uint32, int16, any) pgtype.ScanPlan { return tailPlan{} }

type tailPlan struct{}

func (tailPlan) Scan(src []byte, target any) error {
	*target.(*[]byte) = src[1:]
	return nil
}

// countingCodec is another's codec for int4, with a state that is not safe for
// concurrent use. Its numbers are written as letters.
type countingCodec struct {
	pgtype.Int4Codec
	seen map[string]int
}

func (c *countingCodec) PlanScan(*pgtype.Map, uint32, int16, any) pgtype.ScanPlan {
	return countingPlan{c}
}

type countingPlan struct{ c *countingCodec }

func (p countingPlan) Scan(src []byte, target any) error {
	p.c.seen[string(src)]++
	switch dst := target.(type) {
	case *int32:
		*dst = int32(src[0] - 'a')
	case *[]rune:
		*dst = []rune("counted " + string(src))
	}
	return nil
}

// mapsWith gives the maps of a connection with one type registered.
func mapsWith(t testing.TB, name string, oid uint32, codec func() pgtype.Codec) *typemap.Maps {
	t.Helper()
	m, donor := pgtype.NewMap(), pgtype.NewMap()
	for _, m := range []*pgtype.Map{m, donor} {
		m.RegisterType(&pgtype.Type{Name: name, OID: oid, Codec: codec()})
	}
	r := typemap.NewRegistry()
	r.Source(donor).Donate()
	s := r.Source(m)
	ms := s.Kind()
	if ms == nil || s.Wants() {
		t.Fatal("the type is not kept")
	}
	return ms
}

func tailMaps(t testing.TB) *typemap.Maps {
	return mapsWith(t, "bytea", pgtype.ByteaOID, func() pgtype.Codec { return tailCodec{} })
}

func countingMaps(t testing.TB) *typemap.Maps {
	return mapsWith(t, "int4", pgtype.Int4OID, func() pgtype.Codec { return &countingCodec{seen: map[string]int{}} })
}

// Fault kind 11: whatever the way to a value, it is what the registered codec
// makes of it, and nobody's but the reader's.
func TestRegisteredCodecOnEveryWay(t *testing.T) {
	fields := []pgconn.FieldDescription{{Name: "b", DataTypeOID: pgtype.ByteaOID, Format: 1}}
	row := [][]byte{[]byte("xbytes")}
	late := func(*typemap.Maps) *Set { return build(t, fields, [][][]byte{row}) }
	early := func(ms *typemap.Maps) *Set {
		b := NewBuilder(fields, noLimits)
		b.Decode(ms)
		b.Append(row)
		return b.Set()
	}
	for name, tt := range map[string]struct {
		make func(*typemap.Maps) *Set
		open []func(*Set, *typemap.Maps, error) driver.Rows
	}{
		"row by row":          {late, []func(*Set, *typemap.Maps, error) driver.Rows{(*Set).Once, (*Set).Once}},
		"kept by a reader":    {late, []func(*Set, *typemap.Maps, error) driver.Rows{(*Set).Rows, (*Set).Rows, (*Set).Once}},
		"first once":          {late, []func(*Set, *typemap.Maps, error) driver.Rows{(*Set).Once, (*Set).Rows, (*Set).Rows}},
		"kept by the builder": {early, []func(*Set, *typemap.Maps, error) driver.Rows{(*Set).Once, (*Set).Rows}},
	} {
		t.Run(name, func(t *testing.T) {
			ms := tailMaps(t)
			s := tt.make(ms)
			for i, open := range tt.open {
				rows := open(s, ms, nil)
				dest := make([]driver.Value, 1)
				if err := rows.Next(dest); err != nil {
					t.Fatal(err)
				}
				got, _ := dest[0].([]byte)
				if string(got) != "bytes" {
					t.Errorf("reader %d was given %q", i, dest[0])
				}
				clear(got)
				rows.Close()
			}
		})
	}
}

// A json or xml value in the binary format is not its wire bytes.
func TestBinaryJSON(t *testing.T) {
	fields := []pgconn.FieldDescription{{Name: "j", DataTypeOID: pgtype.JSONBOID, Format: 1}, {Name: "t", DataTypeOID: pgtype.JSONBOID}}
	s := build(t, fields, [][][]byte{{append([]byte{1}, `{"a": 1}`...), []byte(`{"a": 1}`)}, {nil, nil}})
	ms := typemap.NewMaps()
	want, _ := readAll(t, s.Once(ms, nil))
	if string(want[0][0].([]byte)) != `{"a": 1}` {
		t.Errorf("decoded %q", want[0][0])
	}
	for range 2 {
		if got, err := readAll(t, s.Rows(ms, nil)); err != io.EOF || !reflect.DeepEqual(got, want) {
			t.Errorf("a hit gives %q, a miss %q", got, want)
		}
	}
}

// A codec that can't be copied is used by one at a time, on every way, under
// -race.
func TestCodecWithAState(t *testing.T) {
	fields := []pgconn.FieldDescription{field("n", pgtype.Int4OID)}
	rows := [][][]byte{{[]byte("b")}, {[]byte("c")}}
	ms := countingMaps(t)
	shared := build(t, fields, rows)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 25 {
				s := shared
				if i%2 == 0 {
					b := NewBuilder(fields, noLimits)
					b.Decode(ms)
					for _, row := range rows {
						b.Append(row)
					}
					s = b.Set()
				}
				got, err := readAll(t, s.Once(ms, nil))
				if err != io.EOF || !reflect.DeepEqual(got, [][]driver.Value{{int64(1)}, {int64(2)}}) {
					t.Errorf("%v, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got, _ := readAll(t, shared.Rows(ms, nil)); got[0][0] != int64(1) {
		t.Errorf("a hit gives %v", got)
	}
}

// What a result was decoded to must not live on in the memory that the next
// one grows in.
func TestScratchKeepsNoValues(t *testing.T) {
	b := NewBuilder(product, noLimits)
	b.Decode(typemap.NewMaps())
	b.Append(productRows(t, 1)[0])
	buf := b.buf
	b.Set()
	for i, v := range buf.vals[:cap(buf.vals)] {
		if v != nil {
			t.Errorf("value %d is kept: %v", i, v)
		}
	}
}
