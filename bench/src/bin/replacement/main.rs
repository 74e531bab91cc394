//! Replacement policies over traces: the engine's own code beside policies from the literature.
//!
//! `cargo run --release -p bench --bin replacement [-- ACCESSES [TRACE…]]` prints, for each trace and cache
//! size, the share of accesses that hit, and how far the engine's policies are behind the best online policy, in
//! percent of that one's hits; at the end what that says of the default. `file:PATH` is a trace that a server has
//! recorded (`bench/traces.sh` records some).
//!
//! The engine's policies run through [`storage::buffer::replace`], the very code of the buffer cache.

mod engine;
mod lists;
mod reference;
#[cfg(test)]
mod tests;
mod traces;

use engine::Engine;
use reference::{Arc, Lru, Lru2, S3Fifo, TinyLfu, optimum};
use std::process::ExitCode;
use std::time::Duration;
use storage::buffer::Policy;

/// A cache of page numbers.
trait Cache {
    /// Uses a page; true if it was there.
    fn use_page(&mut self, page: u64) -> bool;
}

/// Share of the pages that the cache holds.
const SIZES: [(&str, u64); 3] = [("1/40", 40), ("1/10", 10), ("1/4", 4)];

fn policies(frames: usize) -> Vec<(&'static str, Box<dyn Cache>)> {
    let window = Duration::from_secs(3);
    vec![
        ("clock", Box::new(Engine::new(Policy::Clock, frames))),
        ("lruk", Box::new(Engine::new(Policy::ClockLruk { window }, frames))),
        ("probation", Box::new(Engine::new(Policy::Probation, frames))),
        ("LRU", Box::new(Lru::new(frames))),
        ("LRU-2", Box::new(Lru2::new(frames))),
        ("ARC", Box::new(Arc::new(frames))),
        ("W-TLFU", Box::new(TinyLfu::new(frames))),
        ("S3-FIFO", Box::new(S3Fifo::new(frames))),
    ]
}

/// How many of the policies above are the engine's.
const OURS: usize = 3;

fn share(hits: usize, of: usize) -> f64 {
    100.0 * hits as f64 / of as f64
}

/// Which of the engine's is the default.
const DEFAULT: usize = 2;

/// How far the default may be behind the best online policy, in percent of that one's hits.
const CLOSE: f64 = 3.0;
const FAR: f64 = 10.0;

/// Prints a trace's lines; how far the default is behind at each size.
fn run(name: &str, pages: u64, trace: &[u64]) -> [f64; SIZES.len()] {
    SIZES.map(|(label, part)| {
        let frames = (pages / part).max(16) as usize;
        let mut line = format!("{name:<16}{label:>5}");
        let mut all = Vec::new();
        for (_, mut cache) in policies(frames) {
            let hits = trace.iter().filter(|page| cache.use_page(**page)).count();
            all.push(share(hits, trace.len()));
            line += &format!("{:>10.2}", share(hits, trace.len()));
        }
        line += &format!("{:>10.2}", share(optimum(trace, frames), trace.len()));
        let best = all.iter().copied().fold(0.0, f64::max);
        let behind = |ours: f64| 100.0 * (best - ours) / best.max(1e-9);
        for ours in &all[..OURS] {
            line += &format!("{:>8.1}", behind(*ours));
        }
        println!("{line}");
        behind(all[DEFAULT])
    })
}

/// Says on how many traces the default is close to the best, taking each at its worst size; loops are told apart.
fn verdict(gaps: &[(String, [f64; SIZES.len()])]) {
    let worst = |sizes: &[f64; SIZES.len()]| sizes.iter().copied().fold(0.0, f64::max);
    let (loops, others): (Vec<_>, Vec<_>) = gaps.iter().partition(|(name, _)| name == "loop");
    let close = others.iter().filter(|(_, sizes)| worst(sizes) <= CLOSE).count();
    println!(
        "\nthe default is within {CLOSE} % of the best online policy at every size on {close} of {} traces",
        others.len()
    );
    for (name, sizes) in others.iter().filter(|(_, sizes)| worst(sizes) > CLOSE) {
        let far = if worst(sizes) > FAR { ", too far" } else { "" };
        println!("  {name}: up to {:.1} % behind{far}", worst(sizes));
    }
    for (name, sizes) in loops {
        println!("  {name}, reported apart: up to {:.0} % behind", worst(sizes));
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let accesses = arguments.next().map_or(1_000_000, |n| n.parse().expect("a number of accesses"));
    let chosen: Vec<String> = arguments.collect();
    let mut header = format!("{:<16}{:>5}", "trace", "cache");
    for (name, _) in policies(16) {
        header += &format!("{name:>10}");
    }
    header += &format!("{:>10}", "OPT");
    for (name, _) in policies(16).iter().take(OURS) {
        header += &format!("{:>8}", format!("-{}", &name[..5.min(name.len())]));
    }
    println!(
        "hits in percent of {accesses} accesses (of all, in recorded traces); at the right, percent of hits behind \
         the best online"
    );
    println!("{header}");
    let mut gaps = Vec::new();
    for path in chosen.iter().filter_map(|name| name.strip_prefix("file:")) {
        let (pages, trace) = match traces::read(path) {
            Ok(read) => read,
            Err(fault) => {
                eprintln!("{fault}");
                return ExitCode::FAILURE;
            }
        };
        let name = std::path::Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
        gaps.push((name.to_string(), run(&name, pages, &trace)));
    }
    for (name, make) in traces::ALL {
        if chosen.is_empty() || chosen.iter().any(|c| c == name) {
            let (pages, trace) = make(accesses);
            gaps.push(((*name).to_owned(), run(name, pages, &trace)));
        }
    }
    verdict(&gaps);
    ExitCode::SUCCESS
}
