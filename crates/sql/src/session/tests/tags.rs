//! When a command's tag is told: of a message's last statement once it is committed, of others when they are done.

use super::Bench;

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE u (a int PRIMARY KEY, b int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    bench
}

#[test]
fn what_cannot_be_committed_has_no_tag() {
    let mut bench = bench();
    let refused = bench.run("INSERT INTO u VALUES (1, 1), (2, 1)");
    assert!(refused.starts_with("23505"), "{refused}");
    let refused = bench.run("INSERT INTO u VALUES (1, 1), (2, 1) RETURNING a");
    assert!(refused.starts_with("[a]\n1\n2\n23505"), "{refused}");
    assert_eq!(bench.run("SELECT count(*) FROM u"), "[count]\n0\nSELECT 1\n");
    bench.run("CREATE TABLE p (a int PRIMARY KEY)");
    bench.run("CREATE TABLE f (a int REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
    let refused = bench.run("INSERT INTO f VALUES (1)");
    assert!(refused.starts_with("23503"), "{refused}");
    let refused = bench.run("CREATE TABLE late AS SELECT 1 AS a; INSERT INTO f SELECT a FROM late");
    assert!(refused.starts_with("SELECT 1\n23503"), "{refused}");
    assert!(bench.run("SELECT * FROM late").contains("42P01"));
}

#[test]
fn earlier_statements_of_a_message_have_theirs_at_once() {
    let mut bench = bench();
    let refused = bench.run("INSERT INTO u VALUES (1, 1), (2, 1); UPDATE u SET a = 7 WHERE a = 2");
    assert!(refused.starts_with("INSERT 0 2\n23505"), "{refused}");
    let done = bench.run("INSERT INTO u VALUES (1, 1), (2, 1); DELETE FROM u WHERE a = 2");
    assert_eq!(done, "INSERT 0 2\nDELETE 1\n");
}

#[test]
fn in_a_block_the_end_of_the_block_has_none() {
    let mut bench = bench();
    assert_eq!(bench.run("BEGIN"), "BEGIN\n");
    assert_eq!(bench.run("INSERT INTO u VALUES (1, 1), (2, 1)"), "INSERT 0 2\n");
    let refused = bench.run("COMMIT");
    assert!(refused.starts_with("23505"), "{refused}");
    let both = bench.run("BEGIN; INSERT INTO u VALUES (1, 1), (2, 1)");
    assert_eq!(both, "BEGIN\nINSERT 0 2\n");
    assert_eq!(bench.run("ROLLBACK"), "ROLLBACK\n");
}
