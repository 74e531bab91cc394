//! Which tables have become worth cleaning, and when.

use base::RelId;
use base::clock::{self, Instant};
use base::interrupt::Interrupt;
use base::latch::Latch;
use base::park::Context;
use base::rank::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A table is left alone for so long after it was cleaned: small hot ones would be cleaned without end.
const REST: Duration = Duration::from_secs(1);

/// Tables that wait to be cleaned, each once.
pub struct Queue(Latch<State>);

#[derive(Default)]
struct State {
    /// When each is due.
    due: BTreeMap<RelId, Instant>,
    /// Tables that were cleaned a short time ago, and until when they rest.
    resting: BTreeMap<RelId, Instant>,
    /// Tables that workers are at. One that becomes due meanwhile waits until its worker is done with it.
    at_work: BTreeSet<RelId>,
    workers: Vec<Context>,
    stop: bool,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue(Latch::new(Rank::Leaf, State::default()))
    }
}

impl Queue {
    /// The table has changed enough. May be called by whoever notices.
    pub fn push(&self, rel: RelId) {
        self.push_after(rel, Duration::ZERO);
    }

    /// The table is to be looked at after some time.
    pub(super) fn push_after(&self, rel: RelId, wait: Duration) {
        let mut state = self.0.lock();
        if state.stop {
            return;
        }
        let asked = clock::now().after(wait);
        let at = state.resting.get(&rel).map_or(asked, |rested| asked.max(*rested));
        let due = state.due.entry(rel).or_insert(at);
        *due = at.min(*due);
        state.wake();
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.lock().due.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The calling context is a worker from now on, woken and ended with the others.
    pub(super) fn enter(&self) {
        self.0.lock().workers.push(base::park::current());
    }

    /// How many workers are at tables.
    pub(super) fn at_work(&self) -> usize {
        self.0.lock().at_work.len()
    }

    /// A worker has done with a table for now.
    pub(super) fn done(&self, rel: RelId) {
        let mut state = self.0.lock();
        state.at_work.remove(&rel);
        if state.due.contains_key(&rel) {
            state.wake();
        }
    }

    /// The table was cleaned just now.
    pub(super) fn rests(&self, rel: RelId) {
        let mut state = self.0.lock();
        let now = clock::now();
        state.resting.retain(|_, until| *until > now);
        let until = now.after(REST);
        state.resting.insert(rel, until);
        if let Some(due) = state.due.get_mut(&rel) {
            *due = until.max(*due);
        }
    }

    /// The next table that no worker is at, waiting for one; `None` once stopped. For workers, who tell when they
    /// have [`done`](Queue::done) with it.
    pub(super) fn pop(&self) -> Option<RelId> {
        loop {
            let next = {
                let mut state = self.0.lock();
                if state.stop {
                    return None;
                }
                let free = |(rel, _): &(&RelId, &Instant)| !state.at_work.contains(rel);
                let next = state.due.iter().filter(free).map(|(rel, at)| (*at, *rel)).min();
                if let Some((at, rel)) = next
                    && at <= clock::now()
                {
                    state.due.remove(&rel);
                    state.at_work.insert(rel);
                    return Some(rel);
                }
                next
            };
            base::park::park_until(next.map(|(at, _)| at));
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().stop
    }

    /// Ends the workers after the pages they are at.
    pub(super) fn stop(&self) {
        let mut state = self.0.lock();
        state.stop = true;
        state.due.clear();
        for worker in &state.workers {
            worker.interrupt(Interrupt::Terminate);
        }
    }
}

impl State {
    /// Has the workers that wait look at what is due.
    fn wake(&self) {
        self.workers.iter().for_each(Context::unpark);
    }
}
