package cachedpgx

import (
	"encoding/binary"
	"sync/atomic"
)

// The ledger knows whether rows that were loaded are still what the server
// would answer, as far as this handle's own writes go. For now one epoch
// stands for every relation: a write moves everything.
//
// A load takes a stamp before it starts; the entry carries the stamp, and
// every hit compares it. There is no moment between "compared" and "stored" to
// race with, since storing a load that a write overtook stores what no hit
// will ever take:
//
//	load                        write
//	stamp = 7
//	SELECT sees the old row
//	                            UPDATE commits
//	                            move: epoch = 8
//	                            returns to its caller
//	store, stamp 7
//	hit: 7 ≠ 8, not served
//
// The other order is as good: a load that stamps after the move starts after
// the commit, and its snapshot holds the write. A write that is not over yet
// has promised nobody anything:
//
//	load                        write
//	                            UPDATE runs
//	stamp = 7
//	SELECT sees the old row
//	store, stamp 7
//	hit: served (the write has not returned)
//	                            UPDATE commits
//	                            move: epoch = 8, returns
//	hit: 7 ≠ 8, not served
//
// INVARIANT: the epoch only grows, and moves after each write is known to be
// over and before it returns to its caller.
// INVARIANT: while a quarantine is open nothing is served or stored; its
// beginning and its end both move the epoch, so that what was loaded under it
// is not kept.
type ledger struct {
	epoch       atomic.Uint64
	quarantines atomic.Int64
	wrote       atomic.Bool // this handle has written: see scope.lags
}

// stamp is a moment of the ledger.
type stamp uint64

// standing says whether something may be served or stored.
type standing uint8

const (
	standingMoved      standing = iota // a write came between
	standingQuarantine                 // a write is under way, or its end is not known
	standingCurrent
)

// stamp gives the present moment. Under a quarantine there is none that would
// hold.
//
// The two reads are not one, and need not be:
//
//	stamp                       quarantine
//	reads quarantines = 0
//	                            begins: quarantines = 1, epoch = 8
//	reads epoch = 8
//	                            ends: epoch = 9, quarantines = 0
//	stamp 8 is moved
func (l *ledger) stamp() (stamp, standing) {
	if l.quarantines.Load() != 0 {
		return 0, standingQuarantine
	}
	return stamp(l.epoch.Load()), standingCurrent
}

// standing says whether what was stamped s still holds.
func (l *ledger) standing(s stamp) standing {
	if l.quarantines.Load() != 0 {
		return standingQuarantine
	}
	if stamp(l.epoch.Load()) != s {
		return standingMoved
	}
	return standingCurrent
}

// move makes everything that was stamped before stale.
func (l *ledger) move() {
	l.epoch.Add(1)
}

// quarantine begins one, and gives its end, which must be called once.
func (l *ledger) quarantine() (end func()) {
	l.quarantines.Add(1)
	l.move()
	return func() {
		l.move()
		l.quarantines.Add(-1)
	}
}

// tagLedger knows when tags were invalidated. The epoch of each tag of a read
// is part of its key, so what was kept before, or is being loaded, is never
// found again. Tags share their epochs by hash: that one is invalidated may
// drop another's entries, too.
type tagLedger struct {
	hash   hasher
	epochs [4096]atomic.Uint64
}

func (l *tagLedger) of(tag string) *atomic.Uint64 {
	return &l.epochs[l.hash.of(tag)%uint64(len(l.epochs))]
}

// appendTags adds the tags of a read and when each was last invalidated.
func appendTags(b []byte, tags []string, l *tagLedger) []byte {
	b = binary.AppendUvarint(b, uint64(len(tags)))
	for _, t := range tags {
		b = appendFramed(b, t)
		b = binary.BigEndian.AppendUint64(b, l.of(t).Load())
	}
	return b
}
