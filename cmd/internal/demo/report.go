package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// width is the longest line that the report prints.
const width = 100

// report prints what a run found, section by section, and remembers which
// claims did not hold. It is used by one goroutine.
type report struct {
	w      *firstError
	color  bool
	number int // of the section
	claims int
	failed []string
}

func newReport(w io.Writer, color bool) *report { return &report{w: &firstError{w: w}, color: color} }

// firstError remembers that its writer failed: nobody reads on.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.w.Write(b)
	f.err = err
	return n, err
}

// The escape sequences in use.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

func (r *report) paint(code, text string) string {
	if !r.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (r *report) title(name, what string) {
	fmt.Fprintf(r.w, "%s: %s\n\n", r.paint(bold, name), what)
}

// facts prints names and values, the values below each other.
func (r *report) facts(pairs [][2]string) {
	widest := 0
	for _, p := range pairs {
		widest = max(widest, utf8.RuneCountInString(p[0]))
	}
	for _, p := range pairs {
		first := "   " + pad(p[0], widest) + "   "
		r.wrapped(first, strings.Repeat(" ", len(first)), p[1], "")
	}
}

// section begins a section: a heading, and what is done in it.
func (r *report) section(heading, what string) {
	r.number++
	fmt.Fprintf(r.w, "\n%s\n", r.paint(bold, fmt.Sprintf("%d. %s", r.number, heading)))
	if what != "" {
		r.note(what)
	}
	fmt.Fprintln(r.w)
}

// note prints a remark, folded at the width.
func (r *report) note(text string) { r.wrapped("   ", "   ", text, dim) }

func (r *report) blank() { fmt.Fprintln(r.w) }

// check prints a claim and whether it held.
func (r *report) check(held bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.claims++
	if held {
		r.wrapped("   "+r.paint(green, "ok")+"  ", "       ", text, "")
		return
	}
	r.failed = append(r.failed, text)
	r.wrapped("   "+r.paint(red, "FAILED")+"  ", "           ", text, "")
}

func (r *report) wrapped(first, rest, text, code string) {
	prefix := first
	line := ""
	flush := func() {
		if code != "" {
			line = r.paint(code, line)
		}
		fmt.Fprintln(r.w, prefix+line)
		prefix, line = rest, ""
	}
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(rest)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	flush()
}

// verdict prints the end of the report. The error names the claims that did not
// hold.
func (r *report) verdict(took time.Duration, gone string) error {
	fmt.Fprintln(r.w)
	if len(r.failed) == 0 {
		fmt.Fprintf(r.w, "%s\n%s\n",
			r.paint(green, fmt.Sprintf("All %d checks held, in %s.", r.claims, duration(took))), gone)
		return r.w.err
	}
	fmt.Fprintf(r.w, "%s\n%s\n",
		r.paint(red, fmt.Sprintf("%d of %d checks did not hold.", len(r.failed), r.claims)), gone)
	return fmt.Errorf("this did not hold:\n  - %s", strings.Join(r.failed, "\n  - "))
}

// table has a column of names, then columns of figures, then one of remarks.
type table struct {
	head []string // "" first, and no remark
	rows [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// print aligns names and remarks to the left, figures to the right.
func (r *report) print(t *table) {
	columns := len(t.head)
	widths := make([]int, columns)
	line := append([][]string{t.head}, t.rows...)
	remark := 0
	for _, cells := range line {
		for i, c := range cells {
			if i < columns {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			} else {
				remark = max(remark, utf8.RuneCountInString(c))
			}
		}
	}
	const gap = "    "
	total := 0
	for i, w := range widths {
		if i > 0 {
			w = max(w, 10)
			widths[i] = w
			total += len(gap)
		}
		total += w
	}
	if remark > 0 {
		total += len(gap) + remark
	}
	for n, cells := range line {
		var b strings.Builder
		for i, c := range cells {
			switch {
			case i == 0:
				b.WriteString(pad(c, widths[0]))
			case i < columns:
				b.WriteString(gap + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)) + c)
			default:
				b.WriteString(gap + c)
			}
		}
		text := strings.TrimRight(b.String(), " ")
		if n == 0 {
			fmt.Fprintf(r.w, "   %s\n   %s\n", r.paint(bold, text), r.paint(dim, strings.Repeat("-", total)))
			continue
		}
		fmt.Fprintf(r.w, "   %s\n", text)
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }

// number writes n with its thousands apart.
func number[N ~int | ~int64 | ~uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration writes d with two or three digits that mean something.
func duration(d time.Duration) string {
	unit, name := time.Nanosecond, "ns"
	switch {
	case d >= time.Second:
		unit, name = time.Second, "s"
	case d >= time.Millisecond:
		unit, name = time.Millisecond, "ms"
	case d >= time.Microsecond:
		unit, name = time.Microsecond, "us"
	}
	return digits(float64(d)/float64(unit)) + " " + name
}

func digits(f float64) string {
	switch {
	case f >= 9.95:
		return number(int64(f + 0.5))
	default:
		return fmt.Sprintf("%.1f", f)
	}
}

// times says by what factor the second of two figures is the better one; worse
// ones are said to be so, too.
func times[N ~int | ~int64 | ~uint64](plain, ours N, better, worse string) string {
	p, o := float64(plain), float64(ours)
	switch {
	case p == o, p > 0 && o > 0 && p/o > 0.95 && p/o < 1.05:
		return "the same"
	case p == 0 || o == 0:
		return ""
	case p > o:
		return digits(p/o) + " x " + better
	default:
		return digits(o/p) + " x " + worse
	}
}

// count writes n of a thing whose plural ends in s or, after a y, in ies.
func count[N ~int | ~int64 | ~uint64](n N, thing string) string {
	switch stem, y := strings.CutSuffix(thing, "y"); {
	case n == 1:
		return "1 " + thing
	case y:
		return number(n) + " " + stem + "ies"
	default:
		return number(n) + " " + thing + "s"
	}
}
