package rowset

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Wrap(m)) }
