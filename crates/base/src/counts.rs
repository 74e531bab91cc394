//! For the laboratory: how often contexts park, and latches are taken and waited for. Without the feature `lab-counts`
//! nothing is counted, and nothing is left of the calls.

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
}

const COUNTS: usize = 3;

/// Counts one.
#[inline(always)]
pub fn one(_what: Count) {
    #[cfg(feature = "lab-counts")]
    counting::one(_what);
}

/// Counts of all threads since the process began, in the order of [`Count`]; zeros where nothing is counted.
pub fn so_far() -> [u64; COUNTS] {
    #[cfg(feature = "lab-counts")]
    return counting::so_far();
    #[cfg(not(feature = "lab-counts"))]
    [0; COUNTS]
}

#[cfg(feature = "lab-counts")]
mod counting {
    use super::{COUNTS, Count};
    use crate::pad::Padded;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

    /// Threads share these, each its own where there are no more of them.
    const STRIPES: usize = 64;

    static STRIPE: [Padded<[AtomicU64; COUNTS]>; STRIPES] =
        [const { Padded([const { AtomicU64::new(0) }; COUNTS]) }; STRIPES];

    thread_local! {
        static MINE: usize = {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            NEXT.fetch_add(1, Relaxed) % STRIPES
        };
    }

    pub(super) fn one(what: Count) {
        // A thread that is ending counts somewhere. Relaxed: sums for people.
        let stripe = MINE.try_with(|mine| *mine).unwrap_or(0);
        STRIPE[stripe].0[what as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn so_far() -> [u64; COUNTS] {
        let sum = |n: usize| STRIPE.iter().map(|stripe| stripe.0[n].load(Relaxed)).sum();
        std::array::from_fn(sum)
    }
}

#[cfg(all(test, feature = "lab-counts"))]
mod tests {
    use super::{Count, so_far};
    use crate::latch::RawLatch;

    #[test]
    fn a_latch_that_is_taken_counts() {
        let of = |what: Count| so_far()[what as usize];
        let before = of(Count::Latch);
        let latch = RawLatch::new();
        for _ in 0..10 {
            latch.lock();
            latch.unlock();
            latch.lock_shared();
            latch.unlock_shared();
        }
        // Other tests of the process take some, too.
        assert!(of(Count::Latch) >= before + 20);
    }
}
