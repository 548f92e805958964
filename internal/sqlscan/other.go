package sqlscan

// one reads the one statement that the tokens from pos on hold, and sets class,
// verb, transaction verb and effect.
func (s *scanner) one() {
	st := s.st
	first := s.kw()
	if first != 0 {
		st.Verb = keywordUpper[first]
	}
	switch first {
	case kwSelect, kwValues, kwWith, kwTable, kwInsert, kwUpdate, kwDelete, kwMerge:
		s.readOrWrite()
	case kwExplain:
		s.explain()
	case kwCopy:
		s.copyTable()
	case kwTruncate:
		s.pos++
		s.accept(kwTable)
		st.Class = ClassWrite
		for {
			n, _ := s.relationName()
			s.targets.add(n)
			if !s.acceptKind(kindComma) {
				break
			}
		}
		switch s.kw() {
		case kwRestart, kwContinue:
			s.pos++
			s.expect(kwIdentity)
		}
		if !s.accept(kwCascade) {
			s.accept(kwRestrict)
		}
		s.end()
	case kwRefresh:
		s.pos++
		s.expect(kwMaterialized)
		s.expect(kwView)
		st.Class, st.Verb = ClassWrite, "REFRESH MATERIALIZED VIEW"
		s.accept(kwConcurrently)
		s.targets.add(s.qualified(columnID))
		if s.accept(kwWith) {
			s.accept(kwNo)
			s.expect(kwData)
		}
		s.end()
	case kwLock:
		s.pos++
		s.accept(kwTable)
		st.Class = ClassLock
		for {
			n, _ := s.relationName()
			s.relations.add(n)
			if !s.acceptKind(kindComma) {
				break
			}
		}
	case kwShow:
		st.Class = ClassShow
	case kwBegin, kwStart, kwCommit, kwEnd, kwRollback, kwAbort, kwSavepoint, kwRelease:
		s.transaction(first)
	case kwPrepare:
		if s.after(1).kw == kwTransaction {
			st.Class, st.Tx, st.Verb = ClassTx, TxPrepare, "PREPARE TRANSACTION"
			return
		}
		s.session(EffectChanged)
	case kwSet:
		s.set()
	case kwListen, kwLoad:
		s.session(EffectChanged)
	case kwReset, kwDiscard, kwUnlisten, kwDeallocate, kwFetch, kwMove, kwClose:
		s.session(EffectTouched)
	case kwNotify:
		s.session(EffectNone)
	case kwDeclare:
		s.declare()
	case kwCreate, kwAlter, kwDrop, kwGrant, kwRevoke, kwComment, kwSecurity, kwImport, kwReassign, kwReindex, kwCluster:
		s.ddl(first)
	case 0:
		if s.kind() == kindOpen && s.isQuery(s.pos) {
			s.readOrWrite()
			return
		}
		s.fail()
		st.Class = ClassUnknown
	default:
		// VACUUM, ANALYZE, CHECKPOINT, DO, CALL, EXECUTE, and what is newer.
		s.looseCalls(s.pos)
		s.unknown()
	}
	if s.failed != failedNot {
		s.unknown()
	}
}

func (s *scanner) unknown() {
	s.st.Class = ClassUnknown
	s.st.Effect = max(s.st.Effect, EffectTouched)
}

// end sees to it that the statement is over.
func (s *scanner) end() {
	if s.kind() != kindEOF {
		s.fail()
	}
}

// readOrWrite reads what EXPLAIN explains: a query or a write.
func (s *scanner) readOrWrite() {
	st := s.st
	s.preparable()
	s.end()
	if st.Verb == "" {
		st.Verb = "SELECT"
	}
	switch {
	case s.failed != failedNot:
		s.unknown()
	case s.writes != "":
		st.Class, st.Verb = ClassWrite, s.writes
	case s.makes:
		st.Class, st.Verb = ClassDDL, "SELECT INTO"
	case s.locks:
		st.Class = ClassLock
	default:
		st.Class = ClassRead
	}
}

func (s *scanner) session(e Effect) {
	s.looseCalls(s.pos)
	s.st.Class, s.st.Effect = ClassSession, max(s.st.Effect, e)
}

// transaction reads a transaction's verb. What follows it is the server's to
// judge: a text that it refuses changes nothing.
func (s *scanner) transaction(first keyword) {
	st := s.st
	st.Class = ClassTx
	s.pos++
	switch first {
	case kwBegin, kwStart:
		st.Tx = TxBegin
	case kwSavepoint:
		st.Tx = TxSavepoint
	case kwRelease:
		st.Tx = TxRelease
	case kwCommit, kwEnd:
		st.Tx = TxCommit
		if first == kwCommit && s.kw() == kwPrepared {
			st.Tx, st.Verb = TxCommitPrepared, "COMMIT PREPARED"
			return
		}
		s.chain()
	case kwRollback, kwAbort:
		st.Tx = TxRollback
		if first == kwRollback && s.kw() == kwPrepared {
			st.Tx, st.Verb = TxRollbackPrepared, "ROLLBACK PREPARED"
			return
		}
		if k := s.kw(); k == kwWork || k == kwTransaction {
			s.pos++
		}
		if first == kwRollback && s.kw() == kwTo {
			st.Tx, st.Verb = TxRollbackTo, "ROLLBACK TO"
			return
		}
		s.chain()
	}
}

func (s *scanner) chain() {
	if k := s.kw(); k == kwWork || k == kwTransaction {
		s.pos++
	}
	s.st.TxChain = s.kw() == kwAnd && s.after(1).kw == kwChain
}

func (s *scanner) set() {
	st := s.st
	s.pos++
	switch next := s.after(1); s.kw() {
	case kwConstraints:
		if !s.assigned(next) {
			st.Class, st.Tx, st.Verb = ClassTx, TxSet, "SET CONSTRAINTS"
			return
		}
	case kwTransaction:
		if !s.assigned(next) {
			st.Class, st.Tx, st.Verb = ClassTx, TxSet, "SET TRANSACTION"
			return
		}
	case kwLocal:
		if s.assigned(next) {
			break
		}
		s.pos++
		if s.kw() == kwTransaction && !s.assigned(s.after(1)) {
			st.Class, st.Tx, st.Verb = ClassTx, TxSet, "SET TRANSACTION"
			return
		}
		st.Verb = "SET LOCAL"
		s.session(EffectLocal)
		return
	case kwSession:
		if next.kw == kwTransaction && !s.assigned(s.after(2)) {
			st.Class, st.Tx, st.Verb = ClassTx, TxSet, "SET TRANSACTION"
			return
		}
	}
	s.session(EffectChanged)
}

// assigned says whether a setting of that name is set: SET transaction = 1.
func (s *scanner) assigned(t *token) bool {
	return t.kw == kwTo || t.kind == kindDot || t.kind == kindOperator
}

// declare reads DECLARE … CURSOR … FOR query. A cursor's query runs when rows
// are fetched.
func (s *scanner) declare() {
	st := s.st
	effect := EffectLocal
	for s.kind() != kindEOF && s.kw() != kwFor {
		if s.kw() == kwWith && s.after(1).kw == kwHold {
			effect = EffectChanged
		}
		s.pos++
	}
	s.expect(kwFor)
	s.query()
	s.end()
	st.Class, st.Effect = ClassSession, max(st.Effect, effect)
}

// ddl reads what changes the catalog. Only what the session gets of it matters:
// a temporary object.
func (s *scanner) ddl(first keyword) {
	st, from := s.st, s.pos
	st.Class = ClassDDL
	for i := s.pos; s.toks[i].kind != kindEOF; i++ {
		t := &s.toks[i]
		switch {
		case t.kw == kwTemp || t.kw == kwTemporary:
			switch s.kwAt(max(i-1, 0)) {
			case kwCreate, kwReplace, kwLocal, kwGlobal:
				st.Effect = EffectChanged
			}
		case s.toks[i+1].kind == kindDot && s.isName(i, columnID) && s.isTempSchema(i):
			st.Effect = EffectChanged
		}
	}
	if second := s.after(1); second.kind == kindIdent && second.kw != 0 {
		switch first {
		case kwCreate, kwAlter, kwDrop:
			i := s.pos + 1
			for k := s.kwAt(i); k == kwOr || k == kwReplace || k == kwTemp || k == kwTemporary || k == kwLocal ||
				k == kwGlobal || k == kwUnlogged || k == kwUnique; k = s.kwAt(i) {
				i++
			}
			if k := s.kwAt(i); k != 0 {
				st.Verb += " " + keywordUpper[k]
				if k == kwMaterialized && s.kwAt(i+1) == kwView {
					st.Verb += " VIEW"
					i++
				}
				if first == kwCreate && (k == kwTable || s.kwAt(i) == kwView) {
					s.createAs(i + 1)
				}
			}
		}
	}
	s.looseCalls(from)
}

// createAs notes what CREATE TABLE, VIEW or MATERIALIZED VIEW … AS makes and what
// its query reads, as far as they are understood. The name stands at i.
func (s *scanner) createAs(i int) {
	s.pos = i
	if s.accept(kwIf) {
		s.expect(kwNot)
		s.expect(kwExists)
	}
	n := s.qualified(columnID)
	for s.kind() != kindEOF && s.kw() != kwAs {
		if s.kind() == kindOpen {
			s.pos = int(s.toks[s.pos].match)
		}
		s.pos++
	}
	if s.accept(kwAs) && s.failed == failedNot {
		switch s.kw() {
		case kwSelect, kwValues, kwWith, kwTable, 0:
			s.targets.add(n)
			s.preparable()
		}
	}
	s.failed = failedNot
}

func (s *scanner) isTempSchema(i int) bool {
	t := &s.toks[i]
	if t.end-t.start < 7 {
		return false
	}
	name := s.name(i)
	return len(name) >= 7 && name[:7] == "pg_temp"
}

// looseCalls notes every name with a parenthesis behind it, in a statement whose
// grammar isn't followed.
func (s *scanner) looseCalls(from int) {
	for i := from; s.toks[i].kind != kindEOF; i++ {
		if s.toks[i+1].kind != kindOpen || !s.isName(i, anyLabel) {
			continue
		}
		if t := &s.toks[i]; t.kind == kindIdent && t.kw != 0 &&
			(categories[t.kw] == catReserved || categories[t.kw] == catColumn) {
			continue
		}
		n := Name{Name: s.name(i)}
		if i >= from+2 && s.toks[i-1].kind == kindDot && s.isName(i-2, anyLabel) {
			n.Schema = s.name(i - 2)
		}
		s.functions.add(Call{n, -1})
	}
}

// explain reads EXPLAIN. With ANALYZE the statement runs.
func (s *scanner) explain() {
	st := s.st
	s.pos++
	analyze := false
	if s.kind() == kindOpen && !s.isQuery(s.pos) {
		for i, end := s.pos, int(s.toks[s.pos].match); i < end; i++ {
			if s.explainsRun(i) {
				analyze = true
			}
		}
		s.pos = int(s.toks[s.pos].match) + 1
	} else {
		if s.accept(kwAnalyze) || s.accept(kwAnalyse) {
			analyze = true
		}
		s.accept(kwVerbose)
	}
	st.Verb = ""
	switch first := s.kw(); first {
	case kwSelect, kwValues, kwWith, kwTable, kwInsert, kwUpdate, kwDelete, kwMerge, 0:
		if first == 0 && !(s.kind() == kindOpen && s.isQuery(s.pos)) {
			s.fail()
			break
		}
		s.readOrWrite()
	case kwDeclare:
		s.declare()
	case kwCreate:
		s.ddl(first)
	case kwExecute:
		s.looseCalls(s.pos)
		if !analyze {
			st.Class = ClassShow
		}
	case kwRefresh:
		s.looseCalls(s.pos)
		st.Class = ClassShow
		if analyze {
			st.Class = ClassDDL
		}
	default:
		s.fail()
	}
	st.Verb = "EXPLAIN"
	if s.failed != failedNot {
		s.unknown()
		return
	}
	if !analyze {
		// Nothing runs; what the text names may still be evaluated by the
		// planner, if it is immutable or stable.
		st.Class, st.Effect = ClassShow, EffectNone
		s.targets.reset()
		s.locks, s.into, s.makes = false, false, false
		return
	}
	st.Verb = "EXPLAIN ANALYZE"
	switch st.Class {
	case ClassWrite, ClassDDL, ClassLock:
	default:
		s.unknown()
	}
}

// explainsRun says whether the option at i is ANALYZE, unless it is plainly off.
func (s *scanner) explainsRun(i int) bool {
	if k := s.kwAt(i); k != kwAnalyze && k != kwAnalyse {
		t := &s.toks[i]
		if t.kind != kindQuoted && t.kind != kindUnicodeQuoted {
			return false
		}
		if n := s.name(i); n != "analyze" && n != "analyse" {
			return false
		}
	}
	t := &s.toks[i+1]
	if s.toks[i+2].kind != kindComma && s.toks[i+2].kind != kindClose {
		return true
	}
	off := t.kw == kwFalse || t.kw == kwOff || t.kind == kindNumber && s.text[t.start:t.end] == "0"
	return !off
}

// copyTable reads COPY.
func (s *scanner) copyTable() {
	st := s.st
	s.pos++
	s.accept(kwBinary)
	if s.kind() == kindOpen {
		s.pos++
		s.preparable()
		s.expectKind(kindClose)
		s.expect(kwTo)
		s.copyEnd()
		switch {
		case s.failed != failedNot, s.makes:
			s.unknown()
		case s.writes != "":
			st.Class = ClassWrite
		case s.locks:
			st.Class = ClassLock
		default:
			st.Class = ClassShow
		}
		return
	}
	n := s.qualified(columnID)
	if s.kind() == kindOpen {
		s.nameList()
	}
	if s.accept(kwTo) {
		s.relations.add(n)
		s.copyEnd()
		st.Class = ClassShow
		return
	}
	s.expect(kwFrom)
	if s.kw() == kwProgram {
		s.fail() // it may do anything
		return
	}
	s.targets.add(n)
	st.Class = ClassWrite
	s.looseCalls(s.pos)
}

// copyEnd reads where COPY … TO goes: the client, or else it does more than
// read.
func (s *scanner) copyEnd() {
	if !s.accept(kwStdin) {
		s.expect(kwStdout)
	}
}
