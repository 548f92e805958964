package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

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
	case !st.isProvable():
		return reason, unproven
	case c.state != sessionClean:
		return reason, c.proveHere(ctx, st)
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
func (c *Conn) proveHere(ctx context.Context, st *statement) proof {
	pc := c.pin.pgConn()
	if pc == nil || pc.TxStatus() != 'I' {
		return unproven
	}
	if g := c.cache.statements.generation.Load(); g != c.provenUnder || len(c.proven) >= mostProven {
		c.proven, c.provenUnder, c.facts = nil, g, nil
	}
	if at, ok := c.proven[st]; ok && c.cache.now()-at < instant(c.cache.cfg.CatalogTTL) {
		return harmless
	}
	if c.proven == nil || c.facts == nil {
		s := c.pin.scope()
		if s == nil {
			return unproven
		}
		c.proven, c.facts = map[*statement]instant{}, c.cache.facts.apart(s)
	}
	now := func() time.Duration { return time.Duration(c.cache.now()) }
	ttl := c.cache.cfg.CatalogTTL
	if err := c.facts.AskAlone(ctx, pc, st.scan, now, ttl); err != nil {
		return unproven
	}
	if v, at, ok := c.facts.Judge(st.scan, nil, now(), ttl); ok && v.Harmless {
		c.proven[st] = instant(at)
		return harmless
	}
	return unproven
}

// mostProven bounds what a session remembers of itself.
const mostProven = 256

// note takes down what a statement may have done.
func (c *Conn) note(st *statement, pr proof) {
	if pr == harmless || st.keepsRows() {
		return
	}
	c.proven, c.facts = nil, nil
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
		switch {
		case c.open && !st.endsTx():
			out = outcomeKnown // the server rolls an open transaction back
		case errors.Is(err, driver.ErrBadConn):
			out = outcomeKnown // nothing was sent
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
	c.voidCatalog()
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
	if c.dirty == dirtNone {
		return
	}
	c.voidCatalog()
	c.cache.moved(c.pin.scope())
}

// voidCatalog voids what is known of the catalog, as far as what has run calls
// for it.
func (c *Conn) voidCatalog() {
	switch c.dirty {
	case dirtFunctions:
		c.cache.unknownRan()
	case dirtCatalog:
		c.cache.altered()
	}
}

// provePending asks the catalog about the reads of a transaction that is over.
func (c *Conn) provePending() proof {
	if c.state != sessionClean {
		return unproven
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, st := range c.pending {
		j, err := c.cache.judgeOn(ctx, c.pin, st, (*catalog.Facts).AskAlone)
		if err != nil || !j.Harmless {
			return unproven
		}
	}
	return harmless
}

// stopped says whether a caller's context ended a statement.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
