//! A relation as its users see it: blocks to read, write, pin, extend.

use super::Ring;
use super::frame::Frame;
use super::guard::{Pin, ReadGuard, WriteGuard};
use super::io::{Purpose, Timed};
use super::latch;
use super::load::{Source, Want, trade_pin};
use super::pool::{Pool, count};
use super::slot::{Place, Slot};
use super::tally::{Figure, Tally};
use super::totals::Totals;
use super::translation::{ForkMap, UNKNOWN};
use super::word::{Attempt, EXCLUSIVE, SHARED};
use crate::error::{Error, Result};
use crate::page::{PageMut, PageView};
use base::hash::hash_of;
use base::lot;
use base::rank::{self, Rank};
use base::sim;
use base::sync::unmodelled::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
use base::usage::{self, Use};
use base::{BlockNo, Fork, PageId, Persistence, RelId};
use std::sync::Arc;

/// Translation of one relation's forks; lives while a handle does, or the pool.
pub(super) struct RelMap {
    id: RelId,
    rank: Rank,
    /// Set when the relation was dropped: handles that are left find nothing any more.
    dropped: AtomicBool,
    forks: [ForkMap; 3],
    tally: Tally,
    /// Pages read from its files.
    reads: AtomicU64,
    /// What waiting for them took.
    read_ns: AtomicU64,
    /// Pages found damaged, and when one was last.
    damaged: AtomicU64,
    damaged_at: AtomicI64,
    /// Whose it is; 0: nobody's.
    database: AtomicU32,
}

impl RelMap {
    pub fn new(id: RelId, rank: Rank) -> RelMap {
        let forks = std::array::from_fn(|_| ForkMap::new());
        RelMap {
            id,
            rank,
            dropped: AtomicBool::new(false),
            forks,
            tally: Tally::new(),
            reads: AtomicU64::new(0),
            read_ns: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            damaged_at: AtomicI64::new(0),
            database: AtomicU32::new(0),
        }
    }

    /// From now on loading and extending fail.
    pub fn set_dropped(&self) {
        // SeqCst: pairs with the look in `check_there`.
        self.dropped.store(true, Ordering::SeqCst);
    }

    /// Fails once the relation was dropped.
    pub fn check_there(&self) -> Result<()> {
        // SeqCst: pairs with the store in `set_dropped`.
        if self.dropped.load(Ordering::SeqCst) {
            return Err(Error::NoSuchRelation(self.id));
        }
        Ok(())
    }

    /// Whether [`RelMap::set_dropped`] was called.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether it is of one session, and goes with it.
    #[inline]
    pub fn is_temporary(&self) -> bool {
        self.id.persistence() == Persistence::Temporary
    }

    /// A page was found in memory.
    #[inline]
    pub fn count_hit(&self) {
        self.tally.count(Figure::Hits, 1);
        usage::count(if self.is_temporary() { Use::LocalHit } else { Use::Hit }, 1);
    }

    /// Pages were read from their file.
    pub fn count_reads(&self, pages: u64) {
        // Relaxed: a figure for people.
        self.reads.fetch_add(pages, Ordering::Relaxed);
        usage::count(if self.is_temporary() { Use::LocalRead } else { Use::Read }, pages);
    }

    /// A page was waited for.
    pub fn count_read_time(&self, ns: u64) {
        // Relaxed: a figure for people.
        self.read_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// A page that was read is damaged.
    pub fn count_damaged(&self) {
        // Relaxed: figures for people.
        self.damaged.fetch_add(1, Ordering::Relaxed);
        self.damaged_at.fetch_max(base::clock::wall_micros(), Ordering::Relaxed);
    }

    /// Pages found in memory so far.
    pub fn hits(&self) -> u64 {
        self.tally.sum(Figure::Hits)
    }

    /// What has been done with it so far, and in which database.
    pub fn totals(&self) -> (u32, Totals) {
        let sum = |figure| self.tally.sum(figure);
        let hits = sum(Figure::Hits);
        let totals = Totals {
            hits,
            local_hits: if self.is_temporary() { hits } else { 0 },
            // Relaxed: figures for people.
            reads: self.reads.load(Ordering::Relaxed),
            read_ns: self.read_ns.load(Ordering::Relaxed),
            damaged: self.damaged.load(Ordering::Relaxed),
            damaged_at: self.damaged_at.load(Ordering::Relaxed),
            returned: sum(Figure::ScanRows) + sum(Figure::IndexEntries),
            fetched: sum(Figure::IndexRows),
        };
        (self.database.load(Ordering::Relaxed), totals)
    }

    #[inline]
    pub fn fork(&self, fork: Fork) -> &ForkMap {
        &self.forks[fork as usize]
    }

    pub fn main_rank(&self) -> Rank {
        self.rank
    }

    #[inline]
    pub fn rank(&self, fork: Fork) -> Rank {
        match fork {
            Fork::Main => self.rank,
            Fork::FreeSpace => Rank::FsmPage,
            Fork::Visibility => Rank::VmPage,
        }
    }
}

impl Drop for RelMap {
    fn drop(&mut self) {
        // Somebody used the relation while it was dropped, against the rules: a frame may still lead here.
        if *self.dropped.get_mut() {
            self.forks.iter_mut().for_each(ForkMap::leak_unless_empty);
        }
    }
}

/// A relation's handle: cheap to clone, to be kept by whoever uses the relation often. Guards borrow it.
#[derive(Clone)]
pub struct Relation {
    map: Arc<RelMap>,
    pool: Arc<Pool>,
}

/// Outcome of a read without a latch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optimistic<T> {
    /// What the closure answered, from one state of the page.
    Ok(T),
    /// The page is not in memory, or changed meanwhile, or the closure gave up: take a latch.
    Retry,
}

/// How far extension looks ahead: one block in eight, at most this many (1 MiB).
const EXTEND_MAX: u32 = 128;

impl Relation {
    pub(super) fn new(pool: Arc<Pool>, map: Arc<RelMap>) -> Relation {
        Relation { map, pool }
    }

    #[inline]
    pub(super) fn map(&self) -> &RelMap {
        &self.map
    }

    #[inline]
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Which relation.
    #[inline]
    pub fn id(&self) -> RelId {
        self.map.id
    }

    /// Rank of its main fork's pages.
    pub fn rank(&self) -> Rank {
        self.map.main_rank()
    }

    /// What is done with it counts for this database, too ([`Pool::totals`]).
    pub fn count_for(&self, database: u32) {
        // Relaxed: read for figures only.
        self.map.database.store(database, Ordering::Relaxed);
    }

    /// Counts what is done with the relation.
    #[inline]
    pub fn count(&self, figure: Figure, by: u64) {
        self.map.tally.count(figure, by);
    }

    /// What has been done with it, by all, since it was first used.
    pub fn figure(&self, figure: Figure) -> u64 {
        self.map.tally.sum(figure)
    }

    /// Pages read from its files since it was first used.
    pub fn pages_read(&self) -> u64 {
        // Relaxed: a figure for people.
        self.map.reads.load(Ordering::Relaxed)
    }

    /// Whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.map.is_dropped()
    }

    /// The pool it lives in.
    pub fn owner(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Blocks in the fork, new ones of racing extenders included.
    #[inline]
    pub fn blocks(&self, fork: Fork) -> Result<u32> {
        // Acquire: pairs with the release in `extend`: the new block is in memory.
        let blocks = self.map.fork(fork).blocks.load(Ordering::Acquire);
        if blocks != UNKNOWN { Ok(blocks) } else { self.look_up_blocks(fork) }
    }

    #[cold]
    fn look_up_blocks(&self, fork: Fork) -> Result<u32> {
        let map = self.map.fork(fork);
        let mut physical = map.physical.lock();
        let known = map.blocks.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return Ok(known);
        }
        let blocks = self.pool.files.blocks(self.id(), fork)?;
        *physical = blocks;
        // Release: pairs with the acquire in `blocks`; the number is all that is handed on.
        map.blocks.store(blocks, Ordering::Release);
        Ok(blocks)
    }

    /// The frame that holds the block, if it is in memory, with the slot and its word to check later.
    #[inline]
    fn resident(&self, fork: Fork, block: BlockNo) -> Option<(&Frame, &Slot, u32)> {
        let slot = self.map.fork(fork).slot(block)?;
        let raw = slot.load();
        let index = Slot::frame_of(raw)?;
        Some((&self.pool.frames[index as usize], slot, raw))
    }

    /// The page, pinned and latched shared. May read it from disk; parks while another has it alone.
    #[inline]
    pub fn read(&self, fork: Fork, block: BlockNo) -> Result<ReadGuard<'_>> {
        sim::maybe_yield(16);
        let rank = self.map.rank(fork);
        rank::acquired(rank);
        if let Some((frame, slot, raw)) = self.resident(fork, block) {
            match frame.word.try_shared() {
                Attempt::Taken if slot.still(raw) => {
                    self.credit(frame, fork, block);
                    self.map.count_hit();
                    return Ok(ReadGuard::new(self, frame, rank));
                }
                Attempt::Taken => latch::unlock_shared(frame),
                Attempt::Refused { wake } => {
                    if wake {
                        latch::wake(&frame.word);
                    }
                }
            }
        }
        self.latch_slow(fork, block, SHARED, Want::PAGE, None)
            .map(|frame| ReadGuard::new(self, frame, rank))
            .inspect_err(|_| rank::released(rank))
    }

    /// The page, pinned and latched alone. May read it from disk; parks while others have it.
    #[inline]
    pub fn write(&self, fork: Fork, block: BlockNo) -> Result<WriteGuard<'_>> {
        sim::maybe_yield(16);
        let rank = self.map.rank(fork);
        rank::acquired(rank);
        if let Some((frame, slot, raw)) = self.resident(fork, block)
            && frame.word.try_exclusive()
        {
            if slot.still(raw) {
                self.credit(frame, fork, block);
                self.map.count_hit();
                return Ok(WriteGuard::new(self, frame, rank));
            }
            latch::unlock_exclusive(frame, 0);
        }
        self.latch_slow(fork, block, EXCLUSIVE, Want::PAGE, None)
            .map(|frame| WriteGuard::new(self, frame, rank))
            .inspect_err(|_| rank::released(rank))
    }

    /// The page, pinned. May read it from disk.
    #[inline]
    pub fn pin(&self, fork: Fork, block: BlockNo) -> Result<Pin<'_>> {
        sim::maybe_yield(16);
        if let Some((frame, slot, raw)) = self.resident(fork, block)
            && frame.word.try_pin().is_ok()
        {
            if slot.still(raw) {
                self.credit(frame, fork, block);
                self.map.count_hit();
                return Ok(Pin::new(self, frame));
            }
            frame.word.unpin();
        }
        let frame = self.pin_frame(fork, block, Want::PAGE, None)?;
        self.trace(fork, block);
        Ok(Pin::new(self, frame))
    }

    /// The page is used by somebody who may well use it again.
    #[inline]
    fn credit(&self, frame: &Frame, fork: Fork, block: BlockNo) {
        self.pool.replacer.hit(&frame.credit);
        self.trace(fork, block);
    }

    /// Writes the use down, in builds that do so.
    #[inline]
    fn trace(&self, _fork: Fork, _block: BlockNo) {
        #[cfg(feature = "page-trace")]
        super::trace::note(PageId { rel: self.id(), fork: _fork, block: _block });
    }

    /// As [`Relation::read`], for a page that was read ahead.
    pub fn read_started(&self, fork: Fork, block: BlockNo) -> Result<ReadGuard<'_>> {
        let rank = self.map.rank(fork);
        rank::acquired(rank);
        let want = Want { started: true, ..Want::PAGE };
        self.latch_slow(fork, block, SHARED, want, None)
            .map(|frame| ReadGuard::new(self, frame, rank))
            .inspect_err(|_| rank::released(rank))
    }

    /// As [`Relation::read`], for a scan that reads much and once: pages that it has to load go round in
    /// its ring, and pages found in memory earn no credit.
    pub fn read_in(&self, ring: &mut Ring, fork: Fork, block: BlockNo) -> Result<ReadGuard<'_>> {
        sim::maybe_yield(16);
        let rank = self.map.rank(fork);
        rank::acquired(rank);
        let want = Want { started: ring.take_expected(), ..Want::PAGE };
        self.latch_slow(fork, block, SHARED, want, Some(ring))
            .map(|frame| ReadGuard::new(self, frame, rank))
            .inspect_err(|_| rank::released(rank))
    }

    /// As [`Relation::write`], in a ring.
    pub fn write_in(&self, ring: &mut Ring, fork: Fork, block: BlockNo) -> Result<WriteGuard<'_>> {
        sim::maybe_yield(16);
        let rank = self.map.rank(fork);
        rank::acquired(rank);
        let want = Want { started: ring.take_expected(), ..Want::PAGE };
        self.latch_slow(fork, block, EXCLUSIVE, want, Some(ring))
            .map(|frame| WriteGuard::new(self, frame, rank))
            .inspect_err(|_| rank::released(rank))
    }

    /// The page for redo, latched alone. The fork is extended with zero pages if it is too short; with
    /// `init` the page is not read but starts as zeros.
    pub fn write_for_redo(&self, fork: Fork, block: BlockNo, init: bool) -> Result<WriteGuard<'_>> {
        self.ensure_blocks(fork, block.0 + 1)?;
        let rank = self.map.rank(fork);
        rank::acquired(rank);
        let source = if init { Source::Zeros } else { Source::File };
        let want = Want { source, started: false };
        let frame = self.latch_slow(fork, block, EXCLUSIVE, want, None);
        let frame = frame.inspect_err(|_| rank::released(rank))?;
        if init {
            PageMut::new(self.pool.pages.get(frame.index)).clear();
        }
        Ok(WriteGuard::new(self, frame, rank))
    }

    #[cold]
    fn latch_slow(
        &self,
        fork: Fork,
        block: BlockNo,
        hold: u64,
        want: Want,
        ring: Option<&mut Ring>,
    ) -> Result<&Frame> {
        let counts = ring.is_none();
        let frame = self.pin_frame(fork, block, want, ring)?;
        trade_pin(frame, hold);
        if counts {
            self.credit(frame, fork, block);
        }
        Ok(frame)
    }

    /// Reads the page without latch or pin: `f` may see any mixture of states and must answer `None` if what
    /// it sees makes no sense; its answer counts only if the page did not change meanwhile. `f` must not have
    /// effects, park, or loop over page contents without a bound.
    #[inline]
    pub fn optimistic<T>(
        &self,
        fork: Fork,
        block: BlockNo,
        f: impl FnOnce(PageView<'_>) -> Option<T>,
    ) -> Optimistic<T> {
        self.look(fork, block, true, f)
    }

    /// As [`Relation::optimistic`], by somebody who reads the page properly next: it earns no credit and is not
    /// counted.
    #[inline]
    pub fn peek<T>(
        &self,
        fork: Fork,
        block: BlockNo,
        f: impl FnOnce(PageView<'_>) -> Option<T>,
    ) -> Optimistic<T> {
        self.look(fork, block, false, f)
    }

    #[inline]
    fn look<T>(
        &self,
        fork: Fork,
        block: BlockNo,
        counts: bool,
        f: impl FnOnce(PageView<'_>) -> Option<T>,
    ) -> Optimistic<T> {
        let Some((frame, slot, raw)) = self.resident(fork, block) else {
            return Optimistic::Retry;
        };
        let Some(begun) = frame.word.read_begin() else { return Optimistic::Retry };
        if !slot.still(raw) {
            return Optimistic::Retry;
        }
        if counts {
            self.credit(frame, fork, block);
            self.map.count_hit();
        }
        #[cfg(test)]
        if let Some((words, other)) = crate::page::changing::chance(self.pool.view(frame)) {
            crate::page::changing::after(words, other, || f(self.pool.view(frame)));
            return Optimistic::Retry;
        }
        match f(self.pool.view(frame)) {
            Some(answer) if frame.word.read_still_valid(begun) => Optimistic::Ok(answer),
            _ => Optimistic::Retry,
        }
    }

    /// A new zero page at the end of the fork, latched alone. The file has grown when this returns, so a full
    /// disk is met here.
    pub fn extend(&self, fork: Fork) -> Result<WriteGuard<'_>> {
        self.lengthen(fork, None)
    }

    /// As [`Relation::extend`], for rows that are stored in bulk: the new page goes round in a ring, and earns no
    /// credit.
    pub fn extend_in(&self, ring: &mut Ring, fork: Fork) -> Result<WriteGuard<'_>> {
        self.lengthen(fork, Some(ring))
    }

    fn lengthen(&self, fork: Fork, mut ring: Option<&mut Ring>) -> Result<WriteGuard<'_>> {
        sim::maybe_yield(4);
        self.map.check_there()?;
        self.blocks(fork)?;
        let pool = self.pool();
        let (counts, purpose) = (ring.is_none(), Purpose::of(ring.as_deref()));
        let frame = pool.take_frame(ring.as_deref_mut())?;
        let rank = self.map.rank(fork);
        PageMut::new(pool.pages.get(frame.index)).clear();
        let block = match self.grow(fork, frame, counts, purpose) {
            Ok(block) => block,
            Err(error) => {
                pool.free.give(&[frame.index]);
                return Err(error);
            }
        };
        rank::acquired(rank);
        count(&pool.counters.extends, 1);
        debug_assert_eq!(frame.page_id().block, block);
        if let Some(ring) = ring {
            ring.note(frame.index, frame.page_id());
        }
        Ok(WriteGuard::new(self, frame, rank))
    }

    /// Adds a block whose page is in `frame`, which the caller owns, and leaves the frame latched alone.
    fn grow(&self, fork: Fork, frame: &Frame, counts: bool, purpose: Purpose) -> Result<BlockNo> {
        let map = self.map.fork(fork);
        let mut physical = map.physical.lock();
        let block = BlockNo(map.blocks.load(Ordering::Relaxed));
        if block.0 >= UNKNOWN - EXTEND_MAX {
            let what = format!("relation {} has as many blocks as a relation can", self.id());
            return Err(Error::LimitExceeded(what));
        }
        if block.0 >= *physical {
            let more = (block.0 / 8).clamp(1, EXTEND_MAX);
            self.extend_file(fork, block, more, purpose)?;
            *physical = block.0 + more;
        }
        let slot = map.slot_or_make(block);
        while slot.claim(0).is_none() {
            // A load that began before the fork was cut, and is about to find out.
            match slot.place() {
                Place::Loading(number) => self.outlast_load(slot, number),
                Place::Empty => {}
                Place::Frame(_) => unreachable!("a block that is not there yet is in no frame"),
            }
        }
        let page = PageId { rel: self.id(), fork, block };
        frame.bind(page, slot);
        self.pool.replacer.loaded(frame.index, &frame.credit, hash_of(&page), counts);
        if counts {
            self.trace(fork, block);
        }
        frame.word.publish(EXCLUSIVE);
        // A reader that looked at the length before the fork was cut may wait.
        if slot.settle(Some(frame.index)) {
            lot::unpark_all(slot.key());
        }
        // Release: pairs with the acquire in `blocks`: who knows of the block finds it in memory.
        map.blocks.store(block.0 + 1, Ordering::Release);
        Ok(block)
    }

    fn extend_file(&self, fork: Fork, from: BlockNo, more: u32, purpose: Purpose) -> Result<()> {
        let timed = Timed::start();
        self.pool.files.extend(self.id(), fork, from, more)?;
        self.pool.io.extended(self.id(), purpose, u64::from(more), &timed);
        Ok(())
    }

    /// Adds `blocks` zero pages to the end of the fork, one after the other, and returns the first. They are
    /// in the file when this returns, not in memory.
    pub fn reserve(&self, fork: Fork, blocks: u32) -> Result<BlockNo> {
        self.map.check_there()?;
        self.blocks(fork)?;
        let map = self.map.fork(fork);
        let mut physical = map.physical.lock();
        let first = map.blocks.load(Ordering::Relaxed);
        if first >= UNKNOWN - EXTEND_MAX - blocks {
            let what = format!("relation {} has as many blocks as a relation can", self.id());
            return Err(Error::LimitExceeded(what));
        }
        while *physical < first + blocks {
            let more = (first + blocks - *physical).min(EXTEND_MAX);
            self.extend_file(fork, BlockNo(*physical), more, Purpose::Normal)?;
            *physical += more;
        }
        // Release: as in `grow`.
        map.blocks.store(first + blocks, Ordering::Release);
        Ok(BlockNo(first))
    }

    /// Lengthens the fork with zero pages to at least `blocks`; for redo.
    pub fn ensure_blocks(&self, fork: Fork, blocks: u32) -> Result<()> {
        if self.blocks(fork)? >= blocks {
            return Ok(());
        }
        let map = self.map.fork(fork);
        let mut physical = map.physical.lock();
        while *physical < blocks {
            let more = (blocks - *physical).min(EXTEND_MAX);
            self.extend_file(fork, BlockNo(*physical), more, Purpose::Normal)?;
            *physical += more;
        }
        let now = map.blocks.load(Ordering::Relaxed).max(blocks);
        // Release: as in `grow`; the file is as long.
        map.blocks.store(now, Ordering::Release);
        Ok(())
    }

    /// Cuts the fork to `blocks`. Nobody may use the pages past them or extend the fork meanwhile; the pages
    /// leave the cache unwritten, and reads of them that come late fail. To be called without a latch.
    pub fn truncate(&self, fork: Fork, blocks: u32) -> Result<()> {
        let before = self.blocks(fork)?;
        if blocks >= before {
            return Ok(());
        }
        let _hold = self.pool.hold_for_discard(self.id());
        let map = self.map.fork(fork);
        map.blocks.store(blocks, Ordering::SeqCst);
        // Pairs with the fence in `is_cut_off`: a load that has claimed its slot and not seen the new length is found here.
        fence(Ordering::SeqCst);
        for (_, slot) in map.made(blocks, before) {
            self.discard(slot);
        }
        let id = self.id();
        self.pool
            .forget_copies(|page| (page.rel, page.fork) == (id, fork) && page.block.0 >= blocks);
        let mut physical = map.physical.lock();
        self.pool.files.truncate(id, fork, blocks)?;
        *physical = blocks;
        Ok(())
    }

    /// Takes all pages out of memory unwritten, because the relation goes.
    pub(super) fn discard_all(&self) {
        for fork in Fork::ALL {
            let map = self.map.fork(fork);
            // Acquire: pairs with the release in `grow`: the slots of all these blocks are there to be looked at.
            let blocks = map.blocks.load(Ordering::Acquire);
            if blocks != UNKNOWN {
                map.made(0, blocks).for_each(|(_, slot)| self.discard(slot));
            }
        }
    }
}
