package cachedpgx_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

const (
	pgBenchRead  = "SELECT id, name, price, stock FROM bench WHERE id = $1"
	pgBenchList  = "SELECT id, name, price, stock FROM bench WHERE id <= $1 ORDER BY id"
	pgBenchWrite = "UPDATE bench SET stock = stock + 1 WHERE id = $1"
)

// pgBench gives both drivers' handles to one table, over a unix socket where
// one can be had.
func pgBench(b *testing.B) (plain, cached *sql.DB) {
	b.Helper()
	base := pgtest.NewDatabase(b)
	dsn := base.SocketDSN
	if dsn == "" {
		dsn = base.DSN
	}
	plain, cached = pgOpen(b, "pgx", dsn), pgOpen(b, "cachedpgx", pgWith(b, dsn, "cache_ttl", "1h"))
	for _, text := range []string{
		"CREATE TABLE bench (id int PRIMARY KEY, name text, price float8, stock int)",
		"INSERT INTO bench SELECT g, 'product ' || g, g * 1.5, g FROM generate_series(1, 1000) g",
		"ANALYZE bench",
	} {
		if _, err := cached.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	return plain, cached
}

func pgBenchQuery(b *testing.B, ctx context.Context, db *sql.DB, text string, arg int) {
	rows, err := db.QueryContext(ctx, text, arg)
	if err != nil {
		b.Fatal(err)
	}
	var id, stock int
	var name string
	var price float64
	for rows.Next() {
		if err := rows.Scan(&id, &name, &price, &stock); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPGBeside runs pgx and cachedpgx in turns and reports the ratio of
// their median times, so that what else the machine does falls on both.
func BenchmarkPGBeside(b *testing.B) {
	plain, cached := pgBench(b)
	ctx, background := b.Context(), context.Background()
	refresh := cachedpgx.WithRefresh
	for _, s := range []struct {
		name       string
		pgx, other func(b *testing.B)
	}{
		{"miss, 1 row", func(b *testing.B) { pgBenchQuery(b, background, plain, pgBenchRead, 7) },
			func(b *testing.B) { pgBenchQuery(b, refresh(background), cached, pgBenchRead, 7) }},
		{"miss, 1 row, cancellable", func(b *testing.B) { pgBenchQuery(b, ctx, plain, pgBenchRead, 7) },
			func(b *testing.B) { pgBenchQuery(b, refresh(ctx), cached, pgBenchRead, 7) }},
		{"miss, 1000 rows", func(b *testing.B) { pgBenchQuery(b, background, plain, pgBenchList, 1000) },
			func(b *testing.B) { pgBenchQuery(b, refresh(background), cached, pgBenchList, 1000) }},
		{"write", func(b *testing.B) { pgBenchExec(b, plain, 7) }, func(b *testing.B) { pgBenchExec(b, cached, 8) }},
	} {
		b.Run(s.name, func(b *testing.B) {
			var one, other []time.Duration
			for b.Loop() {
				start := time.Now()
				s.pgx(b)
				between := time.Now()
				s.other(b)
				one, other = append(one, between.Sub(start)), append(other, time.Since(between))
			}
			slices.Sort(one)
			slices.Sort(other)
			b.ReportMetric(float64(other[len(other)/2])/float64(one[len(one)/2]), "×pgx")
		})
	}
}

func pgBenchExec(b *testing.B, db *sql.DB, arg int) {
	if _, err := db.ExecContext(context.Background(), pgBenchWrite, arg); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPG times one goroutine. Compare the subjects of one run, by their
// medians over -count.
func BenchmarkPG(b *testing.B) {
	plain, cached := pgBench(b)
	ctx := b.Context() // it can end
	background := context.Background()
	for _, s := range []struct {
		name string
		ctx  context.Context
		db   *sql.DB
		text string
		arg  int
	}{
		{"hit, 1 row/pgx", background, plain, pgBenchRead, 7},
		{"hit, 1 row/cachedpgx", background, cached, pgBenchRead, 7},
		{"hit, 1 row/cachedpgx, cancellable", ctx, cached, pgBenchRead, 7},
		{"hit, 100 rows/pgx", background, plain, pgBenchList, 100},
		{"hit, 100 rows/cachedpgx", background, cached, pgBenchList, 100},
		{"miss, 1 row/pgx", background, plain, pgBenchRead, 7},
		{"miss, 1 row/cachedpgx", cachedpgx.WithRefresh(background), cached, pgBenchRead, 7},
		{"miss, 1 row/pgx, cancellable", ctx, plain, pgBenchRead, 7},
		{"miss, 1 row/cachedpgx, cancellable", cachedpgx.WithRefresh(ctx), cached, pgBenchRead, 7},
		{"miss, 1000 rows/pgx", background, plain, pgBenchList, 1000},
		{"miss, 1000 rows/cachedpgx", cachedpgx.WithRefresh(background), cached, pgBenchList, 1000},
	} {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pgBenchQuery(b, s.ctx, s.db, s.text, s.arg)
			}
		})
	}
	for name, db := range map[string]*sql.DB{"write/pgx": plain, "write/cachedpgx": cached} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pgBenchExec(b, db, 7)
			}
		})
	}
}

// BenchmarkPGFirst measures a text that was never seen: over names that are
// known, and over a table that is not, each beside plain pgx with the same
// texts, in turns. It reports ratios. Use -benchtime=1000x.
func BenchmarkPGFirst(b *testing.B) {
	const tables = 2000
	for _, known := range []bool{true, false} {
		name := map[bool]string{true: "known", false: "unknown"}[known]
		b.Run(name, func(b *testing.B) {
			e := newPG(b, fmt.Sprintf(`DO $$ BEGIN FOR i IN 0..%d LOOP EXECUTE format('CREATE TABLE item_%%s (id int PRIMARY KEY, name text, price numeric, at timestamptz)', i); END LOOP; END $$`, tables-1))
			e.plain.SetMaxOpenConns(1)
			pgAsk(e.ctx, e.plain, "SELECT id FROM item_0")
			e.warm("SELECT id FROM item_0")
			var plain, cached time.Duration
			n := 0
			for b.Loop() {
				n++
				table := "item_0"
				if !known {
					table = fmt.Sprintf("item_%d", n%tables)
				}
				text := fmt.Sprintf("SELECT id, name, price FROM %s WHERE id = $1 AND price > %d ORDER BY at LIMIT 10", table, n)
				start := time.Now()
				pgAsk(e.ctx, e.plain, text, 1)
				between := time.Now()
				pgAsk(e.ctx, e.db, text, 1)
				plain, cached = plain+between.Sub(start), cached+time.Since(between)
			}
			b.ReportMetric(float64(cached)/float64(plain), "x-pgx")
			b.ReportMetric(float64(plain)/float64(n), "pgx-ns/op")
			b.ReportMetric(float64(cached)/float64(n), "cached-ns/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPGStatements measures what remembered texts take: MaxStatements of
// them, each judged.
func BenchmarkPGStatements(b *testing.B) {
	e := newPG(b, "CREATE TABLE item (id int PRIMARY KEY, name text, price numeric, at timestamptz)", "cache_ttl=1ms")
	for b.Loop() {
		before := heap()
		for i := range 10_000 {
			pgAsk(e.ctx, e.db, fmt.Sprintf("SELECT id, name, price FROM item WHERE id = $1 AND name = $2 AND price > %d ORDER BY at LIMIT 10", i), 1, "a")
		}
		b.ReportMetric(float64(heap()-before)/10_000, "B/text")
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
