//! Growing by one bucket: a bucket's entries are divided between it and a new one.
//!
//! Three phases, each in records of its own. *Begin* (metapage, old bucket, new bucket) makes the new bucket
//! known; from then on entries go to where they belong, and readers of the new bucket read the old one, too.
//! *Move*, once per page of the old chain, takes the entries over that belong to the new bucket. *End* takes
//! the marks off. Between two steps nothing is latched; a split that was left (a crash, a full disk) is gone
//! on with by the next who writes to either bucket.

use super::edit::{OPS_BYTES_MAX, Ops};
use super::page::*;
use super::search::Bucket;
use super::{Edit, HashIndex, first_latch};
use crate::buffer::WriteGuard;
use crate::error::Result;
use crate::heap::fsm;
use crate::journal::Journal;
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, sim};
use std::sync::atomic::Ordering::{AcqRel, Release};

/// Log bytes of a begin: an extent, then three pages.
const BEGIN_BYTES: usize = record_bound(2, 4, 256);
/// Log bytes of a step: a new page with entries or a move of them, between four pages at most.
const STEP_BYTES: usize = record_bound(1, 4, 2 * OPS_BYTES_MAX);

impl HashIndex {
    /// Adds a bucket if there are more entries to a bucket than there should be.
    pub(super) fn grow_if_due(&self) -> Result<()> {
        let buckets = self.directory.buckets();
        let is_due = |buckets: u32| {
            buckets < BUCKETS_MAX
                && self.counters.sum() > u64::from(buckets) * u64::from(self.directory.target())
        };
        if !is_due(buckets) || self.growing.swap(true, AcqRel) {
            return Ok(());
        }
        let grown = self.grow();
        // Release: pairs with the swap's acquire; whoever is next sees what was done.
        self.growing.store(false, Release);
        grown
    }

    /// Splits the bucket whose turn it is.
    fn grow(&self) -> Result<()> {
        let _window = sim::window("hash-split");
        let Some(old) = self.begin()? else { return Ok(()) };
        while self.split_step(old)? {}
        Ok(())
    }

    /// Makes the new bucket known; returns the old one. `None`: that has to be finished with first, and was.
    fn begin(&self) -> Result<Option<u32>> {
        let mut journal = Journal::open(&self.wal, &self.rel, 4, BEGIN_BYTES)?;
        first_latch();
        let mut meta = self.rel.write(Fork::Main, META)?;
        let number = Node(meta.view()).meta_buckets();
        if number >= BUCKETS_MAX {
            return Ok(None);
        }
        let spot = extent_of(number);
        if spot.index == Node(meta.view()).meta_extents() {
            self.add_extent(&mut meta, &mut journal, spot)?;
        }
        // An extent that another handle of the index added is news to this one.
        self.directory.take(Node(meta.view()));
        let parent = parent_of(number);
        let page = self.rel.write(Fork::Main, self.block_of(parent))?;
        let mut old = self.bucket(parent, page)?;
        if old.node().state() != 0 {
            drop((old, meta, journal));
            while self.split_step(parent)? {}
            let grandparent = if parent == 0 { 0 } else { parent_of(parent) };
            while self.split_step(grandparent)? {}
            return Ok(None);
        }
        let mut new = self.rel.write_for_redo(Fork::Main, self.block_of(number), true)?;
        let depth = old.node().depth() + 1;
        let first = old.page.block();
        let meta_ops = Ops::new().size(number + 1, self.counters.sum());
        let old_ops = Ops::new().state(SPLITTING, depth, first).moved();
        let new_ops = Ops::new().init(role::BUCKET, number, depth, FILLING);
        let mut edits = [
            Edit::of(&mut meta, meta_ops),
            Edit::of(&mut old.page, old_ops),
            Edit::anew(&mut new, new_ops),
        ];
        self.change(&mut journal, Kind::HASH_SPLIT, &mut edits);
        // Before the buckets' latches go: who finds the old one split knows the new one.
        self.directory.take(Node(meta.view()));
        Ok(Some(parent))
    }

    /// Sets blocks aside for the buckets of an extent. The metapage's latch keeps others from doing the same.
    fn add_extent(
        &self,
        meta: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
        spot: Spot,
    ) -> Result<()> {
        let _window = sim::window("hash-extent");
        let start = self.rel.reserve(Fork::Main, spot.blocks)?;
        self.change(journal, Kind::HASH_EXTENT, &mut [Edit::of(meta, Ops::new().extent(start))]);
        Ok(())
    }

    /// Goes on with the split of a bucket: one page of its chain, or the end. False if there is nothing (more)
    /// to do. No latch may be held.
    pub(super) fn split_step(&self, old: u32) -> Result<bool> {
        let mut journal = Journal::open(&self.wal, &self.rel, 4, STEP_BYTES)?;
        let old = self.latch_bucket(old)?;
        let node = old.node();
        if !node.has(SPLITTING) {
            return Ok(false);
        }
        let new = old.number + (1 << (node.depth() - 1));
        if new >= self.directory.buckets() {
            // Begun through another handle of the index, which this one has not heard of.
            drop((old, journal));
            self.refresh()?;
            return Ok(true);
        }
        let new = self.latch_partner(&old, new)?;
        if node.cursor() == NONE {
            let number = old.number;
            self.end_split(old, new, &mut journal);
            drop(journal);
            while self.squeeze_first(number)? {}
            return Ok(false);
        }
        self.move_page(old, new, &mut journal)?;
        Ok(true)
    }

    /// Moves what belongs to the new bucket from the page at the cursor.
    fn move_page<'r>(
        &'r self,
        mut old: Bucket<'r>,
        mut new: Bucket<'r>,
        journal: &mut Journal<'_>,
    ) -> Result<()> {
        let (cursor, depth) = (old.node().cursor(), old.node().depth());
        let mut source = match cursor == old.page.block() {
            true => None,
            false => Some(old.latch_overflow(self, cursor)?),
        };
        let node = Node(source.as_ref().map_or(old.page.view(), |page| page.view()));
        let bit = 1 << (depth - 1);
        let leaving = node.positions(|hash, _| hash & bit != 0);
        let is_dead = |at: &&u16| node.slot(usize::from(**at)).is_dead();
        let living = leaving.iter().filter(|at| !is_dead(at));
        let entries: Vec<Entry> = living.map(|at| node.entry(usize::from(*at))).collect();
        let next = node.next();
        self.counters.change(entries.len() as i64 - leaving.len() as i64);
        // Where they go: the new bucket's first page, or the page behind it, or a page of their own.
        let mut target = None;
        let mut is_anew = false;
        if entries.len() > new.node().room() {
            let behind = new.node().next();
            if behind != NONE {
                target = Some(new.latch_overflow(self, behind)?);
            }
            if target.as_ref().is_none_or(|page| entries.len() > Node(page.view()).room()) {
                target = Some(self.allocate()?);
                is_anew = true;
            }
        }
        let state = Ops::new().state(SPLITTING, depth, next).moved();
        let (old_ops, source_ops) = match source {
            None => (state.remove(&leaving), None),
            Some(_) => (state, Some(Ops::new().remove(&leaving))),
        };
        let (new_ops, target_ops) = match &target {
            None => (Ops::new().add(&entries).moved(), None),
            Some(page) if is_anew => {
                let init = Ops::new().init(role::OVERFLOW, new.number, 0, 0);
                let init = init.next(new.node().next()).add(&entries);
                (Ops::new().next(page.block()).moved(), Some(init))
            }
            Some(_) => (Ops::new().moved(), Some(Ops::new().add(&entries))),
        };
        let mut edits = vec![Edit::of(&mut old.page, old_ops), Edit::of(&mut new.page, new_ops)];
        if let (Some(page), Some(ops)) = (&mut source, source_ops) {
            edits.push(Edit::of(page, ops));
        }
        if let (Some(page), Some(ops)) = (&mut target, target_ops) {
            edits.push(Edit { page, ops, anew: is_anew });
        }
        self.change(journal, Kind::HASH_MOVE, &mut edits);
        Ok(())
    }

    /// Takes the marks of a split off.
    fn end_split<'r>(
        &'r self,
        mut old: Bucket<'r>,
        mut new: Bucket<'r>,
        journal: &mut Journal<'_>,
    ) {
        let depth = old.node().depth();
        let mut edits = [
            Edit::of(&mut old.page, Ops::new().state(0, depth, NONE)),
            Edit::of(&mut new.page, Ops::new().state(0, depth, NONE)),
        ];
        self.change(journal, Kind::HASH_SPLIT_END, &mut edits);
    }

    /// Takes the page behind a bucket's first one into it, if its entries find room there. True if it did.
    fn squeeze_first(&self, bucket: u32) -> Result<bool> {
        let first = self.block_of(bucket);
        Ok(matches!(self.squeeze(bucket, first)?, Squeezed::Taken))
    }

    /// Takes the page behind `block`, of `bucket`'s chain, into it, if there is room for all of its entries.
    pub(super) fn squeeze(&self, bucket: u32, block: BlockNo) -> Result<Squeezed> {
        let mut journal = Journal::open(&self.wal, &self.rel, 3, STEP_BYTES)?;
        let mut bucket = self.latch_bucket(bucket)?;
        if bucket.node().state() != 0 {
            return Ok(Squeezed::End);
        }
        let mut page = None;
        if block != bucket.page.block() {
            let found = self.rel.write(Fork::Main, block)?;
            if !Node(found.view()).is_overflow_of(bucket.number) {
                return Ok(Squeezed::End);
            }
            page = Some(found);
        }
        let node = Node(page.as_ref().map_or(bucket.page.view(), |page| page.view()));
        let (behind, room) = (node.next(), node.room());
        if behind == NONE {
            return Ok(Squeezed::End);
        }
        let mut taken = bucket.latch_overflow(self, behind)?;
        let node = Node(taken.view());
        if node.count() > room {
            return Ok(Squeezed::Next(behind));
        }
        let _window = sim::window("hash-page-freed");
        let entries: Vec<Entry> = (0..node.count()).map(|at| node.entry(at)).collect();
        let into = Ops::new().next(node.next()).add(&entries);
        let free = Ops::new().init(role::FREE, 0, 0, 0);
        let (first, other) = match page {
            None => (into.moved(), None),
            Some(_) => (Ops::new().moved(), Some(into)),
        };
        let mut edits = vec![Edit::of(&mut bucket.page, first), Edit::anew(&mut taken, free)];
        if let (Some(page), Some(ops)) = (&mut page, other) {
            edits.push(Edit::of(page, ops));
        }
        self.change(&mut journal, Kind::HASH_SQUEEZE, &mut edits);
        drop((taken, page, bucket, journal));
        fsm::give_whole(&self.rel, behind)?;
        Ok(Squeezed::Taken)
    }
}

/// What [`HashIndex::squeeze`] did.
pub(super) enum Squeezed {
    Taken,
    /// No room; this page is the next that may take one.
    Next(BlockNo),
    End,
}
