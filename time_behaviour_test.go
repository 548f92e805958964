package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// Promise 4: rows are served for at most the TTL, counted from the start of the
// load; jitter only shortens.

const tick = time.Millisecond

func TestTTLCountsFromTheStartOfTheLoad(t *testing.T) {
	for name, mark := range map[string]func(context.Context) context.Context{
		"TTL of the context": func(ctx context.Context) context.Context { return cachedpgx.WithTTL(ctx, 10*time.Second) },
		"TTL of the hint":    func(ctx context.Context) context.Context { return ctx },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const text = "/* cachedpgx: ttl=10s */ " + product
				f := newFake(t, func(_ context.Context, c call) reply {
					time.Sleep(3 * time.Second)
					return value(int64(c.nth))
				})
				db, _ := openFake(t, f, quiet())
				start := time.Now()
				readInt(t, mark(t.Context()), db, text, 1)
				time.Sleep(time.Until(start.Add(10*time.Second - tick)))
				if got := readInt(t, mark(t.Context()), db, text, 1); got != 1 {
					t.Errorf("within its life it was asked again")
				}
				time.Sleep(time.Until(start.Add(10*time.Second + tick)))
				if got := readInt(t, mark(t.Context()), db, text, 1); got != 2 {
					t.Errorf("it was served for longer than its TTL")
				}
			})
		})
	}
}

// A hit does not lengthen a life.
func TestHitsDoNotLengthenALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, nil)
		db, _ := openFake(t, f, quiet())
		ctx := cachedpgx.WithTTL(t.Context(), 10*time.Second)
		start := time.Now()
		for time.Since(start) < 10*time.Second {
			if got := readInt(t, ctx, db, product, 1); got != 1 {
				t.Fatalf("asked again after %v", time.Since(start))
			}
			time.Sleep(500*time.Millisecond - tick/1000)
		}
		time.Sleep(tick)
		if got := readInt(t, ctx, db, product, 1); got != 2 {
			t.Errorf("hits keep an entry alive: %v", time.Since(start))
		}
	})
}

func TestJitterOnlyShortens(t *testing.T) {
	for _, jitter := range []float64{0 /* the default, 0.1 */, 0.5, 1, cachedpgx.Off} {
		t.Run(fmt.Sprint(jitter), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const keys, ttl = 300, 10 * time.Second
				share := jitter
				switch jitter {
				case 0:
					share = 0.1
				case cachedpgx.Off:
					share = 0
				}
				f := newFake(t, nil)
				cfg := quiet()
				cfg.Policy.Jitter = jitter
				db, c := openFake(t, f, cfg)
				ctx := cachedpgx.WithTTL(t.Context(), ttl)
				start := time.Now()
				for key := range keys {
					readInt(t, ctx, db, product, key)
				}
				// served counts who is still served from memory at a time.
				// WithoutCache would not tell, and a miss would fill again, so
				// each key is asked at one of the three times alone.
				served := func(at time.Duration, from, to int) int {
					time.Sleep(time.Until(start.Add(at)))
					before := c.Stats().Hits
					for key := from; key < to; key++ {
						readInt(t, ctx, db, product, key)
					}
					return int(c.Stats().Hits - before)
				}
				least := time.Duration(float64(ttl) * (1 - share))
				if n := served(least-tick, 0, 100); n != 100 && share < 1 {
					t.Errorf("before the shortest life %d of 100 are served", n)
				}
				if n := served(least+(ttl-least)/2, 100, 200); share > 0 && (n < 20 || n > 80) {
					t.Errorf("in the middle %d of 100 are served: lives are not spread", n)
				} else if share == 0 {
					// least is ttl: nothing to see in the middle.
					_ = n
				}
				if n := served(ttl+tick, 200, 300); n != 0 {
					t.Errorf("after the longest life %d of 100 are served", n)
				}
			})
		})
	}
}

func TestWithTTLTakesOnlyWhatIsYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, nil)
		db, _ := openFake(t, f, quiet())
		read := func(d time.Duration) int { return readInt(t, cachedpgx.WithTTL(t.Context(), d), db, product, 1) }
		read(30 * time.Second)
		time.Sleep(5 * time.Second)
		if got := read(10 * time.Second); got != 1 {
			t.Errorf("rows of 5 s ago for one who takes 10 s were asked again")
		}
		if got := read(5*time.Second + tick); got != 1 {
			t.Errorf("rows of 5 s ago for one who takes a little more were asked again")
		}
		if got := read(3 * time.Second); got != 2 {
			t.Errorf("rows of 5 s ago for one who takes 3 s")
		}
		// What was loaded with 3 s lives for 3 s, whoever asks.
		if got := read(30 * time.Second); got != 2 {
			t.Errorf("asked again at once")
		}
		time.Sleep(3*time.Second + tick)
		if got := read(30 * time.Second); got != 3 {
			t.Errorf("a life of 3 s was served after it")
		}
		for _, d := range []time.Duration{0, -time.Second} {
			before := f.count(product)
			read(d)
			read(d)
			if n := f.count(product) - before; n != 2 {
				t.Errorf("WithTTL(%v) does what WithoutCache does: %d calls for 2 reads", d, n)
			}
		}
		if got := read(30 * time.Second); got != 3 {
			t.Errorf("WithTTL(0) stored or dropped: %d", got)
		}
	})
}

func negatives(t *testing.T) map[string]*fakeServer {
	return map[string]*fakeServer{
		"empty result":        newFake(t, func(context.Context, call) reply { return empty() }),
		"ErrNoRows":           newFake(t, func(context.Context, call) reply { return reply{err: sql.ErrNoRows} }),
		"a wrapped ErrNoRows": newFake(t, func(context.Context, call) reply { return reply{err: fmt.Errorf("inner: %w", sql.ErrNoRows)} }),
	}
}

func TestNegativeTTL(t *testing.T) {
	for _, tt := range []struct {
		name     string
		ttl      time.Duration // of the mark
		negative time.Duration // of the configuration
		want     time.Duration // 0: not kept
	}{
		{"default", time.Minute, 0, 5 * time.Second},
		{"set", time.Minute, 20 * time.Second, 20 * time.Second},
		{"not over the mark's", 2 * time.Second, 0, 2 * time.Second},
		{"off", time.Minute, cachedpgx.Off, 0},
	} {
		for _, kind := range []string{"empty result", "ErrNoRows", "a wrapped ErrNoRows"} {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := negatives(t)[kind]
					cfg := quiet()
					cfg.Policy.NegativeTTL = tt.negative
					db, c := openFake(t, f, cfg)
					var first error
					read := func() {
						t.Helper()
						var s string
						err := db.QueryRowContext(cachedpgx.WithTTL(t.Context(), tt.ttl), product, 1).Scan(&s)
						if !errors.Is(err, sql.ErrNoRows) {
							t.Fatalf("got %v", err)
						}
						if first == nil {
							first = err
						}
						if err.Error() != first.Error() {
							t.Errorf("a hit says %q, a miss %q", err, first)
						}
					}
					start := time.Now()
					read()
					if tt.want == 0 {
						read()
						wantCalls(t, f, product, 2)
						if s := c.Stats(); s.NegativeEntries != 0 {
							t.Errorf("%d are kept", s.NegativeEntries)
						}
						return
					}
					time.Sleep(time.Until(start.Add(tt.want - tick)))
					read()
					wantCalls(t, f, product, 1)
					if s := c.Stats(); s.NegativeHits != 1 || s.NegativeEntries != 1 || s.Entries != 0 || s.NegativeBytes == 0 || s.Hits != 1 {
						t.Errorf("stats %+v", s)
					}
					time.Sleep(time.Until(start.Add(tt.want + tick)))
					read()
					wantCalls(t, f, product, 2)
				})
			})
		}
	}
}

// An empty result has its columns, from memory as from the server.
func TestEmptyResultKeepsItsColumns(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply {
		return oneSet(resultSet{cols: []string{"id", "name"}, types: true})
	})
	db, _ := openFake(t, f, quiet())
	for range 2 {
		rows, err := db.QueryContext(long(t.Context()), product, 1)
		if err != nil {
			t.Fatal(err)
		}
		cols, err := rows.Columns()
		if err != nil || fmt.Sprint(cols) != "[id name]" {
			t.Errorf("columns %v, %v", cols, err)
		}
		types, err := rows.ColumnTypes()
		if err != nil || len(types) != 2 || types[1].DatabaseTypeName() != "TYPE1" {
			t.Errorf("types %v, %v", types, err)
		}
		if rows.Next() {
			t.Error("a row")
		}
		rows.Close()
	}
	wantCalls(t, f, product, 1)
}

// "Not found" does not outlive the insert, by whatever way it is made (fault
// kind 12).
func TestNotFoundDiesWithTheInsert(t *testing.T) {
	for _, kind := range []string{"empty result", "ErrNoRows"} {
		for _, write := range writes {
			if !write.over {
				continue
			}
			t.Run(kind+", "+write.name, func(t *testing.T) {
				found := false
				missing := negatives(t)[kind].handle
				f := newFake(t, func(ctx context.Context, c call) reply {
					if c.text != product {
						found = true
						return write.reply(ctx, c)
					}
					if found {
						return value("here")
					}
					return missing(ctx, c)
				})
				db, _ := openFake(t, f, quiet())
				var s string
				for range 2 {
					if err := db.QueryRowContext(long(t.Context()), product, 1).Scan(&s); !errors.Is(err, sql.ErrNoRows) {
						t.Fatalf("got %q, %v", s, err)
					}
				}
				wantCalls(t, f, product, 1)
				write.do(t, db)
				if err := db.QueryRowContext(long(t.Context()), product, 1).Scan(&s); err != nil || s != "here" {
					t.Errorf("after the insert: %q, %v", s, err)
				}
			})
		}
	}
}

// A failed load is no "not found".
func TestFailedLoadIsNoNegativeEntry(t *testing.T) {
	oops := errors.New("the server's own words")
	f := newFake(t, func(_ context.Context, c call) reply {
		if c.nth == 1 {
			return oneSet(resultSet{cols: []string{"v"}, err: oops})
		}
		return value("here")
	})
	db, _ := openFake(t, f, quiet())
	var s string
	if err := db.QueryRowContext(long(t.Context()), product, 1).Scan(&s); !errors.Is(err, oops) {
		t.Fatalf("got %q, %v", s, err)
	}
	if err := db.QueryRowContext(long(t.Context()), product, 1).Scan(&s); err != nil || s != "here" {
		t.Fatalf("got %q, %v", s, err)
	}
}
