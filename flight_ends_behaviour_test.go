package cachedpgx_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// How long a flight is joined, and how long it goes on. Fault kind 13.

func TestStallAfter(t *testing.T) {
	for _, winner := range []int{1, 2} {
		t.Run(fmt.Sprintf("load %d ends first", winner), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, gates := gated(t, 2)
				cfg := quiet()
				cfg.StallAfter = 5 * time.Second
				db, _ := openFake(t, f, cfg)
				a := ask(long(t.Context()), db, 1)
				time.Sleep(4 * time.Second)
				b := ask(long(t.Context()), db, 1)
				synctest.Wait()
				wantCalls(t, f, product, 1)
				time.Sleep(1100 * time.Millisecond)
				wantCalls(t, f, product, 1) // nobody asks: nothing is started
				c := ask(long(t.Context()), db, 1)
				synctest.Wait()
				wantCalls(t, f, product, 2)
				d := ask(long(t.Context()), db, 1)
				synctest.Wait()
				wantCalls(t, f, product, 2)

				close(gates[winner-1])
				for i, r := range []<-chan answer{a, b} {
					select {
					case got := <-r:
						if got.err != nil || got.v != winner {
							t.Errorf("earlier waiter %d: %+v", i, got)
						}
					case <-time.After(time.Second):
						t.Fatalf("earlier waiter %d does not take load %d", i, winner)
					}
				}
				if winner == 1 {
					close(gates[1])
				}
				for i, r := range []<-chan answer{c, d} {
					if got := <-r; got.err != nil {
						t.Errorf("later waiter %d: %+v", i, got)
					}
				}
				if winner == 2 {
					close(gates[0])
					synctest.Wait()
					// What started earlier does not replace what started later.
					if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
						t.Errorf("afterwards: %d", got)
					}
				}
				wantCalls(t, f, product, 2)
			})
		})
	}
}

// Once older than the life its result would have, a flight takes no more
// waiters, even before StallAfter.
func TestFlightOlderThanItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gates := gated(t, 1)
		db, _ := openFake(t, f, quiet())
		ctx := cachedpgx.WithTTL(t.Context(), 2*time.Second)
		a := ask(ctx, db, 1)
		time.Sleep(2*time.Second + time.Millisecond)
		if got := <-ask(ctx, db, 1); got.err != nil || got.v != 2 {
			t.Errorf("the next caller: %+v", got)
		}
		close(gates[0])
		if got := <-a; got.err != nil {
			t.Errorf("the first caller: %+v", got)
		}
	})
}

// A caller with a shorter WithTTL does not take what began before its bound.
func TestFlightOlderThanTheCallersBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gates := gated(t, 1)
		db, _ := openFake(t, f, quiet())
		a := ask(long(t.Context()), db, 1)
		time.Sleep(3 * time.Second)
		if got := <-ask(cachedpgx.WithTTL(t.Context(), 2*time.Second), db, 1); got.err != nil || got.v != 2 {
			t.Errorf("rows of 3 s ago for one who takes 2 s: %+v", got)
		}
		close(gates[0])
		<-a
	})
}

// A load that nobody waits for goes on for a second, so that callers with short
// deadlines still fill the cache; then it is cancelled.
func TestLinger(t *testing.T) {
	t.Run("fills", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, gates := gated(t, 1)
			db, _ := openFake(t, f, quiet())
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if a := <-ask(long(ctx), db, 1); !errors.Is(a.err, context.DeadlineExceeded) {
				t.Errorf("got %+v", a)
			}
			time.Sleep(900 * time.Millisecond)
			close(gates[0])
			synctest.Wait()
			if got := readInt(t, long(t.Context()), db, product, 1); got != 1 {
				t.Errorf("got %d", got)
			}
			wantCalls(t, f, product, 1)
		})
	})
	t.Run("is joined", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, gates := gated(t, 1)
			db, _ := openFake(t, f, quiet())
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			<-ask(long(ctx), db, 1)
			time.Sleep(900 * time.Millisecond)
			next := ask(long(t.Context()), db, 1)
			time.Sleep(10 * time.Second) // somebody waits: it goes on
			close(gates[0])
			if a := <-next; a.err != nil || a.v != 1 {
				t.Errorf("got %+v", a)
			}
			wantCalls(t, f, product, 1)
		})
	})
	t.Run("ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ended atomic.Pointer[time.Time]
			f := newFake(t, func(ctx context.Context, c call) reply {
				if c.nth == 1 {
					<-ctx.Done()
					now := time.Now()
					ended.Store(&now)
					return reply{err: ctx.Err()}
				}
				return value(int64(c.nth))
			})
			db, c := openFake(t, f, quiet())
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			<-ask(long(ctx), db, 1)
			left := time.Now()
			time.Sleep(5 * time.Second)
			end := ended.Load()
			if end == nil {
				t.Fatal("it is never cancelled")
			}
			if d := end.Sub(left); d < 900*time.Millisecond || d > 1100*time.Millisecond {
				t.Errorf("it went on for %v", d)
			}
			if s := c.Stats(); s.Loading != 0 {
				t.Errorf("%d loads are counted as under way", s.Loading)
			}
			if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
				t.Errorf("afterwards: %d", got)
			}
		})
	})
}

// A load has its leader's values, and not its deadline.
func TestLoadKeepsTheLeadersValues(t *testing.T) {
	type span struct{}
	f := newFake(t, func(ctx context.Context, c call) reply {
		v, _ := ctx.Value(span{}).(int64)
		return value(v)
	})
	db, _ := openFake(t, f, quiet())
	ctx := context.WithValue(long(t.Context()), span{}, int64(42))
	if got := readInt(t, ctx, db, product, 1); got != 42 {
		t.Errorf("got %d", got)
	}
}

func TestLoadLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		f := newFake(t, func(ctx context.Context, c call) reply { <-gate; return value(int64(1)) })
		cfg := quiet()
		cfg.LoadLimit = 3
		db, c := openFake(t, f, cfg)
		var readers []<-chan answer
		for key := range 20 {
			readers = append(readers, ask(long(t.Context()), db, key))
		}
		synctest.Wait()
		if n := f.count(product); n != 3 {
			t.Errorf("%d loads run, want 3", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a := <-ask(long(ctx), db, 1000); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("who waits for a turn is bound by their context: %+v", a)
		}
		close(gate)
		for _, r := range readers {
			if a := <-r; a.err != nil {
				t.Errorf("got %+v", a)
			}
		}
		if f.peak() != 3 || c.Stats().LoadingPeak != 3 {
			t.Errorf("peaks: %d at the server, %d counted", f.peak(), c.Stats().LoadingPeak)
		}
	})
}
