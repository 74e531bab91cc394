//! Writing pages: batches of copies, through the double-write area, into their places.
//!
//! For each batch, in this order: copy every page under a shared latch and seal the copy; make the log
//! durable up to the highest LSN among them; copies to the double-write area, synced; in-place writes. Then
//! the frames may go: the system's cache has the pages. Their files are synced some batches later ([`sync`]),
//! and until then the batch's oldest position is kept there. Unlogged and temporary pages need neither
//! log nor area nor sync: a crash empties them. The system is had to start with unlogged ones ([`writeback`]).
//!
//! [`sync`]: super::sync
//! [`writeback`]: super::writeback
//!
//! A page that can't be written holds up nobody else's: the rest of its batch is written all the same. That ends with as many
//! such pages as a batch has room for, since each is in every batch.
//!
//! The writer never waits for a page latch. Whoever holds one may itself be waiting for a frame, that is for
//! this writer; a page that is latched alone is left for the next batch.

use super::doublewrite::{self, Area, BATCH_MAX};
use super::frame::Frame;
use super::io::Timed;
use super::latch;
use super::pool::{Pool, count};
use super::word::Attempt;
use super::writeback::Unstarted;
use super::{Config, TornPages};
use crate::error::{Error, Result, fatal};
use crate::page::{self, PAGE_BYTES};
use crate::relfile::RelFiles;
use base::disk::{Disk, Room};
use base::env::Env;
use base::park;
use base::sync::unmodelled::{AtomicU64, Ordering};
use base::wait_event::{self, Event};
use base::{Lsn, PageId};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The one writer's tools; under a latch.
pub(super) struct Writer {
    pub(super) area: Option<Area>,
    pub(super) disk: Arc<dyn Disk>,
    /// Number of the last batch of an area that was given up.
    pub(super) last_batch: u64,
    /// A page for the area's header, then the copies.
    room: Room,
    copies: Vec<Copy>,
    /// Sealed copies whose in-place write failed: the page on disk may be torn, so the area must hold them
    /// until a write succeeds.
    pub(super) carried: Vec<(PageId, Box<[u8]>)>,
    unstarted: Unstarted,
    /// Highest LSN among the copies.
    lsn_max: Lsn,
    /// Lowest first-dirty position among the copies.
    rec_min: Lsn,
}

/// One copy in the writer's room.
struct Copy {
    page: PageId,
    /// The double-write area must hold it: the log can't make the page anew if it gets torn.
    guarded: bool,
    /// The frame it came from, pinned; a carried copy has none.
    frame: Option<u32>,
    /// Its place has it.
    written: bool,
}

/// What became of a batch.
#[must_use]
pub(super) struct Batch {
    /// Frames whose pages were written to their places.
    pub written: usize,
    /// The first thing that went wrong with the others.
    pub failed: Option<Error>,
}

impl Batch {
    const EMPTY: Batch = Batch { written: 0, failed: None };

    /// How many frames were written, if none failed.
    pub fn all(self) -> Result<usize> {
        self.failed.map_or(Ok(self.written), Err)
    }
}

/// What a cleaning step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CleanStep {
    /// Pages written to their places.
    pub written: usize,
    /// Whether pages are left that need log from before the goal.
    pub more: bool,
}

impl Writer {
    pub fn open(env: &Env, config: &Config, files: &RelFiles) -> Result<Writer> {
        let area = match config.torn_pages {
            TornPages::DoubleWrite | TornPages::FullPageWrites => Some(Area::open(&*env.disk, 0)?),
            TornPages::Off => {
                // Its copies are all that mends pages of which an earlier process has left a part on the disk.
                if doublewrite::is_there(&*env.disk)? {
                    files.await_inherited()?;
                    doublewrite::remove(&*env.disk)?;
                }
                None
            }
        };
        Ok(Writer {
            area,
            disk: Arc::clone(&env.disk),
            last_batch: 0,
            room: Room::new((1 + BATCH_MAX) * PAGE_BYTES),
            copies: Vec::with_capacity(BATCH_MAX),
            carried: Vec::new(),
            unstarted: Unstarted::default(),
            lsn_max: Lsn::ZERO,
            rec_min: Lsn::MAX,
        })
    }

    /// Number of the last batch in the double-write area.
    pub fn last_batch(&self) -> u64 {
        self.area.as_ref().map_or(self.last_batch, Area::sequence)
    }

    /// The bytes of copies `which`.
    fn bytes(&mut self, which: Range<usize>) -> &mut [u8] {
        &mut self.room[(1 + which.start) * PAGE_BYTES..(1 + which.end) * PAGE_BYTES]
    }

    fn copy_at(&mut self, at: usize) -> &mut [u8; PAGE_BYTES] {
        self.bytes(at..at + 1).try_into().expect("a page")
    }

    /// How many copies, from the first, the double-write area must hold: all up to the last guarded one.
    fn protected(&self) -> usize {
        match self.area {
            Some(_) => self.copies.iter().rposition(|c| c.guarded).map_or(0, |last| last + 1),
            None => 0,
        }
    }

    /// The copies from `start` on that are neighbours on disk and are written in one call; page by page where that goes
    /// through the system's cache. What one call writes there Linux keeps as one stretch, and when a page of it is written
    /// later it walks through the stretch's blocks to find its own, and takes the whole for dirty: of half a megabyte of
    /// single pages that are to be started with it would write eight. Figures: README, "Page by page".
    fn run_from(&self, start: usize, cached: bool) -> Range<usize> {
        let first = self.copies[start].page;
        let follows = |(i, copy): &(usize, &Copy)| {
            let PageId { rel, fork, block } = copy.page;
            (rel, fork) == (first.rel, first.fork) && block.0 == first.block.0 + *i as u32
        };
        let most = if cached { 1 } else { BATCH_MAX };
        let run = self.copies[start..].iter().take(most).enumerate();
        let run = run.take_while(follows).count();
        start..start + run
    }
}

/// Whether the writer is at a batch, and at which: who waits for a frame tells a disk that takes its time from one that
/// refuses.
#[derive(Default)]
pub(super) struct Progress(AtomicU64);

impl Progress {
    // Relaxed throughout: by what is read here a wait is longer or shorter, no more.
    fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of the batch that the disk or the log has not taken yet.
    pub fn under_way(&self) -> Option<u64> {
        let turn = self.0.load(Ordering::Relaxed);
        (turn % 2 == 1).then_some(turn)
    }
}

impl Pool {
    /// Writes the frames that are dirty and not latched alone. Takes at most a batch of them.
    pub(super) fn write_frames(&self, frames: &[u32]) -> Batch {
        if let Err(failed) = self.files.await_inherited() {
            return Batch { written: 0, failed: Some(failed) };
        }
        let frames = self.in_file_order(frames);
        let mut writer = self.writer.lock();
        self.make_copies(&mut writer, &frames);
        if writer.copies.is_empty() {
            return Batch::EMPTY;
        }
        self.progress.begin();
        let failed = self.write_copies(&mut writer).err();
        self.progress.end();
        let mut written = 0;
        for (index, copy) in writer.copies.iter().filter_map(|copy| Some((copy.frame?, copy))) {
            let frame = &self.frames[index as usize];
            if copy.written {
                frame.end_flush();
                written += 1;
            } else {
                self.dirty.restore(frame);
            }
            frame.word.unpin();
        }
        let due = self.writeback_due(&mut writer.unstarted);
        drop(writer);
        self.start_writeback(&due);
        count(&self.counters.batches, 1);
        count(&self.counters.written, written as u64);
        count(&self.counters.write_errors, failed.is_some().into());
        Batch { written, failed }
    }

    /// Each frame once, in the order of their pages in files, as far as a look without a latch tells: one look at each, since
    /// it may hold another page at the next. Logged relations have the low ids.
    pub(super) fn in_file_order(&self, frames: &[u32]) -> Vec<u32> {
        let mut frames = frames.to_vec();
        frames.sort_unstable();
        frames.dedup();
        frames.sort_by_cached_key(|index| self.frames[*index as usize].place_hint());
        frames
    }

    /// Fills the writer's room: first what earlier batches owe, then copies of the frames.
    fn make_copies(&self, writer: &mut Writer, frames: &[u32]) {
        let Writer { room, copies, carried, lsn_max, rec_min, .. } = writer;
        copies.clear();
        (*lsn_max, *rec_min) = (Lsn::ZERO, Lsn::MAX);
        for ((page, bytes), to) in carried.iter().zip(room[PAGE_BYTES..].chunks_mut(PAGE_BYTES)) {
            to.copy_from_slice(bytes);
            copies.push(Copy { page: *page, guarded: true, frame: None, written: false });
        }
        for index in frames {
            if writer.copies.len() == BATCH_MAX {
                break;
            }
            self.make_copy(writer, &self.frames[*index as usize]);
        }
    }

    /// Copies and seals one page, and keeps its frame pinned; or leaves it, if it is clean, latched or copied already.
    pub(super) fn make_copy(&self, writer: &mut Writer, frame: &Frame) {
        if frame.word.try_pin().is_err() {
            return;
        }
        match frame.word.try_shared() {
            Attempt::Taken => {}
            Attempt::Refused { wake } => {
                if wake {
                    latch::wake(&frame.word);
                }
                return frame.word.unpin();
            }
        }
        // A copy on its way is this batch's, and the page has become dirty again since: its position is kept in `flushing`,
        // which has no room for another. Relaxed: the one is set under the exclusive latch and cleared under the
        // writer's, the other changes under the writer's.
        let on_its_way = frame.flushing.load(Ordering::Relaxed) != 0;
        if on_its_way || frame.rec_lsn.load(Ordering::Relaxed) == 0 {
            latch::unlock_shared(frame);
            return frame.word.unpin();
        }
        let (page, view, at) = (frame.page_id(), self.view(frame), writer.copies.len());
        view.copy_out(0, writer.copy_at(at));
        if page.rel.is_logged() {
            writer.lsn_max = writer.lsn_max.max(view.lsn());
        }
        // Relaxed: set and cleared under the exclusive latch. Under `full_page_writes` the log has an image of
        // the page since it became dirty, unless no record came: a row was only locked, or redo changed it.
        let imaged = !frame.owes_image.load(Ordering::Relaxed);
        let guarded = page.rel.is_logged() && !imaged;
        writer.rec_min = writer.rec_min.min(frame.begin_flush());
        latch::unlock_shared(frame);
        page::seal(writer.copy_at(at), page);
        writer.copies.push(Copy { page, guarded, frame: Some(frame.index), written: false });
    }

    /// Brings the copies to disk, as many as it takes, and marks those.
    ///
    /// # Errors
    /// The first that was met.
    fn write_copies(&self, writer: &mut Writer) -> Result<()> {
        // Log first: no change may reach the disk before its record.
        self.flush_log(writer.lsn_max);
        let protected = writer.protected();
        let window = if protected > 0 { "double-write" } else { "write-in-place" };
        let _window = base::sim::window(window);
        if protected > 0 {
            self.guard_copies(writer, protected)?;
        }
        let cached = !self.files.is_direct();
        let mut first = None;
        let mut at = 0;
        while at < writer.copies.len() {
            let run = writer.run_from(at, cached);
            at = run.end;
            let Err(error) = self.write_run(writer, run.clone()) else { continue };
            first.get_or_insert(error);
            if run.len() > 1 {
                // Its pages one by one: one of them may be all that is bad.
                run.for_each(|at| drop(self.write_run(writer, at..at + 1)));
            }
        }
        let behind = self.places.written(writer.last_batch(), writer.rec_min);
        if writer.area.as_mut().is_some_and(|area| area.is_filling(behind)) {
            self.places.ask();
        }
        first.map_or(Ok(()), Err)
    }

    /// Brings so many copies to the double-write area.
    fn guard_copies(&self, writer: &mut Writer, protected: usize) -> Result<()> {
        let pages: Vec<PageId> = writer.copies[..protected].iter().map(|c| c.page).collect();
        let Writer { area, room, carried, .. } = writer;
        let area = area.as_mut().expect("nothing is protected without one");
        let room = &mut room[..(1 + protected) * PAGE_BYTES];
        loop {
            while !area.make_room(self.places.synced()) {
                self.places.sync(self);
            }
            match area.write(&pages, room, self.places.synced(), !carried.is_empty()) {
                // In the areas that there are, when they have been synced.
                Err(_) if area.do_without_new() => {}
                done => return done,
            }
        }
    }

    /// Writes copies that are neighbours on disk to their places. What fails may be half done: it is carried on.
    fn write_run(&self, writer: &mut Writer, run: Range<usize>) -> Result<()> {
        let page = writer.copies[run.start].page;
        let timed = Timed::start();
        let done = self.files.write(page, writer.bytes(run.clone()));
        self.io.written(page.rel, run.len(), &timed);
        self.note_unstarted(&mut writer.unstarted, page, run.len());
        for at in run {
            let page = writer.copies[at].page;
            writer.copies[at].written = done.is_ok();
            // A later copy of a page says more than one that was carried on.
            writer.carried.retain(|(carried, _)| *carried != page);
            if done.is_err() && writer.area.is_some() && page.rel.is_logged() {
                let bytes = writer.copy_at(at).to_vec().into();
                writer.carried.push((page, bytes));
            }
        }
        done
    }

    /// Forgets what the writer still owes to pages that are gone.
    pub(super) fn forget_copies(&self, gone: impl Fn(PageId) -> bool) {
        self.writer.lock().carried.retain(|(page, _)| !gone(*page));
    }

    /// Writes up to a batch of the pages that need log from before `below`, oldest first. When no more are left
    /// they are durable, too: then `min_rec_lsn() >= below`.
    pub fn clean_step(&self, below: Lsn) -> Result<CleanStep> {
        let mut frames = Vec::with_capacity(BATCH_MAX);
        self.dirty.collect(&self.frames, below, BATCH_MAX, &mut frames);
        let written = self.write_frames(&frames).all()?;
        let more = self.dirty.oldest(&self.frames).is_some_and(|oldest| oldest < below);
        if !more && self.places.oldest() < below {
            self.places.sync(self);
        }
        Ok(CleanStep { written, more })
    }

    /// Writes until no page needs log from before `below`: then `min_rec_lsn() >= below`. Waits for pages that
    /// are latched alone.
    pub fn clean_up_to(&self, below: Lsn) -> Result<()> {
        loop {
            let step = self.clean_step(below)?;
            if !step.more {
                return Ok(());
            }
            if step.written == 0 {
                let _waiting = wait_event::during(Event::Checkpoint);
                park::sleep(Duration::from_micros(100));
            }
        }
    }

    /// Writes every dirty page, unlogged ones too, and makes all files durable: for a clean stop. Nobody may
    /// change pages meanwhile.
    pub fn clean_all(&self) -> Result<()> {
        loop {
            let dirty = self.frames.iter().filter(|frame| frame.is_dirty());
            let dirty: Vec<u32> = dirty.map(|frame| frame.index).collect();
            if dirty.is_empty() {
                break;
            }
            let (mut written, mut failed) = (0, None);
            for batch in self.in_file_order(&dirty).chunks(BATCH_MAX) {
                let batch = self.write_frames(batch);
                written += batch.written;
                failed = failed.or(batch.failed);
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if written == 0 {
                let _waiting = wait_event::during(Event::Checkpoint);
                park::sleep(Duration::from_micros(100));
            }
        }
        self.places.sync(self);
        if let Err(error) = self.sync_all() {
            fatal(&format!("{error}; what the system dropped can't be known"));
        }
        Ok(())
    }
}
