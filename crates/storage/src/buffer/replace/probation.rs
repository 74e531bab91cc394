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
//!
//! What a ring loads is to cost others nothing: it queues for itself, does not move the window, and leaves no ghost. So
//! a newcomer is on probation for as many other newcomers beside a ring of any speed as without one. Pages of rings go
//! first when they are older than newcomers become, or more than rings may have.

use super::ghosts::Ghosts;
use super::queues::{Due, Line, Queues};
use super::sweep::step;
use super::{Candidates, Credit, Queue};
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, Ordering::Relaxed};

/// One frame in this many is for newcomers.
const SMALL_ONE_IN: u32 = 32;
/// One in this many may hold what rings have loaded: as many as the widest ring.
const PASSING_ONE_IN: u32 = 8;
/// One ghost lives for this many frames.
const GHOST_ONE_IN: u32 = 2;
/// Windows in the time that a newcomer spends in the queue.
const WINDOWS: u32 = 8;

/// See the module.
pub(super) struct Probation {
    frames: u32,
    small_goal: usize,
    loads_per_window: u32,
    /// Those that count.
    loads: AtomicU32,
    queues: Latch<Queues>,
    ghosts: Ghosts,
    deaths: AtomicU32,
}

impl Probation {
    pub fn new(frames: u32) -> Probation {
        let small_goal = (frames / SMALL_ONE_IN).max(1);
        Probation {
            frames,
            small_goal: small_goal as usize,
            loads_per_window: (small_goal / WINDOWS).max(1),
            loads: AtomicU32::new(0),
            queues: Latch::new(Rank::Leaf, Queues::new(frames)),
            ghosts: Ghosts::new((frames / GHOST_ONE_IN).max(1)),
            deaths: AtomicU32::new(0),
        }
    }

    /// A page came; answers the window that has begun by it.
    pub fn loaded(&self, index: u32, credit: &Credit, page: u64, counts: bool) -> u32 {
        // Relaxed: a clock, for guesses.
        let loads = match counts {
            true => self.loads.fetch_add(1, Relaxed).wrapping_add(1),
            false => self.loads.load(Relaxed),
        };
        let window = loads / self.loads_per_window;
        let proven = counts && self.ghosts.recall(page, self.deaths.load(Relaxed));
        let mut queues = self.queues.lock();
        if proven {
            credit.set(1, Queue::Main, window);
            queues.came(index, None, loads);
        } else {
            credit.set(0, Queue::Small, window);
            let line = if counts { Line::Newcomers } else { Line::Passing };
            queues.came(index, Some(line), loads);
        }
        window
    }

    /// The page left its frame other than by a sweep.
    pub fn evicted(&self, index: u32, credit: &Credit, page: u64) {
        let line = self.queues.lock().left(index);
        self.gone(credit, page, line);
    }

    /// The page, which was in this queue, left its frame.
    fn gone(&self, credit: &Credit, page: u64, line: Option<Line>) {
        credit.set(0, Queue::None, 0);
        if line != Some(Line::Passing) {
            let now = self.deaths.fetch_add(1, Relaxed).wrapping_add(1);
            self.ghosts.remember(page, now);
        }
    }

    fn due(&self) -> Due {
        let passing_max = (self.frames / PASSING_ONE_IN) as usize;
        self.queues.lock().due(self.small_goal, passing_max, self.loads.load(Relaxed))
    }

    pub fn victims(&self, hand: &mut u32, most: usize, from: &mut impl Candidates) {
        let mut passed = 0;
        // The queues first; each page is looked at once, so that those who can't go don't come round again.
        let mut due = self.due();
        while passed < most && !from.enough() {
            passed += 1;
            if let Some(line) = due.next() {
                self.judge(line, from);
                continue;
            }
            let index = step(hand, self.frames);
            let credit = from.credit(index);
            if credit.queue() == Queue::Main as u32
                && from.is_idle(index)
                && !from.credit(index).spend()
                && let Some(page) = from.offer(index)
            {
                self.gone(from.credit(index), page, None);
            }
            if passed % self.frames as usize == 0 {
                // A whole round found little among the proven: shorten the queues further.
                due = self.queues.lock().all();
            }
        }
    }

    /// Decides about the oldest page of a queue: promoted, evicted, or (held, or dirty) back to the queue.
    fn judge(&self, line: Line, from: &mut impl Candidates) {
        let Some(oldest) = self.queues.lock().pop(line) else { return };
        let index = oldest.frame;
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
            return self.gone(from.credit(index), page, Some(line));
        }
        self.queues.lock().join(oldest, line, self.loads.load(Relaxed));
    }
}
