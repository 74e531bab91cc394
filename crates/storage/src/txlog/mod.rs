//! The status logs: what became of every transaction. See `README.md` in this folder.
//!
//! ```text
//! look-up ─► window (one word per recent transaction, memory) ─┬─► Subtrans SLRU log (window pages that
//!                       │ fold, in the background              │    had to leave memory)
//!                       ▼                                      └─► xact SLRU log (two bits, durable)
//! ```

mod commit_ts;
mod fate;
mod multixact;
mod redo;
mod rowlock;
pub mod slru;
mod window;
mod xact;

pub use commit_ts::CommitTimes;
pub use fate::{Entry, Fate};
pub use multixact::{
    LogAhead, MEMBER_BYTES, Member, MultiXactId, MultiXactPlace, MultiXactStats, MultiXacts,
};
pub use redo::XactRedo;
pub use rowlock::RowLock;
pub use slru::{ALL_LOGS, LogBuffers, LogKind, SEGMENT_PAGES, SlruStats, WalBarrier};
pub use window::{EntryRef, WINDOW_PAGE, Window};
pub use xact::{Status, XACT_PAGE, XactLog};

use crate::error::{Error, Result};
use base::disk::Disk;
use base::latch::Latch;
use base::rank::Rank;
use base::{Csn, Lsn, Xid, sim};
use slru::{LOGS, Slru};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sizes of the status logs' memory.
#[derive(Clone, Copy, Debug)]
pub struct TxLogConfig {
    /// Buffers of each SLRU log.
    pub buffers: LogBuffers,
    /// Pages of the buffer cache, from which defaults derive.
    pub shared_buffers: usize,
    /// Pages of 1024 transactions that the window keeps in memory.
    pub window_pages: usize,
    /// `track_commit_timestamp`.
    pub track_commit_timestamp: bool,
    /// Where the ids of a new directory begin: for tests, which begin beyond 32 bits.
    pub first: TxLogStart,
    /// Where the numbers of multixacts' members begin at each start, which no older one outlives: for tests, too.
    pub first_member: u64,
}

/// Where the logs go on after a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxLogStart {
    /// Transactions below have ended.
    pub next_xid: Xid,
    /// Multixacts below have no member that runs.
    pub next_multixact: MultiXactId,
}

impl TxLogStart {
    /// Of a new directory.
    pub const FIRST: TxLogStart =
        TxLogStart { next_xid: Xid::FIRST_NORMAL, next_multixact: MultiXactId(1) };
}

impl Default for TxLogConfig {
    fn default() -> TxLogConfig {
        TxLogConfig {
            buffers: LogBuffers::default(),
            shared_buffers: 16_384,
            window_pages: 512,
            track_commit_timestamp: false,
            first: TxLogStart::FIRST,
            first_member: 0,
        }
    }
}

/// How far the window's content has been written down in the xact log.
struct Folded {
    /// Window pages below were folded at least once.
    next_page: u64,
    /// Folded pages that held unfinished transactions: to be folded again.
    late: BTreeSet<u64>,
    /// Xact log pages below exist.
    next_xact_page: u64,
}

/// The log position that must be durable for the commit `csn` to be: one past the record's first byte,
/// because the log becomes durable in whole records.
#[inline]
pub fn durable_at(csn: Csn) -> Lsn {
    Lsn(csn.0 + 1)
}

/// All that is known about what became of transactions.
pub struct TxLog {
    window: Window,
    xact: XactLog,
    multis: MultiXacts,
    times: CommitTimes,
    /// Ready for their users.
    serial: Slru,
    notify: Slru,
    folded: Latch<Folded>,
}

/// What became of a transaction, subtransactions resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It runs (or a transaction that it is part of does).
    Running,
    /// It committed; [`Csn::FROZEN`] when that was before everything that can still matter.
    Committed(Csn),
    /// It rolled back, or a crash ended it.
    Aborted,
}

impl TxLog {
    /// Opens the logs of a directory whose recovery has ended. `ahead` logs that multixact ids will be used.
    pub fn open(
        config: &TxLogConfig,
        disk: &Arc<dyn Disk>,
        barrier: &WalBarrier,
        start: TxLogStart,
        ahead: LogAhead,
    ) -> Result<TxLog> {
        let open = |log, oldest| open_slru(config, disk, barrier, log, oldest);
        let TxLogStart { next_xid: next, next_multixact } = start;
        let spill = open(LogKind::Subtrans, next.0 / WINDOW_PAGE)?;
        let xact = XactLog::new(open(LogKind::Xact, 0)?);
        let xact_page = next.0 / XACT_PAGE;
        xact.slru().note_latest(xact_page);
        let folded = Folded {
            next_page: next.0 / WINDOW_PAGE,
            late: BTreeSet::new(),
            next_xact_page: xact_page + 1,
        };
        let offsets = open(LogKind::MultiXactOffset, next_multixact.0 / slru::PAGE_WORDS as u64)?;
        let first_member = config.first_member;
        let members = open(LogKind::MultiXactMember, first_member / slru::PAGE_WORDS as u64)?;
        let times = open(LogKind::CommitTs, 0)?;
        Ok(TxLog {
            window: Window::new(next, config.window_pages, spill),
            xact,
            multis: MultiXacts::new(offsets, members, next_multixact, first_member, ahead),
            times: CommitTimes::open(times, config.track_commit_timestamp, next)?,
            serial: open(LogKind::Serial, 0)?,
            notify: open(LogKind::Notify, 0)?,
            // Held across I/O, and while nothing but the rooms' own latches is taken. A checkpoint folds
            // with its own latch held.
            folded: Latch::new(Rank::Table, folded),
        })
    }

    /// Makes the files of a new directory.
    pub fn create(disk: &Arc<dyn Disk>, barrier: &WalBarrier, first: TxLogStart) -> Result<()> {
        let slru = Slru::open(LogKind::Xact, 1, 0, Arc::clone(disk), Arc::clone(barrier))?;
        let xact = XactLog::new(slru);
        xact.begin_page(first.next_xid)?;
        xact.slru().flush()?;
        Ok(())
    }

    /// Multixacts.
    pub fn multis(&self) -> &MultiXacts {
        &self.multis
    }

    /// Commit timestamps.
    pub fn times(&self) -> &CommitTimes {
        &self.times
    }

    /// The window, for whoever hands out and ends transactions.
    #[inline]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// What became of `xid`.
    #[inline]
    pub fn outcome(&self, xid: Xid) -> Result<Outcome> {
        match self.window.get(xid)?.fate() {
            Fate::Committed(csn) => Ok(Outcome::Committed(csn)),
            Fate::Aborted => Ok(Outcome::Aborted),
            Fate::Running(_) => Ok(Outcome::Running),
            Fate::SubOf(top) => self.outcome_of_top(xid, top),
            Fate::Unknown => self.outcome_slow(xid),
        }
    }

    /// What became of `xid`, which pointed at `top`. One hop, never more: subtransactions point at their top-level
    /// transaction.
    #[cold]
    fn outcome_of_top(&self, xid: Xid, top: Xid) -> Result<Outcome> {
        #[cfg(test)]
        looks::between();
        let outcome = match self.window.get(top)?.fate() {
            Fate::Running(_) => return Ok(Outcome::Running),
            Fate::Committed(csn) => Outcome::Committed(csn),
            Fate::Aborted => Outcome::Aborted,
            Fate::Unknown | Fate::SubOf(_) => self.outcome_slow(top)?,
        };
        match self.points_still_at(xid, top)? {
            None => Ok(outcome),
            Some(_) => self.outcome(xid),
        }
    }

    /// Looks once more at a subtransaction, once its top-level transaction is seen to have ended: what it is now, unless it
    /// points there still. A savepoint that was rolled back is marked before its transaction ends (release and acquire
    /// of the latter's entry), so between two looks both may happen, and the first of them said nothing of it.
    fn points_still_at(&self, xid: Xid, top: Xid) -> Result<Option<Entry>> {
        let entry = self.window.get(xid)?;
        Ok((entry.fate() != Fate::SubOf(top)).then_some(entry))
    }

    #[cold]
    fn outcome_slow(&self, xid: Xid) -> Result<Outcome> {
        if !xid.is_normal() {
            let frozen = Outcome::Committed(Csn::FROZEN);
            return Ok(if xid == Xid::FROZEN { frozen } else { Outcome::Aborted });
        }
        if xid >= self.window.start() {
            // A session says that its transaction runs before it puts the id anywhere. What is on pages from before a start
            // has lower ids (O3).
            let detail = format!("a row names transaction {xid}, which never began");
            return Err(Error::damaged(LogKind::Xact.directory(), None, detail));
        }
        // Invariant O1: below the window's start everything is folded.
        Ok(match self.xact.status(xid)? {
            Status::Committed => Outcome::Committed(Csn::FROZEN),
            Status::Aborted | Status::Unknown => Outcome::Aborted,
        })
    }

    /// Whether `xid` is known to have committed with `synchronous_commit = off`. Spilled pages still know,
    /// what the window has forgotten is durable.
    pub fn is_relaxed(&self, xid: Xid) -> Result<bool> {
        let entry = self.window.get(xid)?;
        Ok(match entry.fate() {
            Fate::SubOf(top) => self.window.get(top)?.is_relaxed(),
            _ => entry.is_relaxed(),
        })
    }

    /// The session in which `xid` runs, if it does.
    pub fn runner(&self, xid: Xid) -> Result<Option<u32>> {
        let fate = match self.window.get(xid)?.fate() {
            Fate::SubOf(top) => self.window.get(top)?.fate(),
            fate => fate,
        };
        Ok(match fate {
            Fate::Running(session) => Some(session),
            _ => None,
        })
    }

    /// The top-level transaction of `xid`: itself, unless it is a subtransaction of a running one.
    pub fn top_of(&self, xid: Xid) -> Result<Xid> {
        Ok(match self.window.get(xid)?.fate() {
            Fate::SubOf(top) => top,
            _ => xid,
        })
    }

    /// Writes down in the xact log what has become of transactions below `to`. Those that are unfinished
    /// are looked at again by the next fold.
    pub fn fold(&self, to: Xid) -> Result<()> {
        let mut folded = self.folded.lock();
        let end = to.0.div_ceil(WINDOW_PAGE);
        let mut pages = std::mem::take(&mut folded.late);
        pages.extend(folded.next_page..end);
        folded.next_page = folded.next_page.max(end);
        let mut pages = pages.into_iter();
        while let Some(page) = pages.next() {
            match self.fold_page(page, to, &mut folded.next_xact_page) {
                Ok(true) => {}
                Ok(false) => drop(folded.late.insert(page)),
                Err(e) => {
                    // Nothing is lost: what is left is folded by the next attempt.
                    folded.late.insert(page);
                    folded.late.extend(pages);
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Folds one window page; whether everything on it was finished.
    fn fold_page(&self, page: u64, to: Xid, next_xact_page: &mut u64) -> Result<bool> {
        let first = Xid(page * WINDOW_PAGE);
        self.reach(first, next_xact_page)?;
        let mut fates = [Status::Unknown; WINDOW_PAGE as usize];
        let (mut finished, mut lsn) = (first.0 + WINDOW_PAGE <= to.0, Lsn::ZERO);
        let start = self.window.start();
        for (i, entry) in self.window.page(page)?.into_iter().enumerate() {
            let xid = Xid(first.0 + i as u64);
            if xid < start {
                continue;
            }
            fates[i] = match self.resolve(xid, entry)? {
                Fate::Committed(csn) => {
                    lsn = lsn.max(durable_at(csn));
                    Status::Committed
                }
                Fate::Aborted => Status::Aborted,
                Fate::Unknown | Fate::Running(_) | Fate::SubOf(_) => {
                    finished = false;
                    Status::Unknown
                }
            };
        }
        if fates.iter().any(|s| *s != Status::Unknown) {
            self.xact.set_run(first, &fates, lsn)?;
        }
        Ok(finished)
    }

    /// The fate of the entry of `xid`, of its top-level transaction for a subtransaction.
    fn resolve(&self, xid: Xid, entry: Entry) -> Result<Fate> {
        let Fate::SubOf(top) = entry.fate() else {
            return Ok(entry.fate());
        };
        #[cfg(test)]
        looks::between();
        let fate = match self.window.get(top)?.fate() {
            // The window has moved past the top-level transaction, but not yet past this one.
            Fate::Unknown => match self.outcome_slow(top)? {
                Outcome::Committed(csn) => Fate::Committed(csn),
                Outcome::Aborted | Outcome::Running => Fate::Aborted,
            },
            fate => fate,
        };
        Ok(self.points_still_at(xid, top)?.map_or(fate, |now| now.fate()))
    }

    /// What the xact log says of `xid`.
    #[cfg(test)]
    pub(crate) fn written(&self, xid: Xid) -> Result<Status> {
        Ok(self.xact.status(xid)?)
    }

    /// Lets the window forget transactions below `xid`: all of them ended, their commits are durable, and
    /// no snapshot there is or will be tells them apart.
    pub fn forget_before(&self, xid: Xid) -> Result<()> {
        if xid > self.window.start() {
            self.fold(xid)?;
            // Invariant O1.
            self.window.forget_before(xid);
            let first_kept = xid.0 / WINDOW_PAGE;
            self.folded.lock().late.retain(|page| *page >= first_kept);
        }
        self.window.tidy()?;
        Ok(())
    }

    /// Packs a segment of each durable log that nothing is written to any more: its transactions are older than the
    /// window, and than `redo`, where redo may begin. Whether there was one; to be called again then.
    pub fn pack(&self, redo: Xid) -> Result<bool> {
        // Nobody folds meanwhile.
        let folded = self.folded.lock();
        let end = self.window.start().min(redo);
        let packed = self.xact.slru().pack_one_below(end.0 / XACT_PAGE)?;
        drop(folded);
        Ok(self.times.pack_one_below(end)? || packed)
    }

    /// Writes down all transactions below `next` that have ended, durably: part of a checkpoint. Redo may
    /// begin with `limit` for the next id: the pages up to there are made.
    pub fn checkpoint(&self, next: Xid, limit: Xid) -> Result<()> {
        self.fold(next)?;
        let mut folded = self.folded.lock();
        let grows = folded.next_xact_page <= limit.0 / XACT_PAGE;
        let _window = grows.then(|| sim::window("status-page"));
        self.reach(limit, &mut folded.next_xact_page)?;
        drop(folded);
        self.xact.slru().flush()?;
        self.times.checkpoint(limit)
    }

    /// Verifies the files of the durable logs, the others being rebuilt at every start; the number of pages.
    pub fn check(&self, fault: &mut dyn FnMut(String)) -> Result<u64> {
        let end = self.folded.lock().next_xact_page;
        Ok(self.xact.slru().check(end, fault)? + self.times.check(fault)?)
    }

    /// Makes xact pages up to that of `xid`.
    fn reach(&self, xid: Xid, next_xact_page: &mut u64) -> Result<()> {
        while *next_xact_page <= xid.0 / XACT_PAGE {
            self.xact.begin_page(Xid(*next_xact_page * XACT_PAGE))?;
            *next_xact_page += 1;
        }
        Ok(())
    }

    /// Numbers of each log, for `pg_stat_slru`.
    pub fn stats(&self) -> [(LogKind, SlruStats); LOGS] {
        self.slrus().map(|slru| (slru.log(), slru.stats()))
    }

    /// Pages that each log's cache has room for.
    pub fn buffers(&self) -> [(LogKind, usize); LOGS] {
        self.slrus().map(|slru| (slru.log(), slru.buffers()))
    }

    /// Has a log, or all of them, counted from here on.
    pub fn reset_stats(&self, which: Option<LogKind>) {
        let all = self.slrus().into_iter();
        all.filter(|slru| which.is_none_or(|log| log == slru.log())).for_each(Slru::reset_stats);
    }

    /// In the order of [`ALL_LOGS`].
    fn slrus(&self) -> [&Slru; LOGS] {
        let [offsets, members] = self.multis.slrus();
        let (times, spill, xact) = (self.times.slru(), self.window.spill(), self.xact.slru());
        [times, members, offsets, &self.notify, &self.serial, spill, xact]
    }
}

fn open_slru(
    config: &TxLogConfig,
    disk: &Arc<dyn Disk>,
    barrier: &WalBarrier,
    log: LogKind,
    oldest: u64,
) -> Result<Slru> {
    let banks = config.buffers.banks(log, config.shared_buffers);
    Ok(Slru::open(log, banks, oldest, Arc::clone(disk), Arc::clone(barrier))?)
}

/// What a test has happen between the looks at a subtransaction and at its top-level transaction.
#[cfg(test)]
pub(crate) mod looks {
    use std::cell::RefCell;

    thread_local! {
        static NEXT: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    /// Once, when this thread comes there next.
    pub fn set(happens: impl FnOnce() + 'static) {
        NEXT.replace(Some(Box::new(happens)));
    }

    pub(super) fn between() {
        if let Some(happens) = NEXT.take() {
            happens();
        }
    }
}
