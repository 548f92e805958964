package cachedpgx

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func keyOf(t testing.TB, h keyHead, values ...any) (string, argument) {
	t.Helper()
	b := appendHead(nil, h)
	worst := argumentPlain
	for i, v := range values {
		var kind argument
		b, kind = appendArgument(b, &driver.NamedValue{Ordinal: i + 1, Value: v})
		if kind == argumentOpaque {
			return "", argumentOpaque
		}
		worst = max(worst, kind)
	}
	return string(b), worst
}

type (
	plainString string
	otherString string
	loudString  string
)

func (s loudString) String() string { return "loud" }

// Kind 3 of the faults: a key that is not one-to-one. Every two of these lists
// are two questions to the server, so no two may share a key.
func TestKeysOfDifferentArgumentsDiffer(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	instant := time.Date(2024, 1, 31, 23, 30, 0, 0, time.UTC)
	n := int64(5)
	lists := [][]any{
		{}, {nil}, {nil, nil}, {""}, {"", ""}, {[]byte{}}, {"\x00"}, {"a", "bc"}, {"ab", "c"}, {"abc"}, {"a\x00b"}, {"a", "\x00b"},
		{1}, {"1"}, {true}, {1.0}, {float32(1)}, {uint64(1)}, {[]byte("1")}, {int8(1)}, {false}, {0},
		{math.NaN()}, {math.Inf(1)}, {math.Inf(-1)}, {0.0}, {math.Copysign(0, -1)},
		{int64(1<<53 - 1)}, {int64(1 << 53)}, {int64(1<<53 + 1)}, {float64(1 << 53)}, {uint64(math.MaxUint64)}, {int64(-1)},
		{instant}, {instant.In(berlin)}, {instant.Add(time.Nanosecond)}, {instant.Unix()}, {time.Time{}},
		{[]string{}}, {[]string{""}}, {[]string{"a", "b"}}, {[]string{"a,b"}}, {[]string{"ab"}}, {"{a,b}"},
		{[]int64{}}, {[]int64{1}}, {[]int32{1}}, {[]int64{1, 2}}, {[]bool{true}}, {[]float64{1}},
		{plainString("1")}, {otherString("1")}, {[]plainString{"1"}}, {n},
		{[]byte(nil)}, {[]string(nil)}, {[]int64(nil)},
	}
	seen := map[string]int{}
	for i, l := range lists {
		k, kind := keyOf(t, keyHead{scope: 1, statement: 2}, l...)
		if kind == argumentOpaque {
			t.Errorf("%#v can't be keyed", l)
			continue
		}
		if j, ok := seen[k]; ok {
			t.Errorf("%#v and %#v share a key", lists[j], l)
		}
		seen[k] = i
	}
}

func TestKeysOfEqualArgumentsAreEqual(t *testing.T) {
	n, s := int64(5), "x"
	var nilInt *int64
	for _, pair := range [][2][]any{
		{{&n}, {n}}, {{&s}, {s}}, {{nilInt}, {nil}}, {{[]byte("x")}, {[]byte("x")}}, {{math.NaN()}, {math.NaN()}},
	} {
		a, _ := keyOf(t, keyHead{}, pair[0]...)
		b, _ := keyOf(t, keyHead{}, pair[1]...)
		if a != b || a == "" {
			t.Errorf("%#v and %#v do not share a key", pair[0], pair[1])
		}
	}
}

// What may encode itself in a way of its own, or is an order to pgx, is not
// keyed: the call is not cached.
func TestOpaqueArguments(t *testing.T) {
	var none driver.Valuer
	for _, v := range []any{
		loudString("x"), new(loudString), []loudString{"x"}, pgx.QueryResultFormats{1}, pgx.QueryResultFormatsByOID{1: 1},
		pgx.QueryExecModeExec, pgx.NamedArgs{"a": 1}, map[string]int{}, struct{}{}, [2]int{}, make(chan int), func() {},
		new(*int), &none, [][]int{{1}}, []any{1}, time.Second, complex(1, 1), uintptr(1),
	} {
		if _, kind := keyOf(t, keyHead{}, v); kind != argumentOpaque {
			t.Errorf("%T is keyed", v)
		}
	}
}

func TestKeyHeadsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range []keyHead{
		{}, {scope: 1}, {statement: 1}, {prepared: prepared}, {partition: "a"}, {partition: "a\x00"}, {scope: 1, statement: 1},
	} {
		k, _ := keyOf(t, h, "x")
		if seen[k] {
			t.Errorf("%+v shares a key", h)
		}
		seen[k] = true
	}
	a, _ := keyOf(t, keyHead{partition: "a"}, "b")
	b, _ := keyOf(t, keyHead{partition: ""}, "ab")
	if a == b {
		t.Error("a partition runs into an argument")
	}
}

// An argument's memory is read at the call, and not kept.
func TestKeyKeepsNoArgumentMemory(t *testing.T) {
	b := []byte("before")
	k, _ := keyOf(t, keyHead{}, b)
	copy(b, "after!")
	if again, _ := keyOf(t, keyHead{}, []byte("before")); k != again {
		t.Error("the key changed with the argument")
	}
}

// readList makes a list of arguments from bytes, for the fuzzer.
func readList(data []byte) (out []any) {
	for len(data) > 0 && len(out) < 8 {
		tag := data[0]
		data = data[1:]
		take := func(n int) []byte {
			n = min(n, len(data))
			b := make([]byte, 8)
			copy(b, data[:n])
			data = data[n:]
			return b
		}
		text := func() []byte {
			if len(data) == 0 {
				return []byte{}
			}
			n := min(int(data[0])%9, len(data)-1)
			b := data[1 : 1+n]
			data = data[1+n:]
			return bytes.Clone(b)
		}
		switch tag % 12 {
		case 0:
			out = append(out, nil)
		case 1:
			out = append(out, tag&16 != 0)
		case 2:
			out = append(out, int64(binary.BigEndian.Uint64(take(8))))
		case 3:
			out = append(out, math.Float64frombits(binary.BigEndian.Uint64(take(8))))
		case 4:
			out = append(out, string(text()))
		case 5:
			out = append(out, append([]byte{}, text()...))
		case 6:
			zone := time.FixedZone("", int(int8(tag))*60)
			out = append(out, time.Unix(int64(int32(binary.BigEndian.Uint32(take(4)))), int64(binary.BigEndian.Uint16(take(2)))).In(zone))
		case 7:
			out = append(out, []string{string(text()), string(text())})
		case 8:
			out = append(out, []int64{int64(binary.BigEndian.Uint64(take(8)))})
		case 9:
			out = append(out, int32(binary.BigEndian.Uint32(take(4))))
		case 10:
			out = append(out, plainString(text()))
		case 11:
			out = append(out, uint16(binary.BigEndian.Uint16(take(2))))
		}
	}
	return out
}

// same says whether two lists are one to the server: equal types and values,
// times by instant and offset, floats by their bits.
func same(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		switch x := a[i].(type) {
		case time.Time:
			y, ok := b[i].(time.Time)
			_, ox := x.Zone()
			if !ok || !x.Equal(y) {
				return false
			}
			if _, oy := y.Zone(); ox != oy {
				return false
			}
		case float64:
			y, ok := b[i].(float64)
			if !ok || math.Float64bits(x) != math.Float64bits(y) {
				return false
			}
		default:
			if !reflect.DeepEqual(a[i], b[i]) {
				return false
			}
		}
	}
	return true
}

// FuzzKey: two lists share a key if and only if they are the same, whatever
// partitions they come with.
func FuzzKey(f *testing.F) {
	f.Add([]byte{4, 1, 'a', 4, 2, 'b', 'c'}, []byte{4, 2, 'a', 'b', 4, 1, 'c'}, "", "")
	f.Add([]byte{0}, []byte{4, 0}, "p", "")
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 1}, []byte{4, 1, '1'}, "p", "p")
	f.Add([]byte{7, 1, 'a', 1, 'b'}, []byte{4, 1, 'a', 4, 1, 'b'}, "", "\x00")
	f.Fuzz(func(t *testing.T, a, b []byte, pa, pb string) {
		la, lb := readList(a), readList(b)
		ka, _ := keyOf(t, keyHead{scope: 1, statement: 1, partition: pa}, la...)
		kb, _ := keyOf(t, keyHead{scope: 1, statement: 1, partition: pb}, lb...)
		if want := pa == pb && same(la, lb); (ka == kb) != want {
			t.Errorf("%#v (%q) and %#v (%q): keys equal %v, questions equal %v", la, pa, lb, pb, ka == kb, want)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	args := []driver.NamedValue{{Value: int64(7)}, {Value: "red"}, {Value: true}}
	var buf [256]byte
	b.ReportAllocs()
	for b.Loop() {
		k := appendHead(buf[:0], keyHead{scope: 1, statement: 2})
		for i := range args {
			k, _ = appendArgument(k, &args[i])
		}
		_ = k
	}
}
