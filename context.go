package cachedpgx

import (
	"context"
	"time"
)

// wish is what one call asks of the cache. It rides in the call's context.
type wish struct {
	bypass  bool          // neither served nor stored
	refresh bool          // not served, stored
	ttl     time.Duration // 0: unset; set, it marks the read
}

type wishKey struct{}

func wishOf(ctx context.Context) wish {
	if w, ok := ctx.Value(wishKey{}).(*wish); ok {
		return *w
	}
	return wish{}
}

func withWish(ctx context.Context, change func(*wish)) context.Context {
	w := wishOf(ctx)
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
// cached. With a d of zero or less it does what [WithoutCache] does.
func WithTTL(ctx context.Context, d time.Duration) context.Context {
	if d <= 0 {
		return WithoutCache(ctx)
	}
	return withWish(ctx, func(w *wish) { w.ttl = d })
}
