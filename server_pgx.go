package cachedpgx

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// pgxServer speaks to a server connection of pgx's stdlib. What is not cached
// runs through stdlib's own methods; a load runs below them, on the pgx.Conn,
// since only there are the wire bytes to be had.
type pgxServer struct {
	dc   *stdlib.Conn
	info *serverConn
}

var _ server = (*pgxServer)(nil)

// SQLSTATEs of a plan that is of no use any more. Go by the code: messages are
// translated.
const (
	stalePlan = "0A000" // feature_not_supported: "cached plan must not change result type", after DDL
	lostPlan  = "26000" // invalid_sql_statement_name: somebody has deallocated it
)

func (s *pgxServer) query(ctx context.Context, q ask) (driver.Rows, error) {
	if q.params != "" {
		rows, err := s.queryParams(ctx, q)
		if !errors.Is(err, errOtherTypes) {
			return rows, err
		}
	}
	text, args, err := s.words(ctx, q)
	if err != nil {
		return nil, err
	}
	rows, err := s.dc.QueryContext(ctx, text, args)
	return rows, s.heal(ctx, q.text, err)
}

// queryParams runs a query whose arguments were encoded to be keyed, so that no
// driver.Valuer is asked twice. It is not kept.
func (s *pgxServer) queryParams(ctx context.Context, q ask) (driver.Rows, error) {
	if s.dc.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	rows, err := s.open(ctx, q)
	if err != nil {
		return nil, err
	}
	var first [][]byte
	if rows.Next() {
		first = rows.RawValues()
	} else if err := rows.Err(); err != nil {
		return nil, s.heal(ctx, q.text, err)
	}
	return rowset.NewStream(nil, first, rows, s.dc.Conn().TypeMap(), func() {}), nil
}

func (s *pgxServer) exec(ctx context.Context, q ask) (driver.Result, error) {
	text, args, err := s.words(ctx, q)
	if err != nil {
		return nil, err
	}
	res, err := s.dc.ExecContext(ctx, text, args)
	return res, s.heal(ctx, q.text, err)
}

// words gives what stdlib's own methods take for a statement.
func (s *pgxServer) words(ctx context.Context, q ask) (text string, args []driver.NamedValue, err error) {
	name, err := s.ready(ctx, q)
	if err != nil || name == "" && q.orders == nil {
		return q.text, q.args, err
	}
	text, values := q.words(name)
	for i, v := range values[1:] {
		args = append(args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return text, args, nil
}

// heal drops a prepared statement whose plan is of no use any more, so that the
// text works again the next time. pgx does so for those it prepared itself.
func (s *pgxServer) heal(ctx context.Context, text string, err error) error {
	if err != nil && isStalePlan(err) {
		s.forget(ctx, text)
	}
	return err
}

// forget drops what is prepared of a text, if it is.
func (s *pgxServer) forget(ctx context.Context, text string) {
	if name, ok := s.info.prepared[text]; ok {
		_ = s.dc.Conn().Deallocate(ctx, name)
		delete(s.info.prepared, text)
	}
}

func isStalePlan(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == stalePlan || pgErr.Code == lostPlan)
}

// ready prepares a text where running it directly would not do the same: pgx's
// default mode prepares by itself. It gives the name, "" if there is no need.
func (s *pgxServer) ready(ctx context.Context, q ask) (name string, err error) {
	if q.prep == direct || q.text == "" || s.info.modes.autoPrepares() && q.execMode() == 0 {
		return "", nil
	}
	sd, err := s.keepPrepared(ctx, q.text)
	if err != nil {
		return "", err
	}
	return sd.Name, nil
}

// keepPrepared prepares a text, and leaves it prepared for later.
func (s *pgxServer) keepPrepared(ctx context.Context, text string) (*pgconn.StatementDescription, error) {
	pc := s.dc.Conn()
	name := s.info.nameFor(text)
	sd, err := pc.Prepare(ctx, name, text)
	if err != nil {
		return nil, unsent(err)
	}
	s.info.notePrepared(ctx, pc, name, text)
	return sd, nil
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
	if s.info.modes.autoPrepares() || text == "" {
		sd, err := pc.PgConn().Prepare(ctx, "", text, nil)
		if err != nil {
			return description{}, err
		}
		return description{params: sd.ParamOIDs, known: true}, nil
	}
	sd, err := s.keepPrepared(ctx, text)
	if err != nil {
		return description{}, err
	}
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
	rows, err := s.open(ctx, q.ask)
	if err != nil {
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
	maps := s.info.types.MapsFor(rows.FieldDescriptions())
	storable := maps != nil
	if storable {
		b.Decode(maps) // while the server works on the next rows
	}
	for ; more; more = rows.Next() {
		if !storable || !b.Append(rows.RawValues()) {
			reason := reasonTooBig
			if !storable {
				reason = reasonUnstorable
			}
			return loaded{reason: reason, always: len(q.args) == 0 && q.params == "", open: func(done func()) driver.Rows {
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
	return loaded{rows: pgxResult{b.Set(), maps}, tail: tail}, nil
}

// pgxResult is a rowset.Set with what decodes it.
type pgxResult struct {
	*rowset.Set
	maps *typemap.Maps
}

func (r pgxResult) Reader(how reading, tail error) (driver.Rows, error) {
	if how == readOnce {
		return r.Once(r.maps, tail), nil
	}
	return r.Rows(r.maps, tail), nil
}
