//! The promise of `lift`, on random texts: texts with equal keys parse alike.

use proptest::prelude::*;
use syntax::ast::Statement;
use syntax::lift::Lifter;
use syntax::parse;

/// A piece of a statement's skeleton: fixed words, or the place of a constant of some kind.
#[derive(Clone, Debug)]
enum Piece {
    Words(String),
    Integer,
    BigInteger,
    Numeric,
    String,
}

type Skeleton = Vec<Piece>;

/// Turns `{i}`, `{b}`, `{n}`, `{s}` into constants and everything between into words.
fn skeleton(template: &str) -> Skeleton {
    let mut pieces = Vec::new();
    for part in template.split_inclusive('}') {
        let (words, kind) = part.split_once('{').unwrap_or((part, ""));
        pieces.push(Piece::Words(words.to_string()));
        match kind {
            "i}" => pieces.push(Piece::Integer),
            "b}" => pieces.push(Piece::BigInteger),
            "n}" => pieces.push(Piece::Numeric),
            "s}" => pieces.push(Piece::String),
            _ => {}
        }
    }
    pieces
}

/// Pure choices, drawn from a seed: the same text for the same skeleton and seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len() as u64) as usize]
    }
}

fn string_constant(dice: &mut Dice) -> String {
    let body = dice.pick(&["", "x", "it", "ünï", "a b", "-- no", "/*", "$1", "\\", "1", "日本"]);
    match dice.roll(5) {
        0 => format!("E'{}\\n\\''", body.replace('\\', "\\\\")),
        1 => format!("$${body}$$"),
        2 => format!("$tag${body}'$$tag$"),
        3 => format!("'{body}'''"),
        _ => format!("'{body}'"),
    }
}

fn space(dice: &mut Dice) -> &'static str {
    dice.pick(&[" ", " ", "  ", "\n", "\t", " /* c */ ", " -- c\n", "/* /* */ */ "])
}

fn mangle(words: &str, dice: &mut Dice) -> String {
    words
        .chars()
        .map(|c| match c {
            ' ' => space(dice).to_string(),
            c if dice.roll(3) == 0 => c.to_ascii_uppercase().to_string(),
            c => c.to_string(),
        })
        .collect()
}

/// One text of the skeleton: other constants, other spaces, other case.
fn render(skeleton: &Skeleton, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::new();
    for piece in skeleton {
        match piece {
            Piece::Words(words) => text.push_str(&mangle(words, &mut dice)),
            Piece::Integer => {
                text.push_str(dice.pick(&["0", "1", "42", "007", "2147483647", "123456"]));
            }
            Piece::BigInteger => {
                text.push_str(dice.pick(&["2147483648", "9223372036854775807", "123456789012"]));
            }
            Piece::Numeric => {
                text.push_str(dice.pick(&[
                    "1.5",
                    ".5",
                    "5.",
                    "1e10",
                    "2.5E-3",
                    "99999999999999999999",
                    "0.0",
                ]));
            }
            Piece::String => text.push_str(&string_constant(&mut dice)),
        }
    }
    if dice.roll(4) == 0 {
        text.push_str(" ; -- end");
    }
    text
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => Just("{i}".to_string()),
        1 => Just("{b}".to_string()),
        2 => Just("{n}".to_string()),
        4 => Just("{s}".to_string()),
        3 => Just("a".to_string()),
        1 => Just("t.b".to_string()),
        1 => Just("null".to_string()),
        1 => Just("date {s}".to_string()),
        1 => Just("interval {s} day".to_string()),
        1 => Just("$1".to_string()),
        1 => Just("current_timestamp ( {i} )".to_string()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operators = prop::sample::select(vec![
            "+",
            "-",
            " - ",
            " + -",
            "- -",
            "*",
            "/",
            "=",
            "<>",
            "<=",
            "||",
            "->",
            "@-",
            "~",
            "and",
            "or",
            "::int =",
            "is distinct from",
        ]);
        let one = prop::sample::select(vec![
            "( # )",
            "- #",
            "-#",
            "+ #",
            "not #",
            "f( # )",
            "#::numeric(8,2)",
            "# :: varchar ( 3 )",
            "cast( # as t(3) )",
            "array[ # ]",
            "a[ # ]",
            "# is null",
            "( select # )",
            "exists ( select 1 from u where # )",
            "count( # ) filter ( where a > {i} )",
            "sum( # ) over ( order by # rows {i} preceding )",
            "extract( year from # )",
            "substring( # from {i} for {i} )",
            "# at time zone {s}",
            "# collate x",
            "numeric( # )",
            "string_agg( # , {s} order by {i} )",
        ]);
        let two = prop::sample::select(vec![
            "# in ( # , {i} )",
            "# between # and #",
            "# like #",
            "# not ilike # escape {s}",
            "case when # then # else {s} end",
            "case # when # then {i} end",
            "coalesce( # , # )",
            "row( # , # ) = ( # , {i} )",
            "a[ # : # ]",
            "# = any ( # )",
            "f( # , x => # )",
        ]);
        prop_oneof![
            4 => (inner.clone(), operators, inner.clone())
                .prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            3 => (one, inner.clone()).prop_map(|(form, arg)| form.replace('#', &arg)),
            3 => (two, inner.clone(), inner).prop_map(|(form, first, second)| {
                form.replacen('#', &first, 1).replace('#', &second)
            }),
        ]
    })
}

fn statement() -> impl Strategy<Value = Skeleton> {
    let forms = prop::sample::select(vec![
        "select #",
        "select # as x, # from t where #",
        "select a from t where # and # order by a, {i} limit {i} offset {i}",
        "select a from t as x join u on # where # for update",
        "select * from f( # ) as g(x numeric(3,1)), ( select # ) s where #",
        "select * from t where # order by # fetch first {i} rows only",
        "insert into t (a, b) values ( # , # ), ( {i} , {s} )",
        "insert into t select # from u where #",
        "insert into t values ( # ) on conflict ( (a + {i}) ) where b > {i} do update set a = # where # returning #",
        "update t set a = # , b = {i} where #",
        "update t as x set (a, b) = ( # , {i} ) from u where # returning #",
        "delete from t using u where #",
        "select # group by #",
        "select distinct #",
        "select # union select #",
        "with w as ( select # ) select #",
    ]);
    (forms, expression(), expression()).prop_map(|(form, first, second)| {
        skeleton(&form.replacen('#', &first, 1).replace('#', &second))
    })
}

/// Tokens in any order: mostly nonsense, which must be the same nonsense.
fn soup() -> impl Strategy<Value = Skeleton> {
    let token = prop::sample::select(vec![
        "{i}", "{i}", "{b}", "{n}", "{s}", "{s}", "a", "t.", "(", ")", "[", "]", ",", ".", ":",
        "::", ";", "-", "+", "*", "=", "<", "@", "~", "!", "select", "from", "where", "as", "and",
        "not", "in", "like", "order", "by", "limit", "date", "interval", "varchar", "values",
        "insert", "into", "set", "case", "when", "then", "end", "null", "\"Q\"", "$1", "cast",
        "int", "time", "zone", "at", "on", "conflict", "do", "for",
    ]);
    (prop::collection::vec((token, any::<bool>()), 1..14)).prop_map(|tokens| {
        let mut text = String::from("select ");
        for (token, spaced) in tokens {
            text.push_str(token);
            if spaced {
                text.push(' ');
            }
        }
        skeleton(&text)
    })
}

/// The tree with its constants replaced, and whether that worked; `None` if it does not parse.
fn lifted(lifter: &mut Lifter, sql: &str) -> Option<(bool, Statement)> {
    let lift = lifter.lift(sql)?;
    let mut statements = parse(sql).ok()?;
    assert_eq!(statements.len(), 1, "a lifted text is one statement: {sql}");
    let mut statement = statements.remove(0).statement;
    let replaced = lift.replace(&mut statement);
    Some((replaced, statement))
}

fn check(skeleton: &Skeleton, seeds: (u64, u64)) -> Result<(), TestCaseError> {
    let (first, second) = (render(skeleton, seeds.0), render(skeleton, seeds.1));
    let (mut lifter, mut other) = (Lifter::new(), Lifter::new());
    let keys = (lifter.lift(&first), other.lift(&second));
    let (Some(first_lift), Some(second_lift)) = keys else { return Ok(()) };
    if first_lift.key() != second_lift.key() {
        return Ok(());
    }
    match (lifted(&mut lifter, &first), lifted(&mut other, &second)) {
        (None, None) => {}
        (Some(first_tree), Some(second_tree)) => {
            prop_assert_eq!(first_tree.0, second_tree.0, "\n{}\n{}", first, second);
            if first_tree.0 {
                prop_assert_eq!(first_tree.1, second_tree.1, "\n{}\n{}", first, second);
            }
        }
        (first_tree, second_tree) => prop_assert!(
            false,
            "only one parses: {}\n{}\n{:?}\n{:?}",
            first,
            second,
            first_tree,
            second_tree
        ),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_keys_mean_equal_trees(skeleton in statement(), seeds in any::<(u64, u64)>()) {
        check(&skeleton, seeds)?;
    }

    #[test]
    fn equal_keys_mean_equal_fates(skeleton in soup(), seeds in any::<(u64, u64)>()) {
        check(&skeleton, seeds)?;
    }
}

/// The property would hold of a lifter that refuses everything.
#[test]
fn most_ordinary_statements_are_lifted() {
    let lines = [
        "select a from t where a = {i} and b = {s}",
        "select a, {n} * b from t where c in ({i}, {i}) order by a limit {i}",
        "insert into t (a, b) values ({i}, {s}), (-{i}, {n})",
        "update t set a = a + -{i} where b = {b}",
        "delete from t where a between {i} and {i}",
        "select count(*) from t where d >= {s}::date and e < now() - interval '1'",
        "select * from t as x join u on x.a = u.a where u.b = {s} for update",
    ];
    for line in lines {
        let skeleton = skeleton(line);
        let constants = skeleton.iter().filter(|p| !matches!(p, Piece::Words(_))).count();
        let (mut lifter, mut other) = (Lifter::new(), Lifter::new());
        for seed in 0..50 {
            let (first, second) = (render(&skeleton, seed), render(&skeleton, seed + 1000));
            let lift = lifter.lift(&first).unwrap_or_else(|| panic!("refused: {first}"));
            assert_eq!(lift.len(), constants, "{first}");
            assert_eq!(Some(lift.key()), other.lift(&second).map(|lift| lift.key()), "{first}");
            let tree = lifted(&mut lifter, &first);
            assert!(tree.is_some_and(|(replaced, _)| replaced), "{first}");
        }
    }
}
