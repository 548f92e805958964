package shop_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	_ "github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/cmd/internal/shop"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestRepository runs the repository's own tests. The driver's name is the only
// difference between the two runs.
func TestRepository(t *testing.T) {
	for _, driver := range []string{"pgx", "cachedpgx"} {
		t.Run(driver, func(t *testing.T) { testRepository(t, driver) })
	}
}

func testRepository(t *testing.T, driver string) {
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Load(t.Context(), conn.PgConn()); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	repo := shop.New(db)

	// In this order: the reads know the rows that Load made.
	for _, test := range []struct {
		name string
		run  func(*testing.T, *shop.Repository)
	}{
		{"reads", testReads},
		{"empty results", testEmpty},
		{"price", testPrice},
		{"register, then log in", testAddProduct},
		{"review", testReview},
		{"order", testOrder},
		{"an order that fails changes nothing", testOrderFails},
		{"orders at the same time", testConcurrentOrders},
		{"a context that has ended", testCancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, repo) })
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// testReads asks everything three times: the answers must not depend on how
// often something was asked.
func testReads(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	for range 3 {
		p := must[shop.Product](t)(repo.Product(ctx, 42))
		if want := (shop.Product{42, 3, "Quiet lamp no. 42", 7581, 1_000_000}); p != want {
			t.Errorf("Product = %+v, want %+v", p, want)
		}
		page := must[[]shop.Product](t)(repo.ProductsInCategory(ctx, 3, 5, 10))
		if len(page) != 5 || !slices.IsSortedFunc(page, func(a, b shop.Product) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		}) {
			t.Errorf("ProductsInCategory = %+v, want 5 by name", page)
		}
		r := must[shop.RatedProduct](t)(repo.ProductWithRating(ctx, 42))
		if r.Product != p || r.Reviews == 0 || !r.Rating.Valid || r.Rating.Float64 < 1 || r.Rating.Float64 > 5 {
			t.Errorf("ProductWithRating = %+v", r)
		}
		c := must[shop.Customer](t)(repo.CustomerByEmail(ctx, "customer7@example.com"))
		if c.ID != 7 || c.Name != "Ada 7" || !c.CreatedAt.Equal(time.Date(2024, 1, 1, 1, 17, 0, 0, time.UTC)) {
			t.Errorf("CustomerByEmail = %+v", c)
		}
		orders := must[[]shop.Order](t)(repo.OrdersOfCustomer(ctx, 7, 2))
		if len(orders) != 2 || orders[0].CreatedAt.Before(orders[1].CreatedAt) || orders[0].Lines != 6 || orders[0].TotalCents <= 0 {
			t.Errorf("OrdersOfCustomer = %+v, want the 2 newest", orders)
		}
		top := must[[]shop.Seller](t)(repo.TopSellers(ctx, 3))
		if len(top) != 3 || top[0].ProductID != 1 || top[0].Sold < top[1].Sold || top[1].Sold < top[2].Sold {
			t.Errorf("TopSellers = %+v", top)
		}
		pairs := must[[]shop.Pair](t)(repo.BoughtTogether(ctx, 2, 4))
		if len(pairs) != 4 || pairs[0].Orders < pairs[3].Orders || pairs[0].FirstID >= pairs[0].SecondID {
			t.Errorf("BoughtTogether = %+v", pairs)
		}
		if n := must[int64](t)(repo.OrdersOfToday(ctx)); n != 0 {
			t.Errorf("OrdersOfToday = %d, want none", n)
		}
	}
}

func testEmpty(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	for range 3 {
		if p, err := repo.Product(ctx, 999_999); !errors.Is(err, shop.ErrNotFound) {
			t.Errorf("Product = %+v, %v, want ErrNotFound", p, err)
		}
		if c, err := repo.CustomerByEmail(ctx, "nobody@example.com"); !errors.Is(err, shop.ErrNotFound) {
			t.Errorf("CustomerByEmail = %+v, %v, want ErrNotFound", c, err)
		}
		if l := must[[]shop.Order](t)(repo.OrdersOfCustomer(ctx, 999_999, 10)); l == nil || len(l) != 0 {
			t.Errorf("OrdersOfCustomer = %#v, want an empty slice", l)
		}
		if err := repo.SetPrice(ctx, 999_999, 1); !errors.Is(err, shop.ErrNotFound) {
			t.Errorf("SetPrice: %v, want ErrNotFound", err)
		}
	}
}

func testPrice(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	for cents := int64(100); cents < 110; cents++ {
		if err := repo.SetPrice(ctx, 43, cents); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if p := must[shop.Product](t)(repo.Product(ctx, 43)); p.PriceCents != cents {
				t.Errorf("Product's price = %d, want %d", p.PriceCents, cents)
			}
		}
	}
}

func testAddProduct(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	want := shop.Product{ID: 50_000, CategoryID: 1, Name: "A new one", PriceCents: 5, Stock: 1}
	if _, err := repo.Product(ctx, want.ID); !errors.Is(err, shop.ErrNotFound) {
		t.Fatalf("before: %v, want ErrNotFound", err)
	}
	if err := repo.AddProduct(ctx, want); err != nil {
		t.Fatal(err)
	}
	if p := must[shop.Product](t)(repo.Product(ctx, want.ID)); p != want {
		t.Errorf("Product = %+v, want %+v", p, want)
	}
	if r := must[shop.RatedProduct](t)(repo.ProductWithRating(ctx, want.ID)); r.Product != want || r.Reviews != 0 || r.Rating.Valid {
		t.Errorf("ProductWithRating = %+v, want no reviews and a NULL", r)
	}
	if err := repo.AddProduct(ctx, want); err == nil {
		t.Error("the same id a second time: no error")
	}
}

func testReview(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	before := must[shop.RatedProduct](t)(repo.ProductWithRating(ctx, 44))
	if err := repo.AddReview(ctx, 44, 5, "Good."); err != nil {
		t.Fatal(err)
	}
	after := must[shop.RatedProduct](t)(repo.ProductWithRating(ctx, 44))
	if after.Reviews != before.Reviews+1 || after.Rating.Float64 <= before.Rating.Float64 {
		t.Errorf("ProductWithRating = %+v after a better review, %+v before", after, before)
	}
}

func testOrder(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	const customer = 11
	must[[]shop.Order](t)(repo.OrdersOfCustomer(ctx, customer, 100))
	stock := must[shop.Product](t)(repo.Product(ctx, 45)).Stock

	id := must[int64](t)(repo.PlaceOrder(ctx, customer, []shop.Line{{46, 1}, {45, 3}}))
	orders := must[[]shop.Order](t)(repo.OrdersOfCustomer(ctx, customer, 100))
	if len(orders) == 0 || orders[0].ID != id || orders[0].Status != "paid" || orders[0].Lines != 2 {
		t.Errorf("OrdersOfCustomer = %+v, want order %d first, of 2 lines", orders, id)
	}
	if p := must[shop.Product](t)(repo.Product(ctx, 45)); p.Stock != stock-3 {
		t.Errorf("stock = %d, want %d", p.Stock, stock-3)
	}
	if n := must[int64](t)(repo.OrdersOfToday(ctx)); n != 1 {
		t.Errorf("OrdersOfToday = %d, want 1", n)
	}
}

func testOrderFails(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	const customer = 12
	orders := must[[]shop.Order](t)(repo.OrdersOfCustomer(ctx, customer, 100))
	product := must[shop.Product](t)(repo.Product(ctx, 47))

	// The first line is taken from stock before the second one fails.
	_, err := repo.PlaceOrder(ctx, customer, []shop.Line{{47, 1}, {48, 2_000_000}})
	if !errors.Is(err, shop.ErrOutOfStock) {
		t.Fatalf("PlaceOrder: %v, want ErrOutOfStock", err)
	}
	_, err = repo.PlaceOrder(ctx, customer, []shop.Line{{47, 1}, {999_999, 1}})
	if !errors.Is(err, shop.ErrNotFound) {
		t.Fatalf("PlaceOrder: %v, want ErrNotFound", err)
	}
	if got := must[[]shop.Order](t)(repo.OrdersOfCustomer(ctx, customer, 100)); len(got) != len(orders) {
		t.Errorf("%d orders, want %d", len(got), len(orders))
	}
	if got := must[shop.Product](t)(repo.Product(ctx, 47)); got != product {
		t.Errorf("Product = %+v, want %+v", got, product)
	}
}

func testConcurrentOrders(t *testing.T, repo *shop.Repository) {
	ctx := t.Context()
	const buyers, each = 8, 10
	before := must[shop.Product](t)(repo.Product(ctx, 49)).Stock
	errs := make(chan error, buyers)
	var wg sync.WaitGroup
	for i := range buyers {
		wg.Go(func() {
			for range each {
				id, err := repo.PlaceOrder(ctx, int64(100+i), []shop.Line{{49, 1}, {50, 1}})
				if err != nil {
					errs <- err
					return
				}
				orders, err := repo.OrdersOfCustomer(ctx, int64(100+i), 100)
				if err == nil && !slices.ContainsFunc(orders, func(o shop.Order) bool { return o.ID == id }) {
					err = fmt.Errorf("order %d is not among those of its customer: %+v", id, orders)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if p := must[shop.Product](t)(repo.Product(ctx, 49)); p.Stock != before-buyers*each {
		t.Errorf("stock = %d, want %d", p.Stock, before-buyers*each)
	}
}

func testCancelled(t *testing.T, repo *shop.Repository) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := repo.Product(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Product: %v, want context.Canceled", err)
	}
	if _, err := repo.PlaceOrder(ctx, 1, []shop.Line{{1, 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("PlaceOrder: %v, want context.Canceled", err)
	}
	must[shop.Product](t)(repo.Product(t.Context(), 1))
}
