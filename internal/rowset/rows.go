package rowset

import (
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// What pgx's stdlib rows have, and no more: database/sql asks for each of the
// optional interfaces and behaves by the answer. With Go 1.27 there is also
// driver.RowsColumnScanner.
var (
	_ pgxRows = (*setRows)(nil)
	_ pgxRows = (*Stream)(nil)
)

type pgxRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// inlineColumns is up to how many column names a reader needs no memory apart.
const inlineColumns = 8

// setRows reads a set. Like all driver.Rows it is used by one goroutine at a
// time.
type setRows struct {
	set  *Set
	maps *typemap.Maps
	tail error // after the last row, and from Close; nil if the result is whole

	row  int            // the current row; -1 before the first, set.rows after the last
	mode retention      // what to do about decoded values, at the first need of them
	vals []driver.Value // the set's, nil to decode row by row

	// decoder is for decoding row by row: held from the first row on to the
	// end, nil if not needed.
	decoder *decoder

	columns []string
	inline  [inlineColumns]string
}

// retention says whether a reader keeps decoded values in the set.
type retention uint8

const (
	retentionDecided retention = iota // vals says it
	retentionUse                      // use them if they are there
	retentionMake                     // and make them if not
)

// Rows returns a new reader that begins before the first row. After the last
// row it gives tail, if that is not nil, from Next and from Close, as pgx gives
// an error that comes after rows; otherwise io.EOF. The set keeps the decoded
// values for the readers to come, so the first call costs decoding all rows.
//
// What the reader gives belongs to its caller: it may be kept and written to.
func (s *Set) Rows(maps *typemap.Maps, tail error) driver.Rows {
	return &setRows{set: s, maps: maps, tail: tail, row: -1, mode: retentionMake}
}

// Once returns a reader as Rows does, which decodes row by row and keeps
// nothing: for who reads a set that may not be read again, like the caller
// whose query was just loaded.
func (s *Set) Once(maps *typemap.Maps, tail error) driver.Rows {
	return &setRows{set: s, maps: maps, tail: tail, row: -1, mode: retentionUse}
}

// Columns returns the names of the columns. The slice is the caller's:
// database/sql hands it on, and callers do write into it.
func (r *setRows) Columns() []string {
	if r.columns == nil {
		r.columns = append(r.inline[:0:len(r.inline)], r.set.shape.columns...)
	}
	return r.columns
}

func (r *setRows) ColumnTypeDatabaseTypeName(index int) string {
	return databaseTypeName(r.maps, &r.set.shape.fields[index])
}

func (r *setRows) ColumnTypeLength(index int) (int64, bool) {
	return columnLength(&r.set.shape.fields[index])
}

func (r *setRows) ColumnTypePrecisionScale(index int) (precision, scale int64, ok bool) {
	return columnPrecisionScale(&r.set.shape.fields[index])
}

func (r *setRows) ColumnTypeScanType(index int) reflect.Type {
	return columnScanType(&r.set.shape.fields[index])
}

// Close ends the reading. Like stdlib, which reads what is left of the result
// to know how it ended, it gives the error that comes after the rows.
func (r *setRows) Close() error {
	r.end()
	return r.tail
}

// Next decodes the next row into dest. After the last row, and after Close, it
// gives the tail or io.EOF.
func (r *setRows) Next(dest []driver.Value) error {
	if err := r.advance(); err != nil {
		return err
	}
	width := len(r.set.shape.fields)
	first := r.row * width
	if vals := r.decoded(); vals != nil {
		vals = vals[first : first+width]
		copy(dest, vals)
		if r.set.shape.traits&givesBytes != 0 {
			for i, v := range vals {
				if b, ok := v.([]byte); ok {
					dest[i] = copyBytes(b)
				}
			}
		}
		return nil
	}
	d := r.decoding()
	d.lease.Lock()
	defer d.lease.Unlock()
	for i := range width {
		src := r.set.wire(first + i)
		if src == nil {
			dest[i] = nil
			continue
		}
		var err error
		dest[i], err = d.funcs[i](src)
		if err != nil {
			return fmt.Errorf("convert field %d failed: %w", i, err)
		}
	}
	return nil
}

// advance goes to the next row.
func (r *setRows) advance() error {
	if r.row+1 < r.set.rows {
		r.row++
		return nil
	}
	r.end()
	if r.tail != nil {
		return r.tail
	}
	return io.EOF
}

// end goes behind the last row and gives back what was borrowed.
func (r *setRows) end() {
	r.row = r.set.rows
	if r.decoder != nil {
		r.decoder.lease.Give()
		r.decoder = nil
	}
}

// decoded returns the set's decoded values, or nil to decode row by row. It
// decides once for all rows.
func (r *setRows) decoded() []driver.Value {
	switch r.mode {
	case retentionUse:
		r.vals = r.set.kept()
	case retentionMake:
		r.vals = r.set.keep(r.maps)
	case retentionDecided:
	}
	r.mode = retentionDecided
	return r.vals
}

func (r *setRows) decoding() *decoder {
	if r.decoder == nil {
		r.decoder = newDecoder(r.maps, r.set.shape.fields, newSetFuncs)
	}
	return r.decoder
}
