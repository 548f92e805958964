package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
)

// exactBig has a result of 900 kB, which is within the default limits and more
// than the buffers between a server and its client hold.
const exactBig = `
	CREATE TABLE big (id int PRIMARY KEY, t text NOT NULL, b bytea NOT NULL);
	INSERT INTO big SELECT i, repeat(md5(i::text), 12), decode(repeat(md5(i::text), 4), 'hex') FROM generate_series(1, 2000) i;`

const exactReadBig = "SELECT id, t, b FROM big ORDER BY id"

// exactPrefix fails unless got is the beginning of want; whole says whether it is
// all of it.
func (e *pgEnv) exactPrefix(what string, want, got pgAnswer) (whole bool) {
	e.Helper()
	if len(got.Rows) > len(want.Rows) {
		e.Errorf("%s: %d rows, there are %d", what, len(got.Rows), len(want.Rows))
		return false
	}
	for i := range got.Rows {
		if fmt.Sprint(got.Rows[i]) != fmt.Sprint(want.Rows[i]) {
			e.Errorf("%s: row %d is %s, want %s", what, i, pgShort(fmt.Sprint(got.Rows[i])), pgShort(fmt.Sprint(want.Rows[i])))
			return false
		}
	}
	return len(got.Rows) == len(want.Rows)
}

// TestPGExactAbandoned makes the first caller lose interest, in each way that
// there is: what it asked for is loaded all the same, once, and others get it
// whole. Kind 10.
func TestPGExactAbandoned(t *testing.T) {
	e := newPG(t, exactBig)
	want := pgAsk(e.ctx, e.plain, exactReadBig)
	e.warm(exactReadBig)
	for name, abandon := range map[string]func(ctx context.Context, cancel context.CancelFunc) error{
		"never reads": func(ctx context.Context, _ context.CancelFunc) error {
			rows, err := e.db.QueryContext(ctx, exactReadBig)
			return errors.Join(err, rows.Close())
		},
		"closes after one row": func(ctx context.Context, _ context.CancelFunc) error {
			rows, err := e.db.QueryContext(ctx, exactReadBig)
			if err != nil {
				return err
			}
			rows.Next()
			return rows.Close()
		},
		"closes before the last row": func(ctx context.Context, _ context.CancelFunc) error {
			rows, err := e.db.QueryContext(ctx, exactReadBig)
			if err != nil {
				return err
			}
			for range len(want.Rows) - 1 {
				rows.Next()
			}
			return rows.Close()
		},
		"QueryRow": func(ctx context.Context, _ context.CancelFunc) error {
			return e.db.QueryRowContext(ctx, exactReadBig).Scan(new(int), new(string), new([]byte))
		},
		"QueryRow into too few": func(ctx context.Context, _ context.CancelFunc) error {
			if err := e.db.QueryRowContext(ctx, exactReadBig).Scan(new(int)); err == nil {
				return errors.New("a row of three columns fits into one")
			}
			return nil
		},
		"a destination that fails": func(ctx context.Context, _ context.CancelFunc) error {
			if err := e.db.QueryRowContext(ctx, exactReadBig).Scan(new(int), new(bool), new([]byte)); err == nil {
				return errors.New("a text was taken for a bool")
			}
			return nil
		},
		"cancels between rows": func(ctx context.Context, cancel context.CancelFunc) error {
			rows, err := e.db.QueryContext(ctx, exactReadBig)
			if err != nil {
				return err
			}
			defer rows.Close()
			for i := 0; rows.Next(); i++ {
				if i == 100 {
					cancel()
				}
			}
			if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		},
		"ends its goroutine": func(ctx context.Context, _ context.CancelFunc) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				rows, err := e.db.QueryContext(ctx, exactReadBig)
				if err != nil {
					return
				}
				defer rows.Close()
				rows.Next()
				runtime.Goexit()
			}()
			<-done
			return nil
		},
	} {
		// Who can't be cancelled may load by themselves.
		for _, parent := range []context.Context{e.ctx, context.WithoutCancel(e.ctx)} {
			e.exactFlush()
			ctx, cancel := parent, context.CancelFunc(func() {})
			if parent == e.ctx || strings.HasPrefix(name, "cancels") {
				ctx, cancel = context.WithCancel(parent)
			}
			calls := e.calls(exactReadBig, func() {
				if err := abandon(ctx, cancel); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, exactReadBig)); diff != "" {
					t.Errorf("%s: the next caller: %s", name, diff)
				}
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, exactReadBig)); diff != "" {
					t.Errorf("%s: the third caller: %s", name, diff)
				}
			})
			cancel()
			if calls != 1 {
				t.Errorf("%s: %d calls at the server, want the first caller's alone", name, calls)
			}
		}
	}
	t.Run("cancels while the server works", func(t *testing.T) {
		e := e.on(t)
		e.exactFlush()
		e.warm(exactReadBig)
		e.exactFlush()
		before := e.wire.ran(exactReadBig)
		release := e.lock("big")
		ctx, cancel := context.WithCancel(e.ctx)
		first, second := make(chan error, 1), make(chan pgAnswer, 1)
		go func() { first <- pgAskErr(ctx, e.db, exactReadBig) }()
		e.eventually("the load waits", func() bool { return e.waiting() > 0 })
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who cancelled: %v", err)
		}
		go func() { second <- pgAsk(e.ctx, e.db, exactReadBig) }()
		release()
		if diff := pgDiff(want, <-second); diff != "" {
			t.Errorf("who came later: %s", diff)
		}
		e.warm(exactReadBig)
		if n := e.wire.ran(exactReadBig) - before; n > 2 {
			t.Errorf("%d calls at the server", n)
		}
	})
}

// TestPGExactBrokenLoads breaks a load in the middle of its rows: the leader and
// each follower see that it is broken, nobody is given a part for the whole, and
// nothing of it is kept. Kinds 8 and 10.
func TestPGExactBrokenLoads(t *testing.T) {
	e := newPG(t, exactBig)
	for _, c := range []struct {
		name   string
		text   string
		policy cachedpgx.Policy
		breaks func(e *pgEnv, p *exactProxy)
	}{
		{name: "the stream ends", breaks: func(_ *pgEnv, p *exactProxy) { p.cutHeld(false) }},
		{name: "the stream is reset", breaks: func(_ *pgEnv, p *exactProxy) { p.cutHeld(true) }},
		{name: "a stream over the limits ends", policy: cachedpgx.Policy{MaxRows: 10}, breaks: func(_ *pgEnv, p *exactProxy) { p.cutHeld(false) }},
		{
			// More than the network takes off the server's hands.
			name: "the backend is killed", policy: cachedpgx.Policy{MaxRows: cachedpgx.Off, MaxResultBytes: 48 << 20},
			text: "SELECT big.id, t, b FROM big, generate_series(1, 24) n ORDER BY big.id",
			breaks: func(e *pgEnv, p *exactProxy) {
				const backends = " FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%ORDER BY big.id'"
				e.must(e.plain, "SELECT pg_terminate_backend(pid)"+backends)
				e.eventually("the backend is gone", func() bool { return e.one(e.plain, "SELECT count(*)"+backends) == "int64(0)" })
				p.goOn()
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer, text := e.on(t), exactReadBig
			if c.text != "" {
				text = c.text
			}
			p, e := newExactProxy(outer, cachedpgx.Config{Policy: c.policy})
			want := pgAsk(e.ctx, e.plain, text)
			if diff := pgDiff(want, pgAsk(e.ctx, e.db, text)); diff != "" {
				t.Fatalf("through the proxy: %s", diff)
			}
			// Plain pgx's answer to the same.
			p.hold(100_000)
			plain := make(chan pgAnswer, 1)
			go func() { plain <- pgAsk(e.ctx, e.plain, text) }()
			p.holds(1)
			c.breaks(outer, p)
			if got := <-plain; got.Err == "" {
				t.Fatal("plain pgx does not notice: this test breaks nothing")
			}
			e.exactFlush()
			e.promiseExplain(e.ctx, text) // so that the load alone is held
			p.hold(100_000)
			answers := make([]pgAnswer, 4)
			var wg, off sync.WaitGroup
			off.Add(len(answers))
			for i := range answers {
				wg.Go(func() { off.Done(); answers[i] = pgAsk(e.ctx, e.db, text) })
			}
			off.Wait()
			p.holds(1)
			broken := make(chan struct{})
			go func() { wg.Wait(); close(broken) }()
			// Those with streams of their own are held, too, and are broken in turn.
			for over := false; !over; {
				c.breaks(outer, p)
				select {
				case <-broken:
					over = true
				case <-time.After(5 * time.Millisecond):
				}
			}
			failed := 0
			for i, a := range answers {
				whole := e.exactPrefix(fmt.Sprintf("caller %d", i), want, a)
				if a.Err != "" {
					failed++
				} else if !whole {
					t.Errorf("caller %d was given %d of %d rows, and no error", i, len(a.Rows), len(want.Rows))
				}
			}
			if failed == 0 {
				t.Error("nobody was told that the load broke")
			}
			for _, what := range []string{"first", "second"} {
				if diff := pgDiff(want, pgAsk(e.ctx, e.db, text)); diff != "" {
					t.Errorf("afterwards, %s: %s", what, pgShort(diff))
				}
			}
		})
	}
}

// TestPGExactLimits checks that the limits are where they are said to be.
func TestPGExactLimits(t *testing.T) {
	// A row of one text of n bytes counts n + 4, a NULL 4, an int4 8.
	schema := `CREATE TABLE sized (id int PRIMARY KEY, t text, n int); INSERT INTO sized SELECT i, CASE WHEN i % 10 = 0 THEN NULL ELSE repeat('x', 96) END, i FROM generate_series(1, 100) i`
	const text = "SELECT t, n FROM sized ORDER BY id"
	dsn := newPG(t, schema).dsn
	const bytes = 90*(96+4) + 10*4 + 100*(4+4)
	for _, c := range []struct {
		name, text string
		params     []string
		kept       bool
	}{
		{"as many rows", text, []string{"cache_max_rows=100"}, true},
		{"a row too many", text, []string{"cache_max_rows=99"}, false},
		{"as many bytes", text, []string{fmt.Sprintf("cache_max_result_bytes=%d", bytes)}, true},
		{"a byte too many", text, []string{fmt.Sprintf("cache_max_result_bytes=%d", bytes-1)}, false},
		{"no row", text + " LIMIT 0", []string{"cache_max_rows=1", "cache_max_result_bytes=1"}, true},
		{"one row", "SELECT n FROM sized WHERE id = 1", []string{"cache_max_rows=1", "cache_max_result_bytes=8"}, true},
		{"one row, a byte too many", "SELECT n FROM sized WHERE id = 1", []string{"cache_max_result_bytes=7"}, false},
		{"rows of nothing", "SELECT FROM sized", []string{"cache_max_rows=100", "cache_max_result_bytes=1"}, true},
		{"NULLs", "SELECT t FROM sized WHERE t IS NULL", []string{"cache_max_result_bytes=40"}, true},
		{"NULLs, a byte too many", "SELECT t FROM sized WHERE t IS NULL", []string{"cache_max_result_bytes=39"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newPGOn(t, dsn, "", c.params...)
			e.same("first", c.text)
			calls := e.calls(c.text, func() { e.same("second", c.text) })
			if kept := calls == 0; kept != c.kept {
				t.Errorf("kept: %t, want %t", kept, c.kept)
			}
			e.same("third", c.text)
			stmt, err := e.db.PrepareContext(e.ctx, c.text)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			want := pgAsk(e.ctx, e.plain, c.text)
			for range 3 {
				calls = e.calls(c.text, func() {
					if diff := pgDiff(want, pgAskStmt(e.ctx, stmt)); diff != "" {
						t.Errorf("prepared: %s", diff)
					}
				})
			}
			if kept := calls == 0; kept != c.kept {
				t.Errorf("prepared, kept: %t, want %t", kept, c.kept)
			}
		})
	}
}

var exactTooBig = regexp.MustCompile(`(?i)max_?(rows|result)|too (big|large|long|many)`)

// TestPGExactTooBig streams what is over the limits to whoever asks: to the
// waiters of the first load, too, each their own; and from then on at once, not
// in turns, and Explain says why.
func TestPGExactTooBig(t *testing.T) {
	for _, param := range []string{"cache_max_rows=50", "cache_max_result_bytes=20000"} {
		t.Run(param, func(t *testing.T) {
			e := newPG(t, exactBig, param)
			want := pgAsk(e.ctx, e.plain, exactReadBig)
			e.warm("SELECT id FROM big WHERE id = 1")
			if x := e.promiseExplain(e.ctx, exactReadBig); !x.Cacheable {
				t.Errorf("before anybody has asked, Explain says %+v", x)
			}
			answers := make([]pgAnswer, 6)
			before := e.wire.ran(exactReadBig)
			e.exactHeld("big", len(answers), func(i int) { answers[i] = pgAsk(e.ctx, e.db, exactReadBig) })
			for i, a := range answers {
				if diff := pgDiff(want, a); diff != "" {
					t.Errorf("waiter %d: %s", i, pgShort(diff))
				}
			}
			if n := e.wire.ran(exactReadBig) - before; n != len(answers) {
				t.Errorf("%d who wait for a result that is too big made %d calls at the server, want one each", len(answers), n)
			}
			x := e.promiseExplain(e.ctx, exactReadBig)
			if all := fmt.Sprintf("%+v", x.Reasons) + fmt.Sprint(x.Notes); !exactTooBig.MatchString(all) {
				t.Errorf("Explain does not say that it is too big: %+v", x)
			}

			// Now that it is known, nobody waits for another's: each waits at the server.
			release := e.lock("big")
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() { answers[i] = pgAsk(e.ctx, e.db, exactReadBig) })
			}
			e.eventually("each caller waits at the server", func() bool { return e.waiting() == len(answers) })
			release()
			wg.Wait()
			for i, a := range answers {
				if diff := pgDiff(want, a); diff != "" {
					t.Errorf("stream %d: %s", i, pgShort(diff))
				}
			}
			// What is small of the same text is kept.
			e.warm("SELECT id, t, b FROM big WHERE id < $1 ORDER BY id", 10)
			e.same("small", "SELECT id, t, b FROM big WHERE id < $1 ORDER BY id", 10)
			e.same("big", "SELECT id, t, b FROM big WHERE id < $1 ORDER BY id", 1000)
			if n := e.calls("SELECT id, t, b FROM big WHERE id < $1 ORDER BY id", func() {
				e.same("small", "SELECT id, t, b FROM big WHERE id < $1 ORDER BY id", 10)
			}); n != 0 {
				t.Error("because a question's answer is too big, another's is not kept")
			}
			// An own write is seen in the next stream.
			e.must(e.db, "UPDATE big SET t = 'changed' WHERE id = 1")
			e.same("after a write", exactReadBig)
		})
	}
	t.Run("the first row comes before the last", func(t *testing.T) {
		outer := newPG(t, exactBig)
		p, e := newExactProxy(outer, cachedpgx.Config{Policy: cachedpgx.Policy{MaxRows: 50}})
		for _, what := range []string{"first", "second"} {
			e.promiseExplain(e.ctx, exactReadBig)
			p.hold(100_000)
			rows, err := e.db.QueryContext(e.ctx, exactReadBig)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for ; n < 60 && rows.Next(); n++ {
			}
			if n != 60 {
				t.Errorf("%s: %d rows of a stream, %v", what, n, rows.Err())
			}
			p.holds(1)
			p.goOn()
			for rows.Next() {
				n++
			}
			if err := rows.Err(); err != nil || n != 2000 {
				t.Errorf("%s: %d rows, %v", what, n, err)
			}
			rows.Close()
		}
	})
	t.Run("a stream that is left", func(t *testing.T) {
		e := newPG(t, exactBig, "cache_max_rows=50", "cache_server_max_open=2")
		want := pgAsk(e.ctx, e.plain, exactReadBig)
		for i := range 8 {
			ctx, cancel := context.WithCancel(e.ctx)
			rows, err := e.db.QueryContext(ctx, exactReadBig)
			if err != nil {
				t.Fatal(err)
			}
			for range i * 20 {
				rows.Next()
			}
			if i%2 == 0 {
				cancel()
			}
			rows.Close()
			cancel()
		}
		e.watched(4, func(ctx context.Context, _ int) error {
			if diff := pgDiff(want, pgAsk(ctx, e.db, exactReadBig)); diff != "" {
				return errors.New(pgShort(diff))
			}
			return nil
		})
		e.eventually("every connection is given back", func() bool { return e.cache.Server().Stats().InUse == 0 })
	})
}

func (e *pgEnv) exactFlushIf(doIt bool) {
	e.Helper()
	if doIt {
		e.exactFlush()
	}
}

// TestPGExactMemory streams 64 MB under a limit of 1 MiB: of a result that is not
// kept, no more than that is ever in memory.
func TestPGExactMemory(t *testing.T) {
	e := newPG(t, "CREATE TABLE fat AS SELECT i AS id, repeat(md5(i::text), 512) AS t FROM generate_series(1, 4096) i", "cache_max_result_bytes=1MiB")
	const text = "SELECT id, t FROM fat"
	for _, way := range []string{"first", "second"} {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		before, most := m.HeapAlloc, uint64(0)
		rows, err := e.db.QueryContext(e.ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		n, size := 0, 0
		var raw sql.RawBytes
		for ; rows.Next(); n++ {
			if err := rows.Scan(new(int), &raw); err != nil {
				t.Fatal(err)
			}
			size += len(raw)
			if n%512 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
		if err := rows.Err(); err != nil || size != 4096*512*32 {
			t.Fatalf("%s: %d bytes, %v", way, size, err)
		}
		rows.Close()
		// The limit, once more for what is made of it, and the buffers of a connection.
		if grown := int64(most) - int64(before); grown > 8<<20 {
			t.Errorf("%s: %d MB of memory for a stream of %d MB under a limit of 1 MiB", way, grown>>20, size>>20)
		}
	}
	if b := e.cache.Stats().Bytes; b > 1<<20 {
		t.Errorf("%d bytes are kept", b)
	}
}
