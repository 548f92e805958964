package oracle

import (
	"os"
	"strings"
	"testing"
)

// PostgreSQL's regression files, or whatever is in the folder.
func TestCorpus(t *testing.T) {
	folder := os.Getenv(EnvCorpus)
	if folder == "" {
		t.Skipf("%s names no folder of .sql files", EnvCorpus)
	}
	texts, err := Corpus(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) == 0 {
		t.Fatalf("no statement below %s", folder)
	}
	var tally Tally
	for _, text := range texts {
		tally.Add(text, Compare(text))
	}
	report(t, &tally)
}

// report fails the test for what must be nought and what must be rare.
func report(t *testing.T, tally *Tally) {
	t.Helper()
	reportFaults(t, tally)
	if reads, refused := tally.Counts(); refused*1000 > reads {
		t.Errorf("%d of %d cacheable reads are refused, more than one in a thousand:\n%s", refused, reads, tally.Refusals(20))
	} else if refused > 0 {
		t.Logf("refused:\n%s", tally.Refusals(20))
	}
}

func reportFaults(t *testing.T, tally *Tally) {
	t.Helper()
	t.Log(tally)
	for _, text := range tally.Faulty() {
		text = Shrink(text, faultKind)
		t.Errorf("%s\n\t%s", text, strings.Join(Compare(text).Faults, "\n\t"))
	}
}
