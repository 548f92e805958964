package catalog

import (
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// pureNames are functions that may be called where there is no catalog to ask: names
// that in PostgreSQL read no clock, write nothing, and say the same to
// everybody.
var pureNames = set("abs", "ceil", "ceiling", "floor", "round", "sign", "sqrt", "cbrt", "power", "mod", "trunc", "exp", "ln", "log", "pi",
	"div", "gcd", "lcm", "width_bucket", "lower", "upper", "initcap", "length", "char_length", "character_length", "octet_length",
	"bit_length", "btrim", "ltrim", "rtrim", "trim", "substring", "substr", "overlay", "left", "right", "replace", "repeat", "reverse",
	"concat", "concat_ws", "format", "position", "strpos", "starts_with", "lpad", "rpad", "split_part", "translate", "ascii", "chr",
	"md5", "sha256", "sha512", "encode", "decode", "regexp_replace", "regexp_match", "regexp_matches", "regexp_split_to_array",
	"regexp_split_to_table", "like_escape", "similar_to_escape", "is_normalized", "normalize",
	"coalesce", "nullif", "greatest", "least",
	"extract", "date_part", "date_trunc", "date_bin", "timezone", "overlaps", "isfinite", "justify_days", "justify_hours", "justify_interval",
	"make_date", "make_time", "make_interval", "make_timestamp", "make_timestamptz", "to_char", "to_number",
	"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "bool_and", "bool_or", "every",
	"stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "percentile_cont", "percentile_disc", "mode",
	"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value",
	"array_length", "array_upper", "array_lower", "array_append", "array_prepend", "array_cat", "array_remove", "array_position",
	"array_to_string", "string_to_array", "cardinality", "unnest", "generate_series", "generate_subscripts",
	"to_json", "to_jsonb", "row_to_json", "json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array",
	"jsonb_set", "json_array_elements", "jsonb_array_elements", "json_array_elements_text", "jsonb_array_elements_text",
	"json_array_length", "jsonb_array_length", "json_each", "jsonb_each", "json_each_text", "jsonb_each_text",
	"json_object_keys", "jsonb_object_keys", "json_typeof", "jsonb_typeof", "jsonb_strip_nulls",
	"to_tsvector", "to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery", "ts_rank", "ts_rank_cd",
	"ts_headline", "setweight")

// settled are sequences and the like: they write, or lock, or tell of the
// server, but leave no setting behind. A session that calls them is as it was.
var settled = set("nextval", "setval", "pg_notify", "lo_create", "lo_unlink", "pg_advisory_xact_lock",
	"pg_advisory_xact_lock_shared", "pg_try_advisory_xact_lock", "pg_try_advisory_xact_lock_shared", "current_setting",
	"age", "to_date", "to_timestamp", "txid_current", "pg_current_xact_id", "pg_backend_pid", "pg_size_pretty",
	"pg_stat_get_activity", "current_database", "current_schema", "current_schemas", "version", "pg_typeof", "bernoulli", "system")

// HarmlessName says whether a call of a function of this name leaves its
// session's settings as they are, going by the name alone: it is one of the
// well-known built-in ones, or no function at all. A user's function of that
// name is not thought of; Judge is.
func HarmlessName(n sqlscan.Name) bool {
	if n.Schema != "" && n.Schema != "pg_catalog" {
		return false
	}
	return construct(n) ||
		aggregates[n.Name] || clocks[n.Name] || quiet[n.Name] || pureNames[n.Name] || settled[n.Name]
}

// JudgeText is the verdict over a server that has no PostgreSQL catalog to
// ask. Nothing is cacheable there; a mark admits a read if the text alone shows
// nothing against it. The answer depends on the names in the text. What a view
// or a function of a built-in's name hides, it can't know: Harmless, too, goes
// by the text alone.
func JudgeText(st *sqlscan.Statement) Verdict {
	j := judging{st: st}
	for _, r := range st.Reasons {
		j.add(r.Code, r.Detail, r.Markable)
	}
	j.time(ReasonNoCatalog, "only marked reads are cached")
	switch st.Class {
	case sqlscan.ClassRead, sqlscan.ClassShow:
		j.harmless = st.Effect <= sqlscan.EffectLocal && len(st.Targets) == 0
	default:
		return Verdict{Reasons: j.reasons}
	}
	for _, f := range st.Functions {
		known := f.Schema == "" || f.Schema == "pg_catalog"
		switch {
		case construct(f.Name), known && (aggregates[f.Name.Name] || pureNames[f.Name.Name]):
		case known && clocks[f.Name.Name]:
			j.time(ReasonVolatile, f.Name.Name)
		default:
			j.bar(ReasonUnknownFunction, f.Name.String())
			j.harmless = j.harmless && known && quiet[f.Name.Name]
		}
	}
	if scalarAttributes(st) {
		// ('s').nextval, or s.nextval, s being f's alias in FROM f() AS s.
		for _, a := range st.Attributes {
			if !pureNames[a] {
				j.bar(ReasonAttribute, a)
				j.harmless = false
			}
		}
	}
	if st.Features&sqlscan.FeatureOperatorSyntax != 0 {
		j.bar(ReasonFeature, sqlscan.FeatureOperatorSyntax.String())
		j.harmless = false
	}
	var relations []Relation
	for _, r := range st.Relations {
		if systemSchema(r.Schema) || r.Schema == "" && strings.HasPrefix(r.Name, "pg_") {
			j.bar(ReasonSystemRelation, r.String())
		}
		if strings.HasPrefix(r.Schema, "pg_temp") {
			j.bar(ReasonTemporary, r.String())
		}
		relations = append(relations, Relation{Schema: r.Schema, Name: r.Name})
	}
	v := verdict(st, j.reasons, j.harmless, relations, len(relations))
	v.Cacheable = false
	return v
}
