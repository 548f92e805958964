package cachedpgx_test

import "testing"

// What hides a clock, or an effect, where no call shows it. One would bar the
// others' reads, so each has a database of its own.
const (
	pgBrokenClocks = `
	CREATE TYPE comp AS (d text, e int);
	CREATE TYPE dated AS (d date, e int);
	CREATE TABLE words (id int, w text);
	INSERT INTO words VALUES (1, 'today'), (2, '2020-01-01');
	CREATE TABLE t (id int, d date, value timestamptz, tm time, c comp, j jsonb, "?column?" date);
	INSERT INTO t VALUES (1, '2020-01-01', '2020-01-01', '10:00', ROW('today', 1), '{"a": "today"}', '2020-01-01');

	CREATE FUNCTION outs(w text, OUT d text, OUT e int) LANGUAGE sql IMMUTABLE AS 'SELECT w, 1';
	CREATE FUNCTION d(words) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ($1).w';
	CREATE DOMAIN to_date AS text;
	CREATE DOMAIN day AS date;
	CREATE AGGREGATE latest(timestamptz) (SFUNC = timestamptz_larger, STYPE = timestamptz, INITCOND = 'now');`

	pgBrokenCasts = `
	CREATE SEQUENCE seq;
	CREATE TYPE mood AS ENUM ('a', 'b');
	CREATE FUNCTION shown(mood) RETURNS json LANGUAGE plpgsql AS 'BEGIN RETURN to_json(nextval(''seq'')); END';
	CREATE CAST (mood AS json) WITH FUNCTION shown(mood);
	CREATE TABLE moods (id int, f mood);
	INSERT INTO moods VALUES (1, 'a');`

	pgBrokenChecks = `
	CREATE SEQUENCE seq;
	CREATE TABLE words (id int, w text);
	INSERT INTO words VALUES (1, 'today');
	CREATE FUNCTION evil(text) RETURNS bool LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''seq''); RETURN true; END';
	CREATE DOMAIN checked AS text CHECK (evil(VALUE));
	CREATE DOMAIN number AS int CHECK (evil(VALUE::text));
	CREATE TYPE numbers AS RANGE (subtype = number);
	CREATE TYPE pair AS (a number, b int);
	CREATE FUNCTION gives(text) RETURNS checked LANGUAGE sql IMMUTABLE AS 'SELECT $1';
	CREATE FUNCTION out_checked(a text, OUT b checked, OUT c int) LANGUAGE sql IMMUTABLE AS 'SELECT a, 1';
	CREATE FUNCTION table_checked(a text) RETURNS TABLE (b checked) LANGUAGE sql IMMUTABLE AS 'SELECT a';
	CREATE FUNCTION takes_pair(pair) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
	CREATE FUNCTION step(int, checked) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
	CREATE AGGREGATE steps(checked) (SFUNC = step, STYPE = int, INITCOND = '0');
	CREATE TABLE held (ns number[], b checked, p pair);
	INSERT INTO held VALUES ('{1}', 'x', ROW(1, 2));`
)

type pgBroken struct {
	what, text string
	args       []any
}

func pgBrokenReads() map[string][]pgBroken {
	return map[string][]pgBroken{pgBrokenClocks: {
		{"a parameter that is text first", "SELECT id FROM t WHERE ($1::text IS NULL OR d < $1::date)", []any{"today"}},
		{"a parameter that is text first", "SELECT id FROM t WHERE ($1::text IS NULL OR value < CAST($1 AS timestamptz))", []any{"now"}},
		{"a parameter that is text first", "SELECT id FROM t WHERE ($1::text IS NULL OR d < $1::day)", []any{"today"}},
		{"OUT parameters", "SELECT e.value::date FROM t, jsonb_each_text(t.j) e", nil},
		{"OUT parameters", "SELECT f.d::date FROM t, words, outs(words.w) f", nil},
		{"fields", "SELECT x.d::date FROM (SELECT (c).* FROM t) x", nil},
		{"fields", "SELECT x.d::date FROM t, LATERAL (SELECT (t.c).*) x", nil},
		{"fields", "SELECT x.d::date FROM t, unnest(ARRAY(SELECT c FROM t)) x", nil},
		{"attribute notation", "SELECT words.d::date FROM words, t", nil},
		{"a column without a name", `SELECT x."?column?"::date FROM (SELECT w || '' FROM words) x, t`, nil},
		{"a domain of a function's name", "SELECT to_date(w)::date FROM words", nil},
		{"today's daylight saving", "SELECT (tm AT TIME ZONE 'America/New_York')::text FROM t", nil},
		{"today's daylight saving", "SELECT timezone('America/New_York', tm) FROM t", nil},
		{"an aggregate's first state", "SELECT latest(value) FROM t", nil},
	}, pgBrokenCasts: {
		{"a cast to json", "SELECT json_agg(f) FROM moods", nil},
		{"a cast to json", "SELECT jsonb_agg(f) FROM moods", nil},
		{"a cast to json", "SELECT json_object_agg(id, f) FROM moods", nil},
		{"a cast to json", "SELECT json_agg(m) FROM moods m", nil},
	}, pgBrokenChecks: {
		{"a result that is checked", "SELECT gives(w)::text FROM words", nil},
		{"a result that is checked", "SELECT c FROM words, out_checked(w)", nil},
		{"a result that is checked", "SELECT b::text FROM words, table_checked(w)", nil},
		{"an argument that is checked", "SELECT takes_pair('(1,1)') FROM words", nil},
		{"an argument that is checked", "SELECT steps(w) FROM words", nil},
		{"a bound that is checked", "SELECT numbers(id, id) FROM words", nil},
		{"a literal that is checked", "SELECT ns = '{1}' FROM held", nil},
		{"a literal that is checked", "SELECT ns || '{7}' FROM held", nil},
		{"a literal that is checked", "SELECT ARRAY[p, '(1,2)'] FROM held", nil},
		{"a literal that is checked", "SELECT p FROM held UNION ALL SELECT '(3,4)'", nil},
		{"a literal that is checked", "SELECT CASE WHEN false THEN '(3,4)' ELSE p END FROM held", nil},
	}}
}

func TestPGBrokenReads(t *testing.T) {
	for schema, reads := range pgBrokenReads() {
		e := newPG(t, schema)
		for _, b := range reads {
			t.Run(b.what, func(t *testing.T) {
				e := e.on(t)
				if got := pgAsk(e.ctx, e.db, b.text, b.args...); got.Err != "" {
					t.Fatalf("%s: %s", b.text, got.Err)
				}
				if n := e.calls(b.text, func() { pgAsk(e.ctx, e.db, b.text, b.args...) }); n != 1 {
					t.Errorf("%s %v: the second read made %d calls at the server, want 1", b.text, b.args, n)
				}
			})
		}
	}
}

// The planner runs functions, too: what EXPLAIN explains may write.
func TestPGBrokenExplainWrites(t *testing.T) {
	for what, explained := range map[string]string{
		"a STABLE function behind a view":     "SELECT * FROM recent",
		"an IMMUTABLE function behind a view": "SELECT * FROM folded",
		"an operator":                         "SELECT * FROM big WHERE 1 ### 2",
	} {
		t.Run(what, func(t *testing.T) {
			e := newPG(t, `
				CREATE TABLE log (n int);
				CREATE TABLE big AS SELECT g AS id FROM generate_series(1, 1000) g;
				ANALYZE big;
				CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (1); RETURN 1; END';
				CREATE FUNCTION settled() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN writes(); END';
				CREATE FUNCTION fixed(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN writes(); END';
				CREATE FUNCTION compared(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN writes() = 1; END';
				CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = compared);
				CREATE VIEW recent AS SELECT * FROM big WHERE id < settled();
				CREATE VIEW folded AS SELECT * FROM big WHERE id < fixed(5);`)
			e.warm("SELECT count(*) FROM log")
			pgAsk(e.ctx, e.db, "EXPLAIN "+explained)
			e.same("after EXPLAIN", "SELECT count(*) FROM log")
		})
	}
}

// What a trigger sets stays on the connection, where loads would meet it.
func TestPGBrokenSettingsLeftBehind(t *testing.T) {
	e := newPG(t, `
		CREATE TABLE doc (w text);
		INSERT INTO doc VALUES ('running houses');
		CREATE TABLE noted (id int);
		CREATE FUNCTION sets() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM set_config(''default_text_search_config'', ''pg_catalog.german'', false); RETURN NEW; END';
		CREATE TRIGGER sets BEFORE INSERT ON noted FOR EACH ROW EXECUTE FUNCTION sets();`)
	e.warm("SELECT to_tsvector(w)::text FROM doc")
	e.must(e.db, "INSERT INTO noted VALUES (1)")
	e.same("after the trigger", "SELECT to_tsvector(w)::text FROM doc")
}
