//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// oldestMajor is the first version with DROP DATABASE … WITH (FORCE).
const oldestMajor = 13

// usualPlaces are where packages put server binaries that they keep out of
// PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findBinaries starts the first set of server binaries that can be started.
func findBinaries(ctx context.Context, opts Options) (*Server, error) {
	dirs := opts.BinDirs
	if dirs == nil {
		dirs = binDirs()
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("no initdb, pg_ctl and postgres in PATH, in %s, or where pg_config --bindir says",
			strings.Join(usualPlaces, ", "))
	}
	var errs []error
	for _, dir := range dirs {
		s, err := startBinaries(ctx, SourceBinaries, dir)
		if err == nil {
			return s, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// binDirs lists the folders that hold a server's binaries, the best first.
func binDirs() []string {
	var dirs []string
	add := func(dir string) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if missingBinary(dir) == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if postgres, err := exec.LookPath("postgres"); err == nil {
		// A link into the true folder, or a file among its kin.
		if real, err := filepath.EvalSymlinks(postgres); err == nil {
			add(filepath.Dir(real))
		}
	}
	for _, pattern := range usualPlaces {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		slices.SortStableFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
		for _, dir := range found {
			add(dir)
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		add(strings.TrimSpace(string(out)))
	}
	return dirs
}

var digits = regexp.MustCompile(`\d+`)

// versionIn is the first number in a path: the major version.
func versionIn(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path))
	return n
}

func missingBinary(dir string) error {
	for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("no %s there: %w", name, err)
		}
	}
	return nil
}

// cluster is a server made of local binaries:
//
//	dir/data   the cluster
//	dir/log    what the server says
//	dir/.s.…   its socket
type cluster struct {
	binDir string
	dir    string
	as     *syscall.Credential // nil: as we are

	// The keeper waits for the end of its standard input, then stops the
	// server and removes dir. keeperStdin is closed by close, or by the
	// kernel when this process ends, however it ends.
	keeper      *exec.Cmd
	keeperStdin *os.File
}

// keeperScript runs as we do, not as the server does: it may have to remove
// what the server may not. SIGQUIT is the server's immediate shutdown: it ends
// its children and gives its shared memory back, which SIGKILL would not.
const keeperScript = `
trap '' HUP INT TERM
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -QUIT "$pid" 2>/dev/null
	i=0
	while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null && [ $i -lt 200 ]; do
		sleep 0.05
		i=$((i+1))
	done
	[ ! -e "$1/data/postmaster.pid" ] || kill -KILL "$pid" 2>/dev/null
fi
rm -rf "$1"
`

// portTries bounds the search for a port. Another process may take a port
// between our look at it and the server's.
const portTries = 8

func startBinaries(ctx context.Context, source, binDir string) (_ *Server, err error) {
	if err := missingBinary(binDir); err != nil {
		return nil, err
	}
	c := &cluster{binDir: binDir}
	if err := c.chooseUser(); err != nil {
		return nil, err
	}
	if err := c.checkVersion(ctx); err != nil {
		return nil, err
	}
	if err := c.makeDir(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if err := c.startKeeper(); err != nil {
		return nil, err
	}
	if out, err := c.run(ctx, "initdb", "-D", c.data(), "--no-sync", "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-instructions"); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}

	preload := "pg_stat_statements"
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		if err := c.configure(port, preload); err != nil {
			return nil, err
		}
		err = c.start(ctx)
		if err == nil {
			return c.server(source, port), nil
		}
		switch {
		case ctx.Err() != nil || try == portTries:
			return nil, err
		case preload != "" && strings.Contains(err.Error(), preload):
			// Where contrib is not installed. Asking pg_config for the
			// library's folder would do, but it is often absent, too.
			preload = ""
		case strings.Contains(err.Error(), "could not bind"):
		default:
			return nil, err
		}
	}
}

func (c *cluster) server(source string, port int) *Server {
	s := &Server{
		source: source,
		dsn:    fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port),
		socketDSN: fmt.Sprintf("postgres://postgres@/postgres?host=%s&port=%d&sslmode=disable",
			url.QueryEscape(c.dir), port),
	}
	s.mu.control = c
	keep(s)
	return s
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }
func (c *cluster) log() string  { return filepath.Join(c.dir, "log") }

// folder is for tests.
func (c *cluster) folder() string { return c.dir }

// chooseUser sets whom the server runs as: it refuses to run as root.
func (c *cluster) chooseUser() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 != nil || err2 != nil || uid == 0 {
			continue
		}
		c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return nil
	}
	return errors.New("this process runs as root, the server must not, and there is no user postgres or nobody")
}

func (c *cluster) checkVersion(ctx context.Context) error {
	out, err := c.run(ctx, "postgres", "--version")
	if err != nil {
		return fmt.Errorf("postgres --version: %w\n%s", err, out)
	}
	if v := versionIn(string(out)); v < oldestMajor {
		return fmt.Errorf("%s: version %d or later is needed", strings.TrimSpace(string(out)), oldestMajor)
	}
	return nil
}

// makeDir makes the folder that everything is in. The path of a unix socket is
// at most about 100 bytes long, and the server's user must be able to get to
// it, so a long or private TMPDIR is not used.
func (c *cluster) makeDir() error {
	var errs []error
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		if len(parent) > 60 {
			errs = append(errs, fmt.Errorf("%s: too long for a unix socket's path", parent))
			continue
		}
		dir, err := os.MkdirTemp(parent, "pgtest-")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := c.makeReachable(dir); err != nil {
			errs = append(errs, err, os.RemoveAll(dir))
			continue
		}
		c.dir = dir
		return nil
	}
	return errors.Join(errs...)
}

func (c *cluster) makeReachable(dir string) error {
	if c.as == nil {
		return nil
	}
	if err := os.Chown(dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
		return err
	}
	test := exec.Command("/bin/sh", "-c", `test -w "$1"`, "sh", dir)
	test.Dir = "/"
	test.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	if err := test.Run(); err != nil {
		return fmt.Errorf("%s can't be reached by the server's user (%d): %w", dir, c.as.Uid, err)
	}
	return nil
}

func (c *cluster) startKeeper() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "pgtest-keeper", c.dir)
	cmd.Dir = "/"
	cmd.Stdin = r
	// Its output goes nowhere: holding ours, it would keep go test waiting.
	// A session of its own: Ctrl-C is for us, and we end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return fmt.Errorf("starting the server's keeper: %w", err)
	}
	c.keeper, c.keeperStdin = cmd, w
	return nil
}

// configure writes what differs from initdb's choice. fsync is off: no data
// here outlives the machine.
func (c *cluster) configure(port int, preload string) error {
	conf := fmt.Sprintf(`
listen_addresses = '127.0.0.1'
port = %d
unix_socket_directories = '%s'
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 300
max_prepared_transactions = 20
wal_level = logical
max_wal_size = 256MB
shared_preload_libraries = '%s'
`, port, c.dir, preload)
	path := filepath.Join(c.data(), "postgresql.auto.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		return err
	}
	if c.as != nil {
		return os.Chown(path, int(c.as.Uid), int(c.as.Gid))
	}
	return nil
}

// run runs one of the server's programs to its end, as the server's user.
func (c *cluster) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.binDir, name), args...)
	cmd.Dir = "/" // ours may be closed to the server's user
	if c.dir != "" {
		cmd.Dir = c.dir
	}
	cmd.WaitDelay = time.Second
	if c.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	}
	for _, kv := range os.Environ() {
		// PGDATA, PGPORT, PGOPTIONS, … are meant for another server; the
		// locale is set because we read the messages.
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	return cmd.CombinedOutput()
}

func (c *cluster) start(ctx context.Context) error {
	before := c.logSize()
	out, err := c.run(ctx, "pg_ctl", "start", "-D", c.data(), "-l", c.log(), "-w", "-t", "60", "-s")
	if err != nil {
		return fmt.Errorf("pg_ctl start: %w\n%s\nThe server's log:\n%s", err, out, c.logSince(before))
	}
	return nil
}

func (c *cluster) stop(ctx context.Context) error { return c.ctlStop(ctx, "fast") }
func (c *cluster) kill(ctx context.Context) error { return c.ctlStop(ctx, "immediate") }

func (c *cluster) ctlStop(ctx context.Context, mode string) error {
	if _, err := os.Stat(filepath.Join(c.data(), "postmaster.pid")); errors.Is(err, os.ErrNotExist) {
		return nil // it is stopped
	}
	if out, err := c.run(ctx, "pg_ctl", "stop", "-D", c.data(), "-m", mode, "-w", "-t", "60", "-s"); err != nil {
		return fmt.Errorf("pg_ctl stop -m %s: %w\n%s", mode, err, out)
	}
	return nil
}

// close lets the keeper do what it would do at our end, and waits for it.
func (c *cluster) close() error {
	if c.keeper == nil {
		return os.RemoveAll(c.dir)
	}
	closeErr := c.keeperStdin.Close()
	if err := c.keeper.Wait(); err != nil {
		return errors.Join(closeErr, fmt.Errorf("the server's keeper: %w", err))
	}
	return closeErr
}

func (c *cluster) logSize() int64 {
	info, err := os.Stat(c.log())
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSince returns the end of what the server logged after its log had that
// size.
func (c *cluster) logSince(size int64) string {
	b, err := os.ReadFile(c.log())
	if err != nil {
		return err.Error()
	}
	return tail(b[min(size, int64(len(b))):])
}
