//! Growing by one bucket: a bucket's entries are divided between it and a new one.
//!
//! Three phases, each in records of its own. *Begin* (metapage, old bucket, new bucket) makes the new bucket
//! known; from then on entries go to where they belong, and readers of the new bucket read the old one, too.
//! *Move*, once per page of the old chain, takes the entries over that belong to the new bucket. *End* takes
//! the marks off. Between two steps nothing is latched. An insert takes a few steps; what it leaves ([`Left`]) the next
//! ones go on with, and a split that a crash cut off is gone on with by who writes to either bucket.

use super::edit::{OPS_BYTES_MAX, Ops};
use super::page::*;
use super::search::{Bucket, assert_ascending};
use super::{Edit, HashIndex, first_latch};
use crate::buffer::{Ring, WriteGuard};
use crate::error::Result;
use crate::heap::fsm;
use crate::journal::Journal;
use crate::wal::{Kind, record_bound};
use base::sync::unmodelled::AtomicU64;
use base::sync::unmodelled::Ordering::{AcqRel, Relaxed, Release};
use base::{BlockNo, Fork, sim};

/// Log bytes of a begin: an extent, then three pages.
const BEGIN_BYTES: usize = record_bound(2, 4, 256);
/// Log bytes of a step: a new page with entries or a move of them, between four pages at most.
const STEP_BYTES: usize = record_bound(1, 4, 2 * OPS_BYTES_MAX);

/// Steps of growing that one insert takes: a page moved each, and what is before and after. Enough for a bucket that
/// is not far from what the fillfactor says.
const GROW_STEPS: u32 = 8;

/// What a step did of a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A page's entries were moved.
    Moved,
    /// The marks were taken off: it is done, but for overflow pages that may be needed no more.
    Ended,
    /// The bucket is not being split.
    Nothing,
}

/// What is left of a split that an insert began, or met: what the next ones go on with. In memory alone; after a crash
/// the marks on the buckets tell of a split, and vacuum merges pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Left {
    Nothing,
    /// Pages of this bucket are to be moved.
    Moves(u32),
    /// Pages of this bucket's chain may fit on its first one.
    Squeezes(u32),
}

/// A [`Left`] that several threads share. A hint: whoever goes on latches the bucket and finds out what is true.
pub(super) struct Remainder(AtomicU64);

impl Remainder {
    const SQUEEZES: u64 = 1 << 32;

    pub fn new() -> Remainder {
        Remainder(AtomicU64::new(0))
    }

    fn word(left: Left) -> u64 {
        match left {
            Left::Nothing => 0,
            Left::Moves(bucket) => u64::from(bucket) + 1,
            Left::Squeezes(bucket) => Self::SQUEEZES + u64::from(bucket) + 1,
        }
    }

    pub fn get(&self) -> Left {
        // Relaxed here and below: see the type.
        match self.0.load(Relaxed) {
            0 => Left::Nothing,
            word if word > Self::SQUEEZES => Left::Squeezes((word - Self::SQUEEZES - 1) as u32),
            word => Left::Moves((word - 1) as u32),
        }
    }

    fn set(&self, left: Left) {
        self.0.store(Self::word(left), Relaxed);
    }

    /// Notes what was met of a split, unless another one is at hand.
    pub fn note(&self, left: Left) {
        let _ = self.0.compare_exchange(0, Self::word(left), Relaxed, Relaxed);
    }
}

/// How the begin of a split went.
enum Begun {
    /// The new bucket is known; this one's entries are to be divided.
    Split(u32),
    /// The split of this bucket, which was left unfinished, comes first.
    Unfinished(u32),
    /// There can't be more buckets.
    Full,
}

impl HashIndex {
    /// Whether there are more entries to a bucket than there should be.
    fn is_due(&self) -> bool {
        let buckets = self.directory.buckets();
        buckets < BUCKETS_MAX
            && self.counters.sum() > u64::from(buckets) * u64::from(self.directory.target())
    }

    /// Does some of what there is to do to grow: goes on with a split, or begins one if it is due. However long a
    /// bucket's chain is, an insert moves no more than a few of its pages.
    pub(super) fn grow_if_due(&self) -> Result<()> {
        let has_work = self.left.get() != Left::Nothing || self.is_due();
        if !has_work || self.growing.swap(true, AcqRel) {
            return Ok(());
        }
        let grown = self.grow();
        // Release: pairs with the swap's acquire; whoever is next sees what was done.
        self.growing.store(false, Release);
        grown
    }

    fn grow(&self) -> Result<()> {
        let _window = sim::window("hash-split");
        for _ in 0..GROW_STEPS {
            match self.left.get() {
                Left::Nothing if !self.is_due() => return Ok(()),
                Left::Nothing => match self.begin()? {
                    Begun::Split(old) | Begun::Unfinished(old) => self.left.set(Left::Moves(old)),
                    Begun::Full => return Ok(()),
                },
                Left::Moves(old) => match self.split_step(old)? {
                    Step::Moved => {}
                    Step::Ended | Step::Nothing => self.left.set(Left::Squeezes(old)),
                },
                Left::Squeezes(bucket) => {
                    if !self.squeeze_first(bucket)? {
                        self.left.set(Left::Nothing);
                    }
                }
            }
        }
        Ok(())
    }

    /// Does some of a split that a writer met which was left unfinished, or that somebody is at; the writers behind it
    /// go on.
    pub(super) fn help(&self, old: u32, steps: u32) -> Result<()> {
        for _ in 0..steps {
            match self.split_step(old)? {
                Step::Moved => self.left.note(Left::Moves(old)),
                Step::Ended => {
                    self.left.note(Left::Squeezes(old));
                    return Ok(());
                }
                Step::Nothing => return Ok(()),
            }
        }
        Ok(())
    }

    /// Makes the new bucket known.
    fn begin(&self) -> Result<Begun> {
        let mut journal = Journal::open(&self.wal, &self.rel, 4, BEGIN_BYTES)?;
        first_latch();
        let mut meta = self.rel.write(Fork::Main, META)?;
        let number = Node(meta.view()).meta_buckets();
        if number >= BUCKETS_MAX {
            return Ok(Begun::Full);
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
        if old.node().has(SPLITTING) {
            return Ok(Begun::Unfinished(parent));
        }
        if old.node().has(FILLING) {
            return Ok(Begun::Unfinished(parent_of(parent)));
        }
        assert_ascending(parent, number);
        let mut new = self.rel.write_for_redo(Fork::Main, self.block_of(number), true)?;
        let depth = old.node().depth() + 1;
        let first = old.page.block();
        let entries = self.counters.sum();
        let meta_ops = Ops::new().size(number + 1, entries);
        let old_ops = Ops::new().state(SPLITTING, depth, first).moved();
        let new_ops = Ops::new().init(role::BUCKET, number, depth, FILLING);
        let mut edits = [
            Edit::of(&mut meta, meta_ops),
            Edit::of(&mut old.page, old_ops),
            Edit::anew(&mut new, new_ops),
        ];
        self.change(&mut journal, Kind::HASH_SPLIT, &mut edits);
        self.counters.put_down(entries);
        // Before the buckets' latches go: who finds the old one split knows the new one.
        self.directory.take(Node(meta.view()));
        Ok(Begun::Split(parent))
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

    /// Goes on with the split of a bucket: one page of its chain, or the end. No latch may be held.
    pub(super) fn split_step(&self, old: u32) -> Result<Step> {
        let mut journal = Journal::open(&self.wal, &self.rel, 4, STEP_BYTES)?;
        let old = self.latch_bucket(old)?;
        let node = old.node();
        if !node.has(SPLITTING) {
            return Ok(Step::Nothing);
        }
        let new = old.number + (1 << (node.depth() - 1));
        if new >= self.directory.buckets() {
            // Begun through another handle of the index, which this one has not heard of.
            drop((old, journal));
            self.refresh()?;
            return Ok(Step::Moved);
        }
        let new = self.latch_partner(&old, new)?;
        if node.cursor() == NONE {
            self.end_split(old, new, &mut journal);
            return Ok(Step::Ended);
        }
        self.move_page(old, new, &mut journal)?;
        Ok(Step::Moved)
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
        Ok(matches!(self.squeeze(None, bucket, first)?, Squeezed::Taken))
    }

    /// Takes the page behind `block`, of `bucket`'s chain, into it, if there is room for all of its entries.
    pub(super) fn squeeze(
        &self,
        mut ring: Option<&mut Ring>,
        bucket: u32,
        block: BlockNo,
    ) -> Result<Squeezed> {
        let mut journal = Journal::open(&self.wal, &self.rel, 3, STEP_BYTES)?;
        let mut bucket = self.latch_bucket_in(ring.as_deref_mut(), bucket)?;
        if bucket.node().state() != 0 {
            return Ok(Squeezed::End);
        }
        let mut page = None;
        if block != bucket.page.block() {
            let found = self.write_in(ring.as_deref_mut(), block)?;
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
        let mut taken = bucket.latch_overflow_in(self, ring, behind)?;
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
