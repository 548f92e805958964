package catalog

// judgeSQL asks all that a judgement needs. It relies on nothing that differs
// between PostgreSQL 13 and 18, and needs no privilege.
//
// Everything in it is qualified, operators too, since the search_path it runs
// under may be anybody's: no IN, no BETWEEN, no CASE x WHEN, no plain ORDER BY
// on what isn't built in. UNION and DISTINCT go by operator class and need no
// care. The OFFSET 0 fences and LATERAL keep the planner on the catalogs'
// indexes: its estimates for what comes out of unnest and of a recursion are so
// bad that they would otherwise switch JIT on, for a second.
//
//	$1, $2  schema ('' = none) and name of each relation
//	$3, $4  schema and name of each function
//	$5      attribute names
//	$6      operator names
//	$7      type names
//	$8      parameter types
//	$9      whether an attribute may be of what is no row
//	$10     whether TABLESAMPLE is there
//
// 16384 is FirstNormalObjectId: what initdb made is below. A type is *reachable*
// if an expression over the tables may have it although no column has: it is
// built in, a row type, a pseudo-type, or an array.
const judgeSQL = `WITH RECURSIVE
path AS MATERIALIZED (
 SELECT n.oid AS nsp, p.ord
   FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(nspname, ord)
   JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) p.nspname),
named AS MATERIALIZED (
 SELECT q.s, q.n, (SELECT c.oid FROM (
     SELECT c.oid, c.relnamespace FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.=) q.n::pg_catalog.name OFFSET 0) c
     JOIN pg_catalog.pg_namespace ns ON ns.oid OPERATOR(pg_catalog.=) c.relnamespace
     LEFT JOIN path ON path.nsp OPERATOR(pg_catalog.=) c.relnamespace
    WHERE CASE WHEN q.s OPERATOR(pg_catalog.=) '' THEN path.nsp IS NOT NULL
               WHEN q.s OPERATOR(pg_catalog.=) 'pg_temp' THEN c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
               ELSE ns.nspname OPERATOR(pg_catalog.=) q.s::pg_catalog.name END
    ORDER BY path.ord USING OPERATOR(pg_catalog.<) LIMIT 1) AS oid
   FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) q(s, n)),
tree(oid) AS (
 SELECT oid FROM named WHERE oid IS NOT NULL
 UNION
 SELECT y.oid FROM tree, LATERAL (
  (SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent OPERATOR(pg_catalog.=) tree.oid OFFSET 0)
  UNION ALL
  (SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid OPERATOR(pg_catalog.=) tree.oid OFFSET 0)) y(oid)),
rels AS MATERIALIZED (
 SELECT c.* FROM tree, LATERAL (
  SELECT c.oid, c.relname, c.relnamespace, c.relkind, c.relpersistence, c.relrowsecurity
    FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) tree.oid OFFSET 0) c),
cols AS MATERIALIZED (
 SELECT DISTINCT a.attname, a.atttypid FROM named, LATERAL (
  SELECT a.attname, a.atttypid FROM pg_catalog.pg_attribute a
   WHERE a.attrelid OPERATOR(pg_catalog.=) named.oid AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped OFFSET 0) a),
types(oid) AS (
 SELECT atttypid FROM cols
 UNION
 SELECT p.oid::pg_catalog.oid FROM pg_catalog.unnest($8::pg_catalog.text[]) p(oid)
 UNION
 SELECT y.oid FROM types, LATERAL (
   SELECT t.oid, t.typelem, t.typbasetype, t.typrelid FROM pg_catalog.pg_type t
    WHERE t.oid OPERATOR(pg_catalog.=) types.oid AND t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OFFSET 0) t, LATERAL (
   SELECT t.typelem WHERE t.typelem OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
   UNION ALL SELECT t.typbasetype WHERE t.typbasetype OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
   UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid
   UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
     WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped) y(oid)),
casts AS MATERIALIZED (
 SELECT k.castsource, k.casttarget, k.castcontext,
        s.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid OR s.typcategory OPERATOR(pg_catalog.=) 'A'
         OR s.typtype OPERATOR(pg_catalog.=) ANY ('{c,p}'::pg_catalog."char"[]) AS reachable,
        s.typtype OPERATOR(pg_catalog.=) ANY ('{c,p}'::pg_catalog."char"[]) OR k.castsource OPERATOR(pg_catalog.=) 2249::pg_catalog.oid AS of_row
   FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_type s ON s.oid OPERATOR(pg_catalog.=) k.castsource
  WHERE k.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid),
apart AS MATERIALIZED (` + apartSQL + `)
SELECT 'relation' AS kind, n.nspname::pg_catalog.text AS s, c.relname::pg_catalog.text AS name, c.oid::pg_catalog.text AS a,
       pg_catalog.concat(c.relkind, c.relpersistence, CASE WHEN c.relrowsecurity THEN 's' ELSE '-' END,
         CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'v' AND c.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid THEN 'b' ELSE '-' END) AS b
  FROM rels c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
UNION ALL
SELECT 'missing', s, n, '', '' FROM named WHERE oid IS NULL
UNION ALL
SELECT 'type', '', t.typname::pg_catalog.text, t.oid::pg_catalog.text,
       pg_catalog.concat(
        CASE WHEN EXISTS (SELECT FROM cols WHERE cols.atttypid OPERATOR(pg_catalog.=) t.oid) THEN 'c' ELSE '-' END,
        CASE WHEN t.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid THEN '-'
             WHEN t.typtype OPERATOR(pg_catalog.=) 'm'
               OR t.typinput::pg_catalog.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
               OR t.typoutput::pg_catalog.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
               OR t.typreceive::pg_catalog.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
               OR t.typsend::pg_catalog.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid THEN 'x'
             WHEN t.typtype OPERATOR(pg_catalog.=) 'd' AND EXISTS (SELECT FROM pg_catalog.pg_constraint k
                 WHERE k.contypid OPERATOR(pg_catalog.=) t.oid) THEN 'd'
             ELSE '-' END)
  FROM types, LATERAL (SELECT * FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) types.oid OFFSET 0) t
UNION ALL
SELECT 'function', q.s, q.n,
       COALESCE((SELECT pg_catalog.string_agg(DISTINCT p.provolatile::pg_catalog.text, '') FROM pg_catalog.pg_proc p
         WHERE p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND p.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
           AND p.pronamespace OPERATOR(pg_catalog.=) 11::pg_catalog.oid), ''),
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_proc p
           WHERE p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
             AND (p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OR p.pronamespace OPERATOR(pg_catalog.<>) 11::pg_catalog.oid)
             AND (q.s OPERATOR(pg_catalog.=) 'pg_catalog' AND p.pronamespace OPERATOR(pg_catalog.=) 11::pg_catalog.oid
               OR q.s OPERATOR(pg_catalog.=) '' AND EXISTS (SELECT FROM path WHERE path.nsp OPERATOR(pg_catalog.=) p.pronamespace)))
         OR EXISTS (SELECT FROM pg_catalog.pg_type t
           WHERE t.typname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND t.typrelid OPERATOR(pg_catalog.=) 0::pg_catalog.oid
             AND t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid)
       THEN 'user' ELSE '' END
  FROM ROWS FROM (pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.text[])) q(s, n)
UNION ALL
SELECT 'attribute', '', q.n,
       pg_catalog.concat(f.worst, CASE WHEN f.by_user
         OR EXISTS (SELECT FROM pg_catalog.pg_type t
           WHERE t.typname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
             AND t.typrelid OPERATOR(pg_catalog.=) 0::pg_catalog.oid
             AND ($9::pg_catalog.bool OR EXISTS (SELECT FROM pg_catalog.pg_type b WHERE b.oid OPERATOR(pg_catalog.=) t.typbasetype
               AND b.typtype OPERATOR(pg_catalog.=) ANY ('{c,d}'::pg_catalog."char"[]))))
         THEN 'u' ELSE '' END),
       CASE WHEN EXISTS (SELECT FROM cols WHERE cols.attname OPERATOR(pg_catalog.=) q.n::pg_catalog.name) THEN 'column' ELSE '' END
  FROM pg_catalog.unnest($5::pg_catalog.text[]) q(n), LATERAL (
   SELECT pg_catalog.max(p.provolatile::pg_catalog.text) AS worst,
          pg_catalog.bool_or(p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OR p.pronamespace OPERATOR(pg_catalog.<>) 11::pg_catalog.oid) AS by_user
     FROM (SELECT p.*, p.proargtypes[0] AS first FROM pg_catalog.pg_proc p
            WHERE p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND p.pronargs OPERATOR(pg_catalog.>=) 1::pg_catalog.int2
              AND p.pronargs OPERATOR(pg_catalog.-) p.pronargdefaults OPERATOR(pg_catalog.<=) 1 OFFSET 0) p
     JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) p.first
    WHERE ($9::pg_catalog.bool OR p.provariadic OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
           OR t.typtype OPERATOR(pg_catalog.=) ANY ('{c,p,d}'::pg_catalog."char"[]))
      AND EXISTS (SELECT FROM path WHERE path.nsp OPERATOR(pg_catalog.=) p.pronamespace)) f
UNION ALL
SELECT DISTINCT 'operator', '', o.oprname::pg_catalog.text,
       CASE WHEN o.oprleft OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
             AND EXISTS (SELECT FROM apart WHERE apart.oid OPERATOR(pg_catalog.=) o.oprleft AND (apart.settled OR twin.texts))
             AND EXISTS (SELECT FROM apart WHERE apart.oid OPERATOR(pg_catalog.=) o.oprright AND (apart.settled OR twin.texts))
             AND twin.any THEN 'apart' ELSE '' END, ''
  FROM pg_catalog.unnest($6::pg_catalog.text[]) q(n), LATERAL (
   SELECT o.oprname, o.oprleft, o.oprright FROM pg_catalog.pg_operator o
    WHERE o.oprname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND o.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OFFSET 0) o, LATERAL (
   SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 0::pg_catalog.int8 AS any,
          COALESCE(pg_catalog.bool_or(b.oprleft OPERATOR(pg_catalog.=) 25::pg_catalog.oid AND b.oprright OPERATOR(pg_catalog.=) 25::pg_catalog.oid), false) AS texts
     FROM pg_catalog.pg_operator b WHERE b.oprname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
      AND b.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid AND b.oprleft OPERATOR(pg_catalog.<>) 0::pg_catalog.oid) twin
UNION ALL
SELECT DISTINCT 'opclass', '', c.opcname::pg_catalog.text, '', ''
  FROM pg_catalog.pg_opclass c JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) c.opcintype
 WHERE c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND c.opcmethod OPERATOR(pg_catalog.=) ANY ('{403,405}'::pg_catalog.oid[])
   AND (t.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid OR t.typtype OPERATOR(pg_catalog.<>) 'b' OR t.typcategory OPERATOR(pg_catalog.=) 'A')
UNION ALL
SELECT DISTINCT 'named-type', '', q.n, '', '' FROM pg_catalog.unnest($7::pg_catalog.text[]) q(n), LATERAL (
  SELECT t.oid FROM pg_catalog.pg_type t WHERE t.typname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OFFSET 0) t
UNION ALL
SELECT DISTINCT 'cast', '', s.typname::pg_catalog.text, k.castcontext::pg_catalog.text,
       CASE WHEN k.of_row OR k.reachable AND k.casttarget OPERATOR(pg_catalog.<) 16384::pg_catalog.oid THEN 'unseen' ELSE '' END
  FROM casts k JOIN pg_catalog.pg_type s ON s.oid OPERATOR(pg_catalog.=) k.castsource
  JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) k.casttarget
 WHERE k.of_row
    OR (k.reachable OR EXISTS (SELECT FROM types WHERE types.oid OPERATOR(pg_catalog.=) k.castsource))
   AND (t.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid OR t.typtype OPERATOR(pg_catalog.=) 'c'
     OR EXISTS (SELECT FROM types WHERE types.oid OPERATOR(pg_catalog.=) k.casttarget))
UNION ALL
SELECT 'system-view', '', c.relname::pg_catalog.text, '', '' FROM (
  SELECT r.oid, r.ev_class FROM pg_catalog.pg_rewrite r
   WHERE r.ev_class OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
     AND EXISTS (SELECT FROM rels WHERE rels.relkind OPERATOR(pg_catalog.=) 'v' AND rels.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid) OFFSET 0) r
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.ev_class
 WHERE EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid OPERATOR(pg_catalog.=) 2618::pg_catalog.oid
   AND d.objid OPERATOR(pg_catalog.=) r.oid AND d.refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid)
UNION ALL
SELECT 'sampling', '', p.proname::pg_catalog.text, '', '' FROM pg_catalog.pg_proc p
 WHERE $10::pg_catalog.bool AND p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND p.prorettype OPERATOR(pg_catalog.=) 3310::pg_catalog.oid`

// apartSQL lists the users' types that no expression over built-in types can
// come to have without being told: extensions such as citext, hstore and vector
// make them, and operators of the usual names on them. Such an operator can't
// be chosen for operands of built-in types. Why:
//
//   - no cast brings a built-in or row type to it unseen;
//   - where one operand's type is known and the other's is not, the known one
//     would need that cast;
//   - where neither is known ('a' = 'b'), a candidate of text, which is
//     preferred among strings, wins over one that is not preferred. A type of
//     another category than strings (settled) stays one of several, and then
//     the server refuses the statement; the built-in operator of that name,
//     which the question asks for (twin), is another.
const apartSQL = `
 SELECT t.oid, t.typcategory OPERATOR(pg_catalog.<>) 'S' AS settled
   FROM (SELECT x.t FROM (
      SELECT o.oprleft, o.oprright FROM pg_catalog.unnest($6::pg_catalog.text[]) q(n), LATERAL (
       SELECT o.oprleft, o.oprright FROM pg_catalog.pg_operator o
        WHERE o.oprname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND o.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OFFSET 0) o) o,
      LATERAL (SELECT o.oprleft UNION ALL SELECT o.oprright) x(t)
     WHERE x.t OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid) u
   JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) u.t
  WHERE t.typtype OPERATOR(pg_catalog.=) ANY ('{b,e,r}'::pg_catalog."char"[])
    AND t.typcategory OPERATOR(pg_catalog.<>) 'A' AND NOT t.typispreferred
    AND NOT EXISTS (SELECT FROM casts k WHERE k.casttarget OPERATOR(pg_catalog.=) t.oid
      AND k.castcontext OPERATOR(pg_catalog.=) 'i' AND (k.reachable OR k.of_row))`
