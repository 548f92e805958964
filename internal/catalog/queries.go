package catalog

import "strings"

// The questions that are put to a server, each in its plainest form, so that
// planning costs little. They rely on nothing that differs between PostgreSQL
// 13 and 18 but for one function that 13 lacks, and need no privilege. What the
// answers mean is for Go to say.
//
// They run in one transaction, behind fenceSQL: the search_path is empty, so
// that names without a schema are built in, operators and types too, and so
// that pg_get_viewdef and its kin qualify every name that is not. Relations are
// qualified all the same: a temporary one would come before pg_catalog.
//
// The planner knows nothing of what comes out of a recursion, and would make up
// numbers so large that JIT compiles for a second: so it is off, the recursion
// steps over arrays, a whole level of the tree at a time, and what comes of it
// passes through unnest(ARRAY(…)), which stands for ten rows. The OFFSET 0
// fences keep the planner on the indexes.
//
// 16384 is FirstNormalObjectId: what initdb made is below. 11 is the schema
// pg_catalog. Of catalogs: 1247 pg_type, 1255 pg_proc, 1259 pg_class,
// 2616 pg_opclass, 2618 pg_rewrite, 3256 pg_policy. 403 and 405 are btree and
// hash; 2279, 2281, 3310 and 3838 are trigger, internal, tsm_handler and
// event_trigger.
const (
	pathSQL  = `SELECT pg_catalog.unnest(pg_catalog.current_schemas(true))`
	fenceSQL = `SELECT pg_catalog.set_config('search_path', '', true), pg_catalog.set_config('jit', 'off', true),
 pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)`

	// What initdb made: functions as they may be called, and operators whose
	// functions aren't IMMUTABLE.
	builtInFunctionsSQL = `SELECT DISTINCT p.proname, concat(p.provolatile, p.prokind, coalesce(t.typtype, '-')),
       CASE WHEN p.provariadic <> 0 THEN p.pronargs - 1 ELSE p.pronargs - p.pronargdefaults END,
       CASE WHEN p.provariadic <> 0 THEN -1 ELSE p.pronargs END
  FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_type t ON t.oid = p.proargtypes[0]
 WHERE p.pronamespace = 11 AND p.oid < 16384 AND p.prorettype NOT IN (2279, 3838)`
	builtInTypesSQL = `SELECT t.typname, t.oid FROM pg_catalog.pg_type t
 WHERE t.typnamespace = 11 AND t.oid < 16384 AND t.typtype IN ('b', 'r', 'm', 'd')`
	builtInOperatorsSQL = `SELECT DISTINCT o.oprname, p.proname, p.provolatile FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
 WHERE o.oid < 16384 AND p.provolatile <> 'i'`

	// Functions that aren't IMMUTABLE, for what users made of them.
	unsteadyFunctionsSQL = `SELECT p.oid, p.proname FROM pg_catalog.pg_proc p WHERE p.oid < 16384 AND p.provolatile <> 'i'`

	// The names of columns that functions give, if they are in FROM.
	outputNamesSQL = `SELECT DISTINCT a.n FROM pg_catalog.pg_proc p, unnest(p.proargnames, p.proargmodes) a(n, m) WHERE a.m IN ('o', 'b', 't') AND a.n <> ''`

	// What users made. A function of pg_catalog that is not initdb's counts. An
	// extension's are those that only a superuser can have put there: who owns
	// an extension may add functions of their own to it.
	functionsSQL = `SELECT p.oid, n.nspname, p.proname, concat(p.provolatile, p.prokind, coalesce(t.typtype, '-'),
         CASE WHEN e.deptype IS NOT NULL AND (l.lanname IN ('c', 'internal') OR p.proowner = 10 OR (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.oid = p.proowner)) THEN 'e' ELSE '-' END),
       CASE WHEN p.provariadic <> 0 THEN p.pronargs - 1 ELSE p.pronargs - p.pronargdefaults END,
       CASE WHEN p.provariadic <> 0 THEN -1 ELSE p.pronargs END,
       l.lanname, p.proconfig IS NULL AND NOT p.prosecdef,
       CASE WHEN l.lanname = 'sql' AND p.provolatile = 'i' AND length(p.prosrc) < 8192 THEN $body ELSE '' END,
       coalesce(pg_get_expr(p.proargdefaults, 1255), ''),
       CASE WHEN p.prokind = 'a' THEN (SELECT concat_ws(' ', a.aggtransfn::oid, a.aggfinalfn::oid, a.aggcombinefn::oid, a.aggserialfn::oid, a.aggdeserialfn::oid,
           a.aggmtransfn::oid, a.aggminvtransfn::oid, a.aggmfinalfn::oid) FROM pg_catalog.pg_aggregate a WHERE a.aggfnoid = p.oid) ELSE '' END,
       p.prorettype = 3310,
       concat_ws(' ', p.prorettype, array_to_string(coalesce(p.proallargtypes, p.proargtypes::oid[]), ' '),
         (SELECT concat_ws(' ', a.aggtranstype, nullif(a.aggmtranstype, 0)) FROM pg_catalog.pg_aggregate a WHERE a.aggfnoid = p.oid)),
       coalesce((SELECT concat_ws(' ', a.agginitval, a.aggminitval) FROM pg_catalog.pg_aggregate a WHERE a.aggfnoid = p.oid), '')
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  LEFT JOIN pg_catalog.pg_type t ON t.oid = p.proargtypes[0]
  LEFT JOIN pg_catalog.pg_depend e ON e.classid = 1255 AND e.objid = p.oid AND e.deptype = 'e'
 WHERE (p.oid >= 16384 OR p.pronamespace <> 11) AND p.prorettype NOT IN (2279, 3838) AND p.prokind <> 'p' LIMIT 200001`
	operatorsSQL = `SELECT o.oprname, n.nspname, concat_ws(' ', l.oid, l.typtype, l.typcategory, l.typispreferred), concat_ws(' ', r.oid, r.typtype, r.typcategory, r.typispreferred),
       o.oprcode::oid
  FROM pg_catalog.pg_operator o
  JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
  LEFT JOIN pg_catalog.pg_type l ON l.oid = o.oprleft
  LEFT JOIN pg_catalog.pg_type r ON r.oid = o.oprright
 WHERE o.oid >= 16384 LIMIT 200001`
	typesSQL = `SELECT t.oid, n.nspname, t.typname, concat(t.typtype, t.typcategory, coalesce(e.deptype, '-')), t.typelem, t.typbasetype, coalesce(r.rngsubtype, 0),
       concat_ws(' ', t.typinput::oid, t.typoutput::oid, t.typreceive::oid, t.typsend::oid, r.rngcanonical::oid),
       array_to_string(ARRAY(SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0 AND NOT a.attisdropped), ' '),
       coalesce((SELECT string_agg(pg_get_constraintdef(k.oid), E'\n') FROM pg_catalog.pg_constraint k WHERE t.typtype = 'd' AND k.contypid = t.oid AND k.contype = 'c'), ''),
       coalesce((SELECT b.typtype FROM pg_catalog.pg_type b WHERE b.oid = t.typbasetype), '-')
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid AND t.typrelid <> 0
  LEFT JOIN pg_catalog.pg_type el ON el.oid = t.typelem AND t.typelem <> 0
  LEFT JOIN pg_catalog.pg_class ec ON ec.oid = el.typrelid AND el.typrelid <> 0
  LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid
  LEFT JOIN pg_catalog.pg_depend e ON e.classid = 1247 AND e.objid = t.oid AND e.deptype = 'e'
 WHERE t.oid >= 16384 AND coalesce(c.relkind, 'c') = 'c' AND coalesce(ec.relkind, 'c') = 'c' LIMIT 200001`
	castsSQL = `SELECT k.castcontext, k.castfunc, concat_ws(' ', s.oid, s.typtype, s.typcategory, s.typispreferred), concat_ws(' ', t.oid, t.typtype, t.typcategory, t.typispreferred),
       concat(s.typname, ' to ', t.typname)
  FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_type s ON s.oid = k.castsource JOIN pg_catalog.pg_type t ON t.oid = k.casttarget
 WHERE k.oid >= 16384`
	opclassesSQL = `SELECT c.opcname, concat_ws(' ', t.oid, t.typtype, t.typcategory, t.typispreferred), coalesce(e.deptype, '-')
  FROM pg_catalog.pg_opclass c JOIN pg_catalog.pg_type t ON t.oid = c.opcintype
  LEFT JOIN pg_catalog.pg_depend e ON e.classid = 2616 AND e.objid = c.oid AND e.deptype = 'e'
 WHERE c.oid >= 16384 AND c.opcmethod IN (403, 405)`
	alteredSQL = `SELECT r.ev_class FROM pg_catalog.pg_rewrite r WHERE r.ev_class < 16384
   AND EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 2618 AND d.objid = r.oid AND d.refobjid >= 16384)`

	// relationsSQL finds relations by name, and all that they stand for: the
	// whole of their inheritance trees, and what views and policies read.
	//
	//	$1  the search_path  $2, $3  schema ('' = none) and name of each
	relationsSQL = `WITH RECURSIVE
path AS MATERIALIZED (
 SELECT n.oid AS nsp, p.ord FROM unnest($1) WITH ORDINALITY p(nspname, ord) JOIN pg_catalog.pg_namespace n ON n.nspname = p.nspname),
named AS MATERIALIZED (
 SELECT q.s, q.n, (SELECT c.oid FROM (SELECT c.oid, c.relnamespace FROM pg_catalog.pg_class c WHERE c.relname = q.n OFFSET 0) c
     JOIN pg_catalog.pg_namespace ns ON ns.oid = c.relnamespace LEFT JOIN path ON path.nsp = c.relnamespace
    WHERE CASE WHEN q.s = '' THEN path.nsp IS NOT NULL ELSE ns.nspname = q.s END ORDER BY path.ord LIMIT 1) AS oid
   FROM ROWS FROM (unnest($2), unnest($3)) q(s, n)),
reach(oids) AS (
 SELECT ARRAY(SELECT DISTINCT oid FROM named WHERE oid IS NOT NULL ORDER BY oid)
 UNION
 SELECT y.oids FROM reach, LATERAL (SELECT ARRAY(
   SELECT unnest(reach.oids) AS o
   UNION SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = ANY (reach.oids)
   UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = ANY (reach.oids)
   UNION SELECT d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1259
          WHERE r.ev_class = ANY (reach.oids) AND r.ev_class >= 16384 AND r.ev_type = '1'
   UNION SELECT d.refobjid FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_depend d ON d.classid = 3256 AND d.objid = p.oid AND d.refclassid = 1259
          WHERE p.polrelid = ANY (reach.oids)
   ORDER BY o) AS oids OFFSET 0) y),
rels AS MATERIALIZED (
 SELECT c.oid, c.relname, c.relnamespace, c.relkind, c.relpersistence, c.relrowsecurity, c.relispartition
   FROM unnest(ARRAY(SELECT DISTINCT x FROM reach, unnest(reach.oids) x)) x(oid) JOIN pg_catalog.pg_class c ON c.oid = x.oid)
SELECT 'named', s, n::text, coalesce(oid, 0), '' FROM named
UNION ALL
SELECT 'relation', n.nspname, c.relname, c.oid, concat(c.relkind, c.relpersistence, c.relrowsecurity, EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid))
  FROM rels c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
UNION ALL
SELECT 'inherits', '', '', i.inhrelid, i.inhparent::text
  FROM unnest(ARRAY(SELECT oid FROM rels)) x(oid) JOIN pg_catalog.pg_inherits i ON i.inhrelid = x.oid
UNION ALL
SELECT 'column', concat(a.attgenerated), a.attname, a.attrelid, a.atttypid::text
  FROM unnest(ARRAY(SELECT oid FROM rels WHERE oid >= 16384 AND (NOT relispartition OR oid IN (SELECT oid FROM named)))) x(oid)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = x.oid WHERE a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'view', '', coalesce(pg_get_viewdef(oid), ''), oid, '' FROM rels WHERE relkind = 'v' AND oid >= 16384
UNION ALL
SELECT DISTINCT 'uses', '', '', x.oid, concat_ws(' ', d.refclassid, d.refobjid)
  FROM unnest(ARRAY(SELECT oid FROM rels WHERE relkind = 'v' AND oid >= 16384)) x(oid)
  JOIN pg_catalog.pg_rewrite r ON r.ev_class = x.oid AND r.ev_type = '1'
  JOIN pg_catalog.pg_depend d ON d.classid = 2618 AND d.objid = r.oid
UNION ALL
SELECT 'policy', '', coalesce(pg_get_expr(p.polqual, p.polrelid), ''), p.polrelid, p.polcmd::text
  FROM unnest(ARRAY(SELECT oid FROM rels WHERE relrowsecurity)) x(oid) JOIN pg_catalog.pg_policy p ON p.polrelid = x.oid
UNION ALL
SELECT DISTINCT 'uses', '', '', x.oid, concat_ws(' ', d.refclassid, d.refobjid)
  FROM unnest(ARRAY(SELECT oid FROM rels WHERE relrowsecurity)) x(oid)
  JOIN pg_catalog.pg_policy p ON p.polrelid = x.oid
  JOIN pg_catalog.pg_depend d ON d.classid = 3256 AND d.objid = p.oid
UNION ALL
SELECT 'rows', '', '', t.typrelid, t.oid::text FROM unnest(ARRAY(SELECT oid FROM rels)) x(oid) JOIN pg_catalog.pg_type t ON t.typrelid = x.oid`
)

// functionsFor gives functionsSQL for a server of a version. Version 14 brought
// bodies that are kept parsed.
func functionsFor(version int) string {
	body := "p.prosrc"
	if version >= 14_00_00 {
		body = "coalesce(pg_get_function_sqlbody(p.oid), p.prosrc)"
	}
	return strings.Replace(functionsSQL, "$body", body, 1)
}
