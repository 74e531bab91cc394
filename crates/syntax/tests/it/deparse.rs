//! Texts that a PostgreSQL 15 server printed, parsed and printed again: they must not change.
//!
//! A file in `tests/deparse` is a list of cases, each `====` on a line of its own, the plain text,
//! `----`, and the pretty one (in `types.txt`: a type as declared, and as `format_type` gives it).
//! The texts are what the server gave for tables, constraints and indexes made for the purpose.

use syntax::ast::{AlterTableStep, Constraint, CreateIndex, Expr, SelectBody, Statement, TypeName};
use syntax::deparse::{Style, constraint, expr, index, type_name};
use syntax::parse;

fn cases(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split("====\n").skip(1).map(|case| {
        let (plain, pretty) = case.split_once("\n----\n").expect("two texts");
        (plain, pretty.strip_suffix('\n').expect("a line end"))
    })
}

fn statement(sql: &str) -> Statement {
    let mut statements = parse(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    statements.remove(0).statement
}

fn expression(text: &str) -> Expr {
    let Statement::Select(select) = statement(&format!("SELECT {text}")) else { panic!("{text}") };
    let SelectBody::Core(mut core) = select.body else { panic!("{text}") };
    core.targets.remove(0).value
}

fn type_of(text: &str) -> TypeName {
    let Expr::Cast(cast) = expression(&format!("NULL::{text}")) else { panic!("{text}") };
    cast.target
}

fn index_of(text: &str) -> CreateIndex {
    match statement(text) {
        Statement::CreateIndex(index) => *index,
        _ => panic!("{text}"),
    }
}

fn constraint_of(text: &str) -> Constraint {
    match statement(&format!("ALTER TABLE t ADD {text}")) {
        Statement::AlterTable(mut alter) => match alter.steps.remove(0) {
            AlterTableStep::AddConstraint(constraint) => *constraint,
            _ => panic!("{text}"),
        },
        _ => panic!("{text}"),
    }
}

/// Prints what each of the two texts parses to in both styles.
fn check<T>(
    file: &'static str,
    read: impl Fn(&str) -> T,
    print: impl Fn(&T, Style) -> Option<String>,
) {
    let mut wrong = Vec::new();
    for (plain, pretty) in cases(file) {
        for text in [plain, pretty] {
            let tree = read(text);
            for (style, wanted) in [(Style::Plain, plain), (Style::Pretty, pretty)] {
                let got = print(&tree, style);
                if got.as_deref() != Some(wanted) {
                    wrong.push(format!("{text}\n  wanted {wanted}\n  got    {got:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn expressions_print_as_postgresql_prints_them() {
    check(include_str!("../deparse/expressions.txt"), expression, expr);
}

#[test]
fn constraints_print_as_postgresql_prints_them() {
    check(include_str!("../deparse/constraints.txt"), constraint_of, constraint);
}

/// The pretty text leaves out a schema that is on the search path, which is the caller's to do.
#[test]
fn indexes_print_as_postgresql_prints_them() {
    check(include_str!("../deparse/indexes.txt"), index_of, index);
}

#[test]
fn types_print_as_format_type_prints_them() {
    for (declared, wanted) in cases(include_str!("../deparse/types.txt")) {
        assert_eq!(type_name(&type_of(declared)).as_deref(), Some(wanted), "{declared}");
        assert_eq!(type_name(&type_of(wanted)).as_deref(), Some(wanted), "{wanted}");
    }
}

/// What analysis rewrites before it prints, from text that needs no types to be worked out.
#[test]
fn rewritten_expressions() {
    let cases = [
        ("a BETWEEN 1 AND 2", "((a >= 1) AND (a <= 2))"),
        ("a BETWEEN 1 AND 2 AND e", "(((a >= 1) AND (a <= 2)) AND e)"),
        ("e AND (e AND (e OR NOT e))", "(e AND (e AND (e OR (NOT e))))"),
        ("a NOT BETWEEN b AND c", "((a < b) OR (a > c))"),
        ("a BETWEEN SYMMETRIC 1 AND 2", "(((a >= 1) AND (a <= 2)) OR ((a >= 2) AND (a <= 1)))"),
        ("a IN (1, 2)", "(a = ANY (ARRAY[1, 2]))"),
        ("a NOT IN (1, 2)", "(a <> ALL (ARRAY[1, 2]))"),
        ("a IN (1)", "(a = 1)"),
        ("(a, b) IN ((1, 2), (3, 4))", "(((a = 1) AND (b = 2)) OR ((a = 3) AND (b = 4)))"),
        ("a LIKE b", "(a ~~ b)"),
        ("a NOT ILIKE b ESCAPE c", "(a !~~* like_escape(b, c))"),
        ("a SIMILAR TO b", "(a ~ similar_to_escape(b))"),
        ("a IS NOT DISTINCT FROM b", "(NOT (a IS DISTINCT FROM b))"),
        ("(a, b) = (1, c)", "((a = 1) AND (b = c))"),
        ("(a, b) < (1, c)", "(ROW(a, b) < ROW(1, c))"),
        ("-5 + a", "('-5'::integer + a)"),
        ("-5000000000", "'-5000000000'::bigint"),
        ("a::int + -1.5", "((a)::integer + '-1.5'::numeric)"),
        ("nextval('s'::regclass)", "nextval('s'::regclass)"),
        ("a OPERATOR(x.+) b", "(a OPERATOR(x.+) b)"),
    ];
    for (text, wanted) in cases {
        let got = expr(&expression(text), Style::Plain);
        assert_eq!(got.as_deref(), Some(wanted), "{text}");
    }
}

/// Members of a list have no types of their own yet.
#[test]
fn lists_stay_lists_where_types_are_open() {
    let cases = [
        ("d NOT IN ('2024-01-01', b)", "(d NOT IN ('2024-01-01', b))"),
        ("a IN (1, 2) AND NOT e", "((a IN (1, 2)) AND (NOT e))"),
        ("a IN ('1')", "(a = '1')"),
        ("\"system_user\" = \"user\"", "(\"system_user\" = \"user\")"),
        ("(a, b) IN ((1, 2), (3, 4))", "(((a = 1) AND (b = 2)) OR ((a = 3) AND (b = 4)))"),
    ];
    for (text, wanted) in cases {
        assert_eq!(expr(&expression(text), Style::Untyped).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn equal_operands_keep_their_parentheses() {
    let text = "b - c - (b - c)";
    assert_eq!(expr(&expression(text), Style::Pretty).as_deref(), Some(text));
}

#[test]
fn what_no_catalog_holds_is_not_printed() {
    for text in ["(SELECT 1)", "count(*)", "sum(a) OVER ()", "f(DISTINCT a)", "EXISTS (SELECT 1)"] {
        assert_eq!(expr(&expression(text), Style::Plain), None, "{text}");
    }
}
