-- @payments_in_states sqlx
-- @args ["succeeded","failed","card"]
SELECT id, amount, state FROM billing.payments WHERE state IN ($1, $2) AND method IN ($3) ORDER BY created, id

-- @plans_in sqlx
-- @args ["pro","ent","nope"]
SELECT id, name, amount_cents FROM billing.plans WHERE id IN ($1, $2, $3) ORDER BY id

-- @payments_named sqlx
-- @args [15.5,60,"card","card"]

		SELECT p.id, p.amount, p.currency, i.number AS "invoice.number", i.total AS "invoice.total"
		FROM billing.payments p
		JOIN billing.invoices i ON p.invoice_id = i.id
		WHERE p.amount >= $1 AND p.amount <= $2 AND ($3 = '' OR p.method = $4)
		ORDER BY p.created DESC

-- @credits_named sqlx
-- @args [2,{"time":"2024-03-01T00:00:00Z"}]
SELECT COALESCE(SUM(amount_cents), 0) AS "sum" FROM billing.credits WHERE customer_id IN (SELECT id FROM billing.customers WHERE org_id = $1) AND (expires_at IS NULL OR expires_at > $2)

