//! The frame word: exclusive latch, shared holders, pins and version of a frame in 64 bits.
//!
//! ```text
//! bits  0..14  pins        bound: PINS_MAX, refused beyond
//! bits 14..24  shared      bound: SHARED_MAX, newcomers wait beyond
//! bit  24      WAITERS     somebody is queued in the lot for this word
//! bit  25      EXCLUSIVE   latched alone, or owned by whoever loads or frees the frame
//! bit  26      ABSENT      the frame holds no page that others may use (always with EXCLUSIVE)
//! bits 27..64  version     +1 at each end of EXCLUSIVE
//! ```
//!
//! **Who may change what.** Anyone may add a pin or a shared hold and, told by the value before that it was
//! refused, take it back; so both counts may be *transiently* high in any state, also while ABSENT. A holder
//! takes its own hold back. EXCLUSIVE is set only by compare-exchange from a word without it and without
//! shared holders; ABSENT is set together with it, from a word with no holds at all. The owner of EXCLUSIVE
//! clears both and moves the version in one addition.
//!
//! **Bounds.** An addition that finds a count at its maximum is taken back at once. Between the two steps a
//! context can't be suspended (it runs on a thread, and fibers switch only where they park), so a count
//! exceeds its maximum by at most one for each thread of the process; the slack above the maxima is 1024 for
//! pins and 256 for shared holders, and no count can run into its neighbour.
//!
//! **Version.** 37 bits, never reset, also when the frame changes its page. A reader without a latch is
//! wrong only if exactly a multiple of 2³⁷ exclusive holds end between its two looks at the word, which
//! at one every 10 ns takes 23 minutes.
//!
//! **Reading without a latch** is a sequence lock: `read_begin` (acquire), relaxed loads of the page,
//! `read_still_valid` (acquire fence, then the word). Whoever sets EXCLUSIVE issues a release fence before its
//! first store to the page. If a reader saw one of these stores, the fences pair and its second look sees
//! EXCLUSIVE, or a later version.

use base::sync::atomic::{AtomicU64, Ordering, fence};

/// One pin.
pub(super) const PIN: u64 = 1;
/// One shared hold.
pub(super) const SHARED: u64 = 1 << 14;
const WAITERS: u64 = 1 << 24;
/// The exclusive hold.
pub(super) const EXCLUSIVE: u64 = 1 << 25;
const ABSENT: u64 = 1 << 26;
const VERSION: u64 = 1 << 27;

const PINS: u64 = SHARED - PIN;
const SHARED_ALL: u64 = WAITERS - SHARED;
const VERSION_ALL: u64 = !(VERSION - 1);
const PINS_MAX: u64 = PINS - 1023;
const SHARED_MAX: u64 = SHARED_ALL - 255 * SHARED;

/// See the module.
pub(super) struct FrameWord(AtomicU64);

/// What a fast attempt came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attempt {
    /// The hold is taken.
    Taken,
    /// Not now. With `wake`, taking the attempt back fell to the last shared holder's duty: wake waiters.
    Refused {
        /// Call the lot.
        wake: bool,
    },
}

/// Why a pin was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoPin {
    /// The frame is being freed, free, or being loaded.
    Absent,
    /// It has as many pins as can be counted.
    TooMany,
}

impl FrameWord {
    /// A free frame's word.
    pub fn absent() -> FrameWord {
        FrameWord(AtomicU64::new(EXCLUSIVE | ABSENT))
    }

    /// For the lot.
    pub fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Adds a pin unless the frame is absent. The caller then checks that the frame holds what it looked for.
    #[inline]
    pub fn try_pin(&self) -> Result<(), NoPin> {
        // Acquire: pairs with the release in `publish`; the page's identity is read after.
        let before = self.0.fetch_add(PIN, Ordering::Acquire);
        if before & ABSENT == 0 && before & PINS < PINS_MAX {
            return Ok(());
        }
        self.unpin();
        Err(if before & ABSENT != 0 { NoPin::Absent } else { NoPin::TooMany })
    }

    /// Takes a pin back.
    #[inline]
    pub fn unpin(&self) {
        // Release: pairs with the acquire in `try_evict`; what the holder read or wrote comes before.
        let before = self.0.fetch_sub(PIN, Ordering::Release);
        debug_assert!(before & PINS != 0, "a pin is taken back by its holder");
    }

    /// One attempt at a shared hold. Needs no pin: the caller then checks what the frame holds.
    #[inline]
    pub fn try_shared(&self) -> Attempt {
        // Acquire: pairs with the releases in `unlock_exclusive` and `publish`.
        let before = self.0.fetch_add(SHARED, Ordering::Acquire);
        if before & (ABSENT | EXCLUSIVE | WAITERS) == 0 && before & SHARED_ALL < SHARED_MAX {
            return Attempt::Taken;
        }
        Attempt::Refused { wake: self.unlock_shared() }
    }

    /// One attempt at the exclusive hold. Needs no pin: the caller then checks what the frame holds.
    #[inline]
    pub fn try_exclusive(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        while word & (ABSENT | EXCLUSIVE | WAITERS | SHARED_ALL) == 0 {
            match self.exchange(word, word | EXCLUSIVE) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Compare-exchange that sets EXCLUSIVE, with the fence that readers without a latch rely on.
    #[inline]
    fn exchange(&self, from: u64, to: u64) -> Result<(), u64> {
        // Acquire: pairs with the releases of the holders before.
        self.0.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)?;
        // Pairs with the acquire fence in `read_still_valid`: page stores come after EXCLUSIVE.
        fence(Ordering::Release);
        Ok(())
    }

    /// One attempt by a holder of a pin, which may be traded for the hold (`give` is `PIN` or 0). `hold` is
    /// `SHARED` or `EXCLUSIVE`. A context that was `woken` passes the waiters' flag. `None`: must wait;
    /// `Some(false)`: look again.
    pub fn attempt(&self, word: u64, hold: u64, give: u64, woken: bool) -> Option<bool> {
        debug_assert!(word & ABSENT == 0, "a pinned frame is present");
        if !Self::free_for(word, hold) || (word & WAITERS != 0 && !woken) {
            return None;
        }
        // For SHARED the fence is not needed but harmless: this is the slow path.
        Some(self.exchange(word, word + hold - give).is_ok())
    }

    fn free_for(word: u64, hold: u64) -> bool {
        let shared = word & SHARED_ALL;
        word & EXCLUSIVE == 0 && if hold == EXCLUSIVE { shared == 0 } else { shared < SHARED_MAX }
    }

    /// The word as it is now.
    pub fn load(&self) -> u64 {
        // Relaxed: only ever the expected value of an exchange, or a guess.
        self.0.load(Ordering::Relaxed)
    }

    /// Announces a waiter. False if the word has changed, or the flag was there (`word` tells which).
    pub fn announce_waiter(&self, word: u64) -> bool {
        word & WAITERS != 0
            // Relaxed: the queue's mutex orders waiter and waker.
            || self
                .0
                .compare_exchange(word, word | WAITERS, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Whether a waiter for `hold` has reason to sleep: called under the queue's mutex.
    pub fn must_wait(&self, hold: u64) -> bool {
        let word = self.load();
        word & WAITERS != 0 && !Self::free_for(word, hold)
    }

    /// Clears the waiters' flag: called under the queue's mutex, when nobody is queued.
    pub fn no_more_waiters(&self) {
        // Relaxed: as above.
        self.0.fetch_and(!WAITERS, Ordering::Relaxed);
    }

    /// Ends a shared hold; true if waiters are to be woken.
    #[inline]
    #[must_use]
    pub fn unlock_shared(&self) -> bool {
        // Release: pairs with the acquire of the next exclusive holder.
        Self::last_shared(self.0.fetch_sub(SHARED, Ordering::Release))
    }

    /// Trades a shared hold for a pin; true if waiters are to be woken.
    #[inline]
    #[must_use]
    pub fn shared_to_pin(&self) -> bool {
        // Release: as in `unlock_shared`.
        Self::last_shared(self.0.fetch_sub(SHARED - PIN, Ordering::Release))
    }

    #[inline]
    fn last_shared(before: u64) -> bool {
        debug_assert!(before & SHARED_ALL != 0, "a shared hold is ended by its holder");
        // Under EXCLUSIVE its holder does the waking.
        before & (WAITERS | SHARED_ALL | EXCLUSIVE) == WAITERS | SHARED
    }

    /// Ends the exclusive hold, `keep`ing a `PIN` or 0; true if waiters are to be woken.
    #[inline]
    #[must_use]
    pub fn unlock_exclusive(&self, keep: u64) -> bool {
        // Release: pairs with the acquires of the next holders and of `read_begin`.
        let before = self.0.fetch_add((VERSION - EXCLUSIVE).wrapping_add(keep), Ordering::Release);
        debug_assert!(before & (EXCLUSIVE | ABSENT) == EXCLUSIVE, "ended by its holder");
        before & WAITERS != 0
    }

    /// A frame that might be evicted: nobody holds it. To be passed to `try_evict`.
    #[inline]
    pub fn idle(&self) -> Option<u64> {
        // Acquire: pairs with `unlock_exclusive`; whether the page is dirty is read after.
        let word = self.0.load(Ordering::Acquire);
        (word & !VERSION_ALL == 0).then_some(word)
    }

    /// Takes the frame from everybody, if its word is what `idle` saw. Nothing was written to the page in
    /// between; pins and shared holds may have come and gone.
    #[inline]
    pub fn try_evict(&self, idle: u64) -> bool {
        debug_assert!(idle & !VERSION_ALL == 0, "an idle word");
        self.exchange(idle, idle | EXCLUSIVE | ABSENT).is_ok()
    }

    /// Ends ABSENT with the page loaded (or not evicted after all), leaving the owner with `hold`: `PIN`,
    /// `SHARED`, `EXCLUSIVE` or 0.
    pub fn publish(&self, hold: u64) {
        let end = if hold == EXCLUSIVE { 0 } else { (VERSION - EXCLUSIVE).wrapping_add(hold) };
        // Release: pairs with the acquires of `try_pin`, `try_shared`, `read_begin`.
        let before = self.0.fetch_add(end.wrapping_sub(ABSENT), Ordering::Release);
        debug_assert!(
            before & (EXCLUSIVE | ABSENT) == EXCLUSIVE | ABSENT,
            "published by its owner"
        );
        debug_assert!(
            before & WAITERS == 0,
            "who waits holds a pin, which an absent frame has not"
        );
    }

    /// Begins a read without a latch; `None` while the page changes or is absent.
    #[inline]
    pub fn read_begin(&self) -> Option<u64> {
        // Acquire: pairs with the releases of `unlock_exclusive` and `publish`.
        let word = self.0.load(Ordering::Acquire);
        (word & (EXCLUSIVE | ABSENT) == 0).then_some(word)
    }

    /// Whether what was read since `read_begin` is one state of one page.
    #[inline]
    pub fn read_still_valid(&self, begun: u64) -> bool {
        // Pairs with the release fence in `exchange`.
        fence(Ordering::Acquire);
        // Relaxed: ordered after the page's loads by the fence.
        (self.0.load(Ordering::Relaxed) ^ begun) & (VERSION_ALL | EXCLUSIVE | ABSENT) == 0
    }

    /// Pins now, transient ones included.
    pub fn pins(&self) -> u64 {
        self.load() & PINS
    }

    /// Whether it holds no usable page.
    pub fn is_absent(&self) -> bool {
        self.load() & ABSENT != 0
    }
}
