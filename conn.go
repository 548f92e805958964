package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
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
	facts       *catalog.Facts
	provenUnder uint64 // the generation of the catalog's judgements

	admission admission // of the call that is under way

	rawEnd func() // ends the quarantine of a Raw that may still run; nil: none

	// While it lies idle with a pin, a taker may reclaim that. offered is the
	// owner's own note of it; what the taker touches is behind mu.
	offered bool
	mu      sync.Mutex // guards idle, and pin and lost while idle
	idle    bool
}

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

// endRaw ends the quarantine that Conn began.
func (c *Conn) endRaw() {
	if c.rawEnd == nil {
		return
	}
	end := c.rawEnd
	c.rawEnd = nil
	c.ranUnseen()
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
	return c.query(ctx, ask{text: query, args: args, prep: direct})
}

// ExecContext implements driver.ExecerContext.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.exec(ctx, ask{text: query, args: args, prep: direct})
}

func (c *Conn) query(ctx context.Context, q ask) (driver.Rows, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	if err := c.understand(ctx, &q, byQuery); err != nil {
		return nil, err
	}
	st := c.cache.statements.get(q.text)
	defer c.cache.calm(&c.admission)
	reason, pr := c.held(ctx, st, q)
	if reason == "" {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows, why, known, err := c.cached(ctx, st, &q)
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
		rows, err = p.server.query(ctx, q)
		if pr == harmless && isStalePlan(err) && p.server.txStatus() == 'I' {
			rows, err = p.server.query(ctx, q) // it was made anew
		}
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

// understand takes what stands before the arguments for pgx's orders, and has a
// QueryRewriter rewrite the statement: what counts is what the server gets.
//
// pgx's own rewriters need no connection. Another's gets one, as with pgx, so
// that its reads need one even where they are served from memory. If it runs
// something there, the session goes on with that connection, as after Raw.
func (c *Conn) understand(ctx context.Context, q *ask, by way) error {
	if len(q.args) == 0 || !leads(q.args[0].Value) || !c.cache.origin.overPgx() {
		return nil
	}
	q.takeOrders(by)
	if q.orders == nil || q.orders.rewriter == nil {
		return nil
	}
	switch q.orders.rewriter.(type) {
	case pgx.NamedArgs, pgx.StrictNamedArgs:
		return q.rewrite(ctx, nil)
	}
	p := c.pin
	if p == nil {
		var err error
		if p, err = c.cache.origin.take(ctx, useSession); err != nil {
			return err
		}
	}
	sent := watchSends(p.pgConn())
	defer func() {
		switch {
		case sent():
			c.pin = p
			c.state = max(c.state, sessionTouched)
			c.ranUnseen()
		case c.pin == nil:
			p.giveBack()
		}
	}()
	if err := q.rewrite(ctx, p.server.pgx()); err != nil {
		return err
	}
	if p.server.lost() {
		return driver.ErrBadConn // the rewriter has closed it
	}
	return nil
}

// ranUnseen takes into account that something ran on the pin that nobody has
// looked into. It may have created and altered, and may have left a transaction
// open.
func (c *Conn) ranUnseen() {
	c.dirty = max(c.dirty, dirtRows)
	c.proven, c.facts = nil, nil
	c.pin.info.soiled = true
	if c.pin.server.lost() {
		c.dropLost(outcomeUnknown)
	} else if c.open = c.pin.server.txStatus() != 'I'; !c.open {
		c.moveDirt()
	}
	c.cache.unknownRan()
}

// cached answers a read of a clean session from the cache, or by a load. An
// empty reason says that it is answered.
//
// Arguments that it has encoded for the key are left in q, for whoever runs the
// statement.
func (c *Conn) cached(ctx context.Context, st *statement, q *ask) (driver.Rows, string, proof, error) {
	for {
		a := &c.admission
		c.cache.admit(ctx, a, st, *q, c.pin)
		q.params, q.oids = a.params, a.oids
		if a.reason != "" {
			return nil, a.reason, a.proof, nil
		}
		rows, now, err := c.cache.hit(a)
		switch {
		case now == standingCurrent:
			return rows, "", a.proof, err
		case now == standingQuarantine:
			return nil, reasonQuarantine, a.proof, nil
		case a.aged:
			// A load must not go by what the catalog said so long ago.
			waiting, cancel := c.cache.patience(ctx, a)
			j, _, _ := c.cache.askFor(waiting, st, a.scope)
			if cancel(); j == nil {
				return nil, reasonNoCatalog, unproven, nil
			}
			q.params = strings.Clone(q.params) // a Valuer is not asked again
			continue
		case c.pin != nil:
			rows, reason, err := c.cache.missPinned(ctx, a.owned(), *q, c.pin)
			if err != nil && c.pin.server.lost() {
				c.dropLost(outcomeKnown)
			}
			return rows, reason, a.proof, err
		}
		rows, reason, err := c.cache.miss(ctx, a.owned(), *q)
		return rows, reason, a.proof, err
	}
}

func (c *Conn) exec(ctx context.Context, q ask) (driver.Result, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	if err := c.understand(ctx, &q, byExec); err != nil {
		return nil, err
	}
	st := c.cache.statements.get(q.text)
	defer c.cache.calm(&c.admission)
	reason, pr := c.held(ctx, st, q)
	if reason == "" {
		if reason = st.firstReason(); st.isRead() {
			// It is not served, so its arguments are no key, and no Valuer is
			// asked.
			a, unkeyed := &c.admission, q
			unkeyed.args = nil
			c.cache.admit(ctx, a, st, unkeyed, c.pin)
			if reason, pr = a.reason, a.proof; reason == "" {
				reason = reasonExec
			}
		} else if st.isShow() {
			pr = harmless
		} else if st.isProvable() {
			c.cache.admit(ctx, &c.admission, st, q, c.pin)
			pr = c.admission.proof
		}
	}
	if err := c.outlived(ctx); err != nil {
		return nil, err
	}
	c.cache.counters.bypass(reason)
	var res driver.Result
	err := c.run(ctx, func(p *pin) (err error) {
		res, err = p.server.exec(ctx, q)
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
	if len(c.admission.key) > mostKept {
		c.admission = admission{} // it would keep large arguments
	}
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
		if c.cache.cfg.Partition != nil && !c.cache.origin.hooked.Load() {
			// A function may have set who the tenant is in a setting of its
			// own (app.tenant), which the server does not list, and nothing
			// would set it again before the next load.
			return false
		}
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
