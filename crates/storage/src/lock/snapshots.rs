//! Waiting for old snapshots to go. Taking and dropping one is too frequent to give signals; who waits looks again
//! and again.

use super::LockManager;
use super::holders::Told;
use super::slot::SessionId;
use super::wait::{WaitFor, WaitLimits};
use crate::error::Result;
use base::Csn;
use base::sync::unmodelled::{Ordering, fence};

impl LockManager {
    /// Parks until no other session of database `db` has a snapshot in force that does not see all commits below
    /// `csn`. The caller has none itself.
    pub fn wait_for_snapshots(
        &self,
        me: SessionId,
        db: u32,
        csn: Csn,
        limits: &WaitLimits,
        told: &mut Told<'_>,
    ) -> Result<()> {
        let mut left = self.holders_of_snapshots(me, db, csn);
        let total = left.len();
        while !left.is_empty() {
            told(total.max(left.len()), &left);
            let count = left.len();
            let _ = self.begin_wait(me, WaitFor::Snapshots(db, csn));
            let fewer = || self.holders_of_snapshots(me, db, csn).len() != count;
            let result = self.wait_or(me, limits, Some(&fewer));
            self.end_wait(me);
            result?;
            left = self.holders_of_snapshots(me, db, csn);
        }
        told(total, &left);
        Ok(())
    }

    /// Other sessions of the database whose oldest snapshot in force does not see all commits below `csn`.
    pub(super) fn holders_of_snapshots(&self, me: SessionId, db: u32, csn: Csn) -> Vec<SessionId> {
        // Pairs with the fence of a session that takes a snapshot: one that is not seen here is newer.
        fence(Ordering::SeqCst);
        self.sessions.without_handover(|| {
            let of_db =
                self.sessions.iter().filter(|(id, slot)| *id != me && slot.database() == db);
            // Acquire: pairs with the release that raises it, after what was read under the snapshot was read.
            let old = of_db.filter(|(_, slot)| slot.txn.snapshot.load(Ordering::Acquire) < csn.0);
            old.map(|(id, _)| id).collect()
        })
    }
}
