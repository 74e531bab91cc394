//! Sub-selects that rows of other tables ask: their own tables are read once, not once for each of those.

use super::Bench;

/// So many rows each; `k` and `v` repeat, and have nulls.
const ROWS: u64 = 402;

fn bench() -> Bench {
    let mut bench = Bench::new();
    for (name, step) in [("t", 7), ("n", 11)] {
        bench.run(&format!("CREATE TABLE {name} (id int, k int, v int, w bigint, s text)"));
        bench.run(&format!(
            "INSERT INTO {name} SELECT i, i * {step} % 97, i % 5, i % 41, 's' || i % 30 \
             FROM generate_series(1, 400) i"
        ));
        bench.run(&format!(
            "INSERT INTO {name} VALUES (401, NULL, 1, 1, 's1'), (402, 3, NULL, 2, NULL)"
        ));
    }
    bench
}

/// How many rows of a table were read one after the other.
fn all_rows_read(bench: &mut Bench, table: &str) -> u64 {
    let told = bench.run(&format!(
        "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = '{table}'"
    ));
    told.lines().nth(1).and_then(|row| row.parse().ok()).unwrap_or_else(|| panic!("{told}"))
}

/// How many of them by the query.
fn rows_read(bench: &mut Bench, table: &str, query: &str) -> u64 {
    let before = all_rows_read(bench, table);
    let told = bench.run(query);
    assert!(told.contains("SELECT "), "{query}: {told}");
    all_rows_read(bench, table) - before
}

/// The answer is that of the same query with sub-selects that have an OFFSET, and so are run for each row.
fn answers_as_by_row(bench: &mut Bench, query: &str) {
    let by_row = query.replace(" #)", " OFFSET 0)");
    assert_ne!(query, by_row);
    let expected = bench.run(&by_row);
    assert!(expected.contains("SELECT "), "{by_row}: {expected}");
    assert_eq!(bench.run(&query.replace(" #)", ")")), expected, "{query}");
}

#[test]
fn with_more_than_equalities_are_joined() {
    let mut bench = bench();
    for tie in [
        "n.k = t.k AND n.v > t.v",
        "n.k = t.k AND n.v <> t.v AND n.id < 300",
        "t.k = n.k AND (n.v > t.v OR t.id = 5)",
        "n.k = t.k AND t.v > 2",
        "n.k = t.k AND n.k + n.v < t.w + t.v",
        "n.w = t.v AND n.id BETWEEN t.id AND t.id + 10",
        "n.s = t.s AND (n.v IS DISTINCT FROM t.v)",
        "n.k = t.k AND n.v > (SELECT min(v) FROM t u WHERE u.k = t.k AND u.id < n.id)",
    ] {
        for not in ["", "NOT "] {
            let exists = format!("{not}EXISTS (SELECT 1 FROM n WHERE {tie} #)");
            answers_as_by_row(&mut bench, &format!("SELECT id FROM t WHERE {exists} ORDER BY id"));
        }
    }
    let query = "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM n WHERE n.k = t.k AND n.v > t.v)";
    let plan = bench.run(&format!("EXPLAIN (COSTS OFF) {query}"));
    assert!(plan.contains("Hash Anti Join"), "{plan}");
    assert!(plan.contains("Join Filter: (n.v > t.v)"), "{plan}");
    assert_eq!(rows_read(&mut bench, "n", query), ROWS);
    // With too little memory, too.
    bench.run("SET work_mem = '64kB'; SET hash_mem_multiplier = 1");
    bench.run("INSERT INTO n SELECT i, i % 97, 0, i, repeat('x', 90) FROM generate_series(1, 4000) i");
    for not in ["", "NOT "] {
        let tie = "n.k = t.k AND n.s > t.s AND n.w % 7 = t.v";
        let exists = format!("{not}EXISTS (SELECT 1 FROM n WHERE {tie} #)");
        answers_as_by_row(&mut bench, &format!("SELECT id FROM t WHERE {exists} ORDER BY id"));
    }
}

#[test]
fn with_more_than_equalities_are_asked_by_index_for_the_first_rows() {
    let mut bench = bench();
    bench.run("CREATE INDEX ON t (id); CREATE INDEX ON n (k); ANALYZE t, n");
    bench.run("INSERT INTO n SELECT i, i, 0, 0, 's' FROM generate_series(1000, 9000) i; ANALYZE n");
    let exists = "EXISTS (SELECT 1 FROM n WHERE n.k = t.k AND n.v >= t.v)";
    let query = format!("SELECT id FROM t WHERE {exists} ORDER BY id LIMIT 3");
    assert_eq!(rows_read(&mut bench, "n", &query), 0);
}
