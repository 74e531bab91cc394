//! Seeded mutation of real statements: whatever the text, an answer.
//!
//! The parser is C; a mistake there takes the process along. So each batch of cases runs in a child
//! process (this test binary again, told by the environment which cases to run), and when a child
//! dies the parent finds the case by halving. A case is a pure function of its number.
//! `SYNTAX_FUZZ_ROUNDS` sets how many there are.

use std::process::Command;
use std::sync::OnceLock;

use syntax::ast::{SelectBody, Statement};
use syntax::deparse::{Style, expr};
use syntax::lift::Lifter;
use syntax::{PARSE_STACK_BYTES, parse};

const RANGE: &str = "SYNTAX_FUZZ_RANGE";
/// What a child says that has run its cases.
const CHILD_DONE: &str = "every case has had an answer";

/// A small generator with good low bits (splitmix).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }
}

/// The texts of the golden files.
fn corpus() -> &'static [&'static str] {
    static CORPUS: OnceLock<Vec<&'static str>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let files = [
            include_str!("../golden/queries.txt"),
            include_str!("../golden/definitions.txt"),
            include_str!("../golden/session.txt"),
            include_str!("../golden/pgbench.txt"),
            include_str!("../golden/psql.txt"),
            include_str!("../golden/errors.txt"),
        ];
        let cases = files.iter().flat_map(|file| file.split("====\n").skip(1));
        cases.filter_map(|case| case.split("\n----\n").next()).collect()
    })
}

/// Words, names, numbers, strings and single characters: rough tokens, joined they are the text.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last_is_word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if is_word && last_is_word => last.push(c),
            _ => tokens.push(c.to_string()),
        }
        last_is_word = is_word;
    }
    tokens
}

fn mutated(case: u64) -> String {
    let mut random = Random(case);
    let mut text = tokens(random.pick(corpus()));
    for _ in 0..=random.below(4) {
        mutate(&mut text, &mut random);
    }
    let mut text = text.concat();
    if random.below(8) == 0 {
        text = with_bad_bytes(text, &mut random);
    }
    text
}

fn mutate(text: &mut Vec<String>, random: &mut Random) {
    const ODD: &[&str] = &[
        "'",
        "\"",
        "$$",
        "$1",
        "$a$",
        "/*",
        "*/",
        "--",
        "\n",
        ";",
        "(",
        ")",
        "((((",
        "[",
        "::",
        ".",
        "..",
        "*",
        "E'\\",
        "U&'\\",
        "\\",
        "1e",
        "0x",
        "99999999999999999999",
        "2147483648",
        "1_0",
        "é",
        "日本",
        "\u{a0}",
        "\u{1}",
        "NOT",
        "NULL",
        "WITH",
        "SELECT 1",
        "ROW(",
        "CASE",
        "END",
        "AS",
        "ON",
        "x'",
        "b'",
        "'\\u00e9'",
        "=>",
        ":=",
        "||",
        "@-",
        "<>",
        "!=",
        "+-",
        "DEFAULT",
    ];
    let at = random.below(text.len());
    let len = 1 + random.below(6);
    let end = (at + len).min(text.len());
    match random.below(9) {
        0 => drop(text.drain(at..end)),
        1 => {
            let piece: Vec<String> = text[at..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, piece);
        }
        2 => {
            let other = random.below(text.len());
            if !text.is_empty() {
                text.swap(at, other);
            }
        }
        3 | 4 => text.insert(at, random.pick(ODD).to_string()),
        5 if at < text.len() => text[at] = random.pick(ODD).to_string(),
        6 => {
            let donor = tokens(random.pick(corpus()));
            let from = random.below(donor.len());
            let to = (from + 1 + random.below(30)).min(donor.len());
            text.splice(at..end, donor[from..to].iter().cloned());
        }
        7 => {
            let piece = text[at..end].concat();
            text.insert(at, piece.repeat(1 + random.below(300)));
        }
        _ => text.truncate(at),
    }
}

/// Bytes changed at random, put right as UTF-8 again.
fn with_bad_bytes(text: String, random: &mut Random) -> String {
    let mut bytes = text.into_bytes();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = random.below(256) as u8;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything that is done with a text, and what must hold of the outcome.
fn run(case: u64) {
    let text = mutated(case);
    let mut lifter = Lifter::new();
    let lift = lifter.lift(&text);
    match parse(&text) {
        Err(error) => {
            assert_ne!(error.sqlstate, "XX000", "{case}: {error:?}\n{text}");
            assert_eq!(error.sqlstate.len(), 5);
            assert!(!error.message.is_empty());
            let chars = text.chars().count() as u32;
            assert!(
                error.position.is_none_or(|p| (1..=chars + 1).contains(&p)),
                "{case}: {error:?}"
            );
        }
        Ok(mut statements) => {
            for parsed in &statements {
                assert!(text.get(parsed.span.start as usize..parsed.span.end as usize).is_some());
                assert!(parsed.clone() == *parsed);
                print_targets(&parsed.statement);
            }
            if let Some(lift) = lift {
                assert_eq!(statements.len(), 1, "{case}: {text}");
                let _ = lift.replace(&mut statements[0].statement);
            }
        }
    }
}

/// What the expressions of a query print as must parse.
fn print_targets(statement: &Statement) {
    let Statement::Select(select) = statement else { return };
    let SelectBody::Core(core) = &select.body else { return };
    for target in &core.targets {
        for style in [Style::Plain, Style::Pretty, Style::Untyped] {
            if let Some(text) = expr(&target.value, style) {
                let again = parse(&format!("SELECT {text}"));
                assert!(again.is_ok(), "{text}: {again:?}");
            }
        }
    }
}

/// Runs the cases of a range in a child; true if it lived.
fn survives(from: u64, to: u64) -> bool {
    let program = std::env::current_exe().expect("this test's own path");
    let output = Command::new(program)
        .args(["--exact", "fuzz::child", "--nocapture", "--test-threads=1"])
        .env(RANGE, format!("{from}-{to}"))
        .output()
        .expect("a child process");
    if !output.status.success() && to == from + 1 {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    // Were the child's test called otherwise, none would run, and that succeeds.
    let ran = String::from_utf8_lossy(&output.stdout).contains(CHILD_DONE);
    assert!(ran || !output.status.success(), "the child ran no case");
    output.status.success()
}

/// Not a test of its own: what the children of the test below run.
#[test]
fn child() {
    let Ok(range) = std::env::var(RANGE) else { return };
    let (from, to) = range.split_once('-').expect("a range");
    let (from, to): (u64, u64) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let builder = std::thread::Builder::new().stack_size(PARSE_STACK_BYTES + (1 << 20));
    let worker = builder.spawn(move || (from..to).for_each(run)).expect("a thread");
    worker.join().expect("no panic");
    println!("{CHILD_DONE}");
}

#[test]
fn mutated_statements_never_crash_the_parser() {
    let rounds = std::env::var("SYNTAX_FUZZ_ROUNDS")
        .map_or(20_000, |rounds| rounds.parse().expect("a number of rounds"));
    const BATCH: u64 = 5_000;
    for start in (0..rounds).step_by(BATCH as usize) {
        let (mut from, mut to) = (start, (start + BATCH).min(rounds));
        if survives(from, to) {
            continue;
        }
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            if survives(from, middle) { from = middle } else { to = middle }
        }
        survives(from, to);
        panic!("case {from} kills the parser: {:?}", mutated(from));
    }
}
