package cachedpgx_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// One call's wish, the modes, Flush, and what bypasses.

func TestWithoutCacheNeitherServesNorStores(t *testing.T) {
	for name, ctxOf := range map[string]func(context.Context) context.Context{
		"alone":         cachedpgx.WithoutCache,
		"over a mark":   func(ctx context.Context) context.Context { return cachedpgx.WithoutCache(long(ctx)) },
		"under a mark":  func(ctx context.Context) context.Context { return long(cachedpgx.WithoutCache(ctx)) },
		"and a refresh": func(ctx context.Context) context.Context { return cachedpgx.WithRefresh(cachedpgx.WithoutCache(ctx)) },
	} {
		for _, text := range []string{product, "/* cachedpgx: ttl=5s */ " + product} {
			if name == "under a mark" || name == "and a refresh" {
				continue // two wishes that contradict one another: nothing is promised
			}
			t.Run(name+", "+text, func(t *testing.T) {
				f := newFake(t, nil)
				db, c := openFake(t, f, quiet())
				ctx := ctxOf(t.Context())
				for want := 1; want <= 2; want++ {
					if got := readInt(t, ctx, db, text, 1); got != want {
						t.Fatalf("served: %d, want %d", got, want)
					}
				}
				if s := c.Stats(); s.Entries != 0 {
					t.Error("stored")
				}
				if got := readInt(t, long(t.Context()), db, text, 1); got != 3 {
					t.Fatalf("stored: %d", got)
				}
				if got := readInt(t, ctx, db, text, 1); got != 4 {
					t.Fatalf("served: %d", got)
				}
				if got := readInt(t, long(t.Context()), db, text, 1); got != 3 {
					t.Errorf("what was kept is gone: %d", got)
				}
				if total(c.Stats().Bypasses) < 3 {
					t.Errorf("bypasses: %v", c.Stats().Bypasses)
				}
			})
		}
	}
}

func TestWithRefreshIsNotServedButStores(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	readInt(t, ctx, db, product, 1)
	if got := readInt(t, cachedpgx.WithRefresh(ctx), db, product, 1); got != 2 {
		t.Errorf("served: %d", got)
	}
	if got := readInt(t, ctx, db, product, 1); got != 2 {
		t.Errorf("not stored: %d", got)
	}
}

// It joins no load that began before it, and others may join its own.
func TestWithRefreshJoinsNoEarlierLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gates := gated(t, 2)
		db, _ := openFake(t, f, quiet())
		ctx := long(t.Context())
		early := ask(ctx, db, 1)
		time.Sleep(tick)
		fresh := ask(cachedpgx.WithRefresh(ctx), db, 1)
		synctest.Wait()
		wantCalls(t, f, product, 2)
		close(gates[1])
		if a := <-fresh; a.err != nil || a.v != 2 {
			t.Errorf("refresh: %+v", a)
		}
		close(gates[0])
		if a := <-early; a.err != nil {
			t.Errorf("early: %+v", a)
		}
		synctest.Wait()
		if got := readInt(t, ctx, db, product, 1); got != 2 {
			t.Errorf("the older load has replaced the newer: %d", got)
		}
		wantCalls(t, f, product, 2)
	})
}

func TestHints(t *testing.T) {
	for _, tt := range []struct {
		name   string
		text   string
		cached bool
	}{
		{"first", "/* cachedpgx: ttl=5s */ " + product, true},
		{"last", product + " /* cachedpgx: ttl=5s */", true},
		{"in the middle", "SELECT /* cachedpgx: ttl=5s */ name FROM product WHERE id = $1", true},
		{"tight", "/*cachedpgx:ttl=5s*/ " + product, true},
		{"among other comments", "/* a */ /* cachedpgx: ttl=5s */ -- b\n" + product, true},
		{"none", product, false},
		{"off", "/* cachedpgx: off */ " + product, false},
		{"another's", "/* notcachedpgx: ttl=5s */ " + product, false},
		{"in a literal", "SELECT '/* cachedpgx: ttl=5s */' FROM product WHERE id = $1", false},
		{"in a quoted name", `SELECT name AS "/* cachedpgx: ttl=5s */" FROM product WHERE id = $1`, false},
		{"in dollar quotes", "SELECT $$/* cachedpgx: ttl=5s */$$ FROM product WHERE id = $1", false},
		{"on a lock", "/* cachedpgx: ttl=5s */ " + product + " FOR UPDATE", false},
		{"on a lock, in parts", "/* cachedpgx: ttl=5s */ " + product + " FOR /* x */ KEY SHARE", false},
		{"on a lock, deep", "/* cachedpgx: ttl=5s */ SELECT * FROM (SELECT id FROM product WHERE id = $1 FOR NO KEY UPDATE) p", false},
		{"on a sequence", "/* cachedpgx: ttl=5s */ SELECT nextval('s') FROM product WHERE id = $1", false},
		{"on an advisory lock", "/* cachedpgx: ttl=5s */ SELECT pg_advisory_lock(1) FROM product WHERE id = $1", false},
		{"on a setting", "/* cachedpgx: ttl=5s */ SELECT set_config('a', 'b', false) FROM product WHERE id = $1", false},
		{"on a message", "/* cachedpgx: ttl=5s */ SELECT pg_notify('a', 'b') FROM product WHERE id = $1", false},
		{"on somebody's identity", "/* cachedpgx: ttl=5s */ SELECT current_user FROM product WHERE id = $1", false},
		{"on a write", "/* cachedpgx: ttl=5s */ " + insert + " RETURNING id", false},
		{"on a data-modifying CTE", "/* cachedpgx: ttl=5s */ WITH d AS (DELETE FROM product WHERE id = $1 RETURNING id) SELECT id FROM d", false},
		{"on two statements", "/* cachedpgx: ttl=5s */ SELECT name FROM product; SELECT name FROM product", false},
		{"on a system catalog", "/* cachedpgx: ttl=5s */ SELECT relname FROM pg_catalog.pg_class", false},
		{"on a system column", "/* cachedpgx: ttl=5s */ SELECT xmin FROM product WHERE id = $1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, nil)
			db, _ := openFake(t, f, quiet())
			args := []any{1}
			for range 3 {
				readInt(t, t.Context(), db, tt.text, args...)
			}
			want := 3
			if tt.cached {
				want = 1
			}
			wantCalls(t, f, tt.text, want)
		})
	}
}

// A hint that can't be read never fails the query.
func TestHintsThatCantBeRead(t *testing.T) {
	for _, hint := range []string{"ttl=banana", "ttl=-5s", "ttl=", "ttl", "", "nosuch=1", "ttl=5s,off", "off ttl=5s", "ttl=99999999999h"} {
		t.Run(hint, func(t *testing.T) {
			f := newFake(t, nil)
			db, _ := openFake(t, f, quiet())
			text := "/* cachedpgx: " + hint + " */ " + product
			if got := readInt(t, t.Context(), db, text, 1); got != 1 {
				t.Errorf("got %d", got)
			}
			readInt(t, t.Context(), db, text, 1)
		})
	}
}

func TestSetMode(t *testing.T) {
	f := newFake(t, nil)
	db, c := openFake(t, f, quiet())
	ctx := long(t.Context())
	read := func() int { t.Helper(); return readInt(t, ctx, db, product, 1) }
	read()
	c.SetMode(cachedpgx.ModeOff)
	for want := 2; want <= 3; want++ {
		if got := read(); got != want {
			t.Errorf("off: %d, want %d", got, want)
		}
	}
	c.SetMode(cachedpgx.ModeInherit)
	if got := read(); got != 1 {
		t.Errorf("on again: what was kept is dropped: %d", got)
	}
	c.SetMode(cachedpgx.ModeMarked)
	if got := read(); got != 1 {
		t.Errorf("marked: %d", got)
	}

	// Writes count in every mode.
	c.SetMode(cachedpgx.ModeOff)
	if _, err := db.ExecContext(t.Context(), insert, 1, "n"); err != nil {
		t.Fatal(err)
	}
	c.SetMode(cachedpgx.ModeInherit)
	if got := read(); got != 4 {
		t.Errorf("a write while it was off is not seen: %d", got)
	}
}

func TestConfiguredModes(t *testing.T) {
	for mode, want := range map[cachedpgx.Mode]int{
		cachedpgx.ModeInherit: 1, cachedpgx.ModeAuto: 1, cachedpgx.ModeMarked: 1, cachedpgx.ModeOff: 3,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			f := newFake(t, nil)
			cfg := quiet()
			cfg.Policy.Mode = mode
			db, c := openFake(t, f, cfg)
			for range 3 {
				readInt(t, long(t.Context()), db, product, 1)
			}
			wantCalls(t, f, product, want)
			if mode == cachedpgx.ModeOff {
				c.SetMode(cachedpgx.ModeAuto)
				readInt(t, long(t.Context()), db, product, 1)
				readInt(t, long(t.Context()), db, product, 1)
				wantCalls(t, f, product, want+1)
				c.SetMode(cachedpgx.ModeInherit)
				readInt(t, long(t.Context()), db, product, 1)
				wantCalls(t, f, product, want+2)
			}
		})
	}
}

func TestFlush(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply {
		if len(c.args) > 0 && c.arg() == int64(0) {
			return empty()
		}
		return value(int64(c.nth))
	})
	db, c := openFake(t, f, quiet())
	ctx := long(t.Context())
	readInt(t, ctx, db, product, 1)
	var s string
	if err := db.QueryRowContext(ctx, product, 0).Scan(&s); err != sql.ErrNoRows {
		t.Fatal(err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := readInt(t, ctx, db, product, 1); got != 3 {
		t.Errorf("rows survive a Flush: %d", got)
	}
	if err := db.QueryRowContext(ctx, product, 0).Scan(&s); err != sql.ErrNoRows {
		t.Fatal(err)
	}
	wantCalls(t, f, product, 4)
}

func TestFlushAgainstALoadUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gates := gated(t, 1)
		db, c := openFake(t, f, quiet())
		ctx := long(t.Context())
		old := ask(ctx, db, 1)
		synctest.Wait()
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a := <-ask(ctx, db, 1); a.err != nil || a.v != 2 {
			t.Errorf("a reader after the Flush: %+v", a)
		}
		close(gates[0])
		if a := <-old; a.err != nil {
			t.Errorf("the reader before it: %+v", a)
		}
		synctest.Wait()
		if got := readInt(t, ctx, db, product, 1); got != 2 {
			t.Errorf("what the load brought is kept: %d", got)
		}
	})
}

// Promise 5: nothing is served in a transaction, nothing is put in.
func TestTransactionsBypass(t *testing.T) {
	begins := map[string]func(*testing.T, *sql.DB) (q queryer, end func() error){
		"BeginTx": func(t *testing.T, db *sql.DB) (queryer, func() error) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return tx, tx.Rollback
		},
		"BeginTx, read only": func(t *testing.T, db *sql.DB) (queryer, func() error) {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable})
			if err != nil {
				t.Fatal(err)
			}
			return tx, tx.Commit
		},
	}
	for _, text := range []string{"BEGIN", "begin transaction isolation level serializable", "START TRANSACTION", "/* a */ -- b\n BEGIN;", "Begin Work"} {
		begins[text] = func(t *testing.T, db *sql.DB) (queryer, func() error) {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			return c, func() error {
				_, err := c.ExecContext(t.Context(), "ROLLBACK")
				return fmt.Errorf("%w%w", orNil(err), orNil(c.Close()))
			}
		}
	}
	const other = "SELECT name FROM other WHERE id = $1"
	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(_ context.Context, c call) reply { return value(int64(c.nth)) })
			db, c := openFake(t, f, quiet())
			ctx := long(t.Context())
			readInt(t, ctx, db, product, 1)
			q, end := begin(t, db)
			for want := 2; want <= 3; want++ {
				if got := readInt(t, ctx, q, product, 1); got != want {
					t.Errorf("inside: %d, want %d", got, want)
				}
				readInt(t, ctx, q, other, want+1000)
			}
			entries := c.Stats().Entries
			if entries > 1 {
				t.Errorf("%d entries: the transaction's reads are among them", entries)
			}
			if err := end(); err != nil && err.Error() != "" {
				t.Fatal(err)
			}
			readInt(t, ctx, db, other, 1002)
			wantCalls(t, f, other, 3)
		})
	}
}

type noError struct{}

func (noError) Error() string { return "" }

func orNil(err error) error {
	if err == nil {
		return noError{}
	}
	return err
}

// An own write in a transaction is seen inside it alone, and after a rollback
// nowhere (fault kind 7).
func TestRolledBackRowIsSeenNowhere(t *testing.T) {
	inside := false
	f := newFake(t, func(_ context.Context, c call) reply {
		if c.kind == "query" && c.inTx && inside {
			return value("uncommitted")
		}
		if c.kind == "exec" {
			inside = true
		}
		return value("committed")
	})
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, insert, 1, "n"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		q    queryer
		want string
	}{{tx, "uncommitted"}, {db, "committed"}, {tx, "uncommitted"}, {db, "committed"}} {
		got, err := readAll[string](ctx, tt.q, product, 1)
		if err != nil || len(got) != 1 || got[0] != tt.want {
			t.Errorf("%T got %q, %v, want %q", tt.q, got, err, tt.want)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got, err := readAll[string](ctx, db, product, 1); err != nil || len(got) != 1 || got[0] != "committed" {
		t.Errorf("after the rollback: %q, %v", got, err)
	}
}

// A transaction whose context ends is rolled back by database/sql, and the
// connection is of use again.
func TestTransactionCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, nil)
		db, _ := openFake(t, f, quiet())
		db.SetMaxOpenConns(1)
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		readInt(t, ctx, tx, product, 1)
		cancel()
		synctest.Wait()
		if err := tx.Commit(); err == nil {
			t.Error("the commit succeeded")
		}
		wantCalls(t, f, "rollback", 1)
		short, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for range 2 {
			readInt(t, long(short), db, product, 2)
		}
		wantCalls(t, f, product, 2)
	})
}

// A session that is changed bypasses, and keeps what is its own to itself.
func TestChangedSessionBypasses(t *testing.T) {
	for _, text := range []string{
		"SET search_path = other", "SET ROLE nobody", "CREATE TEMP TABLE product (id int)",
		"LISTEN a", "PREPARE p AS SELECT 1", "SET SESSION AUTHORIZATION nobody", "DECLARE c CURSOR WITH HOLD FOR SELECT 1", "RESET search_path",
	} {
		t.Run(text, func(t *testing.T) {
			f := newFake(t, nil)
			db, _ := openFake(t, f, quiet())
			ctx := long(t.Context())
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.ExecContext(ctx, text); err != nil {
				t.Fatal(err)
			}
			own := readInt(t, ctx, c, product, 1)
			if got := readInt(t, ctx, db, product, 1); got == own {
				t.Error("another session is served rows of the changed one")
			}
			if got := readInt(t, ctx, c, product, 1); got != 3 {
				t.Errorf("the changed session is served from the cache: %d", got)
			}
		})
	}
}

// A changed session that lies idle gives its server connection up to those who
// wait for one, and nobody is stranded, or gets an error, by that.
func TestIdleChangedSessionsGiveUp(t *testing.T) {
	f := newFake(t, nil)
	db, c := openFake(t, f, quiet())
	c.Server().SetMaxOpenConns(2)
	within(t, 30*time.Second, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for g := range 20 {
			wg.Go(func() {
				for i := range 50 {
					if (g+i)%3 == 0 {
						if _, err := db.ExecContext(ctx, "SET TimeZone = 'UTC'"); err != nil {
							t.Errorf("SET: %v", err)
						}
					} else if _, err := readAll[int](ctx, db, product, i%3); err != nil {
						t.Errorf("read: %v", err)
					}
				}
			})
		}
		wg.Wait()
	})
}
