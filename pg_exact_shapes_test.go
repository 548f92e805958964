package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// TestPGExactShapes compares results of odd shapes: none of one thing, and much
// of another. Kind 11.
func TestPGExactShapes(t *testing.T) {
	var wide, names []string
	for i := range 1600 {
		wide = append(wide, fmt.Sprintf("c%d int DEFAULT %d", i, i))
	}
	for i := range 1600 {
		names = append(names, fmt.Sprintf("c%d AS same", (i*7)%1600))
	}
	e := newPG(t, pgZoo+fmt.Sprintf(`; CREATE TABLE wide (%s); INSERT INTO wide DEFAULT VALUES; INSERT INTO wide DEFAULT VALUES; UPDATE wide SET c1599 = NULL WHERE ctid = '(0,1)';
		CREATE TABLE empty (a int, b text, c numeric(5,2)); CREATE TABLE long (t text, b bytea); INSERT INTO long VALUES (repeat('ä', 200000), decode(repeat('00ff', 100000), 'hex'));
		CREATE TABLE "Odd "" Name" ("a""b" int, " " int, "é" int, "SELECT" int); INSERT INTO "Odd "" Name" VALUES (1, 2, 3, 4)`, strings.Join(wide, ", ")))
	for name, text := range map[string]string{
		"no rows":                   "SELECT a, b, c FROM empty",
		"no rows and no columns":    "SELECT FROM empty",
		"no columns":                "SELECT FROM item",
		"no columns of one row":     "SELECT FROM item LIMIT 1",
		"no columns by a star":      "SELECT none.* FROM none",
		"1600 columns":              "SELECT * FROM wide",
		"1600 columns and no row":   "SELECT * FROM wide WHERE c0 = -1",
		"1664 columns":              "SELECT *, " + strings.Join(names[:64], ", ") + " FROM wide",
		"1665 columns":              "SELECT *, " + strings.Join(names[:65], ", ") + " FROM wide",
		"names that are the same":   "SELECT id, id, name AS id, qty AS \"ID\", price AS \"id \" FROM item ORDER BY item.id LIMIT 3",
		"names that are odd":        `SELECT * FROM "Odd "" Name"`,
		"columns without a name":    "SELECT id + 1, id + 2, 'x', count(*) OVER () FROM item ORDER BY id LIMIT 2",
		"a name of 63 bytes":        "SELECT id AS " + strings.Repeat("n", 70) + " FROM item WHERE id = 1",
		"NULLs":                     "SELECT NULL, NULL::int, NULL::text, '' FROM item LIMIT 2",
		"one NULL":                  "SELECT max(id) FROM empty, item",
		"long values":               "SELECT t, b FROM long",
		"one row many times":        "SELECT 1 FROM item a, item b",
		"rows in a row":             "SELECT item FROM item ORDER BY id LIMIT 2",
		"arrays of rows":            "SELECT array_agg(item ORDER BY id) FROM item WHERE id < 3",
		"records":                   "SELECT ROW(id, name, NULL) FROM item ORDER BY id LIMIT 2",
		"a table's empty row":       "SELECT e FROM (SELECT 1) x LEFT JOIN empty e ON true",
		"values and order":          "SELECT id FROM item ORDER BY qty DESC, id DESC",
		"the order of a set":        "SELECT qty FROM item GROUP BY qty ORDER BY 1 DESC",
		"bytes":                     "SELECT b, b, t FROM long",
		"a comment at the end":      "SELECT id FROM item WHERE id = 1 -- end",
		"a semicolon at the end":    "SELECT id FROM item WHERE id = 1;",
		"semicolons at the end":     "SELECT id FROM item WHERE id = 1;;; ",
		"a second statement":        "SELECT id FROM item WHERE id = 1; SELECT name FROM item WHERE id = 2",
		"a second statement, empty": "SELECT id FROM item WHERE id = 1; -- nothing",
	} {
		t.Run(name, func(t *testing.T) {
			e := e.on(t)
			want := pgAsk(e.ctx, e.plain, text)
			for _, what := range []string{"first", "second", "third"} {
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, text)); diff != "" {
					t.Errorf("%s: %s", what, pgShort(diff))
				}
			}
			stmt, err := e.db.PrepareContext(e.ctx, text)
			plain, perr := e.plain.PrepareContext(e.ctx, text)
			if pgError(err) != pgError(perr) {
				t.Errorf("Prepare: error %q, plain pgx gives %q", pgError(err), pgError(perr))
			}
			if err != nil || perr != nil {
				return
			}
			defer stmt.Close()
			defer plain.Close()
			want = pgAskStmt(e.ctx, plain)
			for range 2 {
				if diff := pgDiff(want, pgAskStmt(e.ctx, stmt)); diff != "" {
					t.Errorf("prepared: %s", pgShort(diff))
				}
			}
		})
	}
}

// exactKeeper is a Scanner that keeps what it is given, and writes into it, also
// beyond its end.
type exactKeeper struct{ kept []byte }

func (k *exactKeeper) Scan(v any) error {
	if b, ok := v.([]byte); ok {
		k.kept = b
		exactScribble(b)
	}
	return nil
}

// exactScribble writes over bytes, and over what memory behind them can be
// reached by appending.
func exactScribble(b []byte) {
	for i := range b {
		b[i] = 'X'
	}
	if cap(b)-len(b) > 0 {
		_ = append(b, strings.Repeat("Y", cap(b)-len(b))...)
	}
}

// TestPGExactAliasing writes into all bytes that are handed out, keeps them, and
// asks whether anybody else sees it. Kind 11.
func TestPGExactAliasing(t *testing.T) {
	e := newPG(t, `CREATE TABLE raw (id int PRIMARY KEY, a bytea, b bytea, j json, jb jsonb, t text);
		INSERT INTO raw SELECT i, decode(repeat(md5(i::text), 2), 'hex'), CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE decode(md5(i::text), 'hex') END,
			'{"a": 1}', '{"b": 2}', 'text ' || i FROM generate_series(1, 50) i`)
	const text = "SELECT a, b, j, jb, t FROM raw ORDER BY id"
	want := pgAsk(e.ctx, e.plain, text)
	into := map[string]func() (dests []any, bytes func() [][]byte){
		"RawBytes": func() ([]any, func() [][]byte) {
			var r [5]sql.RawBytes
			return []any{&r[0], &r[1], &r[2], &r[3], &r[4]}, func() [][]byte { return [][]byte{r[0], r[1], r[2], r[3], r[4]} }
		},
		"bytes": func() ([]any, func() [][]byte) {
			var r [5][]byte
			return []any{&r[0], &r[1], &r[2], &r[3], &r[4]}, func() [][]byte { return r[:] }
		},
		"any": func() ([]any, func() [][]byte) {
			var r [5]any
			return []any{&r[0], &r[1], &r[2], &r[3], &r[4]}, func() (all [][]byte) {
				for _, v := range r {
					if b, ok := v.([]byte); ok {
						all = append(all, b)
					}
				}
				return all
			}
		},
		"a Scanner": func() ([]any, func() [][]byte) {
			var r [5]exactKeeper
			return []any{&r[0], &r[1], &r[2], &r[3], &r[4]}, func() (all [][]byte) {
				for i := range r {
					all = append(all, r[i].kept)
				}
				return all
			}
		},
	}
	ask := map[string]func() (*sql.Rows, error){"direct": func() (*sql.Rows, error) { return e.db.QueryContext(e.ctx, text) }}
	stmt, err := e.db.PrepareContext(e.ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	ask["prepared"] = func() (*sql.Rows, error) { return stmt.QueryContext(e.ctx) }
	for name, dests := range into {
		for way, ask := range ask {
			for _, what := range []string{"miss", "hit", "another hit"} {
				e.exactFlushIf(what == "miss")
				rows, err := ask()
				if err != nil {
					t.Fatal(err)
				}
				var kept [][]byte
				for n := 0; rows.Next(); n++ {
					d, bytes := dests()
					// A reader of the same entry in the middle sees none of it.
					if n == 25 {
						if diff := pgDiff(want, pgAsk(e.ctx, e.db, text)); diff != "" {
							t.Errorf("%s, %s, %s: who reads meanwhile: %s", name, way, what, diff)
						}
					}
					if err := rows.Scan(d...); err != nil {
						t.Fatal(err)
					}
					// What came before is not written over.
					if name != "RawBytes" {
						for _, b := range kept {
							if strings.Trim(string(b), "X") != "" {
								t.Fatalf("%s, %s, %s: row %d wrote into what an earlier one had given: %q", name, way, what, n, b)
							}
						}
					}
					for _, b := range bytes() {
						exactScribble(b)
						if name != "RawBytes" {
							kept = append(kept, b)
						}
					}
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				rows.Close()
				for _, q := range []func() pgAnswer{
					func() pgAnswer { return pgAsk(e.ctx, e.db, text) }, func() pgAnswer { return pgAskStmt(e.ctx, stmt) },
				} {
					if diff := pgDiff(want, q()); diff != "" {
						t.Errorf("%s, %s, %s: who reads later: %s", name, way, what, diff)
					}
				}
				for _, b := range kept {
					if strings.Trim(string(b), "X") != "" {
						t.Errorf("%s, %s, %s: what was given was written over later: %q", name, way, what, b)
					}
				}
			}
		}
	}
	t.Run("followers of one load", func(t *testing.T) {
		e := e.on(t)
		e.exactShared("raw", 6, e.exactFlush, func(i int) {
			rows, err := e.db.QueryContext(e.ctx, text)
			if err != nil {
				t.Error(err)
				return
			}
			defer rows.Close()
			for n := 0; rows.Next(); n++ {
				var r [5]sql.RawBytes
				if err := rows.Scan(&r[0], &r[1], &r[2], &r[3], &r[4]); err != nil {
					t.Error(err)
					return
				}
				if got, want := fmt.Sprintf("[]uint8(%#v)", []byte(r[0])), want.Rows[n][0]; got != want {
					t.Errorf("follower %d, row %d: %s, want %s", i, n, got, want)
				}
				for _, b := range r {
					exactScribble(b)
				}
			}
		})
		e.same("afterwards", text)
	})
}

// exactCancelling is a Scanner that ends its own context in the middle.
type exactCancelling struct {
	cancel context.CancelFunc
	got    []byte
}

func (c *exactCancelling) Scan(v any) error {
	if c.cancel != nil {
		c.cancel()
		runtime.Gosched()
	}
	if b, ok := v.([]byte); ok {
		c.got = append(c.got[:0], b...)
	}
	return nil
}

// TestPGExactHotEntry has 64 goroutines scan one entry, into all sorts of
// destinations; some cancel in the middle of Scan, some write to what they get,
// some close early. Kinds 8 and 11.
func TestPGExactHotEntry(t *testing.T) {
	e := newPG(t, pgZoo+exactBig)
	const text = "SELECT id, b, t, md5(t) AS m, t || '' AS u, ARRAY[id, NULL, id] AS ids, id * 1.5 AS n, ('{\"id\": ' || id || '}')::jsonb AS j FROM big WHERE id <= 60 ORDER BY id"
	plain := pgAsk(e.ctx, e.plain, text)
	e.warm(text)
	stmt, err := e.db.PrepareContext(e.ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	pgAskStmt(e.ctx, stmt)
	calls := e.calls(text, func() {
		e.watched(64, func(parent context.Context, g int) error {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for range 12 {
				ctx, cancel := context.WithCancel(parent)
				var rows *sql.Rows
				var err error
				if g%2 == 0 {
					rows, err = e.db.QueryContext(ctx, text)
				} else {
					rows, err = stmt.QueryContext(ctx)
				}
				if err != nil {
					cancel()
					return err
				}
				how, at := r.IntN(5), r.IntN(60)
				n := 0
				for ; rows.Next(); n++ {
					var id int
					var raw sql.RawBytes
					var t, m, u, ids, num, j any
					switch how {
					case 0: // all, and writes into it
						err = rows.Scan(&id, &raw, &t, &m, &u, &ids, &num, &j)
						if err == nil {
							if got, want := fmt.Sprintf("[]uint8(%#v)", []byte(raw)), plain.Rows[n][1]; got != want {
								cancel()
								return fmt.Errorf("row %d: %s, want %s", n, pgShort(got), pgShort(want))
							}
							exactScribble(raw)
						}
					case 1: // cancels in the middle of Scan
						c := exactCancelling{}
						if n == at {
							c.cancel = cancel
						}
						err = rows.Scan(&id, &c, &t, &m, &u, &ids, &num, &j)
						if got, want := fmt.Sprintf("[]uint8(%#v)", c.got), plain.Rows[n][1]; err == nil && got != want {
							cancel()
							return fmt.Errorf("row %d, cancelled in Scan: %s, want %s", n, pgShort(got), pgShort(want))
						}
					case 2: // is cancelled from elsewhere
						if n == at {
							go cancel()
						}
						err = rows.Scan(&id, &raw, &t, &m, &u, &ids, &num, &j)
					case 3: // closes early
						err = rows.Scan(&id, &raw, &t, &m, &u, &ids, &num, &j)
						if n == at {
							rows.Close()
						}
					case 4: // into strings
						var s [8]string
						err = rows.Scan(&id, &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &s[7])
						if want := fmt.Sprintf("{%d,NULL,%d}", id, id); err == nil && s[5] != want {
							cancel()
							return fmt.Errorf("row %d: an array is %s, want %s", n, s[5], want)
						}
					}
					if err != nil {
						break
					}
					if id != n+1 {
						cancel()
						return fmt.Errorf("row %d has the id %d", n, id)
					}
				}
				if err == nil {
					err = rows.Err()
				}
				rows.Close()
				whole := how == 0 || how == 4
				if err != nil && (whole || !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "Rows are closed")) {
					cancel()
					return fmt.Errorf("way %d: %w", how, err)
				}
				if whole && n != 60 {
					cancel()
					return fmt.Errorf("way %d: %d rows", how, n)
				}
				cancel()
			}
			return nil
		})
	})
	if calls != 0 {
		t.Errorf("a hot entry made %d calls at the server", calls)
	}
	e.same("afterwards", text)
}

// TestPGExactSeveralResults asks for several result sets in one text, which the
// simple protocol can. Kinds 5 and 14.
func TestPGExactSeveralResults(t *testing.T) {
	dsn := newPG(t, exactSchema).dsn
	for _, mode := range []string{"simple_protocol", "cache_statement"} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
			sets := func(db *sql.DB, text string, args ...any) string {
				rows, err := db.QueryContext(e.ctx, text, args...)
				if err != nil {
					return "Query: " + pgError(err)
				}
				defer rows.Close()
				var all []string
				for {
					cols, err := rows.Columns()
					all = append(all, fmt.Sprint("set of ", cols, err))
					for rows.Next() {
						values := make([]any, len(cols))
						for i := range values {
							values[i] = new(any)
						}
						err := rows.Scan(values...)
						for _, v := range values {
							all = append(all, fmt.Sprintf("%T %v", *v.(*any), *v.(*any)))
						}
						all = append(all, fmt.Sprint(err))
					}
					all = append(all, pgError(rows.Err()))
					if !rows.NextResultSet() {
						return strings.Join(append(all, pgError(rows.Err())), "; ")
					}
				}
			}
			for _, text := range []string{
				"SELECT id FROM exact_k ORDER BY id; SELECT t FROM exact_k ORDER BY id",
				"SELECT id FROM exact_k ORDER BY id; SELECT id FROM exact_k WHERE id = 1",
				"SELECT id FROM exact_k; SELECT 1/0",
				"SELECT 1/0; SELECT id FROM exact_k",
				"SELECT id FROM exact_k WHERE id = 1; ; ",
				"SELECT id FROM exact_k WHERE id = 1",
				"SELECT id FROM exact_k; SELEC",
			} {
				want := sets(e.plain, text)
				for _, what := range []string{"first", "second", "third"} {
					if got := sets(e.db, text); got != want {
						t.Errorf("%s: %s: %s\n\tplain pgx gives %s", what, text, got, want)
					}
				}
			}
			// A write that hides behind a read.
			for i, text := range []string{
				"SELECT id FROM exact_k WHERE id = 1; UPDATE exact_k SET t = t || '.'",
				"UPDATE exact_k SET t = t || '.'; SELECT id FROM exact_k WHERE id = 1",
				"SELECT id FROM exact_k WHERE id = 1; UPDATE exact_k SET t = t || '.' RETURNING id; SELECT 1",
			} {
				e.same("before", "SELECT id, t FROM exact_k ORDER BY id")
				e.same("before", "SELECT id, t FROM exact_k ORDER BY id")
				sets(e.db, text)
				e.same(fmt.Sprintf("after hidden write %d", i), "SELECT id, t FROM exact_k ORDER BY id")
			}
		})
	}
}

// TestPGExactNestedReads asks again while rows are open, on one session and on
// few connections: rows of a hit hold nothing that another needs. Kinds 8 and 13.
func TestPGExactNestedReads(t *testing.T) {
	e := newPG(t, pgZoo, "cache_server_max_open=1")
	const outer, inner = "SELECT id FROM item WHERE id <= 10 ORDER BY id", "SELECT name FROM item WHERE id = $1"
	for range 2 {
		e.watched(4, func(ctx context.Context, _ int) error {
			rows, err := e.db.QueryContext(ctx, outer)
			if err != nil {
				return err
			}
			defer rows.Close()
			for n := 1; rows.Next(); n++ {
				var id int
				var name string
				if err := rows.Scan(&id); err != nil {
					return err
				}
				if err := e.db.QueryRowContext(ctx, inner, id).Scan(&name); err != nil || id != n || name != fmt.Sprint("item ", id) {
					return fmt.Errorf("row %d of %d is %q, %w", n, id, name, err)
				}
			}
			return rows.Err()
		})
	}
	// Two results open on one session: plain pgx says that it is busy, and who is
	// served from memory need not.
	conn := e.session(e.db)
	a, err := conn.QueryContext(e.ctx, outer)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := conn.QueryContext(e.ctx, outer)
	if err != nil {
		t.Fatalf("two results of the cache in one session: %v", err)
	}
	defer b.Close()
	for n := 1; a.Next() && b.Next(); n++ {
		var x, y int
		if err := errors.Join(a.Scan(&x), b.Scan(&y)); err != nil || x != n || y != n {
			t.Fatalf("row %d: %d and %d, %v", n, x, y, err)
		}
	}
}
