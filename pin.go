package cachedpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// serverConn is what is known of one server connection. It belongs to whoever
// holds the connection.
type serverConn struct {
	born      uint64
	used      bool   // somebody has run something on it
	scope     *scope // nil: it did not say who it is
	probe     string // what probeSQL answered then
	replanned uint64 // origin.replans when its plans were last dropped
	vouched   uint64 // origin.suspect when it last answered a ping
	soiled    bool   // something ran that may have changed settings unseen: a trigger, a view, a default
	modes     modes
	types     *typemap.Source
	tracer    pgx.QueryTracer   // the user's, nil if there is none
	prepared  map[string]string // the names of texts that are prepared here
	order     []string          // those texts, oldest first
	named     int               // names that were given
}

// nameFor gives the name under which to prepare a text. It is not the text: pgx
// would take a direct call of that for one of the prepared statement, whose
// arguments are others.
func (sc *serverConn) nameFor(text string) string {
	if name, ok := sc.prepared[text]; ok {
		return name
	}
	sc.named++
	return namePrefix + strconv.Itoa(sc.named)
}

// namePrefix is not to be guessed: pgx takes a text that is a name for that
// statement.
var namePrefix = fmt.Sprintf("cachedpgx_%x_", rand.Uint64())

// notePrepared counts a statement left prepared on the connection, and drops
// the oldest beyond the limit.
func (sc *serverConn) notePrepared(ctx context.Context, pc *pgx.Conn, name, text string) {
	if _, ok := sc.prepared[text]; ok {
		return
	}
	if sc.prepared == nil {
		sc.prepared = map[string]string{}
	}
	for len(sc.order) >= mostPrepared {
		oldest := sc.order[0]
		sc.order = sc.order[1:]
		if name, ok := sc.prepared[oldest]; ok {
			delete(sc.prepared, oldest)
			_ = pc.Deallocate(ctx, name)
		}
	}
	sc.prepared[text] = name
	sc.order = append(sc.order, text)
}

// connInfoKey is where a pgx connection carries its serverConn.
const connInfoKey = "cachedpgx"

// use says what a connection is taken for.
type use uint8

const (
	useSession use = iota // anything that isn't cached
	useLoad               // rows to keep: only a connection of the current scope will do
)

// pin is a server connection that a session or a load holds.
type pin struct {
	o      *origin
	sc     *sql.Conn
	dc     driver.Conn
	info   *serverConn
	server server
	fresh  bool // nobody has used it before
}

// replan drops what was prepared on the connection: it may go on reading a
// table that another one shadows by now.
func (p *pin) replan(ctx context.Context) error {
	now := p.o.replans.Load()
	if pc := p.server.pgx(); pc != nil {
		p.info.prepared, p.info.order = nil, nil
		if err := pc.DeallocateAll(ctx); err != nil {
			return err
		}
	}
	p.info.replanned = now
	return nil
}

// oldPlans says whether plans on the connection may be of before some DDL.
func (p *pin) oldPlans() bool {
	return p.info.born <= p.o.renewed.Load() || p.info.replanned != p.o.replans.Load()
}

// outdated says whether a load may not use the connection: it was dialled
// before DDL changed what its prepared statements mean, or it is not of the
// scope that hits are served under.
func (p *pin) outdated() bool {
	return p.info.born <= p.o.renewed.Load() || p.info.scope != nil && p.info.scope != p.o.current.Load()
}

// died says whether a reused connection was lost, and not by its caller's end:
// the server may have gone away while it lay idle, and the others with it. They
// are pinged before they are used again, so that one dead connection is found
// the hard way and not all of them. A read may then be asked again; a write may
// have been done, and may not.
func (p *pin) died(ctx context.Context) bool {
	if !p.server.lost() || p.fresh || ctx.Err() != nil {
		return false
	}
	p.o.suspect.Store(p.o.dialled.Load())
	return true
}

// release gives the connection back to the pool. Its session must be clean.
func (p *pin) release() { _ = p.sc.Close() }

// giveBack ends a load's hold on the connection: it goes back to the pool, or
// is closed if it is not what it was.
func (p *pin) giveBack() {
	if s := p.server.txStatus(); p.server.lost() || s != 'I' && s != 0 {
		p.destroy()
		return
	}
	p.release()
}

// scope is who the connection is; nil if it didn't say.
func (p *pin) scope() *scope {
	if p.server.pgx() == nil {
		return plain
	}
	return p.info.scope
}

// unsoiled makes sure that a connection on which something ran that is not
// proven harmless still has the settings that its scope says: a trigger, or a
// function behind a view or a default, may have changed them unseen. It costs
// a round trip after such a statement, and nothing otherwise.
func (p *pin) unsoiled(ctx context.Context) (bool, error) {
	pc := p.pgConn()
	if !p.info.soiled || pc == nil || p.info.scope == nil {
		return true, nil
	}
	probe, err := askOne(ctx, pc, probeSQL)
	if err != nil || probe != p.info.probe {
		return false, err
	}
	p.info.soiled = false
	return true, nil
}

// oddStrings says whether the session reads backslashes in plain literals as
// escapes, otherwise than the scanner does.
func (p *pin) oddStrings() bool {
	pc := p.pgConn()
	return pc != nil && pc.ParameterStatus("standard_conforming_strings") == "off"
}

// closeTimeout bounds the goodbye to a server.
const closeTimeout = 5 * time.Second

// destroy closes the connection.
func (p *pin) destroy() {
	p.server.end(func() {
		_ = p.sc.Raw(func(any) error { return driver.ErrBadConn })
		_ = p.sc.Close()
	})
}

// abandon is destroy after a panic: nobody knows in what state the connection
// is. Another driver's panicked within database/sql, which will not take it
// back any more, so it is closed where it is.
func (p *pin) abandon() {
	if p.server.pgx() != nil {
		p.destroy()
		return
	}
	_ = p.dc.Close()
}

// pgConn is the connection below pgx, nil over another driver.
func (p *pin) pgConn() *pgconn.PgConn {
	if pc := p.server.pgx(); pc != nil {
		return pc.PgConn()
	}
	return nil
}

// clean asks the server whether the session is as a fresh one's, and forgets
// what was prepared meanwhile, since its constants were read under other
// settings. An error means that it can't be known.
func (p *pin) clean(ctx context.Context) (bool, error) {
	pc := p.server.pgx()
	if pc == nil || p.info.scope == nil || p.info.scope.pooled {
		return false, nil
	}
	id, err := identify(ctx, pc.PgConn())
	if err != nil {
		return false, err
	}
	if id.residue || scopeText(id, p.info.modes) != p.info.scope.text {
		return false, nil
	}
	return true, p.replan(ctx)
}

// lostConn is a connection that was lost while something was under way.
type lostConn struct {
	pid    uint32
	system string // "": it can't be found again
}

// lost tells who a lost connection was.
func (p *pin) lost() lostConn {
	pc := p.pgConn()
	if pc == nil || p.info.scope == nil || p.info.scope.pooled {
		return lostConn{}
	}
	return lostConn{pid: pc.PID(), system: p.info.scope.system}
}
