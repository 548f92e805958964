package rowset

import (
	"database/sql/driver"
	"sync/atomic"
	"unsafe"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// Set is a result: complete, or for a stream its beginning. It is immutable and
// safe for concurrent use.
//
// INVARIANT: len(ends) == rows × columns. Value i lies in block between the
// end of value i-1 and its own; the null bit of its end marks a NULL, which has
// no bytes.
//
// INVARIANT: nothing outside this package ever sees memory of block or of
// values, but for strings, so nobody can change them.
type Set struct {
	shape *Shape
	block []byte
	ends  []uint32
	rows  int
	size  int64
	// values are the decoded driver.Values of all rows: nil before a reader
	// wanted to keep them, making while one decodes, unkeepable if a value
	// can't be decoded. A []byte among them may be a part of block.
	values atomic.Pointer[[]driver.Value]
}

// null is the bit of an end that marks NULL.
const null = 1 << 31

var (
	making     = new([]driver.Value)
	unkeepable = new([]driver.Value)
)

// Len returns the number of rows.
func (s *Set) Len() int { return s.rows }

// NumColumns returns the number of columns.
func (s *Set) NumColumns() int { return len(s.shape.fields) }

// Fields returns the descriptions of the columns, which must not be modified.
func (s *Set) Fields() []pgconn.FieldDescription { return s.shape.fields }

// Shape returns the columns, for a later builder to share.
func (s *Set) Shape() *Shape { return s.shape }

// WireBytes returns the number of bytes of all values, without framing.
func (s *Set) WireBytes() int64 { return int64(len(s.block)) }

// Size returns an upper bound of the memory that the set holds or may come to
// hold, decoded values included, up to the allocator's rounding. A shared
// shape is left out.
func (s *Set) Size() int64 { return s.size }

// decodedSize bounds what the decoded values will take.
func (s *Set) decodedSize() int64 {
	if len(s.ends) == 0 {
		return 0
	}
	n := int64(unsafe.Sizeof([]driver.Value{})) + int64(s.rows)*s.shape.perRow
	if s.shape.traits&keepsText != 0 {
		// The bytes once more, and the allocator's rounding of long ones.
		n += int64(len(s.block)) + int64(len(s.block))/8
	}
	return n
}

// wire returns the bytes of value i, counted over all rows, and nil for NULL.
// They are part of the block.
func (s *Set) wire(i int) []byte {
	end := s.ends[i]
	if end&null != 0 {
		return nil
	}
	var start uint32
	if i > 0 {
		start = s.ends[i-1] &^ null
	}
	return s.block[start:end:end]
}

// kept returns the decoded values if they are there.
func (s *Set) kept() []driver.Value {
	p := s.values.Load()
	if p == nil || p == making || p == unkeepable {
		return nil
	}
	return *p
}

// keep returns the decoded values, making them if nobody has. It returns nil,
// and the reader decodes row by row, if another reader is making them just now
// (to wait would let one reader hold up another, to make them twice would be
// in vain) or if some value can't be decoded: its error belongs to its row,
// after the rows before it.
//
//	reader A                         reader B
//	nil → making                     sees making: decodes row by row
//	making → values                  goes on row by row
//	                                 its next Rows sees values
func (s *Set) keep(maps *typemap.Maps) []driver.Value {
	if vals := s.kept(); vals != nil {
		return vals
	}
	if len(s.ends) == 0 || !s.values.CompareAndSwap(nil, making) {
		return nil
	}
	result := unkeepable
	// Also on a panic, so that making never stays.
	defer func() { s.values.Store(result) }()

	d := newDecoder(maps, s.shape.fields, newKeptFuncs)
	vals, ok := s.decodeAll(d)
	d.lease.Give()
	if !ok {
		return nil
	}
	result = &vals
	return vals
}

// decodeAll decodes every value. It reports false if one can't be, or if a codec
// panics: that is for the reader of its row.
func (s *Set) decodeAll(d *decoder) (vals []driver.Value, ok bool) {
	d.lease.Lock()
	defer d.lease.Unlock()
	defer func() {
		if recover() != nil {
			vals, ok = nil, false
		}
	}()
	funcs := d.funcs
	vals = make([]driver.Value, len(s.ends))
	width := len(funcs)
	for i := range vals {
		f := funcs[i%width]
		if f == nil {
			continue
		}
		src := s.wire(i)
		if src == nil {
			continue
		}
		v, err := f(src)
		if err != nil {
			return nil, false
		}
		vals[i] = v
	}
	s.fillBytes(vals, funcs)
	return vals, true
}

// fillBytes fills in the values that are their wire bytes, as parts of the
// block, where they are already.
func (s *Set) fillBytes(vals []driver.Value, funcs []valueFunc) {
	for c, f := range funcs {
		if f != nil {
			continue
		}
		for i := c; i < len(vals); i += len(funcs) {
			if src := s.wire(i); src != nil {
				vals[i] = src
			}
		}
	}
}
