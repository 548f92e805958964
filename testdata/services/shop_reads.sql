-- @session_user sqlc
-- @args ["token2"]
-- name: GetSessionUser :one
SELECT u.id, u.uuid, u.email, u.name, u.role FROM sessions s
JOIN users u ON u.id = s.user_id
WHERE s.token = $1 LIMIT 1

-- @user_login sqlc
-- @args ["USER5@example.COM"]
-- name: GetUserByEmail :one
SELECT id, email, name, role, password_hash, active
FROM users
WHERE lower(email) = lower($1) AND deleted_at IS NULL

-- @user_by_uuid sqlc
-- @args [{"uuid":"0a791842f52a0acfbb3a783378c066b8"}]
-- name: GetUserByUUID :one
SELECT id, name FROM users WHERE uuid = $1

-- @user_by_uuid_cast hand
-- @args ["affec3b6-4cf9-0492-377a-8114c86fc093"]
SELECT id, uuid::text, name FROM users WHERE uuid = $1::uuid

-- @users_by_ids sqlc
-- @args [{"valuer":"{1,2,3,99}"}]
-- name: ListUsersByIDs :many
SELECT id, email, name FROM users WHERE id = ANY($1::bigint[]) ORDER BY id

-- @users_by_ids_slice hand
-- @args [{"ints":[4,5,6]}]
SELECT id, name FROM users WHERE id = ANY($1) ORDER BY id

-- @users_by_emails hand
-- @args [{"texts":["User1@example.com","User2@example.com"]}]
SELECT id, email FROM users WHERE email = ANY($1::text[]) ORDER BY id

-- @users_not_all hand
-- @args [{"ints":[1,2,3]}]
SELECT id FROM users WHERE id <> ALL($1) ORDER BY id

-- @users_keyset sqlc
-- @args [{"time":"2024-01-15T08:00:00Z"},7,5]
-- name: ListUsersAfter :many
SELECT id, email, created_at FROM users
WHERE (created_at, id) < ($1, $2)
ORDER BY created_at DESC, id DESC
LIMIT $3

-- @users_page_total hand
-- @args [5,10]
SELECT id, email, count(*) OVER() AS total FROM users WHERE deleted_at IS NULL ORDER BY id LIMIT $1 OFFSET $2

-- @users_optional_filters sqlc
-- @args [null,"staff",null]
-- name: SearchUsers :many
SELECT id, name, role FROM users
WHERE ($1::text IS NULL OR name ILIKE '%' || $1 || '%')
  AND ($2::user_role IS NULL OR role = $2::user_role)
  AND ($3::boolean IS NULL OR active = $3::boolean)
ORDER BY id

-- @users_coalesced_filter sqlc
-- @args [null,"User 6"]
SELECT id, name FROM users WHERE role = coalesce($1::user_role, role) AND name = coalesce($2, name) ORDER BY id

-- @users_json_setting sqlx
-- @args ["dark"]
SELECT id, settings->>'theme' AS theme, settings->'mail'->>'news' AS news FROM users WHERE settings->>'theme' = $1 ORDER BY id

-- @users_json_contains hand
-- @args ["{\"mail\": {\"news\": true}}"]
SELECT id FROM users WHERE settings @> $1::jsonb ORDER BY id

-- @users_json_path hand
SELECT id, settings #>> '{mail,news}' AS news FROM users WHERE settings #> '{mail}' IS NOT NULL ORDER BY id

-- @users_role_enum_cast hand
SELECT id, role::text, role = 'admin'::user_role AS is_admin FROM users WHERE role >= 'staff' ORDER BY role DESC, id

-- @users_by_role_any hand
-- @args [{"valuer":"{staff,admin}"}]
SELECT id, role FROM users WHERE role = ANY($1::user_role[]) ORDER BY id

-- @users_born_between hand
-- @args [{"time":"1981-01-01T00:00:00Z"},{"time":"1985-12-31T00:00:00Z"}]
SELECT id, birth_date, extract(year FROM birth_date)::int AS year FROM users WHERE birth_date BETWEEN $1 AND $2 ORDER BY birth_date

-- @users_signups_by_day hand
-- @args [{"time":"2024-01-01T00:00:00Z"}]
SELECT date_trunc('day', created_at) AS day, count(*) FROM users WHERE created_at >= $1 GROUP BY 1 ORDER BY 1

-- @users_signups_by_month hand
SELECT to_char(created_at, 'YYYY-MM') AS month, count(*)::int AS n FROM users GROUP BY to_char(created_at, 'YYYY-MM') ORDER BY month

-- @users_signup_date hand
-- @may a cast to time beside AT TIME ZONE, which goes by today for a time of day
SELECT id, created_at::date AS day, created_at::time AS clock, (created_at AT TIME ZONE 'UTC')::date AS utc_day FROM users ORDER BY id LIMIT 6

-- @users_signup_zone hand
-- @args ["Europe/Berlin"]
SELECT id, created_at AT TIME ZONE $1 AS local FROM users ORDER BY id LIMIT 4

-- @users_epoch hand
SELECT id, extract(epoch FROM created_at)::bigint AS created, date_part('dow', created_at) AS dow, (extract(epoch from updated_at) * 1000)::int8 ms FROM users ORDER BY id LIMIT 6

-- @users_idle hand
-- @args [{"time":"2024-02-04T00:00:00Z"}]
SELECT id, last_login_at FROM users WHERE last_login_at < $1::timestamptz - interval '1 day' OR last_login_at IS NULL ORDER BY id

-- @users_idle_days hand
-- @args [{"time":"2024-02-04T00:00:00Z"},2]
SELECT id FROM users WHERE last_login_at >= $1::timestamptz - make_interval(days => $2) ORDER BY id

-- @users_idle_interval_product hand
-- @args [{"time":"2024-02-04T00:00:00Z"},36]
SELECT id FROM users WHERE last_login_at >= $1::timestamptz - $2 * interval '1 hour' ORDER BY id

-- @users_age hand
-- @args [{"time":"2024-02-01T00:00:00Z"}]
SELECT id, extract(year FROM age($1::timestamptz, birth_date::timestamptz)) AS years FROM users ORDER BY id

-- @users_ip hand
SELECT id, host(last_ip) AS ip, family(last_ip), last_ip <<= '10.0.0.0/28'::cidr AS inside FROM users ORDER BY id

-- @users_password_hex hand
SELECT id, encode(password_hash, 'hex') AS hash, octet_length(password_hash), md5(email) AS gravatar, encode(sha256(convert_to(email, 'UTF8')), 'base64') FROM users ORDER BY id LIMIT 5

-- @users_initials hand
SELECT id, upper(left(name, 1)) || lower(substr(name, 2)) AS n, initcap(name), split_part(email, '@', 2) AS domain, position('@' in email), length(name), substring(name from 6 for 2), overlay(name placing 'x' from 1 for 1), trim(both from name), reverse(name), lpad(id::text, 6, '0'), replace(name, ' ', '_') FROM users ORDER BY id

-- @users_concat hand
SELECT concat(name, ' <', email, '>') AS full, concat_ws(', ', name, role, birth_date), format('%s (%s)', name, id) AS label FROM users ORDER BY id LIMIT 7

-- @user_profile_json hand
-- @args [4]
SELECT json_build_object('id', u.id, 'name', u.name, 'addresses', coalesce(json_agg(json_build_object('label', a.label, 'city', (a.address).city) ORDER BY a.id) FILTER (WHERE a.id IS NOT NULL), '[]')) AS doc
FROM users u LEFT JOIN addresses a ON a.user_id = u.id WHERE u.id = $1 GROUP BY u.id

-- @user_row_to_json hand
-- @args [3]
SELECT row_to_json(t) FROM (SELECT id, name, created_at FROM users WHERE id = $1) t

-- @user_to_jsonb hand
-- @args [3]
SELECT to_jsonb(u) - 'password_hash' - 'settings' AS doc FROM users u WHERE u.id = $1

-- @addresses_composite hand
SELECT a.id, (a.address).street, (a.address).zip, a.address FROM addresses a WHERE (a.address).country = 'DE' ORDER BY a.id

-- @addresses_composite_star hand
-- @args [3]
SELECT a.id, (a.address).* FROM addresses a WHERE a.user_id = $1 AND a.is_default

-- @addresses_composite_equal hand
SELECT id FROM addresses WHERE address = ROW('Main St 2', 'Berlin', '10002', 'DE')::postal_address

-- @category_tree sqlc
-- @args [1]
-- name: CategoryTree :many
WITH RECURSIVE tree AS (
    SELECT id, parent_id, name, slug, 0 AS depth, ARRAY[id] AS path
    FROM categories WHERE id = $1
    UNION ALL
    SELECT c.id, c.parent_id, c.name, c.slug, t.depth + 1, t.path || c.id
    FROM categories c JOIN tree t ON c.parent_id = t.id
)
SELECT id, parent_id, name, slug, depth, path FROM tree ORDER BY path

-- @category_breadcrumb hand
-- @args ["knives"]
WITH RECURSIVE up(id, parent_id, name, level) AS (
	SELECT id, parent_id, name, 0 FROM categories WHERE slug = $1
	UNION SELECT c.id, c.parent_id, c.name, up.level + 1 FROM categories c, up WHERE c.id = up.parent_id
)
SELECT string_agg(name, ' / ' ORDER BY level DESC) AS breadcrumb FROM up

-- @category_product_counts hand
SELECT c.id, c.name, count(p.id) FILTER (WHERE p.status = 'active') AS active, count(p.id) AS total
FROM categories c LEFT JOIN products p ON p.category_id = c.id AND p.deleted_at IS NULL
GROUP BY c.id ORDER BY c.position, c.id

-- @category_rollup hand
SELECT coalesce(c.name, 'all') AS category, coalesce(b.name, 'all') AS brand, count(*), grouping(c.name, b.name) AS g
FROM products p JOIN categories c ON c.id = p.category_id JOIN brands b ON b.id = p.brand_id
GROUP BY ROLLUP (c.name, b.name) ORDER BY g, category, brand

-- @category_grouping_sets hand
SELECT category_id, status, sum(stock) AS stock FROM products GROUP BY GROUPING SETS ((category_id), (status), ()) ORDER BY category_id NULLS LAST, status NULLS LAST

-- @category_cube hand
SELECT category_id, brand_id, count(*) FROM products GROUP BY CUBE (category_id, brand_id) ORDER BY 1 NULLS FIRST, 2 NULLS FIRST

-- @product_page sqlx
-- @args ["active",10,20]
SELECT id, slug, name, price, currency, stock FROM products WHERE status = $1 AND deleted_at IS NULL ORDER BY published_at DESC NULLS LAST, id LIMIT $2 OFFSET $3

-- @product_fetch_first hand
SELECT id, price FROM products ORDER BY price DESC, id FETCH FIRST 5 ROWS ONLY

-- @product_fetch_ties hand
SELECT id, stock FROM products ORDER BY stock DESC FETCH FIRST 3 ROWS WITH TIES

-- @product_search sqlc
-- @args ["knife"]
-- name: SearchProducts :many
SELECT id, name, ts_rank(search, plainto_tsquery('english', $1)) AS rank
FROM products
WHERE search @@ plainto_tsquery('english', $1)
ORDER BY rank DESC, id
LIMIT 10

-- @product_search_web hand
-- @args ["\"frying pan\" or spade -garden"]
SELECT p.id, p.name FROM products p, websearch_to_tsquery('english', $1) q WHERE p.search @@ q ORDER BY ts_rank_cd(p.search, q) DESC, p.id

-- @product_search_stored hand
-- @args ["bread & knife"]
SELECT id, ts_headline('english', description, to_tsquery($1), 'MaxWords=8, MinWords=3') AS snippet FROM products WHERE search @@ to_tsquery($1) ORDER BY id

-- @product_search_prefix hand
-- @args ["kni:*"]
SELECT id FROM products WHERE to_tsvector('english', name) @@ to_tsquery('english', $1) ORDER BY id

-- @product_search_phrase hand
-- @args ["garden spade"]
SELECT id FROM products WHERE to_tsvector('simple', name || ' ' || coalesce(description, '')) @@ phraseto_tsquery('simple', $1) ORDER BY id

-- @product_search_default_config hand
-- @args ["sturdy"]
SELECT count(*) FROM products WHERE to_tsvector(description) @@ plainto_tsquery($1)

-- @product_like hand
-- @args ["Chef%"]
SELECT id, name FROM products WHERE name LIKE $1 ESCAPE '\' AND name NOT LIKE '%9' ORDER BY id

-- @product_regex hand
-- @args ["^(chef|bread)"]
SELECT id, regexp_replace(name, '\s+\d+$', '') AS base, (regexp_match(name, '(\d+)$'))[1]::int AS n FROM products WHERE name ~* $1 AND sku !~ 'X' ORDER BY id

-- @product_similar_to hand
SELECT id FROM products WHERE slug SIMILAR TO 'product-(1|2)[0-9]' ORDER BY id

-- @product_starts_with hand
-- @args ["SKU-001"]
SELECT id FROM products WHERE starts_with(sku, $1) ORDER BY id

-- @product_facets_json hand
SELECT attributes->>'color' AS color, count(*) AS n, min(price), max(price) FROM products WHERE attributes ? 'color' GROUP BY attributes->>'color' ORDER BY n DESC, color

-- @product_has_any_key hand
-- @args [{"texts":["size","nope"]}]
SELECT count(*) FROM products WHERE attributes ?| $1 AND attributes ?& array['color','size']

-- @product_json_path hand
SELECT id FROM products WHERE jsonb_path_exists(attributes, '$.dims.w ? (@ > 30)') ORDER BY id

-- @product_json_path_vars hand
-- @args ["{\"min\": 35}"]
SELECT id, jsonb_path_query_first(attributes, '$.dims.h') AS h FROM products WHERE jsonb_path_exists(attributes, '$.dims.w ? (@ >= $min)', $1::jsonb) ORDER BY id

-- @product_json_path_ops hand
SELECT id FROM products WHERE attributes @? '$.labels[*] ? (@ == "l1")' AND attributes @@ '$.size == 2' ORDER BY id

-- @product_json_each hand
SELECT kv.key, count(*) FROM products p CROSS JOIN LATERAL jsonb_each_text(p.attributes) AS kv(key, value) GROUP BY kv.key ORDER BY kv.key

-- @product_json_elements hand
SELECT p.id, l.label FROM products p, jsonb_array_elements_text(p.attributes->'labels') AS l(label) WHERE l.label <> 'x' ORDER BY p.id

-- @product_json_numeric hand
-- @args [20.5]
SELECT id, (attributes->>'price')::numeric AS p FROM products WHERE (attributes->>'price')::numeric(10,2) > $1 ORDER BY p

-- @product_json_build hand
SELECT id, jsonb_build_object('name', name, 'price', price, 'tags', to_jsonb(tags)) || '{"v": 1}'::jsonb AS doc, jsonb_set(attributes, '{size}', '9'), jsonb_strip_nulls(attributes), jsonb_typeof(attributes->'dims'), attributes #- '{dims,w}' FROM products ORDER BY id LIMIT 4

-- @product_json_record hand
SELECT p.id, x.w, x.h FROM products p CROSS JOIN LATERAL jsonb_to_record(p.attributes->'dims') AS x(w int, h int) WHERE x.w < 6 ORDER BY p.id

-- @product_tags_overlap hand
-- @args [{"texts":["tag1","tag12"]}]
SELECT id, tags FROM products WHERE tags && $1 ORDER BY id

-- @product_tags_contains hand
SELECT id, cardinality(tags), array_length(tags, 1), array_to_string(tags, ','), tags[1], array_position(tags, 'tag1') FROM products WHERE tags @> ARRAY['tag1']::text[] ORDER BY id

-- @product_tag_cloud hand
SELECT t.tag, count(*) AS n FROM products, unnest(tags) AS t(tag) GROUP BY t.tag ORDER BY n DESC, t.tag

-- @product_related hand
-- @args [5]
SELECT r.id, r.name FROM products p JOIN LATERAL unnest(p.related_ids) WITH ORDINALITY AS x(rid, ord) ON true JOIN products r ON r.id = x.rid WHERE p.id = $1 ORDER BY x.ord

-- @product_unnest_order hand
-- @args [{"ints":[7,3,9]}]
SELECT p.id, p.name FROM unnest($1::int[]) WITH ORDINALITY AS w(id, ord) JOIN products p ON p.id = w.id ORDER BY w.ord

-- @product_array_agg hand
SELECT category_id, array_agg(id ORDER BY price DESC, id) AS ids, array_agg(DISTINCT brand_id), string_agg(sku, ',' ORDER BY sku) AS skus FROM products GROUP BY category_id ORDER BY category_id

-- @product_images_lateral sqlc
-- @args [10]
SELECT p.id, p.name, i.url FROM products p
LEFT JOIN LATERAL (SELECT url FROM product_images WHERE product_id = p.id ORDER BY position, id LIMIT 1) i ON true
WHERE p.id <= $1 ORDER BY p.id

-- @product_images_array hand
-- @args [6]
SELECT p.id, ARRAY(SELECT url FROM product_images i WHERE i.product_id = p.id ORDER BY i.id) AS images FROM products p WHERE p.id = $1

-- @product_price_bucket hand
SELECT width_bucket(price, 0, 150, 5) AS bucket, count(*), round(avg(price)::numeric, 2) AS mean FROM products GROUP BY 1 ORDER BY 1

-- @product_price_stats hand
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) AS median, percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY price), mode() WITHIN GROUP (ORDER BY category_id), stddev(price), variance(weight), corr(weight, price::float8) FROM products

-- @product_price_math hand
SELECT id, price * 1.19 AS gross, round(price * 0.9, 1), ceil(price), floor(price), trunc(price, 1), mod(stock, 4), power(weight, 2), sqrt(price), abs(-price), sign(price), price / nullif(stock, 0) AS per_item, greatest(price, 20), least(stock, 3, 2), div(price, 7), weight::numeric(8,3), price::int FROM products ORDER BY id

-- @product_price_text hand
SELECT id, price::text, to_char(price, 'FM999990.00') AS shown, list_price, list_price::numeric, list_price * 2 FROM products ORDER BY id LIMIT 6

-- @product_gross sqlc
-- @args [19]
SELECT id, gross_price(price, $1) AS gross FROM products WHERE gross_price(price, 19) > 50 ORDER BY id

-- @product_slugify hand
SELECT id, slugify(name) AS slug FROM products WHERE slugify(name) LIKE 'chef-%' ORDER BY id

-- @product_generated hand
SELECT id, price_cents, price_cents::numeric / 100 AS price FROM products WHERE price_cents > 5000 ORDER BY price_cents

-- @product_price_history hand
-- @args [{"time":"2024-01-15T00:00:00Z"}]
SELECT product_id, price, lower(valid) AS since, upper(valid) AS until, valid FROM product_prices WHERE valid @> $1::date ORDER BY product_id LIMIT 8

-- @product_price_overlap hand
-- @args [{"time":"2024-01-10T00:00:00Z"},{"time":"2024-02-10T00:00:00Z"},4]
SELECT id, valid * daterange($1::date, $2::date, '[]') AS part, isempty(valid), upper_inf(valid) FROM product_prices WHERE valid && daterange($1::date, $2::date) AND product_id = $3 ORDER BY id

-- @product_price_tier hand
-- @args [12]
SELECT product_id, price FROM product_prices WHERE amounts @> $1::int ORDER BY product_id LIMIT 5

-- @product_cheapest_per_category hand
SELECT DISTINCT ON (category_id) category_id, id, price FROM products WHERE status = 'active' ORDER BY category_id, price, id

-- @product_rank hand
SELECT * FROM (SELECT id, category_id, price, row_number() OVER (PARTITION BY category_id ORDER BY price DESC, id) AS rn FROM products) ranked WHERE rn <= 2 ORDER BY category_id, rn

-- @product_window_named hand
SELECT id, rank() OVER w, dense_rank() OVER w, ntile(4) OVER w, percent_rank() OVER w, cume_dist() OVER w, first_value(price) OVER w, nth_value(price, 2) OVER w FROM products WINDOW w AS (ORDER BY stock DESC, price, id) ORDER BY id

-- @product_case hand
SELECT id, CASE WHEN stock = 0 THEN 'sold out' WHEN stock < 3 THEN 'few' ELSE 'plenty' END AS availability, CASE status WHEN 'active' THEN 1 ELSE 0 END AS on_sale FROM products ORDER BY id

-- @product_without_reviews hand
SELECT p.id FROM products p WHERE NOT EXISTS (SELECT 1 FROM reviews r WHERE r.product_id = p.id) ORDER BY p.id

-- @product_no_reviews_anti_join hand
SELECT p.id FROM products p LEFT JOIN reviews r ON r.product_id = p.id WHERE r.id IS NULL ORDER BY p.id

-- @product_legacy_date_text hand
SELECT id, release_note FROM products WHERE release_note >= '2024-01-05' AND release_note IS DISTINCT FROM '' ORDER BY id

-- @product_literal_dates hand
SELECT id FROM products WHERE created_at >= '2024-01-03' AND created_at < '2024-01-04 12:00:00+00'::timestamptz AND published_at::date <> DATE '2024-01-07' ORDER BY id

-- @product_listing_view sqlx
-- @args ["Acme"]
SELECT * FROM product_listing WHERE brand = $1 ORDER BY id

-- @product_active_view gorm
-- @args ["product-8",1]
SELECT * FROM "active_products" WHERE slug = $1 ORDER BY "active_products"."id" LIMIT $2

-- @product_ratings_view hand
-- @args [4]
SELECT product_id, rating FROM product_ratings WHERE rating >= $1 ORDER BY rating DESC, product_id

-- @order_totals_view hand
SELECT u.name, t.orders, t.spent FROM order_totals t JOIN users u ON u.id = t.user_id ORDER BY t.spent DESC, u.id LIMIT 5

-- @sales_daily_matview hand
-- @args [{"time":"2024-01-10T00:00:00Z"}]
SELECT day, orders, revenue, sum(revenue) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM sales_daily WHERE day >= $1 ORDER BY day

-- @cart_lines sqlc
-- @args ["b7a1e08b-45b1-335c-de9b-3d5828f8cc02"]
-- name: CartLines :many
SELECT ci.product_id, p.name, ci.quantity, p.price, (ci.quantity * p.price)::numeric(12,2) AS line_total
FROM cart_items ci JOIN products p ON p.id = ci.product_id
WHERE ci.cart_id = $1
ORDER BY ci.product_id

-- @cart_total hand
-- @args [2]
SELECT c.id, coalesce(sum(ci.quantity * p.price), 0)::bigint AS total, count(ci.*) AS lines FROM carts c LEFT JOIN cart_items ci ON ci.cart_id = c.id LEFT JOIN products p ON p.id = ci.product_id WHERE c.user_id = $1 GROUP BY c.id

-- @coupon_valid_at hand
-- @args ["SPRING",{"time":"2024-03-01T00:00:00Z"}]
SELECT code, percent, amount FROM coupons WHERE code = $1 AND valid @> $2::timestamptz AND (max_uses IS NULL OR used < max_uses)

-- @order_by_number bun
SELECT "o"."id", "o"."number", "o"."total" FROM "orders" AS "o" WHERE ("o"."number" = 'O-1012') LIMIT 1

-- @order_detail_json hand
-- @args [12]
SELECT o.id, o.number, jsonb_agg(jsonb_build_object('sku', p.sku, 'qty', i.quantity, 'price', i.unit_price) ORDER BY i.id) AS items
FROM orders o JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id
WHERE o.id = $1 OR o.id = $1 + 1 GROUP BY o.id, o.number ORDER BY o.id

-- @order_history sqlc
-- @args [3,{"time":"2024-02-10T00:00:00Z"},10]
-- name: OrderHistory :many
SELECT id, number, status, total, placed_at, count(*) OVER () AS total_count
FROM orders WHERE user_id = $1 AND placed_at < $2
ORDER BY placed_at DESC LIMIT $3

-- @order_lag hand
SELECT id, user_id, placed_at - lag(placed_at) OVER (PARTITION BY user_id ORDER BY placed_at) AS since_last, lead(total, 1, 0.0) OVER (PARTITION BY user_id ORDER BY placed_at) AS next_total FROM orders ORDER BY id

-- @order_running_total hand
SELECT id, sum(total) OVER (ORDER BY placed_at RANGE BETWEEN interval '7 days' PRECEDING AND CURRENT ROW) AS week_total FROM orders ORDER BY id

-- @order_revenue_by_day hand
-- @may the alias of a function's column may stand for text
-- @args [{"time":"2024-01-01T00:00:00Z"},{"time":"2024-01-14T00:00:00Z"}]
SELECT d.day::date, coalesce(sum(o.total), 0) AS revenue
FROM generate_series($1::timestamptz, $2::timestamptz, interval '1 day') AS d(day)
LEFT JOIN orders o ON o.placed_at >= d.day AND o.placed_at < d.day + interval '1 day'
GROUP BY d.day ORDER BY d.day

-- @order_revenue_by_week hand
SELECT date_trunc('week', placed_at AT TIME ZONE 'Europe/Berlin') AS week, count(DISTINCT user_id) AS buyers, sum(total) FROM orders GROUP BY 1 ORDER BY 1

-- @order_hours hand
SELECT extract(hour FROM placed_at AT TIME ZONE 'UTC')::int AS hour, count(*) FROM orders GROUP BY 1 HAVING count(*) > 1 ORDER BY 1

-- @order_paid_delay hand
SELECT status, avg(paid_at - placed_at) AS delay, max(extract(epoch FROM (shipped_at - paid_at))) AS seconds FROM orders WHERE paid_at IS NOT NULL GROUP BY status ORDER BY status

-- @order_overlaps hand
-- @args [{"time":"2024-01-10T00:00:00Z"},{"time":"2024-01-12T00:00:00Z"}]
SELECT id FROM orders WHERE (placed_at, shipped_at) OVERLAPS ($1::timestamptz, $2::timestamptz) ORDER BY id

-- @order_filters hand
SELECT count(*) FILTER (WHERE status = 'paid') AS paid, count(*) FILTER (WHERE status IN ('shipped', 'delivered')) AS done, bool_or(coupon_code IS NOT NULL) AS coupons, bool_and(total > 0), every(tax >= 0), sum(total) FILTER (WHERE status NOT IN ('cancelled', 'refunded')) AS revenue FROM orders

-- @order_ship_to hand
-- @args ["Berlin"]
SELECT id, ship_to->>'zip' AS zip, (ship_to->>'zip')::int + 1 FROM orders WHERE ship_to->>'city' = $1 AND ship_to @> '{"country":"DE"}' ORDER BY id

-- @order_metadata_json hand
SELECT id, metadata->>'source' AS source, (metadata->>'gift')::boolean AS gift, json_typeof(metadata->'gift') FROM orders WHERE metadata->>'source' = 'app' ORDER BY id

-- @order_union hand
-- @args [3]
SELECT 'order' AS kind, id, placed_at AS at FROM orders WHERE user_id = $1 UNION ALL SELECT 'review', id, created_at FROM reviews WHERE user_id = $1 ORDER BY at, kind, id

-- @order_intersect hand
SELECT user_id FROM orders INTERSECT SELECT user_id FROM reviews EXCEPT SELECT id FROM users WHERE role = 'admin' ORDER BY user_id

-- @order_values_join hand
SELECT o.id, v.label FROM orders o JOIN (VALUES ('pending'::order_status, 'Waiting'), ('paid', 'Paid')) AS v(status, label) ON v.status = o.status ORDER BY o.id

-- @order_top_buyers hand
-- @args [3]
WITH spent AS MATERIALIZED (SELECT user_id, sum(total) AS s FROM orders GROUP BY user_id), top AS (SELECT user_id, s FROM spent ORDER BY s DESC, user_id LIMIT $1)
SELECT u.id, u.name, t.s, round(100.0 * t.s / (SELECT sum(s) FROM spent), 2) AS pct FROM top t JOIN users u ON u.id = t.user_id ORDER BY t.s DESC, u.id

-- @order_events_partitioned sqlc
-- @args [7,{"time":"2024-01-01T00:00:00Z"},{"time":"2024-02-15T00:00:00Z"}]
SELECT id, kind, payload->>'by' AS by, at FROM order_events WHERE order_id = $1 AND at >= $2 AND at < $3 ORDER BY at

-- @order_events_one_partition hand
SELECT kind, count(*) FROM order_events_2024_01 GROUP BY kind ORDER BY kind

-- @order_events_last hand
SELECT o.id, e.kind FROM orders o CROSS JOIN LATERAL (SELECT kind FROM order_events e WHERE e.order_id = o.id ORDER BY e.at DESC LIMIT 1) e ORDER BY o.id

-- @reviews_page hand
-- @args [7]
SELECT r.id, r.rating, r.title, coalesce(nullif(r.title, ''), '(none)') AS shown, u.name FROM reviews r INNER JOIN users u ON u.id = r.user_id WHERE r.product_id = $1 ORDER BY r.helpful DESC, r.created_at DESC

-- @reviews_histogram hand
-- @args [3]
SELECT s.rating, count(r.id) FROM generate_series(1, 5) AS s(rating) LEFT JOIN reviews r ON r.rating = s.rating AND r.product_id = $1 GROUP BY s.rating ORDER BY s.rating DESC

-- @reviews_average sqlc
-- @args [3]
-- name: AverageRating :one
SELECT COALESCE(AVG(rating), 0)::float8 AS average, COUNT(*) AS n FROM reviews WHERE product_id = $1

-- @wishlist_local_timestamp hand
-- @args [2,{"time":"2024-01-15T13:30:00Z"}]
SELECT product_id, added_at, added_at + interval '1 month' AS later, date_trunc('hour', added_at) FROM wishlist_items WHERE user_id = $1 AND added_at >= $2::timestamp ORDER BY product_id

-- @stock_available hand
-- @args [5]
SELECT s.product_id, sum(s.on_hand - s.reserved) AS available FROM warehouse.stock s JOIN warehouse.locations l ON l.id = s.location_id WHERE s.product_id <= $1 GROUP BY s.product_id ORDER BY s.product_id

-- @stock_locations_open hand
-- @args ["08:30"]
SELECT code, opens, closes, closes - opens AS hours, to_char(opens, 'HH24:MI') FROM warehouse.locations WHERE $1::time BETWEEN opens AND closes ORDER BY code

-- @stock_moves_quoted hand
-- @args [3]
SELECT m."productId", m."from", m."to", m."order" FROM "warehouse"."Stock Moves" AS m WHERE m."productId" = $1 ORDER BY m."order"

-- @stock_full_join hand
SELECT coalesce(s.product_id, m."productId") AS product, s.on_hand, m."to" FROM warehouse.stock s FULL OUTER JOIN warehouse."Stock Moves" m ON m."productId" = s.product_id AND m."to" = s.location_id ORDER BY 1, s.location_id

-- @stock_natural_join hand
SELECT count(*) FROM warehouse.stock NATURAL JOIN product_prices

-- @table_command hand
TABLE brands ORDER BY id

-- @tsvector_column hand
-- @args [2]
SELECT id, search, tsvector_to_array(search), length(search), strip(search) FROM products WHERE id = $1

-- @order_bounds_at_infinity hand
SELECT count(*) FROM orders WHERE placed_at > 'epoch' AND placed_at < 'infinity'::timestamptz AND paid_at IS DISTINCT FROM '-infinity'

-- @product_prose_with_a_date_word hand
-- @may the type of what a pattern is compared with is not in the text
-- @args ["what is new today"]
SELECT id FROM products WHERE description ILIKE '%sold out today%' OR description = $1 OR name LIKE 'Now%'

-- @order_column_of_a_subquery_cast hand
SELECT x.placed_at::date AS day, count(*) FROM (SELECT id, placed_at FROM orders WHERE status = 'paid') x GROUP BY 1 ORDER BY 1
