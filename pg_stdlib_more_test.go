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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
