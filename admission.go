package cachedpgx

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// admission is what is known of a call before it runs: either everything that
// a look-up needs, or the reason why it goes to the server. It belongs to one
// connection, which uses its memory again: what outlives the call takes a copy
// (see owned).
//
// INVARIANT: key and params are parts of buf, valid until the next admission.
type admission struct {
	reason string // "": admitted
	proof  proof
	st     *statement
	scope  *scope
	judged *judgement
	key    string
	params string // the end of key: the arguments as they are sent; "": as Go values
	oids   []uint32
	stamp  stamp
	wish   *wish
	terms  *terms  // on which it is cached
	aged   bool    // the judgement is too old for a load
	now    instant // of this admission, after all that takes time
	buf    []byte

	impatient bool // see Cache.patience
}

// mostKept is the most memory that a connection keeps for its next key.
const mostKept = 4 << 10

// owned gives a copy for who outlives the call, or keeps the key.
func (a *admission) owned() *admission {
	own := *a
	own.buf, own.impatient = nil, false
	own.key = strings.Clone(a.key)
	own.params = own.key[len(own.key)-len(a.params):]
	return &own
}

// setKey takes the key that was built in buf.
func (a *admission) setKey(key []byte, params int) {
	if cap(key) <= mostKept {
		a.buf = key
	}
	a.key = unsafe.String(unsafe.SliceData(key), len(key))
	a.params = a.key[params:]
}

// proof says whether a statement is proven to write nothing.
type proof uint8

const (
	unproven proof = iota
	harmless
)

// admit finds out whether a call may be answered from the cache. p is the
// session's pin, nil if it holds none; a session that holds one asks the
// catalog on it, and waits for nobody.
func (c *Cache) admit(ctx context.Context, a *admission, st *statement, q ask, p *pin) {
	*a = admission{st: st, wish: wishOf(ctx), now: c.now(), buf: a.buf, impatient: a.impatient}
	if reason := c.admitText(a); reason != "" {
		a.reason = reason
		if !st.isRead() && st.isProvable() && c.admitScope(ctx, a, p) == "" {
			if j := c.judge(ctx, a, p); j != nil && j.Harmless && j.generation == c.statements.generation.Load() {
				a.proof = harmless
			}
		}
		return
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
		if a.reason = c.admitScope(ctx, a, p); a.reason != "" {
			a.proof = c.proved(st)
			return
		}
		a.reason, a.aged = reasonNoCatalog, false
		if a.judged = c.judge(ctx, a, p); a.judged == nil {
			return
		}
		if a.judged.scope != a.scope.id {
			continue
		}
		a.proof = unproven
		if a.judged.Harmless {
			a.proof = harmless
		}
		if a.reason = c.admitVerdict(ctx, a, q); a.reason == reasonUndescribed {
			q.keep(a)
			waiting, cancel := c.patience(ctx, a)
			a.reason = c.learnTypes(waiting, a.st, a.scope, q.text, p)
			cancel()
			if a.now = c.now(); a.reason == "" {
				a.reason = c.admitVerdict(ctx, a, q)
			}
		}
		if a.scope == plain || a.judged.generation == c.statements.generation.Load() {
			return
		}
		a.reason = reasonNoCatalog
		q.keep(a)
	}
}

// keep keeps the arguments that an admission has encoded, for another try, so
// that a Valuer is asked once.
func (q *ask) keep(a *admission) {
	if a.params != "" {
		q.params, q.oids = strings.Clone(a.params), a.oids
	}
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
	if h := &st.scan.Hint; h.Off || len(h.Tags) > 0 {
		w := *a.wish
		w.bypass = w.bypass || h.Off
		w.tags = joinTags(w.tags, h.Tags)
		a.wish = &w
	}
	return ""
}

// admitScope decides under which scope a call is answered.
func (c *Cache) admitScope(ctx context.Context, a *admission, p *pin) string {
	if c.allOff(a) {
		return reasonModeOff
	}
	switch {
	case p != nil:
		a.scope = p.scope()
	default:
		if a.scope = c.origin.current.Load(); a.scope == nil {
			waiting, cancel := c.patience(ctx, a)
			a.scope = c.scopeNow(waiting)
			cancel()
			a.now = c.now()
		}
	}
	return c.scopeReason(a.scope, a.st)
}

// scopeReason says what bars a statement under a scope, whatever it reads.
func (c *Cache) scopeReason(s *scope, st *statement) string {
	switch {
	case c.origin.hooked.Load() && c.cfg.Partition == nil:
		return reasonResetHook
	case s == nil:
		return reasonNoCatalog
	case s.pooled:
		return reasonPooler
	case c.origin.unstable():
		return reasonScope
	case s.odd && st.scan.Backslash:
		return reasonBackslash
	}
	return ""
}

// admitVerdict decides by what the catalog said, and by the arguments.
func (c *Cache) admitVerdict(ctx context.Context, a *admission, q ask) string {
	a.terms = a.termsFor()
	mode := c.modeFor(a.terms)
	switch {
	case a.wish.bypass:
		return reasonAsked
	case a.wish.invalid != nil:
		c.say("cachedpgx: a policy given by WithPolicy makes no sense, so the call goes to the server", "error", a.wish.invalid)
		return reasonPolicy
	case a.judged.failed:
		return reasonRule
	case !a.judged.Cacheable && !(a.terms.marked && a.judged.WithMark):
		return a.judged.firstReason()
	case mode == ModeOff:
		return reasonModeOff
	case mode == ModeMarked && !a.terms.marked:
		return reasonNotMarked
	case a.now < instant(a.st.unstorable.Load()):
		return reasonUnstorable
	case a.scope.lags(&c.ledger):
		return reasonStandby
	}
	head := keyHead{scope: a.scope.id, statement: a.st.id, prepared: q.prep, orders: q.orders}
	if c.cfg.Partition != nil {
		var ok bool
		if head.partition, ok = c.partition(ctx); !ok {
			return reasonPartition
		}
		a.now = c.now()
	}
	key := appendTags(appendHead(a.buf[:0], head), a.wish.tags, &c.tags)
	a.params, a.oids = "", nil
	reason := ""
	for i := range q.args {
		var kind argument
		if key, kind = appendArgument(key, &q.args[i]); kind == argumentOpaque {
			reason = reasonArgument
			break
		}
		if reason = c.admitArgument(a, i, q.args[i].Value, kind); reason != "" {
			break
		}
	}
	switch reason {
	case "":
		a.setKey(key, len(key))
	case reasonArgument:
		if reason = c.keyParams(a, q, head); reason != "" {
			return reason
		}
	default:
		return reason
	}
	var now standing
	if a.stamp, now = c.ledger.stamp(); now != standingCurrent {
		return reasonQuarantine
	}
	return ""
}

// keyParams keys the arguments as pgx would send them: that is for all that are
// no plain Go scalars. A driver.Valuer is asked here, and not again: its load
// sends what is keyed.
//
//	wire arguments = uvarint number of types, 4 bytes each, then as AppendParams
func (c *Cache) keyParams(a *admission, q ask, head keyHead) string {
	kind := c.origin.kind.Load()
	if a.scope == plain || kind == nil {
		return reasonArgument
	}
	typed, ok := a.scope.modes.typed(q.execMode(), q.prep)
	if !ok {
		return reasonArgument
	}
	if typed {
		d := a.st.described.Load()
		if d == nil || d.scope != a.scope.id || d.generation != a.judged.generation {
			return reasonUndescribed
		}
		if a.oids = d.params; a.oids == nil {
			a.oids = []uint32{}
		}
	}
	head.wire = true
	key := appendTags(appendHead(a.buf[:0], head), a.wish.tags, &c.tags)
	key = binary.AppendUvarint(key, uint64(len(a.oids)))
	for _, oid := range a.oids {
		key = binary.BigEndian.AppendUint32(key, oid)
	}
	at := len(key)
	if q.params != "" && slices.Equal(q.oids, a.oids) && (q.oids == nil) == (a.oids == nil) {
		key = append(key, q.params...) // they were encoded for an earlier try
	} else {
		var err error
		if key, err = kind.AppendParams(key, a.oids, q.args); err != nil {
			return reasonArgument // pgx will say why
		}
	}
	a.setKey(key, at)
	if a.terms.marked {
		return ""
	}
	reason := ""
	typemap.EachParam(a.params, func(i int, value string) bool {
		if catalog.TimeWord(value) {
			reason = c.admitDateWord(a, i)
		}
		return reason == ""
	})
	return reason
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

// allOff says whether nothing is cached whatever the rules say.
func (c *Cache) allOff(a *admission) bool {
	return c.modeNow() == ModeOff &&
		(Mode(c.mode.Load()) == ModeOff || len(c.cfg.Rules) == 0 && a.wish.policy.Mode == ModeInherit)
}

// termsFor gives the terms of one call: the statement's own, unless the caller
// wishes otherwise.
func (a *admission) termsFor() *terms {
	if !a.wish.marked {
		return &a.judged.terms
	}
	t := a.judged.terms.wished(a.wish)
	return &t
}

// wished gives the terms as a caller wishes them.
func (t terms) wished(w *wish) terms {
	if !w.marked {
		return t
	}
	t.unset, t.marked = w.policy.over(t.unset), true
	t.policy = t.unset.filled()
	if w.policy.Mode != ModeInherit {
		t.mode = w.policy.Mode
	}
	return t
}

// modeFor gives the mode under terms.
func (c *Cache) modeFor(t *terms) Mode {
	if t.mode != ModeInherit {
		return t.mode
	}
	return c.modeNow()
}
