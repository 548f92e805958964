package cachedpgx_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

const promiseMarks = `
	CREATE TABLE price (id int, v int); INSERT INTO price VALUES (1, 1), (2, 2);
	CREATE TABLE stock (id int, v int); INSERT INTO stock VALUES (1, 1), (2, 2);
	CREATE TABLE misc (id int, v int); INSERT INTO misc VALUES (1, 1);
	CREATE SCHEMA shop; CREATE TABLE shop.price (id int); INSERT INTO shop.price VALUES (1); CREATE TABLE shop."Odd" (id int); INSERT INTO shop."Odd" VALUES (1);
	CREATE VIEW v_price AS SELECT id FROM price;
	CREATE TABLE part (id int) PARTITION BY LIST (id); CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1); INSERT INTO part VALUES (1);
	CREATE SEQUENCE sq; CREATE TABLE secret (id int, tenant text); INSERT INTO secret VALUES (1, 'a'), (2, 'b'); ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret USING (true);`

// TestPGPromiseRules has rules by table and by Match, in modes that cache more
// and less.
//
// It would catch: the last rule that matches taken instead of the first; a rule
// that admits a join with tables that it doesn't name; a ModeOff rule that a view
// gets around.
func TestPGPromiseRules(t *testing.T) {
	rules := []cachedpgx.Rule{
		{Name: "by match", Match: func(q cachedpgx.Query) bool { return strings.Contains(q.Text, "misc m") }, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 7 * time.Second}},
		{Name: "price", Tables: []string{"price"}, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 3 * time.Second}},
		{Tables: []string{"public.stock"}, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeOff}},
		{Name: "price again", Tables: []string{"price"}, Policy: cachedpgx.Policy{TTL: time.Hour}},
		{Name: "part", Tables: []string{"part"}, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeAuto, MaxRows: 5}},
		{Name: "both", Tables: []string{"shop.Odd"}, Match: func(q cachedpgx.Query) bool { return len(q.Relations) == 1 && q.Relations[0] == "shop.Odd" }, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeAuto}},
		{Name: "panics", Match: func(q cachedpgx.Query) bool { return strings.Contains(q.Text, "boom") && q.Relations[99] == "" }, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeAuto}},
	}
	for _, mode := range []cachedpgx.Mode{cachedpgx.ModeAuto, cachedpgx.ModeMarked, cachedpgx.ModeOff} {
		t.Run(mode.String(), func(t *testing.T) {
			e := promisePG(t, promiseMarks, cachedpgx.Config{Policy: cachedpgx.Policy{Mode: mode, TTL: 20 * time.Second}, Rules: rules})
			auto := mode == cachedpgx.ModeAuto
			for _, c := range []struct {
				text string
				kept bool
				rule string
				ttl  time.Duration
			}{
				{"SELECT id FROM price", true, "price", 3 * time.Second},
				{"SELECT id FROM public.price WHERE id = 2", true, "price", 3 * time.Second},
				{"SELECT id FROM v_price", auto, "price", 3 * time.Second}, // it names another relation
				{"SELECT id FROM stock", false, "rule 3", 20 * time.Second},
				{"SELECT p.id FROM price p JOIN misc USING (id)", auto, "price", 3 * time.Second},
				{"SELECT p.id FROM price p JOIN stock USING (id)", auto, "price", 3 * time.Second},
				{"SELECT m.id FROM misc m", true, "by match", 7 * time.Second},
				{"SELECT id FROM misc", auto, "", 20 * time.Second},
				{"SELECT id FROM part", true, "part", 20 * time.Second},
				{"SELECT id FROM part_1", auto, "part", 20 * time.Second},
				{`SELECT id FROM shop."Odd"`, true, "both", 20 * time.Second},
				{`SELECT o.id FROM shop."Odd" o, misc`, auto, "", 20 * time.Second},
				{"SELECT id AS boom FROM misc", false, "", 0},
				{"SELECT id, now() FROM price", false, "price", 3 * time.Second}, // a rule is no mark
				{"SELECT id FROM price FOR SHARE", false, "", 0},
			} {
				if kept := e.promiseKept(e.ctx, e.db, c.text); kept != c.kept {
					t.Errorf("%s: kept %t, want %t; %s", c.text, kept, c.kept, e.promiseWhy(e.ctx, c.text))
				}
				if c.ttl == 0 {
					continue
				}
				if x := e.promiseExplain(e.ctx, c.text); x.Rule != c.rule || x.Policy.TTL != c.ttl || x.Cacheable != c.kept {
					t.Errorf("%s: rule %q, TTL %v, cacheable %t; want %q, %v, %t", c.text, x.Rule, x.Policy.TTL, x.Cacheable, c.rule, c.ttl, c.kept)
				}
			}
		})
	}
}

// TestPGPromisePrecedence: what is unset is as the next wider says: context, hint,
// rule, Config.Policy, default.
//
// It would catch the hint put over the context, or a wish that wipes what it
// leaves unset.
func TestPGPromisePrecedence(t *testing.T) {
	e := promisePG(t, promiseMarks, cachedpgx.Config{
		Policy: cachedpgx.Policy{TTL: 50 * time.Second, MaxRows: 500, MaxResultBytes: 5 << 10},
		Rules:  []cachedpgx.Rule{{Name: "r", Tables: []string{"price"}, Policy: cachedpgx.Policy{TTL: 40 * time.Second, MaxRows: 400}}},
	})
	sec := time.Second
	for _, c := range []struct {
		name string
		ctx  context.Context
		text string
		want cachedpgx.Policy
	}{
		{"Config", e.ctx, "SELECT id FROM misc", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 50 * sec, NegativeTTL: 5 * sec, Jitter: 0.1, MaxRows: 500, MaxResultBytes: 5 << 10}},
		{"rule", e.ctx, "SELECT id FROM price", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 40 * sec, NegativeTTL: 5 * sec, Jitter: 0.1, MaxRows: 400, MaxResultBytes: 5 << 10}},
		{"hint over rule", e.ctx, "/* cachedpgx: ttl=30s */ SELECT id FROM price", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 30 * sec, NegativeTTL: 5 * sec, Jitter: 0.1, MaxRows: 400, MaxResultBytes: 5 << 10}},
		{"context over hint", cachedpgx.WithTTL(e.ctx, 20*sec), "/* cachedpgx: ttl=30s */ SELECT id FROM price", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 20 * sec, NegativeTTL: 5 * sec, Jitter: 0.1, MaxRows: 400, MaxResultBytes: 5 << 10}},
		{"policy over hint", cachedpgx.WithPolicy(e.ctx, cachedpgx.Policy{MaxRows: 3}), "/* cachedpgx: ttl=30s */ SELECT id FROM price", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 30 * sec, NegativeTTL: 5 * sec, Jitter: 0.1, MaxRows: 3, MaxResultBytes: 5 << 10}},
		{"small TTL", cachedpgx.WithTTL(e.ctx, 2*sec), "SELECT id FROM price", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 2 * sec, NegativeTTL: 2 * sec, Jitter: 0.1, MaxRows: 400, MaxResultBytes: 5 << 10}},
		{"off fields", cachedpgx.WithPolicy(e.ctx, cachedpgx.Policy{TTL: 9 * sec, NegativeTTL: cachedpgx.Off, Jitter: cachedpgx.Off}), "SELECT id FROM price", cachedpgx.Policy{Mode: cachedpgx.ModeAuto, TTL: 9 * sec, NegativeTTL: cachedpgx.Off, Jitter: 0, MaxRows: 400, MaxResultBytes: 5 << 10}},
	} {
		x := e.promiseExplain(c.ctx, c.text)
		if x.Policy != c.want || !x.Cacheable {
			t.Errorf("%s: %+v, cacheable %t; want %+v", c.name, x.Policy, x.Cacheable, c.want)
		}
	}
	// In action: the narrowest says how many rows are kept.
	const two = "SELECT id FROM stock"
	if e.promiseKept(cachedpgx.WithPolicy(e.ctx, cachedpgx.Policy{MaxRows: 1}), e.db, two) {
		t.Error("a result over the context's MaxRows was kept")
	}
	if !e.promiseKept(cachedpgx.WithPolicy(e.ctx, cachedpgx.Policy{MaxRows: 2}), e.db, "SELECT id FROM stock WHERE true") {
		t.Error("a result of MaxRows rows was not kept")
	}
	if e.promiseKept(cachedpgx.WithPolicy(e.ctx, cachedpgx.Policy{Mode: cachedpgx.ModeOff}), e.db, two) {
		t.Error("kept under a policy of ModeOff")
	}
	off := "/* cachedpgx: off */ SELECT id FROM misc"
	if e.promiseKept(e.ctx, e.db, off) {
		t.Error("kept under a hint off")
	}
	if e.promiseKept(cachedpgx.WithoutCache(e.ctx), e.db, "/* cachedpgx: ttl=9s */ SELECT id FROM misc") {
		t.Error("WithoutCache is narrower than a hint")
	}
}

// TestPGPromiseModes: a mark, and a rule's ModeAuto, in each mode; SetMode while
// it runs.
func TestPGPromiseModes(t *testing.T) {
	for _, mode := range []cachedpgx.Mode{cachedpgx.ModeAuto, cachedpgx.ModeMarked, cachedpgx.ModeOff} {
		e := promisePG(t, promiseMarks, cachedpgx.Config{Policy: cachedpgx.Policy{Mode: mode}, Rules: []cachedpgx.Rule{{Tables: []string{"price"}, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeAuto}}, {Tables: []string{"stock"}, Policy: cachedpgx.Policy{Mode: cachedpgx.ModeMarked}}}})
		marked := cachedpgx.WithTTL(e.ctx, 20*time.Second)
		for _, c := range []struct {
			ctx  context.Context
			text string
			kept [3]bool // auto, marked, off
		}{
			{e.ctx, "SELECT id FROM misc", [3]bool{true, false, false}},
			{marked, "SELECT id FROM misc", [3]bool{true, true, false}},
			{e.ctx, "SELECT id FROM misc /* cachedpgx: ttl=20s */", [3]bool{true, true, false}},
			{cachedpgx.WithPolicy(e.ctx, cachedpgx.Policy{NegativeTTL: time.Second}), "SELECT id FROM misc WHERE id > 0", [3]bool{true, true, false}},
			{e.ctx, "SELECT id FROM price", [3]bool{true, true, true}},
			{e.ctx, "SELECT id FROM stock", [3]bool{false, false, false}},
			{marked, "SELECT id FROM stock", [3]bool{true, true, true}},
		} {
			want := c.kept[mode-cachedpgx.ModeAuto]
			if got := e.promiseKept(c.ctx, e.db, c.text); got != want {
				t.Errorf("%s: %s: kept %t, want %t; %s", mode, c.text, got, want, e.promiseWhy(c.ctx, c.text))
			}
			if got := e.promiseExplain(c.ctx, c.text).Cacheable; got != want {
				t.Errorf("%s: %s: Explain says %t", mode, c.text, got)
			}
		}
		for _, c := range []struct {
			mode         cachedpgx.Mode
			plain, marks bool
		}{{cachedpgx.ModeOff, false, false}, {cachedpgx.ModeMarked, false, true}, {cachedpgx.ModeAuto, true, true}, {cachedpgx.ModeInherit, mode == cachedpgx.ModeAuto, mode != cachedpgx.ModeOff}} {
			e.cache.SetMode(c.mode)
			if got := e.promiseKept(e.ctx, e.db, "SELECT id FROM misc"); got != c.plain {
				t.Errorf("%s, SetMode(%s): kept %t without a mark", mode, c.mode, got)
			}
			if got := e.promiseKept(marked, e.db, "SELECT id FROM misc"); got != c.marks {
				t.Errorf("%s, SetMode(%s): kept %t with a mark", mode, c.mode, got)
			}
			if c.mode == cachedpgx.ModeOff && e.promiseKept(e.ctx, e.db, "SELECT id FROM price") {
				t.Errorf("%s, SetMode(off): a rule caches", mode)
			}
		}
	}
}

// TestPGPromiseTags: InvalidateTags drops what was read under a tag, from the
// context or a hint, at once, and leaves what has none.
//
// It would catch tags that are left out of the key, or dropped by text alone.
func TestPGPromiseTags(t *testing.T) {
	e := newPG(t, promiseMarks)
	type read struct {
		ctx  context.Context
		text string
		tags string
	}
	reads := []read{
		{e.ctx, "SELECT id FROM misc", ""}, {cachedpgx.WithTags(e.ctx, "home"), "SELECT id FROM misc", "home"}, {cachedpgx.WithTags(e.ctx, "a", "b"), "SELECT id FROM misc", "a b"},
		{cachedpgx.WithTags(cachedpgx.WithTags(e.ctx, "a"), "c"), "SELECT id FROM price", "a c"}, {e.ctx, "/* cachedpgx: tag=home ttl=20s */ SELECT id FROM price", "home"}, {cachedpgx.WithTags(e.ctx, "d"), "/* cachedpgx: tag=e */ SELECT id FROM stock", "d e"},
		{cachedpgx.WithTags(e.ctx, "ünï/:x"), "SELECT id FROM stock", "ünï/:x"},
	}
	for _, tag := range []string{"home", "a", "b", "c", "d", "e", "ünï/:x", "nobody"} {
		for _, r := range reads {
			if !e.promiseKept(r.ctx, e.db, r.text) {
				t.Fatalf("NOT CACHED: %s [%s]: %s", r.text, r.tags, e.promiseWhy(r.ctx, r.text))
			}
		}
		if err := e.cache.InvalidateTags(e.ctx, tag); err != nil {
			t.Fatal(err)
		}
		for _, r := range reads {
			n := e.calls(r.text, func() { pgAsk(r.ctx, e.db, r.text) })
			has := strings.Contains(" "+r.tags+" ", " "+tag+" ")
			if has && n != 1 || r.tags == "" && n != 0 {
				t.Errorf("after InvalidateTags(%s): %s [%s] made %d calls", tag, r.text, r.tags, n)
			}
		}
	}
	if !e.promiseKept(e.ctx, e.db, reads[0].text) {
		t.Error("what has no tags was dropped")
	}
}

// TestPGPromiseHints has hints well and badly formed: a bad one is only a comment,
// noted by Explain, and one that is counted as such.
func TestPGPromiseHints(t *testing.T) {
	e := newPG(t, promiseMarks)
	const clock = "SELECT id, now() FROM misc"
	for _, c := range []struct {
		hint  string
		works bool
	}{
		{"/* cachedpgx: ttl=5s */", true}, {"/*cachedpgx: ttl=5s*/", true}, {"/* cachedpgx:ttl=5s tag=x */", true}, {"/* cachedpgx: tag=a tag=b ttl=1m30s */", true}, {"/* cachedpgx: ttl=5s stale=1s tag=home */", true},
		{"/* cachedpgx: ttl=5 */", false}, {"/* cachedpgx: ttl=0s */", false}, {"/* cachedpgx: ttl=-5s */", false}, {"/* cachedpgx: ttl=abc */", false}, {"/* cachedpgx: ttl */", false}, {"/* cachedpgx: TTL=5s */", false},
		{"/* cachedpgx: ttl = 5s */", false}, {"/* cachedpgx: */", false}, {"/* cachedpgx: nosuch=1 */", false}, {"/* cachedpgx: tag= */", false},
		{"/* cachedpgx: ttl=9999999999h */", false}, {"/* cachedpgx: ttl=5s; */", false}, {"/* cachedpgx: ttl=5s, tag=x */", false},
	} {
		for _, text := range []string{c.hint + " " + clock, clock + " " + c.hint, strings.Replace(clock, "FROM", c.hint+" FROM", 1)} {
			if kept := e.promiseKept(e.ctx, e.db, text); kept != c.works {
				t.Errorf("%s: kept %t, want %t; %s", text, kept, c.works, e.promiseWhy(e.ctx, text))
			}
			x := e.promiseExplain(e.ctx, text)
			if x.Cacheable != c.works {
				t.Errorf("%s: Explain says %t", text, x.Cacheable)
			}
			noted := strings.Contains(strings.Join(x.Notes, "\n"), "hint")
			if noted == c.works {
				t.Errorf("%s: Explain's notes: %q", text, x.Notes)
			}
		}
		// A bad hint does not keep a safe read from the cache.
		if text := c.hint + " SELECT id FROM misc"; !e.promiseKept(e.ctx, e.db, text) {
			t.Errorf("NOT CACHED: %s: %s", text, e.promiseWhy(e.ctx, text))
		}
	}
	for _, text := range []string{
		"/* cachedpgx : ttl=5s */ " + clock, "/* Cachedpgx: ttl=5s */ " + clock, "/* x cachedpgx: ttl=5s */ " + clock, "SELECT '/* cachedpgx: ttl=5s */', id, now() FROM misc", `SELECT id AS "/* cachedpgx: ttl=5s */", now() FROM misc`,
		"SELECT $$/* cachedpgx: ttl=5s */$$, now() FROM misc", "/* /* cachedpgx: ttl=5s */ */ " + clock, "SELECT E'\\'/* cachedpgx: ttl=5s */', now() FROM misc",
	} {
		e.promiseReaches(e.ctx, text)
	}
	for _, text := range []string{"-- cachedpgx: ttl=5s\n" + clock, clock + " -- cachedpgx: ttl=5s", "--cachedpgx: ttl=5s tag=x\n" + clock} {
		if !e.promiseKept(e.ctx, e.db, text) {
			t.Errorf("NOT CACHED: %q: %s", text, e.promiseWhy(e.ctx, text))
		}
	}
	e.promiseKeeps(e.ctx, "SELECT /* trace=1 */ id FROM price")
	if text := "SELECT /* trace=2 */ id FROM price"; e.calls(text, func() { pgAsk(e.ctx, e.db, text) }) != 0 {
		t.Error("a trace comment in the middle shares no entry")
	}
	// Where only a part is bad, Explain says so; what is off stays off.
	for _, hint := range []string{"/* cachedpgx: ttl=5s ttl=6s */", "/* cachedpgx: ttl=5s nosuch=1 */", "/* cachedpgx: tag= ttl=5s */", "/* cachedpgx: off nosuch=1 */"} {
		if x := e.promiseExplain(e.ctx, hint+" SELECT id FROM misc"); !strings.Contains(strings.Join(x.Notes, "\n"), "hint") {
			t.Errorf("%s: Explain's notes: %q", hint, x.Notes)
		}
	}
	for _, hint := range []string{"/* cachedpgx: ttl=5s off */", "/* cachedpgx: off ttl=5s */", "/* cachedpgx: off nosuch=1 */", "/* cachedpgx: ttl=5s */ /* cachedpgx: off */"} {
		e.promiseReaches(e.ctx, hint+" SELECT id FROM misc")
	}
	// A comment that is no hint is no part of the statement; a hint is.
	e.promiseKeeps(e.ctx, "SELECT id FROM price")
	for _, text := range []string{"/* trace=1 */ SELECT id FROM price", "SELECT id FROM price -- trace=2", "/* trace=3 */ SELECT id FROM price /* cachedpgx nothing */"} {
		if n := e.calls(text, func() { pgAsk(e.ctx, e.db, text) }); n != 0 {
			t.Errorf("%s: %d calls at the server: it shares no entry", text, n)
		}
	}
}

// TestPGPromiseTTLMarks: a mark bounds the age of what is served, both ways, and
// WithRefresh stores.
func TestPGPromiseTTLMarks(t *testing.T) {
	e := newPG(t, promiseMarks, "cache_ttl=1h")
	const text = "SELECT v FROM misc"
	e.warm(text)
	loaded := time.Now()
	e.must(e.plain, "UPDATE misc SET v = 50")
	e.eventually("what is older than the mark is loaded again", func() bool {
		old := time.Since(loaded)
		n := e.calls(text, func() { pgAsk(cachedpgx.WithTTL(e.ctx, 200*time.Millisecond), e.db, text) })
		if n == 0 && old > 400*time.Millisecond {
			t.Fatalf("rows %v old are served to who wants 200ms", old)
		}
		return n == 1
	})
	e.same("after the marked load", text)
	e.must(e.plain, "UPDATE misc SET v = 60")
	if n := e.calls(text, func() { pgAsk(cachedpgx.WithRefresh(e.ctx), e.db, text) }); n != 1 {
		t.Errorf("WithRefresh: %d calls", n)
	}
	if n := e.calls(text, func() { e.same("after WithRefresh", text) }); n != 0 {
		t.Errorf("after WithRefresh: %d calls", n)
	}
	for _, d := range []time.Duration{0, -time.Second} {
		if e.promiseKept(cachedpgx.WithTTL(e.ctx, d), e.db, text) {
			t.Errorf("WithTTL(%v) is served", d)
		}
	}
}

// TestPGPromiseMarksAdmitOnlyTime: under row security a partition is needed, and
// suffices; a mark is neither.
func TestPGPromiseMarksAdmitOnlyTime(t *testing.T) {
	type tenantKey struct{}
	var asked atomic.Int64
	e := promisePG(t, promiseMarks, cachedpgx.Config{Partition: func(ctx context.Context) string {
		asked.Add(1)
		s, _ := ctx.Value(tenantKey{}).(string)
		return s
	}})
	none := newPGOn(t, e.dsn, "")
	const text = "SELECT id FROM secret ORDER BY id"
	none.promiseReaches(none.ctx, text)
	none.promiseReaches(cachedpgx.WithTTL(none.ctx, 20*time.Second), text)
	none.promiseReaches(cachedpgx.WithPolicy(none.ctx, cachedpgx.Policy{TTL: 20 * time.Second}), text)
	none.promiseReaches(none.ctx, text+" /* cachedpgx: ttl=20s */")

	a, b := context.WithValue(e.ctx, tenantKey{}, "a"), context.WithValue(e.ctx, tenantKey{}, "b")
	if !e.promiseKept(a, e.db, text) {
		t.Errorf("NOT CACHED with a partition: %s", e.promiseWhy(a, text))
	}
	if n := e.calls(text, func() { pgAsk(b, e.db, text) }); n != 1 || asked.Load() == 0 {
		t.Errorf("another partition's read made %d calls; Partition was asked %d times", n, asked.Load())
	}
	conn := e.session(e.db)
	e.must(conn, "CREATE TEMP TABLE mine AS SELECT 1 AS id")
	for _, temp := range []string{"SELECT id FROM mine", "SELECT id FROM pg_temp.mine", "SELECT misc.id FROM misc, mine", "SELECT id FROM mine /* cachedpgx: ttl=20s */"} {
		for range 2 {
			if n := e.calls(temp, func() { pgAsk(cachedpgx.WithTTL(a, 20*time.Second), conn, temp) }); n != 1 {
				t.Errorf("SERVED FROM MEMORY: %s: %d calls", temp, n)
			}
		}
	}
}
