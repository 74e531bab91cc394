//! Conditions on later key columns: an index finds what reading the table finds, whatever is asked of which columns; and
//! it reads little where the columns before have few values.

use fastrand::Rng;

use super::{Bench, run};
use crate::session::Session;

const ANALYZE: &str = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)";

/// One of these.
fn one<T: Copy>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}

/// A value of a column, as text; now and then one that no row has.
fn value(random: &mut Rng, column: &str) -> String {
    let number = random.usize(..6);
    match column {
        "a" | "b" => number.to_string(),
        "c" => format!("'{}'", ["", "a", "ab", "b", "ba", "c"][number]),
        "d" => format!("{}", number as f64 * 0.75 - 1.5),
        "e" => format!("'2024-02-0{}'", number + 1),
        _ => unreachable!("{column}"),
    }
}

fn condition(random: &mut Rng) -> String {
    let column = one(random, &["a", "b", "c", "d", "e"]);
    match random.u64(..8) {
        0 | 1 => format!("{column} = {}", value(random, column)),
        2 => format!("{column} IS NULL"),
        3 => format!("{column} IS NOT NULL"),
        4 => {
            let list: Vec<String> =
                (0..1 + random.u64(..4)).map(|_| value(random, column)).collect();
            format!("{column} IN ({})", list.join(", "))
        }
        5 => format!("{column} BETWEEN {} AND {}", value(random, column), value(random, column)),
        6 if column == "c" => format!("c LIKE '{}%'", one(random, &["a", "b", "", "ab"])),
        _ => format!("{column} {} {}", one(random, &["<", "<=", ">", ">="]), value(random, column)),
    }
}

/// Keys of an index in random order and each its own way; and that order backwards.
fn keys(random: &mut Rng) -> (String, String) {
    let mut columns = vec!["a", "b", "c", "d", "e"];
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for _ in 0..3 + random.u64(..3) {
        let column = columns.swap_remove(random.usize(..columns.len()));
        let (desc, first) = (random.bool(), random.bool());
        let key = |desc, first| {
            let way = if desc { "DESC" } else { "ASC" };
            format!("{column} {way} NULLS {}", if first { "FIRST" } else { "LAST" })
        };
        there.push(key(desc, first));
        back.push(key(!desc, !first));
    }
    (there.join(", "), back.join(", "))
}

/// The rows that a query gave.
fn rows(s: &mut Session, query: &str) -> Vec<String> {
    let told = run(s, query);
    let rows: Vec<String> = told.lines().skip(1).map(str::to_owned).collect();
    assert!(rows.last().is_some_and(|tag| tag.starts_with("SELECT ")), "{query}: {told}");
    rows
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

#[test]
fn an_index_finds_what_reading_the_table_finds() {
    for seed in 1..=6 {
        let mut random = Rng::with_seed(seed);
        let mut bench = Bench::new();
        let s = &mut bench.session;
        run(s, "CREATE TABLE t (id int, a int, b int, c text, d numeric, e date)");
        let mut row = |id| {
            let columns = ["a", "b", "c", "d", "e"].map(|column| match random.u64(..7) {
                0 => "NULL".to_owned(),
                _ => value(&mut random, column),
            });
            format!("({id}, {})", columns.join(", "))
        };
        let all: Vec<String> = (0..900).map(&mut row).collect();
        run(s, &format!("INSERT INTO t VALUES {}", all.join(", ")));
        let (there, back) = keys(&mut random);
        run(s, &format!("CREATE INDEX t_keys ON t ({there})"));
        if seed % 2 == 0 {
            run(s, "ANALYZE t");
        }
        if seed % 3 == 0 {
            run(s, "VACUUM t");
        }
        let mut found = 0;
        for _ in 0..30 {
            let all: Vec<String> =
                (0..1 + random.u64(..4)).map(|_| condition(&mut random)).collect();
            let of = format!("FROM t WHERE {}", all.join(" AND "));
            let query = format!("SELECT id, a, b, c, d, e {of}");
            run(s, "SET enable_indexscan = off; SET enable_bitmapscan = off");
            let expected = sorted(rows(s, &query));
            found += expected.len();
            let columns = there.replace(" ASC", "").replace(" DESC", "");
            let columns = columns.replace(" NULLS FIRST", "").replace(" NULLS LAST", "");
            let in_order: Vec<Vec<String>> = [&there, &back]
                .map(|order| rows(s, &format!("SELECT {columns} {of} ORDER BY {order}")))
                .into();
            run(s, "SET enable_seqscan = off; SET enable_indexscan = on");
            assert_eq!(sorted(rows(s, &query)), expected, "seed {seed}, ({there}): {query}");
            run(s, "SET enable_sort = off");
            for (order, expected) in [&there, &back].into_iter().zip(in_order) {
                let query = format!("SELECT {columns} {of} ORDER BY {order}");
                assert_eq!(rows(s, &query), expected, "seed {seed}, ({there}): {query}");
            }
            run(s, "SET enable_indexscan = off; SET enable_bitmapscan = on");
            assert_eq!(sorted(rows(s, &query)), expected, "seed {seed}, ({there}): {query}");
            for setting in ["seqscan", "indexscan", "bitmapscan", "sort"] {
                run(s, &format!("RESET enable_{setting}"));
            }
            assert_eq!(sorted(rows(s, &query)), expected, "seed {seed}, ({there}): {query}");
        }
        assert!(found > 300, "seed {seed}: {found} rows in all");
    }
}

/// The pages that the topmost line of a plan has read.
fn pages(told: &str) -> u64 {
    let at = told.find("Buffers: shared ").unwrap_or_else(|| panic!("{told}"));
    let line = told[at..].lines().next().unwrap();
    let numbers = line.split(['=', ' ']).filter_map(|word| word.parse::<u64>().ok());
    numbers.sum()
}

#[test]
fn a_scan_skips_over_columns_of_few_values() {
    let mut bench = Bench::with_room();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int, b int, c int) WITH (autovacuum_enabled = off)");
    run(s, "INSERT INTO t SELECT g % 8, g / 8, g % 3 FROM generate_series(1, 60000) g");
    run(s, "CREATE INDEX t_abc ON t (a, b, c)");
    run(s, "VACUUM t");
    run(s, "ANALYZE t");
    run(s, "SET enable_bitmapscan = off");
    for (query, most, index_cond) in [
        ("SELECT * FROM t WHERE b = 4321", 60, "(b = 4321)"),
        ("SELECT * FROM t WHERE b = 4321 ORDER BY a DESC", 60, "(b = 4321)"),
        ("SELECT * FROM t WHERE a > 3 AND b = 4321", 40, "((a > 3) AND (b = 4321))"),
        ("SELECT * FROM t WHERE b IN (7, 4321, 7000) AND c = 1", 160, "((b = ANY"),
        ("SELECT * FROM t WHERE b < 5 AND a > 2", 60, "((a > 2) AND (b < 5))"),
    ] {
        let told = run(s, &format!("{ANALYZE} {query}"));
        assert!(told.contains(&format!("Index Cond: {index_cond}")), "{query}: {told}");
        assert!(pages(&told) <= most, "{query}: {told}");
    }
    // A column of many values is not skipped over, and tables that were never counted are not trusted to have few.
    run(s, "CREATE INDEX t_bca ON t (b, c, a)");
    run(s, "DROP INDEX t_abc");
    let told = run(s, "EXPLAIN (COSTS OFF) SELECT ctid FROM t WHERE c = 2 AND a = 1");
    assert!(told.contains("Seq Scan"), "{told}");
    run(s, "CREATE TABLE u (a int, b int, pad text)");
    run(s, "INSERT INTO u SELECT g % 8, g / 8, 'x' FROM generate_series(1, 60000) g");
    run(s, "CREATE INDEX u_ab ON u (a, b)");
    let told = run(s, "EXPLAIN (COSTS OFF) SELECT * FROM u WHERE b = 4321");
    assert!(told.contains("Seq Scan"), "{told}");
}
