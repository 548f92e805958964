-- @user_upsert gorm
-- @why write
-- @args ["0b0b0b0b-0000-4000-8000-000000000001","Upsert@example.com","Up","2024-02-01T00:00:00Z"]
INSERT INTO "users" ("uuid","email","name","created_at","updated_at") VALUES ($1,$2,$3,$4,$4) ON CONFLICT ("email") DO UPDATE SET "name"="excluded"."name" RETURNING "id"

-- @user_touch ent
-- @why write
-- @args [{"time":"2024-02-01T00:00:00Z"},3]
UPDATE "users" SET "last_login_at" = $1 WHERE "id" = $2 RETURNING "id", "last_login_at"

-- @user_soft_delete gorm
-- @why write
-- @exec
-- @args [{"time":"2024-02-01T00:00:00Z"},19]
UPDATE "users" SET "deleted_at"=$1 WHERE "users"."id" = $2 AND "users"."deleted_at" IS NULL

-- @cart_item_upsert bun
-- @why write
-- @exec
INSERT INTO "cart_items" ("cart_id", "product_id", "quantity") SELECT c.id, 9, 1 FROM "carts" AS "c" WHERE (c.user_id = 1) ON CONFLICT ("cart_id", "product_id") DO UPDATE SET "quantity" = "cart_items"."quantity" + EXCLUDED."quantity"

-- @cart_purge squirrel
-- @why write
-- @exec
-- @args [{"time":"2020-01-01T00:00:00Z"}]
DELETE FROM carts WHERE expires_at < $1

-- @stock_reserve_cte sqlc
-- @why write
-- @args [1,3]
-- name: ReserveStock :one
WITH moved AS (
  UPDATE warehouse.stock SET reserved = reserved + $1 WHERE product_id = $2 AND location_id = 1 RETURNING product_id, on_hand - reserved AS left_over
)
SELECT p.name, moved.left_over FROM moved JOIN products p ON p.id = moved.product_id

-- @event_insert_cte hand
-- @why write
-- @args [1]
WITH e AS (INSERT INTO order_events (id, order_id, kind, at) VALUES (900, $1, 'note', '2024-01-05') RETURNING id, kind) SELECT o.id, e.kind FROM orders o, e WHERE o.id = $1

-- @events_delete_cte hand
-- @why write
WITH gone AS (DELETE FROM order_events WHERE kind = 'none' RETURNING *) SELECT count(*) FROM gone

-- @order_lock gorm
-- @why row-lock
-- @args [4,1]
SELECT * FROM "orders" WHERE "orders"."id" = $1 ORDER BY "orders"."id" LIMIT $2 FOR UPDATE

-- @order_lock_share gorm
-- @why row-lock
-- @args [4]
SELECT * FROM "orders" WHERE id = $1 FOR SHARE OF "orders" NOWAIT

-- @order_lock_ent ent
-- @why row-lock
-- @args [4]
SELECT "orders"."id" FROM "orders" WHERE "orders"."id" = $1 FOR UPDATE SKIP LOCKED

-- @stock_lock_no_key squirrel
-- @why row-lock
-- @args [3]
SELECT on_hand FROM warehouse.stock WHERE product_id = $1 ORDER BY location_id FOR NO KEY UPDATE

-- @job_claim sqlc
-- @why write
-- @args ["mail",{"time":"2024-02-01T00:00:00Z"},2]
-- name: ClaimJobs :many
UPDATE jobs SET attempt = attempt + 1, locked_by = 'w1' WHERE id IN (
  SELECT id FROM jobs WHERE queue = $1 AND state = 'available' AND run_at <= $2 ORDER BY run_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
) RETURNING id, payload, attempt

-- @job_peek_locked hand
-- @why row-lock
WITH next AS (SELECT id FROM jobs WHERE state = 'available' ORDER BY run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) SELECT j.id, j.payload FROM jobs j JOIN next USING (id)

-- @job_due_now hand
-- @why clock
-- @mark
SELECT id FROM jobs WHERE state = 'available' AND run_at <= now() ORDER BY id

-- @session_valid sqlc
-- @why clock
-- @mark
-- @args ["token4"]
-- name: GetValidSession :one
SELECT token, user_id FROM sessions WHERE token = $1 AND expires_at > now() LIMIT 1

-- @session_valid_keyword gorm
-- @why clock
-- @mark
-- @args ["token4",1]
SELECT * FROM "sessions" WHERE token = $1 AND expires_at > CURRENT_TIMESTAMP LIMIT $2

-- @orders_last_week hand
-- @why clock
-- @mark
SELECT count(*) FROM orders WHERE placed_at > now() - interval '7 days'

-- @orders_today hand
-- @why clock
-- @mark
SELECT count(*) FROM orders WHERE placed_at::date = CURRENT_DATE

-- @orders_month_to_date sqlx
-- @why clock
-- @mark
SELECT COALESCE(SUM(total), 0) FROM orders WHERE placed_at >= date_trunc('month', LOCALTIMESTAMP)

-- @user_account_age hand
-- @why clock
SELECT id, age(created_at) FROM users WHERE id = 3

-- @user_age_years hand
-- @why clock
SELECT id, extract(year FROM age(birth_date)) AS years FROM users WHERE id = 3

-- @orders_clock_timestamp hand
-- @why clock
-- @mark
SELECT id, clock_timestamp() - placed_at AS waited FROM orders WHERE id = 1

-- @orders_date_word hand
-- @why date-word
SELECT id FROM orders WHERE placed_at >= 'today'

-- @orders_date_word_cast hand
-- @why date-word
SELECT id FROM orders WHERE placed_at < 'now'::timestamptz ORDER BY id LIMIT 3

-- @orders_date_word_typed hand
-- @why date-word
SELECT count(*) FROM orders WHERE placed_at::date BETWEEN date 'yesterday' AND date 'tomorrow'

-- @orders_date_word_argument squirrel
-- @why date-word
-- @args ["today"]
SELECT count(*) FROM orders WHERE placed_at < $1

-- @orders_date_word_cast_argument sqlc
-- @why date-word
-- @args ["today"]
SELECT id FROM orders WHERE placed_at < $1::timestamptz ORDER BY id LIMIT 2

-- @orders_date_word_range_argument hand
-- @why date-word
-- @args ["[yesterday,tomorrow)"]
SELECT count(*) FROM product_prices WHERE valid && $1::daterange

-- @products_legacy_date hand
-- @why cast-from-text
SELECT id FROM products WHERE release_note::date > DATE '2024-01-04' ORDER BY id

-- @products_json_date hand
-- @why cast-from-text
SELECT count(*) FROM products WHERE (attributes->>'since')::timestamptz IS NULL

-- @products_random_pick gorm
-- @why chance
-- @mark
-- @args [3]
SELECT * FROM "products" WHERE stock > 0 ORDER BY RANDOM() LIMIT $1

-- @products_random_offset hand
-- @why chance
-- @mark
SELECT id FROM products OFFSET floor(random() * 10) LIMIT 1

-- @products_tablesample hand
-- @why table-sample
-- @mark
SELECT count(*) FROM products TABLESAMPLE SYSTEM (50)

-- @products_new_uuid hand
-- @why chance
SELECT id, gen_random_uuid() AS token FROM products WHERE id = 1

-- @daily_pick_view hand
-- @why chance
-- @mark
SELECT * FROM daily_pick

-- @fresh_orders_view gorm
-- @why clock
-- @mark
-- @args [5]
SELECT * FROM "fresh_orders" LIMIT $1

-- @fresh_orders_nested_view hand
-- @why clock
-- @mark
SELECT user_id, count FROM fresh_order_counts ORDER BY user_id

-- @my_orders_view hand
-- @why identity
SELECT id FROM my_orders

-- @next_number hand
-- @why sequence
SELECT nextval('order_number_seq')

-- @next_number_with_table hand
-- @why sequence
SELECT id, nextval('order_number_seq') AS n FROM orders WHERE id = 1

-- @next_number_function hand
-- @why own-function
SELECT next_order_number() AS number, id FROM users WHERE id = 1

-- @sequence_peek hand
-- @why sequence
SELECT last_value, is_called FROM order_number_seq

-- @order_count_function hand
-- @why own-function
SELECT id, order_count(id) FROM users WHERE id = 3

-- @discount_plpgsql hand
-- @why own-function
SELECT id, discounted(price) FROM products WHERE id = 3

-- @tenant_notes_rls sqlc
-- @why row-security
-- @args [1]
SELECT id, note FROM tenant_notes WHERE id = $1

-- @products_xmin hand
-- @why system-column
SELECT id, xmin::text, ctid FROM products WHERE id = 1

-- @products_tableoid hand
-- @why system-column
SELECT tableoid::regclass, count(*) FROM order_events GROUP BY 1 ORDER BY 2

-- @advisory_xact_lock hand
-- @why advisory-lock
-- @args [42]
SELECT pg_advisory_xact_lock($1)

-- @ping sqlx
-- @why no-relation
SELECT 1

-- @temp_table hand
-- @why temporary-table
-- @before CREATE TEMP TABLE picked AS SELECT id FROM products WHERE id < 4
-- @after DROP TABLE picked
SELECT p.id, p.name FROM products p JOIN picked USING (id) ORDER BY p.id

-- @shelf_label_attribute hand
-- @why own-function
SELECT p.id, p.shelf_label FROM products p WHERE p.id = 3

-- @shelf_label_parenthesised hand
-- @why own-function
SELECT (products).shelf_label FROM products WHERE id = 3

-- @shelf_label_call hand
-- @why own-function
SELECT id, shelf_label(p) FROM products AS p WHERE id = 3

-- @date_function_over_text hand
-- @why cast-from-text
SELECT id, date(release_note) FROM products WHERE id = 3

-- @date_function_quoted hand
-- @why cast-from-text
SELECT id, pg_catalog."timestamptz"(release_note) FROM products WHERE id = 3

-- @subquery_column_renamed hand
-- @why cast-from-text
SELECT x.created_at::date FROM (SELECT release_note AS created_at FROM products WHERE id < 4) x ORDER BY 1

-- @cte_column_renamed hand
-- @why cast-from-text
WITH x(created_at) AS (SELECT release_note FROM products WHERE id < 4) SELECT created_at::date FROM x ORDER BY 1

-- @table_alias_renames_columns hand
-- @why cast-from-text
SELECT u.created_at::timestamptz FROM coupons AS c JOIN (SELECT id, release_note FROM products WHERE id = 2) AS u(id, created_at) ON true ORDER BY c.code

-- @function_alias_renames_column hand
-- @why cast-from-text
SELECT p.id, t.placed_at::date FROM products p, unnest(ARRAY[p.release_note]) AS t(placed_at) WHERE p.id < 3 ORDER BY p.id

-- @function_alias_renames_itself hand
-- @why cast-from-text
SELECT p.id, paid_at::date FROM products p, unnest(ARRAY[p.release_note]) AS paid_at WHERE p.id < 3 ORDER BY p.id

-- @record_column_named_as_a_time hand
-- @why cast-from-text
SELECT p.id, x.created_at::date FROM products p, jsonb_to_record(jsonb_build_object('created_at', p.release_note)) AS x(created_at text) WHERE p.id < 3 ORDER BY p.id

-- @expression_cast hand
-- @why cast-from-text
SELECT coalesce(release_note, '2024-01-01')::date AS d, min(substring(release_note, 1, 10))::timestamp AS t FROM products GROUP BY 1 ORDER BY 1

-- @scalar_subquery_cast hand
-- @why cast-from-text
SELECT id, (SELECT max(release_note) FROM products)::date FROM orders WHERE id = 1

-- @json_each_value_named_as_a_time hand
-- @why cast-from-text
SELECT o.id, kv.placed_at::date FROM orders o, jsonb_each_text(jsonb_build_object('d', '2024-01-01')) AS kv(k, placed_at) WHERE o.id = 2

-- @json_build_cast hand
-- @why cast-from-text
SELECT id, (jsonb_build_object('at', release_note)->>'at')::timestamptz FROM products WHERE id = 5

-- @text_argument_chain hand
-- @why date-word
-- @args ["today"]
SELECT count(*) FROM orders WHERE placed_at < $1::text::timestamptz

-- @text_argument_in_function hand
-- @why date-word
-- @args ["today"]
SELECT count(*) FROM orders WHERE placed_at < lower($1)::date

-- @argument_of_date_trunc hand
-- @why date-word
-- @args ["now"]
SELECT count(*) FROM orders WHERE placed_at < date_trunc('day', $1::timestamptz)

-- @argument_of_coalesce hand
-- @why date-word
-- @args ["today"]
SELECT count(*) FROM orders WHERE coalesce(paid_at, $1) < '2030-01-01'

-- @argument_of_daterange hand
-- @why date-word
-- @args ["2024-01-01","today"]
SELECT count(*) FROM product_prices WHERE valid && daterange($1, $2)

-- @date_word_in_an_array hand
-- @why date-word
SELECT count(*) FROM orders WHERE placed_at::date = ANY ('{today,2024-01-05}')
