package sqlscan

// expr reads an expression, and says what it is to a cast. It knows no
// precedence, which decides none of what is collected: an expression is operands
// with operators between them, before them and behind them. Casts alone bind
// tighter than all of these: to the operand before them.
func (s *scanner) expr() value {
	if !s.enter() {
		return value{}
	}
	var e reading
	for {
		e.operators = s.prefix() || e.operators
		e.last = s.operand()
		if !s.suffix(&e) {
			break
		}
	}
	s.leave()
	return e.value()
}

// reading is how far an expression has been read.
type reading struct {
	last      value // the last operand, with the casts behind it
	pattern   bool  // LIKE or its kin was there: ESCAPE may follow
	zones     bool  // AT TIME ZONE stands between operands
	operators bool  // and so does something else, or before them
}

// value says what the whole expression is to a cast.
func (e *reading) value() value {
	switch {
	case e.operators:
		return value{}
	case e.zones:
		return timezone
	}
	return e.last
}

func (s *scanner) exprList() {
	s.exprs()
}

// exprs reads expressions with commas between them, and counts them.
func (s *scanner) exprs() int {
	for n := 1; ; n++ {
		s.expr()
		if !s.acceptKind(kindComma) {
			return n
		}
	}
}

// prefix reads the operators before an operand, and says whether there are any.
func (s *scanner) prefix() bool {
	for any := false; ; any = true {
		t := &s.toks[s.pos]
		switch {
		case t.kind == kindOperator:
			s.takeOperator()
		case t.kw == kwNot:
			s.pos++
		case t.kw == kwOperator && s.after(1).kind == kindOpen:
			s.anyOperator()
		default:
			return any
		}
	}
}

// takeOperator notes the operator it stands on.
func (s *scanner) takeOperator() {
	t := &s.toks[s.pos]
	op := s.text[t.start:t.end]
	if op == "!=" {
		op = "<>"
	}
	s.operator(op)
	s.pos++
	if op == "%" && !s.numberBehind() {
		s.modulo = true
	}
}

// numberBehind says whether the operator's right operand is a number and no
// more: nothing that binds tighter follows.
func (s *scanner) numberBehind() bool {
	if s.kind() != kindNumber {
		return false
	}
	switch next := s.after(1); next.kind {
	case kindCast, kindBracketOpen, kindDot:
		return false
	case kindOperator:
		return s.isOp(s.pos+1, '=') || s.isOp(s.pos+1, '<') || s.isOp(s.pos+1, '>') || s.isOp(s.pos+1, '+') || s.isOp(s.pos+1, '-') || s.isOp(s.pos+1, '*') || s.isOp(s.pos+1, '/')
	default:
		return next.kw != kwAt && next.kw != kwCollate
	}
}

// anyOperator reads an operator, OPERATOR(s.op) too.
func (s *scanner) anyOperator() {
	if s.kind() == kindOperator {
		s.takeOperator()
		return
	}
	s.expect(kwOperator)
	s.feature(FeatureOperatorSyntax)
	s.expectKind(kindOpen)
	for s.isName(s.pos, columnID) {
		s.passName()
		s.expectKind(kindDot)
	}
	if s.kind() == kindOperator {
		s.takeOperator()
	} else {
		s.fail()
	}
	s.expectKind(kindClose)
}

// suffix reads what may follow an operand, and says whether another operand
// must come.
func (s *scanner) suffix(e *reading) bool {
	for {
		t := &s.toks[s.pos]
		switch t.kind {
		case kindOperator:
			s.takeOperator()
			e.operators = true
			if !s.quantified() {
				return true
			}
			e.last = value{}
		case kindCast:
			s.castBehind(e)
		case kindBracketOpen:
			s.subscript()
			e.last = value{}
		case kindDot:
			// Behind a parenthesis or a subscript.
			s.pos++
			e.last = value{}
			if s.acceptOp('*') {
				s.feature(FeatureWholeRow)
				continue
			}
			s.feature(FeatureField)
			s.attributes.add(s.takeName(anyLabel))
		case kindIdent:
			if t.kw == 0 {
				return false
			}
			switch s.keywordSuffix(t.kw, e) {
			case suffixEnds:
				return false
			case suffixOperand:
				return true
			}
		default:
			return false
		}
	}
}

// A word that follows an operand: does the expression end before it, does
// another operand follow, or was it an operator of its own?
type wordSuffix uint8

const (
	suffixEnds wordSuffix = iota
	suffixOperand
	suffixDone
)

func (s *scanner) keywordSuffix(kw keyword, e *reading) wordSuffix {
	if kw == kwAt {
		return s.atZone(e)
	}
	w := s.wordOperator(kw, e)
	if w != suffixEnds {
		e.operators, e.last = true, value{}
	}
	return w
}

// zoned is what a time zone behind is applied to. A sign before it binds
// tighter, so with any operator it is not certain.
func (e *reading) zoned() value {
	switch {
	case e.operators:
		return value{}
	case e.zones:
		return timezone
	}
	return e.last
}

// atZone reads AT TIME ZONE and AT LOCAL.
func (s *scanner) atZone(e *reading) wordSuffix {
	switch s.after(1).kw {
	case kwTime:
		s.pos += 2
		s.expect(kwZone)
		s.feature(FeatureAtTimeZone)
		s.functions.add(Call{timezone.of, 2})
		s.zone(e.zoned())
		e.zones = true
		return suffixOperand
	case kwLocal:
		s.pos += 2
		s.feature(FeatureAtTimeZone)
		s.functions.add(Call{timezone.of, 1})
		s.zone(e.zoned())
		e.last = timezone
		return suffixDone
	}
	return suffixEnds
}

// wordOperator reads every other operator that is a word.
func (s *scanner) wordOperator(kw keyword, e *reading) wordSuffix {
	not := kw == kwNot
	if not {
		kw = s.after(1).kw
	}
	switch kw {
	case kwAnd, kwOr:
		if not {
			return suffixEnds
		}
		s.pos++
		return suffixOperand
	case kwIn, kwLike, kwIlike, kwSimilar, kwBetween:
		if not {
			s.pos++
		}
		if kw == kwSimilar && s.after(1).kw != kwTo {
			return suffixEnds // SUBSTRING's
		}
		return s.match(kw, not, e)
	}
	if not {
		return suffixEnds
	}
	switch kw {
	case kwEscape:
		if !e.pattern {
			return suffixEnds
		}
		s.pos++
		s.feature(FeatureEscape)
		s.functions.add(Call{Name{"pg_catalog", "like_escape"}, 2})
		return suffixOperand
	case kwOverlaps:
		s.pos++
		s.feature(FeatureOverlaps)
		s.functions.add(Call{Name{"pg_catalog", "overlaps"}, 4})
		return suffixOperand
	case kwOperator:
		if s.after(1).kind != kindOpen {
			return suffixEnds
		}
		s.anyOperator()
		if s.quantified() {
			return suffixDone
		}
		return suffixOperand
	case kwIs:
		s.pos++
		return s.is()
	case kwIsnull, kwNotnull:
		s.pos++
		return suffixDone
	case kwCollate:
		s.pos++
		s.feature(FeatureCollate)
		s.qualified(columnID)
		return suffixDone
	}
	return suffixEnds
}

// match reads IN, LIKE, SIMILAR TO or BETWEEN, and notes their operators.
func (s *scanner) match(kw keyword, not bool, e *reading) wordSuffix {
	s.pos++
	switch kw {
	case kwIn:
		s.operator("=")
		if not {
			s.operator("<>")
		}
		if s.kind() == kindOpen && s.isQuery(s.pos) {
			s.subquery()
			return suffixDone
		}
		s.expectKind(kindOpen)
		s.exprList()
		s.expectKind(kindClose)
		return suffixDone
	case kwBetween:
		if !s.accept(kwSymmetric) {
			s.accept(kwAsymmetric)
		}
		s.operator(">=")
		s.operator("<=")
		if not {
			s.operator("<")
			s.operator(">")
		}
		return suffixOperand // then AND and another
	case kwLike:
		if not {
			s.operator("!~~")
		} else {
			s.operator("~~")
		}
	case kwIlike:
		if not {
			s.operator("!~~*")
		} else {
			s.operator("~~*")
		}
	case kwSimilar:
		s.expect(kwTo)
		s.feature(FeatureSimilar)
		s.functions.add(Call{Name{"pg_catalog", "similar_to_escape"}, -1})
		if not {
			s.operator("!~")
		} else {
			s.operator("~")
		}
	}
	e.pattern = true
	if kw != kwSimilar && s.quantified() {
		return suffixDone
	}
	return suffixOperand
}

// quantified reads ANY (…), SOME (…) or ALL (…) behind an operator.
func (s *scanner) quantified() bool {
	switch s.kw() {
	case kwAny, kwSome, kwAll:
	default:
		return false
	}
	if s.after(1).kind != kindOpen {
		return false
	}
	s.pos++
	s.feature(FeatureQuantified)
	s.paren()
	return true
}

// is reads what follows IS.
func (s *scanner) is() wordSuffix {
	s.accept(kwNot)
	kw := s.kw()
	s.pos++
	switch kw {
	case kwNull, kwTrue, kwFalse, kwUnknown:
		return suffixDone
	case kwDistinct:
		s.expect(kwFrom)
		s.operator("=")
		return suffixOperand
	case kwDocument:
		s.feature(FeatureXML)
		return suffixDone
	case kwNormalized, kwNfc, kwNfd, kwNfkc, kwNfkd:
		if kw != kwNormalized {
			s.expect(kwNormalized)
		}
		s.feature(FeatureIsNormalized)
		s.functions.add(Call{Name{"pg_catalog", "is_normalized"}, -1})
		return suffixDone
	case kwJson:
		s.feature(FeatureJSON)
		s.functions.add(Call{Name{"pg_catalog", "IS JSON"}, 1})
		switch s.kw() {
		case kwValue, kwArray, kwObject, kwScalar:
			s.pos++
		}
		if k := s.kw(); (k == kwWith || k == kwWithout) && s.after(1).kw == kwUnique {
			s.pos += 2
			s.accept(kwKeys)
		}
		return suffixDone
	}
	s.pos--
	s.fail()
	return suffixEnds
}

// subscript reads [i] or [i:j].
func (s *scanner) subscript() {
	s.pos++
	s.feature(FeatureSubscript)
	if s.kind() != kindColon {
		s.expr()
	}
	if s.acceptKind(kindColon) && s.kind() != kindBracketClose {
		s.expr()
	}
	s.expectKind(kindBracketClose)
}

// paren reads a query or expressions in parentheses. One expression is to a cast
// what it is without them.
func (s *scanner) paren() value {
	if s.kind() == kindOpen && s.isQuery(s.pos) {
		s.subquery()
		return value{}
	}
	s.expectKind(kindOpen)
	v := s.expr()
	if s.acceptKind(kindComma) {
		s.exprs()
		s.feature(FeatureRow)
		v = value{}
	}
	s.expectKind(kindClose)
	return v
}
