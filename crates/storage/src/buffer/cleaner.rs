//! The page cleaner: keeps free frames ready, so that foreground work never writes a page.
//!
//! Each round it measures how many frames were taken since the last one and aims at having enough for the
//! next two rounds. The aim moves by at most an eighth (and a few) a round: a burst does not make it panic, a
//! pause does not make it forget. It evicts clean victims at once, and dirty ones after it has written them.

use super::doublewrite::BATCH_MAX;
use super::pool::{Pool, Victims};
use super::sync;
use crate::complaint::complain;
use crate::error::{Result, fatal};
use base::RelId;
use base::clock::{self, Instant};
use base::env::{Background, Env};
use base::lot;
use base::sync::unmodelled::{AtomicBool, AtomicUsize, Ordering};
use base::usage::{self, Role};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time between rounds while nobody asks.
const ROUND: Duration = Duration::from_millis(20);
/// Time between rounds after nobody has taken a frame for a while.
const IDLE_ROUND: Duration = Duration::from_millis(500);
/// By so many frames the goal may move in a round, however small it is.
const STEP_MIN: usize = 4;
/// Time before a failed write is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// What the cleaner shares with those who need it.
#[derive(Default)]
pub(super) struct CleanerState {
    /// Frames it tries to keep free.
    goal: AtomicUsize,
    asked: AtomicBool,
    stopping: AtomicBool,
    /// Frames that rings come to soon: to be written, not evicted.
    asked_to_write: Mutex<Vec<u32>>,
    backgrounds: Mutex<Vec<Background>>,
}

/// More frames are not remembered for rings: the cleaner is behind, and who goes round takes free ones.
const ASKED_MAX: usize = 8 * BATCH_MAX;

impl CleanerState {
    /// Has these frames' pages written, those that are dirty, and leaves them where they are.
    pub fn ask_to_write(&self, frames: Vec<u32>) {
        {
            let mut asked = self.asked_to_write.lock().expect("no code panics under it");
            if asked.len() + frames.len() > ASKED_MAX {
                return;
            }
            asked.extend(frames);
        }
        self.wake();
    }

    fn take_asked(&self) -> Vec<u32> {
        std::mem::take(&mut self.asked_to_write.lock().expect("no code panics under it"))
    }

    /// Wakes the cleaner.
    pub fn wake(&self) {
        // Relaxed load: a stale `true` means that the cleaner has yet to answer it. SeqCst: pairs with the look in `nap`, under
        // the lot's mutex: either the sleeper sees it, or it is found in the lot.
        if !self.asked.load(Ordering::Relaxed) && !self.asked.swap(true, Ordering::SeqCst) {
            lot::unpark_all(self.key());
        }
    }

    /// Fewer free frames than this: somebody should wake the cleaner.
    pub fn low_mark(&self) -> usize {
        self.goal.load(Ordering::Relaxed) / 2
    }

    /// Whether the background contexts are to end.
    pub fn stopping(&self) -> bool {
        // SeqCst: pairs with the store in `stop`.
        self.stopping.load(Ordering::SeqCst)
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.asked).addr()
    }

    /// Sleeps until asked, stopped, or `deadline`.
    fn nap(&self, deadline: Instant) {
        // SeqCst: pairs with `wake` and `stop`.
        let nothing =
            || !self.asked.load(Ordering::SeqCst) && !self.stopping.load(Ordering::SeqCst);
        lot::park_on(self.key(), lot::EXCLUSIVE, nothing, Some(deadline));
        // SeqCst: pairs with the swap in `wake`: what was asked for before it is looked at after this.
        self.asked.store(false, Ordering::SeqCst);
    }
}

/// Starts the cleaner of `pool`, and the context that syncs behind it.
pub(super) fn start(env: &Env, pool: &Arc<Pool>) {
    let (cleaner, syncer) = (Arc::clone(pool), Arc::clone(pool));
    let started = vec![
        env.spawn("page cleaner", move || run(&cleaner)),
        env.spawn("page syncer", move || sync::run(&syncer)),
    ];
    *pool.cleaner.backgrounds.lock().expect("no code panics under it") = started;
}

/// Stops both and waits for their end.
pub(super) fn stop(pool: &Pool) {
    // SeqCst: pairs with the looks of those who are about to sleep, as in `wake`.
    pool.cleaner.stopping.store(true, Ordering::SeqCst);
    lot::unpark_all(pool.cleaner.key());
    sync::stop(pool);
    let mut backgrounds = pool.cleaner.backgrounds.lock().expect("no code panics under it");
    let started = std::mem::take(&mut *backgrounds);
    drop(backgrounds);
    started.into_iter().for_each(Background::join);
}

/// Ends the process if its context panics: without the cleaner everybody would wait in vain.
pub(super) struct Vital;

impl Drop for Vital {
    fn drop(&mut self) {
        if std::thread::panicking() {
            fatal("a background context of the buffer cache panicked");
        }
    }
}

fn run(pool: &Pool) {
    let _vital = Vital;
    let _acting = usage::act_as(Role::Cleaner);
    let mut pace = Pace::new(pool);
    while !pool.cleaner.stopping() {
        let took = pace.measure(pool);
        pool.replacer.note_time(clock::now());
        let refilled = refill(pool);
        let outcome = write_for_rings(pool).and(refilled);
        let wait = match outcome {
            // The one who waits gets the error when its time is up; the log gets it now.
            Err(error) => {
                complain("page cleaner", &error);
                RETRY
            }
            Ok(()) if pool.free.waiting() > 0 => Duration::from_millis(1),
            Ok(()) if took => ROUND,
            Ok(()) => IDLE_ROUND,
        };
        pool.cleaner.nap(clock::now().after(wait));
    }
}

/// The measured allocation rate, smoothed, as a goal.
struct Pace {
    taken: usize,
    measured: Instant,
}

impl Pace {
    fn new(pool: &Pool) -> Pace {
        pool.cleaner.goal.store(floor(pool.frames.len()), Ordering::Relaxed);
        Pace { taken: pool.free.taken(), measured: clock::now() }
    }

    /// Moves the goal towards two rounds' worth of frames at the current rate. True if any were taken.
    fn measure(&mut self, pool: &Pool) -> bool {
        let (now, taken) = (clock::now(), pool.free.taken());
        let elapsed = now.since(self.measured).max(Duration::from_micros(100));
        let fresh = taken - self.taken;
        if elapsed < ROUND / 2 && fresh > 0 {
            return true; // too short to tell a rate
        }
        let goal = pool.cleaner.goal.load(Ordering::Relaxed);
        let next = next_goal(pool.frames.len(), goal, fresh, elapsed);
        pool.cleaner.goal.store(next, Ordering::Relaxed);
        (self.taken, self.measured) = (taken, now);
        fresh > 0
    }
}

/// The goal after `goal`, when `fresh` frames were taken in the time `elapsed`: what is enough for two rounds, approached
/// by an eighth and [`STEP_MIN`] at most; never less than the floor, nor more than an eighth of the pool.
fn next_goal(frames: usize, goal: usize, fresh: usize, elapsed: Duration) -> usize {
    let per_round = fresh as f64 * ROUND.as_secs_f64() / elapsed.as_secs_f64();
    let most = (frames / 8).max(1);
    let wanted = (2.0 * per_round) as usize;
    let step = goal / 8 + STEP_MIN;
    let next = wanted.clamp(goal.saturating_sub(step), goal + step);
    next.clamp(floor(frames).min(most), most)
}

/// Free frames worth having when nothing is known: some, in a pool of any size.
fn floor(frames: usize) -> usize {
    (frames / 16).clamp(1, BATCH_MAX)
}

/// Evicts, and writes where it must, until the goal is met or nothing more can be done now.
///
/// # Errors
/// A page that could not be written. Others were, as far as that was needed.
fn refill(pool: &Pool) -> Result<()> {
    let mut failed = None;
    loop {
        let goal = pool.cleaner.goal.load(Ordering::Relaxed);
        let (lacking, waiting) = (goal.saturating_sub(pool.free.len()), pool.free.waiting());
        let missing = lacking + waiting;
        // What was taken while the last batch was written is too little for another: a batch costs a sync of the
        // double-write area, however few pages it has.
        if missing == 0 || (waiting == 0 && lacking < goal / 4) {
            break;
        }
        let (freed, dirty) = sweep(pool, missing.min(BATCH_MAX));
        if dirty.is_empty() {
            if freed == 0 {
                break;
            }
            continue;
        }
        let batch = pool.write_frames(&dirty);
        failed = failed.or(batch.failed);
        let mut clean = Vec::with_capacity(dirty.len());
        for index in dirty {
            let frame = &pool.frames[index as usize];
            // Used while it was written: it has earned another round.
            if !pool.replacer.is_wanted(&frame.credit)
                && let Some(idle) = frame.word.idle()
                && pool.evict(frame, idle)
            {
                pool.io.evicted(RelId(frame.place_hint().0));
                clean.push(index);
            }
        }
        pool.free.give(&clean);
        if batch.written == 0 && clean.is_empty() && freed == 0 {
            break;
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Writes what rings have asked for.
fn write_for_rings(pool: &Pool) -> Result<()> {
    let asked = pool.cleaner.take_asked();
    let mut failed = None;
    for batch in asked.chunks(BATCH_MAX) {
        let dirty = batch.iter().copied().filter(|index| pool.frames[*index as usize].is_dirty());
        let dirty: Vec<u32> = dirty.collect();
        if !dirty.is_empty() {
            failed = failed.or(pool.write_frames(&dirty).failed);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Takes up to `most` victims: clean ones are free at once (how many), dirty ones are answered.
fn sweep(pool: &Pool, most: usize) -> (usize, Vec<u32>) {
    let mut victims = Victims::new(pool, most, true);
    let mut hand = pool.replacer.sweep();
    pool.replacer.victims(&mut hand, usize::MAX, &mut victims);
    drop(hand);
    pool.free.give(&victims.freed);
    (victims.freed.len(), victims.dirty)
}

#[cfg(test)]
mod tests {
    use super::{ROUND, floor, next_goal};
    use std::time::Duration;

    const FRAMES: usize = 16_384;

    /// The goals of so many rounds, each of which takes `fresh` frames.
    fn rounds(mut goal: usize, fresh: usize, count: usize) -> Vec<usize> {
        let next = || {
            goal = next_goal(FRAMES, goal, fresh, ROUND);
            goal
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn the_goal_rises_by_an_eighth_at_most_until_it_is_enough_for_two_rounds() {
        let first = floor(FRAMES);
        let goals = rounds(first, 700, 30);
        for pair in [&[first], &goals[..]].concat().windows(2) {
            assert!(pair[0] <= pair[1] && pair[1] <= pair[0] + pair[0] / 8 + 4, "{goals:?}");
        }
        assert_eq!(goals[0], first + first / 8 + 4);
        // As exact as floats are.
        assert!((1399..=1400).contains(goals.last().unwrap()), "{goals:?}");
        // A burst of any size goes no faster.
        assert_eq!(rounds(first, 1_000_000, 1), [goals[0]]);
    }

    #[test]
    fn the_goal_falls_as_slowly_to_what_any_pool_keeps_free() {
        let goals = rounds(1400, 0, 60);
        for pair in [&[1400], &goals[..]].concat().windows(2) {
            assert!(pair[1] <= pair[0] && pair[0] <= pair[1] + pair[0] / 8 + 4, "{goals:?}");
        }
        assert_eq!(goals[0], 1400 - 1400 / 8 - 4);
        assert_eq!(*goals.last().unwrap(), floor(FRAMES));
    }

    #[test]
    fn what_counts_is_the_rate() {
        let slow = next_goal(FRAMES, 200, 1000, ROUND * 10);
        assert!((199..=200).contains(&slow), "{slow}");
        assert!((199..=200).contains(&next_goal(FRAMES, 200, 100, ROUND)));
        assert_eq!(next_goal(FRAMES, 200, 1000, Duration::from_micros(100)), 200 + 200 / 8 + 4);
    }

    #[test]
    fn no_goal_is_more_than_an_eighth_of_the_pool() {
        for frames in [16, 64, 1000, FRAMES] {
            let mut goal = floor(frames);
            for _ in 0..200 {
                goal = next_goal(frames, goal, frames, ROUND);
            }
            assert_eq!(goal, frames / 8);
            for _ in 0..200 {
                goal = next_goal(frames, goal, 0, ROUND);
            }
            assert_eq!(goal, floor(frames).min(frames / 8));
        }
    }
}
