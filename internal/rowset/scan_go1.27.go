//go:build go1.27

package rowset

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

var (
	_ driver.RowsColumnScanner = (*setRows)(nil)
	_ driver.RowsColumnScanner = (*Stream)(nil)
)

var errNoRow = errors.New("no row to scan")

// NextRow goes to the next row. After the last one, and after Close, it gives
// the tail or io.EOF.
func (r *setRows) NextRow() error { return r.advance() }

// ScanColumn scans a column of the current row into dest, by the rules of
// pgx's stdlib: what database/sql can convert to, it does, from the
// driver.Value; the rest is scanned from the wire bytes through a type map.
func (r *setRows) ScanColumn(scanCtx driver.ScanContext, index int, dest any) error {
	t, err := destinationType(dest)
	if err != nil {
		return err
	}
	if r.row < 0 || r.row >= r.set.rows {
		return errNoRow
	}
	i := r.row*len(r.set.shape.fields) + index

	if isSQLScanDestination(t) {
		var value driver.Value
		if vals := r.decoded(); vals != nil {
			value = ownValue(vals[i], dest)
		} else if src := r.set.wire(i); src != nil {
			if value, err = r.decodeColumn(index, src); err != nil {
				return err
			}
		}
		return sql.ConvertAssign(scanCtx, dest, value)
	}

	// A codec may hand parts of its source on to the destination, at any depth
	// (pgtype.DriverBytes, json.Unmarshaler), so it gets a copy.
	src := r.set.wire(i)
	if src != nil {
		src = copyBytes(src)
	}
	fd := &r.set.shape.fields[index]
	lease := r.maps.Take(r.set.shape.fields[index : index+1])
	err = scanWith(lease, fd, src, dest)
	lease.Give()
	return err
}

// scanWith scans with a borrowed map. A destination may panic.
func scanWith(lease typemap.Lease, fd *pgconn.FieldDescription, src []byte, dest any) error {
	lease.Lock()
	defer lease.Unlock()
	return lease.Map.Scan(fd.DataTypeOID, fd.Format, src, dest)
}

func (r *setRows) decodeColumn(index int, src []byte) (driver.Value, error) {
	d := r.decoding()
	d.lease.Lock()
	defer d.lease.Unlock()
	return d.funcs[index](src)
}

// NextRow goes to the next row.
func (r *Stream) NextRow() error { return r.advance() }

// ScanColumn scans a column of the current row into dest, by the rules of
// pgx's stdlib.
func (r *Stream) ScanColumn(scanCtx driver.ScanContext, index int, dest any) error {
	t, err := destinationType(dest)
	if err != nil {
		return err
	}
	if r.origin == originNone {
		return errNoRow
	}
	src := r.current[index]
	if isSQLScanDestination(t) {
		var value driver.Value
		if src != nil {
			value, err = r.valueFuncs()[index](src)
			if err != nil {
				return err
			}
		}
		return sql.ConvertAssign(scanCtx, dest, value)
	}
	if src != nil && r.origin == originSet {
		src = copyBytes(src)
	}
	fd := &r.shape.fields[index]
	return r.m.Scan(fd.DataTypeOID, fd.Format, src, dest)
}

// ownValue returns a kept value for ConvertAssign to assign to dest: a []byte
// copied, unless ConvertAssign makes the copy. Rows.Scan documents that it does
// for *[]byte and *any, and a string is one. To *sql.RawBytes and to a
// sql.Scanner it hands the very slice, and RawBytes' callers and Scanners do
// write into it or keep it; of the other destinations it promises nothing.
func ownValue(value driver.Value, dest any) driver.Value {
	b, ok := value.([]byte)
	if !ok {
		return value
	}
	switch dest.(type) {
	case *string, *[]byte, *any:
		return value
	}
	return copyBytes(b)
}

// destinationType refuses what stdlib refuses, in its words.
func destinationType(dest any) (reflect.Type, error) {
	if dest == nil {
		return nil, errors.New("destination not a pointer")
	}
	rv := reflect.ValueOf(dest)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, errors.New("destination pointer is nil")
	}
	return rv.Type(), nil
}

// sqlScanDestinations remembers isSQLScanDestination's answers, reflect.Type →
// bool. A program has few types.
var sqlScanDestinations sync.Map

// isSQLScanDestination says whether database/sql converts to a destination of
// this type. It is stdlib's rule (v5.13.0): scalars, byte slices, times,
// interfaces, Scanners, and pointers to them.
func isSQLScanDestination(t reflect.Type) bool {
	if known, ok := sqlScanDestinations.Load(t); ok {
		return known.(bool)
	}
	result := findSQLScanDestination(t)
	sqlScanDestinations.Store(t, result)
	return result
}

func findSQLScanDestination(t reflect.Type) bool {
	var namedPointers map[reflect.Type]bool
	for {
		if t.Implements(reflect.TypeFor[sql.Scanner]()) {
			return true
		}
		// These tell byte slices with a meaning of their own, such as
		// FlatArray[byte] and PreallocBytes, from ordinary ones.
		if t.Implements(reflect.TypeFor[pgtype.ArraySetter]()) || t.Implements(reflect.TypeFor[pgtype.BytesScanner]()) {
			return false
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		// Only named pointer types can form a cycle.
		if t.Name() != "" {
			if namedPointers[t] {
				return false
			}
			if namedPointers == nil {
				namedPointers = make(map[reflect.Type]bool)
			}
			namedPointers[t] = true
		}
		t = t.Elem()
	}

	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.String, reflect.Interface:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Struct:
		return t.ConvertibleTo(reflect.TypeFor[time.Time]())
	default:
		return false
	}
}
