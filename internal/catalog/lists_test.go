package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

// rows gives a query's rows as text.
func rows(tb testing.TB, pc *pgconn.PgConn, sql string, args ...string) [][]string {
	tb.Helper()
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	r := pc.ExecParams(context.Background(), sql, params, nil, nil, nil).Read()
	if r.Err != nil {
		tb.Fatalf("%s: %v", sql, r.Err)
	}
	var out [][]string
	for _, row := range r.Rows {
		var line []string
		for _, v := range row {
			line = append(line, string(v))
		}
		out = append(out, line)
	}
	return out
}

// The lists are held against the server: what it says of each name.
func TestOperatorListsAgainstServer(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	for _, r := range rows(t, pc, `SELECT o.oprname, p.proname, p.provolatile FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode
		WHERE o.oid < 16384 AND p.provolatile <> 'i'`) {
		if r[2] != "s" || !stables[r[1]] {
			t.Errorf("%s (%s) is %s", r[0], r[1], r[2])
		}
	}
	texts := map[string]bool{}
	for _, r := range rows(t, pc, `SELECT oprname, bool_or(oprleft = 'text'::regtype AND oprright = 'text'::regtype) FROM pg_operator
		WHERE oid < 16384 AND oprleft <> 0 GROUP BY 1`) {
		texts[r[0]] = r[1] == "t"
	}
	for op, onText := range twins {
		if got, ok := texts[op]; !ok || got != onText {
			t.Errorf("twin %s: on text %v, the server says %v (there: %v)", op, onText, got, ok)
		}
	}
}

func TestFunctionListsAgainstServer(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	volatility := map[string]string{}
	for _, r := range rows(t, pc, `SELECT proname, string_agg(DISTINCT provolatile::text, '') FROM pg_proc
		WHERE pronamespace = 'pg_catalog'::regnamespace AND oid < 16384 GROUP BY 1`) {
		volatility[r[0]] = r[1]
	}
	for name := range aggregates {
		if volatility[name] != "i" {
			t.Errorf("aggregate %s is %q", name, volatility[name])
		}
	}
	for name := range clocks {
		if volatility[name] == "" {
			t.Errorf("no clock %s", name)
		}
	}
	for name := range quiet {
		// Some are newer or older than the server.
		if v := volatility[name]; v != "" && !strings.Contains(v, "v") {
			t.Errorf("quiet %s is %q: it needs no exception", name, v)
		}
	}
	for name := range loud {
		if v := volatility[name]; v == "v" { // some are newer than the server
			t.Errorf("loud %s is %q", name, v)
		}
	}
	for name := range pureNames {
		if v := volatility[name]; strings.Contains(v, "v") && name != "timezone" {
			t.Errorf("pure %s is %q", name, v)
		}
		if clocks[name] || settled[name] {
			t.Errorf("%s is on two lists", name)
		}
	}
	// Names of what writes, or changes a session, are on no list of good ones.
	for _, name := range []string{"nextval", "setval", "set_config", "setseed", "pg_notify", "pg_advisory_lock", "pg_advisory_xact_lock",
		"lo_create", "lo_unlink", "lo_import", "lo_export", "pg_terminate_backend", "pg_cancel_backend", "pg_reload_conf",
		"pg_logical_slot_get_changes", "pg_export_snapshot", "query_to_xml", "ts_stat", "cursor_to_xml", "pg_switch_wal", "pg_promote",
		"pg_logical_emit_message", "pg_stat_reset", "pg_import_system_collations", "dblink", "lowrite"} {
		if aggregates[name] || clocks[name] || quiet[name] || pureNames[name] {
			t.Errorf("%s is let pass", name)
		}
	}
}

func TestTypeListAgainstServer(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	got := map[string]bool{}
	var missing []string
	for _, r := range rows(t, pc, `SELECT oid, typname, typtype, typcategory, oid < 16384 AND typnamespace = 'pg_catalog'::regnamespace, typelem, typrelid FROM pg_type`) {
		var oid uint32
		if _, err := fmt.Sscan(r[0], &oid); err != nil {
			t.Fatal(err)
		}
		if builtIn[oid] {
			got[r[0]] = true
			if r[4] != "t" || !strings.Contains("brm", r[2]) || strings.HasPrefix(strings.TrimPrefix(r[1], "_"), "reg") || strings.Contains(r[1], "timetz") || strings.Contains(r[1], "aclitem") {
				t.Errorf("%s (%d) is let pass", r[1], oid)
			}
		} else if r[4] == "t" && strings.Contains("brm", r[2]) && r[6] == "0" && !strings.HasPrefix(strings.TrimPrefix(r[1], "_"), "pg_") {
			missing = append(missing, r[1])
		}
	}
	if len(got) != len(builtIn) {
		// pg_lsn, xid8 and the multiranges came with 13 and 14.
		t.Logf("%d of %d types are known to this server", len(got), len(builtIn))
	}
	t.Logf("built-in types that are not cached over: %v", missing)
}

// Every built-in type that reads 'now' as the clock is a TimeParam, whatever the
// form of its literals.
func TestTimeParamsAgainstServer(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	clocks := 0
	for _, r := range rows(t, pc, `SELECT oid, format_type(oid, NULL) FROM pg_type WHERE oid < 16384 AND typtype IN ('b', 'r', 'm') AND typrelid = 0
		AND typnamespace = 'pg_catalog'::regnamespace`) {
		var oid uint32
		if _, err := fmt.Sscan(r[0], &oid); err != nil {
			t.Fatal(err)
		}
		clock := false
		for _, literal := range []string{"now", "today", "{now}", "[now,)", "[today,)", "{[now,)}", "{[today,)}", `{"[now,)"}`, `{"[today,)"}`, `{"{[now,)}"}`, `{"{[today,)}"}`} {
			out := pc.ExecParams(context.Background(), "SELECT '"+literal+"'::"+r[1], nil, nil, nil, nil).Read()
			if out.Err == nil && strings.Contains(string(out.Rows[0][0]), ":") || out.Err == nil && strings.Contains(string(out.Rows[0][0]), "20") {
				clock = true
			}
		}
		if clock != TimeParam(oid) {
			t.Errorf("%s (%d): reads the clock %v, TimeParam %v", r[1], oid, clock, TimeParam(oid))
		}
		if clock {
			clocks++
		}
	}
	if clocks < 16 {
		t.Errorf("only %d types read the clock", clocks)
	}
}

// spellings are texts of which many are clocks: every word in many disguises.
func spellings() []string {
	var all []string
	for _, w := range []string{"now", "today", "tomorrow", "yesterday"} {
		for _, word := range []string{w, strings.ToUpper(w), strings.ToUpper(w[:1]) + w[1:], w[:1] + `\` + w[1:], w[:1] + `"` + w[1:], w[:1] + `""` + w[1:], w[:len(w)-1], w + "s", w[:2] + " " + w[2:]} {
			for _, form := range []string{"%s", " %s ", "\t%s\n", "%s 10:00", "10:00 %s", "%s allballs", "mon %s", `mon"%s`, `mon\%s`, "mon,%s", "%s UTC", "%s +03", "10:00%s", "%s10:00",
				"%s.", "(%s)", "{%s}", `{"%s"}`, `{%s,"%s"}`, `{{%s}}`, "[0:0]={%s}", "[%s,)", `["%s",)`, "(,%s]", `[,"%s")`, "{[%s,)}", `{"[\"%s\",)"}`, `{[%s,),["%s",)}`, `{"{[%s,)}"}`} {
				all = append(all, strings.ReplaceAll(form, "%s", word))
			}
		}
	}
	return append(all, "epoch", "infinity", "-infinity", "2024-01-01", "2024-01-01 10:00", "10:00", "allballs", "J2451187",
		"20240101T101010", "Jan 1 2024", "noon", "midnight", "current", "1 day ago", "invalid", "undefined", "zulu")
}

// What any of the types takes for the clock is a date word: the same text read
// at another time gives something else.
func TestTimeWordsAgainstServer(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, `SET timezone = 'UTC'; CREATE FUNCTION reads(literal text, type regtype) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE r text; BEGIN EXECUTE format('SELECT %L::%s', literal, type) INTO r; RETURN r; EXCEPTION WHEN others THEN RETURN NULL; END $$`)
	// The years before, of and after this one: constants are of other years.
	year := rows(t, pc, "SELECT extract(year FROM now() - interval '2 days')::int, extract(year FROM now() + interval '2 days')::int")[0]
	clocks := 0
	for _, s := range spellings() {
		if strings.Contains(s, "2024") {
			continue // says its own year
		}
		read := rows(t, pc, `SELECT coalesce(string_agg(type || ' ' || reads($1, type::regtype), ', '), '') FROM unnest('{date,timestamp,timestamptz,date[],timestamp[],timestamptz[],
			daterange,tsrange,tstzrange,daterange[],tstzrange[]}'::text[]) type WHERE reads($1, type::regtype) IS NOT NULL`, s)[0][0]
		if strings.Contains(read, year[0]+"-") || strings.Contains(read, year[1]+"-") {
			clocks++
			if !TimeWord(s) {
				t.Errorf("%q is a clock: %s", s, read)
			}
		}
	}
	if clocks < 200 {
		t.Errorf("only %d of %d spellings are clocks", clocks, len(spellings()))
	}
	for _, s := range []string{"", "no", "2024-01-01", "epoch", "infinity", "10:00 UTC", "[2024-01-01,2024-02-01)", `{"2024-01-01"}`, "to day"} {
		if TimeWord(s) {
			t.Errorf("%q is no date word", s)
		}
	}
}

// FuzzTimeWord holds TimeWord to its promise: a word stays one whatever stands
// around it, and whatever quotes and backslashes stand in it.
func FuzzTimeWord(f *testing.F) {
	f.Add("{", "}", 1, 0)
	f.Add("", "", 0, 1)
	f.Add(`["`, `",)`, 2, 2)
	f.Fuzz(func(t *testing.T, before, after string, at, word int) {
		w := []string{"now", "TODAY", "Tomorrow", "yesterday"}[uint(word)%4]
		k := int(uint(at) % uint(len(w)))
		for _, in := range []string{"", `\`, `"`, `""`, `\"`} {
			if s := before + w[:k] + in + w[k:] + after; !TimeWord(s) {
				t.Errorf("%q is a date word", s)
			}
		}
	})
}
