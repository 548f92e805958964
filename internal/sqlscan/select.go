package sqlscan

// isQuery says whether the parenthesis at i holds a query, rather than an
// expression or a join.
func (s *scanner) isQuery(i int) bool {
	t := &s.toks[i+1]
	switch t.kw {
	case kwSelect, kwWith, kwTable:
		return true
	case kwValues:
		return s.toks[i+2].kind == kindOpen
	}
	if t.kind != kindOpen || !s.isQuery(i+1) {
		return false
	}
	next := &s.toks[t.match+1]
	if next.kind == kindClose {
		return true
	}
	switch next.kw {
	case kwUnion, kwIntersect, kwExcept, kwOrder, kwLimit, kwOffset, kwFetch, kwFor:
		return true
	}
	return false
}

// subquery reads a query in parentheses.
func (s *scanner) subquery() {
	s.expectKind(kindOpen)
	s.query()
	s.expectKind(kindClose)
}

// query reads a SELECT, VALUES, TABLE, or what set operations make of them,
// with what stands before and after.
func (s *scanner) query() {
	if !s.enter() {
		return
	}
	scope := len(s.ctes)
	if s.kw() == kwWith {
		s.with()
	}
	s.queryBody()
	s.ctes = s.ctes[:scope]
	s.leave()
}

// queryBody is query behind its WITH.
func (s *scanner) queryBody() {
	for {
		s.selectPart()
		switch s.kw() {
		case kwUnion, kwIntersect, kwExcept:
			s.pos++
			s.feature(FeatureSetOperation)
			s.sorts()
			if !s.accept(kwAll) {
				s.accept(kwDistinct)
			}
			continue
		}
		break
	}
	for {
		switch s.kw() {
		case kwOrder:
			s.orderBy()
		case kwLimit:
			s.pos++
			if !s.accept(kwAll) {
				s.expr()
			}
			if s.kind() == kindComma {
				s.fail() // LIMIT a, b is MySQL's
			}
		case kwOffset:
			s.pos++
			s.expr()
			if !s.accept(kwRow) {
				s.accept(kwRows)
			}
		case kwFetch:
			s.fetchFirst()
		case kwFor:
			s.locking()
		default:
			return
		}
	}
}

func (s *scanner) fetchFirst() {
	s.pos++
	if !s.accept(kwFirst) {
		s.expect(kwNext)
	}
	if s.kw() != kwRow && s.kw() != kwRows {
		s.expr()
	}
	if !s.accept(kwRow) {
		s.expect(kwRows)
	}
	if s.accept(kwWith) {
		s.expect(kwTies)
		s.feature(FeatureWithTies)
	} else {
		s.expect(kwOnly)
	}
}

// locking reads FOR UPDATE and its kin.
func (s *scanner) locking() {
	if !s.isLock(s.pos) {
		s.pos++
		s.expect(kwRead)
		s.expect(kwOnly)
		return
	}
	s.locks = true
	s.pos++
	for s.kw() == kwNo || s.kw() == kwKey {
		s.pos++
	}
	if !s.accept(kwUpdate) {
		s.expect(kwShare)
	}
	if s.accept(kwOf) {
		for {
			s.qualified(columnID)
			if !s.acceptKind(kindComma) {
				break
			}
		}
	}
	if s.accept(kwSkip) {
		s.expect(kwLocked)
	} else {
		s.accept(kwNowait)
	}
}

func (s *scanner) selectPart() {
	switch s.kw() {
	case kwSelect:
		s.pos++
		s.selectClauses()
	case kwValues:
		s.pos++
		s.feature(FeatureValues)
		for row := 0; ; row++ {
			s.expectKind(kindOpen)
			columns := s.exprs()
			s.expectKind(kindClose)
			if row == 0 && s.depth > 1 {
				s.valuesColumns(columns)
			}
			if !s.acceptKind(kindComma) {
				break
			}
		}
	case kwTable:
		s.pos++
		s.feature(FeatureTable)
		s.fromNamed(s.relation())
	default:
		s.subquery()
	}
}

func (s *scanner) selectClauses() {
	if s.accept(kwDistinct) {
		s.sorts()
		if s.accept(kwOn) {
			s.feature(FeatureDistinctOn)
			s.expectKind(kindOpen)
			s.exprList()
			s.expectKind(kindClose)
		}
	} else {
		s.accept(kwAll)
	}
	s.targetList()
	if s.accept(kwInto) {
		s.selectInto()
	}
	if s.accept(kwFrom) {
		s.fromList()
	}
	if s.accept(kwWhere) {
		s.expr()
	}
	if s.kw() == kwGroup {
		s.groupBy()
	}
	if s.accept(kwHaving) {
		s.expr()
	}
	if s.accept(kwWindow) {
		s.feature(FeatureWindow)
		for {
			s.skipName(columnID)
			s.expect(kwAs)
			s.window()
			if !s.acceptKind(kindComma) {
				break
			}
		}
	}
}

// selectInto reads the table that INTO makes.
func (s *scanner) selectInto() {
	s.into, s.makes = true, true
	switch s.kw() {
	case kwLocal, kwGlobal:
		if k := s.after(1).kw; k == kwTemp || k == kwTemporary {
			s.pos++
		}
	}
	switch s.kw() {
	case kwTemp, kwTemporary:
		// A table may be named so; taken for the worse.
		s.st.Effect = EffectChanged
		if s.after(1).kind == kindIdent && s.after(1).kw != kwFrom || s.after(1).kind == kindQuoted || s.after(1).kind == kindUnicodeQuoted {
			s.pos++
		}
	case kwUnlogged:
		s.pos++
	}
	s.accept(kwTable)
	n := s.qualified(columnID)
	if n.Schema == "pg_temp" {
		s.st.Effect = EffectChanged
	}
	s.targets.add(n)
}

// targetList reads what SELECT or RETURNING gives; it may be empty.
func (s *scanner) targetList() {
	switch s.kind() {
	case kindEOF, kindClose:
		return
	}
	switch s.kw() {
	case kwInto, kwFrom, kwWhere, kwGroup, kwHaving, kwWindow, kwUnion, kwIntersect, kwExcept,
		kwOrder, kwLimit, kwOffset, kwFetch, kwFor:
		return
	}
	for {
		if !s.acceptOp('*') {
			start := s.pos
			s.target = start
			v := s.expr()
			if s.accept(kwAs) {
				s.alsoNamed(anyLabel)
			} else if s.isLabel(s.pos) {
				s.alsoNamed(anyLabel)
			} else if s.depth > 1 && v.is != OperandColumn && !s.isOp(s.pos-1, '*') {
				s.unlabelled(v, start)
			}
		}
		if !s.acceptKind(kindComma) {
			return
		}
	}
}

// isLabel says whether the token at i may be a label without AS.
func (s *scanner) isLabel(i int) bool {
	return s.isName(i, anyLabel) && !needsAs[s.toks[i].kw]
}

func (s *scanner) groupBy() {
	s.pos++
	s.expect(kwBy)
	s.sorts()
	if s.accept(kwDistinct) {
		s.feature(FeatureGroupingSets)
	} else if s.accept(kwAll) {
		s.feature(FeatureGroupingSets)
	}
	s.groupList()
}

func (s *scanner) groupList() {
	if !s.enter() {
		return
	}
	for {
		switch {
		case s.kind() == kindOpen && s.after(1).kind == kindClose:
			s.feature(FeatureGroupingSets)
			s.pos += 2
		case (s.kw() == kwRollup || s.kw() == kwCube) && s.after(1).kind == kindOpen:
			s.feature(FeatureGroupingSets)
			s.pos += 2
			s.exprList()
			s.expectKind(kindClose)
		case s.kw() == kwGrouping && s.after(1).kw == kwSets:
			s.feature(FeatureGroupingSets)
			s.pos += 2
			s.expectKind(kindOpen)
			s.groupList()
			s.expectKind(kindClose)
		default:
			s.expr()
		}
		if !s.acceptKind(kindComma) {
			break
		}
	}
	s.leave()
}

// orderBy reads ORDER BY and its list.
func (s *scanner) orderBy() {
	s.expect(kwOrder)
	s.expect(kwBy)
	s.operator("=")
	for {
		s.expr()
		switch {
		case s.accept(kwDesc):
			s.operator(">")
		case s.accept(kwUsing):
			s.feature(FeatureOrderUsing)
			s.anyOperator()
		default:
			s.accept(kwAsc)
			s.operator("<")
		}
		if s.kw() == kwNulls {
			s.pos++
			if !s.accept(kwFirst) {
				s.expect(kwLast)
			}
		}
		if !s.acceptKind(kindComma) {
			return
		}
	}
}

// window reads a window's definition in parentheses.
func (s *scanner) window() {
	s.expectKind(kindOpen)
	switch s.kw() {
	case kwPartition, kwOrder, kwRange, kwRows, kwGroups:
	default:
		if s.kind() != kindClose {
			s.skipName(columnID)
		}
	}
	if s.accept(kwPartition) {
		s.expect(kwBy)
		s.sorts()
		s.exprList()
	}
	if s.kw() == kwOrder {
		s.orderBy()
	}
	switch s.kw() {
	case kwRange, kwRows, kwGroups:
		s.pos++
		if s.accept(kwBetween) {
			s.frameBound()
			s.expect(kwAnd)
		}
		s.frameBound()
		if s.accept(kwExclude) {
			switch {
			case s.accept(kwCurrent):
				s.expect(kwRow)
			case s.accept(kwNo):
				s.expect(kwOthers)
			case s.accept(kwGroup), s.accept(kwTies):
			default:
				s.fail()
			}
		}
	}
	s.expectKind(kindClose)
}

func (s *scanner) frameBound() {
	switch {
	case s.kw() == kwCurrent && s.after(1).kw == kwRow:
		s.pos += 2
		return
	case s.kw() == kwUnbounded && (s.after(1).kw == kwPreceding || s.after(1).kw == kwFollowing):
		s.pos++
	default:
		s.expr()
	}
	if !s.accept(kwPreceding) {
		s.expect(kwFollowing)
	}
}
