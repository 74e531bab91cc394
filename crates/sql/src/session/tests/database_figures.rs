//! What `pg_stat_database` tells of this database.

use super::{Bench, run};

const OF_THIS: &str = "FROM pg_stat_database WHERE datname = current_database()";

/// One row of figures.
fn figures(bench: &mut Bench, columns: &str) -> String {
    let out = bench.run(&format!("SELECT {columns} {OF_THIS}"));
    out.lines().nth(1).unwrap_or_else(|| panic!("{columns}: {out}")).to_owned()
}

fn numbers(bench: &mut Bench, columns: &str) -> Vec<i64> {
    figures(bench, columns).split('|').map(|n| n.parse().unwrap()).collect()
}

#[test]
fn transactions_are_counted_by_how_they_end() {
    let mut bench = Bench::new();
    let columns = "xact_commit, xact_rollback";
    let before = numbers(&mut bench, columns);
    // The question before is one commit; each of these is one transaction.
    bench.run("SELECT 1; SELECT 2");
    bench.run("BEGIN");
    bench.run("SELECT 1/0");
    bench.run("COMMIT");
    bench.run("BEGIN; SAVEPOINT s");
    bench.run("SELECT 1/0");
    bench.run("ROLLBACK TO s; COMMIT");
    bench.run("SELECT 1/0");
    let after = numbers(&mut bench, columns);
    assert_eq!((after[0] - before[0], after[1] - before[1]), (3, 2));
}

#[test]
fn sessions_count_while_they_last_and_afterwards() {
    let mut bench = Bench::new();
    let columns = "numbackends, sessions, xact_commit";
    let before = numbers(&mut bench, columns);
    let mut other = bench.another();
    run(&mut other, "SELECT 1");
    let during = numbers(&mut bench, columns);
    drop(other);
    let after = numbers(&mut bench, columns);
    assert_eq!((during[0], during[1]), (before[0] + 1, before[1] + 1));
    assert_eq!((after[0], after[1]), (before[0], before[1] + 1));
    // The other's, and the questions of this one before.
    assert_eq!((during[2] - before[2], after[2] - before[2]), (2, 3));
    assert_eq!(
        figures(&mut bench, "session_time > 0, active_time >= 0, stats_reset"),
        "t|t|<null>"
    );
}

#[test]
fn rows_and_pages_count_on_when_their_tables_are_gone() {
    let mut bench = Bench::with_room();
    let rows = "tup_inserted, tup_updated, tup_deleted";
    let before = numbers(&mut bench, rows);
    bench.run("CREATE TABLE t (a int, b int)");
    let made = numbers(&mut bench, rows);
    bench.run("INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i");
    bench.run("UPDATE t SET b = 1 WHERE a <= 30");
    bench.run("DELETE FROM t WHERE a <= 7");
    let done = numbers(&mut bench, rows);
    assert!(made[0] > before[0], "catalogs' rows count: {made:?}");
    let less = |now: &[i64], then: &[i64]| -> Vec<i64> {
        now.iter().zip(then).map(|(now, then)| now - then).collect()
    };
    assert_eq!(less(&done, &made), [100, 30, 7]);
    // New storage goes on from what was done to the old; it is not counted twice.
    bench.run("VACUUM FULL t");
    let full = numbers(&mut bench, rows);
    assert!(full[0] - done[0] < 50 && full[2] - done[2] < 50, "{done:?} {full:?}");
    let pages = numbers(&mut bench, "blks_hit, tup_returned");
    bench.run("SELECT count(b) FROM t");
    bench.run("DROP TABLE t");
    let gone = numbers(&mut bench, rows);
    assert!(gone[0] >= full[0] && gone[1] >= full[1] && gone[2] >= full[2], "{gone:?}");
    let after = numbers(&mut bench, "blks_hit, tup_returned");
    assert!(after[0] > pages[0] && after[1] >= pages[1] + 93, "{pages:?} {after:?}");
}

#[test]
fn what_spills_is_counted() {
    let mut bench = Bench::with_room();
    assert_eq!(figures(&mut bench, "temp_files, temp_bytes"), "0|0");
    bench.run("SET work_mem = 64");
    bench.run("SELECT count(*) FROM (SELECT i FROM generate_series(1, 50000) i ORDER BY -i) x");
    assert_eq!(figures(&mut bench, "temp_files > 0, temp_bytes > 100000"), "t|t");
}

#[test]
fn there_is_a_row_for_what_all_databases_share() {
    let mut bench = Bench::new();
    let out = bench.run(
        "SELECT datname, numbackends, xact_commit, blks_hit > 0, conflicts, deadlocks, \
         checksum_failures, checksum_last_failure FROM pg_stat_database WHERE datid = 0",
    );
    assert_eq!(out.lines().nth(1), Some("<null>|0|0|t|0|0|0|<null>"), "{out}");
}
