package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

var (
	_ driver.Conn               = (*Conn)(nil)
	_ driver.ConnBeginTx        = (*Conn)(nil)
	_ driver.ConnPrepareContext = (*Conn)(nil)
	_ driver.ExecerContext      = (*Conn)(nil)
	_ driver.NamedValueChecker  = (*Conn)(nil)
	_ driver.Pinger             = (*Conn)(nil)
	_ driver.QueryerContext     = (*Conn)(nil)
	_ driver.SessionResetter    = (*Conn)(nil)
	_ driver.Validator          = (*Conn)(nil)
)

// Conn is a logical connection. It holds no server connection until a
// statement needs one that the cache can't serve, and gives it back when the
// session is clean:
//
//	state     served by the cache   pin                            becomes clean
//	clean     yes                   if any, until it is returned
//	open tx   no                    until the transaction's end    at its end
//	touched   no                    until it is returned           if a comparison finds it as a fresh one
//	changed   no                    for its life                   by DISCARD ALL
//
// Touched is a session on which something ran whose effect on it is not known:
// an unknown function, DO, CALL, anything in Raw. Changed is one that has
// settings, temporary objects, LISTENs, prepared statements or locks of its
// own; it keeps its server connection, as with plain pgx, and gives it up while
// it lies idle only if others wait for one. A session that loses its pin when
// it is not clean is over: its next use is driver.ErrBadConn.
//
// Like any driver.Conn, it is for one goroutine at a time.
type Conn struct {
	cache *Cache
	pin   *pin
	state sessionState
	lost  bool // the session is over: it lost what it had

	tx      driver.Tx // by BeginTx, the inner driver's
	open    bool      // in a transaction, by whatever means
	dirty   dirt      // what has run since the ledger last moved
	pending []*statement

	// Reads proven harmless under the settings of a session that isn't clean,
	// until something else runs on it.
	proven      map[*statement]instant
	provenUnder uint64 // the generation of the catalog's judgements

	rawEnd func() // ends the quarantine of a Raw that may still run; nil: none

	// While it lies idle with a pin, a taker may reclaim that. offered is the
	// owner's own note of it; what the taker touches is behind mu.
	offered bool
	mu      sync.Mutex // guards idle, and pin and lost while idle
	idle    bool
}

// sessionState says what a session has become.
type sessionState uint8

const (
	sessionClean sessionState = iota
	sessionTouched
	sessionChanged
)

// dirt says what ran that is not proven to write nothing.
type dirt uint8

const (
	dirtNone    dirt = iota
	dirtPending      // reads that nobody could ask the catalog about yet
	dirtRows
	dirtFunctions // unknown ones, which may create and alter, too
	dirtCatalog
)

// Conn gives the pgx connection of this session, for use inside sql.Conn.Raw.
// It takes a server connection if the session holds none; where that can't be
// dialled it gives nil (see ConnContext for the error).
//
// What runs there is not seen: from this call until the next use or the return
// of the connection nothing is served from the cache or stored in it, and then
// everything that was kept is dropped.
func (c *Conn) Conn() *pgx.Conn {
	pc, _ := c.ConnContext(context.Background())
	return pc
}

// ConnContext is Conn with a context, which bounds the wait for a connection,
// and the error.
func (c *Conn) ConnContext(ctx context.Context) (*pgx.Conn, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	err := c.run(ctx, func(p *pin) error {
		if p.server.lost() {
			return driver.ErrBadConn
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	pc := c.pin.server.pgx()
	if pc == nil {
		return nil, errors.New("cachedpgx: the inner driver is not pgx: there is no pgx connection")
	}
	c.state = max(c.state, sessionTouched)
	c.rawEnd = c.cache.ledger.quarantine()
	c.cache.counters.invalidations.Add(1)
	return pc, nil
}

// use begins each use of the connection: whatever ran in Raw is over.
func (c *Conn) use() error {
	c.endRaw()
	if c.lost {
		return driver.ErrBadConn
	}
	return nil
}

// endRaw ends the quarantine that Conn began. What ran meanwhile may have
// created and altered, and may have left a transaction open.
func (c *Conn) endRaw() {
	if c.rawEnd == nil {
		return
	}
	end := c.rawEnd
	c.rawEnd = nil
	c.dirty = max(c.dirty, dirtRows)
	c.pin.info.soiled = true
	if c.pin.server.lost() {
		c.dropLost(outcomeUnknown)
	} else if c.open = c.pin.server.txStatus() != 'I'; !c.open {
		c.moveDirt()
	}
	c.cache.unknownRan()
	end()
}

// run runs op on the session's pin, taking one if it holds none.
func (c *Conn) run(ctx context.Context, op func(*pin) error) (err error) {
	if c.pin != nil {
		return op(c.pin)
	}
	c.pin, err = c.cache.origin.run(ctx, useSession, op)
	return err
}

// QueryContext implements driver.QueryerContext.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(ctx, ask{query, args, direct})
}

// ExecContext implements driver.ExecerContext.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.exec(ctx, ask{query, args, direct})
}

func (c *Conn) query(ctx context.Context, q ask) (driver.Rows, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	st := c.cache.statements.get(q.text)
	reason, pr := c.held(ctx, st, q)
	if reason == "" {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows, why, known, err := c.cached(ctx, st, q)
		if why == "" {
			return rows, err
		}
		reason, pr = why, known
	}
	if err := c.outlived(ctx); err != nil {
		return nil, err
	}
	c.cache.counters.bypass(reason)
	var rows driver.Rows
	asked := 0
	err := c.run(ctx, func(p *pin) (err error) {
		rows, err = p.server.query(ctx, q.text, q.args, q.prep)
		// A session that has just taken its connection has nothing to lose
		// with it, and a read can be asked again.
		if asked++; err != nil && c.pin == nil && p.died(ctx) && pr == harmless && asked == 1 {
			err = driver.ErrBadConn
		}
		return err
	})
	if err != nil {
		c.settle(st, pr, err)
		return nil, err
	}
	if pr == harmless && st.effect == effectNone && !st.endsTx() {
		return rows, nil
	}
	if st.keepsRows() {
		c.settle(st, pr, nil) // it has no rows, and is over
		return rows, nil
	}
	if c.open && !st.endsTx() {
		c.note(st, pr) // the transaction's end is what moves
		return watch(rows, func(err error) { c.settle(st, harmless, err) }), nil
	}
	// The rows may be seen before the statement is over at the server.
	c.cache.wrote(c.pin.scope())
	end := c.cache.ledger.quarantine()
	return watch(rows, func(err error) {
		c.settle(st, pr, err)
		end()
	}), nil
}

// cached answers a read of a clean session from the cache, or by a load. An
// empty reason says that it is answered.
func (c *Conn) cached(ctx context.Context, st *statement, q ask) (driver.Rows, string, proof, error) {
	for {
		a := c.cache.admit(ctx, st, q, c.pin)
		if a.reason != "" {
			return nil, a.reason, a.proof, nil
		}
		rows, now, err := c.cache.hit(&a)
		switch {
		case now == standingCurrent:
			return rows, "", a.proof, err
		case now == standingQuarantine:
			return nil, reasonQuarantine, a.proof, nil
		case a.aged:
			// A load must not go by what the catalog said so long ago.
			if j, _, _ := c.cache.askFor(ctx, st, a.scope, q.text); j == nil {
				return nil, reasonNoCatalog, unproven, nil
			}
			continue
		case c.pin != nil:
			rows, err = c.cache.missPinned(ctx, &a, q, c.pin)
			if err != nil && c.pin.server.lost() {
				c.dropLost(outcomeKnown)
			}
			return rows, "", a.proof, err
		}
		rows, reason, err := c.cache.miss(ctx, &a, q)
		return rows, reason, a.proof, err
	}
}

// held says why the session's own state keeps a statement from the cache, and
// what is known of it then; "" if the session is clean.
func (c *Conn) held(ctx context.Context, st *statement, q ask) (string, proof) {
	var reason string
	switch {
	case c.open:
		reason = reasonTransaction
	case c.state == sessionChanged:
		reason = reasonChanged
	case c.state == sessionTouched:
		reason = reasonTouched
	default:
		if c.pin == nil || !c.pin.info.soiled || !st.isRead() {
			return "", unproven
		}
		if same, _ := c.pin.unsoiled(ctx); same {
			return "", unproven
		}
		c.state = sessionTouched
		reason = reasonTouched
	}
	switch {
	case st.scan.Backslash: // read under settings that may be the session's own
		return reason, unproven
	case st.trivial, st.isShow():
		return reason, harmless
	case !st.isRead():
		return reason, unproven
	case c.state != sessionClean:
		return reason, c.proveHere(ctx, st, q)
	}
	if s := c.pin.scope(); s != nil {
		if s == plain {
			c.cache.judgeText(st)
		}
		if j := c.cache.statements.known(st, s.id); j != nil {
			if j.Harmless {
				return reason, harmless
			}
			return reason, unproven
		}
	}
	if c.dirty < dirtRows && len(c.pending) < mostPending {
		c.dirty = dirtPending
		c.pending = append(c.pending, st)
		return reason, harmless // to be proven when the transaction is over
	}
	return reason, unproven
}

// mostPending bounds the reads of a transaction that are to be proven harmless
// after it.
const mostPending = 64

// proveHere asks the catalog about a read of a session that isn't clean, under
// that session's own settings. A proof holds until the session runs anything
// that isn't harmless, or the catalog may have changed.
func (c *Conn) proveHere(ctx context.Context, st *statement, q ask) proof {
	pc := c.pin.pgConn()
	if pc == nil || pc.TxStatus() != 'I' {
		return unproven
	}
	if g := c.cache.statements.generation.Load(); g != c.provenUnder || len(c.proven) >= mostProven {
		c.proven, c.provenUnder = nil, g
	}
	if at, ok := c.proven[st]; ok && c.cache.now()-at < instant(c.cache.cfg.CatalogTTL) {
		return harmless
	}
	var params []uint32
	if st.scan.Params > 0 {
		sd, err := pc.Prepare(ctx, "", q.text, nil)
		if err != nil {
			return unproven
		}
		params = sd.ParamOIDs
	}
	if v, err := catalog.Judge(ctx, pc, st.scan, params); err == nil && v.Harmless {
		if c.proven == nil {
			c.proven = map[*statement]instant{}
		}
		c.proven[st] = c.cache.now()
		return harmless
	}
	return unproven
}

// mostProven bounds what a session remembers of itself.
const mostProven = 256

func (c *Conn) exec(ctx context.Context, q ask) (driver.Result, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	st := c.cache.statements.get(q.text)
	reason, pr := c.held(ctx, st, q)
	if reason == "" {
		if reason = st.firstReason(); st.isRead() {
			a := c.cache.admit(ctx, st, q, c.pin)
			if reason, pr = a.reason, a.proof; reason == "" {
				reason = reasonExec
			}
		} else if st.isShow() {
			pr = harmless
		}
	}
	if err := c.outlived(ctx); err != nil {
		return nil, err
	}
	c.cache.counters.bypass(reason)
	var res driver.Result
	err := c.run(ctx, func(p *pin) (err error) {
		res, err = p.server.exec(ctx, q.text, q.args, q.prep)
		if err != nil {
			p.died(ctx)
		}
		return err
	})
	c.settle(st, pr, err)
	return res, err
}

// outlived says whether the session, and its caller, have lived through the
// questions that were put to the catalog on the session's own pin.
func (c *Conn) outlived(ctx context.Context) error {
	if c.pin == nil || !c.pin.server.lost() {
		return nil
	}
	c.dropLost(outcomeKnown)
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.lost {
		return driver.ErrBadConn
	}
	return nil
}

// note takes down what a statement may have done.
func (c *Conn) note(st *statement, pr proof) {
	if pr == harmless || st.keepsRows() {
		return
	}
	c.proven = nil
	c.pin.info.soiled = true
	c.dirty = max(c.dirty, dirtRows)
	if st.effect == effectTouched {
		c.dirty = max(c.dirty, dirtFunctions)
	}
	if st.altersCatalog() || st.scan.Backslash && c.pin.oddStrings() {
		c.dirty = dirtCatalog
	}
}

// settle takes a statement that is over into account: what it may have done to
// the session, to a transaction, and to rows. It returns after the ledger has
// moved, if it has to.
func (c *Conn) settle(st *statement, pr proof, err error) {
	p := c.pin
	if p == nil {
		return // no connection was to be had, or none that worked: nothing was sent
	}
	switch st.effect {
	case effectChanged:
		if err == nil {
			c.state = sessionChanged
		} else {
			c.state = max(c.state, sessionTouched)
		}
	case effectTouched:
		c.state = max(c.state, sessionTouched)
		if st.discardsAll && err == nil {
			c.state = sessionTouched // and the comparison will find what it left
		}
	}
	if st.scan.Backslash && p.oddStrings() {
		c.state = max(c.state, sessionTouched) // it may be anything
	}
	c.note(st, pr)
	if p.server.pgx() == nil && c.dirty != dirtNone && !c.open && stopped(err) {
		// Another driver may leave a statement running that it has given up.
		c.cache.doubt(lostConn{}, plain)
	}
	if p.server.lost() {
		out := outcomeUnknown
		if c.open && !st.endsTx() {
			out = outcomeKnown // the server rolls an open transaction back
		}
		c.dropLost(out)
		return
	}
	c.open = c.stillOpen(st, err)
	switch {
	case !c.open:
		c.moveDirt()
	case st.endsTx() && c.dirty != dirtNone:
		// One transaction may have ended and the next begun: COMMIT AND CHAIN,
		// or several statements in one text. What ran counts for both.
		c.moveNow()
	}
}

// stillOpen says whether the session is in a transaction after a statement.
// pgx knows; over another driver the text must do.
func (c *Conn) stillOpen(st *statement, err error) bool {
	switch c.pin.server.txStatus() {
	case 'I':
		return false
	case 'T', 'E':
		return true
	}
	if c.tx != nil {
		return true
	}
	if err != nil || st.scan.Class != sqlscan.ClassTx {
		return c.open
	}
	switch st.scan.Tx {
	case sqlscan.TxBegin:
		return true
	case sqlscan.TxCommit, sqlscan.TxRollback, sqlscan.TxPrepare:
		return false
	}
	return c.open
}

// outcome says whether it is known how something ended.
type outcome uint8

const (
	outcomeUnknown outcome = iota
	outcomeKnown
)

// dropLost takes the loss of the pin into account. A write whose end can't be
// known begins a quarantine, before this returns.
func (c *Conn) dropLost(out outcome) {
	p := c.pin
	switch c.dirty {
	case dirtFunctions:
		c.cache.unknownRan()
	case dirtCatalog:
		c.cache.altered()
	}
	if c.dirty != dirtNone {
		if out == outcomeUnknown {
			c.cache.doubt(p.lost(), p.scope())
		} else {
			c.cache.moved(p.scope())
		}
	}
	c.lost = c.state != sessionClean || c.open
	c.open, c.dirty, c.pending = false, dirtNone, nil
	c.pin = nil
	p.destroy()
}

// moveDirt moves the ledger for what has run, now that it is over.
func (c *Conn) moveDirt() {
	if c.dirty == dirtPending && c.provePending() == harmless {
		c.dirty = dirtNone
	}
	c.moveNow()
	c.dirty, c.pending = dirtNone, nil
}

// moveNow moves the ledger for what has run, and leaves that noted.
func (c *Conn) moveNow() {
	switch c.dirty {
	case dirtNone:
		return
	case dirtFunctions:
		c.cache.unknownRan()
	case dirtCatalog:
		c.cache.altered()
	}
	c.cache.moved(c.pin.scope())
}

// provePending asks the catalog about the reads of a transaction that is over.
func (c *Conn) provePending() proof {
	if c.state != sessionClean {
		return unproven
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, st := range c.pending {
		j, err := c.cache.judgeOn(ctx, c.pin, st, st.scan.Identity)
		if err != nil || !j.Harmless {
			return unproven
		}
	}
	return harmless
}

// Prepare implements driver.Conn.
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext. The server is asked the
// first time; after that, and until DDL or CatalogTTL voids it, the answer is
// remembered.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	st := c.cache.statements.get(query)
	if c.pin == nil {
		if d, ok := c.cache.descriptionOf(st); ok {
			return &stmt{c: c, text: query, inputs: d.numInput()}, nil
		}
	}
	var d description
	err := c.run(ctx, func(p *pin) (err error) {
		d, err = p.server.prepare(ctx, query)
		return err
	})
	if c.pin != nil && c.pin.server.lost() {
		c.dropLost(outcomeKnown)
	}
	if err != nil {
		return nil, err
	}
	if c.state == sessionClean && !c.open {
		c.cache.describe(st, c.pin.scope(), d)
	}
	return &stmt{c: c, text: query, inputs: d.numInput()}, nil
}

// Begin implements driver.Conn.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	var inner driver.Tx
	err := c.run(ctx, func(p *pin) (err error) {
		inner, err = p.server.begin(ctx, opts)
		return err
	})
	if c.pin != nil && c.pin.server.lost() {
		c.dropLost(outcomeKnown)
	}
	if err != nil {
		return nil, err
	}
	c.tx, c.open = inner, true
	return &tx{c}, nil
}

// Ping implements driver.Pinger. It reaches the server.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.use(); err != nil {
		return err
	}
	err := c.run(ctx, func(p *pin) error { return p.server.ping(ctx) })
	if c.pin != nil && c.pin.server.lost() {
		c.dropLost(outcomeKnown)
	}
	return err
}

// CheckNamedValue implements driver.NamedValueChecker. pgx takes every value
// as it is; for another driver, values are converted as database/sql does by
// default, and one that it can't convert is left for the driver to judge.
func (c *Conn) CheckNamedValue(nv *driver.NamedValue) error {
	if c.cache.origin.overPgx() {
		return nil
	}
	if v, err := driver.DefaultParameterConverter.ConvertValue(nv.Value); err == nil {
		nv.Value = v
	}
	return nil
}

// ResetSession implements driver.SessionResetter.
func (c *Conn) ResetSession(ctx context.Context) error {
	c.claim()
	if err := c.use(); err != nil {
		return err
	}
	if c.pin == nil {
		return nil
	}
	err := c.pin.server.reset(ctx)
	if errors.Is(err, driver.ErrBadConn) {
		c.lost = true
	}
	return err
}

// IsValid implements driver.Validator. database/sql calls it as it takes the
// connection back: a clean session lets its server connection go here.
func (c *Conn) IsValid() bool {
	c.claim() // it may come back without having been used
	c.endRaw()
	if c.pin == nil || c.lost {
		return !c.lost
	}
	if c.pin.server.lost() {
		c.dropLost(outcomeKnown)
		return !c.lost
	}
	if c.open {
		return false // a transaction that nobody can end any more
	}
	if c.state == sessionTouched {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		clean, err := c.pin.clean(ctx)
		cancel()
		switch {
		case err != nil:
			return false
		case clean:
			c.state = sessionClean
		default:
			c.state = sessionChanged
		}
	}
	if c.state == sessionClean && !c.pin.server.holdsStatements() {
		c.pin.release()
		c.pin = nil
		return true
	}
	if c.cache.origin.pgxpool != nil {
		return false // a pgxpool's connections are not for keeping
	}
	c.offered = true
	c.mu.Lock()
	c.idle = true
	c.mu.Unlock()
	if !c.cache.origin.offer(c) {
		c.claim()
		return false
	}
	return true
}

// claim takes an idle session back into use: no taker may have its pin now.
func (c *Conn) claim() {
	if !c.offered {
		return
	}
	c.offered = false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
	c.cache.origin.withdraw(c)
}

// reclaim takes the pin of an idle session for somebody who waits for a
// connection. The session is over.
func (c *Conn) reclaim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.idle || c.pin == nil {
		return false
	}
	c.idle = false
	p := c.pin
	c.pin, c.lost = nil, true
	p.destroy()
	return true
}

// Close implements driver.Conn. It gives back the server connection of a clean
// session, and closes any other.
func (c *Conn) Close() error {
	c.claim()
	c.endRaw()
	p := c.pin
	if p == nil {
		return nil
	}
	if c.open && c.dirty != dirtNone {
		c.cache.moved(p.scope())
	}
	c.pin, c.lost = nil, true
	if c.state == sessionClean && !c.open && !p.server.lost() {
		p.release()
	} else {
		p.destroy()
	}
	return nil
}

// watch has finish called when rows are closed, with the error they closed with.
func watch(rows driver.Rows, finish func(error)) driver.Rows {
	w := watcher{finish: finish}
	switch r := rows.(type) {
	case *stdlib.Rows:
		return &watchedPgxRows{r, w}
	case *sqlRows:
		return &watchedSQLRows{r, w}
	}
	return &watchedRows{rows, w}
}

type watcher struct{ finish func(error) }

func (w *watcher) done(err error) error {
	if w.finish != nil {
		w.finish(err)
		w.finish = nil
	}
	return err
}

// Each embeds the inner type, so that it has the same optional methods.
type (
	watchedPgxRows struct {
		*stdlib.Rows
		watcher
	}
	watchedSQLRows struct {
		*sqlRows
		watcher
	}
	watchedRows struct {
		driver.Rows
		watcher
	}
)

func (r *watchedPgxRows) Close() error { return r.done(r.Rows.Close()) }
func (r *watchedSQLRows) Close() error { return r.done(r.sqlRows.Close()) }
func (r *watchedRows) Close() error    { return r.done(r.Rows.Close()) }

// stopped says whether a caller's context ended a statement.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
