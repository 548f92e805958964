-- @customer_get sqlc
-- @args ["033f7f61-2150-1ae9-8285-ad77f216d5e7"]
-- name: GetCustomer :one
SELECT id, org_id, name, email, currency, balance, tax_ids, metadata, livemode, created, deleted_at FROM billing.customers
WHERE id = $1 LIMIT 1

-- @customer_get_cast hand
-- @args ["033f7f61-2150-1ae9-8285-ad77f216d5e7"]
SELECT c.id::text AS id, c.name FROM billing.customers c WHERE c.id = $1::uuid AND c.deleted_at IS NULL

-- @customer_get_gorm gorm
-- @args ["55feb130-be43-8e68-6ad6-a80d12dd8f44",1]
SELECT * FROM "billing"."customers" WHERE id = $1 AND "billing"."customers"."deleted_at" IS NULL ORDER BY "billing"."customers"."id" LIMIT $2

-- @customer_get_ent ent
-- @args ["55feb130-be43-8e68-6ad6-a80d12dd8f44"]
SELECT "billing"."customers"."id", "billing"."customers"."name" FROM "billing"."customers" WHERE "billing"."customers"."id" = $1 LIMIT 2

-- @customer_get_bun bun
SELECT "c"."id", "c"."name", "c"."currency" FROM "billing"."customers" AS "c" WHERE ("c"."name" = 'Customer 7') AND ("c"."deleted_at" IS NULL)

-- @customers_any_uuid sqlc
-- @args [{"texts":["ffbc4675-f864-e0e9-aab8-bdf7a0437010","5ce4d191-fd14-ac85-a146-9fb8c29b7a7b"]}]
SELECT id, name FROM billing.customers WHERE id = ANY($1::uuid[]) ORDER BY name

-- @customers_email_ci hand
-- @args ["BILLING4@CORP.EXAMPLE"]
SELECT id, email FROM billing.customers WHERE lower(email) = lower($1)

-- @customers_balance_domain hand
-- @args [0]
SELECT name, balance, balance::numeric / 100 AS major, billing.to_major(balance) AS f, abs(balance) FROM billing.customers WHERE balance > $1::billing.cents ORDER BY balance

-- @customers_domain_group hand
-- @args ["EUR"]
SELECT currency, count(*), sum(balance)::bigint FROM billing.customers WHERE currency = $1 OR currency <> 'GBP' GROUP BY currency ORDER BY currency

-- @customers_keyset sqlc
-- @args [{"time":"2024-02-01T00:00:00Z"},"ffffffff-ffff-ffff-ffff-ffffffffffff",5]
-- name: ListCustomers :many
SELECT id, name, created FROM billing.customers
WHERE (created, id) < ($1::timestamptz, $2::uuid)
ORDER BY created DESC, id DESC LIMIT $3

-- @customers_tax_ids hand
-- @args ["DE7"]
SELECT c.id, t->>'value' AS vat FROM billing.customers c, jsonb_array_elements(c.tax_ids) t WHERE t->>'type' = 'eu_vat' AND t->>'value' = $1

-- @customers_tax_contains hand
SELECT id FROM billing.customers WHERE tax_ids @> '[{"type": "eu_vat", "value": "DE9"}]'

-- @customers_recordset hand
SELECT c.name, x.type, x.value FROM billing.customers c CROSS JOIN LATERAL jsonb_to_recordset(c.tax_ids) AS x(type text, value text) ORDER BY c.name

-- @customers_metadata_text hand
-- @args ["gold"]
SELECT count(*) FROM billing.customers WHERE metadata ->> 'tier' = $1 AND metadata #>> '{crm}' LIKE 'x%'

-- @customers_pretty hand
SELECT name, jsonb_pretty(metadata), metadata::text, (metadata - 'crm') || jsonb_build_object('n', name), jsonb_object_keys(metadata) AS k FROM billing.customers ORDER BY name, k LIMIT 6

-- @customer_balances_view hand
SELECT id, name, due, open_invoices FROM billing.customer_balances WHERE due > 0 ORDER BY due DESC, id

-- @debtors_nested_view sqlx
-- @args [3]
SELECT name, due, rank FROM billing.debtors WHERE rank <= $1 ORDER BY rank, name

-- @mrr_view hand
SELECT plan_id, round(mrr_cents, 2) AS mrr FROM billing.mrr ORDER BY plan_id

-- @mrr_total hand
SELECT coalesce(sum(mrr_cents), 0)::bigint AS mrr, coalesce(sum(mrr_cents) * 12 / 100, 0)::numeric(14,2) AS arr FROM billing.mrr

-- @revenue_matview hand
SELECT month, currency, revenue, revenue - lag(revenue, 1, 0::numeric) OVER (ORDER BY month) AS change FROM billing.revenue_monthly ORDER BY month

-- @plans_list gorm
-- @args [true]
SELECT * FROM "billing"."plans" WHERE active = $1 ORDER BY amount_cents

-- @plans_composite hand
SELECT id, (price).value AS value, (price).currency, price FROM billing.plans WHERE (price).value >= 9 ORDER BY (price).value

-- @plans_interval hand
SELECT id, trial, trial > interval '20 days' AS long, extract(day FROM trial) AS days, justify_hours(trial * 2), "interval", trial::text FROM billing.plans ORDER BY id

-- @plans_tiers hand
SELECT p.id, t.tier->>'upto' AS upto, (t.tier->>'cents')::bigint AS cents FROM billing.plans p CROSS JOIN LATERAL jsonb_array_elements(p.tiers) AS t(tier) ORDER BY p.id, cents

-- @plans_feature hand
-- @args ["sso"]
SELECT id FROM billing.plans WHERE $1 = ANY(features) ORDER BY id

-- @subscription_active sqlc
-- @may what lower gives is not known
-- @args ["dbaa8bd2-5e06-cc64-1f54-06027c026e8b"]
-- name: ActiveSubscription :one
SELECT s.id, s.plan_id, s.status, s.quantity, lower(s.period)::timestamptz AS current_period_start, upper(s.period)::timestamptz AS current_period_end, p.name AS plan_name
FROM billing.subscriptions s JOIN billing.plans p ON p.id = s.plan_id
WHERE s.customer_id = $1 AND s.status IN ('trialing', 'active', 'past_due')
ORDER BY s.created DESC LIMIT 1

-- @subscriptions_status_enum hand
-- @args [{"texts":["active","past_due"]}]
SELECT id, status FROM billing.subscriptions WHERE status::text = ANY($1) ORDER BY created

-- @subscriptions_status_arg squirrel
-- @args ["active"]
SELECT COUNT(*) FROM billing.subscriptions WHERE status = $1

-- @subscriptions_schema_enum hand
SELECT status, count(*) FROM billing.subscriptions WHERE status <> 'canceled'::billing.subscription_status GROUP BY status ORDER BY status

-- @subscriptions_due hand
-- @args [{"time":"2024-02-10T00:00:00Z"}]
SELECT id, upper(period) AS ends, period FROM billing.subscriptions WHERE upper(period) <= $1 AND status = 'active' ORDER BY upper(period)

-- @subscriptions_at hand
-- @args [{"time":"2024-01-25T12:00:00Z"}]
SELECT id FROM billing.subscriptions WHERE period @> $1::timestamptz ORDER BY created

-- @subscriptions_overlap hand
-- @args [{"time":"2024-01-05T00:00:00Z"},{"time":"2024-01-08T00:00:00Z"}]
SELECT id, period * tstzrange($1, $2) AS part FROM billing.subscriptions WHERE period && tstzrange($1::timestamptz, $2::timestamptz, '[)') ORDER BY created

-- @subscriptions_range_literal hand
SELECT count(*) FROM billing.subscriptions WHERE period << '[2024-02-20 00:00+00,2024-03-01 00:00+00)'::tstzrange

-- @subscriptions_range_argument hand
-- @args ["[2024-01-05 00:00+00,2024-01-06 00:00+00)"]
SELECT id FROM billing.subscriptions WHERE period && $1::tstzrange ORDER BY created

-- @subscriptions_starts_domain hand
-- @args [{"time":"2023-12-10T00:00:00Z"}]
SELECT id, starts_on, starts_on + 14 AS trial_end FROM billing.subscriptions WHERE starts_on < $1 ORDER BY starts_on

-- @subscriptions_churn hand
SELECT date_trunc('week', canceled_at) AS week, count(*) AS churned FROM billing.subscriptions WHERE canceled_at IS NOT NULL GROUP BY 1 ORDER BY 1

-- @subscriptions_proration hand
-- @args [{"time":"2024-01-20T00:00:00Z"}]
SELECT s.id, round((p.amount_cents * extract(epoch FROM (upper(s.period) - $1::timestamptz)) / extract(epoch FROM (upper(s.period) - lower(s.period))))::numeric, 2) AS credit FROM billing.subscriptions s JOIN billing.plans p ON p.id = s.plan_id WHERE s.period @> $1::timestamptz ORDER BY s.created

-- @invoice_get sqlc
-- @args ["INV-00012"]
-- name: InvoiceByNumber :one
SELECT i.*, c.name AS customer_name FROM billing.invoices i JOIN billing.customers c ON c.id = i.customer_id WHERE i.number = $1

-- @invoice_with_lines hand
-- @args ["cdefe30a-cd4a-243d-8607-4c23177e2c18"]
SELECT i.id, i.total, json_agg(l ORDER BY l.id) AS lines, sum(l.quantity * l.unit_amount) AS computed FROM billing.invoices i JOIN billing.invoice_lines l ON l.invoice_id = i.id WHERE i.id = $1 GROUP BY i.id

-- @invoice_lines sqlx
-- @args ["cdefe30a-cd4a-243d-8607-4c23177e2c18"]
SELECT id, description, quantity, unit_amount, (quantity * unit_amount)::numeric(14,2) AS amount, tax_rate FROM billing.invoice_lines WHERE invoice_id=$1 ORDER BY id

-- @invoice_tax_breakdown hand
-- @args ["cdefe30a-cd4a-243d-8607-4c23177e2c18"]
SELECT coalesce(tax_rate, 0) AS rate, sum(round(quantity * unit_amount, 2)) AS net, sum(round(quantity * unit_amount * coalesce(tax_rate, 0) / 100, 2)) AS tax FROM billing.invoice_lines WHERE invoice_id = $1 GROUP BY 1 ORDER BY 1

-- @invoices_open_view hand
-- @args [{"time":"2024-02-10T00:00:00Z"}]
SELECT number, total, $1::date - due_date AS days_late FROM billing.open_invoices WHERE due_date < $1::date ORDER BY due_date

-- @invoices_aging hand
-- @args [{"time":"2024-03-10T00:00:00Z"}]
SELECT c.name, sum(CASE WHEN $1::date - i.due_date <= 0 THEN i.total ELSE 0 END) AS current, sum(i.total) FILTER (WHERE $1::date - i.due_date BETWEEN 1 AND 30) AS d30, sum(i.total) FILTER (WHERE $1::date - i.due_date > 30) AS older FROM billing.invoices i JOIN billing.customers c ON c.id = i.customer_id WHERE i.status = 'open' GROUP BY c.name ORDER BY c.name

-- @invoices_by_month hand
SELECT to_char(created, 'YYYY-MM') AS month, status, count(*), sum(total) FROM billing.invoices GROUP BY 1, 2 ORDER BY 1, 2

-- @invoices_by_month_utc hand
SELECT date_trunc('month', created AT TIME ZONE 'UTC')::date AS month, sum(total) FILTER (WHERE status = 'paid') AS paid FROM billing.invoices GROUP BY 1 ORDER BY 1

-- @invoices_trunc_zone hand
SELECT date_trunc('day', created, 'America/New_York') AS day, count(*) FROM billing.invoices GROUP BY 1 ORDER BY 1 LIMIT 10

-- @invoices_number_parts hand
SELECT max((substring(number from 5))::int) AS last, max(split_part(number, '-', 2)::bigint) + 1 AS next, count(*) FILTER (WHERE number ~ '^INV-\d{5}$') AS shaped FROM billing.invoices

-- @invoices_doc_path hand
SELECT number, jsonb_path_query_array(doc, '$.lines[*].cents') AS cents, (SELECT sum((l->>'cents')::int) FROM jsonb_array_elements(doc->'lines') l) AS total FROM billing.invoices WHERE jsonb_path_exists(doc, '$.lines[*] ? (@.cents > 5000)') ORDER BY number

-- @invoices_page_window hand
-- @args [10,0]
WITH page AS (SELECT id, number, created, count(*) OVER () AS full_count FROM billing.invoices WHERE status = ANY('{open,paid}'::billing.invoice_status[]) ORDER BY created DESC, id LIMIT $1 OFFSET $2)
SELECT page.*, coalesce(p.paid, 0) AS paid FROM page LEFT JOIN LATERAL (SELECT sum(amount) AS paid FROM billing.payments WHERE invoice_id = page.id AND state = 'succeeded') p ON true ORDER BY page.created DESC, page.id

-- @invoices_first_last hand
SELECT customer_id, first_value(number) OVER w AS first, last_value(number) OVER (PARTITION BY customer_id ORDER BY created ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last, row_number() OVER w FROM billing.invoices WINDOW w AS (PARTITION BY customer_id ORDER BY created) ORDER BY number

-- @invoices_row_in hand
SELECT number FROM billing.invoices WHERE (status, attempt_count) IN (('open', 1), ('paid', 2)) ORDER BY number

-- @invoices_all_any hand
SELECT number FROM billing.invoices WHERE total >= ALL (SELECT total FROM billing.invoices WHERE status = 'paid') OR total = ANY (SELECT amount FROM billing.payments) ORDER BY number

-- @payments_success_rate hand
SELECT method, round(100.0 * count(*) FILTER (WHERE state = 'succeeded') / nullif(count(*), 0), 1) AS rate FROM billing.payments GROUP BY method ORDER BY method

-- @payments_money hand
SELECT id, fee, fee::numeric AS n, fee * 2 AS twice, fee + '1.00'::money AS more, fee > 0.5::money AS big, sum(fee) OVER (ORDER BY created) FROM billing.payments ORDER BY created LIMIT 5

-- @payments_card hand
-- @args ["visa"]
SELECT card->>'last4' AS last4, (card->>'exp_year')::smallint AS year FROM billing.payments WHERE card @> jsonb_build_object('brand', $1::text) AND (card->>'exp_year')::int >= 2026 ORDER BY created

-- @payments_failed_streak hand
SELECT customer_id, bool_and(state = 'failed') AS all_failed, array_agg(DISTINCT failure_code) FILTER (WHERE failure_code IS NOT NULL) AS codes FROM billing.payments GROUP BY customer_id ORDER BY customer_id

-- @payments_net_of_refunds sqlc
-- name: NetPayments :many
SELECT p.id, p.amount, COALESCE(r.refunded, 0)::numeric AS refunded, (p.amount - COALESCE(r.refunded, 0))::numeric AS net
FROM billing.payments p
LEFT JOIN (SELECT payment_id, SUM(amount) AS refunded FROM billing.refunds GROUP BY payment_id) r ON r.payment_id = p.id
WHERE p.state = 'succeeded'
ORDER BY p.created

-- @payments_exists hand
-- @args ["75b33dbc-708c-e84b-e8a0-756db5302726"]
SELECT EXISTS (SELECT 1 FROM billing.payments WHERE invoice_id = $1 AND state = 'succeeded') AS paid

-- @ledger_trial_balance sqlc
-- @args [{"time":"2024-02-01T00:00:00Z"}]
-- name: TrialBalance :many
SELECT a.code, a.name, COALESCE(SUM(e.debit), 0)::numeric(18,2) AS debit, COALESCE(SUM(e.credit), 0)::numeric(18,2) AS credit, SUM(e.debit - e.credit) AS balance
FROM billing.ledger_accounts a LEFT JOIN billing.ledger_entries e ON e.account_id = a.id AND e.posted_on <= $1
GROUP BY a.id ORDER BY a.code

-- @ledger_statement hand
-- @args [2]
SELECT id, posted_on, debit, credit, sum(debit - credit) OVER (ORDER BY posted_on, id) AS running FROM billing.ledger_entries WHERE account_id = $1 ORDER BY posted_on, id

-- @ledger_unbalanced hand
SELECT tx FROM billing.ledger_entries GROUP BY tx HAVING sum(debit) <> sum(credit) ORDER BY tx

-- @ledger_account_tree hand
WITH RECURSIVE t AS (SELECT id, id AS root FROM billing.ledger_accounts UNION ALL SELECT a.id, t.root FROM billing.ledger_accounts a JOIN t ON a.parent_id = t.id) SELECT r.code, sum(e.debit - e.credit) AS total FROM t JOIN billing.ledger_accounts r ON r.id = t.root LEFT JOIN billing.ledger_entries e ON e.account_id = t.id GROUP BY r.code ORDER BY r.code

-- @ledger_rollup hand
SELECT a.kind, a.code, sum(e.debit) AS debit FROM billing.ledger_entries e JOIN billing.ledger_accounts a ON a.id = e.account_id GROUP BY ROLLUP (a.kind, a.code) ORDER BY a.kind NULLS LAST, a.code NULLS LAST

-- @usage_sum sqlc
-- @args ["55feb130-be43-8e68-6ad6-a80d12dd8f44","api",{"time":"2024-01-01T00:00:00Z"},{"time":"2024-02-01T00:00:00Z"}]
-- name: UsageTotal :one
SELECT COALESCE(SUM(quantity), 0)::bigint AS total FROM billing.usage_events
WHERE customer_id = $1 AND meter = $2 AND at >= $3 AND at < $4

-- @usage_by_day hand
-- @args ["api"]
SELECT at::date AS day, sum(quantity) AS q, count(DISTINCT customer_id) AS customers FROM billing.usage_events WHERE meter = $1 GROUP BY 1 ORDER BY 1

-- @usage_by_bin hand
-- @min 14
SELECT date_bin('6 hours', at, TIMESTAMPTZ '2024-01-01 00:00+00') AS bin, sum(quantity) FROM billing.usage_events GROUP BY 1 ORDER BY 1 LIMIT 20

-- @usage_properties hand
SELECT properties->>'region' AS region, percentile_cont(0.95) WITHIN GROUP (ORDER BY (properties->>'ms')::int) AS p95, avg((properties->>'ms')::numeric)::float8 FROM billing.usage_events GROUP BY 1 ORDER BY 1

-- @usage_subpartition hand
SELECT count(*), sum(quantity) FROM billing.usage_events_2024_q1

-- @usage_peak hand
SELECT DISTINCT ON (customer_id, meter) customer_id, meter, quantity, at FROM billing.usage_events ORDER BY customer_id, meter, quantity DESC

-- @usage_idempotency hand
-- @args [{"texts":["k1","k2","zz"]}]
SELECT k.key, u.meter FROM unnest($1::text[]) AS k(key) LEFT JOIN billing.usage_events u ON u.idempotency_key = k.key ORDER BY k.key

-- @usage_parallel_unnest hand
-- @args [{"texts":["api","seats"]},{"ints":[100,200]}]
SELECT l.meter, l.cap, coalesce(sum(u.quantity), 0) AS used FROM unnest($1::text[], $2::bigint[]) AS l(meter, cap) LEFT JOIN billing.usage_events u USING (meter) GROUP BY l.meter, l.cap ORDER BY l.meter

-- @usage_rows_from hand
SELECT x.a, x.b, (SELECT count(*) FROM billing.usage_events) FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['x', 'y'])) AS x(a, b) ORDER BY x.a

-- @tax_rate_at hand
-- @args ["DE",{"time":"2024-01-10T00:00:00Z"}]
SELECT rate FROM billing.tax_rates WHERE country = $1 AND region IS NULL AND valid @> $2::date

-- @exchange_latest hand
-- @args [{"time":"2024-01-20T00:00:00Z"}]
SELECT DISTINCT ON (base, quote) base, quote, rate, on_day FROM billing.exchange_rates WHERE on_day <= $1 ORDER BY base, quote, on_day DESC

-- @exchange_convert hand
-- @args ["USD","2024-01-15",100.5]
SELECT round($3::numeric / rate, 2) AS converted, (1 / rate)::numeric(18,8), rate::float8, rate::text FROM billing.exchange_rates WHERE quote = $1 AND on_day = $2::date

-- @credits_remaining hand
-- @args ["033f7f61-2150-1ae9-8285-ad77f216d5e7",{"time":"2024-06-01T00:00:00Z"}]
SELECT coalesce(sum(amount_cents), 0)::bigint FROM billing.credits WHERE customer_id = $1 AND (expires_at IS NULL OR expires_at > $2::timestamptz)

-- @api_key_lookup sqlc
-- @args [{"bytes":"b10253764c8b233fb37542e23401c7b450e5a6f9751f3b5a014f6f67e8bc999d"}]
-- name: GetAPIKey :one
SELECT id, org_id, scopes FROM billing.api_keys WHERE key_hash = $1 AND revoked_at IS NULL

-- @api_key_hash_in_sql hand
-- @args ["key2"]
SELECT id, prefix, encode(key_hash, 'hex'), substring(key_hash from 1 for 4), get_byte(key_hash, 0) FROM billing.api_keys WHERE key_hash = sha256(convert_to($1, 'UTF8'))

-- @api_key_decode hand
-- @args ["00ff"]
SELECT count(*) FROM billing.api_keys WHERE key_hash <> decode($1, 'hex') AND length(key_hash) = 32 AND scopes @> '{read}'

-- @webhook_pending hand
-- @args [{"time":"2024-02-01T01:00:00Z"},5]
SELECT id, type, payload #>> '{data,object,id}' AS object_id FROM billing.webhook_events WHERE delivered_at IS NULL AND created <= $1 ORDER BY created LIMIT $2

-- @webhook_types hand
SELECT type, count(*), max((payload->'data'->'object'->>'total')::numeric) AS biggest FROM billing.webhook_events WHERE type LIKE 'invoice.%' GROUP BY type ORDER BY type

-- @webhook_json_text_date hand
SELECT id, payload #>> '{data,object,at}' AS at FROM billing.webhook_events WHERE payload #>> '{data,object,at}' >= '2024-01-01' ORDER BY created

-- @org_settings_default hand
-- @args [1]
SELECT coalesce((settings->>'net_days')::int, 14) AS net_days, coalesce(settings->'tax', '{}'::jsonb)->>'mode' AS mode, settings ? 'tax' FROM billing.org_settings WHERE org_id = $1

-- @org_settings_missing hand
-- @args [99]
SELECT settings FROM billing.org_settings WHERE org_id = $1

-- @imports_raw_amount hand
SELECT id, (raw->>'amount')::numeric AS amount, raw_date FROM billing.imports ORDER BY id

-- @audit_search hand
-- @args ["invoice/1%",{"time":"2024-02-01T00:00:00Z"}]
SELECT l.id, l.actor, l.action, l.diff->'old' AS old, l.diff->'new' AS new FROM audit.log l WHERE l.target LIKE $1 AND l.at >= $2 ORDER BY l.at DESC, l.id

-- @audit_actors hand
SELECT actor, count(*), min(at), max(at), max(at) - min(at) AS span FROM audit.log GROUP BY actor HAVING count(*) > 2 ORDER BY actor

-- @audit_last_action hand
SELECT a.actor, (SELECT l.action FROM audit.log l WHERE l.actor = a.actor ORDER BY l.at DESC LIMIT 1) AS last FROM (SELECT DISTINCT actor FROM audit.log) a ORDER BY a.actor

-- @dashboard_union hand
-- @args [{"time":"2024-01-01T00:00:00Z"},{"time":"2024-02-01T00:00:00Z"}]
SELECT 'invoiced' AS metric, coalesce(sum(total), 0)::numeric AS value FROM billing.invoices WHERE created >= $1 AND created < $2
UNION ALL SELECT 'collected', coalesce(sum(amount), 0) FROM billing.payments WHERE state = 'succeeded' AND created >= $1 AND created < $2
UNION ALL SELECT 'refunded', coalesce(sum(amount), 0) FROM billing.refunds WHERE created >= $1 AND created < $2
ORDER BY metric

-- @dashboard_scalar_subqueries hand
SELECT (SELECT count(*) FROM billing.customers) AS customers, (SELECT count(*) FROM billing.subscriptions WHERE status = 'active') AS active, (SELECT coalesce(sum(total), 0) FROM billing.invoices WHERE status = 'open') AS due

-- @values_with_table hand
VALUES ((SELECT count(*) FROM billing.plans)), ((SELECT count(*) FROM billing.credits))

-- @punches_beside_a_timetz_column hand
-- @may a timetz column bars its table
SELECT id, booked FROM billing.punches WHERE booked > '10:30' ORDER BY id

-- @readings_value hand
SELECT id, value::date, value AT TIME ZONE 'UTC' AS utc FROM billing.readings ORDER BY id
