//! Redo of the xact log: the commit and rollback records behind the redo point, once more.

use super::{CommitTimes, LogKind, Status, TxLogConfig, WalBarrier, XACT_PAGE, XactLog, open_slru};
use crate::error::Result;
use base::disk::Disk;
use base::{Lsn, Xid};
use std::sync::Arc;

/// The xact log during recovery, when nothing else uses it.
pub struct XactRedo {
    xact: XactLog,
    times: CommitTimes,
    /// Pages below exist; what files hold of later ones was written by a future that is lost, or will be
    /// set again.
    next_page: u64,
}

impl XactRedo {
    /// `next` is the next transaction id as the checkpoint at the redo point knew it.
    pub fn begin(config: &TxLogConfig, disk: &Arc<dyn Disk>, next: Xid) -> Result<XactRedo> {
        // The log was read from disk: whatever a page depends on is durable.
        let barrier: WalBarrier = Arc::new(|_| ());
        let xact = XactLog::new(open_slru(config, disk, &barrier, LogKind::Xact, 0)?);
        let times = open_slru(config, disk, &barrier, LogKind::CommitTs, 0)?;
        let times = CommitTimes::open(times, config.track_commit_timestamp, next)?;
        Ok(XactRedo { xact, times, next_page: next.0 / XACT_PAGE + 1 })
    }

    fn reach(&mut self, xid: Xid) -> Result<()> {
        while self.next_page <= xid.0 / XACT_PAGE {
            self.xact.begin_page(Xid(self.next_page * XACT_PAGE))?;
            self.next_page += 1;
        }
        Ok(())
    }

    /// Sets what a record says of these transactions.
    pub fn set(&mut self, xids: impl Iterator<Item = Xid>, status: Status) -> Result<()> {
        for xid in xids {
            self.reach(xid)?;
            self.xact.set(xid, status, Lsn::ZERO)?;
        }
        Ok(())
    }

    /// Keeps the time of a commit, if times are kept.
    pub fn set_time(&mut self, xids: impl Iterator<Item = Xid>, micros: i64) -> Result<()> {
        if self.times.is_tracking() {
            self.times.set(xids, micros)?;
        }
        Ok(())
    }

    /// What is written down of `xid` so far.
    pub fn status(&self, xid: Xid) -> Result<Status> {
        match xid.0 / XACT_PAGE < self.next_page {
            true => Ok(self.xact.status(xid)?),
            false => Ok(Status::Unknown),
        }
    }

    /// Makes everything set so far durable, so that redo may begin later, with `next` as the next id.
    pub fn checkpoint(&mut self, next: Xid) -> Result<()> {
        self.reach(next)?;
        self.xact.slru().flush()?;
        self.times.checkpoint(next)
    }

    /// Ends redo: transactions from `next` on have never been; everything is durable after.
    pub fn finish(mut self, next: Xid) -> Result<()> {
        self.reach(next)?;
        self.xact.erase_from(next)?;
        self.xact.slru().flush()?;
        self.times.checkpoint(next)
    }
}
