package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Arguments that are no plain Go scalars are encoded to be keyed, and their loads
// go below pgx: all that holds of other reads must hold of these.

// wireArg is an argument of that sort, which counts how often it is asked.
func wireArg(v driver.Value) *exactValuer {
	return &exactValuer{f: func(int64) (driver.Value, error) { return v, nil }}
}

// wireID is one that can be asked any number of times.
func wireID(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }

// freshServerConnections makes the next statement dial.
func (e *pgEnv) freshServerConnections() {
	server := e.cache.Server()
	server.SetMaxIdleConns(0)
	server.SetMaxIdleConns(4)
}

// TestPGWireTypesChangedByOthers alters a column behind the cache's back: eight
// bytes that were an integer are a float then. Kind 3.
func TestPGWireTypesChangedByOthers(t *testing.T) {
	const text = "SELECT id, v FROM typed WHERE v = $1"
	e := newPG(t, "CREATE TABLE typed (id int, v int8); INSERT INTO typed VALUES (1, 1), (2, 2), (3, 3)")
	e.warm(text, wireID(1))
	e.must(e.plain, "ALTER TABLE typed ALTER COLUMN v TYPE float8")
	tiny := math.Float64frombits(1) // as a float, what 1 is as an integer
	e.must(e.plain, "INSERT INTO typed VALUES (4, $1)", tiny)
	e.freshServerConnections()

	fresh := *e
	fresh.plain = pgOpen(t, "pgx", e.dsn) // the other has prepared the text before
	fresh.same("the types are others", text, wireID(2))
	fresh.warm(text, wireID(3))
	fresh.same("the new types are known", text, wireID(3))
	fresh.same("the bytes of another type's argument", text, sql.NullFloat64{Float64: tiny, Valid: true})
}

// TestPGWirePlanOfFormerTypes has a server connection that prepared the text
// before its types changed: it is prepared anew there.
func TestPGWirePlanOfFormerTypes(t *testing.T) {
	const text = "SELECT id, v FROM typed WHERE v = $1"
	e := newPG(t, "CREATE TABLE typed (id int, v int8); INSERT INTO typed VALUES (1, 1), (2, 2)")
	for _, typ := range []string{"float8", "numeric", "int8"} {
		e.warm(text, wireID(1))
		e.must(e.plain, "ALTER TABLE typed ALTER COLUMN v TYPE "+typ+" USING v::"+typ)
		e.exactFlush() // what is known of the types, too
		ask := func() {
			t.Helper()
			if got := pgAsk(e.ctx, e.db, text, wireID(2)); got.Err != "" || len(got.Rows) != 1 {
				t.Errorf("as %s: %v", typ, got)
			}
		}
		ask()
		if n := e.calls(text, ask); n != 0 {
			t.Errorf("as %s: the second call made %d calls at the server", typ, n)
		}
	}
}

// TestPGWireFormats orders formats in front of such arguments.
func TestPGWireFormats(t *testing.T) {
	dsn := newPG(t, exactSchema+pgZoo).dsn
	for _, mode := range []string{"cache_statement", "cache_describe"} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
			e.exactRunFamily(exactFamily{
				text: "SELECT id, ia, i2, f8, n, by, da, ts, iv, uu, js, jb FROM exact_k JOIN zoo USING (id) WHERE id >= $1 ORDER BY id",
				asks: func() (all [][]any) {
					full := func(formats ...int16) pgx.QueryResultFormats { // one for each column
						return append(formats, make(pgx.QueryResultFormats, 12-len(formats))...)
					}
					byNone, ordered := pgx.QueryResultFormatsByOID(nil), pgx.QueryResultFormatsByOID{pgtype.NumericOID: 1, pgtype.JSONBOID: 1}
					for _, orders := range [][]any{
						{}, {pgx.QueryResultFormats{0}}, {full(1, 1, 1), byNone}, {full(0, 1, 0, 1), byNone},
						{byNone}, {pgx.QueryResultFormatsByOID{}}, {ordered}, {pgx.QueryResultFormats{1}, ordered},
					} {
						all = append(all, append(orders, wireID(1)), append(orders[:len(orders):len(orders)], wireID(2)))
					}
					return all
				},
			}, true)
		})
	}
}

// TestPGWireTags gives such a read tags.
func TestPGWireTags(t *testing.T) {
	const text = "SELECT id, t FROM exact_k WHERE id = $1"
	e := newPG(t, exactSchema)
	ctx := cachedpgx.WithTags(e.ctx, "prices")
	ask := func() int {
		return e.calls(text, func() {
			if got := pgAsk(ctx, e.db, text, wireID(1)); len(got.Rows) != 1 {
				t.Errorf("%v", got)
			}
		})
	}
	ask()
	if n := ask(); n != 0 {
		t.Errorf("the second call made %d calls at the server", n)
	}
	if err := e.cache.InvalidateTags(e.ctx, "prices"); err != nil {
		t.Fatal(err)
	}
	if n := ask(); n != 1 {
		t.Errorf("after its tag was invalidated, a read made %d calls at the server", n)
	}
}

// TestPGWireAskedNoMoreWhenNotCached has a Valuer whose answer keeps the read out
// of the cache: it was asked by then, and is not asked again. (pgx itself asks
// once for each format that it tries.)
func TestPGWireAskedNoMoreWhenNotCached(t *testing.T) {
	dsn := newPG(t, exactSchema).dsn
	const dated = "SELECT id, t, at FROM exact_k WHERE at < $1 ORDER BY id"
	const many = "SELECT id, t, at FROM exact_k WHERE id >= $1 ORDER BY id"
	for _, mode := range []string{"cache_statement", "exec"} {
		e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode, "cache_max_rows=1")
		e.same("the types are known", dated, "yesterday")
		for _, ask := range []struct {
			name, text string
			arg        driver.Value
			found      int
		}{
			{"a date word", dated, "tomorrow", 3}, {"a date word, and no row", dated, "-infinity", 0}, {"too big", many, int64(1), 3}, {"an error", dated, "no date", 0},
		} {
			for i := range 3 {
				v, plain := wireArg(ask.arg), wireArg(ask.arg)
				want := pgAsk(e.ctx, e.plain, ask.text, plain)
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, ask.text, v)); diff != "" || len(want.Rows) != ask.found {
					t.Errorf("%s: %s, call %d: %d rows, %s", mode, ask.name, i, len(want.Rows), diff)
				}
				if n, own := v.asked.Load(), plain.asked.Load(); n != own {
					t.Errorf("%s: %s, call %d: the Valuer was asked %d times, by plain pgx %d", mode, ask.name, i, n, own)
				}
			}
		}
		// That one answer is too big says nothing of another's.
		if x := e.promiseExplain(e.ctx, many); !x.Cacheable {
			t.Errorf("%s: Explain says %+v", mode, x)
		}
		e.warm(many, wireID(3))
	}
}

// TestPGWireMarkedDateWords caches what is only time, where the caller marks it.
func TestPGWireMarkedDateWords(t *testing.T) {
	e := newPG(t, exactSchema)
	const text = "SELECT id, at FROM exact_k WHERE at < $1 ORDER BY id"
	today := sql.NullString{String: "today", Valid: true}
	if e.promiseKept(e.ctx, e.db, text, today) {
		t.Error("SERVED FROM MEMORY without a mark")
	}
	if !e.promiseKept(cachedpgx.WithTTL(e.ctx, time.Minute), e.db, text, today) {
		t.Error("NOT CACHED with a mark")
	}
}

// TestPGWireNulls sends NULL beside such an argument, in the modes that know no
// types, too.
func TestPGWireNulls(t *testing.T) {
	const text = "SELECT id, t, $2 AS v FROM exact_k WHERE id = $1"
	dsn := newPG(t, exactSchema).dsn
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
		for _, v := range []any{nil, sql.NullString{}, "", sql.NullString{Valid: true}} {
			for range 2 {
				e.same(mode, text, wireID(2), v)
			}
		}
	}
}

// TestPGWireLoadOutlivesItsCall leaves a load waiting for its turn, while its
// session already asks something else. Kind 11.
func TestPGWireLoadOutlivesItsCall(t *testing.T) {
	const text = "SELECT id, t FROM exact_k WHERE id = $1"
	e := newPG(t, exactSchema, "cache_load_limit=1")
	e.warm(text, wireID(0))
	session := e.session(e.db)
	release := e.lock("exact_k")
	var wg sync.WaitGroup
	wg.Go(func() { pgAsk(e.ctx, e.db, text, wireID(1)) })
	e.eventually("a load has the only turn", func() bool { return e.waiting() == 1 })

	ctx, cancel := context.WithTimeout(e.ctx, 100*time.Millisecond)
	defer cancel()
	if got := pgAsk(ctx, session, text, wireID(2)); got.Err == "" {
		t.Errorf("answered while the table is locked: %v", got)
	}
	asked := make(chan struct{})
	wg.Go(func() {
		pgAsk(e.ctx, session, text, &exactValuer{f: func(int64) (driver.Value, error) { close(asked); return int64(3), nil }})
	})
	<-asked
	e.eventually("the session's next load waits for its turn", func() bool { return e.cache.Stats().Misses >= 2 })
	release()
	wg.Wait()
	for id := range int64(4) {
		e.same("afterwards", text, wireID(id))
	}
}

// setsSearchPath is a rewriter that changes the session it is given.
type setsSearchPath struct{}

func (setsSearchPath) RewriteQuery(ctx context.Context, conn *pgx.Conn, text string, args []any) (string, []any, error) {
	_, err := conn.Exec(ctx, "SET search_path TO other")
	return text, args, err
}

// TestPGRewriterThatChangesItsSession has its session see that, as with plain
// pgx, and nobody else. Kind 1.
func TestPGRewriterThatChangesItsSession(t *testing.T) {
	const text = "SELECT id, t FROM exact_k WHERE id = $1"
	const schema = exactSchema + "CREATE SCHEMA other; CREATE TABLE other.exact_k AS SELECT id, 'of another schema' AS t FROM exact_k;"
	for name, use := range map[string]func(e *pgEnv, session *sql.Conn){
		"by itself": func(e *pgEnv, session *sql.Conn) {
			pgAsk(e.ctx, session, "SELECT count(*) FROM exact_k", setsSearchPath{})
		},
		"in a transaction": func(e *pgEnv, session *sql.Conn) {
			tx := e.begin(session)
			pgAsk(e.ctx, tx, "SELECT count(*) FROM exact_k", setsSearchPath{})
			if err := tx.Commit(); err != nil {
				e.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPG(t, schema)
			session, plain := e.session(e.db), e.session(e.plain)
			others := *e
			others.plain = pgOpen(t, "pgx", e.dsn) // plain's session is changed, too
			for id := range 3 {
				use(e, session)
				use(e, plain)
				for range 2 {
					if diff := pgDiff(pgAsk(e.ctx, plain, text, id+1), pgAsk(e.ctx, session, text, id+1)); diff != "" {
						t.Errorf("the session: %s", diff)
					}
					others.same("another session", text, id+1)
				}
			}
		})
	}
}

// TestPGWireChangedPlans adds a column behind the cache's back. Kind 14.
func TestPGWireChangedPlans(t *testing.T) {
	const text = "SELECT * FROM exact_k WHERE id = $1"
	for _, mode := range []string{"cache_statement", "exec"} {
		e := newPG(t, exactSchema, "default_query_exec_mode="+mode)
		fresh := *e
		e.warm(text, wireID(1))
		e.must(e.plain, "ALTER TABLE exact_k ADD COLUMN more int DEFAULT 7")
		fresh.plain = pgOpen(t, "pgx", e.dsn)
		for range 2 {
			fresh.same(mode, text, wireID(2))
		}
		fresh.warm(text, wireID(3))
	}
}

// TestPGWireScopes has another search_path come and go: what was read under it
// is nobody else's. Kind 1.
func TestPGWireScopes(t *testing.T) {
	const text = "SELECT id, t FROM exact_k WHERE id = $1"
	e := newPG(t, exactSchema+"CREATE SCHEMA other; CREATE TABLE other.exact_k AS SELECT id, 'of another schema' AS t FROM exact_k; INSERT INTO exact_k SELECT i, 'more' FROM generate_series(4, 9) i; INSERT INTO other.exact_k SELECT i, 'more of another' FROM generate_series(4, 9) i;")
	name := pgName(e)
	e.warm(text, 1)
	e.warm(text, wireID(1))
	for i, path := range []string{"other", "public", "other", "public"} {
		e.must(e.plain, "ALTER DATABASE "+name+" SET search_path TO "+path)
		e.freshServerConnections()
		fresh := *e
		fresh.plain = pgOpen(t, "pgx", pgWith(t, e.dsn, "application_name", path))
		// The first of them dials, and is answered under the new path, which the
		// others are asked under.
		fresh.same(fmt.Sprint(i, path), text, 4+i)
		for _, id := range []int{1, 4, 5, 6, 7}[:2+i] {
			fresh.same(fmt.Sprint(i, path), text, id)
			fresh.same(fmt.Sprint(i, path), text, wireID(int64(id)))
		}
	}
}

// TestPGWireColumnTypesOfAPureFunction calls an own function, so that its rows
// are watched to their end, by a date word, so that they are not kept.
func TestPGWireColumnTypesOfAPureFunction(t *testing.T) {
	const text = "SELECT id, t, exact_own(id), at FROM exact_k WHERE at < $1 ORDER BY id"
	e := promisePG(t, exactSchema+"CREATE FUNCTION exact_own(int) RETURNS numeric(8,2) LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';",
		cachedpgx.Config{PureFunctions: []string{"public.exact_own"}})
	for range 2 {
		e.same("watched", text, wireArg("tomorrow"))
		e.same("kept", text, wireArg("2030-01-01"))
	}
}

// wireTracer notes the runs of one text: how each began, and how it ended.
type wireTracer struct {
	text string
	mu   sync.Mutex
	told []string
}

type wireTraceKey struct{}

func (w *wireTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if data.SQL != w.text {
		return ctx
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, "begins")
	return context.WithValue(ctx, wireTraceKey{}, true)
}

func (w *wireTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if ctx.Value(wireTraceKey{}) == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf("ends with %q, %v", data.CommandTag, data.Err))
}

// TestPGWireTracers tells pgx's tracers of a query that goes below them what pgx
// would: its beginning, and its end once, however it ends.
func TestPGWireTracers(t *testing.T) {
	dsn := newPG(t, exactSchema).dsn
	for _, tt := range []struct {
		name, text string
		arg        any
		rows       int // after which the caller leaves; 0: never
	}{
		{"read to its end", "SELECT id, t FROM exact_k WHERE id <= $1", wireID(1), 0},
		{"no row", "SELECT id, t FROM exact_k WHERE id <= $1", wireID(0), 0},
		{"an error", "SELECT 6 / id FROM exact_k WHERE 6 / (id - $1) > 0", wireID(1), 0},
		{"too big", "SELECT id, t FROM exact_k WHERE id <= $1", wireID(3), 0},
		{"too big, closed early", "SELECT id, t FROM exact_k WHERE id <= $1", wireID(3), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var told [2][]string
			for i := range told {
				config, err := pgx.ParseConfig(dsn)
				if err != nil {
					t.Fatal(err)
				}
				tracer := &wireTracer{text: tt.text}
				config.Tracer = tracer
				var db *sql.DB
				if i == 0 {
					db = sql.OpenDB(pgConnector(config))
				} else if db, err = cachedpgx.OpenDB(pgConnector(config), cachedpgx.Config{Policy: cachedpgx.Policy{MaxRows: 1}}); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					rows, err := db.QueryContext(t.Context(), tt.text, tt.arg)
					if err != nil {
						break
					}
					for n := 1; rows.Next() && n != tt.rows; n++ {
					}
					rows.Close()
					if i == 1 && tt.arg != wireID(3) {
						break // the next is a hit
					}
				}
				db.Close()
				told[i] = tracer.told
			}
			if tt.arg != wireID(3) {
				told[0] = told[0][:2]
			}
			if !slices.Equal(told[0], told[1]) {
				t.Errorf("told %q, by plain pgx %q", told[1], told[0])
			}
		})
	}
}

// TestPGWireFormatsAsTheyAre has pgx hand formats by position to the server
// untouched: one is for all columns, and too few are an error.
func TestPGWireFormatsAsTheyAre(t *testing.T) {
	e := newPG(t, exactSchema+pgZoo)
	const text = "SELECT id, n, da, jb FROM exact_k JOIN zoo USING (id) WHERE id >= $1 ORDER BY id"
	for _, formats := range []pgx.QueryResultFormats{{1}, {0}, {}, {1, 1}, {1, 1, 1, 1, 1}} {
		for range 2 {
			e.same("formats by position", text, formats, pgx.QueryResultFormatsByOID(nil), wireID(1))
		}
	}
}

// TestPGWireAskedOnceWhenUndescribed is the first call of a text, in a mode that
// needs no types to send its arguments.
func TestPGWireAskedOnceWhenUndescribed(t *testing.T) {
	e := newPG(t, exactSchema, "default_query_exec_mode=exec")
	v := wireArg("tomorrow")
	if got := pgAsk(e.ctx, e.db, "SELECT id FROM exact_k WHERE at < $1", v); got.Err != "" || v.asked.Load() != 1 {
		t.Errorf("asked %d times, %v", v.asked.Load(), got)
	}
}
