package rowset

import (
	"database/sql/driver"
	"io"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// ColumnType is what an inner driver's rows said of a column by the optional
// ColumnType methods of driver.Rows. The zero value of a part stands for a
// method that the rows don't have, and database/sql reports both alike.
type ColumnType struct {
	DatabaseTypeName  string
	ScanType          reflect.Type // nil: any
	Length            int64
	HasLength         bool
	Nullable          bool
	HasNullable       bool
	Precision, Scale  int64
	HasPrecisionScale bool
}

// ColumnTypesOf asks rows for the types of their first n columns.
func ColumnTypesOf(rows driver.Rows, n int) []ColumnType {
	types := make([]ColumnType, n)
	for i := range types {
		t := &types[i]
		if r, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
			t.DatabaseTypeName = r.ColumnTypeDatabaseTypeName(i)
		}
		if r, ok := rows.(driver.RowsColumnTypeScanType); ok {
			t.ScanType = r.ColumnTypeScanType(i)
		}
		if r, ok := rows.(driver.RowsColumnTypeLength); ok {
			t.Length, t.HasLength = r.ColumnTypeLength(i)
		}
		if r, ok := rows.(driver.RowsColumnTypeNullable); ok {
			t.Nullable, t.HasNullable = r.ColumnTypeNullable(i)
		}
		if r, ok := rows.(driver.RowsColumnTypePrecisionScale); ok {
			t.Precision, t.Scale, t.HasPrecisionScale = r.ColumnTypePrecisionScale(i)
		}
	}
	return types
}

// ValuesBuilder collects the rows of an inner driver that is not pgx, as the
// driver.Values that it gave. It is not safe for concurrent use.
type ValuesBuilder struct {
	set    *ValueSet
	limits Limits
	bytes  int64 // as Limits.Bytes counts
}

// NewValues begins a result. columns and types may be reused by the caller
// afterwards; types may be nil, and otherwise has one for each column. In the
// limits' Bytes, a value counts its bytes, or eight, and four for its framing.
func NewValues(columns []string, types []ColumnType, limits Limits) *ValuesBuilder {
	set := &ValueSet{columns: slices.Clone(columns), types: make([]ColumnType, len(columns))}
	copy(set.types, types)
	return &ValuesBuilder{set: set, limits: limits}
}

// Append adds a row; its bytes are copied. It reports false, and adds nothing,
// if the result with this row would exceed the limits, if the row has not as
// many values as there are columns, or if one of them is of a kind that could
// change after it was kept (a pointer, a cursor).
func (b *ValuesBuilder) Append(row []driver.Value) bool {
	if len(row) != len(b.set.columns) {
		return false
	}
	if b.limits.Rows >= 0 && b.set.rows >= b.limits.Rows {
		return false
	}
	total := b.bytes
	for _, v := range row {
		size, ok := wireSize(v)
		if !ok {
			return false
		}
		total += size + perValue
	}
	if b.limits.Bytes >= 0 && total > b.limits.Bytes {
		return false
	}
	b.bytes = total
	b.set.rows++
	for _, v := range row {
		v = ownBytes(v)
		b.set.size += keptSize(v)
		b.set.vals = append(b.set.vals, v)
	}
	return true
}

// Len returns the number of rows so far.
func (b *ValuesBuilder) Len() int { return b.set.rows }

// Set returns what was collected. The builder is spent.
func (b *ValuesBuilder) Set() *ValueSet {
	s := b.set
	b.set = nil
	s.vals = slices.Clip(s.vals)
	if len(s.vals) > 0 {
		s.vals = slices.Clone(s.vals) // Clip alone leaves the spare capacity allocated
	}
	s.size += int64(unsafe.Sizeof(*s)) + int64(cap(s.vals))*valueSize
	s.size += int64(cap(s.types)) * int64(unsafe.Sizeof(ColumnType{}))
	for _, c := range s.columns {
		s.size += int64(unsafe.Sizeof(c)) + int64(len(c))
	}
	for i := range s.types {
		s.size += int64(len(s.types[i].DatabaseTypeName))
	}
	return s
}

// wireSize says how many bytes a value counts, and whether it can be kept.
func wireSize(v driver.Value) (int64, bool) {
	switch v := v.(type) {
	case nil:
		return 0, true
	case string:
		return int64(len(v)), true
	case []byte:
		return int64(len(v)), true
	case bool, int64, float64, time.Time:
		return wordSize, true
	}
	// Drivers give more than they should. What can't be changed is kept.
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return wordSize, true
	case reflect.String:
		return int64(rv.Len()), true
	default:
		return 0, false
	}
}

// keptSize bounds what a value takes beside its interface.
func keptSize(v driver.Value) int64 {
	switch v := v.(type) {
	case nil, bool:
		return 0
	case string:
		return headerSize + int64(len(v)) + int64(len(v))/8
	case []byte:
		return headerSize + wordSize + int64(len(v)) + int64(len(v))/8
	case time.Time:
		return timeSize
	case int64, float64:
		return wordSize
	default:
		size, _ := wireSize(v)
		return headerSize + size + size/8
	}
}

// ownBytes copies a []byte, a nil one as nil, since a driver may tell them
// apart; other values can't be changed.
func ownBytes(v driver.Value) driver.Value {
	if b, ok := v.([]byte); ok && b != nil {
		return copyBytes(b)
	}
	return v
}

// ValueSet is a result of an inner driver that is not pgx. It is immutable and
// safe for concurrent use.
type ValueSet struct {
	columns []string
	types   []ColumnType
	vals    []driver.Value // row after row
	rows    int
	size    int64
}

// Len returns the number of rows.
func (s *ValueSet) Len() int { return s.rows }

// NumColumns returns the number of columns.
func (s *ValueSet) NumColumns() int { return len(s.columns) }

// Size returns an upper bound of the memory that the set holds, up to the
// allocator's rounding.
func (s *ValueSet) Size() int64 { return s.size }

// Rows returns a new reader. After the last row it gives tail, if that is not
// nil, from Next and from Close; otherwise io.EOF. Bytes are copied for each
// reader, so they may be kept and written to.
func (s *ValueSet) Rows(tail error) driver.Rows {
	return &valueRows{set: s, tail: tail}
}

// allColumnTypes is every optional method; where the inner driver had none,
// database/sql gets the answer that it would have assumed.
type allColumnTypes interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

var (
	_ allColumnTypes           = (*valueRows)(nil)
	_ allColumnTypes           = (*valueStream)(nil)
	_ driver.RowsNextResultSet = (*valueStream)(nil)
)

type valueRows struct {
	set     *ValueSet
	tail    error
	row     int // the row that Next gives
	columns []string
}

// Columns returns the names of the columns. The slice is the caller's.
func (r *valueRows) Columns() []string {
	if r.columns == nil {
		r.columns = append([]string{}, r.set.columns...)
	}
	return r.columns
}

func (r *valueRows) ColumnTypeDatabaseTypeName(i int) string {
	return r.set.types[i].DatabaseTypeName
}

func (r *valueRows) ColumnTypeLength(i int) (int64, bool) {
	return r.set.types[i].Length, r.set.types[i].HasLength
}

func (r *valueRows) ColumnTypeNullable(i int) (nullable, ok bool) {
	return r.set.types[i].Nullable, r.set.types[i].HasNullable
}

func (r *valueRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	t := &r.set.types[i]
	return t.Precision, t.Scale, t.HasPrecisionScale
}

func (r *valueRows) ColumnTypeScanType(i int) reflect.Type {
	if t := r.set.types[i].ScanType; t != nil {
		return t
	}
	return reflect.TypeFor[any]()
}

// Close ends the reading, and gives the tail.
func (r *valueRows) Close() error {
	r.row = r.set.rows
	return r.tail
}

// Next copies the next row into dest.
func (r *valueRows) Next(dest []driver.Value) error {
	if r.row >= r.set.rows {
		if r.tail != nil {
			return r.tail
		}
		return io.EOF
	}
	width := len(r.set.columns)
	for i, v := range r.set.vals[r.row*width : (r.row+1)*width] {
		dest[i] = ownBytes(v)
	}
	r.row++
	return nil
}
