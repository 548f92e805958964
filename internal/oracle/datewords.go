package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// readsDates is a function of the server's that says whether any input of dates
// or times takes a literal, on its own or in a container.
const readsDates = `CREATE FUNCTION shop.reads_dates(literal text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE kind text;
BEGIN
	FOREACH kind IN ARRAY ARRAY['date', 'time', 'timetz', 'timestamp', 'timestamptz', 'date[]', 'timestamptz[]', 'tstzrange', 'daterange',
		'datemultirange', 'shop.span', 'shop.span[]'] LOOP
		BEGIN
			EXECUTE format('SELECT %L::%s', literal, kind);
			RETURN kind;
		EXCEPTION WHEN others THEN
			NULL;
		END;
	END LOOP;
	RETURN '';
END $$`

// dateLiteral makes a literal that has a relative date in it, in some disguise,
// or in prose.
func dateLiteral(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	word := func() string { return pick("now", "today", "tomorrow", "yesterday", "NOW", "ToDay") }
	switch r.IntN(6) {
	case 0: // within containers, with quotes and backslashes
		w := word()
		at := 1 + r.IntN(len(w)-1)
		w = pick(w, w[:at]+`\`+w[at:], w[:at]+`""`+w[at:], `"`+w+`"`, w[:at]+`"`+w[at:]+`"`, `\"`+w)
		return pick("{"+w+"}", "{"+w+","+word()+"}", "["+w+",)", "{["+w+",)}", "("+w+",x)", "("+w+",some words)", `{"(`+strings.ReplaceAll(w, `"`, `\"`)+`,shipping)"}`, "{"+w+",shipping}", w)
	}
	if r.IntN(3) == 0 { // prose
		return fmt.Sprintf(pick("%s %s", "%s, %s?", "%%%s %s%%", "%s %s now", "the %[2]s of %[1]s 3", "%s!%s", "%s - %s"), word(),
			pick("shipping", "delivery", "everybody", "hiring", "Singapore", "January", "remastered", "cancelled+1", "breakfast", "postgresql", "Universal"))
	}
	// Words, with something between them.
	var b strings.Builder
	for i, n := 0, 1+r.IntN(4); i < n; i++ {
		if i > 0 {
			b.WriteString(pick(" ", "  ", ",", "-", "/", ":", "+", "_", "%", "!", "\n", ", ", " - ", ".", "?", "&", "'", ";"))
		}
		b.WriteString(pick(word(), word(), "zulu", "UTC", "am", "BC", "12:00", "3", "+3", "january", "Friday", "hiring", "shipping", "shipping+3", "hiring+3", "Singapore",
			"America/New_York", "allballs", "infinity", "epoch", "at", "on", "in", "the", "delivery", "everybody", "PST8PDT", "julian", "September", "t", "z", "%", "posixrules",
			"universal", "CETDST", "Zürich", "isoyear"))
	}
	return pick("", "", "%", "_", " ", "(") + b.String() + pick("", "", "%", "!", ".", ")")
}

// DateWords tries literals, and gives those in which the scanner sees no
// relative date though the server would read one; seen counts those in which the
// scanner sees one, released those in which it lets a word be.
func (l *Live) DateWords(ctx context.Context, seed uint64, n int) (wrong []string, seen, released int, err error) {
	if _, err := l.pc.Exec(ctx, readsDates).ReadAll(); err != nil {
		return nil, 0, 0, err
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for range n {
		literal := dateLiteral(r)
		if !dateWords.MatchString(literal) {
			continue
		}
		tag := "$d$"
		if st := sqlscan.Scan("SELECT a FROM t WHERE b = " + tag + literal + tag); len(st.Reasons) > 0 {
			if st.Reasons[0].Code != sqlscan.ReasonDateWord {
				return nil, 0, 0, fmt.Errorf("oracle: %q: %v", literal, st.Reasons)
			}
			seen++
			continue
		}
		released++
		kind, err := l.readBy(ctx, literal)
		if err != nil {
			return nil, 0, 0, err
		}
		if kind != "" {
			wrong = append(wrong, fmt.Sprintf("%q is read by %s", literal, kind))
		}
	}
	return wrong, seen, released, nil
}

// readBy gives a type of dates or times whose input takes the literal.
func (l *Live) readBy(ctx context.Context, literal string) (string, error) {
	rows := l.pc.ExecParams(ctx, "SELECT shop.reads_dates($1)", [][]byte{[]byte(literal)}, nil, nil, nil).Read()
	if rows.Err != nil {
		return "", rows.Err
	}
	return string(rows.Rows[0][0]), nil
}
