package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// Facts are what is known of a database, as one role with one search_path sees
// it. They are kept by name, so that a text over known names asks the server
// nothing. Facts grow old, and are asked again; what DDL makes void is thrown
// away whole, by making new ones.
//
// Facts may be used concurrently.
type Facts struct {
	cfg    Config
	listed []sqlscan.Name // the relations that listed functions read
	asking chan struct{}  // holds one token: one question at a time

	mu struct {
		sync.RWMutex
		builtIns  *BuiltIns
		objects   *objects
		at        time.Duration // of objects
		path      []string
		relations map[sqlscan.Name]*relation
	}
}

// Config is what the user says.
type Config struct {
	Pure        Pure
	Temporary   bool // the session's own temporary objects count: it is not clean
	Partitioned bool // rows are shared only among those whom row security treats alike
}

// mostRelations bounds the names that are remembered.
const mostRelations = 20_000

// NewFacts gives facts that know nothing yet, or what initdb made on the
// server, if that is known from before.
func NewFacts(cfg Config, known *BuiltIns) *Facts {
	f := &Facts{cfg: cfg, asking: make(chan struct{}, 1)}
	for _, reads := range cfg.Pure {
		for _, r := range reads {
			f.listed = append(f.listed, qualified(r))
		}
	}
	f.mu.builtIns = known
	f.mu.path = []string{"pg_catalog", "public"} // mostly; the server says
	f.mu.relations = map[sqlscan.Name]*relation{}
	return f
}

// BuiltIns gives what is known of what initdb made; nil for nothing.
func (f *Facts) BuiltIns() *BuiltIns {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.mu.builtIns
}

// Judge gives the verdict on a statement by what is known and not older than
// maxAge, and how old the oldest of that is. It reports false if something has
// to be asked. params are the types of its parameters, nil where they are not
// known.
func (f *Facts) Judge(st *sqlscan.Statement, params []uint32, now, maxAge time.Duration) (v Verdict, at time.Duration, ok bool) {
	switch st.Class {
	case sqlscan.ClassRead, sqlscan.ClassShow, sqlscan.ClassLock:
	default:
		return Verdict{Reasons: st.Reasons}, now, true
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.mu.objects == nil || f.mu.builtIns == nil || now-f.mu.at >= maxAge {
		return Verdict{}, 0, false
	}
	at = f.mu.at
	rels := make([]*relation, 0, len(st.Relations))
	for _, n := range st.Relations {
		r := f.mu.relations[n]
		if r == nil || now-r.at >= maxAge {
			return Verdict{}, 0, false
		}
		at = min(at, r.at)
		rels = append(rels, r)
	}
	for _, n := range f.listed {
		r := f.mu.relations[n]
		if r == nil || now-r.at >= maxAge {
			return Verdict{}, 0, false
		}
		at = min(at, r.at)
	}
	j := judging{env: env{f.mu.builtIns, f.mu.objects}, st: st, harmless: true}
	return j.statement(rels, params, func(name string) *relation { return f.mu.relations[qualified(name)] }), at, true
}

// qualified reads "schema.name".
func qualified(s string) sqlscan.Name {
	if schema, name, ok := strings.Cut(s, "."); ok {
		return sqlscan.Name{Schema: schema, Name: name}
	}
	return sqlscan.Name{Name: s}
}

// statement judges a statement over relations that are known.
func (j *judging) statement(rels []*relation, params []uint32, listed func(string) *relation) Verdict {
	st := j.st
	j.columns = func(name string) (types []uint32) {
		for _, r := range rels {
			types = append(types, r.columns[name]...)
		}
		return types
	}
	j.types = map[uint32]bool{}
	var reached []Relation
	var hidden []sqlscan.Reason
	input := ""
	for i, r := range rels {
		if r.oid == 0 {
			j.barDoubt(ReasonMissing, st.Relations[i].String())
			continue
		}
		reached = append(reached, r.reached[0])
		for t := range r.types {
			j.types[t] = true
		}
		hidden = append(hidden, r.reasons...)
		j.reads = append(j.reads, r.reads...)
		j.harmless = j.harmless && r.harmless
		input, j.timed = cmp.Or(input, r.input), j.timed || r.timed
	}
	named := len(reached)
	for _, oid := range params {
		j.comes(oid)
	}
	j.piece()
	j.parameters(params)
	if input != "" && (j.calls || st.Params > 0) {
		j.barDoubt(ReasonType, "column "+input+", whose check may run")
	}
	for _, r := range hidden {
		if !slices.Contains(j.reasons, r) {
			j.reasons = append(j.reasons, r)
		}
	}
	for _, r := range rels {
		if r.oid != 0 {
			reached = append(reached, r.reached[1:]...)
		}
	}
	if len(j.reads) > 0 {
		// A listed function's relations are what it reads.
		j.reasons = slices.DeleteFunc(j.reasons, func(r sqlscan.Reason) bool { return r.Code == sqlscan.ReasonNoRelation })
	}
	for _, name := range j.reads {
		r := listed(name)
		if r == nil || r.oid == 0 {
			j.bar(ReasonMissing, name+" (which a listed function reads)")
			continue
		}
		reached = append(reached, r.reached...)
		for _, reason := range r.reasons {
			j.add(reason.Code, reason.Detail, reason.Markable)
		}
	}
	if j.tooMany {
		j.bar(ReasonNoCatalog, "too many functions, types or operators to look through")
		j.harmless = false
	}
	v := verdict(st, j.reasons, j.harmless, reached, named)
	v.DatesFromParams = j.datesFromParams
	return v
}

// parameters judges the types of parameters, where they are known.
func (j *judging) parameters(params []uint32) {
	for i, oid := range params {
		if _, input, _ := j.typeState(oid); input != pure {
			name := "parameter $" + strconv.Itoa(i+1)
			if oid >= firstUserOID {
				j.barDoubt(ReasonType, name)
			} else {
				j.bar(ReasonType, name)
			}
		}
	}
}

func verdict(st *sqlscan.Statement, reasons []sqlscan.Reason, harmless bool, relations []Relation, named int) Verdict {
	v := Verdict{Reasons: reasons, Harmless: harmless}
	seen := make(map[Relation]bool, len(relations))
	for i, r := range relations {
		if !seen[r] {
			seen[r] = true
			v.Relations = append(v.Relations, r)
			if i < named {
				v.Named = len(v.Relations)
			}
		}
	}
	read := st.Class == sqlscan.ClassRead && len(v.Relations) > 0
	v.Cacheable = read && len(reasons) == 0
	v.WithMark = read
	for _, r := range reasons {
		v.WithMark = v.WithMark && r.Markable
	}
	return v
}

// TimeInput says whether a parameter of a type reads the clock when it is given
// text such as 'now'.
func (f *Facts) TimeInput(oid uint32) bool {
	if oid < firstUserOID {
		return TimeParam(oid)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.mu.objects == nil {
		return true
	}
	_, _, time := env{f.mu.builtIns, f.mu.objects}.typeState(oid)
	return time
}

var errPathChanged = errors.New("catalog: the search_path resolves otherwise")

// Ask asks the server what a statement needs that is not known, or older than
// maxAge, in one round trip below pgx.Conn, so that a user's tracers don't see
// it. The session must be clean and idle: names are resolved under its
// search_path and role. now is asked before the server is. An error is the
// server's, or the connection's; nothing is known then.
func (f *Facts) Ask(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, now func() time.Duration, maxAge time.Duration) error {
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return f.AskAlone(ctx, pc, st, now, maxAge)
}

// AskAlone is Ask for one who waits for nobody.
func (f *Facts) AskAlone(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, now func() time.Duration, maxAge time.Duration) error {
	for range 3 {
		err := f.askOnce(ctx, pc, st, now(), maxAge)
		if !errors.Is(err, errPathChanged) {
			return err
		}
	}
	return errPathChanged
}
