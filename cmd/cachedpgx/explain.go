package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/cachedpgx/cachedpgx/cmd/internal/explain"
)

// exitUncached is for --fail-uncached alone.
const exitUncached = 3

const explainHelp = `Usage: cachedpgx explain [--dsn DSN] [flags] 'SELECT …' …
       cachedpgx explain [--dsn DSN] [flags] --file F | -
       cachedpgx explain [--dsn DSN] [flags] --statements

Says of each statement whether cachedpgx caches it, and if not, every reason
and what can be done. It runs none of them and changes nothing at the server.

DSN is the one that the service opens "cachedpgx" with: role, search_path and
cache_ parameters count. A cache_config is in the service's code; leave it out.
Without --dsn it is what PGHOST, PGDATABASE and their kin say.

A statement given as an argument is taken as it is. A file's are told apart by
semicolons, as psql does; it has no psql commands, and no data of COPY. "-" is
the standard input.

--statements explains what the server's pg_stat_statements holds of this
database and role, the most costly first: what share of calls and time may be
served from memory, and what keeps the rest. It shows constants as $1, so a
word such as 'today' that bars a read may be hidden.

One statement is reported in full, several as a table; --json has all of it:

  server                PostgreSQL's version
  statements[]          text, line (of a file), kind, cacheable, verdict ("yes",
                        "if marked", "no"), reasons[] (code, detail, fix,
                        markable), relations[], writes[], all_writes, policy,
                        rule, notes[]; with --statements calls, total_ms,
                        rows, query_ids[]
  summary               explained, cacheable, if_marked, reads: each with
                        statements, and with --statements calls, total_ms, rows;
                        why_not[]: the same by code;
                        pg_stat_statements: all, hidden, since

Exit code: 0 when explained; 1 if that failed; 2 if used wrongly; 3 with
--fail-uncached, if a read is not cacheable or a statement not understood.

`

func runExplain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("cachedpgx explain", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), explainHelp, "Flags:\n")
		flags.PrintDefaults()
	}
	var opts explain.Options
	var file string
	flags.StringVar(&opts.DSN, "dsn", "", "the PostgreSQL `server`, in URL or keyword form, with the service's cache_ parameters")
	flags.StringVar(&file, "file", "", "explain the statements of this `file`; - is the standard input")
	flags.BoolVar(&opts.Workload, "statements", false, "explain what the server's pg_stat_statements holds")
	flags.IntVar(&opts.Limit, "limit", 200, "with --statements: at most so many, the most costly ones")
	flags.BoolVar(&opts.Everyone, "all-users", false, "with --statements: those of other roles, too")
	flags.BoolVar(&opts.JSON, "json", false, "print JSON")
	flags.BoolVar(&opts.FailUncached, "fail-uncached", false, "exit with 3 if a read is not cacheable")

	// Flags may stand behind statements as well.
	for rest := args; ; {
		switch err := flags.Parse(rest); {
		case errors.Is(err, flag.ErrHelp):
			return exitOK
		case err != nil:
			return exitUsage
		}
		if rest = flags.Args(); len(rest) == 0 {
			break
		}
		opts.Statements = append(opts.Statements, rest[0])
		rest = rest[1:]
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })

	wrong := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "cachedpgx explain: "+format+"\n", args...)
		return exitUsage
	}
	if len(opts.Statements) == 1 && opts.Statements[0] == "-" && !given["file"] {
		opts.Statements, file = nil, "-"
	}
	sources := 0
	for _, is := range []bool{len(opts.Statements) > 0, file != "", opts.Workload} {
		if is {
			sources++
		}
	}
	switch {
	case sources == 0:
		return wrong("nothing to explain: give it a statement, --file or --statements (-h says more)")
	case sources > 1:
		return wrong("give it statements, --file or --statements, and one of them only")
	case !opts.Workload && (given["limit"] || given["all-users"]):
		return wrong("--limit and --all-users go with --statements")
	case opts.Limit < 1:
		return wrong("--limit %d: at least 1", opts.Limit)
	}

	switch file {
	case "":
	case "-":
		opts.File = os.Stdin
	default:
		f, err := os.Open(file)
		if err != nil {
			fmt.Fprintf(stderr, "cachedpgx explain: %v\n", err)
			return exitFailed
		}
		defer f.Close()
		opts.File = f
	}
	opts.Out = stdout
	opts.Color = wantsColor(stdout)
	switch err := explain.Run(ctx, opts); {
	case err == nil:
		return exitOK
	case errors.Is(err, explain.ErrUncached):
		fmt.Fprintf(stderr, "cachedpgx explain: %v\n", err)
		return exitUncached
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "cachedpgx explain: interrupted\n")
		return exitInterrupted
	default:
		fmt.Fprintf(stderr, "cachedpgx explain: %v\n", err)
		return exitFailed
	}
}
