//! `Txn`: the transaction state of one session.
//!
//! It belongs to one execution context at a time; methods take `&self` so that executor nodes can share it.
//! Nothing in it is borrowed across a park.

use super::actions::Actions;
use super::combo::Combos;
use super::level::Level;
use super::manager::TxnManager;
use super::snapshot::{Holds, Snapshot};
use crate::error::{Error, Result};
use crate::lock::{
    LockMode, LockScope, LockTag, Locks, NONE, RowKey, RowLock, RowTurn, SessionId, Slot, Told,
    WaitPolicy,
};
use crate::txlog::{Entry, Outcome, durable_at};
use base::sync::unmodelled::Ordering;
use base::{Csn, Lsn, Xid};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Which snapshots a transaction's statements get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// Each statement a new one. Also what READ UNCOMMITTED means.
    #[default]
    ReadCommitted,
    /// The first statement's, for all.
    RepeatableRead,
}

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxnState {
    /// Between transactions.
    Idle,
    /// In one.
    Active,
}

/// See the module's description.
pub struct Txn {
    pub(super) shared: Arc<TxnManager>,
    pub(super) session: SessionId,
    pub(super) locks: Locks,
    pub(super) state: Cell<TxnState>,
    pub(super) isolation: Cell<Isolation>,
    pub(super) synchronous: Cell<bool>,
    /// The top-level id, or [`NONE`].
    pub(super) top: Cell<Xid>,
    /// The current level's id, or invalid.
    pub(super) current: Cell<Xid>,
    /// Ids of subtransactions that have not rolled back; ascending.
    pub(super) subs: RefCell<Vec<Xid>>,
    pub(super) levels: RefCell<Vec<Level>>,
    pub(super) cid: Cell<u32>,
    pub(super) cid_used: Cell<bool>,
    pub(super) combos: RefCell<Combos>,
    pub(super) actions: RefCell<Actions>,
    /// Memory for the commit record.
    pub(super) scratch: RefCell<Vec<u8>>,
    pub(super) kept_snapshot: Cell<Option<Snapshot>>,
    pub(super) statement_open: Cell<bool>,
    pub(super) holds: RefCell<Holds>,
    /// It has exported snapshots, which others may take over: the last one's number.
    pub(super) exports: Cell<Option<Csn>>,
    must_be_durable: Cell<Lsn>,
    /// What the session knows to be durable; saves looking at the shared word.
    known_durable: Cell<Lsn>,
}

const NO_TOP: Xid = Xid(NONE);

impl Txn {
    /// A session's transaction state. `pid` is the number that clients know the session by.
    pub fn attach(shared: &Arc<TxnManager>, pid: i32, database: u32) -> Result<Txn> {
        let session = shared.locks().sessions().attach(pid, database)?;
        Ok(Txn {
            locks: Locks::new(Arc::clone(shared.locks()), session),
            shared: Arc::clone(shared),
            session,
            state: Cell::new(TxnState::Idle),
            isolation: Cell::default(),
            synchronous: Cell::new(true),
            top: Cell::new(NO_TOP),
            current: Cell::new(Xid::INVALID),
            subs: RefCell::default(),
            levels: RefCell::default(),
            cid: Cell::new(0),
            cid_used: Cell::new(false),
            combos: RefCell::default(),
            actions: RefCell::default(),
            scratch: RefCell::default(),
            kept_snapshot: Cell::new(None),
            statement_open: Cell::new(false),
            holds: RefCell::default(),
            exports: Cell::new(None),
            must_be_durable: Cell::new(Lsn::ZERO),
            known_durable: Cell::new(shared.wal().durable()),
        })
    }

    /// What all transactions share.
    #[inline]
    pub fn manager(&self) -> &Arc<TxnManager> {
        &self.shared
    }

    /// The session's slot number.
    pub fn session(&self) -> SessionId {
        self.session
    }

    #[inline]
    pub(super) fn slot(&self) -> &Slot {
        self.shared.locks().sessions().slot(self.session)
    }

    /// The session's locks: relations, objects, advisory.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// Takes a lock for the transaction, waiting if need be.
    #[inline]
    pub fn lock(&self, tag: LockTag, mode: LockMode) -> Result<()> {
        self.locks.lock(tag, mode, LockScope::Transaction, WaitPolicy::Block).map(|_| ())
    }

    /// Waits until all others that hold a relation in a mode that conflicts with `mode` have let go of it. Takes
    /// no lock, and no snapshot may be in force: one of them may wait for that.
    pub fn wait_for_holders(
        &self,
        tag: LockTag,
        mode: LockMode,
        told: &mut Told<'_>,
    ) -> Result<()> {
        assert!(!self.has_snapshot(), "who is waited for may wait for old snapshots");
        let limits = self.locks.limits();
        self.shared.locks().wait_for_holders(self.session, tag, mode, &limits, told)
    }

    /// Waits until every other session's snapshots in this database see all commits below `csn`.
    pub fn wait_for_snapshots(&self, csn: Csn, told: &mut Told<'_>) -> Result<()> {
        assert!(!self.has_snapshot(), "who is waited for may wait for old snapshots");
        let (limits, db) = (self.locks.limits(), self.slot().database());
        self.shared.locks().wait_for_snapshots(self.session, db, csn, &limits, told)
    }

    /// Begins a transaction.
    pub fn begin(&self, isolation: Isolation) {
        assert_eq!(self.state.get(), TxnState::Idle, "transactions do not nest; savepoints do");
        self.state.set(TxnState::Active);
        self.isolation.set(isolation);
        self.cid.set(0);
        self.cid_used.set(false);
    }

    /// Where the session stands.
    pub fn state(&self) -> TxnState {
        self.state.get()
    }

    /// The transaction's isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation.get()
    }

    /// Changes the level; only before the first snapshot.
    pub fn set_isolation(&self, isolation: Isolation) {
        assert!(self.kept_snapshot.get().is_none(), "the level is fixed by the first snapshot");
        self.isolation.set(isolation);
    }

    /// `synchronous_commit`: whether this session's commits, and what it sees of other sessions' that go
    /// without, must be durable before they are told.
    pub fn set_synchronous(&self, on: bool) {
        self.synchronous.set(on);
    }

    /// The id to write into rows: the current level's, assigned now if it has none. To be called before
    /// the first latch: it may wait for the disk.
    #[inline]
    pub fn xid(&self) -> Result<Xid> {
        let current = self.current.get();
        if current != Xid::INVALID { Ok(current) } else { self.assign() }
    }

    /// The top-level id, if the transaction has written.
    #[inline]
    pub fn top_xid(&self) -> Option<Xid> {
        let top = self.top.get();
        (top != NO_TOP).then_some(top)
    }

    /// The top-level id, assigned now if there is none: `pg_current_xact_id`.
    pub fn assign_top(&self) -> Result<Xid> {
        match self.top_xid() {
            Some(top) => Ok(top),
            None => self.begin_writing(),
        }
    }

    #[cold]
    fn assign(&self) -> Result<Xid> {
        assert_eq!(self.state.get(), TxnState::Active, "writes happen in a transaction");
        let top = self.assign_top()?;
        if self.levels.borrow().is_empty() {
            self.current.set(top);
            return Ok(top);
        }
        let sub = self.shared.hand_out()?;
        self.shared.txlog().window().entry(sub).store(Entry::sub_of(top));
        self.subs.borrow_mut().push(sub);
        self.levels.borrow_mut().last_mut().expect("looked just now").xid = sub;
        self.current.set(sub);
        Ok(sub)
    }

    fn begin_writing(&self) -> Result<Xid> {
        let line = &self.slot().txn;
        // Release, as all stores to it: the horizon scan's acquire. The bound comes before the increment
        // that hands out the id, see `TxnManager::hand_out`.
        line.xid.store(self.shared.lower_bound().0, Ordering::Release);
        let top = match self.shared.hand_out() {
            Ok(top) => top,
            Err(e) => {
                line.xid.store(NONE, Ordering::Release);
                return Err(e);
            }
        };
        self.shared.txlog().window().entry(top).store(Entry::running(self.session.0));
        line.xid.store(top.0, Ordering::Release);
        self.top.set(top);
        Ok(top)
    }

    /// Whether `xid` is this transaction or one of its subtransactions that have not rolled back.
    #[inline]
    pub fn is_mine(&self, xid: Xid) -> bool {
        let top = self.top.get();
        // A subtransaction's id is above its top's, and without a top nothing is.
        xid == top || (xid > top && self.is_my_sub(xid))
    }

    #[cold]
    fn is_my_sub(&self, xid: Xid) -> bool {
        self.subs.borrow().binary_search(&xid).is_ok()
    }

    /// Whether every snapshot that this transaction takes from now on, or works with already, sees what `xid`
    /// did.
    pub fn will_see(&self, xid: Xid) -> Result<bool> {
        let kept = self.kept_snapshot.get();
        if self.is_mine(xid) {
            return Ok(kept.is_none());
        }
        let seen_below = match kept {
            Some(kept) if xid < kept.bound => return Ok(true),
            Some(kept) => kept.csn,
            None => self.shared.wal().published(),
        };
        Ok(matches!(self.outcome(xid)?, Outcome::Committed(csn) if csn < seen_below))
    }

    /// What became of a transaction that is not this one.
    #[inline]
    pub(super) fn outcome(&self, xid: Xid) -> Result<Outcome> {
        self.shared.txlog().outcome(xid)
    }

    /// Whether a commit is durable.
    #[inline]
    pub(super) fn is_durable(&self, csn: Csn) -> bool {
        durable_at(csn) <= self.known_durable.get() || self.is_durable_now(csn)
    }

    fn is_durable_now(&self, csn: Csn) -> bool {
        self.known_durable.set(self.shared.wal().durable_and_published());
        durable_at(csn) <= self.known_durable.get()
    }

    /// Something that is durable only when the log is durable to `lsn` was seen, or done: no reply that
    /// tells of it may leave before.
    #[inline]
    pub fn observe(&self, lsn: Lsn) {
        if lsn > self.must_be_durable.get() {
            self.must_be_durable.set(lsn);
        }
    }

    /// As [`Txn::observe_commit`], for who acts on the commit as of now: it returns once snapshots include it.
    pub(super) fn rely_on_commit(&self, xid: Xid, csn: Csn) -> Result<bool> {
        // What is known to be durable is known to be published.
        if self.is_durable(csn) {
            return Ok(true);
        }
        self.shared.wal().await_published(csn);
        self.observe_undurable(xid, csn)?;
        Ok(false)
    }

    /// The commit of `xid` was relied on. Tells whether it is durable.
    #[inline]
    pub fn observe_commit(&self, xid: Xid, csn: Csn) -> Result<bool> {
        let durable = self.is_durable(csn);
        if !durable {
            self.observe_undurable(xid, csn)?;
        }
        Ok(durable)
    }

    /// With `synchronous_commit = off` the client is told what others committed that way before it is
    /// durable, as it is told of its own; what somebody was promised is still held back.
    fn observe_undurable(&self, xid: Xid, csn: Csn) -> Result<()> {
        if self.synchronous.get() || !self.shared.txlog().is_relaxed(xid)? {
            self.observe(durable_at(csn));
        }
        Ok(())
    }

    /// The log position that must be durable before the session's next reply.
    #[inline]
    pub fn must_be_durable(&self) -> Lsn {
        self.must_be_durable.get()
    }

    /// Parks until another transaction has ended, and observes its commit. No latch may be held.
    ///
    /// # Errors
    /// [`Error::Awaited`] where it waits no longer.
    pub fn wait_for(&self, xid: Xid) -> Result<Outcome> {
        let limits = self.locks.limits();
        let waited = self.shared.locks().wait_for_xid(self.session, xid, &limits);
        waited.map_err(|why| Error::Awaited(Box::new(why)))?;
        let outcome = self.outcome(xid)?;
        if let Outcome::Committed(csn) = outcome {
            self.rely_on_commit(xid, csn)?;
        }
        Ok(outcome)
    }

    /// Waits for the turn at a row that another transaction holds, or that others queue for. With the
    /// turn, look at the row again; while it is still held, [`Txn::wait_for`] its holder, keeping the
    /// turn. Pass it ([`RowTurn::pass`]) once this transaction's id is in the row. `successor` is the version
    /// that the holder has put in this one's place.
    pub fn row_turn(
        &self,
        key: RowKey,
        successor: Option<RowKey>,
        strength: RowLock,
        policy: WaitPolicy,
    ) -> Result<RowTurn> {
        let limits = self.locks.limits();
        self.shared.locks().row_turn(self.session, key, successor, strength, policy, &limits)
    }

    /// Whether sessions queue for a row: then do so, too, even if it is free now.
    #[inline]
    pub fn row_is_queued(&self, key: RowKey) -> bool {
        self.shared.locks().row_is_queued(key)
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if self.state.get() == TxnState::Active {
            self.abort();
        }
        self.locks.unlock_all(|_| true);
        self.shared.locks().sessions().detach(self.session);
    }
}
