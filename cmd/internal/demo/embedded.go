package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// SourceEmbedded is what the report calls a server that was downloaded.
const SourceEmbedded = "downloaded binaries"

// embedded is the last way to a server: the module embedded-postgres downloads
// one. The archive is kept in the user's cache folder, so that the next run
// finds it; all else goes with the server.
func embedded(logf func(string, ...any)) pgtest.Fallback {
	return pgtest.Fallback{Name: SourceEmbedded, Start: func(ctx context.Context) (*pgtest.Server, error) {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		return startEmbedded(ctx, embeddedpostgres.DefaultConfig(), filepath.Join(cache, "cachedpgx-demo"), logf)
	}}
}

// startEmbedded lets the module fetch and unpack a server, and has pgtest start
// what was unpacked, as it starts any other: the module's own way to start one
// does not work as root, and leaves a server behind when this process is killed.
func startEmbedded(ctx context.Context, config embeddedpostgres.Config, cacheDir string, logf func(string, ...any)) (_ *pgtest.Server, err error) {
	dir, err := os.MkdirTemp("", "cachedpgx-demo-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	// The server's user must be able to get at its binaries.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	unpacked := filepath.Join(dir, "server")
	bin := filepath.Join(unpacked, "bin")
	module := embeddedpostgres.NewDatabase(config.
		Version(embeddedpostgres.V17).
		Port(port).
		CachePath(cacheDir).
		BinariesPath(unpacked).
		RuntimePath(filepath.Join(dir, "run")).
		DataPath(filepath.Join(dir, "data")).
		StartParameters(map[string]string{"unix_socket_directories": dir}).
		Logger(io.Discard))

	logf("no PostgreSQL here: downloading a server, whose archive is kept in %s", cacheDir)
	// It has no way to fetch only, so it is started, if it can be, and stopped.
	fetched := make(chan error, 1)
	restore := setTempDir(dir)
	go func() {
		err := module.Start()
		if err == nil {
			err = module.Stop()
		}
		fetched <- err
	}()
	defer restore()
	var fetchErr error
	select {
	case fetchErr = <-fetched:
	case <-ctx.Done():
		// Start can't be told to stop. A download may be left alone, it ends
		// with this process; a server that is being started may not.
		if hasServer(bin) {
			<-fetched
		}
		return nil, ctx.Err()
	}
	restore()
	if !hasServer(bin) {
		return nil, fmt.Errorf("downloading a server: %w", fetchErr)
	}
	s, err := pgtest.StartBinaries(ctx, SourceEmbedded, bin)
	if err != nil {
		return nil, errors.Join(err, fetchErr)
	}
	return pgtest.NewServer(SourceEmbedded, s.DSN(), func() error { return errors.Join(s.Close(), remove()) }), nil
}

// setTempDir changes what os.TempDir gives, and returns what changes it back. The
// module leaves a log there, wherever else it is told to work.
func setTempDir(dir string) (restore func()) {
	const key = "TMPDIR"
	old, was := os.LookupEnv(key)
	os.Setenv(key, dir)
	return func() {
		if was {
			os.Setenv(key, old)
		} else {
			os.Unsetenv(key)
		}
	}
}

func hasServer(bin string) bool {
	_, err := os.Stat(filepath.Join(bin, "pg_ctl"))
	return err == nil
}

func freePort() (uint32, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint32(l.Addr().(*net.TCPAddr).Port), nil
}
