-- @boards_tree sqlc
-- name: BoardTree :many
WITH RECURSIVE t AS (
  SELECT b.id, b.parent_id, b.title, 1 AS depth, b.slug::text AS path FROM boards b WHERE b.parent_id IS NULL
  UNION ALL
  SELECT b.id, b.parent_id, b.title, t.depth + 1, t.path || '/' || b.slug FROM boards b INNER JOIN t ON t.id = b.parent_id
)
SELECT id, parent_id, title, depth, path FROM t ORDER BY path

-- @board_by_slug sqlx
-- @args ["postgres"]
SELECT * FROM boards WHERE slug=$1

-- @board_counts hand
SELECT b.id, b.slug, (SELECT count(*) FROM threads t WHERE t.board_id = b.id) AS threads, (SELECT max(t.last_post_at) FROM threads t WHERE t.board_id = b.id) AS latest FROM boards b ORDER BY b.sort

-- @threads_front gorm
-- @args ["published",20]
SELECT * FROM "threads" WHERE state = $1 ORDER BY pinned DESC, last_post_at DESC, id LIMIT $2

-- @threads_keyset sqlc
-- @args [{"time":"2024-02-08T00:00:00Z"},24,10]
-- name: ThreadsBefore :many
SELECT t.id, t.title, t.last_post_at, m.username
FROM threads t
JOIN members m ON m.id = t.author_id
WHERE (t.last_post_at, t.id) < ($1::timestamptz, $2::int)
ORDER BY t.last_post_at DESC, t.id DESC
LIMIT $3

-- @threads_keyset_long hand
-- @args [{"time":"2024-02-08T00:00:00Z"},24]
SELECT id FROM threads WHERE last_post_at < $1 OR (last_post_at = $1 AND id < $2) ORDER BY last_post_at DESC, id DESC LIMIT 5

-- @threads_state_enum sqlc
-- @args ["published"]
SELECT id, state FROM threads WHERE state = $1::post_state ORDER BY id

-- @threads_state_in hand
SELECT count(*) FROM threads WHERE state IN ('published', 'hidden') AND state < 'deleted'

-- @threads_state_range hand
SELECT state, count(*), min(state), max(state) FROM threads GROUP BY state ORDER BY state

-- @threads_by_tag bun
SELECT "t"."id", "t"."title" FROM "threads" AS "t" JOIN "thread_tags" AS "tt" ON tt.thread_id = t.id JOIN "tags" AS "tag" ON tag.id = tt.tag_id WHERE (tag.name = 'golang') AND (t.state = 'published') ORDER BY "t"."id" DESC LIMIT 10

-- @threads_all_tags hand
-- @args [{"texts":["index","planner"]}]
SELECT t.id FROM threads t WHERE (SELECT count(DISTINCT tag.name) FROM thread_tags tt JOIN tags tag ON tag.id = tt.tag_id WHERE tt.thread_id = t.id AND tag.name = ANY($1::text[])) >= 1 ORDER BY t.id

-- @threads_tags_agg hand
SELECT t.id, array_agg(g.name ORDER BY g.name) AS tags, string_agg(DISTINCT g.name, ',') FROM threads t LEFT JOIN thread_tags tt ON tt.thread_id = t.id LEFT JOIN tags g ON g.id = tt.tag_id GROUP BY t.id ORDER BY t.id

-- @threads_unread sqlc
-- @args [2]
-- name: UnreadThreads :many
SELECT t.id, t.title, t.last_post_at > r.read_at AS has_new
FROM threads t LEFT JOIN thread_reads r ON r.thread_id = t.id AND r.member_id = $1
WHERE r.read_at IS NULL OR r.read_at < t.last_post_at
ORDER BY t.id

-- @threads_trending hand
-- @args [{"time":"2024-02-10T00:00:00Z"}]
SELECT id, (reply_count + view_count / 10.0) / power(greatest(extract(epoch FROM ($1::timestamptz - created_at)) / 3600, 1) + 2, 1.8) AS heat FROM threads WHERE created_at > $1::timestamptz - interval '40 days' ORDER BY heat DESC, id LIMIT 10

-- @threads_title_format hand
SELECT id, format('%s-%s', id, slug) AS key, left(title, 12) || '…' AS short, translate(title, 'aeiou', '*****'), md5(title), char_length(title), title COLLATE "C" < 'I' AS before, chr(65 + id % 26), ascii(title), repeat('*', id % 3), to_hex(id), strpos(title, 'index'), quote_ident(slug) FROM threads ORDER BY title COLLATE "C", id

-- @threads_month_archive sqlx
SELECT to_char(date_trunc('month', created_at), 'YYYY-MM') AS month, COUNT(*) AS n FROM threads WHERE state = 'published' GROUP BY 1 ORDER BY 1 DESC

-- @threads_search_title hand
-- @args ["index columns"]
SELECT id, title FROM threads WHERE to_tsvector('english', title) @@ plainto_tsquery($1) ORDER BY id

-- @threads_ilike hand
-- @args ["%INDEX 1%"]
SELECT id, title FROM threads WHERE title ILIKE $1 ORDER BY id

-- @threads_view_nested hand
SELECT id, title, posts, authors, heat FROM hot_threads ORDER BY heat DESC, id LIMIT 10

-- @threads_stats_view ent
-- @args [3]
SELECT "thread_stats"."id", "thread_stats"."posts" FROM "thread_stats" WHERE "thread_stats"."posts" >= $1 ORDER BY "thread_stats"."id"

-- @threads_published_view hand
SELECT DISTINCT author_id FROM published_threads WHERE NOT locked ORDER BY author_id

-- @thread_page sqlc
-- @args [12,0,20]
-- name: ThreadPosts :many
SELECT p.id, p.body_html, p.score, p.created_at, p.edited_at, m.id AS author_id, m.username, m.reputation, row_number() OVER (ORDER BY p.id) AS floor
FROM posts p LEFT JOIN members m ON m.id = p.author_id
WHERE p.thread_id = $1 AND p.state <> 'deleted'
ORDER BY p.id OFFSET $2 LIMIT $3

-- @thread_comment_tree hand
-- @args [7]
WITH RECURSIVE thread AS (
	SELECT p.id, p.parent_id, p.author_id, p.score, ARRAY[p.id] AS path, 0 AS depth FROM posts p WHERE p.thread_id = $1 AND p.parent_id IS NULL
	UNION ALL
	SELECT c.id, c.parent_id, c.author_id, c.score, thread.path || c.id, thread.depth + 1 FROM posts c JOIN thread ON c.parent_id = thread.id WHERE thread.depth < 10
)
SELECT t.id, t.depth, m.username, t.score, cardinality(t.path) FROM thread t LEFT JOIN members m ON m.id = t.author_id ORDER BY t.path

-- @thread_comment_search_order hand
-- @args [7]
-- @min 14
WITH RECURSIVE r AS (SELECT id, parent_id FROM posts WHERE id = $1 UNION ALL SELECT p.id, p.parent_id FROM posts p, r WHERE p.parent_id = r.id) SEARCH DEPTH FIRST BY id SET ord CYCLE id SET looped USING path SELECT id, looped FROM r ORDER BY ord

-- @thread_descendant_count hand
WITH RECURSIVE d(root, id) AS (SELECT id, id FROM posts WHERE parent_id IS NULL UNION ALL SELECT d.root, p.id FROM d JOIN posts p ON p.parent_id = d.id) SELECT root, count(*) - 1 AS replies FROM d GROUP BY root ORDER BY replies DESC, root LIMIT 10

-- @thread_last_posts_lateral hand
SELECT t.id, lp.id AS post_id, lp.username FROM threads t LEFT JOIN LATERAL (SELECT p.id, m.username FROM posts p JOIN members m ON m.id = p.author_id WHERE p.thread_id = t.id ORDER BY p.id DESC LIMIT 2) lp ON TRUE WHERE t.board_id = 3 ORDER BY t.id, lp.id

-- @thread_json hand
-- @args [5]
SELECT jsonb_build_object('thread', to_jsonb(t) - 'view_count', 'posts', (SELECT coalesce(jsonb_agg(to_jsonb(p) - 'tsv' ORDER BY p.id), '[]'::jsonb) FROM posts p WHERE p.thread_id = t.id)) FROM threads t WHERE t.id = $1

-- @thread_json_object_agg hand
SELECT board_id, json_object_agg(slug, reply_count ORDER BY id) FROM threads GROUP BY board_id ORDER BY board_id

-- @post_search sqlc
-- @args ["partial index"]
-- name: SearchPosts :many
SELECT p.id, p.thread_id, ts_headline('english', p.body, q, 'StartSel=<b>, StopSel=</b>') AS headline, ts_rank(p.tsv, q) AS rank
FROM posts p, plainto_tsquery('english', $1::text) AS q
WHERE p.tsv @@ q
ORDER BY rank DESC, p.id DESC
LIMIT 20

-- @post_search_web hand
-- @args ["index -number"]
SELECT count(*) FROM posts WHERE tsv @@ websearch_to_tsquery('english', $1)

-- @post_search_stored hand
-- @args ["partial & index"]
SELECT id FROM posts WHERE tsv @@ to_tsquery($1) AND tsv @@ to_tsquery('english', 'said') ORDER BY id LIMIT 9

-- @post_search_weights hand
SELECT id, ts_rank('{0.1, 0.2, 0.4, 1.0}', setweight(tsv, 'A'), 'index'::tsquery) AS r, numnode('a & b'::tsquery), 'fat & cat'::tsquery && 'rat'::tsquery FROM posts ORDER BY r DESC, id LIMIT 4

-- @post_edits_json hand
SELECT p.id, e->>'by' AS editor, jsonb_array_length(p.edits) FROM posts p CROSS JOIN jsonb_array_elements(p.edits) e ORDER BY p.id

-- @post_edits_ordinality hand
SELECT p.id, x.n, x.e->>'at' AS at FROM posts p, LATERAL jsonb_array_elements(p.edits) WITH ORDINALITY AS x(e, n), members m WHERE m.id = p.author_id AND m.is_moderator ORDER BY p.id, x.n

-- @post_votes_sum hand
-- @args [{"ints":[1,2,3,4,5]}]
SELECT post_id, sum(value) AS score, count(*) FILTER (WHERE value > 0) AS up, count(*) FILTER (WHERE value < 0) AS down FROM votes WHERE post_id = ANY($1) GROUP BY post_id ORDER BY post_id

-- @post_votes_of_member sqlc
-- @args [3,{"valuer":"{1,2,3}"}]
-- name: VotesOf :many
SELECT post_id, value FROM votes WHERE member_id = $1 AND post_id = ANY($2::bigint[]) ORDER BY post_id

-- @post_wilson hand
SELECT post_id, wilson_score(count(*) FILTER (WHERE value > 0), count(*)) AS w FROM votes GROUP BY post_id ORDER BY w DESC, post_id LIMIT 10

-- @post_reactions hand
SELECT kind, count(*) FROM reactions GROUP BY kind ORDER BY kind

-- @post_reactions_pivot hand
SELECT post_id, count(*) FILTER (WHERE kind = 'like') AS likes, array_agg(kind ORDER BY kind) AS kinds, enum_range(NULL::reaction) FROM reactions GROUP BY post_id ORDER BY post_id LIMIT 6

-- @post_authors_in_subquery gorm
-- @args [4]
SELECT * FROM "members" WHERE id IN (SELECT "author_id" FROM "posts" WHERE thread_id = $1) ORDER BY id

-- @post_top_per_author hand
SELECT DISTINCT ON (p.author_id) p.author_id, p.id, p.score FROM posts p WHERE p.author_id IS NOT NULL ORDER BY p.author_id, p.score DESC, p.id

-- @post_gap hand
SELECT thread_id, id, created_at - lag(created_at) OVER w AS gap, score - avg(score) OVER (PARTITION BY thread_id) AS over_mean FROM posts WINDOW w AS (PARTITION BY thread_id ORDER BY created_at) ORDER BY id LIMIT 30

-- @post_sessions hand
SELECT author_id, grp, count(*) FROM (SELECT author_id, sum(CASE WHEN fresh THEN 1 ELSE 0 END) OVER (PARTITION BY author_id ORDER BY created_at) AS grp FROM (SELECT author_id, created_at, created_at - lag(created_at) OVER (PARTITION BY author_id ORDER BY created_at) > interval '2 days' AS fresh FROM posts) a) b GROUP BY author_id, grp ORDER BY author_id, grp

-- @post_by_hour hand
SELECT date_part('hour', created_at AT TIME ZONE 'UTC') AS h, count(*), count(*) * 100.0 / sum(count(*)) OVER () AS pct FROM posts GROUP BY 1 ORDER BY 1

-- @post_between_literals hand
SELECT count(*) FROM posts WHERE created_at BETWEEN '2024-01-05T00:00:00Z' AND timestamptz '2024-01-12 00:00:00+00'

-- @post_whole_row hand
-- @args [2]
SELECT v FROM votes v WHERE v.post_id = $1 ORDER BY v.member_id

-- @post_distinct_from hand
SELECT id FROM posts WHERE edited_at IS DISTINCT FROM created_at AND (parent_id IS NULL) IS NOT TRUE ORDER BY id LIMIT 12

-- @member_profile sqlc
-- @args ["member4"]
-- name: GetProfile :one
SELECT m.id, m.username, m.bio, m.reputation, m.joined_at,
       (SELECT count(*) FROM posts p WHERE p.author_id = m.id AND p.state = 'published') AS post_count,
       EXISTS (SELECT 1 FROM member_badges b WHERE b.member_id = m.id AND b.badge_id = 2) AS is_guru
FROM members m WHERE m.username = $1

-- @member_is_available hand
-- @args ["MEMBER4"]
SELECT NOT EXISTS (SELECT FROM members WHERE lower(username) = lower($1)) AS available

-- @member_preferences hand
-- @args ["de"]
SELECT id, preferences->'digest'->>'weekly' AS weekly, (preferences->'digest'->'weekly')::bool FROM members WHERE preferences->>'lang' = $1 AND preferences ? 'digest' ORDER BY id

-- @member_interests hand
-- @args [{"texts":["sql","i2"]}]
SELECT id, interests, cardinality(interests) FROM members WHERE interests @> $1::text[] AND 'go' = ANY(interests) AND NOT interests && '{rust}' ORDER BY id

-- @member_suspended_at hand
-- @args [{"time":"2024-02-20T00:00:00Z"}]
SELECT id, username, suspended_until FROM members WHERE suspended_until > $1 ORDER BY id

-- @member_joined_ago hand
-- @args [{"time":"2024-02-20T00:00:00Z"},"60 days"]
SELECT id, joined_at, date_trunc('month', joined_at)::date AS cohort, age(joined_at, timestamptz '2023-01-01 00:00+00') AS since FROM members WHERE joined_at < $1::timestamptz - $2::interval ORDER BY id

-- @member_cohorts hand
SELECT date_trunc('month', joined_at) AS cohort, count(*), sum(count(*)) OVER (ORDER BY date_trunc('month', joined_at)) AS running FROM members GROUP BY 1 ORDER BY 1

-- @member_rank_matview hand
-- @args [5]
SELECT r.username, r.rank, m.bio FROM member_ranks r JOIN members m USING (id) WHERE r.rank <= $1 ORDER BY r.rank, r.id

-- @member_percentile hand
SELECT id, ntile(10) OVER (ORDER BY reputation, id) AS decile, round((percent_rank() OVER (ORDER BY reputation))::numeric, 3) FROM members ORDER BY id

-- @member_median hand
SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY reputation) AS p90, mode() WITHIN GROUP (ORDER BY reputation % 10), bool_or(is_moderator), avg(reputation)::numeric(10,2), bit_or(reputation), rank(100) WITHIN GROUP (ORDER BY reputation) FROM members

-- @member_badges_values hand
SELECT m.username, b.name, v.color, mb.awarded_on, mb.awarded_on + 30 AS until FROM member_badges mb JOIN members m ON m.id = mb.member_id JOIN badges b ON b.id = mb.badge_id JOIN (VALUES (1, 'bronze'), (2, 'silver'), (3, 'gold')) v(tier, color) ON v.tier = b.tier ORDER BY m.id

-- @member_badge_dates hand
-- @args [{"time":"2024-01-10T00:00:00Z"}]
SELECT member_id, awarded_on - $1::date AS days, awarded_on::timestamp, extract(isodow FROM awarded_on), to_char(awarded_on, 'Dy DD Mon'), make_date(2024, 1, 5) < awarded_on FROM member_badges WHERE awarded_on >= $1 ORDER BY member_id

-- @member_in_json_array hand
-- @args ["[1, 3, 5]"]
SELECT m.id, m.username FROM members m WHERE m.id IN (SELECT value::int FROM jsonb_array_elements_text($1::jsonb)) ORDER BY m.id

-- @follow_feed sqlc
-- @args [3,{"time":"2024-02-01T00:00:00Z"},15]
-- name: Feed :many
SELECT p.id, p.body, p.created_at, m.username
FROM follows f
JOIN posts p ON p.author_id = f.followee_id
JOIN members m ON m.id = p.author_id
WHERE f.follower_id = $1 AND p.created_at < $2
ORDER BY p.created_at DESC
LIMIT $3

-- @follow_mutual hand
SELECT a.follower_id, a.followee_id FROM follows a JOIN follows b ON a.follower_id = b.followee_id AND a.followee_id = b.follower_id ORDER BY 1, 2

-- @follow_two_hops hand
-- @args [3]
SELECT DISTINCT f2.followee_id FROM follows f1 JOIN follows f2 ON f2.follower_id = f1.followee_id WHERE f1.follower_id = $1 AND f2.followee_id NOT IN (SELECT followee_id FROM follows WHERE follower_id = $1) ORDER BY 1

-- @messages_inbox hand
-- @args [4]
SELECT DISTINCT ON (least(sender_id, recipient_id), greatest(sender_id, recipient_id)) id, sender_id, recipient_id, body, read_at IS NULL AS unread FROM messages WHERE sender_id = $1 OR recipient_id = $1 ORDER BY least(sender_id, recipient_id), greatest(sender_id, recipient_id), sent_at DESC

-- @messages_unread_count ent
-- @args [4]
SELECT COUNT(*) FROM "messages" WHERE "messages"."recipient_id" = $1 AND "messages"."read_at" IS NULL

-- @messages_conversation squirrel
-- @args [1,2,2,1]
SELECT id, body, sent_at FROM messages WHERE ((sender_id = $1 AND recipient_id = $2) OR (sender_id = $3 AND recipient_id = $4)) ORDER BY sent_at DESC LIMIT 30

-- @messages_last_per_peer hand
-- @args [4]
SELECT peer, max(sent_at) AS last, (array_agg(body ORDER BY sent_at DESC))[1] AS body FROM (SELECT CASE WHEN sender_id = $1 THEN recipient_id ELSE sender_id END AS peer, body, sent_at FROM messages WHERE $1 IN (sender_id, recipient_id)) x GROUP BY peer ORDER BY last DESC, peer

-- @notifications_list hand
-- @args [2]
SELECT n.id, n.kind, n.data->>'from' AS sender, (n.data->>'post_id')::bigint AS post_id, p.body FROM notifications n LEFT JOIN posts p ON p.id = (n.data->>'post_id')::bigint WHERE n.member_id = $1 AND NOT n.seen ORDER BY n.created_at DESC

-- @notifications_grouped hand
-- @args [2]
SELECT kind, count(*) AS n, jsonb_agg(data ORDER BY id) -> 0 AS first, max(id) FROM notifications WHERE member_id = $1 GROUP BY kind HAVING count(*) > 0 ORDER BY kind

-- @reports_queue sqlc
-- @args [10]
SELECT r.id, r.reason, p.body, a.username AS author, r.created_at FROM reports r JOIN posts p ON p.id = r.post_id LEFT JOIN members a ON a.id = p.author_id WHERE r.resolved_by IS NULL ORDER BY r.created_at LIMIT $1

-- @reports_summary hand
SELECT reason, count(*) FILTER (WHERE resolved_by IS NULL) AS open, count(resolved_by) AS closed FROM reports GROUP BY reason

-- @presence_unlogged hand
-- @args [{"time":"2024-02-19T23:00:00Z"}]
SELECT page, count(*) FROM presence WHERE at > $1 GROUP BY page ORDER BY page

-- @daily_views_hash_partition hand
-- @args [3]
SELECT day, views, sum(views) OVER (ORDER BY day) AS total FROM daily_views WHERE thread_id = $1 ORDER BY day

-- @daily_views_fill hand
-- @may the alias of a function's column may stand for text
SELECT g.day::date, coalesce(sum(v.views), 0)::bigint AS views FROM generate_series('2024-02-01'::date, '2024-02-12'::date, '1 day'::interval) g(day) LEFT JOIN daily_views v ON v.day = g.day::date GROUP BY 1 ORDER BY 1

-- @daily_views_subset hand
SELECT thread_id, sum(views) FROM daily_views_0 GROUP BY thread_id ORDER BY thread_id

-- @drafts_text_date_as_text hand
-- @args ["today"]
SELECT id, "body", "position" FROM drafts WHERE publish_on = $1 ORDER BY "position"

-- @drafts_json_missing_key hand
SELECT d.id, coalesce(m.preferences->>'lang', 'en') AS lang, current.title FROM drafts d JOIN members m ON m.id = d.member_id JOIN drafts current ON current.id = d.id ORDER BY d.id

-- @tags_synonyms hand
-- @args ["indexes"]
SELECT t.id, t.name, s.syn FROM tags t CROSS JOIN unnest(t.synonyms) s(syn) WHERE $1 = ANY(t.synonyms) OR t.name = $1 ORDER BY t.id, s.syn

-- @tags_array_ops hand
SELECT id, array_append(synonyms, name), array_remove(synonyms, 'go'), array_cat(synonyms, '{a}'), array_upper(synonyms, 1), synonyms || 'x'::text, array_replace(synonyms, 'go', 'golang'), array_ndims(synonyms), array_to_string(synonyms, '|', '-'), string_to_array('a,b', ','), synonyms[1:1], array_dims(synonyms), trim_array_free.n FROM tags CROSS JOIN LATERAL (SELECT count(*) AS n FROM unnest(synonyms)) trim_array_free ORDER BY id

-- @accounts_citext hand
-- @needs citext
-- @args ["HANDLE3"]
SELECT id, handle, email FROM accounts WHERE handle = $1

-- @accounts_citext_cast sqlc
-- @needs citext
-- @args ["handle4@forum.example"]
SELECT a.id, m.username FROM accounts a JOIN members m ON m.id = a.member_id WHERE a.email = $1::citext

-- @accounts_citext_in hand
-- @needs citext
SELECT id, lower(handle::text), handle::text FROM accounts WHERE handle IN ('handle1', 'HANDLE2') OR handle LIKE 'HANDLE3%' ORDER BY handle

-- @accounts_citext_group hand
-- @needs citext
SELECT handle, count(*) FROM accounts GROUP BY handle ORDER BY handle DESC

-- @profiles_hstore hand
-- @needs hstore
-- @args ["city"]
SELECT member_id, fields -> 'city' AS city, fields ? $1 AS has, fields @> 'city=>c1' AS c1 FROM profiles ORDER BY member_id

-- @profiles_hstore_keys hand
-- @needs hstore
SELECT member_id, akeys(fields), hstore_to_jsonb(fields), fields || 'x=>1'::hstore, exist(fields, 'site'), fields - 'city'::text FROM profiles WHERE fields -> 'city' = 'c2' ORDER BY member_id

-- @profiles_hstore_each hand
-- @needs hstore
SELECT (each(fields)).key AS k, count(*) FROM profiles GROUP BY 1 ORDER BY 1

-- @threads_similarity hand
-- @needs pg_trgm
-- @args ["How to indx"]
SELECT id, similarity(title, $1) AS s FROM threads ORDER BY s DESC, id LIMIT 5

-- @threads_word_similarity hand
-- @needs pg_trgm
-- @args ["index"]
SELECT id, word_similarity($1, title) AS s, title <-> $1 AS distance FROM threads ORDER BY title <-> $1, id LIMIT 5

-- @threads_trgm_operator hand
-- @needs pg_trgm
-- @may the operator reads pg_trgm.similarity_threshold
-- @args ["how to index"]
SELECT id, title FROM threads WHERE title % $1 ORDER BY id

-- @notes_inherited hand
SELECT id, note, written FROM notes WHERE member_id = 1 ORDER BY id

-- @notes_only hand
SELECT count(*) FROM ONLY notes

-- @notes_child hand
SELECT id, note FROM notes_2023 ORDER BY id
