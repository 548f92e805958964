package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/cmd/internal/shop"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// server is the PostgreSQL that a run works on, and the run's own schema there.
type server struct {
	// dsn leads to the schema. It is what both drivers get.
	dsn     string
	about   string // for people
	schema  string
	counter counter

	baseDSN string
	made    bool           // the schema may be there
	admin   *pgx.Conn      // loads and counts; neither driver's handle uses it
	ours    *pgtest.Server // nil: the user's
}

// cleanupError is about something that is still there.
type cleanupError struct{ err error }

func (e *cleanupError) Error() string { return "cleaning up: " + e.err.Error() }
func (e *cleanupError) Unwrap() error { return e.err }

// cleanupTimeout bounds the clean-up, which happens after ctx has ended.
const cleanupTimeout = 20 * time.Second

func openServer(ctx context.Context, opts Options) (_ *server, err error) {
	s := &server{schema: "cachedpgx_demo_" + strings.ToLower(rand.Text()[:12])}
	source := "the one of --dsn"
	if opts.DSN == "" {
		s.ours, err = pgtest.Find(ctx, pgtest.Options{Fallbacks: []pgtest.Fallback{embedded(opts.Logf)}, Logf: opts.Logf})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("%w\nOr give the demo a server: --dsn DSN, or make demo DSN=…", err)
		}
		// The socket is the shortest way there is, so pgx shows its best.
		s.baseDSN = cmp.Or(s.ours.SocketDSN(), s.ours.DSN())
		source = "from " + s.ours.Source() + ", started for this run"
		if s.ours.Source() == pgtest.SourceEnv {
			source = "the one of " + pgtest.EnvDSN
		}
	} else {
		// The user may have given the one that the service opens cachedpgx
		// with. The demo sets parameters of its own.
		if s.baseDSN, _, err = cachedpgx.ParseConfig(opts.DSN); err != nil {
			return nil, err
		}
		// As the user wrote it, before the demo adds to it.
		if _, err := pgx.ParseConfig(s.baseDSN); err != nil {
			return nil, fmt.Errorf("the DSN can't be read: %w", err)
		}
	}
	defer func() {
		if err != nil {
			_, closeErr := s.close(ctx)
			err = errors.Join(err, closeErr)
		}
	}()

	// Both drivers' connections are the ones of this name, so that the
	// clean-up can tell them from the user's.
	s.dsn = withParam(withParam(s.baseDSN, "search_path", s.schema), "application_name", s.schema)
	if s.admin, err = pgx.Connect(ctx, s.dsn); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return nil, fmt.Errorf("the server does not take this connection: %w", err)
	}
	_, err = s.admin.Exec(ctx, "CREATE SCHEMA "+s.schema)
	var refused *pgconn.PgError
	s.made = !errors.As(err, &refused) // without an answer, it may have been made
	if err != nil {
		return nil, politely(err)
	}
	where := "TCP"
	if strings.HasPrefix(s.admin.Config().Host, "/") {
		where = "its unix socket"
	}
	s.about = fmt.Sprintf("PostgreSQL %s, %s, over %s; this process has %d CPUs",
		version(s.admin), source, where, runtime.GOMAXPROCS(0))
	s.counter, err = s.chooseCounter(ctx)
	return s, err
}

// version is the server's, without what its packager appends.
func version(conn *pgx.Conn) string {
	v, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	return v
}

// politely says what the user can do about a server that refuses a schema.
func politely(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "42501": // insufficient_privilege
			return fmt.Errorf("the demo keeps its tables in a schema of its own, and this role may not create one: "+
				"GRANT CREATE ON DATABASE to it, or run the demo without --dsn (%w)", err)
		case "25006": // read_only_sql_transaction
			return fmt.Errorf("the demo keeps its tables in a schema of its own, and this server or role is read-only: "+
				"give it a primary, or run it without --dsn (%w)", err)
		}
	}
	return fmt.Errorf("creating the demo's schema: %w", err)
}

// isOurs reports whether the server was started for this run alone.
func (s *server) isOurs() bool { return s.ours != nil && s.ours.Source() != pgtest.SourceEnv }

// reload brings the shop to its first state and says how long that took.
func (s *server) reload(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := shop.Unload(ctx, s.admin.PgConn()); err != nil {
		return 0, err
	}
	err := shop.Load(ctx, s.admin.PgConn())
	return time.Since(began), err
}

// close drops the schema, and ends the server if it was started for this run.
// gone says what is no longer there. It works on after ctx has ended.
func (s *server) close(ctx context.Context) (gone string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if s.admin != nil {
		_ = s.admin.Close(ctx)
	}
	gone = "The server and its data are gone."
	if s.made && !s.isOurs() {
		gone = "The schema " + s.schema + " is dropped; nothing else was touched."
		err = s.dropSchema(ctx)
	}
	if s.ours != nil {
		err = errors.Join(err, s.ours.Close())
	}
	if err != nil {
		return "", &cleanupError{err}
	}
	return gone, nil
}

// dropSchema uses a connection of its own: the others may have been cut in the
// middle of something.
func (s *server) dropSchema(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.baseDSN)
	if err != nil {
		return fmt.Errorf("the schema %s may still be there: %w", s.schema, err)
	}
	defer conn.Close(ctx)
	// Sessions of ours that the server has not missed yet would make the drop
	// wait for their locks.
	_, err = conn.Exec(ctx, `
		SELECT pg_terminate_backend(pid)
		FROM pg_stat_activity
		WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()`, s.schema)
	if err == nil {
		_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+s.schema+" CASCADE")
	}
	if err != nil {
		return fmt.Errorf("the schema %s may still be there: %w", s.schema, err)
	}
	return nil
}

// withParam is dsn, in URL or keyword form, with one more parameter, which
// counts instead of one of the same name.
func withParam(dsn, key, value string) string {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		// The last of two equal keywords counts.
		return strings.TrimSpace(dsn + " " + key + "='" + value + "'")
	}
	base, query, _ := strings.Cut(dsn, "?")
	kept := []string{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if pair != "" && name != key {
			kept = append(kept, pair)
		}
	}
	return base + "?" + strings.Join(append(kept, key+"="+url.QueryEscape(value)), "&")
}
