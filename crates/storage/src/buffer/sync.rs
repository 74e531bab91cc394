//! In-place writes that are not durable yet: how far the redo point and the double-write areas must wait.
//!
//! Positions move one way: from a frame (`flushing`) to `unsynced` when its page is written in place, to
//! `syncing` when a sync of the files begins, and out when it has ended. `min_rec_lsn` looks in that order, so
//! it can't miss one on the move. Syncing is put off so that the system can merge writes to one page,
//! and done by a context of its own once a second, or when three quarters of the areas are used, so that the cleaner seldom
//! waits for it.

use super::cleaner::Vital;
use super::io::Timed;
use super::pool::Pool;
use crate::error::{Result, fatal};
use base::Lsn;
use base::clock;
use base::latch::Latch;
use base::lot;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use base::usage::{self, Role};
use std::time::Duration;

/// Time after which writes are synced even if there are few.
const ROUND: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Places {
    state: Latch<State>,
    /// Held by the one who syncs.
    turn: Latch<()>,
    /// Batches written minus batches synced, for those who only want to know.
    behind: AtomicU64,
    asked: AtomicBool,
}

struct State {
    unsynced: Lsn,
    syncing: Lsn,
    written: u64,
    synced: u64,
}

impl Places {
    /// Nothing is unsynced. `batch` is the number of the last batch before.
    pub fn new(batch: u64) -> Places {
        let state = State { unsynced: Lsn::MAX, syncing: Lsn::MAX, written: batch, synced: batch };
        Places {
            state: Latch::new(Rank::Leaf, state),
            turn: Latch::new(Rank::BufferMap, ()),
            behind: AtomicU64::new(0),
            asked: AtomicBool::new(false),
        }
    }

    /// Batch `batch` is written in place; its pages need log from `rec_min` on until they are synced. How many batches
    /// are not synced.
    pub fn written(&self, batch: u64, rec_min: Lsn) -> u64 {
        let mut state = self.state.lock();
        state.unsynced = state.unsynced.min(rec_min);
        state.written = state.written.max(batch);
        let behind = state.written - state.synced;
        drop(state);
        self.behind.store(behind, Ordering::Relaxed);
        behind
    }

    /// The oldest position that waits for a sync; `Lsn::MAX` if none does.
    pub fn oldest(&self) -> Lsn {
        let state = self.state.lock();
        state.unsynced.min(state.syncing)
    }

    /// The last batch up to which all are durable in place.
    pub fn synced(&self) -> u64 {
        self.state.lock().synced
    }

    /// Makes what is written in place so far durable. Ends the process if the disk fails.
    pub fn sync(&self, pool: &Pool) {
        let _turn = self.turn.lock();
        let batch = {
            let mut state = self.state.lock();
            debug_assert!(state.syncing == Lsn::MAX, "one syncs at a time");
            state.syncing = std::mem::replace(&mut state.unsynced, Lsn::MAX);
            state.written
        };
        let timed = Timed::start();
        let done = pool.files.sync_logged().map(|files| pool.io.synced(files, &timed));
        if let Err(error) = done {
            fatal(&format!("{error}; what the system dropped can't be known"));
        }
        let mut state = self.state.lock();
        state.syncing = Lsn::MAX;
        state.synced = batch;
        self.behind.store(state.written - batch, Ordering::Relaxed);
    }

    /// Has the files synced soon.
    pub fn ask(&self) {
        // SeqCst: pairs with the look in `run`, under the lot's mutex, as in the cleaner's `wake`.
        if !self.asked.swap(true, Ordering::SeqCst) {
            lot::unpark_all(self.key());
        }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.asked).addr()
    }
}

impl Pool {
    /// Makes everything durable that was written, made and removed so far, and counts it as the caller's. A failure is final:
    /// see [`RelFiles::sync_all`](crate::relfile::RelFiles::sync_all).
    pub fn sync_all(&self) -> Result<()> {
        let timed = Timed::start();
        self.files.sync_all().map(|files| self.io.synced(files, &timed))
    }
}

/// The context that syncs behind the cleaner.
pub(super) fn run(pool: &Pool) {
    let _vital = Vital;
    let _acting = usage::act_as(Role::Cleaner);
    let places = &pool.places;
    while !pool.cleaner.stopping() {
        // SeqCst: pairs with `ask`.
        let idle = || !places.asked.load(Ordering::SeqCst) && !pool.cleaner.stopping();
        lot::park_on(places.key(), lot::EXCLUSIVE, idle, Some(clock::now().after(ROUND)));
        // SeqCst: pairs with the swap in `ask`: what was written before it is synced after this.
        places.asked.store(false, Ordering::SeqCst);
        if places.oldest() != Lsn::MAX {
            places.sync(pool);
        }
    }
}

/// Wakes the context because it is to end.
pub(super) fn stop(pool: &Pool) {
    lot::unpark_all(pool.places.key());
}
