package rowset

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// What a column says of itself follows pgx's stdlib (v5.13.0) word for word.

const (
	varHeaderSize  = 4  // what varlena types add to a length in their type modifier
	noTypeModifier = -1 // a type without precision or length
)

// typeNames knows types by OID: a pgtype.Map, or a typemap.Maps.
type typeNames interface {
	TypeForOID(oid uint32) (*pgtype.Type, bool)
}

func databaseTypeName(m typeNames, fd *pgconn.FieldDescription) string {
	if dt, ok := m.TypeForOID(fd.DataTypeOID); ok {
		return strings.ToUpper(dt.Name)
	}
	return strconv.FormatInt(int64(fd.DataTypeOID), 10)
}

func columnLength(fd *pgconn.FieldDescription) (int64, bool) {
	switch fd.DataTypeOID {
	case pgtype.TextOID, pgtype.ByteaOID:
		return math.MaxInt64, true
	case pgtype.VarcharOID, pgtype.BPCharOID:
		if fd.TypeModifier == noTypeModifier {
			return math.MaxInt64, true
		}
		return int64(fd.TypeModifier - varHeaderSize), true
	case pgtype.VarbitOID:
		if fd.TypeModifier == noTypeModifier {
			return math.MaxInt64, true
		}
		return int64(fd.TypeModifier), true
	default:
		return 0, false
	}
}

func columnPrecisionScale(fd *pgconn.FieldDescription) (precision, scale int64, ok bool) {
	switch fd.DataTypeOID {
	case pgtype.NumericOID:
		if fd.TypeModifier == noTypeModifier {
			return 0, 0, false
		}
		mod := fd.TypeModifier - varHeaderSize
		return int64((mod >> 16) & 0xffff), int64(mod & 0xffff), true
	case pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.TimeOID, pgtype.TimetzOID:
		if fd.TypeModifier == noTypeModifier {
			return 0, 6, true
		}
		return 0, int64(fd.TypeModifier), true
	case pgtype.IntervalOID:
		if fd.TypeModifier == noTypeModifier || fd.TypeModifier&0xffff == 0xffff {
			return 0, 6, true
		}
		return 0, int64(fd.TypeModifier & 0xffff), true
	default:
		return 0, 0, false
	}
}

func columnScanType(fd *pgconn.FieldDescription) reflect.Type {
	switch fd.DataTypeOID {
	case pgtype.Float8OID:
		return reflect.TypeFor[float64]()
	case pgtype.Float4OID:
		return reflect.TypeFor[float32]()
	case pgtype.Int8OID:
		return reflect.TypeFor[int64]()
	case pgtype.Int4OID:
		return reflect.TypeFor[int32]()
	case pgtype.Int2OID:
		return reflect.TypeFor[int16]()
	case pgtype.BoolOID:
		return reflect.TypeFor[bool]()
	case pgtype.NumericOID:
		return reflect.TypeFor[float64]()
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return reflect.TypeFor[time.Time]()
	case pgtype.ByteaOID:
		return reflect.TypeFor[[]byte]()
	default:
		return reflect.TypeFor[string]()
	}
}
