//go:build go1.27

package cachedpgx_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5/pgtype"
)

// What database/sql can scan since Go 1.27, where the driver scans by itself.

type stdlibString string

// TestStdlibScanNative scans into pgx's and Go's own types without an adapter,
// and gives them back as arguments.
func TestStdlibScanNative(t *testing.T) {
	type scan struct {
		column string // of row 1, and NULL in row 3
		dest   func() any
	}
	scans := []scan{
		{"ta", func() any { return new([]*string) }}, {"ta", func() any { return new([]sql.NullString) }}, {"ta", func() any { return new([]string) }}, {"ta", func() any { return new([]pgtype.Text) }},
		{"ia", func() any { return &[]int64{9, 9} }}, {"ia", func() any { return new([]int8) }}, {"ia", func() any { return new([]uint32) }}, {"ia", func() any { return new(pgtype.FlatArray[int64]) }},
		{"ia", func() any { return new(pgtype.Array[int64]) }}, {"ia", func() any { return new(*[]int64) }}, {"ia", func() any { return new([3]int64) }}, {"ia", func() any { return new([]any) }},
		{"ARRAY[ia, ia]", func() any { return new(pgtype.Array[int64]) }}, {"ARRAY[ia, ia]", func() any { return new([][]int64) }}, {"ia::int2[]", func() any { return new(pgtype.FlatArray[byte]) }},
		{"ra", func() any { return new(pgtype.Range[pgtype.Int4]) }}, {"ra", func() any { return new(pgtype.Range[int32]) }}, {"ra", func() any { return new(*pgtype.Range[pgtype.Int4]) }},
		{"addr", func() any { return new(netip.Addr) }}, {"addr", func() any { return new(netip.Prefix) }}, {"addr", func() any { return new(*netip.Addr) }}, {"uid", func() any { return new([16]byte) }},
		{"uid", func() any { return new(pgtype.UUID) }}, {"price", func() any { return new(pgtype.Numeric) }}, {"iv", func() any { return new(time.Duration) }}, {"iv", func() any { return new(pgtype.Interval) }},
		{"pt", func() any { return new(pgtype.Point) }}, {"jb", func() any { return new(map[string]any) }}, {"jb", func() any { return new(stdlibObject) }}, {"js", func() any { return new(map[string]any) }},
		{"ok", func() any { return new(string) }}, {"made", func() any { return new(string) }}, {"made", func() any { return new(sql.RawBytes) }}, {"raw", func() any { return new(string) }}, {"raw", func() any { return new(stdlibString) }},
		{"raw", func() any { return new(*string) }}, {"raw", func() any { return new(pgtype.PreallocBytes) }}, {"f4", func() any { return new(any) }}, {"price", func() any { return new(any) }}, {"ia", func() any { return new(any) }},
		{"jb", func() any { return new(any) }}, {"jb", func() any { return new(*any) }}, {"id", func() any { return new(*any) }}, {"id", func() any { return new(pgtype.Int8) }}, {"id", func() any { return new(chan int) }},
		{"name", func() any { return new(pgtype.Text) }}, {"name", func() any { return new([]string) }}, {"oi", func() any { return new(pgtype.Uint32) }}, {"tz", func() any { return new(pgtype.Timestamptz) }},
		{"'9007199254740993'::jsonb", func() any { return new(any) }}, {"'null'::jsonb", func() any { return new(any) }}, {"(id, name)", func() any { return new(any) }}, {"(id, name)", func() any { return new(struct{ A, B any }) }},
	}
	stdlibInModes(t, stdlibEncodings, stdlibSchema, func(e *pgEnv) {
		for _, s := range scans {
			for _, id := range []int{1, 3} {
				text := fmt.Sprintf("SELECT %s FROM item WHERE id = %d", s.column, id)
				scanned := false
				dest := s.dest()
				e.stdlibScanRead(fmt.Sprintf("%s into %T", text, dest), func(db *sql.DB) string {
					dest = s.dest()
					told := pgError(db.QueryRowContext(e.ctx, text).Scan(dest))
					scanned = told == ""
					return told + stdlibShow(dest)
				})
				if _, isAny := dest.(*any); !scanned || isAny || id != 1 || s.column[0] == '(' || s.column[0] == '\'' {
					continue
				}
				back := fmt.Sprintf("SELECT id FROM item WHERE %s = $1 OR id = $2", s.column)
				e.stdlibBoth(fmt.Sprintf("%s, back from %T", text, dest), func(db *sql.DB) string { return fmt.Sprint(pgAsk(e.ctx, db, back, dest, 5)) })
			}
		}
		e.stdlibScanRead("a Scanner is asked once", func(db *sql.DB) (told string) {
			refused := errors.New("a value that the scanner refused")
			for _, text := range []string{"SELECT id FROM item WHERE id = 1", "SELECT jb FROM item WHERE id = 1", "SELECT jb FROM item WHERE id = 3"} {
				s := &stdlibOnce{err: refused}
				err := db.QueryRowContext(e.ctx, text).Scan(s)
				told += fmt.Sprint(errors.Is(err, refused), s.calls, pgError(err))
			}
			return told
		})
		e.stdlibScanRead("nil destinations", func(db *sql.DB) (told string) {
			for _, dest := range []any{nil, (*int64)(nil), (*string)(nil), (*[]int32)(nil), (*sql.NullString)(nil), (*pgtype.Range[int32])(nil)} {
				for _, id := range []int{1, 3} {
					told += pgError(db.QueryRowContext(e.ctx, "SELECT oi FROM item WHERE id = $1", id).Scan(dest))
				}
			}
			return told
		})
		e.stdlibScanRead("bytes into memory of the caller's", func(db *sql.DB) string {
			backing := make([]byte, 16)
			b := pgtype.PreallocBytes(backing)
			err := db.QueryRowContext(e.ctx, "SELECT raw FROM item WHERE id = 1").Scan(&b)
			told := fmt.Sprintf("%s %x, its own: %t", pgError(err), b, unsafe.SliceData(b) == unsafe.SliceData(backing))
			for i := range backing {
				backing[i] = 'X' // no hit sees it
			}
			return told
		})
		e.stdlibScanRead("lists, written over", func(db *sql.DB) string {
			var ints []int64
			var texts []*string
			var m map[string]any
			err := db.QueryRowContext(e.ctx, "SELECT ia, ta, jb FROM item WHERE id = 1").Scan(&ints, &texts, &m)
			told := fmt.Sprint(pgError(err), ints, *texts[0], m)
			ints[0], *texts[0], m["a"] = 7, "X", nil
			return told
		})
	})
}

// stdlibScanRead is stdlibRead for scans that may fail: what was read is kept
// all the same.
func (e *pgEnv) stdlibScanRead(what string, f func(db *sql.DB) string) {
	e.Helper()
	e.stdlibRead(what, func(db *sql.DB) (string, error) { return f(db), nil })
}

// TestStdlibScanMultirange is for servers that have them.
func TestStdlibScanMultirange(t *testing.T) {
	if version, _ := pgServerOffers(t, pgtest.DSN(t)); version < 14 {
		t.Skip("needs PostgreSQL 14")
	}
	stdlibEachMode(t, "CREATE TABLE m (id int, r int4multirange); INSERT INTO m VALUES (1, '{[1,5), [7,9)}'), (2, '{}'), (3, NULL)", func(e *pgEnv) {
		for id := range 4 {
			e.stdlibScanRead(fmt.Sprint("row ", id), func(db *sql.DB) string {
				var typed pgtype.Multirange[pgtype.Range[pgtype.Int4]]
				var plain pgtype.Multirange[pgtype.Range[int32]]
				err := db.QueryRowContext(e.ctx, "SELECT r, r FROM m WHERE id = $1", id).Scan(&typed, &plain)
				return pgError(err) + stdlibShow(&typed) + stdlibShow(&plain)
			})
		}
		e.stdlibBoth("as an argument", func(db *sql.DB) string {
			var r pgtype.Multirange[pgtype.Range[pgtype.Int4]]
			if err := db.QueryRowContext(e.ctx, "SELECT r FROM m WHERE id = 1").Scan(&r); err != nil {
				return pgError(err)
			}
			return fmt.Sprint(pgAsk(e.ctx, db, "SELECT id FROM m WHERE r = $1", r))
		})
	})
}
