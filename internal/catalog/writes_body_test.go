package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// A body is cut where PL/pgSQL cuts it, or not read at all.
func TestReadFunction(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"BEGIN RETURN NEW; END", "SELECT NEW"},
		{"BEGIN RETURN; END;", ""},
		{"BEGIN a.b := 1; \"C\"[2] = f(';'); END", `SELECT a.b|SELECT 1|SELECT "C"[2]|SELECT f(';')`},
		{"BEGIN x := E'a\\'; EXECUTE'; END", "SELECT x|SELECT E'a\\'; EXECUTE'"},
		{"BEGIN x := $q$; END $q$ || $$'$$; END", "SELECT x|SELECT $q$; END $q$ || $$'$$"},
		{"BEGIN /* /* ; */ EXECUTE */ NULL; -- EXECUTE\n END", ""},
		{"BEGIN IF (CASE WHEN a THEN b END) THEN NULL; END IF; END", "SELECT (CASE WHEN a THEN b END)"},
		{"BEGIN SELECT a, (SELECT 1 AS into_b) INTO STRICT x, y.z FROM t WHERE c; END", "SELECT a, (SELECT 1 AS into_b)  FROM t WHERE c"},
		{"BEGIN INSERT INTO t VALUES (1) RETURNING id INTO x; END", "INSERT INTO t VALUES (1) RETURNING id"},
		{"DECLARE x int := f(1); y CONSTANT text COLLATE \"C\" NOT NULL DEFAULT 'a'; BEGIN NULL; END",
			"SELECT NULL::int|SELECT f(1)|SELECT NULL::text|SELECT 'a'"},
		{"BEGIN FOR r IN SELECT 1 LOOP EXIT; END LOOP; FOR i IN 1..g(2) BY 3 LOOP CONTINUE; END LOOP; END", "SELECT 1|SELECT 1|SELECT g(2)|SELECT 3"},
		{"BEGIN RAISE EXCEPTION 'a % ;', f(1), g(2) USING hint = h(3); END", "SELECT f(1), g(2)|SELECT hint = h(3)"},
		{"BEGIN CASE x WHEN 1 THEN PERFORM f(); ELSE NULL; END CASE; END", "SELECT x|SELECT 1|SELECT f()"},
		{"BEGIN RETURN QUERY SELECT 1; RETURN NEXT x; NOTIFY c; END", "SELECT 1|SELECT x|NOTIFY c"},

		{"BEGIN EXECUTE 'x'; END", "!"}, {"BEGIN RETURN QUERY EXECUTE 'x'; END", "!"}, {"BEGIN FOR r IN EXECUTE 'x' LOOP NULL; END LOOP; END", "!"},
		{"BEGIN OPEN c FOR SELECT 1; END", "!"}, {"BEGIN CALL p(); END", "!"}, {"BEGIN COMMIT; END", "!"}, {"BEGIN SET LOCAL a = b; END", "!"},
		{"BEGIN CREATE TABLE x (a int); END", "!"}, {"BEGIN x := (SELECT 1 INTO y); END", "!"}, {"BEGIN FETCH c INTO x; END", "!"},
		{"BEGIN x := 'a'\n'; EXECUTE '; END", "!"}, {"BEGIN x := U&'a'; END", "!"}, {"BEGIN x := 'a; END", "!"}, {"BEGIN x := $a$; END", "!"},
		{"BEGIN NULL; END; BEGIN NULL; END", "!"}, {"BEGIN NULL;", "!"}, {"#variable_conflict error\nBEGIN NULL; END", "!"}, {"", "!"},
		{"BEGIN IF a THEN NULL; END LOOP; END", "!"}, {"DECLARE c CURSOR FOR SELECT f(); BEGIN NULL; END", "!"}, {"BEGIN x := 1 /* ; END", "!"},
		{"BEGIN " + strings.Repeat("BEGIN ", 200) + strings.Repeat("END; ", 200) + "END", "!"},
	} {
		b := readFunction("plpgsql", c.body, "", true)
		var got []string
		for _, st := range b.statements {
			got = append(got, strings.TrimSpace(st.Identity))
		}
		switch {
		case c.want == "!" && b.fault == "":
			t.Errorf("%s: read as %q", c.body, got)
		case c.want != "!" && (b.fault != "" || strings.Join(got, "|") != c.want):
			t.Errorf("%s:\n got %q %s\nwant %q", c.body, got, b.fault, c.want)
		}
	}
	if b := readFunction("plpgsql", `BEGIN x := 'a\'; END`, "", false); b.fault == "" {
		t.Error("a backslash means something else where standard_conforming_strings is off")
	}
	if b := readFunction("sql", "INSERT INTO t VALUES (';'); ; SELECT 1", "1, f()", true); b.fault != "" || len(b.statements) != 3 {
		t.Errorf("SQL: %+v", b)
	}
	for _, language := range []string{"plperl", "c", "internal"} {
		if b := readFunction(language, "BEGIN NULL; END", "", true); b.fault == "" {
			t.Errorf("%s was read", language)
		}
	}
	b := readFunction("plpgsql", `DECLARE a t.c%TYPE; b "S".t%ROWTYPE; c b%TYPE; BEGIN NULL; END`, "", true)
	if got := []string{b.reads[0].String(), b.reads[1].String()}; len(b.reads) != 2 || !slices.Equal(got, []string{"t", "S.t"}) {
		t.Errorf("types are taken from %v %s", b.reads, b.fault)
	}
}

// Whatever a text holds, reading it ends.
func FuzzReadFunction(f *testing.F) {
	f.Add("DECLARE a int; BEGIN IF a THEN b[1] := 'x'; END IF; SELECT 1 INTO a; FOR i IN 1..2 LOOP NULL; END LOOP; EXCEPTION WHEN x THEN NULL; END")
	f.Add("<<a>> BEGIN CASE WHEN 1 THEN RAISE 'x', 1 USING a = b; END CASE; RETURN QUERY SELECT $1; END a;")
	f.Fuzz(func(t *testing.T, text string) {
		for _, language := range []string{"sql", "plpgsql"} {
			b := readFunction(language, text, "", true)
			for _, st := range b.statements {
				if st.Class == sqlscan.ClassUnknown || st.Class == sqlscan.ClassDDL || st.Class == sqlscan.ClassTx {
					t.Errorf("%q: %q was taken in", text, st.Identity)
				}
			}
		}
	})
}
