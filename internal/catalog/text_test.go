package catalog

import (
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

func TestJudgeTextReasons(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       want
		why        string
	}{
		{"plain", "SELECT id FROM item WHERE id = $1", marked, "no-catalog"},
		{"aggregate", "SELECT count(*), string_agg(name, ',') FROM item", marked, "no-catalog"},
		{"qualified", "SELECT pg_catalog.lower(name) FROM item", marked, "no-catalog"},
		{"syntax that is no function", "SELECT COALESCE(name, 'x'), EXTRACT(year FROM at) FROM item", marked, "no-catalog"},
		{"clock", "SELECT now(), random(), CURRENT_DATE FROM item WHERE made > 'today'", marked, "clock-keyword date-word no-catalog volatile-function"},
		{"sampling", "SELECT id FROM item TABLESAMPLE bernoulli (5)", marked, "no-catalog tablesample"},
		{"unknown function", "SELECT f(id) FROM item", refused, "no-catalog unknown-function"},
		{"built-in's name in a schema", "SELECT app.lower(name) FROM item", refused, "no-catalog unknown-function"},
		{"quoted in upper case", `SELECT "LOWER"(name) FROM item`, refused, "no-catalog unknown-function"},
		{"sequence", "SELECT nextval('s') FROM item", refused, "no-catalog unknown-function"},
		{"setting", "SELECT set_config('a.b', 'c', true) FROM item", refused, "no-catalog session-effect unknown-function"},
		{"setting read", "SELECT current_setting('a.b') FROM item", refused, "no-catalog unknown-function"},
		{"sleep", "SELECT pg_sleep(1) FROM item", harmless, "no-catalog unknown-function"},
		{"lock", "SELECT id FROM item FOR UPDATE", refused, "no-catalog row-lock"},
		{"identity", "SELECT current_user FROM item", harmless, "identity-keyword no-catalog"},
		{"system column", "SELECT ctid FROM item", harmless, "no-catalog system-column"},
		{"system catalog", "SELECT relname FROM pg_catalog.pg_class", harmless, "no-catalog system-relation"},
		{"system catalog, unqualified", "SELECT relname FROM pg_class", harmless, "no-catalog system-relation"},
		{"temp schema", "SELECT id FROM pg_temp.x", harmless, "no-catalog system-relation temporary-table"},
		{"no relation", "SELECT now()", harmless, "no-catalog no-relation volatile-function"},
		{"attribute", "SELECT i.id FROM item i", marked, "no-catalog"},
		{"attribute of a value", "SELECT ('s').nextval FROM item", refused, "attribute-function no-catalog"},
		{"attribute of a function's alias", "SELECT s.nextval FROM item, lower('s') s", refused, "attribute-function no-catalog"},
		{"operator by its schema", "SELECT id OPERATOR(public.=) 1 FROM item", refused, "no-catalog syntax-not-cached"},
		{"write", "UPDATE item SET id = 1", refused, "no-catalog write"},
		{"not understood", "SELECT FROM WHERE", refused, "no-catalog not-understood"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := JudgeText(sqlscan.Scan(tt.text))
			if v.Cacheable {
				t.Error("cacheable without a catalog")
			}
			if got := wantOf(v); got != tt.want || codes(v) != tt.why {
				t.Errorf("%s\n\tis %s (%s), want %s (%s): %v", tt.text, got, codes(v), tt.want, tt.why, v.Reasons)
			}
		})
	}
}

func TestHarmlessName(t *testing.T) {
	for name, want := range map[sqlscan.Name]bool{
		{Name: "lower"}: true, {Schema: "pg_catalog", Name: "count"}: true, {Name: "now"}: true, {Name: "nextval"}: true,
		{Schema: "pg_catalog", Name: "COALESCE"}: true, {Schema: "pg_catalog", Name: "IS JSON"}: true,
		{Name: "COALESCE"}: false, {Name: "f"}: false, {Schema: "app", Name: "lower"}: false, {Name: "set_config"}: false,
		{Name: "setseed"}: false, {Name: "pg_advisory_lock"}: false, {Schema: "pg_catalog", Name: "_1"}: false,
	} {
		if got := HarmlessName(name); got != want {
			t.Errorf("%v: %v, want %v", name, got, want)
		}
	}
}

func TestCodeNames(t *testing.T) {
	seen := map[string]bool{}
	for c := ReasonFeature; c <= ReasonNoCatalog; c++ {
		if name := CodeName(c); name == "" || seen[name] {
			t.Errorf("code %d: %q", c, name)
		} else {
			seen[name] = true
		}
	}
	if len(seen) != len(reasonNames) {
		t.Errorf("%d names for %d codes", len(reasonNames), len(seen))
	}
	if got := CodeName(sqlscan.ReasonLock); got != "row-lock" {
		t.Errorf("the scanner's: %q", got)
	}
}

// What the server says and isn't understood fails the judgement.
func TestFactsNotUnderstood(t *testing.T) {
	raw := func(cols []string) (r row) {
		for _, v := range cols {
			r = append(r, []byte(v))
		}
		return r
	}
	for _, r := range [][]string{
		{"relation", "public", "item", "x", "rpff"}, {"relation", "public", "item", "1", "rpf"}, {"nosuch", "", "", "", ""},
		{"named", "", "item", "-1", ""}, {"inherits", "", "", "1", "x"}, {"column", "", "id", "1", ""}, {"uses", "", "", "1", "1255 x"}, {"rows", "", "", "1", ""},
	} {
		if _, err := readRelations([]row{raw(r)}); err == nil {
			t.Errorf("%q: no error", r)
		}
	}
	for _, r := range [][]string{{"f", "v", "1", "1"}, {"f", "vf-", "x", "1"}, {"f", "vf-", "1", ""}} {
		if _, err := readBuiltIns(150000, []row{raw(r)}, nil, nil, nil); err == nil {
			t.Errorf("%q: no error", r)
		}
	}
	for _, r := range [][]string{{"=", "app", "1 b", "", "1"}, {"=", "app", "1 b N f", "", ""}} {
		if _, err := readObjects(nil, nil, []row{raw(r)}, nil, nil, nil, nil, nil); err == nil {
			t.Errorf("%q: no error", r)
		}
	}
}

func TestTextArray(t *testing.T) {
	for _, tt := range []struct {
		list []string
		want string
	}{
		{nil, "{}"}, {[]string{""}, `{""}`}, {[]string{"a", "NULL"}, `{"a","NULL"}`}, {[]string{`a"b\c,{}`}, `{"a\"b\\c,{}"}`},
	} {
		if got := string(textArray(tt.list)); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.list, got, tt.want)
		}
	}
}
