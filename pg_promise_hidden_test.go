package cachedpgx_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// promiseHides is one way of hiding what is unsafe: the objects that do it, in
// a database of their own so that nothing else is suspicious there, reads that
// stay safe beside them, and reads that don't.
type promiseHides struct {
	kind           string
	schema         string
	keeps, reaches []string
}

const promiseHid = promiseSchema + `;
	CREATE SCHEMA hid;
	CREATE FUNCTION hid.next(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::int';
	CREATE FUNCTION hid.nextp(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN nextval(''public.sq''); END';`

var promiseHidden = []promiseHides{
	{"view", promiseHid + `;
	CREATE VIEW v_seq AS SELECT id, nextval('sq') AS x FROM t; CREATE VIEW v_seq2 AS SELECT id FROM t WHERE n < (SELECT max(x) FROM v_seq);
		CREATE VIEW v_seq3 WITH (security_barrier) AS WITH a AS (SELECT * FROM v_seq2) SELECT * FROM a;
		CREATE VIEW v_lock AS SELECT id FROM t FOR SHARE; CREATE VIEW v_lock2 AS SELECT id FROM v_lock;
		CREATE VIEW v_clock AS SELECT id FROM t WHERE at < CURRENT_TIMESTAMP; CREATE VIEW v_clock2 AS SELECT id, (SELECT count(*) FROM v_clock) FROM words;
		CREATE VIEW v_who AS SELECT id, current_user AS who FROM t; CREATE VIEW v_who2 AS SELECT id, who FROM v_who;
		CREATE VIEW v_cast AS SELECT id, w::date AS d FROM words; CREATE VIEW v_cast2 AS SELECT d FROM v_cast;
		CREATE VIEW v_cast3 AS SELECT id, date(w) AS d FROM words;
		CREATE VIEW v_sys AS SELECT id, xmin::text AS version FROM t; CREATE VIEW v_sys2 AS SELECT version FROM v_sys;
		CREATE VIEW v_catalog AS SELECT oid::int AS id FROM pg_class; CREATE VIEW v_catalog2 AS SELECT t.id FROM t LEFT JOIN v_catalog c USING (id);
		CREATE VIEW v_sample AS SELECT id FROM t TABLESAMPLE SYSTEM (50); CREATE VIEW v_sample2 AS SELECT * FROM v_sample;
		CREATE VIEW v_secret AS SELECT id FROM secret; CREATE VIEW v_secret2 AS SELECT id FROM v_secret;
		CREATE VIEW v_fn AS SELECT hid.next(id) AS x FROM t; CREATE VIEW v_fn2 AS SELECT x FROM v_fn;
		CREATE VIEW v_sqview AS SELECT last_value FROM sq; CREATE VIEW v_none AS SELECT 1 AS one;
		CREATE VIEW v_word AS SELECT id, ('to' || 'day')::date AS d FROM t; CREATE VIEW v_random AS SELECT id FROM t ORDER BY random();
		CREATE VIEW v_rec AS SELECT x.d FROM t, jsonb_to_record(j->0) AS x(d date);`, []string{
		"SELECT id FROM t WHERE id = 1", "SELECT w FROM words",
	}, []string{
		"SELECT id FROM v_seq", "SELECT id FROM v_seq2", "SELECT id FROM v_seq3", "SELECT id FROM v_lock", "TABLE v_lock2", "SELECT * FROM v_clock",
		"SELECT id FROM t WHERE id IN (SELECT id FROM v_clock2)", "SELECT id FROM v_who2", "SELECT * FROM v_cast", "SELECT * FROM v_cast2",
		"SELECT d FROM v_cast3", "SELECT id FROM v_sys", "SELECT version FROM v_sys2", "SELECT count(*) FROM v_catalog", "SELECT id FROM v_catalog2",
		"SELECT id FROM v_sample2", "SELECT id FROM v_secret", "SELECT id FROM v_secret2", "SELECT x FROM v_fn2", "SELECT last_value FROM v_sqview",
		"SELECT d FROM v_word", "SELECT id FROM v_random", "SELECT d FROM v_rec",
		"WITH a AS (SELECT * FROM v_seq) SELECT id FROM a", "SELECT (SELECT max(id) FROM v_seq) FROM t", "SELECT id FROM public.v_seq3",
		`SELECT id FROM "v_seq3" x`, "SELECT t.id FROM t JOIN v_seq USING (id)",
	}},
	{"function body", promiseHid + `;
	CREATE FUNCTION f_reads() RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT count(*) FROM public.t';
		CREATE FUNCTION f_atomic() RETURNS bigint IMMUTABLE LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM public.t; END;
		CREATE FUNCTION f_ret(i int) RETURNS int IMMUTABLE LANGUAGE sql RETURN hid.next(i);
		CREATE FUNCTION f_calls(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT hid.next($1)';
		CREATE FUNCTION f_deep(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT public.f_calls($1)';
		CREATE FUNCTION f_clock(i int) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS 'SELECT now()';
		CREATE FUNCTION f_keyword(i int) RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT CURRENT_DATE';
		CREATE FUNCTION f_word(i int) RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT ''today''::date';
		CREATE FUNCTION f_word2() RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT date ''2024-01-01'' UNION ALL SELECT ''today'' OFFSET 1';
		CREATE FUNCTION f_cast(x text) RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT $1::date';
		CREATE FUNCTION f_castfn(x text) RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT date(x)';
		CREATE FUNCTION f_setting(i int) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT current_setting(''work_mem'')';
		CREATE FUNCTION f_who(i int) RETURNS name IMMUTABLE LANGUAGE sql AS 'SELECT current_user';
		CREATE FUNCTION f_random(i int) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT random()';
		CREATE FUNCTION f_two(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT nextval(''public.sq''); SELECT $1';
		CREATE FUNCTION f_writes(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
		CREATE FUNCTION f_set(i int) RETURNS int IMMUTABLE LANGUAGE sql SET search_path = hid AS 'SELECT next($1)';
		CREATE FUNCTION f_stable(i int) RETURNS int STABLE LANGUAGE sql AS 'SELECT $1';
		CREATE FUNCTION f_volatile(i int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT $1';
		CREATE FUNCTION f_rows(i int) RETURNS SETOF int IMMUTABLE LANGUAGE sql AS 'SELECT id FROM public.t WHERE id < $1';
		CREATE FUNCTION f_over(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE FUNCTION f_over(i bigint) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')';
		CREATE FUNCTION f_fine(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2 + 1';`, []string{
		"SELECT id FROM t WHERE id = 1 ORDER BY n", "SELECT upper(w) FROM words", "SELECT f_fine(id) FROM t", "SELECT x.id FROM t x WHERE f_fine(x.n) = 2",
	}, []string{
		"SELECT f_reads() FROM t", "SELECT f_atomic() FROM t", "SELECT f_ret(id) FROM t", "SELECT f_calls(id) FROM t", "SELECT f_deep(id) FROM t",
		"SELECT f_clock(id) FROM t", "SELECT f_keyword(id) FROM t", "SELECT f_word(id) FROM t", "SELECT f_word2() FROM t", "SELECT f_cast(w) FROM words",
		"SELECT f_castfn(w) FROM words", "SELECT f_setting(id) FROM t", "SELECT f_who(id) FROM t", "SELECT f_random(id) FROM t", "SELECT f_two(id) FROM t",
		"SELECT f_writes(id) FROM t", "SELECT f_set(id) FROM t", "SELECT f_stable(id) FROM t", "SELECT f_volatile(id) FROM t",
		"SELECT f FROM t, f_rows(3) f", "SELECT hid.nextp(id) FROM t", "SELECT f_over(id) FROM t", "SELECT f_over(id::bigint) FROM t",
		"SELECT id FROM t WHERE f_calls(id) > 0", "SELECT id FROM t ORDER BY f_calls(id)",
	}},
	{"default of an argument", promiseHid + `;
	CREATE FUNCTION f_def(i int, j bigint DEFAULT nextval('sq')) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT i + j';
		CREATE FUNCTION f_defnow(i int, j timestamptz DEFAULT now()) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS 'SELECT j';
		CREATE FUNCTION f_defkey(i int, who text DEFAULT current_user, k int DEFAULT 1) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT who';
		CREATE FUNCTION f_defword(i int, d date DEFAULT ('to' || 'day')::date) RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT d';
		CREATE FUNCTION f_defown(i int, k int DEFAULT hid.next(1)) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT k';
		CREATE FUNCTION f_defop(i int, VARIADIC ks int[] DEFAULT ARRAY[hid.next(1)]) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT ks[1]';
		CREATE VIEW v_def AS SELECT f_def(id) AS x FROM t;
		CREATE VIEW v_safe AS SELECT f_def(id, 2) AS x FROM t;
		CREATE FUNCTION f_fine(i int, j int DEFAULT 3 + 4) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * $2';`, []string{
		"SELECT x FROM v_safe", "SELECT f_def(id, 2) FROM t", "SELECT f_def(id, j => 2) FROM t",
		"SELECT f_fine(id) FROM t",
	}, []string{
		"SELECT f_def(id) FROM t", "SELECT f_def(i => id) FROM t", "SELECT f_def(i := id) FROM t", "SELECT f_defnow(id) FROM t",
		"SELECT f_defkey(id) FROM t", "SELECT f_defkey(id, k => 2) FROM t", "SELECT f_defword(id) FROM t", "SELECT f_defown(id) FROM t",
		"SELECT f_defop(id) FROM t", "SELECT x FROM v_def", "SELECT x FROM t, f_def(t.id) x",
	}},
	{"operator", promiseHid + `;
	CREATE FUNCTION hid.op(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0';
		CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = hid.op); CREATE OPERATOR hid.= (LEFTARG = int, RIGHTARG = int, FUNCTION = hid.op);
		CREATE FUNCTION hid.pre(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::int'; CREATE OPERATOR ~~~ (RIGHTARG = int, FUNCTION = hid.pre);
		CREATE VIEW v_op AS SELECT id FROM t WHERE id ### n; CREATE VIEW v_op2 AS SELECT id FROM t WHERE id OPERATOR(hid.=) n;
		CREATE FUNCTION f_op(i int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT i OPERATOR(public.###) 1';`, []string{
		"SELECT id FROM t WHERE id = 1 AND n < 3", "SELECT id FROM t WHERE id IN (1, 2) ORDER BY n, id",
	}, []string{
		"SELECT id FROM t WHERE id ### n", "SELECT f_op(id) FROM t", "SELECT id OPERATOR(public.###) n FROM t", "SELECT id FROM t WHERE id OPERATOR(hid.=) n", "SELECT ~~~ id FROM t",
		"SELECT id FROM t WHERE id ### ANY (ARRAY[1])", "SELECT id FROM v_op", "SELECT id FROM v_op2", "SELECT t.id FROM t JOIN dep ON dep.id ### t.id",
		"SELECT id FROM t WHERE id###n", "SELECT id FROM t WHERE id OPERATOR ( hid . = ) ALL (SELECT 1)",
	}},
	{"cast", promiseHid + `;
	CREATE TYPE feeling AS ENUM ('good', 'bad'); CREATE TABLE mood (id int, f feeling); INSERT INTO mood VALUES (1, 'good');
		CREATE FUNCTION hid.to_int(feeling) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::int'; CREATE CAST (feeling AS int) WITH FUNCTION hid.to_int(feeling) AS IMPLICIT;
		CREATE TYPE pair AS (a int, b int); CREATE FUNCTION hid.to_pair(text) RETURNS pair VOLATILE LANGUAGE sql AS 'SELECT ROW(nextval(''public.sq''), 1)::pair'; CREATE CAST (text AS pair) WITH FUNCTION hid.to_pair(text);
		CREATE VIEW v_mood AS SELECT id FROM mood WHERE f + 1 > 0;`, []string{
		"SELECT id FROM t WHERE id = 1", "SELECT id::text, w::varchar(3) FROM words",
	}, []string{
		"SELECT f::int FROM mood", "SELECT CAST(f AS int) FROM mood", "SELECT f + 1 FROM mood", "SELECT abs(f) FROM mood",
		"SELECT id FROM mood WHERE f = id", "SELECT id FROM mood WHERE id IN (SELECT f FROM mood)",
		"SELECT (w::pair).a FROM words", "SELECT id FROM v_mood", "SELECT m.id FROM mood m JOIN t ON t.id = m.f", "SELECT sum(f) FROM mood",
		"SELECT ARRAY[w]::pair[] FROM words",
	}},
	{"domain", promiseHid + `;
	CREATE FUNCTION hid.ok(int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'') > 0';
		CREATE DOMAIN checked AS int CHECK (hid.ok(VALUE)); CREATE DOMAIN checked2 AS checked; CREATE TYPE has_checked AS (a checked);
		CREATE DOMAIN seqd AS int CHECK (nextval('sq') > VALUE); CREATE DOMAIN soon AS timestamptz CHECK (VALUE < now() + '1000 years');
		CREATE DOMAIN listed AS int[] CHECK (hid.ok(VALUE[1]));
		CREATE DOMAIN posint AS int CHECK (VALUE > 0 AND VALUE < 1000); CREATE TABLE has_posint (id int, p posint); INSERT INTO has_posint VALUES (1, 2), (2, 1);`, []string{
		"SELECT id FROM t WHERE id = 1", "SELECT id::posint FROM t", "SELECT id FROM has_posint ORDER BY p",
	}, []string{
		"SELECT id::checked FROM t", "SELECT CAST(id AS checked2) FROM t", "SELECT ROW(id)::has_checked FROM t",
		"SELECT ('(' || id || ')')::has_checked FROM t", "SELECT id::seqd FROM t", "SELECT '2024-01-01'::soon FROM t", "SELECT at::soon FROM t",
		"SELECT ARRAY[id]::listed FROM t", "SELECT ARRAY[id]::checked[] FROM t", "SELECT x.a FROM t, jsonb_to_record('{\"a\":1}') x(a checked)",
		"SELECT (jsonb_populate_record(NULL::has_checked, '{\"a\":1}')).a FROM t", "SELECT checked '1' FROM t", "SELECT '{1}'::checked[] FROM t",
		"SELECT checked(id) FROM t",
	}},
	{"aggregate", promiseHid + `;
	CREATE FUNCTION hid.pre(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::int';
		CREATE FUNCTION hid.add(int, int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')::int';
		CREATE AGGREGATE a_sfunc(int) (SFUNC = hid.add, STYPE = int, INITCOND = '0'); CREATE AGGREGATE a_final(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0', FINALFUNC = hid.pre);
		CREATE FUNCTION hid.less(int, int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN nextval(''public.sq''); END';
		CREATE AGGREGATE a_moving(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0', MSFUNC = int4pl, MINVFUNC = int4mi, MSTYPE = int, MINITCOND = '0', MFINALFUNC = hid.pre);
		CREATE AGGREGATE a_ordered(ORDER BY int) (SFUNC = hid.add, STYPE = int, INITCOND = '0');`, []string{
		"SELECT sum(id), count(*) FROM t", "SELECT max(n) OVER (ORDER BY id) FROM t ORDER BY id",
	}, []string{
		"SELECT a_sfunc(id) FROM t", "SELECT a_final(id) FROM t", "SELECT a_moving(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
		"SELECT a_sfunc(id) OVER () FROM t", "SELECT a_sfunc(id) FILTER (WHERE id > 1) FROM t", "SELECT a_ordered() WITHIN GROUP (ORDER BY id) FROM t",
		"SELECT n, a_sfunc(DISTINCT id) FROM t GROUP BY n",
	}},
	{"operator class", promiseHid + `;
	CREATE TYPE weird AS (a int, b int); CREATE TABLE odd (id int, w weird, ws weird[]); INSERT INTO odd VALUES (1, '(1,2)', '{"(1,2)"}'), (2, '(1,3)', '{"(1,3)"}');
		CREATE FUNCTION hid.wcmp(weird, weird) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT CASE WHEN nextval(''public.sq'') > 0 THEN btrecordcmp($1, $2) END';
		CREATE FUNCTION hid.wlt(weird, weird) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT hid.wcmp($1, $2) < 0'; CREATE FUNCTION hid.wle(weird, weird) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT hid.wcmp($1, $2) <= 0';
		CREATE FUNCTION hid.weq(weird, weird) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT hid.wcmp($1, $2) = 0'; CREATE FUNCTION hid.wge(weird, weird) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT hid.wcmp($1, $2) >= 0';
		CREATE FUNCTION hid.wgt(weird, weird) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT hid.wcmp($1, $2) > 0';
		CREATE OPERATOR hid.< (LEFTARG = weird, RIGHTARG = weird, FUNCTION = hid.wlt, COMMUTATOR = OPERATOR(hid.>)); CREATE OPERATOR hid.<= (LEFTARG = weird, RIGHTARG = weird, FUNCTION = hid.wle);
		CREATE OPERATOR hid.= (LEFTARG = weird, RIGHTARG = weird, FUNCTION = hid.weq, MERGES); CREATE OPERATOR hid.>= (LEFTARG = weird, RIGHTARG = weird, FUNCTION = hid.wge); CREATE OPERATOR hid.> (LEFTARG = weird, RIGHTARG = weird, FUNCTION = hid.wgt);
		CREATE OPERATOR CLASS hid.weird_ops DEFAULT FOR TYPE weird USING btree AS OPERATOR 1 hid.<, OPERATOR 2 hid.<=, OPERATOR 3 hid.=, OPERATOR 4 hid.>=, OPERATOR 5 hid.>, FUNCTION 1 hid.wcmp(weird, weird);
		CREATE TYPE wrange AS RANGE (SUBTYPE = weird); CREATE TABLE ranged (id int, wr wrange, wrs wmultirange); INSERT INTO ranged VALUES (1, '["(1,2)","(1,3)")', '{["(1,2)","(1,3)")}');
		CREATE VIEW v_odd AS SELECT DISTINCT w FROM odd;`, []string{
		"SELECT id FROM t WHERE id = 1", "SELECT id FROM t ORDER BY name, id", "SELECT DISTINCT n FROM t ORDER BY n", "SELECT id FROM odd",
		"SELECT * FROM odd", "SELECT w FROM words",
	}, []string{
		"SELECT id FROM odd ORDER BY w", "SELECT id FROM odd ORDER BY w DESC NULLS LAST", "SELECT DISTINCT w FROM odd", "SELECT w FROM odd GROUP BY w",
		"SELECT count(DISTINCT w) FROM odd", "SELECT row_number() OVER (ORDER BY w) FROM odd", "SELECT count(*) OVER (PARTITION BY w) FROM odd",
		"SELECT w FROM odd UNION SELECT w FROM odd", "SELECT w FROM odd INTERSECT SELECT w FROM odd", "SELECT DISTINCT ON (w) id FROM odd",
		"SELECT id FROM odd ORDER BY ws", "SELECT DISTINCT ws FROM odd", "SELECT array_agg(id ORDER BY w) FROM odd", "SELECT id FROM odd ORDER BY ROW(w, 1)",
		"SELECT DISTINCT * FROM odd", "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY w) FROM odd",
		"SELECT id FROM odd ORDER BY w USING OPERATOR(hid.<)", "SELECT w FROM v_odd", "SELECT id FROM odd WHERE ws = ws", "SELECT id FROM odd ORDER BY odd",
		"SELECT rank() OVER win FROM odd WINDOW win AS (ORDER BY w)", "SELECT max(ws) FROM odd", "SELECT 1 FROM odd ORDER BY 1, (w)",
		"SELECT w AS x FROM odd ORDER BY x", "SELECT w FROM odd ORDER BY 1", "SELECT array_position(ws, w) FROM odd", "SELECT GREATEST(w, w) FROM odd", "SELECT LEAST(w, w, w) FROM odd", "SELECT min(ws) FROM odd", "SELECT array_remove(ws, w) FROM odd", "SELECT array_replace(ws, w, w) FROM odd",
		"SELECT array_positions(ws, w) FROM odd", "SELECT width_bucket(w, ws) FROM odd", "SELECT ws && ws FROM odd", "SELECT ws <@ ws FROM odd", "SELECT array_eq(ws, ws) FROM odd", "SELECT btarraycmp(ws, ws) FROM odd", "SELECT o = o FROM odd o",
		"SELECT wr @> w FROM ranged, odd", "SELECT wr && wr FROM ranged", "SELECT wrange(w, w, '[]') FROM odd", "SELECT wr * wr FROM ranged", "SELECT id FROM ranged ORDER BY wr", "SELECT range_merge(wr, wr) FROM ranged", "SELECT ('[\"' || w::text || '\",]')::wrange FROM odd",
		"SELECT wr::text::wrange FROM ranged", "SELECT '[\"(1,2)\",\"(1,3)\"]'::wrange FROM odd", "SELECT range_eq(wr, wr) FROM ranged", "SELECT wrs @> wr FROM ranged", "SELECT range_agg(wr) FROM ranged", "SELECT wmultirange(wr) FROM ranged", "SELECT ARRAY[w] = ARRAY[w] FROM odd", "SELECT ROW(w, id) < ROW(w, id) FROM odd",
		"SELECT record_eq(o, o) FROM odd o",
		"SELECT mode() WITHIN GROUP (ORDER BY w) FROM odd", "SELECT ROW(w) = ROW(w) FROM odd", "SELECT ws @> ws FROM odd",
		"SELECT GROUPING(w), count(*) FROM odd GROUP BY CUBE (w)",
	}},
	{"attribute", promiseHid + `;
	CREATE TYPE pair AS (a int, b int);
		CREATE FUNCTION f_of(t) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')'; CREATE FUNCTION f_pair(pair) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')';
		CREATE FUNCTION f_int(int) RETURNS bigint VOLATILE LANGUAGE sql AS 'SELECT nextval(''public.sq'')';`, []string{
		"SELECT t.id FROM t", "SELECT (t).id FROM t ORDER BY 1", "SELECT x FROM t x ORDER BY x.id",
	}, []string{
		"SELECT t.f_of FROM t", "SELECT (t).f_of FROM t", "SELECT x.f_of FROM t x", "SELECT id FROM t x WHERE (x).f_of > 0",
		"SELECT id FROM t ORDER BY t.f_of", "SELECT public.t.f_of FROM t", `SELECT t."f_of" FROM t`, "SELECT (ROW(1, 2)::pair).f_pair FROM t",
		"SELECT (SELECT t.f_of) FROM t", "SELECT s.x FROM (SELECT t.f_of AS x FROM t) s", "SELECT (q.r).f_of FROM (SELECT t AS r FROM t) q",
		"SELECT f_of(t) FROM t", "SELECT f_of(t.*) FROM t",
	}},
	{"child", promiseHid + `;
	CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
		CREATE TABLE parted (id int, w text) PARTITION BY LIST (id); CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
		CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) PARTITION BY LIST (id);
		CREATE FOREIGN TABLE parted_22 PARTITION OF parted_2 FOR VALUES IN (2) SERVER files OPTIONS (program 'echo 2,x', format 'csv');
		CREATE TABLE base (id int); CREATE TABLE mid () INHERITS (base); CREATE FOREIGN TABLE leaf () INHERITS (mid) SERVER files OPTIONS (program 'echo 3', format 'csv');
		CREATE VIEW v_base AS SELECT id FROM base; CREATE FOREIGN TABLE far (id int) SERVER files OPTIONS (program 'echo 4', format 'csv');
		CREATE TABLE ruled (id int); CREATE RULE r AS ON UPDATE TO ruled DO ALSO UPDATE words SET w = w;`, []string{
		"SELECT id FROM ruled",
	}, []string{
		"SELECT id FROM parted", "SELECT id FROM parted_2", "SELECT * FROM parted_22", "SELECT id FROM base", "SELECT id FROM mid", "SELECT id FROM leaf",
		"SELECT id FROM v_base", "SELECT id FROM far", "SELECT count(*) FROM parted WHERE id = 1", "TABLE base",
	}},
}

// TestPGPromiseHidden checks what hides in views, function bodies, defaults,
// operators, casts, domains, aggregates, operator classes and children.
//
// It would catch, among others: views that are expanded one level only; bodies
// of functions that are believed by their label; aggregates judged by their own
// volatility; an ORDER BY that is judged by what "<" means in the search_path.
func TestPGPromiseHidden(t *testing.T) {
	for _, h := range promiseHidden {
		t.Run(h.kind, func(t *testing.T) {
			t.Parallel()
			if h.kind == "operator class" || h.kind == "function body" {
				promiseNeeds14(t)
			}
			e := newPG(t, h.schema)
			e.db.SetMaxIdleConns(0)
			for _, text := range h.keeps {
				e.promiseKeeps(e.ctx, text)
			}
			for i, text := range h.reaches {
				t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
					e := e.on(t)
					e.promiseReaches(e.ctx, text)
					if x := e.promiseExplain(e.ctx, text); x.Cacheable || len(x.Reasons) == 0 {
						t.Errorf("%s: Explain gives no reason: %+v", text, x)
					}
				})
			}
		})
	}
}

// TestPGPromiseMarksOverHidden marks what hides: a mark admits the clock, chance
// and foreign tables, and nothing else, however deep they are.
//
// It would catch a mark that waives a view's verdict as a whole.
func TestPGPromiseMarksOverHidden(t *testing.T) {
	promiseNeeds14(t)
	kinds := map[string]*pgEnv{}
	for _, h := range promiseHidden {
		kinds[h.kind] = newPG(t, h.schema)
		kinds[h.kind].db.SetMaxIdleConns(0)
	}
	for _, c := range []struct {
		kind  string
		texts []string
	}{
		{"view", []string{"SELECT id FROM v_clock", "SELECT * FROM v_clock2", "SELECT id FROM v_sample2", "SELECT id FROM v_random", "SELECT d FROM v_cast2", "SELECT d FROM v_word", "SELECT d FROM v_rec"}},
		{"child", []string{"SELECT id FROM parted", "SELECT id FROM base", "SELECT id FROM far", "SELECT id FROM v_base"}},
	} {
		e := kinds[c.kind]
		marked := cachedpgx.WithTTL(e.ctx, 25*time.Second)
		for _, text := range c.texts {
			if e.promiseKept(e.ctx, e.db, text) {
				t.Errorf("SERVED FROM MEMORY without a mark: %s", text)
			}
			if !e.promiseKept(marked, e.db, text) {
				t.Errorf("NOT CACHED with a mark: %s: %s", text, e.promiseWhy(marked, text))
			}
			hinted := "/* cachedpgx: ttl=25s */ " + text
			if !e.promiseKept(e.ctx, e.db, hinted) {
				t.Errorf("NOT CACHED with a hint: %s: %s", text, e.promiseWhy(e.ctx, hinted))
			}
		}
	}
	for _, c := range []struct {
		kind  string
		texts []string
	}{
		{"view", []string{"SELECT id FROM v_seq2", "SELECT id FROM v_lock2", "SELECT id FROM v_who2", "SELECT version FROM v_sys2", "SELECT id FROM v_catalog2", "SELECT id FROM v_secret2", "SELECT x FROM v_fn2",
			"SELECT v.id FROM v_clock v, v_secret", "SELECT id, now(), nextval('sq') FROM t", "SELECT id, random(), current_user FROM t", "SELECT now() FROM secret", "SELECT id FROM t WHERE at < now() FOR SHARE",
			"SELECT clock_timestamp(), pg_notify('a', 'b') FROM t", "SELECT t.id, now() FROM t, pg_class LIMIT 1", "SELECT setseed(0.1), random() FROM t", "SELECT pg_stat_get_numscans(1), now() FROM t",
			"SELECT current_setting('a.b', true), now() FROM t", "SELECT inet_client_addr() FROM t", "SELECT 't'::regclass, now() FROM t", "SELECT txid_current(), now() FROM t", "SELECT pg_try_advisory_xact_lock(1), now() FROM t"}},
		{"function body", []string{"SELECT f_reads() FROM t", "SELECT f_ret(id) FROM t", "SELECT f_two(id) FROM t", "SELECT f_writes(id) FROM t", "SELECT f_volatile(id) FROM t", "SELECT f_who(id) FROM t"}},
		{"default of an argument", []string{"SELECT f_def(id) FROM t", "SELECT f_defkey(id) FROM t"}},
		{"operator", []string{"SELECT id ### n FROM t"}},
		{"cast", []string{"SELECT f::int FROM mood"}},
		{"domain", []string{"SELECT id::checked FROM t"}},
		{"aggregate", []string{"SELECT a_sfunc(id) FROM t"}},
		{"operator class", []string{"SELECT id FROM odd ORDER BY w"}},
		{"attribute", []string{"SELECT t.f_of FROM t"}},
	} {
		e := kinds[c.kind]
		for _, text := range c.texts {
			e.promiseReaches(cachedpgx.WithTTL(e.ctx, 25*time.Second), text)
			e.promiseReaches(e.ctx, text+" /* cachedpgx: ttl=25s */")
		}
	}
}
