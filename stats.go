package cachedpgx

import (
	"sync"
	"sync/atomic"
)

// Stats is a snapshot of a cache's figures: counters since it was made, and
// gauges of now. The counters are read one after another, so under load their
// sums may differ by what happened meanwhile.
type Stats struct {
	Hits         uint64 // reads served from memory, NegativeHits among them
	NegativeHits uint64 // of those, empty results
	Misses       uint64 // reads that waited for a load, Coalesced among them
	Coalesced    uint64 // of those, the ones that waited for another caller's load
	Loads        uint64 // loads at the server
	LoadErrors   uint64 // of those, the ones that failed

	// Bypasses counts the statements that went to the server uncached, by the
	// code of the first reason why.
	Bypasses map[string]uint64

	MalformedHints uint64 // texts with a hint that is not understood; Explain shows it

	Invalidations uint64 // times that a write, or Flush, moved the ledger
	Discarded     uint64 // loads whose rows were handed out but not stored, since the ledger had moved
	Evictions     uint64 // entries pushed out by the memory limits, or at the end of their life

	Entries, NegativeEntries int64 // kept now, those whose life is over but that still take memory among them
	Bytes, NegativeBytes     int64 // memory they take, bookkeeping included

	Loading, LoadingPeak int64 // loads at the server now, and the most at one time
}

// counters are the live figures behind Stats.
type counters struct {
	hits, negativeHits, misses, coalesced atomic.Uint64
	loads, loadErrors                     atomic.Uint64
	invalidations, discarded, evictions   atomic.Uint64
	malformedHints                        atomic.Uint64
	loading, loadingPeak                  atomic.Int64
	bypasses                              sync.Map // reason code → *atomic.Uint64
}

func (c *counters) bypass(code string) {
	n, ok := c.bypasses.Load(code)
	if !ok {
		n, _ = c.bypasses.LoadOrStore(code, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
}

func (c *counters) loadStarts() {
	c.loads.Add(1)
	now := c.loading.Add(1)
	for {
		peak := c.loadingPeak.Load()
		if now <= peak || c.loadingPeak.CompareAndSwap(peak, now) {
			return
		}
	}
}

func (c *counters) loadEnds(failed error) {
	c.loading.Add(-1)
	if failed != nil {
		c.loadErrors.Add(1)
	}
}

func (c *counters) snapshot() Stats {
	s := Stats{
		Hits:           c.hits.Load(),
		NegativeHits:   c.negativeHits.Load(),
		Misses:         c.misses.Load(),
		Coalesced:      c.coalesced.Load(),
		Loads:          c.loads.Load(),
		LoadErrors:     c.loadErrors.Load(),
		MalformedHints: c.malformedHints.Load(),
		Bypasses:       map[string]uint64{},
		Invalidations:  c.invalidations.Load(),
		Discarded:      c.discarded.Load(),
		Evictions:      c.evictions.Load(),
		Loading:        c.loading.Load(),
		LoadingPeak:    c.loadingPeak.Load(),
	}
	c.bypasses.Range(func(code, n any) bool {
		s.Bypasses[code.(string)] = n.(*atomic.Uint64).Load()
		return true
	})
	return s
}
