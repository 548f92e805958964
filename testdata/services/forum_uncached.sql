-- @thread_view_bump gorm
-- @why write
-- @exec
-- @args [3]
UPDATE "threads" SET "view_count"=view_count + 1 WHERE id = $1

-- @thread_view_bump_function hand
-- @why own-function
-- @args [3]
SELECT bump_views($1)

-- @thread_view_bump_beside_table hand
-- @why own-function
SELECT id, bump_views(id) FROM threads WHERE id = 3

-- @vote_upsert sqlc
-- @why write
-- @args [1,9,1]
-- name: Vote :one
INSERT INTO votes (post_id, member_id, value, at) VALUES ($1, $2, $3, now())
ON CONFLICT (post_id, member_id) DO UPDATE SET value = excluded.value
RETURNING value

-- @vote_do_nothing gorm
-- @why write
-- @exec
-- @args [1,2]
INSERT INTO "reactions" ("post_id","member_id","kind") VALUES ($1,$2,'like') ON CONFLICT DO NOTHING

-- @post_insert_and_count hand
-- @why write
-- @args [4]
WITH p AS (INSERT INTO posts (thread_id, author_id, body, created_at) VALUES ($1, 1, 'hello', '2024-02-02') RETURNING thread_id), t AS (UPDATE threads SET reply_count = reply_count + 1 FROM p WHERE threads.id = p.thread_id RETURNING reply_count) SELECT reply_count FROM t

-- @notifications_mark_seen bun
-- @why write
-- @exec
UPDATE "notifications" AS "n" SET seen = TRUE WHERE (n.member_id = 2) AND (n.seen = FALSE)

-- @notifications_take hand
-- @why write
DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE seen ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, kind

-- @post_lock bun
-- @why row-lock
SELECT "p"."id", "p"."score" FROM "posts" AS "p" WHERE ("p"."id" = 5) FOR UPDATE

-- @post_lock_subquery hand
-- @why row-lock
SELECT sum(x.score) FROM (SELECT score FROM posts WHERE thread_id = 2 FOR KEY SHARE) x

-- @members_online_view hand
-- @why clock
-- @mark
SELECT id, username FROM online_members ORDER BY id

-- @members_online hand
-- @why clock
-- @mark
SELECT count(*) FROM members WHERE last_seen_at > now() - '15 minutes'::interval

-- @members_suspended ent
-- @why clock
-- @mark
SELECT "members"."id" FROM "members" WHERE "members"."suspended_until" > NOW() ORDER BY "members"."id"

-- @threads_hot_now hand
-- @why clock
-- @mark
SELECT id, reply_count / (extract(epoch FROM now() - created_at) / 3600 + 2) AS heat FROM threads ORDER BY heat DESC, id LIMIT 5

-- @threads_today sqlx
-- @why date-word
-- @args ["today"]
SELECT id FROM threads WHERE created_at < $1 ORDER BY id LIMIT 2

-- @threads_since_yesterday hand
-- @why date-word
SELECT count(*) FROM threads WHERE created_at > 'yesterday'::timestamptz

-- @badges_today hand
-- @why date-word
-- @args [" Today "]
SELECT count(*) FROM member_badges WHERE awarded_on < $1

-- @badges_today_array hand
-- @why date-word
-- @args [{"texts":["today","2024-01-05"]}]
SELECT count(*) FROM member_badges WHERE awarded_on = ANY($1::date[])

-- @drafts_due hand
-- @why cast-from-text
SELECT id FROM drafts WHERE id = 1 AND publish_on::date <= DATE '2030-01-01'

-- @drafts_due_cast hand
-- @why cast-from-text
SELECT id, CAST(publish_on AS timestamp) FROM drafts WHERE id = 1

-- @edits_json_time hand
-- @why cast-from-text
SELECT p.id, (e->>'at')::timestamptz AS at FROM posts p, jsonb_array_elements(p.edits) e ORDER BY p.id LIMIT 3

-- @edits_json_recordset hand
-- @why cast-from-text
SELECT p.id, e.at FROM posts p, jsonb_to_recordset(p.edits) AS e("by" int, at timestamptz) ORDER BY p.id LIMIT 3

-- @drafts_populate_record hand
-- @why cast-from-text
SELECT (jsonb_populate_record(NULL::member_badges, '{"awarded_on": "today"}')).awarded_on, id FROM drafts ORDER BY id

-- @unread_function hand
-- @why own-function
-- @args [2]
SELECT unread_count($1) AS n, id FROM members WHERE id = $1

-- @random_thread hand
-- @why chance
-- @mark
SELECT id, title FROM threads ORDER BY random() LIMIT 1

-- @sample_posts hand
-- @why table-sample
-- @mark
SELECT count(*) FROM posts TABLESAMPLE BERNOULLI (20) REPEATABLE (7)

-- @whoami hand
-- @why identity
SELECT m.id, current_user AS role FROM members m WHERE m.username = current_user

-- @session_user_name hand
-- @why identity
SELECT id FROM members WHERE username <> session_user ORDER BY id LIMIT 1

-- @setting_read hand
-- @why setting
SELECT id FROM members WHERE id = coalesce(nullif(current_setting('app.member', true), ''), '1')::int

-- @setting_write hand
-- @why setting
-- @args ["4"]
-- @before SELECT 1
-- @after RESET ALL
SELECT set_config('app.member', $1, false)

-- @setting_write_local hand
-- @why setting
SELECT id, set_config('app.member', id::text, true) FROM members WHERE id = 2

-- @notify hand
-- @why side-effect
-- @args ["posts","12"]
SELECT pg_notify($1, $2)

-- @sleep hand
-- @why side-effect
SELECT pg_sleep(0), id FROM members WHERE id = 1

-- @advisory_lock hand
-- @why advisory-lock
-- @before SELECT 1
-- @after SELECT pg_advisory_unlock_all()
SELECT pg_advisory_lock(7001)

-- @advisory_try_lock sqlc
-- @why advisory-lock
-- @before SELECT 1
-- @after SELECT pg_advisory_unlock_all()
-- @args [7002]
SELECT pg_try_advisory_lock($1) AS locked, id FROM boards WHERE id = 1

-- @gorm_has_table gorm
-- @why system-catalog
-- @args ["members","BASE TABLE"]
SELECT count(*) FROM information_schema.tables WHERE table_schema = CURRENT_SCHEMA() AND table_name = $1 AND table_type = $2

-- @gorm_has_column gorm
-- @why system-catalog
-- @args ["members","bio"]
SELECT count(*) FROM INFORMATION_SCHEMA.columns WHERE table_schema = CURRENT_SCHEMA() AND table_name = $1 AND column_name = $2

-- @gorm_has_index gorm
-- @why system-catalog
-- @args ["members","members_pkey"]
SELECT count(*) FROM pg_indexes WHERE tablename = $1 AND indexname = $2 AND schemaname = CURRENT_SCHEMA()

-- @gorm_column_types gorm
-- @why system-catalog
-- @args ["members"]
SELECT a.attname as column_name, format_type(a.atttypid, a.atttypmod) AS data_type FROM pg_attribute a JOIN pg_class b ON a.attrelid = b.oid AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = CURRENT_SCHEMA()) WHERE a.attnum > 0 AND b.relname = $1 ORDER BY a.attnum

-- @ent_tables ent
-- @why system-catalog
-- @args ["threads"]
SELECT "table_name" FROM "information_schema"."tables" WHERE "table_schema" = CURRENT_SCHEMA() AND "table_name" = $1

-- @goose_versions sqlx
-- @why system-catalog
-- @args ["public","goose_db_version"]
SELECT EXISTS ( SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2 )

-- @table_size hand
-- @why statistics
SELECT pg_total_relation_size('posts'), count(*) FROM posts

-- @row_estimate hand
-- @why system-catalog
SELECT reltuples::bigint FROM pg_class WHERE oid = 'posts'::regclass

-- @activity hand
-- @why system-catalog
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()

-- @current_database gorm
-- @why no-relation
SELECT CURRENT_DATABASE()

-- @server_version ent
-- @why not-a-read
SHOW server_version_num

-- @server_version_function hand
-- @why no-relation
SELECT version()

-- @show_setting hand
-- @why not-a-read
SHOW search_path

-- @explain_analyze hand
-- @why not-a-read
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT id FROM boards

-- @copy_table hand
-- @why write
-- @exec
CREATE TABLE IF NOT EXISTS member_copy AS SELECT id, username FROM members

-- @refresh_ranks hand
-- @why write
-- @exec
REFRESH MATERIALIZED VIEW member_ranks

-- @drafts_record_cast hand
-- @why cast-from-text
SELECT ('(1,1,' || publish_on || ')')::member_badges FROM drafts ORDER BY id

-- @drafts_populate_recordset hand
-- @why cast-from-text
SELECT b.awarded_on FROM drafts d, jsonb_populate_recordset(NULL::member_badges, jsonb_build_array(jsonb_build_object('awarded_on', d.publish_on))) b ORDER BY 1

-- @drafts_column_list hand
-- @why cast-from-text
SELECT d.created_at::timestamptz FROM drafts AS d(id, member_id, title, created_at) WHERE d.id = 1

-- @drafts_join_alias hand
-- @why cast-from-text
SELECT q.joined_at::date FROM (SELECT publish_on FROM drafts WHERE id = 1) AS q(joined_at), members m WHERE m.id = 1

-- @drafts_union_column hand
-- @why cast-from-text
SELECT created_at::date FROM (SELECT created_at::text FROM threads WHERE id = 1 UNION ALL SELECT publish_on FROM drafts WHERE id = 1) u ORDER BY 1

-- @profile_populate_record hand
-- @needs hstore
-- @why cast-from-text
SELECT (populate_record(NULL::member_badges, fields || 'awarded_on=>2024-01-01')).awarded_on FROM profiles ORDER BY member_id LIMIT 2

-- @implicit_union_type hand
-- @why date-word
-- @args ["today"]
SELECT awarded_on FROM member_badges WHERE member_id = 1 UNION SELECT $1

-- @implicit_case_type hand
-- @why date-word
-- @args ["yesterday"]
SELECT CASE WHEN member_id > 5 THEN awarded_on ELSE $1 END FROM member_badges ORDER BY member_id

-- @values_of_dates hand
-- @why date-word
SELECT v.d FROM members m JOIN (VALUES (1, 'today'::date), (2, '2024-01-01')) v(id, d) USING (id) ORDER BY 1
