package sqlscan

// operand reads one operand, without what follows it, and says what it is to a
// cast.
func (s *scanner) operand() value {
	t := &s.toks[s.pos]
	switch t.kind {
	case kindString, kindEscape, kindDollar, kindBits, kindNumber:
		s.pos++
		return value{is: OperandLiteral}
	case kindParam:
		s.pos++
		return value{is: OperandParam}
	case kindUnicode:
		s.textLiteral()
		return value{is: OperandLiteral}
	case kindNational:
		s.pos++
		return s.typed(Name{"pg_catalog", "bpchar"})
	case kindOpen:
		return s.paren()
	case kindQuoted, kindUnicodeQuoted:
		return s.nameOperand()
	case kindIdent:
		if t.kw == 0 {
			return s.nameOperand()
		}
		return s.keywordOperand(t.kw)
	}
	s.fail()
	return value{}
}

// typed notes a literal of a type that the text names.
func (s *scanner) typed(n Name) value {
	s.feature(FeatureTypedLiteral)
	s.types.add(n)
	return s.cast(n, value{is: OperandLiteral})
}

// isTextLiteral says whether the token at i is a literal that may follow a
// type's name.
func (s *scanner) isTextLiteral(i int) bool {
	switch s.toks[min(i, len(s.toks)-1)].kind {
	case kindString, kindEscape, kindUnicode, kindDollar:
		return true
	}
	return false
}

func (s *scanner) textLiteral() {
	if !s.isTextLiteral(s.pos) {
		s.fail()
		return
	}
	if s.kind() == kindUnicode {
		s.feature(FeatureUnicodeEscape)
		if s.after(1).kw == kwUescape {
			s.pos++
			if !s.isTextLiteral(s.pos + 1) {
				s.fail()
				return
			}
			s.pos++
		}
	}
	s.pos++
}

func (s *scanner) keywordOperand(kw keyword) value {
	switch kw {
	case kwNull, kwTrue, kwFalse:
		s.pos++
		return value{is: OperandLiteral}
	case kwDefault, kwCurrentDate, kwCurrentUser, kwUser, kwSessionUser, kwCurrentRole, kwCurrentCatalog, kwSystemUser:
		s.pos++
		return value{}
	case kwCase:
		s.caseOperand()
		return value{}
	case kwCast:
		s.pos++
		s.feature(FeatureCast)
		s.expectKind(kindOpen)
		v := s.expr()
		s.expect(kwAs)
		v = s.cast(s.typeName(), v)
		s.expectKind(kindClose)
		return v
	case kwArray:
		s.pos++
		s.feature(FeatureArray)
		if s.kind() == kindOpen {
			s.subquery()
		} else {
			s.arrayElements()
		}
		return value{}
	case kwCurrentTime, kwCurrentTimestamp, kwLocaltime, kwLocaltimestamp:
		s.pos++
		if s.acceptKind(kindOpen) {
			s.expectKind(kindNumber)
			s.expectKind(kindClose)
		}
		return value{}
	case kwCurrentSchema:
		if s.after(1).kind != kindOpen && !s.isTextLiteral(s.pos+1) {
			s.pos++
			return value{}
		}
	case kwCollation:
		if s.after(1).kw == kwFor {
			s.pos += 2
			s.expectKind(kindOpen)
			s.expr()
			s.special("pg_collation_for", 1)
			s.expectKind(kindClose)
			return value{is: OperandCall, of: s.lastCall}
		}
	case kwDouble:
		if s.after(1).kw == kwPrecision {
			return s.typedLiteral()
		}
	}
	return s.wordOperand(kw)
}

// wordOperand reads what begins with a keyword that may be a name.
func (s *scanner) wordOperand(kw keyword) value {
	next := s.after(1)
	switch categories[kw] {
	case catUnreserved:
		return s.nameOperand()
	case catTypeOrFunction:
		if next.kind == kindOpen || s.isTextLiteral(s.pos+1) {
			return s.nameOperand()
		}
	case catColumn:
		if next.kind == kindOpen {
			if v, ok := s.specialCall(kw); ok {
				return v
			}
		}
		if isTypeWord(kw) {
			switch {
			case next.kind == kindOpen, s.isTextLiteral(s.pos + 1), next.kw == kwWith, next.kw == kwWithout,
				next.kw == kwVarying, kw == kwNational && (next.kw == kwChar || next.kw == kwCharacter):
				return s.typedLiteral()
			}
		}
		if next.kind != kindOpen { // no function may be called so
			return s.nameOperand()
		}
	}
	s.fail()
	return value{}
}

func (s *scanner) typedLiteral() value {
	interval := s.kw() == kwInterval
	n := s.baseType()
	s.textLiteral()
	if interval {
		s.intervalFields()
	}
	return s.typed(n)
}

func (s *scanner) caseOperand() {
	s.expect(kwCase)
	if s.kw() != kwWhen {
		s.operator("=")
		s.expr()
	}
	for {
		s.expect(kwWhen)
		s.expr()
		s.expect(kwThen)
		s.expr()
		if s.kw() != kwWhen {
			break
		}
	}
	if s.accept(kwElse) {
		s.expr()
	}
	s.expect(kwEnd)
}

// arrayElements reads [a, b] and [[a], [b]].
func (s *scanner) arrayElements() {
	s.expectKind(kindBracketOpen)
	if s.acceptKind(kindBracketClose) {
		return
	}
	for {
		if s.kind() == kindBracketOpen {
			s.arrayElements()
		} else {
			s.expr()
		}
		if !s.acceptKind(kindComma) {
			break
		}
	}
	s.expectKind(kindBracketClose)
}

// nameOperand reads what begins with a name: a column, a call, or a typed
// literal.
func (s *scanner) nameOperand() value {
	start, parts := s.pos, 1
	last := start
	s.passName()
	for s.kind() == kindDot {
		s.pos++
		if s.isOp(s.pos, '*') {
			s.pos++
			if start != s.target || !s.endsTarget() {
				s.feature(FeatureWholeRow)
			}
			if parts == 3 {
				s.reasons.add(Reason{Code: ReasonThreePart, Detail: s.name(start)})
			} else if parts > 3 {
				s.fail()
			}
			return value{}
		}
		last = s.pos
		parts++
		s.skipName(anyLabel)
	}
	switch {
	case s.kind() == kindOpen:
		n := s.nameOf(start, last, parts)
		if s.isTextLiteral(int(s.toks[s.pos].match) + 1) {
			// t(3) '…'
			s.pos++
			s.exprList()
			s.expectKind(kindClose)
			s.textLiteral()
			return s.typed(n)
		}
		s.call(n)
		s.callTail()
		return value{is: OperandCall, of: n}
	case s.isTextLiteral(s.pos):
		n := s.nameOf(start, last, parts)
		s.textLiteral()
		return s.typed(n)
	case parts > 3:
		s.attributes.add(s.name(last))
		s.reasons.add(Reason{Code: ReasonThreePart, Detail: s.name(start)})
		if parts > 4 {
			s.fail()
		}
		return value{}
	case parts > 1:
		s.attributes.add(s.name(last))
		if !s.isName(last-2, anyLabel) {
			return value{} // U&"a" UESCAPE '!' . b
		}
	default:
		s.bare = append(s.bare, int32(start))
		if s.toks[start].kind == kindUnicodeQuoted {
			s.name(start) // refuses what can't be decoded
		}
	}
	return value{is: OperandColumn, at: int32(last)}
}

// endsTarget says whether the entry of a SELECT list ends here.
func (s *scanner) endsTarget() bool {
	switch s.kind() {
	case kindComma, kindEOF, kindClose:
		return true
	}
	return s.kw() == kwFrom || s.kw() == kwInto
}

// nameOf gives the name whose first and last part stand at those places.
func (s *scanner) nameOf(first, last, parts int) Name {
	n := Name{Name: s.name(last)}
	if parts > 1 {
		i := last - 2
		if s.toks[i].kind == kindIdent || s.toks[i].kind == kindQuoted || s.toks[i].kind == kindUnicodeQuoted {
			n.Schema = s.name(i)
		} else {
			s.fail()
		}
	}
	if parts > 2 {
		s.reasons.add(Reason{Code: ReasonThreePart, Detail: s.name(first) + "." + n.String()})
	}
	return n
}

// call reads a function's arguments and notes the call.
func (s *scanner) call(n Name) {
	s.expectKind(kindOpen)
	args, spread := 0, false
	var arg value
	switch {
	case s.acceptKind(kindClose):
		s.functions.add(Call{n, 0})
		return
	case s.isOp(s.pos, '*') && s.after(1).kind == kindClose:
		s.pos += 2
		s.functions.add(Call{n, 0})
		return
	case s.accept(kwDistinct):
		s.feature(FeatureAggregateDistinct)
		s.sorts()
	case s.accept(kwAll):
		s.feature(FeatureAggregateDistinct)
	}
	for {
		if s.accept(kwVariadic) {
			s.feature(FeatureVariadic)
			spread = true
		}
		if k := s.after(1).kind; (k == kindArrow || k == kindAssign) && s.isName(s.pos, typeOrFun) {
			s.feature(FeatureNamedArgument)
			s.pos += 2
		}
		arg = s.expr()
		args++
		if !s.acceptKind(kindComma) {
			break
		}
	}
	if s.kw() == kwOrder {
		s.feature(FeatureAggregateOrder)
		s.orderBy()
	}
	s.expectKind(kindClose)
	if spread {
		args = -1
	}
	s.functions.add(Call{n, args})
	if n.Name == timezone.of.Name {
		if spread || args != 2 {
			arg = value{}
		}
		s.zone(arg)
	}
	if args == 1 && dateTypes[n.Name] && (n.Schema == "" || n.Schema == "pg_catalog") {
		s.cast(n, arg)
	}
}

// dateTypes are types whose input knows the present. A call of one that is no
// function for its argument is a cast: date(x), where x is text.
var dateTypes = map[string]bool{
	"date": true, "time": true, "timetz": true, "timestamp": true, "timestamptz": true,
	"daterange": true, "tsrange": true, "tstzrange": true, "datemultirange": true, "tsmultirange": true, "tstzmultirange": true,
}

// callTail reads WITHIN GROUP, FILTER and OVER behind a call.
func (s *scanner) callTail() {
	if s.kw() == kwWithin && s.after(1).kw == kwGroup {
		s.pos += 2
		s.feature(FeatureWithinGroup)
		s.expectKind(kindOpen)
		s.orderBy()
		s.expectKind(kindClose)
	}
	if s.kw() == kwFilter && s.after(1).kind == kindOpen {
		s.pos += 2
		s.feature(FeatureFilter)
		s.expect(kwWhere)
		s.expr()
		s.expectKind(kindClose)
	}
	if s.accept(kwOver) {
		s.feature(FeatureWindow)
		if s.kind() == kindOpen {
			s.window()
		} else {
			s.skipName(columnID)
		}
	}
}
