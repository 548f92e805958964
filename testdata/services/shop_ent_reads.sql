-- @ent_user_only ent
-- @args [7]
SELECT "users"."id", "users"."email", "users"."name", "users"."role", "users"."created_at" FROM "users" WHERE "users"."id" = $1 LIMIT 2

-- @ent_user_page ent
SELECT "users"."id", "users"."email", "users"."name", "users"."role", "users"."created_at" FROM "users" WHERE "users"."active" AND "users"."deleted_at" IS NULL ORDER BY "users"."created_at" DESC LIMIT 5 OFFSET 2

-- @ent_user_predicates ent
-- @args ["User 1%","%r 2%","user3@example.com"]
SELECT "users"."id", "users"."email", "users"."name", "users"."role", "users"."created_at" FROM "users" WHERE "users"."name" LIKE $1 OR "users"."name" ILIKE $2 OR "users"."email" ILIKE $3 ORDER BY "users"."id"

-- @ent_user_in ent
-- @args [1,2,3,"admin","staff"]
SELECT "users"."id", "users"."email", "users"."name", "users"."role", "users"."created_at" FROM "users" WHERE "users"."id" IN ($1, $2, $3) AND "users"."role" NOT IN ($4, $5)

-- @ent_user_count ent
-- @args [{"time":"2024-01-09T00:00:00Z"}]
SELECT COUNT(*) FROM "users" WHERE "users"."created_at" > $1

-- @ent_user_count_distinct ent
SELECT COUNT(DISTINCT "users"."role") FROM "users"

-- @ent_user_exist ent
-- @args ["User9@example.com"]
SELECT "users"."id" FROM "users" WHERE "users"."email" = $1 LIMIT 1

-- @ent_user_has_orders ent
SELECT "users"."id", "users"."email", "users"."name", "users"."role", "users"."created_at" FROM "users" WHERE EXISTS (SELECT "orders"."user_id" FROM "orders" WHERE "users"."id" = "orders"."user_id") ORDER BY "users"."id"

-- @ent_user_has_orders_with ent
-- @args [150]
SELECT "users"."id", "users"."email", "users"."name", "users"."role", "users"."created_at" FROM "users" WHERE EXISTS (SELECT "orders"."user_id" FROM "orders" WHERE "users"."id" = "orders"."user_id" AND "orders"."total" > $1) ORDER BY "users"."id"

-- @ent_product_wished_by ent
-- @args [4]
SELECT "products"."id", "products"."name" FROM "products" WHERE "products"."id" IN (SELECT "wishlist_items"."product_id" FROM "wishlist_items" JOIN "users" AS "t1" ON "wishlist_items"."user_id" = "t1"."id" WHERE "t1"."id" = $1) ORDER BY "products"."id"

-- @ent_user_query_orders ent
-- @args [4]
SELECT "orders"."id", "orders"."number", "orders"."total" FROM "orders" WHERE "user_id" = $1 ORDER BY "orders"."id"

-- @ent_order_query_user ent
-- @args [4]
SELECT "users"."id", "users"."name" FROM "users" JOIN (SELECT "user_id" FROM "orders" WHERE "id" = $1) AS "t1" ON "users"."id" = "t1"."user_id" LIMIT 2

-- @ent_user_query_wishlist ent
-- @args [4]
SELECT "products"."id", "products"."slug" FROM "products" JOIN (SELECT "wishlist_items"."product_id" FROM "wishlist_items" WHERE "wishlist_items"."user_id" = $1) AS "t1" ON "products"."id" = "t1"."product_id" ORDER BY "products"."id"

-- @ent_eager_orders ent
-- @args [2,3,4]
SELECT "orders"."id", "orders"."user_id", "orders"."number" FROM "orders" WHERE "orders"."user_id" IN ($1, $2, $3) ORDER BY "orders"."id"

-- @ent_json_value ent
-- @args ["blue"]
SELECT "products"."id", "products"."name", "products"."attributes" FROM "products" WHERE "attributes"->>'color' = $1 ORDER BY "products"."id"

-- @ent_json_contains ent
-- @args ["\"x\""]
SELECT "products"."id" FROM "products" WHERE ("attributes"->'labels')::jsonb @> $1 ORDER BY "products"."id"

-- @ent_json_has_key ent
-- @args [20]
SELECT "products"."id" FROM "products" WHERE "attributes"->'dims'->'w' IS NOT NULL AND ("attributes"->'dims'->>'w')::int > $1 ORDER BY "products"."id"

-- @ent_json_len ent
-- @args [1]
SELECT "products"."id" FROM "products" WHERE JSONB_ARRAY_LENGTH("attributes"->'labels') > $1 ORDER BY "products"."id"

-- @ent_group_by ent
SELECT "orders"."status", COUNT(*) AS "count", SUM("orders"."total") AS "sum" FROM "orders" GROUP BY "orders"."status" ORDER BY "orders"."status"

-- @ent_aggregate ent
-- @args ["cancelled"]
SELECT AVG("orders"."total") AS "mean", MAX("orders"."total") AS "max" FROM "orders" WHERE "orders"."status" <> $1

-- @ent_schema ent
-- @args [10]
SELECT "warehouse"."stock"."product_id", "warehouse"."stock"."on_hand" FROM "warehouse"."stock" WHERE "warehouse"."stock"."on_hand" > "warehouse"."stock"."reserved" AND "warehouse"."stock"."product_id" <= $1 ORDER BY "warehouse"."stock"."product_id", "warehouse"."stock"."on_hand"

