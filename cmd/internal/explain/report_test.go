package explain

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var policy = cachedpgx.Policy{
	Mode: cachedpgx.ModeAuto, TTL: 30 * time.Second, NegativeTTL: 5 * time.Second, Jitter: 0.1,
	MaxRows: 10_000, MaxResultBytes: 1 << 20,
}

var (
	written  = cachedpgx.Reason{Code: "write", Detail: "UPDATE", Fix: "writes go to the server"}
	function = cachedpgx.Reason{Code: "user-function", Detail: "shop.rate", Fix: "shop.rate is not known to be pure: declare it IMMUTABLE " +
		"and write it in SQL over nothing, or list it in PureFunctions with what it reads"}
	clock = cachedpgx.Reason{Code: "clock-keyword", Detail: "CURRENT_DATE", Fix: "CURRENT_DATE reads the clock: pass the time as a parameter, " +
		"or mark the read with a TTL", Markable: true}
)

// shop is a workload of some size.
func shop() *results {
	since := time.Date(2025, 3, 1, 8, 30, 0, 0, time.UTC)
	of := func(calls int64, took time.Duration) cost { return cost{1, calls, took, 2 * calls} }
	all := &results{server: "17.2", list: []result{
		{
			statement: statement{text: "SELECT p.id, p.name, p.price FROM product p\n\tJOIN category c ON c.id = p.category_id WHERE c.slug = $1 AND p.price < $2 ORDER BY p.price LIMIT $3"},
			kind:      sqlscan.ClassRead, ids: []int64{1<<62 + 1},
			Explanation: cachedpgx.Explanation{Cacheable: true, Relations: []string{"shop.category", "shop.product"}, Policy: policy, Rule: "catalog"},
			cost:        of(1_250_000, 12*time.Minute),
		},
		{
			statement: statement{text: "UPDATE stock SET n = n - $1 WHERE id = $2"}, kind: sqlscan.ClassWrite, ids: []int64{-7},
			Explanation: cachedpgx.Explanation{Reasons: []cachedpgx.Reason{written}, Writes: []string{"shop.stock"}, Policy: policy},
			cost:        of(90_000, 93*time.Second),
		},
		{
			statement: statement{text: "SELECT rate(c) FROM c WHERE at < CURRENT_DATE"}, kind: sqlscan.ClassRead,
			Explanation: cachedpgx.Explanation{Reasons: []cachedpgx.Reason{function, clock, function}, AllWrites: true,
				Notes: []string{"it is not proven to write nothing, and counts as a write"}, Policy: policy},
			cost: of(12, 1500*time.Microsecond),
		},
		{
			statement: statement{text: "SELECT a FROM b WHERE at < CURRENT_DATE"}, kind: sqlscan.ClassRead,
			Explanation: cachedpgx.Explanation{Reasons: []cachedpgx.Reason{clock}, Relations: []string{"shop.b"}, Policy: policy},
			cost:        of(3, 400*time.Microsecond),
		},
	}}
	w := &workload{since: &since, hidden: cost{2, 10, 5 * time.Second, 0}}
	for _, r := range all.list {
		w.shown.add(r.cost)
	}
	w.all = w.shown
	w.all.add(cost{600, 4000, time.Minute, 0})
	all.workload = w
	return all
}

// given is the same, from a file.
func given() *results {
	all := shop()
	all.workload = nil
	for i := range all.list {
		all.list[i].cost, all.list[i].line = cost{}, 1+4*i
	}
	return all
}

func one(i int) *results {
	all := given()
	all.list = all.list[i : i+1]
	return all
}

func TestReports(t *testing.T) {
	text := func(color bool) func(*bytes.Buffer, *results) error {
		return func(b *bytes.Buffer, all *results) error { return writeText(b, all, color) }
	}
	object := func(b *bytes.Buffer, all *results) error { return writeJSON(b, all) }
	nothing := shop()
	nothing.list, nothing.workload.shown, nothing.workload.all = nil, cost{}, cost{}
	for _, c := range []struct {
		name  string
		print func(*bytes.Buffer, *results) error
		all   *results
	}{
		{"one_cacheable", text(false), one(0)},
		{"one_write", text(false), one(1)},
		{"one_with_reasons", text(false), one(2)},
		{"one_markable", text(false), one(3)},
		{"file", text(false), given()},
		{"file_json", object, given()},
		{"workload", text(false), shop()},
		{"workload_color", text(true), shop()},
		{"workload_json", object, shop()},
		{"workload_empty", text(false), nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			if err := c.print(&got, c.all); err != nil {
				t.Fatal(err)
			}
			path := "testdata/" + c.name + ".txt"
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
			}
		})
	}
}

// A report that can't be printed is an error, and not a success.
func TestPrintingFails(t *testing.T) {
	for _, all := range []*results{one(0), given(), shop()} {
		if err := writeText(fullDisk{}, all, false); err == nil {
			t.Error("no error from text")
		}
		if err := writeJSON(fullDisk{}, all); err == nil {
			t.Error("no error from JSON")
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestDurationAndSize(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 ms", 30 * time.Microsecond: "0.0 ms", 1500 * time.Microsecond: "1.5 ms", 2 * time.Second: "2.0 s",
		10 * time.Minute: "10 min", 90 * 24 * time.Hour: "2,160 h",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{1: "1 B", 1000: "1,000 B", 1 << 10: "1 KiB", 64 << 20: "64 MiB", 1 << 40: "1,024 GiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
