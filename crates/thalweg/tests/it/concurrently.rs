//! Indexes made, remade and dropped beside writers: afterwards each finds what a sequential scan finds, and the
//! directory is found sound.

use super::{Scratch, check, config};

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use thalweg::{Connection, Database};

const WRITERS: u64 = 3;
const ROWS: u64 = 200;

/// One query's one row.
fn row(connection: &mut Connection<'_>, query: &str) -> Vec<Option<String>> {
    let mut answers = connection.query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    answers.pop().unwrap().rows.remove(0)
}

fn run(connection: &mut Connection<'_>, statement: &str) {
    connection.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Changes rows in every way until told to stop. Each writer has numbers of its own, so that none fails.
fn write(database: &Database, writer: u64, stop: &AtomicBool, done: &AtomicU64) {
    let mut connection = database.connect("postgres", "me").unwrap();
    let mut rng = fastrand::Rng::with_seed(writer);
    let mut next = ROWS + writer;
    while !stop.load(Ordering::Relaxed) {
        let (a, n) = (rng.u64(..next), rng.u64(..50));
        let mine = format!("a = {a} AND a % {WRITERS} = {writer}");
        let change = match rng.u8(..9) {
            0 | 1 => {
                next += WRITERS;
                format!("INSERT INTO t VALUES ({next}, {n}, {n}, 'u{next}', 0)")
            }
            2 => format!("DELETE FROM t WHERE {mine}"),
            3 | 4 => format!("UPDATE t SET v = v + 1 WHERE {mine}"),
            5 => format!("UPDATE t SET b = b + 1 WHERE {mine}"),
            6 => format!("UPDATE t SET c = c + 1, u = u || 'x' WHERE {mine}"),
            7 => format!("UPDATE t SET v = v + 1, b = {n} WHERE a % 40 = {n} AND {mine}"),
            _ => format!("UPDATE t SET c = {n} WHERE {mine}"),
        };
        match rng.u8(..5) {
            0 => run(&mut connection, &format!("BEGIN; {change}; ROLLBACK")),
            1 => {
                let more = format!("UPDATE t SET b = b + 1, v = 0 WHERE {mine}");
                let undone = format!("SAVEPOINT s; {more}; ROLLBACK TO s");
                run(&mut connection, &format!("BEGIN; {undone}; {change}; {more}; COMMIT"));
            }
            _ => run(&mut connection, &change),
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Several queries give the same by an index and without, all with one snapshot.
fn compare(connection: &mut Connection<'_>, conditions: &[&str]) {
    run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    for condition in conditions {
        let query = format!(
            "SELECT count(*), sum(a), sum(b), sum(c), sum(v), sum(length(u)) FROM t WHERE {condition}"
        );
        run(connection, "SET LOCAL enable_seqscan = off");
        let plan = connection.query(&format!("EXPLAIN {query}")).unwrap().remove(0);
        let plan: Vec<_> = plan.rows.into_iter().flatten().flatten().collect();
        assert!(plan.iter().any(|line| line.contains("Index")), "{condition}: {plan:?}");
        let by_index = row(connection, &query);
        run(connection, "SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off");
        run(connection, "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off");
        assert_eq!(by_index, row(connection, &query), "{condition}");
        run(connection, "SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on");
    }
    run(connection, "COMMIT");
}

const INDEXES: [(&str, &str); 5] = [
    ("CREATE INDEX CONCURRENTLY t_b ON t (b)", "b >= 0"),
    ("CREATE INDEX CONCURRENTLY t_h ON t USING hash (c)", "c = 7"),
    ("CREATE UNIQUE INDEX CONCURRENTLY t_u ON t (u)", "u >= ''"),
    ("CREATE INDEX CONCURRENTLY t_p ON t (b) WHERE c % 2 = 0", "b >= 0 AND c % 2 = 0"),
    ("CREATE INDEX CONCURRENTLY t_e ON t ((b + c))", "b + c >= 0"),
];

fn tables(connection: &mut Connection<'_>) {
    run(connection, "CREATE TABLE t (a int PRIMARY KEY, b int, c int, u text, v int)");
    run(
        connection,
        &format!(
            "INSERT INTO t SELECT g, g % 50, g % 50, 'u' || g, 0 FROM generate_series(0, {ROWS} - 1) g"
        ),
    );
}

/// Until the writers have done something more.
fn let_them_write(done: &AtomicU64) {
    let before = done.load(Ordering::Relaxed);
    while done.load(Ordering::Relaxed) < before + WRITERS {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Indexes are all valid, and none is left over.
fn are_whole(connection: &mut Connection<'_>, count: usize) {
    let states = row(
        connection,
        "SELECT count(*), count(*) FILTER (WHERE indisvalid AND indisready AND indislive) FROM \
         pg_index WHERE indrelid = 't'::regclass",
    );
    let expected = Some(count.to_string());
    assert_eq!(states, [expected.clone(), expected]);
}

fn sound(data: &Path) {
    let (sound, told, complaints) = check(data);
    assert!(sound, "{told}{complaints}");
}

#[test]
fn indexes_come_and_go_beside_writers() {
    let scratch = Scratch::new("beside");
    let data = scratch.0.join("data");
    let database = Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    tables(&mut connection);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (database, stop, done) = (&database, &stop, &done);
            scope.spawn(move || write(database, writer, stop, done));
        }
        let stopper = Stopper(&stop);
        for round in 0..2 {
            for (statement, condition) in INDEXES {
                run(&mut connection, statement);
                compare(&mut connection, &[condition]);
                let_them_write(&done);
                compare(&mut connection, &[condition]);
            }
            are_whole(&mut connection, 6);
            run(&mut connection, "REINDEX TABLE CONCURRENTLY t");
            are_whole(&mut connection, 6);
            let_them_write(&done);
            compare(&mut connection, &INDEXES.map(|(_, condition)| condition));
            if round == 0 {
                for name in ["t_b", "t_h", "t_u", "t_p", "t_e"] {
                    run(&mut connection, &format!("DROP INDEX CONCURRENTLY {name}"));
                }
                are_whole(&mut connection, 1);
            }
        }
        drop(stopper);
    });
    compare(&mut connection, &INDEXES.map(|(_, condition)| condition));
    drop(connection);
    database.close().unwrap();
    sound(&data);
}

/// Ends the writers also when the test fails.
struct Stopper<'s>(&'s AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writers race for the same keys while a unique index is made, so that it fails now and then. What is left is
/// dropped, and in the end one is made: no key is there twice.
#[test]
fn a_unique_index_is_unique_or_not_valid() {
    let scratch = Scratch::new("race");
    let data = scratch.0.join("data");
    let database = Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    run(&mut connection, "CREATE TABLE t (a int, n int)");
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut made, mut failed) = (0, 0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (database, stop, done) = (&database, &stop, &done);
            scope.spawn(move || race(database, writer, stop, done));
        }
        let stopper = Stopper(&stop);
        while made < 2 || failed < 2 {
            let_them_write(&done);
            match connection.query("CREATE UNIQUE INDEX CONCURRENTLY t_a ON t (a)") {
                Ok(_) => {
                    let_them_write(&done);
                    let count = "SELECT count(*) - count(DISTINCT a) FROM t";
                    assert_eq!(row(&mut connection, count), [Some("0".to_owned())]);
                    made += 1;
                }
                Err(error) => {
                    assert_eq!(error.sqlstate().to_string(), "23505", "{error}");
                    let valid =
                        "SELECT indisvalid FROM pg_index WHERE indexrelid = 't_a'::regclass";
                    assert_eq!(row(&mut connection, valid), [Some("f".to_owned())]);
                    failed += 1;
                }
            }
            run(&mut connection, "DROP INDEX CONCURRENTLY t_a");
            if failed > made {
                // Without duplicates for a moment, so that it can be made.
                let spare = "DELETE FROM t x WHERE EXISTS (SELECT 1 FROM t y WHERE y.a = x.a AND \
                             y.ctid < x.ctid)";
                run(&mut connection, &format!("BEGIN; LOCK TABLE t; {spare}; COMMIT"));
            }
        }
        drop(stopper);
    });
    drop(connection);
    database.close().unwrap();
    sound(&data);
}

/// Inserts and deletes keys of a few that all writers share.
fn race(database: &Database, writer: u64, stop: &AtomicBool, done: &AtomicU64) {
    let mut connection = database.connect("postgres", "me").unwrap();
    let mut rng = fastrand::Rng::with_seed(writer);
    while !stop.load(Ordering::Relaxed) {
        let a = rng.u64(..2000);
        let change = match rng.u8(..10) {
            0..6 => format!("INSERT INTO t VALUES ({a}, {writer})"),
            _ => format!("DELETE FROM t WHERE a BETWEEN {a} AND {a} + 100"),
        };
        match connection.query(&change) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.sqlstate().to_string(), "23505", "{change}: {error}"),
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}
