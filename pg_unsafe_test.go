package cachedpgx_test

import (
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

const pgTraps = `
	CREATE TABLE item (id int PRIMARY KEY, name text, made date, at timestamptz, ts timestamp, ti time, iv interval, v varchar(12));
	INSERT INTO item SELECT i, 'item ' || i, '2024-01-01', '2024-01-01', '2024-01-01', '01:00', '1 day', '2024-01-01' FROM generate_series(1, 20) i;
	CREATE TABLE zoned (id int, tt timetz); INSERT INTO zoned VALUES (1, '01:00+02');
	CREATE SEQUENCE seq;
	CREATE TABLE secret (id int, owner text); INSERT INTO secret VALUES (1, 'a');
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON secret USING (owner = current_user);
	CREATE VIEW clock_view AS SELECT id, now() AS now FROM item;
	CREATE VIEW lock_view AS SELECT id FROM item FOR UPDATE;
	CREATE VIEW secret_view AS SELECT id FROM secret;
	CREATE VIEW catalog_view AS SELECT relname FROM pg_class;
	CREATE VIEW seq_view AS SELECT id, nextval('seq') FROM item;
	CREATE VIEW sample_view AS SELECT id FROM item TABLESAMPLE BERNOULLI (50);
	CREATE VIEW nested_view AS SELECT * FROM clock_view;
	CREATE MATERIALIZED VIEW mat AS SELECT id FROM item;
	CREATE FUNCTION f_volatile(i int) RETURNS int LANGUAGE sql AS 'INSERT INTO item (id) VALUES (i + 10000) ON CONFLICT DO NOTHING; SELECT i';
	CREATE FUNCTION f_stable() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM item';
	CREATE FUNCTION f_lies() RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT count(*) FROM item';
	CREATE FUNCTION same(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
	CREATE FUNCTION same(text) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT $1 || nextval(''seq'')';
	CREATE FUNCTION op_func(int, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''seq'') > 0';
	CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = text, FUNCTION = op_func);
	CREATE TYPE feeling AS ENUM ('good', 'bad');
	CREATE FUNCTION to_int(feeling) RETURNS int LANGUAGE sql AS 'SELECT nextval(''seq'')::int';
	CREATE CAST (feeling AS int) WITH FUNCTION to_int(feeling) AS IMPLICIT;
	CREATE TABLE mood (id int, f feeling); INSERT INTO mood VALUES (1, 'good');
	CREATE DOMAIN day AS date;
	CREATE TABLE dayly (id int, d day, ds date[], r daterange); INSERT INTO dayly VALUES (1, '2024-01-01', '{2024-01-01}', '[2024-01-01,2024-02-01)');
	CREATE SCHEMA mine;
	CREATE FUNCTION mine.count(int) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.seq'')';
	CREATE FUNCTION mine.avg(int) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.seq'')';
	CREATE FUNCTION mine.eq(text, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.seq'') > 0';
	CREATE EXTENSION IF NOT EXISTS file_fdw;
	CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
	CREATE FOREIGN TABLE foreign_item (id int) SERVER files OPTIONS (program 'echo 1', format 'csv');`

// pgUnsafe is what must reach the server every time. One that is only time a
// mark admits.
type pgUnsafe struct {
	kind string
	text string
	args []any
	time bool
}

func pgUnsafeReads() []pgUnsafe {
	return []pgUnsafe{
		{"lock", "SELECT id FROM item WHERE id = 1 FOR UPDATE", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 FOR NO KEY UPDATE", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 FOR SHARE", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 FOR KEY SHARE", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 FOR UPDATE NOWAIT", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 FOR SHARE SKIP LOCKED", nil, false},
		{"lock", "SELECT id FROM item i WHERE id = 1 FOR/* hidden */UPDATE OF i", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 fOr -- x\n uPdAtE", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 LIMIT 1 FOR UPDATE", nil, false},
		{"lock", "SELECT id FROM item WHERE id = 1 FOR UPDATE LIMIT 1", nil, false},
		{"lock", "SELECT x.id FROM (SELECT id FROM item WHERE id = 1 FOR UPDATE) x", nil, false},
		{"lock", "SELECT id FROM item WHERE id IN (SELECT id FROM item WHERE id = 1 FOR SHARE)", nil, false},
		{"lock", "WITH l AS (SELECT id FROM item WHERE id = 1 FOR UPDATE) SELECT id FROM l", nil, false},
		{"lock in a view", "SELECT id FROM lock_view WHERE id = 1", nil, false},
		{"advisory lock", "SELECT id, pg_try_advisory_lock_shared(1) FROM item WHERE id = 1", nil, false},
		{"advisory lock", "SELECT id FROM item WHERE pg_try_advisory_xact_lock(id)", nil, false},
		{"advisory lock", "SELECT id FROM item WHERE id = 1 ORDER BY pg_advisory_unlock_shared(1)", nil, false},
		{"sequence", "SELECT id, nextval('seq') FROM item WHERE id = 1", nil, false},
		{"sequence", "SELECT id FROM item WHERE nextval('seq') > 0", nil, false},
		{"sequence", "SELECT id FROM item ORDER BY nextval('seq')", nil, false},
		{"sequence", "SELECT n FROM item, nextval('seq') n WHERE id = 1", nil, false},
		{"sequence", "SELECT id, pg_catalog.nextval('seq') FROM item WHERE id = 1", nil, false},
		{"sequence", `SELECT id, "nextval"('seq') FROM item WHERE id = 1`, nil, false},
		{"sequence", "SELECT id, nextval/* x */('seq') FROM item WHERE id = 1", nil, false},
		{"sequence", "SELECT id, setval('seq', 100) FROM item WHERE id = 1", nil, false},
		{"sequence", "SELECT last_value FROM seq", nil, false},
		{"sequence in a view", "SELECT * FROM seq_view WHERE id = 1", nil, false},
		{"setting", "SELECT id, set_config('app.x', 'y', true) FROM item WHERE id = 1", nil, false},
		{"setting", "SELECT id, current_setting('work_mem') FROM item WHERE id = 1", nil, false},
		{"notify", "SELECT id, pg_notify('c', 'x') FROM item WHERE id = 1", nil, false},
		{"transaction", "SELECT id, txid_current() FROM item WHERE id = 1", nil, false},
		{"backend", "SELECT id, pg_backend_pid() FROM item WHERE id = 1", nil, false},
		{"sleep", "SELECT id, pg_sleep(0) FROM item WHERE id = 1", nil, false},
		{"file", "SELECT id, pg_read_file('PG_VERSION') FROM item WHERE id = 1", nil, false},
		{"clock", "SELECT id, now() FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id FROM item WHERE at < now()", nil, true},
		{"clock", "SELECT id, clock_timestamp() FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, statement_timestamp() FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, timeofday() FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, CURRENT_TIMESTAMP FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, current_timestamp(0) FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, CURRENT_DATE FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, CURRENT_TIME FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id, LOCALTIME, LOCALTIMESTAMP FROM item WHERE id = 1", nil, true},
		{"clock", "SELECT id FROM item ORDER BY at - current_timestamp LIMIT 1", nil, true},
		{"clock", "SELECT id, age(at) FROM item WHERE id = 1", nil, false},
		{"clock word", "SELECT id FROM item WHERE made <> 'today'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < 'now'", nil, false},
		{"clock word", "SELECT id FROM item WHERE at < 'now'", nil, false},
		{"clock word", "SELECT id FROM item WHERE ts < ' TomOrrow '", nil, false},
		{"clock word", "SELECT id FROM item WHERE ts < 'yesterday 12:00'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < E'to\\x64ay'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < U&'\\0074oday'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < $$today$$", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < 'to'\n'day'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < date 'today'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < 'today'::date", nil, false},
		{"clock word", "SELECT id FROM item WHERE made < CAST('today' AS date)", nil, false},
		{"clock word", "SELECT id FROM item WHERE ti < 'now'", nil, false},
		{"clock word", "SELECT id FROM item WHERE made IN ('today', '2024-01-01')", nil, false},
		{"clock word", "SELECT id FROM item WHERE made BETWEEN 'yesterday' AND 'tomorrow'", nil, false},
		{"clock word bound", "SELECT id FROM item WHERE made < $1", []any{"today"}, false},
		{"clock word bound", "SELECT id FROM item WHERE made < $1", []any{"  TODAY"}, false},
		{"clock word bound", "SELECT id FROM item WHERE at < $1", []any{"now"}, false},
		{"clock word bound", "SELECT id FROM item WHERE at < $1", []any{"tomorrow 10:00"}, false},
		{"clock word bound", "SELECT id FROM item WHERE ts > $1", []any{"yesterday"}, false},
		{"clock word bound", "SELECT id FROM item WHERE ti < $1", []any{"now"}, false},
		{"clock word bound", "SELECT id FROM zoned WHERE tt = $1", []any{"01:00 America/New_York"}, false},
		{"clock word bound", "SELECT id FROM item WHERE made = ANY($1)", []any{[]string{"today"}}, false},
		{"clock word bound", "SELECT id FROM item WHERE made < $1", []any{[]byte("today")}, false},
		{"clock word in a domain", "SELECT id FROM dayly WHERE d < 'today'", nil, true},
		{"clock word in a domain", "SELECT id FROM dayly WHERE d < $1", []any{"today"}, true},
		{"clock word in an array", "SELECT id FROM dayly WHERE ds <> '{today}'", nil, true},
		{"clock word in an array", "SELECT id FROM dayly WHERE ds <> $1", []any{"{now}"}, true},
		{"clock word in a range", "SELECT id FROM dayly WHERE r <> '[today,tomorrow)'", nil, true},
		{"clock word in a range", "SELECT id FROM dayly WHERE r <> $1", []any{"[yesterday,today)"}, true},
		{"cast of a column", "SELECT id FROM item WHERE v::date < '2030-01-01'", nil, true},
		{"chance", "SELECT id, random() FROM item WHERE id = 1", nil, true},
		{"chance", "SELECT id FROM item ORDER BY random() LIMIT 1", nil, true},
		{"chance", "SELECT id, gen_random_uuid() FROM item WHERE id = 1", nil, false},
		{"sample", "SELECT id FROM item TABLESAMPLE BERNOULLI (50)", nil, true},
		{"sample", "SELECT x.id FROM (SELECT id FROM item TABLESAMPLE SYSTEM (100)) x", nil, true},
		{"sample in a view", "SELECT id FROM sample_view", nil, true},
		{"identity", "SELECT id, current_user FROM item WHERE id = 1", nil, false},
		{"identity", "SELECT id, session_user, user, current_role FROM item WHERE id = 1", nil, false},
		{"identity", "SELECT id FROM item WHERE name <> current_catalog AND name <> current_schema", nil, false},
		{"identity", "SELECT id, current_database() FROM item WHERE id = 1", nil, false},
		{"identity", "SELECT id, has_table_privilege('item', 'select') FROM item WHERE id = 1", nil, false},
		{"system column", "SELECT xmin FROM item WHERE id = 1", nil, false},
		{"system column", "SELECT id FROM item WHERE ctid = '(0,1)'", nil, false},
		{"system column", "SELECT i.id, i.XMAX FROM item i ORDER BY i.id", nil, false},
		{"system column", `SELECT "cmin" FROM item`, nil, false},
		{"system column", "SELECT id FROM item ORDER BY item.tableoid, id", nil, false},
		{"system catalog", "SELECT relname FROM pg_class LIMIT 1", nil, false},
		{"system catalog", "SELECT relname FROM pg_catalog.pg_class LIMIT 1", nil, false},
		{"system catalog", "SELECT i.id FROM item i JOIN pg_class c ON c.relname = i.name", nil, false},
		{"system catalog", "SELECT table_name FROM information_schema.tables LIMIT 1", nil, false},
		{"system catalog", "SELECT count(*) FROM pg_stat_activity", nil, false},
		{"system catalog", "SELECT name FROM pg_settings LIMIT 1", nil, false},
		{"system catalog in a view", "SELECT relname FROM catalog_view LIMIT 1", nil, false},
		{"row security", "SELECT id FROM secret", nil, false},
		{"row security", "SELECT i.id FROM item i JOIN secret s ON s.id = i.id", nil, false},
		{"row security", "SELECT id FROM item WHERE id IN (SELECT id FROM public.secret)", nil, false},
		{"row security in a view", "SELECT id FROM secret_view", nil, false},
		{"view", "SELECT * FROM clock_view WHERE id = 1", nil, true},
		{"view", "SELECT * FROM nested_view WHERE id = 1", nil, true},
		{"foreign table", "SELECT id FROM foreign_item", nil, true},
		{"own function", "SELECT f_volatile(1) FROM item WHERE id = 1", nil, false},
		{"own function", "SELECT id, f_stable() FROM item WHERE id = 1", nil, false},
		{"own function", "SELECT id, f_lies() FROM item WHERE id = 1", nil, false},
		{"own function", "SELECT id FROM item, f_stable() f WHERE id = 1", nil, false},
		{"own overload", "SELECT same(name) FROM item WHERE id = 1", nil, false},
		{"own function called like a column", "SELECT (item).f_of FROM item", nil, false},
		{"own operator", "SELECT id FROM item WHERE id ### name", nil, false},
		{"own operator", "SELECT id FROM item WHERE id OPERATOR(public.###) name", nil, false},
		{"own cast", "SELECT m.id FROM mood m JOIN item i ON i.id = m.f", nil, false},
		{"own cast", "SELECT f + 1 FROM mood", nil, false},
		{"writing CTE", "WITH w AS (UPDATE item SET name = name WHERE id = 1 RETURNING id) SELECT id FROM w", nil, false},
		{"no relation", "SELECT 1", nil, false},
		{"no relation", "SELECT $1", []any{"x"}, false},
		{"not a SELECT", "SHOW work_mem", nil, false},
		{"not a SELECT", "EXPLAIN SELECT id FROM item", nil, false},
	}
}

// TestPGUnsafeReads checks that what isn't proven safe reaches the server every
// time, direct and prepared, and that nothing of it is kept. Kinds 1 and 6.
func TestPGUnsafeReads(t *testing.T) {
	e := newPG(t, pgTraps+"; CREATE FUNCTION f_of(item) RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''seq'')'")
	e.db.SetMaxIdleConns(0) // a session that one read has changed must not be met by the next
	// Neither the tables nor the operators are what keeps the rest from the cache.
	for _, text := range []string{"SELECT id FROM item WHERE id = 1", "SELECT id FROM item WHERE made < '2024-05-05' AND at < '2024-05-05'"} {
		e.warm(text)
	}
	e.warm("SELECT id FROM item WHERE made < $1 AND at < $2", "2024-05-05", "2024-05-05")
	kept, hits := e.cache.Stats(), e.cache.Stats().Hits
	for i, u := range pgUnsafeReads() {
		t.Run(fmt.Sprintf("%03d %s", i, u.kind), func(t *testing.T) {
			e := e.on(t)
			for time := range 3 {
				n := e.calls(u.text, func() {
					if got := pgAsk(e.ctx, e.db, u.text, u.args...); (got.Err != "") != (pgAsk(e.ctx, e.plain, u.text, u.args...).Err != "") {
						t.Errorf("%s %v: %s", u.text, u.args, got.Err)
					}
				})
				if n != 1 {
					t.Errorf("%s %v: time %d made %d calls at the server, want 1", u.text, u.args, time, n)
				}
			}
			stmt, err := e.db.PrepareContext(e.ctx, u.text)
			if err != nil {
				return // as plain pgx: it can't be prepared
			}
			defer stmt.Close()
			want := 1
			if got := pgAskStmt(e.ctx, stmt, u.args...); got.Err != "" {
				want = 0
			}
			for range 2 {
				if n := e.calls(u.text, func() { pgAskStmt(e.ctx, stmt, u.args...) }); n < want {
					t.Errorf("%s %v, prepared: %d calls at the server, want %d", u.text, u.args, n, want)
				}
			}
		})
	}
	if s := e.cache.Stats(); s.Entries > kept.Entries || s.NegativeEntries > kept.NegativeEntries || s.Hits != hits {
		t.Errorf("something was kept: %d entries, %d of them empty; %d hits", s.Entries, s.NegativeEntries, s.Hits)
	}
}

// TestPGMarksAdmitOnlyTime marks every unsafe read, by context and by hint.
func TestPGMarksAdmitOnlyTime(t *testing.T) {
	e := newPG(t, pgTraps+"; CREATE FUNCTION f_of(item) RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''seq'')'")
	e.db.SetMaxIdleConns(0) // a session that one read has changed must not be met by the next
	marked := cachedpgx.WithTTL(e.ctx, time.Minute)
	for i, u := range pgUnsafeReads() {
		t.Run(fmt.Sprintf("%03d %s", i, u.kind), func(t *testing.T) {
			e := e.on(t)
			if u.kind == "clock word" || u.kind == "clock word bound" || u.kind == "clock" && !u.time {
				t.Skip("a mark may admit it, and need not yet")
			}
			hinted := "/* cachedpgx: ttl=1m */ " + u.text
			for what, calls := range map[string]func() int{
				"WithTTL": func() int {
					return e.calls(u.text, func() { pgAsk(marked, e.db, u.text, u.args...) })
				},
				"the hint": func() int {
					return e.calls(hinted, func() { pgAsk(e.ctx, e.db, hinted, u.args...) })
				},
			} {
				calls()
				switch n := calls(); {
				case u.time && n != 0:
					t.Errorf("%s: %s: the second read made %d calls at the server, want 0", what, u.text, n)
				case !u.time && n != 1:
					t.Errorf("%s: %s: the second read made %d calls at the server, want 1", what, u.text, n)
				}
			}
		})
	}
}

// TestPGShadowedBuiltins puts names of its own before those of pg_catalog in the
// search_path: what looks like a built-in isn't one. Kind 6.
func TestPGShadowedBuiltins(t *testing.T) {
	e := newPGOn(t, newPG(t, pgTraps+"; CREATE OPERATOR mine.= (LEFTARG = text, RIGHTARG = text, FUNCTION = mine.eq)").dsn, "", "search_path=mine,pg_catalog,public")
	for _, text := range []string{
		"SELECT id, count(id) FROM item GROUP BY id", "SELECT avg(id) FROM item", "SELECT id FROM item WHERE name = 'item 1'",
		"SELECT id FROM item WHERE name = $1", "SELECT id FROM item WHERE name IN ('a', 'b')",
		"SELECT a.id FROM item a JOIN item b ON a.name = b.name", "SELECT a.id FROM item a JOIN item b USING (name)",
		"SELECT id FROM item WHERE name NOT IN ('a')", "SELECT id FROM item a NATURAL JOIN item b",
	} {
		var args []any
		if text == "SELECT id FROM item WHERE name = $1" {
			args = []any{"item 1"}
		}
		for range 2 {
			if n := e.calls(text, func() {
				if got := pgAsk(e.ctx, e.db, text, args...); got.Err != "" {
					t.Errorf("%s: %s", text, got.Err)
				}
			}); n != 1 {
				t.Errorf("%s: %d calls at the server, want 1", text, n)
			}
		}
	}
}

// TestPGOwnOperatorOfABuiltinsName declares one for types that the built-in
// doesn't take.
func TestPGOwnOperatorOfABuiltinsName(t *testing.T) {
	e := newPG(t, pgTraps+"; CREATE OPERATOR = (LEFTARG = int, RIGHTARG = text, FUNCTION = op_func)")
	for _, text := range []string{"SELECT id FROM item WHERE id = name", "SELECT a.id FROM item a JOIN item b ON a.id = b.name"} {
		for range 2 {
			if n := e.calls(text, func() { pgAsk(e.ctx, e.db, text) }); n != 1 {
				t.Errorf("%s: %d calls at the server, want 1", text, n)
			}
		}
	}
}

// TestPGTemporaryTables reads one and shadows an ordinary table with one.
func TestPGTemporaryTables(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int); INSERT INTO item VALUES (1)")
	const text = "SELECT id FROM item"
	e.warm(text)
	conn := e.session(e.db)
	e.must(conn, "CREATE TEMP TABLE item AS SELECT 2 AS id")
	for range 100 {
		if got := e.one(conn, text); got != "int64(2)" {
			t.Fatalf("the session with a temporary table reads %s", got)
		}
		if got := e.one(e.db, text); got != "int64(1)" {
			t.Fatalf("another session reads %s", got)
		}
	}
	for range 2 {
		if n := e.calls("SELECT id FROM pg_temp.item", func() { e.one(conn, "SELECT id FROM pg_temp.item") }); n != 1 {
			t.Errorf("a temporary table was read with %d calls at the server, want 1", n)
		}
	}
	// A connection that went back as it is would serve its table to the next
	// who gets it, as with plain pgx.
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	e.warm(text)
	e.same("when it is gone", text)
}

// TestPGGrantsAndPolicies checks that what a session's own DDL takes away is not
// served any more. Kind 2.
func TestPGGrantsAndPolicies(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int); INSERT INTO item VALUES (1), (2)")
	const text = "SELECT id FROM item ORDER BY id"
	role := "reader_" + pgName(e)
	e.must(e.plain, "CREATE ROLE "+role)
	t.Cleanup(func() { pgDropRole(t, e.dsn, role) })
	e.must(e.plain, "GRANT SELECT ON item TO "+role)
	reader := e.session(e.db)
	e.must(reader, "SET ROLE "+role)
	check := func(what string) {
		t.Helper()
		plain := pgOpen(t, "pgx", e.dsn)
		conn := e.session(plain)
		e.must(conn, "SET ROLE "+role)
		want := pgAsk(e.ctx, conn, text)
		for range 2 {
			if diff := pgDiff(want, pgAsk(e.ctx, reader, text)); diff != "" {
				t.Errorf("%s: the role: %s", what, diff)
			}
			e.same(what+": the owner", text)
		}
		conn.Close()
	}
	check("granted")
	e.must(e.db, "REVOKE SELECT ON item FROM "+role)
	check("revoked")
	e.must(e.db, "GRANT SELECT ON item TO "+role)
	check("granted again")
	e.must(e.db, "ALTER TABLE item ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON item USING (id = 1)")
	check("a policy")
	e.must(e.db, "ALTER POLICY few ON item USING (id = 2)")
	check("another policy")
	e.must(e.db, "ALTER TABLE item DISABLE ROW LEVEL SECURITY")
	check("no policy")
}
