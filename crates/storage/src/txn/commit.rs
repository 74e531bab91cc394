//! How a transaction ends.
//!
//! Commit, in this order: claim log space; insert the commit record, whose place is the CSN; store the CSN
//! in the window; the published number passes it; commit actions; locks; whoever waits for the transaction.
//! From the record on nothing can fail or be interrupted, and nothing waits for the disk: durability is the
//! gate's business ([`Txn::must_be_durable`]).
//!
//! Rejected: storing the CSN before the number is known to be the record's place (a counter of its own)
//! costs a second shared line per commit and a rule that ties the two orders together.

use super::record::{put_commit, put_subxids};
use super::session::{Txn, TxnState};
use crate::error::{Result, or_abort};
use crate::lock::NONE;
use crate::txlog::{Entry, EntryRef};
use crate::wal::{Kind, Record, record_bound};
use base::clock;
use base::sync::unmodelled::Ordering;
use base::{Csn, Lsn, Xid};

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
        // Taken out for the time of the commit: claiming log may park, and nothing stays borrowed then.
        let (mut subs, mut bytes) = (self.subs.take(), self.scratch.take());
        bytes.clear();
        let result = self.log_commit(top, &subs, &mut bytes);
        if result.is_ok() {
            subs.clear();
        }
        self.subs.replace(subs);
        self.scratch.replace(bytes);
        result
    }

    fn log_commit(&self, top: Xid, subs: &[Xid], bytes: &mut Vec<u8>) -> Result<Csn> {
        let time = clock::wall_micros();
        let (told, dropped) = {
            let actions = self.actions.borrow();
            let (dropped, invalidations) = (actions.dropped(), actions.invalidations());
            (put_commit(bytes, top, time, subs, dropped, invalidations), dropped.to_vec())
        };
        let (wal, times) = (self.shared.wal(), self.shared.txlog().times());
        if times.is_tracking() {
            // Before the record: whoever sees the commit finds its time, and a checkpoint whose redo begins behind
            // the record has it (invariant C2).
            times.set([top].into_iter().chain(subs.iter().copied()), time)?;
        }
        // Redo must see all of a commit's records or none, and remove the files that may be left.
        let held = told < subs.len() || !dropped.is_empty();
        let hold = held.then(|| wal.hold_redo());
        self.log_remaining(top, &subs[told..])?;
        let mut claim = wal.claim(record_bound(1, 0, bytes.len()))?;
        let synchronous = self.synchronous.get();
        let entries = Entries::of(self, top, subs);
        let record = Record::new(Kind::COMMIT, top).data(bytes);
        let at = wal.insert_commit(&mut claim, &record, |csn| {
            entries.store(if synchronous {
                Entry::committed(csn)
            } else {
                Entry::committed_relaxed(csn)
            })
        });
        drop(claim);
        // Release: pairs with the acquire in the horizon scan; published before.
        self.slot().txn.xid.store(NONE, Ordering::Release);
        if times.is_tracking() {
            times.committed(top);
        }
        if synchronous {
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
        or_abort("commit", || actions.into_iter().for_each(|run| run()));
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
            let mut xids = vec![top];
            xids.extend_from_slice(&self.subs.borrow());
            self.shared.locks().do_duties(self.session, &xids);
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
        self.shared.locks().reopen_duties(self.session);
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
            self.shared.locks().forget_duties(self.session);
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

/// Where a commit's CSN goes, found beforehand: storing it must not wait.
struct Entries<'t> {
    subs: [Option<EntryRef<'t>>; FEW_SUBS],
    top: EntryRef<'t>,
}

impl<'t> Entries<'t> {
    fn of(txn: &'t Txn, top: Xid, subs: &[Xid]) -> Entries<'t> {
        let window = txn.shared.txlog().window();
        let mut entries = Entries { subs: [None; FEW_SUBS], top: window.entry(top) };
        if subs.len() <= FEW_SUBS {
            let places = entries.subs.iter_mut().zip(subs);
            places.for_each(|(place, xid)| *place = Some(window.entry(*xid)));
        }
        entries
    }

    /// Invariant T1: subtransactions first, so that no page of theirs is given away half stored.
    fn store(&self, entry: Entry) {
        self.subs.iter().flatten().for_each(|sub| sub.store(entry));
        self.top.store(entry);
    }
}
