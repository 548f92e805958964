package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/sqlscan"
)

// writesSQL asks for what surrounds the targets of a write, in one statement.
// It gathers more than the write can reach; which events go where is for Go to
// say. How it is written, and why, judgeSQL's comment tells: everything is
// qualified, recursions step over arrays, and OFFSET 0 keeps the indexes.
//
// reach and look are cumulative: each step is the set so far and its
// neighbours, so a cycle of foreign keys ends. reach goes from the targets over
// inheritance, foreign keys and what rules and views name; look goes on from
// there and from what is read, over views, policies and partitions.
//
// Before version 15 a trigger's clone on a partition passes for internal.
//
// On a catalog of thousands of tables the planner's estimates are bad all the
// same: one trial compiled for nine seconds. So jitOff goes before it, in the
// same round trip, and ends with it.
//
// What a default, a constraint, an index, a view or a policy calls is in
// pg_depend as far as users made it. What is built in is not, so their texts
// are searched for names with a parenthesis behind them.
//
//	$1, $2  schema ('' = none) and name of each relation
//	$3      w: written, r: read; in capitals: in whatever schema
//	$4      whether to follow the actions of foreign keys
//	$5      whether to follow foreign keys as TRUNCATE … CASCADE does
//	$6, $7  schema and name of each function
//	$8      c: called, a: a name behind a dot
//	$9      whether functions count in whatever schema they are
//	$10     names of operators
//	$11     names of types
//	$12     whether a materialized view is refreshed, which event triggers see
//	$13     users' types of arguments and results
//
// 1247 is pg_type, 1255 pg_proc, 1259 pg_class, 2604 pg_attrdef, 2606
// pg_constraint, 2617 pg_operator, 2618 pg_rewrite, 2620 pg_trigger, 3256
// pg_policy; 12 and 13 are the languages internal and c. 1646 to 1653 are
// RI_FKey_cascade_del, cascade_upd, (restrict), setnull_del, setnull_upd,
// setdefault_del and setdefault_upd.
const writesSQL = `WITH RECURSIVE
path AS MATERIALIZED (
 SELECT n.oid AS nsp, p.ord
   FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(nspname, ord)
   JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) p.nspname),
named AS MATERIALIZED (
 SELECT q.ord, pg_catalog.lower(q.how) OPERATOR(pg_catalog.=) 'w' AS written, c.oid
   FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::pg_catalog.text[]))
     WITH ORDINALITY q(s, n, how, ord)
   LEFT JOIN LATERAL (SELECT c.oid FROM (
     SELECT c.oid, c.relnamespace FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.=) q.n::pg_catalog.name OFFSET 0) c
     JOIN pg_catalog.pg_namespace ns ON ns.oid OPERATOR(pg_catalog.=) c.relnamespace
     LEFT JOIN path ON path.nsp OPERATOR(pg_catalog.=) c.relnamespace
    WHERE CASE WHEN q.s OPERATOR(pg_catalog.=) '' THEN path.nsp IS NOT NULL OR q.how OPERATOR(pg_catalog.<>) pg_catalog.lower(q.how)
               WHEN q.s OPERATOR(pg_catalog.=) 'pg_temp' THEN c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
               ELSE ns.nspname OPERATOR(pg_catalog.=) q.s::pg_catalog.name END
    ORDER BY path.ord USING OPERATOR(pg_catalog.<)
    LIMIT CASE WHEN q.how OPERATOR(pg_catalog.=) pg_catalog.lower(q.how) THEN 1 END) c ON true),
reach(oids) AS (
 SELECT ARRAY(SELECT DISTINCT oid FROM named WHERE written AND oid IS NOT NULL)
 UNION
 SELECT y.oids FROM reach, LATERAL (SELECT ARRAY(SELECT v.oid FROM (
    SELECT x FROM pg_catalog.unnest(reach.oids) x
    UNION SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid OPERATOR(pg_catalog.=) ANY (reach.oids)
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent OPERATOR(pg_catalog.=) ANY (reach.oids)
    UNION SELECT t.tgconstrrelid FROM pg_catalog.pg_trigger t WHERE $4::pg_catalog.bool AND t.tgrelid OPERATOR(pg_catalog.=) ANY (reach.oids)
      AND t.tgisinternal AND t.tgfoid OPERATOR(pg_catalog.=) ANY ('{1646,1647,1650,1651,1652,1653}'::pg_catalog.oid[])
    UNION SELECT k.conrelid FROM pg_catalog.pg_constraint k WHERE $5::pg_catalog.bool AND k.confrelid OPERATOR(pg_catalog.=) ANY (reach.oids)
      AND k.contype OPERATOR(pg_catalog.=) 'f'::pg_catalog."char"
    UNION SELECT d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) 2618::pg_catalog.oid
        AND d.objid OPERATOR(pg_catalog.=) r.oid AND d.refclassid OPERATOR(pg_catalog.=) 1259::pg_catalog.oid
      WHERE r.ev_class OPERATOR(pg_catalog.=) ANY (reach.oids) AND d.refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   ) v(oid) ORDER BY v.oid USING OPERATOR(pg_catalog.<)) AS oids OFFSET 0) y),
reached AS MATERIALIZED (SELECT oids FROM reach ORDER BY pg_catalog.cardinality(oids) USING OPERATOR(pg_catalog.>) LIMIT 1),
look(oids) AS (
 SELECT ARRAY(SELECT v.x FROM (SELECT pg_catalog.unnest(oids) FROM reached UNION SELECT oid FROM named WHERE oid IS NOT NULL) v(x)
   ORDER BY v.x USING OPERATOR(pg_catalog.<))
 UNION
 SELECT y.oids FROM look, LATERAL (SELECT ARRAY(SELECT v.oid FROM (
    SELECT x FROM pg_catalog.unnest(look.oids) x
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent OPERATOR(pg_catalog.=) ANY (look.oids)
    UNION SELECT d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) 2618::pg_catalog.oid
        AND d.objid OPERATOR(pg_catalog.=) r.oid AND d.refclassid OPERATOR(pg_catalog.=) 1259::pg_catalog.oid
      WHERE r.ev_class OPERATOR(pg_catalog.=) ANY (look.oids) AND d.refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
    UNION SELECT d.refobjid FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) 3256::pg_catalog.oid
        AND d.objid OPERATOR(pg_catalog.=) p.oid AND d.refclassid OPERATOR(pg_catalog.=) 1259::pg_catalog.oid
      WHERE p.polrelid OPERATOR(pg_catalog.=) ANY (look.oids) AND d.refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   ) v(oid) ORDER BY v.oid USING OPERATOR(pg_catalog.<)) AS oids OFFSET 0) y),
seen AS MATERIALIZED (SELECT oids FROM look ORDER BY pg_catalog.cardinality(oids) USING OPERATOR(pg_catalog.>) LIMIT 1),
objects AS MATERIALIZED (
 SELECT 2604::pg_catalog.oid AS cls, a.oid, a.adrelid AS rel, 'write' AS how FROM pg_catalog.pg_attrdef a
  WHERE a.adrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
 UNION ALL SELECT 2606::pg_catalog.oid, k.oid, k.conrelid, 'write' FROM pg_catalog.pg_constraint k
  WHERE k.conrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
 UNION ALL SELECT 1259::pg_catalog.oid, i.indexrelid, i.indrelid, 'write' FROM pg_catalog.pg_index i
  WHERE i.indrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
 UNION ALL SELECT 1259::pg_catalog.oid, x, x, 'write' FROM reached, pg_catalog.unnest(reached.oids) x
 UNION ALL SELECT 2620::pg_catalog.oid, t.oid, t.tgrelid, 'write' FROM pg_catalog.pg_trigger t
  WHERE t.tgrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[]) AND t.tgqual IS NOT NULL
 UNION ALL SELECT 2618::pg_catalog.oid, r.oid, r.ev_class, 'read' FROM pg_catalog.pg_rewrite r
  WHERE r.ev_class OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM seen)::pg_catalog.oid[])
 UNION ALL SELECT 3256::pg_catalog.oid, p.oid, p.polrelid, 'read' FROM pg_catalog.pg_policy p
  WHERE p.polrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM seen)::pg_catalog.oid[])),
deps AS MATERIALIZED (
 SELECT DISTINCT o.cls, o.rel, o.how, d.refclassid, d.refobjid
   FROM objects o, LATERAL (SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_depend d WHERE d.classid OPERATOR(pg_catalog.=) o.cls
     AND d.objid OPERATOR(pg_catalog.=) o.oid AND d.refclassid OPERATOR(pg_catalog.=) ANY ('{1247,1255,2617}'::pg_catalog.oid[])
     AND d.refobjid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid OFFSET 0) d),
called AS MATERIALIZED (
 SELECT q.n, n.nspname, p.oid, p.provolatile
   FROM ROWS FROM (pg_catalog.unnest($6::pg_catalog.text[]), pg_catalog.unnest($7::pg_catalog.text[]), pg_catalog.unnest($8::pg_catalog.text[])) q(s, n, how)
   JOIN pg_catalog.pg_proc p ON p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name
   JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
   LEFT JOIN path ON path.nsp OPERATOR(pg_catalog.=) p.pronamespace
  WHERE CASE WHEN q.s OPERATOR(pg_catalog.=) '' THEN path.nsp IS NOT NULL OR $9::pg_catalog.bool
             WHEN q.s OPERATOR(pg_catalog.=) 'pg_temp' THEN p.pronamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
             ELSE n.nspname OPERATOR(pg_catalog.=) q.s::pg_catalog.name END
    AND (q.how OPERATOR(pg_catalog.=) 'c' OR p.pronargs OPERATOR(pg_catalog.>=) 1::pg_catalog.int2
     AND p.pronargs OPERATOR(pg_catalog.-) p.pronargdefaults OPERATOR(pg_catalog.<=) 1)),
within(oids) AS (
 SELECT ARRAY(SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM seen)::pg_catalog.oid[])
     AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND a.atttypid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   UNION SELECT refobjid FROM deps WHERE refclassid OPERATOR(pg_catalog.=) 1247::pg_catalog.oid
   UNION SELECT t.oid FROM pg_catalog.unnest($11::pg_catalog.text[]) q(n) JOIN pg_catalog.pg_type t
     ON t.typname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND t.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   UNION SELECT x FROM pg_catalog.unnest($13::pg_catalog.oid[]) x)
 UNION
 SELECT y.oids FROM within, LATERAL (SELECT ARRAY(SELECT v.oid FROM (
    SELECT x FROM pg_catalog.unnest(within.oids) x
    UNION SELECT v.oid FROM pg_catalog.unnest(within.oids) x, LATERAL (
     SELECT t.typelem FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) x
     UNION ALL SELECT t.typbasetype FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) x
     UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid OPERATOR(pg_catalog.=) x
     UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
       AND a.attrelid OPERATOR(pg_catalog.=) (SELECT t.typrelid FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) x)
     UNION ALL SELECT d.refobjid FROM pg_catalog.pg_depend d WHERE d.refclassid OPERATOR(pg_catalog.=) 1247::pg_catalog.oid
       AND d.classid OPERATOR(pg_catalog.=) 1247::pg_catalog.oid AND d.objid OPERATOR(pg_catalog.=) x
     UNION ALL SELECT d.refobjid FROM pg_catalog.pg_depend k JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) 2606::pg_catalog.oid
       AND d.objid OPERATOR(pg_catalog.=) k.objid AND d.refclassid OPERATOR(pg_catalog.=) 1247::pg_catalog.oid
       WHERE k.refclassid OPERATOR(pg_catalog.=) 1247::pg_catalog.oid AND k.refobjid OPERATOR(pg_catalog.=) x
        AND k.classid OPERATOR(pg_catalog.=) 2606::pg_catalog.oid OFFSET 0) v(oid)
   ) v(oid) WHERE v.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid ORDER BY v.oid USING OPERATOR(pg_catalog.<)) AS oids OFFSET 0) y),
types AS MATERIALIZED (SELECT oids FROM within ORDER BY pg_catalog.cardinality(oids) USING OPERATOR(pg_catalog.>) LIMIT 1),
checks AS MATERIALIZED (SELECT DISTINCT k.oid, pg_catalog.pg_get_expr(k.conbin, 0::pg_catalog.oid) AS t
   FROM types, pg_catalog.unnest(types.oids) x JOIN pg_catalog.pg_depend d ON d.refclassid OPERATOR(pg_catalog.=) 1247::pg_catalog.oid
    AND d.refobjid OPERATOR(pg_catalog.=) x AND d.classid OPERATOR(pg_catalog.=) 2606::pg_catalog.oid
   JOIN pg_catalog.pg_constraint k ON k.oid OPERATOR(pg_catalog.=) d.objid
  WHERE k.contypid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid AND k.conbin IS NOT NULL),
uses AS MATERIALIZED (
 SELECT 'called' AS why, 0::pg_catalog.oid AS rel, c.n AS detail, c.oid AS fn FROM called c WHERE c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
 UNION SELECT 'trigger', t.tgrelid, t.tgtype::pg_catalog.text, t.tgfoid FROM pg_catalog.pg_trigger t
  WHERE t.tgrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
    AND t.tgenabled OPERATOR(pg_catalog.<>) 'D'::pg_catalog."char" AND (NOT t.tgisinternal OR t.tgfoid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
     OR t.tgparentid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid AND t.tgconstraint OPERATOR(pg_catalog.=) 0::pg_catalog.oid)
 UNION SELECT d.how, d.rel, d.cls::pg_catalog.text, COALESCE(o.oprcode::pg_catalog.oid, d.refobjid)
  FROM deps d LEFT JOIN pg_catalog.pg_operator o ON d.refclassid OPERATOR(pg_catalog.=) 2617::pg_catalog.oid AND o.oid OPERATOR(pg_catalog.=) d.refobjid
  WHERE d.refclassid OPERATOR(pg_catalog.<>) 1247::pg_catalog.oid
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE d.cls OPERATOR(pg_catalog.=) 2620::pg_catalog.oid
      AND t.tgrelid OPERATOR(pg_catalog.=) d.rel AND t.tgfoid OPERATOR(pg_catalog.=) d.refobjid)
 UNION SELECT v.why, 0::pg_catalog.oid, v.detail, v.fn FROM (
   SELECT 'operator', q.n, o.oprcode::pg_catalog.oid FROM pg_catalog.unnest($10::pg_catalog.text[]) q(n)
     JOIN pg_catalog.pg_operator o ON o.oprname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND o.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   UNION ALL SELECT 'cast', '', k.castfunc FROM pg_catalog.pg_cast k WHERE k.castfunc OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   UNION ALL SELECT 'operator class', '', a.amproc::pg_catalog.oid FROM pg_catalog.pg_amproc a
     WHERE a.amproc::pg_catalog.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
   UNION ALL SELECT 'operator class', '', o.oprcode::pg_catalog.oid FROM pg_catalog.pg_amop a JOIN pg_catalog.pg_operator o
     ON o.oid OPERATOR(pg_catalog.=) a.amopopr AND a.amopopr OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid) v(why, detail, fn)
   JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) v.fn AND p.prolang OPERATOR(pg_catalog.>) 13::pg_catalog.oid
 UNION SELECT 'type', 0::pg_catalog.oid, '', COALESCE(o.oprcode::pg_catalog.oid, d.refobjid)
  FROM checks k JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) 2606::pg_catalog.oid AND d.objid OPERATOR(pg_catalog.=) k.oid
   AND d.refclassid OPERATOR(pg_catalog.=) ANY ('{1255,2617}'::pg_catalog.oid[])
  LEFT JOIN pg_catalog.pg_operator o ON d.refclassid OPERATOR(pg_catalog.=) 2617::pg_catalog.oid AND o.oid OPERATOR(pg_catalog.=) d.refobjid
 UNION SELECT 'type', 0::pg_catalog.oid, '', f FROM pg_catalog.pg_range r,
   LATERAL (VALUES (r.rngcanonical::pg_catalog.oid), (r.rngsubdiff::pg_catalog.oid)) v(f)
  WHERE r.rngtypid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM types)::pg_catalog.oid[])
 UNION SELECT 'event-trigger', 0::pg_catalog.oid, e.evtname::pg_catalog.text, e.evtfoid FROM pg_catalog.pg_event_trigger e
  WHERE $12::pg_catalog.bool AND e.evtenabled OPERATOR(pg_catalog.<>) 'D'::pg_catalog."char" AND e.evtevent OPERATOR(pg_catalog.<>) 'login'),
texts(t) AS (
 SELECT pg_catalog.pg_get_expr(v.adbin, v.adrelid) FROM (SELECT DISTINCT ON (a.adbin::pg_catalog.text) a.adbin, a.adrelid FROM pg_catalog.pg_attrdef a
   WHERE a.adrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[]) OFFSET 0) v
 UNION ALL SELECT pg_catalog.pg_get_expr(v.conbin, v.conrelid) FROM (
   SELECT DISTINCT ON (k.conbin::pg_catalog.text) k.conbin, k.conrelid FROM pg_catalog.pg_constraint k
   WHERE k.conrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[]) AND k.conbin IS NOT NULL OFFSET 0) v
 UNION ALL SELECT pg_catalog.concat(pg_catalog.pg_get_expr(v.indexprs, v.indrelid), ' ', pg_catalog.pg_get_expr(v.indpred, v.indrelid)) FROM (
   SELECT DISTINCT ON (i.indexprs::pg_catalog.text, i.indpred::pg_catalog.text) i.indexprs, i.indpred, i.indrelid FROM pg_catalog.pg_index i
   WHERE i.indrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[]) AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL) OFFSET 0) v
 UNION ALL SELECT pg_catalog.pg_get_expr(p.partexprs, p.partrelid) FROM pg_catalog.pg_partitioned_table p
   WHERE p.partrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[]) AND p.partexprs IS NOT NULL
 UNION ALL SELECT pg_catalog.pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t
   WHERE t.tgrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[]) AND t.tgqual IS NOT NULL
 UNION ALL SELECT CASE WHEN r.ev_type OPERATOR(pg_catalog.=) '1'::pg_catalog."char" THEN pg_catalog.pg_get_viewdef(r.ev_class) ELSE pg_catalog.pg_get_ruledef(r.oid) END
   FROM pg_catalog.pg_rewrite r WHERE r.ev_class OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM seen)::pg_catalog.oid[])
 UNION ALL SELECT pg_catalog.concat(pg_catalog.pg_get_expr(p.polqual, p.polrelid), ' ', pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
   FROM pg_catalog.pg_policy p WHERE p.polrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM seen)::pg_catalog.oid[])
 UNION ALL SELECT k.t FROM checks k)
SELECT 'named' AS kind, ord::pg_catalog.text AS a, COALESCE(oid, 0::pg_catalog.oid)::pg_catalog.text AS b, '' AS c, '' AS d, '' AS e, '' AS f FROM named
UNION ALL
SELECT 'relation', c.oid::pg_catalog.text, n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relkind::pg_catalog.text, '', ''
  FROM seen, pg_catalog.unnest(seen.oids) x(oid) JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) x.oid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
UNION ALL
SELECT 'inherits', i.inhparent::pg_catalog.text, i.inhrelid::pg_catalog.text, '', '', '', '' FROM pg_catalog.pg_inherits i
  WHERE i.inhrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
UNION ALL
SELECT DISTINCT 'action', t.tgrelid::pg_catalog.text, t.tgconstrrelid::pg_catalog.text, t.tgfoid::pg_catalog.text, '', '', '' FROM pg_catalog.pg_trigger t
  WHERE $4::pg_catalog.bool AND t.tgrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
    AND t.tgisinternal AND t.tgfoid OPERATOR(pg_catalog.=) ANY ('{1646,1647,1650,1651,1652,1653}'::pg_catalog.oid[])
UNION ALL
SELECT DISTINCT 'references', k.confrelid::pg_catalog.text, k.conrelid::pg_catalog.text, '', '', '', '' FROM pg_catalog.pg_constraint k
  WHERE $5::pg_catalog.bool AND k.contype OPERATOR(pg_catalog.=) 'f'::pg_catalog."char"
    AND k.confrelid OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
UNION ALL
SELECT DISTINCT 'rule', r.ev_class::pg_catalog.text, d.refobjid::pg_catalog.text, r.ev_type::pg_catalog.text, '', '', ''
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) 2618::pg_catalog.oid
   AND d.objid OPERATOR(pg_catalog.=) r.oid AND d.refclassid OPERATOR(pg_catalog.=) 1259::pg_catalog.oid
  WHERE r.ev_class OPERATOR(pg_catalog.=) ANY ((SELECT oids FROM reached)::pg_catalog.oid[])
    AND r.ev_enabled OPERATOR(pg_catalog.<>) 'D'::pg_catalog."char" AND d.refobjid OPERATOR(pg_catalog.<>) r.ev_class
UNION ALL
SELECT DISTINCT 'built-in', p.proname::pg_catalog.text, p.provolatile::pg_catalog.text, '', '', '', ''
  FROM (SELECT DISTINCT m[1] AS n FROM texts, LATERAL pg_catalog.regexp_matches(texts.t, '([a-z_0-9]+)"?\(', 'g') m OFFSET 0) q
  JOIN pg_catalog.pg_proc p ON p.proname OPERATOR(pg_catalog.=) q.n::pg_catalog.name AND p.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
UNION ALL
SELECT DISTINCT 'built-in', c.n, c.provolatile::pg_catalog.text, '', '', '', '' FROM called c WHERE c.oid OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
UNION ALL
SELECT 'use', u.why, u.rel::pg_catalog.text, u.detail, u.fn::pg_catalog.text, '', '' FROM uses u
UNION ALL
SELECT 'function', p.oid::pg_catalog.text, n.nspname::pg_catalog.text, p.proname::pg_catalog.text,
   pg_catalog.concat(p.provolatile, p.prokind, l.lanname),
   pg_catalog.concat(p.prosecdef, p.proconfig IS NOT NULL, p.proconfig::pg_catalog.text OPERATOR(pg_catalog.~) 'standard_conforming_strings', ',',
     pg_catalog.array_to_string(ARRAY(SELECT x FROM pg_catalog.unnest(p.proargtypes::pg_catalog.oid[] OPERATOR(pg_catalog.||) p.prorettype) x
       WHERE x OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid), ' '), ',', pg_catalog.pg_get_expr(p.proargdefaults, 0::pg_catalog.oid)), p.prosrc
  FROM pg_catalog.unnest(ARRAY(SELECT DISTINCT fn FROM uses)) x(oid) JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) x.oid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) p.prolang`

const jitOff = `SELECT pg_catalog.set_config('jit', 'off', true)`

// askWrites asks the server.
func askWrites(ctx context.Context, pc *pgconn.PgConn, q *questionnaire) (*surroundings, error) {
	var batch pgconn.Batch
	batch.ExecParams(jitOff, nil, nil, nil, nil)
	batch.ExecParams(writesSQL, q.params(), nil, nil, nil)
	results, err := pc.ExecBatch(ctx, &batch).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) != 2 {
		return nil, fmt.Errorf("catalog: %d results", len(results))
	}
	return readSurroundings(results[1].Rows, len(q.names))
}

// The events of a write, as pg_trigger.tgtype has them.
type events uint8

const (
	evInsert   events = 1 << 2
	evDelete   events = 1 << 3
	evUpdate   events = 1 << 4
	evTruncate events = 1 << 5
	evRows            = evInsert | evDelete | evUpdate

	tgInstead = 1 << 6 // INSTEAD OF
)

// wantedName is a relation that a text names. Its events are 0 where it is
// read only, or refreshed.
type wantedName struct {
	sqlscan.Name
	written, body bool // body: named in a function's body, not in the statement
}

// questionnaire is what is asked: the names of the statement, and those of the
// functions that it was found to run.
type questionnaire struct {
	names    []wantedName
	events   map[wantedName]events
	calls    []sqlscan.Name
	tails    []string // names behind a dot
	ops      []string
	types    []string
	typeOIDs []string
	anywhere bool // bodies may run under another search_path
	actions  bool // somebody updates or deletes
	truncate bool
	refresh  bool
}

func (q *questionnaire) params() [][]byte {
	var schemas, names, how, fnSchemas, fnNames, fnHow []string
	for _, n := range q.names {
		h := "r"
		if n.written {
			h = "w"
		}
		if n.body && q.anywhere {
			h = string(h[0] - 'a' + 'A')
		}
		schemas, names, how = append(schemas, n.Schema), append(names, n.Name.Name), append(how, h)
	}
	types := append(append([]string(nil), q.types...), q.tails...)
	for _, f := range q.calls {
		fnSchemas, fnNames, fnHow = append(fnSchemas, f.Schema), append(fnNames, f.Name), append(fnHow, "c")
		types = append(types, f.Name)
	}
	for _, a := range q.tails {
		fnSchemas, fnNames, fnHow = append(fnSchemas, ""), append(fnNames, a), append(fnHow, "a")
	}
	flag := func(b bool) []byte { return strconv.AppendBool(nil, b) }
	return [][]byte{
		textArray(schemas), textArray(names), textArray(how), flag(q.actions || q.truncate), flag(q.truncate),
		textArray(fnSchemas), textArray(fnNames), textArray(fnHow), flag(q.anywhere),
		textArray(sorted(q.ops)), textArray(sorted(types)), flag(q.refresh), textArray(q.typeOIDs),
	}
}

// surroundings are what writesSQL found.
type surroundings struct {
	named      [][]uint32 // of each name the relations; none where it is missing
	relations  map[uint32]reachable
	parents    map[uint32][]uint32
	children   map[uint32][]uint32
	actions    map[uint32][]action
	references map[uint32][]uint32
	rules      map[uint32][]rule
	builtIns   map[string]byte // the worst volatility of a name
	uses       []use
	functions  map[uint32]function
}

type reachable struct {
	Relation
	kind byte
}

// action is what a foreign key does to the relation that refers: fn is one of
// the RI_FKey_ functions.
type action struct{ to, fn uint32 }

// rule is a relation that a rule of a type names: 1 SELECT, 2 UPDATE, 3 INSERT,
// 4 DELETE.
type rule struct {
	to  uint32
	typ byte
}

// use says that a function runs, and on account of what.
type use struct {
	why    string
	rel    uint32
	detail string
	fn     uint32
}

type function struct {
	sqlscan.Name
	volatility, kind byte
	language         string
	path             bool     // it may run under another search_path or role than its caller
	literals         bool     // it sets standard_conforming_strings
	types            []string // users' types of its arguments and its result, by OID
	defaults, body   string   // the defaults of its arguments
}

func readSurroundings(rows [][][]byte, names int) (*surroundings, error) {
	s := &surroundings{
		named: make([][]uint32, names), relations: make(map[uint32]reachable), parents: make(map[uint32][]uint32),
		children: make(map[uint32][]uint32), actions: make(map[uint32][]action), references: make(map[uint32][]uint32),
		rules: make(map[uint32][]rule), builtIns: make(map[string]byte), functions: make(map[uint32]function),
	}
	for _, row := range rows {
		if len(row) != 7 {
			return nil, fmt.Errorf("catalog: a row of %d columns", len(row))
		}
		if err := s.read(string(row[0]), string(row[1]), string(row[2]), string(row[3]), string(row[4]), string(row[5]), string(row[6])); err != nil {
			return nil, fmt.Errorf("catalog: %q: %w", row, err)
		}
	}
	return s, nil
}

func (s *surroundings) read(kind, a, b, c, d, e, f string) (err error) {
	oid := func(text string) uint32 {
		n, nerr := strconv.ParseUint(text, 10, 32)
		if nerr != nil {
			err = nerr
		}
		return uint32(n)
	}
	switch kind {
	case "named":
		i := int(oid(a)) - 1
		if i < 0 || i >= len(s.named) {
			return fmt.Errorf("name %d of %d", i+1, len(s.named))
		}
		if rel := oid(b); rel != 0 {
			s.named[i] = append(s.named[i], rel)
		}
	case "relation":
		if d == "" {
			return fmt.Errorf("no kind")
		}
		s.relations[oid(a)] = reachable{Relation{oid(a), b, c}, d[0]}
	case "inherits":
		s.parents[oid(b)] = append(s.parents[oid(b)], oid(a))
		s.children[oid(a)] = append(s.children[oid(a)], oid(b))
	case "action":
		s.actions[oid(a)] = append(s.actions[oid(a)], action{oid(b), oid(c)})
	case "references":
		s.references[oid(a)] = append(s.references[oid(a)], oid(b))
	case "rule":
		if c == "" {
			return fmt.Errorf("no type")
		}
		s.rules[oid(a)] = append(s.rules[oid(a)], rule{oid(b), c[0]})
	case "built-in":
		if b == "" {
			return fmt.Errorf("no volatility")
		}
		s.builtIns[a] = max(s.builtIns[a], b[0])
	case "use":
		s.uses = append(s.uses, use{a, oid(b), c, oid(d)})
	case "function":
		flags, rest, _ := strings.Cut(e, ",")
		types, defaults, ok := strings.Cut(rest, ",")
		if len(d) < 3 || len(flags) < 2 || !ok {
			return fmt.Errorf("too short")
		}
		s.functions[oid(a)] = function{
			Name: sqlscan.Name{Schema: b, Name: c}, volatility: d[0], kind: d[1], language: d[2:],
			path: flags[:2] != "ff", literals: strings.HasSuffix(flags[2:], "t"), types: strings.Fields(types), defaults: defaults, body: f,
		}
	default:
		return fmt.Errorf("unknown kind")
	}
	return err
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
