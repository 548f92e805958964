package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// Arguments that are keyed as they are sent, and rewriters, once answered
// wrongly in ways that these tests keep out.

// brokenInt is an argument that is sent, and keyed, as its Valuer says.
func brokenInt(n int) any { return sql.NullInt32{Int32: int32(n), Valid: true} }

// brokenOnConn is a rewriter that changes nothing, and does something on the
// connection that it is given.
func brokenOnConn(f func(ctx context.Context, conn *pgx.Conn) error) exactRewriter {
	return exactRewriter{f: func(ctx context.Context, conn *pgx.Conn, text string, args []any) (string, []any, error) {
		return text, args, f(ctx, conn)
	}}
}

// brokenRuns is a rewriter that runs statements first.
func brokenRuns(texts ...string) exactRewriter {
	return brokenOnConn(func(ctx context.Context, conn *pgx.Conn) error {
		for _, text := range texts {
			if _, err := conn.Exec(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestPGBrokenArgumentsMemory changes an argument after the call: a load that
// outlives its caller asks for what the key says. Kinds 3 and 11.
func TestPGBrokenArgumentsMemory(t *testing.T) {
	number := func(n int64) (any, func()) { return &n, func() { n = 3 } }
	numbers := func(n int64) (any, func()) { ns := []int64{n}; return ns, func() { ns[0] = 3 } }
	word := func(n int64) (any, func()) { b := fmt.Appendf(nil, "v%d", n); return b, func() { b[1] = '3' } }
	named := func(v any) any { return pgx.NamedArgs{"a": v} }
	strict := func(v any) any { return pgx.StrictNamedArgs{"a": v} }
	alone := func(v any) any { return v }
	dsn := newPG(t, "CREATE TABLE t (id int8, v text); INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 9) i").dsn
	for _, c := range []struct {
		name, where string
		argument    func(n int64) (v any, change func())
		as          func(v any) any
	}{
		{"a pointer", "id = $1", number, alone},
		{"a pointer by name", "id = @a", number, named},
		{"a slice", "id = ANY($1)", numbers, alone},
		{"a slice by name", "id = ANY(@a)", numbers, named},
		{"a slice by a strict name", "id = ANY(@a)", numbers, strict},
		{"bytes by name", "v = convert_from(@a, 'UTF8')", word, named},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "cache_server_max_open=1")
			text := "SELECT v FROM t WHERE " + c.where
			first, _ := c.argument(1)
			e.warm(text, c.as(first))

			only, err := e.cache.Server().Conn(e.ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer only.Close()
			ctx, cancel := context.WithCancel(e.ctx)
			defer cancel()
			waits := e.cache.Server().Stats().WaitCount
			seven, change := c.argument(7)
			left := make(chan pgAnswer, 1)
			go func() { left <- pgAsk(ctx, e.db, text, c.as(seven)) }()
			e.eventually("the load waits for the connection", func() bool { return e.cache.Server().Stats().WaitCount > waits })
			cancel()
			<-left
			change() // the memory is the caller's again
			if err := only.Close(); err != nil {
				t.Fatal(err)
			}
			e.eventually("the load is over", func() bool { return e.cache.Stats().Loading == 0 })
			again, _ := c.argument(7)
			if got := e.one(e.db, text, c.as(again)); got != `string("v7")` {
				t.Errorf("%s was given, v7 was asked for", got)
			}
		})
	}
}

// TestPGBrokenRewriterSets has rewriters set what the answer depends on: the
// session goes on with the connection on which they did, and nobody else is
// served what it saw. Kinds 1 and 7.
func TestPGBrokenRewriterSets(t *testing.T) {
	const text, other = "SELECT n FROM who", "SELECT n FROM who WHERE n <> ''"
	dsn := newPG(t, `CREATE TABLE who (n text); INSERT INTO who VALUES ('public'); CREATE TABLE written (id int);
		CREATE SCHEMA ten; CREATE TABLE ten.who (n text); INSERT INTO ten.who VALUES ('ten')`).dsn
	for _, c := range []struct {
		name string
		runs []string
	}{
		{"a search_path", []string{"SET search_path = ten"}},
		{"a search_path of a transaction", []string{"BEGIN", "SET LOCAL search_path = ten"}},
		{"an open transaction with a write", []string{"BEGIN", "UPDATE who SET n = 'uncommitted'"}},
	} {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after a write %t", c.name, written), func(t *testing.T) {
				e := newPGOn(t, dsn, "")
				e.warm(text)
				var answers [2][]pgAnswer
				for i, db := range []*sql.DB{e.plain, e.db} {
					conn := e.session(db)
					if written { // it holds its connection from here on
						e.must(conn, "INSERT INTO written VALUES (1)")
					}
					answers[i] = append(answers[i], pgAsk(e.ctx, conn, text, brokenRuns(c.runs...)), pgAsk(e.ctx, conn, other), pgAsk(e.ctx, conn, text))
					pgAsk(e.ctx, conn, "ROLLBACK")
					answers[i] = append(answers[i], pgAsk(e.ctx, conn, other))
					_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // its settings go with it
				}
				for i, want := range answers[0] {
					if diff := pgDiff(want, answers[1][i]); diff != "" {
						t.Errorf("read %d of the session: %s", i, diff)
					}
				}
				for _, text := range []string{text, other} {
					if got := e.one(e.db, text); got != `string("public")` {
						t.Errorf("%s: everybody else is served %s", text, got)
					}
				}
			})
		}
	}
}

// TestPGBrokenRewriterWrites has a rewriter name the tenant of a write, while
// another waits for the only connection: the write is made where its rewriter
// ran. Kind 1.
func TestPGBrokenRewriterWrites(t *testing.T) {
	e := newPG(t, "CREATE TABLE t (id int4, tenant text DEFAULT current_setting('app.tenant', true))", "cache_server_max_open=1")
	names := func(tenant string) string { return "SET app.tenant = '" + tenant + "'" }
	ran, goOn, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := e.db.ExecContext(e.ctx, "INSERT INTO t (id) VALUES ($1)", brokenOnConn(func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, names("a"))
			close(ran)
			<-goOn
			return err
		}), 1)
		first <- err
	}()
	<-ran
	go func() {
		_, err := e.db.ExecContext(e.ctx, "INSERT INTO t (id) VALUES ($1)", brokenRuns(names("b")), 2)
		second <- err
	}()
	e.eventually("the second waits", func() bool { return e.cache.Server().Stats().WaitCount > 0 })
	close(goOn)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Fatal(err)
	}
	if got := e.one(e.plain, "SELECT string_agg(id || tenant, ' ' ORDER BY id) FROM t"); got != `string("1a 2b")` {
		t.Errorf("%s is written, want 1a 2b", got)
	}
}

// TestPGBrokenRewriterConnection has rewriters use their connection in ways that
// leave it in another state: reads and writes end as plain pgx's do, and no
// connection stays in use. Kind 8.
func TestPGBrokenRewriterConnection(t *testing.T) {
	const text = "SELECT id FROM t WHERE id = $1"
	dsn := newPG(t, "CREATE TABLE t (id int4); INSERT INTO t VALUES (1)").dsn
	for name, f := range map[string]func(ctx context.Context, conn *pgx.Conn) error{
		"prepares": func(ctx context.Context, conn *pgx.Conn) error { _, err := conn.Prepare(ctx, text, text); return err },
		"fails":    func(ctx context.Context, conn *pgx.Conn) error { _, err := conn.Exec(ctx, "SELECT 1/0"); return err },
		"fails as nothing was sent": func(ctx context.Context, conn *pgx.Conn) error {
			_ = conn.Close(ctx)
			_, err := conn.Exec(ctx, "SELECT 1")
			return err
		},
		"leaves rows open": func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Query(ctx, "SELECT generate_series(1, 1000)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPGOn(t, dsn, "")
			e.same("a read", text, brokenOnConn(f), 1)
			_, want := e.plain.ExecContext(e.ctx, "UPDATE t SET id = $1", brokenOnConn(f), 1)
			_, got := e.db.ExecContext(e.ctx, "UPDATE t SET id = $1", brokenOnConn(f), 1)
			if pgError(want) != pgError(got) {
				t.Errorf("a write: error %q, plain pgx gives %q", pgError(got), pgError(want))
			}
			e.eventually("no connection is in use", func() bool { return e.cache.Server().Stats().InUse == 0 })
			e.same("afterwards", text, 1)
		})
	}
}

// TestPGBrokenTooBigKeys asks for more rows than are kept, with long arguments:
// that a key is too big to keep is not itself kept at any size. Kind 15.
func TestPGBrokenTooBigKeys(t *testing.T) {
	e := newPG(t, "CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 3)", "cache_max_rows=1", "cache_max_bytes=1MiB")
	before := heap()
	for i := range 20 {
		if got := pgAsk(e.ctx, e.db, "SELECT id FROM t WHERE $1::text <> 'x'", strings.Repeat("a", 1<<20)+fmt.Sprint(i)); len(got.Rows) != 3 {
			t.Fatal(got.Err)
		}
	}
	if kept := heap() - before; kept > 8<<20 {
		t.Errorf("20 reads with arguments of 1 MiB keep %d MiB", kept>>20)
	}
}

// TestPGBrokenIdleKeys gives sessions back that have asked with arguments larger
// than an entry may be: they keep none of them. Kind 15.
func TestPGBrokenIdleKeys(t *testing.T) {
	large := strings.Repeat("a", 4<<20)
	for name, arg := range map[string]any{
		"a string":            large,
		"an argument as sent": sql.NullString{String: large, Valid: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newPG(t, "CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 3)", "cache_max_bytes=1MiB")
			e.db.SetMaxIdleConns(10)
			const text = "SELECT id FROM t WHERE $1::text <> 'x'"
			pgAsk(e.ctx, e.db, text, arg)
			before := heap()
			var conns []*sql.Conn
			for range 3 {
				conn := e.session(e.db)
				if got := pgAsk(e.ctx, conn, text, arg); len(got.Rows) != 3 {
					t.Fatal(got.Err)
				}
				conns = append(conns, conn)
			}
			for _, conn := range conns {
				_ = conn.Close()
			}
			if kept := heap() - before; kept > 6<<20 {
				t.Errorf("3 idle sessions keep %d MiB", kept>>20)
			}
		})
	}
}

// TestPGBrokenOtherTypes has somebody else alter a parameter's type that the
// cache knows: a session that holds its connection asks by the new one. Kind 15.
func TestPGBrokenOtherTypes(t *testing.T) {
	const text = "SELECT id FROM t WHERE v = $1"
	const write = "INSERT INTO written VALUES (1)" // the session holds its connection from here on
	for _, c := range []struct {
		name string
		asks bool // before it is altered, so that the statement is prepared there
	}{{"a connection that never asked", false}, {"a connection that has asked", true}} {
		t.Run(c.name, func(t *testing.T) {
			e := newPG(t, "CREATE TABLE t (id int, v int4); INSERT INTO t VALUES (1, 7); CREATE TABLE written (id int)")
			e.warm(text, brokenInt(7))
			conn := e.session(e.db)
			if c.asks {
				e.must(conn, write)
				pgAsk(e.ctx, conn, text, brokenInt(7))
			} else {
				asked, err := e.cache.Server().Conn(e.ctx) // the session gets another
				if err != nil {
					t.Fatal(err)
				}
				defer asked.Close()
			}
			e.must(e.plain, "ALTER TABLE t ALTER COLUMN v TYPE float4")
			want := pgAsk(e.ctx, e.plain, text, brokenInt(7))
			for range 2 {
				e.must(conn, write)
				if diff := pgDiff(want, pgAsk(e.ctx, conn, text, brokenInt(7))); diff != "" {
					t.Error(diff)
				}
			}
			e.same("everybody else", text, brokenInt(7))
		})
	}
}

// TestPGBrokenFormats orders formats for more or fewer columns than there are:
// the server is asked as plain pgx asks it. Kind 3.
func TestPGBrokenFormats(t *testing.T) {
	e := newPG(t, "CREATE TABLE t (id int4, v int8, w text); INSERT INTO t VALUES (1, 7, 'x')")
	for _, formats := range []pgx.QueryResultFormats{nil, {}, {0}, {1}, {0, 1}, {1, 1}, {1, 1, 0}, {1, 1, 1, 1}} {
		for _, arg := range []any{int32(1), brokenInt(1)} {
			for _, time := range []string{"the first", "the second"} {
				e.same(fmt.Sprintf("%v with %T, %s time", formats, arg, time), "SELECT id, v, w FROM t WHERE id = $1",
					pgx.QueryResultFormatsByOID(nil), formats, arg)
			}
		}
	}
}

// TestPGBrokenPreparedRewritten runs a prepared statement whose rewriter answers
// with another text: that one is not prepared, so its arguments are sent as the
// mode sends them. Kinds 3 and 14.
func TestPGBrokenPreparedRewritten(t *testing.T) {
	const text = "SELECT v FROM t WHERE id = $1 AND v <> $2"
	to := func(text string, args ...any) exactRewriter {
		return exactRewriter{f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { return text, args, nil }}
	}
	other := to("SELECT $2::text || v FROM t WHERE id = $1", brokenInt(1), []byte("ab"))
	same := to(text, brokenInt(1), sql.NullString{String: "ab", Valid: true})
	dsn := newPG(t, "CREATE TABLE t (id int4, v text); INSERT INTO t VALUES (1, 'x')").dsn
	for _, mode := range []string{"exec", "simple_protocol", "cache_statement"} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
			var stmts [2]*sql.Stmt
			for i, db := range []*sql.DB{e.plain, e.db} {
				stmt, err := db.PrepareContext(e.ctx, text)
				if err != nil {
					t.Fatal(err)
				}
				defer stmt.Close()
				stmts[i] = stmt
			}
			for name, r := range map[string]exactRewriter{"another text": other, "the same text": same} {
				for _, time := range []string{"the first", "the second"} {
					want, got := pgAskStmt(e.ctx, stmts[0], r, 1), pgAskStmt(e.ctx, stmts[1], r, 1)
					if diff := pgDiff(want, got); diff != "" {
						t.Errorf("%s, %s time: %s", name, time, diff)
					}
				}
			}
		})
	}
}

// TestPGBrokenDiscards shares a pgxpool with who drops its prepared statements:
// reads go on where plain pgx's do. Kinds 14 and 15.
func TestPGBrokenDiscards(t *testing.T) {
	const text = "SELECT id FROM t WHERE id = $1"
	dsn := newPG(t, "CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 9)").dsn
	for _, c := range []struct {
		name, mode string
		onRelease  string // run whenever a connection is given back
		once       string // run once, by another user of the pool
	}{
		{"DISCARD on release", "describe_exec", "DISCARD ALL", ""},
		{"DISCARD on release", "cache_describe", "DISCARD ALL", ""},
		{"DISCARD on release", "exec", "DISCARD ALL", ""},
		{"DISCARD on release", "simple_protocol", "DISCARD ALL", ""},
		{"DEALLOCATE once", "cache_statement", "", "DEALLOCATE ALL"},
	} {
		t.Run(c.name+" in "+c.mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "")
			config, err := pgxpool.ParseConfig(pgWith(t, e.dsn, "default_query_exec_mode", c.mode))
			if err != nil {
				t.Fatal(err)
			}
			config.MaxConns = 1
			if c.onRelease != "" {
				config.AfterRelease = func(conn *pgx.Conn) bool {
					_, err := conn.Exec(context.Background(), c.onRelease)
					return err == nil
				}
			}
			pool, err := pgxpool.NewWithConfig(e.ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			db, err := cachedpgx.OpenDB(stdlib.GetPoolConnector(pool), cachedpgx.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			failed := 0
			for i := range 4 {
				for _, arg := range []any{brokenInt(2*i + 1), int32(2*i + 2)} {
					if got := pgAsk(e.ctx, db, text, arg); got.Err != "" {
						failed++
					}
				}
				if i == 1 && c.once != "" {
					if _, err := pool.Exec(e.ctx, c.once); err != nil {
						t.Fatal(err)
					}
				}
			}
			allowed := 0
			if c.once != "" {
				allowed = 1 // plain pgx fails once, and prepares again
			}
			if failed > allowed {
				t.Errorf("%d of 8 reads failed, %d may", failed, allowed)
			}
		})
	}
}

// brokenBuffer is a Valuer whose answer is its caller's buffer.
type brokenBuffer struct{ buf []byte }

func (r *brokenBuffer) Value() (driver.Value, error) { return r.buf, nil }

// TestPGBrokenStress has many sessions ask in many ways for one row each, reuse
// their buffers and leave early, while the table is locked, written and the
// cache flushed and turned off: whoever is answered has got the row asked for,
// and nothing stays in use. Kinds 3, 8 and 13.
func TestPGBrokenStress(t *testing.T) {
	e := newPG(t, `CREATE TABLE t (id int8 PRIMARY KEY, v text, u uuid);
		INSERT INTO t SELECT i, 'v' || i, lpad(to_hex(i), 32, '0')::uuid FROM generate_series(1, 100) i`, "cache_ttl=300ms")
	const byID, byV = "SELECT id, v FROM t WHERE id = $1", "SELECT id, v FROM t WHERE v = $1"
	buffered := func(buf *[]byte, id int) []byte { *buf = fmt.Appendf((*buf)[:0], "v%d", id); return *buf }
	asks := []func(id int, buf *[]byte) (string, []any){
		func(id int, _ *[]byte) (string, []any) { return byID, []any{id} },
		func(id int, _ *[]byte) (string, []any) {
			return byID, []any{sql.NullInt64{Int64: int64(id), Valid: true}}
		},
		func(id int, _ *[]byte) (string, []any) {
			return byID, []any{pgtype.Int8{Int64: int64(id), Valid: true}}
		},
		func(id int, _ *[]byte) (string, []any) {
			return byID, []any{pgx.QueryExecModeSimpleProtocol, sql.NullInt64{Int64: int64(id), Valid: true}}
		},
		func(id int, _ *[]byte) (string, []any) {
			return "SELECT id, v FROM t WHERE id = @id", []any{pgx.NamedArgs{"id": id}}
		},
		func(id int, _ *[]byte) (string, []any) {
			return "SELECT id, v FROM t WHERE id = ANY($1)", []any{pgtype.FlatArray[int64]{int64(id)}}
		},
		func(id int, _ *[]byte) (string, []any) {
			return "SELECT id, v FROM t WHERE u = $1", []any{[16]byte{15: byte(id)}}
		},
		func(id int, buf *[]byte) (string, []any) { return byV, []any{buffered(buf, id)} },
		func(id int, buf *[]byte) (string, []any) { return byV, []any{&brokenBuffer{buffered(buf, id)}} },
	}

	stop := make(chan struct{})
	var disturber, readers sync.WaitGroup
	disturber.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond): // between disturbances
			}
			var err error
			switch i % 4 {
			case 0:
				err = e.cache.Flush(e.ctx)
			case 1:
				e.cache.SetMode(cachedpgx.ModeOff)
				e.cache.SetMode(cachedpgx.ModeInherit)
			case 2:
				_, err = e.db.ExecContext(e.ctx, "UPDATE t SET v = v WHERE id = 1")
			case 3:
				_, err = e.plain.ExecContext(e.ctx, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.003); COMMIT")
			}
			if err != nil {
				t.Errorf("disturbance %d: %v", i%4, err)
			}
		}
	})
	var answered atomic.Int64
	for seed := range uint64(12) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			conn, err := e.db.Conn(e.ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			var buf []byte
			for range 30 {
				id := r.IntN(100) + 1
				text, args := asks[r.IntN(len(asks))](id, &buf)
				var row interface {
					QueryRowContext(context.Context, string, ...any) *sql.Row
				} = e.db
				if r.IntN(2) == 0 {
					row = conn
				}
				ctx, cancel := e.ctx, context.CancelFunc(func() {})
				if r.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(e.ctx, time.Duration(r.IntN(8000))*time.Microsecond)
				}
				var n int64
				var v string
				err := row.QueryRowContext(ctx, text, args...).Scan(&n, &v)
				left := ctx.Err() != nil || ctx != e.ctx && pgTimedOut(err)
				cancel()
				clear(buf)
				switch {
				case err == nil && (n != int64(id) || v != fmt.Sprint("v", id)):
					t.Errorf("%s %T: row %d %s, want %d", text, args[0], n, v, id)
				case err == nil:
					answered.Add(1)
				case errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn):
					_ = conn.Close() // a caller that left has cost the session its connection
					if conn, err = e.db.Conn(e.ctx); err != nil {
						t.Error(err)
						return
					}
				case !left:
					t.Errorf("%s %T: %v", text, args[0], err)
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	disturber.Wait()
	if n := answered.Load(); n < 12*30/3 {
		t.Errorf("%d of %d were answered", n, 12*30)
	}
	e.eventually("nothing is in use", func() bool {
		return e.cache.Server().Stats().InUse == 0 && e.db.Stats().InUse == 0 && e.cache.Stats().Loading == 0
	})
}
