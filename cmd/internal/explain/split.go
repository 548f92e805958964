package explain

import "strings"

// statement is one statement of a file, without its semicolon.
type statement struct {
	text string
	line int // where it begins, from 1
}

// split cuts a text into its statements as psql does, so that what people keep
// in files and run with psql is understood: a semicolon ends a statement unless
// it stands in a literal, a quoted name, a comment, parentheses, or the body of
// a function that begins with BEGIN ATOMIC. Comments before a statement are part
// of it (a hint is one); what has nothing but comments is none. An unterminated
// literal or comment takes the rest of the text.
func split(text string) []statement {
	var all []statement
	var body bodyTracker
	begin, depth, empty := 0, 0, true
	end := func(at int) {
		if !empty {
			from := begin + len(text[begin:at]) - len(strings.TrimLeft(text[begin:at], " \t\r\n\f\v"))
			all = append(all, statement{
				text: strings.TrimRight(text[from:at], " \t\r\n\f\v"),
				line: 1 + strings.Count(text[:from], "\n"),
			})
		}
		depth, empty, body = 0, true, bodyTracker{}
	}
	for at := 0; at < len(text); {
		t := nextToken(text, at)
		word := text[at:t.end]
		switch {
		case t.kind == tokenSpace:
		case word == ";" && depth == 0 && !body.inside():
			end(at)
			begin = t.end
		default:
			empty = false
			switch {
			case word == "(":
				depth++
			case word == ")":
				depth = max(0, depth-1)
			case t.kind == tokenWord && depth == 0:
				body.word(strings.ToLower(word))
			}
		}
		at = t.end
	}
	end(len(text))
	return all
}

// bodyTracker knows whether a place is within the body of a function in SQL:
// CREATE [OR REPLACE] FUNCTION | PROCEDURE … BEGIN ATOMIC …; …; END.
type bodyTracker struct {
	words int // before the body, as far as they count
	is    bool
	depth int // of BEGIN and CASE
}

func (b *bodyTracker) inside() bool { return b.depth > 0 }

func (b *bodyTracker) word(w string) {
	if !b.is {
		switch b.words++; {
		case b.words == 1 && w == "create",
			b.words == 2 && w == "or",
			b.words == 3 && w == "replace":
		case (b.words == 2 || b.words == 4) && (w == "function" || w == "procedure"):
			b.is = true
		default:
			b.words = -1 << 30 // no more in this statement
		}
		return
	}
	switch {
	case w == "begin", w == "case" && b.depth > 0:
		b.depth++
	case w == "end" && b.depth > 0:
		b.depth--
	}
}

type tokenKind uint8

const (
	tokenOther   tokenKind = iota // a sign or an operator, a byte of it at a time
	tokenSpace                    // white space and comments
	tokenWord                     // an unquoted name or a keyword
	tokenLiteral                  // a literal or a quoted name of any kind
	tokenParam                    // $1
	tokenNumber
)

type token struct {
	kind tokenKind
	end  int
}

// nextToken gives the token at a place, which is before the end. It cuts as
// much as is needed to tell text from what is quoted, and no more.
func nextToken(text string, at int) token {
	rest := text[at:]
	c := rest[0]
	switch {
	case isSpace(c):
		n := 1
		for n < len(rest) && isSpace(rest[n]) {
			n++
		}
		return token{tokenSpace, at + n}
	case strings.HasPrefix(rest, "--"):
		n := strings.IndexAny(rest, "\r\n")
		if n < 0 {
			n = len(rest)
		}
		return token{tokenSpace, at + n}
	case strings.HasPrefix(rest, "/*"):
		return token{tokenSpace, at + commentLength(rest)}
	case c == '\'', c == '"':
		return token{tokenLiteral, at + quotedLength(rest, c, false)}
	case (c == 'e' || c == 'E') && len(rest) > 1 && rest[1] == '\'':
		return token{tokenLiteral, at + escapeLength(rest)}
	case c == '$':
		return dollarToken(text, at)
	case isWordStart(c):
		n := 1
		for n < len(rest) && (isWordStart(rest[n]) || isDigit(rest[n]) || rest[n] == '$') {
			n++
		}
		return token{tokenWord, at + n}
	case isDigit(c):
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		return token{tokenNumber, at + n}
	}
	return token{tokenOther, at + 1}
}

func dollarToken(text string, at int) token {
	rest := text[at:]
	n := 1
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n > 1 {
		return token{tokenParam, at + n}
	}
	for n < len(rest) && (isWordStart(rest[n]) || isDigit(rest[n])) {
		n++
	}
	if n >= len(rest) || rest[n] != '$' {
		return token{tokenOther, at + 1}
	}
	tag := rest[:n+1]
	body := strings.Index(rest[n+1:], tag)
	if body < 0 {
		return token{tokenLiteral, len(text)}
	}
	return token{tokenLiteral, at + n + 1 + body + len(tag)}
}

// commentLength is that of the comment that a text begins with. Comments nest.
func commentLength(text string) int {
	depth := 0
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(text[i:], "*/"):
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(text)
}

// escapeLength is that of the literal E'…' that a text begins with, with its
// continuations: after a new line a further '…' is read like the first.
func escapeLength(text string) int {
	n := 1 + quotedLength(text[1:], '\'', true)
	for {
		next := n
		for next < len(text) && (isSpace(text[next]) || strings.HasPrefix(text[next:], "--")) {
			next = nextToken(text, next).end
		}
		if !strings.Contains(text[n:next], "\n") || next == len(text) || text[next] != '\'' {
			return n
		}
		n = next + quotedLength(text[next:], '\'', true)
	}
}

// quotedLength is that of the literal or quoted name that a text begins with.
// A doubled quote reads as the end of one and the begin of another, which comes
// to the same.
func quotedLength(text string, quote byte, backslashes bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && backslashes:
			i++
		case text[i] == quote && backslashes && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
