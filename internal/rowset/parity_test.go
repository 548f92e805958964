package rowset

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cachedpgx/cachedpgx/internal/typemap"
)

// loaded is what pgx's own Query gives, kept in a set.
type loaded struct {
	set   *Set
	early *Set // the same, decoded while it was loaded
	tail  error
	maps  *typemap.Maps
}

// load runs the query as a loader does.
func load(t testing.TB, conn *pgx.Conn, query string, args ...any) loaded {
	t.Helper()
	rows, err := conn.Query(context.Background(), query, append([]any{ResultFormats}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	more := rows.Next()
	b := NewBuilder(rows.FieldDescriptions(), Limits{Rows: -1, Bytes: -1})
	early := NewBuilder(rows.FieldDescriptions(), Limits{Rows: -1, Bytes: -1})
	maps := typemap.NewRegistry().Source(conn.TypeMap()).MapsFor(rows.FieldDescriptions())
	if maps == nil {
		t.Fatalf("not decodable: %v", rows.FieldDescriptions())
	}
	early.Decode(maps)
	for ; more; more = rows.Next() {
		if !b.Append(rows.RawValues()) || !early.Append(rows.RawValues()) {
			t.Fatal("over the limits")
		}
	}
	set := b.Set()
	return loaded{set: set, early: early.Set(), tail: rows.Err(), maps: maps}
}

// stream opens the query on conn as a stream with a prefix of at most n rows.
func stream(t testing.TB, conn *pgx.Conn, query string, n int, args ...any) func() (driver.Rows, error) {
	return func() (driver.Rows, error) {
		rows, err := conn.Query(context.Background(), query, append([]any{ResultFormats}, args...)...)
		if err != nil {
			return nil, err
		}
		more := rows.Next()
		b := NewBuilder(rows.FieldDescriptions(), Limits{Rows: n, Bytes: -1})
		for ; more; more = rows.Next() {
			if !b.Append(rows.RawValues()) {
				break
			}
		}
		var pending [][]byte
		if more {
			pending = rows.RawValues()
		}
		closed := 0
		return NewStream(b.Set(), pending, rows, conn.TypeMap(), func() {
			if closed++; closed > 1 {
				t.Error("done called twice")
			}
			if conn.PgConn().IsBusy() {
				t.Error("done called before the rows were closed")
			}
		}), nil
	}
}

// rowsDB is a database whose every query is answered by open.
func rowsDB(open func() (driver.Rows, error)) *sql.DB { return sql.OpenDB(rowsConnector{open}) }

type rowsConnector struct{ open func() (driver.Rows, error) }

func (c rowsConnector) Connect(context.Context) (driver.Conn, error) { return rowsConn(c), nil }
func (c rowsConnector) Driver() driver.Driver                        { return nil }

type rowsConn struct{ open func() (driver.Rows, error) }

func (c rowsConn) Prepare(string) (driver.Stmt, error)         { return nil, errors.ErrUnsupported }
func (c rowsConn) Close() error                                { return nil }
func (c rowsConn) Begin() (driver.Tx, error)                   { return nil, errors.ErrUnsupported }
func (c rowsConn) CheckNamedValue(nv *driver.NamedValue) error { return nil }
func (c rowsConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return c.open()
}

// keeper is a Scanner that keeps its input and writes into it.
type keeper struct{ v any }

func (k *keeper) Scan(src any) error {
	k.v = dump(src)
	if b, ok := src.([]byte); ok {
		for i := range b {
			b[i] = '!'
		}
	}
	return nil
}

// destinations makes a destination for each way of scanning.
var destinations = map[string]func() any{
	"any":         func() any { return new(any) },
	"string":      func() any { return new(string) },
	"*string":     func() any { return new(*string) },
	"bytes":       func() any { return new([]byte) },
	"raw":         func() any { return new(sql.RawBytes) },
	"int64":       func() any { return new(int64) },
	"bool":        func() any { return new(bool) },
	"float64":     func() any { return new(float64) },
	"time":        func() any { return new(time.Time) },
	"nulltime":    func() any { return new(sql.NullTime) },
	"nullint":     func() any { return new(sql.NullInt64) },
	"scanner":     func() any { return new(keeper) },
	"named":       func() any { type named string; return new(named) },
	"[]string":    func() any { return new([]string) },
	"[]*int32":    func() any { return new([]*int32) },
	"[]any":       func() any { return new([]any) },
	"array":       func() any { return new(pgtype.Array[pgtype.Text]) },
	"flat":        func() any { return new(pgtype.FlatArray[pgtype.Int4]) },
	"prealloc":    func() any { p := make(pgtype.PreallocBytes, 2); return &p },
	"driverbytes": func() any { return new(pgtype.DriverBytes) },
	"undecoded":   func() any { return new(pgtype.UndecodedBytes) },
	"addr":        func() any { return new(netip.Addr) },
	"prefix":      func() any { return new(netip.Prefix) },
	"numeric":     func() any { return new(pgtype.Numeric) },
	"interval":    func() any { return new(pgtype.Interval) },
	"pgdate":      func() any { return new(pgtype.Date) },
	"uuid":        func() any { return new([16]byte) },
	"range":       func() any { return new(pgtype.Range[pgtype.Int4]) },
	"map":         func() any { return new(map[string]any) },
	"struct":      func() any { return new(struct{ A, B int }) },
	"notpointer":  func() any { return 5 },
	"nil":         func() any { return nil },
}

// dump writes a value with its type, times by what they say.
func dump(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case []byte:
		return fmt.Sprintf("[]byte %x nil=%v", v, v == nil)
	case time.Time:
		return "time " + v.Format("-2006-01-02T15:04:05.999999999Z07:00") + " " + v.Location().String() + fmt.Sprint(v.Unix())
	case *any:
		return "any(" + dump(*v) + ")"
	case *[]*int32:
		var sb strings.Builder
		for _, p := range *v {
			if p == nil {
				sb.WriteString("nil ")
			} else {
				fmt.Fprint(&sb, *p, " ")
			}
		}
		return sb.String()
	case *[]any:
		var sb strings.Builder
		for _, e := range *v {
			sb.WriteString(dump(e) + ", ")
		}
		return sb.String()
	case *pgtype.Numeric:
		return fmt.Sprintf("numeric %v %v %v %v %v", v.Int, v.Exp, v.NaN, v.InfinityModifier, v.Valid)
	case *pgtype.Date:
		return fmt.Sprintf("date %v %v %v", v.Time, v.InfinityModifier, v.Valid)
	case *sql.NullTime:
		return fmt.Sprintf("nulltime %s %v", dump(v.Time), v.Valid)
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && !rv.IsNil() {
		return "*" + dump(rv.Elem().Interface())
	}
	return fmt.Sprintf("%T %+v", v, v)
}

// observe writes down everything that a caller of database/sql can see of the
// result: each line of the two drivers must be equal.
func observe(db *sql.DB, fields []pgconn.FieldDescription, query string, dest func() any, args ...any) (seen []string) {
	say := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	rows, err := db.QueryContext(context.Background(), query, args...)
	if err != nil {
		say("query: %T %v", err, err)
		return seen
	}
	columns, err := rows.Columns()
	say("columns %q %v nil=%v", columns, err, columns == nil)
	types, err := rows.ColumnTypes()
	say("types %d %v", len(types), err)
	for _, ct := range types {
		length, hasLength := ct.Length()
		nullable, hasNullable := ct.Nullable()
		precision, scale, hasScale := ct.DecimalSize()
		say("type %s %s %v len %d %v null %v %v size %d %d %v", ct.Name(), ct.DatabaseTypeName(), ct.ScanType(),
			length, hasLength, nullable, hasNullable, precision, scale, hasScale)
	}
	// A caller may write into what it is given.
	for i := range columns {
		columns[i] = "overwritten"
	}
	var dests []any
	for rows.Next() {
		for _, row := range scans(rows, fields, dest, say) {
			if err := rows.Scan(row...); err != nil {
				say("scan: %v", err)
				continue // with the next row, as a caller may
			}
			for i := range row {
				switch d := row[i].(type) {
				case *sql.RawBytes: // valid only until the next row
					say("raw %d %x nil=%v", i, []byte(*d), *d == nil)
					for j := range *d {
						(*d)[j] = '!'
					}
				case *pgtype.DriverBytes: // the same
					say("driver bytes %d %x nil=%v", i, []byte(*d), *d == nil)
				default:
					dests = append(dests, d)
				}
			}
		}
	}
	if err := rows.Err(); err != nil {
		say("err: %T %v", errors.Unwrap(err), err)
	}
	say("close: %v", rows.Close())
	say("next after close: %v", rows.Next())
	for i, d := range dests {
		say("value %d %s", i, dump(d))
		spoil(d)
	}
	return seen
}

// scans makes the destinations for one row: one column at a time with the
// others as any, so that one that can't be scanned hides no other.
func scans(rows *sql.Rows, fields []pgconn.FieldDescription, dest func() any, say func(string, ...any)) [][]any {
	values, row := make([]any, len(fields)), make([]any, len(fields))
	for i := range row {
		row[i] = &values[i]
	}
	if _, ok := dest().(*sql.RawBytes); ok {
		// database/sql allows one Scan of these for each row.
		for i := range row {
			row[i] = dest()
		}
		return [][]any{row}
	}
	if err := rows.Scan(row...); err != nil {
		say("scan: %v", err)
		return nil
	}
	m := pgtype.NewMap()
	all := [][]any{row}
	for i := range min(len(fields), 16) {
		// For a NULL that the column's own type can't scan, pgx tries all
		// types in the order of a Go map: it agrees with itself neither on the
		// words nor on whether it is an error.
		plan := m.PlanScan(fields[i].DataTypeOID, fields[i].Format, dest())
		if values[i] == nil && throughCodec(dest()) && fmt.Sprintf("%T", plan) == "*pgtype.scanPlanFail" {
			continue
		}
		row := make([]any, len(fields))
		for j := range row {
			row[j] = new(any)
		}
		row[i] = dest()
		all = append(all, row)
	}
	return all
}

// throughCodec says whether pgx's stdlib, with Go 1.27, scans into dest with a
// codec.
func throughCodec(dest any) bool {
	switch dest.(type) {
	case nil, *any, *string, **string, *[]byte, *sql.RawBytes, *int64, *bool, *float64, *time.Time, sql.Scanner:
		return false
	}
	return true
}

// spoil writes into bytes that a caller owns.
func spoil(dest any) {
	var b []byte
	switch d := dest.(type) {
	case *[]byte:
		b = *d
	case *any:
		b, _ = (*d).([]byte)
	case *pgtype.PreallocBytes:
		b = *d
	case *pgtype.UndecodedBytes:
		b = *d
	}
	for i := range b {
		b[i] = '!'
	}
}

// compare holds every kind of reader against pgx's stdlib.
func compare(t *testing.T, cfg *pgx.ConnConfig, query string, args ...any) {
	t.Helper()
	plain := sql.OpenDB(stdlib.GetConnector(*cfg))
	defer plain.Close()
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	l := load(t, conn, query, args...)

	big := l.set.WireBytes() > 10_000 || l.set.NumColumns() > 100
	for name, dest := range destinations {
		switch name {
		case "any", "raw", "scanner", "driverbytes":
		default:
			if big {
				continue // what depends on size does not depend on these
			}
		}
		want := observe(plain, l.set.Fields(), query, dest, args...)
		set := &Set{shape: l.set.shape, block: l.set.block, ends: l.set.ends, rows: l.set.rows} // nothing decoded yet
		readers := []struct {
			name string
			open func() (driver.Rows, error)
		}{
			{"miss", func() (driver.Rows, error) { return set.Once(l.maps, l.tail), nil }},
			{"first hit", func() (driver.Rows, error) { return set.Rows(l.maps, l.tail), nil }},
			{"second hit", func() (driver.Rows, error) { return set.Rows(l.maps, l.tail), nil }},
			{"late miss", func() (driver.Rows, error) { return set.Once(l.maps, l.tail), nil }},
			{"decoded early", func() (driver.Rows, error) { return l.early.Once(l.maps, l.tail), nil }},
			{"stream of nothing", stream(t, conn, query, 0, args...)},
			{"stream of one", stream(t, conn, query, 1, args...)},
			{"stream of all", stream(t, conn, query, -1, args...)},
		}
		for _, r := range readers {
			db := rowsDB(r.open)
			got := observe(db, l.set.Fields(), query, dest, args...)
			db.Close()
			diff(t, name+", "+r.name+": "+query, want, got)
		}
	}
}

func diff(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := 0; i < len(want) || i < len(got); i++ {
		w, g := "(nothing)", "(nothing)"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			t.Errorf("%s:\n pgx  %s\n ours %s", what, w, g)
			return
		}
	}
}
