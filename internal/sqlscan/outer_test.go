package sqlscan

import (
	"strings"
	"testing"
)

func TestWithoutOuter(t *testing.T) {
	for text, want := range map[string]string{
		"/* trace 1 */ SELECT 1":           "SELECT 1",
		"SELECT 1 /* trace 1 */":           "SELECT 1",
		"SELECT 1/*trace*/ \n":             "SELECT 1",
		"-- trace\nSELECT 1":               "SELECT 1",
		"SELECT 1 -- trace":                "SELECT 1",
		"/**/SELECT 1":                     "SELECT 1",
		"SELECT 1":                         "",
		"/* a */ SELECT 1 /* b */":         "", // two
		"/* a /* b */ c */ SELECT 1":       "", // nested
		"SELECT 1 /* cachedpgx: ttl=5s */": "",
		"/* CachedPGX: off */ SELECT 1":    "",
		"SELECT 'a' -- b\n":                "SELECT 'a'",
		"/*/ SELECT 1":                     "",
		"-- only":                          "",
	} {
		got, ok := WithoutOuter(text)
		if ok != (want != "") || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}

// FuzzWithoutOuter holds the promise: where the body is understood by itself,
// the text has its identity.
func FuzzWithoutOuter(f *testing.F) {
	for _, s := range []string{"SELECT 1", "SELECT 'a /*' FROM t", "SELECT E'\\'' FROM t", `SELECT "a--" FROM t`, "SELECT $$ /* $$ FROM t", "SELECT 1 +", "SELECT a -- b\nFROM t"} {
		f.Add("/* x */", s, "")
		f.Add("", s, "-- x")
		f.Add("", s, "/* ' */")
	}
	f.Fuzz(func(t *testing.T, before, body, after string) {
		text := before + body + after
		got, ok := WithoutOuter(text)
		if !ok {
			return
		}
		st := Scan(got)
		if st.Class == ClassUnknown || st.Identity != got {
			return
		}
		if id := strings.Trim(Scan(text).Identity, space); id != got {
			t.Errorf("%q: %q, but its identity is %q", text, got, id)
		}
	})
}
