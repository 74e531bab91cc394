//! Background cleaning: dead rows go, index entries first. See the README beside this file.

mod pace;
mod queue;
mod worker;

pub use pace::{Pace, Unhurried};
pub use queue::Queue;
pub use worker::{Analyze, Clean, HandedOver, Open, Opened, WorkerStats, Workers};

use crate::btree::IndexCleaning;
use crate::buffer::{Passage, Purpose, Reach, ReadAhead, Relation};
use crate::error::Result;
use crate::heap::{HeapRel, Phase, vm};
use crate::index::Index;
use base::wait_event::{self, Event};
use base::{BlockNo, Fork, Tid, sim};
use std::time::Duration;

/// So many empty pages at the end are given back, or one in so many of the table, as in PostgreSQL.
const TAIL_MIN: u32 = 1000;
const TAIL_ONE_IN: u32 = 16;
/// How often, and how long apart, the table is asked for.
const ALONE_TRIES: u32 = 100;
const ALONE_WAIT: Duration = Duration::from_millis(50);

/// Dead rows remembered at a time; with more, the indexes are cleaned more than once. 8 bytes each.
pub const DEAD_MAX: usize = 4 << 20;

/// With fewer pages of this many that have dead line pointers, the indexes may be left alone, as in PostgreSQL: to go
/// through them would cost much and give little back.
const BYPASS_ONE_IN: u32 = 50;

/// Whether index entries of dead rows are removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IndexCleanup {
    /// Unless few pages have any.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never: a later vacuum has them to do, and the rows' line pointers.
    Off,
}

/// What became of the indexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IndexScans {
    /// No entry was to be removed.
    #[default]
    NotNeeded,
    /// They were gone through.
    Needed,
    /// Entries were left for a later vacuum.
    Bypassed,
}

/// How a vacuum goes about it.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Looks at pages that the visibility map calls all visible, too.
    pub every_page: bool,
    /// Background work: rests most of the time, and ends early once somebody waits for the table.
    pub background: Option<Unhurried<'o>>,
    /// Whether index entries of dead rows go.
    pub index_cleanup: IndexCleanup,
    /// How far it reads ahead; `None`: as the pool does.
    pub reach: Option<Reach>,
    /// Whose vacuum it is, for those who watch.
    pub pid: i32,
    /// How empty pages at the end are given back; `None`: they stay.
    pub alone: Option<&'o Alone<'o>>,
}

/// How a vacuum gets the table for itself for a moment, to cut empty pages off its end.
pub struct Alone<'o> {
    /// Tries to lock everybody else out, without waiting; tells whether it has.
    pub take: &'o dyn Fn() -> Result<bool>,
    /// Lets them in again.
    pub give: &'o dyn Fn(),
    /// Whether somebody waits for the table.
    pub waited_for: &'o dyn Fn() -> bool,
    /// Cuts the main fork to so many blocks, logged.
    pub cut: &'o dyn Fn(&Relation, u32) -> Result<()>,
}

/// What a vacuum did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Heap pages there were.
    pub pages: u32,
    /// Empty ones of them, at the end, that were given back.
    pub pages_removed: u32,
    /// Heap pages looked at.
    pub pages_scanned: u32,
    /// Pages that are all visible now, skipped ones included.
    pub pages_all_visible: u32,
    /// Versions removed.
    pub removed: u64,
    /// Versions that ended but may still be seen.
    pub recently_dead: u64,
    /// Versions left on the pages looked at.
    pub live: u64,
    /// Rows of the whole table, by that and by what was known before; `None`: nothing tells.
    pub rows: Option<u64>,
    /// Line pointers set free after the indexes were cleaned.
    pub lines_freed: u64,
    /// Dead line pointers met, and the pages they were met on.
    pub lines_dead: u64,
    /// See there.
    pub pages_with_dead: u32,
    /// Why the indexes were gone through, or not.
    pub index_scans: IndexScans,
    /// Times the indexes were gone through.
    pub index_passes: u32,
    /// What was done in each index.
    pub indexes: Vec<IndexCleaning>,
    /// It ended early, because somebody waits for the table; what was not cleaned is left to another one.
    pub gave_way: bool,
    /// Enough was left for snapshots that are still open to come back for.
    pub come_back: bool,
}

/// Cleans a table with all of its indexes; foreground work goes on. The caller keeps indexes from being added
/// meanwhile; a second vacuum of the table waits.
pub fn vacuum(heap: &HeapRel, indexes: &[Index], options: &Options<'_>) -> Result<Report> {
    let _alone = heap.vacuum_latch().lock();
    run(heap, indexes, options)
}

/// As [`vacuum`], but not if another vacuum is at the table: `None` then.
pub fn try_vacuum(
    heap: &HeapRel,
    indexes: &[Index],
    options: &Options<'_>,
) -> Result<Option<Report>> {
    match heap.vacuum_latch().try_lock() {
        Some(_alone) => run(heap, indexes, options).map(Some),
        None => Ok(None),
    }
}

fn run(heap: &HeapRel, indexes: &[Index], options: &Options<'_>) -> Result<Report> {
    // Only durable commits count for what is visible to all, and nobody would come back for the one that called.
    heap.flush_log();
    heap.txns().refresh();
    let horizon = heap.txns().horizon();
    let background = options.background.is_some();
    let began = heap.note_cleaning();
    let _watched = heap.progress().begin(options.pid, background);
    let pages = heap.relation().blocks(Fork::Main)?;
    heap.progress().has_blocks(pages);
    let reach = options.reach.unwrap_or(heap.relation().owner().reach());
    let passage = Passage::new(heap.relation().owner(), reach, Purpose::Vacuum);
    let ahead = passage.ahead(heap.relation());
    let mut pass = Pass {
        heap,
        index_cleanup: options.index_cleanup,
        indexes,
        every_page: options.every_page,
        pace: Pace::new(options.background),
        passage,
        ahead,
        dead: Vec::new(),
        end_of_rows: 0,
        report: Report {
            pages,
            indexes: vec![IndexCleaning::default(); indexes.len()],
            ..Report::default()
        },
    };
    let done = pass.run().and_then(|()| pass.cut_tail(options.alone));
    let Pass { pace, mut report, .. } = pass;
    if done.is_err() && pace.gave_way {
        report.gave_way = true;
        return Ok(report);
    }
    done?;
    let left = report.recently_dead;
    let scanned = report.pages_scanned;
    let cleaned =
        heap.note_cleaned(horizon, &began, report.live, left, (scanned, pages), background);
    (report.come_back, report.rows) = (cleaned.again, cleaned.rows);
    if report.pages_removed > 0 {
        heap.was_cut(pages - report.pages_removed);
    }
    Ok(report)
}

struct Pass<'v> {
    heap: &'v HeapRel,
    indexes: &'v [Index],
    every_page: bool,
    index_cleanup: IndexCleanup,
    pace: Pace<'v>,
    passage: Passage,
    /// Of the pass through the heap.
    ahead: ReadAhead,
    /// Dead line pointers met since the indexes were last cleaned; ascending.
    dead: Vec<Tid>,
    /// Behind the last page that has a row, as far as pages were looked at.
    end_of_rows: u32,
    report: Report,
}

impl Pass<'_> {
    fn run(&mut self) -> Result<()> {
        for block in (0..self.report.pages).map(BlockNo) {
            self.page(block)?;
            self.heap.progress().scanned(block.0 + 1, self.dead.len());
            if self.dead.len() >= DEAD_MAX {
                self.clean_indexes()?;
            }
        }
        if self.is_bypass_worth_it() {
            self.index_cleanup = IndexCleanup::Off;
        }
        self.clean_indexes()
    }

    /// Whether so few pages have dead line pointers that the indexes are better left alone, if that may be.
    fn is_bypass_worth_it(&self) -> bool {
        let Report { pages, pages_with_dead, index_passes, .. } = self.report;
        self.index_cleanup == IndexCleanup::Auto
            && index_passes == 0
            && u64::from(pages_with_dead) * u64::from(BYPASS_ONE_IN) < u64::from(pages)
    }

    /// Has the pages on their way that come after `block` and are not skipped.
    fn look_ahead(&mut self, block: BlockNo) {
        let (rel, every_page) = (self.heap.relation(), self.every_page);
        let places = block.0..self.report.pages;
        let at = |place| {
            // What can't be told now is told when it is the page's turn.
            let is_due = |block| vm::get(rel, block).is_ok_and(|bits| bits & vm::ALL_VISIBLE == 0);
            Some(BlockNo(place)).filter(|block| every_page || is_due(*block))
        };
        self.passage.look(&mut self.ahead, rel, places, at);
    }

    fn page(&mut self, block: BlockNo) -> Result<()> {
        let bits = vm::get(self.heap.relation(), block)?;
        if !self.every_page && bits & vm::ALL_VISIBLE != 0 {
            base::interrupt::check()?;
            base::park::checkpoint();
            self.report.pages_all_visible += 1;
            return Ok(());
        }
        self.pace.rest()?;
        self.look_ahead(block);
        let done = self.heap.clean_page(
            &mut self.passage.ring,
            block,
            !self.indexes.is_empty(),
            &mut self.dead,
        )?;
        let report = &mut self.report;
        report.pages_scanned += 1;
        report.pages_all_visible += u32::from(done.all_visible);
        report.removed += u64::from(done.removed);
        report.lines_dead += u64::from(done.dead_lines);
        report.pages_with_dead += u32::from(done.dead_lines > 0);
        report.recently_dead += u64::from(done.recently_dead);
        report.live += u64::from(done.live);
        if done.live + done.recently_dead > 0 {
            self.end_of_rows = block.0 + 1;
        }
        Ok(())
    }

    /// Gives the empty pages at the end back, if they are many enough and the table is to be had.
    fn cut_tail(&mut self, alone: Option<&Alone<'_>>) -> Result<()> {
        let pages = self.report.pages;
        let tail = pages - self.end_of_rows;
        let is_worth_it = tail >= TAIL_MIN || tail >= pages / TAIL_ONE_IN;
        let Some(alone) = alone.filter(|_| tail > 0 && is_worth_it) else { return Ok(()) };
        // Pages that were skipped may have rows.
        if self.has_rows(pages - 1)? {
            return Ok(());
        }
        self.heap.progress().enters(Phase::Truncate);
        for _ in 0..ALONE_TRIES {
            base::interrupt::check()?;
            if (alone.take)()? {
                let done = self.cut_tail_alone(alone);
                (alone.give)();
                return done;
            }
            if (alone.waited_for)() || self.pace.is_background() {
                break;
            }
            let _waiting = wait_event::during(Event::VacuumTruncate);
            base::park::sleep(ALONE_WAIT);
        }
        Ok(())
    }

    fn has_rows(&mut self, block: u32) -> Result<bool> {
        let page = self.passage.read(self.heap.relation(), BlockNo(block))?;
        Ok(!page.is_new() && page.line_count() > 0)
    }

    fn cut_tail_alone(&mut self, alone: &Alone<'_>) -> Result<()> {
        let (rel, pages) = (self.heap.relation(), self.report.pages);
        if rel.blocks(Fork::Main)? != pages {
            // Somebody has come for room: it is wanted.
            return Ok(());
        }
        let ring = &mut self.passage.ring;
        let end = self.heap.end_of_rows(ring, pages, alone.waited_for)?;
        if end == pages {
            return Ok(());
        }
        let _window = sim::window("heap-cut");
        self.heap.forget_targets(end);
        (alone.cut)(rel, end)?;
        self.report.pages_removed = pages - end;
        Ok(())
    }

    /// Removes every entry that leads to a dead line pointer, then the line pointers (H3).
    fn clean_indexes(&mut self) -> Result<()> {
        if self.dead.is_empty() {
            return Ok(());
        }
        if self.index_cleanup == IndexCleanup::Off {
            self.report.index_scans = IndexScans::Bypassed;
            self.dead.clear();
            return Ok(());
        }
        self.report.index_scans = IndexScans::Needed;
        debug_assert!(self.dead.is_sorted(), "pages are visited in order");
        let progress = self.heap.progress();
        progress.enters(Phase::Indexes);
        let dead = std::mem::take(&mut self.dead);
        self.report.index_passes += 1;
        let (pace, passage) = (&mut self.pace, &mut self.passage);
        for (index, sum) in self.indexes.iter().zip(&mut self.report.indexes) {
            let mut is_dead = |tid| dead.binary_search(&tid).is_ok();
            let done = index.vacuum(passage, &mut is_dead, &mut || pace.rest())?;
            sum.entries = done.entries;
            sum.pages = done.pages;
            sum.removed += done.removed;
            sum.pages_deleted += done.pages_deleted;
            (sum.blocks, sum.empty, sum.reusable) = (done.blocks, done.empty, done.reusable);
        }
        progress.indexes_done();
        let pages: Vec<&[Tid]> = dead.chunk_by(|a, b| a.block == b.block).collect();
        let mut ahead = self.passage.ahead(self.heap.relation());
        for (place, page) in pages.iter().enumerate() {
            self.pace.rest()?;
            let places = place as u32..pages.len() as u32;
            let at = |place: u32| Some(pages[place as usize][0].block);
            let rel = self.heap.relation();
            self.passage.look(&mut ahead, rel, places, at);
            progress.reclaimed(page[0].block.0 + 1);
            let offsets: Vec<u16> = page.iter().map(|tid| tid.offset).collect();
            let ring = &mut self.passage.ring;
            let visible = self.heap.reclaim_lines(ring, page[0].block, &offsets)?;
            self.report.lines_freed += offsets.len() as u64;
            self.report.pages_all_visible += u32::from(visible);
        }
        progress.enters(Phase::Heap);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
