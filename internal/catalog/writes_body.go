package catalog

import (
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// functionBody is what a function's text names, or why that can't be known.
type functionBody struct {
	statements []*sqlscan.Statement
	reads      []sqlscan.Name // relations that a variable's type is taken from
	fault      string
}

// readFunction reads a function. It follows a part of PL/pgSQL's grammar, cuts
// texts where PL/pgSQL's own parser does, and leaves each to the scanner.
func readFunction(language, text, defaults string, plain bool) *functionBody {
	r := bodyReader{text: text, plain: plain, body: new(functionBody)}
	if defaults != "" {
		r.sql("SELECT " + defaults)
	}
	switch {
	case language != "sql" && language != "plpgsql":
		r.fail("written in " + language)
	case strings.TrimSpace(text) == "":
		r.fail("its body is not kept as text")
	case !r.cut():
		r.fail("its text is not understood")
	case language == "sql":
		for r.body.fault == "" && r.word() != "" {
			if part := strings.TrimSpace(r.take(";")); part != "" {
				r.sql(part)
			}
			r.pos++
		}
	default:
		r.block()
		r.accept(";")
		if r.pos < len(r.toks) {
			r.fail("its text is not understood")
		}
	}
	return r.body
}

// bodyReader reads a function's body.
type bodyReader struct {
	text  string
	plain bool // standard_conforming_strings is on
	toks  []bodyToken
	pos   int
	depth int
	body  *functionBody
}

// bodyToken is a word in lower case, a punctuation mark, or one of these: x"
// for a quoted name, x' for a string, 0 for a number or a parameter.
type bodyToken struct {
	start, end int
	word       string
}

func (r *bodyReader) fail(why string) {
	if r.body.fault == "" {
		r.body.fault = why
	}
	r.pos = len(r.toks)
}

// word gives the token it stands on, "" at the end.
func (r *bodyReader) word() string { return r.after(0) }

func (r *bodyReader) after(n int) string {
	if r.pos+n < len(r.toks) {
		return r.toks[r.pos+n].word
	}
	return ""
}

func (r *bodyReader) accept(word string) bool {
	if r.word() != word {
		return false
	}
	r.pos++
	return true
}

func (r *bodyReader) expect(words ...string) {
	for _, w := range words {
		if !r.accept(w) {
			r.fail("its text is not understood")
		}
	}
}

// isName says whether a word may be a name.
func isName(word string) bool {
	return word == `x"` || word != "" && word != "x'" && isLetter(word[0])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// cut fills toks.
func (r *bodyReader) cut() bool {
	t := r.text
	for i := 0; i < len(t); {
		start, c := i, t[i]
		word := ""
		switch {
		case c == ' ' || c >= '\t' && c <= '\r':
			i++
			continue
		case strings.HasPrefix(t[i:], "--"):
			for i < len(t) && t[i] != '\n' && t[i] != '\r' {
				i++
			}
			continue
		case strings.HasPrefix(t[i:], "/*"):
			for level := 0; ; {
				switch {
				case i >= len(t):
					return false
				case strings.HasPrefix(t[i:], "/*"):
					level, i = level+1, i+2
				case strings.HasPrefix(t[i:], "*/"):
					level, i = level-1, i+2
				default:
					i++
				}
				if level == 0 {
					break
				}
			}
			continue
		case c == '\'' || c == '"':
			escapes := false
			if n := len(r.toks); n > 0 && r.toks[n-1].end == start {
				switch prev := r.toks[n-1].word; prev {
				case "e":
					escapes = true
				case "u&", "&", "b", "x", "n", "x'", `x"`:
					return false // rare, and with rules of its own
				}
			}
			if n := len(r.toks); c == '\'' && n > 0 && r.toks[n-1].word == "x'" {
				return false // a literal may go on over a line's end
			}
			for i++; ; i++ {
				if i >= len(t) {
					return false
				}
				if t[i] == '\\' && c == '\'' {
					if !escapes && !r.plain {
						return false
					}
					if escapes {
						i++
						continue
					}
				}
				if t[i] == c {
					if i+1 < len(t) && t[i+1] == c {
						i++
						continue
					}
					break
				}
			}
			i++
			word = "x" + string(c)
			if escapes {
				start = r.toks[len(r.toks)-1].start
				r.toks = r.toks[:len(r.toks)-1]
			}
		case isLetter(c):
			for i < len(t) && (isLetter(t[i]) || isDigit(t[i]) || t[i] == '$') {
				i++
			}
			word = strings.ToLower(t[start:i])
		case isDigit(c):
			for i < len(t) && isDigit(t[i]) {
				i++
			}
			word = "0"
		case c == '$':
			for i++; i < len(t) && (isLetter(t[i]) || isDigit(t[i])); i++ {
			}
			tag := t[start:i]
			if len(tag) > 1 && isDigit(tag[1]) {
				if strings.IndexFunc(tag[1:], func(c rune) bool { return c < '0' || c > '9' }) >= 0 {
					return false
				}
				word = "0"
				break
			}
			if i == len(t) || t[i] != '$' {
				return false
			}
			tag += "$"
			end := strings.Index(t[i+1:], tag)
			if end < 0 {
				return false
			}
			i += 1 + end + len(tag)
			word = "x'"
		default:
			n := 1
			switch two := t[i:min(i+2, len(t))]; two {
			case ":=", "::", "..", "<<", ">>":
				n = 2
			}
			i += n
			word = t[start:i]
		}
		r.toks = append(r.toks, bodyToken{start, i, word})
	}
	return len(r.toks) > 0
}

// take gives the text up to the first of some words outside of parentheses, and
// stands on that word then. Outside them PL/pgSQL ends an expression there, too.
func (r *bodyReader) take(until ...string) string {
	from := r.pos
	for level := 0; r.pos < len(r.toks); r.pos++ {
		switch w := r.word(); {
		case level == 0 && slices.Contains(until, w):
			if r.pos == from {
				return ""
			}
			return r.text[r.toks[from].start:r.toks[r.pos-1].end]
		case w == "(" || w == "[":
			level++
		case w == ")" || w == "]":
			level--
		}
	}
	if until[0] == ";" && from < r.pos && len(until) == 1 && r.body.fault == "" {
		return r.text[r.toks[from].start:r.toks[len(r.toks)-1].end] // SQL's last statement
	}
	r.fail("its text is not understood")
	return ""
}

// expr reads an expression up to a word, and that word.
func (r *bodyReader) expr(until string) {
	if text := r.take(until); text != "" {
		r.sql("SELECT " + text)
	}
	r.expect(until)
}

// sql takes in a statement.
func (r *bodyReader) sql(text string) {
	if r.body.fault != "" {
		return
	}
	st := sqlscan.Scan(text)
	switch {
	case st.Backslash && !r.plain:
		r.fail("a backslash in a literal")
	case st.Class == sqlscan.ClassWrite && len(st.Targets) > 0, st.Class == sqlscan.ClassRead, st.Class == sqlscan.ClassLock,
		st.Class == sqlscan.ClassSession && st.Verb == "NOTIFY":
		r.body.statements = append(r.body.statements, st)
	default:
		if len(text) > 60 {
			text = strings.ToValidUTF8(text[:60], "") + "…"
		}
		r.fail(text)
	}
}
