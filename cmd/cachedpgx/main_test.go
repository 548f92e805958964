package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"nothing", nil, 2, "", "Usage: cachedpgx"},
		{"help", []string{"help"}, 0, "demo", ""},
		{"-h", []string{"-h"}, 0, "demo", ""},
		{"an unknown command", []string{"dmeo"}, 2, "", `unknown command "dmeo"`},
		{"help of demo", []string{"demo", "-h"}, 0, "", "--dsn"},
		{"an unknown flag", []string{"demo", "--dns=x"}, 2, "", "flag provided but not defined"},
		{"an argument too many", []string{"demo", "now"}, 2, "", `unexpected argument "now"`},
		{"a server that is not there", []string{"demo", "--dsn", "host=/nowhere"}, 1, "", "does not take this connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), c.args, &stdout, &stderr)
			if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("code %d, stdout %q, stderr %q; want code %d, %q and %q in them",
					code, stdout.String(), stderr.String(), c.code, c.stdout, c.stderr)
			}
		})
	}
}

// TestSignal sends signals to a demo that works on a server of the user's.
func TestSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			dsn := pgtest.DSN(t)
			ctx, stop := untilSignal()
			defer stop()
			// The demo waits in its writing until the signal is on its way.
			r, w := io.Pipe()
			var stderr bytes.Buffer
			code := make(chan int)
			go func() {
				got := run(ctx, []string{"demo", "--short", "--dsn", dsn}, w, &stderr)
				w.Close()
				code <- got
			}()
			signalAt(t, r, "1. Browsing", sig)
			if got := <-code; got != exitInterrupted {
				t.Errorf("exit code %d, want %d", got, exitInterrupted)
			}
			if got := stderr.String(); got != "cachedpgx demo: interrupted\n" {
				t.Errorf("stderr %q", got)
			}
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			var left int
			err = conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'cachedpgx%'`).Scan(&left)
			if err != nil || left != 0 {
				t.Errorf("%d schemas are left, %v", left, err)
			}
		})
	}
}

// signalAt reads until it has seen a text, sends this process a signal, and then
// reads whatever comes.
func signalAt(t *testing.T, r io.Reader, text string, sig syscall.Signal) {
	t.Helper()
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), text) {
		n, err := r.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Fatalf("%q did not come: %v\n%s", text, err, seen.String())
		}
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(sig); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
}
