package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const pgTenants = `
	CREATE SCHEMA a; CREATE TABLE a.t AS SELECT 'a' AS v;
	CREATE SCHEMA b; CREATE TABLE b.t AS SELECT 'b' AS v;
	CREATE TABLE public.t AS SELECT 'public' AS v;
	CREATE TABLE ev AS SELECT interval '1 day 2 hours' AS iv, ARRAY[timestamptz '2024-06-01 12:00:00+00'] AS ats, '\x00ff'::bytea AS by,
		1.1::float8 AS f, ARRAY['\xabcd'::bytea] AS bys, ARRAY[date '2024-02-01'] AS ds;`

// TestPGAlternatingSessions lets sessions with settings of their own alternate a
// thousand times: none ever sees another's rows. Kind 1.
func TestPGAlternatingSessions(t *testing.T) {
	e := newPG(t, pgTenants)
	role := "limited_" + pgName(e)
	e.must(e.plain, "CREATE ROLE "+role+"; GRANT USAGE ON SCHEMA a TO "+role)
	t.Cleanup(func() { pgDropRole(t, e.dsn, role) })

	type session struct {
		set  string
		text string
		conn [2]*sql.Conn // pgx, cachedpgx
		want pgAnswer
	}
	sessions := []*session{
		{set: "SET search_path = a", text: "SELECT v FROM t"},
		{set: "SET search_path = b", text: "SELECT v FROM t"},
		{set: "SELECT set_config('search_path', 'b', false)", text: "SELECT v FROM t"},
		{set: "SET search_path = nowhere", text: "SELECT v FROM t"},
		{set: "SET ROLE " + role, text: "SELECT v FROM a.t"},
		{set: "SET ROLE " + role, text: "SELECT v FROM t"},
		{set: "SET TimeZone = 'Asia/Tokyo'", text: "SELECT ats FROM ev"},
		{set: "SET TIME ZONE -8", text: "SELECT ats FROM ev"},
		{set: "SET DateStyle = 'German'", text: "SELECT ds FROM ev"},
		{set: "SET IntervalStyle = 'iso_8601'", text: "SELECT iv FROM ev"},
		{set: "SET bytea_output = 'escape'", text: "SELECT bys FROM ev"},
		{set: "SET statement_timeout = '1h'", text: "SELECT v FROM t"},
	}
	for _, s := range sessions {
		for i, db := range []*sql.DB{e.plain, e.db} {
			s.conn[i] = e.session(db)
			if err := pgAskErr(e.ctx, s.conn[i], s.set); err != nil {
				t.Fatal(err)
			}
		}
		s.want = pgAsk(e.ctx, s.conn[0], s.text)
	}
	texts := map[string]pgAnswer{}
	for _, s := range sessions {
		texts[s.text] = pgAsk(e.ctx, e.plain, s.text)
	}
	for round := range 1000 {
		s := sessions[round%len(sessions)]
		if diff := pgDiff(s.want, pgAsk(e.ctx, s.conn[1], s.text)); diff != "" {
			t.Fatalf("round %d, after %s: %s: %s", round, s.set, s.text, diff)
		}
		if diff := pgDiff(texts[s.text], pgAsk(e.ctx, e.db, s.text)); diff != "" {
			t.Fatalf("round %d, a session without settings: %s: %s", round, s.text, diff)
		}
	}
	if s := e.cache.Stats(); s.Hits < 500 {
		t.Errorf("only %d hits: this test proves less than it should", s.Hits)
	}
}

// TestPGHandlesApart opens handles that differ in one parameter of the DSN.
func TestPGHandlesApart(t *testing.T) {
	e := newPG(t, pgTenants)
	for range 3 {
		for _, c := range []struct{ param, value, want string }{
			{"search_path", "a", `string("a")`}, {"search_path", "b", `string("b")`}, {"search_path", "public", `string("public")`},
		} {
			db := pgOpen(t, "cachedpgx", pgWith(t, e.dsn, c.param, c.value))
			for range 3 {
				if got := e.one(db, "SELECT v FROM t"); got != c.want {
					t.Errorf("%s=%s: %s", c.param, c.value, got)
				}
			}
		}
	}
}

// TestPGSettingsOnAHandle does what one shouldn't: SET through the pool. With a
// single connection it lasts, as with plain pgx.
func TestPGSettingsOnAHandle(t *testing.T) {
	steps := []string{
		"SET search_path = a", "SELECT v FROM t", "SELECT v FROM t", "SHOW search_path", "SET search_path = b", "SELECT v FROM t",
		"RESET search_path", "SELECT v FROM t", "SELECT v FROM t", "SET search_path = a", "DISCARD ALL", "SELECT v FROM t", "SELECT v FROM t",
		"SELECT set_config('search_path', 'b', false)", "SELECT v FROM t", "SELECT v FROM t", "RESET ALL", "SELECT v FROM t",
		"BEGIN", "SET LOCAL search_path = a", "SELECT v FROM t", "COMMIT", "SELECT v FROM t", "SELECT v FROM t",
		"BEGIN", "SET search_path = b", "ROLLBACK", "SELECT v FROM t", "BEGIN", "SET search_path = b", "COMMIT", "SELECT v FROM t",
		"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "UPDATE t SET v = v", "SELECT v FROM t", "RESET ALL", "SELECT v FROM t",
		"PREPARE p AS SELECT v FROM t", "EXECUTE p", "EXECUTE p", "DEALLOCATE p", "SELECT v FROM t",
		"CREATE TEMP TABLE t (v text)", "SELECT v FROM t", "INSERT INTO t VALUES ('temp')", "SELECT v FROM t", "DROP TABLE t", "SELECT v FROM t",
		"SELECT pg_advisory_lock(1)", "SELECT v FROM t", "SELECT pg_advisory_unlock(1)", "SELECT pg_advisory_unlock(1)", "SELECT v FROM t",
		"BEGIN", "SELECT nonsense", "SELECT v FROM t", "COMMIT", "SELECT v FROM t",
		"DO $$BEGIN PERFORM set_config('search_path', 'a', false); END$$", "SELECT v FROM t", "SELECT v FROM t", "DISCARD ALL", "SELECT v FROM t",
		"SET TimeZone = 'Asia/Tokyo'", "SELECT ats FROM ev", "SELECT ats FROM ev", "RESET TimeZone", "SELECT ats FROM ev",
		"DECLARE c CURSOR WITH HOLD FOR SELECT v FROM t", "FETCH c", "CLOSE c", "SELECT v FROM t",
	}
	for _, how := range []string{"a connection", "a handle with one connection"} {
		t.Run(how, func(t *testing.T) {
			e := newPG(t, pgTenants)
			var plain, cached pgQuerier = e.plain, e.db
			e.plain.SetMaxOpenConns(1)
			e.db.SetMaxOpenConns(1)
			if how == "a connection" {
				plain, cached = e.session(e.plain), e.session(e.db)
			}
			var want []pgAnswer // of all steps first: both take the same locks
			for _, text := range steps {
				want = append(want, pgAsk(e.ctx, plain, text))
				if strings.Contains(want[len(want)-1].Err, "26000") {
					// DISCARD ALL drops what pgx has prepared, which it learns so.
					want[len(want)-1] = pgAsk(e.ctx, plain, text)
				}
			}
			for i, text := range steps {
				got := pgAsk(e.ctx, cached, text)
				if strings.Contains(got.Err, "26000") {
					got = pgAsk(e.ctx, cached, text)
				}
				if diff := pgDiff(want[i], got); diff != "" {
					t.Errorf("step %d, %s, after %s: %s", i, text, strings.Join(steps[max(0, i-4):i], "; "), diff)
				}
			}
		})
	}
}

// TestPGChangedSessionKeepsItsBackend checks that what a session has of its own
// stays with it, and that it is clean again after DISCARD ALL.
func TestPGChangedSessionKeepsItsBackend(t *testing.T) {
	e := newPG(t, pgTenants)
	for _, set := range []string{
		"SET application_name = 'mine'", "SET search_path = a", "CREATE TEMP TABLE mine (id int)", "SELECT pg_advisory_lock(42)",
		"LISTEN mine", "PREPARE mine AS SELECT 1", "SET ROLE NONE; SET work_mem = '5MB'", "DECLARE mine CURSOR WITH HOLD FOR SELECT 1",
	} {
		conn := e.session(e.db)
		e.must(conn, set)
		pid := e.one(conn, "SELECT pg_backend_pid()")
		for range 20 {
			e.one(e.db, "SELECT v FROM public.t")
			pgAsk(e.ctx, e.db, "SELECT pg_backend_pid()")
			if got := e.one(conn, "SELECT pg_backend_pid()"); got != pid {
				t.Fatalf("after %s the session moved from backend %s to %s", set, pid, got)
			}
		}
		e.must(conn, "DISCARD ALL")
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		e.warm("SELECT v FROM public.t")
	}
	if got := e.one(e.db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); got != "int64(0)" {
		t.Errorf("%s advisory locks are left", got)
	}
}

// TestPGIdleSessionGivesItsBackendUp lets a session with settings lie idle on
// the only server connection that there may be.
func TestPGIdleSessionGivesItsBackendUp(t *testing.T) {
	e := newPG(t, pgTenants)
	e.cache.Server().SetMaxOpenConns(1)
	for range 3 {
		other, conn := e.session(e.db), e.session(e.db)
		e.must(conn, "SET search_path = a")
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(e.ctx, pgDeadline/2)
		if err := pgAskErr(ctx, other, "SELECT now()"); err != nil {
			t.Fatalf("a session that waits for the only connection: %v", err)
		}
		if got := pgAsk(ctx, other, "SELECT v FROM t"); fmt.Sprint(got.Rows) != `[[string("public")]]` {
			t.Errorf("it reads %v %s", got.Rows, got.Err)
		}
		cancel()
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPGAdvisoryLocks checks that a lock belongs to the session that took it.
func TestPGAdvisoryLocks(t *testing.T) {
	e := newPG(t, pgTenants)
	one, two := e.session(e.db), e.session(e.db)
	e.must(one, "SELECT pg_advisory_lock(7)")
	for range 50 {
		if got := e.one(two, "SELECT pg_try_advisory_lock(7)"); got != "bool(false)" {
			t.Fatal("two sessions have one lock")
		}
	}
	if got := e.one(one, "SELECT pg_try_advisory_lock(7)"); got != "bool(true)" {
		t.Error("the session does not have the lock it took")
	}
	e.must(one, "SELECT pg_advisory_unlock_all()")
	if got := e.one(two, "SELECT pg_try_advisory_lock(7)"); got != "bool(true)" {
		t.Error("the lock was not given back")
	}
}

// TestPGTransactions checks promise 5 and FAULTS' kind 7.
func TestPGTransactions(t *testing.T) {
	e := newPG(t, pgCounter+"; CREATE TABLE child (id int REFERENCES counter DEFERRABLE INITIALLY DEFERRED)")
	e.warm(pgReadCounter)

	t.Run("every read reaches the server", func(t *testing.T) {
		e := e.on(t)
		tx := e.begin(e.db)
		for range 3 {
			if n := e.calls(pgReadCounter, func() { e.n(tx) }); n != 1 {
				t.Errorf("%d calls at the server, want 1", n)
			}
		}
		_ = tx.Rollback()
		const cold = "SELECT n FROM counter WHERE id = 2"
		tx = e.begin(e.db)
		pgAsk(e.ctx, tx, cold)
		_ = tx.Commit()
		if n := e.calls(cold, func() { pgAsk(e.ctx, e.db, cold) }); n != 1 {
			t.Error("a read in a transaction was kept")
		}
	})
	t.Run("own write, rolled back", func(t *testing.T) {
		e := e.on(t)
		for range 20 {
			tx := e.begin(e.db)
			e.must(tx, "UPDATE counter SET n = n + 1000 WHERE id = 1")
			if got := e.n(tx); got < 1000 {
				t.Errorf("inside: %d", got)
			}
			if got := e.n(e.db); got != 0 {
				t.Errorf("outside: %d", got)
			}
			_ = tx.Rollback()
			if got := e.n(e.db); got != 0 {
				t.Errorf("after the rollback: %d", got)
			}
		}
	})
	t.Run("savepoints", func(t *testing.T) {
		e := e.on(t)
		tx := e.begin(e.db)
		e.must(tx, "UPDATE counter SET n = n + 1 WHERE id = 1")
		e.must(tx, "SAVEPOINT s")
		e.must(tx, "UPDATE counter SET n = n + 10 WHERE id = 1")
		got := []int64{e.n(tx), e.n(e.db)}
		e.must(tx, "ROLLBACK TO s")
		got = append(got, e.n(tx), e.n(e.db))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.n(e.db))
		if fmt.Sprint(got) != "[11 0 1 0 1]" {
			t.Errorf("inside and outside: %v", got)
		}
		e.must(e.db, "UPDATE counter SET n = 0")
	})
	t.Run("by text", func(t *testing.T) {
		e := e.on(t)
		for _, words := range [][2]string{{"BEGIN", "ROLLBACK"}, {"begin work", "abort"}, {"START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "ROLLBACK WORK"},
			{"/* x */ BEGIN -- y", "/* z */ rollback"}, {"BEGIN; UPDATE counter SET n = 4 WHERE id = 1", "ROLLBACK AND CHAIN; ROLLBACK"}} {
			conn := e.session(e.db)
			e.must(conn, words[0])
			e.must(conn, "UPDATE counter SET n = 5 WHERE id = 1")
			if in, out := e.n(conn), e.n(e.db); in != 5 || out != 0 {
				t.Errorf("%s: inside %d, outside %d", words[0], in, out)
			}
			e.must(conn, words[1])
			if in, out := e.n(conn), e.n(e.db); in != 0 || out != 0 {
				t.Errorf("%s: the same session %d, outside %d", words[1], in, out)
			}
			conn.Close()
		}
	})
	t.Run("aborted", func(t *testing.T) {
		e := e.on(t)
		for _, db := range []*sql.DB{e.plain, e.db} {
			tx := e.begin(db)
			if err := pgAskErr(e.ctx, tx, "SELECT 1/0"); err == nil {
				t.Error("no error")
			}
			if err := pgAskErr(e.ctx, tx, pgReadCounter); err == nil || !strings.Contains(err.Error(), "25P02") {
				t.Errorf("a read in an aborted transaction: %v", err)
			}
			if err := tx.Commit(); err == nil {
				t.Error("an aborted transaction commits")
			}
			e.n(db)
		}
	})
	t.Run("a deferred constraint fails the commit", func(t *testing.T) {
		e := e.on(t)
		errs := map[*sql.DB]string{}
		for _, db := range []*sql.DB{e.plain, e.db} {
			tx := e.begin(db)
			e.must(tx, "UPDATE counter SET n = 6 WHERE id = 1")
			e.must(tx, "INSERT INTO child VALUES (999)")
			errs[db] = pgError(tx.Commit())
			if got := e.n(db); got != 0 {
				t.Errorf("after a commit that failed: %d", got)
			}
		}
		if errs[e.db] == "" || errs[e.db] != errs[e.plain] {
			t.Errorf("Commit: error %q, plain pgx gives %q", errs[e.db], errs[e.plain])
		}
	})
	t.Run("options", func(t *testing.T) {
		e := e.on(t)
		for _, opts := range []sql.TxOptions{{ReadOnly: true}, {Isolation: sql.LevelSerializable}, {Isolation: sql.LevelRepeatableRead, ReadOnly: true},
			{Isolation: sql.LevelReadUncommitted}, {Isolation: sql.LevelLinearizable}, {Isolation: sql.LevelSnapshot}} {
			answers := map[*sql.DB]string{}
			for _, db := range []*sql.DB{e.plain, e.db} {
				tx, err := db.BeginTx(e.ctx, &opts)
				if err != nil {
					answers[db] = pgError(err)
					continue
				}
				answers[db] = e.one(tx, "SHOW transaction_isolation") + e.one(tx, "SHOW transaction_read_only")
				_, err = tx.ExecContext(e.ctx, "UPDATE counter SET n = n")
				answers[db] += pgError(err)
				_ = tx.Rollback()
			}
			if answers[e.db] != answers[e.plain] {
				t.Errorf("%+v: %s, plain pgx gives %s", opts, answers[e.db], answers[e.plain])
			}
		}
	})
	t.Run("a snapshot of its own", func(t *testing.T) {
		e := e.on(t)
		tx, err := e.db.BeginTx(e.ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		before := e.n(tx)
		e.must(e.db, "UPDATE counter SET n = n + 1 WHERE id = 1")
		if in, out := e.n(tx), e.n(e.db); in != before || out != before+1 {
			t.Errorf("inside %d, outside %d, before %d", in, out, before)
		}
		_ = tx.Commit()
		if got := e.n(e.db); got != before+1 {
			t.Errorf("after it: %d", got)
		}
		e.must(e.db, "UPDATE counter SET n = 0")
	})
	t.Run("a handle inside a transaction", func(t *testing.T) {
		e := e.on(t)
		conn := e.session(e.db)
		tx := e.begin(conn)
		e.must(tx, "UPDATE counter SET n = 8 WHERE id = 1")
		_ = tx.Rollback()
		if got := e.n(conn); got != 0 {
			t.Errorf("the connection after its transaction: %d", got)
		}
		conn.Close()
	})
	t.Run("two ways of the end", func(t *testing.T) {
		e := e.on(t)
		ctx, cancel := context.WithTimeout(e.ctx, 100*time.Millisecond)
		defer cancel()
		tx, err := e.db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		e.must(tx, "UPDATE counter SET n = 9 WHERE id = 1")
		<-ctx.Done()
		e.eventually("the transaction is over with its context", func() bool { return errors.Is(tx.Rollback(), sql.ErrTxDone) })
		if got := e.n(e.db); got != 0 {
			t.Errorf("after a transaction whose context ended: %d", got)
		}
		e.must(e.db, "UPDATE counter SET n = n WHERE id = 1")
	})
}
