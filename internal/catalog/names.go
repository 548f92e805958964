package catalog

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// firstUserOID is PostgreSQL's FirstNormalObjectId: what initdb made is below.
const firstUserOID = 16384

// allowedFeatures is the syntax that may be cached over: it calls nothing but
// what the scanner notes with it, and the operator classes of the types.
const allowedFeatures = ^(sqlscan.FeatureCurrentOf | sqlscan.FeatureReturning | sqlscan.FeatureOnConflict)

// rowFeatures is the syntax that makes rows of other types than columns have.
const rowFeatures = sqlscan.FeatureRow | sqlscan.FeatureWholeRow | sqlscan.FeatureField

// Names of built-in functions. Each counts only while no user's function of that
// name can be meant.
var (
	aggregates = set("count", "sum", "min", "max", "avg")

	// clocks are only time, or chance: a mark admits them.
	clocks = set("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "random")

	// quiet are VOLATILE, and yet write nothing and leave the session as it is.
	// (random moves its own generator, which promises nothing.)
	quiet = set("random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
		"pg_sleep", "pg_sleep_for", "pg_sleep_until", "currval", "lastval", "pg_sequence_last_value",
		"pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_get_wal_replay_pause_state",
		"pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp", "pg_current_wal_lsn",
		"pg_current_wal_insert_lsn", "pg_current_wal_flush_lsn", "pg_xact_commit_timestamp", "pg_last_committed_xact",
		"pg_xact_status", "txid_status", "pg_relation_size", "pg_table_size", "pg_total_relation_size",
		"pg_indexes_size", "pg_database_size", "pg_tablespace_size", "pg_partition_tree", "pg_partition_ancestors",
		"pg_blocking_pids", "pg_safe_snapshot_blocking_pids", "pg_lock_status", "pg_prepared_xact", "pg_notification_queue_usage",
		"pg_collation_actual_version", "pg_jit_available", "pg_control_system", "pg_control_checkpoint", "pg_control_init",
		"pg_control_recovery")

	// loud aren't VOLATILE, and yet read whatever relation, or run whatever
	// type's input, they are told to: a view or a domain may call anything.
	loud = set("table_to_xml", "table_to_xmlschema", "table_to_xml_and_xmlschema",
		"schema_to_xml", "schema_to_xmlschema", "schema_to_xml_and_xmlschema",
		"database_to_xml", "database_to_xmlschema", "database_to_xml_and_xmlschema",
		"domain_in", "domain_recv", "array_in", "array_recv", "record_in", "record_recv",
		"range_in", "range_recv", "multirange_in", "multirange_recv", "pg_input_is_valid", "pg_input_error_info")

	// stables are STABLE, and differ from IMMUTABLE only by settings that are
	// fixed for clean sessions (TimeZone, DateStyle, the default text search
	// configuration, encodings) or by what DDL changes. Functions of operators
	// are among them. What of them reads a row's definition from the text
	// (json_to_record) says its types there. Not among them: the jsonb_path
	// functions for time zones, which compare a time with a timetz by today's
	// daylight saving rule.
	stables = set("anytextcat", "textanycat", "array_to_json", "array_to_string", "concat", "concat_ws", "convert", "convert_from", "convert_to",
		"date", "time", "timestamp", "timestamptz", "date_part", "date_trunc", "date_bin", "date_add", "date_subtract", "extract", "overlaps", "timezone",
		"date_cmp_timestamptz", "date_eq_timestamptz", "date_ge_timestamptz", "date_gt_timestamptz", "date_le_timestamptz", "date_lt_timestamptz", "date_ne_timestamptz",
		"timestamp_cmp_timestamptz", "timestamp_eq_timestamptz", "timestamp_ge_timestamptz", "timestamp_gt_timestamptz",
		"timestamp_le_timestamptz", "timestamp_lt_timestamptz", "timestamp_ne_timestamptz",
		"timestamptz_cmp_date", "timestamptz_eq_date", "timestamptz_ge_date", "timestamptz_gt_date", "timestamptz_le_date", "timestamptz_lt_date", "timestamptz_ne_date",
		"timestamptz_cmp_timestamp", "timestamptz_eq_timestamp", "timestamptz_ge_timestamp", "timestamptz_gt_timestamp",
		"timestamptz_le_timestamp", "timestamptz_lt_timestamp", "timestamptz_ne_timestamp",
		"timestamptz_mi_interval", "timestamptz_pl_interval", "interval_pl_timestamptz", "in_range", "generate_series", "age",
		"enum_first", "enum_last", "enum_range", "format", "length", "quote_literal", "quote_nullable",
		"json_agg", "json_agg_strict", "json_object_agg", "json_object_agg_strict", "json_object_agg_unique", "json_object_agg_unique_strict",
		"jsonb_agg", "jsonb_agg_strict", "jsonb_object_agg", "jsonb_object_agg_strict", "jsonb_object_agg_unique", "jsonb_object_agg_unique_strict",
		"json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object", "row_to_json", "to_json", "to_jsonb",
		"json_to_record", "json_to_recordset", "jsonb_to_record", "jsonb_to_recordset", "json_to_tsvector", "jsonb_to_tsvector",
		"make_timestamptz", "money", "numeric", "to_char", "to_date", "to_number", "to_timestamp", "xml", "xml_is_well_formed",
		"to_tsvector", "to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery", "ts_headline", "ts_match_tq", "ts_match_tt")

	// effectful are extensions' functions that say they are IMMUTABLE, and set
	// how their session reads.
	effectful = set("isn_weak", "accept_weak_input", "weak_input_status")

	// plainAggregates make no JSON of what they are given, and so apply no
	// cast to it that nobody wrote.
	plainAggregates = set("count", "sum", "min", "max", "avg", "bool_and", "bool_or", "every", "string_agg", "array_agg")

	// identities may stand in a policy, whose session is its partition's.
	identities = set("current_setting", "current_user", "session_user", "current_role")

	// timeTypes are the types whose input is a clock, by name, and timeResults
	// the functions that give one of them, whatever they are given.
	timeTypes   = set("date", "time", "timestamp", "timestamptz", "daterange", "tsrange", "tstzrange", "datemultirange", "tsmultirange", "tstzmultirange")
	timeResults = set("timezone", "date_bin", "to_timestamp", "to_date", "make_date", "make_time", "make_timestamp", "make_timestamptz",
		"date_trunc", "now", "clock_timestamp", "statement_timestamp", "transaction_timestamp")
)

// zoned are the types of a time of day with a zone.
var zoned = map[uint32]bool{pgtype.TimetzOID: true, pgtype.TimetzArrayOID: true}

// polymorphic are the pseudo-types that stand for a caller's own: anyelement,
// anynonarray, anycompatible, anycompatiblenonarray and their arrays.
var polymorphic = map[uint32]bool{2283: true, 2277: true, 2776: true, 5077: true, 5078: true, 5079: true}

// timeScalars are types of one date or time.
var timeScalars = map[uint32]bool{pgtype.DateOID: true, pgtype.TimestampOID: true, pgtype.TimestamptzOID: true, pgtype.TimeOID: true}

// twins are names of built-in binary operators, and whether one of that name
// takes two texts. See judging.apart.
var twins = map[string]bool{
	"=": true, "<>": true, "<": true, ">": true, "<=": true, ">=": true, "||": true, "~~": true, "!~~": true, "~~*": true, "!~~*": true,
	"~": true, "!~": true, "~*": true, "!~*": true, "@@": true, "^@": true,
	"+": false, "-": false, "*": false, "/": false, "%": false, "^": false, "&": false, "|": false, "#": false, "<<": false, ">>": false,
	"@>": false, "<@": false, "&&": false, "<->": false, "->": false, "->>": false, "#>": false, "#>>": false, "?": false, "?|": false, "?&": false,
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// builtIn are the types that may be cached over, and their arrays: those whose
// output depends on nothing but the value and settings that are part of the
// scope. Missing on purpose: timetz (its input reads the clock), reg* and
// aclitem (they show names that others may change), and what is not built in.
var builtIn = func() map[uint32]bool {
	m := make(map[uint32]bool)
	for _, oid := range []uint32{
		pgtype.BoolOID, pgtype.BoolArrayOID, pgtype.ByteaOID, pgtype.ByteaArrayOID, pgtype.QCharOID, pgtype.QCharArrayOID,
		pgtype.NameOID, pgtype.NameArrayOID, pgtype.TextOID, pgtype.TextArrayOID, pgtype.BPCharOID, pgtype.BPCharArrayOID,
		pgtype.VarcharOID, pgtype.VarcharArrayOID, pgtype.Int8OID, pgtype.Int8ArrayOID, pgtype.Int2OID, pgtype.Int2ArrayOID,
		pgtype.Int4OID, pgtype.Int4ArrayOID, pgtype.OIDOID, pgtype.OIDArrayOID, pgtype.Float4OID, pgtype.Float4ArrayOID,
		pgtype.Float8OID, pgtype.Float8ArrayOID, pgtype.NumericOID, pgtype.NumericArrayOID,
		pgtype.JSONOID, pgtype.JSONArrayOID, pgtype.JSONBOID, pgtype.JSONBArrayOID, pgtype.XMLOID, 143,
		pgtype.PointOID, pgtype.PointArrayOID, pgtype.LsegOID, pgtype.LsegArrayOID, pgtype.PathOID, pgtype.PathArrayOID,
		pgtype.BoxOID, pgtype.BoxArrayOID, pgtype.PolygonOID, pgtype.PolygonArrayOID, pgtype.LineOID, pgtype.LineArrayOID,
		pgtype.CircleOID, pgtype.CircleArrayOID, pgtype.CIDROID, pgtype.CIDRArrayOID, pgtype.InetOID, pgtype.InetArrayOID,
		pgtype.MacaddrOID, 1040, pgtype.Macaddr8OID, 775, // and their arrays
		pgtype.DateOID, pgtype.DateArrayOID, pgtype.TimeOID, pgtype.TimeArrayOID, pgtype.TimestampOID, pgtype.TimestampArrayOID,
		pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID, pgtype.IntervalOID, pgtype.IntervalArrayOID,
		pgtype.BitOID, pgtype.BitArrayOID, pgtype.VarbitOID, pgtype.VarbitArrayOID, pgtype.UUIDOID, pgtype.UUIDArrayOID,
		pgtype.Int4rangeOID, pgtype.Int4rangeArrayOID, pgtype.Int8rangeOID, pgtype.Int8rangeArrayOID, pgtype.NumrangeOID, pgtype.NumrangeArrayOID,
		pgtype.TsrangeOID, pgtype.TsrangeArrayOID, pgtype.TstzrangeOID, pgtype.TstzrangeArrayOID, pgtype.DaterangeOID, pgtype.DaterangeArrayOID,
		pgtype.Int4multirangeOID, pgtype.Int8multirangeOID, pgtype.NummultirangeOID, pgtype.TsmultirangeOID, pgtype.TstzmultirangeOID,
		pgtype.DatemultirangeOID, 6150, 6151, 6152, 6153, 6155, 6157, // multiranges and their arrays
		790, 791, 3614, 3643, 3615, 3645, // money, tsvector, tsquery
		pgtype.XIDOID, 1011, pgtype.CIDOID, 1012, pgtype.TIDOID, 1010, 5069, 271, 3220, 3221, // xid, cid, tid, xid8, pg_lsn
		22, 1006, 30, 1013, 4072, 4073, 1790, 2201, // int2vector, oidvector, jsonpath, refcursor
	} {
		m[oid] = true
	}
	return m
}()
