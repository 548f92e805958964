//go:build go1.27

package cachedpgx_test

import (
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

type (
	parityText string
	parityDoc  struct {
		A []any `json:"a"`
		B any   `json:"b"`
	}
	parityPair struct {
		A *int32
		B *string
	}
)

// parityNative are destinations that pgx scans by itself with Go 1.27, into
// which database/sql converts nothing.
var parityNative = []func() any{
	parityInto[[]string], parityInto[[]*string], parityInto[[]int64], parityInto[[]*float64], parityInto[[]any], parityInto[[][]byte],
	parityInto[[]time.Time], parityInto[pgtype.Array[*string]], parityInto[pgtype.FlatArray[pgtype.Text]],
	parityInto[pgtype.Range[pgtype.Int4]], parityInto[pgtype.Range[*string]], parityInto[pgtype.Multirange[pgtype.Range[pgtype.Int8]]],
	parityInto[pgtype.Range[pgtype.Timestamptz]], parityInto[[]pgtype.Range[pgtype.Numeric]],
	parityInto[netip.Addr], parityInto[netip.Prefix], parityInto[*netip.Addr], parityInto[[16]byte],
	parityInto[pgtype.Numeric], parityInto[pgtype.Text], parityInto[pgtype.Date], parityInto[pgtype.Timestamptz], parityInto[pgtype.Timestamp],
	parityInto[pgtype.Time], parityInto[time.Duration], parityInto[pgtype.Interval], parityInto[pgtype.UUID], parityInto[pgtype.Bits],
	parityInto[pgtype.Box], parityInto[pgtype.Point], parityInto[pgtype.Path], parityInto[pgtype.TID], parityInto[pgtype.Hstore], parityInto[pgtype.TSVector],
	parityInto[map[string]any], parityInto[map[string]*string], parityInto[parityDoc], parityInto[*parityDoc], parityInto[parityPair], parityInto[parityText],
	parityInto[pgtype.UndecodedBytes], parityInto[pgtype.DriverBytes], func() any { p := make(pgtype.PreallocBytes, 3); return &p },
}

// parityScansColumns says whether the driver scans columns itself.
const parityScansColumns = true
