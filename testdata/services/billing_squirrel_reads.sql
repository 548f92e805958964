-- @customer_by_id squirrel
-- @args ["55feb130-be43-8e68-6ad6-a80d12dd8f44"]
SELECT id, name, email, currency, balance FROM billing.customers WHERE id = $1

-- @customers_in squirrel
-- @args [true,1,2]
SELECT * FROM billing.customers c WHERE c.livemode = $1 AND c.org_id IN ($2,$3) ORDER BY c.created DESC, c.id LIMIT 10 OFFSET 0

-- @customers_alive squirrel
SELECT id, name FROM billing.customers WHERE deleted_at IS NULL AND email IS NOT NULL ORDER BY id

-- @customers_or squirrel
-- @args ["Customer 1%","%9@CORP.example"]
SELECT id FROM billing.customers WHERE (name LIKE $1 OR email ILIKE $2) ORDER BY id

-- @customers_and squirrel
-- @args [{"time":"2023-11-20T00:00:00Z"},{"time":"2024-01-20T00:00:00Z"},"USD"]
SELECT id FROM billing.customers WHERE (created >= $1 AND created < $2 AND currency <> $3) ORDER BY created

-- @customers_metadata squirrel
-- @args ["gold"]
SELECT id, metadata->>'tier' AS tier FROM billing.customers WHERE metadata->>'tier' = $1 ORDER BY created

-- @customers_has_key squirrel
-- @args ["crm"]
SELECT count(*) FROM billing.customers WHERE metadata ? $1

-- @customer_spend squirrel
-- @args ["paid",50]
SELECT c.id, c.name, COALESCE(SUM(i.total), 0) AS spent FROM billing.customers c LEFT JOIN billing.invoices i ON i.customer_id = c.id AND i.status = $1 GROUP BY c.id, c.name HAVING COALESCE(SUM(i.total), 0) > $2 ORDER BY spent DESC, c.id

-- @invoices_page squirrel
-- @args ["open","paid",{"time":"2024-01-20T00:00:00Z"},"55feb130-be43-8e68-6ad6-a80d12dd8f44"]
SELECT i.id, i.number, i.total, i.status, c.name FROM billing.invoices AS i JOIN billing.customers AS c ON c.id = i.customer_id WHERE i.status IN ($1,$2) AND (i.created, i.id) < ($3, $4) ORDER BY i.created DESC, i.id DESC LIMIT 20

-- @invoices_total squirrel
-- @args ["open"]
SELECT COUNT(*) FROM billing.invoices WHERE status = $1

-- @invoices_no_payment squirrel
-- @args ["succeeded"]
SELECT i.id FROM billing.invoices i WHERE NOT EXISTS (SELECT 1 FROM billing.payments p WHERE p.invoice_id = i.id AND p.state = $1) ORDER BY i.created

-- @invoices_from_select squirrel
-- @args [20]
SELECT s.status, max(s.total) AS largest FROM (SELECT status, total FROM billing.invoices WHERE total > $1) AS s GROUP BY s.status ORDER BY s.status

-- @invoices_case squirrel
-- @args [100]
SELECT number, (CASE status WHEN 'paid' THEN 'closed' WHEN 'void' THEN 'closed' ELSE 'pending' END) AS bucket, total > $1 AS big FROM billing.invoices ORDER BY number

-- @invoices_suffix squirrel
SELECT DISTINCT status FROM billing.invoices WHERE number IS NOT NULL ORDER BY status LIMIT 3

-- @payments_prefix squirrel
-- @args ["succeeded"]
WITH t AS (SELECT method, count(*) AS n FROM billing.payments WHERE state = $1 GROUP BY method) SELECT t.method, t.n FROM t ORDER BY t.method

-- @lines_options squirrel
-- @args [false]
SELECT DISTINCT ON (invoice_id) description FROM billing.invoice_lines WHERE proration = $1 ORDER BY invoice_id, id

-- @lines_empty_in squirrel
SELECT id FROM billing.invoice_lines WHERE (1=0)

-- @plan_cross_join squirrel
SELECT p.id, f.feature FROM billing.plans p CROSS JOIN LATERAL unnest(p.features) AS f(feature) WHERE p.active ORDER BY p.id, f.feature

