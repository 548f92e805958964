package demo

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample(color bool) (string, error) {
	var out bytes.Buffer
	r := newReport(&out, color)
	r.title("cachedpgx demo", "what it is")
	r.facts([][2]string{
		{"server", "PostgreSQL 15.18"},
		{"counted", strings.Repeat("a long remark, which is folded and hangs below its beginning; ", 3)},
	})
	r.section("Browsing", strings.Repeat("what is done, in more than one line; ", 5))
	t := &table{head: []string{"", plain, ours}}
	t.row("queries asked", number(20_000), number(20_000), times(20_000, 20_000, "fewer", "more"))
	t.row("reached the server", number(20_000), number(123), times(20_000, 123, "fewer", "more"))
	t.row("median", duration(132*time.Microsecond), duration(3100*time.Nanosecond), times(132_000, 3100, "faster", "slower"))
	t.row("p99", duration(999*time.Nanosecond), duration(1500*time.Millisecond), times(999, 1_500_000_000, "faster", "slower"))
	t.row("without a remark", "0", "0")
	r.print(t)
	r.check(true, "%s", count(1, "query"))
	r.check(false, "a claim of more than one line: %s", strings.Repeat("it is folded, ", 10))
	r.section("A table of one column", "")
	t = &table{head: []string{"reason", "statements"}}
	t.row("volatile-function", number(1_234_567))
	r.print(t)
	err := r.verdict(23456*time.Millisecond, "The server is gone.")
	return out.String(), err
}

func TestReportGolden(t *testing.T) {
	for name, color := range map[string]bool{"report.txt": false, "report_color.txt": true} {
		t.Run(name, func(t *testing.T) {
			got, err := sample(color)
			if err == nil || !strings.Contains(err.Error(), "a claim of more than one line") {
				t.Errorf("verdict: %v, want an error that names the claim", err)
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (make it with -update)", err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if !color {
				fits(t, got)
			}
		})
	}
}

// fits checks that a terminal of 100 columns shows the report as it is meant,
// whatever its character set.
func fits(t *testing.T, report string) {
	t.Helper()
	for line := range strings.Lines(report) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d columns: %q", n, line)
		}
		if line != strings.TrimRight(line, " ") {
			t.Errorf("blanks at the end: %q", line)
		}
		for _, c := range line {
			if c > 126 || c < 32 {
				t.Errorf("%q in %q", c, line)
			}
		}
	}
}

func TestVerdictWithoutFailures(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, false)
	r.check(true, "a claim")
	if err := r.verdict(time.Second, "It is gone."); err != nil {
		t.Error(err)
	}
	if want := "All 1 checks held, in 1.0 s.\nIt is gone.\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want %q at its end", out.String(), want)
	}
}

type brokenPipe struct{}

var errBroken = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestReportRemembersThatNobodyReads(t *testing.T) {
	r := newReport(brokenPipe{}, false)
	r.check(true, "a claim")
	if !errors.Is(r.w.err, errBroken) {
		t.Errorf("err = %v, want %v", r.w.err, errBroken)
	}
	if err := r.verdict(time.Second, ""); !errors.Is(err, errBroken) {
		t.Errorf("verdict: %v, want %v", err, errBroken)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"},
		{number(999), "999"},
		{number(1000), "1,000"},
		{number(1_234_567), "1,234,567"},
		{duration(999), "999 ns"},
		{duration(1500), "1.5 us"},
		{duration(9_960_000), "10 ms"},
		{duration(12 * time.Second), "12 s"},
		{bytesText(2048), "2.0 KiB"},
		{bytesText(3 << 20), "3.0 MiB"},
		{count(1, "query"), "1 query"},
		{count(2, "query"), "2 queries"},
		{count(500, "reader"), "500 readers"},
		{times(0, 0, "fewer", "more"), "the same"},
		{times(10, 0, "fewer", "more"), ""},
		{times(10, 100, "fewer", "more"), "10 x more"},
		{times(100, 96, "fewer", "more"), "the same"},
		{times(100, 40, "fewer", "more"), "2.5 x fewer"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
