//! The shared lock table: who holds what in which mode, and who waits, first come first served.
//!
//! Sharded by tag; a shard is a map under one latch on its own cache lines. A request waits if it conflicts
//! with a mode that another session holds, or with a request that came before it. One exception, without
//! which a session could never strengthen a lock that others wait for: who already holds the lock in a mode
//! that a waiter conflicts with goes in front of that waiter.

use super::holders::Watcher;
use super::mode::{LockMode, MODES, ModeSet};
use super::slot::SessionId;
use super::tag::LockTag;
use base::hash::{HashMap, hash_of};
use base::latch::{Latch, LatchGuard};
use base::pad::{Padded, is_one_line};
use base::rank::Rank;
use std::collections::VecDeque;

const SHARDS: usize = 64;

/// The locks on one tag.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) holders: Vec<Holder>,
    /// How many sessions hold each mode.
    counts: [u32; MODES],
    pub(super) queue: VecDeque<Request>,
    /// Who waits for holders to go, without wanting the lock.
    pub(super) watchers: Vec<Watcher>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) session: SessionId,
    pub(super) modes: ModeSet,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) session: SessionId,
    /// Which of its waits.
    pub(super) wait: u64,
    pub(super) mode: LockMode,
}

/// A shard's locks.
pub(super) type Shard = HashMap<LockTag, Entry>;

pub(super) struct LockTable {
    shards: Box<[Padded<Latch<Shard>>]>,
}

const _: () = assert!(is_one_line::<Latch<Shard>>());

impl Default for LockTable {
    fn default() -> LockTable {
        let shard = || Padded(Latch::new(Rank::LockShard, Shard::default()));
        LockTable { shards: (0..SHARDS).map(|_| shard()).collect() }
    }
}

impl LockTable {
    pub(super) fn shard(&self, tag: &LockTag) -> LatchGuard<'_, Shard> {
        self.shards[hash_of(tag) as usize % SHARDS].lock()
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = LatchGuard<'_, Shard>> {
        self.shards.iter().map(|s| s.lock())
    }
}

/// Whether a request can be granted at once, and if not, where in the queue it belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Granted,
    Waits(usize),
}

impl Entry {
    pub(super) fn held_by(&self, session: SessionId) -> ModeSet {
        self.holders.iter().find(|h| h.session == session).map_or(ModeSet::EMPTY, |h| h.modes)
    }

    /// Modes that sessions other than this one hold.
    pub(super) fn held_by_others(&self, session: SessionId) -> ModeSet {
        let mine = self.held_by(session);
        let mut others = ModeSet::EMPTY;
        for mode in super::ALL_MODES {
            if self.counts[mode as usize] > u32::from(mine.has(mode)) {
                others = others.with(mode);
            }
        }
        others
    }

    /// What becomes of a request.
    pub(super) fn place(&self, session: SessionId, mode: LockMode) -> Place {
        let mine = self.held_by(session);
        let free = !mode.conflicts().meets(self.held_by_others(session));
        let mut ahead = ModeSet::EMPTY;
        for (at, waiter) in self.queue.iter().enumerate() {
            if waiter.mode.conflicts().meets(mine) {
                // It can't go before this session ends; so this session need not queue behind it.
                let granted = free && !mode.conflicts().meets(ahead);
                return if granted { Place::Granted } else { Place::Waits(at) };
            }
            ahead = ahead.with(waiter.mode);
        }
        let granted = free && !mode.conflicts().meets(ahead);
        if granted { Place::Granted } else { Place::Waits(self.queue.len()) }
    }

    /// Adds a hold. Invariant L1: modes of different sessions never conflict.
    pub(super) fn grant(&mut self, session: SessionId, mode: LockMode) {
        debug_assert!(!mode.conflicts().meets(self.held_by_others(session)), "invariant L1");
        let holder = match self.holders.iter_mut().find(|h| h.session == session) {
            Some(holder) => holder,
            None => {
                self.holders.push(Holder { session, modes: ModeSet::EMPTY });
                self.holders.last_mut().expect("just pushed")
            }
        };
        assert!(!holder.modes.has(mode), "a session holds a mode once; it counts for itself");
        holder.modes = holder.modes.with(mode);
        self.counts[mode as usize] += 1;
    }

    /// Takes a hold away.
    pub(super) fn revoke(&mut self, session: SessionId, mode: LockMode) {
        let at = self.holders.iter().position(|h| h.session == session);
        let at = at.expect("who releases a lock holds it");
        let holder = &mut self.holders[at];
        assert!(holder.modes.has(mode), "who releases a mode holds it");
        holder.modes = holder.modes.without(mode);
        if holder.modes.is_empty() {
            self.holders.swap_remove(at);
        }
        self.counts[mode as usize] -= 1;
    }

    /// Takes a request out of the queue; false if it is not there.
    pub(super) fn withdraw(&mut self, session: SessionId, wait: u64) -> bool {
        let at = self.queue.iter().position(|r| r.session == session && r.wait == wait);
        at.map(|at| self.queue.remove(at)).is_some()
    }

    /// Grants every request that nothing stands against any more, in order; who got theirs.
    pub(super) fn serve(&mut self) -> Vec<Request> {
        let mut served = Vec::new();
        let mut ahead = ModeSet::EMPTY;
        let mut at = 0;
        while let Some(request) = self.queue.get(at).copied() {
            let others = self.held_by_others(request.session).union(ahead);
            if request.mode.conflicts().meets(others) {
                ahead = ahead.with(request.mode);
                at += 1;
            } else {
                self.queue.remove(at);
                self.grant(request.session, request.mode);
                served.push(request);
            }
        }
        served
    }

    pub(super) fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty() && self.watchers.is_empty()
    }

    /// Whether a session's request is still to be granted.
    pub(super) fn has_request(&self, session: SessionId) -> bool {
        self.queue.iter().any(|r| r.session == session)
    }

    /// Sessions that keep a request of `session` for `mode` from being granted: conflicting holders, and
    /// conflicting requests before it.
    pub(super) fn blockers(&self, session: SessionId, mode: LockMode) -> Vec<SessionId> {
        let wanted = mode.conflicts();
        let mut blockers = self.blocking_holders(session, mode);
        for request in self.queue.iter().take_while(|r| r.session != session) {
            if wanted.has(request.mode) && !blockers.contains(&request.session) {
                blockers.push(request.session);
            }
        }
        blockers
    }

    /// Other sessions that hold a mode which conflicts with `mode`.
    pub(super) fn blocking_holders(&self, session: SessionId, mode: LockMode) -> Vec<SessionId> {
        let holders = self.holders.iter().filter(|h| h.session != session);
        holders.filter(|h| mode.conflicts().meets(h.modes)).map(|h| h.session).collect()
    }
}
