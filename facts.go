package cachedpgx

import (
	"sync"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
)

// factBook keeps what is known of the catalog: for each scope what its names
// mean, and for each server what it brought along. It is safe for concurrent
// use.
type factBook struct {
	cfg catalog.Config

	mu struct {
		sync.Mutex
		generation uint64
		byScope    map[uint64]*catalog.Facts
		builtIns   map[string]*catalog.BuiltIns // by server
	}
}

const mostServers = 64 // that are remembered

func newFactBook(cfg catalog.Config) *factBook {
	b := &factBook{cfg: cfg}
	b.mu.byScope = map[uint64]*catalog.Facts{}
	b.mu.builtIns = map[string]*catalog.BuiltIns{}
	return b
}

// of gives the facts of a scope under a generation of the catalog. A question
// that is under way when the generation changes fills facts that nobody sees
// any more.
func (b *factBook) of(s *scope, generation uint64) *catalog.Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	if generation > b.mu.generation {
		b.mu.generation = generation
		clear(b.mu.byScope)
	}
	if generation < b.mu.generation {
		return catalog.NewFacts(b.cfg, b.mu.builtIns[s.system])
	}
	f := b.mu.byScope[s.id]
	if f == nil {
		if len(b.mu.byScope) >= mostServers {
			clear(b.mu.byScope)
		}
		f = catalog.NewFacts(b.cfg, b.mu.builtIns[s.system])
		b.mu.byScope[s.id] = f
	}
	return f
}

// apart gives facts of a session whose names may mean something else.
func (b *factBook) apart(s *scope) *catalog.Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	cfg := b.cfg
	cfg.Temporary = true
	return catalog.NewFacts(cfg, b.mu.builtIns[s.system])
}

// learn keeps what a server brought along.
func (b *factBook) learn(s *scope, f *catalog.Facts) {
	known := f.BuiltIns()
	if known == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.mu.builtIns) >= mostServers {
		clear(b.mu.builtIns)
	}
	b.mu.builtIns[s.system] = known
}
