package cachedpgx_test

import (
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

const pgOrdinary = `
	CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL, price numeric(10,2) NOT NULL, stock int, weight float8,
		sold bool NOT NULL DEFAULT false, made date NOT NULL, seen timestamptz NOT NULL, "now" int, "user" text, code varchar(8));
	INSERT INTO product SELECT i, 'product ' || i, i * 1.5, i % 5, i / 3.0, i % 2 = 0, date '2024-01-01' + i,
		timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour', i, 'u' || i, 'c' || i FROM generate_series(1, 30) i;
	UPDATE product SET stock = NULL WHERE id = 7;
	CREATE TABLE sale (id int PRIMARY KEY, product int REFERENCES product, count int NOT NULL, at timestamp NOT NULL);
	INSERT INTO sale SELECT i, 1 + i % 30, i % 4, timestamp '2024-01-01' + i * interval '1 minute' FROM generate_series(1, 90) i;
	CREATE SCHEMA shop; CREATE TABLE shop."Odd Name" (id int, "select" int); INSERT INTO shop."Odd Name" VALUES (1, 2);
	CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS id;
	CREATE TABLE part (id int, v int) PARTITION BY LIST (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1); INSERT INTO part VALUES (1, 10);`

// pgOrdinaryReads is what must be served from memory.
func pgOrdinaryReads() []pgCase {
	day := time.Date(2024, 1, 9, 0, 0, 0, 0, time.UTC)
	return []pgCase{
		{"SELECT id FROM product ORDER BY id", nil},
		{"SELECT * FROM product ORDER BY id", nil},
		{"select ID, NAME from PRODUCT order by Id", nil},
		{`SELECT "id" FROM "public"."product" ORDER BY 1`, nil},
		{"SELECT p.* FROM product p ORDER BY p.id DESC NULLS LAST", nil},
		{"SELECT p.id AS key, p.name AS label FROM product AS p ORDER BY key", nil},
		{"SELECT id FROM ONLY product ORDER BY id", nil},
		{"SELECT id FROM product WHERE id = 3", nil},
		{"SELECT id FROM product WHERE id = $1", []any{3}},
		{"SELECT id FROM product WHERE name = $1", []any{"product 4"}},
		{"SELECT id FROM product WHERE id = $1 OR name = $2 ORDER BY id", []any{3, "product 4"}},
		{"SELECT id FROM product WHERE id <> 3 AND id != 4 AND NOT id < 5 ORDER BY id", nil},
		{"SELECT id FROM product WHERE price >= $1 AND price <= $2 ORDER BY id", []any{"3", "9.5"}},
		{"SELECT id FROM product WHERE weight > $1 ORDER BY id", []any{2.5}},
		{"SELECT id FROM product WHERE sold", nil},
		{"SELECT id FROM product WHERE sold = $1 ORDER BY id", []any{true}},
		{"SELECT id FROM product WHERE sold IS NOT TRUE ORDER BY id", nil},
		{"SELECT id FROM product WHERE stock IS NULL", nil},
		{"SELECT id FROM product WHERE stock IS NOT NULL ORDER BY id", nil},
		{"SELECT id FROM product WHERE id IN (1, 2, 3) ORDER BY id", nil},
		{"SELECT id FROM product WHERE id NOT IN (1, 2, 3) ORDER BY id", nil},
		{"SELECT id FROM product WHERE id BETWEEN 2 AND 5 ORDER BY id", nil},
		{"SELECT id FROM product WHERE made = $1", []any{day}},
		{"SELECT id FROM product WHERE made > $1 ORDER BY id", []any{"2024-01-15"}},
		{"SELECT id FROM product WHERE made < '2024-01-05' ORDER BY id", nil},
		{"SELECT id FROM product WHERE seen >= $1 ORDER BY id", []any{day}},
		{"SELECT id, price * 2 + 1, -id, id % 3, id / 2, id - 1 FROM product ORDER BY id", nil},
		{"SELECT id, price > 10 FROM product ORDER BY id", nil},
		{"SELECT id, $1 FROM product WHERE id = 1", []any{"text"}},
		{"SELECT DISTINCT stock FROM product ORDER BY stock", nil},
		{"SELECT id FROM product ORDER BY price DESC, id LIMIT 5", nil},
		{"SELECT id FROM product ORDER BY id LIMIT $1 OFFSET $2", []any{5, 10}},
		{"SELECT count(*) FROM product", nil},
		{"SELECT count(stock), count(DISTINCT stock) FROM product", nil},
		{"SELECT sum(stock), min(price), max(made), avg(weight) FROM product", nil},
		{"SELECT stock, count(*) FROM product GROUP BY stock ORDER BY stock", nil},
		{"SELECT stock, count(*) FROM product GROUP BY stock HAVING count(*) > 5 ORDER BY 1", nil},
		{"SELECT p.name, s.count FROM product p JOIN sale s ON s.product = p.id ORDER BY s.id", nil},
		{"SELECT p.name, s.count FROM product p INNER JOIN sale s ON s.product = p.id WHERE p.id = $1 ORDER BY s.id", []any{2}},
		{"SELECT p.id, s.id FROM product p LEFT OUTER JOIN sale s ON s.product = p.id AND s.count > 2 ORDER BY p.id, s.id", nil},
		{"SELECT p.id, s.id FROM product p FULL JOIN sale s ON s.id = p.id ORDER BY p.id, s.id", nil},
		{"SELECT id FROM product JOIN sale USING (id) ORDER BY id", nil},
		{"SELECT p.id, s.id FROM product p, sale s WHERE p.id = s.product AND s.id < 5 ORDER BY s.id", nil},
		{"SELECT p.id FROM product p CROSS JOIN part ORDER BY p.id", nil},
		{"SELECT p.name, sum(s.count * p.price) FROM product p JOIN sale s ON s.product = p.id GROUP BY p.id, p.name ORDER BY p.id", nil},
		{"SELECT id FROM product WHERE id IN (SELECT product FROM sale WHERE count > 2) ORDER BY id", nil},
		{"SELECT id FROM product p WHERE EXISTS (SELECT 1 FROM sale s WHERE s.product = p.id) ORDER BY id", nil},
		{"SELECT id, (SELECT count(*) FROM sale s WHERE s.product = p.id) FROM product p ORDER BY id", nil},
		{"SELECT x.id FROM (SELECT id FROM product WHERE id < 4) x ORDER BY x.id", nil},
		{"SELECT id FROM product WHERE price > (SELECT avg(price) FROM product) ORDER BY id", nil},
		{"WITH dear AS (SELECT id, price FROM product WHERE price > 20) SELECT count(*) FROM dear", nil},
		{"WITH a AS (SELECT id FROM product), b AS (SELECT a.id FROM a WHERE a.id < 5) SELECT id FROM b ORDER BY id", nil},
		{`SELECT "now", "user" FROM product ORDER BY id`, nil}, // columns that are named like clocks
		{`SELECT p."now" FROM product p WHERE p."user" = 'u1'`, nil},
		{"SELECT name FROM product WHERE name = 'it''s'", nil},
		{`SELECT id, "select" FROM shop."Odd Name"`, nil},
		{"SELECT id FROM unlogged", nil},
		{"SELECT id, v FROM part", nil},
		{"SELECT id, v FROM part_1", nil},
		{"-- a comment\nSELECT id /* another /* nested */ */ FROM product WHERE id = 9", nil},
		{"SELECT id FROM product WHERE id = 9;", nil},
		{"SELECT id FROM product WHERE id = 12345", nil}, // nothing
	}
}

// TestPGOrdinaryReadsAreCached checks that the set of what is cached isn't
// empty: a second call reaches the server 0 times, direct or prepared.
func TestPGOrdinaryReadsAreCached(t *testing.T) {
	e := newPG(t, pgOrdinary)
	for _, c := range pgOrdinaryReads() {
		e.same("miss", c.text, c.args...)
		if n := e.calls(c.text, func() { e.same("hit", c.text, c.args...) }); n != 0 {
			t.Errorf("%s %v: the second read made %d calls at the server", c.text, c.args, n)
		}
		stmt, err := e.db.PrepareContext(e.ctx, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		pgAskStmt(e.ctx, stmt, c.args...)
		if n := e.calls(c.text, func() { pgAskStmt(e.ctx, stmt, c.args...) }); n != 0 {
			t.Errorf("%s %v: the second prepared read made %d calls at the server", c.text, c.args, n)
		}
		stmt.Close()
	}
	s := e.cache.Stats()
	if s.Hits == 0 || s.NegativeHits == 0 || s.Entries == 0 || s.NegativeEntries == 0 || s.Bytes == 0 || s.NegativeBytes == 0 {
		t.Errorf("the figures don't show it: %+v", s)
	}
	if len(s.Bypasses) != 0 {
		t.Errorf("counted as bypassed: %v", s.Bypasses)
	}
}

// TestPGWishes checks what one call may wish for.
func TestPGWishes(t *testing.T) {
	e := newPG(t, pgOrdinary)
	const text = "SELECT id, stock FROM product WHERE id = 1"
	ask := func(f func() pgAnswer) int { return e.calls(text, func() { f() }) }
	direct := func() pgAnswer { return pgAsk(e.ctx, e.db, text) }
	e.warm(text)

	without := cachedpgx.WithoutCache(e.ctx)
	if n := ask(func() pgAnswer { return pgAsk(without, e.db, text) }); n != 1 {
		t.Errorf("WithoutCache: %d calls at the server, want 1", n)
	}
	off := "/* cachedpgx: off */ " + text
	for range 2 {
		if n := e.calls(off, func() { pgAsk(e.ctx, e.db, off) }); n != 1 {
			t.Errorf("the hint off: %d calls at the server, want 1", n)
		}
	}
	e.must(e.plain, "UPDATE product SET stock = 99 WHERE id = 1") // another's write
	refresh := cachedpgx.WithRefresh(e.ctx)
	if n := ask(func() pgAnswer { return pgAsk(refresh, e.db, text) }); n != 1 {
		t.Errorf("WithRefresh: %d calls at the server, want 1", n)
	}
	if n := ask(direct); n != 0 {
		t.Errorf("after WithRefresh: %d calls at the server, want 0", n)
	}
	e.same("after WithRefresh", text)

	e.must(e.plain, "UPDATE product SET stock = 100 WHERE id = 1")
	if err := e.cache.Flush(e.ctx); err != nil {
		t.Fatal(err)
	}
	e.same("after Flush", text)

	e.warm(text)
	e.cache.SetMode(cachedpgx.ModeOff)
	if n := ask(direct); n != 1 {
		t.Errorf("ModeOff: %d calls at the server, want 1", n)
	}
	e.cache.SetMode(cachedpgx.ModeInherit)
	if n := ask(direct); n != 0 {
		t.Errorf("on again: %d calls at the server, want 0", n)
	}
	e.cache.SetMode(cachedpgx.ModeMarked)
	if n := ask(direct); n != 1 {
		t.Errorf("ModeMarked, not marked: %d calls at the server, want 1", n)
	}
	marked := cachedpgx.WithTTL(e.ctx, time.Minute)
	pgAsk(marked, e.db, text)
	if n := ask(func() pgAnswer { return pgAsk(marked, e.db, text) }); n != 0 {
		t.Errorf("ModeMarked, marked: %d calls at the server, want 0", n)
	}
	hinted := "/* cachedpgx: ttl=1m */ " + text
	pgAsk(e.ctx, e.db, hinted)
	if n := e.calls(hinted, func() { pgAsk(e.ctx, e.db, hinted) }); n != 0 {
		t.Errorf("ModeMarked, with a hint: %d calls at the server, want 0", n)
	}
}

// TestPGAge checks that what others write is seen once the TTL is over, and that
// a wish for younger rows is heeded. Promise 4.
func TestPGAge(t *testing.T) {
	e := newPG(t, pgOrdinary, "cache_ttl=300ms", "cache_negative_ttl=150ms")
	for _, text := range []string{"SELECT stock FROM product WHERE id = 1", "SELECT stock FROM product WHERE id = 500"} {
		before := pgAsk(e.ctx, e.db, text)
		loaded := time.Now() // or earlier
		e.must(e.plain, "UPDATE product SET stock = stock + 1")
		e.must(e.plain, "INSERT INTO product VALUES (500, 'x', 1, 1, 1, true, '2024-01-01', '2024-01-01', 1, 'u', 'c') ON CONFLICT DO NOTHING")
		want := pgAsk(e.ctx, e.plain, text)
		e.eventually("what another has written is seen", func() bool {
			asked := time.Since(loaded)
			got := pgAsk(e.ctx, e.db, text)
			if pgDiff(before, got) == "" && asked > 300*time.Millisecond {
				t.Fatalf("%s: rows of before are served %v after their load began", text, asked)
			}
			return pgDiff(want, got) == ""
		})
	}
	const text = "SELECT stock FROM product WHERE id = 2"
	long := newPGOn(t, e.dsn, "")
	long.warm(text)
	loaded := time.Now()
	long.eventually("a caller who wants nothing older than 50ms gets a new load", func() bool {
		n := long.calls(text, func() { pgAsk(cachedpgx.WithTTL(long.ctx, 50*time.Millisecond), long.db, text) })
		if n == 0 && time.Since(loaded) > time.Second {
			t.Fatal("WithTTL takes rows that are older than it says")
		}
		return n == 1
	})
}
