package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

const pgZoo = `
	CREATE TYPE mood AS ENUM ('sad', 'glad');
	CREATE DOMAIN small AS int CHECK (VALUE < 100);
	CREATE TYPE pair AS (a int, b text);
	CREATE TABLE zoo (
		id int PRIMARY KEY, "Quoted ""Name" text, bo bool, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, n2 numeric(10,2),
		vc varchar(10), bc char(5), by bytea, da date, ts timestamp, tz timestamptz, tz3 timestamptz(3), ti time,
		iv interval, uu uuid, js json, jb jsonb, ine inet, bi bit(3), vb varbit(9), ia int4[], ta text[], za timestamptz[],
		ra int4range, oi oid, na name, ch "char", pt point, mn money);
	INSERT INTO zoo VALUES
		(1, 'text', true, 1, 9007199254740993, 1.5, 2.5, 3.14159, 3.14, 'vc', 'bc', '\x00ff', '2024-02-29',
		 '2024-02-29 01:02:03.456789', '2024-02-29 01:02:03.456789+02', '2024-02-29 01:02:03.456+02', '01:02:03', '1 day 2 hours',
		 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a" : 1}', '{"b": [1, null]}', '10.0.0.1/8', '101', '1', '{1,NULL,3}',
		 '{"a b",NULL,""}', '{2024-01-01 00:00:00+00}', '[1,5)', 42, 'name', 'c', '(1,2)', 12.34),
		(2, '', false, -32768, -9223372036854775808, 'NaN', 'Infinity', 'NaN', -0.01, '', '', '', 'infinity',
		 'infinity', '-infinity', '0001-01-01 00:00:00+00', '00:00:00', '-1 mon', '00000000-0000-0000-0000-000000000000', 'null', 'null',
		 '::1', '000', '', '{}', '{}', '{}', 'empty', 0, '', '', '(0,0)', 0);
	INSERT INTO zoo (id) VALUES (3);
	CREATE TABLE odd (id int, mo mood, sm small, pa pair);
	INSERT INTO odd VALUES (1, 'glad', 7, '(1,"x y")'), (2, 'sad', 0, '(,)'), (3, NULL, NULL, NULL);
	CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, qty int NOT NULL, price numeric(10,2) NOT NULL, made date NOT NULL);
	INSERT INTO item SELECT i, 'item ' || i, i % 7, i * 1.25, date '2024-01-01' + i FROM generate_series(1, 50) i;
	CREATE TABLE none ();
	INSERT INTO none DEFAULT VALUES; INSERT INTO none DEFAULT VALUES;`

type pgCase struct {
	text string
	args []any
}

func pgParityCases() []pgCase {
	var nilString *string
	one := 1
	day := time.Date(2024, 1, 11, 0, 0, 0, 0, time.UTC)
	cases := []pgCase{
		{"SELECT id FROM item ORDER BY id", nil},
		{"SELECT * FROM item ORDER BY id LIMIT 3", nil},
		{"SELECT id, id, name AS id FROM item WHERE id = 1", nil}, // equal names
		{"SELECT FROM item WHERE id < 4", nil},                    // rows without columns
		{"SELECT * FROM none", nil},
		{"SELECT * FROM item WHERE id = -1", nil},
		{"SELECT id, 1/(4 - id) FROM item WHERE id < 10 ORDER BY id", nil}, // an error in row 4
		{"SELECT count(*), sum(qty), min(name), max(made), avg(price) FROM item", nil},
		{"SELECT sum(qty), avg(qty), min(qty) FROM item WHERE id < 0", nil},
		{"SELECT qty, count(*) FROM item GROUP BY qty ORDER BY qty", nil},
		{"SELECT 1, 'a', NULL, true, 1.5", nil},
		{"SELECT id /* a ' comment */ FROM item -- ; another\n WHERE name = 'item 3' -- end", nil},
		{"SELECT id, '', ' -- not a comment', E'\\n\\'', $$dollar '$$ FROM item WHERE id = 1", nil},
		{"SELECT id FROM item WHERE id = $1", []any{1}},
		{"SELECT id FROM item WHERE id = $1", []any{"1"}},
		{"SELECT id FROM item WHERE id = $1", []any{true}},
		{"SELECT id FROM item WHERE id = $1", []any{1.0}},
		{"SELECT id FROM item WHERE id = $1", []any{1.5}},
		{"SELECT id FROM item WHERE id = $1", []any{nil}},
		{"SELECT id FROM item WHERE id = $1", []any{[]byte("1")}},
		{"SELECT id FROM item WHERE id = $1", []any{int64(math.MaxInt64)}},
		{"SELECT id FROM item WHERE id = $1", []any{uint64(math.MaxUint64)}},
		{"SELECT id FROM item WHERE id = $1", []any{&one}},
		{"SELECT id FROM item WHERE id = $1", []any{sql.NullInt64{Int64: 1, Valid: true}}},
		{"SELECT id FROM item WHERE id = $1", []any{sql.NullInt64{}}},
		{"SELECT id FROM item WHERE id = $1", []any{pgtype.Int4{Int32: 1, Valid: true}}},
		{"SELECT id FROM item WHERE name = $1", []any{"item 1"}},
		{"SELECT id FROM item WHERE name = $1", []any{[]byte("item 1")}},
		{"SELECT id FROM item WHERE name = $1", []any{nilString}},
		{"SELECT id FROM item WHERE name = $1", []any{1}},
		{"SELECT id FROM item WHERE name = $1", []any{struct{ A int }{1}}},
		{"SELECT id, $1 FROM item WHERE id = 1", []any{"unknown type"}},
		{"SELECT id, qty + $1 FROM item WHERE id = 1", []any{3}},
		{"SELECT id FROM item WHERE id = ANY($1) ORDER BY id", []any{[]int{3, 1}}},
		{"SELECT id FROM item WHERE id = ANY($1) ORDER BY id", []any{[]int(nil)}},
		{"SELECT id FROM item WHERE id = ANY($1) ORDER BY id", []any{[]string{"1"}}},
		{"SELECT id FROM item WHERE made = $1", []any{day}},
		{"SELECT id FROM item WHERE made = $1", []any{day.In(time.FixedZone("west", -8*3600))}},
		{"SELECT id FROM item WHERE made = $1", []any{"2024-01-11"}},
		{"SELECT id FROM item WHERE price < $1 ORDER BY id", []any{3.75}},
		{"SELECT id FROM item WHERE price < $1 ORDER BY id", []any{"3.75"}},
		{"SELECT id FROM item WHERE id = $1 AND name = $2", []any{1, "item 1"}},
		{"SELECT id FROM zoo WHERE tz = $1", []any{time.Date(2024, 2, 28, 23, 2, 3, 456789000, time.UTC)}},
		{"SELECT id FROM zoo WHERE by = $1", []any{[]byte{0, 255}}},
		{"SELECT id FROM zoo WHERE by = $1", []any{[]byte{}}},
		{"SELECT id FROM zoo WHERE f8 = $1", []any{math.Inf(1)}},
		{"SELECT id FROM zoo WHERE bo = $1", []any{true}},
		{"SELECT id FROM zoo WHERE uu = $1", []any{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}},
		{"SELECT id FROM zoo WHERE uu = $1", []any{[16]byte{}}},
		{"SELECT id FROM odd WHERE mo = $1", []any{"glad"}},
		{"SELECT id FROM odd WHERE sm = $1", []any{7}},
		{"SELECT i.name, z.id FROM item i JOIN zoo z ON z.id = i.id ORDER BY z.id", nil},
		{"SELECT id, lower(name) FROM item WHERE id = 2", nil},
		{"SELECT id FROM item WHERE id = 1; SELECT id FROM item WHERE id = 2", nil},
		{"VALUES (1, 'a'), (2, NULL)", nil},
		{"TABLE zoo", nil},
		{"SELECT mo, sm, pa FROM odd ORDER BY id", nil},
		{"SHOW server_version", nil},
	}
	for _, col := range []string{`"Quoted ""Name"`, "bo", "i2", "i8", "f4", "f8", "n", "n2", "vc", "bc", "by", "da", "ts", "tz",
		"tz3", "ti", "iv", "uu", "js", "jb", "ine", "bi", "vb", "ia", "ta", "za", "ra", "oi", "na", "ch", "pt", "mn"} {
		cases = append(cases, pgCase{"SELECT " + col + " FROM zoo ORDER BY id", nil})
	}
	return cases
}

// TestPGParity compares what plain pgx answers with a miss, a hit, those who
// share a load, and the same prepared. Kinds 3, 8, 11.
func TestPGParity(t *testing.T) {
	e := newPG(t, pgZoo)
	hits := 0
	for _, c := range pgParityCases() {
		name := fmt.Sprintf("%s %v", c.text, c.args)
		want := pgAsk(e.ctx, e.plain, c.text, c.args...)
		check := func(what string, got pgAnswer) {
			t.Helper()
			if diff := pgDiff(want, got); diff != "" {
				t.Errorf("%s: %s: %s", pgShort(name), what, diff)
			}
		}
		check("miss", pgAsk(e.ctx, e.db, c.text, c.args...))
		calls := e.calls(c.text, func() { check("hit", pgAsk(e.ctx, e.db, c.text, c.args...)) })
		if calls == 0 {
			hits++
		}
		check("third", pgAsk(e.ctx, e.db, c.text, c.args...))

		// Whoever shares a load gets what the leader gets.
		if err := e.cache.Flush(e.ctx); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		answers := make([]pgAnswer, 4)
		for i := range answers {
			wg.Go(func() { answers[i] = pgAsk(e.ctx, e.db, c.text, c.args...) })
		}
		wg.Wait()
		for _, a := range answers {
			check("shared load", a)
		}

		plain, perr := e.plain.PrepareContext(e.ctx, c.text)
		stmt, err := e.db.PrepareContext(e.ctx, c.text)
		if pgError(perr) != pgError(err) {
			t.Errorf("%s: Prepare: error %q, plain pgx gives %q", pgShort(name), pgError(err), pgError(perr))
		}
		if perr == nil && err == nil {
			want = pgAskStmt(e.ctx, plain, c.args...)
			check("prepared miss", pgAskStmt(e.ctx, stmt, c.args...))
			check("prepared hit", pgAskStmt(e.ctx, stmt, c.args...))
			check("prepared third", pgAskStmt(e.ctx, stmt, c.args...))
		}
		if perr == nil {
			plain.Close()
		}
		if err == nil {
			stmt.Close()
		}
	}
	if hits < 40 {
		t.Errorf("only %d cases were served from memory: this test compares less than it should", hits)
	}
}

// TestPGSharedLoadParity holds a load at the server until others wait for it.
func TestPGSharedLoadParity(t *testing.T) {
	e := newPG(t, pgZoo)
	const text = "SELECT id, bo, i8, f8, tz, by, js FROM zoo ORDER BY id"
	want := pgAsk(e.ctx, e.plain, text)
	e.warm(text)
	if err := e.cache.Flush(e.ctx); err != nil {
		t.Fatal(err)
	}
	before := e.wire.ran(text)
	release := e.lock("zoo")
	answers := make([]pgAnswer, 16)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = pgAsk(e.ctx, e.db, text) })
	}
	e.eventually("a load waits for the lock", func() bool { return e.waiting() > 0 })
	release()
	wg.Wait()
	for i, a := range answers {
		if diff := pgDiff(want, a); diff != "" {
			t.Errorf("caller %d: %s", i, diff)
		}
	}
	if n := e.wire.ran(text) - before; n != 1 {
		t.Errorf("%d callers made %d calls at the server, want 1", len(answers), n)
	}
}

// pgUpper is a Scanner that edits what it is given.
type pgUpper struct{ got string }

func (u *pgUpper) Scan(v any) error {
	switch v := v.(type) {
	case []byte:
		for i := range v {
			v[i] = 'X'
		}
		u.got = fmt.Sprintf("bytes %d", len(v))
	case nil:
		return errors.New("a scanner's own error")
	default:
		u.got = fmt.Sprintf("%T %v", v, v)
	}
	return nil
}

// TestPGDestinations scans each column of each row into each kind of
// destination. Kind 11.
func TestPGDestinations(t *testing.T) {
	e := newPG(t, pgZoo)
	const text = "SELECT * FROM zoo ORDER BY id"
	dests := []func() any{
		func() any { return new(any) }, func() any { return new(string) }, func() any { return new([]byte) },
		func() any { return new(int) }, func() any { return new(int8) },
		func() any { return new(uint64) }, func() any { return new(float32) }, func() any { return new(float64) },
		func() any { return new(bool) }, func() any { return new(time.Time) }, func() any { return new(*string) },
		func() any { return new(*int64) }, func() any { return new(sql.NullString) }, func() any { return new(sql.NullTime) },
		func() any { return new(sql.Null[int64]) }, func() any { return new(pgUpper) }, func() any { return new(pgtype.Numeric) },
		func() any { return new(pgtype.Text) }, func() any { return new(chan int) }, func() any { return *new(string) },
	}
	scan := func(q pgQuerier, text string) []string {
		rows, err := q.QueryContext(e.ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		cols, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for row := 0; rows.Next(); row++ {
			for i, col := range cols {
				for _, dest := range dests {
					into := make([]any, len(cols))
					for j := range into {
						into[j] = new(any)
					}
					into[i] = dest()
					err := rows.Scan(into...)
					v := reflect.Indirect(reflect.ValueOf(into[i]))
					if v.Kind() == reflect.Pointer && !v.IsNil() {
						v = v.Elem()
					}
					got = append(got, fmt.Sprintf("row %d, %s into %T: %#v, %v", row, col, into[i], v, err))
				}
			}
			// The last of the row: nothing can be scanned after RawBytes.
			raw := make([]sql.RawBytes, len(cols))
			into := make([]any, len(cols))
			for i := range into {
				into[i] = &raw[i]
			}
			err := rows.Scan(into...)
			got = append(got, fmt.Sprintf("row %d into RawBytes: %q, %v", row, raw, err))
			for _, b := range raw {
				clear(b) // they may be written to
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, text := range []string{text, "SELECT * FROM odd ORDER BY id"} {
		want := scan(e.plain, text)
		for _, what := range []string{"miss", "hit", "hit after what scanners did to their bytes"} {
			got := scan(e.db, text)
			bad := 0
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					if bad++; bad <= 10 {
						t.Errorf("%s: %s\n\tplain pgx gives %s", what, got[i], want[i])
					}
				}
			}
		}
	}
	if n := e.calls(text, func() { scan(e.db, text) }); n != 0 {
		t.Errorf("the columns of built-in types were read from the server")
	}
}

// TestPGBigResults checks that a result over the limits comes whole, is never
// kept, and that the limit is inclusive.
func TestPGBigResults(t *testing.T) {
	for _, c := range []struct {
		param string
		limit int
		calls int // the second time
	}{
		{"cache_max_rows=100", 100, 0},
		{"cache_max_rows=100", 101, 1},
		{"cache_max_rows=100", 5000, 1},
		{"cache_max_result_bytes=1000", 5000, 1},
		{"cache_max_rows=off", 5000, 0},
	} {
		t.Run(fmt.Sprintf("%s, %d rows", c.param, c.limit), func(t *testing.T) {
			e := newPG(t, "CREATE TABLE big AS SELECT i AS id, 'row ' || i AS name FROM generate_series(1, 5000) i", c.param)
			text := fmt.Sprintf("SELECT id, name FROM big ORDER BY id LIMIT %d", c.limit)
			e.same("first", text)
			if n := e.calls(text, func() { e.same("second", text) }); n != c.calls {
				t.Errorf("the second read made %d calls at the server, want %d", n, c.calls)
			}
			// Part of a stream must not be taken for the whole.
			rows, err := e.db.QueryContext(e.ctx, text)
			if err != nil {
				t.Fatal(err)
			}
			rows.Next()
			rows.Close()
			var id int
			if err := e.db.QueryRowContext(e.ctx, text).Scan(&id, new(string)); err != nil || id != 1 {
				t.Errorf("QueryRow: %d, %v", id, err)
			}
			e.same("after an early Close", text)
		})
	}
}

// TestPGContexts checks contexts that end, against plain pgx.
func TestPGContexts(t *testing.T) {
	e := newPG(t, pgZoo)
	const text = "SELECT id FROM item ORDER BY id"
	ended := map[string]func() (context.Context, context.CancelFunc){
		"cancelled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(e.ctx)
			cancel()
			return ctx, cancel
		},
		"past its deadline": func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(e.ctx, time.Unix(1, 0))
		},
	}
	for name, make := range ended {
		for _, warm := range []bool{false, true} {
			if warm {
				e.warm(text)
			}
			ctx, cancel := make()
			for what, f := range map[string]func(*sql.DB) error{
				"Query":   func(db *sql.DB) error { return pgAskErr(ctx, db, text) },
				"Exec":    func(db *sql.DB) error { _, err := db.ExecContext(ctx, "UPDATE item SET qty = qty"); return err },
				"Prepare": func(db *sql.DB) error { _, err := db.PrepareContext(ctx, text); return err },
				"Begin":   func(db *sql.DB) error { _, err := db.BeginTx(ctx, nil); return err },
				"Ping":    func(db *sql.DB) error { return db.PingContext(ctx) },
				"Conn":    func(db *sql.DB) error { _, err := db.Conn(ctx); return err },
			} {
				want, got := f(e.plain), f(e.db)
				if pgError(want) != pgError(got) {
					t.Errorf("%s, warm %t, %s: error %q, plain pgx gives %q", name, warm, what, pgError(got), pgError(want))
				}
			}
			cancel()
		}
	}
	// A context that ends while the rows are read ends the rows, not the entry.
	for range 20 {
		ctx, cancel := context.WithCancel(e.ctx)
		rows, err := e.db.QueryContext(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		cancel()
		for rows.Next() {
		}
		if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("rows of a cancelled context: %v", err)
		}
		rows.Close()
	}
	e.same("after cancelled readers", text)

	// A context that ends while the server works: the error of plain pgx.
	release := e.lock("zoo")
	defer release()
	errs := map[string]error{}
	for name, db := range map[string]*sql.DB{"pgx": e.plain, "cachedpgx": e.db} {
		ctx, cancel := context.WithTimeout(e.ctx, 50*time.Millisecond)
		errs[name] = pgAskErr(ctx, db, "SELECT id FROM zoo ORDER BY id")
		cancel()
		if !pgTimedOut(errs[name]) {
			t.Errorf("%s: a read that ran into its deadline: %v", name, errs[name])
		}
	}
}

func pgAskErr(ctx context.Context, q pgQuerier, text string, args ...any) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// TestPGTextsApart checks that texts that differ in what counts don't share, and
// texts that differ in a comment do. Kind 3.
func TestPGTextsApart(t *testing.T) {
	e := newPG(t, pgZoo)
	for _, text := range []string{
		"SELECT id, 'a' FROM item WHERE id = 1", "SELECT id, 'A' FROM item WHERE id = 1", "SELECT id, 'a ' FROM item WHERE id = 1",
		"SELECT id, 'a  ' FROM item WHERE id = 1", "SELECT id, '/* x */' FROM item WHERE id = 1", "SELECT id, '' FROM item WHERE id = 1",
		"SELECT id, '-- x' FROM item WHERE id = 1", "SELECT id, E'\\x61' FROM item WHERE id = 1", "SELECT id, '\\x61' FROM item WHERE id = 1",
		"SELECT id, $$a$$ FROM item WHERE id = 1", "SELECT id, $q$a$$$q$ FROM item WHERE id = 1", "SELECT id, U&'\\0061' FROM item WHERE id = 1",
		`SELECT id AS "a" FROM item WHERE id = 1`, `SELECT id AS "A" FROM item WHERE id = 1`, `SELECT id AS "a/**/" FROM item WHERE id = 1`,
		"SELECT id, 1 FROM item WHERE id = 1", "SELECT id, 1.0 FROM item WHERE id = 1", "SELECT id, 1.00 FROM item WHERE id = 1",
		"SELECT id, 'a'\n'b' FROM item WHERE id = 1", "SELECT id, -1 FROM item WHERE id = 1", "SELECT id, --1\n 1 FROM item WHERE id = 1",
	} {
		e.same("miss", text)
		e.same("hit", text)
	}
	e.same("long", "SELECT id, '"+strings.Repeat("x", 100_000)+"' FROM item WHERE id = 1")
	e.same("long, another end", "SELECT id, '"+strings.Repeat("x", 99_999)+"y' FROM item WHERE id = 1")

	const text = "SELECT id FROM item WHERE id = 5"
	e.warm("/* trace 4711 */ " + text)
	another := "/* trace 4712 */ " + text
	if n := e.calls(another, func() { e.same("another comment", another) }); n != 0 {
		t.Errorf("a comment made an entry of its own")
	}
}
