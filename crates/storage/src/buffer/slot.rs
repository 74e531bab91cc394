//! Where one block is: EMPTY, LOADING (with the load's number, and whether somebody waits) or a frame.

use base::lot;
use base::sync::atomic::{AtomicU32, Ordering};
use base::wait_event::{self, Event};
use std::ptr;

const EMPTY: u32 = 0;
const LOADING: u32 = 1 << 31;
const WAITED: u32 = 1 << 30;
/// Frames are numbered below this.
pub(super) const FRAMES_MAX: u32 = WAITED - 1;

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
    /// A slot alone, for models.
    #[cfg(all(test, loom))]
    pub fn empty() -> Slot {
        Slot(AtomicU32::new(EMPTY))
    }

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

    /// Parks until the load `number` has ended, which shows as `event`.
    pub fn wait(&self, number: u32, event: Event) {
        let waited = number | WAITED;
        // Relaxed: the queue's mutex orders waiter and waker.
        let flagged = self.0.compare_exchange(number, waited, Ordering::Relaxed, Ordering::Relaxed);
        if flagged.is_ok() || flagged == Err(waited) {
            let still = || self.0.load(Ordering::Relaxed) == waited;
            let _waiting = wait_event::during(event);
            lot::park_on(self.key(), lot::SHARED, still, None);
        }
    }

    /// For the lot.
    pub fn key(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}
