package oracle

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Generator makes statements of PostgreSQL's grammar: queries and writes with
// every clause, in every spelling. What they name need not exist. The same seed
// gives the same statements.
type Generator struct {
	r     *rand.Rand
	out   []string // tokens
	depth int
}

// NewGenerator makes one.
func NewGenerator(seed uint64) *Generator {
	return &Generator{r: rand.New(rand.NewPCG(seed, 0))}
}

// Next gives one statement.
func (g *Generator) Next() string { return spell(g.r, g.Tokens()) }

// Tokens gives one statement's tokens, for who wants to change them.
func (g *Generator) Tokens() []string {
	g.out, g.depth = g.out[:0], 0
	switch n := g.r.IntN(100); {
	case n < 70:
		g.query()
	case n < 78:
		g.insert()
	case n < 85:
		g.update()
	case n < 91:
		g.delete()
	case n < 95:
		g.merge()
	default:
		g.wrapped()
	}
	if g.one(10) {
		g.emit(";")
	}
	return g.out
}

// emit adds tokens. Several words in one are so many tokens.
func (g *Generator) emit(tokens ...string) {
	for _, t := range tokens {
		if t != "" && isWordByte(t[0]) && strings.IndexByte(t, ' ') > 0 && !isQuoted(t) {
			g.out = append(g.out, strings.Fields(t)...)
		} else if t != "" {
			g.out = append(g.out, t)
		}
	}
}

// one is true once in n times.
func (g *Generator) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *Generator) pick(of ...string) string { return of[g.r.IntN(len(of))] }

// list calls f a few times, with commas between.
func (g *Generator) list(most int, f func()) {
	for i, n := 0, 1+g.r.IntN(most); i < n; i++ {
		if i > 0 {
			g.emit(",")
		}
		f()
	}
}

func (g *Generator) parens(f func()) {
	g.emit("(")
	f()
	g.emit(")")
}

// deep says whether it is time to come to an end.
func (g *Generator) deep() bool { return g.depth > 4 || len(g.out) > 100 }

func (g *Generator) wrapped() {
	switch g.r.IntN(5) {
	case 0:
		g.emit("EXPLAIN")
		if g.one(2) {
			g.emit("ANALYZE")
		}
	case 1:
		g.emit("EXPLAIN", "(", g.pick("ANALYZE", "VERBOSE", "COSTS off", "ANALYZE false", "\"analyze\"", "ANALYZE on"), ",", "BUFFERS", ")")
	case 2:
		g.emit("DECLARE", g.ident(), "CURSOR")
		if g.one(2) {
			g.emit("WITH", "HOLD")
		}
		g.emit("FOR")
		g.query()
		return
	case 3:
		g.emit("CREATE", g.pick("TABLE", "TEMP TABLE", "VIEW", "MATERIALIZED VIEW"))
		g.relation()
		g.emit("AS")
		g.query()
		return
	case 4:
		g.emit("COPY")
		g.parens(g.query)
		g.emit("TO", "STDOUT")
		return
	}
	switch g.r.IntN(3) {
	case 0:
		g.update()
	case 1:
		g.insert()
	default:
		g.query()
	}
}

// query makes a query with what stands before and after it.
func (g *Generator) query() {
	g.depth++
	defer func() { g.depth-- }()
	if g.one(8) && !g.deep() {
		g.with()
	}
	if g.one(12) && !g.deep() {
		g.parens(g.query)
	} else {
		g.selectPart()
	}
	for g.one(8) && !g.deep() {
		g.emit(g.pick("UNION", "INTERSECT", "EXCEPT", "UNION ALL", "EXCEPT ALL", "UNION DISTINCT"))
		if g.one(3) {
			g.parens(g.query)
		} else {
			g.selectPart()
		}
	}
	if g.one(4) {
		g.orderBy()
	}
	g.limits()
	if g.one(25) {
		g.emit("FOR", g.pick("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE", "READ ONLY"))
		if g.one(3) && g.out[len(g.out)-1] != "ONLY" {
			g.emit("OF", g.ident())
		}
		if g.one(3) && g.out[len(g.out)-1] != "ONLY" {
			g.emit(g.pick("NOWAIT", "SKIP LOCKED"))
		}
	}
}

func (g *Generator) limits() {
	switch g.r.IntN(14) {
	case 0:
		g.emit("LIMIT")
		g.expr()
	case 1:
		g.emit("LIMIT", "ALL", "OFFSET", "3", g.pick("ROW", "ROWS"))
	case 2:
		g.emit("OFFSET")
		g.expr()
	case 3:
		g.emit("FETCH", g.pick("FIRST", "NEXT"), g.pick("", "5", "$1", "(a + 1)"), g.pick("ROW", "ROWS"), g.pick("ONLY", "WITH TIES"))
	case 4:
		g.emit("OFFSET", "1", "LIMIT", "2")
	}
}

func (g *Generator) selectPart() {
	switch n := g.r.IntN(30); {
	case n == 0:
		g.emit("TABLE")
		g.relationOnly()
		return
	case n == 1:
		g.emit("VALUES")
		g.list(3, func() { g.parens(func() { g.exprs(3) }) })
		return
	}
	g.emit("SELECT")
	switch g.r.IntN(12) {
	case 0:
		g.emit("DISTINCT")
	case 1:
		g.emit("DISTINCT", "ON")
		g.parens(func() { g.exprs(2) })
	case 2:
		g.emit("ALL")
	}
	if !g.one(40) {
		g.targets()
	}
	if g.one(60) {
		g.emit("INTO", g.pick("", "TEMP", "UNLOGGED", "TABLE", "LOCAL TEMPORARY TABLE"))
		g.relation()
	}
	if !g.one(10) {
		g.emit("FROM")
		g.list(3, g.fromItem)
	}
	if g.one(2) {
		g.emit("WHERE")
		g.expr()
	}
	if g.one(7) {
		g.groupBy()
	}
	if g.one(10) {
		g.emit("HAVING")
		g.expr()
	}
	if g.one(20) {
		g.emit("WINDOW")
		g.list(2, func() { g.emit(g.ident(), "AS"); g.window() })
	}
}

func (g *Generator) targets() {
	g.list(4, func() {
		switch g.r.IntN(10) {
		case 0:
			g.emit("*")
			return
		case 1:
			g.emit(g.ident(), ".", "*")
			return
		}
		g.expr()
		switch g.r.IntN(4) {
		case 0:
			g.emit("AS", g.label())
		case 1:
			g.emit(g.bareLabel())
		}
	})
}

func (g *Generator) groupBy() {
	g.emit("GROUP", "BY")
	if g.one(8) {
		g.emit(g.pick("DISTINCT", "ALL"))
	}
	g.list(3, func() {
		switch g.r.IntN(8) {
		case 0:
			g.emit(g.pick("ROLLUP", "CUBE"))
			g.parens(func() { g.exprs(3) })
		case 1:
			g.emit("GROUPING", "SETS", "(", "(")
			g.exprs(2)
			g.emit(")", ",", "(", ")", ",", "ROLLUP", "(")
			g.exprs(2)
			g.emit(")", ")")
		default:
			g.expr()
		}
	})
}

func (g *Generator) orderBy() {
	g.emit("ORDER", "BY")
	g.list(3, func() {
		g.expr()
		g.emit(g.pick("", "ASC", "DESC", "", "USING <", "USING OPERATOR(pg_catalog.>)"))
		if g.one(4) {
			g.emit("NULLS", g.pick("FIRST", "LAST"))
		}
	})
}

func (g *Generator) window() {
	g.parens(func() {
		if g.one(6) {
			g.emit(g.ident())
		}
		if g.one(2) {
			g.emit("PARTITION", "BY")
			g.exprs(2)
		}
		if g.one(2) {
			g.orderBy()
		}
		bound := func() {
			g.emit(g.pick("UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING", "1 PRECEDING", "b FOLLOWING"))
		}
		if g.one(4) {
			g.emit(g.pick("ROWS", "RANGE", "GROUPS"))
			if g.one(2) {
				g.emit("BETWEEN")
				bound()
				g.emit("AND")
			}
			bound()
			if g.one(3) {
				g.emit("EXCLUDE", g.pick("CURRENT ROW", "GROUP", "TIES", "NO OTHERS"))
			}
		}
	})
}

func (g *Generator) with() {
	g.emit("WITH")
	recursive := g.one(3)
	if recursive {
		g.emit("RECURSIVE")
	}
	g.list(3, func() {
		g.emit(g.ident())
		g.columnList(3)
		g.emit("AS", g.pick("", "", "MATERIALIZED", "NOT MATERIALIZED"))
		g.parens(func() {
			g.depth++
			switch g.r.IntN(14) {
			case 0:
				g.insert()
			case 1:
				g.update()
			case 2:
				g.delete()
			default:
				g.query()
			}
			g.depth--
		})
		if recursive && g.one(3) {
			g.emit("SEARCH", g.pick("DEPTH", "BREADTH"), "FIRST", "BY", g.ident(), ",", g.ident(), "SET", g.ident())
		}
		if recursive && g.one(3) {
			g.emit("CYCLE", g.ident(), "SET", g.ident())
			if g.one(2) {
				g.emit("TO", g.pick("'x'", "1", "true"), "DEFAULT", g.pick("'y'", "0", "false"))
			}
			g.emit("USING", g.ident())
		}
	})
}

// columnList makes (a, b), once in n times.
func (g *Generator) columnList(n int) {
	if g.one(n) {
		g.parens(func() { g.list(3, func() { g.emit(g.ident()) }) })
	}
}

func (g *Generator) number() string {
	return g.pick("1", "0", "42", "1.5", ".5", "1e3", "2.", "1_000", "0x1f", "0b101", strconv.Itoa(g.r.IntN(1000)))
}
