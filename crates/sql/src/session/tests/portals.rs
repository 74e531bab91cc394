//! What the extended protocol can do that a script of psql can't: portals that FETCH reads, that read tables, that fail,
//! or end in a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// A portal for a text, of which nothing is asked yet.
fn bound(bench: &mut Bench, portal: &str, text: &str, params: &[&str]) {
    let session = &mut bench.session;
    session.parse("", text, &[]).unwrap();
    let params: Vec<Option<&[u8]>> = params.iter().map(|param| Some(param.as_bytes())).collect();
    session.bind(portal, "", &params, &Formats::default(), Formats::default()).unwrap();
}

/// Asks a portal for so many rows, as a message of its own; what was told.
fn ask(bench: &mut Bench, portal: &str, rows: u32) -> String {
    let (mut client, session) = (Recorder::default(), &mut bench.session);
    let result = session.execute(portal, rows, &mut client);
    if let Err(error) = &result {
        session.fail(error);
        client.out.push_str(&shown(error));
    }
    if let Err(error) = session.sync() {
        session.fail(&error);
        client.out.push_str(&shown(&error));
    }
    client.out
}

fn count(bench: &mut Bench, table: &str) -> String {
    let told = bench.run(&format!("SELECT count(*) FROM {table}"));
    told.lines().nth(1).unwrap().to_owned()
}

fn five_and_none() -> Bench {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (i int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5)");
    bench.run("CREATE TABLE u (i int PRIMARY KEY)");
    bench
}

#[test]
fn fetch_from_what_changes_rows_changes_all_of_them() {
    let mut bench = five_and_none();
    for insert in [
        "INSERT INTO u SELECT i FROM t RETURNING i",
        "WITH w AS (INSERT INTO u SELECT i FROM t) SELECT i FROM t ORDER BY i",
    ] {
        bench.run("BEGIN");
        bound(&mut bench, "p", insert, &[]);
        assert_eq!(bench.run("FETCH 2 p"), "[i]\n1\n2\nFETCH 2\n");
        assert_eq!(count(&mut bench, "u"), "5", "{insert}");
        assert_eq!(ask(&mut bench, "p", 2), "3\n4\nSUSPENDED\n");
        assert_eq!(bench.run("FETCH ALL p"), "[i]\n5\nFETCH 1\n");
        assert_eq!(bench.run("FETCH 1 p"), "[i]\nFETCH 0\n");
        assert_eq!(count(&mut bench, "u"), "5", "{insert}");
        bench.run("ROLLBACK");
    }
}

#[test]
fn what_is_done_is_not_done_again() {
    let mut bench = five_and_none();
    // Of one row, which goes a way of its own, and of several.
    for insert in ["INSERT INTO u VALUES (7) RETURNING i", "INSERT INTO u SELECT 7 RETURNING i"] {
        bench.run("BEGIN");
        bound(&mut bench, "p", insert, &[]);
        assert_eq!(ask(&mut bench, "p", 0), "7\nINSERT 0 1\n");
        assert_eq!(bench.run("FETCH ALL p"), "[i]\nFETCH 0\n");
        bound(&mut bench, "q", "DELETE FROM u RETURNING i", &[]);
        assert_eq!(bench.run("FETCH ALL q"), "[i]\n7\nFETCH 1\n");
        assert!(ask(&mut bench, "q", 0).starts_with("DELETE "));
        bench.run("ROLLBACK");
    }
}

#[test]
fn execute_goes_on_where_fetch_stands() {
    let mut bench = five_and_none();
    bench.run("BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT i FROM t ORDER BY i");
    assert_eq!(bench.run("FETCH ABSOLUTE 4 c"), "[i]\n4\nFETCH 1\n");
    bench.run("MOVE ABSOLUTE 1 c");
    assert_eq!(ask(&mut bench, "c", 2), "2\n3\nSUSPENDED\n");
    assert_eq!(bench.run("FETCH PRIOR c"), "[i]\n2\nFETCH 1\n");
    assert_eq!(bench.run("COMMIT"), "COMMIT\n");
    // Its rows are kept: there are as many as before.
    assert_eq!(ask(&mut bench, "c", 2), "3\n4\nSUSPENDED\n");
    assert_eq!(ask(&mut bench, "c", 0), "5\nSELECT 1\n");
    assert_eq!(ask(&mut bench, "c", 0), "SELECT 0\n");
    assert_eq!(bench.run("FETCH PRIOR c"), "[i]\n5\nFETCH 1\n");
    // The row that it is on is the last that was told.
    bench.run("BEGIN; DECLARE d CURSOR FOR SELECT i FROM t");
    ask(&mut bench, "d", 2);
    assert_eq!(bench.run("DELETE FROM t WHERE CURRENT OF d RETURNING i"), "[i]\n2\nDELETE 1\n");
    bench.run("ROLLBACK");
}

#[test]
fn a_portal_that_failed_cannot_be_run() {
    let mut bench = five_and_none();
    bench.run("BEGIN");
    bound(&mut bench, "p", "DELETE FROM t WHERE i = 1 / (i - $1) RETURNING i", &["3"]);
    bench.run("SAVEPOINT s");
    assert!(bench.run("FETCH 1 p").contains("22012"));
    bench.run("ROLLBACK TO s");
    assert_eq!(bench.run("FETCH 1 p"), "55000: portal \"p\" cannot be run\n");
    bench.run("ROLLBACK; BEGIN");
    // Backwards goes none of the protocol's, and what has no rows goes not at all.
    bound(&mut bench, "p", "SELECT i FROM t ORDER BY i", &[]);
    assert_eq!(bench.run("FETCH 2 p"), "[i]\n1\n2\nFETCH 2\n");
    bench.run("SAVEPOINT s");
    assert!(bench.run("FETCH PRIOR p").contains("55000: cursor can only scan forward"));
    bench.run("ROLLBACK TO s");
    assert_eq!(bench.run("FETCH 1 p"), "55000: portal \"p\" cannot be run\n");
    bench.run("ROLLBACK; BEGIN");
    bound(&mut bench, "p", "DELETE FROM t", &[]);
    assert!(bench.run("FETCH 1 p").contains("XX000: unsupported portal strategy"));
    bench.run("ROLLBACK");
    assert_eq!(count(&mut bench, "t"), "5");
}

#[test]
fn a_read_only_transaction_runs_no_portal_that_writes() {
    let mut bench = five_and_none();
    bench.run("CREATE TEMP TABLE own (i int)");
    let insert = "INSERT INTO u VALUES (1) RETURNING i";
    let refused = "25006: cannot execute INSERT in a read-only transaction\n";
    bench.run("BEGIN READ ONLY");
    bound(&mut bench, "p", insert, &[]);
    assert!(bench.run("FETCH 1 p").ends_with(refused));
    bench.run("ROLLBACK; BEGIN READ ONLY");
    bound(&mut bench, "p", insert, &[]);
    assert_eq!(ask(&mut bench, "p", 0), refused);
    bench.run("ROLLBACK; BEGIN READ ONLY");
    // What only reads, and locks what it reads, begins when it is bound.
    let session = &mut bench.session;
    session.parse("", "SELECT i FROM t FOR SHARE", &[]).unwrap();
    let error = session.bind("p", "", &[], &Formats::default(), Formats::default()).unwrap_err();
    assert_eq!(
        shown(&error),
        "25006: cannot execute SELECT FOR SHARE in a read-only transaction\n"
    );
    session.fail(&error);
    bench.run("ROLLBACK; BEGIN READ ONLY");
    bound(&mut bench, "", "SELECT $1::int AS i INTO made", &["1"]);
    assert!(ask(&mut bench, "", 0).contains("cannot execute SELECT INTO"));
    bench.run("ROLLBACK; BEGIN READ ONLY");
    bound(&mut bench, "p", "INSERT INTO own VALUES ($1) RETURNING i", &["4"]);
    assert_eq!(bench.run("FETCH 1 p"), "[i]\n4\nFETCH 1\n");
    assert_eq!(bench.run("COMMIT"), "COMMIT\n");
    assert_eq!((count(&mut bench, "u"), count(&mut bench, "own")), ("0".into(), "1".into()));
}

#[test]
fn what_a_portal_reads_is_in_use_until_it_is_closed() {
    let mut bench = five_and_none();
    for (text, rows, in_use) in [
        ("SELECT i FROM t", None, true),
        ("SELECT i FROM t", Some(2), true),
        ("SELECT i FROM t", Some(0), true),
        ("SELECT i FROM t WHERE i = 1", Some(0), true),
        ("DELETE FROM t RETURNING i", None, false),
        ("DELETE FROM t RETURNING i", Some(2), false),
        ("DELETE FROM t RETURNING i", Some(0), false),
        ("DELETE FROM t", Some(0), false),
        ("WITH w AS (DELETE FROM t RETURNING i) SELECT i FROM w", Some(2), false),
    ] {
        for change in ["ALTER TABLE t ADD x int", "TRUNCATE t", "DROP TABLE t"] {
            bench.run("BEGIN");
            bound(&mut bench, "p", text, &[]);
            if let Some(rows) = rows {
                ask(&mut bench, "p", rows);
            }
            let told = bench.run(change);
            assert_eq!(told.starts_with("55006"), in_use, "{text} {rows:?} {change}: {told}");
            bench.run("ROLLBACK");
        }
    }
    bench.run("BEGIN");
    bound(&mut bench, "p", "SELECT i FROM t", &[]);
    bound(&mut bench, "", "SELECT i FROM t", &[]);
    ask(&mut bench, "", 2);
    bench.session.close_portal("p");
    assert_eq!(bench.run("TRUNCATE t"), "TRUNCATE TABLE\n");
    bench.run("ROLLBACK");
}

#[test]
fn a_table_that_was_not_made_leaves_no_query_for_the_next() {
    let mut bench = five_and_none();
    for refused in ["SELECT $1::int AS a INTO t", "CREATE TABLE t AS SELECT $1::int AS a"] {
        bound(&mut bench, "", refused, &["7"]);
        assert!(ask(&mut bench, "", 0).starts_with("42P07"));
        bench.run("CREATE TABLE made AS SELECT 1 AS b, 2 AS c");
        assert_eq!(bench.run("SELECT * FROM made"), "[b|c]\n1|2\nSELECT 1\n", "{refused}");
        bench.run("DROP TABLE made");
    }
}

#[test]
fn explain_fills_a_table_from_a_change_that_is_prepared() {
    let mut bench = five_and_none();
    bench.run("PREPARE p AS INSERT INTO u VALUES (9) RETURNING i");
    assert!(bench.run("EXPLAIN ANALYZE CREATE TABLE made AS EXECUTE p").ends_with("EXPLAIN\n"));
    assert_eq!(bench.run("SELECT i FROM made"), "[i]\n9\nSELECT 1\n");
    assert!(bench.run("CREATE TABLE other AS EXECUTE p").starts_with("42809"));
    assert_eq!(count(&mut bench, "u"), "1");
}

#[test]
fn a_commit_that_fails_in_a_held_cursor_ends_the_transaction() {
    let mut bench = five_and_none();
    let declare = "DECLARE h CURSOR WITH HOLD FOR SELECT 1 / (i - 3) FROM t";
    for by_message in [false, true] {
        bench.run("BEGIN; INSERT INTO u VALUES (1)");
        bench.run(declare);
        let told = match by_message {
            true => {
                bound(&mut bench, "", "COMMIT", &[]);
                ask(&mut bench, "", 0)
            }
            false => bench.run("COMMIT"),
        };
        assert_eq!(told, "22012: division by zero\n");
        assert_eq!(bench.session.status(), Status::Idle);
        assert_eq!(count(&mut bench, "u"), "0");
        assert_eq!(count(&mut bench, "pg_cursors"), "0");
    }
    // Without a block, the statement is what fails.
    assert_eq!(bench.run(declare), "22012: division by zero\n");
    assert_eq!(count(&mut bench, "pg_cursors"), "0");
}

#[test]
fn a_portal_that_was_refused_stays() {
    let mut bench = five_and_none();
    let declare = "DECLARE c CURSOR WITH HOLD FOR SELECT i FROM t ORDER BY i";
    bench.run(&format!("BEGIN; {declare}; COMMIT; BEGIN"));
    assert!(bench.run("SELECT 1 / 0").contains("22012"));
    assert!(ask(&mut bench, "c", 0).starts_with("25P02"));
    bench.run("ROLLBACK; BEGIN");
    // A request to cancel that came in time.
    base::park::current().interrupt(base::interrupt::Interrupt::Cancel);
    assert!(ask(&mut bench, "c", 0).starts_with("57014"));
    bench.run("ROLLBACK");
    assert_eq!(bench.run("FETCH 2 c"), "[i]\n1\n2\nFETCH 2\n");
    // What is done, and older than the savepoint, is there after ROLLBACK TO.
    bench.run("BEGIN");
    bound(&mut bench, "p", "INSERT INTO u VALUES (1)", &[]);
    assert_eq!(ask(&mut bench, "p", 0), "INSERT 0 1\n");
    bench.run("SAVEPOINT s");
    let refused = "55000: portal \"p\" cannot be run\n";
    assert_eq!(ask(&mut bench, "p", 0), refused);
    bench.run("ROLLBACK TO s");
    assert_eq!(ask(&mut bench, "p", 0), refused);
    bench.run("ROLLBACK");
}

#[test]
fn a_portal_that_another_replaces_keeps_no_snapshot() {
    let mut bench = five_and_none();
    let mut other = bench.another();
    let pid = bench.session.pid();
    let mut holds = || {
        let ask =
            format!("SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = {pid}");
        run(&mut other, &ask).contains("\nt\n")
    };
    bench.run("BEGIN");
    bound(&mut bench, "", "SELECT i FROM t", &[]);
    ask(&mut bench, "", 2);
    assert!(holds());
    bound(&mut bench, "", "SELECT i FROM t", &[]);
    assert!(!holds());
    bench.run("ROLLBACK");
}

/// Runs what panics at the first row that it sends.
fn panics(bench: &mut Bench, run: impl FnOnce(&mut Session, &mut Recorder) -> Result<()>) {
    let mut client = Recorder { panics: true, ..Recorder::default() };
    let session = &mut bench.session;
    let result = catch_unwind(AssertUnwindSafe(|| run(session, &mut client)));
    assert!(result.is_err(), "{}", client.out);
    session.recover(&SqlError::new(SqlState::INTERNAL_ERROR, "a panic"));
}

#[test]
fn nothing_of_a_statement_outlives_its_panic() {
    let mut bench = five_and_none();
    bench.run("PREPARE one AS SELECT 1 AS a");
    bench.run("BEGIN");
    bound(&mut bench, "open", "SELECT i FROM t", &[]);
    bench.session.parse("", "EXPLAIN SELECT $1::int", &[]).unwrap();
    let (params, formats) = ([Some(&b"7"[..])], Formats::default());
    bench.session.bind("", "", &params, &formats, Formats::all(Format::Binary)).unwrap();
    panics(&mut bench, |session, client| session.execute("", 0, client));
    assert_eq!(bench.session.status(), Status::Failed);
    assert!(bench.session.backend.standing.in_use.is_empty());
    bench.run("ROLLBACK");
    // Neither its parameters nor its formats are the next one's.
    assert!(bench.run("EXPLAIN SELECT $1").starts_with("42P02"));
    assert_eq!(bench.run("EXECUTE one"), "[a]\n1\nSELECT 1\n");
    // A message of the other protocol has one statement.
    panics(&mut bench, |session, client| session.simple_query("BEGIN; SHOW work_mem", client));
    assert_eq!(bench.session.status(), Status::Failed);
    bench.run("ROLLBACK");
    bound(&mut bench, "", "VACUUM t", &[]);
    assert_eq!(ask(&mut bench, "", 0), "VACUUM\n");
}

#[test]
fn what_is_not_planned_is_told_in_pieces_too() {
    let mut bench = five_and_none();
    bench.run("BEGIN; PREPARE q AS SELECT i FROM t ORDER BY i; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY i");
    bound(&mut bench, "p", "EXECUTE q", &[]);
    assert_eq!(ask(&mut bench, "p", 2), "1\n2\nSUSPENDED\n");
    bound(&mut bench, "f", "FETCH 3 c", &[]);
    assert_eq!(ask(&mut bench, "f", 2), "1\n2\nSUSPENDED\n");
    // The cursor stands where FETCH has put it, whatever was told.
    assert_eq!(bench.run("FETCH 1 c"), "[i]\n4\nFETCH 1\n");
    assert_eq!(ask(&mut bench, "f", 2), "3\nFETCH 1\n");
    assert_eq!(ask(&mut bench, "f", 2), "FETCH 0\n");
    assert_eq!(ask(&mut bench, "p", 3), "3\n4\n5\nSUSPENDED\n");
    assert_eq!(ask(&mut bench, "p", 0), "SELECT 0\n");
    bound(&mut bench, "e", "EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY i + 1", &[]);
    assert!(ask(&mut bench, "e", 1).ends_with("\nSUSPENDED\n"));
    assert!(ask(&mut bench, "e", 0).ends_with("\nEXPLAIN\n"));
    bound(&mut bench, "s", "SHOW ALL", &[]);
    assert_eq!(ask(&mut bench, "s", 7).lines().count(), 8);
    bench.run("ROLLBACK; PREPARE d AS DELETE FROM t RETURNING i; BEGIN");
    bound(&mut bench, "p", "EXECUTE d", &[]);
    assert_eq!(ask(&mut bench, "p", 2), "1\n2\nSUSPENDED\n");
    assert_eq!(count(&mut bench, "t"), "0");
    assert_eq!(ask(&mut bench, "p", 0), "3\n4\n5\nDELETE 3\n");
    // What was suspended is refused, as all else, where the transaction has failed.
    bound(&mut bench, "r", "SELECT i FROM generate_series(1, 3) i", &[]);
    assert_eq!(ask(&mut bench, "r", 2), "1\n2\nSUSPENDED\n");
    bench.run("SELECT 1 / 0");
    assert!(ask(&mut bench, "r", 2).starts_with("25P02"));
    bench.run("ROLLBACK");
}

#[test]
fn what_execute_and_fetch_name_may_come_after_their_preparation() {
    let mut bench = five_and_none();
    let session = &mut bench.session;
    session.parse("e", "EXECUTE later", &[]).unwrap();
    session.parse("f", "FETCH ALL later", &[]).unwrap();
    assert!(session.describe_statement("e").unwrap().1.is_none());
    assert!(session.describe_statement("f").unwrap().1.is_none());
    session.sync().unwrap();
    bench.run("PREPARE later AS SELECT i, i AS j FROM t WHERE i = 1");
    bench.run("BEGIN; DECLARE later CURSOR FOR SELECT i, i AS j FROM t WHERE i = 2");
    for (statement, told) in [("e", "1|1\nSELECT 1\n"), ("f", "2|2\nFETCH 1\n")] {
        let session = &mut bench.session;
        session.bind("", statement, &[], &Formats::default(), Formats::default()).unwrap();
        let columns = session.describe_portal("").unwrap().map(|(fields, _)| fields.len());
        assert_eq!(columns, Some(2), "{statement}");
        assert_eq!(ask(&mut bench, "", 0), told);
    }
    bench.run("ROLLBACK");
    // All that have names go; the one without lasts until the next.
    bench.session.parse("", "SELECT 7", &[]).unwrap();
    bench.session.parse("d", "DEALLOCATE ALL", &[]).unwrap();
    bench.session.bind("d", "d", &[], &Formats::default(), Formats::default()).unwrap();
    assert_eq!(ask(&mut bench, "d", 0), "DEALLOCATE ALL\n");
    let session = &mut bench.session;
    session.bind("", "", &[], &Formats::default(), Formats::default()).unwrap();
    assert_eq!(ask(&mut bench, "", 0), "7\nSELECT 1\n");
}

#[test]
fn sql_sees_portals_and_how_often_statements_were_bound() {
    let mut bench = five_and_none();
    bench.run("BEGIN");
    bound(&mut bench, "p", "SELECT i FROM t", &[]);
    let all = "SELECT * FROM pg_cursors";
    let told =
        bench.run(&all.replace('*', "name, statement, is_holdable, is_binary, is_scrollable"));
    assert!(told.ends_with("\np|SELECT i FROM t|f|f|f\nSELECT 1\n"), "{told}");
    // What asks is one itself, unless it is a simple query.
    let names = "SELECT name, statement FROM pg_cursors ORDER BY name";
    bound(&mut bench, "", names, &[]);
    assert_eq!(ask(&mut bench, "", 0), format!("|{names}\np|SELECT i FROM t\nSELECT 2\n"));
    let now = "SELECT name, creation_time = statement_timestamp() FROM pg_cursors";
    bound(&mut bench, "q", now, &[]);
    assert_eq!(ask(&mut bench, "q", 1), "|f\nSUSPENDED\n");
    assert_eq!(ask(&mut bench, "q", 0), "p|f\nq|t\nSELECT 2\n");
    bench.session.close_portal("p");
    assert_eq!(bench.run(names), format!("[name|statement]\nq|{now}\nSELECT 1\n"));
    bench.run("ROLLBACK");
    assert_eq!(count(&mut bench, "pg_cursors"), "0");

    for (name, text) in
        [("with", "SELECT $1::int"), ("without", "SELECT 1"), ("shows", "SHOW work_mem")]
    {
        bench.session.parse(name, text, &[]).unwrap();
        let params: &[Option<&[u8]>] = if name == "with" { &[Some(b"1")] } else { &[] };
        for _ in 0..7 {
            let (none, session) = (Formats::default(), &mut bench.session);
            session.bind("", name, params, &none, Formats::default()).unwrap();
        }
        bench.session.sync().unwrap();
    }
    let counted = "SELECT name, generic_plans, custom_plans FROM pg_prepared_statements ORDER BY 1";
    let told = bench.run(counted);
    assert!(told.ends_with("\nshows|7|0\nwith|2|5\nwithout|7|0\nSELECT 3\n"), "{told}");
}

#[test]
fn a_portal_sees_what_there_was_when_it_was_bound() {
    let mut bench = five_and_none();
    let mut other = bench.another();
    let all = "SELECT count(*) FROM t";
    bench.run("BEGIN");
    bound(&mut bench, "all", all, &[]);
    bound(&mut bench, "one", "SELECT i FROM t WHERE i = 6", &[]);
    bound(&mut bench, "gone", "DELETE FROM t WHERE i > 4 RETURNING i", &[]);
    bound(&mut bench, "", all, &[]);
    bench.session.sync().unwrap();
    run(&mut other, "INSERT INTO t VALUES (6)");
    assert_eq!(ask(&mut bench, "", 0), "5\nSELECT 1\n");
    assert_eq!(ask(&mut bench, "all", 0), "5\nSELECT 1\n");
    assert_eq!(ask(&mut bench, "one", 0), "SELECT 0\n");
    // What changes rows looks when it is asked for.
    bound(&mut bench, "", all, &[]);
    assert_eq!(ask(&mut bench, "gone", 0), "5\n6\nDELETE 2\n");
    assert_eq!(ask(&mut bench, "", 0), "6\nSELECT 1\n");
    bound(&mut bench, "", all, &[]);
    assert_eq!(ask(&mut bench, "", 0), "4\nSELECT 1\n");
    // One that waits for Flush holds what it sees, and no longer than it is there.
    bound(&mut bench, "", all, &[]);
    bench.session.pause();
    run(&mut other, "INSERT INTO t VALUES (7)");
    assert_eq!(ask(&mut bench, "", 0), "4\nSELECT 1\n");
    assert_eq!(count(&mut bench, "t"), "5");
    bench.run("ROLLBACK");
    assert_eq!(count(&mut bench, "t"), "7");
}
