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
SELECT id, booked::timetz FROM billing.punches ORDER BY id

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

-- @import_days_view sqlx
-- @why cast-from-text
SELECT * FROM billing.import_days

-- @import_weeks_nested_view gorm
-- @why cast-from-text
SELECT * FROM "billing"."import_weeks" ORDER BY week

-- @tenant_view hand
-- @why row-security
SELECT id, name FROM billing.tenant_view ORDER BY id, name

-- @balances_view_over_function hand
-- @why own-function
SELECT id, balance FROM billing.balances_slow ORDER BY id LIMIT 3

-- @audit_view_over_setting hand
-- @why setting
SELECT count(*) FROM billing.audit_mine

-- @timetz_at_time_zone hand
-- @why clock
SELECT id, booked_at AT TIME ZONE 'Europe/Berlin' FROM billing.punches ORDER BY id

-- @timetz_cast_at_time_zone hand
-- @why clock
SELECT id, timezone('Europe/Berlin', created::timetz) FROM billing.customers ORDER BY id LIMIT 2

-- @time_with_zone_cast hand
-- @why clock
SELECT id, CAST(created::time AS time with time zone) FROM billing.customers ORDER BY id LIMIT 2

-- @json_path_time_with_zone hand
-- @why clock
SELECT id FROM billing.imports WHERE jsonb_path_exists_tz('["10:00:00"]', '$[*] ? (@.datetime() < "10:30:00+02".datetime())') ORDER BY id

-- @domain_function_over_text hand
-- @why cast-from-text
SELECT id, billing.day(raw_date) FROM billing.imports WHERE id = 1

-- @range_function_over_text hand
-- @why cast-from-text
SELECT id, daterange('[' || raw_date || ',)') AS r FROM billing.imports WHERE id = 1

-- @array_function_over_text hand
-- @why cast-from-text
SELECT id, _date('{' || raw_date || '}') AS r FROM billing.imports WHERE id = 1

-- @date_function_in_from hand
-- @why cast-from-text
SELECT i.id, d FROM billing.imports i, date(i.raw_date) AS d WHERE i.id = 1

-- @date_function_over_json hand
-- @why cast-from-text
SELECT id FROM billing.imports WHERE date(raw->>'booked') > DATE '2024-01-01' AND id = 1

-- @enum_range_function_over_argument hand
-- @why date-word
-- @args ["today"]
SELECT id FROM billing.imports WHERE "date"($1::text) > DATE '2024-01-01' AND id = 1

-- @plpgsql_in_an_order_by hand
-- @why own-function
SELECT name FROM billing.customers ORDER BY billing.balance_of(id), name LIMIT 2

-- @array_of_texts_to_dates hand
-- @why date-word
-- @args [{"texts":["today"]}]
SELECT count(*) FROM billing.invoices WHERE due_date = ANY($1::text[]::date[])

-- @range_of_texts hand
-- @why cast-from-text
SELECT i.id, daterange(i.raw_date::date, NULL) @> DATE '2030-01-01' FROM billing.imports i ORDER BY id

-- @row_cast hand
-- @why cast-from-text
SELECT ROW('EUR', 'USD', 1, raw_date)::billing.exchange_rates FROM billing.imports WHERE id = 1

-- @json_value_named_as_a_time hand
-- @why cast-from-text
SELECT kv.value::date FROM billing.readings r, jsonb_each_text(r.doc) kv ORDER BY 1

-- @json_element_named_as_a_time hand
-- @why cast-from-text
SELECT e.value::date FROM billing.readings r, jsonb_array_elements_text(jsonb_build_array(r.doc->'a')) e WHERE r.id = 1

-- @json_value_unqualified hand
-- @why cast-from-text
SELECT value::date FROM billing.imports, jsonb_each_text(raw) WHERE key = 'booked' AND id = 1

-- @view_column_named_as_a_time hand
-- @why cast-from-text
SELECT created::date FROM billing.import_texts WHERE id = 1

-- @view_column_beside_a_time hand
-- @why cast-from-text
SELECT t.created::date FROM billing.import_texts t JOIN billing.plans p ON p.created > '2020-01-01' WHERE t.id = 1 ORDER BY 1
