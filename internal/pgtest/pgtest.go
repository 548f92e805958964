// Package pgtest finds a PostgreSQL server for tests and for the demo: the one
// CACHEDPGX_TEST_DSN names, else local server binaries started in a temporary
// folder, else a container.
//
// A server that it started does not outlive the process that asked for it,
// whatever ends that process: the server's keeper is another process that holds
// one end of a pipe and stops the server when the other end is gone. pgtest
// starts no goroutines, so a test's leak check sees none of it.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// EnvDSN names a server to use as it is. Tests create databases of their own
// on it and drop them; they never stop it.
const EnvDSN = "CACHEDPGX_TEST_DSN"

// What a server can come from, as Server.Source says it.
const (
	SourceEnv       = EnvDSN
	SourceBinaries  = "local binaries"
	SourceContainer = "container"
)

// ErrNotOurs is returned by Start, Stop, Kill and Restart of a server that
// pgtest did not start: the one in CACHEDPGX_TEST_DSN.
var ErrNotOurs = errors.New("pgtest: this server was not started by pgtest, so it is not stopped by it either")

// Options says which ways Find tries. The zero value tries all that pgtest has.
type Options struct {
	// SkipEnv leaves CACHEDPGX_TEST_DSN out: for who must be able to stop
	// the server.
	SkipEnv bool
	// SkipBinaries leaves local server binaries out.
	SkipBinaries bool
	// SkipContainer leaves containers out.
	SkipContainer bool

	// BinDirs are the folders to look for server binaries in, in place of
	// PATH, the usual places and pg_config.
	BinDirs []string
	// ContainerCommand is run in place of the nested module's command; the
	// protocol is in serve.go.
	ContainerCommand []string
	// Fallbacks are asked when all else is in vain, in their order.
	Fallbacks []Fallback
	// Logf hears of what takes its time, such as pulling an image. Defaults
	// to silence.
	Logf func(format string, args ...any)
}

// Fallback is a further way to a server. Start may return what StartBinaries
// or NewServer made.
type Fallback struct {
	Name  string
	Start func(ctx context.Context) (*Server, error)
}

// Server is a PostgreSQL server. Its methods may be called concurrently.
type Server struct {
	source    string
	dsn       string
	socketDSN string

	mu struct {
		sync.Mutex
		control control
		closed  bool
	}
}

// control is what can be done to a server that is ours.
type control interface {
	start(ctx context.Context) error
	stop(ctx context.Context) error // orderly: sessions are told
	kill(ctx context.Context) error // immediate: no checkpoint
	close() error                   // immediate, and nothing is left behind
}

// NewServer makes a Server of one that something else started. stop ends it
// and leaves nothing behind; Close calls it once. A server made like this can't
// be stopped and started again.
func NewServer(source, dsn string, stop func() error) *Server {
	s := &Server{source: source, dsn: dsn}
	if stop != nil {
		s.mu.control = stopOnly(stop)
	}
	keep(s)
	return s
}

type stopOnly func() error

func (stopOnly) start(context.Context) error { return ErrNotOurs }
func (stopOnly) stop(context.Context) error  { return ErrNotOurs }
func (stopOnly) kill(context.Context) error  { return ErrNotOurs }
func (f stopOnly) close() error              { return f() }

// live keeps every server reachable until it is closed. The keeper's pipe is an
// *os.File, which the garbage collector closes: without this, a caller that
// kept the DSN alone would lose its server in the middle of its work.
var live struct {
	sync.Mutex
	servers map[*Server]struct{}
}

func keep(s *Server) {
	live.Lock()
	defer live.Unlock()
	if live.servers == nil {
		live.servers = make(map[*Server]struct{})
	}
	live.servers[s] = struct{}{}
}

// DSN is the server's address on the loopback interface, as a URL (from
// CACHEDPGX_TEST_DSN: as it was given). It stays the same when the server is
// stopped and started.
func (s *Server) DSN() string { return s.dsn }

// SocketDSN is the server's address by its unix socket, "" if it has none that
// is known.
func (s *Server) SocketDSN() string { return s.socketDSN }

// Source says where the server comes from: SourceEnv, SourceBinaries,
// SourceContainer or a Fallback's name.
func (s *Server) Source() string { return s.source }

// Start starts the server again, on the same port and with the same data. It
// returns when the server takes connections.
func (s *Server) Start(ctx context.Context) error {
	return s.do("start", func(c control) error { return c.start(ctx) })
}

// Stop ends the server in good order: sessions are ended with SQLSTATE 57P01,
// and Start brings it back. Use Close to be rid of it.
func (s *Server) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.do("stop", func(c control) error { return c.stop(ctx) })
}

// Kill ends the server at once, as in a crash: Start recovers it.
func (s *Server) Kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.do("kill", func(c control) error { return c.kill(ctx) })
}

// Restart is Stop and Start.
func (s *Server) Restart(ctx context.Context) error {
	return s.do("restart", func(c control) error {
		if err := c.stop(ctx); err != nil {
			return err
		}
		return c.start(ctx)
	})
}

func (s *Server) do(what string, f func(control) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.closed:
		return fmt.Errorf("pgtest: %s: the server was closed", what)
	case s.mu.control == nil:
		return ErrNotOurs
	}
	if err := f(s.mu.control); err != nil {
		if errors.Is(err, ErrNotOurs) {
			return err
		}
		return fmt.Errorf("pgtest: %s of the server (%s): %w", what, s.source, err)
	}
	return nil
}

// Close ends a server that pgtest started and removes what it left on disk. A
// server of CACHEDPGX_TEST_DSN is left alone. Closing twice is no error.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil
	}
	s.mu.closed = true
	live.Lock()
	delete(live.servers, s)
	live.Unlock()
	if s.mu.control == nil {
		return nil
	}
	return s.mu.control.close()
}

// NotFoundError says that no server could be had, and why, way by way.
type NotFoundError struct {
	Tried []Attempt
}

// Attempt is one way that was tried, and what it came to.
type Attempt struct {
	Way string
	Err error
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("pgtest: no PostgreSQL server could be had. Tried:")
	for i, a := range e.Tried {
		msg := strings.ReplaceAll(strings.TrimSpace(a.Err.Error()), "\n", "\n      ")
		fmt.Fprintf(&b, "\n  %d. %s: %s", i+1, a.Way, msg)
	}
	b.WriteString("\nTo change that: set " + EnvDSN + " to a server's DSN, or install PostgreSQL's server, or start Docker.")
	return b.String()
}

func (e *NotFoundError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

var errSwitchedOff = errors.New("switched off by the caller")

// Find returns the first server that can be had, in this order: the one in
// CACHEDPGX_TEST_DSN, local server binaries, a container, the fallbacks. A
// server that CACHEDPGX_TEST_DSN names and that does not answer is an error and
// nothing else is tried: the user meant that one. Otherwise the error is a
// *NotFoundError. The caller closes the server.
func Find(ctx context.Context, opts Options) (*Server, error) {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	failed := &NotFoundError{}
	note := func(way string, err error) {
		failed.Tried = append(failed.Tried, Attempt{Way: way, Err: err})
	}

	switch dsn := os.Getenv(EnvDSN); {
	case opts.SkipEnv:
		note(EnvDSN, errSwitchedOff)
	case dsn == "":
		note(EnvDSN, errors.New("not set"))
	default:
		if err := ping(ctx, dsn); err != nil {
			return nil, fmt.Errorf("pgtest: the server that %s names does not answer: %w", EnvDSN, err)
		}
		s := &Server{source: SourceEnv, dsn: dsn}
		keep(s)
		return s, nil
	}

	type way struct {
		name  string
		off   bool
		start func(context.Context, Options) (*Server, error)
	}
	ways := []way{
		{SourceBinaries, opts.SkipBinaries, findBinaries},
		{SourceContainer, opts.SkipContainer, startContainer},
	}
	for _, f := range opts.Fallbacks {
		ways = append(ways, way{f.Name, false, func(ctx context.Context, _ Options) (*Server, error) { return f.Start(ctx) }})
	}
	for _, w := range ways {
		if w.off {
			note(w.name, errSwitchedOff)
			continue
		}
		s, err := w.start(ctx, opts)
		if err == nil {
			return s, nil
		}
		note(w.name, err)
		if ctx.Err() != nil {
			break // the caller gave up, which is not that way's fault
		}
	}
	return nil, failed
}

// StartBinaries starts the server whose initdb, pg_ctl and postgres are in
// binDir, in a temporary folder. The caller closes it. source is what
// Server.Source will say.
func StartBinaries(ctx context.Context, source, binDir string) (*Server, error) {
	return startBinaries(ctx, source, binDir)
}

// tail is the end of a program's output: where it says what went wrong.
func tail(b []byte) string {
	const most = 4 << 10
	return strings.TrimSpace(string(b[max(0, len(b)-most):]))
}
