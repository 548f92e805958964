package typemap

import (
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// maxKinds bounds the kinds of connections that a handle's maps are kept for.
// A handle whose hooks register the same on each has one.
const maxKinds = 16

// Registry knows the kinds of type maps that a handle's connections have. It is
// safe for concurrent use.
type Registry struct {
	stock *Maps // as a new connection of pgx has them

	mu struct {
		sync.Mutex
		kinds []*Maps
	}
}

// NewRegistry gives one that knows pgx's default types.
func NewRegistry() *Registry {
	r := &Registry{stock: NewMaps()}
	r.mu.kinds = []*Maps{r.stock}
	return r
}

// Stock gives the maps of a connection on which nothing was registered.
func (r *Registry) Stock() *Maps { return r.stock }

// find gives the maps of one kind, nil if it can't be known.
func (r *Registry) find(v inventory) *Maps {
	if v.unknown {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ms := range r.mu.kinds {
		if ms.inventory.alike(v) {
			return ms
		}
	}
	ms := newMaps(v)
	if len(r.mu.kinds) >= maxKinds {
		r.mu.kinds = slices.Delete(r.mu.kinds, 1, 2) // the oldest but the stock; rows that need it have it
	}
	r.mu.kinds = append(r.mu.kinds, ms)
	return ms
}

// Source is the type map of one connection. Like the connection, it is for one
// goroutine at a time.
type Source struct {
	registry *Registry
	m        *pgtype.Map
	seen     inventory
	maps     *Maps
}

// Source looks into the map of a connection.
func (r *Registry) Source(m *pgtype.Map) *Source {
	s := &Source{registry: r, m: m}
	s.look()
	return s
}

func (s *Source) look() {
	s.seen = inventoryOf(s.m)
	s.maps = s.registry.find(s.seen)
}

// Kind gives the maps of the connection's kind, which may lack a donor; nil if it
// can't be known.
func (s *Source) Kind() *Maps {
	if s.changed() {
		s.look()
	}
	return s.maps
}

// MapsFor gives the maps that decode the columns of a result as the connection
// does; nil if there are none: see Kind. That a donor lacks only matters if one
// of the columns needs it.
func (s *Source) MapsFor(fields []pgconn.FieldDescription) *Maps {
	if s.Kind() == nil {
		return nil
	}
	for i := range fields {
		oid := fields[i].DataTypeOID
		if seen, registered := s.seen.types[oid]; registered {
			if now, _ := s.m.TypeForOID(oid); now != seen {
				s.look() // registered anew since
				break
			}
		}
	}
	if s.maps == nil || s.Wants() && s.maps.reachedBy(fields) {
		return nil
	}
	return s.maps
}

// changed says whether types were registered since, as far as their number
// tells.
func (s *Source) changed() bool {
	types, defaults := registered(s.m)
	return types.IsValid() && defaults.IsValid() &&
		(types.Len() != len(s.seen.types) || defaults.Len() != len(s.seen.defaults)) ||
		!sameFuncs(s.m.TryWrapScanPlanFuncs, s.seen.scan) || !sameFuncs(s.m.TryWrapEncodePlanFuncs, s.seen.encode)
}

// Wants says whether the maps lack a donor: a connection of this kind that will
// not be used any more.
func (s *Source) Wants() bool {
	return s.maps != nil && s.maps.needsDonor() && s.maps.donated() == nil
}

// Donate gives the map to the maps of its kind: nobody will use the connection any
// more.
func (s *Source) Donate() {
	ms := s.Kind()
	if ms == nil || !ms.needsDonor() {
		return
	}
	ms.donor.Lock()
	defer ms.donor.Unlock()
	if ms.donor.bench == nil {
		ms.donor.bench = &Workbench{Map: s.m}
	}
}
