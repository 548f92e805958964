package cachedpgx

import (
	"context"
	"slices"
	"time"
)

// wish is what one call asks of the cache. It rides in the call's context.
type wish struct {
	bypass  bool     // neither served nor stored
	refresh bool     // not served, stored
	policy  Policy   // what is set of it overrides everything else
	marked  bool     // the read may be as old as its TTL
	tags    []string // sorted, each once
	invalid error    // a policy that makes no sense
}

type wishKey struct{}

// noWish is that of most calls.
var noWish wish

// wishOf gives the wish in a context, which nobody may change.
func wishOf(ctx context.Context) *wish {
	if w, ok := ctx.Value(wishKey{}).(*wish); ok {
		return w
	}
	return &noWish
}

func withWish(ctx context.Context, change func(*wish)) context.Context {
	w := *wishOf(ctx)
	change(&w)
	return context.WithValue(ctx, wishKey{}, &w)
}

// WithoutCache gives a context whose reads are neither served from the cache
// nor stored in it. Writes under it still count as writes.
func WithoutCache(ctx context.Context) context.Context {
	return withWish(ctx, func(w *wish) { w.bypass = true })
}

// WithRefresh gives a context whose reads are not served from the cache: each
// asks the server, and the answer is stored for others. It joins no load that
// began before it.
func WithRefresh(ctx context.Context) context.Context {
	return withWish(ctx, func(w *wish) { w.refresh = true })
}

// WithTTL gives a context whose reads may be as old as d, and no older: it
// sets the life of what they load, and of what others loaded they take only
// what is younger. (Reads without a mark still take nothing that is older than
// Policy.TTL.) It also marks the reads: in ModeMarked only marked reads
// are cached, and a mark admits what is only time (clock functions and
// keywords, random(), TABLESAMPLE, foreign tables). It never admits a lock, a
// write, a side effect, somebody's identity, a temporary table, a system
// catalog, or a table with row security.
//
// Over an inner driver that has no PostgreSQL catalog, only marked reads are
// cached. With a d of less than 1 ms it does what [WithoutCache] does.
func WithTTL(ctx context.Context, d time.Duration) context.Context {
	if d < minTTL {
		return WithoutCache(ctx)
	}
	return withWish(ctx, func(w *wish) { w.policy.TTL, w.marked = d, true })
}

// WithPolicy gives a context whose reads are cached as p says; what p leaves
// unset is as a hint, a Rule, or Config.Policy says, in that order. It marks
// the reads, as [WithTTL] does, and bounds the age of what they are served to
// p.TTL in the same way. With ModeOff it does what [WithoutCache] does. Under a
// policy that makes no sense reads go to the server, which is logged.
func WithPolicy(ctx context.Context, p Policy) context.Context {
	return withWish(ctx, func(w *wish) {
		w.policy, w.marked = p.over(w.policy), true
		w.invalid = p.check()
		w.bypass = w.bypass || p.Mode == ModeOff
	})
}

// WithTags gives a context whose reads are kept under tags, beside those that
// it has: [Cache.InvalidateTags] drops them. Reads with different tags share
// no entries. A tag is any string that isn't empty.
func WithTags(ctx context.Context, tags ...string) context.Context {
	return withWish(ctx, func(w *wish) { w.tags = joinTags(w.tags, tags) })
}

// joinTags gives the tags of both, sorted, each once.
func joinTags(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 0 && all[0] == "" {
		all = all[1:]
	}
	return all
}
