//! From block number to frame, without a lock and without moving anything.
//!
//! A fork has one slot for each block, in segments that double in size: segment *k* holds the slots of
//! blocks 16·(2ᵏ−1) up to 16·(2ᵏ⁺¹−1). A lookup is a bit scan, a load of the segment's address and a load
//! of the slot. Segments are made on first use, never move and are never replaced, so nothing is ever
//! superseded and no reader can hold a stale one; the system gives memory only to the parts that are
//! touched. They are freed with the relation's last handle.
//!
//! What a slot says is told in [`slot`](super::slot).

use super::slot::{Place, Slot};
use base::BlockNo;
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicPtr, AtomicU32, Ordering};
use std::alloc::{self, Layout};
use std::ptr;

const FIRST_SEGMENT: u32 = 16;
const SEGMENTS: usize = 29;

/// Blocks of the fork are not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

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

impl ForkMap {
    /// Gives up the memory of segments that a frame still points into.
    pub fn leak_unless_empty(&mut self) {
        for (segment, slots) in self.segments.iter_mut().enumerate() {
            let slots = slots.get_mut();
            let len = (FIRST_SEGMENT as usize) << segment;
            // SAFETY: a made segment has `len` slots, and lives until Drop.
            let mut all = (0..len).map(|at| unsafe { &*slots.add(at) });
            if !slots.is_null() && all.any(|slot| slot.place() != Place::Empty) {
                *slots = ptr::null_mut();
            }
        }
    }
}

impl Drop for ForkMap {
    fn drop(&mut self) {
        for (segment, slots) in self.segments.iter_mut().enumerate() {
            let slots = *slots.get_mut();
            if !slots.is_null() {
                // SAFETY: allocated in `make` with this layout. No frame follows a pointer into it any more: the
                // relation was dropped and its slots are empty, or the pool goes with all its frames.
                unsafe { alloc::dealloc(slots.cast(), layout(segment)) };
            }
        }
    }
}
