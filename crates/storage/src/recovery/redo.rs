//! Redo: reads the log from the redo point to its end and has every record applied by its room, pages by several
//! contexts where there are processors for it ([`super::lanes`]).

use super::control::{ControlFile, Counters};
use super::ctx::RedoCtx;
use super::files::{PendingFiles, garbled, u32_at};
use super::lanes::{Lanes, Prefetched};
use super::restart::RestartPoints;
use crate::buffer::Pool;
use crate::error::{Error, Result};
use crate::txlog::{Outcome, TxLog, TxLogConfig, TxLogStart, XactRedo};
use crate::txn::TxnRedo;
use crate::wal::{Kind, LogEnd, Reader, RecordView, Room, segment};
use crate::{btree, hash, heap, sequence};
use base::clock::{self, Instant};
use base::env::Env;
use base::rank::Rank;
use base::{Lsn, Xid};
use std::sync::Arc;
use std::time::Duration;

/// Records between two looks at the clock.
const PROGRESS_RECORDS: u64 = 4096;
/// Most contexts for pages.
const WORKERS_MAX: usize = 32;
/// Records that are applied before others are started to help.
const ALONE_RECORDS: u64 = 64;
/// Records between two looks at how far the others are.
const POSITION_RECORDS: u64 = 256;

/// What redo did; for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct RedoReport {
    /// Where it began.
    pub from: Lsn,
    /// Where the log ended.
    pub to: Lsn,
    /// Records read.
    pub records: u64,
    /// Pages that records were applied to.
    pub applied: u64,
    /// Pages that had the change already.
    pub skipped: u64,
    /// What became of pages that redo was to come to.
    pub prefetched: Prefetched,
    /// Restart points made on the way.
    pub restart_points: u64,
    /// How often it said how far it was.
    pub told: u64,
    /// How long it took.
    pub took: Duration,
}

/// Redo that has reached the end of the log; [`Redone::finish`] ends it once transactions can be asked.
pub struct Redone {
    /// Where the log ends.
    pub end: LogEnd,
    /// What to hand out next.
    pub counters: Counters,
    /// Figures.
    pub report: RedoReport,
    ctx: RedoCtx,
    pending: PendingFiles,
}

/// Redo at work.
pub(super) struct Redo<'c> {
    pub ctx: RedoCtx,
    /// Who applies what is about pages; `None`: this context.
    lanes: Option<Lanes>,
    pub txns: TxnRedo,
    pub pending: PendingFiles,
    pub counters: Counters,
    pub report: RedoReport,
    pub restart: RestartPoints<'c>,
    began: Instant,
    said: Instant,
    progress_every: Duration,
}

/// Applies the log from the control file's redo point on, with `workers` contexts for pages besides the one that reads
/// (fewer than two: none), which have their pages read ahead if `prefetches`, and with restart points not more often than
/// `restart_every`; it says how far it is every `progress_every`. Torn pages have been repaired, `pool` has no log.
pub fn run(
    env: &Env,
    file: &mut ControlFile,
    pool: &Arc<Pool>,
    txlog: &TxLogConfig,
    (workers, prefetches): (usize, bool),
    (restart_every, progress_every): (Duration, Duration),
) -> Result<Redone> {
    let control = *file.content();
    let mut reader = Reader::open(Arc::clone(&env.disk), control.shape, control.redo)?;
    let xact = XactRedo::begin(txlog, &env.disk, control.counters.next_xid)?;
    let now = clock::now();
    let ctx = RedoCtx::new(Arc::clone(pool));
    pool.set_redo_position(control.redo);
    let mut redo = Redo {
        lanes: None,
        ctx,
        txns: TxnRedo::new(xact, control.counters.transactions()),
        pending: PendingFiles::default(),
        counters: control.counters,
        report: RedoReport { from: control.redo, ..RedoReport::default() },
        restart: RestartPoints::new(file, restart_every),
        began: now,
        said: now,
        progress_every,
    };
    let mut checkpoint_seen = control.checkpoint == Lsn::ZERO;
    while let Some(record) = reader.read()? {
        checkpoint_seen |= record.at.start == control.checkpoint;
        // A clean start reads one record: nobody is started for that.
        if workers >= 2 && redo.lanes.is_none() && redo.report.records >= ALONE_RECORDS {
            redo.lanes = Some(Lanes::start(env, &redo.ctx, workers.min(WORKERS_MAX), prefetches));
        }
        redo.note_position(record.at.start);
        redo.txns.note(record.xid);
        redo.apply(&record)?;
        redo.progress(record.at.end);
    }
    let end = reader.end();
    // Both were durable before the control file said so (R2): a log that ends earlier has lost something.
    if !checkpoint_seen || end.epoch < control.epoch {
        let path = segment::path(control.shape.timeline, end.at.0 / control.shape.segment_bytes);
        let detail = format!("the log ends at {}, but the control file knows of more", end.at);
        return Err(Error::damaged(path, None, detail));
    }
    redo.end(end)
}

impl Redo<'_> {
    /// Before which position everything is applied, if everything before `read` was sent.
    pub(super) fn applied_before(&self, read: Lsn) -> Lsn {
        self.lanes.as_ref().map_or(read, |lanes| lanes.applied_before(read))
    }

    /// Pages that become dirty from now on keep the redo point where it must be.
    fn note_position(&self, start: Lsn) {
        match &self.lanes {
            None => self.ctx.pool().set_redo_position(start),
            Some(lanes) if self.report.records.is_multiple_of(POSITION_RECORDS) => {
                self.ctx.pool().set_redo_position(lanes.applied_before(start));
            }
            Some(_) => {}
        }
    }

    fn apply(&mut self, record: &RecordView<'_>) -> Result<()> {
        match record.kind.room() {
            Some(Room::Log) => self.apply_log(record),
            Some(Room::RelFile) => {
                self.settle()?;
                self.pending.redo(&self.ctx, record, &mut self.counters.next_rel)
            }
            Some(Room::Txn) => self.apply_txn(record),
            _ => match &mut self.lanes {
                Some(lanes) => lanes.send(record, self.ctx.drops()),
                None => apply_pages(&self.ctx, record),
            },
        }
    }

    /// Has everything read so far applied: files are about to change.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.lanes.as_mut().map_or(Ok(()), Lanes::settle)
    }

    fn apply_log(&mut self, record: &RecordView<'_>) -> Result<()> {
        match record.kind {
            Kind::CHECKPOINT => {
                let seen = Counters::decode(record.data).ok_or_else(|| garbled(record))?;
                self.counters = self.counters.max(&seen);
                self.restart_point(record.at.start)?;
            }
            Kind::NEXT_OID => {
                self.counters.next_oid = self.counters.next_oid.max(u32_at(record, 0)?);
            }
            Kind::FILLER => {}
            _ => return Err(garbled(record)),
        }
        Ok(())
    }

    fn apply_txn(&mut self, record: &RecordView<'_>) -> Result<()> {
        let Some(ended) = self.txns.apply(record)? else { return Ok(()) };
        if !ended.dropped.is_empty() {
            self.settle()?;
        }
        for rel in ended.dropped {
            self.ctx.remove(rel);
        }
        Ok(())
    }

    fn progress(&mut self, at: Lsn) {
        self.report.records += 1;
        if !self.report.records.is_multiple_of(PROGRESS_RECORDS) {
            return;
        }
        let now = clock::now();
        if now.since(self.said) >= self.progress_every {
            self.said = now;
            self.report.told += 1;
            let seconds = now.since(self.began).as_secs();
            let begin = self.restart.redo();
            base::log!(
                "redo in progress, {seconds} s, at {at}; after a crash it would begin at {begin}"
            );
        }
    }

    fn end(self, end: LogEnd) -> Result<Redone> {
        let (mut applied, mut skipped) = self.ctx.counts();
        let prefetched = self.lanes.as_ref().map_or(Prefetched::default(), Lanes::prefetched);
        if let Some(lanes) = self.lanes {
            let theirs = lanes.finish()?;
            applied += theirs.0;
            skipped += theirs.1;
        }
        let finished = self.txns.finish();
        let TxLogStart { next_xid, next_multixact } =
            finished.inspect_err(|error| self.ctx.pool().files().note_failed_sync(error))?;
        let took = clock::now().since(self.began);
        Ok(Redone {
            end,
            counters: Counters {
                next_xid,
                next_multixact: next_multixact.0.max(self.counters.next_multixact),
                ..self.counters
            },
            report: RedoReport { to: end.at, applied, skipped, prefetched, took, ..self.report },
            ctx: self.ctx,
            pending: self.pending,
        })
    }
}

impl Redone {
    /// Removes the files of transactions that did not commit, and fails if the log left something open.
    pub fn finish(self, txlog: &TxLog) -> Result<RedoReport> {
        let committed = |xid: Xid| Ok(matches!(txlog.outcome(xid)?, Outcome::Committed(_)));
        for (rel, xid) in self.pending.into_entries() {
            if !committed(xid)? {
                self.ctx.remove(rel);
            }
        }
        self.ctx.finish(committed)?;
        Ok(self.report)
    }
}

/// The rank of the main fork's pages of a record's relations; `None`: it is not about pages.
pub(super) fn rank_of_pages(record: &RecordView<'_>) -> Option<Rank> {
    match record.kind.room()? {
        Room::Buffer => rank_of(record.info),
        Room::Heap => Some(Rank::HeapPage),
        Room::BTree | Room::Hash => Some(Rank::IndexPage),
        Room::Sequence => Some(Rank::SequencePage),
        Room::Log | Room::RelFile | Room::Txn => None,
    }
}

/// Applies a record about pages.
pub(super) fn apply_pages(ctx: &RedoCtx, record: &RecordView<'_>) -> Result<()> {
    match record.kind.room() {
        Some(Room::Buffer) => apply_images(ctx, record),
        Some(Room::Heap) => heap::redo::redo(ctx, record),
        Some(Room::BTree) => btree::redo::redo(ctx, record),
        Some(Room::Sequence) => sequence::redo::redo(ctx, record),
        Some(Room::Hash) => hash::redo::redo(ctx, record),
        Some(Room::Log | Room::RelFile | Room::Txn) | None => Err(garbled(record)),
    }
}

/// Redo of whole pages. The record's info byte is the rank of the relation's main fork.
fn apply_images(ctx: &RedoCtx, record: &RecordView<'_>) -> Result<()> {
    let rank = rank_of(record.info).ok_or_else(|| garbled(record))?;
    for i in 0..record.block_count() {
        if !record.block(i).has_image() {
            return Err(garbled(record));
        }
        ctx.page(record, i, rank, |_, _| ())?;
    }
    Ok(())
}

/// The rank in a record's info byte.
pub(super) fn rank_of(code: u8) -> Option<Rank> {
    let ranks = [Rank::HeapPage, Rank::IndexPage, Rank::SequencePage];
    ranks.into_iter().find(|rank| *rank as u8 == code)
}
