package rowset

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"
)

// otherRows are an inner driver's, with every optional method.
type otherRows struct {
	sets   [][][]driver.Value
	set    int
	row    int
	closed bool
}

func (r *otherRows) Columns() []string { return []string{"a", "b"} }
func (r *otherRows) Close() error      { r.closed = true; return nil }
func (r *otherRows) Next(dest []driver.Value) error {
	if r.closed || r.row >= len(r.sets[r.set]) {
		return io.EOF
	}
	copy(dest, r.sets[r.set][r.row])
	r.row++
	return nil
}
func (r *otherRows) HasNextResultSet() bool { return r.set+1 < len(r.sets) }
func (r *otherRows) NextResultSet() error {
	if !r.HasNextResultSet() {
		return io.EOF
	}
	r.set++
	r.row = 0
	return nil
}
func (r *otherRows) ColumnTypeDatabaseTypeName(i int) string { return []string{"INT", "BLOB"}[i] }
func (r *otherRows) ColumnTypeLength(i int) (int64, bool)    { return int64(10 * i), i == 1 }
func (r *otherRows) ColumnTypeNullable(i int) (bool, bool)   { return i == 1, true }
func (r *otherRows) ColumnTypePrecisionScale(i int) (int64, int64, bool) {
	return 5, int64(i), i == 0
}
func (r *otherRows) ColumnTypeScanType(i int) reflect.Type {
	return []reflect.Type{reflect.TypeFor[int64](), reflect.TypeFor[[]byte]()}[i]
}

// plainRows have no optional method.
type plainRows struct{ driver.Rows }

func collect(t *testing.T, rows driver.Rows, limits Limits) (*ValueSet, []driver.Value) {
	t.Helper()
	b := NewValues(rows.Columns(), ColumnTypesOf(rows, len(rows.Columns())), limits)
	for {
		dest := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(dest); err != nil {
			return b.Set(), nil
		}
		if !b.Append(dest) {
			return b.Set(), dest
		}
	}
}

func otherResult() *otherRows {
	return &otherRows{sets: [][][]driver.Value{{
		{int64(1), []byte("one")}, {nil, []byte{}}, {"text", []byte(nil)}, {true, time.Unix(1, 0)}, {1.5, uint32(7)},
	}}}
}

func describe(t *testing.T, rows driver.Rows) (all []string) {
	t.Helper()
	db := rowsDB(func() (driver.Rows, error) { return rows, nil })
	defer db.Close()
	r, err := db.Query("")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for set := true; set; set = r.NextResultSet() {
		types, err := r.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		for _, ct := range types {
			length, hasLength := ct.Length()
			nullable, hasNullable := ct.Nullable()
			precision, scale, hasScale := ct.DecimalSize()
			all = append(all, dump([]any{ct.Name(), ct.DatabaseTypeName(), ct.ScanType(), length, hasLength, nullable, hasNullable, precision, scale, hasScale}))
		}
		for r.Next() {
			var a, b any
			if err := r.Scan(&a, &b); err != nil {
				t.Fatal(err)
			}
			all = append(all, dump(a)+" "+dump(b))
			for _, v := range []any{a, b} {
				if b, ok := v.([]byte); ok {
					for i := range b {
						b[i] = '!'
					}
				}
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestValueSetIsTheInnerDrivers(t *testing.T) {
	for name, wrap := range map[string]func(driver.Rows) driver.Rows{
		"every optional method": func(r driver.Rows) driver.Rows { return r },
		"none":                  func(r driver.Rows) driver.Rows { return plainRows{r} },
	} {
		t.Run(name, func(t *testing.T) {
			want := describe(t, wrap(otherResult()))
			set, _ := collect(t, wrap(otherResult()), noLimits)
			if set.Len() != 5 || set.NumColumns() != 2 || set.Size() <= 0 {
				t.Errorf("%d rows, %d columns, size %d", set.Len(), set.NumColumns(), set.Size())
			}
			for range 3 {
				diff(t, "set", want, describe(t, set.Rows(nil)))
			}
			for _, take := range []int{0, 2, 5} {
				live := wrap(otherResult())
				prefix, pending := collect(t, live, Limits{Rows: take, Bytes: -1})
				done := 0
				diff(t, "stream", want, describe(t, NewValueStream(prefix, pending, live, func() { done++ })))
				if done != 1 {
					t.Errorf("done %d times", done)
				}
			}
		})
	}
}

func TestValueSetOwnsItsBytes(t *testing.T) {
	b := NewValues([]string{"a"}, nil, noLimits)
	value := []byte("before")
	b.Append([]driver.Value{value})
	copy(value, "after!")
	set := b.Set()
	for range 2 {
		dest := make([]driver.Value, 1)
		if err := set.Rows(nil).Next(dest); err != nil || string(dest[0].([]byte)) != "before" {
			t.Errorf("got %q, %v", dest, err)
		}
		copy(dest[0].([]byte), "spoilt")
	}
}

func TestValuesRefuse(t *testing.T) {
	b := NewValues([]string{"a"}, nil, Limits{Rows: 2, Bytes: 30})
	for _, tt := range []struct {
		name string
		row  []driver.Value
		want bool
	}{
		{"a pointer", []driver.Value{new(int)}, false},
		{"a cursor", []driver.Value{&otherRows{}}, false},
		{"two values", []driver.Value{1, 2}, false},
		{"too long", []driver.Value{"123456789012345678901234567"}, false},
		{"fits", []driver.Value{"12345678901234567890"}, true},
		{"too long now", []driver.Value{"123"}, false},
		{"fits still", []driver.Value{"12"}, true},
		{"too many", []driver.Value{nil}, false},
	} {
		if got := b.Append(tt.row); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if b.Len() != 2 || b.Set().Len() != 2 {
		t.Error("a refused row was added")
	}
}

func TestValueTail(t *testing.T) {
	tail := errors.New("broken")
	set, _ := collect(t, otherResult(), noLimits)
	rows := set.Rows(tail)
	if got, err := readAll(t, rows); len(got) != 5 || err != tail {
		t.Errorf("%d rows, %v", len(got), err)
	}
	if err := rows.Close(); err != tail {
		t.Error(err)
	}
	rows = set.Rows(nil)
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if err := rows.Next(make([]driver.Value, 2)); err != io.EOF {
		t.Error(err)
	}
}

// More than one result set goes through a stream whole.
func TestValueStreamResultSets(t *testing.T) {
	two := func() *otherRows {
		return &otherRows{sets: [][][]driver.Value{{{int64(1), "a"}, {int64(2), "b"}}, {{int64(3), "c"}}}}
	}
	want := describe(t, two())
	live := two()
	prefix, pending := collect(t, live, Limits{Rows: 1, Bytes: -1})
	diff(t, "stream", want, describe(t, NewValueStream(prefix, pending, live, func() {})))

	// Left early, the first set's rest is skipped.
	live = two()
	prefix, pending = collect(t, live, Limits{Rows: 1, Bytes: -1})
	db := rowsDB(func() (driver.Rows, error) { return NewValueStream(prefix, pending, live, func() {}), nil })
	defer db.Close()
	rows, err := db.Query("")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var n int64
	var s sql.NullString
	if !rows.NextResultSet() || !rows.Next() || rows.Scan(&n, &s) != nil || n != 3 {
		t.Errorf("got %d, %v", n, rows.Err())
	}
}
