package cachedpgx

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Off switches a thing off where its zero value means "unset": durations,
// sizes and Jitter alike.
const Off = -1

// Mode says what is cached.
type Mode uint8

// The modes.
const (
	ModeInherit Mode = iota // unset: as the next wider setting says
	ModeAuto                // all that is proven safe; the default
	ModeMarked              // only reads that are marked (WithTTL, or the hint ttl=)
	ModeOff                 // nothing: every statement goes to the server
)

// String gives the mode as the parameter cache_mode spells it.
func (m Mode) String() string {
	switch m {
	case ModeInherit:
		return "inherit"
	case ModeAuto:
		return "auto"
	case ModeMarked:
		return "marked"
	case ModeOff:
		return "off"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Policy says what is kept, and for how long. Its zero value is a good default.
type Policy struct {
	// Mode says what is cached. Defaults to ModeAuto.
	Mode Mode

	// TTL is the longest that rows changed by others are still served, counted
	// from the start of the load. A longer one saves queries and shows other
	// people's changes later. Defaults to 30 s. At least 1 ms.
	TTL time.Duration

	// NegativeTTL is the same for empty results. Defaults to the smaller of 5 s
	// and TTL; at most TTL. Off keeps no empty results.
	NegativeTTL time.Duration

	// Jitter spreads the ends of lives: each is drawn from [TTL·(1−Jitter), TTL],
	// so that entries loaded together do not expire together. From 0 to 1;
	// defaults to 0.1. Off gives every entry the whole TTL.
	Jitter float64

	// MaxRows is the most rows a kept result has; a longer one is handed on as
	// a stream. Inclusive. Defaults to 10 000. Off sets no limit.
	MaxRows int

	// MaxResultBytes is the most bytes that the values of a kept result have on
	// the wire, with the 4 that frame each. Inclusive. Defaults to 1 MiB. Off leaves only MaxBytes as a limit.
	MaxResultBytes int64
}

const (
	defaultTTL            = 30 * time.Second
	defaultNegativeTTL    = 5 * time.Second
	defaultJitter         = 0.1
	defaultMaxRows        = 10_000
	defaultMaxResultBytes = 1 << 20

	minTTL = time.Millisecond
)

// check names every field that is out of its range.
func (p Policy) check() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("cachedpgx: Policy."+field+": "+format, args...))
	}
	if p.Mode > ModeOff {
		bad("Mode", "%d is no mode: use ModeAuto, ModeMarked or ModeOff", p.Mode)
	}
	if p.TTL != 0 && p.TTL < minTTL {
		bad("TTL", "%v is out of range: at least %v; to cache nothing use ModeOff", p.TTL, minTTL)
	}
	if p.NegativeTTL != 0 && p.NegativeTTL != Off && p.NegativeTTL < minTTL {
		bad("NegativeTTL", "%v is out of range: at least %v, or Off", p.NegativeTTL, minTTL)
	}
	ttl := p.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}
	if ttl >= minTTL && p.NegativeTTL > ttl {
		bad("NegativeTTL", "%v is longer than the TTL of %v: at most that", p.NegativeTTL, ttl)
	}
	if p.Jitter != Off && (p.Jitter < 0 || p.Jitter > 1 || math.IsNaN(p.Jitter)) {
		bad("Jitter", "%v is out of range: from 0 to 1, or Off", p.Jitter)
	}
	if p.MaxRows < Off {
		bad("MaxRows", "%d is out of range: at least 1, or Off", p.MaxRows)
	}
	if p.MaxResultBytes < Off {
		bad("MaxResultBytes", "%d is out of range: at least 1, or Off", p.MaxResultBytes)
	}
	return errors.Join(errs...)
}

// filled gives the policy with every unset field at its default.
func (p Policy) filled() Policy {
	if p.Mode == ModeInherit {
		p.Mode = ModeAuto
	}
	if p.TTL == 0 {
		p.TTL = defaultTTL
	}
	if p.NegativeTTL == 0 {
		p.NegativeTTL = min(defaultNegativeTTL, p.TTL)
	}
	switch p.Jitter {
	case 0:
		p.Jitter = defaultJitter
	case Off:
		p.Jitter = 0
	}
	if p.MaxRows == 0 {
		p.MaxRows = defaultMaxRows
	}
	if p.MaxResultBytes == 0 {
		p.MaxResultBytes = defaultMaxResultBytes
	}
	return p
}

// over gives p with what it leaves unset as q says.
func (p Policy) over(q Policy) Policy {
	inherit(&p.Mode, q.Mode)
	if p.TTL == 0 {
		p.TTL = q.TTL
	}
	// A life that is set bounds an empty result's, whoever set that.
	if p.NegativeTTL == 0 {
		p.NegativeTTL = q.NegativeTTL
	}
	if p.TTL > 0 && p.NegativeTTL > p.TTL {
		p.NegativeTTL = p.TTL
	}
	inherit(&p.Jitter, q.Jitter)
	inherit(&p.MaxRows, q.MaxRows)
	inherit(&p.MaxResultBytes, q.MaxResultBytes)
	return p
}

func inherit[T comparable](v *T, from T) {
	var unset T
	if *v == unset {
		*v = from
	}
}

// life draws how long a result may live, counted from the start of its load.
// u is uniform in [0, 1). Zero means that it is not kept.
func (p Policy) life(negative bool, u float64) time.Duration {
	ttl := p.TTL
	if negative {
		ttl = p.NegativeTTL
	}
	if ttl <= 0 {
		return 0
	}
	return ttl - time.Duration(float64(ttl)*p.Jitter*u)
}

// terms are how a read is cached: a policy in full, and where it comes from.
type terms struct {
	policy Policy // filled
	unset  Policy // the same before it was filled
	mode   Mode   // that a rule or the caller sets; ModeInherit where neither does
	rule   string
	marked bool // the caller, or a hint, has said how old it may be
}

// ttl is the longest life.
func (t *terms) ttl() time.Duration { return t.policy.TTL }
