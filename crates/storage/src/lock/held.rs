//! A session's own record of the locks it holds: how often, for how long, and by which way they were taken.
//!
//! The shared table knows only *that* a session holds a mode. Counting (a transaction may ask for the same
//! lock at every statement, an application may take an advisory lock three times) is done here, and so is
//! remembering what to give back when a savepoint is rolled back.

use super::LockManager;
use super::fast::Fast;
use super::mode::LockMode;
use super::slot::SessionId;
use super::table::{Place, Request};
use super::tag::LockTag;
use super::wait::{WaitFor, WaitLimits, WaitPolicy};
use crate::error::{Error, Result};
use base::hash::HashMap;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Who gives a lock back, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockScope {
    /// The end of the transaction, or the rollback of the savepoint it was taken under.
    Transaction,
    /// Whoever took it, explicitly; else the end of the session.
    Session,
}

#[derive(Clone, Copy, Default)]
struct Held {
    by_transaction: bool,
    by_session: u32,
    /// Noted in the session's slot; else, or once a strong locker has moved it, in the shared table.
    noted: bool,
}

/// The locks of one session.
pub struct Locks {
    manager: Arc<LockManager>,
    me: SessionId,
    held: RefCell<HashMap<(LockTag, LockMode), Held>>,
    /// What the transaction took, in order: a savepoint is a length of it.
    order: RefCell<Vec<(LockTag, LockMode)>>,
    limits: Cell<WaitLimits>,
}

impl Locks {
    /// Nothing held, for the session `me`.
    pub(crate) fn new(manager: Arc<LockManager>, me: SessionId) -> Locks {
        Locks {
            manager,
            me,
            held: RefCell::default(),
            order: RefCell::default(),
            limits: Cell::default(),
        }
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.me
    }

    /// Whether some session waits for a transaction of this one's, for all that it knows.
    #[inline]
    pub fn has_dependents(&self) -> bool {
        self.manager.has_dependents(self.me)
    }

    /// The shared side.
    pub fn manager(&self) -> &Arc<LockManager> {
        &self.manager
    }

    /// How long to wait from now on.
    pub fn set_limits(&self, limits: WaitLimits) {
        self.limits.set(limits);
    }

    /// How long to wait.
    pub fn limits(&self) -> WaitLimits {
        self.limits.get()
    }

    /// Takes a lock; tells whether this session did not have it in this mode already.
    pub fn lock(
        &self,
        tag: LockTag,
        mode: LockMode,
        scope: LockScope,
        policy: WaitPolicy,
    ) -> Result<bool> {
        let key = (tag, mode);
        let known = self.held.borrow().get(&key).copied();
        let mut held = known.unwrap_or_default();
        if known.is_none() {
            held.noted = self.manager.acquire(self.me, tag, mode, policy, &self.limits.get())?;
        }
        match scope {
            LockScope::Session => held.by_session += 1,
            LockScope::Transaction if held.by_transaction => return Ok(false),
            LockScope::Transaction => {
                held.by_transaction = true;
                self.order.borrow_mut().push(key);
            }
        }
        self.held.borrow_mut().insert(key, held);
        Ok(known.is_none())
    }

    /// Whether the session holds the lock in this mode.
    pub fn holds(&self, tag: LockTag, mode: LockMode) -> bool {
        self.held.borrow().contains_key(&(tag, mode))
    }

    /// Gives one session-scoped hold back; false if there is none.
    pub fn unlock(&self, tag: LockTag, mode: LockMode) -> bool {
        let key = (tag, mode);
        let mut all = self.held.borrow_mut();
        let Some(held) = all.get_mut(&key).filter(|h| h.by_session > 0) else {
            return false;
        };
        held.by_session -= 1;
        if held.by_session == 0 && !held.by_transaction {
            let noted = held.noted;
            all.remove(&key);
            drop(all);
            self.manager.release(self.me, tag, mode, noted);
        }
        true
    }

    /// Gives every session-scoped hold back that `which` accepts.
    pub fn unlock_all(&self, which: impl Fn(&LockTag) -> bool) {
        let mut free = Vec::new();
        self.held.borrow_mut().retain(|(tag, mode), held| {
            if held.by_session == 0 || !which(tag) {
                return true;
            }
            held.by_session = 0;
            if !held.by_transaction {
                free.push((*tag, *mode, held.noted));
            }
            held.by_transaction
        });
        // In an order that does not depend on the map's.
        free.sort_unstable_by_key(|(tag, mode, _)| (*tag, *mode));
        free.into_iter()
            .for_each(|(tag, mode, noted)| self.manager.release(self.me, tag, mode, noted));
    }

    /// A mark for [`Locks::release_since`]: what the transaction has taken so far.
    pub(crate) fn mark(&self) -> usize {
        self.order.borrow().len()
    }

    /// Gives back what the transaction took since the mark. Latest first.
    pub(crate) fn release_since(&self, mark: usize) {
        loop {
            let key = {
                let mut order = self.order.borrow_mut();
                if order.len() <= mark {
                    return;
                }
                order.pop().expect("longer than the mark")
            };
            let mut all = self.held.borrow_mut();
            let held = all.get_mut(&key).expect("what was taken is held");
            held.by_transaction = false;
            if held.by_session == 0 {
                let noted = held.noted;
                all.remove(&key);
                drop(all);
                self.manager.release(self.me, key.0, key.1, noted);
            }
        }
    }

    /// Number of locks held, for limits and for tests.
    pub fn len(&self) -> usize {
        self.held.borrow().len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.borrow().is_empty()
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        self.release_since(0);
        self.unlock_all(|_| true);
    }
}

impl LockManager {
    /// Takes a lock that the session does not hold in this mode; whether it is noted in the slot.
    fn acquire(
        &self,
        me: SessionId,
        tag: LockTag,
        mode: LockMode,
        policy: WaitPolicy,
        limits: &WaitLimits,
    ) -> Result<bool> {
        let slot = self.sessions.slot(me);
        match tag {
            LockTag::Relation { db, rel } if mode.is_weak() && db == slot.database() => {
                match slot.fast.take(&self.strong, db, rel, mode) {
                    Fast::Noted => return Ok(true),
                    Fast::Moved if self.is_held(me, tag, mode) => return Ok(false),
                    Fast::Moved | Fast::Unavailable => {}
                }
            }
            LockTag::Relation { db, rel } if mode.is_strong() => {
                self.strong.raise(db, rel);
                self.move_notes(db, rel);
                let result = self.acquire_shared(me, tag, mode, policy, limits);
                if result.is_err() {
                    self.strong.lower(db, rel);
                }
                return result.map(|()| false);
            }
            LockTag::Tuple { .. } | LockTag::Transaction(_) => {
                unreachable!("rows and transactions are not locked by the table")
            }
            _ => {}
        }
        self.acquire_shared(me, tag, mode, policy, limits).map(|()| false)
    }

    /// Whether the shared table has the hold.
    pub(super) fn is_held(&self, me: SessionId, tag: LockTag, mode: LockMode) -> bool {
        let shard = self.table.shard(&tag);
        shard.get(&tag).is_some_and(|entry| entry.held_by(me).has(mode))
    }

    /// Moves every session's note on a relation to the shared table, but for what is in the way of a hold there: whoever has
    /// that has seen no note, so its writer has yet to look at the counter, and asks in the table then.
    pub(super) fn move_notes(&self, db: u32, rel: u32) {
        let tag = LockTag::Relation { db, rel };
        for (session, slot) in self.sessions.iter().filter(|(_, slot)| slot.database() == db) {
            // Latched for each session anew: a session that releases finds its note either in its slot
            // or, once it gets this latch, in the table.
            let mut shard = self.table.shard(&tag);
            let modes = slot.fast.take_out(rel);
            if modes.is_empty() {
                continue;
            }
            let entry = shard.entry(tag).or_default();
            for mode in modes.iter() {
                if !mode.conflicts().meets(entry.held_by_others(session)) {
                    entry.grant(session, mode);
                }
            }
            if entry.is_empty() {
                shard.remove(&tag);
            }
        }
    }

    fn acquire_shared(
        &self,
        me: SessionId,
        tag: LockTag,
        mode: LockMode,
        policy: WaitPolicy,
        limits: &WaitLimits,
    ) -> Result<()> {
        let mut shard = self.table.shard(&tag);
        let entry = shard.entry(tag).or_default();
        let at = match entry.place(me, mode) {
            Place::Granted => {
                entry.grant(me, mode);
                return Ok(());
            }
            Place::Waits(at) => at,
        };
        if policy == WaitPolicy::Never {
            return Err(Error::LockNotAvailable);
        }
        let wait = self.begin_wait(me, WaitFor::Lock(tag, mode));
        entry.queue.insert(at, Request { session: me, wait, mode });
        drop(shard);
        let result = self.wait(me, limits);
        self.end_wait(me);
        let Err(error) = result else {
            return Ok(());
        };
        let mut shard = self.table.shard(&tag);
        let entry = shard.get_mut(&tag).expect("a request or a hold keeps the entry");
        if entry.withdraw(me, wait) {
            // Who stood behind may be able to go now.
            let served = entry.serve();
            if entry.is_empty() {
                shard.remove(&tag);
            }
            drop(shard);
            served.iter().for_each(|r| self.signal(r.session, r.wait));
        } else {
            // Granted at the same moment.
            drop(shard);
            self.release_shared(me, tag, mode);
        }
        Err(error)
    }

    /// Gives a hold back.
    fn release(&self, me: SessionId, tag: LockTag, mode: LockMode, noted: bool) {
        if let LockTag::Relation { db, rel } = tag {
            if noted && self.sessions.slot(me).fast.remove(rel, mode) {
                return;
            }
            self.release_shared(me, tag, mode);
            // Last: whoever finds no strong lock notes a weak one without a look at the table.
            if mode.is_strong() {
                self.strong.lower(db, rel);
            }
            return;
        }
        self.release_shared(me, tag, mode);
    }

    fn release_shared(&self, me: SessionId, tag: LockTag, mode: LockMode) {
        let mut shard = self.table.shard(&tag);
        let entry = shard.get_mut(&tag).expect("a hold keeps the entry");
        entry.revoke(me, mode);
        let told = entry.crossed_out(me);
        let served = entry.serve();
        if entry.is_empty() {
            shard.remove(&tag);
        }
        drop(shard);
        served.iter().for_each(|r| self.signal(r.session, r.wait));
        told.iter().for_each(|(session, wait)| self.signal(*session, *wait));
    }
}
