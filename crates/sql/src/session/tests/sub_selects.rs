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
    let told = bench
        .run(&format!("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = '{table}'"));
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
    bench.run(
        "INSERT INTO n SELECT i, i % 97, 0, i, repeat('x', 90) FROM generate_series(1, 4000) i",
    );
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

/// The answers are those of the same query whose parts hang on the row that asks.
fn answers_as_anew(bench: &mut Bench, query: &str) {
    let anew = bench.run(&query.replace('#', "WHERE t.id > 0"));
    assert!(anew.contains("SELECT "), "{query}: {anew}");
    assert_eq!(bench.run(&query.replace('#', "")), anew, "{query}");
}

#[test]
fn keep_what_does_not_hang_on_the_row_that_asks() {
    let mut bench = bench();
    bench.run("CREATE TABLE m AS SELECT id, k, v, w, s FROM n");
    let once = [
        "SELECT count(*) FROM n JOIN (SELECT * FROM m # OFFSET 0) m ON m.k = n.k WHERE n.id = t.id",
        "SELECT sum(m.id) FROM n LEFT JOIN (SELECT * FROM m # OFFSET 0) m ON m.k = n.v WHERE n.id < t.v",
        "SELECT count(*) FROM (SELECT * FROM n WHERE id < t.v) n \
         FULL JOIN (SELECT * FROM m # OFFSET 0) m ON m.id = n.v",
        "SELECT count(*) FROM n WHERE id < t.v AND n.k IN (SELECT k FROM m #)",
        "SELECT count(*) FROM n, (SELECT * FROM m # OFFSET 0) m WHERE n.id = t.id AND m.v < n.v",
        "SELECT string_agg(q.s, ',') FROM (SELECT s, v FROM m # ORDER BY s, id OFFSET 0) q \
         WHERE q.v < t.v",
    ];
    // What is known not to change only when it is made again.
    let twice = [
        "SELECT max(q.c + t.id) FROM (SELECT k, count(*) AS c FROM m # GROUP BY k) q",
        "SELECT count(*) FROM (SELECT DISTINCT v FROM m # OFFSET 0) q WHERE q.v < t.v",
        "SELECT count(*) FROM (SELECT v FROM m # EXCEPT SELECT 3) q WHERE q.v < t.v",
    ];
    for (within, times) in
        once.map(|within| (within, 1)).into_iter().chain(twice.map(|within| (within, 2)))
    {
        let query = format!("SELECT id, ({within}) FROM t");
        answers_as_anew(&mut bench, &query);
        let read = rows_read(&mut bench, "m", &query.replace('#', ""));
        assert_eq!(read, times * ROWS, "{within}");
    }
    let rounds = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT r.n + 1 FROM r JOIN m ON m.id = r.n) \
                  SELECT count(*) FROM r";
    assert_eq!(rows_read(&mut bench, "m", rounds), ROWS);
    assert_eq!(bench.run(rounds), format!("[count]\n{}\nSELECT 1\n", ROWS + 1));
    bench.run("SET work_mem = '64kB'; SET hash_mem_multiplier = 1");
    bench.run("INSERT INTO m SELECT i, i % 97, i % 5, i, repeat('x', 90) FROM generate_series(1000, 3000) i");
    for within in [
        "SELECT count(*) FROM n JOIN (SELECT * FROM m # OFFSET 0) m ON m.k = n.k WHERE n.id = t.id",
        "SELECT count(*) FROM n, (SELECT * FROM m # OFFSET 0) m WHERE n.id = t.id AND m.v < n.v",
        "SELECT sum(q.o * q.v) FROM (SELECT row_number() OVER (ORDER BY s, id) AS o, v FROM m #) q WHERE q.o < t.v",
        "SELECT count(*) FROM (SELECT DISTINCT id, s FROM m # OFFSET 0) q WHERE q.id < t.w",
    ] {
        answers_as_anew(&mut bench, &format!("SELECT id, ({within}) FROM t WHERE id % 20 = 1"));
    }
}

#[test]
fn make_anew_what_hangs_on_rounds_and_on_with_queries_that_do() {
    let mut bench = bench();
    for (query, answer) in [
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT o.n + 1 FROM (VALUES (0)) z(a) \
             JOIN (SELECT n, 0 AS a FROM r ORDER BY n) o ON o.a = z.a WHERE o.n < 4) SELECT sum(n) FROM r",
            "10",
        ),
        (
            "SELECT sum((WITH c AS MATERIALIZED (SELECT t.id AS y) SELECT count(*) FROM n \
             JOIN (SELECT y FROM c ORDER BY y) d ON d.y = n.id)) FROM t",
            "402",
        ),
        (
            "SELECT sum(s.c) FROM t, LATERAL (SELECT count(*) AS c FROM (VALUES (t.id)) x(id) \
             JOIN (SELECT DISTINCT id FROM n WHERE n.id <= t.id OFFSET 0) y USING (id)) s",
            "402",
        ),
    ] {
        assert_eq!(bench.run(query), format!("[sum]\n{answer}\nSELECT 1\n"), "{query}");
    }
}

#[test]
fn of_exists_anywhere_are_hashed_once_many_rows_ask() {
    let mut bench = bench();
    bench.run("ANALYZE n");
    let exists = "EXISTS (SELECT 1 FROM n WHERE n.k = t.k AND n.v = 3 #)";
    for query in [
        format!("SELECT id, {exists}, NOT {exists} FROM t ORDER BY id"),
        format!("SELECT id FROM t WHERE v = 2 OR {exists} ORDER BY id"),
        format!("SELECT id FROM t WHERE NOT (v = 2 AND {exists}) ORDER BY id"),
        format!("SELECT id, CASE WHEN {exists} THEN 'in' ELSE 'out' END FROM t ORDER BY id"),
        format!("SELECT t.id, m.id FROM t LEFT JOIN n m ON m.id = t.id AND {exists} ORDER BY 1"),
        format!("SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > 4 OR {exists} ORDER BY k"),
        format!("SELECT count(*) FILTER (WHERE {exists}), sum({exists}::int) FROM t"),
    ] {
        answers_as_by_row(&mut bench, &query);
        let read = rows_read(&mut bench, "n", &query.replace(" #)", ")"));
        assert!(read < 20 * ROWS, "{query}: {read}");
    }
    for tie in [
        "n.k = t.k AND n.s = t.s",
        "n.v = t.w",
        "t.w = n.v AND n.id > 200",
        "n.k + 1 = t.k + t.v",
        "n.s = t.s COLLATE \"C\" AND n.v = t.v",
        "n.w = (SELECT max(v) FROM n) + t.v",
        "n.k = t.k AND EXISTS (SELECT 1 FROM t u WHERE u.id = n.id AND u.v = 1)",
        "n.k = t.k AND random() >= 0",
    ] {
        let exists = format!("EXISTS (SELECT 1 FROM n WHERE {tie} #)");
        answers_as_by_row(&mut bench, &format!("SELECT id, {exists}, NOT {exists} FROM t"));
    }
    answers_as_by_row(
        &mut bench,
        "SELECT v, EXISTS (SELECT 1 FROM n WHERE n.w * 100 = sum(t.w) #) FROM t GROUP BY v",
    );
    answers_as_by_row(
        &mut bench,
        "SELECT id, (SELECT count(*) FROM t u WHERE u.v = 0 \
         OR EXISTS (SELECT 1 FROM n WHERE n.k = u.k AND n.v = t.v #)) FROM t WHERE id < 30",
    );
    // More rows than may be hashed
    bench.run("SET work_mem = '64kB'; SET hash_mem_multiplier = 1");
    bench.run(
        "INSERT INTO n SELECT i, i, 0, i, repeat('x', 90) || i FROM generate_series(1, 2000) i",
    );
    let exists = "EXISTS (SELECT 1 FROM n WHERE n.s = t.s AND n.k = t.k #)";
    answers_as_by_row(&mut bench, &format!("SELECT id, {exists} FROM t WHERE id < 60"));
}

#[test]
fn of_exists_are_looked_for_one_by_one_while_few_rows_ask() {
    let mut bench = bench();
    bench.run("ANALYZE n");
    let exists = "EXISTS (SELECT 1 FROM n WHERE n.w = t.v)";
    // The first of its rows are found early.
    let query = format!("SELECT {exists} FROM t WHERE v IS NOT NULL AND id < 30");
    assert!(rows_read(&mut bench, "n", &query) < ROWS);
    let once = "SELECT EXISTS (SELECT 1 FROM n WHERE n.k = t.k + 9000) FROM t WHERE id = 1";
    assert_eq!(rows_read(&mut bench, "n", once), ROWS);
}

#[test]
fn of_exists_within_exists_have_not_two_plans_for_each_of_two() {
    let mut bench = bench();
    let deep = (0..12).fold("false".to_owned(), |within, _| {
        let next = format!("EXISTS (SELECT 1 FROM n t WHERE t.k = n.k AND ({within}))");
        format!("EXISTS (SELECT 1 FROM n WHERE n.k = t.k OR n.v = 9 AND {next})")
    });
    let told = bench.run(&format!("SELECT count(*) FROM t WHERE id < 3 AND ({deep} OR v = 0)"));
    assert_eq!(told, "[count]\n2\nSELECT 1\n");
}

#[test]
fn rows_for_later_passes_are_read_as_they_are_asked_for() {
    let mut bench = bench();
    assert_eq!(rows_read(&mut bench, "n", "SELECT * FROM t, n LIMIT 10"), 10);
    assert_eq!(rows_read(&mut bench, "n", "SELECT * FROM t, n OFFSET 1000 LIMIT 10"), ROWS);
    let join = "SELECT count(*), count(t.id), count(n.id) FROM t LEFT JOIN n ON t.k = n.k";
    let hashed = bench.run(join);
    assert_eq!(bench.run(&format!("SET enable_hashjoin = off; {join}")), format!("SET\n{hashed}"));
    // To their middle for one row, to their end for another
    bench.run("RESET enable_hashjoin; CREATE TABLE m AS SELECT id, v FROM n");
    let exists = "EXISTS (SELECT 1 FROM n, (SELECT * FROM m # OFFSET 0) m \
                  WHERE n.id = t.id AND m.v > n.v AND m.id > n.id LIMIT 1)";
    let query = format!("SELECT id, {exists} FROM t");
    answers_as_anew(&mut bench, &query);
    assert_eq!(rows_read(&mut bench, "m", &query.replace('#', "")), ROWS);
    let early = "SELECT EXISTS (SELECT 1 FROM n, m WHERE n.id = t.id AND m.v >= n.v LIMIT 1) \
                 FROM t WHERE v IS NOT NULL AND id < 300";
    assert!(rows_read(&mut bench, "m", early) < 10);
}
