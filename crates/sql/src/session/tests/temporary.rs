//! Temporary relations end with their session, however that ends.

use super::*;

const MAKE: &str = "CREATE TABLE base1 (i int);
    CREATE TEMP VIEW tv AS SELECT * FROM base1;
    CREATE TEMP TABLE tt (k serial PRIMARY KEY, v text);
    INSERT INTO tt (v) SELECT repeat('x', 100) FROM generate_series(1, 1000);
    CREATE TEMP SEQUENCE ts;
    CREATE TEMP VIEW tv2 AS SELECT * FROM tv, tt";

const LEFT: &str = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname LIKE 'pg_temp%'";

/// How many frames hold pages of temporary relations.
fn frames(bench: &Bench) -> usize {
    let residents = bench.cluster.engine().pool().residents().flatten();
    residents.filter(|page| page.rel.persistence() == base::Persistence::Temporary).count()
}

#[test]
fn temporary_relations_go_with_their_session() {
    let mut bench = Bench::with_room();
    let mut other = bench.another();
    run(&mut other, MAKE);
    // More than go in one transaction.
    for number in 0..150 {
        run(&mut other, &format!("CREATE TEMP VIEW v{number} AS SELECT i FROM base1"));
    }
    assert!(bench.run("DROP TABLE base1").starts_with("2BP01"));
    assert!(frames(&bench) > 10);
    drop(other);
    assert_eq!(bench.run(LEFT), "[count]\n0\nSELECT 1\n");
    // Files go once the log that says so is durable.
    let wal = bench.cluster.engine().wal();
    wal.flush(wal.position());
    for _ in 0..500 {
        if frames(&bench) == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(frames(&bench), 0, "the pages went, too");
    assert_eq!(bench.run("DROP TABLE base1"), "DROP TABLE\n");
}

#[test]
fn a_transaction_that_the_session_leaves_open_holds_nothing_up() {
    let mut bench = Bench::new();
    for end in ["BEGIN; CREATE TEMP TABLE more (i int)", "BEGIN; SELECT nothing", "BEGIN READ ONLY"]
    {
        let mut other = bench.another();
        run(&mut other, "SET default_transaction_read_only = on; SET lock_timeout = 1");
        run(&mut other, &MAKE.replace("CREATE TABLE", "BEGIN READ WRITE; CREATE TABLE"));
        run(&mut other, "COMMIT");
        run(&mut other, end);
        drop(other);
        assert_eq!(bench.run(LEFT), "[count]\n0\nSELECT 1\n", "{end}");
        assert_eq!(bench.run("DROP TABLE base1"), "DROP TABLE\n", "{end}");
    }
    // One whose transaction made its first temporary relation has none.
    let mut other = bench.another();
    run(&mut other, "BEGIN; CREATE TEMP TABLE first (i int)");
    drop(other);
    assert_eq!(bench.run(LEFT), "[count]\n0\nSELECT 1\n");
}

/// The schema of temporary relations is made with the first of them, and undone with it.
#[test]
fn a_savepoint_takes_the_schema_back() {
    let known = "SELECT c.relname, n.nspname LIKE 'pg_temp%' FROM pg_class c
        LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname IN ('t1', 't2') ORDER BY 1";
    let both = "[relname|?column?]\nt1|t\nt2|t\nSELECT 2\n";
    let one = "[relname|?column?]\nt2|t\nSELECT 1\n";
    let make = "CREATE TEMP TABLE t1 (i int)";
    let cases = [
        (format!("SAVEPOINT a; {make}; ROLLBACK TO a"), one),
        (format!("SAVEPOINT a; SAVEPOINT b; {make}; RELEASE b; ROLLBACK TO a"), one),
        (format!("SAVEPOINT a; {make}; SAVEPOINT b; ROLLBACK TO b"), both),
        (format!("{make}; SAVEPOINT a; SELECT nothing; ROLLBACK TO a"), both),
        (format!("SAVEPOINT a; {make}; SELECT nothing; ROLLBACK TO a"), one),
        (format!("SAVEPOINT a; {make}; RELEASE a; SAVEPOINT b; ROLLBACK TO b"), both),
        (format!("SAVEPOINT a; {make}; SAVEPOINT b; ROLLBACK TO a"), one),
    ];
    for (before, expected) in cases {
        let mut bench = Bench::new();
        bench.run("BEGIN");
        before.split("; ").for_each(|statement| drop(bench.run(statement)));
        assert_eq!(bench.run("CREATE TEMP TABLE t2 (i int)"), "CREATE TABLE\n", "{before}");
        assert_eq!(bench.run("COMMIT"), "COMMIT\n", "{before}");
        assert_eq!(bench.run(known), expected, "{before}");
    }
}

#[test]
fn discarded_temporary_relations_make_room_for_others() {
    let mut bench = Bench::new();
    let mut other = bench.another();
    run(&mut other, MAKE);
    assert_eq!(run(&mut other, "DISCARD TEMP"), "DISCARD TEMP\n");
    assert_eq!(bench.run(LEFT), "[count]\n0\nSELECT 1\n");
    run(&mut other, "CREATE TEMP TABLE tt (i int)");
    assert_eq!(run(&mut other, "SELECT * FROM tt"), "[i]\nSELECT 0\n");
    drop(other);
    assert_eq!(bench.run(LEFT), "[count]\n0\nSELECT 1\n");
}

#[test]
fn foreign_keys_between_temporary_tables_go_with_them() {
    let mut bench = Bench::new();
    let make = "CREATE TEMP TABLE a (i int PRIMARY KEY); CREATE TEMP TABLE b (i int REFERENCES a)";
    let keys = "SELECT (SELECT count(*) FROM pg_trigger) AS triggers,
        (SELECT count(*) FROM pg_constraint WHERE contype = 'f') AS keys";
    let mut other = bench.another();
    run(&mut other, make);
    assert_eq!(bench.run(keys), "[triggers|keys]\n4|1\nSELECT 1\n");
    run(&mut other, "DISCARD TEMP");
    assert_eq!(bench.run(keys), "[triggers|keys]\n0|0\nSELECT 1\n");
    run(&mut other, make);
    drop(other);
    assert_eq!(bench.run(keys), "[triggers|keys]\n0|0\nSELECT 1\n");
}

#[test]
fn an_abandoned_session_leaves_its_own_to_the_next_in_its_place() {
    let mut bench = Bench::new();
    let mut other = bench.another();
    run(&mut other, MAKE);
    run(&mut other, "BEGIN; DROP VIEW tv2; CREATE TABLE undone (i int)");
    other.abandon();
    assert_eq!(
        bench.run("SELECT * FROM undone").lines().next().unwrap(),
        "42P01: relation \"undone\" does not exist"
    );
    assert_ne!(bench.run(LEFT), "[count]\n0\nSELECT 1\n");
    let mut next = bench.another();
    run(&mut next, "CREATE TEMP TABLE t (i int)");
    assert_eq!(bench.run(LEFT), "[count]\n1\nSELECT 1\n");
    assert_eq!(bench.run("DROP TABLE base1"), "DROP TABLE\n");
}

#[test]
fn what_a_crash_leaves_goes_with_the_next_start() {
    let mut bench = Bench::new();
    bench.run("CREATE DATABASE d");
    for database in ["d", "postgres"] {
        let mut other = Session::open(&bench.cluster, database, "postgres").unwrap();
        run(&mut other, MAKE);
        // The session's end finds nothing to drop, as if it had not come.
        other.backend.catalog.set_temporary(None);
    }
    assert!(bench.run("DROP TABLE base1").starts_with("2BP01"));
    let mut bench = bench.restarted();
    for database in ["d", "postgres"] {
        let mut other = Session::open(&bench.cluster, database, "postgres").unwrap();
        assert_eq!(run(&mut other, LEFT), "[count]\n0\nSELECT 1\n");
        assert_eq!(run(&mut other, "DROP TABLE base1"), "DROP TABLE\n");
    }
    bench.run("DROP DATABASE d");
}

/// Pages of temporary relations are counted as others are: those that sessions find, read and make room with, and those
/// that the cleaner writes.
#[test]
fn what_is_done_with_temporary_relations_is_counted() {
    let mut bench = Bench::exactly(&EngineConfig { shared_buffers: 64, ..EngineConfig::default() });
    bench.run(
        "CREATE TEMP TABLE tt AS SELECT i, repeat('x', 500) AS v FROM generate_series(1, 3000) i",
    );
    bench.run("CREATE INDEX tt_i ON tt (i)");
    for _ in 0..2 {
        bench.run("SELECT count(v) FROM tt; SELECT v FROM tt WHERE i = 7");
    }
    let mut number = |what: &str| {
        let from = "FROM pg_stat_io WHERE object = 'temp relation'";
        let out = bench.run(&format!("SELECT {what} {from}"));
        out.lines().nth(1).unwrap_or(&out).parse::<i64>().unwrap_or_else(|_| panic!("{out}"))
    };
    let of_clients = "FILTER (WHERE backend_type = 'client backend')::bigint";
    assert!(number(&format!("sum(reads) {of_clients}")) > 150);
    assert!(number(&format!("sum(extends) {of_clients}")) > 150);
    assert!(number("sum(hits) FILTER (WHERE context = 'normal')::bigint") > 0);
    let written = number("sum(writes)::bigint");
    assert!(written > 100, "the table has more pages than the cache: {written}");
    assert_eq!(number("count(writebacks) + count(fsyncs)"), 0, "they are not made durable");
}
