package rowset

import (
	"context"
	"database/sql"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// formatsTracer sees the arguments that stdlib hands to pgx.
type formatsTracer struct{ seen pgx.QueryResultFormatsByOID }

func (f *formatsTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if len(data.Args) > 0 {
		f.seen, _ = data.Args[0].(pgx.QueryResultFormatsByOID)
	}
	return ctx
}
func (f *formatsTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestResultFormatsAreStdlibs(t *testing.T) {
	pg := fakePG{}
	cfg := pg.config(t)
	tracer := &formatsTracer{}
	cfg.Tracer = tracer
	db := sql.OpenDB(stdlib.GetConnector(*cfg))
	defer db.Close()
	rows, err := db.Query("select")
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(tracer.seen, ResultFormats) {
		t.Errorf("stdlib asks for %v, we for %v", tracer.seen, ResultFormats)
	}
}

func TestDecodable(t *testing.T) {
	ms := NewMaps()
	types := func(oids ...uint32) (fields []pgconn.FieldDescription) {
		for _, oid := range oids {
			fields = append(fields, field("c", oid))
		}
		return fields
	}
	tests := []struct {
		name    string
		prepare func(m *pgtype.Map)
		fields  []pgconn.FieldDescription
		want    bool
	}{
		{"defaults", func(*pgtype.Map) {}, types(pgtype.Int4OID, pgtype.TextOID, pgtype.TextArrayOID), true},
		{"no columns", func(*pgtype.Map) {}, nil, true},
		{"unknown to both", func(*pgtype.Map) {}, types(99_999), true},
		{"another codec", func(m *pgtype.Map) {
			m.RegisterType(&pgtype.Type{Name: "int4", OID: pgtype.Int4OID, Codec: pgtype.TextCodec{}})
		}, types(pgtype.Int4OID), false},
		{"the same codec told otherwise", func(m *pgtype.Map) {
			m.RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: nil}})
		}, types(pgtype.TimestamptzOID), false},
		{"another name", func(m *pgtype.Map) {
			m.RegisterType(&pgtype.Type{Name: "ganzzahl", OID: pgtype.Int4OID, Codec: pgtype.Int4Codec{}})
		}, types(pgtype.Int4OID), false},
		{"known to the connection alone", func(m *pgtype.Map) {
			m.RegisterType(&pgtype.Type{Name: "mood", OID: 99_999, Codec: &pgtype.EnumCodec{}})
		}, types(99_999), false},
		{"another column's type", func(m *pgtype.Map) {
			m.RegisterType(&pgtype.Type{Name: "mood", OID: 99_999, Codec: &pgtype.EnumCodec{}})
		}, types(pgtype.Int4OID), true},
		{"a Go type of the user's, known column", func(m *pgtype.Map) { m.RegisterDefaultPgType(t, "text") }, types(pgtype.Int4OID), true},
		{"a Go type of the user's, unknown column", func(m *pgtype.Map) { m.RegisterDefaultPgType(t, "text") }, types(99_999), false},
		{"a scan wrapper more", func(m *pgtype.Map) {
			m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{func(any) (pgtype.WrappedScanPlanNextSetter, any, bool) { return nil, nil, false }}, m.TryWrapScanPlanFuncs...)
		}, types(pgtype.Int4OID), false},
		{"a scan wrapper less", func(m *pgtype.Map) { m.TryWrapScanPlanFuncs = m.TryWrapScanPlanFuncs[1:] }, types(pgtype.Int4OID), false},
		{"scan wrappers in another order", func(m *pgtype.Map) {
			m.TryWrapScanPlanFuncs[0], m.TryWrapScanPlanFuncs[1] = m.TryWrapScanPlanFuncs[1], m.TryWrapScanPlanFuncs[0]
		}, types(pgtype.Int4OID), false},
		{"an encode wrapper more", func(m *pgtype.Map) {
			m.TryWrapEncodePlanFuncs = append(m.TryWrapEncodePlanFuncs, func(any) (pgtype.WrappedEncodePlanNextSetter, any, bool) { return nil, nil, false })
		}, types(pgtype.Int4OID), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := pgtype.NewMap()
			tt.prepare(m)
			if got := ms.Decodable(m, tt.fields); got != tt.want {
				t.Errorf("Decodable = %v, want %v", got, tt.want)
			}
		})
	}
	if ms.Decodable(nil, nil) {
		t.Error("no map is decodable")
	}
}
