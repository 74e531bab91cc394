//! Snapshots: one number, and what goes with it.

use super::session::{Isolation, Txn};
use crate::error::Result;
use crate::lock::NONE;
use crate::txlog::Fate;
use base::sync::unmodelled::{Ordering, fence};
use base::{Csn, Xid, interrupt, park};
use std::fmt;

/// So many ids are looked at before others get a turn.
const LOOKS_AT_A_TIME: u64 = 1024;

/// What a statement sees: commits with a CSN below `csn`, and the transaction's own commands before `cid`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Sees commits below.
    pub csn: Csn,
    /// Transactions below had all ended, and their commits all lie below `csn`: saves looking them up.
    pub bound: Xid,
    /// Sees the transaction's own rows of commands below.
    pub cid: u32,
}

impl Snapshot {
    /// Sees everything committed at the time of each check, and everything of the transaction itself.
    pub const NOW: Snapshot = Snapshot { csn: Csn(u64::MAX), bound: Xid(u64::MAX), cid: u32::MAX };
}

/// A snapshot in terms of transaction ids, as `pg_current_snapshot` shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotXids {
    /// Every transaction below had ended.
    pub xmin: Xid,
    /// No transaction from here on had ended.
    pub xmax: Xid,
    /// Those between that had not.
    pub running: Vec<Xid>,
}

/// PostgreSQL's text form: `xmin:xmax:running,…`.
impl fmt::Display for SnapshotXids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.xmin, self.xmax)?;
        for (i, xid) in self.running.iter().enumerate() {
            write!(f, "{}{xid}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// A snapshot that stays in force until it is given back ([`Txn::drop_hold`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "what it sees stays until it is dropped"]
pub struct Hold(pub(super) u64);

/// The snapshots that a session has in force, oldest first.
#[derive(Default)]
pub(super) struct Holds {
    list: Vec<(u64, Snapshot)>,
    next: u64,
}

impl Txn {
    /// The snapshot for a statement: a new one under READ COMMITTED, the transaction's under the stricter
    /// levels. It is in force until [`Txn::release_statement`] or the end of the transaction.
    #[inline]
    pub fn statement_snapshot(&self) -> Snapshot {
        if let Some(kept) = self.kept_snapshot.get() {
            return Snapshot { cid: self.current_cid(), ..kept };
        }
        let snapshot = self.take_snapshot();
        self.statement_open.set(true);
        if self.isolation.get() != Isolation::ReadCommitted {
            self.kept_snapshot.set(Some(snapshot));
        }
        snapshot
    }

    /// A snapshot of this moment, whatever the isolation level: for catalog look-ups. Also in force until
    /// the statement is released.
    pub fn fresh_snapshot(&self) -> Snapshot {
        let snapshot = self.take_snapshot();
        self.statement_open.set(true);
        snapshot
    }

    /// The one acquire load, and the publication in the slot that keeps the horizon back.
    #[inline]
    fn take_snapshot(&self) -> Snapshot {
        let horizon = self.shared.horizon_ref();
        let line = &self.slot().txn;
        // Relaxed: the session's own store.
        let in_force = line.snapshot.load(Ordering::Relaxed);
        if in_force == NONE {
            line.bound.store(horizon.oldest_running().0, Ordering::Relaxed);
            line.snapshot.store(self.shared.wal().published().0, Ordering::Relaxed);
            // Pairs with the fence in `Horizon::scan`: see there. What is read below is used, what was
            // stored above is not newer.
            fence(Ordering::SeqCst);
        }
        // An older snapshot in force covers the new one. First the bound, then the number.
        let bound = horizon.oldest_running();
        let csn = self.shared.wal().published();
        Snapshot { csn, bound, cid: self.current_cid() }
    }

    /// What a snapshot means in terms of ids. Looks at every transaction since the oldest that ran then.
    pub fn snapshot_xids(&self, snapshot: &Snapshot) -> Result<SnapshotXids> {
        let next = self.shared.next_xid();
        let mut xids = SnapshotXids { xmin: next, xmax: snapshot.bound, running: Vec::new() };
        for xid in (snapshot.bound.0..next.0).map(Xid) {
            if xid.0.is_multiple_of(LOOKS_AT_A_TIME) {
                interrupt::check()?;
                park::checkpoint();
            }
            // A subtransaction goes with its top, and an id whose session has not said so yet has not ended.
            match self.shared.txlog().window().get(xid)?.fate() {
                Fate::Running(_) | Fate::Unknown => xids.running.push(xid),
                Fate::Committed(csn) if csn >= snapshot.csn => xids.running.push(xid),
                Fate::Committed(_) | Fate::Aborted => xids.xmax = Xid(xid.0 + 1),
                Fate::SubOf(_) => {}
            }
        }
        xids.running.retain(|xid| *xid < xids.xmax);
        xids.xmin = xids.running.first().copied().unwrap_or(xids.xmax);
        Ok(xids)
    }

    /// Whether a snapshot of this session is in force.
    pub fn has_snapshot(&self) -> bool {
        // Relaxed: the session's own store.
        self.slot().txn.snapshot.load(Ordering::Relaxed) != NONE
    }

    /// Whether the transaction has taken the snapshot that is for all its statements.
    pub fn keeps_snapshot(&self) -> bool {
        self.kept_snapshot.get().is_some()
    }

    /// Does something, and lets go of the snapshots that it took if none was in force before: for look-ups whose
    /// outcome does not depend on what they have read staying in place.
    pub fn briefly<R>(&self, look: impl FnOnce() -> R) -> R {
        let had = self.has_snapshot();
        let found = look();
        if !had {
            self.release_statement();
        }
        found
    }

    /// The statement has ended: its snapshot is not needed any more.
    #[inline]
    pub fn release_statement(&self) {
        self.statement_open.set(false);
        if self.kept_snapshot.get().is_none() {
            self.publish_oldest();
        }
    }

    /// Keeps a snapshot in force beyond its statement: for cursors. Must be called while it is in force.
    pub fn hold(&self, snapshot: Snapshot) -> Hold {
        let mut holds = self.holds.borrow_mut();
        holds.next += 1;
        let id = holds.next;
        holds.list.push((id, snapshot));
        holds.list.sort_by_key(|(_, s)| s.csn);
        Hold(id)
    }

    /// Gives a held snapshot back.
    pub fn drop_hold(&self, hold: Hold) {
        self.holds.borrow_mut().list.retain(|(id, _)| *id != hold.0);
        if !self.statement_open.get() && self.kept_snapshot.get().is_none() {
            self.publish_oldest();
        }
    }

    /// Everything is given back: the transaction has ended.
    pub(super) fn drop_snapshots(&self) {
        if self.exports.take().is_some() {
            self.shared.exports().withdraw(self.session);
        }
        self.kept_snapshot.set(None);
        self.statement_open.set(false);
        self.holds.borrow_mut().list.clear();
        self.publish_oldest();
    }

    /// No statement is running: the slot shows the oldest snapshot held, or none.
    fn publish_oldest(&self) {
        let line = &self.slot().txn;
        let oldest = self.holds.borrow().list.first().map(|(_, s)| *s);
        let (csn, bound) = oldest.map_or((NONE, NONE), |s| (s.csn.0, s.bound.0));
        // Release: what was read under the snapshot was read before others may remove it. Raising is
        // always safe.
        line.snapshot.store(csn, Ordering::Release);
        line.bound.store(bound, Ordering::Release);
    }
}
