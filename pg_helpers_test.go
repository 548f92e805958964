package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pgDeadline bounds every wait of a test on the server.
const pgDeadline = 20 * time.Second

// pgEnv is a database of its own, a handle of each driver over it, and a count
// of what the cached one sends.
type pgEnv struct {
	testing.TB
	ctx   context.Context
	dsn   string
	plain *sql.DB // "pgx"
	db    *sql.DB // "cachedpgx"
	cache *cachedpgx.Cache
	wire  *pgWire
}

// newPG makes a database with that schema. params are cache_ parameters, and
// parameters of pgx's ("default_query_exec_mode=exec"), which both handles get.
func newPG(t testing.TB, schema string, params ...string) *pgEnv {
	t.Helper()
	return newPGOn(t, pgtest.DSN(t), schema, params...)
}

func newPGOn(t testing.TB, dsn, schema string, params ...string) *pgEnv {
	t.Helper()
	e := &pgEnv{TB: t, dsn: dsn, wire: newPGWire()}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	e.ctx = ctx

	dsn = pgWith(t, dsn, "sslmode", "disable") // pgWire can't read TLS
	var cached []string
	for _, p := range params {
		if strings.HasPrefix(p, "cache_") {
			cached = append(cached, p)
			continue
		}
		name, value, _ := strings.Cut(p, "=")
		dsn = pgWith(t, dsn, name, value)
	}
	e.plain = pgOpen(t, "pgx", dsn)
	if schema != "" {
		e.must(e.plain, schema)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	e.wire.tap(config)
	name := stdlib.RegisterConnConfig(config)
	t.Cleanup(func() { stdlib.UnregisterConnConfig(name) })
	if len(cached) > 0 {
		name += "?" + strings.Join(cached, "&")
	}
	e.db = pgOpen(t, "cachedpgx", name)
	e.cache = pgCacheOf(t, e.db)
	return e
}

// on is e for a subtest.
func (e *pgEnv) on(t testing.TB) *pgEnv {
	sub := *e
	sub.TB = t
	return &sub
}

func pgOpen(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the %s handle: %v", driver, err)
		}
	})
	return db
}

func pgCacheOf(t testing.TB, db *sql.DB) *cachedpgx.Cache {
	t.Helper()
	cache, ok := cachedpgx.CacheOf(db)
	if !ok {
		t.Fatal("CacheOf does not know a handle of the driver")
	}
	return cache
}

// pgWith is a URL with one parameter more.
func pgWith(t testing.TB, dsn, name, value string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		t.Fatal("these tests need the server's address as a URL")
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

type pgExecer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

type pgQuerier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func (e *pgEnv) must(x pgExecer, text string, args ...any) {
	e.Helper()
	if _, err := x.ExecContext(e.ctx, text, args...); err != nil {
		e.Fatalf("%s: %v", pgShort(text), err)
	}
}

// one reads a single value as text.
func (e *pgEnv) one(q pgQuerier, text string, args ...any) string {
	e.Helper()
	got := pgAsk(e.ctx, q, text, args...)
	if got.Err != "" || len(got.Rows) != 1 || len(got.Rows[0]) != 1 {
		e.Fatalf("%s: one value was expected, got %v", pgShort(text), got)
	}
	return got.Rows[0][0]
}

// session takes a connection of db for as long as the test lasts.
func (e *pgEnv) session(db *sql.DB) *sql.Conn {
	e.Helper()
	conn, err := db.Conn(e.ctx)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (e *pgEnv) begin(b interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}) *sql.Tx {
	e.Helper()
	tx, err := b.BeginTx(e.ctx, nil)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// calls counts how often f makes the cached handle run text at the server.
func (e *pgEnv) calls(text string, f func()) int {
	before := e.wire.ran(text)
	f()
	return e.wire.ran(text) - before
}

// warm asks until the answer comes from memory, and fails if it never does.
func (e *pgEnv) warm(text string, args ...any) {
	e.Helper()
	e.eventually(fmt.Sprintf("%s is served from memory", pgShort(text)), func() bool {
		return e.calls(text, func() {
			if got := pgAsk(e.ctx, e.db, text, args...); got.Err != "" {
				e.Fatalf("%s: %s", pgShort(text), got.Err)
			}
		}) == 0
	})
}

// same fails if the cached handle's answer is not plain pgx's.
func (e *pgEnv) same(what, text string, args ...any) {
	e.Helper()
	want := pgAsk(e.ctx, e.plain, text, args...)
	if diff := pgDiff(want, pgAsk(e.ctx, e.db, text, args...)); diff != "" {
		e.Errorf("%s: %s: %s", what, pgShort(text), diff)
	}
}

// eventually polls, which is not a way to wait for what could be awaited.
func (e *pgEnv) eventually(what string, f func() bool) {
	e.Helper()
	pgEventually(e.TB, what, f)
}

func pgEventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(pgDeadline); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", pgDeadline, what)
		}
	}
}

// lock takes an exclusive lock that every reader and writer of the table waits
// for, through plain pgx; release gives it back.
func (e *pgEnv) lock(table string) (release func()) {
	e.Helper()
	tx := e.begin(e.plain)
	e.must(tx, "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	return func() {
		e.Helper()
		if err := tx.Rollback(); err != nil {
			e.Fatal(err)
		}
	}
}

// waiting is the number of sessions of this database that wait for a lock.
func (e *pgEnv) waiting() int {
	e.Helper()
	var n int
	err := e.plain.QueryRowContext(e.ctx, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
	if err != nil {
		e.Fatal(err)
	}
	return n
}

// pgAnswer is all that a caller can see of an answer, as text, so that two can
// be compared and shown.
type pgAnswer struct {
	Cols  string
	Types string
	Rows  [][]string
	Err   string
}

func pgAsk(ctx context.Context, q pgQuerier, text string, args ...any) pgAnswer {
	rows, err := q.QueryContext(ctx, text, args...)
	return pgRead(rows, err)
}

func pgAskStmt(ctx context.Context, stmt *sql.Stmt, args ...any) pgAnswer {
	rows, err := stmt.QueryContext(ctx, args...)
	return pgRead(rows, err)
}

func pgRead(rows *sql.Rows, err error) (a pgAnswer) {
	if err != nil {
		return pgAnswer{Err: pgError(err)}
	}
	defer rows.Close()
	cols, err := rows.Columns()
	a.Cols = fmt.Sprintf("%q", cols)
	if err != nil {
		return pgAnswer{Err: "Columns: " + pgError(err)}
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return pgAnswer{Err: "ColumnTypes: " + pgError(err)}
	}
	for _, c := range types {
		length, hasLength := c.Length()
		precision, scale, hasScale := c.DecimalSize()
		null, hasNull := c.Nullable()
		a.Types += fmt.Sprintf("%s %s %v len=%d,%t dec=%d,%d,%t null=%t,%t; ", c.Name(), c.DatabaseTypeName(),
			c.ScanType(), length, hasLength, precision, scale, hasScale, null, hasNull)
	}
	values := make([]any, len(cols))
	dests := make([]any, len(cols))
	for i := range values {
		dests[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dests...); err != nil {
			a.Err = "Scan: " + pgError(err)
			return a
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = fmt.Sprintf("%T(%#v)", v, v)
		}
		a.Rows = append(a.Rows, row)
	}
	a.end(rows)
	return a
}

// end takes down how rows ended.
func (a *pgAnswer) end(rows *sql.Rows) {
	if err := rows.Err(); err != nil {
		a.Err = pgError(err)
	} else if err := rows.Close(); err != nil {
		a.Err = "Close: " + pgError(err)
	}
}

// pgError is an error with its types and all that the server said of it.
func pgError(err error) string {
	if err == nil {
		return ""
	}
	var b strings.Builder
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&b, "%T > ", e)
	}
	b.WriteString(err.Error())
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		fmt.Fprintf(&b, " %+v", *pg)
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, sql.ErrNoRows, sql.ErrTxDone, sql.ErrConnDone} {
		if errors.Is(err, known) {
			fmt.Fprintf(&b, " (is %v)", known)
		}
	}
	return b.String()
}

// pgTimedOut says whether a deadline ended a call; a dial that its caller's
// deadline ends says so in the words of package net.
func pgTimedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}

// pgDiff says where two answers differ, "" if nowhere.
func pgDiff(want, got pgAnswer) string {
	switch {
	case want.Err != got.Err:
		return fmt.Sprintf("error %q, plain pgx gives %q", got.Err, want.Err)
	case want.Cols != got.Cols:
		return fmt.Sprintf("columns %s, plain pgx gives %s", got.Cols, want.Cols)
	case want.Types != got.Types:
		return fmt.Sprintf("column types\n\t%s, plain pgx gives\n\t%s", got.Types, want.Types)
	case len(want.Rows) != len(got.Rows):
		return fmt.Sprintf("%d rows, plain pgx gives %d", len(got.Rows), len(want.Rows))
	}
	for i := range want.Rows {
		for j := range want.Rows[i] {
			if w, g := want.Rows[i][j], got.Rows[i][j]; w != g {
				return fmt.Sprintf("row %d, column %d: %s, plain pgx gives %s", i, j, pgShort(g), pgShort(w))
			}
		}
	}
	return ""
}

func pgShort(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return text
}

// pgName is a name that no other database of the server uses for a role.
func pgName(e *pgEnv) string {
	e.Helper()
	return strings.Trim(strings.TrimPrefix(e.one(e.plain, "SELECT current_database()"), "string("), `")`)
}

func pgDropRole(t testing.TB, dsn, role string) {
	ctx, cancel := context.WithTimeout(context.Background(), pgDeadline)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
		t.Error(err)
	}
}

// someModes gives the first, the middle and the last of some modes where tests
// are to be brief, and otherwise all.
func someModes[M any](all []M) []M {
	if !briefly || len(all) < 4 {
		return all
	}
	return []M{all[0], all[len(all)/2], all[len(all)-1]}
}
