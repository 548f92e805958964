// Package shop is an ordinary repository: what a service that sells things
// keeps in PostgreSQL, written with database/sql. It knows nothing of a cache,
// and takes whichever *sql.DB its caller opened.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNotFound is returned where the one row that was asked for is not there.
var ErrNotFound = errors.New("shop: not found")

// ErrOutOfStock is returned by PlaceOrder; nothing was ordered.
var ErrOutOfStock = errors.New("shop: out of stock")

// Repository reads and writes the shop. It may be used concurrently.
type Repository struct {
	db *sql.DB
}

// New makes a repository over db, whose search_path leads to the shop's tables.
func New(db *sql.DB) *Repository { return &Repository{db: db} }

// Product is what can be bought.
type Product struct {
	ID         int64
	CategoryID int64
	Name       string
	PriceCents int64
	Stock      int32
}

// RatedProduct is a product and what its buyers think of it.
type RatedProduct struct {
	Product
	Reviews int64
	Rating  sql.NullFloat64 // the mean; NULL where nobody has reviewed it
}

// Customer is who buys.
type Customer struct {
	ID        int64
	Email     string
	Name      string
	CreatedAt time.Time
}

// Order is one order, summed up.
type Order struct {
	ID         int64
	Status     string
	CreatedAt  time.Time
	Lines      int64
	TotalCents int64
}

// Seller is a product by how well it sells.
type Seller struct {
	ProductID    int64
	Name         string
	Sold         int64
	RevenueCents int64
}

// Pair is two products that are bought in one order.
type Pair struct {
	FirstID, SecondID     int64
	FirstName, SecondName string
	Orders                int64
}

// Line is one line of a new order.
type Line struct {
	ProductID int64
	Quantity  int32
}

// Product returns the product with this id, or ErrNotFound.
func (r *Repository) Product(ctx context.Context, id int64) (Product, error) {
	var p Product
	err := r.db.QueryRowContext(ctx, `
		SELECT id, category_id, name, price_cents, stock
		FROM products
		WHERE id = $1`, id).
		Scan(&p.ID, &p.CategoryID, &p.Name, &p.PriceCents, &p.Stock)
	return p, wrap("product", err)
}

// ProductsInCategory returns one page of a category, by name.
func (r *Repository) ProductsInCategory(ctx context.Context, categoryID int64, limit, offset int) ([]Product, error) {
	return list(ctx, r.db, "products in category", func(rows *sql.Rows, p *Product) error {
		return rows.Scan(&p.ID, &p.CategoryID, &p.Name, &p.PriceCents, &p.Stock)
	}, `
		SELECT id, category_id, name, price_cents, stock
		FROM products
		WHERE category_id = $1
		ORDER BY name, id
		LIMIT $2 OFFSET $3`, categoryID, limit, offset)
}

// ProductWithRating returns a product with its mean rating, or ErrNotFound.
func (r *Repository) ProductWithRating(ctx context.Context, id int64) (RatedProduct, error) {
	var p RatedProduct
	err := r.db.QueryRowContext(ctx, `
		SELECT p.id, p.category_id, p.name, p.price_cents, p.stock, count(r.id), avg(r.rating)
		FROM products p
		LEFT JOIN reviews r ON r.product_id = p.id
		WHERE p.id = $1
		GROUP BY p.id, p.category_id, p.name, p.price_cents, p.stock`, id).
		Scan(&p.ID, &p.CategoryID, &p.Name, &p.PriceCents, &p.Stock, &p.Reviews, &p.Rating)
	return p, wrap("product with rating", err)
}

// CustomerByEmail returns the customer with this address, or ErrNotFound.
func (r *Repository) CustomerByEmail(ctx context.Context, email string) (Customer, error) {
	var c Customer
	err := r.db.QueryRowContext(ctx, `
		SELECT id, email, name, created_at
		FROM customers
		WHERE email = $1`, email).
		Scan(&c.ID, &c.Email, &c.Name, &c.CreatedAt)
	return c, wrap("customer by email", err)
}

// OrdersOfCustomer returns a customer's latest orders, the newest first.
func (r *Repository) OrdersOfCustomer(ctx context.Context, customerID int64, limit int) ([]Order, error) {
	return list(ctx, r.db, "orders of customer", func(rows *sql.Rows, o *Order) error {
		return rows.Scan(&o.ID, &o.Status, &o.CreatedAt, &o.Lines, &o.TotalCents)
	}, `
		SELECT o.id, o.status, o.created_at, count(*), sum(i.quantity * i.price_cents)
		FROM orders o
		JOIN order_items i ON i.order_id = o.id
		WHERE o.customer_id = $1
		GROUP BY o.id, o.status, o.created_at
		ORDER BY o.created_at DESC, o.id DESC
		LIMIT $2`, customerID, limit)
}

// TopSellers returns the products that sell best, over all orders.
func (r *Repository) TopSellers(ctx context.Context, limit int) ([]Seller, error) {
	return list(ctx, r.db, "top sellers", func(rows *sql.Rows, s *Seller) error {
		return rows.Scan(&s.ProductID, &s.Name, &s.Sold, &s.RevenueCents)
	}, `
		SELECT p.id, p.name, sum(i.quantity) AS sold, sum(i.quantity * i.price_cents)
		FROM order_items i
		JOIN orders o ON o.id = i.order_id
		JOIN products p ON p.id = i.product_id
		WHERE o.status <> 'returned'
		GROUP BY p.id, p.name
		ORDER BY sold DESC, p.id
		LIMIT $1`, limit)
}

// BoughtTogether returns the pairs of products that at least minOrders orders
// hold both of, the commonest first. It reads every order there is.
func (r *Repository) BoughtTogether(ctx context.Context, minOrders, limit int) ([]Pair, error) {
	return list(ctx, r.db, "bought together", func(rows *sql.Rows, p *Pair) error {
		return rows.Scan(&p.FirstID, &p.FirstName, &p.SecondID, &p.SecondName, &p.Orders)
	}, `
		SELECT first.id, first.name, second.id, second.name, count(*) AS together
		FROM order_items a
		JOIN order_items b ON b.order_id = a.order_id AND b.product_id > a.product_id
		JOIN orders o ON o.id = a.order_id
		JOIN products first ON first.id = a.product_id
		JOIN products second ON second.id = b.product_id
		WHERE o.status <> 'returned'
		GROUP BY first.id, first.name, second.id, second.name
		HAVING count(*) >= $1
		ORDER BY together DESC, first.id, second.id
		LIMIT $2`, minOrders, limit)
}

// OrdersOfToday counts the orders of the last 24 hours.
func (r *Repository) OrdersOfToday(ctx context.Context) (int64, error) {
	var n int64
	err := r.db.QueryRowContext(ctx, `
		SELECT count(*)
		FROM orders
		WHERE created_at > now() - interval '1 day'`).Scan(&n)
	return n, wrap("orders of today", err)
}

// PlaceOrder takes the lines from stock and books them as one order, in one
// transaction, at the prices of the moment. No product may be in two lines.
func (r *Repository) PlaceOrder(ctx context.Context, customerID int64, lines []Line) (orderID int64, err error) {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, wrap("place order", err)
	}
	defer tx.Rollback() // a no-op once it is committed

	// Every order locks its products in the same sequence, so that no two
	// wait for each other.
	lines = slices.SortedFunc(slices.Values(lines), func(a, b Line) int { return int(a.ProductID - b.ProductID) })

	err = tx.QueryRowContext(ctx, `
		INSERT INTO orders (customer_id, status, created_at)
		VALUES ($1, 'paid', now())
		RETURNING id`, customerID).Scan(&orderID)
	if err != nil {
		return 0, wrap("place order", err)
	}
	for _, l := range lines {
		var price int64
		var stock int32
		err = tx.QueryRowContext(ctx, `
			SELECT price_cents, stock
			FROM products
			WHERE id = $1
			FOR UPDATE`, l.ProductID).Scan(&price, &stock)
		if err != nil {
			return 0, wrap("place order", err)
		}
		if stock < l.Quantity {
			return 0, fmt.Errorf("product %d: %w", l.ProductID, ErrOutOfStock)
		}
		_, err = tx.ExecContext(ctx, `UPDATE products SET stock = stock - $2 WHERE id = $1`, l.ProductID, l.Quantity)
		if err != nil {
			return 0, wrap("place order", err)
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO order_items (order_id, product_id, quantity, price_cents)
			VALUES ($1, $2, $3, $4)`, orderID, l.ProductID, l.Quantity, price)
		if err != nil {
			return 0, wrap("place order", err)
		}
	}
	return orderID, wrap("place order", tx.Commit())
}

// SetPrice changes a product's price, or returns ErrNotFound.
func (r *Repository) SetPrice(ctx context.Context, productID, cents int64) error {
	res, err := r.db.ExecContext(ctx, `UPDATE products SET price_cents = $2 WHERE id = $1`, productID, cents)
	if err != nil {
		return wrap("set price", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return wrap("set price", errors.Join(err, sql.ErrNoRows))
	}
	return nil
}

// AddReview adds a review of a product.
func (r *Repository) AddReview(ctx context.Context, productID int64, rating int, body string) error {
	_, err := r.db.ExecContext(ctx,
		`INSERT INTO reviews (product_id, rating, body) VALUES ($1, $2, $3)`, productID, rating, body)
	return wrap("add review", err)
}

// AddProduct adds a product under an id of the caller's choice.
func (r *Repository) AddProduct(ctx context.Context, p Product) error {
	_, err := r.db.ExecContext(ctx, `
		INSERT INTO products (id, category_id, name, price_cents, stock)
		VALUES ($1, $2, $3, $4, $5)`, p.ID, p.CategoryID, p.Name, p.PriceCents, p.Stock)
	return wrap("add product", err)
}

// list runs a query and collects its rows. An empty result is an empty slice.
func list[T any](ctx context.Context, db *sql.DB, what string, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, wrap(what, err)
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, wrap(what, err)
		}
		all = append(all, v)
	}
	return all, wrap(what, rows.Err())
}

func wrap(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
