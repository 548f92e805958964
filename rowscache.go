package cachedpgx

import (
	"database/sql/driver"
	"time"

	"github.com/maypok86/otter/v2"
)

// instant is a moment on the cache's own monotonic clock: the time since it
// was made. A wall clock that jumps changes nothing.
type instant time.Duration

// result is a complete result: rowset.Set for pgx, rowset.ValueSet for any
// other inner driver. It is immutable, and hands out no memory of its own that
// a caller could change.
type result interface {
	Len() int
	Size() int64
	Reader(how reading, tail error) (driver.Rows, error)
}

// reading says what a reader of a result is for.
type reading uint8

const (
	readShared reading = iota // a hit, or one of many: what it decodes is kept for the next
	readOnce                  // the one caller of a load: decoding for others doesn't pay yet
)

// entry is a kept result. It is immutable.
type entry struct {
	rows   result
	stamp  stamp
	start  instant // of its load
	expiry instant
	weight uint32
}

// entryOverhead is what an entry takes beside its key and its rows: itself,
// the engine's node, and its place in the engine's tables.
const entryOverhead = 240

// rowsCache keeps results, bounded by bytes: the engine is otter, which evicts
// by frequency and recency. It is safe for concurrent use.
//
// It neither knows what a key means nor compares stamps; it only sees to it
// that a store replaces nothing that started later.
type rowsCache struct {
	engine *otter.Cache[string, *entry]
	most   int64
	now    func() instant
}

func newRowsCache(most int64, now func() instant, evicted func()) *rowsCache {
	c := &rowsCache{most: most, now: now}
	c.engine = otter.Must(&otter.Options[string, *entry]{
		MaximumWeight: uint64(most),
		Weigher:       func(_ string, e *entry) uint32 { return e.weight },
		// The engine's clock only frees memory: whether a life is over is
		// decided at each hit.
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, *entry]) time.Duration {
			return max(time.Duration(e.Value.expiry-now()), time.Nanosecond)
		}),
		OnDeletion: func(e otter.DeletionEvent[string, *entry]) {
			if e.WasEvicted() {
				evicted()
			}
		},
		Executor: inline,
	})
	return c
}

// get gives the entry of a key, fresh or not.
func (c *rowsCache) get(key string) (*entry, bool) { return c.engine.GetIfPresent(key) }

// put keeps an entry, unless the one that is there started later, or it is
// larger than the whole cache.
func (c *rowsCache) put(key string, e *entry) {
	weight := int64(len(key)) + e.rows.Size() + entryOverhead
	if weight > c.most || weight > 1<<31 {
		return
	}
	e.weight = uint32(weight)
	c.engine.Compute(key, func(old *entry, found bool) (*entry, otter.ComputeOp) {
		if found && old.start > e.start {
			return old, otter.CancelOp
		}
		return e, otter.WriteOp
	})
}

// drop removes the entry of a key if it started no later than start.
func (c *rowsCache) drop(key string, start instant) {
	c.engine.ComputeIfPresent(key, func(old *entry) (*entry, otter.ComputeOp) {
		if old.start > start {
			return old, otter.CancelOp
		}
		return old, otter.InvalidateOp
	})
}

func (c *rowsCache) clear()         { c.engine.InvalidateAll() }
func (c *rowsCache) entries() int64 { return int64(c.engine.EstimatedSize()) }
func (c *rowsCache) bytes() int64   { return int64(c.engine.WeightedSize()) }
func (c *rowsCache) close()         { c.engine.StopAllGoroutines(); c.engine.InvalidateAll() }
