package cachedpgx

import (
	"database/sql/driver"
	"reflect"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// A hook that runs when a session begins (stdlib.OptionResetSession, a
// pgxpool's PrepareConn or BeforeAcquire) may set a tenant from the caller's
// context. A hit runs no hook, so whoever has one is cached only with
// Config.Partition set. pgx doesn't say whether there is one; it is looked for
// in its structs, and in doubt there is one.

// poolOf gives the pgxpool that a connector of pgx's stdlib lends from, nil if
// it dials by itself or is another driver's.
func poolOf(c driver.Connector) *pgxpool.Pool {
	v := reflect.ValueOf(c)
	if v.Type() != reflect.TypeOf(stdlib.GetConnector(pgx.ConnConfig{})) {
		return nil
	}
	p := v.FieldByName("pool")
	if !p.IsValid() || p.Type() != reflect.TypeFor[*pgxpool.Pool]() || p.IsNil() {
		return nil
	}
	return (*pgxpool.Pool)(p.UnsafePointer())
}

// poolHasHook says whether a pool runs a hook as it lends a connection.
func poolHasHook(p *pgxpool.Pool) bool {
	cfg := p.Config()
	//lint:ignore SA1019 a user's configuration may still set it
	return cfg.BeforeAcquire != nil || cfg.PrepareConn != nil
}

// connHasHook says whether a connection runs a hook of the user's before it is
// used again. lookedInto says that its connector's pool, if any, is known.
func connHasHook(dc *stdlib.Conn, lookedInto bool) bool {
	v := reflect.ValueOf(dc).Elem()
	hook := v.FieldByName("resetSessionFunc")
	if !hook.IsValid() || hook.Kind() != reflect.Func {
		return true
	}
	if !hook.IsNil() && !stdlibsOwn(hook.Pointer()) {
		return true
	}
	if lookedInto {
		return false
	}
	// Somebody else's connector around a pool that can't be seen: a connection
	// that a pool lent carries no configuration of its own.
	config := v.FieldByName("connConfig")
	if !config.IsValid() {
		return true
	}
	host := config.FieldByName("Host")
	return !host.IsValid() || host.Kind() != reflect.String || host.Len() == 0
}

// stdlibsOwn says whether a function stands in pgx's stdlib, as the hook that
// does nothing does. It goes by the file, since a closure that was inlined is
// named after its caller.
func stdlibsOwn(code uintptr) bool {
	f := runtime.FuncForPC(code)
	if f == nil {
		return false
	}
	file, _ := f.FileLine(f.Entry())
	return strings.Contains(file, "github.com/jackc/pgx/v5") && strings.HasSuffix(file, "/stdlib/sql.go")
}
