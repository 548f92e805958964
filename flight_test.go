package cachedpgx

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func testFlights(t *testing.T, stall time.Duration) (*flights[int], *tasks) {
	t.Helper()
	ts := newTasks()
	t.Cleanup(ts.close)
	return newFlights(flightRules[int]{linger: time.Second, stallAfter: stall, tasks: ts}), ts
}

// A stalled flight is succeeded, and its earlier waiters take what the
// successor brings.
func TestStalledFlightIsSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, ts := testFlights(t, time.Minute)
		defer ts.close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stuck := func(ctx context.Context) (int, error) { <-ctx.Done(); return 1, ctx.Err() }
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if v, p, err := g.do(ctx, request[int]{key: "k", load: stuck}); v != 2 || err != nil || p != partFollower {
					t.Errorf("an earlier waiter got %d, %v, part %d", v, err, p)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		v, p, err := g.do(ctx, request[int]{key: "k", load: func(context.Context) (int, error) { return 2, nil }})
		if v != 2 || err != nil || p != partLeader {
			t.Errorf("the successor got %d, %v, part %d", v, err, p)
		}
		wg.Wait()
	})
}

// The earlier waiters hold the successor: it goes on when its own caller leaves.
func TestSuccessorOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, ts := testFlights(t, time.Minute)
		defer ts.close()
		early, cancelEarly := context.WithCancel(t.Context())
		defer cancelEarly()
		release := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			v, _, err := g.do(early, request[int]{key: "k", load: func(ctx context.Context) (int, error) { <-ctx.Done(); return 1, ctx.Err() }})
			if v != 2 || err != nil {
				t.Errorf("the earlier waiter got %d, %v", v, err)
			}
		})
		synctest.Wait()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, p, err := g.do(ctx, request[int]{key: "k", load: func(ctx context.Context) (int, error) {
			select {
			case <-release:
				return 2, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}})
		if !errors.Is(err, context.DeadlineExceeded) || p != partNone {
			t.Errorf("who left got %v, part %d", err, p)
		}
		time.Sleep(10 * time.Second)
		close(release)
		wg.Wait()
	})
}

// A load that nobody waits for goes on for the linger time; who comes in it
// joins, and it is not cancelled under them.
func TestLingeringFlightIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, ts := testFlights(t, 0)
		defer ts.close()
		release := make(chan struct{})
		load := func(ctx context.Context) (int, error) {
			select {
			case <-release:
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, p, err := g.do(ctx, request[int]{key: "k", load: load}); p != partNone || err == nil {
			t.Fatalf("the leader did not leave: %v", err)
		}
		time.Sleep(900 * time.Millisecond)
		var wg sync.WaitGroup
		wg.Go(func() {
			v, p, err := g.do(t.Context(), request[int]{key: "k", load: load})
			if v != 7 || err != nil || p != partFollower {
				t.Errorf("got %d, %v, part %d", v, err, p)
			}
		})
		time.Sleep(10 * time.Second)
		close(release)
		wg.Wait()
	})
}

// Nobody joins a flight of an earlier stamp, one older than the life they
// allow, or any, if they ask alone.
func TestWhoJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, ts := testFlights(t, 0)
		defer ts.close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stuck := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		go g.do(ctx, request[int]{key: "k", stamp: 1, load: stuck})
		synctest.Wait()
		time.Sleep(time.Second)
		quick := func(context.Context) (int, error) { return 5, nil }
		for name, r := range map[string]request[int]{
			"later stamp": {key: "k", stamp: 2, load: quick},
			"older":       {key: "k", stamp: 1, life: time.Second, load: quick},
			"alone":       {key: "k", stamp: 1, alone: true, load: quick},
			"other key":   {key: "l", stamp: 1, load: quick},
		} {
			if v, p, err := g.do(ctx, r); v != 5 || err != nil || p != partLeader {
				t.Errorf("%s: got %d, %v, part %d", name, v, err, p)
			}
		}
	})
}

// A flight that dies strands nobody: its leader gets the panic, or ends with
// its Goexit; the others load again.
func TestDeadFlightStrandsNobody(t *testing.T) {
	for _, how := range []string{"panic", "goexit"} {
		for _, cancellable := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				g, ts := testFlights(t, 0)
				defer ts.close()
				ctx := context.Background()
				if cancellable {
					c, cancel := context.WithCancel(ctx)
					defer cancel()
					ctx = c
				}
				die := make(chan struct{})
				var leader sync.WaitGroup
				var caught any
				returned := false
				leader.Go(func() {
					defer func() { caught = recover() }()
					g.do(ctx, request[int]{key: "k", load: func(context.Context) (int, error) {
						<-die
						if how == "panic" {
							panic("boom")
						}
						runtime.Goexit()
						return 0, nil
					}})
					returned = true
				})
				synctest.Wait()
				var others sync.WaitGroup
				for range 5 {
					others.Go(func() {
						v, _, err := g.do(t.Context(), request[int]{key: "k", load: func(context.Context) (int, error) { return 3, nil }})
						if v != 3 || err != nil {
							t.Errorf("%s: a follower got %d, %v", how, v, err)
						}
					})
				}
				synctest.Wait()
				close(die)
				leader.Wait()
				others.Wait()
				if returned || (how == "panic") != (caught == "boom") {
					t.Errorf("%s (cancellable %v): the leader returned %v, caught %v", how, cancellable, returned, caught)
				}
			})
		}
	}
}

// What lands when its leader has left goes to nobody, and is told so once.
func TestOrphanedValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTasks()
		defer ts.close()
		orphans := 0
		g := newFlights(flightRules[int]{linger: time.Minute, tasks: ts, orphaned: func(int) { orphans++ }})
		release := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g.do(ctx, request[int]{key: "k", load: func(context.Context) (int, error) { <-release; return 1, nil }})
		close(release)
		synctest.Wait()
		if orphans != 1 {
			t.Errorf("told %d times", orphans)
		}
		if _, p, _ := g.do(t.Context(), request[int]{key: "k", load: func(context.Context) (int, error) { return 1, nil }}); p != partLeader || orphans != 1 {
			t.Errorf("part %d, told %d times", p, orphans)
		}
	})
}

// Close cancels what runs and waits for it; nothing starts after it.
func TestTasksClose(t *testing.T) {
	g, ts := testFlights(t, 0)
	started := make(chan struct{})
	ended := false
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go g.do(ctx, request[int]{key: "k", load: func(ctx context.Context) (int, error) {
		close(started)
		<-ctx.Done()
		ended = true
		return 0, ctx.Err()
	}})
	<-started
	ts.close()
	if !ended {
		t.Error("close did not wait for the load")
	}
	if _, _, err := g.do(ctx, request[int]{key: "k", load: func(context.Context) (int, error) { return 1, nil }}); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}
