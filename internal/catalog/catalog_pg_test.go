package catalog

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const schema = `
CREATE TABLE t (id int PRIMARY KEY, name text, price numeric, at timestamptz, tags text[], day date);
CREATE TABLE u (id int, t_id int);
CREATE TABLE "Quoted" (id int);
CREATE SCHEMA other; CREATE TABLE other.t (id int);
CREATE TABLE part (id int) PARTITION BY RANGE (id);
CREATE TABLE part_a PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE parent (id int); CREATE TABLE child (x int) INHERITS (parent);
CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE e (m mood);
CREATE DOMAIN dom AS text CHECK (value <> ''); CREATE TABLE d (v dom);
CREATE TYPE comp AS (a int); CREATE TABLE c (v comp);
CREATE TABLE tz (v timetz); CREATE TABLE reg (v regclass);
CREATE TABLE secret (id int, owner text); ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE VIEW v AS SELECT id FROM t; CREATE VIEW vr AS SELECT random() AS r FROM t;
CREATE MATERIALIZED VIEW mv AS SELECT id FROM t; CREATE SEQUENCE seq;
CREATE UNLOGGED TABLE unl (id int);
CREATE FUNCTION noisy(t) RETURNS float LANGUAGE sql VOLATILE AS 'SELECT random()';
CREATE FUNCTION own(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE far (id int) SERVER nowhere;
CREATE TABLE mixed (id int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE mixed_far PARTITION OF mixed FOR VALUES FROM (0) TO (10) SERVER nowhere;
CREATE TEMP TABLE tmp (id int);
CREATE TABLE now (now int);`

// connect gives a connection to a fresh database with the schema, and what
// else the case wants.
func connect(t *testing.T, setup string) *pgx.Conn {
	t.Helper()
	ctx := context.Background()
	pc, err := pgx.Connect(ctx, pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pc.Close(ctx) })
	if _, err := pc.Exec(ctx, schema+setup); err != nil {
		t.Fatal(err)
	}
	return pc
}

func judge(t *testing.T, pc *pgx.Conn, query string) Verdict {
	t.Helper()
	ctx := context.Background()
	var params []uint32
	st := sqlscan.Scan(query)
	if st.Params > 0 {
		sd, err := pc.PgConn().Prepare(ctx, "", query, nil)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		params = sd.ParamOIDs
	}
	v, err := Judge(ctx, pc.PgConn(), st, params)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// Letters say what a verdict is: c cacheable, m with a mark, h harmless.
func letters(v Verdict) string {
	s := ""
	if v.Cacheable {
		s += "c"
	}
	if v.WithMark {
		s += "m"
	}
	if v.Harmless {
		s += "h"
	}
	return s
}

func TestVerdicts(t *testing.T) {
	pc := connect(t, "")
	for _, c := range []struct{ query, want string }{
		{"SELECT * FROM t", "cmh"},
		{"SELECT id, name FROM public.t WHERE id = $1", "cmh"},
		{`SELECT id FROM "Quoted"`, "cmh"},
		{"SELECT t.id FROM t JOIN u ON u.t_id = t.id WHERE price > $1 AND name LIKE $2 ORDER BY at DESC LIMIT 10 OFFSET 5", "cmh"},
		{"SELECT name, count(*), sum(price), min(price), max(price), avg(price) FROM t GROUP BY name HAVING count(*) > 1", "cmh"},
		{"SELECT DISTINCT name FROM t WHERE id IN (1, 2) OR id BETWEEN 3 AND 4 OR name IS NULL", "cmh"},
		{"SELECT id FROM t WHERE id = ANY($1)", "cmh"},
		{"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id)", "cmh"},
		{"WITH x AS (SELECT id FROM t) SELECT * FROM x JOIN u USING (id)", "cmh"},
		{"SELECT CASE WHEN id > 1 THEN name ELSE 'none' END FROM t", "cmh"},
		{"SELECT id FROM part", "cmh"},
		{"SELECT id FROM part_a", "cmh"},
		{"SELECT id FROM parent", "cmh"},
		{"SELECT id FROM unl", "cmh"},
		{"SELECT now FROM now", "cmh"},
		{"SELECT id FROM other.t", "cmh"},
		{"SELECT day FROM t WHERE at > $1 AND day < '2024-01-01'", "cmh"},

		{"SELECT now() FROM t", "mh"},
		{"SELECT id FROM t WHERE at > now() - interval '1 day'", "mh"},
		{"SELECT id FROM t WHERE at > CURRENT_TIMESTAMP", "mh"},
		{"SELECT random() FROM t", "mh"},
		{"SELECT id FROM t WHERE day = 'today'", "mh"},
		{"SELECT id FROM t TABLESAMPLE bernoulli (50)", "mh"},
		{"SELECT id FROM far", "m"},
		{"SELECT id FROM mixed", "m"},

		{"SELECT 1", "h"},
		{"SELECT now()", "h"},
		{"SELECT id FROM t FOR UPDATE", "h"},
		{"SELECT xmin FROM t", "h"},
		{"SELECT current_user FROM t", "h"},
		{"SELECT lower(name) FROM t", "cmh"},
		{"SELECT id::text FROM t", "cmh"},
		{"SELECT coalesce(name, '') FROM t", "cmh"},
		{"SELECT id FROM t UNION SELECT id FROM u", "cmh"},
		{"SELECT m FROM e", "cmh"},
		{"SELECT v FROM d", "cmh"},
		{"SELECT v FROM c", "cmh"},
		{"SELECT v FROM tz", "h"},
		{"SELECT v FROM reg", "h"},
		{"SELECT id FROM tmp", "h"},
		{"SELECT relname FROM pg_class", "h"},
		{"SELECT table_name FROM information_schema.tables", "h"},
		{"SELECT id FROM mv", "cmh"},
		{"SELECT last_value FROM seq", "h"},
		{"SELECT pg_sleep(0) FROM t", "h"},

		{"SELECT id FROM secret", "h"},
		{"SELECT id FROM v", "cmh"},
		{"SELECT r FROM vr", "mh"},
		{"SELECT nextval('seq') FROM t", ""},
		{"SELECT set_config('work_mem', '5MB', false) FROM t", ""},
		{"SELECT pg_advisory_lock(1) FROM t", ""},
		{"SELECT pg_notify('a', 'b') FROM t", ""},
		{"SELECT own(id) FROM t", "cmh"},
		{"SELECT t.noisy FROM t", ""},
		{"SELECT (t).noisy FROM t", ""},
		{"UPDATE t SET name = ''", ""},
		{"WITH x AS (DELETE FROM t RETURNING id) SELECT * FROM x", ""},
	} {
		if v := judge(t, pc, c.query); letters(v) != c.want {
			why := ""
			for _, r := range v.Reasons {
				why += " " + CodeName(r.Code) + " (" + r.Detail + ")"
			}
			t.Errorf("%s: %q, want %q:%s", c.query, letters(v), c.want, why)
		}
	}
}

// What others may have put into the database changes what a plain text means.
// Kinds 1, 5 and 6.
func TestVerdictsOverHostileSchemas(t *testing.T) {
	for name, c := range map[string]struct{ setup, query, want string }{
		"a user's overload of an aggregate": {
			`CREATE AGGREGATE public.sum(text) (sfunc = textcat, stype = text)`, "SELECT sum(id) FROM t", "cmh"},
		"a user's operator": {
			`CREATE FUNCTION eqv(text, int) RETURNS bool LANGUAGE sql VOLATILE AS 'SELECT random() > 0';
			 CREATE OPERATOR = (leftarg = text, rightarg = int, procedure = eqv)`, "SELECT id FROM t WHERE name = $1", ""},
		"an operator that IN implies": {
			`CREATE FUNCTION eqv(text, int) RETURNS bool LANGUAGE sql VOLATILE AS 'SELECT random() > 0';
			 CREATE OPERATOR = (leftarg = text, rightarg = int, procedure = eqv)`, "SELECT id FROM t WHERE id IN (1, 2)", ""},
		"an implicit cast": {
			`CREATE FUNCTION t2i(text) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1'; CREATE CAST (text AS int) WITH FUNCTION t2i(text) AS IMPLICIT`,
			"SELECT id FROM t", ""},
		"a temporary table in front": {`CREATE TEMP TABLE t (id int)`, "SELECT id FROM t", "h"},
		"a view in front": {`CREATE SCHEMA front; CREATE VIEW front.t AS SELECT 1 AS id; SET search_path = front, public`,
			"SELECT id FROM t", "cmh"},
		"a table in front": {`CREATE SCHEMA front; CREATE TABLE front.t (id int); SET search_path = front, public`,
			"SELECT id FROM t", "cmh"},
		"a function named like a column's tail": {
			`CREATE FUNCTION total(u) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1'`, "SELECT u.total FROM u", ""},
		"a catalog of the user's own": {
			`CREATE SCHEMA evil; CREATE TABLE evil.pg_class (oid oid, relname name, relnamespace oid, relkind "char");
			 CREATE FUNCTION evil.eq(name, name) RETURNS bool LANGUAGE sql AS 'SELECT false';
			 CREATE OPERATOR evil.= (leftarg = name, rightarg = name, procedure = evil.eq);
			 CREATE FUNCTION evil.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT NULL::text';
			 SET search_path = evil, pg_catalog, public`, "SELECT id FROM v", "cmh"},
		"row security on a partition": {
			`ALTER TABLE part_a ENABLE ROW LEVEL SECURITY`, "SELECT id FROM part", "h"},
		"row security on a child": {
			`ALTER TABLE child ENABLE ROW LEVEL SECURITY`, "SELECT id FROM parent", "h"},
		"a parameter of a user's type": {"", "SELECT m FROM e WHERE m = $1", "cmh"},
	} {
		t.Run(name, func(t *testing.T) {
			pc := connect(t, ";"+c.setup)
			if v := judge(t, pc, c.query); letters(v) != c.want {
				t.Errorf("%s: %q, want %q: %v", c.query, letters(v), c.want, v.Reasons)
			}
		})
	}
}

func TestRelationsAreTheWholeTree(t *testing.T) {
	pc := connect(t, "")
	for query, want := range map[string]int{
		"SELECT id FROM part": 2, "SELECT id FROM part_a": 2, "SELECT id FROM parent": 2, "SELECT id FROM ONLY child": 2,
		"SELECT t.id FROM t, u, other.t AS o": 3,
	} {
		if v := judge(t, pc, query); len(v.Relations) != want {
			t.Errorf("%s: %v", query, v.Relations)
		}
	}
}

// Whatever the server takes for the clock, in text bound to a timestamptz, is
// a date word.
func TestTimeWords(t *testing.T) {
	pc := connect(t, "")
	ctx := context.Background()
	for _, s := range []string{
		"now", "NOW", " now ", "today", "Today 10:00", "tomorrow", "yesterday", "yesterday 10:00:00", "2024-01-01", "epoch", "infinity",
		"-infinity", "2024-01-01 allballs", "nov 3 2024", "20240101T101010", "J2451187", "now today", "Nowember", "today;", "\ttoday\n", "to day",
	} {
		var clock bool
		err := pc.QueryRow(ctx, "SELECT abs(extract(epoch FROM clock_timestamp() - $1::text::timestamptz)) < 200000", s).Scan(&clock)
		if err == nil && clock && !TimeWord(s) {
			t.Errorf("%q reads the clock", s)
		}
	}
	for s, want := range map[string]bool{"": false, "2024-01-01": false, `{"2024-01-01","Now"}`: true, "[today,)": true, "knowledge": true} {
		if TimeWord(s) != want {
			t.Errorf("TimeWord(%q) = %v", s, !want)
		}
	}
}

func TestJudgeText(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT id FROM t WHERE name = ?":            "", // not PostgreSQL's
		"SELECT id FROM t WHERE name = $1":           "mh",
		"SELECT lower(name), now() FROM t":           "mh",
		"SELECT own(id) FROM t":                      "",
		"SELECT id FROM t FOR UPDATE":                "",
		"SELECT nextval('s') FROM t":                 "",
		"SELECT current_user FROM t":                 "h",
		"SELECT 1":                                   "h",
		"INSERT INTO t VALUES (1)":                   "",
		"SELECT set_config('a.b', 'c', true) FROM t": "",
		"SELECT relname FROM pg_class":               "h",
		"SELECT * FROM information_schema.tables":    "h",
	} {
		if v := JudgeText(sqlscan.Scan(query)); letters(v) != want {
			t.Errorf("%s: %q, want %q: %v", query, letters(v), want, v.Reasons)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	ctx := context.Background()
	pc, err := pgx.Connect(ctx, pgtest.DSN(b))
	if err != nil {
		b.Fatal(err)
	}
	defer pc.Close(ctx)
	if _, err := pc.Exec(ctx, schema); err != nil {
		b.Fatal(err)
	}
	st := sqlscan.Scan("SELECT t.id FROM t JOIN u ON u.t_id = t.id WHERE price > 5 ORDER BY at DESC LIMIT 10")
	for b.Loop() {
		if _, err := Judge(ctx, pc.PgConn(), st, nil); err != nil {
			b.Fatal(err)
		}
	}
}
