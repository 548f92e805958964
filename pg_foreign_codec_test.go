package cachedpgx_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// foreignFloat is a codec that can't be copied, and decodes otherwise than pgx.
type foreignFloat struct {
	pgtype.Float4Codec
	seen map[float32]int
}

func (c *foreignFloat) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*float32); ok && format == pgtype.BinaryFormatCode {
		return foreignFloatPlan{c}
	}
	return c.Float4Codec.PlanScan(m, oid, format, target)
}

type foreignFloatPlan struct{ c *foreignFloat }

func (p foreignFloatPlan) Scan(src []byte, target any) error {
	v := math.Float32frombits(binary.BigEndian.Uint32(src))
	p.c.seen[v]++
	*target.(*float32) = v + 1000
	return nil
}

// TestPGForeignCodecFromTheFirstLoad has no connection yet whose codec others may
// use: what is read is decoded by the connection that reads it.
func TestPGForeignCodecFromTheFirstLoad(t *testing.T) {
	e := newPG(t, "CREATE TABLE measured (id int, v float4); INSERT INTO measured VALUES (1, 1.5), (2, NULL), (3, 2.5)")
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		t.Fatal(err)
	}
	hook := stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "float4", OID: pgtype.Float4OID, Codec: &foreignFloat{seen: map[float32]int{}}})
		return nil
	})
	plain := sql.OpenDB(pgConnector(config, hook))
	defer plain.Close()
	db, err := cachedpgx.OpenDB(pgConnector(config, hook), cachedpgx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const text = "SELECT id, v FROM measured WHERE id >= $1 ORDER BY id"
	for i := range 4 {
		for _, arg := range []any{1, wireID(1), 3, wireID(9)} {
			want := pgAsk(e.ctx, plain, text, arg)
			if i == 0 && arg == 1 && want.Rows[0][1] != "float64(1001.5)" {
				t.Fatalf("plain pgx gives %v: this test tries nothing", want)
			}
			if diff := pgDiff(want, pgAsk(e.ctx, db, text, arg)); diff != "" {
				t.Errorf("call %d by %T: %s", i, arg, diff)
			}
		}
	}
}

// shiftedFloat decodes as foreignFloat, without a state.
type shiftedFloat struct{ pgtype.Float4Codec }

func (c shiftedFloat) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	return (&foreignFloat{seen: map[float32]int{}}).PlanScan(m, oid, format, target)
}

// TestPGMoreKindsOfConnectionsThanAreKept has a hook that registers something
// else on each connection. Rows of one too many are decoded by itself alone.
func TestPGMoreKindsOfConnectionsThanAreKept(t *testing.T) {
	e := newPG(t, "CREATE TABLE measured (id int, v float4); INSERT INTO measured SELECT i, i FROM generate_series(1, 40) i")
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		t.Fatal(err)
	}
	var dialled atomic.Uint32
	db, err := cachedpgx.OpenDB(pgConnector(config, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		n := dialled.Add(1)
		conn.TypeMap().RegisterType(&pgtype.Type{Name: fmt.Sprint("own", n), OID: 900_000 + n, Codec: pgtype.TextCodec{}})
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "float4", OID: pgtype.Float4OID, Codec: shiftedFloat{}})
		return nil
	})), cachedpgx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	own := *e
	own.cache = pgCacheOf(t, db)
	for i := range 24 {
		own.freshServerConnections()
		for range 2 {
			want := fmt.Sprintf("float64(%d)", 1000+i+1)
			if got := own.one(db, "SELECT v FROM measured WHERE id = $1", i+1); got != want {
				t.Errorf("on connection %d: %s, want %s", dialled.Load(), got, want)
			}
		}
	}
	if n := dialled.Load(); n < 20 {
		t.Errorf("only %d connections were dialled: this test tries nothing", n)
	}
}
