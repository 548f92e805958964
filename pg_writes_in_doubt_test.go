package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

const pgCounter = `CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL);
	INSERT INTO counter SELECT i, 0 FROM generate_series(1, 16) i`

const pgReadCounter = "SELECT n FROM counter WHERE id = 1"

// n reads the counter; it fails the test on an error.
func (e *pgEnv) n(q pgQuerier) (n int64) {
	e.Helper()
	rows, err := q.QueryContext(e.ctx, pgReadCounter)
	if err != nil {
		e.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		e.Fatalf("no row: %v", rows.Err())
	}
	if err := rows.Scan(&n); err != nil {
		e.Fatal(err)
	}
	return n
}

// busy is the number of sessions of the cached handle that run a statement
// like that.
func (e *pgEnv) busy(like string) string {
	e.Helper()
	return e.one(e.plain, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE $1`, like)
}

// TestPGCancelledUpdate cancels an UPDATE that waits for a lock. Whether the
// server's work ends late with a commit, or not at all, no read is served from
// before it.
func TestPGCancelledUpdate(t *testing.T) {
	const update = "UPDATE counter SET n = n + 1 WHERE id = 1"
	ways := map[string]func(e *pgEnv, ctx context.Context) error{
		"Exec":  func(e *pgEnv, ctx context.Context) error { _, err := e.db.ExecContext(ctx, update); return err },
		"Query": func(e *pgEnv, ctx context.Context) error { return pgAskErr(ctx, e.db, update+" RETURNING n") },
		"simple": func(e *pgEnv, ctx context.Context) error {
			_, err := e.db.ExecContext(ctx, update+"; SELECT 1")
			return err
		},
		"function": func(e *pgEnv, ctx context.Context) error { return pgAskErr(ctx, e.db, "SELECT bump(1)") },
		"prepared": func(e *pgEnv, ctx context.Context) error {
			stmt, err := e.db.PrepareContext(e.ctx, update)
			if err != nil {
				return err
			}
			defer stmt.Close()
			_, err = stmt.ExecContext(ctx)
			return err
		},
		"transaction": func(e *pgEnv, ctx context.Context) error {
			tx, err := e.db.BeginTx(e.ctx, nil)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, update+"; COMMIT")
			_ = tx.Rollback()
			return err
		},
	}
	for name, write := range ways {
		for _, late := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, commits late %t", name, late), func(t *testing.T) {
				e := newPG(t, pgCounter+"; CREATE FUNCTION bump(i int) RETURNS void LANGUAGE sql AS 'UPDATE counter SET n = n + 1 WHERE id = i'",
					"cache_quarantine=10m")
				e.warm(pgReadCounter)
				e.wire.dropCancels(late) // a cancel that is lost lets the server go on
				locker := e.begin(e.plain)
				e.must(locker, "SELECT n FROM counter WHERE id = 1 FOR UPDATE")
				ctx, cancel := context.WithCancel(e.ctx)
				defer cancel()
				failed := make(chan error, 1)
				go func() { failed <- write(e, ctx) }()
				e.eventually("the UPDATE waits for the lock", func() bool { return e.waiting() > 0 })
				cancel()
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Errorf("the cancelled write: %v", err)
				}
				if got := e.n(e.db); got != 0 {
					t.Errorf("while the write is in doubt: %d", got)
				}
				if !late {
					e.eventually("the server gives the UPDATE up", func() bool { return e.waiting() == 0 })
				}
				if err := locker.Rollback(); err != nil {
					t.Fatal(err)
				}
				want := int64(0)
				if late {
					want = 1
				}
				// From here on the server may commit at any moment: what plain
				// pgx has seen, the next read through the handle sees.
				e.eventually("the write is over", func() bool {
					seen := e.n(e.plain)
					if got := e.n(e.db); got < seen {
						t.Fatalf("read %d after the server had shown %d", got, seen)
					}
					return seen == want && e.busy("%UPDATE counter%") == "int64(0)" && e.busy("%bump%") == "int64(0)"
				})
				if got := e.n(e.db); got != want {
					t.Errorf("when the write is over: %d, want %d", got, want)
				}
				e.warm(pgReadCounter) // the doubt ends on proof, not after ten minutes
				if got := e.n(e.db); got != want {
					t.Errorf("from memory: %d, want %d", got, want)
				}
			})
		}
	}
}

// TestPGRowsOfAWriteOpen reads on another connection while the rows of an UPDATE
// … RETURNING are open, and after they are closed.
func TestPGRowsOfAWriteOpen(t *testing.T) {
	e := newPG(t, pgCounter)
	for i := range int64(60) {
		e.warm(pgReadCounter)
		rows, err := e.db.QueryContext(e.ctx, "UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n")
		if err != nil {
			t.Fatal(err)
		}
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		var own int64
		if err := rows.Scan(&own); err != nil || own != i+1 {
			t.Fatalf("RETURNING: %d, %v", own, err)
		}
		// Who has seen the row is not served from before it.
		if n := e.calls(pgReadCounter, func() { e.n(e.db) }); n != 1 {
			t.Errorf("a read beside open rows made %d calls at the server, want 1", n)
		}
		// The server may not have committed yet. Both answers are right now,
		// and neither may be kept.
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got := e.n(e.db); got != own && got != own-1 {
					t.Errorf("meanwhile: %d, the row says %d", got, own)
				}
			})
		}
		wg.Wait()
		switch i % 3 {
		case 0:
			for rows.Next() {
			}
		case 1:
			err = rows.Close()
		case 2:
			err = errors.Join(rows.Close(), rows.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := e.n(e.db); got != own {
			t.Fatalf("read %d after RETURNING %d was closed", got, own)
		}
	}
}

// TestPGManyRowsOfAWriteOpen is the same with more rows than the sockets hold:
// the server has certainly not committed while they are open.
func TestPGManyRowsOfAWriteOpen(t *testing.T) {
	e := newPG(t, pgCounter+"; CREATE TABLE wide AS SELECT i AS id, repeat('x', 2000) AS fill FROM generate_series(1, 8000) i")
	const write = "WITH w AS (UPDATE counter SET n = n + 1 WHERE id = 1) UPDATE wide SET id = id RETURNING id, fill"
	for i := range int64(3) {
		e.warm(pgReadCounter)
		rows, err := e.db.QueryContext(e.ctx, write)
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		for range 5 {
			if got := e.n(e.db); got != i {
				t.Errorf("an uncommitted %d was read, want %d", got, i)
			}
		}
		for rows.Next() {
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		if got := e.n(e.db); got != i+1 {
			t.Fatalf("read %d after the write's rows were read", got)
		}
	}
	// Cancelled while its rows are open: rolled back or done, but known at the end.
	ctx, cancel := context.WithCancel(e.ctx)
	rows, err := e.db.QueryContext(ctx, write)
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	cancel()
	for rows.Next() {
	}
	rows.Close()
	e.eventually("the server is through with it", func() bool {
		seen := e.n(e.plain)
		if got := e.n(e.db); got < seen {
			t.Fatalf("read %d after the server had shown %d", got, seen)
		}
		return e.busy("%UPDATE wide%") == "int64(0)"
	})
	e.same("at the end", pgReadCounter)
}

// TestPGLoadRacesWrite begins a load before a write and lets it end after it:
// the rows are handed to who asked before, and to nobody else. Kind 4.
func TestPGLoadRacesWrite(t *testing.T) {
	e := newPG(t, pgCounter+"; CREATE TABLE gate (id int); INSERT INTO gate VALUES (1)")
	// The load reads counter first, by the snapshot it took before it waits:
	// a lock is waited for before the snapshot, so the load is held in its
	// rows instead: more of them than the sockets hold, read slowly.
	e.must(e.plain, "CREATE TABLE wide AS SELECT i AS id, repeat('x', 2000) AS fill FROM generate_series(1, 400) i")
	const text = "SELECT w.id, w.fill, c.n FROM wide w, counter c WHERE c.id = 1 ORDER BY w.id"
	e.warm(text)
	for i := range 5 {
		if err := e.cache.Flush(e.ctx); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { pgAsk(e.ctx, e.db, text) })
		}
		e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
		e.same(fmt.Sprintf("round %d, right after the write", i), text)
		wg.Wait()
		e.same(fmt.Sprintf("round %d, after the older loads", i), text)
	}

	// A load that began before the write and waits: who reads after the write
	// doesn't join it.
	const gated = "SELECT c.n FROM counter c, gate g WHERE c.id = 1"
	e.warm(gated)
	if err := e.cache.Flush(e.ctx); err != nil {
		t.Fatal(err)
	}
	before := e.wire.parsed(gated) + e.wire.ran(gated)
	release := e.lock("gate")
	var wg sync.WaitGroup
	wg.Go(func() { pgAsk(e.ctx, e.db, gated) })
	e.eventually("the load waits", func() bool { return e.waiting() == 1 })
	e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
	wg.Go(func() { pgAsk(e.ctx, e.db, gated) })
	e.eventually("a second load was started after the write", func() bool { return e.waiting() == 2 })
	release()
	wg.Wait()
	e.same("after both", gated)
	if n := e.wire.parsed(gated) + e.wire.ran(gated) - before; n < 2 {
		t.Errorf("a reader after the write joined the load from before it")
	}
}

// TestPGFailedWrites checks that an error counts as a write, and breaks nothing.
func TestPGFailedWrites(t *testing.T) {
	e := newPG(t, pgCounter+"; CREATE TABLE child (id int REFERENCES counter DEFERRABLE INITIALLY DEFERRED)")
	for _, text := range []string{
		"INSERT INTO counter VALUES (1, 1)", "UPDATE counter SET n = NULL", "UPDATE counter SET n = 1/(id - 8)",
		"UPDATE no_such SET n = 1", "INSERT INTO child VALUES (99)", "DO $$BEGIN UPDATE counter SET n = 5; RAISE 'no'; END$$",
		"UPDATE counter SET n = 7; SELECT 1/0", "UPDATE counter SET n = $1", "DROP TABLE counter",
	} {
		e.warm(pgReadCounter)
		_, want := e.plain.ExecContext(e.ctx, text)
		_, got := e.db.ExecContext(e.ctx, text)
		if want == nil || pgError(want) != pgError(got) {
			t.Errorf("%s: error %q, plain pgx gives %q", text, pgError(got), pgError(want))
		}
		e.same(text, pgReadCounter)
	}
	// One that only fails at the commit.
	tx := e.begin(e.db)
	e.must(tx, "UPDATE counter SET n = 9")
	e.must(tx, "INSERT INTO child VALUES (99)")
	if err := tx.Commit(); err == nil {
		t.Error("a deferred constraint did not fail the commit")
	}
	e.same("a commit that failed", pgReadCounter)
}

// TestPGWriteOnceOnly cuts the connection of a write in the server's hands: an
// error, and the effect at most once. Kind 9.
func TestPGWriteOnceOnly(t *testing.T) {
	e := newPG(t, pgCounter)
	for i := range 5 {
		e.warm(pgReadCounter)
		before := e.n(e.plain)
		locker := e.begin(e.plain)
		e.must(locker, "SELECT n FROM counter WHERE id = 1 FOR UPDATE")
		failed := make(chan error, 1)
		go func() {
			_, err := e.db.ExecContext(e.ctx, "UPDATE counter SET n = n + 1 WHERE id = 1")
			failed <- err
		}()
		e.eventually("the UPDATE waits", func() bool { return e.waiting() > 0 })
		e.must(e.plain, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		if err := <-failed; err == nil {
			t.Fatal("a write whose backend was terminated is no error")
		}
		if err := locker.Rollback(); err != nil {
			t.Fatal(err)
		}
		e.eventually("it is over", func() bool { return e.busy("%UPDATE counter%") == "int64(0)" })
		if after := e.n(e.plain); after != before {
			t.Fatalf("round %d: the write was sent again: %d, then %d", i, before, after)
		}
		e.same("after a lost connection", pgReadCounter)
	}
}

// TestPGNoLockLeftByCancelledTransaction cancels transactions' contexts, with a
// single logical connection: database/sql keeps it, since it has IsValid.
func TestPGNoLockLeftByCancelledTransaction(t *testing.T) {
	for _, driver := range []string{"pgx", "cachedpgx"} {
		t.Run(driver, func(t *testing.T) {
			e := newPG(t, pgCounter)
			db := map[string]*sql.DB{"pgx": e.plain, "cachedpgx": e.db}[driver]
			watch := pgOpen(t, "pgx", e.dsn)
			db.SetMaxOpenConns(1)
			for i := range 20 {
				ctx, cancel := context.WithCancel(e.ctx)
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.ExecContext(ctx, "UPDATE counter SET n = -1 WHERE id = 1"); err != nil {
					t.Fatal(err)
				}
				cancel()
				if i%2 == 0 {
					_ = tx.Rollback()
				}
				for _, text := range []string{"UPDATE counter SET n = n + 1 WHERE id = 1", pgReadCounter} {
					if err := pgAskErr(e.ctx, db, text); err != nil {
						t.Fatalf("round %d: %s: %v", i, text, err)
					}
				}
				if got := e.n(db); got != int64(i+1) {
					t.Fatalf("round %d: the counter is %d", i, got)
				}
			}
			ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
			defer cancel()
			if _, err := watch.ExecContext(ctx, "UPDATE counter SET n = 0 WHERE id = 1"); err != nil {
				t.Errorf("a lock is left behind: %v", err)
			}
		})
	}
}
