package cachedpgx_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestStdlibReads scans what pgx's own tests scan, in each mode.
func TestStdlibReads(t *testing.T) {
	type read struct {
		name, text string
		args       []any
		dests      func() []any
	}
	m := pgtype.NewMap()
	into := func(makes ...func() any) func() []any {
		return func() (dests []any) {
			for _, m := range makes {
				dests = append(dests, m())
			}
			return dests
		}
	}
	str := func() any { return new(string) }
	raw := func() any { return new([]byte) }
	anyv := func() any { return new(any) }
	reads := []read{
		{"a bool and a text", "SELECT ok, name FROM item WHERE id = 1", nil, into(func() any { return new(bool) }, str)},
		{"bytes", "SELECT raw FROM item WHERE id = 1", nil, into(raw)},
		{"json as bytes", "SELECT js FROM item WHERE id = 1", nil, into(raw)},
		{"json as a RawMessage", "SELECT js FROM item WHERE id = 1", nil, into(func() any { return new(json.RawMessage) })},
		{"json as text and as anything", "SELECT js, jb, js, jb FROM item WHERE id = 1", nil, into(str, str, anyv, anyv)},
		{"json null, and NULL", "SELECT js, jb, NULL::json FROM item WHERE id = 2", nil, into(anyv, anyv, anyv)},
		{"NULL json into a RawMessage", "SELECT jb FROM item WHERE id = 3", nil, into(func() any { return new(json.RawMessage) })},
		{"NULL json into text", "SELECT jb FROM item WHERE id = 3", nil, into(str)},
		{"a list by pgx's scanner", "SELECT ia FROM item WHERE id = 1", nil, func() []any { a := []int64{9}; return []any{stdlibScanner{m.SQLScanner(&a), &a}} }},
		{"a NULL list by pgx's scanner", "SELECT ia FROM item WHERE id = 3", nil, func() []any { a := []int64{9}; return []any{stdlibScanner{m.SQLScanner(&a), &a}} }},
		{"an Array by pgx's scanner", "SELECT ia FROM item WHERE id = 1", nil, func() []any { var a pgtype.Array[int64]; return []any{stdlibScanner{m.SQLScanner(&a), &a}} }},
		{"a Range by pgx's scanner", "SELECT ra FROM item WHERE id = 1", nil, func() []any {
			var r pgtype.Range[pgtype.Int4]
			return []any{stdlibScanner{m.SQLScanner(&r), &r}}
		}},
		{"what database/sql has no type for", "SELECT ia, ra, pt, uid, addr, iv FROM item WHERE id = 1", nil, into(str, str, str, str, str, str)},
		{"a uuid into a NullString", "SELECT uid FROM item WHERE id = 1", nil, into(func() any { return new(sql.NullString) })},
		{"database/sql's nullable types", "SELECT ok, f8, name, id, tz, price, ok, f8, made FROM item WHERE id = 1", nil, into(
			func() any { return new(sql.NullBool) }, func() any { return new(sql.NullFloat64) }, func() any { return new(sql.NullString) }, func() any { return new(sql.NullInt64) }, func() any { return new(sql.NullTime) },
			func() any { return new(sql.NullFloat64) }, func() any { return new(sql.Null[bool]) }, func() any { return new(sql.Null[float32]) }, func() any { return new(sql.Null[time.Time]) })},
		{"NULLs into them", "SELECT ok, f8, ta, oi, tz FROM item WHERE id = 3", nil, into(
			func() any { return new(sql.NullBool) }, func() any { return new(sql.NullFloat64) }, func() any { return new(sql.NullString) }, func() any { return new(sql.NullInt64) }, func() any { return new(sql.NullTime) })},
		{"pgx's types", "SELECT id, name, price, made, tz, uid FROM item WHERE id = 1", nil, into(func() any { return new(pgtype.Int4) }, func() any { return new(pgtype.Text) },
			func() any { return new(pgtype.Numeric) }, func() any { return new(pgtype.Date) }, func() any { return new(pgtype.Timestamptz) }, func() any { return new(pgtype.UUID) })},
		{"pointers", "SELECT id, name, tz, ok, f8 FROM item WHERE id = 1", nil, into(func() any { return new(*int64) }, func() any { return new(**string) }, func() any { return new(*time.Time) }, func() any { return new(*bool) }, func() any { return new(*any) })},
		{"pointers and NULL", "SELECT oi, ta, tz, ok, f8 FROM item WHERE id = 3", nil, into(func() any { return new(int64(7)) }, func() any { return new(new("before")) }, func() any { return new(new(time.Unix(1, 0))) }, func() any { return new(new(true)) }, func() any { return new(any(1)) })},
		{"NULL into bytes", "SELECT raw, ta FROM item WHERE id = 3", nil, into(func() any { return new([]byte("before")) }, func() any { return new([]byte("before")) })},
		{"all kinds of integers", "SELECT id, id, id, id, id, id, id, id, id, id FROM item WHERE id = 2", nil, into(func() any { return new(int8) }, func() any { return new(int16) }, func() any { return new(int32) }, func() any { return new(int64) },
			func() any { return new(uint8) }, func() any { return new(uint16) }, func() any { return new(uint32) }, func() any { return new(uint64) }, func() any { return new(stdlibNamed) }, str)},
		{"a negative number into an unsigned", "SELECT id - 5 FROM item WHERE id = 1", nil, into(func() any { return new(uint32) })},
		{"too large", "SELECT 70000 FROM item WHERE id = 1", nil, into(func() any { return new(int16) })},
		{"core types", "SELECT name, f4, f8, ok, tz, at, made, oi FROM item WHERE id = 1", nil, into(str, func() any { return new(float32) }, func() any { return new(float64) }, func() any { return new(bool) },
			func() any { return new(time.Time) }, func() any { return new(time.Time) }, func() any { return new(time.Time) }, func() any { return new(uint32) })},
		{"infinities as anything", "SELECT f8, made, at, ra FROM item WHERE id = 2", nil, into(anyv, anyv, anyv, anyv)},
		{"an infinite date into a time", "SELECT made FROM item WHERE id = 2", nil, into(func() any { return new(time.Time) })},
		{"no row", "SELECT name FROM item WHERE id = -1", nil, into(str)},
		{"a text into an integer", "SELECT name FROM item WHERE id = 1", nil, into(func() any { return new(int16) })},
		{"an integer into a time", "SELECT id FROM item WHERE id = 1", nil, into(func() any { return new(time.Time) })},
		{"an error in the row", "SELECT 10/(id - 1) FROM item WHERE id = 1", nil, into(func() any { return new(int) })},
		{"a type that is not there", "SELECT id::no_such_type FROM item", nil, into(anyv)},
		{"an open string", "SELECT 'foo FROM item", nil, into(str)},
		{"no SQL", "SYNTAX ERROR", nil, into(str)},
		{"a record", "SELECT (ARRAY[id], NULL) FROM item WHERE id = 1", nil, into(anyv)},
		{"functions of PostgreSQL's own", "SELECT upper(name), cardinality(ia), coalesce(f8, 0) FROM item WHERE id = 1", nil, into(str, anyv, anyv)},
	}
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		for _, r := range reads {
			scanErrs := false
			e.stdlibRead(r.name, func(db *sql.DB) (string, error) {
				told, err := e.stdlibRow(db, r.text, r.args, r.dests()...)
				scanErrs = err != nil
				return told, err
			})
			if !scanErrs {
				continue
			}
			// The scan failed, not the read: what was read is kept all the same.
			if want := pgAsk(e.ctx, e.plain, r.text, r.args...); want.Err == "" && len(want.Rows) > 0 {
				if ran := e.promiseNew(func() { pgAsk(e.ctx, e.db, r.text, r.args...) }); len(ran) > 0 {
					e.Errorf("%s: a read whose scan failed was not kept: ran %v", r.name, ran)
				}
			}
		}
		e.stdlibRead("many rows", func(db *sql.DB) (string, error) {
			return e.stdlibAnswer(db, "SELECT 'foo', id FROM item WHERE id >= $1 AND id <= $2 ORDER BY id", 1, 10)
		})
		e.stdlibRead("a row of NULLs, then values", func(db *sql.DB) (string, error) {
			return e.stdlibAnswer(db, "SELECT ok, oi FROM item WHERE id < 4 ORDER BY id DESC")
		})
		e.stdlibBoth("closed before a row is read, then read", func(db *sql.DB) string {
			const text = "SELECT 'foo', id FROM item ORDER BY id"
			rows, err := db.QueryContext(e.ctx, text)
			if err != nil {
				return pgError(err)
			}
			err = rows.Close()
			return pgError(err) + fmt.Sprint(pgAsk(e.ctx, db, text))
		})
		e.stdlibBoth("a write with a scan of what it returns", func(db *sql.DB) string {
			told, err := e.stdlibRow(db, "UPDATE item SET name = name WHERE id = $1 RETURNING name, ok", []any{1}, new(string), new(any))
			return told + pgError(err)
		})
	})
}

// stdlibScanner is a Scanner that shows what it scanned into.
type stdlibScanner struct {
	sql.Scanner
	into any
}

func (s stdlibScanner) GoString() string { return stdlibShow(s.into) }

// TestStdlibManyColumns reads more columns than pgx's own test does.
func TestStdlibManyColumns(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, ", id AS c%d", i)
	}
	stdlibInModes(t, []string{"cache_statement", "simple_protocol"}, stdlibSchema, func(e *pgEnv) {
		e.stdlibRead("a thousand columns", func(db *sql.DB) (string, error) {
			return e.stdlibAnswer(db, "SELECT id"+b.String()+" FROM item WHERE id < 3 ORDER BY id")
		})
	})
}

// TestStdlibColumnTypes compares what is told of columns, with and without type
// modifiers, of rows, of none, and as a hit.
func TestStdlibColumnTypes(t *testing.T) {
	stdlibEachMode(t, `CREATE TABLE col (
		t text, vc varchar, vc255 varchar(255), bc char(10), bc0 bpchar, ba bytea, vb varbit, vb50 varbit(50), b3 bit(3), n numeric, n92 numeric(9,2), n9 numeric(9),
		ts timestamp, ts0 timestamp(0), ts3 timestamp(3), tz timestamptz, tz3 timestamptz(3), ti time, ti2 time(2),
		iv interval, iv3 interval(3), ivd interval day to second(3), ivy interval year to month, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, bo bool, da date,
		js json, jb jsonb, xm xml, oi oid, na name, ch "char", uu uuid, ia int4[], na2 numeric(5,1)[], ra int4range, pt point, mn money, ine inet, ts2 tsvector);
		CREATE VIEW seen AS SELECT * FROM col; CREATE TABLE filled AS SELECT * FROM col; INSERT INTO filled (t) VALUES ('x');
		CREATE TABLE zoned (tt timetz, tt4 timetz(4))`,
		func(e *pgEnv) {
			for _, text := range []string{"SELECT * FROM col", "SELECT * FROM filled", "SELECT * FROM seen", "SELECT n92 + 1, n92::numeric(4,1), t || 'x', vc255::varchar(3), NULL, 1, 'x', ti FROM filled", "SELECT FROM filled"} {
				e.stdlibRead(text, func(db *sql.DB) (string, error) { return e.stdlibAnswer(db, text) })
			}
			e.same("time with time zone, which is not cached", "SELECT tt, tt4, '12:00:00'::timetz FROM zoned")
			const typed = "SELECT * FROM filled"
			got := pgAsk(e.ctx, e.db, typed)
			for _, want := range []string{"n92 NUMERIC float64 len=0,false dec=9,2,true", "ts3 TIMESTAMP time.Time len=0,false dec=0,3,true", "vc255 VARCHAR string len=255,true",
				fmt.Sprintf("t TEXT string len=%d,true", math.MaxInt64), "ivy INTERVAL string len=0,false dec=0,6,true", "n NUMERIC float64 len=0,false dec=0,0,false", "i8 INT8 int64"} {
				if !strings.Contains(got.Types, want) {
					e.Errorf("%q is not told among %s", want, got.Types)
				}
			}
		})
}

// TestStdlibBytes writes over all bytes that were handed out or in: no other
// reader, and no hit, sees it.
func TestStdlibBytes(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		const text = "SELECT raw, js, jb, name, ia FROM item WHERE id = 1"
		e.stdlibRead("all columns, written over", func(db *sql.DB) (string, error) {
			rows, err := db.QueryContext(e.ctx, text)
			if err != nil {
				return "", err
			}
			defer rows.Close()
			var told string
			for rows.Next() {
				var b [5][]byte
				var raw [5]sql.RawBytes
				if err := errors.Join(rows.Scan(&b[0], &b[1], &b[2], &b[3], &b[4]), rows.Scan(&raw[0], &raw[1], &raw[2], &raw[3], &raw[4])); err != nil {
					return told, err
				}
				told += fmt.Sprintf("%q %q", b, raw)
				for i := range b {
					for j := range b[i] {
						b[i][j] = 'X'
					}
					for j := range raw[i] {
						raw[i][j] = 'Y'
					}
				}
			}
			return told, rows.Err()
		})
		e.same("after it was written over", text)
		e.stdlibBoth("an argument, written over after the call", func(db *sql.DB) (told string) {
			arg := []byte{0, 255}
			const text = "SELECT id FROM item WHERE raw = $1"
			told = fmt.Sprint(pgAsk(e.ctx, db, text, arg))
			arg[0] = 7
			told += fmt.Sprint(pgAsk(e.ctx, db, text, arg))
			arg[0] = 0
			return told + fmt.Sprint(pgAsk(e.ctx, db, text, arg))
		})
	})
}

// stdlibOnce is a Scanner that refuses the first value it is given.
type stdlibOnce struct {
	calls int
	err   error
}

func (s *stdlibOnce) Scan(any) error {
	if s.calls++; s.calls == 1 {
		return s.err
	}
	return nil
}

// TestStdlibScanErrors scans wrongly. The rows go on, and what was read is kept.
func TestStdlibScanErrors(t *testing.T) {
	refused := errors.New("a value that the scanner refused")
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		for name, scan := range map[string]func(rows *sql.Rows) error{
			"before Next": func(rows *sql.Rows) error { return rows.Scan(new(int), new(string)) },
			"too few":     func(rows *sql.Rows) error { rows.Next(); return rows.Scan(new(int)) },
			"too many":    func(rows *sql.Rows) error { rows.Next(); return rows.Scan(new(int), new(string), new(int)) },
			"none":        func(rows *sql.Rows) error { rows.Next(); return rows.Scan() },
			"nil":         func(rows *sql.Rows) error { rows.Next(); return rows.Scan(nil, new(string)) },
			"a typed nil": func(rows *sql.Rows) error { rows.Next(); return rows.Scan((*int)(nil), new(string)) },
			"a nil list":  func(rows *sql.Rows) error { rows.Next(); return rows.Scan((*[]int32)(nil), new(string)) },
			"no pointer":  func(rows *sql.Rows) error { rows.Next(); return rows.Scan(1, new(string)) },
			"a channel":   func(rows *sql.Rows) error { rows.Next(); return rows.Scan(new(chan int), new(string)) },
			"wrong type":  func(rows *sql.Rows) error { rows.Next(); return rows.Scan(new(int), new(time.Time)) },
			"a struct":    func(rows *sql.Rows) error { rows.Next(); return rows.Scan(new(struct{ N int }), new(string)) },
			"after the end": func(rows *sql.Rows) error {
				for rows.Next() {
				}
				return rows.Scan(new(int), new(string))
			},
			"after Close":             func(rows *sql.Rows) error { rows.Close(); return rows.Scan(new(int), new(string)) },
			"Columns after Close":     func(rows *sql.Rows) error { rows.Close(); _, err := rows.Columns(); return err },
			"ColumnTypes after Close": func(rows *sql.Rows) error { rows.Close(); _, err := rows.ColumnTypes(); return err },
			"Close twice":             func(rows *sql.Rows) error { return errors.Join(rows.Close(), rows.Close(), rows.Err()) },
			"another result set":      func(rows *sql.Rows) error { return fmt.Errorf("%t %w", rows.NextResultSet(), rows.Err()) },
			"wrong, then right, twice": func(rows *sql.Rows) error {
				rows.Next()
				err := rows.Scan(new(time.Time), new(string))
				return errors.Join(err, rows.Scan(new(int), new(string)), rows.Scan(new(int), new(string)))
			},
			"a Scanner's error": func(rows *sql.Rows) error {
				rows.Next()
				s := &stdlibOnce{err: refused}
				err := rows.Scan(s, new(string))
				return fmt.Errorf("is it: %t, calls: %d: %w", errors.Is(err, refused), s.calls, err)
			},
			"a Scanner's error on NULL": func(rows *sql.Rows) error {
				for range 3 {
					rows.Next()
				}
				s := &stdlibOnce{err: refused}
				err := rows.Scan(new(int), s)
				return fmt.Errorf("is it: %t, calls: %d: %w", errors.Is(err, refused), s.calls, err)
			},
		} {
			const text = "SELECT id, CASE WHEN id < 3 THEN name END AS name FROM item WHERE id < 6 ORDER BY id"
			e.stdlibRead(name, func(db *sql.DB) (string, error) {
				rows, err := db.QueryContext(e.ctx, text)
				if err != nil {
					return "", err
				}
				defer rows.Close()
				told := pgError(scan(rows))
				n := 0
				for rows.Next() {
					n++
				}
				return fmt.Sprintf("%s, then %d rows, %s", told, n, pgError(rows.Err())), nil
			})
		}
	})
}

// TestStdlibEmptyStatements runs what holds no statement, each way there is.
func TestStdlibEmptyStatements(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		for _, text := range []string{"", " ", ";", ";;", " ; ", "--", "-- ping", "/* ping */", "/* a */ -- b", "-- x\n;", "/* /* */ */", "\n\t"} {
			e.stdlibBoth(fmt.Sprintf("Query %q", text), func(db *sql.DB) string { return fmt.Sprint(pgAsk(e.ctx, db, text)) })
			e.stdlibBoth(fmt.Sprintf("QueryRow %q", text), func(db *sql.DB) string {
				told, err := e.stdlibRow(db, text, nil, new(int))
				return told + pgError(err)
			})
			e.stdlibBoth(fmt.Sprintf("Exec %q", text), func(db *sql.DB) string {
				res, err := db.ExecContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				n, err := res.RowsAffected()
				return fmt.Sprint(n, err)
			})
			if text != "" { // plain pgx can't prepare it twice: its name is the unnamed statement's
				e.stdlibBoth(fmt.Sprintf("Prepare %q", text), func(db *sql.DB) string {
					stmt, err := db.PrepareContext(e.ctx, text)
					if err != nil {
						return pgError(err)
					}
					defer stmt.Close()
					_, err = stmt.ExecContext(e.ctx)
					return fmt.Sprint(pgAskStmt(e.ctx, stmt), pgError(err))
				})
			}
		}
		e.same("afterwards", "SELECT id FROM item ORDER BY id")
	})
}

// TestStdlibResultSets sends several statements in one text.
func TestStdlibResultSets(t *testing.T) {
	stdlibEachMode(t, stdlibSchema, func(e *pgEnv) {
		for _, text := range []string{
			"SELECT id FROM item WHERE id = 1; SELECT name FROM item WHERE id = 2", "SELECT id FROM item WHERE id = -1; SELECT name FROM item ORDER BY id",
			"SELECT id FROM item ORDER BY id; SELECT 1/0", "SELECT 1/0; SELECT id FROM item", "; SELECT id FROM item WHERE id = 1", "SELECT id FROM item WHERE id = 1;", "SELECT id FROM item WHERE id = 1; -- end",
			"UPDATE item SET name = name WHERE id < 3; SELECT id FROM item WHERE id = 1", "SELECT id FROM item WHERE id = 1; UPDATE item SET name = name WHERE id < 3",
			"BEGIN; SELECT id FROM item WHERE id = 1; COMMIT", strings.Repeat("SELECT id FROM item WHERE id = 1; ", 100),
		} {
			e.stdlibBoth(pgShort(text), func(db *sql.DB) (told string) {
				rows, err := db.QueryContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				defer rows.Close()
				for set := 0; ; set++ {
					for rows.Next() {
						var v any
						told += fmt.Sprintf("set %d: %v %v; ", set, rows.Scan(&v), v)
					}
					told += pgError(rows.Err())
					if !rows.NextResultSet() {
						break
					}
				}
				return told + pgError(errors.Join(rows.Err(), rows.Close()))
			})
			e.stdlibBoth("Exec "+pgShort(text), func(db *sql.DB) string {
				res, err := db.ExecContext(e.ctx, text)
				if err != nil {
					return pgError(err)
				}
				n, err := res.RowsAffected()
				return fmt.Sprint(n, err)
			})
		}
	})
}

// TestStdlibSimpleProtocol sends in the text what other modes send beside it.
func TestStdlibSimpleProtocol(t *testing.T) {
	e := newPG(t, stdlibSchema)
	for _, c := range []pgCase{
		{"SELECT id, $1 FROM item WHERE id = 1", []any{"foo'; DROP TABLE item; --"}},
		{"SELECT id, $1 FROM item WHERE id = 1", []any{`\'; DROP TABLE item; --`}},
		{"SELECT id, $tag$ $1 $tag$, $1 FROM item WHERE id = 1", []any{"$tag$; DROP TABLE item; --"}},
		{"SELECT id, '$1', $1, -$2::int FROM item WHERE id = 1", []any{"x", -1}},
		{"SELECT id, $1 /* $1 */ FROM item WHERE id = 1 -- $1", []any{"*/ x"}},
		{"SELECT id, $1::bytea, $2::float8, $3::bool, $4::int8 FROM item WHERE id = 1", []any{[]byte{0, 39, 92}, math.Inf(-1), true, int64(math.MinInt64)}},
		{"SELECT id, $1::timestamptz FROM item WHERE id = 1", []any{time.Date(2024, 1, 2, 3, 4, 5, 678901000, time.UTC)}},
		{"SELECT id, $1::text[], $2::float4[] FROM item WHERE id = 1", []any{[]string{`a"b`, "c,d", `e\f`, "NULL", ""}, []float32{1.5}}},
		{"SELECT id, $1::circle::text FROM item WHERE id = 1", []any{pgtype.Circle{P: pgtype.Vec2{X: 1, Y: 2}, R: 1.5, Valid: true}}},
		{"SELECT id, $1::text FROM item WHERE id = 1", []any{"a\x00b"}}, {"SELECT id, $1::text FROM item WHERE id = 1", []any{"\xff"}},
		{"SELECT id, $3 FROM item WHERE id = 1", []any{1, 2}}, {"SELECT id, $1 FROM item WHERE id = 1", []any{"x", "unused"}},
	} {
		args := append([]any{pgx.QueryExecModeSimpleProtocol}, c.args...)
		e.stdlibRead(fmt.Sprintf("%s %q", c.text, c.args), func(db *sql.DB) (string, error) { return e.stdlibAnswer(db, c.text, args...) })
	}
	for _, setting := range []string{"SET client_encoding = 'SQL_ASCII'", "SET standard_conforming_strings = off"} {
		e.stdlibBoth("refused after "+setting, func(db *sql.DB) string {
			conn, err := db.Conn(e.ctx)
			if err != nil {
				return pgError(err)
			}
			defer conn.Close()
			e.must(conn, setting)
			told := fmt.Sprint(pgAsk(e.ctx, conn, "SELECT name, $1 FROM item WHERE id = 1", pgx.QueryExecModeSimpleProtocol, `\'; x`))
			e.must(conn, "RESET ALL")
			return told + fmt.Sprint(pgAsk(e.ctx, conn, "SELECT name, $1 FROM item WHERE id = 1", pgx.QueryExecModeSimpleProtocol, `\'; x`))
		})
	}
	e.must(e.plain, "SELECT FROM item") // it is still there
}
