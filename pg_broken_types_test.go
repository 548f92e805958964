package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// What AfterConnect hooks register may have state, or may fail, and once broke
// the cache in ways that these tests keep out. A connection whose codecs have
// state gives them up to the cache, once, and another is dialled in its place.

type brokenHook = func(context.Context, *pgx.Conn) error

// brokenHooked opens both handles of e anew, under a hook.
func brokenHooked(e *pgEnv, hook brokenHook, cfg cachedpgx.Config) *pgEnv {
	e.Helper()
	config, err := pgx.ParseConfig(pgWith(e.TB, e.dsn, "sslmode", "disable"))
	if err != nil {
		e.Fatal(err)
	}
	hooked := *e
	hooked.plain = sql.OpenDB(pgConnector(config, stdlib.OptionAfterConnect(hook)))
	e.Cleanup(func() { _ = hooked.plain.Close() })
	e.wire.tap(config)
	hooked.db = brokenOpen(e.TB, pgConnector(config, stdlib.OptionAfterConnect(hook)), cfg)
	hooked.cache = pgCacheOf(e.TB, hooked.db)
	return &hooked
}

func brokenOpen(t testing.TB, inner driver.Connector, cfg cachedpgx.Config) *sql.DB {
	t.Helper()
	db, err := cachedpgx.OpenDB(inner, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// brokenState is a codec that nobody else may use.
type brokenState struct {
	pgtype.Int4Codec
	n *int
}

func brokenStateful(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "int4", OID: pgtype.Int4OID, Codec: brokenState{n: new(int)}})
	return nil
}

// TestPGBrokenWrapState registers TryWrap functions that remember something, one
// of each for each connection, as a connection has one user at a time: no two
// goroutines are ever in the same one. Kind 8.
func TestPGBrokenWrapState(t *testing.T) {
	e := newPG(t, "CREATE TABLE t (id int4, v text); INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 20) i")
	var shared atomic.Bool
	seen := func() func(any) { // as what it stands for, a map without a lock
		var inside atomic.Int32
		return func(any) {
			if inside.Add(1) > 1 {
				shared.Store(true)
			}
			runtime.Gosched() // lets another in, if there is one
			inside.Add(-1)
		}
	}
	h := brokenHooked(e, func(_ context.Context, conn *pgx.Conn) error {
		m, scanned, encoded := conn.TypeMap(), seen(), seen()
		m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{func(target any) (pgtype.WrappedScanPlanNextSetter, any, bool) {
			scanned(target)
			return nil, nil, false
		}}, m.TryWrapScanPlanFuncs...)
		m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{func(v any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
			encoded(v)
			return nil, nil, false
		}}, m.TryWrapEncodePlanFuncs...)
		return nil
	}, cachedpgx.Config{})
	h.watched(16, func(ctx context.Context, g int) error {
		for i := range 30 {
			id := int32((g*7+i)%20 + 1)
			for _, arg := range []any{brokenInt(int(id)), pgtype.Int4{Int32: id, Valid: true}, fmt.Sprint(id)} {
				var n sql.NullInt32
				var v string
				err := h.db.QueryRowContext(ctx, "SELECT id, v FROM t WHERE id = $1", arg).Scan(&n, &v)
				if err != nil || n.Int32 != id || v != fmt.Sprint("v", id) {
					return fmt.Errorf("%T: row %d %s, want %d: %w", arg, n.Int32, v, id, err)
				}
			}
		}
		return nil
	})
	if shared.Load() {
		t.Error("two goroutines were in the function of one connection")
	}
}

// TestPGBrokenValuerAsks has a Valuer read from the handle that asks it, while
// both need a codec that one may use at a time. Kind 13.
func TestPGBrokenValuerAsks(t *testing.T) {
	h := brokenHooked(newPG(t, "CREATE TABLE t (id int4); INSERT INTO t VALUES (1), (2)"), brokenStateful, cachedpgx.Config{})
	const text = "SELECT id FROM t WHERE id = $1"
	for _, known := range []string{"a text asked first", "a text asked before"} {
		h.watched(1, func(ctx context.Context, _ int) error {
			v := &exactValuer{f: func(int64) (driver.Value, error) {
				var n int64
				err := h.db.QueryRowContext(ctx, "SELECT id FROM t ORDER BY id DESC LIMIT 1").Scan(&n)
				return n, err
			}}
			if got := pgAsk(ctx, h.db, text, v); got.Err != "" || len(got.Rows) != 1 || got.Rows[0][0] != "int64(2)" {
				return fmt.Errorf("%s: %v, want row 2", known, got)
			}
			return nil
		})
	}
}

// TestPGBrokenDonors has a hook's codecs make a second connection wanted where
// none is to be had: the first reads work as plain pgx's do. Kinds 13 and 14.
func TestPGBrokenDonors(t *testing.T) {
	e := newPG(t, "CREATE TABLE t (id int4); INSERT INTO t VALUES (1)")
	role := pgName(e) + "_one"
	e.must(e.plain, "CREATE ROLE "+role+" LOGIN PASSWORD '"+role+"' CONNECTION LIMIT 1; GRANT SELECT ON t TO "+role)
	t.Cleanup(func() { pgDropRole(t, e.dsn, role) })
	for name, open := range map[string]func(t *testing.T) *sql.DB{
		"a hook that works once": func(t *testing.T) *sql.DB {
			var dials atomic.Int64
			return brokenHooked(e.on(t), func(ctx context.Context, conn *pgx.Conn) error {
				if dials.Add(1) > 1 {
					return errors.New("once only")
				}
				return brokenStateful(ctx, conn)
			}, cachedpgx.Config{ServerPool: cachedpgx.Pool{MaxOpen: 1}}).db
		},
		"a role of one connection": func(t *testing.T) *sql.DB {
			config, err := pgx.ParseConfig(promiseUser(t, e.dsn, role))
			if err != nil {
				t.Fatal(err)
			}
			return brokenOpen(t, pgConnector(config, stdlib.OptionAfterConnect(brokenStateful)),
				cachedpgx.Config{ServerPool: cachedpgx.Pool{MaxOpen: 1}})
		},
		"a pgxpool of one connection": func(t *testing.T) *sql.DB {
			config, err := pgxpool.ParseConfig(e.dsn)
			if err != nil {
				t.Fatal(err)
			}
			config.MaxConns, config.AfterConnect = 1, brokenStateful
			pool, err := pgxpool.NewWithConfig(e.ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			return brokenOpen(t, stdlib.GetPoolConnector(pool), cachedpgx.Config{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.on(t)
			db := open(t)
			e.watched(4, func(ctx context.Context, _ int) error {
				for range 3 {
					if got := pgAsk(ctx, db, "SELECT id FROM t"); got.Err != "" || len(got.Rows) != 1 {
						return fmt.Errorf("one row was expected, got %v", got)
					}
				}
				return nil
			})
		})
	}
}

// TestPGBrokenKinds dials connections that each know more types than the last,
// as when a hook loads all that there are: reads are still kept. Kind 15.
func TestPGBrokenKinds(t *testing.T) {
	e := newPG(t, "CREATE TABLE t (id int4); INSERT INTO t VALUES (1)")
	var dials atomic.Int64
	h := brokenHooked(e, func(_ context.Context, conn *pgx.Conn) error {
		for i := range uint32(dials.Add(1)) {
			conn.TypeMap().RegisterType(&pgtype.Type{Name: fmt.Sprint("tenant", i), OID: 90000 + i, Codec: &pgtype.EnumCodec{}})
		}
		return nil
	}, cachedpgx.Config{})
	for range 17 { // more kinds than are told apart
		conn, err := h.cache.Server().Conn(h.ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	h.warm("SELECT id FROM t")
}
