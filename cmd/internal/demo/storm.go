package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// togetherText is in the text of shop.Repository.BoughtTogether and in no other.
const togetherText = "AS together"

// stormResult is what came of many readers of one key.
type stormResult struct {
	answered int
	failed   int   // gave up, nearly all of them
	failure  error // one of theirs
	loads    int64 // queries that the server ran for it
	took     time.Duration
}

// storm lets n readers ask for one cold, slow key in the same moment. Each waits
// as long as its patience and then gives up, as a request does.
func (r *run) storm(ctx context.Context, driver string, n int, patience time.Duration) (s stormResult, err error) {
	h, err := r.open(ctx, driver)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	before, err := r.srv.counter.count(ctx, togetherText)
	if err != nil {
		return s, err
	}

	var answered, failed atomic.Int64
	var failure atomic.Pointer[error]
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			<-start
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			pairs, err := h.repo.BoughtTogether(ctx, 2, 10)
			if err == nil && len(pairs) != 10 {
				err = fmt.Errorf("bought together: %d pairs, not 10", len(pairs))
			}
			if err != nil {
				failed.Add(1)
				failure.CompareAndSwap(nil, &err)
				return
			}
			answered.Add(1)
		})
	}
	began := time.Now()
	close(start)
	wg.Wait()
	s.took = time.Since(began)
	if err := ctx.Err(); err != nil {
		return s, err
	}
	s.answered, s.failed = int(answered.Load()), int(failed.Load())
	if err := failure.Load(); err != nil {
		s.failure = *err
	}
	if err := r.srv.quiet(ctx); err != nil {
		return s, err
	}
	after, err := r.srv.counter.count(ctx, togetherText)
	s.loads = after - before
	return s, err
}

func (r *run) storms(ctx context.Context) error {
	// The second of two, so that the server's own caches are warm for both.
	var alone stormResult
	var err error
	for range 2 {
		alone, err = r.storm(ctx, plain, 1, time.Minute)
		if err = errors.Join(err, alone.failure); err != nil {
			return err
		}
	}
	r.report.section("A storm on a cold key", fmt.Sprintf(
		"%d readers ask for \"bought together\" in the same moment: a join and an aggregate over all orders, %s when "+
			"asked alone. Each gives up after %s, as a request does. Both pools have %d connections.",
		r.size.storm, duration(alone.took), duration(r.size.patience), r.size.poolMaxConns))
	p, err := r.storm(ctx, plain, r.size.storm, r.size.patience)
	if err != nil {
		return err
	}
	c, err := r.storm(ctx, ours, r.size.storm, r.size.patience)
	if err != nil {
		return err
	}
	t := &table{head: []string{"", plain, ours}}
	t.row("answered", number(p.answered), number(c.answered))
	t.row("gave up", number(p.failed), number(c.failed))
	t.row("queries at the server", number(p.loads), number(c.loads), times(p.loads, c.loads, "fewer", "more"))
	t.row("until the last one left", duration(p.took), duration(c.took), times(p.took, c.took, "faster", "slower"))
	r.report.print(t)
	r.report.check(c.loads == 1, "%s, %s", count(r.size.storm, "reader"), count(c.loads, "query"))
	// Where the machine is so slow that one query may outlast the patience, no
	// driver can help.
	if alone.took < r.size.patience/4 {
		why := ""
		if c.failure != nil {
			why = ": " + c.failure.Error()
		}
		r.report.check(c.answered == r.size.storm, "with cachedpgx %d of %d were answered%s", c.answered, r.size.storm, why)
	}
	return nil
}

// jitter is the default of cache_jitter: a life is drawn from [TTL·(1−jitter), TTL].
const jitter = 0.1

// expiry has readers ask for one key over and over while it expires again and
// again.
func (r *run) expiry(ctx context.Context) (err error) {
	r.report.section("The same storm across its expiry", fmt.Sprintf(
		"%d readers go on asking for that key for %s, each every %s, with cache_ttl=%s: it expires under all of them.",
		r.size.storm, duration(r.size.expiryFor), duration(r.size.expiryPause), r.size.expiryTTL))
	h, err := r.open(ctx, ours, [2]string{"cache_ttl", r.size.expiryTTL.String()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	before, err := r.srv.counter.count(ctx, togetherText)
	if err != nil {
		return err
	}

	var mu sync.Mutex
	var all latencies
	var failed int
	var failure error
	var wg sync.WaitGroup
	began := time.Now()
	for range r.size.storm {
		wg.Go(func() {
			ctx, cancel := context.WithDeadline(ctx, began.Add(r.size.expiryFor+r.size.patience))
			defer cancel()
			var mine latencies
			for time.Since(began) < r.size.expiryFor && ctx.Err() == nil {
				asked := time.Now()
				_, err := h.repo.BoughtTogether(ctx, 2, 10)
				mine = append(mine, time.Since(asked))
				if err != nil {
					mu.Lock()
					failed, failure = failed+1, err
					mu.Unlock()
				}
				// The reader's own business, between two pages.
				time.Sleep(r.size.expiryPause)
			}
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	after, err := r.srv.counter.count(ctx, togetherText)
	if err != nil {
		return err
	}
	loads := after - before
	slices.Sort(all)

	t := &table{head: []string{"", ours}}
	t.row("queries asked", number(len(all)))
	t.row("queries at the server", number(loads), "the first one, and one at each expiry")
	t.row("read, median", duration(all.at(0.5)))
	t.row("read, slowest", duration(all.at(1)), "waits for the load of an expired key")
	r.report.print(t)
	// Each life is counted from the start of its load and lasts at least
	// TTL·(1−jitter), so no more loads than this can begin one after another.
	shortest := time.Duration(float64(r.size.expiryTTL) * (1 - jitter))
	most := 1 + int64(took/shortest)
	least := int64(2)
	if all.at(1) > r.size.expiryFor-r.size.expiryTTL {
		least = 1 // on a machine so slow, the first load may take up all the time
	}
	r.report.check(loads >= least && loads <= most, "%s in %s: one per expiry (lives of %s to %s allow %d)",
		count(loads, "query"), duration(took), duration(shortest), duration(r.size.expiryTTL), most)
	if failed > 0 {
		r.report.check(false, "no read fails: %d did, such as: %v", failed, failure)
	}
	return nil
}
