package cachedpgx

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// What the catalog says of a statement is asked once, by one caller for all
// that need it, and believed for CatalogTTL. In the second half of that time it
// is asked again in the background, so that nobody waits. A hit waits a moment
// at most: it must be served while every connection is taken, and while the
// database is away.
const (
	askPatience = 100 * time.Millisecond // that a hit has
	askPause    = time.Second            // before the next hit waits, after one waited in vain
	askDeadline = 10 * time.Second       // of a question that nobody waits for
)

// patience bounds how long a call with a deadline waits for what is asked on its
// behalf: no more than a quarter of what it has left, so that it can still ask
// the server for its rows. The question goes on for others. Only so many calls
// at once are let go to the server by themselves: the others wait to their end.
func (c *Cache) patience(ctx context.Context, a *admission) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	if !a.impatient {
		if c.impatient.Add(1) > mostImpatient {
			c.impatient.Add(-1)
			return ctx, func() {}
		}
		a.impatient = true
	}
	return context.WithTimeout(ctx, time.Until(deadline)/4)
}

// mostImpatient bounds the calls that do not wait for what is asked on their
// behalf.
const mostImpatient = 16

// calm ends what patience began, when the call is over.
func (c *Cache) calm(a *admission) {
	if a.impatient {
		a.impatient = false
		c.impatient.Add(-1)
	}
}

// scopeNow gives the scope that hits are served under. The first caller of a
// handle has a connection dialled to learn it.
func (c *Cache) scopeNow(ctx context.Context) *scope {
	if s := c.origin.current.Load(); s != nil {
		return s
	}
	if c.origin.silent() {
		return nil
	}
	_, _, err := c.asks.do(ctx, request[*judgement]{key: "scope", load: func(ctx context.Context) (*judgement, error) {
		if err := c.enter(ctx); err != nil {
			return nil, err
		}
		defer c.leave()
		if c.origin.current.Load() != nil {
			return nil, nil // another flight has landed since our caller looked
		}
		p, err := c.origin.take(ctx, useLoad)
		if err == nil {
			p.release()
		}
		return nil, err
	}})
	if err != nil {
		return nil
	}
	return c.origin.current.Load()
}

// judge gives what the catalog says of a statement under a scope; nil if it
// can't be asked.
func (c *Cache) judge(ctx context.Context, a *admission, p *pin) *judgement {
	if a.scope == plain {
		return c.judgeText(a.st)
	}
	j := c.statements.known(a.st, a.scope.id)
	if j != nil {
		age := time.Duration(a.now - j.at)
		if age < c.cfg.CatalogTTL/2 {
			return j
		}
		if age < c.cfg.CatalogTTL {
			c.judgeAgain(a.st, a.scope)
			return j
		}
	}
	if fresh := c.judgeByName(a.st, a.scope); fresh != nil {
		return fresh
	}
	defer func() { a.now = c.now() }() // what follows takes time
	if p != nil {
		// It holds a connection, and asks on that.
		if p.server.txStatus() != 'I' {
			return j
		}
		fresh, err := c.judgeOn(ctx, p, a.st, (*catalog.Facts).AskAlone)
		if err != nil {
			return nil
		}
		return fresh
	}
	if j == nil {
		if c.now() < instant(a.st.askAfter.Load()) {
			return nil
		}
		waiting, cancel := c.patience(ctx, a)
		defer cancel()
		fresh, p, err := c.askFor(waiting, a.st, a.scope)
		switch {
		case err != nil && p != partNone:
			c.askLater(a.st, err)
		case err == nil:
			a.st.asksFailed.Store(0)
		}
		return fresh
	}
	if c.now() >= instant(c.askPause.Load()) {
		waiting, cancel := context.WithTimeout(ctx, askPatience)
		fresh, _, err := c.askFor(waiting, a.st, a.scope)
		cancel()
		if err == nil && fresh != nil {
			return fresh
		}
		c.askPause.Store(int64(c.now() + instant(askPause)))
	}
	a.aged = true
	return j
}

// judgeAgain asks in the background; one question at a time for a statement.
func (c *Cache) judgeAgain(st *statement, s *scope) {
	if j := c.judgeByName(st, s); j != nil && time.Duration(c.now()-j.at) < c.cfg.CatalogTTL/2 {
		return // another statement has asked about the same names
	}
	if !st.asking.CompareAndSwap(false, true) {
		return
	}
	err := c.tasks.start(func(closing context.Context) {
		defer st.asking.Store(false)
		ctx, cancel := context.WithTimeout(closing, askDeadline)
		defer cancel()
		_, _, _ = c.askFor(ctx, st, s)
	})
	if err != nil {
		st.asking.Store(false)
	}
}

// askFor asks the catalog on a connection of the pool; those who need the same
// answer share the question.
func (c *Cache) askFor(ctx context.Context, st *statement, s *scope) (*judgement, part, error) {
	key := strconv.FormatUint(st.id, 36) + "/" + strconv.FormatUint(s.id, 36)
	return c.asks.do(ctx, request[*judgement]{
		key: key, stamp: stamp(c.statements.generation.Load()),
		load: func(ctx context.Context) (j *judgement, err error) {
			if err := c.enter(ctx); err != nil {
				return nil, err
			}
			defer c.leave()
			err = c.borrow(ctx, func(p *pin) (err error) {
				j, err = c.judgeOn(ctx, p, st, (*catalog.Facts).Ask)
				return err
			})
			return j, err
		},
	})
}

// borrow puts a question on a connection of the pool.
func (c *Cache) borrow(ctx context.Context, question func(*pin) error) error {
	p, err := c.origin.run(ctx, useLoad, question)
	if p != nil {
		p.giveBack()
	}
	return err
}

// judgeByName judges by what is known of the names in a statement, and asks
// nobody; nil if that does not do.
func (c *Cache) judgeByName(st *statement, s *scope) *judgement {
	generation := c.statements.generation.Load()
	facts := c.facts.of(s, generation)
	return c.conclude(st, s, generation, facts, c.cfg.CatalogTTL)
}

// conclude makes a judgement of facts.
func (c *Cache) conclude(st *statement, s *scope, generation uint64, facts *catalog.Facts, maxAge time.Duration) *judgement {
	v, at, ok := facts.Judge(st.scan, nil, time.Duration(c.now()), maxAge)
	if !ok {
		return nil
	}
	return c.remember(st, &judgement{Verdict: v, scope: s.id, generation: generation, at: instant(at)})
}

// remember settles on what terms a statement is cached.
func (c *Cache) remember(st *statement, j *judgement) *judgement {
	var failed string
	if j.terms, failed = c.cfg.termsOf(st.scan, j.Verdict); failed != "" {
		c.say("cachedpgx: a Rule's Match panicked, so the text goes to the server", "rule", failed)
		j.failed = true
	}
	st.verdict.Store(j)
	return j
}

// judgeOn asks on one connection. The session must be clean and idle.
func (c *Cache) judgeOn(ctx context.Context, p *pin, st *statement, ask askFacts) (*judgement, error) {
	pc, s := p.pgConn(), p.scope()
	if pc == nil || s == nil {
		return nil, errNotIdentified
	}
	if same, err := p.unsoiled(ctx); err != nil || !same {
		return nil, errors.Join(errNotIdentified, err)
	}
	generation := c.statements.generation.Load()
	facts := c.facts.of(s, generation)
	now := func() time.Duration { return time.Duration(c.now()) }
	if err := ask(facts, ctx, pc, st.scan, now, c.cfg.CatalogTTL/2); err != nil {
		return nil, err
	}
	c.facts.learn(s, facts)
	// An answer that has just come is used, however short CatalogTTL is.
	if j := c.conclude(st, s, generation, facts, max(c.cfg.CatalogTTL, askDeadline)); j != nil {
		return j, nil
	}
	return nil, errNotIdentified
}

// askFacts is a way to ask: in turn with others, or alone.
type askFacts func(f *catalog.Facts, ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, now func() time.Duration, maxAge time.Duration) error

// Pauses before a text's verdict is asked for again, after the catalog could
// not be asked.
const (
	askPauseMin = 250 * time.Millisecond
	askPauseMax = 30 * time.Second
)

// askLater has a statement wait, longer each time.
func (c *Cache) askLater(st *statement, err error) {
	n := st.asksFailed.Add(1)
	pause := min(askPauseMin<<min(n-1, 10), askPauseMax)
	pause -= time.Duration(rand.Float64() * float64(pause) / 4)
	st.askAfter.Store(int64(c.now() + instant(pause)))
	c.say("cachedpgx: the catalog can't be asked, so reads go to the server", "error", err)
}

// judgeText is the judgement over a driver that has no PostgreSQL catalog.
func (c *Cache) judgeText(st *statement) *judgement {
	if j := st.verdict.Load(); j != nil {
		return j
	}
	return c.remember(st, &judgement{Verdict: catalog.JudgeText(st.scan), scope: plain.id})
}

// describe remembers what the server said of a text.
func (c *Cache) describe(st *statement, s *scope, d description) {
	if s != nil && s != plain && d.known {
		st.described.Store(&described{d, s.id, c.statements.generation.Load(), c.now()})
	}
}

// descriptionOf gives what the server said of a text, if that still holds.
func (c *Cache) descriptionOf(st *statement) (description, bool) {
	s, d := c.origin.current.Load(), st.described.Load()
	if s == nil || d == nil || d.scope != s.id || d.generation != c.statements.generation.Load() ||
		time.Duration(c.now()-d.at) >= c.cfg.CatalogTTL {
		return description{}, false
	}
	return d.description, true
}

// firstReason is the code that a bypass counts under.
func (j *judgement) firstReason() string {
	if len(j.Reasons) > 0 {
		return catalog.CodeName(j.Reasons[0].Code)
	}
	return reasonNoCatalog
}

// admitArgument says whether an argument lets the call be cached. Text that is
// bound to a date or time parameter may be 'now' or 'today', which are the
// clock. Few texts hold such a word, so the types of parameters are asked for
// only then, and for times.
func (c *Cache) admitArgument(a *admission, i int, value any, kind argument) string {
	switch kind {
	case argumentText:
		if a.terms.marked || !timeWords(value) {
			return ""
		}
		return c.admitDateWord(a, i)
	case argumentTime:
		if a.scope == plain {
			return ""
		}
		d, ok := c.descriptionOf(a.st)
		if !ok {
			return reasonUndescribed
		}
		// A time in a text parameter is written by its String method, which
		// may show the monotonic clock: it is keyed as it is sent.
		if i >= len(d.params) || !catalog.TimeParam(d.params[i]) {
			return reasonArgument
		}
	}
	return ""
}

// admitDateWord says whether the date word in argument i may be read as a date.
func (c *Cache) admitDateWord(a *admission, i int) string {
	if a.scope == plain || a.judged.DatesFromParams {
		return reasonDateWord
	}
	d, ok := c.descriptionOf(a.st)
	switch {
	case !ok:
		return reasonUndescribed
	case i >= len(d.params):
		return reasonArgument
	case c.facts.of(a.scope, a.judged.generation).TimeInput(d.params[i]):
		return reasonDateWord
	}
	return ""
}

// timeWords looks for date words in an argument that is sent as text.
func timeWords(value any) bool {
	switch v := value.(type) {
	case string:
		return catalog.TimeWord(v)
	case []byte:
		return catalog.TimeWord(string(v))
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && timeWords(v.Elem().Interface())
	case reflect.String:
		return catalog.TimeWord(v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return catalog.TimeWord(string(v.Bytes()))
		}
		for i := range v.Len() {
			if timeWords(v.Index(i).Interface()) {
				return true
			}
		}
	}
	return false
}

// learnTypes asks the server for the types of a statement's parameters. An
// empty reason says that they are known.
func (c *Cache) learnTypes(ctx context.Context, st *statement, s *scope, text string, p *pin) string {
	describe := func(ctx context.Context, p *pin) error {
		pc, s := p.pgConn(), p.scope()
		if pc == nil || s == nil {
			return errNotIdentified
		}
		sd, err := pc.Prepare(ctx, "", text, nil)
		if err != nil {
			return err
		}
		c.describe(st, s, description{sd.ParamOIDs, true})
		return nil
	}
	var err error
	switch {
	case p != nil:
		if p.server.txStatus() != 'I' {
			return reasonUndescribed
		}
		err = describe(ctx, p)
	case c.now() < instant(st.askAfter.Load()):
		return reasonUndescribed
	default:
		_, _, err = c.asks.do(ctx, request[*judgement]{
			key: "types/" + strconv.FormatUint(st.id, 36) + "/" + strconv.FormatUint(s.id, 36), stamp: stamp(c.statements.generation.Load()),
			load: func(ctx context.Context) (*judgement, error) {
				if err := c.enter(ctx); err != nil {
					return nil, err
				}
				defer c.leave()
				return nil, c.borrow(ctx, func(p *pin) error { return describe(ctx, p) })
			},
		})
	}
	if _, ok := c.descriptionOf(st); err != nil || !ok {
		return reasonUndescribed
	}
	return ""
}
