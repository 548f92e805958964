package cachedpgx_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A load that LoadTimeout ends after some rows tells whoever waits what has
// ended it, not what the inner driver makes of that.
func TestLoadTimeoutAfterRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, func(ctx context.Context, c call) reply {
			s := numbers(2)
			if c.nth == 1 {
				s.before = func(row int) {
					if row == 2 {
						<-ctx.Done()
					}
				}
				s.err = errors.New("fake: interrupted")
			}
			return oneSet(s)
		})
		cfg := quiet()
		cfg.LoadTimeout = 3 * time.Second
		db, _ := openFake(t, f, cfg)
		got, err := readAll[int](long(t.Context()), db, product, 1)
		if len(got) != 2 || !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "cachedpgx: the load") {
			t.Errorf("got %v, %v", got, err)
		}
		if got, err := readAll[int](long(t.Context()), db, product, 1); len(got) != 2 || err != nil {
			t.Errorf("afterwards: %v, %v", got, err)
		}
	})
}
