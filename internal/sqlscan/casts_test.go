package sqlscan

import (
	"slices"
	"strings"
	"testing"
)

var operandNames = [...]string{
	OperandOther: "other", OperandLiteral: "literal", OperandParam: "param", OperandColumn: "column", OperandCall: "call",
	OperandCast: "cast",
}

func joinCasts(l []Cast) string {
	var out []string
	for _, c := range l {
		s := c.Type.String() + "<" + operandNames[c.Over]
		if c.Of != (Name{}) {
			s += ":" + c.Of.String()
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestCasts(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a column", "c::date, CAST(t.c AS date), s.t.c::date", "date<column:c date<column:t.c"},
		{"a column in capitals and quoted", `T.C::date, "T"."C"::Date`, "date<column:t.c date<column:T.C"},
		{"literals", "'x'::date, 1::text, NULL::date, TRUE::text, E'x'::time, U&'x'::a, $$x$$::b, B'1'::c, 'x'\n'y'::d",
			"date<literal text<literal pg_catalog.time<literal a<literal b<literal c<literal d<literal"},
		{"a negative number", "-1::int2, (-1)::int2", "int2<literal int2<other"},
		{"a parameter", "$1::date", "date<param"},
		{"typed literals", "date 'x', s.t(3) 'x', interval '1' day, char(3) 'x', N'x', time with time zone 'x', double precision '1'",
			"date<literal s.t<literal pg_catalog.interval<literal pg_catalog.bpchar<literal pg_catalog.timetz<literal pg_catalog.float8<literal"},
		{"one over another", "c::a::b, CAST(CAST($1 AS a) AS b), date 'x'::text", "a<column:c b<cast:a a<param date<literal text<cast:date"},
		{"a call", "date_trunc('day', c)::date, s.f()::a, count(*)::b, f(x) FILTER (WHERE y) OVER (ORDER BY z)::c",
			"date<call:date_trunc a<call:s.f b<call:count c<call:f"},
		{"a call by special syntax", "EXTRACT(year FROM c)::int, TRIM(c)::date, SUBSTRING(c FROM f(1))::a, SUBSTRING(c, 1)::b, COALESCE(c, f(d))::e, POSITION('a' IN f(c))::g, NULLIF(a, f(b))::h",
			"pg_catalog.int4<call:pg_catalog.extract date<call:pg_catalog.btrim a<call:pg_catalog.substring b<call:substring e<call:pg_catalog.COALESCE g<call:pg_catalog.position h<call:pg_catalog.NULLIF"},
		{"a time zone", "(c AT TIME ZONE 'UTC')::date, (c AT TIME ZONE 'UTC' AT TIME ZONE 'CET')::a, c AT LOCAL::b",
			"date<call:pg_catalog.timezone a<call:pg_catalog.timezone b<call:pg_catalog.timezone"},
		{"the zone itself", "c AT TIME ZONE 'UTC'::text", "text<literal"},
		{"parentheses", "((c))::date, ((('x')))::date", "date<column:c date<literal"},
		{"operators", "(a || b)::date, (a = 1)::b, (NOT a)::c, (- a)::d, (a IS NULL)::e, (a AND b)::f, (a COLLATE \"C\")::g, (a || b AT TIME ZONE 'UTC')::h",
			"date<other b<other c<other d<other e<other f<other g<other h<other"},
		{"behind an operator that is a word", "a IS NULL::b, a COLLATE \"C\"::c, a IN (1)::d, a = ANY (x)::e", "b<other c<other d<other e<other"},
		{"tighter than operators", "a + b::int2, - c::int4, d::int8 + e", "int2<column:b int4<column:c int8<column:d"},
		{"what is no one operand", "(a, b)::r, ROW(a)::r, ARRAY[f(x)]::date[], CASE WHEN a THEN f(b) END::c, (SELECT f(1))::d, EXISTS (SELECT f(1))::e, ARRAY(SELECT 1)::g",
			"r<other date<other c<other d<other e<other g<other"},
		{"fields and subscripts", "(a).b::c, a[1]::d, (f(x)).y::e, $1[1]::g, a.b.c.d::h, t.*::i", "c<other d<other e<other g<other h<other i<other"},
		{"keywords", "CURRENT_DATE::text, USER::a, DEFAULT::b", "text<other a<other b<other"},
		{"arrays by their elements", "c::date[], c::int ARRAY[3], c::timestamp(3)[][]", "date<column:c pg_catalog.int4<column:c pg_catalog.timestamp<column:c"},
		{"once", "a::date, b::date, a::date, x::float(24), x::float(25)", "date<column:a date<column:b pg_catalog.float4<column:x pg_catalog.float8<column:x"},
		{"the length of a substring", "SUBSTRING(a FOR b), SUBSTRING(a FOR c FROM d)", "pg_catalog.int4<column:b"},
		{"words within POSITION and SUBSTRING", "POSITION(a::text IN b::c), SUBSTRING(d::e SIMILAR f ESCAPE g)", "text<column:a c<column:b e<column:d"},
		{"RETURNING of JSON", "JSON_VALUE(a, '$' RETURNING date DEFAULT b::c ON EMPTY), XMLSERIALIZE(CONTENT a AS d), JSON_QUERY(f(a), '$')::e",
			"date<other c<column:b d<other e<other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan("SELECT " + tt.text + " FROM t")
			if got := joinCasts(st.Casts); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s %s\nwant read %s", tt.text, st.Class, got, codes(st), tt.want)
			}
			for _, c := range st.Casts {
				if !slices.Contains(st.Types, c.Type) {
					t.Errorf("%s: %s is not among the types", tt.text, c.Type)
				}
			}
		})
	}
	for text, want := range map[string]string{
		"SELECT 1 FROM f(1) AS x(a date, b s.t[]), ROWS FROM (g() AS (c int))":                        "date<other s.t<other pg_catalog.int4<other",
		"SELECT 1 FROM XMLTABLE('/a' PASSING b COLUMNS c date PATH 'd' DEFAULT e::f)":                 "date<other f<column:e",
		"SELECT 1 FROM JSON_TABLE(j, '$' COLUMNS (a date PATH '$', NESTED '$' COLUMNS (b int))) AS x": "date<other pg_catalog.int4<other",
		"INSERT INTO t SELECT a::date FROM u ON CONFLICT ((b::int)) DO UPDATE SET c = $1::text":       "date<column:a pg_catalog.int4<column:b text<param",
	} {
		if st := Scan(text); joinCasts(st.Casts) != want {
			t.Errorf("%s: %v %s %s, want %s", text, st.Class, joinCasts(st.Casts), codes(st), want)
		}
	}
}

func TestAliases(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"none", "SELECT a, t.b, count(*) FROM t WHERE c = 1 ORDER BY d", ""},
		{"columns and tables", `SELECT a AS b, c d, e "F" FROM t AS u, v w`, "b d F u w"},
		{"words", "SELECT a AS select, b value FROM t key", "select value key"},
		{"column lists", "SELECT 1 FROM t AS x(a, b), (SELECT c FROM u) y (d)", "x a b y d"},
		{"definitions", "SELECT 1 FROM f(1) AS x(a int, b text), ROWS FROM (g() AS (c int)) AS z, h() AS (d int)", "f x a b g c z h d"},
		{"common table expressions", "WITH x(a, b) AS (SELECT 1 FROM t), y AS (TABLE u) SELECT * FROM x, y", "x a b y"},
		{"search and cycle", "WITH RECURSIVE x AS (SELECT 1 FROM t) SEARCH DEPTH FIRST BY a SET b CYCLE c SET d USING e SELECT 1 FROM x", "x b d e"},
		{"xmltable", "SELECT 1 FROM XMLTABLE('/a' PASSING b COLUMNS c int, d FOR ORDINALITY) AS x(e, f)", "c d x e f"},
		{"json_table", "SELECT 1 FROM JSON_TABLE(j, '$' AS p PASSING k AS v COLUMNS (a int, NESTED '$' AS q COLUMNS (b int))) x", "p v a q b x"},
		{"joins", "SELECT 1 FROM a JOIN b USING (c, d) AS x", "c d x"},
		{"xml", "SELECT XMLFOREST(a AS b), XMLELEMENT(NAME c, XMLATTRIBUTES(d AS e)) FROM t", "b e"},
		{"a function in FROM names its column", "SELECT 1 FROM f(1), s.g(2) WITH ORDINALITY", "f g ordinality"},
		{"the server names what a subquery doesn't", "SELECT 1 FROM (SELECT date_trunc('day', a), (b)::text, c + 1, d, e.*, TRIM(f) FROM t) x", "date_trunc text b c btrim x"},
		{"also below casts", "SELECT 1 FROM (SELECT TRIM(f)::text, CASE WHEN a THEN 1 END FROM t) x",
			"text trim btrim ltrim rtrim f case when a then end x"},
		{"whatever subqueries are in it", "SELECT 1 FROM (SELECT EXISTS (SELECT 1), (a, b), 'x' IS NORMALIZED FROM t) x", "exists select row a b is normalized is_normalized x"},
		{"VALUES", "SELECT 1 FROM (VALUES (1, 2), (3, 4)) x", "column1 column2 x"},
		{"escaped", `SELECT a AS U&"d!0061ta" UESCAPE '!' FROM t`, "data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if got := strings.Join(st.Aliases, " "); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s %s\nwant read %s", tt.text, st.Class, got, codes(st), tt.want)
			}
		})
	}
	for text, want := range map[string]string{
		"INSERT INTO t AS x (a) VALUES (1) ON CONFLICT DO NOTHING RETURNING b AS c":           "x column1 c",
		"UPDATE t x SET a = 1 FROM u AS y RETURNING WITH (OLD AS o, NEW AS n) o.a AS z":       "x y o n z",
		"DELETE FROM t AS x USING u y WHERE a = 1":                                            "x y",
		"MERGE INTO t x USING u AS y ON a = b WHEN MATCHED THEN UPDATE SET a = 1 RETURNING z": "x y",
	} {
		if st := Scan(text); strings.Join(st.Aliases, " ") != want {
			t.Errorf("%s: %v %s, want %s", text, st.Class, st.Aliases, want)
		}
	}
}

// A name that stands alone and is a FROM entry's may mean its whole row.
func TestWholeRow(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{"SELECT t FROM t", true},
		{"SELECT f(t) FROM s.t", true},
		{"SELECT f(T) FROM \"t\"", true},
		{"SELECT x::text FROM t AS x", true},
		{"SELECT 1 FROM t x WHERE x IS NULL", true},
		{"SELECT 1 FROM t ORDER BY t", true},
		{"SELECT (SELECT t) FROM t", true},
		{"WITH x AS (SELECT a FROM t) SELECT x FROM x", true},
		{"SELECT x FROM (SELECT a FROM t) x", true},
		{"TABLE t ORDER BY t", true},
		{"SELECT x FROM (t JOIN u ON a = b) x", true},
		{"SELECT x FROM t JOIN u USING (a) AS x", true},
		{"SELECT f FROM t, f(1)", true},
		{"SELECT json_table FROM JSON_TABLE(j, '$' COLUMNS (a int)), t", true},
		{"UPDATE t SET a = f(t)", true},
		{"INSERT INTO t VALUES (1) RETURNING t", true},
		{"UPDATE t SET a = 1 RETURNING WITH (OLD AS o) o", true},
		{"SELECT t.a FROM t", false},
		{"SELECT t.t FROM t", false},
		{"SELECT t FROM t x", false},
		{"SELECT a AS t FROM t", false},
		{"SELECT \"T\" FROM t", false},
		{"SELECT t(1) FROM t", false},
		{"SELECT a FROM t GROUP BY a", false},
	}
	for _, tt := range tests {
		st := Scan(tt.text)
		if got := st.Features&FeatureWholeRow != 0; got != tt.want || st.Class == ClassUnknown {
			t.Errorf("%s: %v %v, want %v", tt.text, st.Class, got, tt.want)
		}
	}
}
