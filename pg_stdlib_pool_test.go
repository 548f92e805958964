package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// TestStdlibPool compares what database/sql's own statistics and limits tell.
func TestStdlibPool(t *testing.T) {
	e := newPG(t, stdlibSchema)
	const text = "SELECT id FROM item ORDER BY id"
	stats := func(db *sql.DB) string {
		s := db.Stats()
		return fmt.Sprintf("max %d, open %d, in use %d, idle %d, waited %t, closed %d %d; ", s.MaxOpenConnections, s.OpenConnections, s.InUse, s.Idle, s.WaitCount > 0, s.MaxIdleClosed, s.MaxLifetimeClosed)
	}
	e.warm(text)
	fresh := func() []*sql.DB { return []*sql.DB{pgOpen(t, "pgx", e.dsn), pgOpen(t, "cachedpgx", e.dsn)} }
	for name, f := range map[string]func(db *sql.DB) string{
		"rows, closed and open": func(db *sql.DB) (told string) {
			told = stats(db)
			for range 3 { // a miss, then hits
				rows, err := db.QueryContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				rows.Next()
				told += stats(db)
				for rows.Next() {
				}
				told += stats(db)
				rows.Close()
			}
			var open []*sql.Rows
			for range 4 {
				rows, err := db.QueryContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				open = append(open, rows)
			}
			told += stats(db)
			for _, rows := range open {
				rows.Close()
			}
			return told + stats(db)
		},
		"one connection": func(db *sql.DB) (told string) {
			db.SetMaxOpenConns(1)
			for range 2 {
				rows, err := db.QueryContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				rows.Next()
				ctx, cancel := context.WithTimeout(e.ctx, 10*time.Millisecond)
				told += pgError(pgAskErr(ctx, db, text))
				cancel()
				told += stats(db)
				rows.Close()
				told += fmt.Sprint(pgAsk(e.ctx, db, text))
			}
			return told
		},
		"none idle": func(db *sql.DB) (told string) {
			db.SetMaxIdleConns(0)
			for range 3 {
				pgAsk(e.ctx, db, text)
				told += stats(db)
			}
			return told
		},
		"a short life": func(db *sql.DB) (told string) {
			db.SetConnMaxLifetime(time.Nanosecond)
			for range 3 {
				told += fmt.Sprint(len(pgAsk(e.ctx, db, text).Rows))
			}
			return told + fmt.Sprint(db.Stats().MaxLifetimeClosed > 0)
		},
		"a transaction and a session": func(db *sql.DB) (told string) {
			tx := e.begin(db)
			conn := e.session(db)
			told = stats(db)
			_ = tx.Rollback()
			_ = conn.Close()
			return told + stats(db)
		},
		"a statement": func(db *sql.DB) (told string) {
			stmt, err := db.PrepareContext(e.ctx, "SELECT name FROM item WHERE id = $1")
			if err != nil {
				return pgError(err)
			}
			told = stats(db) + fmt.Sprint(pgAskStmt(e.ctx, stmt, 1)) + stats(db)
			return told + pgError(stmt.Close()) + stats(db)
		},
	} {
		e.stdlibAlike(name, fresh(), f)
	}
	// The server's connections have a life of their own.
	db := pgOpen(t, "cachedpgx", pgWith(t, e.dsn, "cache_server_max_lifetime", "1ms"))
	pid := e.one(db, "SELECT pg_backend_pid()")
	e.eventually("a server connection gives way to a younger one", func() bool { return e.one(db, "SELECT pg_backend_pid()") != pid })
}

// TestStdlibPrepared prepares, closes and runs in every order.
func TestStdlibPrepared(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		const text = "SELECT id, name FROM item WHERE id = $1"
		prepare := func(p interface {
			PrepareContext(context.Context, string) (*sql.Stmt, error)
		}, text string) *sql.Stmt {
			stmt, err := p.PrepareContext(e.ctx, text)
			if err != nil {
				e.Fatalf("%s: %v", text, err)
			}
			return stmt
		}
		e.stdlibBoth("one of two is closed", func(db *sql.DB) (told string) {
			one, two := prepare(db, text), prepare(db, text)
			told = pgError(one.Close()) + fmt.Sprint(pgAskStmt(e.ctx, two, 1), pgAskStmt(e.ctx, one, 1)) + pgError(one.Close())
			told += pgError(two.Close()) + fmt.Sprint(pgAskStmt(e.ctx, two, 1))
			three := prepare(db, text)
			defer three.Close()
			return told + fmt.Sprint(pgAskStmt(e.ctx, three, 1))
		})
		e.stdlibBoth("on one connection", func(db *sql.DB) (told string) {
			conn := e.session(db)
			defer conn.Close()
			one, two := prepare(conn, text), prepare(conn, text)
			defer two.Close()
			told = fmt.Sprint(pgAskStmt(e.ctx, one, 1)) + pgError(one.Close()) + fmt.Sprint(pgAskStmt(e.ctx, two, 2)) + pgError(conn.Close())
			return told + fmt.Sprint(pgAskStmt(e.ctx, two, 1))
		})
		e.stdlibBoth("in a transaction", func(db *sql.DB) (told string) {
			outside := prepare(db, text)
			defer outside.Close()
			tx := e.begin(db)
			defer tx.Rollback()
			inside := prepare(tx, "INSERT INTO item (id, name) VALUES ($1, $2)")
			res, err := inside.ExecContext(e.ctx, 1000, "new")
			if err != nil {
				return pgError(err)
			}
			n, err := res.RowsAffected()
			told = fmt.Sprint(n, err, pgAskStmt(e.ctx, tx.StmtContext(e.ctx, outside), 1000), pgAskStmt(e.ctx, outside, 1000)) + pgError(inside.Close())
			_, err = tx.ExecContext(e.ctx, "SELECT 1/0")
			_, late := tx.PrepareContext(e.ctx, "SELECT id FROM item WHERE name = $1 AND id < 0")
			return told + pgError(err) + pgError(late) + pgError(tx.Rollback()) + fmt.Sprint(pgAskStmt(e.ctx, outside, 1000))
		})
		e.stdlibBoth("a statement that can't be", func(db *sql.DB) (told string) {
			for _, bad := range []string{"SELECT no_such FROM item", "SELECT 'foo", "SELECT $1::no_such_type", "SELECT 1; SELECT 2", "INSERT INTO no_such VALUES ($1)"} {
				for range 2 {
					_, err := db.PrepareContext(e.ctx, bad)
					told += pgError(err)
				}
			}
			return told
		})
		e.stdlibBoth("how many arguments", func(db *sql.DB) (told string) {
			stmt := prepare(db, text)
			defer stmt.Close()
			for _, args := range [][]any{{}, {1}, {1, 2}, {nil}, {"x"}, {struct{ A int }{1}}} {
				_, err := stmt.ExecContext(e.ctx, args...)
				told += fmt.Sprint(pgAskStmt(e.ctx, stmt, args...)) + pgError(err)
			}
			return told
		})
		e.stdlibBoth("an error leaves it sound", func(db *sql.DB) (told string) {
			stmt := prepare(db, "SELECT id / $1::int FROM item WHERE id < 3 ORDER BY id")
			defer stmt.Close()
			ended, cancel := context.WithCancel(e.ctx)
			cancel()
			told = fmt.Sprint(pgAskStmt(e.ctx, stmt, 1), pgAskStmt(e.ctx, stmt, 0))
			told += fmt.Sprint(errors.Is(pgAskStmtErr(ended, stmt, 1), context.Canceled))
			return told + fmt.Sprint(pgAskStmt(e.ctx, stmt, 1), pgAsk(e.ctx, db, "SELECT id / $1::int FROM item WHERE id < 3 ORDER BY id", 0))
		})
		stmts := map[*sql.DB]*sql.Stmt{}
		for _, db := range e.stdlibDrivers() {
			stmts[db] = prepare(db, text)
			defer stmts[db].Close()
		}
		for _, id := range []any{1, 2, "1"} {
			e.stdlibRead(fmt.Sprintf("prepared, %T %v", id, id), func(db *sql.DB) (string, error) {
				a := pgAskStmt(e.ctx, stmts[db], id)
				return fmt.Sprint(a), map[bool]error{true: errors.New(a.Err)}[a.Err != ""]
			})
		}
	})
}

// TestStdlibChangedTypes changes a table under reads in each mode: direct and
// prepared, they answer as the table is, where pgx may fail once.
func TestStdlibChangedTypes(t *testing.T) {
	const schema = "DROP TABLE IF EXISTS person; CREATE TABLE person (name text PRIMARY KEY, age int); INSERT INTO person VALUES ('John', 42)"
	stdlibEachMode(t, schema, func(e *pgEnv) {
		const text = "SELECT * FROM person WHERE age = $1"
		e.must(e.db, schema)
		stmt, err := e.db.PrepareContext(e.ctx, text)
		if err != nil {
			e.Fatal(err)
		}
		defer stmt.Close()
		for _, ddl := range []string{"ALTER TABLE person ALTER COLUMN age TYPE float4", "ALTER TABLE person DROP COLUMN name", "ALTER TABLE person ALTER COLUMN age TYPE numeric", "ALTER TABLE person ADD COLUMN more int[]"} {
			for range 2 {
				pgAsk(e.ctx, e.db, text, int32(42))
				pgAskStmt(e.ctx, stmt, int32(42))
			}
			e.must(e.db, ddl)
			config := e.stdlibConfig()
			config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // it keeps nothing
			if strings.HasSuffix(e.Name(), "/exec") {
				config.DefaultQueryExecMode = pgx.QueryExecModeExec
			} else if strings.HasSuffix(e.Name(), "/simple_protocol") {
				config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
			}
			fresh := stdlib.OpenDB(*config)
			want := pgAsk(e.ctx, fresh, text, int32(42))
			if err := fresh.Close(); err != nil || want.Err != "" || len(want.Rows) != 1 {
				e.Fatalf("plain pgx after %s: %v, %v", ddl, want, err)
			}
			for time, got := range []pgAnswer{pgAsk(e.ctx, e.db, text, int32(42)), pgAsk(e.ctx, e.db, text, int32(42)), pgAskStmt(e.ctx, stmt, int32(42)), pgAskStmt(e.ctx, stmt, int32(42))} {
				if diff := pgDiff(want, got); diff != "" {
					e.Errorf("after %s, read %d: %s", ddl, time, diff)
				}
			}
		}
	})
}

// TestStdlibConcurrency has fifty callers insert, update and read rows of their
// own, some more than the pool has connections.
func TestStdlibConcurrency(t *testing.T) {
	stdlibInModes(t, stdlibEncodings, "CREATE TABLE t (id int PRIMARY KEY, str text, dur interval)", func(e *pgEnv) {
		for _, db := range e.stdlibDrivers() {
			db.SetMaxOpenConns(10)
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					dur := time.Duration(i) * time.Second
					for _, step := range []pgCase{{"INSERT INTO t VALUES ($1)", []any{i}}, {"UPDATE t SET str = $1 WHERE id = $2", []any{strconv.Itoa(i), i}}, {"UPDATE t SET dur = $1 WHERE id = $2", []any{dur, i}}} {
						if _, err := db.ExecContext(e.ctx, step.text, step.args...); err != nil {
							e.Errorf("%s: %v", step.text, err)
							return
						}
					}
					for range 2 {
						var id int
						var str string
						var got pgtype.Interval
						err := db.QueryRowContext(e.ctx, "SELECT id, str, dur FROM t WHERE id = $1", i).Scan(&id, &str, &got)
						if err != nil || id != i || str != strconv.Itoa(i) || got != (pgtype.Interval{Microseconds: dur.Microseconds(), Valid: true}) {
							e.Errorf("row %d: %d %q %v, %v", i, id, str, got, err)
						}
					}
				})
			}
			wg.Wait()
			e.must(db, "DELETE FROM t")
		}
	})
}
