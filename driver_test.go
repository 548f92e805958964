package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5/stdlib"
)

var (
	_ driver.Driver        = (*cachedpgx.Driver)(nil)
	_ driver.DriverContext = (*cachedpgx.Driver)(nil)
	_ driver.Connector     = (*cachedpgx.Connector)(nil)

	// What pgx's connection has, and Validator beside it.
	_ driver.Conn               = (*cachedpgx.Conn)(nil)
	_ driver.QueryerContext     = (*cachedpgx.Conn)(nil)
	_ driver.ExecerContext      = (*cachedpgx.Conn)(nil)
	_ driver.ConnPrepareContext = (*cachedpgx.Conn)(nil)
	_ driver.ConnBeginTx        = (*cachedpgx.Conn)(nil)
	_ driver.Pinger             = (*cachedpgx.Conn)(nil)
	_ driver.NamedValueChecker  = (*cachedpgx.Conn)(nil)
	_ driver.SessionResetter    = (*cachedpgx.Conn)(nil)
	_ driver.Validator          = (*cachedpgx.Conn)(nil)
)

// mockConnector opens a mock by its DSN.
type mockConnector struct {
	drv driver.Driver
	dsn string
}

func (c mockConnector) Connect(context.Context) (driver.Conn, error) { return c.drv.Open(c.dsn) }
func (c mockConnector) Driver() driver.Driver                        { return c.drv }

// openMock gives a cached handle over a mock that forgives no statement it
// does not expect. Every expectation is met by the end of the test.
func openMock(tb testing.TB, cfg cachedpgx.Config) (*sql.DB, sqlmock.Sqlmock) {
	tb.Helper()
	dsn := "mock of " + tb.Name()
	direct, mock, err := sqlmock.NewWithDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	db, err := cachedpgx.OpenDB(mockConnector{direct.Driver(), dsn}, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := mock.ExpectationsWereMet(); err != nil {
			tb.Error(err)
		}
		// A mock calls each Close that it does not expect an error.
		_ = db.Close()
		_ = direct.Close()
	})
	return db, mock
}

func TestMockMarkedReadIsAskedOnce(t *testing.T) {
	hinted := "/* cachedpgx: ttl=5s */ " + product
	for name, read := range map[string]struct {
		ctx  context.Context
		text string
	}{
		"by context": {long(t.Context()), product},
		"by hint":    {t.Context(), hinted},
	} {
		t.Run(name, func(t *testing.T) {
			db, mock := openMock(t, quiet())
			mock.ExpectQuery("SELECT name FROM product").WithArgs(7).
				WillReturnRows(sqlmock.NewRows([]string{"name"}).AddRow("lamp").AddRow("shade"))
			for range 3 {
				got, err := readAll[string](read.ctx, db, read.text, 7)
				if err != nil || !slices.Equal(got, []string{"lamp", "shade"}) {
					t.Fatalf("got %q, %v", got, err)
				}
			}
		})
	}
}

func TestMockUnmarkedReadsAllPass(t *testing.T) {
	db, mock := openMock(t, quiet())
	for i := range 3 {
		mock.ExpectQuery("SELECT name FROM product").WithArgs(7).
			WillReturnRows(sqlmock.NewRows([]string{"name"}).AddRow(i))
	}
	for i := range 3 {
		if got := readInt(t, t.Context(), db, product, 7); got != i {
			t.Fatalf("read %d gave %d", i, got)
		}
	}
}

func TestMockWriteIsSeen(t *testing.T) {
	db, mock := openMock(t, quiet())
	ctx := long(t.Context())
	mock.ExpectQuery("SELECT name").WillReturnRows(sqlmock.NewRows([]string{"name"}).AddRow(1))
	mock.ExpectExec("UPDATE product").WithArgs("new", 7).WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectQuery("SELECT name").WillReturnRows(sqlmock.NewRows([]string{"name"}).AddRow(2))

	for range 2 {
		if got := readInt(t, ctx, db, product, 7); got != 1 {
			t.Fatalf("before the write: %d", got)
		}
	}
	res, err := db.ExecContext(ctx, "UPDATE product SET name = $1 WHERE id = $2", "new", 7)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("RowsAffected: %d, %v", n, err)
	}
	for range 2 {
		if got := readInt(t, ctx, db, product, 7); got != 2 {
			t.Fatalf("after the write: %d", got)
		}
	}
}

func TestMockTransactionSeesTheServer(t *testing.T) {
	db, mock := openMock(t, quiet())
	ctx := long(t.Context())
	row := func(n int) *sqlmock.Rows { return sqlmock.NewRows([]string{"name"}).AddRow(n) }
	mock.ExpectQuery("SELECT name").WillReturnRows(row(1))
	mock.ExpectBegin()
	mock.ExpectQuery("SELECT name").WillReturnRows(row(2))
	mock.ExpectQuery("SELECT name").WillReturnRows(row(3))
	mock.ExpectRollback()

	readInt(t, ctx, db, product, 7)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want := 2; want <= 3; want++ {
		if got := readInt(t, ctx, tx, product, 7); got != want {
			t.Fatalf("in the transaction: %d, want %d", got, want)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	// It has written nothing, so what was kept before it is served again, and
	// what it has read is not.
	if got := readInt(t, ctx, db, product, 7); got != 1 {
		t.Fatalf("after the transaction: %d, want 1", got)
	}
}

func TestMockErrorsPassUntouched(t *testing.T) {
	db, mock := openMock(t, quiet())
	oops := errors.New("the server's own words")
	for range 2 {
		mock.ExpectQuery("SELECT name").WillReturnError(oops)
	}
	for range 2 {
		if _, err := readAll[string](long(t.Context()), db, product, 7); err != oops {
			t.Fatalf("got %v, want the very error", err)
		}
	}
}

func TestDriverIsRegistered(t *testing.T) {
	if !slices.Contains(sql.Drivers(), "cachedpgx") {
		t.Fatalf("not among %q", sql.Drivers())
	}
	db, err := sql.Open("cachedpgx", "host=localhost")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d, ok := db.Driver().(*cachedpgx.Driver)
	if !ok {
		t.Fatalf("Driver is a %T", db.Driver())
	}
	if _, ok := d.Unwrap().(*stdlib.Driver); !ok {
		t.Fatalf("Unwrap gives a %T", d.Unwrap())
	}
}

func TestDriverOverAnotherUnwraps(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	d, ok := db.Driver().(interface{ Unwrap() driver.Driver })
	if !ok {
		t.Fatalf("%T has no Unwrap", db.Driver())
	}
	if d.Unwrap() != f.Driver() {
		t.Fatalf("Unwrap gives %v", d.Unwrap())
	}
}

// listener counts who connects to it, and hangs up on them.
func listener(t *testing.T) (addr string, count func() int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan int, 1)
	accepted <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			accepted <- 1 + <-accepted
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String(), func() int { n := <-accepted; accepted <- n; return n }
}

func TestOpenDialsNothing(t *testing.T) {
	addr, accepted := listener(t)
	const secret = "Pa55w0rdMarker"
	db, err := sql.Open("cachedpgx", "postgres://app:"+secret+"@"+addr+"/shop?sslmode=disable&cache_ttl=5s")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatalf("Connect must not dial: %v", err)
	}
	err = c.Raw(func(raw any) error {
		if _, ok := raw.(*cachedpgx.Conn); !ok {
			return fmt.Errorf("Raw gives a %T", raw)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := accepted(); n != 0 {
		t.Fatalf("%d dials before the first statement", n)
	}
	if err := db.PingContext(t.Context()); err == nil {
		t.Fatal("Ping succeeded without a server")
	} else if strings.Contains(err.Error(), secret) {
		t.Fatalf("the error holds the password: %v", err)
	}
	if accepted() == 0 {
		t.Fatal("Ping did not reach for the server")
	}
}

func TestDriverOpenIsLazy(t *testing.T) {
	addr, accepted := listener(t)
	db, err := sql.Open("cachedpgx", "host=localhost")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Driver().Open("postgres://app@" + addr + "/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if n := accepted(); n != 0 {
		t.Fatalf("%d dials", n)
	}
}

// What pgx finds wrong with a DSN is said at the first use, in pgx's words.
func TestBadRestIsToldAsPgxDoes(t *testing.T) {
	for _, dsn := range []string{
		"postgres://app@localhost:notaport/shop",
		"host=localhost port=99999999",
		"host=localhost sslmode=perhaps",
		"host=localhost password='Pa55w0rdMarker",
		"registeredConnConfig987654",
	} {
		t.Run(dsn, func(t *testing.T) {
			var said []string
			for _, name := range []string{"pgx", "cachedpgx"} {
				db, err := sql.Open(name, dsn)
				if err != nil {
					t.Fatalf("%s: Open: %v", name, err)
				}
				defer db.Close()
				err = db.PingContext(t.Context())
				if err == nil {
					t.Fatalf("%s: no error", name)
				}
				said = append(said, err.Error())
			}
			if said[0] != said[1] {
				t.Errorf("pgx:       %s\ncachedpgx: %s", said[0], said[1])
			}
			if strings.Contains(said[1], "Pa55w0rdMarker") {
				t.Errorf("a password in: %s", said[1])
			}
		})
	}
}

func TestNewConnectorNeedsAnInner(t *testing.T) {
	c, err := cachedpgx.NewConnector(nil, cachedpgx.Config{})
	if err == nil || c != nil || !strings.HasPrefix(err.Error(), "cachedpgx: ") {
		t.Fatalf("got %v, %v", c, err)
	}
	db, err := cachedpgx.OpenDB(nil, cachedpgx.Config{})
	if err == nil || db != nil {
		t.Fatalf("got %v, %v", db, err)
	}
}

func TestConfigRanges(t *testing.T) {
	ok := map[string]cachedpgx.Config{
		"zero":        {},
		"all off":     {Policy: cachedpgx.Policy{NegativeTTL: cachedpgx.Off, Jitter: cachedpgx.Off, MaxRows: cachedpgx.Off, MaxResultBytes: cachedpgx.Off}, LoadLimit: cachedpgx.Off, LoadTimeout: cachedpgx.Off, StallAfter: cachedpgx.Off},
		"least":       {Policy: cachedpgx.Policy{TTL: time.Millisecond}, CatalogTTL: time.Millisecond, Quarantine: time.Millisecond},
		"full jitter": {Policy: cachedpgx.Policy{Jitter: 1}},
		"equal lives": {Policy: cachedpgx.Policy{TTL: time.Second, NegativeTTL: time.Second}},
		"pool off":    {ServerPool: cachedpgx.Pool{MaxIdle: cachedpgx.Off, MaxLifetime: cachedpgx.Off, MaxIdleTime: cachedpgx.Off}},
	}
	for name, cfg := range ok {
		t.Run(name, func(t *testing.T) {
			c, err := cachedpgx.NewConnector(newFake(t, nil), cfg)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		})
	}

	p := func(p cachedpgx.Policy) cachedpgx.Config { return cachedpgx.Config{Policy: p} }
	bad := []struct {
		name string
		cfg  cachedpgx.Config
		says []string
	}{
		{"TTL below 1 ms", p(cachedpgx.Policy{TTL: time.Microsecond}), []string{"TTL"}},
		{"TTL negative", p(cachedpgx.Policy{TTL: -time.Second}), []string{"TTL"}},
		{"NegativeTTL over TTL", p(cachedpgx.Policy{TTL: time.Second, NegativeTTL: 2 * time.Second}), []string{"NegativeTTL"}},
		{"NegativeTTL over the default TTL", p(cachedpgx.Policy{NegativeTTL: time.Hour}), []string{"NegativeTTL"}},
		{"NegativeTTL negative", p(cachedpgx.Policy{NegativeTTL: -time.Second}), []string{"NegativeTTL"}},
		{"Jitter over 1", p(cachedpgx.Policy{Jitter: 1.01}), []string{"Jitter"}},
		{"Jitter negative", p(cachedpgx.Policy{Jitter: -0.5}), []string{"Jitter"}},
		{"Jitter not a number", p(cachedpgx.Policy{Jitter: math.NaN()}), []string{"Jitter"}},
		{"MaxRows", p(cachedpgx.Policy{MaxRows: -2}), []string{"MaxRows"}},
		{"MaxResultBytes", p(cachedpgx.Policy{MaxResultBytes: -2}), []string{"MaxResultBytes"}},
		{"Mode", p(cachedpgx.Policy{Mode: 200}), []string{"Mode"}},
		{"MaxBytes", cachedpgx.Config{MaxBytes: -2}, []string{"MaxBytes"}},
		{"NegativeMaxBytes", cachedpgx.Config{NegativeMaxBytes: -2}, []string{"NegativeMaxBytes"}},
		{"LoadLimit", cachedpgx.Config{LoadLimit: -2}, []string{"LoadLimit"}},
		{"LoadTimeout", cachedpgx.Config{LoadTimeout: -time.Second}, []string{"LoadTimeout"}},
		{"StallAfter", cachedpgx.Config{StallAfter: -time.Second}, []string{"StallAfter"}},
		{"CatalogTTL", cachedpgx.Config{CatalogTTL: time.Microsecond}, []string{"CatalogTTL"}},
		{"MaxStatements", cachedpgx.Config{MaxStatements: -2}, []string{"MaxStatements"}},
		{"Quarantine", cachedpgx.Config{Quarantine: time.Microsecond}, []string{"Quarantine"}},
		{"MaxOpen", cachedpgx.Config{ServerPool: cachedpgx.Pool{MaxOpen: -2}}, []string{"MaxOpen"}},
		{"MaxIdle", cachedpgx.Config{ServerPool: cachedpgx.Pool{MaxIdle: -2}}, []string{"MaxIdle"}},
		{"MaxLifetime", cachedpgx.Config{ServerPool: cachedpgx.Pool{MaxLifetime: -time.Second}}, []string{"MaxLifetime"}},
		{"MaxIdleTime", cachedpgx.Config{ServerPool: cachedpgx.Pool{MaxIdleTime: -time.Second}}, []string{"MaxIdleTime"}},
		{
			"all at once",
			cachedpgx.Config{Policy: cachedpgx.Policy{TTL: 1, Jitter: 7, MaxRows: -9}, MaxBytes: -9, Quarantine: 1},
			[]string{"TTL", "Jitter", "MaxRows", "MaxBytes", "Quarantine"},
		},
	}
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			c, err := cachedpgx.NewConnector(newFake(t, nil), tt.cfg)
			if err == nil {
				c.Close()
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), "cachedpgx: ") {
				t.Errorf("whose error is this? %v", err)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%s is not named: %v", s, err)
				}
			}
		})
	}
}

func TestModesSpellAsTheParameterDoes(t *testing.T) {
	for mode, want := range map[cachedpgx.Mode]string{
		cachedpgx.ModeAuto: "auto", cachedpgx.ModeMarked: "marked", cachedpgx.ModeOff: "off",
	} {
		if got := mode.String(); got != want {
			t.Errorf("%d: %q, want %q", mode, got, want)
		}
	}
	if s := cachedpgx.Mode(200).String(); s == "" {
		t.Error("an unknown mode has no name")
	}
}

// wrapper is another driver around ours, as tracing wrappers are.
type wrapper struct{ inner driver.Connector }

func (w wrapper) Connect(ctx context.Context) (driver.Conn, error) { return w.inner.Connect(ctx) }
func (w wrapper) Driver() driver.Driver                            { return wrapperDriver{w.inner.Driver()} }

type wrapperDriver struct{ driver.Driver }

func (w wrapperDriver) Unwrap() driver.Driver { return w.Driver }

type opaqueDriver struct{ driver.Driver }

type opaque struct{ driver.Connector }

func (o opaque) Driver() driver.Driver { return opaqueDriver{o.Connector.Driver()} }

func TestCacheOf(t *testing.T) {
	inner, err := cachedpgx.NewConnector(newFake(t, nil), quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	byName, err := sql.Open("cachedpgx", "host=localhost")
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("pgx", "host=localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		db   *sql.DB
		want *cachedpgx.Cache
		ok   bool
	}{
		{"nil", nil, nil, false},
		{"another driver's", other, nil, false},
		{"over a connector", sql.OpenDB(inner), inner.Cache(), true},
		{"wrapped", sql.OpenDB(wrapper{inner}), inner.Cache(), true},
		{"wrapped twice", sql.OpenDB(wrapper{wrapper{inner}}), inner.Cache(), true},
		{"wrapped by one who hides it", sql.OpenDB(opaque{inner}), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.db != nil {
				defer tt.db.Close()
			}
			got, ok := cachedpgx.CacheOf(tt.db)
			if ok != tt.ok || got != tt.want {
				t.Fatalf("got %p, %v; want %p, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
	c, ok := cachedpgx.CacheOf(byName)
	if !ok || c == nil {
		t.Error("opened by name: not found")
	} else if c.Server() == nil || c.Server() == byName {
		t.Error("opened by name: no server pool")
	}
	byName.Close()
}

func TestConnectorAndCacheAgree(t *testing.T) {
	c, err := cachedpgx.NewConnector(newFake(t, nil), quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Cache() == nil || c.Server() == nil || c.Cache().Server() != c.Server() {
		t.Fatal("Cache().Server() and Server() are not the same pool")
	}
}
