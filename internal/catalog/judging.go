package catalog

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// place is where a piece of SQL stands.
type place uint8

const (
	inText   place = iota // the statement itself
	inView                // a view's definition: built-in names are without a schema there, and no other
	inPolicy              // a policy's condition, likewise
	inBody                // of a function, or a check constraint: its parameters are of types that aren't looked at
)

// stored says whether the piece is as the server prints it: names without a
// schema are built in.
func (p place) stored() bool { return p == inView || p == inPolicy }

// judging collects what is found about a statement, or about a piece of SQL
// that the catalog holds.
type judging struct {
	env
	st    *sqlscan.Statement
	place place
	where string // what the piece belongs to; "" for the statement itself

	// columns gives the types that a column of a name has in what is read.
	columns func(name string) []uint32

	// types are the users' types that may come up: of columns, what these hold
	// within, and what is cast to. anyType: a user's function may bring others.
	types   map[uint32]bool
	anyType bool

	timed bool // a column is, or holds, a time of day

	datesFromParams bool // a parameter is cast to a date or time

	reasons  []sqlscan.Reason
	harmless bool
	reads    []string // what listed functions read, as the user says

	// calls: a built-in function of any kind is called. Some read the input
	// of users' types, and apply casts that nobody wrote (to_json).
	calls bool
}

func (j *judging) bar(code sqlscan.ReasonCode, detail string) { j.add(code, detail, false) }

// time bars what a mark admits.
func (j *judging) time(code sqlscan.ReasonCode, detail string) { j.add(code, detail, true) }

// barDoubt bars what may do anything.
func (j *judging) barDoubt(code sqlscan.ReasonCode, detail string) {
	j.bar(code, detail)
	j.harmless = false
}

func (j *judging) add(code sqlscan.ReasonCode, detail string, markable bool) {
	if j.where != "" {
		detail = strings.TrimPrefix(detail+" in "+j.where, " ")
	}
	r := sqlscan.Reason{Code: code, Detail: detail, Markable: markable}
	if !slices.Contains(j.reasons, r) {
		j.reasons = append(j.reasons, r)
	}
}

// piece judges all that a piece of SQL names, but for relations. Operators and
// users' casts go by what the others bring up.
func (j *judging) piece() {
	if j.columns == nil {
		j.columns = func(string) []uint32 { return nil }
	}
	j.text()
	j.judgeFunctions()
	j.judgeAttributes()
	j.judgeCasts()
	j.judgeOperators()
	j.judgeUserCasts()
	if len(j.st.Zoned) > 0 && j.readsTimeOfDay() {
		j.time(ReasonVolatile, "AT TIME ZONE of what may be a time of day")
	}
}

// text takes what the text alone shows.
func (j *judging) text() {
	st := j.st
	for _, r := range st.Reasons {
		switch {
		case r.Code == sqlscan.ReasonNoRelation && j.place != inText:
			continue
		case r.Code == sqlscan.ReasonIdentity && j.place == inPolicy:
			continue // who may share is the partition's to say
		}
		j.add(r.Code, r.Detail, r.Markable)
		if j.place != inText && !r.Markable {
			j.harmless = j.harmless && (r.Code == sqlscan.ReasonIdentity || r.Code == sqlscan.ReasonSystemColumn)
		}
	}
	if st.Class != sqlscan.ClassRead && len(st.Reasons) == 0 {
		j.bar(sqlscan.ReasonNotRead, st.Verb)
	}
	if st.Effect > sqlscan.EffectLocal || len(st.Targets) > 0 ||
		st.Class == sqlscan.ClassShow && st.Verb != "SHOW" && st.Verb != "EXPLAIN" {
		j.harmless = false
	}
	if f := st.Features &^ allowedFeatures; f != 0 {
		j.bar(ReasonFeature, f.String())
	}
}

// judgeFunctions looks at what is called by name. Whatever of that name takes
// as many arguments and is in the search_path may be meant; the server's choice
// by their types isn't followed.
func (j *judging) judgeFunctions() {
	for _, call := range j.st.Functions {
		j.call(call)
	}
	if slices.ContainsFunc(j.st.Reasons, func(r sqlscan.Reason) bool { return r.Code == sqlscan.ReasonTableSample }) {
		for _, m := range j.sampling {
			j.barDoubt(ReasonUserFunction, "sampling method "+m)
		}
	}
}

func (j *judging) call(c sqlscan.Call) {
	if c.Name.Name == "unnest" {
		c.Args = -1 // in FROM it takes any number, each for itself
	}
	if construct(c.Name) {
		j.calls = true
		// What is a keyword now was a function's name to older servers.
		j.userCandidates(sqlscan.Call{Name: sqlscan.Name{Name: strings.ToLower(c.Name.Name)}, Args: -1})
		return
	}
	found := j.userCandidates(c)
	found = j.castByName(c) || found
	if c.Schema == "" && (j.place.stored() || j.inPath("pg_catalog")) || c.Schema == "pg_catalog" {
		found = j.builtInCandidates(c) || found
	}
	if !found {
		j.barDoubt(ReasonUnknownFunction, c.Name.String())
	}
}

// userCandidates looks at users' functions that a call may mean.
func (j *judging) userCandidates(c sqlscan.Call) (found bool) {
	for _, f := range j.functions[c.Name.Name] {
		if c.Schema == "" && (!j.inPath(f.schema) || j.place.stored()) || c.Schema != "" && c.Schema != f.schema {
			continue
		}
		if !j.takes(c.Args, f.kind, f.least, f.most) {
			continue
		}
		found = true
		j.use(f, c.Args, ReasonUserFunction)
	}
	return found
}

// use takes note of a user's function, called with so many arguments; -1 where
// that isn't known.
func (j *judging) use(f *userFunction, args int, code sqlscan.ReasonCode) {
	name := f.schema + "." + f.name
	state := j.settleFunction(f)
	if args != f.most {
		state = min(state, f.defaulted)
	}
	switch {
	case state == pure:
		j.comeAll(f.types)
		j.reads = append(j.reads, f.reads...)
	case f.extension && f.volatility != 'v':
		j.bar(code, name)
	case f.volatility == 'v' && code == ReasonUserFunction:
		j.barDoubt(ReasonVolatile, name)
	default:
		j.barDoubt(code, name)
	}
}

// takes says whether a function may be called with so many arguments. One that
// orders its input (WITHIN GROUP) takes that as an argument, too.
func (j *judging) takes(args int, kind byte, least, most int) bool {
	return args < 0 || args >= least && (most < 0 || args <= most) || kind == 'a' && j.st.Features&sqlscan.FeatureWithinGroup != 0
}

func (j *judging) builtInCandidates(c sqlscan.Call) (found bool) {
	name := c.Name.Name
	if name == "extract" && j.version < 14_00_00 {
		name = "date_part" // what it was until then
	}
	stable, volatile := false, false
	for _, f := range j.builtInCalls[name] {
		if j.takes(c.Args, f.kind, f.least, f.most) {
			found, stable, volatile = true, stable || f.volatility == 's', volatile || f.volatility == 'v'
		}
	}
	switch {
	case !found:
		return false
	case clocks[name], name == "age" && c.Args != 2:
		j.time(ReasonVolatile, name)
	case j.place == inPolicy && stable && !volatile && identities[name]:
	case volatile && name == "timezone":
		// To 13 it is VOLATILE for timetz, a type that nothing here is of.
	case volatile && !(name == "ts_rewrite" && c.Args == 3):
		j.bar(ReasonVolatile, name)
	case stable && !stables[name], loud[name]:
		j.bar(ReasonStable, name)
	case timeTypes[name] && c.Args == 1 && !slices.ContainsFunc(j.st.Casts, func(cast sqlscan.Cast) bool { return cast.Type == c.Name }):
		j.time(ReasonDateInput, "cast to "+name) // date(x) is x::date for what is no date
	}
	if volatile && !quiet[name] && name != "timezone" || loud[name] {
		j.harmless = false
	}
	j.calls = j.calls || !plainAggregates[name]
	return true
}

// readsTimeOfDay says whether AT TIME ZONE may be given a time of day, which it
// takes by today's daylight saving rule.
func (j *judging) readsTimeOfDay() bool {
	if !j.timed && !slices.ContainsFunc(j.st.Types, func(n sqlscan.Name) bool { return n.Name == "time" || n.Name == "timetz" }) &&
		!slices.ContainsFunc(j.st.Functions, func(c sqlscan.Call) bool {
			return c.Name.Name == "make_time" || c.Name.Name == "time" || c.Name.Name == "timetz"
		}) {
		return false // there is none
	}
	for _, z := range j.st.Zoned {
		switch name := z.Of.Name; z.Over {
		case sqlscan.OperandLiteral, sqlscan.OperandParam: // taken for a timestamptz
		case sqlscan.OperandColumn:
			if !j.timeColumn(name) || slices.ContainsFunc(j.columns(name), j.timeOfDay) {
				return true
			}
		case sqlscan.OperandCall:
			if !timeResults[name] || name == "make_time" || len(j.functions[name])+len(j.typeNames[name]) > 0 {
				return true
			}
		case sqlscan.OperandCast:
			if name != "timestamp" && name != "timestamptz" && name != "date" || len(j.typeNames[name]) > 0 {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// castByName says whether f(x) may be a cast to a type f: so it is read where
// no function f takes x. Rows have no such casts.
func (j *judging) castByName(c sqlscan.Call) (found bool) {
	if c.Args > 1 || c.Args == 0 {
		return false
	}
	for _, t := range j.typeNames[c.Name.Name] {
		if t.kind == 'c' || c.Schema != "" && c.Schema != t.schema {
			continue
		}
		found = true
		if _, input, time := j.typeState(t.oid); input != pure || time {
			j.barDoubt(ReasonType, "cast to "+t.schema+"."+t.name)
		}
	}
	return found
}

// construct says whether the scanner reports syntax under this name, and not a
// function: it has a name in upper case then.
func construct(n sqlscan.Name) bool {
	return n.Schema == "pg_catalog" && n.Name == strings.ToUpper(n.Name) && n.Name != strings.ToLower(n.Name)
}

// scalarAttributes says whether what stands before a dot may be a value that
// is no row: ('x').f, or a.f where FROM g() AS a. Then .f calls any function
// of one argument.
func scalarAttributes(st *sqlscan.Statement) bool {
	return st.Features&(sqlscan.FeatureField|sqlscan.FeatureFromFunction|sqlscan.FeatureSubscript) != 0
}

// judgeAttributes looks at names after a dot: t.f means f(t) where t has no
// column f. What is a column of one table may be a call on another, so users'
// functions always count; of the built-in ones only those are feared that do
// more than their argument says.
func (j *judging) judgeAttributes() {
	scalar := scalarAttributes(j.st)
	may := func(first byte, least, most int) bool {
		if least > 1 || most == 0 {
			return false
		}
		switch first {
		case 'c', 'p', 'd':
			return true
		}
		return scalar || most < 0 // no row has such a type, nor comes to it unseen
	}
	for _, name := range j.st.Attributes {
		for _, f := range j.functions[name] {
			if j.inPath(f.schema) && may(f.first, f.least, f.most) {
				j.calls = true
				j.use(f, 1, ReasonAttribute)
			}
		}
		for _, t := range j.typeNames[name] {
			// A domain over a row is cast to by its name. No table's name is.
			if t.baseKind == 'c' || t.baseKind == 'd' || scalar && t.kind != 'c' {
				if _, input, time := j.typeState(t.oid); input != pure || time {
					j.barDoubt(ReasonAttribute, name)
				}
			}
		}
		worst := byte('i')
		for _, f := range j.builtInCalls[name] {
			if may(f.first, f.least, f.most) {
				worst, j.calls = max(worst, f.volatility), true
			}
		}
		column := len(j.columns(name)) > 0
		switch {
		case scalar && timeTypes[name] && !j.cleanColumn(name):
			j.bar(ReasonAttribute, name)
		case worst != 'i' && !stables[name] && (!column || scalar):
			j.bar(ReasonAttribute, name)
		}
		if worst == 'v' && !quiet[name] || loud[name] {
			j.harmless = false
		}
	}
}

// cleanColumn says whether a.name can be nothing but a table's own column: no
// function in FROM, and no (…).name, shows it.
func (j *judging) cleanColumn(name string) bool {
	return len(j.columns(name)) > 0 && j.st.Features&(sqlscan.FeatureField|sqlscan.FeatureFromFunction) == 0
}

// judgeOperators looks at the operators that are used or implied: users' of
// those names, whatever their schema, and the built-in ones that are not
// IMMUTABLE.
func (j *judging) judgeOperators() {
	// OPERATOR(s.=) looks into s alone, where no built-in twin is. What a view
	// implies (USING, CASE x WHEN) was found under its maker's search_path, and
	// is not in its text.
	plain := j.st.Features&sqlscan.FeatureOperatorSyntax == 0 && !j.place.stored()
	for _, name := range j.st.Operators {
		for _, o := range j.unsteady[name] {
			if o.volatility == 'v' || !stables[o.function] {
				j.bar(ReasonOperator, name+" ("+o.function+")")
			}
		}
		for _, o := range j.operators[name] {
			switch {
			case j.supports(o.function):
				if o.function >= firstUserOID && (!plain || j.inPath(o.schema)) {
					j.comes(o.left.oid)
					j.comes(o.right.oid)
				}
			case plain && !j.inPath(o.schema), plain && j.apart(o.left, name) && j.apart(o.right, name):
			case name == "%" && j.st.NumericModulo && plain && o.left.category == 'S' && o.right.category == 'S' && !j.castsToText():
				// pg_trgm's, and a number is no text.
			case j.trusted(o.function):
				j.bar(ReasonOperator, name)
			default:
				j.barDoubt(ReasonOperator, name)
			}
		}
	}
	for _, c := range j.opclasses {
		if len(j.st.Operators)+len(j.st.Functions)+len(j.st.Types) == 0 {
			break // nothing is compared; functions do (max), and ranges' input
		}
		// Sorting and grouping go by the type's class, and a user's class for
		// a type that has none becomes its own.
		if !c.extension && j.comesUp(c.in) {
			j.barDoubt(ReasonOperator, "operator class "+c.name)
		}
	}
}

// castsToText says whether a user's cast turns what is no text into text unseen.
func (j *judging) castsToText() bool {
	return slices.ContainsFunc(j.casts, func(c userCast) bool { return c.context == 'i' && c.target.category == 'S' && c.source.reachable() })
}

// comesUp says whether an expression may have the type.
func (j *judging) comesUp(t typeDesc) bool {
	if t.typtype == 'c' && !t.builtIn() {
		return j.anyType || j.types[t.oid] || j.st.Features&rowFeatures != 0
	}
	return t.reachable() || j.anyType || j.types[t.oid]
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
	if j.comesUp(t) || t.preferred || !twin || t.category == 'S' && !onText {
		return false
	}
	return !slices.ContainsFunc(j.casts, func(c userCast) bool {
		return c.context == 'i' && c.target.oid == t.oid && c.source.reachable()
	})
}

// judgeUserCasts looks at users' casts whose functions aren't pure. Those
// between an extension's own types and built-in ones are of no matter where
// nothing has its types.
func (j *judging) judgeUserCasts() {
	for _, c := range j.casts {
		_, _, time := j.typeState(c.target.oid)
		if j.supports(c.function) && !(c.function == 0 && time) {
			continue
		}
		switch {
		case !j.comesUp(c.source), !j.comesUp(c.target) && !c.source.isRow():
		case c.context == 'e' && !j.namesType(c.target.oid):
		default:
			j.barDoubt(ReasonUserCast, "from "+c.name)
		}
	}
}

// namesType says whether the text may ask for a cast to a type: by its name, by
// a call of that name, or by making JSON.
func (j *judging) namesType(oid uint32) bool {
	if j.calls && (oid == pgtype.JSONOID || oid == pgtype.JSONBOID) {
		return true
	}
	names := func(n string) bool {
		if builtIn, ok := j.typeOIDs[n]; ok && builtIn == oid {
			return true
		}
		return slices.ContainsFunc(j.typeNames[n], func(t *userType) bool { return t.oid == oid || t.elem == oid || t.base == oid })
	}
	for _, t := range j.st.Types {
		if names(t.Name) {
			return true
		}
	}
	for _, f := range j.st.Functions {
		if names(f.Name.Name) {
			return true
		}
	}
	return slices.ContainsFunc(j.st.Attributes, names) && scalarAttributes(j.st)
}
