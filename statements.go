package cachedpgx

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/rowset"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// statement is what is known of one text. Texts that differ only in comments
// that are no hints share one.
type statement struct {
	id      uint64 // never given twice
	scan    *sqlscan.Statement
	trivial bool   // a read of nothing, by nothing: SELECT 1
	effect  effect // on its session, as far as its text shows

	discardsAll bool // DISCARD ALL: the session is as a fresh one

	// What the catalog said when it was last asked, for the scope it was asked
	// under. Replaced, never changed.
	verdict atomic.Pointer[judgement]

	// The columns of its last result, which its entries share.
	shape atomic.Pointer[rowset.Shape]

	// An instant: until then its rows can't be kept, whatever the catalog
	// says, since nobody but their connection can decode them.
	unstorable atomic.Int64

	// The last result that was too big to keep; nil if none was.
	tooBig atomic.Pointer[tooBig]

	asking   atomic.Bool  // the catalog is being asked again in the background
	askAfter atomic.Int64 // an instant: the catalog could not be asked, and is not before then

	asksFailed atomic.Int64 // times in a row that the catalog could not be asked

	// What the server said when the text was prepared.
	described atomic.Pointer[described]
}

// description is what a server says of a prepared text.
type description struct {
	params []uint32
	known  bool
}

// numInput is the number of arguments as driver.Stmt tells it.
func (d description) numInput() int {
	if !d.known {
		return -1
	}
	return len(d.params)
}

// tooBig is a result that exceeded its limits.
type tooBig struct {
	until  instant
	limits rowset.Limits
	always bool // the text has no arguments
}

// within says whether a result under other limits would exceed these, too.
func (t *tooBig) within(limits rowset.Limits) bool {
	within := func(a, b int64) bool { return b < 0 || a >= 0 && a <= b }
	return within(int64(limits.Rows), int64(t.limits.Rows)) && within(limits.Bytes, t.limits.Bytes)
}

// described is a description, and where it holds.
type described struct {
	description
	scope      uint64
	generation uint64
	at         instant
}

// effect is what a statement does to its session.
type effect uint8

const (
	effectNone    effect = iota
	effectTouched        // not known: the session is compared with a fresh one when it is given back
	effectChanged        // the session keeps its connection
)

// A class of statements, as a session treats them.
func (st *statement) isRead() bool { return st.scan.Class == sqlscan.ClassRead }

func (st *statement) isShow() bool {
	return st.scan.Verb != "EXPLAIN" && (st.scan.Class == sqlscan.ClassShow || st.scan.Class == sqlscan.ClassEmpty) && st.effect == effectNone && !st.scan.Backslash
}

// isProvable says whether the catalog can say that the statement writes
// nothing. To explain a read is one: its planner runs functions.
func (st *statement) isProvable() bool {
	return st.isRead() || st.scan.Class == sqlscan.ClassShow && st.scan.Verb == "EXPLAIN" && st.effect == effectNone && !st.scan.Backslash
}

// endsTx says whether the statement may end a transaction.
func (st *statement) endsTx() bool {
	return st.scan.Class == sqlscan.ClassTx || st.scan.Class == sqlscan.ClassUnknown
}

// keepsRows says whether a transaction's verb moves nothing by itself: what
// moves is what ran in the transaction.
func (st *statement) keepsRows() bool {
	return st.scan.Class == sqlscan.ClassTx && st.scan.Tx != sqlscan.TxCommitPrepared && st.scan.Tx != sqlscan.TxRollbackPrepared
}

// altersCatalog says whether what is known of the catalog is void after it. A
// temporary object means something to its own session alone.
func (st *statement) altersCatalog() bool {
	switch st.scan.Class {
	case sqlscan.ClassDDL:
		return st.scan.Effect != sqlscan.EffectChanged || slices.ContainsFunc(st.scan.Functions, func(f sqlscan.Call) bool {
			return f.Name.Name == "set_config" // it may be that which changes the session
		})
	case sqlscan.ClassUnknown:
		return true
	}
	return st.scan.Tx == sqlscan.TxCommitPrepared
}

// firstReason is the code that a bypass counts under.
func (st *statement) firstReason() string {
	if len(st.scan.Reasons) > 0 {
		return st.scan.Reasons[0].Code.String()
	}
	return reasonNotRead
}

// judgement is a verdict, and when and where it holds.
type judgement struct {
	catalog.Verdict
	scope      uint64
	generation uint64
	at         instant
	terms      terms
	failed     bool // a rule's Match panicked
}

// statements remembers texts, the least used first to go. It is safe for
// concurrent use.
type statements struct {
	byIdentity *otter.Cache[string, *statement]
	lastID     atomic.Uint64
	malformed  func(hints []string) // hears of hints that were not understood, once for each text

	// generation counts what may have changed the catalog through this handle:
	// a judgement of an earlier one is void.
	generation atomic.Uint64
}

const (
	statementsBytes   = 64 << 20 // what remembered texts may take
	statementOverhead = 1 << 10  // of one, beside its text
	longestText       = 64 << 10 // a longer one is not looked into
)

func newStatements(most int) *statements {
	floor := uint32(statementsBytes / most)
	return &statements{byIdentity: otter.Must(&otter.Options[string, *statement]{
		MaximumWeight: statementsBytes,
		Weigher: func(text string, _ *statement) uint32 {
			// Every text weighs at least its share, so that the number is
			// bounded as well as the bytes.
			return max(floor, uint32(3*len(text)+statementOverhead))
		},
		Executor: inline,
	})}
}

// get finds what is known of a text, or looks into it.
func (s *statements) get(text string) *statement {
	if st, ok := s.byIdentity.GetIfPresent(text); ok {
		return st
	}
	if st := s.commented(text); st != nil {
		return st
	}
	scan := sqlscan.Scan(text)
	if len(text) > longestText {
		return s.fresh(bulkInsert(text, scan))
	}
	if scan.Identity != text {
		text = trimmed(scan.Identity)
	}
	st, _ := s.byIdentity.ComputeIfAbsent(text, func() (*statement, bool) { return s.fresh(scan), false })
	return st
}

// commented finds a text whose comments are new, but nothing else of it: one
// that carries the id of its request. nil if it is not known.
func (s *statements) commented(text string) *statement {
	if body, ok := sqlscan.WithoutOuter(text); ok {
		// It is the text's identity only if it is understood by itself.
		if st, ok := s.byIdentity.GetIfPresent(body); ok && st.scan.Class != sqlscan.ClassUnknown {
			return st
		}
	}
	if identity, ok := sqlscan.Identity(text); ok && len(identity) != len(text) {
		if st, ok := s.byIdentity.GetIfPresent(trimmed(identity)); ok {
			return st
		}
	}
	return nil
}

// trimmed is an identity as texts are remembered by it: where a comment stood
// at either end, there is white space.
func trimmed(identity string) string { return strings.Trim(identity, " \t\r\n\f") }

// bulkInsert takes a text that is too long to look into for the one thing that
// such texts mostly are: a plain INSERT of many rows. One statement it is for
// certain where it has no semicolon. What its expressions may do to the session
// is found out before the connection's next load.
func bulkInsert(text string, scan *sqlscan.Statement) *sqlscan.Statement {
	const insert = "insert"
	head := strings.TrimLeft(text[:min(len(text), 256)], " \t\r\n")
	if len(head) < len(insert) || !strings.EqualFold(head[:len(insert)], insert) || strings.Contains(text, ";") || strings.Contains(text, "set_config") {
		return scan
	}
	bulk := *scan
	bulk.Class, bulk.Verb, bulk.Effect = sqlscan.ClassWrite, "INSERT", sqlscan.EffectNone
	return &bulk
}

func (s *statements) fresh(scan *sqlscan.Statement) *statement {
	st := &statement{id: s.lastID.Add(1), scan: scan}
	if len(scan.Hint.Malformed) > 0 && s.malformed != nil {
		s.malformed(scan.Hint.Malformed)
	}
	st.trivial = scan.Class == sqlscan.ClassRead && !scan.Backslash && len(scan.Relations)+len(scan.Functions)+len(scan.Operators)+len(scan.Types)+len(scan.Attributes) == 0
	if scan.Verb == "DISCARD" {
		words := strings.Fields(strings.ToUpper(strings.TrimRight(scan.Identity, "; \t\n")))
		st.discardsAll = slices.Equal(words, []string{"DISCARD", "ALL"})
	}
	switch {
	case scan.Effect == sqlscan.EffectChanged:
		st.effect = effectChanged
	case scan.Effect == sqlscan.EffectTouched, scan.Class == sqlscan.ClassUnknown:
		st.effect = effectTouched
	default:
		for _, f := range scan.Functions {
			if !catalog.HarmlessName(f.Name) {
				st.effect = effectTouched
				break
			}
		}
	}
	return st
}

// known gives the judgement that holds under a scope, however old.
func (s *statements) known(st *statement, scope uint64) *judgement {
	j := st.verdict.Load()
	if j == nil || j.scope != scope || j.generation != s.generation.Load() {
		return nil
	}
	return j
}

// forget voids every judgement. One that is being made now is void, too: it
// carries the generation it began under.
func (s *statements) forget() { s.generation.Add(1) }

// inline runs an engine's small chores where they arise, so that the cache has
// no goroutines that it can't wait for.
func inline(fn func()) { fn() }
