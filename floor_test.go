package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

// floor is a driver that hands out ready rows: what database/sql costs by
// itself, below which no driver gets.
type floor struct {
	columns []string
	rows    map[string][][]driver.Value // by text
}

func (f *floor) Connect(context.Context) (driver.Conn, error) { return floorConn{f}, nil }
func (f *floor) Driver() driver.Driver                        { return nil }

type floorConn struct{ *floor }

func (c floorConn) Prepare(string) (driver.Stmt, error)         { return nil, driver.ErrSkip }
func (c floorConn) Begin() (driver.Tx, error)                   { return nil, driver.ErrSkip }
func (c floorConn) Close() error                                { return nil }
func (c floorConn) CheckNamedValue(nv *driver.NamedValue) error { return nil }
func (c floorConn) ResetSession(context.Context) error          { return nil }
func (c floorConn) IsValid() bool                               { return true }
func (c floorConn) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return &floorRows{floor: c.floor, rows: c.rows[text]}, nil
}

type floorRows struct {
	*floor
	rows [][]driver.Value
}

func (r *floorRows) Columns() []string { return r.columns }
func (r *floorRows) Close() error      { return nil }
func (r *floorRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// BenchmarkPGFloor runs the floor and hits in turns, in batches, and reports
// the ratio of their median times, and of their allocations.
func BenchmarkPGFloor(b *testing.B) {
	_, cached := pgBench(b)
	f := &floor{columns: []string{"id", "name", "price", "stock"}, rows: map[string][][]driver.Value{}}
	for i := range 100 {
		f.rows[pgBenchList] = append(f.rows[pgBenchList], []driver.Value{int64(i), fmt.Sprint("product ", i), float64(i) * 1.5, int64(i)})
	}
	f.rows[pgBenchRead] = f.rows[pgBenchList][:1]
	ready := sql.OpenDB(f)
	b.Cleanup(func() { ready.Close() })
	for _, s := range []struct {
		name string
		ctx  context.Context
		text string
		arg  int
		ops  int
	}{
		{"1 row", context.Background(), pgBenchRead, 7, 2000},
		{"1 row, cancellable", b.Context(), pgBenchRead, 7, 1000},
		{"100 rows", context.Background(), pgBenchList, 100, 100},
	} {
		b.Run(s.name, func(b *testing.B) {
			batch := func(db *sql.DB) time.Duration {
				start := time.Now()
				for range s.ops {
					pgBenchQuery(b, s.ctx, db, s.text, s.arg)
				}
				return time.Since(start) / time.Duration(s.ops)
			}
			var low, hit []time.Duration
			for b.Loop() {
				low, hit = append(low, batch(ready)), append(hit, batch(cached))
			}
			slices.Sort(low)
			slices.Sort(hit)
			l, h := low[len(low)/2], hit[len(hit)/2]
			allocs := func(db *sql.DB) float64 {
				return testing.AllocsPerRun(100, func() { pgBenchQuery(b, s.ctx, db, s.text, s.arg) })
			}
			b.ReportMetric(float64(h)/float64(l), "×floor")
			b.ReportMetric(float64(h), "ns/hit")
			b.ReportMetric(float64(l), "ns/floor")
			b.ReportMetric(allocs(cached)-allocs(ready), "allocs-more")
		})
	}
}
