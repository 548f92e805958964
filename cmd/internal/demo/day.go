package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// workWith opens a handle as a service does and puts n questions through it.
func (r *run) workWith(ctx context.Context, driver string, n, writeEvery int) (o outcome, err error) {
	h, err := r.open(ctx, driver)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if o, err = h.work(ctx, r.size.workers, n, writeEvery); err != nil {
		return o, err
	}
	o.stats = h.stats()
	o.left, err = r.srv.inventory(ctx)
	return o, err
}

// inventory sums up what writes change.
func (s *server) inventory(ctx context.Context) (string, error) {
	var orders, stock, reviews int64
	err := s.admin.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM orders), (SELECT sum(stock) FROM products), (SELECT count(*) FROM reviews)`).
		Scan(&orders, &stock, &reviews)
	return fmt.Sprintf("%s orders, %s reviews, %s in stock", number(orders), number(reviews), number(stock)), err
}

func (r *run) browsing(ctx context.Context) error {
	r.report.section("Browsing", fmt.Sprintf(
		"%d goroutines put %s questions: products, category pages, ratings, customers, orders, top sellers. Popular "+
			"ones are asked more often: 100 of the products get 70%% of it. The cache is empty at first. Nobody writes.",
		r.size.workers, number(r.size.reads)))
	p, err := r.workWith(ctx, plain, r.size.reads, 0)
	if err != nil {
		return err
	}
	c, err := r.workWith(ctx, ours, r.size.reads, 0)
	if err != nil {
		return err
	}
	r.report.print(compare(p, c))
	r.report.check(slices.Equal(p.answers, c.answers), "both drivers gave the same answers, all %s of them", number(p.asked))
	r.report.check(p.reached == p.asked, "the count is right: with pgx, what was asked is what arrived")
	if p.reached != p.asked && !r.srv.isOurs() {
		r.report.note("If somebody else has used this role meanwhile, their statements were counted, too: give the demo a role of its own.")
	}
	return nil
}

func (r *run) fewWrites(ctx context.Context) error {
	r.report.section("One write in 1,000", "The same with orders (a transaction with SELECT ... FOR UPDATE), prices and "+
		"reviews among it. In this release every write through the handle empties the whole cache, so it costs the loads after it.")
	return r.buying(ctx, 1000)
}

func (r *run) manyWrites(ctx context.Context) error {
	r.report.section("One write in 100", "The same with ten times as many writes: there is less left to save.")
	return r.buying(ctx, 100)
}

func (r *run) buying(ctx context.Context, writeEvery int) error {
	p, err := r.workWith(ctx, plain, r.size.mixed, writeEvery)
	if err != nil {
		return err
	}
	// Both begin with the same rows. The handles are new ones, since what the
	// reload does to the tables is other people's DDL to an open one.
	if _, err := r.srv.reload(ctx); err != nil {
		return err
	}
	c, err := r.workWith(ctx, ours, r.size.mixed, writeEvery)
	if err != nil {
		return err
	}
	if _, err := r.srv.reload(ctx); err != nil {
		return err
	}
	r.bought = c
	r.report.print(compare(p, c))
	r.report.check(c.staleReads == 0, "%d orders and prices were read back right after their write: %d stale",
		c.readBack, c.staleReads)
	r.report.check(p.left == c.left, "both drivers left the same shop: %s", c.left)
	return nil
}

func compare(p, c outcome) *table {
	t := &table{head: []string{"", plain, ours}}
	t.row("queries asked", number(p.asked), number(c.asked))
	t.row("reached the server", number(p.reached), number(c.reached), times(p.reached, c.reached, "fewer", "more"))
	latency := func(name string, p, c latencies, q float64) {
		t.row(name, duration(p.at(q)), duration(c.at(q)), times(p.at(q), c.at(q), "faster", "slower"))
	}
	latency("read, median", p.read, c.read, 0.5)
	latency("read, p99", p.read, c.read, 0.99)
	// A median of a few says nothing.
	if len(p.order) >= 20 {
		latency("order, median", p.order, c.order, 0.5)
	}
	t.row("all of it", duration(p.took), duration(c.took), times(p.took, c.took, "faster", "slower"))
	return t
}

// reasons says in a few words what the codes mean that this workload meets.
var reasons = map[string]string{
	"volatile-function": "a function that is not pure: now() of OrdersOfToday",
	"row-lock":          "SELECT ... FOR UPDATE",
	"transaction":       "inside a transaction nothing is served or kept",
	"write":             "INSERT, UPDATE, DELETE",
}

// bypasses prints what the cache left to the server, and its own figures.
func (r *run) bypasses(context.Context) error {
	r.report.section("What went past the cache, and why",
		"Cache.Stats() after \"One write in 100\".")
	t := &table{head: []string{"reason", "statements"}}
	s := r.bought.stats
	byCount := func(a, b string) int { return cmp.Or(cmp.Compare(s.Bypasses[b], s.Bypasses[a]), cmp.Compare(a, b)) }
	past := uint64(0)
	for _, code := range slices.SortedFunc(maps.Keys(s.Bypasses), byCount) {
		past += s.Bypasses[code]
		t.row(code, number(s.Bypasses[code]), reasons[code])
	}
	r.report.print(t)
	r.report.blank()
	r.report.facts([][2]string{
		{"served", fmt.Sprintf("%s reads from memory; %s waited for a load, %s of these for one that was under way",
			number(s.Hits), number(s.Misses), number(s.Coalesced))},
		{"loaded", fmt.Sprintf("%s times (%s failed); %s were handed out but not kept, since a write came in between",
			number(s.Loads), number(s.LoadErrors), number(s.Discarded))},
		{"writes", fmt.Sprintf("%s emptied the cache", number(s.Invalidations))},
		{"kept", fmt.Sprintf("%s results in %s", number(s.Entries), bytesText(s.Bytes))},
	})
	// BEGIN and COMMIT are no statements to a driver, but to the server they are.
	asked := r.bought.asked - 2*int64(len(r.bought.order))
	r.report.check(s.Hits > 0 && s.Hits+s.Misses+past == uint64(asked),
		"every query is accounted for: %s were served or loaded, %s went past", number(s.Hits+s.Misses), number(past))
	return nil
}

func bytesText(n int64) string {
	if n < 1<<20 {
		return digits(float64(n)/(1<<10)) + " KiB"
	}
	return digits(float64(n)/(1<<20)) + " MiB"
}
