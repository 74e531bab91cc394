//! Queries whose rows do not fit `work_mem`: their answers are those of queries whose rows do, their operators
//! keep to their bounds, and no temporary file outlives them.

use super::{Bench, run};
use crate::session::Session;

/// Little memory, in bytes: `work_mem` at its least.
const LITTLE: u64 = 64 << 10;

/// A small generator; the same seed is the same run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % below
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

/// Two tables, each several times as large as little memory: `id` is unique, `k` has some hundred values and
/// nulls, `s` has one value that most rows share, `p` is long, `n` has numbers that are equal and look different.
fn tables(s: &mut Session) {
    for (name, rows, step) in [("t", 900, 7), ("u", 700, 11)] {
        run(s, &format!("CREATE TABLE {name} (id int, k int, s int, p text, n numeric)"));
        let told = run(
            s,
            &format!(
                "INSERT INTO {name} SELECT i, CASE WHEN i % 13 <> 0 THEN i * {step} % 401 END, \
                 CASE WHEN i % 10 < 1 THEN 5 ELSE i END, \
                 'pad-' || (i * {step} % 700) || '-' || repeat('x', 60 + i % 90), \
                 CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE i END \
                 FROM generate_series(1, {rows}) i"
            ),
        );
        assert_eq!(told, format!("INSERT 0 {rows}\n"));
    }
}

/// Sets the memory; what is "much" holds everything.
fn remember(s: &mut Session, much: bool) {
    let (memory, times) = if much { ("1GB", 2) } else { ("64kB", 1) };
    let told = run(s, &format!("SET work_mem = '{memory}'; SET hash_mem_multiplier = {times}"));
    assert_eq!(told, "SET\nSET\n");
}

fn join(dice: &mut Dice) -> String {
    let kind = dice.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let on = dice.pick(&["t.k = u.k", "t.p = u.p", "t.id = u.id", "t.k = u.k AND t.s = u.s"]);
    let and = dice.pick(&["", "", " AND t.id < u.id"]);
    // PostgreSQL and we refuse FULL JOIN on what can't be hashed; beside a key it may be anything.
    match dice.roll(4) {
        0 => format!("SELECT t.id, u.id, t.p, u.p FROM t {kind} u ON {on}{and}"),
        1 => format!("SELECT count(*), sum(t.id), sum(u.id) FROM t {kind} u ON t.s = u.s{and}"),
        2 => format!("SELECT t.*, u.n FROM t {kind} u ON {on}{and} ORDER BY t.id, u.id LIMIT 400"),
        _ => format!(
            "SELECT u.k, count(*), max(t.p) FROM t {kind} u ON {on}{and} \
             LEFT JOIN t AS v ON v.id = u.id GROUP BY u.k"
        ),
    }
}

fn half_join(dice: &mut Dice) -> String {
    let on = dice.pick(&["u.k = t.k", "u.p = t.p", "u.id = t.id AND u.s > 5"]);
    let not = dice.pick(&["", "NOT "]);
    let nulls = dice.pick(&["", " WHERE k IS NOT NULL"]);
    match dice.roll(2) {
        0 => format!("SELECT id, p FROM t WHERE {not}EXISTS (SELECT 1 FROM u WHERE {on})"),
        _ => format!("SELECT id, p FROM t WHERE k {not}IN (SELECT k FROM u{nulls})"),
    }
}

fn grouping(dice: &mut Dice) -> String {
    let key = dice.pick(&["k", "p", "id", "s", "k, p", "n, k"]);
    let calls = dice.pick(&[
        "count(*), sum(id), avg(n)",
        "count(DISTINCT p), max(p), min(n)",
        "array_agg(id ORDER BY p DESC, id)",
        "string_agg(DISTINCT p, ',')",
        "array_agg(DISTINCT k), count(DISTINCT id % 700)",
        "string_agg(p, ',' ORDER BY id), sum(DISTINCT s)",
        "count(*) FILTER (WHERE id % 2 = 0), string_agg(p, '+' ORDER BY n, id)",
    ]);
    match dice.roll(6) {
        0 => format!("SELECT k, p, {calls} FROM t GROUP BY ROLLUP (k, p)"),
        1 => format!(
            "SELECT k, s, grouping(k), {calls} FROM t GROUP BY GROUPING SETS ((k), (s), ())"
        ),
        2 => format!("SELECT {calls} FROM t"),
        _ => format!("SELECT {key}, {calls} FROM t GROUP BY {key}"),
    }
}

fn ordering(dice: &mut Dice) -> String {
    let key = dice.pick(&["p, id", "k DESC NULLS LAST, id", "n, p DESC, id", "s DESC, id DESC"]);
    match dice.roll(5) {
        0 => format!("SELECT * FROM t ORDER BY {key} LIMIT {}", dice.roll(700)),
        1 => format!("SELECT p FROM u ORDER BY {key} OFFSET {}", dice.roll(600)),
        2 => "SELECT DISTINCT p, n FROM t ORDER BY p, n".to_owned(),
        3 => format!("SELECT DISTINCT ON (k) k, p, id FROM t ORDER BY k, {key}"),
        _ => format!("SELECT * FROM t ORDER BY {key}"),
    }
}

fn sets(dice: &mut Dice) -> String {
    let op = dice.pick(&["UNION", "INTERSECT", "EXCEPT"]);
    let all = dice.pick(&["", " ALL"]);
    let of = dice.pick(&["k, p", "p", "k", "p, k % 5"]);
    let third = dice.pick(&["", " UNION SELECT NULL, 'more'"]);
    let third = if of == "k, p" { third } else { "" };
    format!("SELECT {of} FROM t {op}{all} SELECT {of} FROM u{third}")
}

fn windows(dice: &mut Dice) -> String {
    let over = dice.pick(&[
        "PARTITION BY s ORDER BY p, id",
        "PARTITION BY k ORDER BY id",
        "ORDER BY n, id",
    ]);
    let call = dice.pick(&[
        "row_number() OVER w, lag(p, 2) OVER w",
        "rank() OVER w, dense_rank() OVER w",
        "sum(id) OVER w, lead(p, 70, 'none') OVER w",
        "first_value(p) OVER w, last_value(id) OVER w",
        "ntile(7) OVER w, cume_dist() OVER w",
        "max(p) OVER w, nth_value(p, 3) OVER w",
    ]);
    let frame =
        dice.pick(&["", "", " ROWS BETWEEN 3 PRECEDING AND 80 FOLLOWING", " GROUPS 2 PRECEDING"]);
    format!("SELECT id, p, {call} FROM t WINDOW w AS ({over}{frame})")
}

fn keeping(dice: &mut Dice) -> String {
    match dice.roll(4) {
        0 => "WITH c AS MATERIALIZED (SELECT id, p, k FROM t) \
              SELECT a.id, b.p FROM c AS a JOIN c AS b ON a.id = b.k"
            .to_owned(),
        1 => "WITH RECURSIVE r (id, p) AS (SELECT id, p FROM t WHERE id <= 400 UNION \
              SELECT r.id + 400, t.p FROM r JOIN t ON t.id = r.id + 400) SELECT * FROM r"
            .to_owned(),
        2 => "SELECT a.id, b.p FROM (SELECT * FROM t WHERE id < 30) AS a, \
              (SELECT p FROM u WHERE id % 3 < 2) AS b WHERE a.id > length(b.p) - 70"
            .to_owned(),
        _ => "SELECT id FROM t WHERE p > ALL (SELECT p FROM u WHERE id < 1000 AND p < 'pad-3')"
            .to_owned(),
    }
}

/// The answer, its rows in an order of their own where the query gives none.
fn answer(s: &mut Session, query: &str) -> String {
    let told = run(s, query);
    if query.contains("ORDER BY p, ") || query.starts_with("SELECT * FROM t ORDER") {
        return told;
    }
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn little_memory_and_much_give_the_same_answers() {
    let mut bench = Bench::new();
    let (files, temp) = (bench.cluster.temp_files.clone(), bench.session.backend.temp.clone());
    let s = &mut bench.session;
    tables(s);
    let mut dice = Dice(0x5eed_1234_9876);
    let mut spilled = 0;
    let kinds = [join, half_join, grouping, ordering, sets, windows, keeping];
    for round in 0..84 {
        let query = kinds[round % kinds.len()](&mut dice);
        remember(s, true);
        let written = temp.written();
        let expected = answer(s, &query);
        assert!(expected.contains("SELECT "), "{query}: {expected}");
        assert_eq!(temp.written(), written, "{query}: much memory is enough");
        remember(s, false);
        temp.take_peak();
        let got = answer(s, &query);
        assert!(got == expected, "{query}:\n{got}\n--- but with much memory\n{expected}");
        let peak = temp.take_peak();
        assert!(peak <= 2 * LITTLE, "{query}: one operator held {peak} bytes");
        spilled += u64::from(temp.written() > written);
        assert_eq!(files.count(), 0, "{query} leaves a temporary file");
    }
    assert!(spilled > 50, "only {spilled} queries needed a temporary file");
}

#[test]
fn one_key_with_more_rows_than_memory_is_joined() {
    let mut bench = Bench::new();
    let (files, temp) = (bench.cluster.temp_files.clone(), bench.session.backend.temp.clone());
    let s = &mut bench.session;
    run(s, "CREATE TABLE a (id int, k int, p text); CREATE TABLE b (id int, k int, p text)");
    run(s, "INSERT INTO a SELECT i, 1, repeat('a', 300) FROM generate_series(1, 40) i");
    run(s, "INSERT INTO b SELECT i, 1, repeat('b', 300) FROM generate_series(1, 500) i");
    run(s, "INSERT INTO a VALUES (0, 2, 'none'); INSERT INTO b VALUES (0, 3, 'none')");
    for (kind, expected) in
        [("JOIN", "20000"), ("LEFT JOIN", "20001"), ("RIGHT JOIN", "20001"), ("FULL JOIN", "20002")]
    {
        for (l, r) in [("a", "b"), ("b", "a")] {
            let query =
                format!("SELECT count(*), max({l}.p) > '' FROM {l} {kind} {r} ON {l}.k = {r}.k");
            remember(s, false);
            temp.take_peak();
            let told = run(s, &query);
            assert!(told.contains(&format!("\n{expected}|t\n")), "{query}: {told}");
            assert!(temp.take_peak() <= 2 * LITTLE, "{query}");
        }
    }
    let told = run(
        s,
        "SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.id = 500)",
    );
    assert_eq!(told, "[count]\n1\nSELECT 1\n");
    assert!(temp.written() > 0);
    assert_eq!(files.count(), 0);
}

#[test]
fn cursors_keep_their_rows_in_files() {
    let mut bench = Bench::new();
    let files = bench.cluster.temp_files.clone();
    let s = &mut bench.session;
    tables(s);
    remember(s, false);
    run(s, "BEGIN");
    run(s, "DECLARE c SCROLL CURSOR FOR SELECT id, p FROM t ORDER BY id");
    run(s, "DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT id, p FROM u ORDER BY id DESC");
    assert_eq!(run(s, "MOVE FORWARD ALL IN c"), "MOVE 900\n");
    assert!(files.count() > 0);
    let id = |told: String| told.lines().nth(1).unwrap_or("").split('|').next().unwrap().to_owned();
    for n in [900, 1, 700, 699, 899, 63, 64, 65] {
        assert_eq!(id(run(s, &format!("FETCH ABSOLUTE {n} FROM c"))), n.to_string());
    }
    assert_eq!(id(run(s, "FETCH PRIOR FROM c")), "64");
    let back = run(s, "FETCH BACKWARD ALL FROM c");
    assert!(back.starts_with("[id|p]\n63|") && back.ends_with("FETCH 63\n"), "{back}");
    run(s, "COMMIT");
    assert_eq!(id(run(s, "FETCH LAST FROM h")), "1");
    assert_eq!(id(run(s, "FETCH ABSOLUTE 2 FROM h")), "699");
    assert!(files.count() > 0);
    run(s, "CLOSE h");
    assert_eq!(files.count(), 0);
}

#[test]
fn cursors_that_only_go_forward_keep_no_rows() {
    let mut bench = Bench::new();
    let (files, temp) = (bench.cluster.temp_files.clone(), bench.session.backend.temp.clone());
    let s = &mut bench.session;
    tables(s);
    remember(s, false);
    let before = temp.written();
    run(s, "BEGIN");
    run(s, "DECLARE n NO SCROLL CURSOR FOR SELECT id, p FROM t");
    run(s, "DECLARE g CURSOR FOR SELECT id, p, generate_series(1, 5) FROM t");
    assert_eq!(run(s, "MOVE 700 IN n"), "MOVE 700\n");
    assert!(run(s, "FETCH ALL FROM n").ends_with("\nFETCH 200\n"));
    assert!(run(s, "FETCH 4400 FROM g").ends_with("\nFETCH 4400\n"));
    assert!(run(s, "FETCH ABSOLUTE 4499 FROM g").ends_with("|4\nFETCH 1\n"));
    assert_eq!((temp.written(), files.count()), (before, 0));
    // WITH HOLD, they keep what is left of them.
    run(s, "DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT id, p FROM t");
    assert_eq!(run(s, "MOVE 899 IN h"), "MOVE 899\n");
    run(s, "COMMIT");
    assert_eq!((temp.written(), files.count()), (before, 0));
    assert!(run(s, "FETCH ALL FROM h").ends_with("\nFETCH 1\n"));
}

#[test]
fn an_error_and_a_limit_leave_no_file() {
    let mut bench = Bench::new();
    let files = bench.cluster.temp_files.clone();
    let s = &mut bench.session;
    tables(s);
    remember(s, false);
    let told = run(s, "SELECT 1 / (id - 800) FROM (SELECT * FROM t ORDER BY p) AS x ORDER BY id");
    assert!(told.contains("22012"), "{told}");
    assert_eq!(files.count(), 0);
    run(s, "SET temp_file_limit = '100kB'");
    let told = run(s, "SELECT * FROM t ORDER BY p");
    assert_eq!(told, "[id|k|s|p|n]\n53400: temporary file size exceeds temp_file_limit (100kB)\n");
    assert_eq!(files.count(), 0);
    assert!(run(s, "SELECT * FROM t WHERE id < 50 ORDER BY p").ends_with("SELECT 49\n"));
    run(s, "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY p");
    assert!(run(s, "FETCH 1 FROM c").contains("53400"));
    run(s, "ROLLBACK; RESET temp_file_limit");
    assert!(run(s, "SELECT * FROM t ORDER BY p").ends_with("SELECT 900\n"));
    run(
        s,
        "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t ORDER BY p; FETCH 1 FROM c; COMMIT",
    );
    assert!(files.count() > 0);
    // The session ends with its cursor open.
    drop(bench.session);
    assert_eq!(files.count(), 0);
}

#[test]
fn an_index_is_built_in_little_memory() {
    let mut bench = Bench::new();
    let (files, temp) = (bench.cluster.temp_files.clone(), bench.session.backend.temp.clone());
    let s = &mut bench.session;
    run(s, "CREATE TABLE w (id int, p text)");
    run(
        s,
        "INSERT INTO w SELECT i * 7919 % 901, (i * 7919 % 997) || repeat('w', 1500) || i FROM generate_series(1, 900) i",
    );
    run(s, "SET maintenance_work_mem = '1MB'");
    temp.take_peak();
    assert_eq!(run(s, "CREATE UNIQUE INDEX ON w (p, id)"), "CREATE INDEX\n");
    assert!(temp.written() > 0, "the entries were sorted in a file");
    let peak = temp.take_peak();
    assert!(peak <= 2 << 20, "{peak}");
    let told = run(s, "SET enable_seqscan = off; SELECT count(*) FROM w WHERE p >= ''");
    assert!(told.ends_with("\n900\nSELECT 1\n"), "{told}");
    run(s, "DROP INDEX w_p_id_idx");
    run(s, "INSERT INTO w VALUES (1, 'same'), (1, 'same')");
    let told = run(s, "CREATE UNIQUE INDEX ON w (p, id)");
    assert!(
        told.starts_with("23505") && told.contains("Key (p, id)=(same, 1) is duplicated."),
        "{told}"
    );
    assert_eq!(files.count(), 0);
}

/// 30,000 rows in no order, the seed of which is their number; their keys need more than 1 MB.
const MANY: &str = "CREATE TABLE h (id int, k int, t text);
    INSERT INTO h SELECT i, i * 7919 % 30011, md5((i * 7919 % 997)::text) || repeat('h', i % 50)
        FROM generate_series(1, 30000) i";

#[test]
fn helpers_sort_as_one_alone_does() {
    let mut bench = Bench::new();
    let (files, temp) = (bench.cluster.temp_files.clone(), bench.session.backend.temp.clone());
    let s = &mut bench.session;
    run(s, MANY);
    run(
        s,
        "SET maintenance_work_mem = '1MB'; SET enable_seqscan = off; SET enable_bitmapscan = off",
    );
    let builds = [
        "CREATE INDEX h_t ON h (t DESC, k) INCLUDE (id)",
        "CREATE UNIQUE INDEX h_t ON h (t, id)",
        "CREATE INDEX CONCURRENTLY h_t ON h (upper(t), id)",
        "CREATE INDEX h_t ON h (k)",
        "CREATE INDEX h_t ON h USING hash (t)",
    ];
    for build in builds {
        let mut seen = Vec::new();
        for workers in [0, 2] {
            run(s, &format!("SET max_parallel_maintenance_workers = {workers}"));
            let before = temp.written();
            temp.take_peak();
            assert_eq!(run(s, build), "CREATE INDEX\n", "{build}");
            let written = temp.written() - before;
            assert!(temp.take_peak() <= 1100 << 10, "the memory is shared: {build}");
            let is_hash = build.contains("hash");
            assert_eq!(written > 0, !build.ends_with("(k)") && !is_hash, "{build}: {written}");
            let check = if is_hash { "hash_index_check" } else { "bt_index_check" };
            let told = run(s, &format!("SELECT {check}('h_t', true)"));
            assert!(told.ends_with("SELECT 1\n"), "{told}");
            if build.contains("CONCURRENTLY") {
                assert_eq!(run(s, "REINDEX INDEX CONCURRENTLY h_t"), "REINDEX\n");
            } else {
                assert_eq!(run(s, "REINDEX INDEX h_t"), "REINDEX\n");
            }
            let order = if is_hash { "id" } else { "t DESC, k, id" };
            let content = format!(
                "SELECT pg_relation_size('h_t'), md5(string_agg(id::text, ','))
                 FROM (SELECT id FROM h WHERE t > '' ORDER BY {order}) s"
            );
            seen.push(run(s, &content));
            assert_eq!(run(s, "DROP INDEX h_t"), "DROP INDEX\n");
        }
        assert_eq!(seen[0], seen[1], "{build}");
        assert_eq!(files.count(), 0);
    }
}

/// Wherever it is when it is cancelled: nothing is left of it.
#[test]
fn a_canceled_build_ends_its_helpers() {
    let mut bench = Bench::new();
    let files = bench.cluster.temp_files.clone();
    let s = &mut bench.session;
    run(s, MANY);
    run(s, "SET maintenance_work_mem = '1MB'; SET max_parallel_maintenance_workers = 2");
    let mut canceled = 0;
    for milliseconds in [1, 5, 10, 20, 40, 60, 80, 120, 160] {
        run(s, &format!("SET statement_timeout = {milliseconds}"));
        let told = run(s, "CREATE INDEX h_t ON h (t, k)");
        run(s, "RESET statement_timeout");
        assert_eq!(files.count(), 0, "after {milliseconds} ms: {told}");
        match &*told {
            "CREATE INDEX\n" => drop(run(s, "DROP INDEX h_t")),
            refused => {
                assert!(refused.starts_with("57014"), "{refused}");
                canceled += 1;
            }
        }
    }
    assert!(canceled > 0);
    assert_eq!(run(s, "CREATE INDEX h_t ON h (t, k)"), "CREATE INDEX\n");
    run(s, "SET temp_file_limit = '200kB'");
    let told = run(s, "CREATE INDEX h_again ON h (t, k)");
    assert!(told.starts_with("53400"), "{told}");
    assert_eq!(files.count(), 0);
}

#[test]
fn explain_tells_of_files() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    tables(s);
    remember(s, false);
    let explain = |s: &mut Session, query: &str| {
        run(s, &format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {query}"))
    };
    let told = explain(s, "SELECT * FROM t ORDER BY p");
    assert!(told.contains("Sort Method: external merge  Disk: "), "{told}");
    let told = explain(s, "SELECT * FROM t ORDER BY p LIMIT 5");
    assert!(told.contains("Sort Method: top-N heapsort  Memory: "), "{told}");
    let told = explain(s, "SELECT p, count(*) FROM t GROUP BY p");
    assert!(told.contains("Memory Usage: ") && told.contains("Disk Usage: "), "{told}");
    let told = explain(s, "SELECT * FROM t JOIN u USING (k)");
    assert!(told.contains("Buckets: ") && !told.contains("Batches: 1 "), "{told}");
    remember(s, true);
    let told = explain(s, "SELECT * FROM t JOIN u USING (k) ORDER BY t.p");
    assert!(told.contains("Batches: 1 ") && told.contains("Sort Method: quicksort "), "{told}");
}

/// Each would make a value of more than 1 GB of one that is far smaller than that.
#[test]
fn values_are_refused_before_they_are_too_large() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE big AS SELECT repeat('x', 1000000) AS x");
    for query in ["SELECT repeat(x, 2000) FROM big", "SELECT replace(x, 'x', x) FROM big"] {
        let told = run(s, query);
        assert!(told.contains("54000: requested length too large"), "{query}: {told}");
    }
}

/// EXPLAIN (ANALYZE, BUFFERS) tells what went through temporary files, at the node whose rows they were.
#[test]
fn temporary_files_are_told_by_explain() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    tables(s);
    let queries = [
        ("Sort", "SELECT * FROM t ORDER BY p, id"),
        ("Hash Join", "SELECT * FROM t JOIN u ON t.p = u.p"),
        ("HashAggregate", "SELECT p, count(*) FROM t GROUP BY p"),
        ("WindowAgg", "SELECT sum(id) OVER (), p FROM t"),
        ("HashSetOp", "SELECT p FROM t EXCEPT SELECT p FROM u"),
    ];
    for (node, query) in queries {
        for (much, is_told) in [(true, false), (false, true)] {
            remember(s, much);
            let plan =
                run(s, &format!("EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) {query}"));
            assert!(plan.contains(node), "{plan}");
            let told = plan.lines().any(|l| l.contains("temp read=") && l.contains(" written="));
            assert_eq!(told, is_told, "{plan}");
        }
    }
    let plan = run(s, "EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM t ORDER BY p, id");
    let (number, bytes) = ("temp read=", 900 * 100);
    let read = plan.split(number).nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let pages: u64 = read.parse().unwrap();
    assert!((bytes / 8192..bytes / 8192 * 8).contains(&pages), "{plan}");
}
