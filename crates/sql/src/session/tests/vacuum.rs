//! Background vacuum, as statements meet it. Nothing here depends on when it runs: tests wait for what must
//! come about, however long that takes.

use super::{Bench, run};
use crate::session::Session;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const GIVE_UP: Duration = Duration::from_secs(60);

/// Starts the worker; its complaints are gathered.
pub(super) fn start(bench: &Bench) -> Arc<Mutex<Vec<String>>> {
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let noted = complaints.clone();
    bench.cluster.start_vacuum(move |text| noted.lock().unwrap().push(text.to_owned()));
    complaints
}

/// The one number that a query gives.
pub(super) fn number(session: &mut Session, sql: &str) -> i64 {
    let out = run(session, sql);
    out.lines().nth(1).unwrap_or_default().parse().unwrap_or_else(|_| panic!("{sql}: {out}"))
}

pub(super) fn wait_until(session: &mut Session, condition: &str) {
    let started = Instant::now();
    while number(session, &format!("SELECT CASE WHEN {condition} THEN 1 ELSE 0 END")) == 0 {
        assert!(started.elapsed() < GIVE_UP, "never: {condition}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn figure(figure: &str, table: &str) -> String {
    format!("(SELECT {figure} FROM pg_stat_all_tables WHERE relname = '{table}')")
}

/// Everything has been cleaned, but for what is too little to be cleaned.
fn is_clean(table: &str) -> String {
    format!("{} > 0 AND {} <= 200", figure("autovacuum_count", table), figure("n_dead_tup", table))
}

#[test]
fn a_table_that_changes_is_cleaned_and_stays_small() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int PRIMARY KEY, b int, c text)");
    run(s, "CREATE INDEX t_b ON t (b)");
    run(s, "INSERT INTO t SELECT i, i, repeat('x', 100) FROM generate_series(1, 400) i");
    let mut sizes = Vec::new();
    for _ in 0..4 {
        for _ in 0..6 {
            // Not one of these can do without new index entries.
            assert_eq!(run(s, "UPDATE t SET b = b + 1"), "UPDATE 400\n");
        }
        wait_until(s, &is_clean("t"));
        sizes.push(number(s, "SELECT pg_total_relation_size('t')"));
    }
    // Without cleaning, each round would add as much as the first.
    assert!(sizes[3] <= sizes[0] * 2, "{sizes:?}");
    assert_eq!(number(s, "SELECT sum(b) FROM t"), 400 * 401 / 2 + 24 * 400);
    assert_eq!(number(s, "SELECT count(*) FROM t WHERE b > 200 AND b < 220"), 19);
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn an_open_snapshot_loses_nothing_to_the_worker() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let mut reader = bench.another();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int PRIMARY KEY, b int)");
    run(s, "INSERT INTO t SELECT i, 1 FROM generate_series(1, 200) i");
    run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(number(&mut reader, "SELECT sum(b) FROM t"), 200);
    for _ in 0..5 {
        run(s, "UPDATE t SET b = b + 1");
        run(s, "DELETE FROM t WHERE a % 20 = 0");
        run(s, "INSERT INTO t SELECT i, 5 FROM generate_series(20, 200, 20) i");
    }
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "t")));
    assert_eq!(number(&mut reader, "SELECT sum(b) FROM t"), 200);
    for a in [1, 20, 199, 200] {
        assert_eq!(number(&mut reader, &format!("SELECT b FROM t WHERE a = {a}")), 1);
    }
    run(&mut reader, "COMMIT");
    // What the snapshot held back goes without anybody's doing.
    wait_until(s, &is_clean("t"));
    assert_eq!(number(s, "SELECT count(*) FROM t"), 200);
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn tables_come_and_go_while_the_worker_is_at_them() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    for round in 0..60 {
        assert_eq!(run(s, "CREATE TABLE t (a int PRIMARY KEY, b text)"), "CREATE TABLE\n");
        let fill = "INSERT INTO t SELECT i, 'row' FROM generate_series(1, 150) i";
        assert_eq!(run(s, fill), "INSERT 0 150\n");
        assert_eq!(run(s, "UPDATE t SET a = a + 1000"), "UPDATE 150\n");
        match round % 3 {
            0 => assert_eq!(run(s, "TRUNCATE t"), "TRUNCATE TABLE\n"),
            1 => assert_eq!(run(s, "CREATE INDEX t_b ON t (b)"), "CREATE INDEX\n"),
            _ => assert_eq!(run(s, "DELETE FROM t"), "DELETE 150\n"),
        }
        assert_eq!(run(s, fill), "INSERT 0 150\n");
        let expected = if round % 3 == 1 { 300 } else { 150 };
        assert_eq!(number(s, "SELECT count(*) FROM t"), expected);
        assert_eq!(run(s, "DROP TABLE t"), "DROP TABLE\n");
    }
    // The rows that described them have gone from the catalogs, too.
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "pg_attribute")));
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn a_table_filled_by_its_maker_is_cleaned_once_that_is_certain() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    run(s, "BEGIN");
    run(s, "CREATE TABLE t (a int PRIMARY KEY)");
    run(s, "INSERT INTO t SELECT generate_series(1, 2000)");
    run(s, "DELETE FROM t WHERE a > 1000");
    // The worker has come by meanwhile.
    let started = Instant::now();
    while bench.cluster.engine().vacuum_queue().is_empty() {
        assert!(started.elapsed() < GIVE_UP, "the worker never found it locked");
        std::thread::sleep(Duration::from_millis(5));
    }
    run(s, "COMMIT");
    wait_until(s, &is_clean("t"));
    assert_eq!(number(s, "SELECT count(*) FROM t"), 1000);
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn vacuum_without_a_name_cleans_every_table() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int PRIMARY KEY)");
    run(s, "INSERT INTO t SELECT generate_series(1, 500)");
    run(s, "DELETE FROM t WHERE a > 10");
    assert_eq!(run(s, "VACUUM"), "VACUUM\n");
    assert_eq!(number(s, &format!("SELECT {}", figure("n_dead_tup", "t"))), 0);
    assert_eq!(number(s, &format!("SELECT {}", figure("n_live_tup", "t"))), 10);
    assert_eq!(number(s, "SELECT count(*) FROM t"), 10);
}
