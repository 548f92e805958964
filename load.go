package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// limitsOf bounds what a load keeps under a policy.
func (c *Cache) limitsOf(p Policy) rowset.Limits {
	limits := rowset.Limits{Rows: p.MaxRows, Bytes: p.MaxResultBytes}
	if limits.Bytes < 0 || limits.Bytes > c.cfg.MaxBytes {
		limits.Bytes = c.cfg.MaxBytes
	}
	return limits
}

func (c *Cache) loadQuery(a *admission, q ask) loadQuery {
	return loadQuery{ask: q, limits: c.limitsOf(a.terms.policy), shape: &a.st.shape}
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
	if e, _, s := c.kept(a, c.now()); s == standingCurrent {
		return loaded{rows: e.rows}, nil
	}
	if err := c.enter(ctx); err != nil {
		return loaded{}, err
	}
	// A context that can't end spares pgx a goroutine that watches it.
	cancel := func(error) {}
	if ctx.Done() != nil || c.cfg.LoadTimeout > 0 {
		ctx, cancel = context.WithCancelCause(ctx)
	}
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
			c.relearn(a, err, p.scope())
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

// relearn takes down which types a statement's parameters have, after a load
// found others than those that its arguments were encoded for: somebody else has
// altered a table.
func (c *Cache) relearn(a *admission, err error, s *scope) {
	var other *otherTypesError
	if errors.As(err, &other) {
		c.describe(a.st, s, description{other.oids, true})
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
		until := c.now() + instant(tooBigFor)
		if l.reason == reasonUnstorable {
			a.st.unstorable.Store(int64(until))
			return
		}
		b := &tooBig{until: until, limits: c.limitsOf(a.terms.policy), always: l.always}
		if len(a.key) <= longTooBig { // others are found out each time
			c.tooBig.Set(a.key, b)
		}
		a.st.tooBig.Store(b)
		return
	}
	if l.tail != nil {
		return
	}
	if p.scope() != a.scope || p.oldPlans() || a.scope.lags(&c.ledger) || c.ledger.standing(a.stamp) != standingCurrent {
		c.counters.discarded.Add(1)
		return
	}
	life := a.terms.policy.life(l.rows.Len() == 0, rand.Float64())
	if life <= 0 {
		return
	}
	expiry := start + instant(life)
	if c.now() >= expiry {
		return
	}
	c.store.put(a.key, &entry{rows: l.rows, stamp: a.stamp, start: start, expiry: expiry})
}
