//! Which tables have become worth cleaning, and when.

use base::RelId;
use base::clock::{self, Instant};
use base::interrupt::Interrupt;
use base::latch::Latch;
use base::park::Context;
use base::rank::Rank;
use std::collections::BTreeMap;
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
    worker: Option<Context>,
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
        if let Some(worker) = &state.worker {
            worker.unpark();
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.lock().due.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// The next table, waiting for one; `None` once stopped. For the one worker.
    pub(super) fn pop(&self) -> Option<RelId> {
        loop {
            let next = {
                let mut state = self.0.lock();
                if state.stop {
                    return None;
                }
                state.worker.get_or_insert_with(base::park::current);
                let next = state.due.iter().map(|(rel, at)| (*at, *rel)).min();
                if let Some((at, rel)) = next
                    && at <= clock::now()
                {
                    state.due.remove(&rel);
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

    /// Ends the worker after the page it is at.
    pub(super) fn stop(&self) {
        let mut state = self.0.lock();
        state.stop = true;
        state.due.clear();
        if let Some(worker) = &state.worker {
            worker.interrupt(Interrupt::Terminate);
        }
    }
}
