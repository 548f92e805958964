package explain

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// Report is what --json prints. Names are kept; further ones may come. No list
// is null.
type Report struct {
	Server     string      `json:"server"` // its version
	Statements []Statement `json:"statements"`
	Summary    Summary     `json:"summary"`
}

// Statement is one statement and its verdict.
type Statement struct {
	Text      string   `json:"text"`
	Line      int      `json:"line,omitempty"` // in the file, from 1
	Kind      string   `json:"kind"`           // read, lock, write, transaction, session, ddl, show, empty, unknown
	Cacheable bool     `json:"cacheable"`      // under its policy, without a mark
	Verdict   string   `json:"verdict"`        // "yes", "no", or "if marked"
	Reasons   []Reason `json:"reasons"`        // why not
	Relations []string `json:"relations"`      // what the answer depends on
	Writes    []string `json:"writes"`         // what it may write
	AllWrites bool     `json:"all_writes"`     // it may write anything
	Policy    Policy   `json:"policy"`
	Rule      string   `json:"rule"`  // the Rule that applies; "" for none
	Notes     []string `json:"notes"` // what is worth knowing beside that

	*Cost             // with --statements
	QueryIDs []string `json:"query_ids,omitempty"` // with --statements; text, as many readers cut large numbers
}

// Reason is one thing that keeps a statement from the cache.
type Reason struct {
	Code     string `json:"code"`
	Detail   string `json:"detail"`
	Fix      string `json:"fix"`
	Markable bool   `json:"markable"`
}

// Policy is the one that applies. Durations are as Go writes them; "off" and
// null are what is off, or without a limit.
type Policy struct {
	Mode           string  `json:"mode"`
	TTL            string  `json:"ttl"`
	NegativeTTL    string  `json:"negative_ttl"`
	Jitter         float64 `json:"jitter"`
	MaxRows        *int64  `json:"max_rows"`
	MaxResultBytes *int64  `json:"max_result_bytes"`
}

// Cost is what statements have cost the server.
type Cost struct {
	Calls   int64   `json:"calls"`
	TotalMS float64 `json:"total_ms"`
	Rows    int64   `json:"rows"`
}

// Part is a part of the statements.
type Part struct {
	Statements int64 `json:"statements"`
	*Cost            // with --statements
}

// Summary adds up.
type Summary struct {
	Explained Part       `json:"explained"` // all of the list
	Cacheable Part       `json:"cacheable"`
	IfMarked  Part       `json:"if_marked"` // those whose verdict is "if marked"
	Reads     Part       `json:"reads"`     // the reads of the list
	WhyNot    []WhyNot   `json:"why_not"`   // a statement with several reasons counts for each
	Server    *ServerSum `json:"pg_stat_statements,omitempty"`
}

// WhyNot is one reason, and all that it keeps from the cache.
type WhyNot struct {
	Code string `json:"code"`
	Part
}

// ServerSum is what the server's view holds, the list included.
type ServerSum struct {
	All    Part       `json:"all"`    // every statement whose text may be read
	Hidden Part       `json:"hidden"` // those whose text this role may not read
	Since  *time.Time `json:"since"`  // what the counts go back to; null where the server does not tell
}

func writeJSON(w io.Writer, all *results) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(all.report())
}

func (all *results) report() *Report {
	r := &Report{Server: all.server, Statements: []Statement{}}
	for i := range all.list {
		r.Statements = append(r.Statements, all.statement(&all.list[i]))
	}
	s := &r.Summary
	s.Explained = all.part(all.sum(func(*result) bool { return true }))
	s.Cacheable = all.part(all.sum(func(r *result) bool { return r.Cacheable }))
	s.IfMarked = all.part(all.sum(func(r *result) bool { return r.verdict() == verdictMarked }))
	s.Reads = all.part(all.sum((*result).isRead))
	s.WhyNot = []WhyNot{}
	for _, g := range all.whyNot() {
		s.WhyNot = append(s.WhyNot, WhyNot{g.code.String(), all.part(g.cost)})
	}
	if w := all.workload; w != nil {
		s.Server = &ServerSum{All: all.part(w.all), Hidden: all.part(w.hidden), Since: w.since}
	}
	return r
}

func (all *results) statement(r *result) Statement {
	s := Statement{
		Text: r.text, Line: r.line, Kind: r.kindName(), Cacheable: r.Cacheable, Verdict: r.verdict(),
		Reasons: []Reason{}, Relations: notNull(r.Relations), Writes: notNull(r.Writes), AllWrites: r.AllWrites,
		Policy: jsonPolicy(r.Policy), Rule: r.Rule, Notes: notNull(r.Notes),
	}
	for _, why := range r.Reasons {
		s.Reasons = append(s.Reasons, Reason{why.Code.String(), why.Detail, why.Fix, why.Markable})
	}
	if all.workload != nil {
		s.Cost = jsonCost(r.cost)
		for _, id := range r.ids {
			s.QueryIDs = append(s.QueryIDs, strconv.FormatInt(id, 10))
		}
	}
	return s
}

func (all *results) part(c cost) Part {
	p := Part{Statements: c.statements}
	if all.workload != nil {
		p.Cost = jsonCost(c)
	}
	return p
}

func jsonCost(c cost) *Cost {
	ms := float64(c.time) / float64(time.Millisecond)
	return &Cost{Calls: c.calls, TotalMS: math.Round(ms*1000) / 1000, Rows: c.rows}
}

func jsonPolicy(p cachedpgx.Policy) Policy {
	return Policy{
		Mode: p.Mode.String(), TTL: durationOrOff(p.TTL), NegativeTTL: durationOrOff(p.NegativeTTL),
		Jitter: p.Jitter, MaxRows: limit(int64(p.MaxRows)), MaxResultBytes: limit(p.MaxResultBytes),
	}
}

func durationOrOff(d time.Duration) string {
	if d <= 0 {
		return "off"
	}
	return d.String()
}

func limit(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

func notNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
