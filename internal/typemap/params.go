package typemap

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// errParams says that arguments can't be encoded here: there are too many or too
// few, or nobody may. pgx has its own words for what is wrong.
var errParams = errors.New("typemap: the arguments can't be encoded")

// AppendParams appends arguments as pgx would send them to parameters of these
// types; nil types are for the exec modes in which pgx knows none and sends
// text. It reads the arguments' memory now, and keeps none of it.
//
//	params = argument*
//	argument = format 1 byte, 0 for NULL or uvarint of 1 + length, bytes
func (ms *Maps) AppendParams(b []byte, oids []uint32, args []driver.NamedValue) ([]byte, error) {
	if oids != nil && len(oids) != len(args) {
		return b, errParams
	}
	// Where no types are known, the Go types decide.
	if ms.needsDonor() && (oids == nil || slices.ContainsFunc(oids, ms.reaches)) {
		// A Valuer may run queries, which may need the donor themselves.
		for i := range args {
			if _, ok := args[i].Value.(driver.Valuer); ok && !pgxs(args[i].Value) {
				return b, errParams
			}
		}
		ms.donor.Lock()
		defer ms.donor.Unlock()
		if ms.donor.bench == nil {
			return b, errParams
		}
		return ms.donor.bench.appendParams(b, ms.donor.bench.Map, oids, args)
	}
	w := ms.take()
	m := w.Map
	if oids == nil {
		if w.untyped == nil {
			w.untyped = ms.build()
		}
		m = w.untyped
	}
	b, err := w.appendParams(b, m, oids, args)
	ms.give(w)
	return b, err
}

// pgxs says whether a value is of one of pgx's own types.
func pgxs(v any) bool {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == pgtypePath
}

func (w *Workbench) appendParams(b []byte, m *pgtype.Map, oids []uint32, args []driver.NamedValue) ([]byte, error) {
	w.args = w.args[:0]
	for i := range args {
		w.args = append(w.args, args[i].Value)
	}
	defer clear(w.args)
	var desc *pgconn.StatementDescription
	if oids != nil {
		desc = &w.desc
		desc.ParamOIDs = oids
	}
	if err := w.builder.Build(m, desc, w.args); err != nil {
		w.builder = pgx.ExtendedQueryBuilder{} // it may have encoded a large one
		return b, err
	}
	w.desc.ParamOIDs = nil
	size := 0
	for i, v := range w.builder.ParamValues {
		b = append(b, byte(w.builder.ParamFormats[i]))
		if v == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(v))+1)
		b = append(b, v...)
		size += len(v)
	}
	if size > maxEncoded {
		w.builder = pgx.ExtendedQueryBuilder{} // it would keep their memory
	}
	return b, nil
}

// maxEncoded is the most memory of arguments that a workbench keeps for the
// next ones.
const maxEncoded = 16 << 10

// Params are arguments as they are sent.
type Params struct {
	Values  [][]byte // nil: NULL
	Formats []int16
}

// ParseParams reads what AppendParams wrote. It reports false for anything
// else. The values are copies.
func ParseParams(s string) (Params, bool) {
	var p Params
	for len(s) > 0 {
		v, ok := cutParam(&s)
		if !ok {
			return Params{}, false
		}
		var value []byte
		if !v.null {
			value = append([]byte{}, v.value...)
		}
		p.Values, p.Formats = append(p.Values, value), append(p.Formats, v.format)
	}
	return p, true
}

// EachParam calls f with each value that AppendParams wrote but NULLs, until it
// returns false. The values are parts of s.
func EachParam(s string, f func(i int, value string) bool) {
	for i := 0; len(s) > 0; i++ {
		v, ok := cutParam(&s)
		if !ok || !v.null && !f(i, v.value) {
			return
		}
	}
}

// param is one argument as it is sent.
type param struct {
	format int16
	null   bool
	value  string
}

// cutParam takes one argument off s, which is not empty. It reports false for
// what AppendParams does not write.
func cutParam(s *string) (param, bool) {
	v := param{format: int16((*s)[0])}
	if v.format != pgx.TextFormatCode && v.format != pgx.BinaryFormatCode {
		return param{}, false
	}
	var head [binary.MaxVarintLen64]byte
	n, used := binary.Uvarint(head[:copy(head[:], (*s)[1:])])
	rest := *s
	if used <= 0 || n > uint64(len(rest)-1-used)+1 {
		return param{}, false
	}
	rest = rest[1+used:]
	if v.null = n == 0; !v.null {
		v.value, rest = rest[:n-1], rest[n-1:]
	}
	*s = rest
	return v, true
}
