package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/cachedpgx/cachedpgx/cmd/internal/demo"
)

const demoHelp = `Usage: cachedpgx demo [--dsn DSN]

Runs an ordinary repository twice, with sql.Open("pgx", dsn) and with
sql.Open("cachedpgx", dsn), and prints what each of them cost the server. It
takes about half a minute.

Without --dsn it takes the server that CACHEDPGX_TEST_DSN names, or starts one
for itself: from local server binaries, else in a container, else from binaries
that it downloads.

With --dsn it works on that server, in a schema of its own with a random name,
which it drops at its end, also on Ctrl-C. The role needs CREATE on the
database. Expect half a minute of load and at most 50 connections.

Exit code: 0, or 1 if it failed or something that it claims did not hold.

`

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("cachedpgx demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), demoHelp, "Flags:\n")
		flags.PrintDefaults()
	}
	var opts demo.Options
	flags.StringVar(&opts.DSN, "dsn", "", "a PostgreSQL server to use, in URL or keyword form; nothing is left there")
	flags.BoolVar(&opts.Short, "short", false, "do a fraction of the work")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "cachedpgx demo: unexpected argument %q\n", flags.Arg(0))
		return exitUsage
	}

	opts.Out = stdout
	opts.Color = wantsColor(stdout)
	opts.Logf = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	switch err := demo.Run(ctx, opts); {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "cachedpgx demo: interrupted\n")
		// What could not be cleaned up is part of the error, and the user must know.
		if !demo.OnlyInterrupted(err) {
			fmt.Fprintf(stderr, "%v\n", err)
		}
		return exitInterrupted
	default:
		fmt.Fprintf(stderr, "cachedpgx demo: %v\n", err)
		return exitFailed
	}
}

// wantsColor reports whether w is a terminal whose user has not asked for plain
// text (no-color.org).
func wantsColor(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
