package catalog

// judgeSQL asks for the facts that a judgement needs, in one statement. It
// relies on nothing that differs between PostgreSQL 13 and 18, and needs no
// privilege. What the facts mean is for Go to say.
//
// Everything in it is qualified, operators too, since the search_path it runs
// under may be anybody's: no IN, no BETWEEN, no CASE x WHEN, no plain ORDER BY.
// UNION and DISTINCT go by operator class and need no care.
//
// The planner knows nothing of what comes out of a recursion, and would make up
// numbers so large that JIT compiles for a second. So each recursion steps over
// arrays, a whole level of the tree at a time, and what comes of it passes
// through unnest(ARRAY(…)), which stands for ten rows. A level of a thousand
// partitions is one scan of pg_inherits that way. UNION, not UNION ALL, ends
// what could ever go round. The OFFSET 0 fences keep the planner on the indexes.
//
// up, down and tree: the ancestors, all that descends from them, and whatever
// else that inherits from.
//
//	$1, $2  schema ('' = none) and name of each relation
//	$3      names of functions and attributes
//	$4      names of functions, attributes and types
//	$5      names of attributes
//	$6      names of operators
//	$7      users' types of parameters
//	$8      whether TABLESAMPLE is there
//
// 16384 is FirstNormalObjectId: what initdb made is below. 11 is pg_catalog,
// 2618 pg_rewrite, 3310 tsm_handler; 403 and 405 are btree and hash.
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
up(oids) AS (
 SELECT ARRAY(SELECT oid FROM named WHERE oid IS NOT NULL)
 UNION
 SELECT y.oids FROM up, LATERAL (SELECT ARRAY(SELECT DISTINCT i.inhparent FROM pg_catalog.pg_inherits i
  WHERE i.inhrelid OPERATOR(pg_catalog.=) ANY (up.oids)) AS oids OFFSET 0) y WHERE pg_catalog.cardinality(y.oids) OPERATOR(pg_catalog.>) 0),
down(oids) AS (
 SELECT ARRAY(SELECT DISTINCT x FROM up, pg_catalog.unnest(up.oids) x)
 UNION
 SELECT y.oids FROM down, LATERAL (SELECT ARRAY(SELECT DISTINCT i.inhrelid FROM pg_catalog.pg_inherits i
  WHERE i.inhparent OPERATOR(pg_catalog.=) ANY (down.oids)) AS oids OFFSET 0) y WHERE pg_catalog.cardinality(y.oids) OPERATOR(pg_catalog.>) 0),
tree(oids) AS (
 SELECT ARRAY(SELECT DISTINCT x FROM down, pg_catalog.unnest(down.oids) x)
 UNION
 SELECT y.oids FROM tree, LATERAL (SELECT ARRAY(SELECT DISTINCT i.inhparent FROM pg_catalog.pg_inherits i
  WHERE i.inhrelid OPERATOR(pg_catalog.=) ANY (tree.oids)) AS oids OFFSET 0) y WHERE pg_catalog.cardinality(y.oids) OPERATOR(pg_catalog.>) 0),
rels AS MATERIALIZED (
 SELECT c.oid, c.relname, c.relnamespace, c.relkind, c.relpersistence, c.relrowsecurity
   FROM pg_catalog.unnest(ARRAY(SELECT DISTINCT x FROM tree, pg_catalog.unnest(tree.oids) x)) x(oid)
   JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) x.oid),
cols AS MATERIALIZED (
 SELECT a.attname, a.atttypid
   FROM pg_catalog.unnest(ARRAY(SELECT oid FROM named WHERE oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid)) x(oid)
   JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) x.oid
  WHERE a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped),
within(oids) AS (
 SELECT ARRAY(SELECT atttypid FROM cols WHERE atttypid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   UNION SELECT p::pg_catalog.oid FROM pg_catalog.unnest($7::pg_catalog.text[]) p)
 UNION
 SELECT y.oids FROM within, LATERAL (SELECT ARRAY(SELECT DISTINCT v.oid
   FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_range r ON r.rngtypid OPERATOR(pg_catalog.=) t.oid, LATERAL (
    SELECT t.typelem UNION ALL SELECT t.typbasetype UNION ALL SELECT r.rngsubtype
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid
      AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped) v(oid)
  WHERE t.oid OPERATOR(pg_catalog.=) ANY (within.oids) AND v.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid) AS oids OFFSET 0) y
  WHERE pg_catalog.cardinality(y.oids) OPERATOR(pg_catalog.>) 0)
SELECT 'relation' AS kind, n.nspname::pg_catalog.text AS s, c.relname::pg_catalog.text AS name, c.oid::pg_catalog.text AS a,
       pg_catalog.concat(c.relkind, c.relpersistence, c.relrowsecurity) AS b
  FROM rels c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
UNION ALL
SELECT 'missing', s, n, '', '' FROM named WHERE oid IS NULL
UNION ALL
SELECT 'column-type', '', t.typname::pg_catalog.text, t.oid::pg_catalog.text, ''
  FROM pg_catalog.unnest(ARRAY(SELECT DISTINCT atttypid FROM cols)) x(oid) JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) x.oid
UNION ALL
SELECT 'column', '', attname::pg_catalog.text, '', '' FROM cols WHERE attname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($5::pg_catalog.text[])
UNION ALL
SELECT 'user-type', '', t.typname::pg_catalog.text,
       pg_catalog.concat(t.typtype, EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.contypid OPERATOR(pg_catalog.=) t.oid)),
       pg_catalog.concat_ws(' ', t.oid, t.typinput::pg_catalog.oid, t.typoutput::pg_catalog.oid, t.typreceive::pg_catalog.oid, t.typsend::pg_catalog.oid)
  FROM pg_catalog.unnest(ARRAY(SELECT DISTINCT x FROM within, pg_catalog.unnest(within.oids) x)) x(oid) JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) x.oid
UNION ALL
SELECT DISTINCT 'function', CASE WHEN p.pronamespace OPERATOR(pg_catalog.=) 11::pg_catalog.oid THEN 'pg_catalog' ELSE '' END, q.n,
       pg_catalog.concat(p.provolatile, p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OR p.pronamespace OPERATOR(pg_catalog.<>) 11::pg_catalog.oid),
       CASE WHEN p.pronargs OPERATOR(pg_catalog.<) 1::pg_catalog.int2 OR p.pronargs OPERATOR(pg_catalog.-) p.pronargdefaults OPERATOR(pg_catalog.>) 1 THEN ''
            WHEN p.provariadic OPERATOR(pg_catalog.<>) 0::pg_catalog.oid THEN 'p' ELSE t.typtype::pg_catalog.text END
  FROM pg_catalog.unnest($3::pg_catalog.text[]) q(n)
  JOIN pg_catalog.pg_proc p ON p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
  JOIN path ON path.nsp OPERATOR(pg_catalog.=) p.pronamespace
  LEFT JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) p.proargtypes[0]
UNION ALL
SELECT DISTINCT 'type-name', '', q.n, t.typtype::pg_catalog.text, b.typtype::pg_catalog.text
  FROM pg_catalog.unnest($4::pg_catalog.text[]) q(n)
  JOIN pg_catalog.pg_type t ON t.typname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
  LEFT JOIN pg_catalog.pg_type b ON b.oid OPERATOR(pg_catalog.=) t.typbasetype
UNION ALL
SELECT 'operator', '', q.n, pg_catalog.concat_ws(' ', l.oid, l.typtype, l.typcategory, l.typispreferred),
       pg_catalog.concat_ws(' ', r.oid, r.typtype, r.typcategory, r.typispreferred)
  FROM pg_catalog.unnest($6::pg_catalog.text[]) q(n)
  JOIN pg_catalog.pg_operator o ON o.oprname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND o.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
  LEFT JOIN pg_catalog.pg_type l ON l.oid OPERATOR(pg_catalog.=) o.oprleft
  LEFT JOIN pg_catalog.pg_type r ON r.oid OPERATOR(pg_catalog.=) o.oprright
UNION ALL
SELECT 'operator-class', '', c.opcname::pg_catalog.text, pg_catalog.concat_ws(' ', t.oid, t.typtype, t.typcategory, t.typispreferred), ''
  FROM pg_catalog.pg_opclass c JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) c.opcintype
 WHERE c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND c.opcmethod OPERATOR(pg_catalog.=) ANY ('{403,405}'::pg_catalog.oid[])
UNION ALL
SELECT 'cast', k.castcontext::pg_catalog.text, s.typname::pg_catalog.text, pg_catalog.concat_ws(' ', s.oid, s.typtype, s.typcategory, s.typispreferred),
       pg_catalog.concat_ws(' ', t.oid, t.typtype, t.typcategory, t.typispreferred)
  FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_type s ON s.oid OPERATOR(pg_catalog.=) k.castsource
  JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) k.casttarget
 WHERE k.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
UNION ALL
SELECT 'altered-view', '', r.oid::pg_catalog.text, '', '' FROM pg_catalog.pg_rewrite r
 WHERE EXISTS (SELECT FROM rels WHERE rels.relkind OPERATOR(pg_catalog.=) 'v' AND rels.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid)
   AND r.ev_class OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
   AND EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid OPERATOR(pg_catalog.=) 2618::pg_catalog.oid
     AND d.objid OPERATOR(pg_catalog.=) r.oid AND d.refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid)
UNION ALL
SELECT 'sampling', '', p.proname::pg_catalog.text, '', '' FROM pg_catalog.pg_proc p
 WHERE $8::pg_catalog.bool AND p.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid AND p.prorettype OPERATOR(pg_catalog.=) 3310::pg_catalog.oid`
