//! Functions that are declared here and run by the executor, which has the session, the catalogs
//! and the window's rows.

use std::sync::LazyLock;

use super::bodies::Bodies;
use super::{Body, Function};
use crate::types::Oid;

pub(super) const ROOMS: &[Bodies] = &[SESSION, CATALOG, PRIVILEGES, SEQUENCES, SERVER, WINDOW];

macro_rules! declared {
    ($body:expr, $($name:literal)*) => {
        &[$(($name, $body),)*]
    };
}

const SESSION: Bodies = declared!(Body::Session,
    "current_database" "current_query" "current_schema" "current_schemas" "current_user"
    "session_user" "pgsql_version" "pg_backend_pid" "pg_client_encoding" "set_config_by_name"
    "inet_client_addr" "inet_server_addr" "inet_client_port" "inet_server_port" "pg_postmaster_start_time" "pg_conf_load_time"
    "pg_my_temp_schema" "pg_is_other_temp_schema" "pg_trigger_depth" "pg_jit_available"
    "pg_sleep" "sql:3935" "sql:3936" "pg_current_xact_id" "pg_current_xact_id_if_assigned"
    "pg_current_snapshot" "pg_export_snapshot" "pg_visible_in_snapshot" "pg_snapshot_xmin" "pg_snapshot_xmax"
    "pg_snapshot_xip" "pg_xact_status" "pg_xact_commit_timestamp"
    "pg_xact_commit_timestamp_origin" "pg_last_committed_xact" "pg_get_multixact_members"
    "pg_get_multixact_stats"
    "mxid_age" "pg_notify" "pg_listening_channels"
    "pg_notification_queue_usage"
    "pg_advisory_lock_int4" "pg_advisory_lock_int8" "pg_advisory_lock_shared_int4"
    "pg_advisory_lock_shared_int8" "pg_advisory_unlock_all" "pg_advisory_unlock_int4"
    "pg_advisory_unlock_int8" "pg_advisory_unlock_shared_int4" "pg_advisory_unlock_shared_int8"
    "pg_advisory_xact_lock_int4" "pg_advisory_xact_lock_int8"
    "pg_advisory_xact_lock_shared_int4" "pg_advisory_xact_lock_shared_int8"
    "pg_try_advisory_lock_int4" "pg_try_advisory_lock_int8" "pg_try_advisory_lock_shared_int4"
    "pg_try_advisory_lock_shared_int8" "pg_try_advisory_xact_lock_int4"
    "pg_try_advisory_xact_lock_int8" "pg_try_advisory_xact_lock_shared_int4"
    "pg_try_advisory_xact_lock_shared_int8"
);

const CATALOG: Bodies = declared!(Body::Session,
    "format_type" "text_regclass" "to_regclass" "to_regcollation" "to_regnamespace" "to_regoper"
    "to_regoperator" "to_regproc" "to_regprocedure" "to_regrole" "to_regtype"
    "pg_table_is_visible" "pg_type_is_visible" "pg_function_is_visible" "pg_operator_is_visible"
    "pg_opclass_is_visible" "pg_opfamily_is_visible" "pg_collation_is_visible"
    "pg_conversion_is_visible" "pg_ts_config_is_visible" "pg_ts_dict_is_visible"
    "pg_ts_parser_is_visible" "pg_ts_template_is_visible" "pg_statistics_obj_is_visible"
    "pg_get_userbyid" "pg_get_expr" "pg_get_expr_ext" "pg_get_indexdef" "pg_get_indexdef_ext"
    "pg_get_constraintdef" "pg_get_constraintdef_ext" "pg_get_viewdef" "pg_get_viewdef_ext"
    "pg_get_viewdef_name" "pg_get_viewdef_name_ext" "pg_get_viewdef_wrap" "pg_get_ruledef"
    "pg_get_ruledef_ext" "pg_get_triggerdef" "pg_get_triggerdef_ext" "pg_get_functiondef"
    "pg_get_function_arguments" "pg_get_function_identity_arguments" "pg_get_function_result"
    "pg_get_function_arg_default" "pg_get_function_sqlbody" "pg_get_statisticsobjdef"
    "pg_get_statisticsobjdef_columns" "pg_get_partkeydef" "pg_get_partition_constraintdef"
    "pg_get_serial_sequence" "pg_get_replica_identity_index" "pg_describe_object"
    "pg_collation_for" "pg_column_is_updatable" "pg_relation_is_updatable"
    "pg_relation_is_publishable" "pg_relation_filenode" "pg_relation_filepath"
    "pg_index_column_has_property" "pg_index_has_property" "pg_indexam_has_property"
    "pg_tablespace_location" "pg_tablespace_size_name" "pg_tablespace_size_oid"
    "pg_tablespace_databases" "aclexplode" "acldefault_sql" "row_security_active"
    "row_security_active_name" "pg_partition_ancestors" "pg_partition_root" "pg_partition_tree"
    "pg_settings_get_flags" "xid_age" "pg_filenode_relation" "pg_identify_object"
    "pg_get_object_address" "pg_column_compression" "pg_options_to_table" "pg_get_keywords"
    "sql:1215" "sql:1348" "sql:1993" "sql:1216"
    "pg_relation_size" "sql:2325" "pg_table_size" "pg_total_relation_size" "pg_indexes_size"
    "pg_database_size_name" "pg_database_size_oid"
);

const PRIVILEGES: Bodies = declared!(Body::Session,
    "has_any_column_privilege_id" "has_any_column_privilege_id_id"
    "has_any_column_privilege_id_name" "has_any_column_privilege_name"
    "has_any_column_privilege_name_id" "has_any_column_privilege_name_name"
    "has_column_privilege_id_attnum" "has_column_privilege_id_name"
    "has_column_privilege_name_attnum" "has_column_privilege_name_name"
    "has_database_privilege_id" "has_database_privilege_id_id" "has_database_privilege_id_name"
    "has_database_privilege_name" "has_database_privilege_name_id"
    "has_database_privilege_name_name" "has_function_privilege_id"
    "has_function_privilege_id_id" "has_function_privilege_name_id" "has_schema_privilege_id"
    "has_schema_privilege_id_id" "has_schema_privilege_id_name" "has_schema_privilege_name"
    "has_schema_privilege_name_id" "has_schema_privilege_name_name" "has_sequence_privilege_id"
    "has_sequence_privilege_id_id" "has_sequence_privilege_id_name"
    "has_sequence_privilege_name" "has_sequence_privilege_name_id"
    "has_sequence_privilege_name_name" "has_table_privilege_id" "has_table_privilege_id_id"
    "has_table_privilege_id_name" "has_table_privilege_name" "has_table_privilege_name_id"
    "has_table_privilege_name_name" "has_type_privilege_id" "has_type_privilege_id_id"
    "aclcontains" "aclitem_eq" "has_column_privilege_id_id_attnum"
    "has_column_privilege_id_id_name" "has_column_privilege_id_name_attnum"
    "has_column_privilege_id_name_name" "has_column_privilege_name_id_attnum"
    "has_column_privilege_name_id_name" "has_column_privilege_name_name_attnum"
    "has_column_privilege_name_name_name" "has_function_privilege_id_name"
    "has_function_privilege_name" "has_function_privilege_name_name" "has_language_privilege_id"
    "has_language_privilege_id_id" "has_language_privilege_id_name" "has_language_privilege_name"
    "has_language_privilege_name_id" "has_language_privilege_name_name"
    "has_tablespace_privilege_id" "has_tablespace_privilege_id_id"
    "has_tablespace_privilege_id_name" "has_tablespace_privilege_name"
    "has_tablespace_privilege_name_id" "has_tablespace_privilege_name_name"
    "has_type_privilege_id_name" "has_type_privilege_name" "has_type_privilege_name_id"
    "has_type_privilege_name_name" "makeaclitem"
    "pg_has_role_id" "pg_has_role_id_id" "pg_has_role_id_name" "pg_has_role_name"
    "pg_has_role_name_id" "pg_has_role_name_name"
);

const SEQUENCES: Bodies = declared!(Body::Session,
    "nextval_oid" "currval_oid" "setval_oid" "setval3_oid" "lastval" "pg_sequence_last_value"
    "pg_sequence_parameters" "pg_get_sequence_data"
);

const SERVER: Bodies = declared!(Body::Session,
    "pg_is_in_recovery" "pg_current_wal_lsn" "pg_current_wal_insert_lsn"
    "pg_current_wal_flush_lsn" "pg_cancel_backend" "pg_terminate_backend" "pg_reload_conf"
    "pg_blocking_pids" "pg_safe_snapshot_blocking_pids" "pg_isolation_test_session_is_blocked"
    "pg_stat_get_slru" "pg_stat_reset_slru" "pg_stat_get_wal" "pg_stat_reset_shared" "pg_switch_wal"
    "pg_stat_clear_snapshot" "pg_stat_reset" "pg_stat_reset_single_table_counters"
    "pg_walfile_name" "pg_walfile_name_offset" "show_all_settings" "pg_lock_status"
    "pg_available_extensions" "pg_available_extension_versions"
    "pg_prepared_statement" "pg_cursor" "pg_stat_get_activity" "pg_timezone_names" "pg_timezone_abbrevs"
    "pg_stat_get_numscans" "pg_stat_get_live_tuples" "pg_stat_get_dead_tuples"
    "pg_stat_get_tuples_inserted" "pg_stat_get_tuples_updated" "pg_stat_get_tuples_deleted"
    "pg_stat_get_tuples_hot_updated" "pg_stat_get_ins_since_vacuum" "pg_stat_get_autovacuum_count"
    "pg_stat_get_tuples_returned" "pg_stat_get_tuples_fetched" "pg_stat_get_blocks_fetched"
    "pg_stat_get_blocks_hit" "pg_stat_get_mod_since_analyze" "pg_stat_get_vacuum_count"
    "pg_stat_get_analyze_count" "pg_stat_get_autoanalyze_count" "pg_stat_get_last_vacuum_time"
    "pg_stat_get_last_autovacuum_time" "pg_stat_get_last_analyze_time"
    "pg_stat_get_last_autoanalyze_time" "pg_stat_get_progress_info"
    "pg_stat_get_bgwriter_timed_checkpoints" "pg_stat_get_bgwriter_requested_checkpoints"
    "pg_stat_get_checkpoint_write_time" "pg_stat_get_checkpoint_sync_time"
    "pg_stat_get_bgwriter_buf_written_checkpoints" "pg_stat_get_bgwriter_buf_written_clean"
    "pg_stat_get_bgwriter_maxwritten_clean" "pg_stat_get_buf_written_backend"
    "pg_stat_get_buf_fsync_backend" "pg_stat_get_buf_alloc"
    "pg_stat_get_bgwriter_stat_reset_time" "pg_stat_get_io" "pg_stat_get_recovery_prefetch" "pg_buffercache_pages"
    "pg_buffercache_summary" "pg_buffercache_usage_counts" "pg_prewarm"
    "pg_get_wal_resource_managers" "pg_get_wal_record_info" "pg_get_wal_records_info"
    "pg_get_wal_records_info_till_end_of_wal" "pg_get_wal_stats" "pg_get_wal_stats_till_end_of_wal"
    "pg_last_wal_receive_lsn" "pg_last_wal_replay_lsn" "pg_last_xact_replay_timestamp"
    "pg_is_wal_replay_paused" "pg_get_wal_replay_pause_state" "pg_wal_replay_pause" "pg_wal_replay_resume"
    "pg_promote" "pg_create_restore_point" "pg_backup_start" "pg_backup_stop" "pg_ls_waldir"
    "pg_control_checkpoint" "pg_control_system" "pg_control_init" "pg_control_recovery" "pg_stat_get_archiver"
    "pg_stat_get_db_numbackends" "pg_stat_get_db_xact_commit" "pg_stat_get_db_xact_rollback"
    "pg_stat_get_db_blocks_fetched" "pg_stat_get_db_blocks_hit" "pg_stat_get_db_tuples_returned"
    "pg_stat_get_db_tuples_fetched" "pg_stat_get_db_tuples_inserted" "pg_stat_get_db_tuples_updated"
    "pg_stat_get_db_tuples_deleted" "pg_stat_get_db_conflict_all" "pg_stat_get_db_conflict_tablespace"
    "pg_stat_get_db_conflict_lock" "pg_stat_get_db_conflict_snapshot" "pg_stat_get_db_conflict_bufferpin"
    "pg_stat_get_db_conflict_startup_deadlock" "pg_stat_get_db_temp_files" "pg_stat_get_db_temp_bytes"
    "pg_stat_get_db_deadlocks" "pg_stat_get_db_checksum_failures" "pg_stat_get_db_checksum_last_failure"
    "pg_stat_get_db_blk_read_time" "pg_stat_get_db_blk_write_time" "pg_stat_get_db_session_time"
    "pg_stat_get_db_active_time" "pg_stat_get_db_idle_in_transaction_time" "pg_stat_get_db_sessions"
    "pg_stat_get_db_sessions_abandoned" "pg_stat_get_db_sessions_fatal" "pg_stat_get_db_sessions_killed"
    "pg_stat_get_db_stat_reset_time"
    "autoprewarm_dump_now" "bt_index_check" "bt_index_parent_check" "hash_index_check"
);

const WINDOW: Bodies = declared!(Body::Window,
    "window_row_number" "window_rank" "window_dense_rank" "window_percent_rank"
    "window_cume_dist" "window_ntile" "window_lag" "window_lag_with_offset"
    "window_lag_with_offset_and_default" "window_lead" "window_lead_with_offset"
    "window_lead_with_offset_and_default" "window_first_value" "window_last_value"
    "window_nth_value"
);

/// `pg_get_sequence_data` of a sequence that is read as a relation, whose rights were asked for as a relation's. Nobody
/// can name it.
pub fn row_of_sequence() -> &'static Function {
    static ROW: LazyLock<Function> = LazyLock::new(|| {
        let mut named = super::functions("pg_get_sequence_data");
        let named = named.next().expect("the table has it").clone();
        Function { oid: Oid::INVALID, source: ROW_OF_SEQUENCE, ..named }
    });
    &ROW
}

/// What [`row_of_sequence`] is told apart by: its `source`.
pub const ROW_OF_SEQUENCE: &str = "row of a sequence";
