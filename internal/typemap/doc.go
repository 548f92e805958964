// Package typemap gives many goroutines the type map of a connection: to
// decode rows and to encode arguments as that connection would, while it is
// somewhere else, or closed.
//
// A pgtype.Map is for one goroutine, and can't be copied safely: Map.Copy drops
// the TryWrap functions and what RegisterDefaultPgType registered, and shares
// codecs, of which some keep state. So a [Registry] knows what the maps of a
// handle's connections have registered, and has for each kind of them a bounded
// set of maps with codecs of their own ([Maps]). Codecs that it does not know
// are used under a lock, on the map of a connection that nobody else uses any
// more (a donor).
//
// Two connections of a handle that registered the same types, by OID, name and
// codec, count as one kind: which connection answers a query is the pool's
// choice, so what the map of one decodes, or encodes, is what plain pgx might
// have given.
package typemap
