// Package catalog judges a statement by what the server's catalog says of the
// names in it: whether its answer may be kept, and whether it is proven to
// write nothing. It fails closed: what it does not know is not cacheable and
// not harmless.
//
// Three parties are trusted: the server's own code, C code (which only a
// superuser installs), and a superuser not to alter what initdb made.
package catalog

import "github.com/cachedpgx/cachedpgx/internal/sqlscan"

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

	// DatesFromParams: the text casts a parameter to a date or time, so that
	// text in it may be 'now' whatever the parameter's own type is.
	DatesFromParams bool

	Reasons []sqlscan.Reason // every reason, not the first; empty when Cacheable

	// Relations are what it reads: the first Named are those that the text
	// names, the others are the rest of their inheritance trees and what
	// views and policies read.
	Relations []Relation
	Named     int
}

// The reasons that only the catalog shows.
const (
	ReasonFeature         sqlscan.ReasonCode = sqlscan.FirstForeignReason + iota
	ReasonVolatile                           // reads the clock, chance, or more; markable where it is only that
	ReasonStable                             // of the server's own, and may differ from one call to the next
	ReasonUserFunction                       // not known to be pure
	ReasonUnknownFunction                    // no such function in the search_path
	ReasonOperator                           // a user's whose function is not known to be pure
	ReasonAttribute                          // a name after a dot that may call such a function
	ReasonRelationKind                       // a sequence, an index, …
	ReasonSystemRelation                     // of pg_catalog, information_schema or pg_toast
	ReasonTemporary
	ReasonForeign // markable
	ReasonRowSecurity
	ReasonMissing   // no such relation in the search_path
	ReasonType      // a cast, or a column or parameter of a type that is not known to be safe
	ReasonDateInput // a cast to a date or time of what may be text; markable
	ReasonUserCast  // a user's cast that may apply unseen
	ReasonNoCatalog // there is none to ask; markable
)

var reasonNames = [...]string{
	"syntax-not-cached", "volatile-function", "stable-function", "user-function", "unknown-function", "operator", "attribute-function",
	"relation-kind", "system-relation", "temporary-table", "foreign-table", "row-security", "unknown-relation", "type", "date-input",
	"user-cast", "no-catalog",
}

// CodeName gives the stable name of a reason, the scanner's or ours.
func CodeName(c sqlscan.ReasonCode) string {
	if i := int(c) - int(sqlscan.FirstForeignReason); i >= 0 && i < len(reasonNames) {
		return reasonNames[i]
	}
	return c.String()
}
