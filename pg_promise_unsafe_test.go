package cachedpgx_test

import (
	"fmt"
	"testing"
)

const promiseSchema = `
	CREATE TABLE t (id int PRIMARY KEY, n int, name text, v varchar(20), made date, at timestamptz, ts timestamp, ti time, j jsonb);
	INSERT INTO t SELECT i, i % 3, 'name ' || i, '2024-01-01', date '2024-01-01' + i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour',
		timestamp '2024-01-01' + i * interval '1 hour', time '01:00' + i * interval '1 minute', '[{"d":"2024-01-01"}]' FROM generate_series(1, 9) i;
	CREATE TABLE zoned (id int, tt timetz); INSERT INTO zoned VALUES (1, '01:00+02');
	CREATE TABLE words (id int, w text); INSERT INTO words VALUES (1, '2024-01-01');
	CREATE TYPE dated AS (id int, d date);
	CREATE DOMAIN day AS date;
	CREATE DOMAIN dayday AS day;
	CREATE TABLE many (id int, ds date[], dr daterange, tr tstzrange, d day, dd dayday, c dated);
	INSERT INTO many VALUES (1, '{2024-01-01}', '[2024-01-01,2024-02-01)', '[2024-01-01,2024-02-01)', '2024-01-01', '2024-01-01', '(1,2024-01-01)');
	CREATE SEQUENCE sq;
	CREATE TABLE secret (id int, owner text); INSERT INTO secret VALUES (1, 'a');
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON secret USING (owner = current_user);
	CREATE TABLE dep (id int, t int REFERENCES t);
	INSERT INTO dep VALUES (1, 1);`

// TestPGPromiseUnsafe has each row of what makes a read unsafe, with the
// spellings that hide it in the text. Each reaches the server each time. Kind 6.
//
// It would catch, among others: date words looked for only behind a cast or a
// comparison; a lock that is looked for only at the end of the text; functions
// looked for only in the select list; STABLE taken for safe.
func TestPGPromiseUnsafe(t *testing.T) {
	promiseNeeds14(t)
	e := newPG(t, promiseSchema)
	e.db.SetMaxIdleConns(0)
	for _, text := range []string{
		"SELECT id FROM t WHERE id = 1", "SELECT id FROM t WHERE made < '2024-01-03'", "SELECT id FROM many WHERE ds <> '{2024-01-02}'",
		"SELECT w FROM words", "SELECT id, c, dd FROM many",
	} {
		e.promiseKeeps(e.ctx, text)
	}
	var texts []string
	add := func(kind string, list ...string) {
		for _, text := range list {
			texts = append(texts, kind, text)
		}
	}
	for _, lock := range []string{"UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"} {
		for _, how := range []string{"", " NOWAIT", " SKIP LOCKED", " OF x"} {
			add("lock", "SELECT id FROM t x WHERE id = 1 FOR "+lock+how)
		}
		add("lock", "SELECT * FROM (SELECT id FROM t WHERE id = 1 FOR "+lock+") s, (SELECT 2) u",
			"SELECT (SELECT id FROM t WHERE id = 1 FOR "+lock+") FROM t",
			"WITH a AS MATERIALIZED (WITH b AS (SELECT id FROM t FOR "+lock+") SELECT * FROM b) SELECT * FROM a",
			"SELECT id FROM t WHERE EXISTS (SELECT FROM t u WHERE u.id = t.id FOR "+lock+")",
			"SELECT id FROM t, LATERAL (SELECT u.n FROM t u WHERE u.id = t.id FOR "+lock+") l",
			"SELECT id FROM t ORDER BY (SELECT id FROM t WHERE id = 1 FOR "+lock+")",
			"SELECT id FROM dep WHERE t = ANY (ARRAY(SELECT id FROM t WHERE id = 1 FOR "+lock+"))")
	}
	add("lock", "(SELECT id FROM t WHERE id = 1) FOR UPDATE", "SELECT id FROM t FOR/**/NO/**/KEY/**/UPDATE", "SELECT id FROM t FOR--\nSHARE",
		"SELECT id FROM t WHERE id = 1 FOR UPDATE FETCH FIRST ROW ONLY", "TABLE t FOR UPDATE", "SELECT 'x' FROM t FOR/* FOR */KEY/* */SHARE OFFSET 0",
		"SELECT id FROM t WHERE id = 1 FOR UPDATE FOR SHARE")
	add("side effect", "SELECT nextval('sq') FROM t", "SELECT id FROM t WHERE n < nextval('sq')", "SELECT id FROM t GROUP BY id HAVING nextval('sq') > 0",
		"SELECT id FROM t ORDER BY n, nextval('sq')", "SELECT id FROM t LIMIT nextval('sq')", "SELECT id FROM t OFFSET nextval('sq') * 0",
		"SELECT id, count(*) FILTER (WHERE nextval('sq') > 0) FROM t GROUP BY id", "SELECT sum(n) OVER (ORDER BY nextval('sq')) FROM t",
		"SELECT DISTINCT ON (nextval('sq')) id FROM t", "SELECT t.id FROM t JOIN dep ON nextval('sq') > 0", "SELECT CASE WHEN id = 1 THEN nextval('sq') END FROM t",
		"SELECT COALESCE(NULL, nextval('sq')) FROM t", "SELECT ARRAY[nextval('sq')] FROM t", "SELECT ROW(id, nextval('sq'))::text FROM t",
		"SELECT id FROM t, generate_series(1, nextval('sq')) g WHERE g < 2 AND id = 1", "SELECT id FROM t, ROWS FROM (nextval('sq'), generate_series(1, 2)) r",
		"SELECT id FROM t WHERE id IN (VALUES (nextval('sq')))", "VALUES ((SELECT count(*) FROM t), nextval('sq'))",
		"WITH RECURSIVE r(i) AS (SELECT id FROM t UNION ALL SELECT i + 1 FROM r WHERE i < 0 AND nextval('sq') > 0) SELECT * FROM r",
		`SELECT pg_catalog . "nextval" ( 'sq' ) FROM t`, "SELECT U&\"n\\0065xtval\"('sq') FROM t", "SELECT NextVal /* ( */ ('sq') FROM t", "SELECT setval('sq', 9) FROM t",
		"SELECT last_value FROM sq", "SELECT id FROM t, sq", "SELECT id, pg_notify('a', 'b') FROM t", "SELECT set_config('a.b', 'c', true) FROM t",
		"SELECT pg_advisory_xact_lock_shared(1) FROM t", "SELECT pg_try_advisory_xact_lock(1, 2) FROM t", "SELECT lo_from_bytea(0, 'x') FROM t WHERE id = 1",
		"SELECT pg_stat_reset_single_table_counters(0) FROM t WHERE id = 1", "SELECT pg_cancel_backend(0) FROM t WHERE id = 1 AND n > 99 OR id = 2 AND pg_sleep(0) IS NULL")
	add("text that is run", "SELECT id, query_to_xml('SELECT 1', true, false, '') FROM t WHERE id = 1", "SELECT table_to_xml('words', true, false, '') FROM t WHERE id = 1",
		"SELECT schema_to_xml('public', true, false, '') FROM words", "SELECT database_to_xml(true, false, '') FROM words", "SELECT word FROM t, ts_stat('SELECT to_tsvector(w) FROM words')",
		"SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery') FROM t")
	add("clock", "SELECT now() FROM t", "SELECT transaction_timestamp() FROM t", "SELECT age(at) FROM t", "SELECT id FROM t WHERE pg_catalog.age(ts) > '1 day'",
		"SELECT current_time(2), localtimestamp(1) FROM t", "SELECT date_part('year', CURRENT_DATE) FROM t", "SELECT id FROM t WHERE at BETWEEN LOCALTIMESTAMP - '1 day'::interval AND NOW()",
		"SELECT pg_postmaster_start_time() FROM t", "SELECT id FROM t WHERE made = date(now())", "SELECT generate_series(now(), now(), '1 day') FROM t")
	add("date word", "SELECT id FROM t WHERE 'today' >= made", "SELECT COALESCE(made, 'today') FROM t", "SELECT NULLIF(made, 'yesterday') FROM t",
		"SELECT CASE WHEN id = 1 THEN made ELSE 'today' END FROM t", "SELECT GREATEST(made, 'yesterday') FROM t", "SELECT made FROM t UNION SELECT 'today'",
		"SELECT made FROM t UNION ALL VALUES (date 'now')", "SELECT id FROM t WHERE (made, id) < ('tomorrow', 3)", "SELECT id FROM t WHERE made IS DISTINCT FROM 'today'",
		"SELECT id FROM t WHERE made NOT BETWEEN SYMMETRIC 'today' AND 'tomorrow'", "SELECT date_trunc('day', timestamp 'now') FROM t",
		"SELECT date_part('day', 'now'::timestamp) FROM t", "SELECT extract(epoch FROM timestamptz 'now') FROM t", "SELECT age('today', at) FROM t",
		"SELECT id FROM t WHERE at <@ tstzrange('yesterday', 'tomorrow')", "SELECT id FROM t WHERE at <@ '[yesterday,tomorrow)'::tstzrange", "SELECT tstzrange('now', NULL) FROM t",
		"SELECT id FROM t WHERE made = ANY ('{today,2024-01-02}')", "SELECT id FROM t WHERE made <> ALL ('{\"today\"}'::date[])", "SELECT id FROM t WHERE made = ANY (ARRAY['today']::date[])",
		"SELECT id FROM t WHERE made = ANY (ARRAY['today'::date])", "SELECT id FROM t WHERE made < 'today 00:00'", "SELECT id FROM t WHERE at < 'today  '", "SELECT id FROM t WHERE at < 'now '",
		"SELECT id FROM t WHERE at < E'\\tnow'", "SELECT id FROM t WHERE made < 'TODAY'", "SELECT id FROM t WHERE made < $x$tomorrow$x$", "SELECT id FROM t WHERE made < U&'!0074oday' UESCAPE '!'",
		"SELECT id FROM t WHERE made < 'tod' -- x\n 'ay'", "SELECT timestamp with time zone 'today' FROM t", "SELECT timestamp(0) 'now' FROM t",
		"SELECT time 'now', time with time zone 'now' FROM t", "SELECT pg_catalog.date 'today' FROM t", "SELECT \"date\" 'today' FROM t", "SELECT CAST('today' AS pg_catalog.timestamptz) FROM t",
		"SELECT date('today') FROM t", "SELECT timestamptz('now') FROM t WHERE false", "SELECT id FROM t WHERE ts > 'today'::text::timestamp", "SELECT ('to' || 'day')::date FROM t",
		"SELECT concat('to', 'day')::date FROM t", "SELECT CAST(concat('to', 'day') AS timestamp) FROM t", "SELECT lower('TODAY')::date FROM t",
		"SELECT generate_series('today'::date, 'today'::date, interval '1 day') FROM t", "SELECT id FROM t WHERE made + 1 > 'tomorrow'", "SELECT id FROM t WHERE made IN ('2024-01-01', 'yesterday')",
		"SELECT id FROM t WHERE ti > 'now'", "SELECT id FROM t WHERE ts::date = 'today'", "SELECT max(at) < 'now' FROM t", "SELECT id FROM t ORDER BY at < 'now', id",
		"SELECT lag(made, 1, 'today') OVER (ORDER BY id) FROM t", "SELECT id FROM t WHERE made > (SELECT 'today'::date)", "SELECT to_char('now'::timestamp, 'DD') FROM t",
		"SELECT id FROM t WHERE ts > 'now'::timestamp(3)", "SELECT id FROM t WHERE ts > 'today' AT TIME ZONE 'UTC'", "SELECT id FROM many WHERE d < 'today'", "SELECT id FROM many WHERE dd < 'now'",
		"SELECT 'today'::dayday FROM t", "SELECT '(1,today)'::dated FROM t", "SELECT id FROM many WHERE c < '(1,today)'::dated", "SELECT id FROM many WHERE ds <> '{today}'", "SELECT id FROM many WHERE dr @> 'today'::date",
		"SELECT id FROM many WHERE dr <> '[yesterday,today]'", "SELECT array_append(ds, 'today') FROM many", "SELECT id FROM many WHERE 'today' = ANY (ds)", "SELECT '{[today,tomorrow)}'::datemultirange FROM t")
	add("date input over what is no literal", "SELECT w::date FROM words", "SELECT CAST(w AS timestamp) FROM words", "SELECT w::timestamptz FROM words", "SELECT date(w) FROM words", "SELECT pg_catalog.date(w) FROM words", `SELECT "timestamp"(w) FROM words`, "SELECT timestamptz(w) FROM words", "SELECT day(w) FROM words", "SELECT public.dayday(w) FROM words", "SELECT (w.w).date FROM words w", "SELECT (x.w).timestamptz FROM (SELECT w FROM words) x", "SELECT date(w || '') FROM words", "SELECT id FROM t WHERE made > date(concat('to', 'day'))", "SELECT date(v) FROM t", "SELECT date(concat(w)) FROM words", "SELECT daterange(concat('[', w, ',]')) FROM words",
		"SELECT w::day FROM words", "SELECT w::dayday FROM words", "SELECT ARRAY[w]::date[] FROM words", "SELECT string_to_array(w, ',')::date[] FROM words", "SELECT ('[' || w || ',)')::daterange FROM words",
		"SELECT ('(1,' || w || ')')::dated FROM words", "SELECT ('{' || w || '}')::date[] FROM words", "SELECT (j->0->>'d')::date FROM t", "SELECT v::date FROM t", "SELECT v::timestamp(0) FROM t",
		"SELECT x.d FROM t, jsonb_to_recordset(j) x(d date)", "SELECT x.d FROM t, jsonb_to_record(j->0) AS x(d timestamptz)", "SELECT d FROM t, jsonb_populate_record(NULL::dated, j->0)",
		"SELECT (jsonb_populate_recordset(NULL::dated, j)).d FROM t", "SELECT x.d FROM t, json_to_record('{\"d\":\"now\"}') x(d timestamp)", "SELECT jsonb_populate_record(c, '{\"d\":\"today\"}') FROM many",
		"SELECT x FROM words, XMLTABLE('/a' PASSING xmlparse(DOCUMENT '<a>today</a>') COLUMNS x date PATH '.') q", "SELECT t.id FROM t, words w WHERE t.made = w.w::date",
		"SELECT w::text::date FROM words", "SELECT CASE WHEN w ~ '^\\d' THEN w::date END FROM words", "SELECT w::char(10)::date FROM words", "SELECT w::varchar::timestamp FROM words",
		"SELECT w::time FROM words WHERE false", "SELECT id FROM t WHERE made > ALL (SELECT w::date FROM words)")
	add("timetz", "SELECT ti::timetz FROM t", "SELECT '01:00'::timetz FROM t", "SELECT id FROM zoned WHERE tt > '2024-01-01 01:00 America/New_York'", "SELECT tt AT TIME ZONE 'America/New_York' FROM zoned",
		"SELECT timezone('Europe/Berlin', tt) FROM zoned", "SELECT w::timetz FROM words WHERE false", "SELECT CAST(ti AS time with time zone) FROM t", "SELECT timetz(ti) FROM t",
		"SELECT tt FROM zoned UNION SELECT ti FROM t", "SELECT id FROM t WHERE ti = time with time zone '01:00+02'")
	add("chance", "SELECT id FROM t ORDER BY random()", "SELECT gen_random_uuid() FROM t", "SELECT setseed(0.5) FROM t WHERE id = 1", "SELECT id FROM t WHERE random() < 2",
		"SELECT id FROM t TABLESAMPLE system (100)", "SELECT id FROM t x TABLESAMPLE bernoulli (50) REPEATABLE (1)", "SELECT (SELECT count(*) FROM t TABLESAMPLE SYSTEM (50)) FROM t")
	add("identity", "SELECT current_user FROM t", "SELECT session_user::text FROM t", "SELECT user FROM t", "SELECT current_role FROM t", "SELECT current_catalog, current_schema FROM t", "SELECT current_schema() FROM t",
		"SELECT current_schemas(true) FROM t", "SELECT current_setting('TimeZone') FROM t", "SELECT id FROM t WHERE current_setting('a.b', true) IS NULL", "SELECT pg_backend_pid() FROM t", "SELECT inet_client_port() FROM t",
		"SELECT has_table_privilege('t', 'SELECT') FROM t", "SELECT pg_has_role('pg_monitor', 'MEMBER') FROM t", "SELECT txid_current_if_assigned() FROM t", "SELECT pg_current_snapshot() FROM t",
		"SELECT current_query() FROM t", "SELECT pg_my_temp_schema() FROM t", "SELECT pg_is_in_recovery() FROM t", "SELECT pg_current_xact_id_if_assigned() FROM t", "SELECT getdatabaseencoding() FROM t WHERE current_database() <> ''")
	add("catalog", "SELECT 't'::regclass::oid FROM t", "SELECT id::regclass FROM t", "SELECT id::regproc::text FROM t", "SELECT to_regclass('t') FROM t", "SELECT pg_relation_size('t') FROM t", "SELECT pg_total_relation_size('public.t'::regclass) FROM t",
		"SELECT obj_description(1, 'pg_class') FROM t", "SELECT pg_get_viewdef('t'::regclass) FROM t WHERE false", "SELECT format_type(id::oid, NULL) FROM t", "SELECT relname FROM pg_class LIMIT 1",
		"SELECT t.id FROM t, information_schema.columns c WHERE c.table_name = 't' LIMIT 1", "SELECT pg_size_pretty(pg_database_size(current_database())) FROM t", "SELECT col_description(1, 1) FROM t",
		"SELECT pg_stat_get_numscans(1) FROM t", "SELECT pg_get_userbyid(10) FROM t", "SELECT id::regtype FROM t", "SELECT 'int4'::regtype FROM t", "SELECT w::regclass FROM words WHERE false", "SELECT pg_table_is_visible(1) FROM t",
		"SELECT CAST('pg_monitor' AS regrole) FROM t", "SELECT count(*) FROM pg_catalog.pg_stat_user_tables", "SELECT name FROM pg_settings LIMIT 1")
	add("system column", "SELECT ctid FROM t", "SELECT t.xmin FROM t", "SELECT id FROM t WHERE CMAX = '0'", `SELECT "xmax" FROM t`, "SELECT t.tableoid FROM t", "SELECT tableoid::int FROM t",
		"SELECT max(s.x) FROM (SELECT cmin::text AS x FROM t) s", "SELECT id FROM t ORDER BY ctid", "SELECT U&\"\\0078min\" FROM t", "SELECT id FROM t JOIN dep USING (id) WHERE t.xmin IS NOT NULL",
		"SELECT count(*) OVER (PARTITION BY tableoid) FROM t")
	add("row security", "SELECT * FROM secret", "SELECT id FROM t WHERE id IN (SELECT id FROM secret)", "WITH s AS (TABLE secret) SELECT * FROM s", "SELECT (SELECT count(*) FROM public.secret) FROM t", "SELECT t.id FROM t NATURAL JOIN secret")
	add("a write in a CTE", "WITH w AS (INSERT INTO words VALUES (2, 'x') RETURNING id) SELECT t.id FROM t", "WITH a AS (SELECT 1), w AS (DELETE FROM words WHERE id = 2 RETURNING 1) SELECT id FROM t",
		"WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b), w AS (UPDATE words SET w = w WHERE false RETURNING 1) TABLE t")
	add("no relation", "SELECT 1", "VALUES (1)", "SELECT * FROM generate_series(1, 2)", "WITH a AS (SELECT 1 AS id) SELECT id FROM a")
	for i := 0; i < len(texts); i += 2 {
		t.Run(fmt.Sprintf("%03d %s", i/2, texts[i]), func(t *testing.T) {
			e := e.on(t)
			e.promiseReaches(e.ctx, texts[i+1])
		})
	}
	// What went before has not spoilt the tables.
	e.promiseKeeps(e.ctx, "SELECT id, n FROM t WHERE id = 1")
}
