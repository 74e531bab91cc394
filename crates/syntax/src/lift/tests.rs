use super::*;
use crate::parse;

/// The key, readable: marks as `?`.
fn key(sql: &str) -> Option<String> {
    let mut lifter = Lifter::new();
    let lift = lifter.lift(sql)?;
    let text = String::from_utf8(lift.key().to_vec()).expect("keys of text are text");
    Some(text.replace('\u{1}', "?").trim_end().to_string())
}

fn values(sql: &str) -> Vec<String> {
    let mut lifter = Lifter::new();
    let lift = lifter.lift(sql).expect("a statement to lift from");
    lift.values().map(|value| format!("{value:?}")).collect()
}

/// Lifts, parses and replaces: does the tree side agree?
fn agrees(sql: &str) -> bool {
    let mut lifter = Lifter::new();
    let lift = lifter.lift(sql).expect("a statement to lift from");
    let mut parsed = parse(sql).expect("a statement");
    lift.replace(&mut parsed[0].statement)
}

#[test]
fn the_statements_of_pgbench_find_their_plans() {
    let cases = [
        (
            "SELECT abalance FROM pgbench_accounts WHERE aid = 123;",
            "select abalance from pgbench_accounts where aid = ?i",
        ),
        (
            "UPDATE pgbench_accounts SET abalance = abalance + -1234 WHERE aid = 5;",
            "update pgbench_accounts set abalance = abalance + ?i where aid = ?i",
        ),
        (
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (5, 1, 7, -3, CURRENT_TIMESTAMP);",
            "insert into pgbench_history ( tid , bid , aid , delta , mtime ) values ( ?i , ?i , ?i , ?i , current_timestamp )",
        ),
    ];
    for (sql, wanted) in cases {
        assert_eq!(key(sql).as_deref(), Some(wanted));
        assert!(agrees(sql), "{sql}");
    }
}

#[test]
fn writing_differently_is_the_same_statement() {
    let wanted = key("SELECT a FROM t WHERE b=1 AND c='x'");
    assert!(wanted.is_some());
    for sql in [
        "select A from T where B = 2 and C = 'it''s'",
        "SELECT a -- comment\nFROM t /* and /* nested */ */ WHERE b = 2147483647 AND c = $$y$$ ; -- end",
        "\tSELECT\u{b}a FROM t WHERE b = -1 AND c = E'\\n\\'x'",
    ] {
        assert_eq!(key(sql), wanted, "{sql}");
        assert!(agrees(sql), "{sql}");
    }
}

#[test]
fn kinds_of_constants_differ() {
    let sql = "SELECT 1, 2147483648, 1.5, 1e3, 99999999999999999999, 'x', -7, - 2.50, .5, 5.";
    let wanted = "select ?i , ?I , ?n , ?n , ?n , ?s , ?i , ?n , ?n , ?n";
    assert_eq!(key(sql).as_deref(), Some(wanted));
    assert!(agrees(sql));
    assert_eq!(
        values(sql),
        [
            "Integer(1)",
            "Integer(2147483648)",
            "Numeric(\"1.5\")",
            "Numeric(\"1e3\")",
            "Numeric(\"99999999999999999999\")",
            "String(\"x\")",
            "Integer(-7)",
            "Numeric(\"-2.50\")",
            "Numeric(\".5\")",
            "Numeric(\"5.\")",
        ]
    );
}

#[test]
fn a_minus_sign_belongs_to_a_number_only_where_the_grammar_says_so() {
    let cases = [
        ("SELECT a - 5", "select a - ?i"),
        ("SELECT a -5", "select a - ?i"),
        ("SELECT a = -5", "select a = ?i"),
        ("SELECT -5::int", "select - ?i :: int"),
        ("SELECT (-5) - -5", "select ( ?i ) - ?i"),
        ("SELECT a+-5", "select a + ?i"),
        ("SELECT a@-5", "select a @- ?i"),
        ("SELECT a[-1], -a, 2 -1", "select a [ ?i ] , - a , ?i - ?i"),
        ("SELECT 1 BETWEEN -1 AND -2", "select ?i between ?i and ?i"),
    ];
    for (sql, wanted) in cases {
        assert_eq!(key(sql).as_deref(), Some(wanted), "{sql}");
        assert!(agrees(sql), "{sql}");
    }
    assert_eq!(key("SELECT -2147483648"), None);
    assert_eq!(key("SELECT -9223372036854775808"), None);
    // The tree folds across parentheses and signs; the lexer does not, and says so.
    assert!(!agrees("SELECT - (5)"));
    assert!(!agrees("SELECT - - 5"));
}

#[test]
fn constants_that_decide_more_than_a_value_stay() {
    let cases = [
        ("SELECT a, b FROM t ORDER BY 2, a + 1 LIMIT 5", "order by 2 , a + 1 limit ?i"),
        ("SELECT a FROM (SELECT 1 ORDER BY 1) x WHERE b = 1", "order by 1 ) x where b = ?i"),
        (
            "SELECT a::varchar(10), 5::numeric(8, 2)",
            "a :: varchar ( 10 ) , ?i :: numeric ( 8 , 2 )",
        ),
        ("SELECT CAST(5 AS t(3)), 5", "cast ( ?i as t ( 3 ) ) , ?i"),
        ("SELECT a::int[3], a::x.y(4)[], 5", "a :: int [ 3 ] , a :: x . y ( 4 ) [ ] , ?i"),
        ("SELECT date '2020-01-01', 'x'", "date '2020-01-01' , ?s"),
        ("SELECT interval '1' day + 2", "interval '1' day + ?i"),
        ("SELECT current_timestamp(3), f(3)", "current_timestamp ( 3 ) , f ( ?i )"),
        ("SELECT a LIKE 'x%' AND b = 'x'", "a like 'x%' and b = ?s"),
        ("SELECT a ~ '^x' OR b ILIKE E'\\n'", "a ~ '^x' or b ilike E'\\n'"),
        ("SELECT a FROM t FETCH FIRST 5 ROWS ONLY", "fetch first 5 rows only"),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT ((a + 1)) WHERE b > 2 DO UPDATE SET a = 3",
            "values ( ?i ) on conflict ( ( a + 1 ) ) where b > 2 do update set a = ?i",
        ),
    ];
    for (sql, wanted) in cases {
        let key = key(sql).unwrap_or_else(|| panic!("refused: {sql}"));
        assert!(key.ends_with(wanted), "{sql}: {key}");
        assert!(agrees(sql), "{sql}");
    }
}

#[test]
fn whole_statements_are_refused_when_unsure() {
    for sql in [
        "",
        ";",
        "SELECT 1; SELECT 2",
        "SELECT a + 1 FROM t GROUP BY a + 1",
        "SELECT DISTINCT a + 1 FROM t ORDER BY a + 1",
        "SELECT 1 UNION SELECT 2",
        "WITH x AS (SELECT 1) SELECT 1",
        "SELECT 1 INTO t",
        "VALUES (1)",
        "SET x = 1",
        "CREATE TABLE t (a varchar(10))",
        "BEGIN",
        "SELECT U&'x'",
        "SELECT N'x'",
        "SELECT B'1', X'1'",
        "SELECT 'a'\n'b'",
        "SELECT 'a",
        "SELECT \"a",
        "SELECT \"\"",
        "SELECT $a$ x $b$",
        "SELECT /* x",
        "SELECT 1_000",
        "SELECT 0x1F",
        "SELECT 1a",
        "SELECT 1e",
        "SELECT 1..2",
        "SELECT E'\\u0041'",
        "SELECT E'\\101'",
        "SELECT varchar(5) 'x'",
        "SELECT 'a\0b'",
        "SELECT \u{1}i",
        "SELECT f(a := 1)",
        "SELECT )",
    ] {
        assert_eq!(key(sql), None, "{sql}");
    }
    assert_eq!(key(&format!("SELECT {}", "a".repeat(64))), None);
    assert_eq!(key(&format!("SELECT {}", "1,".repeat(300) + "1")), None);
    assert_eq!(key(&format!("SELECT '{}'", "x".repeat(MAX_TEXT_BYTES))), None);
}

#[test]
fn strings_are_read_as_the_parser_reads_them() {
    let sql =
        r#"SELECT 'it''s', '', '''', 'a\n', E'a\nb\\c\'d''e\t', $$a'b$$, $x$a $$ b$x$, 'ünï'"#;
    assert!(agrees(sql));
    assert_eq!(values(sql)[0], "String(\"it's\")");
    assert_eq!(values(sql)[4], "String(\"a\\nb\\\\c'd'e\\t\")");
}

#[test]
fn spans_point_at_the_constants() {
    let sql = "SELECT 'é', - 5, E'x', $$y$$";
    let mut lifter = Lifter::new();
    let lift = lifter.lift(sql).expect("lifted");
    let texts: Vec<&str> = (0..lift.len()).map(|slot| lift.span(slot).text(sql)).collect();
    assert_eq!(texts, ["'é'", "- 5", "E'x'", "$$y$$"]);
}

#[test]
fn a_lifted_constant_keeps_its_literal() {
    let sql = "SELECT 5";
    let mut lifter = Lifter::new();
    let lift = lifter.lift(sql).expect("lifted");
    let mut parsed = parse(sql).expect("a statement");
    assert!(lift.replace(&mut parsed[0].statement));
    let text = format!("{:?}", parsed[0].statement);
    assert!(text.contains("LiftedConst { slot: 0, literal: Integer(5), loc: @7 }"), "{text}");
}
