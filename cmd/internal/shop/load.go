package shop

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed testdata/*.sql
var files embed.FS

// Rows and keys of the shop that Load makes.
const (
	Categories = 40
	Products   = 5_000
	Customers  = 10_000
	Orders     = 16_000
	OrderItems = 96_000
	Reviews    = 30_000
)

// Load creates the shop's tables in the connection's current schema, which
// holds none of them, and fills them. The rows are the same each time. It takes
// about a second.
func Load(ctx context.Context, conn *pgconn.PgConn) error {
	for _, name := range []string{"schema", "rows", "keys"} {
		text, err := files.ReadFile("testdata/" + name + ".sql")
		if err != nil {
			return err
		}
		// One simple query each: the statements of a file are one transaction.
		if _, err := conn.Exec(ctx, string(text)).ReadAll(); err != nil {
			return fmt.Errorf("load the shop (%s.sql): %w", name, err)
		}
	}
	return nil
}

// Unload drops the shop's tables.
func Unload(ctx context.Context, conn *pgconn.PgConn) error {
	_, err := conn.Exec(ctx, `DROP TABLE IF EXISTS reviews, order_items, orders, customers, products, categories`).ReadAll()
	if err != nil {
		return fmt.Errorf("unload the shop: %w", err)
	}
	return nil
}
