package cachedpgx_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

const explainSchema = pgTraps + `
	; CREATE TABLE orders (id int PRIMARY KEY, item_id int REFERENCES item ON DELETE CASCADE, at timestamptz, note text);
	CREATE TABLE part (id int, at date) PARTITION BY RANGE (at);
	CREATE TABLE part_2024 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
	CREATE VIEW plain_view AS SELECT id, lower(name) AS low FROM item;
	CREATE FUNCTION checked(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'`

// TestPGExplain checks every reason that a statement is given, what it depends
// on and what it may write. Kinds 2, 5 and 6.
func TestPGExplain(t *testing.T) {
	e := newPG(t, explainSchema)
	for _, c := range []struct {
		text, codes, relations, writes string
	}{
		{"SELECT id, name FROM item WHERE id = $1", "", "public.item", ""},
		{"SELECT low FROM plain_view", "", "public.item public.plain_view", ""},
		{"SELECT id FROM part", "", "public.part public.part_2024", ""},
		{"SELECT id FROM part_2024", "", "public.part public.part_2024", ""},
		{"SELECT o.id, date_trunc('day', o.at)::date FROM orders o JOIN item i ON i.id = o.item_id", "", "public.item public.orders", ""},
		{"SELECT id FROM item WHERE at > now()", "volatile-function", "public.item", ""},
		{"SELECT id FROM item WHERE at > now() FOR UPDATE", "row-lock volatile-function", "", ""},
		{"SELECT note::date, random(), current_user FROM orders", "date-input identity-keyword volatile-function", "public.orders", ""},
		{"SELECT * FROM nested_view", "volatile-function", "public.clock_view public.item public.nested_view", ""},
		{"SELECT * FROM lock_view", "row-lock", "public.item public.lock_view", ""},
		{"SELECT checked(id) FROM item", "user-function", "public.item", ""},
		{"SELECT id FROM nosuch", "unknown-relation", "", ""},
		{"SELECT id FROM secret", "row-security", "public.secret", ""},
		{"SELECT relname FROM pg_class", "system-relation", "pg_catalog.pg_class", ""},
		{"SELECT 1", "no-relation", "", ""},
		{"SELEC 1", "not-understood", "", "*"},
		{"SELECT 1; SELECT 2", "several-statements", "", "*"},
		{"DELETE FROM orders WHERE id = 1", "write", "", "public.orders"},
		{"DELETE FROM item WHERE id = 1", "write", "", "public.item public.orders"},
		{"WITH x AS (INSERT INTO orders (id) VALUES (1) RETURNING id) SELECT * FROM x", "write", "", "public.orders"},
		{"CREATE TABLE x (id int)", "not-a-read", "", "*"},
		{"BEGIN", "not-a-read", "", ""},
	} {
		got, err := e.cache.Explain(e.ctx, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		var codes []string
		for _, r := range got.Reasons {
			if codes = append(codes, r.Code.String()); r.Fix == "" || strings.Contains(r.Fix, "%") {
				t.Errorf("%s: %s: what to do is %q", c.text, r.Code, r.Fix)
			}
		}
		slices.Sort(codes)
		if s := strings.Join(slices.Compact(codes), " "); s != c.codes {
			t.Errorf("%s: %q, want %q: %+v", c.text, s, c.codes, got.Reasons)
		}
		if got.Cacheable != (c.codes == "") {
			t.Errorf("%s: cacheable %v with %q", c.text, got.Cacheable, c.codes)
		}
		if s := strings.Join(got.Relations, " "); s != c.relations && c.relations != "" {
			t.Errorf("%s: depends on %q, want %q", c.text, s, c.relations)
		}
		writes := strings.Join(got.Writes, " ")
		if got.AllWrites && len(got.Reasons) > 0 && !slices.ContainsFunc(got.Reasons, func(r cachedpgx.Reason) bool { return strings.HasSuffix(r.Code.String(), "-function") }) {
			writes = "*"
		}
		if writes != c.writes && c.writes != "" {
			t.Errorf("%s: writes %q, want %q; notes %q", c.text, writes, c.writes, got.Notes)
		}
		if got.Policy.TTL != 30*time.Second || got.Policy.NegativeTTL != 5*time.Second || got.Policy.MaxRows != 10000 || got.Policy.Mode != cachedpgx.ModeAuto {
			t.Errorf("%s: policy %+v", c.text, got.Policy)
		}
	}
}
