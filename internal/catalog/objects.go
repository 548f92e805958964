package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// BuiltIns are what initdb made, as one server has it: every function, type and
// operator that a name may mean. It is immutable.
type BuiltIns struct {
	version      int // 150000 for 15
	builtInCalls map[string][]builtInFunction
	typeOIDs     map[string]uint32
	unsteady     map[string][]builtInOperator // operators: those that aren't IMMUTABLE
	unsteadyCode map[uint32]string            // functions that aren't IMMUTABLE
}

type builtInFunction struct {
	volatility byte
	kind       byte // prokind
	first      byte // the typtype of its first argument; - for none
	least      int  // arguments
	most       int  // -1: any number
}

type builtInOperator struct {
	function   string
	volatility byte
}

// objects are what users made, and what it means under one search_path. It is
// immutable once [objects.settle] has run.
type objects struct {
	path      []string // schemas in their order, pg_catalog among them
	functions map[string][]*userFunction
	byOID     map[uint32]*userFunction
	operators map[string][]operator
	userTypes map[uint32]*userType
	typeNames map[string][]*userType
	casts     []userCast
	opclasses []opclass
	outputs   map[string]bool // names of columns that functions give, built-in ones too
	sampling  []string        // users' sampling methods
	altered   bool            // a view of the system's own was altered
	tooMany   bool
}

// userFunction is a user's, or one out of pg_catalog.
type userFunction struct {
	oid            uint32
	schema, name   string
	volatility     byte
	kind           byte // prokind
	first          byte
	extension      bool
	language       string
	plain          bool // without SET clauses and SECURITY DEFINER
	least, most    int
	body, defaults string
	support        []uint32 // an aggregate's
	types          []uint32 // of its result, its arguments and an aggregate's state
	initial        string   // an aggregate's first states

	state, defaulted purity   // defaulted: where arguments are left out
	reads            []string // what the user says it reads
}

// purity says whether a call may be cached over.
type purity uint8

const (
	purityUnknown purity = iota
	purityAsked          // it calls itself
	impure
	pure
)

type operator struct {
	schema      string
	left, right typeDesc
	function    uint32
}

// userType is a type that isn't built in.
type userType struct {
	oid              uint32
	schema, name     string
	kind, category   byte
	extension        bool
	elem, base, span uint32
	io               []uint32 // its functions for input and output, and what makes a range canonical
	attributes       []uint32
	checks           []string
	baseKind         byte

	state, input purity // whether it is safe to show, and to read
	time         bool   // there is date or time input somewhere within
}

type userCast struct {
	context        byte // i, a or e: implicit, assignment or explicit
	function       uint32
	source, target typeDesc
	name           string
}

type opclass struct {
	name      string
	in        typeDesc
	extension bool
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

// mostObjects bounds what is kept of one kind. Beyond it nothing is cached.
const mostObjects = 200_000

type row = [][]byte

func readBuiltIns(version int, functions, types, operators, unsteady []row) (*BuiltIns, error) {
	b := &BuiltIns{version: version, builtInCalls: make(map[string][]builtInFunction, len(functions)), typeOIDs: make(map[string]uint32, len(types)), unsteady: map[string][]builtInOperator{}, unsteadyCode: make(map[uint32]string, len(unsteady))}
	p := parser{}
	for _, r := range functions {
		flags := p.flags(r[1], 3)
		b.builtInCalls[string(r[0])] = append(b.builtInCalls[string(r[0])], builtInFunction{volatility: flags[0], kind: flags[1], first: flags[2], least: p.number(r[2]), most: p.number(r[3])})
	}
	for _, r := range types {
		b.typeOIDs[string(r[0])] = p.oid(r[1])
	}
	for _, r := range operators {
		name := string(r[0])
		b.unsteady[name] = append(b.unsteady[name], builtInOperator{string(r[1]), p.flags(r[2], 1)[0]})
	}
	for _, r := range unsteady {
		b.unsteadyCode[p.oid(r[0])] = string(r[1])
	}
	return b, p.err()
}

func readObjects(path []string, functions, operators, types, casts, opclasses, altered, outputs []row) (*objects, error) {
	o := &objects{
		path: path, functions: map[string][]*userFunction{}, byOID: map[uint32]*userFunction{}, operators: map[string][]operator{},
		userTypes: map[uint32]*userType{}, typeNames: map[string][]*userType{}, outputs: map[string]bool{}, altered: len(altered) > 0,
		tooMany: len(functions) > mostObjects || len(types) > mostObjects || len(operators) > mostObjects,
	}
	p := parser{}
	for _, r := range functions {
		flags := p.flags(r[3], 4)
		f := &userFunction{
			oid: p.oid(r[0]), schema: string(r[1]), name: string(r[2]), volatility: flags[0], kind: flags[1], first: flags[2], extension: flags[3] == 'e',
			least: p.number(r[4]), most: p.number(r[5]), language: string(r[6]), plain: string(r[7]) == "t", body: string(r[8]), defaults: string(r[9]),
			support: p.oids(r[10]), types: p.oids(r[12]), initial: string(r[13]),
		}
		if string(r[11]) == "t" {
			o.sampling = append(o.sampling, f.name)
		}
		o.functions[f.name] = append(o.functions[f.name], f)
		o.byOID[f.oid] = f
	}
	for _, r := range operators {
		name := string(r[0])
		o.operators[name] = append(o.operators[name], operator{string(r[1]), p.desc(r[2]), p.desc(r[3]), p.oid(r[4])})
	}
	for _, r := range types {
		flags := p.flags(r[3], 3)
		t := &userType{
			oid: p.oid(r[0]), schema: string(r[1]), name: string(r[2]), kind: flags[0], category: flags[1], extension: flags[2] == 'e',
			elem: p.oid(r[4]), base: p.oid(r[5]), span: p.oid(r[6]), io: p.oids(r[7]), attributes: p.oids(r[8]), baseKind: p.flags(r[10], 1)[0],
		}
		if len(r[9]) > 0 {
			t.checks = strings.Split(string(r[9]), "\n")
		}
		o.userTypes[t.oid] = t
		o.typeNames[t.name] = append(o.typeNames[t.name], t)
	}
	for _, r := range casts {
		o.casts = append(o.casts, userCast{p.flags(r[0], 1)[0], p.oid(r[1]), p.desc(r[2]), p.desc(r[3]), string(r[4])})
	}
	for _, r := range opclasses {
		o.opclasses = append(o.opclasses, opclass{string(r[0]), p.desc(r[1]), string(r[2]) == "e"})
	}
	for _, r := range outputs {
		o.outputs[string(r[0])] = true
	}
	return o, p.err()
}

// parser reads the parts of an answer. What it can't read fails the whole.
type parser struct{ failed string }

func (p *parser) err() error {
	if p.failed == "" {
		return nil
	}
	return fmt.Errorf("catalog: the server's answer is not understood: %q", p.failed)
}

func (p *parser) oid(b []byte) uint32 {
	n, err := strconv.ParseUint(string(b), 10, 32)
	if err != nil {
		p.failed = "oid " + string(b)
	}
	return uint32(n)
}

func (p *parser) oids(b []byte) []uint32 {
	var list []uint32
	for _, f := range strings.Fields(string(b)) {
		list = append(list, p.oid([]byte(f)))
	}
	return list
}

func (p *parser) number(b []byte) int {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		p.failed = "number " + string(b)
	}
	return n
}

// flags reads n letters.
func (p *parser) flags(b []byte, n int) string {
	if len(b) != n {
		p.failed = "flags " + string(b)
		return strings.Repeat("?", n)
	}
	return string(b)
}

func (p *parser) desc(b []byte) typeDesc {
	if len(b) == 0 {
		return typeDesc{}
	}
	parts := strings.Fields(string(b))
	if len(parts) != 4 {
		p.failed = "type " + string(b)
		return typeDesc{}
	}
	return typeDesc{p.oid([]byte(parts[0])), p.flags([]byte(parts[1]), 1)[0], p.flags([]byte(parts[2]), 1)[0], parts[3] == "t"}
}
