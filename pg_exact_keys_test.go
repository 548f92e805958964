package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestPGExactKeys asks what is easily taken for the same, in each of pgx's
// modes. Kind 3.
func TestPGExactKeys(t *testing.T) {
	dsn := newPG(t, exactSchema).dsn
	for m, mode := range []string{
		"default_query_exec_mode=cache_statement", "default_query_exec_mode=exec", "default_query_exec_mode=simple_protocol",
		// These encode as the first does: a part of the families in each.
		"default_query_exec_mode=cache_describe", "default_query_exec_mode=describe_exec", "statement_cache_capacity=0",
		"description_cache_capacity=0 default_query_exec_mode=cache_describe", "statement_cache_capacity=0 default_query_exec_mode=describe_exec",
	} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", strings.Fields(mode)...)
			for i, f := range exactFamilies() {
				if m > 2 && i%5 != m-3 || m > 0 && f.forgets {
					continue
				}
				// Each has a text of its own, so that none leaves another something.
				f.text = strings.Replace(f.text, "FROM exact_k", fmt.Sprintf("FROM exact_k AS k%d", i), 1)
				if strings.HasSuffix(mode, "_capacity=0") || strings.HasPrefix(mode, "description_cache_capacity=0") {
					f.alike = true // pgx refuses to run it in this mode
				}
				t.Run(f.name, func(t *testing.T) { e.on(t).exactRunFamily(f, m > 0) })
			}
		})
	}
}

// TestPGExactPreparedLeavesNoTrace checks that a direct read is as plain pgx's
// after its text was prepared, run and closed: in modes that go by an argument's
// Go type, a statement left on the connection would go by the parameter's.
// Kinds 3 and 14.
func TestPGExactPreparedLeavesNoTrace(t *testing.T) {
	dsn := newPG(t, exactSchema).dsn
	for _, mode := range []string{"exec", "simple_protocol"} {
		e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
		text := exactEcho("text")
		stmt, err := e.db.PrepareContext(e.ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		pgAskStmt(e.ctx, stmt, "x")
		if err := stmt.Close(); err != nil {
			t.Fatal(err)
		}
		for _, arg := range []any{time.Unix(1, 0).In(time.FixedZone("east", 7200)), []byte{}, []byte("a"), 1, true} {
			for _, what := range []string{"first", "second"} {
				e.same(fmt.Sprintf("%s: %T, %s", mode, arg, what), text, arg)
			}
		}
	}
}

// TestPGExactArgumentPanics gives pgx an argument on which its own encoder
// panics: the panic is its caller's, and can be recovered; nothing else dies of
// it. Kinds 3 and 13.
func TestPGExactArgumentPanics(t *testing.T) {
	e := newPG(t, exactSchema)
	panics := func(db *sql.DB, text string, cancellable bool) (got string) {
		defer func() { got = fmt.Sprint(recover()) }()
		ctx, cancel := e.ctx, context.CancelFunc(func() {})
		if !cancellable {
			ctx = context.WithoutCancel(ctx)
		}
		defer cancel()
		return fmt.Sprint(pgAsk(ctx, db, text, [][]int32{{1, 2}, {3}})) // no rectangle
	}
	for _, text := range []string{exactEcho("int4[]"), "SELECT $1::int4[], random() FROM exact_k WHERE id = 1"} {
		want := panics(e.plain, text, true)
		for range 2 {
			for _, cancellable := range []bool{true, false} {
				if got := panics(e.db, text, cancellable); got != want {
					t.Errorf("%s: %s, plain pgx gives %s", text, got, want)
				}
			}
		}
	}
	e.same("afterwards", exactEcho("int4[]"), []int32{1, 2})
	e.warm(exactEcho("int4[]"), "{1,2}")
}

// exactPanics fails unless f panics in this goroutine with that value.
func (e *pgEnv) exactPanics(want any, f func()) {
	e.Helper()
	defer func() {
		e.Helper()
		if got := recover(); got != want {
			e.Errorf("a caller's own panic came back as %v, want %v", got, want)
		}
	}()
	f()
}

// exactValuer is asked for a value, counts it, and does as it is told.
type exactValuer struct {
	asked atomic.Int64
	f     func(n int64) (driver.Value, error)
}

// GoString keeps what pgx's errors show of it the same.
func (v *exactValuer) GoString() string { return "exactValuer" }

func (v *exactValuer) Value() (driver.Value, error) { return v.f(v.asked.Add(1)) }

// TestPGExactValuers asks with arguments that answer for themselves. Kind 3.
func TestPGExactValuers(t *testing.T) {
	const text = "SELECT id, t FROM exact_k WHERE id = $1"
	dsn := newPG(t, exactSchema).dsn
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			e := newPGOn(t, dsn, "", "default_query_exec_mode="+mode)
			id := func(v *exactValuer) string {
				got := pgAsk(e.ctx, e.db, text, v)
				if got.Err != "" || len(got.Rows) != 1 {
					e.Fatalf("%v", got)
				}
				return got.Rows[0][0]
			}
			t.Run("its value changes between calls", func(t *testing.T) {
				v := &exactValuer{f: func(n int64) (driver.Value, error) { return 1 + (n-1)%3, nil }}
				for i := range 9 {
					want := e.one(e.plain, "SELECT $1::int4", 1+i%3)
					if got := id(v); got != want {
						t.Errorf("call %d: given row %s, asked for %s", i, got, want)
					}
					if n := v.asked.Load(); n != int64(i+1) {
						t.Fatalf("after %d calls the Valuer was asked %d times", i+1, n)
					}
				}
			})
			t.Run("once a call, whether it is a hit or a miss", func(t *testing.T) {
				e := e.on(t)
				e.exactFlush()
				for i := range 4 {
					v := &exactValuer{f: func(int64) (driver.Value, error) { return int64(2), nil }}
					calls := e.exactCalls("FROM exact_k", func() { id(v) })
					if n := v.asked.Load(); n != 1 {
						t.Errorf("call %d: the Valuer was asked %d times", i, n)
					}
					if i > 0 && calls != 0 {
						t.Errorf("NOT CACHED: call %d with a Valuer made %d calls at the server", i, calls)
					}
				}
			})
			t.Run("an error of its own", func(t *testing.T) {
				e := e.on(t)
				own := errors.New("a valuer's own error")
				for range 2 {
					v := func() *exactValuer {
						return &exactValuer{f: func(int64) (driver.Value, error) { return nil, own }}
					}
					want, got := pgAskErr(e.ctx, e.plain, text, v()), pgAskErr(e.ctx, e.db, text, v())
					if pgError(want) != pgError(got) || errors.Is(want, own) != errors.Is(got, own) {
						t.Errorf("error %q, plain pgx gives %q", pgError(got), pgError(want))
					}
				}
				// An error today is no error tomorrow.
				fails := true
				v := &exactValuer{f: func(int64) (driver.Value, error) {
					if fails {
						return nil, own
					}
					return int64(2), nil
				}}
				if err := pgAskErr(e.ctx, e.db, text, v); err == nil {
					t.Error("the Valuer's error was lost")
				}
				fails = false
				if got := id(v); got != "int64(2)" && got != "int32(2)" {
					t.Errorf("given row %s", got)
				}
			})
			t.Run("a panic of its own", func(t *testing.T) {
				e := e.on(t)
				v := &exactValuer{f: func(int64) (driver.Value, error) { panic("a valuer's own") }}
				e.exactPanics("a valuer's own", func() { pgAsk(e.ctx, e.db, text, v) })
				for id := range 3 {
					e.same("after a panic", text, id+1)
				}
			})
			t.Run("asks the handle itself", func(t *testing.T) {
				e := e.on(t)
				e.exactFlush()
				e.watched(4, func(ctx context.Context, i int) error {
					v := &exactValuer{}
					v.f = func(int64) (driver.Value, error) {
						var n int64
						err := e.db.QueryRowContext(ctx, "SELECT id FROM exact_k WHERE t = $1", "two").Scan(&n)
						return n, err
					}
					var got int
					if err := e.db.QueryRowContext(ctx, text, v).Scan(&got, new(string)); err != nil || got != 2 {
						return fmt.Errorf("row %d, %w", got, err)
					}
					return nil
				})
			})
			t.Run("a slow one keeps nobody waiting", func(t *testing.T) {
				e := e.on(t)
				e.same("warm", text, 3)
				release, started := make(chan struct{}), make(chan struct{})
				v := &exactValuer{f: func(int64) (driver.Value, error) { close(started); <-release; return int64(3), nil }}
				done := make(chan pgAnswer, 1)
				go func() { done <- pgAsk(e.ctx, e.db, text, v) }()
				<-started
				e.watched(4, func(ctx context.Context, i int) error {
					return pgAskErr(ctx, e.db, text, 1+i%3)
				})
				close(release)
				if got := <-done; got.Err != "" || len(got.Rows) != 1 {
					t.Errorf("the slow one: %v", got)
				}
			})
			t.Run("gives the same bytes again and again", func(t *testing.T) {
				e := e.on(t)
				// As a Valuer does that encodes into a buffer of its own.
				buf := []byte("0")
				const text = "SELECT id, $1::bytea AS v FROM exact_k WHERE id = 1"
				v := &exactValuer{f: func(n int64) (driver.Value, error) { buf[0] = byte('0' + n%3); return buf, nil }}
				for i := range 9 {
					want := pgAsk(e.ctx, e.plain, text, []byte{byte('0' + (i+1)%3)})
					if diff := pgDiff(want, pgAsk(e.ctx, e.db, text, v)); diff != "" {
						t.Errorf("call %d: %s", i, diff)
					}
				}
			})
		})
	}
}

// TestPGExactArgumentsChange changes what arguments point to between calls: the
// key is of what they held when the call was made. Kind 3.
func TestPGExactArgumentsChange(t *testing.T) {
	e := newPG(t, exactSchema)
	number, ptr, bytes := 1, exactPtr(1), []byte("a")
	ints, object, doc := []int32{1, 2}, map[string]any{"a": 1}, &exactJSON{1, 2}
	numeric := pgtype.Numeric{Int: big.NewInt(5), Exp: -1, Valid: true}
	decimal := exactDecimal{big.NewInt(15), 1}
	raw, named := json.RawMessage(`{"a":1}`), pgx.NamedArgs{"id": 1}
	formats, byOID := pgx.QueryResultFormats{0}, pgx.QueryResultFormatsByOID{pgtype.JSONBOID: 0}
	for _, c := range []struct {
		name, text string
		args       []any
		change     func(i int)
	}{
		{"a pointer", exactEcho("int4"), []any{&number}, func(i int) { number = i }},
		{"a pointer to a pointer", exactEcho("int4"), []any{&ptr}, func(i int) { *ptr = i }},
		{"bytes", exactEcho("bytea"), []any{bytes}, func(i int) { bytes[0] = byte('a' + i) }},
		{"a slice", exactEcho("int4[]"), []any{ints}, func(i int) { ints[1] = int32(i) }},
		{"a map", exactEcho("jsonb"), []any{object}, func(i int) { object["a"] = i }},
		{"a struct", exactEcho("jsonb"), []any{doc}, func(i int) { doc.B = i }},
		{"a big.Int in a numeric", exactEcho("numeric"), []any{numeric}, func(i int) { numeric.Int.SetInt64(int64(i)) }},
		{"a big.Int in a Valuer", exactEcho("numeric"), []any{decimal}, func(i int) { decimal.value.SetInt64(int64(i)) }},
		{"raw JSON", exactEcho("json"), []any{raw}, func(i int) { raw[5] = byte('0' + i%10) }},
		{"named arguments", "SELECT id, t FROM exact_k WHERE id = @id", []any{named}, func(i int) { named["id"] = 1 + i%3 }},
		{"result formats", "SELECT id, '{}'::jsonb AS v FROM exact_k WHERE id = 1", []any{formats}, func(i int) { formats[0] = int16(i % 2) }},
		{"result formats by type", "SELECT id, '{}'::jsonb AS v FROM exact_k WHERE id = 1", []any{byOID}, func(i int) { byOID[pgtype.JSONBOID] = int16(i % 2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e.on(t)
			for _, i := range []int{1, 2, 1, 2, 7, 1} {
				c.change(i)
				e.same(fmt.Sprintf("changed to %d", i), c.text, c.args...)
			}
			if n := e.exactCalls("FROM exact_k", func() { e.same("changed to 1 again", c.text, c.args...) }); n != 0 {
				t.Errorf("NOT CACHED: the same again made %d calls at the server", n)
			}
		})
	}
}

// TestPGExactArgumentsAreNotKept changes arguments once their call has returned,
// while the load that it started has yet to begin, or is at the server: the load
// must neither read them any more, which -race sees, nor be taken for the answer
// to what they hold now. Kind 3.
func TestPGExactArgumentsAreNotKept(t *testing.T) {
	schema := exactSchema + "CREATE TABLE blocker (id int); INSERT INTO blocker VALUES (1)"
	type change struct {
		name, typ string
		make      func() (arg any, change func())
	}
	changes := []change{
		{"bytes", "bytea", func() (any, func()) { b := []byte("abc"); return b, func() { b[0] = 'x' } }},
		{"a pointer", "int4", func() (any, func()) { p := exactPtr(1); return p, func() { *p = 2 } }},
		{"a pointer to a string", "text", func() (any, func()) { p := exactPtr("a"); return p, func() { *p = "b" } }},
		{"a slice", "int4[]", func() (any, func()) { s := []int32{1, 2}; return s, func() { s[0] = 9 } }},
		{"a slice of strings", "text[]", func() (any, func()) { s := []string{"a", "b"}; return s, func() { s[0] = "c" } }},
		{"a map", "jsonb", func() (any, func()) { m := map[string]any{"a": 1}; return m, func() { m["a"] = 2; m["b"] = 3 } }},
		{"a struct behind a pointer", "jsonb", func() (any, func()) { s := &exactJSON{1, 2}; return s, func() { s.A = 9 } }},
		{"a numeric", "numeric", func() (any, func()) {
			n := pgtype.Numeric{Int: big.NewInt(5), Valid: true}
			return n, func() { n.Int.SetInt64(6) }
		}},
		{"a Valuer", "numeric", func() (any, func()) { d := &exactDecimal{big.NewInt(5), 1}; return d, func() { d.value.SetInt64(6) } }},
		{"raw JSON", "json", func() (any, func()) { r := json.RawMessage(`{"a":1}`); return r, func() { r[5] = '2' } }},
		{"a time behind a pointer", "timestamptz", func() (any, func()) { p := exactPtr(time.Unix(1, 0)); return p, func() { *p = time.Unix(2, 0) } }},
	}
	for _, where := range []string{"before the load begins", "at the server"} {
		t.Run(where, func(t *testing.T) {
			e := newPG(t, schema, "cache_load_limit=1")
			for _, c := range changes {
				t.Run(c.name, func(t *testing.T) {
					e := e.on(t)
					text := exactEcho(c.typ)
					first, _ := c.make()
					original := pgAsk(e.ctx, e.plain, text, first)
					e.same("the text is known", text, nil)
					arg, change := c.make()

					table := "exact_k"
					var blocked sync.WaitGroup
					if where == "before the load begins" {
						// The only load that may run waits for a lock.
						table = "blocker"
						e.warm("SELECT id FROM blocker")
						e.exactFlush()
						other, alter := c.make()
						alter()
						e.same("the text and its types are known", text, other)
					}
					release := e.lock(table)
					if table == "blocker" {
						blocked.Go(func() { pgAsk(e.ctx, e.db, "SELECT id FROM blocker") })
						e.eventually("the blocker waits", func() bool { return e.waiting() > 0 })
					}
					ctx, cancel := context.WithTimeout(e.ctx, 50*time.Millisecond)
					err := pgAskErr(ctx, e.db, text, arg)
					cancel()
					if !pgTimedOut(err) {
						t.Errorf("a call that can't be served within its deadline: %v", err)
					}
					change()
					release()
					blocked.Wait()
					again, _ := c.make()
					if diff := pgDiff(original, pgAsk(e.ctx, e.db, text, again)); diff != "" {
						t.Errorf("who asks what was asked first: %s", diff)
					}
					e.same("who asks what the argument holds now", text, arg)
				})
			}
		})
	}
}

// TestPGExactKeysOfHotEntries asks for one thing in many ways at once: nobody
// gets what another asked for. Kinds 3 and 8.
func TestPGExactKeysOfHotEntries(t *testing.T) {
	e := newPG(t, exactSchema+"INSERT INTO exact_k SELECT i, 'row ' || i FROM generate_series(4, 40) i")
	forms := []func(i int) any{
		func(i int) any { return i }, func(i int) any { return int64(i) }, func(i int) any { return &i }, func(i int) any { return fmt.Sprint(i) },
		func(i int) any { return sql.NullInt64{Int64: int64(i), Valid: true} }, func(i int) any { return pgtype.Int4{Int32: int32(i), Valid: true} },
		func(i int) any { return &exactValuer{f: func(int64) (driver.Value, error) { return int64(i), nil }} }, func(i int) any { return pgx.NamedArgs{"id": i} },
	}
	e.watched(32, func(ctx context.Context, g int) error {
		for n := range 40 {
			i, form := 1+(g*7+n*13)%40, forms[(g+n)%len(forms)]
			text := "SELECT id FROM exact_k WHERE id = $1"
			arg := form(i)
			if _, ok := arg.(pgx.NamedArgs); ok {
				text = "SELECT id FROM exact_k WHERE id = @id"
			}
			var got int
			if err := e.db.QueryRowContext(ctx, text, arg).Scan(&got); err != nil || got != i {
				return fmt.Errorf("asked for %d by a %T, given %d, %w", i, arg, got, err)
			}
			if n%20 == 0 {
				if err := e.cache.Flush(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// TestPGExactArgumentsOfDays keeps what comes as a time, and asks the server
// about what comes as text, whatever carries it. Kind 3.
func TestPGExactArgumentsOfDays(t *testing.T) {
	e := newPG(t, exactSchema)
	const text = "SELECT id FROM exact_k WHERE at < $1 ORDER BY id"
	for name, arg := range map[string]func(word string) any{
		"text":               func(word string) any { return word },
		"a pointer":          func(word string) any { return &word },
		"a named type":       func(word string) any { return exactString(word) },
		"a Valuer":           func(word string) any { return &exactValuer{f: func(int64) (driver.Value, error) { return word, nil }} },
		"a sql.NullString":   func(word string) any { return sql.NullString{String: word, Valid: true} },
		"a pgtype.Text":      func(word string) any { return pgtype.Text{String: word, Valid: true} },
		"bytes":              func(word string) any { return []byte(word) },
		"a named argument":   func(word string) any { return pgx.NamedArgs{"at": word} },
		"a Valuer of a name": func(word string) any { return pgx.StrictNamedArgs{"at": sql.NullString{String: word, Valid: true}} },
	} {
		for _, word := range []string{"today", "TOMORROW", " now "} {
			text := text
			switch arg(word).(type) {
			case pgx.NamedArgs, pgx.StrictNamedArgs:
				text = strings.Replace(text, "$1", "@at", 1)
			}
			for _, mode := range []any{nil, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
				args := []any{arg(word)}
				if mode != nil {
					args = []any{mode, arg(word)}
				}
				if want := pgAsk(e.ctx, e.plain, text, args...); want.Err != "" {
					continue // not all of these can be sent to a date
				}
				for i := range 3 {
					args[len(args)-1] = arg(word)
					if n := e.exactCalls("FROM exact_k", func() { e.same(name, text, args...) }); n != 1 {
						t.Errorf("SERVED FROM MEMORY: %q as %s, mode %v, time %d: %d calls at the server", word, name, mode, i, n)
					}
				}
			}
		}
	}
	for _, arg := range []any{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), exactPtr(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)), pgtype.Date{Time: time.Date(2032, 1, 1, 0, 0, 0, 0, time.UTC), Valid: true}} {
		e.same("a time", text, arg)
		if n := e.calls(text, func() { e.same("a time", text, arg) }); n != 0 {
			t.Errorf("NOT CACHED: a %T made %d calls at the server", arg, n)
		}
	}
}

// TestPGExactBigKeys asks with arguments of a megabyte: each is told from each,
// and what is kept of them counts as memory. Kind 3.
func TestPGExactBigKeys(t *testing.T) {
	e := newPG(t, exactSchema, "cache_max_bytes=8MiB")
	big := strings.Repeat("x", 1<<20)
	const text = "SELECT id, length($1::text) + $2::int4 AS v, right($1, 3) AS last FROM exact_k WHERE id = 1"
	for i := range 12 {
		arg := big + fmt.Sprint(i)
		for range 2 {
			var n int
			var last string
			if err := e.db.QueryRowContext(e.ctx, text, arg, i).Scan(new(int), &n, &last); err != nil || n != len(arg)+i || !strings.HasSuffix(arg, last) {
				t.Fatalf("%d: %d and %q, %v", i, n, last, err)
			}
		}
		if b := e.cache.Stats().Bytes; b > 8<<20 {
			t.Fatalf("after %d arguments of a megabyte %d bytes are kept, more than cache_max_bytes", i+1, b)
		}
	}
	ids := make([]int, 10_000)
	for i := range ids {
		ids[i] = -i
	}
	for _, last := range []int{1, 2, 3, 1, 2} {
		ids[len(ids)-1] = last
		e.same("the last of 10,000", "SELECT id, t FROM exact_k WHERE id = ANY($1)", ids)
	}
	var many []any
	var refs []string
	for i := range 65535 {
		many = append(many, -i)
		refs = append(refs, fmt.Sprintf("$%d::int4", i+1))
	}
	list := "SELECT id, t FROM exact_k WHERE id IN (" + strings.Join(refs, ",") + ")"
	for _, first := range []int{1, -1} {
		many[0], many[1], many[2], many[3] = first, -2, -3, -4
		e.same("as many as there may be", list, many...)
	}
	e.same("one too many", list+" OR id = $65536::int4", append(many, 2)...)
}

// TestPGExactParameterTypesChange changes by the handle's own DDL what type a
// parameter has: the same argument is another question then. Kinds 3 and 15.
func TestPGExactParameterTypesChange(t *testing.T) {
	e := newPG(t, "CREATE TABLE typed (id int, v int); INSERT INTO typed VALUES (1, 1), (2, 2)")
	const text = "SELECT id, v FROM typed WHERE v = $1"
	for _, typ := range []string{"int", "text", "numeric USING v::numeric", "timestamptz USING now()", "bool USING true", "text", "jsonb USING '1'"} {
		e.must(e.db, "ALTER TABLE typed ALTER COLUMN v TYPE "+typ)
		fresh := pgOpen(t, "pgx", e.dsn)
		for _, arg := range []any{1, "1", exactInt(1), exactString("1"), exactLevel(1), true, sql.NullInt64{Int64: 1, Valid: true}, json.RawMessage("1"), time.Unix(0, 0), nil} {
			want := pgAsk(e.ctx, fresh, text, arg)
			for range 2 {
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, text, arg)); diff != "" {
					t.Errorf("as %s: %T(%v): %s", typ, arg, arg, diff)
				}
			}
		}
	}
}

// TestPGExactPartition tries the same question of two tenants, with each sort of
// argument. Kinds 1 and 3.
func TestPGExactPartition(t *testing.T) {
	e := promisePG(t, exactSchema, cachedpgx.Config{Partition: func(ctx context.Context) string {
		tenant, _ := ctx.Value(exactTenantKey{}).(string)
		return tenant
	}})
	for _, arg := range []any{1, exactPtr(1), sql.NullInt64{Int64: 1, Valid: true}, pgtype.Int4{Int32: 1, Valid: true}} {
		const text = "SELECT id, t FROM exact_k WHERE id = $1"
		for _, tenant := range []string{"", "a", "b", "a\x00", "ab"} {
			ctx := context.WithValue(e.ctx, exactTenantKey{}, tenant)
			e.must(e.plain, "UPDATE exact_k SET t = $1 WHERE id = 1", "seen by "+fmt.Sprintf("%q", tenant))
			for range 2 {
				got := pgAsk(ctx, e.db, text, arg)
				if want := fmt.Sprintf("string(%q)", "seen by "+fmt.Sprintf("%q", tenant)); len(got.Rows) != 1 || got.Rows[0][1] != want {
					t.Errorf("tenant %q, asking by a %T, was given %v, want %s", tenant, arg, got, want)
				}
			}
		}
		if err := e.cache.Flush(e.ctx); err != nil {
			t.Fatal(err)
		}
	}
}
