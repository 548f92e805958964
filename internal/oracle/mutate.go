package oracle

import (
	"math/rand/v2"
	"strings"
)

// Mutator changes texts by their tokens.
type Mutator struct {
	r    *rand.Rand
	pool [][]string // the tokens of texts that parts are taken from
}

// NewMutator makes one that takes parts from the texts.
func NewMutator(seed uint64, texts []string) *Mutator {
	m := &Mutator{r: rand.New(rand.NewPCG(seed, 1))}
	for _, t := range texts {
		if tokens := cut(t); len(tokens) > 0 && len(tokens) < 400 {
			m.pool = append(m.pool, tokens)
		}
	}
	return m
}

// Next gives a text with one to three changes.
func (m *Mutator) Next() string {
	tokens := m.pool[m.r.IntN(len(m.pool))]
	for n := 1 + m.r.IntN(3); n > 0; n-- {
		tokens = m.change(tokens)
	}
	return strings.Join(tokens, "")
}

// strays are tokens that change what a statement is.
var strays = []string{
	" FOR UPDATE ", " INTO ", " x ", ";", "(", ")", ",", ".", " FROM ", " AS ", "::date", " current_date ", " DELETE ", " WITH ", "'now'", "'",
	" ctid ", " TABLESAMPLE ", "*", "[1]", " SELECT ", " UNION ", " ON ", " USING ", " ONLY ", " NOT ", "--", "/*", "*/", "$$", "\"", "\n", " $1 ",
	" E", " U&", " LATERAL ", " OVER ", " WHERE ", " SIMILAR ", " IN ", " ALL ", " RETURNING ", " SET ", " t ", " INTERVAL ", " RECURSIVE ",
}

// change gives the tokens with one change. It leaves what it is given as it is.
func (m *Mutator) change(tokens []string) []string {
	n := len(tokens)
	if n == 0 {
		return tokens
	}
	i, j := m.r.IntN(n), m.r.IntN(n)
	out := append(make([]string, 0, n+8), tokens...)
	switch m.r.IntN(8) {
	case 0: // delete
		out = append(out[:i], out[i+1:]...)
	case 1: // delete a few
		j = min(i+1+m.r.IntN(5), n)
		out = append(out[:i], out[j:]...)
	case 2: // duplicate
		out = append(out[:i+1], tokens[i:]...)
	case 3: // swap
		out[i], out[j] = out[j], out[i]
	case 4: // put in a stray one
		out = append(append(out[:i], strays[m.r.IntN(len(strays))]), tokens[i:]...)
	case 5: // put one for another
		out[i] = strays[m.r.IntN(len(strays))]
	default: // splice a part of another text in, or in place of some
		other := m.pool[m.r.IntN(len(m.pool))]
		from := m.r.IntN(len(other))
		to := min(from+1+m.r.IntN(12), len(other))
		end := min(i+m.r.IntN(4), n)
		out = append(append(out[:i], other[from:to]...), tokens[end:]...)
	}
	return out
}

// cut gives the tokens of a text, white space among them, joined the text. It is
// as simple as can be: what it gets wrong is one more mutation.
func cut(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case isWordByte(c):
			for end < len(text) && isWordByte(text[end]) {
				end++
			}
		case c == '\'' || c == '"':
			for end < len(text) && text[end] != c {
				end++
			}
			end = min(end+1, len(text))
		case strings.IndexByte(operatorBytes, c) >= 0:
			for end < len(text) && strings.IndexByte(operatorBytes, text[end]) >= 0 {
				end++
			}
		case c == ' ' || c == '\n' || c == '\t':
			for end < len(text) && (text[end] == ' ' || text[end] == '\n' || text[end] == '\t') {
				end++
			}
		case c == ':' && end < len(text) && text[end] == ':':
			end++
		}
		out = append(out, text[i:end])
		i = end
	}
	return out
}
