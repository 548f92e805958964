package rowset

import (
	"database/sql/driver"
	"io"
	"reflect"
)

// valueStream hands on a result of an inner driver that is not kept: a prefix,
// a row that was read beyond it, and what is live.
type valueStream struct {
	prefix  *valueRows // nil when its rows are over
	pending []driver.Value
	live    driver.Rows
	done    func()
	ended   bool
	err     error // what live's Close gave, once ended
}

// NewValueStream returns a reader that gives the rows of prefix, then pending,
// then those of live, and then live's further result sets if it has any. It is
// for a result too big to keep, and for one with more than one result set.
//
// prefix may be nil. pending is a row that live has already read, its bytes
// valid until live.Next is called; nil if there is none. done is called exactly
// once, after live.Close, which is called at Close.
func NewValueStream(prefix *ValueSet, pending []driver.Value, live driver.Rows, done func()) driver.Rows {
	s := &valueStream{pending: pending, live: live, done: done}
	if prefix != nil {
		s.prefix = &valueRows{set: prefix}
	}
	return s
}

func (s *valueStream) Columns() []string { return s.live.Columns() }

func (s *valueStream) ColumnTypeDatabaseTypeName(i int) string {
	if r, ok := s.live.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return r.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (s *valueStream) ColumnTypeLength(i int) (int64, bool) {
	if r, ok := s.live.(driver.RowsColumnTypeLength); ok {
		return r.ColumnTypeLength(i)
	}
	return 0, false
}

func (s *valueStream) ColumnTypeNullable(i int) (nullable, ok bool) {
	if r, ok := s.live.(driver.RowsColumnTypeNullable); ok {
		return r.ColumnTypeNullable(i)
	}
	return false, false
}

func (s *valueStream) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if r, ok := s.live.(driver.RowsColumnTypePrecisionScale); ok {
		return r.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}

func (s *valueStream) ColumnTypeScanType(i int) reflect.Type {
	if r, ok := s.live.(driver.RowsColumnTypeScanType); ok {
		return r.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

// Close closes live and calls done.
func (s *valueStream) Close() error {
	if s.ended {
		return s.err
	}
	s.ended = true
	s.prefix, s.pending = nil, nil
	defer s.done()
	s.err = s.live.Close()
	return s.err
}

// Next gives the next row of the current result set.
func (s *valueStream) Next(dest []driver.Value) error {
	if s.ended {
		return io.EOF
	}
	if s.prefix != nil {
		if err := s.prefix.Next(dest); err == nil {
			return nil
		}
		s.prefix = nil
	}
	if s.pending != nil {
		copy(dest, s.pending)
		s.pending = nil
		return nil
	}
	return s.live.Next(dest)
}

// HasNextResultSet says whether live has another result set. Without the
// method, as database/sql assumes, it has not.
func (s *valueStream) HasNextResultSet() bool {
	r, ok := s.live.(driver.RowsNextResultSet)
	return ok && !s.ended && r.HasNextResultSet()
}

// NextResultSet goes to live's next result set, past what is left of this one.
func (s *valueStream) NextResultSet() error {
	r, ok := s.live.(driver.RowsNextResultSet)
	if !ok || s.ended {
		return io.EOF
	}
	s.prefix, s.pending = nil, nil
	return r.NextResultSet()
}
