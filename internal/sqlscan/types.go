package sqlscan

// isTypeWord says whether a keyword begins a type that only the grammar knows.
func isTypeWord(kw keyword) bool {
	switch kw {
	case kwInt, kwInteger, kwSmallint, kwBigint, kwReal, kwFloat, kwDecimal, kwDec, kwNumeric, kwBoolean,
		kwBit, kwCharacter, kwChar, kwVarchar, kwNational, kwNchar, kwTimestamp, kwTime, kwInterval, kwJson:
		return true
	}
	return false
}

// typeName reads a type and notes the type of its elements.
func (s *scanner) typeName() {
	if s.kw() == kwSetof {
		s.pos++
	}
	interval := s.kw() == kwInterval
	s.baseType()
	if interval {
		s.intervalFields()
	}
	for {
		switch {
		case s.kind() == kindBracketOpen:
			s.pos++
			s.feature(FeatureArray)
			s.acceptKind(kindNumber)
			s.expectKind(kindBracketClose)
		case s.kw() == kwArray:
			s.pos++
			s.feature(FeatureArray)
			if s.acceptKind(kindBracketOpen) {
				s.expectKind(kindNumber)
				s.expectKind(kindBracketClose)
			}
		default:
			return
		}
	}
}

// baseType reads a type without an interval's fields and without brackets.
func (s *scanner) baseType() {
	kw := s.kw()
	builtin := func(name string) { s.types.add(Name{"pg_catalog", name}) }
	switch kw {
	case kwInt, kwInteger:
		s.pos++
		builtin("int4")
	case kwSmallint:
		s.pos++
		builtin("int2")
	case kwBigint:
		s.pos++
		builtin("int8")
	case kwReal:
		s.pos++
		builtin("float4")
	case kwBoolean:
		s.pos++
		builtin("bool")
	case kwJson:
		s.pos++
		builtin("json")
	case kwFloat:
		s.pos++
		builtin("float8")
		if s.kind() == kindOpen {
			builtin("float4")
			s.modifiers()
		}
	case kwDouble:
		if s.after(1).kw != kwPrecision {
			s.genericType()
			return
		}
		s.pos += 2
		builtin("float8")
	case kwDecimal, kwDec, kwNumeric:
		s.pos++
		builtin("numeric")
		s.modifiers()
	case kwBit:
		s.pos++
		if s.accept(kwVarying) {
			builtin("varbit")
		} else {
			builtin("bit")
		}
		s.modifiers()
	case kwNational, kwCharacter, kwChar, kwNchar, kwVarchar:
		if s.accept(kwNational) && s.kw() != kwCharacter && s.kw() != kwChar {
			s.fail()
			return
		}
		s.pos++
		if kw == kwVarchar || s.accept(kwVarying) {
			builtin("varchar")
		} else {
			builtin("bpchar")
		}
		s.modifiers()
	case kwTimestamp, kwTime:
		s.pos++
		s.modifiers()
		name := "timestamp"
		if kw == kwTime {
			name = "time"
		}
		switch k := s.kw(); {
		case k == kwWith && s.after(1).kw == kwTime:
			s.pos += 2
			s.expect(kwZone)
			name += "tz"
		case k == kwWithout && s.after(1).kw == kwTime:
			s.pos += 2
			s.expect(kwZone)
		}
		builtin(name)
	case kwInterval:
		s.pos++
		builtin("interval")
		s.modifiers()
	default:
		s.genericType()
	}
}

// genericType reads a type that is found by name.
func (s *scanner) genericType() {
	s.types.add(s.qualified(typeOrFun))
	if s.isOp(s.pos, '%') && s.after(1).kw == kwType {
		s.fail() // t.c%TYPE is for CREATE FUNCTION alone
	}
	s.modifiers()
}

// modifiers reads (10, 2).
func (s *scanner) modifiers() {
	if s.acceptKind(kindOpen) {
		s.exprList()
		s.expectKind(kindClose)
	}
}

// intervalFields reads YEAR TO MONTH and the like.
func (s *scanner) intervalFields() {
	field := func() bool {
		switch s.kw() {
		case kwYear, kwMonth, kwDay, kwHour, kwMinute:
			s.pos++
			return true
		case kwSecond:
			s.pos++
			s.modifiers()
			return true
		}
		return false
	}
	if field() && s.kw() == kwTo {
		s.pos++
		if !field() {
			s.fail()
		}
	}
}
