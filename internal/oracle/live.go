package oracle

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed schema.sql
var schema string

// Live holds the scanner against the tree that a server makes of a statement:
// it creates an SQL-standard function around the statement, reads what the
// server keeps of it, and rolls back. Nothing is run. It is not for concurrent
// use.
type Live struct {
	pc        *pgconn.PgConn
	relations map[string]sqlscan.Name // by OID
	functions map[string]string
	operators map[string]string
	types     map[string]string // arrays under the name of their elements
}

// Connect makes the schema that Typed's statements are over, in a database that
// is the caller's to give away.
func Connect(ctx context.Context, dsn string) (*Live, error) {
	pc, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	l := &Live{pc: pc}
	if err := l.prepare(ctx); err != nil {
		return nil, errors.Join(err, pc.Close(ctx))
	}
	return l, nil
}

// Close ends the connection.
func (l *Live) Close(ctx context.Context) error { return l.pc.Close(ctx) }

func (l *Live) prepare(ctx context.Context) error {
	if _, err := l.pc.Exec(ctx, schema).ReadAll(); err != nil {
		return err
	}
	var err error
	catalog := func(sql string) map[string]string {
		m := map[string]string{}
		if err != nil {
			return m
		}
		var results []*pgconn.Result
		if results, err = l.pc.Exec(ctx, sql).ReadAll(); err == nil {
			for _, row := range results[0].Rows {
				m[string(row[0])] = string(row[1])
			}
		}
		return m
	}
	l.functions = catalog("SELECT oid, proname FROM pg_proc")
	l.operators = catalog("SELECT oid, oprname FROM pg_operator")
	l.types = catalog("SELECT t.oid, coalesce(e.typname, t.typname) FROM pg_type t LEFT JOIN pg_type e ON t.typcategory = 'A' AND e.oid = t.typelem")
	l.relations = map[string]sqlscan.Name{}
	for oid, name := range catalog("SELECT c.oid, nspname || '.' || relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname IN ('shop', 'public')") {
		schema, name, _ := strings.Cut(name, ".")
		l.relations[oid] = sqlscan.Name{Schema: schema, Name: name}
	}
	return err
}

// errRefused is a statement that the server doesn't take.
var errRefused = errors.New("oracle: the server refuses the statement")

// tree gives what the server makes of a statement.
func (l *Live) tree(ctx context.Context, text string) (any, error) {
	sql := "BEGIN; CREATE FUNCTION pg_temp.held(int, text, timestamptz) RETURNS void BEGIN ATOMIC " + text +
		"\n; END; SELECT prosqlbody FROM pg_catalog.pg_proc WHERE proname = 'held' AND pronamespace = pg_catalog.pg_my_temp_schema(); ROLLBACK"
	results, err := l.pc.Exec(ctx, sql).ReadAll()
	if err != nil {
		var refused *pgconn.PgError
		if !errors.As(err, &refused) {
			return nil, err
		}
		if _, err := l.pc.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", errRefused, refused.Message)
	}
	for _, r := range results {
		if len(r.Rows) == 1 {
			return parseTree(string(r.Rows[0][0]))
		}
	}
	return nil, errors.New("oracle: no function was made")
}

// Compare holds the scanner's view of a statement against the server's. The
// error is errRefused where the server has no view of it.
func (l *Live) Compare(ctx context.Context, text string) (Outcome, error) {
	o := Compare(text)
	tree, err := l.tree(ctx, text)
	if err != nil {
		return o, err
	}
	st := sqlscan.Scan(text)
	if st.Class == sqlscan.ClassUnknown {
		return o, nil
	}
	walk(tree, func(n *node) { l.node(&o, st, n) })
	return o, nil
}

// node holds one node of the tree against the names that the scanner found.
func (l *Live) node(o *Outcome, st *sqlscan.Statement, n *node) {
	switch n.label {
	case "QUERY":
		if n.word("hasForUpdate") == "true" && st.Class == sqlscan.ClassRead {
			o.fault("live: a lock is not seen")
		}
		if n.word("commandType") != "1" && st.Class != sqlscan.ClassWrite {
			o.fault("live: command %s is %v", n.word("commandType"), st.Class)
		}
	case "RANGETBLENTRY":
		l.entry(o, st, n)
	case "FUNCEXPR":
		l.funcexpr(o, st, n)
	case "AGGREF":
		l.called(o, st, n.word("aggfnoid"))
	case "WINDOWFUNC":
		l.called(o, st, n.word("winfnoid"))
	case "OPEXPR", "DISTINCTEXPR", "NULLIFEXPR", "SCALARARRAYOPEXPR":
		l.operated(o, st, n.word("opno"))
	case "SORTGROUPCLAUSE":
		l.operated(o, st, n.word("eqop"))
		l.operated(o, st, n.word("sortop"))
	case "ROWCOMPAREEXPR":
		for _, v := range n.fields["opnos"] {
			for _, oid := range strings.Fields(strings.Trim(fmt.Sprint(v), "[]o ")) {
				l.operated(o, st, oid)
			}
		}
	case "RELABELTYPE":
		l.cast(o, st, n.word("relabelformat"), n.word("resulttype"))
	case "COERCEVIAIO", "ARRAYCOERCEEXPR":
		l.cast(o, st, n.word("coerceformat"), n.word("resulttype"))
	case "COERCETODOMAIN":
		l.cast(o, st, n.word("coercionformat"), n.word("resulttype"))
	}
}

// How the server says that a function or a cast came about.
const (
	explicitCall = "0"
	explicitCast = "1"
	sqlSyntax    = "3"
)

func (l *Live) funcexpr(o *Outcome, st *sqlscan.Statement, n *node) {
	switch n.word("funcformat") {
	case explicitCall, sqlSyntax:
		l.called(o, st, n.word("funcid"))
	case explicitCast:
		l.cast(o, st, explicitCast, n.word("funcresulttype"))
	}
}

func (l *Live) called(o *Outcome, st *sqlscan.Statement, oid string) {
	name := l.functions[oid]
	if !slices.ContainsFunc(st.Functions, func(c sqlscan.Call) bool { return c.Name.Name == name }) && !slices.Contains(st.Attributes, name) {
		o.fault("live: function %s (%s) is missing among %v %v", name, oid, st.Functions, st.Attributes)
	}
}

func (l *Live) operated(o *Outcome, st *sqlscan.Statement, oid string) {
	if oid == "" || oid == "0" {
		return
	}
	if name := l.operators[oid]; !slices.Contains(st.Operators, name) {
		o.fault("live: operator %s (%s) is missing among %v", name, oid, st.Operators)
	}
}

func (l *Live) cast(o *Outcome, st *sqlscan.Statement, format, oid string) {
	if format != explicitCast {
		return
	}
	name := l.types[oid]
	if !slices.ContainsFunc(st.Casts, func(c sqlscan.Cast) bool { return c.Type.Name == name }) {
		o.fault("live: a cast to %s (%s) is missing among %v", name, oid, st.Casts)
	}
}

// What a range table entry is.
const (
	entryRelation = "0"
	entrySubquery = "1"
	entryValues   = "5"
)

func (l *Live) entry(o *Outcome, st *sqlscan.Statement, n *node) {
	switch n.word("rtekind") {
	case entryRelation:
		name, ok := l.relations[n.word("relid")]
		if !ok {
			return // a catalog's
		}
		named := func(n sqlscan.Name) bool { return n.Name == name.Name && (n.Schema == "" || n.Schema == name.Schema) }
		if !slices.ContainsFunc(st.Relations, named) && !slices.ContainsFunc(st.Targets, named) {
			o.fault("live: relation %v is missing among %v %v", name, st.Relations, st.Targets)
		}
	case entrySubquery:
		eref, q := n.child("eref"), n.child("subquery")
		if eref == nil || q == nil || strings.HasPrefix(fmt.Sprint(eref.fields["aliasname"]), `["*SELECT*`) ||
			strings.HasPrefix(fmt.Sprint(eref.fields["aliasname"]), "[*SELECT*") {
			return // a part of a UNION
		}
		o.columns(st, q)
	case entryValues:
		if eref := n.child("eref"); eref != nil {
			for _, v := range eref.fields["colnames"] {
				o.colnames(st, v)
			}
		}
	}
}

func (o *Outcome) colnames(st *sqlscan.Statement, v any) {
	list, _ := v.([]any)
	for _, e := range list {
		name, err := strconv.Unquote(fmt.Sprint(e))
		if err != nil {
			continue
		}
		if !slices.Contains(st.Aliases, name) {
			o.fault("live: a column of VALUES is named %q, not among %q", name, st.Aliases)
		}
	}
}

// columns holds that a subquery's column that is no other column has a name that
// the scanner knows.
func (o *Outcome) columns(st *sqlscan.Statement, query *node) {
	list, _ := query.fields["targetList"][0].([]any)
	for _, e := range list {
		entry, ok := e.(*node)
		if !ok || entry.word("resjunk") == "true" {
			continue
		}
		if x := entry.child("expr"); x == nil || x.label == "VAR" {
			continue
		}
		name := strings.ReplaceAll(strings.Trim(entry.word("resname"), `"`), `\`, "")
		if name != "" && name != "?column?" && !slices.Contains(st.Aliases, name) {
			o.fault("live: a subquery's column is named %q, not among %q", name, st.Aliases)
		}
	}
}
