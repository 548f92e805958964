package typemap

import (
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// maxFree bounds the maps that are kept for later. More exist only while more
// goroutines decode at the same moment.
const maxFree = 64

// Maps is a set of pgtype.Maps that decode and encode alike. It is safe for
// concurrent use: each map is lent to one user at a time, and taken out of the
// set meanwhile rather than locked, so that a destination which runs queries of
// its own while it is scanned into waits for nobody.
type Maps struct {
	inventory inventory
	// reference is only asked for types by OID, which changes nothing in it.
	reference *pgtype.Map
	// foreign are the types that reach a codec which can't be copied.
	foreign map[uint32]bool
	// closures says that functions of the kind may have state, so that nothing
	// can be copied.
	closures bool

	mu struct {
		sync.Mutex
		free []*Workbench
	}

	// donor has the codecs that can't be copied. Its map is that of a
	// connection which nobody uses any more; nil while there is none.
	donor struct {
		sync.Mutex
		bench *Workbench
	}
}

// Workbench is a map to work with, and the memory to encode in.
type Workbench struct {
	Map *pgtype.Map
	// untyped encodes arguments of unknown types. It is another map, since what
	// pgx remembers of those (v5.13.0) can spoil the same for known types: a
	// [][]int32 for int4[] is refused after one for no type.
	untyped *pgtype.Map
	builder pgx.ExtendedQueryBuilder
	args    []any
	desc    pgconn.StatementDescription
}

// NewMaps gives maps as a new connection of pgx has them.
func NewMaps() *Maps {
	return newMaps(inventoryOf(pgtype.NewMap()))
}

func newMaps(v inventory) *Maps {
	ms := &Maps{inventory: v, closures: !allTopLevel(v.scan) || !allTopLevel(v.encode)}
	for oid, t := range v.types {
		if !copyable(t, nil) {
			if ms.foreign == nil {
				ms.foreign = map[uint32]bool{}
			}
			ms.foreign[oid] = true
		}
	}
	ms.reference = ms.build()
	return ms
}

// build makes one more map.
func (ms *Maps) build() *pgtype.Map { return ms.inventory.build(ms.foreign) }

// TypeForOID gives what the maps know of a type. It must not be modified.
func (ms *Maps) TypeForOID(oid uint32) (*pgtype.Type, bool) {
	if t, ok := ms.inventory.types[oid]; ok {
		return t, true
	}
	return ms.reference.TypeForOID(oid)
}

// Stock says whether a type is decoded by pgx's own default codec.
func (ms *Maps) Stock(oid uint32) bool {
	_, registered := ms.inventory.types[oid]
	return !registered
}

// needsDonor says whether there is something that can't be copied.
func (ms *Maps) needsDonor() bool { return ms.closures || ms.foreign != nil }

// reaches says whether a type is decoded by a codec that can't be copied: its
// own, or that of a part of it. pgx finds parts by their OID, so one of its own
// types may come upon what was registered for its elements.
func (ms *Maps) reaches(oid uint32) bool { return ms.reachesWithin(oid, 0) }

func (ms *Maps) reachesWithin(oid uint32, depth int) bool {
	if ms.closures || ms.foreign == nil {
		return ms.closures
	}
	t, known := ms.TypeForOID(oid)
	switch {
	case ms.foreign[oid], depth > maxDepth:
		return true
	case !known:
		return true // the Go type decides, and may stand for any
	}
	if _, ok := t.Codec.(pgtype.RecordCodec); ok {
		return true // of any type
	}
	for _, p := range parts(t) {
		if p.OID != oid && ms.reachesWithin(p.OID, depth+1) {
			return true
		}
	}
	return false
}

// reachedBy says whether a column's type is decoded by such a codec.
func (ms *Maps) reachedBy(fields []pgconn.FieldDescription) bool {
	return ms.needsDonor() && slices.ContainsFunc(fields, func(fd pgconn.FieldDescription) bool { return ms.reaches(fd.DataTypeOID) })
}

// maxDepth is how deep types are nested, more than anybody's.
const maxDepth = 16

// Lease is a map on loan. Its holder alone uses it; where the map is the
// donor's, only between Lock and Unlock.
type Lease struct {
	*Workbench
	maps   *Maps
	locked bool
}

// Take lends a map that knows the types of fields. A holder that panics need
// not give it back.
func (ms *Maps) Take(fields []pgconn.FieldDescription) Lease {
	if ms.reachedBy(fields) {
		return Lease{ms.donated(), ms, true}
	}
	return Lease{ms.take(), ms, false}
}

// Lock begins a use of the map. No code of the user's but codecs, and what they
// scan into, may run before Unlock.
func (l Lease) Lock() {
	if l.locked {
		l.maps.donor.Lock()
	}
}

// Unlock ends a use.
func (l Lease) Unlock() {
	if l.locked {
		l.maps.donor.Unlock()
	}
}

// Give ends the loan.
func (l Lease) Give() {
	if !l.locked {
		l.maps.give(l.Workbench)
	}
}

// donated gives the donor's map. Rows of types that need one are only kept
// when there is one.
func (ms *Maps) donated() *Workbench {
	ms.donor.Lock()
	defer ms.donor.Unlock()
	return ms.donor.bench
}

func (ms *Maps) take() *Workbench {
	ms.mu.Lock()
	n := len(ms.mu.free)
	if n == 0 {
		ms.mu.Unlock()
		return &Workbench{Map: ms.build()}
	}
	b := ms.mu.free[n-1]
	ms.mu.free[n-1] = nil
	ms.mu.free = ms.mu.free[:n-1]
	ms.mu.Unlock()
	return b
}

// give puts a map back, or drops it if there are enough.
func (ms *Maps) give(b *Workbench) {
	ms.mu.Lock()
	if len(ms.mu.free) < maxFree {
		ms.mu.free = append(ms.mu.free, b)
	}
	ms.mu.Unlock()
}

// Idle gives the number of maps that are kept and not lent.
func (ms *Maps) Idle() int {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return len(ms.mu.free)
}
