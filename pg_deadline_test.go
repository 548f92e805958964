package cachedpgx_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// TestPGDeadlineOfFirstRead has the catalog not answer. A read with a deadline,
// which plain pgx would answer in time, waits for that only so long that it can
// still ask for its rows; the next ones are cached once the catalog answers.
// Promise 7.
func TestPGDeadlineOfFirstRead(t *testing.T) {
	e := newPG(t, "CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1), (2)")
	const text = "SELECT id FROM item WHERE id = $1"
	release := e.lock("pg_catalog.pg_policy") // which only the question reads
	read := func(arg any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(e.ctx, 4*time.Second)
		defer cancel()
		if got, want := pgAsk(ctx, e.db, text, arg), pgAsk(e.ctx, e.plain, text, arg); pgDiff(want, got) != "" {
			t.Errorf("%v: %s", arg, pgDiff(want, got))
		}
	}
	read(1)
	read(pgtype.Int4{Int32: 2, Valid: true})
	if s := e.cache.Stats(); s.Bypasses["no-catalog"] == 0 {
		t.Fatalf("the catalog was asked: this tries nothing: %v", s.Bypasses)
	}
	release()
	e.eventually("it is cached", func() bool {
		return e.calls(text, func() { read(1) }) == 0
	})
}
