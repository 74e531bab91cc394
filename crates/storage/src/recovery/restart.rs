//! Restart points: what a long redo has done so far is written down, so that a second crash does not begin it anew.
//!
//! One is made where redo comes to a checkpoint record, if the last one is long enough ago. It is a checkpoint that logs
//! nothing; the control file alone says where redo would begin, and names the checkpoint record at hand, which lies
//! behind that. In this order:
//!
//! 1. `read` = the lowest record that some lane has not applied. Every change logged before has marked its page dirty.
//! 2. Pages whose first change lies before the restart point of before are brought to their places: by then each
//!    restart point gains about as much as was read between two.
//! 3. The redo point is the lowest of `read`, the pages' first-dirty positions, and the records of what is open: files
//!    whose makers have not ended, subtransactions told of ahead of a commit, records left out without an explanation.
//! 4. Fates of transactions are written down; files and names are synced; then the control file is written.

use super::control::{Control, ControlFile};
use super::redo::Redo;
use crate::error::Result;
use crate::txlog::{Status, TxLogStart};
use base::clock::{self, Instant};
use base::{Lsn, Xid, sim};
use std::time::Duration;

/// When restart points are due, and how far they have come.
pub(super) struct RestartPoints<'c> {
    control: &'c mut ControlFile,
    /// Least time between two.
    every: Duration,
    last: Instant,
    /// Where redo was then: pages that were dirty by then go to their places for the next.
    behind: Lsn,
    /// A crash from now on begins at the last restart point.
    window: Option<sim::Window>,
}

impl<'c> RestartPoints<'c> {
    /// None yet.
    pub fn new(control: &'c mut ControlFile, every: Duration) -> RestartPoints<'c> {
        let behind = control.content().redo;
        RestartPoints { control, every, last: clock::now(), behind, window: None }
    }

    /// Where a start would begin.
    pub fn redo(&self) -> Lsn {
        self.control.content().redo
    }

    fn is_due(&self) -> bool {
        clock::now().since(self.last) >= self.every
    }
}

impl Redo<'_> {
    /// Makes a restart point if one is due. Redo has come to a checkpoint record, which begins at `checkpoint`; all
    /// before it has been sent.
    pub(super) fn restart_point(&mut self, checkpoint: Lsn) -> Result<()> {
        if !self.restart.is_due() {
            return Ok(());
        }
        let window = sim::window("restart-point");
        let read = self.applied_before(checkpoint);
        self.ctx.pool().set_redo_position(read);
        self.ctx.pool().clean_up_to(self.restart.behind.min(read))?;
        self.remove_rolled_back()?;
        let open = [self.pending.oldest(), self.txns.oldest_open(), self.unexplained()?];
        let pages = self.ctx.pool().min_rec_lsn();
        let redo = open.into_iter().flatten().fold(read.min(pages), Lsn::min);
        self.restart.behind = read;
        self.restart.last = clock::now();
        if redo <= self.restart.redo() {
            return Ok(());
        }
        let TxLogStart { next_xid, next_multixact } = self.checkpoint_txns()?;
        self.counters.next_xid = self.counters.next_xid.max(next_xid);
        self.counters.next_multixact = self.counters.next_multixact.max(next_multixact.0);
        self.ctx.pool().files().await_inherited()?;
        self.ctx.pool().sync_all().map_err(|e| self.ctx.pool().files().or_fatal(e))?;
        let content = *self.restart.control.content();
        let content = Control { redo, checkpoint, counters: self.counters, ..content };
        let written = self.restart.control.write(content);
        written.map_err(|e| self.ctx.pool().files().or_fatal(e))?;
        self.report.restart_points += 1;
        drop(window);
        self.restart.window.get_or_insert_with(|| sim::window("redo-behind-restart-point"));
        Ok(())
    }

    /// Makes what redo has found out about transactions durable.
    fn checkpoint_txns(&mut self) -> Result<TxLogStart> {
        let written = self.txns.checkpoint();
        written.inspect_err(|error| self.ctx.pool().files().note_failed_sync(error))
    }

    /// Files whose makers have rolled back go now rather than at the end.
    fn remove_rolled_back(&mut self) -> Result<()> {
        let gone = self.pending.settle(|xid| self.txns.status(xid))?;
        if !gone.is_empty() {
            self.settle()?;
        }
        for rel in gone {
            self.ctx.remove(rel);
        }
        Ok(())
    }

    fn unexplained(&self) -> Result<Option<Lsn>> {
        let rolled_back = |xid: Xid| Ok(self.txns.status(xid)? == Status::Aborted);
        self.ctx.oldest_unexplained(rolled_back)
    }
}
