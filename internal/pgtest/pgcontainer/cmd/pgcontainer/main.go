// Command pgcontainer starts PostgreSQL in a container, prints its DSN, and
// removes the container when its standard input ends:
//
//	go run ./cmd/pgcontainer
//
// Lines "stop", "start" and "kill" on standard input do that to the server.
// internal/pgtest talks to it; the protocol is in pgtest's serve.go.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/testcontainers/testcontainers-go/log"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/pgtest/pgcontainer"
)

func main() {
	log.SetDefault(quiet{})
	err := pgtest.Serve(os.Stdin, os.Stdout, func(ctx context.Context) (pgtest.Served, error) {
		s, err := pgcontainer.Start(ctx, pgcontainer.Options{})
		if err != nil {
			return nil, err // not s: a nil *Server in an interface isn't nil
		}
		return s, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// quiet drops what testcontainers-go says of its progress, and keeps the log of
// a container that did not come up: standard error is for the reasons.
type quiet struct{}

func (quiet) Printf(format string, args ...any) {
	if strings.HasPrefix(format, "container logs") {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}
