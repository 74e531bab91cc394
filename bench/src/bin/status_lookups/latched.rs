//! The page caches that the engine's is measured against: the same pages, found under a latch.
//!
//! They hold every page from the start and answer hits only, which is all that the comparison is about. The latch
//! is shared, one word, as PostgreSQL's `SlruCtlLock` is taken by readers; an LRU counter moves as in its
//! `SlruRecentlyUsed`: a page that is not the most recently used one becomes it.

use base::pad::Padded;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use storage::txlog::slru::Page;

/// Who holds the latch: readers are counted. Nobody writes here, but a reader can't know.
#[derive(Default)]
struct SharedLatch(AtomicU32);

const WRITER: u32 = 1 << 31;

impl SharedLatch {
    fn lock(&self) {
        // Acquire: as a latch must, though nothing here is written.
        while self.0.fetch_add(1, Ordering::Acquire) & WRITER != 0 {
            self.0.fetch_sub(1, Ordering::Relaxed);
            spin_loop();
        }
    }

    fn unlock(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

struct Slot {
    page: u64,
    words: Page,
}

struct Bank {
    latch: Padded<SharedLatch>,
    counter: Padded<AtomicU32>,
    /// When each slot was last used, by the counter.
    uses: Box<[AtomicU32]>,
    /// Tags apart from the pages, so that the search reads few lines.
    tags: Box<[AtomicU64]>,
    slots: Vec<Slot>,
}

/// A cache with a latch for each bank, and an LRU counter for each bank or for all.
pub struct Latched {
    banks: Vec<Bank>,
    one_counter: Option<Padded<AtomicU32>>,
}

impl Latched {
    /// A cache of so many banks that holds `pages` pages; `fill` makes each. With `one_counter` all banks share it.
    pub fn new(banks: u64, pages: u64, one_counter: bool, fill: impl Fn(u64) -> Page) -> Latched {
        let bank = |number: u64| {
            let slots: Vec<Slot> = (number..pages)
                .step_by(banks as usize)
                .map(|page| Slot { page, words: fill(page) })
                .collect();
            Bank {
                latch: Padded::default(),
                counter: Padded::default(),
                // As they came in; the bank's counter begins behind the last.
                uses: (1..).take(slots.len()).map(AtomicU32::new).collect(),
                tags: slots.iter().map(|slot| AtomicU64::new(slot.page)).collect(),
                slots,
            }
        };
        Latched {
            banks: (0..banks).map(bank).collect(),
            one_counter: one_counter.then(Padded::default),
        }
    }

    /// The word at `index` of `page`, and how many shared lines were written to get it.
    #[inline]
    pub fn read(&self, page: u64, index: usize) -> (u64, u32) {
        let bank = &self.banks[(page as u32 % self.banks.len() as u32) as usize];
        bank.latch.lock();
        // Relaxed: read under the latch.
        let found = bank.tags.iter().position(|tag| tag.load(Ordering::Relaxed) == page);
        let slot = found.expect("every page is here");
        let word = bank.slots[slot].words.word(index);
        let counter = self.one_counter.as_ref().unwrap_or(&bank.counter);
        let lines = 1 + use_of(counter, &bank.uses[slot]);
        bank.latch.unlock();
        (word, lines)
    }
}

/// Notes that a slot was used; how many lines that wrote.
#[inline]
fn use_of(counter: &AtomicU32, slot: &AtomicU32) -> u32 {
    // Relaxed: ages only guide the choice of a victim, and PostgreSQL's readers race here, too.
    let now = counter.load(Ordering::Relaxed);
    if slot.load(Ordering::Relaxed) == now {
        return 0;
    }
    counter.store(now.wrapping_add(1), Ordering::Relaxed);
    slot.store(now.wrapping_add(1), Ordering::Relaxed);
    2
}
