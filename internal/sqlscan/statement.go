// Package sqlscan reads one SQL text and says what it is: a read, a write, a
// change of the session, a transaction's verb, DDL, or not understood. It is a
// scanner, not a parser: it cuts the text into PostgreSQL's own tokens and
// collects supersets of the names that may matter. Where it is unsure it says
// so; what is not understood is [ClassUnknown], which nobody may cache.
//
// It knows nothing of caches and nothing of a catalog: whether a name is a
// table, and whether a function is pure, is asked elsewhere.
package sqlscan

import "time"

// Class says what kind of statement a text holds. The zero value is the safe
// one: nothing is known, so the statement may write anything and change the
// session.
type Class uint8

// The classes. A text of several statements is ClassUnknown.
const (
	ClassUnknown Class = iota
	ClassEmpty         // no statement at all: white space and comments
	ClassRead          // SELECT, VALUES, TABLE, WITH over reads: no write and no lock visible in the text
	ClassShow          // SHOW, EXPLAIN without ANALYZE of a known statement: reads, never cacheable
	ClassWrite         // INSERT, UPDATE, DELETE, MERGE (in a CTE too), TRUNCATE, COPY … FROM, REFRESH
	ClassLock          // a read with FOR UPDATE or its kin at any depth, LOCK TABLE: writes no row that a reader sees
	ClassTx            // BEGIN, COMMIT, ROLLBACK, SAVEPOINT, … : see TxVerb
	ClassSession       // SET, RESET, DISCARD, LISTEN, PREPARE, DECLARE, … : see Effect
	ClassDDL           // CREATE, ALTER, DROP, GRANT, REVOKE, COMMENT, SELECT INTO, CREATE TABLE AS, …
)

// TxVerb is the verb of a ClassTx statement.
type TxVerb uint8

// The transaction verbs.
const (
	TxNone TxVerb = iota
	TxBegin
	TxCommit
	TxRollback
	TxSavepoint
	TxRelease
	TxRollbackTo
	TxPrepare // PREPARE TRANSACTION
	TxCommitPrepared
	TxRollbackPrepared
	TxSet // SET TRANSACTION, SET CONSTRAINTS: ends with the transaction
)

// Effect says what a statement, of whatever class, does to its session, as far
// as the text shows it. Functions named in it may do more.
type Effect uint8

// The effects, in ascending order of harm.
const (
	EffectNone    Effect = iota
	EffectLocal          // ends with the transaction: SET LOCAL, set_config(…, true)
	EffectTouched        // not known: DO, CALL, DISCARD, RESET, EXECUTE, unknown statements
	EffectChanged        // SET, set_config(…, false), SET ROLE, LISTEN, PREPARE, temp objects, WITH HOLD cursors, session advisory locks, LOAD
)

// Name is a name as PostgreSQL folds it: unquoted parts in lower case, quoted
// ones as written, cut at 63 bytes. Schema is "" where the text gives none.
type Name struct {
	Schema, Name string
}

// Call is a function call by name. Args is the number of arguments, -1 where
// the text does not show it (VARIADIC; count(*) has 0, as the server counts).
//
// A call by special syntax (EXTRACT, TRIM, AT TIME ZONE, …) is reported as what
// the server makes of it, under the schema "pg_catalog": {pg_catalog extract}.
// What looks like a call and has no function behind it is reported there in
// upper case: COALESCE, NULLIF, GREATEST, LEAST, GROUPING, the XML and JSON
// constructors. So neither is taken for a user's function "coalesce". The words
// are those of version 17: an older server without JSON_VALUE or MERGE_ACTION
// calls a user's function of that name, and version 13 makes date_part of
// EXTRACT.
type Call struct {
	Name
	Args int
}

// Operand says what a cast is applied to, as far as the text shows it. The zero
// value is the widest.
type Operand uint8

// The operands.
const (
	OperandOther   Operand = iota // an expression, a subquery, or a type that values are read into: column definitions, RETURNING of JSON
	OperandLiteral                // a literal, or NULL: what is in it has been looked at
	OperandParam                  // $n
	OperandColumn                 // a name, or a.b: Of is the column, its schema the qualifier
	OperandCall                   // f(…), or AT TIME ZONE as a call of timezone: Of is the function
	OperandCast                   // x::a in x::a::b: Of is the type a
)

// Cast is a conversion to a type that the text names: x::t, CAST(x AS t),
// t '…', and what else reads values into a named type. Parentheses around the
// operand don't count.
type Cast struct {
	Type Name // of the elements, where it is an array
	Over Operand
	Of   Name
}

// Statement is what Scan found. It is immutable and may be shared.
type Statement struct {
	Class  Class
	Verb   string // the leading words in upper case, such as "SELECT" or "CREATE INDEX"; "" if not understood
	Tx     TxVerb
	Effect Effect

	// TxChain: COMMIT or ROLLBACK … AND CHAIN, which begins the next
	// transaction at once. The server's own status tells.
	TxChain bool

	// Identity is the text without the comments that are not hints (each
	// replaced by one space), so that a trace comment shares its entry. It is
	// the text itself where there are none. Two texts with one Identity are
	// the same question to a server.
	Identity string

	Params int // the highest $n

	// What a read depends on and what a statement writes. Relations is a
	// superset: CTE names are left out only where that is certain. Of a write,
	// Targets are what it writes and Relations what it also reads.
	Relations []Name
	Targets   []Name

	// What else is named, each a superset without repetition.
	Functions  []Call
	Attributes []string // last parts of a.b and (a).b, which call functions in attribute notation
	Operators  []string // named, and implied by IN, BETWEEN, LIKE, ORDER BY, DISTINCT, USING, CASE x WHEN …
	Types      []Name   // in casts and typed literals

	Zoned []Cast // what AT TIME ZONE and calls of timezone are applied to; the type is that function

	// NumericModulo: whatever is written before a %, there is a number behind
	// it. (pg_trgm has a % for texts.)
	NumericModulo bool

	Casts []Cast // the same with what is cast

	// Aliases are the names that the text gives to columns, tables and
	// expressions: by AS or without, in column lists and definitions, as common
	// table expressions. So are those that the server gives to columns of a
	// subquery, of VALUES and of functions in FROM that have none. A column by
	// another name is a table's own, unless the fields of a composite
	// (FeatureWholeRow, FeatureField) or the OUT parameters of a function in
	// FROM (FeatureFromFunction) brought it.
	Aliases []string

	// Features are what the text uses beyond plain columns, parameters,
	// literals, operators, boolean logic, CASE, IN, BETWEEN, LIKE, IS NULL, IS
	// DISTINCT FROM, joins, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET,
	// DISTINCT, subqueries and calls. A caller accepts those it knows.
	Features Feature

	// Reasons are what in the text bars the statement from the cache. A read
	// without any may be cached if the catalog agrees.
	Reasons []Reason

	// Backslash: a plain '…' literal holds a backslash, so the text reads
	// otherwise where standard_conforming_strings is off.
	Backslash bool

	Hint Hint
}

// Hint is the wish that a comment /* cachedpgx: … */ states.
type Hint struct {
	Set       bool          // a well-formed hint was there
	Off       bool          // off: neither served nor stored
	TTL       time.Duration // ttl=5s; 0 where unset
	Stale     time.Duration // stale=1s; 0 where unset
	Tags      []string      // tag=home, each once
	Malformed []string      // hints not understood, and so ignored
}

// Feature is a set of syntactic features.
type Feature uint64

// The features.
const (
	FeatureCTE               Feature = 1 << iota // WITH
	FeatureRecursive                             // WITH RECURSIVE
	FeatureSearchCycle                           // SEARCH … SET, CYCLE … SET
	FeatureSetOperation                          // UNION, INTERSECT, EXCEPT
	FeatureValues                                // VALUES as a query
	FeatureTable                                 // TABLE x as a query
	FeatureDistinctOn                            // DISTINCT ON (…)
	FeatureGroupingSets                          // ROLLUP, CUBE, GROUPING SETS, GROUP BY DISTINCT
	FeatureWindow                                // OVER, WINDOW
	FeatureFilter                                // FILTER (WHERE …)
	FeatureWithinGroup                           // WITHIN GROUP (ORDER BY …)
	FeatureAggregateOrder                        // ORDER BY within a call
	FeatureAggregateDistinct                     // DISTINCT or ALL within a call
	FeatureNamedArgument                         // f(a => 1), f(a := 1)
	FeatureVariadic                              // f(VARIADIC …)
	FeatureSpecialCall                           // EXTRACT, TRIM, COALESCE, GREATEST, … : see Call
	FeatureXML                                   // XML constructors and predicates, XMLTABLE
	FeatureJSON                                  // JSON constructors and predicates, JSON_TABLE
	FeatureCast                                  // x::t, CAST(x AS t)
	FeatureTypedLiteral                          // date '…', t '…', interval '…'
	FeatureArray                                 // ARRAY[…], ARRAY(…)
	FeatureSubscript                             // a[1], a[1:2]
	FeatureRow                                   // ROW(…), (a, b)
	FeatureWholeRow                              // t.* within an expression, or a name alone that is an entry's of FROM
	FeatureField                                 // (x).f, a.b.c.d: a field of a composite, or a call in attribute notation
	FeatureCollate                               // COLLATE
	FeatureAtTimeZone                            // AT TIME ZONE, AT LOCAL
	FeatureOverlaps                              // OVERLAPS
	FeatureSimilar                               // SIMILAR TO
	FeatureEscape                                // LIKE … ESCAPE …
	FeatureQuantified                            // op ANY (…), op SOME (…), op ALL (…)
	FeatureIsNormalized                          // IS NORMALIZED
	FeatureOperatorSyntax                        // OPERATOR(s.op)
	FeatureOrderUsing                            // ORDER BY … USING op
	FeatureWithTies                              // FETCH FIRST … WITH TIES
	FeatureOnly                                  // FROM ONLY t, and t *
	FeatureLateral                               // LATERAL
	FeatureFromFunction                          // a function in FROM, ROWS FROM
	FeatureOrdinality                            // WITH ORDINALITY
	FeatureColumnDefinitions                     // AS t (a int, b text)
	FeatureNaturalJoin                           // NATURAL JOIN
	FeatureJoinUsing                             // JOIN … USING (…)
	FeatureCurrentOf                             // WHERE CURRENT OF
	FeatureReturning                             // RETURNING
	FeatureOnConflict                            // ON CONFLICT
	FeatureUnicodeEscape                         // U&'…', U&"…"
	featureEnd
)

// ReasonCode names why a statement is not cached. The zero value is the widest.
// The codes below FirstForeignReason belong to this package.
type ReasonCode uint8

// The reasons that a text shows.
const (
	ReasonSyntax       ReasonCode = iota // not understood: newer than the scanner, or no SQL
	ReasonTooLong                        // longer than MaxText
	ReasonBadText                        // a NUL byte, or invalid UTF-8
	ReasonTooDeep                        // nested beyond the limit
	ReasonSeveral                        // more than one statement
	ReasonNotRead                        // a statement of another class
	ReasonLock                           // FOR UPDATE and its kin, LOCK TABLE
	ReasonInto                           // SELECT … INTO
	ReasonWrite                          // it writes, a data-modifying CTE included
	ReasonTableSample                    // TABLESAMPLE (markable)
	ReasonSystemColumn                   // xmin, xmax, cmin, cmax, ctid, tableoid
	ReasonClock                          // CURRENT_TIMESTAMP, … (markable)
	ReasonIdentity                       // CURRENT_USER, …
	ReasonDateWord                       // 'now', 'today', … within a literal (markable)
	ReasonNoRelation                     // nothing is read: SELECT 1
	ReasonThreePart                      // database.schema.name
	ReasonSession                        // it changes its session: set_config, session advisory locks
	reasonEnd
)

// FirstForeignReason is where the codes of other packages may begin.
const FirstForeignReason ReasonCode = 64

// MaxText is the longest text that Scan looks into, in bytes.
const MaxText = 64 << 10

// Reason is one thing that bars a statement from the cache.
type Reason struct {
	Code     ReasonCode
	Detail   string // the words of the text, or the object, it is about
	Markable bool   // a mark (a TTL of the caller's own) waives it: it is only time
}
