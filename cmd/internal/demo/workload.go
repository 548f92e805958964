package demo

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/cmd/internal/shop"
)

// seed makes both drivers' runs the same.
const seed = 20240607

// asker is one goroutine that uses the repository. What it asks depends only on
// its number and on how many questions it has asked.
type asker struct {
	repo      *shop.Repository
	rng       *rand.Rand
	products  *rand.Zipf
	customers *rand.Zipf
	pages     *rand.Zipf

	asked      int // statements
	reads      []time.Duration
	orders     []time.Duration
	answers    uint64 // a digest of all of them, in their order
	readBack   int    // writes that were read back right after they returned
	staleReads int    // of those, the ones that showed the state from before
}

func newAsker(repo *shop.Repository, number int) *asker {
	rng := rand.New(rand.NewPCG(seed, uint64(number)))
	return &asker{
		repo: repo,
		rng:  rng,
		// Popular ones are asked for more often, as in any shop.
		products:  rand.NewZipf(rng, 1.2, 2, shop.Products-1),
		customers: rand.NewZipf(rng, 1.2, 2, shop.Customers-1),
		pages:     rand.NewZipf(rng, 2, 1, 5),
	}
}

func (a *asker) product() int64  { return 1 + int64(a.products.Uint64()) }
func (a *asker) customer() int64 { return 1 + int64(a.customers.Uint64()) }

// A question is one kind of read. weight is out of the sum of all.
type question struct {
	weight int
	ask    func(ctx context.Context, a *asker) (any, error)
}

const pageSize = 20

var questions = []question{
	{360, func(ctx context.Context, a *asker) (any, error) { return a.repo.Product(ctx, a.product()) }},
	{200, func(ctx context.Context, a *asker) (any, error) {
		category := 1 + a.product()%shop.Categories
		return a.repo.ProductsInCategory(ctx, category, pageSize, pageSize*int(a.pages.Uint64()))
	}},
	{180, func(ctx context.Context, a *asker) (any, error) { return a.repo.ProductWithRating(ctx, a.product()) }},
	{120, func(ctx context.Context, a *asker) (any, error) {
		return a.repo.CustomerByEmail(ctx, fmt.Sprintf("customer%d@example.com", a.customer()))
	}},
	{120, func(ctx context.Context, a *asker) (any, error) {
		return a.repo.OrdersOfCustomer(ctx, a.customer(), 10)
	}},
	{16, func(ctx context.Context, a *asker) (any, error) {
		_, err := a.repo.OrdersOfToday(ctx)
		return nil, err // depends on the clock
	}},
	{4, func(ctx context.Context, a *asker) (any, error) { return a.repo.TopSellers(ctx, 10) }},
}

// read asks one question.
func (a *asker) read(ctx context.Context) error {
	sum := 0
	for _, q := range questions {
		sum += q.weight
	}
	n := a.rng.IntN(sum)
	for _, q := range questions {
		if n -= q.weight; n >= 0 {
			continue
		}
		began := time.Now()
		answer, err := q.ask(ctx, a)
		a.reads = append(a.reads, time.Since(began))
		a.asked++
		if err != nil {
			return err
		}
		h := fnv.New64a()
		fmt.Fprint(h, a.answers, answer)
		a.answers = h.Sum64()
		return nil
	}
	panic("unreachable: n is below the sum of the weights")
}

// write places an order, sets a price or adds a review. The first two are read
// back, as a service does that redirects to the page of what was written.
func (a *asker) write(ctx context.Context) error {
	switch a.rng.IntN(4) {
	case 0, 1:
		customer := a.customer()
		first, second := a.product(), a.product()
		if first == second {
			second = 1 + first%shop.Products
		}
		began := time.Now()
		id, err := a.repo.PlaceOrder(ctx, customer, []shop.Line{{ProductID: first, Quantity: 1}, {ProductID: second, Quantity: 2}})
		a.orders = append(a.orders, time.Since(began))
		a.asked += 9 // BEGIN, the order, lock and update and insert for each line, COMMIT
		if err != nil {
			return err
		}
		orders, err := a.repo.OrdersOfCustomer(ctx, customer, 100)
		a.asked++
		if err != nil {
			return err
		}
		a.check(slices.ContainsFunc(orders, func(o shop.Order) bool { return o.ID == id }))
	case 2:
		// A product's new price is always the same, so that whoever else
		// sets it meanwhile does not look like a stale read.
		product := a.product()
		price := 30_000 + product
		err := a.repo.SetPrice(ctx, product, price)
		a.asked++
		if err != nil {
			return err
		}
		p, err := a.repo.Product(ctx, product)
		a.asked++
		if err != nil {
			return err
		}
		a.check(p.PriceCents == price)
	default:
		err := a.repo.AddReview(ctx, a.product(), 1+a.rng.IntN(5), "As described.")
		a.asked++
		return err
	}
	return nil
}

func (a *asker) check(fresh bool) {
	a.readBack++
	if !fresh {
		a.staleReads++
	}
}

// outcome is what all askers of one run came to.
type outcome struct {
	asked      int64
	reached    int64
	read       latencies
	order      latencies
	took       time.Duration
	answers    []uint64
	readBack   int
	staleReads int
	left       string // what the shop holds in the end
	stats      cachedpgx.Stats
}

// latencies are sorted.
type latencies []time.Duration

// at gives the quantile q, by the nearest rank.
func (l latencies) at(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// work has the askers put n questions, every writeEvery-th of them a write; with
// 0 there are none.
func (h *handle) work(ctx context.Context, workers, n, writeEvery int) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var o outcome
	before, err := h.counter.count(ctx, "")
	if err != nil {
		return o, err
	}
	askers := make([]*asker, workers)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range askers {
		a := newAsker(h.repo, i)
		askers[i] = a
		wg.Go(func() {
			for turn := 1; turn <= n/workers && ctx.Err() == nil; turn++ {
				act := a.read
				// Not all of them in the same moment.
				if writeEvery > 0 && (turn+i*writeEvery/workers)%writeEvery == 0 {
					act = a.write
				}
				if err := act(ctx); err != nil {
					cancel(fmt.Errorf("with %s: %w", h.driver, err))
				}
			}
		})
	}
	wg.Wait()
	o.took = time.Since(began)
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	after, err := h.counter.count(ctx, "")
	if err != nil {
		return o, err
	}
	o.reached = after - before
	for _, a := range askers {
		o.asked += int64(a.asked)
		o.read = append(o.read, a.reads...)
		o.order = append(o.order, a.orders...)
		o.answers = append(o.answers, a.answers)
		o.readBack += a.readBack
		o.staleReads += a.staleReads
	}
	slices.Sort(o.read)
	slices.Sort(o.order)
	return o, nil
}
