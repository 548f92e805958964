package catalog

import "testing"

// What reads text as a date is a clock, unless it is certain what it reads.
func TestJudgeDateInput(t *testing.T) {
	const words = "CREATE TABLE words (id int, w text, at timestamptz, d date, ds date[], doc jsonb)"
	var cases []judgeCase
	for _, text := range []string{
		"SELECT at::date FROM words", "SELECT w.at::date, CAST(at AS timestamp), at::time FROM words w", "SELECT d::timestamptz FROM words",
		"SELECT date(at), date_trunc('day', at)::date, (at AT TIME ZONE 'UTC')::date FROM words", "SELECT '2024-01-01'::date FROM words",
		"SELECT $1::date, $1::timestamptz::date FROM words", "SELECT date '2024-01-01', timestamptz '2024-01-01 10:00+02' FROM words",
		"SELECT x.at::date FROM (SELECT at FROM words) x", "SELECT w::int FROM words", "SELECT max(at)::text FROM words",
		"SELECT (doc ->> 'n')::numeric FROM words",
		"SELECT r.a FROM words, jsonb_to_recordset(doc) AS r(a int, b text)", "SELECT id FROM words WHERE at > '2024-01-01'",
	} {
		cases = append(cases, judgeCase{name: text, setup: words, text: text, want: cached})
	}
	for _, text := range []string{
		"SELECT w::date FROM words", "SELECT date(w) FROM words", "SELECT pg_catalog.timestamptz(w) FROM words", `SELECT "timestamp"(w) FROM words`,
		"SELECT (doc ->> 'd')::date FROM words", "SELECT (w || '')::timestamptz FROM words", "SELECT lower(w)::date FROM words",
		"SELECT x.at::date FROM (SELECT w AS at FROM words) x", "SELECT x.at::date FROM (SELECT w FROM words) x(at)",
		"SELECT x.at::date FROM (SELECT at::text FROM words) x", "WITH x(at) AS (SELECT w FROM words) SELECT at::date FROM x",
		"SELECT at::text::date FROM words", "SELECT coalesce(w, 'x')::date FROM words", "SELECT r.b FROM words, jsonb_to_recordset(doc) AS r(a int, b date)",
		"SELECT string_to_array(w, ',')::date[] FROM words", "SELECT ('{' || w || '}')::date[] FROM words", "SELECT ('[' || w || ',)')::daterange FROM words",
		"SELECT x.d::date FROM words, lower(w) AS x(d)", "SELECT lower.lower::date FROM words, lower(w)", "SELECT CASE WHEN id > 1 THEN w END::date FROM words",
	} {
		cases = append(cases, judgeCase{name: text, setup: words, text: text, want: marked, why: "date-input"})
	}
	runCases(t, append(cases,
		judgeCase{"a column that is a date in one table and text in another", words + "; CREATE TABLE other_words (at text)", "SELECT a.at::date FROM words a, other_words b", marked, "date-input"},
		judgeCase{"a domain over a date", "CREATE DOMAIN day AS date; " + words, "SELECT w::day FROM words", marked, "date-input"},
		judgeCase{"a domain over a date, like a call", "CREATE DOMAIN day AS date; " + words, "SELECT day(w) FROM words", refused, "type"},
		judgeCase{"a field in dot notation", words, "SELECT (w.w).date FROM words w", harmless, "attribute-function"},
		judgeCase{"a user's cast that reads text", words + "; CREATE CAST (text AS date) WITH INOUT AS IMPLICIT", "SELECT id FROM words WHERE d = w", refused, "user-cast"},
		judgeCase{"within a view", words + "; CREATE VIEW v AS SELECT w::date AS d FROM words", "SELECT d FROM v", marked, "date-input"},
		judgeCase{"a view's column of a date", words + "; CREATE VIEW v AS SELECT w::date AS d, at::date AS a FROM words WHERE false; CREATE VIEW u AS SELECT at::date AS a FROM words", "SELECT a::timestamp FROM u", cached, ""},
	))
}

// Views hide what they hide.
func TestJudgeViews(t *testing.T) {
	const fn = "CREATE FUNCTION vf(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; CREATE FUNCTION pf(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1'; "
	runCases(t, []judgeCase{
		{"plain", "CREATE VIEW v AS SELECT id, lower(name) AS n, made::timestamp AS m FROM item WHERE id IN (1, 2) AND name LIKE 'a%'", "SELECT * FROM v", cached, ""},
		{"nested, joined and aggregated", "CREATE VIEW a AS SELECT item_id, sum(qty) AS n FROM sale GROUP BY 1; CREATE VIEW v AS SELECT i.name, a.n FROM item i LEFT JOIN a ON a.item_id = i.id", "SELECT * FROM v ORDER BY n", cached, ""},
		{"of a pure function", fn + "CREATE VIEW v AS SELECT pf(id) FROM item", "SELECT * FROM v", cached, ""},
		{"of a volatile function", fn + "CREATE VIEW v AS SELECT vf(id) FROM item", "SELECT * FROM v", refused, "volatile-function"},
		{"nested over a volatile function", fn + "CREATE VIEW v AS SELECT vf(id) FROM item; CREATE VIEW u AS SELECT 1 AS x FROM v", "SELECT * FROM u", refused, "volatile-function"},
		{"of a user's operator", fn + "CREATE FUNCTION e(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = e); CREATE VIEW v AS SELECT id ### 1 AS x FROM item",
			"SELECT * FROM v", refused, "operator"},
		{"of a hidden cast", "CREATE TYPE m2 AS (a int); CREATE FUNCTION i2m(int) RETURNS m2 VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN row($1); END'; CREATE CAST (int AS m2) WITH FUNCTION i2m(int) AS IMPLICIT; CREATE FUNCTION fm(m2) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT ($1).a'; CREATE VIEW v AS SELECT fm(id) AS x FROM item",
			"SELECT * FROM v", refused, "user-cast user-function volatile-function"},
		{"of the clock", "CREATE VIEW v AS SELECT id, now() FROM item", "SELECT * FROM v", marked, "volatile-function"},
		{"of the clock's keyword", "CREATE VIEW v AS SELECT id, CURRENT_DATE FROM item", "SELECT * FROM v", marked, "clock-keyword"},
		{"of an identity", "CREATE VIEW v AS SELECT id, CURRENT_USER FROM item", "SELECT * FROM v", harmless, "identity-keyword"},
		{"of a setting", "CREATE VIEW v AS SELECT id, current_setting('a.b', true) FROM item", "SELECT * FROM v", harmless, "stable-function"},
		{"of a sequence", "CREATE VIEW v AS SELECT id, nextval('seq') FROM item", "SELECT * FROM v", refused, "relation-kind type volatile-function"},
		{"with a lock", "CREATE VIEW v AS SELECT id FROM item FOR UPDATE", "SELECT * FROM v", refused, "row-lock"},
		{"of a sample", "CREATE VIEW v AS SELECT id FROM item TABLESAMPLE bernoulli (50)", "SELECT * FROM v", marked, "tablesample"},
		{"of a system catalog", "CREATE VIEW v AS SELECT relname::text FROM pg_class", "SELECT * FROM v", harmless, "system-relation"},
		{"of a system column", "CREATE VIEW v AS SELECT id, xmin::text AS x FROM item", "SELECT * FROM v", harmless, "system-column"},
		{"of row security", "CREATE VIEW v AS SELECT id FROM secret", "SELECT * FROM v", harmless, "row-security"},
		{"of a domain's check", "CREATE FUNCTION chk(text) RETURNS bool VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN true; END'; CREATE DOMAIN dd AS text CHECK (chk(value)); CREATE VIEW v AS SELECT name::dd AS d FROM item",
			"SELECT * FROM v", refused, "type"},
		{"of a foreign table " + broken, "CREATE VIEW v AS SELECT id FROM far_item", "SELECT * FROM v", markedFar, "foreign-table"},
	})
	runCases(t, []judgeCase{
		{"a policy that calls what may do anything", fn + "CREATE POLICY p ON secret USING (vf(id) = 1)", "SELECT id FROM secret", refused, "row-security volatile-function"},
		{"a policy for writes alone", fn + "CREATE POLICY p ON secret FOR INSERT WITH CHECK (vf(id) = 1)", "SELECT id FROM secret", harmless, "row-security"},
	})
}

// Users' functions are pure by what they are, not by what they say.
func TestJudgeUserFunctions(t *testing.T) {
	f := func(how, body string) string {
		return "CREATE FUNCTION f(int) RETURNS int " + how + " AS $f$" + body + "$f$"
	}
	const text = "SELECT f(id) FROM item"
	runCases(t, []judgeCase{
		{"SQL over nothing", f("IMMUTABLE LANGUAGE sql", "SELECT abs($1) * 2"), text, cached, ""},
		{"SQL over nothing, by name", "CREATE FUNCTION f(n int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT coalesce(n, 0) + length(n::text)'", text, cached, ""},
		{"one that calls another", f("IMMUTABLE LANGUAGE sql", "SELECT pure($1)"), text, cached, ""},
		{"one that calls a volatile one", f("IMMUTABLE LANGUAGE sql", "SELECT vol($1)"), text, refused, "user-function"},
		{"one that calls itself " + broken, f("IMMUTABLE LANGUAGE sql", "SELECT 1") + "; " + "CREATE OR REPLACE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT f($1)'", text, refused, "user-function"},
		{"SQL over a table", f("IMMUTABLE LANGUAGE sql", "SELECT count(*)::int FROM item"), text, refused, "user-function"},
		{"SQL that reads the clock", f("IMMUTABLE LANGUAGE sql", "SELECT extract(hour FROM now())::int + $1"), text, refused, "user-function"},
		{"SQL that reads text as a date " + broken, "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT extract(year FROM $1::text::date)::int'", text, refused, "user-function"},
		{"SQL of two statements", f("IMMUTABLE LANGUAGE sql", "SELECT 1; SELECT $1"), text, refused, "user-function"},
		{"SQL, STABLE", f("STABLE LANGUAGE sql", "SELECT $1"), text, refused, "user-function"},
		{"SQL, VOLATILE", f("VOLATILE LANGUAGE sql", "SELECT $1"), text, refused, "volatile-function"},
		{"SQL with a setting", f("IMMUTABLE LANGUAGE sql SET search_path = app", "SELECT $1"), text, refused, "user-function"},
		{"SQL, SECURITY DEFINER", f("IMMUTABLE LANGUAGE sql SECURITY DEFINER", "SELECT $1"), text, refused, "user-function"},
		{"plpgsql", f("IMMUTABLE LANGUAGE plpgsql", "BEGIN RETURN $1; END"), text, refused, "user-function"},
		{"a default that is left out", "CREATE FUNCTION g(int, int DEFAULT vol(1)) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "SELECT g(id) FROM item", refused, "user-function"},
		{"a plain default that is left out", "CREATE FUNCTION g(int, int DEFAULT 5) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + $2'", "SELECT g(id) FROM item", cached, ""},
		{"an overload of another number of arguments", f("IMMUTABLE LANGUAGE sql", "SELECT $1") + "; CREATE FUNCTION f(int, int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", text, cached, ""},
		{"an overload of as many", f("IMMUTABLE LANGUAGE sql", "SELECT $1") + "; CREATE FUNCTION f(text) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", text, refused, "volatile-function"},
		{"an extension's", "CREATE EXTENSION cube", "SELECT cube(w, 1) FROM item", cached, ""},
		{"an extension's, STABLE", "CREATE EXTENSION unaccent", "SELECT unaccent(name) FROM item", harmless, "user-function"},
		{"an aggregate of pure functions", "CREATE AGGREGATE agg(int) (sfunc = int4pl, stype = int)", "SELECT agg(id) FROM item", cached, ""},
		{"an aggregate of others", "CREATE FUNCTION add(int, int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT $1'; CREATE AGGREGATE agg(int) (sfunc = add, stype = int)", "SELECT agg(id) FROM item", refused, "user-function"},
		{"an operator of a volatile built-in " + broken, "CREATE OPERATOR ### (LEFTARG = regclass, RIGHTARG = bigint, FUNCTION = setval)", "SELECT id ### 1 FROM item", refused, "operator"},
	})
}

// Faults that were found by trying to break it.
func TestJudgeBroken(t *testing.T) {
	const base = `CREATE TYPE comp AS (d text, e int); CREATE TYPE dcomp AS (d date, e int); CREATE TYPE mood2 AS ENUM ('a', 'b');
		CREATE TABLE t (id int, d date, value timestamptz, tm time, c comp, dc dcomp, j jsonb, f mood2); CREATE TABLE words (id int, w text); CREATE TABLE lone (id int, d date);
		CREATE FUNCTION evil(text) RETURNS bool VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN true; END'; CREATE DOMAIN edom AS text CHECK (evil(value)); `
	runCases(t, []judgeCase{
		{"a column that a function in FROM gives", base, "SELECT e.value::date FROM t, jsonb_each_text(t.j) e", marked, "date-input"},
		{"a function in FROM that gives no such column", base, "SELECT l.d::timestamp FROM lone l, generate_series(1, 2) g", cached, ""},
		{"a column of a row's type", base, "SELECT x.d::date FROM (SELECT (c).* FROM t) x", marked, "date-input"},
		{"a function in dot notation, named like a column", base + "CREATE FUNCTION d(words) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT ($1).w'", "SELECT words.d::date FROM words, lone", marked, "date-input"},
		{"a time of day with a zone", base, "SELECT (tm AT TIME ZONE 'America/New_York')::text FROM t", marked, "volatile-function"},
		{"a time of day with a zone, by name", base, "SELECT timezone('UTC', x) FROM words, make_time(1, 2, 3) x", marked, "volatile-function"},
		{"an instant with a zone beside a time of day", "CREATE TABLE z (at timestamptz, d date, tm time)", "SELECT at AT TIME ZONE 'UTC', timezone('UTC', z.at), d::timestamp AT TIME ZONE 'UTC' FROM z", cached, ""},
		{"a time of day with a zone, among others", base, "SELECT value AT TIME ZONE 'UTC', timezone('UTC', tm) FROM t", marked, "volatile-function"},
		{"a sum with a zone beside a time of day", base, "SELECT (value - interval '1 day') AT TIME ZONE 'UTC' FROM t", marked, "volatile-function"},
		{"a time of day with a zone of a zone", base, "SELECT tm AT TIME ZONE 'UTC' AT TIME ZONE 'CET' FROM t", marked, "volatile-function"},
		{"SQL over nothing beside a user's cast", base + "CREATE FUNCTION mt(mood2) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; CREATE CAST (mood2 AS text) WITH FUNCTION mt(mood2) AS IMPLICIT; CREATE FUNCTION g(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'", "SELECT g(id) FROM words", cached, ""},
		{"SQL that a user's cast may apply in", base + "CREATE FUNCTION mt(mood2) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; CREATE CAST (mood2 AS text) WITH FUNCTION mt(mood2) AS IMPLICIT; CREATE FUNCTION g(mood2) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT length($1)'", "SELECT g('a') FROM words", refused, "user-function"},
		{"a check beside a user's cast", base + "CREATE FUNCTION mt(mood2) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; CREATE CAST (mood2 AS text) WITH FUNCTION mt(mood2) AS IMPLICIT; CREATE DOMAIN posint AS int CHECK (value > 0); CREATE TABLE counts (n posint)", "SELECT abs(n) FROM counts WHERE n = $1", cached, ""},
		{"a default that a view gives", "CREATE FUNCTION g(int, int DEFAULT vol(1)) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE VIEW v AS SELECT g(id, 2) AS x FROM item", "SELECT x FROM v", cached, ""},
		{"a default that a view leaves out", "CREATE FUNCTION g(int, int DEFAULT vol(1)) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE VIEW v AS SELECT g(id) AS x FROM item", "SELECT x FROM v", refused, "user-function"},
		{"an aggregate that begins now", base + "CREATE AGGREGATE latest(timestamptz) (SFUNC = timestamptz_larger, STYPE = timestamptz, INITCOND = 'now')", "SELECT latest(value) FROM t", refused, "user-function"},
		{"an aggregate that begins with a date", base + "CREATE AGGREGATE latest(timestamptz) (SFUNC = timestamptz_larger, STYPE = timestamptz, INITCOND = '2024-01-01')", "SELECT latest(value) FROM t", cached, ""},
		{"a cast to json that nobody wrote", base + "CREATE FUNCTION mj(mood2) RETURNS json VOLATILE LANGUAGE sql AS 'SELECT ''1''::json'; CREATE CAST (mood2 AS json) WITH FUNCTION mj(mood2)", "SELECT json_agg(f) FROM t", refused, "user-cast"},
		{"no json, no cast", base + "CREATE FUNCTION mj(mood2) RETURNS json VOLATILE LANGUAGE sql AS 'SELECT ''1''::json'; CREATE CAST (mood2 AS json) WITH FUNCTION mj(mood2)", "SELECT count(f) FROM t", cached, ""},
		{"a function that gives a checked domain", base + "CREATE FUNCTION g(text) RETURNS edom IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "SELECT length(g(w)) FROM words", refused, "user-function"},
		{"a function that takes a checked domain", base + "CREATE FUNCTION g(edom) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'", "SELECT g('a') FROM words", refused, "user-function"},
		{"an extension's function that makes rows", base + "CREATE EXTENSION hstore", "SELECT populate_record(dc, ''::hstore) FROM t", harmless, "user-function"},
		{"an extension's operator that makes rows", base + "CREATE EXTENSION hstore", "SELECT dc #= ''::hstore FROM t", harmless, "operator"},
		{"an operator out of the search_path", "CREATE FUNCTION other.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR other.= (LEFTARG = int, RIGHTARG = int, FUNCTION = other.eq)", "SELECT id FROM item WHERE id = 1", cached, ""},
		{"an operator out of the search_path that a view was made with", "CREATE FUNCTION other.eq(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR other.= (LEFTARG = int, RIGHTARG = int, FUNCTION = other.eq); SET LOCAL search_path = other, public, pg_catalog; CREATE VIEW public.v AS SELECT i.id FROM item i JOIN sale s USING (id); SET LOCAL search_path = public",
			"SELECT id FROM v", refused, "operator"},
		{"an explicit cast that isn't asked for", base + "CREATE FUNCTION tp(text) RETURNS comp VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE CAST (text AS comp) WITH FUNCTION tp(text)", "SELECT id::text, w::varchar(3) FROM words", cached, ""},
		{"an explicit cast that is", base + "CREATE FUNCTION tp(text) RETURNS comp VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE CAST (text AS comp) WITH FUNCTION tp(text)", "SELECT w::comp FROM words", refused, "user-cast"},
		{"a default of an argument that is given", "CREATE FUNCTION g(int, int DEFAULT vol(1)) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "SELECT g(id, 2) FROM item", cached, ""},
		{"modulo beside pg_trgm's %", "CREATE EXTENSION pg_trgm", "SELECT id % 2 FROM item", cached, ""},
		{"pg_trgm's %", "CREATE EXTENSION pg_trgm", "SELECT id FROM item WHERE name % $1", harmless, "operator"},
		{"EXPLAIN over a view that may do anything", "CREATE VIEW v AS SELECT vol(id) FROM item", "EXPLAIN SELECT * FROM v", refused, "not-a-read volatile-function"},
		{"a json path that knows zones", "", "SELECT jsonb_path_exists_tz(doc, '$') FROM item", harmless, "stable-function"},
	})
}
