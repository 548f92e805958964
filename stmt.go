package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"
)

var (
	_ driver.Stmt             = (*stmt)(nil)
	_ driver.StmtExecContext  = (*stmt)(nil)
	_ driver.StmtQueryContext = (*stmt)(nil)
)

// stmt is a prepared statement of a logical connection: a text and the number
// of its parameters. Running it goes the same way as running the text, so it
// holds no server connection and is served from the cache.
type stmt struct {
	c      *Conn
	text   string
	inputs int
}

func (s *stmt) NumInput() int { return s.inputs }

// Close implements driver.Stmt. What is prepared at the server stays for other
// logical connections to use; each server connection keeps a bounded number.
func (s *stmt) Close() error {
	if s.c.cache.origin.overPgx() {
		return nil
	}
	// database/sql may close the statement of a session that lies idle.
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.pin != nil {
		if other, ok := s.c.pin.server.(*sqlServer); ok {
			return other.forget(s.text)
		}
	}
	return nil
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.exec(ctx, ask{text: s.text, args: args, prep: prepared})
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(ctx, ask{text: s.text, args: args, prep: prepared})
}

// Exec and Query are the forms without a context, which database/sql no longer
// calls. They answer as pgx does.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) {
	return nil, errors.New("Stmt.Exec deprecated and not implemented")
}

func (s *stmt) Query([]driver.Value) (driver.Rows, error) {
	return nil, errors.New("Stmt.Query deprecated and not implemented")
}
