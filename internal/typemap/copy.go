package typemap

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// The codecs of pgx are values without state, but for these:
//
//   - EnumCodec remembers the strings that it has decoded. Each map gets one of
//     its own.
//   - ArrayCodec, RangeCodec, MultirangeCodec, CompositeCodec and
//     TextFormatOnlyCodec refer to other codecs. They are copied with what they
//     refer to.
//
// Functions (those that the codecs for JSON and XML call, and TryWrap functions)
// are shared if they are declared at the top level of a package: a closure may
// have state.
//
// Of the codecs of others, those that can't hold state are shared: types whose
// values hold no pointer of any kind, like most that embed one of pgx's codecs.
// All others can't be copied.

var pgtypePath = reflect.TypeFor[pgtype.Map]().PkgPath()

// parts gives the types that a type is made of.
func parts(t *pgtype.Type) []*pgtype.Type {
	switch c := t.Codec.(type) {
	case *pgtype.ArrayCodec:
		return []*pgtype.Type{c.ElementType}
	case *pgtype.RangeCodec:
		return []*pgtype.Type{c.ElementType}
	case *pgtype.MultirangeCodec:
		return []*pgtype.Type{c.ElementType}
	case *pgtype.CompositeCodec:
		types := make([]*pgtype.Type, len(c.Fields))
		for i := range c.Fields {
			types[i] = c.Fields[i].Type
		}
		return types
	case *pgtype.TextFormatOnlyCodec:
		return []*pgtype.Type{{Name: t.Name, OID: t.OID, Codec: c.Codec}}
	}
	return nil
}

// functions gives the functions that one of pgx's codecs calls, nil for the others,
// which call none.
func functions(c pgtype.Codec) []any {
	switch c := c.(type) {
	case *pgtype.JSONCodec:
		return []any{c.Marshal, c.Unmarshal}
	case *pgtype.JSONBCodec:
		return []any{c.Marshal, c.Unmarshal}
	case *pgtype.XMLCodec:
		return []any{c.Marshal, c.Unmarshal}
	}
	return nil
}

// copyable says whether a type's codecs can be copied, or shared. path has the
// types on the way to t.
func copyable(t *pgtype.Type, path []*pgtype.Type) bool {
	if t == nil || t.Codec == nil {
		return false
	}
	if slices.Contains(path, t) {
		return false // refers to itself
	}
	path = append(path, t)
	for _, p := range parts(t) {
		if !copyable(p, path) {
			return false
		}
	}
	return reflect.TypeOf(t.Codec) == reflect.TypeFor[*pgtype.EnumCodec]() || stateless(t.Codec)
}

// stateless says whether a codec can be used by many at once.
func stateless(c pgtype.Codec) bool {
	if funcs := functions(c); funcs != nil {
		return allTopLevel(funcs)
	}
	t := reflect.TypeOf(c)
	if t.Kind() == reflect.Pointer {
		if t.Elem().PkgPath() == pgtypePath {
			return t.Elem() != reflect.TypeFor[pgtype.EnumCodec]()
		}
		return t.Elem().Size() == 0
	}
	return t.PkgPath() == pgtypePath || pointerFree(t)
}

// topLevel says whether a function is declared at the top level of a package,
// by the name that the linker knows it by: closures are numbered within what
// they are written in, methods bound to a receiver end in -fm.
func topLevel(f any) bool {
	pc := code(f)
	if pc == 0 {
		return true
	}
	fn := runtime.FuncForPC(pc)
	if fn == nil {
		return false
	}
	name := fn.Name()
	name = name[strings.LastIndexByte(name, '/')+1:]
	_, name, _ = strings.Cut(name, ".")
	return name != "" && !strings.ContainsAny(name, ".-")
}

func allTopLevel[F any](funcs []F) bool {
	for _, f := range funcs {
		if !topLevel(f) {
			return false
		}
	}
	return true
}

// pointerFree says whether values of a type are all of their memory.
func pointerFree(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.String:
		return true
	case reflect.Array:
		return pointerFree(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !pointerFree(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

// copier copies types for one map: what is one type in the source is one in
// the copy.
type copier map[*pgtype.Type]*pgtype.Type

// copy gives a copy of a copyable type, or the type itself where nothing in it
// has state.
func (cs copier) copy(t *pgtype.Type) *pgtype.Type {
	if c, ok := cs[t]; ok {
		return c
	}
	c := cs.copyOnce(t)
	cs[t] = c
	return c
}

func (cs copier) copyOnce(t *pgtype.Type) *pgtype.Type {
	with := func(c pgtype.Codec) *pgtype.Type { return &pgtype.Type{Codec: c, Name: t.Name, OID: t.OID} }
	switch c := t.Codec.(type) {
	case *pgtype.EnumCodec:
		return with(&pgtype.EnumCodec{})
	case *pgtype.ArrayCodec:
		if e := cs.copy(c.ElementType); e != c.ElementType {
			return with(&pgtype.ArrayCodec{ElementType: e, Delimiter: c.Delimiter})
		}
	case *pgtype.RangeCodec:
		if e := cs.copy(c.ElementType); e != c.ElementType {
			return with(&pgtype.RangeCodec{ElementType: e})
		}
	case *pgtype.MultirangeCodec:
		if e := cs.copy(c.ElementType); e != c.ElementType {
			return with(&pgtype.MultirangeCodec{ElementType: e})
		}
	case *pgtype.CompositeCodec:
		fields, same := slices.Clone(c.Fields), true
		for i := range fields {
			fields[i].Type = cs.copy(c.Fields[i].Type)
			same = same && fields[i].Type == c.Fields[i].Type
		}
		if !same {
			return with(&pgtype.CompositeCodec{Fields: fields})
		}
	case *pgtype.TextFormatOnlyCodec:
		inner := parts(t)[0]
		if i := cs.copyOnce(inner); i != inner {
			return with(&pgtype.TextFormatOnlyCodec{Codec: i.Codec})
		}
	}
	return t
}

// alike says whether two types decode and encode alike: the same codecs with
// the same parameters, all the way down. Of codecs that can't be copied, the
// type must do: see the package's comment. depth bounds what refers to itself.
func alike(a, b *pgtype.Type, depth int) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || depth > maxDepth || a.OID != b.OID || a.Name != b.Name ||
		a.Codec == nil || b.Codec == nil || reflect.TypeOf(a.Codec) != reflect.TypeOf(b.Codec) {
		return false
	}
	switch ca := a.Codec.(type) {
	case *pgtype.EnumCodec:
		return true
	case *pgtype.ArrayCodec:
		if ca.Delimiter != b.Codec.(*pgtype.ArrayCodec).Delimiter {
			return false
		}
	case *pgtype.CompositeCodec:
		cb := b.Codec.(*pgtype.CompositeCodec)
		if len(ca.Fields) != len(cb.Fields) {
			return false
		}
		for i := range ca.Fields {
			if ca.Fields[i].Name != cb.Fields[i].Name {
				return false
			}
		}
	}
	if funcs := functions(a.Codec); funcs != nil {
		return sameFuncs(funcs, functions(b.Codec))
	}
	pa, pb := parts(a), parts(b)
	for i := range pa {
		if !alike(pa[i], pb[i], depth+1) {
			return false
		}
	}
	return len(pa) > 0 || !stateless(a.Codec) || reflect.DeepEqual(a.Codec, b.Codec)
}

// code gives the address of a function's code: functions can't be compared
// themselves.
func code(f any) uintptr {
	v := reflect.ValueOf(f)
	if v.IsNil() {
		return 0
	}
	return v.Pointer()
}
