package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
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
		{"explain is listed", []string{"help"}, 0, "explain", ""},
		{"help of explain", []string{"explain", "-h"}, 0, "", "--statements"},
		{"explain nothing", []string{"explain", "--json"}, 2, "", "nothing to explain"},
		{"explain two kinds of things", []string{"explain", "SELECT 1", "--statements"}, 2, "", "one of them only"},
		{"explain with a limit of what", []string{"explain", "--limit=5", "SELECT 1"}, 2, "", "go with --statements"},
		{"explain with a limit of none", []string{"explain", "--limit=0", "--statements"}, 2, "", "at least 1"},
		{"explain a file that is not there", []string{"explain", "--file=/nowhere"}, 1, "", "/nowhere"},
		{"explain with an unknown flag", []string{"explain", "SELECT 1", "--jsno"}, 2, "", "flag provided but not defined"},
		{"explain at no server", []string{"explain", "--dsn=host=/nowhere", "SELECT 1"}, 1, "", "does not take this connection"},
		{"explain with no DSN", []string{"explain", "--dsn=postgres://u:geheim@h:x/d", "SELECT 1"}, 1, "", "the DSN can't be read"},
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

func TestExplain(t *testing.T) {
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE TABLE item (id int, name text)`); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "statements.sql")
	if err := os.WriteFile(file, []byte("SELECT id FROM item;\nDELETE FROM item;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const read, random = "SELECT name FROM item WHERE id = $1", "SELECT random() FROM item"
	for _, c := range []struct {
		name           string
		args           []string
		stdin          string
		code           int
		stdout, stderr string
	}{
		{"a read", []string{read}, "", 0, "cached      yes", ""},
		{"flags behind statements", []string{read, random, "--json", "--fail-uncached"}, "", 3, `"volatile-function"`, "not every read"},
		{"all reads are cacheable", []string{"--fail-uncached", read, "DELETE FROM item"}, "", 0, "1 cacheable", ""},
		{"a file", []string{"--file", file}, "", 0, "   2  no", ""},
		{"the standard input", []string{"-"}, "SELECT 1 FROM item; SELECT ';' FROM item", 0, "2 cacheable", ""},
		{"the standard input as a file", []string{"--file=-"}, "SELECT 1 FROM item; SELECT 2 FROM item", 0, "2 cacheable", ""},
		{"no statement in it", []string{"-"}, "-- none", 1, "", "no statement"},
		{"no pg_stat_statements", []string{"--statements"}, "", 1, "", "CREATE EXTENSION"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := filepath.Join(t.TempDir(), "stdin")
			if err := os.WriteFile(in, []byte(c.stdin), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			stdin := os.Stdin
			os.Stdin = f
			defer func() { os.Stdin = stdin }()

			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"explain", "--dsn", dsn}, c.args...), &stdout, &stderr)
			if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) ||
				c.stderr == "" && stderr.Len() > 0 {
				t.Errorf("code %d, stdout %q, stderr %q; want code %d, %q and %q in them",
					code, stdout.String(), stderr.String(), c.code, c.stdout, c.stderr)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr bytes.Buffer
		if code := run(ctx, []string{"explain", "--dsn", dsn, read}, &stdout, &stderr); code != exitInterrupted {
			t.Errorf("code %d, stderr %q; want %d", code, stderr.String(), exitInterrupted)
		}
	})
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
