package sqlscan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func joinNames(l []Name) string {
	var out []string
	for _, n := range l {
		out = append(out, n.String())
	}
	return strings.Join(out, " ")
}

func joinCalls(l []Call) string {
	var out []string
	for _, c := range l {
		out = append(out, c.Name.String()+"/"+strconv.Itoa(c.Args))
	}
	return strings.Join(out, " ")
}

// codes gives the reasons as code(detail), a mark's waiver as a star.
func codes(st *Statement) string {
	var out []string
	for _, r := range st.Reasons {
		c := r.Code.String()
		if r.Detail != "" {
			c += "(" + r.Detail + ")"
		}
		if r.Markable {
			c += "*"
		}
		out = append(out, c)
	}
	return strings.Join(out, " ")
}

func TestClass(t *testing.T) {
	tests := []struct {
		name, text string
		class      Class
		tx         TxVerb
		effect     Effect
	}{
		{"nothing", " -- x\n /* y */ ; ;", ClassEmpty, TxNone, EffectNone},
		{"select", "SELECT a FROM t", ClassRead, TxNone, EffectNone},
		{"trailing semicolons", "SELECT a FROM t; ; -- x", ClassRead, TxNone, EffectNone},
		{"parentheses", "((SELECT a FROM t))", ClassRead, TxNone, EffectNone},
		{"values", "VALUES (1), (2)", ClassRead, TxNone, EffectNone},
		{"table", "TABLE t", ClassRead, TxNone, EffectNone},
		{"with", "WITH a AS (SELECT 1) SELECT * FROM a, t", ClassRead, TxNone, EffectNone},
		{"a leading comment", "/* x */ SELECT a FROM t", ClassRead, TxNone, EffectNone},
		{"for read only locks nothing", "SELECT a FROM t FOR READ ONLY", ClassRead, TxNone, EffectNone},

		{"two statements", "SELECT a FROM t; SELECT b FROM t", ClassUnknown, TxNone, EffectTouched},
		{"two statements, one of them SET", "SELECT a FROM t; SET x = 1; SELECT 1", ClassUnknown, TxNone, EffectChanged},
		{"two statements, a function that sets", "SELECT 1; SELECT set_config('a', 'b', false)", ClassUnknown, TxNone, EffectChanged},
		{"no SQL", "FROM t SELECT a", ClassUnknown, TxNone, EffectTouched},
		{"a clause that isn't known", "SELECT a FROM t QUALIFY x > 1", ClassUnknown, TxNone, EffectTouched},
		{"graph table", "SELECT * FROM GRAPH_TABLE (g MATCH (a) COLUMNS (a.x AS y))", ClassUnknown, TxNone, EffectTouched},
		{"group by all", "SELECT a FROM t GROUP BY ALL", ClassUnknown, TxNone, EffectTouched},
		{"for portion of", "DELETE FROM t FOR PORTION OF p FROM 1 TO 2", ClassUnknown, TxNone, EffectTouched},
		{"unbalanced", "SELECT (a FROM t", ClassUnknown, TxNone, EffectTouched},

		{"for update", "SELECT a FROM t FOR UPDATE", ClassLock, TxNone, EffectNone},
		{"for no key update", "SELECT a FROM t FOR NO KEY UPDATE OF t SKIP LOCKED", ClassLock, TxNone, EffectNone},
		{"for share", "SELECT a FROM t FOR SHARE NOWAIT", ClassLock, TxNone, EffectNone},
		{"for key share", "SELECT a FROM t FOR KEY SHARE", ClassLock, TxNone, EffectNone},
		{"a comment between the words", "SELECT a FROM t FOR/* x */-- y\nUPDATE", ClassLock, TxNone, EffectNone},
		{"a lock in FROM", "SELECT * FROM (SELECT a FROM t FOR UPDATE) x", ClassLock, TxNone, EffectNone},
		{"a lock in WHERE", "SELECT a FROM t WHERE a IN (SELECT b FROM u FOR SHARE)", ClassLock, TxNone, EffectNone},
		{"a lock in WITH", "WITH x AS (SELECT a FROM t FOR KEY SHARE) SELECT * FROM x", ClassLock, TxNone, EffectNone},
		{"lock table", "LOCK TABLE ONLY a, b IN SHARE MODE", ClassLock, TxNone, EffectNone},

		{"into", "SELECT a INTO b FROM t", ClassDDL, TxNone, EffectNone},
		{"into temp", "SELECT a INTO TEMP b FROM t", ClassDDL, TxNone, EffectChanged},
		{"into pg_temp", "SELECT a INTO pg_temp.b FROM t", ClassDDL, TxNone, EffectChanged},
		{"a column named insert", "SELECT insert INTO b FROM t", ClassDDL, TxNone, EffectNone},

		{"insert", "INSERT INTO t VALUES (1)", ClassWrite, TxNone, EffectNone},
		{"update", "UPDATE t SET a = 1", ClassWrite, TxNone, EffectNone},
		{"delete", "DELETE FROM t", ClassWrite, TxNone, EffectNone},
		{"merge", "MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE", ClassWrite, TxNone, EffectNone},
		{"truncate", "TRUNCATE t CASCADE", ClassWrite, TxNone, EffectNone},
		{"refresh", "REFRESH MATERIALIZED VIEW v", ClassWrite, TxNone, EffectNone},
		{"copy from", "COPY t FROM STDIN", ClassWrite, TxNone, EffectNone},
		{"copy from a program", "COPY t FROM PROGRAM 'x'", ClassUnknown, TxNone, EffectTouched},
		{"copy to", "COPY t TO STDOUT", ClassShow, TxNone, EffectNone},
		{"copy a query", "COPY (SELECT a FROM t) TO STDOUT", ClassShow, TxNone, EffectNone},
		{"copy a write", "COPY (DELETE FROM t RETURNING *) TO STDOUT", ClassWrite, TxNone, EffectNone},
		{"copy to a file", "COPY t TO '/tmp/x'", ClassUnknown, TxNone, EffectTouched},
		{"copy to a program", "COPY (SELECT a FROM t) TO PROGRAM 'x'", ClassUnknown, TxNone, EffectTouched},

		{"show", "SHOW search_path", ClassShow, TxNone, EffectNone},
		{"explain", "EXPLAIN SELECT a FROM t", ClassShow, TxNone, EffectNone},
		{"explain a write", "EXPLAIN (VERBOSE) DELETE FROM t", ClassShow, TxNone, EffectNone},
		{"explain analyze a read", "EXPLAIN ANALYZE SELECT a FROM t", ClassUnknown, TxNone, EffectTouched},
		{"explain analyze a write", "EXPLAIN ANALYZE VERBOSE DELETE FROM t", ClassWrite, TxNone, EffectNone},
		{"explain analyze among options", "EXPLAIN (BUFFERS, ANALYZE) DELETE FROM t", ClassWrite, TxNone, EffectNone},
		{"explain analyze on", "EXPLAIN (ANALYZE on) DELETE FROM t", ClassWrite, TxNone, EffectNone},
		{"explain analyze quoted", `EXPLAIN ("analyze") DELETE FROM t`, ClassWrite, TxNone, EffectNone},
		{"explain analyze off", "EXPLAIN (ANALYZE off) DELETE FROM t", ClassShow, TxNone, EffectNone},
		{"explain analyze a temp table", "EXPLAIN ANALYZE CREATE TEMP TABLE x AS SELECT 1", ClassDDL, TxNone, EffectChanged},

		{"begin", "BEGIN ISOLATION LEVEL SERIALIZABLE", ClassTx, TxBegin, EffectNone},
		{"start", "START TRANSACTION READ ONLY", ClassTx, TxBegin, EffectNone},
		{"commit", "commit work", ClassTx, TxCommit, EffectNone},
		{"end", "END", ClassTx, TxCommit, EffectNone},
		{"rollback", "ROLLBACK TRANSACTION", ClassTx, TxRollback, EffectNone},
		{"abort", "ABORT", ClassTx, TxRollback, EffectNone},
		{"savepoint", "SAVEPOINT a", ClassTx, TxSavepoint, EffectNone},
		{"release", "RELEASE a", ClassTx, TxRelease, EffectNone},
		{"rollback to", "ROLLBACK WORK TO SAVEPOINT a", ClassTx, TxRollbackTo, EffectNone},
		{"prepare transaction", "PREPARE TRANSACTION 'x'", ClassTx, TxPrepare, EffectNone},
		{"commit prepared", "COMMIT PREPARED 'x'", ClassTx, TxCommitPrepared, EffectNone},
		{"rollback prepared", "ROLLBACK PREPARED 'x'", ClassTx, TxRollbackPrepared, EffectNone},
		{"set transaction", "SET TRANSACTION READ ONLY", ClassTx, TxSet, EffectNone},
		{"set local transaction", "SET LOCAL TRANSACTION READ ONLY", ClassTx, TxSet, EffectNone},
		{"set constraints", "SET CONSTRAINTS ALL DEFERRED", ClassTx, TxSet, EffectNone},

		{"set", "SET search_path = a", ClassSession, TxNone, EffectChanged},
		{"set session", "SET SESSION a.b TO 'c'", ClassSession, TxNone, EffectChanged},
		{"set role", "SET ROLE a", ClassSession, TxNone, EffectChanged},
		{"set characteristics", "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", ClassSession, TxNone, EffectChanged},
		{"set local", "SET LOCAL search_path TO a", ClassSession, TxNone, EffectLocal},
		{"a setting named local", "SET local = 1", ClassSession, TxNone, EffectChanged},
		{"reset", "RESET ALL", ClassSession, TxNone, EffectTouched},
		{"discard", "DISCARD ALL", ClassSession, TxNone, EffectTouched},
		{"listen", "LISTEN a", ClassSession, TxNone, EffectChanged},
		{"unlisten", "UNLISTEN *", ClassSession, TxNone, EffectTouched},
		{"notify", "NOTIFY a, 'b'", ClassSession, TxNone, EffectNone},
		{"prepare", "PREPARE a AS SELECT 1", ClassSession, TxNone, EffectChanged},
		{"deallocate", "DEALLOCATE a", ClassSession, TxNone, EffectTouched},
		{"execute", "EXECUTE a(1)", ClassUnknown, TxNone, EffectTouched},
		{"declare", "DECLARE c CURSOR FOR SELECT a FROM t", ClassSession, TxNone, EffectLocal},
		{"declare with hold", "DECLARE c CURSOR WITH HOLD FOR SELECT a FROM t", ClassSession, TxNone, EffectChanged},
		{"fetch", "FETCH 1 FROM c", ClassSession, TxNone, EffectTouched},
		{"load", "LOAD 'x'", ClassSession, TxNone, EffectChanged},
		{"do", "DO $$ BEGIN END $$", ClassUnknown, TxNone, EffectTouched},
		{"call", "CALL f(1)", ClassUnknown, TxNone, EffectTouched},
		{"vacuum", "VACUUM t", ClassUnknown, TxNone, EffectTouched},

		{"create", "CREATE TABLE t (a int)", ClassDDL, TxNone, EffectNone},
		{"create temp", "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", ClassDDL, TxNone, EffectChanged},
		{"create local temp", "CREATE LOCAL TEMP TABLE t (a int)", ClassDDL, TxNone, EffectChanged},
		{"create in pg_temp", `CREATE TABLE "pg_temp".t (a int)`, ClassDDL, TxNone, EffectChanged},
		{"drop from pg_temp", "DROP TABLE pg_temp_3.t", ClassDDL, TxNone, EffectChanged},
		{"grant", "GRANT SELECT ON t TO u", ClassDDL, TxNone, EffectNone},
		{"revoke", "REVOKE ALL ON t FROM u", ClassDDL, TxNone, EffectNone},
		{"comment", "COMMENT ON TABLE t IS 'x'", ClassDDL, TxNone, EffectNone},

		{"set_config in a read", "SELECT set_config('a', 'b', false) FROM t", ClassRead, TxNone, EffectChanged},
		{"set_config local", "SELECT pg_catalog.set_config('a', f(b, c), true) FROM t", ClassRead, TxNone, EffectLocal},
		{"set_config not plainly local", "SELECT set_config('a', 'b', $1) FROM t", ClassRead, TxNone, EffectChanged},
		{"set_config by names", "SELECT set_config(is_local => true, setting_name => 'a', new_value => 'b') FROM t", ClassRead, TxNone, EffectChanged},
		{"set_config quoted", `SELECT "set_config" /* x */ ('a', 'b', false) FROM t`, ClassRead, TxNone, EffectChanged},
		{"set_config in capitals", "SELECT Set_Config('a', 'b', false) FROM t", ClassRead, TxNone, EffectChanged},
		{"set_config escaped", `SELECT U&"set\005fconfig"('a', 'b', false) FROM t`, ClassRead, TxNone, EffectChanged},
		{"set_config in a write", "UPDATE t SET a = set_config('a', 'b', false)", ClassWrite, TxNone, EffectChanged},
		{"set_config in DDL", "CREATE TABLE t AS SELECT set_config('a', 'b', false)", ClassDDL, TxNone, EffectChanged},
		{"advisory lock", "SELECT pg_advisory_lock(1) FROM t", ClassRead, TxNone, EffectChanged},
		{"advisory try lock", "SELECT pg_catalog.pg_try_advisory_lock_shared(1) FROM t", ClassRead, TxNone, EffectChanged},
		{"advisory lock of the transaction", "SELECT pg_advisory_xact_lock(1) FROM t", ClassRead, TxNone, EffectNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if st.Class != tt.class || st.Tx != tt.tx || st.Effect != tt.effect {
				t.Errorf("%s\n got %v %v %v (%s)\nwant %v %v %v", tt.text, st.Class, st.Tx, st.Effect, codes(st), tt.class, tt.tx, tt.effect)
			}
			if st.Class != ClassRead && len(st.Reasons) == 0 {
				t.Errorf("%s: no reason given", tt.text)
			}
			if st.Effect != EffectNone && st.Class == ClassRead && len(st.Reasons) == 0 {
				t.Errorf("%s: a read that changes its session has no reason", tt.text)
			}
		})
	}
}

func TestVerb(t *testing.T) {
	for text, want := range map[string]string{
		"select a from t": "SELECT", "(SELECT a FROM t)": "SELECT", "WITH a AS (SELECT 1) SELECT 1": "WITH",
		"WITH a AS (DELETE FROM t) SELECT 1": "DELETE", "WITH a AS (DELETE FROM t) INSERT INTO u SELECT 1": "INSERT",
		"create unique index i on t (a)": "CREATE INDEX", "CREATE OR REPLACE FUNCTION f() RETURNS int": "CREATE FUNCTION",
		"DROP MATERIALIZED VIEW v": "DROP MATERIALIZED VIEW", "EXPLAIN SELECT 1": "EXPLAIN", "VACUUM": "", "nonsense": "",
		"COMMIT PREPARED 'x'": "COMMIT PREPARED", "SET LOCAL a = 1": "SET LOCAL", "SELECT 1; SELECT 2": "",
	} {
		if got := Scan(text).Verb; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestChain(t *testing.T) {
	for text, want := range map[string]bool{
		"COMMIT AND CHAIN": true, "ROLLBACK WORK AND CHAIN": true, "COMMIT AND NO CHAIN": false, "COMMIT": false,
	} {
		if got := Scan(text).TxChain; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// What bars a read, and what looks as if it did.
func TestReasons(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a plain read", "SELECT a FROM t WHERE b = $1", ""},
		{"no relation", "SELECT 1", "no-relation"},
		{"tablesample", "SELECT a FROM t TABLESAMPLE system (1)", "tablesample(tablesample)*"},
		{"tablesample in a subquery", "SELECT a FROM u WHERE b IN (SELECT a FROM t TABLESAMPLE system (1))", "tablesample(tablesample)*"},
		{"a system column", "SELECT xmin FROM t", "system-column(xmin)"},
		{"a system column, qualified and in capitals", "SELECT t.CTID FROM t", "system-column(ctid)"},
		{"a system column, quoted", `SELECT a FROM t WHERE "tableoid" = 1`, "system-column(tableoid)"},
		{"a system column, escaped", `SELECT U&"xm\0061x" FROM t`, "system-column(xmax)"},
		{"no system column: quoted in capitals", `SELECT "CTID" FROM t`, ""},
		{"a clock", "SELECT CURRENT_DATE FROM t", "clock-keyword(current_date)*"},
		{"a clock with a precision", "SELECT a FROM t ORDER BY localtimestamp(3)", "clock-keyword(localtimestamp)*"},
		{"a clock in FROM", "SELECT a FROM t, current_time", "clock-keyword(current_time)*"},
		{"a clock's name as a column", "SELECT t.current_date FROM t", ""},
		{"a clock's name as a label", "SELECT a AS current_date FROM t", ""},
		{"a clock's name as a label without AS", "SELECT a current_date, 1 localtime, $1 user, \"b\" session_user FROM t", ""},
		{"a clock behind what is no operand", "SELECT DISTINCT ON (a) current_date, CASE WHEN b THEN localtime END, f(VARIADIC c => user) FROM t",
			"clock-keyword(current_date)* clock-keyword(localtime)* identity-keyword(user)"},
		{"a column named now", "SELECT now, t.now FROM t WHERE now > $1", ""},
		{"identity", "SELECT current_user, session_user FROM t", "identity-keyword(current_user) identity-keyword(session_user)"},
		{"identity, every word", "SELECT user, current_role, current_catalog, current_schema, system_user FROM t",
			"identity-keyword(user) identity-keyword(current_role) identity-keyword(current_catalog) identity-keyword(current_schema) identity-keyword(system_user)"},
		{"a quoted user", `SELECT "user", t.user FROM t`, ""},
		{"now", "SELECT a FROM t WHERE b > 'now'", "date-word(now)*"},
		{"today in any case, as a word", "SELECT a FROM t WHERE b > 'ToDay 12:00'", "date-word(today)*"},
		{"tomorrow typed", "SELECT a FROM t WHERE b > date 'tomorrow'", "date-word(tomorrow)*"},
		{"yesterday in an array", "SELECT a FROM t WHERE b = ANY ('{yesterday}')", "date-word(yesterday)*"},
		{"a word before a digit", "SELECT a FROM t WHERE b > 'today12:00'", "date-word(today)*"},
		{"a word in an E literal", `SELECT a FROM t WHERE b > E'\156ow'`, "date-word(now)*"},
		{"a word in hex", `SELECT a FROM t WHERE b > E'\x6e\u006f\U00000077'`, "date-word(now)*"},
		{"a word behind a new line", `SELECT a FROM t WHERE b > E'\ntoday'`, "date-word(today)*"},
		{"a word in a unicode literal", `SELECT a FROM t WHERE b > U&'n\006fw'`, "date-word(now)*"},
		{"a word under another escape", `SELECT a FROM t WHERE b > U&'n!006fw' UESCAPE '!'`, "date-word(now)*"},
		{"a word in dollars", "SELECT a FROM t WHERE b > $x$now$x$", "date-word(now)*"},
		{"a word in two parts", "SELECT a FROM t WHERE b > 'to'\n'day'", "date-word(today)*"},
		{"a national word", "SELECT a FROM t WHERE b > N'now'", "date-word(now)*"},
		{"a word if backslashes escape", `SELECT a FROM t WHERE b > 'n\157w'`, "date-word(now)*"},
		{"no word", "SELECT a FROM t WHERE b IN ('know', 'nowhere', 'todays', 'sooner')", ""},
		{"a word that arrays read", `SELECT a FROM t WHERE b = ANY ($${n\ow}$$)`, "date-word(now)*"},
		{"a word that composites read", `SELECT a FROM t WHERE b = '(to"day",x)' OR c = '{"(z,tom\"\"orrow)"}'`, "date-word(today)* date-word(tomorrow)*"},
		{"a word that an E literal makes one of", `SELECT a FROM t WHERE b = E'{n\\ow}'`, "date-word(now)*"},
		{"a word behind a quote", `SELECT a FROM t WHERE b = $$(z\"n\ow,x)$$`, "date-word(now)*"},
		{"a word that punctuation stands around", "SELECT a FROM t WHERE b LIKE '%today%' OR c LIKE '_now_'", "date-word(today)* date-word(now)*"},
		{"a word among others", "SELECT a FROM t WHERE b = 'now shipping' OR c IN ('what do we do today, everybody?', 'Yesterday (remastered)')", "date-word(yesterday)*"},
		{"a word among what may be a zone", "SELECT a FROM t WHERE b IN ('today hiring')", "date-word(today)*"},
		{"a word beside what is a zone of its own", "SELECT a FROM t WHERE b IN ('today shipping+3')", "date-word(today)*"},
		{"a word beside a zone", "SELECT a FROM t WHERE b IN ('tomorrow Singapore')", "date-word(tomorrow)*"},
		{"a word in a document", `SELECT a FROM t WHERE b @> '{"d": "now", "s": "shipping today"}'`, "date-word(now)*"},
		{"a word in a comment", "SELECT a /* 'now' */ FROM t", ""},
		{"three parts", "SELECT a FROM db.s.t", "three-part-name(s.t)"},
		{"four parts of a column", "SELECT a.b.c.d FROM t", "three-part-name(a)"},
		{"all at once", "SELECT ctid, now() FROM t WHERE a = 'now' AND b < CURRENT_DATE",
			"system-column(ctid) date-word(now)* clock-keyword(current_date)*"},
		{"session", "SELECT set_config('a', 'b', true) FROM t", "session-effect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if got := codes(st); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s\nwant read %s", tt.text, st.Class, got, tt.want)
			}
		})
	}
}

func TestRelations(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"folding and quotes", `SELECT * FROM Shop.Product p, "Shop"."Product" AS q`, "shop.product Shop.Product"},
		{"only and a star", "SELECT * FROM ONLY a, ONLY (b), c *", "a b c"},
		{"joins", "SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (y) CROSS JOIN d NATURAL FULL JOIN e", "a b c d e"},
		{"nested joins", "SELECT * FROM (a JOIN (b JOIN c ON true) ON true) x, ((d))", "a b c d"},
		{"a join's conditions at its end", "SELECT * FROM a JOIN b JOIN c ON true ON a.x IN (SELECT 1 FROM d)", "a b c d"},
		{"subqueries everywhere", "SELECT (SELECT 1 FROM a), CASE WHEN EXISTS (TABLE b) THEN ARRAY(SELECT 1 FROM c) END FROM (SELECT 1 FROM d) x WHERE y IN (SELECT 1 FROM e) GROUP BY (SELECT 1 FROM f) HAVING 1 = ANY (SELECT 1 FROM g) ORDER BY (SELECT 1 FROM h) LIMIT (SELECT 1 FROM i) OFFSET (SELECT 1 FROM j)",
			"a b c d e f g h i j"},
		{"in a call, a window, a filter", "SELECT f((SELECT 1 FROM a)) FILTER (WHERE (SELECT true FROM b)) OVER (PARTITION BY (SELECT 1 FROM c)) FROM d", "a b c d"},
		{"set operations", "SELECT 1 FROM a UNION ALL (TABLE b EXCEPT SELECT 1 FROM c) INTERSECT VALUES ((SELECT 1 FROM d))", "a b c d"},
		{"a union within parentheses that begin with a query", "SELECT ((SELECT 1 FROM a) UNION SELECT 2 FROM b), ((SELECT 3 FROM c) + 1) FROM d", "a b c d"},
		{"lateral", "SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x) y, c", "a b c"},
		{"after ordinality", "SELECT * FROM f(1) WITH ORDINALITY AS x(a, b), t", "t"},
		{"after a column definition list", "SELECT * FROM f(1) AS x(a int, b numeric(1, 2)), g(2) AS (c text), t", "t"},
		{"after rows from", "SELECT * FROM ROWS FROM (f(1) AS (a int), g(2)) WITH ORDINALITY AS x, t", "t"},
		{"after xmltable", "SELECT * FROM XMLTABLE('/a' PASSING (SELECT x FROM s) COLUMNS a int PATH 'b', c FOR ORDINALITY), t", "s t"},
		{"after json_table", "SELECT * FROM JSON_TABLE(j, '$' COLUMNS (a int PATH '$.a', NESTED PATH '$.b' COLUMNS (c text))) AS x, t", "t"},
		{"a column of json_table that is named nested", "SELECT * FROM JSON_TABLE(j, '$' COLUMNS (nested FOR ORDINALITY, a int)), t", "t"},
		{"a document in parentheses", "SELECT XMLPARSE(DOCUMENT (SELECT a FROM s)), XMLSERIALIZE(CONTENT (b) AS text) FROM t", "s t"},
		{"an element named into", "SELECT XMLELEMENT(NAME into, a), XMLPI(NAME tablesample) FROM t", "t"},
		{"passing a query", "SELECT JSON_VALUE(a, '$' PASSING (SELECT b FROM s) AS c), JSON_OBJECT('a': passing(1), 'b' VALUE (SELECT 1)), JSON_OBJECT(a VALUE (b)::c) FROM t", "s t"},
		{"after tablesample", "SELECT * FROM s TABLESAMPLE bernoulli (1) REPEATABLE (2), t", "s t"},
		{"after an alias with columns", "SELECT * FROM s AS x (a, b), t y (c), u", "s t u"},
		{"extract has FROM, too", "SELECT extract(year FROM a), substring(b FROM 1 FOR 2), trim(BOTH 'x' FROM c) FROM t WHERE x IS DISTINCT FROM y", "t"},
		{"a cte hides a table", "WITH a AS (SELECT * FROM b) SELECT * FROM a, c", "b c"},
		{"not within itself", "WITH a AS (SELECT * FROM a) SELECT * FROM a", "a"},
		{"not before it", "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", "b"},
		{"within itself if recursive", "WITH RECURSIVE a AS (SELECT 1 FROM t UNION ALL SELECT * FROM a) SELECT * FROM a", "t"},
		{"before it if recursive", "WITH RECURSIVE a AS (SELECT * FROM b), b(x) AS NOT MATERIALIZED (SELECT 1 FROM t) SELECT * FROM a", "t"},
		{"behind a search clause", "WITH RECURSIVE a AS (SELECT 1 FROM c UNION ALL SELECT 1 FROM a) SEARCH DEPTH FIRST BY x, y SET z, c AS (SELECT 1 FROM t) SELECT * FROM a", "t"},
		{"not qualified", "WITH a AS (SELECT 1 FROM t) SELECT * FROM public.a", "t public.a"},
		{"not outside its query", "SELECT * FROM (WITH a AS (SELECT 1 FROM t) SELECT * FROM a) x, a", "t a"},
		{"not for another case", `WITH "A" AS (SELECT 1 FROM t) SELECT * FROM a`, "t a"},
		{"a function's column definitions are no cte", "WITH RECURSIVE a AS (SELECT 1 FROM t) SELECT * FROM a, f(1) AS (x int), f", "t f"},
		{"a cte named recursive", "WITH recursive AS (SELECT 1 FROM t) SELECT * FROM recursive", "t"},
		{"unreserved words are names", "SELECT * FROM index, key k, \"select\", value AS v", "index key select value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if got := joinNames(st.Relations); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s %s\nwant read %s", tt.text, st.Class, got, codes(st), tt.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	tests := []struct{ name, text, targets, relations string }{
		{"insert", "INSERT INTO Shop.T AS x (a, b[1], c.d) SELECT 1 FROM u ON CONFLICT (a) DO UPDATE SET a = (SELECT 1 FROM v)", "shop.t", "u v"},
		{"insert from parentheses", "INSERT INTO t (SELECT 1 FROM u)", "t", "u"},
		{"insert with", "WITH t AS (SELECT 1 FROM a) INSERT INTO t SELECT * FROM t", "t", "a"},
		{"update only", `UPDATE ONLY "T" AS x SET (a, b) = (SELECT 1, 2 FROM u), c = DEFAULT FROM v WHERE x.a = v.a RETURNING *`, "T", "u v"},
		{"update a star", "UPDATE t * SET a = 1", "t", ""},
		{"delete only", "DELETE FROM ONLY (t) x USING u, v WHERE x.a = u.a", "t", "u v"},
		{"merge", "MERGE INTO ONLY t AS x USING (SELECT * FROM s) y ON x.a = y.a WHEN MATCHED AND x.b THEN UPDATE SET a = 1 WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (1) RETURNING merge_action()", "t", "s"},
		{"merge of a join", "MERGE INTO t USING a JOIN b ON a.x = b.x ON t.x = a.x WHEN MATCHED THEN DO NOTHING", "t", "a b"},
		{"a write in WITH", "WITH x AS (DELETE FROM t USING u RETURNING *), y AS (UPDATE v SET a = 1) SELECT * FROM x, z", "t v", "u z"},
		{"truncate many", "TRUNCATE TABLE ONLY a, s.b *, c RESTART IDENTITY", "a s.b c", ""},
		{"copy", `COPY s."T" (a, b) FROM STDIN WITH (FORMAT csv)`, "s.T", ""},
		{"refresh", "REFRESH MATERIALIZED VIEW CONCURRENTLY s.v WITH NO DATA", "s.v", ""},
		{"explain analyze", "EXPLAIN ANALYZE WITH x AS (INSERT INTO t DEFAULT VALUES RETURNING *) SELECT * FROM x", "t", ""},
		{"returning old and new", "UPDATE t SET a = 1 RETURNING WITH (OLD AS o, NEW AS n) o.a, n.a", "t", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if got := joinNames(st.Targets); got != tt.targets || st.Class != ClassWrite {
				t.Errorf("%s\n got %v %s %s\nwant write %s", tt.text, st.Class, got, codes(st), tt.targets)
			}
			if got := joinNames(st.Relations); got != tt.relations {
				t.Errorf("%s\nreads %s\n want %s", tt.text, got, tt.relations)
			}
		})
	}
}

// What a statement makes of a query.
func TestCreateAs(t *testing.T) {
	tests := []struct{ text, targets, relations string }{
		{"CREATE TEMP TABLE IF NOT EXISTS s.x (a, b) WITH (fillfactor = 70) ON COMMIT DROP AS SELECT a::int FROM t WITH NO DATA", "s.x", "t"},
		{"CREATE UNLOGGED TABLE x AS (TABLE t)", "x", "t"},
		{"CREATE OR REPLACE VIEW x AS WITH y AS (SELECT 1 FROM t) SELECT 1 FROM y, u WITH CHECK OPTION", "x", "t u"},
		{"CREATE MATERIALIZED VIEW x AS VALUES ((SELECT 1 FROM t))", "x", "t"},
		{"CREATE TABLE x AS EXECUTE p(1)", "", ""},
		{"CREATE TABLE x (a int GENERATED ALWAYS AS (b + 1) VIRTUAL, PRIMARY KEY (a, b WITHOUT OVERLAPS))", "", ""},
		{"CREATE TABLE x AS SELECT a FROM t QUALIFY b", "x", "t"},
		{"SELECT a INTO x FROM t", "x", "t"},
		{"EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1 FROM t", "x", "t"},
	}
	for _, tt := range tests {
		st := Scan(tt.text)
		if st.Class != ClassDDL || joinNames(st.Targets) != tt.targets || joinNames(st.Relations) != tt.relations {
			t.Errorf("%s\n got %v %s, %s, %s\nwant %s, %s", tt.text, st.Class, joinNames(st.Targets), joinNames(st.Relations), codes(st), tt.targets, tt.relations)
		}
	}
}

func TestCalls(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"arguments", "f(), g(1, 2), s.h((1, 2), ARRAY[3, 4])", "f/0 g/2 s.h/2"},
		{"quoted", `"F"(1), "coalesce"(1, 2)`, "F/1 coalesce/2"},
		{"a star", "count(*)", "count/0"},
		{"distinct, order, filter, over", "f(DISTINCT a ORDER BY g(b)) FILTER (WHERE h(c)) OVER (ORDER BY i(d))", "g/1 f/1 h/1 i/1"},
		{"variadic", "f(1, VARIADIC b)", "f/-1"},
		{"named", "f(1, b => g(2), c := 3)", "g/1 f/3"},
		{"words that are functions", "left(a, 1), replace(a, b, c), if(a)", "left/2 replace/3 if/1"},
		{"words that are none", "a IN (1), b = ANY (c), EXISTS (SELECT), a::numeric(1, 2), CAST(a AS varchar(3))", ""},
		{"no function at all", "COALESCE(a, b), NULLIF(a, b), GREATEST(a, b, c), LEAST(a)",
			"pg_catalog.COALESCE/2 pg_catalog.NULLIF/2 pg_catalog.GREATEST/3 pg_catalog.LEAST/1"},
		{"special syntax", "EXTRACT(year FROM a), POSITION('a' IN b), OVERLAY(a PLACING b FROM 1), SUBSTRING(a FOR 2), TRIM(a), TRIM(LEADING 'x' FROM a), NORMALIZE(a, NFC), COLLATION FOR (a)",
			"pg_catalog.extract/2 pg_catalog.position/2 pg_catalog.overlay/3 pg_catalog.substring/3 pg_catalog.btrim/1 pg_catalog.ltrim/2 pg_catalog.normalize/2 pg_catalog.pg_collation_for/1"},
		{"special names called plainly go by the search_path", "SUBSTRING(a, 1), OVERLAY(a, b, 3)", "substring/2 overlay/3"},
		{"operators of words", "a AT TIME ZONE b, (a, b) OVERLAPS (c, d), a LIKE b ESCAPE c",
			"pg_catalog.timezone/2 pg_catalog.overlaps/4 pg_catalog.like_escape/2"},
		{"xml and json", "XMLELEMENT(NAME a, f(b)), JSON_OBJECT('a': g(c)), a IS JSON",
			"pg_catalog.XMLELEMENT/-1 f/1 pg_catalog.json_object/-1 pg_catalog.JSON_OBJECT/-1 g/1 pg_catalog.IS JSON/1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan("SELECT " + tt.text + " FROM t")
			if got := joinCalls(st.Functions); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s %s\nwant read %s", tt.text, st.Class, got, codes(st), tt.want)
			}
		})
	}
}

func TestOperatorsAttributesTypes(t *testing.T) {
	tests := []struct{ name, text, operators, attributes, types string }{
		{"plain", "a + b <= c OR NOT d != e", "+ <= <>", "", ""},
		{"unary", "- a, @ b, a = -1", "- @ =", "", ""},
		{"in", "a IN (1, 2), b NOT IN (SELECT 1)", "= <>", "", ""},
		{"between", "a BETWEEN 1 AND 2", ">= <=", "", ""},
		{"not between", "a NOT BETWEEN SYMMETRIC 1 AND 2", ">= <= < >", "", ""},
		{"like", "a LIKE b, a NOT LIKE b, a ILIKE b, a NOT ILIKE b, a SIMILAR TO b", "~~ !~~ ~~* !~~* ~", "", ""},
		{"distinct from", "a IS NOT DISTINCT FROM b", "=", "", ""},
		{"case with an operand", "CASE a WHEN 1 THEN 2 END", "=", "", ""},
		{"case without", "CASE WHEN a THEN 2 END", "", "", ""},
		{"named with its schema", "a OPERATOR(s.@@) b", "@@", "", ""},
		{"nullif, greatest", "NULLIF(a, b), GREATEST(a, b)", "= <", "", ""},
		{"attributes", "a.b, a.b.c, (a).d, (f(x)).e, a[1].g", "", "b c d e g", ""},
		{"casts", "a::int, CAST(b AS s.t), c::text[], d::timestamp(3) with time zone, e::double precision", "", "",
			"pg_catalog.int4 s.t text pg_catalog.timestamptz pg_catalog.float8"},
		{"typed literals", "date '2020-01-01', interval '1' day, mood 'ok', s.t(3) 'x', N'x', char(3) 'y'", "", "",
			"date pg_catalog.interval mood s.t pg_catalog.bpchar"},
		{"columns named like types", "time, timestamp, t.interval, date, text", "", "interval", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan("SELECT " + tt.text + " FROM t")
			if st.Class != ClassRead {
				t.Fatalf("%s: %v %s", tt.text, st.Class, codes(st))
			}
			if got := strings.Join(st.Operators, " "); got != tt.operators {
				t.Errorf("%s\noperators %s\nwant %s", tt.text, got, tt.operators)
			}
			if got := strings.Join(st.Attributes, " "); got != tt.attributes {
				t.Errorf("%s\nattributes %s\nwant %s", tt.text, got, tt.attributes)
			}
			if got := joinNames(st.Types); got != tt.types {
				t.Errorf("%s\ntypes %s\nwant %s", tt.text, got, tt.types)
			}
		})
	}
	for text, want := range map[string]string{
		"SELECT a FROM t ORDER BY a":               "= <",
		"SELECT a FROM t ORDER BY a DESC":          "= >",
		"SELECT a FROM t ORDER BY a USING ~<~":     "= ~<~",
		"SELECT DISTINCT a FROM t":                 "= <",
		"SELECT a FROM t GROUP BY a":               "= <",
		"SELECT a FROM t UNION SELECT a FROM t":    "= <",
		"SELECT a FROM t JOIN u USING (a)":         "=",
		"SELECT a FROM t NATURAL JOIN u":           "=",
		"SELECT count(DISTINCT a) FROM t":          "= <",
		"SELECT f(a) OVER (PARTITION BY b) FROM t": "= <",
	} {
		if got := strings.Join(Scan(text).Operators, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Each feature shows, and a plain read has none.
func TestFeatures(t *testing.T) {
	plain := "SELECT DISTINCT t.a, t.*, b + $1, CASE WHEN c THEN 'x' ELSE NULL END AS d FROM s.t JOIN u ON t.a = u.a, (SELECT 1) v WHERE a IN (1, 2) AND b BETWEEN 1 AND 2 AND c LIKE 'x' AND d IS NOT NULL AND NOT e IS DISTINCT FROM f AND EXISTS (SELECT 1 FROM w) GROUP BY a HAVING count(*) > 1 ORDER BY a DESC NULLS LAST LIMIT 1 OFFSET 2"
	if st := Scan(plain); st.Features != 0 || len(st.Reasons) != 0 {
		t.Errorf("a plain read has %v %s", st.Features, codes(st))
	}
	tests := map[string]Feature{
		"WITH a AS (SELECT 1) SELECT b FROM t":                                 FeatureCTE,
		"WITH RECURSIVE a AS (SELECT 1) SELECT b FROM t":                       FeatureCTE | FeatureRecursive,
		"SELECT a FROM t UNION SELECT a FROM t":                                FeatureSetOperation,
		"VALUES (1)":                                                           FeatureValues,
		"TABLE t":                                                              FeatureTable,
		"SELECT DISTINCT ON (a) a FROM t":                                      FeatureDistinctOn,
		"SELECT a FROM t GROUP BY ROLLUP (a)":                                  FeatureGroupingSets,
		"SELECT a FROM t GROUP BY GROUPING SETS ((a), ())":                     FeatureGroupingSets,
		"SELECT a FROM t GROUP BY DISTINCT a":                                  FeatureGroupingSets,
		"SELECT f(a) OVER w FROM t WINDOW w AS (ORDER BY a)":                   FeatureWindow,
		"SELECT f(a) FILTER (WHERE b) FROM t":                                  FeatureFilter,
		"SELECT f(1) WITHIN GROUP (ORDER BY a) FROM t":                         FeatureWithinGroup,
		"SELECT f(a ORDER BY b) FROM t":                                        FeatureAggregateOrder,
		"SELECT f(DISTINCT a) FROM t":                                          FeatureAggregateDistinct,
		"SELECT f(a => 1) FROM t":                                              FeatureNamedArgument,
		"SELECT f(VARIADIC a) FROM t":                                          FeatureVariadic,
		"SELECT COALESCE(a, b) FROM t":                                         FeatureSpecialCall,
		"SELECT XMLFOREST(a) FROM t":                                           FeatureXML,
		"SELECT JSON_ARRAY(a) FROM t":                                          FeatureJSON,
		"SELECT a IS JSON FROM t":                                              FeatureJSON,
		"SELECT a::int FROM t":                                                 FeatureCast,
		"SELECT date '2020-01-01' FROM t":                                      FeatureTypedLiteral,
		"SELECT ARRAY[a] FROM t":                                               FeatureArray,
		"SELECT a[1] FROM t":                                                   FeatureSubscript,
		"SELECT a FROM t WHERE (a, b) = (1, 2)":                                FeatureRow,
		"SELECT ROW(a) FROM t":                                                 FeatureRow,
		"SELECT count(t.*) FROM t":                                             FeatureWholeRow,
		"SELECT t.* IS NULL FROM t":                                            FeatureWholeRow,
		"SELECT (t).a FROM t":                                                  FeatureField | FeatureWholeRow,
		"SELECT (a).b FROM t":                                                  FeatureField,
		"SELECT a COLLATE \"C\" FROM t":                                        FeatureCollate,
		"SELECT a AT TIME ZONE 'UTC' FROM t":                                   FeatureAtTimeZone,
		"SELECT a AT LOCAL FROM t":                                             FeatureAtTimeZone,
		"SELECT a SIMILAR TO b FROM t":                                         FeatureSimilar,
		"SELECT a LIKE b ESCAPE c FROM t":                                      FeatureEscape,
		"SELECT a = ANY ($1) FROM t":                                           FeatureQuantified,
		"SELECT a IS NFC NORMALIZED FROM t":                                    FeatureIsNormalized,
		"SELECT a OPERATOR(s.+) b FROM t":                                      FeatureOperatorSyntax,
		"SELECT a FROM t ORDER BY a USING <":                                   FeatureOrderUsing,
		"SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES":                         FeatureWithTies,
		"SELECT a FROM ONLY t":                                                 FeatureOnly,
		"SELECT a FROM t, LATERAL (SELECT 1) x":                                FeatureLateral,
		"SELECT a FROM t, f(1)":                                                FeatureFromFunction,
		"SELECT a FROM t, f(1) WITH ORDINALITY":                                FeatureFromFunction | FeatureOrdinality,
		"SELECT a FROM t, f(1) AS x (b int)":                                   FeatureFromFunction | FeatureColumnDefinitions,
		"SELECT a FROM t NATURAL JOIN u":                                       FeatureNaturalJoin,
		"SELECT a FROM t JOIN u USING (a)":                                     FeatureJoinUsing,
		"SELECT a FROM t WHERE a = U&'x'":                                      FeatureUnicodeEscape,
		"SELECT (a, b) OVERLAPS (c, d) FROM t":                                 FeatureOverlaps | FeatureRow,
		"UPDATE t SET a = 1 WHERE CURRENT OF c RETURNING a":                    FeatureCurrentOf | FeatureReturning,
		"INSERT INTO t (SELECT 1) ON CONFLICT DO NOTHING":                      FeatureOnConflict,
		"WITH RECURSIVE a AS (SELECT 1) CYCLE x SET y USING z SELECT b FROM t": FeatureCTE | FeatureRecursive | FeatureSearchCycle,
	}
	var all Feature
	for text, want := range tests {
		all |= want
		if st := Scan(text); st.Features != want || st.Class == ClassUnknown {
			t.Errorf("%s\n got %v %v\nwant %v", text, st.Class, st.Features, want)
		}
	}
	if all != featureEnd-1 {
		t.Errorf("no test for %v", (featureEnd-1)&^all)
	}
}

func TestHints(t *testing.T) {
	tests := []struct {
		name, text string
		want       Hint
	}{
		{"none", "SELECT a /* x */ FROM t", Hint{}},
		{"ttl", "/* cachedpgx: ttl=5s */ SELECT a FROM t", Hint{Set: true, TTL: 5 * time.Second}},
		{"tight", "SELECT a/*cachedpgx:ttl=1m30s*/FROM t", Hint{Set: true, TTL: 90 * time.Second}},
		{"off in a line", "SELECT a FROM t -- cachedpgx: off", Hint{Set: true, Off: true}},
		{"both", "SELECT a FROM t /* cachedpgx: ttl=5s off */", Hint{Set: true, Off: true, TTL: 5 * time.Second}},
		{"in two comments", "/* cachedpgx: off */ SELECT a FROM t -- cachedpgx: ttl=1s", Hint{Set: true, Off: true, TTL: time.Second}},
		{"in a write", "/* cachedpgx: off */ DELETE FROM t", Hint{Set: true, Off: true}},
		{"not in a literal", "SELECT '/* cachedpgx: off */' FROM t", Hint{}},
		{"not further in", "SELECT a /* see cachedpgx: off */ FROM t", Hint{}},
		{"unknown words are listed, the rest holds", "/* cachedpgx: ttl=5s for=1s home */ SELECT a FROM t",
			Hint{Set: true, TTL: 5 * time.Second, Malformed: []string{"for=1s", "home"}}},
		{"stale", "/* cachedpgx: stale=1s */ SELECT a FROM t", Hint{Set: true, Stale: time.Second}},
		{"stale twice", "/* cachedpgx: stale=1s stale=1s */ SELECT a FROM t", Hint{Set: true, Stale: time.Second, Malformed: []string{"stale=1s"}}},
		{"stale for no time", "/* cachedpgx: stale=0 */ SELECT a FROM t", Hint{Malformed: []string{"stale=0"}}},
		{"tags", "/* cachedpgx: tag=home tag=shop:1/a-b.c_D tag=home */ SELECT a FROM t",
			Hint{Set: true, Tags: []string{"home", "shop:1/a-b.c_D"}}},
		{"no tags", "/* cachedpgx: tag= tag tag=a,b tag=a$ tag=é */ SELECT a FROM t",
			Hint{Malformed: []string{"tag=", "tag", "tag=a,b", "tag=a$", "tag=é"}}},
		{"no time", "/* cachedpgx: ttl=5 */ SELECT a FROM t", Hint{Malformed: []string{"ttl=5"}}},
		{"no time at all", "/* cachedpgx: ttl=0s */ SELECT a FROM t", Hint{Malformed: []string{"ttl=0s"}}},
		{"time running back", "/* cachedpgx: ttl=-1s */ SELECT a FROM t", Hint{Malformed: []string{"ttl=-1s"}}},
		{"said twice", "/* cachedpgx: ttl=1s ttl=2s */ SELECT a FROM t", Hint{Set: true, TTL: time.Second, Malformed: []string{"ttl=2s"}}},
		{"off is no value", "/* cachedpgx: off=1 */ SELECT a FROM t", Hint{Malformed: []string{"off=1"}}},
		{"empty", "/* cachedpgx: */ SELECT a FROM t", Hint{Malformed: []string{"cachedpgx:"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Scan(tt.text).Hint; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\n got %+v\nwant %+v", tt.text, got, tt.want)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no comment", "SELECT  a FROM t", "SELECT  a FROM t"},
		{"a trace comment", "/* trace=1 */ SELECT a FROM t", "  SELECT a FROM t"},
		{"a comment between words", "SELECT/* x */a FROM t", "SELECT a FROM t"},
		{"a line comment keeps its new line", "SELECT a -- x\nFROM t", "SELECT a  \nFROM t"},
		{"nested", "SELECT /* a /* b */ c */ a FROM t", "SELECT   a FROM t"},
		{"hints stay", "/* cachedpgx: off */ SELECT a /* x */ FROM t", "/* cachedpgx: off */ SELECT a   FROM t"},
		{"malformed hints stay", "/* cachedpgx: x */ SELECT a FROM t", "/* cachedpgx: x */ SELECT a FROM t"},
		{"not in literals", "SELECT '/* x */', $$-- y$$, \"/* z */\" FROM t", "SELECT '/* x */', $$-- y$$, \"/* z */\" FROM t"},
		{"within a continued literal", "SELECT 'a' -- x\n 'b' FROM t", "SELECT 'a' -- x\n 'b' FROM t"},
		{"between literals that a space would join", "SELECT 'a' /* x */\n'b' FROM t", "SELECT 'a' /* x */\n'b' FROM t"},
		{"between operators", "SELECT 1 +/* x */- 2 FROM t", "SELECT 1 + - 2 FROM t"},
		{"no SQL", "SELECT 'a /* x */", "SELECT 'a /* x */"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if st.Identity != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.text, st.Identity, tt.want)
			}
			if got, ok := Identity(tt.text); !ok || got != tt.want {
				t.Errorf("%s\n got %s by itself, %v\nwant %s", tt.text, got, ok, tt.want)
			}
		})
	}
}

func TestBackslashAndParams(t *testing.T) {
	if st := Scan(`SELECT a FROM t WHERE b = 'x\y'`); !st.Backslash {
		t.Error("a backslash in a plain literal is not seen")
	}
	if st := Scan(`SELECT a FROM t WHERE b = N'x\y'`); !st.Backslash {
		t.Error("a backslash in a national literal is not seen")
	}
	if st := Scan(`SELECT a FROM t WHERE b = E'x\y' AND c = $$\$$`); st.Backslash {
		t.Error("a backslash where it always means the same is seen")
	}
	if st := Scan("SELECT $2, '$9', $11 FROM t"); st.Params != 11 {
		t.Errorf("params %d, want 11", st.Params)
	}
	if st := Scan("SELECT $99999999999999999999 FROM t"); st.Class != ClassUnknown {
		t.Errorf("a parameter beyond the protocol: %v", st.Class)
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) string {
		return "SELECT " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + " FROM t"
	}
	tests := []struct {
		name, text string
		want       ReasonCode
	}{
		{"too long", "SELECT a FROM t -- " + strings.Repeat("x", MaxText), ReasonTooLong},
		{"a NUL byte", "SELECT a FROM t\x00", ReasonBadText},
		{"no UTF-8", "SELECT 'a\xff' FROM t", ReasonBadText},
		{"parentheses", deep(1000), ReasonTooDeep},
		{"cases", "SELECT " + strings.Repeat("CASE WHEN ", 1000) + "a" + strings.Repeat(" THEN 1 END", 1000) + " FROM t", ReasonTooDeep},
		{"common table expressions", "WITH a AS (TABLE t)" + strings.Repeat(", a AS (TABLE t)", 300) + " SELECT 1 FROM a", ReasonTooDeep},
		{"an unfinished literal", "SELECT 'a FROM t", ReasonSyntax},
		{"several", "SELECT 1; SELECT 2", ReasonSeveral},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if st.Class != ClassUnknown || len(st.Reasons) == 0 || st.Reasons[0].Code != tt.want || st.Effect < EffectTouched {
				t.Errorf("%v %v %s", st.Class, st.Effect, codes(st))
			}
		})
	}
	if st := Scan(deep(100)); st.Class != ClassRead {
		t.Errorf("100 parentheses: %v %s", st.Class, codes(st))
	}
	if st := Scan("SELECT 1 FROM t" + strings.Repeat(" UNION SELECT 1 FROM t", 2000)); st.Class != ClassRead {
		t.Errorf("2000 unions: %v %s", st.Class, codes(st))
	}
}

// Texts of the greatest length that repeat one thing take no time to speak of.
func TestLinear(t *testing.T) {
	for _, unit := range []string{
		"(", "((SELECT 1)", "a.", "NOT ", "- ", "a,", "'a'\n", "/*", "/* x */", "--\n", "CASE WHEN ", "f(", "set_config(",
		"WITH a AS (", "WITH RECURSIVE a AS (SELECT 1), ", "a AS (TABLE b), ", "SELECT 1 UNION ", "$$", "$a$", "[1]", "::a",
		"a" + strings.Repeat("b", 70) + ",", "U&\"a\" UESCAPE '!',", ";", "SELECT 1;", "SET a = 1;", "E'\\\\", "\"\"", "<-",
	} {
		for _, lead := range []string{"", "SELECT ", "SELECT * FROM ", "WITH ", "WITH RECURSIVE x AS (SELECT 1), "} {
			text := lead + strings.Repeat(unit, (MaxText-len(lead))/len(unit))
			start := time.Now()
			Scan(text)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%s%s…: %v", lead, unit, d)
			}
		}
	}
}

// A comment between the words of a write never makes a read of it.
func TestCommentsHideNothing(t *testing.T) {
	for _, text := range notReads {
		want := Scan(text)
		for _, comment := range []string{"/**/", "/* x */", "/* /* */ ' */", "--\n", "-- ' /* \n", "\n", "/* cachedpgx: ttl=1s */"} {
			for at := 0; at <= len(text); at++ {
				broken := text[:at] + comment + text[at:]
				if st := Scan(broken); st.Class == ClassRead && !insideWord(text, at) {
					t.Errorf("%q is a read", broken)
				} else if !insideWord(text, at) && st.Class != want.Class {
					t.Errorf("%q is %v, want %v", broken, st.Class, want.Class)
				}
			}
		}
	}
}

// insideWord says whether a place is within a token, or between two that are
// one operator or literal together.
func insideWord(text string, at int) bool {
	for l := (lexer{text: text}); ; {
		t := l.next()
		if t.kind == kindEOF {
			return false
		}
		if int(t.start) < at && at < int(t.end) && t.kind != kindSpace {
			return true
		}
	}
}

var notReads = []string{
	"INSERT INTO t VALUES (1)",
	"WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
	"WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT a FROM x",
	"SELECT a FROM t FOR UPDATE",
	"SELECT a FROM t FOR NO KEY UPDATE",
	"SELECT a FROM (SELECT b FROM t FOR KEY SHARE) x",
	"SELECT a INTO b FROM t",
	"EXPLAIN ANALYZE DELETE FROM t",
	"SELECT a FROM t; DELETE FROM t",
	"CALL f(1)",
}

func TestStrings(t *testing.T) {
	for i := range int(ClassDDL) + 1 {
		if s := Class(i).String(); s == "" || strings.HasPrefix(s, "code-") {
			t.Errorf("class %d has no name", i)
		}
	}
	for i := range int(TxSet) + 1 {
		if s := TxVerb(i).String(); s == "" || strings.HasPrefix(s, "code-") {
			t.Errorf("verb %d has no name", i)
		}
	}
	for i := range int(EffectChanged) + 1 {
		if s := Effect(i).String(); s == "" || strings.HasPrefix(s, "code-") {
			t.Errorf("effect %d has no name", i)
		}
	}
	for i := range int(reasonEnd) {
		if s := ReasonCode(i).String(); s == "" || strings.HasPrefix(s, "code-") {
			t.Errorf("reason %d has no name", i)
		}
	}
	if got := (featureEnd - 1).String(); strings.Contains("|"+got, "|code-") || strings.Count(got, "|")+1 != len(featureNames) {
		t.Errorf("features are named %s", got)
	}
}

// A scan is fit for concurrent use, and leaves nothing of itself to the next.
func TestScanLeavesNothing(t *testing.T) {
	texts := slices.Concat(notReads, typical)
	want := make([]string, len(texts))
	for i, text := range texts {
		want[i] = fmt.Sprintf("%+v", *Scan(text))
	}
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 50 {
				for i, text := range texts {
					if got := fmt.Sprintf("%+v", *Scan(text)); got != want[i] {
						t.Fatalf("%s\n got %s\nwant %s", text, got, want[i])
					}
				}
			}
		})
	}
}

var typical = []string{
	"SELECT id, name, price FROM product WHERE category_id = $1 AND price > $2 AND name LIKE $3 ORDER BY price LIMIT 20",
	`SELECT "users"."id", "users"."name", "users"."email" FROM "users" WHERE "users"."id" = $1 AND "users"."deleted_at" IS NULL ORDER BY "users"."id" LIMIT 1`,
	"SELECT o.id, o.total, c.name, count(*) AS items FROM orders o JOIN customer c ON c.id = o.customer_id LEFT JOIN order_item i ON i.order_id = o.id WHERE o.status = ANY ($1) AND o.created_at >= $2 GROUP BY o.id, c.name HAVING count(*) > 3 ORDER BY o.total DESC LIMIT $3 OFFSET $4",
	"WITH recent AS (SELECT id, author_id FROM post WHERE created_at > $1 ORDER BY created_at DESC LIMIT 100) SELECT a.name, max(r.id) FROM recent r JOIN author a ON a.id = r.author_id WHERE NOT EXISTS (SELECT 1 FROM ban b WHERE b.author_id = a.id) GROUP BY a.name",
	"/* trace=4bf92f3577b34da6 */ UPDATE product SET stock = stock - $1, updated_at = now() WHERE id = $2 AND stock >= $1 RETURNING stock",
}

func TestScanAllocs(t *testing.T) {
	// The statement, and each list of names that is not empty; the identity
	// where comments are left out.
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	for i, most := range []float64{3, 4, 6, 6, 6} {
		if got := testing.AllocsPerRun(1000, func() { Scan(typical[i]) }); got > most {
			t.Errorf("%s\n%v allocations, want at most %v", typical[i], got, most)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for i, name := range []string{"table", "orm", "join", "cte", "write"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Scan(typical[i])
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				Scan(typical[0])
			}
		})
	})
}

// A hint that is spelled in capitals is no hint, and is said to be none.
func TestHintInCapitals(t *testing.T) {
	for _, text := range []string{"/* CachedPGX: off */ SELECT a FROM t", "SELECT a FROM t -- CACHEDPGX: ttl=5s"} {
		if h := Scan(text).Hint; h.Set || h.Off || h.TTL != 0 || len(h.Malformed) != 1 {
			t.Errorf("%s: %+v", text, h)
		}
	}
}
