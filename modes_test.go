//go:build !race || !go1.27

package cachedpgx_test

// briefly says that matrices are tried in part.
const briefly = false
