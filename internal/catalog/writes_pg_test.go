package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// writesSchema is what every case finds. Each table has a row or two, so that
// what is said to be written can be held against what is.
const writesSchema = `
	CREATE SCHEMA other; CREATE SCHEMA hidden;
	CREATE TABLE plain (id int PRIMARY KEY, name text, n int DEFAULT 0, at timestamptz DEFAULT now());
	INSERT INTO plain VALUES (1, 'a'), (2, 'b');
	CREATE TABLE log (at timestamptz DEFAULT clock_timestamp(), what text);
	CREATE TABLE tally (k text PRIMARY KEY, n int); INSERT INTO tally VALUES ('x', 0);
	CREATE TABLE other.plain (id int); CREATE TABLE hidden.log (what text);
	CREATE TABLE boss (id int PRIMARY KEY, v int); INSERT INTO boss VALUES (1, 1), (2, 2);
	CREATE TABLE clerk (id int PRIMARY KEY, boss int REFERENCES boss ON DELETE CASCADE ON UPDATE CASCADE);
	INSERT INTO clerk VALUES (10, 1), (20, 2);
	CREATE TABLE note (id int, clerk int REFERENCES clerk ON DELETE SET NULL); INSERT INTO note VALUES (100, 10);
	CREATE TABLE badge (id int, boss int DEFAULT 2 REFERENCES boss ON DELETE SET DEFAULT); INSERT INTO badge VALUES (5, 1);
	CREATE TABLE strict (id int, boss int REFERENCES boss);
	CREATE TABLE part (id int, v int) PARTITION BY LIST (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1); CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
	INSERT INTO part VALUES (1, 1), (2, 2);
	CREATE TABLE animal (id int); CREATE TABLE dog (breed text) INHERITS (animal); INSERT INTO dog VALUES (1, 'x');
	CREATE VIEW part_of AS SELECT id, name FROM plain WHERE id > 0; CREATE VIEW fewer AS SELECT id, name FROM part_of WHERE id < 9;
	CREATE VIEW joined AS SELECT p.id, t.n FROM plain p, tally t;
	CREATE MATERIALIZED VIEW mat AS SELECT count(*) AS n FROM plain;
	CREATE FUNCTION writer() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (what) VALUES ('w'); RETURN 1; END $$;
	CREATE FUNCTION dynamic() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'INSERT INTO log (what) VALUES (''w'')'; RETURN 1; END $$;
	CREATE FUNCTION tame(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
	CREATE FUNCTION opaque() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE 'INSERT INTO log (what) VALUES ($1)' USING TG_OP; RETURN NEW; END $$;
	CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at := now(); RETURN NEW; END $$;
	CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO log (what) VALUES (TG_OP); IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
	CREATE FUNCTION audit_stmt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (what) VALUES (TG_OP); RETURN NULL; END $$;
`

type writeCase struct{ name, setup, query, want string }

// trigger gives the setup of a trigger on plain with a body.
func trigger(body string) string {
	return "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $f$ " + body +
		" $f$; CREATE TRIGGER t AFTER INSERT OR UPDATE OR DELETE ON plain FOR EACH ROW EXECUTE FUNCTION f();"
}

const insertPlain = "INSERT INTO plain (id, name) VALUES (3, 'c')"

// Each wants the relations, or * for all of them.
var writeCases = []writeCase{
	{"insert", "", insertPlain, "plain"},
	{"upsert", "", "INSERT INTO plain (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = plain.n + 1 RETURNING id", "plain"},
	{"update", "", "UPDATE public.plain AS p SET n = 1 FROM tally WHERE p.id = 1", "plain"},
	{"delete with a comment", "", "DELETE /* x */ FROM ONLY plain WHERE id = 1", "plain"},
	{"insert from a read", "", "INSERT INTO log (what) SELECT name FROM plain", "log"},
	{"update of nothing", "", "UPDATE plain SET n = 1 WHERE false", "plain"},
	{"a table further back in the path", "SET LOCAL search_path = other, public", "INSERT INTO log (what) VALUES ('')", "log"},
	{"a table in front", "SET LOCAL search_path = other, public", "INSERT INTO plain (id) VALUES (1)", "other.plain"},
	{"a temporary table in front", "CREATE TEMP TABLE plain (id int)", "INSERT INTO plain (id) VALUES (1)", "pg_temp.plain"},
	{"a quoted name", `CREATE TABLE "Odd ""Name" (id int)`, `INSERT INTO "Odd ""Name" VALUES (1)`, `Odd "Name`},
	{"two ways at once", "", "WITH x AS (DELETE FROM tally RETURNING k) INSERT INTO log (what) SELECT k FROM x", "log tally"},
	{"a write in a read", "", "WITH x AS (UPDATE tally SET n = 1 RETURNING k) SELECT * FROM x", "tally"},
	{"explain analyze", "", "EXPLAIN ANALYZE UPDATE tally SET n = 1", "tally"},
	{"explain", "", "EXPLAIN UPDATE tally SET n = 1", ""},
	{"copy of a write", "", "COPY (UPDATE tally SET n = 1 RETURNING k) TO STDOUT", "tally"},
	{"copy", "", "COPY boss (id, v) FROM STDIN WITH (FORMAT csv, FORCE_NULL (v))", "boss"},
	{"refresh", "", "REFRESH MATERIALIZED VIEW mat", "mat"},

	{"a read", "", "SELECT * FROM plain", ""}, {"a lock", "", "SELECT * FROM plain FOR UPDATE", ""}, {"nothing", "", "--", ""},
	{"show", "", "SHOW work_mem", ""}, {"savepoint", "", "SAVEPOINT x", ""}, {"set", "", "SET LOCAL work_mem = '5MB'", ""},
	{"create table as", "", "CREATE TABLE made AS SELECT 1 AS a", "*"}, {"select into", "", "SELECT 1 AS a INTO made", "*"},
	{"do", "", "DO 'BEGIN UPDATE tally SET n = 1; END'", "*"}, {"several", "", "UPDATE tally SET n = 1; UPDATE plain SET n = 1", "*"},
	{"call", "CREATE PROCEDURE p() LANGUAGE sql AS 'UPDATE tally SET n = 1'", "CALL p()", "*"},
	{"execute", "DEALLOCATE ALL; PREPARE e AS UPDATE tally SET n = 1", "EXECUTE e", "*"},
	{"no such table", "", "INSERT INTO nowhere VALUES (1)", "*"},
	{"a system catalog", "", "UPDATE pg_class SET relname = relname WHERE false", "*"},

	{"cascade and set null and set default", "", "DELETE FROM boss WHERE id = 1", "badge boss clerk note"},
	{"cascade of an update", "", "UPDATE boss SET id = 7 WHERE id = 2", "boss clerk"},
	{"no cascade of an insert", "", "INSERT INTO boss VALUES (9, 9)", "boss"},
	{"a cycle of foreign keys", `CREATE TABLE c1 (id int PRIMARY KEY); CREATE TABLE c2 (id int PRIMARY KEY REFERENCES c1 ON DELETE CASCADE);
		ALTER TABLE c1 ADD r int REFERENCES c2 ON DELETE SET NULL; INSERT INTO c1 VALUES (1); INSERT INTO c2 VALUES (1)`,
		"DELETE FROM c1", "c1 c2"},
	{"a foreign key to itself", `CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE); INSERT INTO tree VALUES (1, NULL), (2, 1)`,
		"DELETE FROM tree WHERE id = 1", "tree"},
	{"a partitioned table refers", `CREATE TABLE pr (id int, boss int REFERENCES boss ON DELETE CASCADE) PARTITION BY LIST (id);
		CREATE TABLE pr_1 PARTITION OF pr FOR VALUES IN (1); INSERT INTO pr VALUES (1, 2)`, "DELETE FROM boss WHERE id = 2", "badge boss clerk note pr pr_1"},
	{"a partitioned table is referred to", `CREATE TABLE pk (id int PRIMARY KEY) PARTITION BY LIST (id); CREATE TABLE pk_1 PARTITION OF pk FOR VALUES IN (1);
		CREATE TABLE ref (id int REFERENCES pk ON DELETE CASCADE); INSERT INTO pk VALUES (1); INSERT INTO ref VALUES (1)`, "DELETE FROM pk_1", "pk pk_1 ref"},
	{"truncate", "", "TRUNCATE tally", "tally"},
	{"truncate cascade", "", "TRUNCATE boss CASCADE", "badge boss clerk note strict"},
	{"truncate only", "", "TRUNCATE ONLY animal RESTART IDENTITY", "animal dog"},

	{"a partitioned table", "", "INSERT INTO part VALUES (1, 5)", "part part_1 part_2"},
	{"a partition", "", "UPDATE part_1 SET v = 9", "part part_1 part_2"},
	{"a row that moves", "", "UPDATE part SET id = 2 WHERE id = 1", "part part_1 part_2"},
	{"a parent", "", "UPDATE animal SET id = 2", "animal dog"}, {"a child", "", "DELETE FROM dog", "animal dog"},
	{"a row that moves fires what a delete fires", "CREATE TRIGGER t AFTER DELETE ON part_1 FOR EACH ROW EXECUTE FUNCTION audit()",
		"UPDATE part SET id = 2 WHERE id = 1", "log part part_1 part_2"},
	{"a trigger of a partitioned table, by its partition", "CREATE TRIGGER t AFTER UPDATE ON part FOR EACH ROW EXECUTE FUNCTION audit()",
		"UPDATE part_1 SET v = 3", "log part part_1 part_2"},
	{"a trigger of a sibling", "CREATE TRIGGER t AFTER UPDATE ON part_2 FOR EACH ROW EXECUTE FUNCTION opaque()",
		"UPDATE part_1 SET v = 3", "part part_1 part_2"},
	{"a trigger of a child", "CREATE TRIGGER t AFTER UPDATE ON dog FOR EACH ROW EXECUTE FUNCTION opaque()", "UPDATE animal SET id = 2", "*"},

	{"a view", "", "UPDATE part_of SET name = 'z'", "part_of plain"}, {"a view over a view", "", "DELETE FROM fewer WHERE id = 1", "fewer part_of plain"},
	{"a view with INSTEAD OF", `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE tally SET n = NEW.n; RETURN NEW; END $$;
		CREATE TRIGGER t INSTEAD OF UPDATE ON joined FOR EACH ROW EXECUTE FUNCTION f()`, "UPDATE joined SET n = 5 WHERE id = 1", "joined tally"},
	{"a view that calls", "CREATE VIEW calls AS SELECT id, name FROM plain WHERE dynamic() > 0", "UPDATE calls SET name = 'q'", "*"},
	{"a view with a rule", "CREATE RULE r AS ON INSERT TO joined DO INSTEAD INSERT INTO log (what) VALUES ('r')", "INSERT INTO joined VALUES (1, 2)",
		"joined log plain tally"},
	{"a rule", "CREATE RULE r AS ON UPDATE TO tally DO ALSO INSERT INTO log (what) VALUES (NEW.k)", "UPDATE tally SET n = 1", "log tally"},
	{"a rule of another event", "CREATE RULE r AS ON UPDATE TO tally DO ALSO INSERT INTO log (what) VALUES (NEW.k)", "DELETE FROM tally", "tally"},
	{"a rule that calls", "CREATE RULE r AS ON UPDATE TO tally DO ALSO SELECT dynamic()", "UPDATE tally SET n = 1", "*"},
	{"a rule that deletes and cascades", "CREATE RULE r AS ON UPDATE TO tally DO ALSO DELETE FROM boss WHERE id = NEW.n", "UPDATE tally SET n = 1",
		"badge boss clerk note tally"},
	{"a view read on the way", "CREATE VIEW w AS SELECT writer() AS n", "INSERT INTO tally SELECT 'w', n FROM w", "log tally"},
}

var writeCallCases = []writeCase{
	{"a trigger that sets a column", "CREATE TRIGGER t BEFORE UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION touch()", "UPDATE plain SET n = 2", "plain"},
	{"a trigger that writes", "CREATE TRIGGER t AFTER UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION audit()", "UPDATE plain SET n = 2", "log plain"},
	{"a trigger of another event", "CREATE TRIGGER t AFTER DELETE ON plain FOR EACH ROW EXECUTE FUNCTION opaque()", "UPDATE plain SET n = 2", "plain"},
	{"a disabled trigger", `CREATE TRIGGER t AFTER UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION opaque(); ALTER TABLE plain DISABLE TRIGGER t`,
		"UPDATE plain SET n = 2", "plain"},
	{"a statement trigger", "CREATE TRIGGER t AFTER INSERT ON plain FOR EACH STATEMENT EXECUTE FUNCTION audit_stmt()", insertPlain, "log plain"},
	{"a truncate trigger", "CREATE TRIGGER t AFTER TRUNCATE ON plain FOR EACH STATEMENT EXECUTE FUNCTION audit_stmt()", "TRUNCATE plain", "log plain"},
	{"a trigger that can't be read", "CREATE TRIGGER t AFTER UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION opaque()", "UPDATE plain SET n = 2", "*"},
	{"a trigger behind a cascade", "CREATE TRIGGER t AFTER DELETE ON clerk FOR EACH ROW EXECUTE FUNCTION audit()", "DELETE FROM boss WHERE id = 1",
		"badge boss clerk log note"},
	{"a trigger behind a trigger", trigger("BEGIN UPDATE tally SET n = n + 1; RETURN NEW; END") +
		"CREATE TRIGGER t AFTER UPDATE ON tally FOR EACH ROW EXECUTE FUNCTION audit()", insertPlain, "log plain tally"},
	{"a trigger that deletes what others refer to", trigger("BEGIN DELETE FROM boss WHERE id = 1; RETURN NULL; END"), insertPlain, "badge boss clerk note plain"},
	{"a deferred trigger", `CREATE CONSTRAINT TRIGGER t AFTER UPDATE ON plain DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit()`,
		"UPDATE plain SET n = 2", "log plain"},
	{"a condition that calls", `CREATE TRIGGER t BEFORE UPDATE ON plain FOR EACH ROW WHEN (dynamic() > 0) EXECUTE FUNCTION touch()`, "UPDATE plain SET n = 2", "*"},
	{"a trigger of the server's", `ALTER TABLE plain ADD v tsvector; CREATE TRIGGER t BEFORE UPDATE ON plain FOR EACH ROW
		EXECUTE FUNCTION tsvector_update_trigger(v, 'pg_catalog.simple', name)`, "UPDATE plain SET n = 2", "plain"},
	{"a trigger that calls a writer", trigger("BEGIN PERFORM writer(); RETURN NULL; END"), insertPlain, "log plain"},
	{"a trigger that calls what can't be read", trigger("BEGIN PERFORM dynamic(); RETURN NULL; END"), insertPlain, "*"},
	{"a trigger with much of PL/pgSQL in it", trigger(`<<outer>> DECLARE
			c int := 1; k CONSTANT int NOT NULL = 1; v plain.name%TYPE; r tally%ROWTYPE; s text DEFAULT 'it''s; EXECUTE'; a int[] := ARRAY[1, 2]; x record;
		BEGIN -- EXECUTE 'x';
			SELECT * INTO STRICT r FROM tally WHERE tally.k = 'x'; /* ; */ v := (SELECT count(*) FROM animal);
			IF r.n > 0 AND NEW.id IS NULL THEN NULL; ELSIF v = '' THEN RAISE NOTICE 'a; %', v USING hint = 'h'; ELSE s = s || ';'; END IF;
			FOR i IN REVERSE 3..1 BY 1 LOOP CONTINUE WHEN i = 2; a[1] := i; END LOOP;
			FOR x IN SELECT tally.k FROM tally LOOP UPDATE tally SET n = n + 1 WHERE tally.k = x.k; EXIT outer WHEN false; END LOOP;
			FOREACH c IN ARRAY a LOOP INSERT INTO log (what) VALUES (c::text); END LOOP;
			WHILE false LOOP NULL; END LOOP;
			CASE v WHEN 'q' THEN NULL; WHEN 'a', 'b' THEN RETURN NULL; ELSE NULL; END CASE;
			BEGIN INSERT INTO dog VALUES (1, E'a\'b') RETURNING id INTO r.n; EXCEPTION WHEN unique_violation OR others THEN RAISE; END;
			GET DIAGNOSTICS c = ROW_COUNT; ASSERT c > 0, 'none'; PERFORM pg_notify('x', $$;$$);
			RETURN NEW; END outer`), "DELETE FROM plain WHERE id = 1", "animal dog log plain tally"},
	{"a trigger that executes in a branch", trigger("BEGIN IF false THEN EXECUTE 'x'; END IF; RETURN NULL; END"), insertPlain, "*"},
	{"a trigger with a cursor", trigger("DECLARE c CURSOR FOR SELECT 1; BEGIN OPEN c; RETURN NULL; END"), insertPlain, "*"},
	{"a trigger that sets the path", trigger("BEGIN PERFORM set_config('search_path', 'hidden', true); INSERT INTO log VALUES (''); RETURN NULL; END"), insertPlain, "*"},
	{"a trigger with a path of its own", trigger("BEGIN INSERT INTO log (what) VALUES ('h'); RETURN NULL; END") +
		"ALTER FUNCTION f() SET search_path = hidden", insertPlain, "hidden.log log plain"},
	{"a trigger within a function with a path", trigger("BEGIN UPDATE other.plain SET id = 1; INSERT INTO other.plain VALUES (1); RETURN NULL; END") +
		`ALTER FUNCTION f() SET search_path = hidden; CREATE TRIGGER t AFTER INSERT ON other.plain FOR EACH ROW EXECUTE FUNCTION audit()`,
		insertPlain, "hidden.log log other.plain plain"},
	{"a transition table", `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (what) SELECT name FROM fresh; RETURN NULL; END $$;
		CREATE TRIGGER t AFTER INSERT ON plain REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION f()`, insertPlain, "log plain"},
	{"a trigger that writes to what is missing", trigger("BEGIN IF false THEN INSERT INTO gone VALUES (1); END IF; RETURN NULL; END"), insertPlain, "*"},

	{"a default that writes", "ALTER TABLE tally ALTER n SET DEFAULT writer()", "INSERT INTO tally (k) VALUES ('d')", "log tally"},
	{"a default that can't be read", "ALTER TABLE tally ALTER n SET DEFAULT dynamic()", "INSERT INTO tally (k) VALUES ('d')", "*"},
	{"a default that a delete leaves alone", "ALTER TABLE tally ALTER n SET DEFAULT dynamic()", "DELETE FROM tally", "tally"},
	{"a default of the server's", "CREATE TABLE d (id serial, u uuid DEFAULT gen_random_uuid(), at timestamptz DEFAULT clock_timestamp(), r float DEFAULT random())",
		"INSERT INTO d DEFAULT VALUES", "d"},
	{"a default of the server's that writes", "ALTER TABLE tally ALTER n SET DEFAULT lo_create(0)::int8::int", "INSERT INTO tally (k) VALUES ('d')", "*"},
	{"a generated column", "ALTER TABLE tally ADD g int GENERATED ALWAYS AS (tame(n)) STORED", "UPDATE tally SET n = 4", "tally"},
	{"an index expression", "CREATE INDEX ON tally (tame(n))", "UPDATE tally SET n = 4", "tally"},
	{"an index expression that writes", `CREATE FUNCTION liar(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.sure(); END';
		CREATE FUNCTION sure() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.log (what) VALUES (1); RETURN 1; END';
		CREATE INDEX ON tally (liar(n))`, "UPDATE tally SET n = 4", "log tally"},
	{"a check", "ALTER TABLE tally ADD CHECK (dynamic() > 0)", "UPDATE tally SET n = 4", "*"},
	{"a check of a partition", "ALTER TABLE part_2 ADD CHECK (dynamic() > 0)", "INSERT INTO part VALUES (2, 4)", "*"},
	{"a domain", "CREATE DOMAIN dom AS int CHECK (value + writer() > 0); CREATE TABLE h (n dom)", "INSERT INTO h VALUES (4)", "h log"},
	{"a domain within", `CREATE DOMAIN dom AS int CHECK (dynamic() > 0); CREATE TYPE pair AS (a dom); CREATE TABLE h (p pair[])`,
		"INSERT INTO h VALUES (NULL)", "*"},
	{"a domain in the text", "CREATE DOMAIN dom AS int CHECK (dynamic() > 0)", "UPDATE tally SET n = 4::dom", "*"},
	{"a domain that is called", "CREATE DOMAIN dom AS int CHECK (dynamic() > 0)", "UPDATE tally SET n = dom(4)", "*"},
	{"a domain elsewhere", "CREATE DOMAIN dom AS int CHECK (dynamic() > 0)", "UPDATE tally SET n = 4", "tally"},
	{"a policy", `ALTER TABLE tally ENABLE ROW LEVEL SECURITY; ALTER TABLE tally FORCE ROW LEVEL SECURITY;
		CREATE POLICY p ON tally USING (dynamic() > 0)`, "UPDATE tally SET n = 4", "*"},
	{"a policy of what is read", `ALTER TABLE animal ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON animal USING (id > dynamic())`,
		"INSERT INTO log (what) SELECT id FROM animal", "*"},
	{"a policy that reads", `ALTER TABLE tally ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON tally USING (n IN (SELECT id FROM animal))`,
		"UPDATE tally SET n = 4", "tally"},

	{"a call that writes", "", "UPDATE tally SET n = writer()", "log tally"}, {"a call that can't be read", "", "UPDATE tally SET n = public.dynamic()", "*"},
	{"a call that writes nothing", "", "UPDATE tally SET n = tame(n) WHERE lower(k) = 'x' AND coalesce(n, 0) = 0 AND extract(year FROM now()) > 0", "tally"},
	{"a call of an overload", "CREATE FUNCTION lower(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN dynamic(); END'", "UPDATE tally SET n = lower(n)", "*"},
	{"a call in attribute notation", "CREATE FUNCTION size(tally) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN dynamic(); END'",
		"UPDATE tally SET n = tally.size", "*"},
	{"a call with a default that writes", "CREATE FUNCTION f(int DEFAULT writer()) RETURNS int LANGUAGE sql AS 'SELECT $1'", "UPDATE tally SET n = f()", "log tally"},
	{"a call that writes in SQL", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ DELETE FROM dog; INSERT INTO log (what) VALUES (';') RETURNING 1 $$",
		"UPDATE tally SET n = f()", "animal dog log tally"},
	{"a user's aggregate", "CREATE AGGREGATE agg(int) (sfunc = int4pl, stype = int)", "UPDATE tally SET n = (SELECT agg(id) FROM plain)", "*"},
	{"recursion", "CREATE FUNCTION f(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN IF $1 = 0 THEN RETURN 0; END IF; RETURN f($1 - 1); END'", "UPDATE tally SET n = f(2)", "tally"},
	{"query_to_xml", "", "INSERT INTO log (what) SELECT query_to_xml('SELECT writer()', false, false, '')::text", "*"},
	{"set_config", "", "INSERT INTO log (what) SELECT set_config('search_path', 'other', true)", "*"},
	{"an operator", `CREATE FUNCTION add(int, text) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN writer(); END';
		CREATE OPERATOR + (leftarg = int, rightarg = text, procedure = add)`, "UPDATE tally SET n = n + '1'::text", "log tally"},
	{"a cast on assignment", `CREATE TYPE odd AS (a int); CREATE FUNCTION odd2int(odd) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN dynamic(); END';
		CREATE CAST (odd AS int) WITH FUNCTION odd2int(odd) AS ASSIGNMENT`, "UPDATE tally SET n = row(1)::odd", "*"},
	{"a refresh that calls", "CREATE MATERIALIZED VIEW m AS SELECT writer() AS n WITH NO DATA", "REFRESH MATERIALIZED VIEW m", "hidden.log log m"},
	{"a foreign table", `CREATE FOREIGN DATA WRAPPER fdw; CREATE SERVER far FOREIGN DATA WRAPPER fdw; CREATE FOREIGN TABLE ft (id int) SERVER far`,
		"INSERT INTO ft VALUES (1)", "*"},
	{"a foreign partition", `CREATE FOREIGN DATA WRAPPER fdw; CREATE SERVER far FOREIGN DATA WRAPPER fdw;
		CREATE FOREIGN TABLE part_3 PARTITION OF part FOR VALUES IN (3) SERVER far`, "UPDATE part SET v = 1 WHERE id = 1", "*"},
	{"a foreign table that is read", `CREATE FOREIGN DATA WRAPPER fdw; CREATE SERVER far FOREIGN DATA WRAPPER fdw; CREATE FOREIGN TABLE ft (id int) SERVER far`,
		"INSERT INTO log (what) SELECT id FROM ft", "*"},
	{"a catalog of the user's own", `CREATE SCHEMA evil; CREATE TABLE evil.pg_class (oid oid, relname name);
		CREATE FUNCTION evil.eq(name, name) RETURNS bool LANGUAGE sql AS 'SELECT false';
		CREATE OPERATOR evil.= (leftarg = name, rightarg = name, procedure = evil.eq);
		CREATE FUNCTION evil.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT NULL::text';
		SET LOCAL search_path = evil, pg_catalog, public`, "DELETE FROM boss WHERE id = 1", "badge boss clerk note"},
}

// Every way a write takes. What the server then really writes is held against
// what was said before.
func TestWrites(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, writesSchema)
	for _, c := range slices.Concat(writeCases, writeCallCases) {
		t.Run(c.name, func(t *testing.T) {
			run(t, pc, "BEGIN")
			defer run(t, pc, "ROLLBACK")
			run(t, pc, c.setup)
			w, err := Writes(context.Background(), pc, sqlscan.Scan(c.query))
			if err != nil {
				t.Fatal(err)
			}
			if got := showWrites(w); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s\n%q", c.query, got, c.want, w.Reasons)
			}
			if w.All != (len(w.Reasons) > 0) || w.All && len(w.Relations) > 0 {
				t.Errorf("%+v", w)
			}
			for _, rel := range reallyWritten(t, pc, c.query) {
				if !w.All && !slices.ContainsFunc(w.Relations, func(r Relation) bool { return r.Schema+"."+r.Name == rel }) {
					t.Errorf("%s wrote %s, said %s", c.query, rel, showWrites(w))
				}
			}
		})
	}
}

// Asking leaves the session as it was.
func TestWritesLeavesNothing(t *testing.T) {
	pc := dial(t, pgtest.DSN(t))
	run(t, pc, writesSchema+"SET jit = on")
	state := func() [][]string {
		return rows(t, pc, `SELECT current_setting('jit'), current_setting('search_path'), (SELECT count(*)::text FROM pg_prepared_statements),
			(SELECT count(*)::text FROM pg_cursors)`)
	}
	before := state()
	if _, err := Writes(context.Background(), pc, sqlscan.Scan("DELETE FROM boss")); err != nil {
		t.Fatal(err)
	}
	if after := state(); !slices.EqualFunc(before, after, slices.Equal) {
		t.Errorf("%v, before %v", after, before)
	}
	if pc.TxStatus() != 'I' {
		t.Errorf("in a transaction: %c", pc.TxStatus())
	}
}

func showWrites(w WriteSet) string {
	if w.All {
		return "*"
	}
	var list []string
	for _, r := range w.Relations {
		name := r.Name
		switch {
		case strings.HasPrefix(r.Schema, "pg_temp"):
			name = "pg_temp." + name
		case r.Schema != "public":
			name = r.Schema + "." + name
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// reallyWritten runs a statement and gives the tables that the server counted
// writes on, or whose rows are others than before.
func reallyWritten(t *testing.T, pc *pgconn.PgConn, query string) []string {
	t.Helper()
	before := tableStates(t, pc)
	run(t, pc, "SAVEPOINT statement")
	var err error
	if strings.HasPrefix(query, "COPY") && strings.Contains(query, "STDIN") {
		_, err = pc.CopyFrom(context.Background(), strings.NewReader("8,8\n"), query)
	} else {
		err = runErr(pc, query)
	}
	if err == nil {
		err = runErr(pc, "SET CONSTRAINTS ALL IMMEDIATE")
	}
	if err != nil {
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || !slices.Contains([]string{"42P01", "55000"}, refused.Code) {
			t.Errorf("%s: %v", query, err) // it shows nothing
		}
		run(t, pc, "ROLLBACK TO statement")
	}
	return changed(before, tableStates(t, pc))
}

// changed gives the tables whose state is another than before.
func changed(before, after map[string]string) (list []string) {
	for rel, state := range after {
		if old, there := before[rel]; there && old != state {
			list = append(list, rel)
		}
	}
	return list
}

func tableStates(t *testing.T, pc *pgconn.PgConn) map[string]string {
	t.Helper()
	states, all := make(map[string]string), ""
	for _, r := range rows(t, pc, `SELECT n.nspname || '.' || c.relname, format('%I.%I', n.nspname, c.relname),
			concat_ws(' ', s.n_tup_ins, s.n_tup_upd, s.n_tup_del), c.relkind::text
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		LEFT JOIN pg_catalog.pg_stat_xact_all_tables s ON s.relid OPERATOR(pg_catalog.=) c.oid
		WHERE c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND c.relkind::pg_catalog.text OPERATOR(pg_catalog.=) ANY ('{r,m}') AND n.nspname::pg_catalog.text OPERATOR(pg_catalog.!~) '^pg_toast'
		 AND n.nspname::pg_catalog.text OPERATOR(pg_catalog.<>) 'evil' AND c.relispopulated`) {
		states[r[0]] = r[2] + " "
		if all != "" {
			all += " UNION ALL "
		}
		all += "SELECT '" + strings.ReplaceAll(r[0], "'", "''") + "', pg_catalog.array_agg(x::pg_catalog.text)::pg_catalog.text FROM ONLY " + r[1] + " x"
	}
	for _, r := range rows(t, pc, all) {
		states[r[0]] += r[1]
	}
	return states
}

// The median is what a cache pays once for a text, on a warm connection.
func BenchmarkWrites(b *testing.B) {
	pc := dial(b, pgtest.DSN(b))
	run(b, pc, writesSchema+"CREATE TRIGGER t AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION audit()")
	for _, query := range []string{
		"INSERT INTO log (what) VALUES ($1)", "UPDATE tally SET n = n + 1 WHERE k = $1", "DELETE FROM boss WHERE id = $1", "INSERT INTO plain (id) VALUES ($1)",
	} {
		b.Run(query, func(b *testing.B) {
			st, took := sqlscan.Scan(query), []time.Duration(nil)
			for b.Loop() {
				start := time.Now()
				if w, err := Writes(context.Background(), pc, st); err != nil || w.All {
					b.Fatal(w, err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
		})
	}
}
