package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// fact is one row of judgeSQL's answer.
type fact struct {
	kind, schema, name string
	a, b               string // what they say depends on kind
}

// judging collects a verdict.
type judging struct {
	st *sqlscan.Statement
	v  Verdict

	userTypes bool // a column or a parameter has, or holds, a user's type
	checked   bool // … a domain with a constraint, which is checked on input
	userParam bool
	apart     bool // users' operators that only users' types reach
	calls     bool // a built-in function that takes any type is called
	explicit  bool // a user's cast applies where a cast is written
}

func (j *judging) bar(code sqlscan.ReasonCode, detail string) {
	j.v.Reasons = append(j.v.Reasons, sqlscan.Reason{Code: code, Detail: detail})
}

// time bars what a mark admits.
func (j *judging) time(code sqlscan.ReasonCode, detail string) {
	j.v.Reasons = append(j.v.Reasons, sqlscan.Reason{Code: code, Detail: detail, Markable: true})
}

// text takes what the text alone shows.
func (j *judging) text() {
	st := j.st
	j.v.Reasons = append(j.v.Reasons, st.Reasons...)
	if st.Class != sqlscan.ClassRead && len(st.Reasons) == 0 {
		j.bar(sqlscan.ReasonNotRead, st.Verb)
	}
	if st.Effect > sqlscan.EffectLocal || len(st.Targets) > 0 {
		// Planning a write may fold calls that its target's view hides.
		j.v.Harmless = false
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
// which read no clock. A user's type of that name is a fact of its own.
func intervalsOnly(st *sqlscan.Statement) bool {
	for _, t := range st.Types {
		if t.Name != "interval" || t.Schema != "" && t.Schema != "pg_catalog" {
			return false
		}
	}
	return st.Features&sqlscan.FeatureCast == 0
}

func (j *judging) params(oids []uint32) {
	if len(oids) < j.st.Params {
		j.bar(ReasonType, "parameters of unknown type")
		j.v.Harmless = false
	}
	for i, oid := range oids {
		if !builtIn[oid] {
			j.bar(ReasonType, fmt.Sprintf("parameter $%d of type %d", i+1, oid))
		}
		j.userParam = j.userParam || oid >= firstUserOID
	}
}

// take takes one fact of the catalog.
func (j *judging) take(f fact) error {
	switch f.kind {
	case "relation":
		oid, err := strconv.ParseUint(f.a, 10, 32)
		if err != nil || len(f.b) != 4 {
			return fmt.Errorf("catalog: relation %q, %q", f.a, f.b)
		}
		j.relation(Relation{uint32(oid), f.schema, f.name}, f.b)
	case "missing":
		j.bar(ReasonMissing, sqlscan.Name{Schema: f.schema, Name: f.name}.String())
		j.v.Harmless = false
	case "type":
		oid, err := strconv.ParseUint(f.a, 10, 32)
		if err != nil || len(f.b) != 2 {
			return fmt.Errorf("catalog: type %q, %q", f.a, f.b)
		}
		j.typ(uint32(oid), f.name, f.b)
	case "function":
		j.function(f.schema, f.name, f.a, f.b != "")
	case "attribute":
		j.attribute(f.name, f.a, f.b != "")
	case "operator":
		if f.a != "" {
			j.apart = true
			break
		}
		j.bar(ReasonOperator, f.name)
		j.v.Harmless = false
	case "opclass":
		j.bar(ReasonOperator, "operator class "+f.name)
		j.v.Harmless = false
	case "named-type":
		j.bar(ReasonType, f.name)
		j.v.Harmless = false
	case "cast":
		j.cast(f.name, f.a, f.b != "")
	case "system-view":
		j.v.Harmless = false // one of the system's views was altered
	case "sampling":
		j.bar(ReasonFunction, "sampling method "+f.name)
		j.v.Harmless = false
	default:
		return fmt.Errorf("catalog: fact of kind %q", f.kind)
	}
	return nil
}

// relation takes a relation: flags are its relkind, relpersistence, row
// security, and whether it is a view of the system's own.
func (j *judging) relation(r Relation, flags string) {
	j.v.Relations = append(j.v.Relations, r)
	kind, persistence, rls, systemView := flags[0], flags[1], flags[2] == 's', flags[3] == 'b'
	name := r.Schema + "." + r.Name
	if systemSchema(r.Schema) {
		j.bar(ReasonSystemRelation, name)
	}
	switch kind {
	case 'r', 'p':
	case 'f':
		j.time(ReasonForeign, name)
		j.v.Harmless = false
	case 'm', 'S':
		j.bar(ReasonRelationKind, name) // harmless: reading it runs nothing
	default:
		j.bar(ReasonRelationKind, name)
		j.v.Harmless = j.v.Harmless && systemView
	}
	if persistence == 't' {
		j.bar(ReasonTemporary, name)
	}
	if rls {
		j.bar(ReasonRowSecurity, name)
		j.v.Harmless = false // a policy may call anything
	}
}

func systemSchema(s string) bool {
	return s == "information_schema" || strings.HasPrefix(s, "pg_") && !strings.HasPrefix(s, "pg_temp_")
}

// typ takes a type that a column or a parameter has, or holds within: flags say
// whether a column has it, and what it runs of its users'.
func (j *judging) typ(oid uint32, name, flags string) {
	if flags[0] == 'c' && !builtIn[oid] {
		j.bar(ReasonType, "column of type "+name)
	}
	j.userTypes = j.userTypes || oid >= firstUserOID
	switch flags[1] {
	case 'x':
		j.v.Harmless = false
	case 'd':
		j.checked = true
	}
}

// function takes a function by name: volatility lists that of the built-in
// ones, byUser says whether a user's could be meant. What only looks like a
// call has a name in upper case, and no function.
func (j *judging) function(schema, name, volatility string, byUser bool) {
	switch {
	case byUser || schema != "" && schema != "pg_catalog":
		j.bar(ReasonFunction, sqlscan.Name{Schema: schema, Name: name}.String())
		j.v.Harmless = false
		return
	case volatility == "" && construct(schema, name):
		j.bar(ReasonFunction, name)
		j.calls = true // JSON's constructors apply casts
		return
	case volatility == "":
		j.bar(ReasonFunction, name)
		j.v.Harmless = false
		return
	}
	volatile := strings.Contains(volatility, "v")
	switch {
	case clocks[name]:
		j.time(ReasonVolatile, name)
	case volatile:
		j.bar(ReasonVolatile, name)
	case !aggregates[name]:
		j.bar(ReasonFunction, name)
	}
	if volatile && !quiet[name] || loud[name] {
		j.v.Harmless = false
	}
	j.calls = j.calls || !aggregates[name]
}

// construct says whether the scanner reports syntax under this name, and not a
// function.
func construct(schema, name string) bool {
	return schema == "pg_catalog" && name == strings.ToUpper(name) && name != strings.ToLower(name)
}

// attribute takes a name after a dot. worst is the worst volatility of the
// functions it may call ("" for none), followed by a u if one is a user's. What
// is a column of one table may be a call on another; of the built-in functions
// only those are feared that read more than their argument.
func (j *judging) attribute(name, worst string, column bool) {
	switch {
	case strings.HasSuffix(worst, "u"):
		j.bar(ReasonAttribute, name)
		j.v.Harmless = false
		return
	case worst == "" || worst == "i":
		// An immutable function may be a domain's input, too.
		j.calls = j.calls || worst != "" && !column
		return
	}
	if !column {
		j.bar(ReasonAttribute, name)
		j.calls = true
	}
	if worst == "v" && !quiet[name] || loud[name] {
		j.v.Harmless = false
	}
}

// cast takes a user's cast from a type that may be had. unseen: it needs no
// user's type in a column or in the text.
func (j *judging) cast(source, context string, unseen bool) {
	if context == "e" {
		j.explicit = true
		return
	}
	if unseen {
		j.bar(ReasonUserCast, "from "+source)
	}
	j.v.Harmless = false
}

func (j *judging) verdict() Verdict {
	v := j.v
	read := j.st.Class == sqlscan.ClassRead
	v.Cacheable = read && len(v.Reasons) == 0 && len(v.Relations) > 0
	v.WithMark = read && len(v.Relations) > 0
	for _, r := range v.Reasons {
		v.WithMark = v.WithMark && r.Markable
	}
	switch {
	case j.apart && j.userTypes,
		// JSON functions apply explicit casts to json, and read input.
		j.explicit && (j.calls || len(j.st.Types) > 0),
		j.checked && (j.calls || j.userParam):
		v.Harmless = false
	}
	return v
}
