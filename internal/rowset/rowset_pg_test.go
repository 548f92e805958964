package rowset

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
)

// pgConfig returns the test server's configuration.
func pgConfig(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	cfg, err := pgx.ParseConfig(pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// pgValues are expressions of the types that stdlib treats in a way of their
// own, and of many that it treats as text.
var pgValues = []string{
	"true", "false", "null::bool",
	`'\x'::bytea`, `'\x00ff10'::bytea`, "null::bytea",
	"'0'::cid", "'4294967295'::cid", "0::oid", "4294967295::oid", "'3'::xid", "null::xid",
	"'2024-02-29'::date", "'infinity'::date", "'-infinity'::date", "'0044-03-15 BC'::date", "'5874897-12-31'::date", "null::date",
	"0::float4", "'NaN'::float4", "'-Infinity'::float4", "3.4e38::float4", "1.1::float4", "null::float4",
	"'-0'::float8", "'NaN'::float8", "'Infinity'::float8", "5e-324::float8", "0.1::float8",
	"(-32768)::int2", "32767::int2", "(-2147483648)::int4", "2147483647::int4", "(-9223372036854775808)::int8", "9007199254740993::int8", "null::int8",
	`'{"a":  1, "a": 2}'::json`, `'{"a":  1}'::jsonb`, "'null'::jsonb", `'" \u00e9"'::jsonb`, "null::json",
	"'2024-02-29 23:59:59.999999'::timestamp", "'infinity'::timestamp", "'0001-01-01 00:00:00 BC'::timestamp", "'294276-12-31 23:59:59'::timestamp", "null::timestamp",
	"'2024-02-29 23:59:59.999999+05:30'::timestamptz", "'-infinity'::timestamptz", "'4713-01-01 00:00:00 BC'::timestamptz", "null::timestamptz",
	"xml '<a b=\"1\"> </a>'", "null::xml",
	"''::text", "'é €'::text", "'a'::varchar(10)", "'a'::varchar", "'a'::char(5)", "'a'::bpchar", "'x'::\"char\"", "'n'::name", "null",
	"1.10::numeric", "1.10::numeric(10,2)", "'NaN'::numeric", "'Infinity'::numeric", "1e100::numeric", "1e-20::numeric", "null::numeric",
	"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "'1 year -2 mons 3 days 04:05:06.7'::interval", "'1 day'::interval(2)", "'1 day'::interval day",
	"'10.0.0.1/8'::inet", "'::1'::inet", "'10.0.0.0/8'::cidr", "'08:00:2b:01:02:03'::macaddr",
	"'12:00:00.5'::time", "'24:00:00'::time(3)", "'12:00:00+02'::timetz", "'12:00:00+02'::timetz(1)",
	"b'101'::bit(3)", "b'101'::varbit(7)", "b'1'::varbit", "'(1,2)'::point", "'1.5'::money", "'(0,1)'::tid",
	"'{}'::int4[]", "'{1,NULL,3}'::int4[]", "'{{1,2},{3,4}}'::int4[]", "'[0:1]={1,2}'::int4[]", `'{a,"b c",NULL,""}'::text[]`, "'{1.5,NaN}'::numeric[]", `'{"\\x00"}'::bytea[]`, "'{true,false}'::bool[]",
	"'{2024-01-01,infinity}'::date[]", "'{10.0.0.1}'::inet[]", "'{}'::jsonb[]", "null::int4[]",
	"'[1,5)'::int4range", "'empty'::int4range", "'(,)'::int4range", "'{[1,2),[5,7)}'::int4multirange", "'[2024-01-01,2024-02-01)'::daterange",
	"row(1,'a',null)", "'a b'::tsvector", "'a & b'::tsquery", "'pg_class'::regclass", "'postgres=r/postgres'::aclitem", "'$.a'::jsonpath", "'1/2'::pg_lsn",
}

func TestParityPG(t *testing.T) {
	cfg := pgConfig(t)
	i := 0
	known := slices.DeleteFunc(slices.Clone(pgValues), func(v string) bool {
		// These came with 14.
		return pgVersion(t, cfg) < 14 && (strings.Contains(v, "multirange") || v == "'Infinity'::numeric")
	})
	for values := range slices.Chunk(known, 12) {
		i++
		t.Run(fmt.Sprint("values ", i), func(t *testing.T) {
			t.Parallel()
			compare(t, cfg, "select "+strings.Join(values, ", ")+" from generate_series(1, 2)")
		})
	}
	for name, query := range map[string]string{
		"no row":              "select 1::int4 a, 'x'::text b, now() c where false",
		"no column":           "select from generate_series(1, 3)",
		"an error after rows": "select 10 / (3 - n) from generate_series(1, 5) n",
		"a long value":        "select repeat('x', 70000), repeat('é', 70000)::bytea",
		"many rows":           "select n, n::text, case when n % 3 = 0 then null else repeat('é', n % 50) end, n * interval '1 s' + timestamptz '2000-01-01' from generate_series(1, 200) n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, cfg, query)
		})
	}
}

// Without the types registered, an enum and a domain over it are what every
// service without an AfterConnect hook has.
func TestParityPGOwnTypes(t *testing.T) {
	cfg := pgConfig(t)
	ctx := context.Background()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	schema := fmt.Sprintf("rowset_%d", os.Getpid())
	if _, err := conn.Exec(ctx, fmt.Sprintf(`create schema %[1]s; create type %[1]s.mood as enum ('sad', 'happy');
		create domain %[1]s.positive as int check (value > 0); create type %[1]s.pair as (a int, b text)`, schema)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := conn.Exec(ctx, "drop schema "+schema+" cascade"); err != nil {
			t.Error(err)
		}
	}()
	compare(t, cfg, fmt.Sprintf("select 'happy'::%[1]s.mood, null::%[1]s.mood, '{sad,happy}'::%[1]s.mood[], 3::%[1]s.positive, row(1,'a b')::%[1]s.pair, '{}'::%[1]s.pair[]", schema))
}

func TestParityPGModes(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			cfg := pgConfig(t)
			cfg.DefaultQueryExecMode = mode
			compare(t, cfg, `select true, '\x00ff'::bytea, 7::oid, date '2024-02-29', 'infinity'::date, 1.5::float4, 'NaN'::float8, 1::int2, 2::int4, 3::int8,
				' {}'::json, '{}'::jsonb, timestamp '2024-01-01 00:00:00.000001', timestamptz 'infinity', 'x'::text, '{1,NULL}'::int4[], null::int4`)
		})
	}
}

// pgVersion is the server's.
func pgVersion(t *testing.T, cfg *pgx.ConnConfig) (major int) {
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&major); err != nil {
		t.Fatal(err)
	}
	return major
}
