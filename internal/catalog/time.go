package catalog

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// timeParams are the types whose input reads words such as 'now'. An interval
// knows none of them.
var timeParams = func() map[uint32]bool {
	m := make(map[uint32]bool)
	for _, oid := range []uint32{
		pgtype.DateOID, pgtype.DateArrayOID, pgtype.TimeOID, pgtype.TimeArrayOID, pgtype.TimetzOID, pgtype.TimetzArrayOID,
		pgtype.TimestampOID, pgtype.TimestampArrayOID, pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID,
		pgtype.TsrangeOID, pgtype.TsrangeArrayOID, pgtype.TstzrangeOID, pgtype.TstzrangeArrayOID, pgtype.DaterangeOID, pgtype.DaterangeArrayOID,
		pgtype.TsmultirangeOID, pgtype.TstzmultirangeOID, pgtype.DatemultirangeOID, 6152, 6153, 6155, // and arrays of multiranges
	} {
		m[oid] = true
	}
	return m
}()

// TimeParam says whether a parameter of this type reads the clock when it is
// given text such as 'now'. Users' types, which may hold such a type, are never
// cached over.
func TimeParam(oid uint32) bool { return timeParams[oid] }

// TimeWord says whether text that is bound to such a parameter may hold a word
// that stands for the present. It errs on the side of true: the words count
// within longer ones, too, and across the quotes and backslashes that array and
// range literals may have anywhere ({n\ow}, [n"o"w,)).
func TimeWord(s string) bool {
	if len(s) < len("now") {
		return false
	}
	if strings.ContainsAny(s, `"\`) {
		s = unquoter.Replace(s)
	}
	s = strings.ToLower(s)
	for _, w := range [...]string{"now", "today", "tomorrow", "yesterday"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

var unquoter = strings.NewReplacer(`"`, "", `\`, "")
