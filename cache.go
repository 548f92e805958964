package cachedpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
)

// Cache is the cache of one handle. Its methods may be called concurrently.
type Cache struct {
	cfg        Config // filled
	origin     *origin
	ledger     ledger
	store      *store
	tags       tagLedger
	statements *statements
	facts      *factBook
	loads      *flights[loaded]
	asks       *flights[*judgement]
	slots      chan struct{} // one for each load that may run; nil: no limit
	tooBig     *otter.Cache[string, *tooBig]
	counters   counters
	mode       atomic.Uint32
	tasks      *tasks
	born       time.Time
	doubts     doubts
	impatient  atomic.Int64 // calls that do not wait for the catalog: see patience
	askPause   atomic.Int64 // an instant: until then nobody waits for the catalog to renew a judgement

	sayings struct { // what was logged last, to say each thing once a minute
		sync.Mutex
		at map[string]time.Time
	}
}

const (
	// lingerAfter is how long a load goes on when nobody waits for it.
	lingerAfter = time.Second

	// tooBigFor is how long a key is remembered as too big to keep.
	tooBigFor   = time.Minute
	mostTooBig  = 1 << 20 // bytes of keys
	longTooBig  = 16 << 10
	sayingPause = time.Minute
)

func newCache(inner driver.Connector, cfg Config) *Cache {
	c := &Cache{cfg: cfg, born: time.Now(), tasks: newTasks()}
	c.origin = newOrigin(inner, cfg)
	c.store = newStore(cfg.MaxBytes, cfg.NegativeMaxBytes, c.now, func() { c.counters.evictions.Add(1) })
	c.statements = newStatements(cfg.MaxStatements)
	pure, _ := parsePure(cfg.PureFunctions) // it was checked
	c.facts = newFactBook(catalog.Config{Pure: pure, Partitioned: cfg.Partition != nil})
	c.tags.hash = newHasher()
	c.statements.malformed = func(hints []string) {
		c.counters.malformedHints.Add(1)
		c.say("cachedpgx: a hint is not understood, and ignored: it may be ttl=5s, stale=1s, tag=name or off", "hint", hints)
	}
	c.loads = newFlights(flightRules[loaded]{
		linger: lingerAfter, stallAfter: cfg.StallAfter, tasks: c.tasks,
		orphaned: func(l loaded) { l.discard() },
		lost:     c.loadLost,
	})
	c.asks = newFlights(flightRules[*judgement]{linger: askDeadline, stallAfter: cfg.StallAfter, tasks: c.tasks, lost: c.loadLost})
	if cfg.LoadLimit > 0 {
		c.slots = make(chan struct{}, cfg.LoadLimit)
	}
	c.tooBig = otter.Must(&otter.Options[string, *tooBig]{
		MaximumWeight: mostTooBig,
		Weigher:       func(key string, _ *tooBig) uint32 { return uint32(len(key)) + entryOverhead },
		Executor:      inline,
	})
	c.sayings.at = map[string]time.Time{}
	return c
}

func (c *Cache) now() instant { return instant(time.Since(c.born)) }

// Mode gives the present mode: what SetMode set, or the configured one.
func (c *Cache) modeNow() Mode {
	if m := Mode(c.mode.Load()); m != ModeInherit {
		return m
	}
	if m := c.cfg.Policy.Mode; m != ModeInherit {
		return m
	}
	return ModeAuto
}

// SetMode changes what is cached while the handle is in use: ModeOff sends
// everything to the server from the next statement on, and drops nothing that
// is kept; ModeInherit goes back to the configured mode. Writes are counted in
// every mode, so what is kept stays right.
func (c *Cache) SetMode(m Mode) {
	if m > ModeOff {
		m = ModeOff
	}
	c.mode.Store(uint32(m))
}

// Server gives the uncached pool of server connections beneath the cache: its
// limits, its Stats, and a way to reach the server by itself. Writes made
// through it are not seen by the cache; settings changed on its connections
// must be changed back before they return to the pool.
func (c *Cache) Server() *sql.DB { return c.origin.db }

// Flush drops everything that is kept, and everything remembered of the
// catalog. It is in force when it returns, also against loads under way: what
// they bring is not kept.
func (c *Cache) Flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.statements.forget()
	c.ledger.move()
	c.counters.invalidations.Add(1)
	c.store.clear()
	return nil
}

// InvalidateTags drops what was read under any of the tags ([WithTags], or the
// hint tag=). It is in force when it returns, also against loads under way. It
// may drop what has other tags, too; what has none stays.
func (c *Cache) InvalidateTags(ctx context.Context, tags ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, t := range tags {
		c.tags.of(t).Add(1)
	}
	c.counters.invalidations.Add(1)
	return nil
}

// Stats gives the cache's figures. It costs a few dozen loads of counters.
func (c *Cache) Stats() Stats {
	s := c.counters.snapshot()
	s.Entries, s.NegativeEntries = c.store.rows.entries(), c.store.negative.entries()
	s.Bytes, s.NegativeBytes = c.store.rows.bytes(), c.store.negative.bytes()
	return s
}

// close ends what runs in the background, waits for it, and closes the pool.
func (c *Cache) close() error {
	c.tasks.close()
	err := c.origin.db.Close()
	c.store.close()
	return err
}

// moved makes everything that is kept stale, after something that may have
// written ran under scope s.
func (c *Cache) moved(s *scope) {
	c.wrote(s)
	c.ledger.move()
	c.counters.invalidations.Add(1)
}

// wrote takes down that the handle may have written. A standby writes nothing.
func (c *Cache) wrote(s *scope) {
	if s == nil || !s.recovery {
		c.ledger.wrote.Store(true)
	}
}

// unknownRan voids what is known of the catalog after something ran that may
// have created or altered: an unknown function, anything in Raw. What is
// prepared on a connection is dropped before the next load on it.
func (c *Cache) unknownRan() {
	c.statements.forget()
	c.origin.replans.Add(1)
}

// altered voids what is known of the catalog: something was created or
// altered. Connections that prepared texts before may go on reading what these
// meant then, so loads use none of them.
func (c *Cache) altered() {
	c.statements.forget()
	c.origin.renew()
}

// say logs a thing once a minute.
func (c *Cache) say(msg string, args ...any) {
	c.sayings.Lock()
	last, ok := c.sayings.at[msg]
	due := !ok || time.Since(last) >= sayingPause
	if due {
		c.sayings.at[msg] = time.Now()
	}
	c.sayings.Unlock()
	if due {
		c.cfg.Logger.Warn(msg, args...)
	}
}

// loadLost hears of a load that panicked when its caller had left.
func (c *Cache) loadLost(panicked any) {
	c.say("cachedpgx: a load panicked after its caller had left", "panic", panicked, "stack", string(debug.Stack()))
}

// kept finds the entry that an admitted call may be served, if there is one.
func (c *Cache) kept(a *admission, now instant) (e *entry, negative bool, s standing) {
	if a.wish.refresh {
		return nil, false, standingMoved
	}
	e, negative, ok := c.store.get(a.key)
	if !ok {
		return nil, false, standingMoved
	}
	// Another caller's mark may have given the entry a longer life than this
	// one allows.
	if now >= e.expiry || now-e.start >= instant(a.terms.ttl()) {
		return nil, false, standingMoved
	}
	return e, negative, c.ledger.standing(e.stamp)
}

// hit answers an admitted call from memory, if it can.
func (c *Cache) hit(a *admission) (driver.Rows, standing, error) {
	e, negative, s := c.kept(a, a.now)
	if s != standingCurrent {
		return nil, s, nil
	}
	c.counters.hits.Add(1)
	if negative {
		c.counters.negativeHits.Add(1)
	}
	rows, err := e.rows.Reader(readShared, nil)
	return rows, standingCurrent, err
}

// miss answers an admitted call by a load, which identical calls share. An
// empty reason says that it is answered; with any other, the call goes to the
// server by itself.
func (c *Cache) miss(ctx context.Context, a *admission, q ask) (driver.Rows, string, error) {
	switch {
	case a.params != "":
		q.params, q.args = a.params, nil // they are encoded, and not read any more
	case ctx.Done() != nil:
		q.args = detached(q.args) // the load may outlive the call
	}
	if b, ok := c.tooBig.GetIfPresent(a.key); ok && c.now() < b.until && b.within(c.limitsOf(a.terms.policy)) {
		return nil, reasonTooBig, nil
	}
	l, p, err := c.loads.do(ctx, request[loaded]{
		key: a.key, stamp: a.stamp, life: a.terms.ttl(), alone: a.wish.refresh,
		load: func(ctx context.Context) (loaded, error) { return c.load(ctx, a, q) },
	})
	c.counters.misses.Add(1)
	if p == partFollower {
		c.counters.coalesced.Add(1)
	}
	if err != nil {
		if p != partNone && errors.Is(err, context.Canceled) && c.tasks.closing.Err() != nil {
			err = ErrClosed
		}
		switch {
		case errors.Is(err, errOtherTypes):
			return nil, reasonUndescribed, nil
		case p == partNone && a.scope != plain:
			err = callersEnd(err)
		case p == partFollower:
			err = ownError(err)
		}
		return nil, "", err
	}
	if l.open != nil {
		if p != partLeader {
			return nil, l.reason, nil
		}
		return l.openFor(ctx), "", nil
	}
	if p == partLeader {
		rows, err := l.rows.Reader(readOnce, l.tail)
		return rows, "", err
	}
	rows, err := l.rows.Reader(readShared, ownError(l.tail))
	return rows, "", err
}

// missPinned answers an admitted call on the session's own pin.
// It gives a reason as miss does.
func (c *Cache) missPinned(ctx context.Context, a *admission, q ask, p *pin) (driver.Rows, string, error) {
	c.counters.misses.Add(1)
	c.counters.loadStarts()
	start := c.now()
	same, err := p.unsoiled(ctx)
	var l loaded
	if err == nil {
		l, err = p.server.load(ctx, c.loadQuery(a, q))
	}
	c.counters.loadEnds(err)
	if err != nil {
		if errors.Is(err, errOtherTypes) {
			c.relearn(a, err, p.scope())
			return nil, reasonUndescribed, nil
		}
		return nil, "", err
	}
	if same && l.reason != reasonUnstorable {
		c.keep(a, l, start, p)
	}
	if l.open != nil {
		return l.open(func() {}), "", nil
	}
	rows, err := l.rows.Reader(readOnce, l.tail)
	return rows, "", err
}
