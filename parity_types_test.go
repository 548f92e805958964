package cachedpgx_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// parityEdge are values of a type that its decoders may stumble over. since is
// the server version that takes them.
type parityEdge struct {
	typ    string
	since  int
	values []string
}

// parityUncached are types that have edges and are not cached, as documented:
// what they show depends on more than the rows.
var parityUncached = []string{"timetz", "txid_snapshot", "pg_snapshot", "floatmultirange"}

var parityEdges = []parityEdge{
	{"bool", 0, []string{"true", "false"}},
	{"int2", 0, []string{"-32768", "32767", "0", "-1"}},
	{"int4", 0, []string{"-2147483648", "2147483647", "0", "-1"}},
	{"int8", 0, []string{"-9223372036854775808", "9223372036854775807", "9007199254740993", "0"}},
	{"float4", 0, []string{"NaN", "Infinity", "-Infinity", "-0", "3.4028235e38", "1.4e-45", "16777217", "0.1"}},
	{"float8", 0, []string{"NaN", "Infinity", "-Infinity", "-0", "1.7976931348623157e308", "5e-324", "9007199254740993", "0.1"}},
	{"numeric", 0, []string{"NaN", "0", "-0.00", "0.000", "1e-1000", "-1e1000", "1.10", "100", "123456789012345678901234567890.123456789",
		strings.Repeat("9", 600) + "." + strings.Repeat("7", 600), "1e4000"}},
	{"numeric", 14, []string{"Infinity", "-Infinity"}},
	{"money", 0, []string{"-92233720368547758.08", "92233720368547758.07", "0"}},
	{"oid", 0, []string{"0", "4294967295", "2147483648"}},
	{"xid", 0, []string{"0", "4294967295"}},
	{"xid8", 0, []string{"0", "18446744073709551615"}},
	{"cid", 0, []string{"0", "4294967295"}},
	{"tid", 0, []string{"(0,0)", "(4294967295,65535)"}},
	{"text", 0, []string{"", " ", "NULL", `"`, `\`, `\x00`, "a\nb\r\tc", "żółw 🐢 e\u0301", "\u200b\ufeff", "{}", "'", strings.Repeat("x", 9000)}},
	{"varchar", 0, []string{"", "żółw", "  padded  "}},
	{"bpchar", 0, []string{"", "a   ", "żółw "}},
	{"name", 0, []string{"", "żółw", strings.Repeat("n", 63)}},
	{"char", 0, []string{"", "c", " ", `\`}},
	{"bytea", 0, []string{"", `\x00`, `\x00ff00`, `\x5c78`, `\x` + strings.Repeat("00ff", 2000)}},
	{"date", 0, []string{"infinity", "-infinity", "4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "1582-10-10", "9999-12-31", "10000-01-01", "5874897-12-31", "2000-01-01", "1999-12-31"}},
	{"time", 0, []string{"00:00:00", "24:00:00", "23:59:59.999999", "12:00:00.000001"}},
	{"timetz", 0, []string{"00:00:00+15:59", "24:00:00-15:59", "12:34:56.789+05:30:01"}},
	{"timestamp", 0, []string{"infinity", "-infinity", "4713-01-01 00:00:00 BC", "0001-12-31 23:59:59.999999 BC", "0001-01-01 00:00:00", "2000-01-01 00:00:00",
		"1999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999", "10000-01-01 00:00:00", "294276-12-31 23:59:59.999999"}},
	{"timestamptz", 0, []string{"infinity", "-infinity", "4713-01-01 00:00:00+00 BC", "0001-12-31 23:59:59.999999+00 BC", "0001-01-01 00:00:00+00", "2000-01-01 00:00:00+00",
		"1883-11-18 12:03:57-04:56:02", "9999-12-31 23:59:59.999999+00", "10000-01-01 00:00:00+00", "294276-12-31 23:59:59.999999+00", "2024-03-31 02:30:00+01"}},
	{"interval", 0, []string{"0", "1 mon", "-1 mon +1 day", "1 year 2 mons -3 days +04:05:06.789", "-00:00:00.000001", "178000000 years", "-178000000 years", "2147483647 days", "2562047788:00:54.775807"}},
	{"interval", 17, []string{"infinity", "-infinity"}},
	{"uuid", 0, []string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}"}},
	{"json", 0, []string{"null", `""`, "0", "{}", "[]", " { \"b\" :1,\"a\": [ 1 ,null],\n\t\"b\":2 } ", `"\u00e9 \u0000"`, "1E5", "1.0", "-0", "12345678901234567890.123", "true"}},
	{"jsonb", 0, []string{"null", `""`, "0", "{}", "[]", " { \"b\" :1,\"a\": [ 1 ,null],\n\t\"b\":2 } ", `"\u00e9 ż \\ \" \n"`, "1E5", "1.0", "-0", "12345678901234567890.123", "true", `{"":{"":[[[]]]}}`}},
	{"jsonpath", 0, []string{"$", "strict $.a[*] ? (@ > 1)"}},
	{"xml", 0, []string{"<a/>", "<a b=\"c\">\n <!-- x --> ż</a>", `<?xml version="1.0"?><a/>`, "just text"}},
	{"inet", 0, []string{"0.0.0.0", "255.255.255.255/1", "10.0.0.1/8", "::", "::1/128", "fe80::1/64", "::ffff:1.2.3.4"}},
	{"cidr", 0, []string{"0.0.0.0/0", "10.0.0.0/8", "::/0", "2001:db8::/32"}},
	{"macaddr", 0, []string{"00:00:00:00:00:00", "ff-ff-ff-ff-ff-ff"}},
	{"macaddr8", 0, []string{"00:00:00:00:00:00:00:00", "08:00:2b:01:02:03"}},
	{"bit", 0, []string{"", "0", "1", "101010101", strings.Repeat("01", 50)}},
	{"varbit", 0, []string{"", "0", "1", "101010101", strings.Repeat("01", 50)}},
	{"point", 0, []string{"(0,-0)", "(NaN,Infinity)", "(1e-300,-1e300)"}},
	{"line", 0, []string{"{1,-1,0}", "{0.1,2,3}"}},
	{"lseg", 0, []string{"[(0,0),(1,1)]"}},
	{"box", 0, []string{"(1,1),(0,0)", "(Infinity,2),(-Infinity,NaN)"}},
	{"path", 0, []string{"[(0,0),(1,1)]", "((0,0),(1,1),(2,0))"}},
	{"polygon", 0, []string{"((0,0))", "((0,0),(1,1),(2,0))"}},
	{"circle", 0, []string{"<(0,0),0>", "<(1,2),Infinity>"}},
	{"tsvector", 0, []string{"", "'a':1A,2 'b c':3B", "ż"}},
	{"tsquery", 0, []string{"", "'a' & !'b' | 'c':*AB", "a <-> b"}},
	{"pg_lsn", 0, []string{"0/0", "FFFFFFFF/FFFFFFFF"}},
	{"txid_snapshot", 0, []string{"1:1:", "10:20:10,14,15"}},
	{"pg_snapshot", 0, []string{"1:1:", "10:20:10,14,15"}},
	{"int2vector", 0, []string{"", "1 2 -3"}},
	{"oidvector", 0, []string{"", "1 2 4294967295"}},
	{"refcursor", 0, []string{"", "<unnamed portal 1>"}},
	{"int4range", 0, []string{"empty", "(,)", "[1,5)", "(1,5]", "(,-2147483648)", "[2147483647,)"}},
	{"int8range", 0, []string{"empty", "(,)", "[1,5)"}},
	{"numrange", 0, []string{"empty", "(,)", "[1.10,1e30]", "(NaN,)", "(-1e-30,0.00)"}},
	{"daterange", 0, []string{"empty", "(,)", "[2024-01-01,2024-02-29]", "[-infinity,infinity]", "[4713-01-01 BC,10000-01-01)"}},
	{"tsrange", 0, []string{"empty", "(,)", `["2024-01-01 00:00:00",infinity]`}},
	{"tstzrange", 0, []string{"empty", "(,)", `("0044-03-15 00:00:00+00 BC","2024-01-01 00:00:00+00"]`}},
	{"int4multirange", 14, []string{"{}", "{[1,5),[7,9)}", "{(,)}", "{empty}"}},
	{"int8multirange", 14, []string{"{}", "{[1,5),[7,)}"}},
	{"nummultirange", 14, []string{"{}", "{[1.10,2),(3,NaN)}"}},
	{"datemultirange", 14, []string{"{}", "{[-infinity,2024-01-01),[2024-02-29,infinity]}"}},
	{"tsmultirange", 14, []string{"{}", `{["2024-01-01 00:00:00",infinity]}`}},
	{"tstzmultirange", 14, []string{"{}", `{("0044-03-15 00:00:00+00 BC","2024-01-01 00:00:00+00"]}`}},

	// And of types that a user makes.
	{"mood", 0, []string{"sad", "", "it's \"so, so\"", "żółty"}},
	{"small", 0, []string{"-5", "99"}},
	{"label", 0, []string{"", "ż"}},
	{"smalls", 0, []string{"{}", "{1,NULL}", "[0:1]={1,2}"}},
	{"pair", 0, []string{"(,)", `(1,"")`, `(-1,"a, ""b"" \\ ")`}},
	{"nest", 0, []string{`("(1,x)","{sad,NULL}",5)`, "(,,)", `(,"{}",)`}},
	{"floatrange", 0, []string{"empty", "(,)", "[-0,NaN]", "(-Infinity,Infinity)"}},
	{"moodrange", 0, []string{"empty", `[sad,""]`}},
	{"floatmultirange", 14, []string{"{}", "{[0,1],(5,NaN)}"}},
}

// parityCandidates are tried for types that have no edges above, such as those
// of servers newer than this test.
var parityCandidates = []string{"", "0", "1", "a", "{}", "empty", "(0,0)", "pg_class", "int4", "sum(int4)", "+(int4,int4)", "1:1:"}

const parityTypesSchema = `
	CREATE TYPE mood AS ENUM ('sad', '', 'it''s "so, so"', 'żółty');
	CREATE DOMAIN small AS int CHECK (VALUE < 100);
	CREATE DOMAIN label AS varchar(20);
	CREATE DOMAIN smalls AS int2[];
	CREATE TYPE pair AS (a int, b text);
	CREATE TYPE nest AS (p pair, m mood[], s small);
	CREATE TYPE floatrange AS RANGE (subtype = float8);
	CREATE TYPE moodrange AS RANGE (subtype = mood);
	CREATE TABLE parity_value (typ text, val text, must bool, cached bool);

	CREATE FUNCTION parity_try(cmd text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN EXECUTE cmd; RETURN NULL; EXCEPTION WHEN OTHERS THEN RETURN SQLERRM; END $$;`

// parityFill makes two tables with a column of each type and a row of each
// value. It goes by the server's own list of types, so that no type is
// forgotten: zoo has those with edges above, whose reads must be cached, and shy
// the others, one of which keeps a table from the cache.
const parityFill = `
	DO $$
	DECLARE
		ty record; v record; n int; said text; sample text; tab text; tabs text[] := ARRAY['zoo', 'shy'];
		arrays text[] := ARRAY['''{}''', 'ARRAY[NULL]', 'ARRAY[%1$s]', 'ARRAY[%1$s, NULL, %1$s]', 'ARRAY[ARRAY[%1$s, NULL], ARRAY[NULL, %1$s]]',
			'array_fill(%1$s, ARRAY[2], ARRAY[2])', 'array_fill(%1$s, ARRAY[1, 2], ARRAY[0, -3])'];
	BEGIN
		FOREACH tab IN ARRAY tabs LOOP
			EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY)', tab);
			EXECUTE format('INSERT INTO %I SELECT generate_series(0, 40)', tab);
		END LOOP;
		FOR ty IN
			SELECT t.typname, format('%I.%I', n.nspname, t.typname) AS full_name, t.typcategory = 'A' AND e.oid IS NOT NULL AS is_array,
				e.typname AS elem, quote_ident(en.nspname) || '.' || quote_ident(e.typname) AS elem_full
			FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
				LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid LEFT JOIN pg_namespace en ON en.oid = e.typnamespace
			WHERE n.nspname IN ('pg_catalog', 'public') AND t.typtype <> 'p' AND COALESCE(e.typtype, 'b') <> 'p'
				-- The row types of catalogs and of these tables are composites like pair and nest.
				AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid IN (t.typrelid, e.typrelid) AND c.relkind <> 'c')
			ORDER BY e.oid IS NOT NULL, t.typname
		LOOP
			tab := CASE WHEN EXISTS (SELECT FROM parity_value p WHERE p.typ = CASE WHEN ty.is_array THEN ty.elem ELSE ty.typname END AND p.cached)
				THEN 'zoo' ELSE 'shy' END;
			EXECUTE format('ALTER TABLE %I ADD %I %s', tab, ty.typname, ty.full_name);
			n := 0;
			IF ty.is_array THEN
				EXECUTE format('SELECT quote_literal(max(%I::text)) FROM %I', ty.elem, tab) INTO sample;
				FOR v IN SELECT format(a, COALESCE(sample, 'NULL') || '::' || ty.elem_full) AS val FROM unnest(arrays) a LOOP
					IF parity_try(format('UPDATE %I SET %I = %s::%s WHERE id = %s', tab, ty.typname, v.val, ty.full_name, n + 1)) IS NULL THEN
						n := n + 1;
					END IF;
				END LOOP;
				-- All of the element's values, side by side.
				IF parity_try(format('UPDATE %1$I SET %2$I = (SELECT array_agg(%3$I ORDER BY id) FROM %1$I WHERE id < 15) WHERE id = %4$s', tab, ty.typname, ty.elem, n + 1)) IS NULL THEN
					n := n + 1;
				END IF;
			ELSE
				FOR v IN SELECT val, must FROM parity_value p WHERE p.typ = ty.typname OR
					p.typ = '' AND NOT EXISTS (SELECT FROM parity_value q WHERE q.typ = ty.typname)
				LOOP
					said := parity_try(format('UPDATE %I SET %I = %L::%s WHERE id = %s', tab, ty.typname, v.val, ty.full_name, n + 1));
					IF said IS NULL THEN
						n := n + 1;
					ELSIF v.must THEN
						RAISE 'no % is %: %', ty.typname, v.val, said;
					END IF;
				END LOOP;
			END IF;
		END LOOP;
		FOREACH tab IN ARRAY tabs LOOP
			EXECUTE format('DELETE FROM %1$I WHERE id > 0 AND %1$I::text = ROW(id%2$s)::text', tab,
				(SELECT repeat(', NULL', count(*)::int - 1) FROM pg_attribute WHERE attrelid = tab::regclass AND attnum > 0));
		END LOOP;
	END $$`

// parityTypes makes the database, and gives the questions that read it: some
// columns each, so that there are not too many.
func parityTypes(t *testing.T) (e *pgEnv, questions []parityCase) {
	t.Helper()
	e = newPG(t, parityTypesSchema)
	version, _ := pgServerOffers(t, e.dsn)
	for _, edge := range parityEdges {
		if edge.since > version {
			continue
		}
		for _, v := range edge.values {
			e.must(e.plain, "INSERT INTO parity_value VALUES ($1, $2, true, $3)", edge.typ, v, !slices.Contains(parityUncached, edge.typ))
		}
	}
	for _, v := range parityCandidates {
		e.must(e.plain, "INSERT INTO parity_value VALUES ('', $1, false, false)", v)
	}
	e.must(e.plain, parityFill)
	seen := map[string][]string{}
	rows, err := e.plain.QueryContext(e.ctx, `SELECT attrelid::regclass::text, attname FROM pg_attribute
		WHERE attrelid IN ('zoo'::regclass, 'shy'::regclass) AND attnum > 1 ORDER BY attrelid, attnum`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, typ string
		if err := rows.Scan(&table, &typ); err != nil {
			t.Fatal(err)
		}
		seen[table] = append(seen[table], typ)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, typ := range strings.Fields("int4 _int4 int4range _int4range mood _mood pair _pair nest _nest small _small smalls xml jsonb _jsonb pg_lsn char name") {
		if !slices.Contains(seen["zoo"], typ) {
			t.Errorf("no column is a %s: %v", typ, seen["zoo"])
		}
	}
	for _, table := range []string{"zoo", "shy"} {
		served := parityMemory
		if table == "shy" {
			served = parityServer
		}
		for chunk := range slices.Chunk(seen[table], 8) {
			cols := `"` + strings.Join(chunk, `", "`) + `"`
			questions = append(questions, parityCase{text: "SELECT id, " + cols + " FROM " + table + " ORDER BY id", served: served})
		}
	}
	return e, questions
}

// TestParityOfTypes reads every type that a column can have, at its edges, in
// every mode. Kinds 8 and 11.
func TestParityOfTypes(t *testing.T) {
	first, questions := parityTypes(t)
	for _, mode := range someModes(parityModes) {
		t.Run(strings.Join(mode, ","), func(t *testing.T) {
			e := newPGOn(t, first.dsn, "", mode...)
			for _, c := range questions {
				if len(mode) == 1 {
					e.parity(c)
				} else {
					e.parityQuick(c)
				}
			}
		})
	}
}

// parityNullable are destinations that NULLs of a column fit.
var parityNullable = map[string][]func() any{
	"_text":          {parityInto[[]string], parityInto[[]*string], parityInto[[]any], parityInto[pgtype.Array[*string]], parityInto[pgtype.FlatArray[pgtype.Text]]},
	"int8range":      {parityInto[pgtype.Range[pgtype.Int8]], parityInto[*pgtype.Range[*int64]]},
	"inet":           {parityInto[*netip.Addr], parityInto[netip.Prefix], parityInto[pgtype.UndecodedBytes]},
	"numeric":        {parityInto[pgtype.Numeric], parityInto[*pgtype.Numeric], parityInto[pgtype.Float8], parityInto[**float32]},
	"jsonb":          {parityInto[map[string]any], parityInto[*struct{ A any }]},
	"uuid":           {parityInto[pgtype.UUID], parityInto[*[16]byte]},
	"timestamptz":    {parityInto[pgtype.Timestamptz], parityInto[*time.Time]},
	"int4":           {parityInto[pgtype.Int4], parityInto[*int16], parityInto[pgtype.Int8]},
	`"interval"`:     {parityInto[pgtype.Interval], parityInto[*time.Duration]},
	"_timestamptz":   {parityInto[[]time.Time], parityInto[[]*time.Time]},
	"_int4range":     {parityInto[[]pgtype.Range[pgtype.Int4]]},
	"bytea":          {parityInto[pgtype.DriverBytes], parityInto[pgtype.UndecodedBytes], parityInto[*[]byte]},
	"_jsonb":         {parityInto[[]map[string]any], parityInto[[]*any]},
	"_float8, _int8": {parityInto[[]float64], parityInto[[]*float64], parityInto[pgtype.FlatArray[pgtype.Float8]]},
}

// TestParityOfDestinations scans every type, at its edges, into what it fits
// and what it doesn't.
func TestParityOfDestinations(t *testing.T) {
	first, questions := parityTypes(t)
	t.Run("binary and text", func(t *testing.T) {
		e := newPGOn(t, first.dsn, "")
		for _, c := range questions {
			if c.served == parityMemory {
				c.dests, c.native, c.brief = parityBase, parityNative, true
				e.parity(c)
			}
		}
		for _, columns := range slices.Sorted(maps.Keys(parityNullable)) {
			e.parity(parityCase{text: "SELECT " + columns + " FROM zoo ORDER BY id", dests: parityNullable[columns], served: parityMemory, brief: true})
		}
	})
	// What comes in binary otherwise.
	t.Run("all in text", func(t *testing.T) {
		e := newPGOn(t, first.dsn, "", "default_query_exec_mode=simple_protocol")
		for _, columns := range []string{"bool, bytea, cid, date, float4, float8, int2", "int4, int8, oid, timestamp, timestamptz, xid"} {
			e.parity(parityCase{text: "SELECT " + columns + " FROM zoo ORDER BY id", dests: parityBase, native: parityNative, served: parityMemory, brief: true})
		}
	})
}
