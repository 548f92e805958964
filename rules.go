package cachedpgx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// Rule gives some reads a policy of their own. Of Config.Rules the first that
// matches applies; what its Policy leaves unset is as Config.Policy says.
type Rule struct {
	// Name is how Explain calls the rule. Defaults to its place, such as "rule 1".
	Name string

	// Tables are relations, as "shop.product", or "product" for those of that
	// name in any schema, spelled as the server has them. The rule matches a read of any of them, by itself,
	// joined with others, through a view, or as a part of a partitioned table.
	// A rule with ModeAuto in a configuration that caches less admits only
	// reads that name no other relations than these.
	Tables []string

	// Match, if set, must hold as well. It is called once for each text and
	// CatalogTTL, or more often, by several goroutines at once, and must not
	// use the handle. Where it panics, reads of that text go to the server
	// uncached. A rule has Tables or Match, or both.
	Match func(Query) bool

	Policy Policy
}

// Query is what a Rule's Match sees.
type Query struct {
	Text      string   // without its comments
	Relations []string // "schema.name": what the answer depends on
}

// checkRules names what is wrong with each rule.
func checkRules(rules []Rule) error {
	var errs []error
	for i, r := range rules {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("cachedpgx: Config.Rules[%d]"+format, append([]any{i}, args...)...))
		}
		if len(r.Tables) == 0 && r.Match == nil {
			bad(" matches nothing: set Tables, Match, or both")
		}
		for _, t := range r.Tables {
			if !tableName(t) {
				bad(".Tables: %q is no name: it may be \"product\" or \"shop.product\"", t)
			}
		}
		if err := r.Policy.check(); err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				bad(".%s", strings.TrimPrefix(line, "cachedpgx: "))
			}
		}
	}
	return errors.Join(errs...)
}

const notInNames = " \t\n\"();,"

// tableName says whether s may be a relation, with or without its schema.
func tableName(s string) bool {
	schema, name, qualified := strings.Cut(s, ".")
	if !qualified {
		return s != "" && !strings.ContainsAny(s, notInNames)
	}
	return schema != "" && name != "" && !strings.ContainsAny(s, notInNames) && !strings.Contains(name, ".")
}

// termsOf finds the rule for a read, and with its hint the policy. What is not
// empty says that a rule's Match panicked, and how.
func (c Config) termsOf(scan *sqlscan.Statement, v catalog.Verdict) (t terms, failed string) {
	t.unset = c.Policy
	for i, r := range c.Rules {
		name := cmp.Or(r.Name, fmt.Sprintf("rule %d", i+1))
		all, some := r.covers(v)
		if len(r.Tables) > 0 && !some {
			continue
		}
		if r.Match != nil {
			matched, panicked := r.matches(queryOf(scan, v))
			if panicked != nil {
				failed = fmt.Sprintf("%s: %v", name, panicked)
				break
			}
			if !matched {
				continue
			}
		}
		p := r.Policy
		if p.Mode == ModeAuto && c.Policy.Mode > ModeAuto && len(r.Tables) > 0 && !all {
			p.Mode = ModeInherit
		}
		t.unset, t.mode, t.rule = p.over(t.unset), p.Mode, name
		break
	}
	// A hint that is not understood in part marks nothing: what was meant is
	// not certain. That it says off, or has tags, holds.
	if h := scan.Hint; h.TTL > 0 && len(h.Malformed) == 0 {
		t.unset = Policy{TTL: h.TTL}.over(t.unset)
		t.marked = true
	}
	t.policy = t.unset.filled()
	return t, failed
}

// matches asks the user's Match, and survives it.
func (r Rule) matches(q Query) (matched bool, panicked any) {
	defer func() { panicked = recover() }()
	return r.Match(q), nil
}

// covers says whether all relations that a read names are among the rule's
// tables, and whether any that it depends on is.
func (r Rule) covers(v catalog.Verdict) (all, some bool) {
	all = v.Named > 0
	for i, rel := range v.Relations {
		in := slices.Contains(r.Tables, rel.Name) || slices.Contains(r.Tables, rel.Schema+"."+rel.Name)
		some = some || in
		all = all && (in || i >= v.Named)
	}
	return all, some
}

func queryOf(scan *sqlscan.Statement, v catalog.Verdict) Query {
	return Query{Text: scan.Identity, Relations: relationNames(v.Relations)}
}

func relationNames(list []catalog.Relation) []string {
	names := make([]string, 0, len(list))
	for _, r := range list {
		n := sqlscan.Name{Schema: r.Schema, Name: r.Name}
		names = append(names, n.String())
	}
	return names
}

// parsePure reads Config.PureFunctions: "shop.f", or "shop.f(shop.price; rate)"
// with what it reads.
func parsePure(list []string) (catalog.Pure, error) {
	var errs []error
	pure := catalog.Pure{}
	for _, s := range list {
		name, reads, has := strings.Cut(s, "(")
		name = strings.TrimSpace(name)
		closed := strings.HasSuffix(strings.TrimSpace(reads), ")")
		if !tableName(name) || !strings.Contains(name, ".") || has && !closed {
			errs = append(errs, fmt.Errorf("cachedpgx: Config.PureFunctions: %q is not understood: it may be \"shop.f\", or \"shop.f(shop.price; rate)\" with the relations that it reads", s))
			continue
		}
		pure[name] = append([]string{}, pure[name]...)
		reads = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reads), ")"))
		if reads == "" {
			continue
		}
		for _, r := range strings.Split(reads, ";") {
			r = strings.TrimSpace(r)
			if !tableName(r) {
				errs = append(errs, fmt.Errorf("cachedpgx: Config.PureFunctions: %q reads %q, which is no name: it may be \"price\" or \"shop.price\"", s, r))
				continue
			}
			pure[name] = append(pure[name], r)
		}
	}
	return pure, errors.Join(errs...)
}
