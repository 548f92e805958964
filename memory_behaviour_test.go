package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx"
)

// Promise 8: memory has limits.

func TestMemoryIsBounded(t *testing.T) {
	f := newFake(t, func(context.Context, call) reply { return value(strings.Repeat("x", 10_000)) })
	cfg := quiet()
	cfg.MaxBytes = 1 << 20
	db, c := openFake(t, f, cfg)
	for key := range 1000 {
		if _, err := readAll[string](long(t.Context()), db, product, key); err != nil {
			t.Fatal(err)
		}
		// The engine evicts a little behind the stores.
		if s := c.Stats(); s.Bytes > cfg.MaxBytes*5/4 {
			t.Fatalf("%d bytes are kept, of %d", s.Bytes, cfg.MaxBytes)
		}
	}
	s := c.Stats()
	if s.Entries == 0 || s.Evictions == 0 || s.Bytes < s.Entries*10_000 {
		t.Errorf("stats %+v", s)
	}
}

// What is larger than the whole memory is not kept, and evicts nothing.
func TestLargerThanTheMemory(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply {
		if c.arg() == int64(0) {
			return value(strings.Repeat("x", 900_000))
		}
		return value("small")
	})
	cfg := quiet()
	cfg.MaxBytes = 512 << 10
	db, _ := openFake(t, f, cfg)
	for _, key := range []int{1, 0, 0, 1} {
		if _, err := readAll[string](long(t.Context()), db, product, key); err != nil {
			t.Fatal(err)
		}
	}
	wantCalls(t, f, product, 3)
}

// A flood of unknown ids can't push out real rows (fault kind 12).
func TestFloodOfUnknownIds(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply {
		if c.arg().(int64) >= 1000 {
			return empty()
		}
		return value(strings.Repeat("x", 1000))
	})
	cfg := quiet()
	cfg.MaxBytes, cfg.NegativeMaxBytes = 1<<20, 64<<10
	db, c := openFake(t, f, cfg)
	ctx := long(t.Context())
	const real = 100
	for key := range real {
		if _, err := readAll[string](ctx, db, product, key); err != nil {
			t.Fatal(err)
		}
	}
	for key := range 20_000 {
		var s string
		if err := db.QueryRowContext(ctx, product, 1000+key).Scan(&s); !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.NegativeBytes > cfg.NegativeMaxBytes*5/4 || s.NegativeEntries == 0 || s.Entries != real {
		t.Errorf("stats %+v", s)
	}
	before := f.count(product)
	for key := range real {
		if _, err := readAll[string](ctx, db, product, key); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count(product) - before; n != 0 {
		t.Errorf("%d real rows were pushed out", n)
	}
}

// A found row replaces a "not found", and a "not found" a row: never both.
func TestRowAndNoRowReplaceEachOther(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply {
		if c.nth%2 == 1 {
			return empty()
		}
		return value("here")
	})
	db, c := openFake(t, f, quiet())
	ctx := long(t.Context())
	for i := range 6 {
		for _, ctx := range []context.Context{cachedpgx.WithRefresh(ctx), ctx} {
			got, err := readAll[string](ctx, db, product, 1)
			if err != nil || len(got) != i%2 {
				t.Fatalf("round %d: %q, %v", i, got, err)
			}
		}
		if s := c.Stats(); s.Entries+s.NegativeEntries != 1 {
			t.Errorf("round %d: %d entries and %d negative ones", i, s.Entries, s.NegativeEntries)
		}
	}
	wantCalls(t, f, product, 6)
}

func TestStatsAddUp(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply {
		switch c.arg() {
		case int64(0):
			return empty()
		case int64(-1):
			return reply{err: errOops}
		}
		return value("v")
	})
	db, c := openFake(t, f, quiet())
	ctx := long(t.Context())
	read := func(ctx context.Context, key int) { _, _ = readAll[string](ctx, db, product, key) }
	if s := c.Stats(); s.Hits+s.Misses+s.Loads != 0 || s.Entries != 0 || s.Bytes != 0 || total(s.Bypasses) != 0 {
		t.Errorf("at the start: %+v", s)
	}
	for range 3 {
		read(ctx, 1)
		read(ctx, 0)
		read(ctx, -1)
	}
	read(t.Context(), 1)
	read(cachedpgx.WithoutCache(ctx), 1)
	s := c.Stats()
	if s.Hits != 4 || s.NegativeHits != 2 || s.Misses != 5 || s.Loads != 5 || s.LoadErrors != 3 || s.Coalesced != 0 {
		t.Errorf("counters: %+v", s)
	}
	if s.Entries != 1 || s.NegativeEntries != 1 || s.Bytes <= 0 || s.NegativeBytes <= 0 || s.Loading != 0 || s.LoadingPeak != 1 {
		t.Errorf("gauges: %+v", s)
	}
	if total(s.Bypasses) != 2 {
		t.Errorf("bypasses: %v", s.Bypasses)
	}
	// A snapshot belongs to who took it.
	for k := range s.Bypasses {
		s.Bypasses[k] = 1000
	}
	if total(c.Stats().Bypasses) != 2 {
		t.Error("the map of bypasses is shared")
	}
}
