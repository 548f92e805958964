-- The shop's rows: the same on every server and in every run. The numbers come from multiplication modulo a prime, not
-- from random(), whose sequence differs between PostgreSQL versions. power(…, 2) makes some products sell more than others.
INSERT INTO categories
SELECT g, (ARRAY['Books', 'Music', 'Garden', 'Kitchen', 'Toys', 'Tools', 'Sports', 'Office'])[1 + g % 8] || ' ' || g
FROM generate_series(1::bigint, 40) g;

INSERT INTO products (id, category_id, name, price_cents, stock)
SELECT g, 1 + g % 40,
       (ARRAY['Small', 'Red', 'Quiet', 'Sturdy', 'Light', 'Folding', 'Plain', 'Warm'])[1 + g % 8] || ' ' ||
       (ARRAY['lamp', 'chair', 'kettle', 'radio', 'tent', 'brush', 'clock'])[1 + g % 7] || ' no. ' || g,
       199 + g * 48271 % 20000, 1000000
FROM generate_series(1::bigint, 5000) g;

INSERT INTO customers (id, email, name, created_at)
SELECT g, 'customer' || g || '@example.com',
       (ARRAY['Ada', 'Edgar', 'Grace', 'Michael', 'Barbara', 'Jim', 'Mary'])[1 + g % 7] || ' ' || g,
       timestamptz '2024-01-01 00:00:00+00' + g * interval '11 minutes'
FROM generate_series(1::bigint, 10000) g;

INSERT INTO orders (id, customer_id, status, created_at)
SELECT g, 1 + (9999 * power(g * 48271 % 1000003 / 1000003.0::float8, 2))::bigint,
       (ARRAY['paid', 'shipped', 'delivered', 'delivered', 'returned'])[1 + g % 5],
       timestamptz '2024-06-01 00:00:00+00' + g * interval '11 minutes'
FROM generate_series(1::bigint, 16000) g;

INSERT INTO order_items (order_id, product_id, quantity, price_cents)
SELECT o, p, 1 + (o + i) % 3, 199 + p * 48271 % 20000
FROM (SELECT o, i, 1 + (4999 * power((o * 8 + i) * 48271 % 1000003 / 1000003.0::float8, 2))::bigint AS p
      FROM generate_series(1::bigint, 16000) o, generate_series(1::bigint, 6) i) lines;

INSERT INTO reviews (product_id, rating, body)
SELECT 1 + (4999 * power(g * 69621 % 1000003 / 1000003.0::float8, 2))::bigint, 1 + g * 7 % 5, 'Review no. ' || g
FROM generate_series(1::bigint, 30000) g;
