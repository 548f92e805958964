package rowset

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// stdlibLike reads rows as pgx's stdlib does, without a connection: the decoders
// are made for each query, and each value is decoded.
func stdlibLike(m *pgtype.Map, rows [][][]byte, dest []driver.Value) error {
	columns := make([]string, len(product))
	for i := range product {
		columns[i] = product[i].Name
	}
	funcs := newValueFuncs(m, product)
	for _, row := range rows {
		for i, src := range row {
			if src == nil {
				dest[i] = nil
				continue
			}
			var err error
			if dest[i], err = funcs[i](src); err != nil {
				return err
			}
		}
	}
	return nil
}

func drain(rows driver.Rows, dest []driver.Value) error {
	rows.Columns()
	for {
		if err := rows.Next(dest); err != nil {
			if err == io.EOF {
				return rows.Close()
			}
			return err
		}
	}
}

// BenchmarkHit reads a set whose values are decoded, against decoding.
func BenchmarkHit(b *testing.B) {
	for _, n := range []int{1, 100} {
		rows := productRows(b, n)
		set := build(b, product, rows)
		maps, m := typemap.NewMaps(), pgtype.NewMap()
		dest := make([]driver.Value, len(product))
		b.Run(fmt.Sprintf("rows=%d/decoding", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := stdlibLike(m, rows, dest); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/hit", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := drain(set.Rows(maps, nil), dest); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/hit-parallel", n), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				dest := make([]driver.Value, len(product))
				for pb.Next() {
					if err := drain(set.Rows(maps, nil), dest); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkMiss collects a result and reads it once, against decoding it on
// the way.
func BenchmarkMiss(b *testing.B) {
	for _, n := range []int{1, 1000} {
		rows := productRows(b, n)
		maps, m := typemap.NewMaps(), pgtype.NewMap()
		shape := ShapeOf(nil, product)
		dest := make([]driver.Value, len(product))
		b.Run(fmt.Sprintf("rows=%d/decoding", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := stdlibLike(m, rows, dest); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/miss", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				builder := shape.NewBuilder(Limits{Rows: 10_000, Bytes: 1 << 20})
				for _, row := range rows {
					if !builder.Append(row) {
						b.Fatal("refused")
					}
				}
				if err := drain(builder.Set().Once(maps, nil), dest); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMissPG is the whole of a miss at a server, against plain pgx: the
// rows are read by pgx, collected, and read again by the caller. The three take
// turns, so that what else the machine does hits them alike, and the tenth
// percentiles are compared.
func BenchmarkMissPG(b *testing.B) {
	ctx := context.Background()
	cfg := pgConfig(b)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	const query = "select n::int8, 'a product''s name', 12.50::numeric, now() from generate_series(1, $1::int4) n"
	maps := typemap.NewMaps()
	shape := ShapeOf(nil, nil)
	miss := func(n int, early bool) func() (driver.Rows, error) {
		return func() (driver.Rows, error) {
			rows, err := conn.Query(ctx, query, ResultFormats, n)
			if err != nil {
				return nil, err
			}
			more := rows.Next()
			shape = ShapeOf(shape, rows.FieldDescriptions())
			builder := shape.NewBuilder(Limits{Rows: 10_000, Bytes: 1 << 20})
			if early {
				builder.Decode(maps)
			}
			for ; more; more = rows.Next() {
				if !builder.Append(rows.RawValues()) {
					return nil, errors.New("refused")
				}
			}
			return builder.Set().Once(maps, rows.Err()), nil
		}
	}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			dbs := []*sql.DB{sql.OpenDB(stdlib.GetConnector(*cfg)), rowsDB(miss(n, false)), rowsDB(miss(n, true))}
			took := make([][]time.Duration, len(dbs))
			for b.Loop() {
				for i, db := range dbs {
					start := time.Now()
					rows, err := db.QueryContext(ctx, query, n)
					if err != nil {
						b.Fatal(err)
					}
					var id int64
					var name, price string
					var created time.Time
					for rows.Next() {
						if err := rows.Scan(&id, &name, &price, &created); err != nil {
							b.Fatal(err)
						}
					}
					if err := rows.Close(); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(start))
				}
			}
			p10 := make([]float64, len(dbs))
			for i, db := range dbs {
				db.Close()
				slices.Sort(took[i])
				p10[i] = float64(took[i][len(took[i])/10])
			}
			b.ReportMetric(p10[0], "pgx-ns")
			b.ReportMetric(p10[1]/p10[0], "miss/pgx")
			b.ReportMetric(p10[2]/p10[0], "early-miss/pgx")
		})
	}
}

// A hit on decoded values is one allocation, whatever the number of rows: the
// reader itself, with its column names.
func TestHitAllocations(t *testing.T) {
	dest := make([]driver.Value, len(product))
	for _, n := range []int{1, 100} {
		set, maps := build(t, product, productRows(t, n)), typemap.NewMaps()
		if err := drain(set.Rows(maps, nil), dest); err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(100, func() {
			if err := drain(set.Rows(maps, nil), dest); err != nil {
				t.Fatal(err)
			}
		}); got > 1 {
			t.Errorf("%d rows: %v allocations", n, got)
		}
	}
}
