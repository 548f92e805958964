package cachedpgx

import (
	"context"
)

// Explanation says whether a statement is cached, and why not.
type Explanation struct {
	Cacheable bool     // under its policy, without a mark
	Reasons   []Reason // every reason why not; empty when Cacheable
	Relations []string // "schema.name": what the answer depends on, with the whole partition tree and what views read
	Writes    []string // "schema.name": what the statement may write, with cascades, views' bases and partitions
	AllWrites bool     // its effect is unknown: whatever is kept is taken for written
	Policy    Policy   // as it applies, every field filled
	Rule      string   // the name of the Rule that applies; "" for none
}

// Reason is one thing that keeps a statement from the cache.
type Reason struct {
	Code     ReasonCode
	Detail   string // the words of the text, or the object, it is about
	Fix      string // what a person may do about it
	Markable bool   // a mark (WithTTL, WithPolicy, a hint) waives it: it is only time
}

// ReasonCode names a reason. The names are stable; Stats.Bypasses counts under
// the same ones.
type ReasonCode string

// String is the name itself, such as "volatile-function".
func (c ReasonCode) String() string { return string(c) }

// Explain says whether a statement is cached through this handle, and gives
// every reason if not. A text that is not understood is a reason, and no error;
// an error means that the server could not be asked. It runs nothing, changes
// nothing at the server, and may be called concurrently.
func (c *Cache) Explain(ctx context.Context, query string) (Explanation, error) {
	return Explanation{}, nil
}
