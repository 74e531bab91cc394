//! VACUUM FULL, and who comes meanwhile.

use std::time::{Duration, Instant};

use super::{Bench, run};
use crate::session::Session;

/// One row of a query, without its tag.
fn row(session: &mut Session, sql: &str) -> String {
    let out = run(session, sql);
    out.lines().nth(1).unwrap_or_else(|| panic!("{sql}: {out}")).to_owned()
}

/// Waits until so many sessions wait for locks.
fn until_waiting(session: &mut Session, sessions: usize) {
    let started = Instant::now();
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while row(session, waiting) != sessions.to_string() {
        assert!(started.elapsed() < Duration::from_secs(60), "nobody waits");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn gives_space_back() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i");
    bench.run("DELETE FROM t WHERE a > 10");
    let size = "SELECT pg_relation_size('t')";
    let size_of = |bench: &mut Bench| row(&mut bench.session, size).parse::<u64>().unwrap();
    let before = size_of(&mut bench);
    assert_eq!(bench.run("VACUUM FULL t"), "VACUUM\n");
    let after = size_of(&mut bench);
    assert!(after * 10 < before, "{before} bytes, then {after}");
    let s = &mut bench.session;
    assert_eq!(row(s, "SELECT count(*), max(a) FROM t WHERE a > 0"), "10|10");
    // What is known of the table is true of it as it is now; what was done to it is not forgotten.
    let stored = "SELECT reltuples, relpages FROM pg_class WHERE relname = 't'";
    assert_eq!(row(s, stored), "10|1");
    let figures = "SELECT n_tup_ins, n_tup_del, n_live_tup, n_dead_tup, n_mod_since_analyze \
                   FROM pg_stat_user_tables WHERE relname = 't'";
    assert_eq!(row(s, figures), "1000|990|10|0|1990");
    let told = bench.run("VACUUM (VERBOSE) t");
    assert!(told.contains("INFO: finished vacuuming \"postgres.public.t\""), "{told}");
}

#[test]
fn a_snapshot_taken_meanwhile_sees_the_rows() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY)");
    bench.run("INSERT INTO t SELECT generate_series(1, 3000)");
    let (mut vacuum, mut reader) = (bench.another(), bench.another());
    // It comes as far as the index.
    bench.run("BEGIN; COMMENT ON INDEX t_pkey IS 'mine'");
    std::thread::scope(|scope| {
        let done = scope.spawn(|| run(&mut vacuum, "VACUUM FULL t"));
        until_waiting(&mut bench.session, 1);
        run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
        bench.run("COMMIT");
        assert_eq!(done.join().unwrap(), "VACUUM\n");
    });
    assert_eq!(row(&mut reader, "SELECT count(*) FROM t"), "3000");
    assert_eq!(row(&mut reader, "SELECT count(*) FROM t WHERE a BETWEEN 11 AND 20"), "10");
}

#[test]
fn does_not_wait_for_those_who_wait_for_the_table() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    let (mut vacuum, mut other) = (bench.another(), bench.another());
    bench.run("BEGIN; INSERT INTO t VALUES (1)");
    std::thread::scope(|scope| {
        let full = scope.spawn(|| run(&mut vacuum, "VACUUM FULL t"));
        until_waiting(&mut bench.session, 1);
        let read = scope.spawn(|| run(&mut other, "SELECT a FROM t"));
        until_waiting(&mut bench.session, 2);
        // Now what the waiting reader looked the name up with is older than a commit.
        bench.run("COMMIT");
        assert_eq!(full.join().unwrap(), "VACUUM\n");
        assert_eq!(read.join().unwrap(), "[a]\n1\nSELECT 1\n");
    });
}

#[test]
fn an_analysis_leaves_no_snapshot_that_the_next_table_would_wait_for() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE a (a int); CREATE TABLE b (a int); INSERT INTO a VALUES (1)");
    let mut vacuum = bench.another();
    run(&mut vacuum, "SET default_transaction_isolation TO 'repeatable read'");
    bench.run("BEGIN; INSERT INTO b VALUES (1)");
    std::thread::scope(|scope| {
        let done = scope.spawn(|| run(&mut vacuum, "VACUUM (FULL, ANALYZE) a, b"));
        until_waiting(&mut bench.session, 1);
        bench.run("COMMIT");
        assert_eq!(done.join().unwrap(), "VACUUM\n");
    });
}
