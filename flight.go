package cachedpgx

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// flights does turn-taking: callers that ask for one key at the same time
// share one load. Nothing here knows what is loaded.
//
// What becomes of a caller, by number:
//
//  1. It joins a flight that is under way, and takes what that brings.
//  2. It leads: no flight was there, or none that it may join (the ledger has
//     moved since, it has stalled, it is older than the life of its result).
//  3. Its own context ends first: it leaves, and the flight goes on for others,
//     and for the linger time when nobody is left.
//  4. The flight dies (its load panicked or called Goexit): its leader gets the
//     panic, and every other waiter starts again at 1.
//
// A leader whose context can't end runs the load itself; any other hands it to
// a goroutine, so that its leaving stops nobody. A stalled flight is succeeded:
// the next caller starts another, and the earlier waiters take whichever ends
// first.
//
//	waiter A            waiter B            flight 1            flight 2
//	leads 1             joins 1             stalls
//	                    C comes, leads 2                        starts
//	                                                            lands
//	                                        lands what 2 brought
//	takes it            takes it
type flights[V any] struct {
	hash   hasher
	shards [64]flightShard[V]
	rules  flightRules[V]
}

type flightShard[V any] struct {
	sync.Mutex
	byKey map[string]*flight[V]
}

// flightRules is what the owner of the flights decides.
type flightRules[V any] struct {
	linger     time.Duration // how long a load goes on when nobody waits
	stallAfter time.Duration // when a flight takes no more waiters; 0: never
	tasks      *tasks        // owns the goroutines; its end cancels every load
	orphaned   func(V)       // takes what landed when its leader had left; may be nil
	lost       func(panicked any)
}

type flight[V any] struct {
	key     string
	stamp   stamp
	started time.Time
	cancel  context.CancelFunc // nil while the leader runs it inline
	done    chan struct{}      // closed when landed

	// Guarded by the shard's lock until done is closed, immutable then, but
	// for leaderGone.
	value      V
	err        error
	end        flightEnd
	panicked   any
	waiters    int
	idle       *time.Timer
	abandoned  bool
	leaderGone bool
	next       *flight[V] // the successor of a stalled flight
	prev       *flight[V]
}

// flightEnd says how a flight ended.
type flightEnd uint8

const (
	endNone      flightEnd = iota // under way
	endLanded                     // its load returned
	endSucceeded                  // its successor's did
	endPanicked
	endGoexit
)

// part says what a caller had in the flight that answered it.
type part uint8

const (
	partNone     part = iota // left before it ended
	partLeader               // the value is its own
	partFollower             // the value is shared
	partAgain                // the flight died: start over
)

func newFlights[V any](rules flightRules[V]) *flights[V] {
	g := &flights[V]{hash: newHasher(), rules: rules}
	for i := range g.shards {
		g.shards[i].byKey = map[string]*flight[V]{}
	}
	return g
}

// request is one caller's question.
type request[V any] struct {
	key   string
	stamp stamp
	life  time.Duration // that the caller allows the result; it joins no flight older than that. 0: any
	alone bool          // joins nobody: WithRefresh
	load  func(ctx context.Context) (V, error)
}

// do answers a request by a load, its own or another's.
func (g *flights[V]) do(ctx context.Context, r request[V]) (V, part, error) {
	for {
		f, p := g.join(ctx, r)
		if p == partLeader {
			if ctx.Done() == nil {
				return g.runInline(ctx, f, r.load)
			}
			g.runDetached(ctx, f, r.load)
		}
		if v, p, err := g.wait(ctx, f, p); p != partAgain {
			return v, p, err
		}
	}
}

func (g *flights[V]) shard(key string) *flightShard[V] {
	return &g.shards[g.hash.of(key)%uint64(len(g.shards))]
}

// join finds a flight that the caller may join, or puts a new one in its place.
func (g *flights[V]) join(ctx context.Context, r request[V]) (*flight[V], part) {
	s := g.shard(r.key)
	now := time.Now()
	s.Lock()
	defer s.Unlock()
	old := s.byKey[r.key]
	stalled := old != nil && g.rules.stallAfter > 0 && now.Sub(old.started) >= g.rules.stallAfter
	if old != nil && !r.alone && !stalled && !old.abandoned && old.stamp == r.stamp &&
		(r.life == 0 || now.Sub(old.started) < r.life) {
		old.waiters++
		if old.idle != nil {
			old.idle.Stop()
			old.idle = nil
		}
		return old, partFollower
	}
	f := &flight[V]{key: r.key, stamp: r.stamp, started: now, done: make(chan struct{}), waiters: 1}
	if stalled && !r.alone && old.stamp == r.stamp && old.waiters > 0 && old.next == nil {
		old.next, f.prev = f, old
		f.waiters++ // the earlier waiters hold it, too
	}
	s.byKey[r.key] = f
	return f, partLeader
}

// runInline loads in the caller's own goroutine. A panic, or Goexit, goes on
// through the caller once its followers have been told.
func (g *flights[V]) runInline(ctx context.Context, f *flight[V], load func(context.Context) (V, error)) (v V, p part, err error) {
	end := endGoexit
	var panicked any
	defer func() {
		if end == endGoexit {
			if panicked = recover(); panicked != nil {
				end = endPanicked
			}
		}
		g.land(f, v, err, end, panicked)
		if end == endPanicked {
			panic(panicked)
		}
	}()
	v, err = load(ctx)
	end = endLanded
	return v, partLeader, err
}

// runDetached loads in a goroutine of its own, under the leader's values but
// not its end.
func (g *flights[V]) runDetached(ctx context.Context, f *flight[V], load func(context.Context) (V, error)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := g.shard(f.key)
	s.Lock()
	f.cancel = cancel
	s.Unlock()
	var v V
	err := g.rules.tasks.start(func(closing context.Context) {
		unlink := context.AfterFunc(closing, cancel)
		defer unlink()
		end := endGoexit
		var err error
		defer func() {
			var panicked any
			if end == endGoexit {
				if panicked = recover(); panicked != nil {
					end = endPanicked
				}
			}
			g.land(f, v, err, end, panicked)
		}()
		v, err = load(ctx)
		end = endLanded
	})
	if err != nil {
		cancel()
		g.land(f, v, err, endLanded, nil)
	}
}

// land ends a flight. What its successor brought first stands.
func (g *flights[V]) land(f *flight[V], v V, err error, end flightEnd, panicked any) {
	s := g.shard(f.key)
	s.Lock()
	if s.byKey[f.key] == f {
		delete(s.byKey, f.key)
	}
	if f.idle != nil {
		f.idle.Stop()
		f.idle = nil
	}
	orphan, unheard := false, false
	if f.end == endNone {
		f.value, f.err, f.end, f.panicked = v, err, end, panicked
		close(f.done)
		orphan = end == endLanded && f.leaderGone
		unheard = (end == endPanicked || end == endGoexit) && f.leaderGone
	} else if f.cancel != nil {
		// The leader took what the successor brought. (One that runs inline
		// takes its own.)
		orphan = end == endLanded
		unheard = end == endPanicked
	}
	prev := f.prev
	f.prev = nil
	if prev != nil && prev.end == endNone && end == endLanded {
		prev.value, prev.err, prev.end = v, err, endSucceeded
		close(prev.done)
		if prev.cancel != nil {
			prev.cancel()
		}
	}
	next := f.next
	f.next = nil
	s.Unlock()
	if orphan && g.rules.orphaned != nil {
		g.rules.orphaned(v)
	}
	if unheard && g.rules.lost != nil {
		g.rules.lost(panicked)
	}
	if next != nil {
		g.leave(next, partFollower) // the earlier waiters no longer hold it
	}
}

// wait takes what a flight brings, or leaves when ctx ends.
func (g *flights[V]) wait(ctx context.Context, f *flight[V], p part) (v V, as part, err error) {
	select {
	case <-f.done:
	default:
		select {
		case <-f.done:
		case <-ctx.Done():
			g.leave(f, p)
			return v, partNone, ctx.Err()
		}
	}
	switch f.end {
	case endLanded:
		return f.value, p, f.err
	case endSucceeded:
		return f.value, partFollower, f.err
	case endPanicked:
		if p == partLeader {
			panic(f.panicked)
		}
	case endGoexit:
		if p == partLeader {
			runtime.Goexit()
		}
	}
	return v, partAgain, nil
}

// leave takes a waiter out of a flight. When nobody is left, the load goes on
// for the linger time, so that callers with short deadlines still fill the
// cache, and is then cancelled.
func (g *flights[V]) leave(f *flight[V], p part) {
	s := g.shard(f.key)
	s.Lock()
	f.waiters--
	landed := f.end != endNone
	orphan := p == partLeader && f.end == endLanded
	if p == partLeader {
		f.leaderGone = true
	}
	var next *flight[V]
	if !landed && f.waiters == 0 {
		next, f.next = f.next, nil
		if next != nil {
			next.prev = nil
		}
		if f.idle == nil && f.cancel != nil {
			f.idle = time.AfterFunc(g.rules.linger, func() { g.abandon(f) })
		}
	}
	s.Unlock()
	if orphan && g.rules.orphaned != nil {
		g.rules.orphaned(f.value)
	}
	if next != nil {
		g.leave(next, partFollower)
	}
}

// abandon cancels a load that nobody waits for. One that somebody joined
// meanwhile goes on.
func (g *flights[V]) abandon(f *flight[V]) {
	s := g.shard(f.key)
	s.Lock()
	gone := f.waiters == 0 && f.end == endNone
	if gone {
		f.abandoned = true
		if s.byKey[f.key] == f {
			delete(s.byKey, f.key)
		}
	}
	s.Unlock()
	if gone {
		f.cancel()
	}
}

// tasks owns the goroutines of a cache: none starts once close has begun, and
// close waits for all of them.
type tasks struct {
	closing context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		closed bool
	}
}

func newTasks() *tasks {
	t := &tasks{}
	t.closing, t.cancel = context.WithCancel(context.Background())
	return t
}

// start runs f in a goroutine; f must end soon after closing does. The error is
// ErrClosed.
func (t *tasks) start(f func(closing context.Context)) error {
	t.mu.Lock()
	if t.mu.closed {
		t.mu.Unlock()
		return ErrClosed
	}
	t.running.Add(1)
	t.mu.Unlock()
	go func() {
		defer t.running.Done()
		f(t.closing)
	}()
	return nil
}

func (t *tasks) close() {
	t.mu.Lock()
	t.mu.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
}
