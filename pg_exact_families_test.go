package cachedpgx_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"

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
