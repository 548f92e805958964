package cachedpgx_test

import (
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx"
)

const promisePure = `
	CREATE SCHEMA shop; CREATE TABLE shop.price (id int, v int); INSERT INTO shop.price VALUES (1, 10); CREATE TABLE rate (r int); INSERT INTO rate VALUES (2); CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE TABLE other (id int);
	CREATE TABLE tree (v int) PARTITION BY LIST (v); CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1, 2, 3); INSERT INTO tree VALUES (1);
	CREATE FUNCTION shop.cost(i int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT v * r FROM shop.price, public.rate WHERE id = i); END';
	CREATE FUNCTION shop.cost(i text) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN shop.cost(i::int); END';
	CREATE FUNCTION pure(i int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN i + 1; END'; CREATE FUNCTION unlisted(i int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN i + 1; END';
	CREATE FUNCTION "Odd;Fn"(i int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN i; END'; CREATE FUNCTION of_tree() RETURNS bigint STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(v) FROM tree); END';
	CREATE SCHEMA elsewhere; CREATE FUNCTION elsewhere.pure(i int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
	CREATE VIEW v_cost AS SELECT id, shop.cost(id) AS c FROM t; CREATE FUNCTION op(int, int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 = $2; END'; CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = op);
	CREATE FUNCTION wraps(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT public.pure($1)';`

// TestPGPromisePureFunctions: what is listed is believed, with what it is said to
// read; what isn't listed is not cached over.
//
// It would catch a listing by the last part of the name, and relations of a
// listing that are left out of the dependencies where a view hides the call.
func TestPGPromisePureFunctions(t *testing.T) {
	e := promisePG(t, promisePure, cachedpgx.Config{PureFunctions: []string{"shop.cost(shop.price; public.rate)", "public.pure", "public.of_tree(public.tree)", "public.op"}})
	for _, text := range []string{"SELECT shop.cost(id) FROM t", "SELECT shop.cost(id::text) FROM t", "SELECT pure(id) FROM t", "SELECT public.pure(1) FROM t", "SELECT id FROM t WHERE pure(id) = 2 ORDER BY pure(id)", "SELECT c FROM v_cost", "SELECT of_tree() FROM t", "SELECT id FROM t WHERE id ### 1", "SELECT wraps(id) FROM t"} {
		e.promiseKeeps(e.ctx, text)
	}
	for _, text := range []string{"SELECT unlisted(id) FROM t", "SELECT elsewhere.pure(id) FROM t", "SELECT pure(id), unlisted(id) FROM t", "SELECT shop.cost(id), now() FROM t", `SELECT "Odd;Fn"(id) FROM t`} {
		e.promiseReaches(e.ctx, text)
	}
	for _, c := range []struct{ text, relations string }{
		{"SELECT shop.cost(id) FROM t", "public.rate public.t shop.price"}, {"SELECT c FROM v_cost", "public.rate public.t public.v_cost shop.price"}, {"SELECT of_tree() FROM t", "public.t public.tree public.tree_1"}, {"SELECT pure(id) FROM t", "public.t"},
	} {
		if got := strings.Join(e.promiseExplain(e.ctx, c.text).Relations, " "); got != c.relations {
			t.Errorf("%s: depends on %q, want %q", c.text, got, c.relations)
		}
	}
	for _, c := range []struct{ write, text string }{
		{"UPDATE shop.price SET v = v + 1", "SELECT shop.cost(id) FROM t"}, {"UPDATE rate SET r = r + 1", "SELECT shop.cost(id) FROM t"}, {"UPDATE rate SET r = r + 1", "SELECT c FROM v_cost"}, {"UPDATE shop.price SET v = v + 1", "SELECT shop.cost(id::text) FROM t"},
		{"UPDATE tree_1 SET v = v + 1 WHERE v < 3", "SELECT of_tree() FROM t"}, {"INSERT INTO tree VALUES (2)", "SELECT of_tree() FROM t"}, {"TRUNCATE shop.price", "SELECT c FROM v_cost"},
	} {
		e.warm(c.text)
		e.must(e.db, c.write)
		if n := e.calls(c.text, func() { e.same("after "+c.write, c.text) }); n != 1 {
			t.Errorf("SERVED FROM MEMORY after %s: %s: %d calls at the server", c.write, c.text, n)
		}
	}
	// A write to what none of them reads moves none of them, if the server was asked about it.
	e.warm("SELECT pure(id) FROM t")
	e.must(e.db, "INSERT INTO shop.price VALUES (1, 10)")
	if n := e.calls("SELECT pure(id) FROM t", func() { pgAsk(e.ctx, e.db, "SELECT pure(id) FROM t") }); n > 1 {
		t.Errorf("%d calls", n)
	}

	without := newPGOn(t, e.dsn, "")
	for _, text := range []string{"SELECT shop.cost(id) FROM t", "SELECT pure(id) FROM t", "SELECT c FROM v_cost", "SELECT of_tree() FROM t", "SELECT id FROM t WHERE id ### 1", "SELECT wraps(id) FROM t"} {
		without.promiseReaches(without.ctx, text)
	}
	byDSN := newPGOn(t, e.dsn, "", "cache_pure_functions=public.pure,shop.cost(shop.price%3Bpublic.rate)")
	byDSN.promiseKeeps(byDSN.ctx, "SELECT pure(id) FROM t")
	byDSN.promiseKeeps(byDSN.ctx, "SELECT shop.cost(id) FROM t")
	byDSN.promiseReaches(byDSN.ctx, "SELECT of_tree() FROM t")
}

// TestPGPromisePureFunctionsMalformed: a listing that can't be read is an error at
// Open, which names it.
func TestPGPromisePureFunctionsMalformed(t *testing.T) {
	for _, bad := range []string{"", " ", "pure", "shop.", ".f", "shop.f(", "shop.f)", "shop.f()x", "shop.f(a", "a.b.c", "shop.f(shop.)", "shop.f(;)", "shop.f(a;;b)", "shop f"} {
		_, err := cachedpgx.OpenDB(promiseInner{}, cachedpgx.Config{PureFunctions: []string{"shop.good", bad}})
		if err == nil {
			t.Errorf("PureFunctions %q is taken", bad)
			continue
		}
		if !strings.Contains(err.Error(), "PureFunctions") || strings.TrimSpace(bad) != "" && !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: the error doesn't name it: %v", bad, err)
		}
	}
}

// promiseInner is a connector that is never used.
type promiseInner struct{ driver.Connector }
