package cachedpgx_test

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The corpus is what three services send to their database, in
// testdata/services. <service>.sql is the schema; <service>*_reads.sql is what
// must be cached, <service>*_uncached.sql what must not. A block of those is
//
//	-- @name origin          who spells it so: gorm, ent, bun, sqlx, sqlc, squirrel, hand
//	-- @args [1, "x", …]     JSON; an integer is an int64, and see serviceArg
//	-- @why family           uncached only: what keeps it from the cache
//	-- @mark                 uncached only: it is only time, and a mark admits it
//	-- @may reason           reads only: it is safe, and may go uncached for that reason
//	-- @needs extension      left out where the server has not got it
//	-- @min 14               left out on an older server
//	-- @exec                 run by Exec
//	-- @before SQL           run before it, on one session with it; @after cleans up
//	the text, to the next block, byte for byte; comments in it are the library's
//
// In a schema, what stands between "-- @needs extension" and "-- @end" is left
// out where the server has not got the extension.
const serviceDir = "testdata/services"

var (
	services        = []string{"shop", "forum", "billing"}
	serviceOrigins  = []string{"gorm", "ent", "bun", "sqlx", "sqlc", "squirrel", "hand"}
	serviceFamilies = []string{"write", "row-lock", "advisory-lock", "sequence", "side-effect", "clock", "date-word", "cast-from-text", "chance",
		"table-sample", "identity", "setting", "statistics", "volatile", "own-function", "row-security", "system-catalog", "system-column",
		"temporary-table", "no-relation", "not-a-read"}
)

// serviceStatement is one block.
type serviceStatement struct {
	name, origin, text string
	args               []any
	why, may, needs    string
	before, after      string
	min                int
	exec, mark         bool
}

// serviceStatements reads the blocks of all files of that service and kind.
func serviceStatements(t testing.TB, service, kind string) []serviceStatement {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(serviceDir, service+"*_"+kind+".sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no %s: %v", service, kind, err)
	}
	var all []serviceStatement
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseServiceFile(string(data))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, list...)
	}
	return all
}

func parseServiceFile(data string) ([]serviceStatement, error) {
	var list []serviceStatement
	var errs []string
	header := false // the last line was one
	var body []string
	end := func() {
		if len(list) > 0 {
			list[len(list)-1].text = strings.TrimRight(strings.Join(body, "\n"), "\n")
		}
		body = nil
	}
	for n, line := range strings.Split(data, "\n") {
		rest, ok := strings.CutPrefix(line, "-- @")
		if !ok {
			header = false
			body = append(body, line)
			continue
		}
		if !header {
			end()
			list = append(list, serviceStatement{})
		}
		if err := list[len(list)-1].header(rest, !header); err != nil {
			errs = append(errs, fmt.Sprintf("line %d: %v", n+1, err))
		}
		header = true
	}
	end()
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(errs, "; "))
	}
	return list, nil
}

func (s *serviceStatement) header(line string, first bool) (err error) {
	word, rest, _ := strings.Cut(line, " ")
	if first {
		s.name, s.origin = word, rest
		if !slices.Contains(serviceOrigins, rest) {
			return fmt.Errorf("%s: no such origin: %q", word, rest)
		}
		return nil
	}
	switch word {
	case "args":
		s.args, err = serviceArgs(rest)
	case "why":
		if s.why = rest; !slices.Contains(serviceFamilies, rest) {
			err = fmt.Errorf("no such family: %q", rest)
		}
	case "may":
		s.may = rest
	case "needs":
		s.needs = rest
	case "min":
		s.min, err = strconv.Atoi(rest)
	case "mark":
		s.mark = true
	case "exec":
		s.exec = true
	case "before":
		s.before = rest
	case "after":
		s.after = rest
	default:
		err = fmt.Errorf("no such header: %q", word)
	}
	return err
}

func serviceArgs(list string) (args []any, err error) {
	dec := json.NewDecoder(strings.NewReader(list))
	dec.UseNumber()
	var raw []any
	if err := dec.Decode(&raw); err != nil {
		return nil, err
	}
	for _, r := range raw {
		a, err := serviceArg(r)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return args, nil
}

// serviceArg is an argument as its JSON says: a plain value, or an object of
// one member that gives the Go type.
func serviceArg(raw any) (any, error) {
	switch v := raw.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case map[string]any:
		for kind, value := range v {
			if len(v) == 1 {
				return serviceTypedArg(kind, value)
			}
		}
	case nil, string, bool:
		return v, nil
	}
	return nil, fmt.Errorf("no such argument: %v", raw)
}

func serviceTypedArg(kind string, value any) (any, error) {
	switch kind {
	case "ints": // []int64
		return serviceSlice[int64](value)
	case "texts": // []string
		return serviceSlice[string](value)
	case "pointer": // *int64
		n, err := serviceArg(value)
		if i, ok := n.(int64); ok && err == nil {
			return &i, nil
		}
	}
	if s, ok := value.(string); ok {
		switch kind {
		case "time":
			return time.Parse(time.RFC3339Nano, s)
		case "bytes": // hex
			return hex.DecodeString(s)
		case "valuer": // a driver.Valuer that gives that text, as pq.Array does
			return serviceValuer(s), nil
		case "uuid": // hex; a [16]byte with a Value method
			var u serviceUUID
			n, err := hex.Decode(u[:], []byte(s))
			if err == nil && n != len(u) {
				err = fmt.Errorf("a UUID of %d bytes", n)
			}
			return u, err
		}
	}
	return nil, fmt.Errorf("no such argument: %s %v", kind, value)
}

func serviceSlice[T int64 | string](value any) ([]T, error) {
	raw, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("not a list: %v", value)
	}
	list := []T{}
	for _, r := range raw {
		a, err := serviceArg(r)
		v, ok := a.(T)
		if err != nil || !ok {
			return nil, fmt.Errorf("not of a list's type: %v", r)
		}
		list = append(list, v)
	}
	return list, nil
}

type serviceValuer string

func (v serviceValuer) Value() (driver.Value, error) { return string(v), nil }

type serviceUUID [16]byte

func (u serviceUUID) Value() (driver.Value, error) {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

// serviceSchema is the schema without the sections of extensions that the
// server has not got.
func serviceSchema(t testing.TB, service string, has func(extension string) bool) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(serviceDir, service+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	skip := false
	for line := range strings.Lines(string(data)) {
		if extension, ok := strings.CutPrefix(line, "-- @needs "); ok {
			skip = !has(strings.TrimSpace(extension))
		} else if strings.HasPrefix(line, "-- @end") {
			skip = false
		} else if !skip {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestServiceCorpus checks the corpus by itself: no block is lost, named twice
// or without a text, and no family of what mustn't be cached is missing.
func TestServiceCorpus(t *testing.T) {
	reads, uncached, whys, origins := 0, 0, map[string]int{}, map[string]int{}
	for _, service := range services {
		for _, kind := range []string{"reads", "uncached"} {
			seen := map[string]bool{}
			for _, s := range serviceStatements(t, service, kind) {
				switch {
				case seen[s.name]:
					t.Errorf("%s, %s: %s is there twice", service, kind, s.name)
				case strings.TrimSpace(s.text) == "":
					t.Errorf("%s, %s: %s has no text", service, kind, s.name)
				case (kind == "uncached") != (s.why != ""):
					t.Errorf("%s, %s: %s: why is %q", service, kind, s.name, s.why)
				case kind == "reads" && (s.exec || s.mark || s.before != ""):
					t.Errorf("%s, %s: %s is no plain read", service, kind, s.name)
				}
				seen[s.name] = true
				whys[s.why]++
				if origins[s.origin]++; kind == "reads" {
					reads++
				} else {
					uncached++
				}
			}
		}
	}
	if reads < 250 || uncached < 80 {
		t.Errorf("%d reads and %d others: a file is not read", reads, uncached)
	}
	for _, family := range serviceFamilies {
		if whys[family] == 0 {
			t.Errorf("nothing is uncached for %q", family)
		}
	}
	for _, origin := range serviceOrigins {
		if origins[origin] == 0 {
			t.Errorf("nothing is spelled as %s does", origin)
		}
	}
}
