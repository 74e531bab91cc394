//! Space claims: room for log is promised before the first latch, so that an insert never waits.
//!
//! *Granted* counts bytes of log as a position: what is reserved, plus what open claims and purses hold.
//! It never passes the *limit*, the lower of "the ring is free up to here" and "segments are ready up to
//! here"; so whatever is reserved under a claim has a place in the ring and in a file. Limits only grow.
//!
//! Claims are small and frequent, so each thread has a *purse* on its own cache line that it fills in
//! chunks: most claims and returns touch nothing shared. Who finds no room empties all purses before it
//! waits, so that nothing is stranded in them.

use base::lot;
use base::pad::Padded;
use base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// Ordinary claims leave this much of the last ready segment alone: with a full disk, the checkpointer
/// must still be able to log a checkpoint, which sets old segments free. Most of it is for the files that
/// running transactions have made, 12 bytes each: some 87,000 in a segment of 16 MiB.
fn reserve_bytes(segment_bytes: u64) -> u64 {
    (segment_bytes / 16).max(16 * 1024)
}

/// Log that one run may write, by the bits of a position in the reservation word: half a year at a gigabyte
/// a second.
const RUN_BYTES_MAX: u64 = 1 << 54;

/// What a purse is filled with at a time, at most.
const CHUNK_MAX: u64 = 64 * 1024;

/// Who claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Claimant {
    /// Foreground work.
    Ordinary,
    /// The checkpointer: may use the reserve.
    Checkpointer,
}

/// Limits, written by the flusher and the segment maker, read at every purse filling.
struct Limits {
    /// The ring is free below this position.
    ring: AtomicU64,
    /// Segments are ready below this position.
    segments: AtomicU64,
    /// No segment can be made: who would wait for one gets an error instead.
    refused: AtomicBool,
    /// How many contexts wait for room.
    waiting: AtomicUsize,
}

/// The books of claimed log space. Positions are absolute, in bytes.
pub(super) struct Space {
    granted: Padded<AtomicU64>,
    limits: Padded<Limits>,
    purses: Box<[Padded<AtomicU64>]>,
    chunk: u64,
    reserve: u64,
    /// Positions from here on do not fit the reservation word (16 PiB from the start).
    end: u64,
}

#[cfg(not(loom))]
const _: () = assert!(base::pad::is_one_line::<Limits>() && base::pad::is_one_line::<AtomicU64>());

/// Why a claim was not granted now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Denied {
    /// The flusher or the segment maker will make room.
    NotYet,
    /// No segment can be made.
    NoSegment,
    /// The positions of this run are used up; the next run has new ones.
    Exhausted,
}

impl Space {
    /// Books for a log that goes on at `start`, over a ring of `capacity` bytes, in segments of so many.
    pub fn new(start: u64, capacity: u64, purses: usize, segment_bytes: u64) -> Space {
        let purses = purses.max(1).next_power_of_two();
        let chunk = CHUNK_MAX.min(capacity / 8 / purses as u64);
        let space = Space::with_chunk(start, capacity, purses, chunk);
        Space { reserve: reserve_bytes(segment_bytes), ..space }
    }

    /// As `new`, with purses filled `chunk` bytes at a time.
    pub fn with_chunk(start: u64, capacity: u64, purses: usize, chunk: u64) -> Space {
        Space {
            granted: Padded(AtomicU64::new(start)),
            limits: Padded(Limits {
                ring: AtomicU64::new(start + capacity),
                segments: AtomicU64::new(start),
                refused: AtomicBool::new(false),
                waiting: AtomicUsize::new(0),
            }),
            purses: (0..purses).map(|_| Padded(AtomicU64::new(0))).collect(),
            chunk,
            reserve: reserve_bytes(0),
            end: start + RUN_BYTES_MAX,
        }
    }

    /// Takes `bytes` from the thread's purse, or from the common room.
    #[inline]
    pub fn try_claim(&self, bytes: u64, who: Claimant, hint: usize) -> Result<(), Denied> {
        let purse = &self.purses[hint & (self.purses.len() - 1)];
        // Acquire: what comes out of a purse was granted, and the grant saw the limit (below).
        let mut have = purse.load(Ordering::Acquire);
        while have >= bytes {
            let left = have - bytes;
            match purse.compare_exchange(have, left, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => have = now,
            }
        }
        self.claim_common(bytes, who, purse)
    }

    #[cold]
    fn claim_common(&self, bytes: u64, who: Claimant, purse: &AtomicU64) -> Result<(), Denied> {
        // Whoever fills a purse fills it for everybody, and what is in it may not come from the reserve.
        if who == Claimant::Ordinary && self.grant(bytes + self.chunk, who).is_ok() {
            // Release: hands on what `grant` acquired from the limits.
            purse.fetch_add(self.chunk, Ordering::Release);
            return Ok(());
        }
        if self.grant(bytes, who).is_ok() {
            return Ok(());
        }
        self.empty_purses();
        self.grant(bytes, who)
    }

    /// Raises granted, if the limit allows.
    fn grant(&self, bytes: u64, who: Claimant) -> Result<(), Denied> {
        let mut granted = self.granted.load(Ordering::Relaxed);
        loop {
            let end = granted + bytes;
            // Acquire: pairs with the releases that raised the limits; the ring's bytes up to here have
            // been read by the flusher, the segments are announced.
            let segments = self.limits.segments.load(Ordering::Acquire);
            let usable = match who {
                Claimant::Ordinary => segments.saturating_sub(self.reserve),
                Claimant::Checkpointer => segments,
            };
            if end > self.end {
                return Err(Denied::Exhausted);
            }
            if end > usable {
                // Acquire: pairs with the release in `refuse`; why, the maker has noted before.
                let refused = self.limits.refused.load(Ordering::Acquire);
                return Err(if refused { Denied::NoSegment } else { Denied::NotYet });
            }
            // Acquire: as above.
            if end > self.limits.ring.load(Ordering::Acquire) {
                return Err(Denied::NotYet);
            }
            // Relaxed: granted only counts; what it must not pass was acquired above.
            let raised = self.granted.compare_exchange_weak(
                granted,
                end,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match raised {
                Ok(_) => return Ok(()),
                Err(now) => granted = now,
            }
        }
    }

    fn empty_purses(&self) {
        // AcqRel, as with all that changes a purse; but nothing hangs on it here: what is found is granted anew, and whoever
        // grants it acquires the limits.
        let found: u64 = self.purses.iter().map(|p| p.swap(0, Ordering::AcqRel)).sum();
        self.granted.fetch_sub(found, Ordering::Relaxed);
    }

    /// Takes back what a claim did not use. True if somebody waits for room: then the flusher must look at
    /// what the claim did use.
    #[inline]
    pub fn give_back(&self, bytes: u64, who: Claimant, hint: usize) -> bool {
        let purse = &self.purses[hint & (self.purses.len() - 1)];
        // SeqCst: pairs with `wait`; either this sees the waiter, or the waiter sees the reservations made
        // under the claim and has them flushed.
        let somebody_waits = self.limits.waiting.load(Ordering::SeqCst) > 0;
        if who == Claimant::Checkpointer {
            self.granted.fetch_sub(bytes, Ordering::Relaxed);
            self.wake();
        } else if bytes > 0 {
            // Release: as in `claim_common`.
            let have = purse.fetch_add(bytes, Ordering::Release) + bytes;
            if have > 2 * self.chunk || somebody_waits {
                self.return_purse(purse);
            }
        }
        somebody_waits
    }

    #[cold]
    fn return_purse(&self, purse: &AtomicU64) {
        // AcqRel: as in `empty_purses`.
        let found = purse.swap(0, Ordering::AcqRel);
        self.granted.fetch_sub(found, Ordering::Relaxed);
        self.wake();
    }

    /// Waits until a denied claim may be worth another try. `nudge` asks for room once everybody can see
    /// that somebody waits.
    pub fn wait(&self, bytes: u64, who: Claimant, nudge: impl FnOnce()) {
        let key = std::ptr::from_ref(&*self.granted).addr();
        // SeqCst, with the fence in `wake`: either the waker sees this waiter, or this waiter sees the
        // room that the waker made.
        self.limits.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        nudge();
        let denied = || match self.grant(bytes, who) {
            Ok(()) => {
                self.granted.fetch_sub(bytes, Ordering::Relaxed);
                false
            }
            Err(why) => why == Denied::NotYet,
        };
        lot::park_on(key, lot::EXCLUSIVE, denied, None);
        self.limits.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn wake(&self) {
        // Pairs with the fence in `wait`: see there.
        fence(Ordering::SeqCst);
        if self.limits.waiting.load(Ordering::Relaxed) > 0 {
            lot::unpark_all(std::ptr::from_ref(&*self.granted).addr());
        }
    }

    /// The flusher has written everything below `position - capacity`.
    pub fn ring_free_below(&self, position: u64) {
        // Release: pairs with the acquire in `grant`; the flusher's reads come before.
        self.limits.ring.store(position, Ordering::Release);
        self.wake();
    }

    /// Whether a segment, and not the ring, is too short for so many bytes more.
    pub fn lacks_segments(&self, bytes: u64) -> bool {
        // Relaxed: for people who look.
        let wanted = self.granted.load(Ordering::Relaxed) + bytes;
        wanted > self.limits.segments.load(Ordering::Relaxed)
    }

    /// Segments are announced up to `position`.
    pub fn segments_ready_below(&self, position: u64) {
        self.limits.refused.store(false, Ordering::Release);
        // Release: pairs with the acquire in `grant`.
        self.limits.segments.store(position, Ordering::Release);
        self.wake();
    }

    /// No segment can be made now.
    pub fn refuse(&self) {
        // Release: pairs with the acquire in `grant`.
        self.limits.refused.store(true, Ordering::Release);
        self.wake();
    }

    /// Nobody needs one that can't be made.
    pub fn refuse_no_more(&self) {
        // Release: as in `refuse`; nothing but the word itself is handed on.
        self.limits.refused.store(false, Ordering::Release);
    }

    /// Where segments end.
    pub fn segments_end(&self) -> u64 {
        // Acquire: pairs with the release in `segments_ready_below`.
        self.limits.segments.load(Ordering::Acquire)
    }

    /// Bytes promised, as a position.
    pub fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    /// Whether anybody waits for room.
    pub fn has_waiters(&self) -> bool {
        self.limits.waiting.load(Ordering::Relaxed) > 0
    }
}
