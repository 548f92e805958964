package cachedpgx_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

const promiseExplains = promiseSchema + `;
	CREATE TABLE customer (id int PRIMARY KEY, name text); CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customer ON DELETE CASCADE ON UPDATE CASCADE, note text);
	CREATE TABLE line (id int, orders int REFERENCES orders ON DELETE SET NULL, v int); CREATE TABLE keep (id int, customer int REFERENCES customer);
	INSERT INTO customer VALUES (1, 'c'); INSERT INTO orders VALUES (1, 1); INSERT INTO line VALUES (1, 1, 1);
	CREATE TABLE part (id int, at date) PARTITION BY RANGE (at); CREATE TABLE part_24 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (id);
	CREATE TABLE part_24_1 PARTITION OF part_24 FOR VALUES IN (1); CREATE TABLE part_rest PARTITION OF part DEFAULT;
	CREATE TABLE base (id int); CREATE TABLE heir () INHERITS (base); CREATE TABLE heir2 () INHERITS (heir);
	CREATE VIEW v_customer AS SELECT id, name FROM customer WHERE id < 100; CREATE VIEW v_customer2 AS SELECT id, name FROM v_customer;
	CREATE VIEW v_sum AS SELECT customer, count(*) FROM orders GROUP BY customer; CREATE VIEW v_part AS SELECT id FROM part; CREATE MATERIALIZED VIEW mat AS SELECT id FROM customer;
	CREATE TABLE ruled (id int); CREATE TABLE rule_log (id int); CREATE RULE r AS ON INSERT TO ruled DO ALSO INSERT INTO rule_log VALUES (NEW.id);
	CREATE TABLE audited (id int); CREATE TABLE audit (id int); CREATE FUNCTION trig() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NEW; END';
	CREATE TRIGGER tr AFTER INSERT ON audited FOR EACH ROW EXECUTE FUNCTION trig();
	CREATE TABLE mystery (id int); CREATE FUNCTION dyn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'INSERT INTO au' || 'dit VALUES (1)'; RETURN NEW; END $$; CREATE TRIGGER tr AFTER INSERT ON mystery FOR EACH ROW EXECUTE FUNCTION dyn();
	CREATE FUNCTION own(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'; CREATE VIEW v_clock AS SELECT id, now() AS n FROM t; CREATE FUNCTION pure(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'; CREATE VIEW v_secret AS SELECT id FROM secret;
	CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; CREATE FOREIGN TABLE far (id int) SERVER files OPTIONS (program 'echo 4', format 'csv');
	CREATE FUNCTION opf(int, int) RETURNS bool VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN true; END'; CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = opf);`

// TestPGPromiseExplainReasons: every reason, with the words or the object that it
// is about, whether a mark waives it, and a fix that is a sentence.
//
// It would catch an Explain that stops at the first reason, and one that asks the
// catalog about nothing once the text is refused.
func TestPGPromiseExplainReasons(t *testing.T) {
	e := newPG(t, promiseExplains)
	type want struct {
		code, detail string
		markable     bool
	}
	for _, c := range []struct {
		text  string
		wants []want
	}{
		{"SELECT now() FROM t", []want{{"volatile-function", "now", true}}},
		{"SELECT random(), clock_timestamp() FROM t", []want{{"volatile-function", "random", true}, {"volatile-function", "clock_timestamp", true}}},
		{"SELECT nextval('sq') FROM t", []want{{"volatile-function", "nextval", false}}},
		{"SELECT CURRENT_DATE, LOCALTIME FROM t", []want{{"clock-keyword", "current_date", true}, {"clock-keyword", "localtime", true}}},
		{"SELECT current_user FROM t", []want{{"identity-keyword", "current_user", false}}},
		{"SELECT id FROM t WHERE made < 'today'", []want{{"date-word", "today", true}}},
		{"SELECT w::date FROM words", []want{{"date-input", "date", true}}},
		{"SELECT id FROM t FOR UPDATE", []want{{"row-lock", "update", false}}},
		{"SELECT xmin FROM t", []want{{"system-column", "xmin", false}}},
		{"SELECT id FROM t TABLESAMPLE SYSTEM (1)", []want{{"tablesample", "tablesample", true}}},
		{"SELECT relname FROM pg_class", []want{{"system-relation", "pg_class", false}}},
		{"SELECT id FROM far", []want{{"foreign-table", "public.far", true}}},
		{"SELECT id FROM secret", []want{{"row-security", "public.secret", false}}},
		{"SELECT id FROM v_secret", []want{{"row-security", "public.secret", false}}},
		{"SELECT id FROM v_clock", []want{{"volatile-function", "now", true}, {"volatile-function", "v_clock", true}}},
		{"SELECT own(id) FROM t", []want{{"volatile-function", "own", false}}},
		{"SELECT pure(id) FROM t", []want{{"user-function", "pure", false}}},
		{"SELECT id ### n FROM t", []want{{"operator", "###", false}}},
		{"SELECT id FROM nosuch", []want{{"unknown-relation", "nosuch", false}}},
		{"SELECT last_value FROM sq", []want{{"relation-kind", "sq", false}}},
		{"SELECT 1", []want{{"no-relation", "", false}}},
		{"SELECT 1; SELECT id FROM t", []want{{"several-statements", "", false}}},
		{"SELEC id FROM t", []want{{"not-understood", "", false}}},
		{"", []want{{"not-a-read", "", false}}},
		{"SELECT id FROM t WHERE (", []want{{"not-understood", "", false}}},
		{"SELECT 'unclosed FROM t", []want{{"not-understood", "", false}}},
		{"SELECT id FROM t \x00", []want{{"bad-text", "", false}}},
		{"SELECT '\xff' FROM t", []want{{"bad-text", "", false}}},
		{"SELECT id INTO x FROM t", []want{{"select-into", "", false}}},
		{"INSERT INTO t (id) VALUES (100)", []want{{"write", "", false}}},
		{"WITH x AS (DELETE FROM dep RETURNING id) SELECT id FROM x", []want{{"write", "", false}}},
		{"SELECT now(), current_user, xmin, own(id), id ### n, w::date FROM t, words, far, secret, pg_class WHERE made < 'today' FOR SHARE", []want{
			{"volatile-function", "now", true}, {"identity-keyword", "current_user", false}, {"system-column", "xmin", false}, {"row-lock", "share", false}, {"date-word", "today", true},
			{"volatile-function", "own", false}, {"operator", "###", false}, {"date-input", "date", true}, {"foreign-table", "far", true}, {"row-security", "secret", false}, {"system-relation", "pg_class", false}}},
	} {
		x := e.promiseExplain(e.ctx, c.text)
		if x.Cacheable || len(x.Reasons) == 0 {
			t.Errorf("%s: cacheable %t, reasons %v", pgShort(c.text), x.Cacheable, x.Reasons)
		}
		for _, w := range c.wants {
			if !slices.ContainsFunc(x.Reasons, func(r cachedpgx.Reason) bool {
				return r.Code.String() == w.code && strings.Contains(strings.ToLower(r.Detail), w.detail) && r.Markable == w.markable
			}) {
				t.Errorf("%s: no reason %+v among %+v", pgShort(c.text), w, x.Reasons)
			}
		}
		for _, r := range x.Reasons {
			if len(r.Fix) < 10 || r.Code == "" || strings.Contains(r.Fix, "%!") {
				t.Errorf("%s: %+v", pgShort(c.text), r)
			}
		}
	}
	for _, text := range []string{"SELECT own(id) FROM t", "SELECT pure(id) FROM t"} {
		if x := e.promiseExplain(e.ctx, text); !strings.Contains(x.Reasons[0].Fix, "PureFunctions") || strings.Contains(x.Reasons[0].Fix, "mark the read") {
			t.Errorf("%s: the fix for what no mark waives is %q", text, x.Reasons[0].Fix)
		}
	}
	// A mark leaves what it doesn't waive.
	marked := cachedpgx.WithTTL(e.ctx, 20*time.Second)
	if x := e.promiseExplain(marked, "SELECT now(), random() FROM t, far WHERE made < 'today'"); !x.Cacheable || len(x.Reasons) != 0 {
		t.Errorf("marked: %+v", x.Reasons)
	}
	if x := e.promiseExplain(marked, "SELECT now(), current_user FROM t"); x.Cacheable || !strings.Contains(promiseCodes(x), "identity-keyword") {
		t.Errorf("marked: %+v", x.Reasons)
	}
	if x := e.promiseExplain(cachedpgx.WithoutCache(e.ctx), "SELECT id FROM t"); x.Cacheable || promiseCodes(x) != "without-cache" {
		t.Errorf("WithoutCache: %+v", x)
	}
	long := "SELECT id FROM t WHERE name = '" + strings.Repeat("x", 70<<10) + "'"
	if x := e.promiseExplain(e.ctx, long); x.Cacheable {
		t.Error("a text of 70 KiB is cacheable")
	}
	if x := e.promiseExplain(e.ctx, "SELECT "+strings.Repeat("(", 5000)+"1"+strings.Repeat(")", 5000)+" FROM t"); x.Cacheable {
		t.Error("a text of 5000 parentheses is cacheable")
	}
}

// TestPGPromiseExplainRelations: what an answer depends on, and what a statement
// may write.
//
// It would catch: only the direct children of a partitioned table; cascades that
// end after one step, or that count for an INSERT; a trigger on a partition left out.
func TestPGPromiseExplainRelations(t *testing.T) {
	e := newPG(t, promiseExplains)
	const tree = "public.part public.part_24 public.part_24_1 public.part_rest"
	// What is written may be taken for a little more: the column that a foreign key
	// follows for any column, and a view for itself.
	may := map[string]string{"UPDATE customer SET name = 'x'": "public.orders", "INSERT INTO customer VALUES (5, 'x') ON CONFLICT (id) DO UPDATE SET name = 'y'": "public.orders",
		"DELETE FROM v_customer2 WHERE id = 9": "public.v_customer public.v_customer2", "INSERT INTO v_customer (id) VALUES (9)": "public.v_customer"}
	for _, c := range []struct{ text, relations, writes string }{
		{"SELECT id FROM part", tree, ""},
		{"SELECT id FROM v_part", tree + " public.v_part", ""},
		{"SELECT id FROM base", "public.base public.heir public.heir2", ""},
		{"SELECT id FROM v_customer2 JOIN v_sum s ON s.customer = id", "public.customer public.orders public.v_customer public.v_customer2 public.v_sum", ""},
		{"SELECT id FROM mat", "public.mat", ""},
		{"SELECT c.id FROM customer c, (SELECT 1 FROM orders) o WHERE EXISTS (SELECT FROM line)", "public.customer public.line public.orders", ""},
		{"INSERT INTO customer VALUES (5, 'x')", "", "public.customer"},
		{"INSERT INTO customer VALUES (5, 'x') ON CONFLICT (id) DO UPDATE SET name = 'y'", "", "public.customer"},
		{"UPDATE customer SET name = 'x'", "", "public.customer"},
		{"DELETE FROM customer WHERE id = 7", "", "public.customer public.line public.orders"},
		{"DELETE FROM orders WHERE id = 7", "", "public.line public.orders"},
		{"UPDATE customer SET id = 8 WHERE id = 7", "", "public.customer public.orders"},
		{"DELETE FROM v_customer2 WHERE id = 9", "", "public.customer public.line public.orders"},
		{"INSERT INTO v_customer (id) VALUES (9)", "", "public.customer"},
		{"INSERT INTO part VALUES (1, '2024-02-02')", "", tree},
		{"UPDATE part_24 SET id = id", "", ""},
		{"DELETE FROM base", "", "public.base public.heir public.heir2"},
		{"DELETE FROM ONLY base", "", "public.base public.heir public.heir2"}, // the tree, whatever is named
		{"TRUNCATE line", "", "public.line"},
		{"INSERT INTO ruled VALUES (1)", "", "public.rule_log public.ruled"},
		{"INSERT INTO audited VALUES (1)", "", "public.audit public.audited"},
		{"WITH x AS (DELETE FROM dep RETURNING id), y AS (INSERT INTO line (id) SELECT id FROM x RETURNING 1) SELECT * FROM y", "", "public.dep public.line"},
		{"MERGE INTO line l USING orders o ON l.orders = o.id WHEN MATCHED THEN UPDATE SET v = 2 WHEN NOT MATCHED THEN INSERT (id) VALUES (3)", "", "public.line"},
		{"COPY line FROM STDIN", "", "public.line"},
		{"EXPLAIN ANALYZE DELETE FROM line", "", "public.line"},
		{"REFRESH MATERIALIZED VIEW mat", "", "public.mat"},
		{"SELECT id FROM t FOR UPDATE", "", ""},
	} {
		x := e.promiseExplain(e.ctx, c.text)
		if c.relations != "" && strings.Join(x.Relations, " ") != c.relations {
			t.Errorf("%s: depends on %q, want %q", c.text, x.Relations, c.relations)
		}
		for _, w := range strings.Fields(c.writes) {
			if !x.AllWrites && !slices.Contains(x.Writes, w) {
				t.Errorf("MISSED WRITE: %s: writes %q, which leaves out %s", c.text, x.Writes, w)
			}
		}
		for _, w := range x.Writes {
			if c.writes != "" && !slices.Contains(strings.Fields(c.writes+" "+may[c.text]), w) {
				t.Errorf("%s: writes %q, want %q", c.text, x.Writes, c.writes)
			}
		}
		if c.writes != "" && x.AllWrites {
			t.Errorf("%s: writes everything, want %q; notes %q", c.text, c.writes, x.Notes)
		}
		if c.writes == "" && c.relations != "" && (len(x.Writes) != 0 || x.AllWrites) {
			t.Errorf("%s: writes %q, all: %t", c.text, x.Writes, x.AllWrites)
		}
	}
	for _, text := range []string{"INSERT INTO mystery VALUES (1)", "DO $$ BEGIN END $$", "CALL p()", "EXECUTE p", "CREATE TABLE x (id int)", "SELECT own(id) FROM t", "TRUNCATE customer CASCADE; SELECT 1", "DROP TABLE t", "GRANT SELECT ON t TO public", "COMMIT PREPARED 'x'"} {
		if x := e.promiseExplain(e.ctx, text); !x.AllWrites {
			t.Errorf("MISSED WRITE: %s: its effect is unknown, and Explain says %q", text, x.Writes)
		}
	}
	if x := e.promiseExplain(e.ctx, "TRUNCATE customer CASCADE"); !x.AllWrites {
		for _, w := range []string{"public.customer", "public.orders", "public.line", "public.keep"} {
			if !slices.Contains(x.Writes, w) {
				t.Errorf("MISSED WRITE: TRUNCATE CASCADE leaves out %s: %q", w, x.Writes)
			}
		}
	}
	if x := e.promiseExplain(e.ctx, "UPDATE part_24_1 SET id = 1"); !x.AllWrites && !slices.Contains(x.Writes, "public.part_24_1") {
		t.Errorf("MISSED WRITE: %q", x.Writes)
	}
}

// TestPGPromiseExplainAgrees holds Explain against what happens: cacheable if and
// only if the second run makes no call. It changes nothing at the server, and many
// may ask at once.
func TestPGPromiseExplainAgrees(t *testing.T) {
	e := newPG(t, promiseExplains)
	e.db.SetMaxIdleConns(0)
	var corpus []string
	for _, rel := range []string{"t", "public.t", "words", "many", "v_clock", "v_customer2", "v_sum", "v_part", "part", "part_24", "base", "mat", "far", "secret", "v_secret", "sq", "pg_class", "zoned"} {
		corpus = append(corpus, "SELECT count(*) FROM "+rel, "SELECT * FROM "+rel+" x WHERE false", "WITH q AS (SELECT * FROM "+rel+" LIMIT 1) SELECT count(*) FROM q")
	}
	for _, expr := range []string{"now()", "id", "current_user", "'today'::date", "'2024-01-01'::date", "(SELECT max(w::date) FROM words)", "made::text", "nextval('sq')", "own(id)", "id ### n", "id = n", "xmin::text", "random()", "lower(name)", "to_char(at, 'DD')", "at::date", "ti::timetz",
		"array[id]", "row(id)::text", "name ~ 'x'", "name COLLATE \"C\"", "current_date", "j->0", "count(*) OVER ()", "(SELECT max(id) FROM secret)", "(SELECT max(id) FROM part)", "CASE WHEN id = 1 THEN now() END", "make_date(2024, 1, 1)", "age(at)", "age(at, at)", "extract(day FROM at)", "pg_backend_pid()", "version()",
		"id::regclass::text", "format('%s', id)", "gen_random_uuid()", "md5(name)", "'now'", "current_setting('a', true)", "t.made", "(t).n", "t::text", "hashtext(name)", "pg_typeof(id)::text", "at AT TIME ZONE 'UTC'", "date_trunc('day', at)", "txid_current()"} {
		corpus = append(corpus, "SELECT "+expr+" FROM t")
	}
	corpus = append(corpus, "SELECT id FROM t FOR UPDATE", "SELECT 1", "TABLE t", "VALUES (1)", "SELECT id FROM t TABLESAMPLE SYSTEM (10)", "SELECT id FROM t ORDER BY random()", "SELECT id FROM t UNION SELECT id FROM dep", "SHOW work_mem", "EXPLAIN SELECT id FROM t",
		"SELECT id FROM t; ", "SELECT id FROM t /* cachedpgx: ttl=5s */", "SELECT now() FROM t /* cachedpgx: ttl=5s */", "/* cachedpgx: off */ SELECT id FROM t", "SELECT id FROM t WHERE name = 'now'")

	explained := map[string]cachedpgx.Explanation{}
	before := e.promiseTexts()
	stats := e.cache.Stats()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range corpus {
				text := corpus[(i*17+j)%len(corpus)]
				x, err := e.cache.Explain(e.ctx, text)
				if err != nil {
					t.Errorf("Explain(%s): %v", text, err)
					return
				}
				mu.Lock()
				if was, ok := explained[text]; ok && fmt.Sprint(was) != fmt.Sprint(x) {
					t.Errorf("%s: two explanations:\n%+v\n%+v", text, was, x)
				}
				explained[text] = x
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, text := range corpus {
		if after := e.promiseTexts(); after[text] != before[text] {
			t.Errorf("Explain ran %s", text)
		}
	}
	if s := e.cache.Stats(); s.Entries != stats.Entries || s.Loads != stats.Loads || s.Hits != stats.Hits || s.Invalidations != stats.Invalidations || len(s.Bypasses) != len(stats.Bypasses) {
		t.Errorf("Explain shows in the figures: %+v", s)
	}
	if n := e.one(e.plain, "SELECT is_called FROM sq"); n != "bool(false)" {
		t.Errorf("the sequence was called: %s", n)
	}
	for _, text := range corpus {
		want := pgAsk(e.ctx, e.plain, text)
		if want.Err != "" {
			t.Errorf("%s: %s", text, want.Err)
			continue
		}
		if kept := e.promiseKept(e.ctx, e.db, text); kept != explained[text].Cacheable {
			t.Errorf("%s: kept %t, and Explain says %t: %+v", text, kept, explained[text].Cacheable, explained[text].Reasons)
		}
	}
}
