package cachedpgx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The layer table of docs/: a file uses what is declared in files of its own
// rank or lower. A new file gets its line here.
var fileRanks = map[string]int{
	"ask.go":           0,
	"context.go":       0,
	"doc.go":           0,
	"errors.go":        0,
	"hash.go":          0,
	"hash_constant.go": 0,
	"policy.go":        0,
	"querykey.go":      0,
	"reasons.go":       0,
	"stats.go":         0,

	"flight.go":     1,
	"ledger.go":     1,
	"negative.go":   1,
	"rowscache.go":  1,
	"statements.go": 1,

	"config.go":      2,
	"facts.go":       2,
	"fixes.go":       2,
	"rules.go":       2,
	"dsn.go":         2,
	"hook.go":        2,
	"origin.go":      2,
	"pin.go":         2,
	"identity.go":    2,
	"idle.go":        2,
	"scope.go":       2,
	"sends.go":       2,
	"server.go":      2,
	"server_pgx.go":  2,
	"server_open.go": 2,
	"server_sql.go":  2,

	"cache.go":     3,
	"explain.go":   3,
	"admission.go": 3,
	"load.go":      3,
	"doubt.go":     3,
	"verdict.go":   3,

	"conn.go":    4,
	"session.go": 4,
	"watch.go":   4,
	"stmt.go":    4,
	"tx.go":      4,

	"driver.go": 5,
}

// The same for the packages beneath the root package. What is not here is not
// for code that ships.
var packageRanks = map[string]int{
	"internal/sqlscan": 0,
	"internal/typemap": 0,
	"internal/rowset":  1,
	"internal/catalog": 1,
}

const modulePath = "github.com/cachedpgx/cachedpgx"

func TestLayers(t *testing.T) {
	pkgs := listPackages(t)
	for _, fault := range rootFaults(t, pkgs) {
		t.Error(fault)
	}
	for _, fault := range packageFaults(pkgs, packageRanks) {
		t.Error(fault)
	}
}

// listedPackage is what go list says of a package.
type listedPackage struct {
	ImportPath string
	Dir        string
	Export     string // the file of its export data
	GoFiles    []string
	Imports    []string
}

// listPackages asks go for the module's packages and all that they import, with
// the export data that the compiler left: types in full, and nothing is checked
// twice.
func listPackages(t *testing.T) map[string]listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports", ".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	pkgs := make(map[string]listedPackage)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list's answer: %v", err)
		}
		pkgs[p.ImportPath] = p
	}
}

func rootFaults(t *testing.T, pkgs map[string]listedPackage) []string {
	t.Helper()
	var faults []string

	// Files for other systems are not checked here, but they need a rank.
	onDisk, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range onDisk {
		if _, ranked := fileRanks[name]; !ranked && !strings.HasSuffix(name, "_test.go") {
			faults = append(faults, noRank(name))
		}
	}

	for name := range fileRanks {
		if !slices.Contains(onDisk, name) {
			faults = append(faults, name+" has a rank and is not here: take it out of fileRanks in layers_test.go")
		}
	}

	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkgs[modulePath].GoFiles {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(pkgs[path].Export) }
	found, err := layerFaults(fset, files, fileRanks, importer.ForCompiler(fset, "gc", lookup))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		faults = append(faults, importFaults(fset, f, fileRanks, packageRanks)...)
	}
	return append(faults, found...)
}

func noRank(name string) string {
	return fmt.Sprintf("%s has no rank: add it to fileRanks in layers_test.go and to the table in docs/", name)
}

// layerFaults reports each use of something that a file of a higher rank
// declares: functions, types, variables, constants, methods and fields alike.
// Files without a rank are left to the caller.
func layerFaults(fset *token.FileSet, files []*ast.File, ranks map[string]int, imp types.Importer) ([]string, error) {
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	conf := types.Config{Importer: imp}
	pkg, err := conf.Check(modulePath, fset, files, info)
	if err != nil {
		return nil, err // half of the types would hide half of the faults
	}
	var faults []string
	for ident, obj := range info.Uses {
		if obj.Pkg() != pkg {
			continue // of another package, or of none: a predeclared name
		}
		use, decl := fset.Position(ident.Pos()), fset.Position(obj.Pos())
		useRank, ok1 := ranks[filepath.Base(use.Filename)]
		declRank, ok2 := ranks[filepath.Base(decl.Filename)]
		if ok1 && ok2 && declRank > useRank {
			faults = append(faults, fmt.Sprintf("%s: a file of rank %d uses %s of %s, rank %d",
				use, useRank, ident.Name, filepath.Base(decl.Filename), declRank))
		}
	}
	slices.Sort(faults)
	return faults, nil
}

// importFaults reports imports of packages of a higher rank, and of packages of
// the module that are not for code that ships.
func importFaults(fset *token.FileSet, f *ast.File, fileRanks, packageRanks map[string]int) []string {
	var faults []string
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has seen to it
		}
		pos := fset.Position(spec.Pos())
		if fault := importFault(path, fileRanks[filepath.Base(pos.Filename)], packageRanks); fault != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", pos, fault))
		}
	}
	return faults
}

func importFault(path string, rank int, packageRanks map[string]int) string {
	name, ours := strings.CutPrefix(path, modulePath+"/")
	if !ours {
		return ""
	}
	switch of, ranked := packageRanks[name]; {
	case !ranked:
		return fmt.Sprintf("imports %s, which has no rank: if it is for code that ships, add it to packageRanks in layers_test.go", name)
	case of > rank:
		return fmt.Sprintf("rank %d imports %s, rank %d", rank, name, of)
	}
	return ""
}

// packageFaults is importFaults for the packages beneath the root package.
func packageFaults(pkgs map[string]listedPackage, ranks map[string]int) []string {
	var faults []string
	for name, rank := range ranks {
		for _, path := range pkgs[modulePath+"/"+name].Imports {
			if fault := importFault(path, rank, ranks); fault != "" {
				faults = append(faults, name+": "+fault)
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// The test of the test: each kind of upward reference is caught, and downward
// ones are not.
func TestLayerFaults(t *testing.T) {
	ranks := map[string]int{"low.go": 0, "low2.go": 0, "high.go": 1}
	const high = `package p
type High struct{ Field int }
func (High) Method() {}
func Make() High { return High{} }
const Const = 1
var Var Low
func down() { low(); Low{}.Method() }`
	for _, tc := range []struct {
		name, low string
		want      []string // parts of the faults, in order
	}{
		{"downward and level", `type Low struct{}; func (Low) Method() {}; func low() { level() }`, nil},
		{"function", `type Low struct{}; func (Low) Method() {}; func low() { down() }`, []string{"uses down of high.go"}},
		{"type", `type Low struct{ h *High }; func (Low) Method() {}; func low() {}`, []string{"uses High of high.go"}},
		{"constant", `type Low struct{}; func (Low) Method() {}; func low() { _ = Const }`, []string{"uses Const of high.go"}},
		{"variable", `type Low struct{}; func (Low) Method() {}; func low() { _ = Var }`, []string{"uses Var of high.go"}},
		{"method and field", `type Low struct{}; func (Low) Method() {}; func low() { h := Make(); h.Method(); h.Field++ }`,
			[]string{"uses Make of high.go", "uses Method of high.go", "uses Field of high.go"}},
		{"method of a type above", `type Low struct{}; func (Low) Method() {}; func low() {}; func (h High) More() {}`,
			[]string{"uses High of high.go"}},
		{"a local name that shadows", `type Low struct{}; func (Low) Method() {}; func low() { down := 1; _ = down }`, nil},
		{"an interface that those above satisfy", `type Low struct{ m interface{ Method() } }; func (Low) Method() {}; func low() { Low{}.m.Method() }`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fset := token.NewFileSet()
			var files []*ast.File
			for name, src := range map[string]string{
				"low.go": "package p\n" + tc.low, "low2.go": "package p\nfunc level() {}", "high.go": high,
			} {
				f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, f)
			}
			got, err := layerFaults(fset, files, ranks, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("fault %d: got %q, want %q", i, got[i], want)
				}
			}
		})
	}
}

func TestImportFaults(t *testing.T) {
	ranks := map[string]int{"internal/low": 0, "internal/high": 1}
	for _, tc := range []struct {
		name, path string
		rank       int
		want       string // part of the fault, "" for none
	}{
		{"somebody else's", "fmt", 0, ""},
		{"level", modulePath + "/internal/low", 0, ""},
		{"downward", modulePath + "/internal/low", 1, ""},
		{"upward", modulePath + "/internal/high", 0, "rank 0 imports internal/high, rank 1"},
		{"for tests only", modulePath + "/internal/pgtest", 5, "has no rank"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := importFault(tc.path, tc.rank, ranks)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	pkgs := map[string]listedPackage{
		modulePath + "/internal/low": {Imports: []string{"fmt", modulePath + "/internal/high"}},
	}
	if got := packageFaults(pkgs, ranks); len(got) != 1 || !strings.Contains(got[0], "internal/low: rank 0 imports") {
		t.Errorf("got %q", got)
	}
}
