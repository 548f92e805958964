package pgtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ping asks the server one question, so that a port that merely accepts does
// not pass for a database.
func ping(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}

// AwaitReady asks the server until it answers or ctx ends.
func AwaitReady(ctx context.Context, dsn string) error {
	for {
		err := ping(ctx, dsn)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// WithDatabase is dsn, in URL or keyword form, with another database.
func WithDatabase(dsn, database string) string {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		// The last of two equal keywords counts.
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(database)
		return strings.TrimSpace(dsn + " dbname='" + quoted + "'")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // whoever connects reports it
	}
	u.Path, u.RawPath = "/"+database, ""
	// In a URL these two override the path.
	q := u.Query()
	if q.Has("dbname") || q.Has("database") {
		q.Del("dbname")
		q.Del("database")
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// FreePort finds a loopback port that nothing listens on. Another process may
// take it before the caller does. It is below the range that systems take the
// ports of outgoing connections from, so that a stopped server finds its port
// again.
func FreePort() (int, error) {
	var last error
	for range 100 {
		port := 15_000 + rand.IntN(17_000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("no free loopback port: %w", last)
}
