// Package cachedpgx is a database/sql driver that wraps pgx and serves
// repeated reads from memory.
//
// Importing it registers the driver "cachedpgx" (and pgx's stdlib, which it
// imports, registers "pgx") and does nothing else. A program that opens
//
//	db, err := sql.Open("pgx", dsn)
//
// changes one word:
//
//	db, err := sql.Open("cachedpgx", dsn)
//
// The same statements then give the same rows, Go types and errors. A read
// that is proven safe is kept for a bounded time (30 s unless set otherwise)
// and served from memory; identical reads that run at the same time make one
// query. Whatever is not proven safe goes to the server untouched, and so does
// everything inside a transaction. Once a write through the handle has
// returned, no later read through it is served from before it.
//
// # Configuration
//
// The data source name is pgx's, in URL or keyword form, with parameters whose
// names start with "cache_":
//
//	postgres://app@db/shop?cache_ttl=10s&cache_max_bytes=256MiB
//
// [ParseConfig] lists them. [NewConnector] and [OpenDB] take a [Config] and any
// inner connector instead, and [CacheOf] finds the [Cache] of a handle.
//
// # One call's wish
//
// [WithoutCache], [WithRefresh], [WithTTL], [WithPolicy] and [WithTags] ride in
// a call's context; the comments /* cachedpgx: off */ and
// /* cachedpgx: ttl=5s tag=home */ say the same for those who can't reach the
// context. Config.Rules say it for tables.
//
// [Cache.Explain] says of a statement whether it is cached, and if not, why.
//
// # Connections
//
// A *sql.DB opened with this driver holds logical connections, which cost
// nothing at the server. Beneath them is one pool of server connections, an
// ordinary *sql.DB that [Cache.Server] gives: a load borrows from it, and so
// does whatever the cache can't serve. Its limits are Config.ServerPool.
package cachedpgx
