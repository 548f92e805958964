package cachedpgx

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// origin is where rows come from: the pool of server connections, an ordinary
// *sql.DB over the inner connector. Sessions pin its connections; loads borrow
// them. Neither waits for the other while it holds what the other needs: a
// load holds no connection while it waits for one, and a session that holds a
// pin never waits for a load.
type origin struct {
	db     *sql.DB
	inner  driver.Connector
	maps   *rowset.Maps
	log    *slog.Logger
	pooler bool // declared: cache_pooler=transaction

	pgxpool *pgxpool.Pool // that the inner connector lends from, if it does
	hooked  atomic.Bool   // the user's hooks run as a session begins: see hook.go

	// The scope of the youngest connection. Hits are served under it.
	current atomic.Pointer[scope]
	scopes  struct {
		sync.Mutex
		byText   map[string]*scope
		lastID   uint64
		changes  int // of current, since the window began
		since    time.Time
		unstable bool
		asked    time.Time // when a server last didn't say who it is
	}

	dialled atomic.Uint64 // counts connections
	renewed atomic.Uint64 // loads use none that was dialled before this one
	suspect atomic.Uint64 // those dialled before are pinged once before they are used
	replans atomic.Uint64 // times that plans of before may have become wrong

	// Takers that wait for a connection, and idle sessions that could give one.
	waiting atomic.Int64
	idle    struct {
		sync.Mutex
		sessions []reclaimer // oldest first
	}

	// What is known of other drivers' connections, bounded.
	others struct {
		sync.Mutex
		byConn map[driver.Conn]*serverConn
	}
}

// reclaimer is an idle session that holds a pin, and may have to give it up.
type reclaimer interface{ reclaim() bool }

// serverConn is what is known of one server connection. It belongs to whoever
// holds the connection.
type serverConn struct {
	born         uint64
	used         bool   // somebody has run something on it
	scope        *scope // nil: it did not say who it is
	probe        string // what probeSQL answered then
	replanned    uint64 // origin.replans when its plans were last dropped
	vouched      uint64 // origin.suspect when it last answered a ping
	soiled       bool   // something ran that may have changed settings unseen: a trigger, a view, a default
	autoPrepares bool   // running a text directly does what running it prepared does
	prepared     map[string]bool
	order        []string // of prepared, oldest first
}

// notePrepared counts a statement left prepared on the connection, and drops
// the oldest beyond the limit.
func (sc *serverConn) notePrepared(ctx context.Context, pc *pgx.Conn, text string) {
	if sc.prepared[text] {
		return
	}
	if sc.prepared == nil {
		sc.prepared = map[string]bool{}
	}
	for len(sc.order) >= mostPrepared {
		oldest := sc.order[0]
		sc.order = sc.order[1:]
		if sc.prepared[oldest] {
			delete(sc.prepared, oldest)
			_ = pc.Deallocate(ctx, oldest)
		}
	}
	sc.prepared[text] = true
	sc.order = append(sc.order, text)
}

// connInfoKey is where a pgx connection carries its serverConn.
const connInfoKey = "cachedpgx"

func newOrigin(inner driver.Connector, cfg Config) *origin {
	o := &origin{inner: inner, maps: rowset.NewMaps(), log: cfg.Logger, pooler: cfg.pooler, pgxpool: poolOf(inner)}
	o.scopes.byText = map[string]*scope{}
	o.db = sql.OpenDB(dialler{o})
	o.db.SetMaxOpenConns(cfg.ServerPool.MaxOpen)
	o.db.SetMaxIdleConns(cfg.ServerPool.MaxIdle)
	o.db.SetConnMaxLifetime(cfg.ServerPool.MaxLifetime)
	o.db.SetConnMaxIdleTime(cfg.ServerPool.MaxIdleTime)
	if o.pgxpool != nil {
		o.db.SetMaxIdleConns(-1) // the pgxpool keeps them
		o.hooked.Store(poolHasHook(o.pgxpool))
	}
	return o
}

// dialler is the connector beneath the server pool: the inner one, and a look
// at each connection that it dials.
type dialler struct{ o *origin }

func (d dialler) Driver() driver.Driver { return d.o.inner.Driver() }

func (d dialler) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := d.o.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	dc, ok := c.(*stdlib.Conn)
	if !ok {
		return c, nil
	}
	if d.o.meet(ctx, dc) {
		return dc, nil
	}
	// The connection was lost while it was asked who it is. The next one is
	// asked when it is first loaded from, so that a server that can't bear the
	// question is still there for everything else.
	_ = dc.Close()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d.o.inner.Connect(ctx)
}

func (d dialler) Close() error { return nil }

// meet asks a pgx connection who it is, once. It reports whether the
// connection still works.
func (o *origin) meet(ctx context.Context, dc *stdlib.Conn) bool {
	pc := dc.Conn().PgConn()
	if _, ok := pc.CustomData()[connInfoKey]; ok {
		return true // a pgxpool hands connections out again
	}
	if connHasHook(dc, o.pgxpool != nil) {
		o.hooked.Store(true)
	}
	info := o.newInfo(dc)
	if o.worthAsking() {
		o.identify(ctx, pc, info)
	}
	return !pc.IsClosed()
}

// newInfo begins what is known of a connection.
func (o *origin) newInfo(dc *stdlib.Conn) *serverConn {
	cfg := dc.Conn().Config()
	info := &serverConn{
		born: o.dialled.Add(1), replanned: o.replans.Load(),
		autoPrepares: cfg.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && cfg.StatementCacheCapacity > 0,
	}
	dc.Conn().PgConn().CustomData()[connInfoKey] = info
	return info
}

// identify asks a connection who it is and takes down the answer. That a
// connection is lost meanwhile says nothing about the server.
func (o *origin) identify(ctx context.Context, pc *pgconn.PgConn, info *serverConn) {
	id, err := identify(ctx, pc)
	if err != nil {
		if ctx.Err() == nil && !pc.IsClosed() {
			o.notIdentified(err)
		}
		return
	}
	info.scope, info.probe = o.adopt(id, pc.PID()), id.probe
}

// plain is the scope of connections of another driver, which can't be asked.
var plain = &scope{text: "another driver"}

// An unidentified server is asked again after a while, not at each dial.
const askAgainAfter = 5 * time.Second

func (o *origin) worthAsking() bool {
	o.scopes.Lock()
	defer o.scopes.Unlock()
	return o.scopes.asked.IsZero() || time.Since(o.scopes.asked) > askAgainAfter
}

func (o *origin) notIdentified(err error) {
	o.scopes.Lock()
	first := o.scopes.asked.IsZero()
	o.scopes.asked = time.Now()
	o.scopes.Unlock()
	if first {
		o.log.Warn("cachedpgx: the server does not say who it is, so nothing is cached", "error", err)
	}
}

// Scopes that take turns would have every connection retired for the next
// one's sake.
const (
	mostScopeChanges = 16
	scopeWindow      = time.Minute
	mostScopes       = 1024
)

// adopt makes the identity of a connection just dialled the current scope.
func (o *origin) adopt(id identity, pid uint32) *scope {
	pooled := o.pooler || id.pid != strconv.FormatUint(uint64(pid), 10)
	text := id.text
	if pooled {
		text = "pooled " + text
	}
	o.scopes.Lock()
	defer o.scopes.Unlock()
	o.scopes.asked = time.Time{}
	s := o.scopes.byText[text]
	if s == nil {
		if len(o.scopes.byText) >= mostScopes {
			clear(o.scopes.byText)
		}
		o.scopes.lastID++
		s = &scope{id: o.scopes.lastID, text: text, system: id.system, recovery: id.recovery, pooled: pooled, odd: id.odd}
		o.scopes.byText[text] = s
	}
	old := o.current.Swap(s)
	if old != nil && old != s {
		if now := time.Now(); now.Sub(o.scopes.since) > scopeWindow {
			o.scopes.since, o.scopes.changes, o.scopes.unstable = now, 0, false
		}
		if o.scopes.changes++; o.scopes.changes > mostScopeChanges && !o.scopes.unstable {
			o.scopes.unstable = true
			o.log.Warn("cachedpgx: server connections differ in role, database or settings from one another, so nothing is cached: set the same for each, or open a handle for each")
		}
	}
	return s
}

// overPgx says whether the inner driver is pgx, by its connections, or by its
// name while none was dialled.
func (o *origin) overPgx() bool {
	if s := o.current.Load(); s != nil {
		return s != plain
	}
	_, ok := o.inner.Driver().(*stdlib.Driver)
	return ok
}

// silent says that no connection of late has said who it is.
func (o *origin) silent() bool { return !o.worthAsking() }

// unstable says whether connections keep differing from one another.
func (o *origin) unstable() bool {
	o.scopes.Lock()
	defer o.scopes.Unlock()
	return o.scopes.unstable && time.Since(o.scopes.since) <= scopeWindow
}

// use says what a connection is taken for.
type use uint8

const (
	useSession use = iota // anything that isn't cached
	useLoad               // rows to keep: only a connection of the current scope will do
)

// pin is a server connection that a session or a load holds.
type pin struct {
	o      *origin
	sc     *sql.Conn
	dc     driver.Conn
	info   *serverConn
	server server
	fresh  bool // nobody has used it before
}

// take gets a connection from the server pool, waiting for one if it must.
func (o *origin) take(ctx context.Context, want use) (*pin, error) {
	for {
		p, err := o.connect(ctx)
		if err != nil {
			return nil, err
		}
		p.fresh = !p.info.used
		p.info.used = true
		if s := o.suspect.Load(); p.info.born <= s && p.info.vouched < s {
			if err := p.server.ping(ctx); err != nil {
				p.destroy()
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				continue
			}
			p.info.vouched = s
		}
		if want == useLoad && p.info.scope == nil && p.pgConn() != nil && o.worthAsking() {
			if o.identify(ctx, p.pgConn(), p.info); p.server.lost() {
				p.destroy()
				if err := ctx.Err(); err != nil || p.fresh {
					return nil, cmp.Or(err, driver.ErrBadConn)
				}
				continue
			}
		}
		if want == useLoad && !p.fresh {
			if p.outdated() {
				p.destroy()
				continue
			}
			if same, err := p.unsoiled(ctx); !same {
				p.destroy()
				if err != nil && ctx.Err() != nil {
					return nil, ctx.Err()
				}
				continue
			}
			if p.info.replanned != o.replans.Load() && p.replan(ctx) != nil {
				p.destroy()
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				continue
			}
		}
		return p, nil
	}
}

func (o *origin) connect(ctx context.Context) (*pin, error) {
	o.waiting.Add(1)
	for o.full() && o.reclaim() {
	}
	sc, err := o.db.Conn(ctx)
	o.waiting.Add(-1)
	if err != nil {
		return nil, err
	}
	p := &pin{o: o, sc: sc}
	err = sc.Raw(func(dc any) error {
		p.dc = dc.(driver.Conn)
		return nil
	})
	if err != nil {
		_ = sc.Close()
		return nil, err
	}
	if dc, ok := p.dc.(*stdlib.Conn); ok {
		p.info, ok = dc.Conn().PgConn().CustomData()[connInfoKey].(*serverConn)
		if !ok {
			p.info = o.newInfo(dc)
		}
		p.server = &pgxServer{dc: dc, info: p.info, maps: o.maps}
		return p, nil
	}
	o.current.CompareAndSwap(nil, plain)
	p.info = o.other(p.dc)
	p.server = &sqlServer{sc: sc}
	return p, nil
}

// mostOthers bounds what is remembered of other drivers' connections. One that
// was forgotten counts as never used, which costs a retry less.
const mostOthers = 256

func (o *origin) other(dc driver.Conn) *serverConn {
	if !reflect.TypeOf(dc).Comparable() {
		return &serverConn{born: o.dialled.Add(1)}
	}
	o.others.Lock()
	defer o.others.Unlock()
	if info, ok := o.others.byConn[dc]; ok {
		return info
	}
	if o.others.byConn == nil || len(o.others.byConn) >= mostOthers {
		o.others.byConn = map[driver.Conn]*serverConn{}
	}
	info := &serverConn{born: o.dialled.Add(1), autoPrepares: true}
	o.others.byConn[dc] = info
	return info
}

// full says whether the next taker has to wait.
func (o *origin) full() bool {
	st := o.db.Stats()
	return st.MaxOpenConnections > 0 && st.InUse >= st.MaxOpenConnections
}

// offer registers an idle session that holds a pin. If somebody waits already,
// the session is asked to give it up at once: it reports whether it may keep it.
//
//	taker                       session that goes idle
//	waiting = 1
//	reclaim: nobody is idle
//	                            registers
//	                            sees waiting = 1, gives up
//	gets the connection
//
// In the other order the taker finds it registered.
func (o *origin) offer(r reclaimer) bool {
	o.idle.Lock()
	o.idle.sessions = append(o.idle.sessions, r)
	o.idle.Unlock()
	if o.waiting.Load() > 0 && o.full() {
		return !o.withdraw(r)
	}
	return true
}

// withdraw takes a session out of the offers. It reports whether it was there:
// if not, a taker has it in hand.
func (o *origin) withdraw(r reclaimer) bool {
	o.idle.Lock()
	defer o.idle.Unlock()
	for i, s := range o.idle.sessions {
		if s == r {
			o.idle.sessions = append(o.idle.sessions[:i], o.idle.sessions[i+1:]...)
			return true
		}
	}
	return false
}

// reclaim takes the pin of the session that has been idle longest. It reports
// whether there was one.
func (o *origin) reclaim() bool {
	for {
		o.idle.Lock()
		if len(o.idle.sessions) == 0 {
			o.idle.Unlock()
			return false
		}
		r := o.idle.sessions[0]
		o.idle.sessions = o.idle.sessions[1:]
		o.idle.Unlock()
		if r.reclaim() {
			return true
		}
	}
}

// run takes a connection and runs op on it. Where op finds the connection dead
// before it has sent anything (driver.ErrBadConn), it runs again on another
// one, until one that was dialled just now has been tried: a failover that
// leaves fifty dead connections in the pool is not the caller's error.
//
// The pin is the caller's, also beside an error of op; it is nil beside an
// error of the pool, and where no connection was left.
func (o *origin) run(ctx context.Context, want use, op func(*pin) error) (*pin, error) {
	for {
		p, err := o.take(ctx, want)
		if err != nil {
			return nil, err
		}
		err = op(p)
		if !errors.Is(err, driver.ErrBadConn) {
			return p, err
		}
		p.destroy()
		if p.fresh || ctx.Err() != nil {
			return nil, err
		}
	}
}

// replan drops what was prepared on the connection: it may go on reading a
// table that another one shadows by now.
func (p *pin) replan(ctx context.Context) error {
	now := p.o.replans.Load()
	if pc := p.server.pgx(); pc != nil {
		p.info.prepared, p.info.order = nil, nil
		if err := pc.DeallocateAll(ctx); err != nil {
			return err
		}
	}
	p.info.replanned = now
	return nil
}

// oldPlans says whether plans on the connection may be of before some DDL.
func (p *pin) oldPlans() bool {
	return p.info.born <= p.o.renewed.Load() || p.info.replanned != p.o.replans.Load()
}

// outdated says whether a load may not use the connection: it was dialled
// before DDL changed what its prepared statements mean, or it is not of the
// scope that hits are served under.
func (p *pin) outdated() bool {
	return p.info.born <= p.o.renewed.Load() || p.info.scope != nil && p.info.scope != p.o.current.Load()
}

// died says whether a reused connection was lost, and not by its caller's end:
// the server may have gone away while it lay idle, and the others with it. They
// are pinged before they are used again, so that one dead connection is found
// the hard way and not all of them. A read may then be asked again; a write may
// have been done, and may not.
func (p *pin) died(ctx context.Context) bool {
	if !p.server.lost() || p.fresh || ctx.Err() != nil {
		return false
	}
	p.o.suspect.Store(p.o.dialled.Load())
	return true
}

// renew has loads use only connections that are dialled from now on.
func (o *origin) renew() { o.renewed.Store(o.dialled.Load()) }

// release gives the connection back to the pool. Its session must be clean.
func (p *pin) release() { _ = p.sc.Close() }

// giveBack ends a load's hold on the connection: it goes back to the pool, or
// is closed if it is not what it was.
func (p *pin) giveBack() {
	if s := p.server.txStatus(); p.server.lost() || s != 'I' && s != 0 {
		p.destroy()
		return
	}
	p.release()
}

// scope is who the connection is; nil if it didn't say.
func (p *pin) scope() *scope {
	if p.server.pgx() == nil {
		return plain
	}
	return p.info.scope
}

// unsoiled makes sure that a connection on which something ran that is not
// proven harmless still has the settings that its scope says: a trigger, or a
// function behind a view or a default, may have changed them unseen. It costs
// a round trip after such a statement, and nothing otherwise.
func (p *pin) unsoiled(ctx context.Context) (bool, error) {
	pc := p.pgConn()
	if !p.info.soiled || pc == nil || p.info.scope == nil {
		return true, nil
	}
	probe, err := askOne(ctx, pc, probeSQL)
	if err != nil || probe != p.info.probe {
		return false, err
	}
	p.info.soiled = false
	return true, nil
}

// oddStrings says whether the session reads backslashes in plain literals as
// escapes, otherwise than the scanner does.
func (p *pin) oddStrings() bool {
	pc := p.pgConn()
	return pc != nil && pc.ParameterStatus("standard_conforming_strings") == "off"
}

// closeTimeout bounds the goodbye to a server.
const closeTimeout = 5 * time.Second

// destroy closes the connection.
func (p *pin) destroy() {
	p.server.end(func() {
		_ = p.sc.Raw(func(any) error { return driver.ErrBadConn })
		_ = p.sc.Close()
	})
}

// abandon is destroy after a panic: nobody knows in what state the connection
// is. Another driver's panicked within database/sql, which will not take it
// back any more, so it is closed where it is.
func (p *pin) abandon() {
	if p.server.pgx() != nil {
		p.destroy()
		return
	}
	_ = p.dc.Close()
}

// pgConn is the connection below pgx, nil over another driver.
func (p *pin) pgConn() *pgconn.PgConn {
	if pc := p.server.pgx(); pc != nil {
		return pc.PgConn()
	}
	return nil
}

// clean asks the server whether the session is as a fresh one's, and forgets
// what was prepared meanwhile, since its constants were read under other
// settings. An error means that it can't be known.
func (p *pin) clean(ctx context.Context) (bool, error) {
	pc := p.server.pgx()
	if pc == nil || p.info.scope == nil || p.info.scope.pooled {
		return false, nil
	}
	id, err := identify(ctx, pc.PgConn())
	if err != nil {
		return false, err
	}
	if id.residue || id.text != p.info.scope.text {
		return false, nil
	}
	return true, p.replan(ctx)
}

// runningSQL tells which of some server processes still run.
const runningSQL = `SELECT a.pid FROM pg_catalog.pg_stat_activity a WHERE a.pid = ANY ($1::pg_catalog.int4[])`

// running asks a server which processes still run there. A process that served
// a lost connection and has ended has done, or undone for good, whatever it was
// doing. system is "" where the answer proves nothing.
func (o *origin) running(ctx context.Context, pids []uint32) (system string, alive map[uint32]bool, err error) {
	p, err := o.take(ctx, useSession)
	if err != nil {
		return "", nil, err
	}
	defer p.giveBack()
	pc := p.pgConn()
	if pc == nil || p.info.scope == nil || p.info.scope.recovery || p.info.scope.pooled {
		return "", nil, nil
	}
	list := []byte{'{'}
	for i, pid := range pids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendUint(list, uint64(pid), 10)
	}
	r := pc.ExecParams(ctx, runningSQL, [][]byte{append(list, '}')}, nil, nil, nil).Read()
	if r.Err != nil {
		return "", nil, r.Err
	}
	alive = map[uint32]bool{}
	for _, row := range r.Rows {
		pid, err := strconv.ParseUint(string(row[0]), 10, 32)
		if err != nil {
			return "", nil, err
		}
		alive[uint32(pid)] = true
	}
	return p.info.scope.system, alive, nil
}

// lostConn is a connection that was lost while something was under way.
type lostConn struct {
	pid    uint32
	system string // "": it can't be found again
}

// lost tells who a lost connection was.
func (p *pin) lost() lostConn {
	pc := p.pgConn()
	if pc == nil || p.info.scope == nil || p.info.scope.pooled {
		return lostConn{}
	}
	return lostConn{pid: pc.PID(), system: p.info.scope.system}
}
