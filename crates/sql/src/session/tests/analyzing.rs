//! ANALYZE in the background, as statements meet it. As with vacuum, tests wait for what must come about.

use super::vacuum::{figure, number, start, wait_until};
use super::{Bench, run};
use crate::session::Session;

/// Rows that a plan expects of a query.
fn expected_rows(session: &mut Session, query: &str) -> i64 {
    let plan = run(session, &format!("EXPLAIN {query}"));
    let rows = plan.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    rows.and_then(|rows| rows.parse().ok()).unwrap_or_else(|| panic!("{plan}"))
}

#[test]
fn a_table_that_was_filled_is_analyzed_and_plans_change() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int PRIMARY KEY, b int)");
    run(s, "CREATE INDEX t_b ON t (b)");
    let query = "SELECT * FROM t WHERE b = 1";
    let before = expected_rows(s, query);
    assert_eq!(number(s, &format!("SELECT {}", figure("autoanalyze_count", "t"))), 0);
    run(s, "INSERT INTO t SELECT i, i % 2 FROM generate_series(1, 20000) i");
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "t")));
    wait_until(s, &format!("{} = 0", figure("n_mod_since_analyze", "t")));
    assert_eq!(number(s, "SELECT reltuples::bigint FROM pg_class WHERE relname = 't'"), 20_000);
    let after = expected_rows(s, query);
    assert!(before < 1000 && (9000..11_000).contains(&after), "{before}, then {after}");
    let told = format!("{} IS NOT NULL", figure("last_autoanalyze", "t"));
    wait_until(s, &told);
    assert_eq!(number(s, &format!("SELECT {}", figure("analyze_count", "t"))), 0);
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

/// Rows that are not committed are not there; once they are, nothing else has to happen.
#[test]
fn rows_of_an_open_transaction_are_counted_when_it_has_ended() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let mut loader = Session::open(&bench.cluster, "postgres", "postgres").unwrap();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int)");
    run(&mut loader, "BEGIN");
    run(&mut loader, "INSERT INTO t SELECT generate_series(1, 5000)");
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "t")));
    let counted = "(SELECT reltuples FROM pg_class WHERE relname = 't')";
    assert!(number(s, &format!("SELECT {counted}::bigint")) <= 0, "nobody has committed a row");
    wait_until(s, &format!("{} > 4000", figure("n_mod_since_analyze", "t")));
    run(&mut loader, "COMMIT");
    wait_until(s, &format!("{counted} = 5000"));
    wait_until(s, &format!("{} = 0", figure("n_mod_since_analyze", "t")));
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn tables_say_themselves_when_they_are_due() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    run(s, "CREATE TABLE never (a int) WITH (autovacuum_enabled = off)");
    run(
        s,
        "CREATE TABLE late (a int) WITH (autovacuum_analyze_threshold = 6000, \
            autovacuum_vacuum_insert_threshold = -1)",
    );
    run(s, "CREATE TEMP TABLE mine (a int)");
    run(s, "CREATE TABLE plain (a int)");
    for table in ["never", "late", "mine", "plain"] {
        run(s, &format!("INSERT INTO {table} SELECT generate_series(1, 5000)"));
    }
    // It came last, and is looked at last.
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "plain")));
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "plain")));
    let done = |table: &str| {
        let count = |what: &str| figure(&format!("{what}_count"), table);
        format!("{} + {}", count("autoanalyze"), count("autovacuum"))
    };
    for table in ["never", "late", "mine"] {
        assert_eq!(number(s, &format!("SELECT {}", done(table))), 0, "{table}");
    }
    run(s, "INSERT INTO late SELECT generate_series(1, 5000)");
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "late")));
    run(s, "ALTER TABLE never RESET (autovacuum_enabled)");
    run(s, "INSERT INTO never SELECT generate_series(1, 200)");
    wait_until(s, &format!("{} > 0", figure("autoanalyze_count", "never")));
    run(s, "DELETE FROM late WHERE a % 2 = 0");
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "late")));
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

/// Whoever looks at the table next finds out that it is due.
fn switch_on(s: &mut Session, table: &str) {
    run(s, &format!("ALTER TABLE {table} RESET (autovacuum_enabled)"));
    run(s, &format!("SELECT 1 FROM {table} LIMIT 1"));
}

/// As VACUUM does: rows, pages, and those that all see.
#[test]
fn the_size_of_a_table_is_written_down_when_it_was_cleaned() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let s = &mut bench.session;
    // Changed while it is off: a statement's rows count while it runs, and what is cleaned amid it isn't all.
    let options = "autovacuum_analyze_threshold = 1000000, autovacuum_enabled = off";
    run(s, &format!("CREATE TABLE t (a int PRIMARY KEY, b text) WITH ({options})"));
    run(s, "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i");
    switch_on(s, "t");
    let class = |what: &str| format!("(SELECT {what} FROM pg_class WHERE relname = 't')");
    let pages = "pg_relation_size('t') / 8192";
    wait_until(s, &format!("{} = 20000", class("reltuples")));
    wait_until(s, &format!("{} = {pages}", class("relpages")));
    wait_until(s, &format!("{} = {pages}", class("relallvisible")));
    assert!((15_000..=25_000).contains(&expected_rows(s, "SELECT * FROM t")));
    run(s, "ALTER TABLE t SET (autovacuum_enabled = off)");
    run(s, "DELETE FROM t WHERE a > 5000");
    switch_on(s, "t");
    // Estimated, as by VACUUM: pages that had not changed were not looked at.
    wait_until(s, &format!("{} BETWEEN 4900 AND 5100", class("reltuples")));
    wait_until(s, &format!("{} = {pages}", class("relpages")));
    let after = expected_rows(s, "SELECT * FROM t");
    assert!((4000..=6000).contains(&after), "{after} rows expected of 5000");
    assert_eq!(number(s, &format!("SELECT {}", figure("autoanalyze_count", "t"))), 0);
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

/// Who is about to change what is known of a table is not waited for.
#[test]
fn whoever_changes_the_tables_entry_holds_up_no_vacuum() {
    let mut bench = Bench::new();
    let complaints = start(&bench);
    let mut other = Session::open(&bench.cluster, "postgres", "postgres").unwrap();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int) WITH (autovacuum_analyze_threshold = 1000000)");
    run(s, "CREATE TABLE u (a int)");
    run(&mut other, "BEGIN");
    let locked = run(&mut other, "SELECT 1 FROM pg_class WHERE relname = 't' FOR UPDATE");
    assert!(locked.contains("SELECT 1"), "{locked}");
    run(s, "INSERT INTO t SELECT generate_series(1, 5000)");
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "t")));
    run(s, "INSERT INTO u SELECT generate_series(1, 5000)");
    wait_until(s, &format!("{} > 0", figure("autovacuum_count", "u")));
    assert_eq!(number(s, "SELECT reltuples::bigint FROM pg_class WHERE relname = 't'"), -1);
    run(&mut other, "COMMIT");
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}

#[test]
fn background_analyze_goes_by_what_the_database_and_the_configuration_say() {
    let mut bench = Bench::new();
    bench.cluster.set_session_settings(vec![("default_statistics_target", "20".to_owned())]);
    let complaints = start(&bench);
    let s = &mut bench.session;
    let listed = "(SELECT array_length(string_to_array(histogram_bounds::text, ','), 1) \
                  FROM pg_stats WHERE tablename = 't')";
    run(s, "CREATE TABLE t (a int)");
    run(s, "INSERT INTO t SELECT generate_series(1, 5000)");
    wait_until(s, &format!("{listed} = 21"));
    run(s, "ALTER DATABASE postgres SET default_statistics_target = 7");
    run(s, "INSERT INTO t SELECT generate_series(5001, 20000)");
    wait_until(s, &format!("{listed} = 8"));
    assert!(complaints.lock().unwrap().is_empty(), "{complaints:?}");
}
