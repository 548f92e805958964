package cachedpgx

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// meet asks a pgx connection who it is, once. It reports whether the
// connection still works.
func (o *origin) meet(ctx context.Context, dc *stdlib.Conn) bool {
	pc := dc.Conn().PgConn()
	if infoOf(dc) != nil {
		return true // a pgxpool hands connections out again
	}
	if connHasHook(dc, o.pgxpool != nil) {
		o.hooked.Store(true)
	}
	info := o.newInfo(dc)
	if o.worthAsking() {
		o.identify(ctx, pc, info)
	}
	return !pc.IsClosed()
}

// infoOf gives what is known of a connection, nil if it was not met.
func infoOf(dc *stdlib.Conn) *serverConn {
	info, _ := dc.Conn().PgConn().CustomData()[connInfoKey].(*serverConn)
	return info
}

// newInfo begins what is known of a connection.
func (o *origin) newInfo(dc *stdlib.Conn) *serverConn {
	cfg := dc.Conn().Config()
	info := &serverConn{
		born: o.dialled.Add(1), replanned: o.replans.Load(),
		modes: modesOf(cfg), types: o.types.Source(dc.Conn().TypeMap()), tracer: cfg.Tracer,
	}
	if kind := info.types.Kind(); kind != nil {
		o.kind.Store(kind)
	}
	dc.Conn().PgConn().CustomData()[connInfoKey] = info
	return info
}

// identify asks a connection who it is and takes down the answer. That a
// connection is lost meanwhile says nothing about the server.
func (o *origin) identify(ctx context.Context, pc *pgconn.PgConn, info *serverConn) {
	id, err := identify(ctx, pc)
	if err != nil {
		if ctx.Err() == nil && !pc.IsClosed() {
			o.notIdentified(err)
		}
		return
	}
	info.scope, info.probe = o.adopt(id, pc.PID(), info.modes), id.probe
}

// plain is the scope of connections of another driver, which can't be asked.
var plain = &scope{text: "another driver"}

// An unidentified server is asked again after a while, not at each dial.
const askAgainAfter = 5 * time.Second

func (o *origin) worthAsking() bool {
	o.scopes.Lock()
	defer o.scopes.Unlock()
	return o.scopes.asked.IsZero() || time.Since(o.scopes.asked) > askAgainAfter
}

func (o *origin) notIdentified(err error) {
	o.scopes.Lock()
	first := o.scopes.asked.IsZero()
	o.scopes.asked = time.Now()
	o.scopes.Unlock()
	if first {
		o.log.Warn("cachedpgx: the server does not say who it is, so nothing is cached", "error", err)
	}
}

// Scopes that take turns would have every connection retired for the next
// one's sake.
const (
	mostScopeChanges = 16
	scopeWindow      = time.Minute
	mostScopes       = 1024
)

// scopeText is all that answers depend on: what a server says of a connection, and
// how that runs statements.
func scopeText(id identity, how modes) string {
	return fmt.Sprintf("%s %d %t %t", id.text, how.standard, how.statements, how.descriptions)
}

// adopt makes the identity of a connection just dialled the current scope.
func (o *origin) adopt(id identity, pid uint32, how modes) *scope {
	pooled := o.pooler || id.pid != strconv.FormatUint(uint64(pid), 10)
	text := scopeText(id, how)
	if pooled {
		text = "pooled " + text
	}
	o.scopes.Lock()
	defer o.scopes.Unlock()
	o.scopes.asked = time.Time{}
	s := o.scopes.byText[text]
	if s == nil {
		if len(o.scopes.byText) >= mostScopes {
			clear(o.scopes.byText)
		}
		o.scopes.lastID++
		s = &scope{id: o.scopes.lastID, text: text, system: id.system, recovery: id.recovery, pooled: pooled, odd: id.odd, modes: how}
		o.scopes.byText[text] = s
	}
	old := o.current.Swap(s)
	if old != nil && old != s {
		if now := time.Now(); now.Sub(o.scopes.since) > scopeWindow {
			o.scopes.since, o.scopes.changes = now, 0
			o.differ.Store(false)
		}
		if o.scopes.changes++; o.scopes.changes > mostScopeChanges && o.differ.CompareAndSwap(false, true) {
			o.log.Warn("cachedpgx: server connections differ in role, database or settings from one another, so nothing is cached: set the same for each, or open a handle for each")
		}
	}
	return s
}

// overPgx says whether the inner driver is pgx, by its connections, or by its
// name while none was dialled.
func (o *origin) overPgx() bool {
	if s := o.current.Load(); s != nil {
		return s != plain
	}
	_, ok := o.inner.Driver().(*stdlib.Driver)
	return ok
}

// silent says that no connection of late has said who it is.
func (o *origin) silent() bool { return !o.worthAsking() }

// unstable says whether connections keep differing from one another.
func (o *origin) unstable() bool {
	if !o.differ.Load() {
		return false
	}
	o.scopes.Lock()
	defer o.scopes.Unlock()
	return time.Since(o.scopes.since) <= scopeWindow
}
