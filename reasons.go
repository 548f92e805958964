package cachedpgx

// The codes that Stats.Bypasses counts under, beside those of the text and the
// catalog.
const (
	reasonModeOff     = "mode-off"
	reasonNotMarked   = "not-marked"
	reasonAsked       = "without-cache" // WithoutCache, or the hint off
	reasonTransaction = "transaction"
	reasonChanged     = "session-changed"
	reasonTouched     = "session-touched"
	reasonNotRead     = "not-a-read"
	reasonExec        = "exec" // a read run by Exec
	reasonArgument    = "argument"
	reasonDateWord    = "date-word-argument"
	reasonQuarantine  = "quarantine"
	reasonResetHook   = "reset-hook"
	reasonPooler      = "pooler"
	reasonScope       = "scope-unstable"
	reasonNoCatalog   = "no-catalog"
	reasonTooBig      = "too-big"
	reasonUnstorable  = "type-not-known" // a column's, to anybody but its own connection
	reasonBackslash   = "backslash"      // with standard_conforming_strings off
	reasonPartition   = "partition-failed"
	reasonStandby     = "standby"
	reasonPolicy      = "policy-invalid" // WithPolicy's makes no sense
	reasonRule        = "rule-failed"    // a Rule's Match panicked

	// Not a reason: the types of parameters must be known first.
	reasonUndescribed = "parameter-types-unknown"
)
