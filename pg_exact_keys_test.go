package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Types as services have them.
type (
	exactInt       int
	exactString    string
	exactLevel     int      // its words say less than its value
	exactUUID      [16]byte // with the methods of the usual uuid packages
	exactPlainUUID [16]byte
	exactDecimal   struct { // as the usual decimal packages: a Valuer that gives text
		value *big.Int
		scale int
	}
	exactJSON  struct{ A, B int }
	exactMoney struct{ Cents int64 } // a Valuer on its pointer
)

func (l exactLevel) String() string { return "level " + strings.Repeat("I", int(l)%2) }

func (u exactUUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
func (u exactUUID) Value() (driver.Value, error) { return u.String(), nil }

func (d exactDecimal) Value() (driver.Value, error) {
	if d.value == nil {
		return nil, nil
	}
	return d.value.String() + fmt.Sprintf("e%d", -d.scale), nil
}

func (m *exactMoney) Value() (driver.Value, error) {
	if m == nil {
		return nil, nil
	}
	return m.Cents, nil
}

// They are one each, since pgx's errors show their addresses.
var (
	exactDest = new(int)
	exactChan = make(chan int)
)

func exactPtr[T any](v T) *T { return &v }

// exactEcho is a read that brings its argument back as that type.
func exactEcho(typ string) string {
	return "SELECT id, $1::" + typ + " AS v FROM exact_k WHERE id = 1"
}

func exactFamilies() []exactFamily {
	instant := time.Date(2024, 2, 29, 23, 30, 0, 123456000, time.UTC)
	west, east := time.FixedZone("west", -8*3600), time.FixedZone("east", 2*3600)
	now := time.Now()
	return []exactFamily{
		{name: "1, '1' and true, to an int", text: "SELECT id, t FROM exact_k WHERE id = $1", asks: func() [][]any {
			return [][]any{{1}, {"1"}, {true}, {1.0}, {1.5}, {2}, {" 2 "}, {nil}, {""}, {[]byte("1")}, {exactInt(2)}, {exactString("3")}, {exactLevel(3)},
				{exactLevel(1)}, {'2'}, {byte(1)}, {big.NewInt(2)}}
		}},
		{name: "1, '1' and true, to text", text: exactEcho("text"), asks: func() [][]any {
			return [][]any{{1}, {"1"}, {true}, {"true"}, {"t"}, {1.0}, {"1 "}, {" 1"}, {[]byte("1")}, {exactInt(1)}, {exactString("1")}, {exactLevel(1)},
				{exactLevel(2)}, {big.NewInt(1)}, {json.RawMessage("1")}, {json.Number("1")}, {exactString("1 ")}}
		}},
		{name: "1, '1' and true, to a bool", text: exactEcho("bool"), asks: func() [][]any {
			return [][]any{{true}, {false}, {"true"}, {"f"}, {1}, {0}, {nil}, {exactPtr(true)}, {exactPtr(false)}, {(*bool)(nil)}, {pgtype.Bool{Valid: true}}}
		}},
		{name: "NULL and ''", text: exactEcho("text"), asks: func() [][]any {
			return [][]any{{nil}, {""}, {(*string)(nil)}, {exactPtr("")}, {sql.NullString{}}, {sql.NullString{Valid: true}}, {sql.Null[string]{}},
				{sql.Null[string]{Valid: true}}, {pgtype.Text{}}, {pgtype.Text{Valid: true}}, {[]byte(nil)}, {[]byte{}}, {"NULL"}, {"null"}, {"<nil>"}, {exactString("")},
				{sql.NullString{String: "x"}}, {sql.NullString{String: "x", Valid: true}}, {exactPtr(exactPtr(""))}, {exactPtr((*string)(nil))}}
		}},
		{name: "empty and nil bytes", text: exactEcho("bytea"), asks: func() [][]any {
			return [][]any{{nil}, {[]byte(nil)}, {[]byte{}}, {[]byte{0}}, {[]byte{0, 0}}, {""}, {"a"}, {[]byte("a")}, {`\x61`}, {[]byte(`\x61`)},
				{json.RawMessage(nil)}, {json.RawMessage{}}, {exactPtr([]byte{})}, {exactPtr([]byte(nil))}, {[1]byte{'a'}}}
		}},
		{name: "edges of floats", text: exactEcho("float8"), asks: func() [][]any {
			return [][]any{{math.NaN()}, {math.Float64frombits(0x7ff8000000000002)}, {-math.NaN()}, {"NaN"}, {math.Inf(1)}, {math.Inf(-1)}, {0.0}, {math.Copysign(0, -1)},
				{math.SmallestNonzeroFloat64}, {math.MaxFloat64}, {float32(0.1)}, {0.1}, {math.Nextafter(0.1, 1)}, {1}, {1.0}, {"1e0"}, {float32(1)}, {exactPtr(math.NaN())}}
		}},
		{name: "edges of small floats", text: exactEcho("float4"), asks: func() [][]any {
			return [][]any{{float32(math.NaN())}, {float32(0.1)}, {0.1}, {math.Nextafter32(0.1, 1)}, {float32(math.Inf(-1))}, {math.Copysign(0, -1)}, {float32(0)}}
		}},
		{name: "2^53 and its neighbours", text: exactEcho("int8"), asks: func() [][]any {
			return [][]any{{int64(1<<53 - 1)}, {int64(1 << 53)}, {int64(1<<53 + 1)}, {float64(1 << 53)}, {float64(1<<53 + 2)}, {"9007199254740993"}, {uint64(1<<53 + 1)},
				{int64(math.MinInt64)}, {int64(math.MaxInt64)}, {uint64(math.MaxUint64)}, {-1}, {uint64(1<<63 - 1)}, {exactPtr(int64(1<<53 + 1))}}
		}},
		{name: "2^53 as numeric", text: exactEcho("numeric"), asks: func() [][]any {
			return [][]any{{int64(1<<53 - 1)}, {int64(1 << 53)}, {int64(1<<53 + 1)}, {float64(1 << 53)}, {float64(1<<53 + 1)}, {"9007199254740993"}, {"9007199254740993.0"},
				{uint64(math.MaxUint64)}, {int64(-1)}, {math.NaN()}, {math.Inf(1)}, {0.1}, {float32(0.1)}, {"0.10"}, {"0.1"},
				{pgtype.Numeric{Int: big.NewInt(10), Exp: -2, Valid: true}}, {pgtype.Numeric{Int: big.NewInt(1), Exp: -1, Valid: true}}, {pgtype.Numeric{NaN: true, Valid: true}},
				{pgtype.Numeric{}}, {pgtype.Numeric{Int: big.NewInt(10), Exp: -2}}}
		}},
		{name: "equal on the wire", text: "SELECT id, t FROM exact_k WHERE id = $1", asks: func() [][]any {
			return [][]any{{2}, {int8(2)}, {int16(2)}, {int32(2)}, {int64(2)}, {uint(2)}, {uint8(2)}, {uint16(2)}, {uint32(2)}, {uint64(2)}, {exactInt(2)}, {exactPtr(2)},
				{pgtype.Int4{Int32: 2, Valid: true}}, {pgtype.Int8{Int64: 2, Valid: true}}, {sql.NullInt64{Int64: 2, Valid: true}}, {sql.Null[int32]{V: 2, Valid: true}},
				{exactPtr(exactPtr(2))}, {3}, {int8(3)}, {exactPtr(3)}}
		}},
		{name: "zones of one instant, with a zone", text: exactEcho("timestamptz"), alike: true, asks: func() [][]any {
			return [][]any{{instant}, {instant.In(west)}, {instant.In(east)}, {exactPtr(instant.In(east))}, {pgtype.Timestamptz{Time: instant.In(west), Valid: true}},
				{sql.NullTime{Time: instant.In(east), Valid: true}}}
		}},
		{name: "zones of one instant, without a zone", text: exactEcho("timestamp"), asks: func() [][]any {
			return [][]any{{instant}, {instant.In(west)}, {instant.In(east)}, {exactPtr(instant.In(east))}, {pgtype.Timestamp{Time: instant.In(west), Valid: true}}}
		}},
		{name: "zones of one instant, as a day", text: exactEcho("date"), asks: func() [][]any {
			return [][]any{{instant}, {instant.In(west)}, {instant.In(east)}, {exactPtr(instant.In(east))}, {pgtype.Date{Time: instant.In(east), Valid: true}},
				{pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true}}, {pgtype.Date{InfinityModifier: pgtype.NegativeInfinity, Valid: true}}, {pgtype.Date{}}}
		}},
		{name: "zones of one instant, as text", text: exactEcho("text"), asks: func() [][]any {
			return [][]any{{instant}, {instant.In(west)}, {instant.In(east)}, {instant.String()}, {instant.In(west).String()}}
		}},
		{name: "the monotonic clock", text: exactEcho("timestamptz"), asks: func() [][]any {
			return [][]any{{now}, {now.Round(0)}, {now.Add(time.Microsecond)}, {now.Add(-time.Microsecond)}, {now.Truncate(time.Second)}, {now.UTC()}}
		}},
		{name: "times at their edges", text: exactEcho("timestamptz"), asks: func() [][]any {
			return [][]any{{time.Time{}}, {time.Unix(0, 0)}, {time.Unix(0, 999)}, {time.Unix(0, 1000)}, {time.Unix(0, -1)}, {time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
				{time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)}, {pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}},
				{pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}}, {pgtype.Timestamptz{}}, {(*time.Time)(nil)}, {time.Date(290000, 1, 1, 0, 0, 0, 0, time.UTC)}}
		}},
		{name: "nil and empty slices", text: exactEcho("int4[]"), asks: func() [][]any {
			return [][]any{{[]int32(nil)}, {[]int32{}}, {nil}, {[]int32{0}}, {[]*int32{nil}}, {[]int64{}}, {[]int{1, 23}}, {[]int{12, 3}}, {[]int{1, 2, 3}}, {[2]int{1, 2}}, {[]any{1, nil}}, {"{}"}, {"{1,2,3}"}, {"[0:2]={1,2,3}"}, {exactPtr([]int32{})}, {exactPtr([]int32(nil))}, {[]exactInt{1, 23}},
				{pgtype.FlatArray[int32]{1, 2, 3}}, {pgtype.Array[int32]{Elements: []int32{1, 2, 3}, Dims: []pgtype.ArrayDimension{{Length: 3, LowerBound: 0}}, Valid: true}},
				{pgtype.Array[int32]{Elements: []int32{1, 2, 3}, Dims: []pgtype.ArrayDimension{{Length: 3, LowerBound: 1}}, Valid: true}}}
		}},
		{name: "slices of slices", text: exactEcho("int4[]"), forgets: true, asks: func() [][]any {
			return [][]any{{[][]int32{{1, 2, 3}}}, {[][]int32{{1}, {2}, {3}}}, {[][]int32{{1, 2}, {3, 4}}}}
		}},
		{name: "slices of strings", text: exactEcho("text[]"), asks: func() [][]any {
			return [][]any{{[]string(nil)}, {[]string{}}, {[]string{""}}, {[]string{"a", "b"}}, {[]string{"a,b"}}, {[]string{`a","b`}}, {[]string{"NULL"}}, {[]*string{nil}},
				{[]string{"{}"}}, {[]string{"a b"}}, {[]string{"a", "", "b"}}, {[]string{"a", "b", ""}}, {`{a,b}`}, {`{"a,b"}`}, {[]exactString{"a", "b"}}}
		}},
		{name: "slices to ANY", text: "SELECT id, t FROM exact_k WHERE id = ANY($1) ORDER BY id", asks: func() [][]any {
			return [][]any{{[]int{1, 2}}, {[]int{2, 1, 1}}, {[]int{12}}, {[]int{}}, {[]int(nil)}, {[]int64{3}}, {[]string{"3"}}}
		}},
		{name: "typed nils", text: exactEcho("int4"), asks: func() [][]any {
			return [][]any{{nil}, {(*int)(nil)}, {(*exactInt)(nil)}, {(*exactMoney)(nil)}, {&exactMoney{}}, {&exactMoney{1}}, {&exactMoney{2}}, {exactMoney{3}}, {sql.NullInt32{}},
				{pgtype.Int4{}}, {0}, {exactPtr(0)}, {exactPtr((*int)(nil))}, {(*sql.NullInt32)(nil)}, {(*exactDecimal)(nil)}}
		}},
		{name: "frames of two texts", text: "SELECT id, $1::text AS a, $2::text AS b FROM exact_k WHERE id = 1", asks: func() [][]any {
			return [][]any{{"a", "bc"}, {"ab", "c"}, {"", "abc"}, {"abc", ""}, {"a\x01", "b"}, {"a", "\x01b"}, {"a|b", "c"}, {"a", "b|c"}, {"1", "1"}, {"11", ""}, {nil, "x"}, {"x", nil}, {nil, nil},
				{"", ""}, {"a,b", ""}, {"a", ",b"}, {"\x04\x00", "z"}, {"\\0", "z"}, {"a'", "b"}, {"a''", "b"}, {"a\\", "b"}, {"a b", "b"}, {"a  b", "b"}, {"A", "bc"}, {"a", "bc "}}
		}},
		{name: "frames of bytes with NULs", text: "SELECT id, $1::bytea AS a, $2::bytea AS b FROM exact_k WHERE id = 1", asks: func() [][]any {
			return [][]any{{[]byte{0}, []byte{}}, {[]byte{}, []byte{0}}, {[]byte{0, 0}, []byte{}}, {[]byte{1, 0, 0, 0, 2}, []byte{3}}, {[]byte{1}, []byte{0, 0, 0, 2, 3}},
				{[]byte("a\x00b"), []byte("c")}, {[]byte("a"), []byte("b\x00c")}, {nil, []byte{}}, {[]byte{}, nil}}
		}},
		{name: "arguments that change places", text: "SELECT id, $1::int8 AS a, $2::int8 AS b FROM exact_k WHERE id = 1", asks: func() [][]any {
			return [][]any{{1, 2}, {2, 1}, {12, 0}, {1, 20}, {0, 1}, {1, 0}, {int64(1) << 32, 0}, {0, int64(1) << 32}, {256, 1}, {1, 256}}
		}},
		{name: "invalid text and odd characters", text: exactEcho("text"), asks: func() [][]any {
			return [][]any{{"\xff"}, {"\ufffd"}, {"é"}, {"e\u0301"}, {"a\x00b"}, {"a"}, {"\u200b"}, {" "}, {"\t"}, {"\n"}, {"\r\n"}, {strings.Repeat("x", 5000)}, {strings.Repeat("x", 4999) + "y"}}
		}},
		{name: "netip.Addr", text: exactEcho("inet"), asks: func() [][]any {
			return [][]any{{netip.MustParseAddr("10.0.0.1")}, {netip.MustParseAddr("10.0.0.2")}, {netip.MustParseAddr("::ffff:10.0.0.1")}, {netip.MustParseAddr("::1")}, {netip.Addr{}},
				{netip.MustParsePrefix("10.0.0.1/32")}, {netip.MustParsePrefix("10.0.0.1/8")}, {net.ParseIP("10.0.0.1")}, {net.IP{10, 0, 0, 1}}, {"10.0.0.1"}, {"10.0.0.1/8"}, {exactPtr(netip.MustParseAddr("10.0.0.2"))},
				{(*netip.Addr)(nil)}, {net.IPNet{IP: net.IP{10, 0, 0, 0}, Mask: net.CIDRMask(8, 32)}}}
		}},
		{name: "netip.Prefix", text: exactEcho("cidr"), asks: func() [][]any {
			return [][]any{{netip.MustParsePrefix("10.0.0.0/8")}, {netip.MustParsePrefix("10.0.0.0/9")}, {netip.MustParsePrefix("10.1.0.0/16")}, {netip.MustParsePrefix("::/0")}, {netip.Prefix{}}}
		}},
		{name: "uuid as bytes", text: exactEcho("uuid"), asks: func() [][]any {
			return [][]any{{[16]byte{1}}, {[16]byte{15: 1}}, {[16]byte{}}, {exactPlainUUID{1}}, {exactUUID{1}}, {exactUUID{2}}, {exactPtr(exactUUID{2})}, {(*exactUUID)(nil)},
				{pgtype.UUID{Bytes: [16]byte{3}, Valid: true}}, {pgtype.UUID{Bytes: [16]byte{3}}}, {"01000000-0000-0000-0000-000000000000"}, {[]byte{0: 1, 15: 0}}, {exactUUID{1}.String()}}
		}},
		{name: "uuid as text", text: exactEcho("text"), asks: func() [][]any {
			return [][]any{{exactUUID{1}}, {exactUUID{2}}, {exactUUID{1}.String()}, {exactPlainUUID{1}}, {[16]byte{1}}}
		}},
		{name: "decimals", text: exactEcho("numeric"), asks: func() [][]any {
			return [][]any{{exactDecimal{big.NewInt(10), 1}}, {exactDecimal{big.NewInt(100), 2}}, {exactDecimal{big.NewInt(11), 1}}, {exactDecimal{}}, {&exactDecimal{big.NewInt(12), 1}},
				{exactDecimal{new(big.Int).Lsh(big.NewInt(1), 200), 3}}, {exactDecimal{new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 200), big.NewInt(1)), 3}}}
		}},
		{name: "durations", text: exactEcho("interval"), asks: func() [][]any {
			return [][]any{{time.Second}, {time.Minute}, {time.Microsecond}, {time.Nanosecond}, {-time.Second}, {time.Duration(0)}, {int64(time.Second)}, {"1 second"}, {24 * time.Hour},
				{pgtype.Interval{Days: 1, Valid: true}}, {pgtype.Interval{Months: 1, Valid: true}}, {pgtype.Interval{Microseconds: 86400e6, Valid: true}}, {pgtype.Interval{}}, {exactPtr(time.Second)}}
		}},
		{name: "durations as numbers", text: exactEcho("int8"), asks: func() [][]any {
			return [][]any{{time.Second}, {time.Minute}, {int64(time.Second)}, {"1s"}}
		}},
		{name: "json", text: exactEcho("json"), asks: func() [][]any {
			return [][]any{{json.RawMessage(`{"a": 1}`)}, {json.RawMessage(`{"a":1}`)}, {json.RawMessage(`{"a":  1}`)}, {map[string]any{"a": 1}}, {map[string]any{"a": 2}}, {map[string]any{"a": "1"}},
				{map[string]any(nil)}, {map[string]any{}}, {exactJSON{1, 2}}, {exactJSON{2, 1}}, {&exactJSON{1, 3}}, {(*exactJSON)(nil)}, {nil}, {[]int{1, 2}}, {[]int{}}, {[]int(nil)}, {`"x"`}, {`x`}, {"null"},
				{[]byte(`[1]`)}, {[]byte(`[1 ]`)}, {json.RawMessage(nil)}, {true}, {1.0}, {map[string]any{"a": 1, "b": 2, "c": 3, "d": 4}}, {map[string]any{"d": 4, "c": 3, "b": 2, "a": 1}}, {[]any{map[string]any{"a": nil}}}}
		}},
		{name: "jsonb", text: exactEcho("jsonb"), asks: func() [][]any {
			return [][]any{{json.RawMessage(`{"a": 1}`)}, {json.RawMessage(`{"a":2}`)}, {map[string]any{"a": 1}}, {exactJSON{1, 2}}, {&exactJSON{2, 1}}, {nil}, {map[string]any(nil)}, {`null`}, {`"x"`}, {[]string{"a"}}}
		}},
		{name: "ranges", text: exactEcho("int4range"), asks: func() [][]any {
			r := func(l, u int32, lt, ut pgtype.BoundType) pgtype.Range[pgtype.Int4] {
				return pgtype.Range[pgtype.Int4]{Lower: pgtype.Int4{Int32: l, Valid: true}, Upper: pgtype.Int4{Int32: u, Valid: true}, LowerType: lt, UpperType: ut, Valid: true}
			}
			return [][]any{{r(1, 5, pgtype.Inclusive, pgtype.Exclusive)}, {r(1, 5, pgtype.Inclusive, pgtype.Inclusive)}, {r(1, 5, pgtype.Exclusive, pgtype.Exclusive)}, {r(1, 5, pgtype.Unbounded, pgtype.Exclusive)},
				{pgtype.Range[pgtype.Int4]{LowerType: pgtype.Empty, UpperType: pgtype.Empty, Valid: true}}, {pgtype.Range[pgtype.Int4]{}}, {"[1,5)"}}
		}},
		{name: "points and bits", text: "SELECT id, $1::point AS p, $2::varbit AS b FROM exact_k WHERE id = 1", asks: func() [][]any {
			return [][]any{{pgtype.Point{P: pgtype.Vec2{X: 1, Y: 2}, Valid: true}, pgtype.Bits{Bytes: []byte{0x80}, Len: 1, Valid: true}}, {pgtype.Point{P: pgtype.Vec2{X: 2, Y: 1}, Valid: true}, pgtype.Bits{Bytes: []byte{0x80}, Len: 1, Valid: true}},
				{pgtype.Point{P: pgtype.Vec2{X: 1, Y: 2}, Valid: true}, pgtype.Bits{Bytes: []byte{0x80}, Len: 2, Valid: true}}, {pgtype.Point{}, pgtype.Bits{}}, {"(1,2)", "10"}}
		}},
		{name: "a type left open", text: "SELECT id, $1 AS v FROM exact_k WHERE id = 1", asks: func() [][]any {
			return [][]any{{1}, {"1"}, {true}, {1.5}, {nil}, {""}, {[]byte("1")}, {time.Second}, {exactLevel(1)}, {[]string{"1"}}, {exactUUID{1}}}
		}},
		{name: "named for database/sql", text: "SELECT id, t FROM exact_k WHERE id = $1", asks: func() [][]any {
			return [][]any{{sql.Named("id", 1)}, {sql.Named("id", 2)}, {sql.Named("x", 1)}, {1}, {sql.Out{Dest: exactDest}}}
		}},
		{name: "counts of arguments", text: "SELECT id, t FROM exact_k WHERE id = $1 AND t = $2", asks: func() [][]any {
			return [][]any{{2, "two"}, {2}, {}, {2, "two", 3}, {2, nil}, {"two", 2}}
		}},
		{name: "words for days", text: exactEcho("date"), server: "text that comes to a date may be 'today'", asks: func() [][]any {
			return [][]any{{"2024-02-29"}, {"2024-03-01"}, {"infinity"}, {"-infinity"}, {""}, {nil}}
		}},
	}
}

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
						e.same("the text is known", text, nil)
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
