//! Replacement: who goes when a frame is needed. One seam, three policies.
//!
//! | `buffer_replacement` | first | hit | victim |
//! |---|---|---|---|
//! | `clock` | 1 | +1 up to 5, every time | PostgreSQL's sweep: the hand takes one credit away, none left goes |
//! | `clock_lruk` | 6 | +1 up to 30, once in a window of time | the same sweep (seed S3) |
//! | `probation` | 0, in the queue | +1 up to 3, once in a window of loads | see [`probation`] |
//!
//! Credits are guesses about the future: hits change them without a latch and may lose a race. A hit on a
//! page that has full credit, or was credited in this window, writes nothing. *Windows* are numbers in one
//! word that all read and few write: `clock_lruk`'s is moved by the page cleaner's clock, `probation`'s by the
//! number of pages loaded, by rings apart; no hit ever reads a clock.
//!
//! The simulator in `bench/` runs this very code over traces.

mod ghosts;
mod probation;
mod queues;
mod sweep;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

use base::clock::Instant;
use base::latch::{Latch, LatchGuard};
use base::pad::Padded;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, Ordering::Relaxed};
use probation::Probation;
use std::time::Duration;

/// Which policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// PostgreSQL's.
    Clock,
    /// The seed's: references within `window` count once.
    ClockLruk {
        /// `buffer_correlation_window`.
        window: Duration,
    },
    /// A short queue for newcomers, a clock for the proven, ghosts of those who left too early.
    Probation,
}

/// What the policy keeps of a frame, in one word: count (6 bits), queue (2), window of the last credit (24).
#[derive(Default)]
pub struct Credit(AtomicU32);

const COUNT: u32 = 0x3F;
const QUEUE_SHIFT: u32 = 6;
const QUEUE: u32 = 3 << QUEUE_SHIFT;
const WINDOW_SHIFT: u32 = 8;

/// Where a page of `probation` is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum Queue {
    /// Nowhere (or the policy has no queues).
    None = 0,
    /// New, to be proven.
    Small = 1 << QUEUE_SHIFT,
    /// Proven.
    Main = 2 << QUEUE_SHIFT,
}

impl Credit {
    /// No page.
    pub fn new() -> Credit {
        Credit::default()
    }

    fn count(&self) -> u32 {
        self.0.load(Relaxed) & COUNT
    }

    fn queue(&self) -> u32 {
        self.0.load(Relaxed) & QUEUE
    }

    fn set(&self, count: u32, queue: Queue, window: u32) {
        self.0.store(count | queue as u32 | window << WINDOW_SHIFT, Relaxed);
    }

    /// Takes one credit away; false if there was none.
    fn spend(&self) -> bool {
        let word = self.0.load(Relaxed);
        if word & COUNT == 0 {
            return false;
        }
        // A hit that comes between is as good as one that came before.
        let _ = self.0.compare_exchange(word, word - 1, Relaxed, Relaxed);
        true
    }
}

/// The frames that a sweep may choose from.
pub trait Candidates {
    /// The policy's word for a frame.
    fn credit(&self, index: u32) -> &Credit;
    /// Whether nobody holds the frame's page now.
    fn is_idle(&self, index: u32) -> bool;
    /// Offers a victim; the page's hash if it was evicted, `None` if it stays (dirty, or used just now).
    fn offer(&mut self, index: u32) -> Option<u64>;
    /// Whether no more victims are wanted.
    fn enough(&self) -> bool;
}

/// The policy's state.
pub struct Replacer {
    policy: Policy,
    frames: u32,
    /// Full credit.
    count_max: u32,
    /// A hit counts if the last one that did was at least this many windows ago.
    windows_apart: u32,
    window: Padded<AtomicU32>,
    /// Moves the hand.
    hand: Latch<u32>,
    probation: Option<Probation>,
}

/// The right to move the hand.
pub struct Hand<'a>(LatchGuard<'a, u32>);

impl Replacer {
    /// For a pool of `frames`.
    pub fn new(policy: Policy, frames: u32) -> Replacer {
        let (count_max, windows_apart) = match policy {
            Policy::Clock => (5, 0),
            Policy::ClockLruk { .. } => (30, TICKS_PER_WINDOW),
            Policy::Probation => (3, 2),
        };
        Replacer {
            policy,
            frames,
            count_max,
            windows_apart,
            window: Padded(AtomicU32::new(0)),
            hand: Latch::new(Rank::BufferMap, 0),
            probation: (policy == Policy::Probation).then(|| Probation::new(frames)),
        }
    }

    /// A page in memory was used.
    #[inline]
    pub fn hit(&self, credit: &Credit) {
        let word = credit.0.load(Relaxed);
        if word & COUNT < self.count_max {
            self.credit_once(credit, word);
        }
    }

    /// Adds a credit unless the window has had its own.
    #[inline]
    fn credit_once(&self, credit: &Credit, word: u32) {
        let window = self.window.load(Relaxed) & (u32::MAX >> WINDOW_SHIFT);
        let apart = window.wrapping_sub(word >> WINDOW_SHIFT) & (u32::MAX >> WINDOW_SHIFT);
        if apart >= self.windows_apart {
            let next = ((word & (COUNT | QUEUE)) + 1) | (window << WINDOW_SHIFT);
            // Exchanged, not stored: the queue may have changed. A lost credit is lost.
            let _ = credit.0.compare_exchange(word, next, Relaxed, Relaxed);
        }
    }

    /// A page came into frame `index`: by a use that `counts`, or by a ring, that should leave no trace.
    pub fn loaded(&self, index: u32, credit: &Credit, page: u64, counts: bool) {
        let window = self.window.load(Relaxed);
        match (&self.probation, self.policy) {
            (Some(probation), _) => {
                let begun = probation.loaded(index, credit, page, counts);
                if begun != window {
                    self.window.store(begun, Relaxed);
                }
            }
            (None, _) if !counts => credit.set(0, Queue::None, window),
            (None, Policy::ClockLruk { .. }) => credit.set(6, Queue::None, window),
            (None, _) => credit.set(1, Queue::None, window),
        }
    }

    /// A page left frame `index` other than by a sweep.
    pub fn evicted(&self, index: u32, credit: &Credit, page: u64) {
        if let Some(probation) = &self.probation {
            probation.evicted(index, credit, page);
        }
    }

    /// Whether a page has been used, in a way that counts, since it was a victim or was loaded by a ring.
    pub fn is_wanted(&self, credit: &Credit) -> bool {
        credit.count() > 0
    }

    /// What a page is credited with, for people.
    pub fn credit_of(&self, credit: &Credit) -> u32 {
        credit.count()
    }

    /// Full credit.
    pub fn credit_max(&self) -> u32 {
        self.count_max
    }

    /// Moves the window of a policy that goes by time. Called now and then.
    pub fn note_time(&self, now: Instant) {
        if let Policy::ClockLruk { window } = self.policy {
            let tick = (window / TICKS_PER_WINDOW).max(Duration::from_micros(1));
            self.window.store((u128::from(now.0) / tick.as_nanos()) as u32, Relaxed);
        }
    }

    /// Moves the window by one tick; for simulations of a policy that goes by time.
    pub fn tick(&self) {
        self.window.fetch_add(1, Relaxed);
    }

    /// The right to move the hand, if nobody else is at it.
    pub fn try_sweep(&self) -> Option<Hand<'_>> {
        self.hand.try_lock().map(Hand)
    }

    /// The right to move the hand.
    pub fn sweep(&self) -> Hand<'_> {
        Hand(self.hand.lock())
    }

    /// Offers victims in the order of the policy until there are enough, `most` frames were passed, or each was
    /// passed often enough to have lost all credit.
    pub fn victims(&self, hand: &mut Hand<'_>, most: usize, from: &mut impl Candidates) {
        let rounds = self.count_max as usize + 1;
        let most = most.min(self.frames as usize * rounds);
        match &self.probation {
            Some(probation) => probation.victims(&mut hand.0, most, from),
            None => sweep::victims(&mut hand.0, self.frames, most, from),
        }
    }
}

/// Resolution of a window of time: a hit counts two thirds to a whole window after the last one.
pub const TICKS_PER_WINDOW: u32 = 3;
