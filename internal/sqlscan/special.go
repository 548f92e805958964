package sqlscan

// specialCall reads a call that has a grammar of its own. It stands on the word,
// with a parenthesis behind it; not so if the word has no such call.
func (s *scanner) specialCall(kw keyword) (value, bool) {
	start := s.pos
	s.lastCall = Name{}
	if !s.specialArguments(kw) {
		s.pos = start
		return value{}, false
	}
	if s.lastCall == (Name{}) {
		return value{}, true
	}
	return value{is: OperandCall, of: s.lastCall}, true
}

// specialArguments reads all of the call, which it notes at its end.
func (s *scanner) specialArguments(kw keyword) bool {
	start := s.pos
	s.pos += 2
	switch kw {
	case kwExists:
		s.pos--
		s.subquery()
		s.lastCall = Name{}
		return true
	case kwRow:
		s.feature(FeatureRow)
		if s.kind() != kindClose {
			s.exprList()
		}
	case kwCoalesce:
		s.special("COALESCE", s.exprs())
	case kwGreatest:
		s.operator("<")
		s.special("GREATEST", s.exprs())
	case kwLeast:
		s.operator("<")
		s.special("LEAST", s.exprs())
	case kwNullif:
		s.operator("=")
		s.special("NULLIF", s.exprs())
	case kwGrouping:
		s.special("GROUPING", s.exprs())
	case kwMergeAction:
		s.special("MERGE_ACTION", 0)
	case kwExtract:
		if s.isTextLiteral(s.pos) {
			s.textLiteral()
		} else {
			s.skipName(anyLabel)
		}
		s.expect(kwFrom)
		s.expr()
		s.special("extract", 2)
	case kwPosition:
		s.feature(FeatureSpecialCall)
		s.position()
	case kwOverlay:
		n := s.exprs()
		if s.accept(kwPlacing) {
			s.expr()
			s.expect(kwFrom)
			s.expr()
			n = 3
			if s.accept(kwFor) {
				s.expr()
				n = 4
			}
			s.special("overlay", n)
		} else {
			s.plain("overlay", n)
		}
	case kwSubstring:
		s.substring()
	case kwTrim:
		s.trim()
	case kwNormalize:
		s.expr()
		n := 1
		if s.acceptKind(kindComma) {
			n = 2
			switch s.kw() {
			case kwNfc, kwNfd, kwNfkc, kwNfkd:
				s.pos++
			default:
				s.fail()
			}
		}
		s.special("normalize", n)
	case kwXmlconcat, kwXmlelement, kwXmlexists, kwXmlforest, kwXmlparse, kwXmlpi, kwXmlroot, kwXmlserialize:
		s.feature(FeatureXML)
		s.constructor(kw)
	case kwJson, kwJsonScalar, kwJsonSerialize, kwJsonObject, kwJsonArray, kwJsonObjectagg, kwJsonArrayagg,
		kwJsonValue, kwJsonQuery, kwJsonExists:
		if kw == kwJson && s.isTextLiteral(int(s.toks[start+1].match)+1) {
			return false
		}
		s.feature(FeatureJSON)
		s.constructor(kw)
		s.expectKind(kindClose)
		s.callTail()
		s.lastCall = Name{}
		return true
	default:
		return false
	}
	switch kw {
	case kwRow, kwXmlconcat, kwXmlelement, kwXmlexists, kwXmlforest, kwXmlparse, kwXmlpi, kwXmlroot, kwXmlserialize:
		s.lastCall = Name{} // whatever was called within
	}
	s.expectKind(kindClose)
	return true
}

// position reads POSITION(a IN b). IN is an operator of its own in a full
// expression, so what comes before it must be read without it.
func (s *scanner) position() {
	var e reading
	for {
		s.prefix()
		e.last = s.operand()
		if s.kw() == kwIn || !s.suffixBeforeIn(&e) {
			break
		}
	}
	s.expect(kwIn)
	s.expr()
	s.called(Name{"pg_catalog", "position"}, 2)
}

// suffixBeforeIn is suffix that leaves IN alone.
func (s *scanner) suffixBeforeIn(e *reading) bool {
	for s.kind() == kindCast || s.kind() == kindBracketOpen || s.kind() == kindDot {
		switch s.kind() {
		case kindCast:
			s.castBehind(e)
		case kindBracketOpen:
			s.subscript()
			e.last = value{}
		default:
			s.pos++
			e.last = value{}
			s.feature(FeatureField)
			s.attributes.add(s.takeName(anyLabel))
		}
	}
	if s.kw() == kwIn {
		return false
	}
	return s.suffix(e)
}

// substring reads SUBSTRING(a FROM b FOR c), in any of its orders.
func (s *scanner) substring() {
	n := 0
	if s.kind() != kindClose {
		n = s.substringList()
	}
	switch {
	case s.accept(kwFrom):
		s.expr()
		n = 2
		if s.accept(kwFor) {
			s.expr()
			n = 3
		}
	case s.accept(kwFor):
		length := s.expr()
		n = 3
		if s.accept(kwFrom) {
			s.expr()
			break
		}
		int4 := Name{"pg_catalog", "int4"} // the server's cast
		s.types.add(int4)
		s.cast(int4, length)
	case s.accept(kwSimilar):
		s.feature(FeatureSimilar)
		s.expr()
		s.expect(kwEscape)
		s.expr()
		n = 3
	default:
		s.plain("substring", n)
		return
	}
	s.special("substring", n)
}

// plain notes a call of a function that has a special syntax, too, but was
// called without: it is found by the search_path.
func (s *scanner) plain(name string, args int) {
	s.feature(FeatureSpecialCall)
	s.called(Name{Name: name}, args)
}

// substringList reads the arguments before FROM, FOR or SIMILAR.
func (s *scanner) substringList() int {
	n := 0
	for {
		if k := s.after(1).kind; (k == kindArrow || k == kindAssign) && s.isName(s.pos, typeOrFun) {
			s.feature(FeatureNamedArgument)
			s.pos += 2
		}
		s.expr()
		n++
		if !s.acceptKind(kindComma) {
			return n
		}
	}
}

// trim reads TRIM([BOTH | LEADING | TRAILING] [a] FROM b).
func (s *scanner) trim() {
	name := "btrim"
	switch s.kw() {
	case kwBoth:
		s.pos++
	case kwLeading:
		s.pos++
		name = "ltrim"
	case kwTrailing:
		s.pos++
		name = "rtrim"
	}
	n := 0
	if s.kw() != kwFrom {
		n = s.exprs()
	}
	if s.accept(kwFrom) {
		n += s.exprs()
	}
	s.special(name, n)
}

// constructor reads the arguments of an XML or JSON constructor, whose words it
// passes over: expressions are read wherever one may stand. It ends before the
// closing parenthesis.
func (s *scanner) constructor(kw keyword) {
	if !s.enter() {
		return
	}
	switch kw {
	case kwXmlexists:
		s.functions.add(Call{Name{"pg_catalog", "xmlexists"}, 2})
	case kwJsonObject:
		// json_object('{}') is a function's call.
		s.functions.add(Call{Name{"pg_catalog", "json_object"}, -1})
		fallthrough
	default:
		s.functions.add(Call{Name{"pg_catalog", keywordUpper[kw]}, -1})
	}
	named := kw == kwXmlelement || kw == kwXmlpi
	behind := false // an expression: a word of the grammar follows, or a comma
	for s.kind() != kindClose && s.failed == failedNot {
		k, after := s.kw(), behind
		behind = false
		if s.kind() == kindComma || s.kind() == kindColon {
			s.pos++
			continue
		}
		switch {
		case after && constructorWord(k):
			s.pos++
			continue
		case k == kwName && named:
			s.pos++
			named = false
			s.skipName(anyLabel)
			continue
		case k == kwAs && kw == kwXmlserialize, k == kwReturning:
			s.pos++
			s.cast(s.typeName(), value{})
			continue
		case k == kwAs:
			s.pos++
			s.alsoNamed(anyLabel)
			continue
		case k == kwOrder:
			s.feature(FeatureAggregateOrder)
			s.orderBy()
			continue
		case (k == kwXmlattributes || k == kwXmlnamespaces) && s.after(1).kind == kindOpen:
			s.pos += 2
			s.constructor(k)
			s.expectKind(kindClose)
			continue
		case kw == kwJsonArray && s.isQueryHere():
			s.query()
			continue
		case s.atConstructorWord():
			s.pos++
			continue
		}
		s.expr()
		behind = true
	}
	s.leave()
}

// isQueryHere says whether a query begins at the current token.
func (s *scanner) isQueryHere() bool { return s.isQuery(s.pos - 1) }

// atConstructorWord says whether the current token is a word of a constructor's
// grammar, rather than the beginning of an expression.
func (s *scanner) atConstructorWord() bool {
	k, next, prev := s.kw(), s.after(1), &s.toks[s.pos-1]
	if !constructorWord(k) {
		return false
	}
	if prev.kind == kindOpen && (k == kwDocument || k == kwContent) {
		switch s.kwAt(s.pos - 2) {
		case kwXmlparse, kwXmlserialize:
			return true
		}
	}
	switch k {
	case kwNull, kwTrue, kwFalse, kwDefault:
		return false // read as operands
	case kwArray:
		return next.kind != kindOpen && next.kind != kindBracketOpen
	}
	switch next.kind {
	case kindOpen, kindDot, kindCast, kindBracketOpen:
		return categories[k] == catReserved
	case kindString, kindEscape, kindUnicode, kindDollar:
		// t '…' is a literal of type t, unless the grammar wants the word here.
		first := prev.kind == kindOpen
		begins := first || prev.kind == kindComma
		switch k {
		case kwContent, kwDocument:
			return first
		case kwVersion:
			return begins && !first
		case kwRef:
			return prev.kw == kwBy
		case kwValue:
			return prev.kw == kwBy || !begins && !constructorWord(prev.kw)
		case kwPassing:
			return !begins && !constructorWord(prev.kw)
		}
		return false
	}
	return true
}

func constructorWord(k keyword) bool {
	switch k {
	case kwContent, kwDocument, kwPassing, kwBy, kwRef, kwValue, kwVersion, kwStandalone, kwNo, kwYes, kwPreserve,
		kwStrip, kwWhitespace, kwIndent, kwFormat, kwJson, kwEncoding, kwAbsent, kwOn, kwNull, kwError,
		kwEmpty, kwDefault, kwArray, kwWrapper, kwConditional, kwUnconditional, kwKeep, kwOmit, kwQuotes, kwScalar,
		kwString, kwWith, kwWithout, kwUnique, kwKeys, kwKey, kwTrue, kwFalse, kwUnknown, kwObject:
		return true
	}
	return false
}

// tableColumns reads what follows COLUMNS in XMLTABLE and JSON_TABLE, without
// parentheses.
func (s *scanner) tableColumns() {
	if !s.enter() {
		return
	}
	for {
		if s.kw() == kwNested && (s.after(1).kw == kwPath || s.isTextLiteral(s.pos+1)) {
			s.pos++
			s.accept(kwPath)
			s.textLiteral()
			if s.accept(kwAs) {
				s.alsoNamed(columnID)
			}
			s.expect(kwColumns)
			s.expectKind(kindOpen)
			s.tableColumns()
			s.expectKind(kindClose)
		} else {
			s.alsoNamed(columnID)
			if s.accept(kwFor) {
				s.expect(kwOrdinality)
			} else {
				s.cast(s.typeName(), value{})
				s.columnOptions()
			}
		}
		if !s.acceptKind(kindComma) {
			break
		}
	}
	s.leave()
}

// columnOptions reads PATH, DEFAULT, NOT NULL, FORMAT JSON, … ON EMPTY and so
// on, up to the next column.
func (s *scanner) columnOptions() {
	for {
		switch k := s.kw(); {
		case s.kind() == kindComma || s.kind() == kindClose || s.kind() == kindEOF:
			return
		case k == kwPath || k == kwDefault:
			s.pos++
			s.expr()
		case k == kwNot || k == kwExists || constructorWord(k):
			s.pos++
		default:
			s.fail()
		}
	}
}
