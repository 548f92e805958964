package cachedpgx_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

func TestEachHandleHasItsOwnCache(t *testing.T) {
	f := newFake(t, nil)
	var kept []*cachedpgx.Cache
	for want := 1; want <= 2; want++ {
		db, err := cachedpgx.OpenDB(f, quiet())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if got := readInt(t, long(t.Context()), db, product, 1); got != want {
			t.Fatalf("handle %d is served what another asked", want)
		}
		c, _ := cachedpgx.CacheOf(db)
		kept = append(kept, c)
	}
	if kept[0] == kept[1] {
		t.Fatal("one cache for two handles")
	}

	var caches []*cachedpgx.Cache
	for range 2 {
		db, err := sql.Open("cachedpgx", "host=localhost")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		c, ok := cachedpgx.CacheOf(db)
		if !ok {
			t.Fatal("not ours")
		}
		caches = append(caches, c)
	}
	if caches[0] == caches[1] {
		t.Fatal("one cache for two handles of one name")
	}
}

func TestRegisteredConfig(t *testing.T) {
	cachedpgx.RegisterConfig("registered-config-test", cachedpgx.Config{
		Policy:    cachedpgx.Policy{TTL: 7 * time.Second, MaxRows: 70},
		LoadLimit: 9,
	})
	const dsn = "postgres://app@localhost/shop?cache_max_rows=5&cache_config=registered-config-test"
	_, cfg, err := cachedpgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Policy.TTL != 7*time.Second || cfg.LoadLimit != 9 {
		t.Errorf("the registered fields are missing: %+v", cfg)
	}
	if cfg.Policy.MaxRows != 5 {
		t.Errorf("cache_max_rows must override: %d", cfg.Policy.MaxRows)
	}

	// Again: the name stands for the new one.
	cachedpgx.RegisterConfig("registered-config-test", cachedpgx.Config{LoadLimit: 3})
	if _, cfg, err = cachedpgx.ParseConfig(dsn); err != nil || cfg.LoadLimit != 3 || cfg.Policy.TTL != 0 {
		t.Errorf("after registering again: %+v, %v", cfg, err)
	}

	db, err := sql.Open("cachedpgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()

	_, _, err = cachedpgx.ParseConfig("host=localhost cache_config=nobody-registered-this")
	if err == nil || !strings.Contains(err.Error(), "cache_config") {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := sql.Open("cachedpgx", "host=localhost cache_config=nobody-registered-this"); err == nil {
		t.Error("Open with an unknown name: no error")
	}
}

// A registered Config is copied: what its owner does to it later is not seen.
func TestConfigIsCopied(t *testing.T) {
	cfg := quiet()
	f := newFake(t, nil)
	db, _ := openFake(t, f, cfg)
	cfg.Policy.Mode = cachedpgx.ModeOff
	ctx := long(t.Context())
	readInt(t, ctx, db, product, 1)
	readInt(t, ctx, db, product, 1)
	wantCalls(t, f, product, 1)
}
