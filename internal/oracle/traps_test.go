package oracle

import (
	"slices"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// One statement, at least, for each trap that is known.
var traps = []struct {
	name, text string
	cacheable  bool // by its text
}{
	{"attribute notation", "SELECT c.f, (c).f, (g(c)).f, c.a[1] FROM c", true},
	{"implied operators", "SELECT DISTINCT a FROM t JOIN u USING (b) WHERE a IN (1, 2) AND c BETWEEN 1 AND 2 AND d LIKE 'x' AND e NOT ILIKE 'y' AND (f, g) = ANY (SELECT 1, 2) ORDER BY h DESC", true},
	{"not in a query", "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u) AND c NOT BETWEEN SYMMETRIC 1 AND 2", true},
	{"a table behind ordinality", "SELECT * FROM unnest(a) WITH ORDINALITY AS x(b, c), tbl", true},
	{"a table behind a column definition list", "SELECT * FROM json_to_record('{}') AS x(a int, b text), tbl", true},
	{"a table behind XMLTABLE", "SELECT * FROM XMLTABLE('/r' PASSING x COLUMNS a int PATH '@a', b text DEFAULT 'c'), tbl", true},
	{"a table behind JSON_TABLE", "SELECT * FROM JSON_TABLE(j, '$[*]' COLUMNS (a int PATH '$.a', NESTED PATH '$.b[*]' COLUMNS (c date))) AS x, tbl", true},
	{"a table behind ROWS FROM", "SELECT * FROM ROWS FROM (f(1), g(2) AS (a int)) WITH ORDINALITY, tbl", true},
	{"a relative date", "SELECT a FROM t WHERE created_at >= 'today'", false},
	{"a relative date in an array", `SELECT a FROM t WHERE created_at = ANY ($${n\ow}$$)`, false},
	{"a relative date by escapes", `SELECT a FROM t WHERE created_at >= E'\x6eow' OR b >= U&'t\006fday'`, false},
	{"a relative date over lines", "SELECT a FROM t WHERE created_at >= 'to'\n'day'", false},
	{"continued literals keep their kind", "SELECT E'a'\n'b\\'c' FROM t", true},
	{"a literal that a comment cuts", "SELECT 'a' /* x */ 'b' FROM t", false},
	{"names are cut", "SELECT * FROM aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
	{"dollar quotes", "SELECT $x$ ; DELETE FROM t; $x$ FROM t", true},
	{"nested comments", "SELECT a /* /* */ ; DELETE FROM t */ FROM t", true},
	{"every lock", "SELECT a FROM t FOR NO KEY UPDATE OF t NOWAIT", false},
	{"a lock with a comment in it", "SELECT a FROM t FOR/* x */KEY -- y\nSHARE SKIP LOCKED", false},
	{"a lock in a subquery of a VALUES", "VALUES ((SELECT a FROM t FOR UPDATE))", false},
	{"into", "SELECT a INTO TEMP b FROM t", false},
	{"into at the end of a union's first part", "SELECT a INTO b FROM t UNION SELECT c FROM u", false},
	{"a write in WITH", "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x, u", false},
	{"a merge in WITH", "WITH x AS (MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE RETURNING a) SELECT a FROM x", false},
	{"a write deep in WITH", "SELECT * FROM (WITH y AS (WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT 1 FROM x) SELECT 1 FROM y) z", false},
	{"explain analyze", "EXPLAIN (COSTS off, ANALYZE) UPDATE t SET a = 1 FROM u", false},
	{"call", "CALL f(1)", false},
	{"do", "DO $$ BEGIN END $$", false},
	{"execute", "EXECUTE p(1)", false},
	{"copy", "COPY t (a) FROM STDIN", false},
	{"copy a query", "COPY (SELECT a FROM t) TO STDOUT", false},
	{"a cursor", "DECLARE c CURSOR WITH HOLD FOR SELECT a FROM t FOR UPDATE", false},
	{"listen", "LISTEN a", false},
	{"several", "SELECT a FROM t; SELECT b FROM u", false},
	{"several, one of them empty", "SELECT a FROM t;; -- x", true},
	{"set_config", "SELECT set_config('a', 'b', false) FROM t", false},
	{"an advisory lock", `SELECT U&"pg_advisory_loc\006b"(1) FROM t`, false},
	{"keywords that are clocks", "SELECT a FROM t WHERE b > CURRENT_TIMESTAMP(3)", false},
	{"keywords that are identities", "SELECT a FROM t WHERE b = CURRENT_USER", false},
	{"a clock in FROM", "SELECT a FROM t, CURRENT_DATE d", false},
	{"a column named as a clock", "SELECT t.current_date, a AS localtime FROM t", true},
	{"tablesample", "SELECT a FROM t AS x (b) TABLESAMPLE system (1) REPEATABLE (2)", false},
	{"system columns", `SELECT a FROM t WHERE t."xmin" = $1`, false},
	{"a system column of a row", "SELECT (t).ctid FROM t", false},
	{"a whole row", "SELECT t FROM t", true},
	{"truncate", "TRUNCATE a, ONLY b CASCADE", false},
	{"on conflict", "INSERT INTO t (a) SELECT b FROM u ON CONFLICT (a) WHERE c DO UPDATE SET d = (SELECT e FROM v)", false},
	{"refresh", "REFRESH MATERIALIZED VIEW CONCURRENTLY v", false},
	{"prepare transaction", "PREPARE TRANSACTION 'x'", false},
	{"savepoints", "ROLLBACK TO SAVEPOINT a", false},
	{"grant", "GRANT SELECT ON t TO u", false},
	{"three parts", "SELECT a FROM db.s.t", false},
	{"a temporary table", "CREATE TEMP TABLE x AS SELECT 1", false},
	{"a CTE hides a table, not everywhere", "WITH t AS (SELECT * FROM t) SELECT * FROM t, s.t", true},
	{"CTEs that see each other", "WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT 1 FROM t) SELECT * FROM a", true},
	{"a CTE that hides none outside", "SELECT * FROM (WITH a AS (SELECT 1 FROM t) SELECT 1 FROM a) x, a", true},
	{"search and cycle", "WITH RECURSIVE a(b) AS (SELECT 1 FROM t UNION ALL SELECT 1 FROM a) SEARCH BREADTH FIRST BY b SET c CYCLE b SET d TO 'x' DEFAULT 'y' USING e SELECT * FROM a", true},
	{"casts over casts", "SELECT (a::text)::date, CAST($1 AS text)::date, '2020-01-01'::text::date, date '2020-01-01'::text FROM t", true},
	{"casts bind tight", "SELECT - a::int, a || b::text, a AT TIME ZONE 'x'::text, (a AT TIME ZONE 'x')::date FROM t", true},
	{"casts of fields", "SELECT (a).b::date, a[1]::date, a.b.c::date, (SELECT 1)::date FROM t", true},
	{"a date read by JSON", "SELECT JSON_VALUE(a, '$' RETURNING date) FROM t", true},
	{"position has an IN of its own", "SELECT POSITION(a IN b), SUBSTRING(a SIMILAR b ESCAPE c), TRIM(BOTH FROM a), EXTRACT(EPOCH FROM a) FROM t", true},
	{"operators named in full", "SELECT a OPERATOR(s.@@) b FROM t ORDER BY c USING OPERATOR(pg_catalog.<)", true},
	{"quantified operators", "SELECT a FROM t WHERE a = ANY ($1) AND b NOT LIKE ALL (SELECT c FROM u)", true},
	{"grouping sets", "SELECT a, GROUPING(a) FROM t GROUP BY DISTINCT ROLLUP (a, b), GROUPING SETS ((c), ())", true},
	{"windows", "SELECT sum(a) FILTER (WHERE b) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t WINDOW w AS (PARTITION BY c ORDER BY d)", true},
	{"ordered sets", "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a DESC) FROM t", true},
	{"joins without end", "SELECT * FROM a JOIN b JOIN c ON d ON e, (f CROSS JOIN g) AS h, ONLY (i), j *, LATERAL (TABLE k) l", true},
}

func TestTraps(t *testing.T) {
	var tally Tally
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			o := Compare(trap.text)
			tally.Add(trap.text, o)
			if len(o.Faults) > 0 {
				t.Errorf("%s\n%v", trap.text, o.Faults)
			}
			st := sqlscan.Scan(trap.text)
			barred := slices.ContainsFunc(st.Reasons, func(r sqlscan.Reason) bool { return r.Code != sqlscan.ReasonNoRelation })
			if cacheable := st.Class == sqlscan.ClassRead && !barred; cacheable != trap.cacheable {
				t.Errorf("%s\ncacheable by its text: %v (%v %v)", trap.text, cacheable, st.Class, st.Reasons)
			}
		})
	}
	t.Log(&tally)
}

// The comparison sees what a scanner might get wrong.
func TestCompareSees(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		spoil      func(*sqlscan.Statement)
	}{
		{"a lock", "SELECT a FROM t FOR UPDATE", func(st *sqlscan.Statement) { st.Class = sqlscan.ClassRead }},
		{"a write", "DELETE FROM t", func(st *sqlscan.Statement) { st.Class = sqlscan.ClassLock }},
		{"a clock", "SELECT current_date FROM t", func(st *sqlscan.Statement) { st.Reasons = nil }},
		{"a date word", "SELECT a FROM t WHERE b = 'now'", func(st *sqlscan.Statement) { st.Reasons = nil }},
		{"a system column", "SELECT ctid FROM t", func(st *sqlscan.Statement) { st.Reasons = nil }},
		{"a mark that waives too much", "SELECT current_user FROM t", func(st *sqlscan.Statement) { st.Reasons[0].Markable = true }},
		{"a relation", "SELECT a FROM t, u", func(st *sqlscan.Statement) { st.Relations = st.Relations[:1] }},
		{"a target", "WITH x AS (UPDATE t SET a = 1) DELETE FROM u", func(st *sqlscan.Statement) { st.Targets = st.Targets[:1] }},
		{"a function", "SELECT f(a), g(b) FROM t", func(st *sqlscan.Statement) { st.Functions = st.Functions[:1] }},
		{"an operator", "SELECT a FROM t ORDER BY a", func(st *sqlscan.Statement) { st.Operators = nil }},
		{"an attribute", "SELECT t.a FROM t", func(st *sqlscan.Statement) { st.Attributes = nil }},
		{"a type", "SELECT a::b FROM t", func(st *sqlscan.Statement) { st.Types = nil }},
		{"a cast", "SELECT a::b FROM t", func(st *sqlscan.Statement) { st.Casts = nil }},
		{"a cast over something else", "SELECT a::b FROM t", func(st *sqlscan.Statement) { st.Casts[0].Over = sqlscan.OperandLiteral }},
		{"an alias", "SELECT a AS b FROM t", func(st *sqlscan.Statement) { st.Aliases = nil }},
		{"a whole row", "SELECT t FROM t", func(st *sqlscan.Statement) { st.Features = 0 }},
		{"an effect", "SET a = 1", func(st *sqlscan.Statement) { st.Effect = sqlscan.EffectNone }},
		{"a verb", "COMMIT", func(st *sqlscan.Statement) { st.Tx = sqlscan.TxRollback }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := sqlscan.Scan(tt.text)
			if o := compare(tt.text, st); len(o.Faults) > 0 {
				t.Fatalf("%s: %v", tt.text, o.Faults)
			}
			tt.spoil(st)
			if o := compare(tt.text, st); len(o.Faults) == 0 {
				t.Errorf("%s: spoilt, and not seen", tt.text)
			}
		})
	}
}
