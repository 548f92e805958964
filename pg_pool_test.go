package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// watched runs f in n goroutines and fails, with all stacks, if they hang.
func (e *pgEnv) watched(n int, f func(ctx context.Context, i int) error) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, pgDeadline)
	defer cancel()
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- f(ctx, i) }()
	}
	hung := time.After(pgDeadline + 5*time.Second)
	for range n {
		select {
		case err := <-errs:
			if err != nil {
				e.Errorf("%v", err)
			}
		case <-hung:
			stacks := make([]byte, 1<<20)
			e.Fatalf("hangs:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestPGMixedLoadOnFewConnections runs reads, writes, transactions, prepared
// statements and sessions with settings together, on one connection of either
// pool. Kind 13.
func TestPGMixedLoadOnFewConnections(t *testing.T) {
	for _, c := range []struct{ logical, server int }{{0, 1}, {1, 0}, {1, 1}, {4, 2}} {
		t.Run(fmt.Sprintf("%d logical, %d server", c.logical, c.server), func(t *testing.T) {
			e := newPG(t, pgCounter)
			e.db.SetMaxOpenConns(c.logical)
			e.cache.Server().SetMaxOpenConns(c.server)
			stmt, err := e.db.PrepareContext(e.ctx, "SELECT n FROM counter WHERE id = $1")
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			var wrote atomic.Int64
			e.watched(50, func(ctx context.Context, i int) error {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				for range 8 {
					var n int64
					var err error
					switch r.IntN(8) {
					case 0:
						if _, err = e.db.ExecContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", 1+i%16); err == nil {
							wrote.Add(1)
						}
					case 1:
						var tx *sql.Tx
						if tx, err = e.db.BeginTx(ctx, nil); err != nil {
							break
						}
						err = tx.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1 RETURNING n", 1+i%16).Scan(&n)
						if err = errors.Join(err, tx.Commit()); err == nil {
							wrote.Add(1)
						}
					case 2:
						err = stmt.QueryRowContext(ctx, 1+r.IntN(16)).Scan(&n)
					case 3:
						err = e.db.QueryRowContext(ctx, "SELECT n, now() FROM counter WHERE id = 1").Scan(&n, new(time.Time))
					case 4:
						err = func() error { // a session with a setting, given up clean
							conn, err := e.db.Conn(ctx)
							if err != nil {
								return err
							}
							defer conn.Close()
							_, err = conn.ExecContext(ctx, "SET work_mem = '5MB'")
							err2 := conn.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = 1").Scan(&n)
							_, err3 := conn.ExecContext(ctx, []string{"RESET ALL", "DISCARD ALL"}[i%2])
							return errors.Join(err, err2, err3)
						}()
					case 5:
						short, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(1000))*time.Microsecond)
						err = e.db.QueryRowContext(short, "SELECT n FROM counter WHERE id = $1", 1+r.IntN(16)).Scan(&n)
						cancel()
						if pgTimedOut(err) && ctx.Err() == nil {
							err = nil
						}
					default:
						err = e.db.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = $1", 1+r.IntN(16)).Scan(&n)
					}
					if err != nil {
						return fmt.Errorf("worker %d: %w", i, err)
					}
				}
				return nil
			})
			if got := e.one(e.db, "SELECT sum(n) FROM counter"); got != fmt.Sprintf("string(%q)", fmt.Sprint(wrote.Load())) {
				t.Errorf("%d writes have returned, the sum is %s", wrote.Load(), got)
			}
			if open := e.cache.Server().Stats().OpenConnections; c.server > 0 && open > c.server {
				t.Errorf("%d server connections are open", open)
			}
		})
	}
}

// TestPGHotKeysNeedNoConnection lets a thousand goroutines read hot keys while
// every connection of the server pool is taken. Promise 9.
func TestPGHotKeysNeedNoConnection(t *testing.T) {
	e := newPG(t, pgCounter)
	const text = "SELECT n FROM counter WHERE id = $1"
	for id := range 16 {
		e.warm(text, id+1)
	}
	e.warm("SELECT n FROM counter WHERE id = -1")
	server := e.cache.Server()
	server.SetMaxOpenConns(2)
	for range 2 {
		e.session(server)
	}
	before := e.wire.ran(text)
	e.watched(1000, func(ctx context.Context, i int) error {
		var n int64
		if err := e.db.QueryRowContext(ctx, text, 1+i%16).Scan(&n); err != nil || n != 0 {
			return fmt.Errorf("reader %d: %d, %w", i, n, err)
		}
		if err := e.db.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = -1").Scan(&n); !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("reader %d of nothing: %w", i, err)
		}
		return nil
	})
	if n := e.wire.ran(text) - before; n != 0 {
		t.Errorf("%d calls at the server", n)
	}
	// What needs a connection waits for it no longer than its context.
	ctx, cancel := context.WithTimeout(e.ctx, 50*time.Millisecond)
	defer cancel()
	if err := pgAskErr(ctx, e.db, "SELECT count(*) FROM counter"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a miss without a connection: %v", err)
	}
}

// TestPGOneCallForFiveHundred sends 500 goroutines for one cold, slow key.
// Promise 6.
func TestPGOneCallForFiveHundred(t *testing.T) {
	e := newPG(t, pgCounter)
	const text = "SELECT sum(a.n + b.n) FROM counter a JOIN counter b ON a.id <> b.id"
	e.warm(text)
	if err := e.cache.Flush(e.ctx); err != nil {
		t.Fatal(err)
	}
	e.warm("SELECT sum(a.n + b.id) FROM counter a JOIN counter b ON a.id <> b.id") // the catalog is known again
	before := e.wire.ran(text)
	release := e.lock("counter")
	var wg sync.WaitGroup
	var asking, failed atomic.Int64
	for i := range 500 {
		wg.Go(func() {
			ctx := e.ctx
			if i%5 == 0 { // some leave before it is over
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(1+i/5)*time.Millisecond)
				defer cancel()
			}
			asking.Add(1)
			err := pgAskErr(ctx, e.db, text)
			if err != nil && !(i%5 == 0 && errors.Is(err, context.DeadlineExceeded)) {
				failed.Add(1)
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	e.eventually("all ask, and one load waits", func() bool { return asking.Load() == 500 && e.waiting() > 0 })
	if n := e.waiting(); n != 1 {
		t.Errorf("%d sessions wait at the server", n)
	}
	release()
	wg.Wait()
	if n := e.wire.ran(text) - before; n != 1 {
		t.Errorf("%d calls at the server, want 1", n)
	}
	if s := e.cache.Stats(); s.Coalesced < 100 {
		t.Errorf("%d shared a load: %+v", s.Coalesced, s)
	}
}

type pgTenantKey struct{}

// TestPGResetHook gives a connector with a reset hook: not cached, unless
// Partition says who shares; and every caller gets what the hook sets.
func TestPGResetHook(t *testing.T) {
	e := newPG(t, pgTenants+pgCounter)
	hook := func(ctx context.Context, pc *pgx.Conn) error {
		tenant, _ := ctx.Value(pgTenantKey{}).(string)
		if tenant == "" {
			tenant = "public"
		}
		_, err := pc.Exec(ctx, "SET search_path = "+tenant)
		return err
	}
	open := func(cfg cachedpgx.Config, opts ...stdlib.OptionOpenDB) (*sql.DB, *pgWire) {
		config, err := pgx.ParseConfig(e.dsn)
		if err != nil {
			t.Fatal(err)
		}
		wire := newPGWire()
		wire.tap(config)
		db, err := cachedpgx.OpenDB(pgConnector(config, opts...), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db, wire
	}
	tenant := func(name string) context.Context { return context.WithValue(e.ctx, pgTenantKey{}, name) }
	partition := func(ctx context.Context) string { s, _ := ctx.Value(pgTenantKey{}).(string); return s }
	nothing := func(context.Context, *pgx.Conn) error { return nil }

	db, wire := open(cachedpgx.Config{}, stdlib.OptionResetSession(nothing))
	for range 4 {
		pgAsk(e.ctx, db, pgReadCounter)
	}
	if n := wire.ran(pgReadCounter); n != 4 {
		t.Errorf("with a reset hook, without Partition: %d of 4 reads reached the server", n)
	}

	db, wire = open(cachedpgx.Config{Partition: partition}, stdlib.OptionResetSession(nothing))
	for _, name := range []string{"a", "b", "a", "b", "a"} {
		for range 3 {
			pgAsk(tenant(name), db, pgReadCounter)
		}
	}
	if n := wire.ran(pgReadCounter); n != 2 {
		t.Errorf("two partitions that read 15 times made %d calls at the server, want 2", n)
	}

	for name, cfg := range map[string]cachedpgx.Config{"no Partition": {}, "Partition": {Partition: partition}} {
		db, _ := open(cfg, stdlib.OptionResetSession(hook), stdlib.OptionAfterConnect(hook))
		var wg sync.WaitGroup
		for _, who := range []string{"a", "b", "public"} {
			for range 3 {
				wg.Go(func() {
					for range 50 {
						got := pgAsk(tenant(who), db, "SELECT v FROM t")
						if want := fmt.Sprintf("[[string(%q)]]", who); fmt.Sprint(got.Rows) != want {
							t.Errorf("%s: tenant %s reads %v %s", name, who, got.Rows, got.Err)
							return
						}
					}
				})
			}
		}
		wg.Wait()
	}
}

// TestPGPool runs over a pgxpool, which keeps its own idle connections.
func TestPGPool(t *testing.T) {
	e := newPG(t, pgCounter)
	pool, err := pgxpool.New(e.ctx, pgWith(t, e.dsn, "pool_max_conns", "3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	db, err := cachedpgx.OpenDB(stdlib.GetPoolConnector(pool), cachedpgx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(0) // as stdlib.OpenDBFromPool does
	cache := pgCacheOf(t, db)
	for i := range int64(10) {
		for range 3 {
			if got := e.n(db); got != i {
				t.Fatalf("read %d, want %d", got, i)
			}
		}
		e.must(db, "UPDATE counter SET n = n + 1 WHERE id = 1")
	}
	tx := e.begin(db)
	e.must(tx, "UPDATE counter SET n = n + 1 WHERE id = 1")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := e.n(db); got != 11 {
		t.Errorf("after a transaction: %d", got)
	}
	if s := cache.Stats(); s.Hits < 10 {
		t.Errorf("over a pool, %d hits", s.Hits)
	}
	conn := e.session(db)
	e.must(conn, "SET application_name = 'changed'")
	conn.Close()
	e.eventually("the pool has all its connections back", func() bool { return pool.Stat().AcquiredConns() == 0 })
	e.watched(20, func(ctx context.Context, i int) error {
		_, err := pool.Exec(ctx, "UPDATE counter SET n = n + 1 WHERE id = 2") // the pool's other users
		return errors.Join(err, pgAskErr(ctx, db, pgReadCounter), pgAskErr(ctx, db, fmt.Sprintf("SELECT now(), %d", i)))
	})
	var name string
	if err := pool.QueryRow(e.ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'changed' AND datname = current_database()").Scan(new(int)); err != nil {
		t.Error(err)
	}
	for range 10 {
		if err := pool.QueryRow(e.ctx, "SHOW application_name").Scan(&name); err != nil || name == "changed" {
			t.Errorf("the pool's user gets a session of another's: %q, %v", name, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pool.Ping(e.ctx); err != nil {
		t.Errorf("the pool after the handle's Close: %v", err)
	}
}

// TestPGCloseLeavesNothing counts goroutines and server connections after Close.
// Kind 15.
func TestPGCloseLeavesNothing(t *testing.T) {
	e := newPG(t, pgCounter)
	before := runtime.NumGoroutine()
	for range 10 {
		config, err := pgx.ParseConfig(e.dsn)
		if err != nil {
			t.Fatal(err)
		}
		wire := newPGWire()
		wire.tap(config)
		name := stdlib.RegisterConnConfig(config)
		db, err := sql.Open("cachedpgx", name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			e.n(db)
		}
		e.must(db, "UPDATE counter SET n = n + 1")
		ctx, cancel := context.WithTimeout(e.ctx, time.Millisecond)
		_ = pgAskErr(ctx, db, "SELECT count(*) FROM counter a, counter b, counter c, counter d")
		cancel()
		conn, err := db.Conn(e.ctx)
		if err != nil {
			t.Fatal(err)
		}
		e.must(conn, "LISTEN x")
		tx, err := db.BeginTx(e.ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		e.must(tx, "UPDATE counter SET n = n + 1")
		_ = tx.Rollback()
		conn.Close()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		stdlib.UnregisterConnConfig(name)
		e.eventually("all connections are closed", func() bool { return wire.open() == 0 })
	}
	for range 500 { // opened, and never used
		db, err := sql.Open("cachedpgx", e.dsn)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	e.eventually("the server has no session of them", func() bool {
		return e.one(e.plain, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == "int64(0)"
	})
}

// TestPGTransactionPooler sets cache_pooler=transaction: all works, nothing is
// cached.
func TestPGTransactionPooler(t *testing.T) {
	e := newPG(t, pgCounter, "cache_pooler=transaction")
	for i := range int64(5) {
		if n := e.calls(pgReadCounter, func() { e.n(e.db) }); n != 1 {
			t.Errorf("a read made %d calls at the server, want 1", n)
		}
		if got := e.n(e.db); got != i {
			t.Errorf("read %d, want %d", got, i)
		}
		e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
	}
	tx := e.begin(e.db)
	e.must(tx, "UPDATE counter SET n = 100 WHERE id = 1")
	if err := tx.Commit(); err != nil || e.n(e.db) != 100 {
		t.Errorf("after a transaction: %v", err)
	}
	if s := e.cache.Stats(); s.Hits != 0 || s.Entries != 0 {
		t.Errorf("something was cached: %+v", s)
	}
}
