package oracle

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// EnvCorpus names a folder of .sql files, such as PostgreSQL's own src/test, to
// hold the scanner against.
const EnvCorpus = "CACHEDPGX_CORPUS"

// Corpus gives the statements of every .sql file below a folder, in a fixed
// order, each once.
func Corpus(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".sql") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var out []string
	seen := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for _, s := range split(string(b)) {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out, nil
}

var copyFrom = regexp.MustCompile(`(?i)^\s*copy\b.*\bfrom\s+stdin\b.*;`)

// split cuts a file of psql's into statements, without psql's own commands and
// the data of COPY.
func split(file string) []string {
	var b strings.Builder
	data := false
	for line := range strings.Lines(file) {
		switch {
		case data:
			data = strings.TrimRight(line, "\r\n") != `\.`
			continue
		case strings.HasPrefix(strings.TrimSpace(line), `\`):
			continue
		}
		data = copyFrom.MatchString(line)
		if at := psqlEnd.FindStringIndex(line); at != nil {
			line = line[:at[0]] + ";\n" // SELECT … \gset runs it as ; does
		}
		b.WriteString(line)
	}
	text := b.String()
	statements, err := pg.SplitWithScanner(text, true)
	if err != nil {
		// Something in it is no SQL: line by line, then.
		statements = strings.Split(text, ";\n")
	}
	return statements
}

var psqlEnd = regexp.MustCompile(`\\(g|gset|gexec|gdesc|gx|bind|parse|crosstabview|watch|;)\b.*\n`)
