package cachedpgx_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Promise 6: one load per key; nobody's cancellation, panic or time-out is
// another's error. Fault kind 13.

// answer is what one reader got.
type answer struct {
	v   int
	err error
}

// ask starts a reader, and gives its answer.
func ask(ctx context.Context, db queryer, args ...any) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		var a answer
		a.err = db.QueryRowContext(ctx, product, args...).Scan(&a.v)
		out <- a
	}()
	return out
}

// gated is a server whose first calls wait: call n does until gates[n-1] is
// closed, or its context ends.
func gated(tb testing.TB, n int) (*fakeServer, []chan struct{}) {
	gates := make([]chan struct{}, n)
	for i := range gates {
		gates[i] = make(chan struct{})
	}
	return newFake(tb, func(ctx context.Context, c call) reply {
		if c.nth <= n {
			select {
			case <-gates[c.nth-1]:
			case <-ctx.Done():
				return reply{err: ctx.Err()}
			}
		}
		return value(int64(c.nth))
	}), gates
}

func TestStormOnOneColdKey(t *testing.T) {
	for name, ctxOf := range map[string]func(*testing.T) context.Context{
		"cancellable": func(t *testing.T) context.Context { return long(t.Context()) },
		"background":  func(*testing.T) context.Context { return long(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, gates := gated(t, 1)
				db, c := openFake(t, f, quiet())
				var readers []<-chan answer
				for range 500 {
					readers = append(readers, ask(ctxOf(t), db, 1))
				}
				synctest.Wait()
				if s := c.Stats(); s.Loading != 1 {
					t.Errorf("%d loads under way", s.Loading)
				}
				close(gates[0])
				for _, r := range readers {
					if a := <-r; a.err != nil || a.v != 1 {
						t.Fatalf("got %+v", a)
					}
				}
				wantCalls(t, f, product, 1)
				s := c.Stats()
				if s.Misses != 500 || s.Coalesced != 499 || s.Loads != 1 || s.Loading != 0 || s.LoadingPeak != 1 {
					t.Errorf("stats %+v", s)
				}
				if f.dials() > 1 {
					t.Errorf("%d server connections for one load", f.dials())
				}
			})
		})
	}
}

// The same without a made-up clock, so that the scheduler has its say: a reader
// that finds nothing kept may be about to join just when the load lands.
func TestStormInRealTime(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply { return value(int64(c.nth)) })
	db, _ := openFake(t, f, quiet())
	db.SetMaxIdleConns(64)
	const keys, readers = 1000, 16
	for key := range keys {
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range readers {
			wg.Go(func() {
				<-start
				for range i * 20 { // not all at once
					runtime.Gosched()
				}
				var v int
				if err := db.QueryRowContext(long(context.Background()), product, key).Scan(&v); err != nil || v != key+1 {
					t.Errorf("key %d: %d, %v", key, v, err)
				}
			})
		}
		close(start)
		wg.Wait()
		wantCalls(t, f, product, key+1)
	}
}

func TestLeaderCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gates := gated(t, 1)
		db, _ := openFake(t, f, quiet())
		ctx, cancel := context.WithCancel(t.Context())
		leader := ask(long(ctx), db, 1)
		synctest.Wait()
		var followers []<-chan answer
		for range 10 {
			followers = append(followers, ask(long(t.Context()), db, 1))
		}
		synctest.Wait()
		cancel()
		if a := <-leader; !errors.Is(a.err, context.Canceled) {
			t.Errorf("leader: %+v", a)
		}
		time.Sleep(5 * time.Second) // long after what nobody waits for would end
		close(gates[0])
		for _, r := range followers {
			if a := <-r; a.err != nil || a.v != 1 {
				t.Fatalf("follower: %+v", a)
			}
		}
		wantCalls(t, f, product, 1)
	})
}

func TestLeaderTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gates := gated(t, 1)
		db, _ := openFake(t, f, quiet())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		leader := ask(long(ctx), db, 1)
		synctest.Wait()
		follower := ask(long(t.Context()), db, 1)
		if a := <-leader; !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("leader: %+v", a)
		}
		time.Sleep(5 * time.Second)
		close(gates[0])
		if a := <-follower; a.err != nil || a.v != 1 {
			t.Errorf("follower: %+v", a)
		}
	})
}

func TestFollowerCancelled(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprintf("background leader=%t", background), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, gates := gated(t, 1)
				db, _ := openFake(t, f, quiet())
				leaderCtx := t.Context()
				if background {
					leaderCtx = context.Background()
				}
				leader := ask(long(leaderCtx), db, 1)
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				follower := ask(long(ctx), db, 1)
				synctest.Wait()
				cancel()
				select {
				case a := <-follower:
					if !errors.Is(a.err, context.Canceled) {
						t.Errorf("follower: %+v", a)
					}
				case <-time.After(time.Minute):
					t.Error("the follower can't leave")
				}
				close(gates[0])
				if a := <-leader; a.err != nil || a.v != 1 {
					t.Errorf("leader: %+v", a)
				}
				wantCalls(t, f, product, 1)
			})
		})
	}
}

func TestContextThatHasEnded(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	ctx, cancel := context.WithCancel(long(t.Context()))
	cancel()
	var v int
	if err := db.QueryRowContext(ctx, product, 1).Scan(&v); !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v", v, err)
	}
	wantCalls(t, f, product, 0)
}

// A load that dies must strand nobody: its followers get rows by another load.
func TestLoadThatDies(t *testing.T) {
	dies := map[string]func(){
		"panic":  func() { panic("a driver's fault") },
		"goexit": runtime.Goexit,
	}
	for name, die := range dies {
		for _, background := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, background leader=%t", name, background), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gate := make(chan struct{})
					f := newFake(t, func(_ context.Context, c call) reply {
						if c.nth == 1 {
							<-gate
							die()
						}
						return value(int64(c.nth))
					})
					db, c := openFake(t, f, quiet())
					leaderCtx := t.Context()
					if background {
						leaderCtx = context.Background()
					}
					leaderDone := make(chan string, 1)
					go func() {
						end := "goexit"
						defer func() {
							if p := recover(); p != nil {
								end = fmt.Sprintf("panic %v", p)
							}
							leaderDone <- end
						}()
						var v int
						err := db.QueryRowContext(long(leaderCtx), product, 1).Scan(&v)
						end = fmt.Sprintf("%d, %v", v, err)
					}()
					synctest.Wait()
					var followers []<-chan answer
					for range 20 {
						followers = append(followers, ask(long(t.Context()), db, 1))
					}
					synctest.Wait()
					close(gate)
					select {
					case end := <-leaderDone:
						t.Logf("the leader ended with: %s", end)
					case <-time.After(time.Hour):
						t.Fatal("the leader is stranded")
					}
					for _, r := range followers {
						select {
						case a := <-r:
							if a.err != nil || a.v != 2 {
								t.Errorf("follower: %+v", a)
							}
						case <-time.After(time.Hour):
							t.Fatal("a follower is stranded")
						}
					}
					if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
						t.Errorf("afterwards: %d", got)
					}
					if s := c.Stats(); s.Loading != 0 {
						t.Errorf("%d loads are counted as under way", s.Loading)
					}
				})
			})
		}
	}
}

func TestLoadErrorReachesAllAndIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, oops := make(chan struct{}), errors.New("the server's own words")
		f := newFake(t, func(_ context.Context, c call) reply {
			if c.nth == 1 {
				<-gate
				return reply{err: oops}
			}
			return value(int64(c.nth))
		})
		db, c := openFake(t, f, quiet())
		var readers []<-chan answer
		for range 20 {
			readers = append(readers, ask(long(t.Context()), db, 1))
		}
		synctest.Wait()
		close(gate)
		for _, r := range readers {
			if a := <-r; a.err != oops {
				t.Errorf("got %+v, want the very error", a)
			}
		}
		wantCalls(t, f, product, 1)
		if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
			t.Errorf("afterwards: %d", got)
		}
		if s := c.Stats(); s.LoadErrors != 1 || s.Loads != 2 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestLoadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := gated(t, 1)
		cfg := quiet()
		cfg.LoadTimeout = 3 * time.Second
		db, _ := openFake(t, f, cfg)
		start := time.Now()
		readers := []<-chan answer{ask(long(t.Context()), db, 1), ask(long(context.Background()), db, 1)}
		for _, r := range readers {
			a := <-r
			if !errors.Is(a.err, context.DeadlineExceeded) {
				t.Fatalf("got %+v, want DeadlineExceeded", a)
			}
			if !strings.HasPrefix(a.err.Error(), "cachedpgx: ") || !strings.Contains(strings.ToLower(a.err.Error()), "load") {
				t.Errorf("the error does not say what has timed out: %v", a.err)
			}
		}
		if d := time.Since(start); d != cfg.LoadTimeout {
			t.Errorf("it took %v", d)
		}
		if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
			t.Errorf("afterwards: %d", got)
		}
	})
}

// A leader with a Background context is bounded by LoadTimeout as well.
func TestLoadTimeoutInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := gated(t, 1)
		cfg := quiet()
		cfg.LoadTimeout = 3 * time.Second
		db, _ := openFake(t, f, cfg)
		start := time.Now()
		a := <-ask(long(context.Background()), db, 1)
		if !errors.Is(a.err, context.DeadlineExceeded) || time.Since(start) != cfg.LoadTimeout {
			t.Errorf("got %+v after %v", a, time.Since(start))
		}
	})
}
