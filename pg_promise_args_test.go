package cachedpgx_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"
)

type promiseWord string
type promiseBytes []byte

// TestPGPromiseDateWordsInArguments binds the words that mean a time relative to
// now, in every Go type that a caller may hold them in, to every type that
// takes them: each call reaches the server. The same words bound to text stay
// cached. Kinds 3 and 6.
//
// It would catch a look at strings only, or at parameters of type date only.
func TestPGPromiseDateWordsInArguments(t *testing.T) {
	const schema = promiseSchema + `; CREATE TABLE texts (id int, v varchar(30), c char(10), n name, j jsonb, ts text[]);
		INSERT INTO texts VALUES (1, 'a', 'b', 'c', '{}', '{a}');
		CREATE DOMAIN label AS text; CREATE TABLE labels (id int, l label); INSERT INTO labels VALUES (1, 'x');`
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			e := newPG(t, schema, "default_query_exec_mode="+mode)
			word := "today"
			pointer := &word
			scalars := map[string]any{
				"string": word, "spaces": "  Today ", "[]byte": []byte("today"), "*string": pointer, "**string": &pointer, "named": promiseWord("today"), "named bytes": promiseBytes("today"),
				"NullString": sql.NullString{String: "today", Valid: true}, "Null": sql.Null[string]{V: "today", Valid: true}, "tomorrow": "tomorrow", "yesterday": "YESTERDAY", "with a time": "today 10:00", "tab": "\ttoday\n",
			}
			lists := map[string]any{"literal": "{today}", "quoted": `{"today"}`, "spaced": "{ 2024-01-01, today }"}
			if mode != "simple_protocol" && mode != "exec" {
				lists["[]string"] = []string{"2024-01-01", "today"}
				lists["[]named"] = []promiseWord{"today"}
			}
			ranges := map[string]any{"both": "[yesterday,today)", "upper": "(,today]", "lower": "[today,)", "[]byte": []byte("[2024-01-01,today)")}
			for _, c := range []struct {
				kind string
				text string
				args map[string]any
			}{
				{"date", "SELECT id FROM t WHERE made < $1", scalars},
				{"timestamptz", "SELECT id FROM t WHERE at < $1", scalars},
				{"timestamp", "SELECT id FROM t WHERE ts < $1", scalars},
				{"cast", "SELECT id FROM t WHERE name <> '' AND $1::date > '2020-01-01'", scalars},
				{"coalesce", "SELECT id FROM t WHERE COALESCE($1, made) > '2020-01-01'", scalars},
				{"between", "SELECT id FROM t WHERE made BETWEEN '2020-01-01' AND $1", scalars},
				{"in", "SELECT id FROM t WHERE made IN ($1, '2024-01-02')", scalars},
				{"function", "SELECT date_trunc('day', $1::timestamptz) FROM t", scalars},
				{"list", "SELECT $1::date, id FROM t", scalars},
				{"time", "SELECT id FROM t WHERE ti < $1", map[string]any{"now": "now", "NOW": " NOW", "[]byte": []byte("now"), "*string": ptrTo("now")}},
				{"domain", "SELECT id FROM many WHERE d < $1", scalars},
				{"domain's cast", "SELECT id FROM many WHERE $1::dayday > '2020-01-01'", scalars},
				{"array", "SELECT id FROM t WHERE made = ANY ($1)", lists},
				{"array of timestamptz", "SELECT id FROM t WHERE at = ANY ($1::timestamptz[])", lists},
				{"range", "SELECT id FROM many WHERE dr && $1", ranges},
				{"range of timestamptz", "SELECT id FROM many WHERE tr && $1", ranges},
				{"composite", "SELECT id FROM many WHERE c < $1::dated", map[string]any{"string": "(1,today)"}},
				{"text parameter cast", "SELECT id FROM t WHERE made < $1::text::date", map[string]any{"string": "today", "date": "2024-01-02"}},
				{"record", "SELECT x.d FROM t, jsonb_to_record($1) AS x(d date)", map[string]any{"string": `{"d":"today"}`}},
			} {
				for name, arg := range c.args {
					want := pgAsk(e.ctx, e.plain, c.text, arg)
					if want.Err != "" {
						continue // it can't be bound in this mode
					}
					for range 3 {
						var got pgAnswer
						hits := e.cache.Stats().Hits
						n := e.calls(c.text, func() { got = pgAsk(e.ctx, e.db, c.text, arg) })
						if mode == "simple_protocol" {
							n = 1 // pgx writes the arguments into the text
						}
						if n != 1 || e.cache.Stats().Hits != hits {
							t.Errorf("SERVED FROM MEMORY: %s (%s) with %s %T: %d calls at the server, want 1", c.text, c.kind, name, arg, n)
							break
						}
						if got.Err != "" {
							t.Errorf("%s with %s: %s", c.text, name, got.Err)
						}
					}
				}
			}
			for _, c := range []pgCase{
				{"SELECT id FROM t WHERE name = $1", []any{"today"}}, {"SELECT id FROM t WHERE name = $1", []any{[]byte("now")}}, {"SELECT id FROM texts WHERE v = $1", []any{"tomorrow"}},
				{"SELECT id FROM texts WHERE c = $1", []any{"now"}}, {"SELECT id FROM texts WHERE n = $1", []any{"yesterday"}}, {"SELECT id FROM texts WHERE j->>'a' = $1", []any{"today"}},
				{"SELECT id FROM t WHERE made = $1", []any{"2024-01-02"}}, {"SELECT id FROM t WHERE at < $1", []any{"2024-01-02 10:00:00+00"}}, {"SELECT id FROM t WHERE at < $1", []any{time.Date(2024, 1, 3, 0, 0, 0, 0, time.UTC)}},
				{"SELECT id FROM t WHERE made < $1 AND name <> $2", []any{"2024-01-03", "today"}}, {"SELECT id FROM labels WHERE l = $1", []any{"today"}}, {"SELECT id FROM t WHERE made = $1 AND id = $2", []any{"2024-01-03", 2}},
				{"SELECT id FROM t WHERE name = $1", []any{ptrTo("today")}},
			} {
				if pgAsk(e.ctx, e.plain, c.text, c.args...).Err != "" {
					continue
				}
				if mode != "simple_protocol" {
					e.promiseKeeps(e.ctx, c.text, c.args...)
					continue
				}
				pgAsk(e.ctx, e.db, c.text, c.args...)
				hits := e.cache.Stats().Hits
				if pgAsk(e.ctx, e.db, c.text, c.args...); e.cache.Stats().Hits != hits+1 {
					t.Errorf("NOT CACHED: %s %v: %v", c.text, c.args, e.cache.Stats().Bypasses)
				}
			}
			if mode == "cache_statement" {
				e.promiseKeeps(e.ctx, "SELECT id FROM t WHERE name = ANY ($1)", []string{"today", "now"})
				e.promiseKeeps(e.ctx, "SELECT id FROM t WHERE made = ANY ($1)", []string{"2024-01-02", "2024-01-03"})
			}
		})
	}
}

func ptrTo[T any](v T) *T { return &v }

// TestPGPromiseMarkedDateWords: a word that means today is only time.
func TestPGPromiseMarkedDateWords(t *testing.T) {
	e := newPG(t, promiseSchema)
	for i, c := range []pgCase{
		{"SELECT id FROM t WHERE made < $1", []any{"today"}}, {"SELECT id FROM t WHERE made < 'today'", nil}, {"SELECT id FROM t WHERE made = ANY ($1)", []any{"{today}"}}, {"SELECT id FROM t WHERE ti < $1", []any{"now"}},
	} {
		text := fmt.Sprintf("/* cachedpgx: ttl=%ds */ %s", 20+i, c.text)
		if e.promiseKept(e.ctx, e.db, c.text, c.args...) {
			t.Errorf("SERVED FROM MEMORY without a mark: %s %v", c.text, c.args)
		}
		if !e.promiseKept(e.ctx, e.db, text, c.args...) {
			t.Errorf("NOT CACHED with a mark: %s %v: %v", c.text, c.args, e.cache.Stats().Bypasses)
		}
	}
}
