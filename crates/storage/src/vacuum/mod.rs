//! Background cleaning: dead rows go, index entries first. See the README beside this file.

mod queue;
mod worker;

pub use queue::Queue;
pub use worker::{Open, Worker};

use crate::btree::{BTree, IndexCleaning};
use crate::buffer::Ring;
use crate::error::Result;
use crate::heap::{HeapRel, vm};
use base::{BlockNo, Fork, Tid};
use std::sync::Arc;
use std::time::Duration;

/// Pages that a vacuum goes round in.
const RING_PAGES: usize = 32;

/// Dead rows remembered at a time; with more, the indexes are cleaned more than once. 8 bytes each.
const DEAD_MAX: usize = 4 << 20;

/// Heap pages between two pauses of a background vacuum.
const PAUSE_EVERY: u32 = 64;

/// How a vacuum goes about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Looks at pages that the visibility map calls all visible, too.
    pub every_page: bool,
    /// Rests this long every few pages: for background work.
    pub pause: Option<Duration>,
}

/// What a vacuum did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Heap pages there were.
    pub pages: u32,
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
    /// Line pointers set free after the indexes were cleaned.
    pub lines_freed: u64,
    /// Times the indexes were gone through.
    pub index_passes: u32,
    /// What was done in each index.
    pub indexes: Vec<IndexCleaning>,
}

/// Cleans a table with all of its indexes; foreground work goes on. The caller keeps indexes from being added
/// meanwhile; a second vacuum of the table waits.
pub fn vacuum(heap: &HeapRel, indexes: &[Arc<BTree>], options: &Options) -> Result<Report> {
    let _alone = heap.vacuum_latch().lock();
    run(heap, indexes, options)
}

/// As [`vacuum`], but not if another vacuum is at the table: `None` then.
pub fn try_vacuum(
    heap: &HeapRel,
    indexes: &[Arc<BTree>],
    options: &Options,
) -> Result<Option<Report>> {
    match heap.vacuum_latch().try_lock() {
        Some(_alone) => run(heap, indexes, options).map(Some),
        None => Ok(None),
    }
}

fn run(heap: &HeapRel, indexes: &[Arc<BTree>], options: &Options) -> Result<Report> {
    let activity = heap.activity();
    heap.txns().refresh();
    let mut pass = Pass {
        heap,
        indexes,
        options,
        ring: Ring::new(RING_PAGES),
        dead: Vec::new(),
        report: Report {
            pages: heap.relation().blocks(Fork::Main)?,
            indexes: vec![IndexCleaning::default(); indexes.len()],
            ..Report::default()
        },
    };
    for block in (0..pass.report.pages).map(BlockNo) {
        pass.page(block)?;
        if pass.dead.len() >= DEAD_MAX {
            pass.clean_indexes()?;
        }
    }
    if !pass.dead.is_empty() {
        pass.clean_indexes()?;
    }
    heap.note_vacuumed(activity, pass.report.live, pass.report.pages_scanned);
    Ok(pass.report)
}

struct Pass<'v> {
    heap: &'v HeapRel,
    indexes: &'v [Arc<BTree>],
    options: &'v Options,
    ring: Ring,
    /// Dead line pointers met since the indexes were last cleaned; ascending.
    dead: Vec<Tid>,
    report: Report,
}

impl Pass<'_> {
    fn page(&mut self, block: BlockNo) -> Result<()> {
        base::interrupt::check()?;
        base::park::checkpoint();
        let bits = vm::get(self.heap.relation(), block)?;
        if !self.options.every_page && bits & vm::ALL_VISIBLE != 0 {
            self.report.pages_all_visible += 1;
            return Ok(());
        }
        let done = self.heap.clean_page(
            &mut self.ring,
            block,
            !self.indexes.is_empty(),
            &mut self.dead,
        )?;
        let report = &mut self.report;
        report.pages_scanned += 1;
        report.pages_all_visible += u32::from(done.all_visible);
        report.removed += u64::from(done.removed);
        report.recently_dead += u64::from(done.recently_dead);
        report.live += u64::from(done.live);
        if report.pages_scanned.is_multiple_of(PAUSE_EVERY)
            && let Some(pause) = self.options.pause
        {
            base::park::sleep(pause);
        }
        Ok(())
    }

    /// Removes every entry that leads to a dead line pointer, then the line pointers (H3).
    fn clean_indexes(&mut self) -> Result<()> {
        debug_assert!(self.dead.is_sorted(), "pages are visited in order");
        let dead = std::mem::take(&mut self.dead);
        self.report.index_passes += 1;
        for (index, sum) in self.indexes.iter().zip(&mut self.report.indexes) {
            let done = index.vacuum(&mut |tid| dead.binary_search(&tid).is_ok())?;
            sum.entries = done.entries;
            sum.pages = done.pages;
            sum.removed += done.removed;
            sum.pages_deleted += done.pages_deleted;
        }
        for page in dead.chunk_by(|a, b| a.block == b.block) {
            base::interrupt::check()?;
            base::park::checkpoint();
            let offsets: Vec<u16> = page.iter().map(|tid| tid.offset).collect();
            let visible = self.heap.reclaim_lines(&mut self.ring, page[0].block, &offsets)?;
            self.report.lines_freed += offsets.len() as u64;
            self.report.pages_all_visible += u32::from(visible);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
