package catalog

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// judgeCasts looks at the types that the text names. Reading a built-in type's
// text goes by nothing but settings that are fixed, save for date and time,
// whose input knows 'now' and 'today': over a column of text it is a clock. So
// these are let pass only over what is certainly no text, or has been looked
// at.
func (j *judging) judgeCasts() {
	if j.st.Class == sqlscan.ClassUnknown {
		return
	}
	for _, c := range j.st.Casts {
		j.cast(c)
	}
	for _, t := range j.st.Types {
		if !slices.ContainsFunc(j.st.Casts, func(c sqlscan.Cast) bool { return c.Type == t }) {
			j.cast(sqlscan.Cast{Type: t})
		}
	}
}

func (j *judging) cast(c sqlscan.Cast) {
	n := c.Type
	found := false
	if n.Schema == "pg_catalog" || n.Schema == "" && (j.place.stored() || j.inPath("pg_catalog")) {
		if oid, ok := j.typeOIDs[n.Name]; ok {
			found = true
			j.castToBuiltIn(oid, c)
		}
	}
	for _, t := range j.typeNames[n.Name] {
		if n.Schema == "" && !j.inPath(t.schema) || n.Schema != "" && n.Schema != t.schema {
			continue
		}
		found = true
		j.comes(t.oid)
		_, input, time := j.typeState(t.oid)
		switch {
		case input != pure:
			j.barDoubt(ReasonType, "cast to "+t.schema+"."+t.name)
		case time && c.Over == sqlscan.OperandParam && j.place == inText:
			j.datesFromParams = true
		case time && c.Over != sqlscan.OperandLiteral:
			j.time(ReasonDateInput, "cast to "+n.String())
		}
	}
	if !found {
		// A table's row type, or none.
		j.barDoubt(ReasonType, "cast to "+n.String())
	}
}

// namedTypes may be cast to although their names show what others may change:
// what is made of them is used by name, within the session's search_path.
var namedTypes = set("regconfig", "regdictionary")

func (j *judging) castToBuiltIn(oid uint32, c sqlscan.Cast) {
	switch {
	case namedTypes[c.Type.Name]:
	case !builtIn[oid]:
		j.bar(ReasonType, "cast to "+c.Type.Name)
	case timeParams[oid] && !j.noText(c):
		j.time(ReasonDateInput, "cast to "+c.Type.Name)
	}
}

// noText says whether what is cast is certainly no text, or a literal that has
// been looked at, or a parameter, whose value is.
func (j *judging) noText(c sqlscan.Cast) bool {
	switch c.Over {
	case sqlscan.OperandLiteral:
		return true
	case sqlscan.OperandParam:
		// A parameter that is text by its first use is cast when it runs, so
		// its value is looked at whatever its type is.
		j.datesFromParams = true
		return j.place == inText
	case sqlscan.OperandCall:
		return (c.Of.Schema == "" || c.Of.Schema == "pg_catalog") && timeResults[c.Of.Name] && len(j.functions[c.Of.Name]) == 0 && len(j.typeNames[c.Of.Name]) == 0
	case sqlscan.OperandCast:
		return (c.Of.Schema == "" || c.Of.Schema == "pg_catalog") && timeTypes[c.Of.Name] && len(j.typeNames[c.Of.Name]) == 0
	case sqlscan.OperandColumn:
		return j.timeColumn(c.Of.Name)
	}
	return false
}

// timeColumn says whether a column's name certainly stands for a date or time:
// every table's column of that name is one, and nothing in the text gives the
// name to anything else. An output column without AS is named after the column,
// function or type in it.
func (j *judging) timeColumn(name string) bool {
	types := j.columns(name)
	for _, oid := range types {
		if !timeScalars[oid] {
			return false
		}
	}
	st := j.st
	if len(types) == 0 || slices.Contains(st.Aliases, name) || st.Features&sqlscan.FeatureField != 0 ||
		strings.HasPrefix(name, "column") && st.Features&sqlscan.FeatureValues != 0 || unnamed[name] {
		return false
	}
	if j.outputs[name] && st.Features&sqlscan.FeatureFromFunction != 0 || j.anyType {
		return false // f() AS t in FROM may call a column so
	}
	if slices.ContainsFunc(j.functions[name], func(f *userFunction) bool { return j.inPath(f.schema) }) {
		return false // t.f calls it where t has no such column
	}
	for t := range j.types {
		if j.userTypes[t].kind == 'c' {
			return false // (row).* calls columns as its type does
		}
	}
	for _, f := range st.Functions {
		if strings.ToLower(f.Name.Name) == name {
			return false
		}
	}
	for _, c := range st.Casts {
		if c.Type.Name == name || c.Over == sqlscan.OperandColumn && c.Of.Name == name && !timeTypes[c.Type.Name] {
			return false
		}
	}
	return true
}

// unnamed are the names that PostgreSQL gives to columns of no name.
var unnamed = set("?column?", "case", "array", "row", "exists", "nullif", "coalesce", "greatest", "least", "grouping")

// comes takes note that values of a user's type come up, and of the types
// within.
func (j *judging) comes(oid uint32) {
	t := j.userTypes[oid]
	if t == nil || j.types[oid] {
		return
	}
	if j.types == nil {
		j.types = map[uint32]bool{}
	}
	j.types[oid] = true
	for _, within := range append([]uint32{t.elem, t.base, t.span}, t.attributes...) {
		j.comes(within)
	}
}

// comeAll takes note of the types that a function is given, and gives: a caller's
// own, and a row's, may be any.
func (j *judging) comeAll(types []uint32) {
	for _, oid := range types {
		j.comes(oid)
		j.timed = j.timed || j.timeOfDay(oid)
		j.anyType = j.anyType || polymorphic[oid] || oid == pgtype.RecordOID || oid >= firstUserOID && j.userTypes[oid] == nil
	}
}

// columnType judges the type of a column that is read. It reports whether
// values of it are safe to show alone: a parameter, or a function, may have one
// read from text. A literal beside a domain is of its base type; beside an array
// or a row of domains it is not.
func (j *judging) columnType(oid uint32, column string) (showOnly bool) {
	j.comes(oid)
	show, read, _ := j.typeState(oid)
	switch {
	case oid < firstUserOID:
		if show != pure {
			j.bar(ReasonType, "column "+column)
		}
	case show != pure, read != pure && j.userTypes[oid].kind != 'd':
		j.barDoubt(ReasonType, "column "+column)
	default:
		return read != pure
	}
	return false
}
