package cachedpgx_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// What the random test of differential_test.go asks: schemas, rows, statements
// and arguments. Answers must depend on nothing but what the statement reads:
// each list has a total order, and no clock is read.

type diffLike uint8

const (
	likeOther diffLike = iota
	likeNumber
	likeText
	likeTime
	likeBool
	likeList
	likeJSON
	likeRange
)

// diffType is a type of columns and parameters.
type diffType struct {
	name string
	like diffLike
	eq   bool     // has =
	ord  bool     // has < and may be grouped by
	lits []string // text forms that the server takes, edges among them
	args []any    // Go values for it, beside its text forms
}

type (
	diffInt    int
	diffString string
	diffValuer struct{ v any } // a driver.Valuer by value
	diffFailer struct{}        // one that fails
	diffPoint  struct {        // one by pointer, which a nil pointer answers, too
		v string
	}
	diffRecord struct {
		A int    `json:"a"`
		B string `json:"b"`
	}
)

func (d diffValuer) Value() (driver.Value, error) { return d.v, nil }
func (diffFailer) Value() (driver.Value, error)   { return nil, errors.New("a Valuer's own error") }
func (d *diffPoint) Value() (driver.Value, error) {
	if d == nil {
		return "3", nil
	}
	return d.v, nil
}

func diffTo[T any](v T) *T { return &v }

var (
	diffDay  = time.Date(2024, 2, 29, 23, 30, 0, 123456789, time.UTC)
	diffUUID = [16]byte{0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11}
)

func diffTypes(version int) []*diffType {
	types := []*diffType{
		{"bool", likeBool, true, true, []string{"true", "false"}, []any{true, false, diffTo(true), sql.NullBool{}, pgtype.Bool{Bool: true, Valid: true}, diffValuer{false}, sql.Null[bool]{V: true, Valid: true}}},
		{"int2", likeNumber, true, true, []string{"3", "0", "-1", "32767"}, []any{3, int16(3), int8(-1), uint8(0), sql.NullInt16{Int16: 3, Valid: true}, pgtype.Int2{Int16: 3, Valid: true}, 32768}},
		{"int4", likeNumber, true, true, []string{"3", "0", "-1", "7", "2147483647"}, []any{3, int32(7), int64(-1), uint16(3), diffInt(3), diffTo(3), (*int)(nil), sql.NullInt32{Int32: 7, Valid: true}, sql.NullInt32{}, pgtype.Int4{Int32: 3, Valid: true}, pgtype.Int4{}, diffValuer{int64(3)}, &diffPoint{"7"}, (*diffPoint)(nil), int64(1) << 31, 3.0}},
		{"int8", likeNumber, true, true, []string{"3", "0", "9007199254740993", "-9223372036854775808"}, []any{3, int64(9007199254740993), int64(9007199254740992), uint64(math.MaxUint64), int32(3), sql.NullInt64{Int64: 3, Valid: true}, pgtype.Int8{Int64: 3, Valid: true}, diffValuer{int64(0)}, time.Duration(3)}},
		{"float4", likeNumber, true, true, []string{"1.5", "NaN", "-Infinity", "0.1", "-0"}, []any{float32(1.5), 1.5, float32(0.1), 0.1, math.NaN(), math.Inf(-1), pgtype.Float4{Float32: 1.5, Valid: true}, 3}},
		{"float8", likeNumber, true, true, []string{"2.5", "NaN", "Infinity", "0.1", "-0", "1e300", "3"}, []any{2.5, 0.1, math.NaN(), math.Inf(1), math.Copysign(0, -1), float32(0.1), sql.NullFloat64{Float64: 2.5, Valid: true}, pgtype.Float8{Float64: 3, Valid: true}, 3, diffValuer{2.5}}},
		{"numeric", likeNumber, true, true, []string{"3", "1.50", "1.5", "NaN", "-0.00001", "123456789012345678901234567890.123456789", "0"}, []any{3, 1.5, "1.50", big.NewInt(3), pgtype.Numeric{Int: big.NewInt(15), Exp: -1, Valid: true}, pgtype.Numeric{NaN: true, Valid: true}, pgtype.Numeric{}, uint64(math.MaxUint64), json.Number("1.5"), math.NaN(), diffValuer{"1.5"}}},
		{"numeric(10,2)", likeNumber, true, true, []string{"3.00", "12.34", "-0.01", "0"}, []any{3, 12.34, float32(12.34), int64(0), "12.340", diffValuer{12.34}}},
		{"text", likeText, true, true, []string{"", "a", "A", "3", "a b", "it's", `x\y`, "ünï", "2024-02-29", "NULL", "{}"}, []any{diffString("a"), diffTo(""), (*string)(nil), sql.NullString{String: "a", Valid: true}, sql.NullString{}, pgtype.Text{String: "A", Valid: true}, diffValuer{"a"}, diffValuer{[]byte("a")}, diffValuer{nil}, []byte(nil), netip.MustParseAddr("::1"), 3, json.RawMessage(`a`), time.Second}},
		{"varchar(10)", likeText, true, true, []string{"", "a", "abcdefghij", "3"}, []any{"a ", "far too long for this", sql.NullString{String: "3", Valid: true}, 3}},
		{"char(5)", likeText, true, true, []string{"", "a", "abcde"}, []any{"a    ", "a "}},
		{`"char"`, likeOther, true, true, []string{"a", "b"}, []any{byte('a'), "ab", 'a'}},
		{"name", likeText, true, true, []string{"a", "a name"}, nil},
		{"bytea", likeOther, true, true, []string{`\x`, `\x00ff`, `\x61`}, []any{[]byte{}, []byte{0, 255}, []byte("a"), []byte(nil), diffTo([]byte("a")), diffValuer{[]byte{0, 255}}, pgtype.PreallocBytes("a"), json.RawMessage("a"), [2]byte{0, 255}}},
		{"date", likeTime, true, true, []string{"2024-02-29", "infinity", "-infinity", "0044-03-15 BC", "1999-12-31"}, []any{diffDay, diffDay.In(time.FixedZone("far", 12*3600)), pgtype.Date{Time: diffDay, Valid: true}, pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true}, sql.NullTime{Time: diffDay, Valid: true}, time.Time{}, diffValuer{diffDay}}},
		{"time", likeTime, true, true, []string{"01:02:03", "23:59:59.999999", "24:00:00", "00:00:00"}, []any{pgtype.Time{Microseconds: 3723000000, Valid: true}, time.Hour, diffDay}},
		{"timetz", likeOther, true, true, []string{"01:02:03+02", "23:30:00-08"}, nil},
		{"timestamp", likeTime, true, true, []string{"2024-02-29 23:30:00.123456", "infinity", "-infinity", "0044-03-15 12:00:00 BC", "2024-02-29 00:00:00"}, []any{diffDay, diffDay.In(time.FixedZone("west", -8*3600)), pgtype.Timestamp{Time: diffDay, Valid: true}, pgtype.Timestamp{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, diffTo(diffDay)}},
		{"timestamptz", likeTime, true, true, []string{"2024-02-29 23:30:00.123456+00", "infinity", "-infinity", "2024-03-01 00:00:00+09", "1900-01-01 00:00:00+00"}, []any{diffDay, diffDay.In(time.FixedZone("east", 9*3600)), pgtype.Timestamptz{Time: diffDay, Valid: true}, pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, sql.NullTime{}, sql.NullTime{Time: diffDay, Valid: true}, sql.Null[time.Time]{V: diffDay, Valid: true}, time.Time{}}},
		{"timestamptz(3)", likeTime, true, true, []string{"2024-02-29 23:30:00.123+00", "2024-02-29 23:30:00+00"}, []any{diffDay, diffDay.Round(time.Millisecond)}},
		{"interval", likeOther, true, true, []string{"1 day 02:00:00", "-1 mons", "00:00:01.5", "1 year 2 mons 3 days"}, []any{26 * time.Hour, time.Duration(0), pgtype.Interval{Days: 1, Microseconds: 7200000000, Valid: true}, "24 hours"}},
		{"uuid", likeOther, true, true, []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"}, []any{diffUUID, [16]byte{}, pgtype.UUID{Bytes: diffUUID, Valid: true}, pgtype.UUID{}, diffUUID[:], "A0EEBC999C0B4EF8BB6D6BB9BD380A11", diffValuer{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}},
		{"json", likeJSON, false, false, []string{`{"a" : 3}`, `null`, `[1, 2,  3]`, `"x"`, `{"b":1,"a":2,"b":3}`}, []any{json.RawMessage(`{"a" : 3}`), map[string]any{"a": 3}, diffRecord{3, "x"}, &diffRecord{}, []int{1}, []byte(`[1]`), `{"a`}},
		{"jsonb", likeJSON, true, true, []string{`{"a": 3}`, `null`, `[1, 2, null]`, `"x"`, `{"b": ["y"], "a": "7"}`, `{}`}, []any{json.RawMessage(`{"a":3}`), map[string]any{"a": 3}, map[string]any{}, map[string]string{"a": "3"}, diffRecord{A: 3}, []any{1, 2, nil}, []byte(`{}`), `{"a`, json.RawMessage(nil), (*diffRecord)(nil)}},
		{"inet", likeOther, true, true, []string{"10.0.0.1/8", "::1", "192.168.0.1"}, []any{netip.MustParseAddr("192.168.0.1"), netip.MustParsePrefix("10.0.0.1/8"), net.ParseIP("::1"), net.IPNet{IP: net.IP{10, 0, 0, 1}, Mask: net.CIDRMask(8, 32)}, netip.Addr{}}},
		{"cidr", likeOther, true, true, []string{"10.0.0.0/8", "::/0"}, []any{netip.MustParsePrefix("10.0.0.0/8")}},
		{"macaddr", likeOther, true, true, []string{"08:00:2b:01:02:03"}, []any{net.HardwareAddr{8, 0, 0x2b, 1, 2, 3}}},
		{"bit(3)", likeOther, true, true, []string{"101", "000"}, []any{pgtype.Bits{Bytes: []byte{0xa0}, Len: 3, Valid: true}}},
		{"varbit(9)", likeOther, true, true, []string{"1", "", "101010101"}, []any{pgtype.Bits{Bytes: []byte{0x80}, Len: 1, Valid: true}}},
		{"oid", likeOther, true, true, []string{"0", "42", "4294967295"}, []any{uint32(42), 42, pgtype.Uint32{Uint32: 42, Valid: true}, int64(math.MaxUint32)}},
		{"money", likeOther, true, true, []string{"12.34", "0"}, nil},
		{"point", likeOther, false, false, []string{"(1,2)", "(0,-1.5)"}, []any{pgtype.Point{P: pgtype.Vec2{X: 1, Y: 2}, Valid: true}}},
		{"box", likeOther, false, false, []string{"(2,2),(0,0)"}, nil},
		{"tsvector", likeOther, true, true, []string{"'a':1 'b':2", ""}, nil},
		{"pg_lsn", likeOther, true, true, []string{"16/B374D848", "0/0"}, nil},
		{"mood", likeOther, true, true, []string{"sad", "glad", "so-so"}, []any{diffString("glad"), diffTo("sad"), "none such", sql.NullString{String: "sad", Valid: true}}},
		{"small", likeNumber, true, true, []string{"3", "7", "0"}, []any{3, int16(7), 100, sql.NullInt32{Int32: 3, Valid: true}}},
		{"word", likeText, true, true, []string{"a", "b c"}, []any{diffString("a"), diffTo("a")}},
		{"pair", likeOther, true, true, []string{`(3,"x y")`, "(,)", "(1,a)"}, []any{diffRecord{3, "x y"}, &diffRecord{1, "a"}, pgtype.CompositeFields{3, "x y"}, []any{1, "a"}}},
		{"int4[]", likeList, true, true, []string{"{1,NULL,3}", "{}", "{{1,2},{3,4}}", "[0:1]={7,8}"}, []any{[]int{1, 3}, []int32{}, []int(nil), []int64{3}, []*int{diffTo(1), nil, diffTo(3)}, []any{1, nil, "3"}, [][]int{{1, 2}, {3, 4}}, pgtype.FlatArray[int32]{3}, pgtype.Array[int32]{Elements: []int32{7, 8}, Dims: []pgtype.ArrayDimension{{Length: 2, LowerBound: 0}}, Valid: true}, [2]int{1, 3}, diffTo([]int{3}), []sql.NullInt32{{Int32: 1, Valid: true}, {}}}},
		{"text[]", likeList, true, true, []string{`{"a b",NULL,""}`, "{}", "{a}", `{NULL,"NULL"}`}, []any{[]string{"a"}, []string{}, []string(nil), []*string{nil}, []diffString{"a"}, []any{"a", 3}, []string{"a b", `"`, `\`, "NULL"}, [][]string{{"a"}, {"b"}}, diffTo([]string(nil)), []sql.NullString{{}}}},
		{"numeric[]", likeList, true, true, []string{"{1.50,NaN}", "{}"}, []any{[]float64{1.5}, []string{"1.5"}, []int{3}}},
		{"timestamptz[]", likeList, true, true, []string{`{"2024-02-29 23:30:00+00",NULL,infinity}`, "{}"}, []any{[]time.Time{diffDay}, []time.Time{}, []*time.Time{nil}}},
		{"uuid[]", likeList, true, true, []string{"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "{}"}, []any{[][16]byte{diffUUID}, []pgtype.UUID{{}}, []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}},
		{"bytea[]", likeList, true, true, []string{`{"\\x00ff",NULL}`, "{}"}, []any{[][]byte{{0, 255}, nil}, [][]byte{}}},
		{"jsonb[]", likeList, true, true, []string{`{"{\"a\": 3}",NULL}`}, []any{[]json.RawMessage{json.RawMessage(`{}`)}, []map[string]any{{"a": 3}}, []string{"null"}}},
		{"mood[]", likeList, true, true, []string{"{sad,NULL,glad}", "{}"}, []any{[]string{"sad"}, []diffString{"glad"}, []any{"sad", nil}, []string{"none such"}}},
		{"pair[]", likeList, true, true, []string{`{"(3,\"x y\")",NULL}`, "{}"}, []any{[]diffRecord{{3, "x y"}}, []*diffRecord{nil}}},
		{"int4range", likeRange, true, true, []string{"[1,5)", "empty", "(,3]", "(,)"}, []any{pgtype.Range[pgtype.Int4]{Lower: pgtype.Int4{Int32: 1, Valid: true}, Upper: pgtype.Int4{Int32: 5, Valid: true}, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}, "[1,4]", pgtype.Range[pgtype.Int4]{}, pgtype.Range[int32]{LowerType: pgtype.Empty, UpperType: pgtype.Empty, Valid: true}}},
		{"numrange", likeRange, true, true, []string{"[1.5,2.50]", "empty"}, nil},
		{"tstzrange", likeRange, true, true, []string{`["2024-01-01 00:00:00+00","2024-02-29 23:30:00+00")`, "(,)"}, []any{pgtype.Range[time.Time]{Lower: diffDay, LowerType: pgtype.Inclusive, UpperType: pgtype.Unbounded, Valid: true}}},
		{"daterange", likeRange, true, true, []string{"[2024-01-01,2024-03-01)", "empty"}, nil},
	}
	if version >= 14 {
		types = append(types, &diffType{"int4multirange", likeRange, true, true, []string{"{[1,3),[5,8)}", "{}"}, []any{pgtype.Multirange[pgtype.Range[pgtype.Int4]]{}}})
	}
	return types
}

// diffWild are arguments for any parameter, most of them wrong.
var diffWild = []any{
	nil, 0, 1, -1, 3, int8(3), int16(3), int32(3), int64(3), uint(3), uint8(3), uint16(3), uint32(3), uint64(3), math.MaxInt64, diffInt(3),
	1.5, float32(1.5), math.NaN(), math.Inf(1), true, false, "", "3", "3 ", " 3", "03", "a\x00b", "\xff", "NULL", "null", "t", "{}", "today",
	[]byte(nil), []byte{}, []byte("3"), []byte{0, 255}, diffDay, time.Time{}, (*int)(nil), (*string)(nil), (*time.Time)(nil), diffTo(3), diffTo("3"),
	diffTo(diffTo(3)), diffTo((*int)(nil)), []int{}, []int(nil), []int{1, 3}, []string{"a"}, []any{1, "a", nil}, []any(nil), [][]int{{1}, {2, 3}},
	[2]int{1, 3}, sql.NullString{}, sql.NullInt64{Int64: 3, Valid: true}, sql.Null[string]{V: "3", Valid: true}, pgtype.Text{}, pgtype.Int8{Int64: 3, Valid: true},
	diffUUID, json.RawMessage("3"), map[string]any{"a": 1}, map[string]any(nil), diffRecord{}, time.Minute, *big.NewInt(3), diffValuer{"3"}, diffValuer{3},
	diffValuer{diffValuer{"3"}}, diffFailer{}, &diffPoint{"3"}, (*diffPoint)(nil), make(chan int), complex(1, 2), func() {}, struct{}{}, pgx.QueryResultFormats{1},
	sql.Named("p1", 3), sql.Out{}, errors.New("an error"), netip.MustParseAddr("10.0.0.1"), "123456789012345678901234567890",
}

// What is done to a column {c}, to a literal {l} or parameter {p} of its type,
// to parameters {a} of an array of it, {t} of text and {i} of a number.
var (
	diffAnyExpr = []string{
		"{c}", "{c}", "{c}", "{c}", "{c}::text", "{c} IS NULL", "coalesce({c}, {l})", "coalesce({c}, {p})", "CASE WHEN {c} IS NULL THEN {l} ELSE {c} END",
		"to_json({c})", "to_jsonb({c})", "row({c}, 1)", "ARRAY[{c}]", "pg_typeof({c})", "{p}", "{l}", "format('%L', {c})", "concat({c}, '!')", "{t}", "NULL", "'unknown'",
		"quote_nullable({c})", "({c}::text)::int", "num_nulls({c}, {i})", "nothing", "nothing({c})", "row({c})::text",
	}
	diffOrdExpr = []string{"nullif({c}, {l})", "greatest({c}, {p})", "least({c}, {l})", "{c} < {p}", "{c} = {l}", "{c} IS DISTINCT FROM {p}", "ARRAY(SELECT {c} UNION SELECT {l} ORDER BY 1)"}
	diffExpr    = map[diffLike][]string{
		likeNumber: {"{c} + 1", "- {c}", "abs({c})", "{c} * 2.5", "round({c}::numeric, 1)", "1/({c} - 3)", "sqrt({c}::float8)", "to_char({c}, 'S999D99')", "{c}::int2", "{c} + {i}", "twice({c}::int)", "{c}::numeric % 2", "{c}::bool", "{c}::numeric(6,3)", "ceil({c})", "width_bucket({c}::float8, 0, 10, 5)"},
		likeText:   {"lower({c})", "upper({c})", "length({c})", "{c} || {t}", "left({c}, 2)", "md5({c})", "replace({c}, 'a', 'b')", "{c} ~ 'a'", "{c}::int", "{c}::date", "split_part({c}, ' ', 1)", "string_to_array({c}, ' ')", "to_tsvector('simple', {c})", "{c} LIKE {t}", "format('%s-%s', {c}, 1)", "initcap({c})", "{c}::varchar(2)", "encode(convert_to({c}, 'UTF8'), 'hex')", "regexp_replace({c}, '[aA]', {t})", "{c} COLLATE \"C\"", "{c}::jsonb"},
		likeTime:   {"to_char({c}, 'YYYY-MM-DD HH24:MI:SS TZ')", "{c} + interval '1 day'", "extract(epoch from {c})", "date_trunc('hour', {c})", "{c} AT TIME ZONE 'Asia/Tokyo'", "{c}::date", "{c}::timestamptz", "isfinite({c})", "age({c}, '2020-01-01')", "date_part('year', {c})", "{c}::time", "{c} - {c}", "{c} - '2020-01-01'"},
		likeBool:   {"NOT {c}", "{c} AND true", "{c}::int", "{c} OR {p}"},
		likeList:   {"array_length({c}, 1)", "{c}[1]", "cardinality({c})", "array_append({c}, NULL)", "array_to_string({c}, ',', '-')", "{c} || {c}", "{c}[2:3]", "(SELECT count(u) FROM unnest({c}) u)", "array_dims({c})"},
		likeJSON:   {"{c} ->> 'a'", "{c} -> 'b' -> 0", "{c} #>> '{b,0}'", "({c} ->> 'a')::int", "{c} -> {i}", "{c}::jsonb || '{}'", "json_typeof({c}::json)", "jsonb_array_length({c}::jsonb)", "jsonb_pretty({c}::jsonb)", "{c} ->> {t}", "jsonb_path_query_first({c}::jsonb, '$.a')"},
		likeRange:  {"lower({c})", "upper({c})", "isempty({c})", "{c} * {c}", "upper_inf({c})", "{c} + {l}"},
	}
	diffEqTest   = []string{"{c} = {p}", "{c} = {p}", "{c} = {p}", "{c} = {l}", "{c} <> {p}", "{c} IS NOT DISTINCT FROM {p}", "{c} = ANY({a})", "{c} IN ({p}, {l})", "{c} = {l} OR {p} IS NULL", "NOT {c} = {p}"}
	diffOrdTest  = []string{"{c} < {p}", "{c} >= {l}", "{c} BETWEEN {p} AND {p}", "{c} > {p} OR {c} IS NULL"}
	diffAnyTest  = []string{"{c} IS NULL", "{c} IS NOT NULL", "{c}::text = {t}", "{c}::text LIKE '%a%'", "length({c}::text) > {i}", "true"}
	diffLikeTest = map[diffLike][]string{
		likeText: {"{c} LIKE {t}", "{c} ILIKE 'A%'", "{c} ~ {t}"}, likeNumber: {"{c} + {i} > 3", "10/{c} > 1"}, likeBool: {"{c}", "NOT {c}"},
		likeList: {"{c} @> {p}", "{c} && {p}", "{c}[1] IS NULL"}, likeJSON: {"{c} ->> 'a' = {t}", "{c}::jsonb ? 'a'", "{c}::jsonb @> {p}"},
		likeRange: {"{c} && {p}", "{c} @> {l}"}, likeTime: {"{c} > '2000-01-01'"},
	}
)

type diffCol struct {
	name string // as it is written
	t    *diffType
}

type diffRel struct {
	name  string
	cols  []diffCol // the first is id
	table bool      // can be written to
}

// diffQuery is a text and the types of its parameters.
type diffQuery struct {
	text   string
	params []*diffType
	named  bool // @p1 instead of $1
}

// diffWrite is a diffQuery that is not a read.
type diffWrite struct {
	diffQuery
	rows  bool   // it hands out rows
	ddl   bool   // it creates or alters
	apply func() // what it does to the generator's picture, once committed
}

type diffGen struct {
	*rand.Rand
	types []*diffType
	byID  map[string]*diffType
	rels  []*diffRel
	next  int // names of columns
}

func newDiffGen(r *rand.Rand, version int) *diffGen {
	g := &diffGen{Rand: r, types: diffTypes(version), byID: map[string]*diffType{}}
	for _, t := range g.types {
		g.byID[t.name] = t
	}
	return g
}

// in says yes once in n times.
func (g *diffGen) in(n int) bool { return g.IntN(n) == 0 }

func diffOneOf[T any](g *diffGen, of []T) T { return of[g.IntN(len(of))] }

func (g *diffGen) literal(t *diffType) string {
	if g.in(8) {
		return "NULL::" + t.name
	}
	return "'" + strings.ReplaceAll(diffOneOf(g, t.lits), "'", "''") + "'::" + t.name
}

func (g *diffGen) column() diffCol {
	g.next++
	name := fmt.Sprintf("c%d", g.next)
	if g.in(4) {
		name = fmt.Sprintf(`"C ""%d"`, g.next)
	}
	return diffCol{name, diffOneOf(g, g.types)}
}

// schema makes the tables, with rows, and what stands on them.
func (g *diffGen) schema() string {
	var b strings.Builder
	b.WriteString(`CREATE TYPE mood AS ENUM ('sad', 'so-so', 'glad');
		CREATE DOMAIN small AS int CHECK (VALUE < 100);
		CREATE DOMAIN word AS text;
		CREATE TYPE pair AS (a int, b text);
		CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2';
		CREATE FUNCTION slow(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + 1; END';
	`)
	const still = " WITH (autovacuum_enabled = off);\n"
	names := []string{"t0", `"T One"`, "t2"}[:2+g.IntN(2)]
	for i, name := range names {
		rel := &diffRel{name: name, table: true, cols: []diffCol{{"id", g.byID["int4"]}, {"ref", g.byID["int4"]}}}
		fmt.Fprintf(&b, "CREATE TABLE %s (id int PRIMARY KEY, ref int", name)
		if i == 1 && g.in(3) {
			fmt.Fprintf(&b, " REFERENCES t0(id) ON DELETE %s ON UPDATE CASCADE", diffOneOf(g, []string{"CASCADE", "SET NULL"}))
		}
		for range 5 + g.IntN(5) {
			c := g.column()
			rel.cols = append(rel.cols, c)
			fmt.Fprintf(&b, ", %s %s", c.name, c.t.name)
		}
		b.WriteString(")")
		if i == 2 && g.in(2) {
			fmt.Fprintf(&b, " PARTITION BY RANGE (id); CREATE TABLE t2_low PARTITION OF t2 FOR VALUES FROM (0) TO (6)%sCREATE TABLE t2_rest PARTITION OF t2 DEFAULT", still)
		}
		b.WriteString(still)
		for id := range 1 + g.IntN(12) {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES (%d, %s", name, id+1, diffOneOf(g, []string{"NULL", "1"})) // t0 has a row 1
			for _, c := range rel.cols[2:] {
				b.WriteString(", " + g.literal(c.t))
			}
			b.WriteString(");\n")
		}
		g.rels = append(g.rels, rel)
	}
	b.WriteString(`CREATE TABLE log (id int PRIMARY KEY, what text)` + still)
	if g.in(2) {
		b.WriteString(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO log SELECT coalesce(max(id), 0) + 1, TG_OP FROM log; RETURN NULL; END $$;
			CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON t0 FOR EACH STATEMENT EXECUTE FUNCTION note();`)
	}
	g.rels = append(g.rels, &diffRel{name: "log", cols: []diffCol{{"id", g.byID["int4"]}, {"what", g.byID["text"]}}})
	for i, kind := range []string{"VIEW", "VIEW", "MATERIALIZED VIEW"} {
		of := g.rels[g.IntN(len(names))]
		view := &diffRel{name: fmt.Sprintf("v%d", i), cols: []diffCol{of.cols[0]}}
		for _, c := range of.cols[1:] {
			if g.in(2) {
				view.cols = append(view.cols, c)
			}
		}
		q := &diffQuery{}
		fmt.Fprintf(&b, "CREATE %s %s AS SELECT %s FROM %s a WHERE %s;\n", kind, view.name, view.list("a"), of.name,
			g.fill(q, diffOneOf(g, []string{"{c} IS NULL", "{c} IS NOT NULL", "true", "id < 8"}), of, "a", diffOneOf(g, of.cols)))
		g.rels = append(g.rels, view)
	}
	return b.String()
}

func (r *diffRel) list(alias string) string {
	var names []string
	for _, c := range r.cols {
		names = append(names, alias+"."+c.name)
	}
	return strings.Join(names, ", ")
}

// ref is a column that another relation's id may be found in.
func (r *diffRel) ref() string {
	if len(r.cols) > 1 && r.cols[1].name == "ref" {
		return "ref"
	}
	return "id"
}

func (g *diffGen) param(q *diffQuery, t *diffType) string {
	q.params = append(q.params, t)
	p := fmt.Sprintf("$%d", len(q.params))
	if q.named {
		p = fmt.Sprintf("@p%d", len(q.params))
	}
	if g.in(3) {
		p += "::" + t.name
	}
	return p
}

// listOf is the parameter of = ANY.
func (g *diffGen) listOf(t *diffType) *diffType {
	if l, ok := g.byID[t.name+"[]"]; ok {
		return l
	}
	lists := []any{[]string(nil), []string{}, t.lits, []any{t.lits[0], nil}, append([]any{}, t.args...)}
	return &diffType{name: t.name + "[]", like: likeList, lits: []string{"{}"}, args: lists}
}

// fill puts a column of rel, and what goes with it, into a template.
func (g *diffGen) fill(q *diffQuery, template string, rel *diffRel, alias string, c diffCol) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(rest) < 2 || rest[1] != '}' {
			b.WriteString("{") // of the SQL
			template = rest
			continue
		}
		switch rest[0] {
		case 'c':
			b.WriteString(alias + "." + c.name)
		case 'l':
			b.WriteString(g.literal(c.t))
		case 'p':
			b.WriteString(g.param(q, c.t))
		case 'a':
			b.WriteString(g.param(q, g.listOf(c.t)))
		case 't':
			b.WriteString(g.param(q, g.byID["text"]))
		case 'i':
			b.WriteString(g.param(q, g.byID["int4"]))
		default:
			b.WriteString("{" + rest[:2])
		}
		template = rest[2:]
	}
}

func (g *diffGen) expr(q *diffQuery, rel *diffRel, alias string) string {
	c := diffOneOf(g, rel.cols)
	from := diffAnyExpr
	switch own := diffExpr[c.t.like]; {
	case own != nil && g.in(2):
		from = own
	case c.t.ord && g.in(3):
		from = diffOrdExpr
	case g.in(12):
		return "slow(" + alias + ".id)"
	}
	template := diffOneOf(g, from)
	if strings.HasPrefix(template, "nothing") && !g.in(8) {
		template = "{c}" // a text that fails is not for every query
	}
	s := g.fill(q, template, rel, alias, c)
	switch {
	case g.in(12):
		s += " AS id"
	case g.in(8):
		s += fmt.Sprintf(` AS "X %d"`, g.IntN(3))
	}
	return s
}

func (g *diffGen) exprs(q *diffQuery, rel *diffRel, alias string) string {
	if g.in(4) {
		return alias + ".*"
	}
	if g.in(30) {
		return ""
	}
	s := make([]string, 1+g.IntN(3))
	for i := range s {
		s[i] = g.expr(q, rel, alias)
	}
	return strings.Join(s, ", ")
}

func (g *diffGen) test(q *diffQuery, rel *diffRel, alias string) string {
	c := diffOneOf(g, rel.cols)
	from := diffAnyTest
	switch own := diffLikeTest[c.t.like]; {
	case own != nil && g.in(4):
		from = own
	case c.t.ord && g.in(3):
		from = diffOrdTest
	case c.t.eq && !g.in(4):
		from = diffEqTest
	}
	s := g.fill(q, diffOneOf(g, from), rel, alias, c)
	if g.in(4) {
		s = "(" + s + ")" + diffOneOf(g, []string{" AND ", " OR ", " AND NOT "}) + "(" + g.test(q, rel, alias) + ")"
	}
	return s
}

// order is a total one: id is a key of every relation.
func (g *diffGen) order(rel *diffRel, aliases ...string) string {
	s := " ORDER BY "
	if c := diffOneOf(g, rel.cols); c.t.ord && g.in(3) {
		s += aliases[0] + "." + c.name + diffOneOf(g, []string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"}) + ", "
	}
	for i, a := range aliases {
		if i > 0 {
			s += ", "
		}
		s += a + ".id"
	}
	if g.in(4) {
		s += " DESC"
	}
	return s
}

func (g *diffGen) limit(q *diffQuery) string {
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf(" LIMIT %d OFFSET %d", g.IntN(4), g.IntN(3))
	case 1:
		return " LIMIT " + g.param(q, g.byID["int8"])
	case 2:
		return " FETCH FIRST ROW ONLY"
	}
	return ""
}

func (g *diffGen) query() *diffQuery {
	q := &diffQuery{named: g.in(8)}
	a, b := diffOneOf(g, g.rels), diffOneOf(g, g.rels)
	// Parameters are numbered in the order in which the parts are made.
	say := func(format string, args ...any) { q.text += fmt.Sprintf(format, args...) }
	where := func(rel *diffRel, alias string) string {
		if g.in(4) {
			return ""
		}
		return " WHERE " + g.test(q, rel, alias)
	}
	switch g.IntN(18) {
	case 0, 1, 2:
		say("SELECT %s FROM %s a WHERE a.id = %s", g.exprs(q, a, "a"), a.name, g.param(q, g.byID["int4"]))
	case 3, 4, 5:
		say("SELECT %s FROM %s a%s%s%s", g.exprs(q, a, "a"), a.name, where(a, "a"), g.order(a, "a"), g.limit(q))
	case 6:
		say("SELECT %s, %s FROM %s a %s JOIN %s b ON a.%s = b.id%s%s", g.exprs(q, a, "a"), g.expr(q, b, "b"), a.name,
			diffOneOf(g, []string{"", "LEFT", "FULL"}), b.name, a.ref(), where(a, "a"), g.order(a, "a", "b"))
	case 7:
		say("SELECT count(*)")
		for range 1 + g.IntN(3) {
			c := diffOneOf(g, a.cols)
			say(", %s", g.fill(q, diffOneOf(g, []string{"count({c})", "array_agg({c} ORDER BY a.id)", "string_agg({c}::text, ',' ORDER BY a.id)", "max({c}::text)",
				"json_agg({c} ORDER BY a.id)", "sum(a.id)", "avg(a.id)", "bool_and({c} IS NULL)", "min({c})", "count(DISTINCT {c})", "sum({c})", "max(length({c}::text)) FILTER (WHERE a.id > {i})"}), a, "a", c))
		}
		say(" FROM %s a%s", a.name, where(a, "a"))
	case 8:
		c := diffOneOf(g, a.cols)
		say("SELECT a.%s, count(*), max(a.id) FROM %s a%s GROUP BY 1", c.name, a.name, where(a, "a"))
		if g.in(3) {
			say(" HAVING count(*) > %s", g.param(q, g.byID["int8"]))
		}
		say(" ORDER BY 1")
	case 9:
		say("WITH w AS (SELECT * FROM %s a%s) SELECT %s FROM w b%s%s", a.name, where(a, "a"), g.exprs(q, a, "b"), where(a, "b"), g.order(a, "b"))
	case 10:
		say("SELECT a.id, a.%s::text FROM %s a%s %s SELECT b.id, %s FROM %s b%s ORDER BY 1, 2%s", diffOneOf(g, a.cols).name, a.name, where(a, "a"),
			diffOneOf(g, []string{"UNION", "UNION ALL", "INTERSECT", "EXCEPT"}), "b."+diffOneOf(g, b.cols).name+"::text", b.name, where(b, "b"), g.limit(q))
	case 11:
		say("SELECT %s FROM %s a WHERE %s (SELECT 1 FROM %s b WHERE b.id = a.id AND %s)%s", g.exprs(q, a, "a"), a.name,
			diffOneOf(g, []string{"EXISTS", "NOT EXISTS", "1 IN", "1 = ALL"}), b.name, g.test(q, b, "b"), g.order(a, "a"))
	case 12:
		c := diffOneOf(g, a.cols)
		say("SELECT DISTINCT a.%s FROM %s a%s ORDER BY 1", c.name, a.name, where(a, "a"))
	case 13:
		c := diffOneOf(g, b.cols)
		say("SELECT %s, (SELECT b.%s FROM %s b WHERE b.id = a.%s) FROM %s a%s%s", g.expr(q, a, "a"), c.name, b.name, a.ref(), a.name, where(a, "a"), g.order(a, "a"))
	case 14:
		say("SELECT a.id, row_number() OVER w, lag(a.%s) OVER w, a FROM %s a%s WINDOW w AS (ORDER BY a.id) ORDER BY a.id", diffOneOf(g, a.cols).name, a.name, where(a, "a"))
	case 15:
		say("SELECT %s FROM %s a, generate_series(1, least(%s, 3)) AS s(id)%s ORDER BY a.id, s.id%s", g.exprs(q, a, "a"), a.name, g.param(q, g.byID["int4"]), where(a, "a"), g.limit(q))
	case 16:
		say("%s", diffOneOf(g, []string{"TABLE " + a.name + " ORDER BY id", "VALUES (1, 'a'), (2, NULL)", "SELECT 1", "SELECT current_database() = current_database(), a.id FROM " + a.name + " a ORDER BY id",
			"SELECT id FROM " + a.name + " ORDER BY id FOR UPDATE", "SELECT 1 FROM " + a.name + " LIMIT 1; SELECT 2", "", "SELECT a.id FROM " + a.name + " a ORDER BY id -- the end",
			"/* cachedpgx: ttl=1m */ SELECT count(*) FROM " + a.name, "SELECT id FROM nowhere", "SELEC id", "SHOW DateStyle"}))
	default:
		say("SELECT %s, CASE WHEN %s THEN %s ELSE NULL END FROM %s a%s", g.expr(q, a, "a"), g.test(q, a, "a"), strings.Split(g.expr(q, a, "a"), " AS ")[0], a.name, g.order(a, "a"))
	}
	return q
}

// args are for the parameters of q: most that fit, some that don't, as many as
// there are, except now and then.
func (g *diffGen) args(q *diffQuery) []any {
	var args []any
	for _, t := range q.params {
		args = append(args, g.arg(t))
	}
	if g.in(40) {
		args = append(args, diffOneOf(g, diffWild))
	} else if len(args) > 0 && g.in(40) {
		args = args[:len(args)-1]
	}
	if q.named {
		by := map[string]any{}
		for i, v := range args {
			by[fmt.Sprintf("p%d", i+1)] = v
		}
		args = []any{pgx.NamedArgs(by)}
		if g.in(2) {
			args = []any{pgx.StrictNamedArgs(by)}
		}
	}
	if g.in(10) {
		modes := []any{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
		args = slices.Insert(args, 0, diffOneOf(g, modes))
	}
	if g.in(15) {
		formats := []any{pgx.QueryResultFormats{0}, pgx.QueryResultFormats{1}, pgx.QueryResultFormats{}, pgx.QueryResultFormats{0, 1}, pgx.QueryResultFormatsByOID{pgtype.Int4OID: 1, pgtype.TextOID: 1}}
		args = slices.Insert(args, 0, diffOneOf(g, formats))
	}
	return args
}

func (g *diffGen) arg(t *diffType) any {
	switch {
	case g.in(16):
		return diffOneOf(g, diffWild)
	case g.in(16):
		return nil
	case len(t.args) == 0 || g.in(3):
		switch lit := diffOneOf(g, t.lits); g.IntN(8) {
		case 0:
			return []byte(lit)
		case 1:
			return &lit
		case 2:
			return diffValuer{lit}
		default:
			return lit
		}
	}
	return diffOneOf(g, t.args)
}

// write is a random statement that is not a read.
func (g *diffGen) write() *diffWrite {
	w := &diffWrite{}
	q := &w.diffQuery
	var tables []*diffRel
	for _, r := range g.rels {
		if r.table {
			tables = append(tables, r)
		}
	}
	rel := diffOneOf(g, tables)
	c := diffOneOf(g, rel.cols[1:])
	value := func(c diffCol) string {
		if g.in(2) {
			return g.param(q, c.t)
		}
		return g.literal(c.t)
	}
	returning := func() {
		if w.rows = g.in(3); w.rows {
			q.text += " RETURNING " + diffOneOf(g, []string{"*", "id", "id, " + c.name})
		}
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		v := value(c)
		q.text = fmt.Sprintf("UPDATE %s AS a SET %s = %s WHERE %s", rel.name, c.name, v, g.test(q, rel, "a"))
		returning()
	case 3:
		q.text = fmt.Sprintf("UPDATE %s SET id = id + 100, %s = NULL WHERE id = %s", rel.name, c.name, g.param(q, g.byID["int4"]))
		returning()
	case 4, 5, 6:
		q.text = fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%d, %s)", rel.name, c.name, g.IntN(20), value(c))
		if g.in(2) {
			q.text += fmt.Sprintf(" ON CONFLICT (id) DO UPDATE SET %s = EXCLUDED.%[1]s", c.name)
		}
		returning()
	case 7:
		q.text = fmt.Sprintf("DELETE FROM %s AS a WHERE a.id = %s", rel.name, g.param(q, g.byID["int4"]))
		returning()
	case 8:
		q.text = fmt.Sprintf("WITH gone AS (DELETE FROM %s AS a WHERE a.id > 5 AND %s RETURNING *) SELECT * FROM gone ORDER BY id", rel.name, g.test(q, rel, "a"))
		w.rows = true
	case 9:
		q.text = diffOneOf(g, []string{"REFRESH MATERIALIZED VIEW v2", fmt.Sprintf("DO $do$ BEGIN UPDATE %s SET %s = NULL WHERE id < 3; END $do$", rel.name, c.name),
			"TRUNCATE log", "UPDATE v0 SET id = id WHERE id = 1", "DELETE FROM v1 WHERE id = 2", "INSERT INTO t0 (id) SELECT max(id) + 1 FROM t0", "DELETE FROM t0 WHERE id = 1",
			"CREATE INDEX ON " + rel.name + " (ref)"})
	default:
		w.ddl = true
		g.alter(w, rel)
	}
	return w
}

// alter changes a table, as far as nothing that stands on it is in the way.
func (g *diffGen) alter(w *diffWrite, rel *diffRel) {
	at := 2 + g.IntN(max(1, len(rel.cols)-2))
	switch fresh := g.column(); {
	case at >= len(rel.cols) || g.in(3):
		w.text = fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", rel.name, fresh.name, fresh.t.name)
		if g.in(2) {
			w.text += " DEFAULT " + g.literal(fresh.t)
		}
		w.apply = func() { rel.cols = append(rel.cols, fresh) }
	case g.in(3) && len(rel.cols) > 4:
		w.text = fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", rel.name, rel.cols[at].name)
		w.apply = func() { rel.cols = slices.Delete(slices.Clone(rel.cols), at, at+1) }
	case g.in(3):
		w.text = fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", rel.name, rel.cols[at].name, fresh.name)
		fresh.t = rel.cols[at].t
		w.apply = func() { rel.cols = slices.Clone(rel.cols); rel.cols[at] = fresh }
	default:
		to := g.byID[diffOneOf(g, []string{"text", "text", "varchar(10)", "int8", "numeric", "float8", "word"})]
		w.text = fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s USING %[2]s::text::%[3]s", rel.name, rel.cols[at].name, to.name)
		w.apply = func() { rel.cols = slices.Clone(rel.cols); rel.cols[at].t = to }
	}
}
