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
use server::{Answer, Server, Session};

/// Differences that are known; a case's SQL begins with one of these.
const KNOWN: &[&str] = &[
    // The C library's cube roots are a unit off in the last place for some numbers; ours are
    // rounded correctly.
    "SELECT pg_catalog.\"cbrt\"",
];

/// Our answer to what is still to be asked.
struct Question {
    group: &'static str,
    sql: String,
    ours: Answer,
}

/// Both sides, and what came of comparing them.
pub struct Comparison {
    server: Session,
    pub ours: Ours,
    random: u64,
    pending: Vec<Question>,
    cases: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

impl Comparison {
    /// Notes our answer to a question, to be compared with theirs.
    fn compare(&mut self, group: &'static str, sql: &str, ours: Answer) {
        *self.cases.entry(group).or_default() += 1;
        self.pending.push(Question { group, sql: sql.to_owned(), ours });
        if self.pending.len() == 200 {
            self.ask_pending();
        }
    }

    /// Has the questions so far answered, under the settings so far.
    fn ask_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let theirs = self.server.ask(pending.iter().map(|question| question.sql.as_str()));
        for (Question { group, sql, ours }, theirs) in pending.into_iter().zip(theirs) {
            if theirs != ours && !KNOWN.iter().any(|known| sql.starts_with(known)) {
                self.differences.push(format!(
                    "[{group}]{} {sql}\n  PostgreSQL: {theirs:?}\n  ours:       {ours:?}",
                    self.settings()
                ));
            }
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
        self.ask_pending();
        self.server.set(sql);
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

/// A family of questions.
type Family = fn(&mut Comparison);
const FAMILIES: [Family; 6] =
    [calls::run_numerics, datetimes::run, calls::run, inputs::run, texts::run, patterns::run];

#[test]
fn answers_are_postgresqls() {
    let Some(server) = Server::start() else { return };
    let seed: u64 = std::env::var("THALWEG_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    // Each family has a session of its own, so that one thinks while another waits.
    let done: Vec<Comparison> = std::thread::scope(|scope| {
        let threads: Vec<_> = FAMILIES
            .iter()
            .zip(0u64..)
            .map(|(family, number)| {
                let session = server.connect();
                scope.spawn(move || {
                    let mut comparison = Comparison {
                        server: session,
                        ours: Ours::new(),
                        random: seed.wrapping_mul(0x1_0001).wrapping_add(number),
                        pending: Vec::new(),
                        cases: BTreeMap::new(),
                        differences: Vec::new(),
                    };
                    family(&mut comparison);
                    comparison.ask_pending();
                    comparison
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
    for (group, count) in done.iter().flat_map(|c| &c.cases) {
        *cases.entry(group).or_default() += count;
    }
    for (group, count) in &cases {
        println!("{count:>7}  {group}");
    }
    let total: usize = cases.values().sum();
    let differences: Vec<&str> =
        done.iter().flat_map(|c| &c.differences).map(String::as_str).collect();
    println!("{total:>7}  cases, {} differ (seed {seed})", differences.len());
    if let Ok(path) = std::env::var("THALWEG_DIFFERENCES") {
        std::fs::write(path, differences.join("\n")).unwrap();
    }
    let shown = differences.iter().take(40).copied().collect::<Vec<_>>().join("\n");
    assert!(
        differences.is_empty(),
        "{} of {total} cases differ (seed {seed}):\n{shown}",
        differences.len()
    );
}
