package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// baseSchema is what every case finds.
const baseSchema = `
	CREATE SCHEMA app; CREATE SCHEMA other;
	CREATE TABLE item (id int PRIMARY KEY, name text, code varchar(8), price numeric(10,2), w float8, made date, at timestamptz,
		ts timestamp, t time, iv interval, tags text[], doc jsonb, u uuid, span daterange, "now" int, gone int);
	ALTER TABLE item DROP COLUMN gone;
	INSERT INTO item (id, name) VALUES (1, 'a'), (2, 'b');
	CREATE TABLE sale (id int, item_id int, qty int, at timestamptz);
	CREATE TABLE "Odd ""Name" (id int, "select" int);
	CREATE TABLE app.hidden (id int);
	CREATE UNLOGGED TABLE quick (id int);
	CREATE TABLE part (id int, v int) PARTITION BY LIST (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1) PARTITION BY LIST (v);
	CREATE TABLE part_1_1 PARTITION OF part_1 FOR VALUES IN (1);
	CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
	CREATE TABLE animal (id int); CREATE TABLE dog (breed text) INHERITS (animal); CREATE TABLE pup (age int) INHERITS (dog);
	CREATE TABLE made_up (id int, twice int GENERATED ALWAYS AS (id * 2) STORED);
	CREATE TABLE secret (id int); ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
	CREATE SEQUENCE seq;
	CREATE VIEW plain_view AS SELECT id FROM item;
	CREATE MATERIALIZED VIEW mat AS SELECT id FROM item;
	CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE feels (id int, m mood);
	CREATE DOMAIN tame AS text; CREATE TABLE tamed (id int, d tame);
	CREATE DOMAIN fussy AS text CHECK (value <> ''); CREATE TABLE fussed (id int, d fussy, ds fussy[]);
	CREATE TYPE pair AS (a int, b text); CREATE TABLE paired (id int, p pair);
	CREATE TYPE span AS RANGE (subtype = int4); CREATE TABLE spanned (id int, s span);
	CREATE TABLE clocked (id int, tt timetz); CREATE TABLE regged (id int, r regclass);
	CREATE FOREIGN DATA WRAPPER fdw; CREATE SERVER far FOREIGN DATA WRAPPER fdw; CREATE FOREIGN TABLE far_item (id int) SERVER far;
	CREATE FUNCTION vol(int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT $1';
	CREATE FUNCTION pure(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
	CREATE FUNCTION of_item(item) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION of_text(text) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION of_any(anyelement) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION of_record(record) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
	CREATE FUNCTION of_default(item, int DEFAULT 1) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION of_many(VARIADIC item[]) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION other.of_far(item) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
`

func dial(tb testing.TB, dsn string) *pgconn.PgConn {
	tb.Helper()
	pc, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { pc.Close(context.Background()) })
	return pc
}

// run runs several statements.
func run(tb testing.TB, pc *pgconn.PgConn, sql string) {
	tb.Helper()
	if err := runErr(pc, sql); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

func runErr(pc *pgconn.PgConn, sql string) error {
	_, err := pc.Exec(context.Background(), sql).ReadAll()
	return err
}

// ask asks about a text as the cache does: described first, then judged.
func ask(tb testing.TB, pc *pgconn.PgConn, text string) Verdict {
	tb.Helper()
	st := sqlscan.Scan(text)
	var params []uint32
	if st.Params > 0 {
		sd, err := pc.Prepare(context.Background(), "", text, nil)
		if err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		params = sd.ParamOIDs
	}
	v, err := Judge(context.Background(), pc, st, params)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

func codes(v Verdict) string {
	var list []string
	for _, r := range v.Reasons {
		if name := CodeName(r.Code); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func names(v Verdict) string {
	var list []string
	for _, r := range v.Relations {
		list = append(list, r.Schema+"."+r.Name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Judge asks the server about one statement, and keeps nothing.
func Judge(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, params []uint32) (Verdict, error) {
	f := NewFacts(Config{Temporary: true}, nil)
	now := func() time.Duration { return 0 }
	v, _, ok := f.Judge(st, params, 0, time.Hour)
	if ok {
		return v, nil
	}
	if err := f.AskAlone(ctx, pc, st, now, time.Hour); err != nil {
		return Verdict{}, err
	}
	v, _, ok = f.Judge(st, params, 0, time.Hour)
	if !ok {
		return Verdict{}, errors.New("catalog: the server did not answer in full")
	}
	return v, nil
}
