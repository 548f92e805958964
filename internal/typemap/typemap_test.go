package typemap

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// uuidCodec is a codec as others embed pgx's: without state.
type uuidCodec struct{ pgtype.UUIDCodec }

// memoCodec is a codec of another's with state, which is not safe for
// concurrent use.
type memoCodec struct {
	pgtype.TextCodec
	seen map[string]int
}

func (c *memoCodec) DecodeValue(m *pgtype.Map, oid uint32, format int16, src []byte) (any, error) {
	c.seen[string(src)]++
	return string(src), nil
}

func (c *memoCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*int); ok {
		return memoScan{c}
	}
	return nil
}

type memoScan struct{ c *memoCodec }

func (s memoScan) Scan(src []byte, target any) error {
	s.c.seen[string(src)]++
	*target.(*int) = s.c.seen[string(src)]
	return nil
}

const (
	enumOID = 100_000 + iota
	enumsOID
	pairOID
	pairsOID
	rangeOID
	memoOID
	memosOID
)

func register(m *pgtype.Map, name string, oid uint32, c pgtype.Codec) *pgtype.Type {
	t := &pgtype.Type{Name: name, OID: oid, Codec: c}
	m.RegisterType(t)
	return t
}

// registerOwn registers what a user's hook would: it makes all of it anew.
func registerOwn(m *pgtype.Map) {
	mood := register(m, "mood", enumOID, &pgtype.EnumCodec{})
	register(m, "_mood", enumsOID, &pgtype.ArrayCodec{ElementType: mood})
	text, _ := m.TypeForName("text")
	pair := register(m, "pair", pairOID, &pgtype.CompositeCodec{Fields: []pgtype.CompositeCodecField{{Name: "a", Type: mood}, {Name: "b", Type: text}}})
	register(m, "_pair", pairsOID, &pgtype.ArrayCodec{ElementType: pair})
	register(m, "moodrange", rangeOID, &pgtype.RangeCodec{ElementType: mood})
	register(m, "uuid", pgtype.UUIDOID, uuidCodec{})
	register(m, "timestamptz", pgtype.TimestamptzOID, &pgtype.TimestamptzCodec{ScanLocation: time.UTC})
	register(m, "json", pgtype.JSONOID, &pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: json.Unmarshal})
	m.RegisterDefaultPgType(errors.New(""), "text")
	m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{wrapNothing}, m.TryWrapScanPlanFuncs...)
}

func wrapNothing(any) (pgtype.WrappedScanPlanNextSetter, any, bool) { return nil, nil, false }

func registerMemo(m *pgtype.Map) {
	memo := register(m, "memo", memoOID, &memoCodec{seen: map[string]int{}})
	register(m, "_memo", memosOID, &pgtype.ArrayCodec{ElementType: memo})
}

func columns(oids ...uint32) (fields []pgconn.FieldDescription) {
	for _, oid := range oids {
		fields = append(fields, pgconn.FieldDescription{Name: "c", DataTypeOID: oid})
	}
	return fields
}

// with borrows a map for a column's type.
func with(ms *Maps, oid uint32, f func(*pgtype.Map) error) error {
	lease := ms.Take(columns(oid))
	defer lease.Give()
	lease.Lock()
	defer lease.Unlock()
	return f(lease.Map)
}

func TestKindsOfConnections(t *testing.T) {
	tests := []struct {
		name string
		a, b func(*pgtype.Map)
		same bool
	}{
		{"nothing registered", func(*pgtype.Map) {}, func(*pgtype.Map) {}, true},
		{"the same registered", registerOwn, registerOwn, true},
		{"with a codec that nobody knows", registerMemo, registerMemo, true},
		{"another codec",
			func(m *pgtype.Map) { register(m, "int4", pgtype.Int4OID, pgtype.TextCodec{}) },
			func(m *pgtype.Map) { register(m, "int4", pgtype.Int4OID, pgtype.Int4Codec{}) }, false},
		{"a codec told otherwise",
			func(m *pgtype.Map) {
				register(m, "timestamptz", pgtype.TimestamptzOID, &pgtype.TimestamptzCodec{ScanLocation: time.UTC})
			},
			func(m *pgtype.Map) {
				register(m, "timestamptz", pgtype.TimestamptzOID, &pgtype.TimestamptzCodec{ScanLocation: time.FixedZone("x", 60)})
			}, false},
		{"another unmarshaller",
			func(m *pgtype.Map) {
				register(m, "json", pgtype.JSONOID, &pgtype.JSONCodec{Unmarshal: json.Unmarshal})
			},
			func(m *pgtype.Map) {
				register(m, "json", pgtype.JSONOID, &pgtype.JSONCodec{Unmarshal: func([]byte, any) error { return nil }})
			}, false},
		{"another name",
			func(m *pgtype.Map) { register(m, "int4", pgtype.Int4OID, pgtype.Int4Codec{}) },
			func(m *pgtype.Map) { register(m, "ganzzahl", pgtype.Int4OID, pgtype.Int4Codec{}) }, false},
		{"another element",
			func(m *pgtype.Map) {
				register(m, "_e", enumsOID, &pgtype.ArrayCodec{ElementType: &pgtype.Type{Name: "e", OID: 1, Codec: pgtype.TextCodec{}}})
			},
			func(m *pgtype.Map) {
				register(m, "_e", enumsOID, &pgtype.ArrayCodec{ElementType: &pgtype.Type{Name: "e", OID: 1, Codec: pgtype.Int4Codec{}}})
			}, false},
		{"a type more", registerOwn, func(m *pgtype.Map) { registerOwn(m); registerMemo(m) }, false},
		{"a Go type", func(*pgtype.Map) {}, func(m *pgtype.Map) { m.RegisterDefaultPgType(t, "text") }, false},
		{"a Go type otherwise", func(m *pgtype.Map) { m.RegisterDefaultPgType(t, "json") }, func(m *pgtype.Map) { m.RegisterDefaultPgType(t, "text") }, false},
		{"a scan wrapper more", func(*pgtype.Map) {}, func(m *pgtype.Map) {
			m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{wrapNothing}, m.TryWrapScanPlanFuncs...)
		}, false},
		{"scan wrappers in another order", func(*pgtype.Map) {}, func(m *pgtype.Map) {
			m.TryWrapScanPlanFuncs[0], m.TryWrapScanPlanFuncs[1] = m.TryWrapScanPlanFuncs[1], m.TryWrapScanPlanFuncs[0]
		}, false},
		{"an encode wrapper less", func(*pgtype.Map) {}, func(m *pgtype.Map) { m.TryWrapEncodePlanFuncs = m.TryWrapEncodePlanFuncs[1:] }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRegistry()
			var found []*Maps
			for _, prepare := range []func(*pgtype.Map){tt.a, tt.b, tt.a} {
				m, donor := pgtype.NewMap(), pgtype.NewMap()
				prepare(m)
				prepare(donor)
				r.Source(donor).Donate()
				found = append(found, r.Source(m).Kind())
			}
			if slices.Contains(found, nil) {
				t.Fatal("no maps")
			}
			if found[0] != found[2] || (found[0] == found[1]) != tt.same {
				t.Errorf("the kinds are %p %p %p", found[0], found[1], found[2])
			}
		})
	}
}

func TestKindsAreBounded(t *testing.T) {
	r := NewRegistry()
	for i := range 3 * maxKinds {
		m := pgtype.NewMap()
		register(m, fmt.Sprint("t", i), uint32(200_000+i), pgtype.TextCodec{})
		if r.Source(m).Kind() == nil {
			t.Fatalf("kind %d is not kept", i)
		}
	}
	if len(r.mu.kinds) != maxKinds {
		t.Errorf("%d kinds are kept", len(r.mu.kinds))
	}
	if r.Source(pgtype.NewMap()).Kind() != r.Stock() {
		t.Error("the first kind is gone")
	}
}

// A type that refers to itself has no end.
func TestTypeThatRefersToItself(t *testing.T) {
	prepare := func(m *pgtype.Map) {
		list := register(m, "list", pairOID, nil2{})
		list.Codec = &pgtype.CompositeCodec{Fields: []pgtype.CompositeCodecField{{Name: "next", Type: list}}}
	}
	r := NewRegistry()
	for range 2 {
		m := pgtype.NewMap()
		prepare(m)
		if r.Source(m).MapsFor(columns(pairOID)) != nil {
			t.Error("it was copied")
		}
		if r.Source(m).MapsFor(columns(pgtype.Int4OID)) == nil {
			t.Error("it bars other columns")
		}
	}
}

type nil2 struct{ pgtype.TextCodec }

// What is registered later counts, too.
func TestRegisteredLater(t *testing.T) {
	r := NewRegistry()
	m := pgtype.NewMap()
	s := r.Source(m)
	if s.Kind() != r.Stock() {
		t.Fatal("not the default ones")
	}
	register(m, "mood", enumOID, &pgtype.EnumCodec{})
	first := s.MapsFor(columns(enumOID))
	if first == r.Stock() {
		t.Error("a type more was not seen")
	}
	register(m, "mood", enumOID, pgtype.TextCodec{})
	if s.MapsFor(columns(enumOID)) == first {
		t.Error("a type registered anew was not seen")
	}
	m.RegisterDefaultPgType(t, "mood")
	if third := s.Kind(); third == first || third == nil {
		t.Error("a Go type was not seen")
	}
}

// Each map decodes with codecs of its own: many at once, under -race.
func TestMapsShareNoState(t *testing.T) {
	r := NewRegistry()
	m := pgtype.NewMap()
	registerOwn(m)
	ms := r.Source(m).MapsFor(columns(enumOID, enumsOID, pairOID, pairsOID, rangeOID))
	if ms == nil {
		t.Fatal("not kept")
	}
	decode := func(m *pgtype.Map) error {
		for oid, text := range map[uint32]string{
			enumOID: "glad", enumsOID: "{glad,sad}", pairOID: "(glad,x)", pairsOID: `{"(glad,x)","(sad,y)"}`, rangeOID: "[glad,sad)",
		} {
			var v any
			if err := m.Scan(oid, pgx.TextFormatCode, []byte(text), &v); err != nil {
				return err
			}
			var list []any
			if oid == enumsOID || oid == pairsOID {
				if err := m.Scan(oid, pgx.TextFormatCode, []byte(text), &list); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if err := with(ms, enumOID, decode); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() { // and the connection goes on with its own
		if err := decode(m); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
}

// A codec that nobody knows is used under a lock, on a map that is nobody
// else's.
func TestDonor(t *testing.T) {
	r := NewRegistry()
	m := pgtype.NewMap()
	registerMemo(m)
	s := r.Source(m)
	if !s.Wants() || s.MapsFor(columns(memosOID)) != nil {
		t.Fatal("kept without a donor")
	}
	if ms := s.MapsFor(columns(pgtype.Int4OID)); ms == nil {
		t.Error("other columns are not kept")
	}
	donor := pgtype.NewMap()
	registerMemo(donor)
	r.Source(donor).Donate()
	ms := s.MapsFor(columns(memosOID))
	if ms == nil || s.Wants() {
		t.Fatal("not kept with a donor")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				var n int
				err := with(ms, memoOID, func(m *pgtype.Map) error {
					return m.Scan(memoOID, pgx.TextFormatCode, []byte("x"), &n)
				})
				if err != nil || n == 0 {
					t.Error(n, err)
				}
			}
		})
	}
	wg.Wait()
	if lease := ms.Take(columns(pgtype.Int4OID)); lease.Map == donor {
		t.Error("the donor's map is used for what needs it not")
	}
}

func TestMapsAreBounded(t *testing.T) {
	ms := NewMaps()
	var taken []Lease
	seen := map[*pgtype.Map]bool{}
	for range 3 * maxFree {
		l := ms.Take(nil)
		if seen[l.Map] {
			t.Fatal("a map was lent twice")
		}
		seen[l.Map] = true
		taken = append(taken, l)
	}
	for _, l := range taken {
		l.Give()
	}
	if ms.Idle() != maxFree {
		t.Errorf("%d maps are kept", ms.Idle())
	}
}

type valuer struct{ v any }

func (v valuer) Value() (driver.Value, error) {
	if err, ok := v.v.(error); ok {
		return nil, err
	}
	return v.v, nil
}

func named(values ...any) (args []driver.NamedValue) {
	for i, v := range values {
		args = append(args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return args
}

func TestAppendParams(t *testing.T) {
	ms := NewMaps()
	tests := []struct {
		name string
		oids []uint32
		args []driver.NamedValue
		want Params
	}{
		{"as pgx chooses", []uint32{pgtype.Int4OID, pgtype.TextOID, pgtype.Int4OID}, named(7, "x", "8"),
			Params{[][]byte{{0, 0, 0, 7}, []byte("x"), []byte("8")}, []int16{1, 0, 0}}},
		{"NULL and empty", []uint32{pgtype.TextOID, pgtype.TextOID, pgtype.TextOID}, named(nil, "", (*string)(nil)),
			Params{[][]byte{nil, {}, nil}, []int16{0, 0, 0}}},
		{"a valuer", []uint32{pgtype.Int8OID}, named(valuer{int64(7)}), Params{[][]byte{{0, 0, 0, 0, 0, 0, 0, 7}}, []int16{1}}},
		{"a uuid", []uint32{pgtype.UUIDOID}, named([16]byte{15: 1}), Params{[][]byte{append(make([]byte, 15), 1)}, []int16{1}}},
		{"types not known", nil, named(7, valuer{"x"}, true), Params{[][]byte{[]byte("7"), []byte("x"), []byte("t")}, []int16{0, 0, 0}}},
		{"no arguments", []uint32{}, nil, Params{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				b, err := ms.AppendParams([]byte("before"), tt.oids, tt.args)
				if err != nil {
					t.Fatal(err)
				}
				got, ok := ParseParams(string(b[len("before"):]))
				if !ok || !slices.EqualFunc(got.Values, tt.want.Values, func(a, b []byte) bool {
					return string(a) == string(b) && (a == nil) == (b == nil)
				}) || !slices.Equal(got.Formats, tt.want.Formats) {
					t.Errorf("%v %v, want %v", got, ok, tt.want)
				}
			}
		})
	}
	refused := errors.New("refused")
	for name, try := range map[string]func() ([]byte, error){
		"too few":       func() ([]byte, error) { return ms.AppendParams(nil, []uint32{1, 2}, named(1)) },
		"unencodable":   func() ([]byte, error) { return ms.AppendParams(nil, []uint32{pgtype.Int4OID}, named(make(chan int))) },
		"valuer failed": func() ([]byte, error) { return ms.AppendParams(nil, []uint32{pgtype.Int4OID}, named(valuer{refused})) },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What is appended can be read back in one way only.
func FuzzParams(f *testing.F) {
	f.Add([]byte{1, 0, 0, 2, 'x'}, "a", int64(7))
	f.Add([]byte{}, "", int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, s string, n int64) {
		if p, ok := ParseParams(string(raw)); ok && len(p.Values) != len(p.Formats) {
			t.Fatal(p)
		}
		b, err := NewMaps().AppendParams(nil, nil, named(s, n, raw, nil))
		if err != nil {
			t.Skip()
		}
		p, ok := ParseParams(string(b))
		if !ok || len(p.Values) != 4 || string(p.Values[0]) != s || p.Values[3] != nil {
			t.Fatalf("%v %q", ok, p.Values)
		}
	})
}

// pgx remembers plans by type; what it remembers of arguments without a known
// type must not spoil others.
func TestUntypedSpoilsNothing(t *testing.T) {
	ms := NewMaps()
	lists := named([][]int32{{1, 2}, {3, 4}})
	want, err := ms.AppendParams(nil, []uint32{pgtype.Int4ArrayOID}, lists)
	if err != nil {
		t.Fatal(err)
	}
	ms = NewMaps()
	if _, err := ms.AppendParams(nil, nil, lists); err == nil {
		t.Fatal("pgx finds a type for it by now: this test tries nothing")
	}
	if got, err := ms.AppendParams(nil, []uint32{pgtype.Int4ArrayOID}, lists); err != nil || string(got) != string(want) {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

// pgx's own containers decode their elements by what is registered for those,
// and what is unknown by the type that a destination stands for.
func TestContainersOfForeignTypes(t *testing.T) {
	r := NewRegistry()
	m := pgtype.NewMap()
	register(m, "timestamptz", pgtype.TimestamptzOID, &memoCodec{seen: map[string]int{}})
	s := r.Source(m)
	for _, oid := range []uint32{pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID, pgtype.TstzrangeOID, pgtype.TstzmultirangeOID, pgtype.TstzrangeArrayOID, pgtype.RecordOID, 99_999} {
		if s.MapsFor(columns(oid)) != nil {
			t.Errorf("type %d is decoded without the codec that it comes upon", oid)
		}
	}
	for _, oid := range []uint32{pgtype.Int4OID, pgtype.TextArrayOID, pgtype.Int4rangeOID} {
		if s.MapsFor(columns(oid)) == nil {
			t.Errorf("type %d is barred", oid)
		}
	}
}

type unmarshaller struct{ n int }

func (u *unmarshaller) Unmarshal(data []byte, v any) error { u.n++; return json.Unmarshal(data, v) }

// A function with state of its own is no part of many maps.
func TestFunctionsWithState(t *testing.T) {
	n := 0
	for name, f := range map[string]func([]byte, any) error{
		"a closure":      func(data []byte, v any) error { n++; return json.Unmarshal(data, v) },
		"a bound method": new(unmarshaller).Unmarshal,
	} {
		if stateless(&pgtype.JSONCodec{Unmarshal: f}) {
			t.Errorf("%s is shared", name)
		}
	}
	if !stateless(&pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: json.Unmarshal}) || !stateless(&pgtype.JSONBCodec{}) {
		t.Error("encoding/json's functions are not shared")
	}
}

// wrapAndCount is a hook. Inlined twice, it would make two functions.
//
//go:noinline
func wrapAndCount(m *pgtype.Map) {
	seen := map[string]int{}
	m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{func(target any) (pgtype.WrappedScanPlanNextSetter, any, bool) {
		seen[fmt.Sprintf("%T", target)]++
		return nil, nil, false
	}}, m.TryWrapScanPlanFuncs...)
}

// A TryWrap function with state of its own is used by one at a time, too.
func TestWrappersWithState(t *testing.T) {
	r := NewRegistry()
	m, donor := pgtype.NewMap(), pgtype.NewMap()
	wrapAndCount(m)
	wrapAndCount(donor)
	s := r.Source(m)
	if !s.Wants() || s.MapsFor(columns(pgtype.Int4OID)) != nil {
		t.Fatal("kept without a donor")
	}
	r.Source(donor).Donate()
	ms := s.MapsFor(columns(pgtype.Int4OID))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				var n struct{ A int }
				_ = with(ms, pgtype.Int4OID, func(m *pgtype.Map) error {
					return m.Scan(pgtype.Int4OID, pgx.TextFormatCode, []byte("7"), &n)
				})
				if _, err := ms.AppendParams(nil, []uint32{pgtype.Int4OID}, named(7)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A Valuer may run queries of its own, which may need what encodes it.
func TestValuerUnderDonor(t *testing.T) {
	r := NewRegistry()
	m := pgtype.NewMap()
	registerMemo(m)
	s := r.Source(m)
	donor := pgtype.NewMap()
	registerMemo(donor)
	r.Source(donor).Donate()
	if _, err := s.Kind().AppendParams(nil, []uint32{memoOID}, named(valuer{"x"})); err == nil {
		t.Error("it was asked under the lock")
	}
	if _, err := s.Kind().AppendParams(nil, []uint32{pgtype.TextOID}, named(valuer{"x"})); err != nil {
		t.Error(err)
	}
}
