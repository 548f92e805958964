package rowset

import (
	"database/sql/driver"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// valueFunc decodes a value that is not NULL. What it returns shares no memory
// with src. It has state: it belongs to one reader, and to the reader's map.
type valueFunc func(src []byte) (driver.Value, error)

// newValueFuncs makes the decoders of the columns. This is, case for case,
// initValueFuncs of pgx's stdlib (v5.13.0), so that values, Go types and errors
// are equal; the parity tests hold it to that.
func newValueFuncs(m *pgtype.Map, fields []pgconn.FieldDescription) []valueFunc {
	funcs := make([]valueFunc, len(fields))
	for i := range fields {
		funcs[i] = newValueFunc(m, fields[i].DataTypeOID, fields[i].Format)
	}
	return funcs
}

func newValueFunc(m *pgtype.Map, oid uint32, format int16) valueFunc {
	switch oid {
	case pgtype.BoolOID:
		var d bool
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return d, err
		}
	case pgtype.ByteaOID:
		var d []byte
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return d, err
		}
	case pgtype.CIDOID, pgtype.OIDOID, pgtype.XIDOID:
		var d pgtype.Uint32
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			if err := plan.Scan(src, &d); err != nil {
				return nil, err
			}
			return d.Value()
		}
	case pgtype.DateOID:
		var d pgtype.Date
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			if err := plan.Scan(src, &d); err != nil {
				return nil, err
			}
			return d.Value()
		}
	case pgtype.Float4OID:
		var d float32
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return float64(d), err
		}
	case pgtype.Float8OID:
		var d float64
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return d, err
		}
	case pgtype.Int2OID:
		var d int16
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return int64(d), err
		}
	case pgtype.Int4OID:
		var d int32
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return int64(d), err
		}
	case pgtype.Int8OID:
		var d int64
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return d, err
		}
	case pgtype.JSONOID, pgtype.JSONBOID, pgtype.XMLOID:
		var d []byte
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			if err := plan.Scan(src, &d); err != nil {
				return nil, err
			}
			return d, nil
		}
	case pgtype.TimestampOID:
		var d pgtype.Timestamp
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			if err := plan.Scan(src, &d); err != nil {
				return nil, err
			}
			return d.Value()
		}
	case pgtype.TimestamptzOID:
		var d pgtype.Timestamptz
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			if err := plan.Scan(src, &d); err != nil {
				return nil, err
			}
			return d.Value()
		}
	default:
		var d string
		plan := m.PlanScan(oid, format, &d)
		return func(src []byte) (driver.Value, error) {
			err := plan.Scan(src, &d)
			return d, err
		}
	}
}

// decoder is the decoders of a reader with the map that they are bound to.
type decoder struct {
	lease typemap.Lease
	funcs []valueFunc
}

// newDecoder borrows a map for decoders, which may only be called between the
// lease's Lock and Unlock.
func newDecoder(maps *typemap.Maps, fields []pgconn.FieldDescription, make func(*typemap.Maps, *pgtype.Map, []pgconn.FieldDescription) []valueFunc) *decoder {
	d := &decoder{lease: maps.Take(fields)}
	d.lease.Lock()
	defer d.lease.Unlock()
	d.funcs = make(maps, d.lease.Map, fields)
	return d
}

// newSetFuncs makes the decoders for a set's values. pgx's own codecs copy what
// they give as bytes; another's may hand its source on, and gets a copy.
func newSetFuncs(maps *typemap.Maps, m *pgtype.Map, fields []pgconn.FieldDescription) []valueFunc {
	funcs := newValueFuncs(m, fields)
	for i := range fields {
		if !maps.Stock(fields[i].DataTypeOID) {
			f := funcs[i]
			funcs[i] = func(src []byte) (driver.Value, error) { return f(copyBytes(src)) }
		}
	}
	return funcs
}

// newKeptFuncs makes the decoders for values that a set keeps. There is none
// for a column whose values are their wire bytes: those are in the block
// already.
func newKeptFuncs(maps *typemap.Maps, m *pgtype.Map, fields []pgconn.FieldDescription) []valueFunc {
	funcs := newSetFuncs(maps, m, fields)
	for i := range fields {
		switch fields[i].DataTypeOID {
		case pgtype.ByteaOID:
			if fields[i].Format == pgtype.BinaryFormatCode && maps.Stock(pgtype.ByteaOID) {
				funcs[i] = nil
			}
		case pgtype.JSONOID, pgtype.JSONBOID, pgtype.XMLOID:
			if fields[i].Format == pgtype.TextFormatCode {
				funcs[i] = nil
			}
		}
	}
	return funcs
}

// copyBytes copies a []byte value: never nil, since a value that is not NULL is
// not, even when empty.
func copyBytes(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}
