package oracle

import (
	"regexp"
	"slices"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
	pg "github.com/pganalyze/pg_query_go/v6"
)

var longWord = regexp.MustCompile(`[A-Za-z]{7,}`)

// names holds that every name the text gives is among the scanner's.
func (o *Outcome) names(st *sqlscan.Statement, t *truth) {
	switch st.Class {
	case sqlscan.ClassRead, sqlscan.ClassWrite, sqlscan.ClassLock, sqlscan.ClassShow:
	case sqlscan.ClassSession, sqlscan.ClassDDL:
		// Their grammar isn't followed, nor need it be: their effect is taken
		// for the worst. A cursor's query and SELECT INTO are read.
		switch unwrap(t.tops[0]).(type) {
		case *pg.DeclareCursorStmt, *pg.SelectStmt:
		default:
			return
		}
	default:
		return
	}
	if _, ok := unwrap(t.tops[0]).(*pg.CopyStmt); ok && st.Class == sqlscan.ClassWrite && len(t.relations) == 0 {
		missing(o, "targets", st.Targets, t.targets)
		return // the rest of COPY … FROM is options and a WHERE over the target
	}
	if n, ok := unwrap(t.tops[0]).(*pg.ExplainStmt); ok {
		switch unwrap(n.Query).(type) {
		case *pg.SelectStmt, *pg.InsertStmt, *pg.UpdateStmt, *pg.DeleteStmt, *pg.MergeStmt:
		default:
			return
		}
	}
	missing(o, "relations", st.Relations, t.relations)
	if st.Class == sqlscan.ClassWrite {
		missing(o, "targets", st.Targets, t.targets)
	}
	missing(o, "types", st.Types, t.types)
	missing(o, "operators", st.Operators, t.operators)
	missing(o, "attributes", st.Attributes, t.attributes)
	missing(o, "aliases", st.Aliases, t.aliases)
	o.functions(st, t)
	o.casts(st, t)
	o.wholeRows(st, t)
}

func missing[T comparable](o *Outcome, what string, have, want []T) {
	for _, w := range want {
		if !slices.Contains(have, w) {
			o.fault("%s: %v is missing among %v", what, w, have)
		}
	}
}

func (o *Outcome) functions(st *sqlscan.Statement, t *truth) {
	for _, want := range t.functions {
		if !slices.ContainsFunc(st.Functions, func(c sqlscan.Call) bool {
			return c.Name == want.Name && (c.Args == want.Args || want.Args == -2 || c.Args == -1 && c.Name.Schema == "pg_catalog")
		}) {
			o.fault("functions: %v is missing among %v", want, st.Functions)
		}
	}
}

// casts holds that each cast is there, as it is or as one over anything, and
// that no other is claimed.
func (o *Outcome) casts(st *sqlscan.Statement, t *truth) {
	for _, want := range t.casts {
		if !slices.ContainsFunc(st.Casts, func(c sqlscan.Cast) bool {
			return c == want || c.Type == want.Type && c.Over == sqlscan.OperandOther
		}) {
			o.fault("casts: %v is missing among %v", want, st.Casts)
		}
	}
	for _, c := range st.Casts {
		if c.Over != sqlscan.OperandOther && !slices.Contains(t.casts, c) {
			o.fault("casts: %v is claimed, not among %v", c, t.casts)
		}
	}
	for _, want := range t.types {
		if !slices.ContainsFunc(st.Casts, func(c sqlscan.Cast) bool { return c.Type == want }) {
			o.fault("casts: none to %v among %v", want, st.Casts)
		}
	}
}

// wholeRows holds that a FROM entry's name that stands alone is seen.
func (o *Outcome) wholeRows(st *sqlscan.Statement, t *truth) {
	if st.Features&sqlscan.FeatureWholeRow != 0 {
		return
	}
	if t.stars {
		o.fault("a star is not seen")
	}
	for _, b := range t.bare {
		if slices.Contains(t.entries, b) {
			o.fault("%s may be a whole row", b)
		}
	}
}
