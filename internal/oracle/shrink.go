package oracle

import "strings"

// Shrink gives a shorter text with an outcome of the same kind, for who has to
// read it: as short as leaving tokens out can make it. The kind of a text that
// is to be left as it is is "".
func Shrink(text string, kind func(text string) string) string {
	want := kind(text)
	if want == "" {
		return text
	}
	tokens := cut(text)
	for size := len(tokens) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(tokens); {
			rest := append(append([]string(nil), tokens[:at]...), tokens[at+size:]...)
			if kind(strings.Join(rest, "")) == want {
				tokens, shorter = rest, true
			} else {
				at += max(size/2, 1)
			}
		}
		if !shorter || size > len(tokens) {
			size = min(size/2, len(tokens))
		}
	}
	return strings.Join(tokens, "")
}

// faultKind is the first word of a text's first fault.
func faultKind(text string) string { return firstFault(Compare(text)) }

func firstFault(o Outcome) string {
	if len(o.Faults) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(o.Faults[0], "live: "), " ")
	return kind
}

// refusalKind is the first word of why a cacheable read is refused.
func refusalKind(text string) string {
	kind, _, _ := strings.Cut(Compare(text).Refused, " ")
	return kind
}
