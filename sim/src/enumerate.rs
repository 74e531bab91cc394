//! Crash enumeration: one seeded run on a simulated disk, then a crash after each of its disk operations.
//!
//! The run is not stopped; its journal gives, for every prefix, a disk as a power cut there could leave it
//! (writes not yet synced are kept, lost or torn at random). Each such disk is recovered and checked against
//! what clients had been told by then. Now and then the recovery is itself cut short, at a random
//! operation, and done again.

use base::disk::sim::SimDisk;
use base::sim::{self, Passed};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

/// A workload whose promises can be checked after a crash.
pub trait Scenario: 'static {
    /// What clients were told, each fact with the number of disk operations done when it was told.
    type History: 'static;
    /// Runs the workload to its end on an empty disk. Called inside a simulation.
    fn run(&self, seed: u64, disk: &SimDisk) -> Self::History;
    /// Opens the disk (recovering it) and compares with everything told up to operation `at`. Called
    /// inside a simulation; leaves nothing running.
    fn verify(&self, disk: &SimDisk, history: &Self::History, at: usize) -> Result<(), String>;
    /// Names of the crash windows that a set of seeds must have hit.
    fn windows(&self) -> &'static [&'static str];
}

/// What one or more seeds covered.
#[derive(Default)]
pub struct Coverage {
    /// Seeds run.
    pub seeds: u64,
    /// Disk operations of the runs.
    pub operations: usize,
    /// Crashes recovered and checked.
    pub crashes: usize,
    /// Recoveries that were themselves cut short.
    pub second_crashes: usize,
    /// Crashes per named window.
    pub windows: BTreeMap<&'static str, usize>,
}

impl Coverage {
    /// Adds what another seed covered.
    pub fn add(&mut self, other: &Coverage) {
        self.seeds += other.seeds;
        self.operations += other.operations;
        self.crashes += other.crashes;
        self.second_crashes += other.second_crashes;
        for (name, hits) in &other.windows {
            *self.windows.entry(name).or_default() += hits;
        }
    }
}

/// A promise that did not hold.
pub struct Broken {
    /// The run's seed.
    pub seed: u64,
    /// Disk operations done before the crash.
    pub at: usize,
    /// What was wrong.
    pub what: String,
}

/// Which crashes of a run are tried.
#[derive(Clone, Copy)]
pub enum Points {
    /// After every operation.
    Every,
    /// After this one only: replay of a failure.
    Only(usize),
}

/// How often a recovery is cut short, one in this many.
const SECOND_CRASH_ODDS: u64 = 8;

/// Runs one seed and tries its crashes.
pub fn seed<S: Scenario>(
    scenario: &Rc<S>,
    seed: u64,
    points: Points,
    coverage: &mut Coverage,
) -> Result<(), Broken> {
    let broken = |at, what| Broken { seed, at, what };
    crate::note_place(seed, 0);
    let (history, disk, windows) = live_run(scenario, seed).map_err(|what| broken(0, what))?;
    let history = Rc::new(history);
    coverage.seeds += 1;
    coverage.operations += disk.operations();
    let mut crashes = disk.crashes();
    let tried: Vec<usize> = match points {
        Points::Every => (0..=crashes.len()).collect(),
        Points::Only(at) => vec![at.min(crashes.len())],
    };
    for at in tried {
        crate::note_place(seed, at);
        crashes.advance_to(at);
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9) ^ at as u64);
        let image = crashes.image(&mut rng);
        note_windows(&windows, at, coverage);
        let image = if rng.u64(..SECOND_CRASH_ODDS) == 0 {
            coverage.second_crashes += 1;
            let cut = second_crash(scenario, &image, &history, at, &mut rng);
            cut.map_err(|what| broken(at, what))?
        } else {
            image
        };
        recover(scenario, &image, &history, at, rng.u64(..)).map_err(|what| broken(at, what))?;
        coverage.crashes += 1;
    }
    Ok(())
}

fn note_windows(windows: &[Passed], at: usize, coverage: &mut Coverage) {
    for w in windows.iter().filter(|w| w.begin <= at && at <= w.end) {
        *coverage.windows.entry(w.name).or_default() += 1;
    }
}

type Live<S> = (<S as Scenario>::History, SimDisk, Vec<Passed>);

fn live_run<S: Scenario>(scenario: &Rc<S>, seed: u64) -> Result<Live<S>, String> {
    let scenario = Rc::clone(scenario);
    guarded(move || {
        sim::run(seed, move || {
            let disk = SimDisk::new();
            let history = scenario.run(seed, &disk);
            (history, disk, sim::windows())
        })
    })
}

/// Recovers and verifies one image.
fn recover<S: Scenario>(
    scenario: &Rc<S>,
    image: &SimDisk,
    history: &Rc<S::History>,
    at: usize,
    seed: u64,
) -> Result<(), String> {
    let (scenario, disk, history) = (Rc::clone(scenario), image.clone(), Rc::clone(history));
    guarded(move || sim::run(seed, move || scenario.verify(&disk, &history, at)))?
}

/// Recovers once, and gives the disk as a crash in the middle of that recovery leaves it.
fn second_crash<S: Scenario>(
    scenario: &Rc<S>,
    image: &SimDisk,
    history: &Rc<S::History>,
    at: usize,
    rng: &mut fastrand::Rng,
) -> Result<SimDisk, String> {
    recover(scenario, image, history, at, rng.u64(..))?;
    let mut crashes = image.crashes();
    crashes.advance_to(rng.usize(..=crashes.len()));
    Ok(crashes.image(rng))
}

/// Turns a panic of the engine into a failed promise. Contexts that still hang in the simulation are given
/// up with it.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    std::panic::catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("panicked: {}", text.unwrap_or("with no message"))
    })
}
