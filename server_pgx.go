package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// pgxServer speaks to a server connection of pgx's stdlib. What is not cached
// runs through stdlib's own methods; a load runs below them, on the pgx.Conn,
// since only there are the wire bytes to be had.
type pgxServer struct {
	dc   *stdlib.Conn
	info *serverConn
	maps *rowset.Maps
}

var _ server = (*pgxServer)(nil)

// stalePlan is SQLSTATE feature_not_supported: "cached plan must not change
// result type", when DDL came between a plan and its use. Go by the code: the
// message is translated.
const stalePlan = "0A000"

func (s *pgxServer) query(ctx context.Context, text string, args []driver.NamedValue, prep preparation) (driver.Rows, error) {
	if err := s.ready(ctx, text, prep); err != nil {
		return nil, err
	}
	rows, err := s.dc.QueryContext(ctx, text, args)
	return rows, s.heal(ctx, text, err)
}

func (s *pgxServer) exec(ctx context.Context, text string, args []driver.NamedValue, prep preparation) (driver.Result, error) {
	if err := s.ready(ctx, text, prep); err != nil {
		return nil, err
	}
	res, err := s.dc.ExecContext(ctx, text, args)
	return res, s.heal(ctx, text, err)
}

// heal drops a prepared statement whose plan DDL has made stale, so that the
// text works again the next time. pgx does so for those it prepared itself.
func (s *pgxServer) heal(ctx context.Context, text string, err error) error {
	if err != nil && s.info.prepared[text] && isStalePlan(err) {
		_ = s.dc.Conn().Deallocate(ctx, text)
		delete(s.info.prepared, text)
	}
	return err
}

func isStalePlan(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == stalePlan
}

// ready prepares a text where running it directly would not do the same: pgx's
// default mode prepares by itself.
func (s *pgxServer) ready(ctx context.Context, text string, prep preparation) error {
	if prep == direct || s.info.autoPrepares || text == "" {
		return nil
	}
	_, err := s.prepare(ctx, text)
	return err
}

func (s *pgxServer) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return s.dc.BeginTx(ctx, opts)
}

// mostPrepared bounds the statements that stay prepared on one connection.
const mostPrepared = 256

// prepare asks the server about a text. Where pgx prepares by itself, the
// answer is all that is needed; elsewhere the text stays prepared on this
// connection, and other logical connections use it, too.
func (s *pgxServer) prepare(ctx context.Context, text string) (description, error) {
	pc := s.dc.Conn()
	if pc.IsClosed() {
		return description{}, driver.ErrBadConn
	}
	if s.info.autoPrepares || text == "" {
		sd, err := pc.PgConn().Prepare(ctx, "", text, nil)
		if err != nil {
			return description{}, err
		}
		return description{params: sd.ParamOIDs, known: true}, nil
	}
	sd, err := pc.Prepare(ctx, text, text)
	if err != nil {
		return description{}, err
	}
	s.info.notePrepared(ctx, pc, text)
	return description{params: sd.ParamOIDs, known: true}, nil
}

func (s *pgxServer) ping(ctx context.Context) error  { return s.dc.Ping(ctx) }
func (s *pgxServer) reset(ctx context.Context) error { return s.dc.ResetSession(ctx) }
func (s *pgxServer) txStatus() byte                  { return s.dc.Conn().PgConn().TxStatus() }
func (s *pgxServer) lost() bool                      { return s.dc.Conn().IsClosed() }
func (s *pgxServer) pgx() *pgx.Conn                  { return s.dc.Conn() }
func (s *pgxServer) holdsStatements() bool           { return false }

// end closes the connection itself, so that a pgxpool that lent it does not
// lend it again.
func (s *pgxServer) end(release func()) {
	if pc := s.dc.Conn(); !pc.IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		_ = pc.Close(ctx)
		cancel()
	}
	release()
}

// load runs a read to its end and keeps the wire bytes. What is too big to
// keep, or can't be decoded by anybody but this connection, comes as a stream.
//
// A plan that DDL has made stale is made anew: the caller of a read need not
// know that its text was prepared before.
func (s *pgxServer) load(ctx context.Context, q loadQuery) (loaded, error) {
	l, err := s.loadOnce(ctx, q)
	if err != nil && isStalePlan(err) && s.txStatus() == 'I' {
		_ = s.heal(ctx, q.text, err)
		l, err = s.loadOnce(ctx, q)
	}
	return l, err
}

func (s *pgxServer) loadOnce(ctx context.Context, q loadQuery) (loaded, error) {
	pc := s.dc.Conn()
	if pc.IsClosed() {
		return loaded{}, driver.ErrBadConn
	}
	if err := s.ready(ctx, q.text, q.prep); err != nil {
		return loaded{}, err
	}
	args := make([]any, 1+len(q.args))
	args[0] = rowset.ResultFormats
	for i, nv := range q.args {
		args[i+1] = nv.Value
	}
	rows, err := pc.Query(ctx, q.text, args...)
	if err != nil {
		if pgconn.SafeToRetry(err) {
			err = driver.ErrBadConn
		}
		return loaded{}, err
	}
	more := rows.Next()
	if err := rows.Err(); err != nil {
		rows.Close()
		return loaded{}, err
	}
	shape := rowset.ShapeOf(q.shape.Load(), rows.FieldDescriptions())
	q.shape.Store(shape)
	b := shape.NewBuilder(q.limits)
	storable := s.maps.Decodable(pc.TypeMap(), rows.FieldDescriptions())
	if storable {
		b.Decode(s.maps) // while the server works on the next rows
	}
	for ; more; more = rows.Next() {
		if !storable || !b.Append(rows.RawValues()) {
			reason := reasonTooBig
			if !storable {
				reason = reasonUnstorable
			}
			return loaded{reason: reason, open: func(done func()) driver.Rows {
				return rowset.NewStream(b.Set(), rows.RawValues(), rows, pc.TypeMap(), done)
			}}, nil
		}
	}
	tail := rows.Err()
	rows.Close()
	if !storable {
		return loaded{reason: reasonUnstorable, open: func(done func()) driver.Rows {
			return rowset.NewStream(b.Set(), nil, rows, pc.TypeMap(), done)
		}}, nil
	}
	return loaded{rows: pgxResult{b.Set(), s.maps}, tail: tail}, nil
}

// pgxResult is a rowset.Set with what decodes it.
type pgxResult struct {
	*rowset.Set
	maps *rowset.Maps
}

func (r pgxResult) Reader(how reading, tail error) (driver.Rows, error) {
	if how == readOnce {
		return r.Once(r.maps, tail), nil
	}
	return r.Rows(r.maps, tail), nil
}
