-- @member_by_pk bun
SELECT "m"."id", "m"."username", "m"."reputation", "m"."is_moderator", "m"."joined_at" FROM "members" AS "m" WHERE ("m"."id" = 3)

-- @member_by_name bun
SELECT "m"."id", "m"."username", "m"."reputation", "m"."is_moderator", "m"."joined_at" FROM "members" AS "m" WHERE ("username" = 'member7') LIMIT 1

-- @member_missing bun
SELECT "m"."id", "m"."username", "m"."reputation", "m"."is_moderator", "m"."joined_at" FROM "members" AS "m" WHERE (username = 'it''s nobody')

-- @member_count bun
SELECT count(*) FROM "members" AS "m" WHERE (reputation > 100)

-- @member_exists bun
SELECT EXISTS (SELECT "m"."id", "m"."username", "m"."reputation", "m"."is_moderator", "m"."joined_at" FROM "members" AS "m" WHERE (email = 'Member1@Forum.example'))

-- @member_threads bun
SELECT "m"."id", "m"."username", "m"."reputation", "m"."is_moderator", "m"."joined_at" FROM "members" AS "m" WHERE (m.id IN (1, 2, 3)) ORDER BY m.id

-- @member_threads_2 bun
SELECT "t"."id", "t"."board_id", "t"."author_id", "t"."title", "t"."state", "t"."created_at" FROM "threads" AS "t" WHERE ("t"."author_id" IN (1, 2, 3))

-- @threads_page bun
SELECT "t"."id", "t"."board_id", "t"."author_id", "t"."title", "t"."state", "t"."created_at", "author"."id" AS "author__id", "author"."username" AS "author__username", "author"."reputation" AS "author__reputation", "author"."is_moderator" AS "author__is_moderator", "author"."joined_at" AS "author__joined_at", "board"."id" AS "board__id", "board"."slug" AS "board__slug", "board"."title" AS "board__title" FROM "threads" AS "t" LEFT JOIN "members" AS "author" ON ("author"."id" = "t"."author_id") LEFT JOIN "boards" AS "board" ON ("board"."id" = "t"."board_id") WHERE (t.state = 'published') ORDER BY t.created_at DESC, t.id DESC LIMIT 10 OFFSET 10

-- @threads_page_count bun
SELECT "t"."id", "t"."board_id", "t"."author_id", "t"."title", "t"."state", "t"."created_at" FROM "threads" AS "t" WHERE (t.board_id = 2) ORDER BY "id" LIMIT 3

-- @threads_page_count_2 bun
SELECT count(*) FROM "threads" AS "t" WHERE (t.board_id = 2)

-- @threads_keyset_bun bun
SELECT "t"."id", "t"."board_id", "t"."author_id", "t"."title", "t"."state", "t"."created_at" FROM "threads" AS "t" WHERE ((t.created_at, t.id) < ('2024-01-10 08:30:00+00:00', 20)) ORDER BY t.created_at DESC, t.id DESC LIMIT 5

-- @thread_tags bun
SELECT "t"."id", "t"."board_id", "t"."author_id", "t"."title", "t"."state", "t"."created_at" FROM "threads" AS "t" WHERE (t.id = 6)

-- @thread_tags_2 bun
SELECT "thread_tag"."thread_id", "tag"."id", "tag"."name" FROM "tags" AS "tag" JOIN "thread_tags" AS "thread_tag" ON ("thread_tag"."thread_id") IN (6) WHERE ("tag"."id" = "thread_tag"."tag_id")

-- @threads_where_group bun
SELECT "t"."id", "t"."board_id", "t"."author_id", "t"."title", "t"."state", "t"."created_at" FROM "threads" AS "t" WHERE (t.pinned) OR ((t.view_count > 300) OR (t.locked = TRUE)) ORDER BY "t"."id"

-- @threads_column_expr bun
SELECT board_id, count(*) AS n, max(created_at) AS last FROM "threads" AS "t" GROUP BY board_id HAVING (count(*) > 1) ORDER BY board_id

-- @threads_cte bun
WITH "busy" AS (SELECT "p"."thread_id", count(*) AS n FROM "posts" AS "p" GROUP BY "thread_id" HAVING (count(*) >= 4)) SELECT t.id, t.title, busy.n FROM busy JOIN threads AS t ON (t.id = busy.thread_id) ORDER BY t.id

-- @posts_latest bun
SELECT "p"."id", "p"."thread_id", "p"."author_id", "p"."body", "p"."score", "p"."created_at", "author"."id" AS "author__id", "author"."username" AS "author__username" FROM "posts" AS "p" LEFT JOIN "members" AS "author" ON ("author"."id" = "p"."author_id") WHERE (p.thread_id = 4) AND (p.created_at >= '2023-12-10 08:30:00+00:00') ORDER BY "p"."id" ASC

-- @posts_distinct_on bun
SELECT DISTINCT ON (thread_id) "p"."id", "p"."thread_id", "p"."author_id", "p"."body", "p"."score", "p"."created_at" FROM "posts" AS "p" ORDER BY thread_id, score DESC, id

-- @posts_union bun
SELECT * FROM ((SELECT "p"."id", "p"."author_id" FROM "posts" AS "p" WHERE (score > 15)) UNION (SELECT "p"."id", "p"."author_id" FROM "posts" AS "p" WHERE (author_id = 4))) AS u ORDER BY u.id

-- @posts_array_param bun
SELECT "id", "interests" FROM "members" WHERE (interests @> '{"go","sql"}') ORDER BY "id"

-- @posts_subquery bun
SELECT "p"."id", "p"."thread_id", "p"."author_id", "p"."body", "p"."score", "p"."created_at" FROM "posts" AS "p" WHERE (p.thread_id IN (SELECT "t"."id" FROM "threads" AS "t" WHERE (board_id = 3))) ORDER BY "p"."id" LIMIT 20

-- @posts_raw bun
SELECT p.id, p.score FROM "posts" AS p WHERE p.body LIKE '%number 1%' ORDER BY "p"."score" DESC, p.id LIMIT 7

