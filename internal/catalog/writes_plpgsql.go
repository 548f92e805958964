package catalog

import (
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

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
