//! Looking for the next request before sleeping, as Thalweg's workers do (`crates/server/src/busy_poll.rs`): a ceiling that slept
//! between the questions of one client would lie below a server that does not.

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What `worker_busy_poll` is by default.
const LIMIT: Duration = Duration::from_micros(100);
/// Between two looks so far apart somebody else had the core.
const INTERRUPTED: Duration = Duration::from_micros(30);
/// After a look in vain the next sleeps go without, twice as many each time, up to two to the power of this.
const BACKOFF_MAX: u32 = 10;

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
}

impl BusyPoll {
    /// Of a connection that this worker has from now on.
    pub fn new() -> BusyPoll {
        OPEN.set(OPEN.get() + 1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        BusyPoll { most: cores / 2, vain: 0, skip: 0 }
    }

    /// Reads what comes soon; nothing where none has, or where the worker has others to serve: then the socket is waited for.
    pub fn read(&mut self, socket: &mut impl Read, into: &mut [u8]) -> Option<usize> {
        if OPEN.get() != 1 {
            return None;
        }
        if let Some(fewer) = self.skip.checked_sub(1) {
            self.skip = fewer;
            return None;
        }
        let mut read = None;
        if LOOKING.fetch_add(1, Relaxed) < self.most {
            read = watch(socket, into);
            self.vain = if read.is_some() { 0 } else { (self.vain + 1).min(BACKOFF_MAX) };
            self.skip = if read.is_some() { 0 } else { 1 << self.vain };
        }
        LOOKING.fetch_sub(1, Relaxed);
        read
    }
}

impl Drop for BusyPoll {
    fn drop(&mut self) {
        OPEN.set(OPEN.get() - 1);
    }
}

/// Looks until something has come, or it has been long enough, or somebody else wanted the core. What is wrong with the socket,
/// who waits for it finds out.
fn watch(socket: &mut impl Read, into: &mut [u8]) -> Option<usize> {
    let begun = Instant::now();
    let mut last = begun;
    loop {
        match socket.read(into) {
            Ok(count) => return Some(count),
            Err(fault) if fault.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        let now = Instant::now();
        if now - last > INTERRUPTED || now - begun >= LIMIT {
            return None;
        }
        last = now;
    }
}
