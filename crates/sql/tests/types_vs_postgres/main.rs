//! Types, functions, operators, casts and aggregates beside a real PostgreSQL 15: the same texts
//! go to both, and values, SQLSTATEs, messages, details and hints must be the same.
//!
//! `THALWEG_SEED` chooses the random cases, `THALWEG_REQUIRE_PG=1` makes a missing PostgreSQL an
//! error.

#![allow(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod calls;
mod datetimes;
mod inputs;
mod ours;
mod patterns;
mod server;
mod texts;

use std::collections::BTreeMap;

use ours::Ours;
use server::{Answer, Server};

/// Differences that are known; a case's SQL begins with one of these.
const KNOWN: &[&str] = &[
    // The C library's cube roots are a unit off in the last place for some numbers; ours are
    // rounded correctly.
    "SELECT pg_catalog.\"cbrt\"",
];

/// Both sides, and what came of comparing them.
pub struct Comparison {
    server: Server,
    pub ours: Ours,
    random: u64,
    cases: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

impl Comparison {
    /// Notes one answer of each side to a question.
    fn compare(&mut self, group: &'static str, sql: &str, ours: Answer) {
        let theirs = self.server.ask(sql);
        *self.cases.entry(group).or_default() += 1;
        if theirs != ours && !KNOWN.iter().any(|known| sql.starts_with(known)) {
            let set = self.settings();
            self.differences.push(format!(
                "[{group}]{set} {sql}\n  PostgreSQL: {theirs:?}\n  ours:       {ours:?}"
            ));
        }
    }

    fn settings(&self) -> String {
        let format = &self.ours.format;
        format!(
            " ({:?} {:?} {:?} {})",
            format.date_style,
            format.date_order,
            format.interval_style,
            format.time_zone.name()
        )
    }

    /// Runs a command on the server alone.
    fn set(&mut self, sql: &str) {
        self.server.client.batch_execute(sql).unwrap();
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A text as an SQL literal.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        format!("E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

#[test]
fn answers_are_postgresqls() {
    let Some(server) = Server::start() else { return };
    let seed = std::env::var("THALWEG_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut comparison = Comparison {
        server,
        ours: Ours::new(),
        random: seed,
        cases: BTreeMap::new(),
        differences: Vec::new(),
    };
    inputs::run(&mut comparison);
    datetimes::run(&mut comparison);
    calls::run(&mut comparison);
    texts::run(&mut comparison);
    patterns::run(&mut comparison);
    let total: usize = comparison.cases.values().sum();
    for (group, count) in &comparison.cases {
        println!("{count:>7}  {group}");
    }
    println!("{total:>7}  cases, {} differ (seed {seed})", comparison.differences.len());
    if let Ok(path) = std::env::var("THALWEG_DIFFERENCES") {
        std::fs::write(path, comparison.differences.join("\n")).unwrap();
    }
    let shown = comparison.differences.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        comparison.differences.is_empty(),
        "{} of {total} cases differ (seed {seed}):\n{shown}",
        comparison.differences.len()
    );
}
