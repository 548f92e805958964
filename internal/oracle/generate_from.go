package oracle

// FROM lists, and writes.

func (g *Generator) relation() {
	if g.one(3) {
		g.emit(g.ident(), ".")
	}
	g.emit(g.ident())
}

func (g *Generator) relationOnly() {
	switch g.r.IntN(8) {
	case 0:
		g.emit("ONLY")
		g.relation()
	case 1:
		g.emit("ONLY")
		g.parens(g.relation)
	case 2:
		g.relation()
		g.emit("*")
	default:
		g.relation()
	}
}

// alias makes one, most of the time or always.
func (g *Generator) alias() {
	if g.one(3) {
		return
	}
	if g.one(2) {
		g.emit("AS")
	}
	g.emit(g.ident())
	g.columnList(5)
}

func (g *Generator) fromItem() {
	g.depth++
	defer func() { g.depth-- }()
	g.fromEntry()
	for g.one(4) && !g.deep() {
		switch g.r.IntN(5) {
		case 0:
			g.emit("CROSS", "JOIN")
			g.fromEntry()
		case 1:
			g.emit("NATURAL", g.pick("", "LEFT", "FULL OUTER"), "JOIN")
			g.fromEntry()
		case 2:
			g.emit(g.pick("", "INNER", "LEFT", "RIGHT OUTER"), "JOIN")
			g.fromEntry()
			g.emit("USING", "(", g.ident(), ",", g.ident(), ")")
			if g.one(3) {
				g.emit("AS", g.ident())
			}
		case 3:
			g.emit("JOIN")
			g.fromEntry()
			g.emit("JOIN")
			g.fromEntry()
			g.emit("ON")
			g.expr()
			g.emit("ON")
			g.expr()
		default:
			g.emit(g.pick("", "INNER", "LEFT", "RIGHT", "FULL"), "JOIN")
			g.fromEntry()
			g.emit("ON")
			g.expr()
		}
	}
}

func (g *Generator) fromEntry() {
	n := g.r.IntN(24)
	if g.deep() {
		n = 23
	}
	switch n {
	case 0, 1:
		g.parens(g.query)
		g.alias()
	case 2:
		g.emit("LATERAL")
		g.parens(g.query)
		g.alias()
	case 3:
		g.parens(func() {
			g.fromEntry()
			g.emit("CROSS", "JOIN")
			g.fromEntry()
		})
		g.alias()
	case 4:
		g.functionCall()
		g.emit(g.pick("", "WITH ORDINALITY"))
		g.alias()
	case 5:
		g.emit(g.pick("", "LATERAL"))
		g.functionCall()
		g.emit(g.pick("AS", "AS "+g.ident(), g.ident()))
		g.parens(g.columnDefinitions)
	case 6:
		g.emit("ROWS", "FROM", "(")
		g.list(2, func() {
			g.functionCall()
			if g.one(3) {
				g.emit("AS")
				g.parens(g.columnDefinitions)
			}
		})
		g.emit(")", g.pick("", "WITH ORDINALITY"))
		g.alias()
	case 7:
		g.xmlTable()
		g.alias()
	case 8:
		g.jsonTable()
		g.alias()
	case 9:
		g.relationOnly()
		g.alias()
		g.emit("TABLESAMPLE", g.pick("system", "bernoulli", "s.mine"))
		g.parens(func() { g.exprs(2) })
		if g.one(2) {
			g.emit("REPEATABLE", "(", "7", ")")
		}
	case 10:
		g.emit(g.pick("current_date", "COALESCE(a, b)", "current_schema", "localtime(2)", "CAST(a AS int)", "session_user"))
		g.alias()
	default:
		g.relationOnly()
		g.alias()
	}
}

func (g *Generator) columnDefinitions() {
	g.list(3, func() {
		g.emit(g.ident())
		g.typeName()
		if g.one(6) {
			g.emit("COLLATE", `"C"`)
		}
	})
}

func (g *Generator) xmlTable() {
	g.emit("XMLTABLE", "(")
	if g.one(3) {
		g.emit("XMLNAMESPACES", "(", "'http://x'", "AS", g.ident(), ")", ",")
	}
	g.literal()
	g.emit("PASSING", g.pick("", "BY REF", "BY VALUE"))
	g.simple()
	g.emit("COLUMNS")
	g.list(3, func() {
		g.emit(g.ident())
		if g.one(4) {
			g.emit("FOR", "ORDINALITY")
			return
		}
		g.typeName()
		if g.one(2) {
			g.emit("PATH", "'a'")
		}
		if g.one(3) {
			g.emit("DEFAULT")
			g.simple()
		}
		if g.one(3) {
			g.emit(g.pick("NOT NULL", "NULL"))
		}
	})
	g.emit(")")
}

func (g *Generator) jsonTable() {
	g.emit("JSON_TABLE", "(")
	g.simple()
	g.emit(g.pick("", "FORMAT JSON"), ",", "'$'")
	if g.one(3) {
		g.emit("AS", g.ident())
	}
	if g.one(3) {
		g.emit("PASSING")
		g.list(2, func() { g.simple(); g.emit("AS", g.label()) })
	}
	g.jsonColumns()
	g.emit(g.pick("", "ERROR ON ERROR", "EMPTY ON ERROR"), ")")
}

func (g *Generator) jsonColumns() {
	g.emit("COLUMNS", "(")
	g.list(3, func() {
		switch g.r.IntN(6) {
		case 0:
			g.emit(g.ident(), "FOR", "ORDINALITY")
		case 1:
			g.emit("NESTED", g.pick("", "PATH"), "'$.x'")
			if g.one(2) {
				g.emit("AS", g.ident())
			}
			g.depth++
			if g.deep() {
				g.emit("COLUMNS", "(", "a", "int", ")")
			} else {
				g.jsonColumns()
			}
			g.depth--
		case 2:
			g.emit(g.ident())
			g.typeName()
			g.emit("EXISTS", g.pick("", "PATH '$.e'"), g.pick("", "ERROR ON ERROR"))
		default:
			g.emit(g.ident())
			g.typeName()
			g.emit(g.pick("", "FORMAT JSON"), g.pick("", "PATH '$.p'"), g.pick("", "WITH WRAPPER", "WITHOUT ARRAY WRAPPER", "WITH CONDITIONAL ARRAY WRAPPER"),
				g.pick("", "KEEP QUOTES", "OMIT QUOTES ON SCALAR STRING"), g.pick("", "NULL ON EMPTY", "DEFAULT 1 ON EMPTY"), g.pick("", "ERROR ON ERROR"))
		}
	})
	g.emit(")")
}

func (g *Generator) writeWith() {
	g.depth++
	if g.one(8) && !g.deep() {
		g.with()
	}
}

func (g *Generator) returning() {
	g.depth--
	if g.one(3) {
		g.emit("RETURNING")
		g.targets()
	}
}

func (g *Generator) insert() {
	g.writeWith()
	g.emit("INSERT", "INTO")
	g.relation()
	if g.one(3) {
		g.emit("AS", g.ident())
	}
	if g.one(2) {
		g.parens(func() { g.list(3, func() { g.emit(g.ident(), g.pick("", "", ".b", "[1]", "[1:2].c")) }) })
	}
	if g.one(8) {
		g.emit("OVERRIDING", g.pick("USER", "SYSTEM"), "VALUE")
	}
	if g.one(8) {
		g.emit("DEFAULT", "VALUES")
	} else {
		g.query()
	}
	if g.one(4) {
		g.emit("ON", "CONFLICT")
		switch g.r.IntN(3) {
		case 0:
			g.emit("ON", "CONSTRAINT", g.ident())
		case 1:
			g.emit("(", g.ident(), g.pick("", `COLLATE "C"`, "text_ops"), ",", "(", "lower", "(", g.ident(), ")", ")", ")")
			if g.one(2) {
				g.emit("WHERE")
				g.expr()
			}
		default:
			g.emit("(", g.ident(), ")")
		}
		g.emit("DO")
		if g.one(2) {
			g.emit("NOTHING")
		} else {
			g.emit("UPDATE", "SET")
			g.setList()
			g.where()
		}
	}
	g.returning()
}

func (g *Generator) where() {
	if g.one(2) {
		g.emit("WHERE")
		g.expr()
	}
}

func (g *Generator) setList() {
	g.list(3, func() {
		switch g.r.IntN(4) {
		case 0:
			g.emit("(", g.ident(), ",", g.ident(), ")", "=")
			if g.one(2) {
				g.parens(g.query)
			} else {
				g.emit(g.pick("", "ROW"), "(")
				g.exprs(2)
				g.emit(")")
			}
		default:
			g.emit(g.ident(), g.pick("", "", "[1]", ".x"), "=")
			if g.one(8) {
				g.emit("DEFAULT")
			} else {
				g.expr()
			}
		}
	})
}

func (g *Generator) target() {
	g.relationOnly()
	if g.one(2) {
		g.emit(g.pick("", "AS"), g.ident())
	}
}

func (g *Generator) update() {
	g.writeWith()
	g.emit("UPDATE")
	g.target()
	g.emit("SET")
	g.setList()
	if g.one(3) {
		g.emit("FROM")
		g.list(2, g.fromItem)
	}
	if g.one(10) {
		g.emit("WHERE", "CURRENT", "OF", g.ident())
	} else {
		g.where()
	}
	g.returning()
}

func (g *Generator) delete() {
	g.writeWith()
	g.emit("DELETE", "FROM")
	g.target()
	if g.one(3) {
		g.emit("USING")
		g.list(2, g.fromItem)
	}
	g.where()
	g.returning()
}

func (g *Generator) merge() {
	g.writeWith()
	g.emit("MERGE", "INTO")
	g.target()
	g.emit("USING")
	g.fromItem()
	g.emit("ON")
	g.expr()
	for i := 0; i == 0 || g.one(2); i++ {
		g.emit("WHEN")
		matched := g.one(2)
		if matched {
			g.emit("MATCHED")
		} else {
			g.emit("NOT", "MATCHED", g.pick("", "BY TARGET"))
		}
		if g.one(3) {
			g.emit("AND")
			g.expr()
		}
		g.emit("THEN")
		switch {
		case g.one(4):
			g.emit("DO", "NOTHING")
		case matched && g.one(2):
			g.emit("DELETE")
		case matched:
			g.emit("UPDATE", "SET")
			g.setList()
		default:
			g.emit("INSERT")
			g.columnList(2)
			g.emit("VALUES", "(")
			g.exprs(3)
			g.emit(")")
		}
	}
	g.returning()
}
