package pgcontainer_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/pgtest/pgcontainer"
)

func TestImage(t *testing.T) {
	t.Setenv(pgcontainer.EnvImage, "")
	if got := pgcontainer.Image(); got != pgcontainer.DefaultImage {
		t.Errorf("got %q", got)
	}
	t.Setenv(pgcontainer.EnvImage, "mine:1")
	if got := pgcontainer.Image(); got != "mine:1" {
		t.Errorf("got %q", got)
	}
}

// The way by which the root module's tests and the demo get a container: a
// command of this module, built and run by pgtest.
func TestFindByWayOfTheCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := pgtest.Find(ctx, pgtest.Options{SkipEnv: true, SkipBinaries: true})
	if err != nil {
		pgtest.GiveUp(t, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if s.Source() != pgtest.SourceContainer {
		t.Errorf("source %q", s.Source())
	}
	ask := func() error {
		conn, err := pgx.Connect(t.Context(), s.DSN())
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		return conn.Ping(t.Context())
	}
	for _, down := range []func() error{s.Stop, s.Kill} {
		if err := down(); err != nil {
			t.Fatal(err)
		}
		if ask() == nil {
			t.Error("a stopped server answers")
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ask(); err != nil {
			t.Errorf("after its start: %v", err)
		}
	}
}
