package sqlscan

import (
	"strings"
	"unicode/utf8"
)

// Identity gives Scan(text).Identity in a small part of the time: it cuts the
// text into tokens and looks no further. A text without comments is given back
// at once; one with comments costs one allocation, unless all of them stay. It
// may be called concurrently.
//
// It is not ok for a text with more comments, or deeper nested, than it has room
// to note; Scan then tells.
func Identity(text string) (identity string, ok bool) {
	if !strings.Contains(text, "--") && !strings.Contains(text, "/*") {
		return text, true
	}
	if len(text) > MaxText || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return text, true // Scan refuses it, and changes nothing
	}
	var c cutter
	switch c.read(text) {
	case cutRefused:
		return text, true
	case cutFull:
		return "", false
	}
	return withoutComments(text, c.comments[:c.count]), true
}

// cutter notes where the comments of a text are that its identity leaves out.
type cutter struct {
	comments [16]token
	count    int
	open     [32]kind // parentheses open
	depth    int
}

// cutOutcome says how reading ended.
type cutOutcome uint8

const (
	cutRefused cutOutcome = iota // Scan refuses the text
	cutFull                      // there is no room for all of it
	cutDone
)

// read goes through the text. It follows cutTokens in what is refused and in
// which comments stay.
func (c *cutter) read(text string) cutOutcome {
	l := lexer{text: text}
	var prev kind
	held := 0 // comments since the last token, those that stay left out
	for {
		if l.skipWord() {
			held, prev = 0, kindIdent
			continue
		}
		t := l.next()
		switch t.kind {
		case kindComment:
			if hintBody(text[t.start:t.end]) != "" {
				continue
			}
			if c.count == len(c.comments) {
				return cutFull
			}
			c.comments[c.count] = t
			c.count++
			held++
			continue
		case kindBad:
			return cutRefused
		case kindOpen, kindBracketOpen:
			if c.depth == len(c.open) {
				return cutFull
			}
			c.open[c.depth] = t.kind
			c.depth++
		case kindClose, kindBracketClose:
			if c.depth == 0 || c.open[c.depth-1] != t.kind-1 {
				return cutRefused
			}
			c.depth--
		case kindParam:
			if _, ok := paramNumber(text[t.start:t.end]); !ok {
				return cutRefused
			}
		case kindString:
			if isLiteral(prev) {
				c.count -= held // a space instead would join the two
			}
		case kindEOF:
			if c.depth > 0 {
				return cutRefused
			}
			return cutDone
		}
		held, prev = 0, t.kind
	}
}

// skipWord passes over white space and over a word behind it that is nothing but
// a word, and says whether there was one.
func (l *lexer) skipWord() bool {
	text, i := l.text, l.pos
	for i < len(text) && bytes[text[i]]&byteSpace != 0 {
		i++
	}
	start := i
	for i < len(text) && bytes[text[i]]&byteIdentCont != 0 {
		i++
	}
	if i == start || bytes[text[start]]&byteIdentStart == 0 || i < len(text) && (text[i] == '\'' || text[i] == '&') {
		l.pos = start
		return false
	}
	l.pos = i
	return true
}

// isLiteral says whether a comment behind such a token keeps a literal apart
// from the next one.
func isLiteral(k kind) bool { return k.isText() || k == kindBits }

// withoutComments gives the text with a space for each of the comments.
func withoutComments(text string, comments []token) string {
	if len(comments) == 0 {
		return text
	}
	size := len(text)
	for _, c := range comments {
		size -= int(c.end-c.start) - 1
	}
	var b strings.Builder
	b.Grow(size)
	from := 0
	for _, c := range comments {
		b.WriteString(text[from:c.start])
		b.WriteByte(' ')
		from = int(c.end)
	}
	b.WriteString(text[from:])
	return b.String()
}

// paramNumber reads $n; not ok beyond what the protocol can carry.
func paramNumber(s string) (n int, ok bool) {
	for _, c := range []byte(s[1:]) {
		if n = n*10 + int(c-'0'); n > 65535 {
			return 0, false
		}
	}
	return n, true
}
