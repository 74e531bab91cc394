//! Savepoints, to any depth, each at the cost of pushing or popping one entry.
//!
//! A level remembers how long the transaction's lists were when it began: subtransaction ids, locks,
//! actions. Releasing it forgets that; rolling it back cuts the lists. It gets an id of its own only when
//! something is written under it. An open level takes 56 bytes here, and 72 in the session that names it besides the
//! name (a block of its own, 16 bytes at least); one that wrote, 16 bytes more until the transaction ends: its id here,
//! and its entry in the window. Lists grow by doubling: up to twice as much of each is taken.

use super::actions::Mark;
use super::session::{Txn, TxnState};
use crate::txlog::Entry;
use base::{Lsn, Xid};

/// A savepoint, by its depth from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SubLevel(pub u32);

/// An open savepoint.
#[derive(Clone, Copy)]
pub(super) struct Level {
    /// Its id, or invalid as long as nothing was written under it.
    pub(super) xid: Xid,
    subs: usize,
    locks: usize,
    pub(super) actions: Mark,
}

const _: () = assert!(size_of::<Level>() == 56, "as the head of this file says");

impl Txn {
    /// Opens a savepoint.
    pub fn savepoint(&self) -> SubLevel {
        assert_eq!(self.state.get(), TxnState::Active, "savepoints are set in a transaction");
        let level = Level {
            xid: Xid::INVALID,
            subs: self.subs.borrow().len(),
            locks: self.locks.mark(),
            actions: self.actions.borrow().mark(),
        };
        let mut levels = self.levels.borrow_mut();
        levels.push(level);
        self.current.set(Xid::INVALID);
        SubLevel(levels.len() as u32)
    }

    /// The innermost open savepoint.
    pub fn level(&self) -> Option<SubLevel> {
        let depth = self.levels.borrow().len() as u32;
        (depth > 0).then_some(SubLevel(depth))
    }

    /// Closes a savepoint and those under it, keeping what was done.
    pub fn release(&self, level: SubLevel) {
        let mut levels = self.levels.borrow_mut();
        assert!(self.is_open(level, levels.len()), "a savepoint is released while it is open");
        while levels.len() as u32 >= level.0 {
            let released = levels.pop().expect("counted just now");
            // What stands or falls with the level around it can lend that level its id.
            if let Some(around) = levels.last_mut()
                && around.xid == Xid::INVALID
            {
                around.xid = released.xid;
            }
        }
        self.current.set(match levels.last() {
            Some(level) => level.xid,
            None => self.top_xid().unwrap_or(Xid::INVALID),
        });
    }

    fn is_open(&self, level: SubLevel, depth: usize) -> bool {
        level.0 >= 1 && level.0 as usize <= depth
    }

    /// Undoes what was done since a savepoint, which stays open, and closes those under it.
    pub fn rollback_to(&self, level: SubLevel) {
        let rolled_back = {
            let mut levels = self.levels.borrow_mut();
            assert!(self.is_open(level, levels.len()), "one rolls back to an open savepoint");
            levels.truncate(level.0 as usize);
            let last = levels.last_mut().expect("levels count from 1");
            let before = *last;
            last.xid = Xid::INVALID;
            before
        };
        // First what must be done while others still see the level's rows as locked.
        let mut undone = self.actions.borrow_mut().undo_since(rolled_back.actions);
        undone.run();
        let ended = self.subs.borrow()[rolled_back.subs..].to_vec();
        if !ended.is_empty() {
            self.shared.locks().do_duties(self.session, &ended);
        }
        self.subs.borrow_mut().truncate(rolled_back.subs);
        self.current.set(Xid::INVALID);
        for xid in &ended {
            self.shared.txlog().window().entry(*xid).store(Entry::ABORTED);
        }
        self.locks.release_since(rolled_back.locks);
        if !ended.is_empty() {
            self.shared.locks().reopen_duties(self.session);
            self.shared.remove_files(undone.created, Lsn::ZERO, None);
            let of_level = |xid| ended.binary_search(&xid).is_ok();
            self.shared.locks().wake_dependents(self.session, of_level);
        }
    }
}
