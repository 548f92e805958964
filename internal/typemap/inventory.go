package typemap

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/jackc/pgx/v5/pgtype"
)

// inventory is what a type map has beyond the defaults. It is immutable.
type inventory struct {
	types    map[uint32]*pgtype.Type // as RegisterType registered them
	defaults map[reflect.Type]string // as RegisterDefaultPgType did
	scan     []pgtype.TryWrapScanPlanFunc
	encode   []pgtype.TryWrapEncodePlanFunc
	// unknown says that the map can't be looked into: a pgx whose map is
	// another one than what this was written for.
	unknown bool
}

// inventoryOf looks into a map, which nobody else may use meanwhile. It costs
// some 50 ns for each type registered.
func inventoryOf(m *pgtype.Map) inventory {
	v := inventory{scan: slices.Clone(m.TryWrapScanPlanFuncs), encode: slices.Clone(m.TryWrapEncodePlanFuncs)}
	types, defaults := registered(m)
	if !types.IsValid() || !defaults.IsValid() {
		v.unknown = true
		return v
	}
	if types.Len() > 0 {
		v.types = make(map[uint32]*pgtype.Type, types.Len())
		for it := types.MapRange(); it.Next(); {
			oid := uint32(it.Key().Uint())
			v.types[oid], _ = m.TypeForOID(oid)
		}
	}
	if defaults.Len() > 0 {
		// Its keys are interfaces, which reflection doesn't give out of an
		// unexported field.
		v.defaults = make(map[reflect.Type]string, defaults.Len())
		for t, name := range *(*map[reflect.Type]string)(unsafe.Pointer(defaults.UnsafeAddr())) {
			v.defaults[t] = name
		}
	}
	return v
}

// registered gives the fields of a map that RegisterType and
// RegisterDefaultPgType fill; invalid ones if it has none of those types.
func registered(m *pgtype.Map) (types, defaults reflect.Value) {
	s := reflect.ValueOf(m).Elem()
	types, defaults = s.FieldByName("oidToType"), s.FieldByName("reflectTypeToName")
	if types.IsValid() && types.Type() != reflect.TypeFor[map[uint32]*pgtype.Type]() {
		types = reflect.Value{}
	}
	if defaults.IsValid() && defaults.Type() != reflect.TypeFor[map[reflect.Type]string]() {
		defaults = reflect.Value{}
	}
	return types, defaults
}

// alike says whether maps of two inventories decode and encode alike.
func (v inventory) alike(w inventory) bool {
	if v.unknown || w.unknown || len(v.types) != len(w.types) || len(v.defaults) != len(w.defaults) ||
		!sameFuncs(v.scan, w.scan) || !sameFuncs(v.encode, w.encode) {
		return false
	}
	for oid, t := range v.types {
		if !alike(t, w.types[oid], 0) {
			return false
		}
	}
	for t, name := range v.defaults {
		if other, ok := w.defaults[t]; !ok || other != name {
			return false
		}
	}
	return true
}

// sameFuncs compares functions by their code. What a closure has captured
// can't be compared; it came from the same hook of the same handle.
func sameFuncs[F any](a, b []F) bool {
	return slices.EqualFunc(a, b, func(f, g F) bool { return code(f) == code(g) })
}

// build makes a map with these types, but for those in foreign, which can't be
// copied.
func (v inventory) build(foreign map[uint32]bool) *pgtype.Map {
	m := pgtype.NewMap()
	m.TryWrapScanPlanFuncs = slices.Clone(v.scan)
	m.TryWrapEncodePlanFuncs = slices.Clone(v.encode)
	cs := copier{}
	for oid, t := range v.types {
		if !foreign[oid] {
			m.RegisterType(cs.copy(t))
		}
	}
	for t, name := range v.defaults {
		m.RegisterDefaultPgType(reflect.New(t).Elem().Interface(), name)
	}
	return m
}
