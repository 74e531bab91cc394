//! What has been done, as views and EXPLAIN tell it.

use super::Bench;

/// One row of a query, without its tag.
fn row(bench: &mut Bench, sql: &str) -> String {
    let out = bench.run(sql);
    out.lines().nth(1).unwrap_or_else(|| panic!("{sql}: {out}")).to_owned()
}

#[test]
fn scans_and_rows_of_tables_and_indexes_are_counted() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    bench.run("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i");
    bench.run("SELECT * FROM t WHERE a = 7");
    bench.run("SELECT count(*) FROM t WHERE a BETWEEN 10 AND 19");
    bench.run("SELECT count(b) FROM t");
    bench.run("UPDATE t SET b = 0 WHERE a = 1");
    bench.run("DELETE FROM t WHERE a = 2");
    let figures = "SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, \
                   n_tup_del, n_mod_since_analyze FROM pg_stat_user_tables WHERE relname = 't'";
    assert_eq!(row(&mut bench, figures), "1|100|4|13|100|1|1|102");
    let index = "SELECT idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_user_indexes \
                 WHERE indexrelname = 't_pkey'";
    assert_eq!(row(&mut bench, index), "4|13|13");
    let pages = "SELECT heap_blks_read, heap_blks_hit > 0, idx_blks_read, idx_blks_hit > 0 \
                 FROM pg_statio_user_tables WHERE relname = 't'";
    assert_eq!(row(&mut bench, pages), "0|t|0|t");
    // A definition that comes new does not forget what was done.
    bench.run("ALTER TABLE t ADD COLUMN c int");
    assert_eq!(row(&mut bench, figures), "1|100|4|13|100|1|1|102");
}

#[test]
fn vacuum_and_analyze_leave_their_times() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    bench.run("INSERT INTO t SELECT i FROM generate_series(1, 100) i");
    let times = "SELECT vacuum_count, last_vacuum IS NULL, analyze_count, last_analyze IS NULL, \
                 autovacuum_count, last_autovacuum IS NULL, n_mod_since_analyze, n_live_tup \
                 FROM pg_stat_user_tables WHERE relname = 't'";
    assert_eq!(row(&mut bench, times).rsplit_once('|').unwrap().0, "0|t|0|t|0|t|100");
    bench.run("ANALYZE t");
    assert_eq!(row(&mut bench, times), "0|t|1|f|0|t|0|100");
    bench.run("DELETE FROM t WHERE a <= 10");
    bench.run("VACUUM t");
    assert_eq!(row(&mut bench, times), "1|f|1|f|0|t|10|90");
    bench.run("VACUUM ANALYZE t");
    assert_eq!(row(&mut bench, times), "2|f|2|f|0|t|0|90");
}

#[test]
fn explain_tells_of_pages_and_log() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    bench.run("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i");
    bench.run("SELECT count(*) FROM t");
    let plan = bench.run(
        "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT sum(b) FROM t \
         WHERE b > 50",
    );
    let start = "[QUERY PLAN]\nAggregate (actual rows=1 loops=1)\n  Buffers: shared hit=1\n  \
                 ->  Seq Scan on t (actual rows=50 loops=1)\n        Filter: (b > 50)\n        \
                 Rows Removed by Filter: 50\n        Buffers: shared hit=1\n";
    assert!(plan.starts_with(start), "{plan}");
    let plan = bench.run(
        "EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF) UPDATE t SET b = 1 \
         WHERE a = 1",
    );
    assert!(plan.contains("  WAL: records="), "{plan}");
    assert_eq!(bench.run("EXPLAIN (WAL) SELECT 1"), "22023: EXPLAIN option WAL requires ANALYZE\n");
}

#[test]
fn the_cache_can_be_looked_into_and_filled() {
    let mut bench = Bench::new();
    bench.run("CREATE EXTENSION pg_buffercache");
    assert!(bench.run("CREATE EXTENSION pg_buffercache").starts_with("42710"));
    assert!(
        bench.run("CREATE EXTENSION IF NOT EXISTS pg_buffercache").contains("skipping\nCREATE")
    );
    assert!(bench.run("CREATE EXTENSION postgis").starts_with("0A000"));
    bench.run("CREATE TABLE t (a int, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 70) i");
    let held = "SELECT count(*), count(isdirty), count(DISTINCT relblocknumber), \
                sum(pinning_backends) >= 0 FROM pg_buffercache WHERE relforknumber = 0 \
                AND relfilenode = pg_relation_filenode('t') AND reldatabase = \
                (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(row(&mut bench, held), "10|10|10|t");
    assert_eq!(
        row(&mut bench, "SELECT pg_prewarm('t'), pg_prewarm('t', 'read', 'main', 2, 4)"),
        "10|3"
    );
    assert_eq!(
        bench.run("SELECT pg_prewarm('t', 'buffer', 'main', 10)"),
        "[pg_prewarm]\n22023: starting block number must be between 0 and 9\n"
    );
    assert_eq!(bench.run("DROP EXTENSION pg_buffercache"), "DROP EXTENSION\n");
    assert!(bench.run("DROP EXTENSION pg_buffercache").starts_with("42704"));
}

#[test]
fn only_the_cleaner_and_the_checkpointer_write() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    bench.run("INSERT INTO t SELECT i FROM generate_series(1, 1000) i");
    bench.run("CHECKPOINT");
    let by = "SELECT checkpoints_req > 0, buffers_backend, buffers_backend_fsync, buffers_alloc > 0 \
              FROM pg_stat_bgwriter";
    assert_eq!(row(&mut bench, by), "t|0|0|t");
    let io = "SELECT count(*) FILTER (WHERE writes > 0 AND backend_type NOT IN \
              ('background writer', 'checkpointer', 'client backend')), \
              sum(extends) > 0, sum(hits) > 0, min(op_bytes) FROM pg_stat_io";
    assert_eq!(row(&mut bench, io), "0|t|t|8192");
    let clients = "SELECT writes FROM pg_stat_io WHERE backend_type = 'autovacuum worker' \
                   AND context = 'normal'";
    assert_eq!(row(&mut bench, clients), "<null>");
}
