//! Deep text: an error, never a crash; deep trees that are allowed: safe to walk on a small stack.

use syntax::ast::{SelectBody, Statement};
use syntax::lift::Lifter;
use syntax::{MAX_CHAIN, MAX_DEPTH, PARSE_STACK_BYTES, ParsedStatement, SyntaxError, parse};

/// Runs `work` on a thread with a stack of `bytes`.
fn on_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(bytes);
        builder.spawn_scoped(scope, work).expect("a thread").join().expect("no panic")
    })
}

/// Parses on the stack that the crate asks for and no more.
fn parse_on_asked_stack(sql: &str) -> Result<Vec<ParsedStatement>, SyntaxError> {
    on_stack(PARSE_STACK_BYTES, || parse(sql))
}

/// From depth to text.
type Nest = fn(usize) -> String;

/// Ways to nest.
fn nestings() -> Vec<(&'static str, Nest)> {
    fn wrap(open: &str, middle: &str, close: &str, depth: usize) -> String {
        format!("SELECT {}{middle}{}", open.repeat(depth), close.repeat(depth))
    }
    vec![
        ("sum", |n| format!("SELECT 1{}", "+1".repeat(n))),
        ("parentheses of sums", |n| format!("SELECT {}1{}", "1+(".repeat(n), ")".repeat(n))),
        ("parentheses", |n| wrap("(", "1", ")", n)),
        ("unclosed parentheses", |n| wrap("(", "1", "", n)),
        ("minus", |n| wrap("- ", "a", "", n)),
        ("not", |n| wrap("NOT ", "a", "", n)),
        ("calls", |n| wrap("f(", "1", ")", n)),
        ("coalesce", |n| wrap("coalesce(1,", "1", ")", n)),
        ("case", |n| wrap("CASE WHEN true THEN ", "1", " END", n)),
        ("casts", |n| format!("SELECT 1{}", "::int".repeat(n))),
        ("arrays", |n| wrap("ARRAY[", "1", "]", n)),
        ("rows", |n| wrap("ROW(", "1", ")", n)),
        ("subscripts", |n| wrap("a[", "1", "]", n)),
        ("or on the right", |n| wrap("(a OR ", "b", ")", n)),
        ("collate", |n| format!("SELECT a{}", " COLLATE x".repeat(n))),
        ("is null", |n| format!("SELECT a{}", " IS NULL".repeat(n))),
        ("scalar subqueries", |n| wrap("(SELECT ", "1", ")", n)),
        ("exists", |n| wrap("EXISTS (SELECT ", "1", ")", n)),
        ("from", |n| format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(n), ") x".repeat(n))),
        ("joins", |n| format!("SELECT * FROM t{}", " CROSS JOIN t".repeat(n))),
        ("joins on the right", |n| {
            format!("SELECT * FROM {}t{}", "(t CROSS JOIN ".repeat(n), ")".repeat(n))
        }),
        ("union", |n| format!("SELECT 1{}", " UNION SELECT 1".repeat(n))),
        ("union on the right", |n| {
            format!("SELECT 1 {}{}", "UNION (SELECT 1 ".repeat(n), ")".repeat(n))
        }),
        ("with", |n| format!("{}SELECT 1{}", "WITH a AS (".repeat(n), ") SELECT 1".repeat(n))),
        ("grouping sets", |n| {
            let (open, close) = ("GROUPING SETS (".repeat(n), ")".repeat(n));
            format!("SELECT 1 GROUP BY {open}a{close}")
        }),
        ("column check", |n| {
            format!("CREATE TABLE t (a int CHECK ({}a{}))", "(1 + ".repeat(n), ")".repeat(n))
        }),
        ("interval bounds", |n| format!("SELECT a{}", " BETWEEN 1 AND 2 AND a".repeat(n))),
        ("comments", |n| format!("SELECT {} 1", "/**/".repeat(n))),
        ("comments inside comments", |n| format!("SELECT {}{} 1", "/*".repeat(n), "*/".repeat(n))),
        ("comment lines", |n| format!("SELECT a NOT {} LIKE b", "--\n".repeat(n))),
        ("merge", |n| {
            let condition = "1=1 AND (".repeat(n) + "true" + &")".repeat(n);
            format!("MERGE INTO t USING u ON {condition} WHEN MATCHED THEN DELETE")
        }),
    ]
}

#[test]
fn any_depth_is_parsed_or_refused_on_the_stack_asked_for() {
    for (name, nest) in nestings() {
        for depth in [50, 400, 2_000, 9_000, 100_000] {
            let sql = nest(depth);
            match parse_on_asked_stack(&sql) {
                Ok(_) => {}
                Err(error) => assert!(
                    error.sqlstate == "54001"
                        || (error.sqlstate == "42601"
                            && (error.message.starts_with("memory exhausted")
                                || error.message.starts_with("syntax error"))),
                    "{name} {depth}: {error:?}"
                ),
            }
        }
    }
}

#[test]
fn a_long_sum_exceeds_the_stack_depth_limit() {
    let error = parse_on_asked_stack(&format!("SELECT 1{}", "+1".repeat(100_000)))
        .expect_err("a hundred thousand levels");
    assert_eq!((error.sqlstate, &*error.message), ("54001", "stack depth limit exceeded"));
    assert!(error.hint.is_some_and(|hint| hint.contains("6000 links")));
    assert_eq!(error.position, None);
}

#[test]
fn chains_may_be_longer_than_nesting_is_deep() {
    let nestings = nestings();
    let parsed = |name: &str, depth: usize| {
        let (_, nest) = nestings.iter().find(|(known, _)| *known == name).expect("it is listed");
        parse_on_asked_stack(&nest(depth))
    };
    assert!(parsed("sum", 5_000).is_ok());
    assert!(parsed("union", 5_000).is_ok());
    for name in ["parentheses of sums", "not", "scalar subqueries", "casts"] {
        assert!(parsed(name, 1_000).is_err_and(|error| error.sqlstate == "54001"), "{name}");
    }
    let mixed = format!("SELECT {}1{}", "(".repeat(400), "+1)+1".repeat(400));
    assert!(parse_on_asked_stack(&mixed).is_ok());
}

#[test]
fn wide_is_not_deep() {
    let list = vec!["1"; 100_000].join(", ");
    assert!(parse(&format!("SELECT a IN ({list})")).is_ok());
    assert!(parse(&format!("SELECT true{}", " AND a".repeat(50_000))).is_ok());
    assert!(parse(&format!("SELECT true{}", " OR a".repeat(50_000))).is_ok());
    assert!(parse(&"SELECT 1;".repeat(50_000)).is_ok());
    assert!(parse(&format!("INSERT INTO t VALUES {}", vec!["(1)"; 50_000].join(","))).is_ok());
}

/// The deepest text of one kind that parses.
fn deepest(nest: Nest) -> Vec<ParsedStatement> {
    let (mut low, mut high) = (1, 2 * MAX_CHAIN.max(MAX_DEPTH) as usize);
    while low + 1 < high {
        let middle = (low + high) / 2;
        match parse_on_asked_stack(&nest(middle)) {
            Ok(_) => low = middle,
            Err(_) => high = middle,
        }
    }
    parse_on_asked_stack(&nest(low)).expect("it parsed before")
}

/// What the crate's README promises for a tree of any allowed depth, in any build.
const DROP_STACK_BYTES: usize = 2 << 20;
const WALK_STACK_BYTES: usize = 12 << 20;

#[test]
fn the_deepest_trees_are_dropped_and_cloned_within_their_bounds() {
    for (name, nest) in nestings() {
        if name == "unclosed parentheses" {
            continue;
        }
        let tree = deepest(nest);
        let copy = on_stack(WALK_STACK_BYTES, || {
            let copy = tree.clone();
            assert!(copy == tree, "{name}");
            assert!(format!("{copy:?}").contains("Span"), "{name}");
            copy
        });
        let copy = on_stack(WALK_STACK_BYTES, || rework(copy));
        on_stack(DROP_STACK_BYTES, || drop((tree, copy)));
    }
}

/// Deparses what can be, in the style that looks deepest, and puts lifted constants into the rest.
fn rework(mut statements: Vec<ParsedStatement>) -> Vec<ParsedStatement> {
    if let Statement::Select(select) = &statements[0].statement
        && let SelectBody::Core(core) = &select.body
        && let [target] = &core.targets[..]
    {
        let _ = syntax::deparse::expr(&target.value, syntax::deparse::Style::Pretty);
    }
    // Of another text: nothing is found, everything is visited.
    let mut lifter = Lifter::new();
    let lift = lifter.lift("SELECT 1, 2, 3").expect("a plain statement");
    let _ = lift.replace(&mut statements[0].statement);
    statements
}

/// As a server does it: the request on a small stack, parsing on the thread's own.
#[test]
fn a_fiber_parses_on_its_parents_stack() {
    use corosensei::stack::DefaultStack;
    use corosensei::{Coroutine, CoroutineResult};

    on_stack(8 * 1024 * 1024, || {
        for (name, nest) in nestings() {
            for depth in [200, 100_000] {
                let sql = nest(depth);
                let stack = DefaultStack::new(256 * 1024).expect("a stack");
                let mut fiber = Coroutine::with_stack(stack, move |yielder, ()| {
                    yielder.suspend(());
                    let result = yielder.on_parent_stack(|| parse(&sql));
                    // The tree dies on the fiber.
                    result.map(|statements| statements.len())
                });
                assert!(matches!(fiber.resume(()), CoroutineResult::Yield(())));
                match fiber.resume(()) {
                    CoroutineResult::Return(_) => {}
                    CoroutineResult::Yield(()) => panic!("{name} {depth} yielded"),
                }
            }
        }
    });
}
