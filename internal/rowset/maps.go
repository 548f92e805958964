package rowset

import (
	"reflect"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// maxFreeMaps bounds the maps that are kept for later. More exist only while
// more readers decode at the same moment.
const maxFreeMaps = 64

// Maps is a set of default pgtype.Maps to decode with. It is safe for
// concurrent use, which a pgtype.Map is not: each is lent to one user at a
// time, and taken out of the set meanwhile rather than locked, so that a
// destination which runs queries of its own while it is scanned into waits for
// nobody.
type Maps struct {
	// reference is only asked for types by OID, which changes nothing in it.
	reference *pgtype.Map
	scanFuncs []uintptr
	encFuncs  []uintptr

	mu struct {
		sync.Mutex
		free []*pgtype.Map
	}
}

// NewMaps returns a set of maps as a new connection of pgx has them.
func NewMaps() *Maps {
	m := pgtype.NewMap()
	return &Maps{
		reference: m,
		scanFuncs: codeOf(m.TryWrapScanPlanFuncs),
		encFuncs:  codeOf(m.TryWrapEncodePlanFuncs),
	}
}

// Decodable says whether a connection whose type map is conn decodes these
// columns exactly as the set's maps do, so that rows of them may be kept. It
// reads conn, which nobody else may use meanwhile.
//
// 1: a column's type is, for the connection, the very one of pgx's defaults.
// Equal codecs are not enough: a TimestamptzCodec may have a ScanLocation, a
// JSONCodec another Unmarshal, an ArrayCodec another element.
//
// 2: or neither knows the column's type, and the connection has no Go types
// registered by RegisterDefaultPgType, which alone would decide then.
//
// And the connection has no TryWrap functions but the default ones. Types that
// were registered for other columns don't matter, but in one case: NULL
// scanned with Go 1.27 into a destination that the column's type can't be
// scanned into, where pgx tries all types it knows in the order of a Go map,
// and so does not always agree with itself.
func (ms *Maps) Decodable(conn *pgtype.Map, fields []pgconn.FieldDescription) bool {
	if conn == nil || !sameCode(conn.TryWrapScanPlanFuncs, ms.scanFuncs) ||
		!sameCode(conn.TryWrapEncodePlanFuncs, ms.encFuncs) {
		return false
	}
	for i := range fields {
		theirs, known := conn.TypeForOID(fields[i].DataTypeOID)
		ours, _ := ms.reference.TypeForOID(fields[i].DataTypeOID)
		if theirs != ours || (!known && hasDefaultPgTypes(conn)) {
			return false
		}
	}
	return true
}

// hasDefaultPgTypes says whether RegisterDefaultPgType was called. Only the
// unexported field knows; if a later pgx has no such field, it may have been.
func hasDefaultPgTypes(m *pgtype.Map) bool {
	f := reflect.ValueOf(m).Elem().FieldByName("reflectTypeToName")
	return !f.IsValid() || f.Kind() != reflect.Map || f.Len() > 0
}

// codeOf returns the code addresses of functions, which can't be compared
// themselves. The default functions are no closures, so an address is one
// function.
func codeOf[F any](funcs []F) []uintptr {
	addrs := make([]uintptr, len(funcs))
	for i, f := range funcs {
		addrs[i] = reflect.ValueOf(f).Pointer()
	}
	return addrs
}

func sameCode[F any](funcs []F, addrs []uintptr) bool {
	return slices.EqualFunc(funcs, addrs, func(f F, addr uintptr) bool {
		return reflect.ValueOf(f).Pointer() == addr
	})
}

// take returns a map for the caller's use alone. A caller that panics need not
// give it back.
func (ms *Maps) take() *pgtype.Map {
	ms.mu.Lock()
	n := len(ms.mu.free)
	if n == 0 {
		ms.mu.Unlock()
		return pgtype.NewMap()
	}
	m := ms.mu.free[n-1]
	ms.mu.free[n-1] = nil
	ms.mu.free = ms.mu.free[:n-1]
	ms.mu.Unlock()
	return m
}

// give puts a map back, or drops it if there are enough.
func (ms *Maps) give(m *pgtype.Map) {
	ms.mu.Lock()
	if len(ms.mu.free) < maxFreeMaps {
		ms.mu.free = append(ms.mu.free, m)
	}
	ms.mu.Unlock()
}
