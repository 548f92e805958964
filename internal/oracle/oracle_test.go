package oracle

import (
	"os"
	"strconv"
	"testing"
)

// EnvLong asks for the long run; its value multiplies the numbers of texts.
const envLong = "CACHEDPGX_ORACLE"

// many gives how many texts to try: few, unless the long run was asked for.
func many(t *testing.T, short, long int) int {
	if v := os.Getenv(envLong); v != "" {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Fatalf("%s: %v", envLong, err)
		}
		return int(float64(long) * n)
	}
	if testing.Short() {
		return short / 10
	}
	return short
}

const seed = 20240917

func TestGenerated(t *testing.T) {
	n := many(t, 8_000, 450_000)
	t.Logf("seed %d", seed)
	g := NewGenerator(seed)
	var tally Tally
	for range n {
		text := g.Next()
		tally.Add(text, Compare(text))
	}
	report(t, &tally)
	if valid := tally.Valid(); valid*5 < n*2 {
		t.Errorf("the grammar takes %d of %d", valid, n)
	}
}

func TestMutants(t *testing.T) {
	n := many(t, 20_000, 1_200_000)
	t.Logf("seed %d", seed)
	g := NewGenerator(seed + 1)
	var pool []string
	for range 3_000 {
		pool = append(pool, g.Next())
	}
	for _, trap := range traps {
		pool = append(pool, trap.text)
	}
	if folder := os.Getenv(EnvCorpus); folder != "" {
		texts, err := Corpus(folder)
		if err != nil {
			t.Fatal(err)
		}
		pool = append(pool, texts...)
	}
	m := NewMutator(seed, pool)
	var tally Tally
	for range n {
		text := m.Next()
		tally.Add(text, Compare(text))
	}
	reportFaults(t, &tally)
	t.Logf("refused:\n%s", tally.Refusals(20))
}
