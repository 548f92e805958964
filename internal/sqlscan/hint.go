package sqlscan

import (
	"slices"
	"strings"
	"time"
)

// identity writes the text without its comments, and reads the hints. A hint
// stays, a malformed one too: it is counted by text.
func (s *scanner) identity() {
	gone := s.comments[:0]
	for _, c := range s.comments {
		if !s.hint(s.text[c.start:c.end]) && c.flags&flagAfterText == 0 {
			gone = append(gone, c)
		}
	}
	s.st.Identity = withoutComments(s.text, gone)
}

const hintMark = "cachedpgx:"

// hint reads a comment. It says whether the comment means us; what in it is not
// understood is listed and ignored, the rest holds.
func (s *scanner) hint(comment string) bool {
	comment = hintBody(comment)
	if comment == "" {
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

// hintBody gives what a comment that means us says, in whatever case it calls us;
// "" if it means somebody else.
func hintBody(comment string) string {
	if comment[0] == '-' {
		comment = comment[2:]
	} else {
		comment = comment[2 : len(comment)-2]
	}
	comment = strings.TrimSpace(comment)
	if len(comment) < len(hintMark) || !strings.EqualFold(comment[:len(hintMark)], hintMark) {
		return ""
	}
	return comment
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
		if !setDuration(&h.TTL, value) {
			return false
		}
	case "stale":
		if !setDuration(&h.Stale, value) {
			return false
		}
	case "tag":
		if !isTag(value) {
			return false
		}
		if !slices.Contains(h.Tags, value) {
			h.Tags = append(h.Tags, value)
		}
	default:
		return false
	}
	h.Set = true
	return true
}

// setDuration reads a time. One that is given twice says nothing certain.
func setDuration(to *time.Duration, value string) bool {
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Millisecond || *to != 0 {
		return false
	}
	*to = d
	return true
}

// isTag says whether a tag may be spelled so.
func isTag(s string) bool {
	for i := range len(s) {
		if c := s[i]; bytes[c]&(byteIdentCont|byteDigit) == 0 && !strings.ContainsRune("-.:/", rune(c)) || c == '$' || c >= 0x80 {
			return false
		}
	}
	return s != ""
}
