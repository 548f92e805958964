package sqlscan

import (
	"strings"
	"testing"
)

func TestRelations(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"folding and quotes", `SELECT * FROM Shop.Product p, "Shop"."Product" AS q`, "shop.product Shop.Product"},
		{"only and a star", "SELECT * FROM ONLY a, ONLY (b), c *", "a b c"},
		{"joins", "SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (y) CROSS JOIN d NATURAL FULL JOIN e", "a b c d e"},
		{"nested joins", "SELECT * FROM (a JOIN (b JOIN c ON true) ON true) x, ((d))", "a b c d"},
		{"a join's conditions at its end", "SELECT * FROM a JOIN b JOIN c ON true ON a.x IN (SELECT 1 FROM d)", "a b c d"},
		{"subqueries everywhere", "SELECT (SELECT 1 FROM a), CASE WHEN EXISTS (TABLE b) THEN ARRAY(SELECT 1 FROM c) END FROM (SELECT 1 FROM d) x WHERE y IN (SELECT 1 FROM e) GROUP BY (SELECT 1 FROM f) HAVING 1 = ANY (SELECT 1 FROM g) ORDER BY (SELECT 1 FROM h) LIMIT (SELECT 1 FROM i) OFFSET (SELECT 1 FROM j)",
			"a b c d e f g h i j"},
		{"in a call, a window, a filter", "SELECT f((SELECT 1 FROM a)) FILTER (WHERE (SELECT true FROM b)) OVER (PARTITION BY (SELECT 1 FROM c)) FROM d", "a b c d"},
		{"set operations", "SELECT 1 FROM a UNION ALL (TABLE b EXCEPT SELECT 1 FROM c) INTERSECT VALUES ((SELECT 1 FROM d))", "a b c d"},
		{"a union within parentheses that begin with a query", "SELECT ((SELECT 1 FROM a) UNION SELECT 2 FROM b), ((SELECT 3 FROM c) + 1) FROM d", "a b c d"},
		{"lateral", "SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x) y, c", "a b c"},
		{"after ordinality", "SELECT * FROM f(1) WITH ORDINALITY AS x(a, b), t", "t"},
		{"after a column definition list", "SELECT * FROM f(1) AS x(a int, b numeric(1, 2)), g(2) AS (c text), t", "t"},
		{"after rows from", "SELECT * FROM ROWS FROM (f(1) AS (a int), g(2)) WITH ORDINALITY AS x, t", "t"},
		{"after xmltable", "SELECT * FROM XMLTABLE('/a' PASSING (SELECT x FROM s) COLUMNS a int PATH 'b', c FOR ORDINALITY), t", "s t"},
		{"after json_table", "SELECT * FROM JSON_TABLE(j, '$' COLUMNS (a int PATH '$.a', NESTED PATH '$.b' COLUMNS (c text))) AS x, t", "t"},
		{"a column of json_table that is named nested", "SELECT * FROM JSON_TABLE(j, '$' COLUMNS (nested FOR ORDINALITY, a int)), t", "t"},
		{"a document in parentheses", "SELECT XMLPARSE(DOCUMENT (SELECT a FROM s)), XMLSERIALIZE(CONTENT (b) AS text) FROM t", "s t"},
		{"columns named as words of constructors", "SELECT XMLCONCAT(no[1], passing) FROM s, JSON_TABLE(columns, '$' COLUMNS (a int)), t", "s t"},
		{"an element named into", "SELECT XMLELEMENT(NAME into, a), XMLPI(NAME tablesample) FROM t", "t"},
		{"passing a query", "SELECT JSON_VALUE(a, '$' PASSING (SELECT b FROM s) AS c), JSON_OBJECT('a': passing(1), 'b' VALUE (SELECT 1)), JSON_OBJECT(a VALUE (b)::c) FROM t", "s t"},
		{"after tablesample", "SELECT * FROM s TABLESAMPLE bernoulli (1) REPEATABLE (2), t", "s t"},
		{"after an alias with columns", "SELECT * FROM s AS x (a, b), t y (c), u", "s t u"},
		{"extract has FROM, too", "SELECT extract(year FROM a), substring(b FROM 1 FOR 2), trim(BOTH 'x' FROM c) FROM t WHERE x IS DISTINCT FROM y", "t"},
		{"a cte hides a table", "WITH a AS (SELECT * FROM b) SELECT * FROM a, c", "b c"},
		{"not within itself", "WITH a AS (SELECT * FROM a) SELECT * FROM a", "a"},
		{"not before it", "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", "b"},
		{"within itself if recursive", "WITH RECURSIVE a AS (SELECT 1 FROM t UNION ALL SELECT * FROM a) SELECT * FROM a", "t"},
		{"before it if recursive", "WITH RECURSIVE a AS (SELECT * FROM b), b(x) AS NOT MATERIALIZED (SELECT 1 FROM t) SELECT * FROM a", "t"},
		{"behind a search clause", "WITH RECURSIVE a AS (SELECT 1 FROM c UNION ALL SELECT 1 FROM a) SEARCH DEPTH FIRST BY x, y SET z, c AS (SELECT 1 FROM t) SELECT * FROM a", "t"},
		{"not qualified", "WITH a AS (SELECT 1 FROM t) SELECT * FROM public.a", "t public.a"},
		{"not outside its query", "SELECT * FROM (WITH a AS (SELECT 1 FROM t) SELECT * FROM a) x, a", "t a"},
		{"not for another case", `WITH "A" AS (SELECT 1 FROM t) SELECT * FROM a`, "t a"},
		{"a function's column definitions are no cte", "WITH RECURSIVE a AS (SELECT 1 FROM t) SELECT * FROM a, f(1) AS (x int), f", "t f"},
		{"a cte named recursive", "WITH recursive AS (SELECT 1 FROM t) SELECT * FROM recursive", "t"},
		{"unreserved words are names", "SELECT * FROM index, key k, \"select\", value AS v", "index key select value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if got := joinNames(st.Relations); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s %s\nwant read %s", tt.text, st.Class, got, codes(st), tt.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	tests := []struct{ name, text, targets, relations string }{
		{"insert", "INSERT INTO Shop.T AS x (a, b[1], c.d) SELECT 1 FROM u ON CONFLICT (a) DO UPDATE SET a = (SELECT 1 FROM v)", "shop.t", "u v"},
		{"insert from parentheses", "INSERT INTO t (SELECT 1 FROM u)", "t", "u"},
		{"insert with", "WITH t AS (SELECT 1 FROM a) INSERT INTO t SELECT * FROM t", "t", "a"},
		{"update only", `UPDATE ONLY "T" AS x SET (a, b) = (SELECT 1, 2 FROM u), c = DEFAULT FROM v WHERE x.a = v.a RETURNING *`, "T", "u v"},
		{"update a star", "UPDATE t * SET a = 1", "t", ""},
		{"delete only", "DELETE FROM ONLY (t) x USING u, v WHERE x.a = u.a", "t", "u v"},
		{"merge", "MERGE INTO ONLY t AS x USING (SELECT * FROM s) y ON x.a = y.a WHEN MATCHED AND x.b THEN UPDATE SET a = 1 WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (1) RETURNING merge_action()", "t", "s"},
		{"merge of a join", "MERGE INTO t USING a JOIN b ON a.x = b.x ON t.x = a.x WHEN MATCHED THEN DO NOTHING", "t", "a b"},
		{"a write in WITH", "WITH x AS (DELETE FROM t USING u RETURNING *), y AS (UPDATE v SET a = 1) SELECT * FROM x, z", "t v", "u z"},
		{"truncate many", "TRUNCATE TABLE ONLY a, s.b *, c RESTART IDENTITY", "a s.b c", ""},
		{"copy", `COPY s."T" (a, b) FROM STDIN WITH (FORMAT csv)`, "s.T", ""},
		{"refresh", "REFRESH MATERIALIZED VIEW CONCURRENTLY s.v WITH NO DATA", "s.v", ""},
		{"explain analyze", "EXPLAIN ANALYZE WITH x AS (INSERT INTO t DEFAULT VALUES RETURNING *) SELECT * FROM x", "t", ""},
		{"returning old and new", "UPDATE t SET a = 1 RETURNING WITH (OLD AS o, NEW AS n) o.a, n.a", "t", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan(tt.text)
			if got := joinNames(st.Targets); got != tt.targets || st.Class != ClassWrite {
				t.Errorf("%s\n got %v %s %s\nwant write %s", tt.text, st.Class, got, codes(st), tt.targets)
			}
			if got := joinNames(st.Relations); got != tt.relations {
				t.Errorf("%s\nreads %s\n want %s", tt.text, got, tt.relations)
			}
		})
	}
}

// What a statement makes of a query.
func TestCreateAs(t *testing.T) {
	tests := []struct{ text, targets, relations string }{
		{"CREATE TEMP TABLE IF NOT EXISTS s.x (a, b) WITH (fillfactor = 70) ON COMMIT DROP AS SELECT a::int FROM t WITH NO DATA", "s.x", "t"},
		{"CREATE UNLOGGED TABLE x AS (TABLE t)", "x", "t"},
		{"CREATE OR REPLACE VIEW x AS WITH y AS (SELECT 1 FROM t) SELECT 1 FROM y, u WITH CHECK OPTION", "x", "t u"},
		{"CREATE MATERIALIZED VIEW x AS VALUES ((SELECT 1 FROM t))", "x", "t"},
		{"CREATE TABLE x AS EXECUTE p(1)", "", ""},
		{"CREATE TABLE x (a int GENERATED ALWAYS AS (b + 1) VIRTUAL, PRIMARY KEY (a, b WITHOUT OVERLAPS))", "", ""},
		{"CREATE TABLE x AS SELECT a FROM t QUALIFY b", "x", "t"},
		{"SELECT a INTO x FROM t", "x", "t"},
		{"EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1 FROM t", "x", "t"},
	}
	for _, tt := range tests {
		st := Scan(tt.text)
		if st.Class != ClassDDL || joinNames(st.Targets) != tt.targets || joinNames(st.Relations) != tt.relations {
			t.Errorf("%s\n got %v %s, %s, %s\nwant %s, %s", tt.text, st.Class, joinNames(st.Targets), joinNames(st.Relations), codes(st), tt.targets, tt.relations)
		}
	}
}

func TestCalls(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"arguments", "f(), g(1, 2), s.h((1, 2), ARRAY[3, 4])", "f/0 g/2 s.h/2"},
		{"quoted", `"F"(1), "coalesce"(1, 2)`, "F/1 coalesce/2"},
		{"a star", "count(*)", "count/0"},
		{"distinct, order, filter, over", "f(DISTINCT a ORDER BY g(b)) FILTER (WHERE h(c)) OVER (ORDER BY i(d))", "g/1 f/1 h/1 i/1"},
		{"variadic", "f(1, VARIADIC b)", "f/-1"},
		{"named", "f(1, b => g(2), c := 3)", "g/1 f/3"},
		{"words that are functions", "left(a, 1), replace(a, b, c), if(a)", "left/2 replace/3 if/1"},
		{"words that are none", "a IN (1), b = ANY (c), EXISTS (SELECT), a::numeric(1, 2), CAST(a AS varchar(3))", ""},
		{"no function at all", "COALESCE(a, b), NULLIF(a, b), GREATEST(a, b, c), LEAST(a)",
			"pg_catalog.COALESCE/2 pg_catalog.NULLIF/2 pg_catalog.GREATEST/3 pg_catalog.LEAST/1"},
		{"special syntax", "EXTRACT(year FROM a), POSITION('a' IN b), OVERLAY(a PLACING b FROM 1), SUBSTRING(a FOR 2), TRIM(a), TRIM(LEADING 'x' FROM a), NORMALIZE(a, NFC), COLLATION FOR (a)",
			"pg_catalog.extract/2 pg_catalog.position/2 pg_catalog.overlay/3 pg_catalog.substring/3 pg_catalog.btrim/1 pg_catalog.ltrim/2 pg_catalog.normalize/2 pg_catalog.pg_collation_for/1"},
		{"special names called plainly go by the search_path", "SUBSTRING(a, 1), OVERLAY(a, b, 3)", "substring/2 overlay/3"},
		{"operators of words", "a AT TIME ZONE b, (a, b) OVERLAPS (c, d), a LIKE b ESCAPE c",
			"pg_catalog.timezone/2 pg_catalog.overlaps/4 pg_catalog.like_escape/2"},
		{"xml and json", "XMLELEMENT(NAME a, f(b)), JSON_OBJECT('a': g(c)), a IS JSON",
			"pg_catalog.XMLELEMENT/-1 f/1 pg_catalog.json_object/-1 pg_catalog.JSON_OBJECT/-1 g/1 pg_catalog.IS JSON/1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan("SELECT " + tt.text + " FROM t")
			if got := joinCalls(st.Functions); got != tt.want || st.Class != ClassRead {
				t.Errorf("%s\n got %v %s %s\nwant read %s", tt.text, st.Class, got, codes(st), tt.want)
			}
		})
	}
}

func TestOperatorsAttributesTypes(t *testing.T) {
	tests := []struct{ name, text, operators, attributes, types string }{
		{"plain", "a + b <= c OR NOT d != e", "+ <= <>", "", ""},
		{"unary", "- a, @ b, a = -1", "- @ =", "", ""},
		{"in", "a IN (1, 2), b NOT IN (SELECT 1)", "= <>", "", ""},
		{"between", "a BETWEEN 1 AND 2", ">= <=", "", ""},
		{"not between", "a NOT BETWEEN SYMMETRIC 1 AND 2", ">= <= < >", "", ""},
		{"like", "a LIKE b, a NOT LIKE b, a ILIKE b, a NOT ILIKE b, a SIMILAR TO b", "~~ !~~ ~~* !~~* ~", "", ""},
		{"distinct from", "a IS NOT DISTINCT FROM b", "=", "", ""},
		{"case with an operand", "CASE a WHEN 1 THEN 2 END", "=", "", ""},
		{"case without", "CASE WHEN a THEN 2 END", "", "", ""},
		{"named with its schema", "a OPERATOR(s.@@) b", "@@", "", ""},
		{"nullif, greatest", "NULLIF(a, b), GREATEST(a, b)", "= <", "", ""},
		{"attributes", "a.b, a.b.c, (a).d, (f(x)).e, a[1].g", "", "b c d e g", ""},
		{"casts", "a::int, CAST(b AS s.t), c::text[], d::timestamp(3) with time zone, e::double precision", "", "",
			"pg_catalog.int4 s.t text pg_catalog.timestamptz pg_catalog.float8"},
		{"typed literals", "date '2020-01-01', interval '1' day, mood 'ok', s.t(3) 'x', N'x', char(3) 'y'", "", "",
			"date pg_catalog.interval mood s.t pg_catalog.bpchar"},
		{"columns named like types", "time, timestamp, t.interval, date, text", "", "interval", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan("SELECT " + tt.text + " FROM t")
			if st.Class != ClassRead {
				t.Fatalf("%s: %v %s", tt.text, st.Class, codes(st))
			}
			if got := strings.Join(st.Operators, " "); got != tt.operators {
				t.Errorf("%s\noperators %s\nwant %s", tt.text, got, tt.operators)
			}
			if got := strings.Join(st.Attributes, " "); got != tt.attributes {
				t.Errorf("%s\nattributes %s\nwant %s", tt.text, got, tt.attributes)
			}
			if got := joinNames(st.Types); got != tt.types {
				t.Errorf("%s\ntypes %s\nwant %s", tt.text, got, tt.types)
			}
		})
	}
	for text, want := range map[string]string{
		"SELECT a FROM t ORDER BY a":               "= <",
		"SELECT a FROM t ORDER BY a DESC":          "= >",
		"SELECT a FROM t ORDER BY a USING ~<~":     "= ~<~",
		"SELECT DISTINCT a FROM t":                 "= <",
		"SELECT a FROM t GROUP BY a":               "= <",
		"SELECT a FROM t UNION SELECT a FROM t":    "= <",
		"SELECT a FROM t JOIN u USING (a)":         "=",
		"SELECT a FROM t NATURAL JOIN u":           "=",
		"SELECT count(DISTINCT a) FROM t":          "= <",
		"SELECT f(a) OVER (PARTITION BY b) FROM t": "= <",
	} {
		if got := strings.Join(Scan(text).Operators, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Each feature shows, and a plain read has none.
func TestFeatures(t *testing.T) {
	plain := "SELECT DISTINCT t.a, t.*, b + $1, CASE WHEN c THEN 'x' ELSE NULL END AS d FROM s.t JOIN u ON t.a = u.a, (SELECT 1) v WHERE a IN (1, 2) AND b BETWEEN 1 AND 2 AND c LIKE 'x' AND d IS NOT NULL AND NOT e IS DISTINCT FROM f AND EXISTS (SELECT 1 FROM w) GROUP BY a HAVING count(*) > 1 ORDER BY a DESC NULLS LAST LIMIT 1 OFFSET 2"
	if st := Scan(plain); st.Features != 0 || len(st.Reasons) != 0 {
		t.Errorf("a plain read has %v %s", st.Features, codes(st))
	}
	tests := map[string]Feature{
		"WITH a AS (SELECT 1) SELECT b FROM t":                                 FeatureCTE,
		"WITH RECURSIVE a AS (SELECT 1) SELECT b FROM t":                       FeatureCTE | FeatureRecursive,
		"SELECT a FROM t UNION SELECT a FROM t":                                FeatureSetOperation,
		"VALUES (1)":                                                           FeatureValues,
		"TABLE t":                                                              FeatureTable,
		"SELECT DISTINCT ON (a) a FROM t":                                      FeatureDistinctOn,
		"SELECT a FROM t GROUP BY ROLLUP (a)":                                  FeatureGroupingSets,
		"SELECT a FROM t GROUP BY GROUPING SETS ((a), ())":                     FeatureGroupingSets,
		"SELECT a FROM t GROUP BY DISTINCT a":                                  FeatureGroupingSets,
		"SELECT f(a) OVER w FROM t WINDOW w AS (ORDER BY a)":                   FeatureWindow,
		"SELECT f(a) FILTER (WHERE b) FROM t":                                  FeatureFilter,
		"SELECT f(1) WITHIN GROUP (ORDER BY a) FROM t":                         FeatureWithinGroup,
		"SELECT f(a ORDER BY b) FROM t":                                        FeatureAggregateOrder,
		"SELECT f(DISTINCT a) FROM t":                                          FeatureAggregateDistinct,
		"SELECT f(a => 1) FROM t":                                              FeatureNamedArgument,
		"SELECT f(VARIADIC a) FROM t":                                          FeatureVariadic,
		"SELECT COALESCE(a, b) FROM t":                                         FeatureSpecialCall,
		"SELECT XMLFOREST(a) FROM t":                                           FeatureXML,
		"SELECT JSON_ARRAY(a) FROM t":                                          FeatureJSON,
		"SELECT a IS JSON FROM t":                                              FeatureJSON,
		"SELECT a::int FROM t":                                                 FeatureCast,
		"SELECT date '2020-01-01' FROM t":                                      FeatureTypedLiteral,
		"SELECT ARRAY[a] FROM t":                                               FeatureArray,
		"SELECT a[1] FROM t":                                                   FeatureSubscript,
		"SELECT a FROM t WHERE (a, b) = (1, 2)":                                FeatureRow,
		"SELECT ROW(a) FROM t":                                                 FeatureRow,
		"SELECT count(t.*) FROM t":                                             FeatureWholeRow,
		"SELECT t.* IS NULL FROM t":                                            FeatureWholeRow,
		"SELECT (t).a FROM t":                                                  FeatureField | FeatureWholeRow,
		"SELECT (a).b FROM t":                                                  FeatureField,
		"SELECT a COLLATE \"C\" FROM t":                                        FeatureCollate,
		"SELECT a AT TIME ZONE 'UTC' FROM t":                                   FeatureAtTimeZone,
		"SELECT a AT LOCAL FROM t":                                             FeatureAtTimeZone,
		"SELECT a SIMILAR TO b FROM t":                                         FeatureSimilar,
		"SELECT a LIKE b ESCAPE c FROM t":                                      FeatureEscape,
		"SELECT a = ANY ($1) FROM t":                                           FeatureQuantified,
		"SELECT a IS NFC NORMALIZED FROM t":                                    FeatureIsNormalized,
		"SELECT a OPERATOR(s.+) b FROM t":                                      FeatureOperatorSyntax,
		"SELECT a FROM t ORDER BY a USING <":                                   FeatureOrderUsing,
		"SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES":                         FeatureWithTies,
		"SELECT a FROM ONLY t":                                                 FeatureOnly,
		"SELECT a FROM t, LATERAL (SELECT 1) x":                                FeatureLateral,
		"SELECT a FROM t, f(1)":                                                FeatureFromFunction,
		"SELECT a FROM t, f(1) WITH ORDINALITY":                                FeatureFromFunction | FeatureOrdinality,
		"SELECT a FROM t, f(1) AS x (b int)":                                   FeatureFromFunction | FeatureColumnDefinitions,
		"SELECT a FROM t NATURAL JOIN u":                                       FeatureNaturalJoin,
		"SELECT a FROM t JOIN u USING (a)":                                     FeatureJoinUsing,
		"SELECT a FROM t WHERE a = U&'x'":                                      FeatureUnicodeEscape,
		"SELECT (a, b) OVERLAPS (c, d) FROM t":                                 FeatureOverlaps | FeatureRow,
		"UPDATE t SET a = 1 WHERE CURRENT OF c RETURNING a":                    FeatureCurrentOf | FeatureReturning,
		"INSERT INTO t (SELECT 1) ON CONFLICT DO NOTHING":                      FeatureOnConflict,
		"WITH RECURSIVE a AS (SELECT 1) CYCLE x SET y USING z SELECT b FROM t": FeatureCTE | FeatureRecursive | FeatureSearchCycle,
	}
	var all Feature
	for text, want := range tests {
		all |= want
		if st := Scan(text); st.Features != want || st.Class == ClassUnknown {
			t.Errorf("%s\n got %v %v\nwant %v", text, st.Class, st.Features, want)
		}
	}
	if all != featureEnd-1 {
		t.Errorf("no test for %v", (featureEnd-1)&^all)
	}
}
