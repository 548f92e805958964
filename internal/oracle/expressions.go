package oracle

import (
	"regexp"
	"slices"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var systemColumns = []string{"xmin", "xmax", "cmin", "cmax", "ctid", "tableoid"}

// expression looks at one node of an expression, a FROM list or a definition.
func (t *truth) expression(m protoreflect.Message) {
	switch n := m.Interface().(type) {
	case *pg.ColumnRef:
		t.column(n)
	case *pg.A_Indirection:
		for _, i := range n.Indirection {
			if s := i.GetString_(); s != nil {
				t.attributes = append(t.attributes, s.Sval)
				if slices.Contains(systemColumns, s.Sval) {
					t.bar(sqlscan.ReasonSystemColumn, s.Sval)
				}
			}
			if i.GetAStar() != nil {
				t.stars = true
			}
		}
	case *pg.FuncCall:
		t.call(n)
	case *pg.A_Expr:
		t.operator(n)
	case *pg.TypeCast:
		t.casts = append(t.casts, castOf(n))
	case *pg.TypeName:
		t.types = append(t.types, name(n.Names))
		if len(n.Names) > 2 {
			t.bar(sqlscan.ReasonThreePart, "type")
		}
	case *pg.A_Const:
		if s := n.GetSval(); s != nil && dateWords.MatchString(s.Sval) {
			t.bar(sqlscan.ReasonDateWord, s.Sval)
		}
	case *pg.SQLValueFunction:
		code := sqlscan.ReasonIdentity
		if n.Op <= pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N {
			code = sqlscan.ReasonClock
		}
		t.bar(code, n.Op.String())
	case *pg.RangeTableSample:
		t.bar(sqlscan.ReasonTableSample, "")
	case *pg.SortBy:
		t.sort(n)
	case *pg.SubLink:
		if n.Testexpr != nil {
			t.op(lastOr(n.OperName, "="))
		}
	case *pg.CaseExpr:
		if n.Arg != nil {
			t.op("=")
		}
	case *pg.WindowDef:
		if len(n.PartitionClause) > 0 {
			t.op("=", "<")
		}
	default:
		t.definition(m)
	}
}

// definition looks at what defines columns and tables, and at constructors.
func (t *truth) definition(m protoreflect.Message) {
	construct := func(name string) {
		t.functions = append(t.functions, sqlscan.Call{Name: sqlscan.Name{Schema: "pg_catalog", Name: name}, Args: -2})
	}
	switch n := m.Interface().(type) {
	case *pg.Alias:
		t.aliased(n)
	case *pg.JoinExpr:
		if n.IsNatural || len(n.UsingClause) > 0 {
			t.op("=")
		}
	case *pg.ColumnDef:
		t.aliases = append(t.aliases, n.Colname)
	case *pg.RangeTableFuncCol:
		t.aliases = append(t.aliases, n.Colname)
	case *pg.RangeTableFunc:
		construct("XMLTABLE")
	case *pg.JsonTable:
		construct("JSON_TABLE")
	case *pg.JsonTableColumn:
		if n.Name != "" {
			t.aliases = append(t.aliases, n.Name)
		}
	case *pg.JsonTablePathSpec:
		if n.Name != "" {
			t.aliases = append(t.aliases, n.Name)
		}
	case *pg.JsonArgument:
		t.aliases = append(t.aliases, n.Name)
	case *pg.CoalesceExpr:
		construct("COALESCE")
	case *pg.MinMaxExpr:
		construct(minMax(n))
		t.op("<")
	case *pg.GroupingFunc:
		construct("GROUPING")
	case *pg.MergeSupportFunc:
		construct("MERGE_ACTION")
	case *pg.XmlSerialize:
		construct("XMLSERIALIZE")
	case *pg.XmlExpr:
		t.named(n.NamedArgs)
		if n.Op != pg.XmlExprOp_IS_DOCUMENT {
			construct(n.Op.String()[len("IS_"):])
		}
	case *pg.JsonIsPredicate:
		construct("IS JSON")
	case *pg.JsonParseExpr:
		construct("JSON")
	case *pg.JsonScalarExpr:
		construct("JSON_SCALAR")
	case *pg.JsonSerializeExpr:
		construct("JSON_SERIALIZE")
	case *pg.JsonObjectConstructor:
		construct("JSON_OBJECT")
	case *pg.JsonArrayConstructor, *pg.JsonArrayQueryConstructor:
		construct("JSON_ARRAY")
	case *pg.JsonObjectAgg:
		construct("JSON_OBJECTAGG")
	case *pg.JsonArrayAgg:
		construct("JSON_ARRAYAGG")
	case *pg.JsonFuncExpr:
		construct(map[pg.JsonExprOp]string{
			pg.JsonExprOp_JSON_EXISTS_OP: "JSON_EXISTS", pg.JsonExprOp_JSON_QUERY_OP: "JSON_QUERY",
			pg.JsonExprOp_JSON_VALUE_OP: "JSON_VALUE",
		}[n.Op])
	case *pg.CreateStmt:
		t.temp = t.temp || n.Relation.GetRelpersistence() == "t"
	case *pg.ViewStmt:
		t.temp = t.temp || n.View.GetRelpersistence() == "t"
	}
}

// dateWords finds them as sqlscan's promise has it: as words of their own.
var dateWords = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:n["\\]*o["\\]*w|t["\\]*o["\\]*d["\\]*a["\\]*y|t["\\]*o["\\]*m["\\]*o["\\]*r["\\]*r["\\]*o["\\]*w|y["\\]*e["\\]*s["\\]*t["\\]*e["\\]*r["\\]*d["\\]*a["\\]*y)(?:$|[^a-z])`)

func (t *truth) op(names ...string) { t.operators = append(t.operators, names...) }

func minMax(n *pg.MinMaxExpr) string {
	if n.Op == pg.MinMaxOp_IS_GREATEST {
		return "GREATEST"
	}
	return "LEAST"
}

func lastOr(l []*pg.Node, otherwise string) string {
	if s := texts(l); len(s) > 0 {
		return s[len(s)-1]
	}
	return otherwise
}

// column looks at a, a.b and t.*.
func (t *truth) column(n *pg.ColumnRef) {
	parts := texts(n.Fields)
	for _, p := range parts[:] {
		if slices.Contains(systemColumns, p) {
			t.bar(sqlscan.ReasonSystemColumn, p)
		}
	}
	star := n.Fields[len(n.Fields)-1].GetAStar() != nil
	switch {
	case star:
		t.stars = t.stars || len(parts) > 0
	case len(parts) == 1:
		t.bare = append(t.bare, parts[0])
	default:
		t.attributes = append(t.attributes, parts[len(parts)-1])
	}
	if len(n.Fields) > 3 {
		t.bar(sqlscan.ReasonThreePart, parts[0])
	}
}

func (t *truth) call(n *pg.FuncCall) {
	c := sqlscan.Call{Name: name(n.Funcname), Args: len(n.Args)}
	if c.Name.Schema == "pg_catalog" && c.Name.Name == "system_user" && n.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX {
		t.bar(sqlscan.ReasonIdentity, "system_user")
		return
	}
	if len(n.Funcname) > 2 {
		t.bar(sqlscan.ReasonThreePart, c.Name.String())
	}
	if n.FuncVariadic {
		c.Args = -1
	}
	if n.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX {
		c.Args = -2 // whatever the scanner says
	}
	if n.AggDistinct {
		t.op("=", "<")
	}
	t.functions = append(t.functions, c)
	if c.Args == 1 && castsByCall[c.Name.Name] && (c.Schema == "" || c.Schema == "pg_catalog") {
		t.casts = append(t.casts, castTo(c.Name, n.Args[0]))
	}
}

// castsByCall are the types that a call by their name may convert to.
var castsByCall = map[string]bool{
	"date": true, "time": true, "timetz": true, "timestamp": true, "timestamptz": true,
	"daterange": true, "tsrange": true, "tstzrange": true, "datemultirange": true, "tsmultirange": true, "tstzmultirange": true,
}

func (t *truth) sort(n *pg.SortBy) {
	switch n.SortbyDir {
	case pg.SortByDir_SORTBY_USING:
		t.op(lastOr(n.UseOp, "?"))
	case pg.SortByDir_SORTBY_DESC:
		t.op(">", "=")
	default:
		t.op("<", "=")
	}
}

func (t *truth) operator(n *pg.A_Expr) {
	op := lastOr(n.Name, "?")
	switch n.Kind {
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		op = "="
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		op = "="
		t.functions = append(t.functions, sqlscan.Call{Name: sqlscan.Name{Schema: "pg_catalog", Name: "NULLIF"}, Args: 2})
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		t.op(">=", "<=")
		return
	case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		t.op("<", ">")
		return
	}
	t.op(op)
}

// castOf gives a cast as the scanner should have it, at its most precise.
func castOf(n *pg.TypeCast) sqlscan.Cast { return castTo(name(n.TypeName.Names), n.Arg) }

func castTo(to sqlscan.Name, over *pg.Node) sqlscan.Cast {
	c := sqlscan.Cast{Type: to}
	call := func(name string) { c.Over, c.Of = sqlscan.OperandCall, sqlscan.Name{Schema: "pg_catalog", Name: name} }
	switch arg := unwrap(over).(type) {
	case *pg.NamedArgExpr:
		return castTo(to, arg.Arg)
	case *pg.A_Const:
		c.Over = sqlscan.OperandLiteral
	case *pg.ParamRef:
		c.Over = sqlscan.OperandParam
	case *pg.TypeCast:
		c.Over, c.Of = sqlscan.OperandCast, name(arg.TypeName.Names)
	case *pg.ColumnRef:
		if len(texts(arg.Fields)) == len(arg.Fields) {
			c.Over, c.Of = sqlscan.OperandColumn, name(arg.Fields)
		}
	case *pg.FuncCall:
		c.Over, c.Of = sqlscan.OperandCall, name(arg.Funcname)
	case *pg.CoalesceExpr:
		call("COALESCE")
	case *pg.MinMaxExpr:
		call(minMax(arg))
	case *pg.GroupingFunc:
		call("GROUPING")
	case *pg.MergeSupportFunc:
		call("MERGE_ACTION")
	case *pg.A_Expr:
		if arg.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			call("NULLIF")
		}
	}
	return c
}
