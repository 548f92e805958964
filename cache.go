package cachedpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// Cache is the cache of one handle. Its methods may be called concurrently.
type Cache struct {
	cfg        Config // filled
	origin     *origin
	ledger     ledger
	store      *store
	statements *statements
	loads      *flights[loaded]
	asks       *flights[*judgement]
	slots      chan struct{} // one for each load that may run; nil: no limit
	tooBig     *otter.Cache[string, instant]
	counters   counters
	mode       atomic.Uint32
	tasks      *tasks
	born       time.Time
	doubts     doubts
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
	mostTooBig  = 10_000
	sayingPause = time.Minute
)

func newCache(inner driver.Connector, cfg Config) *Cache {
	c := &Cache{cfg: cfg, born: time.Now(), tasks: newTasks()}
	c.origin = newOrigin(inner, cfg)
	c.store = newStore(cfg.MaxBytes, cfg.NegativeMaxBytes, c.now, func() { c.counters.evictions.Add(1) })
	c.statements = newStatements(cfg.MaxStatements)
	c.statements.malformed = func(hints []string) {
		c.say("cachedpgx: a hint is not understood, and ignored: it may be ttl=5s or off", "hint", hints)
	}
	c.loads = newFlights(flightRules[loaded]{
		linger: lingerAfter, stallAfter: cfg.StallAfter, tasks: c.tasks,
		orphaned: func(l loaded) { l.discard() },
		lost:     c.loadLost,
	})
	c.asks = newFlights(flightRules[*judgement]{linger: lingerAfter, stallAfter: cfg.StallAfter, tasks: c.tasks, lost: c.loadLost})
	if cfg.LoadLimit > 0 {
		c.slots = make(chan struct{}, cfg.LoadLimit)
	}
	c.tooBig = otter.Must(&otter.Options[string, instant]{MaximumSize: mostTooBig, Executor: inline})
	c.sayings.at = map[string]time.Time{}
	return c
}

func (c *Cache) now() instant { return instant(time.Since(c.born)) }

// Mode gives the present mode: what SetMode set, or the configured one.
func (c *Cache) modeNow() Mode {
	if m := Mode(c.mode.Load()); m != ModeInherit {
		return m
	}
	return c.cfg.Policy.Mode
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

// admission is what is known of a call before it runs: either everything that
// a look-up needs, or the reason why it goes to the server.
type admission struct {
	reason string // "": admitted
	proof  proof
	st     *statement
	scope  *scope
	judged *judgement
	key    string
	stamp  stamp
	wish   wish
	aged   bool // the judgement is too old for a load
}

// proof says whether a statement is proven to write nothing.
type proof uint8

const (
	unproven proof = iota
	harmless
)

// ask is a statement as it was asked.
type ask struct {
	text string
	args []driver.NamedValue
	prep preparation
}

// admit finds out whether a call may be answered from the cache. p is the
// session's pin, nil if it holds none; a session that holds one asks the
// catalog on it, and waits for nobody.
func (c *Cache) admit(ctx context.Context, st *statement, q ask, p *pin) admission {
	a := admission{st: st, wish: wishOf(ctx)}
	if reason := c.admitText(&a); reason != "" {
		a.reason = reason
		return a
	}
	// Things may change while the catalog is asked: the scope, by a younger
	// connection; the catalog itself, by DDL. That the judgement still holds
	// is looked at after the stamp is taken:
	//
	//	admission                   DDL
	//	judgement of generation 5
	//	                            commits
	//	                            generation = 6, then epoch = 9, returns
	//	stamp = 9
	//	5 ≠ 6: judges again
	//
	// If the generation moves only after that look, the epoch moves after the
	// stamp, and what is loaded is not kept.
	for range 3 {
		if a.reason = c.admitScope(ctx, &a, p); a.reason != "" {
			a.proof = c.proved(st)
			return a
		}
		a.reason, a.aged = reasonNoCatalog, false
		if a.judged = c.judge(ctx, &a, q, p); a.judged == nil {
			return a
		}
		if a.judged.scope != a.scope.id {
			continue
		}
		a.proof = unproven
		if a.judged.Harmless {
			a.proof = harmless
		}
		a.reason = c.admitVerdict(ctx, &a, q)
		if a.scope == plain || a.judged.generation == c.statements.generation.Load() {
			return a
		}
		a.reason = reasonNoCatalog
	}
	return a
}

// proved says what is known of a statement without asking.
func (c *Cache) proved(st *statement) proof {
	if s := c.origin.current.Load(); s != nil {
		if j := c.statements.known(st, s.id); j != nil && j.Harmless {
			return harmless
		}
	}
	return unproven
}

// admitText decides by the text alone.
func (c *Cache) admitText(a *admission) string {
	st := a.st
	if st.trivial {
		a.proof = harmless
		return st.firstReason()
	}
	if !st.isRead() {
		if st.isShow() {
			a.proof = harmless
		}
		return st.firstReason()
	}
	if h := st.scan.Hint; h.Set {
		if h.Off {
			a.wish.bypass = true
		}
		if a.wish.ttl == 0 {
			a.wish.ttl = h.TTL
		}
	}
	return ""
}

// admitScope decides under which scope a call is answered.
func (c *Cache) admitScope(ctx context.Context, a *admission, p *pin) string {
	if c.modeNow() == ModeOff {
		return reasonModeOff
	}
	switch {
	case p != nil:
		a.scope = p.scope()
	default:
		a.scope = c.scopeNow(ctx)
	}
	switch {
	case c.origin.hooked.Load() && c.cfg.Partition == nil:
		return reasonResetHook
	case a.scope == nil:
		return reasonNoCatalog
	case a.scope.pooled:
		return reasonPooler
	case c.origin.unstable():
		return reasonScope
	case a.scope.odd && a.st.scan.Backslash:
		return reasonBackslash
	}
	return ""
}

// admitVerdict decides by what the catalog said, and by the arguments.
func (c *Cache) admitVerdict(ctx context.Context, a *admission, q ask) string {
	marked := a.wish.ttl > 0
	switch {
	case a.wish.bypass:
		return reasonAsked
	case !a.judged.Cacheable && !(marked && a.judged.WithMark):
		return a.judged.firstReason()
	case !marked && c.modeNow() == ModeMarked:
		return reasonNotMarked
	case a.st.unstorable.Load():
		return reasonUnstorable
	case a.scope.lags(&c.ledger):
		return reasonStandby
	}
	head := keyHead{scope: a.scope.id, statement: a.st.id, prepared: q.prep}
	if c.cfg.Partition != nil {
		var ok bool
		if head.partition, ok = c.partition(ctx); !ok {
			return reasonPartition
		}
	}
	var buf [256]byte
	key := appendHead(buf[:0], head)
	for i := range q.args {
		var kind argument
		if key, kind = appendArgument(key, &q.args[i]); kind == argumentOpaque {
			return reasonArgument
		}
		if reason := a.judged.admitArgument(i, q.args[i].Value, kind, marked); reason != "" {
			return reason
		}
	}
	var now standing
	if a.stamp, now = c.ledger.stamp(); now != standingCurrent {
		return reasonQuarantine
	}
	a.key = string(key)
	return ""
}

// partition asks the user's Partition, and survives it.
func (c *Cache) partition(ctx context.Context) (part string, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			c.say("cachedpgx: Config.Partition panicked, so the call goes to the server", "panic", r)
			part, ok = "", false
		}
	}()
	return c.cfg.Partition(ctx), true
}

// kept finds the entry that an admitted call may be served, if there is one.
func (c *Cache) kept(a *admission) (e *entry, negative bool, s standing) {
	if a.wish.refresh {
		return nil, false, standingMoved
	}
	e, negative, ok := c.store.get(a.key)
	if !ok {
		return nil, false, standingMoved
	}
	// Another caller's mark may have given the entry a longer life than this
	// one allows.
	now := c.now()
	if now >= e.expiry || now-e.start >= instant(c.ttl(a)) {
		return nil, false, standingMoved
	}
	return e, negative, c.ledger.standing(e.stamp)
}

// hit answers an admitted call from memory, if it can.
func (c *Cache) hit(a *admission) (driver.Rows, standing, error) {
	e, negative, s := c.kept(a)
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
	if ctx.Done() != nil {
		q.args = detached(q.args) // the load may outlive the call
	}
	if until, ok := c.tooBig.GetIfPresent(a.key); ok && c.now() < until {
		return nil, reasonTooBig, nil
	}
	l, p, err := c.loads.do(ctx, request[loaded]{
		key: a.key, stamp: a.stamp, life: c.ttl(a), alone: a.wish.refresh,
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
		return nil, "", err
	}
	if l.open != nil {
		if p != partLeader {
			return nil, l.reason, nil
		}
		return l.openFor(ctx), "", nil
	}
	how := readShared
	if p == partLeader {
		how = readOnce
	}
	rows, err := l.rows.Reader(how, l.tail)
	return rows, "", err
}

// missPinned answers an admitted call on the session's own pin.
func (c *Cache) missPinned(ctx context.Context, a *admission, q ask, p *pin) (driver.Rows, error) {
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
		return nil, err
	}
	if same {
		c.keep(a, l, start, p)
	}
	if l.open != nil {
		return l.open(func() {}), nil
	}
	return l.rows.Reader(readOnce, l.tail)
}

func (c *Cache) ttl(a *admission) time.Duration {
	if a.wish.ttl > 0 {
		return a.wish.ttl
	}
	return c.cfg.Policy.TTL
}

func (c *Cache) loadQuery(a *admission, q ask) loadQuery {
	limits := rowset.Limits{Rows: c.cfg.Policy.MaxRows, Bytes: c.cfg.Policy.MaxResultBytes}
	if limits.Bytes < 0 || limits.Bytes > c.cfg.MaxBytes {
		limits.Bytes = c.cfg.MaxBytes
	}
	return loadQuery{text: q.text, args: q.args, prep: q.prep, limits: limits, shape: &a.st.shape}
}

// load runs a read at the server and keeps what it brings. Before that it looks
// again, since another flight may have landed between its caller's look and its
// taking the lead:
//
//	caller A            caller B
//	leads, loads        looks: nothing kept
//	stores, lands
//	                    leads: looks again, and need not load
func (c *Cache) load(ctx context.Context, a *admission, q ask) (loaded, error) {
	if e, _, s := c.kept(a); s == standingCurrent {
		return loaded{rows: e.rows}, nil
	}
	if err := c.enter(ctx); err != nil {
		return loaded{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var timeout *time.Timer
	if d := c.cfg.LoadTimeout; d > 0 {
		timeout = time.AfterFunc(d, func() { cancel(&loadTimeoutError{d}) })
	}
	c.counters.loadStarts()
	handedOn := false // the stream has them, and ends them
	finished := false
	var err error
	defer func() {
		if timeout != nil {
			timeout.Stop()
		}
		if !finished {
			err = errors.New("cachedpgx: the load panicked")
		}
		c.counters.loadEnds(err)
		if !handedOn {
			cancel(nil)
		}
		c.leave()
	}()

	var start instant
	var l loaded
	asked := 0
	p, err := c.origin.run(ctx, useLoad, func(p *pin) (err error) {
		done := false
		defer func() {
			if !done {
				p.abandon()
			}
		}()
		start = c.now()
		l, err = p.server.load(ctx, c.loadQuery(a, q))
		done = true
		if asked++; err != nil && p.died(ctx) && asked == 1 {
			err = driver.ErrBadConn
		}
		return err
	})
	finished = true
	var late *loadTimeoutError
	if errors.As(context.Cause(ctx), &late) {
		if err != nil {
			err = late
		} else if l.tail != nil {
			l.tail = late
		}
	}
	if err != nil {
		if p != nil {
			p.giveBack()
		}
		return loaded{}, err
	}
	c.keep(a, l, start, p)
	if l.open == nil {
		p.giveBack()
		return l, nil
	}
	handedOn = true
	open := l.open
	l.open = func(done func()) driver.Rows {
		return open(func() {
			p.giveBack()
			cancel(nil)
			done()
		})
	}
	l.cancel = func() { cancel(context.Canceled) }
	return l, nil
}

// openFor opens the stream for a caller whose end ends it, too.
func (l loaded) openFor(ctx context.Context) driver.Rows {
	unlink := context.AfterFunc(ctx, l.cancel)
	return l.open(func() { unlink() })
}

// discard closes what nobody takes.
func (l loaded) discard() {
	if l.open != nil {
		l.cancel()
		_ = l.open(func() {}).Close()
	}
}

// enter waits for a turn to load; leave ends it.
func (c *Cache) enter(ctx context.Context) error {
	if c.slots == nil {
		return nil
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cache) leave() {
	if c.slots != nil {
		<-c.slots
	}
}

// keep stores what a load brought, if it is whole, of the scope it was asked
// under, and not overtaken by a write. The stamp that it carries would keep it
// from ever being served in that case; not storing it saves the memory.
func (c *Cache) keep(a *admission, l loaded, start instant, p *pin) {
	if l.open != nil {
		if l.reason == reasonUnstorable {
			a.st.unstorable.Store(true)
		} else {
			c.tooBig.Set(a.key, c.now()+instant(tooBigFor))
		}
		return
	}
	if l.tail != nil {
		return
	}
	if p.scope() != a.scope || p.oldPlans() || a.scope.lags(&c.ledger) || c.ledger.standing(a.stamp) != standingCurrent {
		c.counters.discarded.Add(1)
		return
	}
	policy := c.cfg.Policy
	if a.wish.ttl > 0 {
		policy.TTL = a.wish.ttl
		policy.NegativeTTL = min(policy.NegativeTTL, a.wish.ttl)
	}
	life := policy.life(l.rows.Len() == 0, rand.Float64())
	if life <= 0 {
		return
	}
	expiry := start + instant(life)
	if c.now() >= expiry {
		return
	}
	c.store.put(a.key, &entry{rows: l.rows, stamp: a.stamp, start: start, expiry: expiry})
}
