// Package catalog judges a statement by what the server's catalog says of the
// names in it: whether its answer may be kept, and whether it is proven to
// write nothing. It fails closed: what it does not know is not cacheable and
// not harmless.
//
// This first catalog is narrow: it lets ordinary and partitioned tables of
// built-in types pass, with the built-in comparison, arithmetic and pattern
// operators and five aggregates. Views, casts and functions come later.
//
// Three parties are trusted: the server's own code, C code (which only a
// superuser installs), and a superuser not to alter what initdb made.
package catalog

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// Relation is a relation that an answer depends on. OID is 0 where there is no
// catalog to ask; the names are then those of the text.
type Relation struct {
	OID          uint32
	Schema, Name string
}

// Verdict is what is known of a statement. It is immutable once made.
type Verdict struct {
	Cacheable bool // proven safe
	WithMark  bool // safe once the caller has marked the read: what bars it is only time

	// Harmless: proven to write nothing that a reader sees, and to leave its
	// session as it is, cacheable or not. Locks that end with the transaction
	// are harmless.
	Harmless bool

	Reasons   []sqlscan.Reason // every reason, not the first; empty when Cacheable
	Relations []Relation       // what it reads, with the whole partition and inheritance tree
}

// The reasons that only the catalog shows.
const (
	ReasonFeature        sqlscan.ReasonCode = sqlscan.FirstForeignReason + iota
	ReasonFunction                          // not among the functions that may be cached over, or not the built-in one
	ReasonVolatile                          // reads the clock, chance, or more; markable where it is only that
	ReasonOperator                          // not among the operators that may be cached over, or a user's
	ReasonAttribute                         // a name after a dot that may call a function
	ReasonRelationKind                      // a view, a materialized view, a sequence, …
	ReasonSystemRelation                    // of pg_catalog, information_schema or pg_toast
	ReasonTemporary
	ReasonForeign // markable
	ReasonRowSecurity
	ReasonMissing   // no such relation in the search_path
	ReasonType      // a cast, or a column or parameter of a type that isn't built in or reads the clock
	ReasonUserCast  // a user's cast that may apply unseen
	ReasonNoCatalog // there is none to ask; markable
)

var reasonNames = [...]string{
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

// Judge asks the server about a statement, in one round trip below pgx.Conn,
// so that a user's tracers don't see it. The session must be clean: names are
// resolved under its search_path and role. paramOIDs are the types of the
// statement's parameters, as its description gives them. An error is the
// server's, or the connection's; nothing is known then.
//
// The verdict is of the moment: what others create or alter afterwards, it does
// not see.
func Judge(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement, paramOIDs []uint32) (Verdict, error) {
	switch st.Class {
	case sqlscan.ClassRead, sqlscan.ClassShow, sqlscan.ClassLock:
	default:
		return Verdict{Reasons: st.Reasons}, nil
	}
	r := pc.ExecParams(ctx, judgeSQL, questions(st, paramOIDs), nil, nil, nil).Read()
	if r.Err != nil {
		return Verdict{}, r.Err
	}
	f, err := readFacts(r.Rows)
	if err != nil {
		return Verdict{}, err
	}
	j := judging{st: st, v: Verdict{Harmless: true}, facts: f}
	j.text()
	j.judgeRelations()
	j.judgeFunctions()
	j.judgeAttributes()
	j.judgeOperators()
	// These go by what is called.
	j.judgeTypes(paramOIDs)
	j.judgeCasts()
	return j.verdict(), nil
}

// questions are judgeSQL's parameters.
func questions(st *sqlscan.Statement, paramOIDs []uint32) [][]byte {
	var relSchemas, relNames, userParams []string
	for _, r := range st.Relations {
		relSchemas, relNames = append(relSchemas, r.Schema), append(relNames, r.Name)
	}
	for _, oid := range paramOIDs {
		if oid >= firstUserOID {
			userParams = append(userParams, strconv.FormatUint(uint64(oid), 10))
		}
	}
	calls := slices.Clone(st.Attributes)
	for _, f := range st.Functions {
		calls = append(calls, f.Name.Name)
	}
	calls = distinct(calls)
	types := slices.Clone(calls)
	for _, t := range st.Types {
		types = append(types, t.Name)
	}
	sampled := slices.ContainsFunc(st.Reasons, func(r sqlscan.Reason) bool { return r.Code == sqlscan.ReasonTableSample })
	var q [][]byte
	for _, list := range [][]string{relSchemas, relNames, calls, distinct(types), st.Attributes, st.Operators, userParams} {
		q = append(q, textArray(list))
	}
	return append(q, strconv.AppendBool(nil, sampled))
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
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
