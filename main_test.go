package cachedpgx_test

import (
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"go.uber.org/goleak"
)

// TestMain fails the run if a goroutine outlives the tests. There are no
// exceptions: neither the driver, nor pgtest, nor the cache engine may leave one
// behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Wrap(m)) }
