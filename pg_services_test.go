package cachedpgx_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
)

// pgService is the database of one service, and what its server can do.
type pgService struct {
	*pgEnv
	version    int // 15
	extensions []string
}

func newPGService(t *testing.T, name string) *pgService {
	t.Helper()
	dsn := pgtest.DSN(t)
	s := &pgService{}
	s.version, s.extensions = pgServerOffers(t, dsn)
	s.pgEnv = newPGOn(t, dsn, serviceSchema(t, name, s.has))
	return s
}

func (s *pgService) has(extension string) bool { return slices.Contains(s.extensions, extension) }

// pgServerOffers asks for the server's major version and its extensions.
func pgServerOffers(t testing.TB, dsn string) (version int, extensions []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pgDeadline)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int / 10000, array_agg(name::text)
		FROM pg_available_extensions`).Scan(&version, &extensions)
	if err != nil {
		t.Fatal(err)
	}
	return version, extensions
}

// need leaves out what the server can't run; for want of an extension that a
// usual installation has, it says so, and with CI=true that is a failure.
func (s *pgService) need(t *testing.T, st serviceStatement) {
	t.Helper()
	if st.min > s.version {
		t.Skipf("needs PostgreSQL %d, and this is %d", st.min, s.version)
	}
	if st.needs == "" || s.has(st.needs) {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("the server has no extension %s", st.needs)
	}
	fmt.Fprintf(os.Stderr, "*** %s is SKIPPED: the server has no extension %s\n", t.Name(), st.needs)
	t.Skip()
}

// whyNot is what is known of why a statement goes uncached.
func (s *pgService) whyNot(text string, before map[string]uint64) string {
	var codes, reasons []string
	for code, n := range s.cache.Stats().Bypasses {
		if n > before[code] {
			codes = append(codes, code)
		}
	}
	if x, err := s.cache.Explain(s.ctx, text); err == nil {
		for _, r := range x.Reasons {
			reasons = append(reasons, r.Code.String()+" "+strconv.Quote(r.Detail))
		}
	}
	slices.Sort(codes)
	return fmt.Sprintf("bypassed for %s; Explain: %s", strings.Join(codes, ", "), strings.Join(reasons, ", "))
}

// TestPGServiceReads runs every read of the services: the miss and the hit equal
// what plain pgx gives, and the hit reaches no server, direct or prepared.
func TestPGServiceReads(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			s := newPGService(t, name)
			for _, st := range serviceStatements(t, name, "reads") {
				t.Run(st.name, func(t *testing.T) {
					s.need(t, st)
					s.readTwice(t, st)
				})
			}
		})
	}
}

func (s *pgService) readTwice(t *testing.T, st serviceStatement) {
	want := pgAsk(s.ctx, s.plain, st.text, st.args...)
	if want.Err != "" {
		t.Fatalf("plain pgx: %s", want.Err)
	}
	equal := func(what string, got pgAnswer) {
		t.Helper()
		if diff := pgDiff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	before := s.cache.Stats()
	equal("the first read", pgAsk(s.ctx, s.db, st.text, st.args...))
	calls := s.calls(st.text, func() { equal("the second read", pgAsk(s.ctx, s.db, st.text, st.args...)) })
	served := s.cache.Stats().Hits - before.Hits
	if st.may != "" && calls == 1 && served == 0 {
		t.Logf("not cached, as it may be (%s): %s", st.may, s.whyNot(st.text, before.Bypasses))
		return
	}
	if calls != 0 || served != 1 {
		t.Errorf("the second read made %d calls at the server, and %d were served from memory: %s",
			calls, served, s.whyNot(st.text, before.Bypasses))
		return
	}
	stmt, err := s.db.PrepareContext(s.ctx, st.text)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	equal("the first prepared read", pgAskStmt(s.ctx, stmt, st.args...)) // by a key of its own
	if calls := s.calls(st.text, func() { equal("the second prepared read", pgAskStmt(s.ctx, stmt, st.args...)) }); calls != 0 {
		t.Errorf("the second prepared read made %d calls at the server", calls)
	}
}

// TestPGServiceUncached runs what the services send and what must not be cached:
// every run reaches the server.
func TestPGServiceUncached(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			s := newPGService(t, name)
			s.db.SetMaxIdleConns(0) // a session that one has changed must not be met by the next
			for _, st := range serviceStatements(t, name, "uncached") {
				t.Run(st.name, func(t *testing.T) {
					s.need(t, st)
					s.reachesServer(t, st)
				})
			}
		})
	}
}

// pgHandle is a handle, or one session of it.
type pgHandle interface {
	pgQuerier
	pgExecer
}

func (s *pgService) reachesServer(t *testing.T, st serviceStatement) {
	run := func(h pgHandle) pgAnswer {
		if !st.exec {
			return pgAsk(s.ctx, h, st.text, st.args...)
		}
		_, err := h.ExecContext(s.ctx, st.text, st.args...)
		return pgAnswer{Err: pgError(err)}
	}
	// The values are of the moment; all else equals plain pgx's.
	equal := func(want, got pgAnswer) {
		t.Helper()
		want.Rows, got.Rows = nil, nil
		if diff := pgDiff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	var plain, cached pgHandle = s.plain, s.db
	if st.before != "" {
		e := s.on(t)
		p, c := e.session(s.plain), e.session(s.db)
		e.must(p, st.before)
		plain, cached = p, c
	}
	want := run(plain)
	if want.Err != "" {
		t.Fatalf("plain pgx: %s", want.Err)
	}
	if st.before != "" {
		s.on(t).must(plain, st.after)
		s.on(t).must(cached, st.before)
	}
	before := s.cache.Stats()
	for i := range 2 {
		if n := s.calls(st.text, func() { equal(want, run(cached)) }); n != 1 {
			t.Errorf("run %d made %d calls at the server, want 1", i+1, n)
		}
	}
	after := s.cache.Stats()
	if n := after.Hits - before.Hits; n != 0 {
		t.Errorf("%d were served from memory", n)
	}
	if st.before == "" && !st.exec {
		for _, code := range []string{"session-changed", "session-touched"} {
			if after.Bypasses[code] != before.Bypasses[code] {
				t.Errorf("counted under %s: what its session was, not what it is", code)
			}
		}
	}
	if st.before != "" {
		s.on(t).must(cached, st.after)
	}
}

// TestPGServiceMarks marks what must not be cached: a mark admits what is only
// time, and nothing else. What reads a date out of text it may admit or not.
func TestPGServiceMarks(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			s := newPGService(t, name)
			s.db.SetMaxIdleConns(0) // a session that one has changed must not be met by the next
			for _, st := range serviceStatements(t, name, "uncached") {
				if st.exec || st.before != "" || !st.mark && slices.Contains([]string{"clock", "date-word", "cast-from-text"}, st.why) {
					continue
				}
				t.Run(st.name, func(t *testing.T) {
					s.need(t, st)
					marked := cachedpgx.WithTTL(s.ctx, time.Minute)
					ask := func() int {
						return s.calls(st.text, func() {
							if got := pgAsk(marked, s.db, st.text, st.args...); got.Err != "" {
								t.Error(got.Err)
							}
						})
					}
					first, second := ask(), ask()
					if want := map[bool]int{false: 1, true: 0}[st.mark]; first != 1 || second != want {
						t.Errorf("%d and %d calls at the server, want 1 and %d: %s", first, second, want, s.whyNot(st.text, nil))
					}
				})
			}
		})
	}
}

// TestPGServiceExplain checks that Explain knows of every uncached statement
// that it is one, why, and whether a mark would admit it. What only an argument
// or a session's state bars, it can't see.
func TestPGServiceExplain(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			s := newPGService(t, name)
			for _, st := range serviceStatements(t, name, "uncached") {
				if st.why == "date-word" && len(st.args) > 0 || strings.HasPrefix(st.before, "SET ") {
					continue
				}
				t.Run(st.name, func(t *testing.T) {
					s.need(t, st)
					x, err := s.cache.Explain(s.ctx, st.text)
					if err != nil {
						t.Fatal(err)
					}
					if x.Cacheable || len(x.Reasons) == 0 {
						t.Errorf("cacheable: %t, reasons: %v", x.Cacheable, x.Reasons)
					}
					for _, r := range x.Reasons {
						if r.Code == "" || r.Fix == "" || st.mark && !r.Markable {
							t.Errorf("%s: code, fix or mark: %+v", st.why, r)
						}
					}
					if st.why == "write" && len(x.Writes) == 0 && !x.AllWrites {
						t.Error("it writes, and Explain names nothing")
					}
				})
			}
		})
	}
}
