//! Rows that are dropped: a statement can be cancelled while it drops them, as while it gives them.

use super::Bench;

/// Of the first row this takes longer than the statement may, of a later one it is an error, and it is true of none.
const CONDITION: &str = "CASE i WHEN a THEN octet_length(repeat('x', 600000000 + i)) < 0 \
    WHEN 5000 THEN 1 / (i - 5000) > 0 ELSE false END";

#[test]
fn a_statement_can_be_cancelled_while_it_drops_rows() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t AS SELECT i, 1 AS a FROM generate_series(1, 6000) i");
    bench.run("CREATE TABLE one AS SELECT 1 AS a");
    bench.run("CREATE TABLE many AS SELECT a FROM generate_series(1, 20000) a");
    bench.run("ANALYZE");
    bench.run("SET enable_nestloop = off");
    let rows = "(SELECT i, a AS k FROM t ORDER BY i LIMIT 6000) r";
    for (operator, statement) in [
        (
            "Filter",
            format!(
                "SELECT count(*) FROM (SELECT i, a FROM t ORDER BY i LIMIT 6000) r WHERE {CONDITION}"
            ),
        ),
        (
            "Limit",
            format!(
                "SELECT {CONDITION} FROM (SELECT i, a FROM t ORDER BY i LIMIT 6000) r OFFSET 5999"
            ),
        ),
        (
            "Nested Loop Left Join",
            format!("SELECT count(k) FROM one LEFT JOIN {rows} ON {CONDITION}"),
        ),
        (
            "Hash Left Join",
            format!("SELECT count(k) FROM many LEFT JOIN {rows} ON k = a AND {CONDITION}"),
        ),
    ] {
        let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {statement}"));
        assert!(plan.contains(operator), "{plan}");
        bench.run("SET statement_timeout = '100ms'");
        let told = bench.run(&statement);
        assert!(told.contains("57014: canceling statement due to statement timeout"), "{told}");
        bench.run("RESET statement_timeout");
    }
}
