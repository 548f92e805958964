package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// tables makes a small shop in the test's database.
func tables(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn := connect(t, dsn)
	exec(t, conn,
		`CREATE TABLE item (id int PRIMARY KEY, name text, at timestamptz DEFAULT now())`,
		`INSERT INTO item SELECT i, 'item ' || i FROM generate_series(1, 9) i`,
		`CREATE TABLE called (n int)`,
		`CREATE SEQUENCE counter`,
		`CREATE FUNCTION busy() RETURNS int LANGUAGE sql AS 'INSERT INTO called VALUES (1) RETURNING n'`,
		`CREATE FUNCTION liar() RETURNS int STABLE LANGUAGE plpgsql AS
			'BEGIN PERFORM nextval(''counter''); PERFORM pg_notify(''heard'', ''''); RETURN 1; END'`,
		`CREATE VIEW hidden_call AS SELECT busy() AS n, id FROM item`)
	return conn
}

// object runs explain and reads what --json prints.
func object(t *testing.T, opts Options) *Report {
	t.Helper()
	var out bytes.Buffer
	opts.JSON, opts.Out = true, &out
	if err := Run(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	report := &Report{}
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(report); err != nil {
		t.Fatal(err)
	}
	return report
}

func codes(s Statement) []string {
	var all []string
	for _, why := range s.Reasons {
		all = append(all, why.Code)
	}
	return all
}

func TestVerdicts(t *testing.T) {
	dsn := pgtest.DSN(t)
	tables(t, dsn)
	for _, c := range []struct {
		name, text, kind, verdict string
		reason                    string // among the codes
		relation, write           string
	}{
		{"a read", "SELECT name FROM item WHERE id = $1", "read", "yes", "", "public.item", ""},
		{"a clock", "SELECT name FROM item WHERE at < now()", "read", "if marked", "volatile-function", "public.item", ""},
		{"a volatile function", "SELECT busy() FROM item", "read", "no", "volatile-function", "", ""},
		{"a row lock", "SELECT name FROM item FOR UPDATE", "lock", "no", "row-lock", "", ""},
		{"a write", "DELETE FROM item", "write", "no", "write", "", "public.item"},
		{"a session's", "SET search_path = shop", "session", "no", "", "", ""},
		{"a transaction's", "BEGIN", "transaction", "no", "", "", ""},
		{"several", "SELECT 1; SELECT 2", "unknown", "no", "several-statements", "", ""},
		{"no table", "SELECT name FROM nowhere", "read", "no", "", "", ""},
		{"no SQL", "SELEKT 1", "unknown", "no", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := object(t, Options{DSN: dsn, Statements: []string{c.text}})
			got := report.Statements[0]
			if got.Text != c.text || got.Kind != c.kind || got.Verdict != c.verdict || got.Cacheable != (c.verdict == "yes") {
				t.Errorf("%+v; want kind %s and verdict %s", got, c.kind, c.verdict)
			}
			if (len(got.Reasons) == 0) != got.Cacheable || c.reason != "" && !slices.Contains(codes(got), c.reason) {
				t.Errorf("reasons %+v; want %q among them", got.Reasons, c.reason)
			}
			if c.relation != "" && !slices.Contains(got.Relations, c.relation) {
				t.Errorf("relations %q; want %q among them", got.Relations, c.relation)
			}
			if c.write != "" && !slices.Contains(got.Writes, c.write) && !got.AllWrites {
				t.Errorf("writes %q; want %q among them", got.Writes, c.write)
			}
			if got.Policy.Mode != "auto" || got.Policy.TTL != "30s" {
				t.Errorf("policy %+v; want the default one", got.Policy)
			}
		})
	}
}

// The DSN's cache_ parameters count, and so does the place of a statement in
// its file.
func TestFile(t *testing.T) {
	dsn := pgtest.DSN(t)
	tables(t, dsn)
	file := "\ufeff-- a file\nSELECT name FROM item WHERE name = ';';\n\nBEGIN;\nDELETE FROM item;\nCOMMIT;\n"
	report := object(t, Options{DSN: withParam(t, dsn, "cache_ttl", "7s"), File: strings.NewReader(file)})
	var lines []int
	for _, s := range report.Statements {
		lines = append(lines, s.Line)
	}
	if !slices.Equal(lines, []int{1, 4, 5, 6}) {
		t.Errorf("lines %v", lines)
	}
	if first := report.Statements[0]; !first.Cacheable || first.Policy.TTL != "7s" {
		t.Errorf("%+v; want it cacheable, for 7s", first)
	}
	if s := report.Summary; s.Explained.Statements != 4 || s.Cacheable.Statements != 1 || s.Reads.Statements != 1 ||
		s.Explained.Cost != nil || s.Server != nil {
		t.Errorf("summary %+v", s)
	}
	if err := Run(t.Context(), Options{DSN: dsn, File: strings.NewReader("-- nothing\n"), Out: &bytes.Buffer{}}); err == nil {
		t.Error("a file without a statement is no error")
	}
}

func TestFailUncached(t *testing.T) {
	dsn := pgtest.DSN(t)
	tables(t, dsn)
	for _, c := range []struct {
		name string
		text string
		want error
	}{
		{"reads that are cached, and a write", "SELECT name FROM item; INSERT INTO item VALUES (10)", nil},
		{"a read that is not", "SELECT name FROM item; SELECT busy() FROM item", ErrUncached},
		{"a read that is not without a mark", "SELECT now() FROM item", ErrUncached},
		{"what is not understood", "SELEKT 1", ErrUncached},
		{"a row lock, which none would want cached", "SELECT name FROM item FOR UPDATE", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(t.Context(), Options{DSN: dsn, File: strings.NewReader(c.text), FailUncached: true, Out: &out})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if out.Len() == 0 {
				t.Error("there is no report")
			}
		})
	}
}

// Nothing that explain is given runs, whatever it is.
func TestNothingRuns(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := tables(t, dsn)
	exec(t, conn, `LISTEN heard`)
	statements := []string{
		"DELETE FROM item", "UPDATE item SET name = 'x'", "INSERT INTO item VALUES (99)", "TRUNCATE item", "DROP TABLE item",
		"WITH d AS (DELETE FROM item RETURNING id) SELECT * FROM d",
		"SELECT busy()", "SELECT liar() FROM item", "SELECT n FROM hidden_call", "SELECT nextval('counter')",
		"EXPLAIN ANALYZE DELETE FROM item", "DO $$ BEGIN DELETE FROM item; END $$", "CALL busy()",
		"COPY item TO PROGRAM 'true'", "CREATE TABLE made AS SELECT busy()", "SELECT busy() INTO made",
		"SELECT pg_notify('heard', 'x')", "SELECT name FROM item WHERE id = busy()", "SELECT pg_advisory_lock(4711)",
		"SELECT set_config('search_path', 'x', false)", "SELECT 1; DELETE FROM item", "PREPARE p AS DELETE FROM item", "EXECUTE p",
		"VALUES (busy())", "DECLARE c CURSOR WITH HOLD FOR SELECT busy()", "SELECT $1::int / 0, busy() FROM item LIMIT busy()",
	}
	before := state(t, conn)
	report := object(t, Options{DSN: dsn, Statements: statements})
	file := strings.Join(statements, ";\n")
	object(t, Options{DSN: dsn, File: strings.NewReader(file)})
	if after := state(t, conn); !reflect.DeepEqual(after, before) {
		t.Errorf("before\n%v\nafter\n%v", before, after)
	}
	if got := len(report.Statements); got != len(statements) {
		t.Errorf("%d of %d statements were explained", got, len(statements))
	}
	for _, s := range report.Statements {
		if s.Cacheable {
			t.Errorf("%s: cacheable", s.Text)
		}
	}
	if n, err := conn.WaitForNotification(ended(t)); err == nil {
		t.Errorf("heard %+v", n)
	}
}

// ended is a context that has ended: what has arrived is read, and nothing
// waited for.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// state is whatever the statements of TestNothingRuns would change.
func state(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT 'item ' || id || coalesce(name, '') || ctid || xmin FROM item
		UNION ALL SELECT 'called ' || n FROM called
		UNION ALL SELECT 'counter ' || last_value || is_called FROM counter
		UNION ALL SELECT 'relation ' || relname || relfilenode FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711
		UNION ALL SELECT 'session' FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state = 'active'
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The server itself counts what runs: of the statements that explain is given,
// none.
func TestTheServerCountsNone(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn := tables(t, dsn)
	counting(t, conn)
	object(t, Options{DSN: dsn, Statements: []string{
		"SELECT name AS counted_here FROM item", "DELETE FROM item WHERE name = 'counted_here'", "SELECT busy() AS counted_here",
	}})
	var texts []string
	rows, err := conn.Query(t.Context(), `SELECT query FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query ~ 'FROM item|busy'`)
	if err == nil {
		texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if strings.HasPrefix(text, "SELECT name AS") || strings.HasPrefix(text, "DELETE FROM item") || strings.HasPrefix(text, "SELECT busy() AS") {
			t.Errorf("it ran: %s", text)
		}
	}
}

// Of a DSN that can't be read, or that the server refuses, an error shows no
// password.
func TestErrorsHoldNoPassword(t *testing.T) {
	server := pgtest.Shared(t).DSN()
	for _, dsn := range []string{
		"postgres://u:geheim%zz@127.0.0.1/db",
		"postgres://u:geh eim@127.0.0.1/db",
		"postgres://u:geheim@127.0.0.1:99x/db",
		"postgres://u:geheim@127.0.0.1:1/db",
		"postgres://u:geheim@[::1/db",
		"postgres://u:geheim@127.0.0.1/db?cache_ttl=never",
		"postgres://u:geheim@127.0.0.1/db?cache_config=nobody",
		"postgres://u:geheim@127.0.0.1/db?sslmode=nonsense",
		"postgres://u@127.0.0.1/db?password=geheim%zz",
		"host=127.0.0.1 password='geheim",
		"host=127.0.0.1 port=1 password=geheim",
		"host=127.0.0.1 port=1 password=geheim nonsense",
		"mysql://u:geheim@127.0.0.1/db",
		"u:geheim@tcp(127.0.0.1)/db",
		withUser(t, server, "nobody_of_this_name", "geheim"),
	} {
		err := Run(t.Context(), Options{DSN: dsn, Statements: []string{"SELECT 1"}, Out: &bytes.Buffer{}})
		if err == nil || strings.Contains(err.Error(), "geh") || strings.Contains(err.Error(), "eim") {
			t.Errorf("%s: error %v", dsn, err)
		}
		var pg *pgconn.PgError
		if dsn == withUser(t, server, "nobody_of_this_name", "geheim") && !errors.As(err, &pg) {
			t.Errorf("the server did not refuse it: %v", err)
		}
	}
}

func withParam(t *testing.T, dsn, key, value string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func withUser(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
