//! Looking for the next request before sleeping, as Thalweg's workers do (`crates/server/src/busy_poll.rs`): on a quiet machine a
//! ceiling that slept between the questions of one client would lie below a server that does not. On a busy one, whose cores need not
//! be woken, sleeping is faster. A ceiling is as fast as can be: every few thousand questions both are tried, and the better is kept.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What `worker_busy_poll` is by default.
const LIMIT: Duration = Duration::from_micros(100);
/// Between two looks so far apart somebody else had the core.
const INTERRUPTED: Duration = Duration::from_micros(30);
/// After a look in vain the next sleeps go without, twice as many each time, up to two to the power of this.
const BACKOFF_MAX: u32 = 10;

/// So many questions each way is tried for, and the better is kept for.
const TRIAL: u32 = 64;
const KEPT: u32 = 8192;

/// Workers that look at this moment: half of the cores at most. Relaxed: a limit on work, nothing hangs on it.
static LOOKING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Connections of this worker.
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// One connection's looks.
pub struct BusyPoll {
    most: usize,
    /// Looks in vain in a row, [`BACKOFF_MAX`] at most.
    vain: u32,
    /// So many sleeps go without.
    skip: u32,
    stage: Stage,
    /// So many questions are left of it, which began then.
    left: u32,
    begun: Instant,
    /// What looking took in its trial, and whether sleeping took longer.
    looking: Duration,
    better: bool,
}

/// What is done now: one way is tried, or the other, or what was better is kept.
enum Stage {
    Looking,
    Sleeping,
    Kept,
}

impl BusyPoll {
    /// Of a connection that this worker has from now on.
    pub fn new() -> BusyPoll {
        OPEN.set(OPEN.get() + 1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        BusyPoll {
            most: cores / 2,
            vain: 0,
            skip: 0,
            stage: Stage::Kept,
            left: TRIAL,
            begun: Instant::now(),
            looking: Duration::ZERO,
            better: false,
        }
    }

    /// Whether the next question is to be looked for.
    fn tries(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            let now = Instant::now();
            let took = now - std::mem::replace(&mut self.begun, now);
            (self.stage, self.left) = match self.stage {
                Stage::Kept => (Stage::Looking, TRIAL),
                Stage::Looking => {
                    self.looking = took;
                    (Stage::Sleeping, TRIAL)
                }
                Stage::Sleeping => {
                    self.better = self.looking < took;
                    (Stage::Kept, KEPT)
                }
            };
        }
        match self.stage {
            Stage::Looking => true,
            Stage::Sleeping => false,
            Stage::Kept => self.better,
        }
    }

    /// Whether something has come soon; else, or where the worker has others to serve, the socket is waited for.
    pub fn look(&mut self, socket: RawFd) -> bool {
        if !self.tries() || OPEN.get() != 1 {
            return false;
        }
        if let Some(fewer) = self.skip.checked_sub(1) {
            self.skip = fewer;
            return false;
        }
        let mut came = false;
        if LOOKING.fetch_add(1, Relaxed) < self.most {
            came = watch(socket);
            self.vain = if came { 0 } else { (self.vain + 1).min(BACKOFF_MAX) };
            self.skip = if came { 0 } else { 1 << self.vain };
        }
        LOOKING.fetch_sub(1, Relaxed);
        came
    }
}

impl Drop for BusyPoll {
    fn drop(&mut self) {
        OPEN.set(OPEN.get() - 1);
    }
}

/// Looks until something has come, or it has been long enough, or somebody else wanted the core.
fn watch(socket: RawFd) -> bool {
    let begun = Instant::now();
    let mut last = begun;
    loop {
        let came = is_readable(socket);
        let now = Instant::now();
        if came || now - last > INTERRUPTED || now - begun >= LIMIT {
            return came;
        }
        last = now;
    }
}

/// Whether a read would not have to wait. A read in vain would take the socket's lock, which the client's write wants.
fn is_readable(socket: RawFd) -> bool {
    let mut asked = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut asked, 1, 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways are tried again and again, and the one that took less is kept between.
    #[test]
    fn the_better_way_is_kept() {
        let mut poll = BusyPoll::new();
        for slow in [false, true, false] {
            while !matches!(poll.stage, Stage::Looking) {
                poll.tries();
            }
            let ways: Vec<bool> = (0..TRIAL * 2)
                .map(|_| {
                    let looks = matches!(poll.stage, Stage::Looking);
                    if looks == slow {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    poll.tries()
                })
                .collect();
            assert!(ways.contains(&true) && ways.contains(&false));
            assert!((0..1000).all(|_| poll.tries() != slow), "slow: {slow}");
        }
    }
}
