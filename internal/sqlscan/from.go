package sqlscan

import "slices"

// fromList reads what follows FROM, or USING in a DELETE.
func (s *scanner) fromList() {
	for {
		s.joins()
		if !s.acceptKind(kindComma) {
			return
		}
	}
}

// joins reads one entry of a FROM list. How joins nest matters to nobody here,
// so entries, JOIN words and conditions come one after the other.
func (s *scanner) joins() {
	s.fromItem()
	for open := 0; ; { // joins whose condition is still to come
		switch s.kw() {
		case kwNatural:
			s.pos++
			s.feature(FeatureNaturalJoin)
			s.operator("=")
			s.joinWords()
			s.fromItem()
		case kwCross:
			s.pos++
			s.expect(kwJoin)
			s.fromItem()
		case kwJoin, kwInner, kwLeft, kwRight, kwFull:
			open++
			s.joinWords()
			s.fromItem()
		case kwOn:
			if open == 0 {
				return // ON CONFLICT
			}
			open--
			s.pos++
			s.expr()
		case kwUsing:
			if open == 0 {
				return
			}
			open--
			s.pos++
			s.feature(FeatureJoinUsing)
			s.operator("=")
			s.nameList()
			if s.accept(kwAs) {
				s.fromNamed(s.alsoNamed(columnID))
			}
		default:
			return
		}
	}
}

func (s *scanner) joinWords() {
	switch s.kw() {
	case kwInner:
		s.pos++
	case kwLeft, kwRight, kwFull:
		s.pos++
		s.accept(kwOuter)
	}
	s.expect(kwJoin)
}

// fromItem reads a relation, a function, a subquery, or joins in parentheses.
func (s *scanner) fromItem() {
	if !s.enter() {
		return
	}
	switch kw := s.kw(); {
	case s.kind() == kindOpen:
		if s.isQuery(s.pos) {
			s.subquery()
		} else {
			s.pos++
			s.joins()
			s.expectKind(kindClose)
		}
		s.alias(false, "")
	case kw == kwLateral:
		s.pos++
		s.feature(FeatureLateral)
		if s.kind() == kindOpen && s.isQuery(s.pos) {
			s.subquery()
			s.alias(false, "")
		} else {
			s.fromFunction()
		}
	case kw != kwOnly && s.isFromFunction():
		s.fromFunction()
	default:
		s.alias(false, s.relation())
		s.sample()
	}
	s.leave()
}

// relation reads a relation's name, with ONLY or a star, and notes it unless a
// common table expression hides it.
func (s *scanner) relation() string {
	n, qualified := s.relationName()
	if !qualified && slices.Contains(s.ctes, n.Name) {
		return n.Name
	}
	if s.failed == failedNot {
		s.relations.add(n)
	}
	return n.Name
}

func (s *scanner) relationName() (n Name, qualified bool) {
	if s.accept(kwOnly) {
		s.feature(FeatureOnly)
		if s.acceptKind(kindOpen) {
			n = s.qualified(columnID)
			s.expectKind(kindClose)
			return n, n.Schema != ""
		}
		n = s.qualified(columnID)
		return n, n.Schema != ""
	}
	n = s.qualified(columnID)
	if s.acceptOp('*') {
		s.feature(FeatureOnly)
	}
	return n, n.Schema != ""
}

// sample reads TABLESAMPLE, which look has noted.
func (s *scanner) sample() {
	if !s.accept(kwTablesample) {
		return
	}
	s.qualified(typeOrFun)
	s.expectKind(kindOpen)
	s.exprList()
	s.expectKind(kindClose)
	if s.accept(kwRepeatable) {
		s.expectKind(kindOpen)
		s.expr()
		s.expectKind(kindClose)
	}
}

// isFromFunction says whether a function begins here, rather than a relation.
func (s *scanner) isFromFunction() bool {
	switch s.kw() {
	case kwRows:
		return s.after(1).kw == kwFrom && s.after(2).kind == kindOpen || s.after(1).kind == kindOpen
	case kwCurrentDate, kwCurrentTime, kwCurrentTimestamp, kwLocaltime, kwLocaltimestamp, kwCurrentUser, kwUser,
		kwSessionUser, kwCurrentRole, kwCurrentCatalog, kwCurrentSchema, kwSystemUser, kwCast:
		return true
	case kwCollation:
		return true
	}
	if !s.isName(s.pos, anyLabel) {
		return false
	}
	i := s.pos + 1
	if s.toks[s.pos].kind == kindUnicodeQuoted && s.kwAt(i) == kwUescape {
		i += 2
	}
	for i < len(s.toks) && s.toks[i].kind == kindDot {
		i += 2
	}
	return i < len(s.toks) && s.toks[i].kind == kindOpen
}

// fromFunction reads a function in FROM with what follows it.
func (s *scanner) fromFunction() {
	s.feature(FeatureFromFunction)
	name := ""
	switch kw := s.kw(); {
	case kw == kwRows && s.after(1).kw == kwFrom:
		s.pos += 2
		s.expectKind(kindOpen)
		for {
			s.tableFunction()
			if s.accept(kwAs) {
				s.columnDefinitions()
			}
			if !s.acceptKind(kindComma) {
				break
			}
		}
		s.expectKind(kindClose)
	case kw == kwXmltable && s.after(1).kind == kindOpen:
		s.feature(FeatureXML)
		s.tableConstructor(kw)
		s.alias(false, keywordNames[kw])
		return
	case kw == kwJsonTable && s.after(1).kind == kindOpen:
		s.feature(FeatureJSON)
		s.tableConstructor(kw)
		s.alias(false, keywordNames[kw])
		return
	default:
		name = s.tableFunction()
	}
	if s.kw() == kwWith && s.after(1).kw == kwOrdinality {
		s.pos += 2
		s.feature(FeatureOrdinality)
		s.aliases.add(keywordNames[kwOrdinality])
	}
	s.alias(true, name)
}

// tableFunction reads one call, and gives the name that its column gets.
func (s *scanner) tableFunction() (name string) {
	switch kw := s.kw(); categories[kw] {
	case catNone, catUnreserved, catTypeOrFunction:
		if kw == kwCurrentSchema || kw == kwCollation {
			name = s.columnName(s.operand())
			break
		}
		n := s.qualified(typeOrFun)
		s.call(n)
		name = n.Name
	case catColumn:
		if s.after(1).kind == kindDot {
			n := s.qualified(columnID)
			s.call(n)
			name = n.Name
			break
		}
		// No window and no FILTER may follow here: an alias of that name may.
		v, ok := s.specialCall(kw)
		if !ok {
			s.fail()
			break
		}
		name = s.columnName(v)
	default:
		name = s.columnName(s.keywordOperand(kw))
	}
	if name == "" {
		return ""
	}
	s.aliases.add(name)
	return name
}

// tableConstructor reads XMLTABLE or JSON_TABLE.
func (s *scanner) tableConstructor(kw keyword) {
	s.functions.add(Call{Name{"pg_catalog", keywordUpper[kw]}, -1})
	s.pos += 2
	for s.kind() != kindClose && s.failed == failedNot {
		k := s.kw()
		switch {
		case s.kind() == kindComma:
			s.pos++
		case (k == kwXmlnamespaces) && s.after(1).kind == kindOpen:
			s.pos += 2
			s.constructor(k)
			s.expectKind(kindClose)
		case k == kwColumns && s.toks[s.pos-1].kind != kindOpen:
			s.pos++
			if s.acceptKind(kindOpen) {
				s.tableColumns()
				s.expectKind(kindClose)
			} else {
				s.tableColumns()
			}
		case k == kwAs:
			s.pos++
			s.alsoNamed(anyLabel)
		case k == kwPassing:
			s.pos++
			if s.kw() == kwBy {
				s.pos++
				if !s.accept(kwRef) {
					s.expect(kwValue)
				}
			}
			s.expr()
		case s.atConstructorWord():
			s.pos++
		default:
			s.expr()
		}
	}
	s.expectKind(kindClose)
}

// alias reads [AS] a [(b, c)]; behind a function also [AS] a (b int, c text),
// and AS (b int, c text). Without one the entry has a name of its own, or none.
func (s *scanner) alias(function bool, own string) {
	if s.accept(kwAs) {
		if function && s.kind() == kindOpen {
			s.fromNamed(own)
			s.columnDefinitions()
			return
		}
	} else if !s.isName(s.pos, columnID) {
		s.fromNamed(own)
		return
	}
	s.fromNamed(s.alsoNamed(columnID))
	if s.kind() != kindOpen {
		return
	}
	if function {
		if k := s.after(2); k.kind != kindComma && k.kind != kindClose && k.kw != kwUescape {
			s.columnDefinitions()
			return
		}
	}
	s.nameList()
}

// columnDefinitions reads (a int, b text COLLATE c).
func (s *scanner) columnDefinitions() {
	s.feature(FeatureColumnDefinitions)
	s.expectKind(kindOpen)
	for {
		s.alsoNamed(columnID)
		s.cast(s.typeName(), value{})
		if s.accept(kwCollate) {
			s.feature(FeatureCollate)
			s.qualified(columnID)
		}
		if !s.acceptKind(kindComma) {
			break
		}
	}
	s.expectKind(kindClose)
}
