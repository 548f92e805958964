package cachedpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"reflect"
	"sync"

	"github.com/jackc/pgx/v5/stdlib"
)

func init() { sql.Register("cachedpgx", &Driver{}) }

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.DriverContext = (*Driver)(nil)
	_ driver.Connector     = (*Connector)(nil)
	_ io.Closer            = (*Connector)(nil)
)

// Driver is the driver "cachedpgx".
type Driver struct {
	connector *Connector // whose Driver this is; nil for the registered one
}

// Unwrap gives the driver beneath: pgx's, or that of the connector whose
// driver this is.
func (d *Driver) Unwrap() driver.Driver {
	if d.connector != nil {
		return d.connector.inner.Driver()
	}
	return stdlib.GetDefaultDriver()
}

// Open implements driver.Driver. A connection that is opened this way has a
// cache of its own, which ends with it: database/sql uses OpenConnector.
func (d *Driver) Open(dsn string) (driver.Conn, error) {
	c, err := d.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	connector := c.(*Connector)
	conn, err := connector.Connect(context.Background())
	if err != nil {
		_ = connector.Close()
		return nil, err
	}
	return &soleConn{conn.(*Conn), connector}, nil
}

// soleConn is a connection that owns its connector.
type soleConn struct {
	*Conn
	connector *Connector
}

func (c *soleConn) Close() error {
	err := c.Conn.Close()
	if cerr := c.connector.Close(); err == nil {
		err = cerr
	}
	return err
}

// OpenConnector implements driver.DriverContext: it gives a connector with a
// cache of its own. It dials nothing. An error names every cache_ parameter
// that is wrong; what pgx finds wrong with the rest is told at the first use,
// as pgx does.
func (d *Driver) OpenConnector(dsn string) (driver.Connector, error) {
	pgxDSN, cfg, err := ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	inner, err := stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(pgxDSN)
	if err != nil {
		return nil, err
	}
	return NewConnector(inner, cfg)
}

// Connector opens logical connections over one cache and one pool of server
// connections. Its methods may be called concurrently. It belongs to one
// *sql.DB, whose Close closes it.
type Connector struct {
	inner  driver.Connector
	cache  *Cache
	driver *Driver
	close  func() error
}

// NewConnector gives a connector over inner, with a cache of its own. inner may
// be pgx's (stdlib.GetConnector, stdlib.GetPoolConnector) or any other driver's;
// over one that has no PostgreSQL catalog, only marked reads are cached: see
// WithTTL. It dials nothing. The error names every field of cfg that is out of
// its range.
//
// Close, or the Close of a *sql.DB opened with it, ends what it started. It
// does not close inner unless that is an io.Closer.
func NewConnector(inner driver.Connector, cfg Config) (*Connector, error) {
	if inner == nil || reflect.ValueOf(inner).Kind() == reflect.Pointer && reflect.ValueOf(inner).IsNil() {
		return nil, errNilConnector
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Connector{inner: inner, cache: newCache(inner, cfg.filled())}
	c.driver = &Driver{connector: c}
	c.close = sync.OnceValue(func() error {
		err := c.cache.close()
		if closer, ok := inner.(io.Closer); ok {
			if cerr := closer.Close(); err == nil {
				err = cerr
			}
		}
		return err
	})
	return c, nil
}

// OpenDB gives a handle over a new connector: see NewConnector.
func OpenDB(inner driver.Connector, cfg Config) (*sql.DB, error) {
	c, err := NewConnector(inner, cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// CacheOf gives the cache of a handle that was opened with this driver. It also
// finds it where another driver wraps ours, if that offers Unwrap.
func CacheOf(db *sql.DB) (*Cache, bool) {
	if db == nil {
		return nil, false
	}
	for d := db.Driver(); d != nil; {
		if ours, ok := d.(*Driver); ok {
			if ours.connector == nil {
				return nil, false
			}
			return ours.connector.cache, true
		}
		w, ok := d.(interface{ Unwrap() driver.Driver })
		if !ok {
			break
		}
		d = w.Unwrap()
	}
	return nil, false
}

// Connect implements driver.Connector. It dials nothing: a server connection is
// taken when a statement needs one.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.cache.tasks.closing.Err() != nil {
		return nil, ErrClosed
	}
	return &Conn{cache: c.cache}, nil
}

// Driver implements driver.Connector.
func (c *Connector) Driver() driver.Driver { return c.driver }

// Cache gives the connector's cache.
func (c *Connector) Cache() *Cache { return c.cache }

// Server gives the uncached pool beneath: see Cache.Server.
func (c *Connector) Server() *sql.DB { return c.cache.Server() }

// Close stops what runs in the background, waits for it, and closes the pool of
// server connections. Connections that are in use are closed when they are
// given back. Closing it again does nothing.
func (c *Connector) Close() error { return c.close() }
