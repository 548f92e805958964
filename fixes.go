package cachedpgx

import "strings"

// fixes say for each reason what a person may do about it. %s is the reason's
// detail.
var fixes = map[string]string{
	"not-understood":     "check the text; if the server takes it, its syntax is newer than this version knows: leave it uncached, or write it otherwise",
	"text-too-long":      "texts over 64 KiB are not looked into: pass values as parameters, an array for a list",
	"bad-text":           "send valid UTF-8 without NUL bytes",
	"nested-too-deep":    "nest less deeply",
	"several-statements": "send each statement in a call of its own",
	"not-a-read":         "only reads are cached; this goes to the server",
	"row-lock":           "a lock must reach the server; drop the locking clause if the rows need not be locked",
	"select-into":        "SELECT INTO creates a table; it goes to the server",
	"write":              "writes go to the server",
	"tablesample":        "a sample differs each time: mark the read with a TTL if an older sample will do",
	"system-column":      "leave the system column %s out: it changes with every update, even of nothing",
	"clock-keyword":      "%s reads the clock: pass the time as a parameter, or mark the read with a TTL",
	"identity-keyword":   "%s says who asks: pass the name as a parameter",
	"date-word":          "'%s' in the literal means a time relative to now: pass the date as a parameter, or mark the read with a TTL",
	"no-relation":        "it reads no table, so it goes to the server, as a probe should",
	"three-part-name":    "leave the database out of the name",
	"session-effect":     "what changes the session goes to the server",

	"syntax-not-cached":  "write it without %s",
	"volatile-function":  "%s is VOLATILE: it may have an effect, and differ with each call; pass its result as a parameter, or, if it is your own and does neither, list it in PureFunctions",
	"stable-function":    "%s tells of the session or the server, or reads what isn't known here; pass its result as a parameter",
	"user-function":      "%s is not known to be pure: list it in PureFunctions with what it reads; one that reads no table may be declared IMMUTABLE and written in SQL instead",
	"unknown-function":   "there is no function %s in the search_path that takes so many arguments: check its name and schema",
	"operator":           "the operator %s is not built in, and its function is not known to be pure: list that function in PureFunctions (psql's \\do+ names it)",
	"attribute-function": "%s after a dot may call a function: name a column of the table, or list the function in PureFunctions",
	"relation-kind":      "read from a table or a view: %s",
	"system-relation":    "%s is the server's own and changes unseen: ask through Server(), or leave it uncached",
	"temporary-table":    "%s is a temporary table, which only its session sees",
	"foreign-table":      "%s is changed elsewhere, unseen: mark the read with a TTL if it may be that old",
	"row-security":       "%s has row security: set Config.Partition to what its policies go by, so that only those share rows who may see the same",
	"unknown-relation":   "there is no %s in the search_path: check its name and schema",
	"type":               "%s: the type is not known to be safe to keep, or to read. Give the table a column of a built-in type, list what its check or cast calls in PureFunctions, or leave it uncached",
	"date-input":         "%s reads what may be text, and 'today' may be in it: store a date, cast a parameter, or mark the read with a TTL",
	"user-cast":          "a user's cast (%s) may apply unseen: list its function in PureFunctions, or make it explicit",
	"no-catalog":         "the catalog can't be asked: a PostgreSQL server reached through pgx is needed, otherwise only marked reads are cached",

	reasonModeOff:    "caching is off: set the mode to auto or marked",
	reasonNotMarked:  "only marked reads are cached in this mode: use WithTTL, WithPolicy or the hint ttl=, or a Rule with ModeAuto",
	reasonAsked:      "the call or its hint asks not to be cached",
	reasonResetHook:  "a hook may set a tenant from the caller's context: set Config.Partition",
	reasonPooler:     "a pooler stands in between: connect to the server itself, or to a pooler in session mode",
	reasonScope:      "connections keep coming up with different settings: give them all the same",
	reasonBackslash:  "standard_conforming_strings is off: write E'…' for texts with backslashes",
	reasonStandby:    "a standby may lag behind this handle's writes: read from the primary",
	reasonUnstorable: "connections differ too much in the types that are registered on them: register the same on each, or cast the column to a built-in type",
	reasonTooBig:     "its last result was larger than %s: ask for fewer rows, or raise MaxRows and MaxResultBytes",
	reasonPolicy:     "mend the policy: %s",
	reasonRule:       "mend the Rule's Match, which panicked (%s)",
}

// markableFixes take their place where a mark waives the reason.
var markableFixes = map[string]string{
	"volatile-function": "%s reads the clock or chance: pass the time as a parameter, or mark the read with a TTL",
}

// fixOf says what to do about a reason.
func fixOf(code, detail string, markable bool) string {
	if fix, ok := markableFixes[code]; ok && markable {
		return strings.ReplaceAll(fix, "%s", detail)
	}
	if detail == "" {
		detail = "it"
	}
	return strings.ReplaceAll(fixes[code], "%s", detail)
}
