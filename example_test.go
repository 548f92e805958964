package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// exampleServer stands for a database in the examples that run: it says when
// it is asked.
func exampleServer() driver.Connector {
	f := &fakeServer{handle: func(_ context.Context, c call) reply {
		fmt.Println("  (the server is asked)")
		return value("lamp")
	}}
	f.mu.open = make(map[*fakeConn]struct{})
	f.mu.byText = make(map[string]int)
	return f
}

// exampleRead asks for a product and prints its name.
func exampleRead(ctx context.Context, db *sql.DB) {
	var name string
	if err := db.QueryRowContext(ctx, "SELECT name FROM product WHERE id = $1", 7).Scan(&name); err != nil {
		log.Fatal(err)
	}
	fmt.Println(name)
}

// The one word that changes is the driver's name.
func Example() {
	db, err := sql.Open("cachedpgx", "postgres://app@localhost/shop?cache_ttl=10s")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	var name string
	err = db.QueryRow("SELECT name FROM product WHERE id = $1", 7).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		name = "no such product"
	}
	fmt.Println(name)
}

func ExampleOpenDB() {
	db, err := cachedpgx.OpenDB(exampleServer(), cachedpgx.Config{
		Policy: cachedpgx.Policy{TTL: 10 * time.Second},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	// Over a driver that is not pgx's, what is marked is cached.
	ctx := cachedpgx.WithTTL(context.Background(), 10*time.Second)
	exampleRead(ctx, db)
	exampleRead(ctx, db)
	// Output:
	//   (the server is asked)
	// lamp
	// lamp
}

// A pgx configuration that a data source name can't express.
func ExampleNewConnector() {
	pgxConfig, err := pgx.ParseConfig("postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	pgxConfig.RuntimeParams["application_name"] = "shop"

	connector, err := cachedpgx.NewConnector(stdlib.GetConnector(*pgxConfig), cachedpgx.Config{
		MaxBytes: 256 << 20,
	})
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector) // its Close closes the connector
	defer db.Close()

	fmt.Println(connector.Server().Stats().OpenConnections, "connections: nothing is dialled yet")
	// Output: 0 connections: nothing is dialled yet
}

func ExampleParseConfig() {
	dsn, cfg, err := cachedpgx.ParseConfig("postgres://app@localhost/shop?sslmode=disable&cache_ttl=10s&cache_max_rows=500")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(dsn)
	fmt.Println(cfg.Policy.TTL, cfg.Policy.MaxRows)

	_, _, err = cachedpgx.ParseConfig("host=localhost cache_ttl=yes cache_tll=10s")
	fmt.Println(err != nil)
	// Output:
	// postgres://app@localhost/shop?sslmode=disable
	// 10s 500
	// true
}

func ExampleCacheOf() {
	db, err := sql.Open("cachedpgx", "postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	cache, ok := cachedpgx.CacheOf(db)
	fmt.Println(cache.Stats().Entries, ok)

	other, err := sql.Open("pgx", "postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()
	_, ok = cachedpgx.CacheOf(other)
	fmt.Println(ok)
	// Output:
	// 0 true
	// false
}

// For a framework that opens handles by a driver's name and a string.
func ExampleRegisterConfig() {
	type tenantKey struct{}
	cachedpgx.RegisterConfig("by-tenant", cachedpgx.Config{
		Policy: cachedpgx.Policy{TTL: time.Minute},
		Partition: func(ctx context.Context) string {
			tenant, _ := ctx.Value(tenantKey{}).(string)
			return tenant
		},
	})
	db, err := sql.Open("cachedpgx", "postgres://app@localhost/shop?cache_config=by-tenant&cache_max_rows=100")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
}

func ExampleWithTTL() {
	db, err := cachedpgx.OpenDB(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	exampleRead(cachedpgx.WithTTL(context.Background(), time.Minute), db)
	exampleRead(cachedpgx.WithTTL(context.Background(), time.Minute), db)
	exampleRead(context.Background(), db) // not marked
	// Output:
	//   (the server is asked)
	// lamp
	// lamp
	//   (the server is asked)
	// lamp
}

func ExampleWithoutCache() {
	db, err := cachedpgx.OpenDB(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := cachedpgx.WithTTL(context.Background(), time.Minute)
	exampleRead(ctx, db)
	exampleRead(cachedpgx.WithoutCache(ctx), db)
	// Output:
	//   (the server is asked)
	// lamp
	//   (the server is asked)
	// lamp
}

func ExampleWithRefresh() {
	db, err := cachedpgx.OpenDB(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := cachedpgx.WithTTL(context.Background(), time.Minute)
	exampleRead(cachedpgx.WithRefresh(ctx), db)
	exampleRead(cachedpgx.WithRefresh(ctx), db) // the server again, and kept
	exampleRead(ctx, db)
	// Output:
	//   (the server is asked)
	// lamp
	//   (the server is asked)
	// lamp
	// lamp
}

// After a change that this handle could not see: fixtures of a test, say.
func ExampleCache_Flush() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()

	ctx := cachedpgx.WithTTL(context.Background(), time.Minute)
	exampleRead(ctx, db)
	if err := connector.Cache().Flush(ctx); err != nil {
		log.Fatal(err)
	}
	exampleRead(ctx, db)
	// Output:
	//   (the server is asked)
	// lamp
	//   (the server is asked)
	// lamp
}

// Switch a running service's cache off, and on again.
func ExampleCache_SetMode() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()

	ctx := cachedpgx.WithTTL(context.Background(), time.Minute)
	exampleRead(ctx, db)
	connector.Cache().SetMode(cachedpgx.ModeOff)
	exampleRead(ctx, db)
	connector.Cache().SetMode(cachedpgx.ModeInherit)
	exampleRead(ctx, db) // what was kept is served again
	// Output:
	//   (the server is asked)
	// lamp
	//   (the server is asked)
	// lamp
	// lamp
}

func ExampleCache_Stats() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()

	ctx := cachedpgx.WithTTL(context.Background(), time.Minute)
	for range 3 {
		exampleRead(ctx, db)
	}
	s := connector.Cache().Stats()
	fmt.Println(s.Hits, "hits,", s.Misses, "miss,", s.Loads, "load,", s.Entries, "entry")
	// Output:
	//   (the server is asked)
	// lamp
	// lamp
	// lamp
	// 2 hits, 1 miss, 1 load, 1 entry
}

// The handle counts sessions, which cost nothing; the pool beneath counts the
// connections that the server has.
func ExampleCache_Server() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()

	connector.Cache().Server().SetMaxOpenConns(10)
	fmt.Println(connector.Cache().Server().Stats().MaxOpenConnections)
	// Output: 10
}

// A handler that answers whether the database is there asks it: Ping is never
// answered from memory.
func ExampleConnector_Server() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer connector.Close()

	http.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		if err := connector.Server().PingContext(r.Context()); err != nil {
			http.Error(w, "the database is away", http.StatusServiceUnavailable)
		}
	})
	// Output:
}

func ExampleConnector_Close() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(connector.Close(), connector.Close())
	_, err = connector.Connect(context.Background())
	fmt.Println(errors.Is(err, cachedpgx.ErrClosed))
	// Output:
	// <nil> <nil>
	// true
}

// The pgx connection, for what database/sql has no words for.
func ExampleConn_Conn() {
	db, err := sql.Open("cachedpgx", "postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := context.Background()
	session, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	err = session.Raw(func(raw any) error {
		conn, err := raw.(*cachedpgx.Conn).ConnContext(ctx)
		if err != nil {
			return err
		}
		_, err = conn.CopyFrom(ctx, pgx.Identifier{"product"}, []string{"id", "name"},
			pgx.CopyFromRows([][]any{{8, "shade"}}))
		return err
	})
	if err != nil {
		fmt.Println("copy:", err)
	}
}

// Whoever may not share rows gets a partition of their own.
func ExampleConfig_partition() {
	type tenantKey struct{}
	db, err := cachedpgx.OpenDB(exampleServer(), cachedpgx.Config{
		Partition: func(ctx context.Context) string {
			tenant, _ := ctx.Value(tenantKey{}).(string)
			return tenant
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := cachedpgx.WithTTL(context.Background(), time.Minute)
	for _, tenant := range []string{"north", "south", "north"} {
		exampleRead(context.WithValue(ctx, tenantKey{}, tenant), db)
	}
	// Output:
	//   (the server is asked)
	// lamp
	//   (the server is asked)
	// lamp
	// lamp
}

// A Config that is wrong is one error that names every field.
func ExampleConfig_validation() {
	_, err := cachedpgx.OpenDB(exampleServer(), cachedpgx.Config{
		Policy:   cachedpgx.Policy{Jitter: 3},
		MaxBytes: -5,
	})
	fmt.Println(err != nil)
	// Output: true
}

func ExamplePolicy() {
	p := cachedpgx.Policy{
		Mode:        cachedpgx.ModeMarked, // cache what is marked, and nothing else
		TTL:         10 * time.Second,     // rows changed by others are that old at most
		NegativeTTL: cachedpgx.Off,        // keep no empty results
		Jitter:      0.2,                  // spread the ends of lives
		MaxRows:     500,
	}
	fmt.Println(p.Mode, p.TTL)
	// Output: marked 10s
}

func ExamplePool() {
	connector, err := cachedpgx.NewConnector(exampleServer(), cachedpgx.Config{
		ServerPool: cachedpgx.Pool{MaxOpen: 20, MaxIdle: 5, MaxIdleTime: time.Minute},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer connector.Close()
	fmt.Println(connector.Server().Stats().MaxOpenConnections)
	// Output: 20
}

func ExampleMode_String() {
	fmt.Println(cachedpgx.ModeAuto, cachedpgx.ModeMarked, cachedpgx.ModeOff)
	// Output: auto marked off
}

// The driver beneath is found by Unwrap.
func ExampleDriver_Unwrap() {
	db, err := sql.Open("cachedpgx", "postgres://app@localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	inner := db.Driver().(interface{ Unwrap() driver.Driver }).Unwrap()
	fmt.Printf("%T\n", inner)
	// Output: *stdlib.Driver
}
