package cachedpgx

import (
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

func verdictOver(named int, names ...string) catalog.Verdict {
	v := catalog.Verdict{Named: named}
	for _, n := range names {
		schema, name, _ := strings.Cut(n, ".")
		v.Relations = append(v.Relations, catalog.Relation{Schema: schema, Name: name})
	}
	return v
}

// TestTerms checks which rule applies and what a policy inherits: hint, rule,
// configuration, default.
func TestTerms(t *testing.T) {
	cfg := Config{
		Policy: Policy{Mode: ModeMarked, TTL: 20 * time.Second, Jitter: Off},
		Rules: []Rule{
			{Name: "stock", Tables: []string{"shop.stock"}, Policy: Policy{TTL: time.Second}},
			{Tables: []string{"product", "price"}, Policy: Policy{Mode: ModeAuto, MaxRows: 7}},
			{Name: "big", Match: func(q Query) bool { return strings.Contains(q.Text, "report") }, Policy: Policy{Mode: ModeOff}},
			{Name: "both", Tables: []string{"users"}, Match: func(q Query) bool { return len(q.Relations) == 1 }, Policy: Policy{NegativeTTL: Off}},
			{Name: "mad", Tables: []string{"mad"}, Match: func(Query) bool { panic("oh") }},
		},
	}
	for _, c := range []struct {
		name, text string
		over       catalog.Verdict
		rule       string
		want       Policy
		marked     bool
	}{
		{"none", "SELECT 1", verdictOver(1, "shop.other"), "", Policy{Mode: ModeMarked, TTL: 20 * time.Second, NegativeTTL: 5 * time.Second}, false},
		{"by schema and name", "SELECT 1", verdictOver(1, "shop.stock"), "stock", Policy{Mode: ModeMarked, TTL: time.Second, NegativeTTL: time.Second}, false},
		{"another schema", "SELECT 1", verdictOver(1, "old.stock"), "", Policy{Mode: ModeMarked, TTL: 20 * time.Second, NegativeTTL: 5 * time.Second}, false},
		{"the first wins, joined", "SELECT 1", verdictOver(2, "shop.product", "shop.stock"), "stock", Policy{Mode: ModeMarked, TTL: time.Second, NegativeTTL: time.Second}, false},
		{"beneath a view", "SELECT 1", verdictOver(1, "shop.shelf", "shop.stock"), "stock", Policy{Mode: ModeMarked, TTL: time.Second, NegativeTTL: time.Second}, false},
		{"automatic", "SELECT 1", verdictOver(2, "shop.product", "shop.price"), "rule 2", Policy{Mode: ModeAuto, TTL: 20 * time.Second, NegativeTTL: 5 * time.Second, MaxRows: 7}, false},
		{"automatic, but joined with another", "SELECT 1", verdictOver(2, "shop.product", "shop.users"), "rule 2", Policy{Mode: ModeMarked, TTL: 20 * time.Second, NegativeTTL: 5 * time.Second, MaxRows: 7}, false},
		{"by match", "SELECT 'report'", verdictOver(1, "shop.other"), "big", Policy{Mode: ModeOff, TTL: 20 * time.Second, NegativeTTL: 5 * time.Second}, false},
		{"both hold", "SELECT 1", verdictOver(1, "shop.users"), "both", Policy{Mode: ModeMarked, TTL: 20 * time.Second, NegativeTTL: Off}, false},
		{"one of two holds", "SELECT 1", verdictOver(2, "shop.users", "shop.other"), "", Policy{Mode: ModeMarked, TTL: 20 * time.Second, NegativeTTL: 5 * time.Second}, false},
		{"a hint over a rule", "/* cachedpgx: ttl=3s */ SELECT 1", verdictOver(1, "shop.stock"), "stock", Policy{Mode: ModeMarked, TTL: 3 * time.Second, NegativeTTL: 3 * time.Second}, true},
		{"a hint that is not understood in part", "/* cachedpgx: ttl=3s of */ SELECT 1", verdictOver(1, "shop.stock"), "stock", Policy{Mode: ModeMarked, TTL: time.Second, NegativeTTL: time.Second}, false},
	} {
		got, failed := cfg.termsOf(sqlscan.Scan(c.text), c.over)
		if c.want.MaxRows == 0 {
			c.want.MaxRows = defaultMaxRows
		}
		c.want.MaxResultBytes = defaultMaxResultBytes
		if failed != "" || got.rule != c.rule || got.policy != c.want || got.marked != c.marked {
			t.Errorf("%s: rule %q, marked %v, %+v\n\twant %q, %v, %+v", c.name, got.rule, got.marked, got.policy, c.rule, c.marked, c.want)
		}
	}
	if got, failed := cfg.termsOf(sqlscan.Scan("SELECT 1"), verdictOver(1, "shop.mad")); failed != "mad: oh" || got.policy.TTL != 20*time.Second {
		t.Errorf("a Match that panicked: %q, %+v", failed, got.policy)
	}
}

// TestPolicyOver checks that a life bounds an empty result's, whoever set that.
func TestPolicyOver(t *testing.T) {
	for _, c := range []struct {
		name             string
		over, under      Policy
		ttl, negativeTTL time.Duration
	}{
		{"nothing set", Policy{}, Policy{}, 30 * time.Second, 5 * time.Second},
		{"a shorter life", Policy{TTL: 2 * time.Second}, Policy{TTL: time.Minute, NegativeTTL: 30 * time.Second}, 2 * time.Second, 2 * time.Second},
		{"a longer life", Policy{TTL: time.Hour}, Policy{NegativeTTL: time.Minute}, time.Hour, time.Minute},
		{"none for empty results", Policy{TTL: time.Hour}, Policy{NegativeTTL: Off}, time.Hour, Off},
		{"set again", Policy{NegativeTTL: time.Second}, Policy{NegativeTTL: Off}, 30 * time.Second, time.Second},
	} {
		if got := c.over.over(c.under).filled(); got.TTL != c.ttl || got.NegativeTTL != c.negativeTTL {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, got.TTL, got.NegativeTTL, c.ttl, c.negativeTTL)
		}
	}
}

func TestRuleAndPureErrors(t *testing.T) {
	err := Config{
		Rules:         []Rule{{}, {Tables: []string{""}}, {Tables: []string{"a.b.c"}, Policy: Policy{Jitter: 2, TTL: -3}}, {Tables: []string{"fine", "also.fine"}}},
		PureFunctions: []string{"f", "shop.f(", "shop.f(a b)", "shop.g(shop.price; rate)", "shop.h()", "shop.j)", "shop.k(;)", "shop.l(a;;b)"},
	}.check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Config.Rules[0] matches nothing", `Config.Rules[1].Tables: "" is no name`, `Config.Rules[2].Tables: "a.b.c" is no name`,
		"Config.Rules[2].Policy.Jitter: 2 is out of range", "Config.Rules[2].Policy.TTL: -3ns is out of range",
		`Config.PureFunctions: "f" is not understood`, `"shop.f(" is not understood`, `"shop.f(a b)" reads "a b", which is no name`,
		`"shop.j)" is not understood`, `"shop.k(;)" reads "", which is no name`, `"shop.l(a;;b)" reads "", which is no name`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	for _, not := range []string{"Rules[3]", "shop.g", "shop.h"} {
		if strings.Contains(err.Error(), not) {
			t.Errorf("%q is in:\n%v", not, err)
		}
	}
	pure, err := parsePure([]string{"shop.g(shop.price; rate)", "shop.h()", " shop.i "})
	if err != nil || len(pure) != 3 || len(pure["shop.g"]) != 2 || pure["shop.g"][1] != "rate" || len(pure["shop.h"]) != 0 {
		t.Errorf("%v, %v", pure, err)
	}
}

// TestTagsInKeys checks that reads of different tags share nothing, and that an
// invalidated tag changes the key.
func TestTagsInKeys(t *testing.T) {
	l := &tagLedger{hash: newHasher()}
	key := func(tags ...string) string { return string(appendTags(nil, joinTags(nil, tags), l)) }
	seen := map[string]string{}
	for name, k := range map[string]string{"none": key(), "a": key("a"), "b": key("b"), "ab": key("a", "b"), "a,b": key("a,b")} {
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[k] = name
	}
	if key("b", "a", "", "a") != key("a", "b") {
		t.Error("order, repetition or an empty tag counts")
	}
	before := key("a")
	l.of("a").Add(1)
	if key("a") == before {
		t.Error("the key of an invalidated tag is the same")
	}
}
