package cachedpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

func asked(values ...any) ask {
	q := ask{text: "SELECT @a"}
	for i, v := range values {
		q.args = append(q.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return q
}

// TestOrders parts orders from arguments as pgx does, which takes the last of
// each kind and stops at the first that is none.
func TestOrders(t *testing.T) {
	formats, byOID := pgx.QueryResultFormats{1}, pgx.QueryResultFormatsByOID{23: 1}
	names := pgx.NamedArgs{"a": 1}
	tests := []struct {
		name  string
		q     ask
		by    way
		args  []any
		given []any
		mode  pgx.QueryExecMode
	}{
		{"none", asked(1, "x"), byQuery, []any{1, "x"}, nil, 0},
		{"a mode", asked(pgx.QueryExecModeExec, 1), byQuery, []any{1}, []any{pgx.QueryExecModeExec}, pgx.QueryExecModeExec},
		{"all", asked(formats, pgx.QueryExecModeExec, byOID, names), byQuery, []any{}, []any{formats, pgx.QueryExecModeExec, byOID}, pgx.QueryExecModeExec},
		{"the last mode", asked(pgx.QueryExecModeExec, pgx.QueryExecModeDescribeExec), byQuery, []any{}, []any{pgx.QueryExecModeExec, pgx.QueryExecModeDescribeExec}, pgx.QueryExecModeDescribeExec},
		{"not in front", asked(1, pgx.QueryExecModeExec), byQuery, []any{1, pgx.QueryExecModeExec}, nil, 0},
		{"formats when nothing is to be read", asked(formats, 1), byExec, []any{formats, 1}, nil, 0},
		{"a mode when nothing is to be read", asked(pgx.QueryExecModeExec, formats), byExec, []any{formats}, []any{pgx.QueryExecModeExec}, pgx.QueryExecModeExec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.takeOrders(tt.by)
			if got := appendValues([]any{}, tt.q.args); !reflect.DeepEqual(got, tt.args) {
				t.Errorf("arguments %v, want %v", got, tt.args)
			}
			if tt.q.execMode() != tt.mode {
				t.Errorf("mode %v, want %v", tt.q.execMode(), tt.mode)
			}
			if _, before := tt.q.asked(); !reflect.DeepEqual(before, tt.given) {
				t.Errorf("orders %v, want %v", before, tt.given)
			}
		})
	}
}

// An order's memory is the caller's, who may change it while a load goes on.
func TestOrdersAreCopies(t *testing.T) {
	formats, byOID := pgx.QueryResultFormats{1}, pgx.QueryResultFormatsByOID{23: 1}
	q := asked(formats, byOID)
	q.takeOrders(byQuery)
	formats[0], byOID[23] = 0, 0
	if _, before := q.asked(); !reflect.DeepEqual(before, []any{pgx.QueryResultFormats{1}, pgx.QueryResultFormatsByOID{23: 1}}) {
		t.Errorf("the orders became %v", before)
	}
}

// TestRewriting hands pgx the answer of a rewriter, in its place.
func TestRewriting(t *testing.T) {
	q := asked(pgx.QueryExecModeExec, pgx.NamedArgs{"a": 7})
	q.takeOrders(byQuery)
	if err := q.rewrite(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if q.text != "SELECT $1" || len(q.args) != 1 || q.args[0].Value != 7 {
		t.Fatalf("rewritten to %q %v", q.text, q.args)
	}
	answerOf := func(args []any) *rewriting { return args[len(args)-1].(*rewriting) }
	text, args := q.words("")
	if a := answerOf(args); text != "SELECT @a" || a.text != "SELECT $1" || len(a.args) != 1 || len(args) != 3 {
		t.Errorf("pgx is given %q %v", text, args)
	}
	text, args = q.words("name")
	if a := answerOf(args); text != "SELECT @a" || a.text != "name" || len(a.args) != 1 || len(args) != 3 {
		t.Errorf("pgx is given %q %v for a prepared one", text, args)
	}

	q = asked(pgx.StrictNamedArgs{"b": 7})
	q.takeOrders(byQuery)
	_, _, want := pgx.StrictNamedArgs{"b": 7}.RewriteQuery(context.Background(), nil, "SELECT @a", nil)
	if err := q.rewrite(context.Background(), nil); err == nil || err.Error() != "rewrite query failed: "+want.Error() {
		t.Errorf("error %v", err)
	}
}

// Everything that pgx is told of how to run a statement is part of its key.
func TestKeysOfDifferentOrdersDiffer(t *testing.T) {
	text := pgx.QueryResultFormatsByOID{}
	orders := [][]any{
		nil,
		{pgx.QueryExecModeExec}, {pgx.QueryExecModeSimpleProtocol}, {pgx.QueryExecModeCacheDescribe},
		{pgx.QueryResultFormats{}}, {pgx.QueryResultFormats{0}}, {pgx.QueryResultFormats{1}}, {pgx.QueryResultFormats{1, 1}}, {pgx.QueryResultFormats{256}},
		{text}, {pgx.QueryResultFormatsByOID(nil)}, {pgx.QueryResultFormatsByOID{23: 1}}, {pgx.QueryResultFormatsByOID{23: 0}}, {pgx.QueryResultFormatsByOID{25: 1}},
		{pgx.QueryResultFormats{1}, text}, {pgx.QueryExecModeExec, text},
	}
	seen := map[string]any{}
	for _, given := range orders {
		for _, wire := range []bool{false, true} {
			q := asked(given...)
			q.takeOrders(byQuery)
			key := string(appendHead(nil, keyHead{scope: 1, statement: 2, orders: q.orders, wire: wire}))
			if other, ok := seen[key]; ok {
				t.Errorf("%v and %v have one key", given, other)
			}
			seen[key] = given
		}
	}
}

// What leads on the way of every call must know each of pgx's orders, and take
// no ordinary argument for one.
func TestLeads(t *testing.T) {
	for _, v := range []any{pgx.QueryExecModeExec, pgx.QueryResultFormats(nil), pgx.QueryResultFormatsByOID(nil), pgx.NamedArgs(nil), pgx.StrictNamedArgs{}, pgx.StructArgs(1)} {
		if !leads(v) {
			t.Errorf("%T does not", v)
		}
	}
	for _, v := range []any{nil, 1, "x", []byte{1}, true, 1.5, int32(7), sql.NullString{}, []int16{1}, map[uint32]int16{}, pgtype.Int4{}} {
		if leads(v) {
			t.Errorf("%T does", v)
		}
	}
}

// TestErrorsOfWaiters gives whoever waits for a load what pgx would, and nobody
// another's memory.
func TestErrorsOfWaiters(t *testing.T) {
	late := callersEnd(context.DeadlineExceeded)
	if !pgconn.Timeout(late) || !errors.Is(late, context.DeadlineExceeded) || late.Error() != "timeout: context deadline exceeded" {
		t.Errorf("%v: pgconn.Timeout is %v", late, pgconn.Timeout(late))
	}
	if err := callersEnd(context.Canceled); err != context.Canceled || pgconn.Timeout(err) {
		t.Errorf("%v", err)
	}
	var other *pgconn.PgError
	if errors.As(late, &other) {
		t.Error("it is any error of pgconn's")
	}
	shared := &pgconn.PgError{Code: "22012", Message: "division by zero"}
	own := ownError(shared)
	if !errors.As(own, &other) || other == shared || !reflect.DeepEqual(other, shared) {
		t.Errorf("%v", own)
	}
	if plain := errors.New("x"); ownError(plain) != plain || ownError(nil) != nil {
		t.Error("another error is not itself")
	}
}
