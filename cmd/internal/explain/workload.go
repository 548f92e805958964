package explain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// workload is what the server's pg_stat_statements holds of this database.
type workload struct {
	queries []query    // the most costly ones
	shown   cost       // theirs
	all     cost       // of every text that may be read, these included
	hidden  cost       // of those whose texts this role may not read
	since   *time.Time // what the counts go back to, as far as the server says
}

// query is a text and what it cost, summed over all that share it.
type query struct {
	text string
	ids  []int64
	cost
}

// cost is what statements have cost the server.
type cost struct {
	statements int64
	calls      int64
	time       time.Duration // in execution
	rows       int64
}

func (c *cost) add(d cost) {
	c.statements += d.statements
	c.calls += d.calls
	c.time += d.time
	c.rows += d.rows
}

// adviceError is an error together with what a person may do about it.
type adviceError struct {
	problem string
	advice  []string
	err     error
}

func (e *adviceError) Error() string {
	return e.problem + "\n  - " + strings.Join(e.advice, "\n  - ")
}
func (e *adviceError) Unwrap() error { return e.err }

const (
	adviceLoad   = "load it: shared_preload_libraries = 'pg_stat_statements' in the server's configuration, and a restart of the server"
	adviceCreate = "make its view in this database, as a role that may: CREATE EXTENSION pg_stat_statements"
	adviceFile   = "or give explain the statements: as arguments, or with --file"
)

// readWorkload reads the server's view in a transaction that can only read.
func readWorkload(ctx context.Context, db *sql.DB, limit int, everyone bool) (*workload, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	view, err := findView(ctx, tx)
	if err != nil {
		return nil, err
	}
	w := &workload{}
	if err := w.read(ctx, tx, view, limit, everyone); err != nil {
		return nil, view.explain(err)
	}
	return w, nil
}

// statsView is the view as this database has it. Its columns depend on the
// extension's version, which may be older than the server.
type statsView struct {
	schema  string // quoted
	role    string
	columns []string
	info    bool // pg_stat_statements_info is there
}

func (v *statsView) has(column string) bool { return slices.Contains(v.columns, column) }

func findView(ctx context.Context, tx *sql.Tx) (*statsView, error) {
	v := &statsView{}
	var schema sql.NullString
	var loaded, installed bool
	var columns string
	err := tx.QueryRowContext(ctx, `
		SELECT quote_ident(n.nspname),
		       current_user::text,
		       current_setting('pg_stat_statements.max', true) IS NOT NULL,
		       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements'),
		       coalesce((SELECT string_agg(a.attname, ',') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		                 WHERE c.relnamespace = n.oid AND c.relname = 'pg_stat_statements' AND a.attnum > 0), ''),
		       EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'pg_stat_statements_info')
		FROM (VALUES (1)) one
		LEFT JOIN (pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace) ON e.extname = 'pg_stat_statements'`).
		Scan(&schema, &v.role, &loaded, &installed, &columns, &v.info)
	if err != nil {
		return nil, err
	}
	if schema.String == "" {
		var advice []string
		if !installed {
			advice = append(advice, "install PostgreSQL's contrib package on the server's machine")
		}
		if !loaded {
			advice = append(advice, adviceLoad)
		}
		return nil, &adviceError{
			problem: "this database has no pg_stat_statements, which counts the server's statements:",
			advice:  append(advice, adviceCreate, adviceFile),
		}
	}
	v.schema, v.columns = schema.String, strings.Split(columns, ",")
	return v, nil
}

// explain says what is to be done about an error of the view.
func (v *statsView) explain(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case "55000": // object_not_in_prerequisite_state
		return &adviceError{"pg_stat_statements is in this database, but the server has not loaded it:", []string{adviceLoad, adviceFile}, err}
	case "42501": // insufficient_privilege
		return &adviceError{fmt.Sprintf("the role %s may not read pg_stat_statements (%s):", v.role, pg.Message),
			[]string{
				fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO it, and GRANT SELECT ON %s.pg_stat_statements TO it", v.schema, v.schema),
				adviceFile,
			}, err}
	}
	return fmt.Errorf("reading pg_stat_statements: %w", err)
}

// hiddenText is what the view shows in place of a text that the role may not
// see.
const hiddenText = "<insufficient privilege>"

func (w *workload) read(ctx context.Context, tx *sql.Tx, v *statsView, limit int, everyone bool) error {
	total := "total_exec_time" // since 1.8, which came with PostgreSQL 13
	if !v.has(total) {
		total = "total_time"
	}
	where := `s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND s.query NOT LIKE '/* cachedpgx */ %'` // the cache's own questions
	if !everyone {
		where += ` AND s.userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)`
	}
	if v.has("toplevel") {
		where += ` AND s.toplevel` // what a function runs, no driver sends
	}
	rows, err := tx.QueryContext(ctx, `
		SELECT q.query, q.ids, q.statements, q.calls, q.ms, q.rows
		FROM (
			SELECT coalesce(s.query, $1) AS query,
			       coalesce(array_to_string(array_agg(DISTINCT s.queryid), ','), '') AS ids,
			       count(*) AS statements, sum(s.calls)::bigint AS calls,
			       sum(s.`+total+`)::float8 AS ms, sum(s.rows)::bigint AS rows
			FROM `+v.schema+`.pg_stat_statements s
			WHERE `+where+`
			GROUP BY 1) q
		ORDER BY q.ms DESC, q.calls DESC, q.query`, hiddenText)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var q query
		var ids string
		var ms float64
		if err := rows.Scan(&q.text, &ids, &q.statements, &q.calls, &ms, &q.rows); err != nil {
			return err
		}
		q.time = time.Duration(ms * float64(time.Millisecond))
		if q.text == hiddenText {
			w.hidden.add(q.cost)
			continue
		}
		q.statements = 1 // to people, one text is one statement
		w.all.add(q.cost)
		if len(w.queries) == limit {
			continue
		}
		w.shown.add(q.cost)
		for id := range strings.SplitSeq(ids, ",") {
			var n int64
			if _, err := fmt.Sscan(id, &n); err == nil {
				q.ids = append(q.ids, n)
			}
		}
		w.queries = append(w.queries, q)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.readSince(ctx, tx, v)
}

// readSince asks for the time that the counts go back to: every statement's own
// since PostgreSQL 17, the view's since 14.
func (w *workload) readSince(ctx context.Context, tx *sql.Tx, v *statsView) error {
	var since sql.NullTime
	var ask string
	switch {
	case v.has("stats_since"):
		ask = `SELECT min(stats_since) FROM ` + v.schema + `.pg_stat_statements`
	case v.info:
		ask = `SELECT stats_reset FROM ` + v.schema + `.pg_stat_statements_info`
	default:
		return nil
	}
	if err := tx.QueryRowContext(ctx, ask).Scan(&since); err != nil {
		return err
	}
	if since.Valid {
		w.since = &since.Time
	}
	return nil
}

// typeWords are the names of types that a literal may follow, as in
// interval '1 day'.
var typeWords = map[string]bool{
	"date": true, "time": true, "timetz": true, "timestamp": true, "timestamptz": true, "interval": true,
	"bool": true, "boolean": true, "bytea": true, "text": true, "varchar": true, "bpchar": true, "uuid": true,
	"int2": true, "int4": true, "int8": true, "smallint": true, "integer": true, "int": true, "bigint": true,
	"numeric": true, "decimal": true, "real": true, "float4": true, "float8": true, "json": true, "jsonb": true, "xml": true,
	"inet": true, "cidr": true, "macaddr": true, "point": true, "box": true, "circle": true, "polygon": true,
	"int4range": true, "int8range": true, "numrange": true, "daterange": true, "tsrange": true, "tstzrange": true,
}

// readable makes a statement of a text of pg_stat_statements again. There every
// constant is a parameter, also where the grammar wants a literal: interval $1
// was interval '1 day'. It becomes CAST($1 AS interval), which means the same.
func readable(text string) string {
	var b strings.Builder
	copied := 0
	typeAt, typeEnd := -1, 0 // the type before this place, with what belongs to it
	depth := 0               // within a type's parentheses
	after := ""              // the word before
	for at := 0; at < len(text); {
		t := nextToken(text, at)
		word := strings.ToLower(text[at:t.end])
		switch {
		case t.kind == tokenSpace:
		case depth > 0:
			if word == ")" {
				depth--
				typeEnd = t.end
			}
		case t.kind == tokenParam && typeAt >= 0:
			b.WriteString(text[copied:typeAt] + "CAST(" + word + " AS " + text[typeAt:typeEnd] + ")")
			copied, typeAt = t.end, -1
		case typeAt >= 0 && word == "(" && typeWords[after]:
			depth++
		case typeAt >= 0 && (word == "with" || word == "without" || word == "time" || word == "zone") && after != "zone":
			typeEnd = t.end
		case t.kind == tokenWord && typeWords[word] && after != "." && after != "as" && after != ":" && !(word == "time" && after == "at"):
			typeAt, typeEnd = at, t.end
		default:
			typeAt = -1
		}
		if t.kind != tokenSpace {
			after = word
		}
		at = t.end
	}
	if copied == 0 {
		return text
	}
	return b.String() + text[copied:]
}
