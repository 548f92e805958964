package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// The way to the server: one pool, its limits, its losses, its end. Promises 7
// and 9; fault kinds 8, 13, 14 and 15.

// idleConns leaves n idle connections in the server pool.
func idleConns(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	conns := make([]*sql.Conn, n)
	for i := range conns {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		readInt(t, t.Context(), c, "SELECT v FROM elsewhere")
	}
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A failover that leaves fifty dead idle connections is not the caller's error.
func TestFiftyDeadConnections(t *testing.T) {
	ways := map[string]func(context.Context, *sql.DB) error{
		"marked read": func(ctx context.Context, db *sql.DB) error {
			return db.QueryRowContext(long(ctx), product, 1).Scan(new(int))
		},
		"marked read, background": func(_ context.Context, db *sql.DB) error {
			return db.QueryRowContext(long(context.Background()), product, 1).Scan(new(int))
		},
		"unmarked read": func(ctx context.Context, db *sql.DB) error {
			return db.QueryRowContext(ctx, product, 1).Scan(new(int))
		},
		"Exec": func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, insert, 1, "n")
			return err
		},
		"transaction": func(ctx context.Context, db *sql.DB) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			return tx.Rollback()
		},
		"prepared": func(ctx context.Context, db *sql.DB) error {
			s, err := db.PrepareContext(ctx, product)
			if err != nil {
				return err
			}
			defer s.Close()
			return s.QueryRowContext(ctx, 1).Scan(new(int))
		},
		"Ping": func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			cfg := quiet()
			cfg.ServerPool.MaxIdle = 64
			db, c := openFake(t, f, cfg)
			idleConns(t, db, 50)
			if n := c.Server().Stats().Idle; n != 50 {
				t.Fatalf("%d idle connections", n)
			}
			f.kill()
			if err := way(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
}

// When the fresh one is bad as well, it ends, with the driver's own error.
func TestEveryConnectionIsBad(t *testing.T) {
	for _, marked := range []bool{false, true} {
		t.Run(fmt.Sprintf("marked=%t", marked), func(t *testing.T) {
			f := newFake(t, func(context.Context, call) reply { return reply{err: driver.ErrBadConn} })
			db, _ := openFake(t, f, quiet())
			ctx := t.Context()
			if marked {
				ctx = long(ctx)
			}
			within(t, 20*time.Second, func() {
				err := db.QueryRowContext(ctx, product, 1).Scan(new(int))
				if !errors.Is(err, driver.ErrBadConn) {
					t.Errorf("got %v", err)
				}
			})
			if n := f.dials(); n > 20 {
				t.Errorf("%d dials", n)
			}
		})
	}
}

func TestDialErrorPasses(t *testing.T) {
	f := newFake(t, nil)
	f.dial = func() error { return errOops }
	db, _ := openFake(t, f, quiet())
	for _, ctx := range []context.Context{t.Context(), long(t.Context()), long(context.Background())} {
		if err := db.QueryRowContext(ctx, product, 1).Scan(new(int)); err != errOops {
			t.Errorf("got %v", err)
		}
	}
	if err := db.PingContext(t.Context()); err != errOops {
		t.Errorf("got %v", err)
	}
}

// A transaction whose connection dies is over: nothing of it is asked again on
// another connection.
func TestConnectionLostInATransaction(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), insert, 1, "n"); err != nil {
		t.Fatal(err)
	}
	f.kill()
	const second = "UPDATE product SET name = 'm'"
	within(t, 10*time.Second, func() {
		if _, err := tx.ExecContext(t.Context(), second); err == nil {
			t.Error("a statement succeeded in a transaction that is lost")
		}
		if err := tx.QueryRowContext(t.Context(), product, 1).Scan(new(int)); err == nil {
			t.Error("a read succeeded in a transaction that is lost")
		}
		if err := tx.Commit(); err == nil {
			t.Error("the commit succeeded")
		}
	})
	wantCalls(t, f, second, 0)
	wantCalls(t, f, insert, 1)
	wantCalls(t, f, product, 0)
	readInt(t, t.Context(), db, product, 1)
}

// A hit needs no server connection (promise 9).
func TestHitsWhileEveryConnectionIsTaken(t *testing.T) {
	f := newFake(t, nil)
	db, c := openFake(t, f, quiet())
	for key := range 10 {
		readInt(t, long(t.Context()), db, product, key)
	}
	c.Server().SetMaxOpenConns(2)
	for range 2 {
		taken, err := c.Server().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		if err := taken.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := f.count(product)
	within(t, 20*time.Second, func() {
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(long(t.Context()), 15*time.Second)
				defer cancel()
				for key := range 10 {
					var v int
					if err := db.QueryRowContext(ctx, product, (key+i)%10).Scan(&v); err != nil || v != (key+i)%10+1 {
						t.Errorf("%d, %v", v, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	if n := f.count(product) - before; n != 0 {
		t.Errorf("%d reached the server", n)
	}
	if n := c.Server().Stats().WaitCount; n != 0 {
		t.Errorf("%d waited for a server connection", n)
	}
}

// The database is away: hits are served, and the rest says why not.
func TestHitsWhileTheServerIsAway(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	readInt(t, long(t.Context()), db, product, 1)
	f.kill()
	f.dial = func() error { return errOops }
	for range 3 {
		readInt(t, long(t.Context()), db, product, 1)
	}
	if err := db.QueryRowContext(long(t.Context()), product, 2).Scan(new(int)); err == nil {
		t.Error("a miss succeeded without a server")
	}
	wantCalls(t, f, product, 1)
}

// mixed asks all kinds of things of a handle, and fails if one of them does.
func mixed(t *testing.T, ctx context.Context, db *sql.DB, i int) {
	read := func(ctx context.Context, q queryer, key int) {
		if _, err := readAll[int](ctx, q, product, key); err != nil {
			t.Errorf("read: %v", err)
		}
	}
	switch i % 6 {
	case 0, 1:
		read(long(ctx), db, i%3)
	case 2:
		read(ctx, db, i%3)
	case 3:
		if _, err := db.ExecContext(ctx, insert, 1, "n"); err != nil {
			t.Errorf("Exec: %v", err)
		}
	case 4:
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Errorf("Begin: %v", err)
			return
		}
		read(long(ctx), tx, i%3)
		if _, err := tx.ExecContext(ctx, insert, 1, "n"); err != nil {
			t.Errorf("Exec in a transaction: %v", err)
		}
		read(long(ctx), tx, i%3)
		if err := tx.Commit(); err != nil {
			t.Errorf("Commit: %v", err)
		}
	case 5:
		s, err := db.PrepareContext(ctx, product)
		if err != nil {
			t.Errorf("Prepare: %v", err)
			return
		}
		defer s.Close()
		for range 2 {
			if err := s.QueryRowContext(long(ctx), i%3).Scan(new(int)); err != nil {
				t.Errorf("prepared: %v", err)
			}
		}
	}
}

func TestNoDeadlock(t *testing.T) {
	for _, tt := range []struct {
		name             string
		sessions, server int
	}{
		{"one session", 1, 0}, {"one server connection", 0, 1}, {"one of each", 1, 1}, {"two server connections", 0, 2}, {"no limits", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, func(_ context.Context, c call) reply {
				runtime.Gosched()
				return value(int64(c.nth))
			})
			db, c := openFake(t, f, quiet())
			db.SetMaxOpenConns(tt.sessions)
			c.Server().SetMaxOpenConns(tt.server)
			within(t, 60*time.Second, func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
				defer cancel()
				var wg sync.WaitGroup
				for g := range 50 {
					wg.Go(func() {
						for i := range 24 {
							mixed(t, ctx, db, g+i)
						}
					})
				}
				wg.Wait()
			})
			db.SetMaxIdleConns(-1) // an idle session may hold what it has prepared
			if n := c.Server().Stats().InUse; n != 0 {
				t.Errorf("%d server connections in use", n)
			}
			if n := db.Stats().InUse; n != 0 {
				t.Errorf("%d sessions in use", n)
			}
			if s := c.Stats(); s.Loading != 0 {
				t.Errorf("%d loads are counted as under way", s.Loading)
			}
			if tt.server == 1 && f.peak() > 1 {
				t.Errorf("%d statements at once at the server", f.peak())
			}
		})
	}
}

// A session that holds the only server connection asks by itself: it never
// waits for a flight, which waits for that connection.
func TestPinnedSessionDoesNotWaitForAFlight(t *testing.T) {
	pins := map[string]func(*testing.T, *sql.DB) (queryer, func() error){
		"a session after a read": func(t *testing.T, db *sql.DB) (queryer, func() error) {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			readInt(t, t.Context(), c, "SELECT v FROM elsewhere")
			return c, c.Close
		},
		"a session after a write": func(t *testing.T, db *sql.DB) (queryer, func() error) {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.ExecContext(t.Context(), insert, 1, "n"); err != nil {
				t.Fatal(err)
			}
			return c, c.Close
		},
		"a transaction": func(t *testing.T, db *sql.DB) (queryer, func() error) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			readInt(t, t.Context(), tx, "SELECT v FROM elsewhere")
			return tx, tx.Commit
		},
	}
	for name, pin := range pins {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, nil)
				db, c := openFake(t, f, quiet())
				c.Server().SetMaxOpenConns(1)
				q, release := pin(t, db)
				waiter := ask(long(t.Context()), db, 1)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(long(t.Context()), time.Minute)
				defer cancel()
				for range 2 {
					if err := q.QueryRowContext(ctx, product, 1).Scan(new(int)); err != nil {
						t.Fatalf("the holder of the only connection: %v", err)
					}
				}
				if err := release(); err != nil {
					t.Fatal(err)
				}
				select {
				case a := <-waiter:
					if a.err != nil {
						t.Error(a.err)
					}
				case <-time.After(time.Minute):
					t.Error("the flight never gets the connection")
				}
			})
		})
	}
}

// Rows that are open hold a connection: with two, a nested read is no deadlock.
func TestNestedReads(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply { return oneSet(numbers(5)) })
	db, c := openFake(t, f, quiet())
	c.Server().SetMaxOpenConns(1)
	ctx := long(t.Context())
	within(t, 20*time.Second, func() {
		rows, err := db.QueryContext(ctx, product, 1)
		if err != nil {
			t.Error(err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var v int
			if err := rows.Scan(&v); err != nil {
				t.Error(err)
			}
			if _, err := readAll[int](ctx, db, product, 100+v); err != nil {
				t.Error(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForAServerConnectionHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, nil)
		db, c := openFake(t, f, quiet())
		c.Server().SetMaxOpenConns(1)
		taken, err := c.Server().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, mark := range map[string]func(context.Context) context.Context{"marked": long, "unmarked": cachedpgx.WithoutCache} {
			start := time.Now()
			ctx, cancel := context.WithTimeout(mark(t.Context()), 3*time.Second)
			err := db.QueryRowContext(ctx, product, 1).Scan(new(int))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
		if err := taken.Close(); err != nil {
			t.Fatal(err)
		}
		readInt(t, long(t.Context()), db, product, 1)
	})
}

func TestOldStyleDrivers(t *testing.T) {
	for name, set := range map[string]func(*fakeServer){
		"the least that a driver may have": func(f *fakeServer) { f.plain = true },
		"one that answers ErrSkip":         func(f *fakeServer) { f.skip = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			set(f)
			db, _ := openFake(t, f, quiet())
			for range 3 {
				readInt(t, long(t.Context()), db, product, 1)
			}
			wantCalls(t, f, product, 1)
			readInt(t, t.Context(), db, product, 1)
			wantCalls(t, f, product, 2)
			if _, err := db.ExecContext(t.Context(), insert, 1, "n"); err != nil {
				t.Error(err)
			}
			wantCalls(t, f, insert, 1)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			readInt(t, t.Context(), tx, product, 1)
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			readInt(t, long(t.Context()), db, product, 1)
			wantCalls(t, f, product, 4)
			if err := db.PingContext(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRawOverAnotherDriver(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(raw any) error {
		ours, ok := raw.(*cachedpgx.Conn)
		if !ok {
			return fmt.Errorf("Raw gives a %T", raw)
		}
		if ours.Conn() != nil {
			return errors.New("there is a pgx connection under another driver")
		}
		if _, err := ours.ConnContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "cachedpgx: ") {
			return fmt.Errorf("ConnContext: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	readInt(t, t.Context(), c, product, 1)
}
