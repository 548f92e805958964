package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// How names, literals and the space between tokens are spelled.

// ident gives a name for a column or a table.
func (g *Generator) ident() string {
	switch g.r.IntN(14) {
	case 0:
		return g.pick(`"a"`, `"T"`, `"select"`, `"a b"`, `"x""y"`, `"größe"`, `"now"`, `"u"`)
	case 1:
		return g.pick(`U&"d\0061ta"`, `u&"\0074"`, `U&"T"`)
	case 2:
		// Words of the grammar that may be names.
		return g.pick("key", "value", "index", "name", "type", "user_id", "status", "date", "time", "text", "data", "row_number", "begin", "insert",
			"update", "cycle", "search", "path", "columns", "nested", "rows", "range", "groups", "filter", "over", "ordinality", "materialized",
			"recursive", "temp", "format", "json", "values", "interval", "timestamp", "coalesce", "no", "of", "first", "next", "zone", "at")
	case 3:
		return g.pick("größe", "a$1", "_x", "Шапка", strings.Repeat("long_", 15)+g.pick("a", "b"))
	}
	return g.pick("a", "b", "c", "t", "u", "v", "w", "x", "T", "Users", "orders", "id", "created_at")
}

// label gives a name that may be any word.
func (g *Generator) label() string {
	if g.one(4) {
		return g.pick("select", "from", "user", "current_date", "table", "left", "order", "FOR", "into", "update", "tablesample", "now")
	}
	return g.ident()
}

// bareLabel gives one for use without AS.
func (g *Generator) bareLabel() string {
	if g.one(4) {
		return g.pick("select", "table", "left", "case", "end", "value", "key", "now")
	}
	if g.one(5000) {
		return g.pick("user", "current_date", "session_user")
	}
	return g.pick("a", "b", `"c"`, "d1", "T")
}

// literal emits a text literal.
func (g *Generator) literal() {
	body := g.pick("x", "", "2020-01-01", "it''s", "now", "today", "TOMORROW", "%now%", "now shipping", "a b", "/* c */", "-- d", "known", "nowhere",
		"yesterday 12:00", "{now}", "$1", "größe", "select", "12:30")
	switch g.r.IntN(12) {
	case 0:
		g.emit("E'" + body + `\n\'` + "'")
	case 1:
		g.emit(`U&'` + body + `\0061'`)
	case 2:
		if body != "$1" {
			g.emit("$$" + body + "$$")
			return
		}
		g.emit("$x$" + body + "$x$")
	case 3:
		g.emit("$q1$" + body + "$$$q1$")
	case 4:
		g.emit("'" + body + "'\n '" + body + "'")
	case 5:
		g.emit("'" + body + "' -- x\n'more'")
	case 6:
		g.emit(g.pick("B'101'", "X'1F'"))
	case 7:
		g.emit(`U&'n!006fw'`, "UESCAPE", "'!'")
	default:
		g.emit("'" + body + "'")
	}
}

// isQuoted says whether a token is a literal or a quoted name.
func isQuoted(t string) bool {
	return strings.ContainsAny(t[:1], `'"$`) || len(t) > 1 && strings.ContainsRune("eEnNbBxX", rune(t[0])) && t[1] == '\'' ||
		len(t) > 2 && (t[0] == 'U' || t[0] == 'u') && t[1] == '&' && (t[2] == '\'' || t[2] == '"')
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

const operatorBytes = "~!@#^&|`?+-*/%<>="

// spell writes tokens as one text: with spaces and comments of any kind between
// them, or none where none is needed, and words in any case.
func spell(r *rand.Rand, tokens []string) string {
	var b strings.Builder
	plain := r.IntN(2) == 0
	last := byte(' ')
	quoted := false
	for i, t := range tokens {
		if t == "" {
			continue
		}
		if !plain && !isQuoted(t) && r.IntN(3) == 0 {
			t = recase(r, t)
		}
		space := " "
		if !plain && i > 0 {
			switch r.IntN(12) {
			case 0:
				space = "\n"
			case 1:
				space = "\t "
			case 2:
				space = "/* x */"
			case 3:
				space = " -- y'\n"
			case 4:
				space = fmt.Sprintf(" /* trace=%d /* ; */ */ ", r.IntN(1000))
			case 5, 6, 7:
				if separable(last, t[0]) {
					space = ""
				}
			}
		}
		if quoted && isQuoted(t) && t[0] == '\'' {
			space = " " // two literals stay two
		}
		if i > 0 {
			b.WriteString(space)
		}
		b.WriteString(t)
		last, quoted = t[len(t)-1], isQuoted(t)
	}
	if r.IntN(20) == 0 {
		b.WriteString(" -- end")
	}
	return b.String()
}

// separable says whether two tokens need no space between them.
func separable(a, b byte) bool {
	in := func(c byte, set string) bool { return strings.IndexByte(set, c) >= 0 }
	switch {
	case in(a, "(),[];") && !in(b, ""), in(b, "(),[];"):
		return true
	case isWordByte(a) && in(b, operatorBytes), in(a, operatorBytes) && isWordByte(b):
		return true
	}
	return false
}

// recase changes the case of ASCII letters.
func recase(r *rand.Rand, t string) string {
	switch r.IntN(3) {
	case 0:
		return mapASCII(t, func(c byte) byte { return c &^ 0x20 })
	case 1:
		return mapASCII(t, func(c byte) byte { return c | 0x20 })
	}
	return mapASCII(t, func(c byte) byte { return c ^ byte(r.IntN(2))<<5 })
}

func mapASCII(t string, f func(byte) byte) string {
	b := []byte(t)
	for i, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			b[i] = f(c)
		}
	}
	return string(b)
}
