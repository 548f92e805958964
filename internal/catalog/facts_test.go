package catalog

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// asker puts questions at times that a test sets.
type asker struct {
	*testing.T
	pc    *pgconn.PgConn
	facts *Facts
	now   time.Duration
}

func newAsker(t *testing.T, schema string) *asker {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, schema)
	return &asker{t, pc, NewFacts(Config{}, nil), 0}
}

func (a *asker) ask(text string, maxAge time.Duration) {
	a.Helper()
	if err := a.facts.Ask(context.Background(), a.pc, sqlscan.Scan(text), func() time.Duration { return a.now }, maxAge); err != nil {
		a.Fatal(err)
	}
}

// judge goes by what is known.
func (a *asker) judge(text string, maxAge time.Duration) (v Verdict, at time.Duration, ok bool) {
	return a.facts.Judge(sqlscan.Scan(text), nil, a.now, maxAge)
}

// A text over names that are known asks nothing, whatever else is in it.
func TestFactsByName(t *testing.T) {
	a := newAsker(t, "CREATE TABLE item (id int, name text); CREATE TABLE sale (id int, item_id int); CREATE FUNCTION vol(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'")
	if _, _, ok := a.judge("SELECT id FROM item", time.Minute); ok {
		t.Fatal("judged without a question")
	}
	a.ask("SELECT id FROM item", time.Minute)
	a.ask("SELECT id FROM sale", time.Minute)
	a.pc.Close(context.Background())
	for text, want := range map[string]want{
		"SELECT id FROM item": cached, "SELECT upper(name) || id::text FROM item i ORDER BY 1": cached, "SELECT s.id FROM item i JOIN sale s ON s.item_id = i.id": cached,
		"SELECT vol(id) FROM item": refused, "SELECT nosuch(id) FROM item": refused, "SELECT now() FROM item": marked, "SELECT 1": harmless,
	} {
		if v, _, ok := a.judge(text, time.Minute); !ok || wantOf(v) != want {
			t.Errorf("%s: %v, known %v, want %v", text, wantOf(v), ok, want)
		}
	}
	if _, _, ok := a.judge("SELECT id FROM other", time.Minute); ok {
		t.Error("a table that was never asked about is known")
	}
}

// No fact is believed for longer than it may be, whatever it was made of.
func TestFactsAge(t *testing.T) {
	a := newAsker(t, "CREATE TABLE plain (n int); CREATE FUNCTION agef(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE VIEW agev AS SELECT agef(n) AS n FROM plain")
	const ttl = 6 * time.Second
	a.ask("SELECT n FROM plain", ttl/2)
	run(t, a.pc, "CREATE OR REPLACE FUNCTION agef(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'")
	a.now = 2400 * time.Millisecond
	a.ask("SELECT n FROM agev", ttl/2) // judged with functions of the beginning
	v, at, ok := a.judge("SELECT n FROM agev", ttl)
	if !ok || !v.Cacheable || at != 0 {
		t.Fatalf("known %v, cacheable %v, of %v; want one of the beginning", ok, v.Cacheable, at)
	}
	a.now = 3400 * time.Millisecond
	a.ask("SELECT n FROM plain", ttl/2)
	a.now = 6500 * time.Millisecond
	if _, _, ok := a.judge("SELECT n FROM agev", ttl); ok {
		t.Error("believed for longer than it may be")
	}
	a.ask("SELECT n FROM agev", ttl/2)
	if v, _, ok := a.judge("SELECT n FROM agev", ttl); !ok || v.Cacheable {
		t.Errorf("known %v, cacheable %v", ok, v.Cacheable)
	}
}

// What is prepared may be dropped by whoever uses the connection.
func TestFactsAfterDeallocate(t *testing.T) {
	a := newAsker(t, "CREATE TABLE one (id int); CREATE TABLE two (id int); CREATE TABLE three (id int)")
	a.ask("SELECT id FROM one", time.Minute)
	for sql, text := range map[string]string{"DISCARD ALL": "SELECT id FROM two", "DEALLOCATE ALL": "SELECT id FROM three"} {
		run(t, a.pc, sql)
		a.ask(text, time.Minute)
		if v, _, ok := a.judge(text, time.Minute); !ok || !v.Cacheable {
			t.Errorf("after %s: known %v, cacheable %v", sql, ok, v.Cacheable)
		}
	}
	if got := rows(t, a.pc, "SHOW search_path")[0][0]; got != `"$user", public` {
		t.Errorf("the search_path is left at %q", got)
	}
	if got := rows(t, a.pc, "SHOW jit")[0][0] + rows(t, a.pc, "SHOW plan_cache_mode")[0][0]; got != "onauto" {
		t.Errorf("settings are left at %q", got)
	}
}

// A search_path that comes to mean another schema changes what names mean.
func TestFactsPathChanges(t *testing.T) {
	a := newAsker(t, "CREATE TABLE item (id int)")
	a.ask("SELECT id FROM item", time.Minute)
	run(t, a.pc, "CREATE SCHEMA AUTHORIZATION CURRENT_USER; DO $$ BEGIN EXECUTE format('CREATE VIEW %I.item AS SELECT 1 AS id, now()', current_user); END $$")
	a.now = time.Minute
	a.ask("SELECT id FROM item", time.Minute)
	if v, _, ok := a.judge("SELECT id FROM item", time.Minute); !ok || v.Cacheable {
		t.Errorf("known %v, cacheable %v", ok, v.Cacheable)
	}
}

// What a listed function reads is read with it.
func TestFactsListed(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, "CREATE SCHEMA shop; CREATE TABLE item (id int); CREATE TABLE shop.price (id int); CREATE FUNCTION shop.f(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; CREATE FUNCTION shop.g(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'")
	a := &asker{t, pc, NewFacts(Config{Pure: Pure{"shop.f": {"shop.price"}, "shop.g": {"nosuch"}}}, nil), 0}
	for text, want := range map[string]string{
		"SELECT shop.f(id) FROM item": "public.item shop.price", "SELECT shop.f(1)": "shop.price", "SELECT * FROM shop.f(1)": "shop.price", "SELECT id FROM item": "public.item", "SELECT shop.g(id) FROM item": "",
	} {
		a.ask(text, time.Minute)
		v, _, ok := a.judge(text, time.Minute)
		if !ok || v.Cacheable != (want != "") || want != "" && names(v) != want {
			t.Errorf("%s: known %v, cacheable %v, reads %q, want %q: %v", text, ok, v.Cacheable, names(v), want, v.Reasons)
		}
	}
}

// Row security is for those who are told apart.
func TestFactsPartitioned(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, `CREATE TABLE note (id int, tenant text); ALTER TABLE note ENABLE ROW LEVEL SECURITY; CREATE TABLE member (tenant text);
		CREATE POLICY p ON note USING (tenant = current_setting('app.tenant', true) AND tenant IN (SELECT tenant FROM member));
		CREATE TABLE timed (id int, at timestamptz); ALTER TABLE timed ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON timed USING (at > now());
		CREATE TABLE called (id int); ALTER TABLE called ENABLE ROW LEVEL SECURITY; CREATE FUNCTION f(int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN true; END'; CREATE POLICY p ON called USING (f(id))`)
	a := &asker{t, pc, NewFacts(Config{Partitioned: true}, nil), 0}
	for text, want := range map[string]want{"SELECT id FROM note": cached, "SELECT id FROM timed": marked, "SELECT id FROM called": refused} {
		a.ask(text, time.Minute)
		if v, _, ok := a.judge(text, time.Minute); !ok || wantOf(v) != want {
			t.Errorf("%s: known %v, %v, want %v: %v", text, ok, wantOf(v), want, v.Reasons)
		}
	}
	if v, _, _ := a.judge("SELECT id FROM note", time.Minute); names(v) != "public.member public.note" {
		t.Errorf("a policy's table is not seen: %s", names(v))
	}
}

// One session asks alone while another finds that the search_path resolves
// otherwise, and drops the objects: what the first one has asked must not be
// judged without any.
//
//	alone                          the other
//	needs: objects are known
//	asks, waits for a lock
//	                               path has changed: objects = none
//	reads objects: none
func TestFactsAskAloneWhileThePathChanges(t *testing.T) {
	dsn := pgtest.DSN(t)
	owner, a, b := dial(t, dsn), dial(t, dsn), dial(t, dsn)
	run(t, owner, "CREATE SCHEMA other; CREATE TABLE other.r (id int)")
	run(t, b, "SET search_path = other, public")
	ctx := context.Background()
	now := func() time.Duration { return time.Second }
	f := NewFacts(Config{}, nil)
	if err := f.Ask(ctx, a, sqlscan.Scan("SELECT lower('x')"), now, time.Hour); err != nil {
		t.Fatal(err)
	}
	run(t, owner, "BEGIN; LOCK TABLE pg_catalog.pg_inherits IN ACCESS EXCLUSIVE MODE")
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		_ = f.AskAlone(ctx, a, sqlscan.Scan("SELECT id FROM other.r"), now, time.Hour)
	}()
	for len(rows(t, owner, "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'pg_inherits'::regclass")) == 0 {
	}
	gone, leave := context.WithCancel(ctx)
	asked := 0
	_ = f.AskAlone(gone, b, sqlscan.Scan("SELECT lower('x')"), func() time.Duration {
		if asked++; asked == 2 {
			leave() // its caller ends after the path was seen to have changed
		}
		return now()
	}, 0)
	run(t, owner, "COMMIT")
	if p := <-done; p != nil {
		t.Fatalf("panicked: %v", p)
	}
}
