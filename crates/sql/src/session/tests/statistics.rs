//! What has been done, as views and EXPLAIN tell it.

use base::rank::Rank;
use base::usage::Role;
use base::{BlockNo, Fork, RelId};
use storage::EngineConfig;

use super::Bench;

/// One row of a query, without its tag.
fn row(bench: &mut Bench, sql: &str) -> String {
    let out = bench.run(sql);
    out.lines().nth(1).unwrap_or_else(|| panic!("{sql}: {out}")).to_owned()
}

#[test]
fn scans_and_rows_of_tables_and_indexes_are_counted() {
    let mut bench = Bench::with_room();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    bench.run("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i");
    bench.run("SELECT * FROM t WHERE a = 7");
    bench.run("SET enable_bitmapscan = off");
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
    // By way of a bitmap, rows are counted with the table, entries with the index.
    bench.run("RESET enable_bitmapscan");
    bench.run("SET enable_indexscan = off");
    bench.run("SET enable_seqscan = off");
    bench.run("SELECT count(b) FROM t WHERE a BETWEEN 10 AND 19");
    assert_eq!(row(&mut bench, figures), "1|100|5|23|100|1|1|102");
    assert_eq!(row(&mut bench, index), "5|23|13");
}

#[test]
fn pages_that_come_from_files_are_counted_with_whose_they_are_and_what_for() {
    let mut bench = Bench::exactly(&EngineConfig { shared_buffers: 128, ..Default::default() });
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text) WITH (autovacuum_enabled = off)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 900) FROM generate_series(1, 800) i");
    let mut bench = bench.restarted();
    let pages = "SELECT heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit \
                 FROM pg_statio_user_tables WHERE relname = 't'";
    assert_eq!(row(&mut bench, pages), "0|0|0|0");
    assert_eq!(row(&mut bench, "SELECT count(b) FROM t"), "800");
    // Each page once.
    let size = row(&mut bench, "SELECT pg_relation_size('t') / 8192");
    assert_eq!(row(&mut bench, pages), format!("{size}|0|0|0"));
    assert_eq!(row(&mut bench, "SELECT length(b) FROM t WHERE a = 5"), "900");
    let root_and_leaf = "SELECT idx_blks_read > 0, idx_blks_read = (SELECT idx_blks_read FROM \
                         pg_statio_user_indexes WHERE indexrelname = 't_pkey') \
                         FROM pg_statio_user_tables WHERE relname = 't'";
    assert_eq!(row(&mut bench, root_and_leaf), "t|t");
    assert_eq!(bench.run("CREATE TABLE u AS SELECT * FROM t"), "SELECT 800\n");
    bench.run("VACUUM (DISABLE_PAGE_SKIPPING) t");
    let by_clients = |context: &str| {
        format!(
            "SELECT reads > 0, extends > 0, reuses > 0, evictions FROM pg_stat_io WHERE context = \
             '{context}' AND backend_type = 'client backend' AND object = 'relation'"
        )
    };
    assert_eq!(row(&mut bench, &by_clients("bulkread")), "t|<null>|t|<null>");
    let bulk_write = row(&mut bench, &by_clients("bulkwrite"));
    assert!(bulk_write.starts_with("f|t|"), "{bulk_write}");
    let vacuum = row(&mut bench, &by_clients("vacuum"));
    assert!(vacuum.starts_with("t|<null>|"), "{vacuum}");
    let normal = row(&mut bench, &by_clients("normal"));
    assert!(normal.starts_with("t|t|<null>|"), "{normal}");
}

#[test]
fn what_the_system_was_had_to_write_back_is_counted() {
    let mut bench = Bench::exactly(&EngineConfig { shared_buffers: 128, ..Default::default() });
    let writebacks = "SELECT writebacks, writeback_time > 0 FROM pg_stat_io \
                      WHERE backend_type = 'background writer'";
    let fill = "SELECT i, repeat('x', 900) FROM generate_series(1, 2500) i";
    bench.run(&format!("CREATE TABLE t AS {fill}"));
    assert_eq!(row(&mut bench, writebacks), "0|f");
    // More pages than there are frames: most were written, and some hundred started with.
    bench.run(&format!("CREATE UNLOGGED TABLE u AS {fill}"));
    let told = row(&mut bench, writebacks);
    let (pages, timed) = told.split_once('|').unwrap();
    assert!(pages.parse::<u32>().unwrap() >= 64 && timed == "t", "{told}");
    let others = "SELECT count(writebacks) FROM pg_stat_io WHERE backend_type LIKE '%client%'";
    assert_eq!(row(&mut bench, others), "0", "sessions write nothing");
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
    // Both, of each node what it and those below it used: pages first, as PostgreSQL has them.
    let plan = bench.run(
        "EXPLAIN (ANALYZE, BUFFERS, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF) UPDATE t SET b = 2 \
         WHERE a = 2",
    );
    let lines: Vec<&str> = plan.lines().map(str::trim_start).collect();
    let begins = |at: usize, words: &str| lines[at].starts_with(words);
    assert!(begins(1, "Update on t (actual rows=0 loops=1)"), "{plan}");
    assert!(begins(2, "Buffers: shared hit=") && begins(3, "WAL: records="), "{plan}");
    assert!(begins(4, "->  Index Scan using t_pkey on t (actual rows=1 loops=1)"), "{plan}");
    assert!(begins(5, "Index Cond: (a = 2)") && begins(6, "Buffers: shared hit="), "{plan}");
    assert_eq!(plan.matches("WAL:").count(), 1, "the scan logs nothing: {plan}");
    assert_eq!(bench.run("EXPLAIN (WAL) SELECT 1"), "22023: EXPLAIN option WAL requires ANALYZE\n");
}

#[test]
fn the_cache_can_be_looked_into_and_filled() {
    let mut bench = Bench::with_room();
    bench.run("CREATE EXTENSION pg_buffercache");
    assert!(bench.run("CREATE EXTENSION pg_buffercache").starts_with("42710"));
    assert!(
        bench.run("CREATE EXTENSION IF NOT EXISTS pg_buffercache").contains("skipping\nCREATE")
    );
    assert!(bench.run("CREATE EXTENSION postgis").starts_with("0A000"));
    bench.run("CREATE TABLE t (a int, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 70) i");
    let held = "SELECT count(*), count(*) FILTER (WHERE isdirty), \
                count(DISTINCT relblocknumber), sum(pinning_backends) FROM pg_buffercache WHERE relforknumber = 0 \
                AND relfilenode = pg_relation_filenode('t') AND reldatabase = \
                (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(row(&mut bench, held), "10|10|10|0");
    assert_eq!(
        row(&mut bench, "SELECT pg_prewarm('t'), pg_prewarm('t', 'read', 'main', 2, 4)"),
        "10|3"
    );
    assert_eq!(
        bench.run("SELECT pg_prewarm('t', 'buffer', 'main', 10)"),
        "[pg_prewarm]\n22023: starting block number must be between 0 and 9\n"
    );
    // What is named comes in, and no more.
    let mut bench = bench.restarted();
    let blocks = "SELECT string_agg(relblocknumber::text, ',' ORDER BY relblocknumber) \
                  FROM pg_buffercache WHERE relforknumber = 0 \
                  AND relfilenode = pg_relation_filenode('t')";
    assert_eq!(row(&mut bench, blocks), "<null>");
    assert_eq!(row(&mut bench, "SELECT pg_prewarm('t', 'buffer', 'main', 2, 4)"), "3");
    assert_eq!(row(&mut bench, blocks), "2,3,4");
    assert_eq!(row(&mut bench, "SELECT pg_prewarm('t')"), "10");
    assert_eq!(row(&mut bench, blocks), "0,1,2,3,4,5,6,7,8,9");
    assert_eq!(bench.run("DROP EXTENSION pg_buffercache"), "DROP EXTENSION\n");
    assert!(bench.run("DROP EXTENSION pg_buffercache").starts_with("42704"));
}

#[test]
fn the_cache_can_be_summed_up() {
    let mut bench = Bench::with_room();
    bench.run("CREATE TABLE t (a int, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 70) i");
    let agree = "SELECT s.buffers_used = v.used, s.buffers_unused = v.unused, \
                 s.buffers_dirty = v.dirty, s.buffers_pinned = v.pinned, \
                 abs(s.usagecount_avg - v.credit) < 1e-6, v.all = c.all, v.dirty = c.dirty, \
                 v.pinned = c.pinned, abs(c.credit - v.credit) < 1e-6 \
                 FROM pg_buffercache_summary() s, (SELECT count(relfilenode) used, \
                 count(*) - count(relfilenode) unused, count(*) \"all\", \
                 count(*) FILTER (WHERE isdirty) dirty, \
                 count(*) FILTER (WHERE pinning_backends > 0) pinned, \
                 avg(usagecount)::float8 credit FROM pg_buffercache) v, \
                 (SELECT sum(buffers) \"all\", sum(dirty) dirty, sum(pinned) pinned, \
                 sum(usage_count * buffers)::float8 / (SELECT buffers_used \
                 FROM pg_buffercache_summary()) credit FROM pg_buffercache_usage_counts()) c";
    // What it needs of the catalogs comes in by the first time.
    row(&mut bench, agree);
    assert_eq!(row(&mut bench, agree), ["t"; 9].join("|"));
    // Credits from none to the policy's most, some of each kind used.
    let credits = "SELECT string_agg(usage_count::text, ',' ORDER BY usage_count), \
                   bool_and(buffers >= dirty AND buffers >= pinned), \
                   bool_or(usage_count > 0 AND buffers > 0) FROM pg_buffercache_usage_counts()";
    assert_eq!(row(&mut bench, credits), "0,1,2,3|t|t");
    let changed = "SELECT buffers_dirty FROM pg_buffercache_summary()";
    let dirty: u32 = row(&mut bench, changed).parse().unwrap();
    assert!(dirty >= 10, "the table's pages at least: {dirty}");
    bench.run("CHECKPOINT");
    assert!(row(&mut bench, changed).parse::<u32>().unwrap() < dirty);

    let pinned = "SELECT s.buffers_pinned, (SELECT sum(pinned) FROM pg_buffercache_usage_counts()) \
                  FROM pg_buffercache_summary() s";
    assert_eq!(row(&mut bench, pinned), "0|0");
    let heap: u32 = row(&mut bench, "SELECT pg_relation_filenode('t')").parse().unwrap();
    let rel = bench.cluster.engine().pool().relation(RelId(heap), Rank::HeapPage);
    let page = rel.pin(Fork::Main, BlockNo(0)).unwrap();
    assert_eq!(row(&mut bench, pinned), "1|1");
    drop(page);
    assert_eq!(row(&mut bench, pinned), "0|0");
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
    let io = "SELECT sum(extends) > 0, sum(hits) > 0, min(op_bytes) FROM pg_stat_io";
    assert_eq!(row(&mut bench, io), "t|t|8192");
    let written_by = |role: fn(Role) -> bool| -> u64 {
        let all = bench.cluster.engine().pool().io_stats().into_iter();
        all.filter(|(key, _)| role(key.role)).map(|(_, counts)| counts.writes).sum()
    };
    assert_eq!(written_by(|role| matches!(role, Role::Client | Role::Vacuum)), 0);
    assert!(written_by(|role| role == Role::Checkpointer) > 0);
}

#[test]
fn figures_of_the_server_are_reset_each_for_itself() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    bench.run("INSERT INTO t SELECT i FROM generate_series(1, 5000) i");
    bench.run("CHECKPOINT");
    let bgwriter = "SELECT checkpoints_req, buffers_checkpoint FROM pg_stat_bgwriter";
    let io = "SELECT sum(extends), sum(writes) FROM pg_stat_io";
    let ahead = "SELECT prefetch, hit, skip_init, skip_new, skip_fpw, skip_rep, wal_distance, \
                 block_distance, io_depth FROM pg_stat_recovery_prefetch";
    let since = |view: &str| format!("SELECT extract(epoch FROM max(stats_reset)) FROM {view}");
    let (before, written) = (row(&mut bench, bgwriter), row(&mut bench, io));
    assert!(!before.starts_with("0|") && !written.starts_with("0|"), "{before} {written}");
    assert_eq!(row(&mut bench, ahead), "0|0|0|0|0|0|0|0|0");
    for (target, view) in [
        ("bgwriter", "pg_stat_bgwriter"),
        ("io", "pg_stat_io"),
        ("recovery_prefetch", "pg_stat_recovery_prefetch"),
        ("wal", "pg_stat_wal"),
    ] {
        let old: f64 = row(&mut bench, &since(view)).parse().unwrap();
        bench.run(&format!("SELECT pg_stat_reset_shared('{target}')"));
        assert!(row(&mut bench, &since(view)).parse::<f64>().unwrap() > old, "{target}");
        if target == "bgwriter" {
            assert_eq!(row(&mut bench, bgwriter), "0|0");
            assert_eq!(row(&mut bench, io), written, "the others go on");
        }
    }
    assert_eq!(row(&mut bench, io), "0|0");
    bench.run("INSERT INTO t SELECT i FROM generate_series(1, 5000) i; CHECKPOINT");
    assert!(row(&mut bench, bgwriter).starts_with("1|"));
    assert!(!row(&mut bench, io).starts_with("0|"));
    assert!(bench.run("SELECT pg_stat_reset_shared('archiver')").contains("SELECT 1"));
    let told = bench.run("SELECT pg_stat_reset_shared('all')");
    assert!(told.contains("22023: unrecognized reset target: \"all\""), "{told}");
}

#[test]
fn figures_of_tables_and_of_the_database_are_reset() {
    let mut bench = Bench::new();
    for table in ["t", "u"] {
        bench.run(&format!("CREATE TABLE {table} (a int PRIMARY KEY)"));
        bench.run(&format!("INSERT INTO {table} SELECT i FROM generate_series(1, 100) i"));
        bench.run(&format!("SELECT count(*) FROM {table}"));
        bench.run(&format!("ANALYZE {table}"));
        bench.run(&format!("SET enable_seqscan = off; SELECT * FROM {table} WHERE a = 5"));
        bench.run(&format!("DELETE FROM {table} WHERE a = 1; RESET enable_seqscan"));
    }
    let of = |table: &str| {
        format!(
            "SELECT seq_scan, idx_scan, n_tup_ins, n_tup_del, analyze_count, \
             last_analyze IS NULL, n_live_tup, n_mod_since_analyze FROM pg_stat_user_tables \
             WHERE relname = '{table}'"
        )
    };
    let index = "SELECT idx_scan FROM pg_stat_user_indexes WHERE relname = 't'";
    let database = "SELECT tup_inserted < 100, xact_commit < 5, stats_reset IS NULL \
                    FROM pg_stat_database WHERE datname = current_database()";
    let before = row(&mut bench, &of("t"));
    assert!(before.ends_with("|100|1|1|f|99|1"), "{before}");
    assert_eq!(row(&mut bench, database), "f|f|t");

    bench.run("SELECT pg_stat_reset_single_table_counters('t'::regclass)");
    // Scans of its indexes are the indexes'; what upkeep goes by stays.
    let after = row(&mut bench, &of("t"));
    assert!(after.starts_with("0|") && after.ends_with("|0|0|0|t|99|1"), "{after}");
    assert_eq!(row(&mut bench, &of("u")), before.clone(), "the others go on");
    assert_ne!(row(&mut bench, index), "0");
    assert_eq!(row(&mut bench, database), "f|f|f");
    bench.run("SELECT pg_stat_reset_single_table_counters('t_pkey'::regclass)");
    assert_eq!(row(&mut bench, index), "0");
    bench.run("INSERT INTO t VALUES (1000)");
    assert!(row(&mut bench, &of("t")).starts_with("0|0|1|0|"));
    // A table written anew: its pages are counted from there on, its rows go on.
    bench.run("VACUUM FULL t");
    bench.run("SELECT count(*) FROM t");
    assert!(row(&mut bench, &of("t")).starts_with("1|0|1|0|"), "{}", row(&mut bench, &of("t")));

    bench.run("SELECT pg_stat_reset()");
    assert_eq!(row(&mut bench, database), "t|t|f");
    for table in ["t", "u"] {
        assert!(row(&mut bench, &of(table)).starts_with("0|0|0|0|0|t|"));
    }
    assert!(bench.run("SELECT pg_stat_reset_single_table_counters(1)").contains("SELECT 1"));
}

/// The rows that a statement's first node is thought to give.
fn estimated(bench: &mut Bench, sql: &str) -> u64 {
    let out = bench.run(&format!("EXPLAIN {sql}"));
    let rows = out.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    rows.and_then(|rows| rows.parse().ok()).unwrap_or_else(|| panic!("{sql}: {out}"))
}

#[test]
fn estimates_follow_what_analyze_has_found() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (id int, few int, skewed int, gap int)");
    bench.run(
        "INSERT INTO t SELECT i, i % 10, CASE WHEN i % 2 = 0 THEN 0 ELSE i END, \
         CASE WHEN i % 4 = 0 THEN NULL ELSE 7 END FROM generate_series(1, 4000) i",
    );
    bench.run("CREATE INDEX t_id ON t USING hash (id)");
    bench.run("CREATE INDEX t_few ON t (few)");
    let near = |found: u64, wanted: u64| found.abs_diff(wanted) <= wanted / 10 + 1;
    bench.run("ANALYZE t");
    for (condition, wanted) in [
        ("id = 77", 1),
        ("id = 77 AND few = 7", 1),
        ("few = 3", 400),
        ("few IN (3, 4)", 800),
        ("few <> 3", 3600),
        ("skewed = 0", 2000),
        ("skewed = 1001", 1),
        ("id < 1000", 1000),
        ("id BETWEEN 1000 AND 1400", 400),
        ("id > 3000 AND few = 1", 100),
        ("gap IS NULL", 1000),
        ("gap IS NOT NULL", 3000),
        ("few = 3 OR few = 4", 800),
        ("id > 100000", 1),
    ] {
        let found = estimated(&mut bench, &format!("SELECT * FROM t WHERE {condition}"));
        assert!(near(found, wanted), "{condition}: {found}, not {wanted}");
    }
    // Another type: what was found of the old one is of no use, and does no harm.
    bench.run("ALTER TABLE t ALTER COLUMN few TYPE text USING few::text");
    estimated(&mut bench, "SELECT * FROM t WHERE few = '3' AND few < '5'");
}

#[test]
fn long_values_are_listed_as_far_as_a_row_holds_them() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a text)");
    bench.run(
        "INSERT INTO t SELECT (SELECT string_agg(md5(i % 300 || '.' || j), '') \
         FROM generate_series(1, 28) j) FROM generate_series(1, 900) i",
    );
    bench.run("ANALYZE t");
    let listed = "SELECT n_distinct, cardinality(most_common_vals::text::text[]) BETWEEN 1 AND 60, \
                  cardinality(histogram_bounds::text::text[]) BETWEEN 2 AND 60 \
                  FROM pg_stats WHERE tablename = 't'";
    assert_eq!(row(&mut bench, listed), "-0.33333334|t|t");
}

#[test]
fn a_vacuum_reckons_with_pages_that_it_skips() {
    let mut bench = Bench::new();
    // A page is all visible only when what it shows is durable.
    let vacuum = |bench: &mut Bench| {
        bench.cluster.engine().wal().flush(bench.session.must_be_durable());
        let told = bench.run("VACUUM (VERBOSE, INDEX_CLEANUP ON) t");
        let scanned = told.split(" scanned").next().unwrap().rsplit(' ').next().unwrap();
        scanned.parse::<u32>().unwrap()
    };
    let stored = "SELECT reltuples, relpages * 8192 = pg_relation_size('t') FROM pg_class \
                  WHERE relname = 't'";
    let live = "SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 't'";
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 900) FROM generate_series(1, 880) i");
    assert_eq!(row(&mut bench, live), "880");
    assert_eq!(vacuum(&mut bench), 110);
    assert_eq!(row(&mut bench, stored), "880|t");
    // The pages that are left of nothing are all that it looks at: 8 rows on each.
    bench.run("DELETE FROM t WHERE a <= 240");
    assert_eq!(vacuum(&mut bench), 30);
    assert_eq!(row(&mut bench, stored), "640|t");
    assert_eq!(row(&mut bench, live), "640");
    // One page of many: the count before says more.
    bench.run("DELETE FROM t WHERE a = 880");
    assert_eq!(vacuum(&mut bench), 1);
    assert_eq!(row(&mut bench, stored), "640|t");
    assert_eq!(row(&mut bench, live), "639");
    // Next to nothing to look at; and then nothing remembered.
    assert!((0..5).any(|_| vacuum(&mut bench) == 0));
    bench.run("ANALYZE t");
    assert_eq!(row(&mut bench, stored), "639|t");
    let mut bench = bench.restarted();
    assert!(vacuum(&mut bench) < 20);
    let near = "SELECT reltuples BETWEEN 620 AND 660 FROM pg_class WHERE relname = 't'";
    assert_eq!(row(&mut bench, near), "t");
    let near = "SELECT n_live_tup BETWEEN 620 AND 660 FROM pg_stat_user_tables WHERE relname = 't'";
    assert_eq!(row(&mut bench, near), "t");
}

#[test]
fn what_nobody_has_counted_is_nought() {
    let mut bench = Bench::new();
    let figures = "SELECT pg_stat_get_numscans(1), pg_stat_get_live_tuples(1), \
                   pg_stat_get_blocks_hit(1), pg_stat_get_vacuum_count(1), \
                   pg_stat_get_last_vacuum_time(1)";
    assert_eq!(row(&mut bench, figures), "0|0|0|0|<null>");
}

#[test]
fn what_was_found_out_goes_with_a_columns_type() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int, b int)");
    bench.run("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i; ANALYZE t");
    let known = "SELECT string_agg(attname, ',' ORDER BY attname) FROM pg_stats \
                 WHERE tablename = 't'";
    assert_eq!(row(&mut bench, known), "a,b");
    bench.run("ALTER TABLE t ALTER COLUMN b TYPE text");
    assert_eq!(row(&mut bench, known), "a");
}

#[test]
fn only_superusers_reset_figures_and_read_settings_anew() {
    let mut bench = Bench::new();
    bench.run("CREATE ROLE mere; SET ROLE mere");
    let stats = "SELECT num_mxids IS NULL, oldest_multixact IS NULL FROM pg_get_multixact_stats()";
    assert_eq!(row(&mut bench, stats), "t|t", "other people's figures");
    for call in [
        "pg_switch_wal()",
        "pg_stat_reset_shared('wal')",
        "pg_stat_reset_slru(NULL)",
        "pg_stat_reset()",
        "pg_stat_reset_single_table_counters(1259)",
        "pg_reload_conf()",
    ] {
        let name = call.split('(').next().unwrap();
        let told = bench.run(&format!("SELECT {call}"));
        assert!(told.contains(&format!("42501: permission denied for function {name}")), "{told}");
    }
}

#[test]
fn explain_tells_how_long_pages_were_waited_for_where_that_is_wanted() {
    let mut bench = Bench::with_room();
    bench.run("CREATE TABLE t (a int, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 900) FROM generate_series(1, 800) i");
    let mut bench = bench.restarted();
    let explain = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) \
                   SELECT count(*) FROM t WHERE ctid >= '(0,0)' AND length(b) > 0";
    let mut bench = {
        assert_eq!(row(&mut bench, "SHOW track_io_timing"), "off");
        let silent = bench.run(explain);
        assert!(silent.contains("read=") && !silent.contains("I/O Timings"), "{silent}");
        bench.restarted()
    };
    assert_eq!(bench.run("SET track_io_timing = on"), "SET\n");
    let told = bench.run(explain);
    let line = told.lines().find(|line| line.starts_with("  I/O Timings: shared read="));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    let ms: f64 = line.rsplit('=').next().unwrap().parse().unwrap();
    assert!(ms > 0.0, "{told}");
    // What is in memory takes no time.
    let again = bench.run(explain);
    assert!(!again.contains("I/O Timings"), "{again}");
}
