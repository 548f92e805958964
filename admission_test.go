package cachedpgx

import (
	"database/sql/driver"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A connection builds its next key where its last one was: who outlives the
// call must see none of it.
func TestOwnedAdmissionOutlivesTheNextCall(t *testing.T) {
	a := &admission{}
	a.setKey([]byte("the statement, then 7"), len("the statement, then "))
	own := a.owned()

	a.setKey(append(a.buf[:0], "the statement, then 8"...), len("the statement, then "))
	if own.key != "the statement, then 7" || own.params != "7" || own.buf != nil {
		t.Errorf("it became %q with %q", own.key, own.params)
	}
	if a.key != "the statement, then 8" || a.params != "8" {
		t.Errorf("the next call has %q with %q", a.key, a.params)
	}
}

// One large key must not stay with a connection for ever.
func TestLargeKeyIsNotKept(t *testing.T) {
	a := &admission{}
	a.setKey(make([]byte, mostKept), 0)
	if cap(a.buf) != mostKept {
		t.Errorf("of a key of %d bytes %d are kept", mostKept, cap(a.buf))
	}
	a.setKey([]byte(strings.Repeat("x", 4*mostKept)), 0)
	if cap(a.buf) > mostKept || len(a.key) != 4*mostKept {
		t.Errorf("%d bytes are kept", cap(a.buf))
	}
}

// Every value says what it is before it says which: otherwise a time could end
// where other arguments do.
func TestEveryArgumentHasATag(t *testing.T) {
	tags := map[byte]any{}
	for _, v := range []any{nil, []byte(nil), []int64(nil), false, true, 1, uint(1), float32(1), 1.0, "x", []byte("x"), time.Unix(0, 0), []int64{1}} {
		b, kind := appendArgument(nil, &driver.NamedValue{Ordinal: 1, Value: v})
		if kind == argumentOpaque || len(b) < 2 || b[0] != 0 {
			t.Errorf("%T is keyed as %v", v, b)
			continue
		}
		if other, ok := tags[b[1]]; ok {
			t.Errorf("%T and %T have one tag", v, other)
		}
		tags[b[1]] = v
	}
}

// A nil map of formats is an order: pgx then goes by the other formats, and
// without it by stdlib's.
func TestNilFormatsAreAnOrder(t *testing.T) {
	key := func(given ...any) string {
		q := asked(given...)
		q.takeOrders(byQuery)
		return string(appendHead(nil, keyHead{scope: 1, statement: 2, orders: q.orders}))
	}
	for _, order := range []any{pgx.QueryResultFormats{1}, pgx.QueryExecModeExec} {
		if key(order) == key(order, pgx.QueryResultFormatsByOID(nil)) {
			t.Errorf("%T with and without a nil map of formats have one key", order)
		}
	}
	if key(pgx.QueryExecModeExec) == key(pgx.QueryExecModeExec, pgx.QueryResultFormats{}) {
		t.Error("no list of formats and an empty one have one key")
	}
}

// A load may go on when its call has returned: it holds nothing of the caller's,
// through pointers neither.
func TestDetachedArgumentsShareNothing(t *testing.T) {
	list, bytes, text := []int64{1, 2}, []byte("ab"), "before"
	args := detached([]driver.NamedValue{{Value: list}, {Value: &list}, {Value: bytes}, {Value: &bytes}, {Value: &text}})
	list[0], bytes[0], text = 9, 'z', "after"
	for i, ok := range []bool{
		slices.Equal(args[0].Value.([]int64), []int64{1, 2}),
		slices.Equal(*args[1].Value.(*[]int64), []int64{1, 2}),
		string(args[2].Value.([]byte)) == "ab",
		string(*args[3].Value.(*[]byte)) == "ab",
		*args[4].Value.(*string) == "before",
	} {
		if !ok {
			t.Errorf("argument %d, a %T, changed with the caller's", i, args[i].Value)
		}
	}
}

type rowCount int

func (n rowCount) Len() int                                   { return int(n) }
func (n rowCount) Size() int64                                { return 1 }
func (n rowCount) Reader(reading, error) (driver.Rows, error) { return nil, nil }

// Of a result with rows and an empty one of the same key, the one whose load
// started later stays, in whatever order they are stored.
func TestLaterLoadStays(t *testing.T) {
	for name, loads := range map[string][]struct {
		rows  rowCount
		start instant
	}{
		"empty, then rows of before":  {{0, 10}, {1, 5}},
		"rows, then empty of before":  {{1, 10}, {0, 5}},
		"rows, then empty of after":   {{1, 5}, {0, 10}},
		"empty, then rows of after":   {{0, 5}, {1, 10}},
		"rows, then rows of before":   {{1, 10}, {2, 5}},
		"empty, then empty of before": {{0, 10}, {0, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(1<<20, 1<<20, func() instant { return 0 }, func() {})
			defer s.close()
			for _, l := range loads {
				s.put("key", &entry{rows: l.rows, start: l.start, expiry: instant(time.Minute)})
			}
			e, negative, ok := s.get("key")
			if !ok || e.start != 10 || negative != (e.rows.Len() == 0) {
				t.Errorf("kept %+v, empty %v, %v", e, negative, ok)
			}
		})
	}
}

// No result may be kept that is larger than the whole memory.
func TestLimitsEndWithTheMemory(t *testing.T) {
	c := &Cache{cfg: Config{MaxBytes: 100}}
	for most, want := range map[int64]int64{50: 50, 100: 100, 500: 100, Off: 100} {
		if got := c.limitsOf(Policy{MaxRows: 7, MaxResultBytes: most}); got.Bytes != want || got.Rows != 7 {
			t.Errorf("MaxResultBytes %d gives %+v", most, got)
		}
	}
}

// One call's wish is not the next one's: the terms of a statement stay as they
// are, and a load keeps those it began on.
func TestWishesChangeNoTerms(t *testing.T) {
	a := &admission{judged: &judgement{}, wish: &wish{marked: true}}
	first := a.termsFor()
	a.wish = &noWish
	if second := a.termsFor(); !first.marked || second.marked || second != &a.judged.terms {
		t.Errorf("marked %v, then %v", first.marked, second.marked)
	}
}
