package cachedpgx_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Each test here is of fault kind 3: a key that is not one-to-one.

// spell writes an argument so that no two that differ are spelled the same.
func spell(args []driver.NamedValue) string {
	var b strings.Builder
	for _, a := range args {
		switch v := a.Value.(type) {
		case []byte:
			fmt.Fprintf(&b, "%q bytes nil=%t %q;", a.Name, v == nil, v)
		case float64:
			fmt.Fprintf(&b, "%q float %x;", a.Name, math.Float64bits(v))
		case time.Time:
			fmt.Fprintf(&b, "%q time %s;", a.Name, v.Format(time.RFC3339Nano))
		default:
			fmt.Fprintf(&b, "%q %T %#v;", a.Name, v, v)
		}
	}
	return b.String()
}

// speller is a server that answers with what it was asked.
func speller(tb testing.TB) *fakeServer {
	return newFake(tb, func(_ context.Context, c call) reply { return value(c.text + "|" + spell(c.args)) })
}

func TestArgumentsThatDifferShareNothing(t *testing.T) {
	instant := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	null := (*string)(nil)
	lists := [][]any{
		{}, {nil}, {nil, nil},
		{1}, {"1"}, {true}, {1.0}, {[]byte("1")},
		{0}, {"0"}, {false}, {0.0}, {math.Copysign(0, -1)}, {[]byte("0")},
		{""}, {[]byte{}}, {"NULL"}, {"<nil>"}, {"nil"}, {"\x00"}, {"\x00\x00"}, {[]byte{0}}, {[]byte{0, 0}},
		{math.NaN()}, {math.Inf(1)}, {math.Inf(-1)}, {"NaN"},
		{int64(1)<<53 - 1}, {int64(1) << 53}, {int64(1)<<53 + 1}, {float64(1<<53 - 1)}, {float64(1 << 53)},
		{int64(math.MaxInt64)}, {int64(math.MaxInt64 - 1)}, {int64(math.MinInt64)},
		{0.1}, {math.Nextafter(0.1, 1)},
		{instant}, {instant.In(time.FixedZone("", 3600))}, {instant.Add(1)}, {instant.Add(time.Microsecond)}, {instant.Format(time.RFC3339)},
		{"a", "bc"}, {"ab", "c"}, {"abc"}, {"abc", ""}, {"", "abc"}, {"a", "b", "c"},
		{"a\x00", "b"}, {"a", "\x00b"}, {"a\x00b"}, {"a,b"}, {"a", "b"}, {"b", "a"},
		{"1", 2}, {1, "2"}, {12}, {1, 2}, {"x", nil}, {nil, "x"}, {"A"}, {" a"}, {"a "}, {"a"},
		{strings.Repeat("x", 255)}, {strings.Repeat("x", 256)}, {strings.Repeat("x", 65536)},
		{"\xff\xfe"}, {"é"}, {"e\u0301"},
		{sql.Named("a", 1)}, {sql.Named("b", 1)},
	}
	// Whatever byte a key puts between two arguments, a text may hold it.
	lists = append(lists, []any{"a", "c"}, []any{[]byte("a"), []byte("c")}, []any{[]byte("ac")})
	for b := range byte(32) {
		lists = append(lists, []any{"a" + string([]byte{b}) + "c"}, []any{"a" + string([]byte{b, 1}) + "c"}, []any{[]byte{'a', b, 'c'}})
	}
	for _, prepared := range []bool{false, true} {
		t.Run(fmt.Sprintf("prepared=%t", prepared), func(t *testing.T) {
			f := speller(t)
			db, _ := openFake(t, f, quiet())
			ctx := long(t.Context())
			stmt, err := db.PrepareContext(ctx, product)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			seen := map[string][]any{}
			for round := range 2 {
				for _, args := range lists {
					var got string
					row := db.QueryRowContext(ctx, product, args...)
					if prepared {
						row.Scan(new(string))
						row = stmt.QueryRowContext(ctx, args...)
					}
					if err := row.Scan(&got); err != nil {
						t.Fatalf("%#v: %v", args, err)
					}
					if other, ok := seen[got]; ok && round == 0 {
						t.Errorf("%#v was answered as %#v: %s", args, other, got)
					}
					seen[got] = args
					if want := product + "|" + spell(converted(t, args)); got != want {
						t.Errorf("%#v: got %s, want %s", args, got, want)
					}
				}
			}
			// A typed nil is NULL, and NULL again is no question.
			asked := f.count(product)
			var got string
			if err := db.QueryRowContext(ctx, product, null).Scan(&got); err != nil || got != product+"|"+spell(converted(t, []any{nil})) {
				t.Errorf("typed nil: %q, %v", got, err)
			}
			if f.count(product) > asked+1 {
				t.Error("typed nil was asked twice")
			}
		})
	}
}

// converted is what a driver gets of args by database/sql's own rules.
func converted(t *testing.T, args []any) []driver.NamedValue {
	var out []driver.NamedValue
	for i, a := range args {
		nv := driver.NamedValue{Ordinal: i + 1}
		if n, ok := a.(sql.NamedArg); ok {
			nv.Name, a = n.Name, n.Value
		}
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			t.Fatal(err)
		}
		nv.Value = v
		out = append(out, nv)
	}
	return out
}

// Nil and empty slices are told apart by the server, so they share nothing. A
// nil slice is NULL to pgx, as nil is: these two may share.
func TestNilAndEmptySlices(t *testing.T) {
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	for range 2 {
		for _, arg := range []any{[]byte(nil), []byte{}, nil, ""} {
			var got string
			if err := db.QueryRowContext(ctx, product, arg).Scan(&got); err != nil {
				t.Fatal(err)
			}
			want := product + "|" + spell(converted(t, []any{arg}))
			null := strings.Contains(got, "nil=true") || strings.Contains(got, "<nil>")
			if arg == nil && null {
				continue
			}
			if b, ok := arg.([]byte); ok && b == nil && null {
				continue
			}
			if got != want {
				t.Errorf("%#v: got %s, want %s", arg, got, want)
			}
		}
	}
}

func TestEqualArgumentsShare(t *testing.T) {
	seven, bytes1 := 7, []byte("k")
	instant := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for _, same := range [][]any{
		{7, int64(7), &seven, int8(7), uint16(7), sql.NullInt64{Int64: 7, Valid: true}, sql.Null[int64]{V: 7, Valid: true}},
		{"k", myString("k"), new2("k")},
		{bytes1, []byte("k"), myBytes("k")},
		{instant, instant, &instant},
		{nil, (*int)(nil), sql.NullString{}, sql.Null[int]{}},
		{true, myBool(true)},
	} {
		t.Run(fmt.Sprint(same[0]), func(t *testing.T) {
			f := speller(t)
			db, _ := openFake(t, f, quiet())
			for _, arg := range same {
				var got string
				if err := db.QueryRowContext(long(t.Context()), product, arg).Scan(&got); err != nil {
					t.Fatal(err)
				}
			}
			wantCalls(t, f, product, 1)
		})
	}
}

type (
	myString string
	myBytes  []byte
	myBool   bool
)

func new2[T any](v T) *T { return &v }

func TestTextsThatDifferShareNothing(t *testing.T) {
	texts := []string{
		"SELECT 'a  b' FROM product", "SELECT 'a b' FROM product", "SELECT 'A b' FROM product", "SELECT 'a\tb' FROM product",
		"SELECT 'a -- b' FROM product", "SELECT 'a -- c' FROM product", "SELECT 'a' -- b\n FROM product",
		"SELECT 'x /* a */' FROM product", "SELECT 'x /* b */' FROM product", "SELECT 'x ' FROM product",
		`SELECT "a" FROM product`, `SELECT "A" FROM product`, `SELECT "a " FROM product`, `SELECT "a--" FROM product`,
		"SELECT $$a  b$$ FROM product", "SELECT $$a b$$ FROM product", "SELECT $q$a -- b$q$ FROM product", "SELECT $q$a -- c$q$ FROM product",
		"SELECT $q$ /* a */ $q$ FROM product", "SELECT $q$ /* b */ $q$ FROM product", "SELECT $q$$$ /* a */$q$ FROM product", "SELECT $q$$$ /* b */$q$ FROM product",
		`SELECT E'a\'--b' FROM product`, `SELECT E'a\'--c' FROM product`, `SELECT E'\\' FROM product`, `SELECT E'\\\'' FROM product`,
		"SELECT 'it''s -- b' FROM product", "SELECT 'it''s -- c' FROM product",
		"SELECT U&'d\\0061' FROM product", "SELECT U&'d\\0062' FROM product",
		"SELECT 1 FROM product", "SELECT 1.0 FROM product", "SELECT 2 FROM product", "SELECT 1 FROM product2", "SELECT 12 FROM product",
		"SELECT a FROM product", "SELECT b FROM product", "SELECT a,b FROM product",
	}
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	for range 2 {
		for _, text := range texts {
			var got string
			if err := db.QueryRowContext(long(t.Context()), text).Scan(&got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if want := text + "|"; got != want {
				t.Errorf("%q was answered as %q", text, got)
			}
		}
	}
	for _, text := range texts {
		if n := f.count(text); n < 1 {
			t.Errorf("%q never reached the server", text)
		}
	}
}

// The text and the arguments can't flow into one another.
func TestTextAndArgumentsAreFramed(t *testing.T) {
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	for range 2 {
		for _, q := range []struct {
			text string
			args []any
		}{
			{"SELECT 'a' FROM t", nil},
			{"SELECT 'a' FROM t", []any{"x"}},
			{"SELECT 'a' FROM tx", nil},
			{"SELECT 'a' FROM t", []any{"\x00x"}},
		} {
			var got string
			if err := db.QueryRowContext(ctx, q.text, q.args...).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if want := q.text + "|" + spell(converted(t, q.args)); got != want {
				t.Errorf("%v: got %q", q, got)
			}
		}
	}
}

// A comment that is no hint does not make another statement: a trace id for
// each request costs nothing. The server gets each caller's own text.
func TestCommentsAreNotIdentity(t *testing.T) {
	f := newFake(t, nil)
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	for _, texts := range [][]string{
		{"/* trace=1 */ " + product, "/* trace=2 */ " + product, "/* another /* nested */ */ " + product},
		{product + " /* trace=3 */", product + " /* trace=4 */"},
		{product + " -- trace=5", product + " -- trace=6"},
		{"SELECT name /* a */ FROM product WHERE id = $1", "SELECT name /* bc */ FROM product WHERE id = $1"},
	} {
		for _, text := range texts {
			readInt(t, ctx, db, text, 1)
		}
		asked := 0
		for _, text := range texts {
			asked += f.count(text)
		}
		if asked > 1 {
			t.Errorf("asked %d times for one statement: %q", asked, texts)
		}
	}
	if n := f.count("/* trace=1 */ " + product); n != 1 {
		t.Errorf("the server did not get the caller's own text: %q", f.texts())
	}
}

type countingValuer struct {
	asked *int
	v     driver.Value
}

func (v countingValuer) Value() (driver.Value, error) { *v.asked++; return v.v, nil }

func TestValuerIsAskedOnce(t *testing.T) {
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	for i := 1; i <= 3; i++ {
		asked := 0
		var got string
		if err := db.QueryRowContext(long(t.Context()), product, countingValuer{&asked, "k"}).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if asked != 1 {
			t.Errorf("read %d asked the Valuer %d times", i, asked)
		}
	}
	wantCalls(t, f, product, 1)
}

// What no rule converts is for the driver to judge; two of them never share.
func TestArgumentsOnlyTheDriverKnows(t *testing.T) {
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	type point struct{ X, Y int }
	for range 2 {
		for _, arg := range []any{
			netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), point{1, 2}, point{1, 3},
			[]string{"a", "bc"}, []string{"ab", "c"}, []int{1}, []int{1, 2}, map[string]int{"a": 1}, map[string]int{"a": 2}, [2]int{1, 2}, [2]int{2, 1},
		} {
			var got string
			err := db.QueryRowContext(long(t.Context()), product, arg).Scan(&got)
			if err != nil {
				continue // an error is an answer, too
			}
			if want := product + "|" + spell([]driver.NamedValue{{Ordinal: 1, Value: arg}}); got != want {
				t.Errorf("%#v: got %s", arg, got)
			}
		}
	}
	readAgain(t, db)
}

// readAgain shows that the handle still works.
func readAgain(t *testing.T, db *sql.DB) {
	t.Helper()
	var v any
	if err := db.QueryRowContext(t.Context(), "SELECT v FROM still_there").Scan(&v); err != nil {
		t.Errorf("the handle is unusable: %v", err)
	}
}

// A []byte that its owner changes after the call changes neither the key nor
// what the load sends.
func TestBytesChangedAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		f := newFake(t, func(_ context.Context, c call) reply {
			<-gate
			return value(spell(c.args))
		})
		db, _ := openFake(t, f, quiet())
		arg := []byte("before")
		ctx, cancel := context.WithCancel(long(t.Context()))
		done := make(chan error)
		go func() {
			var s string
			done <- db.QueryRowContext(ctx, product, arg).Scan(&s)
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err == nil {
			t.Error("a cancelled read succeeded")
		}
		copy(arg, "after!") // its owner may, since the call has returned
		close(gate)
		synctest.Wait()
		for _, key := range []string{"before", "after!"} {
			var got string
			if err := db.QueryRowContext(long(t.Context()), product, []byte(key)).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if want := spell(converted(t, []any{[]byte(key)})); got != want {
				t.Errorf("%s: got %s, want %s", key, got, want)
			}
		}
		wantCalls(t, f, product, 2)
	})
}

func TestBytesChangedBetweenCalls(t *testing.T) {
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	arg := []byte("aaaa")
	for _, fill := range []byte("abcab") {
		copy(arg, bytes.Repeat([]byte{fill}, 4))
		var got string
		if err := db.QueryRowContext(long(t.Context()), product, arg).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if want := product + "|" + spell(converted(t, []any{arg})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	wantCalls(t, f, product, 3)
}

func TestHugeAndOddTexts(t *testing.T) {
	f := speller(t)
	db, _ := openFake(t, f, quiet())
	for _, text := range []string{
		"SELECT '" + strings.Repeat("x", 1<<20) + "' FROM product",
		"SELECT '\x00' FROM product", "SELECT \x00", "SELECT '\xff\xfe' FROM product", "\xff", "", " ", ";", "'", "/*", "$$", "$q$", "E'\\", "\"",
		"SELECT v FROM product WHERE ((((", strings.Repeat("(", 100_000), strings.Repeat("/*", 100_000), "/* cachedpgx:", "/* cachedpgx: ttl=",
	} {
		for range 2 {
			var got string
			if err := db.QueryRowContext(long(t.Context()), text).Scan(&got); err != nil {
				t.Fatalf("%.40q: %v", text, err)
			}
			if got != text+"|" {
				t.Errorf("%.40q was answered as %.40q", text, got)
			}
		}
	}
	readAgain(t, db)
}

func TestPartitionSeparates(t *testing.T) {
	type tenant struct{}
	f := newFake(t, nil)
	cfg := quiet()
	cfg.Partition = func(ctx context.Context) string { s, _ := ctx.Value(tenant{}).(string); return s }
	db, _ := openFake(t, f, cfg)
	seen := map[int]string{}
	for _, name := range []string{"", "a", "b", "a\x00", "ab", "A", product, "a" + product} {
		ctx := context.WithValue(long(t.Context()), tenant{}, name)
		first := readInt(t, ctx, db, product, 1)
		if other, ok := seen[first]; ok {
			t.Errorf("%q got the rows of %q", name, other)
		}
		seen[first] = name
		if again := readInt(t, ctx, db, product, 1); again != first {
			t.Errorf("%q is not served its own rows: %d, %d", name, first, again)
		}
	}
}

func TestPartitionThatPanicsBypasses(t *testing.T) {
	f := newFake(t, nil)
	cfg := quiet()
	cfg.Partition = func(context.Context) string { panic("no tenant in this context") }
	db, c := openFake(t, f, cfg)
	for want := 1; want <= 3; want++ {
		if got := readInt(t, long(t.Context()), db, product, 1); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	}
	if s := c.Stats(); s.Entries != 0 || s.Hits != 0 || total(s.Bypasses) < 3 {
		t.Errorf("stats: %+v", s)
	}
}

func total(m map[string]uint64) (n uint64) {
	for _, v := range m {
		n += v
	}
	return n
}

// Column names, duplicates among them, and columns of no name are kept.
func TestColumnNamesAreKept(t *testing.T) {
	cols := []string{"id", "id", "", "ID", "a b"}
	f := newFake(t, func(context.Context, call) reply {
		return oneSet(resultSet{cols: cols, rows: [][]driver.Value{{int64(1), int64(2), int64(3), int64(4), int64(5)}}})
	})
	db, _ := openFake(t, f, quiet())
	for range 3 {
		rows, err := db.QueryContext(long(t.Context()), product, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows.Columns()
		if err != nil || !reflect.DeepEqual(got, cols) {
			t.Errorf("columns %q, %v", got, err)
		}
		var v [5]int
		for rows.Next() {
			if err := rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4]); err != nil || v != [5]int{1, 2, 3, 4, 5} {
				t.Errorf("row %v, %v", v, err)
			}
		}
		rows.Close()
	}
	wantCalls(t, f, product, 1)
}
