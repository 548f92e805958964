-- What the statements of typed.go are over.
CREATE SCHEMA shop;
SET search_path = shop, public;
CREATE TYPE shop.mood AS ENUM ('ok', 'sad');
CREATE DOMAIN shop.code AS text CHECK (VALUE <> '');
CREATE TYPE shop.span AS (since date, note text);
CREATE TABLE item (id int PRIMARY KEY, name text, price numeric, created_at timestamptz, day date, at timestamp, tags text[], meta jsonb,
	active bool, m shop.mood, c shop.code, sp shop.span);
CREATE TABLE "Order" (id int PRIMARY KEY, item_id int REFERENCES item, qty int, note text, placed timestamp, amount numeric, day date, active bool);
CREATE TABLE event (id int, name text, created_at timestamptz, active bool) PARTITION BY RANGE (id);
CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM (1) TO (100);
CREATE TABLE public.tag (id int PRIMARY KEY, name text, item_id int);
CREATE VIEW item_view AS SELECT id, name, lower(name) AS low, created_at, active FROM item WHERE active;
CREATE FUNCTION discount(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE RETURN $1 * 0.9;
CREATE FUNCTION label(item) RETURNS text LANGUAGE sql IMMUTABLE RETURN $1.name;
CREATE FUNCTION total(VARIADIC int[]) RETURNS int LANGUAGE sql IMMUTABLE RETURN 1;
CREATE FUNCTION pair(a int, b text DEFAULT 'x') RETURNS text LANGUAGE sql IMMUTABLE RETURN b;
CREATE FUNCTION rows_of(int) RETURNS TABLE (k int, v text) LANGUAGE sql STABLE BEGIN ATOMIC SELECT id, name FROM item; END;
CREATE FUNCTION similar_text(text, text) RETURNS bool LANGUAGE sql IMMUTABLE RETURN $1 < $2;
CREATE OPERATOR ### (LEFTARG = text, RIGHTARG = text, FUNCTION = similar_text);
CREATE AGGREGATE longest(text) (SFUNC = textcat, STYPE = text, INITCOND = '');
