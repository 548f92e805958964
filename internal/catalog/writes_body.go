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

// block reads [<<label>>] [DECLARE …] BEGIN … [EXCEPTION …] END.
func (r *bodyReader) block() {
	r.label()
	if r.word() == "declare" {
		r.declare()
	}
	r.expect("begin")
	r.statements("end", "exception")
	if r.accept("exception") {
		for r.accept("when") {
			r.take("then")
			r.expect("then")
			r.statements("end", "when")
		}
	}
	r.expect("end")
	if isName(r.word()) {
		r.pos++
	}
}

func (r *bodyReader) label() {
	for r.accept("<<") {
		r.pos++
		r.expect(">>")
	}
}

func (r *bodyReader) declare() {
	for r.body.fault == "" && r.word() != "begin" {
		if r.accept("declare") {
			continue
		}
		if !isName(r.word()) {
			r.fail("its text is not understood")
			return
		}
		r.pos++
		r.accept("constant")
		switch r.word() {
		case "alias":
			r.take(";")
			r.pos++
			continue
		case "cursor", "no", "scroll":
			r.fail("it declares a cursor")
			return
		}
		from := r.pos
		typ := r.take(";", ":=", "=", "default", "not", "collate")
		r.typeOf(typ, from)
		if r.accept("collate") {
			r.take(";", ":=", "=", "default", "not")
		}
		if r.accept("not") {
			r.expect("null")
		}
		if !r.accept(":=") && !r.accept("=") {
			r.accept("default")
		}
		r.expr(";")
	}
}

// typeOf takes in a variable's type, which stands from a token on.
func (r *bodyReader) typeOf(text string, from int) {
	var names []string
	for i := from; i < r.pos; i++ {
		switch t := r.toks[i]; {
		case t.word == "%":
			if i+1 < r.pos && r.toks[i+1].word == "type" && len(names) > 0 {
				names = names[:len(names)-1] // the column
			}
			switch len(names) {
			case 0:
			case 1:
				r.body.reads = append(r.body.reads, sqlscan.Name{Name: names[0]})
			case 2:
				r.body.reads = append(r.body.reads, sqlscan.Name{Schema: names[0], Name: names[1]})
			default:
				r.fail("a type that is not understood")
			}
			return
		case t.word == `x"`:
			names = append(names, strings.ReplaceAll(r.text[t.start+1:t.end-1], `""`, `"`))
		case t.word != ".":
			names = append(names, t.word)
		}
	}
	r.sql("SELECT NULL::" + text)
}

// statements reads statements up to one of some words.
func (r *bodyReader) statements(until ...string) {
	if r.depth++; r.depth > 100 {
		r.fail("nested too deep")
	}
	for r.body.fault == "" {
		r.label()
		if r.assignment() {
			continue
		}
		if slices.Contains(until, r.word()) {
			break
		}
		r.statement()
	}
	r.depth--
}

// assignment reads a.b[i] := x; if it is one.
func (r *bodyReader) assignment() bool {
	if !isName(r.word()) {
		return false
	}
	from := r.pos
	for r.pos++; ; {
		if r.word() == "." && isName(r.after(1)) {
			r.pos += 2
		} else if r.word() == "[" {
			for level := 0; r.pos < len(r.toks); r.pos++ {
				if w := r.word(); w == "[" {
					level++
				} else if w == "]" {
					if level--; level == 0 {
						break
					}
				}
			}
			r.pos++
		} else {
			break
		}
	}
	if w := r.word(); w != ":=" && w != "=" {
		r.pos = from
		return false
	}
	r.sql("SELECT " + r.text[r.toks[from].start:r.toks[r.pos-1].end]) // its subscripts
	r.pos++
	r.expr(";")
	return true
}

func (r *bodyReader) statement() {
	switch w := r.word(); w {
	case "begin", "declare":
		r.block()
		r.expect(";")
	case "if":
		r.pos++
		r.expr("then")
		r.statements("elsif", "elseif", "else", "end")
		for r.accept("elsif") || r.accept("elseif") {
			r.expr("then")
			r.statements("elsif", "elseif", "else", "end")
		}
		if r.accept("else") {
			r.statements("end")
		}
		r.expect("end", "if", ";")
	case "case":
		r.pos++
		if text := r.take("when"); text != "" {
			r.sql("SELECT " + text)
		}
		for r.accept("when") {
			r.expr("then")
			r.statements("when", "else", "end")
		}
		if r.accept("else") {
			r.statements("end")
		}
		r.expect("end", "case", ";")
	case "while":
		r.pos++
		r.expr("loop")
		r.loop()
	case "loop":
		r.pos++
		r.loop()
	case "for":
		r.pos++
		r.take("in")
		r.expect("in")
		r.accept("reverse")
		switch r.word() {
		case "select", "with", "values", "(", "insert", "update", "delete", "merge":
			r.sql(r.take("loop"))
		default:
			r.expr("..") // a cursor, or EXECUTE, has none
			if text := r.take("by", "loop"); r.accept("by") {
				r.sql("SELECT " + text)
				text = r.take("loop")
				r.sql("SELECT " + text)
			} else {
				r.sql("SELECT " + text)
			}
		}
		r.expect("loop")
		r.loop()
	case "foreach":
		r.take("in")
		r.expect("in", "array")
		r.expr("loop")
		r.loop()
	case "exit", "continue":
		r.pos++
		if isName(r.word()) && r.word() != "when" {
			r.pos++
		}
		if r.accept("when") {
			r.expr(";")
		} else {
			r.expect(";")
		}
	case "return":
		r.pos++
		if r.accept("query") {
			r.sql(r.take(";"))
			r.expect(";")
			return
		}
		r.accept("next")
		r.expr(";")
	case "raise":
		r.pos++
		r.take(";", ",", "using") // the level, and the format or the condition
		if r.accept(",") {
			r.sql("SELECT " + r.take(";", "using"))
		}
		if r.accept("using") {
			r.sql("SELECT " + r.take(";"))
		}
		r.expect(";")
	case "perform":
		r.pos++
		r.expr(";")
	case "assert":
		r.pos++
		r.expr(";")
	case "null":
		r.pos++
		r.expect(";")
	case "get":
		r.take(";")
		r.expect(";")
	default:
		r.query()
	}
}

func (r *bodyReader) loop() {
	r.statements("end")
	r.expect("end", "loop")
	if isName(r.word()) {
		r.pos++
	}
	r.expect(";")
}

// query reads an SQL statement, and leaves out INTO and its variables.
func (r *bodyReader) query() {
	text, from, into := "", r.pos, false
	for level := 0; r.word() != ";" || level > 0; r.pos++ {
		switch w := r.word(); w {
		case "":
			r.fail("its text is not understood")
			return
		case "(", "[":
			level++
		case ")", "]":
			level--
		case "into":
			if level > 0 || r.pos == from || r.toks[r.pos-1].word == "insert" || r.toks[r.pos-1].word == "merge" {
				continue
			}
			if into {
				r.fail("INTO twice")
				return
			}
			into = true
			text += r.text[r.toks[from].start:r.toks[r.pos].start] + " "
			r.pos++
			r.accept("strict")
			for {
				if !isName(r.word()) {
					r.fail("INTO what is not understood")
					return
				}
				for r.pos++; r.word() == "." && isName(r.after(1)); {
					r.pos += 2
				}
				if r.word() == "[" {
					r.fail("INTO what is not understood")
					return
				}
				if !r.accept(",") {
					break
				}
			}
			from = r.pos
			r.pos--
		}
	}
	r.sql(text + r.text[r.toks[from].start:r.toks[r.pos].start])
	r.expect(";")
}
