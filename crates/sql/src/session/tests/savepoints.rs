//! Savepoints and row locks as SQL meets them, and which status logs that touches.

use super::{Bench, run};

/// How many multixacts there have been.
fn multixacts(bench: &Bench) -> u64 {
    bench.cluster.engine().txns().txlog().multis().next().0
}

#[test]
fn ten_thousand_savepoints_and_back_to_the_middle() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY)");
    bench.run("BEGIN");
    for number in 0..10_000 {
        assert_eq!(bench.run(&format!("SAVEPOINT s{number}")), "SAVEPOINT\n");
        assert_eq!(bench.run(&format!("INSERT INTO t VALUES ({number})")), "INSERT 0 1\n");
    }
    let count = "SELECT count(*), max(a) FROM t";
    assert_eq!(bench.run(count), "[count|max]\n10000|9999\nSELECT 1\n");
    assert_eq!(bench.run("ROLLBACK TO s5000"), "ROLLBACK\n");
    assert_eq!(bench.run(count), "[count|max]\n5000|4999\nSELECT 1\n");
    assert_eq!(bench.run("INSERT INTO t VALUES (7000)"), "INSERT 0 1\n");
    // Its rows stay, and so do those behind it; no savepoint behind it does.
    assert_eq!(bench.run("RELEASE s2500"), "RELEASE\n");
    assert_eq!(bench.run("SAVEPOINT s"), "SAVEPOINT\n");
    assert!(bench.run("ROLLBACK TO s5000").contains("3B001"));
    assert_eq!(bench.run("ROLLBACK TO s"), "ROLLBACK\n");
    assert_eq!(bench.run(count), "[count|max]\n5001|7000\nSELECT 1\n");
    assert_eq!(bench.run("ROLLBACK TO s2499"), "ROLLBACK\n");
    let mut other = bench.another();
    assert_eq!(run(&mut other, count), "[count|max]\n0|<null>\nSELECT 1\n");
    assert_eq!(bench.run("COMMIT"), "COMMIT\n");
    assert_eq!(run(&mut other, count), "[count|max]\n2499|2498\nSELECT 1\n");
}

#[test]
fn one_transaction_that_locks_and_then_updates_makes_no_multixact() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    bench.run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 50) g");
    let before = multixacts(&bench);
    for (number, lock) in (1..=50).zip(["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"].repeat(13))
    {
        let row = format!("WHERE a = {number}");
        let told = bench.run(&format!(
            "BEGIN; SELECT a FROM t {row} FOR {lock}; SAVEPOINT s; UPDATE t SET b = 1 {row}; \
             SAVEPOINT s; SELECT a FROM t {row} FOR UPDATE; RELEASE s; COMMIT"
        ));
        assert!(told.ends_with("COMMIT\n"), "{told}");
    }
    assert_eq!(multixacts(&bench), before);
    // Two transactions that share a row do.
    let mut other = bench.another();
    run(&mut other, "BEGIN; SELECT a FROM t WHERE a = 1 FOR SHARE");
    bench.run("BEGIN; SELECT a FROM t WHERE a = 1 FOR SHARE; COMMIT");
    run(&mut other, "COMMIT");
    assert!(multixacts(&bench) > before);
}

#[test]
fn who_reads_never_asks_the_log_of_subtransactions() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    let insert = |upto: i32| {
        let mut text = "BEGIN;".to_owned();
        for number in 0..upto {
            text.push_str(&format!("SAVEPOINT s; INSERT INTO t VALUES ({number});"));
        }
        text
    };
    let (mut committed, mut open, mut old) = (bench.another(), bench.another(), bench.another());
    run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    run(&mut committed, &(insert(3000) + "COMMIT"));
    run(&mut open, &insert(3000));
    let asked = "SELECT blks_hit + blks_read FROM pg_stat_slru WHERE name = 'Subtrans'";
    let before = bench.run(asked);
    for _ in 0..3 {
        let count = "SELECT count(*) FROM t";
        assert_eq!(bench.run(count), "[count]\n3000\nSELECT 1\n");
        assert_eq!(run(&mut old, count), "[count]\n0\nSELECT 1\n");
        assert_eq!(run(&mut open, count), "[count]\n6000\nSELECT 1\n");
    }
    assert_eq!(bench.run(asked), before);
}
