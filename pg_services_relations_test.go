package cachedpgx_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// servicesReadSQL gives what a function's body reads, as the server recorded it
// when it analysed the body: the relations named, what views read, the leaves
// of partitioned tables, and the tables that these are leaves of, since a write
// to one of those may reach them. Views themselves are not written.
const servicesReadSQL = `
	WITH RECURSIVE down AS (
		SELECT refobjid AS oid FROM pg_depend
		WHERE classid = 'pg_proc'::regclass AND objid = 'pg_temp.service_read'::regproc AND refclassid = 'pg_class'::regclass
		UNION
		SELECT x.oid FROM down CROSS JOIN LATERAL (
			SELECT d.refobjid FROM pg_class v JOIN pg_rewrite r ON r.ev_class = v.oid
			JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
			WHERE v.oid = down.oid AND v.relkind = 'v'
			UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = down.oid) x(oid)
	), up AS (
		SELECT oid FROM down UNION SELECT i.inhparent FROM up JOIN pg_inherits i ON i.inhrelid = up.oid
	)
	SELECT nspname || '.' || relname, CASE relkind WHEN 'm' THEN 'REFRESH MATERIALIZED VIEW ' || c.oid::regclass
		ELSE 'DELETE FROM ' || c.oid::regclass || ' WHERE false' END
	FROM up JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p', 'm') ORDER BY 1`

// serviceRelation is one that a statement's answer depends on.
type serviceRelation struct {
	name  string // "schema.name", as Explain says it
	write string // one that changes no row
}

// relations asks the server's own analysis.
func (s *pgService) relations(t *testing.T, text string) (list []serviceRelation) {
	t.Helper()
	err := s.on(t).session(s.plain).Raw(func(c any) error {
		conn := c.(*stdlib.Conn).Conn()
		tx, err := conn.Begin(s.ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(s.ctx)) }()
		desc, err := conn.Prepare(s.ctx, "", text)
		if err != nil {
			return err
		}
		var params string
		err = tx.QueryRow(s.ctx, `SELECT coalesce(string_agg(format_type(oid, NULL), ', ' ORDER BY n), '')
			FROM unnest($1::oid[]) WITH ORDINALITY p(oid, n)`, desc.ParamOIDs).Scan(&params)
		if err != nil {
			return err
		}
		_, err = tx.Exec(s.ctx, fmt.Sprintf("CREATE FUNCTION pg_temp.service_read(%s) RETURNS SETOF record LANGUAGE sql BEGIN ATOMIC %s\n; END", params, text))
		if err != nil {
			return err
		}
		rows, err := tx.Query(s.ctx, servicesReadSQL)
		if err != nil {
			return err
		}
		var r serviceRelation
		_, err = pgx.ForEachRow(rows, []any{&r.name, &r.write}, func() error {
			list = append(list, r)
			return nil
		})
		return err
	})
	if err != nil {
		t.Fatalf("asking the server what it reads: %v", err)
	}
	if len(list) == 0 {
		t.Fatal("the server says that it reads nothing")
	}
	return list
}

// TestPGServiceRelations checks every read against the server's own analysis of
// it: Explain names each relation that it reads, and a write of the handle to
// any of them sends it to the server again. Promise 3.
func TestPGServiceRelations(t *testing.T) {
	for _, name := range services {
		t.Run(name, func(t *testing.T) {
			s := newPGService(t, name)
			if s.version < 14 {
				t.Skip("needs PostgreSQL 14: a function's body that is analysed when it is made")
			}
			for _, st := range serviceStatements(t, name, "reads") {
				t.Run(st.name, func(t *testing.T) {
					s.need(t, st)
					relations := s.relations(t, st.text)
					s.namesAll(t, st, relations)
					s.movedByWrites(t, st, relations)
				})
			}
		})
	}
}

func (s *pgService) namesAll(t *testing.T, st serviceStatement, relations []serviceRelation) {
	t.Helper()
	x, err := s.cache.Explain(s.ctx, st.text)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Cacheable && st.may == "" {
		t.Errorf("Explain: not cacheable: %v", x.Reasons)
	}
	for _, r := range relations {
		if x.Cacheable && !slices.Contains(x.Relations, r.name) {
			t.Errorf("Explain leaves out %s: %q", r.name, x.Relations)
		}
	}
}

// movedByWrites leaves what isn't cached to TestPGServiceReads.
func (s *pgService) movedByWrites(t *testing.T, st serviceStatement, relations []serviceRelation) {
	ask := func() int {
		return s.calls(st.text, func() {
			if got := pgAsk(s.ctx, s.db, st.text, st.args...); got.Err != "" {
				t.Fatal(got.Err)
			}
		})
	}
	ask()
	if ask() != 0 {
		return
	}
	for _, r := range relations {
		s.on(t).must(s.db, r.write)
		if n := ask(); n != 1 {
			t.Errorf("after %s: %d calls at the server, want 1", r.write, n)
		}
		if n := ask(); n != 0 {
			t.Errorf("a while after %s: %d calls at the server, want 0", r.write, n)
		}
	}
}
