package sqlscan

import (
	"strings"
	"time"
)

// identity writes the text without its comments, and reads the hints. A hint
// stays, a malformed one too: it is counted by text.
func (s *scanner) identity() {
	kept := 0
	for i, c := range s.comments {
		if s.hint(s.text[c.start:c.end]) {
			s.comments[i].flags |= flagAfterText
		}
		if s.comments[i].flags&flagAfterText != 0 {
			kept++
		}
	}
	if kept == len(s.comments) {
		return
	}
	var b strings.Builder
	b.Grow(len(s.text))
	from := 0
	for _, c := range s.comments {
		if c.flags&flagAfterText != 0 {
			continue
		}
		b.WriteString(s.text[from:c.start])
		b.WriteByte(' ')
		from = int(c.end)
	}
	b.WriteString(s.text[from:])
	s.st.Identity = b.String()
}

const hintMark = "cachedpgx:"

// hint reads a comment. It says whether the comment means us; what in it is not
// understood is listed and ignored, the rest holds.
func (s *scanner) hint(comment string) bool {
	if comment[0] == '-' {
		comment = comment[2:]
	} else {
		comment = comment[2 : len(comment)-2]
	}
	comment = strings.TrimSpace(comment)
	if len(comment) < len(hintMark) || !strings.EqualFold(comment[:len(hintMark)], hintMark) {
		return false
	}
	h := &s.st.Hint
	if !strings.HasPrefix(comment, hintMark) {
		h.Malformed = append(h.Malformed, comment) // nearly ours: say so
		return true
	}
	items := strings.Fields(comment[len(hintMark):])
	if len(items) == 0 {
		h.Malformed = append(h.Malformed, comment)
	}
	for _, item := range items {
		if !h.item(item) {
			h.Malformed = append(h.Malformed, item)
		}
	}
	return true
}

// item reads one wish, and says whether it was understood.
func (h *Hint) item(item string) bool {
	key, value, assigned := strings.Cut(item, "=")
	switch key {
	case "off":
		if assigned {
			return false
		}
		h.Off = true
	case "ttl":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || h.TTL != 0 {
			return false // one that is given twice says nothing certain
		}
		h.TTL = d
	default:
		return false
	}
	h.Set = true
	return true
}
