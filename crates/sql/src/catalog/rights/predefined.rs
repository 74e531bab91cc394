//! What PostgreSQL 15 has roles for, and what it keeps from everybody.

use crate::types::Oid;

use crate::catalog::FIRST_USER_OID;

/// Whoever owns the database at hand is in it.
pub const DATABASE_OWNER: Oid = Oid(6171);
pub const READ_ALL_DATA: Oid = Oid(6181);
pub const WRITE_ALL_DATA: Oid = Oid(6182);
pub const MONITOR: Oid = Oid(3373);
pub const READ_ALL_SETTINGS: Oid = Oid(3374);
pub const READ_ALL_STATS: Oid = Oid(3375);
pub const STAT_SCAN_TABLES: Oid = Oid(3377);
pub const READ_SERVER_FILES: Oid = Oid(4569);
pub const SIGNAL_BACKEND: Oid = Oid(4200);
pub const CHECKPOINTER: Oid = Oid(4544);

/// The roles of every directory beside the one that made it.
pub const PREDEFINED: &[(Oid, &str)] = &[
    (DATABASE_OWNER, "pg_database_owner"),
    (READ_ALL_DATA, "pg_read_all_data"),
    (WRITE_ALL_DATA, "pg_write_all_data"),
    (MONITOR, "pg_monitor"),
    (READ_ALL_SETTINGS, "pg_read_all_settings"),
    (READ_ALL_STATS, "pg_read_all_stats"),
    (STAT_SCAN_TABLES, "pg_stat_scan_tables"),
    (READ_SERVER_FILES, "pg_read_server_files"),
    (Oid(4570), "pg_write_server_files"),
    (Oid(4571), "pg_execute_server_program"),
    (SIGNAL_BACKEND, "pg_signal_backend"),
    (CHECKPOINTER, "pg_checkpoint"),
];

/// Which of them are in which others: role, member.
pub const MEMBERSHIPS: &[(Oid, Oid)] =
    &[(READ_ALL_SETTINGS, MONITOR), (READ_ALL_STATS, MONITOR), (STAT_SCAN_TABLES, MONITOR)];

/// Whether a table of the system is for superusers only. Of subscriptions, of which there are none, PostgreSQL hides a column;
/// pg_dump counts them.
pub fn is_secret_catalog(name: &str) -> bool {
    matches!(
        name,
        "pg_authid"
            | "pg_largeobject"
            | "pg_statistic"
            | "pg_statistic_ext_data"
            | "pg_user_mapping"
    )
}

/// Likewise a view of the system.
pub fn is_secret_view(name: &str) -> bool {
    matches!(
        name,
        "pg_shadow"
            | "pg_config"
            | "pg_file_settings"
            | "pg_hba_file_rules"
            | "pg_ident_file_mappings"
            | "pg_backend_memory_contexts"
            | "pg_shmem_allocations"
            | "pg_replication_origin_status"
    )
}

/// The functions that not everybody may call, and the roles that may.
const RESTRICTED: &[(&str, &[Oid])] = &[
    ("pg_backup_start", &[]),
    ("pg_backup_stop", &[]),
    ("pg_create_restore_point", &[]),
    ("pg_ls_waldir", &[MONITOR]),
    ("pg_promote", &[]),
    ("pg_reload_conf", &[]),
    ("pg_stat_reset", &[]),
    ("pg_stat_reset_shared", &[]),
    ("pg_stat_reset_single_table_counters", &[]),
    ("pg_stat_reset_slru", &[]),
    ("pg_switch_wal", &[]),
    ("pg_wal_replay_pause", &[]),
    ("pg_wal_replay_resume", &[]),
    // Those of extensions.
    ("pg_buffercache_pages", &[MONITOR]),
    ("pg_buffercache_summary", &[MONITOR]),
    ("pg_buffercache_usage_counts", &[MONITOR]),
    ("pg_get_wal_record_info", &[READ_SERVER_FILES]),
    ("pg_get_wal_records_info", &[READ_SERVER_FILES]),
    ("pg_get_wal_records_info_till_end_of_wal", &[READ_SERVER_FILES]),
    ("pg_get_wal_stats", &[READ_SERVER_FILES]),
    ("pg_get_wal_stats_till_end_of_wal", &[READ_SERVER_FILES]),
    ("autoprewarm_dump_now", &[]),
    ("bt_index_check", &[]),
    ("bt_index_parent_check", &[]),
    ("hash_index_check", &[]),
];

/// The roles that may call a function beside its owner, where not everybody may.
pub fn restricted_to(function: Oid, name: &str) -> Option<&'static [Oid]> {
    if function >= FIRST_USER_OID {
        return None;
    }
    RESTRICTED.iter().find(|(of, _)| *of == name).map(|(_, roles)| *roles)
}
