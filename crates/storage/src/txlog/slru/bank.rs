//! A bank: sixteen slots, one latch, one LRU counter.
//!
//! Slot states, changed only under the bank latch:
//!
//! ```text
//! Free ──► Busy(Reading) ──► Held { dirty: false } ◄──► Held { dirty: true }
//!   ▲            │ error          │ victim                     │ write
//!   └────────────┴────────────────┘              Held, writing: true (readers and writers go on)
//! ```
//!
//! Who needs a slot that is being read waits for that slot alone, by its `done` counter; the latch is free
//! meanwhile. A slot that is being written stays readable and writable (the writer works on a copy), it
//! only can't be given away.

use super::config::BANK_SLOTS;
use super::kernel::{PAGE_WORDS, Page, Tag};
use base::Lsn;
use base::latch::{Latch, LatchGuard};
use base::lot;
use base::pad::Padded;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, Ordering};

/// A hit refreshes its slot's age only when that lags behind the bank's by more than this, so that hits
/// among hot pages write nothing. Ages move by one for each page that comes in.
const AGE_MARGIN: u32 = 4;

/// What the latch protects about a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlotState {
    /// Holds nothing.
    Free,
    /// Its page (given) is being read in.
    Reading(u64),
    /// Holds the page its tag names.
    Held {
        /// Changed since it was last copied out for writing.
        dirty: bool,
        /// A copy is on its way to the file.
        writing: bool,
        /// The log must be durable up to here before the page may be written.
        lsn: Lsn,
    },
}

impl SlotState {
    /// Whether an I/O will end for it.
    pub(super) fn in_io(&self) -> bool {
        matches!(self, SlotState::Reading(_) | SlotState::Held { writing: true, .. })
    }
}

pub(super) struct BankState {
    pub(super) slots: [SlotState; BANK_SLOTS],
}

#[repr(align(128))]
pub(super) struct Bank {
    tags: Padded<[Tag; BANK_SLOTS]>,
    ages: Padded<[AtomicU32; BANK_SLOTS]>,
    tick: Padded<AtomicU32>,
    latch: Padded<Latch<BankState>>,
    /// Ended I/Os of each slot.
    done: Padded<[AtomicU32; BANK_SLOTS]>,
    pages: [Page; BANK_SLOTS],
}

// Latch and LRU counter each on lines of their own, and the tags on one line that hits only read.
const _: () = assert!(align_of::<Bank>() == 128);
const _: () = assert!(std::mem::offset_of!(Bank, latch) % 128 == 0);
const _: () = assert!(std::mem::offset_of!(Bank, tick) % 128 == 0);
const _: () = assert!(size_of::<Padded<AtomicU32>>() == 128);
const _: () = assert!(size_of::<Padded<[Tag; BANK_SLOTS]>>() == 128);

impl Bank {
    pub(super) fn new() -> Bank {
        let state = BankState { slots: [SlotState::Free; BANK_SLOTS] };
        Bank {
            tags: Padded::default(),
            ages: Padded::default(),
            tick: Padded::default(),
            latch: Padded(Latch::new(Rank::SlruBank, state)),
            done: Padded::default(),
            pages: std::array::from_fn(|_| Page::new(PAGE_WORDS)),
        }
    }

    pub(super) fn lock(&self) -> LatchGuard<'_, BankState> {
        self.latch.lock()
    }

    pub(super) fn page(&self, slot: usize) -> &Page {
        &self.pages[slot]
    }

    pub(super) fn tag(&self, slot: usize) -> &Tag {
        &self.tags[slot]
    }

    /// Reads `page` without a latch if it is here. `f` may see torn state and must only compute.
    #[inline]
    pub(super) fn read<R>(&self, page: u64, f: impl Fn(&Page) -> R) -> Option<R> {
        for slot in 0..BANK_SLOTS {
            if let Some(tag) = self.tags[slot].matches(page) {
                let answer = f(&self.pages[slot]);
                if self.tags[slot].still(tag) {
                    self.touch(slot);
                    return Some(answer);
                }
                return None;
            }
        }
        None
    }

    /// Notes a use. Writes only if the slot's age has fallen behind.
    #[inline]
    pub(super) fn touch(&self, slot: usize) {
        // Relaxed throughout: ages only guide the choice of a victim.
        let now = self.tick.load(Ordering::Relaxed);
        if now.wrapping_sub(self.ages[slot].load(Ordering::Relaxed)) > AGE_MARGIN {
            self.ages[slot].store(now, Ordering::Relaxed);
        }
    }

    /// A page came into `slot`: time passes.
    pub(super) fn arrived(&self, slot: usize) {
        let now = self.tick.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.ages[slot].store(now, Ordering::Relaxed);
    }

    /// The slot that holds or is reading `page`. Bank latch held.
    pub(super) fn find(&self, state: &BankState, page: u64) -> Option<usize> {
        (0..BANK_SLOTS).find(|&slot| match state.slots[slot] {
            SlotState::Free => false,
            SlotState::Reading(coming) => coming == page,
            SlotState::Held { .. } => self.tags[slot].page() == Some(page),
        })
    }

    /// The slot to give away: a free one, else the longest unused that is not in I/O and not `spared`.
    /// `None` when none qualifies; then at least one is in I/O.
    pub(super) fn victim(&self, state: &BankState, spared: u64) -> Option<usize> {
        let now = self.tick.load(Ordering::Relaxed);
        let age = |slot: usize| now.wrapping_sub(self.ages[slot].load(Ordering::Relaxed));
        let mut best: Option<(u32, usize)> = None;
        for (slot, held) in state.slots.iter().enumerate() {
            match held {
                SlotState::Free => return Some(slot),
                SlotState::Held { writing: false, .. }
                    if self.tags[slot].page() != Some(spared) =>
                {
                    if best.is_none_or(|(oldest, _)| age(slot) > oldest) {
                        best = Some((age(slot), slot));
                    }
                }
                SlotState::Held { .. } | SlotState::Reading(_) => {}
            }
        }
        best.map(|(_, slot)| slot)
    }

    /// Waits until the I/O that `slot` is in has ended. Gives the latch back first.
    pub(super) fn wait(&self, state: LatchGuard<'_, BankState>, slot: usize) {
        let done = &self.done[slot];
        // Relaxed: read under the latch that every change is made under.
        let before = done.load(Ordering::Relaxed);
        drop(state);
        let key = std::ptr::from_ref(done).addr();
        // Acquire: pairs with the release in `io_ended`.
        let pending = || done.load(Ordering::Acquire) == before;
        lot::park_on(key, lot::EXCLUSIVE, pending, None);
    }

    /// The I/O of `slot` has ended. Bank latch held.
    pub(super) fn io_ended(&self, slot: usize) {
        // Release: pairs with the acquire in `wait`.
        self.done[slot].fetch_add(1, Ordering::Release);
        lot::unpark_all(std::ptr::from_ref(&self.done[slot]).addr());
    }
}
