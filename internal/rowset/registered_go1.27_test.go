//go:build go1.27

package rowset

import (
	"database/sql/driver"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// A codec that can't be copied is used by one at a time, also to scan into what
// only pgx knows, under -race.
func TestScanColumnByACodecWithAState(t *testing.T) {
	ms := countingMaps(t)
	s := build(t, []pgconn.FieldDescription{field("n", pgtype.Int4OID)}, [][][]byte{{[]byte("b")}})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				rows := s.Once(ms, nil).(driver.RowsColumnScanner)
				if err := rows.NextRow(); err != nil {
					t.Error(err)
				}
				var n int64
				if err := rows.ScanColumn(driver.ScanContext{}, 0, &n); err != nil || n != 1 {
					t.Errorf("%d, %v", n, err)
				}
				var runes []rune
				if err := rows.ScanColumn(driver.ScanContext{}, 0, &runes); err != nil || string(runes) != "counted b" {
					t.Errorf("%q, %v", string(runes), err)
				}
				rows.Close()
			}
		})
	}
	wg.Wait()
}

// The destination's codec is the registered one.
func TestScanColumnByARegisteredCodec(t *testing.T) {
	ms := mapsWith(t, "box", pgtype.BoxOID, func() pgtype.Codec { return runeCodec{} })
	s := build(t, []pgconn.FieldDescription{field("b", pgtype.BoxOID)}, [][][]byte{{[]byte("b")}})
	rows := s.Rows(ms, nil).(driver.RowsColumnScanner)
	defer rows.Close()
	var runes []rune
	if err := rows.NextRow(); err != nil {
		t.Fatal(err)
	}
	if err := rows.ScanColumn(driver.ScanContext{}, 0, &runes); err != nil || string(runes) != "rune b" {
		t.Errorf("%q, %v", string(runes), err)
	}
}

type runeCodec struct{ pgtype.TextCodec }

func (runeCodec) PlanScan(*pgtype.Map, uint32, int16, any) pgtype.ScanPlan { return runePlan{} }

type runePlan struct{}

func (runePlan) Scan(src []byte, target any) error {
	if dst, ok := target.(*[]rune); ok {
		*dst = []rune("rune " + string(src))
	}
	return nil
}
