//! Does it matter where the log's control words lie? The thread's question in process, and nothing of a log but what
//! sessions share. The place for a record is found under *one lock*, which covers the copy too, as PostgreSQL's log was
//! at the time; by *locked reservation*, a lock for the place alone and a slot that says how far the log is whole, as
//! PostgreSQL's is since; or by *reservation*, one addition and a slot, as Thalweg's is. Each with its words behind each
//! other (*packed*: the position, its lock and the first slots on one line), and each word on lines of its own, of 64,
//! 128 and 256 bytes; with one slot, two, eight, and one for each session, which then needs no compare-exchange. Beside
//! the sessions a thread looks through the slots as often as a flusher would.
//!
//! * `records`: two sessions, records of 64 and 256 bytes, all of these; records and bytes per second, beside what
//!   copying the same bytes alone allows.
//! * `tpc-b`: 32 and 80 sessions, the log of TPC-B, whose transactions insert three updates, a row and a commit of the
//!   lengths that `thalweg waldump` shows of pgbench's, and ask for a flush at their end; each over "one lock, packed".
//! * `chosen`: that with 1, 2, 32 and 80 sessions, of the six variants that a plot has room for (the lab's).
//!
//! None makes a header, claims room or writes anything, and TPC-B's rows are not there: what Thalweg's own insertion
//! costs with all that, `wal_paths` measures. Medians; the variants take turns.
//!
//! `cargo run --release -p bench --bin wal_padding [-- [records|tpc-b|chosen]… [--rounds 5]]`

mod insert;
mod words;

use bench::options::{self, Words as Arguments};
use bench::record::median;
use insert::{
    LOG_BYTES, Load, Ring, copying, locked_reservation, nanos, one_lock, own_slot, reservation,
};
use std::process::ExitCode;
use words::{PackedWords, Words64, Words128, Words256};

const USAGE: &str = "usage: wal_padding [records|tpc-b|chosen]… [--rounds 5]";
/// Slots, where not said otherwise.
const SLOTS: usize = 8;
/// Slots where each session has one.
const MANY: usize = 80;
const TPC_B: Load = Load { records: &[64, 64, 64, 96, 32], commits: true };
/// What the other variants are compared with.
const BASELINE: &str = "one lock, packed";

/// A way to insert: its name, and what measures it with so many sessions.
type Variant = (&'static str, fn(&Load, usize, &Ring) -> f64);

const VARIANTS: &[Variant] = &[
    (BASELINE, |l, n, r| nanos::<PackedWords<1>>(l, n, r, one_lock)),
    ("one lock, 64", |l, n, r| nanos::<Words64<1>>(l, n, r, one_lock)),
    ("one lock, 128", |l, n, r| nanos::<Words128<1>>(l, n, r, one_lock)),
    ("one lock, 256", |l, n, r| nanos::<Words256<1>>(l, n, r, one_lock)),
    ("locked reservation, packed", |l, n, r| {
        nanos::<PackedWords<SLOTS>>(l, n, r, locked_reservation)
    }),
    ("locked reservation, 64", |l, n, r| nanos::<Words64<SLOTS>>(l, n, r, locked_reservation)),
    ("locked reservation, 128", |l, n, r| nanos::<Words128<SLOTS>>(l, n, r, locked_reservation)),
    ("locked reservation, 256", |l, n, r| nanos::<Words256<SLOTS>>(l, n, r, locked_reservation)),
    ("reservation, packed", |l, n, r| nanos::<PackedWords<SLOTS>>(l, n, r, reservation)),
    ("reservation, 64", |l, n, r| nanos::<Words64<SLOTS>>(l, n, r, reservation)),
    ("reservation, 128", |l, n, r| nanos::<Words128<SLOTS>>(l, n, r, reservation)),
    ("reservation, 256", |l, n, r| nanos::<Words256<SLOTS>>(l, n, r, reservation)),
    ("reservation, 128, one slot", |l, n, r| nanos::<Words128<1>>(l, n, r, reservation)),
    ("reservation, 128, two slots", |l, n, r| nanos::<Words128<2>>(l, n, r, reservation)),
    ("reservation, 128, a slot each", |l, n, r| nanos::<Words128<MANY>>(l, n, r, own_slot)),
];

/// Those that one plot has room for, with the names that it shows.
const CHOSEN: &[(&str, &str)] = &[
    (BASELINE, BASELINE),
    ("one lock, padded", "one lock, 128"),
    ("locked reservation, packed", "locked reservation, packed"),
    ("locked reservation, padded", "locked reservation, 128"),
    ("reservation, packed", "reservation, packed"),
    ("reservation, padded", "reservation, 128"),
];

/// Medians of so many rounds, in which the measurements take turns.
fn in_turn(rounds: usize, measures: &[&dyn Fn() -> f64]) -> Vec<f64> {
    let mut took = vec![Vec::new(); measures.len()];
    for _ in 0..rounds {
        for (took, measure) in took.iter_mut().zip(measures) {
            took.push(measure());
        }
    }
    took.into_iter().map(|took| median(took).expect("there is a round")).collect()
}

/// Two sessions' small records, beside copying.
fn records(rounds: usize, ring: &Ring) {
    const SMALL: [Load; 2] =
        [Load { records: &[64], commits: false }, Load { records: &[256], commits: false }];
    for load in &SMALL {
        let bytes = load.bytes();
        let copy = || copying(bytes, 2, ring);
        let inserts: Vec<_> =
            VARIANTS.iter().map(|(_, measure)| || measure(load, 2, ring)).collect();
        let mut measures: Vec<&dyn Fn() -> f64> = vec![&copy];
        measures.extend(inserts.iter().map(|insert| insert as &dyn Fn() -> f64));
        let took = in_turn(rounds, &measures);
        let names = std::iter::once("copied").chain(VARIANTS.iter().map(|(name, _)| *name));
        for (name, ns) in names.zip(&took) {
            // Two sessions at the same time.
            let (millions, gigabytes) = (2e3 / ns, 2.0 * bytes as f64 / ns);
            let share = took[0] / ns * 100.0;
            let name = format!("{bytes} bytes, {name}");
            println!(
                "{name:<42} 2 threads {ns:7.1} ns each {millions:7.2} M/s {gigabytes:6.2} GB/s {share:4.0} % of copying"
            );
        }
    }
}

/// TPC-B's log with each of these numbers of sessions; each variant over the first.
fn tpc_b(rounds: usize, sessions: &[usize], variants: &[(&str, Variant)], ring: &Ring) {
    let mut lines: Vec<String> = variants.iter().map(|(name, _)| format!("{name:<32}")).collect();
    for &sessions in sessions {
        let runs: Vec<_> = variants
            .iter()
            .map(|(_, (_, measure))| move || measure(&TPC_B, sessions, ring))
            .collect();
        let measures: Vec<&dyn Fn() -> f64> =
            runs.iter().map(|run| run as &dyn Fn() -> f64).collect();
        let took = in_turn(rounds, &measures);
        for (line, ns) in lines.iter_mut().zip(&took) {
            let threads = if sessions == 1 { "thread " } else { "threads" };
            let over = took[0] / ns;
            line.push_str(&format!("  {sessions:2} {threads} {ns:9.1} ns ({over:4.2})"));
        }
    }
    lines.iter().for_each(|line| println!("{line}"));
}

fn measure() -> Result<(), String> {
    let (mut parts, mut rounds) = (Vec::new(), 5_usize);
    let mut words = Arguments::of_process(USAGE);
    while let Some(word) = words.option() {
        match word.as_str() {
            "--rounds" => rounds = words.number::<std::num::NonZero<usize>>()?.get(),
            "records" | "tpc-b" | "chosen" => parts.push(word),
            _ => return Err(words.unknown()),
        }
    }
    if parts.is_empty() {
        parts = vec!["records".to_owned(), "tpc-b".to_owned()];
    }
    println!("{} MiB of log in a run, medians of {rounds}", LOG_BYTES >> 20);
    let ring = Ring::new();
    for part in parts {
        match part.as_str() {
            "records" => records(rounds, &ring),
            "tpc-b" => {
                let all: Vec<(&str, Variant)> = VARIANTS.iter().map(|v| (v.0, *v)).collect();
                tpc_b(rounds, &[32, 80], &all, &ring);
            }
            _ => {
                let known = |of: &str| VARIANTS.iter().find(|(name, _)| *name == of).copied();
                let named = |(shown, of): &(&'static str, &str)| Some((*shown, known(of)?));
                let chosen: Vec<(&str, Variant)> = CHOSEN.iter().filter_map(named).collect();
                tpc_b(rounds, &[1, 2, 32, 80], &chosen, &ring);
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    options::end("wal_padding", measure())
}
