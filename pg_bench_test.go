package cachedpgx_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

const (
	pgBenchRead  = "SELECT id, name, price, stock FROM bench WHERE id = $1"
	pgBenchList  = "SELECT id, name, price, stock FROM bench WHERE id <= $1 ORDER BY id"
	pgBenchWrite = "UPDATE bench SET stock = stock + 1 WHERE id = $1"
)

// BenchmarkPG times one goroutine against a server on a unix socket, where it
// can be had. Compare the subjects of one run, by their medians over -count.
func BenchmarkPG(b *testing.B) {
	base := pgtest.NewDatabase(b)
	dsn := base.SocketDSN
	if dsn == "" {
		dsn = base.DSN
	}
	plain, cached := pgOpen(b, "pgx", dsn), pgOpen(b, "cachedpgx", pgWith(b, dsn, "cache_ttl", "1h"))
	ctx := b.Context() // it can end
	for _, text := range []string{
		"CREATE TABLE bench (id int PRIMARY KEY, name text, price float8, stock int)",
		"INSERT INTO bench SELECT g, 'product ' || g, g * 1.5, g FROM generate_series(1, 1000) g",
		"ANALYZE bench",
	} {
		if _, err := cached.ExecContext(ctx, text); err != nil {
			b.Fatal(err)
		}
	}
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
				rows, err := s.db.QueryContext(s.ctx, s.text, s.arg)
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
		})
	}
	for name, db := range map[string]*sql.DB{"write/pgx": plain, "write/cachedpgx": cached} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := db.ExecContext(background, pgBenchWrite, 7); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
