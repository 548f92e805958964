package sqlscan

import (
	"strings"
	"unicode/utf8"
)

// WithoutOuter takes one comment off the start or the end of a text, as a trace
// comment of each request stands there, without looking at what is between: its
// time goes with the comment's length, and with that of a search for comment
// marks. It is ok if body has the same Identity as text, provided that body by
// itself is a statement that Scan understands. A hint stays.
//
// That proviso carries the proof: what is whole by itself ends outside of any
// literal, and holds no comment, so that nothing in the comment can belong to
// it.
func WithoutOuter(text string) (body string, ok bool) {
	trimmed := strings.Trim(text, space)
	var comment string
	switch {
	case strings.HasPrefix(trimmed, "/*"):
		end := strings.Index(trimmed, "*/")
		if end < 2 {
			return "", false
		}
		comment, body = trimmed[2:end], trimmed[end+2:]
	case strings.HasPrefix(trimmed, "--"):
		end := strings.IndexAny(trimmed, "\r\n")
		if end < 0 {
			return "", false
		}
		comment, body = trimmed[2:end], trimmed[end+1:]
	case strings.HasSuffix(trimmed, "*/"):
		start := strings.LastIndex(trimmed, "/*")
		if start < 0 || start+2 > len(trimmed)-2 {
			return "", false
		}
		comment, body = trimmed[start+2:len(trimmed)-2], trimmed[:start]
		if strings.Contains(comment, "*/") {
			return "", false
		}
	default:
		start := strings.LastIndex(trimmed, "--")
		if start < 0 {
			return "", false
		}
		comment, body = trimmed[start+2:], trimmed[:start]
		if strings.ContainsAny(comment, "\r\n") || strings.HasSuffix(body, "-") {
			return "", false
		}
	}
	body = strings.Trim(body, space)
	if len(text) > MaxText || body == "" || strings.IndexByte(comment, 0) >= 0 || !utf8.ValidString(comment) {
		return "", false
	}
	if strings.Contains(comment, "/*") || strings.Contains(body, "--") || strings.Contains(body, "/*") || mentions(comment) {
		return "", false
	}
	return body, true
}

// space is what PostgreSQL skips between tokens, in every version.
const space = " \t\r\n\f"

// mentions says whether a comment may be a hint.
func mentions(comment string) bool {
	for i := 0; i+len(hintMark) <= len(comment); i++ {
		if comment[i]|0x20 == hintMark[0] && strings.EqualFold(comment[i:i+len(hintMark)], hintMark) {
			return true
		}
	}
	return false
}
