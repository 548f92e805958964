-- @user_first gorm
-- @args [5,1]
SELECT * FROM "users" WHERE "users"."id" = $1 AND "users"."deleted_at" IS NULL ORDER BY "users"."id" LIMIT $2

-- @user_by_email gorm
-- @args ["User3@example.com",1]
SELECT * FROM "users" WHERE email = $1 AND "users"."deleted_at" IS NULL LIMIT $2

-- @user_by_struct gorm
-- @args ["User 4",true,1]
SELECT * FROM "users" WHERE ("users"."name" = $1 AND "users"."active" = $2) AND "users"."deleted_at" IS NULL ORDER BY "users"."id" LIMIT $3

-- @user_by_map gorm
-- @args [true,"staff"]
SELECT * FROM "users" WHERE ("users"."active" = $1 AND "users"."role" = $2) AND "users"."deleted_at" IS NULL

-- @user_missing gorm
-- @args ["nobody@example.com",1]
SELECT * FROM "users" WHERE email = $1 AND "users"."deleted_at" IS NULL ORDER BY "users"."id" LIMIT $2

-- @user_unscoped gorm
-- @args [11,12]
SELECT * FROM "users" WHERE id IN ($1,$2)

-- @user_with_orders gorm
-- @args [5]
SELECT * FROM "users" WHERE "users"."deleted_at" IS NULL ORDER BY id LIMIT $1

-- @user_with_orders_2 gorm
-- @args [1,2,3,4,5]
SELECT * FROM "orders" WHERE "orders"."user_id" IN ($1,$2,$3,$4,$5) ORDER BY orders.placed_at DESC

-- @user_count gorm
-- @args [{"time":"2024-01-10T00:00:00Z"}]
SELECT count(*) FROM "users" WHERE created_at >= $1 AND "users"."deleted_at" IS NULL

-- @user_pluck_emails gorm
-- @args ["customer"]
SELECT "email" FROM "users" WHERE role <> $1 AND "users"."deleted_at" IS NULL ORDER BY email

-- @user_search_page gorm
-- @args ["%user 1%","%user1%",10,5]
SELECT * FROM "users" WHERE (name ILIKE $1 OR email ILIKE $2) AND "users"."deleted_at" IS NULL ORDER BY created_at desc, id desc LIMIT $3 OFFSET $4

-- @user_not gorm
-- @args ["User 1","User 2"]
SELECT * FROM "users" WHERE "users"."name" NOT IN ($1,$2) AND "users"."deleted_at" IS NULL ORDER BY id

-- @user_distinct_roles gorm
SELECT DISTINCT "role" FROM "users" WHERE "users"."deleted_at" IS NULL ORDER BY role

-- @user_exists gorm
-- @args ["USER2@EXAMPLE.COM"]
SELECT EXISTS(SELECT 1 FROM users WHERE lower(email) = lower($1))

-- @order_with_items gorm
-- @args ["O-1010",1]
SELECT * FROM "orders" WHERE number = $1 ORDER BY "orders"."id" LIMIT $2

-- @order_with_items_2 gorm
-- @args [10]
SELECT * FROM "order_items" WHERE "order_items"."order_id" = $1

-- @order_with_items_3 gorm
-- @args [24,4]
SELECT * FROM "products" WHERE "products"."id" IN ($1,$2) AND "products"."deleted_at" IS NULL

-- @order_with_items_4 gorm
-- @args [11]
SELECT * FROM "users" WHERE "users"."id" = $1 AND "users"."deleted_at" IS NULL

-- @order_joins_user gorm
-- @args ["paid"]
SELECT "orders"."id","orders"."number","orders"."user_id","orders"."status","orders"."total","orders"."placed_at","User"."id" AS "User__id","User"."uuid" AS "User__uuid","User"."email" AS "User__email","User"."name" AS "User__name","User"."role" AS "User__role","User"."active" AS "User__active","User"."birth_date" AS "User__birth_date","User"."created_at" AS "User__created_at","User"."updated_at" AS "User__updated_at","User"."deleted_at" AS "User__deleted_at" FROM "orders" LEFT JOIN "users" "User" ON "orders"."user_id" = "User"."id" AND "User"."deleted_at" IS NULL WHERE "orders".status = $1 ORDER BY orders.id

-- @order_status_counts gorm
-- @args [2]
SELECT status, count(*) as count, sum(total) as total FROM "orders" GROUP BY "status" HAVING count(*) > $1 ORDER BY status

-- @order_between gorm
-- @args [{"time":"2024-01-10T00:00:00Z"},{"time":"2024-01-20T00:00:00Z"}]
SELECT * FROM "orders" WHERE placed_at BETWEEN $1 AND $2 ORDER BY "placed_at" DESC

-- @order_scopes gorm
-- @args [100.5,"paid","shipped"]
SELECT * FROM "orders" WHERE total > $1 AND status IN ($2,$3) ORDER BY id

-- @order_subquery gorm
SELECT * FROM "orders" WHERE total > (SELECT AVG(total) FROM "orders") ORDER BY id

-- @order_from_subquery gorm
-- @args ["paid"]
SELECT u.user_id, MAX(u.total) AS best FROM (SELECT "user_id","total" FROM "orders" WHERE status = $1) as u GROUP BY "u"."user_id" ORDER BY u.user_id

-- @product_by_slug gorm
-- @args ["product-7",1]
SELECT * FROM "products" WHERE slug = $1 AND "products"."deleted_at" IS NULL ORDER BY "products"."id" LIMIT $2

-- @product_by_slug_2 gorm
-- @args [{"pointer":2}]
SELECT * FROM "brands" WHERE "brands"."id" = $1

-- @product_by_slug_3 gorm
-- @args [4]
SELECT * FROM "categories" WHERE "categories"."id" = $1

-- @product_by_slug_4 gorm
-- @args [7]
SELECT * FROM "product_images" WHERE "product_images"."product_id" = $1 ORDER BY position, id

-- @product_last gorm
-- @args [1]
SELECT * FROM "products" WHERE "products"."deleted_at" IS NULL ORDER BY "products"."id" DESC LIMIT $1

-- @product_joins gorm
-- @args ["Acme",2,8]
SELECT "products"."id","products"."category_id","products"."brand_id","products"."sku","products"."slug","products"."name","products"."price","products"."status","products"."stock","products"."created_at","products"."deleted_at","Category"."id" AS "Category__id","Category"."parent_id" AS "Category__parent_id","Category"."name" AS "Category__name","Category"."slug" AS "Category__slug","Brand"."id" AS "Brand__id","Brand"."name" AS "Brand__name" FROM "products" LEFT JOIN "categories" "Category" ON "products"."category_id" = "Category"."id" LEFT JOIN "brands" "Brand" ON "products"."brand_id" = "Brand"."id" AND "Brand"."name" = $1 WHERE products.stock > $2 AND "products"."deleted_at" IS NULL ORDER BY products.id LIMIT $3

-- @product_group_conditions gorm
-- @args [30,"draft",110,5]
SELECT * FROM "products" WHERE ((price < $1 AND (stock > 0 OR status = $2)) OR (price > $3 AND stock = $4)) AND "products"."deleted_at" IS NULL ORDER BY id

-- @product_json gorm
-- @args ["red",10]
SELECT * FROM "products" WHERE (attributes->>'color' = $1 AND (attributes->'dims'->>'w')::int > $2) AND "products"."deleted_at" IS NULL ORDER BY id

-- @product_tags_any gorm
-- @args ["tag1"]
SELECT * FROM "products" WHERE $1 = ANY(tags) AND "products"."deleted_at" IS NULL ORDER BY id

-- @product_table_alias gorm
-- @args ["50.00"]
SELECT p.id, c.name as category FROM products p LEFT JOIN categories c ON c.id = p.category_id WHERE p.deleted_at IS NULL AND p.price >= $1 ORDER BY p.id

-- @product_in_batches gorm
-- @args [25]
SELECT "id","name" FROM "products" WHERE "products"."deleted_at" IS NULL ORDER BY "products"."id" LIMIT $1

-- @product_in_batches_2 gorm
-- @args [25,25]
SELECT "id","name" FROM "products" WHERE "products"."id" > $1 AND "products"."deleted_at" IS NULL ORDER BY "products"."id" LIMIT $2

-- @category_by_pk_slice gorm
-- @args [1,2,3]
SELECT * FROM "categories" WHERE "categories"."id" IN ($1,$2,$3)

-- @category_named gorm
-- @args ["knives","knives"]
SELECT * FROM "categories" WHERE name = $1 OR slug = $2

-- @stock_schema gorm
-- @args [3]
SELECT * FROM "warehouse"."stock" WHERE product_id = $1 ORDER BY location_id

