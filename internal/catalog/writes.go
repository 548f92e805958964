package catalog

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// WriteSet is what a statement may write: its targets, and all that the server
// writes on account of them.
type WriteSet struct {
	Relations []Relation // sorted by schema and name, without repetition
	All       bool       // its effect is not known: it may write anything
	Reasons   []string   // why it is All, in words; empty otherwise
}

// Writes asks the server what a statement may write.
func Writes(ctx context.Context, pc *pgconn.PgConn, st *sqlscan.Statement) (WriteSet, error) {
	return WriteSet{All: true, Reasons: []string{"not looked into"}}, nil
}
