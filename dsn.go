package cachedpgx

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// parameters are the DSN parameters, each with what it may be and what sets it.
var parameters = []struct {
	key, want string
	set       func(c *Config, value string) error
}{
	{"cache_mode", "auto, marked or off", func(c *Config, v string) error {
		for _, m := range []Mode{ModeAuto, ModeMarked, ModeOff} {
			if v == m.String() {
				c.Policy.Mode = m
				return nil
			}
		}
		return errValue
	}},
	{"cache_ttl", "a duration from 1ms, such as 30s", durationParam(func(c *Config) *time.Duration { return &c.Policy.TTL }, false)},
	{"cache_negative_ttl", "a duration from 1ms up to the TTL, such as 5s, or off", durationParam(func(c *Config) *time.Duration { return &c.Policy.NegativeTTL }, true)},
	{"cache_jitter", "a number from 0 to 1, such as 0.1, or off", func(c *Config, v string) error {
		if v == "off" {
			c.Policy.Jitter = Off
			return nil
		}
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
			return errValue
		}
		if c.Policy.Jitter = f; f == 0 {
			c.Policy.Jitter = Off
		}
		return nil
	}},
	{"cache_max_rows", "a whole number from 1, such as 10000, or off", countParam(func(c *Config) *int { return &c.Policy.MaxRows }, true, math.MaxInt32)},
	{"cache_max_result_bytes", "a size from 1, such as 1MiB, or off", sizeParam(func(c *Config) *int64 { return &c.Policy.MaxResultBytes }, true)},
	{"cache_max_bytes", "a size from 1, such as 64MiB", sizeParam(func(c *Config) *int64 { return &c.MaxBytes }, false)},
	{"cache_negative_max_bytes", "a size from 1, such as 4MiB", sizeParam(func(c *Config) *int64 { return &c.NegativeMaxBytes }, false)},
	{"cache_load_limit", "a whole number from 1, such as 32, or off", countParam(func(c *Config) *int { return &c.LoadLimit }, true, 1_000_000)},
	{"cache_load_timeout", "a duration from 1ms, such as 10s, or off", durationParam(func(c *Config) *time.Duration { return &c.LoadTimeout }, true)},
	{"cache_stall_after", "a duration from 1ms, such as 30s, or off", durationParam(func(c *Config) *time.Duration { return &c.StallAfter }, true)},
	{"cache_catalog_ttl", "a duration from 1ms, such as 1m", durationParam(func(c *Config) *time.Duration { return &c.CatalogTTL }, false)},
	{"cache_max_statements", "a whole number from 1 to 1000000, such as 10000", countParam(func(c *Config) *int { return &c.MaxStatements }, false, mostStatements)},
	{"cache_quarantine", "a duration from 1ms, such as 30s", durationParam(func(c *Config) *time.Duration { return &c.Quarantine }, false)},
	{"cache_server_max_open", "a whole number from 1, such as 50, or off", countParam(func(c *Config) *int { return &c.ServerPool.MaxOpen }, true, 1_000_000)},
	{"cache_server_max_idle", "a whole number from 1, such as 16, or off", countParam(func(c *Config) *int { return &c.ServerPool.MaxIdle }, true, 1_000_000)},
	{"cache_server_max_lifetime", "a duration from 1ms, such as 30m, or off", durationParam(func(c *Config) *time.Duration { return &c.ServerPool.MaxLifetime }, true)},
	{"cache_server_max_idle_time", "a duration from 1ms, such as 5m, or off", durationParam(func(c *Config) *time.Duration { return &c.ServerPool.MaxIdleTime }, true)},
	{"cache_pure_functions", "a list such as shop.f,shop.g(shop.price;rate)", func(c *Config, v string) error {
		list := strings.Split(v, ",")
		if _, err := parsePure(list); err != nil {
			return errValue
		}
		c.PureFunctions = list
		return nil
	}},
	{"cache_pooler", "transaction", func(c *Config, v string) error {
		if v != "transaction" {
			return errValue
		}
		c.pooler = true
		return nil
	}},
}

const (
	cachePrefix = "cache_"
	configKey   = "cache_config" // read before the others, which override it
)

var errValue = errors.New("bad value")

func durationParam(field func(*Config) *time.Duration, off bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		if off && v == "off" {
			*field(c) = Off
			return nil
		}
		d, err := time.ParseDuration(v)
		if err != nil || d < time.Millisecond {
			return errValue
		}
		*field(c) = d
		return nil
	}
}

func countParam(field func(*Config) *int, off bool, most int) func(*Config, string) error {
	return func(c *Config, v string) error {
		if off && v == "off" {
			*field(c) = Off
			return nil
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > most {
			return errValue
		}
		*field(c) = n
		return nil
	}
}

func sizeParam(field func(*Config) *int64, off bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		if off && v == "off" {
			*field(c) = Off
			return nil
		}
		unit := int64(1)
		for _, u := range []struct {
			name string
			size int64
		}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}} {
			if digits, ok := strings.CutSuffix(v, u.name); ok {
				v, unit = digits, u.size
				break
			}
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 || n > (1<<50)/unit {
			return errValue
		}
		*field(c) = n * unit
		return nil
	}
}

// ParseConfig takes the cache_ parameters out of a data source name. pgxDSN is
// what is left, byte for byte, for pgx to read; cfg has the fields that the
// parameters set, and every other field unset. The name may be of the URL form
// or the keyword form, the result of stdlib.RegisterConnConfig with parameters
// after a "?", or empty.
//
// A parameter that is unknown, given twice, or has a value out of its range is
// an error; all of them are named at once, with what they may be. The error
// holds no password.
func ParseConfig(dsn string) (pgxDSN string, cfg Config, err error) {
	pgxDSN, given, err := splitDSN(dsn)
	if err != nil {
		return "", Config{}, err
	}
	var errs []error
	values := map[string]string{}
	for _, p := range given {
		if _, ok := values[p.key]; ok {
			errs = append(errs, fmt.Errorf("cachedpgx: %s is given twice: give it once", show(p.key)))
		}
		values[p.key] = p.value
	}
	if name, ok := values[configKey]; ok {
		if cfg, ok = registeredConfig(name); !ok {
			errs = append(errs, fmt.Errorf("cachedpgx: %s is set, but no Config is registered as%s: call RegisterConfig with that name first", configKey, echo(name)))
		}
		delete(values, configKey)
	}
	for _, p := range parameters {
		v, ok := values[p.key]
		if !ok {
			continue
		}
		delete(values, p.key)
		if p.set(&cfg, v) != nil {
			errs = append(errs, fmt.Errorf("cachedpgx: %s can't be%s: it may be %s", p.key, echo(v), p.want))
		}
	}
	for _, p := range given {
		if _, unknown := values[p.key]; unknown {
			delete(values, p.key)
			errs = append(errs, fmt.Errorf("cachedpgx: there is no parameter %s: %s", show(p.key), nearest(p.key)))
		}
	}
	if ttl := cfg.Policy.filled().TTL; cfg.Policy.NegativeTTL > ttl && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("cachedpgx: cache_negative_ttl can't be %v, which is longer than the TTL of %v: set cache_ttl, too", cfg.Policy.NegativeTTL, ttl))
	}
	if len(errs) == 0 {
		if err := cfg.check(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		// One error names all that is wrong, but not in pgx's words: these
		// repeat the string, and what is spelled wrong may be a password.
		if !isRegistered(pgxDSN) {
			if _, err := pgx.ParseConfig(pgxDSN); err != nil {
				errs = append(errs, errors.New("cachedpgx: what is left for pgx can't be read either: mend the cache_ parameters, and pgx will say why at the first use"))
			}
		}
		return "", Config{}, errors.Join(errs...)
	}
	return pgxDSN, cfg, nil
}

type parameter struct{ key, value string }

var registeredName = regexp.MustCompile(`^registeredConnConfig[0-9]+$`)

func isRegistered(dsn string) bool { return registeredName.MatchString(dsn) }

// splitDSN takes the cache_ parameters out of a data source name of any form.
func splitDSN(dsn string) (rest string, given []parameter, err error) {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return splitURL(dsn)
	}
	if name, _, ok := strings.Cut(dsn, "?"); ok && (name == "" || isRegistered(name)) {
		rest, given, err = splitURL(dsn)
		if err == nil && len(given) > 0 && rest != name {
			err = fmt.Errorf("cachedpgx: only cache_ parameters may follow the %q: set everything else in the registered configuration", "?")
		}
		return rest, given, err
	}
	return splitKeywords(dsn)
}

// splitURL cuts parameters out of the query of a URL, and leaves every other
// byte as it is.
func splitURL(dsn string) (rest string, given []parameter, err error) {
	body, fragment := dsn, ""
	if i := strings.IndexByte(dsn, '#'); i >= 0 {
		body, fragment = dsn[:i], dsn[i:]
	}
	base, query, ok := strings.Cut(body, "?")
	if !ok {
		return dsn, nil, nil
	}
	var kept []string
	for _, part := range strings.Split(query, "&") {
		rawKey, rawValue, _ := strings.Cut(part, "=")
		key, kerr := url.QueryUnescape(rawKey)
		if kerr != nil || !strings.HasPrefix(key, cachePrefix) {
			kept = append(kept, part)
			continue
		}
		value, verr := url.QueryUnescape(rawValue)
		if verr != nil {
			err = errors.Join(err, fmt.Errorf("cachedpgx: the value of %s has a bad %%-escape", show(key)))
		}
		given = append(given, parameter{key, value})
	}
	if len(given) == 0 {
		return dsn, nil, nil
	}
	if len(kept) > 0 {
		base += "?" + strings.Join(kept, "&")
	}
	return base + fragment, given, err
}

const dsnSpace = " \t\n\r\v\f"

// splitKeywords cuts parameters out of a keyword/value string, cut as pgx cuts
// it. A string that pgx will refuse is left whole, for pgx to say why.
func splitKeywords(dsn string) (rest string, given []parameter, err error) {
	var b strings.Builder
	at := 0 // what is before is copied, or cut out
	for i := 0; ; {
		start := i
		for i < len(dsn) && strings.IndexByte(dsnSpace, dsn[i]) >= 0 {
			i++
		}
		if i == len(dsn) {
			break
		}
		eq := strings.IndexByte(dsn[i:], '=')
		if eq < 0 {
			return refusedKeywords(dsn)
		}
		key := strings.Trim(dsn[i:i+eq], dsnSpace)
		if strings.ContainsAny(key, dsnSpace) {
			return refusedKeywords(dsn)
		}
		i += eq + 1
		for i < len(dsn) && strings.IndexByte(dsnSpace, dsn[i]) >= 0 {
			i++
		}
		raw := i
		var value string
		if i < len(dsn) && dsn[i] == '\'' {
			end := i + 1
			for end < len(dsn) && dsn[end] != '\'' {
				if dsn[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(dsn) {
				return refusedKeywords(dsn)
			}
			value = unescapeKeyword(dsn[raw+1 : end])
			i = end + 1
		} else {
			for i < len(dsn) && strings.IndexByte(dsnSpace, dsn[i]) < 0 {
				if dsn[i] == '\\' {
					i++
				}
				i++
			}
			i = min(i, len(dsn))
			value = unescapeKeyword(dsn[raw:i])
		}
		if strings.HasPrefix(key, cachePrefix) {
			given = append(given, parameter{key, value})
			b.WriteString(dsn[at:start])
			at = i
		}
	}
	if len(given) == 0 {
		return dsn, nil, nil
	}
	b.WriteString(dsn[at:])
	return strings.TrimLeft(b.String(), dsnSpace), given, nil
}

// refusedKeywords leaves a string that can't be read to pgx, whose error is
// the one to give; but one that means us must not be half understood.
func refusedKeywords(dsn string) (string, []parameter, error) {
	if strings.Contains(dsn, cachePrefix) {
		return "", nil, errors.New("cachedpgx: the connection string can't be read: it is neither a URL nor a list of keyword=value pairs with balanced quotes")
	}
	return dsn, nil, nil
}

func unescapeKeyword(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i == len(s) {
				break
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

var shown = regexp.MustCompile(`^[A-Za-z0-9_.+-]{1,32}$`)

// echo repeats a value in an error if it can't be anything but what it seems:
// a string cut in the wrong place may hold a password.
func echo(value string) string {
	if value == "" || shown.MatchString(value) {
		return fmt.Sprintf(" %q", value)
	}
	return " what it is set to"
}

func show(key string) string {
	if shown.MatchString(key) {
		return key
	}
	return cachePrefix + "…"
}

// nearest tells which parameter may have been meant.
func nearest(key string) string {
	best, least := "", 4
	for _, p := range parameters {
		if d := distance(key, p.key); d < least {
			best, least = p.key, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	names := make([]string, 0, len(parameters)+1)
	for _, p := range parameters {
		names = append(names, p.key)
	}
	return "there are " + strings.Join(append(names, configKey), ", ")
}

// distance is Levenshtein's, over bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
