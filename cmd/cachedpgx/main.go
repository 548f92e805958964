// Command cachedpgx shows what the driver cachedpgx does.
//
//	cachedpgx demo [--dsn DSN]
//	cachedpgx explain [--dsn DSN] [flags] STATEMENT … | --file F | --statements
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// A command is one word after the program's name. run returns the exit code.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands in the order that help lists them. A further one is a further line.
var commands = []command{
	{"demo", "run one small shop twice, with pgx and with cachedpgx, and compare", runDemo},
	{"explain", "say which statements are cached, and why the others are not", runExplain},
}

func main() {
	ctx, stop := untilSignal()
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// untilSignal gives a context that ends when the user wants the program to end.
// A second signal then ends it at once.
func untilSignal() (context.Context, context.CancelFunc) {
	// A closed terminal or pipe (… | head) is the user's leave, too, and what
	// was made on a server is removed all the same. With SIGPIPE ignored, a
	// write to a closed pipe is an error and not the end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout)
		return exitOK
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		fmt.Fprintf(stderr, "cachedpgx: unknown command %q\n\n", args[0])
		usage(stderr)
		return exitUsage
	}
	return commands[i].run(ctx, args[1:], stdout, stderr)
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: cachedpgx <command> [flags]\n\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "  %-8s %s\n", "help", "print this")
	fmt.Fprint(w, "\nFlags of a command: cachedpgx <command> -h\n")
}
