package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx"
)

// Each of these broke a promise once.

const pgThing = `CREATE TABLE thing (id int PRIMARY KEY, v text); INSERT INTO thing VALUES (1, 'old'), (2, 'old')`

const pgReadThing = "SELECT v FROM thing WHERE id = 1"

// COMMIT AND CHAIN ends one transaction and begins the next at once, so the
// session never looks idle. Kinds 5 and 7.
func TestPGCommitAndChain(t *testing.T) {
	e := newPG(t, pgThing)
	for _, texts := range [][]string{
		{"BEGIN", "UPDATE thing SET v = v || '.' WHERE id = 1", "COMMIT AND CHAIN"},
		{"BEGIN; UPDATE thing SET v = v || '.' WHERE id = 1; COMMIT; BEGIN"},
	} {
		e.warm(pgReadThing)
		before := e.one(e.db, pgReadThing)
		conn := e.session(e.db)
		for _, text := range texts {
			e.must(conn, text)
		}
		if e.one(e.db, pgReadThing) == before {
			t.Errorf("%q: the write is committed, and not read", texts)
		}
		e.must(conn, "ROLLBACK")
		conn.Close()
	}

	// The same by Query, whose rows are not closed yet.
	e.warm(pgReadThing)
	before := e.one(e.db, pgReadThing)
	conn := e.session(e.db)
	e.must(conn, "BEGIN")
	e.must(conn, "UPDATE thing SET v = v || '.' WHERE id = 1")
	rows, err := conn.QueryContext(e.ctx, "COMMIT")
	if err != nil {
		t.Fatal(err)
	}
	if e.one(e.db, pgReadThing) == before {
		t.Error("the write is committed by Query, and not read")
	}
	if err := errors.Join(rows.Close(), conn.Close()); err != nil {
		t.Error(err)
	}
}

// A trigger changes the search_path of the session that fires it. Loads must
// not go by it, on whatever connection they run. Kind 1.
func TestPGSettingsChangedUnseen(t *testing.T) {
	e := newPG(t, pgThing+`;
		CREATE SCHEMA other; CREATE TABLE other.thing (id int, v text); INSERT INTO other.thing VALUES (1, 'of the other');
		CREATE FUNCTION stray() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('search_path', 'other', false); RETURN NEW; END $$;
		CREATE TRIGGER stray AFTER UPDATE ON thing FOR EACH ROW EXECUTE FUNCTION stray()`)
	e.cache.Server().SetMaxOpenConns(1)
	e.must(e.db, "UPDATE public.thing SET v = 'new' WHERE id = 1")
	for range 3 {
		if got := e.one(e.db, pgReadThing); got != `string("new")` {
			t.Fatalf("read %s", got)
		}
	}
	// The session itself goes on under its new search_path, uncached, and takes
	// it along when it is over.
	e.db.SetMaxIdleConns(-1)
	conn := e.session(e.db)
	e.must(conn, "UPDATE public.thing SET v = 'newer' WHERE id = 1")
	if got := e.one(conn, pgReadThing); got != `string("of the other")` {
		t.Errorf("the session reads %s", got)
	}
	conn.Close()
	if got := e.one(e.db, pgReadThing); got != `string("newer")` {
		t.Errorf("read %s", got)
	}
}

// A mark's longer life is for marked reads alone. Promise 4.
func TestPGMarkedLifeIsNotForOthers(t *testing.T) {
	e := newPG(t, pgThing, "cache_ttl=50ms", "cache_jitter=off")
	long := cachedpgx.WithTTL(e.ctx, time.Hour)
	pgAsk(long, e.db, pgReadThing)
	time.Sleep(60 * time.Millisecond)
	if n := e.calls(pgReadThing, func() { pgAsk(long, e.db, pgReadThing) }); n != 0 {
		t.Errorf("marked, %d calls at the server", n)
	}
	if n := e.calls(pgReadThing, func() { e.one(e.db, pgReadThing) }); n != 1 {
		t.Errorf("unmarked, %d calls at the server, want 1", n)
	}
}

// A session that keeps its pin may hold a plan of before the DDL: what it reads
// is as with plain pgx, and nobody else's. Kinds 1 and 15.
func TestPGOldPlanOfAPinnedSession(t *testing.T) {
	e := newPG(t, pgThing+`; CREATE SCHEMA front`, "search_path=front,public")
	conn := e.session(e.db)
	e.one(conn, pgReadThing)
	e.must(conn, "UPDATE thing SET v = 'old' WHERE id = 2") // pins it
	e.one(conn, pgReadThing)                                // its plan
	e.must(e.db, "CREATE TABLE front.thing AS SELECT 1 AS id, 'in front' AS v")
	pgAsk(e.ctx, conn, pgReadThing)
	for range 2 {
		if got := e.one(e.db, pgReadThing); got != `string("in front")` {
			t.Errorf("read %s", got)
		}
	}
}

// A function that alters is an own write to the catalog. Kind 2.
func TestPGFunctionThatAlters(t *testing.T) {
	e := newPG(t, pgThing+`;
		CREATE FUNCTION secure() RETURNS void LANGUAGE sql AS 'ALTER TABLE thing ENABLE ROW LEVEL SECURITY'`)
	e.warm(pgReadThing)
	e.must(e.db, "SELECT secure()")
	if n := e.calls(pgReadThing, func() { pgAsk(e.ctx, e.db, pgReadThing); pgAsk(e.ctx, e.db, pgReadThing) }); n != 2 {
		t.Errorf("%d calls at the server, want 2", n)
	}
}

// DDL that nobody saw as such makes plans wrong all the same, on every pooled
// connection. Kind 15.
func TestPGShadowedUnseen(t *testing.T) {
	for name, create := range map[string]func(e *pgEnv){
		"by a function": func(e *pgEnv) { e.must(e.db, "SELECT shadow()") },
		"in Raw": func(e *pgEnv) {
			conn := e.session(e.db)
			defer conn.Close()
			e.raw(conn, func(pc *pgx.Conn) error {
				_, err := pc.Exec(e.ctx, "CREATE TABLE front.thing AS SELECT 1 AS id, 'in front' AS v")
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPG(t, pgThing+`; CREATE SCHEMA front;
				CREATE FUNCTION shadow() RETURNS void LANGUAGE sql AS 'CREATE TABLE front.thing AS SELECT 1 AS id, ''in front'' AS v'`,
				"search_path=front,public")
			e.watched(8, func(ctx context.Context, i int) error { // plans on several connections
				return pgAskErr(cachedpgx.WithRefresh(ctx), e.db, pgReadThing)
			})
			create(e)
			for range 10 {
				pgAsk(cachedpgx.WithRefresh(e.ctx), e.db, pgReadThing)
				if got := e.one(e.db, pgReadThing); got != `string("in front")` {
					t.Fatalf("read %s", got)
				}
			}
		})
	}
}

// The caller's end is the caller's error, also while the catalog is asked on a
// pin that the session holds. Kind 13.
func TestPGCallerEndsWhileTheCatalogIsAsked(t *testing.T) {
	e := newPG(t, pgThing+`; CREATE TABLE idle (id int)`)
	conn := e.session(e.db)
	e.must(conn, "INSERT INTO idle VALUES (1)")
	release := e.lock("thing")
	defer release()
	ctx, cancel := context.WithTimeout(e.ctx, 200*time.Millisecond)
	defer cancel()
	err := conn.QueryRowContext(ctx, "SELECT v FROM thing WHERE id = $1", 1).Scan(new(string))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// Idle sessions that have changed give up their connections to who waits, all
// of them if it must be. Kind 13.
func TestPGIdleSessionsGiveWay(t *testing.T) {
	e := newPG(t, pgThing)
	e.db.SetMaxIdleConns(8)
	var conns []*sql.Conn
	for range 5 {
		conn := e.session(e.db)
		e.must(conn, "SET work_mem = '5MB'")
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		conn.Close()
	}
	server := e.cache.Server()
	if n := server.Stats().InUse; n != 5 {
		t.Fatalf("%d connections are held, want 5", n)
	}
	server.SetMaxOpenConns(1)
	e.watched(20, func(ctx context.Context, i int) error {
		if i%2 == 0 {
			return pgAskErr(ctx, e.db, pgReadThing)
		}
		_, err := e.db.ExecContext(ctx, "UPDATE thing SET v = 'new' WHERE id = 2")
		return err
	})
}

// A bulk INSERT too long to look into is a write, and no more than that: the
// session stays clean, and nothing remembered of the catalog is lost.
func TestPGBulkInsert(t *testing.T) {
	e := newPG(t, pgThing+"; CREATE TABLE bulk (v text)")
	e.warm(pgReadThing)
	bulk := "INSERT INTO bulk VALUES ('" + strings.Repeat("x", 70_000) + "')"
	e.must(e.db, bulk)
	if n := e.calls(pgReadThing, func() { e.one(e.db, pgReadThing) }); n != 1 {
		t.Errorf("after it, %d calls at the server, want 1", n)
	}
	if got := e.one(e.db, "SELECT count(*) FROM bulk"); got != "int64(1)" {
		t.Errorf("%s rows", got)
	}
	if n := e.cache.Server().Stats().OpenConnections; n != 1 {
		t.Errorf("%d server connections, want 1", n)
	}
}

// A parameter that is text by its first use is cast to a date when the
// statement runs: 'today' in it is the clock. Kind 6.
func TestPGDateParameterThatIsText(t *testing.T) {
	e := newPG(t, "CREATE TABLE dated (id int, d date, w text); INSERT INTO dated VALUES (1, '2024-01-01', 'today')")
	for _, text := range []string{
		"SELECT id FROM dated WHERE ($1::text IS NULL OR d < $1::date)", "SELECT id FROM (SELECT id, d FROM dated WHERE w = $1) x WHERE d < CAST($1 AS date)",
	} {
		for range 2 {
			if n := e.calls(text, func() { pgAsk(e.ctx, e.db, text, "today") }); n != 1 {
				t.Errorf("%s: %d calls at the server, want 1", text, n)
			}
		}
		e.warm(text, "2024-05-05")
	}
}

// To explain a read runs functions: the planner folds and estimates with them.
// Kind 5.
func TestPGExplainThatWrites(t *testing.T) {
	e := newPG(t, `CREATE TABLE log (id int); CREATE TABLE big AS SELECT g AS id FROM generate_series(1, 100) g; ANALYZE big;
		CREATE FUNCTION writer() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (1); RETURN 5; END';
		CREATE FUNCTION stab() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN writer(); END';
		CREATE VIEW vstab AS SELECT * FROM big WHERE id < stab()`)
	const count = "SELECT count(*) FROM log"
	e.warm(count)
	before := e.one(e.db, count)
	pgAsk(e.ctx, e.db, "EXPLAIN SELECT * FROM vstab")
	if got := e.one(e.db, count); got == before {
		t.Errorf("EXPLAIN wrote, and %v is served from before it", got)
	}
	e.warm("SELECT id FROM big WHERE id = 1")
	if n := e.calls("SELECT id FROM big WHERE id = 1", func() {
		pgAsk(e.ctx, e.db, "EXPLAIN SELECT id FROM big WHERE id = 2")
		pgAsk(e.ctx, e.db, "SELECT id FROM big WHERE id = 1")
	}); n != 0 {
		t.Errorf("an EXPLAIN that runs nothing counts as a write: %d calls", n)
	}
}

// A trigger may change what a cached read goes by, on a connection that others
// load on. Kind 1.
func TestPGTriggerChangesTextSearch(t *testing.T) {
	e := newPG(t, `CREATE TABLE doc (w text); INSERT INTO doc VALUES ('houses running'); CREATE TABLE trg (id int);
		CREATE FUNCTION german() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''default_text_search_config'', ''pg_catalog.german'', false); RETURN NEW; END';
		CREATE TRIGGER t BEFORE INSERT ON trg FOR EACH ROW EXECUTE FUNCTION german()`)
	const text = "SELECT to_tsvector(w)::text FROM doc"
	want := e.one(e.plain, text)
	for range 3 {
		e.must(e.db, "INSERT INTO trg VALUES (1)")
		if got := e.one(e.db, text); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// A function may leave a tenant behind in a setting that the server doesn't
// list; another tenant's load must not meet it. Kinds 1 and 2.
func TestPGTenantLeftBehind(t *testing.T) {
	e := newPG(t, `CREATE TABLE note (id int, owner text); INSERT INTO note VALUES (1, 'a'), (2, 'b');
		ALTER TABLE note ENABLE ROW LEVEL SECURITY; ALTER TABLE note FORCE ROW LEVEL SECURITY;
		CREATE POLICY p ON note USING (owner = current_setting('app.tenant', true));
		CREATE FUNCTION login(t text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN set_config(''app.tenant'', t, false); END'`)
	role := "tenants_" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_"))
	e.must(e.plain, "DROP ROLE IF EXISTS "+role)
	e.must(e.plain, "CREATE ROLE "+role)
	e.must(e.plain, "GRANT ALL ON note TO "+role)
	t.Cleanup(func() {
		_, _ = e.plain.Exec("DROP OWNED BY " + role)
		_, _ = e.plain.Exec("DROP ROLE IF EXISTS " + role)
	})
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["role"] = role
	type tenant struct{}
	db, err := cachedpgx.OpenDB(stdlib.GetConnector(*config), cachedpgx.Config{Partition: func(ctx context.Context) string {
		name, _ := ctx.Value(tenant{}).(string)
		return name
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	as := func(name string) context.Context { return context.WithValue(e.ctx, tenant{}, name) }
	const text = "SELECT id FROM note ORDER BY id"
	for range 3 {
		conn, err := db.Conn(as("a"))
		if err != nil {
			t.Fatal(err)
		}
		var s string
		if err := conn.QueryRowContext(as("a"), "SELECT login('a')").Scan(&s); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		for range 2 {
			var id int
			if err := db.QueryRowContext(as("b"), text).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
				t.Fatalf("tenant b reads %d, %v, which a's session left behind", id, err)
			}
		}
	}
}
