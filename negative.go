package cachedpgx

// store keeps results in two places: those with rows, and empty ones, which
// have a life and a memory of their own, so that a flood of unknown ids can't
// push out real rows. A key is in at most one of them for longer than a store
// takes, and of two the younger counts.
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
	e, ok = s.rows.get(key)
	n, nok := s.negative.get(key)
	switch {
	case nok && (!ok || n.start > e.start):
		return n, true, true
	case ok:
		return e, false, true
	}
	return nil, false, false
}

// put keeps an entry in its place and drops what it supersedes in the other.
func (s *store) put(key string, e *entry) {
	if e.rows.Len() == 0 {
		s.negative.put(key, e)
		s.rows.drop(key, e.start)
		return
	}
	s.rows.put(key, e)
	s.negative.drop(key, e.start)
}

func (s *store) clear() { s.rows.clear(); s.negative.clear() }
func (s *store) close() { s.rows.close(); s.negative.close() }
