package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnvSkips names a file to which each test binary that skips for want of a
// server appends one line. go test shows nothing of a skip unless it is asked
// to; who runs many packages can show this file at the end.
const EnvSkips = "CACHEDPGX_TEST_SKIPS"

// findTimeout bounds the search of one test binary. It has room for pulling an
// image, and is below go test's own time-out.
const findTimeout = 5 * time.Minute

// Database is a database that belongs to one test.
type Database struct {
	Name      string
	DSN       string // over the loopback interface
	SocketDSN string // over the unix socket; "" where none is known
}

// TestingM is what Main and Wrap need of a *testing.M.
type TestingM interface{ Run() int }

// Main runs the tests and then closes the shared server. It is of use in a
// TestMain, and not needed: without it the server's keeper closes the server a
// moment after the process has ended.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
func Main(m TestingM) int { return Wrap(m).Run() }

// Wrap is Main for those who run the tests themselves:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Wrap(m)) }
func Wrap(m TestingM) TestingM { return wrapped{m} }

type wrapped struct{ m TestingM }

func (w wrapped) Run() int {
	defer closeShared()
	return w.m.Run()
}

// shared is the one server of this test binary. What is remembered of a
// failure saves every further test the same search.
var shared struct {
	sync.Mutex
	server *Server
	err    error
}

func closeShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest: closing the shared server:", err)
		}
		shared.server = nil
	}
}

// Shared returns the server that all tests of this test binary share, started
// at the first call. A test must not stop it; see Private. Where no server can
// be had, the test is skipped, and with CI=true it fails.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	s, err := sharedServer()
	if err != nil {
		GiveUp(tb, err)
	}
	return s
}

func sharedServer() (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), findTimeout)
		defer cancel()
		shared.server, shared.err = Find(ctx, Options{Logf: logToStderr})
	}
	return shared.server, shared.err
}

// Private starts a server for this test alone, which may stop and start it. It
// is closed when the test ends. A server of CACHEDPGX_TEST_DSN can't be stopped
// and is not considered.
func Private(tb testing.TB) *Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), findTimeout)
	defer cancel()
	s, err := Find(ctx, Options{SkipEnv: true, Logf: logToStderr})
	if err != nil {
		GiveUp(tb, err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("closing the private server: %v", err)
		}
	})
	return s
}

// DSN creates a database on the shared server for this test and returns its
// address. The database is dropped when the test ends, with whatever sessions
// are left in it.
func DSN(tb testing.TB) string {
	tb.Helper()
	return NewDatabase(tb).DSN
}

// NewDatabase is DSN for who wants the name or the unix socket, too.
func NewDatabase(tb testing.TB) Database {
	tb.Helper()
	return Shared(tb).NewDatabase(tb)
}

// NewDatabase creates a database for this test on s and drops it when the test
// ends. If s was closed or stopped by then, there is nothing to drop.
func (s *Server) NewDatabase(tb testing.TB) Database {
	tb.Helper()
	name := "pgtest_" + strings.ToLower(rand.Text()[:16])
	if err := s.exec("CREATE DATABASE " + name); err != nil {
		tb.Fatalf("pgtest: creating a database on the server (%s): %v", s.source, err)
	}
	tb.Cleanup(func() {
		err := s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
		// What is not left behind by a server of ours is left by the user's.
		if err != nil && s.source == SourceEnv {
			tb.Errorf("pgtest: dropping the database %s: %v", name, err)
		}
	})
	d := Database{Name: name, DSN: WithDatabase(s.dsn, name)}
	if s.socketDSN != "" {
		d.SocketDSN = WithDatabase(s.socketDSN, name)
	}
	return d
}

func (s *Server) exec(sql string) error {
	// tb.Context ends before the cleanups run, so it is of no use here.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// GiveUp ends a test that has no server: a failure with CI=true, where a skip
// would pass for a success, and otherwise a skip that says why.
func GiveUp(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("CI=true, and %v", err)
	}
	noteSkip.Do(func() {
		fmt.Fprintf(notices, "\n*** SKIPPING the tests that need PostgreSQL ***\n%v\n\n", err)
		if path := os.Getenv(EnvSkips); path != "" {
			f, ferr := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if ferr != nil {
				fmt.Fprintln(notices, "pgtest:", ferr)
				return
			}
			fmt.Fprintf(f, "%s: tests were skipped: %v\n", os.Args[0], err)
			if ferr := f.Close(); ferr != nil {
				fmt.Fprintln(notices, "pgtest:", ferr)
			}
		}
	})
	tb.Skipf("SKIPPED for want of PostgreSQL: %v", err)
}

var (
	noteSkip sync.Once             // one notice a test binary is enough
	notices  io.Writer = os.Stderr // not the test's log, which go test keeps to itself
)

func logToStderr(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "pgtest: "+format+"\n", args...)
}
