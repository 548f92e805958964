package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// judging collects a verdict.
type judging struct {
	st *sqlscan.Statement
	v  Verdict
	*facts

	// calls: a built-in function of any kind is called. Some read the input
	// of users' types, and apply casts that nobody wrote (to_json).
	calls bool
}

func (j *judging) bar(code sqlscan.ReasonCode, detail string) {
	j.v.Reasons = append(j.v.Reasons, sqlscan.Reason{Code: code, Detail: detail})
}

// time bars what a mark admits.
func (j *judging) time(code sqlscan.ReasonCode, detail string) {
	j.v.Reasons = append(j.v.Reasons, sqlscan.Reason{Code: code, Detail: detail, Markable: true})
}

// doubt takes back that the statement is harmless.
func (j *judging) doubt() { j.v.Harmless = false }

// barDoubt bars what may do anything.
func (j *judging) barDoubt(code sqlscan.ReasonCode, detail string) {
	j.bar(code, detail)
	j.doubt()
}

// text takes what the text alone shows.
func (j *judging) text() {
	st := j.st
	j.v.Reasons = append(j.v.Reasons, st.Reasons...)
	if st.Class != sqlscan.ClassRead && len(st.Reasons) == 0 {
		j.bar(sqlscan.ReasonNotRead, st.Verb)
	}
	if st.Effect > sqlscan.EffectLocal || len(st.Targets) > 0 ||
		st.Class == sqlscan.ClassShow && st.Verb != "SHOW" && st.Verb != "EXPLAIN" {
		j.doubt()
	}
	features := st.Features &^ allowedFeatures
	if intervalsOnly(st) {
		features &^= sqlscan.FeatureTypedLiteral
	} else {
		for _, t := range st.Types {
			j.bar(ReasonType, "cast to "+t.String())
		}
	}
	if features != 0 {
		j.bar(ReasonFeature, features.String())
	}
	for _, op := range st.Operators {
		if !operators[op] {
			j.bar(ReasonOperator, op)
		}
	}
}

// intervalsOnly says whether the only types named are of interval literals,
// which read no clock. A user's type of that name is looked for with the rest.
func intervalsOnly(st *sqlscan.Statement) bool {
	for _, t := range st.Types {
		if t.Name != "interval" || t.Schema != "" && t.Schema != "pg_catalog" {
			return false
		}
	}
	return st.Features&sqlscan.FeatureCast == 0
}

// scalarAttributes says whether what stands before a dot may be a value that
// is no row: ('x').f, or a.f where FROM g() AS a. Then .f calls any function
// of one argument.
func scalarAttributes(st *sqlscan.Statement) bool {
	return st.Features&(sqlscan.FeatureField|sqlscan.FeatureFromFunction|sqlscan.FeatureSubscript) != 0
}

func (j *judging) judgeRelations() {
	for _, m := range j.missing {
		j.barDoubt(ReasonMissing, sqlscan.Name{Schema: m.Schema, Name: m.Name}.String())
	}
	for _, r := range j.relations {
		j.v.Relations = append(j.v.Relations, r.Relation)
		name := r.Schema + "." + r.Name
		if systemSchema(r.Schema) {
			j.bar(ReasonSystemRelation, name)
		}
		switch r.kind {
		case 'r', 'p':
		case 'f':
			j.time(ReasonForeign, name)
			j.doubt() // a wrapper's tables may run anything, anywhere
		case 'm', 'S':
			j.bar(ReasonRelationKind, name) // reading it runs nothing
		case 'v':
			j.bar(ReasonRelationKind, name)
			if r.OID >= firstUserOID || j.altered {
				j.doubt() // it may hide anything
			}
		default:
			j.barDoubt(ReasonRelationKind, name)
		}
		if r.persistence == 't' {
			j.bar(ReasonTemporary, name)
		}
		if r.rowSecurity {
			j.barDoubt(ReasonRowSecurity, name) // a policy may call anything
		}
	}
}

func systemSchema(s string) bool {
	return s == "information_schema" || strings.HasPrefix(s, "pg_") && !strings.HasPrefix(s, "pg_temp_")
}

func (j *judging) judgeTypes(params []uint32) {
	for _, t := range j.colTypes {
		if !builtIn[t.oid] {
			j.bar(ReasonType, "column of type "+t.name)
		}
	}
	if len(params) < j.st.Params {
		j.barDoubt(ReasonType, "parameters of unknown type")
	}
	userParam := false
	for i, oid := range params {
		if !builtIn[oid] {
			j.bar(ReasonType, fmt.Sprintf("parameter $%d of type %d", i+1, oid))
		}
		userParam = userParam || oid >= firstUserOID
	}
	for _, t := range j.userTypes {
		// The output of enums, domains, composites, ranges and arrays is the
		// server's own, down to what they hold. A multirange's range is not
		// known to every version. A domain's constraint is checked on input.
		if t.ownIO || t.typtype == 'm' || t.constrained && (userParam || j.calls) {
			j.doubt()
		}
	}
	for _, t := range j.st.Types {
		if len(j.typeNames[t.Name]) > 0 {
			j.barDoubt(ReasonType, "a user's type "+t.Name)
		}
	}
}

// judgeFunctions looks at what is called by name. Whatever of that name is in
// the search_path may be meant; the server's choice by argument types isn't
// followed.
func (j *judging) judgeFunctions() {
	seen := make(map[sqlscan.Name]bool, len(j.st.Functions))
	for _, call := range j.st.Functions {
		if n := call.Name; !seen[n] {
			seen[n] = true
			j.function(n)
		}
	}
	for _, m := range j.sampling {
		j.barDoubt(ReasonFunction, "sampling method "+m)
	}
}

func (j *judging) function(n sqlscan.Name) {
	name := n.Name
	found, volatile := false, false
	user := n.Schema != "" && n.Schema != "pg_catalog" || j.castByName(name)
	for _, f := range j.functions[name] {
		if n.Schema == "" || f.catalog {
			found, user, volatile = true, user || f.user, volatile || f.volatility == 'v'
		}
	}
	switch {
	case user:
		j.barDoubt(ReasonFunction, n.String())
		return
	case !found && construct(n):
		j.bar(ReasonFunction, name)
		j.calls = true
		return
	case !found:
		j.barDoubt(ReasonFunction, n.String())
		return
	case clocks[name]:
		j.time(ReasonVolatile, name)
	case volatile:
		j.bar(ReasonVolatile, name)
	case !aggregates[name]:
		j.bar(ReasonFunction, name)
	}
	if volatile && !quiet[name] || loud[name] {
		j.doubt()
	}
	j.calls = j.calls || !aggregates[name]
}

// castByName says whether f(x) may be a cast to a user's type f: so it is read
// where no function f takes x, and a domain's constraint runs then. Rows have
// no such casts.
func (j *judging) castByName(name string) bool {
	return slices.ContainsFunc(j.typeNames[name], func(t typeNameFact) bool { return t.typtype != 'c' })
}

// construct says whether the scanner reports syntax under this name, and not a
// function: it has a name in upper case then.
func construct(n sqlscan.Name) bool {
	return n.Schema == "pg_catalog" && n.Name == strings.ToUpper(n.Name) && n.Name != strings.ToLower(n.Name)
}

// judgeAttributes looks at names after a dot: t.f means f(t) where t has no
// column f. What is a column of one table may be a call on another, so users'
// functions always count; of the built-in ones only those are feared that do
// more than their argument says.
func (j *judging) judgeAttributes() {
	scalar := scalarAttributes(j.st)
	for _, name := range j.st.Attributes {
		worst, user := byte('i'), false
		for _, f := range j.functions[name] {
			switch f.first {
			case 0:
				continue // it needs more than one argument, or none
			case 'c', 'p', 'd':
			default:
				if !scalar {
					continue // no row has such a type, nor comes to it unseen
				}
			}
			worst, user = max(worst, f.volatility), user || f.user
			j.calls = true
		}
		for _, t := range j.typeNames[name] {
			// A domain over a row is cast to by its name. No table's name is.
			user = user || t.base == 'c' || t.base == 'd' || scalar && t.typtype != 'c'
		}
		switch {
		case user:
			j.barDoubt(ReasonAttribute, name)
			continue
		case worst != 'i' && !j.columns[name]:
			j.bar(ReasonAttribute, name)
		}
		if worst == 'v' && !quiet[name] || loud[name] {
			j.doubt()
		}
	}
}

// judgeOperators looks at users' operators of the names that are used or
// implied, whatever their schema.
func (j *judging) judgeOperators() {
	// OPERATOR(s.=) looks into s alone, where no built-in twin is.
	plain := j.st.Features&sqlscan.FeatureOperatorSyntax == 0
	for _, name := range j.st.Operators {
		for _, o := range j.operators[name] {
			if plain && j.apart(o.left, name) && j.apart(o.right, name) {
				// Out of reach, unless something has a user's type.
				if len(j.userTypes) > 0 {
					j.doubt()
				}
				continue
			}
			j.barDoubt(ReasonOperator, name)
			break
		}
	}
	for _, c := range j.opclasses {
		// Sorting and grouping go by the type's class, and a user's class for
		// a type that has none becomes its own.
		if c.in.reachable() || c.in.typtype != 'b' {
			j.barDoubt(ReasonOperator, "operator class "+c.name)
		}
	}
}

// apart says whether no operand comes to be of the type, for an operator of a
// name, unless a column or a parameter has that type: extensions such as
// citext, hstore and vector have operators of the usual names on their types
// alone. Why:
//
//   - no cast brings a built-in type or a row to it unseen;
//   - where one operand's type is known and the other's is not, the known one
//     would need that cast;
//   - where neither is known ('a' = 'b'), there are built-in candidates, too
//     (twins). One on text, which is preferred among strings, wins over a
//     string type that isn't; with a type that is no string there are several
//     left, and the server refuses the statement.
//
// A prefix operator has no left operand, and is never apart.
func (j *judging) apart(t typeDesc, operator string) bool {
	switch t.typtype {
	case 'b', 'e', 'r':
	default:
		return false
	}
	onText, twin := twins[operator]
	if t.reachable() || t.preferred || !twin || t.category == 'S' && !onText {
		return false
	}
	return !slices.ContainsFunc(j.casts, func(c castFact) bool {
		return c.context == 'i' && c.target.oid == t.oid && c.source.reachable()
	})
}

// judgeCasts looks at users' casts. Those of an extension between its own types
// and built-in ones are of no matter where no column has its types.
func (j *judging) judgeCasts() {
	for _, c := range j.casts {
		// from and to: whether a value may be there to cast, and whether
		// something may want the target. For rows everything may.
		_, from := j.userTypes[c.source.oid]
		_, to := j.userTypes[c.target.oid]
		from, to = from || c.source.reachable(), to || c.target.reachable() || c.source.isRow()
		switch {
		case !from || !to:
		case c.context == 'e':
			if j.calls || len(j.st.Types) > 0 {
				j.doubt()
			}
		case c.source.reachable() && (c.source.isRow() || c.target.reachable()):
			j.barDoubt(ReasonUserCast, "from "+c.name)
		default:
			j.doubt()
		}
	}
}

func (j *judging) verdict() Verdict {
	v := j.v
	read := j.st.Class == sqlscan.ClassRead
	v.Cacheable = read && len(v.Reasons) == 0 && len(v.Relations) > 0
	v.WithMark = read && len(v.Relations) > 0
	for _, r := range v.Reasons {
		v.WithMark = v.WithMark && r.Markable
	}
	return v
}
