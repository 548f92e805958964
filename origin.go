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

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// origin is where rows come from: the pool of server connections, an ordinary
// *sql.DB over the inner connector. Sessions pin its connections; loads borrow
// them. Neither waits for the other while it holds what the other needs: a
// load holds no connection while it waits for one, and a session that holds a
// pin never waits for a load.
type origin struct {
	db     *sql.DB
	inner  driver.Connector
	types  *typemap.Registry
	log    *slog.Logger
	pooler bool // declared: cache_pooler=transaction

	pgxpool *pgxpool.Pool // that the inner connector lends from, if it does
	hooked  atomic.Bool   // the user's hooks run as a session begins: see hook.go

	// The scope of the youngest connection. Hits are served under it.
	current atomic.Pointer[scope]
	kind    atomic.Pointer[typemap.Maps] // as the youngest connection encodes arguments

	donorFailed atomic.Pointer[time.Time] // when no connection could be had for a donor's
	differ      atomic.Bool               // connections have taken turns with their scopes of late
	scopes      struct {
		sync.Mutex
		byText  map[string]*scope
		lastID  uint64
		changes int // of current, since the window began
		since   time.Time
		asked   time.Time // when a server last didn't say who it is
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

func newOrigin(inner driver.Connector, cfg Config) *origin {
	o := &origin{inner: inner, types: typemap.NewRegistry(), log: cfg.Logger, pooler: cfg.pooler, pgxpool: poolOf(inner)}
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
		return d.donate(ctx, dc)
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

// donorPause is how long nobody tries again to dial for a donor after that has
// failed.
const donorPause = time.Minute

// donate has a connection just dialled give up its type map, where that has
// codecs which nobody else may use, and gives another connection in its place.
// That is done once for a handle whose hooks register the same on each. If no
// other can be dialled, this one serves, and rows of its types are not kept.
func (d dialler) donate(ctx context.Context, dc *stdlib.Conn) (driver.Conn, error) {
	o := d.o
	info := infoOf(dc)
	if info == nil || info.used || !info.types.Wants() {
		return dc, nil
	}
	if at := o.donorFailed.Load(); at != nil && time.Since(*at) < donorPause {
		return dc, nil
	}
	if p := o.pgxpool; p != nil && p.Stat().TotalConns() >= p.Config().MaxConns {
		bury(dc) // the pool lends no other before
		info.types.Donate()
		return d.Connect(ctx)
	}
	c, err := o.inner.Connect(ctx)
	next, ok := c.(*stdlib.Conn)
	if err != nil || !ok || !o.meet(ctx, next) {
		if err == nil {
			_ = c.Close()
		}
		now := time.Now()
		o.donorFailed.Store(&now)
		return dc, nil
	}
	bury(dc)
	info.types.Donate()
	return next, nil
}

// bury closes a connection for good, also one that a pgxpool has lent.
func bury(dc *stdlib.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = dc.Conn().Close(ctx)
	_ = dc.Close()
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
		if p.info = infoOf(dc); p.info == nil {
			p.info = o.newInfo(dc)
		}
		p.server = &pgxServer{dc: dc, info: p.info}
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
	info := &serverConn{born: o.dialled.Add(1)}
	o.others.byConn[dc] = info
	return info
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

// renew has loads use only connections that are dialled from now on.
func (o *origin) renew() { o.renewed.Store(o.dialled.Load()) }

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
