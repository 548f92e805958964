package cachedpgx

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// ask is a statement as it was asked.
type ask struct {
	text   string
	args   []driver.NamedValue // without what stands before them for pgx
	prep   preparation
	orders *orders // nil: nothing stood there, as nearly always

	// The arguments as they are sent, where their Go values are no key, and the
	// parameters' types: see AppendParams. "" where they are.
	params string
	oids   []uint32 // nil: pgx knows none in this mode
}

// orders are what pgx takes in front of the arguments: how to run a statement,
// and who rewrites it. They are copies; the caller may change its own.
type orders struct {
	mode      pgx.QueryExecMode // 0: the connection's
	positions pgx.QueryResultFormats
	byOID     *pgx.QueryResultFormatsByOID // nil: not ordered; a nil map is an order, too
	given     []any                        // in their order, but for rewriters

	rewriter  pgx.QueryRewriter
	text      string // before it was rewritten
	rewritten bool
}

// rewriting gives pgx the answer of a QueryRewriter in its place, so that the
// caller's own is asked once.
type rewriting struct {
	text string
	args []any
}

func (r *rewriting) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return r.text, r.args, nil
}

// leads says whether a first argument may be an order to pgx.
func leads(v any) bool {
	switch v.(type) {
	case nil, int, int64, int32, string, []byte, bool, float64, time.Time:
		return false
	case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID, pgx.QueryRewriter:
		return true
	}
	return false
}

// way is how a statement is run.
type way uint8

const (
	byQuery way = iota
	byExec      // pgx takes no result formats then
)

// takeOrders parts the orders to pgx from the arguments, as pgx does.
func (q *ask) takeOrders(by way) {
	o := &orders{text: q.text}
loop:
	for len(q.args) > 0 {
		switch v := q.args[0].Value.(type) {
		case pgx.QueryExecMode:
			o.mode = v
			o.given = append(o.given, v)
		case pgx.QueryResultFormats:
			if by == byExec {
				break loop
			}
			o.positions = slices.Clone(v)
			o.given = append(o.given, o.positions)
		case pgx.QueryResultFormatsByOID:
			if by == byExec {
				break loop
			}
			v = maps.Clone(v)
			o.byOID = &v
			o.given = append(o.given, v)
		case pgx.QueryRewriter:
			o.rewriter = v
		default:
			break loop
		}
		q.orders = o
		q.args = q.args[1:]
	}
}

// rewrite has the rewriter rewrite the statement. Its error is as pgx gives it.
func (q *ask) rewrite(ctx context.Context, pc *pgx.Conn) error {
	text, args, err := q.orders.rewriter.RewriteQuery(ctx, pc, q.text, appendValues([]any{}, q.args))
	if err != nil {
		if pgconn.SafeToRetry(err) {
			return driver.ErrBadConn
		}
		return fmt.Errorf("rewrite query failed: %w", err)
	}
	q.orders.rewritten = true
	if text != q.text {
		q.prep = direct // it is not what was prepared
	}
	q.text = text
	q.args = make([]driver.NamedValue, len(args))
	for i, v := range args {
		q.args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return nil
}

// asked gives the statement as the caller asked it, which pgx's tracers see, and
// the orders before its arguments but for rewriters.
func (q *ask) asked() (string, []any) {
	switch o := q.orders; {
	case o == nil:
		return q.text, nil
	case !o.rewritten:
		return q.text, o.given
	default:
		return o.text, o.given
	}
}

// words gives the text and the arguments to hand to pgx, with room for one in
// front. name is under which the statement is prepared, "" if it is not: a
// rewriter of ours tells pgx so, and its tracers see the text.
func (q *ask) words(name string) (string, []any) {
	text, before := q.asked()
	args := make([]any, 1, 2+len(before)+len(q.args))
	args = append(args, before...)
	switch {
	case name != "":
	case q.orders != nil && q.orders.rewritten:
		name = q.text
	default:
		return text, appendValues(args, q.args)
	}
	return text, append(args, &rewriting{name, appendValues([]any{}, q.args)})
}

func appendValues(to []any, args []driver.NamedValue) []any {
	for i := range args {
		to = append(to, args[i].Value)
	}
	return to
}

// formats says in which formats columns are asked for, as pgx does for stdlib,
// which asks for formats of its own first.
func (q *ask) formats(fields []pgconn.FieldDescription, stdlibs pgx.QueryResultFormatsByOID, m *pgtype.Map) []int16 {
	o := q.orders
	byOID := stdlibs
	if o != nil && o.byOID != nil {
		if byOID = *o.byOID; byOID == nil && o.positions != nil {
			return o.positions
		}
	}
	formats := make([]int16, len(fields))
	for i := range formats {
		if byOID == nil {
			formats[i] = m.FormatCodeForOID(fields[i].DataTypeOID)
			continue
		}
		formats[i] = byOID[fields[i].DataTypeOID]
	}
	return formats
}

// execMode is the mode that the caller ordered, 0 for the connection's own.
func (q *ask) execMode() pgx.QueryExecMode {
	if q.orders == nil {
		return 0
	}
	return q.orders.mode
}
