//go:build !cachedpgx_constant_hash

package cachedpgx

import "hash/maphash"

// hasher spreads strings over shards and stripes. What shares one is told apart
// by its whole text: built with the tag cachedpgx_constant_hash, every hash is
// the same, and all tests must still pass.
type hasher struct{ seed maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed()} }

func (h hasher) of(s string) uint64 { return maphash.String(h.seed, s) }
