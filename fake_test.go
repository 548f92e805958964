package cachedpgx_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	_ driver.Connector          = (*fakeServer)(nil)
	_ driver.QueryerContext     = (*fakeConn)(nil)
	_ driver.ExecerContext      = (*fakeConn)(nil)
	_ driver.ConnPrepareContext = (*fakeConn)(nil)
	_ driver.ConnBeginTx        = (*fakeConn)(nil)
	_ driver.Pinger             = (*fakeConn)(nil)
	_ driver.StmtQueryContext   = (*fakeStmt)(nil)
	_ driver.StmtExecContext    = (*fakeStmt)(nil)
	_ driver.RowsNextResultSet  = (*fakeRows)(nil)
)

var errConnBusy = errors.New("fake: conn busy")

// call is one statement as it reached a fake server.
type call struct {
	kind     string // "query", "exec", "begin", "commit", "rollback", "prepare", "ping"
	text     string
	args     []driver.NamedValue
	nth      int // the how many-th of this text, from 1
	prepared bool
	inTx     bool
}

// arg is the value of the first argument.
func (c call) arg() driver.Value { return c.args[0].Value }

// reply is what a fake server answers.
type reply struct {
	err      error // of the call itself
	sets     []resultSet
	affected int64
}

type resultSet struct {
	cols   []string
	rows   [][]driver.Value
	err    error         // after the last row
	before func(row int) // called before each row, and with len(rows) before the end
	types  bool          // with column type methods
}

func oneSet(s resultSet) reply { return reply{sets: []resultSet{s}} }

// value answers one row of one column.
func value(v driver.Value) reply {
	return oneSet(resultSet{cols: []string{"v"}, rows: [][]driver.Value{{v}}})
}

// empty answers no row, of one column.
func empty() reply { return oneSet(resultSet{cols: []string{"v"}}) }

// numbers answers the rows 0 to n-1.
func numbers(n int) resultSet {
	s := resultSet{cols: []string{"v"}}
	for i := range n {
		s.rows = append(s.rows, []driver.Value{int64(i)})
	}
	return s
}

// fakeServer is a small database: a driver.Connector whose connections hand
// each statement to handle. It counts, and it notes each misuse of its
// connections. handle may block, panic or call runtime.Goexit.
type fakeServer struct {
	handle func(context.Context, call) reply
	plain  bool // connections have only what driver.Conn demands
	skip   bool // connections answer driver.ErrSkip to what is not prepared
	dial   func() error

	mu struct {
		sync.Mutex
		dials   int
		refused int // uses of a dead connection
		open    map[*fakeConn]struct{}
		byText  map[string]int
		calls   []call
		running int
		peak    int
		misuse  []string
	}
}

// newFake gives a server; a nil handle answers each query with the number of
// times that its text was asked.
func newFake(tb testing.TB, handle func(context.Context, call) reply) *fakeServer {
	if handle == nil {
		handle = func(_ context.Context, c call) reply { return value(int64(c.nth)) }
	}
	f := &fakeServer{handle: handle}
	f.mu.open = make(map[*fakeConn]struct{})
	f.mu.byText = make(map[string]int)
	tb.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, m := range f.mu.misuse {
			tb.Errorf("misuse of a connection: %s", m)
		}
	})
	return f
}

func (f *fakeServer) Connect(ctx context.Context) (driver.Conn, error) {
	if f.dial != nil {
		if err := f.dial(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &fakeConn{f: f}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.dials++
	f.mu.open[c] = struct{}{}
	if f.plain {
		return plainConn{c}, nil
	}
	return c, nil
}

type fakeDriver struct{ f *fakeServer }

func (d fakeDriver) Open(string) (driver.Conn, error) { return d.f.Connect(context.Background()) }

func (f *fakeServer) Driver() driver.Driver { return fakeDriver{f} }

// kill makes every open connection answer driver.ErrBadConn from now on.
func (f *fakeServer) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.mu.open {
		c.dead.Store(true)
	}
}

func (f *fakeServer) count(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.byText[text]
}

func (f *fakeServer) dials() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.dials
}

func (f *fakeServer) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.mu.open)
}

func (f *fakeServer) peak() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.peak
}

func (f *fakeServer) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, c := range f.mu.calls {
		out = append(out, c.kind+" "+c.text)
	}
	return out
}

func (f *fakeServer) noteMisuse(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.misuse = append(f.mu.misuse, fmt.Sprintf(format, args...))
}

// fakeConn is for one goroutine at a time, and says so.
type fakeConn struct {
	f    *fakeServer
	dead atomic.Bool
	used atomic.Int32
	tx   bool
	rows *fakeRows // open rows
}

func (c *fakeConn) enter(what string) (leave func()) {
	if c.used.Add(1) != 1 {
		c.f.noteMisuse("%s while another goroutine uses the connection", what)
	}
	return func() { c.used.Add(-1) }
}

func (c *fakeConn) do(ctx context.Context, cl call) (reply, error) {
	defer c.enter(cl.kind + " " + cl.text)()
	f := c.f
	f.mu.Lock()
	if c.dead.Load() {
		f.mu.refused++
		f.mu.Unlock()
		return reply{}, driver.ErrBadConn
	}
	if _, ok := f.mu.open[c]; !ok {
		f.mu.misuse = append(f.mu.misuse, cl.kind+" "+cl.text+" on a closed connection")
	}
	if c.rows != nil {
		f.mu.Unlock()
		return reply{}, errConnBusy
	}
	f.mu.byText[cl.text]++
	cl.nth, cl.inTx = f.mu.byText[cl.text], c.tx
	f.mu.calls = append(f.mu.calls, cl)
	f.mu.running++
	f.mu.peak = max(f.mu.peak, f.mu.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mu.running--
	}()
	r := f.handle(ctx, cl)
	return r, r.err
}

func (c *fakeConn) query(ctx context.Context, cl call) (driver.Rows, error) {
	r, err := c.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	rows := &fakeRows{c: c, sets: r.sets}
	c.rows = rows
	if len(r.sets) > 0 && r.sets[0].types {
		return typedRows{rows}, nil
	}
	return rows, nil
}

func (c *fakeConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if c.f.skip {
		return nil, driver.ErrSkip
	}
	return c.query(ctx, call{kind: "query", text: text, args: args})
}

func (c *fakeConn) exec(ctx context.Context, cl call) (driver.Result, error) {
	r, err := c.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(r.affected), nil
}

func (c *fakeConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if c.f.skip {
		return nil, driver.ErrSkip
	}
	return c.exec(ctx, call{kind: "exec", text: text, args: args})
}

func (c *fakeConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if c.dead.Load() {
		return nil, driver.ErrBadConn
	}
	if c.rows != nil {
		return nil, errConnBusy
	}
	return &fakeStmt{c: c, text: text}, nil
}

func (c *fakeConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if _, err := c.do(ctx, call{kind: "begin", text: "begin"}); err != nil {
		return nil, err
	}
	c.tx = true
	return fakeTx{c}, nil
}

func (c *fakeConn) Ping(ctx context.Context) error {
	_, err := c.do(ctx, call{kind: "ping", text: "ping"})
	return err
}

func (c *fakeConn) Close() error {
	defer c.enter("Close")()
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if _, ok := c.f.mu.open[c]; !ok {
		c.f.mu.misuse = append(c.f.mu.misuse, "Close of a closed connection")
	}
	delete(c.f.mu.open, c)
	return nil
}

func (c *fakeConn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}
func (c *fakeConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

type fakeTx struct{ c *fakeConn }

func (t fakeTx) end(kind string) error {
	_, err := t.c.do(context.Background(), call{kind: kind, text: kind})
	t.c.tx = false
	return err
}
func (t fakeTx) Commit() error   { return t.end("commit") }
func (t fakeTx) Rollback() error { return t.end("rollback") }

type fakeStmt struct {
	c    *fakeConn
	text string
}

func (s *fakeStmt) Close() error  { return nil }
func (s *fakeStmt) NumInput() int { return -1 }
func (s *fakeStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(ctx, call{kind: "query", text: s.text, args: args, prepared: true})
}
func (s *fakeStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.exec(ctx, call{kind: "exec", text: s.text, args: args, prepared: true})
}
func (s *fakeStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}
func (s *fakeStmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	var out []driver.NamedValue
	for i, v := range args {
		out = append(out, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return out
}

// plainConn and plainStmt have the least that a driver may have.
type plainConn struct{ driver.Conn }

func (c plainConn) Prepare(text string) (driver.Stmt, error) {
	s, err := c.Conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	return plainStmt{s}, nil
}

type plainStmt struct{ driver.Stmt }

// fakeRows hands out []byte values in memory of its own, which it writes over
// at the next Next and at Close, as a driver may.
type fakeRows struct {
	c      *fakeConn
	sets   []resultSet
	next   int
	memory [][]byte
	closed bool
}

func (r *fakeRows) set() resultSet {
	if len(r.sets) == 0 {
		return resultSet{}
	}
	return r.sets[0]
}

func (r *fakeRows) Columns() []string { return r.set().cols }

func (r *fakeRows) scribble() {
	for _, m := range r.memory {
		for i := range m {
			m[i] = '#'
		}
	}
}

func (r *fakeRows) Next(dest []driver.Value) error {
	defer r.c.enter("Next")()
	if r.closed {
		r.c.f.noteMisuse("Next on closed rows")
		return errors.New("fake: rows are closed")
	}
	if r.c.dead.Load() {
		return errors.New("fake: connection lost")
	}
	s := r.set()
	if s.before != nil {
		s.before(r.next)
	}
	r.scribble()
	if r.next == len(s.rows) {
		if s.err != nil {
			return s.err
		}
		return io.EOF
	}
	for i, v := range s.rows[r.next] {
		if b, ok := v.([]byte); ok && b != nil {
			m := slices.Clone(b)
			r.memory = append(r.memory, m)
			v = m
		}
		dest[i] = v
	}
	r.next++
	return nil
}

func (r *fakeRows) HasNextResultSet() bool { return len(r.sets) > 1 }

func (r *fakeRows) NextResultSet() error {
	if len(r.sets) <= 1 {
		return io.EOF
	}
	r.sets, r.next = r.sets[1:], 0
	return nil
}

func (r *fakeRows) Close() error {
	if r.closed {
		return nil
	}
	defer r.c.enter("Rows.Close")()
	r.scribble()
	r.closed = true
	r.c.rows = nil
	return nil
}

// typedRows knows all that a driver can say of a column.
type typedRows struct{ *fakeRows }

func (typedRows) ColumnTypeDatabaseTypeName(i int) string { return fmt.Sprintf("TYPE%d", i) }
func (typedRows) ColumnTypeLength(i int) (int64, bool)    { return int64(100 + i), i%2 == 0 }
func (typedRows) ColumnTypeNullable(i int) (bool, bool)   { return i%2 == 1, i != 2 }
func (typedRows) ColumnTypePrecisionScale(i int) (int64, int64, bool) {
	return int64(10 + i), int64(i), i%2 == 1
}
func (typedRows) ColumnTypeScanType(i int) reflect.Type {
	return []reflect.Type{reflect.TypeFor[int64](), reflect.TypeFor[string](), reflect.TypeFor[time.Time]()}[i%3]
}
