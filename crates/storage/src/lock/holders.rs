//! Waiting for those who hold a lock now to let go of it, without standing in anybody's way: whoever comes later
//! gets the lock at once, and is not waited for. What builds or drops an index beside readers and writers does
//! this before each step that those must not see half of.
//!
//! The waiter enters the sessions that it waits for into the lock's entry; who gives up the last of the modes in
//! question crosses itself out and wakes the waiter.
//!
//! *Nobody who matters is overlooked.* The strong counter of the relation is up and notes have been moved before
//! the holders are listed, as for a strong lock (`fast.rs`). Who is not listed got the lock through the entry's
//! latch, or past the raised counter, after that: it sees all that the waiter had published before.

use super::LockManager;
use super::mode::{LockMode, ModeSet};
use super::slot::SessionId;
use super::table::Entry;
use super::tag::LockTag;
use super::wait::{WaitFor, WaitLimits};
use crate::error::Result;

/// Somebody who waits for holders.
pub(super) struct Watcher {
    session: SessionId,
    /// Which of its waits; 0 between two of them.
    wait: u64,
    /// The modes that are waited out.
    modes: ModeSet,
    /// Who still holds one of them since before.
    holders: Vec<SessionId>,
}

/// Is told how many holders there were, and who of them is left.
pub type Told<'t> = dyn FnMut(usize, &[SessionId]) + 't;

impl LockManager {
    /// Parks until every other session that holds a relation in a mode that conflicts with `mode` has given that
    /// up. Takes no lock.
    pub fn wait_for_holders(
        &self,
        me: SessionId,
        tag: LockTag,
        mode: LockMode,
        limits: &WaitLimits,
        told: &mut Told<'_>,
    ) -> Result<()> {
        let LockTag::Relation { db, rel } = tag else {
            unreachable!("holders of relations are waited for");
        };
        self.strong.raise(db, rel);
        self.move_notes(db, rel);
        let result = self.watch(me, tag, mode, limits, told);
        self.strong.lower(db, rel);
        result
    }

    fn watch(
        &self,
        me: SessionId,
        tag: LockTag,
        mode: LockMode,
        limits: &WaitLimits,
        told: &mut Told<'_>,
    ) -> Result<()> {
        let mut left = {
            let mut shard = self.table.shard(&tag);
            let Some(entry) = shard.get_mut(&tag) else { return Ok(()) };
            let holders = entry.blocking_holders(me, mode);
            if holders.is_empty() {
                return Ok(());
            }
            let modes = mode.conflicts();
            let watcher = Watcher { session: me, wait: 0, modes, holders: holders.clone() };
            entry.watchers.push(watcher);
            holders
        };
        let total = left.len();
        let mut result = Ok(());
        while result.is_ok() && !left.is_empty() {
            told(total, &left);
            let wait = self.begin_wait(me, WaitFor::Holders(tag, mode));
            let unchanged = self.with_watcher(me, &tag, |watcher| {
                watcher.wait = wait;
                watcher.holders.len() == left.len()
            });
            if unchanged {
                result = self.wait(me, limits);
            }
            self.end_wait(me);
            left = self.with_watcher(me, &tag, |watcher| {
                watcher.wait = 0;
                watcher.holders.clone()
            });
        }
        told(total, &left);
        let mut shard = self.table.shard(&tag);
        let entry = shard.get_mut(&tag).expect("a watcher keeps the entry");
        entry.watchers.retain(|watcher| watcher.session != me);
        if entry.is_empty() {
            shard.remove(&tag);
        }
        result
    }

    fn with_watcher<R>(
        &self,
        me: SessionId,
        tag: &LockTag,
        look: impl FnOnce(&mut Watcher) -> R,
    ) -> R {
        let mut shard = self.table.shard(tag);
        let entry = shard.get_mut(tag).expect("a watcher keeps the entry");
        let watcher = entry.watchers.iter_mut().find(|watcher| watcher.session == me);
        look(watcher.expect("only the session itself takes its watcher away"))
    }
}

impl Entry {
    /// A session has given modes up: who waited for that, and in which wait.
    pub(super) fn crossed_out(&mut self, session: SessionId) -> Vec<(SessionId, u64)> {
        if self.watchers.is_empty() {
            return Vec::new();
        }
        let held = self.held_by(session);
        let mut woken = Vec::new();
        for watcher in &mut self.watchers {
            let before = watcher.holders.len();
            if !held.meets(watcher.modes) {
                watcher.holders.retain(|holder| *holder != session);
            }
            if watcher.holders.len() < before {
                woken.push((watcher.session, watcher.wait));
            }
        }
        woken
    }

    /// Whom a session waits out.
    pub(super) fn watched_by(&self, session: SessionId) -> Vec<SessionId> {
        let watcher = self.watchers.iter().find(|watcher| watcher.session == session);
        watcher.map_or(Vec::new(), |watcher| watcher.holders.clone())
    }
}
