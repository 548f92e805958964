package explain

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// counting lets the server count this database's statements from here on. A
// server without the library can't; pgtest's own have it where contrib is
// installed.
func counting(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var loaded bool
	if err := conn.QueryRow(t.Context(), `SELECT current_setting('pg_stat_statements.max', true) IS NOT NULL`).Scan(&loaded); err != nil {
		t.Fatal(err)
	}
	if !loaded {
		pgtest.GiveUp(t, errors.New("the server has not loaded pg_stat_statements"))
	}
	exec(t, conn, `CREATE EXTENSION pg_stat_statements`,
		`SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = current_database()), 0)`)
}

func workloadOf(t *testing.T, dsn string, opts Options) *Report {
	t.Helper()
	opts.DSN, opts.Workload = dsn, true
	if opts.Limit == 0 {
		opts.Limit = 1000
	}
	return object(t, opts)
}

func find(t *testing.T, report *Report, text string) Statement {
	t.Helper()
	i := slices.IndexFunc(report.Statements, func(s Statement) bool { return strings.HasPrefix(s.Text, text) })
	if i < 0 {
		t.Fatalf("no %q in %+v", text, report.Statements)
	}
	return report.Statements[i]
}

func TestWorkload(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := tables(t, dsn)
	counting(t, conn)
	for range 3 {
		exec(t, conn, `SELECT name FROM item WHERE id = 7`)
	}
	exec(t, conn,
		`SELECT name FROM item WHERE id = 8`,
		`SELECT name FROM item WHERE at < timestamptz '2030-01-01' + interval '1 day'`,
		`UPDATE item SET name = 'seven' WHERE id = 7`,
		`SET pg_stat_statements.track = 'all'`,
		`SELECT busy()`, // and what it runs within
		`RESET pg_stat_statements.track`,
		`BEGIN`, `COMMIT`)

	report := workloadOf(t, dsn, Options{})
	read := find(t, report, "SELECT name FROM item WHERE id = $1")
	if !read.Cacheable || read.Cost == nil || read.Calls != 4 || read.Rows != 4 || read.TotalMS <= 0 || len(read.QueryIDs) != 1 || read.Kind != "read" {
		t.Errorf("the read: %+v %+v", read, read.Cost)
	}
	// What the server's view shows of it is no SQL any more.
	if typed := find(t, report, "SELECT name FROM item WHERE at <"); !typed.Cacheable || !strings.Contains(typed.Text, "interval $") {
		t.Errorf("the read with typed literals: %+v", typed)
	}
	if write := find(t, report, "UPDATE item"); write.Cacheable || write.Calls != 1 || write.Kind != "write" {
		t.Errorf("the write: %+v", write)
	}
	find(t, report, "BEGIN")
	var version int
	if err := conn.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int / 10000`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	within := slices.ContainsFunc(report.Statements, func(s Statement) bool { return strings.HasPrefix(s.Text, "INSERT INTO called") })
	if within != (version < 14) {
		t.Errorf("what a function ran is there: %v", within)
	}
	if !slices.IsSortedFunc(report.Statements, func(a, b Statement) int {
		switch {
		case a.TotalMS > b.TotalMS:
			return -1
		case a.TotalMS < b.TotalMS:
			return 1
		}
		return 0
	}) {
		t.Error("the most costly are not first")
	}

	sum := report.Summary
	var calls, cached int64
	for _, s := range report.Statements {
		calls += s.Calls
		if s.Cacheable {
			cached += s.Calls
		}
	}
	if sum.Explained.Calls != calls || sum.Cacheable.Calls != cached || sum.Server.All.Calls != calls || sum.Server.Hidden.Statements != 0 ||
		sum.Explained.Statements != int64(len(report.Statements)) {
		t.Errorf("summary %+v of %d calls, %d of them cached", sum, calls, cached)
	}
	if since := sum.Server.Since; version >= 14 && (since == nil || since.After(time.Now().Add(time.Hour))) {
		t.Errorf("since %v", since)
	}

	costly := workloadOf(t, dsn, Options{Limit: 2})
	if len(costly.Statements) != 2 || costly.Summary.Explained.Statements != 2 || costly.Summary.Server.All.Statements <= 2 {
		t.Errorf("with a limit of 2: %+v", costly.Summary)
	}

	var out bytes.Buffer
	if err := Run(t.Context(), Options{DSN: dsn, Workload: true, Limit: 100, Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SELECT name FROM item WHERE id = $1", "of these", "cacheable", "Why not, by reason"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Another role's statements are its own, and its texts are hidden from who has
// no right to them.
func TestWorkloadOfOthers(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := tables(t, dsn)
	counting(t, conn)
	exec(t, conn, `SELECT name FROM item WHERE id = 7`)
	role, theirs := newRole(t, conn, dsn)
	exec(t, conn, `GRANT SELECT ON item TO `+role)
	them := connect(t, theirs)
	exec(t, them, `SELECT id FROM item WHERE name = 'x'`)

	mine := workloadOf(t, theirs, Options{})
	find(t, mine, "SELECT id FROM item")
	if mine.Summary.Server.Hidden.Statements != 0 ||
		slices.ContainsFunc(mine.Statements, func(s Statement) bool { return strings.HasPrefix(s.Text, "SELECT name") }) {
		t.Errorf("a role sees another's: %+v", mine)
	}
	every := workloadOf(t, theirs, Options{Everyone: true})
	find(t, every, "SELECT id FROM item")
	if h := every.Summary.Server.Hidden; h.Statements == 0 || h.Calls < h.Statements ||
		slices.ContainsFunc(every.Statements, func(s Statement) bool { return strings.Contains(s.Text, "<insufficient") }) {
		t.Errorf("hidden %+v, statements %+v", h, every.Statements)
	}
	var out bytes.Buffer
	if err := Run(t.Context(), Options{DSN: theirs, Workload: true, Limit: 9, Everyone: true, Out: &out}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "GRANT pg_read_all_stats") {
		t.Errorf("nothing is said of hidden texts:\n%s", out.String())
	}

	if s := workloadOf(t, dsn, Options{}); slices.ContainsFunc(s.Statements, func(s Statement) bool { return strings.HasPrefix(s.Text, "SELECT id FROM item") }) {
		t.Error("a superuser is shown others' statements unasked")
	}
	all := workloadOf(t, dsn, Options{Everyone: true})
	find(t, all, "SELECT id FROM item")
	find(t, all, "SELECT name FROM item")

	exec(t, conn, `REVOKE SELECT ON pg_stat_statements FROM PUBLIC`)
	wantAdvice(t, theirs, "may not read pg_stat_statements", "GRANT SELECT ON public.pg_stat_statements")
}

// newRole makes a role that may connect, and gives its DSN.
func newRole(t *testing.T, conn *pgx.Conn, dsn string) (name, roleDSN string) {
	t.Helper()
	name = "explain_" + strings.ToLower(rand.Text()[:12])
	exec(t, conn, `CREATE ROLE `+name+` LOGIN PASSWORD 'geheim'`)
	t.Cleanup(func() {
		ctx := context.Background() // t's own has ended
		admin, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Error(err)
			return
		}
		defer admin.Close(ctx)
		for _, s := range []string{`DROP OWNED BY ` + name, `DROP ROLE ` + name} {
			if _, err := admin.Exec(ctx, s); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	})
	return name, withUser(t, dsn, name, "geheim")
}

// What an old pg_upgrade left: the extension at its oldest version, with names
// of its own.
func TestWorkloadOfOldExtension(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := tables(t, dsn)
	counting(t, conn)
	exec(t, conn, `DROP EXTENSION pg_stat_statements`, `CREATE EXTENSION pg_stat_statements VERSION '1.4'`,
		`SELECT name FROM item WHERE id = 7`)
	if read := find(t, workloadOf(t, dsn, Options{}), "SELECT name FROM item WHERE id = $1"); read.Calls != 1 || read.TotalMS <= 0 || !read.Cacheable {
		t.Errorf("%+v %+v", read, read.Cost)
	}
}

// The view may be in any schema.
func TestWorkloadInOtherSchema(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := tables(t, dsn)
	counting(t, conn)
	exec(t, conn, `CREATE SCHEMA "Its own"`, `ALTER EXTENSION pg_stat_statements SET SCHEMA "Its own"`, `SELECT name FROM item WHERE id = 7`)
	find(t, workloadOf(t, dsn, Options{}), "SELECT name FROM item WHERE id = $1")
}

func TestWorkloadWithoutView(t *testing.T) {
	wantAdvice(t, pgtest.DSN(t), "has no pg_stat_statements", "CREATE EXTENSION pg_stat_statements", "--file")
}

// What the view itself says where the library is not loaded.
func TestWorkloadNotLoaded(t *testing.T) {
	refused := &pgconn.PgError{Code: "55000", Message: `pg_stat_statements must be loaded via "shared_preload_libraries"`}
	err := (&statsView{schema: "public"}).explain(refused)
	if !strings.Contains(err.Error(), "shared_preload_libraries = 'pg_stat_statements'") || !errors.Is(err, error(refused)) {
		t.Errorf("error %v", err)
	}
}

func wantAdvice(t *testing.T, dsn string, want ...string) {
	t.Helper()
	err := Run(t.Context(), Options{DSN: dsn, Workload: true, Limit: 10, Out: &bytes.Buffer{}})
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in the error %v", w, err)
		}
	}
}
