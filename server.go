package cachedpgx

import (
	"context"
	"database/sql/driver"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// server is one pinned server connection, as a session uses it. It is for one
// goroutine at a time. Errors are the inner driver's own; driver.ErrBadConn
// means that nothing was sent.
type server interface {
	query(ctx context.Context, q ask) (driver.Rows, error)
	exec(ctx context.Context, q ask) (driver.Result, error)
	begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error)
	prepare(ctx context.Context, text string) (description, error)
	ping(ctx context.Context) error
	reset(ctx context.Context) error
	load(ctx context.Context, q loadQuery) (loaded, error)

	txStatus() byte        // 'I' idle, 'T' in a transaction, 'E' in a failed one; 0 where the driver doesn't say
	lost() bool            // the connection is closed
	holdsStatements() bool // prepared statements live on this connection and nowhere else
	pgx() *pgx.Conn        // nil over another driver
	end(release func())    // ends what runs on the connection, then releases it, at once or as soon as it can be
}

// loadQuery is a read to load.
type loadQuery struct {
	ask
	limits rowset.Limits
	shape  *atomic.Pointer[rowset.Shape] // the columns of the statement's last result, to share
}

// loaded is what a load brought: either rows, complete but for the error that
// ended them, or, with a reason why they can't be kept, a way to open the rest
// of them as a stream, which whoever owns the connection must call once.
type loaded struct {
	rows   result
	tail   error
	reason string
	always bool // the text has no arguments: it is so whoever asks
	open   func(done func()) driver.Rows
	cancel func() // ends the stream's query
}
