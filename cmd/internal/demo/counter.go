package demo

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// counter counts the statements that reached the server.
type counter interface {
	// about says, for people, where it counts.
	about() string
	// count is how many statements have reached the server so far. With a
	// fragment, only those whose text holds it.
	count(ctx context.Context, fragment string) (int64, error)
	// dsn is how a driver opens the server so that it is counted there.
	dsn() string
}

// chooseCounter takes the server's own count where it can be had, and otherwise
// counts what pgx sends, under both drivers alike.
func (s *server) chooseCounter(ctx context.Context) (counter, error) {
	if s.isOurs() {
		// It may not be installed; then the next statement finds nothing.
		_, _ = s.admin.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements WITH SCHEMA public`)
	}
	c, err := s.statements(ctx)
	if c != nil || ctx.Err() != nil {
		return c, ctx.Err()
	}
	config, parseErr := pgx.ParseConfig(s.dsn)
	if parseErr != nil {
		return nil, parseErr
	}
	t := &tracer{why: err.Error()}
	config.Tracer = t
	t.name = stdlib.RegisterConnConfig(config)
	return t, nil
}

// statements is the server's own count, by the extension pg_stat_statements.
type statements struct {
	s     *server
	query string
}

// statements returns an error that says why the server's own count is of no
// use, where it is not.
func (s *server) statements(ctx context.Context) (counter, error) {
	var schema, track, utility string
	err := s.admin.QueryRow(ctx, `
		SELECT quote_ident(n.nspname),
		       coalesce(current_setting('pg_stat_statements.track', true), 'none'),
		       coalesce(current_setting('pg_stat_statements.track_utility', true), 'off')
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = 'pg_stat_statements'`).Scan(&schema, &track, &utility)
	if err != nil {
		return nil, fmt.Errorf("this database has no pg_stat_statements")
	}
	if track == "none" || utility != "on" {
		return nil, fmt.Errorf("pg_stat_statements is not loaded, or not set to count everything")
	}
	c := &statements{s: s, query: `
		SELECT coalesce(sum(calls), 0)::bigint
		FROM ` + schema + `.pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)
		AND query NOT LIKE '%pg_stat_statements%'
		AND strpos(query, $1) > 0`}
	if s.isOurs() {
		return c, nil
	}
	// It counts by role and database. If others use them, too, it would count
	// their statements as ours.
	before, err := c.count(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("pg_stat_statements can't be read")
	}
	select {
	case <-time.After(300 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	after, err := c.count(ctx, "")
	if err != nil || after != before {
		return nil, fmt.Errorf("others use this role, too, and pg_stat_statements can't tell whose a statement is")
	}
	return c, nil
}

func (c *statements) about() string {
	return "at the server, by pg_stat_statements; cachedpgx's own questions to the catalog included"
}

func (c *statements) dsn() string { return c.s.dsn }

func (c *statements) count(ctx context.Context, fragment string) (n int64, err error) {
	if err := c.s.admin.QueryRow(ctx, c.query, fragment).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting at the server: %w", err)
	}
	return n, nil
}

// tracer counts what pgx sends to the server, on every connection that is made
// from its configuration.
type tracer struct {
	why  string
	name string

	mu struct {
		sync.Mutex
		byText map[string]int64
	}
}

var _ pgx.QueryTracer = (*tracer)(nil)

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(data.SQL, "-- ping") {
		return ctx // no statement
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.byText == nil {
		t.mu.byText = make(map[string]int64)
	}
	t.mu.byText[data.SQL]++
	return ctx
}

func (t *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *tracer) about() string {
	return "as pgx sends them, by a tracer under both drivers (" + t.why + ")"
}

func (t *tracer) dsn() string { return t.name }

func (t *tracer) count(_ context.Context, fragment string) (n int64, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for text, calls := range t.mu.byText {
		if strings.Contains(text, fragment) {
			n += calls
		}
	}
	return n, nil
}
