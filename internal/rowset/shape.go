package rowset

import (
	"slices"
	"unsafe"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Shape is the columns of a result. It is immutable and safe for concurrent
// use; results of one statement may share one.
type Shape struct {
	fields  []pgconn.FieldDescription
	columns []string
	traits  traits
	// perRow bounds what one row's decoded values take beyond their text.
	perRow int64
}

type traits uint8

const (
	givesBytes traits = 1 << iota // a column decodes to []byte, which is copied for each reader
	keepsText                     // a column decodes to memory that grows with its wire bytes
)

// ShapeOf returns old if it has exactly these columns, and otherwise a new
// shape. fields may be reused by the caller afterwards; old may be nil.
func ShapeOf(old *Shape, fields []pgconn.FieldDescription) *Shape {
	if old != nil && slices.Equal(old.fields, fields) {
		return old
	}
	// The connection reuses its descriptions; the names in them are strings of
	// their own.
	s := &Shape{fields: slices.Clone(fields), columns: make([]string, len(fields))}
	for i := range s.fields {
		fd := &s.fields[i]
		s.columns[i] = fd.Name
		size, t := valueCost(fd)
		s.perRow += size
		s.traits |= t
	}
	return s
}

// Fields returns the descriptions of the columns, which must not be modified.
func (s *Shape) Fields() []pgconn.FieldDescription { return s.fields }

// Size returns the memory of the shape in bytes, up to the allocator's
// rounding. Who shares a shape between results accounts for it once.
func (s *Shape) Size() int64 {
	n := int64(unsafe.Sizeof(*s))
	n += int64(cap(s.fields)) * int64(unsafe.Sizeof(pgconn.FieldDescription{}))
	n += int64(cap(s.columns)) * int64(unsafe.Sizeof(""))
	for _, c := range s.columns {
		n += int64(len(c))
	}
	return n
}

const (
	wordSize   = 8  // an int64, a float64, boxed in an interface
	timeSize   = 32 // a time.Time, or the word "-infinity"
	headerSize = 24 // a slice's header, or a string's with the rounding of its bytes
	valueSize  = int64(unsafe.Sizeof((any)(nil)))
)

// valueCost says what a decoded value of the column takes apart from bytes
// that it has in common with the wire, and what kind of value it is. It
// follows newValueFunc.
func valueCost(fd *pgconn.FieldDescription) (int64, traits) {
	switch fd.DataTypeOID {
	case pgtype.BoolOID:
		return valueSize, 0
	case pgtype.CIDOID, pgtype.OIDOID, pgtype.XIDOID,
		pgtype.Float4OID, pgtype.Float8OID,
		pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return valueSize + wordSize, 0
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return valueSize + timeSize, 0
	case pgtype.ByteaOID:
		return valueSize + headerSize, givesBytes | keepsText
	case pgtype.JSONOID, pgtype.JSONBOID, pgtype.XMLOID:
		return valueSize + headerSize, givesBytes | keepsText
	default:
		return valueSize + headerSize, keepsText
	}
}
