// Package demo runs one repository twice, with the driver pgx and with the
// driver cachedpgx, compares what each cost the server, and checks what it says
// about them: a claim that does not hold is an error.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cachedpgx/cachedpgx/cmd/internal/shop"
)

// Options of a run. Only Out is needed.
type Options struct {
	// DSN is a server to use, in URL or keyword form. Nothing is left there.
	// Empty: one is found or started.
	DSN string
	// Out gets the report.
	Out io.Writer
	// Color allows escape sequences in the report.
	Color bool
	// Short does a fraction of the work.
	Short bool
	// Logf hears of what takes its time, such as a download. May be nil.
	Logf func(format string, args ...any)
}

// size is how much a run does.
type size struct {
	workers      int
	reads        int           // browsing
	mixed        int           // the same with writes
	storm        int           // readers of one key
	patience     time.Duration // how long each of them waits
	expiryTTL    time.Duration
	expiryFor    time.Duration // how long the readers go on asking
	expiryPause  time.Duration // between two questions of one reader
	unknown      int           // questions for an id that is not there
	poolMaxConns int           // sql.DB.SetMaxOpenConns, as services set it
}

func sizeOf(short bool) size {
	s := size{
		workers:      8,
		reads:        20_000,
		mixed:        8_000,
		storm:        500,
		patience:     4 * time.Second,
		expiryTTL:    time.Second,
		expiryFor:    3500 * time.Millisecond,
		expiryPause:  20 * time.Millisecond,
		unknown:      1000,
		poolMaxConns: 16,
	}
	if short {
		s.reads /= 10
		s.mixed /= 4
		s.patience = 2 * time.Second
		s.expiryFor = 2500 * time.Millisecond
	}
	return s
}

// run is one run's state, handed from section to section.
type run struct {
	size   size
	srv    *server
	report *report

	bought outcome // of manyWrites with cachedpgx
}

// Run runs the demo. An error that says which claims did not hold comes after
// the whole report. It cleans up behind itself, also when ctx ends.
func Run(ctx context.Context, opts Options) error { return runSized(ctx, opts, sizeOf(opts.Short)) }

func runSized(ctx context.Context, opts Options, size size) error {
	began := time.Now()
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	srv, err := openServer(ctx, opts)
	if err != nil {
		return err
	}
	r := &run{size: size, srv: srv, report: newReport(opts.Out, opts.Color)}
	err = r.sections(ctx)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // whatever it broke off is of no interest
	}
	gone, closeErr := srv.close(ctx)
	if err = errors.Join(err, closeErr); err != nil {
		return err
	}
	return r.report.verdict(time.Since(began), gone)
}

func (r *run) sections(ctx context.Context) error {
	r.report.title("cachedpgx demo", `one repository, run with sql.Open("pgx", dsn) and with sql.Open("cachedpgx", dsn)`)
	loadTook, err := r.srv.reload(ctx)
	if err != nil {
		return err
	}
	r.report.facts([][2]string{
		{"server", r.srv.about},
		{"data", fmt.Sprintf("a shop: %s customers, %s products, %s orders of %s lines, %s reviews; loaded in %s",
			number(shop.Customers), number(shop.Products), number(shop.Orders), number(shop.OrderItems),
			number(shop.Reviews), duration(loadTook))},
		{"counted", r.srv.counter.about()},
	})
	for _, section := range []func(context.Context) error{
		r.browsing,
		r.fewWrites,
		r.manyWrites,
		r.storms,
		r.expiry,
		r.freshPrice,
		r.unknownID,
		r.bypasses,
	} {
		if err := section(ctx); err != nil {
			return err
		}
		if err := r.report.w.err; err != nil {
			return fmt.Errorf("printing the report: %w", err)
		}
	}
	return nil
}

// OnlyInterrupted reports whether err says no more than that the run's context
// ended: everything was cleaned up.
func OnlyInterrupted(err error) bool {
	var cleanup *cleanupError
	return errors.Is(err, context.Canceled) && !errors.As(err, &cleanup)
}
