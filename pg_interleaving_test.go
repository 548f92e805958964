package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPGInterleavings lets eight goroutines read and write at random. Versions
// only grow; floor is what some write that has returned has made of them, so a
// read that begins later sees no less, whoever wrote. Kinds 4, 5 and 12.
func TestPGInterleavings(t *testing.T) {
	const counters, workers = 16, 8
	e := newPG(t, pgCounter+"; CREATE TABLE flag (id int PRIMARY KEY)")
	var floor [counters + 1]atomic.Int64
	raise := func(id int, n int64) {
		for old := floor[id].Load(); old < n && !floor[id].CompareAndSwap(old, n); old = floor[id].Load() {
		}
	}
	sum := func() (n int64) {
		for i := range floor {
			n += floor[i].Load()
		}
		return n
	}
	read, err := e.db.PrepareContext(e.ctx, "SELECT n FROM counter WHERE id = $1")
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	write, err := e.db.PrepareContext(e.ctx, "UPDATE counter SET n = n + 1 WHERE id = $1 RETURNING n")
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()

	writes := []func(ctx context.Context, r *rand.Rand, id int) (n int64, err error){
		func(ctx context.Context, _ *rand.Rand, id int) (n int64, err error) {
			err = e.db.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1 RETURNING n", id).Scan(&n)
			return n, err
		},
		func(ctx context.Context, _ *rand.Rand, id int) (n int64, err error) {
			err = write.QueryRowContext(ctx, id).Scan(&n)
			return n, err
		},
		func(ctx context.Context, r *rand.Rand, id int) (n int64, err error) {
			tx, err := e.db.BeginTx(ctx, nil)
			if err != nil {
				return 0, err
			}
			defer tx.Rollback()
			err = tx.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1 RETURNING n", id).Scan(&n)
			if err != nil {
				return 0, err
			}
			if r.IntN(3) == 0 {
				return 0, tx.Rollback()
			}
			return n, tx.Commit()
		},
		func(ctx context.Context, _ *rand.Rand, id int) (int64, error) {
			_, err := e.db.ExecContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", id)
			return 0, err // what it has made of n isn't known
		},
		func(ctx context.Context, r *rand.Rand, id int) (n int64, err error) {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(1500))*time.Microsecond)
			defer cancel()
			err = e.db.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1 RETURNING n", id).Scan(&n)
			if pgTimedOut(err) {
				err = nil
			}
			return n, err
		},
	}
	reads := []func(id int) (n, least int64, err error){
		func(id int) (n, least int64, err error) {
			least = floor[id].Load()
			err = e.db.QueryRowContext(e.ctx, "SELECT n FROM counter WHERE id = $1", id).Scan(&n)
			return n, least, err
		},
		func(id int) (n, least int64, err error) {
			least = floor[id].Load()
			err = read.QueryRowContext(e.ctx, id).Scan(&n)
			return n, least, err
		},
		func(int) (n, least int64, err error) {
			least = sum()
			err = e.db.QueryRowContext(e.ctx, "SELECT sum(n) FROM counter").Scan(&n)
			return n, least, err
		},
		func(id int) (n, least int64, err error) {
			least = floor[id].Load()
			err = e.db.QueryRowContext(e.ctx, "SELECT a.n FROM counter a JOIN counter b ON a.id = b.id WHERE b.id = $1", id).Scan(&n)
			return n, least, err
		},
		func(id int) (n, least int64, err error) {
			least = floor[id].Load()
			tx, err := e.db.BeginTx(e.ctx, &sql.TxOptions{ReadOnly: true})
			if err != nil {
				return 0, 0, err
			}
			defer tx.Rollback()
			err = tx.QueryRowContext(e.ctx, "SELECT n FROM counter WHERE id = $1", id).Scan(&n)
			return n, least, err
		},
	}

	ctx, cancel := context.WithTimeout(e.ctx, 3*time.Second)
	defer cancel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var wrote, asked atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for exists := false; ctx.Err() == nil && !t.Failed(); {
				id := 1 + r.IntN(counters)
				switch r.IntN(8) {
				case 0:
					n, err := writes[r.IntN(len(writes))](e.ctx, r, id)
					if err != nil {
						t.Errorf("write: %v", err)
						return
					}
					raise(id, n)
					wrote.Add(1)
				case 1: // a row of this worker's own comes and goes
					text := "INSERT INTO flag VALUES ($1)"
					if exists {
						text = "DELETE FROM flag WHERE id = $1"
					}
					if _, err := e.db.ExecContext(e.ctx, text, w); err != nil {
						t.Errorf("%s: %v", text, err)
						return
					}
					exists = !exists
				case 2:
					err := e.db.QueryRowContext(e.ctx, "SELECT id FROM flag WHERE id = $1", w).Scan(new(int))
					if err != nil && !errors.Is(err, sql.ErrNoRows) || (err == nil) != exists {
						t.Errorf("the row exists: %t; reading it: %v", exists, err)
						return
					}
				default:
					form := r.IntN(len(reads))
					n, least, err := reads[form](id)
					if err != nil || n < least {
						t.Errorf("read %d in form %d, after a write that made it %d, %v", n, form, least, err)
						return
					}
					asked.Add(1)
				}
			}
		})
	}
	wg.Wait()
	s := e.cache.Stats()
	t.Logf("%d writes, %d reads, %d hits, %d loads, %d discarded", wrote.Load(), asked.Load(), s.Hits, s.Loads, s.Discarded)
	if !t.Failed() && (wrote.Load() < 20 || asked.Load() < 100) {
		t.Errorf("only %d writes and %d reads: this test proves less than it should", wrote.Load(), asked.Load())
	}
}
