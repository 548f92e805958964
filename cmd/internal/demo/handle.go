package demo

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/cmd/internal/shop"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// The drivers that are compared.
const (
	plain = "pgx"
	ours  = "cachedpgx"
)

// handle is a *sql.DB, as a service opens it, and the repository over it.
type handle struct {
	driver  string
	db      *sql.DB
	repo    *shop.Repository
	counter counter
}

// open does what the service does. The driver's name is the only difference,
// unless params, which are of the form cache_…, are given.
func (r *run) open(ctx context.Context, driver string, params ...[2]string) (*handle, error) {
	dsn := r.srv.counter.dsn()
	for _, p := range params {
		dsn = withCacheParam(dsn, p[0], p[1])
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, fmt.Errorf("with %s: %w", driver, err)
	}
	db.SetMaxOpenConns(r.size.poolMaxConns)
	db.SetMaxIdleConns(r.size.poolMaxConns)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("with %s: %w", driver, err)
	}
	return &handle{driver: driver, db: db, repo: shop.New(db), counter: r.srv.counter}, nil
}

// close ends the connections, and with cachedpgx the cache.
func (h *handle) close() error { return h.db.Close() }

// stats are the cache's; zero for pgx.
func (h *handle) stats() cachedpgx.Stats {
	if c, ok := cachedpgx.CacheOf(h.db); ok {
		return c.Stats()
	}
	return cachedpgx.Stats{}
}

// withCacheParam is withParam for a string of stdlib.RegisterConnConfig, too.
func withCacheParam(dsn, key, value string) string {
	if !strings.HasPrefix(dsn, "registeredConnConfig") {
		return withParam(dsn, key, value)
	}
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	return dsn + sep + key + "=" + value
}

// quiet waits until no session of the run, other than the admin's, is at work:
// what was cancelled may take the server a moment to notice.
func (s *server) quiet(ctx context.Context) error {
	for {
		var busy int
		err := s.admin.QueryRow(ctx, `
			SELECT count(*)
			FROM pg_stat_activity
			WHERE application_name = $1 AND state = 'active' AND pid <> pg_backend_pid()`, s.schema).Scan(&busy)
		if err != nil || busy == 0 {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
