package cachedpgx

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// open runs a query as pgx's stdlib would, and gives the rows beneath. The
// connection must be open.
func (s *pgxServer) open(ctx context.Context, q ask) (pgx.Rows, error) {
	if q.params != "" {
		return s.openParams(ctx, q)
	}
	name, err := s.ready(ctx, q)
	if err != nil {
		return nil, err
	}
	text, args := q.words(name)
	args[0] = rowset.ResultFormats
	rows, err := s.dc.Conn().Query(ctx, text, args...)
	return rows, unsent(err)
}

// unsent says in the driver's word that nothing was sent, where that is so.
func unsent(err error) error {
	if err != nil && pgconn.SafeToRetry(err) {
		return driver.ErrBadConn
	}
	return err
}

// openParams runs a query whose arguments are encoded already. pgx takes none
// such, so this goes below it, to pgconn, for the modes in which parameters have
// types; in the others the arguments are text, which pgx takes as strings.
//
// The types that they were encoded for must be those that the statement has on
// this very connection: four bytes may be an integer or a float. Somebody else
// may have altered a column since.
func (s *pgxServer) openParams(ctx context.Context, q ask) (pgx.Rows, error) {
	pc := s.dc.Conn()
	params, ok := typemap.ParseParams(q.params)
	if !ok {
		return nil, errOtherTypes
	}
	text, before := q.asked()
	if q.oids == nil {
		args := make([]any, 0, 1+len(before)+len(params.Values))
		args = append(args, rowset.ResultFormats)
		args = append(args, before...)
		for _, v := range params.Values {
			if v == nil {
				args = append(args, nil)
				continue
			}
			args = append(args, string(v))
		}
		rows, err := pc.Query(ctx, q.text, args...)
		return rows, unsent(err)
	}
	sd, err := s.described(ctx, q)
	if err == nil && !slices.Equal(sd.ParamOIDs, q.oids) {
		s.forget(ctx, q.text)
		if sd, err = s.described(ctx, q); err == nil && !slices.Equal(sd.ParamOIDs, q.oids) {
			err = &otherTypesError{slices.Clone(sd.ParamOIDs)}
		}
	}
	if err != nil {
		return nil, err
	}
	formats := q.formats(sd.Fields, rowset.ResultFormats, pc.TypeMap())
	t := tracedRows{tracer: s.info.tracer, conn: pc, ctx: ctx}
	if t.tracer != nil {
		args := append([]any{rowset.ResultFormats}, before...)
		for _, v := range params.Values {
			args = append(args, v)
		}
		t.ctx = t.tracer.TraceQueryStart(ctx, pc, pgx.TraceQueryStartData{SQL: text, Args: args})
	}
	t.Rows = pgx.RowsFromResultReader(pc.TypeMap(), pc.PgConn().ExecStatement(t.ctx, sd, params.Values, params.Formats, formats))
	if t.tracer == nil {
		return t.Rows, nil
	}
	return &t, nil
}

// described prepares a statement as its mode does: the unnamed one in the modes
// that leave nothing at the server.
func (s *pgxServer) described(ctx context.Context, q ask) (*pgconn.StatementDescription, error) {
	mode := q.execMode()
	if mode == 0 {
		mode = s.info.modes.standard
	}
	if q.prep == prepared || mode == pgx.QueryExecModeCacheStatement {
		return s.keepPrepared(ctx, q.text)
	}
	sd, err := s.dc.Conn().Prepare(ctx, "", q.text)
	return sd, unsent(err)
}

// tracedRows tells the user's tracer of the end of a query, as pgx does.
type tracedRows struct {
	pgx.Rows
	tracer pgx.QueryTracer
	conn   *pgx.Conn
	ctx    context.Context
	ended  bool
}

func (r *tracedRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.end()
	return false
}

func (r *tracedRows) Close() {
	r.Rows.Close()
	r.end()
}

func (r *tracedRows) end() {
	if !r.ended {
		r.ended = true
		r.tracer.TraceQueryEnd(r.ctx, r.conn, pgx.TraceQueryEndData{CommandTag: r.CommandTag(), Err: r.Err()})
	}
}
