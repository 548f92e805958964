package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// containerModule is the nested module's folder, seen from this one.
const containerModule = "pgcontainer"

// containerCommand is the command's package, seen from the nested module.
const containerCommand = "./cmd/pgcontainer"

// container is a server in a container, by way of the command that runs it;
// see serve.go.
type container struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  *bufio.Reader
	stderr *os.File // a file, which is read if the command fails
}

// answerTimeout bounds the wait for a server that is said to be ready.
const answerTimeout = 30 * time.Second

func startContainer(ctx context.Context, opts Options) (_ *Server, err error) {
	argv := opts.ContainerCommand
	if len(argv) == 0 {
		if err := dockerIsPlausible(); err != nil {
			return nil, err
		}
		opts.Logf("starting PostgreSQL in a container; the first time this builds a command and may pull an image")
		command, remove, err := buildContainerCommand(ctx)
		if err != nil {
			return nil, err
		}
		// A running program needs its file no longer, on most systems.
		defer remove()
		argv = []string{command}
	}
	c := &container{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if err := c.spawn(argv); err != nil {
		return nil, err
	}
	dsn, err := c.readLine(ctx)
	if err != nil {
		// Why is on its stderr, which close reports.
		return nil, fmt.Errorf("the command %s gave no DSN: %w", strings.Join(argv, " "), err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := AwaitReady(ctx, dsn); err != nil {
		return nil, fmt.Errorf("the container's server does not answer: %w", err)
	}
	s := &Server{source: SourceContainer, dsn: dsn}
	s.mu.control = c
	keep(s)
	return s, nil
}

// buildContainerCommand builds the nested module's command into a temporary
// folder. go run would do, but stands between us and the command's end.
func buildContainerCommand(ctx context.Context) (path string, remove func(), err error) {
	module, err := containerModuleDir(ctx)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest-container-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "pgcontainer")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", path, containerCommand)
	build.Dir = module
	build.WaitDelay = time.Second
	// What a workspace or the tests' own flags ask for is not meant for it.
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("go build %s in %s: %w\n%s", containerCommand, module, err, tail(out))
	}
	return path, remove, nil
}

// dockerIsPlausible spares those without Docker the building of a command that
// would only find out the same. It errs on the side of trying.
func dockerIsPlausible() error {
	if runtime.GOOS == "windows" || os.Getenv("DOCKER_HOST") != "" || os.Getenv("TESTCONTAINERS_HOST_OVERRIDE") != "" {
		return nil
	}
	if _, err := exec.LookPath("docker"); err == nil {
		return nil
	}
	sockets := []string{"/var/run/docker.sock"}
	if home, err := os.UserHomeDir(); err == nil {
		sockets = append(sockets,
			filepath.Join(home, ".docker/run/docker.sock"),
			filepath.Join(home, ".docker/desktop/docker.sock"),
			filepath.Join(home, ".testcontainers.properties"))
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		sockets = append(sockets, filepath.Join(run, "docker.sock"))
	}
	for _, path := range sockets {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no docker command, no DOCKER_HOST and no socket at %s", strings.Join(sockets, ", "))
}

// containerModuleDir finds the nested module in the checkout that this package
// was built from.
func containerModuleDir(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the command that starts containers is built with go: %w", err)
	}
	var looked []string
	isThere := func(dir string) bool {
		looked = append(looked, dir)
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		return err == nil
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), containerModule); isThere(dir) {
			return dir, nil
		}
	}
	// Built with -trimpath, or moved since.
	const pkg = "github.com/cachedpgx/cachedpgx/internal/pgtest"
	if out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output(); err == nil {
		if dir := filepath.Join(strings.TrimSpace(string(out)), containerModule); isThere(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the nested module that starts containers is not here (looked in %s): run from a checkout of the repository",
		strings.Join(looked, ", "))
}

func (c *container) spawn(argv []string) (err error) {
	// Files, not writers and readers: os/exec serves those by goroutines,
	// which leak checks would find.
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()
	c.stdin = stdin
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childOut.Close()
	c.stdout, c.lines = stdout, bufio.NewReader(stdout)
	if c.stderr, err = os.CreateTemp("", "pgtest-container-*.log"); err != nil {
		return err
	}
	// Where an open file can be removed, nothing is left even by a crash.
	_ = os.Remove(c.stderr.Name())

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, c.stderr
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd = cmd
	return nil
}

func (c *container) readLine(ctx context.Context) (string, error) {
	var zero time.Time
	if err := c.stdout.SetReadDeadline(zero); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.stdout.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := c.lines.ReadString('\n')
	if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return strings.TrimSpace(line), err
}

func (c *container) ask(ctx context.Context, what string) error {
	if _, err := fmt.Fprintln(c.stdin, what); err != nil {
		return err
	}
	switch answer, err := c.readLine(ctx); {
	case err != nil:
		return err
	case answer != "ok":
		return errors.New(strings.TrimPrefix(answer, "error: "))
	}
	return nil
}

func (c *container) start(ctx context.Context) error { return c.ask(ctx, "start") }
func (c *container) stop(ctx context.Context) error  { return c.ask(ctx, "stop") }
func (c *container) kill(ctx context.Context) error  { return c.ask(ctx, "kill") }

// close ends the command and waits until it has removed the container.
func (c *container) close() error {
	var errs []error
	if c.stdin != nil {
		errs = append(errs, c.stdin.Close())
	}
	if c.cmd != nil {
		if err := c.cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("the command that runs the container: %w\n%s", err, c.said()))
		}
	}
	if c.stdout != nil {
		errs = append(errs, c.stdout.Close())
	}
	if c.stderr != nil {
		errs = append(errs, c.stderr.Close())
		_ = os.Remove(c.stderr.Name()) // it may be gone already
	}
	return errors.Join(errs...)
}

// said is the end of what the command wrote to stderr.
func (c *container) said() string {
	info, err := c.stderr.Stat()
	if err != nil {
		return err.Error()
	}
	b := make([]byte, info.Size())
	n, _ := c.stderr.ReadAt(b, 0)
	return tail(b[:n])
}
