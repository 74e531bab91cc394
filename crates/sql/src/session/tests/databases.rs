//! Databases: what a session sees of them, and what a crash leaves of one that was being made or dropped.

use std::collections::BTreeSet;

use base::disk::sim::SimDisk;
use base::ids::{Persistence, RelId};
use base::sim;
use storage::lock::{LockMode, LockTag};
use storage::txn::{Isolation, Txn};

use super::*;
use crate::catalog::store::database_tag;

/// Opens a session and runs what it is told.
pub(super) fn on(cluster: &Arc<Cluster>, database: &str, sql: &str) -> String {
    let mut session = match Session::open(cluster, database, "postgres") {
        Ok(session) => session,
        Err(error) => return shown(&error),
    };
    let answer = run(&mut session, sql);
    cluster.engine().wal().flush(session.must_be_durable());
    answer
}

#[test]
fn sessions_see_their_own_database_and_nothing_of_others() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)"),
        "CREATE TABLE\nINSERT 0 1\n"
    );
    assert_eq!(bench.run("CREATE DATABASE other"), "CREATE DATABASE\n");
    let cluster = &bench.cluster;
    assert!(on(cluster, "other", "SELECT * FROM t").starts_with("42P01"));
    let made = on(
        cluster,
        "other",
        "CREATE TABLE t (b text); INSERT INTO t VALUES ('x'); SELECT * FROM t",
    );
    assert_eq!(made, "CREATE TABLE\nINSERT 0 1\n[b]\nx\nSELECT 1\n");
    assert_eq!(bench.run("SELECT * FROM t"), "[a]\n1\nSELECT 1\n");
    // The same definition, the same OIDs, other rows: a copy has what its template had.
    assert_eq!(bench.run("CREATE DATABASE third TEMPLATE other"), "CREATE DATABASE\n");
    let same = "SELECT 't'::regclass::oid::int8";
    let cluster = &bench.cluster;
    assert_eq!(on(cluster, "third", same), on(cluster, "other", same));
    on(cluster, "third", "UPDATE t SET b = 'y'");
    assert_eq!(on(cluster, "other", "SELECT * FROM t"), "[b]\nx\nSELECT 1\n");
    assert_eq!(on(cluster, "third", "SELECT * FROM t"), "[b]\ny\nSELECT 1\n");
}

#[test]
fn a_copy_is_sound_whatever_its_template_went_through() {
    let mut bench = Bench::new();
    let made = bench.run(
        "CREATE TABLE item (id serial PRIMARY KEY, name text UNIQUE, n int CHECK (n > 0)); \
         CREATE TABLE line (item int REFERENCES item ON DELETE CASCADE); \
         CREATE INDEX ON item (lower(name)) WHERE n > 5; \
         CREATE UNLOGGED TABLE u (a int PRIMARY KEY); INSERT INTO u VALUES (1); \
         CREATE VIEW v AS SELECT name FROM item; CREATE TEMPORARY TABLE passing (a int); \
         INSERT INTO item (name, n) SELECT g::text, g FROM generate_series(1, 2000) g; \
         INSERT INTO line SELECT id FROM item; DELETE FROM item WHERE id % 3 = 0",
    );
    assert!(made.ends_with("DELETE 666\n"), "{made}");
    bench.run("VACUUM item");
    bench.run("UPDATE item SET n = n + 1 WHERE id % 2 = 0");
    bench.run("BEGIN; INSERT INTO item (name, n) VALUES ('gone', 1); ROLLBACK");
    assert_eq!(bench.run("CREATE DATABASE copy TEMPLATE postgres"), "CREATE DATABASE\n");
    let sums = "SELECT count(*), sum(n), min(lower(name)) FROM item; SELECT count(*) FROM line; \
                SELECT count(*) FROM u; SELECT count(*) FROM v";
    assert_eq!(on(&bench.cluster, "copy", sums), bench.run(sums));
    let mut copy = Session::open(&bench.cluster, "copy", "postgres").unwrap();
    let mut ask = |sql: &str| run(&mut copy, sql);
    assert!(ask("INSERT INTO item (name, n) VALUES ('x', 0)").starts_with("23514"));
    assert!(ask("INSERT INTO item (name, n) VALUES ('1', 1)").starts_with("23505"));
    assert!(ask("INSERT INTO line VALUES (3)").starts_with("23503"));
    assert_eq!(
        ask("INSERT INTO item (name, n) VALUES ('x', 1) RETURNING id"),
        "[id]\n2004\nINSERT 0 1\n"
    );
    assert_eq!(
        ask("DELETE FROM item WHERE id < 1000; SELECT count(*) FROM line"),
        "DELETE 666\n[count]\n668\nSELECT 1\n"
    );
    // A name that the template's session had for itself does not stand in the way.
    assert_eq!(
        ask("CREATE TEMPORARY TABLE passing (b int); SELECT * FROM passing"),
        "CREATE TABLE\n[b]\nSELECT 0\n"
    );
    assert_eq!(ask("VACUUM"), "VACUUM\n");
}

#[test]
fn only_the_opening_of_a_session_locks_its_database() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)");
    bench.run("BEGIN; SELECT * FROM t WHERE a = 1");
    let locks = bench.session.backend.txn.locks();
    let tag: LockTag = database_tag(bench.session.backend.catalog.database);
    assert!(!locks.holds(tag, LockMode::RowExclusive), "statements pay nothing for databases");
    assert_eq!(locks.len(), 1, "the table alone");
}

#[test]
fn advisory_locks_of_one_database_mean_nothing_in_another() {
    let mut bench = Bench::new();
    bench.run("CREATE DATABASE other");
    bench.run("SELECT pg_advisory_lock(7)");
    let ask = "SELECT pg_try_advisory_lock(7) AS got";
    assert_eq!(on(&bench.cluster, "postgres", ask), "[got]\nf\nSELECT 1\n");
    assert_eq!(on(&bench.cluster, "other", ask), "[got]\nt\nSELECT 1\n");
}

#[test]
fn background_vacuum_cleans_the_tables_of_every_database() {
    let mut bench = Bench::new();
    bench.cluster.start_vacuum(|complaint| panic!("{complaint}"));
    bench.run("CREATE DATABASE other");
    let mut other = Session::open(&bench.cluster, "other", "postgres").unwrap();
    run(&mut other, "CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 1000)");
    run(&mut other, "DELETE FROM t");
    let count = "SELECT pg_stat_get_autovacuum_count('t'::regclass) > 0 AS done";
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while run(&mut other, count) != "[done]\nt\nSELECT 1\n" {
        assert!(std::time::Instant::now() < give_up, "nobody vacuums the other database");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(other);
    assert_eq!(bench.run("DROP DATABASE other"), "DROP DATABASE\n");
}

#[test]
fn a_database_with_other_sessions_is_neither_dropped_nor_copied_nor_renamed() {
    let mut bench = Bench::new();
    bench.run("CREATE DATABASE a");
    bench.run("CREATE DATABASE b");
    bench.run("CREATE DATABASE c");
    let open = |name| Session::open(&bench.cluster, name, "postgres").unwrap();
    let users = [open("a"), open("b"), open("b"), open("c")];
    let one = "DETAIL: There is 1 other session using the database.\n";
    let tried = [
        (
            "DROP DATABASE a",
            format!("55006: database \"a\" is being accessed by other users\n{one}"),
        ),
        (
            "CREATE DATABASE d TEMPLATE b",
            "55006: source database \"b\" is being accessed by other users\n\
             DETAIL: There are 2 other sessions using the database.\n"
                .to_owned(),
        ),
        (
            "ALTER DATABASE c RENAME TO e",
            format!("55006: database \"c\" is being accessed by other users\n{one}"),
        ),
    ];
    let cluster = &bench.cluster;
    std::thread::scope(|scope| {
        for (sql, refusal) in &tried {
            scope.spawn(move || assert_eq!(on(cluster, "postgres", sql), *refusal));
        }
    });
    drop(users);
    assert_eq!(bench.run("DROP DATABASE a"), "DROP DATABASE\n");
    assert_eq!(
        bench.run("DROP DATABASE postgres"),
        "55006: cannot drop the currently open database\n"
    );
}

pub(super) fn small() -> EngineConfig {
    EngineConfig {
        shared_buffers: buffers(1024),
        wal_buffers: 1 << 20,
        wal_segment_bytes: 4 << 20,
        ..EngineConfig::default()
    }
}

pub(super) fn env(disk: &SimDisk) -> Env {
    Env::new(Arc::new(disk.clone()))
}

/// A statement, when it began and was durably done (in operations of the disk), and the databases then.
struct Step {
    began: usize,
    done: usize,
    databases: BTreeSet<&'static str>,
}

const STATEMENTS: [(&str, &[&str]); 4] = [
    ("CREATE DATABASE one", &["one"]),
    ("CREATE DATABASE two TEMPLATE one", &["one", "two"]),
    ("DROP DATABASE one", &["two"]),
    ("CREATE DATABASE one TEMPLATE two CONNECTION LIMIT 7", &["one", "two"]),
];

fn make_and_drop(disk: &SimDisk) -> Vec<Step> {
    let env = env(disk);
    Engine::create(&small(), &env).unwrap();
    let engine = Engine::open(&small(), &env).unwrap();
    Cluster::create(&engine, "postgres").unwrap();
    let cluster = Cluster::open(&engine).unwrap();
    on(
        &cluster,
        "template1",
        "CREATE TABLE t (a serial PRIMARY KEY, b text); \
         INSERT INTO t (b) SELECT 'row' FROM generate_series(1, 500)",
    );
    let mut steps = Vec::new();
    for (sql, left) in STATEMENTS {
        let began = disk.operations();
        let answer = on(&cluster, "postgres", sql);
        assert!(answer.ends_with("DATABASE\n"), "{answer}");
        let databases = left.iter().copied().collect();
        steps.push(Step { began, done: disk.operations(), databases });
        engine.checkpoint().unwrap();
    }
    engine.shutdown().unwrap();
    steps
}

/// Opens what a crash left: the databases are those before or after the statement at hand, each of them
/// whole, and no file is there that belongs to none.
fn verify(disk: &SimDisk, before: &BTreeSet<&str>, after: &BTreeSet<&str>) {
    let engine = Engine::open(&small(), &env(disk)).unwrap();
    let cluster = Cluster::open(&engine).unwrap();
    let txn = Txn::attach(engine.txns(), 0, 0).unwrap();
    txn.begin(Isolation::ReadCommitted);
    let rows = cluster.shared.scan(&txn, "pg_database", |_| true).unwrap();
    let files: BTreeSet<RelId> = engine.pool().files().relations().unwrap().into_iter().collect();
    let shared = cluster.shared.system_tables().flat_map(|table| {
        std::iter::once(table.storage).chain(table.indexes.iter().map(|index| index.storage))
    });
    let mut known: BTreeSet<RelId> = shared.collect();
    for row in &rows {
        let storage = cluster.storage(&txn, row.row.oid("oid")).unwrap();
        known.extend(storage.into_iter().map(|(storage, _)| storage));
    }
    txn.abort();
    assert!(files.iter().all(|file| file.persistence() == Persistence::Permanent));
    assert_eq!(files, known, "files without an owner, or the other way round");
    let initial = ["postgres", "template0", "template1"];
    let names = rows.iter().map(|row| row.row.text("datname"));
    let made: BTreeSet<&str> = names.filter(|name| !initial.contains(name)).collect();
    assert!(made == *before || made == *after, "{made:?}: {before:?}, or {after:?}");
    for name in &made {
        let answer = on(
            &cluster,
            name,
            "INSERT INTO t (b) VALUES ('new'); SELECT count(*), count(DISTINCT a), sum(a) FROM t; \
             SELECT b FROM t WHERE a = 250; DELETE FROM t WHERE b = 'new'",
        );
        let (inserted, rest) = answer.split_once("[count").unwrap();
        assert_eq!(inserted, "INSERT 0 1\n");
        assert!(rest.starts_with("|count|sum]\n501|501|"), "{name}: {rest}");
        assert!(rest.ends_with("[b]\nrow\nSELECT 1\nDELETE 1\n"), "{name}: {rest}");
    }
    assert_eq!(on(&cluster, "postgres", "CREATE DATABASE fresh"), "CREATE DATABASE\n");
    assert_eq!(on(&cluster, "fresh", "SELECT count(*) FROM t"), "[count]\n500\nSELECT 1\n");
    engine.shutdown().unwrap();
}

/// On a thread with the stack that parsing needs, in a simulation.
pub(super) fn simulate<R: Send + 'static>(
    seed: u64,
    job: impl FnOnce() -> R + Send + 'static,
) -> R {
    let thread = std::thread::Builder::new().stack_size(crate::session::THREAD_STACK_BYTES);
    thread.spawn(move || sim::run(seed, job)).unwrap().join().unwrap()
}

/// Crash points to look at in each statement.
const POINTS: usize = 5;

#[test]
fn a_crash_leaves_a_database_whole_or_not_at_all() {
    let disk = SimDisk::new();
    let theirs = disk.clone();
    let steps = simulate(1, move || make_and_drop(&theirs));
    let mut crashes = disk.crashes();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut before = BTreeSet::new();
    for (number, step) in steps.iter().enumerate() {
        for point in 1..=POINTS {
            let at = step.began + (step.done - step.began) * point / POINTS;
            crashes.advance_to(at);
            let left = crashes.image(&mut rng);
            let after = step.databases.clone();
            // Acknowledged is there.
            let before = if at >= step.done { after.clone() } else { before.clone() };
            simulate((number * POINTS + point) as u64, move || verify(&left, &before, &after));
        }
        before = step.databases.clone();
    }
}

#[test]
fn a_lock_that_is_not_had_is_waited_for_once() {
    let took = simulate(1, || {
        let (env, config) = (env(&SimDisk::new()), small());
        Engine::create(&config, &env).unwrap();
        let engine = Engine::open(&config, &env).unwrap();
        Cluster::create(&engine, "postgres").unwrap();
        let cluster = Cluster::open(&engine).unwrap();
        let mut holder = Session::open(&cluster, "postgres", "postgres").unwrap();
        assert_eq!(run(&mut holder, "CREATE TABLE t (a int)"), "CREATE TABLE\n");
        assert_eq!(run(&mut holder, "BEGIN; LOCK TABLE t"), "BEGIN\nLOCK TABLE\n");
        let mut waiter = Session::open(&cluster, "postgres", "postgres").unwrap();
        run(&mut waiter, "SET lock_timeout = '1s'");
        let began = base::clock::now();
        let answer = run(&mut waiter, "SELECT * FROM t WHERE a = 1");
        assert!(answer.starts_with("55P03: canceling statement due to lock timeout"), "{answer}");
        let took = base::clock::now().since(began);
        drop((holder, waiter));
        engine.shutdown().unwrap();
        took
    });
    // By the simulation's clock, which goes on only when something waits.
    assert!((1.0..1.5).contains(&took.as_secs_f64()), "{took:?}");
}
