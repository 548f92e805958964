package catalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// writeMaker makes schemas whose relations write to one another at random.
type writeMaker struct {
	*rand.Rand
	tables, views, functions []string
	n                        int
}

func pick[T any](m *writeMaker, of ...T) T { return of[m.IntN(len(of))] }

func (m *writeMaker) name(prefix string) string {
	m.n++
	return fmt.Sprintf("%s%d", prefix, m.n)
}

func (m *writeMaker) relation() string {
	if len(m.views) > 0 && m.IntN(4) == 0 {
		return pick(m, m.views...)
	}
	return pick(m, m.tables...)
}

// statement gives a write. Every relation has the columns id, v and r.
func (m *writeMaker) statement() string {
	rel, other, id := m.relation(), pick(m, m.tables...), pick(m, 0, 1, 2, 4)
	switch m.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("INSERT INTO %s (id, v) VALUES (%d, %d)", rel, 10+m.IntN(80), m.IntN(9))
	case 2:
		return fmt.Sprintf("INSERT INTO %s (id, v) SELECT id + %d, v FROM %s ON CONFLICT DO NOTHING", rel, 10+m.IntN(50), m.relation())
	case 3:
		return fmt.Sprintf("INSERT INTO %s AS x (id) VALUES (%d) ON CONFLICT (id) DO UPDATE SET v = x.v + 1", other, id)
	case 4:
		return fmt.Sprintf("UPDATE %s SET v = v + 1 WHERE id >= %d", rel, id)
	case 5:
		return fmt.Sprintf("UPDATE ONLY %s SET id = %d WHERE id = %d", other, 10+m.IntN(80), id)
	case 6:
		return fmt.Sprintf("UPDATE %s AS a SET id = %d FROM %s AS b WHERE a.id = %d", rel, 10+m.IntN(80), other, id)
	default:
		return fmt.Sprintf("DELETE FROM %s WHERE id = %d", rel, id)
	}
}

// body gives a function's statements. Recursion ends by its depth.
func (m *writeMaker) body() string {
	var b strings.Builder
	for range 1 + m.IntN(2) {
		switch m.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "IF (SELECT count(*) FROM %s) > 1 THEN %s; ELSE %s; END IF; ", m.relation(), m.statement(), m.statement())
		case 1:
			fmt.Fprintf(&b, "FOR n IN 1..2 LOOP %s; END LOOP; ", m.statement())
		case 2:
			fmt.Fprintf(&b, "BEGIN %s; EXCEPTION WHEN others THEN n := 1; END; ", m.statement())
		case 3:
			if len(m.functions) > 0 {
				fmt.Fprintf(&b, "n := %s(); ", pick(m, m.functions...))
			}
		default:
			b.WriteString(m.statement() + "; ")
		}
	}
	return b.String()
}

func (m *writeMaker) schema() []string {
	var ddl []string
	add := func(format string, args ...any) { ddl = append(ddl, fmt.Sprintf(format, args...)) }
	action := func() string { return pick(m, "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION") }
	for range 4 + m.IntN(5) {
		t := m.name("t")
		refers := ""
		if len(m.tables) > 0 && m.IntN(3) > 0 {
			refers = fmt.Sprintf(" REFERENCES %s (id) ON DELETE %s ON UPDATE %s", pick(m, m.tables...), action(), action())
		}
		switch m.IntN(5) {
		case 0:
			add("CREATE TABLE %s (id int PRIMARY KEY, v int DEFAULT 0, r int%s) PARTITION BY RANGE (id)", t, refers)
			add("CREATE TABLE %s_a PARTITION OF %s FOR VALUES FROM (MINVALUE) TO (3); CREATE TABLE %s_b PARTITION OF %s FOR VALUES FROM (3) TO (MAXVALUE)", t, t, t, t)
			m.tables = append(m.tables, t, t+"_a", t+"_b")
		case 1:
			add("CREATE TABLE %s (id int PRIMARY KEY, v int DEFAULT 0, r int%s)", t, refers)
			add("CREATE TABLE %s_c (PRIMARY KEY (id)) INHERITS (%s); INSERT INTO %s_c VALUES (7, 7)", t, t, t)
			m.tables = append(m.tables, t, t+"_c")
		default:
			add("CREATE TABLE %s (id int PRIMARY KEY, v int DEFAULT 0, r int%s)", t, refers)
			m.tables = append(m.tables, t)
		}
		add("INSERT INTO %s VALUES (0, 0), (1, 1), (2, 2), (4, 4)", t)
		for _, r := range []int{0, 1, 2, 4} {
			add("UPDATE %s SET r = %d WHERE id = %d", t, r, r)
		}
	}
	for range m.IntN(3) {
		v := m.name("v")
		add("CREATE VIEW %s AS SELECT id, v, r FROM %s WHERE id < 90", v, m.relation())
		m.views = append(m.views, v)
	}
	for range m.IntN(3) {
		f := m.name("f")
		add("CREATE FUNCTION %s() RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int := 0; BEGIN IF pg_trigger_depth() < 3 THEN %s END IF; RETURN n; END $$", f, m.body())
		m.functions = append(m.functions, f)
		if m.IntN(2) == 0 {
			add("ALTER TABLE %s ALTER v SET DEFAULT %s()", pick(m, m.tables...), f)
		}
	}
	for range 2 + m.IntN(4) {
		f, events := m.name("g"), pick(m, "INSERT", "UPDATE", "DELETE", "INSERT OR DELETE", "UPDATE OR DELETE", "TRUNCATE")
		add("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN IF pg_trigger_depth() < 4 THEN %s END IF; RETURN NULL; END $$", f, m.body())
		level := pick(m, "ROW", "STATEMENT")
		if events == "TRUNCATE" {
			level = "STATEMENT"
		}
		add("CREATE TRIGGER %s AFTER %s ON %s FOR EACH %s EXECUTE FUNCTION %s()", f, events, pick(m, m.tables...), level, f)
	}
	if m.IntN(3) == 0 {
		add("CREATE RULE x AS ON %s TO %s DO ALSO %s", pick(m, "INSERT", "UPDATE", "DELETE"), m.relation(), m.statement())
	}
	return ddl
}

// Whatever a write really does in schemas made at random was said before.
func TestWritesOfRandomSchemas(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	schemas, statements := 30, 12
	if testing.Short() {
		schemas = 6
	}
	ran, unknown, beyond := 0, 0, 0 // beyond: something else than the target was written
	for seed := range schemas {
		m := &writeMaker{Rand: rand.New(rand.NewPCG(uint64(seed), 4))}
		run(t, pc, "BEGIN")
		var made []string
		for _, ddl := range m.schema() {
			run(t, pc, "SAVEPOINT s")
			if err := runErr(pc, ddl); err != nil {
				run(t, pc, "ROLLBACK TO s") // two foreign keys that don't go together, say
				continue
			}
			made = append(made, ddl)
		}
		for range statements {
			query := m.statement()
			switch m.IntN(8) {
			case 0:
				query = "TRUNCATE " + pick(m, m.tables...) + " CASCADE"
			case 1:
				query = "WITH x AS (" + m.statement() + " RETURNING id) " + m.statement()
				if strings.Contains(query, "DO NOTHING RETURNING") {
					query = m.statement()
				}
			}
			run(t, pc, "SAVEPOINT s")
			w, err := Writes(context.Background(), pc, sqlscan.Scan(query))
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, query, err)
			}
			before := tableStates(t, pc)
			if err = runErr(pc, query); err == nil {
				err = runErr(pc, "SET CONSTRAINTS ALL IMMEDIATE")
			}
			if err == nil {
				ran++
				written := changed(before, tableStates(t, pc))
				if w.All {
					unknown++
				}
				if len(written) > 1 {
					beyond++
				}
				for _, rel := range written {
					if !w.All && !slices.ContainsFunc(w.Relations, func(r Relation) bool { return r.Schema+"."+r.Name == rel }) {
						t.Errorf("seed %d: %s wrote %s, said %s\n%s", seed, query, rel, showWrites(w), strings.Join(made, ";\n"))
					}
				}
			} else if pgErr := (*pgconn.PgError)(nil); !errors.As(err, &pgErr) || slices.Contains([]string{"42601", "XX"}, pgErr.Code) {
				t.Errorf("seed %d: %s: %v", seed, query, err)
			}
			run(t, pc, "ROLLBACK TO s")
		}
		run(t, pc, "ROLLBACK")
	}
	t.Logf("%d ran, %d wrote to more than one table, %d of unknown effect", ran, beyond, unknown)
	if all := schemas * statements; ran < all/3 || beyond < all/10 || unknown > ran/4 {
		t.Errorf("of %d statements %d ran, %d wrote to more than one table, %d of unknown effect: too little is shown", all, ran, beyond, unknown)
	}
}
