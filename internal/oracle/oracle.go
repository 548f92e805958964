// Package oracle holds the scanner of internal/sqlscan against PostgreSQL: its
// grammar, compiled in by pg_query, and the tree that a live server makes of a
// statement. It is a module of its own because it needs cgo; nothing that ships
// uses it.
//
// What must be nought: reads that are taken for cacheable and aren't, names that
// are missed, and claims about casts that are wrong. What must be rare: reads
// that could be cached and are refused by their text.
package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
	pg "github.com/pganalyze/pg_query_go/v6"
)

// Outcome is what the comparison of one text came to.
type Outcome struct {
	Valid   bool     // the grammar takes it
	Read    bool     // it is a read that nothing in the text keeps from the cache
	Refused string   // why the scanner refuses such a read
	Faults  []string // what the scanner gets wrong to somebody's harm
}

// Compare holds the scanner's view of a text against the grammar's.
func Compare(text string) Outcome { return compare(text, sqlscan.Scan(text)) }

func compare(text string, st *sqlscan.Statement) Outcome {
	var o Outcome
	if identity, ok := sqlscan.Identity(text); ok && identity != st.Identity {
		o.fault("identity %q, by itself %q", st.Identity, identity)
	}
	if body, ok := sqlscan.WithoutOuter(text); ok {
		inner := sqlscan.Scan(body)
		if inner.Class != sqlscan.ClassUnknown && strings.TrimSpace(inner.Identity) != strings.TrimSpace(st.Identity) {
			o.fault("identity %q, without the outer comment %q", st.Identity, inner.Identity)
		}
	}
	t, err := read(text)
	if err != nil {
		return o
	}
	o.Valid = true
	if len(t.tops) == 0 {
		if st.Class != sqlscan.ClassEmpty && st.Class != sqlscan.ClassUnknown {
			o.fault("nothing is %v", st.Class)
		}
		return o
	}
	if st.Class == sqlscan.ClassEmpty {
		o.fault("something is empty")
	}
	o.class(st, t)
	o.bars(st, t)
	if st.Class != sqlscan.ClassUnknown && len(t.tops) == 1 {
		o.names(st, t)
	}
	o.refusal(st, t)
	return o
}

func (o *Outcome) fault(format string, args ...any) {
	o.Faults = append(o.Faults, fmt.Sprintf(format, args...))
}

// class holds that a statement is not taken for one of less effect.
func (o *Outcome) class(st *sqlscan.Statement, t *truth) {
	if st.Class == sqlscan.ClassUnknown {
		if st.Effect < sqlscan.EffectTouched {
			o.fault("unknown, but of no effect")
		}
		return
	}
	if len(t.tops) > 1 {
		o.fault("%d statements are %v", len(t.tops), st.Class)
		return
	}
	if t.temp && st.Effect != sqlscan.EffectChanged && !t.dormant {
		if _, show := unwrap(t.tops[0]).(*pg.ExplainStmt); !show {
			o.fault("something temporary is made, effect %v", st.Effect)
		}
	}
	if want := classes(unwrap(t.tops[0]), t); !slices.Contains(want, st.Class) {
		o.fault("%T is %v, want one of %v", unwrap(t.tops[0]), st.Class, want)
	}
	if set, ok := unwrap(t.tops[0]).(*pg.VariableSetStmt); ok && !set.IsLocal && st.Tx != sqlscan.TxSet &&
		set.Kind != pg.VariableSetKind_VAR_RESET && set.Kind != pg.VariableSetKind_VAR_RESET_ALL &&
		st.Effect != sqlscan.EffectChanged {
		o.fault("SET %s has effect %v", set.Name, st.Effect)
	}
	if tx, ok := unwrap(t.tops[0]).(*pg.TransactionStmt); ok {
		o.transaction(st, tx)
	}
}

// classes are those that a statement may be taken for.
func classes(n any, t *truth) []sqlscan.Class {
	_, writes := t.bars[sqlscan.ReasonWrite]
	_, locks := t.bars[sqlscan.ReasonLock]
	_, into := t.bars[sqlscan.ReasonInto]
	switch n := n.(type) {
	case *pg.SelectStmt, *pg.InsertStmt, *pg.UpdateStmt, *pg.DeleteStmt, *pg.MergeStmt:
		switch {
		case writes: // with INTO as well, the server refuses it
			return []sqlscan.Class{sqlscan.ClassWrite}
		case into:
			return []sqlscan.Class{sqlscan.ClassDDL}
		case locks:
			return []sqlscan.Class{sqlscan.ClassLock}
		}
		// SUBSTRING(a FOR share) and XMLPI(NAME into) are taken for the worse.
		return []sqlscan.Class{sqlscan.ClassRead, sqlscan.ClassLock, sqlscan.ClassDDL}
	case *pg.ExplainStmt:
		if !t.dormant && explainRuns(n) {
			// An EXPLAIN ANALYZE of a plain read is left unknown.
			if writes || locks || into {
				return []sqlscan.Class{sqlscan.ClassWrite, sqlscan.ClassLock, sqlscan.ClassDDL}
			}
			return []sqlscan.Class{sqlscan.ClassDDL, sqlscan.ClassWrite}
		}
		return []sqlscan.Class{sqlscan.ClassShow}
	case *pg.VariableShowStmt:
		return []sqlscan.Class{sqlscan.ClassShow}
	case *pg.CopyStmt:
		switch {
		case n.IsFrom && !n.IsProgram || writes:
			return []sqlscan.Class{sqlscan.ClassWrite}
		case n.Filename != "" || n.IsProgram:
			return nil
		case locks:
			return []sqlscan.Class{sqlscan.ClassLock}
		}
		return []sqlscan.Class{sqlscan.ClassShow}
	case *pg.TruncateStmt, *pg.RefreshMatViewStmt:
		return []sqlscan.Class{sqlscan.ClassWrite}
	case *pg.LockStmt:
		return []sqlscan.Class{sqlscan.ClassLock}
	case *pg.TransactionStmt:
		return []sqlscan.Class{sqlscan.ClassTx}
	case *pg.ConstraintsSetStmt:
		return []sqlscan.Class{sqlscan.ClassTx}
	case *pg.VariableSetStmt:
		if n.Name == "TRANSACTION" || n.Name == "TRANSACTION SNAPSHOT" {
			return []sqlscan.Class{sqlscan.ClassTx, sqlscan.ClassSession}
		}
		return []sqlscan.Class{sqlscan.ClassSession}
	case *pg.DiscardStmt, *pg.ListenStmt, *pg.UnlistenStmt, *pg.NotifyStmt, *pg.DeallocateStmt, *pg.PrepareStmt,
		*pg.FetchStmt, *pg.ClosePortalStmt, *pg.DeclareCursorStmt, *pg.LoadStmt:
		return []sqlscan.Class{sqlscan.ClassSession}
	case *pg.ExecuteStmt, *pg.DoStmt, *pg.CallStmt, *pg.VacuumStmt, *pg.CheckPointStmt:
		return nil
	}
	return []sqlscan.Class{sqlscan.ClassDDL}
}

func (o *Outcome) transaction(st *sqlscan.Statement, n *pg.TransactionStmt) {
	verbs := map[pg.TransactionStmtKind]sqlscan.TxVerb{
		pg.TransactionStmtKind_TRANS_STMT_BEGIN: sqlscan.TxBegin, pg.TransactionStmtKind_TRANS_STMT_START: sqlscan.TxBegin,
		pg.TransactionStmtKind_TRANS_STMT_COMMIT: sqlscan.TxCommit, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK: sqlscan.TxRollback,
		pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT: sqlscan.TxSavepoint, pg.TransactionStmtKind_TRANS_STMT_RELEASE: sqlscan.TxRelease,
		pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO: sqlscan.TxRollbackTo, pg.TransactionStmtKind_TRANS_STMT_PREPARE: sqlscan.TxPrepare,
		pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:   sqlscan.TxCommitPrepared,
		pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED: sqlscan.TxRollbackPrepared,
	}
	if st.Tx != verbs[n.Kind] || st.TxChain != n.Chain {
		o.fault("%v chain %v is %v chain %v", n.Kind, n.Chain, st.Tx, st.TxChain)
	}
}

// bars holds that what keeps a text from the cache is seen.
func (o *Outcome) bars(st *sqlscan.Statement, t *truth) {
	if st.Class != sqlscan.ClassRead {
		return // never cached
	}
	for code, detail := range t.bars {
		if code == sqlscan.ReasonDateWord && released(detail) {
			continue
		}
		if !slices.ContainsFunc(st.Reasons, func(r sqlscan.Reason) bool { return r.Code == code && (r.Markable == markable(code)) }) {
			o.fault("%v (%s) is not seen", code, detail)
		}
	}
}

func markable(code sqlscan.ReasonCode) bool {
	switch code {
	case sqlscan.ReasonTableSample, sqlscan.ReasonClock, sqlscan.ReasonDateWord:
		return true
	}
	return false
}

// released says whether a literal with a date word may be one that no date can
// be: prose, held against a server in the live tests.
func released(literal string) bool {
	return !strings.ContainsAny(literal, "({[\"\\") && longWord.MatchString(literal)
}

// refusal says why the scanner refuses a read, where nothing in it justifies
// that.
func (o *Outcome) refusal(st *sqlscan.Statement, t *truth) {
	if len(t.tops) != 1 || len(t.bars) > 0 && !onlyBar(t, sqlscan.ReasonDateWord) || len(t.relations) == 0 {
		return
	}
	if _, ok := unwrap(t.tops[0]).(*pg.SelectStmt); !ok {
		return
	}
	o.Read = true
	if st.Class != sqlscan.ClassRead && len(st.Reasons) == 0 {
		o.Refused = st.Class.String()
	}
	for _, r := range st.Reasons {
		switch r.Code {
		case sqlscan.ReasonDateWord, sqlscan.ReasonTooLong, sqlscan.ReasonTooDeep:
		case sqlscan.ReasonSession:
			if st.Effect == sqlscan.EffectNone {
				o.Refused = r.Code.String()
			}
		case sqlscan.ReasonSystemColumn:
			if !slices.Contains(t.aliases, r.Detail) { // a name is a name
				o.Refused = r.Code.String() + " " + r.Detail
			}
		default:
			o.Refused = r.Code.String() + " " + r.Detail
		}
	}
}

func onlyBar(t *truth, code sqlscan.ReasonCode) bool {
	_, ok := t.bars[code]
	return ok && len(t.bars) == 1
}
