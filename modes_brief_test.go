//go:build race && go1.27

package cachedpgx_test

// briefly says that matrices are tried in part. The race detector sees no more in
// each mode with the newer Go than with the older one, where they are tried in
// full.
const briefly = true
