package sqlscan

import (
	"strings"
	"testing"
)

// Identity says what Scan says, of a comment at any place of any text.
func TestIdentityIsScans(t *testing.T) {
	texts := append(append(append([]string{}, seeds...), typical...), notReads...)
	texts = append(texts, "SELECT (a", "SELECT a)", "SELECT [a)", "SELECT $70000", "SELECT 'a", "SELECT a\x00", "SELECT '\xff'",
		"SELECT 'a'\n'b'", "SELECT 'a'\nU&'b'", "SELECT E'a' B'1' 'b'", "SELECT $$a$$ 'b'", "SELECT "+strings.Repeat("(", 200))
	for _, text := range texts {
		for _, comment := range []string{"", "/* x */", "/**/", "-- x\n", "/* a */ /* b */", "/* cachedpgx: off */", "/* x */ -- cachedpgx: off\n", "--", "/*"} {
			for at := 0; at <= len(text); at++ {
				text := text[:at] + comment + text[at:]
				want := Scan(text).Identity
				if got, ok := Identity(text); ok && got != want {
					t.Fatalf("%q\n got %q\nwant %q", text, got, want)
				}
			}
		}
	}
}

func TestIdentityGivesUp(t *testing.T) {
	for _, text := range []string{
		"SELECT" + strings.Repeat(" /* x */", 20) + " a FROM t",
		"SELECT /* x */ " + strings.Repeat("(", 40) + "a" + strings.Repeat(")", 40) + " FROM t",
	} {
		if got, ok := Identity(text); ok {
			t.Errorf("%s: %q", text, got)
		}
	}
	if _, ok := Identity("SELECT" + strings.Repeat(" /* cachedpgx: off */", 20) + " a FROM t"); !ok {
		t.Error("comments that stay take no room")
	}
}

var identityTexts = map[string]struct {
	text   string
	allocs float64
}{
	"none":   {typical[0], 0},
	"before": {"/* traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 */ " + typical[0], 1},
	"behind": {typical[0] + " /*traceparent='00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'*/", 1},
	"hint":   {"/* cachedpgx: ttl=5s */ " + typical[0], 0},
	"join":   {"-- name: orders\n" + typical[2], 1},
}

func TestIdentityAllocs(t *testing.T) {
	for name, tt := range identityTexts {
		if got := testing.AllocsPerRun(100, func() { Identity(tt.text) }); got != tt.allocs {
			t.Errorf("%s: %v allocations, want %v", name, got, tt.allocs)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	for _, name := range []string{"none", "before", "behind", "hint", "join"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Identity(identityTexts[name].text)
			}
		})
	}
}
