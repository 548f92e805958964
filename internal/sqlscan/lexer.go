package sqlscan

import "strings"

// The lexer cuts a text as PostgreSQL's does (src/backend/parser/scan.l), white
// space and comments included, so that the tokens joined are the text.

// kind says what a token is.
type kind uint8

const (
	kindBad kind = iota // what PostgreSQL refuses, or what its versions cut in different ways
	kindEOF
	kindSpace
	kindComment
	kindIdent         // unquoted; a keyword if token.kw is set
	kindQuoted        // "…"
	kindUnicodeQuoted // U&"…"
	kindString        // '…'
	kindEscape        // E'…'
	kindUnicode       // U&'…'
	kindNational      // N'…'
	kindBits          // B'…', X'…'
	kindDollar        // $$…$$
	kindNumber
	kindParam
	kindOperator
	kindOpen
	kindClose
	kindBracketOpen
	kindBracketClose
	kindComma
	kindSemicolon
	kindDot
	kindDotDot
	kindColon
	kindCast   // ::
	kindAssign // :=
	kindArrow  // =>
)

// What else the lexer saw in a token.
const (
	flagUpper     uint8 = 1 << iota // an unquoted name with an upper-case letter
	flagDoubled                     // a doubled quote
	flagBackslash                   // a backslash within a literal
	flagContinued                   // a literal of several parts, with new lines between
	flagAfterText                   // a comment that follows a literal
)

type token struct {
	start, end int32
	match      int32 // of a parenthesis: where its partner stands
	kw         keyword
	kind       kind
	flags      uint8
}

// Classes of bytes.
const (
	byteSpace uint8 = 1 << iota
	byteIdentStart
	byteIdentCont
	byteDigit
	byteOperator
	byteSpecial // a byte that lets an operator end in + or -
	byteHex
)

var bytes = func() (t [256]uint8) {
	for _, c := range []byte(" \t\n\r\f\v") {
		t[c] |= byteSpace
	}
	for c := range 256 {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if letter || c == '_' || c >= 0x80 {
			t[c] |= byteIdentStart | byteIdentCont
		}
		if c >= '0' && c <= '9' {
			t[c] |= byteDigit | byteIdentCont | byteHex
		}
		if c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			t[c] |= byteHex
		}
	}
	t['$'] |= byteIdentCont
	for _, c := range []byte("~!@#^&|`?+-*/%<>=") {
		t[c] |= byteOperator
	}
	for _, c := range []byte("~!@#^&|`?%") {
		t[c] |= byteSpecial
	}
	return t
}()

// lexer gives the tokens of a text, one after the other.
type lexer struct {
	text string
	pos  int
}

func (l *lexer) at(i int) byte {
	if i < len(l.text) {
		return l.text[i]
	}
	return 0 // no text holds one
}

func (l *lexer) skip(i int, class uint8) int {
	for i < len(l.text) && bytes[l.text[i]]&class != 0 {
		i++
	}
	return i
}

// next gives the next token; kindEOF at the end, for ever. After kindBad,
// which takes the rest of the text, nothing more can be known.
func (l *lexer) next() token {
	t := token{start: int32(l.pos), end: int32(l.pos)}
	if l.pos >= len(l.text) {
		t.kind = kindEOF
		return t
	}
	c := l.text[l.pos]
	end := l.pos + 1
	switch class := bytes[c]; {
	case class&byteIdentStart != 0:
		end = l.word(&t, c)
	case class&byteSpace != 0:
		t.kind, end = kindSpace, l.skip(end, byteSpace)
	case class&byteDigit != 0, c == '.' && bytes[l.at(end)]&byteDigit != 0:
		end = l.number(&t)
	case class&byteOperator != 0:
		end = l.operator(&t)
	default:
		switch c {
		case '\'':
			t.kind = kindString
			end = l.literal(&t, l.pos)
		case '"':
			t.kind = kindQuoted
			end = l.quoted(&t, l.pos)
		case '$':
			end = l.dollar(&t)
		case '(':
			t.kind = kindOpen
		case ')':
			t.kind = kindClose
		case '[':
			t.kind = kindBracketOpen
		case ']':
			t.kind = kindBracketClose
		case ',':
			t.kind = kindComma
		case ';':
			t.kind = kindSemicolon
		case '.':
			t.kind = kindDot
			if l.at(end) == '.' {
				t.kind, end = kindDotDot, end+1
			}
		case ':':
			t.kind = kindColon
			switch l.at(end) {
			case ':':
				t.kind, end = kindCast, end+1
			case '=':
				t.kind, end = kindAssign, end+1
			}
		}
	}
	if t.kind == kindBad {
		end = len(l.text)
	}
	l.pos, t.end = end, int32(end)
	return t
}

// word reads an unquoted name, a keyword, or a literal's prefix.
func (l *lexer) word(t *token, c byte) int {
	if next := l.at(l.pos + 1); next == '\'' {
		switch c {
		case 'e', 'E':
			t.kind = kindEscape
			return l.literal(t, l.pos+1)
		case 'n', 'N':
			t.kind = kindNational
			return l.literal(t, l.pos+1)
		case 'b', 'B', 'x', 'X':
			t.kind = kindBits
			return l.literal(t, l.pos+1)
		}
	} else if next == '&' && (c == 'u' || c == 'U') {
		switch l.at(l.pos + 2) {
		case '\'':
			t.kind = kindUnicode
			return l.literal(t, l.pos+2)
		case '"':
			t.kind = kindUnicodeQuoted
			return l.quoted(t, l.pos+2)
		}
	}
	t.kind = kindIdent
	hash, i := uint32(0), l.pos
	for ; i < len(l.text); i++ {
		c := l.text[i]
		if bytes[c]&byteIdentCont == 0 {
			break
		}
		if c >= 'A' && c <= 'Z' {
			t.flags |= flagUpper
		}
		hash = hash*hashFactor + uint32(c|0x20)
	}
	t.kw = lookup(l.text[l.pos:i], hash)
	return i
}

// literal reads a literal whose quote stands at i, and its continuations: a
// closing quote, white space with a new line in it, and the next quote. Line
// comments count as white space there, block comments don't.
func (l *lexer) literal(t *token, i int) int {
	for {
		i++ // the quote
		for {
			if i >= len(l.text) {
				t.kind = kindBad
				return i
			}
			c := l.text[i]
			if c == '\\' {
				t.flags |= flagBackslash
				if t.kind == kindEscape {
					i++
				}
			} else if c == '\'' {
				if l.at(i+1) != '\'' || t.kind == kindBits {
					break
				}
				t.flags |= flagDoubled
				i++
			}
			i++
		}
		i++
		next := l.continuation(i)
		if next < 0 {
			return i
		}
		t.flags |= flagContinued
		i = next
	}
}

// continuation gives where the next part of a literal begins whose last one
// ended before i, or -1.
func (l *lexer) continuation(i int) int {
	newline := false
	for i < len(l.text) {
		switch c := l.text[i]; {
		case c == '\'':
			if newline {
				return i
			}
			return -1
		case c == '\n' || c == '\r':
			newline = true
			i++
		case bytes[c]&byteSpace != 0:
			i++
		case c == '-' && l.at(i+1) == '-':
			i = l.lineComment(i)
			if i >= len(l.text) {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

func (l *lexer) lineComment(i int) int {
	for i < len(l.text) && l.text[i] != '\n' && l.text[i] != '\r' {
		i++
	}
	return i
}

// quoted reads a quoted name whose quote stands at i.
func (l *lexer) quoted(t *token, i int) int {
	first := i + 1
	for i = first; i < len(l.text); i++ {
		if l.text[i] == '\\' {
			t.flags |= flagBackslash
		}
		if l.text[i] != '"' {
			continue
		}
		if l.at(i+1) == '"' {
			t.flags |= flagDoubled
			i++
			continue
		}
		if i == first {
			break // a name of no length
		}
		return i + 1
	}
	t.kind = kindBad
	return i
}

// dollar reads $1 or a dollar-quoted literal.
func (l *lexer) dollar(t *token) int {
	i := l.pos + 1
	if bytes[l.at(i)]&byteDigit != 0 {
		i = l.skip(i, byteDigit)
		// Versions differ over $1a.
		if bytes[l.at(i)]&byteIdentStart == 0 {
			t.kind = kindParam
		}
		return i
	}
	if bytes[l.at(i)]&byteIdentStart != 0 {
		i = l.skip(i, byteIdentStart|byteDigit)
	}
	if l.at(i) != '$' {
		return i
	}
	i++
	tag := l.text[l.pos:i]
	n := strings.Index(l.text[i:], tag)
	if n < 0 {
		return i
	}
	t.kind = kindDollar
	return i + n + len(tag)
}

// number reads a number as version 16 does. What version 16 takes for junk is
// bad; older versions cut 1a in two.
func (l *lexer) number(t *token) int {
	t.kind = kindNumber
	i := l.pos
	digits := func(class uint8) {
		for bytes[l.at(i)]&class != 0 || l.at(i) == '_' && bytes[l.at(i+1)]&class != 0 {
			i++
		}
	}
	if l.text[i] == '0' {
		switch l.at(i+1) | 0x20 {
		case 'x', 'o', 'b':
			i += 2
			first := i
			digits(byteHex)
			// Octal and binary digits beyond 7 and 1 are the server's to refuse.
			if i == first || bytes[l.at(i)]&byteIdentStart != 0 {
				t.kind = kindBad
			}
			return i
		}
	}
	digits(byteDigit)
	if l.at(i) == '.' {
		if l.at(i+1) == '.' {
			return i // 1..2 is 1, .., 2
		}
		i++
		if bytes[l.at(i)]&byteDigit != 0 {
			digits(byteDigit)
		}
	}
	if l.at(i)|0x20 == 'e' {
		i++
		if c := l.at(i); c == '+' || c == '-' {
			i++
		}
		if bytes[l.at(i)]&byteDigit == 0 {
			t.kind = kindBad
		}
		digits(byteDigit)
	}
	if bytes[l.at(i)]&byteIdentStart != 0 {
		t.kind = kindBad
	}
	return i
}

// operator reads an operator or a comment.
func (l *lexer) operator(t *token) int {
	start := l.pos
	switch c := l.text[start]; {
	case c == '-' && l.at(start+1) == '-':
		t.kind = kindComment
		return l.lineComment(start)
	case c == '/' && l.at(start+1) == '*':
		return l.blockComment(t)
	}
	t.kind = kindOperator
	end, special := start, false
	for ; end < len(l.text); end++ {
		c := l.text[end]
		class := bytes[c]
		if class&byteOperator == 0 ||
			c == '-' && l.at(end+1) == '-' || c == '/' && l.at(end+1) == '*' {
			break
		}
		special = special || class&byteSpecial != 0
	}
	// An operator ends in + or - only if one of ~ ! @ # ^ & | ` ? % is in it
	// before its end.
	if last := l.text[end-1]; end-start > 1 && (last == '+' || last == '-') && !special {
		for end-start > 1 && (l.text[end-1] == '+' || l.text[end-1] == '-') {
			end--
		}
	}
	if end-start > 63 {
		t.kind = kindBad
	}
	if end-start == 2 && l.text[start] == '=' && l.text[start+1] == '>' {
		t.kind = kindArrow
	}
	return end
}

func (l *lexer) blockComment(t *token) int {
	depth := 0
	for i := l.pos; i < len(l.text); {
		switch c := l.text[i]; {
		case c == '/' && l.at(i+1) == '*':
			depth++
			i += 2
		case c == '*' && l.at(i+1) == '/':
			depth--
			i += 2
			if depth == 0 {
				t.kind = kindComment
				return i
			}
		default:
			i++
		}
	}
	return len(l.text) // unterminated: bad
}
