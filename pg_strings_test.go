package cachedpgx_test

import "testing"

// With standard_conforming_strings off a plain literal takes backslashes for
// escapes, so the server reads a text with one otherwise than the scanner. Such
// a text is never cached, and counts as a write, whoever switched it off.
// Kind 3.
func TestPGOddStrings(t *testing.T) {
	const schema = `CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'a'), (2, 'b')`
	// To the scanner: name = 'a\' OR id = 2, and a comment. To the server: one literal.
	const text = `SELECT id FROM item WHERE name = 'a\' OR id = 2 --'`
	const plain = "SELECT id FROM item WHERE id = 1"

	t.Run("by the DSN", func(t *testing.T) {
		e := newPG(t, schema, "standard_conforming_strings=off")
		e.warm(plain)
		if n := e.calls(text, func() { pgAsk(e.ctx, e.db, text); pgAsk(e.ctx, e.db, text) }); n < 2 {
			t.Errorf("%d calls at the server, want 2", n)
		}
		if n := e.calls(plain, func() { e.one(e.db, plain) }); n != 1 {
			t.Errorf("after a text that may be anything, %d calls at the server, want 1", n)
		}
	})
	t.Run("by a session", func(t *testing.T) {
		e := newPG(t, schema)
		e.warm(plain)
		conn := e.session(e.db)
		e.must(conn, "SET standard_conforming_strings = off")
		e.warm(plain)
		for range 2 {
			if n := e.calls(text, func() { pgAsk(e.ctx, conn, text) }); n != 1 {
				t.Errorf("%d calls at the server, want 1", n)
			}
		}
		if n := e.calls(plain, func() { e.one(e.db, plain) }); n != 1 {
			t.Errorf("after a text that may be anything, %d calls at the server, want 1", n)
		}
	})
}
