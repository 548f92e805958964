package cachedpgx

import (
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// TestFixes checks that every reason comes with something to do about it, and
// that nothing is said of reasons that there are not.
func TestFixes(t *testing.T) {
	codes := map[string]bool{}
	for c := range sqlscan.FirstForeignReason {
		if name := c.String(); !strings.HasPrefix(name, "code-") {
			codes[name] = true
		}
	}
	for c := catalog.ReasonFeature; c <= catalog.ReasonNoCatalog; c++ {
		codes[catalog.CodeName(c)] = true
	}
	for _, name := range []string{reasonModeOff, reasonNotMarked, reasonAsked, reasonResetHook, reasonPooler, reasonScope,
		reasonBackslash, reasonStandby, reasonUnstorable, reasonTooBig, reasonPolicy, reasonRule} {
		codes[name] = true
	}
	for name := range codes {
		for _, markable := range []bool{false, true} {
			if fix := fixOf(name, "x", markable); fix == "" || strings.Contains(fix, "%") {
				t.Errorf("%s: %q", name, fix)
			}
		}
	}
	for name := range fixes {
		if !codes[name] {
			t.Errorf("a fix for %q, which is no reason", name)
		}
	}
}
