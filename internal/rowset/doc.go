// Package rowset keeps the rows of a result and hands them out again, to as
// many readers as ask, as pgx's stdlib would have handed them out: the same
// values, Go types, column metadata, order and errors.
//
//   - [Builder] collects a result from PostgreSQL, [Set] is what it makes of it:
//     the wire bytes in one block, immutable, decoded for each reader as
//     stdlib decodes ([Set.Rows], [Set.Once]).
//   - [NewStream] hands on a result that was too big to keep, its prefix first.
//   - [ValueSet] and [NewValueStream] do the same for an inner driver that is
//     not pgx, with the driver.Values that it gave.
//
// Nothing that a reader is given shares memory with a set, but for strings,
// which nobody can change. The package knows nothing of caching.
package rowset
