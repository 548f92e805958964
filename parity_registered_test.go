package cachedpgx_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// What a user's AfterConnect hook registers with a connection decides what its
// rows look like. A hit has no connection, and must look the same.

const parityRegisteredSchema = `
	CREATE TYPE mood AS ENUM ('sad', 'glad', '');
	CREATE TYPE size AS ENUM ('S', 'XL');
	CREATE DOMAIN small AS int CHECK (VALUE < 100);
	CREATE TYPE pair AS (a int, b text);
	CREATE TYPE floatrange AS RANGE (subtype = float8);
	CREATE TABLE own (id int PRIMARY KEY, mo mood, mos mood[], sm small, sms small[], pa pair, pas pair[], fr floatrange, sz size, szs size[], at timestamptz);
	INSERT INTO own VALUES
		(1, 'glad', '{sad,NULL,"",sad}', 7, '{7,NULL}', '(1,"x y")', '{"(1,x)",NULL,"(2,)"}', '[1.5,2)', 'XL', '{XL,S}', '2024-01-31 12:00:00+00'),
		(2, '', '{}', -7, '{}', '(2,"")', '{}', 'empty', 'S', '{}', 'infinity'),
		(3, 'sad', '[0:1]={sad,glad}', 0, '{{1,2},{3,4}}', '(-1,ż)', '[2:2]={"(2,x)"}', '(,)', 'S', '{{S},{XL}}', '0044-03-15 00:00:00+00 BC'),
		(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		(5, NULL, '{NULL}', NULL, '{NULL}', '(,)', '{"(,)",NULL}', NULL, NULL, '{NULL}', NULL);
	CREATE TABLE known (id int PRIMARY KEY, uu uuid, uus uuid[], nu numeric, nus numeric[], nur numrange, tz timestamptz, tzs timestamptz[], tzr tstzrange,
		ts timestamp, js json, jb jsonb, jbs jsonb[]);
	INSERT INTO known VALUES
		(1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}', 1.50, '{1.50,NULL,-2}', '[1.5,2]',
			'2024-01-31 12:00:00+00', '{2024-01-31 12:00:00+00,NULL}', '[2024-01-31 12:00:00+00,)', '2024-07-31 12:00:00',
			' {"a":1.0, "b" : [12345678901234567890]}', '{"a":1.0,"b":[12345678901234567890]}', '{"{\"a\": 1}",NULL,null}'),
		(2, '00000000-0000-0000-0000-000000000000', '{}', 'NaN', '{NaN}', 'empty', 'infinity', '{-infinity}', 'empty', '-infinity', 'null', 'null', '{}'),
		(3, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '{{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}}', 1e-30, '[3:3]={1e30}', '(,)', '0044-03-15 00:00:00+00 BC', '{}', '(,)',
			'0044-03-15 00:00:00 BC', '"x"', '[]', '{1}'),
		(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);`

type parityHook = func(context.Context, *pgx.Conn) error

// parityHooked gives handles over an existing database whose connections run
// the hook.
func parityHooked(t testing.TB, first *pgEnv, hook parityHook, mode string) *pgEnv {
	t.Helper()
	e := parityHandles(t, first, mode)
	e.open(t, e.connector(t, hook, false), e.connector(t, hook, true))
	return e.pgEnv
}

// parityPooled is parityHooked with pgxpools beneath.
func parityPooled(t testing.TB, first *pgEnv, hook parityHook, mode string) *pgEnv {
	t.Helper()
	e := parityHandles(t, first, mode)
	var connectors [2]driver.Connector
	for i := range connectors {
		config, err := pgxpool.ParseConfig(e.dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.AfterConnect = hook
		if i == 1 {
			e.wire.tap(config.ConnConfig)
		}
		pool, err := pgxpool.NewWithConfig(e.ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		connectors[i] = stdlib.GetPoolConnector(pool)
	}
	e.open(t, connectors[0], connectors[1])
	e.plain.SetMaxIdleConns(0) // as GetPoolConnector asks for
	return e.pgEnv
}

type parityEnv struct{ *pgEnv }

func parityHandles(t testing.TB, first *pgEnv, mode string) parityEnv {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	dsn := pgWith(t, pgWith(t, first.dsn, "sslmode", "disable"), "default_query_exec_mode", mode)
	return parityEnv{&pgEnv{TB: t, ctx: ctx, dsn: dsn, wire: newPGWire()}}
}

func (e parityEnv) connector(t testing.TB, hook parityHook, tapped bool) driver.Connector {
	t.Helper()
	config, err := pgx.ParseConfig(e.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if tapped {
		e.wire.tap(config)
	}
	return stdlib.GetConnector(*config, stdlib.OptionAfterConnect(hook))
}

func (e parityEnv) open(t testing.TB, plain, cached driver.Connector) {
	t.Helper()
	e.plain = sql.OpenDB(plain)
	db, err := cachedpgx.OpenDB(cached, cachedpgx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e.db, e.cache = db, pgCacheOf(t, db)
	for _, db := range []*sql.DB{e.plain, e.db} {
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// parityLoads registers types as the server describes them.
func parityLoads(names ...string) parityHook {
	return func(ctx context.Context, conn *pgx.Conn) error {
		for _, name := range names {
			typ, err := conn.LoadType(ctx, name)
			if err != nil {
				return err
			}
			conn.TypeMap().RegisterType(typ)
		}
		return nil
	}
}

// parityLoadsAtOnce is the same by the call that loads many.
func parityLoadsAtOnce(names ...string) parityHook {
	return func(ctx context.Context, conn *pgx.Conn) error {
		types, err := conn.LoadTypes(ctx, names)
		conn.TypeMap().RegisterTypes(types)
		return err
	}
}

// parityID stands for a UUID of another package, in the way of
// github.com/jackc/pgx-google-uuid: the default maps can't scan into it.
type parityID struct{ Hex string }

type parityWrappedID parityID

func (w *parityWrappedID) ScanUUID(v pgtype.UUID) error {
	if !v.Valid {
		return errors.New("cannot scan NULL into *parityID")
	}
	w.Hex = hex.EncodeToString(v.Bytes[:])
	return nil
}

func (w parityWrappedID) UUIDValue() (pgtype.UUID, error) {
	b, err := hex.DecodeString(w.Hex)
	if err != nil || len(b) != 16 {
		return pgtype.UUID{}, fmt.Errorf("%q is no id", w.Hex)
	}
	return pgtype.UUID{Bytes: [16]byte(b), Valid: true}, nil
}

type parityIDScan struct{ next pgtype.ScanPlan }

func (p *parityIDScan) SetNext(next pgtype.ScanPlan) { p.next = next }
func (p *parityIDScan) Scan(src []byte, dst any) error {
	return p.next.Scan(src, (*parityWrappedID)(dst.(*parityID)))
}

type parityIDEncode struct{ next pgtype.EncodePlan }

func (p *parityIDEncode) SetNext(next pgtype.EncodePlan) { p.next = next }
func (p *parityIDEncode) Encode(v any, buf []byte) ([]byte, error) {
	return p.next.Encode(parityWrappedID(v.(parityID)), buf)
}

type parityIDCodec struct{ pgtype.UUIDCodec }

func (c parityIDCodec) DecodeValue(m *pgtype.Map, oid uint32, format int16, src []byte) (any, error) {
	if src == nil {
		return nil, nil
	}
	var id parityID
	err := m.PlanScan(oid, format, &id).Scan(src, &id)
	return id, err
}

func parityRegisterID(_ context.Context, conn *pgx.Conn) error {
	m := conn.TypeMap()
	m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{func(target any) (pgtype.WrappedScanPlanNextSetter, any, bool) {
		if t, ok := target.(*parityID); ok {
			return &parityIDScan{}, (*parityWrappedID)(t), true
		}
		return nil, nil, false
	}}, m.TryWrapScanPlanFuncs...)
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{func(v any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
		if v, ok := v.(parityID); ok {
			return &parityIDEncode{}, parityWrappedID(v), true
		}
		return nil, nil, false
	}}, m.TryWrapEncodePlanFuncs...)
	typ := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: parityIDCodec{}}
	m.RegisterType(typ)
	m.RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: typ}})
	return nil
}

// parityDecimal stands for a decimal of another package, in the way of
// github.com/jackc/pgx-shopspring-decimal.
type parityDecimal struct {
	Digits string
	Exp    int32
}

type parityWrappedDecimal parityDecimal

func (w *parityWrappedDecimal) ScanNumeric(v pgtype.Numeric) error {
	switch {
	case !v.Valid:
		return errors.New("cannot scan NULL into *parityDecimal")
	case v.NaN:
		return errors.New("cannot scan NaN into *parityDecimal")
	case v.InfinityModifier != pgtype.Finite:
		return fmt.Errorf("cannot scan %v into *parityDecimal", v.InfinityModifier)
	}
	w.Digits, w.Exp = v.Int.String(), v.Exp
	return nil
}

func (w parityWrappedDecimal) NumericValue() (pgtype.Numeric, error) {
	n, ok := new(big.Int).SetString(w.Digits, 10)
	if !ok {
		return pgtype.Numeric{}, fmt.Errorf("%q is no number", w.Digits)
	}
	return pgtype.Numeric{Int: n, Exp: w.Exp, Valid: true}, nil
}

type parityDecimalScan struct{ next pgtype.ScanPlan }

func (p *parityDecimalScan) SetNext(next pgtype.ScanPlan) { p.next = next }
func (p *parityDecimalScan) Scan(src []byte, dst any) error {
	return p.next.Scan(src, (*parityWrappedDecimal)(dst.(*parityDecimal)))
}

type parityDecimalEncode struct{ next pgtype.EncodePlan }

func (p *parityDecimalEncode) SetNext(next pgtype.EncodePlan) { p.next = next }
func (p *parityDecimalEncode) Encode(v any, buf []byte) ([]byte, error) {
	return p.next.Encode(parityWrappedDecimal(v.(parityDecimal)), buf)
}

type parityDecimalCodec struct{ pgtype.NumericCodec }

func (c parityDecimalCodec) DecodeValue(m *pgtype.Map, oid uint32, format int16, src []byte) (any, error) {
	if src == nil {
		return nil, nil
	}
	var d parityDecimal
	err := m.PlanScan(oid, format, &d).Scan(src, &d)
	return d, err
}

func tryWrapParityDecimalScan(target any) (pgtype.WrappedScanPlanNextSetter, any, bool) {
	if t, ok := target.(*parityDecimal); ok {
		return &parityDecimalScan{}, (*parityWrappedDecimal)(t), true
	}
	return nil, nil, false
}

func tryWrapParityDecimalEncode(v any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
	if v, ok := v.(parityDecimal); ok {
		return &parityDecimalEncode{}, parityWrappedDecimal(v), true
	}
	return nil, nil, false
}

func parityRegisterDecimal(_ context.Context, conn *pgx.Conn) error {
	m := conn.TypeMap()
	m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{tryWrapParityDecimalScan}, m.TryWrapScanPlanFuncs...)
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{tryWrapParityDecimalEncode}, m.TryWrapEncodePlanFuncs...)
	typ := &pgtype.Type{Name: "numeric", OID: pgtype.NumericOID, Codec: parityDecimalCodec{}}
	m.RegisterType(typ)
	m.RegisterType(&pgtype.Type{Name: "_numeric", OID: pgtype.NumericArrayOID, Codec: &pgtype.ArrayCodec{ElementType: typ}})
	m.RegisterType(&pgtype.Type{Name: "numrange", OID: pgtype.NumrangeOID, Codec: &pgtype.RangeCodec{ElementType: typ}})
	return nil
}

// parityRegisterPlace has times scanned in a place of their own.
func parityRegisterPlace(_ context.Context, conn *pgx.Conn) error {
	m, place := conn.TypeMap(), time.FixedZone("Elsewhere", -3*3600)
	typ := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: place}}
	m.RegisterType(typ)
	m.RegisterType(&pgtype.Type{Name: "timestamp", OID: pgtype.TimestampOID, Codec: &pgtype.TimestampCodec{ScanLocation: place}})
	m.RegisterType(&pgtype.Type{Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: typ}})
	m.RegisterType(&pgtype.Type{Name: "tstzrange", OID: pgtype.TstzrangeOID, Codec: &pgtype.RangeCodec{ElementType: typ}})
	return nil
}

// parityRegisterJSON keeps numbers as they were written.
func parityRegisterJSON(_ context.Context, conn *pgx.Conn) error {
	unmarshal := func(data []byte, v any) error {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		return d.Decode(v)
	}
	m := conn.TypeMap()
	m.RegisterType(&pgtype.Type{Name: "json", OID: pgtype.JSONOID, Codec: &pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: unmarshal}})
	typ := &pgtype.Type{Name: "jsonb", OID: pgtype.JSONBOID, Codec: &pgtype.JSONBCodec{Marshal: json.Marshal, Unmarshal: unmarshal}}
	m.RegisterType(typ)
	m.RegisterType(&pgtype.Type{Name: "_jsonb", OID: pgtype.JSONBArrayOID, Codec: &pgtype.ArrayCodec{ElementType: typ}})
	return nil
}

type parityMood string

// parityMade is a pair.
type parityMade struct {
	A *int32
	B *string
}

// parityRegisterDefaults says by the Go type what a column is that the map
// doesn't know.
func parityRegisterDefaults(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterDefaultPgType(parityMood(""), "text")
	conn.TypeMap().RegisterDefaultPgType([]parityMood{}, "_text")
	conn.TypeMap().RegisterDefaultPgType(&[]parityMood{}, "_text")
	return nil
}

// parityStateful is a codec with a state of its own: the rows of one connection
// are read by one goroutine at a time, so it needs no lock. Go sees unguarded
// use of its map with -race; overlaps are counted without.
type parityStateful struct {
	pgtype.Codec
	busy     atomic.Bool
	overlaps *atomic.Int64
	seen     map[string]int
}

func (c *parityStateful) use(what string) (done func()) {
	if !c.busy.CompareAndSwap(false, true) {
		c.overlaps.Add(1)
		return func() {}
	}
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[what]++
	return func() { c.busy.Store(false) }
}

func (c *parityStateful) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	defer c.use("a plan")()
	next := c.Codec.PlanScan(m, oid, format, target)
	if next == nil {
		return nil
	}
	return &parityStatefulScan{c, next}
}

func (c *parityStateful) DecodeValue(m *pgtype.Map, oid uint32, format int16, src []byte) (any, error) {
	defer c.use(string(src))()
	v, err := c.Codec.DecodeValue(m, oid, format, src)
	if s, ok := v.(string); ok {
		v = "<" + s + ">"
	}
	return v, err
}

type parityStatefulScan struct {
	codec *parityStateful
	next  pgtype.ScanPlan
}

func (p *parityStatefulScan) Scan(src []byte, dst any) error {
	defer p.codec.use(string(src))()
	err := p.next.Scan(src, dst)
	if t, ok := dst.(*pgtype.Timestamptz); ok {
		t.Time = t.Time.Add(time.Second) // so that it shows who has decoded it
	}
	return err
}

// parityRegisterStateful gives each connection codecs of its own.
func parityRegisterStateful(overlaps *atomic.Int64) parityHook {
	return func(ctx context.Context, conn *pgx.Conn) error {
		var oid, array uint32
		if err := conn.QueryRow(ctx, "SELECT oid, typarray FROM pg_type WHERE oid = 'mood'::regtype").Scan(&oid, &array); err != nil {
			return err
		}
		typ := &pgtype.Type{Name: "mood", OID: oid, Codec: &parityStateful{Codec: pgtype.TextCodec{}, overlaps: overlaps}}
		conn.TypeMap().RegisterType(typ)
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
			Codec: &parityStateful{Codec: &pgtype.TimestamptzCodec{}, overlaps: overlaps}})
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "_mood", OID: array, Codec: &pgtype.ArrayCodec{ElementType: typ}})
		return nil
	}
}

// parityChain runs hooks one after another.
func parityChain(hooks ...parityHook) parityHook {
	return func(ctx context.Context, conn *pgx.Conn) error {
		for _, hook := range hooks {
			if err := hook(ctx, conn); err != nil {
				return err
			}
		}
		return nil
	}
}

var parityOwnTypes = []string{"mood", "_mood", "small", "_small", "pair", "_pair", "floatrange"}

// parityOwnDests are destinations that need what the hooks register.
var parityOwnDests = []func() any{
	parityInto[parityMood], parityInto[[]parityMood], parityInto[[]*string], parityInto[[]any], parityInto[[]int32], parityInto[[]*int64],
	parityInto[pgtype.Array[*string]], parityInto[pgtype.Range[pgtype.Float8]],
	parityInto[parityMade], parityInto[[]*parityMade],
	parityInto[parityID], parityInto[*parityID], parityInto[[]parityID], parityInto[[]*parityID], parityInto[pgtype.UUID],
	parityInto[parityDecimal], parityInto[*parityDecimal], parityInto[[]*parityDecimal], parityInto[pgtype.Range[*parityDecimal]], parityInto[pgtype.Numeric],
	parityInto[pgtype.Timestamptz], parityInto[[]*time.Time], parityInto[pgtype.Range[pgtype.Timestamptz]],
	parityInto[map[string]any], parityInto[[]map[string]any], parityInto[*struct{ A any }],
}

// parityRegisteredQuestions leave NULLs in composites and alone in arrays to
// destinations that they fit: see parityRead.
var parityRegisteredQuestions = []parityCase{
	{text: "SELECT * FROM own ORDER BY id", dests: parityBase, served: parityMemory},
	{text: "SELECT * FROM own WHERE id < 4 ORDER BY id", native: parityOwnDests, served: parityMemory},
	{text: "SELECT * FROM known ORDER BY id", dests: parityBase, native: parityOwnDests, served: parityMemory},
}

// parityRegistrations are what hooks do. shows is what plain pgx's answer must
// hold for the registration to have had any effect; shows127 is what it holds
// as well where the driver scans columns.
var parityRegistrations = []struct {
	name            string
	hook            parityHook
	shows, shows127 string
	nullable        map[string][]func() any // what NULLs of some columns fit, by columns
}{
	{"types as the server has them", parityLoads(parityOwnTypes...), "mo MOOD string", "cachedpgx_test.parityMood",
		map[string][]func() any{
			"mos FROM own ORDER BY id": {parityInto[[]parityMood], parityInto[[]*string], parityInto[[]any], parityInto[pgtype.Array[*string]]},
			"sms FROM own ORDER BY id": {parityInto[[]*int32], parityInto[pgtype.FlatArray[pgtype.Int4]]},
			"pa FROM own ORDER BY id":  {parityInto[*parityMade]},
			"pas FROM own ORDER BY id": {parityInto[[]*parityMade], parityInto[[]parityMade]},
			"fr FROM own ORDER BY id":  {parityInto[pgtype.Range[pgtype.Float8]], parityInto[*pgtype.Range[*float64]]},
		}},
	{"the same, loaded at once", parityLoadsAtOnce("mood", "mood[]", "small", "pair", "pair[]", "floatrange"), "pa PAIR string", "A: *int32(1)", nil},
	{"a codec for uuid", parityRegisterID, "", "Hex: string(\"a0eebc99",
		map[string][]func() any{
			"uu FROM known ORDER BY id":  {parityInto[parityID], parityInto[*parityID], parityInto[pgtype.UUID]},
			"uus FROM known ORDER BY id": {parityInto[[]parityID], parityInto[[]*parityID], parityInto[[]any]},
		}},
	{"a codec for numeric", parityRegisterDecimal, "", "Digits: string(\"15",
		map[string][]func() any{
			"nu FROM known ORDER BY id":  {parityInto[parityDecimal], parityInto[*parityDecimal], parityInto[pgtype.Numeric]},
			"nus FROM known ORDER BY id": {parityInto[[]parityDecimal], parityInto[[]*parityDecimal], parityInto[[]any]},
			"nur FROM known ORDER BY id": {parityInto[pgtype.Range[*parityDecimal]]},
		}},
	{"times in a place", parityRegisterPlace, "Elsewhere", "Elsewhere", nil},
	{"json with numbers as written", parityRegisterJSON, "", "json.Number(\"12345678901234567890\")", nil},
	{"default types", parityRegisterDefaults, "", "*[]cachedpgx_test.parityMood{", nil},
	{"a codec with a state", parityRegisterStateful(new(atomic.Int64)), ", 1, 0, time.", "<glad>", nil},
	{"all together", parityChain(parityLoads(parityOwnTypes...), parityRegisterID, parityRegisterDecimal, parityRegisterPlace, parityRegisterJSON, parityRegisterDefaults), "mo MOOD string", "Hex: string(\"a0eebc99", nil},
}

// TestParityOfRegisteredTypes reads what a hook has registered codecs for, and
// what stands beside it. Kinds 8 and 11.
func TestParityOfRegisteredTypes(t *testing.T) {
	first := newPG(t, parityRegisteredSchema)
	for _, r := range parityRegistrations {
		for _, mode := range []string{"cache_statement", "simple_protocol"} {
			if mode == "simple_protocol" && r.name != "all together" {
				continue // the types that hooks register come as text in each mode
			}
			t.Run(r.name+", "+mode, func(t *testing.T) {
				e := parityHooked(t, first, r.hook, mode)
				shown := ""
				for _, c := range parityRegisteredQuestions {
					if r.name != "all together" { // which does it at length
						c.brief, c.dests = true, nil
					}
					e.parity(c)
					rows, err := e.plain.QueryContext(e.ctx, c.text)
					shown += fmt.Sprint(parityRead(rows, err, c.dests, c.native))
				}
				for columns, dests := range r.nullable {
					e.parity(parityCase{text: "SELECT " + columns, dests: dests, served: parityMemory, brief: true})
				}
				if !strings.Contains(shown, r.shows) {
					t.Errorf("nothing shows %q: the registration has no effect", r.shows)
				}
				if parityScansColumns && !strings.Contains(shown, r.shows127) {
					t.Errorf("nothing shows %q: the registration has no effect", r.shows127)
				}
			})
		}
	}
	t.Run("through a pgxpool", func(t *testing.T) {
		e := parityPooled(t, first, parityLoads(parityOwnTypes...), "cache_statement")
		for _, c := range parityRegisteredQuestions {
			e.parity(c)
		}
	})
}

// TestParityOfRegisteredArguments sends arguments that only the connection's
// map can encode. Kind 3.
func TestParityOfRegisteredArguments(t *testing.T) {
	first := newPG(t, parityRegisteredSchema)
	hook := parityRegistrations[len(parityRegistrations)-1].hook
	id := parityID{Hex: "a0eebc999c0b4ef8bb6d6bb9bd380a11"}
	e := parityHooked(t, first, hook, "cache_statement")
	for _, c := range []parityCase{
		{text: "SELECT id, uu FROM known WHERE uu = $1", args: []any{id}},
		{text: "SELECT id, uu FROM known WHERE uu = $1", args: []any{&id}},
		{text: "SELECT id, uu FROM known WHERE uu = $1", args: []any{parityID{Hex: strings.Repeat("f", 32)}}},
		{text: "SELECT id, uu FROM known WHERE uu = ANY($1) ORDER BY id", args: []any{[]parityID{id, {Hex: strings.Repeat("f", 32)}}}},
		{text: "SELECT id, nu FROM known WHERE nu = $1", args: []any{parityDecimal{Digits: "15", Exp: -1}}},
		{text: "SELECT id, nu FROM known WHERE nu = $1", args: []any{parityDecimal{Digits: "1", Exp: -30}}},
		{text: "SELECT id, mo FROM own WHERE mo = $1", args: []any{parityMood("glad")}},
		{text: "SELECT id, mo FROM own WHERE mo = ANY($1) ORDER BY id", args: []any{[]parityMood{"glad", "sad"}}},
		{text: "SELECT id, pa FROM own WHERE pa = $1::pair", args: []any{pgtype.CompositeFields{1, "x y"}}},
		{text: "SELECT id, sz FROM own WHERE sz = $1", args: []any{"XL"}},
		{text: "SELECT id, uu FROM known WHERE uu = $1", args: []any{parityID{Hex: "no"}}, served: parityEither},
		{text: "SELECT id, nu FROM known WHERE nu = $1", args: []any{id}, served: parityEither},
	} {
		c.name = fmt.Sprintf("%s %+v", c.text, c.args)
		e.parity(c)
	}
}

// TestParityOfStatefulCodecs has many goroutines scan one hot entry of types
// whose codecs keep a state, some leaving in the middle, while others read the
// same types past the cache, on the connections that the codecs belong to. Run
// it with -race. Kind 8.
func TestParityOfStatefulCodecs(t *testing.T) {
	first := newPG(t, parityRegisteredSchema)
	var overlaps atomic.Int64
	for _, r := range []struct {
		name string
		hook parityHook
	}{
		{"a codec of the user's", parityRegisterStateful(&overlaps)},
		{"pgx's codec of enums, which remembers labels", parityLoads(parityOwnTypes...)},
	} {
		t.Run(r.name, func(t *testing.T) {
			e := parityHooked(t, first, r.hook, "cache_statement")
			const text = "SELECT id, mo, mos, sm, pa, at FROM own WHERE id < 5 ORDER BY id"
			const past = "SELECT id, mo, mos, sm, pa, at FROM own WHERE id < 5 ORDER BY id -- in a transaction"
			dests := []func() any{parityInto[any], parityInto[string], parityInto[parityMood]}
			native := []func() any{parityInto[[]any], parityInto[[]string], parityInto[[]*parityMood]}
			read := func(ctx context.Context, q pgQuerier, text string) pgAnswer {
				rows, err := q.QueryContext(ctx, text)
				return parityRead(rows, err, dests, native)
			}
			want := read(e.ctx, e.plain, text)
			e.warm(text)
			before := e.wire.ran(text)
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					for range 8 {
						if i%4 == 3 {
							parityLeave(e, text)
							continue
						}
						if diff := parityDiff(want, read(e.ctx, e.db, text)); diff != "" {
							t.Errorf("a hit beside others: %s", diff)
							return
						}
					}
				})
			}
			for range 4 {
				wg.Go(func() {
					for range 8 {
						tx, err := e.db.BeginTx(e.ctx, nil)
						if err != nil {
							t.Error(err)
							return
						}
						if diff := parityDiff(want, read(e.ctx, tx, past)); diff != "" {
							t.Errorf("a read past the cache: %s", diff)
						}
						if err := tx.Rollback(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := e.wire.ran(text) - before; n != 0 {
				t.Errorf("the hot entry was read from the server %d times", n)
			}
			if n := overlaps.Load(); n != 0 {
				t.Errorf("a codec was used by two at a time, %d times", n)
			}
		})
	}
}

// parityLeave scans a row, and cancels before it scans the next.
func parityLeave(e *pgEnv, text string) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	rows, err := e.db.QueryContext(ctx, text)
	if err != nil {
		e.Error(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		into := []any{new(any), new(string), new(any), new(any), new(any), new(any)}
		_ = rows.Scan(into...) // the last row has NULLs, or ctx has ended
		cancel()
	}
	if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) {
		e.Errorf("rows whose context has ended: %v", err)
	}
}
