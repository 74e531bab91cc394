//! What is to be done when a transaction, or a savepoint, commits or rolls back.

use super::record::{DROPPED_MAX, INVALIDATION_BYTES_MAX};
use super::session::Txn;
use crate::error::{Error, Result, or_abort};
use base::RelId;

/// When a registered action runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// After the commit is published, before locks are released.
    Commit,
    /// Before the rollback of its level (savepoint or transaction) is visible to others.
    Abort,
}

struct Action {
    when: When,
    run: Box<dyn FnOnce() + Send>,
}

/// A transaction's actions, files and messages. A level is a set of lengths of these lists, so that
/// releasing a savepoint costs nothing and rolling it back costs what was done under it.
#[derive(Default)]
pub(super) struct Actions {
    list: Vec<Action>,
    /// Relations whose files this transaction made.
    created: Vec<RelId>,
    /// Relations whose files go if it commits.
    dropped: Vec<RelId>,
    invalidations: Vec<u8>,
}

/// Lengths of the lists when a level began.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    list: usize,
    created: usize,
    dropped: usize,
    invalidations: usize,
}

/// What a rollback took out of the lists.
#[derive(Default)]
pub(super) struct Undone {
    actions: Vec<Action>,
    /// Files to remove.
    pub(super) created: Vec<RelId>,
}

impl Undone {
    /// Runs the abort actions, latest first.
    pub(super) fn run(&mut self) {
        or_abort("rollback", || {
            while let Some(action) = self.actions.pop() {
                if action.when == When::Abort {
                    (action.run)();
                }
            }
        });
    }
}

impl Actions {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            list: self.list.len(),
            created: self.created.len(),
            dropped: self.dropped.len(),
            invalidations: self.invalidations.len(),
        }
    }

    pub(super) fn undo_since(&mut self, mark: Mark) -> Undone {
        self.dropped.truncate(mark.dropped);
        self.invalidations.truncate(mark.invalidations);
        Undone {
            actions: self.list.split_off(mark.list),
            created: self.created.split_off(mark.created),
        }
    }

    pub(super) fn created(&self) -> &[RelId] {
        &self.created
    }

    pub(super) fn dropped(&self) -> &[RelId] {
        &self.dropped
    }

    pub(super) fn invalidations(&self) -> &[u8] {
        &self.invalidations
    }

    /// Empties everything at commit; the commit actions, in order.
    pub(super) fn take_commit(&mut self) -> Vec<Box<dyn FnOnce() + Send>> {
        self.created.clear();
        self.dropped.clear();
        self.invalidations.clear();
        let all = self.list.drain(..);
        all.filter(|a| a.when == When::Commit).map(|a| a.run).collect()
    }
}

impl Txn {
    /// Has `run` called when the current level commits for good, or rolls back. It must not fail.
    pub fn on(&self, when: When, run: impl FnOnce() + Send + 'static) {
        self.actions.borrow_mut().list.push(Action { when, run: Box::new(run) });
    }

    /// This transaction makes the files of `rel`: they go if it does not commit. To be called before the
    /// creation is logged.
    pub fn file_created(&self, rel: RelId) -> Result<()> {
        let xid = self.xid()?;
        self.shared.file_created(rel, xid);
        self.actions.borrow_mut().created.push(rel);
        Ok(())
    }

    /// Has the innermost open savepoint (the transaction, without one) made the files of `rel`? Then
    /// whatever is in them goes away whenever what is being done now does: rows may be stored frozen.
    pub fn made_at_this_level(&self, rel: RelId) -> bool {
        let since = self.levels.borrow().last().map_or(0, |level| level.actions.created);
        self.actions.borrow().created.iter().skip(since).any(|made| *made == rel)
    }

    /// The files of `rel` go when this transaction commits, after the commit is durable.
    pub fn drop_at_commit(&self, rel: RelId) -> Result<()> {
        self.xid()?;
        let mut actions = self.actions.borrow_mut();
        if actions.dropped.len() >= DROPPED_MAX {
            let words = format!("a transaction can drop at most {DROPPED_MAX} relations");
            return Err(Error::LimitExceeded(words));
        }
        actions.dropped.push(rel);
        Ok(())
    }

    /// Adds bytes to the commit record that SQL's caches elsewhere will want.
    pub fn add_invalidations(&self, bytes: &[u8]) -> Result<()> {
        self.xid()?;
        let mut actions = self.actions.borrow_mut();
        if actions.invalidations.len() + bytes.len() > INVALIDATION_BYTES_MAX {
            let words = "a transaction changes too many catalog entries";
            return Err(Error::LimitExceeded(words.into()));
        }
        actions.invalidations.extend_from_slice(bytes);
        Ok(())
    }
}
