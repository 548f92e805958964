package sqlscan

import (
	"math/bits"
	"strconv"
	"strings"
)

var classNames = [...]string{
	ClassUnknown: "unknown", ClassEmpty: "empty", ClassRead: "read", ClassShow: "show", ClassWrite: "write",
	ClassLock: "lock", ClassTx: "transaction", ClassSession: "session", ClassDDL: "ddl",
}

var txNames = [...]string{
	TxNone: "none", TxBegin: "begin", TxCommit: "commit", TxRollback: "rollback", TxSavepoint: "savepoint",
	TxRelease: "release", TxRollbackTo: "rollback-to", TxPrepare: "prepare", TxCommitPrepared: "commit-prepared",
	TxRollbackPrepared: "rollback-prepared", TxSet: "set",
}

var effectNames = [...]string{
	EffectNone: "none", EffectLocal: "local", EffectTouched: "touched", EffectChanged: "changed",
}

var reasonNames = [...]string{
	ReasonSyntax: "not-understood", ReasonTooLong: "text-too-long", ReasonBadText: "bad-text",
	ReasonTooDeep: "nested-too-deep", ReasonSeveral: "several-statements", ReasonNotRead: "not-a-read",
	ReasonLock: "row-lock", ReasonInto: "select-into", ReasonWrite: "write", ReasonTableSample: "tablesample",
	ReasonSystemColumn: "system-column", ReasonClock: "clock-keyword", ReasonIdentity: "identity-keyword",
	ReasonDateWord: "date-word", ReasonNoRelation: "no-relation", ReasonThreePart: "three-part-name",
	ReasonSession: "session-effect",
}

// In the order of the constants.
var featureNames = [...]string{
	"cte", "recursive", "search-cycle", "set-operation", "values", "table", "distinct-on", "grouping-sets", "window",
	"filter", "within-group", "aggregate-order", "aggregate-distinct", "named-argument", "variadic", "special-call",
	"xml", "json", "cast", "typed-literal", "array", "subscript", "row", "whole-row", "field", "collate",
	"at-time-zone", "overlaps", "similar", "escape", "quantified", "is-normalized", "operator-syntax", "order-using",
	"with-ties", "only", "lateral", "from-function", "ordinality", "column-definitions", "natural-join", "join-using",
	"current-of", "returning", "on-conflict", "unicode-escape",
}

func (c Class) String() string      { return enumName(classNames[:], int(c)) }
func (t TxVerb) String() string     { return enumName(txNames[:], int(t)) }
func (e Effect) String() string     { return enumName(effectNames[:], int(e)) }
func (r ReasonCode) String() string { return enumName(reasonNames[:], int(r)) }

func enumName(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "code-" + strconv.Itoa(i)
}

// String lists the features of the set, such as "cast|array".
func (f Feature) String() string {
	var b strings.Builder
	for f != 0 {
		if b.Len() > 0 {
			b.WriteByte('|')
		}
		b.WriteString(enumName(featureNames[:], bits.TrailingZeros64(uint64(f))))
		f &= f - 1
	}
	return b.String()
}

// String is the name as the server would print it, without quotes.
func (n Name) String() string {
	if n.Schema == "" {
		return n.Name
	}
	return n.Schema + "." + n.Name
}
