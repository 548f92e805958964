package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// Promise 3: once a write through the handle has returned, no later read
// through it is served from before it. Fault kinds 4, 5, 7 and 12.

var errOops = errors.New("the server's own words")

// writeWay is one way to write.
type writeWay struct {
	name  string
	over  bool // its end and its effect on the session are known, so that what is read after it can be kept
	reply func(context.Context, call) reply
	do    func(*testing.T, *sql.DB)
}

func done(context.Context, call) reply { return reply{affected: 1} }

func returning(_ context.Context, c call) reply {
	if c.kind != "query" {
		return reply{}
	}
	return oneSet(resultSet{cols: []string{"id"}, rows: [][]driver.Value{{int64(1)}, {int64(2)}}})
}

func failing(_ context.Context, c call) reply {
	if c.kind == "begin" || c.kind == "rollback" {
		return reply{}
	}
	return reply{err: errOops}
}

const insert = "INSERT INTO product (id, name) VALUES ($1, $2)"

func execs(text string, args ...any) func(*testing.T, *sql.DB) {
	return func(t *testing.T, db *sql.DB) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
}

func queries(text string, args ...any) func(*testing.T, *sql.DB) {
	return func(t *testing.T, db *sql.DB) {
		t.Helper()
		if got, err := readAll[int](t.Context(), db, text, args...); err != nil || len(got) != 2 {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

func inTx(end func(*sql.Tx) error, text string, args ...any) func(*testing.T, *sql.DB) {
	return func(t *testing.T, db *sql.DB) {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
}

func asText(texts ...string) func(*testing.T, *sql.DB) {
	return func(t *testing.T, db *sql.DB) {
		t.Helper()
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, text := range texts {
			if _, err := c.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var writes = []writeWay{
	{"Exec", true, done, execs(insert, 1, "n")},
	{"Exec without arguments", true, done, execs("INSERT INTO product VALUES (1, 'n')")},
	{"Exec, upper and quoted and qualified", true, done, execs(`UPDATE "public"."product" SET name = 'n'`)},
	{"Exec, ONLY and alias", true, done, execs("UPDATE ONLY product AS p SET name = 'n'")},
	{"DELETE", true, done, execs("DELETE FROM product")},
	{"TRUNCATE", true, done, execs("TRUNCATE product")},
	{"MERGE", true, done, execs("MERGE INTO product p USING n ON p.id = n.id WHEN MATCHED THEN DELETE")},
	{"DDL", true, done, execs("ALTER TABLE product ADD COLUMN c int")},
	{"a comment first", true, done, execs("/* SELECT */ -- SELECT\n"+insert, 1, "n")},
	{"with caching off in the text", true, done, execs("/* cachedpgx: off */ "+insert, 1, "n")},
	{"a mark on a write", true, done, execs("/* cachedpgx: ttl=5s */ "+insert, 1, "n")},
	{"with caching off in the context", true, done, func(t *testing.T, db *sql.DB) {
		if _, err := db.ExecContext(cachedpgx.WithoutCache(t.Context()), insert, 1, "n"); err != nil {
			t.Fatal(err)
		}
	}},
	{"a write by Query with a mark", true, returning, func(t *testing.T, db *sql.DB) {
		for range 2 {
			if _, err := readAll[int](long(t.Context()), db, insert+" RETURNING id", 1, "n"); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"CALL", false, done, execs("CALL fill()")},
	{"DO", false, done, execs("DO $$ BEGIN DELETE FROM product; END $$")},
	{"COPY", true, done, execs("COPY product FROM '/a'")},
	{"a text that nobody understands", false, done, execs("FROBNICATE product")},
	{"EXPLAIN ANALYZE", true, returning, queries("EXPLAIN ANALYZE DELETE FROM product")},
	{"several statements in one text", false, done, execs("SELECT 1; DELETE FROM product")},
	{"a read by Exec, a write behind it", false, done, execs("SELECT name FROM product WHERE id = 1; DELETE FROM product")},
	{"SELECT INTO", true, done, execs("SELECT 1 AS id INTO product")},
	{"a function that writes", false, returning, queries("SELECT fill_product(1)")},
	{"a function that writes, in WHERE", false, returning, queries("SELECT id FROM other WHERE fill_product(id)")},
	{"Query RETURNING", true, returning, queries(insert+" RETURNING id", 1, "n")},
	{"Query of a data-modifying CTE", true, returning, queries("WITH d AS (DELETE FROM product RETURNING id) SELECT id FROM d")},
	{"Query of a data-modifying CTE, marked", true, returning, queries("/* cachedpgx: ttl=5s */ WITH d AS (DELETE FROM product RETURNING id) SELECT id FROM d")},
	{"Query of a write without rows", true, func(context.Context, call) reply { return reply{sets: []resultSet{{}}} }, func(t *testing.T, db *sql.DB) {
		rows, err := db.QueryContext(t.Context(), insert, 1, "n")
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}},
	{"QueryRow RETURNING", true, returning, func(t *testing.T, db *sql.DB) { readInt(t, t.Context(), db, insert+" RETURNING id", 1, "n") }},
	{"RETURNING closed early", true, returning, func(t *testing.T, db *sql.DB) {
		rows, err := db.QueryContext(t.Context(), insert+" RETURNING id", 1, "n")
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		rows.Close()
	}},
	{"prepared", true, done, func(t *testing.T, db *sql.DB) {
		s, err := db.PrepareContext(t.Context(), insert)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			if _, err := s.ExecContext(t.Context(), 1, "n"); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"prepared RETURNING", true, returning, func(t *testing.T, db *sql.DB) {
		s, err := db.PrepareContext(t.Context(), insert+" RETURNING id")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var id int
		if err := s.QueryRowContext(t.Context(), 1, "n").Scan(&id); err != nil {
			t.Fatal(err)
		}
	}},
	{"commit", true, done, inTx((*sql.Tx).Commit, insert, 1, "n")},
	{"rollback", true, done, inTx((*sql.Tx).Rollback, insert, 1, "n")},
	{"commit that fails", false, func(_ context.Context, c call) reply {
		if c.kind == "commit" {
			return reply{err: errOops}
		}
		return reply{}
	}, inTx(func(tx *sql.Tx) error {
		if err := tx.Commit(); !errors.Is(err, errOops) {
			return errors.Join(errors.New("the commit did not fail"), err)
		}
		return nil
	}, insert, 1, "n")},
	{"statement of outside used in a transaction", true, done, func(t *testing.T, db *sql.DB) {
		s, err := db.PrepareContext(t.Context(), insert)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.StmtContext(t.Context(), s).ExecContext(t.Context(), 1, "n"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}},
	{"BEGIN and COMMIT as text", true, done, asText("BEGIN", "INSERT INTO product VALUES (1, 'n')", "COMMIT")},
	{"START TRANSACTION and END as text", true, done, asText("/* x */ start transaction", "INSERT INTO product VALUES (1, 'n')", "end work")},
	{"BEGIN and ROLLBACK as text", true, done, asText("begin", "INSERT INTO product VALUES (1, 'n')", "ROLLBACK")},
	{"an error", false, failing, func(t *testing.T, db *sql.DB) {
		if _, err := db.ExecContext(t.Context(), insert, 1, "n"); err != errOops {
			t.Fatalf("got %v", err)
		}
	}},
	{"an error of Query", false, failing, func(t *testing.T, db *sql.DB) {
		if _, err := db.QueryContext(t.Context(), insert+" RETURNING id", 1, "n"); err != errOops {
			t.Fatalf("got %v", err)
		}
	}},
	{"an error among the rows", false, func(context.Context, call) reply {
		s := numbers(2)
		s.err = errOops
		return oneSet(s)
	}, func(t *testing.T, db *sql.DB) {
		if _, err := readAll[int](t.Context(), db, insert+" RETURNING id", 1, "n"); !errors.Is(err, errOops) {
			t.Fatalf("got %v", err)
		}
	}},
	{"a lost connection", false, func(context.Context, call) reply { return reply{err: io.ErrUnexpectedEOF} }, func(t *testing.T, db *sql.DB) {
		if _, err := db.ExecContext(t.Context(), insert, 1, "n"); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v", err)
		}
	}},
}

func TestEveryWriteIsSeen(t *testing.T) {
	for _, w := range writes {
		t.Run(w.name, func(t *testing.T) {
			f := newFake(t, func(ctx context.Context, c call) reply {
				if c.text == product {
					return value(int64(c.nth))
				}
				return w.reply(ctx, c)
			})
			db, c := openFake(t, f, quiet())
			ctx := long(t.Context())
			for range 2 {
				if got := readInt(t, ctx, db, product, 1); got != 1 {
					t.Fatalf("before the write: %d", got)
				}
			}
			moved := c.Stats().Invalidations
			w.do(t, db)
			if c.Stats().Invalidations == moved {
				t.Error("no invalidation is counted")
			}
			if got := readInt(t, ctx, db, product, 1); got != 2 {
				t.Errorf("after the write: rows from before it")
			}
			if w.over {
				if got := readInt(t, ctx, db, product, 1); got != 2 {
					t.Errorf("what was read after the write is not kept")
				}
			}
		})
	}
}

// A read moves nothing, marked or not, cached or not.
func TestReadsMoveNothing(t *testing.T) {
	f := newFake(t, nil)
	db, c := openFake(t, f, quiet())
	ctx := long(t.Context())
	readInt(t, ctx, db, product, 1)
	for _, text := range []string{
		product, "SELECT name FROM other WHERE id = $1", "/* cachedpgx: off */ " + product, "SELECT count(*) FROM product WHERE id > $1",
		"WITH p AS (SELECT id FROM product) SELECT id FROM p WHERE id = $1",
	} {
		readInt(t, t.Context(), db, text, 1)
		readInt(t, cachedpgx.WithoutCache(t.Context()), db, text, 1)
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := f.count(product)
	if got := readInt(t, ctx, db, product, 1); got != 1 || f.count(product) != before {
		t.Errorf("the entry is gone: %d; %d invalidations", got, c.Stats().Invalidations)
	}
}

// A write that fails because its context ends has an unknown end.
func TestCancelledWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, func(ctx context.Context, c call) reply {
			if c.text == product {
				return value(int64(c.nth))
			}
			<-ctx.Done()
			return reply{err: ctx.Err()}
		})
		cfg := quiet()
		cfg.Quarantine = 3 * time.Second
		db, _ := openFake(t, f, cfg)
		readInt(t, long(t.Context()), db, product, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := db.ExecContext(ctx, insert, 1, "n"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
			t.Errorf("after the write: rows from before it")
		}
		// It ends, and what is read then is kept.
		time.Sleep(cfg.Quarantine + time.Second)
		got := readInt(t, long(t.Context()), db, product, 1)
		if again := readInt(t, long(t.Context()), db, product, 1); again != got {
			t.Errorf("nothing is kept after the quarantine: %d, %d", got, again)
		}
	})
}

// The rows of a write are seen before it has ended: nothing read in between may
// outlive it, and nothing from before it is served in between.
func TestOpenReturning(t *testing.T) {
	f := newFake(t, func(ctx context.Context, c call) reply {
		if c.text == product {
			return value(int64(c.nth))
		}
		return returning(ctx, c)
	})
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	readInt(t, ctx, db, product, 1)
	rows, err := db.QueryContext(t.Context(), insert+" RETURNING id", 1, "n")
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	during := readInt(t, ctx, db, product, 1)
	if during == 1 {
		t.Error("with the first row seen: rows from before the write")
	}
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	before := f.count(product)
	if got := readInt(t, ctx, db, product, 1); got <= during || f.count(product) != before+1 {
		t.Errorf("what was read while the write ran has outlived it: %d", got)
	}
}

// A slow load that began before a write and ends after it (fault kind 4).
func TestLoadOvertakenByAWrite(t *testing.T) {
	for _, end := range []string{"old load ends first", "old load ends last"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				version := int64(1)
				f := newFake(t, func(_ context.Context, c call) reply {
					if c.text != product {
						version++
						return reply{affected: 1}
					}
					seen := version // the snapshot
					if c.nth == 1 {
						<-gate
					}
					return value(seen)
				})
				db, c := openFake(t, f, quiet())
				old := ask(long(t.Context()), db, 1)
				synctest.Wait()
				if _, err := db.ExecContext(t.Context(), insert, 1, "n"); err != nil {
					t.Fatal(err)
				}
				if end == "old load ends first" {
					close(gate)
					if a := <-old; a.err != nil {
						t.Errorf("the old reader: %+v", a)
					}
				} else {
					// No new waiters for the flight of before the write.
					if a := <-ask(long(t.Context()), db, 1); a.err != nil || a.v != 2 {
						t.Errorf("a reader after the write: %+v", a)
					}
					close(gate)
					<-old
					synctest.Wait()
				}
				for range 2 {
					if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
						t.Errorf("afterwards: %d", got)
					}
				}
				wantCalls(t, f, product, 2)
				if s := c.Stats(); s.Discarded != 1 {
					t.Errorf("%d loads were discarded", s.Discarded)
				}
			})
		})
	}
}

// A load that begins while a write runs, and ends before the write does.
func TestLoadDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		committed := int64(1)
		f := newFake(t, func(_ context.Context, c call) reply {
			if c.text == product {
				return value(committed)
			}
			<-gate
			committed = 2
			return reply{affected: 1}
		})
		db, _ := openFake(t, f, quiet())
		written := make(chan error)
		go func() {
			_, err := db.ExecContext(t.Context(), insert, 1, "n")
			written <- err
		}()
		synctest.Wait()
		if got := readInt(t, long(t.Context()), db, product, 1); got != 1 {
			t.Fatalf("during the write: %d", got)
		}
		close(gate)
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		if got := readInt(t, long(t.Context()), db, product, 1); got != 2 {
			t.Errorf("after the write: %d", got)
		}
	})
}

// A load that begins in a transaction's time and ends before the commit.
func TestLoadDuringATransaction(t *testing.T) {
	f := newFake(t, func(_ context.Context, c call) reply {
		if c.text == product {
			return value(int64(c.nth))
		}
		return reply{}
	})
	db, _ := openFake(t, f, quiet())
	ctx := long(t.Context())
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), insert, 1, "n"); err != nil {
		t.Fatal(err)
	}
	if got := readInt(t, ctx, db, product, 1); got != 1 {
		t.Fatalf("outside, before the commit: %d", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := readInt(t, ctx, db, product, 1); got != 2 {
		t.Errorf("outside, after the commit: %d", got)
	}
}

// Never a write twice (promise 7, fault kind 9).
func TestLostWriteIsNotRepeated(t *testing.T) {
	for _, lost := range []error{io.ErrUnexpectedEOF, io.EOF, errors.New("connection reset by peer"), driver.ErrSkip} {
		t.Run(lost.Error(), func(t *testing.T) {
			f := newFake(t, func(_ context.Context, c call) reply {
				if slices.Contains([]string{insert, insert + " RETURNING id"}, c.text) && !c.prepared {
					return reply{err: lost}
				}
				return reply{}
			})
			db, _ := openFake(t, f, quiet())
			_, err := db.ExecContext(t.Context(), insert, 1, "n")
			rows, qerr := db.QueryContext(t.Context(), insert+" RETURNING id", 1, "n")
			if qerr == nil {
				rows.Close()
			}
			if errors.Is(lost, driver.ErrSkip) {
				return // says that nothing was done: asking again by Prepare is right
			}
			if !errors.Is(err, lost) || !errors.Is(qerr, lost) {
				t.Errorf("got %v and %v", err, qerr)
			}
			wantCalls(t, f, insert, 1)
			wantCalls(t, f, insert+" RETURNING id", 1)
		})
	}
}
