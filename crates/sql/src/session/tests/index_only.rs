//! Index-only scans: when the planner takes them, how often they look at the table, and that they tell what it has.

use super::{Bench, run};
use crate::session::Session;

use std::time::{Duration, Instant};

const GIVE_UP: Duration = Duration::from_secs(60);

const ANALYZE: &str = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)";

/// Cleans the table until all of its pages are visible to all; the commits that it goes by become durable by
/// themselves.
fn vacuum(s: &mut Session, table: &str) {
    let started = Instant::now();
    let visible =
        format!("SELECT relallvisible >= relpages FROM pg_class WHERE relname = '{table}'");
    loop {
        // A few pages with dead rows alone would be left as they are.
        run(s, &format!("VACUUM (INDEX_CLEANUP on) {table}"));
        if run(s, &visible).contains("\nt\n") {
            return;
        }
        assert!(started.elapsed() < GIVE_UP, "{table} never became visible to all");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn table(bench: &mut Bench) {
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (id int PRIMARY KEY, k int, v numeric, pad text)");
    run(
        s,
        "INSERT INTO t SELECT i, i % 100, i / 4.0, repeat('x', 100) FROM generate_series(1, 5000) i",
    );
    run(s, "CREATE INDEX t_k ON t (k) INCLUDE (v)");
    run(s, "ANALYZE t");
}

#[test]
fn the_table_is_looked_at_where_it_is_not_visible_to_all() {
    let mut bench = Bench::new();
    table(&mut bench);
    let s = &mut bench.session;
    vacuum(s, "t");
    let query = "SELECT v FROM t WHERE k = 7";
    let told = run(s, &format!("{ANALYZE} {query}"));
    assert!(told.contains("Index Only Scan using t_k on t (actual rows=50 loops=1)"), "{told}");
    assert!(told.contains("Heap Fetches: 0"), "{told}");
    // One row in two pages or so of a hundred.
    run(s, "UPDATE t SET v = -1 WHERE id = 107");
    let told = run(s, &format!("{ANALYZE} {query}"));
    let fetches = told.split("Heap Fetches: ").nth(1).and_then(|rest| rest.lines().next());
    let fetches: u32 = fetches.unwrap().parse().unwrap();
    assert!((1..=4).contains(&fetches), "{told}");
    assert_eq!(
        run(s, "SELECT count(*), min(v) FROM t WHERE k = 7"),
        "[count|min]\n50|-1\nSELECT 1\n"
    );
    vacuum(s, "t");
    let told = run(s, &format!("{ANALYZE} {query}"));
    assert!(told.contains("rows=50") && told.contains("Heap Fetches: 0"), "{told}");
}

#[test]
fn all_of_an_index_is_read_instead_of_a_table_that_is_visible_to_all() {
    let mut bench = Bench::new();
    table(&mut bench);
    let s = &mut bench.session;
    let seq = run(s, "EXPLAIN (COSTS OFF) SELECT count(*) FROM t");
    assert!(seq.contains("Seq Scan on t"), "{seq}");
    vacuum(s, "t");
    run(s, "ANALYZE t");
    let only = run(s, "EXPLAIN (COSTS OFF) SELECT count(*) FROM t");
    assert!(only.contains("Index Only Scan using t_pkey on t"), "{only}");
    assert_eq!(run(s, "SELECT count(*) FROM t"), "[count]\n5000\nSELECT 1\n");
    let sorted = run(s, "EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY id DESC");
    assert!(sorted.contains("Index Only Scan Backward using t_pkey on t"), "{sorted}");
    assert!(!sorted.contains("Sort"), "{sorted}");
    let all = run(s, "EXPLAIN (COSTS OFF) SELECT * FROM t");
    assert!(all.contains("Seq Scan on t"), "{all}");
    run(s, "SET enable_indexonlyscan = off");
    let off = run(s, "EXPLAIN (COSTS OFF) SELECT count(*) FROM t");
    assert!(off.contains("Seq Scan on t"), "{off}");
}

/// Rows come and go, and vacuum with them, beside a snapshot that must not see it.
#[test]
fn a_snapshot_is_told_the_same_by_entries_as_by_rows() {
    let mut bench = Bench::new();
    table(&mut bench);
    vacuum(&mut bench.session, "t");
    let mut reader = Session::open(&bench.cluster, "postgres", "postgres").unwrap();
    let by_entries = "SELECT count(*), sum(v) FROM t WHERE k = 3";
    let by_rows = "SELECT count(*), sum(v) FROM t WHERE k + 0 = 3 AND pad <> ''";
    for round in 0..6 {
        run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        let before = run(&mut reader, by_rows);
        let s = &mut bench.session;
        run(s, "DELETE FROM t WHERE k = 3 AND id % 200 < 100");
        run(s, &format!("UPDATE t SET v = {round} WHERE k = 3"));
        run(s, "VACUUM t");
        assert_eq!(run(&mut reader, by_entries), before, "round {round}");
        let s = &mut bench.session;
        run(
            s,
            "INSERT INTO t SELECT i, i % 100, 1, 'y' FROM generate_series(1, 5000) i ON CONFLICT DO NOTHING",
        );
        run(s, "VACUUM t");
        assert_eq!(run(&mut reader, by_entries), before, "round {round}");
        run(&mut reader, "COMMIT");
        assert_eq!(run(&mut reader, by_entries), run(&mut reader, by_rows), "round {round}");
        let s = &mut bench.session;
        run(s, "VACUUM t");
        assert_eq!(run(&mut reader, by_entries), run(&mut reader, by_rows), "round {round}");
    }
}
