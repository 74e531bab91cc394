//! Which connections share a worker (`worker_connection_affinity`).
//!
//! A client thread that has several connections asks on all of them in one go and sleeps. Where they are all on one
//! worker, its questions are served in one round and its answers leave in one call of the system, which wakes that one
//! thread. Where each worker has some of each thread's, every round wakes every thread, and the rounds are short: on
//! two cores three fifths as many point reads get done (docs/decisions/replies.md).
//!
//! The system tells which process is at the other end of a socket, not which thread. But it shows which of the process'
//! threads sleep, and a reply wakes the one that waits for it ([`wakes`]). Where that tells nothing, this may: questions
//! of one thread come together, so each worker counts which of its connections are heard together ([`near`]) and merges
//! those that are into *groups* ([`groups`]). A worker sees its own connections only; that two groups on two workers
//! belong to one thread shows when some of them are put together. So workers exchange groups, as many connections for as
//! many, to see which belong together, and to gather those that do ([`placement`]). Each worker keeps the number of
//! connections that it had.
//!
//! Three things keep this harmless. Only clients of this machine are counted: a thread elsewhere is not woken here.
//! Connections of different processes are never taken for one thread's. And when nothing is left to be learnt, or
//! nothing shows, counting ends until the next client comes.
//!
//! A connection moves when its next question comes, if it is in no transaction and owes its client nothing
//! ([`crate::connection::Guest`]).

mod groups;
mod near;
mod placement;
#[cfg(test)]
mod tests;
mod wakes;

use base::sync::unmodelled::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use base::clock;

pub(crate) use near::Near;
use placement::Placement;
pub(crate) use placement::{MOVE_MAX, Move};

/// Where a local client is: connections of different households belong to different threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Household {
    /// A process, known by its number.
    Process(i32),
    /// Somebody who came over this machine's own network.
    Loopback,
}

/// A connection that is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Member {
    pub household: Household,
    /// Its session, by process number.
    pub session: i32,
}

/// What all workers share.
pub(crate) struct Affinity {
    /// None where there is one worker, or nobody wants it.
    placement: Option<Mutex<Placement>>,
    /// Whether workers are to count.
    watching: AtomicBool,
}

impl Affinity {
    pub fn new(workers: usize) -> Affinity {
        let placement = (workers > 1).then(|| Mutex::new(Placement::new(workers)));
        Affinity { placement, watching: AtomicBool::new(false) }
    }

    /// Whether workers are to count.
    #[inline]
    pub fn is_watching(&self) -> bool {
        // Relaxed, here and where it is set: counting a little too early or too late harms nothing.
        self.watching.load(Ordering::Relaxed)
    }

    /// Whether connections move at all.
    pub fn is_on(&self) -> bool {
        self.placement.is_some()
    }

    /// There is a new session of a client on this machine.
    pub fn begin(&self) {
        if let Some(mut placement) = self.lock() {
            placement.begin();
            self.watching.store(true, Ordering::Relaxed);
        }
    }

    /// What worker number `worker` has counted; returns who is to move.
    pub fn counted(&self, worker: usize, groups: &[Vec<Member>]) -> Vec<Move> {
        let Some(mut placement) = self.lock() else { return Vec::new() };
        let moves = placement.counted(worker, groups, clock::now());
        if placement.is_done() {
            self.watching.store(false, Ordering::Relaxed);
        }
        moves
    }

    /// The thread of its client's process at which a session's replies arrive has been found.
    pub fn found(&self, session: i32, thread: i32) {
        if let Some(mut placement) = self.lock() {
            placement.found(session, thread);
        }
    }

    /// Whether the thread of a session has been found.
    pub fn has_found(&self, session: i32) -> bool {
        self.lock().is_some_and(|placement| placement.has_found(session))
    }

    /// A session has come to where it was told to go.
    pub fn arrived(&self, session: i32) {
        if let Some(mut placement) = self.lock() {
            placement.arrived(session);
        }
    }

    /// A session has ended.
    pub fn forget(&self, session: i32) {
        if let Some(mut placement) = self.lock() {
            placement.forget(session);
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, Placement>> {
        Some(self.placement.as_ref()?.lock().expect("no code panics under it"))
    }
}
