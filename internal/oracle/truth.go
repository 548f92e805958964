package oracle

import (
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// truth is what PostgreSQL's grammar makes of a text, in the scanner's words.
type truth struct {
	tops []*pg.Node // the statements

	bars    map[sqlscan.ReasonCode]string // what keeps it from the cache, each with a word on it
	temp    bool                          // it makes something temporary
	dormant bool                          // nothing of it runs: EXPLAIN, PREPARE

	relations, targets, types []sqlscan.Name
	functions                 []sqlscan.Call
	operators                 []string
	attributes                []string
	aliases                   []string
	casts                     []sqlscan.Cast

	bare    []string // names that stand alone in expressions
	entries []string // what the entries of FROM lists are called
	stars   bool     // a star where no column list is

	ctes []string // in scope
}

// read gives the truth about a text; the grammar's own error where it refuses
// it.
func read(text string) (*truth, error) {
	tree, err := pg.Parse(text)
	if err != nil {
		return nil, err
	}
	t := &truth{bars: map[sqlscan.ReasonCode]string{}}
	for _, s := range tree.Stmts {
		t.tops = append(t.tops, s.Stmt)
	}
	if len(t.tops) > 1 {
		t.bar(sqlscan.ReasonSeveral, "")
	}
	for _, s := range t.tops {
		t.statement(s)
	}
	return t, nil
}

func (t *truth) bar(code sqlscan.ReasonCode, detail string) {
	if _, ok := t.bars[code]; !ok {
		t.bars[code] = detail
	}
}

// statement looks at what a whole statement is, then into it.
func (t *truth) statement(top *pg.Node) {
	node := unwrap(top)
	switch n := node.(type) {
	case *pg.SelectStmt, *pg.InsertStmt, *pg.UpdateStmt, *pg.DeleteStmt, *pg.MergeStmt:
	case *pg.ExplainStmt:
		t.bar(sqlscan.ReasonNotRead, "EXPLAIN")
		t.dormant = !explainRuns(n)
	case *pg.PrepareStmt:
		t.bar(sqlscan.ReasonNotRead, "PREPARE")
		t.dormant = true
	default:
		t.bar(sqlscan.ReasonNotRead, string(top.ProtoReflect().WhichOneof(nodeOneof).Name()))
	}
	t.walk(top.ProtoReflect())
	t.dormant = false
}

func explainRuns(n *pg.ExplainStmt) bool {
	runs := false
	for _, o := range n.Options {
		d := o.GetDefElem()
		if d.GetDefname() != "analyze" && d.GetDefname() != "analyse" {
			continue
		}
		v := d.GetArg()
		off := slices.Contains([]string{"off", "false", "0"}, strings.ToLower(v.GetString_().GetSval())) ||
			v.GetInteger() != nil && v.GetInteger().GetIval() == 0
		runs = !off
	}
	return runs
}

var nodeOneof = (&pg.Node{}).ProtoReflect().Descriptor().Oneofs().Get(0)

// unwrap gives the message that a node holds.
func unwrap(n *pg.Node) any {
	if n == nil {
		return nil
	}
	m := n.ProtoReflect()
	fd := m.WhichOneof(nodeOneof)
	if fd == nil {
		return nil
	}
	return m.Get(fd).Message().Interface()
}

// walk goes through a message and all below it.
func (t *truth) walk(m protoreflect.Message) {
	switch n := m.Interface().(type) {
	case *pg.SelectStmt:
		t.selects(n)
		return
	case *pg.InsertStmt:
		t.write(m, n.WithClause, n.Relation, n.ReturningList)
		return
	case *pg.UpdateStmt:
		t.write(m, n.WithClause, n.Relation, n.ReturningList)
		return
	case *pg.DeleteStmt:
		t.write(m, n.WithClause, n.Relation, n.ReturningList)
		return
	case *pg.MergeStmt:
		t.write(m, n.WithClause, n.Relation, n.ReturningList)
		return
	case *pg.LockingClause:
		if !t.dormant {
			t.bar(sqlscan.ReasonLock, n.Strength.String())
		}
		return // its names are aliases
	case *pg.RangeVar:
		t.relation(n)
	case *pg.IntoClause:
		t.into(n)
		return
	case *pg.TruncateStmt:
		for _, r := range n.Relations {
			t.target(r.GetRangeVar())
		}
		return
	case *pg.RefreshMatViewStmt:
		t.target(n.Relation)
		return
	case *pg.CopyStmt:
		if n.IsFrom && n.Relation != nil {
			t.target(n.Relation)
			n.Relation = nil
		}
	default:
		t.expression(m)
	}
	t.below(m)
}

// below walks what a message holds, but for some fields.
func (t *truth) below(m protoreflect.Message, but ...protoreflect.Name) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind || slices.Contains(but, fd.Name()):
		case fd.IsList():
			for l, i := v.List(), 0; i < l.Len(); i++ {
				t.walk(l.Get(i).Message())
			}
		default:
			t.walk(v.Message())
		}
		return true
	})
}

// columns walks what SELECT or RETURNING gives. A star that stands there by
// itself is no row in an expression.
func (t *truth) columns(l []*pg.Node) {
	t.named(l)
	for _, r := range l {
		if f := r.GetResTarget().GetVal().GetColumnRef().GetFields(); len(f) > 0 && f[len(f)-1].GetAStar() != nil {
			if len(f) > 3 {
				t.bar(sqlscan.ReasonThreePart, "star")
			}
			continue
		}
		t.walk(r.ProtoReflect())
	}
}

// selects looks at a query. The names of its WITH hold in all of it.
func (t *truth) selects(n *pg.SelectStmt) {
	scope := len(t.ctes)
	t.with(n.WithClause)
	t.columns(n.TargetList)
	if n.IntoClause != nil {
		t.bar(sqlscan.ReasonInto, "")
	}
	if len(n.DistinctClause) > 0 || len(n.GroupClause) > 0 {
		t.operators = append(t.operators, "=", "<")
	}
	if n.Op != pg.SetOperation_SETOP_NONE && !n.All {
		t.operators = append(t.operators, "=", "<")
	}
	t.below(n.ProtoReflect(), "with_clause", "target_list")
	t.ctes = t.ctes[:scope]
}

// write looks at INSERT, UPDATE, DELETE and MERGE.
func (t *truth) write(m protoreflect.Message, with *pg.WithClause, rel *pg.RangeVar, returning []*pg.Node) {
	scope := len(t.ctes)
	t.with(with)
	t.target(rel)
	if !t.dormant {
		t.bar(sqlscan.ReasonWrite, string(m.Descriptor().Name()))
	}
	t.columns(returning)
	t.below(m, "with_clause", "relation", "returning_list")
	t.ctes = t.ctes[:scope]
}

// with brings the names of a WITH into scope: all at once if it is recursive,
// else each for what follows it.
func (t *truth) with(w *pg.WithClause) {
	if w == nil {
		return
	}
	if w.Recursive {
		for _, c := range w.Ctes {
			t.ctes = append(t.ctes, c.GetCommonTableExpr().Ctename)
		}
	}
	for _, c := range w.Ctes {
		c := c.GetCommonTableExpr()
		t.aliases = append(t.aliases, c.Ctename)
		t.aliases = append(t.aliases, texts(c.Aliascolnames)...)
		t.walk(c.Ctequery.ProtoReflect())
		if s := c.SearchClause; s != nil {
			t.aliases = append(t.aliases, s.SearchSeqColumn)
		}
		if y := c.CycleClause; y != nil {
			t.aliases = append(t.aliases, y.CycleMarkColumn, y.CyclePathColumn)
			t.below(y.ProtoReflect())
		}
		if !w.Recursive {
			t.ctes = append(t.ctes, c.Ctename)
		}
	}
}

func (t *truth) relation(r *pg.RangeVar) {
	n := sqlscan.Name{Schema: r.Schemaname, Name: r.Relname}
	if r.Catalogname != "" {
		t.bar(sqlscan.ReasonThreePart, r.Catalogname)
	}
	if r.Alias == nil {
		t.entries = append(t.entries, r.Relname)
	}
	if n.Schema == "" && slices.Contains(t.ctes, n.Name) {
		return
	}
	t.relations = append(t.relations, n)
}

func (t *truth) target(r *pg.RangeVar) {
	if r == nil {
		return
	}
	if r.Catalogname != "" {
		t.bar(sqlscan.ReasonThreePart, r.Catalogname)
	}
	if r.Alias != nil {
		t.aliased(r.Alias)
	} else {
		t.entries = append(t.entries, r.Relname)
	}
	if !t.dormant {
		t.targets = append(t.targets, sqlscan.Name{Schema: r.Schemaname, Name: r.Relname})
	}
}

func (t *truth) into(n *pg.IntoClause) {
	if n.Rel.GetRelpersistence() == "t" || strings.HasPrefix(n.Rel.GetSchemaname(), "pg_temp") {
		t.temp = true
	}
}

func (t *truth) aliased(a *pg.Alias) {
	t.aliases = append(t.aliases, a.Aliasname)
	t.aliases = append(t.aliases, texts(a.Colnames)...)
	t.entries = append(t.entries, a.Aliasname)
}

// named notes the labels of a list of targets.
func (t *truth) named(l []*pg.Node) {
	for _, r := range l {
		if name := r.GetResTarget().GetName(); name != "" {
			t.aliases = append(t.aliases, name)
		}
	}
}

// texts gives the strings of a list.
func texts(l []*pg.Node) []string {
	var out []string
	for _, n := range l {
		if s := n.GetString_(); s != nil {
			out = append(out, s.Sval)
		}
	}
	return out
}

// name gives the last two parts of a qualified name.
func name(l []*pg.Node) sqlscan.Name {
	s := texts(l)
	switch len(s) {
	case 0:
		return sqlscan.Name{}
	case 1:
		return sqlscan.Name{Name: s[0]}
	}
	return sqlscan.Name{Schema: s[len(s)-2], Name: s[len(s)-1]}
}
