package catalog

import (
	"context"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// What a verdict may be, in short.
type want uint8

const (
	refused   want = iota
	harmless       // refused, and harmless
	marked         // a mark admits it, and it is harmless
	markedFar      // a mark admits it, and it isn't proven harmless
	cached         // cacheable, and so harmless
)

func (w want) String() string {
	return [...]string{"refused", "refused, harmless", "markable", "markable, not harmless", "cacheable"}[w]
}

func wantOf(v Verdict) want {
	switch {
	case v.Cacheable:
		return cached
	case v.WithMark && v.Harmless:
		return marked
	case v.WithMark:
		return markedFar
	case v.Harmless:
		return harmless
	}
	return refused
}

type judgeCase struct {
	name  string
	setup string // in a transaction of its own, which is rolled back
	text  string
	want  want
	why   string // the codes of the reasons, sorted
}

// broken, within a name, marks statements that the server itself refuses.
const broken = "(an error at the server)"

func runCases(t *testing.T, cases []judgeCase) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, baseSchema)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run(t, pc, "BEGIN; SET LOCAL client_min_messages = error")
			defer run(t, pc, "ROLLBACK")
			if err := runErr(pc, c.setup); err != nil {
				if strings.Contains(c.setup, "CREATE EXTENSION") && strings.Contains(err.Error(), "0A000") {
					t.Skipf("no such extension here: %v", err)
				}
				if strings.Contains(c.setup, "multirange") && strings.Contains(err.Error(), "42704") {
					t.Skipf("multiranges came with PostgreSQL 14: %v", err)
				}
				t.Fatalf("%s: %v", c.setup, err)
			}
			v := ask(t, pc, c.text)
			if got := wantOf(v); got != c.want {
				t.Errorf("%s\n\tis %s, want %s; reasons %v", c.text, got, c.want, v.Reasons)
			}
			if got := codes(v); got != c.why {
				t.Errorf("%s\n\treasons %q, want %q: %v", c.text, got, c.why, v.Reasons)
			}
			if v.Cacheable && !v.Harmless {
				t.Errorf("%s: cacheable, and not harmless", c.text)
			}
			// What a case says would be void if the server read it otherwise.
			if strings.Contains(c.text, "$") || strings.Contains(c.text, "far_item") {
				return
			}
			if err := runErr(pc, c.text); (err != nil) != strings.Contains(c.name, broken) {
				t.Errorf("%s: the server says %v", c.text, err)
			}
		})
	}
}

func TestJudgeCacheable(t *testing.T) {
	var cases []judgeCase
	for _, text := range []string{
		"SELECT * FROM item",
		"SELECT id, name FROM item WHERE id = $1",
		"SELECT i.* FROM item i WHERE i.name LIKE 'a%' AND i.name NOT ILIKE $1",
		"SELECT id FROM public.item WHERE id IN (1, 2) OR id NOT IN (3) ORDER BY id DESC NULLS LAST LIMIT 5 OFFSET $1",
		"SELECT id FROM item WHERE id = ANY($1)",
		"SELECT id FROM item WHERE id = ANY(SELECT item_id FROM sale) AND id <> ALL(SELECT 5)",
		"SELECT id FROM item WHERE made BETWEEN '2024-01-01' AND $1 AND at > $2 AND ts < $3",
		"SELECT price * 2 + 1 - id % 3 / 2 FROM item WHERE NOT id > 5 AND price IS NOT NULL",
		"SELECT name || '-' || id FROM item WHERE name ~ '^a' AND name !~* 'b'",
		"SELECT CASE id WHEN 1 THEN 'a' ELSE 'b' END, CASE WHEN id > 1 THEN 1 END FROM item",
		"SELECT count(*), count(DISTINCT name), sum(price), min(made), max(at), avg(w) FROM item",
		"SELECT name, count(*) FROM item GROUP BY name HAVING count(*) > 1 ORDER BY count(*) DESC, name",
		"SELECT i.id, s.qty FROM item i JOIN sale s ON s.item_id = i.id LEFT JOIN quick q ON q.id = i.id",
		"SELECT id FROM item JOIN quick USING (id)",
		"SELECT id FROM item NATURAL JOIN quick",
		"SELECT id FROM item WHERE EXISTS (SELECT 1 FROM sale WHERE item_id = item.id)",
		"SELECT i.id, l.n FROM item i, LATERAL (SELECT count(*) AS n FROM sale s WHERE s.item_id = i.id) l",
		"SELECT pg_catalog.count(*) FROM item",
		"SELECT id FROM item ORDER BY id FETCH FIRST 2 ROWS ONLY",
		"WITH a AS (SELECT id FROM item) SELECT a.id FROM a",
		"SELECT x.id FROM (SELECT id FROM item) x(id)",
		"SELECT id FROM ONLY animal", "SELECT id FROM animal*",
		`SELECT "select" FROM "Odd ""Name"`,
		"SELECT ID FROM ITEM", `SELECT "now", i."now" FROM item i`,
		"SELECT id FROM app.hidden", "SELECT id FROM quick", "SELECT * FROM part", "SELECT * FROM part_1_1",
		"SELECT * FROM animal", "SELECT breed FROM dog", "SELECT * FROM made_up",
		"SELECT id FROM item WHERE at > ts - interval '1 day'",
		"SELECT id FROM item WHERE span = $1 AND tags = $2 AND doc = $3 AND u = $4",
		"SELECT id FROM item WHERE id = 5 -- comment",
	} {
		cases = append(cases, judgeCase{name: text, text: text, want: cached})
	}
	cases = append(cases,
		judgeCase{"a user's overload out of reach", "CREATE FUNCTION other.sum(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"SELECT sum(id) FROM item", cached, ""},
		judgeCase{"a user's table named like an aggregate", "CREATE TABLE sum (id int)", "SELECT sum(id) FROM item", cached, ""},
		judgeCase{"citext's operators", "CREATE EXTENSION citext", "SELECT id FROM item WHERE name = 'a' AND id <> $1 ORDER BY name", cached, ""},
		judgeCase{"hstore's operators", "CREATE EXTENSION hstore", "SELECT id FROM item WHERE name = 'a'", cached, ""},
		judgeCase{"cube's operators", "CREATE EXTENSION cube", "SELECT id FROM item WHERE id < 5 AND name >= 'a'", cached, ""},
		judgeCase{"ltree's operators", "CREATE EXTENSION ltree", "SELECT id FROM item WHERE name = 'a'", cached, ""},
		judgeCase{"a user's function of a scalar, named like a column", "CREATE FUNCTION name(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'",
			"SELECT i.name FROM item i", cached, ""},
		judgeCase{"a user's function of a row, out of reach", "CREATE FUNCTION other.name(item) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'",
			"SELECT i.name FROM item i", cached, ""},
		judgeCase{"an enum named like a column", "CREATE TYPE name AS ENUM ('a')", "SELECT i.name FROM item i", cached, ""},
		judgeCase{"a built-in function's name as an output column", "", "SELECT x.date FROM (SELECT made AS date FROM item) x", cached, ""},
		judgeCase{"a user's explicit cast", "CREATE FUNCTION c(date) RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE CAST (date AS int) WITH FUNCTION c(date)",
			"SELECT id FROM item", cached, ""},
		judgeCase{"an event trigger, a rule on write and a trigger", "CREATE RULE r AS ON UPDATE TO item DO ALSO SELECT 1", "SELECT id FROM item", cached, ""},
	)
	runCases(t, cases)
}

func TestJudgeRelations(t *testing.T) {
	const tree = "SELECT 1 FROM "
	runCases(t, []judgeCase{
		{"view", "", "SELECT id FROM plain_view", cached, ""},
		{"materialized view", "", "SELECT id FROM mat", cached, ""},
		{"sequence", "", "SELECT last_value FROM seq", harmless, "relation-kind"},
		{"composite type " + broken, "", "SELECT a FROM pair", refused, "relation-kind"},
		{"index " + broken, "", "SELECT 1 FROM item_pkey", refused, "relation-kind"},
		{"foreign table", "", "SELECT id FROM far_item", markedFar, "foreign-table"},
		{"unknown " + broken, "", "SELECT id FROM nosuch", refused, "unknown-relation"},
		{"unknown schema " + broken, "", "SELECT id FROM nosuch.item", refused, "unknown-relation"},
		{"out of the search_path " + broken, "", "SELECT id FROM hidden", refused, "unknown-relation"},
		{"another case " + broken, "", `SELECT id FROM "ITEM"`, refused, "unknown-relation"},
		{"no relation", "", "SELECT 1", harmless, "no-relation"},
		{"a mark without a relation", "", "SELECT now()", harmless, "no-relation volatile-function"},
		{"three parts " + broken, "", "SELECT id FROM nosuch.public.item", harmless, "three-part-name"},
		{"system catalog", "", "SELECT relname FROM pg_class", harmless, "system-relation"},
		{"system catalog, qualified", "", "SELECT relname FROM pg_catalog.pg_class", harmless, "system-relation"},
		{"system catalog, joined", "", "SELECT i.id FROM item i, pg_class c", harmless, "system-relation"},
		{"system view", "", "SELECT count(*) FROM pg_stat_activity", harmless, "system-relation"},
		{"information_schema", "", "SELECT table_name FROM information_schema.tables", harmless, "system-relation"},
		{"system catalog with a mark", "", "SELECT relname, now() FROM pg_class", harmless, "system-relation volatile-function"},
		{"altered system view", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE OR REPLACE VIEW information_schema.collation_character_set_applicability AS SELECT NULL::information_schema.sql_identifier AS collation_catalog, NULL::information_schema.sql_identifier AS collation_schema, f()::text::information_schema.sql_identifier AS collation_name, NULL::information_schema.sql_identifier AS character_set_catalog, NULL::information_schema.sql_identifier AS character_set_schema, NULL::information_schema.sql_identifier AS character_set_name",
			"SELECT collation_name FROM information_schema.collation_character_set_applicability", refused, "system-relation"},
		{"toast", "CREATE TABLE pg_t (id int); DO $$ BEGIN EXECUTE 'ALTER TABLE pg_t RENAME TO pg_t2'; END $$", "SELECT id FROM pg_t2", cached, ""},
		{"temp table", "CREATE TEMP TABLE tmp (id int)", "SELECT id FROM tmp", harmless, "temporary-table"},
		{"temp table, qualified", "CREATE TEMP TABLE tmp (id int)", "SELECT id FROM pg_temp.tmp", harmless, "temporary-table"},
		{"temp table that shadows", "CREATE TEMP TABLE item (id int)", "SELECT id FROM item", harmless, "temporary-table"},
		{"temp table beside a qualified one", "CREATE TEMP TABLE item (id int)", "SELECT id FROM public.item", cached, ""},
		{"temp schema without such a table " + broken, "CREATE TEMP TABLE tmp (id int)", "SELECT id FROM pg_temp.item", refused, "unknown-relation"},
		{"temp child", "CREATE TEMP TABLE pet () INHERITS (animal)", "SELECT id FROM animal", harmless, "temporary-table"},
		{"row security", "", "SELECT id FROM secret", harmless, "row-security"},
		{"row security in a subquery", "", "SELECT id FROM item WHERE id IN (SELECT id FROM secret)", harmless, "row-security"},
		{"row security with a mark", "", "SELECT id, now() FROM secret", harmless, "row-security volatile-function"},
		{"row security of a partition", "ALTER TABLE part_1_1 ENABLE ROW LEVEL SECURITY", "SELECT id FROM part", harmless, "row-security"},
		{"row security of a parent", "ALTER TABLE animal ENABLE ROW LEVEL SECURITY", "SELECT id FROM pup", harmless, "row-security"},
		{"foreign partition", "CREATE FOREIGN TABLE part_far PARTITION OF part FOR VALUES IN (3) SERVER far", tree + "part WHERE id = 1", markedFar, "foreign-table"},
		{"foreign child", "CREATE FOREIGN TABLE far_pet () INHERITS (pup) SERVER far", tree + "ONLY animal", markedFar, "foreign-table"},
		{"shadowed by the search_path", "CREATE VIEW app.item AS SELECT 1 AS id; SET LOCAL search_path = app, public", "SELECT id FROM item", cached, ""},
		{"not shadowed when later", "CREATE VIEW app.item AS SELECT 1 AS id; SET LOCAL search_path = public, app", "SELECT id FROM item", cached, ""},
		{"shadowed under \"$user\"", "CREATE SCHEMA AUTHORIZATION CURRENT_USER; DO $$ BEGIN EXECUTE format('CREATE VIEW %I.item AS SELECT 1 AS id', current_user); END $$",
			"SELECT id FROM item", cached, ""},
		{"pg_catalog first, unless told", "CREATE TABLE pg_class (id int)", "SELECT 1 FROM pg_class", harmless, "system-relation"},
		{"pg_catalog last", "CREATE TABLE pg_class (id int); SET LOCAL search_path = public, pg_catalog", "SELECT id FROM pg_class", cached, ""},
		{"a schema one may not use " + broken, "CREATE ROLE lowly_of_catalog; SET LOCAL ROLE lowly_of_catalog; SET LOCAL search_path = app, public",
			"SELECT id FROM hidden", refused, "unknown-relation"},
		{"ON SELECT rule " + broken, "", "SELECT 1 FROM item i, nosuch", refused, "unknown-relation"},
	})
}

func TestJudgeTypes(t *testing.T) {
	const enumWide = "CREATE FUNCTION i2m(int) RETURNS mood VOLATILE LANGUAGE sql AS 'SELECT ''ok''::mood'; CREATE CAST (int AS mood) WITH FUNCTION i2m(int) AS IMPLICIT"
	runCases(t, []judgeCase{
		{"enum column", "", "SELECT id FROM feels", cached, ""},
		{"domain column", "", "SELECT id FROM tamed", cached, ""},
		{"checked domain column", "", "SELECT id FROM fussed", cached, ""},
		{"checked domain, and a function that may read one", "", "SELECT json_populate_record(f, '{}') FROM fussed f", harmless, "stable-function"},
		{"checked domain as a parameter", "", "SELECT id FROM fussed WHERE ds = $1", cached, ""},
		{"a domain checked by what may do anything, shown", "CREATE DOMAIN wild AS text CHECK (of_text(value) > 0); CREATE TABLE wilds (d wild)", "SELECT d FROM wilds WHERE d = 'a'", cached, ""},
		{"an array of such domains", "CREATE DOMAIN wild AS text CHECK (of_text(value) > 0); CREATE TABLE wilds (ds wild[])", "SELECT ds FROM wilds", refused, "type"},
		{"a domain checked by what may do anything, as a parameter", "CREATE DOMAIN wild AS text CHECK (of_text(value) > 0); CREATE TABLE wilds (d wild, ds wild[])", "SELECT d FROM wilds WHERE ds = $1", refused, "type"},
		{"a domain checked by what may do anything, and a function that may read one", "CREATE DOMAIN wild AS text CHECK (of_text(value) > 0); CREATE TABLE wilds (d wild, ds wild[])",
			"SELECT json_populate_record(w, '{}') FROM wilds w", refused, "stable-function type"},
		{"composite column", "", "SELECT id FROM paired", cached, ""},
		{"range column", "", "SELECT id FROM spanned", cached, ""},
		{"timetz column", "", "SELECT id FROM clocked", harmless, "type"},
		{"regclass column", "", "SELECT id FROM regged", harmless, "type"},
		{"array of enums", "CREATE TABLE moods (ms mood[])", "SELECT 1 FROM moods", cached, ""},
		{"a dropped column's type doesn't matter", "ALTER TABLE feels DROP COLUMN m", "SELECT id FROM feels", cached, ""},
		{"citext column", "CREATE EXTENSION citext; CREATE TABLE ci (c citext)", "SELECT 1 FROM ci", cached, ""},
		{"a column of an extension's type without casts", "CREATE EXTENSION cube; CREATE TABLE cubes (c cube[])", "SELECT 1 FROM cubes", cached, ""},
		{"multirange column", "CREATE TABLE mr (m span_multirange)", "SELECT 1 FROM mr", refused, "type"},
		{"array of citext in a composite", "CREATE EXTENSION citext; CREATE TYPE inner_ci AS (c citext[]); CREATE TABLE ci (c inner_ci)", "SELECT 1 FROM ci", cached, ""},
		{"timetz parameter", "", "SELECT id FROM clocked WHERE tt = $1", harmless, "type"},
		{"enum parameter", "", "SELECT id FROM feels WHERE m = $1", cached, ""},
		{"cast", "", "SELECT id::text FROM item", cached, ""},
		{"cast of a column to a clock", "", "SELECT id FROM item WHERE code::date > '2024-01-01'", marked, "date-input"},
		{"typed literal", "", "SELECT id FROM item WHERE made > date '2024-01-01'", cached, ""},
		{"cast to a user's type", "", "SELECT id FROM item WHERE 'ok'::mood IS NULL", cached, ""},
		{"a user's type named interval", "CREATE DOMAIN app.interval AS text; SET LOCAL search_path = app, pg_catalog, public",
			`SELECT id FROM item WHERE "interval" 'x' IS NULL`, cached, ""},
		{"a user's implicit cast between built-in types", "CREATE FUNCTION c(date) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'; CREATE CAST (date AS int) WITH FUNCTION c(date) AS IMPLICIT",
			"SELECT id FROM item", refused, "user-cast"},
		{"a user's assignment cast between built-in types", "CREATE FUNCTION c(date) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'; CREATE CAST (date AS int) WITH FUNCTION c(date) AS ASSIGNMENT",
			"SELECT id FROM item", refused, "user-cast"},
		{"a user's cast of a row", "CREATE FUNCTION c(item) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'; CREATE CAST (item AS int) WITH FUNCTION c(item) AS IMPLICIT",
			"SELECT id FROM item WHERE item > 5", refused, "user-cast"},
		{"a user's cast that an extension's type has", "CREATE EXTENSION citext", "SELECT id FROM item", cached, ""},
		{"a user's explicit cast, and a cast in the text", "CREATE FUNCTION c(date) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'; CREATE CAST (date AS int) WITH FUNCTION c(date)",
			"SELECT made::int FROM item", refused, "user-cast"},
		{"a user's explicit cast to json, and a function that applies it", "CREATE FUNCTION c(item) RETURNS json VOLATILE LANGUAGE sql AS 'SELECT ''1''::json'; CREATE CAST (item AS json) WITH FUNCTION c(item)",
			"SELECT to_json(item) FROM item", refused, "user-cast"},
		{"a cast into an enum", enumWide, "SELECT id FROM item", cached, ""},
		{"a cast into an enum that has operators", enumWide + "; CREATE FUNCTION me(mood, mood) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = mood, RIGHTARG = mood, FUNCTION = me)",
			"SELECT id FROM item WHERE id = 1", refused, "operator"},
		{"a user's default operator class", "CREATE FUNCTION jlt(json, json) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT true'; CREATE FUNCTION jcmp(json, json) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 0';" +
			"CREATE OPERATOR ### (LEFTARG = json, RIGHTARG = json, FUNCTION = jlt); CREATE OPERATOR CLASS jops DEFAULT FOR TYPE json USING btree AS OPERATOR 1 ### , FUNCTION 1 jcmp(json, json)",
			"SELECT id FROM item ORDER BY name", refused, "operator"},
	})
}

func TestJudgeOperators(t *testing.T) {
	const eq = "CREATE FUNCTION eq(int, text) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; "
	runCases(t, []judgeCase{
		{"a user's operator", eq + "CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id ### name", refused, "operator"},
		{"a user's operator of a built-in's name", eq + "CREATE OPERATOR = (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id = name", refused, "operator"},
		{"the same, implied by IN", eq + "CREATE OPERATOR = (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id IN (name)", refused, "operator"},
		{"the same, implied by CASE", eq + "CREATE OPERATOR = (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT CASE id WHEN name THEN 1 END FROM item", refused, "operator"},
		{"the same, implied by USING", eq + "CREATE OPERATOR = (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item JOIN sale USING (id)", refused, "operator"},
		{"a user's operator, implied by LIKE", eq + "CREATE OPERATOR ~~ (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id LIKE name", refused, "operator"},
		{"a user's operator, implied by BETWEEN", eq + "CREATE OPERATOR <= (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id BETWEEN 1 AND name", refused, "operator"},
		{"a user's operator that isn't used", eq + "CREATE OPERATOR <= (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id = 1", cached, ""},
		{"a user's operator on a user's type, no built-in one of that name", "CREATE FUNCTION me(mood, mood) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR ### (LEFTARG = mood, RIGHTARG = mood, FUNCTION = me)",
			"SELECT id FROM item WHERE 'ok' ### 'sad'", refused, "operator"},
		{"a user's operator in another schema", eq + "CREATE OPERATOR other.= (LEFTARG = int, RIGHTARG = text, FUNCTION = eq)", "SELECT id FROM item WHERE id OPERATOR(other.=) name", refused, "operator"},
		{"a user's operator on rows", "CREATE FUNCTION ieq(item, item) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = item, RIGHTARG = item, FUNCTION = ieq)",
			"SELECT 1 FROM item a JOIN item b ON a = b", refused, "operator"},
		{"a user's prefix operator of a built-in's name", "CREATE FUNCTION pre(mood) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR || (RIGHTARG = mood, FUNCTION = pre)",
			"SELECT id FROM item WHERE || 'ok'", refused, "operator"},
		{"a user's operator on a user's type only", "CREATE FUNCTION me(mood, mood) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = mood, RIGHTARG = mood, FUNCTION = me)",
			"SELECT id FROM item WHERE id = 1 AND 'a' = 'b'", cached, ""},
		{"the same, where a column has that type", "CREATE FUNCTION me(mood, mood) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = mood, RIGHTARG = mood, FUNCTION = me)",
			"SELECT id FROM feels WHERE m = 'ok'", refused, "operator"},
		{"a user's operator on strings of a user's type, no built-in one on text " + broken, "CREATE EXTENSION citext; CREATE FUNCTION cm(citext, citext) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'; CREATE OPERATOR - (LEFTARG = citext, RIGHTARG = citext, FUNCTION = cm)",
			"SELECT 'a' - 'b' FROM item", refused, "operator"},
		{"citext and text", "CREATE EXTENSION citext", "SELECT id FROM item WHERE name LIKE 'a'", cached, ""},
		{"an operator of a user's type, by its schema", "CREATE EXTENSION citext", "SELECT id FROM item WHERE 'a' OPERATOR(public.=) 'b'", cached, ""},
		{"jsonb's operator beside hstore's", "CREATE EXTENSION hstore", "SELECT id FROM item WHERE doc @> '{}'", cached, ""},
		{"an operator not in the list", "", "SELECT doc -> 'a' FROM item", cached, ""},
		{"text search", "", "SELECT id FROM item WHERE name @@ 'a'", cached, ""},
		{"hostile = of its own in the path", "CREATE FUNCTION neq(name, name) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT false'; CREATE FUNCTION oeq(oid, oid) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT false';" +
			"CREATE OPERATOR app.= (LEFTARG = name, RIGHTARG = name, FUNCTION = neq); CREATE OPERATOR app.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = oeq);" +
			"CREATE FUNCTION app.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT NULL::text WHERE false'; CREATE TABLE app.pg_class (oid oid, relname name); CREATE TABLE app.pg_operator (oid oid);" +
			"CREATE FUNCTION app.concat(VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT ''rp--'''; CREATE TYPE app.text AS ENUM ('x'); SET LOCAL search_path = app, public, pg_catalog",
			"SELECT id FROM plain_view WHERE id = 1", refused, "operator"},
		{"the same, and a table", "CREATE TABLE app.pg_class (oid oid, relname name); CREATE TABLE app.pg_namespace (oid oid); CREATE TYPE app.text AS ENUM ('x'); CREATE TABLE app.pg_proc (id int); SET LOCAL search_path = app, public, pg_catalog",
			"SELECT id FROM item WHERE id = 1", cached, ""},
	})
}

func TestJudgeFunctions(t *testing.T) {
	runCases(t, []judgeCase{
		{"built-in and immutable", "", "SELECT lower(name) FROM item", cached, ""},
		{"a user's, volatile", "", "SELECT vol(id) FROM item", refused, "volatile-function"},
		{"a user's, immutable", "", "SELECT pure(id) FROM item", cached, ""},
		{"a user's, qualified", "", "SELECT public.vol(id) FROM item", refused, "volatile-function"},
		{"unknown " + broken, "", "SELECT nosuch(id) FROM item", refused, "unknown-function"},
		{"a user's overload of an aggregate", "CREATE FUNCTION sum(text) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", "SELECT sum(name) FROM item", refused, "volatile-function"},
		{"the same, with pg_catalog named", "CREATE FUNCTION sum(text) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", "SELECT pg_catalog.sum(id) FROM item", cached, ""},
		{"an aggregate's name in another schema " + broken, "", "SELECT app.sum(id) FROM item", refused, "unknown-function"},
		{"a user's aggregate", "CREATE AGGREGATE count (text) (sfunc = textcat, stype = text)", "SELECT count(name) FROM item", cached, ""},
		{"a domain named like an aggregate", "CREATE DOMAIN sum AS text CHECK (of_text(value) > 0)", "SELECT sum(name) FROM item", refused, "type"},
		{"clock", "", "SELECT now() FROM item", marked, "volatile-function"},
		{"clock, volatile", "", "SELECT clock_timestamp(), timeofday(), statement_timestamp(), transaction_timestamp() FROM item", marked, "volatile-function"},
		{"clock keyword", "", "SELECT current_timestamp FROM item", marked, "clock-keyword"},
		{"clock of the user's own", "CREATE FUNCTION now(int DEFAULT 1) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", "SELECT now(1) FROM item", refused, "volatile-function"},
		{"chance", "", "SELECT id FROM item ORDER BY random()", marked, "volatile-function"},
		{"date word", "", "SELECT id FROM item WHERE made = 'today'", marked, "date-word"},
		{"sampling", "", "SELECT id FROM item TABLESAMPLE system (50)", marked, "tablesample"},
		{"sampling by a user's method", "CREATE EXTENSION tsm_system_rows", "SELECT id FROM item TABLESAMPLE system_rows (5)", refused, "tablesample user-function"},
		{"identity", "", "SELECT current_user FROM item", harmless, "identity-keyword"},
		{"system column", "", "SELECT xmin FROM item", harmless, "system-column"},
		{"chance not in the list", "", "SELECT gen_random_uuid() FROM item", harmless, "volatile-function"},
		{"backend", "", "SELECT pg_backend_pid()", harmless, "no-relation stable-function"},
		{"transaction", "", "SELECT txid_current()", harmless, "no-relation stable-function"},
		{"sleep", "", "SELECT pg_sleep(0) FROM item", harmless, "volatile-function"},
		{"sequence", "", "SELECT nextval('seq') FROM item", refused, "volatile-function"},
		{"sequence set", "", "SELECT setval('seq', 1) FROM item", refused, "volatile-function"},
		{"setting", "", "SELECT set_config('a.b', 'c', true) FROM item", refused, "session-effect volatile-function"},
		{"message", "", "SELECT pg_notify('a', 'b') FROM item", refused, "volatile-function"},
		{"advisory lock", "", "SELECT pg_advisory_xact_lock(1) FROM item", refused, "volatile-function"},
		{"large object", "", "SELECT lo_create(0) FROM item", refused, "volatile-function"},
		{"seed", "", "SELECT setseed(0) FROM item", refused, "volatile-function"},
		{"another backend", "", "SELECT pg_cancel_backend(0) FROM item", refused, "volatile-function"},
		{"query in text", "", "SELECT query_to_xml('select 1', true, true, '') FROM item", refused, "volatile-function"},
		{"table in text", "", "SELECT table_to_xml('plain_view', true, true, '') FROM item", refused, "stable-function"},
		{"input in text", "", "SELECT domain_in('x', 0, 0) FROM item WHERE false", refused, "stable-function"},
		{"syntax that is no function", "", "SELECT COALESCE(name, 'x') FROM item", cached, ""},
		{"window", "", "SELECT count(*) OVER () FROM item", cached, ""},
		{"set-returning", "", "SELECT * FROM item, generate_series(1, 2) g", cached, ""},
	})
}

func TestJudgeAttributes(t *testing.T) {
	runCases(t, []judgeCase{
		{"of its row", "", "SELECT i.of_item FROM item i", refused, "attribute-function"},
		{"of anything", "", "SELECT i.of_any FROM item i", refused, "attribute-function"},
		{"of a record", "", "SELECT x.of_record FROM (SELECT id FROM item) x", refused, "attribute-function"},
		{"with a default", "", "SELECT i.of_default FROM item i", refused, "attribute-function"},
		{"with any number of rows", "", "SELECT i.of_many FROM item i", refused, "attribute-function"},
		{"quoted", "", `SELECT i."of_item" FROM item i`, refused, "attribute-function"},
		{"qualified", "", "SELECT public.item.of_item FROM public.item", refused, "attribute-function"},
		{"of a table beside a column of that name", "ALTER TABLE sale ADD of_item int", "SELECT i.of_item, s.of_item FROM item i, sale s", refused, "attribute-function"},
		{"of text, which no row is " + broken, "", "SELECT i.of_text FROM item i", cached, ""},
		{"of what is out of the path " + broken, "", "SELECT i.of_far FROM item i", cached, ""},
		{"a domain over the row", "CREATE DOMAIN as_item AS item CHECK (of_any(value) > 0)", "SELECT i.as_item FROM item i", refused, "attribute-function"},
		{"a domain over that domain", "CREATE DOMAIN as1 AS item; CREATE DOMAIN as_item AS as1 CHECK (of_any(value) > 0)", "SELECT i.as_item FROM item i", refused, "attribute-function"},
		{"of a parent's row", "CREATE FUNCTION of_animal(animal) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", "SELECT d.of_animal FROM dog d", refused, "attribute-function"},
		{"built-in and immutable", "", "SELECT i.count FROM item i", cached, ""},
		{"built-in and stable", "", "SELECT i.row_to_json FROM item i", cached, ""},
		{"built-in and stable, named like a column", "ALTER TABLE item ADD row_to_json int", "SELECT i.row_to_json FROM item i", cached, ""},
		{"of an expression", "", "SELECT (i).of_item FROM item i", refused, "attribute-function"},
		{"of a value", "", "SELECT ('x'::text).of_text FROM item", refused, "attribute-function"},
		{"of a value, built-in", "", "SELECT ('seq'::regclass).nextval FROM item", refused, "attribute-function type"},
		{"of a function's alias", "", "SELECT s.nextval FROM item, CAST('seq' AS regclass) AS s", refused, "attribute-function type"},
		{"of a function's alias, as a domain", "CREATE DOMAIN picky AS text CHECK (of_text(value) > 0)", "SELECT s.picky FROM item, lower('X') AS s", refused, "attribute-function"},
	})
}

func TestJudgeClasses(t *testing.T) {
	runCases(t, []judgeCase{
		{"SHOW", "", "SHOW work_mem", harmless, "not-a-read"},
		{"EXPLAIN", "", "EXPLAIN SELECT id FROM item", harmless, "not-a-read"},
		{"EXPLAIN of what may be folded", "", "EXPLAIN SELECT pure(1)", harmless, "not-a-read"},
		{"EXPLAIN of a write", "", "EXPLAIN DELETE FROM item", harmless, "not-a-read"},
		{"EXPLAIN of a view", "", "EXPLAIN SELECT id FROM plain_view", harmless, "not-a-read"},
		{"row lock", "", "SELECT id FROM item FOR UPDATE", harmless, "row-lock"},
		{"row lock with a mark", "", "SELECT id, now() FROM item FOR SHARE", harmless, "row-lock volatile-function"},
		{"table lock", "", "LOCK TABLE item", harmless, "row-lock"},
		{"write", "", "UPDATE item SET name = 'x'", refused, "write"},
		{"DDL", "", "CREATE TABLE x (id int)", refused, "not-a-read"},
		{"SET", "", "SET work_mem = '4MB'", refused, "not-a-read"},
		{"two statements", "", "SELECT 1; SELECT 2", refused, "several-statements"},
	})
}

func TestJudgeRelationTree(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, baseSchema+"CREATE TABLE toy (id int); CREATE TABLE left_of (id int); CREATE TABLE both_of () INHERITS (left_of, toy)")
	const part, animals = "public.part public.part_1 public.part_1_1 public.part_2", "public.animal public.dog public.pup"
	for text, want := range map[string]string{
		"SELECT 1 FROM item":                          "public.item",
		"SELECT 1 FROM part":                          part,
		"SELECT 1 FROM part_1_1":                      part,
		"SELECT 1 FROM dog":                           animals,
		"SELECT 1 FROM left_of":                       "public.both_of public.left_of public.toy", // a write to toy reaches both_of
		"SELECT 1 FROM ONLY pup":                      animals,
		"SELECT 1 FROM item, app.hidden, item i, dog": "app.hidden public.animal public.dog public.item public.pup",
		"WITH item AS (SELECT 1) SELECT 1 FROM item":  "",
	} {
		v := ask(t, pc, text)
		if got := names(v); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		for _, r := range v.Relations {
			if r.OID < firstUserOID {
				t.Errorf("%s: %+v", text, r)
			}
		}
	}
}

// A wide tree is one relation among its partitions, whichever is named.
func TestJudgeManyPartitions(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, `CREATE TABLE many (id int) PARTITION BY LIST (id);
		DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES IN (%s)', i, i); END LOOP; END $$;`)
	for _, text := range []string{"SELECT id FROM many", "SELECT id FROM many_7"} {
		if v := ask(t, pc, text); !v.Cacheable || len(v.Relations) != 301 || v.Named != 1 {
			t.Errorf("%s: cacheable %v, %d relations, %d named", text, v.Cacheable, len(v.Relations), v.Named)
		}
	}
}

// An error of the server is an error, and the connection is still of use.
func TestJudgeErrors(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, baseSchema)
	st := sqlscan.Scan("SELECT id FROM item WHERE id = $1")
	if v, err := Judge(context.Background(), pc, st, nil); err != nil || !v.Cacheable || !v.Harmless {
		t.Errorf("without the parameters' types: %+v, %v", v, err)
	}
	run(t, pc, "BEGIN")
	if err := runErr(pc, "SELECT 1/0"); err == nil {
		t.Fatal("no error")
	}
	if v, err := Judge(context.Background(), pc, st, []uint32{23}); err == nil || v.Cacheable || v.Harmless {
		t.Errorf("in a failed transaction: %+v, %v", v, err)
	}
	run(t, pc, "ROLLBACK")
	if v, err := Judge(context.Background(), pc, st, []uint32{23}); err != nil || !v.Cacheable {
		t.Errorf("afterwards: %+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := Judge(ctx, pc, st, []uint32{23}); err == nil || v.Cacheable || v.Harmless {
		t.Errorf("cancelled: %+v, %v", v, err)
	}
}
