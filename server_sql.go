package cachedpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"github.com/jackc/pgx/v5"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// sqlServer speaks to a server connection of any other driver, through
// database/sql, which already knows every optional interface that a driver may
// have or lack.
type sqlServer struct {
	sc    *sql.Conn
	tx    *sql.Tx // set between begin and its end
	stmts map[string]*sql.Stmt
	bad   bool

	// A *sql.Conn can't be closed while rows or a transaction of it are open:
	// it would wait for them, and they for us.
	open    int    // rows
	release func() // to call when the last are closed
}

var _ server = (*sqlServer)(nil)

func (s *sqlServer) query(ctx context.Context, q ask) (driver.Rows, error) {
	rows, err := s.rows(ctx, q.text, q.args, q.prep)
	if err != nil {
		return nil, err
	}
	return s.watch(rows)
}

// watch counts rows that are open.
func (s *sqlServer) watch(rows *sql.Rows) (*sqlRows, error) {
	r := &sqlRows{rows: rows, server: s}
	s.open++
	if err := r.describe(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// end rolls back an open transaction and releases the connection, as soon as
// no rows are open.
func (s *sqlServer) end(release func()) {
	if tx := s.tx; tx != nil {
		s.tx = nil
		_ = tx.Rollback()
	}
	if s.open > 0 {
		s.release = release
		return
	}
	release()
}

func (s *sqlServer) rows(ctx context.Context, text string, args []driver.NamedValue, prep preparation) (rows *sql.Rows, err error) {
	defer func() { s.note(err) }()
	if prep == prepared {
		st, err := s.stmt(ctx, text)
		if err != nil {
			return nil, err
		}
		return st.QueryContext(ctx, sqlArgs(args)...)
	}
	if s.tx != nil {
		return s.tx.QueryContext(ctx, text, sqlArgs(args)...)
	}
	return s.sc.QueryContext(ctx, text, sqlArgs(args)...)
}

func (s *sqlServer) exec(ctx context.Context, q ask) (res driver.Result, err error) {
	defer func() { s.note(err) }()
	if q.prep == prepared {
		st, err := s.stmt(ctx, q.text)
		if err != nil {
			return nil, err
		}
		return st.ExecContext(ctx, sqlArgs(q.args)...)
	}
	if s.tx != nil {
		return s.tx.ExecContext(ctx, q.text, sqlArgs(q.args)...)
	}
	return s.sc.ExecContext(ctx, q.text, sqlArgs(q.args)...)
}

func sqlArgs(args []driver.NamedValue) []any {
	out := make([]any, len(args))
	for i, nv := range args {
		out[i] = nv.Value
		if nv.Name != "" {
			out[i] = sql.Named(nv.Name, nv.Value)
		}
	}
	return out
}

func (s *sqlServer) note(err error) {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		s.bad = true
	}
}

func (s *sqlServer) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := s.stmts[text]; ok {
		return st, nil
	}
	st, err := s.sc.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if s.stmts == nil {
		s.stmts = map[string]*sql.Stmt{}
	}
	s.stmts[text] = st
	return st, nil
}

// prepare keeps the statement on this connection, and the connection pinned:
// another driver's statements can't be found again on another one.
func (s *sqlServer) prepare(ctx context.Context, text string) (description, error) {
	_, err := s.stmt(ctx, text)
	s.note(err)
	return description{}, err
}

func (s *sqlServer) holdsStatements() bool { return len(s.stmts) > 0 }

// forget closes the statement of a text.
func (s *sqlServer) forget(text string) error {
	st, ok := s.stmts[text]
	if !ok {
		return nil
	}
	delete(s.stmts, text)
	return st.Close()
}

func (s *sqlServer) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := s.sc.BeginTx(ctx, &sql.TxOptions{Isolation: sql.IsolationLevel(opts.Isolation), ReadOnly: opts.ReadOnly})
	if err != nil {
		s.note(err)
		return nil, err
	}
	s.tx = tx
	return sqlTx{s}, nil
}

// sqlTx ends a transaction of the inner handle. One that its context has
// already rolled back is over: that is no error of a Rollback.
type sqlTx struct{ s *sqlServer }

func (t sqlTx) Commit() error {
	tx := t.s.tx
	if tx == nil {
		return driver.ErrBadConn // the connection is lost
	}
	t.s.tx = nil
	err := tx.Commit()
	t.s.note(err)
	return err
}

func (t sqlTx) Rollback() error {
	tx := t.s.tx
	if tx == nil {
		return driver.ErrBadConn
	}
	t.s.tx = nil
	err := tx.Rollback()
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	t.s.note(err)
	return err
}

func (s *sqlServer) ping(ctx context.Context) error {
	err := s.sc.PingContext(ctx)
	s.note(err)
	return err
}

func (s *sqlServer) reset(context.Context) error { return nil }
func (s *sqlServer) txStatus() byte              { return 0 }
func (s *sqlServer) lost() bool                  { return s.bad }
func (s *sqlServer) pgx() *pgx.Conn              { return nil }

// load reads a result to its end. What is too big comes as a stream.
func (s *sqlServer) load(ctx context.Context, q loadQuery) (loaded, error) {
	rows, err := s.rows(ctx, q.text, q.args, q.prep)
	if errors.Is(err, sql.ErrNoRows) {
		return loaded{rows: noRows{}}, nil
	}
	if err != nil {
		return loaded{}, err
	}
	in, err := s.watch(rows)
	if err != nil {
		return loaded{}, err
	}
	b := rowset.NewValues(in.columns, rowset.ColumnTypesOf(in, len(in.columns)), q.limits)
	row := make([]driver.Value, len(in.columns))
	for {
		err := in.Next(row)
		if err == io.EOF {
			err = nil
			if in.HasNextResultSet() {
				return loaded{reason: reasonUnstorable, open: func(done func()) driver.Rows {
					return rowset.NewValueStream(b.Set(), nil, in, done)
				}}, nil
			}
		} else if err == nil {
			if b.Append(row) {
				continue
			}
			return loaded{reason: reasonTooBig, always: len(q.args) == 0, open: func(done func()) driver.Rows {
				return rowset.NewValueStream(b.Set(), row, in, done)
			}}, nil
		}
		if cerr := in.Close(); err == nil {
			err = cerr
		}
		return loaded{rows: sqlResult{b.Set()}, tail: err}, nil
	}
}

type sqlResult struct{ *rowset.ValueSet }

func (r sqlResult) Reader(_ reading, tail error) (driver.Rows, error) { return r.Rows(tail), nil }

// noRows is an inner driver's ErrNoRows, kept as what it is.
type noRows struct{}

func (noRows) Len() int    { return 0 }
func (noRows) Size() int64 { return 0 }

func (noRows) Reader(reading, error) (driver.Rows, error) { return nil, sql.ErrNoRows }

// sqlRows is a *sql.Rows as driver.Rows. Optional methods that the inner
// driver lacks answer what database/sql takes their absence for.
type sqlRows struct {
	server  *sqlServer
	rows    *sql.Rows
	columns []string
	types   []*sql.ColumnType
	values  []any
	refs    []any
	ahead   bool // already at the next result set, which nobody has asked for yet
}

var (
	_ driver.RowsNextResultSet              = (*sqlRows)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*sqlRows)(nil)
	_ driver.RowsColumnTypeLength           = (*sqlRows)(nil)
	_ driver.RowsColumnTypeNullable         = (*sqlRows)(nil)
	_ driver.RowsColumnTypePrecisionScale   = (*sqlRows)(nil)
	_ driver.RowsColumnTypeScanType         = (*sqlRows)(nil)
)

func (r *sqlRows) describe() (err error) {
	if r.columns, err = r.rows.Columns(); err != nil {
		return err
	}
	if r.types, err = r.rows.ColumnTypes(); err != nil {
		return err
	}
	r.values, r.refs = make([]any, len(r.columns)), make([]any, len(r.columns))
	for i := range r.values {
		r.refs[i] = &r.values[i]
	}
	return nil
}

func (r *sqlRows) Columns() []string { return r.columns }

func (r *sqlRows) Close() error {
	err := r.rows.Close()
	if s := r.server; s != nil {
		r.server = nil
		if s.open--; s.open == 0 && s.release != nil {
			s.release()
			s.release = nil
		}
	}
	return err
}

func (r *sqlRows) Next(dest []driver.Value) error {
	if r.ahead {
		return io.EOF
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	if err := r.rows.Scan(r.refs...); err != nil {
		return err
	}
	for i := range dest {
		dest[i] = r.values[i]
	}
	return nil
}

// HasNextResultSet moves on to look: a *sql.Rows has no other way to say.
func (r *sqlRows) HasNextResultSet() bool {
	if !r.ahead {
		r.ahead = r.rows.NextResultSet()
	}
	return r.ahead
}

func (r *sqlRows) NextResultSet() error {
	if !r.HasNextResultSet() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	r.ahead = false
	return r.describe()
}

func (r *sqlRows) ColumnTypeDatabaseTypeName(i int) string { return r.types[i].DatabaseTypeName() }
func (r *sqlRows) ColumnTypeLength(i int) (int64, bool)    { return r.types[i].Length() }
func (r *sqlRows) ColumnTypeNullable(i int) (bool, bool)   { return r.types[i].Nullable() }
func (r *sqlRows) ColumnTypeScanType(i int) reflect.Type   { return r.types[i].ScanType() }
func (r *sqlRows) ColumnTypePrecisionScale(i int) (int64, int64, bool) {
	return r.types[i].DecimalSize()
}
