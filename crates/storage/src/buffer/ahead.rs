//! Reading ahead: pages that a scan is about to want are on their way before it asks for them.
//!
//! A scan tells its [`ReadAhead`] where it is and what comes next. Blocks that are not in memory are claimed as a
//! miss claims its block, and read by one call where they lie side by side, while the scan goes on with pages that
//! are there. Whoever wants such a block meanwhile waits for it as for any load.
//!
//! Nothing is pinned ahead: a page that came is free to be evicted, and who never uses it has lost its frame's
//! place for a while, no more. No frame is waited for, and all that is on its way together holds an eighth of the
//! pool at most. A read that fails, or brings a damaged page, leaves the block as if nobody had tried: the error is
//! for whoever really uses the block, and reads it then.
//!
//! How far a scan looks ahead grows, by half of what it may be, each time it meets blocks that are not in memory,
//! and shrinks with those that are: a short look at a table reads little in vain, and a scan of a table in memory
//! looks at each slot once.

use super::Ring;
use super::io::Purpose;
use super::pool::{Pool, count};
use super::relation::Relation;
use super::slot::Place;
use super::word::PIN;
use crate::page::{self, PAGE_BYTES, PageMut};
use base::disk::Room;
use base::hash::hash_of;
use base::lot;
use base::sync::unmodelled::{AtomicUsize, Ordering};
use base::wait_event::{self, Event};
use base::{BlockNo, Fork, PageId};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// How far ahead scans read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Reads under way at a time; 0: none ahead. `effective_io_concurrency`, `maintenance_io_concurrency`.
    pub reads: u32,
    /// Pages in one of them, at most [`COMBINE_MAX`]. `io_combine_limit`.
    pub pages: u32,
}

/// Most pages in one read.
pub const COMBINE_MAX: u32 = 32;

/// Rooms kept for the next reads: as many as a scan of the default reach has under way.
const ROOMS_KEPT: usize = 16;

impl Default for Reach {
    fn default() -> Reach {
        Reach { reads: 16, pages: 16 }
    }
}

impl Reach {
    /// None: each page is read when it is asked for.
    pub const NONE: Reach = Reach { reads: 0, pages: 1 };

    /// Most pages that a scan may be ahead in a pool of so many frames.
    pub(super) fn most(self, frames: usize) -> u32 {
        let share = u32::try_from(frames / SHARE).unwrap_or(u32::MAX);
        self.reads.saturating_mul(self.pages).min(share)
    }
}

/// A pool's frames divided by this may be on their way.
const SHARE: usize = 8;

/// What all reads ahead of a pool share.
#[derive(Default)]
pub(super) struct UnderWay {
    /// Frames that pages are on their way to.
    frames: AtomicUsize,
    rooms: Mutex<Vec<Room>>,
}

impl UnderWay {
    /// Lets up to `wanted` more frames wait for pages, as far as the share goes.
    fn admit(&self, wanted: usize, pool: &Pool) -> usize {
        let most = pool.frames.len() / SHARE;
        let admit = |now: usize| {
            let more = wanted.min(most.saturating_sub(now));
            (more > 0).then_some(now + more)
        };
        // AcqRel: pairs with `leave`; only the number counts.
        match self.frames.fetch_update(Ordering::AcqRel, Ordering::Relaxed, admit) {
            Ok(before) => wanted.min(most - before),
            Err(_) => 0,
        }
    }

    /// So many of them have their pages, or won't get any.
    fn leave(&self, frames: usize) {
        // AcqRel: pairs with the acquire in `wait_for_all`: what was read is settled.
        if frames > 0 && self.frames.fetch_sub(frames, Ordering::AcqRel) == frames {
            lot::unpark_all(self.key());
        }
    }

    /// Waits until nothing is on its way.
    pub fn wait_for_all(&self) {
        // Acquire: pairs with `leave`.
        let _waiting = wait_event::during(Event::DataFileRead);
        while self.frames.load(Ordering::Acquire) > 0 {
            let some = || self.frames.load(Ordering::Acquire) > 0;
            lot::park_on(self.key(), lot::SHARED, some, None);
        }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.frames).addr()
    }

    fn room(&self) -> Room {
        let kept = self.rooms.lock().expect("no code panics under it").pop();
        kept.unwrap_or_else(|| Room::new(COMBINE_MAX as usize * PAGE_BYTES))
    }

    fn keep(&self, room: Room) {
        let mut rooms = self.rooms.lock().expect("no code panics under it");
        if rooms.len() < ROOMS_KEPT {
            rooms.push(room);
        }
    }
}

/// How far one scan is ahead. The scan's pages are numbered by *places*: 0, 1, 2 and so on in its order.
pub struct ReadAhead {
    combine: u32,
    /// Most places between the scan and what was started.
    most: u32,
    /// Places that it is to be ahead now; 1 is the place where the scan is.
    distance: u32,
    /// The first place that was not looked at.
    next: u32,
    /// Places ahead that were started here, in order.
    started: VecDeque<Range<u32>>,
}

impl ReadAhead {
    /// For a scan in the pool of `rel`.
    pub fn new(rel: &Relation, reach: Reach) -> ReadAhead {
        ReadAhead {
            combine: reach.pages.clamp(1, COMBINE_MAX),
            most: reach.most(rel.owner().frame_count()),
            distance: 1,
            next: 0,
            started: VecDeque::new(),
        }
    }

    /// For a scan whose next pages lie anywhere, so that nearly each is a read of its own.
    pub fn scattered(rel: &Relation, reach: Reach) -> ReadAhead {
        let most = Reach { pages: 1, ..reach }.most(rel.owner().frame_count());
        ReadAhead { most, ..ReadAhead::new(rel, reach) }
    }

    /// Whether it is ever to be ahead.
    pub fn looks(&self) -> bool {
        self.most > 1
    }

    /// Whether what it met lately was missing.
    pub fn is_far(&self) -> bool {
        self.distance > 1
    }

    /// The scan's next pages are others, numbered from 0 again; it is to be as far ahead there.
    pub fn start_over(&mut self) {
        self.next = 0;
        self.started.clear();
    }

    /// Pages that a ring needs for this, besides those that the scan goes round in: what was read ahead must not
    /// make room for what is read further ahead.
    pub fn ring_pages(&self) -> usize {
        self.most as usize
    }

    /// To be called, without a latch, before the page at place `places.start` is read, of a scan that ends before
    /// `places.end`. `block_of` tells which block is at a place; `None`: none that will be read.
    ///
    /// Answers whether the page was started by an earlier call: then it has been counted as read, and to find it in
    /// memory is no hit ([`Relation::read_started`]).
    pub fn look(
        &mut self,
        rel: &Relation,
        fork: Fork,
        places: Range<u32>,
        ring: Option<&mut Ring>,
        block_of: impl FnMut(u32) -> Option<BlockNo>,
    ) -> bool {
        if !self.looks() {
            return false;
        }
        let at = places.start;
        self.next = self.next.max(at);
        let in_hand = self.next - at;
        if in_hand + self.combine.min(self.distance.div_ceil(2)) <= self.distance {
            let end = places.end.min(at.saturating_add(self.distance));
            self.go_to(rel, fork, at, end..places.end, ring, block_of);
        }
        self.take(at)
    }

    /// Whether `at` was started here; it and what is before it is forgotten.
    fn take(&mut self, at: u32) -> bool {
        while let Some(first) = self.started.front_mut() {
            if first.end <= at {
                self.started.pop_front();
                continue;
            }
            let here = first.contains(&at);
            if here {
                first.start = at + 1;
            }
            return here;
        }
        false
    }

    /// Looks at the places up to `ends.start` and starts what is not in memory; the scan itself ends at `ends.end`.
    fn go_to(
        &mut self,
        rel: &Relation,
        fork: Fork,
        at: u32,
        ends: Range<u32>,
        mut ring: Option<&mut Ring>,
        mut block_of: impl FnMut(u32) -> Option<BlockNo>,
    ) {
        let (mut run, mut missing) = (Run::default(), false);
        while self.next < ends.start {
            let place = self.next;
            let block = block_of(place);
            match block.filter(|block| rel.is_missing(fork, *block)) {
                Some(block) => {
                    missing = true;
                    if !run.takes(place, block, self.combine) {
                        if !self.start(rel, fork, &mut run, ring.as_deref_mut()) {
                            return;
                        }
                        run = Run { place, first: block, blocks: 1 };
                    }
                }
                None => {
                    if !self.start(rel, fork, &mut run, ring.as_deref_mut()) {
                        return;
                    }
                    self.distance -= u32::from(block.is_some() && self.distance > 1);
                }
            }
            self.next = place + 1;
        }
        let may_grow = run.blocks < self.combine && ends.start < ends.end;
        if run.place > at && may_grow && self.distance > self.combine {
            // It waits for its neighbours.
            self.next = run.place;
        } else if run.blocks > 1 || run.place > at {
            self.start(rel, fork, &mut run, ring);
        }
        // Else the scan reads the page next, and can do so itself.
        if missing {
            self.distance = (self.distance * 2).min(self.most);
        }
    }

    /// Starts the run, if there is one; false if not all of it could be: then it ends where the scan must go on.
    fn start(
        &mut self,
        rel: &Relation,
        fork: Fork,
        run: &mut Run,
        ring: Option<&mut Ring>,
    ) -> bool {
        let Run { place, first, blocks } = std::mem::take(run);
        if blocks == 0 {
            return true;
        }
        let started = rel.start_reads(fork, first, blocks, ring);
        if started > 0 {
            self.started.push_back(place..place + started);
        }
        if started < blocks {
            self.next = place + started;
            self.distance = (self.distance / 2).max(1);
        }
        started == blocks
    }
}

/// Blocks side by side that are not in memory.
#[derive(Default)]
struct Run {
    place: u32,
    first: BlockNo,
    blocks: u32,
}

impl Run {
    /// Adds the block if it goes on with the run.
    fn takes(&mut self, place: u32, block: BlockNo, most: u32) -> bool {
        let goes_on = self.blocks > 0
            && self.blocks < most
            && place == self.place + self.blocks
            && block.0 == self.first.0 + self.blocks;
        self.blocks += u32::from(goes_on);
        goes_on
    }
}

/// Pages on their way, each claimed in its slot with a frame of its own.
struct Coming {
    rel: Relation,
    fork: Fork,
    first: BlockNo,
    frames: Vec<u32>,
    /// Goes round in a ring, and earns no credit.
    in_ring: bool,
}

impl Relation {
    /// Has a block on its way that is soon wanted, by who knows of no neighbours of it; true if that took a read.
    pub fn prefetch(&self, fork: Fork, block: BlockNo) -> bool {
        self.is_missing(fork, block) && self.start_reads(fork, block, 1, None) > 0
    }

    /// Whether the block is neither in memory nor on its way.
    pub(crate) fn is_missing(&self, fork: Fork, block: BlockNo) -> bool {
        self.map().fork(fork).slot(block).is_none_or(|slot| slot.place() == Place::Empty)
    }

    /// Starts to read `blocks` from `first` on, which are there; answers how many: fewer where another was faster,
    /// or no frame is at hand.
    fn start_reads(
        &self,
        fork: Fork,
        first: BlockNo,
        blocks: u32,
        mut ring: Option<&mut Ring>,
    ) -> u32 {
        let pool = self.pool();
        // Whoever reads the page gets to know what is wrong.
        let file = self.map().check_there().and_then(|()| pool.files.reader(self.id(), fork));
        let Ok(file) = file else { return 0 };
        if self.blocks(fork).is_ok_and(|there| first.0 + blocks > there) {
            return 0;
        }
        let admitted = pool.under_way.admit(blocks as usize, pool);
        let purpose = Purpose::of(ring.as_deref());
        let mut frames = Vec::with_capacity(admitted);
        while frames.len() < admitted {
            let block = BlockNo(first.0 + frames.len() as u32);
            let Some(frame) = pool.try_take_frame(ring.as_deref_mut()) else { break };
            let number = pool.load_number.fetch_add(1, Ordering::Relaxed);
            let slot = self.map().fork(fork).slot_or_make(block);
            if slot.claim(number).is_none() {
                pool.free.give(&[frame.index]);
                break;
            }
            if self.is_cut_off(fork, block).is_some() {
                pool.free.give(&[frame.index]);
                if slot.settle(None) {
                    lot::unpark_all(slot.key());
                }
                break;
            }
            if let Some(ring) = &mut ring {
                ring.note(frame.index, PageId { rel: self.id(), fork, block });
            }
            frames.push(frame.index);
        }
        let started = frames.len();
        pool.under_way.leave(admitted - started);
        if started == 0 {
            return 0;
        }
        count(&pool.counters.ahead, started as u64);
        pool.io.read_started(self.id(), purpose, started as u64);
        self.map().count_reads(started as u64);
        let coming = Coming { rel: self.clone(), fork, first, frames, in_ring: ring.is_some() };
        let done = Box::new(move |got: io::Result<usize>, room: Room| coming.arrive(got, room));
        file.start(first, started as u32, pool.under_way.room(), done);
        started as u32
    }
}

impl Coming {
    /// Puts the pages into their frames, those that came whole.
    fn arrive(self, got: io::Result<usize>, room: Room) {
        let pool = self.rel.pool();
        let whole = got.unwrap_or(0) / PAGE_BYTES;
        let map = self.rel.map().fork(self.fork);
        let pages =
            room.chunks_exact(PAGE_BYTES).take(whole).map(Some).chain(std::iter::repeat(None));
        for ((i, index), bytes) in self.frames.iter().enumerate().zip(pages) {
            let block = BlockNo(self.first.0 + i as u32);
            let page = PageId { rel: self.rel.id(), fork: self.fork, block };
            let slot = map.slot_or_make(block);
            let bytes: Option<&[u8; PAGE_BYTES]> =
                bytes.map(|bytes| bytes.try_into().expect("a page"));
            let frame = &pool.frames[*index as usize];
            let is_good = bytes.filter(|bytes| page::verify(bytes, page).is_ok());
            if let Some(bytes) = is_good {
                PageMut::new(pool.pages.get(*index)).write_bytes(0, bytes);
                frame.bind(page, slot);
                pool.replacer.loaded(*index, &frame.credit, hash_of(&page), !self.in_ring);
                // Pinned until the slot names it: who evicts it then clears a slot that does.
                frame.word.publish(PIN);
                count(&pool.counters.loads, 1);
            } else {
                pool.free.give(&[*index]);
            }
            if slot.settle(is_good.map(|_| *index)) {
                lot::unpark_all(slot.key());
            }
            if is_good.is_some() {
                frame.word.unpin();
            }
        }
        pool.under_way.keep(room);
        pool.under_way.leave(self.frames.len());
    }
}
