package cachedpgx_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

const promiseCatalog = `
	CREATE TABLE t (id int, n int, name text); INSERT INTO t SELECT i, i, 'n' || i FROM generate_series(1, 5) i;
	CREATE TABLE u (id int, t int); INSERT INTO u VALUES (1, 1); CREATE TABLE hidden (id int); CREATE SCHEMA closed; CREATE TABLE closed.c (id int);
	CREATE VIEW v AS SELECT t.id, u.id AS u FROM t JOIN u ON u.t = t.id;`

// TestPGPromiseFewRights: a role with rights to nothing but its table is cached
// over it, gets the server's own errors for the rest, and loses what it had as
// soon as it is told.
func TestPGPromiseFewRights(t *testing.T) {
	e := newPG(t, promiseCatalog)
	role := "few_" + pgName(e)
	e.must(e.plain, "CREATE ROLE "+role+" LOGIN PASSWORD '"+role+"'; GRANT SELECT ON t, v TO "+role+"; REVOKE ALL ON SCHEMA closed FROM PUBLIC; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC")
	t.Cleanup(func() { pgDropRole(t, e.dsn, role) })
	r := newPGOn(t, promiseUser(t, e.dsn, role), "", "cache_catalog_ttl=200ms")
	for _, text := range []string{"SELECT id FROM t", "SELECT id FROM v", "SELECT count(*), max(lower(name)) FROM t"} {
		r.promiseKeeps(r.ctx, text)
	}
	for _, text := range []string{"SELECT id FROM hidden", "SELECT id FROM closed.c", "SELECT t.id FROM t, u"} {
		for range 3 {
			r.same("without rights", text)
		}
	}
	e.must(e.plain, "REVOKE SELECT ON t FROM "+role)
	const text = "SELECT n FROM t WHERE id = 1"
	for range 2 {
		r.same("not loaded before the rights went", text)
	}
	e.must(e.plain, "GRANT SELECT ON t TO "+role)
	r.warm(text)
}

// TestPGPromiseOwnRevoke: GRANT and REVOKE through the handle count at once, for
// every role that it serves.
func TestPGPromiseOwnRevoke(t *testing.T) {
	e := newPG(t, promiseCatalog)
	role := "rev_" + pgName(e)
	e.must(e.plain, "CREATE ROLE "+role+"; GRANT SELECT ON t TO "+role)
	t.Cleanup(func() { pgDropRole(t, e.dsn, role) })
	const text = "SELECT id FROM t ORDER BY id"
	e.promiseKeeps(e.ctx, text)
	for _, ddl := range []string{"REVOKE SELECT ON t FROM " + role, "GRANT SELECT ON t TO " + role, "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO " + role} {
		e.must(e.db, ddl)
		if n := e.calls(text, func() { e.same("after "+ddl, text) }); n != 1 {
			t.Errorf("after %s: %d calls at the server, want 1", ddl, n)
		}
		e.warm(text)
	}
}

// TestPGPromiseCatalogTimesOut: where the catalog's question can't be answered in
// time, reads go through as with plain pgx, are counted under a reason, and are
// cached once it can.
func TestPGPromiseCatalogTimesOut(t *testing.T) {
	e := newPG(t, promiseCatalog)
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("who it is is known %t", known), func(t *testing.T) { e.on(t).promiseTimesOut(t, known) })
	}
}

func (e *pgEnv) promiseTimesOut(t *testing.T, known bool) {
	r := newPGOn(t, e.dsn, "", "statement_timeout=150")
	if known {
		r.warm("SELECT id FROM u")
	}
	hits := r.cache.Stats().Hits
	// What asks the catalog waits for this lock; a read of t does not.
	tx := e.begin(e.plain)
	e.must(tx, "LOCK TABLE pg_catalog.pg_proc, pg_catalog.pg_operator, pg_catalog.pg_cast, pg_catalog.pg_inherits, pg_catalog.pg_depend, pg_catalog.pg_policy IN ACCESS EXCLUSIVE MODE")
	for i := range 3 {
		text := fmt.Sprintf("SELECT id, %d FROM t WHERE id < 3", i)
		got := pgAsk(r.ctx, r.db, text)
		if got.Err != "" && !strings.Contains(got.Err, "57014") {
			t.Errorf("%s: %s", text, got.Err)
		}
		if got.Err != "" && pgAsk(r.ctx, r.plain, text).Err == "" {
			t.Errorf("%s: plain pgx answers, and the handle: %s", text, got.Err)
		}
	}
	if s := r.cache.Stats(); s.Hits != hits || len(s.Bypasses) == 0 {
		t.Errorf("no reason is counted: %+v", s)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.warm("SELECT id, 0 FROM t WHERE id < 3")
	r.warm("SELECT id, 99 FROM t WHERE id < 3")
}

// TestPGPromiseServerAway: without a server, a kept answer is served, a new text
// gets the error that plain pgx gives, Explain an error, and all is well after.
func TestPGPromiseServerAway(t *testing.T) {
	server := pgtest.Private(t)
	e := newPGOn(t, server.NewDatabase(t).DSN, promiseCatalog, "cache_ttl=1h", "cache_catalog_ttl=1h")
	e.promiseKeeps(e.ctx, "SELECT id FROM t")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := pgAsk(e.ctx, e.db, "SELECT id FROM t"); got.Err != "" || len(got.Rows) != 5 {
		t.Errorf("the kept answer: %v", got)
	}
	for range 2 {
		if got := pgAsk(e.ctx, e.db, "SELECT n FROM t"); got.Err == "" || strings.Contains(got.Err, "catalog") {
			t.Errorf("a new text: %v", got)
		}
	}
	if x, err := e.cache.Explain(e.ctx, "SELECT u.id FROM u"); err == nil && x.Cacheable {
		t.Errorf("Explain of what nobody can know: %+v", x)
	}
	if err := server.Start(e.ctx); err != nil {
		t.Fatal(err)
	}
	e.warm("SELECT n FROM t")
	e.eventually("plain pgx has lost its dead connections", func() bool { return e.plain.PingContext(e.ctx) == nil })
	e.promiseKeeps(e.ctx, "SELECT id, n FROM t")
}

// TestPGPromiseCatalogQuestions counts them: a text seen first over known names
// asks nothing, one over unknown names asks once, and a hundred at once don't ask
// a hundred times.
//
// It would catch facts that are kept by text alone, and questions that are not
// coalesced.
func TestPGPromiseCatalogQuestions(t *testing.T) {
	e := newPG(t, promiseCatalog)
	e.warm("SELECT id, n, name FROM t WHERE id = 1 AND n > 0 ORDER BY id")
	e.warm("SELECT u.id FROM u JOIN t ON t.id = u.t WHERE lower(t.name) <> 'x'")
	e.warm("SELECT id, u FROM v")
	for i, text := range []string{
		"SELECT n FROM t WHERE id = 2", "SELECT name FROM t WHERE n > 3 AND id = 1 ORDER BY id", "SELECT t.n FROM t JOIN u ON u.t = t.id", "SELECT lower(name) FROM t", "SELECT u FROM v WHERE id = 1", "SELECT id FROM t WHERE n = 1 AND name <> 'a'",
		"WITH q AS (SELECT id FROM t) SELECT id FROM q", "SELECT x.id FROM t x, u y WHERE x.id = y.t", "SELECT id FROM t WHERE id = 12345",
	} {
		asked := e.promiseNew(func() { pgAsk(e.ctx, e.db, text) })
		if len(asked) != 1 || asked[text] != 1 {
			t.Errorf("text %d over known names: %s: the server was sent %d texts", i, text, len(asked))
		}
	}
	asked := e.promiseNew(func() { pgAsk(e.ctx, e.db, "SELECT id FROM hidden") })
	if n := promiseSum(asked); n > 5 { // the question has a transaction of its own
		t.Errorf("a text over one unknown table made %d statements", n)
	}
	if asked := e.promiseNew(func() { pgAsk(e.ctx, e.db, "SELECT count(*) FROM hidden") }); len(asked) != 1 {
		t.Errorf("a second text over the table made %d statements", promiseSum(asked))
	}

	for round, text := range []string{"SELECT id FROM closed.c", "SELECT upper(name), substr(name, 1), id % 2 FROM t", "SELECT length(u.id::text) FROM u, closed.c"} {
		fresh := newPGOn(t, e.dsn, "")
		fresh.warm("SELECT id FROM t")
		start := make(chan struct{})
		var wg sync.WaitGroup
		asked := fresh.promiseNew(func() {
			for range 100 {
				wg.Go(func() {
					<-start
					if got := pgAsk(fresh.ctx, fresh.db, text); got.Err != "" {
						t.Errorf("%s: %s", text, got.Err)
					}
				})
			}
			close(start)
			wg.Wait()
		})
		questions := promiseSum(asked) - asked[text]
		if asked[text] > 3 || questions > 20 { // each connection that is dialled asks who it is
			t.Errorf("round %d: 100 callers made %d loads and %d other statements", round, asked[text], questions)
		}
	}
}

func promiseSum(texts map[string]int) (n int) {
	for _, k := range texts {
		n += k
	}
	return n
}

// TestPGPromiseManyTexts has goroutines ask texts seen first, explain, write and
// make DDL at once, under -race: every answer is right.
func TestPGPromiseManyTexts(t *testing.T) {
	e := newPG(t, promiseCatalog, "cache_max_statements=50", "cache_catalog_ttl=5ms")
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 60 {
				switch {
				case g == 0 && i%10 == 0:
					if _, err := e.db.ExecContext(e.ctx, fmt.Sprintf("CREATE OR REPLACE VIEW v2 AS SELECT id, %d AS k FROM t", i)); err != nil {
						t.Error(err)
					}
					if got := pgAsk(e.ctx, e.db, "SELECT DISTINCT k FROM v2"); got.Err == "" && (len(got.Rows) != 1 || !strings.Contains(got.Rows[0][0], fmt.Sprintf("(%d)", i))) {
						t.Errorf("after the view's change: %v, want %d", got, i)
					}
				case g == 1:
					if _, err := e.cache.Explain(e.ctx, fmt.Sprintf("SELECT id, %d FROM v, u", i)); err != nil {
						t.Error(err)
					}
				default:
					got := pgAsk(e.ctx, e.db, fmt.Sprintf("SELECT id + %d FROM t WHERE id = 1", g*100+i))
					if got.Err != "" || len(got.Rows) != 1 || !strings.Contains(got.Rows[0][0], fmt.Sprintf("(%d)", 1+g*100+i)) {
						t.Errorf("%v, want %d", got, 1+g*100+i)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestPGPromiseCallerGivesUp: a caller whose context ends while the catalog is
// asked gets their own error, and the next one an answer.
func TestPGPromiseCallerGivesUp(t *testing.T) {
	e := newPG(t, promiseCatalog)
	tx := e.begin(e.plain)
	e.must(tx, "LOCK TABLE pg_catalog.pg_inherits, pg_catalog.pg_depend, pg_catalog.pg_proc IN ACCESS EXCLUSIVE MODE")
	ctx, cancel := context.WithTimeout(e.ctx, 100*time.Millisecond)
	defer cancel()
	asked := time.Now()
	got := pgAsk(ctx, e.db, "SELECT name FROM t WHERE lower(name) = 'n1'")
	if took := time.Since(asked); took > 5*time.Second {
		t.Errorf("who gives up after 100ms waits %v: %v", took, got)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	e.warm("SELECT name FROM t WHERE lower(name) = 'n1'")
}

// TestPGPromiseShortCatalogTTL: facts that are believed for a few milliseconds are
// asked for again and again, but a server that answers is one that can be asked.
//
// It would catch an answer that is too old for use as it arrives.
func TestPGPromiseShortCatalogTTL(t *testing.T) {
	for _, ttl := range []string{"1ms", "5ms", "20ms"} {
		e := newPG(t, promiseCatalog, "cache_catalog_ttl="+ttl)
		for range 50 {
			e.same("with facts believed for "+ttl, "SELECT id FROM t WHERE id = 1")
		}
		if s := e.cache.Stats(); s.Bypasses["no-catalog"] != 0 || s.Loads == 0 {
			t.Errorf("%s: %d loads, %d hits, bypasses %v, of a server that answers", ttl, s.Loads, s.Hits, s.Bypasses)
		}
	}
}
