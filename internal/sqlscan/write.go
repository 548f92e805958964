package sqlscan

// preparable reads what may stand in a WITH's parentheses: a query or a write.
func (s *scanner) preparable() {
	if !s.enter() {
		return
	}
	scope := len(s.ctes)
	if s.kw() == kwWith {
		s.with()
	}
	switch kw := s.kw(); kw {
	case kwInsert, kwUpdate, kwDelete, kwMerge:
		if s.writes == "" || scope == 0 {
			s.writes = keywordUpper[kw]
		}
		s.pos++
		switch kw {
		case kwInsert:
			s.insert()
		case kwUpdate:
			s.update()
		case kwDelete:
			s.delete()
		case kwMerge:
			s.merge()
		}
	default:
		s.queryBody()
	}
	s.ctes = s.ctes[:scope]
	s.leave()
}

// writeTarget reads the table that is written, and its alias. No common table
// expression hides it.
func (s *scanner) writeTarget() {
	n, _ := s.relationName()
	if s.failed == failedNot {
		s.targets.add(n)
	}
	if s.accept(kwAs) || s.kw() != kwSet && s.isName(s.pos, columnID) {
		n.Name = s.alsoNamed(columnID)
	}
	s.fromNamed(n.Name)
}

func (s *scanner) insert() {
	s.expect(kwInto)
	n := s.qualified(columnID)
	if s.failed == failedNot {
		s.targets.add(n)
	}
	if s.accept(kwAs) {
		n.Name = s.alsoNamed(columnID)
	}
	s.fromNamed(n.Name)
	if s.kind() == kindOpen && !s.isQuery(s.pos) {
		s.columnTargets()
	}
	s.overriding()
	if s.accept(kwDefault) {
		s.expect(kwValues)
	} else {
		s.query()
	}
	if s.accept(kwOn) {
		s.expect(kwConflict)
		s.onConflict()
	}
	s.returning()
}

func (s *scanner) overriding() {
	if !s.accept(kwOverriding) {
		return
	}
	if !s.accept(kwUser) {
		s.expect(kwSystem)
	}
	s.expect(kwValue)
}

// columnTargets reads (a, b.c, d[1]).
func (s *scanner) columnTargets() {
	s.expectKind(kindOpen)
	for {
		s.columnTarget()
		if !s.acceptKind(kindComma) {
			break
		}
	}
	s.expectKind(kindClose)
}

func (s *scanner) columnTarget() {
	s.skipName(columnID)
	for {
		switch s.kind() {
		case kindDot:
			s.pos++
			s.skipName(anyLabel)
		case kindBracketOpen:
			s.subscript()
		default:
			return
		}
	}
}

func (s *scanner) onConflict() {
	s.feature(FeatureOnConflict)
	if s.accept(kwOn) {
		s.expect(kwConstraint)
		s.skipName(columnID)
	} else if s.acceptKind(kindOpen) {
		for {
			s.expr()
			if s.isName(s.pos, anyLabel) && s.kind() != kindEOF {
				s.qualified(columnID) // an operator class
			}
			if !s.accept(kwAsc) {
				s.accept(kwDesc)
			}
			if s.accept(kwNulls) && !s.accept(kwFirst) {
				s.expect(kwLast)
			}
			if !s.acceptKind(kindComma) {
				break
			}
		}
		s.expectKind(kindClose)
		if s.accept(kwWhere) {
			s.expr()
		}
	}
	s.expect(kwDo)
	if s.accept(kwNothing) {
		return
	}
	s.expect(kwUpdate)
	s.expect(kwSet)
	s.setList()
	if s.accept(kwWhere) {
		s.expr()
	}
}

// setList reads a = 1, (b, c) = (2, 3).
func (s *scanner) setList() {
	for {
		if s.kind() == kindOpen {
			s.columnTargets()
		} else {
			s.columnTarget()
		}
		if !s.acceptOp('=') {
			s.fail()
		}
		s.expr()
		if !s.acceptKind(kindComma) {
			return
		}
	}
}

func (s *scanner) whereOrCurrent() {
	if !s.accept(kwWhere) {
		return
	}
	if s.kw() == kwCurrent && s.after(1).kw == kwOf {
		s.pos += 2
		s.feature(FeatureCurrentOf)
		s.skipName(columnID)
		return
	}
	s.expr()
}

func (s *scanner) returning() {
	if !s.accept(kwReturning) {
		return
	}
	s.feature(FeatureReturning)
	if s.kw() == kwWith && s.after(1).kind == kindOpen {
		s.pos += 2
		for {
			if !s.accept(kwOld) {
				s.expect(kwNew)
			}
			s.expect(kwAs)
			s.fromNamed(s.alsoNamed(columnID))
			if !s.acceptKind(kindComma) {
				break
			}
		}
		s.expectKind(kindClose)
	}
	s.targetList()
}

func (s *scanner) update() {
	s.writeTarget()
	s.expect(kwSet)
	s.setList()
	if s.accept(kwFrom) {
		s.fromList()
	}
	s.whereOrCurrent()
	s.returning()
}

func (s *scanner) delete() {
	s.expect(kwFrom)
	s.writeTarget()
	if s.accept(kwUsing) {
		s.fromList()
	}
	s.whereOrCurrent()
	s.returning()
}

func (s *scanner) merge() {
	s.expect(kwInto)
	s.writeTarget()
	s.expect(kwUsing)
	s.joins()
	s.expect(kwOn)
	s.expr()
	if s.kw() != kwWhen {
		s.fail()
	}
	for s.accept(kwWhen) {
		s.accept(kwNot)
		s.expect(kwMatched)
		if s.accept(kwBy) {
			if !s.accept(kwSource) {
				s.expect(kwTarget)
			}
		}
		if s.accept(kwAnd) {
			s.expr()
		}
		s.expect(kwThen)
		switch {
		case s.accept(kwDelete):
		case s.accept(kwDo):
			s.expect(kwNothing)
		case s.accept(kwUpdate):
			s.expect(kwSet)
			s.setList()
		default:
			s.expect(kwInsert)
			if s.kind() == kindOpen {
				s.columnTargets()
			}
			s.overriding()
			if s.accept(kwDefault) {
				s.expect(kwValues)
				break
			}
			s.expect(kwValues)
			s.expectKind(kindOpen)
			s.exprList()
			s.expectKind(kindClose)
		}
	}
	s.returning()
}
