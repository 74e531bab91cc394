//! Views of commands at work that nothing is told of yet: programs ask for them by name, and find no rows. Those of VACUUM
//! and CREATE INDEX are with the statistics.

use super::{SystemView, view};

pub(super) static VIEWS: &[SystemView] = &[
    view(
        "pg_catalog",
        "pg_stat_progress_analyze",
        12297,
        "SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param1 WHEN 0 THEN 'initializing' WHEN \
         1 THEN 'acquiring sample rows' WHEN 2 THEN 'acquiring inherited sample rows' WHEN 3 THEN \
         'computing statistics' WHEN 4 THEN 'computing extended statistics' WHEN 5 THEN \
         'finalizing analyze' END AS phase, s.param2 AS sample_blks_total, s.param3 AS \
         sample_blks_scanned, s.param4 AS ext_stats_total, s.param5 AS ext_stats_computed, \
         s.param6 AS child_tables_total, s.param7 AS child_tables_done, CAST(s.param8 AS oid) AS \
         current_child_table_relid FROM pg_catalog.pg_stat_get_progress_info('ANALYZE') s LEFT \
         JOIN pg_catalog.pg_database d ON s.datid = d.oid",
    ),
    view(
        "pg_catalog",
        "pg_stat_progress_cluster",
        12307,
        "SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param1 WHEN 1 THEN 'CLUSTER' WHEN 2 \
         THEN 'VACUUM FULL' END AS command, CASE s.param2 WHEN 0 THEN 'initializing' WHEN 1 THEN \
         'seq scanning heap' WHEN 2 THEN 'index scanning heap' WHEN 3 THEN 'sorting tuples' WHEN \
         4 THEN 'writing new heap' WHEN 5 THEN 'swapping relation files' WHEN 6 THEN 'rebuilding \
         index' WHEN 7 THEN 'performing final cleanup' END AS phase, CAST(s.param3 AS oid) AS \
         cluster_index_relid, s.param4 AS heap_tuples_scanned, s.param5 AS heap_tuples_written, \
         s.param6 AS heap_blks_total, s.param7 AS heap_blks_scanned, s.param8 AS \
         index_rebuild_count FROM pg_catalog.pg_stat_get_progress_info('CLUSTER') s LEFT JOIN \
         pg_catalog.pg_database d ON s.datid = d.oid",
    ),
    view(
        "pg_catalog",
        "pg_stat_progress_basebackup",
        12317,
        "SELECT s.pid, CASE s.param1 WHEN 0 THEN 'initializing' WHEN 1 THEN 'waiting for \
         checkpoint to finish' WHEN 2 THEN 'estimating backup size' WHEN 3 THEN 'streaming \
         database files' WHEN 4 THEN 'waiting for wal archiving to finish' WHEN 5 THEN \
         'transferring wal files' END AS phase, CASE s.param2 WHEN -1 THEN NULL ELSE s.param2 END \
         AS backup_total, s.param3 AS backup_streamed, s.param4 AS tablespaces_total, s.param5 AS \
         tablespaces_streamed FROM pg_catalog.pg_stat_get_progress_info('BASEBACKUP') s",
    ),
    view(
        "pg_catalog",
        "pg_stat_progress_copy",
        12322,
        "SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param5 WHEN 1 THEN 'COPY FROM' WHEN 2 \
         THEN 'COPY TO' END AS command, CASE s.param6 WHEN 1 THEN 'FILE' WHEN 2 THEN 'PROGRAM' \
         WHEN 3 THEN 'PIPE' WHEN 4 THEN 'CALLBACK' END AS type, s.param1 AS bytes_processed, \
         s.param2 AS bytes_total, s.param3 AS tuples_processed, s.param4 AS tuples_excluded FROM \
         pg_catalog.pg_stat_get_progress_info('COPY') s LEFT JOIN pg_catalog.pg_database d ON \
         s.datid = d.oid",
    ),
];
