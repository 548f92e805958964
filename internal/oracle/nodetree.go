package oracle

import (
	"fmt"
	"strings"
)

// A node is one of those that PostgreSQL keeps a parsed statement as, in a
// pg_node_tree: {LABEL :field value …}. Its fields hold nodes, lists and words.
type node struct {
	label  string
	fields map[string][]any // a value of several words is as many entries
}

// word gives a field of one word, "" where there is none.
func (n *node) word(field string) string {
	if v := n.fields[field]; len(v) == 1 {
		if s, ok := v[0].(string); ok {
			return s
		}
	}
	return ""
}

// child gives a field that is a node, or nil.
func (n *node) child(field string) *node {
	if v := n.fields[field]; len(v) == 1 {
		c, _ := v[0].(*node)
		return c
	}
	return nil
}

// walk calls f for a value and every node in it.
func walk(v any, f func(*node)) {
	switch v := v.(type) {
	case *node:
		f(v)
		for _, values := range v.fields {
			walk(values, f)
		}
	case []any:
		for _, e := range v {
			walk(e, f)
		}
	}
}

// parseTree reads the server's text form of a tree.
func parseTree(text string) (any, error) {
	p := treeParser{words: treeWords(text)}
	v, err := p.value()
	if err == nil && p.pos != len(p.words) {
		err = fmt.Errorf("oracle: %d words are left of a node tree", len(p.words)-p.pos)
	}
	return v, err
}

// treeWords cuts the text at white space, parentheses and braces.
func treeWords(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\n':
			i++
		case '{', '}', '(', ')':
			out = append(out, text[i:i+1])
			i++
		default:
			start := i
			quoted := c == '"'
			for i++; i < len(text) && (quoted || !strings.ContainsRune(" \n{}()", rune(text[i]))); i++ {
				if text[i] == '\\' {
					i++
				} else if quoted && text[i] == '"' {
					quoted = false
				}
			}
			out = append(out, text[start:min(i, len(text))])
		}
	}
	return out
}

type treeParser struct {
	words []string
	pos   int
}

func (p *treeParser) value() (any, error) {
	if p.pos >= len(p.words) {
		return nil, fmt.Errorf("oracle: a node tree ends too early")
	}
	w := p.words[p.pos]
	p.pos++
	switch w {
	case "(":
		list := []any{}
		for p.pos < len(p.words) && p.words[p.pos] != ")" {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		p.pos++
		return list, nil
	case "{":
		return p.node()
	}
	return w, nil
}

func (p *treeParser) node() (any, error) {
	n := &node{fields: map[string][]any{}}
	if p.pos < len(p.words) {
		n.label = p.words[p.pos]
		p.pos++
	}
	field := ""
	for p.pos < len(p.words) && p.words[p.pos] != "}" {
		if w := p.words[p.pos]; w[0] == ':' {
			field = w[1:]
			p.pos++
			continue
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		n.fields[field] = append(n.fields[field], v)
	}
	p.pos++
	return n, nil
}
