//! `probation`: newcomers queue, and only those used again later join the clock; ghosts come back to the clock.
//!
//! After S3-FIFO (Yang, Zhang, Qiu, Yue, Vigfusson: FIFO queues are all you need for cache eviction, SOSP
//! 2023), with two changes. A hit counts once in a window of loads, so that the several looks that one
//! statement takes at a page prove nothing; hits hence need no queue operation and mostly write nothing. And the
//! main queue is the ring of frames itself: a page keeps its frame when it is promoted, the hand skips pages
//! on probation.
//!
//! A scan fills the short queue only, and what it brought leaves first. The queue is very short and ghosts do
//! not live long: the simulator (`bench`, `replacement`) prefers 1/32 of the frames to the paper's tenth,
//! and half as many ghosts as frames to as many, on every trace but those that nothing helps. A page that
//! returns while its ghost lives was evicted too early, and goes straight to the clock.

use super::ghosts::Ghosts;
use super::sweep::step;
use super::{Candidates, Credit, Queue};
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, Ordering::Relaxed};
use std::collections::VecDeque;

/// One frame in this many is for newcomers.
const SMALL_ONE_IN: u32 = 32;
/// One ghost lives for this many frames.
const GHOST_ONE_IN: u32 = 2;
/// Windows in the time that a newcomer spends in the queue.
const WINDOWS: u32 = 8;

/// See the module.
pub(super) struct Probation {
    frames: u32,
    small_goal: usize,
    loads_per_window: u32,
    loads: AtomicU32,
    small: Latch<Small>,
    ghosts: Ghosts,
    deaths: AtomicU32,
}

struct Small {
    /// Frame, and the number of its tenant; entries of tenants that are gone are skipped.
    queue: VecDeque<(u32, u32)>,
    tenant: Box<[u32]>,
}

impl Probation {
    pub fn new(frames: u32) -> Probation {
        let small_goal = (frames / SMALL_ONE_IN).max(1);
        Probation {
            frames,
            small_goal: small_goal as usize,
            loads_per_window: (small_goal / WINDOWS).max(1),
            loads: AtomicU32::new(0),
            small: Latch::new(
                Rank::Leaf,
                Small { queue: VecDeque::new(), tenant: vec![0; frames as usize].into() },
            ),
            ghosts: Ghosts::new((frames / GHOST_ONE_IN).max(1)),
            deaths: AtomicU32::new(0),
        }
    }

    /// A page came; answers the window that has begun by it.
    pub fn loaded(&self, index: u32, credit: &Credit, page: u64, counts: bool) -> u32 {
        let window = self.loads.fetch_add(1, Relaxed).wrapping_add(1) / self.loads_per_window;
        let proven = counts && self.ghosts.recall(page, self.deaths.load(Relaxed));
        let mut small = self.small.lock();
        let tenant = &mut small.tenant[index as usize];
        *tenant = tenant.wrapping_add(1);
        let entry = (index, *tenant);
        if proven {
            credit.set(1, Queue::Main, window);
        } else {
            credit.set(0, Queue::Small, window);
            if small.queue.len() >= 2 * self.frames as usize {
                let Small { queue, tenant } = &mut *small;
                queue.retain(|(index, number)| tenant[*index as usize] == *number);
            }
            small.queue.push_back(entry);
        }
        window
    }

    /// The page left its frame.
    pub fn evicted(&self, credit: &Credit, page: u64) {
        credit.set(0, Queue::None, 0);
        let now = self.deaths.fetch_add(1, Relaxed).wrapping_add(1);
        self.ghosts.remember(page, now);
    }

    pub fn victims(&self, hand: &mut u32, most: usize, from: &mut impl Candidates) {
        let mut passed = 0;
        // Newcomers first; each is looked at once, so that those who can't go don't come round again.
        let mut newcomers = self.small.lock().queue.len().saturating_sub(self.small_goal);
        while passed < most && !from.enough() {
            passed += 1;
            if newcomers > 0 {
                newcomers -= 1;
                self.judge(from);
                continue;
            }
            let index = step(hand, self.frames);
            let credit = from.credit(index);
            if credit.queue() == Queue::Main as u32
                && from.is_idle(index)
                && !from.credit(index).spend()
                && let Some(page) = from.offer(index)
            {
                self.evicted(from.credit(index), page);
            }
            if passed % self.frames as usize == 0 {
                // A whole round found little among the proven: shorten the queue further.
                newcomers = self.small.lock().queue.len();
            }
        }
    }

    /// Decides about the oldest newcomer: promoted, evicted, or (held, or dirty) back to the queue.
    fn judge(&self, from: &mut impl Candidates) {
        let oldest = {
            let mut small = self.small.lock();
            let oldest = small.queue.pop_front();
            oldest.filter(|(index, number)| small.tenant[*index as usize] == *number)
        };
        let Some((index, number)) = oldest else { return };
        let credit = from.credit(index);
        if credit.queue() != Queue::Small as u32 {
            return;
        }
        if credit.count() > 0 {
            // One credit, so that the hand can't meet it as a victim right away.
            let window = credit.0.load(Relaxed) >> super::WINDOW_SHIFT;
            return credit.set(1, Queue::Main, window);
        }
        if from.is_idle(index)
            && let Some(page) = from.offer(index)
        {
            return self.evicted(from.credit(index), page);
        }
        self.small.lock().queue.push_back((index, number));
    }
}
