package catalog

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// WriteSet is what a statement may write: its targets, and all that the server
// writes on account of them.
type WriteSet struct {
	Relations []Relation // sorted by schema and name, without repetition
	All       bool       // its effect is not known: it may write anything
	Reasons   []string   // why it is All, in words; empty otherwise
}

// maxRounds bounds how often the server is asked: each round knows the bodies
// of the functions that the one before came to.
const maxRounds = 8

// Writes asks the server what a statement may write: in one round trip, and one
// more for each step from function to function. The session must be clean:
// names are resolved under its search_path. An error is the server's, or the
// connection's; the statement may write anything then.
//
// Relations is a superset, over rules and views in particular: whatever a rule
// names counts as written by it. It holds the whole tree of partitions and
// inheritance. System catalogs and sequences aren't in it.
//
// A statement that only reads is said to write nothing, whatever it calls:
// Judge says whether it is harmless.
func Writes(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement) (WriteSet, error) {
	switch st.Class {
	case sqlscan.ClassEmpty, sqlscan.ClassRead, sqlscan.ClassLock, sqlscan.ClassShow, sqlscan.ClassSession:
		return WriteSet{}, nil
	case sqlscan.ClassTx:
		if st.Tx == sqlscan.TxCommitPrepared {
			return everything("COMMIT PREPARED: what was prepared is not known"), nil
		}
		return WriteSet{}, nil
	case sqlscan.ClassWrite:
	default:
		return everything(cmp.Or(st.Verb, "a statement of unknown effect")), nil
	}
	w := writing{
		q:      questionnaire{events: make(map[wantedName]events)},
		bodies: make(map[uint32]*functionBody),
		plain:  pc.ParameterStatus("standard_conforming_strings") == "on",
	}
	if st.Backslash && !w.plain {
		return everything("a backslash in a literal, with standard_conforming_strings off"), nil
	}
	if w.want(st, false); len(st.Targets) == 0 {
		return everything(st.Verb + " of an unknown target"), nil
	}
	for range maxRounds {
		s, err := askWrites(ctx, pc, &w.q)
		if err != nil {
			return WriteSet{}, err
		}
		w.surroundings, w.grown = s, false
		w.close()
		if len(w.reasons) > 0 {
			slices.Sort(w.reasons)
			return WriteSet{All: true, Reasons: slices.Compact(w.reasons)}, nil
		}
		if !w.grown {
			return WriteSet{Relations: w.relationsWritten()}, nil
		}
	}
	return everything("functions that call functions, too deep to follow"), nil
}

func everything(why string) WriteSet { return WriteSet{All: true, Reasons: []string{why}} }

// writing finds out what one statement writes.
type writing struct {
	q      questionnaire
	bodies map[uint32]*functionBody // those that were read
	plain  bool                     // standard_conforming_strings is on
	grown  bool                     // there is more to ask

	*surroundings
	fired   map[uint32]events // what happens to a relation; 0 where it is only part of a tree
	reasons []string
}

func (w *writing) doubt(why string) { w.reasons = append(w.reasons, why) }

// want adds what a statement names to the questions.
func (w *writing) want(st *sqlscan.Statement, body bool) {
	ev := eventsOf(st)
	for _, n := range st.Targets {
		w.noteEvents(ev)
		w.wantName(wantedName{n, true, body}, ev)
	}
	for _, n := range st.Relations {
		w.wantName(wantedName{n, false, body}, 0)
	}
	for _, f := range st.Functions {
		n := f.Name
		if n.Schema == "pg_catalog" && n.Name != strings.ToLower(n.Name) {
			// The scanner knows it for syntax; to an older server it may be
			// a user's function.
			n = sqlscan.Name{Name: strings.ToLower(n.Name)}
		}
		addTo(w, &w.q.calls, n)
	}
	for _, t := range st.Types {
		addTo(w, &w.q.types, t.Name)
	}
	for _, a := range st.Attributes {
		addTo(w, &w.q.tails, a)
	}
	for _, o := range st.Operators {
		addTo(w, &w.q.ops, o)
	}
	if st.Verb == "REFRESH MATERIALIZED VIEW" {
		w.set(&w.q.refresh)
		w.set(&w.q.anywhere)
	}
}

// noteEvents has foreign keys followed as far as the events go.
func (w *writing) noteEvents(ev events) {
	if ev&(evUpdate|evDelete) != 0 {
		w.set(&w.q.actions)
	}
	if ev&evTruncate != 0 {
		w.set(&w.q.truncate)
	}
}

func (w *writing) wantName(n wantedName, ev events) {
	old, there := w.q.events[n]
	if !there {
		w.q.names = append(w.q.names, n)
	}
	if !there || old|ev != old {
		w.q.events[n], w.grown = old|ev, true
	}
}

func addTo[T comparable](w *writing, list *[]T, v T) {
	if !slices.Contains(*list, v) {
		*list, w.grown = append(*list, v), true
	}
}

func (w *writing) set(flag *bool) {
	if !*flag {
		*flag, w.grown = true, true
	}
}

// eventsOf says what a write does to its targets, going by the words in it: no
// keyword can be spelled another way. What stands in literals and names counts
// as well, which moves too much and never too little.
func eventsOf(st *sqlscan.Statement) events {
	switch st.Verb {
	case "TRUNCATE":
		return evTruncate
	case "REFRESH MATERIALIZED VIEW":
		return evInsert
	}
	var ev events
	if st.Verb == "COPY" {
		ev = evInsert
	}
	for word, e := range map[string]events{"insert": evInsert, "update": evUpdate, "delete": evDelete, "merge": evRows} {
		if hasWord(st.Identity, word) {
			ev |= e
		}
	}
	return cmp.Or(ev, evRows)
}

// hasWord says whether a word in lower case stands in a text, in any case.
func hasWord(text, word string) bool {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= 0x80 }
	for i := 0; i+len(word) <= len(text); i++ {
		end := i + len(word)
		if text[i]|0x20 == word[0] && strings.EqualFold(text[i:end], word) && (i == 0 || !letter(text[i-1])) &&
			(end == len(text) || !letter(text[end]) && (text[end] < '0' || text[end] > '9')) {
			return true
		}
	}
	return false
}

// close follows what was found as far as it goes.
func (w *writing) close() {
	w.fired = make(map[uint32]events)
	for i, n := range w.q.names {
		if !n.written {
			continue
		}
		if len(w.named[i]) == 0 {
			w.doubt("no relation " + n.String() + " in the search_path")
		}
		for _, rel := range w.named[i] {
			r := w.relations[rel]
			switch {
			case rel < firstUserOID:
				w.doubt("a system relation, " + n.String())
			case !strings.Contains("rpvmf", string(r.kind)):
				w.doubt(n.String() + " is not a table or a view")
			}
			w.fire(rel, w.q.events[n])
		}
	}
	for rel, r := range w.relations {
		if _, written := w.fired[rel]; r.kind == 'f' && !written && rel >= firstUserOID {
			w.doubt("the foreign table " + r.Schema + "." + r.Name + ": its server may do anything")
		}
	}
	for name, volatility := range w.builtIns {
		if volatility == 'v' && !writesNothing[name] || runsText(name) {
			w.doubt("the function " + name)
		}
	}
	for _, u := range w.uses {
		w.use(u)
	}
}

// fire notes events on a relation and all that follows from them.
func (w *writing) fire(rel uint32, ev events) {
	old, there := w.fired[rel]
	r, known := w.relations[rel]
	if there && old|ev == old {
		return
	}
	if !known {
		w.doubt("a relation that is gone")
		return
	}
	w.fired[rel] = old | ev
	w.noteEvents(ev)
	// What is above and beside it shows its rows, and has no event of its own.
	for _, up := range w.parents[rel] {
		w.fire(up, 0)
	}
	down := ev
	if r.kind != 'p' {
		down &^= evInsert
	} else if ev&evUpdate != 0 {
		down |= evInsert | evDelete // a row moves between partitions
	}
	for _, child := range w.children[rel] {
		w.fire(child, down)
	}
	if r.kind == 'f' {
		w.doubt("the foreign table " + r.Schema + "." + r.Name + ": it writes elsewhere")
	}
	if ev == 0 || r.kind == 'm' {
		return
	}
	for _, x := range w.rules[rel] {
		if x.to < firstUserOID || !strings.Contains("rpvf", string(w.relations[x.to].kind)) {
			continue
		}
		switch on := map[byte]events{'2': evUpdate, '3': evInsert, '4': evDelete}[x.typ]; {
		case x.typ == '1':
			if ev := ev &^ w.instead(rel); ev != 0 {
				w.fire(x.to, ev) // a view writes to its base
			}
		case on == 0:
			w.doubt("a rule of an unknown kind on " + r.Schema + "." + r.Name)
		case ev&on != 0:
			w.fire(x.to, evRows)
		}
	}
	for _, a := range w.actions[rel] {
		switch {
		case a.fn == 1646 && ev&evDelete != 0:
			w.fire(a.to, evDelete)
		case (a.fn == 1650 || a.fn == 1652) && ev&evDelete != 0, (a.fn == 1647 || a.fn == 1651 || a.fn == 1653) && ev&evUpdate != 0:
			w.fire(a.to, evUpdate)
		}
	}
	if ev&evTruncate != 0 {
		// Without CASCADE the server refuses where one would be left out.
		for _, to := range w.references[rel] {
			w.fire(to, evTruncate)
		}
	}
}

// instead gives the events that a view's INSTEAD OF triggers take over.
func (w *writing) instead(view uint32) (ev events) {
	for _, u := range w.uses {
		if typ, err := strconv.Atoi(u.detail); u.why == "trigger" && u.rel == view && err == nil && typ&tgInstead != 0 {
			ev |= events(typ) & evRows
		}
	}
	return ev
}

// use looks at a function that may run.
func (w *writing) use(u use) {
	r, f := w.relations[u.rel], w.functions[u.fn]
	ev, on := w.fired[u.rel], " of "+r.Schema+"."+r.Name
	switch u.why {
	case "trigger":
		typ, err := strconv.Atoi(u.detail)
		if err == nil && ev&events(typ)&(evRows|evTruncate) == 0 {
			return
		}
		if (u.fn < firstUserOID || f.language == "c") && triggersWriteNothing[f.Name.Name] {
			return
		}
		w.run(u.fn, "a trigger"+on, runTrigger)
	case "write":
		// The classes are pg_trigger, for WHEN, and what only new rows meet.
		if ev == 0 || u.detail != "2620" && ev&(evInsert|evUpdate) == 0 {
			return
		}
		w.run(u.fn, "a default, constraint, index or condition"+on, runCall)
	case "read":
		w.run(u.fn, "a view, rule or policy"+on, runCall)
	case "called":
		w.run(u.fn, "a call", runCall)
	case "event-trigger":
		w.run(u.fn, "the event trigger "+u.detail, runTrigger)
	case "operator":
		w.run(u.fn, "the operator "+u.detail, runSupport)
	default:
		w.run(u.fn, "a "+u.why, runSupport)
	}
}

// running says in what way a function runs.
type running uint8

const (
	runTrigger running = iota // C code may do anything
	runCall                   // C code that is IMMUTABLE, or known, writes nothing
	runSupport                // of operators, casts, types, classes: nobody writes there in C
)

// run takes in what a function writes.
func (w *writing) run(fn uint32, why string, how running) {
	f, ok := w.functions[fn]
	name, full := f.Name.Name, f.Name.String()
	switch {
	case fn == 0:
		return
	case !ok:
		w.doubt(why + ": a function that is gone")
		return
	case fn < firstUserOID:
		if how == runTrigger || f.volatility == 'v' && !writesNothing[name] || runsText(name) {
			w.doubt(why + ": the function " + full)
		}
		return
	}
	for _, oid := range f.types {
		addTo(w, &w.q.typeOIDs, oid)
	}
	switch {
	case f.kind != 'f':
		w.doubt(why + ": " + full + " is an aggregate, a window function or a procedure")
		return
	case f.language == "c" || f.language == "internal":
		if how == runTrigger || how == runCall && f.volatility != 'i' && !extensionWritesNothing[name] {
			w.doubt(why + ": the function " + full + " is written in " + f.language)
		}
		return
	}
	body := w.bodies[fn]
	if body == nil {
		body = readFunction(f.language, f.body, f.defaults, w.plain)
		w.bodies[fn] = body
	}
	if f.literals {
		body.fault = "it sets standard_conforming_strings"
	}
	if body.fault != "" {
		w.doubt(why + ": the function " + full + ": " + body.fault)
		return
	}
	if f.path {
		w.set(&w.q.anywhere)
	}
	for _, st := range body.statements {
		w.want(st, true)
	}
	for _, n := range body.reads {
		w.wantName(wantedName{n, false, true}, 0)
	}
}

// relationsWritten gives the relations, with the trees they stand in: rows of a
// tree are seen through its every root.
func (w *writing) relationsWritten() []Relation {
	var list []Relation
	seen := make(map[uint32]bool)
	var walk func(uint32)
	walk = func(rel uint32) {
		r, ok := w.relations[rel]
		if seen[rel] || !ok {
			return
		}
		seen[rel] = true
		list = append(list, r.Relation)
		for _, next := range w.parents[rel] {
			walk(next)
		}
		for _, next := range w.children[rel] {
			walk(next)
		}
	}
	for rel := range w.fired {
		walk(rel)
	}
	slices.SortFunc(list, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Built-in functions, by name.
var (
	// writesNothing are VOLATILE, and yet write to no table. Those of sequences
	// and notifications do something else that no cached answer shows.
	writesNothing = set(strings.Fields(`nextval setval currval lastval random random_normal setseed clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7
		pg_notify pg_sleep pg_sleep_for pg_sleep_until pg_sequence_last_value pg_lock_status pg_blocking_pids
		pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared
		pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared
		pg_advisory_unlock pg_advisory_unlock_shared pg_advisory_unlock_all
		pg_is_in_recovery pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn pg_last_wal_replay_lsn pg_last_wal_receive_lsn
		pg_xact_status txid_status pg_xact_commit_timestamp pg_last_committed_xact
		pg_relation_size pg_table_size pg_total_relation_size pg_indexes_size pg_database_size pg_tablespace_size
		pg_partition_tree pg_partition_ancestors pg_notification_queue_usage pg_prepared_xact pg_stat_get_activity`)...)

	// runsMore do what the loud ones do, and are VOLATILE in part, or only to
	// those who write.
	runsMore = set("query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "cursor_to_xmlschema", "ts_stat", "ts_rewrite")

	// triggersWriteNothing are trigger functions of the server and of its
	// extensions: they set columns of the new row, or notify.
	triggersWriteNothing = set(strings.Fields(`suppress_redundant_updates_trigger tsvector_update_trigger tsvector_update_trigger_column
		moddatetime autoinc insert_username triggered_change_notification`)...)

	// extensionWritesNothing are functions of common extensions, in C, that
	// aren't IMMUTABLE.
	extensionWritesNothing = set(strings.Fields(`uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 gen_random_uuid gen_random_bytes gen_salt
		unaccent word_similarity_op strict_word_similarity_op similarity_op show_limit`)...)
)

// runsText says whether a function reads whatever relation, or runs whatever
// type's input, it is told to in text or by OID.
func runsText(name string) bool { return loud[name] || runsMore[name] }
