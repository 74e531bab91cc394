//! Views of roles, rules, policies, replication and the like, much of which there is none of.

use super::{SystemView, view};

pub(super) static VIEWS: &[SystemView] = &[
    view(
        "pg_catalog",
        "pg_shadow",
        12005,
        "SELECT rolname AS usename, pg_authid.oid AS usesysid, rolcreatedb AS usecreatedb, \
         rolsuper AS usesuper, rolreplication AS userepl, rolbypassrls AS usebypassrls, \
         rolpassword AS passwd, rolvaliduntil AS valuntil, setconfig AS useconfig \
         FROM pg_catalog.pg_authid LEFT JOIN pg_catalog.pg_db_role_setting s \
         ON pg_authid.oid = setrole AND setdatabase = 0 WHERE rolcanlogin",
    ),
    view(
        "pg_catalog",
        "pg_group",
        12010,
        "SELECT rolname AS groname, oid AS grosysid, ARRAY(SELECT member \
         FROM pg_catalog.pg_auth_members WHERE roleid = oid) AS grolist \
         FROM pg_catalog.pg_authid WHERE NOT rolcanlogin",
    ),
    view(
        "pg_catalog",
        "pg_policies",
        12018,
        "SELECT n.nspname AS schemaname, c.relname AS tablename, pol.polname AS policyname, \
         CASE WHEN pol.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END AS permissive, \
         CASE WHEN pol.polroles = '{0}' THEN string_to_array('public', '')::name[] \
         ELSE ARRAY(SELECT rolname FROM pg_catalog.pg_authid WHERE oid = ANY (pol.polroles) \
         ORDER BY 1) END AS roles, \
         CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' \
         WHEN 'd' THEN 'DELETE' WHEN '*' THEN 'ALL' END AS cmd, \
         pg_catalog.pg_get_expr(pol.polqual, pol.polrelid) AS qual, \
         pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid) AS with_check \
         FROM pg_catalog.pg_policy pol JOIN pg_catalog.pg_class c ON c.oid = pol.polrelid \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
    ),
    view(
        "pg_catalog",
        "pg_rules",
        12023,
        "SELECT n.nspname AS schemaname, c.relname AS tablename, r.rulename, \
         pg_catalog.pg_get_ruledef(r.oid) AS definition \
         FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE r.rulename <> '_RETURN'",
    ),
    view(
        "pg_catalog",
        "pg_prepared_xacts",
        12090,
        "SELECT NULL::xid AS transaction, NULL::text AS gid, NULL::timestamptz AS prepared, \
         NULL::name AS owner, NULL::name AS database WHERE false",
    ),
    view(
        "pg_catalog",
        "pg_timezone_abbrevs",
        12122,
        "SELECT abbrev, utc_offset, is_dst FROM pg_catalog.pg_timezone_abbrevs()",
    ),
    view(
        "pg_catalog",
        "pg_timezone_names",
        12126,
        "SELECT name, abbrev, utc_offset, is_dst FROM pg_catalog.pg_timezone_names()",
    ),
    view(
        "pg_catalog",
        "pg_stat_replication",
        12227,
        "SELECT NULL::int4 AS pid, NULL::oid AS usesysid, NULL::name AS usename, \
         NULL::text AS application_name, NULL::text AS client_addr, NULL::text AS client_hostname, \
         NULL::int4 AS client_port, NULL::timestamptz AS backend_start, NULL::xid AS backend_xmin, \
         NULL::text AS state, NULL::pg_lsn AS sent_lsn, NULL::pg_lsn AS write_lsn, \
         NULL::pg_lsn AS flush_lsn, NULL::pg_lsn AS replay_lsn, NULL::interval AS write_lag, \
         NULL::interval AS flush_lag, NULL::interval AS replay_lag, NULL::int4 AS sync_priority, \
         NULL::text AS sync_state, NULL::timestamptz AS reply_time WHERE false",
    ),
    view(
        "pg_catalog",
        "pg_stat_wal_receiver",
        12236,
        "SELECT NULL::int4 AS pid, NULL::text AS status, NULL::pg_lsn AS receive_start_lsn, \
         NULL::int4 AS receive_start_tli, NULL::pg_lsn AS written_lsn, \
         NULL::pg_lsn AS flushed_lsn, NULL::int4 AS received_tli, \
         NULL::timestamptz AS last_msg_send_time, NULL::timestamptz AS last_msg_receipt_time, \
         NULL::pg_lsn AS latest_end_lsn, NULL::timestamptz AS latest_end_time, \
         NULL::text AS slot_name, NULL::text AS sender_host, NULL::int4 AS sender_port, \
         NULL::text AS conninfo WHERE false",
    ),
    view(
        "pg_catalog",
        "pg_replication_slots",
        12257,
        "SELECT NULL::name AS slot_name, NULL::name AS plugin, NULL::text AS slot_type, \
         NULL::oid AS datoid, NULL::name AS database, NULL::bool AS temporary, \
         NULL::bool AS active, NULL::int4 AS active_pid, NULL::xid AS xmin, \
         NULL::xid AS catalog_xmin, NULL::pg_lsn AS restart_lsn, \
         NULL::pg_lsn AS confirmed_flush_lsn, NULL::text AS wal_status, \
         NULL::int8 AS safe_wal_size, NULL::bool AS two_phase WHERE false",
    ),
];
