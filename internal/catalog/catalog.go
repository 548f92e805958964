// Package catalog judges a statement by what the server's catalog says of the
// names in it: whether its answer may be kept, and whether it is proven to
// write nothing. It fails closed: what it does not know is not cacheable and
// not harmless.
//
// This first catalog is narrow: it lets ordinary and partitioned tables of
// built-in types pass, with the built-in comparison and arithmetic operators
// and five aggregates. Views, casts and functions come later.
package catalog

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// Relation is a relation that an answer depends on.
type Relation struct {
	OID          uint32
	Schema, Name string
}

// Verdict is what is known of a statement. It is immutable once made.
type Verdict struct {
	Cacheable bool // proven safe
	WithMark  bool // safe once the caller has marked the read: what bars it is only time
	Harmless  bool // proven to write nothing, and to leave its session as it is
	Reasons   []sqlscan.Reason
	Relations []Relation // the whole partition and inheritance tree
}

// The reasons that only the catalog shows.
const (
	ReasonFeature sqlscan.ReasonCode = sqlscan.FirstForeignReason + iota
	ReasonFunction
	ReasonVolatile
	ReasonOperator
	ReasonAttribute
	ReasonRelationKind
	ReasonSystemRelation
	ReasonTemporary
	ReasonForeign
	ReasonRowSecurity
	ReasonMissing
	ReasonType
	ReasonUserCast
	ReasonNoCatalog
)

var reasonNames = []string{
	"syntax-not-cached", "function", "volatile-function", "operator", "attribute-function", "relation-kind", "system-relation",
	"temporary-table", "foreign-table", "row-security", "unknown-relation", "type", "user-cast", "no-catalog",
}

// CodeName gives the stable name of a reason, the scanner's or ours.
func CodeName(c sqlscan.ReasonCode) string {
	if i := int(c) - int(sqlscan.FirstForeignReason); i >= 0 && i < len(reasonNames) {
		return reasonNames[i]
	}
	return c.String()
}

// allowedFeatures is the syntax that may be cached over.
const allowedFeatures = sqlscan.FeatureCTE | sqlscan.FeatureRecursive | sqlscan.FeatureAggregateDistinct |
	sqlscan.FeatureQuantified | sqlscan.FeatureOnly | sqlscan.FeatureLateral |
	sqlscan.FeatureNaturalJoin | sqlscan.FeatureJoinUsing

// Names of functions. Each counts only while no function of that name outside
// pg_catalog can be meant.
var (
	aggregates = set("count", "sum", "min", "max", "avg")
	clocks     = set("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "random", "bernoulli", "system")

	// VOLATILE built-ins that write nothing and leave the session as it is.
	quiet = set("random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
		"pg_sleep", "pg_sleep_for", "pg_sleep_until", "pg_backend_pid", "pg_is_in_recovery", "pg_is_wal_replay_paused",
		"pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp", "pg_current_wal_lsn",
		"pg_current_wal_insert_lsn", "pg_current_wal_flush_lsn", "pg_relation_size", "pg_table_size", "pg_total_relation_size",
		"pg_indexes_size", "pg_database_size", "pg_tablespace_size", "pg_size_pretty", "currval", "lastval",
		"pg_blocking_pids", "pg_lock_status", "pg_stat_get_activity", "bernoulli", "system")

	operators = set("=", "<>", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "~~", "!~~", "~~*", "!~~*")
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// judgeSQL asks all that a judgement needs. Everything is qualified, operators
// too: the search_path, under which the names are resolved, may be anybody's.
//
//	$1, $2 schema ('' = none) and name of each relation
//	$3, $4 schema and name of each function
//	$5 attribute names, $6 operator names, $7 type names
const judgeSQL = `WITH RECURSIVE
path AS MATERIALIZED (
 SELECT n.oid AS nsp, p.ord
   FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(nspname, ord)
   JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) p.nspname),
named AS MATERIALIZED (
 SELECT q.s, q.n, (SELECT c.oid FROM pg_catalog.pg_class c
     JOIN pg_catalog.pg_namespace ns ON ns.oid OPERATOR(pg_catalog.=) c.relnamespace
     LEFT JOIN path ON path.nsp OPERATOR(pg_catalog.=) c.relnamespace
    WHERE c.relname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
      AND CASE WHEN q.s OPERATOR(pg_catalog.=) '' THEN path.nsp IS NOT NULL
               WHEN q.s OPERATOR(pg_catalog.=) 'pg_temp' THEN c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
               ELSE ns.nspname OPERATOR(pg_catalog.=) q.s::pg_catalog.name END
    ORDER BY path.ord USING OPERATOR(pg_catalog.<) LIMIT 1) AS oid
   FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) q(s, n)),
tree(oid) AS (
 SELECT oid FROM named WHERE oid IS NOT NULL
 UNION
 SELECT y.oid FROM tree, LATERAL (
  (SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent OPERATOR(pg_catalog.=) tree.oid OFFSET 0)
  UNION ALL
  (SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid OPERATOR(pg_catalog.=) tree.oid OFFSET 0)) y(oid))
SELECT 'relation' AS kind, n.nspname::pg_catalog.text AS s, c.relname::pg_catalog.text AS name, c.oid::pg_catalog.text AS a,
       pg_catalog.concat(c.relkind, c.relpersistence, CASE WHEN c.relrowsecurity THEN 's' ELSE '-' END,
         CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'v' AND c.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid THEN 'b' ELSE '-' END) AS b
  FROM tree JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) tree.oid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
UNION ALL
SELECT 'missing', s, n, '', '' FROM named WHERE oid IS NULL
UNION ALL
SELECT DISTINCT 'type', '', t.typname::pg_catalog.text, t.oid::pg_catalog.text, t.typelem::pg_catalog.text
  FROM tree, LATERAL (SELECT a.atttypid FROM pg_catalog.pg_attribute a
        WHERE a.attrelid OPERATOR(pg_catalog.=) tree.oid AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped OFFSET 0) a
  JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
UNION ALL
SELECT 'function', q.s, q.n,
       COALESCE((SELECT pg_catalog.string_agg(DISTINCT p.provolatile::pg_catalog.text, '') FROM pg_catalog.pg_proc p
         WHERE p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
           AND p.pronamespace OPERATOR(pg_catalog.=) (SELECT o.oid FROM pg_catalog.pg_namespace o WHERE o.nspname OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.name)
           AND p.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid), ''),
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace ns ON ns.oid OPERATOR(pg_catalog.=) p.pronamespace
         WHERE p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
           AND (p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OR ns.nspname OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.name)
           AND CASE WHEN q.s OPERATOR(pg_catalog.=) '' THEN true ELSE ns.nspname OPERATOR(pg_catalog.=) q.s::pg_catalog.name END)
       THEN 'user' ELSE '' END
  FROM ROWS FROM (pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.text[])) q(s, n)
UNION ALL
SELECT DISTINCT 'attribute', '', a.n, CASE WHEN p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid THEN 'user' ELSE '' END,
       CASE WHEN EXISTS (SELECT FROM tree JOIN pg_catalog.pg_attribute c ON c.attrelid OPERATOR(pg_catalog.=) tree.oid
            WHERE c.attname OPERATOR(pg_catalog.=) a.n::pg_catalog.name AND NOT c.attisdropped) THEN 'column' ELSE '' END
  FROM pg_catalog.unnest($5::pg_catalog.text[]) a(n)
  JOIN pg_catalog.pg_proc p ON p.proname OPERATOR(pg_catalog.=) a.n::pg_catalog.name
   AND p.pronargs OPERATOR(pg_catalog.>=) 1::pg_catalog.int2
   AND p.pronargs OPERATOR(pg_catalog.-) p.pronargdefaults OPERATOR(pg_catalog.<=) 1
   AND (p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OR p.provolatile OPERATOR(pg_catalog.<>) 'i')
UNION ALL
SELECT DISTINCT 'operator', '', o.oprname::pg_catalog.text, '', '' FROM pg_catalog.pg_operator o
 WHERE o.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND o.oprname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($6::pg_catalog.text[])
UNION ALL
SELECT DISTINCT 'named-type', '', t.typname::pg_catalog.text, '', '' FROM pg_catalog.pg_type t
 WHERE t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND t.typname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($7::pg_catalog.text[])
UNION ALL
(SELECT 'cast', '', c.castsource::pg_catalog.regtype::pg_catalog.text, '', '' FROM pg_catalog.pg_cast c
 WHERE c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND c.castcontext OPERATOR(pg_catalog.<>) 'e'
   AND c.castsource OPERATOR(pg_catalog.<) 16384::pg_catalog.oid AND c.casttarget OPERATOR(pg_catalog.<) 16384::pg_catalog.oid LIMIT 1)`

// Judge asks the server about a statement, in one round trip below pgx.Conn,
// so that a user's tracers don't see it. The session must be clean: names are
// resolved under its search_path and role. paramOIDs are the types of the
// statement's parameters. An error is the server's, or the connection's.
func Judge(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, paramOIDs []uint32) (Verdict, error) {
	if st.Class != sqlscan.ClassRead && st.Class != sqlscan.ClassShow && st.Class != sqlscan.ClassLock {
		return Verdict{Reasons: st.Reasons}, nil
	}
	var schemas, names, fnSchemas, fnNames, types []string
	for _, r := range st.Relations {
		schemas, names = append(schemas, r.Schema), append(names, r.Name)
	}
	for _, f := range st.Functions {
		fnSchemas, fnNames = append(fnSchemas, f.Schema), append(fnNames, f.Name.Name)
	}
	for _, t := range st.Types {
		types = append(types, t.Name)
	}
	params := make([][]byte, 0, 7)
	for _, list := range [][]string{schemas, names, fnSchemas, fnNames, st.Attributes, st.Operators, types} {
		params = append(params, textArray(list))
	}
	r := pc.ExecParams(ctx, judgeSQL, params, nil, nil, nil).Read()
	if r.Err != nil {
		return Verdict{}, r.Err
	}
	j := judging{st: st, v: Verdict{Harmless: true}}
	j.text()
	for _, row := range r.Rows {
		if len(row) != 5 {
			return Verdict{}, fmt.Errorf("catalog: a row of %d columns", len(row))
		}
		if err := j.row(string(row[0]), string(row[1]), string(row[2]), string(row[3]), string(row[4])); err != nil {
			return Verdict{}, err
		}
	}
	for _, oid := range paramOIDs {
		if !builtIn[oid] {
			j.bar(ReasonType, "parameter of type "+strconv.FormatUint(uint64(oid), 10))
		}
	}
	return j.verdict(), nil
}

// judging collects a verdict.
type judging struct {
	st *sqlscan.Statement
	v  Verdict
}

func (j *judging) bar(code sqlscan.ReasonCode, detail string) {
	j.v.Reasons = append(j.v.Reasons, sqlscan.Reason{Code: code, Detail: detail})
}

func (j *judging) time(code sqlscan.ReasonCode, detail string) {
	j.v.Reasons = append(j.v.Reasons, sqlscan.Reason{Code: code, Detail: detail, Markable: true})
}

// text takes what the text alone shows.
func (j *judging) text() {
	st := j.st
	j.v.Reasons = append(j.v.Reasons, st.Reasons...)
	if st.Class != sqlscan.ClassRead && len(st.Reasons) == 0 {
		j.bar(sqlscan.ReasonNotRead, st.Verb)
	}
	if st.Effect > sqlscan.EffectLocal {
		j.v.Harmless = false
	}
	features := st.Features &^ allowedFeatures
	if intervalsOnly(st) {
		features &^= sqlscan.FeatureTypedLiteral
	} else if len(st.Types) > 0 {
		j.bar(ReasonType, "cast to "+st.Types[0].Name)
	}
	if features != 0 {
		j.bar(ReasonFeature, features.String())
	}
	for _, op := range st.Operators {
		if !operators[op] {
			j.bar(ReasonOperator, op)
		}
	}
}

// intervalsOnly says whether the only types named are of interval literals,
// which read no clock.
func intervalsOnly(st *sqlscan.Statement) bool {
	for _, t := range st.Types {
		if t.Name != "interval" || t.Schema != "" && t.Schema != "pg_catalog" {
			return false
		}
	}
	return st.Features&sqlscan.FeatureCast == 0
}

// row takes one fact of the catalog.
func (j *judging) row(kind, s, name, a, b string) error {
	switch kind {
	case "relation":
		oid, err := strconv.ParseUint(a, 10, 32)
		if err != nil || len(b) != 4 {
			return fmt.Errorf("catalog: relation %q, %q", a, b)
		}
		j.relation(Relation{uint32(oid), s, name}, b)
	case "missing":
		j.bar(ReasonMissing, name)
	case "type":
		oid, err := strconv.ParseUint(a, 10, 32)
		if err != nil {
			return err
		}
		if !builtIn[uint32(oid)] {
			j.bar(ReasonType, "column of type "+name)
		}
	case "function":
		j.function(s, name, a, b)
	case "attribute":
		if a == "user" {
			j.bar(ReasonAttribute, name)
			j.v.Harmless = false
		} else if b == "" {
			j.bar(ReasonAttribute, name)
			j.v.Harmless = j.v.Harmless && quiet[name]
		}
	case "operator":
		j.bar(ReasonOperator, name)
		j.v.Harmless = false
	case "named-type":
		j.bar(ReasonType, name)
		j.v.Harmless = false
	case "cast":
		j.bar(ReasonUserCast, "from "+name)
		j.v.Harmless = false
	default:
		return fmt.Errorf("catalog: kind %q", kind)
	}
	return nil
}

// relation takes a relation: flags are its relkind, relpersistence, row
// security, and whether it is a view of the system's own.
func (j *judging) relation(r Relation, flags string) {
	j.v.Relations = append(j.v.Relations, r)
	kind, persistence, rls, systemView := flags[0], flags[1], flags[2] == 's', flags[3] == 'b'
	name := r.Schema + "." + r.Name
	system := r.Schema == "information_schema" || strings.HasPrefix(r.Schema, "pg_") && !strings.HasPrefix(r.Schema, "pg_temp")
	if system {
		j.bar(ReasonSystemRelation, name)
	}
	switch {
	case kind == 'f':
		j.time(ReasonForeign, name)
		j.v.Harmless = false
	case kind == 'm':
		j.bar(ReasonRelationKind, name)
	case kind != 'r' && kind != 'p':
		j.bar(ReasonRelationKind, name)
		j.v.Harmless = j.v.Harmless && (systemView || kind == 'S')
	}
	if persistence == 't' {
		j.bar(ReasonTemporary, name)
	}
	if rls {
		j.bar(ReasonRowSecurity, name)
		j.v.Harmless = false
	}
}

// function takes a function by name: a are the volatilities of the built-in
// ones, b says whether there are others. What only looks like a call has no
// function, and an upper-case name.
func (j *judging) function(s, name, a, b string) {
	switch {
	case s == "pg_catalog" && name == strings.ToUpper(name):
		j.bar(ReasonFunction, name)
		return
	case b != "" || a == "":
		j.bar(ReasonFunction, name)
		j.v.Harmless = false
		return
	}
	volatile := strings.Contains(a, "v")
	switch {
	case clocks[name]:
		j.time(ReasonVolatile, name)
	case volatile:
		j.bar(ReasonVolatile, name)
	case !aggregates[name]:
		j.bar(ReasonFunction, name)
	}
	if volatile && !quiet[name] {
		j.v.Harmless = false
	}
}

func (j *judging) verdict() Verdict {
	v := j.v
	read := j.st.Class == sqlscan.ClassRead
	v.Cacheable = read && len(v.Reasons) == 0 && len(v.Relations) > 0
	v.WithMark = read && len(v.Relations) > 0
	for _, r := range v.Reasons {
		v.WithMark = v.WithMark && r.Markable
	}
	return v
}

// textArray writes an array of text as PostgreSQL reads it.
func textArray(list []string) []byte {
	b := []byte{'{'}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		for k := range len(s) {
			if s[k] == '"' || s[k] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, s[k])
		}
		b = append(b, '"')
	}
	return append(b, '}')
}

// builtIn are the types that may be cached over, and their arrays: those whose
// output depends on nothing but the value and settings that are part of the
// scope. Missing on purpose: timetz (its input reads the clock), reg* and
// aclitem (they show names that others may change), and what is not built in.
var builtIn = func() map[uint32]bool {
	m := map[uint32]bool{pgtype.NameOID: true, 1002: true, 1003: true, 199: true, 143: true, 775: true, 1040: true}
	for _, oid := range []uint32{
		pgtype.BoolOID, pgtype.BoolArrayOID, pgtype.ByteaOID, pgtype.ByteaArrayOID, pgtype.QCharOID, pgtype.QCharArrayOID,
		pgtype.NameArrayOID, pgtype.Int8OID, pgtype.Int8ArrayOID, pgtype.Int2OID, pgtype.Int2ArrayOID, pgtype.Int4OID, pgtype.Int4ArrayOID,
		pgtype.TextOID, pgtype.TextArrayOID, pgtype.OIDOID, pgtype.OIDArrayOID, pgtype.JSONOID, pgtype.JSONArrayOID,
		pgtype.XMLOID, pgtype.PointOID, pgtype.PointArrayOID, pgtype.LsegOID, pgtype.LsegArrayOID, pgtype.PathOID, pgtype.PathArrayOID,
		pgtype.BoxOID, pgtype.BoxArrayOID, pgtype.PolygonOID, pgtype.PolygonArrayOID, pgtype.LineOID, pgtype.LineArrayOID,
		pgtype.CircleOID, pgtype.CircleArrayOID, pgtype.CIDROID, pgtype.CIDRArrayOID, pgtype.Float4OID, pgtype.Float4ArrayOID,
		pgtype.Float8OID, pgtype.Float8ArrayOID, pgtype.MacaddrOID, pgtype.InetOID, pgtype.InetArrayOID, pgtype.Macaddr8OID,
		pgtype.BPCharOID, pgtype.BPCharArrayOID, pgtype.VarcharOID, pgtype.VarcharArrayOID, pgtype.DateOID, pgtype.DateArrayOID,
		pgtype.TimeOID, pgtype.TimeArrayOID, pgtype.TimestampOID, pgtype.TimestampArrayOID, pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID,
		pgtype.IntervalOID, pgtype.IntervalArrayOID, pgtype.NumericOID, pgtype.NumericArrayOID, pgtype.BitOID, pgtype.BitArrayOID,
		pgtype.VarbitOID, pgtype.VarbitArrayOID, pgtype.UUIDOID, pgtype.UUIDArrayOID, pgtype.JSONBOID, pgtype.JSONBArrayOID,
		pgtype.Int4rangeOID, pgtype.Int4rangeArrayOID, pgtype.Int8rangeOID, pgtype.Int8rangeArrayOID, pgtype.NumrangeOID, pgtype.NumrangeArrayOID,
		pgtype.TsrangeOID, pgtype.TsrangeArrayOID, pgtype.TstzrangeOID, pgtype.TstzrangeArrayOID, pgtype.DaterangeOID, pgtype.DaterangeArrayOID,
		pgtype.Int4multirangeOID, pgtype.Int8multirangeOID, pgtype.NummultirangeOID, pgtype.TsmultirangeOID, pgtype.TstzmultirangeOID,
		pgtype.DatemultirangeOID, 3614, 3643, 3615, 3645, 790, 791, // tsvector, tsquery, money
	} {
		m[oid] = true
	}
	return m
}()
