package catalog

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// Pure lists users' functions that may be cached over, whatever the catalog
// says of them: "schema.name", with the relations that each reads.
type Pure map[string][]string

// settle finds out which functions are pure and which types are safe.
func (o *objects) settle(b *BuiltIns, listed Pure) {
	e := env{b, o}
	for _, list := range o.functions {
		for _, f := range list {
			if reads, ok := listed[f.schema+"."+f.name]; ok {
				f.state, f.defaulted, f.reads = pure, pure, reads
			}
		}
	}
	for _, f := range o.byOID {
		e.settleFunction(f)
	}
	for _, t := range o.userTypes {
		e.settleType(t)
	}
}

// env is what names are looked up in.
type env struct {
	*BuiltIns
	*objects
}

// settleFunction says whether a user's function is pure: an extension's that is
// IMMUTABLE, or one that is IMMUTABLE and written in SQL over nothing. What
// else is declared so is believed only if the user lists it.
func (e env) settleFunction(f *userFunction) purity {
	switch f.state {
	case purityUnknown:
	case purityAsked:
		return impure
	default:
		return f.state
	}
	f.state = purityAsked
	ok := false
	switch {
	case f.volatility != 'i':
	case f.kind == 'a':
		// An aggregate says IMMUTABLE whatever its functions are.
		ok = len(f.support) > 0
		for _, oid := range f.support {
			ok = ok && e.supports(oid)
		}
	case f.extension && effectful[f.name]:
	case f.extension, f.language == "internal":
		// The server's own code under another name: what makes a user's range
		// and multirange, for one.
		ok = true
	case f.language == "sql" && f.plain && f.body != "":
		ok = e.pureSQL(body(f.body), f.schema+"."+f.name, f.types)
	}
	f.state, f.defaulted = impure, impure
	if ok && e.typesSafe(f) {
		f.state, f.defaulted = pure, pure
		if f.defaults != "" && !e.pureSQL("SELECT "+f.defaults, f.schema+"."+f.name, f.types) {
			f.defaulted = impure
		}
	}
	return f.state
}

// typesSafe says whether nothing is done unseen to what a function takes, gives
// and keeps: a domain's check, a date read from text.
func (e env) typesSafe(f *userFunction) bool {
	for i, oid := range f.types {
		switch {
		case oid >= firstUserOID && (e.userTypes[oid] == nil || e.userTypes[oid].kind == 'm'): // a table's row; its range is there, too
		case oid >= firstUserOID:
			if _, input, _ := e.typeState(oid); input != pure {
				return false
			}
		case zoned[oid]:
			return false
		case i == 0 && polymorphic[oid] && f.extension:
			// It may make a row of whatever type out of text (hstore's
			// populate_record).
			return false
		}
		if f.initial != "" {
			if _, _, time := e.typeState(oid); time && TimeWord(f.initial) {
				return false
			}
		}
	}
	return true
}

// supports says whether an operator, a cast or an aggregate may be made of a
// function.
func (e env) supports(oid uint32) bool {
	if oid < firstUserOID {
		name, unsteady := e.unsteadyCode[oid]
		return !unsteady || stables[name]
	}
	f := e.byOID[oid]
	return f != nil && e.settleFunction(f) == pure
}

// body gives a function's body as a statement: what is between BEGIN ATOMIC and
// END, or behind RETURN. Several statements are none that is understood.
func body(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "; \t\r\n")
	upper := strings.ToUpper(text)
	switch {
	case strings.HasPrefix(upper, "BEGIN ATOMIC") && strings.HasSuffix(upper, "END"):
		return strings.TrimRight(strings.TrimSpace(text[len("BEGIN ATOMIC"):len(text)-len("END")]), "; \t\r\n")
	case strings.HasPrefix(upper, "RETURN ") || strings.HasPrefix(upper, "RETURN("):
		return "SELECT " + text[len("RETURN"):]
	}
	return text
}

// pureSQL says whether a piece of SQL reads nothing and calls only what is pure.
// types are those of what it is given.
func (e env) pureSQL(text, where string, types []uint32) bool {
	st := sqlscan.Scan(text)
	j := judging{env: e, st: st, place: inBody, where: where, harmless: true}
	j.comeAll(types)
	j.piece()
	return len(j.reasons) == 0 && j.harmless && len(st.Relations) == 0
}

// settleType says whether a user's type is safe to show (state) and to read
// (input).
func (e env) settleType(t *userType) (show, input purity) {
	switch t.state {
	case purityUnknown:
	case purityAsked:
		return impure, impure
	default:
		return t.state, t.input
	}
	t.state, t.input = purityAsked, purityAsked
	show, input = pure, pure
	within := func(oid uint32) {
		if oid == 0 {
			return
		}
		s, i, time := e.typeState(oid)
		show, input, t.time = min(show, s), min(input, i), t.time || time
	}
	switch t.kind {
	case 'e':
	case 'b':
		if t.category == 'A' && t.elem != 0 {
			within(t.elem)
			break
		}
		if !t.extension {
			show, input = impure, impure
		}
		within(t.elem)
	case 'd':
		within(t.base)
		for _, check := range t.checks {
			if !e.pureSQL(checked(check), t.schema+"."+t.name, []uint32{t.base}) {
				input = impure
			}
		}
	case 'c':
		for _, a := range t.attributes {
			within(a)
		}
	case 'r':
		if t.span == 0 {
			show, input = impure, impure
		}
		within(t.span)
	default:
		show, input = impure, impure
	}
	for _, oid := range t.io {
		if !e.readsAndWrites(oid) {
			show, input = impure, impure
		}
	}
	t.state, t.input = show, input
	return show, input
}

// checked gives a check constraint as a statement.
func checked(def string) string {
	def = strings.TrimSuffix(strings.TrimSuffix(def, " NOT VALID"), " NO INHERIT")
	return "SELECT " + strings.TrimPrefix(def, "CHECK ")
}

// readsAndWrites says whether a function may be a safe type's input or output.
// The server's own code under a user's name goes by the settings of the
// session, as it does under its own.
func (e env) readsAndWrites(oid uint32) bool {
	if oid < firstUserOID {
		return true
	}
	f := e.byOID[oid]
	return f != nil && (f.extension && (f.volatility == 'i' || f.volatility == 's' && f.language == "internal") || e.settleFunction(f) == pure)
}

// typeState says whether a type is safe to show and to read, and whether date
// or time input is within.
func (e env) typeState(oid uint32) (show, input purity, time bool) {
	if oid < firstUserOID {
		if !builtIn[oid] {
			return impure, impure, false
		}
		return pure, pure, timeParams[oid]
	}
	t := e.userTypes[oid]
	if t == nil {
		return impure, impure, true
	}
	show, input = e.settleType(t)
	return show, input, t.time
}

// trusted says whether a function, by its OID, is known to write nothing: it is
// pure, the server's own, or an extension's that is not VOLATILE.
func (e env) trusted(oid uint32) bool {
	if oid < firstUserOID {
		return e.supports(oid)
	}
	f := e.byOID[oid]
	return f != nil && (f.state == pure || f.extension && f.volatility != 'v')
}

// timeOfDay says whether a type is, or holds, a time of day: it comes to be a
// timetz unseen, by today's daylight saving rule.
func (e env) timeOfDay(oid uint32) bool {
	if oid < firstUserOID {
		return oid == pgtype.TimeOID || oid == pgtype.TimeArrayOID || zoned[oid]
	}
	t := e.userTypes[oid]
	if t == nil || t.state == purityAsked {
		return false
	}
	return slices.ContainsFunc(append([]uint32{t.elem, t.base, t.span}, t.attributes...), func(within uint32) bool {
		return within != 0 && within != oid && e.timeOfDay(within)
	})
}

// inPath says whether an object of a schema is found without it.
func (o *objects) inPath(schema string) bool { return slices.Contains(o.path, schema) }
