//! Crash enumeration: one seeded run on a simulated disk, then a crash after each of its disk operations.
//!
//! The run is not stopped; its journal gives, for every prefix, a disk as a power cut there could leave it
//! (writes not yet synced are kept, lost or torn at random). Each such disk is recovered and checked against
//! what clients had been told by then. Now and then this is only the beginning ([`Plot`]): the recovery is
//! itself cut short, at a random operation; or the recovered bank is used again, and that is cut short; or
//! the process alone was killed at first, so that the system still had what was not synced, and the power
//! fails after the restart.

use crate::log_hole;
use base::disk::sim::{Crashes, SECTOR_BYTES, SimDisk};
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
    /// Opens the disk (recovering it) and compares with everything told up to operation `at`; if `more`,
    /// works on for a while. Answers what is known from then on, by this disk's own operations. Called
    /// inside a simulation; leaves nothing running.
    fn go_on(
        &self,
        seed: u64,
        disk: &SimDisk,
        history: &Self::History,
        at: usize,
        more: bool,
    ) -> Result<Self::History, String>;
    /// What the disk of a seed's world writes as a whole.
    fn sector_bytes(&self, _seed: u64) -> usize {
        SECTOR_BYTES
    }
    /// How many commits a run made.
    fn commits(&self, history: &Self::History) -> usize;
    /// Names of the crash windows that a set of seeds must have hit, beside [`WINDOWS`].
    fn windows(&self) -> &'static [&'static str];
}

/// Crash windows that are the enumeration's own.
pub const WINDOWS: [&str; 2] = [KILLED_THEN_CUT, BEHIND_A_HOLE];
const KILLED_THEN_CUT: &str = "killed, then power cut";
const BEHIND_A_HOLE: &str = "same-length record after a hole";

/// How the names of windows begin that a recovery opens to tell what it has found.
const LEFT: &str = "left: ";

/// What one or more seeds covered.
#[derive(Default)]
pub struct Coverage {
    /// Seeds run.
    pub seeds: u64,
    /// Disk operations of the runs.
    pub operations: usize,
    /// The smallest number of commits and of disk writes of a seed.
    pub least: Option<(usize, usize)>,
    /// Crashes recovered and checked.
    pub crashes: usize,
    /// Crashes that were followed by a second one.
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
        self.least = match (self.least, other.least) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.min(b.1))),
            (a, b) => a.or(b),
        };
        for (name, hits) in &other.windows {
            *self.windows.entry(name).or_default() += hits;
        }
    }

    /// Adds the crashes of a seed's other scenario.
    pub fn beside(&mut self, other: &Coverage) {
        self.seeds = self.seeds.max(other.seeds);
        self.operations += other.operations;
        self.crashes += other.crashes;
        self.second_crashes += other.second_crashes;
    }

    fn hit(&mut self, window: &'static str) {
        *self.windows.entry(window).or_default() += 1;
    }

    /// A crash is inside a window if part of what was written there is before it. Of a change in memory only, which writes
    /// nothing itself, it is the last one before anything of the change is on the disk.
    fn hit_passed(&mut self, windows: &[Passed], at: usize) {
        let is_inside = |w: &&Passed| match w.begin == w.end {
            true => at == w.end,
            false => w.begin < at && at <= w.end,
        };
        for w in windows.iter().filter(is_inside) {
            self.hit(w.name);
        }
    }

    /// What a recovery has found counts, too: a crash that left something in a state that has a name.
    fn hit_left(&mut self, windows: &[Passed]) {
        windows.iter().filter(|w| w.name.starts_with(LEFT)).for_each(|w| self.hit(w.name));
    }
}

/// A promise that did not hold.
pub struct Broken {
    /// The run's seed.
    pub seed: u64,
    /// Disk operations done before the crash.
    pub at: usize,
    /// The windows that the crash fell into.
    pub windows: Vec<&'static str>,
    /// What was wrong.
    pub what: String,
}

/// Which crashes of a run are tried.
#[derive(Clone, Copy)]
pub enum Points {
    /// After every operation.
    Every,
    /// After so many, drawn by the seed.
    Some(usize),
    /// After this one only: replay of a failure.
    Only(usize),
}

impl Points {
    /// Of a run beside another one: not more than `most`.
    pub fn at_most(self, most: usize) -> Points {
        if let Points::Every = self { Points::Some(most) } else { self }
    }
}

/// What happens from a crash on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plot {
    /// Recovery, and a look at everything.
    Once,
    /// As `Once`, cut short at any operation; then again.
    Twice,
    /// Recovery, work; cut short at any operation of these; then recovery and a look.
    GoOn,
    /// Not the power fails but the process is killed. Then as `GoOn`.
    KilledFirst,
}

impl Plot {
    fn draw(rng: &mut fastrand::Rng) -> Plot {
        match rng.u8(..32) {
            0..3 => Plot::Twice,
            3..5 => Plot::GoOn,
            5 => Plot::KilledFirst,
            _ => Plot::Once,
        }
    }
}

/// One run and what is known of it.
struct Run<'r, S: Scenario> {
    scenario: &'r Rc<S>,
    seed: u64,
    history: Rc<S::History>,
    windows: Vec<Passed>,
}

/// Runs one seed and tries its crashes.
pub fn seed<S: Scenario>(
    scenario: &Rc<S>,
    seed: u64,
    points: Points,
    coverage: &mut Coverage,
) -> Result<(), Broken> {
    crate::note_place(seed, 0);
    let broken = |at, what| Broken { seed, at, windows: Vec::new(), what };
    let (history, disk, windows) = live_run(scenario, seed).map_err(|what| broken(0, what))?;
    coverage.seeds += 1;
    coverage.operations += disk.operations();
    coverage.least = Some((scenario.commits(&history), disk.writes()));
    let run = Run { scenario, seed, history: Rc::new(history), windows };
    let mut crashes = disk.crashes().with_sectors_of(scenario.sector_bytes(seed));
    let tried: Vec<usize> = match points {
        Points::Every => (0..=crashes.len()).collect(),
        Points::Some(count) => {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut points: Vec<_> = (0..count).map(|_| rng.usize(0..=crashes.len())).collect();
            points.sort_unstable();
            points
        }
        Points::Only(at) => vec![at.min(crashes.len())],
    };
    for at in tried {
        crate::note_place(seed, at);
        crashes.advance_to(at);
        let mut seen = Coverage::default();
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9) ^ at as u64);
        let plot = Plot::draw(&mut rng);
        let outcome = run.crash(&crashes, plot, rng, &mut seen);
        let windows = seen.windows.keys().copied().collect();
        coverage.add(&seen);
        let told = |what| format!("{what} (plot: {plot:?})");
        outcome.map_err(|what| Broken { windows, ..broken(at, told(what)) })?;
    }
    Ok(())
}

impl<S: Scenario> Run<'_, S> {
    /// One crash, and everything that follows.
    fn crash(
        &self,
        crashes: &Crashes,
        plot: Plot,
        mut rng: fastrand::Rng,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        let at = crashes.at();
        coverage.crashes += 1;
        coverage.hit_passed(&self.windows, at);
        let image = match plot {
            Plot::KilledFirst => crashes.killed(),
            _ => crashes.image(&mut rng),
        };
        if plot == Plot::Once {
            let (_, windows) = self.go_on(&image, &self.history, at, false, rng.u64(..))?;
            coverage.hit_left(&windows);
            return Ok(());
        }
        coverage.second_crashes += 1;
        let beyond = match plot {
            Plot::KilledFirst => None,
            _ => log_hole::find(&image, &crashes.killed()),
        };
        let begin = image.operations();
        let more = plot != Plot::Twice;
        let (history, windows) = self.go_on(&image, &self.history, at, more, rng.u64(..))?;
        if let Some(beyond) = beyond {
            coverage.hit(BEHIND_A_HOLE);
            if beyond.is_there(&image) {
                return Err("a record behind the end of the log is whole after recovery".into());
            }
        }
        let mut crashes = image.crashes().with_sectors_of(self.scenario.sector_bytes(self.seed));
        crashes.advance_to(rng.usize(begin..=crashes.len()));
        coverage.hit_passed(&windows, crashes.at());
        if plot == Plot::KilledFirst {
            coverage.hit(KILLED_THEN_CUT);
        }
        let image = crashes.image(&mut rng);
        self.go_on(&image, &history, crashes.at(), false, rng.u64(..)).map(|_| ())
    }

    /// Lets the scenario go on from an image, in a simulation of its own.
    fn go_on(
        &self,
        image: &SimDisk,
        history: &Rc<S::History>,
        at: usize,
        more: bool,
        world: u64,
    ) -> Result<(Rc<S::History>, Vec<Passed>), String> {
        let (scenario, disk, history) =
            (Rc::clone(self.scenario), image.clone(), Rc::clone(history));
        let seed = self.seed;
        let next = guarded(move || {
            sim::run(world, move || {
                let next = scenario.go_on(seed, &disk, &history, at, more);
                next.map(|history| (history, sim::windows()))
            })
        })??;
        Ok((Rc::new(next.0), next.1))
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

/// Turns a panic of the engine into a failed promise. Contexts that still hang in the simulation are given
/// up with it.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    std::panic::catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("panicked: {}", text.unwrap_or("with no message"))
    })
}
