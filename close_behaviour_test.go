package cachedpgx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"go.uber.org/goleak"
)

// The end of a handle leaves nothing behind: fault kind 15.

func TestClosedConnector(t *testing.T) {
	f := newFake(t, nil)
	c, err := cachedpgx.NewConnector(f, quiet())
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	readInt(t, long(t.Context()), db, product, 1)
	session, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	readInt(t, t.Context(), session, product, 2)
	for range 3 {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := c.Connect(t.Context()); !errors.Is(err, cachedpgx.ErrClosed) {
		t.Errorf("Connect: %v", err)
	}
	// A session in use may go on, or not; it does not hang, and its end closes
	// its server connection.
	within(t, 20*time.Second, func() {
		for _, ctx := range []context.Context{t.Context(), long(t.Context())} {
			_ = session.QueryRowContext(ctx, product, 3).Scan(new(int))
		}
	})
	if err := session.Close(); err != nil && !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("session: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close of a closed handle: %v", err)
	}
	c.Cache().SetMode(cachedpgx.ModeOff)
	c.Cache().Stats()
	if err := c.Cache().Flush(context.Background()); err != nil && !errors.Is(err, cachedpgx.ErrClosed) {
		t.Errorf("Flush: %v", err)
	}
	if n := f.open(); n != 0 {
		t.Errorf("%d server connections are open", n)
	}
}

// Close ends a load under way, and waits for it; nobody is stranded.
func TestCloseDuringALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		f := newFake(t, func(ctx context.Context, c call) reply {
			<-ctx.Done()
			ended = true
			return reply{err: ctx.Err()}
		})
		c, err := cachedpgx.NewConnector(f, quiet())
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(c)
		var readers []<-chan answer
		for range 5 {
			readers = append(readers, ask(long(t.Context()), db, 1))
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- db.Close() }()
		for i, r := range readers {
			select {
			case a := <-r:
				if a.err == nil {
					t.Errorf("reader %d: %+v", i, a)
				}
			case <-time.After(time.Minute):
				t.Fatal("a reader is stranded by Close")
			}
		}
		select {
		case <-closed:
		case <-time.After(time.Minute):
			t.Fatal("Close never returns")
		}
		synctest.Wait()
		if !ended {
			t.Error("the load goes on")
		}
		if n := f.open(); n != 0 {
			t.Errorf("%d server connections are open", n)
		}
	})
}

func TestCloseLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	f := newFake(t, nil)
	for range 3 {
		db, err := cachedpgx.OpenDB(f, cachedpgx.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() { mixed(t, t.Context(), db, i) })
		}
		wg.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if n := f.open(); n != 0 {
			t.Errorf("%d server connections are open", n)
		}
		if err := goleak.Find(ignore); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoThousandOpensLeaveNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	f := newFake(t, func(context.Context, call) reply { return value("v") })
	open := func(i int) {
		db, err := cachedpgx.OpenDB(f, quiet())
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			if _, err := readAll[string](long(t.Context()), db, product, 1); err != nil {
				t.Fatal(err)
			}
		}
		db.Close()
		byName, err := sql.Open("cachedpgx", "host=localhost cache_ttl=5s")
		if err != nil {
			t.Fatal(err)
		}
		byName.Close()
	}
	open(0)
	before := heap()
	for i := range 2000 {
		open(i)
	}
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
	if n := f.open(); n != 0 {
		t.Errorf("%d server connections are open", n)
	}
}
