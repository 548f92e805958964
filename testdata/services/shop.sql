-- The schema of a shop: money in numeric, soft deletes, jsonb attributes, a
-- category tree, stock in a schema of its own, monthly partitions of events.

CREATE TYPE user_role AS ENUM ('customer', 'staff', 'admin');
CREATE TYPE product_status AS ENUM ('draft', 'active', 'archived');
CREATE TYPE order_status AS ENUM ('pending', 'paid', 'shipped', 'delivered', 'cancelled', 'refunded');
CREATE TYPE postal_address AS (street text, city text, zip text, country char(2));
CREATE DOMAIN email_address AS text CHECK (VALUE LIKE '%_@_%');
CREATE DOMAIN quantity AS integer CHECK (VALUE >= 0);
CREATE DOMAIN currency_code AS char(3) CHECK (VALUE ~ '^[A-Z]{3}$');
CREATE SCHEMA warehouse;

CREATE FUNCTION gross_price(net numeric, rate numeric) RETURNS numeric
	LANGUAGE sql IMMUTABLE AS 'SELECT round(net * (1 + rate / 100), 2)';
CREATE FUNCTION slugify(title text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT trim(BOTH '-' FROM regexp_replace(lower(title), '[^a-z0-9]+', '-', 'g')) $$;

CREATE TABLE users (
	id bigserial PRIMARY KEY,
	uuid uuid NOT NULL UNIQUE,
	email email_address NOT NULL UNIQUE,
	name varchar(100) NOT NULL,
	role user_role NOT NULL DEFAULT 'customer',
	password_hash bytea,
	settings jsonb NOT NULL DEFAULT '{}',
	birth_date date,
	active boolean NOT NULL DEFAULT true,
	last_login_at timestamptz,
	last_ip inet,
	created_at timestamptz NOT NULL,
	updated_at timestamptz NOT NULL,
	deleted_at timestamptz
);
CREATE INDEX ON users (lower(email));
CREATE TABLE addresses (
	id bigserial PRIMARY KEY,
	user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
	label text NOT NULL,
	address postal_address NOT NULL,
	is_default boolean NOT NULL DEFAULT false
);
CREATE TABLE brands (id serial PRIMARY KEY, name text NOT NULL UNIQUE, country char(2), website text);
CREATE TABLE categories (
	id serial PRIMARY KEY,
	parent_id int REFERENCES categories,
	name text NOT NULL,
	slug text NOT NULL UNIQUE,
	position smallint NOT NULL DEFAULT 0
);
CREATE TABLE products (
	id bigserial PRIMARY KEY,
	uuid uuid NOT NULL UNIQUE,
	category_id int NOT NULL REFERENCES categories,
	brand_id int REFERENCES brands,
	sku varchar(32) NOT NULL UNIQUE,
	slug text NOT NULL UNIQUE,
	name text NOT NULL,
	description text NOT NULL DEFAULT '',
	price numeric(12,2) NOT NULL,
	list_price money,
	currency currency_code NOT NULL DEFAULT 'EUR',
	weight double precision,
	status product_status NOT NULL DEFAULT 'draft',
	attributes jsonb NOT NULL DEFAULT '{}',
	tags text[] NOT NULL DEFAULT '{}',
	related_ids bigint[] NOT NULL DEFAULT '{}',
	stock quantity NOT NULL DEFAULT 0,
	release_note text, -- holds a date, as legacy imports do
	search tsvector GENERATED ALWAYS AS (
		setweight(to_tsvector('english', name), 'A') || setweight(to_tsvector('english', description), 'B')) STORED,
	price_cents bigint GENERATED ALWAYS AS ((price * 100)::bigint) STORED,
	published_at timestamptz,
	created_at timestamptz NOT NULL,
	updated_at timestamptz NOT NULL,
	deleted_at timestamptz
);
CREATE INDEX ON products USING gin (search);
CREATE INDEX ON products USING gin (attributes jsonb_path_ops);
CREATE TABLE product_images (
	id bigserial PRIMARY KEY, product_id bigint NOT NULL REFERENCES products, url text NOT NULL, alt text, position int NOT NULL DEFAULT 0
);
CREATE TABLE product_prices (
	id bigserial PRIMARY KEY, product_id bigint NOT NULL REFERENCES products,
	price numeric(12,2) NOT NULL, valid daterange NOT NULL, amounts int4range
);
CREATE TABLE coupons (
	code text PRIMARY KEY, percent numeric(5,2), amount numeric(12,2), valid tstzrange NOT NULL, max_uses int, used int NOT NULL DEFAULT 0
);
CREATE TABLE carts (id uuid PRIMARY KEY, user_id bigint REFERENCES users, coupon_code text REFERENCES coupons, updated_at timestamptz NOT NULL, expires_at timestamptz);
CREATE TABLE cart_items (
	cart_id uuid REFERENCES carts ON DELETE CASCADE, product_id bigint REFERENCES products, quantity quantity NOT NULL,
	PRIMARY KEY (cart_id, product_id)
);
CREATE TABLE orders (
	id bigserial PRIMARY KEY,
	number text NOT NULL UNIQUE,
	user_id bigint NOT NULL REFERENCES users,
	status order_status NOT NULL DEFAULT 'pending',
	coupon_code text REFERENCES coupons,
	subtotal numeric(12,2) NOT NULL,
	shipping_cost numeric(12,2) NOT NULL DEFAULT 0,
	tax numeric(12,2) NOT NULL DEFAULT 0,
	total numeric(12,2) GENERATED ALWAYS AS (subtotal + shipping_cost + tax) STORED,
	ship_to jsonb NOT NULL DEFAULT '{}',
	metadata json,
	placed_at timestamptz NOT NULL,
	paid_at timestamptz,
	shipped_at timestamptz
);
CREATE TABLE order_items (
	id bigserial PRIMARY KEY,
	order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
	product_id bigint NOT NULL REFERENCES products,
	quantity quantity NOT NULL,
	unit_price numeric(12,2) NOT NULL
);
CREATE TABLE order_events (
	id bigint NOT NULL, order_id bigint NOT NULL, kind text NOT NULL, payload jsonb NOT NULL DEFAULT '{}', at timestamptz NOT NULL
) PARTITION BY RANGE (at);
CREATE TABLE order_events_2024_01 PARTITION OF order_events FOR VALUES FROM ('2024-01-01 00:00+00') TO ('2024-02-01 00:00+00');
CREATE TABLE order_events_2024_02 PARTITION OF order_events FOR VALUES FROM ('2024-02-01 00:00+00') TO ('2024-03-01 00:00+00');
CREATE TABLE order_events_rest PARTITION OF order_events DEFAULT;
CREATE TABLE reviews (
	id bigserial PRIMARY KEY, product_id bigint NOT NULL REFERENCES products, user_id bigint NOT NULL REFERENCES users,
	rating smallint NOT NULL CHECK (rating BETWEEN 1 AND 5), title text, body text NOT NULL, verified boolean NOT NULL DEFAULT false,
	helpful int NOT NULL DEFAULT 0, created_at timestamptz NOT NULL
);
CREATE TABLE wishlist_items (user_id bigint REFERENCES users, product_id bigint REFERENCES products, added_at timestamp NOT NULL, PRIMARY KEY (user_id, product_id));
CREATE TABLE warehouse.locations (id smallint PRIMARY KEY, code text NOT NULL UNIQUE, name text NOT NULL, opens time, closes time, point point);
CREATE TABLE warehouse.stock (
	product_id bigint REFERENCES products, location_id smallint REFERENCES warehouse.locations,
	on_hand int NOT NULL, reserved int NOT NULL DEFAULT 0, counted_on date, PRIMARY KEY (product_id, location_id)
);
CREATE TABLE warehouse."Stock Moves" (id bigserial PRIMARY KEY, "productId" bigint, "from" smallint, "to" smallint, "order" int, moved_at timestamptz);
CREATE TABLE jobs (
	id bigserial PRIMARY KEY, queue text NOT NULL, payload jsonb NOT NULL, state text NOT NULL DEFAULT 'available',
	attempt smallint NOT NULL DEFAULT 0, run_at timestamptz NOT NULL, locked_by text
);
CREATE TABLE sessions (token text PRIMARY KEY, user_id bigint NOT NULL REFERENCES users, data bytea, expires_at timestamptz NOT NULL);
CREATE SEQUENCE order_number_seq;
CREATE TABLE tenant_notes (id int PRIMARY KEY, tenant text NOT NULL, note text);
ALTER TABLE tenant_notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON tenant_notes USING (tenant = current_setting('app.tenant', true));

INSERT INTO brands (name, country, website) VALUES ('Acme', 'US', 'https://acme.example'), ('Borealis', 'SE', NULL), ('Cumulus', 'DE', 'https://cumulus.example');
INSERT INTO categories (id, parent_id, name, slug, position) VALUES
	(1, NULL, 'Home', 'home', 0), (2, 1, 'Kitchen', 'kitchen', 1), (3, 1, 'Garden', 'garden', 2),
	(4, 2, 'Knives', 'knives', 1), (5, 2, 'Pans', 'pans', 2), (6, 3, 'Tools', 'tools', 1);
INSERT INTO users (uuid, email, name, role, password_hash, settings, birth_date, active, last_login_at, last_ip, created_at, updated_at, deleted_at)
	SELECT md5('user' || i)::uuid, 'User' || i || '@example.com', 'User ' || i,
		(CASE WHEN i = 1 THEN 'admin' WHEN i < 4 THEN 'staff' ELSE 'customer' END)::user_role, sha256(('pw' || i)::bytea),
		jsonb_build_object('theme', CASE WHEN i % 2 = 0 THEN 'dark' ELSE 'light' END, 'mail', jsonb_build_object('news', i % 3 = 0)),
		date '1980-01-01' + i * 200, i % 7 <> 0, CASE WHEN i % 4 > 0 THEN timestamptz '2024-02-01 10:00+00' + i * interval '3 hours' END,
		('10.0.0.' || i)::inet, timestamptz '2024-01-01 08:00+00' + i * interval '1 day', timestamptz '2024-01-01 08:00+00' + i * interval '1 day',
		CASE WHEN i = 12 THEN timestamptz '2024-02-01 00:00+00' END
	FROM generate_series(1, 20) i;
INSERT INTO addresses (user_id, label, address, is_default)
	SELECT i, 'home', ROW('Main St ' || i, CASE WHEN i % 2 = 0 THEN 'Berlin' ELSE 'Oslo' END, to_char(10000 + i, 'FM00000'), CASE WHEN i % 2 = 0 THEN 'DE' ELSE 'NO' END)::postal_address, true
	FROM generate_series(1, 20) i;
INSERT INTO products (uuid, category_id, brand_id, sku, slug, name, description, price, list_price, weight, status, attributes, tags, related_ids, stock, release_note, published_at, created_at, updated_at, deleted_at)
	SELECT md5('product' || i)::uuid, 2 + i % 5, CASE WHEN i % 4 > 0 THEN 1 + i % 3 END, 'SKU-' || to_char(i, 'FM0000'), 'product-' || i,
		(ARRAY['Chef knife', 'Frying pan', 'Garden spade', 'Bread knife'])[1 + i % 4] || ' ' || i,
		'A sturdy tool for people who cook, number ' || i, 4.99 + i * 3, (5.99 + i * 3)::numeric::money, CASE WHEN i % 5 > 0 THEN i / 7.0 END,
		(CASE WHEN i % 10 = 0 THEN 'archived' WHEN i % 9 = 0 THEN 'draft' ELSE 'active' END)::product_status,
		jsonb_build_object('color', (ARRAY['red', 'green', 'blue'])[1 + i % 3], 'size', i % 4, 'dims', jsonb_build_object('w', i, 'h', i * 2),
			'labels', jsonb_build_array('l' || i % 3, 'x'), 'price', (4.99 + i)::text),
		ARRAY['tag' || i % 3, 'tag' || i % 4 + 10], ARRAY[1 + i % 40, 1 + (i + 1) % 40]::bigint[], i % 6, '2024-01-0' || 1 + i % 9,
		CASE WHEN i % 9 > 0 THEN timestamptz '2024-01-05 00:00+00' + i * interval '6 hours' END,
		timestamptz '2024-01-01 00:00+00' + i * interval '5 hours', timestamptz '2024-01-10 00:00+00' + i * interval '5 hours',
		CASE WHEN i = 33 THEN timestamptz '2024-02-02 00:00+00' END
	FROM generate_series(1, 40) i;
INSERT INTO product_images (product_id, url, alt, position) SELECT 1 + i % 40, 'https://img.example/' || i, CASE WHEN i % 2 = 0 THEN 'alt ' || i END, i / 40 FROM generate_series(1, 90) i;
INSERT INTO product_prices (product_id, price, valid, amounts)
	SELECT i, 3 + i, daterange('2024-01-01', '2024-02-01'), int4range(1, 10) FROM generate_series(1, 40) i
	UNION ALL SELECT i, 4 + i, daterange('2024-02-01', NULL), int4range(10, NULL) FROM generate_series(1, 40) i;
INSERT INTO coupons VALUES ('SPRING', 10, NULL, tstzrange('2024-01-01 00:00+00', '2024-06-01 00:00+00'), 100, 3), ('FIVE', NULL, 5, tstzrange('2024-01-01 00:00+00', NULL), NULL, 0);
INSERT INTO carts SELECT md5('cart' || i)::uuid, i, CASE WHEN i = 2 THEN 'SPRING' END, timestamptz '2024-02-01 00:00+00', timestamptz '2024-03-01 00:00+00' FROM generate_series(1, 5) i;
INSERT INTO cart_items SELECT md5('cart' || i)::uuid, j, 1 + (i + j) % 3 FROM generate_series(1, 5) i, generate_series(1, 4) j;
INSERT INTO orders (number, user_id, status, coupon_code, subtotal, shipping_cost, tax, ship_to, metadata, placed_at, paid_at, shipped_at)
	SELECT 'O-' || 1000 + i, 1 + i % 18, (ARRAY['pending', 'paid', 'shipped', 'delivered', 'cancelled', 'refunded'])[1 + i % 6]::order_status,
		CASE WHEN i % 8 = 0 THEN 'FIVE' END, 20 + i * 2.5, 4.9, round((20 + i * 2.5) * 0.19, 2),
		jsonb_build_object('city', CASE WHEN i % 2 = 0 THEN 'Berlin' ELSE 'Oslo' END, 'zip', 10000 + i, 'country', 'DE'),
		json_build_object('source', CASE WHEN i % 3 = 0 THEN 'app' ELSE 'web' END, 'gift', i % 5 = 0),
		timestamptz '2024-01-03 09:30+00' + i * interval '17 hours', CASE WHEN i % 6 > 0 THEN timestamptz '2024-01-03 10:00+00' + i * interval '17 hours' END,
		CASE WHEN i % 6 IN (2, 3) THEN timestamptz '2024-01-05 10:00+00' + i * interval '17 hours' END
	FROM generate_series(1, 60) i;
INSERT INTO order_items (order_id, product_id, quantity, unit_price) SELECT 1 + i % 60, 1 + (i * 7) % 40, 1 + i % 3, 4.99 + i % 30 FROM generate_series(1, 150) i;
INSERT INTO order_events SELECT i, 1 + i % 60, (ARRAY['placed', 'paid', 'shipped'])[1 + i % 3], jsonb_build_object('by', 'u' || i % 5), timestamptz '2024-01-03 09:30+00' + i * interval '11 hours' FROM generate_series(1, 150) i;
INSERT INTO reviews (product_id, user_id, rating, title, body, verified, helpful, created_at)
	SELECT 1 + i % 30, 1 + i % 20, 1 + i % 5, CASE WHEN i % 3 > 0 THEN 'Title ' || i END, 'Body of review ' || i || ', sharp and sturdy', i % 2 = 0, i % 11, timestamptz '2024-01-20 00:00+00' + i * interval '9 hours'
	FROM generate_series(1, 80) i;
INSERT INTO wishlist_items SELECT i, j, timestamp '2024-01-15 12:00' + j * interval '1 hour' FROM generate_series(1, 10) i, generate_series(1, 3) j;
INSERT INTO warehouse.locations VALUES (1, 'BER', 'Berlin', '08:00', '18:00', '(52.5,13.4)'), (2, 'OSL', 'Oslo', '09:00', '17:00', '(59.9,10.7)');
INSERT INTO warehouse.stock SELECT i, l, i % 6 + l, i % 2, date '2024-01-31' FROM generate_series(1, 40) i, generate_series(1, 2) l;
INSERT INTO warehouse."Stock Moves" ("productId", "from", "to", "order", moved_at) SELECT i, 1, 2, i, timestamptz '2024-02-01 00:00+00' + i * interval '1 hour' FROM generate_series(1, 10) i;
INSERT INTO jobs (queue, payload, run_at) SELECT 'mail', jsonb_build_object('n', i), timestamptz '2024-01-01 00:00+00' FROM generate_series(1, 10) i;
INSERT INTO sessions SELECT 'token' || i, i, '\x00', timestamptz '2024-01-01 00:00+00' + i * interval '1000 days' FROM generate_series(1, 5) i;
INSERT INTO tenant_notes VALUES (1, 'a', 'x'), (2, 'b', 'y');

CREATE VIEW active_products AS SELECT * FROM products WHERE status = 'active' AND deleted_at IS NULL;
CREATE VIEW product_ratings AS
	SELECT p.id AS product_id, count(r.id) AS reviews, coalesce(round(avg(r.rating), 2), 0) AS rating
	FROM products p LEFT JOIN reviews r ON r.product_id = p.id GROUP BY p.id;
CREATE VIEW product_listing AS
	SELECT a.id, a.slug, a.name, a.price, b.name AS brand, c.name AS category, r.rating, r.reviews
	FROM active_products a JOIN categories c ON c.id = a.category_id LEFT JOIN brands b ON b.id = a.brand_id
	JOIN product_ratings r ON r.product_id = a.id;
CREATE VIEW order_totals AS
	SELECT user_id, count(*) AS orders, sum(total) AS spent, max(placed_at) AS last_order FROM orders WHERE status <> 'cancelled' GROUP BY user_id;
CREATE MATERIALIZED VIEW sales_daily AS
	SELECT (placed_at AT TIME ZONE 'UTC')::date AS day, count(*) AS orders, sum(total) AS revenue FROM orders GROUP BY 1;
CREATE VIEW fresh_orders AS SELECT * FROM orders WHERE placed_at > now() - interval '1 day';
CREATE VIEW fresh_order_counts AS SELECT user_id, count(*) FROM fresh_orders GROUP BY user_id;
CREATE VIEW daily_pick AS SELECT id, name FROM products ORDER BY random() LIMIT 1;
CREATE VIEW my_orders AS SELECT * FROM orders WHERE number = current_user;
CREATE FUNCTION order_count(bigint) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM orders WHERE user_id = $1';
CREATE FUNCTION discounted(p numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN p * 0.9; END';
CREATE FUNCTION next_order_number() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'O-' || nextval('order_number_seq'); END $$;
CREATE FUNCTION shelf_label(products) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN $1.name || ' (' || (SELECT count(*) FROM reviews WHERE product_id = $1.id) || ')'; END $$;
ANALYZE;
