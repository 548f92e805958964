package rowset

import (
	"database/sql/driver"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// Limits bound what a builder takes. Both are inclusive: a result of exactly
// this size is taken. Less than zero is no limit.
type Limits struct {
	Rows int
	// Bytes counts a row as the protocol does: its values' bytes, and four for
	// the length of each value, NULLs too. Otherwise a result of many NULLs
	// would cost nothing and hold memory without bound.
	Bytes int64
}

// perValue is the protocol's framing of a value, and also what a set keeps for
// it beside its bytes.
const perValue = 4

// maxBlock is the most that offsets of 31 bits reach. It holds whatever the
// limits say.
const maxBlock = math.MaxInt32

// Builder collects a result of PostgreSQL. It is not safe for concurrent use.
type Builder struct {
	shape  *Shape
	owned  int64 // the shape's bytes, if it is this builder's own
	limits Limits
	rows   int
	bytes  int64 // as Limits.Bytes counts
	buf    *scratch
	early  *decoder // decodes what is appended; nil if nobody asked
	failed bool     // and decodes no more, after an error
}

// scratch is where results grow. Growing there and copying once makes the set
// exact, and leaves no garbage of half the size behind.
type scratch struct {
	block []byte
	ends  []uint32
	vals  []driver.Value
}

// maxScratch is the largest scratch that is kept for the next builder.
const maxScratch = 1 << 20

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// NewBuilder begins a result with these columns. fields may be reused by the
// caller afterwards.
func NewBuilder(fields []pgconn.FieldDescription, limits Limits) *Builder {
	shape := ShapeOf(nil, fields)
	b := shape.NewBuilder(limits)
	b.owned = shape.Size()
	return b
}

// NewBuilder begins a result that shares the shape: its set's Size leaves the
// shape out.
func (s *Shape) NewBuilder(limits Limits) *Builder {
	return &Builder{shape: s, limits: limits}
}

// Decode makes the builder decode each row as it is appended, so that the work
// is done while the server makes the next rows, and the set has its decoded
// values from the start: every reader, the first too, only copies them. It is
// for maps that decode the columns as the connection does, and must come before
// the first Append. Without it the values are made when Set.Rows needs them.
func (b *Builder) Decode(maps *typemap.Maps) {
	b.early = newDecoder(maps, b.shape.fields, newKeptFuncs)
}

// Append adds a copy of a row; a nil value is NULL, an empty one is not. It
// reports false, and adds nothing, if the result with this row would exceed
// the limits, or 2 GiB, or if the row has not as many values as there are
// columns.
func (b *Builder) Append(values [][]byte) bool {
	if len(values) != len(b.shape.fields) {
		return false
	}
	if b.limits.Rows >= 0 && b.rows >= b.limits.Rows {
		return false
	}
	size := 0
	for _, v := range values {
		size += len(v)
	}
	total := b.bytes + int64(size) + perValue*int64(len(values))
	if total > maxBlock || (b.limits.Bytes >= 0 && total > b.limits.Bytes) {
		return false
	}
	b.bytes = total
	b.rows++

	buf := b.buf
	if buf == nil {
		buf = scratches.Get().(*scratch)
		b.buf = buf
	}
	at := len(buf.block)
	block := slices.Grow(buf.block, size)[:at+size]
	ends := slices.Grow(buf.ends, len(values))
	for _, v := range values {
		if v == nil {
			ends = append(ends, uint32(at)|null)
			continue
		}
		at += copy(block[at:], v)
		ends = append(ends, uint32(at))
	}
	buf.block, buf.ends = block, ends
	if b.early != nil && !b.failed {
		b.decode(values)
	}
	return true
}

// decode decodes a row. After a value that can't be decoded it stops: readers
// then decode row by row, to give the error, or a codec's panic, at its row.
func (b *Builder) decode(values [][]byte) {
	b.early.lease.Lock()
	defer b.early.lease.Unlock()
	defer func() {
		if recover() != nil {
			b.failed = true
		}
	}()
	vals := b.buf.vals
	for i, src := range values {
		var v driver.Value
		if f := b.early.funcs[i]; f != nil && src != nil {
			var err error
			if v, err = f(src); err != nil {
				b.failed = true
				return
			}
		}
		vals = append(vals, v)
	}
	b.buf.vals = vals
}

// Len returns the number of rows so far.
func (b *Builder) Len() int { return b.rows }

// Set returns what was collected. The builder is spent: it must not be used
// again.
func (b *Builder) Set() *Set {
	// An empty block is still not nil, so that an empty value cut from it is
	// not NULL.
	s := &Set{shape: b.shape, rows: b.rows, block: []byte{}}
	if buf := b.buf; buf != nil {
		if len(buf.block) > 0 {
			s.block = append([]byte(nil), buf.block...)
		}
		s.ends = append([]uint32(nil), buf.ends...)
		if b.early != nil && !b.failed {
			vals := append([]driver.Value(nil), buf.vals...)
			s.fillBytes(vals, b.early.funcs)
			s.values.Store(&vals)
		} else if b.failed {
			s.values.Store(unkeepable)
		}
		b.discard()
	}
	if b.early != nil {
		b.early.lease.Give()
		b.early = nil
	}
	s.size = int64(unsafe.Sizeof(*s)) + b.owned +
		int64(cap(s.block)) + int64(cap(s.ends))*perValue + s.decodedSize()
	b.shape = nil
	return s
}

// discard gives the scratch to the next builder.
func (b *Builder) discard() {
	buf := b.buf
	b.buf = nil
	if cap(buf.block)+cap(buf.ends)*perValue+cap(buf.vals)*int(valueSize) <= maxScratch {
		clear(buf.vals) // they would keep what they point to
		buf.block, buf.ends, buf.vals = buf.block[:0], buf.ends[:0], buf.vals[:0]
		scratches.Put(buf)
	}
}
