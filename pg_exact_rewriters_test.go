package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestPGExactNamedArgs asks by name. What is asked is what the names are
// rewritten to. Kinds 3 and 14.
func TestPGExactNamedArgs(t *testing.T) {
	type args = pgx.NamedArgs
	type strict = pgx.StrictNamedArgs
	const two = "SELECT id, @a::text AS a, @b::text AS b FROM exact_k WHERE id = 1"
	families := []exactFamily{
		{name: "values that change places", text: two, asks: func() [][]any {
			return [][]any{{args{"a": "x", "b": "y"}}, {args{"b": "y", "a": "x"}}, {args{"a": "y", "b": "x"}}, {strict{"a": "x", "b": "y"}}, {strict{"a": "y", "b": "x"}}, {args{"a": "xy", "b": ""}}}
		}},
		{name: "the same values under other names", text: two, asks: func() [][]any {
			return [][]any{{args{"a": "x", "b": "y"}}, {args{"a": "x", "c": "y"}}, {args{"A": "x", "B": "y"}}, {args{"c": "x", "d": "y"}}, {args{"a": "x"}}, {args{"b": "x"}}}
		}},
		{name: "missing and surplus", text: two, asks: func() [][]any {
			return [][]any{{args{}}, {args(nil)}, {args{"a": nil, "b": nil}}, {args{"a": "", "b": ""}}, {args{"a": "x", "b": "y", "c": "z"}}, {strict{"a": "x", "b": "y", "c": "z"}}, {strict{"a": "x"}},
				{strict{"b": "y"}}, {}, {"x", "y"}, {args{"a": "x"}, "y"}, {nil}}
		}},
		{name: "types by name", text: "SELECT id, t FROM exact_k WHERE id = @id", asks: func() [][]any {
			return [][]any{{args{"id": 1}}, {args{"id": "1"}}, {args{"id": true}}, {args{"id": nil}}, {args{"id": exactInt(2)}}, {args{"id": exactPtr(3)}}, {args{"id": sql.NullInt64{Int64: 2, Valid: true}}},
				{args{"id": args{"id": 1}}}, {strict{"id": 2}}}
		}},
		{name: "a name used twice", text: "SELECT id, @a::int4 AS a, @b::int4 AS b, @a::int4 AS c FROM exact_k WHERE id = 1", asks: func() [][]any {
			return [][]any{{args{"a": 1, "b": 2}}, {args{"a": 2, "b": 1}}, {args{"a": 1, "b": 1}}, {args{"a": 2, "b": 2}}}
		}},
		{name: "names in literals", text: "SELECT id, '@a' AS a, @a::text AS b, \"t\" AS \"@a\" FROM exact_k WHERE id = 1 -- @b\n", asks: func() [][]any {
			return [][]any{{args{"a": "x"}}, {args{"a": "y"}}, {strict{"a": "x"}}, {strict{"a": "x", "b": "y"}}}
		}},
		{name: "of a struct", text: two, asks: func() [][]any {
			type row struct {
				A string `db:"a"`
				B string `db:"b"`
			}
			return [][]any{{pgx.StructArgs(row{"x", "y"})}, {pgx.StructArgs(&row{"y", "x"})}, {pgx.StrictStructArgs(row{"x", "y"})}, {pgx.StructArgs(1)}}
		}},
		{name: "with options", text: "SELECT id, @a::int4 AS a FROM exact_k WHERE id = 1", asks: func() [][]any {
			var all [][]any
			for _, a := range []any{1, 2, "1"} {
				all = append(all, []any{args{"a": a}, pgx.QueryExecModeExec}, []any{pgx.QueryExecModeExec, args{"a": a}}, []any{pgx.QueryExecModeSimpleProtocol, args{"a": a}},
					[]any{args{"a": a}, pgx.QueryResultFormats{0}}, []any{pgx.QueryResultFormats{0}, args{"a": a}, pgx.QueryExecModeDescribeExec}, []any{args{"a": 3}, args{"a": a}}, []any{args{"a": a}, args{"a": 3}})
			}
			return all
		}},
	}
	dsn := newPG(t, exactSchema).dsn
	for _, mode := range []string{"cache_statement", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
			for _, f := range families {
				t.Run(f.name, func(t *testing.T) { e.on(t).exactRunFamily(f, mode != "cache_statement") })
			}
		})
	}
	t.Run("writes", func(t *testing.T) {
		// A write by name is a write.
		e := newPGOn(t, dsn, "")
		const read = "SELECT id, t FROM exact_k WHERE id = @id"
		for i, write := range []func(v string) error{
			func(v string) error {
				_, err := e.db.ExecContext(e.ctx, "UPDATE exact_k SET t = @t WHERE id = @id", args{"id": 1, "t": v})
				return err
			},
			func(v string) error {
				return e.db.QueryRowContext(e.ctx, "UPDATE exact_k SET t = @t WHERE id = @id RETURNING id", strict{"id": 1, "t": v}).Scan(new(int))
			},
			func(v string) error {
				_, err := e.db.ExecContext(e.ctx, "UPDATE exact_k SET t = @t WHERE id = @id", pgx.QueryExecModeSimpleProtocol, args{"id": 1, "t": v})
				return err
			},
		} {
			e.same("before", read, args{"id": 1})
			e.same("before", read, args{"id": 1})
			if err := write(fmt.Sprint("written ", i)); err != nil {
				t.Fatal(err)
			}
			if got := pgAsk(e.ctx, e.db, read, args{"id": 1}); len(got.Rows) != 1 || got.Rows[0][1] != fmt.Sprintf("string(%q)", fmt.Sprint("written ", i)) {
				t.Errorf("write %d by name is not seen: %v", i, got)
			}
		}
	})
}

// TestPGExactOptions asks with pgx's own options before the arguments. Kinds 3
// and 14.
func TestPGExactOptions(t *testing.T) {
	modes := []any{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
	const zoo = "SELECT id, bo, i2, f8, n, by, da, ts, iv, uu, js, jb, ine, ia, ra, pt FROM exact_k JOIN zoo USING (id) ORDER BY id"
	families := []exactFamily{
		{name: "modes, a type left open", text: "SELECT id, $1 AS v FROM exact_k WHERE id = 1", asks: func() (all [][]any) {
			for _, arg := range []any{1, "1", true, []byte("1"), 1.5} {
				for _, mode := range modes {
					all = append(all, []any{mode, arg})
				}
				all = append(all, []any{arg}, []any{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, arg}, []any{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, arg})
			}
			return append(all, []any{pgx.QueryExecMode(99), 1}, []any{1, pgx.QueryExecModeExec}, []any{pgx.QueryExecModeExec})
		}},
		{name: "modes, a type that is known", text: exactEcho("int4"), asks: func() (all [][]any) {
			for _, arg := range []any{1, 2, "1", nil, exactInt(2), exactLevel(2)} {
				for _, mode := range modes {
					all = append(all, []any{mode, arg})
				}
			}
			return all
		}},
		{name: "modes, no arguments", text: "SELECT id, t, at FROM exact_k ORDER BY id", alike: true, asks: func() (all [][]any) {
			for _, mode := range modes {
				all = append(all, []any{mode})
			}
			return append(all, []any{}, []any{pgx.QueryResultFormats{1}}, []any{pgx.QueryResultFormats{0}})
		}},
		{name: "formats", text: zoo, asks: func() [][]any {
			all16 := func(f int16) pgx.QueryResultFormats {
				fs := make(pgx.QueryResultFormats, 16)
				for i := range fs {
					fs[i] = f
				}
				return fs
			}
			alternate := all16(0)
			for i := range alternate {
				alternate[i] = int16(i % 2)
			}
			return [][]any{{}, {pgx.QueryResultFormats{0}}, {pgx.QueryResultFormats{1}}, {all16(0)}, {all16(1)}, {alternate}, {pgx.QueryResultFormats{}}, {pgx.QueryResultFormats(nil)}, {pgx.QueryResultFormats{0, 1}},
				{pgx.QueryResultFormats{7}}, {pgx.QueryResultFormatsByOID{}}, {pgx.QueryResultFormatsByOID(nil)}, {pgx.QueryResultFormatsByOID{pgtype.Int4OID: 0}}, {pgx.QueryResultFormatsByOID{pgtype.Int4OID: 1}},
				{pgx.QueryResultFormatsByOID{pgtype.JSONBOID: 1, pgtype.NumericOID: 1}}, {pgx.QueryResultFormatsByOID{pgtype.NumericOID: 1, pgtype.JSONBOID: 1}}, {pgx.QueryResultFormatsByOID{pgtype.NumericOID: 1, pgtype.JSONBOID: 0}},
				{pgx.QueryResultFormats{0}, pgx.QueryResultFormatsByOID{pgtype.Int4OID: 1}}, {pgx.QueryResultFormatsByOID{pgtype.ByteaOID: 0}, pgx.QueryResultFormats{1}}, {pgx.QueryResultFormats{1}, pgx.QueryResultFormats{0}},
				{pgx.QueryExecModeExec, pgx.QueryResultFormats{1}}, {pgx.QueryResultFormats{1}, pgx.QueryExecModeSimpleProtocol}, {pgx.QueryExecModeSimpleProtocol}}
		}},
	}
	dsn := newPG(t, exactSchema+pgZoo).dsn
	for _, mode := range []string{"cache_statement", "cache_describe", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
			for _, f := range families {
				f.alike = f.alike || mode != "cache_statement" // the simple protocol knows one format
				t.Run(f.name, func(t *testing.T) { e.on(t).exactRunFamily(f, mode != "cache_statement") })
			}
		})
	}
}

type exactTenantKey struct{}

// exactRewriter asks another question than the one that is written.
type exactRewriter struct {
	asked *atomic.Int64
	f     func(ctx context.Context, conn *pgx.Conn, text string, args []any) (string, []any, error)
}

func (r exactRewriter) RewriteQuery(ctx context.Context, conn *pgx.Conn, text string, args []any) (string, []any, error) {
	if r.asked != nil {
		r.asked.Add(1)
	}
	return r.f(ctx, conn, text, args)
}

// TestPGExactRewriters asks through rewriters of the test's own: what they
// rewrite to is what is asked, judged and kept. Kinds 3, 5 and 14.
func TestPGExactRewriters(t *testing.T) {
	schema := exactSchema + `
		CREATE TABLE tenant_a (id int PRIMARY KEY, t text); INSERT INTO tenant_a VALUES (1, 'of a');
		CREATE TABLE tenant_b (id int PRIMARY KEY, t text); INSERT INTO tenant_b VALUES (1, 'of b');
		CREATE SEQUENCE seq`
	dsn := newPG(t, schema).dsn
	// byArgument takes the table from the first argument.
	byArgument := func() exactRewriter {
		return exactRewriter{f: func(_ context.Context, _ *pgx.Conn, text string, args []any) (string, []any, error) {
			return strings.ReplaceAll(text, "TENANT", "tenant_"+args[0].(string)), args[1:], nil
		}}
	}
	const text = "SELECT t FROM TENANT WHERE id = $1"
	t.Run("to another table by an argument", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		for range 3 {
			for _, tenant := range []string{"a", "b"} {
				if got := e.one(e.db, text, byArgument(), tenant, 1); got != fmt.Sprintf("string(%q)", "of "+tenant) {
					t.Errorf("tenant %s was given %s", tenant, got)
				}
			}
		}
		for _, tenant := range []string{"a", "b"} {
			sent := strings.ReplaceAll(text, "TENANT", "tenant_"+tenant)
			if n := e.calls(sent, func() { e.one(e.db, text, byArgument(), tenant, 1) }); n != 0 {
				t.Errorf("NOT CACHED: what is rewritten to %s made %d calls at the server", sent, n)
			}
			// What the server can't tell apart from the same, not rewritten.
			e.same("not rewritten", sent, 1)
		}
		for _, tenant := range []string{"a", "b"} {
			// What is written to the table that it reads voids it.
			e.must(e.db, "UPDATE tenant_"+tenant+" SET t = t || ', changed'")
			if got := e.one(e.db, text, byArgument(), tenant, 1); got != fmt.Sprintf("string(%q)", "of "+tenant+", changed") {
				t.Errorf("after a write tenant %s was given %s", tenant, got)
			}
			e.must(e.db, "UPDATE tenant_"+tenant+" SET t = 'of "+tenant+"'")
		}
	})
	t.Run("by the caller's context", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		r := exactRewriter{f: func(ctx context.Context, _ *pgx.Conn, text string, args []any) (string, []any, error) {
			tenant, _ := ctx.Value(exactTenantKey{}).(string)
			return strings.ReplaceAll(text, "TENANT", "tenant_"+tenant), args, nil
		}}
		for range 3 {
			for _, tenant := range []string{"a", "b"} {
				ctx := context.WithValue(e.ctx, exactTenantKey{}, tenant)
				if got := pgAsk(ctx, e.db, text, r, 1); len(got.Rows) != 1 || got.Rows[0][0] != fmt.Sprintf("string(%q)", "of "+tenant) {
					t.Errorf("tenant %s was given %v", tenant, got)
				}
			}
		}
	})
	t.Run("asked once a call", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		for _, db := range []*sql.DB{e.plain, e.db} {
			var asked atomic.Int64
			r := byArgument()
			r.asked = &asked
			for i := range 4 {
				e.one(db, text, r, "a", 1)
				if n := asked.Load(); n != int64(i+1) {
					t.Errorf("after %d calls through %T the rewriter was asked %d times", i+1, db.Driver(), n)
				}
			}
		}
	})
	t.Run("uses the connection that it is given", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		r := exactRewriter{f: func(_ context.Context, conn *pgx.Conn, text string, args []any) (string, []any, error) {
			if conn == nil {
				return "", nil, errors.New("a rewriter was given no connection")
			}
			if _, ok := conn.TypeMap().TypeForName("int4"); !ok {
				return "", nil, errors.New("a rewriter was given a connection without types")
			}
			return strings.ReplaceAll(text, "TENANT", "tenant_a"), append(args, len(conn.Config().Database)), nil
		}}
		for range 3 {
			e.same("by the connection's configuration", "SELECT t, $1::int4 FROM TENANT", r)
		}
	})
	t.Run("errors and odd results", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		own := errors.New("a rewriter's own error")
		for name, r := range map[string]exactRewriter{
			"an error":      {f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { return "", nil, own }},
			"an empty text": {f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { return "", nil, nil }},
			"a broken text": {f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { return "SELEC", nil, nil }},
			"options in its args": {f: func(_ context.Context, _ *pgx.Conn, text string, _ []any) (string, []any, error) {
				return text, []any{pgx.QueryExecModeExec, 1}, nil
			}},
			"named args in its args": {f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
				return "SELECT t FROM exact_k WHERE id = @id", []any{pgx.NamedArgs{"id": 1}}, nil
			}},
			"another count": {f: func(_ context.Context, _ *pgx.Conn, text string, _ []any) (string, []any, error) {
				return "SELECT t FROM exact_k WHERE id = $1 AND t = $2", []any{2, "two"}, nil
			}},
			"an argument it can't send": {f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
				return "SELECT t FROM exact_k WHERE id = $1", []any{exactChan}, nil
			}},
		} {
			for range 2 {
				want, got := pgAsk(e.ctx, e.plain, "SELECT t FROM exact_k WHERE id = $1", r, 1), pgAsk(e.ctx, e.db, "SELECT t FROM exact_k WHERE id = $1", r, 1)
				if diff := pgDiff(want, got); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
		_, err := e.db.QueryContext(e.ctx, "SELECT t FROM exact_k", exactRewriter{f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { return "", nil, own }})
		if !errors.Is(err, own) {
			t.Errorf("a rewriter's own error comes as %v", err)
		}
	})
	t.Run("to what is not a read", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		to := func(sent string) exactRewriter {
			return exactRewriter{f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { return sent, nil, nil }}
		}
		const harmless = "SELECT t FROM exact_k WHERE id = 1"
		for _, sent := range []string{"SELECT t FROM exact_k WHERE id = 1 FOR UPDATE", "SELECT nextval('seq') FROM exact_k", "SELECT now(), t FROM exact_k", "SELECT random(), t FROM exact_k"} {
			for range 3 {
				if n := e.calls(sent, func() { pgAsk(e.ctx, e.db, harmless, to(sent)) }); n != 1 {
					t.Errorf("SERVED FROM MEMORY: %s, rewritten to, made %d calls at the server", sent, n)
				}
			}
		}
		for i, write := range []func(sent string) error{
			func(sent string) error { return pgAskErr(e.ctx, e.db, harmless, to(sent+" RETURNING t")) },
			func(sent string) error { _, err := e.db.ExecContext(e.ctx, harmless, to(sent)); return err },
			func(sent string) error { _, err := e.db.ExecContext(e.ctx, "", to(sent)); return err },
		} {
			e.warm(harmless)
			if err := write(fmt.Sprintf("UPDATE exact_k SET t = 'written %d' WHERE id = 1", i)); err != nil {
				t.Fatal(err)
			}
			if got := e.one(e.db, harmless); got != fmt.Sprintf("string(%q)", fmt.Sprint("written ", i)) {
				t.Errorf("write %d by a rewriter is not seen: %s", i, got)
			}
		}
	})
	t.Run("panics", func(t *testing.T) {
		e := newPGOn(t, dsn, "")
		r := exactRewriter{f: func(context.Context, *pgx.Conn, string, []any) (string, []any, error) { panic("a rewriter's own") }}
		e.exactPanics("a rewriter's own", func() { pgAsk(e.ctx, e.db, text, r, 1) })
		e.same("afterwards", "SELECT t FROM tenant_a WHERE id = $1", 1)
	})
}
