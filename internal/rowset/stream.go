package rowset

import (
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Stream hands on a result that is not kept: see NewStream.
type Stream struct {
	shape   *Shape
	prefix  *Set // nil when its rows are over, so that their memory is free
	row     int  // the prefix's current row
	pending [][]byte
	live    pgx.Rows
	m       *pgtype.Map
	done    func()

	current [][]byte // the current row
	origin  origin
	funcs   []valueFunc

	ended bool
	err   error // how live ended, once ended

	columns []string
}

// origin says whose memory the current row is.
type origin uint8

const (
	originNone origin = iota
	originSet         // the prefix's: must not reach anybody
	originLive        // the connection's, valid until the next row
)

// NewStream returns a reader of a result too big to keep, or not to be kept:
// first the rows of prefix, then pending, then what live still has. Everything
// is decoded with m, the type map of live's connection, which the stream has to
// itself until done is called; so it behaves as pgx's stdlib, whatever types
// are registered there.
//
// prefix may be nil. pending is the row that live has already read but prefix
// could not take, its memory valid until live.Next is called; nil if there is
// none. done is called exactly once, after live is closed: when the rows are
// over, have failed, or at Close, whatever comes first. A stream that is
// neither read to its end nor closed never calls it.
func NewStream(prefix *Set, pending [][]byte, live pgx.Rows, m *pgtype.Map, done func()) *Stream {
	r := &Stream{prefix: prefix, row: -1, pending: pending, live: live, m: m, done: done}
	if prefix != nil {
		r.shape = prefix.shape
	} else {
		r.shape = ShapeOf(nil, live.FieldDescriptions())
	}
	return r
}

func (r *Stream) Columns() []string {
	if r.columns == nil {
		r.columns = append([]string{}, r.shape.columns...)
	}
	return r.columns
}

func (r *Stream) ColumnTypeDatabaseTypeName(index int) string {
	return databaseTypeName(r.m, &r.shape.fields[index])
}

func (r *Stream) ColumnTypeLength(index int) (int64, bool) {
	return columnLength(&r.shape.fields[index])
}

func (r *Stream) ColumnTypePrecisionScale(index int) (precision, scale int64, ok bool) {
	return columnPrecisionScale(&r.shape.fields[index])
}

func (r *Stream) ColumnTypeScanType(index int) reflect.Type {
	return columnScanType(&r.shape.fields[index])
}

// Close ends the stream, reading what is left of the result as pgx does, and
// gives the error with which the result ended.
func (r *Stream) Close() error {
	r.end()
	return r.err
}

// Next decodes the next row into dest.
func (r *Stream) Next(dest []driver.Value) error {
	if err := r.advance(); err != nil {
		return err
	}
	funcs := r.valueFuncs()
	for i, src := range r.current {
		if src == nil {
			dest[i] = nil
			continue
		}
		var err error
		dest[i], err = funcs[i](src)
		if err != nil {
			return fmt.Errorf("convert field %d failed: %w", i, err)
		}
	}
	return nil
}

// advance goes to the next row. 1: one of prefix. 2: pending. 3: one of live.
// 4: over.
func (r *Stream) advance() error {
	if r.ended {
		return r.over()
	}
	if r.prefix != nil {
		r.row++
		if r.row < r.prefix.rows {
			r.cutPrefix()
			return nil
		}
		r.prefix, r.current = nil, nil
	}
	r.origin = originLive
	if r.pending != nil {
		r.current, r.pending = r.pending, nil
		return nil
	}
	if r.live.Next() {
		r.current = r.live.RawValues()
		return nil
	}
	r.end()
	return r.over()
}

// cutPrefix makes the prefix's row the current one.
func (r *Stream) cutPrefix() {
	r.origin = originSet
	width := len(r.shape.fields)
	if r.current == nil {
		r.current = make([][]byte, width)
	}
	for i := range r.current {
		r.current[i] = r.prefix.wire(r.row*width + i)
	}
}

func (r *Stream) over() error {
	if r.err != nil {
		return r.err
	}
	return io.EOF
}

// end closes live and calls done, once.
func (r *Stream) end() {
	if r.ended {
		return
	}
	r.ended = true
	r.prefix, r.pending, r.current, r.origin = nil, nil, nil, originNone
	// Whatever live does, the connection must not be held for ever.
	defer r.done()
	r.live.Close()
	// Kept here, since live belongs to the connection, which goes back now.
	r.err = r.live.Err()
}

func (r *Stream) valueFuncs() []valueFunc {
	if r.funcs == nil {
		r.funcs = newValueFuncs(r.m, r.shape.fields)
	}
	return r.funcs
}
