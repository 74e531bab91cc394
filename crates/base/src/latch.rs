//! Latches: protect memory for microseconds. A context that must wait for one parks.
//!
//! One word: bit 31 exclusive, bit 30 "somebody waits", the rest counts shared holders. Waiters queue in
//! [`crate::lot`] by the word's address. A newcomer does not pass waiters; one that was just woken may.
//! There is no poisoning: a panic under a latch aborts the process (the fiber's job guard does).

use crate::counts::{self, Count, Hold, Stopwatch};
use crate::lot;
use crate::rank::{self, Rank};
use crate::sync::spin_hint;
use crate::sync::unmodelled::{AtomicU32, Ordering};
use crate::wait_event::{self, Event};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

const EXCLUSIVE: u32 = 1 << 31;
const WAITERS: u32 = 1 << 30;
const SHARED: u32 = 1;
const SHARED_MASK: u32 = WAITERS - 1;

/// How often a taker looks again before it parks. Short: the holder may be a preempted thread.
const SPINS: u32 = 40;

/// The bare latch word, for rooms that keep the data elsewhere.
#[derive(Default)]
pub struct RawLatch(AtomicU32);

impl RawLatch {
    /// A free latch.
    pub const fn new() -> RawLatch {
        RawLatch(AtomicU32::new(0))
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Takes it alone if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the release in `unlock` and `unlock_shared`.
        let taken = self.0.compare_exchange(0, EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            counts::one(Count::Latch);
        }
        taken.is_ok()
    }

    /// Takes it alone; parks while others hold it.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow(lot::EXCLUSIVE);
        }
    }

    /// Takes it together with other shared holders, if nobody holds it alone or waits.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let taken = word & (EXCLUSIVE | WAITERS) == 0
            && self
                .0
                // Acquire: pairs with the release in `unlock`.
                .compare_exchange(word, word + SHARED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if taken {
            counts::one(Count::Latch);
        }
        taken
    }

    /// Takes it shared; parks while another holds it alone.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.try_lock_shared() {
            self.lock_slow(lot::SHARED);
        }
    }

    /// One attempt; `woken` contexts pass the waiters' bit.
    fn attempt(&self, word: u32, tag: u32, woken: bool) -> Option<bool> {
        let free = match tag {
            lot::EXCLUSIVE => word & (EXCLUSIVE | SHARED_MASK) == 0,
            _ => word & EXCLUSIVE == 0,
        };
        if !free || (word & WAITERS != 0 && !woken) {
            return None;
        }
        let next = if tag == lot::EXCLUSIVE { word | EXCLUSIVE } else { word + SHARED };
        // Acquire: pairs with the release in `unlock` and `unlock_shared`.
        let taken = self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed);
        Some(taken.is_ok())
    }

    #[cold]
    fn lock_slow(&self, tag: u32) {
        let _waiting = wait_event::during_unnamed(Event::Latch);
        let mut woken = false;
        let mut spins = 0;
        loop {
            let word = self.0.load(Ordering::Relaxed);
            match self.attempt(word, tag, woken) {
                Some(true) => return counts::one(Count::Latch),
                Some(false) => continue,
                None => {}
            }
            if word & WAITERS == 0 {
                if spins < SPINS {
                    spins += 1;
                    spin_hint();
                    continue;
                }
                let flagged = word | WAITERS;
                if self
                    .0
                    .compare_exchange_weak(word, flagged, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err()
                {
                    continue;
                }
            }
            // Under the bucket's mutex: an unlocker that clears the flag does so under the same mutex.
            let still = || {
                let word = self.0.load(Ordering::Relaxed);
                word & WAITERS != 0 && word & !WAITERS != 0
            };
            counts::one(Count::LatchWait);
            woken = lot::park_on(self.key(), tag, still, None) == lot::Wake::Unparked;
            spins = 0;
            if !woken {
                // Skipped: the latch came free with the flag set, or lost its flag. Nobody else would
                // come to clear a flag on a free latch, so this context may pass it.
                woken = true;
            }
        }
    }

    /// Gives back an exclusive hold.
    #[inline]
    pub fn unlock(&self) {
        // Release: pairs with the acquire of the next taker.
        let before = self.0.fetch_and(!EXCLUSIVE, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "unlock of a latch that is not held");
        if before & WAITERS != 0 {
            self.wake();
        }
    }

    /// Gives back a shared hold.
    #[inline]
    pub fn unlock_shared(&self) {
        // Release: pairs with the acquire of the next exclusive taker.
        let before = self.0.fetch_sub(SHARED, Ordering::Release);
        debug_assert!(before & SHARED_MASK != 0, "unlock of a latch that is not held");
        if before & WAITERS != 0 && before & SHARED_MASK == SHARED {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        lot::unpark_group(self.key(), |more| {
            if !more {
                self.0.fetch_and(!WAITERS, Ordering::Relaxed);
            }
        });
    }

    /// Whether somebody holds it alone. For assertions.
    pub fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed) & EXCLUSIVE != 0
    }
}

/// Data under a latch that is taken alone.
pub struct Latch<T> {
    raw: RawLatch,
    rank: Rank,
    data: UnsafeCell<T>,
}

/// Data under a latch that readers share.
pub struct RwLatch<T> {
    raw: RawLatch,
    rank: Rank,
    data: UnsafeCell<T>,
}

// SAFETY: the latch admits one holder of `&mut T` at a time.
unsafe impl<T: Send> Sync for Latch<T> {}
// SAFETY: as above, and shared holders get `&T` from several threads.
unsafe impl<T: Send + Sync> Sync for RwLatch<T> {}

/// An exclusive hold of a [`Latch`]; released at drop.
pub struct LatchGuard<'a, T> {
    latch: &'a Latch<T>,
    held: Stopwatch,
}
/// An exclusive hold of a [`RwLatch`]; released at drop.
pub struct WriteLatch<'a, T> {
    latch: &'a RwLatch<T>,
    held: Stopwatch,
}
/// A shared hold of a [`RwLatch`]; released at drop.
pub struct ReadLatch<'a, T> {
    latch: &'a RwLatch<T>,
    held: Stopwatch,
}

impl Rank {
    /// Has `take` wait for a latch of this rank, under its name.
    #[cold]
    fn wait(self, take: impl FnOnce()) {
        let _waiting = wait_event::during_unnamed(match self {
            Rank::LockShard | Rank::Table => Event::LockManagerLatch,
            Rank::BufferMap => Event::BufferMappingLatch,
            Rank::RelSync | Rank::RelFile => Event::RelFileLatch,
            Rank::Wal => Event::WalLatch,
            _ => Event::Latch,
        });
        take();
    }
}

impl<T> Latch<T> {
    /// A free latch of this rank over `data`.
    pub const fn new(rank: Rank, data: T) -> Latch<T> {
        Latch { raw: RawLatch::new(), rank, data: UnsafeCell::new(data) }
    }

    /// Takes it; parks while another holds it.
    #[inline]
    pub fn lock(&self) -> LatchGuard<'_, T> {
        crate::sim::maybe_yield(8);
        rank::acquired(self.rank);
        if !self.raw.try_lock() {
            self.rank.wait(|| self.raw.lock());
        }
        LatchGuard { latch: self, held: Stopwatch::start() }
    }

    /// Takes it if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<LatchGuard<'_, T>> {
        self.raw.try_lock().then(|| {
            rank::acquired(self.rank);
            LatchGuard { latch: self, held: Stopwatch::start() }
        })
    }

    /// The data, without latching: nobody else can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T> RwLatch<T> {
    /// A free latch of this rank over `data`.
    pub const fn new(rank: Rank, data: T) -> RwLatch<T> {
        RwLatch { raw: RawLatch::new(), rank, data: UnsafeCell::new(data) }
    }

    /// Takes it alone; parks while others hold it.
    #[inline]
    pub fn write(&self) -> WriteLatch<'_, T> {
        crate::sim::maybe_yield(8);
        rank::acquired(self.rank);
        if !self.raw.try_lock() {
            self.rank.wait(|| self.raw.lock());
        }
        WriteLatch { latch: self, held: Stopwatch::start() }
    }

    /// Takes it shared; parks while another holds it alone.
    #[inline]
    pub fn read(&self) -> ReadLatch<'_, T> {
        crate::sim::maybe_yield(8);
        rank::acquired(self.rank);
        if !self.raw.try_lock_shared() {
            self.rank.wait(|| self.raw.lock_shared());
        }
        ReadLatch { latch: self, held: Stopwatch::start() }
    }

    /// The data, without latching: nobody else can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

macro_rules! guard {
    ($guard:ident, $unlock:ident, $how:expr) => {
        impl<T> Deref for $guard<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                // SAFETY: the latch is held, and no `&mut` exists beside it.
                unsafe { &*self.latch.data.get() }
            }
        }

        impl<T> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                self.held.stop(self.latch.rank, $how);
                self.latch.raw.$unlock();
                rank::released(self.latch.rank);
            }
        }
    };
}

guard!(LatchGuard, unlock, Hold::Alone);
guard!(WriteLatch, unlock, Hold::Alone);
guard!(ReadLatch, unlock_shared, Hold::Shared);

impl<T> DerefMut for LatchGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the latch is held alone.
        unsafe { &mut *self.latch.data.get() }
    }
}

impl<T> DerefMut for WriteLatch<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the latch is held alone.
        unsafe { &mut *self.latch.data.get() }
    }
}

#[cfg(test)]
mod tests;
