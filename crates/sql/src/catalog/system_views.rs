//! System views: queries over the catalogs and the session, under PostgreSQL's names and OIDs.
//!
//! They are text of the program, not rows: every database has those of the program that runs it.

mod administration;
mod extensions;
mod information_schema;
mod privileges;
mod progress;
mod routines;
mod statistics;

/// One view.
pub struct SystemView {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: u32,
    pub query: &'static str,
}

const fn view(
    schema: &'static str,
    name: &'static str,
    oid: u32,
    query: &'static str,
) -> SystemView {
    SystemView { schema, name, oid, query }
}

/// The view of that name in that schema.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemView> {
    let all = VIEWS.iter().chain(statistics::VIEWS).chain(progress::VIEWS);
    let all = all.chain(extensions::VIEWS).chain(administration::VIEWS);
    let all = all.chain(information_schema::VIEWS).chain(routines::VIEWS);
    let mut all = all.chain(privileges::VIEWS);
    all.find(|view| view.schema == schema && view.name == name)
}

static VIEWS: &[SystemView] = &[
    view(
        "pg_catalog",
        "pg_roles",
        12000,
        "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, \
         rolreplication, rolconnlimit, '********'::text AS rolpassword, rolvaliduntil, \
         rolbypassrls, s.setconfig AS rolconfig, oid FROM pg_catalog.pg_authid \
         LEFT JOIN pg_catalog.pg_db_role_setting s \
         ON pg_authid.oid = s.setrole AND s.setdatabase = 0",
    ),
    view(
        "pg_catalog",
        "pg_user",
        12014,
        "SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, \
         rolsuper AS usesuper, rolreplication AS userepl, rolbypassrls AS usebypassrls, \
         '********'::text AS passwd, rolvaliduntil AS valuntil, s.setconfig AS useconfig \
         FROM pg_catalog.pg_authid LEFT JOIN pg_catalog.pg_db_role_setting s \
         ON pg_authid.oid = s.setrole AND s.setdatabase = 0 WHERE rolcanlogin",
    ),
    view(
        "pg_catalog",
        "pg_views",
        12028,
        "SELECT n.nspname AS schemaname, c.relname AS viewname, \
         pg_catalog.pg_get_userbyid(c.relowner) AS viewowner, \
         pg_catalog.pg_get_viewdef(c.oid) AS definition \
         FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind = 'v'",
    ),
    view(
        "pg_catalog",
        "pg_tables",
        12033,
        "SELECT n.nspname AS schemaname, c.relname AS tablename, \
         pg_catalog.pg_get_userbyid(c.relowner) AS tableowner, NULL::name AS tablespace, \
         c.relhasindex AS hasindexes, c.relhasrules AS hasrules, c.relhastriggers AS hastriggers, \
         c.relrowsecurity AS rowsecurity \
         FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p')",
    ),
    view(
        "pg_catalog",
        "pg_seclabels",
        12099,
        "SELECT l.objoid, l.classoid, l.objsubid, NULL::text AS objtype, NULL::oid AS objnamespace, \
         NULL::text AS objname, l.provider, l.label FROM pg_catalog.pg_seclabel l",
    ),
    view(
        "pg_catalog",
        "pg_user_mappings",
        12327,
        "SELECT u.oid AS umid, s.oid AS srvid, s.srvname, u.umuser, \
         CASE WHEN u.umuser = 0 THEN 'public' ELSE a.rolname END AS usename, u.umoptions \
         FROM pg_catalog.pg_user_mapping u JOIN pg_catalog.pg_foreign_server s ON u.umserver = s.oid \
         LEFT JOIN pg_catalog.pg_authid a ON a.oid = u.umuser",
    ),
    view(
        "pg_catalog",
        "pg_matviews",
        12038,
        "SELECT n.nspname AS schemaname, c.relname AS matviewname, \
         pg_catalog.pg_get_userbyid(c.relowner) AS matviewowner, NULL::name AS tablespace, \
         c.relhasindex AS hasindexes, c.relispopulated AS ispopulated, \
         pg_catalog.pg_get_viewdef(c.oid) AS definition \
         FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind = 'm'",
    ),
    view(
        "pg_catalog",
        "pg_indexes",
        12043,
        "SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname, \
         NULL::name AS tablespace, pg_catalog.pg_get_indexdef(i.oid) AS indexdef \
         FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class c ON c.oid = x.indrelid \
         JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I')",
    ),
    view(
        "pg_catalog",
        "pg_sequences",
        12048,
        "SELECT n.nspname AS schemaname, c.relname AS sequencename, \
         pg_catalog.pg_get_userbyid(c.relowner) AS sequenceowner, \
         s.seqtypid::pg_catalog.regtype AS data_type, s.seqstart AS start_value, \
         s.seqmin AS min_value, s.seqmax AS max_value, s.seqincrement AS increment_by, \
         s.seqcycle AS cycle, s.seqcache AS cache_size, \
         CASE WHEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT,USAGE') \
         THEN pg_catalog.pg_sequence_last_value(c.oid) END AS last_value \
         FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind = 'S'",
    ),
    view(
        "pg_catalog",
        "pg_locks",
        12073,
        "SELECT locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid, \
         objsubid, virtualtransaction, pid, mode, granted, fastpath, waitstart \
         FROM pg_catalog.pg_lock_status()",
    ),
    view(
        "pg_catalog",
        "pg_stat_activity",
        12222,
        "SELECT s.datid, d.datname, s.pid, s.leader_pid, s.usesysid, u.rolname AS usename, \
         s.application_name, s.client_addr, s.client_hostname, s.client_port, s.backend_start, \
         s.xact_start, s.query_start, s.state_change, s.wait_event_type, s.wait_event, s.state, \
         s.backend_xid, s.backend_xmin, s.query_id, s.query, s.backend_type \
         FROM pg_catalog.pg_stat_get_activity(NULL) s \
         LEFT JOIN pg_catalog.pg_database d ON s.datid = d.oid \
         LEFT JOIN pg_catalog.pg_authid u ON s.usesysid = u.oid",
    ),
    view(
        "pg_catalog",
        "pg_stat_slru",
        12260,
        "SELECT name, blks_zeroed, blks_hit, blks_read, blks_written, blks_exists, flushes, \
         truncates, stats_reset FROM pg_catalog.pg_stat_get_slru()",
    ),
    view(
        "pg_catalog",
        "pg_stat_archiver",
        12285,
        "SELECT s.archived_count, s.last_archived_wal, s.last_archived_time, s.failed_count, \
         s.last_failed_wal, s.last_failed_time, s.stats_reset FROM pg_catalog.pg_stat_get_archiver() s",
    ),
    view(
        "pg_catalog",
        "pg_stat_wal",
        12293,
        "SELECT w.wal_records, w.wal_fpi, w.wal_bytes, w.wal_buffers_full, w.wal_write, w.wal_sync, \
         w.wal_write_time, w.wal_sync_time, w.stats_reset FROM pg_catalog.pg_stat_get_wal() w",
    ),
    view(
        "pg_catalog",
        "pg_cursors",
        12077,
        "SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time \
         FROM pg_catalog.pg_cursor()",
    ),
    view(
        "pg_catalog",
        "pg_prepared_statements",
        12087,
        "SELECT name, statement, prepare_time, parameter_types, from_sql, generic_plans, \
         custom_plans FROM pg_catalog.pg_prepared_statement()",
    ),
    view(
        "pg_catalog",
        "pg_settings",
        12104,
        "SELECT name, setting, unit, category, short_desc, extra_desc, context, vartype, source, \
         min_val, max_val, enumvals, boot_val, reset_val, sourcefile, sourceline, pending_restart \
         FROM pg_catalog.pg_show_all_settings()",
    ),
];
