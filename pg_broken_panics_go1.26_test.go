//go:build !go1.27

package cachedpgx_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// brokenPanics is a codec that panics on one value.
type brokenPanics struct{ pgtype.Int4Codec }

type brokenPanicsPlan struct{ pgtype.ScanPlan }

func (c brokenPanics) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if plan := c.Int4Codec.PlanScan(m, oid, format, target); plan != nil {
		return brokenPanicsPlan{plan}
	}
	return nil
}

func (p brokenPanicsPlan) Scan(src []byte, dst any) error {
	if len(src) == 4 && src[3] == 66 {
		panic("the codec's own")
	}
	return p.ScanPlan.Scan(src, dst)
}

// TestPGBrokenCodecPanics reads rows one of which makes a codec panic: who reads
// on to it has the panic where plain pgx has it, who does not gets their rows,
// and database/sql gets its connection back. Kinds 10 and 13.
//
// With Go 1.27 codecs run in Scan, and database/sql itself hangs after a panic
// there, over plain pgx, too: it closes the rows while Scan still holds them.
func TestPGBrokenCodecPanics(t *testing.T) {
	h := brokenHooked(newPG(t, "CREATE TABLE t (id int4, v int4); INSERT INTO t VALUES (1, 1), (2, 66); CREATE TABLE written (id int)"),
		func(_ context.Context, conn *pgx.Conn) error {
			conn.TypeMap().RegisterType(&pgtype.Type{Name: "int4", OID: pgtype.Int4OID, Codec: brokenPanics{}})
			return nil
		}, cachedpgx.Config{})
	type row interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	read := func(ctx context.Context, from row, text string) (result string) {
		defer func() {
			if v := recover(); v != nil {
				result = fmt.Sprint("panics: ", v)
			}
		}()
		var n int
		err := from.QueryRowContext(ctx, text).Scan(&n)
		return fmt.Sprint(n, " ", err)
	}
	for _, c := range []struct{ name, text string }{
		{"the first row", "SELECT v FROM t ORDER BY id DESC"},
		{"a row that is not read", "SELECT v FROM t ORDER BY id"},
	} {
		for _, where := range []string{"the handle", "a session", "a session that has written"} {
			t.Run(c.name+" in "+where, func(t *testing.T) {
				h := h.on(t)
				var results [2]string
				h.watched(1, func(ctx context.Context, _ int) error {
					for i, db := range []*sql.DB{h.plain, h.db} {
						var from row = db
						var conn *sql.Conn
						if where != "the handle" {
							var err error
							if conn, err = db.Conn(ctx); err != nil {
								return err
							}
							from = conn
							if where == "a session that has written" {
								h.must(conn, "INSERT INTO written VALUES (1)")
							}
						}
						for _, text := range []string{c.text, c.text, "SELECT v FROM t WHERE id = 1"} {
							results[i] += read(ctx, from, text) + "; "
						}
						if conn != nil {
							if err := conn.Close(); err != nil {
								return err
							}
						}
					}
					return nil
				})
				if results[1] != results[0] {
					t.Errorf("%s, plain pgx gives %s", results[1], results[0])
				}
				h.eventually("no connection is in use", func() bool {
					return h.db.Stats().InUse == 0 && h.cache.Server().Stats().InUse == 0 && h.cache.Stats().Loading == 0
				})
			})
		}
	}
}
