//! What is asked of these loads on two cores with pgbench's tables at scale 10, of one row at scale 1, and whether it holds.

use crate::Options;
use crate::load::{Load, Run};
use crate::record::median;
use bench::record::table_head;
use std::fmt::Write;

/// What is asked of one load, mostly as a multiple of the better PostgreSQL's figure.
type Floors = (&'static str, &'static [Floor]);

/// Clients, the least, and what is aimed at.
type Floor = (u32, f64, f64);

/// Throughput over PostgreSQL's.
const THROUGHPUT: &[Floors] = &[
    ("select-prepared", &[(1, 1.1, 1.5), (8, 1.3, 2.0), (32, 2.2, 3.0), (128, 3.0, 4.0)]),
    ("tpcb-sync-prepared", &[(1, 1.2, 1.5), (8, 2.5, 3.0), (32, 5.0, 6.0), (128, 6.0, 8.0)]),
    ("tpcb-async-prepared", &[(1, 1.2, 1.5), (8, 2.0, 2.5), (32, 3.0, 4.0), (128, 4.5, 7.0)]),
];

/// The same of one branch that all update. No more is aimed at.
const ONE_ROW: &[Floors] = &[("tpcb-sync-prepared", &[(32, 4.0, 4.0)])];

/// PostgreSQL's processor time per transaction over ours.
const PROCESSOR: &[Floors] = &[
    ("select-prepared", &[(8, 2.5, 3.0), (128, 5.0, 6.0)]),
    ("tpcb-async-prepared", &[(8, 3.0, 4.0), (128, 8.0, 12.0)]),
];

/// Share of what canned replies reach.
const CANNED: &[Floors] = &[("select-prepared", &[(32, 0.6, 0.75), (128, 0.6, 0.75)])];

/// Statements that are parsed each time, over prepared ones.
const SIMPLE: f64 = 0.5;

/// What is asked at one scale.
#[derive(Default)]
struct Asked {
    throughput: &'static [Floors],
    processor: &'static [Floors],
    canned: &'static [Floors],
    /// Whether simple statements are to reach [`SIMPLE`] of prepared ones.
    simple: bool,
}

/// One thing asked for.
struct Verdict {
    what: String,
    clients: u32,
    least: f64,
    aim: f64,
    found: f64,
    /// What canned replies, which do no work, would reach of the same.
    canned: Option<f64>,
}

/// A table of what is asked for of what was measured; nothing if nothing is.
pub fn table(options: &Options, loads: &[Load], runs: &[Run]) -> String {
    let mut text = String::new();
    let asked = match options.scale {
        1 => Asked { throughput: ONE_ROW, ..Asked::default() },
        10 => Asked { throughput: THROUGHPUT, processor: PROCESSOR, canned: CANNED, simple: true },
        _ => return text,
    };
    let verdicts: Vec<Verdict> =
        loads.iter().flat_map(|load| of_load(&asked, &load.name, options, runs)).collect();
    if verdicts.is_empty() {
        return text;
    }
    text.push_str("\nAsked for and aimed at; beside it what canned replies reach of it, which do no work.\n\n");
    table_head(
        &mut text,
        ["what", "clients", "at least", "aim", "found", "of the aim", "canned", "verdict"],
    );
    for Verdict { what, clients, least, aim, found, canned } in verdicts {
        let verdict = if found >= least { "holds" } else { "MISSED" };
        let canned = canned.map_or("–".to_owned(), |share| format!("{share:.2}"));
        let share = 100.0 * found / aim;
        writeln!(
            text,
            "| {what} | {clients} | {least} | {aim} | {found:.2} | {share:.0} % | {canned} | {verdict} |"
        )
        .expect("strings take writes");
    }
    text
}

fn of_load(asked: &Asked, load: &str, options: &Options, runs: &[Run]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let at = |peer: &str, clients, of| median(runs, load, peer, clients, of);
    let postgres = |clients, of: fn(&Run) -> f64, better: fn(f64, f64) -> f64| {
        ["pg15", "pg18"].into_iter().filter_map(|peer| at(peer, clients, of)).reduce(better)
    };
    let mut ask = |what: String, (clients, least, aim): Floor, found: Option<f64>, canned| {
        verdicts.extend(found.map(|found| Verdict { what, clients, least, aim, found, canned }));
    };
    for floor @ (clients, ..) in floors(asked.throughput, load, options) {
        let others = postgres(clients, |r| r.tps, f64::max);
        let over = |peer| Some(at(peer, clients, |r| r.tps)? / others?);
        ask(format!("{load}, × PostgreSQL's rate"), floor, over("thalweg"), over("canned"));
    }
    for floor @ (clients, ..) in floors(asked.processor, load, options) {
        let others = postgres(clients, |r| r.cpu_us, f64::min);
        let under = |peer| Some(others? / at(peer, clients, |r| r.cpu_us)?);
        let what = format!("{load}, PostgreSQL's processor time over ours");
        ask(what, floor, under("thalweg"), under("canned"));
    }
    for floor @ (clients, ..) in floors(asked.canned, load, options) {
        let share = at("thalweg", clients, |r| r.tps).zip(at("canned", clients, |r| r.tps));
        ask(format!("{load}, × canned"), floor, share.map(|(own, all)| own / all), None);
    }
    if let Some(script) = load.strip_suffix("-simple").filter(|_| asked.simple) {
        let prepared = format!("{script}-prepared");
        for &clients in &options.clients {
            let over = |peer| {
                let prepared = median(runs, &prepared, peer, clients, |r| r.tps)?;
                Some(at(peer, clients, |r| r.tps)? / prepared)
            };
            let floor = (clients, SIMPLE, SIMPLE);
            ask(format!("{load}, × prepared"), floor, over("thalweg"), over("canned"));
        }
    }
    verdicts
}

/// The floors of a load for the numbers of clients that were measured.
fn floors(all: &[Floors], load: &str, options: &Options) -> Vec<Floor> {
    let of_load = all.iter().filter(|(name, _)| *name == load).flat_map(|(_, floors)| *floors);
    of_load.copied().filter(|(clients, ..)| options.clients.contains(clients)).collect()
}
