package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// need is what has to be asked.
type need struct {
	builtIns, objects bool
	names             []sqlscan.Name
	path              []string
}

func (f *Facts) needs(st *sqlscan.Statement, now, maxAge time.Duration) need {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n := need{
		builtIns: f.mu.builtIns == nil,
		objects:  f.mu.objects == nil || now-f.mu.at >= maxAge,
		path:     f.mu.path,
	}
	for _, name := range slices.Concat(f.listed, st.Relations) {
		if r := f.mu.relations[name]; r == nil || now-r.at >= maxAge || f.mu.objects == nil {
			n.names = append(n.names, name)
		}
	}
	return n
}

// askOnce asks in one transaction of one round trip.
//
// The answer may be read after others have changed what it says. That is what
// the facts' age is for: it counts from before the question.
func (f *Facts) askOnce(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, now, maxAge time.Duration) error {
	n := f.needs(st, now, maxAge)
	if !n.builtIns && !n.objects && len(n.names) == 0 {
		return nil
	}
	version, err := serverVersion(pc)
	if err != nil {
		return err
	}
	q := questions{ctx: ctx, pc: pc}
	within := pc.TxStatus() != 'I'
	if within {
		q.ask("SAVEPOINT cachedpgx")
	}
	path := q.ask(pathSQL)
	q.ask(fenceSQL)
	var builtIns [4]int
	var objects [7]int
	if n.builtIns {
		for i, sql := range []string{builtInFunctionsSQL, builtInTypesSQL, builtInOperatorsSQL, unsteadyFunctionsSQL} {
			builtIns[i] = q.ask(sql)
		}
	}
	if n.objects {
		for i, sql := range []string{functionsFor(version), operatorsSQL, typesSQL, castsSQL, opclassesSQL, alteredSQL, outputNamesSQL} {
			objects[i] = q.ask(sql)
		}
	}
	relations := -1
	if len(n.names) > 0 {
		relations = q.askAbout(n)
	}
	if within {
		// The settings are as before; an error ends the transaction, as any.
		q.ask("ROLLBACK TO SAVEPOINT cachedpgx")
		q.ask("RELEASE SAVEPOINT cachedpgx")
	}
	answers, err := q.answers()
	if err != nil {
		return err
	}

	var seen []string
	for _, r := range answers[path] {
		// A clean session has no temporary objects; that it once had some is of
		// no matter.
		if schema := string(r[0]); f.cfg.Temporary || !strings.HasPrefix(schema, "pg_temp_") {
			seen = append(seen, schema)
		}
	}
	if !slices.Equal(seen, n.path) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if slices.Equal(f.mu.path, n.path) { // nobody else has noticed
			f.mu.path, f.mu.objects, f.mu.relations = seen, nil, map[sqlscan.Name]*relation{}
		}
		return errPathChanged
	}
	f.mu.RLock()
	e, objectsAt := env{f.mu.builtIns, f.mu.objects}, f.mu.at
	changed := !slices.Equal(f.mu.path, seen) || !n.objects && e.objects == nil
	f.mu.RUnlock()
	if changed { // by another's question
		return errPathChanged
	}
	if n.builtIns {
		e.BuiltIns, err = readBuiltIns(version, answers[builtIns[0]], answers[builtIns[1]], answers[builtIns[2]], answers[builtIns[3]])
		if err != nil {
			return err
		}
	}
	if n.objects {
		e.objects, err = readObjects(seen, answers[objects[0]], answers[objects[1]], answers[objects[2]], answers[objects[3]], answers[objects[4]], answers[objects[5]], answers[objects[6]])
		if err != nil {
			return err
		}
		e.settle(e.BuiltIns, f.cfg.Pure)
		objectsAt = now
	}
	fresh := map[sqlscan.Name]*relation{}
	if relations >= 0 {
		found, err := readRelations(answers[relations])
		if err != nil {
			return err
		}
		for _, name := range n.names {
			fresh[name] = found.judge(e, found.named[asked(name, seen)], f.cfg.Partitioned, min(now, objectsAt))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.mu.path, seen) {
		return errPathChanged
	}
	f.mu.builtIns = e.BuiltIns
	if n.objects {
		f.mu.objects, f.mu.at = e.objects, now
	}
	if len(f.mu.relations)+len(fresh) > mostRelations {
		clear(f.mu.relations)
	}
	maps.Copy(f.mu.relations, fresh)
	return nil
}

// asked gives a name as it is asked for: pg_temp is the session's own.
func asked(n sqlscan.Name, path []string) sqlscan.Name {
	if n.Schema == "pg_temp" {
		for _, schema := range path {
			if strings.HasPrefix(schema, "pg_temp_") {
				n.Schema = schema
			}
		}
	}
	return n
}

// serverVersion reads server_version: "15.19 (Debian …)", "18beta1".
func serverVersion(pc *pgconn.PgConn) (int, error) {
	var major int
	if _, err := fmt.Sscanf(pc.ParameterStatus("server_version"), "%d", &major); err != nil {
		return 0, fmt.Errorf("catalog: server version %q is not understood", pc.ParameterStatus("server_version"))
	}
	return major * 10000, nil
}

// Mark begins every question of the cache's own, so that a server's statistics
// and logs tell them from the user's.
const Mark = "/* cachedpgx */ "

// questions are put in one round trip.
type questions struct {
	ctx  context.Context
	pc   *pgconn.PgConn
	list []question
}

type question struct {
	sql     string
	prepare string // the name to prepare it under; "" to ask it once
	params  [][]byte
	oids    []uint32
}

// ask adds a question and gives its place.
func (q *questions) ask(sql string) int {
	q.list = append(q.list, question{sql: sql})
	return len(q.list) - 1
}

func (q *questions) askAbout(n need) int {
	var schemas, names []string
	for _, name := range n.names {
		name = asked(name, n.path)
		schemas, names = append(schemas, name.Schema), append(names, name.Name)
	}
	q.list = append(q.list, question{
		relationsSQL, relationsName, [][]byte{textArray(n.path), textArray(schemas), textArray(names)},
		[]uint32{pgtype.NameArrayOID, pgtype.NameArrayOID, pgtype.NameArrayOID},
	})
	return len(q.list) - 1
}

// Planning relationsSQL takes longer than running it, so it stays prepared on
// its connection. A session that deallocates all has it prepared again.
const relationsName = "cachedpgx_relations"

// answers puts the questions, and gives the rows of each.
func (q *questions) answers() ([][]row, error) {
	out, err := q.put()
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || q.pc.TxStatus() != 'I' {
		return out, err
	}
	switch refused.Code {
	case "26000": // invalid_sql_statement_name
		delete(q.pc.CustomData(), relationsName)
	case "42P05": // duplicate_prepared_statement
		q.pc.CustomData()[relationsName] = true
	default:
		return out, err
	}
	return q.put()
}

func (q *questions) put() ([][]row, error) {
	p := q.pc.StartPipeline(q.ctx)
	for _, one := range q.list {
		if one.prepare == "" {
			p.SendQueryParams(Mark+one.sql, one.params, one.oids, nil, nil)
			continue
		}
		if q.pc.CustomData()[one.prepare] == nil {
			p.SendPrepare(one.prepare, Mark+one.sql, one.oids)
		}
		p.SendQueryPrepared(one.prepare, one.params, nil, nil)
	}
	err := p.Sync()
	var out [][]row
	for err == nil && len(out) < len(q.list) {
		var r any
		if r, err = p.GetResults(); err != nil {
			break
		}
		switch r := r.(type) {
		case *pgconn.StatementDescription:
			q.pc.CustomData()[relationsName] = true
		case *pgconn.ResultReader:
			result := r.Read()
			if err = result.Err; err == nil {
				out = append(out, result.Rows)
			}
		default:
			err = fmt.Errorf("catalog: %d of %d questions were answered", len(out), len(q.list))
		}
	}
	return out, errors.Join(err, p.Close())
}

// textArray writes an array of text as PostgreSQL reads it.
func textArray(list []string) []byte {
	b := []byte{'{'}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		for k := range len(s) {
			if s[k] == '"' || s[k] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, s[k])
		}
		b = append(b, '"')
	}
	return append(b, '}')
}
