package rowset

import (
	"context"
	"database/sql"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5"
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
