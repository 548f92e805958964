package explain

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cachedpgx/cachedpgx"
)

// width is the longest line of a list.
const width = 120

// printer writes to one writer and remembers its first error.
type printer struct {
	w     io.Writer
	color bool
	err   error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// The escape sequences in use.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *printer) paint(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func verdictColor(verdict string) string {
	switch verdict {
	case verdictYes:
		return green
	case verdictMarked:
		return yellow
	}
	return red
}

func writeText(w io.Writer, all *results, color bool) error {
	p := &printer{w: w, color: color}
	if len(all.list) == 1 && all.workload == nil {
		p.one(&all.list[0])
		return p.err
	}
	if all.workload == nil {
		p.given(all)
	} else {
		p.workload(all)
	}
	p.groups(all)
	return p.err
}

// one prints all that is known of one statement.
func (p *printer) one(r *result) {
	for line := range strings.Lines(r.text) {
		p.printf("  %s\n", strings.Map(visible, strings.TrimRight(line, "\r\n")))
	}
	p.printf("\n")
	const format = "%-12s%s\n"
	answer := "yes"
	switch r.verdict() {
	case verdictMarked:
		answer = "not without a mark: only time is in its way"
		if len(r.Reasons) == 1 && r.Reasons[0].Code == "not-marked" {
			answer = "not without a mark, which this mode asks for"
		}
	case verdictNo:
		answer = "no"
	}
	p.printf(format, "cached", p.paint(verdictColor(r.verdict()), answer))
	markable := false
	for i, why := range r.Reasons {
		name := ""
		if i == 0 {
			name = "why not"
		}
		p.printf(format, name, strings.TrimSpace(p.paint(bold, why.Code.String())+"  "+strings.Map(visible, why.Detail)))
		p.folded(why.Fix)
		markable = markable || why.Markable
	}
	if markable {
		p.printf(format, "a mark", "is WithTTL, WithPolicy, or the hint /* cachedpgx: ttl=5s */")
	}
	if len(r.Relations) > 0 {
		p.printf(format, "reads", strings.Join(r.Relations, ", "))
	}
	switch {
	case r.AllWrites:
		p.printf(format, "writes", "not known: whatever is kept is taken for written")
	case len(r.Writes) > 0:
		p.printf(format, "writes", strings.Join(r.Writes, ", "))
	}
	if r.isRead() {
		p.printf(format, "policy", policyText(r.Policy))
		rule := "none applies"
		if r.Rule != "" {
			rule = r.Rule
		}
		p.printf(format, "rule", rule)
	}
	for _, note := range r.Notes {
		p.printf(format, "note", strings.Map(visible, note))
	}
}

// folded prints what is to be done, below its reason.
func (p *printer) folded(text string) {
	const indent, most = "              ", 84
	line := ""
	for word := range strings.FieldsSeq(strings.Map(visible, text)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > most {
			p.printf("%s%s\n", indent, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		p.printf("%s%s\n", indent, line)
	}
}

func policyText(p cachedpgx.Policy) string {
	limits := "of any size"
	rows, bytes := limit(int64(p.MaxRows)), limit(p.MaxResultBytes)
	switch {
	case rows != nil && bytes != nil:
		limits = fmt.Sprintf("of at most %s rows and %s", number(*rows), size(*bytes))
	case rows != nil:
		limits = fmt.Sprintf("of at most %s rows", number(*rows))
	case bytes != nil:
		limits = fmt.Sprintf("of at most %s", size(*bytes))
	}
	empty := "empty ones " + durationOrOff(p.NegativeTTL)
	if p.NegativeTTL <= 0 {
		empty = "empty ones not"
	}
	return fmt.Sprintf("mode %s; results %s live %s, %s; jitter %v", p.Mode, limits, durationOrOff(p.TTL), empty, p.Jitter)
}

// given prints the statements of arguments or a file, in their order.
func (p *printer) given(all *results) {
	file := all.list[0].line > 0
	t := table{head: []string{"", "cached", "why not", "statement"}, right: []bool{true}}
	if file {
		t.head[0] = "line"
	}
	for i := range all.list {
		r := &all.list[i]
		place := fmt.Sprint(i + 1)
		if file {
			place = fmt.Sprint(r.line)
		}
		t.row(verdictColor(r.verdict()), place, r.verdict(), r.codes(), r.text)
	}
	p.table(&t, 1)
	yes, reads := all.sum(func(r *result) bool { return r.Cacheable }), all.sum((*result).isRead)
	p.printf("\n%s: %s, %d cacheable", count(int64(len(all.list)), "statement"), count(reads.statements, "read"), yes.statements)
	if marked := all.sum(func(r *result) bool { return r.verdict() == verdictMarked }); marked.statements > 0 {
		p.printf(", %d more with a mark", marked.statements)
	}
	p.printf(".\n")
}

// workload prints the server's statements, the most costly ones first.
func (p *printer) workload(all *results) {
	w := all.workload
	since := ""
	if w.since != nil {
		since = ", since " + w.since.Format("2006-01-02 15:04 MST")
	}
	if len(all.list) == 0 {
		p.printf("pg_stat_statements holds no statement of this role in this database%s.\n", since)
		p.hidden(w)
		return
	}
	t := table{head: []string{"time", "share", "calls", "cached", "why not", "statement"}, right: []bool{true, true, true}}
	for i := range all.list {
		r := &all.list[i]
		t.row(verdictColor(r.verdict()), duration(r.time), share(int64(r.time), int64(w.all.time)), number(r.calls),
			r.verdict(), r.codes(), r.text)
	}
	p.table(&t, 3)
	p.printf("\n%s of %s%s: %s of the calls, %s of the time.\n", number(int64(len(all.list))),
		count(w.all.statements, "statement"), since,
		share(w.shown.calls, w.all.calls), share(int64(w.shown.time), int64(w.all.time)))
	p.hidden(w)

	p.printf("\n")
	yes, reads := all.sum(func(r *result) bool { return r.Cacheable }), all.sum((*result).isRead)
	marked := all.sum(func(r *result) bool { return r.verdict() == verdictMarked })
	sums := table{head: []string{"of these", "statements", "calls", "time"}, right: []bool{false, true, true, true}}
	sum := func(name string, part, whole cost) {
		sums.row("", name, number(part.statements), share(part.calls, whole.calls), share(int64(part.time), int64(whole.time)))
	}
	sum("cacheable", yes, w.shown)
	if marked.statements > 0 {
		sum("with a mark, too", marked, w.shown)
	}
	sum("reads", reads, w.shown)
	p.table(&sums, -1)
}

func (p *printer) hidden(w *workload) {
	if w.hidden.statements > 0 {
		p.printf("Hidden from this role, and not in these figures: %s, %s, %s. To see them: GRANT pg_read_all_stats TO the role.\n",
			count(w.hidden.statements, "statement"), count(w.hidden.calls, "call"), duration(w.hidden.time))
	}
}

// groups prints the reasons, each with what it keeps from the cache.
func (p *printer) groups(all *results) {
	groups := all.whyNot()
	if len(groups) == 0 {
		return
	}
	p.printf("\nWhy not, by reason (one with several counts for each):\n")
	t := table{head: []string{"", "statements"}, right: []bool{false, true, true, true}}
	if all.workload != nil {
		t.head = append(t.head, "calls", "time")
	}
	for _, g := range groups {
		cells := []string{g.code.String(), number(g.statements)}
		if all.workload != nil {
			cells = append(cells, number(g.calls), duration(g.time))
		}
		t.row("", cells...)
	}
	p.table(&t, -1)
}

// codes are the reasons, each once.
func (r *result) codes() string {
	var b strings.Builder
	seen := map[cachedpgx.ReasonCode]bool{}
	for _, why := range r.Reasons {
		if seen[why.Code] {
			continue
		}
		if seen[why.Code] = true; len(seen) > 1 {
			b.WriteString(", ")
		}
		b.WriteString(why.Code.String())
	}
	return b.String()
}

// table is aligned; its last column is cut at the width.
type table struct {
	head   []string
	right  []bool // by column: figures
	rows   [][]string
	colors []string
}

func (t *table) row(color string, cells ...string) {
	t.rows = append(t.rows, cells)
	t.colors = append(t.colors, color)
}

// table prints t; the column of this number has the rows' colours.
func (p *printer) table(t *table, colored int) {
	widths := make([]int, len(t.head))
	for _, cells := range append([][]string{t.head}, t.rows...) {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	last := len(widths) - 1
	used := 2 * last
	for i, w := range widths[:last] {
		// Many reasons leave room for the statement all the same.
		widths[i] = min(w, 34)
		used += widths[i]
	}
	line := func(cells []string, color string, whole func(string) string) {
		var b strings.Builder
		for i, c := range cells {
			if i == last && (i >= len(t.right) || !t.right[i]) {
				b.WriteString(oneLine(c, max(20, width-used)))
				continue
			}
			if utf8.RuneCountInString(c) > widths[i] {
				c = string([]rune(c)[:widths[i]-1]) + "…"
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == colored && color != "" {
				c = p.paint(color, c)
			}
			if i < len(t.right) && t.right[i] {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
			if i < last {
				b.WriteString("  ")
			}
		}
		p.printf("%s\n", whole(strings.TrimRight(b.String(), " ")))
	}
	line(t.head, "", func(s string) string { return p.paint(dim, s) })
	for i, cells := range t.rows {
		line(cells, t.colors[i], func(s string) string { return s })
	}
}

// visible leaves out what a terminal would act on.
func visible(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case isControl(r):
		return -1
	}
	return r
}

// number writes n with its thousands apart.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return number(n) + " " + thing
}

// duration writes d in a unit that people grasp.
func duration(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		return number(int64(d.Hours())) + " h"
	case d >= 10*time.Minute:
		return number(int64(d.Minutes())) + " min"
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// size writes bytes, in the largest unit that gives a whole number.
func size(n int64) string {
	unit := 0
	for n%1024 == 0 && unit < 3 {
		n /= 1024
		unit++
	}
	return number(n) + " " + []string{"B", "KiB", "MiB", "GiB"}[unit]
}

// share writes a part of a whole.
func share(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	percent := 100 * float64(part) / float64(whole)
	switch {
	case percent > 0 && percent < 0.5:
		return "<1 %"
	case percent >= 99.5 && part < whole:
		return ">99 %"
	}
	return fmt.Sprintf("%.0f %%", percent)
}
