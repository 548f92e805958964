package cachedpgx

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// A key is the identity of a question: who asks (scope and partition), what
// (the statement), how (prepared or not), and each argument, typed and framed.
// It is the whole identity: two questions with one key can't be told apart by
// the server, and no hash stands for any part of it. Scopes and statements are
// interned, so a number that is given once and never again stands for their
// text.
//
//	key       = scope statement how partition [orders] tags (argument* | wire arguments)
//	scope     = 8 bytes, statement = 8 bytes
//	how       = 1 byte: prepared, with orders, arguments as they are sent
//	orders    = exec mode 4 bytes, result formats: see appendOrders
//	partition = uvarint length, bytes
//	tags      = uvarint number, then of each: framed, 8 bytes of its epoch
//	argument  = framed name, tag, value
//
// Each value has a fixed size or its length before it, so the concatenation
// can be read back in one way only.
type keyHead struct {
	scope, statement uint64
	prepared         preparation
	partition        string
	orders           *orders // that stood before the arguments
	wire             bool    // the arguments are keyed as they are sent: see keyParams
}

// The bits of how, beside preparation's.
const (
	howOrdered byte = 1 << (1 + iota)
	howWire
)

// preparation is part of the key: in the exec and simple protocol modes a
// prepared statement takes arguments that a direct one refuses.
type preparation uint8

const (
	direct preparation = iota
	prepared
)

// The tags of argument values. They keep apart what the server can: NULL and
// the empty string, 1 and '1' and true, text and bytea.
const (
	tagNull byte = iota
	tagNilBytes
	tagNilList
	tagFalse
	tagTrue
	tagInt     // and the kind, 8 bytes
	tagUint    // and the kind, 8 bytes
	tagFloat32 // 4 bytes
	tagFloat64 // 8 bytes
	tagString  // framed
	tagBytes   // framed
	tagTime    // seconds 8, nanoseconds 4, zone offset 4
	tagList    // the element's kind, uvarint length, elements
	tagNamed   // the type's number, then its plain form
)

// argument says what an argument's text could do: see appendArgument.
type argument uint8

const (
	argumentOpaque argument = iota // can't be keyed
	argumentPlain                  // keyed; the server gets a number, a boolean, bytes or NULL
	argumentText                   // keyed; the server gets text, which may be read as a date
	argumentTime                   // keyed; a time.Time
)

func appendHead(b []byte, h keyHead) []byte {
	b = binary.BigEndian.AppendUint64(b, h.scope)
	b = binary.BigEndian.AppendUint64(b, h.statement)
	how := byte(h.prepared)
	if h.orders != nil {
		how |= howOrdered
	}
	if h.wire {
		how |= howWire
	}
	b = appendFramed(append(b, how), h.partition)
	if h.orders != nil {
		b = appendOrders(b, h.orders)
	}
	return b
}

// appendOrders keys how the caller has pgx run a statement: the bytes of its
// result, and of its arguments, go by that.
//
//	formats = 0 for none, 1 for nil, or uvarint of 2 + number, then of each: [type 4 bytes,] format 2 bytes
func appendOrders(b []byte, o *orders) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(o.mode))
	if o.positions == nil {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(b, uint64(len(o.positions))+2)
		for _, f := range o.positions {
			b = binary.BigEndian.AppendUint16(b, uint16(f))
		}
	}
	switch {
	case o.byOID == nil:
		return append(b, 0)
	case *o.byOID == nil:
		return append(b, 1)
	}
	b = binary.AppendUvarint(b, uint64(len(*o.byOID))+2)
	for _, oid := range slices.Sorted(maps.Keys(*o.byOID)) {
		b = binary.BigEndian.AppendUint32(b, oid)
		b = binary.BigEndian.AppendUint16(b, uint16((*o.byOID)[oid]))
	}
	return b
}

func appendFramed[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// appendArgument adds one argument to the key. It reads the argument's memory
// now and keeps none of it.
//
// Only what pgx sends by its plain Go kind is keyed: scalars, pointers to
// them, slices of them, and named types of those kinds that have no methods.
// A type with methods may encode itself in any way (driver.Valuer, a codec of
// the user's), so it is opaque, and the call is not cached.
func appendArgument(b []byte, nv *driver.NamedValue) ([]byte, argument) {
	b = appendFramed(b, nv.Name)
	switch v := nv.Value.(type) {
	case nil:
		return append(b, tagNull), argumentPlain
	case bool:
		return appendBool(b, v), argumentPlain
	case int:
		return appendInt(b, reflect.Int, int64(v)), argumentPlain
	case int64:
		return appendInt(b, reflect.Int64, v), argumentPlain
	case int32:
		return appendInt(b, reflect.Int32, int64(v)), argumentPlain
	case float64:
		return appendFloat64(b, v), argumentPlain
	case string:
		return appendFramed(append(b, tagString), v), argumentText
	case []byte:
		if v == nil {
			return append(b, tagNilBytes), argumentPlain
		}
		// Bytes bound to a text-like parameter are sent as they are.
		return appendFramed(append(b, tagBytes), v), argumentText
	case time.Time:
		return appendTime(b, v), argumentTime
	case pgx.QueryResultFormats:
		return b, argumentOpaque // no argument: pgx takes it only before them
	}
	return appendReflected(b, reflect.ValueOf(nv.Value))
}

func appendReflected(b []byte, v reflect.Value) ([]byte, argument) {
	t := v.Type()
	if t == timeType {
		return appendTime(b, v.Interface().(time.Time)), argumentTime
	}
	if t.NumMethod() > 0 || reflect.PointerTo(t).NumMethod() > 0 && t.Kind() != reflect.Pointer {
		return b, argumentOpaque
	}
	if t.PkgPath() != "" {
		b = binary.BigEndian.AppendUint64(append(b, tagNamed), typeNumber(t))
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Pointer {
			return b, argumentOpaque
		}
		if t.Elem() != timeType && reflect.PointerTo(t.Elem()).NumMethod() > 0 {
			return b, argumentOpaque
		}
		if v.IsNil() {
			return append(b, tagNull), argumentPlain
		}
		return appendReflected(b, v.Elem())
	case reflect.Bool:
		return appendBool(b, v.Bool()), argumentPlain
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return appendInt(b, t.Kind(), v.Int()), argumentPlain
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b = append(b, tagUint, byte(t.Kind()))
		return binary.BigEndian.AppendUint64(b, v.Uint()), argumentPlain
	case reflect.Float32:
		b = append(b, tagFloat32)
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(v.Float()))), argumentPlain
	case reflect.Float64:
		return appendFloat64(b, v.Float()), argumentPlain
	case reflect.String:
		return appendFramed(append(b, tagString), v.String()), argumentText
	case reflect.Slice:
		return appendList(b, v)
	}
	return b, argumentOpaque
}

// appendList keys a slice of plain scalars, which pgx sends as an array. A nil
// slice is NULL and an empty one is '{}': they are kept apart.
func appendList(b []byte, v reflect.Value) ([]byte, argument) {
	elem := v.Type().Elem()
	if elem.Kind() == reflect.Uint8 {
		if elem != reflect.TypeFor[byte]() {
			return b, argumentOpaque
		}
		if v.IsNil() {
			return append(b, tagNilBytes), argumentPlain
		}
		return appendFramed(append(b, tagBytes), v.Bytes()), argumentText
	}
	kind := argumentPlain
	switch {
	case elem == timeType:
		kind = argumentTime
	case elem.Kind() == reflect.String:
		kind = argumentText
	case elem.Kind() == reflect.Bool, elem.Kind() >= reflect.Int && elem.Kind() <= reflect.Float64 && elem.Kind() != reflect.Uintptr:
	default:
		return b, argumentOpaque
	}
	if elem != timeType && reflect.PointerTo(elem).NumMethod() > 0 {
		return b, argumentOpaque
	}
	if v.IsNil() {
		return append(b, tagNilList, byte(elem.Kind())), argumentPlain
	}
	b = append(b, tagList, byte(elem.Kind()))
	b = binary.AppendUvarint(b, uint64(v.Len()))
	for i := range v.Len() {
		b, _ = appendReflected(b, v.Index(i))
	}
	return b, kind
}

// detached gives arguments that share no memory with the caller's: a load may
// still run when the call has returned. Keyed arguments hold no others than
// bytes, pointers to scalars, and slices of scalars.
func detached(args []driver.NamedValue) []driver.NamedValue {
	out := slices.Clone(args)
	for i := range out {
		switch v := out[i].Value.(type) {
		case nil, bool, int, int64, int32, float64, string, time.Time:
			continue
		case []byte:
			out[i].Value = bytes.Clone(v)
			continue
		}
		switch v := reflect.ValueOf(out[i].Value); v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				continue
			}
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			if elem := p.Elem(); elem.Kind() == reflect.Slice && !elem.IsNil() {
				elem.Set(cloneSlice(elem))
			}
			out[i].Value = p.Interface()
		case reflect.Slice:
			if !v.IsNil() {
				out[i].Value = cloneSlice(v).Interface()
			}
		}
	}
	return out
}

func cloneSlice(v reflect.Value) reflect.Value {
	c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(c, v)
	return c
}

// typeNumbers interns named types: their codec may be the user's, so two types
// of one kind are two arguments. A program has finitely many.
var (
	typeNumbers    sync.Map // reflect.Type → uint64
	lastTypeNumber atomic.Uint64
)

func typeNumber(t reflect.Type) uint64 {
	n, ok := typeNumbers.Load(t)
	if !ok {
		n, _ = typeNumbers.LoadOrStore(t, lastTypeNumber.Add(1))
	}
	return n.(uint64)
}

var timeType = reflect.TypeFor[time.Time]()

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, tagTrue)
	}
	return append(b, tagFalse)
}

func appendInt(b []byte, k reflect.Kind, v int64) []byte {
	b = append(b, tagInt, byte(k))
	return binary.BigEndian.AppendUint64(b, uint64(v))
}

// appendFloat64 keys the bits: NaN has an entry, and 0 and -0 have one each.
func appendFloat64(b []byte, v float64) []byte {
	b = append(b, tagFloat64)
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// appendTime keys the instant and the zone's offset: a timestamp or a date
// parameter gets the wall clock of the value's own zone, so one instant in two
// zones is two arguments.
func appendTime(b []byte, v time.Time) []byte {
	_, offset := v.Zone()
	b = append(b, tagTime)
	b = binary.BigEndian.AppendUint64(b, uint64(v.Unix()))
	b = binary.BigEndian.AppendUint32(b, uint32(v.Nanosecond()))
	return binary.BigEndian.AppendUint32(b, uint32(int32(offset)))
}
