package cachedpgx

import "database/sql/driver"

var _ driver.Tx = (*tx)(nil)

// tx is a transaction that BeginTx began.
type tx struct{ c *Conn }

// Commit ends the transaction. What it wrote is moved in the ledger before it
// returns; if the connection is lost, nobody knows whether it was committed.
func (t *tx) Commit() error { return t.end(driver.Tx.Commit, outcomeUnknown) }

// Rollback ends the transaction. One that loses its connection has been rolled
// back all the same.
func (t *tx) Rollback() error { return t.end(driver.Tx.Rollback, outcomeKnown) }

func (t *tx) end(how func(driver.Tx) error, ifLost outcome) error {
	c := t.c
	c.endRaw()
	inner := c.tx
	if inner == nil {
		return driver.ErrBadConn
	}
	c.tx = nil
	err := how(inner)
	if c.pin == nil {
		// It was lost in the middle, and the server has rolled it back.
		c.lost = c.state != sessionClean
		return err
	}
	if c.pin.server.lost() {
		c.open = false
		c.dropLost(ifLost)
		return err
	}
	c.open = c.pin.server.txStatus() != 'I' && c.pin.server.txStatus() != 0
	if !c.open {
		c.moveDirt()
	}
	return err
}
