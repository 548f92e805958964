package cachedpgx_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// In the wanted rest, ␣ stands where a parameter was taken out between others:
// white space or none.
func sameRest(got, want string) bool {
	before, after, joint := strings.Cut(want, "␣")
	if !joint {
		return got == want
	}
	return len(got) >= len(before)+len(after) && strings.HasPrefix(got, before) && strings.HasSuffix(got, after) &&
		strings.TrimSpace(got[len(before):len(got)-len(after)]) == ""
}

func TestParseConfigLeavesTheRestAlone(t *testing.T) {
	registered := stdlib.RegisterConnConfig(&pgx.ConnConfig{})
	defer stdlib.UnregisterConnConfig(registered)
	for _, tt := range []struct{ name, dsn, want string }{
		{"URL, among others", "postgres://u:p%40ss@h:5432/db?sslmode=disable&cache_ttl=5s&application_name=a%20b", "postgres://u:p%40ss@h:5432/db?sslmode=disable&application_name=a%20b"},
		{"URL, first", "postgres://h/db?cache_ttl=5s&sslmode=disable", "postgres://h/db?sslmode=disable"},
		{"URL, last", "postgresql://h/db?sslmode=disable&cache_ttl=5s", "postgresql://h/db?sslmode=disable"},
		{"URL, several hosts", "postgres://u@h1:1,h2:2/db?target_session_attrs=read-write&cache_ttl=5s", "postgres://u@h1:1,h2:2/db?target_session_attrs=read-write"},
		{"URL, odd but valid spelling", "postgres://h/db?options=-c%20a%3Db+c&cache_ttl=5s&search_path=a,b%2Cc", "postgres://h/db?options=-c%20a%3Db+c&search_path=a,b%2Cc"},
		{"URL, order kept", "postgres://h/db?z=1&cache_ttl=5s&a=2&m=3", "postgres://h/db?z=1&a=2&m=3"},
		{"URL, a socket's folder", "postgres:///db?host=/var/run&cache_ttl=5s", "postgres:///db?host=/var/run"},
		{"URL, the name elsewhere", "postgres://cache_ttl:cache_ttl=1s@h/cache_ttl=2s?application_name=cache_ttl%3D9s&cache_ttl=5s", "postgres://cache_ttl:cache_ttl=1s@h/cache_ttl=2s?application_name=cache_ttl%3D9s"},
		{"keywords, among others", "host=h cache_ttl=5s user=u", "host=h␣user=u"},
		{"keywords, first", "cache_ttl=5s host=h user=u", "␣host=h user=u"},
		{"keywords, last", "host=h user=u cache_ttl=5s", "host=h user=u␣"},
		{"keywords, spaces around =", "host = h cache_ttl = 5s  user= u", "host = h␣user= u"},
		{"keywords, tabs and newlines", "host=h\n\tcache_ttl=5s\n\tuser=u", "host=h␣user=u"},
		{"keywords, quoted value", "host=h cache_ttl='5s' user=u", "host=h␣user=u"},
		{"keywords, quoted with spaces about", "host=h cache_ttl = '5s' user=u", "host=h␣user=u"},
		{"keywords, the name in a quoted password", `host=h password='it\'s cache_ttl=9s' cache_ttl=5s user='u'`, `host=h password='it\'s cache_ttl=9s'␣user='u'`},
		{"keywords, the name after an escaped space", `host=h password=a\ cache_ttl=9s cache_ttl=5s user=u`, `host=h password=a\ cache_ttl=9s␣user=u`},
		{"keywords, an escaped backslash ends the quote", `password='a\\' cache_ttl=5s user=u`, `password='a\\'␣user=u`},
		{"keywords, an empty quoted value", `password='' cache_ttl=5s`, `password=''␣`},
		{"keywords, alone", "cache_ttl=5s", "␣"},
		{"registered name", registered + "?cache_ttl=5s", registered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rest, cfg, err := cachedpgx.ParseConfig(tt.dsn)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Policy.TTL != 5*time.Second {
				t.Errorf("TTL is %v", cfg.Policy.TTL)
			}
			if !sameRest(rest, tt.want) {
				t.Errorf("the rest is\n%q, want\n%q", rest, tt.want)
			}
		})
	}
}

// The only parameter takes its question mark with it, or leaves it.
func TestParseConfigOnlyParameter(t *testing.T) {
	rest, _, err := cachedpgx.ParseConfig("postgres://h/db?cache_ttl=5s")
	if err != nil || strings.TrimSuffix(rest, "?") != "postgres://h/db" {
		t.Fatalf("got %q, %v", rest, err)
	}
}

func TestParseConfigWithoutParameters(t *testing.T) {
	for _, dsn := range []string{
		"", " ", "postgres://u:p%40ss@h/db?a=b&&c", "postgres://h/db?", "host=h  user = 'u' ", "registeredConnConfig0",
		"host=h password='unclosed", "postgres://[bad", "no equals sign", "=", "host=h cachettl=5s",
		"postgres://h/db?application_name=%zz", "\x00", "\xff\xfe",
	} {
		t.Run(dsn, func(t *testing.T) {
			rest, cfg, err := cachedpgx.ParseConfig(dsn)
			if err != nil || rest != dsn {
				t.Errorf("got %q, %v", rest, err)
			}
			if cfg.Policy != (cachedpgx.Policy{}) || cfg.MaxBytes != 0 || cfg.ServerPool != (cachedpgx.Pool{}) {
				t.Errorf("fields are set: %+v", cfg)
			}
		})
	}
}

type parameter struct {
	name   string
	values map[string]any // to what they mean
	field  func(cachedpgx.Config) any
	bad    []string
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

var parameters = []parameter{
	{"cache_mode", map[string]any{"auto": cachedpgx.ModeAuto, "marked": cachedpgx.ModeMarked, "off": cachedpgx.ModeOff}, func(c cachedpgx.Config) any { return c.Policy.Mode }, []string{"on", "", "3"}},
	{"cache_ttl", map[string]any{"5s": 5 * time.Second, "1h30m": 90 * time.Minute, "1ms": time.Millisecond}, func(c cachedpgx.Config) any { return c.Policy.TTL }, []string{"5", "", "banana", "-5s", "999us", "1e9h"}},
	{"cache_negative_ttl", map[string]any{"2s": 2 * time.Second, "off": time.Duration(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.Policy.NegativeTTL }, []string{"5", "banana", "-5s"}},
	{"cache_jitter", map[string]any{"0.25": 0.25, "1": 1.0, "off": float64(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.Policy.Jitter }, []string{"1.5", "-0.1", "NaN", "Inf", "banana", ""}},
	{"cache_max_rows", map[string]any{"5": 5, "off": cachedpgx.Off}, func(c cachedpgx.Config) any { return c.Policy.MaxRows }, []string{"-5", "1.5", "banana", "99999999999999999999"}},
	{"cache_max_result_bytes", map[string]any{"1000": int64(1000), "2KiB": 2 * kib, "3MiB": 3 * mib, "off": int64(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.Policy.MaxResultBytes }, []string{"-1", "2KB", "banana", "9999999999GiB"}},
	{"cache_max_bytes", map[string]any{"1048576": mib, "256MiB": 256 * mib, "1GiB": gib}, func(c cachedpgx.Config) any { return c.MaxBytes }, []string{"-5", "banana", "MiB", "9999999999GiB"}},
	{"cache_negative_max_bytes", map[string]any{"1048576": mib, "8MiB": 8 * mib}, func(c cachedpgx.Config) any { return c.NegativeMaxBytes }, []string{"-5", "banana"}},
	{"cache_load_limit", map[string]any{"8": 8, "off": cachedpgx.Off}, func(c cachedpgx.Config) any { return c.LoadLimit }, []string{"-5", "banana", "1.5"}},
	{"cache_load_timeout", map[string]any{"8s": 8 * time.Second, "off": time.Duration(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.LoadTimeout }, []string{"-5s", "banana", "7"}},
	{"cache_stall_after", map[string]any{"8s": 8 * time.Second, "off": time.Duration(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.StallAfter }, []string{"-5s", "banana", "7"}},
	{"cache_catalog_ttl", map[string]any{"8s": 8 * time.Second}, func(c cachedpgx.Config) any { return c.CatalogTTL }, []string{"-5s", "banana", "7", "1us"}},
	{"cache_max_statements", map[string]any{"8": 8}, func(c cachedpgx.Config) any { return c.MaxStatements }, []string{"-5", "banana"}},
	{"cache_quarantine", map[string]any{"8s": 8 * time.Second}, func(c cachedpgx.Config) any { return c.Quarantine }, []string{"-5s", "banana", "1us"}},
	{"cache_server_max_open", map[string]any{"8": 8}, func(c cachedpgx.Config) any { return c.ServerPool.MaxOpen }, []string{"-5", "banana"}},
	{"cache_server_max_idle", map[string]any{"8": 8, "off": cachedpgx.Off}, func(c cachedpgx.Config) any { return c.ServerPool.MaxIdle }, []string{"-5", "banana"}},
	{"cache_server_max_lifetime", map[string]any{"8m": 8 * time.Minute, "off": time.Duration(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.ServerPool.MaxLifetime }, []string{"-5s", "banana"}},
	{"cache_server_max_idle_time", map[string]any{"8m": 8 * time.Minute, "off": time.Duration(cachedpgx.Off)}, func(c cachedpgx.Config) any { return c.ServerPool.MaxIdleTime }, []string{"-5s", "banana"}},
}

func TestParseConfigParameters(t *testing.T) {
	for _, p := range parameters {
		for text, want := range p.values {
			for _, dsn := range []string{
				"postgres://h/db?" + p.name + "=" + url.QueryEscape(text),
				"host=h " + p.name + "=" + text,
				"host=h " + p.name + " = '" + text + "' dbname=d",
				"registeredConnConfig0?" + p.name + "=" + text,
			} {
				_, cfg, err := cachedpgx.ParseConfig(dsn)
				if err != nil {
					t.Errorf("%s: %v", dsn, err)
				} else if got := p.field(cfg); got != want {
					t.Errorf("%s: got %v, want %v", dsn, got, want)
				}
			}
		}
		for _, text := range p.bad {
			for _, dsn := range []string{
				"postgres://h/db?" + p.name + "=" + url.QueryEscape(text),
				"host=h " + p.name + "='" + text + "'",
			} {
				_, _, err := cachedpgx.ParseConfig(dsn)
				if err == nil {
					t.Errorf("%s: no error", dsn)
				} else if !strings.Contains(err.Error(), p.name) {
					t.Errorf("%s: the error does not name it: %v", dsn, err)
				}
			}
		}
		for _, dsn := range []string{
			"postgres://h/db?" + p.name + "=1&" + p.name + "=1",
			"host=h " + p.name + "=1 " + p.name + "=1",
		} {
			if _, _, err := cachedpgx.ParseConfig(dsn); err == nil || !strings.Contains(err.Error(), p.name) {
				t.Errorf("given twice, %s: %v", dsn, err)
			}
		}
	}
}

// A parameter percent-encoded in a URL means what it means plain.
func TestParseConfigDecodesURLValues(t *testing.T) {
	_, cfg, err := cachedpgx.ParseConfig("postgres://h/db?cache_ttl=%35s")
	if err != nil || cfg.Policy.TTL != 5*time.Second {
		t.Fatalf("got %v, %v", cfg.Policy.TTL, err)
	}
}

func TestParseConfigNamesAllAtOnce(t *testing.T) {
	bad := []string{"cache_ttl=banana", "cache_jitter=7", "cache_unknown=1", "cache_max_rows=-3", "cache_mode=sometimes",
		"cache_quarantine=1s", "cache_quarantine=2s"}
	for _, dsn := range []string{
		"postgres://app:Pa55w0rdMarker@h/db?" + strings.Join(bad, "&"),
		"host=h password=Pa55w0rdMarker " + strings.Join(bad, " "),
		"registeredConnConfig0?" + strings.Join(bad, "&"),
	} {
		_, _, err := cachedpgx.ParseConfig(dsn)
		if err == nil {
			t.Fatalf("%s: no error", dsn)
		}
		for _, kv := range bad {
			name, _, _ := strings.Cut(kv, "=")
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not named in: %v", name, err)
			}
		}
		if strings.Contains(err.Error(), "Pa55w0rdMarker") {
			t.Errorf("the password is in: %v", err)
		}
		if !strings.HasPrefix(err.Error(), "cachedpgx: ") {
			t.Errorf("whose error is this? %v", err)
		}
		// What it may be is said, too.
		for _, s := range []string{"auto", "marked", "off"} {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("what cache_mode may be (%s) is not said: %v", s, err)
			}
		}
	}
}

func TestParseConfigNeverTellsAPassword(t *testing.T) {
	const secret = "Pa55w0rdMarker"
	for _, dsn := range []string{
		"postgres://app:" + secret + "@h/db?cache_ttl=banana",
		"postgres://h/db?password=" + secret + "&cache_ttl=banana",
		"postgres://h/db?sslpassword=" + secret + "&cache_nosuch=1",
		"postgres://app:" + secret + "@h/db?cache_nosuch=redis%3A%2F%2F%3A" + secret + "%40h",
		"host=h cache_ttl='5s password=" + secret,
		"host=h cache_ttl='5s password=" + secret + "' user=u",
		"host=h cache_ttl=banana password = '" + secret + "'",
		"host=h password=x\\ " + secret + " cache_ttl=banana",
		"postgres://app:%zz" + secret + "@h:port/db?cache_ttl=banana",
		"cache_ttl=banana password=" + secret,
		"password = '" + secret + "' =0 cache_nosuch=1", // refused by pgx as well, whose words hold it
		"host=h cache_config=" + secret + "-is-not-registered\x00 password=" + secret,
	} {
		_, _, err := cachedpgx.ParseConfig(dsn)
		if err == nil {
			t.Errorf("%s: no error", dsn)
		} else if strings.Contains(err.Error(), secret) && !strings.Contains(dsn, "cache_config") {
			t.Errorf("%s\ngave %v", dsn, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		"", "host=h", "host=h cache_ttl=5s", "cache_ttl='5s", "h/db?cache_ttl=banana&cache_nosuch=1", "?cache_ttl=5s",
		`user='it\'s' cache_jitter=7`, "h:port/db?cache_ttl=%zz", "cache_ttl", "cache_=", "cache_mode = ", "&&=&cache_ttl=1&",
		"=0 cache_=0",
	} {
		f.Add(s)
	}
	const secret = "Pa55w0rdMarker"
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(secret, s) && len(s) > 3 {
			t.Skip("it would be found whatever we do")
		}
		for _, dsn := range []string{
			s,
			"postgres://app:" + secret + "@" + s,
			"postgres://app@h/db?password=" + secret + "&" + s,
			"password=" + secret + " " + s,
			"password = '" + secret + "' " + s,
			s + " password=" + secret,
		} {
			rest, _, err := cachedpgx.ParseConfig(dsn)
			if err != nil {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q: a password in %q", dsn, err)
				}
				continue
			}
			plain := dsn
			if u, err := url.QueryUnescape(dsn); err == nil {
				plain += u
			}
			if !strings.Contains(plain, "cache_") && rest != dsn {
				t.Errorf("%q came back as %q", dsn, rest)
			}
			// What was taken out stays out, and nothing else goes.
			again, cfg, err := cachedpgx.ParseConfig(rest)
			if err != nil || again != rest {
				t.Errorf("%q: the rest %q is read as %q, %v", dsn, rest, again, err)
			}
			if cfg.Policy != (cachedpgx.Policy{}) {
				t.Errorf("%q: the rest %q still sets %+v", dsn, rest, cfg.Policy)
			}
		}
	})
}
