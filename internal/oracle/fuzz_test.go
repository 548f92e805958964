package oracle

import "testing"

// FuzzCompare lets Go's fuzzer look for texts that the scanner gets wrong: it
// sees which of the scanner's ways a text takes.
func FuzzCompare(f *testing.F) {
	for _, trap := range traps {
		f.Add(trap.text)
	}
	g := NewGenerator(seed)
	for range 200 {
		f.Add(g.Next())
	}
	f.Fuzz(func(t *testing.T, text string) {
		if o := Compare(text); len(o.Faults) > 0 {
			t.Fatalf("%q\n%q", text, o.Faults)
		}
	})
}
