//! Index rows that are too large are refused in PostgreSQL's words.

use super::*;

/// 3,200 characters that nothing compresses.
const LONG: &str = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) i)";

/// As PostgreSQL says it, with our own sizes: a marker, the characters, two bytes that end them.
fn refusal(row: &str) -> String {
    format!(
        "54000: index row size 3202 exceeds btree version 4 maximum 2640 for index \"t_b\"\n\
         DETAIL: Index row references tuple {row} in relation \"t\".\n\
         HINT: Values larger than 1/3 of a buffer page cannot be indexed.\n\
         Consider a function index of an MD5 hash of the value, or use full text indexing.\n"
    )
}

#[test]
fn a_key_too_large_is_refused_with_its_index_and_its_row() {
    for index in [
        "CREATE INDEX t_b ON t (b)",
        "CREATE UNIQUE INDEX t_b ON t (b)",
        "ALTER TABLE t ADD CONSTRAINT t_b UNIQUE (b) DEFERRABLE",
    ] {
        let mut bench = Bench::new();
        bench.run("CREATE TABLE t (a int, b text)");
        bench.run("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
        bench.run(index);
        assert_eq!(bench.run(&format!("INSERT INTO t VALUES (3, {LONG})")), refusal("(0,3)"));
        let update = format!("UPDATE t SET b = {LONG} WHERE a = 1");
        assert_eq!(bench.run(&update), refusal("(0,4)"));
        assert_eq!(bench.run("SELECT count(*) FROM t"), "[count]\n2\nSELECT 1\n");
    }
}

#[test]
fn a_build_that_meets_a_key_too_large_is_refused_as_well() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int, b text)");
    bench.run(&format!("INSERT INTO t VALUES (1, 'one'), (2, {LONG})"));
    let told = bench.run("CREATE INDEX t_b ON t (b)");
    assert_eq!(told, refusal("(0,2)"));
    assert_eq!(bench.run("CREATE INDEX t_b ON t (a)"), "CREATE INDEX\n");
}
