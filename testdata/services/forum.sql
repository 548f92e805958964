-- The schema of a forum: threads of comments, votes, tags, full text, private
-- messages. What needs an extension stands in a section of its own.

CREATE TYPE post_state AS ENUM ('draft', 'published', 'hidden', 'deleted');
CREATE TYPE reaction AS ENUM ('like', 'laugh', 'sad');
CREATE DOMAIN slug AS varchar(80) CHECK (VALUE ~ '^[a-z0-9-]+$');

CREATE TABLE members (
	id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, username varchar(30) NOT NULL UNIQUE, email text NOT NULL UNIQUE, bio text,
	reputation int NOT NULL DEFAULT 0, is_moderator bool NOT NULL DEFAULT false, preferences jsonb NOT NULL DEFAULT '{}',
	interests text[] NOT NULL DEFAULT '{}', suspended_until timestamptz, last_seen_at timestamptz, joined_at timestamptz NOT NULL
);
CREATE TABLE boards (
	id smallint PRIMARY KEY, parent_id smallint REFERENCES boards, slug slug NOT NULL UNIQUE, title text NOT NULL, description text, sort int NOT NULL DEFAULT 0
);
CREATE TABLE threads (
	id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, board_id smallint NOT NULL REFERENCES boards, author_id int NOT NULL REFERENCES members,
	title text NOT NULL, slug slug NOT NULL, state post_state NOT NULL DEFAULT 'published', pinned bool NOT NULL DEFAULT false, locked bool NOT NULL DEFAULT false,
	view_count bigint NOT NULL DEFAULT 0, reply_count int NOT NULL DEFAULT 0, last_post_at timestamptz, created_at timestamptz NOT NULL
);
CREATE TABLE posts (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, thread_id int NOT NULL REFERENCES threads ON DELETE CASCADE, author_id int REFERENCES members ON DELETE SET NULL,
	parent_id bigint REFERENCES posts, body text NOT NULL, body_html text, state post_state NOT NULL DEFAULT 'published', score int NOT NULL DEFAULT 0,
	edits jsonb NOT NULL DEFAULT '[]', tsv tsvector, created_at timestamptz NOT NULL, edited_at timestamptz
);
CREATE INDEX ON posts USING gin (tsv);
CREATE TABLE votes (post_id bigint NOT NULL REFERENCES posts, member_id int NOT NULL REFERENCES members, value smallint NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (post_id, member_id));
CREATE TABLE reactions (post_id bigint NOT NULL REFERENCES posts, member_id int NOT NULL REFERENCES members, kind reaction NOT NULL, PRIMARY KEY (post_id, member_id, kind));
CREATE TABLE tags (id int PRIMARY KEY, name text NOT NULL UNIQUE, synonyms text[] NOT NULL DEFAULT '{}');
CREATE TABLE thread_tags (thread_id int REFERENCES threads, tag_id int REFERENCES tags, PRIMARY KEY (thread_id, tag_id));
CREATE TABLE badges (id int PRIMARY KEY, name text NOT NULL, tier smallint NOT NULL);
CREATE TABLE member_badges (member_id int REFERENCES members, badge_id int REFERENCES badges, awarded_on date NOT NULL, PRIMARY KEY (member_id, badge_id));
CREATE TABLE follows (follower_id int REFERENCES members, followee_id int REFERENCES members, since timestamp NOT NULL, PRIMARY KEY (follower_id, followee_id));
CREATE TABLE messages (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sender_id int NOT NULL REFERENCES members, recipient_id int NOT NULL REFERENCES members,
	body text NOT NULL, read_at timestamptz, sent_at timestamptz NOT NULL
);
CREATE TABLE notifications (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, member_id int NOT NULL REFERENCES members, kind text NOT NULL, data jsonb NOT NULL, seen bool NOT NULL DEFAULT false, created_at timestamptz NOT NULL
);
CREATE TABLE reports (
	id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, post_id bigint REFERENCES posts, reporter_id int REFERENCES members, reason text NOT NULL, resolved_by int REFERENCES members, created_at timestamptz NOT NULL
);
CREATE TABLE thread_reads (member_id int REFERENCES members, thread_id int REFERENCES threads, last_post_id bigint, read_at timestamptz, PRIMARY KEY (member_id, thread_id));
CREATE UNLOGGED TABLE presence (member_id int PRIMARY KEY, page text, at timestamptz NOT NULL);
CREATE TABLE daily_views (thread_id int NOT NULL, day date NOT NULL, views int NOT NULL, PRIMARY KEY (thread_id, day)) PARTITION BY HASH (thread_id);
CREATE TABLE daily_views_0 PARTITION OF daily_views FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE daily_views_1 PARTITION OF daily_views FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE drafts (id int PRIMARY KEY, member_id int REFERENCES members, title text, publish_on text, "body" text, "position" int);

CREATE TABLE notes (id int PRIMARY KEY, member_id int, note text, written date);
CREATE TABLE notes_2023 (CHECK (written < '2024-01-01')) INHERITS (notes);
INSERT INTO notes VALUES (1, 1, 'parent', '2024-01-05'); INSERT INTO notes_2023 VALUES (2, 1, 'child', '2023-05-05');
INSERT INTO members (username, email, bio, reputation, is_moderator, preferences, interests, suspended_until, last_seen_at, joined_at)
	SELECT 'member' || i, 'Member' || i || '@Forum.example', CASE WHEN i % 3 > 0 THEN 'Bio of ' || i END, i * 37 % 500, i <= 2,
		jsonb_build_object('lang', CASE WHEN i % 2 = 0 THEN 'en' ELSE 'de' END, 'digest', jsonb_build_object('weekly', i % 2 = 0)), ARRAY['go', 'sql', 'i' || i % 4],
		CASE WHEN i = 9 THEN timestamptz '2024-03-01 00:00+00' END, timestamptz '2024-02-20 00:00+00' + i * interval '1 hour', timestamptz '2023-06-01 00:00+00' + i * interval '5 days'
	FROM generate_series(1, 25) i;
INSERT INTO boards VALUES (1, NULL, 'general', 'General', 'All else', 1), (2, NULL, 'tech', 'Tech', NULL, 2), (3, 2, 'go', 'Go', 'The language', 3), (4, 2, 'postgres', 'PostgreSQL', 'The database', 4), (5, 4, 'tuning', 'Tuning', NULL, 5);
INSERT INTO threads (board_id, author_id, title, slug, state, pinned, locked, view_count, reply_count, last_post_at, created_at)
	SELECT 1 + i % 5, 1 + i % 25, 'How to index ' || i || ' columns', 'thread-' || i, (CASE WHEN i % 11 = 0 THEN 'hidden' ELSE 'published' END)::post_state, i % 15 = 0, i % 13 = 0,
		i * 13, i % 7, timestamptz '2024-02-01 00:00+00' + i * interval '7 hours', timestamptz '2024-01-01 00:00+00' + i * interval '7 hours'
	FROM generate_series(1, 40) i;
INSERT INTO posts (thread_id, author_id, parent_id, body, body_html, state, score, edits, created_at, edited_at)
	SELECT 1 + (i - 1) % 40, 1 + (i * 3) % 25, CASE WHEN i > 40 THEN i - 40 END, 'Use a partial index, said number ' || i, '<p>' || i || '</p>',
		(CASE WHEN i % 17 = 0 THEN 'deleted' ELSE 'published' END)::post_state, i % 23 - 4,
		CASE WHEN i % 4 = 0 THEN jsonb_build_array(jsonb_build_object('by', i % 25, 'at', '2024-02-01T00:00:00Z')) ELSE '[]' END,
		timestamptz '2024-01-01 00:00+00' + i * interval '3 hours', CASE WHEN i % 4 = 0 THEN timestamptz '2024-02-01 00:00+00' + i * interval '3 hours' END
	FROM generate_series(1, 160) i;
UPDATE posts SET tsv = to_tsvector('english', body);
INSERT INTO votes SELECT p, m, CASE WHEN (p + m) % 5 = 0 THEN -1 ELSE 1 END, timestamptz '2024-02-01 00:00+00' + p * interval '1 hour' FROM generate_series(1, 60) p, generate_series(1, 6) m;
INSERT INTO reactions SELECT p, 1 + p % 25, (ARRAY['like', 'laugh', 'sad'])[1 + p % 3]::reaction FROM generate_series(1, 90) p;
INSERT INTO tags VALUES (1, 'index', '{indices,indexes}'), (2, 'planner', '{}'), (3, 'golang', '{go}');
INSERT INTO thread_tags SELECT i, 1 + i % 3 FROM generate_series(1, 40) i;
INSERT INTO badges VALUES (1, 'Teacher', 1), (2, 'Guru', 3);
INSERT INTO member_badges SELECT i, 1 + i % 2, date '2024-01-01' + i FROM generate_series(1, 20) i;
INSERT INTO follows SELECT i, 1 + i % 25, timestamp '2024-01-01 00:00' + i * interval '1 day' FROM generate_series(1, 25) i WHERE i <> 1 + i % 25;
INSERT INTO follows VALUES (3, 5, '2024-01-09'), (3, 7, '2024-01-10');
INSERT INTO messages (sender_id, recipient_id, body, read_at, sent_at)
	SELECT 1 + i % 5, 2 + i % 6, 'message ' || i, CASE WHEN i % 2 = 0 THEN timestamptz '2024-02-10 00:00+00' END, timestamptz '2024-02-01 00:00+00' + i * interval '2 hours' FROM generate_series(1, 40) i;
INSERT INTO notifications (member_id, kind, data, seen, created_at)
	SELECT 1 + i % 10, (ARRAY['reply', 'mention', 'vote'])[1 + i % 3], jsonb_build_object('post_id', i, 'from', 'member' || i % 9), i % 4 = 0, timestamptz '2024-02-01 00:00+00' + i * interval '1 hour' FROM generate_series(1, 60) i;
INSERT INTO reports (post_id, reporter_id, reason, resolved_by, created_at) SELECT i * 3, 1 + i, 'spam', CASE WHEN i % 2 = 0 THEN 1 END, timestamptz '2024-02-05 00:00+00' + i * interval '1 hour' FROM generate_series(1, 12) i;
INSERT INTO thread_reads SELECT m, t, t * 2, timestamptz '2024-02-15 00:00+00' FROM generate_series(1, 5) m, generate_series(1, 20) t;
INSERT INTO presence SELECT i, '/t/' || i, timestamptz '2024-02-20 00:00+00' FROM generate_series(1, 5) i;
INSERT INTO daily_views SELECT t, date '2024-02-01' + d, t * d FROM generate_series(1, 10) t, generate_series(0, 9) d;
INSERT INTO drafts VALUES (1, 1, 'One', '2024-03-01', 'text', 1), (2, 1, 'Two', 'today', 'text', 2);

CREATE VIEW published_threads AS SELECT * FROM threads WHERE state = 'published';
CREATE VIEW thread_stats AS
	SELECT t.id, t.title, count(p.id) AS posts, count(DISTINCT p.author_id) AS authors, max(p.created_at) AS last_post, sum(p.score) AS score
	FROM published_threads t LEFT JOIN posts p ON p.thread_id = t.id AND p.state = 'published' GROUP BY t.id, t.title;
CREATE VIEW hot_threads AS
	SELECT s.*, log(greatest(abs(s.score), 1)::numeric) + extract(epoch FROM s.last_post) / 45000 AS heat FROM thread_stats s;
CREATE MATERIALIZED VIEW member_ranks AS SELECT id, username, reputation, rank() OVER (ORDER BY reputation DESC) AS rank FROM members;
CREATE VIEW online_members AS SELECT m.id, m.username FROM members m JOIN presence p ON p.member_id = m.id WHERE p.at > now() - interval '5 minutes';
CREATE FUNCTION bump_views(int) RETURNS bigint LANGUAGE sql AS 'UPDATE threads SET view_count = view_count + 1 WHERE id = $1 RETURNING view_count';
CREATE FUNCTION unread_count(int) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM notifications WHERE member_id = $1 AND NOT seen); END';
CREATE FUNCTION wilson_score(up bigint, total bigint) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN total = 0 THEN 0 ELSE ((up + 1.9208) / total - 1.96 * sqrt((up * (total - up))::double precision / total + 0.9604) / total) / (1 + 3.8416 / total) END $$;

-- @needs citext
CREATE EXTENSION IF NOT EXISTS citext;
CREATE TABLE accounts (id int PRIMARY KEY, handle citext NOT NULL UNIQUE, email citext NOT NULL, member_id int REFERENCES members);
INSERT INTO accounts SELECT i, 'Handle' || i, 'Handle' || i || '@Forum.Example', i FROM generate_series(1, 10) i;
-- @end
-- @needs hstore
CREATE EXTENSION IF NOT EXISTS hstore;
CREATE TABLE profiles (member_id int PRIMARY KEY REFERENCES members, fields hstore NOT NULL);
INSERT INTO profiles SELECT i, hstore(ARRAY['city', 'c' || i % 3, 'site', 'https://m' || i || '.example']) FROM generate_series(1, 10) i;
-- @end
-- @needs pg_trgm
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX ON threads USING gin (title gin_trgm_ops);
-- @end
ANALYZE;
