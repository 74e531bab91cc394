//! Seeded simulation of the real engine, with a crash at every disk operation.
//!
//! `sim crash --seeds N` runs seeds 0…N-1 (`--from F`: F…F+N-1); a failure prints the one command that replays it.

mod bank;
mod enumerate;
mod lists;
mod log_hole;

use enumerate::{Broken, Coverage, Points, Scenario, WINDOWS};
use std::cell::Cell;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const USAGE: &str =
    "usage: sim crash [--from F] [--seeds N] [--seed S [--at K]] [--only bank|lists]";

/// Crashes of a seed's lists, whose point is what goes before.
const LISTS_CRASHES: usize = 12;

/// Fewer seeds need not hit every crash window.
const SEEDS_FOR_ALL_WINDOWS: u64 = 20;

struct Options {
    first: u64,
    count: u64,
    points: Points,
    /// One of the scenarios alone.
    only: Option<Only>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Bank,
    Lists,
}

fn options() -> Option<Options> {
    let mut options = Options { first: 0, count: 50, points: Points::Every, only: None };
    let mut words = std::env::args().skip(1);
    if words.next()? != "crash" {
        return None;
    }
    while let Some(word) = words.next() {
        let value = words.next()?;
        if word == "--only" {
            options.only = Some(match value.as_str() {
                "bank" => Only::Bank,
                "lists" => Only::Lists,
                _ => return None,
            });
            continue;
        }
        let value: u64 = value.parse().ok()?;
        match word.as_str() {
            "--from" => options.first = value,
            "--seeds" => options.count = value,
            "--seed" => (options.first, options.count) = (value, 1),
            "--at" => options.points = Points::Only(value as usize),
            _ => return None,
        }
    }
    Some(options)
}

thread_local! {
    /// Where this thread's simulation is, for the panic hook: a panic inside a fiber aborts the process.
    static PLACE: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

/// Notes where this thread's simulation is.
pub fn note_place(seed: u64, at: usize) {
    PLACE.set((seed, at));
}

/// In a build that checks as this one does: what only debug builds assert fails nowhere else.
fn replay_command(seed: u64, at: usize) -> String {
    let profile = if cfg!(debug_assertions) { "--profile checked" } else { "--release" };
    format!("cargo run {profile} -p sim -- crash --seed {seed} --at {at}")
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        default(panic);
        let (seed, at) = PLACE.get();
        eprintln!("in the simulation; replay with: {}", replay_command(seed, at));
    }));
    match run_seeds(&options) {
        Ok(coverage) => report(&coverage, &options),
        Err(broken) => report_broken(&broken),
    }
}

/// Runs the seeds on all cores, a simulation a thread. Ends at the first promise that does not hold.
fn run_seeds(options: &Options) -> Result<Coverage, Broken> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(options.first);
    let end = options.first + options.count;
    let total = Mutex::new(Ok(Coverage::default()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (bank, lists) = (Rc::new(bank::Bank), Rc::new(lists::Lists));
                loop {
                    // Relaxed: only the number counts.
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let mut coverage = Coverage::default();
                    let mut beside = Coverage::default();
                    let points = options.points;
                    let mut done = Ok(());
                    if options.only != Some(Only::Lists) {
                        done = enumerate::seed(&bank, seed, points, &mut coverage);
                    }
                    if done.is_ok() && options.only != Some(Only::Bank) {
                        let fewer = points.at_most(LISTS_CRASHES);
                        done = enumerate::seed(&lists, seed, fewer, &mut beside);
                    }
                    coverage.beside(&beside);
                    let mut total = total.lock().expect("nothing panics under it");
                    match (done, &mut *total) {
                        (Ok(()), Ok(sum)) => sum.add(&coverage),
                        (Err(broken), Ok(_)) => *total = Err(broken),
                        (_, Err(_)) => {}
                    }
                    if total.is_err() {
                        next.store(end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    total.into_inner().expect("nothing panics under it")
}

fn report_broken(broken: &Broken) -> ExitCode {
    println!("FAILED: seed {}, crash after operation {}: {}", broken.seed, broken.at, broken.what);
    println!("in windows: {}", broken.windows.join(", "));
    println!("replay with: {}", replay_command(broken.seed, broken.at));
    ExitCode::FAILURE
}

fn report(coverage: &Coverage, options: &Options) -> ExitCode {
    println!(
        "{} seeds, {} disk operations, {} crashes recovered and checked ({} of them with a second crash)",
        coverage.seeds, coverage.operations, coverage.crashes, coverage.second_crashes
    );
    if let Some((commits, writes)) = coverage.least {
        println!("no seed with fewer than {commits} commits or {writes} disk writes");
    }
    let mut missed = false;
    for window in bank::Bank.windows().iter().chain(&WINDOWS) {
        let hits = coverage.windows.get(window).copied().unwrap_or(0);
        println!("  {hits:>8} crashes in window '{window}'");
        missed |= hits == 0;
    }
    if missed && options.count >= SEEDS_FOR_ALL_WINDOWS && options.only != Some(Only::Lists) {
        println!("FAILED: a crash window was never hit");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
