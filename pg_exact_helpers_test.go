package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What the issue and the design promise of rows, errors and keys, tried from
// outside by somebody who believes none of it: the files pg_exact_*_test.go know
// only the public names, and count on the wire.

// exactSchema has one table whose reads only bring back what was asked: the
// questions are in the arguments.
const exactSchema = `
	CREATE TABLE exact_k (id int PRIMARY KEY, t text NOT NULL, at date NOT NULL DEFAULT '2024-01-01');
	INSERT INTO exact_k VALUES (1, 'one'), (2, 'two'), (3, 'three');`

// exactRan is how often the handle ran a text with that in it: in the simple
// protocol the arguments are part of the text.
func (e *pgEnv) exactRan(part string) (n int) {
	e.wire.mu.Lock()
	defer e.wire.mu.Unlock()
	for text, times := range e.wire.mu.ran {
		if strings.Contains(text, part) {
			n += times
		}
	}
	return n
}

func (e *pgEnv) exactCalls(part string, f func()) int {
	before := e.exactRan(part)
	f()
	return e.exactRan(part) - before
}

func (e *pgEnv) exactFlush() {
	e.Helper()
	if err := e.cache.Flush(e.ctx); err != nil {
		e.Fatal(err)
	}
}

// exactShow is an argument list for a failure's message.
func exactShow(args []any) string {
	var all []string
	for _, a := range args {
		all = append(all, fmt.Sprintf("%T(%+v)", a, a))
	}
	return pgShort("[" + strings.Join(all, ", ") + "]")
}

// exactFamily is one text asked with arguments that are easily taken for each
// other. asks makes them anew each time, so that no two calls share a pointer.
type exactFamily struct {
	name string
	text string
	asks func() [][]any
	// alike: plain pgx may answer them all the same; what is tried is that they
	// are answered, and kept. Otherwise a family must get two answers at least.
	alike bool
	// forgets: in some modes pgx's own answer depends on what its connection was
	// asked before, so it is tried in the default mode alone.
	forgets bool
	// server says why it is right that the server is asked each time.
	server string
}

// exactRunFamily asks in one order and then, of an empty cache, in the other; so
// each question is once the one that fills the cache. Then some at once, so that
// each might join another's load, and then prepared. brief leaves out what is the
// same in all of pgx's modes.
func (e *pgEnv) exactRunFamily(f exactFamily, brief bool) {
	e.Helper()
	const table = "FROM exact_k"
	var wants []pgAnswer
	var order []int
	distinct := map[string]bool{}
	for i, args := range f.asks() {
		wants = append(wants, pgAsk(e.ctx, e.plain, f.text, args...))
		order = append(order, i)
		distinct[fmt.Sprint(wants[i])] = true
	}
	if len(distinct) < 2 && !f.alike {
		e.Errorf("plain pgx answers all of it with %v: this family tries nothing", wants[0])
	}
	check := func(what string, i int, got pgAnswer) {
		e.Helper()
		if diff := pgDiff(wants[i], got); diff != "" {
			e.Errorf("%s: %s: %s", what, exactShow(f.asks()[i]), diff)
		}
	}
	kept := func(what string, i, calls int) {
		e.Helper()
		if wants[i].Err == "" && f.server == "" && calls != 0 {
			e.Errorf("NOT CACHED: %s: %s made %d calls at the server", what, exactShow(f.asks()[i]), calls)
		}
	}
	ways := []string{"forward", "backward"}
	if brief {
		ways = ways[1:]
		slices.Reverse(order)
	}
	for _, what := range ways {
		e.exactFlush()
		for _, i := range order {
			check(what+", first", i, pgAsk(e.ctx, e.db, f.text, f.asks()[i]...))
		}
		for _, i := range order {
			kept(what, i, e.exactCalls(table, func() {
				check(what+", second", i, pgAsk(e.ctx, e.db, f.text, f.asks()[i]...))
			}))
		}
		slices.Reverse(order)
	}

	if !brief {
		e.exactFlush()
		some := min(len(order), 8)
		answers := make([]pgAnswer, 2*some)
		var wg sync.WaitGroup
		for n := range answers {
			wg.Go(func() { answers[n] = pgAsk(e.ctx, e.db, f.text, f.asks()[n%some]...) })
		}
		wg.Wait()
		for n, a := range answers {
			check("at once", n%some, a)
		}
	}

	plain, perr := e.plain.PrepareContext(e.ctx, f.text)
	stmt, err := e.db.PrepareContext(e.ctx, f.text)
	if pgError(perr) != pgError(err) {
		e.Errorf("Prepare: error %q, plain pgx gives %q", pgError(err), pgError(perr))
	}
	if perr == nil {
		defer plain.Close()
	}
	if err == nil {
		defer stmt.Close()
	}
	if err != nil || perr != nil {
		return
	}
	for _, i := range order {
		wants[i] = pgAskStmt(e.ctx, plain, f.asks()[i]...)
		check("prepared, first", i, pgAskStmt(e.ctx, stmt, f.asks()[i]...))
	}
	for _, i := range order {
		kept("prepared", i, e.exactCalls(table, func() {
			check("prepared, second", i, pgAskStmt(e.ctx, stmt, f.asks()[i]...))
		}))
	}
}

// exactHeld makes n callers ask at once while the table is locked, and gives the
// lock back once a load waits for it and every caller is on its way. It returns
// how many of them shared another's load: all but one, unless the machine was too
// busy for one to come in time.
func (e *pgEnv) exactHeld(table string, n int, ask func(i int)) (shared int) {
	e.Helper()
	coalesced := e.cache.Stats().Coalesced
	release := e.lock(table)
	var wg, off sync.WaitGroup
	off.Add(n)
	for i := range n {
		wg.Go(func() { off.Done(); ask(i) })
	}
	off.Wait()
	for seen := 0; seen < 4; {
		e.eventually("a load waits for the lock", func() bool { return e.waiting() > 0 })
		seen++
	}
	release()
	wg.Wait()
	return int(e.cache.Stats().Coalesced - coalesced)
}

// exactShared is exactHeld until all but one shared a load; it begins anew with
// what again prepares.
func (e *pgEnv) exactShared(table string, n int, again func(), ask func(i int)) {
	e.Helper()
	for range 5 {
		again()
		if e.exactHeld(table, n, ask) == n-1 {
			return
		}
	}
	e.Errorf("%d who ask the same at the same time do not share a load", n)
}

// exactMarks are what callers ask an error: two errors with the same marks are
// handled alike by code that looks no further than it should.
func exactMarks(err error) string {
	timeout, isNet := errors.AsType[net.Error](err)
	pg, isPG := errors.AsType[*pgconn.PgError](err)
	_, isConnect := errors.AsType[*pgconn.ConnectError](err)
	code := ""
	if isPG {
		code = pg.Code
	}
	return fmt.Sprintf("nil=%t canceled=%t deadline=%t pgconn.Timeout=%t net.Error.Timeout=%t PgError=%q ConnectError=%t NoRows=%t",
		err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), err != nil && pgconn.Timeout(err),
		isNet && timeout.Timeout(), code, isConnect, errors.Is(err, sql.ErrNoRows))
}

// exactProxy stands between a handle and the server, and can hold or cut what
// the server sends.
type exactProxy struct {
	t      testing.TB
	listen net.Listener
	dial   func(ctx context.Context) (net.Conn, error)
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	quota int // bytes that a server connection may still bring; negative: no end
	away  bool
	go_   chan struct{} // closed: what is held goes on
	held  int           // connections that came to the end of their quota
	reset bool          // cut by a reset, not an end
	cut   chan struct{} // closed: what is held is cut
}

// newExactProxy gives a proxy and a handle of each driver through it.
func newExactProxy(e *pgEnv, cfg cachedpgx.Config) (p *exactProxy, through *pgEnv) {
	e.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.Fatal(err)
	}
	config, err := pgx.ParseConfig(pgWith(e, e.dsn, "sslmode", "disable"))
	if err != nil {
		e.Fatal(err)
	}
	network, addr := pgconn.NetworkAddress(config.Host, config.Port)
	dial := config.DialFunc
	p = &exactProxy{t: e, listen: listen, conns: map[net.Conn]bool{}, quota: -1, go_: make(chan struct{}), cut: make(chan struct{})}
	p.dial = func(ctx context.Context) (net.Conn, error) { return dial(ctx, network, addr) }
	p.wg.Go(p.accept)
	e.Cleanup(p.close)

	to := listen.Addr().(*net.TCPAddr)
	config.Fallbacks = nil
	config.Host, config.Port = to.IP.String(), uint16(to.Port)
	sub := *e
	through = &sub
	plainConfig := config.Copy()
	through.plain = sql.OpenDB(pgConnector(plainConfig))
	e.Cleanup(func() { _ = through.plain.Close() })
	through.wire = newPGWire()
	through.wire.tap(config)
	db, err := cachedpgx.OpenDB(pgConnector(config), cfg)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = db.Close() })
	through.db = db
	through.cache = pgCacheOf(e, db)
	return p, through
}

func (p *exactProxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		away := p.away
		p.mu.Unlock()
		if away {
			p.end(client, true)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), pgDeadline)
		server, err := p.dial(ctx)
		cancel()
		if err != nil {
			p.end(client, true)
			continue
		}
		if tcp, ok := server.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(64 << 10) // so that what is held is held at the server
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		p.wg.Go(func() { p.toServer(client, server) })
		p.wg.Go(func() { p.toClient(client, server) })
	}
}

func (p *exactProxy) toServer(client, server net.Conn) {
	defer p.end(server, false)
	buf := make([]byte, 16<<10)
	for {
		n, err := client.Read(buf)
		if n > 0 {
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *exactProxy) toClient(client, server net.Conn) {
	buf := make([]byte, 4<<10)
	reset := false
	defer func() { p.end(client, reset) }()
	brought, since := 0, (chan struct{})(nil)
	for {
		n, err := server.Read(buf)
		p.mu.Lock()
		quota, goOn, cut := p.quota, p.go_, p.cut
		if since != goOn {
			brought, since = 0, goOn
		}
		over := quota >= 0 && brought+n > quota
		if over {
			p.held++
		}
		p.mu.Unlock()
		if over {
			select {
			case <-goOn:
			case <-cut:
				p.mu.Lock()
				reset = p.reset
				p.mu.Unlock()
				return
			}
		}
		brought += n
		if n > 0 {
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *exactProxy) end(c net.Conn, reset bool) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	if tcp, ok := c.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// hold lets each connection bring so many bytes more, and holds the rest.
func (p *exactProxy) hold(quota int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quota, p.held = quota, 0
	p.go_, p.cut = make(chan struct{}), make(chan struct{})
}

// holds waits until connections are held.
func (p *exactProxy) holds(n int) {
	p.t.Helper()
	pgEventually(p.t, fmt.Sprintf("%d streams are held", n), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.held >= n
	})
}

// goOn lets everything through.
func (p *exactProxy) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quota = -1
	close(p.go_)
	p.go_ = make(chan struct{})
}

// cutHeld cuts what is held; what comes later goes through.
func (p *exactProxy) cutHeld(reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quota, p.reset = -1, reset
	close(p.cut)
	p.cut = make(chan struct{})
}

// goAway ends all connections, and refuses new ones until it is called again
// with false.
func (p *exactProxy) goAway(away bool) {
	p.mu.Lock()
	p.away = away
	var all []net.Conn
	for c := range p.conns {
		all = append(all, c)
	}
	p.mu.Unlock()
	if away {
		for _, c := range all {
			_ = c.Close()
		}
	}
}

func (p *exactProxy) close() {
	_ = p.listen.Close()
	p.goAway(true)
	p.cutHeld(true)
	done := make(chan struct{})
	go func() { p.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(pgDeadline):
		p.t.Error("the test's own proxy does not end")
	}
}
