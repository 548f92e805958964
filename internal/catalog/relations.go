package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// relation is what a name stands for, and all that a read of it involves. It is
// immutable.
type relation struct {
	at      time.Duration
	oid     uint32     // 0: there is none of that name
	reached []Relation // itself first, then the others by name
	columns map[string][]uint32
	types   map[uint32]bool // users' types that come up
	reads   []string        // what listed functions that views call read

	reasons  []sqlscan.Reason
	harmless bool
	timed    bool   // a column is, or holds, a time of day
	input    string // a column whose type is safe to show, but not to read
}

// found is the answer to relationsSQL.
type found struct {
	named     map[sqlscan.Name]uint32
	relations map[uint32]*relationRow
	children  map[uint32][]uint32
	rowTypes  map[uint32]uint32 // type → relation
}

type relationRow struct {
	Relation
	kind, persistence     byte
	rowSecurity, policies bool
	columns               []column
	view                  string
	conditions            []string // of policies that a read goes by
	uses                  []object
	parents               []uint32
}

type column struct {
	name    string
	oid     uint32
	virtual bool // computed when it is read
}

type object struct{ class, oid uint32 }

// Catalogs, by OID.
const (
	pgType      = 1247
	pgProc      = 1255
	pgClass     = 1259
	pgOperator  = 2617
	pgOpclass   = 2616
	pgOpfamily  = 2753
	pgCollation = 3456
	pgCast      = 2605
	pgNamespace = 2615
	pgLanguage  = 2612
	pgTSConfig  = 3602
	pgTSDict    = 3600
	pgAuthID    = 1260
	pgRewrite   = 2618
	pgPolicy    = 3256
)

func readRelations(rows []row) (*found, error) {
	f := &found{named: map[sqlscan.Name]uint32{}, relations: map[uint32]*relationRow{}, children: map[uint32][]uint32{}, rowTypes: map[uint32]uint32{}}
	p := parser{}
	of := func(r row) *relationRow {
		oid := p.oid(r[3])
		rel := f.relations[oid]
		if rel == nil {
			rel = &relationRow{}
			f.relations[oid] = rel
		}
		return rel
	}
	for _, r := range rows {
		switch string(r[0]) {
		case "named":
			f.named[sqlscan.Name{Schema: string(r[1]), Name: string(r[2])}] = p.oid(r[3])
		case "relation":
			rel, flags := of(r), p.flags(r[4], 4)
			rel.Relation = Relation{p.oid(r[3]), string(r[1]), string(r[2])}
			rel.kind, rel.persistence, rel.rowSecurity, rel.policies = flags[0], flags[1], flags[2] == 't', flags[3] == 't'
		case "inherits":
			rel, parent := of(r), p.oid(r[4])
			rel.parents = append(rel.parents, parent)
			f.children[parent] = append(f.children[parent], p.oid(r[3]))
		case "column":
			rel := of(r)
			rel.columns = append(rel.columns, column{string(r[2]), p.oid(r[4]), string(r[1]) == "v"})
		case "view":
			of(r).view = string(r[2])
		case "policy":
			if cmd := string(r[4]); cmd == "r" || cmd == "*" {
				of(r).conditions = append(of(r).conditions, string(r[2]))
			}
		case "uses":
			if oids := p.oids(r[4]); len(oids) == 2 {
				rel := of(r)
				rel.uses = append(rel.uses, object{oids[0], oids[1]})
			}
		case "rows":
			f.rowTypes[p.oid(r[4])] = p.oid(r[3])
		default:
			return nil, fmt.Errorf("catalog: the server's answer is not understood: %q", r[0])
		}
	}
	return f, p.err()
}

// closure gives all that a read of a relation involves.
func (f *found) closure(oid uint32) []*relationRow {
	var list []*relationRow
	seen := map[uint32]bool{}
	var visit func(uint32)
	visit = func(oid uint32) {
		rel := f.relations[oid]
		if seen[oid] || rel == nil {
			return
		}
		seen[oid] = true
		list = append(list, rel)
		for _, next := range rel.parents {
			visit(next)
		}
		for _, next := range f.children[oid] {
			visit(next)
		}
		for _, o := range rel.uses {
			if o.class == pgClass {
				visit(o.oid)
			}
		}
	}
	visit(oid)
	if len(list) > 1 {
		slices.SortFunc(list[1:], func(a, b *relationRow) int {
			return cmp.Or(strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
		})
	}
	return list
}

// judge makes what is known of a name.
func (f *found) judge(e env, oid uint32, partitioned bool, at time.Duration) *relation {
	rel := &relation{at: at, oid: oid, harmless: true}
	if oid == 0 {
		rel.harmless = false
		return rel
	}
	list := f.closure(oid)
	j := judging{env: e, harmless: true, st: &sqlscan.Statement{}}
	columns := map[string][]uint32{}
	for _, r := range list {
		rel.reached = append(rel.reached, r.Relation)
		j.relation(r, partitioned)
		for _, c := range r.columns {
			columns[c.name] = append(columns[c.name], c.oid)
			if j.columnType(c.oid, r.Schema+"."+r.Name+"."+c.name) {
				rel.input = r.Schema + "." + r.Name + "." + c.name
			}
			j.timed = j.timed || e.timeOfDay(c.oid)
			if c.virtual && !e.builtInsOnly() {
				j.bar(ReasonRelationKind, r.Schema+"."+r.Name+"."+c.name+" is computed when it is read")
			}
		}
	}
	for _, r := range list {
		f.hidden(&j, r, columns)
	}
	rel.columns, rel.types, rel.reasons, rel.harmless, rel.reads, rel.timed = map[string][]uint32{}, j.types, j.reasons, j.harmless, j.reads, j.timed
	for _, c := range list[0].columns {
		rel.columns[c.name] = append(rel.columns[c.name], c.oid)
	}
	return rel
}

// builtInsOnly: as of PostgreSQL 18, what is computed when it is read calls
// nothing that users made, and nothing that isn't IMMUTABLE; the server sees
// to it. Where users have no function, a later server can't differ.
func (e env) builtInsOnly() bool { return e.version < 19_00_00 || len(e.byOID) == 0 }

// relation judges one relation's kind.
func (j *judging) relation(r *relationRow, partitioned bool) {
	name := r.Schema + "." + r.Name
	if systemSchema(r.Schema) {
		j.bar(ReasonSystemRelation, name)
		j.harmless = j.harmless && (r.OID < firstUserOID && !j.altered || r.kind == 'r' || r.kind == 't')
		return
	}
	switch r.kind {
	case 'r', 'p', 'm', 'v':
	case 'f':
		j.time(ReasonForeign, name)
		j.harmless = false // a wrapper's tables may run anything, anywhere
	case 'S':
		j.bar(ReasonRelationKind, name+" is a sequence") // reading it runs nothing
	default:
		j.barDoubt(ReasonRelationKind, name)
	}
	if r.persistence == 't' {
		j.bar(ReasonTemporary, name)
	}
	if r.rowSecurity && !partitioned {
		j.bar(ReasonRowSecurity, name)
	}
}

func systemSchema(s string) bool {
	return s == "information_schema" || strings.HasPrefix(s, "pg_") && !strings.HasPrefix(s, "pg_temp_")
}

// hidden judges what a view's rule, or a table's policies, run unseen: what
// users made by pg_depend, which leaves out what is built in, and that by its
// text.
func (f *found) hidden(j *judging, r *relationRow, columns map[string][]uint32) {
	name := r.Schema + "." + r.Name
	if r.kind == 'v' && r.OID >= firstUserOID && !systemSchema(r.Schema) {
		f.piece(j, r, inView, "view "+name, r.view, columns)
	}
	if r.rowSecurity {
		for _, c := range r.conditions {
			f.piece(j, r, inPolicy, "a policy of "+name, "SELECT "+c, columns)
		}
	}
}

func (f *found) piece(j *judging, r *relationRow, at place, where, text string, columns map[string][]uint32) {
	st := sqlscan.Scan(text)
	p := judging{env: j.env, st: st, place: at, where: where, harmless: true, types: j.types, timed: j.timed, columns: func(name string) []uint32 { return columns[name] }}
	for _, n := range st.Relations {
		// Without a schema it is built in, or a common table expression.
		if n.Schema == "" {
			p.bar(ReasonSystemRelation, "pg_catalog."+n.Name)
			if j.altered {
				p.harmless = false
			}
		}
	}
	p.piece()
	for _, o := range r.uses {
		p.object(f, o)
	}
	for _, reason := range p.reasons {
		if !slices.Contains(j.reasons, reason) {
			j.reasons = append(j.reasons, reason)
		}
	}
	j.types = p.types
	j.reads = append(j.reads, p.reads...)
	j.harmless = j.harmless && p.harmless
}

// object judges something of users' that a view or a policy depends on.
func (j *judging) object(f *found, o object) {
	if o.oid < firstUserOID {
		return
	}
	switch o.class {
	case pgProc:
		fn := j.byOID[o.oid]
		if fn == nil {
			j.barDoubt(ReasonUserFunction, fmt.Sprint(o.oid))
			return
		}
		args := -1
		if slices.ContainsFunc(j.st.Functions, func(c sqlscan.Call) bool {
			return c.Name == sqlscan.Name{Schema: fn.schema, Name: fn.name}
		}) {
			args = fn.most // with how many it is called was looked at by name
		}
		j.use(fn, args, ReasonUserFunction)
	case pgType:
		if _, row := f.rowTypes[o.oid]; row {
			return // its relation is there, too
		}
		j.comes(o.oid)
		if show, input, _ := j.typeState(o.oid); show != pure || input != pure {
			j.barDoubt(ReasonType, fmt.Sprint("type ", o.oid))
		}
	case pgClass, pgOperator, pgOpclass, pgOpfamily, pgCollation, pgNamespace, pgTSConfig, pgTSDict, pgAuthID, pgRewrite, pgPolicy, pgLanguage, pgCast:
		// Relations are in the tree; operators are in the text, by name; what
		// a class or a cast calls is judged with those that users made.
	default:
		j.barDoubt(ReasonUserFunction, fmt.Sprintf("object %d of catalog %d", o.oid, o.class))
	}
}
