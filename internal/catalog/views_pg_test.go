package catalog

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// A view's rule, as the server keeps it, is the check that its text and its
// dependencies miss nothing: every relation in it is one that a read of the view
// depends on, and what is unsafe in it keeps the view from the cache. The form
// of a rule differs from one version to the next, so this is of 15 alone.
func TestViewsAgainstTheirRules(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	if v, err := serverVersion(pc); err != nil || v != 15_00_00 {
		t.Skipf("rules are read as PostgreSQL 15 writes them, and this is %d", v/10000)
	}
	run(t, pc, baseSchema)
	run(t, pc, `CREATE EXTENSION citext; CREATE EXTENSION hstore;
		CREATE FUNCTION pf(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1'; CREATE FUNCTION nf(item) RETURNS text VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
		CREATE FUNCTION e(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = e);
		CREATE TYPE m2 AS (a int); CREATE FUNCTION i2m(int) RETURNS m2 VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN row($1); END';
		CREATE CAST (int AS m2) WITH FUNCTION i2m(int) AS IMPLICIT; CREATE FUNCTION fm(m2) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1.a; END'`)
	n := 0
	for _, body := range []string{
		"SELECT id FROM item", "SELECT * FROM plain_view", "SELECT i.id, s.qty FROM item i JOIN sale s USING (id)", "SELECT * FROM item NATURAL JOIN quick",
		"SELECT id, now() AS n FROM item", "SELECT id, random() AS r FROM item", "SELECT id, CURRENT_DATE AS d FROM item", "SELECT CURRENT_USER::text AS u FROM item",
		"SELECT nextval('seq') AS n FROM item", "SELECT id FROM item FOR UPDATE", "SELECT id FROM item TABLESAMPLE bernoulli (10)",
		"SELECT id, age(at) AS a FROM item", "SELECT date_trunc('day', at)::date AS d FROM item", "SELECT code::date AS d FROM item", "SELECT current_setting('a.b', true) AS s FROM item",
		"SELECT pf(id) AS x FROM item", "SELECT vol(id) AS x FROM item", "SELECT i.nf FROM item i", "SELECT id ### 2 AS x FROM item", "SELECT fm(id) AS x FROM item",
		"SELECT id FROM item WHERE id IN (SELECT item_id FROM sale WHERE qty > random())", "WITH x AS (SELECT id FROM part) SELECT x.id FROM x, animal",
		"SELECT count(*) AS n FROM item GROUP BY name HAVING max(at) > now()", "SELECT row_number() OVER (ORDER BY clock_timestamp()) AS n FROM item",
		"SELECT lower(name) AS l, name || code AS c, to_char(at, 'YYYY') AS y FROM item", "SELECT (doc ->> 'a')::int AS a FROM item", "SELECT name::citext AS c FROM item ORDER BY 1",
		"SELECT id FROM item UNION SELECT item_id FROM sale", "SELECT CASE WHEN id > 1 THEN now() END AS c FROM item", "SELECT COALESCE(at, now()) AS c FROM item",
		"SELECT g.g FROM item, generate_series(1, pg_backend_pid()) g", "SELECT relname::text AS r FROM pg_class", "SELECT a.x FROM item, LATERAL (SELECT txid_current() AS x) a",
		"SELECT DISTINCT ON (name) id FROM item ORDER BY name, random()", "SELECT sum(id) FILTER (WHERE at < now()) AS s FROM item", "SELECT ARRAY(SELECT now() FROM sale) AS a FROM item",
		"SELECT id FROM item WHERE (id, at) < (5, now())", "SELECT id FROM item LIMIT (random() * 5)::int", "SELECT x.* FROM jsonb_to_recordset('[]') AS x(a int, b date), item",
	} {
		n++
		run(t, pc, "DROP VIEW IF EXISTS held; CREATE VIEW held AS "+body)
		f := NewFacts(Config{}, nil)
		st := sqlscan.Scan("SELECT * FROM held")
		if err := f.Ask(context.Background(), pc, st, func() time.Duration { return 0 }, time.Hour); err != nil {
			t.Fatal(err)
		}
		v, _, ok := f.Judge(st, nil, 0, time.Hour)
		if !ok {
			t.Fatal("nothing is known")
		}
		depends := " " + names(v) + " "
		for _, r := range rows(t, pc, `SELECT DISTINCT n.nspname || '.' || c.relname FROM pg_rewrite w, regexp_matches(w.ev_action::text, ':relid (\d+)', 'g') m
			JOIN pg_class c ON c.oid = m[1]::oid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE w.ev_class = 'held'::regclass AND n.nspname <> 'pg_catalog'`) {
			if !strings.Contains(depends, " "+r[0]+" ") {
				t.Errorf("%s: depends on %s, which is not in %s", body, r[0], depends)
			}
		}
		unsafe := rows(t, pc, `SELECT DISTINCT p.proname FROM pg_rewrite w, regexp_matches(w.ev_action::text, ':(?:funcid|aggfnoid|winfnoid|opfuncid) (\d+)', 'g') m
			JOIN pg_proc p ON p.oid = m[1]::oid WHERE w.ev_class = 'held'::regclass AND p.provolatile <> 'i' AND NOT (p.oid < 16384 AND p.proname = ANY ($1))`, string(textArray(keys(stables))))
		unsafe = append(unsafe, rows(t, pc, `SELECT DISTINCT m[1] FROM pg_rewrite w, regexp_matches(w.ev_action::text, '(\{SQLVALUEFUNCTION|:hasForUpdate true|\{NEXTVALUEEXPR|:tablesample \{)', 'g') m WHERE w.ev_class = 'held'::regclass`)...)
		if len(unsafe) > 0 && v.Cacheable {
			t.Errorf("%s: cacheable over %v", body, unsafe)
		}
		if len(unsafe) == 0 && !v.Cacheable && !strings.Contains(body, "::date") && !strings.Contains(body, "pg_class") && !strings.Contains(body, "age(") && !strings.Contains(body, "date)") && !strings.Contains(body, "fm(") {
			t.Errorf("%s: nothing unsafe in its rule, and not cacheable: %v", body, v.Reasons)
		}
	}
	t.Logf("%d views", n)
}

func keys(set map[string]bool) []string {
	var list []string
	for k := range set {
		list = append(list, k)
	}
	return list
}
