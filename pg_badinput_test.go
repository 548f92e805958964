package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

// pgUnencodable is a type that pgx can't send.
type pgUnencodable struct{ C chan int }

// TestPGBadInput gives what nobody should to both drivers: the same error, no
// panic, nothing kept, and the connection still usable.
func TestPGBadInput(t *testing.T) {
	e := newPG(t, pgZoo+"; CREATE TABLE d (id int, f float8); INSERT INTO d VALUES (1, 0)")
	for _, c := range []struct {
		name, text string
		args       []any
	}{
		{"empty", "", nil},
		{"blank", " \n\t", nil},
		{"comment alone", "-- nothing", nil},
		{"semicolons", ";;;", nil},
		{"NUL", "SELECT id FROM item WHERE name = 'a\x00b'", nil},
		{"NUL at the end", "SELECT id FROM item\x00", nil},
		{"NUL, with arguments", "SELECT id FROM item WHERE id = $1 AND name = 'a\x00b'", []any{1}},
		{"NUL in an argument", "SELECT id FROM item WHERE name = $1", []any{"a\x00b"}},
		{"invalid UTF-8", "SELECT id FROM item WHERE name = '\xff\xfe'", nil},
		{"invalid UTF-8 in a name", "SELECT \"\xc3\x28\" FROM item", nil},
		{"invalid UTF-8 in a comment", "SELECT id FROM item /* \xff */ WHERE id = 1", nil},
		{"invalid UTF-8 in an argument", "SELECT id FROM item WHERE name = $1", []any{"\xff\xfe"}},
		{"1 MB", "SELECT id FROM item WHERE name = '" + strings.Repeat("x", 1<<20) + "'", nil},
		{"1 MB of names", "SELECT id FROM item WHERE id IN (1" + strings.Repeat(",2", 1<<18) + ")", nil},
		{"1 MB of nothing", "SELECT" + strings.Repeat(" ", 1<<20) + "id FROM item WHERE id = 1", nil},
		{"deep", "SELECT id FROM item WHERE " + strings.Repeat("(", 1000) + "id = 1" + strings.Repeat(")", 1000), nil},
		{"too deep", "SELECT id FROM item WHERE " + strings.Repeat("(", 20000) + "id = 1" + strings.Repeat(")", 20000), nil},
		{"deep comment", "SELECT id " + strings.Repeat("/*", 2000) + " FROM item", nil},
		{"open string", "SELECT id FROM item WHERE name = 'x", nil},
		{"open name", `SELECT id FROM "item`, nil},
		{"open dollar quote", "SELECT $x$ FROM item", nil},
		{"open comment", "SELECT id FROM item /* x", nil},
		{"syntax", "SELEC id FROM item", nil},
		{"syntax in a read", "SELECT id FROM item WHERE WHERE id = 1", nil},
		{"missing table", "SELECT id FROM no_such_table", nil},
		{"missing schema", "SELECT id FROM no_such_schema.item", nil},
		{"missing column", "SELECT no_such_column FROM item", nil},
		{"missing function", "SELECT no_such_function(id) FROM item", nil},
		{"ambiguous column", "SELECT id FROM item, zoo", nil},
		{"wrong types", "SELECT id FROM item WHERE id = 'x'", nil},
		{"no such operator", "SELECT id FROM item WHERE id = name", nil},
		{"division by zero", "SELECT 1/f FROM d", nil},
		{"too few arguments", "SELECT id FROM item WHERE id = $1 AND name = $2", []any{1}},
		{"too many arguments", "SELECT id FROM item WHERE id = $1", []any{1, 2}},
		{"arguments for nothing", "SELECT id FROM item", []any{1}},
		{"arguments missing altogether", "SELECT id FROM item WHERE id = $1", nil},
		{"a gap in the parameters", "SELECT id FROM item WHERE id = $2", []any{1, 2}},
		{"parameter zero", "SELECT id FROM item WHERE id = $0", []any{1}},
		{"a huge parameter", "SELECT id FROM item WHERE id = $99999999999", []any{1}},
		{"a channel", "SELECT id FROM item WHERE id = $1", []any{make(chan int)}},
		{"a struct", "SELECT id FROM item WHERE id = $1", []any{pgUnencodable{}}},
		{"a function", "SELECT id FROM item WHERE name = $1", []any{func() {}}},
		{"a map", "SELECT id FROM item WHERE name = $1", []any{map[string]int{"a": 1}}},
		{"out of range", "SELECT id FROM item WHERE id = $1", []any{int64(math.MaxInt64)}},
		{"not a number", "SELECT id FROM item WHERE id = $1", []any{"one"}},
		{"a Valuer that fails", "SELECT id FROM item WHERE id = $1", []any{pgBadValuer{}}},
		{"a typed nil Valuer", "SELECT id FROM item WHERE id = $1", []any{(*pgBadValuer)(nil)}},
		{"a named argument", "SELECT id FROM item WHERE id = $1", []any{sql.Named("id", 1)}},
		{"backslash", `SELECT id FROM item WHERE name = E'\xff'`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e.on(t)
			plain, cached := e.session(e.plain), e.session(e.db)
			entries := e.cache.Stats().Entries
			for _, round := range []string{"first", "second"} {
				want, got := pgAsk(e.ctx, plain, c.text, c.args...), pgAsk(e.ctx, cached, c.text, c.args...)
				if diff := pgDiff(want, got); diff != "" {
					t.Errorf("%s Query: %s", round, pgShort(diff))
				}
				if got.Err != "" && e.cache.Stats().Entries > entries {
					t.Errorf("%s Query: something was kept", round)
				}
				_, perr := plain.ExecContext(e.ctx, c.text, c.args...)
				_, err := cached.ExecContext(e.ctx, c.text, c.args...)
				if pgError(perr) != pgError(err) {
					t.Errorf("%s Exec: error %q, plain pgx gives %q", round, pgShort(pgError(err)), pgShort(pgError(perr)))
				}
				if c.text == "" {
					continue // plain pgx can't prepare it twice: its name is the unnamed statement's
				}
				pstmt, perr := plain.PrepareContext(e.ctx, c.text)
				stmt, err := cached.PrepareContext(e.ctx, c.text)
				if pgError(perr) != pgError(err) {
					t.Errorf("%s Prepare: error %q, plain pgx gives %q", round, pgShort(pgError(err)), pgShort(pgError(perr)))
				}
				if perr == nil && err == nil {
					want, got := pgAskStmt(e.ctx, pstmt, c.args...), pgAskStmt(e.ctx, stmt, c.args...)
					if diff := pgDiff(want, got); diff != "" {
						t.Errorf("%s prepared Query: %s", round, pgShort(diff))
					}
					_, perr := pstmt.ExecContext(e.ctx, c.args...)
					_, err := stmt.ExecContext(e.ctx, c.args...)
					if pgError(perr) != pgError(err) {
						t.Errorf("%s prepared Exec: error %q, plain pgx gives %q", round, pgShort(pgError(err)), pgShort(pgError(perr)))
					}
					pstmt.Close()
					stmt.Close()
				}
				want, got = pgAsk(e.ctx, plain, "SELECT id FROM item WHERE id = 7"), pgAsk(e.ctx, cached, "SELECT id FROM item WHERE id = 7")
				if diff := pgDiff(want, got); diff != "" {
					t.Errorf("%s: the same connection afterwards: %s", round, diff)
				}
			}
		})
	}
}

type pgBadValuer struct{}

func (pgBadValuer) Value() (driver.Value, error) { return nil, errors.New("a valuer's own error") }

// TestPGBadDSN checks that what pgx finds wrong is told as pgx tells it, that
// ours is told at Open, and that no password is shown.
func TestPGBadDSN(t *testing.T) {
	good := pgtest.DSN(t)
	ctx, cancel := context.WithTimeout(t.Context(), pgDeadline)
	defer cancel()
	port, err := pgtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, dsn := range []string{
		"postgres://nobody:hush@127.0.0.1:notaport/x",
		fmt.Sprintf("postgres://nobody:hush@127.0.0.1:%d/x?sslmode=disable", port),
		fmt.Sprintf("host=127.0.0.1 port=%d user=nobody password=hush dbname=x sslmode=disable", port),
		"postgres://%zz",
		"host=",
		"this is not a DSN",
		"host=127.0.0.1 sslmode=whatever",
		"postgres://127.0.0.1/x?sslmode=disable&connect_timeout=x",
		"postgres://127.0.0.1/x?default_query_exec_mode=nonsense",
		"registeredConnConfig99999",
		pgtest.WithDatabase(good, "no_such_database"),
		pgWith(t, good, "search_path", "pg_catalog"),
		pgWith(t, good, "no_such_setting", "1"),
		pgWith(t, good, "target_session_attrs", "standby"),
	} {
		t.Run(dsn, func(t *testing.T) {
			answers := map[string][]string{}
			for _, driver := range []string{"pgx", "cachedpgx"} {
				db, err := sql.Open(driver, dsn)
				if err != nil {
					answers[driver] = []string{"Open: " + pgError(err)}
					continue
				}
				stmt, perr := db.PrepareContext(ctx, "SELECT 1 FROM pg_class")
				_, eerr := db.ExecContext(ctx, "SELECT 1")
				tx, berr := db.BeginTx(ctx, nil)
				answers[driver] = []string{
					pgError(db.PingContext(ctx)), pgError(pgAskErr(ctx, db, "SELECT relname FROM pg_class LIMIT 1")),
					pgError(perr), pgError(eerr), pgError(berr),
				}
				if perr == nil {
					stmt.Close()
				}
				if berr == nil {
					_ = tx.Rollback()
				}
				if err := db.Close(); err != nil {
					t.Errorf("%s: Close: %v", driver, err)
				}
			}
			for i, want := range answers["pgx"] {
				if i < len(answers["cachedpgx"]) && answers["cachedpgx"][i] != want {
					t.Errorf("call %d: error %q\n\tplain pgx gives %q", i, answers["cachedpgx"][i], want)
				}
			}
			if strings.Contains(fmt.Sprint(answers["cachedpgx"]), "hush") {
				t.Error("the password is shown")
			}
		})
	}

	bad := pgWith(t, pgWith(t, pgWith(t, good, "cache_ttl", "soon"), "cache_mode", "sometimes"), "cache_nonsense", "1")
	bad = strings.Replace(bad, "://", "://someone:hush@", 1)
	_, err = sql.Open("cachedpgx", bad)
	if err == nil {
		t.Fatal("wrong cache_ parameters are no error at Open")
	}
	for _, name := range []string{"cache_ttl", "cache_mode", "cache_nonsense"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("the error shows the password: %v", err)
	}
}

// TestPGClosedHandle checks every entry of a handle, a statement, a connection
// and a transaction that are over.
func TestPGClosedHandle(t *testing.T) {
	e := newPG(t, pgZoo)
	const text = "SELECT id FROM item ORDER BY id"
	answers := map[string][]string{}
	for _, driver := range []string{"pgx", "cachedpgx"} {
		db, err := sql.Open(driver, e.dsn)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		note := func(what string, err error) { got = append(got, what+": "+pgError(err)) }
		stmt, err := db.PrepareContext(e.ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := db.Conn(e.ctx)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(e.ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			note("warm", pgAskErr(e.ctx, db, text))
		}
		note("commit", tx.Commit())
		note("commit again", tx.Commit())
		note("in a transaction that is over", pgAskErr(e.ctx, tx, text))
		note("conn", conn.Close())
		note("in a connection that is given back", pgAskErr(e.ctx, conn, text))
		note("stmt", stmt.Close())
		_, err = stmt.QueryContext(e.ctx)
		note("a closed statement", err)
		note("close", db.Close())
		note("close again", db.Close())
		note("query", pgAskErr(e.ctx, db, text))
		_, err = db.ExecContext(e.ctx, "DELETE FROM item")
		note("exec", err)
		_, err = db.PrepareContext(e.ctx, text)
		note("prepare", err)
		_, err = db.BeginTx(e.ctx, nil)
		note("begin", err)
		note("ping", db.PingContext(e.ctx))
		_, err = db.Conn(e.ctx)
		note("conn", err)
		answers[driver] = got
		if driver != "cachedpgx" {
			continue
		}
		cache := pgCacheOf(t, db)
		_ = cache.Stats()
		cache.SetMode(cachedpgx.ModeOff)
		_ = cache.Flush(e.ctx) // whatever it says, it returns
		if err := cache.Server().PingContext(e.ctx); err == nil {
			t.Error("the server pool of a closed handle still answers")
		}
	}
	for i, want := range answers["pgx"] {
		if got := answers["cachedpgx"][i]; got != want {
			t.Errorf("%s, plain pgx gives %s", got, want)
		}
	}
}

// TestPGErrorInTheMiddle checks a result that fails in row k: as many rows, then
// the error, and nothing of it kept. Kind 10.
func TestPGErrorInTheMiddle(t *testing.T) {
	e := newPG(t, "CREATE TABLE n (id int); INSERT INTO n SELECT generate_series(1, 3000)")
	for _, at := range []int{1, 2, 100, 2999} {
		text := fmt.Sprintf("SELECT id, 1/(%d - id) FROM n WHERE id > 0", at)
		want := pgAsk(e.ctx, e.plain, text)
		if want.Err == "" || len(want.Rows) >= at {
			t.Fatalf("plain pgx: %d rows, %q", len(want.Rows), want.Err)
		}
		for i := range 3 {
			calls := e.calls(text, func() {
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, text)); diff != "" {
					t.Errorf("error in row %d, time %d: %s", at, i, diff)
				}
			})
			if calls != 1 {
				t.Errorf("error in row %d, time %d: %d calls at the server, want 1", at, i, calls)
			}
		}
	}
	e.must(e.db, "UPDATE n SET id = id + 5000")
	e.same("healed", "SELECT id, 1/(100 - id) FROM n WHERE id > 0")
}

// TestPGExecModes runs reads, prepared reads and writes in each of pgx's modes.
// Kind 14.
func TestPGExecModes(t *testing.T) {
	cases := pgParityCases()[:56] // those of a column each are left to TestPGParity
	for _, modes := range [][]string{
		{"default_query_exec_mode=cache_statement"}, {"default_query_exec_mode=cache_describe"},
		{"default_query_exec_mode=describe_exec"}, {"default_query_exec_mode=exec"}, {"default_query_exec_mode=simple_protocol"},
		{"statement_cache_capacity=0"}, {"statement_cache_capacity=0", "default_query_exec_mode=describe_exec"},
		{"statement_cache_capacity=1", "description_cache_capacity=1"},
	} {
		t.Run(fmt.Sprint(modes), func(t *testing.T) {
			e := newPG(t, pgZoo, modes...)
			for _, c := range cases {
				want := pgAsk(e.ctx, e.plain, c.text, c.args...)
				for _, what := range []string{"first", "second"} {
					if diff := pgDiff(want, pgAsk(e.ctx, e.db, c.text, c.args...)); diff != "" {
						t.Errorf("%s: %s %v: %s", what, pgShort(c.text), c.args, diff)
					}
				}
			}
			if len(modes) == 1 && modes[0] == "statement_cache_capacity=0" {
				return // pgx refuses to run anything with arguments like this
			}
			const direct = "SELECT id, name, qty FROM item ORDER BY id"
			e.warm(direct)
			const text = "SELECT id, qty, made FROM item WHERE id = $1 AND name = $2"
			plain, err := e.plain.PrepareContext(e.ctx, text)
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			stmt, err := e.db.PrepareContext(e.ctx, text)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			prepared := func(what string) {
				t.Helper()
				for _, args := range [][]any{{1, "item 1"}, {int64(1), "item 1"}, {"1", "item 1"}, {2, nil}} {
					if diff := pgDiff(pgAskStmt(e.ctx, plain, args...), pgAskStmt(e.ctx, stmt, args...)); diff != "" {
						t.Errorf("prepared, %s: %v: %s", what, args, diff)
					}
				}
			}
			prepared("first")
			prepared("second")
			e.must(e.db, "UPDATE item SET qty = qty + $1, made = $2", 100, time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC))
			prepared("after a write")
			e.same("after a write", direct)
			for _, id := range []int{1000, 1001} {
				e.must(e.db, "INSERT INTO item VALUES ($1, 'new', 1, 1, '2024-01-01')", id)
				e.same("after an insert", direct)
			}
		})
	}
}
