package cachedpgx

import (
	"reflect"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// watchSends watches whether something is sent on an idle connection, from now
// until sent is called. Where it can't be watched, since somebody else does, it
// is taken for granted.
func watchSends(pc *pgconn.PgConn) (sent func() bool) {
	f := pc.Frontend()
	tracer := reflect.ValueOf(f).Elem().FieldByName("tracer")
	if !tracer.IsValid() || tracer.Kind() != reflect.Pointer || !tracer.IsNil() {
		return func() bool { return true }
	}
	w := new(sends)
	f.Trace(w, pgproto3.TracerOptions{SuppressTimestamps: true})
	return func() bool {
		f.Untrace()
		return *w > 0
	}
}

// sends counts what is written to it.
type sends int

func (w *sends) Write(p []byte) (int, error) {
	*w++
	return len(p), nil
}
