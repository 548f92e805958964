package cachedpgx

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrClosed is what a connector that was closed answers.
var ErrClosed = errors.New("cachedpgx: the connector is closed: open a new handle")

var errNilConnector = errors.New("cachedpgx: the inner connector is nil: pass one, such as stdlib.GetConnector(config)")

// loadTimeoutError tells the waiters of a load that Config.LoadTimeout has
// ended it. It is context.DeadlineExceeded.
type loadTimeoutError struct{ after time.Duration }

func (e *loadTimeoutError) Error() string {
	return fmt.Sprintf("cachedpgx: the load was ended after its LoadTimeout of %v", e.after)
}

func (e *loadTimeoutError) Unwrap() error { return context.DeadlineExceeded }

func (e *loadTimeoutError) Timeout() bool { return true }
