package sqlscan

import (
	"strconv"
	"strings"
	"testing"
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
		{"ignore nulls", "SELECT lag(a) IGNORE NULLS OVER (ORDER BY b) FROM t", ClassUnknown, TxNone, EffectTouched},
		{"on conflict do select", "INSERT INTO t VALUES (1) ON CONFLICT (a) DO SELECT FOR UPDATE RETURNING a", ClassUnknown, TxNone, EffectTouched},
		{"order by all", "SELECT a FROM t ORDER BY ALL", ClassUnknown, TxNone, EffectTouched},
		{"wait for", "WAIT FOR LSN '0/1'", ClassUnknown, TxNone, EffectTouched},
		{"repack", "REPACK t", ClassUnknown, TxNone, EffectTouched},
		{"update for a portion of", "UPDATE t FOR PORTION OF p FROM 1 TO 2 SET a = 1", ClassUnknown, TxNone, EffectTouched},
		{"a temporal key", "CREATE TABLE t (a int, p daterange, PRIMARY KEY (a, p WITHOUT OVERLAPS), FOREIGN KEY (a, PERIOD p) REFERENCES u)", ClassDDL, TxNone, EffectNone},
		{"a virtual column", "CREATE TEMP TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) VIRTUAL)", ClassDDL, TxNone, EffectChanged},
		{"a property graph", "CREATE PROPERTY GRAPH g VERTEX TABLES (t)", ClassDDL, TxNone, EffectNone},
		{"returning old and new", "DELETE FROM t RETURNING WITH (OLD AS o) o.a, new.b", ClassWrite, TxNone, EffectNone},
		{"returning by names", "MERGE INTO t USING u ON a = b WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING old.a, new.*", ClassWrite, TxNone, EffectNone},
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

func TestNumericModulo(t *testing.T) {
	for expr, want := range map[string]bool{
		"a": true, "a % 2": true, "a % 2 = 0": true, "(a % 10)": true, "a % 2 + b": true, "a % 1.5 AND b": true,
		"a % b": false, "a % 2 AND a % b": false, "a % '2'": false, "a % 2::text": false, "a % 2 ^ b": false, "a % 2 COLLATE x": false,
		"a % 2 || b": false, "2 % a": false, "a % $1": false, "a % ANY(b)": false, "a OPERATOR(s.%) b": false, "a % -2": false,
	} {
		if st := Scan("SELECT " + expr + " FROM t"); st.Class != ClassRead || st.NumericModulo != want {
			t.Errorf("%s: %v, want %v (%v)", expr, st.NumericModulo, want, st.Class)
		}
	}
}
