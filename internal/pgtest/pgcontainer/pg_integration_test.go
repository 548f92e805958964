package pgcontainer_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	_ "github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/pgtest/pgcontainer"
)

// startTimeout has room for pulling an image.
const startTimeout = 5 * time.Minute

// start starts a container for this test and ends it with the test, whether or
// not a reaper watches.
func start(t *testing.T) *pgcontainer.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := pgcontainer.Start(ctx, pgcontainer.Options{})
	if err != nil {
		pgtest.GiveUp(t, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("ending the container: %v", err)
		}
	})
	return s
}

// open opens a handle of the driver. The TTL is longer than any test, so that
// what is served after a while is served because it was kept.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("cachedpgx", dsn+"&cache_ttl=10m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the handle: %v", err)
		}
	})
	return db
}

// admin runs SQL on a connection that has nothing to do with the driver.
func admin(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

const schema = `
CREATE EXTENSION pg_stat_statements;
CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO product VALUES (1, 'lamp'), (2, 'chair');
CREATE TABLE note (id int PRIMARY KEY, body text NOT NULL);
INSERT INTO note VALUES (1, 'first')`

const readProduct = `SELECT name FROM product WHERE id = $1`

func product(ctx context.Context, db *sql.DB, id int) (name string, err error) {
	err = db.QueryRowContext(ctx, readProduct, id).Scan(&name)
	return name, err
}

func wantProduct(t *testing.T, db *sql.DB, id int, want string) {
	t.Helper()
	if got, err := product(t.Context(), db, id); err != nil || got != want {
		t.Errorf("product %d: got %q, %v; want %q", id, got, err, want)
	}
}

// callsOf is how often the server ran readProduct since its statistics were
// reset, by the server's own count.
func callsOf(t *testing.T, dsn string) (calls int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	err = conn.QueryRow(t.Context(), `SELECT coalesce(sum(s.calls), 0)::int
		FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
		WHERE s.query = $1`, readProduct).Scan(&calls)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func TestDriverOnContainer(t *testing.T) {
	s := start(t)
	admin(t, s.DSN(), schema)

	t.Run("a repeated read is one query at the server", func(t *testing.T) {
		admin(t, s.DSN(), `SELECT pg_stat_statements_reset()`)
		db := open(t, s.DSN())
		for range 100 {
			wantProduct(t, db, 1, "lamp")
		}
		if n := callsOf(t, s.DSN()); n != 1 {
			t.Errorf("the server ran the query %d times, want 1", n)
		}
	})

	t.Run("many readers of a cold key are one query at the server", func(t *testing.T) {
		admin(t, s.DSN(), `SELECT pg_stat_statements_reset()`)
		db := open(t, s.DSN())
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() { wantProduct(t, db, 2, "chair") })
		}
		wg.Wait()
		if n := callsOf(t, s.DSN()); n != 1 {
			t.Errorf("the server ran the query %d times, want 1", n)
		}
	})

	t.Run("an own write is seen by the next read", func(t *testing.T) {
		db := open(t, s.DSN())
		wantProduct(t, db, 1, "lamp")
		for i := range 10 {
			name := fmt.Sprintf("lamp %d", i)
			if _, err := db.ExecContext(t.Context(), `UPDATE product SET name = $1 WHERE id = 1`, name); err != nil {
				t.Fatal(err)
			}
			wantProduct(t, db, 1, name)
			wantProduct(t, db, 1, name)
		}
	})

	t.Run("a row that was not there is found once it is", func(t *testing.T) {
		db := open(t, s.DSN())
		for range 2 {
			if _, err := product(t.Context(), db, 3); err != sql.ErrNoRows {
				t.Fatalf("got %v, want sql.ErrNoRows", err)
			}
		}
		if _, err := db.ExecContext(t.Context(), `INSERT INTO product VALUES (3, 'table')`); err != nil {
			t.Fatal(err)
		}
		wantProduct(t, db, 3, "table")
	})
}

// The server goes away and comes back under an open handle, once as in
// maintenance and once as in a crash.
func TestServerStoppedAndStartedUnderAHandle(t *testing.T) {
	s := start(t)
	admin(t, s.DSN(), schema)
	db := open(t, s.DSN())
	note := func(ctx context.Context) (body string, err error) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		// A function call of unknown effect is never served from memory.
		err = db.QueryRowContext(ctx, `SELECT body FROM note WHERE id = 1 AND pg_backend_pid() > 0`).Scan(&body)
		return body, err
	}

	for _, down := range []struct {
		name string
		do   func(context.Context) error
	}{{"stopped", s.Stop}, {"killed", s.Kill}} {
		t.Run(down.name, func(t *testing.T) {
			// Idle connections that will all be dead.
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					if body, err := note(t.Context()); err != nil || body != "first" {
						t.Errorf("before: got %q, %v", body, err)
					}
				})
			}
			wg.Wait()
			wantProduct(t, db, 1, "lamp")

			if err := down.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				wantProduct(t, db, 1, "lamp")
			}
			if body, err := note(t.Context()); err == nil {
				t.Errorf("a read that needs the server got %q without one", body)
			}

			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if body, err := note(t.Context()); err != nil || body != "first" {
				t.Errorf("after: got %q, %v", body, err)
			}
			wantProduct(t, db, 1, "lamp")
			wantProduct(t, db, 2, "chair")
		})
	}
}
