package rowset

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

func field(name string, oid uint32) pgconn.FieldDescription {
	return pgconn.FieldDescription{Name: name, DataTypeOID: oid, DataTypeSize: -1, TypeModifier: -1}
}

// encode writes a value as the server would in stdlib's format.
func encode(t testing.TB, oid uint32, v any) []byte {
	t.Helper()
	b, err := pgtype.NewMap().Encode(oid, ResultFormats[oid], v, nil)
	if err != nil {
		t.Fatalf("encode %v as %d: %v", v, oid, err)
	}
	if b == nil && v != nil {
		b = []byte{}
	}
	return b
}

var failure = &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "22012", Message: "division by zero"}

func TestParityWithoutServer(t *testing.T) {
	int4, text, bytea := field("n", pgtype.Int4OID), field("s", pgtype.TextOID), field("b", pgtype.ByteaOID)
	wide, wideRow := []pgconn.FieldDescription{}, [][]byte{}
	for i := range 1600 {
		wide = append(wide, field(fmt.Sprint("c", i), pgtype.TextOID))
		wideRow = append(wideRow, fmt.Append(nil, i))
	}
	row := func(n int, s string, b []byte) [][]byte {
		return [][]byte{encode(t, pgtype.Int4OID, int32(n)), []byte(s), b}
	}
	long := bytes.Repeat([]byte("x"), 70_000)
	three := []pgconn.FieldDescription{int4, text, bytea}

	tests := []struct {
		name string
		pg   fakePG
	}{
		{"rows", fakePG{fields: three, rows: [][][]byte{row(1, "a", []byte{0}), row(2, "", []byte{}), {nil, nil, nil}, row(3, "c", []byte("cc"))}}},
		{"no row", fakePG{fields: three}},
		{"no column", fakePG{rows: [][][]byte{{}, {}, {}}}},
		{"neither", fakePG{}},
		{"long values", fakePG{fields: three, rows: [][][]byte{row(1, string(long), long), row(2, string(long), long)}}},
		{"the same name twice", fakePG{fields: []pgconn.FieldDescription{int4, int4, int4}, rows: [][][]byte{{nil, row(7, "", nil)[0], nil}}}},
		{"1600 columns", fakePG{fields: wide, rows: [][][]byte{wideRow, make([][]byte, 1600)}}},
		{"an int4 of three bytes in row 1", fakePG{fields: three, rows: [][][]byte{row(1, "a", nil), {[]byte("123"), nil, nil}, row(3, "c", nil)}}},
		{"a type that nobody knows", fakePG{fields: []pgconn.FieldDescription{field("mood", 99_999)}, rows: [][][]byte{{[]byte("happy")}, {nil}, {[]byte("")}}}},
		{"an error after two rows", fakePG{fields: three, rows: [][][]byte{row(1, "a", nil), row(2, "b", []byte("b"))}, fail: failure}},
		{"jsonb with odd spacing", fakePG{
			fields: []pgconn.FieldDescription{field("j", pgtype.JSONBOID), field("j", pgtype.JSONOID), field("x", pgtype.XMLOID)},
			rows:   [][][]byte{{[]byte(`{"a":  1}`), []byte(` {"a":1 }`), []byte("<a/>")}, {[]byte("null"), nil, nil}},
		}},
		{"modifiers", fakePG{
			fields: []pgconn.FieldDescription{
				{Name: "v", DataTypeOID: pgtype.VarcharOID, TypeModifier: 14}, {Name: "c", DataTypeOID: pgtype.BPCharOID, TypeModifier: 7},
				{Name: "n", DataTypeOID: pgtype.NumericOID, TypeModifier: 10<<16 + 2 + 4}, {Name: "t", DataTypeOID: pgtype.TimestampOID, TypeModifier: 3},
				{Name: "i", DataTypeOID: pgtype.IntervalOID, TypeModifier: 0x7fff<<16 | 2}, {Name: "i", DataTypeOID: pgtype.IntervalOID, TypeModifier: 0x7fff<<16 | 0xffff},
				{Name: "b", DataTypeOID: pgtype.VarbitOID, TypeModifier: 9}, {Name: "tz", DataTypeOID: pgtype.TimetzOID, TypeModifier: -1},
			},
			rows: [][][]byte{make([][]byte, 8)},
		}},
	}
	// Every type that stdlib decodes in a way of its own, fed with bytes of any
	// length: what can't be decoded fails at the same row with the same words.
	for oid := range ResultFormats {
		rows := [][][]byte{}
		for _, n := range []int{4, 8, 1, 2, 0, 3, 16} {
			rows = append(rows, [][]byte{bytes.Repeat([]byte{1}, n)})
		}
		tests = append(tests, struct {
			name string
			pg   fakePG
		}{fmt.Sprint("any bytes as type ", oid), fakePG{fields: []pgconn.FieldDescription{field("x", oid)}, rows: rows}})
	}
	for i := range tests {
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.pg.config(t), "select")
		})
	}
}
