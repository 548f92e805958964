package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// facts are what judgeSQL found, by kind.
type facts struct {
	relations []relationFact
	missing   []Relation // without an OID
	columns   map[string]bool
	colTypes  []typeFact
	userTypes map[uint32]userType       // what columns and parameters have, or hold within
	functions map[string][]functionFact // by name; those in the search_path
	typeNames map[string][]typeNameFact // users' types by name, wherever they are
	operators map[string][]operatorFact // users' operators by name, wherever they are
	opclasses []opclassFact             // users' classes of btree and hash
	casts     []castFact                // users' casts
	altered   bool                      // a view of the system's own was altered
	sampling  []string                  // users' sampling methods
}

type relationFact struct {
	Relation
	kind, persistence byte
	rowSecurity       bool
}

type typeFact struct {
	oid  uint32
	name string
}

// userType is a type that isn't built in: its kind, whether it is a domain with
// a constraint, and whether its input or output is a user's, too.
type userType struct {
	typtype     byte
	constrained bool
	ownIO       bool
}

type functionFact struct {
	catalog    bool // in the schema pg_catalog
	user       bool // made by a user, or out of pg_catalog
	volatility byte
	// first is the typtype of its first argument, if one is enough to call
	// it; p where it takes any number.
	first byte
}

type typeNameFact struct {
	typtype, base byte // base is 0 for all but domains
}

type operatorFact struct {
	left, right typeDesc
}

type opclassFact struct {
	name string
	in   typeDesc
}

type castFact struct {
	context        byte // i, a or e: implicit, assignment or explicit
	source, target typeDesc
	name           string // of the source
}

// typeDesc is what matters of a type when operators and casts are chosen. Its
// zero value stands for no operand.
type typeDesc struct {
	oid               uint32
	typtype, category byte
	preferred         bool
}

func (t typeDesc) builtIn() bool { return t.oid < firstUserOID }

// isRow says whether a value of the type may be a row of any table.
func (t typeDesc) isRow() bool { return t.typtype == 'c' || t.typtype == 'p' }

// reachable says whether an expression may have the type although no column
// has: it is built in, a row, or an array of what has.
func (t typeDesc) reachable() bool { return t.builtIn() || t.isRow() || t.category == 'A' }

// readFacts reads the answer.
func readFacts(rows [][][]byte) (*facts, error) {
	f := &facts{
		columns: make(map[string]bool), userTypes: make(map[uint32]userType), functions: make(map[string][]functionFact),
		typeNames: make(map[string][]typeNameFact), operators: make(map[string][]operatorFact),
	}
	for _, row := range rows {
		if len(row) != 5 {
			return nil, fmt.Errorf("catalog: a row of %d columns", len(row))
		}
		if err := f.read(string(row[0]), string(row[1]), string(row[2]), string(row[3]), string(row[4])); err != nil {
			return nil, fmt.Errorf("catalog: %q: %w", row, err)
		}
	}
	return f, nil
}

func (f *facts) read(kind, schema, name, a, b string) (err error) {
	p := parser{}
	switch kind {
	case "relation":
		r := relationFact{Relation: Relation{p.oid(a), schema, name}}
		flags := p.flags(b, 3)
		r.kind, r.persistence, r.rowSecurity = flags[0], flags[1], flags[2] == 't'
		f.relations = append(f.relations, r)
	case "missing":
		f.missing = append(f.missing, Relation{Schema: schema, Name: name})
	case "column-type":
		f.colTypes = append(f.colTypes, typeFact{p.oid(a), name})
	case "column":
		f.columns[name] = true
	case "user-type":
		flags := p.flags(a, 2)
		t := userType{typtype: flags[0], constrained: flags[0] == 'd' && flags[1] == 't'}
		oids := strings.Fields(b)
		if len(oids) != 5 {
			p.failed = true
			break
		}
		for _, io := range oids[1:] {
			t.ownIO = t.ownIO || p.oid(io) >= firstUserOID
		}
		f.userTypes[p.oid(oids[0])] = t
	case "function":
		flags := p.flags(a, 2)
		fn := functionFact{catalog: schema != "", volatility: flags[0], user: flags[1] == 't'}
		if b != "" {
			fn.first = b[0]
		}
		f.functions[name] = append(f.functions[name], fn)
	case "type-name":
		t := typeNameFact{typtype: p.flags(a, 1)[0]}
		if b != "" {
			t.base = b[0]
		}
		f.typeNames[name] = append(f.typeNames[name], t)
	case "operator":
		f.operators[name] = append(f.operators[name], operatorFact{p.desc(a), p.desc(b)})
	case "operator-class":
		f.opclasses = append(f.opclasses, opclassFact{name, p.desc(a)})
	case "cast":
		f.casts = append(f.casts, castFact{p.flags(schema, 1)[0], p.desc(a), p.desc(b), name})
	case "altered-view":
		f.altered = true
	case "sampling":
		f.sampling = append(f.sampling, name)
	default:
		p.failed = true
	}
	if p.failed {
		return fmt.Errorf("not understood")
	}
	return nil
}

// parser reads the parts of a fact. What it can't read fails the whole answer.
type parser struct{ failed bool }

func (p *parser) oid(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	p.failed = p.failed || err != nil
	return uint32(n)
}

func (p *parser) flags(s string, n int) string {
	if len(s) != n {
		p.failed = true
		return strings.Repeat("?", n)
	}
	return s
}

func (p *parser) desc(s string) typeDesc {
	if s == "" {
		return typeDesc{}
	}
	parts := strings.Fields(s)
	if len(parts) != 4 {
		p.failed = true
		return typeDesc{}
	}
	return typeDesc{p.oid(parts[0]), p.flags(parts[1], 1)[0], p.flags(parts[2], 1)[0], parts[3] == "t"}
}
