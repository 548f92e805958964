package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestStdlibBadConn loses connections under a session, and in its way.
func TestStdlibBadConn(t *testing.T) {
	e := newPG(t, stdlibSchema)
	session := func(f func(conn *sql.Conn) string) func(db *sql.DB) string {
		return func(db *sql.DB) string {
			conn, err := db.Conn(e.ctx)
			if err != nil {
				return pgError(err)
			}
			defer conn.Close()
			told := f(conn)
			err = conn.Close()
			return told + " / " + pgError(err) + " / " + fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
		}
	}
	lose := func(conn *sql.Conn) string {
		return pgError(stdlibRaw(conn, func(pc *pgx.Conn) error { return pc.Close(e.ctx) }))
	}
	after := map[string]func(conn *sql.Conn) error{
		"Exec":    func(conn *sql.Conn) error { _, err := conn.ExecContext(e.ctx, "SELECT 1"); return err },
		"Query":   func(conn *sql.Conn) error { return pgAskErr(e.ctx, conn, "SELECT id FROM item WHERE id = 2") },
		"Prepare": func(conn *sql.Conn) error { _, err := conn.PrepareContext(e.ctx, "SELECT id FROM item"); return err },
		"Begin":   func(conn *sql.Conn) error { _, err := conn.BeginTx(e.ctx, nil); return err },
		"Ping":    func(conn *sql.Conn) error { return conn.PingContext(e.ctx) },
	}
	for name, f := range after {
		e.stdlibAlike("closed in Raw, then "+name, e.stdlibDrivers(), session(func(conn *sql.Conn) string {
			return lose(conn) + " / " + pgError(f(conn)) + " / " + pgError(f(conn))
		}))
		e.stdlibAlike("Raw gives ErrBadConn, then "+name, e.stdlibDrivers(), session(func(conn *sql.Conn) string {
			err := conn.Raw(func(any) error { return driver.ErrBadConn })
			return pgError(err) + " / " + pgError(f(conn))
		}))
		e.stdlibAlike("its backend is gone, then "+name, e.stdlibDrivers(), session(func(conn *sql.Conn) string {
			e.must(conn, "SET application_name = 'doomed'")
			e.stdlibKill("application_name = 'doomed'")
			err := f(conn)
			// What was written into a dead connection is told in words of the
			// moment; that it failed, and that the session stays lost, is not.
			return fmt.Sprint(err != nil, f(conn) != nil)
		}))
	}
	e.stdlibAlike("a transaction that was left open", e.stdlibDrivers(), func(db *sql.DB) string {
		for range 3 {
			conn, err := db.Conn(e.ctx)
			if err != nil {
				return pgError(err)
			}
			// Were it not over, this would fail the second time.
			e.must(conn, "BEGIN")
			e.must(conn, "CREATE TEMPORARY TABLE left_open (id int)")
			_ = conn.Close()
		}
		return fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
	})
	e.stdlibAlike("a panic in Raw", e.stdlibDrivers(), func(db *sql.DB) (told string) {
		conn, err := db.Conn(e.ctx)
		if err != nil {
			return pgError(err)
		}
		defer conn.Close()
		func() {
			defer func() { told = fmt.Sprint(recover()) }()
			_ = conn.Raw(func(any) error { panic("a function's own panic") })
		}()
		return told + pgError(conn.PingContext(e.ctx)) + fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
	})
}

// TestStdlibPing reaches the server each time.
func TestStdlibPing(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		for range 2 {
			for _, db := range e.stdlibDrivers() {
				if err := db.PingContext(e.ctx); err != nil {
					e.Errorf("ping: %v", err)
				}
			}
			if ran := e.promiseNew(func() { _ = e.db.PingContext(e.ctx) }); len(ran) == 0 {
				e.Error("a ping did not reach the server")
			}
		}
	})
}

// Transactions.

// TestStdlibTransactions begins with every option and ends every way.
func TestStdlibTransactions(t *testing.T) {
	stdlibInModes(t, []string{"cache_statement", "simple_protocol"}, stdlibSchema+"; CREATE TABLE sums (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)", func(e *pgEnv) {
		const count = "SELECT count(*), sum(n) FROM sums"
		for level := sql.LevelDefault; level <= sql.LevelLinearizable+1; level++ {
			for _, readOnly := range []bool{false, true} {
				e.stdlibAlike(fmt.Sprint(level, readOnly), e.stdlibDrivers(), func(db *sql.DB) string {
					tx, err := db.BeginTx(e.ctx, &sql.TxOptions{Isolation: level, ReadOnly: readOnly})
					if err != nil {
						return pgError(err)
					}
					told := e.one(tx, "SHOW transaction_isolation") + e.one(tx, "SHOW transaction_read_only")
					_, err = tx.ExecContext(e.ctx, "INSERT INTO sums VALUES (1)")
					told += pgError(err) + fmt.Sprint(pgAsk(e.ctx, tx, count))
					return told + pgError(tx.Rollback()) + pgError(tx.Commit()) + fmt.Sprint(pgAsk(e.ctx, db, count))
				})
			}
		}
		ends := map[string]func(db *sql.DB, tx *sql.Tx) string{
			"committed":       func(db *sql.DB, tx *sql.Tx) string { return pgError(tx.Commit()) },
			"rolled back":     func(db *sql.DB, tx *sql.Tx) string { return pgError(tx.Rollback()) },
			"committed twice": func(db *sql.DB, tx *sql.Tx) string { return pgError(tx.Commit()) + pgError(tx.Commit()) },
			"broken, then committed": func(db *sql.DB, tx *sql.Tx) string {
				_, err := tx.ExecContext(e.ctx, "syntax error")
				return pgError(err) + pgError(pgAskErr(e.ctx, tx, count)) + pgError(tx.Commit())
			},
			"a deferred constraint": func(db *sql.DB, tx *sql.Tx) string {
				_, err := tx.ExecContext(e.ctx, "INSERT INTO sums VALUES (7)")
				return pgError(err) + pgError(tx.Commit())
			},
			"used after its end": func(db *sql.DB, tx *sql.Tx) string {
				stmt, err := tx.PrepareContext(e.ctx, count)
				if err != nil {
					return pgError(err)
				}
				told := fmt.Sprint(pgAskStmt(e.ctx, stmt)) + pgError(tx.Rollback()) + pgError(pgAskErr(e.ctx, tx, count)) + fmt.Sprint(pgAskStmt(e.ctx, stmt))
				_, err = tx.ExecContext(e.ctx, "SELECT 1")
				return told + pgError(err)
			},
			"a cursor": func(db *sql.DB, tx *sql.Tx) string {
				e.must(tx, "DECLARE c CURSOR FOR SELECT id FROM item ORDER BY id")
				told := fmt.Sprint(pgAsk(e.ctx, tx, "FETCH 3 FROM c"), pgAsk(e.ctx, tx, "FETCH 2 FROM c"), pgAsk(e.ctx, tx, "FETCH BACKWARD 1 FROM c"))
				return told + pgError(tx.Commit())
			},
			"rows left open": func(db *sql.DB, tx *sql.Tx) string {
				rows, err := tx.QueryContext(e.ctx, "SELECT id FROM item ORDER BY id")
				if err != nil {
					return pgError(err)
				}
				rows.Next()
				return pgError(tx.Rollback()) + pgError(rows.Err()) + fmt.Sprint(rows.Next())
			},
		}
		for name, end := range ends {
			e.stdlibAlike(name, e.stdlibDrivers(), func(db *sql.DB) string {
				tx := e.begin(db)
				e.must(tx, "INSERT INTO sums VALUES (7)")
				told := fmt.Sprint(pgAsk(e.ctx, tx, count)) + end(db, tx) + fmt.Sprint(pgAsk(e.ctx, db, count), pgAsk(e.ctx, db, count))
				e.must(db, "DELETE FROM sums")
				return told
			})
		}
		e.stdlibBoth("cancelled", func(db *sql.DB) string {
			ctx, cancel := context.WithCancel(e.ctx)
			defer cancel()
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return pgError(err)
			}
			e.must(tx, "CREATE TABLE never (id int)")
			cancel()
			err = tx.Commit()
			told := fmt.Sprint(errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrTxDone))
			return told + fmt.Sprint(pgAsk(e.ctx, db, "SELECT count(*) FROM never"))
		})
		e.stdlibAlike("two that can't both be", e.stdlibDrivers(), func(db *sql.DB) string {
			e.must(db, "INSERT INTO sums VALUES (1), (2)")
			var txs [2]*sql.Tx
			for i := range txs {
				var err error
				if txs[i], err = db.BeginTx(e.ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}); err != nil {
					return pgError(err)
				}
				defer txs[i].Rollback()
				e.must(txs[i], "INSERT INTO sums SELECT sum(n) + $1::int FROM sums", i)
			}
			first, second := txs[0].Commit(), txs[1].Commit()
			pg, ok := errors.AsType[*pgconn.PgError](second)
			told := fmt.Sprint(first, ok && pg.Code == "40001", pgAsk(e.ctx, db, count))
			e.must(db, "DELETE FROM sums")
			return told
		})
	})
}

// TestStdlibRoutines calls functions and procedures that give things back, and
// writes that fail when all seems over.
func TestStdlibRoutines(t *testing.T) {
	stdlibInModes(t, stdlibEncodings, `
		CREATE TYPE fruit AS ENUM ('orange', 'apple');
		CREATE DOMAIN uint64 AS numeric(20,0);
		CREATE TABLE basket (id text PRIMARY KEY, n int NOT NULL, f fruit, UNIQUE (n) DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO basket VALUES ('a', 1, 'orange'), ('b', 2, 'apple'), ('c', 3, NULL);
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.n = 4 THEN RAISE EXCEPTION 'n can''t be 4'; END IF; RETURN new; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON basket DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
		CREATE FUNCTION out_two(OUT a int, OUT b int) LANGUAGE plpgsql AS $$ BEGIN a := 1; b := 2; END $$;
		CREATE PROCEDURE in_out(a int, INOUT b int, INOUT c int) LANGUAGE plpgsql AS $$ BEGIN b := b + 1; c := a + b; END $$`,
		func(e *pgEnv) {
			for _, c := range []pgCase{
				{"SELECT * FROM out_two()", nil}, {"SELECT out_two()", nil}, {"CALL in_out(1, 2, NULL)", nil}, {"CALL in_out($1, $2, NULL)", []any{1, 2}},
				{"INSERT INTO basket VALUES ('e', 4) RETURNING id", nil}, {"UPDATE basket SET n = n + 1 WHERE id = 'b' RETURNING *", nil}, {"INSERT INTO basket VALUES ('a', 9)", nil},
				{"SELECT $1::fruit", []any{"orange"}}, {"SELECT id FROM basket WHERE f = $1", []any{"apple"}}, {"SELECT id FROM basket WHERE f = $1", []any{"pear"}}, {"SELECT f FROM basket ORDER BY id", nil},
				{"SELECT $1::uint64", []any{"42"}}, {"SELECT $1::uint64", []any{uint64(7)}}, {"SHOW server_encoding", nil}, {"EXPLAIN (COSTS off) SELECT id FROM basket", nil},
				{"DELETE FROM basket WHERE id = 'none' RETURNING id", nil}, {"LISTEN x", nil}, {"VACUUM basket", nil},
			} {
				e.stdlibAlike(fmt.Sprint(c.text, c.args), e.stdlibDrivers(), func(db *sql.DB) string {
					told := fmt.Sprint(pgAsk(e.ctx, db, c.text, c.args...))
					var id any
					return told + pgError(db.QueryRowContext(e.ctx, c.text, c.args...).Scan(&id)) + fmt.Sprint(id, pgAsk(e.ctx, db, "SELECT id, n FROM basket ORDER BY id"))
				})
			}
			// A connection that a failed write has left is sound.
			e.same("afterwards", "SELECT id, n, f FROM basket ORDER BY id")
		})
}

// TestStdlibResults tells how many rows a write touched, and of no last id.
func TestStdlibResults(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		long := strings.Repeat("SELECT 42; ", 1000)
		for _, c := range []pgCase{
			{"UPDATE item SET name = name", nil}, {"UPDATE item SET name = name WHERE id = $1", []any{1}}, {"UPDATE item SET name = name WHERE id = -1", nil}, {"SELECT id FROM item", nil},
			{"CREATE TEMPORARY TABLE IF NOT EXISTS tmp (id int)", nil}, {"DELETE FROM item WHERE id = $1", []any{-1}}, {"DROP TABLE IF EXISTS no_such_table", nil}, {long, nil},
			{"WITH u AS (UPDATE item SET name = name WHERE id < 3 RETURNING id) SELECT id FROM u", nil}, {"CREATE TABLE item (id int)", nil}, {"selct $1", []any{1}}, {"INSERT INTO item (id, name) VALUES (1, 'again')", nil},
			{"SELECT 1/0", nil}, {"UPDATE item SET name = $1::varchar(3) WHERE id = 1", []any{"one", "more"}},
		} {
			e.stdlibBoth(pgShort(c.text), func(db *sql.DB) string {
				res, err := db.ExecContext(e.ctx, c.text, c.args...)
				if err != nil {
					return pgError(err)
				}
				n, err := res.RowsAffected()
				_, none := res.LastInsertId()
				return fmt.Sprint(n, err, none)
			})
		}
	})
}

// Errors.

// TestStdlibErrorFields compares every field of what the server says.
func TestStdlibErrorFields(t *testing.T) {
	stdlibInModes(t, stdlibEncodings, stdlibSchema+`
		CREATE DOMAIN small AS int CONSTRAINT small_enough CHECK (VALUE < 10);
		CREATE TABLE child (id int PRIMARY KEY, item int CONSTRAINT to_item REFERENCES item, s small, CONSTRAINT positive CHECK (id > 0), name text NOT NULL DEFAULT '');
		CREATE FUNCTION fail(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
			RAISE EXCEPTION USING ERRCODE = 'ZZ001', MESSAGE = 'a message', DETAIL = 'a detail', HINT = 'a hint', SCHEMA = 'a schema', TABLE = 'a table',
				COLUMN = 'a column', CONSTRAINT = 'a constraint', DATATYPE = 'a type'; END $$;
		CREATE FUNCTION inner_error(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SELECT no_such_column'; RETURN 1; END $$`,
		func(e *pgEnv) {
			for _, c := range []pgCase{
				{"SELECT fail(id) FROM item WHERE id = 1", nil}, {"SELECT inner_error(id) FROM item WHERE id = 1", nil}, {"SELECT no_such_column FROM item", nil}, {"SELECT 1 / (id - 3) FROM item ORDER BY id", nil},
				{"SELECT id FROM item WHERE name::int = 1", nil}, {"SELECT id FROM item WHERE id = $1::text::int", []any{"x"}}, {"SELECT id::small FROM item WHERE id > 10", nil}, {"SELECT id FROM item WHERE", nil},
				{"INSERT INTO child VALUES (0)", nil}, {"INSERT INTO child VALUES (1, 999)", nil}, {"INSERT INTO child VALUES (1, NULL, 99)", nil}, {"INSERT INTO child (id, name) VALUES (1, NULL)", nil},
				{"INSERT INTO item (id, name) VALUES ($1, 'x') RETURNING id", []any{1}}, {"SELECT * FROM no_such_table", nil}, {"SELECT $1", []any{[]int{1}}},
			} {
				e.stdlibBoth(c.text, func(db *sql.DB) string {
					_, err := db.ExecContext(e.ctx, c.text, c.args...)
					told := fmt.Sprint(pgAsk(e.ctx, db, c.text, c.args...)) + pgError(err)
					pg, ok := errors.AsType[*pgconn.PgError](err)
					return told + fmt.Sprint(ok && pg.SQLState() == pg.Code, pgconn.SafeToRetry(err), pgconn.Timeout(err))
				})
			}
			if got := pgAsk(e.ctx, e.db, "SELECT fail(id) FROM item WHERE id = 1").Err; !strings.Contains(got, "Code:ZZ001") || !strings.Contains(got, "DataTypeName:a type") {
				e.Errorf("the fields are not told: %s", got)
			}
		})
}

// TestStdlibErrorAfterRows shares a load that fails in row k: all who wait get k
// rows and then the error, as plain pgx gives them, and nobody gets it later.
func TestStdlibErrorAfterRows(t *testing.T) {
	e := newPG(t, stdlibSchema)
	for _, k := range []int{1, 2, 7} {
		text := fmt.Sprintf("SELECT id, 10 / (%d - id) FROM item ORDER BY id", k)
		want := pgAsk(e.ctx, e.plain, text)
		if want.Err == "" {
			t.Fatal("plain pgx gives no error")
		}
		pgAsk(e.ctx, e.db, text) // known by now
		before := e.wire.ran(text)
		release := e.lock("item")
		answers := make([]pgAnswer, 8)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = pgAsk(e.ctx, e.db, text) })
		}
		e.eventually("all of them wait for one load", func() bool { return e.waiting() == 1 && e.db.Stats().InUse == len(answers) })
		release()
		wg.Wait()
		for i, got := range answers {
			if diff := pgDiff(want, got); diff != "" {
				t.Errorf("error in row %d, caller %d: %s", k, i, diff)
			}
		}
		if n := e.wire.ran(text) - before; n > len(answers) {
			t.Errorf("error in row %d: %d callers made %d calls at the server", k, len(answers), n)
		}
		if n := e.calls(text, func() { e.same("later", text) }); n != 1 {
			t.Errorf("error in row %d: it was served from memory", k)
		}
	}
}

// stdlibEnd is what can be told of the error of a call that its context ended.
func stdlibEnd(err error) string {
	_, server := errors.AsType[*pgconn.PgError](err)
	return fmt.Sprintf("cancelled: %t, deadline: %t, timeout: %t, of the server: %t", errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err), server)
}

// stdlibEnding is a context that ends when the test says so, and as it says.
type stdlibEnding struct {
	context.Context
	done chan struct{}
	err  error
}

func (c *stdlibEnding) Done() <-chan struct{} { return c.done }

func (c *stdlibEnding) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// TestStdlibTimeouts ends calls that wait at the server, by deadline and by
// cancelling: whoever leads a load, and whoever waits for it.
func TestStdlibTimeouts(t *testing.T) {
	e := newPG(t, stdlibSchema)
	const read, prepared = "SELECT id, name FROM item WHERE id < $1", "SELECT id FROM item WHERE id <= $1"
	stmts := map[*sql.DB]*sql.Stmt{}
	for _, db := range e.stdlibDrivers() {
		stmt, err := db.PrepareContext(e.ctx, prepared)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		stmts[db] = stmt
		for _, err := range []error{pgAskErr(e.ctx, db, read, 0), pgAskStmtErr(e.ctx, stmt, 0)} { // known by now
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// Each call asks something of its own, since a load that its caller has left
	// goes on for a while.
	var n atomic.Int32
	calls := map[string]func(ctx context.Context, db *sql.DB) error{
		"Query": func(ctx context.Context, db *sql.DB) error { return pgAskErr(ctx, db, read, n.Add(1)) },
		"QueryRow": func(ctx context.Context, db *sql.DB) error {
			return db.QueryRowContext(ctx, read, n.Add(1)).Scan(new(any), new(any))
		},
		"prepared": func(ctx context.Context, db *sql.DB) error { return pgAskStmtErr(ctx, stmts[db], n.Add(1)) },
		"uncached": func(ctx context.Context, db *sql.DB) error { return pgAskErr(ctx, db, "SELECT id, now() FROM item") },
		"Exec": func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, "UPDATE item SET name = name")
			return err
		},
		"RETURNING": func(ctx context.Context, db *sql.DB) error {
			return pgAskErr(ctx, db, "UPDATE item SET name = name RETURNING id")
		},
	}
	// waiting are the backends that wait for the lock.
	waiting := func() (pids []string) {
		e.Helper()
		for _, row := range pgAsk(e.ctx, e.plain, "SELECT pid FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Rows {
			pids = append(pids, row[0])
		}
		return pids
	}
	waits := func(f func()) {
		e.Helper()
		before := waiting()
		f()
		e.eventually("one more waits for the lock", func() bool {
			return slices.ContainsFunc(waiting(), func(pid string) bool { return !slices.Contains(before, pid) })
		})
	}
	release := e.lock("item")
	for name, call := range calls {
		for _, how := range []error{context.DeadlineExceeded, context.Canceled} {
			var told []string
			for _, db := range e.stdlibDrivers() {
				ctx := &stdlibEnding{e.ctx, make(chan struct{}), how}
				end := make(chan error, 1)
				waits(func() { go func() { end <- call(ctx, db) }() })
				close(ctx.done)
				told = append(told, stdlibEnd(<-end))
			}
			if told[0] != told[1] {
				t.Errorf("%s ended by %v: %s; plain pgx: %s", name, how, told[1], told[0])
			}
		}
	}

	// One load, whose leader has time, and who wait for it.
	var leader pgAnswer
	led := make(chan struct{})
	waits(func() {
		go func() { defer close(led); leader = pgAsk(e.ctx, e.db, read, 1000) }()
	})
	var waiters sync.WaitGroup
	var ends []*stdlibEnding
	for i := range 6 {
		ctx := &stdlibEnding{e.ctx, make(chan struct{}), []error{context.DeadlineExceeded, context.Canceled}[i%2]}
		want := []string{"cancelled: false, deadline: true, timeout: true, of the server: false", "cancelled: true, deadline: false, timeout: false, of the server: false"}[i%2]
		ends = append(ends, ctx)
		waiters.Go(func() {
			if got := stdlibEnd(pgAskErr(ctx, e.db, read, 1000)); got != want {
				t.Errorf("who waits for another's load, ended by %v: %s", ctx.err, got)
			}
		})
	}
	e.eventually("all are on their way", func() bool { return e.db.Stats().InUse == 7 })
	for _, ctx := range ends {
		close(ctx.done)
	}
	waiters.Wait()
	release()
	<-led
	if diff := pgDiff(pgAsk(e.ctx, e.plain, read, 1000), leader); diff != "" {
		t.Errorf("the leader: %s", diff)
	}
	for name, call := range calls {
		if err := call(e.ctx, e.db); err != nil {
			t.Errorf("%s, afterwards: %v", name, err)
		}
	}
}

// Pools and statements.
