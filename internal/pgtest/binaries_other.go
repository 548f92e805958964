//go:build !unix

package pgtest

import (
	"context"
	"errors"
)

var errUnixOnly = errors.New("server binaries are started on Unix systems only")

func findBinaries(context.Context, Options) (*Server, error) { return nil, errUnixOnly }

func startBinaries(context.Context, string, string) (*Server, error) { return nil, errUnixOnly }
