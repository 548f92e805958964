package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachedpgx/cachedpgx/cmd/internal/shop"
)

// productText is in the text of shop.Repository.Product and in no other.
const productText = "category_id, name, price_cents, stock\n\t\tFROM products\n\t\tWHERE id = $1"

// priced is what one driver made of a write and the next read.
type priced struct {
	before, next, later int64 // cents
	nextTook, laterTook time.Duration
}

func (r *run) pricedWith(ctx context.Context, driver string) (s priced, err error) {
	h, err := r.openAfter(ctx, `UPDATE products SET price_cents = 7500 WHERE id = 42`, driver)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	const product, newPrice = 42, 6_900
	price := func(cents *int64, took *time.Duration) error {
		began := time.Now()
		p, err := h.repo.Product(ctx, product)
		*cents, *took = p.PriceCents, time.Since(began)
		return err
	}
	// Asked twice, so that the write meets a price that is in memory.
	for range 2 {
		var took time.Duration
		if err := price(&s.before, &took); err != nil {
			return s, err
		}
	}
	if err := h.repo.SetPrice(ctx, product, newPrice); err != nil {
		return s, err
	}
	if err := price(&s.next, &s.nextTook); err != nil {
		return s, err
	}
	return s, price(&s.later, &s.laterTook)
}

func (r *run) freshPrice(ctx context.Context) error {
	r.report.section("A write, and the next read", "A price is in memory; it is set through the handle, and read twice.")
	p, err := r.pricedWith(ctx, plain)
	if err != nil {
		return err
	}
	c, err := r.pricedWith(ctx, ours)
	if err != nil {
		return err
	}
	t := &table{head: []string{"", plain, ours}}
	t.row("price before", cents(p.before), cents(c.before))
	t.row("price in the next read", cents(p.next), cents(c.next))
	t.row("  took", duration(p.nextTook), duration(c.nextTook), "from the server")
	t.row("price in the one after", cents(p.later), cents(c.later))
	t.row("  took", duration(p.laterTook), duration(c.laterTook), "from memory, with cachedpgx")
	r.report.print(t)
	r.report.check(c.next != c.before && c.before == p.before && c.next == p.next && c.later == p.later,
		"the next read shows the write, with both drivers alike")
	return nil
}

// sought is what one driver made of an id that is not there.
type sought struct {
	notFound int
	asked    int64 // of the server
	found    bool  // once it is inserted
}

func (r *run) soughtWith(ctx context.Context, driver string) (s sought, err error) {
	h, err := r.openAfter(ctx, `DELETE FROM products WHERE id = 77777`, driver)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	const unknown = 77_777
	before, err := r.srv.counter.count(ctx, productText)
	if err != nil {
		return s, err
	}
	for range r.size.unknown {
		switch _, err := h.repo.Product(ctx, unknown); {
		case errors.Is(err, shop.ErrNotFound):
			s.notFound++
		case err != nil:
			return s, err
		}
	}
	after, err := r.srv.counter.count(ctx, productText)
	if err != nil {
		return s, err
	}
	s.asked = after - before
	err = h.repo.AddProduct(ctx, shop.Product{ID: unknown, CategoryID: 1, Name: "New kettle", PriceCents: 4_900, Stock: 10})
	if err != nil {
		return s, err
	}
	_, err = h.repo.Product(ctx, unknown)
	s.found = err == nil
	if errors.Is(err, shop.ErrNotFound) {
		err = nil // the report says so
	}
	return s, err
}

func (r *run) unknownID(ctx context.Context) error {
	r.report.section("An id that is not there", fmt.Sprintf(
		"One unknown product, asked for %s times; then it is inserted through the handle.", number(r.size.unknown)))
	p, err := r.soughtWith(ctx, plain)
	if err != nil {
		return err
	}
	c, err := r.soughtWith(ctx, ours)
	if err != nil {
		return err
	}
	t := &table{head: []string{"", plain, ours}}
	t.row("answered \"not found\"", number(p.notFound), number(c.notFound))
	t.row("queries at the server", number(p.asked), number(c.asked), times(p.asked, c.asked, "fewer", "more"))
	t.row("after the INSERT", found(p.found), found(c.found))
	r.report.print(t)
	r.report.check(c.notFound == r.size.unknown && c.asked == 1, "%s, %s",
		number(c.notFound)+" times \"not found\"", count(c.asked, "query"))
	r.report.check(p.found && c.found, "after the INSERT it is found, with both drivers alike")
	return nil
}

// openAfter is open after a statement that undoes what the other driver did. The
// handle is opened after it, since it knows nothing of what others write.
func (r *run) openAfter(ctx context.Context, undo, driver string) (*handle, error) {
	if _, err := r.srv.admin.Exec(ctx, undo); err != nil {
		return nil, fmt.Errorf("undoing what the other driver did: %w", err)
	}
	return r.open(ctx, driver)
}

func cents(n int64) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }

func found(is bool) string {
	if is {
		return "found"
	}
	return "not found"
}
