package cachedpgx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config sets a cache up. Its zero value is a good default. It is copied by
// whoever takes it.
type Config struct {
	// Policy says what is kept, and for how long.
	Policy Policy

	// Rules give some reads a policy of their own: the first that matches
	// applies. Finding it costs a hit nothing.
	Rules []Rule

	// MaxBytes bounds the memory of kept results: rows, keys and bookkeeping.
	// Beyond it the entries least worth keeping are evicted. Defaults to 64 MiB.
	MaxBytes int64

	// NegativeMaxBytes is the same for empty results, which have a memory of
	// their own so that a flood of unknown ids can't push out real rows.
	// Defaults to 4 MiB.
	NegativeMaxBytes int64

	// LoadLimit is the most loads that run at the server at one time; others
	// wait their turn, bounded by their contexts. It also bounds the connections
	// that loads open. Defaults to 32. Off sets no limit.
	LoadLimit int

	// LoadTimeout ends a load at the server; whoever waits for it gets an error
	// that says so and is context.DeadlineExceeded. Defaults to Off: a load
	// runs as long as somebody waits for it.
	LoadTimeout time.Duration

	// StallAfter is how long a load may take before the next caller starts
	// another one beside it; the earlier callers take whichever ends first.
	// Defaults to 30 s. Off waits for ever.
	StallAfter time.Duration

	// CatalogTTL is how long facts of the catalog are believed: what others'
	// DDL changes about a statement (a new view of an old name, row security
	// switched on) is noticed within it. Each text in use costs one small query
	// at the server in about half that time. Defaults to 1 min; at least 1 ms.
	CatalogTTL time.Duration

	// MaxStatements is how many texts are remembered, with what the catalog
	// says of them; at most 64 MiB of them. A text that was forgotten is looked
	// into again, and its entries are lost. Defaults to 10 000.
	MaxStatements int

	// Quarantine is the longest that the outcome of a write is in doubt after
	// its connection was lost: until it is proven to be over, nothing is served
	// from the cache or stored in it. Defaults to 30 s; at least 1 ms.
	Quarantine time.Duration

	// ServerPool sizes the pool of server connections.
	ServerPool Pool

	// Partition says who may share rows: callers whose contexts give different
	// strings (a tenant, a user) share nothing. It is called for each read that
	// might be cached, so it must be quick, and must not use the handle. Where
	// it panics, the call goes to the server uncached. Defaults to nil: all
	// callers of one handle share.
	//
	// A connector with a hook that may set a tenant from the caller's context
	// (stdlib.OptionResetSession, a pgxpool's PrepareConn or BeforeAcquire) is
	// cached only with Partition set, since a hit runs no hook.
	Partition func(context.Context) string

	// PureFunctions are functions of your own that may be cached over: their
	// results depend on nothing but their arguments, settings that are fixed,
	// and the relations that they are said to read; they write nothing. Each
	// is "shop.f", or "shop.f(shop.price; rate)" with what it reads, for all
	// functions of that name. What is said here is believed. Functions that
	// are IMMUTABLE and written in SQL over nothing, or IMMUTABLE and an
	// extension's, need not be listed.
	PureFunctions []string

	// Logger gets warnings. Defaults to slog.Default, from level Warn up.
	Logger *slog.Logger

	pooler bool // cache_pooler=transaction
}

// Pool sizes the pool of server connections. A process opens at most as many
// as its sessions hold, and LoadLimit more.
type Pool struct {
	MaxOpen     int           // defaults to 0: no limit of its own
	MaxIdle     int           // defaults to 16; Off keeps none
	MaxLifetime time.Duration // defaults to 30 min; Off sets no limit
	MaxIdleTime time.Duration // defaults to 5 min; Off sets no limit
}

const (
	defaultMaxBytes         = 64 << 20
	defaultNegativeMaxBytes = 4 << 20
	defaultLoadLimit        = 32
	defaultStallAfter       = 30 * time.Second
	defaultCatalogTTL       = time.Minute
	defaultMaxStatements    = 10_000
	defaultQuarantine       = 30 * time.Second
	defaultMaxIdle          = 16
	defaultMaxLifetime      = 30 * time.Minute
	defaultMaxIdleTime      = 5 * time.Minute

	mostStatements = 1_000_000
)

// check names every field that is out of its range.
func (c Config) check() error {
	_, pureErr := parsePure(c.PureFunctions)
	errs := []error{c.Policy.check(), checkRules(c.Rules), pureErr}
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("cachedpgx: Config."+field+": "+format, args...))
	}
	size := func(field string, v, least, most int64) {
		if v < least && !(v == Off && least == Off) || v > most {
			bad(field, "%d is out of range: from 1 to %d%s", v, most, orOff(least))
		}
	}
	duration := func(field string, v time.Duration, off bool) {
		if v != 0 && v < time.Millisecond && !(off && v == Off) {
			least := int64(0)
			if off {
				least = Off
			}
			bad(field, "%v is out of range: at least 1ms%s", v, orOff(least))
		}
	}
	const most = 1 << 50
	size("MaxBytes", c.MaxBytes, 0, most)
	size("NegativeMaxBytes", c.NegativeMaxBytes, 0, most)
	size("LoadLimit", int64(c.LoadLimit), Off, 1_000_000)
	duration("LoadTimeout", c.LoadTimeout, true)
	duration("StallAfter", c.StallAfter, true)
	duration("CatalogTTL", c.CatalogTTL, false)
	size("MaxStatements", int64(c.MaxStatements), 0, mostStatements)
	duration("Quarantine", c.Quarantine, false)
	size("ServerPool.MaxOpen", int64(c.ServerPool.MaxOpen), Off, 1_000_000)
	size("ServerPool.MaxIdle", int64(c.ServerPool.MaxIdle), Off, 1_000_000)
	duration("ServerPool.MaxLifetime", c.ServerPool.MaxLifetime, true)
	duration("ServerPool.MaxIdleTime", c.ServerPool.MaxIdleTime, true)
	return errors.Join(errs...)
}

func orOff(least int64) string {
	if least == Off {
		return ", or Off"
	}
	return ""
}

// filled gives the configuration with every unset field at its default, and
// every Off at what its user takes for it: 0 for no limit.
func (c Config) filled() Config {
	c.Rules = slices.Clone(c.Rules)
	for i := range c.Rules {
		c.Rules[i].Tables = slices.Clone(c.Rules[i].Tables)
	}
	c.PureFunctions = slices.Clone(c.PureFunctions)
	fill(&c.MaxBytes, defaultMaxBytes)
	fill(&c.NegativeMaxBytes, defaultNegativeMaxBytes)
	fill(&c.LoadLimit, defaultLoadLimit)
	fill(&c.LoadTimeout, Off)
	fill(&c.StallAfter, defaultStallAfter)
	fill(&c.CatalogTTL, defaultCatalogTTL)
	fill(&c.MaxStatements, defaultMaxStatements)
	fill(&c.Quarantine, defaultQuarantine)
	fill(&c.ServerPool.MaxOpen, Off)
	fill(&c.ServerPool.MaxIdle, defaultMaxIdle)
	fill(&c.ServerPool.MaxLifetime, defaultMaxLifetime)
	fill(&c.ServerPool.MaxIdleTime, defaultMaxIdleTime)
	if c.Logger == nil {
		c.Logger = slog.New(warnings{slog.Default().Handler()})
	}
	return c
}

func fill[T int | int64 | time.Duration](v *T, def T) {
	switch *v {
	case 0:
		*v = max(def, 0)
	case Off:
		*v = 0
	}
}

// warnings passes on what is of level Warn and above.
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (h warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{h.Handler.WithAttrs(a)} }
func (h warnings) WithGroup(g string) slog.Handler      { return warnings{h.Handler.WithGroup(g)} }

// configs are the configurations registered by name.
var configs struct {
	sync.Mutex
	byName map[string]Config
}

// RegisterConfig makes cfg known under a name, for frameworks that open a
// handle by driver name and data source name: cache_config=name takes it, and
// the other cache_ parameters of that name override it. Registering a name
// again replaces what it stands for; handles that are open keep what they
// have. It may be called concurrently.
func RegisterConfig(name string, cfg Config) {
	configs.Lock()
	defer configs.Unlock()
	if configs.byName == nil {
		configs.byName = map[string]Config{}
	}
	configs.byName[name] = cfg
}

func registeredConfig(name string) (Config, bool) {
	configs.Lock()
	defer configs.Unlock()
	cfg, ok := configs.byName[name]
	return cfg, ok
}
