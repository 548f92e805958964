-- @customer_upsert squirrel
-- @why write
-- @args ["11111111-0000-4000-8000-000000000001",7,"Ada",{"time":"2024-02-01T00:00:00Z"}]
INSERT INTO billing.customers (id,org_id,name,created) VALUES ($1,$2,$3,$4) ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING id, name

-- @invoice_finalize sqlc
-- @why write
-- @args ["INV-00003"]
-- name: FinalizeInvoice :one
UPDATE billing.invoices SET status = 'open', finalized_at = now() WHERE number = $1 RETURNING id, status

-- @invoice_lines_replace hand
-- @why write
WITH d AS (DELETE FROM billing.invoice_lines WHERE id = 149 RETURNING invoice_id), i AS (INSERT INTO billing.invoice_lines (invoice_id, description, quantity, unit_amount) SELECT invoice_id, 'again', 1, 1 FROM d RETURNING id) SELECT count(*) FROM i

-- @idempotency_claim hand
-- @why write
-- @args ["req-1"]
INSERT INTO billing.idempotency_keys (key, expires_at) VALUES ($1, '2030-01-01') ON CONFLICT (key) DO NOTHING RETURNING key

-- @usage_ingest bun
-- @why write
-- @exec
INSERT INTO "billing"."usage_events" ("customer_id", "meter", "quantity", "at") VALUES ('11111111-0000-4000-8000-000000000002', 'api', 5, '2024-02-01 00:00:00+00:00'), ('11111111-0000-4000-8000-000000000002', 'seats', 1, '2025-02-01 00:00:00+00:00')

-- @usage_merge hand
-- @why write
-- @min 15
-- @exec
MERGE INTO billing.org_settings s USING (VALUES (1::bigint, '{"net_days": 31}'::jsonb)) v(org_id, settings) ON s.org_id = v.org_id WHEN MATCHED THEN UPDATE SET settings = s.settings || v.settings WHEN NOT MATCHED THEN INSERT VALUES (v.org_id, v.settings)

-- @customer_lock sqlc
-- @why row-lock
-- @args [1]
-- name: LockCustomer :one
SELECT id, balance FROM billing.customers WHERE org_id = $1 ORDER BY id LIMIT 1 FOR UPDATE

-- @webhook_claim hand
-- @why row-lock
-- @args [3]
SELECT id, payload FROM billing.webhook_events WHERE delivered_at IS NULL ORDER BY created FOR UPDATE SKIP LOCKED LIMIT $1

-- @webhook_due hand
-- @why clock
-- @mark
SELECT id FROM billing.webhook_events WHERE delivered_at IS NULL AND (next_attempt_at IS NULL OR next_attempt_at <= now()) ORDER BY id

-- @credits_unexpired sqlc
-- @why clock
-- @mark
-- @args [1]
SELECT coalesce(sum(amount_cents), 0)::bigint FROM billing.credits WHERE expires_at > CURRENT_TIMESTAMP AND id >= $1

-- @idempotency_alive gorm
-- @why clock
-- @mark
-- @args ["k1",1]
SELECT * FROM "billing"."idempotency_keys" WHERE key = $1 AND expires_at > NOW() LIMIT $2

-- @overdue_view hand
-- @why clock
-- @mark
SELECT id, number, total FROM billing.overdue ORDER BY number

-- @subscriptions_current hand
-- @why clock
-- @mark
SELECT id FROM billing.subscriptions WHERE period @> now() ORDER BY id

-- @trial_ends hand
-- @why clock
-- @mark
SELECT s.id, s.created + p.trial < transaction_timestamp() AS ended FROM billing.subscriptions s JOIN billing.plans p ON p.id = s.plan_id WHERE p.trial IS NOT NULL ORDER BY s.id

-- @invoices_due_today hand
-- @why date-word
SELECT count(*) FROM billing.invoices WHERE due_date = 'today'

-- @invoices_due_argument sqlx
-- @why date-word
-- @args ["tomorrow"]
SELECT count(*) FROM billing.invoices WHERE due_date < $1

-- @subscriptions_domain_argument hand
-- @why date-word
-- @args ["today"]
SELECT count(*) FROM billing.subscriptions WHERE starts_on < $1

-- @subscriptions_range_argument hand
-- @why date-word
-- @args ["[now,infinity)"]
SELECT count(*) FROM billing.subscriptions WHERE period && $1::tstzrange

-- @subscriptions_range_from_text hand
-- @why date-word
SELECT count(*) FROM billing.subscriptions WHERE period && '[yesterday,today)'

-- @imports_text_date hand
-- @why cast-from-text
SELECT id, raw_date::date FROM billing.imports ORDER BY id

-- @imports_text_domain hand
-- @why cast-from-text
SELECT id, raw_date::billing.day FROM billing.imports ORDER BY id

-- @imports_json_date hand
-- @why cast-from-text
SELECT id, CAST(raw->>'booked' AS timestamptz) FROM billing.imports ORDER BY id

-- @imports_json_record hand
-- @why cast-from-text
SELECT i.id, r.booked FROM billing.imports i, jsonb_to_record(i.raw) AS r(booked date, amount numeric) ORDER BY i.id

-- @imports_text_array hand
-- @why cast-from-text
SELECT id, ('{' || raw_date || '}')::date[] FROM billing.imports ORDER BY id

-- @imports_time_to_timetz hand
-- @why clock
SELECT id, booked::timetz FROM billing.imports ORDER BY id

-- @webhook_text_date hand
-- @why cast-from-text
SELECT id FROM billing.webhook_events WHERE (payload #>> '{data,object,at}')::date >= DATE '2023-01-01' ORDER BY id

-- @next_invoice_number hand
-- @why sequence
SELECT 'INV-' || nextval('billing.invoice_number_seq')::text AS number

-- @next_invoice_number_select hand
-- @why sequence
SELECT id, nextval('billing.invoice_number_seq'::regclass) FROM billing.plans ORDER BY id

-- @currval hand
-- @why sequence
-- @before SELECT nextval('billing.invoice_number_seq')
-- @after DISCARD SEQUENCES
SELECT currval('billing.invoice_number_seq'), id FROM billing.plans ORDER BY id LIMIT 1

-- @balance_function hand
-- @why own-function
SELECT name, billing.balance_of(id) FROM billing.customers ORDER BY name LIMIT 3

-- @key_touch_function hand
-- @why own-function
SELECT billing.touch(prefix) FROM billing.api_keys WHERE id = 1

-- @tenant_rls sqlc
-- @why row-security
SELECT id, name FROM billing.tenant_customers ORDER BY id

-- @tenant_rls_joined hand
-- @why row-security
SELECT p.id, (SELECT count(*) FROM billing.tenant_customers) FROM billing.plans p ORDER BY p.id

-- @audit_sample hand
-- @why table-sample
-- @mark
SELECT count(*) FROM audit.log TABLESAMPLE SYSTEM (10)

-- @audit_by_me hand
-- @why identity
SELECT count(*) FROM audit.log WHERE actor = current_user

-- @audit_client hand
-- @why identity
SELECT count(*), inet_client_addr() FROM audit.log

-- @audit_pid hand
-- @why identity
SELECT pg_backend_pid(), count(*) FROM audit.log

-- @audit_txid hand
-- @why volatile
SELECT count(*), txid_current() FROM audit.log

-- @audit_snapshot hand
-- @why volatile
SELECT pg_current_wal_lsn() IS NOT NULL, count(*) FROM audit.log

-- @search_path_setting hand
-- @why setting
SELECT current_setting('search_path'), id FROM billing.plans ORDER BY id

-- @plan_random hand
-- @why chance
-- @mark
SELECT id FROM billing.plans ORDER BY random(), id LIMIT 1

-- @plan_uuid bun
-- @why chance
SELECT gen_random_uuid(), "p"."id" FROM "billing"."plans" AS "p"

-- @table_oid hand
-- @why system-column
SELECT tableoid, count(*) FROM billing.usage_events GROUP BY 1 ORDER BY 1

-- @regclass_lookup hand
-- @why system-catalog
SELECT conname FROM pg_constraint WHERE conrelid = 'billing.plans'::regclass ORDER BY conname

-- @columns_lookup ent
-- @why system-catalog
-- @args ["billing","plans"]
SELECT "t1"."column_name", "t1"."data_type" FROM "information_schema"."columns" AS "t1" WHERE "t1"."table_schema" = $1 AND "t1"."table_name" = $2 ORDER BY "t1"."ordinal_position"

-- @migrations_lock hand
-- @why advisory-lock
-- @before SELECT 1
-- @after SELECT pg_advisory_unlock_all()
SELECT pg_advisory_lock(hashtext('billing.migrations'))

-- @temp_batch hand
-- @why temporary-table
-- @before CREATE TEMP TABLE batch (id text); INSERT INTO batch VALUES ('pro')
-- @after DROP TABLE batch
SELECT p.id, p.name FROM billing.plans p JOIN batch USING (id)

-- @changed_session hand
-- @why setting
-- @before SET TimeZone = 'America/New_York'
-- @after RESET TimeZone
SELECT id, created::text FROM billing.customers ORDER BY id LIMIT 3

-- @vacuum hand
-- @why not-a-read
-- @exec
ANALYZE billing.plans

-- @select_one hand
-- @why no-relation
SELECT 1 AS ok

-- @now_alone hand
-- @why no-relation
SELECT now()
