package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
)

// raw runs f on the pgx connection of conn.
func (e *pgEnv) raw(conn *sql.Conn, f func(*pgx.Conn) error) {
	e.Helper()
	err := conn.Raw(func(c any) error {
		ours, ok := c.(*cachedpgx.Conn)
		if !ok {
			return fmt.Errorf("Raw gives a %T", c)
		}
		pc := ours.Conn()
		if pc == nil {
			return errors.New("no pgx connection")
		}
		if again, err := ours.ConnContext(e.ctx); err != nil || again != pc {
			return fmt.Errorf("ConnContext gives another connection, or %v", err)
		}
		return f(pc)
	})
	if err != nil {
		e.Fatal(err)
	}
}

// TestPGRaw uses what only pgx's own connection has, and reads through the
// handle after each.
func TestPGRaw(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'one')")
	const text = "SELECT id, name FROM item ORDER BY id"
	conn := e.session(e.db)
	for _, c := range []struct {
		name string
		f    func(*pgx.Conn) error
	}{
		{"CopyFrom", func(pc *pgx.Conn) error {
			n, err := pc.CopyFrom(e.ctx, pgx.Identifier{"item"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{2, "two"}, {3, "three"}}))
			if n != 2 {
				return fmt.Errorf("copied %d, %w", n, err)
			}
			return err
		}},
		{"SendBatch", func(pc *pgx.Conn) error {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO item VALUES ($1, $2)", 4, "four")
			b.Queue("UPDATE item SET name = 'changed' WHERE id = 1")
			return pc.SendBatch(e.ctx, b).Close()
		}},
		{"Exec", func(pc *pgx.Conn) error { _, err := pc.Exec(e.ctx, "DELETE FROM item WHERE id = 2"); return err }},
		{"a transaction", func(pc *pgx.Conn) error {
			return pgx.BeginFunc(e.ctx, pc, func(tx pgx.Tx) error {
				_, err := tx.Exec(e.ctx, "UPDATE item SET name = name || '!'")
				return err
			})
		}},
		{"PgConn", func(pc *pgx.Conn) error {
			_, err := pc.PgConn().Exec(e.ctx, "UPDATE item SET name = name || '?'; UPDATE item SET name = name || '.'").ReadAll()
			return err
		}},
		{"COPY FROM STDIN", func(pc *pgx.Conn) error {
			_, err := pc.PgConn().CopyFrom(e.ctx, strings.NewReader("9\tnine\n"), "COPY item FROM STDIN")
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e.on(t)
			e.warm(text)
			before := pgAsk(e.ctx, e.plain, text)
			e.raw(conn, c.f)
			want := pgAsk(e.ctx, e.plain, text)
			if pgDiff(before, want) == "" {
				t.Fatal("the write changed nothing")
			}
			for _, q := range []struct {
				what string
				pgQuerier
			}{{"another connection", e.db}, {"the same connection", conn}, {"another connection, again", e.db}} {
				if diff := pgDiff(want, pgAsk(e.ctx, q, text)); diff != "" {
					t.Errorf("%s: %s", q.what, diff)
				}
			}
		})
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	e.warm(text) // Raw is over: the cache is in use again
	e.same("at the end", text)
}

// TestPGRawTransactionLeftOpen leaves a transaction open in Raw and ends it by
// text, or never.
func TestPGRawTransactionLeftOpen(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int PRIMARY KEY, n int); INSERT INTO item VALUES (1, 0)")
	const text = "SELECT n FROM item WHERE id = 1"
	e.warm(text)
	conn := e.session(e.db)
	open := func(pc *pgx.Conn) error {
		_, err := pc.Exec(e.ctx, "BEGIN; UPDATE item SET n = n + 1 WHERE id = 1")
		return err
	}
	e.raw(conn, open)
	e.same("outside", text)
	if got := e.one(conn, text); got != "int64(1)" {
		t.Errorf("inside: %s", got)
	}
	e.same("outside, after a read inside", text)
	e.must(conn, "COMMIT")
	e.same("committed", text)
	e.raw(conn, open)
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		t.Logf("closing a connection in a transaction: %v", err)
	}
	e.eventually("the transaction of the closed connection is rolled back", func() bool {
		return e.one(e.plain, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'") == "int64(0)"
	})
	e.same("abandoned", text)
	e.warm(text)
}

// TestPGListen waits for a notification in Raw, as pgx's users do.
func TestPGListen(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int); INSERT INTO item VALUES (1)")
	conn := e.session(e.db)
	e.must(conn, "LISTEN news")
	pid := e.one(conn, "SELECT pg_backend_pid()")
	for i := range 3 {
		e.must(e.db, fmt.Sprintf("NOTIFY news, 'no. %d'", i))
		e.raw(conn, func(pc *pgx.Conn) error {
			n, err := pc.WaitForNotification(e.ctx)
			if err != nil {
				return err
			}
			if n.Payload != fmt.Sprintf("no. %d", i) {
				return fmt.Errorf("notification %q", n.Payload)
			}
			return nil
		})
		if got := e.one(conn, "SELECT pg_backend_pid()"); got != pid {
			t.Fatalf("a listening session moved from backend %s to %s", pid, got)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	// Nobody else gets a connection that listens.
	for range 20 {
		got := e.one(e.db, "SELECT count(*) FROM pg_listening_channels()")
		if pgSame := e.one(e.db, "SELECT pg_backend_pid()"); got != "int64(0)" && pgSame != pid {
			t.Fatalf("backend %s listens to %s channels for who never asked", pgSame, got)
		}
	}
}

// TestPGPrepared covers db.Prepare, tx.Stmt and conn.Prepare.
func TestPGPrepared(t *testing.T) {
	e := newPG(t, pgZoo)
	const text = "SELECT id, name, qty FROM item WHERE id = $1"
	stmt, err := e.db.PrepareContext(e.ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	read := func(s *sql.Stmt, id any) string { return fmt.Sprint(pgAskStmt(e.ctx, s, id)) }

	read(stmt, 1)
	if n := e.calls(text, func() { read(stmt, 1) }); n != 0 {
		t.Errorf("the second prepared read made %d calls at the server", n)
	}
	if n := e.cache.Server().Stats().InUse; n != 0 {
		t.Errorf("a prepared statement holds %d server connections", n)
	}
	before := e.wire.parsed(text)
	for range 50 {
		s, err := e.db.PrepareContext(e.ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		read(s, 1)
		s.Close()
	}
	if n := e.wire.parsed(text) - before; n > 5 {
		t.Errorf("preparing one text 50 times asked the server %d times", n)
	}

	tx := e.begin(e.db)
	e.must(tx, "UPDATE item SET qty = 1000 WHERE id = 1")
	inside := read(tx.StmtContext(e.ctx, stmt), 1)
	if !strings.Contains(inside, "int64(1000)") {
		t.Errorf("tx.Stmt does not see the transaction's own write: %s", inside)
	}
	if out := read(stmt, 1); strings.Contains(out, "int64(1000)") {
		t.Errorf("an uncommitted write is seen outside: %s", out)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if out := read(stmt, 1); strings.Contains(out, "int64(1000)") {
		t.Errorf("a write that was rolled back is seen: %s", out)
	}

	write, err := e.db.PrepareContext(e.ctx, "UPDATE item SET qty = qty + 1 WHERE id = $1")
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	for range 10 {
		read(stmt, 1)
		if _, err := write.ExecContext(e.ctx, 1); err != nil {
			t.Fatal(err)
		}
		want, got := fmt.Sprint(pgAsk(e.ctx, e.plain, text, 1)), read(stmt, 1)
		if want != got {
			t.Fatalf("after a prepared write: %s, want %s", got, want)
		}
	}

	conn := e.session(e.db)
	cs, err := conn.PrepareContext(e.ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	if want, got := fmt.Sprint(pgAsk(e.ctx, e.plain, text, 2)), read(cs, 2); want != got {
		t.Errorf("prepared on a connection: %s, want %s", got, want)
	}

	for _, bad := range []string{"SELECT no_such FROM item", "SELECT", "SELECT id FROM item WHERE id = $1 AND name = $1", "SELECT 1; SELECT 2"} {
		_, want := e.plain.PrepareContext(e.ctx, bad)
		_, got := e.db.PrepareContext(e.ctx, bad)
		if pgError(want) != pgError(got) {
			t.Errorf("Prepare(%q): error %q, plain pgx gives %q", bad, pgError(got), pgError(want))
		}
	}
}

// TestPGPreparedAcrossDDL checks that a statement prepared before DDL answers as
// the table is after it. ("cached plan must not change result type" is asked
// again.) Kind 15.
func TestPGPreparedAcrossDDL(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int, n int); INSERT INTO item VALUES (1, 10)")
	const text = "SELECT * FROM item WHERE id = $1"
	stmt, err := e.db.PrepareContext(e.ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for _, ddl := range []string{
		"ALTER TABLE item ADD COLUMN extra text DEFAULT 'x'",
		"ALTER TABLE item ALTER COLUMN n TYPE bigint",
		"ALTER TABLE item RENAME COLUMN n TO m",
		"ALTER TABLE item DROP COLUMN extra",
		"DROP TABLE item; CREATE TABLE item (id int, other text); INSERT INTO item VALUES (1, 'new')",
	} {
		for range 2 {
			pgAskStmt(e.ctx, stmt, 1)
			pgAsk(e.ctx, e.db, text, 1)
		}
		e.must(e.db, ddl)
		fresh := pgOpen(t, "pgx", e.dsn)
		want := pgAsk(e.ctx, fresh, text, 1)
		if diff := pgDiff(want, pgAsk(e.ctx, e.db, text, 1)); diff != "" {
			t.Errorf("after %s: direct: %s", ddl, diff)
		}
		if diff := pgDiff(want, pgAskStmt(e.ctx, stmt, 1)); diff != "" {
			t.Errorf("after %s: prepared: %s", ddl, diff)
		}
	}
}

// TestPGTracer checks that pgx's tracer sees loads, with what the leader's
// context holds, and is not shown hits.
func TestPGTracer(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int); INSERT INTO item VALUES (1)")
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		t.Fatal(err)
	}
	tracer := &pgTracer{}
	config.Tracer = tracer
	db, err := cachedpgx.OpenDB(pgConnector(config), cachedpgx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(context.WithValue(e.ctx, pgTraceKey{}, "request 1"))
	defer cancel()
	for range 5 {
		if got := pgAsk(ctx, db, "SELECT id FROM item"); got.Err != "" {
			t.Fatal(got.Err)
		}
	}
	if got := tracer.seen("SELECT id FROM item"); fmt.Sprint(got) != "[request 1]" {
		t.Errorf("the tracer saw the read as %v, want once, with the leader's value", got)
	}
}
