package oracle

import "strings"

// Shrink gives a shorter text with a fault of the same kind, for who has to read
// it: as short as leaving tokens out can make it.
func Shrink(text string) string {
	kind := faultKind(Compare(text))
	if kind == "" {
		return text
	}
	tokens := cut(text)
	for size := len(tokens) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(tokens); {
			rest := append(append([]string(nil), tokens[:at]...), tokens[at+size:]...)
			if faultKind(Compare(strings.Join(rest, ""))) == kind {
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

// faultKind is the first word of the first fault.
func faultKind(o Outcome) string {
	if len(o.Faults) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(o.Faults[0], " ")
	return kind
}
