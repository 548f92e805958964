package cachedpgx

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cachedpgx/cachedpgx/internal/catalog"
)

// scope is what a server connection is, as far as answers depend on it: which
// database of which server, as whom, with which settings. Two connections of
// one scope give the same answer to the same question. It is immutable.
type scope struct {
	id       uint64 // never given twice; stands for text in keys
	text     string // the real values, not a hash
	system   string // of the server: two servers never share one
	recovery bool   // a standby, which may lag behind
	pooled   bool   // a pooler in between: the next statement may meet another session
	odd      bool   // standard_conforming_strings is off: texts with backslashes read otherwise
	modes    modes
}

// modes says how connections run statements.
type modes struct {
	standard     pgx.QueryExecMode // where none is ordered
	statements   bool              // they keep prepared statements, as that mode needs
	descriptions bool              // they keep descriptions, likewise
}

func modesOf(cfg *pgx.ConnConfig) modes {
	return modes{cfg.DefaultQueryExecMode, cfg.StatementCacheCapacity > 0, cfg.DescriptionCacheCapacity > 0}
}

// autoPrepares says whether running a text directly does what running it
// prepared does.
func (m modes) autoPrepares() bool {
	return m.standard == pgx.QueryExecModeCacheStatement && m.statements
}

// typed says whether pgx knows the types of parameters in a mode, and encodes
// arguments for them; ok is false where it refuses to run.
func (m modes) typed(ordered pgx.QueryExecMode, prep preparation) (typed, ok bool) {
	if ordered == 0 {
		ordered = m.standard
	}
	switch {
	case prep == prepared, ordered == pgx.QueryExecModeDescribeExec:
		return true, true
	case ordered == pgx.QueryExecModeCacheStatement:
		return true, m.statements
	case ordered == pgx.QueryExecModeCacheDescribe:
		return true, m.descriptions
	}
	return false, ordered == pgx.QueryExecModeExec || ordered == pgx.QueryExecModeSimpleProtocol
}

// lags says whether answers under this scope may be older than a write that
// this handle made: a standby that hasn't replayed it yet. Until replay can be
// compared, a standby's rows are kept only while the handle has not written.
func (s *scope) lags(l *ledger) bool { return s.recovery && l.wrote.Load() }

// identity is what a connection says of itself.
type identity struct {
	text     string
	system   string
	recovery bool
	pid      string
	probe    string
	odd      bool
	residue  bool // something of a session that was in use is left: see identifySQL
}

// identifySQL asks everything that answers depend on, in one statement that
// runs in the simple protocol, so that it works wherever a connection does.
// Names are qualified, since the search_path may be anybody's.
//
// Settings: every one that somebody has set for this session, role, database
// or connection, and those that change answers, whoever set them. Parameter
// application_name changes no answer and is often unique to a process.
//
// The last column is true where a session has left something behind: session
// advisory locks, objects in its temporary schema, PREPAREd statements, held
// cursors, channels.
const identifySQL = `SELECT %s,
 pg_catalog.pg_is_in_recovery(),
 pg_catalog.pg_backend_pid(),
 pg_catalog.format('%%s %%s %%L %%s %%L %%s %%L %%s',
   pg_catalog.current_setting('server_version_num'),
   (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()), pg_catalog.current_database(),
   (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user), current_user,
   (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = session_user), session_user,
   (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(n), ',' ORDER BY o)
      FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(n, o)
     WHERE NOT pg_catalog.starts_with(n::pg_catalog.text, 'pg_temp_'))),
 (SELECT pg_catalog.string_agg(pg_catalog.format('%%s=%%L', s.name, s.setting), ' ' ORDER BY s.name)
    FROM pg_catalog.pg_settings s
   WHERE s.name <> 'application_name'
     AND (s.source NOT IN ('default', 'configuration file', 'environment variable', 'command line', 'override')
       OR s.name IN ('TimeZone', 'timezone_abbreviations', 'DateStyle', 'IntervalStyle', 'bytea_output', 'extra_float_digits',
            'lc_messages', 'lc_monetary', 'lc_numeric', 'lc_time', 'lc_collate', 'lc_ctype', 'client_encoding', 'server_encoding',
            'search_path', 'row_security', 'default_text_search_config', 'transform_null_equals', 'xmlbinary', 'xmloption',
            'standard_conforming_strings', 'array_nulls', 'gin_fuzzy_search_limit', 'session_replication_role',
            'default_transaction_isolation'))),
 (` + probeSQL + `),
 EXISTS (SELECT FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.pid = pg_catalog.pg_backend_pid())
 OR EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = pg_catalog.pg_my_temp_schema())
 OR EXISTS (SELECT FROM pg_catalog.pg_proc f WHERE f.pronamespace = pg_catalog.pg_my_temp_schema())
 OR EXISTS (SELECT FROM pg_catalog.pg_prepared_statements p WHERE p.from_sql)
 OR EXISTS (SELECT FROM pg_catalog.pg_cursors c WHERE c.is_holdable)
 OR EXISTS (SELECT FROM pg_catalog.pg_listening_channels() ch)`

// probeSQL asks for the settings that change the answers of cached reads, and
// for temporary objects that could shadow their tables: in one value, and
// cheaply.
const probeSQL = `SELECT pg_catalog.concat_ws(' ', current_user, session_user, pg_catalog.quote_literal(pg_catalog.current_setting('search_path')),
 pg_catalog.current_setting('TimeZone'), pg_catalog.current_setting('DateStyle'), pg_catalog.current_setting('IntervalStyle'),
 pg_catalog.current_setting('bytea_output'), pg_catalog.current_setting('extra_float_digits'), pg_catalog.current_setting('lc_monetary'),
 pg_catalog.current_setting('row_security'), pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding'),
 pg_catalog.current_setting('transform_null_equals'), pg_catalog.current_setting('array_nulls'), pg_catalog.current_setting('xmlbinary'),
 pg_catalog.current_setting('xmloption'), pg_catalog.current_setting('timezone_abbreviations'), pg_catalog.current_setting('session_replication_role'),
 pg_catalog.current_setting('default_text_search_config'), pg_catalog.current_setting('lc_numeric'), pg_catalog.current_setting('lc_time'),
 pg_catalog.current_setting('lc_messages'), pg_catalog.current_setting('default_transaction_isolation'),
 CASE WHEN pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'f'
   WHEN EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()) THEN 't'
   ELSE 'f' END)`

// askOne puts a question of one value to a server, below pgx.Conn.
func askOne(ctx context.Context, pc *pgconn.PgConn, query string) (string, error) {
	results, err := pc.Exec(ctx, catalog.Mark+query).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 1 {
		return "", errNotIdentified
	}
	return string(results[0].Rows[0][0]), nil
}

// Which server it is: by its system identifier, or, where a role may not read
// that, by the moment it was started.
var (
	identifyBySystem = fmt.Sprintf(identifySQL, `(SELECT c.system_identifier FROM pg_catalog.pg_control_system() c)`)
	identifyByStart  = fmt.Sprintf(identifySQL, `pg_catalog.pg_postmaster_start_time()`)
)

var errNotIdentified = errors.New("cachedpgx: the server does not say who it is")

// identify asks a connection who it is. The question is put below pgx.Conn, so
// that a user's tracers don't see it.
func identify(ctx context.Context, pc *pgconn.PgConn) (identity, error) {
	id, err := identifyWith(ctx, pc, identifyBySystem)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" { // insufficient_privilege
		id, err = identifyWith(ctx, pc, identifyByStart)
	}
	return id, err
}

func identifyWith(ctx context.Context, pc *pgconn.PgConn, query string) (identity, error) {
	results, err := pc.Exec(ctx, catalog.Mark+query).ReadAll()
	if err != nil {
		return identity{}, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 7 {
		return identity{}, errNotIdentified
	}
	row := results[0].Rows[0]
	for _, col := range row {
		if col == nil {
			return identity{}, errNotIdentified
		}
	}
	system := string(row[0])
	return identity{
		text:     system + " " + string(row[1]) + " " + string(row[3]) + " " + string(row[4]),
		system:   system,
		recovery: string(row[1]) == "t",
		pid:      string(row[2]),
		odd:      pc.ParameterStatus("standard_conforming_strings") == "off",
		probe:    string(row[5]),
		residue:  string(row[6]) == "t",
	}, nil
}
