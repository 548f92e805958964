package oracle

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Tally adds up outcomes. It may be used concurrently.
type Tally struct {
	mu struct {
		sync.Mutex
		texts, valid, reads, refused, faulty int
		why                                  map[string]int    // refusals
		example                              map[string]string // of each
		faults                               []string          // the first texts at fault
	}
}

const keepFaults = 40

// Add takes a text's outcome.
func (t *Tally) Add(text string, o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.texts++
	if o.Valid {
		t.mu.valid++
	}
	if o.Read {
		t.mu.reads++
	}
	if o.Refused != "" {
		t.mu.refused++
		if t.mu.why == nil {
			t.mu.why, t.mu.example = map[string]int{}, map[string]string{}
		}
		t.mu.why[o.Refused]++
		if e, ok := t.mu.example[o.Refused]; !ok || len(text) < len(e) {
			t.mu.example[o.Refused] = text
		}
	}
	if len(o.Faults) > 0 {
		t.mu.faulty++
		if len(t.mu.faults) < keepFaults {
			t.mu.faults = append(t.mu.faults, text)
		}
	}
}

// Faulty gives the first texts at fault.
func (t *Tally) Faulty() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.mu.faults...)
}

// Valid gives how many texts the grammar took.
func (t *Tally) Valid() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.valid
}

// Counts gives the cacheable reads and those of them that were refused.
func (t *Tally) Counts() (reads, refused int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.reads, t.mu.refused
}

// String sums up.
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%d texts, %d that the grammar takes, %d cacheable reads of which %d refused, %d at fault",
		t.mu.texts, t.mu.valid, t.mu.reads, t.mu.refused, t.mu.faulty)
}

// Refusals lists why cacheable reads were refused, the most frequent first, each
// with its shortest example.
func (t *Tally) Refusals(most int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var why []string
	for w := range t.mu.why {
		why = append(why, w)
	}
	sort.Slice(why, func(i, j int) bool {
		if a, b := t.mu.why[why[i]], t.mu.why[why[j]]; a != b {
			return a > b
		}
		return why[i] < why[j]
	})
	var b strings.Builder
	for i, w := range why {
		if i == most {
			break
		}
		fmt.Fprintf(&b, "%6d %s: %s\n", t.mu.why[w], w, Shrink(t.mu.example[w], refusalKind))
	}
	return b.String()
}
