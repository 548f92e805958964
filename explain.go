package cachedpgx

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// Explanation says whether a statement is cached, and why not.
type Explanation struct {
	Cacheable bool     // as the context given to Explain wishes: without a mark, unless that has one
	Reasons   []Reason // every reason why not; empty when Cacheable
	Relations []string // "schema.name", sorted: what the answer depends on, with the whole partition tree and what views read
	Writes    []string // "schema.name", sorted: what the statement may write, with cascades, views' bases and partitions
	AllWrites bool     // its effect is unknown: whatever is kept is taken for written
	Policy    Policy   // as it applies, every field filled
	Rule      string   // the name of the Rule that applies; "" for none
	Notes     []string // what is worth knowing beside that, such as a hint that is not understood
}

// Reason is one thing that keeps a statement from the cache.
type Reason struct {
	Code     ReasonCode
	Detail   string // the words of the text, or the object, it is about
	Fix      string // what a person may do about it
	Markable bool   // a mark (WithTTL, WithPolicy, a hint) waives it: it is only time
}

// ReasonCode names a reason. The names are stable; Stats.Bypasses counts under
// the same ones.
type ReasonCode string

// String is the name itself, such as "volatile-function".
func (c ReasonCode) String() string { return string(c) }

// Explain says whether a statement is cached through this handle, and gives
// every reason if not. A text that is not understood is a reason, and no error;
// an error means that the server could not be reached. The context's own
// wishes count ([WithTTL] and others). Arguments are not known here: one that
// may be 'today' where a date is expected, or that pgx can't encode, sends its
// call to the server. Give the text as the server gets it: $1 where NamedArgs
// have @name.
//
// That its last result was too large to keep is told for a minute, by the handle
// that has seen it: as a reason, or, since another result of a text with
// parameters may be smaller, as a note.
//
// It runs nothing, and changes nothing at the server: what is not known of the
// catalog yet is asked, in one round trip. It may be called concurrently.
func (c *Cache) Explain(ctx context.Context, query string) (Explanation, error) {
	if c.tasks.closing.Err() != nil {
		return Explanation{}, ErrClosed
	}
	st := c.statements.get(query)
	e := explaining{cache: c, st: st, wish: wishOf(ctx)}
	e.out.Policy = c.cfg.Policy.filled()
	for _, h := range st.scan.Hint.Malformed {
		e.out.Notes = append(e.out.Notes, "the hint "+strings.TrimSpace(h)+" is not understood, so nothing of it counts but off and tags: it may be ttl=5s, stale=1s, tag=name or off, each once, with spaces between")
	}
	if err := e.ask(ctx); err != nil {
		return Explanation{}, err
	}
	e.settings()
	e.out.Cacheable = len(e.out.Reasons) == 0
	return e.out, nil
}

// explaining collects an explanation.
type explaining struct {
	cache *Cache
	st    *statement
	wish  *wish
	out   Explanation
}

// because adds a reason, once.
func (e *explaining) because(code, detail string, markable bool) {
	r := Reason{Code: ReasonCode(code), Detail: detail, Markable: markable, Fix: fixOf(code, detail, markable)}
	if !slices.Contains(e.out.Reasons, r) {
		e.out.Reasons = append(e.out.Reasons, r)
	}
}

// ask finds out what the text and the catalog say.
func (e *explaining) ask(ctx context.Context) error {
	c, scan := e.cache, e.st.scan
	s := c.scopeNow(ctx)
	if s == nil {
		// Is it the server that can't be reached, or one that doesn't say who
		// it is?
		p, err := c.origin.take(ctx, useLoad)
		if err != nil {
			return err
		}
		p.release()
	}
	var v catalog.Verdict
	switch {
	case scan.Class != sqlscan.ClassRead && scan.Class != sqlscan.ClassLock:
		v.Reasons = scan.Reasons
		if s != nil && s != plain {
			if err := e.writes(ctx, s); err != nil {
				return err
			}
		} else {
			e.out.AllWrites = scan.Class == sqlscan.ClassWrite || scan.Class == sqlscan.ClassDDL || scan.Class == sqlscan.ClassUnknown
		}
	case s == nil:
		v.Reasons = scan.Reasons
		e.because(reasonNoCatalog, "", false)
	case s == plain:
		v = c.judgeText(e.st).Verdict
	default:
		j := c.judgeByName(e.st, s)
		if j == nil {
			var err error
			if j, _, err = c.askFor(ctx, e.st, s); err != nil {
				if ctx.Err() != nil {
					return err
				}
				e.because(reasonNoCatalog, err.Error(), false)
				v.Reasons = scan.Reasons
				break
			}
		}
		v = j.Verdict
		if e.out.AllWrites = !v.Harmless; e.out.AllWrites {
			e.out.Notes = append(e.out.Notes, "it is not proven to write nothing, and counts as a write")
		}
	}
	e.verdict(v)
	if s != nil && s != plain {
		e.scope(s)
	}
	return nil
}

// verdict takes the reasons of the text and of the catalog, and the terms.
func (e *explaining) verdict(v catalog.Verdict) {
	t, failed := e.cache.cfg.termsOf(e.st.scan, v)
	if failed != "" {
		e.because(reasonRule, failed, false)
	}
	t = t.wished(e.wish)
	e.out.Policy, e.out.Rule = t.policy, t.rule
	if e.out.Policy.Mode = e.cache.modeFor(&t); Mode(e.cache.mode.Load()) == ModeOff {
		e.out.Policy.Mode = ModeOff // nothing overrides that
	}
	for _, r := range v.Reasons {
		if !t.marked || !r.Markable {
			e.because(catalog.CodeName(r.Code), r.Detail, r.Markable)
		}
	}
	e.out.Relations = relationNames(v.Relations)
	slices.Sort(e.out.Relations)
	if e.st.scan.Class != sqlscan.ClassRead {
		return
	}
	switch {
	case e.out.Policy.Mode == ModeOff:
		e.because(reasonModeOff, t.rule, false)
	case e.out.Policy.Mode == ModeMarked && !t.marked:
		e.because(reasonNotMarked, "", true)
	}
}

// writes asks what a statement that is no read may write.
func (e *explaining) writes(ctx context.Context, s *scope) error {
	c := e.cache
	var w catalog.WriteSet
	err := c.borrow(ctx, func(p *pin) (err error) {
		pc := p.pgConn()
		if pc == nil {
			return errNotIdentified
		}
		w, err = catalog.Writes(ctx, pc, e.st.scan)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		w = catalog.WriteSet{All: true, Reasons: []string{"the catalog can't be asked: " + err.Error()}}
	}
	e.out.AllWrites = w.All
	e.out.Writes = append(e.out.Writes, relationNames(w.Relations)...)
	for _, r := range w.Reasons {
		e.out.Notes = append(e.out.Notes, "it may write anything: "+r)
	}
	return nil
}

// scope gives the reason that lies in the server connections.
func (e *explaining) scope(s *scope) {
	reason := e.cache.scopeReason(s, e.st)
	if reason == "" && s.lags(&e.cache.ledger) {
		reason = reasonStandby
	}
	if reason != "" {
		e.because(reason, "", false)
	}
}

// size tells of results that were too big to keep.
func (e *explaining) size(now instant) {
	b := e.st.tooBig.Load()
	if b == nil || now >= b.until || !b.within(e.cache.limitsOf(e.out.Policy)) {
		return
	}
	limits := fmt.Sprintf("%d rows or %d bytes", b.limits.Rows, b.limits.Bytes)
	if b.always {
		e.because(reasonTooBig, limits, false)
		return
	}
	e.out.Notes = append(e.out.Notes, "with some arguments the result was larger than "+limits+", so that it went to the server: ask for fewer rows, or raise MaxRows and MaxResultBytes")
}

// settings gives the reasons that lie in the configuration and the call.
func (e *explaining) settings() {
	switch {
	case e.wish.bypass, e.st.scan.Hint.Off:
		e.because(reasonAsked, "", false)
	case e.wish.invalid != nil:
		e.because(reasonPolicy, e.wish.invalid.Error(), false)
	}
	now := e.cache.now()
	if now < instant(e.st.unstorable.Load()) {
		e.because(reasonUnstorable, "", false)
	}
	e.size(now)
	if e.cache.ledger.quarantines.Load() != 0 && e.st.isRead() {
		e.out.Notes = append(e.out.Notes, "for the moment nothing is served: the outcome of a write is not known yet")
	}
}
