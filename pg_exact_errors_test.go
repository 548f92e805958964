package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const exactFailing = `
	CREATE TABLE f (id int PRIMARY KEY, n int NOT NULL); INSERT INTO f SELECT i, 200 - i FROM generate_series(1, 300) i;
	CREATE DOMAIN upto100 AS int CONSTRAINT not_over_100 CHECK (VALUE <= 100);
	CREATE FUNCTION over(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 100 / $1';
	CREATE FUNCTION fails(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
		IF $1 = 0 THEN
			RAISE EXCEPTION 'the message' USING DETAIL = 'the detail', HINT = 'the hint', ERRCODE = 'XY123', COLUMN = 'the column',
				CONSTRAINT = 'the constraint', DATATYPE = 'the datatype', TABLE = 'the table', SCHEMA = 'the schema';
		END IF;
		RETURN $1; END $$`

// TestPGExactErrorOfEach compares an error of the server, field by field, of a
// leader and of each who shares its load, with plain pgx's; what one of them does
// to their error is not seen by another; and it is never served again. Kind 14.
func TestPGExactErrorOfEach(t *testing.T) {
	e := promisePG(t, exactFailing, cachedpgx.Config{PureFunctions: []string{"public.fails", "public.over"}})
	for _, c := range []struct {
		name, text string
		healed     string // by somebody else, so that nothing tells the handle
		rows       int    // before the error
	}{
		{"in the first row", "SELECT id, 1 / (n - 199) FROM f ORDER BY id", "", 0},
		{"in row 200", "SELECT id, 100 / n FROM f WHERE id > 0", "UPDATE f SET n = 1 WHERE n = 0", 199},
		{"of a domain", "SELECT id, (id - 50)::upto100 FROM f WHERE id > 0", "DELETE FROM f WHERE id > 140", 150},
		{"within a function", "SELECT id, over(n) FROM f WHERE id > 0", "UPDATE f SET n = 1 WHERE n = 0", 199},
		{"with every field", "SELECT id, fails(n) FROM f WHERE id > 0", "UPDATE f SET n = 1 WHERE n = 0", 199},
		{"of a cast", "SELECT id, ('x' || n)::int FROM f ORDER BY id", "", 0},
		{"of a subquery", "SELECT id, (SELECT g.id FROM f g WHERE g.id > f.id) FROM f WHERE id = 1", "DELETE FROM f WHERE id > 2", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e.on(t)
			e.must(e.plain, "TRUNCATE f; INSERT INTO f SELECT i, 200 - i FROM generate_series(1, 300) i; ANALYZE f")
			e.exactFlush()
			fields := func(db *sql.DB) (pgAnswer, *pgconn.PgError) {
				rows, err := db.QueryContext(e.ctx, c.text)
				if err == nil {
					a := pgRead(rows, nil)
					pg, _ := errors.AsType[*pgconn.PgError](rows.Err())
					return a, pg
				}
				pg, _ := errors.AsType[*pgconn.PgError](err)
				return pgAnswer{Err: pgError(err)}, pg
			}
			want, wantPG := fields(e.plain)
			if wantPG == nil || len(want.Rows) != c.rows {
				t.Fatalf("plain pgx: %d rows, %q", len(want.Rows), want.Err)
			}
			asShown := *wantPG
			answers := make([]pgAnswer, 6)
			errs := make([]*pgconn.PgError, len(answers))
			e.exactShared("f", len(answers), e.exactFlush, func(i int) { answers[i], errs[i] = fields(e.db) })
			for i := range answers {
				if diff := pgDiff(want, answers[i]); diff != "" {
					t.Errorf("caller %d: %s", i, diff)
				}
				if errs[i] == nil {
					continue
				}
				if !reflect.DeepEqual(*errs[i], asShown) {
					t.Errorf("caller %d: %+v\n\tplain pgx gives %+v", i, *errs[i], asShown)
				}
				for j := range i {
					if errs[i] == errs[j] {
						t.Errorf("callers %d and %d were given one *pgconn.PgError", i, j)
					}
				}
				// As somebody does who words it for a person.
				errs[i].Message, errs[i].Detail, errs[i].Code = "changed", "", "00000"
			}
			for range 2 {
				if n := e.calls(c.text, func() { e.same("asked again", c.text) }); n != 1 {
					t.Errorf("SERVED FROM MEMORY: an error: %d calls at the server", n)
				}
			}
			if c.healed == "" {
				return
			}
			e.must(e.plain, c.healed)
			if got := pgAsk(e.ctx, e.plain, c.text); got.Err != "" {
				t.Fatalf("not healed: %s", got.Err)
			}
			e.same("healed", c.text)
			if n := e.calls(c.text, func() { e.same("healed, again", c.text) }); n != 0 {
				t.Errorf("NOT CACHED: once healed, %d calls at the server", n)
			}
		})
	}
}

// TestPGExactErrorAt compares errors that come before any row: while a text is
// prepared, or planned; each field, with its position in the text as the caller
// wrote it.
func TestPGExactErrorAt(t *testing.T) {
	e := newPG(t, exactSchema+"CREATE FUNCTION sqlf() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT no_such FROM exact_k); END $$")
	for _, text := range []string{
		"SELECT id FROM exact_k WHERE no_such = 1", "/* a comment */ SELECT id FROM exact_k WHERE no_such = 1", "  \n\n SELECT id, -- ä\n no_such FROM exact_k",
		"/* cachedpgx: ttl=5s */ SELECT no_such FROM exact_k", "SELECT id FROM exact_k WHERE id = $1 AND no_such = $2", "SELECT id FROM exact_k WHERE", "SELECT id FROM exact_k WHERE id = 'x'",
		"SELECT id FROM exact_k LIMIT -1", "SELECT sqlf() FROM exact_k", "SELECT id FROM exact_k GROUP BY t", "SELECT (SELECT id FROM exact_k) FROM exact_k",
	} {
		var args []any
		if strings.Contains(text, "$1") {
			args = []any{1, 2}
		}
		for _, what := range []string{"first", "second"} {
			e.same(what, text, args...)
		}
	}
}

// TestPGExactErrorsOfContexts has a leader and followers run into their deadlines,
// or be cancelled, while the server works: each their own end, in plain pgx's
// words. Kinds 13 and 14.
func TestPGExactErrorsOfContexts(t *testing.T) {
	e := newPG(t, exactSchema)
	const text = "SELECT id, t FROM exact_k ORDER BY id"
	for name, end := range map[string]func(ctx context.Context) (context.Context, func()){
		"a deadline": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
			return ctx, func() { _ = cancel }
		},
		"a cancel": func(ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) },
		"a cancel with a cause": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(errors.New("the user went home")) }
		},
		"a deadline with a cause": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(ctx, 60*time.Millisecond, errors.New("too late"))
			return ctx, func() { _ = cancel }
		},
	} {
		for _, prepared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, prepared %t", name, prepared), func(t *testing.T) {
				e := e.on(t)
				e.same("known", text)
				e.exactFlush()
				e.same("known", text)
				// Every way that plain pgx puts it: the load that waits for the lock.
				marks := map[string]map[string]bool{}
				for _, db := range []*sql.DB{e.plain, e.db} {
					who := "plain"
					if db == e.db {
						who = "cached"
						e.exactFlush()
						e.promiseExplain(e.ctx, text)
					}
					ask := func(ctx context.Context) error { return pgAskErr(ctx, db, text) }
					if prepared {
						stmt, err := db.PrepareContext(e.ctx, text)
						if err != nil {
							t.Fatal(err)
						}
						defer stmt.Close()
						ask = func(ctx context.Context) error { return pgAskStmtErr(ctx, stmt) }
					}
					spare := e.session(e.plain) // for plain pgx, which must not dial
					release := e.lock("exact_k")
					_ = spare.Close()
					marks[who] = map[string]bool{}
					var mu sync.Mutex
					var wg sync.WaitGroup
					ctx, cancel := context.WithCancel(e.ctx)
					n := 1 // on the connection that is open
					if db == e.db {
						n = 3
						wg.Go(func() { _ = ask(ctx) }) // the leader stays
						e.eventually("the leader's load waits", func() bool { return e.waiting() > 0 })
					}
					var ends []func()
					for range n {
						sub, end := end(e.ctx)
						ends = append(ends, end)
						wg.Go(func() {
							err := ask(sub)
							mu.Lock()
							defer mu.Unlock()
							marks[who][exactMarks(err)] = true
						})
					}
					if strings.HasPrefix(name, "a cancel") {
						e.eventually("plain pgx waits", func() bool { return e.waiting() > 0 })
					}
					for _, end := range ends {
						end()
					}
					// Only those whose context ends come back while the lock is held.
					e.eventually("they come back", func() bool {
						mu.Lock()
						defer mu.Unlock()
						return len(marks[who]) > 0
					})
					cancel()
					wg.Wait()
					release()
				}
				for m := range marks["cached"] {
					if !marks["plain"][m] {
						t.Errorf("a waiter's error: %s\n\tplain pgx gives %v", m, marks["plain"])
					}
				}
				e.same("afterwards", text)
				e.same("afterwards", text)
			})
		}
	}
	t.Run("the leader", func(t *testing.T) {
		// The first to ask is the one whose context ends; those who wait stay.
		e := e.on(t)
		want := pgAsk(e.ctx, e.plain, text)
		for name, limit := range map[string]func(context.Context) (context.Context, context.CancelFunc){
			"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 100*time.Millisecond)
			},
			"cancel": context.WithCancel,
		} {
			e.exactFlush()
			e.promiseExplain(e.ctx, text)
			release := e.lock("exact_k")
			ctx, cancel := limit(e.ctx)
			first := make(chan error, 1)
			go func() { first <- pgAskErr(ctx, e.db, text) }()
			e.eventually("the leader's load waits", func() bool { return e.waiting() > 0 })
			answers := make(chan pgAnswer, 4)
			for range cap(answers) {
				go func() { answers <- pgAsk(e.ctx, e.db, text) }()
			}
			if name == "cancel" {
				cancel()
			}
			err := <-first
			cancel()
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || name == "deadline" && !pgconn.Timeout(err) {
				t.Errorf("%s: the leader: %v (%s)", name, err, exactMarks(err))
			}
			release()
			for range cap(answers) {
				if diff := pgDiff(want, <-answers); diff != "" {
					t.Errorf("%s: who waited with the leader: %s", name, diff)
				}
			}
		}
	})
	t.Run("a statement timeout", func(t *testing.T) {
		// The server's own: an error of the server, and nobody's context.
		e := newPG(t, exactSchema, "statement_timeout=100")
		e.same("known", text)
		e.exactFlush()
		e.promiseExplain(e.ctx, text)
		release := e.lock("exact_k")
		want := exactMarks(pgAskErr(e.ctx, e.plain, text))
		errs := make(chan error, 4)
		for range cap(errs) {
			go func() { errs <- pgAskErr(e.ctx, e.db, text) }()
		}
		for range cap(errs) {
			if got := exactMarks(<-errs); got != want || !strings.Contains(got, "57014") {
				t.Errorf("%s\n\tplain pgx gives %s", got, want)
			}
		}
		release()
		e.same("afterwards", text)
	})
}

// TestPGExactServerAway compares what is said while the server can't be reached:
// by each who waits for one load, too. It is not said any more once the server is
// back. Kinds 14 and 15.
func TestPGExactServerAway(t *testing.T) {
	outer := newPG(t, exactSchema)
	p, e := newExactProxy(outer, cachedpgx.Config{})
	const text, uncached = "SELECT id, t FROM exact_k ORDER BY id", "SELECT id, random() < 2 FROM exact_k ORDER BY id"
	want := pgAsk(e.ctx, e.plain, text)
	e.same("before", text)
	e.exactFlush()
	e.promiseExplain(e.ctx, text)
	p.goAway(true)
	ways := map[string]func(db *sql.DB) error{
		"Query":            func(db *sql.DB) error { return pgAskErr(e.ctx, db, text) },
		"an uncached read": func(db *sql.DB) error { return pgAskErr(e.ctx, db, uncached) },
		"with an argument": func(db *sql.DB) error { return pgAskErr(e.ctx, db, "SELECT t FROM exact_k WHERE id = $1", 1) },
		"with a Valuer": func(db *sql.DB) error {
			return pgAskErr(e.ctx, db, "SELECT t FROM exact_k WHERE id = $1", sql.NullInt64{Int64: 1, Valid: true})
		},
		"named": func(db *sql.DB) error {
			return pgAskErr(e.ctx, db, "SELECT t FROM exact_k WHERE id = @id", pgx.NamedArgs{"id": 1})
		},
		"a text never seen": func(db *sql.DB) error {
			return pgAskErr(e.ctx, db, "SELECT id + 1 FROM exact_k")
		},
		"Exec":    func(db *sql.DB) error { _, err := db.ExecContext(e.ctx, "UPDATE exact_k SET t = t"); return err },
		"Prepare": func(db *sql.DB) error { _, err := db.PrepareContext(e.ctx, "SELECT id + 2 FROM exact_k"); return err },
		"Begin":   func(db *sql.DB) error { _, err := db.BeginTx(e.ctx, nil); return err },
		"Ping":    func(db *sql.DB) error { return db.PingContext(e.ctx) },
	}
	// The first error of a connection that was open is another than those after it.
	for name, way := range ways {
		for range 3 {
			_, _ = way(e.plain), way(e.db)
		}
		plain, cached := way(e.plain), way(e.db)
		if w, g := exactMarks(plain), exactMarks(cached); w != g || !strings.Contains(g, "ConnectError=true") {
			t.Errorf("%s: %s: %v\n\tplain pgx gives %s: %v", name, g, cached, w, plain)
		}
	}
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() { errs <- pgAskErr(e.ctx, e.db, text) }()
	}
	for range cap(errs) {
		if err := <-errs; !strings.Contains(exactMarks(err), "ConnectError=true") {
			t.Errorf("together: %v", err)
		}
	}
	p.goAway(false)
	for range 2 {
		if diff := pgDiff(want, pgAsk(e.ctx, e.db, text)); diff != "" {
			t.Errorf("once the server is back: %s", diff)
		}
	}
	e.same("once the server is back", uncached)
	e.same("once the server is back", "SELECT id + 1 FROM exact_k")
}

// TestPGExactWrongPassword compares what is said to who may not come in.
func TestPGExactWrongPassword(t *testing.T) {
	e := newPG(t, exactSchema)
	for name, dsn := range map[string]string{
		"no such database": strings.Replace(e.dsn, "?", "_none?", 1),
		"no such host":     "postgres://nobody@host.invalid/db?sslmode=disable",
		"no such port":     "postgres://nobody@127.0.0.1:1/db?sslmode=disable",
	} {
		if name == "no such database" && !strings.Contains(e.dsn, "?") {
			dsn = e.dsn + "_none"
		}
		plain, cached := pgOpen(t, "pgx", dsn), pgOpen(t, "cachedpgx", dsn)
		for _, text := range []string{"SELECT id FROM exact_k", "SELECT 1"} {
			want, got := pgAskErr(e.ctx, plain, text), pgAskErr(e.ctx, cached, text)
			if pgError(want) != pgError(got) || exactMarks(want) != exactMarks(got) {
				t.Errorf("%s: %s: %q, plain pgx gives %q", name, text, pgError(got), pgError(want))
			}
		}
	}
}

// TestPGExactBadCallsOfAHotEntry asks wrongly for what is in memory: the error is
// plain pgx's, and the entry stays what it was.
func TestPGExactBadCallsOfAHotEntry(t *testing.T) {
	e := newPG(t, exactSchema)
	const text = "SELECT id, t FROM exact_k WHERE id = $1 AND t = $2"
	e.warm(text, 1, "one")
	for _, args := range [][]any{
		{}, {1}, {1, "one", 2}, {true, "one"}, {1, 1}, {exactChan, "one"}, {1.5, "one"}, {"x", "one"}, {int64(1) << 40, "one"}, {nil, nil}, {1, "one\x00"}, {1, "\xff"},
		{pgx.NamedArgs{"a": 1}}, {pgx.QueryExecModeExec, 1}, {sql.Named("a", 1), "one"},
	} {
		e.same(exactShow(args), text, args...)
		if n := e.calls(text, func() { e.same("the entry", text, 1, "one") }); n != 0 {
			t.Errorf("after %s, the entry made %d calls at the server", exactShow(args), n)
		}
	}
	// Scanning wrongly is its reader's trouble alone.
	scan := func(db *sql.DB, dests ...any) string {
		rows, err := db.QueryContext(e.ctx, text, 1, "one")
		if err != nil {
			return pgError(err)
		}
		defer rows.Close()
		if early := rows.Scan(dests...); early == nil {
			return "Scan before Next works"
		} else if !rows.Next() {
			return "no row"
		} else {
			again := rows.Scan(dests...)
			more := rows.Next()
			late := rows.Scan(dests...)
			return fmt.Sprint(pgError(early), pgError(again), more, pgError(late), pgError(rows.Err()))
		}
	}
	for name, dests := range map[string]func() []any{
		"too few": func() []any { return []any{new(int)} }, "too many": func() []any { return []any{new(int), new(string), new(int)} }, "none": func() []any { return nil },
		"a text into an int": func() []any { return []any{new(int), new(int)} }, "an int into a time": func() []any { return []any{new(time.Time), new(string)} },
		"not a pointer": func() []any { return []any{1, new(string)} }, "a nil pointer": func() []any { return []any{(*int)(nil), new(string)} }, "right": func() []any { return []any{new(int), new(string)} },
		"into a slice": func() []any { return []any{new(int), new([]int)} }, "into a struct": func() []any { return []any{new(int), new(struct{ A int })} },
	} {
		want := scan(e.plain, dests()...)
		for range 2 {
			if got := scan(e.db, dests()...); got != want {
				t.Errorf("%s: %s\n\tplain pgx gives %s", name, got, want)
			}
		}
	}
}

// TestPGExactRowsAfterTheirEnd uses rows in the wrong order, on a miss and on a
// hit, as on plain pgx.
func TestPGExactRowsAfterTheirEnd(t *testing.T) {
	e := newPG(t, exactSchema)
	use := func(db *sql.DB) (all []string) {
		say := func(what string, v any, err error) { all = append(all, fmt.Sprint(what, ": ", v, " ", pgError(err))) }
		rows, err := db.QueryContext(e.ctx, "SELECT id, t FROM exact_k ORDER BY id")
		if err != nil {
			return []string{pgError(err)}
		}
		n := 0
		for rows.Next() {
			n++
		}
		say("Next", n, rows.Err())
		say("Next again", rows.Next(), rows.Err())
		say("Scan at the end", nil, rows.Scan(new(int), new(string)))
		say("NextResultSet", rows.NextResultSet(), rows.Err())
		cols, err := rows.Columns()
		say("Columns at the end", cols, err)
		types, err := rows.ColumnTypes()
		say("ColumnTypes at the end", len(types), err)
		say("Close", nil, rows.Close())
		say("Close again", nil, rows.Close())
		say("Next after Close", rows.Next(), rows.Err())
		rows, err = db.QueryContext(e.ctx, "SELECT id, t FROM exact_k ORDER BY id")
		if err != nil {
			return []string{pgError(err)}
		}
		types, err = rows.ColumnTypes()
		say("ColumnTypes before Next", len(types), err)
		say("Next", rows.Next(), rows.Err())
		say("Close", nil, rows.Close())
		say("Scan after Close", nil, rows.Scan(new(int), new(string)))
		cols, err = rows.Columns()
		say("Columns after Close", cols, err)
		types, err = rows.ColumnTypes()
		say("ColumnTypes after Close", len(types), err)
		return all
	}
	want := strings.Join(use(e.plain), "\n")
	for _, what := range []string{"miss", "hit", "hit again"} {
		if got := strings.Join(use(e.db), "\n"); got != want {
			t.Errorf("%s:\n%s\nplain pgx gives\n%s", what, got, want)
		}
	}
}

// TestPGExactChangedPlans changes a table under statements that several pooled
// connections have prepared: whichever of them reads next, nobody sees "cached
// plan must not change result type". Kind 15.
func TestPGExactChangedPlans(t *testing.T) {
	const conns = 5
	dsn := newPG(t, "").dsn
	const schema = "DROP TABLE IF EXISTS plan; CREATE TABLE plan (id int PRIMARY KEY, n int); INSERT INTO plan VALUES (1, 10), (2, 20)"
	ddls := []string{"ALTER TABLE plan ADD COLUMN extra text DEFAULT 'x'", "ALTER TABLE plan ALTER COLUMN n TYPE bigint"}
	for _, c := range []struct {
		name, text string
		ctx        func(context.Context) context.Context
		prepared   bool
	}{
		{"a load", "SELECT * FROM plan WHERE id = $1", cachedpgx.WithRefresh, false},
		{"a prepared load", "SELECT * FROM plan WHERE id = $1", cachedpgx.WithRefresh, true},
		{"uncached by wish", "SELECT * FROM plan WHERE id = $1", cachedpgx.WithoutCache, false},
		{"uncached by wish, prepared", "SELECT * FROM plan WHERE id = $1", cachedpgx.WithoutCache, true},
		{"uncached for what it says", "SELECT *, random() < 2 AS ok FROM plan WHERE id = $1", context.WithoutCancel, false},
		{"uncached for what it says, prepared", "SELECT *, random() < 2 AS ok FROM plan WHERE id = $1", context.WithoutCancel, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newPGOn(t, dsn, schema)
			e.db.SetMaxIdleConns(conns)
			ctx := c.ctx(e.ctx)
			ask := func() pgAnswer { return pgAsk(ctx, e.db, c.text, 1) }
			if c.prepared {
				stmt, err := e.db.PrepareContext(e.ctx, c.text)
				if err != nil {
					t.Fatal(err)
				}
				defer stmt.Close()
				ask = func() pgAnswer { return pgAskStmt(ctx, stmt, 1) }
			}
			// Each connection has run it, since each waited for the lock with it.
			everywhere := func() {
				release := e.lock("plan")
				var wg sync.WaitGroup
				for range conns {
					wg.Go(func() { ask() })
				}
				e.eventually("all connections wait", func() bool { return e.waiting() >= conns })
				release()
				wg.Wait()
			}
			for range 2 {
				if c.name == "a load" || c.name == "a prepared load" {
					// Those who refresh together may share a load: so one after the
					// other, while the server connections before them are taken.
					var taken []*sql.Conn
					for range conns {
						ask()
						taken = append(taken, e.session(e.cache.Server()))
					}
					for _, conn := range taken {
						conn.Close()
					}
				} else {
					everywhere()
				}
			}
			for _, ddl := range ddls {
				e.must(e.plain, ddl)
				fresh := pgOpen(t, "pgx", e.dsn)
				want := pgAsk(e.ctx, fresh, c.text, 1)
				answers := make([]pgAnswer, 2*conns)
				var wg sync.WaitGroup
				for i := range answers {
					wg.Go(func() { answers[i] = ask() })
				}
				wg.Wait()
				bad, how := 0, ""
				for _, a := range answers {
					if diff := pgDiff(want, a); diff != "" {
						bad++
						how = diff
					}
				}
				if bad > 0 {
					t.Errorf("after %s, %d of %d readers: %s", ddl, bad, len(answers), pgShort(how))
				}
				if diff := pgDiff(want, ask()); diff != "" {
					t.Errorf("after %s, later: %s", ddl, diff)
				}
			}
		})
	}
	t.Run("in a transaction", func(t *testing.T) {
		// There the transaction has failed, and pgx says so: nothing is asked again.
		e := newPGOn(t, dsn, schema)
		const text = "SELECT * FROM plan WHERE id = $1"
		say := func(db *sql.DB) string {
			db.SetMaxOpenConns(1)
			conn := e.session(db)
			defer conn.Close()
			for range 3 {
				tx := e.begin(conn)
				if got := pgAsk(e.ctx, tx, text, 1); got.Err != "" {
					t.Fatal(got.Err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			e.must(e.plainToo(), "ALTER TABLE plan ADD COLUMN IF NOT EXISTS x"+db.Stats().WaitDuration.String()[:1]+" text")
			tx := e.begin(conn)
			first, second := exactMarks(pgAskErr(e.ctx, tx, text, 1)), exactMarks(pgAskErr(e.ctx, tx, text, 1))
			return first + "; " + second + "; " + fmt.Sprint(tx.Rollback())
		}
		want := say(e.plain)
		e.must(e.plainToo(), "ALTER TABLE plan DROP COLUMN x0")
		if got := say(e.db); got != want {
			t.Errorf("%s\n\tplain pgx gives %s", got, want)
		}
	})
	t.Run("a write", func(t *testing.T) {
		// Told or done once; never both, never twice.
		e := newPGOn(t, dsn, schema)
		const text = "UPDATE plan SET n = n + 1 WHERE id = $1 RETURNING *"
		for i, ddl := range ddls {
			for range 3 {
				if err := pgAskErr(e.ctx, e.db, text, 1); err != nil {
					t.Fatal(err)
				}
			}
			e.must(e.plain, ddl)
			before := e.one(e.plain, "SELECT n::text FROM plan WHERE id = 1")
			err := pgAskErr(e.ctx, e.db, text, 1)
			after := e.one(e.plain, "SELECT n::text FROM plan WHERE id = 1")
			want := before
			if err == nil {
				var n int
				fmt.Sscanf(before, `string("%d")`, &n)
				want = fmt.Sprintf("string(%q)", fmt.Sprint(n+1))
			}
			if after != want {
				t.Errorf("%d: after %s, a write that said %v changed %s to %s, want %s", i, ddl, err, before, after, want)
			}
			_ = pgAskErr(e.ctx, e.db, text, 1)
		}
	})
}

// plainToo is another handle of plain pgx, where that of the test is taken.
func (e *pgEnv) plainToo() *sql.DB {
	e.Helper()
	return pgOpen(e.TB, "pgx", e.dsn)
}

// TestPGExactNotices checks that what the server says beside rows
// reaches who listens: of a load, too. Kind 14.
func TestPGExactNotices(t *testing.T) {
	e := newPG(t, exactSchema+`CREATE FUNCTION tells(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'told of %', $1; RETURN $1; END $$`)
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	told := 0
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(n.Message, "told of") {
			told++
		}
	}
	db, err := cachedpgx.OpenDB(pgConnector(config), cachedpgx.Config{PureFunctions: []string{"public.tells"}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, want := range []int{3, 3} { // a hit runs nothing
		if got := pgAsk(e.ctx, db, "SELECT tells(id) FROM exact_k"); len(got.Rows) != 3 {
			t.Fatal(got)
		}
		mu.Lock()
		if told != want {
			t.Errorf("after %d reads there were %d notices, want %d", i+1, told, want)
		}
		mu.Unlock()
	}
}

// TestPGExactErrorIsNotEmpty checks that an error is nobody's "not found".
// Kind 12.
func TestPGExactErrorIsNotEmpty(t *testing.T) {
	e := newPG(t, exactFailing)
	const text = "SELECT id, 1 / n FROM f WHERE id = $1"
	for range 2 {
		// The row that fails is the only one: no rows, and an error.
		err := e.db.QueryRowContext(e.ctx, text, 200).Scan(new(int), new(int))
		if want := "22012"; errors.Is(err, sql.ErrNoRows) || !strings.Contains(exactMarks(err), want) {
			t.Errorf("%v, want SQLSTATE %s", err, want)
		}
	}
	if n := e.cache.Stats().NegativeEntries; n != 0 {
		t.Errorf("%d empty results are kept of what failed", n)
	}
	e.must(e.plain, "UPDATE f SET n = 1 WHERE id = 200")
	e.same("healed", text, 200)
}
