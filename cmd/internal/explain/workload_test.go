package explain

import "testing"

func TestReadable(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing to do", "SELECT a FROM t WHERE b = $1", "SELECT a FROM t WHERE b = $1"},
		{"an interval", "SELECT now() - interval $1 FROM t", "SELECT now() - CAST($1 AS interval) FROM t"},
		{"in capitals, two of them", "SELECT DATE $1, DATE $2", "SELECT CAST($1 AS DATE), CAST($2 AS DATE)"},
		{"with a zone", "SELECT timestamp with time zone $1", "SELECT CAST($1 AS timestamp with time zone)"},
		{"with digits and a zone", "SELECT timestamp(3) without time zone $1", "SELECT CAST($1 AS timestamp(3) without time zone)"},
		{"with digits", "SELECT numeric(10, 2) $1, x", "SELECT CAST($1 AS numeric(10, 2)), x"},
		{"a cast already", "SELECT CAST($1 AS date), $2::interval", "SELECT CAST($1 AS date), $2::interval"},
		{"a column of that name", "SELECT t.date, $1 FROM t WHERE date = $2 AND date IN ($3)", "SELECT t.date, $1 FROM t WHERE date = $2 AND date IN ($3)"},
		{"a column that is a type's name", "SELECT date FROM t LIMIT $1", "SELECT date FROM t LIMIT $1"},
		{"at a zone", "SELECT a AT TIME ZONE $1 FROM t WHERE a AT TIME ZONE $2 > $3", "SELECT a AT TIME ZONE $1 FROM t WHERE a AT TIME ZONE $2 > $3"},
		{"in a literal", "DO 'interval $1'", "DO 'interval $1'"},
		{"in a comment", "SELECT /* interval $1 */ $1", "SELECT /* interval $1 */ $1"},
		{"a comment between", "SELECT interval /* so */ $1", "SELECT CAST($1 AS interval)"},
		{"a squashed list", "SELECT a FROM t WHERE a IN ($1 /*, ... */)", "SELECT a FROM t WHERE a IN ($1 /*, ... */)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := readable(c.text); got != c.want {
				t.Errorf("readable(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestWithoutSecrets(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a role's", `ALTER ROLE "a'b" PASSWORD 'geheim' VALID UNTIL E'2030\''`, `ALTER ROLE "a'b" PASSWORD '…' VALID UNTIL '…'`},
		{"a connection's", `CREATE SUBSCRIPTION s CONNECTION 'host=h password=geheim' PUBLICATION p`, `CREATE SUBSCRIPTION s CONNECTION '…' PUBLICATION p`},
		{"in dollar quotes", `DO $$ … password geheim $$`, `DO '…'`},
		{"none", `SET search_path = 'a'`, `SET search_path = 'a'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := withoutSecrets(c.text); got != c.want {
				t.Errorf("withoutSecrets(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"as it is", "SELECT 1", 20, "SELECT 1"},
		{"white space and comments", "-- why\nSELECT\t1 /* so */\n  FROM t;", 40, "SELECT 1 FROM t;"},
		{"a hint stays", "/* cachedpgx: ttl=5s */ SELECT 1", 40, "/* cachedpgx: ttl=5s */ SELECT 1"},
		{"cut by characters", "SELECT 'äöü'", 10, "SELECT 'ä…"},
		{"what a terminal acts on", "SELECT 'a\x1b[31m\r\nb\u009b'", 40, "SELECT 'a[31mb'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := oneLine(c.text, c.most); got != c.want {
				t.Errorf("oneLine(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
			}
		})
	}
}
