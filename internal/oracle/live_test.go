package oracle

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func connect(t *testing.T) *Live {
	t.Helper()
	l, err := Connect(context.Background(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// What a server makes of a statement names nothing that the scanner doesn't.
func TestLive(t *testing.T) {
	n := many(t, 500, 20_000)
	l, ctx := connect(t), context.Background()
	t.Logf("seed %d", seed)
	g := NewTyped(seed)
	var tally Tally
	refused := map[string]int{}
	taken := 0
	for range n {
		text := g.Next()
		o, err := l.Compare(ctx, text)
		if err != nil {
			if !errors.Is(err, errRefused) {
				t.Fatalf("%s\n%v", text, err)
			}
			refused[err.Error()]++
		} else {
			taken++
		}
		tally.Add(text, o)
	}
	t.Logf("%d of %d taken by the server", taken, n)
	t.Log(&tally)
	for _, text := range tally.Faulty() {
		text = Shrink(text, func(text string) string { o, _ := l.Compare(ctx, text); return firstFault(o) })
		o, _ := l.Compare(ctx, text)
		t.Errorf("%s\n\t%s", text, strings.Join(o.Faults, "\n\t"))
	}
	if taken*10 < n*8 {
		t.Errorf("the server takes %d of %d: %v", taken, n, refused)
	}
}

// A date word that the scanner lets be is one that no server reads; others, in
// all their disguises, are seen.
func TestDateWords(t *testing.T) {
	n := many(t, 2_000, 200_000)
	l, ctx := connect(t), context.Background()
	wrong, seen, released, err := l.DateWords(ctx, seed, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: %d seen, %d let be", seed, seen, released)
	for _, w := range wrong {
		t.Error(w)
	}
	if seen == 0 || released == 0 {
		t.Error("nothing was tried")
	}
}

// The server reads what the scanner's rule is about.
func TestDatesThatServersRead(t *testing.T) {
	l, ctx := connect(t), context.Background()
	if _, err := l.pc.Exec(ctx, readsDates).ReadAll(); err != nil {
		t.Fatal(err)
	}
	for literal, want := range map[string]string{
		"%today%": "date", "_today_": "date", `{n\ow}`: "date[]", `(to"day",some words)`: "shop.span", "today hiring+3": "date",
		"today shipping": "", "now, everybody": "", "nowadays": "",
	} {
		if got, err := l.readBy(ctx, literal); err != nil || got != want {
			t.Errorf("%q is read by %q, %v, want %q", literal, got, err, want)
		}
	}
}
