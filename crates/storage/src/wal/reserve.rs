//! Reservation: one word says where the next record goes, slots say how far the log is whole.
//!
//! The word packs a position (52 bits, in 8-byte units from the log's origin) and the number of commits
//! reserved so far (12 bits, its *ticket*; it wraps off the top, harmlessly). One `fetch_add` takes both.
//!
//! An inserter first publishes a *lower bound* in a slot, then reserves, copies, and empties the slot.
//! The flusher loads the word **before** it looks at the slots; then `min(word, bounds)` is a position
//! before which every byte is copied:
//!
//! * Take an inserter whose reservation lies before the word that was loaded. Its `fetch_add` (release)
//!   heads a sequence of read-modify-writes that the flusher's load (acquire) ends, so the bound it stored
//!   before is visible: the flusher sees in its slot that bound, or something later.
//! * If it sees the bound, the result is not above it, and the bound is not above the reservation: a bound
//!   is an earlier value of the same word, and positions only grow.
//! * If it sees something later, that is the emptied slot (a release store, after the copy), or the bound
//!   of a next owner, whose compare-exchange continues the release sequence that the emptying store
//!   heads. Either way the flusher's load (acquire) has the copied bytes.
//!
//! A bound may be stale and the result therefore too low, even lower than an earlier result; the earlier
//! one stays true, so the flusher keeps the maximum.

use base::sync::atomic::{AtomicU64, Ordering};
use base::sync::spin_hint;

use super::line::Line;

/// Bytes in one unit of position.
pub(super) const UNIT_BYTES: u64 = super::record::RECORD_ALIGN as u64;

/// Bits of the ticket. Small in the model, so that it wraps there.
#[cfg(not(loom))]
pub(super) const TICKET_BITS: u32 = 12;
#[cfg(loom)]
pub(super) const TICKET_BITS: u32 = 2;

/// How many commits may lie between their reservation and their publication.
pub(super) const TICKETS: usize = 1 << TICKET_BITS;
const POSITION_BITS: u32 = 64 - TICKET_BITS;

/// The position in a packed word, in units from the origin.
#[inline]
pub(super) fn position(word: u64) -> u64 {
    word & ((1 << POSITION_BITS) - 1)
}

/// The ticket in a packed word.
#[inline]
pub(super) fn ticket(word: u64) -> usize {
    (word >> POSITION_BITS) as usize
}

/// Packs; the ticket is taken modulo [`TICKETS`].
#[inline]
pub(super) fn pack(ticket: usize, position: u64) -> u64 {
    debug_assert!(position < 1 << POSITION_BITS, "log positions are exhausted");
    (ticket as u64) << POSITION_BITS | position
}

/// An empty slot: no lower bound.
const EMPTY: u64 = u64::MAX;

/// An insertion slot, alone on its cache lines ([`Line`]).
struct Slot {
    /// The owner's reservation is not below this, or [`EMPTY`].
    bound: AtomicU64,
    /// Records and commits that went through the slot. Only an owner writes them.
    records: AtomicU64,
    commits: AtomicU64,
    /// Whole pages in those records.
    images: AtomicU64,
}

impl Slot {
    fn new() -> Slot {
        let zero = || AtomicU64::new(0);
        Slot { bound: AtomicU64::new(EMPTY), records: zero(), commits: zero(), images: zero() }
    }

    /// Relaxed, and no read-modify-write: the slot is owned, and its owners follow each other.
    #[inline]
    fn count(&self, commit: bool) {
        self.records.store(self.records.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if commit {
            self.commits.store(self.commits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(
    size_of::<Line<Slot>>() == align_of::<Line<Slot>>() || cfg!(feature = "lab-wal-packed"),
    "a slot takes one line"
);

/// The word and the slots.
pub(super) struct Reserve {
    word: Line<AtomicU64>,
    slots: Box<[Line<Slot>]>,
    /// Held for an addition to the word: for the laboratory, as PostgreSQL's log is reserved.
    #[cfg(feature = "lab-wal-locked")]
    lock: Line<std::sync::Mutex<()>>,
}

/// What a reservation got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// First unit.
    pub start: u64,
    /// The commit's ticket; for other records the next commit's.
    pub ticket: usize,
}

/// An occupied slot. Must be given back with [`Reserve::leave`] when the record is copied.
#[must_use]
pub(super) struct Occupied(usize);

impl Reserve {
    /// Positions start at `first` units; `slots` is rounded up to a power of two.
    pub fn new(first: u64, slots: usize) -> Reserve {
        let slots = slots.max(1).next_power_of_two();
        Reserve {
            word: Line(AtomicU64::new(pack(0, first))),
            slots: (0..slots).map(|_| Line(Slot::new())).collect(),
            #[cfg(feature = "lab-wal-locked")]
            lock: Line(std::sync::Mutex::new(())),
        }
    }

    /// Takes a slot, preferably the `hint`-th, and publishes a lower bound in it.
    #[inline]
    pub fn enter(&self, hint: usize) -> Occupied {
        let mask = self.slots.len() - 1;
        let mut at = hint & mask;
        loop {
            // Relaxed: any earlier value of the word is a bound for what this thread reserves later.
            let bound = position(self.word.load(Ordering::Relaxed));
            let slot = &self.slots[at].bound;
            // Acquire: nothing of this insertion moves before the slot is owned. The store is released
            // by the `fetch_add` in `reserve`.
            if slot.compare_exchange(EMPTY, bound, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Occupied(at);
            }
            // More inserters than slots, or two threads of one hint. An owner never parks.
            at = (at + 1) & mask;
            spin_hint();
        }
    }

    /// Reserves `units`, and a ticket if it is for a commit. The slot is the proof that a bound is out.
    #[inline]
    pub fn reserve(&self, slot: &Occupied, units: u64, commit: bool) -> Place {
        self.slots[slot.0].count(commit);
        let add = pack(usize::from(commit), units);
        let before = self.add(add);
        Place { start: position(before), ticket: ticket(before) }
    }

    /// Release: publishes the slot's bound to the flusher, see above. SeqCst: who reserves and then
    /// finds nobody waiting for ring space is seen by who waits and then looks at the position.
    #[cfg(not(feature = "lab-wal-locked"))]
    #[inline]
    fn add(&self, add: u64) -> u64 {
        self.word.fetch_add(add, Ordering::SeqCst)
    }

    /// The same under a lock, whose owners follow each other as additions do.
    #[cfg(feature = "lab-wal-locked")]
    fn add(&self, add: u64) -> u64 {
        let _alone = self.lock.lock().expect("no code panics under it");
        let before = self.word.load(Ordering::Relaxed);
        self.word.store(before.wrapping_add(add), Ordering::SeqCst);
        before
    }

    /// Gives the slot back: the record's bytes are in the ring.
    #[inline]
    pub fn leave(&self, slot: Occupied) {
        // Release: pairs with the acquire in `complete`.
        self.slots[slot.0].bound.store(EMPTY, Ordering::Release);
    }

    /// The next record's position at the earliest.
    #[inline]
    pub fn position(&self) -> u64 {
        // Acquire: who has this position has also what was done before the records below it were
        // reserved (dirty marks, which the checkpointer looks for afterwards). SeqCst: see `reserve`.
        position(self.word.load(Ordering::SeqCst))
    }

    /// Counts the whole pages of the record that the slot was taken for.
    #[cold]
    pub fn count_images(&self, slot: &Occupied, images: u64) {
        let count = &self.slots[slot.0].images;
        // Relaxed, and no read-modify-write: as in `count`.
        count.store(count.load(Ordering::Relaxed) + images, Ordering::Relaxed);
    }

    /// Records, commits and whole pages inserted so far, about.
    pub fn counts(&self) -> [u64; 3] {
        let sum = |of: fn(&Slot) -> &AtomicU64| {
            self.slots.iter().map(|slot| of(&slot.0).load(Ordering::Relaxed)).sum()
        };
        [sum(|slot| &slot.records), sum(|slot| &slot.commits), sum(|slot| &slot.images)]
    }

    /// A position below which every byte has been copied.
    pub fn complete(&self) -> u64 {
        let reserved = self.position();
        // Acquire: pairs with the release in `leave`.
        let bounds = self.slots.iter().map(|slot| slot.bound.load(Ordering::Acquire));
        bounds.fold(reserved, u64::min)
    }
}
