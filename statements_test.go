package cachedpgx

import (
	"fmt"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// TestStatementsComments checks that texts which differ in comments that are no
// hints are one statement, found without being scanned again, and that others
// are not. Kind 3.
func TestStatementsComments(t *testing.T) {
	s := newStatements(1000)
	const text = "SELECT id FROM item WHERE name = 'a -- b' AND id = $1"
	st := s.get(text)
	for _, same := range []string{
		"/* trace 1 */ " + text, text + " /* trace 1 */", text + " -- trace 1", "-- trace 1\n" + text, "/* a */ " + text + " /* b */", "\n" + text + "/* x */\n",
	} {
		if got := s.get(same); got != st {
			t.Errorf("%q: another statement, of %q", same, got.scan.Identity)
		}
	}
	for _, other := range []string{
		"/* cachedpgx: ttl=5s */ " + text, text + " /* cachedpgx: off */", text + "/* x", text + " \u00a0/* x */", "SELECT id FROM item WHERE name = 'a -- c' AND id = $1",
		"SELECT id FROM item WHERE name = 'a  -- b' AND id = $1", text + " /* \xff */", text + " /* \x00 */", text + ";/* x */ SELECT 1",
	} {
		if got := s.get(other); got == st {
			t.Errorf("%q: the same statement", other)
		}
	}
}

// BenchmarkStatementsGet is what a hit spends on its text: known, with a trace
// comment that is new, and, beside them, a scan.
func BenchmarkStatementsGet(b *testing.B) {
	const text = "SELECT id, name, price FROM product WHERE category_id = $1 AND price < $2 ORDER BY name LIMIT 20"
	s := newStatements(1000)
	s.get(text)
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			s.get(text)
		}
	})
	traced := make([]string, 1024)
	for i := range traced {
		traced[i] = fmt.Sprintf("%s /* trace: %08x */", text, i)
	}
	b.Run("traced", func(b *testing.B) {
		i := 0
		for b.Loop() {
			s.get(traced[i%len(traced)])
			i++
		}
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			sqlscan.Scan(text)
		}
	})
}
