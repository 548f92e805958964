package cachedpgx

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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

// callersEnd gives what pgx gives when a statement's context ends: of a
// deadline, an error for which pgconn.Timeout is true.
func callersEnd(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &deadlineError{err}
	}
	return err
}

// deadlineError tells a caller who waited for another's load that its own
// deadline has passed, in pgx's words.
type deadlineError struct{ err error }

func (e *deadlineError) Error() string { return "timeout: " + e.err.Error() }

func (e *deadlineError) Unwrap() error { return e.err }

// As makes pgconn.Timeout true, which looks for an unexported type of its own,
// and not into it.
func (e *deadlineError) As(target any) bool {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Pointer {
		return false
	}
	t := v.Elem().Type().Elem()
	if t.Name() != "errTimeout" || t.PkgPath() != reflect.TypeFor[pgconn.PgError]().PkgPath() {
		return false
	}
	v.Elem().Set(reflect.New(t))
	return true
}

// ownError gives each waiter of a load an error of its own: it may be written
// to, like any other.
func ownError(err error) error {
	if e, ok := err.(*pgconn.PgError); ok {
		own := *e
		return &own
	}
	return err
}

// otherTypesError says that a statement's parameters have other types than its
// arguments were encoded for, so that nothing was sent.
type otherTypesError struct{ oids []uint32 }

func (e *otherTypesError) Error() string { return "cachedpgx: the parameters have other types by now" }

func (e *otherTypesError) Is(target error) bool { return target == errOtherTypes }

// errOtherTypes is any otherTypesError.
var errOtherTypes = errors.New("cachedpgx: other parameter types")
