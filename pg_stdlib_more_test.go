package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jackc/pgx/v5/tracelog"
)

// stdlibConfig is the configuration of that database.
func (e *pgEnv) stdlibConfig() *pgx.ConnConfig {
	e.Helper()
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		e.Fatal(err)
	}
	return config
}

// stdlibOpen opens a configuration with each driver, plain pgx first. No
// connection lies idle where idle is false.
func (e *pgEnv) stdlibOpen(config *pgx.ConnConfig, idle bool, opts ...stdlib.OptionOpenDB) []*sql.DB {
	e.Helper()
	plain := stdlib.OpenDB(*config, opts...)
	cfg := cachedpgx.Config{}
	if !idle {
		cfg.ServerPool.MaxIdle = cachedpgx.Off
	}
	cached, err := cachedpgx.OpenDB(stdlib.GetConnector(*config, opts...), cfg)
	if err != nil {
		e.Fatal(err)
	}
	for _, db := range []*sql.DB{plain, cached} {
		if !idle {
			db.SetMaxIdleConns(0)
		}
		e.Cleanup(func() { _ = db.Close() })
	}
	return []*sql.DB{plain, cached}
}

// stdlibAlike fails unless f tells the same of both handles.
func (e *pgEnv) stdlibAlike(what string, dbs []*sql.DB, f func(db *sql.DB) string) {
	e.Helper()
	if want, got := stdlibTold(f(dbs[0])), stdlibTold(f(dbs[1])); got != want {
		e.Errorf("%s: %s", what, stdlibDiff(want, got))
	}
}

// stdlibKill terminates backends, and waits until they are gone: the server only
// sends them a signal, and a backend may answer once more before it sees that.
func (e *pgEnv) stdlibKill(where string) {
	e.Helper()
	if e.one(e.plain, "SELECT count(*) FROM pg_stat_activity WHERE "+where) == "int64(0)" {
		e.Fatalf("no backend is as %s", where)
	}
	e.terminate(where)
	e.eventually("the backends are gone", func() bool {
		return e.one(e.plain, "SELECT count(*) FROM pg_stat_activity WHERE "+where) == "int64(0)"
	})
}

// stdlibRaw runs f on a pgx connection, of whichever driver.
func stdlibRaw(conn *sql.Conn, f func(*pgx.Conn) error) error {
	return conn.Raw(func(c any) error { return f(c.(interface{ Conn() *pgx.Conn }).Conn()) })
}

// Connecting.

// stdlibLog notes what pgx's own logger is told.
type stdlibLog struct {
	mu   sync.Mutex
	said []string
}

func (l *stdlibLog) Log(_ context.Context, _ tracelog.LogLevel, msg string, data map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprint(msg, " ", data["sql"]))
}

// TestStdlibRegisterConnConfig opens by the name of a registered configuration.
func TestStdlibRegisterConnConfig(t *testing.T) {
	e := newPG(t, stdlibSchema)
	for _, driver := range []string{"pgx", "cachedpgx"} {
		config, log := e.stdlibConfig(), &stdlibLog{}
		config.Tracer = &tracelog.TraceLog{Logger: log, LogLevel: tracelog.LogLevelInfo}
		gone := stdlib.RegisterConnConfig(config)
		stdlib.UnregisterConnConfig(gone)
		name := stdlib.RegisterConnConfig(config)
		if name == gone {
			t.Fatalf("%s was given twice", name)
		}
		db := pgOpen(t, driver, name)
		const text = "SELECT name FROM item WHERE id = 1"
		for range 3 {
			e.one(db, text)
		}
		want := map[string]int{"pgx": 3, "cachedpgx": 1}[driver] // hits are not pgx's
		if got := len(slices.DeleteFunc(slices.Clone(log.said), func(s string) bool { return s != "Query "+text })); got != want {
			t.Errorf("%s: the logger was told of %d queries, want %d: %q", driver, got, want, log.said)
		}
		stdlib.UnregisterConnConfig(name)
		if err := pgOpen(t, driver, gone).PingContext(e.ctx); err == nil {
			t.Errorf("%s: a name that is registered no longer connects", driver)
		}
	}
}

// TestStdlibConnectHooks counts and fails the hooks before and after connecting.
func TestStdlibConnectHooks(t *testing.T) {
	e := newPG(t, stdlibSchema)
	base := e.stdlibConfig()
	var mu sync.Mutex
	var before []*pgx.ConnConfig
	var after []*pgx.Conn
	dbs := e.stdlibOpen(base, false,
		stdlib.OptionBeforeConnect(func(ctx context.Context, c *pgx.ConnConfig) error {
			mu.Lock()
			defer mu.Unlock()
			c.User += "" // its own copy
			c.Tracer = &pgTracer{}
			before = append(before, c)
			return ctx.Err()
		}),
		stdlib.OptionAfterConnect(func(ctx context.Context, pc *pgx.Conn) error {
			mu.Lock()
			after = append(after, pc)
			mu.Unlock()
			_, err := pc.Exec(ctx, "SET application_name = 'set after connecting'")
			return err
		}))
	e.stdlibAlike("hooks", dbs, func(db *sql.DB) string {
		before, after = nil, nil
		for range 2 {
			e.must(db, "SELECT 1")
		}
		name := e.one(db, "SHOW application_name")
		mu.Lock()
		defer mu.Unlock()
		own := len(before) > 1 && before[0] != before[1] && before[0] != base && base.Tracer == nil
		return fmt.Sprintf("%d before, %d after, own copies: %t, %s", len(before), len(after), own, name)
	})

	refused := errors.New("a hook's own error")
	fail := atomic.Bool{}
	for name, opt := range map[string]stdlib.OptionOpenDB{
		"BeforeConnect": stdlib.OptionBeforeConnect(func(context.Context, *pgx.ConnConfig) error { return map[bool]error{true: refused}[fail.Load()] }),
		"AfterConnect": stdlib.OptionAfterConnect(func(ctx context.Context, pc *pgx.Conn) error {
			if !fail.Load() {
				return nil
			}
			return errors.Join(pc.Close(ctx), refused)
		}),
	} {
		fail.Store(true)
		dbs := e.stdlibOpen(base, false, opt)
		uses := func(db *sql.DB) (told string) {
			for what, err := range e.stdlibUses(db) {
				told += fmt.Sprintf("%s: %t %s\n", what, errors.Is(err, refused), pgError(err))
			}
			return told
		}
		e.stdlibAlike(name+" fails", dbs, uses)
		fail.Store(false)
		e.stdlibAlike(name+" fails no longer", dbs, uses)
	}
}

// stdlibUses are the ways to use a handle, each with its error.
func (e *pgEnv) stdlibUses(db *sql.DB) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		_, err := db.ExecContext(e.ctx, "SELECT 1")
		if !yield("Exec", err) || !yield("Query", pgAskErr(e.ctx, db, "SELECT id FROM item")) || !yield("Ping", db.PingContext(e.ctx)) {
			return
		}
		tx, err := db.BeginTx(e.ctx, nil)
		if err == nil {
			err = tx.Rollback()
		}
		if !yield("Begin", err) {
			return
		}
		stmt, err := db.PrepareContext(e.ctx, "SELECT id FROM item WHERE id = $1")
		if err == nil {
			err = stmt.Close()
		}
		yield("Prepare", err)
	}
}

// stdlibHook is a hook that counts, and fails with what it is told to.
type stdlibHook struct {
	mu     sync.Mutex
	calls  int
	tenant any
	err    error
}

func (h *stdlibHook) called(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	h.tenant = ctx.Value(stdlibContextKey{})
	return h.err
}

func (h *stdlibHook) reset(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls, h.tenant, h.err = 0, nil, err
}

func (h *stdlibHook) told() (calls int, tenant any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls, h.tenant
}

// TestStdlibResetSession runs the hooks that stand before a connection's reuse.
func TestStdlibResetSession(t *testing.T) {
	e := newPG(t, stdlibSchema)
	for name, option := range map[string]func(h *stdlibHook) stdlib.OptionOpenDB{
		"ResetSession": func(h *stdlibHook) stdlib.OptionOpenDB {
			return stdlib.OptionResetSession(func(ctx context.Context, _ *pgx.Conn) error { return h.called(ctx) })
		},
		"ShouldPing, yes": func(h *stdlibHook) stdlib.OptionOpenDB {
			return stdlib.OptionShouldPing(func(ctx context.Context, p stdlib.ShouldPingParams) bool {
				return h.called(ctx) == nil && p.Conn != nil && p.IdleDuration >= 0
			})
		},
		"ShouldPing, no": func(h *stdlibHook) stdlib.OptionOpenDB {
			return stdlib.OptionShouldPing(func(ctx context.Context, _ stdlib.ShouldPingParams) bool { return h.called(ctx) != nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.on(t)
			h := new(stdlibHook)
			dbs := e.stdlibOpen(e.stdlibConfig(), true, option(h))
			e.stdlibAlike("called as a connection is used again, with the caller's context", dbs, func(db *sql.DB) string {
				db.SetMaxOpenConns(1)
				h.reset(nil)
				ctx := context.WithValue(e.ctx, stdlibContextKey{}, "tenant")
				if err := db.PingContext(ctx); err != nil {
					return pgError(err)
				}
				first, _ := h.told()
				err := db.PingContext(ctx)
				calls, tenant := h.told()
				return fmt.Sprint(first, calls > first, tenant, err)
			})
			e.stdlibAlike("reads", dbs, func(db *sql.DB) string {
				return fmt.Sprint(pgAsk(e.ctx, db, "SELECT id, name FROM item ORDER BY id"), pgAsk(e.ctx, db, "SELECT id, name FROM item ORDER BY id"))
			})
			if name != "ResetSession" {
				return
			}
			for what, err := range map[string]error{"ErrBadConn": driver.ErrBadConn, "another error": errors.New("a hook's own error")} {
				e.stdlibAlike(what, dbs, func(db *sql.DB) string {
					h.reset(nil)
					pid := e.one(db, "SELECT pg_backend_pid()")
					h.reset(err)
					// A connection that the hook gives up is not used again.
					return fmt.Sprint(e.one(db, "SELECT pg_backend_pid()") == pid)
				})
			}
		})
	}
	t.Run("ShouldPing, yes, of a connection that died", func(t *testing.T) {
		e := e.on(t)
		dbs := e.stdlibOpen(e.stdlibConfig(), true, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return true }))
		e.stdlibAlike("the next use", dbs, func(db *sql.DB) string {
			pid := e.one(db, "SELECT pg_backend_pid()")
			e.stdlibKill("'int64(' || pid || ')' = '" + pid + "'")
			_, err := db.ExecContext(e.ctx, "UPDATE item SET name = name WHERE id = 1")
			return fmt.Sprint(err, e.one(db, "SELECT pg_backend_pid()") == pid)
		})
	})
}

// TestStdlibHosts goes on to other hosts, and asks what kind of server each is.
func TestStdlibHosts(t *testing.T) {
	e := newPG(t, stdlibSchema)
	u, err := url.Parse(pgWith(t, e.dsn, "sslmode", "disable"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(hosts, params string) string {
		v := *u
		v.Host = strings.ReplaceAll(hosts, "GOOD", u.Host)
		v.RawQuery += "&" + params
		return v.String()
	}
	for _, c := range []struct{ hosts, params string }{
		{"GOOD", ""}, {"127.0.0.1:1,GOOD", ""}, {"GOOD,127.0.0.1:1", ""}, {"127.0.0.1:1,127.0.0.1:2,GOOD", "connect_timeout=10"}, {"127.0.0.1:1", ""}, {"127.0.0.1:1,127.0.0.1:2", ""},
		{"GOOD", "target_session_attrs=any"}, {"GOOD", "target_session_attrs=read-write"}, {"GOOD", "target_session_attrs=read-only"}, {"GOOD", "target_session_attrs=primary"},
		{"GOOD", "target_session_attrs=standby"}, {"GOOD", "target_session_attrs=prefer-standby"}, {"127.0.0.1:1,GOOD", "target_session_attrs=read-write"},
		{"GOOD", "target_session_attrs=read-write&default_transaction_read_only=on"}, {"GOOD", "target_session_attrs=read-only&default_transaction_read_only=on"},
		{"127.0.0.1:1,GOOD", "target_session_attrs=standby"}, {"GOOD", "target_session_attrs=nonsense"},
	} {
		dsn := with(c.hosts, c.params)
		dbs := []*sql.DB{pgOpen(t, "pgx", dsn), pgOpen(t, "cachedpgx", dsn)}
		e.stdlibAlike(c.hosts+" "+c.params, dbs, func(db *sql.DB) string {
			told := fmt.Sprintln(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
			err := db.PingContext(e.ctx)
			connect, ok := errors.AsType[*pgconn.ConnectError](err)
			if ok {
				told += fmt.Sprint(connect.Config.Host, connect.Config.Port, connect.Config.User)
			}
			return fmt.Sprintf("%s%t %s", told, ok, pgError(err))
		})
	}
	for name, change := range map[string]func(c *pgx.ConnConfig){
		"no such user": func(c *pgx.ConnConfig) { c.User = "no such user" }, "no such database": func(c *pgx.ConnConfig) { c.Database = "no such database" },
		"no such setting": func(c *pgx.ConnConfig) { c.RuntimeParams["no_such_setting"] = "1" },
		"a failing validation": func(c *pgx.ConnConfig) {
			c.ValidateConnect = func(context.Context, *pgconn.PgConn) error { return errors.New("a validation's own error") }
		},
		"a failing dial": func(c *pgx.ConnConfig) { c.DialFunc = pgFailingDial },
	} {
		config := e.stdlibConfig()
		change(config)
		e.stdlibAlike(name, e.stdlibOpen(config, true), func(db *sql.DB) (told string) {
			for what, err := range e.stdlibUses(db) {
				_, ok := errors.AsType[*pgconn.ConnectError](err)
				told += fmt.Sprintf("%s: %t %s\n", what, ok, pgError(err))
			}
			return told
		})
	}

	// The hook that pgx offers for it gives each connection the hosts in an
	// order of its own; all of them are kept.
	config, err := pgx.ParseConfig(with("127.0.0.1:1,GOOD", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range e.stdlibOpen(config, false, stdlib.OptionBeforeConnect(stdlib.RandomizeHostOrderFunc)) {
		for range 8 {
			e.must(db, "SELECT 1")
			e.one(db, "SELECT name FROM item WHERE id = 1")
		}
	}
}

func pgFailingDial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("a dial's own error")
}

// TestStdlibNotices hands on what the server says beside its answers.
func TestStdlibNotices(t *testing.T) {
	e := newPG(t, stdlibSchema+`
		CREATE FUNCTION say(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'row %', i USING HINT = 'a hint', DETAIL = 'a detail'; RETURN i; END $$`)
	var mu sync.Mutex
	var said []string
	config := e.stdlibConfig()
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf("%+v", *n))
	}
	dbs := e.stdlibOpen(config, true)
	for _, text := range []string{
		"DROP TABLE IF EXISTS no_such_table", "CREATE TABLE IF NOT EXISTS item (id int)", "DO $$ BEGIN RAISE NOTICE 'a'; RAISE WARNING 'b'; RAISE INFO 'c'; RAISE DEBUG 'd'; END $$",
		"SELECT say(id) FROM item WHERE id < 4 ORDER BY id", "ROLLBACK", "SELECT 1 FROM item WHERE id = 1",
		"DO $$ BEGIN RAISE NOTICE 'before an error'; RAISE EXCEPTION 'x'; END $$",
	} {
		for _, how := range []string{"Query", "Exec", "Query again"} {
			e.stdlibAlike(how+" "+text, dbs, func(db *sql.DB) string {
				said = nil
				var told string
				if how == "Exec" {
					_, err := db.ExecContext(e.ctx, text)
					told = pgError(err)
				} else {
					told = fmt.Sprint(pgAsk(e.ctx, db, text))
				}
				mu.Lock()
				defer mu.Unlock()
				return fmt.Sprintf("%s %q", told, said)
			})
		}
	}
}

// TestStdlibNotifications waits for notifications in Raw, and by the handler of
// the configuration.
func TestStdlibNotifications(t *testing.T) {
	e := newPG(t, stdlibSchema)
	e.stdlibBoth("WaitForNotification", func(db *sql.DB) (told string) {
		conn, err := db.Conn(e.ctx)
		if err != nil {
			return pgError(err)
		}
		defer conn.Close()
		wait := func(ctx context.Context) {
			err := stdlibRaw(conn, func(pc *pgx.Conn) error {
				n, err := pc.WaitForNotification(ctx)
				if n != nil {
					told += fmt.Sprintf("%s %q; ", n.Channel, n.Payload)
				}
				return err
			})
			told += fmt.Sprintf("%s timeout: %t; ", pgError(err), pgconn.Timeout(err))
		}
		e.must(conn, "LISTEN chat")
		e.must(e.plain, "NOTIFY chat, 'by another'")
		wait(e.ctx)
		// One that came with another answer waits until it is asked for.
		e.must(conn, "NOTIFY chat, 'by itself'")
		told += fmt.Sprint(pgAsk(e.ctx, conn, "SELECT id FROM item WHERE id = 1"))
		ended, cancel := context.WithCancel(e.ctx)
		cancel()
		wait(ended)
		short, cancel := context.WithTimeout(e.ctx, time.Millisecond)
		defer cancel()
		wait(short)
		e.must(e.plain, "NOTIFY chat, 'after a timeout'")
		wait(e.ctx)
		e.must(conn, "UNLISTEN *")
		return told
	})

	var got atomic.Value
	config := e.stdlibConfig()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { got.Store(n.Channel + n.Payload) }
	e.stdlibAlike("OnNotification", e.stdlibOpen(config, true), func(db *sql.DB) string {
		got = atomic.Value{}
		conn, err := db.Conn(e.ctx)
		if err != nil {
			return pgError(err)
		}
		defer conn.Close()
		e.must(conn, "LISTEN chat")
		e.must(conn, "NOTIFY chat, 'hello'")
		return fmt.Sprint(got.Load())
	})
}

// Raw.

// TestStdlibRaw does in Raw what database/sql has no words for, and reads
// through the handle after each.
func TestStdlibRaw(t *testing.T) {
	e := newPG(t, stdlibSchema)
	const text = "SELECT count(*), max(id), min(name) FROM item"
	for _, c := range []struct {
		name string
		f    func(pc *pgx.Conn) (string, error)
	}{
		{"QueryRow", func(pc *pgx.Conn) (string, error) {
			var n int
			err := pc.QueryRow(e.ctx, "SELECT count(*) FROM item").Scan(&n)
			return fmt.Sprint(n), err
		}},
		{"CopyFrom", func(pc *pgx.Conn) (string, error) {
			n, err := pc.CopyFrom(e.ctx, pgx.Identifier{"item"}, []string{"id", "name", "js", "ta"}, pgx.CopyFromRows([][]any{{100, "c", `{"a":1}`, []string{"x"}}, {101, "c", nil, nil}}))
			return fmt.Sprint(n), err
		}},
		{"CopyFrom, whose source fails", func(pc *pgx.Conn) (string, error) {
			i := 0
			n, err := pc.CopyFrom(e.ctx, pgx.Identifier{"item"}, []string{"id", "name"}, pgx.CopyFromFunc(func() ([]any, error) {
				if i++; i > 3 {
					return nil, errors.New("a source's own error")
				}
				return []any{200 + i, "x"}, nil
			}))
			return fmt.Sprint(n), err
		}},
		{"CopyFrom, which the server refuses", func(pc *pgx.Conn) (string, error) {
			n, err := pc.CopyFrom(e.ctx, pgx.Identifier{"item"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{300, "x"}, {1, "again"}}))
			return fmt.Sprint(n), err
		}},
		{"COPY TO", func(pc *pgx.Conn) (string, error) {
			var b strings.Builder
			tag, err := pc.PgConn().CopyTo(e.ctx, &b, "COPY (SELECT id, name FROM item ORDER BY id) TO STDOUT")
			return b.String() + tag.String(), err
		}},
		{"SendBatch", func(pc *pgx.Conn) (told string, err error) {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO item (id, name) VALUES ($1, $2)", 400, "b")
			b.Queue("SELECT name FROM item WHERE id = $1", 400)
			b.Queue("SELECT name FROM item WHERE id = @id", pgx.NamedArgs{"id": 1})
			b.Queue("UPDATE item SET name = 'B' WHERE id = 400").Exec(func(tag pgconn.CommandTag) error { told += tag.String(); return nil })
			r := pc.SendBatch(e.ctx, b)
			tag, err := r.Exec()
			var one, two string
			err = errors.Join(err, r.QueryRow().Scan(&one), r.QueryRow().Scan(&two), r.Close())
			return fmt.Sprint(tag, one, two, told), err
		}},
		{"SendBatch that fails", func(pc *pgx.Conn) (string, error) {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO item (id, name) VALUES (500, 'b')")
			b.Queue("SELECT 1/0")
			b.Queue("INSERT INTO item (id, name) VALUES (501, 'b')")
			return "", pc.SendBatch(e.ctx, b).Close()
		}},
		{"a large object", func(pc *pgx.Conn) (told string, err error) {
			err = pgx.BeginFunc(e.ctx, pc, func(tx pgx.Tx) error {
				objects := tx.LargeObjects()
				id, err := objects.Create(e.ctx, 0)
				if err != nil {
					return err
				}
				o, err := objects.Open(e.ctx, id, pgx.LargeObjectModeRead|pgx.LargeObjectModeWrite)
				if err != nil {
					return err
				}
				n, err := o.Write([]byte("testing"))
				at, serr := o.Seek(1, io.SeekStart)
				data, rerr := io.ReadAll(o)
				terr := o.Truncate(1)
				end, eerr := o.Seek(0, io.SeekEnd)
				told = fmt.Sprint(n, at, string(data), end)
				if err := errors.Join(err, serr, rerr, terr, eerr, o.Close(), objects.Unlink(e.ctx, id)); err != nil {
					return err
				}
				_, err = objects.Open(e.ctx, id, pgx.LargeObjectModeRead)
				pg, ok := errors.AsType[*pgconn.PgError](err)
				told += fmt.Sprint(ok && pg.Code == "42704")
				return errors.New("rolled back")
			})
			return told, err
		}},
		{"a transaction with savepoints", func(pc *pgx.Conn) (string, error) {
			return "", pgx.BeginFunc(e.ctx, pc, func(tx pgx.Tx) error {
				_, err := tx.Exec(e.ctx, "INSERT INTO item (id, name) VALUES (600, 't')")
				return errors.Join(err, errors.Unwrap(pgx.BeginFunc(e.ctx, tx, func(tx pgx.Tx) error {
					_, err := tx.Exec(e.ctx, "INSERT INTO item (id, name) VALUES (601, 't')")
					return errors.Join(err, errors.New("undone"))
				})))
			})
		}},
		{"Prepare and Deallocate", func(pc *pgx.Conn) (string, error) {
			sd, err := pc.Prepare(e.ctx, "mine", "SELECT name FROM item WHERE id = $1")
			if err != nil {
				return "", err
			}
			var name string
			err = pc.QueryRow(e.ctx, "mine", 1).Scan(&name)
			return fmt.Sprint(sd.ParamOIDs, name), errors.Join(err, pc.Deallocate(e.ctx, "mine"))
		}},
		{"CollectRows", func(pc *pgx.Conn) (string, error) {
			rows, err := pc.Query(e.ctx, "SELECT id, name FROM item WHERE id < 3 ORDER BY id")
			if err != nil {
				return "", err
			}
			all, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
				ID   int
				Name string
			}])
			return fmt.Sprint(all), err
		}},
		{"an error in the function", func(*pgx.Conn) (string, error) { return "", errors.New("the function's own error") }},
		{"a broken transaction, ended", func(pc *pgx.Conn) (string, error) {
			_, err := pc.Exec(e.ctx, "BEGIN; SELECT 1/0")
			_, end := pc.Exec(e.ctx, "ROLLBACK")
			return fmt.Sprint(string(pc.PgConn().TxStatus())), errors.Join(err, end)
		}},
	} {
		e.stdlibAlike(c.name, e.stdlibDrivers(), func(db *sql.DB) string {
			conn, err := db.Conn(e.ctx)
			if err != nil {
				return pgError(err)
			}
			defer conn.Close()
			pgAsk(e.ctx, db, text)
			var told string
			err = stdlibRaw(conn, func(pc *pgx.Conn) (err error) { told, err = c.f(pc); return err })
			told += pgError(err) + fmt.Sprintln(pgAsk(e.ctx, db, text)) + fmt.Sprintln(pgAsk(e.ctx, conn, text))
			e.must(conn, "DELETE FROM item WHERE id >= 100")
			return told + fmt.Sprintln(pgAsk(e.ctx, db, text))
		})
	}
}

// TestStdlibBadConn loses connections under a session, and in its way.
func TestStdlibBadConn(t *testing.T) {
	e := newPG(t, stdlibSchema)
	session := func(f func(conn *sql.Conn) string) func(db *sql.DB) string {
		return func(db *sql.DB) string {
			conn, err := db.Conn(e.ctx)
			if err != nil {
				return pgError(err)
			}
			defer conn.Close()
			told := f(conn)
			err = conn.Close()
			return told + " / " + pgError(err) + " / " + fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
		}
	}
	lose := func(conn *sql.Conn) string {
		return pgError(stdlibRaw(conn, func(pc *pgx.Conn) error { return pc.Close(e.ctx) }))
	}
	after := map[string]func(conn *sql.Conn) error{
		"Exec":    func(conn *sql.Conn) error { _, err := conn.ExecContext(e.ctx, "SELECT 1"); return err },
		"Query":   func(conn *sql.Conn) error { return pgAskErr(e.ctx, conn, "SELECT id FROM item WHERE id = 2") },
		"Prepare": func(conn *sql.Conn) error { _, err := conn.PrepareContext(e.ctx, "SELECT id FROM item"); return err },
		"Begin":   func(conn *sql.Conn) error { _, err := conn.BeginTx(e.ctx, nil); return err },
		"Ping":    func(conn *sql.Conn) error { return conn.PingContext(e.ctx) },
	}
	for name, f := range after {
		e.stdlibAlike("closed in Raw, then "+name, e.stdlibDrivers(), session(func(conn *sql.Conn) string {
			return lose(conn) + " / " + pgError(f(conn)) + " / " + pgError(f(conn))
		}))
		e.stdlibAlike("Raw gives ErrBadConn, then "+name, e.stdlibDrivers(), session(func(conn *sql.Conn) string {
			err := conn.Raw(func(any) error { return driver.ErrBadConn })
			return pgError(err) + " / " + pgError(f(conn))
		}))
		e.stdlibAlike("its backend is gone, then "+name, e.stdlibDrivers(), session(func(conn *sql.Conn) string {
			e.must(conn, "SET application_name = 'doomed'")
			e.stdlibKill("application_name = 'doomed'")
			err := f(conn)
			// What was written into a dead connection is told in words of the
			// moment; that it failed, and that the session stays lost, is not.
			return fmt.Sprint(err != nil, f(conn) != nil)
		}))
	}
	e.stdlibAlike("a transaction that was left open", e.stdlibDrivers(), func(db *sql.DB) string {
		for range 3 {
			conn, err := db.Conn(e.ctx)
			if err != nil {
				return pgError(err)
			}
			// Were it not over, this would fail the second time.
			e.must(conn, "BEGIN")
			e.must(conn, "CREATE TEMPORARY TABLE left_open (id int)")
			_ = conn.Close()
		}
		return fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
	})
	e.stdlibAlike("a panic in Raw", e.stdlibDrivers(), func(db *sql.DB) (told string) {
		conn, err := db.Conn(e.ctx)
		if err != nil {
			return pgError(err)
		}
		defer conn.Close()
		func() {
			defer func() { told = fmt.Sprint(recover()) }()
			_ = conn.Raw(func(any) error { panic("a function's own panic") })
		}()
		return told + pgError(conn.PingContext(e.ctx)) + fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM item WHERE id = 1"))
	})
}

// TestStdlibPing reaches the server each time.
func TestStdlibPing(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		for range 2 {
			for _, db := range e.stdlibDrivers() {
				if err := db.PingContext(e.ctx); err != nil {
					e.Errorf("ping: %v", err)
				}
			}
			if ran := e.promiseNew(func() { _ = e.db.PingContext(e.ctx) }); len(ran) == 0 {
				e.Error("a ping did not reach the server")
			}
		}
	})
}

// Transactions.

// TestStdlibTransactions begins with every option and ends every way.
func TestStdlibTransactions(t *testing.T) {
	stdlibInModes(t, []string{"cache_statement", "simple_protocol"}, stdlibSchema+"; CREATE TABLE sums (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)", func(e *pgEnv) {
		const count = "SELECT count(*), sum(n) FROM sums"
		for level := sql.LevelDefault; level <= sql.LevelLinearizable+1; level++ {
			for _, readOnly := range []bool{false, true} {
				e.stdlibAlike(fmt.Sprint(level, readOnly), e.stdlibDrivers(), func(db *sql.DB) string {
					tx, err := db.BeginTx(e.ctx, &sql.TxOptions{Isolation: level, ReadOnly: readOnly})
					if err != nil {
						return pgError(err)
					}
					told := e.one(tx, "SHOW transaction_isolation") + e.one(tx, "SHOW transaction_read_only")
					_, err = tx.ExecContext(e.ctx, "INSERT INTO sums VALUES (1)")
					told += pgError(err) + fmt.Sprint(pgAsk(e.ctx, tx, count))
					return told + pgError(tx.Rollback()) + pgError(tx.Commit()) + fmt.Sprint(pgAsk(e.ctx, db, count))
				})
			}
		}
		ends := map[string]func(db *sql.DB, tx *sql.Tx) string{
			"committed":       func(db *sql.DB, tx *sql.Tx) string { return pgError(tx.Commit()) },
			"rolled back":     func(db *sql.DB, tx *sql.Tx) string { return pgError(tx.Rollback()) },
			"committed twice": func(db *sql.DB, tx *sql.Tx) string { return pgError(tx.Commit()) + pgError(tx.Commit()) },
			"broken, then committed": func(db *sql.DB, tx *sql.Tx) string {
				_, err := tx.ExecContext(e.ctx, "syntax error")
				return pgError(err) + pgError(pgAskErr(e.ctx, tx, count)) + pgError(tx.Commit())
			},
			"a deferred constraint": func(db *sql.DB, tx *sql.Tx) string {
				_, err := tx.ExecContext(e.ctx, "INSERT INTO sums VALUES (7)")
				return pgError(err) + pgError(tx.Commit())
			},
			"used after its end": func(db *sql.DB, tx *sql.Tx) string {
				stmt, err := tx.PrepareContext(e.ctx, count)
				if err != nil {
					return pgError(err)
				}
				told := fmt.Sprint(pgAskStmt(e.ctx, stmt)) + pgError(tx.Rollback()) + pgError(pgAskErr(e.ctx, tx, count)) + fmt.Sprint(pgAskStmt(e.ctx, stmt))
				_, err = tx.ExecContext(e.ctx, "SELECT 1")
				return told + pgError(err)
			},
			"a cursor": func(db *sql.DB, tx *sql.Tx) string {
				e.must(tx, "DECLARE c CURSOR FOR SELECT id FROM item ORDER BY id")
				told := fmt.Sprint(pgAsk(e.ctx, tx, "FETCH 3 FROM c"), pgAsk(e.ctx, tx, "FETCH 2 FROM c"), pgAsk(e.ctx, tx, "FETCH BACKWARD 1 FROM c"))
				return told + pgError(tx.Commit())
			},
			"rows left open": func(db *sql.DB, tx *sql.Tx) string {
				rows, err := tx.QueryContext(e.ctx, "SELECT id FROM item ORDER BY id")
				if err != nil {
					return pgError(err)
				}
				rows.Next()
				return pgError(tx.Rollback()) + pgError(rows.Err()) + fmt.Sprint(rows.Next())
			},
		}
		for name, end := range ends {
			e.stdlibAlike(name, e.stdlibDrivers(), func(db *sql.DB) string {
				tx := e.begin(db)
				e.must(tx, "INSERT INTO sums VALUES (7)")
				told := fmt.Sprint(pgAsk(e.ctx, tx, count)) + end(db, tx) + fmt.Sprint(pgAsk(e.ctx, db, count), pgAsk(e.ctx, db, count))
				e.must(db, "DELETE FROM sums")
				return told
			})
		}
		e.stdlibBoth("cancelled", func(db *sql.DB) string {
			ctx, cancel := context.WithCancel(e.ctx)
			defer cancel()
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return pgError(err)
			}
			e.must(tx, "CREATE TABLE never (id int)")
			cancel()
			err = tx.Commit()
			told := fmt.Sprint(errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrTxDone))
			return told + fmt.Sprint(pgAsk(e.ctx, db, "SELECT count(*) FROM never"))
		})
		e.stdlibAlike("two that can't both be", e.stdlibDrivers(), func(db *sql.DB) string {
			e.must(db, "INSERT INTO sums VALUES (1), (2)")
			var txs [2]*sql.Tx
			for i := range txs {
				var err error
				if txs[i], err = db.BeginTx(e.ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}); err != nil {
					return pgError(err)
				}
				defer txs[i].Rollback()
				e.must(txs[i], "INSERT INTO sums SELECT sum(n) + $1::int FROM sums", i)
			}
			first, second := txs[0].Commit(), txs[1].Commit()
			pg, ok := errors.AsType[*pgconn.PgError](second)
			told := fmt.Sprint(first, ok && pg.Code == "40001", pgAsk(e.ctx, db, count))
			e.must(db, "DELETE FROM sums")
			return told
		})
	})
}

// TestStdlibRoutines calls functions and procedures that give things back, and
// writes that fail when all seems over.
func TestStdlibRoutines(t *testing.T) {
	stdlibInModes(t, stdlibEncodings, `
		CREATE TYPE fruit AS ENUM ('orange', 'apple');
		CREATE DOMAIN uint64 AS numeric(20,0);
		CREATE TABLE basket (id text PRIMARY KEY, n int NOT NULL, f fruit, UNIQUE (n) DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO basket VALUES ('a', 1, 'orange'), ('b', 2, 'apple'), ('c', 3, NULL);
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.n = 4 THEN RAISE EXCEPTION 'n can''t be 4'; END IF; RETURN new; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON basket DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
		CREATE FUNCTION out_two(OUT a int, OUT b int) LANGUAGE plpgsql AS $$ BEGIN a := 1; b := 2; END $$;
		CREATE PROCEDURE in_out(a int, INOUT b int, INOUT c int) LANGUAGE plpgsql AS $$ BEGIN b := b + 1; c := a + b; END $$`,
		func(e *pgEnv) {
			for _, c := range []pgCase{
				{"SELECT * FROM out_two()", nil}, {"SELECT out_two()", nil}, {"CALL in_out(1, 2, NULL)", nil}, {"CALL in_out($1, $2, NULL)", []any{1, 2}},
				{"INSERT INTO basket VALUES ('e', 4) RETURNING id", nil}, {"UPDATE basket SET n = n + 1 WHERE id = 'b' RETURNING *", nil}, {"INSERT INTO basket VALUES ('a', 9)", nil},
				{"SELECT $1::fruit", []any{"orange"}}, {"SELECT id FROM basket WHERE f = $1", []any{"apple"}}, {"SELECT id FROM basket WHERE f = $1", []any{"pear"}}, {"SELECT f FROM basket ORDER BY id", nil},
				{"SELECT $1::uint64", []any{"42"}}, {"SELECT $1::uint64", []any{uint64(7)}}, {"SHOW server_encoding", nil}, {"EXPLAIN (COSTS off) SELECT id FROM basket", nil},
				{"DELETE FROM basket WHERE id = 'none' RETURNING id", nil}, {"LISTEN x", nil}, {"VACUUM basket", nil},
			} {
				e.stdlibAlike(fmt.Sprint(c.text, c.args), e.stdlibDrivers(), func(db *sql.DB) string {
					told := fmt.Sprint(pgAsk(e.ctx, db, c.text, c.args...))
					var id any
					return told + pgError(db.QueryRowContext(e.ctx, c.text, c.args...).Scan(&id)) + fmt.Sprint(id, pgAsk(e.ctx, db, "SELECT id, n FROM basket ORDER BY id"))
				})
			}
			// A connection that a failed write has left is sound.
			e.same("afterwards", "SELECT id, n, f FROM basket ORDER BY id")
		})
}

// TestStdlibResults tells how many rows a write touched, and of no last id.
func TestStdlibResults(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		long := strings.Repeat("SELECT 42; ", 1000)
		for _, c := range []pgCase{
			{"UPDATE item SET name = name", nil}, {"UPDATE item SET name = name WHERE id = $1", []any{1}}, {"UPDATE item SET name = name WHERE id = -1", nil}, {"SELECT id FROM item", nil},
			{"CREATE TEMPORARY TABLE IF NOT EXISTS tmp (id int)", nil}, {"DELETE FROM item WHERE id = $1", []any{-1}}, {"DROP TABLE IF EXISTS no_such_table", nil}, {long, nil},
			{"WITH u AS (UPDATE item SET name = name WHERE id < 3 RETURNING id) SELECT id FROM u", nil}, {"CREATE TABLE item (id int)", nil}, {"selct $1", []any{1}}, {"INSERT INTO item (id, name) VALUES (1, 'again')", nil},
			{"SELECT 1/0", nil}, {"UPDATE item SET name = $1::varchar(3) WHERE id = 1", []any{"one", "more"}},
		} {
			e.stdlibBoth(pgShort(c.text), func(db *sql.DB) string {
				res, err := db.ExecContext(e.ctx, c.text, c.args...)
				if err != nil {
					return pgError(err)
				}
				n, err := res.RowsAffected()
				_, none := res.LastInsertId()
				return fmt.Sprint(n, err, none)
			})
		}
	})
}

// Errors.

// TestStdlibErrorFields compares every field of what the server says.
func TestStdlibErrorFields(t *testing.T) {
	stdlibInModes(t, stdlibEncodings, stdlibSchema+`
		CREATE DOMAIN small AS int CONSTRAINT small_enough CHECK (VALUE < 10);
		CREATE TABLE child (id int PRIMARY KEY, item int CONSTRAINT to_item REFERENCES item, s small, CONSTRAINT positive CHECK (id > 0), name text NOT NULL DEFAULT '');
		CREATE FUNCTION fail(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
			RAISE EXCEPTION USING ERRCODE = 'ZZ001', MESSAGE = 'a message', DETAIL = 'a detail', HINT = 'a hint', SCHEMA = 'a schema', TABLE = 'a table',
				COLUMN = 'a column', CONSTRAINT = 'a constraint', DATATYPE = 'a type'; END $$;
		CREATE FUNCTION inner_error(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SELECT no_such_column'; RETURN 1; END $$`,
		func(e *pgEnv) {
			for _, c := range []pgCase{
				{"SELECT fail(id) FROM item WHERE id = 1", nil}, {"SELECT inner_error(id) FROM item WHERE id = 1", nil}, {"SELECT no_such_column FROM item", nil}, {"SELECT 1 / (id - 3) FROM item ORDER BY id", nil},
				{"SELECT id FROM item WHERE name::int = 1", nil}, {"SELECT id FROM item WHERE id = $1::text::int", []any{"x"}}, {"SELECT id::small FROM item WHERE id > 10", nil}, {"SELECT id FROM item WHERE", nil},
				{"INSERT INTO child VALUES (0)", nil}, {"INSERT INTO child VALUES (1, 999)", nil}, {"INSERT INTO child VALUES (1, NULL, 99)", nil}, {"INSERT INTO child (id, name) VALUES (1, NULL)", nil},
				{"INSERT INTO item (id, name) VALUES ($1, 'x') RETURNING id", []any{1}}, {"SELECT * FROM no_such_table", nil}, {"SELECT $1", []any{[]int{1}}},
			} {
				e.stdlibBoth(c.text, func(db *sql.DB) string {
					_, err := db.ExecContext(e.ctx, c.text, c.args...)
					told := fmt.Sprint(pgAsk(e.ctx, db, c.text, c.args...)) + pgError(err)
					pg, ok := errors.AsType[*pgconn.PgError](err)
					return told + fmt.Sprint(ok && pg.SQLState() == pg.Code, pgconn.SafeToRetry(err), pgconn.Timeout(err))
				})
			}
			if got := pgAsk(e.ctx, e.db, "SELECT fail(id) FROM item WHERE id = 1").Err; !strings.Contains(got, "Code:ZZ001") || !strings.Contains(got, "DataTypeName:a type") {
				e.Errorf("the fields are not told: %s", got)
			}
		})
}

// TestStdlibErrorAfterRows shares a load that fails in row k: all who wait get k
// rows and then the error, as plain pgx gives them, and nobody gets it later.
func TestStdlibErrorAfterRows(t *testing.T) {
	e := newPG(t, stdlibSchema)
	for _, k := range []int{1, 2, 7} {
		text := fmt.Sprintf("SELECT id, 10 / (%d - id) FROM item ORDER BY id", k)
		want := pgAsk(e.ctx, e.plain, text)
		if want.Err == "" {
			t.Fatal("plain pgx gives no error")
		}
		pgAsk(e.ctx, e.db, text) // known by now
		before := e.wire.ran(text)
		release := e.lock("item")
		answers := make([]pgAnswer, 8)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = pgAsk(e.ctx, e.db, text) })
		}
		e.eventually("all of them wait for one load", func() bool { return e.waiting() == 1 && e.db.Stats().InUse == len(answers) })
		release()
		wg.Wait()
		for i, got := range answers {
			if diff := pgDiff(want, got); diff != "" {
				t.Errorf("error in row %d, caller %d: %s", k, i, diff)
			}
		}
		if n := e.wire.ran(text) - before; n > len(answers) {
			t.Errorf("error in row %d: %d callers made %d calls at the server", k, len(answers), n)
		}
		if n := e.calls(text, func() { e.same("later", text) }); n != 1 {
			t.Errorf("error in row %d: it was served from memory", k)
		}
	}
}

// stdlibEnd is what can be told of the error of a call that its context ended.
func stdlibEnd(err error) string {
	_, server := errors.AsType[*pgconn.PgError](err)
	return fmt.Sprintf("cancelled: %t, deadline: %t, timeout: %t, of the server: %t", errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err), server)
}

// stdlibEnding is a context that ends when the test says so, and as it says.
type stdlibEnding struct {
	context.Context
	done chan struct{}
	err  error
}

func (c *stdlibEnding) Done() <-chan struct{} { return c.done }

func (c *stdlibEnding) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// TestStdlibTimeouts ends calls that wait at the server, by deadline and by
// cancelling: whoever leads a load, and whoever waits for it.
func TestStdlibTimeouts(t *testing.T) {
	e := newPG(t, stdlibSchema)
	const read, prepared = "SELECT id, name FROM item WHERE id < $1", "SELECT id FROM item WHERE id <= $1"
	stmts := map[*sql.DB]*sql.Stmt{}
	for _, db := range e.stdlibDrivers() {
		stmt, err := db.PrepareContext(e.ctx, prepared)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		stmts[db] = stmt
		for _, err := range []error{pgAskErr(e.ctx, db, read, 0), pgAskStmtErr(e.ctx, stmt, 0)} { // known by now
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// Each call asks something of its own, since a load that its caller has left
	// goes on for a while.
	var n atomic.Int32
	calls := map[string]func(ctx context.Context, db *sql.DB) error{
		"Query": func(ctx context.Context, db *sql.DB) error { return pgAskErr(ctx, db, read, n.Add(1)) },
		"QueryRow": func(ctx context.Context, db *sql.DB) error {
			return db.QueryRowContext(ctx, read, n.Add(1)).Scan(new(any), new(any))
		},
		"prepared": func(ctx context.Context, db *sql.DB) error { return pgAskStmtErr(ctx, stmts[db], n.Add(1)) },
		"uncached": func(ctx context.Context, db *sql.DB) error { return pgAskErr(ctx, db, "SELECT id, now() FROM item") },
		"Exec": func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, "UPDATE item SET name = name")
			return err
		},
		"RETURNING": func(ctx context.Context, db *sql.DB) error {
			return pgAskErr(ctx, db, "UPDATE item SET name = name RETURNING id")
		},
	}
	// waiting are the backends that wait for the lock.
	waiting := func() (pids []string) {
		e.Helper()
		for _, row := range pgAsk(e.ctx, e.plain, "SELECT pid FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Rows {
			pids = append(pids, row[0])
		}
		return pids
	}
	waits := func(f func()) {
		e.Helper()
		before := waiting()
		f()
		e.eventually("one more waits for the lock", func() bool {
			return slices.ContainsFunc(waiting(), func(pid string) bool { return !slices.Contains(before, pid) })
		})
	}
	release := e.lock("item")
	for name, call := range calls {
		for _, how := range []error{context.DeadlineExceeded, context.Canceled} {
			var told []string
			for _, db := range e.stdlibDrivers() {
				ctx := &stdlibEnding{e.ctx, make(chan struct{}), how}
				end := make(chan error, 1)
				waits(func() { go func() { end <- call(ctx, db) }() })
				close(ctx.done)
				told = append(told, stdlibEnd(<-end))
			}
			if told[0] != told[1] {
				t.Errorf("%s ended by %v: %s; plain pgx: %s", name, how, told[1], told[0])
			}
		}
	}

	// One load, whose leader has time, and who wait for it.
	var leader pgAnswer
	led := make(chan struct{})
	waits(func() {
		go func() { defer close(led); leader = pgAsk(e.ctx, e.db, read, 1000) }()
	})
	var waiters sync.WaitGroup
	var ends []*stdlibEnding
	for i := range 6 {
		ctx := &stdlibEnding{e.ctx, make(chan struct{}), []error{context.DeadlineExceeded, context.Canceled}[i%2]}
		want := []string{"cancelled: false, deadline: true, timeout: true, of the server: false", "cancelled: true, deadline: false, timeout: false, of the server: false"}[i%2]
		ends = append(ends, ctx)
		waiters.Go(func() {
			if got := stdlibEnd(pgAskErr(ctx, e.db, read, 1000)); got != want {
				t.Errorf("who waits for another's load, ended by %v: %s", ctx.err, got)
			}
		})
	}
	e.eventually("all are on their way", func() bool { return e.db.Stats().InUse == 7 })
	for _, ctx := range ends {
		close(ctx.done)
	}
	waiters.Wait()
	release()
	<-led
	if diff := pgDiff(pgAsk(e.ctx, e.plain, read, 1000), leader); diff != "" {
		t.Errorf("the leader: %s", diff)
	}
	for name, call := range calls {
		if err := call(e.ctx, e.db); err != nil {
			t.Errorf("%s, afterwards: %v", name, err)
		}
	}
}

// Pools and statements.

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
