//! Materialized views: what a crash leaves of a REFRESH, what it does with little memory, and who looks after the rows.

use base::disk::sim::SimDisk;
use base::ids::{Persistence, RelId};
use storage::txn::{Isolation, Txn};

use super::databases::{env, on, simulate, small};
use super::vacuum::{figure, start, wait_until};
use super::*;
use crate::types::{Datum, Oid};

use std::collections::BTreeSet;

/// The figure that a query's only row has.
fn only(answer: &str) -> &str {
    answer.lines().nth(1).unwrap_or_else(|| panic!("{answer}"))
}

/// Whether the view has what its query has, and its indexes what it has.
fn assert_fresh(s: &mut Session, view: &str, query: &str) {
    for (one, other) in [(view, query), (query, view)] {
        let differ = format!("SELECT count(*) FROM (({one}) EXCEPT ALL ({other})) d");
        assert_eq!(only(&run(s, &differ)), "0", "{differ}");
    }
}

#[test]
fn a_concurrent_refresh_with_little_memory_finds_what_one_with_much_finds() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int PRIMARY KEY, b text, c numeric)");
    run(
        s,
        "INSERT INTO t SELECT i, repeat(md5(i::text), 1 + i % 5), i % 7 FROM generate_series(1, 8000) i",
    );
    run(s, "CREATE MATERIALIZED VIEW m AS SELECT * FROM t");
    run(
        s,
        "CREATE UNIQUE INDEX m_a ON m (a); CREATE INDEX m_c ON m (c, a); CREATE INDEX m_h ON m USING hash (c)",
    );
    run(s, "SET maintenance_work_mem = '1MB'; SET work_mem = '64kB'");
    for change in [
        "UPDATE t SET c = c + 1 WHERE a % 10 = 0",
        "DELETE FROM t WHERE a > 6000",
        "INSERT INTO t SELECT i, NULL, 0 FROM generate_series(6001, 12000) i",
        "UPDATE t SET a = -a",
        "SELECT 1",
        "DELETE FROM t",
    ] {
        run(s, change);
        let refreshed = run(s, "REFRESH MATERIALIZED VIEW CONCURRENTLY m");
        assert_eq!(refreshed, "REFRESH MATERIALIZED VIEW\n", "{change}");
        assert_fresh(s, "SELECT * FROM m", "SELECT * FROM t");
        for check in [
            "bt_index_check('m_a', true)",
            "bt_index_check('m_c', true)",
            "hash_index_check('m_h', true)",
        ] {
            let told = run(s, &format!("SELECT {check}"));
            assert!(told.ends_with("SELECT 1\n"), "{change}: {told}");
        }
    }
}

#[test]
fn what_did_not_change_is_left_alone() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(
        s,
        "CREATE TABLE t (a int, b text); INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i",
    );
    run(s, "CREATE MATERIALIZED VIEW m AS SELECT * FROM t; CREATE UNIQUE INDEX ON m (a)");
    run(s, "UPDATE t SET b = 'new' WHERE a = 500; DELETE FROM t WHERE a = 501");
    run(s, "REFRESH MATERIALIZED VIEW CONCURRENTLY m");
    let figures =
        "SELECT n_tup_ins, n_tup_del, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'm'";
    assert_eq!(only(&run(s, figures)), "1001|2|0");
}

/// PostgreSQL takes the query's snapshot before it waits for the view, and leaves it as it was before that.
#[test]
fn a_refresh_that_had_to_wait_sees_what_was_committed_meanwhile() {
    let mut bench = Bench::new();
    let mut other = bench.another();
    for refresh in ["REFRESH MATERIALIZED VIEW m", "REFRESH MATERIALIZED VIEW CONCURRENTLY m"] {
        let s = &mut bench.session;
        run(s, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
        run(s, "CREATE MATERIALIZED VIEW m AS SELECT * FROM t; CREATE UNIQUE INDEX ON m (a)");
        run(s, "BEGIN; INSERT INTO t VALUES (2); REFRESH MATERIALIZED VIEW CONCURRENTLY m");
        std::thread::scope(|scope| {
            let done = scope.spawn(|| run(&mut other, refresh));
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            while only(&run(s, waiting)) != "1" {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            run(s, "COMMIT");
            assert_eq!(done.join().unwrap(), "REFRESH MATERIALIZED VIEW\n");
        });
        assert_eq!(run(s, "SELECT a FROM m ORDER BY a"), "[a]\n1\n2\nSELECT 2\n");
        run(s, "DROP TABLE t CASCADE");
    }
}

#[test]
fn rows_are_looked_after_in_the_background() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int) WITH (autovacuum_enabled = off)");
    run(s, "INSERT INTO t SELECT generate_series(1, 5000)");
    run(
        s,
        "CREATE MATERIALIZED VIEW m AS SELECT a, a % 2 AS b FROM t; CREATE UNIQUE INDEX ON m (a)",
    );
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "m")));
    run(s, "UPDATE t SET a = -a");
    run(s, "REFRESH MATERIALIZED VIEW CONCURRENTLY m");
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "m")));
    wait_until(s, &format!("{} = 0", figure("n_dead_tup", "m")));
    // A plain one has other rows than those that were looked at.
    run(s, "REFRESH MATERIALIZED VIEW m");
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "m")));
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn nobody_copies_into_one() {
    let mut bench = Bench::new();
    bench.run("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a");
    let refused = bench.run("COPY m FROM stdin");
    assert_eq!(refused, "42809: cannot copy to materialized view \"m\"\n");
}

/// A statement by the extended protocol: what it tells.
fn extended(s: &mut Session, text: &str, params: &[&str]) -> String {
    let params: Vec<Option<&[u8]>> = params.iter().map(|param| Some(param.as_bytes())).collect();
    let mut client = Recorder::default();
    let done = s
        .parse("", text, &[])
        .and_then(|_| s.bind("", "", &params, &Formats::default(), Formats::default()))
        .and_then(|_| s.execute("", 0, &mut client).map(drop));
    if let Err(error) = done.and_then(|()| s.sync().map(drop)) {
        s.fail(&error);
        client.out.push_str(&shown(&error));
        s.sync().unwrap();
    }
    client.out
}

#[test]
fn parameters_belong_to_no_query_that_is_kept() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    assert_eq!(extended(s, "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a", &[]), "SELECT 1\n");
    assert_eq!(extended(s, "REFRESH MATERIALIZED VIEW m", &[]), "REFRESH MATERIALIZED VIEW\n");
    assert_eq!(extended(s, "SELECT * FROM m", &[]), "1\nSELECT 1\n");
    assert_eq!(
        extended(s, "CREATE MATERIALIZED VIEW n AS SELECT $1::int AS a", &["1"]),
        "0A000: materialized views may not be defined using bound parameters\n"
    );
}

#[test]
fn one_transaction_makes_fills_and_drops_it() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    for end in ["ROLLBACK", "COMMIT"] {
        run(s, "BEGIN; CREATE MATERIALIZED VIEW m AS SELECT a FROM t WITH NO DATA");
        run(
            s,
            "CREATE UNIQUE INDEX m_a ON m (a); REFRESH MATERIALIZED VIEW m; INSERT INTO t VALUES (2)",
        );
        run(s, "SAVEPOINT s; REFRESH MATERIALIZED VIEW CONCURRENTLY m; ROLLBACK TO s");
        assert_eq!(run(s, "SELECT a FROM m"), "[a]\n1\nSELECT 1\n");
        run(
            s,
            "REFRESH MATERIALIZED VIEW CONCURRENTLY m; SAVEPOINT s; REFRESH MATERIALIZED VIEW m",
        );
        run(s, "DROP MATERIALIZED VIEW m; ROLLBACK TO s");
        assert_eq!(run(s, "SELECT a FROM m ORDER BY a"), "[a]\n1\n2\nSELECT 2\n");
        run(s, end);
    }
    assert_eq!(run(s, "SELECT a FROM m WHERE a = 2"), "[a]\n2\nSELECT 1\n");
    run(s, "INSERT INTO t VALUES (3); REFRESH MATERIALIZED VIEW CONCURRENTLY m");
    assert_eq!(run(s, "SELECT a FROM m WHERE a > 1"), "[a]\n2\n3\nSELECT 2\n");
}

fn enter_under_the_view_itself(s: &mut Session, view: &str) {
    let backend = &s.backend;
    backend.txn.begin(Isolation::ReadCommitted);
    let (catalog, txn, store) = (&backend.catalog, &backend.txn, &backend.instance.store);
    let public = catalog.schema(txn, "public").unwrap().unwrap();
    let view = catalog.relation_oid(txn, public, view).unwrap().unwrap();
    let rules = store.scan(txn, "pg_rewrite", |row| row.oid("ev_class") == view).unwrap();
    let rule = rules[0].row.oid("oid");
    for found in store.scan(txn, "pg_depend", |row| row.oid("objid") == rule).unwrap() {
        let changes = [("classid", Datum::Oid(Oid(1259))), ("objid", Datum::Oid(view))];
        match found.row.letter("deptype") {
            b'i' => store.delete(txn, "pg_depend", &found).unwrap(),
            _ => store.update_columns(txn, "pg_depend", &found, &changes).unwrap(),
        }
    }
    catalog.note_change(txn, view).unwrap();
    backend.txn.commit().unwrap();
}

/// What a view used was entered under the view itself, and not under its rule.
#[test]
fn views_of_earlier_versions_are_found_by_what_they_use() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a FROM t");
    run(s, "CREATE MATERIALIZED VIEW m AS SELECT * FROM v");
    enter_under_the_view_itself(s, "v");
    let refused = run(s, "DROP TABLE t");
    assert!(
        refused.contains("DETAIL: view v depends on table t\nmaterialized view m"),
        "{refused}"
    );
    assert!(run(s, "ALTER TABLE t RENAME TO u").starts_with("0A000"));
    assert!(run(s, "ALTER TABLE t DROP COLUMN a").starts_with("2BP01"));
    assert_eq!(run(s, "BEGIN; LOCK TABLE v; COMMIT"), "BEGIN\nLOCK TABLE\nCOMMIT\n");
    assert_eq!(run(s, "CREATE OR REPLACE VIEW v AS SELECT 1 AS a"), "CREATE VIEW\n");
    assert_eq!(run(s, "DROP TABLE t"), "DROP TABLE\n");
    assert!(run(s, "DROP VIEW v CASCADE").ends_with("DROP VIEW\n"));
    assert_eq!(only(&run(s, "SELECT count(*) FROM pg_depend WHERE classid = 2618")), "0");
}

/// What is done, and how many rows the view has then; fewer than none: it can't be read.
const STEPS: [(&str, i64); 6] = [
    (
        "INSERT INTO t SELECT i, repeat('x', 3000) FROM generate_series(1, 300) i; REFRESH MATERIALIZED VIEW m",
        300,
    ),
    ("DELETE FROM t WHERE a % 3 = 0; REFRESH MATERIALIZED VIEW CONCURRENTLY m", 200),
    (
        "INSERT INTO t SELECT i, 'y' FROM generate_series(1001, 1400) i; REFRESH MATERIALIZED VIEW m",
        600,
    ),
    ("REFRESH MATERIALIZED VIEW m WITH NO DATA", -1),
    ("REFRESH MATERIALIZED VIEW m", 600),
    ("DELETE FROM t; INSERT INTO t VALUES (7, 'z'); REFRESH MATERIALIZED VIEW CONCURRENTLY m", 1),
];

/// When a step began and was durably done, in operations of the disk.
struct Done {
    began: usize,
    ended: usize,
    rows: i64,
}

fn refresh_and_refresh(disk: &SimDisk) -> Vec<Done> {
    Engine::create(&small(), &env(disk)).unwrap();
    let engine = Engine::open(&small(), &env(disk)).unwrap();
    Cluster::create(&engine, "postgres").unwrap();
    let cluster = Cluster::open(&engine).unwrap();
    on(
        &cluster,
        "postgres",
        "CREATE TABLE t (a int, b text); CREATE MATERIALIZED VIEW m AS SELECT * FROM t; \
         CREATE UNIQUE INDEX m_a ON m (a); CREATE INDEX m_b ON m USING hash (b)",
    );
    let mut done = vec![Done { began: 0, ended: disk.operations(), rows: 0 }];
    for (step, rows) in STEPS {
        let began = disk.operations();
        let answer = on(&cluster, "postgres", step);
        assert!(answer.ends_with("REFRESH MATERIALIZED VIEW\n"), "{answer}");
        done.push(Done { began, ended: disk.operations(), rows });
        engine.checkpoint().unwrap();
    }
    engine.shutdown().unwrap();
    done
}

/// Opens what a crash left: the view is as it was before or after, its indexes agree with it, no file belongs to
/// nothing, and it can be refreshed.
fn verify(disk: &SimDisk, before: i64, after: i64) {
    let engine = Engine::open(&small(), &env(disk)).unwrap();
    let cluster = Cluster::open(&engine).unwrap();
    let count = on(&cluster, "postgres", "SELECT count(*) FROM m");
    let rows = if count.starts_with("55000") { -1 } else { only(&count).parse().unwrap() };
    assert!(rows == before || rows == after, "{count}: {before}, or {after}");
    for check in ["bt_index_check('m_a', true)", "hash_index_check('m_b', true)"] {
        let told = on(&cluster, "postgres", &format!("SELECT {check}"));
        assert!(told.ends_with("SELECT 1\n"), "{told}");
    }
    if rows > 0 {
        let read = on(&cluster, "postgres", "SELECT count(*) FROM m WHERE length(b) IN (1, 3000)");
        assert_eq!(only(&read), rows.to_string(), "its large values are there");
    }
    assert_no_file_is_left(&engine, &cluster);
    for refresh in ["REFRESH MATERIALIZED VIEW m", "REFRESH MATERIALIZED VIEW CONCURRENTLY m"] {
        assert_eq!(on(&cluster, "postgres", refresh), "REFRESH MATERIALIZED VIEW\n");
        let differ = "SELECT count(*) FROM (TABLE m EXCEPT ALL TABLE t) d";
        assert_eq!(only(&on(&cluster, "postgres", differ)), "0");
    }
    engine.shutdown().unwrap();
}

fn assert_no_file_is_left(engine: &Engine, cluster: &Arc<Cluster>) {
    let txn = Txn::attach(engine.txns(), 0, 0).unwrap();
    txn.begin(Isolation::ReadCommitted);
    let shared = cluster.shared_storage().map(|(storage, _)| storage);
    let mut known: BTreeSet<RelId> = shared.collect();
    for row in cluster.shared.scan(&txn, "pg_database", |_| true).unwrap() {
        let storage = cluster.storage(&txn, row.row.oid("oid")).unwrap();
        known.extend(storage.into_iter().map(|(storage, _)| storage));
    }
    txn.abort();
    let files: BTreeSet<RelId> = engine.pool().files().relations().unwrap().into_iter().collect();
    assert!(files.iter().all(|file| file.persistence() == Persistence::Permanent));
    assert_eq!(files, known, "files without an owner, or the other way round");
}

/// Crash points to look at in each step.
const POINTS: usize = 6;

#[test]
fn a_crash_leaves_the_rows_of_before_or_after() {
    let disk = SimDisk::new();
    let theirs = disk.clone();
    let steps = simulate(1, move || refresh_and_refresh(&theirs));
    let mut crashes = disk.crashes();
    let mut rng = fastrand::Rng::with_seed(1);
    for (number, pair) in steps.windows(2).enumerate() {
        let (before, step) = (&pair[0], &pair[1]);
        for point in 1..=POINTS {
            let at = step.began + (step.ended - step.began) * point / POINTS;
            crashes.advance_to(at);
            let left = crashes.image(&mut rng);
            let after = step.rows;
            // Acknowledged is there.
            let before = if at >= step.ended { after } else { before.rows };
            simulate((number * POINTS + point) as u64, move || verify(&left, before, after));
        }
    }
}
