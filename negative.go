package cachedpgx

// store keeps results in two places: those with rows, and empty ones, which
// have a life and a memory of their own, so that a flood of unknown ids can't
// push out real rows. A key is in at most one of them for longer than a store
// takes.
type store struct {
	rows, negative *rowsCache
}

func newStore(most, mostNegative int64, now func() instant, evicted func()) *store {
	return &store{
		rows:     newRowsCache(most, now, evicted),
		negative: newRowsCache(mostNegative, now, evicted),
	}
}

// get gives the entry of a key, and whether it is an empty result.
func (s *store) get(key string) (e *entry, negative bool, ok bool) {
	if e, ok = s.rows.get(key); ok {
		return e, false, true
	}
	e, ok = s.negative.get(key)
	return e, true, ok
}

// put keeps an entry in its place, drops what it supersedes in the other, and
// itself if it is superseded from there. Whichever of two comes last sees the
// other:
//
//	rows, of instant 5             empty, of instant 10
//	                               puts itself
//	puts itself
//	                               drops rows of before 10: gone
//	finds 10: would drop itself
func (s *store) put(key string, e *entry) {
	to, other := s.rows, s.negative
	if e.rows.Len() == 0 {
		to, other = other, to
	}
	to.put(key, e)
	other.drop(key, e.start)
	if o, ok := other.get(key); ok && o.start > e.start {
		to.drop(key, e.start)
	}
}

func (s *store) clear() { s.rows.clear(); s.negative.clear() }
func (s *store) close() { s.rows.close(); s.negative.close() }
