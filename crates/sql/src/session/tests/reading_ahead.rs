//! Scans answer the same however far they read ahead, in a cache that is much smaller than the tables.

use super::Bench;
use storage::EngineConfig;

/// Statements that go through whole tables, with their answers.
fn answers(bench: &mut Bench, reach: &str) -> String {
    let mut told = bench.run(reach);
    assert!(told.starts_with("SET\n"), "{told}");
    told.clear();
    for sql in [
        "SELECT count(*), sum(a), min(length(b)), sum(hashtext(b)::bigint) FROM t",
        "SELECT a FROM t WHERE a % 997 = 5",
        "SELECT a FROM t LIMIT 3",
        "SELECT count(*) FROM t x JOIN t y ON x.a = y.a + 1 WHERE x.a % 3 = 0",
        "UPDATE t SET b = b || 'y' WHERE a % 50 = 1",
        "SELECT sum(length(b)) FROM t",
        "ROLLBACK",
        "COPY (SELECT a, length(b) FROM t WHERE a % 211 = 0) TO STDOUT",
        "CREATE INDEX t_b ON t (left(b, 40), a)",
        "SELECT count(*) FROM (SELECT a FROM t ORDER BY left(b, 40), a) s",
        "SET enable_seqscan = off",
        "SELECT count(*), sum(a), sum(length(b)) FROM t WHERE left(b, 40) >= repeat('c', 40)",
        "SET enable_bitmapscan = off",
        "SELECT count(*), sum(a), sum(length(b)) FROM t WHERE left(b, 40) >= repeat('c', 40)",
        "SELECT a, length(b) FROM t ORDER BY left(b, 40) DESC, a DESC LIMIT 700",
        "SELECT count(*), sum(length(y.b)) FROM (VALUES ('a'), ('k'), ('z')) x (c) \
         JOIN t y ON left(y.b, 40) = repeat(x.c, 40)",
        "SET enable_seqscan = on",
        "DROP INDEX t_b",
        "CREATE INDEX t_h ON t USING hash (left(b, 1))",
        "SET enable_seqscan = off",
        "SELECT count(*), sum(a) FROM t WHERE left(b, 1) = 'd'",
        "SET enable_bitmapscan = on",
        "SELECT count(*), sum(a) FROM t WHERE left(b, 1) = 'd'",
        "SET enable_seqscan = on",
        "DROP INDEX t_h",
        "CREATE TEMPORARY TABLE part AS SELECT a FROM t WHERE a < 1000",
        "DELETE FROM t WHERE a IN (SELECT a FROM part WHERE a % 7 = 0)",
        "VACUUM t",
        "SELECT count(*), sum(a) FROM t",
        "INSERT INTO t SELECT a, repeat('z', 300) FROM part WHERE a % 7 = 0",
        "DROP TABLE part",
        "ANALYZE t",
        "SELECT reltuples FROM pg_class WHERE relname = 't'",
        "SELECT most_common_vals, histogram_bounds, n_distinct FROM pg_stats \
         WHERE tablename = 't' AND attname = 'a'",
    ] {
        if sql.starts_with("UPDATE") {
            told += &bench.run("BEGIN");
        }
        told += &bench.run(sql);
    }
    told
}

#[test]
fn scans_answer_the_same_however_far_they_read_ahead() {
    let config = EngineConfig { shared_buffers: 96, ..EngineConfig::default() };
    let answers_of = |config: &EngineConfig, reach: &str| {
        let mut bench = Bench::with(config);
        bench.run("CREATE TABLE t (a int, b text)");
        let filled = "INSERT INTO t SELECT i, repeat(chr(97 + i % 26), 300) \
                      FROM generate_series(1, 6000) i";
        assert_eq!(bench.run(filled), "INSERT 0 6000\n");
        answers(&mut bench, reach)
    };
    let none =
        answers_of(&config, "SET effective_io_concurrency = 0; SET maintenance_io_concurrency = 0");
    for refused in ["42", "22", "XX", "53"] {
        assert!(
            !none.lines().any(|line| line.starts_with(refused) && line.contains(": ")),
            "{none}"
        );
    }
    for reach in [
        "SET effective_io_concurrency = 256; SET maintenance_io_concurrency = 256",
        "SET effective_io_concurrency = 4; SET io_combine_limit = '256kB'",
    ] {
        assert_eq!(answers_of(&config, reach), none, "{reach}");
    }
}
