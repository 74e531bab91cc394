//! A seeded world on one thread: fibers drawn in random order, a clock that moves only when nothing can
//! run, and (in [`crate::disk::sim`]) a disk that remembers every operation. Same seed, same run.

use crate::clock::{Clock, Instant};
use crate::fiber::{Lots, Order, Scheduler};
use crate::park;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// 2020-01-01 00:00:00 UTC in microseconds: where simulated wall-clock time starts.
const WALL_START_MICROS: i64 = 1_577_836_800_000_000;

/// Where the simulated clock starts.
const START: Instant = Instant(1_000_000_000);
/// A simulation in which so much time passes has got stuck where everybody looks again and again.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Who falls behind does so for fewer turns of others than this: longer than a checkpoint takes.
const LAG_MAX: u64 = 1000;

/// A running simulation; see [`run`].
pub struct Sim {
    scheduler: Scheduler,
    now: Cell<Instant>,
    steps: Cell<u64>,
    operations: Cell<usize>,
    windows: RefCell<Vec<Passed>>,
}

/// A named stretch of a run, in disk operations: a crash after operation `k` falls into it when
/// `begin <= k <= end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The window's name.
    pub name: &'static str,
    /// Disk operations done when it opened.
    pub begin: usize,
    /// Disk operations done when it closed.
    pub end: usize,
}

/// An open crash window; closes at drop.
#[must_use]
pub struct Window(Option<(&'static str, usize)>);

/// Opens a crash window: from here to the guard's drop a crash is of a kind that has a name. Costs one
/// thread-local load outside simulations; not for hot paths.
pub fn window(name: &'static str) -> Window {
    Window(with(|sim| (name, sim.operations.get())))
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Some((name, begin)) = self.0 {
            with(|sim| {
                let end = sim.operations.get();
                sim.windows.borrow_mut().push(Passed { name, begin, end });
            });
        }
    }
}

/// The windows that closed so far in this simulation.
pub fn windows() -> Vec<Passed> {
    with(|sim| sim.windows.borrow().clone()).unwrap_or_default()
}

/// Disk operations done so far in this simulation.
pub fn operations() -> usize {
    with(|sim| sim.operations.get()).unwrap_or(0)
}

/// The simulated disk reports how long its journal is.
pub(crate) fn note_operations(count: usize) {
    with(|sim| sim.operations.set(count));
}

thread_local! {
    static CURRENT: Cell<*const Sim> = const { Cell::new(std::ptr::null()) };
}

/// Runs `f` on the simulation of this thread, if there is one.
#[inline]
fn with<R>(f: impl FnOnce(&Sim) -> R) -> Option<R> {
    let sim = CURRENT.get();
    if sim.is_null() {
        return None;
    }
    // SAFETY: CURRENT is set only while `run` keeps the Sim alive on this thread's stack.
    Some(f(unsafe { &*sim }))
}

/// The clock of this thread's simulation, if there is one.
#[inline]
pub(crate) fn with_clock<R>(f: impl FnOnce(&dyn Clock) -> R) -> Option<R> {
    with(|sim| f(sim))
}

impl Clock for Sim {
    fn now(&self) -> Instant {
        self.now.get()
    }

    fn wall_micros(&self) -> i64 {
        WALL_START_MICROS + (self.now.get().0 / 1000) as i64
    }
}

/// Whether this thread is inside a simulation.
pub fn active() -> bool {
    !CURRENT.get().is_null()
}

/// A number below `below`, drawn from the simulation's generator. Panics outside a simulation.
pub fn draw(below: u64) -> u64 {
    with(|sim| sim.scheduler.draw(below)).flatten().expect("draw is called inside a simulation")
}

/// A place where another context may run: yields with one chance in `odds` inside a simulation.
#[inline]
pub fn maybe_yield(odds: u64) {
    if active() && park::on_fiber() && draw(odds) == 0 {
        park::yield_now();
    }
}

/// A place between two deeds that others must see as one, as a record in the log and what it tells of: with one chance in
/// `odds` a simulation holds this context up for as long as others take for hundreds of turns. By even draws alone it would
/// never wait as long as a checkpoint takes.
#[inline]
pub fn maybe_fall_behind(odds: u64) {
    if active() && park::on_fiber() && draw(odds) == 0 {
        let picks = draw(LAG_MAX) as u32;
        with(|sim| sim.scheduler.fall_behind(picks));
        park::yield_now();
    }
}

/// Starts a fiber in this thread's simulation.
pub(crate) fn spawn(job: impl FnOnce() + 'static) -> bool {
    with(|sim| sim.scheduler.spawn(job).expect("stacks can be had")).is_some()
}

/// Starts a fiber in this thread's simulation that may hold what is not `Send`. Panics outside one.
pub fn spawn_local(job: impl FnOnce() + 'static) {
    assert!(spawn(job), "spawn_local is called inside a simulation");
}

/// Runs `main` and everything it spawns to the end; answers what `main` answered.
///
/// Panics, naming the seed, when nothing can run and no timer is set (a lost wake-up or a deadlock), and when a
/// day has passed in it.
pub fn run<R: 'static>(seed: u64, main: impl FnOnce() -> R + 'static) -> R {
    assert!(!active(), "simulations do not nest");
    let order = Order::Seeded(Lots::new(seed));
    let sim = Sim {
        scheduler: Scheduler::new(order, || {}),
        now: Cell::new(START),
        steps: Cell::new(0),
        operations: Cell::new(0),
        windows: RefCell::default(),
    };
    let _entered = Entered::new(&sim);
    let answer = Rc::new(RefCell::new(None));
    let out = Rc::clone(&answer);
    sim.scheduler.spawn(move || *out.borrow_mut() = Some(main())).expect("stacks can be had");
    while sim.scheduler.busy() > 0 {
        sim.steps.set(sim.steps.get() + 1);
        if sim.scheduler.run(1) {
            continue;
        }
        if sim.scheduler.busy() == 0 {
            break;
        }
        let due = sim.scheduler.next_deadline();
        let due = due.unwrap_or_else(|| stuck(seed, sim.scheduler.busy()));
        if due > START.after(LONGEST) {
            endless(seed, sim.scheduler.busy());
        }
        sim.now.set(due.max(sim.now.get()));
    }
    answer.take().expect("main has ended")
}

fn stuck(seed: u64, busy: usize) -> ! {
    panic!("simulation with seed {seed}: {busy} contexts wait and nothing can wake them");
}

fn endless(seed: u64, busy: usize) -> ! {
    panic!("simulation with seed {seed}: {busy} contexts wait again and again and nothing ends");
}

struct Entered;

impl Entered {
    fn new(sim: &Sim) -> Entered {
        CURRENT.set(sim);
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(std::ptr::null());
    }
}

#[cfg(test)]
mod tests;
