package cachedpgx_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The parity harness: one question, asked through plain pgx and through the
// cache in every way that has code of its own. What a caller can see must be
// equal: columns and their types, rows and their order, the Go types and values
// that Scan gives, errors and their types.

// parityServed says where the second read of a case is answered. A comparison
// over reads that all went to the server proves nothing, so each case says it.
type parityServed int

const (
	parityMemory parityServed = iota // it must be served from memory
	parityServer                     // each read runs once at the server
	parityEither                     // nothing is promised
)

// parityCase is a question, and what it is scanned into.
type parityCase struct {
	name   string // the text, if empty
	text   string
	args   []any
	dests  []func() any // each column into each of them; none: into *any
	native []func() any // the same, but for NULLs: see parityRead
	served parityServed
	brief  bool // for what costs much to compare: each way once
}

// parityInto makes destinations of a type.
func parityInto[T any]() any { return new(T) }

// parityAddress is what some errors show of a destination.
var parityAddress = regexp.MustCompile(`0x[0-9a-f]+`)

// parityNothing takes any column and keeps nothing.
type parityNothing struct{}

func (parityNothing) Scan(any) error { return nil }

// ask asks it directly.
func (c *parityCase) ask(ctx context.Context, q pgQuerier) pgAnswer {
	rows, err := q.QueryContext(ctx, c.text, c.args...)
	return parityRead(rows, err, c.dests, c.native)
}

// parity compares every way of asking with plain pgx.
func (e *pgEnv) parity(c parityCase) {
	e.Helper()
	c.name = pgShort(cmp.Or(c.name, fmt.Sprintf("%s %v", c.text, c.args)))
	ask := func(q pgQuerier) pgAnswer { return c.ask(e.ctx, q) }
	want := ask(e.plain)
	e.parityFlush()
	for _, what := range []string{"miss", "hit", "hit after a hit"} {
		if c.brief && what == "hit after a hit" {
			break
		}
		e.parityStep(c, what, what != "miss", want, func() pgAnswer { return ask(e.db) })
	}
	e.parityFollowers(c, want, func() pgAnswer { return ask(e.db) })

	// Prepared, in the modes that don't prepare by themselves, other formats
	// come over the wire, and other arguments are taken.
	plain, plainErr := e.plain.PrepareContext(e.ctx, c.text)
	stmt, err := e.db.PrepareContext(e.ctx, c.text)
	if pgError(plainErr) != pgError(err) {
		e.Errorf("%s: Prepare: error %q, plain pgx gives %q", c.name, pgError(err), pgError(plainErr))
	}
	if plainErr == nil && err == nil {
		askStmt := func(s *sql.Stmt) pgAnswer {
			rows, err := s.QueryContext(e.ctx, c.args...)
			return parityRead(rows, err, c.dests, c.native)
		}
		want := askStmt(plain)
		for _, what := range []string{"prepared miss", "prepared hit"} {
			e.parityStep(c, what, what == "prepared hit", want, func() pgAnswer { return askStmt(stmt) })
		}
	}
	for _, s := range []*sql.Stmt{plain, stmt} {
		if s != nil && s.Close() != nil {
			e.Errorf("%s: closing a statement failed", c.name)
		}
	}
	if c.brief {
		return
	}
	e.parityFlush()
	want = ask(e.plain)
	for _, what := range []string{"miss after a prepared statement", "hit after a prepared statement"} {
		e.parityStep(c, what, strings.HasPrefix(what, "hit"), want, func() pgAnswer { return ask(e.db) })
	}
}

// parityQuick compares a miss and a hit only.
func (e *pgEnv) parityQuick(c parityCase) {
	e.Helper()
	c.name = pgShort(cmp.Or(c.name, fmt.Sprintf("%s %v", c.text, c.args)))
	ask := func(q pgQuerier) pgAnswer { return c.ask(e.ctx, q) }
	want := ask(e.plain)
	for _, what := range []string{"miss", "hit"} {
		e.parityStep(c, what, what != "miss", want, func() pgAnswer { return ask(e.db) })
	}
}

// parityStep asks once. second says that the same was asked before, and so may
// come from memory.
func (e *pgEnv) parityStep(c parityCase, what string, second bool, want pgAnswer, ask func() pgAnswer) {
	e.Helper()
	var got pgAnswer
	before := e.parityRan(c.text)
	got = ask()
	calls := e.parityRan(c.text) - before
	if diff := parityDiff(want, got); diff != "" {
		e.Errorf("%s: %s: %s", c.name, what, diff)
	}
	switch {
	case c.served == parityMemory && second && calls != 0:
		e.Errorf("%s: %s: NOT FROM MEMORY: it made %d calls at the server; %s", c.name, what, calls, e.promiseWhy(e.ctx, c.text))
	case c.served == parityServer && calls != 1, c.served == parityMemory && !second && calls != 1:
		e.Errorf("%s: %s: it made %d calls at the server, want 1", c.name, what, calls)
	}
}

// parityRan is how often the cached handle ran a text at the server. The simple
// protocol writes the arguments into it.
func (e *pgEnv) parityRan(text string) (n int) {
	start, _, hasArgs := strings.Cut(text, "$1")
	if !hasArgs {
		return e.wire.ran(text)
	}
	for ran, times := range e.promiseTexts() {
		if strings.HasPrefix(ran, start) {
			n += times
		}
	}
	return n
}

// parityFollowers compares what those get who share a load. The load is held at
// the server by a lock on what it reads. One who comes when it has landed is
// served from memory instead and shows nothing, so it goes on until somebody
// has shared one.
func (e *pgEnv) parityFollowers(c parityCase, want pgAnswer, ask func() pgAnswer) {
	e.Helper()
	if c.served != parityMemory {
		return
	}
	x := e.promiseExplain(e.ctx, c.text)
	if len(x.Relations) == 0 {
		e.Fatalf("%s: nothing to lock: %+v", c.name, x)
	}
	for range 100 {
		e.parityFlush()
		before, coalesced := e.parityRan(c.text), e.cache.Stats().Coalesced
		release := e.lock(x.Relations[0])
		answers := make([]pgAnswer, 3)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = ask() })
		}
		e.eventually("a load waits for the lock", func() bool { return e.waiting() > 0 })
		release()
		wg.Wait()
		for _, got := range answers {
			if diff := parityDiff(want, got); diff != "" {
				e.Errorf("%s: shared load: %s", c.name, diff)
				return
			}
		}
		if n := e.parityRan(c.text) - before; n != 1 {
			e.Errorf("%s: shared load: %d callers made %d calls at the server, want 1; %s", c.name, len(answers), n, e.promiseWhy(e.ctx, c.text))
			return
		}
		if e.cache.Stats().Coalesced > coalesced {
			return
		}
	}
	e.Errorf("%s: nobody has shared a load", c.name)
}

func (e *pgEnv) parityFlush() {
	e.Helper()
	if err := e.cache.Flush(e.ctx); err != nil {
		e.Fatal(err)
	}
}

// parityRead is pgRead with destinations: each column is scanned into each of
// them, by itself, so that one that fails hides no other, and in the end all
// into RawBytes. NULLs are not scanned
// into native destinations: for one that a column's type can't be scanned into,
// pgx tries all types that it knows in the order of a Go map, and does not
// always agree with itself.
func parityRead(rows *sql.Rows, err error, dests, native []func() any) (a pgAnswer) {
	if err != nil {
		return pgAnswer{Err: pgError(err)}
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return pgAnswer{Err: "Columns: " + pgError(err)}
	}
	a.Cols = fmt.Sprintf("%q", cols)
	types, err := rows.ColumnTypes()
	if err != nil {
		return pgAnswer{Err: "ColumnTypes: " + pgError(err)}
	}
	var said strings.Builder
	for _, c := range types {
		length, hasLength := c.Length()
		precision, scale, hasScale := c.DecimalSize()
		null, hasNull := c.Nullable()
		fmt.Fprintf(&said, "%s %s %v len=%d,%t dec=%d,%d,%t null=%t,%t; ", c.Name(), c.DatabaseTypeName(),
			c.ScanType(), length, hasLength, precision, scale, hasScale, null, hasNull)
	}
	a.Types = said.String()
	into := make([]any, len(cols))
	for rows.Next() {
		values := make([]any, len(cols))
		for i := range values {
			into[i] = &values[i]
		}
		var row []string
		switch err := rows.Scan(into...); {
		case err == nil && len(dests) == 0:
			for _, v := range values {
				row = append(row, parityDump(v))
			}
		case err != nil && len(dests) == 0:
			a.Err = "Scan: " + pgError(err)
			return a
		}
		for i := range into {
			into[i] = parityNothing{}
		}
		for n, dest := range slices.Concat(dests, native) {
			for i, col := range cols {
				if n >= len(dests) && values[i] == nil {
					continue
				}
				into[i] = dest()
				said := pgError(rows.Scan(into...))
				row = append(row, fmt.Sprintf("%s into %T: %s %s", col, into[i], parityDump(into[i]), parityAddress.ReplaceAllString(said, "0x…")))
				into[i] = parityNothing{}
			}
		}
		if len(dests) > 0 {
			// Last, since a Scan into RawBytes ends the scanning of a row; they are
			// the caller's to write into.
			for i := range into {
				into[i] = new(sql.RawBytes)
			}
			row = append(row, "raw: "+pgError(rows.Scan(into...)))
			for _, dest := range into {
				raw := *dest.(*sql.RawBytes)
				row = append(row, fmt.Sprintf("%q nil %t", raw, raw == nil))
				for i := range raw {
					raw[i] = '!'
				}
			}
		}
		a.Rows = append(a.Rows, row)
	}
	a.end(rows)
	return a
}

// parityDiff is pgDiff, which of long values shows the parts that differ.
func parityDiff(want, got pgAnswer) string {
	if len(want.Rows) == len(got.Rows) && want.Err == got.Err && want.Types == got.Types {
		for i := range want.Rows {
			for j := range min(len(want.Rows[i]), len(got.Rows[i])) {
				w, g := want.Rows[i][j], got.Rows[i][j]
				if w == g {
					continue
				}
				at := 0
				for at < min(len(w), len(g)) && w[at] == g[at] {
					at++
				}
				said := fmt.Sprintf("row %d: %s", i, pgShort(w[:min(at, 100)]))
				from := max(0, at-50)
				return fmt.Sprintf("%s: …%s, plain pgx gives …%s", said, pgShort(g[from:]), pgShort(w[from:]))
			}
		}
	}
	return pgDiff(want, got)
}

// parityDump writes a value with its types, through pointers, which %#v shows
// as addresses.
func parityDump(v any) string {
	var b strings.Builder
	parityWrite(&b, reflect.ValueOf(v))
	return b.String()
}

func parityWrite(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			fmt.Fprintf(b, "%#v %s", x, x.Format("MST -07:00:00"))
			return
		case *big.Int:
			fmt.Fprintf(b, "*big.Int(%v)", x)
			return
		case []byte:
			fmt.Fprintf(b, "[]byte(%q nil %t)", x, x == nil)
			return
		}
	}
	t := v.Type()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			fmt.Fprintf(b, "%v(nil)", t)
			return
		}
		b.WriteByte('*')
		parityWrite(b, v.Elem())
	case reflect.Struct:
		if t.NumField() > 0 && !t.Field(0).IsExported() && v.CanInterface() {
			fmt.Fprintf(b, "%v(%v)", t, v.Interface())
			return
		}
		fmt.Fprintf(b, "%v{", t)
		for i := range v.NumField() {
			fmt.Fprintf(b, "%s: ", t.Field(i).Name)
			parityWrite(b, v.Field(i))
			b.WriteString(", ")
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%v", t)
		if v.Kind() == reflect.Slice && v.IsNil() {
			b.WriteString("(nil)")
			return
		}
		b.WriteByte('{')
		for i := range v.Len() {
			parityWrite(b, v.Index(i))
			b.WriteString(", ")
		}
		b.WriteByte('}')
	case reflect.Map:
		if v.IsNil() {
			fmt.Fprintf(b, "%v(nil)", t)
			return
		}
		fmt.Fprintf(b, "%v{", t)
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			parityWrite(b, key)
			b.WriteString(": ")
			parityWrite(b, v.MapIndex(key))
			b.WriteString(", ")
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%v(%#v)", t, v)
	}
}

// parityBase are destinations that every release of Go has a conversion for.
var parityBase = []func() any{
	parityInto[any], parityInto[string], parityInto[[]byte], parityInto[sql.NullString],
	parityInto[time.Time], parityInto[int64], parityInto[float64], parityInto[bool], parityInto[*string],
	parityInto[sql.Null[time.Time]], parityInto[pgUpper],
}

// parityModes are the ways of running a statement that a configuration of pgx
// can ask for. Where statements or descriptions are cached, a capacity of 0 is
// an error of pgx's for each query: see TestParityRefusingMode.
var parityModes = [][]string{
	{"default_query_exec_mode=cache_statement"},
	{"default_query_exec_mode=cache_describe"},
	{"default_query_exec_mode=describe_exec"},
	{"default_query_exec_mode=describe_exec", "statement_cache_capacity=0", "description_cache_capacity=0"},
	{"default_query_exec_mode=exec"},
	{"default_query_exec_mode=exec", "statement_cache_capacity=0", "description_cache_capacity=0"},
	{"default_query_exec_mode=simple_protocol"},
	{"default_query_exec_mode=simple_protocol", "statement_cache_capacity=0", "description_cache_capacity=0"},
}

// TestParityDump checks the harness's own eyes: what differs must look different.
func TestParityDump(t *testing.T) {
	one, again := 1, 1
	negativeZero := math.Copysign(0, -1)
	instant := time.Unix(0, 0)
	for _, c := range []struct {
		name string
		a, b any
	}{
		{"NULL and nothing", nil, ""},
		{"text and bytes", "a", []byte("a")},
		{"nil and empty bytes", []byte(nil), []byte{}},
		{"nil and empty slices", []string(nil), []string{}},
		{"widths", int32(1), int64(1)},
		{"zeros", 0.0, negativeZero},
		{"zones", instant.UTC(), instant.In(time.FixedZone("", 0))},
		{"equal offsets of other names", instant.In(time.FixedZone("A", 60)), instant.In(time.FixedZone("B", 60))},
		{"a pointer and its value", 1, &one},
		{"big numbers", big.NewInt(1), big.NewInt(2)},
		{"in an interface", any(int32(1)), any("1")},
		{"fields", sql.NullString{}, sql.NullString{Valid: true}},
		{"elements", []*int{&one}, []*int{nil}},
		{"maps", map[string]any{"a": 1}, map[string]any{"a": "1"}},
	} {
		if a, b := parityDump(&c.a), parityDump(&c.b); a == b {
			t.Errorf("%s look alike: %s", c.name, a)
		}
	}
	if a, b := parityDump(&one), parityDump(&again); a != b {
		t.Errorf("pointers to equal values look different: %s, %s", a, b)
	}
}

const paritySchema = `
	CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, qty int2, price numeric(10,2), made date, seen timestamptz(3),
		tag varchar(7), code char(3), bits varbit(9), raw bytea, doc jsonb);
	INSERT INTO item SELECT i, 'item ' || i, i % 7, i * 1.25, date '2024-01-01' + i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour',
		't' || i, 'c', B'101', decode('00ff', 'hex'), jsonb_build_object('i', i) FROM generate_series(1, 30) i;
	INSERT INTO item (id, name) VALUES (0, '');
	CREATE TABLE none ();
	INSERT INTO none DEFAULT VALUES; INSERT INTO none DEFAULT VALUES;
	CREATE VIEW cheap AS SELECT id, price AS id2, price FROM item WHERE price < 10;
	DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE wide AS SELECT ' || string_agg('id::int2 c' || i, ',') FROM generate_series(1, 1600) i) || ' FROM item LIMIT 2'; END $$;`

// parityQuestions are reads of every shape.
func parityQuestions() []parityCase {
	return []parityCase{
		{text: "SELECT * FROM item ORDER BY id", dests: nil},
		{text: "SELECT id, name, price FROM item ORDER BY price DESC NULLS LAST, id"},
		{text: "SELECT id, id, name AS id, id AS \"ID\", '' AS \" \" FROM item WHERE id < 3 ORDER BY item.id"},
		{text: "SELECT a.*, b.* FROM item a JOIN item b ON b.id = a.id + 1 WHERE a.id < 4 ORDER BY a.id"},
		{text: "SELECT * FROM cheap ORDER BY id"},
		{text: "SELECT FROM item WHERE id < 4"},
		{text: "SELECT * FROM none"},
		{text: "SELECT * FROM item WHERE id = -1"},
		{text: "SELECT FROM item WHERE id = -1"},
		{text: "SELECT * FROM wide ORDER BY c1"},
		{text: "SELECT 'a', NULL, 1, 1.50, true, '', id + 1, name || 'x', qty::float4 / 3 FROM item ORDER BY id LIMIT 3"},
		{text: "SELECT count(*), sum(qty), min(name), max(made), avg(price), array_agg(id ORDER BY id) FROM item"},
		{text: "SELECT name::varchar(3), price::numeric(4,1), seen::timestamptz(0), bits::varbit(2), code::varchar, name::bpchar FROM item ORDER BY id LIMIT 4"},
		{text: "SELECT id, row(id, name), array[[id, qty], [1, NULL]] FROM item ORDER BY id LIMIT 3"},
		{text: "SELECT i FROM item i ORDER BY id LIMIT 3"},

		{text: "SELECT id, name FROM item WHERE id = $1", args: []any{3}},
		{text: "SELECT id, name FROM item WHERE id = $1", args: []any{-3}},
		{text: "SELECT id, name FROM item WHERE name = $1 AND qty < $2 ORDER BY id", args: []any{"item 3", int16(5)}},
		{text: "SELECT id, seen FROM item WHERE seen > $1 ORDER BY id", args: []any{time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)}},
		{text: "SELECT id, raw FROM item WHERE raw = $1 AND id < 4 ORDER BY id", args: []any{[]byte{0, 255}}},
		{text: "SELECT id, $1::text FROM item WHERE id = $2", args: []any{nil, 1}},

		// Destinations, and those that fail.
		{text: "SELECT * FROM item ORDER BY id LIMIT 3", dests: append([]func() any{
			parityInto[int8], parityInto[uint], parityInto[float32], parityInto[*bool], parityInto[**int64], parityInto[sql.NullInt64],
			parityInto[sql.NullTime], parityInto[sql.Null[float64]], parityInto[fmt.Stringer], parityInto[chan int], parityInto[func()],
			func() any { return nil }, func() any { return "no pointer" },
		}, parityBase...)},

		// What fails: the error, what came before it, and never from memory. Each
		// text is of one case: what is left of a prepared one shall not help another.
		{text: "SELECT id, 10/(4 - id) FROM item WHERE id < 10 ORDER BY id", served: parityServer},
		{text: "SELECT 1/(id - id) FROM item", served: parityServer},
		{text: "SELECT name::int FROM item ORDER BY id", served: parityServer},
		{text: "SELECT id FROM item WHERE id = (SELECT id FROM item)", served: parityServer},
		{text: "SELECT nothing FROM item", served: parityEither},
		{text: "SELECT id FROM nowhere", served: parityEither},
		{text: "SELEC", served: parityEither},
		{text: `SELECT id AS "" FROM item`, served: parityEither},
		{text: "", served: parityEither},
		{text: "-- nothing", served: parityEither},
		{text: "SELECT id AS a1 FROM item WHERE id = $1", served: parityEither},
		{text: "SELECT id AS a2 FROM item WHERE id = $1", args: []any{1, 2}, served: parityEither},
		{text: "SELECT id AS a3 FROM item WHERE id = $1", args: []any{"one"}, served: parityEither},
		{text: "SELECT id AS a4 FROM item WHERE id = $1", args: []any{struct{}{}}, served: parityEither},
		{text: "SELECT id AS a5 FROM item WHERE id = $1", args: []any{make(chan int)}, served: parityEither},
		{text: "SELECT id AS a6 FROM item WHERE id = $1", args: []any{math.Inf(1)}, served: parityEither},
		{text: "SELECT id AS a7 FROM item WHERE name = $1", args: []any{"\x00"}, served: parityEither},
		{text: "SELECT id AS a8 FROM item WHERE name = $1", args: []any{"\xff"}, served: parityEither},

		// What the cache leaves alone.
		{text: "SELECT 1, 'a', NULL, true, 1.5", served: parityServer},
		{text: "SELECT id FROM item ORDER BY id LIMIT 2 FOR UPDATE", served: parityServer},
		{text: "UPDATE item SET qty = qty WHERE id < 3 RETURNING id, qty", served: parityServer},
	}
}

// TestParityOfQuestions asks reads of every shape in every way and every mode.
// Kinds 3, 8, 10, 11.
func TestParityOfQuestions(t *testing.T) {
	dsn := newPG(t, paritySchema).dsn
	for _, mode := range someModes(parityModes) {
		t.Run(strings.Join(mode, ","), func(t *testing.T) {
			e := newPGOn(t, dsn, "", mode...)
			for _, c := range parityQuestions() {
				if len(mode) == 1 {
					e.parity(c)
				} else {
					e.parityQuick(c)
				}
			}
		})
	}
}

// TestParityRefusingMode checks the modes that want a cache of pgx's and have
// none, where plain pgx refuses every statement that it would cache.
func TestParityRefusingMode(t *testing.T) {
	dsn := newPG(t, paritySchema).dsn
	for _, mode := range [][]string{
		{"default_query_exec_mode=cache_statement", "statement_cache_capacity=0"},
		{"default_query_exec_mode=cache_describe", "description_cache_capacity=0"},
	} {
		t.Run(strings.Join(mode, ","), func(t *testing.T) {
			e := newPGOn(t, dsn, "", mode...)
			for _, text := range []string{"SELECT id, name FROM item ORDER BY id LIMIT 3", "SELECT id FROM item WHERE id = $1"} {
				args := []any{1}[:strings.Count(text, "$1")]
				if want := pgAsk(e.ctx, e.plain, text, args...); want.Err == "" {
					t.Errorf("%s: plain pgx does not refuse it: this test is about nothing", text)
				}
				e.parity(parityCase{text: text, args: args, served: parityEither})
			}
		})
	}
}

// TestParityInTransaction: in a transaction nothing comes from memory, and all
// is as outside.
func TestParityInTransaction(t *testing.T) {
	e := newPG(t, paritySchema)
	const text = "SELECT * FROM item ORDER BY id"
	e.warm(text)
	plain, cached := e.begin(e.plain), e.begin(e.db)
	read := func(q pgQuerier) pgAnswer {
		rows, err := q.QueryContext(context.WithoutCancel(e.ctx), text)
		return parityRead(rows, err, parityBase, nil)
	}
	want := read(plain)
	for range 2 {
		e.parityStep(parityCase{name: "in a transaction", text: text, served: parityServer}, "read", false, want,
			func() pgAnswer { return read(cached) })
	}
}
