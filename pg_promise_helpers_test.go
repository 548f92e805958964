package cachedpgx_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

// What the issue and the design promise of verdicts, tried from outside: the
// files pg_promise_*_test.go know only the public names, and count on the wire.

var promiseConfigs atomic.Int64

// promisePG is newPG under a Config, which reaches the driver by name.
func promisePG(t testing.TB, schema string, cfg cachedpgx.Config, params ...string) *pgEnv {
	t.Helper()
	name := fmt.Sprintf("promise_%d", promiseConfigs.Add(1))
	cachedpgx.RegisterConfig(name, cfg)
	return newPG(t, schema, append(params, "cache_config="+name)...)
}

// promiseWhy is what Explain has against a statement.
func (e *pgEnv) promiseWhy(ctx context.Context, text string) string {
	x, err := e.cache.Explain(ctx, text)
	if err != nil {
		return "Explain: " + err.Error()
	}
	if x.Cacheable {
		return "Explain: cacheable"
	}
	var why []string
	for _, r := range x.Reasons {
		why = append(why, fmt.Sprintf("%s %q", r.Code, r.Detail))
	}
	return "Explain: " + strings.Join(why, ", ")
}

// promiseRun is one way of running a read, under its own name.
type promiseRun struct {
	way string
	run func() pgAnswer
}

// promiseWays are the ways that a read is sent. The session is taken anew for
// each call of promiseWays, since a read may change it.
func (e *pgEnv) promiseWays(ctx context.Context, text string, args ...any) []promiseRun {
	e.Helper()
	ways := []promiseRun{{"direct", func() pgAnswer { return pgAsk(ctx, e.db, text, args...) }}}
	if stmt, err := e.db.PrepareContext(ctx, text); err == nil {
		e.Cleanup(func() { _ = stmt.Close() })
		ways = append(ways, promiseRun{"prepared", func() pgAnswer { return pgAskStmt(ctx, stmt, args...) }})
	}
	return append(ways, promiseRun{"in a session", func() (a pgAnswer) {
		conn, err := e.db.Conn(ctx)
		if err != nil {
			return pgAnswer{Err: err.Error()}
		}
		defer conn.Close()
		return pgAsk(ctx, conn, text, args...)
	}})
}

// promiseReaches fails unless every run of a read reaches the server, whichever
// way it is sent.
func (e *pgEnv) promiseReaches(ctx context.Context, text string, args ...any) {
	e.Helper()
	for _, w := range e.promiseWays(ctx, text, args...) {
		for time := range 3 {
			var got pgAnswer
			n := e.calls(text, func() { got = w.run() })
			if got.Err != "" {
				e.Errorf("%s %v, %s: %s", pgShort(text), args, w.way, got.Err)
				return
			}
			if n != 1 {
				e.Errorf("SERVED FROM MEMORY: %s %v, %s: time %d made %d calls at the server, want 1; %s",
					pgShort(text), args, w.way, time, n, e.promiseWhy(ctx, text))
				break
			}
		}
	}
}

// promiseKeeps fails unless the second run of a read comes from memory, whichever
// way it is sent, and equals what plain pgx gives.
func (e *pgEnv) promiseKeeps(ctx context.Context, text string, args ...any) {
	e.Helper()
	want := pgAsk(e.ctx, e.plain, text, args...)
	if want.Err != "" {
		e.Errorf("%s: plain pgx: %s", pgShort(text), want.Err)
		return
	}
	for _, w := range e.promiseWays(ctx, text, args...) {
		if diff := pgDiff(want, w.run()); diff != "" {
			e.Errorf("%s, %s, the first read: %s", pgShort(text), w.way, diff)
		}
		var got pgAnswer
		if n := e.calls(text, func() { got = w.run() }); n != 0 {
			e.Errorf("NOT CACHED: %s %v, %s: the second read made %d calls at the server; %s",
				pgShort(text), args, w.way, n, e.promiseWhy(ctx, text))
			return
		}
		if diff := pgDiff(want, got); diff != "" {
			e.Errorf("%s, %s, the second read: %s", pgShort(text), w.way, diff)
		}
	}
}

// promiseKept says whether the second of two reads came from memory.
func (e *pgEnv) promiseKept(ctx context.Context, q pgQuerier, text string, args ...any) bool {
	e.Helper()
	for range 2 {
		n := e.calls(text, func() {
			if got := pgAsk(ctx, q, text, args...); got.Err != "" {
				e.Fatalf("%s: %s", pgShort(text), got.Err)
			}
		})
		if n == 0 {
			return true
		}
	}
	return false
}

// promiseCodes are the codes of a statement's reasons, sorted, each once.
func promiseCodes(x cachedpgx.Explanation) string {
	var codes []string
	for _, r := range x.Reasons {
		codes = append(codes, r.Code.String())
	}
	slices.Sort(codes)
	return strings.Join(slices.Compact(codes), " ")
}

func (e *pgEnv) promiseExplain(ctx context.Context, text string) cachedpgx.Explanation {
	e.Helper()
	x, err := e.cache.Explain(ctx, text)
	if err != nil {
		e.Fatalf("Explain(%s): %v", pgShort(text), err)
	}
	return x
}

// promiseTexts are all texts that the handle has run or prepared, with counts.
func (e *pgEnv) promiseTexts() map[string]int {
	e.wire.mu.Lock()
	defer e.wire.mu.Unlock()
	all := map[string]int{}
	for text, n := range e.wire.mu.ran {
		all[text] += n
	}
	return all
}

// promiseNew are the texts that f makes the handle run at the server.
func (e *pgEnv) promiseNew(f func()) map[string]int {
	before := e.promiseTexts()
	f()
	after := e.promiseTexts()
	for text, n := range before {
		if after[text] -= n; after[text] == 0 {
			delete(after, text)
		}
	}
	return after
}

// promiseUser is the same database as somebody else.
func promiseUser(t testing.TB, dsn, role string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, role)
	return u.String()
}

var _ pgQuerier = (*sql.Conn)(nil)

// promiseNeeds14 skips what is written with PostgreSQL 14's multiranges, parsed
// function bodies and its like.
func promiseNeeds14(t *testing.T) {
	t.Helper()
	if version, _ := pgServerOffers(t, pgtest.DSN(t)); version < 14 {
		t.Skip("needs PostgreSQL 14")
	}
}
