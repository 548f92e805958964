package sqlscan

// with reads a WITH clause and brings its names into scope. The caller ends the
// scope.
func (s *scanner) with() {
	s.expect(kwWith)
	s.feature(FeatureCTE)
	recursive := s.kw() == kwRecursive && s.isName(s.pos+1, columnID)
	if recursive {
		s.pos++
		s.feature(FeatureRecursive)
		s.bringAll()
	}
	for {
		name := s.alsoNamed(columnID)
		if s.kind() == kindOpen {
			s.nameList()
		}
		s.expect(kwAs)
		if s.accept(kwNot) {
			s.expect(kwMaterialized)
		} else {
			s.accept(kwMaterialized)
		}
		s.expectKind(kindOpen)
		s.preparable()
		s.expectKind(kindClose)
		if s.kw() == kwSearch || s.kw() == kwCycle {
			s.searchCycle()
		}
		if !recursive {
			// Not in its own body, nor in those before it: there the name is
			// a table's.
			s.bring(name)
		}
		if !s.acceptKind(kindComma) {
			return
		}
	}
}

// bringAll brings every name of a WITH RECURSIVE into scope at once: each may
// refer to all.
func (s *scanner) bringAll() {
	for i := s.pos; s.namesQuery(i); {
		s.bring(s.name(i))
		if s.failed != failedNot {
			return
		}
		i = s.queryBehind(i) + 1
		// SEARCH and CYCLE have commas, too, but no names with AS behind them.
		for long := s.kwAt(i) == kwSearch || s.kwAt(i) == kwCycle; long; i++ {
			switch s.kwAt(i) {
			case kwSelect, kwValues, kwTable, kwInsert, kwUpdate, kwDelete, kwMerge:
				return
			}
			if k := s.toks[i].kind; k == kindEOF || k == kindOpen || k == kindClose || k == kindComma && s.namesQuery(i+1) {
				break
			}
		}
		if s.toks[i].kind != kindComma {
			return
		}
		i++
	}
}

// queryBehind gives where the parenthesis closes that namesQuery found.
func (s *scanner) queryBehind(i int) int {
	for s.kwAt(i) != kwAs {
		i++
		if s.toks[i].kind == kindOpen {
			i = int(s.toks[i].match)
		}
	}
	for s.toks[i].kind != kindOpen {
		i++
	}
	return int(s.toks[i].match)
}

// maxCTEs bounds the names in scope, since every relation is compared with all.
const maxCTEs = 200

func (s *scanner) bring(name string) {
	if s.ctes = append(s.ctes, name); len(s.ctes) > maxCTEs {
		s.tooDeep()
	}
}

// namesQuery says whether name [(…)] AS [NOT] [MATERIALIZED] ( stands at i.
func (s *scanner) namesQuery(i int) bool {
	if !s.isName(i, columnID) {
		return false
	}
	if s.toks[i].kind == kindUnicodeQuoted && s.kwAt(i+1) == kwUescape {
		i += 2
	}
	if i++; i < len(s.toks) && s.toks[i].kind == kindOpen {
		i = int(s.toks[i].match) + 1
	}
	if s.kwAt(i) != kwAs {
		return false
	}
	i++
	for s.kwAt(i) == kwNot || s.kwAt(i) == kwMaterialized {
		i++
	}
	return i < len(s.toks) && s.toks[i].kind == kindOpen
}

// searchCycle reads SEARCH and CYCLE behind a recursive query.
func (s *scanner) searchCycle() {
	s.feature(FeatureSearchCycle)
	names := func() {
		for {
			s.skipName(columnID)
			if !s.acceptKind(kindComma) {
				return
			}
		}
	}
	if s.accept(kwSearch) {
		if !s.accept(kwDepth) {
			s.expect(kwBreadth)
		}
		s.expect(kwFirst)
		s.expect(kwBy)
		names()
		s.expect(kwSet)
		s.alsoNamed(columnID)
	}
	if s.accept(kwCycle) {
		names()
		s.expect(kwSet)
		s.alsoNamed(columnID)
		if s.accept(kwTo) {
			s.expr()
			s.expect(kwDefault)
			s.expr()
		}
		s.expect(kwUsing)
		s.alsoNamed(columnID)
	}
}
