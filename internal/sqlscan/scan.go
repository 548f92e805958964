package sqlscan

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Scan says what a text is. It is total: what it does not understand is
// ClassUnknown, with a reason. Its time is linear in the text. It may be called
// concurrently; the result shares memory with the text.
//
// It is a recursive descent over PostgreSQL's own tokens that accepts a little
// more than PostgreSQL does and never reads a valid text differently. What must
// never be missed (row locks, INTO, clocks, date words, system columns, session
// functions) is looked for in the tokens, whatever the descent makes of them.
func Scan(text string) *Statement {
	if len(text) > MaxText {
		return refuse(text, ReasonTooLong)
	}
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return refuse(text, ReasonBadText)
	}
	s := scanners.Get().(*scanner)
	st := s.scan(text)
	s.release()
	return st
}

func refuse(text string, code ReasonCode) *Statement {
	return &Statement{Identity: text, Effect: EffectTouched, Reasons: []Reason{{Code: code}}}
}

const (
	maxDepth  = 150     // of parentheses, and of anything else that nests
	keepToken = 1 << 12 // a scanner with more room than this is not kept
)

// scanner is the state of one scan. It is used again, so that a scan allocates
// its result and nothing else.
type scanner struct {
	text string
	st   *Statement

	toks []token // without white space and comments; the last is kindEOF
	pos  int
	open []int32 // parentheses open at a place, while tokens are cut

	depth  int
	failed failure
	failAt int // the token that was not understood

	ctes []string // names of the common table expressions in scope

	relations, targets, types      set[Name]
	functions                      set[Call]
	casts                          set[Cast]
	attributes, operators, aliases set[string]
	reasons                        set[Reason]

	entries  set[string] // what the entries of FROM lists are called
	bare     []int32     // names that stand alone in expressions
	lastCall Name        // the call that was noted last

	comments []token

	// What the tokens show, wherever they stand.
	locks, into bool
	lockAt      int
	effect      Effect

	// What the descent found.
	modulo bool   // a % b where b is no number
	makes  bool   // SELECT … INTO
	writes string // the verb of a write at any depth
	target int    // where the entry of a SELECT list begins that is being read
}

// failure says why a descent ended.
type failure uint8

const (
	failedNot failure = iota
	failedSyntax
	failedDeep
)

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func (s *scanner) release() {
	if cap(s.toks) > keepToken {
		return
	}
	s.relations.reset()
	s.targets.reset()
	s.types.reset()
	s.functions.reset()
	s.casts.reset()
	s.aliases.reset()
	s.entries.reset()
	s.attributes.reset()
	s.operators.reset()
	s.reasons.reset()
	clear(s.ctes)
	s.text, s.st, s.toks, s.open, s.ctes, s.comments = "", nil, s.toks[:0], s.open[:0], s.ctes[:0], s.comments[:0]
	s.bare, s.lastCall = s.bare[:0], Name{}
	s.pos, s.depth, s.target, s.failed, s.failAt = 0, 0, 0, failedNot, 0
	s.locks, s.into, s.makes, s.modulo, s.writes, s.effect, s.lockAt = false, false, false, false, "", EffectNone, 0
	scanners.Put(s)
}

func (s *scanner) scan(text string) *Statement {
	s.text, s.st = text, &Statement{Identity: text}
	st := s.st
	if code, ok := s.cutTokens(); !ok {
		st.Effect = EffectTouched
		st.Reasons = []Reason{{Code: code}}
		return st
	}
	if len(s.comments) > 0 {
		s.identity()
	}
	s.statements()
	s.finish()
	return st
}

// cutTokens fills toks.
func (s *scanner) cutTokens() (ReasonCode, bool) {
	l := lexer{text: s.text}
	var prev kind
	held := 0 // comments since the last token
	for {
		t := l.next()
		switch t.kind {
		case kindSpace:
			continue
		case kindComment:
			if isLiteral(prev) {
				t.flags |= flagAfterText
			}
			s.comments = append(s.comments, t)
			held++
			continue
		case kindBad:
			return ReasonSyntax, false
		case kindOpen, kindBracketOpen:
			if len(s.open) >= maxDepth {
				return ReasonTooDeep, false
			}
			s.open = append(s.open, int32(len(s.toks)))
		case kindClose, kindBracketClose:
			n := len(s.open) - 1
			if n < 0 || s.toks[s.open[n]].kind != t.kind-1 {
				return ReasonSyntax, false
			}
			t.match = s.open[n]
			s.toks[t.match].match = int32(len(s.toks))
			s.open = s.open[:n]
		case kindParam:
			n, ok := paramNumber(s.text[t.start:t.end])
			if !ok {
				return ReasonSyntax, false
			}
			s.st.Params = max(s.st.Params, n)
		case kindString, kindNational:
			if t.flags&flagBackslash != 0 {
				s.st.Backslash = true
			}
		}
		if held > 0 {
			// Between two literals a space instead of a comment could make one
			// of them.
			if t.kind != kindString {
				for i := len(s.comments) - held; i < len(s.comments); i++ {
					s.comments[i].flags &^= flagAfterText
				}
			}
			held = 0
		}
		s.toks = append(s.toks, t)
		prev = t.kind
		if t.kind == kindEOF {
			break
		}
	}
	if len(s.open) > 0 {
		return ReasonSyntax, false
	}
	return 0, true
}

// statements looks at what the text holds: nothing, one statement, or several.
func (s *scanner) statements() {
	end := len(s.toks) - 1
	for end > 0 && s.toks[end-1].kind == kindSemicolon {
		end--
	}
	if end == 0 {
		s.st.Class = ClassEmpty
		return
	}
	for i := 0; i < end; i++ {
		switch s.toks[i].kind {
		case kindOpen:
			i = int(s.toks[i].match)
		case kindSemicolon:
			s.several(end)
			return
		}
	}
	eof := token{kind: kindEOF, start: s.toks[end].start, end: s.toks[end].start}
	s.toks = append(s.toks[:end], eof)
	s.look(0, end)
	s.one()
}

// several gives a text of more than one statement the worst effect of its
// parts.
func (s *scanner) several(end int) {
	worst := EffectTouched
	all := s.toks
	for from := 0; from < end; from++ {
		to := from
		for to < end && all[to].kind != kindSemicolon {
			if all[to].kind == kindOpen {
				to = int(all[to].match)
			}
			to++
		}
		s.look(from, to)
		worst = max(worst, s.effect)
		if to > from {
			eof := all[to]
			all[to] = token{kind: kindEOF, start: eof.start, end: eof.start}
			s.toks, s.pos = all[:to+1], from
			worst = max(worst, s.leads())
			all[to] = eof
			s.toks = all
		}
		from = to
	}
	st := s.st
	st.Class, st.Verb, st.Effect, st.Tx, st.TxChain, st.Features = ClassUnknown, "", worst, TxNone, false, 0
	s.reasons.add(Reason{Code: ReasonSeveral})
}

// finish writes the result.
func (s *scanner) finish() {
	st := s.st
	s.wholeRows()
	st.Effect = max(st.Effect, s.effect)
	switch st.Class {
	case ClassRead:
		if s.into {
			// The descent knows where INTO may stand; this is the second look.
			st.Class, st.Effect = ClassDDL, max(st.Effect, EffectTouched)
		} else if s.locks {
			st.Class = ClassLock
		}
	case ClassUnknown:
		st.Effect = max(st.Effect, EffectTouched)
		st.Verb = ""
		if s.failed == failedNot && len(s.reasons.list) == 0 {
			s.reasons.add(Reason{Code: ReasonNotRead, Detail: s.words(0)})
		}
	}
	if s.failed != failedNot {
		code := ReasonSyntax
		if s.failed == failedDeep {
			code = ReasonTooDeep
		}
		s.reasons.add(Reason{Code: code, Detail: s.words(s.failAt)})
	}
	switch st.Class {
	case ClassRead:
		if len(s.relations.list) == 0 {
			s.reasons.add(Reason{Code: ReasonNoRelation})
		}
		if st.Effect != EffectNone {
			s.reasons.add(Reason{Code: ReasonSession})
		}
	case ClassLock:
		detail := st.Verb
		if s.locks {
			detail = s.lockWords()
		}
		s.reasons.add(Reason{Code: ReasonLock, Detail: detail})
	case ClassWrite:
		s.reasons.add(Reason{Code: ReasonWrite, Detail: st.Verb})
	case ClassDDL:
		code := ReasonNotRead
		if s.into {
			code = ReasonInto
		}
		s.reasons.add(Reason{Code: code, Detail: st.Verb})
	case ClassShow, ClassTx, ClassSession, ClassEmpty:
		s.reasons.add(Reason{Code: ReasonNotRead, Detail: st.Verb})
	}
	if st.Class != ClassRead && st.Class != ClassUnknown {
		// The statement's kind comes first: it is what a reader wants to know.
		if l := s.reasons.list; len(l) > 1 {
			last := l[len(l)-1]
			copy(l[1:], l)
			l[0] = last
		}
	}
	st.Relations, st.Targets, st.Types = s.relations.copy(), s.targets.copy(), s.types.copy()
	st.Functions, st.Casts, st.Aliases = s.functions.copy(), s.casts.copy(), s.aliases.copy()
	st.Attributes, st.Operators = s.attributes.copy(), s.operators.copy()
	st.NumericModulo = !s.modulo
	st.Reasons = s.reasons.copy()
}

// lockWords gives the strength of a row lock.
func (s *scanner) lockWords() string {
	switch s.kwAt(s.lockAt + 1) {
	case kwShare:
		return "FOR SHARE"
	case kwKey:
		return "FOR KEY SHARE"
	case kwNo:
		return "FOR NO KEY UPDATE"
	}
	return "FOR UPDATE"
}

// words gives a few words of the text, from a token on.
func (s *scanner) words(i int) string {
	if i >= len(s.toks) || s.toks[i].kind == kindEOF {
		return "end of text"
	}
	t := s.text[s.toks[i].start:s.toks[i].end]
	const most = 40
	if len(t) > most {
		n := most
		for !utf8.RuneStart(t[n]) {
			n--
		}
		t = t[:n]
	}
	return t
}

// set is a list without repetition. Its index is made once the list is long.
type set[T comparable] struct {
	list  []T
	index map[T]struct{}
}

func (s *set[T]) add(v T) {
	const short = 16
	if len(s.list) < short {
		for i := range s.list {
			if s.list[i] == v {
				return
			}
		}
		s.list = append(s.list, v)
		return
	}
	if s.index == nil {
		s.index = make(map[T]struct{}, 4*short)
		for _, old := range s.list {
			s.index[old] = struct{}{}
		}
	}
	if _, ok := s.index[v]; !ok {
		s.index[v] = struct{}{}
		s.list = append(s.list, v)
	}
}

func (s *set[T]) has(v T) bool {
	if s.index != nil {
		_, ok := s.index[v]
		return ok
	}
	return slices.Contains(s.list, v)
}

func (s *set[T]) copy() []T {
	if len(s.list) == 0 {
		return nil
	}
	out := make([]T, len(s.list))
	copy(out, s.list)
	return out
}

func (s *set[T]) reset() {
	clear(s.list)
	s.list, s.index = s.list[:0], nil
}

// leads gives the effect of the statement at pos, one of several.
func (s *scanner) leads() Effect {
	s.failed, s.depth, s.ctes = failedNot, 0, s.ctes[:0]
	s.st.Effect = EffectNone
	s.one()
	s.failed = failedNot
	return s.st.Effect
}
