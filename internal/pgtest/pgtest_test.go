package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// envHelper makes this test binary play another program; see helpers.
const envHelper = "PGTEST_HELPER"

var helpers = map[string]func() error{
	// The command that runs a container, with local binaries in the
	// container's place.
	"container": func() error {
		return Serve(os.Stdin, os.Stdout, func(ctx context.Context) (Served, error) {
			s, err := Find(ctx, Options{SkipEnv: true, SkipContainer: true})
			if err != nil {
				return nil, err
			}
			return served{s}, nil
		})
	},
	// The same command where it can't do its work.
	"container-fails": func() error {
		return Serve(os.Stdin, os.Stdout, func(context.Context) (Served, error) {
			return nil, errors.New("no whale in this sea")
		})
	},
	// The same command while it pulls an image. It ends when its start is
	// cancelled.
	"container-hangs": func() error {
		return Serve(os.Stdin, os.Stdout, func(ctx context.Context) (Served, error) {
			<-ctx.Done()
			return nil, nil
		})
	},
	// A process that starts a server and never closes it.
	"owner": func() error {
		s, err := Find(context.Background(), Options{SkipEnv: true, SkipContainer: true})
		if err != nil {
			return err
		}
		fmt.Println(s.DSN())
		fmt.Println(s.mu.control.(interface{ folder() string }).folder())
		select {}
	},
}

// served is a Server as the protocol's other side has it.
type served struct{ *Server }

func (s served) Stop(context.Context) error { return s.Server.Stop() }
func (s served) Kill(context.Context) error { return s.Server.Kill() }

func TestMain(m *testing.M) {
	if helper, ok := helpers[os.Getenv(envHelper)]; ok {
		if err := helper(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(Wrap(m))
}

// helper is a command line that runs one of helpers.
func helper(name string) []string {
	return []string{"/usr/bin/env", envHelper + "=" + name, os.Args[0]}
}

// local starts a server from local binaries for this test.
func local(t *testing.T) *Server {
	t.Helper()
	s, err := Find(t.Context(), Options{SkipEnv: true, SkipContainer: true})
	if err != nil {
		GiveUp(t, err)
	}
	t.Cleanup(func() { closeServer(t, s) })
	return s
}

func closeServer(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connecting to %s: %v", dsn, err)
	}
	defer conn.Close(context.Background())
	var got string
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

func exec1(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connecting to %s: %v", dsn, err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func answers(dsn string) bool { return ping(context.Background(), dsn) == nil }

func TestEnvIsTakenFirstAndLeftAlone(t *testing.T) {
	theirs := local(t)
	t.Setenv(EnvDSN, theirs.DSN())

	s, err := Find(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Source() != SourceEnv || s.DSN() != theirs.DSN() || s.SocketDSN() != "" {
		t.Errorf("got source %q, DSN %q, socket %q", s.Source(), s.DSN(), s.SocketDSN())
	}
	for name, err := range map[string]error{
		"Start":   s.Start(t.Context()),
		"Stop":    s.Stop(),
		"Kill":    s.Kill(),
		"Restart": s.Restart(t.Context()),
	} {
		if !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: got %v, want ErrNotOurs", name, err)
		}
	}
	closeServer(t, s)
	if !answers(theirs.DSN()) {
		t.Error("Close stopped a server that the user started")
	}
}

func TestEnvThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Setenv(EnvDSN, "postgres://u:secret@127.0.0.1:1/db?connect_timeout=1")
	s, err := Find(t.Context(), Options{})
	if err == nil {
		closeServer(t, s)
		t.Fatalf("got a server from %s", s.Source())
	}
	if !strings.Contains(err.Error(), EnvDSN) {
		t.Errorf("the error does not name %s: %v", EnvDSN, err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error holds the password: %v", err)
	}
}

func TestBinaries(t *testing.T) {
	s := local(t)
	if s.Source() != SourceBinaries {
		t.Errorf("source %q", s.Source())
	}
	for _, dsn := range []string{s.DSN(), s.SocketDSN()} {
		if got := query(t, dsn, "SHOW max_connections"); got != "300" {
			t.Errorf("%s: max_connections = %s", dsn, got)
		}
	}
	if got := query(t, s.SocketDSN(), "SELECT coalesce(inet_client_addr()::text, 'socket')"); got != "socket" {
		t.Errorf("SocketDSN connects from %s", got)
	}
	for setting, want := range map[string]string{
		"max_prepared_transactions": "20",
		"wal_level":                 "logical",
		"fsync":                     "off",
		"listen_addresses":          "127.0.0.1",
	} {
		if got := query(t, s.DSN(), "SHOW "+setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}
}

func TestStopStartKillKeepPortAndData(t *testing.T) {
	s := local(t)
	exec1(t, s.DSN(), "CREATE TABLE kept (v text)")
	exec1(t, s.DSN(), "INSERT INTO kept VALUES ('kept')")

	for _, step := range []struct {
		name string
		down func() error
	}{{"stop", s.Stop}, {"kill", s.Kill}} {
		if err := step.down(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if answers(s.DSN()) || answers(s.SocketDSN()) {
			t.Fatalf("the server answers after %s", step.name)
		}
		if err := step.down(); err != nil {
			t.Errorf("%s of a stopped server: %v", step.name, err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatalf("start after %s: %v", step.name, err)
		}
		for _, dsn := range []string{s.DSN(), s.SocketDSN()} {
			if got := query(t, dsn, "SELECT v FROM kept"); got != "kept" {
				t.Errorf("after %s and start: %q", step.name, got)
			}
		}
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s.DSN(), "SELECT v FROM kept"); got != "kept" {
		t.Errorf("after Restart: %q", got)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	s := local(t)
	u, err := url.Parse(s.SocketDSN())
	if err != nil {
		t.Fatal(err)
	}
	dir := u.Query().Get("host")
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	closeServer(t, s)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there (%v)", err)
	}
	if answers(s.DSN()) {
		t.Error("the server is still there")
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a closed server was started")
	}
}

func TestContainerProtocol(t *testing.T) {
	local(t) // skips where there are no binaries to play the container
	s, err := Find(t.Context(), Options{
		SkipEnv: true, SkipBinaries: true, ContainerCommand: helper("container"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeServer(t, s) })
	if s.Source() != SourceContainer {
		t.Errorf("source %q", s.Source())
	}
	exec1(t, s.DSN(), "CREATE TABLE kept (v text)")
	for _, down := range []func() error{s.Stop, s.Kill} {
		if err := down(); err != nil {
			t.Fatal(err)
		}
		if answers(s.DSN()) {
			t.Error("the server still answers")
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := query(t, s.DSN(), "SELECT count(*)::text FROM kept"); got != "0" {
			t.Errorf("got %q", got)
		}
	}
	closeServer(t, s)
	if answers(s.DSN()) {
		t.Error("the server outlives Close")
	}
}

func TestContainerCommandGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	s, err := Find(ctx, Options{SkipEnv: true, SkipBinaries: true, ContainerCommand: helper("container-hangs")})
	if err == nil {
		closeServer(t, s)
		t.Fatal("got a server")
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestNothingFoundSaysWhatWasTried(t *testing.T) {
	t.Setenv(EnvDSN, "")
	empty := t.TempDir()
	_, err := Find(t.Context(), Options{
		BinDirs:          []string{empty},
		ContainerCommand: helper("container-fails"),
		Fallbacks: []Fallback{{
			Name:  "a download",
			Start: func(context.Context) (*Server, error) { return nil, errors.New("the line is dead") },
		}},
	})
	var notFound *NotFoundError
	if !errors.As(err, &notFound) {
		t.Fatalf("got %T: %v", err, err)
	}
	if len(notFound.Tried) != 4 {
		t.Errorf("%d ways were tried: %v", len(notFound.Tried), err)
	}
	for _, want := range []string{
		EnvDSN + ": not set",
		SourceBinaries + ": " + empty + ": no initdb there",
		SourceContainer + ": ", "no whale in this sea",
		"a download: the line is dead",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

func TestWaysSwitchedOffAreNotTried(t *testing.T) {
	t.Setenv(EnvDSN, "postgres://127.0.0.1:1/")
	_, err := Find(t.Context(), Options{SkipEnv: true, SkipBinaries: true, SkipContainer: true})
	var notFound *NotFoundError
	if !errors.As(err, &notFound) || len(notFound.Tried) != 3 {
		t.Fatalf("got %v", err)
	}
	for _, a := range notFound.Tried {
		if !errors.Is(a.Err, errSwitchedOff) {
			t.Errorf("%s: %v", a.Way, a.Err)
		}
	}
}

func TestFallback(t *testing.T) {
	stopped := 0
	s, err := Find(t.Context(), Options{
		SkipEnv: true, SkipBinaries: true, SkipContainer: true,
		Fallbacks: []Fallback{
			{"first", func(context.Context) (*Server, error) { return nil, errors.New("no") }},
			{"second", func(context.Context) (*Server, error) {
				return NewServer("second", "postgres://x/", func() error { stopped++; return nil }), nil
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Source() != "second" || s.DSN() != "postgres://x/" {
		t.Errorf("got %q, %q", s.Source(), s.DSN())
	}
	if err := s.Stop(); !errors.Is(err, ErrNotOurs) {
		t.Errorf("Stop: %v", err)
	}
	closeServer(t, s)
	closeServer(t, s)
	if stopped != 1 {
		t.Errorf("stopped %d times", stopped)
	}
}

func TestBinariesThatFailSayWhy(t *testing.T) {
	for name, script := range map[string]string{
		"no version":  `echo "postgres: cannot execute" >&2; exit 126`,
		"too old":     `echo "postgres (PostgreSQL) 9.6.24"`,
		"initdb dies": `case "$0" in *initdb) echo "initdb: no room" >&2; exit 1;; esac; echo "postgres (PostgreSQL) 15.0"`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range []string{"initdb", "pg_ctl", "postgres"} {
				if err := os.WriteFile(filepath.Join(dir, f), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			// The server's user must get to them.
			for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				if err := os.Chmod(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s, err := StartBinaries(t.Context(), "fake", dir)
			if err == nil {
				closeServer(t, s)
				t.Fatal("got a server")
			}
			want := map[string]string{
				"no version": "cannot execute", "too old": "version 13 or later", "initdb dies": "no room",
			}[name]
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error lacks %q: %v", want, err)
			}
		})
	}
}

func TestManyServersAtOnce(t *testing.T) {
	const n = 3
	servers := make([]*Server, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			servers[i], errs[i] = Find(t.Context(), Options{SkipEnv: true, SkipContainer: true})
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, s := range servers {
		if errs[i] != nil {
			GiveUp(t, errs[i])
		}
		t.Cleanup(func() { closeServer(t, s) })
		if seen[s.DSN()] || !answers(s.DSN()) {
			t.Errorf("%s is taken twice, or does not answer", s.DSN())
		}
		seen[s.DSN()] = true
	}
}

func TestDatabasesAreSeparateAndDropped(t *testing.T) {
	srv := Shared(t)
	var names []string
	t.Run("inner", func(t *testing.T) {
		a, b := NewDatabase(t), NewDatabase(t)
		names = append(names, a.Name, b.Name)
		exec1(t, a.DSN, "CREATE TABLE only_in_a ()")
		if got := query(t, b.DSN, "SELECT coalesce(to_regclass('only_in_a')::text, 'none')"); got != "none" {
			t.Errorf("a test sees another's table %q", got)
		}
		if a.SocketDSN != "" {
			if got := query(t, a.SocketDSN, "SELECT current_database()"); got != a.Name {
				t.Errorf("by the socket: database %q, want %q", got, a.Name)
			}
		}
		// A session that a test forgot does not keep the database.
		conn, err := pgx.Connect(t.Context(), DSN(t))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, conn.Config().Database)
	})
	for _, name := range names {
		if got := query(t, srv.DSN(), "SELECT count(*)::text FROM pg_database WHERE datname = '"+name+"'"); got != "0" {
			t.Errorf("database %s was not dropped", name)
		}
	}
}

func TestPrivate(t *testing.T) {
	var dsn string
	t.Run("inner", func(t *testing.T) {
		s := Private(t)
		dsn = s.DSN()
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		query(t, s.NewDatabase(t).DSN, "SELECT 'x'")
	})
	if answers(dsn) {
		t.Error("the private server outlives its test")
	}
}

func TestWithDatabase(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"url", "postgres://u:p@h:1/a?sslmode=disable", "postgres://u:p@h:1/b?sslmode=disable"},
		{"url without a database", "postgresql://h", "postgresql://h/b"},
		{"url with a socket", "postgres://u@/a?host=%2Ftmp%2Fx&port=5", "postgres://u@/b?host=%2Ftmp%2Fx&port=5"},
		{"url with dbname", "postgres://h/?dbname=a&port=5", "postgres://h/b?port=5"},
		{"keywords", "host=h dbname=a", "host=h dbname=a dbname='b'"},
		{"empty", "", "dbname='b'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := WithDatabase(tc.in, "b")
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			cfg, err := pgx.ParseConfig(got)
			if err != nil || cfg.Database != "b" {
				t.Errorf("pgx reads it as %v, %v", cfg, err)
			}
		})
	}
}

// fakeTB records how a test ended.
type fakeTB struct {
	testing.TB
	fatal, skip string
}

func (f *fakeTB) Helper()                   {}
func (f *fakeTB) Fatalf(s string, a ...any) { f.fatal = fmt.Sprintf(s, a...); panic(f) }
func (f *fakeTB) Skipf(s string, a ...any)  { f.skip = fmt.Sprintf(s, a...); panic(f) }

func TestGiveUp(t *testing.T) {
	err := &NotFoundError{Tried: []Attempt{{"a way", errors.New("a reason")}}}
	skips := filepath.Join(t.TempDir(), "skips")
	t.Setenv(EnvSkips, skips)
	defer func(w io.Writer) { notices = w }(notices)
	var told strings.Builder
	notices = &told

	t.Setenv("CI", "")
	var tb fakeTB
	func() {
		defer func() { _ = recover() }()
		noteSkip = sync.Once{}
		GiveUp(&tb, err)
	}()
	if tb.fatal != "" || !strings.Contains(tb.skip, "a way: a reason") {
		t.Errorf("without CI: %+v", tb)
	}
	if b, err := os.ReadFile(skips); err != nil || !strings.Contains(string(b), "a reason") {
		t.Errorf("the skip was not noted: %q, %v", b, err)
	}
	if !strings.Contains(told.String(), "SKIPPING") {
		t.Errorf("the skip was not told: %q", told.String())
	}

	t.Setenv("CI", "true")
	tb = fakeTB{}
	func() {
		defer func() { _ = recover() }()
		GiveUp(&tb, err)
	}()
	if tb.skip != "" || !strings.Contains(tb.fatal, "a way: a reason") {
		t.Errorf("with CI=true: %+v", tb)
	}
}

// A server ends with the process that started it, even if that process can't
// do anything about it any more.
func TestServerDoesNotOutliveItsOwner(t *testing.T) {
	local(t)
	for name, end := range map[string]func(*os.Process) error{
		"SIGKILL":   (*os.Process).Kill,
		"interrupt": func(p *os.Process) error { return p.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			argv := helper("owner")
			cmd := exec.Command(argv[0], argv[1:]...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var dsn, dir string
			if _, err := fmt.Fscanln(out, &dsn); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fscanln(out, &dir); err != nil {
				t.Fatal(err)
			}
			if !answers(dsn) {
				t.Fatal("the server does not answer")
			}
			if err := end(cmd.Process); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait() // it was killed, so it says

			deadline := time.Now().Add(15 * time.Second)
			for {
				_, err := os.Stat(dir)
				gone := errors.Is(err, os.ErrNotExist)
				if gone && !answers(dsn) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the server outlives its owner (folder gone: %v)", gone)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}
