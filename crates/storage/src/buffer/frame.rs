//! What the cache knows of one frame, on one cache line.
//!
//! | field | written | read |
//! |---|---|---|
//! | `word` | see [`word`](super::word) | anywhere |
//! | tag, `slot` | by the owner of ABSENT | with a hold on the frame, or as a guess that is checked later |
//! | `rec_lsn` | 0 → position: under EXCLUSIVE; position → 0: under a shared hold, by the writer latch's owner | anywhere |
//! | `flushing` | by the writer latch's owner, holding a pin | anywhere |
//! | `credit` | anywhere, also racing: a guess about the future | anywhere |
//! | `owes_image` | under EXCLUSIVE | under EXCLUSIVE |

use super::replace::Credit;
use super::slot::Slot;
use super::word::FrameWord;
use base::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use base::{BlockNo, Fork, Lsn, PageId, RelId};
use std::ptr;

/// `rec_lsn` of a dirty page that is not logged: no redo point waits for it.
pub(super) const UNLOGGED: u64 = u64::MAX;

/// See the module.
#[repr(C, align(64))]
pub(super) struct Frame {
    pub word: FrameWord,
    /// 0: clean since it was last copied. Else no change since then was logged before this position.
    pub rec_lsn: AtomicU64,
    /// `rec_lsn` of the copy on its way to disk; 0: none.
    pub flushing: AtomicU64,
    slot: AtomicPtr<Slot>,
    rel: AtomicU32,
    block: AtomicU32,
    /// The replacement policy's.
    pub credit: Credit,
    pub index: u32,
    fork: AtomicU8,
    /// The log has no image of the page since it became dirty.
    pub owes_image: AtomicBool,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Frame>() == 64 && align_of::<Frame>() == 64);

impl Frame {
    pub fn new(index: u32) -> Frame {
        Frame {
            word: FrameWord::absent(),
            rec_lsn: AtomicU64::new(0),
            flushing: AtomicU64::new(0),
            slot: AtomicPtr::new(ptr::null_mut()),
            rel: AtomicU32::new(0),
            block: AtomicU32::new(0),
            credit: Credit::new(),
            index,
            fork: AtomicU8::new(0),
            owes_image: AtomicBool::new(false),
        }
    }

    /// Notes which page the frame is about to hold. The caller owns ABSENT.
    pub fn bind(&self, page: PageId, slot: &Slot) {
        debug_assert!(self.word.is_absent(), "an absent frame is bound");
        // Relaxed: `publish` releases.
        self.rel.store(page.rel.0, Ordering::Relaxed);
        self.block.store(page.block.0, Ordering::Relaxed);
        self.fork.store(page.fork as u8, Ordering::Relaxed);
        self.slot.store(ptr::from_ref(slot).cast_mut(), Ordering::Relaxed);
        self.owes_image.store(false, Ordering::Relaxed);
    }

    /// Empties the slot that leads here. The caller owns ABSENT; after this the page may be loaded elsewhere.
    pub fn unbind(&self) {
        debug_assert!(self.word.is_absent(), "an absent frame is unbound");
        let slot = self.slot.swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: a slot's memory lives until the pool goes, or its relation was dropped, its last handle is
        // gone and the slot is empty (`RelMap::drop`); this one still leads to the frame.
        let slot = unsafe { slot.as_ref() }.expect("a frame with a page has a slot");
        slot.clear(self.index);
    }

    /// The page it holds; meaningful with a hold on the frame.
    pub fn page_id(&self) -> PageId {
        // Relaxed: the hold's acquire pairs with `publish`.
        PageId {
            rel: RelId(self.rel.load(Ordering::Relaxed)),
            fork: Fork::from_u8(self.fork.load(Ordering::Relaxed)).expect("bound to a fork"),
            block: BlockNo(self.block.load(Ordering::Relaxed)),
        }
    }

    /// Where the page lies, for sorting; read without a hold, so possibly a mixture.
    pub fn place_hint(&self) -> (u32, u8, u32) {
        let (rel, block) = (&self.rel, &self.block);
        let fork = self.fork.load(Ordering::Relaxed);
        (rel.load(Ordering::Relaxed), fork, block.load(Ordering::Relaxed))
    }

    /// Whether it holds this page; read without a hold, so true of the moment at most.
    pub fn holds(&self, page: PageId) -> bool {
        self.place_hint() == (page.rel.0, page.fork as u8, page.block.0)
    }

    /// Whether the page differs from its copy on disk, or may: a copy is on its way.
    #[inline]
    pub fn is_dirty(&self) -> bool {
        // Acquire on the first: pairs with the release in `begin_flush`, so that one of the two is seen.
        self.rec_lsn.load(Ordering::Acquire) != 0 || self.flushing.load(Ordering::Acquire) != 0
    }

    /// Whether changes logged from `lsn` on may be missing on disk because of this frame.
    pub fn needs_redo_from(&self, lsn: Lsn) -> bool {
        // Acquire: as in `is_dirty`.
        self.rec_lsn.load(Ordering::Acquire) == lsn.0
            || self.flushing.load(Ordering::Acquire) == lsn.0
    }

    /// The copy was just made, under a shared hold: what is written now counts as `flushing`. Answers the
    /// position that the page needs log from (unlogged: `Lsn::MAX`).
    pub fn begin_flush(&self) -> Lsn {
        let rec = self.rec_lsn.load(Ordering::Relaxed);
        debug_assert!(rec != 0 && self.flushing.load(Ordering::Relaxed) == 0);
        self.flushing.store(rec, Ordering::Relaxed);
        // Release: pairs with the acquires in `is_dirty` and `needs_redo_from`.
        self.rec_lsn.store(0, Ordering::Release);
        Lsn(rec)
    }

    /// The copy is written in its place.
    pub fn end_flush(&self) {
        // Release: who sees it clean sees the write done.
        self.flushing.store(0, Ordering::Release);
    }
}
