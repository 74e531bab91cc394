//! How a transaction ends.
//!
//! Commit, in this order: claim log space; insert the commit record, whose place is the CSN; store the CSN
//! in the window; the published number passes it; commit actions; locks; whoever waits for the transaction.
//! From the record on nothing can fail or be interrupted, and nothing waits for the disk: durability is the
//! gate's business ([`Txn::must_be_durable`]).
//!
//! Rejected: storing the CSN before the number is known to be the record's place (a counter of its own)
//! costs a second shared line per commit and a rule that ties the two orders together.

use super::record::{CommitData, put_subxids};
use super::session::{Txn, TxnState};
use crate::error::Result;
use crate::lock::NONE;
use crate::txlog::{Entry, EntryRef};
use crate::wal::{Kind, Record, record_bound};
use base::clock;
use base::{Csn, Lsn, Xid};
use std::sync::atomic::Ordering;

/// A commit with so few subtransactions stores the CSN for each, which saves readers the hop.
const FEW_SUBS: usize = 16;

/// What a commit brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitInfo {
    /// The transaction's id and commit number, if it wrote.
    pub committed: Option<(Xid, Csn)>,
    /// No reply that tells of the commit may leave before the log is durable up to here.
    pub must_be_durable: Lsn,
}

impl Txn {
    /// Commits. An error (there is no room for log) leaves the transaction as it was: it must be aborted.
    pub fn commit(&self) -> Result<CommitInfo> {
        assert_eq!(self.state.get(), TxnState::Active, "one commits a transaction");
        if !self.levels.borrow().is_empty() {
            self.release(super::SubLevel(1));
        }
        let committed = match self.top_xid() {
            Some(top) => Some((top, self.commit_written(top)?)),
            None => None,
        };
        self.finish_commit();
        Ok(CommitInfo { committed, must_be_durable: self.must_be_durable() })
    }

    fn commit_written(&self, top: Xid) -> Result<Csn> {
        let subs = self.subs.borrow();
        let (data, dropped) = {
            let actions = self.actions.borrow();
            let data = CommitData {
                time_micros: clock::wall_micros(),
                subxids: subs.clone(),
                dropped: actions.dropped().to_vec(),
                invalidations: actions.invalidations().to_vec(),
            };
            (data, actions.dropped().to_vec())
        };
        let (bytes, told) = data.encode(top);
        let wal = self.shared.wal();
        // Redo must see all of a commit's records or none, and remove the files that may be left.
        let hold = (told < subs.len() || !dropped.is_empty()).then(|| wal.hold_redo());
        let at = self.log_remaining(top, &subs[told..]).and_then(|()| {
            let mut claim = wal.claim(record_bound(1, 0, bytes.len()))?;
            let entry = wal_entries(self, top, &subs);
            let record = Record::new(Kind::COMMIT, top).data(&bytes);
            // Invariant T1: subtransactions first, so that no page of theirs is given away half stored.
            Ok(wal.insert_commit(&mut claim, &record, |csn| {
                entry.iter().for_each(|e| e.store(Entry::committed(csn)));
            }))
        })?;
        // Release: pairs with the acquire in the horizon scan; published before.
        self.slot().txn.xid.store(NONE, Ordering::Release);
        if self.synchronous.get() {
            self.observe(at.end);
        } else {
            wal.request_flush_soon();
        }
        self.shared.files_settled(self.actions.borrow().created());
        self.shared.remove_files(dropped, at.end, hold);
        Ok(Csn(at.start.0))
    }

    /// Logs the subtransactions that the commit record has no room for.
    fn log_remaining(&self, top: Xid, mut subs: &[Xid]) -> Result<()> {
        while !subs.is_empty() {
            let mut bytes = Vec::new();
            let told = put_subxids(&mut bytes, top, subs);
            subs = &subs[told..];
            let mut claim = self.shared.wal().claim(record_bound(1, 0, bytes.len()))?;
            let record = Record::new(Kind::SUBXIDS, top).data(&bytes);
            self.shared.wal().insert(&mut claim, &record);
        }
        Ok(())
    }

    fn finish_commit(&self) {
        self.drop_snapshots();
        let actions = self.actions.borrow_mut().take_commit();
        actions.into_iter().for_each(|run| run());
        self.finish();
    }

    /// Rolls back. Never fails; does nothing outside a transaction.
    pub fn abort(&self) {
        if self.state.get() == TxnState::Idle {
            return;
        }
        self.levels.borrow_mut().clear();
        let mut undone = self.actions.borrow_mut().undo_since(Default::default());
        undone.run();
        if let Some(top) = self.top_xid() {
            // Subtransactions point here.
            self.shared.txlog().window().entry(top).store(Entry::ABORTED);
            if !undone.created.is_empty() {
                self.log_abort(top);
            }
            // Release: pairs with the acquire in the horizon scan.
            self.slot().txn.xid.store(NONE, Ordering::Release);
            self.shared.remove_files(undone.created, Lsn::ZERO, None);
        }
        self.drop_snapshots();
        self.finish();
    }

    /// Tells redo early that the transaction's files are gone. Without it redo learns at its end.
    fn log_abort(&self, top: Xid) {
        let mut bytes = Vec::new();
        put_subxids(&mut bytes, top, &self.subs.borrow());
        if let Ok(mut claim) = self.shared.wal().claim(record_bound(1, 0, bytes.len())) {
            self.shared.wal().insert(&mut claim, &Record::new(Kind::ABORT, top).data(&bytes));
        }
    }

    /// Locks, waiters, and back to idle.
    fn finish(&self) {
        self.locks.release_since(0);
        if self.top_xid().is_some() {
            self.shared.locks().wake_dependents(self.session, |_| true);
        }
        self.top.set(Xid(NONE));
        self.current.set(Xid::INVALID);
        self.subs.borrow_mut().clear();
        self.levels.borrow_mut().clear();
        self.combos.borrow_mut().clear();
        self.state.set(TxnState::Idle);
    }
}

/// Where the CSN goes: a few subtransactions, then the top.
fn wal_entries<'t>(txn: &'t Txn, top: Xid, subs: &[Xid]) -> Vec<EntryRef<'t>> {
    let window = txn.shared.txlog().window();
    let few = if subs.len() <= FEW_SUBS { subs } else { &[] };
    few.iter().chain([&top]).map(|xid| window.entry(*xid)).collect()
}
