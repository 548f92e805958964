package oracle

// Expressions and types.

func (g *Generator) exprs(most int) { g.list(most, g.expr) }

// expr makes an expression of operands and operators. Operands that hold
// operators mostly stand in parentheses.
func (g *Generator) expr() {
	g.depth++
	defer func() { g.depth-- }()
	if g.deep() {
		g.simple()
		return
	}
	if g.one(12) {
		g.emit(g.pick("NOT", "-", "+", "@", "~", "!!", "OPERATOR(pg_catalog.-)"))
	}
	g.operand()
	for n := 0; g.one(3) && n < 3; n++ {
		g.behind()
	}
}

// behind makes what follows an operand: an operator and another one, mostly.
func (g *Generator) behind() {
	not := g.pick("", "", "NOT")
	switch g.r.IntN(26) {
	case 0, 1, 2:
		g.emit(g.pick("=", "<", ">", "<=", ">=", "<>", "!="))
		g.operand()
	case 3, 4:
		g.emit(g.pick("+", "-", "*", "/", "%", "^"))
		g.operand()
	case 5, 6:
		g.emit(g.pick("||", "->", "->>", "#>>", "@>", "&&", "~*", "!~", "?|", "<->", "@@", "|/", "##"))
		g.operand()
	case 7, 8:
		g.emit(g.pick("AND", "OR"))
		g.operand()
	case 9:
		g.emit("OPERATOR(", g.pick("s.@@", "pg_catalog.+", "=", `"S".~`), ")")
		g.operand()
	case 10:
		g.emit(not, "IN")
		if g.one(2) {
			g.parens(g.query)
		} else {
			g.parens(func() { g.exprs(3) })
		}
	case 11:
		g.emit(not, g.pick("LIKE", "ILIKE", "SIMILAR TO"))
		g.operand()
		if g.one(3) {
			g.emit("ESCAPE", "'x'")
		}
	case 12:
		g.emit(not, "BETWEEN", g.pick("", "SYMMETRIC", "ASYMMETRIC"))
		g.simple()
		g.emit("AND")
		g.operand()
	case 13:
		g.emit("IS", g.pick("", "NOT"), g.pick("NULL", "TRUE", "FALSE", "UNKNOWN", "DOCUMENT", "NORMALIZED", "NFKC NORMALIZED",
			"JSON", "JSON OBJECT", "JSON SCALAR WITH UNIQUE KEYS", "JSON ARRAY WITHOUT UNIQUE"))
	case 14:
		g.emit(g.pick("ISNULL", "NOTNULL"))
	case 15:
		g.emit("IS", g.pick("", "NOT"), "DISTINCT", "FROM")
		g.operand()
	case 16, 17, 18:
		g.emit("::")
		g.typeName()
	case 19:
		g.emit("AT", "TIME", "ZONE")
		g.operand()
	case 20:
		g.emit("AT", "LOCAL")
	case 21:
		g.emit("COLLATE", g.pick(`"C"`, "pg_catalog.\"default\"", "mine"))
	case 22:
		g.emit(g.pick("=", "<>", "~~", "OPERATOR(s.=)", "NOT LIKE"), g.pick("ANY", "ALL", "SOME"))
		if g.one(2) {
			g.parens(g.query)
		} else {
			g.parens(g.expr)
		}
	case 23:
		g.emit("[")
		g.subscript()
		g.emit("]")
	case 24:
		g.emit("AND", "(")
		g.exprs(2)
		g.emit(",")
		g.simple()
		g.emit(")", "OVERLAPS", "(")
		g.simple()
		g.emit(",")
		g.simple()
		g.emit(")")
	default:
		g.emit("OR")
		g.operand()
	}
}

func (g *Generator) subscript() {
	switch g.r.IntN(4) {
	case 0:
		g.emit(":")
	case 1:
		g.expr()
		g.emit(":")
	case 2:
		g.emit(":")
		g.expr()
	default:
		g.expr()
	}
}

// simple makes an operand of few tokens.
func (g *Generator) simple() {
	switch g.r.IntN(7) {
	case 0:
		g.literal()
	case 1:
		g.emit(g.number())
	case 2:
		g.emit(g.pick("$1", "$2", "$17"))
	case 3:
		g.emit(g.ident(), ".", g.ident())
	case 4:
		g.emit(g.pick("NULL", "TRUE", "FALSE"))
	default:
		g.emit(g.ident())
	}
}

func (g *Generator) operand() {
	n := g.r.IntN(44)
	if g.deep() {
		n = 99
	}
	switch n {
	case 0, 1, 2:
		g.parens(g.expr)
	case 3:
		g.parens(g.query)
	case 4:
		g.parens(func() { g.exprs(2); g.emit(","); g.expr() })
	case 5:
		g.emit("ROW", "(")
		if !g.one(6) {
			g.exprs(3)
		}
		g.emit(")")
	case 6:
		g.emit("ARRAY")
		if g.one(2) {
			g.parens(g.query)
		} else {
			g.emit("[")
			g.exprs(3)
			g.emit("]")
		}
	case 7:
		g.caseOf()
	case 8:
		g.emit(g.pick("EXISTS", "NOT EXISTS"))
		g.parens(g.query)
	case 9, 10:
		g.emit("CAST", "(")
		g.expr()
		g.emit("AS")
		g.typeName()
		g.emit(")")
	case 11:
		g.typedLiteral()
	case 12, 13, 14, 15, 16, 17:
		g.functionCall()
	case 18, 19, 20:
		g.specialCall()
	case 21:
		g.constructor()
	case 22:
		g.emit("(")
		g.operand()
		g.emit(")", ".", g.label())
	case 23:
		g.emit("(")
		g.operand()
		g.emit(")", "[")
		g.subscript()
		g.emit("]", g.pick("", "."+g.pick("f", "x")))
	case 24:
		g.emit("(", g.ident(), ")", ".", "*")
	case 25:
		g.emit(g.ident(), ".", g.ident(), ".", g.label())
	case 26:
		g.emit(g.pick("current_date", "current_timestamp", "localtime", "current_time(3)", "localtimestamp(0)", "current_user", "user",
			"session_user", "current_role", "current_catalog", "current_schema", "system_user"))
	case 27:
		g.emit(g.ident(), ".", g.pick("xmin", "ctid", "tableoid", "CMAX"))
	case 28:
		g.emit(g.ident(), ".", "*")
	default:
		g.simple()
	}
}

func (g *Generator) caseOf() {
	g.emit("CASE")
	if g.one(2) {
		g.expr()
	}
	for i := 0; i == 0 || g.one(3); i++ {
		g.emit("WHEN")
		g.expr()
		g.emit("THEN")
		g.expr()
	}
	if g.one(2) {
		g.emit("ELSE")
		g.expr()
	}
	g.emit("END")
}

func (g *Generator) typedLiteral() {
	switch g.r.IntN(8) {
	case 0:
		g.emit("INTERVAL")
		g.literal()
		g.emit(g.pick("", "DAY", "YEAR TO MONTH", "HOUR TO SECOND(3)", "SECOND(2)"))
	case 1:
		g.emit("INTERVAL", "(", "3", ")")
		g.literal()
	case 2:
		g.emit(g.pick("timestamp", "time", "timestamp with time zone", "time(3) without time zone", "double precision", "varchar(3)",
			"char", "national character varying(4)", "bit varying(3)", "numeric(3,2)", "json", "float(30)", "bool", "smallint"))
		g.literal()
	case 3:
		g.emit(g.pick("s.t", "mood", "pg_catalog.date", `"Weird Type"`, "t(3)", "s.t(1,2)"))
		g.literal()
	case 4:
		g.emit("N'x'")
	default:
		g.emit(g.pick("date", "text", "point", "uuid", "timestamptz"))
		g.literal()
	}
}

func (g *Generator) functionCall() {
	switch g.r.IntN(5) {
	case 0:
		g.emit(g.pick("s", "pg_catalog", `"S"`), ".", g.label())
	default:
		g.emit(g.pick("lower", "count", "max", "f", "date_trunc", "now", "nextval", "replace", "left", "right", "if", "set_config",
			"pg_advisory_lock", `"F"`, "coalesce2", "jsonb_each", "unnest", "generate_series", "format", "date", "char_length", "random"))
	}
	g.emit("(")
	switch g.r.IntN(10) {
	case 0:
	case 1:
		g.emit("*")
	case 2:
		g.emit(g.pick("DISTINCT", "ALL"))
		g.exprs(2)
		if g.one(3) {
			g.orderBy()
		}
	case 3:
		g.expr()
		g.orderBy()
	case 4:
		g.emit(g.ident(), g.pick("=>", ":="))
		g.expr()
		g.emit(",", "VARIADIC")
		g.expr()
	default:
		g.exprs(3)
	}
	g.emit(")")
	switch g.r.IntN(16) {
	case 0:
		g.emit("FILTER", "(", "WHERE")
		g.expr()
		g.emit(")")
	case 1:
		g.emit("OVER")
		g.window()
	case 2:
		g.emit("OVER", g.ident())
	case 3:
		g.emit("WITHIN", "GROUP", "(")
		g.orderBy()
		g.emit(")")
	}
}

func (g *Generator) specialCall() {
	e := g.expr
	call := func(name string, parts ...any) {
		g.emit(name, "(")
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				g.emit(p)
			case func():
				p()
			}
		}
		g.emit(")")
	}
	switch g.r.IntN(22) {
	case 0:
		call("EXTRACT", g.pick("year", "DOW", "'epoch'", "second"), "FROM", e)
	case 1:
		call("POSITION", g.literal, "IN", g.simple)
	case 2:
		call("POSITION", g.simple, "::", g.typeName, "IN", e)
	case 3:
		call("OVERLAY", e, "PLACING", e, "FROM", e, "FOR", e)
	case 4:
		call("OVERLAY", e, ",", e, ",", e)
	case 5:
		call("SUBSTRING", e, "FROM", e, "FOR", e)
	case 6:
		call("SUBSTRING", e, "FOR", e)
	case 7:
		call("SUBSTRING", g.simple, "SIMILAR", g.literal, "ESCAPE", g.literal)
	case 8:
		call("SUBSTRING", e, ",", e)
	case 9:
		call("TRIM", g.pick("", "BOTH", "LEADING", "TRAILING"), g.literal, "FROM", e)
	case 10:
		call("TRIM", g.pick("", "FROM"), e, ",", e)
	case 11:
		call("COALESCE", e, ",", e)
	case 12:
		call("NULLIF", e, ",", e)
	case 13:
		call(g.pick("GREATEST", "LEAST"), func() { g.exprs(3) })
	case 14:
		call("GROUPING", g.simple, ",", e)
	case 15:
		call("NORMALIZE", e, g.pick("", ", NFC", ", NFKD"))
	case 16:
		call("COLLATION FOR", e)
	case 17:
		call("SUBSTRING", e, "FROM", e)
	case 18:
		call("SUBSTRING", e, "FOR", e, "FROM", e)
	default:
		call(g.pick("COALESCE", "EXISTS2", "trim"), e)
	}
}

func (g *Generator) constructor() {
	e := g.expr
	switch g.r.IntN(16) {
	case 0:
		g.emit("XMLELEMENT", "(", "NAME", g.label(), ",", "XMLATTRIBUTES", "(")
		e()
		g.emit("AS", g.label(), ")", ",")
		e()
		g.emit(")")
	case 1:
		g.emit("XMLFOREST", "(")
		e()
		g.emit("AS", g.label(), ",")
		e()
		g.emit(")")
	case 2:
		g.emit("XMLCONCAT", "(")
		g.exprs(2)
		g.emit(")")
	case 3:
		g.emit("XMLPARSE", "(", g.pick("DOCUMENT", "CONTENT"))
		e()
		g.emit(g.pick("", "PRESERVE WHITESPACE"), ")")
	case 4:
		g.emit("XMLPI", "(", "NAME", g.label(), ",")
		e()
		g.emit(")")
	case 5:
		g.emit("XMLROOT", "(")
		e()
		g.emit(",", "VERSION", g.pick("NO VALUE", "'1.0'"), g.pick("", ", STANDALONE YES", ", STANDALONE NO VALUE"), ")")
	case 6:
		g.emit("XMLSERIALIZE", "(", g.pick("DOCUMENT", "CONTENT"))
		e()
		g.emit("AS")
		g.typeName()
		g.emit(g.pick("", "INDENT"), ")")
	case 7:
		g.emit("XMLEXISTS", "(")
		g.literal()
		g.emit("PASSING", g.pick("", "BY REF"))
		g.simple()
		g.emit(")")
	case 8:
		g.emit("JSON_OBJECT", "(")
		g.literal()
		g.emit(g.pick(":", "VALUE"))
		e()
		g.emit(g.pick("", "NULL ON NULL", "ABSENT ON NULL"), g.pick("", "WITH UNIQUE KEYS"))
		g.jsonReturning()
		g.emit(")")
	case 9:
		g.emit("JSON_ARRAY", "(")
		if g.one(2) {
			g.query()
		} else {
			g.exprs(3)
			g.emit(g.pick("", "NULL ON NULL"))
		}
		g.jsonReturning()
		g.emit(")")
	case 10:
		g.emit("JSON_OBJECTAGG", "(")
		g.simple()
		g.emit(":")
		e()
		g.jsonReturning()
		g.emit(")", g.pick("", "FILTER (WHERE a)", "OVER (ORDER BY b)"))
	case 11:
		g.emit("JSON_ARRAYAGG", "(")
		e()
		if g.one(2) {
			g.orderBy()
		}
		g.emit(g.pick("", "ABSENT ON NULL"))
		g.jsonReturning()
		g.emit(")")
	case 12:
		g.emit(g.pick("JSON", "JSON_SCALAR", "JSON_SERIALIZE"), "(")
		e()
		g.emit(")")
	default:
		kind := g.pick("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS")
		g.emit(kind, "(")
		e()
		g.emit(",")
		g.literal()
		if g.one(3) {
			g.emit("PASSING")
			e()
			g.emit("AS", g.label())
		}
		switch kind {
		case "JSON_VALUE":
			g.jsonReturning()
			g.emit(g.pick("", "NULL ON EMPTY", "DEFAULT a::text ON EMPTY"), g.pick("", "ERROR ON ERROR"))
		case "JSON_QUERY":
			g.jsonReturning()
			g.emit(g.pick("", "WITH ARRAY WRAPPER", "WITHOUT WRAPPER"), g.pick("", "KEEP QUOTES"), g.pick("", "EMPTY ARRAY ON EMPTY", "EMPTY OBJECT ON ERROR"))
		default:
			g.emit(g.pick("", "UNKNOWN ON ERROR", "TRUE ON ERROR"))
		}
		g.emit(")")
	}
}

func (g *Generator) jsonReturning() {
	if g.one(3) {
		g.emit("RETURNING")
		g.typeName()
		g.emit(g.pick("", "FORMAT JSON"))
	}
}

func (g *Generator) typeName() {
	g.emit(g.pick("int", "integer", "INT4", "date", "text", "timestamptz", "timestamp(3) with time zone", "time without time zone", "interval day to second",
		"interval(2)", "numeric(10,2)", "varchar(20)", "character varying", "char(3)", "double precision", "float(12)", "float(53)", "real", "bool", "boolean",
		"bit(3)", "bit varying", "json", "jsonb", "s.t", `"T"`, "pg_catalog.int8", "national char varying(3)", "nchar(2)", "dec(3)", "mood",
		"float", "smallint", "bigint", "value", "name", "s.\"Typ\"(3)"))
	g.emit(g.pick("", "", "", "[]", "[3]", "[][]", "ARRAY", "ARRAY[4]"))
}
