package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// quiet is a Config whose lives are exact and whose warnings go nowhere.
func quiet() cachedpgx.Config {
	return cachedpgx.Config{
		Policy: cachedpgx.Policy{Jitter: cachedpgx.Off, TTL: time.Minute},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// openFake gives a handle over f that is closed when the test ends, and checks
// that nothing of it is left then.
func openFake(tb testing.TB, f *fakeServer, cfg cachedpgx.Config) (*sql.DB, *cachedpgx.Cache) {
	tb.Helper()
	db, err := cachedpgx.OpenDB(f, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
		if n := f.open(); n != 0 {
			tb.Errorf("%d server connections are open after Close", n)
		}
	})
	c, ok := cachedpgx.CacheOf(db)
	if !ok {
		tb.Fatal("CacheOf does not know its own handle")
	}
	return db, c
}

// product is the read that most tests ask.
const product = "SELECT name FROM product WHERE id = $1"

// long marks a read with a life that no test outlives.
func long(ctx context.Context) context.Context { return cachedpgx.WithTTL(ctx, time.Minute) }

// queryer is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// readAll gives every row of the first column.
func readAll[T any](ctx context.Context, db queryer, text string, args ...any) (got []T, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return got, err
		}
		got = append(got, v)
	}
	return got, errors.Join(rows.Err(), rows.Close())
}

// readInt reads one number, and fails the test when it can't.
func readInt(tb testing.TB, ctx context.Context, db queryer, text string, args ...any) int {
	tb.Helper()
	var n int
	if err := db.QueryRowContext(ctx, text, args...).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return n
}

// wantCalls checks how often a text has reached the server.
func wantCalls(tb testing.TB, f *fakeServer, text string, want int) {
	tb.Helper()
	if got := f.count(text); got != want {
		tb.Fatalf("the server was asked %d times, want %d: %s", got, want, text)
	}
}

// within fails the test, with every goroutine's stack, if work takes longer
// than d: a deadlock, then.
func within(tb testing.TB, d time.Duration, work func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
	case <-time.After(d):
		buf := make([]byte, 1<<20)
		tb.Fatalf("not done within %v\n%s", d, buf[:runtime.Stack(buf, true)])
	}
}
