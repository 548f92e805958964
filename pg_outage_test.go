package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestPGOutage stops, kills and restarts a server of its own under a handle with
// fifty idle connections. Promise 9, kind 15.
func TestPGOutage(t *testing.T) {
	server := pgtest.Private(t)
	const idle = 50
	db := server.NewDatabase(t)
	e := newPGOn(t, db.DSN, pgCounter, "cache_server_max_idle=50", "cache_ttl=10m", "cache_jitter=off", "cache_negative_ttl=10m", "cache_catalog_ttl=10m")
	const text = "SELECT n FROM counter WHERE id = $1"
	const none = "SELECT n FROM counter WHERE id = -1"

	for _, how := range []struct {
		name string
		stop func() error
	}{{"stopped", server.Stop}, {"killed", server.Kill}} {
		t.Run(how.name, func(t *testing.T) {
			e := e.on(t)
			// Fifty connections are open and idle.
			var taken []*sql.Conn
			for range idle {
				conn, err := e.cache.Server().Conn(e.ctx)
				if err != nil {
					t.Fatal(err)
				}
				taken = append(taken, conn)
			}
			for _, conn := range taken {
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
			}
			lastUse := time.Now()
			for id := range 16 {
				e.warm(text, id+1)
			}
			e.warm(none)
			if n := e.cache.Server().Stats().Idle; n < idle {
				t.Fatalf("%d idle connections, want %d", n, idle)
			}
			e.plain.SetMaxIdleConns(0)

			e.must(e.plain, "CHECKPOINT") // a server of tests may not wait for its log
			if err := how.stop(); err != nil {
				t.Fatal(err)
			}
			for id := range 16 {
				var n int64
				if err := e.db.QueryRowContext(e.ctx, text, id+1).Scan(&n); err != nil {
					t.Errorf("a hit while the server is away: %v", err)
				}
			}
			if err := e.db.QueryRowContext(e.ctx, none).Scan(new(int)); !errors.Is(err, sql.ErrNoRows) {
				t.Errorf("an empty hit while the server is away: %v", err)
			}
			ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
			defer cancel()
			for _, bypass := range []string{"SELECT now()", "SELECT count(*) FROM counter WHERE id < 5"} {
				if err := pgAskErr(ctx, e.db, bypass); err == nil {
					t.Errorf("%s is answered while the server is away", bypass)
				}
			}
			if err := e.db.PingContext(ctx); err == nil {
				t.Error("a ping is answered from memory")
			}
			if err := server.Start(e.ctx); err != nil {
				t.Fatal(err)
			}
			// pgx asks a connection that was idle for longer than a second
			// whether it still lives.
			e.eventually("the connections were idle for a second", func() bool { return time.Since(lastUse) > 1100*time.Millisecond })
			e.watched(40, func(ctx context.Context, i int) error {
				var err error
				switch i % 4 {
				case 0:
					_, err = e.db.ExecContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", 1+i%16)
				case 1:
					err = pgAskErr(ctx, e.db, fmt.Sprintf("SELECT n FROM counter WHERE id = 1 AND n < %d", 1000+i))
				case 2:
					err = pgAskErr(ctx, e.db, "SELECT now()")
				case 3:
					var tx *sql.Tx
					if tx, err = e.db.BeginTx(ctx, nil); err == nil {
						err = errors.Join(pgAskErr(ctx, tx, pgReadCounter), tx.Commit())
					}
				}
				if err != nil {
					return fmt.Errorf("the first use after the server's return, way %d: %w", i%4, err)
				}
				return nil
			})
			for id := range 16 {
				e.same("after its return", text, id+1)
			}
			e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
			e.same("after a write", pgReadCounter)
			e.warm(pgReadCounter)
		})
	}
}

// TestPGFirstUseAfterAKill makes the very first use after a crash each of the
// ways to use a handle.
func TestPGFirstUseAfterAKill(t *testing.T) {
	server := pgtest.Private(t)
	e := newPGOn(t, server.NewDatabase(t).DSN, pgCounter, "cache_server_max_idle=5")
	stmt, err := e.db.PrepareContext(e.ctx, "SELECT n FROM counter WHERE id = $1")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	e.plain.SetMaxIdleConns(0)
	for name, use := range map[string]func(i int) error{
		"Exec":     func(int) error { _, err := e.db.ExecContext(e.ctx, "UPDATE counter SET n = n + 1"); return err },
		"miss":     func(i int) error { return pgAskErr(e.ctx, e.db, fmt.Sprintf("SELECT n FROM counter WHERE id = %d", i)) },
		"prepared": func(i int) error { return pgAskStmtErr(e.ctx, stmt, 100+i) },
		"Prepare": func(i int) error {
			s, err := e.db.PrepareContext(e.ctx, fmt.Sprintf("SELECT n + %d FROM counter", i))
			if err == nil {
				s.Close()
			}
			return err
		},
		"Begin": func(int) error {
			tx, err := e.db.BeginTx(e.ctx, nil)
			if err == nil {
				err = tx.Commit()
			}
			return err
		},
		"Ping": func(int) error { return e.db.PingContext(e.ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			e := e.on(t)
			var taken []*sql.Conn
			for range 5 {
				taken = append(taken, e.session(e.cache.Server()))
			}
			for _, conn := range taken {
				conn.Close()
			}
			if err := use(1); err != nil {
				t.Fatal(err)
			}
			lastUse := time.Now()
			e.must(e.plain, "CHECKPOINT")
			if err := errors.Join(server.Kill(), server.Start(e.ctx)); err != nil {
				t.Fatal(err)
			}
			e.eventually("the connections were idle for a second", func() bool { return time.Since(lastUse) > 1100*time.Millisecond })
			if err := use(2); err != nil {
				t.Errorf("the first use after a crash: %v", err)
			}
		})
	}
}

func pgAskStmtErr(ctx context.Context, stmt *sql.Stmt, args ...any) error {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// terminate ends every other session of this database whose state is like that.
func (e *pgEnv) terminate(where string) {
	e.Helper()
	e.must(e.plain, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND "+where)
}

// TestPGTerminatedBackends ends backends while they are idle, while a load runs,
// in a transaction, and under a changed session.
func TestPGTerminatedBackends(t *testing.T) {
	e := newPG(t, pgCounter)
	e.plain.SetMaxOpenConns(2)
	e.warm(pgReadCounter)

	t.Run("a load runs", func(t *testing.T) {
		e := e.on(t)
		const text = "SELECT sum(n) FROM counter"
		e.warm(text)
		want := map[string]string{}
		for _, how := range []string{"plain", "cached"} {
			if err := e.cache.Flush(e.ctx); err != nil {
				t.Fatal(err)
			}
			release := e.lock("counter")
			db := e.db
			if how == "plain" {
				db = pgOpen(t, "pgx", e.dsn)
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			for range 5 {
				wg.Go(func() {
					err := pgAskErr(e.ctx, db, text)
					pg, ok := errors.AsType[*pgconn.PgError](err)
					mu.Lock()
					defer mu.Unlock()
					want[how] = fmt.Sprintf("%t %T", ok, err)
					if !ok || pg.Code != "57P01" {
						t.Errorf("%s: %v", how, err)
					}
				})
			}
			waiting := 1
			if how == "plain" {
				waiting = 5
			}
			e.eventually("they wait", func() bool { return e.waiting() == waiting && (how == "plain" || e.cache.Stats().Loading == 1) })
			// A caller that comes late starts a load of its own; end that, too.
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			for over := false; !over; {
				e.terminate("wait_event_type = 'Lock'")
				select {
				case <-done:
					over = true
				case <-time.After(time.Millisecond):
				}
			}
			release()
			e.same("afterwards", text)
		}
		if want["plain"] != want["cached"] {
			t.Errorf("the error is a %s, plain pgx gives a %s", want["cached"], want["plain"])
		}
	})
	t.Run("idle", func(t *testing.T) {
		e := e.on(t)
		for range 2 {
			e.warm(pgReadCounter)
			lastUse := time.Now()
			e.terminate("state = 'idle'")
			e.eventually("they are gone", func() bool {
				return e.one(e.plain, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == "int64(0)"
			})
			if n := e.calls(pgReadCounter, func() { e.n(e.db) }); n != 0 {
				t.Errorf("a hit made %d calls at the server", n)
			}
			e.eventually("they were idle for a second", func() bool { return time.Since(lastUse) > 1100*time.Millisecond })
			e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
			e.same("after a write", pgReadCounter)
		}
	})
	t.Run("in a transaction", func(t *testing.T) {
		e := e.on(t)
		tx := e.begin(e.db)
		e.must(tx, "UPDATE counter SET n = 1000 WHERE id = 1")
		e.terminate("state = 'idle in transaction'")
		if err := pgAskErr(e.ctx, tx, pgReadCounter); err == nil {
			t.Error("a transaction goes on without its backend")
		}
		if err := tx.Commit(); err == nil {
			t.Error("a transaction commits without its backend")
		}
		e.same("afterwards", pgReadCounter)
		e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
		e.same("after a write", pgReadCounter)
	})
	t.Run("a changed session", func(t *testing.T) {
		e := e.on(t)
		conn := e.session(e.db)
		e.must(conn, "SET search_path = nowhere")
		e.must(conn, "SET application_name = 'changed'")
		e.terminate("application_name = 'changed'")
		var err error
		for range 3 {
			if err = pgAskErr(e.ctx, conn, pgReadCounter); err == nil {
				t.Fatal("a session goes on, on another backend and without its settings")
			}
		}
		if err := pgAskErr(e.ctx, e.db, pgReadCounter); err != nil {
			t.Errorf("another session: %v", err)
		}
	})
}

// A backend that was terminated a moment ago, so that nobody has noticed yet:
// a read is asked again on another connection, whether it is cached or not; a
// write is not. Kinds 9 and 15.
func TestPGReadOverADeadConnection(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int PRIMARY KEY, n int); INSERT INTO item VALUES (1, 1)")
	texts := []string{"SELECT n FROM item WHERE id = 1", "SELECT n FROM item WHERE id = 1 AND pg_backend_pid() > 0"}
	for range 2 { // judged by now
		for _, text := range texts {
			e.one(e.db, text)
		}
	}
	for _, text := range texts {
		for range 5 {
			e.watched(8, func(ctx context.Context, i int) error { // idle connections
				return pgAskErr(cachedpgx.WithRefresh(ctx), e.db, texts[i%2])
			})
			e.terminate("true")
			if err := pgAskErr(cachedpgx.WithRefresh(e.ctx), e.db, text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
