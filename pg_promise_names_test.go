package cachedpgx_test

import (
	"strings"
	"testing"
	"time"
)

const promiseNames = `
	CREATE TABLE public.t (id int, n int, name text); INSERT INTO public.t VALUES (1, 1, 'public'), (2, 2, 'two');
	CREATE TABLE public.plain (id int); INSERT INTO public.plain VALUES (1);
	CREATE SEQUENCE public.sq;
	CREATE SCHEMA early; CREATE SCHEMA late;`

// TestPGPromiseShadows puts objects before what the text means without them, by
// the search_path that the handle opens its connections with.
//
// It would catch names that are judged by their last part, or under a fixed
// search_path.
func TestPGPromiseShadows(t *testing.T) {
	for _, c := range []struct {
		name, ddl, text string
		path            string
		kept            bool
	}{
		{"operator =", "CREATE FUNCTION early.eq(text, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = text, RIGHTARG = text, FUNCTION = early.eq)",
			"SELECT id FROM t WHERE name = 'two'", "early,pg_catalog,public", false},
		{"operator = in IN", "CREATE FUNCTION early.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.eq)",
			"SELECT id FROM t WHERE id IN (1, 2)", "early,pg_catalog,public", false},
		{"operator = in USING", "CREATE FUNCTION early.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.eq)",
			"SELECT id FROM t JOIN plain USING (id)", "early,pg_catalog,public", false},
		{"operator = in NATURAL JOIN", "CREATE FUNCTION early.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.eq)",
			"SELECT id FROM t NATURAL JOIN plain", "early,pg_catalog,public", false},
		{"operator = in CASE", "CREATE FUNCTION early.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.eq)",
			"SELECT CASE id WHEN 1 THEN 2 END FROM t", "early,pg_catalog,public", false},
		{"operator = in NULLIF", "CREATE FUNCTION early.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.eq)",
			"SELECT NULLIF(id, 1) FROM t", "early,pg_catalog,public", false},
		{"operator = in IS DISTINCT FROM", "CREATE FUNCTION early.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.eq)",
			"SELECT id FROM t WHERE id IS DISTINCT FROM n", "early,pg_catalog,public", false},
		{"operators <= and >= in BETWEEN", "CREATE FUNCTION early.ge(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.>= (LEFTARG = int, RIGHTARG = int, FUNCTION = early.ge)",
			"SELECT id FROM t WHERE id BETWEEN 1 AND 2", "early,pg_catalog,public", false},
		{"operator ~~ in LIKE", "CREATE FUNCTION early.lk(text, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR early.~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = early.lk)",
			"SELECT id FROM t WHERE name LIKE 'x%'", "early,pg_catalog,public", false},
		{"operator for a closer type, later in the path", "CREATE FUNCTION late.eq(int, bigint) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE TABLE late.u (id int, b smallint); INSERT INTO late.u VALUES (1, 1); CREATE FUNCTION late.se(smallint, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE OPERATOR late.= (LEFTARG = smallint, RIGHTARG = text, FUNCTION = late.se)",
			"SELECT u.id FROM u, t WHERE u.b = t.name", "public,late", false},
		{"function of a built-in's name, first", "CREATE FUNCTION early.lower(text) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::text'", "SELECT lower(name) FROM t", "early,pg_catalog,public", false},
		{"function of a built-in's name for a closer type", "CREATE FUNCTION late.abs(smallint, int DEFAULT 1) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::int'; CREATE TABLE late.u AS SELECT 1::smallint AS b, 'x'::varchar AS v; CREATE FUNCTION late.lower(varchar) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::text'",
			"SELECT lower(v) FROM u", "public,late", false},
		{"aggregate of a built-in's name", "CREATE FUNCTION early.f(bigint, int) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')'; CREATE AGGREGATE early.sum(int) (SFUNC = early.f, STYPE = bigint)", "SELECT sum(id) FROM t", "early,pg_catalog,public", false},
		{"type of a built-in's name", "CREATE FUNCTION early.ok(int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0'; CREATE DOMAIN early.money AS int CHECK (early.ok(VALUE))", "SELECT id::money FROM t", "early,pg_catalog,public", false},
		{"function that isn't in the path", "CREATE FUNCTION late.lower(text) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::text'", "SELECT lower(name) FROM t", "early,public", true},
		{"function after pg_catalog, same types", "CREATE FUNCTION late.lower(text) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::text'", "SELECT pg_catalog.lower(name) FROM t", "public,late", true},
		{"a view before a table", "CREATE VIEW early.t AS SELECT id, n, name, nextval('public.sq') AS x FROM public.t", "SELECT id FROM t", "early,public", false},
		{"a view after a table", "CREATE VIEW late.t AS SELECT id, n, name, nextval('public.sq') AS x FROM public.t", "SELECT id FROM t", "public,late", true},
		{"a table before a table", "CREATE TABLE early.t AS SELECT 7 AS id", "SELECT id FROM t", "early,public", true},
		{"a catalog's name in an own schema, not first", "CREATE TABLE public.pg_own AS SELECT 1 AS id", "SELECT id FROM pg_own", "public", true},
		{"a secret table before", "CREATE TABLE early.t (id int); ALTER TABLE early.t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON early.t USING (true)", "SELECT id FROM t", "early,public", false},
		{"a schema of the role's own", "CREATE TABLE late.t AS SELECT 5 AS id", "SELECT id FROM t", `"$user",public`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newPG(t, promiseNames+c.ddl, "search_path="+c.path)
			if c.kept {
				e.promiseKeeps(e.ctx, c.text)
			} else {
				e.promiseReaches(e.ctx, c.text)
			}
		})
	}
}

// TestPGPromiseNamesInTheText: CTEs, cases and quotes.
func TestPGPromiseNamesInTheText(t *testing.T) {
	e := newPG(t, promiseNames+`
		CREATE VIEW "T" AS SELECT id, nextval('sq') AS x FROM t; CREATE VIEW "Plain" AS SELECT 5 AS id;
		CREATE FUNCTION "Lower"(text) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT nextval(''sq'')::text';
		CREATE VIEW vol AS SELECT id, nextval('sq') AS x FROM t; CREATE TABLE `+strings.Repeat("x", 63)+` (id int); CREATE VIEW `+strings.Repeat("y", 63)+` AS SELECT id, random() FROM t`)
	for _, text := range []string{
		`SELECT id FROM "T"`, `SELECT id FROM public."T"`, `SELECT "Lower"(name) FROM t`, "WITH t AS (SELECT id FROM vol) SELECT id FROM t", "WITH vol AS (SELECT id FROM vol) SELECT id FROM vol", "WITH a AS (SELECT 1 AS id) SELECT vol.id FROM vol, a",
		"SELECT id FROM (WITH vol AS (SELECT id FROM plain) SELECT id FROM vol) s UNION ALL SELECT id FROM vol", "WITH vol AS (SELECT id FROM plain) SELECT id FROM public.vol", "WITH a AS (SELECT id FROM vol), vol AS (SELECT id FROM plain) SELECT id FROM a",
		`SELECT id FROM U&"\0076ol"`, "SELECT id FROM " + strings.Repeat("y", 70), `WITH "VOL" AS (SELECT id FROM plain) SELECT id FROM vol`, "SELECT id FROM plain WHERE id IN (WITH vol AS (SELECT 1 AS id) SELECT id FROM vol) OR id IN (SELECT id FROM vol)",
	} {
		e.promiseReaches(e.ctx, text)
	}
	for _, text := range []string{
		`SELECT id FROM "t"`, "SELECT id FROM T", "SELECT LOWER(name) FROM t", `SELECT "lower"(name) FROM t`, "WITH vol AS (SELECT id FROM plain) SELECT id FROM vol", `WITH "vol" AS (SELECT id FROM plain) SELECT id FROM VOL`, "WITH RECURSIVE vol AS (SELECT id FROM plain UNION ALL SELECT id + 1 FROM vol WHERE id < 3) SELECT * FROM vol",
		"WITH vol AS (SELECT id FROM plain) SELECT id FROM t WHERE id IN (SELECT id FROM vol)", "WITH vol AS (SELECT id FROM plain) SELECT (SELECT max(vol.id) FROM vol) FROM plain", "SELECT id FROM " + strings.Repeat("x", 70), "SELECT vol.id FROM plain vol", "WITH sq AS (SELECT id FROM t) SELECT id FROM sq",
	} {
		e.promiseKeeps(e.ctx, text)
	}
	// A dependency shadowed by a CTE is none, and one that isn't is one.
	for _, c := range []struct{ text, relations string }{
		{"WITH t AS (SELECT id FROM plain) SELECT id FROM t", "public.plain"},
		{"WITH t AS (SELECT id FROM t) SELECT id FROM t", "public.t"},
		{"WITH a AS (WITH t AS (SELECT id FROM plain) SELECT id FROM t) SELECT a.id FROM a, t", "public.plain public.t"},
	} {
		if got := strings.Join(e.promiseExplain(e.ctx, c.text).Relations, " "); got != c.relations {
			t.Errorf("%s: depends on %q, want %q", c.text, got, c.relations)
		}
	}
	e.promiseTemp(t)
}

// promiseTemp: a temporary table shadows, in its session alone.
func (e *pgEnv) promiseTemp(t *testing.T) {
	const text = "SELECT id FROM plain"
	e.warm(text)
	conn := e.session(e.db)
	e.must(conn, "CREATE TEMP TABLE plain AS SELECT 77 AS id")
	for range 3 {
		if got := e.one(conn, text); got != "int64(77)" && got != "int32(77)" {
			t.Errorf("a temporary table's row was expected: %s", got)
		}
		if got := e.one(e.db, text); got != "int64(1)" && got != "int32(1)" {
			t.Errorf("another session sees %s", got)
		}
		if got := e.one(conn, "SELECT id FROM public.plain"); got != "int64(1)" && got != "int32(1)" {
			t.Errorf("public.plain gives %s", got)
		}
	}
	e.promiseReachesFrom(conn, text)
	// A temporary child adds its rows to its parent's, for its own session.
	heir := e.session(e.db)
	const parent = "SELECT sum(n) FROM t"
	e.warm(parent)
	e.must(heir, "CREATE TEMP TABLE child () INHERITS (public.t)")
	e.must(heir, "INSERT INTO child VALUES (9, 1000, 'x')")
	for range 2 {
		if got := e.one(heir, parent); !strings.Contains(got, "1003") {
			t.Errorf("the session of a temporary child sees %s", got)
		}
		if got := e.one(e.db, parent); strings.Contains(got, "1003") {
			t.Errorf("another session sees a temporary child's rows: %s", got)
		}
	}
	e.promiseReachesFrom(heir, parent)
	e.promiseReachesFrom(heir, parent+" /* cachedpgx: ttl=20s */")
	plain := e.session(e.plain)
	e.must(plain, "CREATE TEMP TABLE child () INHERITS (public.t)")
	e.must(plain, "INSERT INTO child VALUES (9, 5000, 'x')")
	if got := e.one(e.db, parent); strings.Contains(got, "5003") {
		t.Errorf("rows of another's temporary child: %s", got)
	}
	e.must(conn, "CREATE FUNCTION pg_temp.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'")
	e.promiseReachesFrom(conn, "SELECT pg_temp.f(id) FROM public.plain")
}

func (e *pgEnv) promiseReachesFrom(q pgQuerier, text string) {
	e.Helper()
	for range 2 {
		if n := e.calls(text, func() {
			if got := pgAsk(e.ctx, q, text); got.Err != "" {
				e.Errorf("%s: %s", text, got.Err)
			}
		}); n != 1 {
			e.Errorf("SERVED FROM MEMORY: %s: %d calls at the server, want 1", text, n)
		}
	}
}

// promiseChange is DDL that turns a read from safe to unsafe, and back.
type promiseChange struct {
	name, ddl, text, unsafe, safe string
	same                          bool // the change keeps the read safe, but changes its rows
}

func promiseChanges() []promiseChange {
	return []promiseChange{
		{"a view turns volatile", "CREATE VIEW v AS SELECT id, n AS x FROM t", "SELECT id FROM v ORDER BY id", "CREATE OR REPLACE VIEW v AS SELECT id, nextval('sq')::int AS x FROM t", "CREATE OR REPLACE VIEW v AS SELECT id, n AS x FROM t", false},
		{"a view beneath a view", "CREATE VIEW v0 AS SELECT id, n FROM t; CREATE VIEW v AS SELECT id FROM v0 WHERE n > 0", "SELECT id FROM v ORDER BY id", "CREATE OR REPLACE VIEW v0 AS SELECT id, nextval('sq')::int AS n FROM t", "CREATE OR REPLACE VIEW v0 AS SELECT id, n FROM t", false},
		{"a function turns volatile", "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "SELECT f(id) FROM t", "CREATE OR REPLACE FUNCTION f(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''sq'')::int'", "CREATE OR REPLACE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", false},
		{"a function's label", "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "SELECT f(id) FROM t", "ALTER FUNCTION f(int) VOLATILE", "ALTER FUNCTION f(int) IMMUTABLE", false},
		{"a function beneath a function", "CREATE FUNCTION f0(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT early.f0($1)'", "SELECT f(id) FROM t", "CREATE OR REPLACE FUNCTION f0(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT nextval(''sq'')::int'", "CREATE OR REPLACE FUNCTION f0(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", false},
		{"a default appears", "CREATE FUNCTION f(int, k int DEFAULT 1) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + k'", "SELECT f(id) FROM t", "CREATE OR REPLACE FUNCTION f(int, k int DEFAULT nextval('sq')) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + k'", "CREATE OR REPLACE FUNCTION f(int, k int DEFAULT 1) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + k'", false},
		{"an overload appears", "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "SELECT f(id) FROM t", "CREATE FUNCTION f(bigint) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''sq'')'", "DROP FUNCTION f(bigint)", false},
		{"row security", "", "SELECT id FROM t ORDER BY id", "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "ALTER TABLE t DISABLE ROW LEVEL SECURITY", false},
		{"row security beneath a view", "CREATE VIEW v AS SELECT id FROM t", "SELECT id FROM v ORDER BY id", "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "ALTER TABLE t DISABLE ROW LEVEL SECURITY", false},
		{"a foreign child", "CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw", "SELECT id FROM plain ORDER BY id", "CREATE FOREIGN TABLE fc () INHERITS (plain) SERVER files OPTIONS (program 'echo 9', format 'csv')", "DROP FOREIGN TABLE fc", false},
		{"a foreign partition", "CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; CREATE TABLE p (id int) PARTITION BY LIST (id); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE FOREIGN TABLE pf (id int) SERVER files OPTIONS (program 'echo 9', format 'csv')", "SELECT id FROM p ORDER BY id", "ALTER TABLE p ATTACH PARTITION pf FOR VALUES IN (9)", "ALTER TABLE p DETACH PARTITION pf", false},
		{"an operator appears", "", "SELECT id FROM t WHERE name = 'two'", "CREATE FUNCTION eq(text, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''sq'') > 0'; CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = eq)", "DROP OPERATOR public.= (text, text); DROP FUNCTION eq(text, text)", false},
		{"a domain's check", "CREATE DOMAIN d AS int CHECK (VALUE > 0)", "SELECT id::d FROM t", "ALTER DOMAIN d ADD CHECK (nextval('sq') > 0)", "ALTER DOMAIN d DROP CONSTRAINT d_check1", false},
		{"a table for a view", "CREATE TABLE v AS SELECT id FROM t", "SELECT id FROM v ORDER BY id", "DROP TABLE v; CREATE VIEW v AS SELECT id FROM t WHERE random() < 2 OR now() IS NULL", "DROP VIEW v; CREATE TABLE v AS SELECT id FROM t", false},
		{"a cast appears", "CREATE TYPE mood AS ENUM ('a'); CREATE TABLE m AS SELECT 1 AS id, 'a'::mood AS f; CREATE FUNCTION mi(mood) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''sq'')::int'; CREATE CAST (mood AS int) WITH FUNCTION mi(mood)", "SELECT id FROM t", "ALTER TABLE t ALTER COLUMN n TYPE int; CREATE OR REPLACE VIEW vv AS SELECT 1 AS one; ALTER TABLE t ENABLE ROW LEVEL SECURITY", "ALTER TABLE t DISABLE ROW LEVEL SECURITY; DROP VIEW vv", false},
		{"a partition comes", "CREATE TABLE p (id int) PARTITION BY LIST (id); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p VALUES (1); CREATE TABLE p2 AS SELECT 2 AS id", "SELECT id FROM p ORDER BY id", "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2)", "ALTER TABLE p DETACH PARTITION p2", true},
		{"a child comes", "CREATE TABLE c AS SELECT 5 AS id", "SELECT id FROM plain ORDER BY id", "ALTER TABLE c INHERIT plain", "ALTER TABLE c NO INHERIT plain", true},
		{"a column is renamed", "", "SELECT n FROM t ORDER BY n", "ALTER TABLE t RENAME n TO o; ALTER TABLE t ADD n int DEFAULT 8", "ALTER TABLE t DROP n; ALTER TABLE t RENAME o TO n", true},
		{"a table shadows", "CREATE SCHEMA IF NOT EXISTS early", "SELECT id FROM plain ORDER BY id", "CREATE TABLE early.plain AS SELECT 6 AS id", "DROP TABLE early.plain", true},
		{"a view's rows", "CREATE VIEW v AS SELECT id FROM t WHERE id = 1", "SELECT id FROM v", "CREATE OR REPLACE VIEW v AS SELECT id FROM t WHERE id = 2", "CREATE OR REPLACE VIEW v AS SELECT id FROM t WHERE id = 1", true},
		{"tables change names", "CREATE TABLE other AS SELECT 9 AS id", "SELECT id FROM plain", "ALTER TABLE plain RENAME TO was; ALTER TABLE other RENAME TO plain", "ALTER TABLE plain RENAME TO other; ALTER TABLE was RENAME TO plain", true},
		{"a type's label", "CREATE TYPE mood AS ENUM ('a'); CREATE TABLE m AS SELECT 'a'::mood AS f", "SELECT f FROM m", "ALTER TYPE mood RENAME VALUE 'a' TO 'b'", "ALTER TYPE mood RENAME VALUE 'b' TO 'a'", true},
	}
}

// TestPGPromiseOwnDDL: what the handle's own DDL changes counts at once, in every
// way of sending it.
//
// It would catch facts by name that outlive the texts', and a DDL class with a
// statement missing.
func TestPGPromiseOwnDDL(t *testing.T) {
	for _, c := range promiseChanges() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newPG(t, promiseNames+c.ddl, "search_path=early,public")
			e.plain.SetMaxIdleConns(0) // what it has prepared goes on reading the old tables
			e.promiseKeeps(e.ctx, c.text)
			conn := e.session(e.db)
			for i, run := range []func(ddl string){
				func(ddl string) { e.must(e.db, ddl) },
				func(ddl string) { tx := e.begin(e.db); e.must(tx, ddl); mustCommit(e, tx) },
				func(ddl string) { e.must(conn, "DO $do$ BEGIN EXECUTE $x$ "+ddl+" $x$; END $do$") },
				func(ddl string) { e.must(conn, "/* x */ "+ddl) },
			} {
				run(c.unsafe)
				switch {
				case c.same:
					e.same("after the change", c.text)
					e.promiseKeeps(e.ctx, c.text)
				case i == 0:
					e.promiseReaches(e.ctx, c.text)
				default:
					e.promiseReachesFrom(e.db, c.text)
				}
				run(c.safe)
				e.same("after it was taken back", c.text)
				if !e.promiseKept(e.ctx, e.db, c.text) {
					t.Errorf("run %d: NOT CACHED again: %s: %s", i, c.text, e.promiseWhy(e.ctx, c.text))
				}
			}
		})
	}
}

func mustCommit(e *pgEnv, tx interface{ Commit() error }) {
	e.Helper()
	if err := tx.Commit(); err != nil {
		e.Fatal(err)
	}
}

// TestPGPromiseOthersDDL: what another's DDL changes about the verdict is noticed
// within CatalogTTL.
func TestPGPromiseOthersDDL(t *testing.T) {
	for _, c := range promiseChanges() {
		if c.same {
			continue // rows are served for the TTL
		}
		t.Run(c.name, func(t *testing.T) {
			const believed = 200 * time.Millisecond
			e := newPG(t, promiseNames+c.ddl, "search_path=early,public", "cache_catalog_ttl=200ms")
			e.promiseKeeps(e.ctx, c.text)
			e.must(e.plain, c.unsafe)
			changed := time.Now()
			asking := func() int {
				return e.calls(c.text, func() {
					if got := pgAsk(e.ctx, e.db, c.text); got.Err != "" {
						t.Fatal(got.Err)
					}
				})
			}
			e.eventually("the change is noticed", func() bool {
				asked := time.Since(changed)
				n := asking()
				if n == 0 && asked > believed+1500*time.Millisecond { // a hit waits 100 ms, and for a second no other does after one waited in vain
					t.Fatalf("SERVED FROM MEMORY %v after another's DDL", asked)
				}
				return n == 1 && asked > believed
			})
			for range 3 {
				if asking() != 1 {
					t.Errorf("SERVED FROM MEMORY a while after: %s", c.text)
				}
			}
			e.must(e.plain, c.safe)
			e.warm(c.text)
		})
	}
}

// TestPGPromiseRolePath: ALTER ROLE … SET search_path gives the names another
// meaning on the connections that follow.
func TestPGPromiseRolePath(t *testing.T) {
	e := newPG(t, promiseNames+"CREATE TABLE early.t AS SELECT 100 AS id; CREATE VIEW late.t AS SELECT 200 AS id, nextval('public.sq')")
	role := "path_" + pgName(e)
	e.must(e.plain, "CREATE ROLE "+role+" LOGIN SUPERUSER PASSWORD '"+role+"'")
	t.Cleanup(func() { pgDropRole(t, e.dsn, role) })
	r := newPGOn(t, promiseUser(t, e.dsn, role), "", "cache_server_max_idle=off")
	const text = "SELECT max(id) FROM t"
	for _, step := range []struct {
		path, want string
		kept       bool
	}{{"public", "2", true}, {"early, public", "100", true}, {"late, public", "200", false}, {"public", "2", true}} {
		r.must(r.db, "ALTER ROLE "+role+" SET search_path = "+step.path)
		if got := r.one(r.db, text); !strings.Contains(got, "("+step.want+")") {
			t.Errorf("search_path %s: %s, want %s", step.path, got, step.want)
		}
		if kept := r.promiseKept(r.ctx, r.db, text); kept != step.kept {
			t.Errorf("search_path %s: kept %t, want %t: %s", step.path, kept, step.kept, r.promiseWhy(r.ctx, text))
		}
	}
}
