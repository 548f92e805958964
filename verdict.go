package cachedpgx

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
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
func (c *Cache) judge(ctx context.Context, a *admission, q ask, p *pin) *judgement {
	if a.scope == plain {
		return c.judgeText(a.st)
	}
	j := c.statements.known(a.st, a.scope.id)
	if j != nil {
		age := time.Duration(c.now() - j.at)
		if age < c.cfg.CatalogTTL/2 {
			return j
		}
		if age < c.cfg.CatalogTTL {
			c.judgeAgain(a.st, a.scope, q.text)
			return j
		}
	}
	if p != nil {
		// It holds a connection, and asks on that.
		if p.server.txStatus() != 'I' {
			return j
		}
		fresh, err := c.judgeOn(ctx, p, a.st, q.text)
		if err != nil {
			return nil
		}
		return fresh
	}
	if j == nil {
		if c.now() < instant(a.st.askAfter.Load()) {
			return nil
		}
		fresh, p, err := c.askFor(ctx, a.st, a.scope, q.text)
		if err != nil && p != partNone {
			a.st.askAfter.Store(int64(c.now() + instant(askPause)))
		}
		return fresh
	}
	if c.now() >= instant(c.askPause.Load()) {
		waiting, cancel := context.WithTimeout(ctx, askPatience)
		fresh, _, err := c.askFor(waiting, a.st, a.scope, q.text)
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
func (c *Cache) judgeAgain(st *statement, s *scope, text string) {
	if !st.asking.CompareAndSwap(false, true) {
		return
	}
	err := c.tasks.start(func(closing context.Context) {
		defer st.asking.Store(false)
		ctx, cancel := context.WithTimeout(closing, askDeadline)
		defer cancel()
		_, _, _ = c.askFor(ctx, st, s, text)
	})
	if err != nil {
		st.asking.Store(false)
	}
}

// askFor asks the catalog on a connection of the pool; those who need the same
// answer share the question.
func (c *Cache) askFor(ctx context.Context, st *statement, s *scope, text string) (*judgement, part, error) {
	key := strconv.FormatUint(st.id, 36) + "/" + strconv.FormatUint(s.id, 36)
	return c.asks.do(ctx, request[*judgement]{
		key: key, stamp: stamp(c.statements.generation.Load()),
		load: func(ctx context.Context) (j *judgement, err error) {
			if err := c.enter(ctx); err != nil {
				return nil, err
			}
			defer c.leave()
			p, err := c.origin.run(ctx, useLoad, func(p *pin) (err error) {
				j, err = c.judgeOn(ctx, p, st, text)
				return err
			})
			if p != nil {
				p.giveBack()
			}
			return j, err
		},
	})
}

// judgeOn asks on one connection. The session must be clean and idle.
func (c *Cache) judgeOn(ctx context.Context, p *pin, st *statement, text string) (*judgement, error) {
	pc, s := p.pgConn(), p.scope()
	if pc == nil || s == nil {
		return nil, errNotIdentified
	}
	if same, err := p.unsoiled(ctx); err != nil || !same {
		return nil, errors.Join(errNotIdentified, err)
	}
	j := &judgement{scope: s.id, generation: c.statements.generation.Load(), at: c.now()}
	params, err := paramTypes(ctx, pc, st, text)
	if err != nil {
		return c.refused(st, j, err)
	}
	j.params = params
	v, err := catalog.Judge(ctx, pc, st.scan, j.params)
	if err != nil {
		return nil, err
	}
	j.Verdict = v
	st.verdict.Store(j)
	return j, nil
}

// paramTypes asks the server for the types of a text's parameters; nil, and no
// question, where it has none.
func paramTypes(ctx context.Context, pc *pgconn.PgConn, st *statement, text string) ([]uint32, error) {
	if st.scan.Params == 0 {
		return nil, nil
	}
	sd, err := pc.Prepare(ctx, "", text, nil)
	if err != nil {
		return nil, err
	}
	return sd.ParamOIDs, nil
}

// refused is the judgement of a text that the server won't have: not cached,
// and it speaks for itself when it runs. Any other failure is no judgement.
func (c *Cache) refused(st *statement, j *judgement, err error) (*judgement, error) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || len(pgErr.Code) != 5 || pgErr.Code[:2] != "42" {
		return nil, err
	}
	st.verdict.Store(j)
	return j, nil
}

// judgeText is the judgement over a driver that has no PostgreSQL catalog.
func (c *Cache) judgeText(st *statement) *judgement {
	if j := st.verdict.Load(); j != nil {
		return j
	}
	j := &judgement{Verdict: catalog.JudgeText(st.scan), scope: plain.id}
	st.verdict.Store(j)
	return j
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
// clock; where the parameter's type isn't known, it is taken for one.
func (j *judgement) admitArgument(i int, value any, kind argument, marked bool) string {
	var oid uint32
	if i < len(j.params) {
		oid = j.params[i]
	}
	switch kind {
	case argumentText:
		if oid != 0 && !catalog.TimeParam(oid) {
			return ""
		}
		if !marked && timeWords(value, oid) {
			return reasonDateWord
		}
	case argumentTime:
		// A time in a text parameter is written by its String method, which
		// may show the monotonic clock.
		if oid != 0 && !catalog.TimeParam(oid) {
			return reasonArgument
		}
	}
	return ""
}

// timeWords looks for date words in an argument that is sent as text.
func timeWords(value any, oid uint32) bool {
	switch v := value.(type) {
	case string:
		return catalog.TimeWord(v) || catalog.TimeZoneParam(oid)
	case []byte:
		return catalog.TimeWord(string(v)) || catalog.TimeZoneParam(oid)
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && timeWords(v.Elem().Interface(), oid)
	case reflect.String:
		return catalog.TimeWord(v.String()) || catalog.TimeZoneParam(oid)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return catalog.TimeWord(string(v.Bytes())) || catalog.TimeZoneParam(oid)
		}
		for i := range v.Len() {
			if timeWords(v.Index(i).Interface(), oid) {
				return true
			}
		}
	}
	return false
}
