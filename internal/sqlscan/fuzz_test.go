package sqlscan

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// seeds are texts of every kind, for both targets.
var seeds = []string{
	"", ";", "SELECT 1", "select a.b, (a).b, a[1:2], f(x, y => 1) filter (where z) over (w order by q) from s.t x",
	"SELECT 'a' -- x\n 'b', E'\\'', $a$ $$ $a$, U&\"d!0061t\" UESCAPE '!', n'x', b'0', 0x1f, 1e5 FROM t",
	"WITH RECURSIVE a(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM a) SEARCH DEPTH FIRST BY n SET s SELECT * FROM a, b",
	"SELECT * FROM f(1) WITH ORDINALITY AS x(a int), ROWS FROM (g(2)), XMLTABLE('/a' PASSING b COLUMNS c int PATH 'd'), t",
	"SELECT * FROM JSON_TABLE(j, '$' COLUMNS (a int PATH '$', NESTED PATH '$' COLUMNS (b text))), t FOR UPDATE",
	"INSERT INTO t (a, b[1]) VALUES (DEFAULT, 1) ON CONFLICT (lower(a)) WHERE b DO UPDATE SET (a, b) = (1, 2) RETURNING *",
	"MERGE INTO t USING s ON a = b WHEN NOT MATCHED BY TARGET AND c THEN INSERT (a) VALUES (1) WHEN MATCHED THEN DO NOTHING",
	"SELECT set_config('a', 'b', true), pg_advisory_lock(1), current_date, ctid, 'now' FROM t TABLESAMPLE system (1)",
	"/* cachedpgx: ttl=5s off x */ SELECT /* /* */ */ a -- cachedpgx: off\nFROM t; SET x = 1",
	"EXPLAIN (ANALYZE off, VERBOSE) COPY (TABLE t) TO STDOUT", "COPY t FROM STDIN", "SET LOCAL a = b", "COMMIT AND CHAIN",
	"CREATE TEMP TABLE t AS SELECT 1", "DECLARE c CURSOR WITH HOLD FOR SELECT 1", "PREPARE x AS SELECT 1", "'a' /* x */\n'b'",
	"SELECT a IS JSON WITH UNIQUE KEYS, XMLELEMENT(NAME a, XMLATTRIBUTES(b AS c)), JSON_OBJECT('a': b NULL ON NULL) FROM t",
}

// FuzzLex holds that the tokens of a text, joined, are the text.
func FuzzLex(f *testing.F) {
	for _, s := range append(append(seeds, typical...), notReads...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.IndexByte(text, 0) >= 0 {
			return // Scan lets none through
		}
		l, joined := lexer{text: text}, 0
		for {
			tok := l.next()
			if int(tok.start) != joined {
				t.Fatalf("a token at %d, after one that ended at %d", tok.start, joined)
			}
			if tok.kind == kindEOF {
				break
			}
			if tok.end <= tok.start {
				t.Fatalf("an empty token at %d", tok.start)
			}
			joined = int(tok.end)
			if tok.kind.isText() {
				tok.joined(text) // stays within the text
			}
		}
		if joined != len(text) {
			t.Fatalf("the tokens end at %d of %d", joined, len(text))
		}
	})
}

// FuzzScan holds that Scan comes to its end in time, and that a text and its
// identity are the same statement.
func FuzzScan(f *testing.F) {
	for _, s := range append(append(seeds, typical...), notReads...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		st := Scan(text)
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("%d bytes took %v", len(text), d)
		}
		if st.Class == ClassUnknown && st.Effect < EffectTouched {
			t.Fatal("an unknown statement without effect")
		}
		if st.Class != ClassRead && st.Class != ClassUnknown && len(st.Reasons) == 0 {
			t.Fatalf("%v without a reason", st.Class)
		}
		for _, l := range [][]Name{st.Relations, st.Targets, st.Types} {
			seen := map[Name]bool{}
			for _, n := range l {
				if seen[n] {
					t.Fatalf("%s twice", n)
				}
				seen[n] = true
			}
		}
		if identity, ok := Identity(text); ok && identity != st.Identity {
			t.Fatalf("the quick identity of\n%q is\n%q, Scan's is\n%q", text, identity, st.Identity)
		}
		again := Scan(st.Identity)
		if again.Identity != st.Identity {
			t.Fatalf("the identity of\n%q is\n%q", st.Identity, again.Identity)
		}
		if got, want := meaning(again), meaning(st); got != want {
			t.Fatalf("%q\n and its identity differ:\n%s\n%s", text, want, got)
		}
	})
}

// meaning is all that Scan finds but what is about the text itself.
func meaning(st *Statement) string {
	var reasons []ReasonCode // details are words of the text
	for _, r := range st.Reasons {
		reasons = append(reasons, r.Code)
	}
	return fmt.Sprint(st.Class, st.Verb, st.Tx, st.Effect, st.TxChain, st.Params, st.Relations, st.Targets, st.Functions,
		st.Attributes, st.Operators, st.Types, st.Features, reasons, st.Backslash, st.Hint)
}
