//! Removing the entries of dead rows, and giving pages back that are not needed any more.

use super::edit::Ops;
use super::page::*;
use super::split::{Squeezed, Step};
use super::{Edit, HashIndex, first_latch};
use crate::btree::IndexCleaning;
use crate::buffer::{Optimistic, Passage};
use crate::error::Result;
use crate::heap::fsm;
use crate::journal::Journal;
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Tid};

/// A callback between pages, with nothing held, that may end the work with an error.
type Rest<'r> = dyn FnMut() -> Result<()> + 'r;

/// How a bucket's cleaning ended.
enum Pass {
    Done,
    /// Entries were moved meanwhile, perhaps from pages not seen to pages seen.
    Again,
}

impl HashIndex {
    /// Removes the entries whose TID `is_dead` names, and merges pages of chains that have become sparse. One
    /// at a time per index; foreground work goes on. `is_dead` is called under a latch and must not wait;
    /// `rest` is called between pages, with nothing held, and may end it with an error. Pages that are not in
    /// memory go round in the passage's ring.
    pub fn vacuum(
        &self,
        passage: &mut Passage,
        is_dead: &mut dyn FnMut(Tid) -> bool,
        rest: &mut Rest<'_>,
    ) -> Result<IndexCleaning> {
        let mut done = IndexCleaning::default();
        let mut bucket = 0;
        let (before, mut found) = (self.counters.sum(), 0);
        let mut ahead = passage.ahead(&self.rel);
        // What a split takes out of a bucket not yet visited goes to one that is visited later.
        while bucket < self.refresh()? {
            while bucket < self.directory.buckets() {
                let places = bucket..self.directory.buckets();
                let at = |place| Some(self.block_of(place));
                passage.look(&mut ahead, &self.rel, places, at);
                found += self.clean_bucket(passage, bucket, is_dead, rest, &mut done)?;
                self.squeeze_chain(passage, bucket, rest, &mut done)?;
                bucket += 1;
            }
        }
        let is_corrected = bucket > 0 && self.correct_count(before, found, done.removed);
        if done.removed > 0 || is_corrected {
            self.put_count_down()?;
        }
        if bucket > 0 {
            let free = self.find_free_pages(passage, rest)?;
            (done.empty, done.reusable) = (free, free);
        }
        done.blocks = self.rel.blocks(Fork::Main)?;
        Ok(done)
    }

    /// Cleans a bucket; how many entries are left in it.
    fn clean_bucket(
        &self,
        passage: &mut Passage,
        bucket: u32,
        is_dead: &mut dyn FnMut(Tid) -> bool,
        rest: &mut Rest<'_>,
        done: &mut IndexCleaning,
    ) -> Result<u64> {
        loop {
            self.finish_splits(passage, bucket, rest)?;
            let mut now = IndexCleaning::default();
            let pass = self.clean_chain(passage, bucket, is_dead, rest, &mut now)?;
            done.removed += now.removed;
            if matches!(pass, Pass::Done) {
                done.entries += now.entries;
                done.pages += now.pages;
                return Ok(now.entries - now.removed);
            }
        }
    }

    /// Finishes the splits that the bucket is part of.
    fn finish_splits(&self, passage: &mut Passage, bucket: u32, rest: &mut Rest<'_>) -> Result<()> {
        let block = self.block_of(bucket);
        let mut has =
            |state| -> Result<bool> { Ok(Node(passage.read(&self.rel, block)?.view()).has(state)) };
        if has(SPLITTING)? {
            while self.split_step(bucket)? == Step::Moved {
                rest()?;
            }
        }
        if has(FILLING)? {
            while self.split_step(parent_of(bucket))? == Step::Moved {
                rest()?;
            }
        }
        Ok(())
    }

    /// Goes through a chain once, a page at a time.
    fn clean_chain(
        &self,
        passage: &mut Passage,
        number: u32,
        is_dead: &mut dyn FnMut(Tid) -> bool,
        rest: &mut Rest<'_>,
        done: &mut IndexCleaning,
    ) -> Result<Pass> {
        let first = self.block_of(number);
        let (mut block, mut moves) = (first, None);
        loop {
            rest()?;
            let bytes = record_bound(1, 1, 2 * MAX_ENTRIES + 16);
            let mut journal = Journal::open(&self.wal, &self.rel, 1, bytes)?;
            let mut bucket = self.latch_bucket_in(Some(&mut passage.ring), number)?;
            let node = bucket.node();
            if node.state() != 0 || *moves.get_or_insert(node.moves()) != node.moves() {
                return Ok(Pass::Again);
            }
            let mut other = match block == first {
                true => None,
                false => Some(bucket.latch_overflow_in(self, Some(&mut passage.ring), block)?),
            };
            let page = other.as_mut().unwrap_or(&mut bucket.page);
            let node = Node(page.view());
            let next = node.next();
            let gone = node.positions(|_, slot| slot.is_dead() || is_dead(slot.tid()));
            done.pages += 1;
            done.entries += node.count() as u64;
            if !gone.is_empty() {
                done.removed += gone.len() as u64;
                self.counters.change(-(gone.len() as i64));
                let ops = Ops::new().remove(&gone);
                self.change(&mut journal, Kind::HASH_REMOVE, &mut [Edit::of(page, ops)]);
            }
            if next == NONE {
                return Ok(Pass::Done);
            }
            block = next;
        }
    }

    /// Merges pages of a chain with those behind them, wherever they fit.
    fn squeeze_chain(
        &self,
        passage: &mut Passage,
        bucket: u32,
        rest: &mut Rest<'_>,
        done: &mut IndexCleaning,
    ) -> Result<()> {
        let mut block = self.block_of(bucket);
        loop {
            match self.squeeze(Some(&mut passage.ring), bucket, block)? {
                Squeezed::Taken => done.pages_deleted += 1,
                Squeezed::Next(next) => block = next,
                Squeezed::End => return Ok(()),
            }
            rest()?;
        }
    }

    /// Corrects the number of entries by those that vacuum has found; true if there was something to correct. A
    /// crash takes what was not put down, and every one some more.
    fn correct_count(&self, before: u64, found: u64, removed: u64) -> bool {
        let now = self.counters.sum();
        // Who came meanwhile was met or not.
        let came = (now + removed).saturating_sub(before);
        let likely = now.clamp(found, found + came);
        self.counters.change(likely as i64 - now as i64);
        likely != now
    }

    /// Writes the number of entries down if it has changed so much since that was done that a crash would delay
    /// splits.
    pub(super) fn put_count_down_if_due(&self) -> Result<()> {
        let leeway = u64::from(self.directory.target());
        if !self.counters.has_moved(leeway) {
            return Ok(());
        }
        self.put_count_down()
    }

    /// Writes the number of entries down.
    fn put_count_down(&self) -> Result<()> {
        let mut journal = Journal::open(&self.wal, &self.rel, 1, record_bound(1, 1, 32))?;
        first_latch();
        let mut meta = self.rel.write(Fork::Main, META)?;
        let buckets = Node(meta.view()).meta_buckets();
        let entries = self.counters.sum();
        let ops = Ops::new().size(buckets, entries);
        self.change(&mut journal, Kind::HASH_COUNT, &mut [Edit::of(&mut meta, ops)]);
        self.counters.put_down(entries);
        Ok(())
    }

    /// Tells the free-space map, which is not logged, of free pages that it has lost in a crash; how many are free.
    fn find_free_pages(&self, passage: &mut Passage, rest: &mut Rest<'_>) -> Result<u64> {
        let mut found = 0;
        let mut blocks = 1..self.rel.blocks(Fork::Main)?;
        let mut extents = self.extents().into_iter().peekable();
        while let Some(block) = blocks.next() {
            if let Some((_, size)) = extents.next_if(|(start, _)| *start == block) {
                blocks.start += size - 1;
                continue;
            }
            let free =
                self.rel.peek(Fork::Main, BlockNo(block), |page| Some(Node(page).is(role::FREE)));
            let is_free = match free {
                Optimistic::Ok(is_free) => is_free,
                Optimistic::Retry => {
                    rest()?;
                    Node(passage.read(&self.rel, BlockNo(block))?.view()).is(role::FREE)
                }
            };
            if is_free {
                fsm::give_whole(&self.rel, BlockNo(block))?;
                found += 1;
            }
        }
        Ok(found)
    }

    /// First block and size of every extent, ascending: each began at the end of the file.
    pub(super) fn extents(&self) -> Vec<(u32, u32)> {
        let (mut extents, mut bucket) = (Vec::new(), 0);
        while bucket < BUCKETS_MAX {
            let spot = extent_of(bucket);
            let Some(start) = self.directory.extent(spot.index) else { break };
            extents.push((start, spot.blocks));
            bucket += spot.blocks;
        }
        extents
    }
}
