package sqlscan

import "strconv"

// isTypeWord says whether a keyword begins a type that only the grammar knows.
func isTypeWord(kw keyword) bool {
	switch kw {
	case kwInt, kwInteger, kwSmallint, kwBigint, kwReal, kwFloat, kwDecimal, kwDec, kwNumeric, kwBoolean,
		kwBit, kwCharacter, kwChar, kwVarchar, kwNational, kwNchar, kwTimestamp, kwTime, kwInterval, kwJson:
		return true
	}
	return false
}

// typeName reads a type, and notes and gives the type of its elements.
func (s *scanner) typeName() Name {
	if s.kw() == kwSetof {
		s.pos++
	}
	interval := s.kw() == kwInterval
	n := s.baseType()
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
			return n
		}
	}
}

// baseType reads a type without an interval's fields and without brackets.
func (s *scanner) baseType() Name {
	n := Name{"pg_catalog", s.builtinType()}
	if n.Name == "" {
		n = s.qualified(typeOrFun)
		if s.isOp(s.pos, '%') && s.after(1).kw == kwType {
			s.fail() // t.c%TYPE is for CREATE FUNCTION alone
		}
		s.modifiers()
	}
	s.types.add(n)
	return n
}

// builtinType reads a type that the grammar has words of its own for, and gives
// its name in the catalog; "" where none begins here.
func (s *scanner) builtinType() string {
	kw := s.kw()
	if kw == kwDouble && s.after(1).kw == kwPrecision {
		s.pos += 2
		return "float8"
	}
	if !isTypeWord(kw) {
		return ""
	}
	s.pos++
	switch kw {
	case kwInt, kwInteger:
		return "int4"
	case kwSmallint:
		return "int2"
	case kwBigint:
		return "int8"
	case kwReal:
		return "float4"
	case kwBoolean:
		return "bool"
	case kwJson:
		return "json"
	case kwFloat:
		return s.floatType()
	case kwTimestamp, kwTime:
		name := keywordNames[kw]
		s.modifiers()
		if k := s.kw(); (k == kwWith || k == kwWithout) && s.after(1).kw == kwTime {
			s.pos += 2
			s.expect(kwZone)
			if k == kwWith {
				name += "tz"
			}
		}
		return name
	}
	name := keywordNames[kw]
	switch kw {
	case kwDecimal, kwDec:
		name = "numeric"
	case kwBit:
		if s.accept(kwVarying) {
			name = "varbit"
		}
	case kwNational, kwCharacter, kwChar, kwNchar:
		if kw == kwNational && !s.accept(kwCharacter) {
			s.expect(kwChar)
		}
		name = "bpchar"
		if s.accept(kwVarying) {
			name = "varchar"
		}
	}
	s.modifiers()
	return name
}

// floatType reads the precision of FLOAT, in binary digits.
func (s *scanner) floatType() string {
	if s.kind() != kindOpen {
		return "float8"
	}
	digits := s.text[s.after(1).start:s.after(1).end]
	precision, err := strconv.Atoi(digits)
	s.modifiers()
	if err != nil {
		s.fail()
	}
	if precision <= 24 {
		return "float4"
	}
	return "float8"
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
