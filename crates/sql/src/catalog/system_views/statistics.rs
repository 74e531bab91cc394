//! Views of what the server has done: tables, indexes, pages, vacuums.

use super::{SystemView, view};

/// The rows of another view that are about system tables.
macro_rules! of_the_system {
    ($name:literal, $oid:literal, $all:literal) => {
        view(
            "pg_catalog",
            $name,
            $oid,
            concat!(
                "SELECT * FROM pg_catalog.",
                $all,
                " WHERE schemaname IN ('pg_catalog', 'information_schema') \
                 OR schemaname ~ '^pg_toast'"
            ),
        )
    };
}

/// Its other rows.
macro_rules! of_users {
    ($name:literal, $oid:literal, $all:literal) => {
        view(
            "pg_catalog",
            $name,
            $oid,
            concat!(
                "SELECT * FROM pg_catalog.",
                $all,
                " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') \
                 AND schemaname !~ '^pg_toast'"
            ),
        )
    };
}

pub(super) static VIEWS: &[SystemView] = &[
    view(
        "pg_catalog",
        "pg_stats",
        12053,
        "SELECT n.nspname AS schemaname, c.relname AS tablename, a.attname, s.stainherit AS \
         inherited, s.stanullfrac AS null_frac, s.stawidth AS avg_width, s.stadistinct AS \
         n_distinct, CASE WHEN s.stakind1 = 1 THEN s.stavalues1 WHEN s.stakind2 = 1 THEN \
         s.stavalues2 WHEN s.stakind3 = 1 THEN s.stavalues3 WHEN s.stakind4 = 1 THEN \
         s.stavalues4 WHEN s.stakind5 = 1 THEN s.stavalues5 END AS most_common_vals, CASE \
         WHEN s.stakind1 = 1 THEN s.stanumbers1 WHEN s.stakind2 = 1 THEN s.stanumbers2 WHEN \
         s.stakind3 = 1 THEN s.stanumbers3 WHEN s.stakind4 = 1 THEN s.stanumbers4 WHEN \
         s.stakind5 = 1 THEN s.stanumbers5 END AS most_common_freqs, CASE WHEN s.stakind1 = 2 \
         THEN s.stavalues1 WHEN s.stakind2 = 2 THEN s.stavalues2 WHEN s.stakind3 = 2 THEN \
         s.stavalues3 WHEN s.stakind4 = 2 THEN s.stavalues4 WHEN s.stakind5 = 2 THEN \
         s.stavalues5 END AS histogram_bounds, CASE WHEN s.stakind1 = 3 THEN s.stanumbers1[1] \
         WHEN s.stakind2 = 3 THEN s.stanumbers2[1] WHEN s.stakind3 = 3 THEN s.stanumbers3[1] \
         WHEN s.stakind4 = 3 THEN s.stanumbers4[1] WHEN s.stakind5 = 3 THEN s.stanumbers5[1] \
         END AS correlation, CASE WHEN s.stakind1 = 4 THEN s.stavalues1 WHEN s.stakind2 = 4 \
         THEN s.stavalues2 WHEN s.stakind3 = 4 THEN s.stavalues3 WHEN s.stakind4 = 4 THEN \
         s.stavalues4 WHEN s.stakind5 = 4 THEN s.stavalues5 END AS most_common_elems, CASE \
         WHEN s.stakind1 = 4 THEN s.stanumbers1 WHEN s.stakind2 = 4 THEN s.stanumbers2 WHEN \
         s.stakind3 = 4 THEN s.stanumbers3 WHEN s.stakind4 = 4 THEN s.stanumbers4 WHEN \
         s.stakind5 = 4 THEN s.stanumbers5 END AS most_common_elem_freqs, CASE WHEN \
         s.stakind1 = 5 THEN s.stanumbers1 WHEN s.stakind2 = 5 THEN s.stanumbers2 WHEN \
         s.stakind3 = 5 THEN s.stanumbers3 WHEN s.stakind4 = 5 THEN s.stanumbers4 WHEN \
         s.stakind5 = 5 THEN s.stanumbers5 END AS elem_count_histogram FROM \
         pg_catalog.pg_statistic s JOIN pg_catalog.pg_class c ON c.oid = s.starelid JOIN \
         pg_catalog.pg_attribute a ON c.oid = a.attrelid AND a.attnum = s.staattnum LEFT JOIN \
         pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE NOT a.attisdropped \
         AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')",
    ),
    view(
        "pg_catalog",
        "pg_stat_all_tables",
        12142,
        "SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, \
         pg_catalog.pg_stat_get_numscans(c.oid) AS seq_scan, \
         pg_catalog.pg_stat_get_tuples_returned(c.oid) AS seq_tup_read, (SELECT \
         sum(pg_catalog.pg_stat_get_numscans(i.indexrelid)) FROM pg_catalog.pg_index i WHERE \
         i.indrelid = c.oid)::bigint AS idx_scan, (SELECT \
         sum(pg_catalog.pg_stat_get_tuples_fetched(i.indexrelid)) FROM pg_catalog.pg_index i \
         WHERE i.indrelid = c.oid)::bigint + pg_catalog.pg_stat_get_tuples_fetched(c.oid) AS \
         idx_tup_fetch, pg_catalog.pg_stat_get_tuples_inserted(c.oid) AS n_tup_ins, \
         pg_catalog.pg_stat_get_tuples_updated(c.oid) AS n_tup_upd, \
         pg_catalog.pg_stat_get_tuples_deleted(c.oid) AS n_tup_del, \
         pg_catalog.pg_stat_get_tuples_hot_updated(c.oid) AS n_tup_hot_upd, \
         pg_catalog.pg_stat_get_live_tuples(c.oid) AS n_live_tup, \
         pg_catalog.pg_stat_get_dead_tuples(c.oid) AS n_dead_tup, \
         pg_catalog.pg_stat_get_mod_since_analyze(c.oid) AS n_mod_since_analyze, \
         pg_catalog.pg_stat_get_ins_since_vacuum(c.oid) AS n_ins_since_vacuum, \
         pg_catalog.pg_stat_get_last_vacuum_time(c.oid) AS last_vacuum, \
         pg_catalog.pg_stat_get_last_autovacuum_time(c.oid) AS last_autovacuum, \
         pg_catalog.pg_stat_get_last_analyze_time(c.oid) AS last_analyze, \
         pg_catalog.pg_stat_get_last_autoanalyze_time(c.oid) AS last_autoanalyze, \
         pg_catalog.pg_stat_get_vacuum_count(c.oid) AS vacuum_count, \
         pg_catalog.pg_stat_get_autovacuum_count(c.oid) AS autovacuum_count, \
         pg_catalog.pg_stat_get_analyze_count(c.oid) AS analyze_count, \
         pg_catalog.pg_stat_get_autoanalyze_count(c.oid) AS autoanalyze_count FROM \
         pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE \
         c.relkind IN ('r', 't', 'm', 'p')",
    ),
    of_the_system!("pg_stat_sys_tables", 12152, "pg_stat_all_tables"),
    of_users!("pg_stat_user_tables", 12161, "pg_stat_all_tables"),
    view(
        "pg_catalog",
        "pg_statio_all_tables",
        12170,
        "SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, \
         pg_catalog.pg_stat_get_blocks_fetched(c.oid) - \
         pg_catalog.pg_stat_get_blocks_hit(c.oid) AS heap_blks_read, \
         pg_catalog.pg_stat_get_blocks_hit(c.oid) AS heap_blks_hit, (SELECT \
         sum(pg_catalog.pg_stat_get_blocks_fetched(i.indexrelid) - \
         pg_catalog.pg_stat_get_blocks_hit(i.indexrelid)) FROM pg_catalog.pg_index i WHERE \
         i.indrelid = c.oid)::bigint AS idx_blks_read, (SELECT \
         sum(pg_catalog.pg_stat_get_blocks_hit(i.indexrelid)) FROM pg_catalog.pg_index i \
         WHERE i.indrelid = c.oid)::bigint AS idx_blks_hit, \
         pg_catalog.pg_stat_get_blocks_fetched(t.oid) - \
         pg_catalog.pg_stat_get_blocks_hit(t.oid) AS toast_blks_read, \
         pg_catalog.pg_stat_get_blocks_hit(t.oid) AS toast_blks_hit, CASE WHEN t.oid IS NOT \
         NULL THEN 0::bigint END AS tidx_blks_read, CASE WHEN t.oid IS NOT NULL THEN 0::bigint \
         END AS tidx_blks_hit FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = \
         c.relnamespace LEFT JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid WHERE \
         c.relkind IN ('r', 't', 'm')",
    ),
    of_the_system!("pg_statio_sys_tables", 12175, "pg_statio_all_tables"),
    of_users!("pg_statio_user_tables", 12179, "pg_statio_all_tables"),
    view(
        "pg_catalog",
        "pg_stat_all_indexes",
        12183,
        "SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname AS \
         relname, i.relname AS indexrelname, pg_catalog.pg_stat_get_numscans(i.oid) AS \
         idx_scan, pg_catalog.pg_stat_get_tuples_returned(i.oid) AS idx_tup_read, \
         pg_catalog.pg_stat_get_tuples_fetched(i.oid) AS idx_tup_fetch FROM \
         pg_catalog.pg_class c JOIN pg_catalog.pg_index x ON c.oid = x.indrelid JOIN \
         pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_namespace n ON \
         n.oid = c.relnamespace WHERE c.relkind IN ('r', 't', 'm')",
    ),
    of_the_system!("pg_stat_sys_indexes", 12188, "pg_stat_all_indexes"),
    of_users!("pg_stat_user_indexes", 12192, "pg_stat_all_indexes"),
    view(
        "pg_catalog",
        "pg_statio_all_indexes",
        12196,
        "SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname AS \
         relname, i.relname AS indexrelname, pg_catalog.pg_stat_get_blocks_fetched(i.oid) - \
         pg_catalog.pg_stat_get_blocks_hit(i.oid) AS idx_blks_read, \
         pg_catalog.pg_stat_get_blocks_hit(i.oid) AS idx_blks_hit FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_index x ON c.oid = x.indrelid JOIN pg_catalog.pg_class i ON i.oid \
         = x.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE \
         c.relkind IN ('r', 't', 'm')",
    ),
    of_the_system!("pg_statio_sys_indexes", 12201, "pg_statio_all_indexes"),
    of_users!("pg_statio_user_indexes", 12205, "pg_statio_all_indexes"),
    view(
        "pg_catalog",
        "pg_statio_all_sequences",
        12209,
        "SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, \
         pg_catalog.pg_stat_get_blocks_fetched(c.oid) - \
         pg_catalog.pg_stat_get_blocks_hit(c.oid) AS blks_read, \
         pg_catalog.pg_stat_get_blocks_hit(c.oid) AS blks_hit FROM pg_catalog.pg_class c JOIN \
         pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S'",
    ),
    of_the_system!("pg_statio_sys_sequences", 12214, "pg_statio_all_sequences"),
    of_users!("pg_statio_user_sequences", 12218, "pg_statio_all_sequences"),
    view(
        "pg_catalog",
        "pg_stat_database",
        12266,
        "SELECT d.oid AS datid, d.datname, CASE WHEN d.oid = 0::oid THEN 0 ELSE \
         pg_catalog.pg_stat_get_db_numbackends(d.oid) END AS numbackends, \
         pg_catalog.pg_stat_get_db_xact_commit(d.oid) AS xact_commit, \
         pg_catalog.pg_stat_get_db_xact_rollback(d.oid) AS xact_rollback, \
         pg_catalog.pg_stat_get_db_blocks_fetched(d.oid) - \
         pg_catalog.pg_stat_get_db_blocks_hit(d.oid) AS blks_read, \
         pg_catalog.pg_stat_get_db_blocks_hit(d.oid) AS blks_hit, \
         pg_catalog.pg_stat_get_db_tuples_returned(d.oid) AS tup_returned, \
         pg_catalog.pg_stat_get_db_tuples_fetched(d.oid) AS tup_fetched, \
         pg_catalog.pg_stat_get_db_tuples_inserted(d.oid) AS tup_inserted, \
         pg_catalog.pg_stat_get_db_tuples_updated(d.oid) AS tup_updated, \
         pg_catalog.pg_stat_get_db_tuples_deleted(d.oid) AS tup_deleted, \
         pg_catalog.pg_stat_get_db_conflict_all(d.oid) AS conflicts, \
         pg_catalog.pg_stat_get_db_temp_files(d.oid) AS temp_files, \
         pg_catalog.pg_stat_get_db_temp_bytes(d.oid) AS temp_bytes, \
         pg_catalog.pg_stat_get_db_deadlocks(d.oid) AS deadlocks, \
         pg_catalog.pg_stat_get_db_checksum_failures(d.oid) AS checksum_failures, \
         pg_catalog.pg_stat_get_db_checksum_last_failure(d.oid) AS checksum_last_failure, \
         pg_catalog.pg_stat_get_db_blk_read_time(d.oid) AS blk_read_time, \
         pg_catalog.pg_stat_get_db_blk_write_time(d.oid) AS blk_write_time, \
         pg_catalog.pg_stat_get_db_session_time(d.oid) AS session_time, \
         pg_catalog.pg_stat_get_db_active_time(d.oid) AS active_time, \
         pg_catalog.pg_stat_get_db_idle_in_transaction_time(d.oid) AS idle_in_transaction_time, \
         pg_catalog.pg_stat_get_db_sessions(d.oid) AS sessions, \
         pg_catalog.pg_stat_get_db_sessions_abandoned(d.oid) AS sessions_abandoned, \
         pg_catalog.pg_stat_get_db_sessions_fatal(d.oid) AS sessions_fatal, \
         pg_catalog.pg_stat_get_db_sessions_killed(d.oid) AS sessions_killed, \
         pg_catalog.pg_stat_get_db_stat_reset_time(d.oid) AS stats_reset FROM (SELECT 0::oid AS \
         oid, NULL::name AS datname UNION ALL SELECT oid, datname FROM pg_catalog.pg_database) d",
    ),
    view(
        "pg_catalog",
        "pg_stat_database_conflicts",
        12271,
        "SELECT d.oid AS datid, d.datname, pg_catalog.pg_stat_get_db_conflict_tablespace(d.oid) \
         AS confl_tablespace, pg_catalog.pg_stat_get_db_conflict_lock(d.oid) AS confl_lock, \
         pg_catalog.pg_stat_get_db_conflict_snapshot(d.oid) AS confl_snapshot, \
         pg_catalog.pg_stat_get_db_conflict_bufferpin(d.oid) AS confl_bufferpin, \
         pg_catalog.pg_stat_get_db_conflict_startup_deadlock(d.oid) AS confl_deadlock FROM \
         pg_catalog.pg_database d",
    ),
    view(
        "pg_catalog",
        "pg_stat_bgwriter",
        12289,
        "SELECT pg_catalog.pg_stat_get_bgwriter_timed_checkpoints() AS checkpoints_timed, \
         pg_catalog.pg_stat_get_bgwriter_requested_checkpoints() AS checkpoints_req, \
         pg_catalog.pg_stat_get_checkpoint_write_time() AS checkpoint_write_time, \
         pg_catalog.pg_stat_get_checkpoint_sync_time() AS checkpoint_sync_time, \
         pg_catalog.pg_stat_get_bgwriter_buf_written_checkpoints() AS buffers_checkpoint, \
         pg_catalog.pg_stat_get_bgwriter_buf_written_clean() AS buffers_clean, \
         pg_catalog.pg_stat_get_bgwriter_maxwritten_clean() AS maxwritten_clean, \
         pg_catalog.pg_stat_get_buf_written_backend() AS buffers_backend, \
         pg_catalog.pg_stat_get_buf_fsync_backend() AS buffers_backend_fsync, \
         pg_catalog.pg_stat_get_buf_alloc() AS buffers_alloc, \
         pg_catalog.pg_stat_get_bgwriter_stat_reset_time() AS stats_reset",
    ),
    view(
        "pg_catalog",
        "pg_stat_recovery_prefetch",
        12240,
        "SELECT s.stats_reset, s.prefetch, s.hit, s.skip_init, s.skip_new, s.skip_fpw, s.skip_rep, \
         s.wal_distance, s.block_distance, s.io_depth \
         FROM pg_catalog.pg_stat_get_recovery_prefetch() s",
    ),
    view(
        "pg_catalog",
        "pg_stat_io",
        12301,
        "SELECT backend_type, object, context, reads, read_time, writes, write_time, \
         writebacks, writeback_time, extends, extend_time, op_bytes, hits, evictions, reuses, \
         fsyncs, fsync_time, stats_reset FROM pg_catalog.pg_stat_get_io()",
    ),
    view(
        "pg_catalog",
        "pg_stat_progress_vacuum",
        12302,
        "SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param1 WHEN 0 THEN 'initializing' \
         WHEN 1 THEN 'scanning heap' WHEN 2 THEN 'vacuuming indexes' WHEN 3 THEN 'vacuuming \
         heap' WHEN 4 THEN 'cleaning up indexes' WHEN 5 THEN 'truncating heap' WHEN 6 THEN \
         'performing final cleanup' END AS phase, s.param2 AS heap_blks_total, s.param3 AS \
         heap_blks_scanned, s.param4 AS heap_blks_vacuumed, s.param5 AS index_vacuum_count, \
         s.param6 AS max_dead_tuples, s.param7 AS num_dead_tuples FROM \
         pg_catalog.pg_stat_get_progress_info('VACUUM') s LEFT JOIN pg_catalog.pg_database d \
         ON s.datid = d.oid",
    ),
    view(
        "pg_catalog",
        "pg_stat_progress_create_index",
        12312,
        "SELECT s.pid, s.datid, d.datname, s.relid, CAST(s.param7 AS oid) AS index_relid, CASE \
         s.param1 WHEN 1 THEN 'CREATE INDEX' WHEN 2 THEN 'CREATE INDEX CONCURRENTLY' WHEN 3 THEN \
         'REINDEX' WHEN 4 THEN 'REINDEX CONCURRENTLY' END AS command, CASE s.param10 WHEN 0 THEN \
         'initializing' WHEN 1 THEN 'waiting for writers before build' WHEN 2 THEN 'building \
         index' || CASE WHEN s.param9 = 403 THEN CASE s.param11 WHEN 1 THEN ': initializing' \
         WHEN 2 THEN ': scanning table' WHEN 3 THEN ': sorting live tuples' WHEN 4 THEN ': \
         sorting dead tuples' WHEN 5 THEN ': loading tuples in tree' ELSE '' END ELSE '' END \
         WHEN 3 THEN 'waiting for writers before validation' WHEN 4 THEN 'index validation: \
         scanning index' WHEN 5 THEN 'index validation: sorting tuples' WHEN 6 THEN 'index \
         validation: scanning table' WHEN 7 THEN 'waiting for old snapshots' WHEN 8 THEN \
         'waiting for readers before marking dead' WHEN 9 THEN 'waiting for readers before \
         dropping' END AS phase, s.param4 AS lockers_total, s.param5 AS lockers_done, s.param6 \
         AS current_locker_pid, s.param16 AS blocks_total, s.param17 AS blocks_done, s.param12 \
         AS tuples_total, s.param13 AS tuples_done, s.param14 AS partitions_total, s.param15 AS \
         partitions_done FROM pg_catalog.pg_stat_get_progress_info('CREATE INDEX') s LEFT JOIN \
         pg_catalog.pg_database d ON s.datid = d.oid",
    ),
    view(
        "pg_catalog",
        "pg_buffercache",
        9100,
        "SELECT bufferid, relfilenode, reltablespace, reldatabase, relforknumber, \
         relblocknumber, isdirty, usagecount, pinning_backends FROM \
         pg_catalog.pg_buffercache_pages()",
    ),
];
