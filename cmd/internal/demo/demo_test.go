package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestShort runs the demo from end to end on a database of the user's: all that
// it claims holds, and nothing is left.
func TestShort(t *testing.T) {
	for _, c := range []struct {
		name, counted string
		prepare       string
	}{
		{"counted by a tracer", "by a tracer under both drivers (this database has no pg_stat_statements)", "SELECT 1"},
		{"counted by the server", "by pg_stat_statements", "CREATE EXTENSION pg_stat_statements"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dsn := pgtest.DSN(t)
			admin := connect(t, dsn)
			if _, err := admin.Exec(t.Context(), c.prepare); err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			before := objects(t, admin)
			var out bytes.Buffer
			if err := Run(t.Context(), Options{DSN: dsn, Out: &out, Short: true}); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
			fits(t, out.String())
			if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, c.counted) {
				t.Errorf("it was not counted %q:\n%s", c.counted, out.String())
			}
			for _, heading := range []string{"1. Browsing\n", "2. One write in 1,000\n", "3. One write in 100\n",
				"4. A storm", "5. The same storm", "6. A write", "7. An id", "8. What went past"} {
				if !strings.Contains(out.String(), heading) {
					t.Errorf("there is no section %q", heading)
				}
			}
			wantAsBefore(t, admin, before)
		})
	}
}

// TestInterrupted ends the demo in the middle of one section after another.
func TestInterrupted(t *testing.T) {
	for _, heading := range []string{"cachedpgx demo", "1. ", "2. ", "4. ", "5. ", "6. "} {
		t.Run(heading, func(t *testing.T) {
			dsn := pgtest.DSN(t)
			admin := connect(t, dsn)
			before := objects(t, admin)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &cancelAt{text: heading, cancel: cancel}
			err := runSized(ctx, Options{DSN: dsn, Out: out}, tiny())
			if err == nil || !OnlyInterrupted(err) {
				t.Errorf("%v, want an interruption and nothing else", err)
			}
			wantAsBefore(t, admin, before)
		})
	}
}

// tiny is enough to be interrupted in.
func tiny() size {
	s := sizeOf(true)
	s.reads, s.mixed, s.storm = 400, 400, 50
	s.patience, s.expiryFor = 200*time.Millisecond, 200*time.Millisecond
	return s
}

// cancelAt is a writer that cancels when it gets a text.
type cancelAt struct {
	text   string
	cancel func()
}

func (c *cancelAt) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.text)) {
		c.cancel()
	}
	return len(b), nil
}

// TestNobodyReads is the demo in a pipe whose reader has gone.
func TestNobodyReads(t *testing.T) {
	dsn := pgtest.DSN(t)
	admin := connect(t, dsn)
	before := objects(t, admin)
	if err := runSized(t.Context(), Options{DSN: dsn, Out: brokenPipe{}}, tiny()); !errors.Is(err, errBroken) {
		t.Errorf("%v, want %v", err, errBroken)
	}
	wantAsBefore(t, admin, before)
}

// TestRefused is the demo on servers that don't let it make a schema.
func TestRefused(t *testing.T) {
	dsn := pgtest.DSN(t)
	admin := connect(t, dsn)
	role := strings.Replace(database(t, admin), "pgtest", "poor", 1)
	if _, err := admin.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'secret'"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), "DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct{ name, dsn, want string }{
		{"no privilege", withParam(withParam(dsn, "user", role), "password", "secret"), "GRANT CREATE ON DATABASE"},
		{"read only", withParam(dsn, "default_transaction_read_only", "on"), "read-only"},
		{"no such database", pgtest.WithDatabase(dsn, "not_there"), "does not take this connection"},
		{"not a DSN", "host", "the DSN can't be read"},
		{"a cache_ parameter that is none", withParam(dsn, "cache_tll", "1s"), "cache_tll"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Run(t.Context(), Options{DSN: c.dsn, Out: &bytes.Buffer{}, Short: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			var cleanup *cleanupError
			if errors.As(err, &cleanup) {
				t.Errorf("%v, though there was nothing to clean up", err)
			}
		})
	}
}

// TestOwnServer runs on a server that is started for it.
func TestOwnServer(t *testing.T) {
	pgtest.Shared(t) // skips where none can be had
	t.Setenv(pgtest.EnvDSN, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelAt{text: "1. ", cancel: cancel}
	if err := Run(ctx, Options{Out: out, Short: true}); !OnlyInterrupted(err) {
		t.Error(err)
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func database(t *testing.T, conn *pgx.Conn) (name string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// wantAsBefore fails if something is left behind. A backend takes a moment to
// end when its client has left.
func wantAsBefore(t *testing.T, conn *pgx.Conn, before string) {
	t.Helper()
	after := objects(t, conn)
	for end := time.Now().Add(10 * time.Second); after != before && time.Now().Before(end); after = objects(t, conn) {
		time.Sleep(5 * time.Millisecond)
	}
	if after != before {
		t.Errorf("left behind: %s, before there were %s", after, before)
	}
}

// objects counts what the demo could leave.
func objects(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var schemas, relations, types, roles, sessions int
	err := conn.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'),
		       (SELECT count(*) FROM pg_class),
		       (SELECT count(*) FROM pg_type),
		       (SELECT count(*) FROM pg_roles),
		       (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'cachedpgx_demo_%')`).
		Scan(&schemas, &relations, &types, &roles, &sessions)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d schemas, %d relations, %d types, %d roles, %d sessions", schemas, relations, types, roles, sessions)
}

func TestWithParam(t *testing.T) {
	for _, c := range []struct{ dsn, want string }{
		{"", "k='v'"},
		{"host=/tmp dbname=shop", "host=/tmp dbname=shop k='v'"},
		{"postgres://localhost", "postgres://localhost?k=v"},
		{"postgresql://u:p%40@h/db?sslmode=disable", "postgresql://u:p%40@h/db?sslmode=disable&k=v"},
		{"postgres://h/db?k=old&sslmode=disable", "postgres://h/db?sslmode=disable&k=v"},
	} {
		if got := withParam(c.dsn, "k", "v"); got != c.want {
			t.Errorf("withParam(%q) = %q, want %q", c.dsn, got, c.want)
		}
	}
	if got, want := withCacheParam("registeredConnConfig0", "cache_ttl", "1s"), "registeredConnConfig0?cache_ttl=1s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyInterrupted(t *testing.T) {
	cleanup := &cleanupError{context.DeadlineExceeded}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"cancelled", fmt.Errorf("product: %w", context.Canceled), true},
		{"joined with nothing", errors.Join(context.Canceled, nil), true},
		{"joined with a clean-up that failed", errors.Join(context.Canceled, cleanup), false},
		{"a clean-up that failed", cleanup, false},
		{"another error", errors.New("no"), false},
	} {
		if got := OnlyInterrupted(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
