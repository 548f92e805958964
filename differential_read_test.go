package cachedpgx_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

type diffHow uint8

const (
	readWhole diffHow = iota // into any
	readFirst                // the first row, then Close
	readRaw                  // into RawBytes, which are then written to
	readTyped                // into what fits the column's type, or not
)

type diffReading struct {
	how  diffHow
	seed uint64 // of the choice of destinations
}

func (r diffReading) String() string {
	return [...]string{"read whole", "first row", "raw bytes", fmt.Sprintf("typed destinations %d", r.seed)}[r.how]
}

func (r diffReading) answer(rows *sql.Rows, err error) (a pgAnswer) {
	defer func() { a.Err = diffPlain(a.Err) }()
	if err != nil || r.how == readWhole {
		return pgRead(rows, err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return pgAnswer{Err: "ColumnTypes: " + pgError(err)}
	}
	for _, c := range types {
		a.Cols += fmt.Sprintf("%q %s, ", c.Name(), c.DatabaseTypeName())
	}
	choice := rand.New(rand.NewPCG(r.seed, 0))
	for rows.Next() {
		dests, nulls := make([]any, len(types)), make([]any, len(types))
		for i := range nulls {
			dests[i] = &nulls[i]
		}
		if r.how == readTyped {
			_ = rows.Scan(dests...)
		}
		for i, c := range types {
			dests[i] = r.dest(choice, c.DatabaseTypeName(), nulls[i] == nil)
		}
		err := rows.Scan(dests...)
		row := make([]string, len(types))
		for i, d := range dests {
			row[i] = diffShow(d)
			if raw, ok := d.(*sql.RawBytes); ok {
				for j := range *raw {
					(*raw)[j] = 'X'
				}
			}
		}
		a.Rows = append(a.Rows, append(row, diffPlain(pgError(err))))
		if r.how == readFirst {
			break
		}
	}
	a.end(rows)
	return a
}

// diffPair takes the composite type of the schemas.
type diffPair struct {
	A *int32
	B *string
}

// diffDests are destinations that fit, by the name that the column's type has.
var diffDests = map[string][]any{
	"BOOL": {false, sql.NullBool{}, pgtype.Bool{}}, "INT2": {int16(0), pgtype.Int2{}, 0}, "INT4": {0, int32(0), (*int)(nil), sql.NullInt32{}, pgtype.Int4{}, uint8(0)},
	"INT8": {int64(0), (*int64)(nil), pgtype.Int8{}, 0.0}, "FLOAT4": {float32(0), pgtype.Float4{}}, "FLOAT8": {0.0, sql.NullFloat64{}, pgtype.Float8{}},
	"NUMERIC": {"", 0.0, pgtype.Numeric{}, json.Number("")}, "TEXT": {"", (*string)(nil), []byte(nil), pgtype.Text{}, pgUpper{}}, "VARCHAR": {"", diffString(""), pgtype.Text{}},
	"BYTEA": {[]byte(nil), sql.RawBytes(nil), json.RawMessage(nil)}, "DATE": {time.Time{}, pgtype.Date{}, ""}, "TIME": {pgtype.Time{}, time.Duration(0)},
	"TIMESTAMP": {time.Time{}, sql.NullTime{}, pgtype.Timestamp{}}, "TIMESTAMPTZ": {time.Time{}, sql.Null[time.Time]{}, pgtype.Timestamptz{}, (*time.Time)(nil)},
	"INTERVAL": {pgtype.Interval{}, time.Duration(0)}, "UUID": {[16]byte{}, pgtype.UUID{}, ""}, "JSON": {map[string]any(nil), json.RawMessage(nil), []any(nil), (*diffRecord)(nil)},
	"JSONB": {map[string]any(nil), json.RawMessage(nil), []byte(nil), diffRecord{}, new(any)}, "INET": {netip.Addr{}, netip.Prefix{}, ""}, "CIDR": {netip.Prefix{}},
	"BIT": {pgtype.Bits{}}, "VARBIT": {pgtype.Bits{}}, "OID": {uint32(0), pgtype.Uint32{}}, "POINT": {pgtype.Point{}}, "BOX": {pgtype.Box{}}, "MOOD": {"", diffString(""), (*string)(nil)},
	"PAIR": {diffPair{}, (*diffPair)(nil)}, "_PAIR": {[]diffPair(nil), []*diffPair(nil)}, "_MOOD": {[]string(nil), []*string(nil), []diffString(nil)},
	"_INT4": {[]int32(nil), []*int(nil), pgtype.Array[int64]{}, pgtype.FlatArray[pgtype.Int4]{}, [][]int(nil), [2]int{}}, "_TEXT": {[]string(nil), []*string(nil), []any(nil), []sql.NullString(nil)},
	"_NUMERIC": {[]float64(nil), []pgtype.Numeric(nil)}, "_TIMESTAMPTZ": {[]time.Time(nil), []pgtype.Timestamptz(nil)}, "_UUID": {[][16]byte(nil), []pgtype.UUID(nil)},
	"_BYTEA": {[][]byte(nil)}, "_JSONB": {[]json.RawMessage(nil), []map[string]any(nil)}, "INT4RANGE": {pgtype.Range[int32]{}, pgtype.Range[pgtype.Int4]{}, (*pgtype.Range[pgtype.Int4])(nil)},
	"NUMRANGE": {pgtype.Range[pgtype.Numeric]{}}, "TSTZRANGE": {pgtype.Range[time.Time]{}, pgtype.Range[pgtype.Timestamptz]{}}, "DATERANGE": {pgtype.Range[pgtype.Date]{}},
	"INT4MULTIRANGE": {pgtype.Multirange[pgtype.Range[pgtype.Int4]]{}},
}

// diffAnyDests are for any column, and fit few.
var diffAnyDests = []any{"", []byte(nil), sql.RawBytes(nil), 0, int8(0), uint64(0), 0.0, false, time.Time{}, (*string)(nil), sql.NullString{}, sql.Null[int64]{},
	[]int32(nil), []string(nil), []any(nil), map[string]any(nil), pgtype.Text{}, pgtype.Numeric{}, netip.Addr{}, make(chan int), diffPair{}, pgUpper{}, struct{}{}}

func (r diffReading) dest(choice *rand.Rand, typeName string, null bool) any {
	switch r.how {
	case readFirst:
		return new(any)
	case readRaw:
		return new(sql.RawBytes)
	}
	from := diffDests[typeName]
	switch n := choice.IntN(8); {
	case n == 0:
		return new(any)
	case n < 3 || len(from) == 0:
		if null {
			return new(any) // whether pgx can scan NULL into what does not fit is chance (pgtype's scanPlanFail)
		}
		from = diffAnyDests
	}
	return reflect.New(reflect.TypeOf(from[choice.IntN(len(from))])).Interface()
}

// diffShow is a value with its type, behind pointers, too.
func diffShow(v any) string {
	at := ""
	r := reflect.ValueOf(v)
	for ; r.Kind() == reflect.Pointer && !r.IsNil() && r.Type() != reflect.TypeFor[*big.Int](); r = r.Elem() {
		at += "&"
	}
	if !r.IsValid() {
		return at + "nil"
	}
	return diffPlain(fmt.Sprintf("%s%T(%#[2]v)", at, r.Interface()))
}

// diffPlain is a text without addresses, which say nothing of a value.
func diffPlain(s string) string { return diffAddress.ReplaceAllString(s, "0x…") }

var diffAddress = regexp.MustCompile(`0xc[0-9a-f]{6,}|0x[0-9a-f]{6,}\b`)
