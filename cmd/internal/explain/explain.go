// Package explain asks a cachedpgx handle, statement by statement, whether it
// caches them, and reports that to people or to programs. It runs none of them.
package explain

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Options of a run. Out, and one of Statements, File and Workload, are needed.
type Options struct {
	// DSN is what the service opens "cachedpgx" with, cache_ parameters and
	// all. Empty: what PGHOST and its kin say.
	DSN string

	// Statements are explained each as it is, as a driver would be given them.
	Statements []string
	// File is read to its end and cut into statements. May be nil.
	File io.Reader
	// Workload takes the statements of the server's pg_stat_statements, the
	// Limit most costly ones. Everyone includes those of other roles.
	Workload bool
	Limit    int
	Everyone bool

	// JSON makes the report one JSON object; see Report.
	JSON bool
	// Color allows escape sequences in a report for people.
	Color bool
	// FailUncached makes Run return ErrUncached if a read is not cacheable.
	FailUncached bool

	// Out gets the report.
	Out io.Writer
}

// ErrUncached says that a read is not cacheable. It comes after the whole
// report.
var ErrUncached = errors.New("not every read is cacheable")

// result is what is known of one statement.
type result struct {
	statement
	kind sqlscan.Class
	cachedpgx.Explanation
	ids []int64
	cost
}

// isRead reports whether somebody may hope that it is cached. What is not
// understood may be a read.
func (r *result) isRead() bool { return r.kind == sqlscan.ClassRead || r.kind == sqlscan.ClassUnknown }

// The verdicts.
const (
	verdictYes    = "yes"
	verdictMarked = "if marked" // only time is in its way
	verdictNo     = "no"
)

// verdict is the answer in a word.
func (r *result) verdict() string {
	switch {
	case r.Cacheable:
		return verdictYes
	case len(r.Reasons) > 0 && !slices.ContainsFunc(r.Reasons, func(why cachedpgx.Reason) bool { return !why.Markable }):
		return verdictMarked
	}
	return verdictNo
}

func (r *result) kindName() string {
	switch r.kind {
	case sqlscan.ClassEmpty:
		return "empty"
	case sqlscan.ClassRead:
		return "read"
	case sqlscan.ClassShow:
		return "show"
	case sqlscan.ClassWrite:
		return "write"
	case sqlscan.ClassLock:
		return "lock"
	case sqlscan.ClassTx:
		return "transaction"
	case sqlscan.ClassSession:
		return "session"
	case sqlscan.ClassDDL:
		return "ddl"
	}
	return "unknown"
}

// results is all that a run found.
type results struct {
	server   string // its version
	list     []result
	workload *workload // nil: statements were given
}

// Run explains what the options name. Its errors hold no password: both
// readers of a DSN leave it out of theirs.
func Run(ctx context.Context, opts Options) error {
	all, err := ask(ctx, opts)
	if err != nil {
		return err
	}
	if opts.JSON {
		err = writeJSON(opts.Out, all)
	} else {
		err = writeText(opts.Out, all, opts.Color)
	}
	if err != nil {
		return fmt.Errorf("printing the report: %w", err)
	}
	uncached := func(r result) bool { return r.isRead() && !r.Cacheable }
	if opts.FailUncached && slices.ContainsFunc(all.list, uncached) {
		return ErrUncached
	}
	return nil
}

// open is sql.Open("cachedpgx", dsn), but for the log: what would be warned of is
// in the report.
func open(dsn string) (*sql.DB, error) {
	pgxDSN, cfg, err := cachedpgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	inner, err := stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(pgxDSN)
	if err != nil {
		return nil, err
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	return cachedpgx.OpenDB(inner, cfg)
}

func ask(ctx context.Context, opts Options) (_ *results, err error) {
	all := &results{}
	for _, text := range opts.Statements {
		all.list = append(all.list, result{statement: statement{text: text}})
	}
	if opts.File != nil {
		text, err := io.ReadAll(opts.File)
		if err != nil {
			return nil, err
		}
		for _, s := range split(strings.TrimPrefix(string(text), "\ufeff")) {
			all.list = append(all.list, result{statement: s})
		}
		if len(all.list) == 0 {
			return nil, errors.New("there is no statement in it")
		}
	}

	db, err := open(opts.DSN)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	cache, ok := cachedpgx.CacheOf(db)
	if !ok {
		return nil, errors.New("the handle has no cache")
	}
	// For the report, and to tell a server that can't be reached from all else.
	err = cache.Server().QueryRowContext(ctx, "SHOW server_version").Scan(&all.server)
	var unread *pgconn.ParseConfigError
	switch {
	case errors.As(err, &unread):
		return nil, fmt.Errorf("the DSN can't be read: %w", unread)
	case err != nil:
		return nil, fmt.Errorf("the server does not take this connection: %w", err)
	}
	if opts.Workload {
		if all.workload, err = readWorkload(ctx, cache.Server(), opts.Limit, opts.Everyone); err != nil {
			return nil, err
		}
		for _, q := range all.workload.queries {
			all.list = append(all.list, result{statement: statement{text: q.text}, ids: q.ids, cost: q.cost})
		}
	}
	for i := range all.list {
		r := &all.list[i]
		text := r.text
		if opts.Workload {
			text = readable(text)
		}
		r.kind = sqlscan.Scan(text).Class
		if r.Explanation, err = cache.Explain(ctx, text); err != nil {
			return nil, fmt.Errorf("explaining %q: %w", oneLine(r.text, 60), err)
		}
		if opts.Workload && r.kind != sqlscan.ClassRead {
			r.text = withoutSecrets(r.text)
		}
	}
	return all, nil
}

// withoutSecrets is a text without its literals if it is about passwords. The
// server keeps the constants of what is neither a read nor a write.
func withoutSecrets(text string) string {
	if !strings.Contains(strings.ToLower(text), "password") {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		t := nextToken(text, at)
		if t.kind == tokenLiteral && text[at] != '"' {
			b.WriteString("'…'")
		} else {
			b.WriteString(text[at:t.end])
		}
		at = t.end
	}
	return b.String()
}

// oneLine is a text on one line, without comments that are no hints, cut at so
// many characters.
func oneLine(text string, most int) string {
	var b strings.Builder
	space := false
	for at := 0; at < len(text); {
		t := nextToken(text, at)
		if t.kind == tokenSpace && !strings.Contains(text[at:t.end], "cachedpgx:") {
			space = b.Len() > 0
		} else {
			if space {
				b.WriteByte(' ')
				space = false
			}
			for _, field := range strings.FieldsFunc(text[at:t.end], isControl) {
				b.WriteString(field)
			}
		}
		at = t.end
	}
	runes := []rune(b.String())
	if len(runes) > most {
		return string(runes[:max(0, most-1)]) + "…"
	}
	return string(runes)
}

// isControl reports what a terminal would act on.
func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// group is one reason and all that it keeps from the cache.
type group struct {
	code cachedpgx.ReasonCode
	cost
}

// whyNot groups the statements that are not cached by reason. One with several
// reasons is in several groups.
func (all *results) whyNot() []group {
	var groups []group
	for _, r := range all.list {
		var seen []cachedpgx.ReasonCode
		for _, why := range r.Reasons {
			if slices.Contains(seen, why.Code) {
				continue
			}
			seen = append(seen, why.Code)
			i := slices.IndexFunc(groups, func(g group) bool { return g.code == why.Code })
			if i < 0 {
				i = len(groups)
				groups = append(groups, group{code: why.Code})
			}
			groups[i].add(r.weight())
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		if a.time != b.time {
			return cmp.Compare(b.time, a.time)
		}
		return cmp.Compare(b.statements, a.statements)
	})
	return groups
}

// weight is a statement's cost, as one statement.
func (r *result) weight() cost {
	c := r.cost
	c.statements = 1
	return c
}

// sum adds up the statements of which is says yes.
func (all *results) sum(is func(*result) bool) (c cost) {
	for i := range all.list {
		if r := &all.list[i]; is(r) {
			c.add(r.weight())
		}
	}
	return c
}
