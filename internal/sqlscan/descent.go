package sqlscan

// The descent's own tools. After fail the current token is the end, which
// nothing accepts, so every loop comes to its end.

func (s *scanner) fail() {
	if s.failed == failedNot {
		s.failed, s.failAt = failedSyntax, s.pos
	}
	s.pos = len(s.toks) - 1
}

// enter counts what nests without parentheses, too.
func (s *scanner) enter() bool {
	s.depth++
	if s.depth > 3*maxDepth {
		s.tooDeep()
		return false
	}
	return true
}

func (s *scanner) tooDeep() {
	if s.failed == failedNot {
		s.failed, s.failAt = failedDeep, s.pos
	}
	s.pos = len(s.toks) - 1
}

func (s *scanner) leave() { s.depth-- }

func (s *scanner) kw() keyword { return s.toks[s.pos].kw }
func (s *scanner) kind() kind  { return s.toks[s.pos].kind }

// after gives the token n places on, the end where there is none.
func (s *scanner) after(n int) *token {
	return &s.toks[min(s.pos+n, len(s.toks)-1)]
}

func (s *scanner) accept(kw keyword) bool {
	if s.toks[s.pos].kw != kw {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) expect(kw keyword) {
	if !s.accept(kw) {
		s.fail()
	}
}

func (s *scanner) acceptKind(k kind) bool {
	if s.toks[s.pos].kind != k {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) expectKind(k kind) {
	if !s.acceptKind(k) {
		s.fail()
	}
}

// isOp says whether the token at i is the operator of one character.
func (s *scanner) isOp(i int, c byte) bool {
	t := &s.toks[min(i, len(s.toks)-1)]
	return t.kind == kindOperator && t.end-t.start == 1 && s.text[t.start] == c
}

func (s *scanner) acceptOp(c byte) bool {
	if !s.isOp(s.pos, c) {
		return false
	}
	s.pos++
	return true
}

// Names, by what PostgreSQL's grammar allows at a place.
const (
	anyLabel  = 1<<catNone | 1<<catUnreserved | 1<<catColumn | 1<<catTypeOrFunction | 1<<catReserved // ColLabel
	columnID  = 1<<catNone | 1<<catUnreserved | 1<<catColumn                                         // ColId
	typeOrFun = 1<<catNone | 1<<catUnreserved | 1<<catTypeOrFunction                                 // type_function_name
)

// isName says whether the token at i may be a name of these categories.
func (s *scanner) isName(i int, allowed int) bool {
	t := &s.toks[min(i, len(s.toks)-1)]
	switch t.kind {
	case kindIdent:
		return allowed&(1<<categories[t.kw]) != 0
	case kindQuoted, kindUnicodeQuoted:
		return true
	}
	return false
}

// skipName passes over a name that doesn't matter.
func (s *scanner) skipName(allowed int) {
	if !s.isName(s.pos, allowed) {
		s.fail()
		return
	}
	s.passName()
}

// passName moves behind the name token it stands on.
func (s *scanner) passName() {
	unicode := s.kind() == kindUnicodeQuoted
	s.pos++
	if unicode && s.kw() == kwUescape {
		s.pos = min(s.pos+2, len(s.toks)-1)
	}
}

// takeName reads a name.
func (s *scanner) takeName(allowed int) string {
	if !s.isName(s.pos, allowed) {
		s.fail()
		return ""
	}
	name := s.name(s.pos)
	if s.failed == failedNot {
		s.passName()
	}
	return name
}

// nameList reads names between parentheses that the text gives to columns.
func (s *scanner) nameList() {
	s.expectKind(kindOpen)
	for {
		s.alsoNamed(columnID)
		if !s.acceptKind(kindComma) {
			break
		}
	}
	s.expectKind(kindClose)
}

// qualified reads a name of one to three parts.
func (s *scanner) qualified(first int) Name {
	var n Name
	n.Name = s.takeName(first)
	for parts := 2; s.kind() == kindDot; parts++ {
		s.pos++
		n.Schema, n.Name = n.Name, s.takeName(anyLabel)
		if parts == 3 {
			s.reasons.add(Reason{Code: ReasonThreePart, Detail: n.String()})
		} else if parts > 3 {
			s.fail()
		}
	}
	return n
}

func (s *scanner) operator(op string) { s.operators.add(op) }
func (s *scanner) feature(f Feature)  { s.st.Features |= f }

// sorts notes the operators that sorting and grouping use.
func (s *scanner) sorts() {
	s.operators.add("=")
	s.operators.add("<")
}

// special notes a call by special syntax.
func (s *scanner) special(name string, args int) {
	s.feature(FeatureSpecialCall)
	s.called(Name{"pg_catalog", name}, args)
}

// called notes a call whose arguments have been read.
func (s *scanner) called(n Name, args int) {
	s.functions.add(Call{n, args})
	s.lastCall = n
}

// value is what an expression is to a cast over it. A column's name is read only
// where there is a cast.
type value struct {
	is Operand
	of Name
	at int32 // the last part of a column's name
}

// timezone is what AT TIME ZONE calls.
var timezone = value{is: OperandCall, of: Name{"pg_catalog", "timezone"}}

// cast notes a conversion, and gives what it is to a cast over it.
func (s *scanner) cast(to Name, v value) value {
	if c := s.conversion(to, v); s.failed == failedNot {
		s.casts.add(c)
	}
	return value{is: OperandCast, of: to}
}

// zone notes what a time zone is applied to.
func (s *scanner) zone(v value) {
	if c := s.conversion(timezone.of, v); s.failed == failedNot {
		s.zoned.add(c)
	}
}

func (s *scanner) conversion(to Name, v value) Cast {
	if v.is == OperandColumn {
		v.of.Name = s.name(int(v.at))
		if v.at > 0 && s.toks[v.at-1].kind == kindDot {
			v.of.Schema = s.name(int(v.at) - 2)
		}
	}
	return Cast{to, v.is, v.of}
}

// castBehind reads :: and the type, behind an operand.
func (s *scanner) castBehind(e *reading) {
	s.pos++
	s.feature(FeatureCast)
	e.last = s.cast(s.typeName(), e.last)
}
