//! What a running transaction has to put right if it rolls back, left with it by others or by itself.
//!
//! An update that leaves a row's key alone gets along with KEY SHARE locks. Its id takes the place of theirs in
//! the old version's xmax, and they go on to the new version. If the update is rolled back, they must be
//! found at the old version again, *before* anybody can take the row for free. So whoever has a lock that
//! depends on an update leaves a duty with the updating transaction; duties are done at the beginning of a
//! rollback, latest first, and forgotten at a commit. The same serves a savepoint that takes over a lock of
//! the transaction around it.
//!
//! *No duty is overlooked.* A rollback closes the list first. Who leaves a duty learns whether the list is
//! closed; who has changed a row relying on it asks once more, after the change. If it was open then, the
//! duty, done later, finds the change.

use super::LockManager;
use super::rows::RowKey;
use super::slot::SessionId;
use crate::error::Result;
use crate::txlog::Outcome;
use base::Xid;
use base::sync::unmodelled::Ordering;
use std::collections::BTreeSet;

/// A duty. It retries until it succeeds, or meets a damaged page, whose rows nobody can take: a rollback can't fail.
/// It is told all ids that are rolled back with its own, ascending.
pub type Duty = Box<dyn FnOnce(&[Xid]) + Send>;

struct Left {
    xid: Xid,
    duty: Duty,
}

/// A session's duties.
#[derive(Default)]
pub(super) struct Duties {
    list: Vec<Left>,
    /// For which rows of which id: transactions change many rows that are locked.
    rows: BTreeSet<(Xid, RowKey)>,
    /// Ids that are being rolled back, ascending; of a whole transaction its top-level id comes first.
    closed: Vec<Xid>,
}

impl LockManager {
    /// Leaves a duty with the transaction or subtransaction `xid`, which runs in `runner`, for a row: one for
    /// each row is enough. False if it is being rolled back already.
    pub fn leave_duty(&self, runner: SessionId, xid: Xid, key: RowKey, duty: Duty) -> bool {
        let line = &self.sessions.slot(runner).wait;
        let mut duties = line.duties.lock().expect("no code panics under it");
        if duties.closed.binary_search(&xid).is_ok() {
            return false;
        }
        if duties.rows.insert((xid, key)) {
            duties.list.push(Left { xid, duty });
            line.has_duties.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Whether a duty left with `xid`, which ran in `runner` then, will see what was changed before this
    /// call: it has not begun to roll back, and has not rolled back either.
    pub fn takes_duties(&self, runner: SessionId, xid: Xid) -> Result<bool> {
        let open = {
            let line = &self.sessions.slot(runner).wait;
            let duties = line.duties.lock().expect("no code panics under it");
            duties.closed.binary_search(&xid).is_err()
        };
        // In this order: the list opens again only after the rollback is stored.
        Ok(open && self.txlog.outcome(xid)? != Outcome::Aborted)
    }

    /// Begins the rollback of these ids (ascending): does their duties.
    pub(crate) fn do_duties(&self, me: SessionId, xids: &[Xid]) {
        let line = &self.sessions.slot(me).wait;
        let due: Vec<Left> = {
            let mut duties = line.duties.lock().expect("no code panics under it");
            duties.closed = xids.to_vec();
            let all = std::mem::take(&mut duties.list);
            let (due, rest) = all.into_iter().partition(|d| xids.binary_search(&d.xid).is_ok());
            duties.list = rest;
            duties.rows.retain(|(xid, _)| xids.binary_search(xid).is_err());
            due
        };
        due.into_iter().rev().for_each(|left| (left.duty)(xids));
    }

    /// The rollback is visible: the list is open again.
    pub(crate) fn reopen_duties(&self, me: SessionId) {
        let line = &self.sessions.slot(me).wait;
        line.duties.lock().expect("no code panics under it").closed.clear();
    }

    /// The transaction has ended: nothing is left to do.
    #[inline]
    pub(crate) fn forget_duties(&self, me: SessionId) {
        let line = &self.sessions.slot(me).wait;
        // Relaxed: what is left with a transaction that has ended is never done, sooner or later forgotten.
        if line.has_duties.load(Ordering::Relaxed) {
            let mut duties = line.duties.lock().expect("no code panics under it");
            duties.list.clear();
            duties.rows.clear();
            line.has_duties.store(false, Ordering::Relaxed);
        }
    }
}
