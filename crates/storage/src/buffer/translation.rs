//! From block number to frame, without a lock and without moving anything.
//!
//! A fork has one slot for each block, in segments that double in size: segment *k* holds the slots of
//! blocks 16·(2ᵏ−1) up to 16·(2ᵏ⁺¹−1). A lookup is a bit scan, a load of the segment's address and a load
//! of the slot. Segments are made on first use, never move and are never replaced, so nothing is ever
//! superseded and no reader can hold a stale one; the system gives memory only to the parts that are
//! touched. They are freed with the relation's last handle.
//!
//! A slot is EMPTY, LOADING (with the load's number, and whether somebody waits) or names a frame.

use base::BlockNo;
use base::latch::Latch;
use base::lot;
use base::rank::Rank;
use std::alloc::{self, Layout};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

const FIRST_SEGMENT: u32 = 16;
const SEGMENTS: usize = 29;

const EMPTY: u32 = 0;
const LOADING: u32 = 1 << 31;
const WAITED: u32 = 1 << 30;
/// Frames are numbered below this.
pub(super) const FRAMES_MAX: u32 = WAITED - 1;

/// Blocks of the fork are not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Where one block is.
#[repr(transparent)]
pub(super) struct Slot(AtomicU32);

/// What a slot says, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Not in memory.
    Empty,
    /// On its way; the number identifies the load.
    Loading(u32),
    /// In the frame with this index.
    Frame(u32),
}

impl Slot {
    /// The raw word, for [`Slot::frame_of`] and [`Slot::still`].
    #[inline]
    pub fn load(&self) -> u32 {
        // Acquire: pairs with the release in `settle`.
        self.0.load(Ordering::Acquire)
    }

    /// The frame that a raw word names.
    #[inline]
    pub fn frame_of(raw: u32) -> Option<u32> {
        // One comparison for both: EMPTY wraps to the maximum, LOADING is above all frames.
        let index = raw.wrapping_sub(1);
        (index < FRAMES_MAX).then_some(index)
    }

    /// Whether the slot still reads `raw`. After a successful hold on the frame: then the frame holds the
    /// block, because its owner clears the slot before it releases ABSENT.
    #[inline]
    pub fn still(&self, raw: u32) -> bool {
        // Relaxed: the hold's acquire ordered it.
        self.0.load(Ordering::Relaxed) == raw
    }

    pub fn place(&self) -> Place {
        let raw = self.load();
        match Slot::frame_of(raw) {
            Some(index) => Place::Frame(index),
            None if raw == EMPTY => Place::Empty,
            None => Place::Loading(raw & !WAITED),
        }
    }

    /// Makes the caller the one who loads the block. `number` tells this load from others.
    pub fn claim(&self, number: u32) -> Option<u32> {
        let loading = LOADING | number & (WAITED - 1);
        // Acquire: pairs with the release in `clear`: the block's last frame was clean on disk.
        self.0
            .compare_exchange(EMPTY, loading, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then_some(loading)
    }

    /// Ends the caller's load; true if somebody may wait.
    pub fn settle(&self, frame: Option<u32>) -> bool {
        let raw = frame.map_or(EMPTY, |index| index + 1);
        // Release: pairs with the acquire in `load`.
        let before = self.0.swap(raw, Ordering::AcqRel);
        debug_assert!(before & LOADING != 0, "a load is ended by its owner");
        before & WAITED != 0
    }

    /// The frame that the slot named was freed.
    pub fn clear(&self, index: u32) {
        // Release: pairs with the acquire in `claim`.
        let before = self.0.swap(EMPTY, Ordering::AcqRel);
        debug_assert_eq!(before, index + 1, "a slot is cleared by its frame's owner");
    }

    /// Parks until the load `number` has ended.
    pub fn wait(&self, number: u32) {
        let waited = number | WAITED;
        // Relaxed: the queue's mutex orders waiter and waker.
        let flagged = self.0.compare_exchange(number, waited, Ordering::Relaxed, Ordering::Relaxed);
        if flagged.is_ok() || flagged == Err(waited) {
            let still = || self.0.load(Ordering::Relaxed) == waited;
            lot::park_on(self.key(), lot::SHARED, still, None);
        }
    }

    /// For the lot.
    pub fn key(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// The slots of one fork, and how long it is.
pub(super) struct ForkMap {
    segments: [AtomicPtr<Slot>; SEGMENTS],
    /// Blocks that exist; [`UNKNOWN`] until somebody asks.
    pub blocks: AtomicU32,
    /// Blocks that the file has; held while the fork grows or shrinks.
    pub physical: Latch<u32>,
}

#[inline]
fn locate(block: BlockNo) -> (usize, usize) {
    let group = block.0 / FIRST_SEGMENT + 1;
    let segment = group.ilog2();
    (segment as usize, (block.0 - FIRST_SEGMENT * ((1 << segment) - 1)) as usize)
}

fn layout(segment: usize) -> Layout {
    Layout::array::<Slot>((FIRST_SEGMENT as usize) << segment).expect("at most 16 GiB")
}

impl ForkMap {
    pub fn new() -> ForkMap {
        ForkMap {
            segments: [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS],
            blocks: AtomicU32::new(UNKNOWN),
            physical: Latch::new(Rank::BufferMap, 0),
        }
    }

    /// The slot of `block`, if anything near it was ever used.
    #[inline]
    pub fn slot(&self, block: BlockNo) -> Option<&Slot> {
        let (segment, at) = locate(block);
        // Acquire: pairs with the release in `make`: the slots are zeroed.
        let slots = self.segments[segment].load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: the segment has 16·2ᵏ slots, `locate` stays below that, and it lives as long as self.
        Some(unsafe { &*slots.add(at) })
    }

    /// The slot of `block`, made if need be.
    pub fn slot_or_make(&self, block: BlockNo) -> &Slot {
        if let Some(slot) = self.slot(block) {
            return slot;
        }
        self.make(locate(block).0);
        self.slot(block).expect("just made")
    }

    #[cold]
    fn make(&self, segment: usize) {
        let layout = layout(segment);
        // SAFETY: the layout is not empty; zero is a valid Slot (EMPTY).
        let slots = unsafe { alloc::alloc_zeroed(layout) }.cast::<Slot>();
        if slots.is_null() {
            alloc::handle_alloc_error(layout);
        }
        // Release: pairs with the acquire in `slot`.
        let raced = self.segments[segment].compare_exchange(
            ptr::null_mut(),
            slots,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if raced.is_err() {
            // SAFETY: allocated above with this layout, and nobody else has seen it.
            unsafe { alloc::dealloc(slots.cast(), layout) };
        }
    }

    /// The slots that were made for blocks from `from` on, below `end`.
    pub fn made(&self, from: u32, end: u32) -> impl Iterator<Item = (BlockNo, &Slot)> {
        let segment_of = |block| locate(BlockNo(block)).0;
        let mut at = from;
        std::iter::from_fn(move || {
            while at < end {
                let block = BlockNo(at);
                if let Some(slot) = self.slot(block) {
                    at += 1;
                    return Some((block, slot));
                }
                let next = u64::from(FIRST_SEGMENT) * ((2 << segment_of(at)) - 1);
                at = u32::try_from(next).unwrap_or(u32::MAX);
            }
            None
        })
    }
}

impl Drop for ForkMap {
    fn drop(&mut self) {
        for (segment, slots) in self.segments.iter_mut().enumerate() {
            let slots = *slots.get_mut();
            if !slots.is_null() {
                // SAFETY: allocated in `make` with this layout; frames that point into it are gone: the
                // relation was dropped, or the pool is going with all its frames.
                unsafe { alloc::dealloc(slots.cast(), layout(segment)) };
            }
        }
    }
}
