package cachedpgx

import (
	"database/sql/driver"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/rowset"
)

// watch has finish called when rows are closed, with the error they closed with.
func watch(rows driver.Rows, finish func(error)) driver.Rows {
	w := watcher{finish: finish}
	switch r := rows.(type) {
	case *stdlib.Rows:
		return &watchedPgxRows{r, w}
	case *rowset.Stream:
		return &watchedStream{r, w}
	case *sqlRows:
		return &watchedSQLRows{r, w}
	}
	return &watchedRows{rows, w}
}

type watcher struct{ finish func(error) }

func (w *watcher) done(err error) error {
	if w.finish != nil {
		w.finish(err)
		w.finish = nil
	}
	return err
}

// Each embeds the inner type, so that it has the same optional methods.
type (
	watchedPgxRows struct {
		*stdlib.Rows
		watcher
	}
	watchedStream struct {
		*rowset.Stream
		watcher
	}
	watchedSQLRows struct {
		*sqlRows
		watcher
	}
	watchedRows struct {
		driver.Rows
		watcher
	}
)

func (r *watchedPgxRows) Close() error { return r.done(r.Rows.Close()) }

func (r *watchedStream) Close() error { return r.done(r.Stream.Close()) }

func (r *watchedSQLRows) Close() error { return r.done(r.sqlRows.Close()) }

func (r *watchedRows) Close() error { return r.done(r.Rows.Close()) }
