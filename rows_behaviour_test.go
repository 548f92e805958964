package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// Promise 1: the same answer. Fault kinds 10, 11 and 14.

func TestLimitsAreInclusive(t *testing.T) {
	many := func(n int) reply { return oneSet(numbers(n)) }
	// text answers values that take n bytes each on the wire, where four bytes
	// of length stand before a value.
	text := func(n ...int) reply {
		s := resultSet{cols: []string{"v"}}
		for _, n := range n {
			s.rows = append(s.rows, []driver.Value{strings.Repeat("x", n-4)})
		}
		return oneSet(s)
	}
	for _, tt := range []struct {
		name   string
		policy cachedpgx.Policy
		reply  reply
		rows   int
		cached bool
	}{
		{"rows, at the limit", cachedpgx.Policy{MaxRows: 10}, many(10), 10, true},
		{"rows, one over", cachedpgx.Policy{MaxRows: 10}, many(11), 11, false},
		{"rows, far over", cachedpgx.Policy{MaxRows: 10}, many(5000), 5000, false},
		{"rows, no limit", cachedpgx.Policy{MaxRows: cachedpgx.Off}, many(20000), 20000, true},
		{"rows, the default", cachedpgx.Policy{}, many(10000), 10000, true},
		{"rows, one over the default", cachedpgx.Policy{}, many(10001), 10001, false},
		{"bytes, at the limit", cachedpgx.Policy{MaxResultBytes: 1000}, text(1000), 1, true},
		{"bytes, one over", cachedpgx.Policy{MaxResultBytes: 1000}, text(1001), 1, false},
		{"bytes, over in the third row", cachedpgx.Policy{MaxResultBytes: 1000}, text(500, 500, 5, 500), 4, false},
		{"bytes, at the limit in two rows", cachedpgx.Policy{MaxResultBytes: 1000}, text(500, 500), 2, true},
		{"bytes, the default", cachedpgx.Policy{}, text(1 << 20), 1, true},
		{"bytes, one over the default", cachedpgx.Policy{}, text(1<<20 + 1), 1, false},
		{"bytes, no limit", cachedpgx.Policy{MaxResultBytes: cachedpgx.Off}, text(2 << 20), 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, func(context.Context, call) reply { return tt.reply })
			cfg := quiet()
			cfg.Policy = tt.policy
			cfg.Policy.Jitter = cachedpgx.Off
			db, c := openFake(t, f, cfg)
			var first []string
			for i := range 3 {
				got, err := readAll[string](long(t.Context()), db, product, 1)
				if err != nil || len(got) != tt.rows {
					t.Fatalf("%d rows, %v", len(got), err)
				}
				if i == 0 {
					first = got
				} else if !slices.Equal(got, first) {
					t.Fatal("other rows than the first time")
				}
			}
			want, entries := 3, int64(0)
			if tt.cached {
				want, entries = 1, 1
			}
			wantCalls(t, f, product, want)
			if s := c.Stats(); s.Entries != entries {
				t.Errorf("%d entries", s.Entries)
			}
		})
	}
}

// Everybody who asks for what is too big gets all of it.
func TestTooBigForManyAtOnce(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply { return oneSet(numbers(500)) })
	cfg := quiet()
	cfg.Policy.MaxRows = 10
	db, _ := openFake(t, f, cfg)
	within(t, 20*time.Second, func() {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got, err := readAll[int](long(t.Context()), db, product, 1)
				if err != nil || len(got) != 500 || got[0] != 0 || got[499] != 499 {
					t.Errorf("%d rows, %v", len(got), err)
				}
			})
		}
		wg.Wait()
	})
}

// What is too big is a stream: its first rows are there before its last.
func TestTooBigIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		f := newFake(t, func(context.Context, call) reply {
			s := numbers(100)
			s.before = func(row int) {
				if row == 50 {
					<-gate
				}
			}
			return oneSet(s)
		})
		cfg := quiet()
		cfg.Policy.MaxRows = 10
		db, _ := openFake(t, f, cfg)
		for _, ctx := range []context.Context{long(t.Context()), long(context.Background())} {
			rows := make(chan int, 200)
			go func() {
				defer close(rows)
				r, err := db.QueryContext(ctx, product, 1)
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				for r.Next() {
					var v int
					if err := r.Scan(&v); err != nil {
						t.Error(err)
					}
					rows <- v
				}
				if err := r.Err(); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			if n := len(rows); n < 10 {
				t.Errorf("%d rows have come before row 50 is ready", n)
			}
			gate <- struct{}{}
			n := 0
			for v := range rows {
				if v != n {
					t.Errorf("row %d is %d", n, v)
				}
				n++
			}
			if n != 100 {
				t.Errorf("%d rows", n)
			}
		}
	})
}

// A stream that its reader leaves gives its connection back.
func TestTooBigClosedEarly(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply { return oneSet(numbers(500)) })
	cfg := quiet()
	cfg.Policy.MaxRows = 10
	db, c := openFake(t, f, cfg)
	c.Server().SetMaxOpenConns(1)
	within(t, 20*time.Second, func() {
		for range 5 {
			readInt(t, long(t.Context()), db, product, 1)
			rows, err := db.QueryContext(long(t.Context()), product, 1)
			if err != nil {
				t.Error(err)
				return
			}
			rows.Next()
			rows.Close()
		}
	})
	if n := c.Server().Stats().InUse; n != 0 {
		t.Errorf("%d server connections in use", n)
	}
}

// Who reads one row, or leaves early, fills the cache with the whole.
func TestPartlyReadIsStoredWhole(t *testing.T) {
	leave := map[string]func(*testing.T, context.Context, *sql.DB){
		"QueryRow": func(t *testing.T, ctx context.Context, db *sql.DB) { readInt(t, ctx, db, product, 1) },
		"Close after one row": func(t *testing.T, ctx context.Context, db *sql.DB) {
			rows, err := db.QueryContext(ctx, product, 1)
			if err != nil {
				t.Fatal(err)
			}
			rows.Next()
			rows.Close()
		},
		"Close at once": func(t *testing.T, ctx context.Context, db *sql.DB) {
			rows, err := db.QueryContext(ctx, product, 1)
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
		},
	}
	for name, part := range leave {
		for _, background := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, background=%t", name, background), func(t *testing.T) {
				f := newFake(t, func(context.Context, call) reply { return oneSet(numbers(7)) })
				db, _ := openFake(t, f, quiet())
				ctx := long(context.Background())
				if !background {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					defer cancel()
				}
				part(t, ctx, db)
				got, err := readAll[int](long(t.Context()), db, product, 1)
				if err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
					t.Errorf("got %v, %v", got, err)
				}
				wantCalls(t, f, product, 1)
			})
		}
	}
}

// An error after k rows: k rows, then the error, and nothing is stored.
func TestErrorInRowK(t *testing.T) {
	for _, k := range []int{0, 1, 5} {
		for _, readers := range []int{1, 5} {
			t.Run(fmt.Sprintf("k=%d, %d readers", k, readers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gate := make(chan struct{})
					f := newFake(t, func(_ context.Context, c call) reply {
						s := numbers(k)
						if c.nth == 1 {
							<-gate
							s.err = errOops
						}
						return oneSet(s)
					})
					db, c := openFake(t, f, quiet())
					type result struct {
						rows []int
						err  error
					}
					results := make(chan result, readers)
					for range readers {
						go func() {
							var r result
							r.rows, r.err = readAll[int](long(t.Context()), db, product, 1)
							results <- r
						}()
					}
					synctest.Wait()
					close(gate)
					for range readers {
						r := <-results
						if len(r.rows) != k || !errors.Is(r.err, errOops) {
							t.Errorf("got %v, %v", r.rows, r.err)
						}
					}
					if s := c.Stats(); s.Entries+s.NegativeEntries != 0 {
						t.Error("a part is stored")
					}
					if got, err := readAll[int](long(t.Context()), db, product, 1); err != nil || len(got) != k {
						t.Errorf("afterwards: %v, %v", got, err)
					}
					wantCalls(t, f, product, 2)
				})
			})
		}
	}
}

// keeper is a Scanner that keeps its input and spoils it.
type keeper struct{ kept []byte }

func (k *keeper) Scan(src any) error {
	k.kept, _ = src.([]byte)
	for i := range k.kept {
		k.kept[i] = '!'
	}
	return nil
}

func TestNobodySharesBytes(t *testing.T) {
	spoil := map[string]func(*testing.T, *sql.Rows){
		"RawBytes": func(t *testing.T, rows *sql.Rows) {
			var b sql.RawBytes
			if err := rows.Scan(&b); err != nil || string(b) != "intact" {
				t.Fatalf("got %q, %v", b, err)
			}
			copy(b, "!!!!!!!!")
		},
		"RawBytes appended to": func(t *testing.T, rows *sql.Rows) {
			var b sql.RawBytes
			if err := rows.Scan(&b); err != nil || string(b) != "intact" {
				t.Fatalf("got %q, %v", b, err)
			}
			_ = append(b[:0], "!!!!!!!!!!!!!!!!"...)
		},
		"[]byte": func(t *testing.T, rows *sql.Rows) {
			var b []byte
			if err := rows.Scan(&b); err != nil || string(b) != "intact" {
				t.Fatalf("got %q, %v", b, err)
			}
			copy(b, "!!!!!!!!")
		},
		"any": func(t *testing.T, rows *sql.Rows) {
			var v any
			if err := rows.Scan(&v); err != nil || string(v.([]byte)) != "intact" {
				t.Fatalf("got %q, %v", v, err)
			}
			copy(v.([]byte), "!!!!!!!!")
		},
		"Scanner": func(t *testing.T, rows *sql.Rows) {
			var k keeper
			if err := rows.Scan(&k); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(context.Context, call) reply {
				return oneSet(resultSet{cols: []string{"v"}, rows: [][]driver.Value{{[]byte("intact")}, {[]byte("intact")}, {[]byte("intact")}}})
			})
			db, _ := openFake(t, f, quiet())
			var wg sync.WaitGroup
			for range 8 { // a leader, its followers, and hits
				wg.Go(func() {
					for range 3 {
						rows, err := db.QueryContext(long(context.Background()), product, 1)
						if err != nil {
							t.Error(err)
							return
						}
						for rows.Next() {
							spoil(t, rows)
						}
						rows.Close()
					}
				})
			}
			wg.Wait()
			got, err := readAll[string](long(t.Context()), db, product, 1)
			if err != nil || !slices.Equal(got, []string{"intact", "intact", "intact"}) {
				t.Errorf("got %q, %v", got, err)
			}
			wantCalls(t, f, product, 1)
		})
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	instant := time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.FixedZone("CET", 3600))
	row := []driver.Value{int64(-1), 1.5, true, "text", []byte("bytes"), instant, nil, "", []byte{}, []byte(nil), "\x00", int64(1) << 62}
	cols := make([]string, len(row))
	f := newFake(t, func(context.Context, call) reply {
		return oneSet(resultSet{cols: cols, rows: [][]driver.Value{row, row}})
	})
	db, _ := openFake(t, f, quiet())
	read := func(ctx context.Context) (all [][]any) {
		rows, err := db.QueryContext(ctx, product, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			got := make([]any, len(row))
			to := make([]any, len(row))
			for i := range got {
				to[i] = &got[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			all = append(all, got)
		}
		return all
	}
	plain := read(t.Context())
	for name, got := range map[string][][]any{"miss": read(long(t.Context())), "hit": read(long(t.Context()))} {
		if !reflect.DeepEqual(got, plain) {
			t.Errorf("%s:\n%#v, want\n%#v", name, got, plain)
		}
	}
	wantCalls(t, f, product, 2)
}

// columnTypes is all that database/sql tells of the columns.
func columnTypes(t *testing.T, db *sql.DB, ctx context.Context) []string {
	t.Helper()
	rows, err := db.QueryContext(ctx, product, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range types {
		length, hasLength := c.Length()
		nullable, knowsNull := c.Nullable()
		precision, scale, hasScale := c.DecimalSize()
		out = append(out, fmt.Sprint(c.Name(), c.DatabaseTypeName(), length, hasLength, nullable, knowsNull, precision, scale, hasScale, c.ScanType()))
	}
	return out
}

func TestColumnTypes(t *testing.T) {
	for _, typed := range []bool{true, false} {
		t.Run(fmt.Sprintf("typed=%t", typed), func(t *testing.T) {
			f := newFake(t, func(context.Context, call) reply {
				return oneSet(resultSet{cols: []string{"a", "b", "c"}, rows: [][]driver.Value{{int64(1), "x", nil}}, types: typed})
			})
			plain := sql.OpenDB(f)
			defer plain.Close()
			want := columnTypes(t, plain, t.Context())
			db, _ := openFake(t, f, quiet())
			for name, ctx := range map[string]context.Context{"bypass": t.Context(), "miss or hit": long(t.Context()), "hit or miss": long(t.Context())} {
				if got := columnTypes(t, db, ctx); !reflect.DeepEqual(got, want) {
					t.Errorf("%s:\n%q, the driver says\n%q", name, got, want)
				}
			}
		})
	}
}

func TestSeveralResultSetsPass(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply {
		a, b := numbers(2), numbers(3)
		b.cols = []string{"w"}
		return reply{sets: []resultSet{a, b, {cols: []string{"x"}}}}
	})
	db, _ := openFake(t, f, quiet())
	for name, ctx := range map[string]context.Context{"unmarked": t.Context(), "marked": long(t.Context()), "background": long(context.Background())} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				rows, err := db.QueryContext(ctx, product, 1)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for more := true; more; more = rows.NextResultSet() {
					cols, err := rows.Columns()
					if err != nil {
						t.Fatal(err)
					}
					n := 0
					for rows.Next() {
						n++
					}
					got = append(got, fmt.Sprint(cols, n))
				}
				if err := errors.Join(rows.Err(), rows.Close()); err != nil {
					t.Fatal(err)
				}
				if want := []string{"[v] 2", "[w] 3", "[x] 0"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

// Rows of no column are rows.
func TestRowsOfNoColumn(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply {
		return oneSet(resultSet{cols: []string{}, rows: [][]driver.Value{{}, {}, {}}})
	})
	db, _ := openFake(t, f, quiet())
	for range 2 {
		rows, err := db.QueryContext(long(t.Context()), product, 1)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		rows.Close()
		if n != 3 {
			t.Errorf("%d rows", n)
		}
	}
}
