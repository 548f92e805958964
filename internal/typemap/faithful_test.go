package typemap

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// What a hook has given its connection's map besides types must be in force in
// the maps that stand in for it: pgtype.Map.Copy would drop it.

type loud string

type setLoud struct{ next pgtype.ScanPlan }

func (s *setLoud) SetNext(next pgtype.ScanPlan) { s.next = next }

func (s *setLoud) Scan(src []byte, target any) error {
	var v string
	if err := s.next.Scan(src, &v); err != nil {
		return err
	}
	*target.(*loud) = loud(strings.ToUpper(v))
	return nil
}

func wrapLoud(target any) (pgtype.WrappedScanPlanNextSetter, any, bool) {
	if _, ok := target.(*loud); !ok {
		return nil, nil, false
	}
	return &setLoud{}, new(string), true
}

type encodeLoud struct{ next pgtype.EncodePlan }

func (e *encodeLoud) SetNext(next pgtype.EncodePlan) { e.next = next }

func (e *encodeLoud) Encode(v any, b []byte) ([]byte, error) {
	return e.next.Encode(strings.ToUpper(string(v.(loud))), b)
}

func wrapEncodeLoud(v any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
	l, ok := v.(loud)
	return &encodeLoud{}, string(l), ok
}

func TestWrappersAreInForce(t *testing.T) {
	m := pgtype.NewMap()
	m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{wrapLoud}, m.TryWrapScanPlanFuncs...)
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapEncodeLoud}, m.TryWrapEncodePlanFuncs...)
	ms := NewRegistry().Source(m).Kind()

	var got loud
	lease := ms.Take(columns(pgtype.TextOID))
	if err := lease.Map.Scan(pgtype.TextOID, pgx.TextFormatCode, []byte("hush"), &got); err != nil || got != "HUSH" {
		t.Errorf("scanned %q, %v", got, err)
	}
	lease.Give()
	for _, oids := range [][]uint32{{pgtype.TextOID}, nil} {
		b, err := ms.AppendParams(nil, oids, named(loud("hush")))
		if p, ok := ParseParams(string(b)); err != nil || !ok || string(p.Values[0]) != "HUSH" {
			t.Errorf("parameters of types %v are sent as %q, %v", oids, b, err)
		}
	}
}

// A Go type that was given a type of PostgreSQL is scanned as that from columns
// of types that nobody knows, and sent as that to parameters of no type.
func TestDefaultTypesAreInForce(t *testing.T) {
	type flags []bool
	m := pgtype.NewMap()
	if err := m.Scan(99_999, pgx.TextFormatCode, []byte("{t,f}"), new(flags)); err == nil {
		t.Fatal("pgx scans it anyway: this test tries nothing")
	}
	m.RegisterDefaultPgType(flags{}, "_bool")
	m.RegisterDefaultPgType(&flags{}, "_bool")
	ms := NewRegistry().Source(m).Kind()

	var got flags
	lease := ms.Take(columns(99_999))
	if err := lease.Map.Scan(99_999, pgx.TextFormatCode, []byte("{t,f}"), &got); err != nil || !slices.Equal(got, flags{true, false}) {
		t.Errorf("scanned %v, %v", got, err)
	}
	lease.Give()
	b, err := ms.AppendParams(nil, nil, named(flags{true, false}))
	if p, ok := ParseParams(string(b)); err != nil || !ok || string(p.Values[0]) != "{t,f}" {
		t.Errorf("sent as %q, %v", b, err)
	}
}

// What takes a codec that can't be copied is the donor's in every mode: also
// where only the Go type says which codec that is.
func TestUntypedArgumentsOfForeignCodecs(t *testing.T) {
	prepare := func(m *pgtype.Map) {
		register(m, "memo", memoOID, &signing{seen: map[string]int{}})
		m.RegisterDefaultPgType(loud(""), "memo")
	}
	m, donor := pgtype.NewMap(), pgtype.NewMap()
	prepare(m)
	prepare(donor)
	r := NewRegistry()
	s := r.Source(m)
	ms := s.Kind()
	if _, err := ms.AppendParams(nil, nil, named(loud("x"))); err == nil {
		t.Error("encoded without the codec")
	}
	r.Source(donor).Donate()
	for _, oids := range [][]uint32{{memoOID}, nil} {
		b, err := ms.AppendParams(nil, oids, named(loud("x")))
		if p, ok := ParseParams(string(b)); err != nil || !ok || string(p.Values[0]) != "x, signed" {
			t.Errorf("a parameter of types %v is sent as %q, %v", oids, b, err)
		}
	}
	// Many at once, under -race.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := ms.AppendParams(nil, []uint32{memoOID}, named(loud("x"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// signing is a codec with a state that it writes to as it encodes.
type signing struct {
	pgtype.TextCodec
	seen map[string]int
}

func (c *signing) PlanEncode(*pgtype.Map, uint32, int16, any) pgtype.EncodePlan {
	return signingPlan{c}
}

type signingPlan struct{ c *signing }

func (p signingPlan) Encode(v any, b []byte) ([]byte, error) {
	s := string(v.(loud))
	p.c.seen[s]++
	return append(append(b, s...), ", signed"...), nil
}

// Wrappers that a hook of each use adds make another kind of the connection.
func TestWrappersAddedLater(t *testing.T) {
	for name, add := range map[string]func(*pgtype.Map){
		"scan": func(m *pgtype.Map) {
			m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{wrapLoud}, m.TryWrapScanPlanFuncs...)
		},
		"encode": func(m *pgtype.Map) {
			m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapEncodeLoud}, m.TryWrapEncodePlanFuncs...)
		},
	} {
		r := NewRegistry()
		m := pgtype.NewMap()
		s := r.Source(m)
		add(m)
		if ms := s.Kind(); ms == nil || ms == r.Stock() {
			t.Errorf("%s: not seen", name)
		}
	}
}

// Types that look alike to their number, OID and codec's type, and decode
// otherwise.
func TestTypesThatAreNotAlike(t *testing.T) {
	text := &pgtype.Type{Name: "text", OID: pgtype.TextOID, Codec: pgtype.TextCodec{}}
	own := func([]byte, any) error { return nil }
	ownMarshal := func(any) ([]byte, error) { return nil, nil }
	pair := func(first, second string) pgtype.Codec {
		return &pgtype.CompositeCodec{Fields: []pgtype.CompositeCodecField{{Name: first, Type: text}, {Name: second, Type: text}}}
	}
	tests := []struct {
		name string
		a, b pgtype.Codec
	}{
		{"arrays of another delimiter", &pgtype.ArrayCodec{ElementType: text, Delimiter: ','}, &pgtype.ArrayCodec{ElementType: text, Delimiter: ';'}},
		{"composites of other names", pair("a", "b"), pair("b", "a")},
		{"composites of fewer fields", pair("a", "b"), &pgtype.CompositeCodec{Fields: []pgtype.CompositeCodecField{{Name: "a", Type: text}}}},
		{"jsonb read otherwise", &pgtype.JSONBCodec{Unmarshal: json.Unmarshal}, &pgtype.JSONBCodec{Unmarshal: own}},
		{"jsonb written otherwise", &pgtype.JSONBCodec{Marshal: json.Marshal}, &pgtype.JSONBCodec{Marshal: ownMarshal}},
		{"json written otherwise", &pgtype.JSONCodec{Marshal: json.Marshal}, &pgtype.JSONCodec{Marshal: ownMarshal}},
		{"xml read otherwise", &pgtype.XMLCodec{Unmarshal: json.Unmarshal}, &pgtype.XMLCodec{Unmarshal: own}},
		{"text only of another codec", &pgtype.TextFormatOnlyCodec{Codec: pgtype.TextCodec{}}, &pgtype.TextFormatOnlyCodec{Codec: pgtype.Int4Codec{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := &pgtype.Type{Name: "own", OID: pairOID, Codec: tt.a}, &pgtype.Type{Name: "own", OID: pairOID, Codec: tt.b}
			if !alike(a, &pgtype.Type{Name: "own", OID: pairOID, Codec: tt.a}, 0) {
				t.Error("not like itself")
			}
			if alike(a, b, 0) || alike(b, a, 0) {
				t.Error("taken for one")
			}
		})
	}
}

// Whatever holds an enum is copied with it; what holds none is not copied.
func TestContainersOfEnumsAreCopied(t *testing.T) {
	holding := func(c pgtype.Codec) (*pgtype.Type, map[string]*pgtype.Type) {
		e := &pgtype.Type{Name: "e", OID: enumOID, Codec: c}
		of := func(c pgtype.Codec) *pgtype.Type { return &pgtype.Type{Name: "c", OID: pairOID, Codec: c} }
		return e, map[string]*pgtype.Type{
			"array":      of(&pgtype.ArrayCodec{ElementType: e}),
			"range":      of(&pgtype.RangeCodec{ElementType: e}),
			"multirange": of(&pgtype.MultirangeCodec{ElementType: e}),
			"composite":  of(&pgtype.CompositeCodec{Fields: []pgtype.CompositeCodecField{{Name: "e", Type: e}}}),
			"text only":  of(&pgtype.TextFormatOnlyCodec{Codec: c}),
			"nested":     of(&pgtype.ArrayCodec{ElementType: of(&pgtype.RangeCodec{ElementType: e})}),
		}
	}
	enum, containers := holding(&pgtype.EnumCodec{})
	for name, c := range containers {
		if !copyable(c, nil) {
			t.Errorf("%s: can't be copied", name)
			continue
		}
		got := copier{}.copy(c)
		for p := got; p != nil; {
			if p == enum || p.Codec == enum.Codec || p == c {
				t.Errorf("%s: the copy shares the enum's codec", name)
			}
			inner := parts(p)
			if len(inner) == 0 {
				break
			}
			p = inner[0]
		}
	}
	_, containers = holding(pgtype.TextCodec{})
	for name, c := range containers {
		if got := (copier{}).copy(c); got != c {
			t.Errorf("%s: copied, with nothing in it that has a state", name)
		}
	}
}

type (
	seenByMap     struct{ seen map[string]int }
	seenByPointer struct{ n *int }
	told          struct {
		name   string
		limits [2]int
	}
	statefulMap struct {
		pgtype.TextCodec
		seenByMap
	}
	statefulPointer struct {
		pgtype.TextCodec
		seen [1]seenByPointer
	}
	statelessTold struct {
		pgtype.TextCodec
		told
	}
)

// A codec that is a value has a state as well if it points to one.
func TestCodecsThatAreValues(t *testing.T) {
	for _, tt := range []struct {
		codec pgtype.Codec
		want  bool
	}{
		{statefulMap{seenByMap: seenByMap{seen: nil}}, false}, {statefulPointer{seen: [1]seenByPointer{{n: nil}}}, false},
		{statelessTold{told: told{name: "told", limits: [2]int{1, 2}}}, true}, {uuidCodec{}, true}, {pgtype.TextCodec{}, true},
		{&uuidCodec{}, true}, {&statelessTold{}, false}, {&pgtype.EnumCodec{}, false},
	} {
		if got := stateless(tt.codec); got != tt.want {
			t.Errorf("%T: shared is %v", tt.codec, got)
		}
	}
}

// An argument's memory is the caller's when the call has returned, and a large
// one is not remembered in a copy.
func TestWorkbenchesKeepNoArguments(t *testing.T) {
	ms := NewMaps()
	if _, err := ms.AppendParams(nil, []uint32{pgtype.TextOID, pgtype.ByteaOID}, named("x", make([]byte, maxEncoded+1))); err != nil {
		t.Fatal(err)
	}
	w := ms.mu.free[0]
	for i, v := range w.args[:cap(w.args)] {
		if v != nil {
			t.Errorf("argument %d is kept", i)
		}
	}
	for i, v := range w.builder.ParamValues[:cap(w.builder.ParamValues)] {
		if cap(v) > maxEncoded {
			t.Errorf("%d bytes of argument %d are kept", cap(v), i)
		}
	}
}
