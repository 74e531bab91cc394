//! Bitmap scans where they run out of memory; and that a plan is run by the values and the settings at hand, wherever it
//! comes from. What they find is compared with PostgreSQL's elsewhere (`tests/scripts/bitmap_scans.sql`).

use super::{Bench, run};
use crate::session::Session;

const ANALYZE: &str = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)";

/// The number behind a label.
fn number(told: &str, label: &str) -> u64 {
    let at = told.find(label).unwrap_or_else(|| panic!("no {label} in {told}")) + label.len();
    let digits = told[at..].chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap()
}

#[test]
fn pages_beyond_the_memory_are_lossy_and_their_rows_are_tested_again() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (id int, k int, pad text)");
    run(
        s,
        "INSERT INTO t SELECT i, i * 7919 % 100, repeat('x', 1500) FROM generate_series(1, 8000) i",
    );
    run(s, "CREATE INDEX t_k ON t (k)");
    run(s, "CREATE INDEX t_id ON t USING hash (id)");
    run(s, "ANALYZE t");
    run(s, "SET enable_seqscan = off");
    run(s, "SET enable_indexscan = off");
    let query = "SELECT count(*), sum(id) FROM t WHERE k < 90";
    let told = run(s, &format!("{ANALYZE} {query}"));
    let pages = number(&told, "Heap Blocks: exact=");
    assert!(!told.contains("lossy") && !told.contains("Recheck:"), "{told}");
    let all = run(s, query);
    run(s, "SET work_mem = '64kB'");
    let told = run(s, &format!("{ANALYZE} {query}"));
    let (exact, lossy) = (number(&told, "exact="), number(&told, "lossy="));
    assert_eq!(exact + lossy, pages, "{told}");
    assert!(exact <= 1024, "{told}");
    assert!(number(&told, "Rows Removed by Index Recheck: ") > 0, "{told}");
    assert_eq!(run(s, query), all);
    for query in [
        "SELECT count(*), sum(id) FROM t WHERE k < 90 AND id IN (3, 4, 4000, 7999, 8000)",
        "SELECT count(*), sum(id) FROM t WHERE k < 60 OR id IN (3, 4, 4000, 7999, 8000)",
    ] {
        let few = run(s, query);
        run(s, "SET work_mem = '64MB'");
        assert_eq!(run(s, query), few, "{query}");
        run(s, "SET enable_bitmapscan = off; SET enable_seqscan = on");
        assert_eq!(run(s, query), few, "{query}");
        run(s, "SET enable_bitmapscan = on; SET enable_seqscan = off; SET work_mem = '64kB'");
    }
}

/// How often the table was read as a whole so far, and how often by way of an index.
fn scans(s: &mut Session) -> (u64, u64) {
    let told = run(
        s,
        "SELECT 'seq ' || seq_scan || ' idx ' || idx_scan FROM pg_stat_user_tables WHERE relname = 't'",
    );
    (number(&told, "seq "), number(&told, "idx "))
}

#[test]
fn a_kept_plan_goes_by_the_values_and_the_settings_at_hand() {
    let mut bench = Bench::new();
    let mut other = bench.another();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (k int, pad text)");
    run(s, "INSERT INTO t SELECT i * 7919 % 1000, 'pad' FROM generate_series(1, 20000) i");
    run(s, "CREATE INDEX t_k ON t (k)");
    run(s, "ANALYZE t");
    run(s, "PREPARE p (int) AS SELECT count(pad) FROM t WHERE k < $1");
    // As a text with its constant lifted, as a prepared statement, and as what another session has planned.
    let step = |s: &mut Session, query: &str, rows: u64, by_index: bool| {
        let (seq, idx) = scans(s);
        assert_eq!(run(s, query), format!("[count]\n{rows}\nSELECT 1\n"), "{query}");
        let (seq, idx) = {
            let now = scans(s);
            (now.0 - seq, now.1 - idx)
        };
        assert_eq!((seq, idx), (u64::from(!by_index), u64::from(by_index)), "{query}");
    };
    for _ in 0..2 {
        step(s, "SELECT count(pad) FROM t WHERE k < 3", 60, true);
        step(s, "SELECT count(pad) FROM t WHERE k < 900", 18_000, false);
        step(s, "EXECUTE p (3)", 60, true);
        step(s, "EXECUTE p (900)", 18_000, false);
        step(&mut other, "SELECT count(pad) FROM t WHERE k < 3", 60, true);
    }
    run(s, "SET enable_bitmapscan = off");
    run(s, "SET enable_indexscan = off");
    step(s, "SELECT count(pad) FROM t WHERE k < 3", 60, false);
    step(s, "EXECUTE p (3)", 60, false);
    step(&mut other, "SELECT count(pad) FROM t WHERE k < 3", 60, true);
    run(s, "RESET enable_bitmapscan");
    step(s, "SELECT count(pad) FROM t WHERE k < 3", 60, true);
    step(s, "EXECUTE p (3)", 60, true);
    // What a transaction sets goes with it.
    run(s, "BEGIN; SET LOCAL enable_bitmapscan = off");
    step(s, "EXECUTE p (3)", 60, false);
    run(s, "COMMIT");
    step(s, "EXECUTE p (3)", 60, true);
    run(s, "SET random_page_cost = 1000");
    run(s, "SET enable_indexscan = on");
    step(s, "EXECUTE p (30)", 600, false);
    run(s, "SET random_page_cost = 4");
    step(s, "EXECUTE p (30)", 600, true);
}
