package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The files pg_stdlib_*_test.go hold both drivers to what the tests of pgx's own
// database/sql driver hold; docs/parity.md says which covers what.

const stdlibSchema = `
	CREATE TABLE item (
		id int PRIMARY KEY, name text NOT NULL, ok bool, f4 float4, f8 float8, price numeric(9,2), made date, at timestamp,
		tz timestamptz, iv interval, oi oid, raw bytea, js json, jb jsonb, ia int8[], ta text[], ra int4range, uid uuid,
		addr inet, pt point);
	INSERT INTO item VALUES
		(1, 'one', true, 1.5, 2.5, 12.34, '2024-01-11', '2024-02-29 01:02:03.456789', '2024-02-29 01:02:03+00', '90 min', 42,
		 '\x00ff', '{"a" :  1}', '{"a": [1, null]}', '{1,2,3}', '{"a b",NULL}', '[1,5)', '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
		 '10.0.0.1', '(1,2)'),
		(2, 'two', false, 0, 'Infinity', 0, 'infinity', '-infinity', '1969-12-31 23:59:59+00', '0', 0, '', 'null', '"x"', '{}', '{}',
		 'empty', '00000000-0000-0000-0000-000000000000', '::1', '(0,0)');
	INSERT INTO item (id, name) SELECT i, 'item ' || i FROM generate_series(3, 12) i;`

var stdlibModes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// stdlibEncodings are the modes that differ in how they send arguments.
var stdlibEncodings = []string{"cache_statement", "exec", "simple_protocol"}

// stdlibEachMode gives f handles over one database in each of pgx's modes.
func stdlibEachMode(t *testing.T, schema string, f func(e *pgEnv)) {
	stdlibInModes(t, stdlibModes, schema, f)
}

func stdlibInModes(t *testing.T, modes []string, schema string, f func(e *pgEnv)) {
	dsn := newPG(t, schema).dsn
	for _, mode := range someModes(modes) {
		t.Run(mode, func(t *testing.T) { f(newPGOn(t, dsn, "", "default_query_exec_mode="+mode)) })
	}
}

// stdlibDrivers are the handles of both, plain pgx first.
func (e *pgEnv) stdlibDrivers() []*sql.DB { return []*sql.DB{e.plain, e.db} }

// stdlibBoth fails unless f tells the same of both drivers' handles, twice.
func (e *pgEnv) stdlibBoth(what string, f func(db *sql.DB) string) {
	e.Helper()
	for _, time := range []string{"first", "second"} {
		if want, got := stdlibTold(f(e.plain)), stdlibTold(f(e.db)); got != want {
			e.Errorf("%s, %s time: %s", what, time, stdlibDiff(want, got))
		}
	}
}

// stdlibRead fails unless f, which reads, tells the same of plain pgx, of a miss
// and of a hit; and unless the second read is a hit, where there is no error. The
// first is a miss though the question was asked in other words before.
func (e *pgEnv) stdlibRead(what string, f func(db *sql.DB) (string, error)) {
	e.Helper()
	ctx := e.ctx
	defer func() { e.ctx = ctx }()
	want, werr := f(e.plain)
	for _, time := range []string{"miss", "hit"} {
		var got string
		var err error
		if e.ctx = ctx; time == "miss" {
			e.ctx = cachedpgx.WithRefresh(ctx)
		}
		ran := e.promiseNew(func() { got, err = f(e.db) })
		if want, got := stdlibTold(want+pgError(werr)), stdlibTold(got+pgError(err)); got != want {
			e.Errorf("%s, %s: %s", what, time, stdlibDiff(want, got))
		}
		if time == "hit" && werr == nil && len(ran) > 0 {
			e.Errorf("%s: NOT CACHED: the second read ran %q", what, slices.Collect(maps.Keys(ran)))
		}
		if time == "miss" && werr == nil && len(ran) == 0 {
			e.Errorf("%s: the first read ran nothing at the server", what)
		}
	}
}

// stdlibTold is an account without what nobody can ask for: whose the type of an
// error is that does nothing but wrap.
func stdlibTold(told string) string {
	return strings.ReplaceAll(told, "*cachedpgx.rewriteError", "*fmt.wrapError")
}

// stdlibDiff shows where two accounts part.
func stdlibDiff(want, got string) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-100)
	return fmt.Sprintf("\n\t…%q\nplain pgx gives\n\t…%q", got[from:min(len(got), i+200)], want[from:min(len(want), i+200)])
}

// stdlibShow is a value, behind however many pointers.
func stdlibShow(v any) string {
	r := reflect.ValueOf(v)
	for r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	if list, ok := v.(*[]*string); ok {
		data, err := json.Marshal(list)
		return fmt.Sprintf("%T %s %v", v, data, err)
	}
	return fmt.Sprintf("%T %#v", v, r)
}

// stdlibRow scans the only row of an answer.
func (e *pgEnv) stdlibRow(db *sql.DB, text string, args []any, dests ...any) (string, error) {
	err := db.QueryRowContext(e.ctx, text, args...).Scan(dests...)
	var b strings.Builder
	for _, d := range dests {
		b.WriteString(stdlibShow(d) + "; ")
	}
	return b.String(), err
}

// stdlibAnswer is all of an answer, and its error by itself.
func (e *pgEnv) stdlibAnswer(q pgQuerier, text string, args ...any) (string, error) {
	a := pgAsk(e.ctx, q, text, args...)
	if a.Err != "" {
		return fmt.Sprint(a), errors.New(a.Err)
	}
	return fmt.Sprint(a), nil
}

// The document: what it names exists, and it names what pgx has.

var (
	stdlibDocRow  = regexp.MustCompile(`(?m)^\| *(Test\w+)`)
	stdlibDocName = regexp.MustCompile("`(Test\\w+)`(?: \\((\\S+)\\))?")
)

// TestStdlibDocument keeps docs/parity.md true: the tests that it gives for ours
// are in the tree, and each of pgx's has its row.
func TestStdlibDocument(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("docs", "parity.md"))
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{}
	stdlibTestNames(t, "*_test.go", ours)
	stdlibTestNames(t, filepath.Join("internal", "*", "*_test.go"), ours)
	named := 0
	for _, m := range stdlibDocName.FindAllStringSubmatch(string(data), -1) {
		if named++; ours[m[1]] == "" {
			t.Errorf("the document gives %s for a test of ours: there is none", m[1])
		} else if ours[m[1]] != m[2] {
			t.Errorf("the document says that %s is in %q: it is in %s", m[1], m[2], ours[m[1]])
		}
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		m := stdlibDocRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(strings.Split(line, "|")[1], -1) {
			rows[name] = true
		}
		if cells := strings.Split(line, "|"); len(cells) != 5 || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s: the row has neither a test nor a reason: %q", m[1], line)
		} else if !stdlibDocName.MatchString(cells[3]) && !strings.Contains(cells[3], "not applicable: ") {
			t.Errorf("%s: neither a test of ours nor a reason is named: %q", m[1], cells[3])
		}
	}
	if named < 50 {
		t.Fatalf("only %d of our tests are named: the document was not understood", named)
	}

	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/jackc/pgx/v5").Output()
	if err != nil {
		t.Fatalf("where is pgx's source? %v", err)
	}
	theirs := map[string]string{}
	for _, files := range []string{"stdlib/*_test.go", "conn_test.go", "query_test.go", "named_args_test.go", "pgbouncer_test.go", "rows_test.go"} {
		stdlibTestNames(t, filepath.Join(strings.TrimSpace(string(out)), files), theirs)
	}
	for name := range theirs {
		if !rows[name] {
			t.Errorf("pgx's %s has no row in the document", name)
		}
	}
	if len(theirs) < 150 {
		t.Errorf("only %d tests of pgx's were found", len(theirs))
	}
}

// stdlibTestNames adds the tests in those files, and where each is.
func stdlibTestNames(t *testing.T, glob string, to map[string]string) {
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", glob, len(files), err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				to[fn.Name.Name] = filepath.ToSlash(file)
			}
		}
	}
}

// Arguments.

type (
	stdlibText   string            // a Valuer that gives another string
	stdlibNilOK  struct{ N int }   // its pointer is a Valuer, nil included
	stdlibList   []byte            // a Valuer, nil included
	stdlibMap    map[string]int    // a Valuer, nil included
	stdlibAny    struct{ v any }   // gives v
	stdlibNamed  int16             // no methods
	stdlibObject struct{ A []any } // no methods: JSON
)

func (s stdlibText) Value() (driver.Value, error) { return strings.ToLower(string(s)), nil }
func (s stdlibAny) Value() (driver.Value, error)  { return s.v, nil }

func (s *stdlibNilOK) Value() (driver.Value, error) {
	if s == nil {
		return int64(2), nil
	}
	return int64(s.N), nil
}

func (s stdlibList) Value() (driver.Value, error) {
	if s == nil {
		return []byte(`"x"`), nil
	}
	return []byte(s), nil
}

func (s stdlibMap) Value() (driver.Value, error) {
	if s == nil {
		return `"x"`, nil
	}
	return json.Marshal(map[string]int(s))
}

// TestStdlibArguments sends each kind of argument to each kind of parameter that
// takes it, in each mode; what plain pgx refuses is refused in the same words.
func TestStdlibArguments(t *testing.T) {
	one, name := 1, "one"
	pone := &one
	day := time.Date(2024, 1, 11, 0, 0, 0, 0, time.UTC)
	instant := time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)
	byID := func(args ...any) pgCase { return pgCase{"SELECT id, name FROM item WHERE id = $1", args} }
	by := func(column string, arg any) pgCase {
		return pgCase{"SELECT id FROM item WHERE " + column + " = $1 ORDER BY id", []any{arg}}
	}
	back := func(typ string, arg any) pgCase {
		return pgCase{"SELECT id, $1::" + typ + " FROM item WHERE id = 1", []any{arg}}
	}
	cases := []pgCase{
		// Integers, each kind that Go has, and their edges.
		byID(int8(1)), byID(int16(1)), byID(int32(1)), byID(int64(1)), byID(1), byID(uint8(1)), byID(uint16(1)), byID(uint32(1)), byID(uint64(1)), byID(uint(1)),
		byID(stdlibNamed(1)), byID(int64(math.MaxInt32)), byID(int64(math.MaxInt32 + 1)), byID(uint32(math.MaxUint32)), byID(-1), byID("1"), byID("x"), byID(1.0), byID(1.5),
		back("int2", 1<<15), back("int8", uint64(math.MaxUint64)), back("oid", uint32(math.MaxUint32)), back("float8", 1), back("numeric", int64(math.MinInt64)),
		// Pointers and nil.
		byID(&one), byID(&pone), byID((*int)(nil)), byID(nil), by("name", &name), by("name", (*string)(nil)), back("int", nil), back("text", nil),
		// Valuers.
		by("name", stdlibText("ONE")), by("name", new(stdlibText("ONE"))), by("name", (*stdlibText)(nil)), byID(&stdlibNilOK{1}), byID((*stdlibNilOK)(nil)),
		by("jb", stdlibList(nil)), by("jb", stdlibList(`{"a": [1, null]}`)), by("jb", stdlibMap(nil)), by("jb", stdlibMap{"a": 1}),
		byID(stdlibAny{int64(1)}), byID(stdlibAny{"1"}), byID(stdlibAny{nil}), byID(stdlibAny{1.0}), byID(stdlibAny{true}), byID(stdlibAny{struct{}{}}), by("ok", stdlibAny{true}),
		by("raw", stdlibAny{[]byte{0, 255}}), by("tz", stdlibAny{instant}), byID(pgBadValuer{}),
		// database/sql's own.
		byID(sql.NullInt64{Int64: 1, Valid: true}), byID(sql.NullInt64{}), byID(&sql.NullInt64{Int64: 1, Valid: true}), byID((*sql.NullInt64)(nil)), byID(sql.Null[int]{V: 1, Valid: true}),
		byID(sql.NullInt32{Int32: 1, Valid: true}), by("name", sql.NullString{String: "one", Valid: true}), by("price", sql.NullString{String: "12.34", Valid: true}),
		by("f8", sql.NullFloat64{Float64: 2.5, Valid: true}), by("ok", sql.NullBool{Bool: true, Valid: true}), by("tz", sql.NullTime{Time: instant, Valid: true}),
		byID(sql.Named("id", 1)), byID(sql.Out{Dest: &one}), byID(&sql.Out{Dest: &one, In: true}),
		// pgx's.
		byID(pgtype.Int4{Int32: 1, Valid: true}), byID(pgtype.Int4{}), byID(pgtype.Int8{Int64: 1, Valid: true}), by("name", pgtype.Text{String: "one", Valid: true}),
		by("made", pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true}), by("made", pgtype.Date{Time: day, Valid: true}), by("tz", pgtype.Timestamptz{Time: instant, Valid: true}),
		by("ra", pgtype.Range[pgtype.Int4]{Lower: pgtype.Int4{Int32: 1, Valid: true}, Upper: pgtype.Int4{Int32: 5, Valid: true}, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}),
		by("uid", pgtype.UUID{Bytes: [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}, Valid: true}), by("uid", [16]byte{}),
		by("ia", pgtype.FlatArray[int64]{1, 2, 3}), by("ia", pgtype.Array[int64]{Elements: []int64{1, 2, 3}, Dims: []pgtype.ArrayDimension{{Length: 3, LowerBound: 1}}, Valid: true}),
		// Lists.
		by("ia", []int64{1, 2, 3}), by("ia", []int64{}), by("ia", []int64(nil)), by("ia", "{1,2,3}"), by("ta", []*string{new("a b"), nil}), by("ta", []sql.NullString{{String: "a b", Valid: true}, {}}),
		{"SELECT id FROM item WHERE id = ANY($1) ORDER BY id", []any{[]int32{2, 1}}}, back("int4[]", "{1,2,3}"), {"SELECT id, cardinality($1::text[]) FROM item WHERE id = 1", []any{[]string{"a", "b", "c"}}},
		// Text, bytes, JSON.
		by("name", []byte("one")), back("text", []byte("Jack")), back("varchar", []byte("Jack")), back("bytea", []byte{0, 15, 255}), back("bytea", []byte(nil)), by("raw", []byte{}),
		by("jb", []byte(`"x"`)), by("jb", `"x"`), by("jb", map[string]any{"a": []any{1, nil}}), by("jb", stdlibObject{[]any{1}}), by("jb", &stdlibObject{}), by("jb", json.RawMessage(`"x"`)),
		back("json", []byte(`{"a" :  1}`)), back("text", "foo'; DROP TABLE item; --"), back("text", `back\slash`), by("pt::text", "(1,2)"), back("point", "(1,2)"), back("point", 705),
		// Numbers that are not whole, times, addresses.
		back("numeric", -0.01), back("numeric", -0.0001), back("float4", float32(1.23)), by("f8", math.Inf(1)), back("float8", math.NaN()), by("price", "12.34"), by("price", 12.34),
		by("tz", instant), by("tz", instant.In(time.FixedZone("west", -8*3600))), by("at", instant), by("made", day), by("made", "2024-01-11"), by("made", "infinity"), back("timestamptz", time.Unix(123, 5000)),
		by("iv", 90*time.Minute), back("interval", time.Second), by("addr", netip.MustParseAddr("10.0.0.1")), by("addr", netip.MustParsePrefix("10.0.0.1/32")), by("addr", "10.0.0.1"), by("ok", true), by("ok", "true"),
		// What no type is known for.
		{"SELECT id, $1 FROM item WHERE id = 1", []any{"x"}}, {"SELECT id, $1 FROM item WHERE id = 1", []any{1}}, back("no_such_type", "x"), byID(make(chan int)), byID(struct{ A int }{1}),
		// How many.
		byID(), byID(1, 2), {"SELECT id FROM item WHERE id = $1 AND name = $2", []any{1}}, {"SELECT id FROM item", []any{1}},
		{"SELECT id FROM item WHERE id >= $1::int AND id <= $2::int AND 3 = $3 ORDER BY id", []any{1, 10, 3}},
	}
	stdlibInModes(t, stdlibEncodings, stdlibSchema, func(e *pgEnv) {
		for _, c := range cases {
			what := fmt.Sprintf("%s %T %v", c.text, append(c.args, nil)[0], c.args)
			f := func(db *sql.DB) (string, error) { return e.stdlibAnswer(db, c.text, c.args...) }
			e.stdlibRead(what, f)
		}
	})
}

// TestStdlibExecArguments writes what a Valuer gives, nil ones asked too.
func TestStdlibExecArguments(t *testing.T) {
	e := newPG(t, "CREATE TABLE doc (js json, jb jsonb, n numeric)")
	for _, c := range []struct {
		column string
		arg    any
	}{
		{"js", []byte(`{"foo":  "bar"}`)}, {"jb", []byte(`{"foo":  "bar"}`)}, {"js", stdlibList(nil)}, {"js", stdlibMap(nil)}, {"js", stdlibMap{"a": 1}}, {"js", map[string]int{"a": 1}},
		{"js", stdlibObject{[]any{nil}}}, {"js", nil}, {"n", (*sql.NullInt64)(nil)}, {"n", (*stdlibNilOK)(nil)}, {"n", "1e5"}, {"n", "no number"}, {"n", sql.Out{Dest: new(int)}}, {"js", "no json"},
	} {
		e.stdlibBoth(fmt.Sprintf("%s %T", c.column, c.arg), func(db *sql.DB) string {
			res, err := db.ExecContext(e.ctx, "INSERT INTO doc ("+c.column+") VALUES ($1)", c.arg)
			told := pgError(err)
			if err == nil {
				n, nerr := res.RowsAffected()
				told = fmt.Sprint(n, nerr)
			}
			told += fmt.Sprint(pgAsk(e.ctx, db, "SELECT js, jb, n FROM doc"))
			e.must(db, "DELETE FROM doc")
			return told
		})
	}
}

// What stands before the arguments.

type stdlibRewrite struct {
	text string
	args []any
	err  error
}

func (r *stdlibRewrite) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return r.text, r.args, r.err
}

// stdlibCounts asks for another row each time that it is asked.
type stdlibCounts struct{ n atomic.Int32 }

func (r *stdlibCounts) RewriteQuery(_ context.Context, _ *pgx.Conn, text string, _ []any) (string, []any, error) {
	return text, []any{r.n.Add(1)}, nil
}

type stdlibContextKey struct{}

// stdlibFromContext takes its argument out of the caller's context.
type stdlibFromContext struct{}

func (stdlibFromContext) RewriteQuery(ctx context.Context, _ *pgx.Conn, text string, _ []any) (string, []any, error) {
	return text, []any{ctx.Value(stdlibContextKey{})}, nil
}

// stdlibAsksConn looks at the connection that it is given.
type stdlibAsksConn struct{}

func (stdlibAsksConn) RewriteQuery(_ context.Context, conn *pgx.Conn, text string, args []any) (string, []any, error) {
	if conn == nil {
		return "", nil, errors.New("the rewriter was given no connection")
	}
	t, ok := conn.TypeMap().TypeForName("int4")
	return text, append(args, int32(1)), map[bool]error{false: fmt.Errorf("%v is no int4", t)}[ok]
}

// TestStdlibLeadingArguments puts modes, result formats and rewriters before the
// arguments, alone and together, in each mode.
func TestStdlibLeadingArguments(t *testing.T) {
	const all = "SELECT id, name, price, jb, raw, tz, ia FROM item WHERE id = $1"
	const named = "SELECT id, name FROM item WHERE id = @id"
	type structArgs struct {
		ID int `db:"id"`
	}
	cases := []pgCase{
		{all, []any{pgx.QueryExecModeCacheStatement, 1}}, {all, []any{pgx.QueryExecModeCacheDescribe, 1}}, {all, []any{pgx.QueryExecModeDescribeExec, 1}},
		{all, []any{pgx.QueryExecModeExec, 1}}, {all, []any{pgx.QueryExecModeSimpleProtocol, 1}}, {all, []any{pgx.QueryExecMode(99), 1}},
		{all, []any{pgx.QueryResultFormats{pgx.TextFormatCode}, 1}}, {all, []any{pgx.QueryResultFormats{pgx.BinaryFormatCode}, 1}},
		{all, []any{pgx.QueryResultFormats{0, 1, 0, 1, 0, 1, 0}, 1}}, {all, []any{pgx.QueryResultFormats{0, 1}, 1}}, {all, []any{pgx.QueryResultFormats{}, 1}}, {all, []any{pgx.QueryResultFormats(nil), 1}},
		{all, []any{pgx.QueryResultFormatsByOID{pgtype.Int4OID: 0, pgtype.NumericOID: 1}, 1}}, {all, []any{pgx.QueryResultFormatsByOID{}, 1}},
		{all, []any{pgx.QueryExecModeExec, pgx.QueryResultFormats{pgx.TextFormatCode}, 1}}, {all, []any{pgx.QueryResultFormats{pgx.TextFormatCode}, pgx.QueryExecModeDescribeExec, 1}},
		{all, []any{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, 1}}, {all, []any{1, pgx.QueryExecModeExec}}, {all, []any{pgx.QueryExecModeExec}},
		{all, []any{pgx.QueryResultFormats{1}, pgx.NamedArgs{"id": 1}}},
		{named, []any{pgx.NamedArgs{"id": 1}}}, {named, []any{pgx.NamedArgs{"id": 2}}}, {named, []any{pgx.NamedArgs{"id": 1, "more": 2}}}, {named, []any{pgx.NamedArgs{}}}, {named, []any{pgx.NamedArgs(nil)}},
		{named, []any{pgx.StrictNamedArgs{"id": 1}}}, {named, []any{pgx.StrictNamedArgs{"id": 1, "more": 2}}}, {named, []any{pgx.StrictNamedArgs{}}},
		{named, []any{pgx.StructArgs(structArgs{1})}}, {named, []any{pgx.StrictStructArgs(structArgs{1})}}, {named, []any{pgx.NamedArgs{"id": 1}, 2}}, {named, []any{2, pgx.NamedArgs{"id": 1}}},
		{named, []any{&pgx.NamedArgs{"id": 1}}}, {named, []any{pgx.NamedArgs{"id": sql.NullInt64{Int64: 1, Valid: true}}}}, {named, []any{pgx.NamedArgs{"id": "x"}}}, {named, []any{pgx.NamedArgs{"id": nil}}},
		{named, []any{pgx.QueryExecModeExec, pgx.NamedArgs{"id": 1}}}, {named, []any{pgx.QueryExecModeSimpleProtocol, pgx.QueryResultFormats{0}, pgx.NamedArgs{"id": 1}}},
		{`SELECT $$hello @id$$, $tag$it's @id$tag$, '@id', E'\'@id', name /* @id */ FROM item WHERE id = @id -- @id`, []any{pgx.NamedArgs{"id": 1}}},
		{"SELECT id FROM item WHERE id = @id OR id = @other AND id = @id ORDER BY id", []any{pgx.NamedArgs{"other": 2, "id": 1}}},
		{"SELECT $$@id$$ FROM item WHERE id = 1", []any{pgx.StrictNamedArgs{"id": 1}}},
		{"to be replaced", []any{&stdlibRewrite{text: "SELECT name FROM item WHERE id = $1", args: []any{1}}}},
		{"to be replaced", []any{&stdlibRewrite{text: "SELECT name FROM item WHERE id = $1", args: []any{2}}}},
		{"to be replaced", []any{&stdlibRewrite{err: errors.New("a rewriter's own error")}}},
		{"to be replaced", []any{&stdlibRewrite{text: "SELECT name FROM item WHERE id = $1"}}},
		{"SELECT id FROM item WHERE id = 1", []any{&stdlibRewrite{text: "SELECT name FROM item WHERE id = 2"}}},
	}
	stdlibInModes(t, stdlibEncodings, stdlibSchema, func(e *pgEnv) {
		for _, c := range cases {
			e.stdlibRead(fmt.Sprintf("%s %T %v", c.text, c.args[0], c.args), func(db *sql.DB) (string, error) { return e.stdlibAnswer(db, c.text, c.args...) })
			e.stdlibBoth(fmt.Sprintf("Exec %s %T %v", c.text, c.args[0], c.args), func(db *sql.DB) string {
				_, err := db.ExecContext(e.ctx, c.text, c.args...)
				return pgError(err)
			})
		}
		// All at once, so that each may be taken for another.
		for _, c := range cases {
			e.stdlibBoth("among the others: "+c.text, func(db *sql.DB) string { return fmt.Sprint(pgAsk(e.ctx, db, c.text, c.args...)) })
		}
		e.stdlibBoth("a rewriter that takes its argument from the context", func(db *sql.DB) (told string) {
			for _, id := range []int{1, 2, 1} {
				told += fmt.Sprint(pgAsk(context.WithValue(e.ctx, stdlibContextKey{}, id), db, "SELECT name FROM item WHERE id = $1", stdlibFromContext{}))
			}
			return told
		})
		e.stdlibBoth("a rewriter is given a connection", func(db *sql.DB) string {
			return fmt.Sprint(pgAsk(e.ctx, db, "SELECT name FROM item WHERE id = $1", stdlibAsksConn{}))
		})
		e.stdlibBoth("a rewriter is asked once for each query", func(db *sql.DB) (told string) {
			counts := new(stdlibCounts)
			for range 4 {
				told += fmt.Sprint(pgAsk(e.ctx, db, "SELECT name FROM item WHERE id = $1", counts).Rows)
			}
			return told
		})
		e.stdlibBoth("named arguments that are changed after the call", func(db *sql.DB) (told string) {
			args := pgx.NamedArgs{}
			for _, id := range []int{1, 2, 1} {
				args["id"] = id
				told += fmt.Sprint(pgAsk(e.ctx, db, named, args).Rows)
			}
			return told
		})
		e.stdlibBoth("prepared", func(db *sql.DB) (told string) {
			for _, text := range []string{all, "SELECT id FROM item WHERE id = 1"} {
				stmt, err := db.PrepareContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				defer stmt.Close()
				for _, args := range [][]any{{pgx.QueryExecModeExec, 1}, {pgx.QueryExecModeExec}, {pgx.NamedArgs{"id": 1}}, {&stdlibRewrite{text: all, args: []any{1}}}, {1}, {}} {
					told += fmt.Sprintln(pgAskStmt(e.ctx, stmt, args...))
				}
			}
			return told
		})
	})
}

// Rows.
