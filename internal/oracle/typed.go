package oracle

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Typed makes statements that a server takes, over the schema in schema.sql. The
// same seed gives the same statements.
type Typed struct {
	Generator
	scopes [][]column // what can be named, the innermost scope last
	named  int
}

// column is what an expression may name.
type column struct{ entry, name, kind string }

// Kinds of value.
const (
	kindInt  = "int"
	kindText = "text"
	kindNum  = "numeric"
	kindTime = "timestamptz"
	kindDay  = "date"
	kindBool = "bool"
)

var tables = map[string][]column{
	"item": {{"", "id", kindInt}, {"", "name", kindText}, {"", "price", kindNum}, {"", "created_at", kindTime}, {"", "day", kindDay},
		{"", "active", kindBool}},
	`"Order"`: {{"", "id", kindInt}, {"", "item_id", kindInt}, {"", "qty", kindInt}, {"", "note", kindText}, {"", "amount", kindNum},
		{"", "day", kindDay}, {"", "active", kindBool}},
	"event":      {{"", "id", kindInt}, {"", "name", kindText}, {"", "created_at", kindTime}, {"", "active", kindBool}},
	"item_view":  {{"", "id", kindInt}, {"", "name", kindText}, {"", "low", kindText}, {"", "created_at", kindTime}, {"", "active", kindBool}},
	"public.tag": {{"", "id", kindInt}, {"", "name", kindText}, {"", "item_id", kindInt}},
}

// NewTyped makes one.
func NewTyped(seed uint64) *Typed {
	return &Typed{Generator: Generator{r: rand.New(rand.NewPCG(seed, 2))}}
}

// Next gives one statement, without a semicolon.
func (g *Typed) Next() string {
	g.out, g.depth, g.scopes, g.named = g.out[:0], 0, nil, 0
	switch g.r.IntN(10) {
	case 0:
		g.write()
	default:
		g.query(nil)
	}
	return spell(g.r, g.out)
}

func (g *Typed) fresh() string {
	g.named++
	return "x" + strconv.Itoa(g.named)
}

func (g *Typed) kind() string {
	return g.pick(kindInt, kindInt, kindText, kindText, kindNum, kindTime, kindDay, kindBool)
}

// query makes a query of columns of the kinds, any where there are none, and
// gives what its columns are called.
func (g *Typed) query(kinds []string) []column {
	g.depth++
	defer func() { g.depth-- }()
	if kinds == nil {
		for range 1 + g.r.IntN(3) {
			kinds = append(kinds, g.kind())
		}
	}
	var brought []column
	if g.one(7) && g.depth < 3 {
		brought = g.with()
	}
	columns := g.selects(kinds, brought)
	if g.one(8) && g.depth < 3 {
		g.emit(g.pick("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
		g.selects(kinds, brought)
	}
	if g.one(4) {
		g.emit("ORDER", "BY", "1", g.pick("", "DESC", "USING <", "NULLS LAST"))
	}
	if g.one(5) {
		g.emit("LIMIT", g.pick("10", "$1", "ALL"))
	}
	return columns
}

// with makes a common table expression, and gives it as a FROM entry.
func (g *Typed) with() []column {
	name := g.fresh()
	g.emit("WITH", name, "AS", g.pick("", "MATERIALIZED"))
	var columns []column
	g.parens(func() { columns = g.query([]string{kindInt, kindText}) })
	for i := range columns {
		columns[i].entry = name
	}
	return columns
}

func (g *Typed) selects(kinds []string, brought []column) []column {
	g.emit("SELECT")
	grouped := g.one(6)
	if !grouped && g.one(8) {
		g.emit("DISTINCT")
	}
	// What the list may name is known only once FROM is made.
	head := g.out
	g.out = nil
	g.scopes = append(g.scopes, nil)
	g.emit("FROM")
	g.from(brought)
	g.emit("WHERE")
	g.value(kindBool)
	tail := g.out
	g.out = head
	var columns []column
	for i, k := range kinds {
		if i > 0 {
			g.emit(",")
		}
		if grouped {
			g.aggregate(k)
		} else {
			g.value(k)
		}
		name := ""
		if g.one(2) || g.depth > 1 {
			name = g.fresh()
			g.emit(g.pick("AS", ""), name)
		}
		columns = append(columns, column{name: name, kind: k})
	}
	g.out = append(g.out, tail...)
	if grouped && g.one(2) {
		g.emit("HAVING", "count", "(", "*", ")", ">", "1")
	}
	g.scopes = g.scopes[:len(g.scopes)-1]
	return columns
}

// from makes a FROM list, and brings its columns into the innermost scope.
func (g *Typed) from(brought []column) {
	scope := &g.scopes[len(g.scopes)-1]
	for i, n := 0, 1+g.r.IntN(3); i < n; i++ {
		join := false
		if i > 0 {
			join = g.one(2)
			g.emit(map[bool]string{true: g.pick("JOIN", "LEFT JOIN", "FULL JOIN"), false: ","}[join])
		}
		*scope = append(*scope, g.entry(brought)...)
		if join {
			g.emit("ON")
			if kind := g.out[len(g.out)-2]; kind == "FULL" {
				g.emit("true")
			} else {
				g.emit("true")
			}
		}
	}
}

func (g *Typed) entry(brought []column) []column {
	name := g.fresh()
	alias := func(columns []column) []column {
		out := make([]column, len(columns))
		for i, c := range columns {
			out[i] = column{name, c.name, c.kind}
		}
		return out
	}
	switch n := g.r.IntN(12); {
	case n == 0 && g.depth < 3:
		saved := g.scopes
		g.scopes = nil // not lateral
		var columns []column
		g.parens(func() { columns = g.query(nil) })
		g.scopes = saved
		g.emit("AS", name)
		return alias(columns)
	case n == 1:
		g.emit("rows_of", "(", "1", ")", "AS", name)
		return []column{{name, "k", kindInt}, {name, "v", kindText}}
	case n == 2:
		g.emit("(", "VALUES", "(", "1", ",", "'a'", ")", ")", name)
		return []column{{name, "column1", kindInt}, {name, "column2", kindText}}
	case n == 3:
		g.emit("unnest", "(", "ARRAY", "[", "1", "]", ")", "WITH", "ORDINALITY", "AS", name, "(", "n", ",", "o", ")")
		return []column{{name, "n", kindInt}}
	case n == 4:
		g.emit("jsonb_to_record", "(", "'{}'", ")", "AS", name, "(", "a", "int", ",", "b", "text", ")")
		return []column{{name, "a", kindInt}, {name, "b", kindText}}
	case n == 5 && g.one(2):
		// A subquery whose columns the server names.
		saved := g.scopes
		g.scopes = nil
		g.emit("(", "SELECT")
		g.value(g.kind())
		g.emit(",", g.pick("lower('A')", "1::int8", "(id)::text", "CASE WHEN true THEN 1 END", "trim('a')::text", "ARRAY[1]", "EXTRACT(year FROM day)",
			"day AT TIME ZONE 'UTC'", "COALESCE(name, 'x')", "(SELECT count(*) FROM event)", "NULLIF(id, 1)::numeric(3,1)", "EXISTS (SELECT 1)", "current_date",
			"GREATEST(1, 2)", "name COLLATE \"C\"", "(ARRAY[1::int2])[1]", "true::boolean", "ROW(1, 2)", "(sp).note"), "FROM", "item", ")", "AS", name)
		g.scopes = saved
		return nil
	case n == 6 && len(brought) > 0 && brought[0].name != "":
		g.emit(brought[0].entry, name)
		return alias(brought)
	}
	table := g.pick("item", "item", `"Order"`, "event", "item_view", "public.tag")
	columns := tables[table]
	if g.one(4) && !strings.Contains(table, ".") {
		table = "shop . " + table
	}
	for _, t := range strings.Fields(table) {
		g.emit(t)
	}
	g.emit(g.pick("", "AS"), name)
	return alias(columns)
}

// aggregate makes a value of a kind over all rows.
func (g *Typed) aggregate(kind string) {
	switch kind {
	case kindInt:
		g.emit("count", "(", g.pick("*", "DISTINCT 1"), ")")
		if g.one(2) {
			g.emit("FILTER", "(", "WHERE")
			g.value(kindBool)
			g.emit(")")
		}
		g.emit("::", g.pick("int", "int4"))
	case kindText:
		if g.one(2) {
			g.emit("longest", "(")
			g.value(kindText)
			g.emit("ORDER", "BY", "1", ")")
			return
		}
		g.emit("string_agg", "(")
		g.value(kindText)
		g.emit(",", "','", "ORDER", "BY")
		g.value(kindInt)
		g.emit("DESC", ")")
	case kindNum:
		g.emit("sum", "(")
		g.value(kindNum)
		g.emit(")")
	case kindBool:
		g.emit("bool_or", "(")
		g.value(kindBool)
		g.emit(")")
	default:
		g.emit("max", "(")
		g.value(kind)
		g.emit(")")
	}
}

// write makes a statement that writes.
func (g *Typed) write() {
	g.scopes = append(g.scopes, nil)
	scope := &g.scopes[0]
	name := g.fresh()
	for _, c := range tables["item"] {
		*scope = append(*scope, column{name, c.name, c.kind})
	}
	switch g.r.IntN(4) {
	case 0:
		*scope = nil
		g.emit("INSERT", "INTO", g.pick("item", "shop . item"), "AS", name, "(", "id", ",", "name", ")")
		g.query([]string{kindInt, kindText})
		g.emit("ON", "CONFLICT", "(", "id", ")", "DO", "UPDATE", "SET", "name", "=", "EXCLUDED", ".", "name", "||", name, ".", "name")
		return
	case 1:
		g.emit("UPDATE", g.pick("", "ONLY"), "item", g.pick("", "AS"), name, "SET", "name", "=")
		g.value(kindText)
		g.emit("FROM", "event", "e", "WHERE")
		g.value(kindBool)
	case 2:
		g.emit("DELETE", "FROM", "item", name, "USING", `"Order"`, "o", "WHERE")
		g.value(kindBool)
	default:
		g.emit("MERGE", "INTO", "item", "AS", name, "USING", "public.tag", "g", "ON", name, ".", "id", "=", "g", ".", "id", "WHEN", "MATCHED", "AND")
		g.value(kindBool)
		g.emit("THEN", "UPDATE", "SET", "name", "=")
		g.value(kindText)
		g.emit("WHEN", "NOT", "MATCHED", "THEN", "INSERT", "(", "id", ")", "VALUES", "(", "g", ".", "id", ")")
		return
	}
	if g.one(2) {
		g.emit("RETURNING", name, ".", "id")
	}
}
