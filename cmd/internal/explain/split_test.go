package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []string
	}{
		{"nothing", " \n", nil},
		{"semicolons alone", ";; ;", nil},
		{"comments alone", "-- a; b\n/* c; */", nil},
		{"one", "SELECT 1", []string{"SELECT 1"}},
		{"two", "SELECT 1; SELECT 2;\n", []string{"SELECT 1", "SELECT 2"}},
		{"an empty one between", "SELECT 1;; SELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"a comment before belongs to it", "SELECT 1; -- why\nSELECT 2", []string{"SELECT 1", "-- why\nSELECT 2"}},
		{"a comment behind does not make one", "SELECT 1; -- done", []string{"SELECT 1"}},
		{"a literal", "SELECT ';', 'it''s; so'; SELECT 2", []string{"SELECT ';', 'it''s; so'", "SELECT 2"}},
		{"a plain literal keeps backslashes", `SELECT '\'; SELECT 2`, []string{`SELECT '\'`, "SELECT 2"}},
		{"an escape literal", `SELECT E'\';', e'a''\';b'; SELECT 2`, []string{`SELECT E'\';', e'a''\';b'`, "SELECT 2"}},
		{"an escape literal goes on", "SELECT E'a' -- c\n '\\';'; SELECT 2", []string{"SELECT E'a' -- c\n '\\';'", "SELECT 2"}},
		{"an escape literal does not go on", "SELECT E'a' '\\'; SELECT 2", []string{"SELECT E'a' '\\'", "SELECT 2"}},
		{"a name that ends in e", `SELECT 1 AS type'\'; SELECT 2`, []string{`SELECT 1 AS type'\'`, "SELECT 2"}},
		{"a quoted name", `SELECT 1 AS "a;""b"; SELECT 2`, []string{`SELECT 1 AS "a;""b"`, "SELECT 2"}},
		{"a backslash in a quoted name", `SELECT 1 AS "a\"; SELECT 2`, []string{`SELECT 1 AS "a\"`, "SELECT 2"}},
		{"dollar quotes", "SELECT $$;$$, $a$ $$; $b$ $a$; SELECT 2", []string{"SELECT $$;$$, $a$ $$; $b$ $a$", "SELECT 2"}},
		{"dollars in names", "SELECT a$b$; SELECT 2$b$", []string{"SELECT a$b$", "SELECT 2$b$"}},
		{"parameters are no dollar quotes", "SELECT $1; SELECT $1", []string{"SELECT $1", "SELECT $1"}},
		{"comments", "SELECT 1 -- ; no\n; SELECT /* ; /* ; */ ; */ 2", []string{"SELECT 1 -- ; no", "SELECT /* ; /* ; */ ; */ 2"}},
		{"no comment in an operator", "SELECT 1 - -1; SELECT 2", []string{"SELECT 1 - -1", "SELECT 2"}},
		{"parentheses", "CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b); SELECT 2",
			[]string{"CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b)", "SELECT 2"}},
		{"a parenthesis too many", "SELECT 1); SELECT 2", []string{"SELECT 1)", "SELECT 2"}},
		{"a body in SQL",
			"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END; SELECT 2",
			[]string{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END", "SELECT 2"}},
		{"a body of a procedure",
			"create or replace procedure p() begin atomic insert into t values (1); end; SELECT 2",
			[]string{"create or replace procedure p() begin atomic insert into t values (1); end", "SELECT 2"}},
		{"BEGIN alone is none", "BEGIN; SELECT 1; END;", []string{"BEGIN", "SELECT 1", "END"}},
		{"a table with such names", "CREATE TABLE function (begin int); SELECT 2", []string{"CREATE TABLE function (begin int)", "SELECT 2"}},
		{"an open literal takes the rest", "SELECT 'a; SELECT 2", []string{"SELECT 'a; SELECT 2"}},
		{"an open comment", "SELECT 1; /* a; SELECT 2", []string{"SELECT 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range split(c.text) {
				got = append(got, s.text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("split(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestSplitLines(t *testing.T) {
	var got []int
	for _, s := range split("SELECT 1;\n\n-- two\nSELECT 2; SELECT\n'\n';\nSELECT 4") {
		got = append(got, s.line)
	}
	if want := []int{1, 3, 4, 7}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

// FuzzSplit holds split against the driver's own scanner, which cuts a text as
// PostgreSQL does.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"SELECT 1; SELECT 2", "SELECT ';' -- ;\n; SELECT $a$;$a$", `SELECT E'\';'; SELECT U&'\';`, "SELECT E'a'\n'\\';';",
		"CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END; SELECT 2", "/* /* ; */ ; */ SELECT 1", "(;);[;]", "SELECT 1.e';'",
		"SELECT a$b;$b", "SELECT 1e'\\';", "x'a';b';'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := split(text)
		at := 0
		for _, s := range all {
			n := strings.Index(text[at:], s.text)
			if s.text == "" || n < 0 {
				t.Fatalf("split(%q): %q is none of it", text, s.text)
			}
			at += n + len(s.text)
			again := split(s.text)
			if len(again) != 1 || again[0].text != s.text {
				t.Fatalf("split(%q): %q is split again, into %+v", text, s.text, again)
			}
		}
		// A body in SQL is one statement to both, but which of the others begin
		// one they tell in different ways.
		if strings.Contains(strings.ToLower(text), "begin") {
			return
		}
		whole := sqlscan.Scan(text)
		if !cut(whole) {
			return
		}
		// Where the scanner counts more, empty ones are among them.
		if len(all) > 1 && !several(whole) {
			t.Errorf("split(%q) = %+v, and to the scanner it is one statement", text, all)
		}
		for _, s := range all {
			if st := sqlscan.Scan(s.text); cut(st) && several(st) {
				t.Errorf("split(%q): %q is several statements to the scanner", text, s.text)
			}
		}
	})
}

func several(st *sqlscan.Statement) bool {
	return slices.ContainsFunc(st.Reasons, func(r sqlscan.Reason) bool { return r.Code == sqlscan.ReasonSeveral })
}

// cut reports whether the scanner knows what the tokens are.
func cut(st *sqlscan.Statement) bool {
	return !slices.ContainsFunc(st.Reasons, func(r sqlscan.Reason) bool {
		switch r.Code {
		case sqlscan.ReasonSyntax, sqlscan.ReasonTooLong, sqlscan.ReasonBadText, sqlscan.ReasonTooDeep:
			return true
		}
		return false
	})
}
