package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"time"
)

// A container is started by a command of the nested module pgcontainer, run as
// a child process, so that the root module does not depend on what starts
// containers. This is what the two say to each other, in lines:
//
//	the command's stdout: the DSN, once the server takes connections
//	its stdin:            "start", "stop" or "kill"
//	its stdout:           "ok", or "error: " and why, in one line
//	its stdin ends:       it removes the container and ends
//
// A command that can't start a server says why on stderr and ends with a status
// other than 0. The end of stdin counts at any time, during the start as well:
// it is how the command learns that the process that started it is gone.

// Served is a server as Serve serves it.
type Served interface {
	DSN() string
	Start(context.Context) error
	Stop(context.Context) error
	Kill(context.Context) error
	Close() error
}

// Serve is the command's side of the protocol. It returns when stdin has ended,
// or at an interrupt, and the server is closed.
func Serve(stdin io.Reader, stdout io.Writer, start func(context.Context) (Served, error)) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	// The goroutine lasts as long as stdin does; the process ends soon after
	// Serve has returned.
	commands := make(chan string)
	go func() {
		defer cancel()
		lines := bufio.NewScanner(stdin)
		for lines.Scan() {
			select {
			case commands <- strings.TrimSpace(lines.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()

	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := fmt.Fprintln(stdout, s.DSN()); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case command := <-commands:
			answer := "ok"
			if err := obey(ctx, s, command); err != nil {
				answer = "error: " + strings.Join(strings.Fields(err.Error()), " ")
			}
			if _, err := fmt.Fprintln(stdout, answer); err != nil {
				return err
			}
		}
	}
}

func obey(ctx context.Context, s Served, command string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	switch command {
	case "start":
		return s.Start(ctx)
	case "stop":
		return s.Stop(ctx)
	case "kill":
		return s.Kill(ctx)
	}
	return fmt.Errorf("unknown command %q", command)
}
