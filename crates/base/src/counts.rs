//! For the laboratory: what of a transaction more cores would feel. How often contexts park; how often latches are taken
//! and waited for, and how long they are held; how many shared lines are written. Without the feature `lab-counts`
//! nothing is counted, and nothing is left of the calls.

#[cfg(feature = "lab-counts")]
pub(crate) mod atomics;
#[cfg(feature = "lab-counts")]
mod holds;
#[cfg(feature = "lab-counts")]
mod lines;

use crate::rank::Rank;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Count {
    /// A context parked.
    Park,
    /// A latch was taken: of a page, or one of `base::latch`. Optimistic reads take none.
    Latch,
    /// A latch was not to be had and its taker went to sleep.
    LatchWait,
    /// An atomic of `base::sync` was written, but for those of pages' contents.
    Write,
    /// Such a write hit a line that another thread had used since this one last wrote it.
    SharedLine,
    /// As [`Count::SharedLine`], of a page's content.
    PageLine,
}

#[cfg(feature = "lab-counts")]
const COUNTS: usize = 6;

/// Counts one.
#[inline(always)]
pub fn one(_what: Count) {
    #[cfg(feature = "lab-counts")]
    counting::one(_what);
}

/// How a latch is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Hold {
    /// Nobody else has it.
    Alone,
    /// Others may have it so, too.
    Shared,
}

/// Runs while a latch is held. The machine's clock, in a simulation too.
#[derive(Clone, Copy)]
pub struct Stopwatch {
    #[cfg(feature = "lab-counts")]
    since: std::time::Instant,
}

impl Stopwatch {
    /// The latch was just taken.
    #[inline(always)]
    pub fn start() -> Stopwatch {
        Stopwatch {
            #[cfg(feature = "lab-counts")]
            since: std::time::Instant::now(),
        }
    }

    /// The latch, of this rank, is about to be given back.
    #[inline(always)]
    pub fn stop(self, _rank: Rank, _how: Hold) {
        #[cfg(feature = "lab-counts")]
        holds::held(_rank, _how, self.since.elapsed());
    }
}

/// All threads' counts of this since the process began.
#[cfg(feature = "lab-counts")]
pub fn so_far(what: Count) -> u64 {
    counting::so_far()[what as usize]
}

/// All threads' counts since the process began, in one line. First the counts, in the order of [`Count`]; then what
/// latches were held: the kind, the sum in nanoseconds, and how many holds of those that were longer than the bound before
/// were shorter than each bound, in nanoseconds.
///
/// `1 20 3 40 5 6 | heap page, alone=9120 320:2 5120:1 | leaf, shared=60 64:1`
#[cfg(feature = "lab-counts")]
pub fn told() -> String {
    let counts = counting::so_far().map(|count| count.to_string()).join(" ");
    format!("{counts}{}", holds::told())
}

#[cfg(feature = "lab-counts")]
mod counting {
    use super::{COUNTS, Count};
    use crate::pad::Padded;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

    /// Threads share these, each its own where there are no more of them.
    pub(super) const STRIPES: usize = 64;

    static STRIPE: [Padded<[AtomicU64; COUNTS]>; STRIPES] =
        [const { Padded([const { AtomicU64::new(0) }; COUNTS]) }; STRIPES];

    thread_local! {
        /// No destructor: a thread that is ending counts, too.
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// This thread's number, in the order in which they began to count.
    pub(super) fn thread() -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let known = NUMBER.get();
        if known != usize::MAX {
            return known;
        }
        let mine = NEXT.fetch_add(1, Relaxed);
        NUMBER.set(mine);
        mine
    }

    pub(super) fn one(what: Count) {
        // Relaxed: sums for people.
        STRIPE[thread() % STRIPES].0[what as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn so_far() -> [u64; COUNTS] {
        let sum = |n: usize| STRIPE.iter().map(|stripe| stripe.0[n].load(Relaxed)).sum();
        std::array::from_fn(sum)
    }

    /// What this thread's stripe has counted.
    #[cfg(test)]
    pub(super) fn mine(what: Count) -> u64 {
        STRIPE[thread() % STRIPES].0[what as usize].load(Relaxed)
    }
}

#[cfg(all(test, feature = "lab-counts"))]
mod tests;
