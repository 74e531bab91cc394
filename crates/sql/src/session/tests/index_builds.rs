//! Indexes built over rows that have several versions on their page.

use super::*;

/// A row whose newest version hangs on a root with other values, and one that was deleted.
const CHAINS: &str = "CREATE TABLE t (k int, v text);
    INSERT INTO t VALUES (1, 'first'), (2, 'second'), (3, 'third');";
const CHANGES: &str = "UPDATE t SET k = 10 WHERE k = 1; UPDATE t SET k = 11 WHERE k = 10;
    DELETE FROM t WHERE k = 3;";

fn uses_index(session: &mut Session, query: &str) -> bool {
    run(session, &format!("EXPLAIN {query}")).contains("Index Scan")
}

#[test]
fn rows_are_found_by_an_index_built_over_their_chains() {
    for build in [
        "CREATE INDEX i ON t (k)",
        "CREATE UNIQUE INDEX i ON t (k)",
        "ALTER TABLE t ADD CONSTRAINT i UNIQUE (k)",
        "ALTER TABLE t ADD CONSTRAINT i PRIMARY KEY (k)",
    ] {
        let mut bench = Bench::new();
        bench.run("SET enable_seqscan = off");
        bench.run("SET enable_bitmapscan = off");
        bench.run(CHAINS);
        bench.run(CHANGES);
        assert!(bench.run(build).contains("TABLE") || build.contains("INDEX"), "{build}");
        let find =
            |session: &mut Session, k: i32| run(session, &format!("SELECT v FROM t WHERE k = {k}"));
        let session = &mut bench.session;
        for step in ["", "VACUUM t", "REINDEX TABLE t", "VACUUM t", "REINDEX INDEX i"] {
            run(session, step);
            assert!(uses_index(session, "SELECT v FROM t WHERE k = 11"), "{build}, {step}");
            assert_eq!(find(session, 11), "[v]\nfirst\nSELECT 1\n", "{build}, {step}");
            for gone in [1, 3, 10] {
                assert_eq!(find(session, gone), "[v]\nSELECT 0\n", "{build}, {step}, {gone}");
            }
        }
        // Enough versions that the page is pruned, and the root redirects.
        for i in 0..2000 {
            assert_eq!(run(session, &format!("UPDATE t SET v = '{i}' WHERE k = 11")), "UPDATE 1\n");
        }
        assert_eq!(find(session, 11), "[v]\n1999\nSELECT 1\n");
        assert_eq!(run(session, "UPDATE t SET k = 1 WHERE k = 11"), "UPDATE 1\n");
        assert_eq!(find(session, 1), "[v]\n1999\nSELECT 1\n");
        assert_eq!(find(session, 11), "[v]\nSELECT 0\n");
    }
}

#[test]
fn an_index_is_not_for_snapshots_older_than_versions_it_does_not_know() {
    let mut bench = Bench::new();
    let (mut old, mut new) = (bench.another(), bench.another());
    bench.run(CHAINS);
    run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(run(&mut old, "SELECT count(*) FROM t"), "[count]\n3\nSELECT 1\n");
    run(&mut old, "PREPARE p AS SELECT v FROM t WHERE k = $1");
    // The old snapshot's lock on the table stands against no writer, and against no index.
    bench.run(CHANGES);
    assert_eq!(bench.run("CREATE UNIQUE INDEX i ON t (k)"), "CREATE INDEX\n");
    assert_eq!(
        bench.run("SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'i'::regclass"),
        "[indcheckxmin]\nt\nSELECT 1\n"
    );
    for key in [1, 2, 3] {
        let query = format!("SELECT v FROM t WHERE k = {key}");
        assert!(!uses_index(&mut old, &query));
        assert!(run(&mut old, &query).ends_with("SELECT 1\n"), "{key}");
        assert!(run(&mut old, &format!("EXECUTE p({key})")).ends_with("SELECT 1\n"), "{key}");
    }
    assert!(run(&mut old, "EXECUTE p(11)").ends_with("SELECT 0\n"));
    let query = "SELECT v FROM t WHERE k = 11";
    assert!(uses_index(&mut new, query));
    assert_eq!(run(&mut new, query), "[v]\nfirst\nSELECT 1\n");
    // What the old snapshot made do without, its session's next transaction uses.
    run(&mut old, "COMMIT");
    assert!(uses_index(&mut old, query));
    assert_eq!(run(&mut old, "EXECUTE p(11)"), "[v]\nfirst\nSELECT 1\n");
    assert!(run(&mut old, "EXECUTE p(1)").ends_with("SELECT 0\n"));
}

#[test]
fn a_plan_that_others_made_since_is_not_for_an_older_snapshot() {
    let mut bench = Bench::new();
    let (mut old, mut new) = (bench.another(), bench.another());
    bench.run(CHAINS);
    run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    bench.run(CHANGES);
    assert_eq!(bench.run("CREATE UNIQUE INDEX i ON t (k)"), "CREATE INDEX\n");
    let query = "SELECT v FROM t WHERE k = 1";
    assert!(uses_index(&mut new, query));
    assert_eq!(run(&mut new, query), "[v]\nSELECT 0\n");
    assert!(run(&mut old, query).ends_with("SELECT 1\n"));
    run(&mut old, "COMMIT");
    assert_eq!(run(&mut old, query), "[v]\nSELECT 0\n");
}

#[test]
fn a_plan_made_before_is_not_for_a_snapshot_taken_over() {
    let mut bench = Bench::new();
    let (mut old, mut taker) = (bench.another(), bench.another());
    bench.run(CHAINS);
    let exported = run(&mut old, "BEGIN; SELECT pg_export_snapshot()");
    let name = exported.lines().nth(2).unwrap().to_owned();
    bench.run(CHANGES);
    assert_eq!(bench.run("CREATE UNIQUE INDEX i ON t (k)"), "CREATE INDEX\n");
    let query = "SELECT v FROM t WHERE k = 1";
    run(&mut taker, "PREPARE p AS SELECT v FROM t WHERE k = $1");
    assert_eq!(run(&mut taker, query), "[v]\nSELECT 0\n");
    assert_eq!(run(&mut taker, "EXECUTE p (1)"), "[v]\nSELECT 0\n");
    run(&mut taker, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(run(&mut taker, &format!("SET TRANSACTION SNAPSHOT '{name}'")), "SET\n");
    run(&mut old, "COMMIT");
    assert!(run(&mut taker, query).ends_with("SELECT 1\n"));
    assert!(run(&mut taker, "EXECUTE p (1)").ends_with("SELECT 1\n"));
    run(&mut taker, "COMMIT");
    assert_eq!(run(&mut taker, query), "[v]\nSELECT 0\n");
}

#[test]
fn a_transaction_finds_its_own_changes_by_the_index_it_builds() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let mut bench = Bench::new();
        bench.run("SET enable_seqscan = off");
        bench.run(CHAINS);
        bench.run(&format!("BEGIN ISOLATION LEVEL {level}"));
        bench.run(CHANGES);
        bench.run("SAVEPOINT s");
        bench.run("DECLARE c CURSOR FOR SELECT k FROM t ORDER BY k");
        assert!(bench.run("CREATE INDEX i ON t (k)").starts_with("55006"));
        bench.run("ROLLBACK TO s");
        assert_eq!(bench.run("CREATE INDEX i ON t (k)"), "CREATE INDEX\n");
        bench.run("UPDATE t SET v = 'again' WHERE k = 11");
        assert_eq!(bench.run("SELECT v FROM t WHERE k = 11"), "[v]\nagain\nSELECT 1\n");
        assert_eq!(bench.run("SELECT v FROM t WHERE k = 1"), "[v]\nSELECT 0\n");
        assert_eq!(bench.run("SELECT k FROM t ORDER BY k"), "[k]\n2\n11\nSELECT 2\n");
        bench.run("SAVEPOINT s; DROP INDEX i; ROLLBACK TO s");
        assert_eq!(bench.run("SELECT v FROM t WHERE k = 11"), "[v]\nagain\nSELECT 1\n");
        assert_eq!(bench.run("COMMIT"), "COMMIT\n");
        assert!(uses_index(&mut bench.session, "SELECT v FROM t WHERE k = 11"));
        assert_eq!(bench.run("SELECT v FROM t WHERE k = 11"), "[v]\nagain\nSELECT 1\n");
    }
}

#[test]
fn duplicates_among_rows_as_they_are_refuse_a_unique_index() {
    let mut bench = Bench::new();
    bench.run(CHAINS);
    bench.run("UPDATE t SET k = 2 WHERE k = 1");
    assert_eq!(
        bench.run("CREATE UNIQUE INDEX i ON t (k)"),
        "23505: could not create unique index \"i\"\nDETAIL: Key (k)=(2) is duplicated.\n"
    );
    // A key that only old versions share is none.
    bench.run("UPDATE t SET k = 1 WHERE v = 'first'");
    assert_eq!(bench.run("CREATE UNIQUE INDEX i ON t (k)"), "CREATE INDEX\n");
    assert!(bench.run("INSERT INTO t VALUES (2, 'x')").starts_with("23505"));
    assert_eq!(
        bench.run("INSERT INTO t VALUES (1, 'x') ON CONFLICT (k) DO UPDATE SET v = 'met'"),
        "INSERT 0 1\n"
    );
    assert_eq!(bench.run("SELECT v FROM t WHERE k = 1"), "[v]\nmet\nSELECT 1\n");
}
