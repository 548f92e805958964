package catalog

import (
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// pure are built-in functions that may be called where there is no catalog to
// ask: names that in PostgreSQL read no clock, write nothing, and say the same
// to everybody.
var pure = set("abs", "ceil", "ceiling", "floor", "round", "sign", "sqrt", "power", "mod", "trunc",
	"lower", "upper", "length", "char_length", "octet_length", "btrim", "ltrim", "rtrim", "trim", "substring", "substr", "left", "right",
	"replace", "concat", "concat_ws", "position", "strpos", "lpad", "rpad", "md5", "coalesce", "nullif", "greatest", "least",
	"extract", "date_part", "date_trunc", "array_agg", "string_agg", "json_agg", "jsonb_agg", "bool_and", "bool_or", "array_length",
	"cardinality", "unnest", "row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value")

// sequences and the like write, or lock, but leave no setting behind: a session
// that calls them is as it was.
var settled = set("nextval", "setval", "currval", "lastval", "pg_notify", "lo_create", "lo_unlink", "pg_advisory_xact_lock",
	"pg_advisory_xact_lock_shared", "pg_try_advisory_xact_lock", "pg_try_advisory_xact_lock_shared", "now", "statement_timestamp",
	"transaction_timestamp", "current_setting", "to_char", "to_date", "to_timestamp", "to_number", "format", "generate_series",
	"timezone", "age", "make_date", "make_interval", "make_timestamp", "make_timestamptz", "to_json", "to_jsonb", "row_to_json",
	"json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array", "jsonb_set", "jsonb_array_elements",
	"json_array_elements", "jsonb_array_elements_text", "jsonb_array_length", "jsonb_each", "jsonb_object_keys", "to_tsvector",
	"to_tsquery", "plainto_tsquery", "websearch_to_tsquery", "phraseto_tsquery", "ts_rank", "ts_rank_cd", "ts_headline", "setweight",
	"encode", "decode", "sha256", "sha512", "ascii", "chr", "initcap", "repeat", "reverse", "split_part", "regexp_replace",
	"regexp_matches", "regexp_match", "regexp_split_to_table", "regexp_split_to_array", "array_append", "array_prepend", "array_cat", "array_remove",
	"array_position", "array_to_string", "string_to_array", "array_upper", "array_lower", "overlaps", "isfinite", "justify_days",
	"txid_current", "pg_current_xact_id", "current_database", "current_schema", "current_schemas", "version", "pg_typeof",
	"json_object_agg", "jsonb_object_agg", "stddev", "variance", "percentile_cont", "percentile_disc", "mode", "every", "ntile",
	"cume_dist", "percent_rank", "nth_value", "like_escape", "width_bucket", "random", "exp", "ln", "log", "pi", "div", "gcd", "lcm")

// HarmlessName says whether a call of a function of this name leaves its
// session's settings as they are, going by the name alone: it is one of the
// well-known built-in ones, or no function at all.
func HarmlessName(n sqlscan.Name) bool {
	if n.Schema != "" && n.Schema != "pg_catalog" {
		return false
	}
	if n.Schema == "pg_catalog" && n.Name == strings.ToUpper(n.Name) {
		return true
	}
	return aggregates[n.Name] || clocks[n.Name] || quiet[n.Name] || pure[n.Name] || settled[n.Name]
}

// JudgeText is the verdict over a server that has no PostgreSQL catalog to
// ask. Nothing is cacheable there unless the caller marks it, and then only if
// the text alone shows nothing against it. The answer depends on the names in
// the text.
func JudgeText(st *sqlscan.Statement) Verdict {
	v := Verdict{Reasons: append([]sqlscan.Reason(nil), st.Reasons...)}
	v.Reasons = append(v.Reasons, sqlscan.Reason{Code: ReasonNoCatalog, Detail: "only marked reads are cached", Markable: true})
	v.Harmless = (st.Class == sqlscan.ClassRead || st.Class == sqlscan.ClassShow) && st.Effect <= sqlscan.EffectLocal
	for _, f := range st.Functions {
		known := f.Schema == "" || f.Schema == "pg_catalog"
		special := f.Schema == "pg_catalog" && f.Name.Name == strings.ToUpper(f.Name.Name)
		switch {
		case special || known && (aggregates[f.Name.Name] || pure[f.Name.Name]):
		case known && clocks[f.Name.Name]:
			v.Reasons = append(v.Reasons, sqlscan.Reason{Code: ReasonVolatile, Detail: f.Name.Name, Markable: true})
		default:
			v.Reasons = append(v.Reasons, sqlscan.Reason{Code: ReasonFunction, Detail: f.Name.Name})
			v.Harmless = false
		}
	}
	for _, r := range st.Relations {
		if r.Schema == "information_schema" || strings.HasPrefix(r.Schema, "pg_") || strings.HasPrefix(r.Name, "pg_") {
			v.Reasons = append(v.Reasons, sqlscan.Reason{Code: ReasonSystemRelation, Detail: r.Name})
		}
		v.Relations = append(v.Relations, Relation{Schema: r.Schema, Name: r.Name})
	}
	v.WithMark = st.Class == sqlscan.ClassRead && len(v.Relations) > 0
	for _, r := range v.Reasons {
		v.WithMark = v.WithMark && r.Markable
	}
	return v
}
