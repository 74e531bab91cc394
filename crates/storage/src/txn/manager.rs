//! What all transactions share: the next id, the horizon, and the rooms they stand on.

use super::exported::Exports;
use super::horizon::{Bounds, Horizon};
use crate::complaint::complain;
use crate::error::Result;
use crate::lock::LockManager;
use crate::txlog::{
    LogAhead, MultiXactId, MultiXactPlace, TxLog, TxLogConfig, TxLogStart, WINDOW_PAGE, WalBarrier,
};
use crate::wal::{Kind, Record, RedoHold, Wal, record_bound};
use base::clock;
use base::env::{Background, Env};
use base::latch::Latch;
use base::pad::Padded;
use base::park::{self, Context};
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use base::{Csn, Lsn, RelId, Xid};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// How often the keeper looks whether the window can move.
const KEEPER_INTERVAL: Duration = Duration::from_millis(100);

/// Ids that one log record covers.
const XIDS_AHEAD: u64 = 1 << 16;

/// Removes the files of relations once the log is durable up to a position: those that a commit dropped, or
/// (position zero) those that a rollback takes back.
///
/// The hold, if there is one, keeps the redo point before the record that says so; it is to be dropped when
/// the files are gone. Then the remover says so by [`TxnManager::files_settled`].
pub type FileRemover = Box<dyn Fn(Vec<RelId>, Lsn, Option<RedoHold>) + Send + Sync>;

/// The shared side of transactions.
pub struct TxnManager {
    next: Padded<AtomicU64>,
    horizon: Horizon,
    wal: Arc<Wal>,
    txlog: Arc<TxLog>,
    locks: Arc<LockManager>,
    /// Ids below are covered by a durable log record.
    limit: AtomicU64,
    ahead: Latch<()>,
    /// Files of transactions that have not ended: removed by recovery if they do not commit.
    created: Latch<BTreeMap<RelId, Xid>>,
    remove_files: OnceLock<FileRemover>,
    /// What the window may forget once the log is durable to the position.
    forgettable: Latch<Option<(Xid, Lsn)>>,
    /// The next id at the last checkpoint but one, or before: redo begins behind. And that at the last one.
    redo_from: Latch<(Xid, Xid)>,
    /// Members of multixacts below the first have ended when every transaction below the second has.
    multis_made: Latch<Option<(MultiXactPlace, Xid)>>,
    exports: Exports,
    /// Held by who begins a sequence anew that a crash has emptied.
    emptied: Latch<()>,
    keeper: Keeper,
}

#[derive(Default)]
struct Keeper {
    stop: AtomicBool,
    context: OnceLock<Context>,
    background: Mutex<Option<Background>>,
}

/// What a checkpoint must remember of transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxnCheckpoint {
    /// The next id that will be handed out.
    pub next_xid: Xid,
    /// No record before the redo point, and no page on disk, has an id from here on.
    pub xid_limit: Xid,
    /// No row has a multixact from here on.
    pub next_multixact: MultiXactId,
    /// Files whose creation was logged before the redo point by transactions not yet committed then.
    pub created: Vec<(RelId, Xid)>,
}

impl TxnManager {
    /// Opens the status logs of a recovered directory; ids go on from `start`.
    pub fn open(
        env: &Env,
        config: &TxLogConfig,
        wal: &Arc<Wal>,
        start: TxLogStart,
    ) -> Result<Arc<TxnManager>> {
        let log = Arc::clone(wal);
        let barrier: WalBarrier = Arc::new(move |lsn| log.flush(lsn));
        let log = Arc::clone(wal);
        let ahead: LogAhead = Box::new(move |limit| {
            let hold = log.hold_redo();
            log_limit(&log, Kind::MULTIXACT_LIMIT, limit.0)?;
            Ok(Some(hold))
        });
        let txlog = Arc::new(TxLog::open(config, &env.disk, &barrier, start, ahead)?);
        let next = start.next_xid;
        let manager = Arc::new(TxnManager {
            next: Padded(AtomicU64::new(next.0)),
            horizon: Horizon::new(next, wal.published()),
            wal: Arc::clone(wal),
            locks: Arc::new(LockManager::new(Arc::clone(&txlog))),
            txlog,
            limit: AtomicU64::new(next.0),
            ahead: Latch::new(Rank::Outer, ()),
            created: Latch::new(Rank::Leaf, BTreeMap::new()),
            remove_files: OnceLock::new(),
            forgettable: Latch::new(Rank::Leaf, None),
            redo_from: Latch::new(Rank::Leaf, (Xid::INVALID, next)),
            multis_made: Latch::new(Rank::Leaf, None),
            exports: Exports::default(),
            emptied: Latch::new(Rank::Outer, ()),
            keeper: Keeper::default(),
        });
        let kept = Arc::clone(&manager);
        let background = env.spawn("transaction keeper", move || kept.keep());
        *manager.keeper.background.lock().expect("no code panics under it") = Some(background);
        Ok(manager)
    }

    /// Ends the background work. Sessions have ended.
    pub fn close(&self) {
        // Release: pairs with the acquire in `keep`.
        self.keeper.stop.store(true, Ordering::Release);
        if let Some(context) = self.keeper.context.get() {
            context.unpark();
        }
        let background = self.keeper.background.lock().expect("no code panics under it").take();
        if let Some(background) = background {
            background.join();
        }
    }

    /// Says who removes files. Once, before the first session.
    pub fn set_file_remover(&self, remover: FileRemover) {
        assert!(self.remove_files.set(remover).is_ok(), "files have one remover");
    }

    /// The log.
    #[inline]
    pub fn wal(&self) -> &Arc<Wal> {
        &self.wal
    }

    /// What became of transactions.
    #[inline]
    pub fn txlog(&self) -> &Arc<TxLog> {
        &self.txlog
    }

    /// The shared side of locking.
    #[inline]
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// The next id that will be handed out.
    pub fn next_xid(&self) -> Xid {
        // Acquire: pairs with the release half of the increment in `hand_out`.
        Xid(self.next.load(Ordering::Acquire))
    }

    /// A lower bound of the id that [`TxnManager::hand_out`] will return.
    #[inline]
    pub(super) fn lower_bound(&self) -> Xid {
        // Relaxed: the counter only grows, so any value it ever had is a bound.
        Xid(self.next.load(Ordering::Relaxed))
    }

    /// Hands out an id; its page of the window is ready.
    pub(super) fn hand_out(&self) -> Result<Xid> {
        // Release half: pairs with the acquire in `Horizon::scan`; the bound in the slot comes with it.
        let xid = Xid(self.next.fetch_add(1, Ordering::AcqRel));
        // Acquire: pairs with the release in `log_ahead`. Halfway, so that nobody has to wait for it.
        if xid.0 + XIDS_AHEAD / 2 >= self.limit.load(Ordering::Acquire) {
            self.log_ahead(xid)?;
        }
        self.txlog.window().prepare(xid)?;
        if xid.0 % WINDOW_PAGE == WINDOW_PAGE / 2 {
            // Whoever gets the first id of the next page finds it ready.
            self.txlog.window().prepare(Xid(xid.0 + WINDOW_PAGE))?;
            self.wake_keeper();
        }
        Ok(xid)
    }

    /// Logs, durably, that ids beyond `xid` may be in use: row locks are not logged, and a row that reached
    /// the disk with one must not meet its id again after a crash.
    #[cold]
    fn log_ahead(&self, xid: Xid) -> Result<()> {
        let _one = self.ahead.lock();
        // Acquire: as in `hand_out`.
        if xid.0 + XIDS_AHEAD / 2 < self.limit.load(Ordering::Acquire) {
            return Ok(());
        }
        let limit = xid.0 + XIDS_AHEAD;
        // A checkpoint that still finds the old limit must not leave the record behind.
        let _hold = self.wal.hold_redo();
        log_limit(&self.wal, Kind::XID_LIMIT, limit)?;
        // Release: pairs with the acquire in `hand_out`.
        self.limit.store(limit, Ordering::Release);
        Ok(())
    }

    /// Every transaction below has ended and is published.
    #[inline]
    pub fn oldest_running(&self) -> Xid {
        self.horizon.oldest_running()
    }

    #[inline]
    pub(super) fn horizon_ref(&self) -> &Horizon {
        &self.horizon
    }

    pub(crate) fn emptied(&self) -> &Latch<()> {
        &self.emptied
    }

    #[inline]
    pub(super) fn exports(&self) -> &Exports {
        &self.exports
    }

    /// Every snapshot sees all commits below, and they are durable: what they deleted can be removed.
    pub fn horizon(&self) -> Csn {
        self.visible_horizon().min(Csn(self.wal.durable().0))
    }

    /// Every snapshot sees all commits below, durable or not. Who acts on it must leave something behind by
    /// which readers observe those commits.
    pub fn visible_horizon(&self) -> Csn {
        let (cached, stale) = self.horizon.cached(self.wal.published());
        if stale { self.refresh().csn } else { cached }
    }

    /// Computes the horizon anew.
    pub fn refresh(&self) -> Bounds {
        self.horizon.scan(&self.next, &self.wal, self.locks.sessions())
    }

    /// Lets the window forget what nobody can ask about any more. Called by the keeper.
    pub fn tidy(&self) -> Result<()> {
        let due = {
            let mut forgettable = self.forgettable.lock();
            let durable = self.wal.durable();
            // What committed below is durable by now (N3).
            forgettable.take_if(|(_, lsn)| *lsn <= durable)
        };
        if let Some((xid, _)) = due {
            self.txlog.forget_before(xid)?;
        }
        let bounds = self.refresh();
        let mut forgettable = self.forgettable.lock();
        if forgettable.is_none() && bounds.xid > self.txlog.window().start() {
            // Whatever committed below the bound is published by now.
            let lsn = Lsn(self.wal.published().0);
            *forgettable = Some((bounds.xid, lsn));
            self.wal.request_flush_soon();
        }
        drop(forgettable);
        self.tidy_multis()?;
        let (redo, _) = *self.redo_from.lock();
        self.txlog.pack(redo)?;
        Ok(())
    }

    /// Forgets multixacts whose members have all ended: a member ran when its multixact was made, so it was
    /// handed out before.
    fn tidy_multis(&self) -> Result<()> {
        let oldest = self.oldest_running();
        let due = self.multis_made.lock().take_if(|(_, xid)| *xid <= oldest);
        if let Some((multi, _)) = due {
            self.txlog.multis().forget_before(multi)?;
        }
        if self.txlog.multis().live() > 0 {
            let made = self.txlog.multis().place();
            let xid = self.next_xid();
            self.multis_made.lock().get_or_insert((made, xid));
        }
        Ok(())
    }

    fn wake_keeper(&self) {
        if let Some(context) = self.keeper.context.get() {
            context.unpark();
        }
    }

    fn keep(&self) {
        let _ = self.keeper.context.set(park::current());
        let mut told = None;
        // Acquire: pairs with the release in `close`.
        while !self.keeper.stop.load(Ordering::Acquire) {
            // Told when it begins, and when it is another: it comes again with every attempt.
            let fault = self.tidy().err();
            let words = fault.as_ref().map(ToString::to_string);
            if let Some(fault) = fault.filter(|_| told != words) {
                complain("the status logs could not be trimmed", &fault);
            }
            told = words;
            park::park_until(Some(clock::now().after(KEEPER_INTERVAL)));
        }
    }

    /// What a checkpoint must remember. To be called after its redo point was chosen.
    pub fn checkpoint_state(&self) -> TxnCheckpoint {
        TxnCheckpoint {
            next_xid: self.next_xid(),
            xid_limit: self.xid_limit(),
            next_multixact: self.txlog.multis().limit(),
            created: self.created.lock().iter().map(|(rel, xid)| (*rel, *xid)).collect(),
        }
    }

    /// Makes the fates of all transactions that committed before the redo point durable in the xact log.
    /// To be called after the redo point was chosen ([`Wal::settled_position`]): their CSNs are stored.
    pub fn checkpoint(&self) -> Result<()> {
        let next = self.next_xid();
        self.txlog.checkpoint(next, self.xid_limit())?;
        // Redo that begins earlier after all, because this one comes to nothing, unpacks what it writes to.
        let mut redo_from = self.redo_from.lock();
        *redo_from = (redo_from.1, next);
        Ok(())
    }

    fn xid_limit(&self) -> Xid {
        // Acquire: pairs with the release in `log_ahead`.
        Xid(self.limit.load(Ordering::Acquire)).max(self.next_xid())
    }

    pub(super) fn file_created(&self, rel: RelId, xid: Xid) {
        self.created.lock().insert(rel, xid);
    }

    /// Recovery need not know these files any more: their maker committed, or they are gone.
    pub fn files_settled(&self, rels: &[RelId]) {
        if !rels.is_empty() {
            let mut created = self.created.lock();
            created.retain(|rel, _| !rels.contains(rel));
        }
    }

    pub(super) fn remove_files(&self, rels: Vec<RelId>, after: Lsn, hold: Option<RedoHold>) {
        if !rels.is_empty()
            && let Some(remove) = self.remove_files.get()
        {
            remove(rels, after, hold);
        }
    }
}

/// Logs that numbers below `limit` may be in use. Durable before it returns: rows with such a number may reach
/// the disk without any record of their own.
fn log_limit(wal: &Wal, kind: Kind, limit: u64) -> Result<()> {
    let bytes = limit.to_le_bytes();
    let mut claim = wal.claim(record_bound(1, 0, bytes.len()))?;
    let at = wal.insert(&mut claim, &Record::new(kind, Xid::INVALID).data(&bytes));
    drop(claim);
    wal.flush(at.end);
    Ok(())
}
