// Package pgcontainer runs PostgreSQL in a container, through testcontainers-go.
// It is a module of its own, so that nobody else compiles what that needs.
//
// internal/pgtest uses it by way of cmd/pgcontainer; the integration tests here
// use it directly.
package pgcontainer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// EnvImage names the image to use in place of DefaultImage.
const EnvImage = "CACHEDPGX_TEST_IMAGE"

// DefaultImage is an official image of PostgreSQL.
const DefaultImage = "postgres:17-alpine"

// Image is the image that Start takes when it is not told: CACHEDPGX_TEST_IMAGE,
// else DefaultImage.
func Image() string {
	if image := os.Getenv(EnvImage); image != "" {
		return image
	}
	return DefaultImage
}

// Options for Start. The zero value is fine.
type Options struct {
	// Image defaults to Image().
	Image string
	// Settings are further settings of the server, as "name=value". They
	// override the ones that Start chooses.
	Settings []string
}

// Server is a PostgreSQL in a container. Its methods are not for concurrent
// use.
type Server struct {
	ctr *postgres.PostgresContainer
	dsn string
}

// portTries bounds the search for a port: another process may take one between
// our look at it and Docker's.
const portTries = 5

// Start starts a container and returns when its server takes connections. The
// caller ends it with Close, whether or not the reaper is switched on.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Image == "" {
		opts.Image = Image()
	}
	var errs []error
	for range portTries {
		s, err := start(ctx, opts)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil || !strings.Contains(err.Error(), "port is already allocated") &&
			!strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func start(ctx context.Context, opts Options) (_ *Server, err error) {
	port, err := pgtest.FreePort()
	if err != nil {
		return nil, err
	}
	ctr, err := run(ctx, opts, port)
	s := &Server{ctr: ctr}
	defer func() {
		if err != nil && ctr != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("pgcontainer: image %s: %w", opts.Image, err)
	}
	if s.dsn, err = ctr.ConnectionString(ctx, "sslmode=disable"); err != nil {
		return nil, fmt.Errorf("pgcontainer: %w", err)
	}
	return s, s.awaitReady(ctx)
}

// run is postgres.Run with the panic that testcontainers-go raises where it
// finds no Docker turned into an error.
func run(ctx context.Context, opts Options, port int) (ctr *postgres.PostgresContainer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	settings := append([]string{
		"shared_preload_libraries=pg_stat_statements",
		"max_connections=300",
		"max_prepared_transactions=20",
		"wal_level=logical",
	}, opts.Settings...)
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return postgres.Run(ctx, opts.Image,
		testcontainers.WithCmdArgs(args...),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			// Docker gives a stopped container another port when it
			// starts it again, unless the port is asked for. The DSN
			// must stay the same under open handles.
			binding := network.PortBinding{HostPort: strconv.Itoa(port)}
			if dockerIsHere() {
				binding.HostIP = netip.MustParseAddr("127.0.0.1")
			}
			host.PortBindings = network.PortMap{
				network.MustParsePort("5432/tcp"): {binding},
			}
		}),
		postgres.BasicWaitStrategies(),
	)
}

// dockerIsHere tells whether a port that Docker binds to 127.0.0.1 is one that
// we can reach. In doubt it says no, and the port is bound to all interfaces,
// as testcontainers-go does by itself.
func dockerIsHere() bool {
	switch os.Getenv("TESTCONTAINERS_HOST_OVERRIDE") {
	case "localhost", "127.0.0.1":
		return true
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix:") && !strings.HasPrefix(host, "npipe:") {
		return false
	}
	_, err := os.Stat("/.dockerenv") // we are in a container, beside the server's
	return err != nil
}

// DSN is the server's address, as a URL. It stays the same when the server is
// stopped and started.
func (s *Server) DSN() string { return s.dsn }

// Start starts a stopped server, with its data.
func (s *Server) Start(ctx context.Context) error {
	if err := s.ctr.Start(ctx); err != nil {
		return err
	}
	return s.awaitReady(ctx)
}

// Stop stops the server in good order.
func (s *Server) Stop(ctx context.Context) error { return s.stop(ctx, 30*time.Second) }

// Kill stops it as a crash does.
func (s *Server) Kill(ctx context.Context) error { return s.stop(ctx, 0) }

func (s *Server) stop(ctx context.Context, patience time.Duration) error {
	return s.ctr.Stop(ctx, &patience)
}

// Close removes the container and its volumes. It does so under a deadline of
// its own: the context of whoever asked may be at its end.
func (s *Server) Close() error {
	return testcontainers.TerminateContainer(s.ctr, testcontainers.StopTimeout(0))
}

// awaitReady asks until the server answers: Docker's proxy accepts connections
// before the server does.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := pgtest.AwaitReady(ctx, s.dsn); err != nil {
		return fmt.Errorf("pgcontainer: the server does not answer: %w", err)
	}
	return nil
}
