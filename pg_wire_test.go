package cachedpgx_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// pgWire reads what a handle sends off its connections: the count that no way
// of running a statement gets around.
type pgWire struct {
	mu struct {
		sync.Mutex
		ran         map[string]int // by text: Execute messages, and simple queries
		parsed      map[string]int // by text: Parse messages
		dials, open int
		dropCancels bool
	}
}

func newPGWire() *pgWire {
	w := &pgWire{}
	w.mu.ran = map[string]int{}
	w.mu.parsed = map[string]int{}
	return w
}

// tap makes every connection of that configuration one that w reads.
func (w *pgWire) tap(config *pgx.ConnConfig) {
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.mu.dials++
		w.mu.open++
		w.mu.Unlock()
		return &pgWireConn{Conn: c, w: w, stmts: map[string]string{}, portals: map[string]string{}}, nil
	}
}

// ran is how often that text was run at the server.
func (w *pgWire) ran(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.ran[text]
}

// parsed is how often the server was asked to prepare that text.
func (w *pgWire) parsed(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.parsed[text]
}

func (w *pgWire) open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.open
}

// dropCancels makes cancel requests get lost on the way, as behind a firewall.
func (w *pgWire) dropCancels(drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.dropCancels = drop
}

func (w *pgWire) drops() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.dropCancels
}

// pgWireConn cuts the messages out of what is written to a connection without
// TLS.
type pgWireConn struct {
	net.Conn
	w      *pgWire
	closed sync.Once

	mu      sync.Mutex
	started bool
	lost    bool
	buf     []byte
	stmts   map[string]string // by name: text
	portals map[string]string // by name: text
}

const (
	pgCancelCode = 80877102
	pgSSLCode    = 80877103
	pgGSSCode    = 80877104
)

func (c *pgWireConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.buf = append(c.buf, p...)
	c.read()
	lost := c.lost
	c.mu.Unlock()
	if lost {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *pgWireConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if lost {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

func (c *pgWireConn) Close() error {
	c.closed.Do(func() {
		c.w.mu.Lock()
		c.w.mu.open--
		c.w.mu.Unlock()
	})
	return c.Conn.Close()
}

func (c *pgWireConn) read() {
	for !c.started {
		if len(c.buf) < 8 {
			return
		}
		n := int(binary.BigEndian.Uint32(c.buf))
		if len(c.buf) < n {
			return
		}
		switch binary.BigEndian.Uint32(c.buf[4:]) {
		case pgSSLCode, pgGSSCode:
		case pgCancelCode:
			c.lost = c.w.drops()
		default:
			c.started = true
		}
		c.buf = c.buf[n:]
	}
	for len(c.buf) >= 5 {
		n := 1 + int(binary.BigEndian.Uint32(c.buf[1:]))
		if len(c.buf) < n {
			return
		}
		c.message(c.buf[0], c.buf[5:n])
		c.buf = c.buf[n:]
	}
}

func (c *pgWireConn) message(kind byte, body []byte) {
	next := func() string {
		s, rest, _ := bytes.Cut(body, []byte{0})
		body = rest
		return string(s)
	}
	switch kind {
	case 'P':
		name := next()
		text := next()
		c.stmts[name] = text
		c.w.mu.Lock()
		c.w.mu.parsed[text]++
		c.w.mu.Unlock()
	case 'B':
		portal := next()
		c.portals[portal] = c.stmts[next()]
	case 'E':
		c.ran(c.portals[next()])
	case 'Q':
		c.ran(next())
	}
}

func (c *pgWireConn) ran(text string) {
	c.w.mu.Lock()
	c.w.mu.ran[text]++
	c.w.mu.Unlock()
}

type pgTraceKey struct{}

// pgTracer notes what pgx's own tracing is told.
type pgTracer struct {
	mu   sync.Mutex
	text []string
	from []any
}

func (t *pgTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data.SQL)
	t.from = append(t.from, ctx.Value(pgTraceKey{}))
	return ctx
}

func (t *pgTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// seen is what the contexts of that text's runs held.
func (t *pgTracer) seen(text string) (from []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, s := range t.text {
		if s == text {
			from = append(from, t.from[i])
		}
	}
	return from
}

// pgConnector is pgx's own connector.
func pgConnector(config *pgx.ConnConfig, opts ...stdlib.OptionOpenDB) driver.Connector {
	return stdlib.GetConnector(*config, opts...)
}
