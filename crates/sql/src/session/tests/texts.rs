//! Texts that are prepared again and again under the extended protocol.

use std::sync::Arc;

use crate::cache::Known;
use crate::session::client::Formats;
use crate::session::{Planned, Session};
use crate::types::{Oid, TypeId};

use super::{Bench, Recorder, run};

/// Prepares without a name, binds and executes.
fn call(bench: &mut Bench, sql: &str, types: &[Oid], params: &[&str]) -> String {
    let session = &mut bench.session;
    let mut client = Recorder::default();
    let params: Vec<_> = params.iter().map(|text| Some(text.as_bytes())).collect();
    let result = session
        .parse("", sql, types)
        .and_then(|()| {
            session.bind("", "", &params, &Formats::default(), Formats::default())?;
            session.execute("", 0, &mut client)
        })
        .and_then(|()| session.sync());
    if let Err(error) = result {
        session.fail(&error);
        let _ = session.sync();
        return error.message().to_owned();
    }
    client.out
}

#[test]
fn a_text_means_what_it_means_now() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2)");
    let all = "SELECT * FROM t WHERE a = $1";
    for _ in 0..3 {
        assert_eq!(call(&mut bench, all, &[], &["2"]), "2\nSELECT 1\n");
    }
    // Another column, another table of that name, none at all.
    bench.run("ALTER TABLE t ADD b int DEFAULT 7");
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2|7\nSELECT 1\n");
    bench.run("CREATE TEMP TABLE t (a int, c text); INSERT INTO t VALUES (2, 'temp')");
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2|temp\nSELECT 1\n");
    bench.run("DROP TABLE t");
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2|7\nSELECT 1\n");
    bench.run("CREATE SCHEMA s; CREATE TABLE s.t (a bigint); INSERT INTO s.t VALUES (2); SET search_path = s");
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2\nSELECT 1\n");
    bench.run("DROP TABLE s.t");
    assert!(call(&mut bench, all, &[], &["2"]).contains("does not exist"));
    bench.run("SET search_path = public");
    assert_eq!(call(&mut bench, all, &[], &["1"]), "1|7\nSELECT 1\n");
}

#[test]
fn declared_types_and_settings_are_part_of_it() {
    let mut bench = Bench::new();
    let half = "SELECT $1 / 2";
    for _ in 0..2 {
        assert_eq!(call(&mut bench, half, &[TypeId::INT4.oid()], &["3"]), "1\nSELECT 1\n");
        let numeric = call(&mut bench, half, &[TypeId::FLOAT8.oid()], &["3"]);
        assert_eq!(numeric, "1.5\nSELECT 1\n");
    }
    // What stands in quotes is read by the settings of the moment.
    let date = "SELECT '02/01/2020'::date::text";
    assert_eq!(call(&mut bench, date, &[], &[]), "2020-02-01\nSELECT 1\n");
    bench.run("SET datestyle = 'ISO, DMY'");
    assert_eq!(call(&mut bench, date, &[], &[]), "2020-01-02\nSELECT 1\n");
}

#[test]
fn a_failed_block_takes_only_its_end() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    let count = "SELECT count(*) FROM t";
    for _ in 0..2 {
        assert_eq!(call(&mut bench, "BEGIN", &[], &[]), "BEGIN\n");
        assert_eq!(call(&mut bench, count, &[], &[]), "0\nSELECT 1\n");
        assert_eq!(call(&mut bench, "SELECT 1 / 0", &[], &[]), "division by zero");
        assert!(call(&mut bench, count, &[], &[]).starts_with("current transaction is aborted"));
        assert_eq!(call(&mut bench, "COMMIT", &[], &[]), "ROLLBACK\n");
        assert_eq!(call(&mut bench, count, &[], &[]), "0\nSELECT 1\n");
    }
}

/// What is kept for a text of the simple protocol.
fn kept(bench: &mut Bench, sql: &str) -> Option<Known> {
    bench.run(sql);
    let mut lifter = std::mem::take(&mut bench.session.plans.lifter);
    let key = lifter.lift(sql).unwrap().key().to_vec();
    let place = bench.session.backend.place();
    bench.session.plans.find(place, &key)
}

#[test]
fn a_condition_with_constants_concerns_only_what_asks_about_its_columns() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int, c int)");
    bench.run("CREATE INDEX i ON t (c) WHERE b = 3");
    for sql in ["SELECT c FROM t WHERE a = 1", "INSERT INTO t VALUES (1, 2, 3)"] {
        assert!(matches!(kept(&mut bench, sql), Some(Known::Plan(_))), "{sql}");
    }
    let asked = "SELECT a FROM t WHERE b = 3 AND c = 7";
    assert!(matches!(kept(&mut bench, asked), Some(Known::AsWritten { .. })));
    bench.run("INSERT INTO t VALUES (4, 3, 7), (5, 2, 7)");
    assert_eq!(bench.run(asked), "[a]\n4\nSELECT 1\n");
    assert_eq!(bench.run("SELECT a FROM t WHERE b = 2 AND c = 7"), "[a]\n5\nSELECT 1\n");
    bench.run("DROP INDEX i");
    assert!(matches!(kept(&mut bench, asked), Some(Known::Plan(_))));
}

#[test]
fn a_column_is_not_renamed_where_its_new_name_would_not_be_found() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int CHECK (a > 0), b int)");
    assert_eq!(bench.run("ALTER TABLE t RENAME a TO \"of that\""), "ALTER TABLE\n");
    assert!(bench.run("INSERT INTO t VALUES (0)").contains("violates check constraint"));
    // A whole row has no text that lasts.
    bench.run("CREATE TABLE w (a int, CHECK (w IS NOT NULL))");
    assert!(bench.run("ALTER TABLE w RENAME a TO b").contains("cannot be renamed"));
    assert!(bench.run("INSERT INTO w VALUES (NULL)").contains("violates check constraint"));
    assert_eq!(bench.run("INSERT INTO w (a) VALUES (1)"), "INSERT 0 1\n");
}

/// The plan that a session has for a named statement.
fn plan_of(session: &mut Session, name: &str) -> Arc<Planned> {
    let mut client = Recorder::default();
    session.bind("", name, &[Some(b"2")], &Formats::default(), Formats::default()).unwrap();
    session.execute("", 0, &mut client).unwrap();
    session.sync().unwrap();
    session.statements[name].planned.clone().unwrap()
}

#[test]
fn sessions_of_a_thread_share_their_plans() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY); CREATE SCHEMA s; CREATE TABLE s.t (a bigint)");
    let mut others: Vec<Session> = (0..4).map(|_| bench.another()).collect();
    let mut client = Recorder::default();
    others[1].simple_query("SET search_path = s", &mut client).unwrap();
    others[2].simple_query("CREATE TEMP TABLE x (a int)", &mut client).unwrap();
    let text = "SELECT * FROM t WHERE a = $1";
    let mut plans = |session: &mut Session| {
        if !session.statements.contains_key("q") {
            session.parse("q", text, &[]).unwrap();
        }
        plan_of(session, "q")
    };
    for change in ["", "ALTER TABLE t ADD b int; ALTER TABLE t DROP b", "ANALYZE t"] {
        if !change.is_empty() {
            bench.run(change);
        }
        let own = plans(&mut bench.session);
        let of_others: Vec<_> = others.iter_mut().map(&mut plans).collect();
        assert!(Arc::ptr_eq(&own, &of_others[0]) && Arc::ptr_eq(&own, &of_others[3]), "{change}");
        assert!(!Arc::ptr_eq(&own, &of_others[1]) && !Arc::ptr_eq(&own, &of_others[2]), "{change}");
        assert_eq!(of_others[1].params, [TypeId::INT8], "another schema's table");
    }
    let lifted = |session: &mut Session| {
        session.simple_query("SELECT a FROM t WHERE a = 7", &mut Recorder::default()).unwrap();
        let place = session.backend.place();
        let mut lifter = syntax::lift::Lifter::default();
        let key = lifter.lift("SELECT a FROM t WHERE a = 8").unwrap().key().to_vec();
        match session.plans.find(place, &key) {
            Some(Known::Plan(planned)) => planned,
            _ => panic!("it is planned once"),
        }
    };
    let own = lifted(&mut bench.session);
    assert!(Arc::ptr_eq(&own, &lifted(&mut others[0])));
    assert!(!Arc::ptr_eq(&own, &lifted(&mut others[1])));
}

#[test]
fn what_a_transaction_has_changed_is_planned_for_it_alone() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY)");
    let mut other = bench.another();
    bench.run("BEGIN; CREATE TABLE u (a int)");
    let text = "SELECT a FROM t WHERE a = $1";
    bench.session.parse("q", text, &[]).unwrap();
    let own = bench.session.statements["q"].planned.clone().unwrap();
    other.parse("q", text, &[]).unwrap();
    assert!(!Arc::ptr_eq(&own, &plan_of(&mut other, "q")));
    bench.run("COMMIT");
    let own = plan_of(&mut bench.session, "q");
    assert!(Arc::ptr_eq(&own, &plan_of(&mut other, "q")));
}

#[test]
fn what_others_do_elsewhere_leaves_plans_as_they_are() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE u (a int)");
    bench.run("CREATE VIEW v AS SELECT a FROM t");
    let mut other = bench.another();
    run(&mut other, "CREATE TEMP TABLE earlier (a int)");
    for name in ["t", "v"] {
        let text = format!("SELECT a FROM {name} WHERE a = $1");
        bench.session.parse(name, &text, &[]).unwrap();
    }
    let plans = |session: &mut Session| ["t", "v"].map(|name| plan_of(session, name));
    let mut known = plans(&mut bench.session);
    for elsewhere in [
        "ANALYZE u",
        "VACUUM u",
        "CREATE TEMP TABLE t (a serial PRIMARY KEY, b text)",
        "INSERT INTO t VALUES (2, 'b')",
        "CREATE INDEX ON t (b)",
        "ALTER TABLE t ADD c int",
        "ANALYZE t",
        "TRUNCATE t",
        "DROP TABLE t",
        "BEGIN; CREATE TEMP TABLE t (a int, b text) ON COMMIT DROP; COMMIT",
        "BEGIN; CREATE TEMP TABLE t (a int); ROLLBACK",
    ] {
        let told = run(&mut other, elsewhere);
        assert!(!told.contains(": "), "{elsewhere}: {told}");
        let now = plans(&mut bench.session);
        assert!(known.iter().zip(&now).all(|(a, b)| Arc::ptr_eq(a, b)), "{elsewhere}");
    }
    for change in ["ANALYZE t", "CREATE INDEX ON t (a)", "CREATE TABLE w (a int)"] {
        run(&mut other, change);
        let now = plans(&mut bench.session);
        assert!(known.iter().zip(&now).all(|(a, b)| !Arc::ptr_eq(a, b)), "{change}");
        known = now;
    }
}

#[test]
fn temporary_tables_are_found_and_missed_at_once() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (2)");
    bench.run("CREATE TEMP TABLE earlier (a int)");
    let all = "SELECT * FROM t WHERE a = $1";
    for end in ["DROP TABLE t", "ALTER TABLE t RENAME TO gone", ""] {
        assert_eq!(call(&mut bench, all, &[], &["2"]), "2\nSELECT 1\n", "before {end}");
        bench.run("CREATE TEMP TABLE t (a int, b int); INSERT INTO t VALUES (2, 7)");
        assert_eq!(call(&mut bench, all, &[], &["2"]), "2|7\nSELECT 1\n");
        if !end.is_empty() {
            bench.run(end);
        }
    }
    bench.run("BEGIN; DROP TABLE t; ROLLBACK");
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2|7\nSELECT 1\n");
    bench.run("DISCARD TEMP");
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2\nSELECT 1\n");
    // Another session's, by the path.
    let mut other = bench.another();
    run(&mut other, "CREATE TEMP TABLE theirs (a int)");
    let schema = format!("pg_temp_{}", other.backend.txn.session().0);
    let theirs = format!("SELECT * FROM {schema}.theirs WHERE a = $1");
    let refused = "cannot access temporary tables of other sessions";
    assert!(call(&mut bench, &theirs, &[], &["2"]).contains(refused));
    bench.run(&format!("SET search_path = {schema}, public"));
    assert_eq!(call(&mut bench, all, &[], &["2"]), "2\nSELECT 1\n");
    run(&mut other, "CREATE TEMP TABLE t (a int)");
    assert!(call(&mut bench, all, &[], &["2"]).contains(refused));
}
