package cachedpgx

import (
	"context"
	"database/sql/driver"
)

// admission is what is known of a call before it runs: either everything that
// a look-up needs, or the reason why it goes to the server.
type admission struct {
	reason string // "": admitted
	proof  proof
	st     *statement
	scope  *scope
	judged *judgement
	key    string
	stamp  stamp
	wish   wish
	aged   bool // the judgement is too old for a load
}

// proof says whether a statement is proven to write nothing.
type proof uint8

const (
	unproven proof = iota
	harmless
)

// ask is a statement as it was asked.
type ask struct {
	text string
	args []driver.NamedValue
	prep preparation
}

// admit finds out whether a call may be answered from the cache. p is the
// session's pin, nil if it holds none; a session that holds one asks the
// catalog on it, and waits for nobody.
func (c *Cache) admit(ctx context.Context, st *statement, q ask, p *pin) admission {
	a := admission{st: st, wish: wishOf(ctx)}
	if reason := c.admitText(&a); reason != "" {
		a.reason = reason
		return a
	}
	// Things may change while the catalog is asked: the scope, by a younger
	// connection; the catalog itself, by DDL. That the judgement still holds
	// is looked at after the stamp is taken:
	//
	//	admission                   DDL
	//	judgement of generation 5
	//	                            commits
	//	                            generation = 6, then epoch = 9, returns
	//	stamp = 9
	//	5 ≠ 6: judges again
	//
	// If the generation moves only after that look, the epoch moves after the
	// stamp, and what is loaded is not kept.
	for range 3 {
		if a.reason = c.admitScope(ctx, &a, p); a.reason != "" {
			a.proof = c.proved(st)
			return a
		}
		a.reason, a.aged = reasonNoCatalog, false
		if a.judged = c.judge(ctx, &a, q, p); a.judged == nil {
			return a
		}
		if a.judged.scope != a.scope.id {
			continue
		}
		a.proof = unproven
		if a.judged.Harmless {
			a.proof = harmless
		}
		a.reason = c.admitVerdict(ctx, &a, q)
		if a.scope == plain || a.judged.generation == c.statements.generation.Load() {
			return a
		}
		a.reason = reasonNoCatalog
	}
	return a
}

// proved says what is known of a statement without asking.
func (c *Cache) proved(st *statement) proof {
	if s := c.origin.current.Load(); s != nil {
		if j := c.statements.known(st, s.id); j != nil && j.Harmless {
			return harmless
		}
	}
	return unproven
}

// admitText decides by the text alone.
func (c *Cache) admitText(a *admission) string {
	st := a.st
	if st.trivial {
		a.proof = harmless
		return st.firstReason()
	}
	if !st.isRead() {
		if st.isShow() {
			a.proof = harmless
		}
		return st.firstReason()
	}
	if h := st.scan.Hint; h.Set {
		if h.Off {
			a.wish.bypass = true
		}
		if a.wish.ttl == 0 {
			a.wish.ttl = h.TTL
		}
	}
	return ""
}

// admitScope decides under which scope a call is answered.
func (c *Cache) admitScope(ctx context.Context, a *admission, p *pin) string {
	if c.modeNow() == ModeOff {
		return reasonModeOff
	}
	switch {
	case p != nil:
		a.scope = p.scope()
	default:
		a.scope = c.scopeNow(ctx)
	}
	switch {
	case c.origin.hooked.Load() && c.cfg.Partition == nil:
		return reasonResetHook
	case a.scope == nil:
		return reasonNoCatalog
	case a.scope.pooled:
		return reasonPooler
	case c.origin.unstable():
		return reasonScope
	case a.scope.odd && a.st.scan.Backslash:
		return reasonBackslash
	}
	return ""
}

// admitVerdict decides by what the catalog said, and by the arguments.
func (c *Cache) admitVerdict(ctx context.Context, a *admission, q ask) string {
	marked := a.wish.ttl > 0
	switch {
	case a.wish.bypass:
		return reasonAsked
	case !a.judged.Cacheable && !(marked && a.judged.WithMark):
		return a.judged.firstReason()
	case !marked && c.modeNow() == ModeMarked:
		return reasonNotMarked
	case a.st.unstorable.Load():
		return reasonUnstorable
	case a.scope.lags(&c.ledger):
		return reasonStandby
	}
	head := keyHead{scope: a.scope.id, statement: a.st.id, prepared: q.prep}
	if c.cfg.Partition != nil {
		var ok bool
		if head.partition, ok = c.partition(ctx); !ok {
			return reasonPartition
		}
	}
	var buf [256]byte
	key := appendHead(buf[:0], head)
	for i := range q.args {
		var kind argument
		if key, kind = appendArgument(key, &q.args[i]); kind == argumentOpaque {
			return reasonArgument
		}
		if reason := a.judged.admitArgument(i, q.args[i].Value, kind, marked); reason != "" {
			return reason
		}
	}
	var now standing
	if a.stamp, now = c.ledger.stamp(); now != standingCurrent {
		return reasonQuarantine
	}
	a.key = string(key)
	return ""
}

// partition asks the user's Partition, and survives it.
func (c *Cache) partition(ctx context.Context) (part string, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			c.say("cachedpgx: Config.Partition panicked, so the call goes to the server", "panic", r)
			part, ok = "", false
		}
	}()
	return c.cfg.Partition(ctx), true
}
