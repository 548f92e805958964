package demo

import (
	"context"
	"fmt"
	"testing"
	"github.com/cachedpgx/cachedpgx"
)

func TestAdhoc(t *testing.T) {
	ctx := context.Background()
	srv, err := openServer(ctx, Options{Logf: t.Logf})
	if err != nil { t.Fatal(err) }
	defer srv.close(ctx)
	srv.reload(ctx)
	r := &run{size: sizeOf(false), srv: srv}
	for _, every := range []int{100, 10, 1} {
	for range 2 {
	for _, d := range []string{plain, ours} {
		srv.reload(ctx)
		h, err := r.open(ctx, d)
		if err != nil { t.Fatal(err) }
		n := 20000; if every == 1 { n = 4000 }
		o, err := h.work(ctx, 8, n, every)
		if err != nil { t.Fatal(err) }
		st := h.db.Stats()
		if c, ok := cachedpgx.CacheOf(h.db); ok { st = c.Server().Stats() }
		fmt.Printf("%-10s every %d: asked %d reached %d read %v write median %v p90 %v n=%d took %v; open %d maxidleclosed %d wait %d\n", d, every, o.asked, o.reached, o.read.at(.5), o.write.at(.5), o.write.at(.9), len(o.write), o.took, st.OpenConnections, st.MaxIdleClosed, st.WaitCount)
		h.close()
	}
	}
	}
}
