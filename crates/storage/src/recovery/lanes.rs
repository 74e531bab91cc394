//! Redo of pages by several contexts.
//!
//! One context reads the log, in order, and does all that is not about pages. Each page belongs to one *lane*, by its
//! hash; a record goes to the lanes of the pages that it names, and each applies its pages' part and passes over the
//! rest. A lane applies its records in log order, so each page sees the same changes in the same order as it does alone,
//! and a change looks at nothing but the record and its page ([`RedoCtx::page`] gives it nothing else): the outcome is
//! the same, page for page.
//!
//! What changes files (making, cutting, dropping) is a *barrier*: everything before it is applied first, everything
//! after it later ([`Lanes::settle`]).
//!
//! Records wait for their lanes in batches. So when a record is sent, its pages are read ahead (`recovery_prefetch`), those
//! that are not made anew by it: as with a scan, no frame is waited for, and what can't be read is found out by the lane.
//!
//! What a lane changes is seldom in the processor's cache. So it looks at the pages of several records at once, by the
//! frames that the reader found them in, before it applies the first of them: they are fetched beside each other.
//!
//! A page that becomes dirty keeps the redo point where the oldest record is that some lane has not applied: earlier than
//! need be, never later.

use super::ctx::RedoCtx;
use super::handles::Handles;
use super::redo::{apply_pages, rank_of_pages};
use crate::buffer::{FrameHint, Pool};
use crate::error::{Error, Result, or_abort};
use crate::wal::{BlockView, RecordView};
use base::Lsn;
use base::env::{Background, Env};
use base::park::{self, Context};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// A lane's records are handed over so many bytes at a time, about.
const BATCH_BYTES: usize = 64 << 10;
/// Batches that may wait for a lane.
const WAITING_MAX: usize = 8;

/// Records whose pages a lane fetches beside each other.
const FETCHED_TOGETHER: usize = 8;

/// Records for one lane.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: Vec<Entry>,
}

/// A record of a batch.
struct Entry {
    start: Lsn,
    length: usize,
    /// Where the first of its pages that is the lane's was when the record was sent.
    frame: Option<FrameHint>,
}

/// A lane, as both sides know it.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<Batch>,
    /// Applied, their memory to be used again.
    spare: Vec<Batch>,
    /// First position of the batch that is being applied.
    applying: Option<Lsn>,
    closed: bool,
    failed: Option<Error>,
    worker: Option<Context>,
    /// Pages changed, and pages found changed already; told at the end.
    counts: (u64, u64),
}

/// The lanes, in the hands of who reads the log.
pub(super) struct Lanes {
    lanes: Vec<Arc<Mutex<Lane>>>,
    filling: Vec<Batch>,
    workers: Vec<Background>,
    pool: Arc<Pool>,
    handles: Handles,
    /// `recovery_prefetch`.
    prefetches: bool,
    prefetched: Prefetched,
}

/// What became of pages that redo was to come to, while `recovery_prefetch` is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prefetched {
    /// Read before redo came to them.
    pub read: u64,
    /// In memory, or on their way.
    pub hit: u64,
    /// Not read: redo makes them anew.
    pub skip_init: u64,
    /// Not read: their file ends before, or is gone.
    pub skip_new: u64,
    /// Not read: the log has an image of them.
    pub skip_image: u64,
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    lane.lock().expect("no code panics under it")
}

impl Batch {
    fn first(&self) -> Option<Lsn> {
        self.records.first().map(|entry| entry.start)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    fn apply(&self, ctx: &RedoCtx) -> Result<()> {
        let mut rest = &self.bytes[..];
        for entries in self.records.chunks(FETCHED_TOGETHER) {
            entries.iter().filter_map(|entry| entry.frame).for_each(|at| ctx.pool().fetch(at));
            for entry in entries {
                let (bytes, behind) = rest.split_at(entry.length);
                rest = behind;
                let record = RecordView::parse(bytes, entry.start);
                apply_pages(ctx, &record.expect("it was read from the log"))?;
            }
        }
        Ok(())
    }
}

impl Lane {
    /// The first position that is not applied.
    fn oldest(&self) -> Option<Lsn> {
        self.applying.or_else(|| self.waiting.front().and_then(Batch::first))
    }
}

impl Lanes {
    /// Starts `count` lanes, at least two, that note what they find as `ctx` does. They answer the calling context.
    pub fn start(env: &Env, ctx: &RedoCtx, count: usize, prefetches: bool) -> Lanes {
        let lanes: Vec<_> = (0..count).map(|_| Arc::<Mutex<Lane>>::default()).collect();
        let reader = park::current();
        let workers = lanes.iter().enumerate().map(|(i, lane)| {
            let (lane, ctx, reader) = (Arc::clone(lane), ctx.of_lane(i, count), reader.clone());
            env.spawn("redo", move || or_abort("redo", || work(&lane, &ctx, &reader)))
        });
        let workers = workers.collect();
        let filling = (0..count).map(|_| Batch::default()).collect();
        let pool = Arc::clone(ctx.pool());
        let (handles, prefetched) = (Handles::default(), Prefetched::default());
        Lanes { lanes, filling, workers, pool, handles, prefetches, prefetched }
    }

    /// Has a record applied by the lanes of its pages. `drops`: relations dropped so far.
    pub fn send(&mut self, record: &RecordView<'_>, drops: u64) -> Result<()> {
        let count = self.lanes.len();
        let mut taken = 0_u64;
        for block in record.blocks() {
            let lane = RedoCtx::lane_of(block.page, count);
            if taken >> lane & 1 == 1 {
                continue;
            }
            taken |= 1 << lane;
            let frame = self.prefetch(record, &block, drops);
            let batch = &mut self.filling[lane];
            batch.bytes.extend_from_slice(record.bytes());
            let (start, length) = (record.at.start, record.bytes().len());
            batch.records.push(Entry { start, length, frame });
            if batch.bytes.len() >= BATCH_BYTES {
                self.hand_over(lane)?;
            }
        }
        Ok(())
    }

    /// Has a page on its way that a lane will come to, unless its record makes it anew; answers where it is if it is in
    /// memory.
    fn prefetch(
        &mut self,
        record: &RecordView<'_>,
        block: &BlockView<'_>,
        drops: u64,
    ) -> Option<FrameHint> {
        let rank = rank_of_pages(record)?;
        let (fork, number) = (block.page.fork, block.page.block);
        let rel = self.handles.get(&self.pool, block.page.rel, rank, drops);
        if !self.prefetches {
            return rel.frame_hint(fork, number);
        }
        if block.has_image() || block.will_init {
            let skipped = &mut self.prefetched;
            let image = block.has_image();
            *(if image { &mut skipped.skip_image } else { &mut skipped.skip_init }) += 1;
            return None;
        }
        if let Some(hint) = rel.frame_hint(fork, number) {
            self.prefetched.hit += 1;
            return Some(hint);
        }
        // Where the file ends before, or is gone, redo itself finds out.
        let is_there = matches!(rel.blocks(fork), Ok(blocks) if number.0 < blocks);
        let counted = match () {
            () if !is_there => &mut self.prefetched.skip_new,
            () if rel.prefetch(fork, number) => &mut self.prefetched.read,
            () => &mut self.prefetched.hit,
        };
        *counted += 1;
        None
    }

    fn hand_over(&mut self, i: usize) -> Result<()> {
        if self.filling[i].records.is_empty() {
            return Ok(());
        }
        self.wait(i, |lane| lane.waiting.len() < WAITING_MAX)?;
        let worker = {
            let mut lane = lock(&self.lanes[i]);
            let next = lane.spare.pop().unwrap_or_default();
            lane.waiting.push_back(std::mem::replace(&mut self.filling[i], next));
            lane.worker.clone()
        };
        // One that has not begun looks before it parks.
        if let Some(worker) = worker {
            worker.unpark();
        }
        Ok(())
    }

    /// Parks until the lane is as wanted; fails with what the lane failed with.
    fn wait(&self, i: usize, is_so: impl Fn(&Lane) -> bool) -> Result<()> {
        loop {
            {
                let mut lane = lock(&self.lanes[i]);
                if let Some(error) = lane.failed.take() {
                    return Err(error);
                }
                if is_so(&lane) {
                    return Ok(());
                }
            }
            park::park();
        }
    }

    /// Returns when everything sent is applied.
    pub fn settle(&mut self) -> Result<()> {
        (0..self.lanes.len()).try_for_each(|i| self.hand_over(i))?;
        (0..self.lanes.len()).try_for_each(|i| self.wait(i, |lane| lane.oldest().is_none()))
    }

    /// Before which position everything is applied, if everything before `read` was sent.
    pub fn applied_before(&self, read: Lsn) -> Lsn {
        let filling = self.filling.iter().filter_map(Batch::first);
        let theirs = self.lanes.iter().filter_map(|lane| lock(lane).oldest());
        filling.chain(theirs).fold(read, Lsn::min)
    }

    /// Pages that were on their way before a lane came to them.
    pub fn prefetched(&self) -> Prefetched {
        self.prefetched
    }

    /// Returns when everything is applied; how many pages were changed, and how many had the change already.
    pub fn finish(mut self) -> Result<(u64, u64)> {
        self.settle()?;
        self.close();
        let counts = self.lanes.iter().map(|lane| lock(lane).counts);
        Ok(counts.fold((0, 0), |sum, lane| (sum.0 + lane.0, sum.1 + lane.1)))
    }

    fn close(&mut self) {
        for lane in &self.lanes {
            let mut lane = lock(lane);
            lane.closed = true;
            // What is left after an error is of no use.
            lane.waiting.clear();
            if let Some(worker) = &lane.worker {
                worker.unpark();
            }
        }
        self.workers.drain(..).for_each(Background::join);
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.close();
    }
}

/// Body of a lane's context.
fn work(lane: &Mutex<Lane>, ctx: &RedoCtx, reader: &Context) {
    lock(lane).worker = Some(park::current());
    loop {
        let batch = {
            let mut lane = lock(lane);
            if lane.closed {
                lane.counts = ctx.counts();
                return;
            }
            let batch = lane.waiting.pop_front();
            if let Some(batch) = &batch {
                lane.applying = batch.first();
            }
            batch
        };
        let Some(mut batch) = batch else {
            park::park();
            continue;
        };
        let done = batch.apply(ctx);
        batch.clear();
        {
            let mut lane = lock(lane);
            lane.spare.push(batch);
            match done {
                Ok(()) => lane.applying = None,
                Err(failed) => {
                    // Nothing from there on is applied, and no restart point may come to lie behind it.
                    lane.failed = Some(failed);
                    lane.waiting.clear();
                }
            }
        }
        reader.unpark();
    }
}

#[cfg(test)]
mod tests;
