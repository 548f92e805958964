package sqlscan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHints(t *testing.T) {
	tests := []struct {
		name, text string
		want       Hint
	}{
		{"none", "SELECT a /* x */ FROM t", Hint{}},
		{"ttl", "/* cachedpgx: ttl=5s */ SELECT a FROM t", Hint{Set: true, TTL: 5 * time.Second}},
		{"tight", "SELECT a/*cachedpgx:ttl=1m30s*/FROM t", Hint{Set: true, TTL: 90 * time.Second}},
		{"off in a line", "SELECT a FROM t -- cachedpgx: off", Hint{Set: true, Off: true}},
		{"both", "SELECT a FROM t /* cachedpgx: ttl=5s off */", Hint{Set: true, Off: true, TTL: 5 * time.Second}},
		{"in two comments", "/* cachedpgx: off */ SELECT a FROM t -- cachedpgx: ttl=1s", Hint{Set: true, Off: true, TTL: time.Second}},
		{"in a write", "/* cachedpgx: off */ DELETE FROM t", Hint{Set: true, Off: true}},
		{"not in a literal", "SELECT '/* cachedpgx: off */' FROM t", Hint{}},
		{"not further in", "SELECT a /* see cachedpgx: off */ FROM t", Hint{}},
		{"unknown words are listed, the rest holds", "/* cachedpgx: ttl=5s for=1s home */ SELECT a FROM t",
			Hint{Set: true, TTL: 5 * time.Second, Malformed: []string{"for=1s", "home"}}},
		{"stale", "/* cachedpgx: stale=1s */ SELECT a FROM t", Hint{Set: true, Stale: time.Second}},
		{"stale twice", "/* cachedpgx: stale=1s stale=1s */ SELECT a FROM t", Hint{Set: true, Stale: time.Second, Malformed: []string{"stale=1s"}}},
		{"stale for no time", "/* cachedpgx: stale=0 */ SELECT a FROM t", Hint{Malformed: []string{"stale=0"}}},
		{"tags", "/* cachedpgx: tag=home tag=shop:1/a-b.c_D tag=home */ SELECT a FROM t",
			Hint{Set: true, Tags: []string{"home", "shop:1/a-b.c_D"}}},
		{"no tags", "/* cachedpgx: tag= tag tag=a,b tag=a$ tag=é */ SELECT a FROM t",
			Hint{Malformed: []string{"tag=", "tag", "tag=a,b", "tag=a$", "tag=é"}}},
		{"no time", "/* cachedpgx: ttl=5 */ SELECT a FROM t", Hint{Malformed: []string{"ttl=5"}}},
		{"no time at all", "/* cachedpgx: ttl=0s */ SELECT a FROM t", Hint{Malformed: []string{"ttl=0s"}}},
		{"time running back", "/* cachedpgx: ttl=-1s */ SELECT a FROM t", Hint{Malformed: []string{"ttl=-1s"}}},
		{"said twice", "/* cachedpgx: ttl=1s ttl=2s */ SELECT a FROM t", Hint{Set: true, TTL: time.Second, Malformed: []string{"ttl=2s"}}},
		{"off is no value", "/* cachedpgx: off=1 */ SELECT a FROM t", Hint{Malformed: []string{"off=1"}}},
		{"empty", "/* cachedpgx: */ SELECT a FROM t", Hint{Malformed: []string{"cachedpgx:"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Scan(tt.text).Hint; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\n got %+v\nwant %+v", tt.text, got, tt.want)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no comment", "SELECT  a FROM t", "SELECT  a FROM t"},
		{"a trace comment", "/* trace=1 */ SELECT a FROM t", "  SELECT a FROM t"},
		{"a comment between words", "SELECT/* x */a FROM t", "SELECT a FROM t"},
		{"a line comment keeps its new line", "SELECT a -- x\nFROM t", "SELECT a  \nFROM t"},
		{"nested", "SELECT /* a /* b */ c */ a FROM t", "SELECT   a FROM t"},
		{"hints stay", "/* cachedpgx: off */ SELECT a /* x */ FROM t", "/* cachedpgx: off */ SELECT a   FROM t"},
		{"malformed hints stay", "/* cachedpgx: x */ SELECT a FROM t", "/* cachedpgx: x */ SELECT a FROM t"},
		{"not in literals", "SELECT '/* x */', $$-- y$$, \"/* z */\" FROM t", "SELECT '/* x */', $$-- y$$, \"/* z */\" FROM t"},
		{"within a continued literal", "SELECT 'a' -- x\n 'b' FROM t", "SELECT 'a' -- x\n 'b' FROM t"},
		{"between literals that a space would join", "SELECT 'a' /* x */\n'b' FROM t", "SELECT 'a' /* x */\n'b' FROM t"},
		{"between operators", "SELECT 1 +/* x */- 2 FROM t", "SELECT 1 + - 2 FROM t"},
		{"no SQL", "SELECT 'a /* x */", "SELECT 'a /* x */"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if st.Identity != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.text, st.Identity, tt.want)
			}
			if got, ok := Identity(tt.text); !ok || got != tt.want {
				t.Errorf("%s\n got %s by itself, %v\nwant %s", tt.text, got, ok, tt.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) string {
		return "SELECT " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + " FROM t"
	}
	tests := []struct {
		name, text string
		want       ReasonCode
	}{
		{"too long", "SELECT a FROM t -- " + strings.Repeat("x", MaxText), ReasonTooLong},
		{"a NUL byte", "SELECT a FROM t\x00", ReasonBadText},
		{"no UTF-8", "SELECT 'a\xff' FROM t", ReasonBadText},
		{"parentheses", deep(1000), ReasonTooDeep},
		{"cases", "SELECT " + strings.Repeat("CASE WHEN ", 1000) + "a" + strings.Repeat(" THEN 1 END", 1000) + " FROM t", ReasonTooDeep},
		{"common table expressions", "WITH a AS (TABLE t)" + strings.Repeat(", a AS (TABLE t)", 300) + " SELECT 1 FROM a", ReasonTooDeep},
		{"an unfinished literal", "SELECT 'a FROM t", ReasonSyntax},
		{"several", "SELECT 1; SELECT 2", ReasonSeveral},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if st.Class != ClassUnknown || len(st.Reasons) == 0 || st.Reasons[0].Code != tt.want || st.Effect < EffectTouched {
				t.Errorf("%v %v %s", st.Class, st.Effect, codes(st))
			}
		})
	}
	if st := Scan(deep(100)); st.Class != ClassRead {
		t.Errorf("100 parentheses: %v %s", st.Class, codes(st))
	}
	if st := Scan("SELECT 1 FROM t" + strings.Repeat(" UNION SELECT 1 FROM t", 2000)); st.Class != ClassRead {
		t.Errorf("2000 unions: %v %s", st.Class, codes(st))
	}
}

// Texts of the greatest length that repeat one thing take no time to speak of.
func TestLinear(t *testing.T) {
	for _, unit := range []string{
		"(", "((SELECT 1)", "a.", "NOT ", "- ", "a,", "'a'\n", "/*", "/* x */", "--\n", "CASE WHEN ", "f(", "set_config(",
		"WITH a AS (", "WITH RECURSIVE a AS (SELECT 1), ", "a AS (TABLE b), ", "SELECT 1 UNION ", "$$", "$a$", "[1]", "::a",
		"a" + strings.Repeat("b", 70) + ",", "U&\"a\" UESCAPE '!',", ";", "SELECT 1;", "SET a = 1;", "E'\\\\", "\"\"", "<-",
	} {
		for _, lead := range []string{"", "SELECT ", "SELECT * FROM ", "WITH ", "WITH RECURSIVE x AS (SELECT 1), "} {
			text := lead + strings.Repeat(unit, (MaxText-len(lead))/len(unit))
			start := time.Now()
			Scan(text)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%s%s…: %v", lead, unit, d)
			}
		}
	}
}

// A comment between the words of a write never makes a read of it.
func TestCommentsHideNothing(t *testing.T) {
	for _, text := range notReads {
		want := Scan(text)
		for _, comment := range []string{"/**/", "/* x */", "/* /* */ ' */", "--\n", "-- ' /* \n", "\n", "/* cachedpgx: ttl=1s */"} {
			for at := 0; at <= len(text); at++ {
				broken := text[:at] + comment + text[at:]
				if st := Scan(broken); st.Class == ClassRead && !insideWord(text, at) {
					t.Errorf("%q is a read", broken)
				} else if !insideWord(text, at) && st.Class != want.Class {
					t.Errorf("%q is %v, want %v", broken, st.Class, want.Class)
				}
			}
		}
	}
}

// insideWord says whether a place is within a token, or between two that are
// one operator or literal together.
func insideWord(text string, at int) bool {
	for l := (lexer{text: text}); ; {
		t := l.next()
		if t.kind == kindEOF {
			return false
		}
		if int(t.start) < at && at < int(t.end) && t.kind != kindSpace {
			return true
		}
	}
}

var notReads = []string{
	"INSERT INTO t VALUES (1)",
	"WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
	"WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT a FROM x",
	"SELECT a FROM t FOR UPDATE",
	"SELECT a FROM t FOR NO KEY UPDATE",
	"SELECT a FROM (SELECT b FROM t FOR KEY SHARE) x",
	"SELECT a INTO b FROM t",
	"EXPLAIN ANALYZE DELETE FROM t",
	"SELECT a FROM t; DELETE FROM t",
	"CALL f(1)",
}

// A scan is fit for concurrent use, and leaves nothing of itself to the next.
func TestScanLeavesNothing(t *testing.T) {
	texts := slices.Concat(notReads, typical)
	want := make([]string, len(texts))
	for i, text := range texts {
		want[i] = fmt.Sprintf("%+v", *Scan(text))
	}
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 50 {
				for i, text := range texts {
					if got := fmt.Sprintf("%+v", *Scan(text)); got != want[i] {
						t.Fatalf("%s\n got %s\nwant %s", text, got, want[i])
					}
				}
			}
		})
	}
}

var typical = []string{
	"SELECT id, name, price FROM product WHERE category_id = $1 AND price > $2 AND name LIKE $3 ORDER BY price LIMIT 20",
	`SELECT "users"."id", "users"."name", "users"."email" FROM "users" WHERE "users"."id" = $1 AND "users"."deleted_at" IS NULL ORDER BY "users"."id" LIMIT 1`,
	"SELECT o.id, o.total, c.name, count(*) AS items FROM orders o JOIN customer c ON c.id = o.customer_id LEFT JOIN order_item i ON i.order_id = o.id WHERE o.status = ANY ($1) AND o.created_at >= $2 GROUP BY o.id, c.name HAVING count(*) > 3 ORDER BY o.total DESC LIMIT $3 OFFSET $4",
	"WITH recent AS (SELECT id, author_id FROM post WHERE created_at > $1 ORDER BY created_at DESC LIMIT 100) SELECT a.name, max(r.id) FROM recent r JOIN author a ON a.id = r.author_id WHERE NOT EXISTS (SELECT 1 FROM ban b WHERE b.author_id = a.id) GROUP BY a.name",
	"/* trace=4bf92f3577b34da6 */ UPDATE product SET stock = stock - $1, updated_at = now() WHERE id = $2 AND stock >= $1 RETURNING stock",
}

func TestScanAllocs(t *testing.T) {
	// The statement, and each list of names that is not empty; the identity
	// where comments are left out.
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	for i, most := range []float64{3, 4, 6, 6, 6} {
		if got := testing.AllocsPerRun(1000, func() { Scan(typical[i]) }); got > most {
			t.Errorf("%s\n%v allocations, want at most %v", typical[i], got, most)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for i, name := range []string{"table", "orm", "join", "cte", "write"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Scan(typical[i])
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				Scan(typical[0])
			}
		})
	})
}

// A hint that is spelled in capitals is no hint, and is said to be none.
func TestHintInCapitals(t *testing.T) {
	for _, text := range []string{"/* CachedPGX: off */ SELECT a FROM t", "SELECT a FROM t -- CACHEDPGX: ttl=5s"} {
		if h := Scan(text).Hint; h.Set || h.Off || h.TTL != 0 || len(h.Malformed) != 1 {
			t.Errorf("%s: %+v", text, h)
		}
	}
}
