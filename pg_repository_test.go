package cachedpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestPGRepository runs the tests of an ordinary repository, which knows nothing
// of caches, with each driver: the driver's name is all that differs.
func TestPGRepository(t *testing.T) {
	for _, driver := range []string{"pgx", "cachedpgx"} {
		t.Run(driver, func(t *testing.T) {
			db := pgOpen(t, driver, pgtest.DSN(t))
			testAccounts(t, &accounts{db: db})
		})
	}
}

// TestPGRepositoryMarkedAndOff is the same where little or nothing is cached:
// what is not cached works, too.
func TestPGRepositoryMarkedAndOff(t *testing.T) {
	for _, param := range []string{"cache_mode=off", "cache_mode=marked", "cache_pooler=transaction", "cache_negative_ttl=off", "cache_max_rows=1", "cache_ttl=1ms", "cache_server_max_open=3"} {
		t.Run(param, func(t *testing.T) {
			db := pgOpen(t, "cachedpgx", pgtest.DSN(t)+"&"+param)
			testAccounts(t, &accounts{db: db})
		})
	}
}

type account struct {
	ID      int64
	Email   string
	Name    sql.NullString
	Balance int64
	Opened  time.Time
}

var (
	errNoAccount = errors.New("no such account")
	errTaken     = errors.New("the address is taken")
	errPoor      = errors.New("not enough money")
)

// accounts is the repository.
type accounts struct{ db *sql.DB }

const accountCols = "id, email, name, balance, opened"

func (r *accounts) migrate(ctx context.Context) error {
	_, err := r.db.ExecContext(ctx, `CREATE TABLE account (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		email text NOT NULL UNIQUE,
		name text,
		balance bigint NOT NULL DEFAULT 0 CHECK (balance >= 0),
		opened timestamptz NOT NULL)`)
	return err
}

func (r *accounts) register(ctx context.Context, email string, opened time.Time) (int64, error) {
	var id int64
	err := r.db.QueryRowContext(ctx, "INSERT INTO account (email, opened) VALUES ($1, $2) RETURNING id", email, opened).Scan(&id)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23505" {
		return 0, errTaken
	}
	return id, err
}

func (r *accounts) byEmail(ctx context.Context, email string) (account, error) {
	var a account
	err := r.db.QueryRowContext(ctx, "SELECT "+accountCols+" FROM account WHERE email = $1", email).
		Scan(&a.ID, &a.Email, &a.Name, &a.Balance, &a.Opened)
	if errors.Is(err, sql.ErrNoRows) {
		return a, errNoAccount
	}
	return a, err
}

func (r *accounts) list(ctx context.Context, limit, offset int) ([]account, error) {
	rows, err := r.db.QueryContext(ctx, "SELECT "+accountCols+" FROM account ORDER BY email LIMIT $1 OFFSET $2", limit, offset)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []account
	for rows.Next() {
		var a account
		if err := rows.Scan(&a.ID, &a.Email, &a.Name, &a.Balance, &a.Opened); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, rows.Err()
}

func (r *accounts) rename(ctx context.Context, id int64, name sql.NullString) error {
	res, err := r.db.ExecContext(ctx, "UPDATE account SET name = $2 WHERE id = $1", id, name)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errNoAccount)
	}
	return nil
}

func (r *accounts) pay(ctx context.Context, from, to, amount int64) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var have int64
	if err := tx.QueryRowContext(ctx, "SELECT balance FROM account WHERE id = $1 FOR UPDATE", from).Scan(&have); err != nil {
		return err
	}
	if have < amount {
		return errPoor
	}
	for id, by := range map[int64]int64{from: -amount, to: amount} {
		if _, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance + $2 WHERE id = $1", id, by); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (r *accounts) total(ctx context.Context) (n int, sum sql.NullInt64, err error) {
	err = r.db.QueryRowContext(ctx, "SELECT count(*), sum(balance) FROM account").Scan(&n, &sum)
	return n, sum, err
}

func (r *accounts) close(ctx context.Context, id int64) error {
	_, err := r.db.ExecContext(ctx, "DELETE FROM account WHERE id = $1", id)
	return err
}

// testAccounts is the repository's own test.
func testAccounts(t *testing.T, r *accounts) {
	ctx := t.Context()
	if err := r.migrate(ctx); err != nil {
		t.Fatal(err)
	}
	n, sum, err := r.total(ctx)
	if err != nil || n != 0 || sum.Valid {
		t.Fatalf("total of nothing: %d, %v, %v", n, sum, err)
	}

	opened := time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC)
	ids := map[string]int64{}
	for i := range 20 {
		email := fmt.Sprintf("user%02d@example.org", i)
		for range 2 {
			if _, err := r.byEmail(ctx, email); !errors.Is(err, errNoAccount) {
				t.Fatalf("%s before it is registered: %v", email, err)
			}
		}
		id, err := r.register(ctx, email, opened)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			a, err := r.byEmail(ctx, email)
			if err != nil || a.ID != id || a.Email != email || a.Name.Valid || a.Balance != 0 || !a.Opened.Equal(opened) {
				t.Fatalf("%s after it is registered: %+v, %v", email, a, err)
			}
		}
		ids[email] = id
	}
	if _, err := r.register(ctx, "user00@example.org", opened); !errors.Is(err, errTaken) {
		t.Fatalf("a second registration: %v", err)
	}

	first, second := ids["user00@example.org"], ids["user01@example.org"]
	for _, name := range []sql.NullString{{String: "Ada", Valid: true}, {String: "", Valid: true}, {}} {
		if err := r.rename(ctx, first, name); err != nil {
			t.Fatal(err)
		}
		if a, err := r.byEmail(ctx, "user00@example.org"); err != nil || a.Name != name {
			t.Fatalf("renamed to %+v: %+v, %v", name, a, err)
		}
	}
	if err := r.rename(ctx, -1, sql.NullString{}); !errors.Is(err, errNoAccount) {
		t.Fatalf("renaming nobody: %v", err)
	}

	for range 2 {
		page, err := r.list(ctx, 5, 10)
		if err != nil || len(page) != 5 || page[0].Email != "user10@example.org" {
			t.Fatalf("a page: %+v, %v", page, err)
		}
		if !slices.IsSortedFunc(page, func(a, b account) int { return int(a.ID - b.ID) }) {
			t.Fatalf("the page is out of order: %+v", page)
		}
	}

	if err := r.pay(ctx, first, second, 10); !errors.Is(err, errPoor) {
		t.Fatalf("a payment without money: %v", err)
	}
	if _, err := r.db.ExecContext(ctx, "UPDATE account SET balance = 100 WHERE id = $1", first); err != nil {
		t.Fatal(err)
	}
	for i := range int64(10) {
		if err := r.pay(ctx, first, second, 10); err != nil {
			t.Fatal(err)
		}
		a, err1 := r.byEmail(ctx, "user00@example.org")
		b, err2 := r.byEmail(ctx, "user01@example.org")
		if err := errors.Join(err1, err2); err != nil || a.Balance != 90-10*i || b.Balance != 10+10*i {
			t.Fatalf("after payment %d: %d and %d, %v", i, a.Balance, b.Balance, err)
		}
		if n, sum, err := r.total(ctx); err != nil || n != 20 || sum.Int64 != 100 {
			t.Fatalf("after payment %d: total %d of %d, %v", i, sum.Int64, n, err)
		}
	}
	for email, id := range ids {
		if err := r.close(ctx, id); err != nil {
			t.Fatal(err)
		}
		if _, err := r.byEmail(ctx, email); !errors.Is(err, errNoAccount) {
			t.Fatalf("%s after it is closed: %v", email, err)
		}
	}
	if page, err := r.list(ctx, 5, 0); err != nil || len(page) != 0 {
		t.Fatalf("the list after all are closed: %v, %v", page, err)
	}
}
