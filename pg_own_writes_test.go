package cachedpgx_test

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
)

const pgShopRows = `
	INSERT INTO owner SELECT i, 'owner ' || i FROM generate_series(0, 2) i;
	INSERT INTO item SELECT i, 'item ' || i, 10, i % 3 FROM generate_series(1, 9) i;
	INSERT INTO part SELECT i * 15, 1 FROM generate_series(1, 12) i;`

const pgShop = `
	CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, qty int NOT NULL CHECK (qty >= 0), owner int);
	CREATE TABLE owner (id int PRIMARY KEY, name text NOT NULL);
	ALTER TABLE item ADD FOREIGN KEY (owner) REFERENCES owner ON DELETE CASCADE ON UPDATE CASCADE;
	CREATE TABLE log (id int GENERATED ALWAYS AS IDENTITY, what text);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN UPDATE item SET qty = qty + 1 WHERE id = 9; RETURN NEW; END$$;
	CREATE TRIGGER log_note AFTER INSERT ON log FOR EACH ROW EXECUTE FUNCTION note();
	CREATE FUNCTION bump(i int) RETURNS int LANGUAGE sql AS 'UPDATE item SET qty = qty + 1 WHERE id = i RETURNING qty';
	CREATE PROCEDURE bump_all() LANGUAGE sql AS 'UPDATE item SET qty = qty + 1';
	CREATE VIEW cheap AS SELECT * FROM item;
	CREATE TABLE ruled (id int);
	CREATE RULE ruled_item AS ON INSERT TO ruled DO INSTEAD UPDATE item SET qty = qty + 1 WHERE id = NEW.id;
	CREATE TABLE part (id int, qty int) PARTITION BY RANGE (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
	CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (100) TO (200);
	CREATE TABLE heir (more text) INHERITS (log); ALTER TABLE heir ALTER id SET DEFAULT 50;
	CREATE SCHEMA other;
	CREATE TABLE other.item AS SELECT 77 AS id, 'another' AS name, 1 AS qty, 0 AS owner;` + pgShopRows

// pgShopReads are the reads whose answers a write of this file may change.
var pgShopReads = []pgCase{
	{"SELECT id, name, qty, owner FROM item ORDER BY id", nil},
	{"SELECT * FROM item ORDER BY id", nil},
	{"SELECT qty FROM public.item WHERE id = $1", []any{1}},
	{"SELECT count(*), sum(qty), max(id) FROM item", nil},
	{"SELECT i.id, i.qty, o.name FROM item i JOIN owner o ON o.id = i.owner ORDER BY i.id", nil},
	{"SELECT o.id, count(*) FROM owner o LEFT JOIN item i ON i.owner = o.id GROUP BY o.id ORDER BY o.id", nil},
	{"SELECT id, qty FROM item WHERE id = 1000", nil}, // nothing there, until a write puts it there
	{"SELECT id FROM item WHERE name = $1", []any{"new"}},
	{"SELECT o.name FROM owner o WHERE o.id IN (SELECT owner FROM item WHERE qty > 10) ORDER BY o.name", nil},
	{"WITH rich AS (SELECT id FROM item WHERE qty > 10) SELECT count(*) FROM rich", nil},
	{"SELECT id, qty FROM part ORDER BY id", nil},
	{"SELECT sum(qty) FROM part", nil},
	{"SELECT id, what FROM log ORDER BY id", nil},
}

type pgWrite struct {
	name string
	do   func(e *pgEnv) error
}

// pgExec is a write by one Exec of the handle.
func pgExec(text string, args ...any) pgWrite {
	return pgWrite{text, func(e *pgEnv) error { _, err := e.db.ExecContext(e.ctx, text, args...); return err }}
}

// pgQuery is a write by one Query of the handle, its rows read to the end.
func pgQuery(text string, args ...any) pgWrite {
	return pgWrite{"Query: " + text, func(e *pgEnv) error { return pgAskErr(e.ctx, e.db, text, args...) }}
}

// pgTexts is a write by several texts on one connection.
func pgTexts(texts ...string) pgWrite {
	return pgWrite{fmt.Sprintf("%q", texts), func(e *pgEnv) error {
		conn, err := e.db.Conn(e.ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		for _, text := range texts {
			if _, err := conn.ExecContext(e.ctx, text); err != nil {
				return err
			}
		}
		return nil
	}}
}

func pgInTx(name string, end func(*sql.Tx) error, texts ...string) pgWrite {
	return pgWrite{fmt.Sprintf("%s: %q", name, texts), func(e *pgEnv) error {
		tx := e.begin(e.db)
		for _, text := range texts {
			if _, err := tx.ExecContext(e.ctx, text); err != nil {
				return err
			}
		}
		return end(tx)
	}}
}

func pgShopWrites() []pgWrite {
	const bump = "UPDATE item SET qty = qty + 1"
	commit := (*sql.Tx).Commit
	return []pgWrite{
		pgExec("INSERT INTO item VALUES (1000, 'new', 11, 1)"),
		pgExec("INSERT INTO item VALUES ($1, $2, $3, $4)", 1000, "new", 11, 1),
		pgExec("INSERT INTO item VALUES (1, 'x', 5, 1) ON CONFLICT (id) DO UPDATE SET qty = 99"),
		pgExec(bump),
		pgExec("update \"item\" set qty=12 where id=$1", 1),
		pgExec("UPDATE ONLY public.item AS i SET qty = 13"),
		pgExec("/* a comment */ " + bump + " -- another"),
		pgExec("DELETE FROM item WHERE id = 1"),
		pgExec("DELETE FROM item USING owner WHERE owner.id = item.owner AND owner.name = 'owner 1'"),
		pgExec("TRUNCATE item"),
		pgExec("TRUNCATE owner CASCADE"),
		pgExec("WITH w AS (UPDATE item SET qty = 20 RETURNING id) SELECT count(*) FROM w"),
		pgExec("MERGE INTO item USING owner ON item.id = owner.id WHEN MATCHED THEN UPDATE SET qty = 33"),
		pgExec(bump + "; SELECT 1"),
		pgExec("SELECT 1; " + bump),
		pgExec("DO $$BEGIN UPDATE item SET qty = 44; END$$"),
		pgExec("SELECT bump(1)"),
		pgExec("CALL bump_all()"),
		pgExec("INSERT INTO log (what) VALUES ('trigger')"),
		pgExec("INSERT INTO heir (what) VALUES ('child')"),
		pgExec("INSERT INTO ruled VALUES (1)"),
		pgExec("DELETE FROM owner WHERE id = 1"),
		pgExec("UPDATE owner SET id = 11 WHERE id = 1"),
		pgExec("UPDATE cheap SET qty = 55"),
		pgExec("INSERT INTO part_2 VALUES (150, 9)"),
		pgExec("UPDATE part SET id = id + 100 WHERE id = 15"),
		pgExec("ALTER TABLE part DETACH PARTITION part_1"),
		pgExec("EXPLAIN ANALYZE " + bump),
		pgExec("COPY item FROM PROGRAM 'echo 1000,new,12,1' WITH (FORMAT csv)"),
		pgQuery("UPDATE item SET qty = qty + 1 RETURNING id, qty"),
		pgQuery("INSERT INTO item VALUES (1000, 'new', 11, 1) RETURNING id"),
		pgQuery("DELETE FROM item WHERE id < 4 RETURNING *"),
		pgQuery("WITH w AS (UPDATE item SET qty = 20 RETURNING id) SELECT id FROM w"),
		pgQuery("WITH w AS (DELETE FROM item WHERE id = 2 RETURNING id), r AS (SELECT 1) SELECT o.id FROM owner o"),
		pgQuery("SELECT bump(1)"),
		pgQuery("SELECT id FROM item WHERE bump(id) > 0"),
		pgQuery("SELECT * FROM bump(1)"),
		pgQuery("EXPLAIN (ANALYZE) " + bump),
		{"QueryRow RETURNING", func(e *pgEnv) error {
			return e.db.QueryRowContext(e.ctx, bump+" RETURNING qty").Scan(new(int))
		}},
		{"RETURNING, closed after a row", func(e *pgEnv) error {
			rows, err := e.db.QueryContext(e.ctx, bump+" RETURNING qty")
			if err != nil {
				return err
			}
			rows.Next()
			return rows.Close()
		}},
		{"prepared Exec, twice", func(e *pgEnv) error {
			stmt, err := e.db.PrepareContext(e.ctx, "UPDATE item SET qty = qty + $1")
			if err != nil {
				return err
			}
			defer stmt.Close()
			_, err = stmt.ExecContext(e.ctx, 1)
			pgAsk(e.ctx, e.db, pgShopReads[0].text)
			pgAsk(e.ctx, e.db, pgShopReads[0].text)
			_, err2 := stmt.ExecContext(e.ctx, 5)
			return errors.Join(err, err2)
		}},
		{"prepared RETURNING", func(e *pgEnv) error {
			stmt, err := e.db.PrepareContext(e.ctx, "INSERT INTO item VALUES ($1, 'new', 12, 2) RETURNING id")
			if err != nil {
				return err
			}
			defer stmt.Close()
			return stmt.QueryRowContext(e.ctx, 1000).Scan(new(int))
		}},
		{"with caching off in its context", func(e *pgEnv) error {
			_, err := e.db.ExecContext(cachedpgx.WithoutCache(e.ctx), bump)
			return err
		}},
		{"with a hint that says off", func(e *pgEnv) error {
			_, err := e.db.ExecContext(e.ctx, "/* cachedpgx: off */ "+bump)
			return err
		}},
		{"with the cache off", func(e *pgEnv) error {
			e.cache.SetMode(cachedpgx.ModeOff)
			defer e.cache.SetMode(cachedpgx.ModeInherit)
			_, err := e.db.ExecContext(e.ctx, bump)
			return err
		}},
		{"marked", func(e *pgEnv) error {
			return pgAskErr(cachedpgx.WithTTL(e.ctx, 1<<40), e.db, bump+" RETURNING id")
		}},
		pgInTx("commit", commit, bump),
		pgInTx("two", commit, bump, "DELETE FROM item WHERE id = 1"),
		pgInTx("savepoint released", commit, "SAVEPOINT s", bump, "RELEASE s"),
		pgInTx("savepoint rolled back", commit, bump, "SAVEPOINT s", "DELETE FROM item", "ROLLBACK TO s"),
		pgInTx("committed by text", func(tx *sql.Tx) error { _ = tx.Commit(); return nil }, bump, "COMMIT"),
		pgInTx("cursor", commit, "DECLARE c CURSOR FOR SELECT * FROM item FOR UPDATE", "FETCH c", "UPDATE item SET qty = 66 WHERE CURRENT OF c"),
		{"tx.Stmt", func(e *pgEnv) error {
			stmt, err := e.db.PrepareContext(e.ctx, bump)
			if err != nil {
				return err
			}
			defer stmt.Close()
			tx := e.begin(e.db)
			_, err = tx.StmtContext(e.ctx, stmt).ExecContext(e.ctx)
			return errors.Join(err, tx.Commit())
		}},
		pgTexts("BEGIN", bump, "COMMIT"),
		pgTexts("START TRANSACTION; "+bump, "END"),
		pgTexts("PREPARE p AS "+bump, "EXECUTE p"),
		pgTexts("BEGIN", bump, "PREPARE TRANSACTION 'gid'", "COMMIT PREPARED 'gid'"),
		pgTexts("SET search_path = public", bump),
		{"COPY in Raw", func(e *pgEnv) error {
			conn, err := e.db.Conn(e.ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			e.raw(conn, func(pc *pgx.Conn) error {
				_, err := pc.CopyFrom(e.ctx, pgx.Identifier{"item"}, []string{"id", "name", "qty", "owner"},
					pgx.CopyFromRows([][]any{{1000, "new", 12, 1}}))
				return err
			})
			return nil
		}},
		// A text that fails after it has committed something.
		{"failed after a commit", func(e *pgEnv) error {
			if _, err := e.db.ExecContext(e.ctx, "BEGIN; "+bump+"; COMMIT; SELECT 1/0"); err == nil {
				return errors.New("no error")
			}
			return nil
		}},
		pgExec("SELECT id, 'new' AS name, 5 AS qty INTO made FROM item; ALTER TABLE item RENAME TO old; ALTER TABLE made RENAME TO item; ALTER TABLE item ADD owner int"),
		pgExec("ALTER TABLE item ADD COLUMN extra text DEFAULT 'x'"),
		pgExec("ALTER TABLE item DROP COLUMN owner CASCADE"),
		pgExec("DROP VIEW cheap; DROP RULE ruled_item ON ruled; ALTER TABLE item ALTER COLUMN qty TYPE bigint"),
		pgExec("ALTER TABLE item RENAME COLUMN qty TO amount"),
		pgExec("DROP TABLE item"),
		pgExec("DROP TABLE item CASCADE"),
		pgExec("DROP TABLE item CASCADE; CREATE TABLE item AS SELECT 1 AS id, 'made anew' AS name, 5 AS qty, 1 AS owner"),
		pgExec("ALTER TABLE item RENAME TO old; ALTER TABLE owner RENAME TO item"),
		pgExec("DROP TABLE other.item; ALTER TABLE item SET SCHEMA other"),
		pgExec("ALTER SCHEMA public RENAME TO private; ALTER SCHEMA other RENAME TO public"),
	}
}

// TestPGOwnWrites warms every read, writes in every way there is, and reads
// again: each answer is the server's. Kinds 5 and 12.
func TestPGOwnWrites(t *testing.T) {
	shared := newPG(t, pgShop)
	version, _ := pgServerOffers(t, shared.dsn)
	for i, w := range pgShopWrites() {
		t.Run(fmt.Sprintf("%02d %.60s", i, w.name), func(t *testing.T) {
			if strings.HasPrefix(w.name, "MERGE") && version < 15 {
				t.Skip("MERGE came with PostgreSQL 15")
			}
			var e *pgEnv
			if pgIsDDL.MatchString(w.name) {
				e = newPG(t, pgShop)
			} else {
				e = shared.on(t)
				e.must(e.plain, "TRUNCATE item, owner, log, heir, part RESTART IDENTITY CASCADE;"+pgShopRows)
				if err := e.cache.Flush(e.ctx); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range pgShopReads {
				e.warm(r.text, r.args...)
			}
			before := pgShopState(e)
			err := w.do(e)
			if err != nil && w.name != "DROP TABLE item" { // which fails: a view needs it
				t.Fatal(err)
			}
			answers := make([]pgAnswer, len(pgShopReads))
			for i, r := range pgShopReads {
				answers[i] = pgAsk(e.ctx, e.db, r.text, r.args...)
			}
			fresh := pgOpen(t, "pgx", e.dsn) // with no plans from before
			var after []pgAnswer
			for i, r := range pgShopReads {
				want := pgAsk(e.ctx, fresh, r.text, r.args...)
				after = append(after, want)
				if diff := pgDiff(want, answers[i]); diff != "" {
					t.Errorf("%s: %s", r.text, diff)
				}
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, r.text, r.args...)); diff != "" {
					t.Errorf("again: %s: %s", r.text, diff)
				}
			}
			if err == nil && fmt.Sprint(before) == fmt.Sprint(after) {
				t.Error("the write changed nothing that is read here")
			}
		})
	}
}

// pgIsDDL finds the writes that need a database or sessions of their own.
var pgIsDDL = regexp.MustCompile(`ALTER|DROP|INTO made|PREPARE p |SET search_path`)

func pgShopState(e *pgEnv) []pgAnswer {
	var all []pgAnswer
	for _, r := range pgShopReads {
		all = append(all, pgAsk(e.ctx, e.plain, r.text, r.args...))
	}
	return all
}

// TestPGShadowedTable creates a table earlier in the search_path than the one
// that was read. Kinds 1 and 5.
func TestPGShadowedTable(t *testing.T) {
	e := newPG(t, `CREATE SCHEMA first; CREATE TABLE public.item (id int); INSERT INTO public.item VALUES (1)`, "search_path=first,public")
	const text = "SELECT id FROM item WHERE id < $1"
	stmt, err := e.db.PrepareContext(e.ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	read := func(want string) {
		t.Helper()
		for range 2 {
			if got := e.one(e.db, text, 100); got != want {
				t.Errorf("direct: %s, want %s", got, want)
			}
			if got := pgAskStmt(e.ctx, stmt, 100); got.Err != "" || len(got.Rows) != 1 || got.Rows[0][0] != want {
				t.Errorf("prepared: %v, want %s", got, want)
			}
		}
	}
	read("int64(1)")
	e.must(e.db, "CREATE TABLE first.item AS SELECT 2 AS id")
	read("int64(2)")
	e.must(e.db, "DROP TABLE first.item")
	read("int64(1)")
	tx := e.begin(e.db)
	e.must(tx, "CREATE TABLE first.item AS SELECT 3 AS id")
	read("int64(1)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	read("int64(3)")
}

// TestPGRegisterThenLogIn inserts after "not found", in each way of inserting,
// on each key once. Kind 12.
func TestPGRegisterThenLogIn(t *testing.T) {
	e := newPG(t, "CREATE TABLE person (id int PRIMARY KEY, name text)")
	const text = "SELECT name FROM person WHERE id = $1"
	insert, err := e.db.PrepareContext(e.ctx, "INSERT INTO person VALUES ($1, 'x')")
	if err != nil {
		t.Fatal(err)
	}
	defer insert.Close()
	ways := []func(id int) error{
		func(id int) error {
			_, err := e.db.ExecContext(e.ctx, "INSERT INTO person VALUES ($1, 'x')", id)
			return err
		},
		func(id int) error { _, err := insert.ExecContext(e.ctx, id); return err },
		func(id int) error {
			return pgAskErr(e.ctx, e.db, "INSERT INTO person VALUES ($1, 'x') RETURNING id", id)
		},
		func(id int) error {
			tx := e.begin(e.db)
			e.must(tx, "INSERT INTO person VALUES ($1, 'x')", id)
			return tx.Commit()
		},
		func(id int) error {
			_, err := e.db.ExecContext(e.ctx, fmt.Sprintf("INSERT INTO person VALUES (%d, 'x'); SELECT 1", id))
			return err
		},
	}
	for id := range 100 {
		for range 2 {
			if err := e.db.QueryRowContext(e.ctx, text, id).Scan(new(string)); !errors.Is(err, sql.ErrNoRows) {
				t.Fatalf("person %d, before: %v", id, err)
			}
		}
		if err := ways[id%len(ways)](id); err != nil {
			t.Fatal(err)
		}
		if err := e.db.QueryRowContext(e.ctx, text, id).Scan(new(string)); err != nil {
			t.Fatalf("person %d, registered by way %d: %v", id, id%len(ways), err)
		}
	}
	if e.cache.Stats().NegativeHits == 0 {
		t.Error("no empty result was served from memory: this test proves less than it should")
	}
}
