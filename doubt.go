package cachedpgx

import (
	"context"
	"sync"
	"time"
)

// A write whose connection was lost may still be running at the server, and
// commit later. Until that can't happen any more, nothing is served from the
// cache or stored in it. The proof is that the server process has ended, seen
// on another connection to the same server; where no proof can be had, the
// doubt ends after Config.Quarantine.
type doubts struct {
	sync.Mutex
	open    []doubt
	working bool
}

type doubt struct {
	lostConn
	until time.Time
	end   func() // of its quarantine
}

const (
	doubtPause     = 5 * time.Millisecond // between two looks, at first
	longDoubtPause = time.Second
	doubtDeadline  = 2 * time.Second // of one look
)

// doubt begins a quarantine for what was lost with a connection of scope s.
func (c *Cache) doubt(l lostConn, s *scope) {
	c.wrote(s)
	c.counters.invalidations.Add(1)
	d := doubt{lostConn: l, until: time.Now().Add(c.cfg.Quarantine), end: c.ledger.quarantine()}
	c.doubts.Lock()
	c.doubts.open = append(c.doubts.open, d)
	start := !c.doubts.working
	c.doubts.working = true
	c.doubts.Unlock()
	if start {
		// After Close nobody is left to be served.
		_ = c.tasks.start(c.settleDoubts)
	}
}

// settleDoubts looks after the doubts until none is left.
func (c *Cache) settleDoubts(closing context.Context) {
	pause := doubtPause
	for {
		n, system, alive := c.lookForLost(closing)
		now := time.Now()
		c.doubts.Lock()
		var left []doubt
		for i, d := range c.doubts.open {
			switch {
			case i < n && system != "" && d.system == system && !alive[d.pid]:
				d.end()
			case !now.Before(d.until):
				d.end()
				c.say("cachedpgx: the outcome of a write could not be learnt within the Quarantine, so the cache goes on without", "quarantine", c.cfg.Quarantine)
			default:
				left = append(left, d)
			}
		}
		c.doubts.open = left
		if len(left) == 0 {
			c.doubts.working = false
			c.doubts.Unlock()
			return
		}
		next := left[0].until.Sub(now)
		c.doubts.Unlock()
		select {
		case <-time.After(min(pause, max(next, time.Millisecond))):
			pause = min(2*pause, longDoubtPause)
		case <-closing.Done():
			return
		}
	}
}

// lookForLost asks the server which of the lost processes still run. Only the
// first n doubts were in the question; what arose since is not answered by it.
func (c *Cache) lookForLost(closing context.Context) (n int, system string, alive map[uint32]bool) {
	c.doubts.Lock()
	n = len(c.doubts.open)
	var pids []uint32
	for _, d := range c.doubts.open {
		if d.system != "" {
			pids = append(pids, d.pid)
		}
	}
	c.doubts.Unlock()
	if len(pids) == 0 {
		return n, "", nil
	}
	ctx, cancel := context.WithTimeout(closing, doubtDeadline)
	defer cancel()
	system, alive, err := c.origin.running(ctx, pids)
	if err != nil {
		return n, "", nil
	}
	return n, system, alive
}
