//go:build !go1.27

package cachedpgx_test

import (
	"github.com/jackc/pgx/v5/pgtype"
)

// parityNative are destinations that scan by themselves: with Go 1.26 there is
// no other way to a type of pgx's than a Scanner.
var parityNative = []func() any{
	parityInto[pgtype.Numeric], parityInto[pgtype.Text], parityInto[pgtype.Date], parityInto[pgtype.Timestamptz], parityInto[pgtype.Int4],
	parityInto[pgtype.Interval], parityInto[pgtype.UUID], parityInto[pgtype.Point], parityInto[pgtype.Hstore],
	parityInto[[]string], parityInto[map[string]any],
}

// parityScansColumns says whether the driver scans columns itself.
const parityScansColumns = false
