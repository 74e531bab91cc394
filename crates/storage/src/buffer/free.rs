//! Free frames: clean, ready to take, each owned (EXCLUSIVE and ABSENT) by this list.

use base::clock::Instant;
use base::latch::Latch;
use base::lot;
use base::pad::{Padded, is_one_line};
use base::rank::Rank;
use base::sync::unmodelled::{AtomicUsize, Ordering};
use base::wait_event::{self, Event};

/// See the module.
pub(super) struct FreeList {
    frames: Latch<Vec<u32>>,
    counts: Padded<Counts>,
}

struct Counts {
    /// Length of the list, for those who only want to know.
    free: AtomicUsize,
    waiting: AtomicUsize,
    /// Frames taken since the start: the allocation rate is its slope.
    taken: AtomicUsize,
}

const _: () = assert!(is_one_line::<Counts>());

impl FreeList {
    /// All of `count` frames are free; low numbers go first.
    pub fn full(count: u32) -> FreeList {
        FreeList {
            frames: Latch::new(Rank::Leaf, (0..count).rev().collect()),
            counts: Padded(Counts {
                free: AtomicUsize::new(count as usize),
                waiting: AtomicUsize::new(0),
                taken: AtomicUsize::new(0),
            }),
        }
    }

    /// Takes a frame.
    pub fn take(&self) -> Option<u32> {
        if self.len() == 0 {
            return None;
        }
        let mut frames = self.frames.lock();
        let index = frames.pop()?;
        // Relaxed: changed under the latch; outside it is a guess.
        self.counts.free.store(frames.len(), Ordering::Relaxed);
        self.counts.taken.fetch_add(1, Ordering::Relaxed);
        Some(index)
    }

    /// Adds frames, and wakes those who wait for one.
    pub fn give(&self, indexes: &[u32]) {
        if indexes.is_empty() {
            return;
        }
        {
            let mut frames = self.frames.lock();
            frames.extend_from_slice(indexes);
            // SeqCst: with `wait`, one of the two sees the other's store.
            self.counts.free.store(frames.len(), Ordering::SeqCst);
        }
        if self.counts.waiting.load(Ordering::SeqCst) > 0 {
            lot::unpark_all(self.key());
        }
    }

    /// How many there are, about.
    pub fn len(&self) -> usize {
        self.counts.free.load(Ordering::Relaxed)
    }

    /// How many contexts wait for one, about.
    pub fn waiting(&self) -> usize {
        self.counts.waiting.load(Ordering::Relaxed)
    }

    /// Frames taken since the start.
    pub fn taken(&self) -> usize {
        self.counts.taken.load(Ordering::Relaxed)
    }

    /// Waits until there may be one.
    pub fn wait(&self, deadline: Instant) {
        // SeqCst: with `give`, as there.
        self.counts.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiting = wait_event::during(Event::FreeFrame);
        let none = || self.counts.free.load(Ordering::SeqCst) == 0;
        lot::park_on(self.key(), lot::SHARED, none, Some(deadline));
        self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.counts.free).addr()
    }
}
