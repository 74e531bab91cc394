//! Which tables have become worth cleaning.

use base::RelId;
use base::hash::HashSet;
use base::latch::Latch;
use base::park::Context;
use base::rank::Rank;
use std::collections::VecDeque;

/// Tables that wait to be cleaned, each once.
pub struct Queue(Latch<State>);

#[derive(Default)]
struct State {
    order: VecDeque<RelId>,
    waiting: HashSet<RelId>,
    worker: Option<Context>,
    stop: bool,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue(Latch::new(Rank::Leaf, State::default()))
    }
}

impl Queue {
    /// The table has changed enough. Cheap; may be called by whoever notices.
    pub fn push(&self, rel: RelId) {
        let mut state = self.0.lock();
        if state.stop || !state.waiting.insert(rel) {
            return;
        }
        state.order.push_back(rel);
        if let Some(worker) = &state.worker {
            worker.unpark();
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.lock().order.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next table, waiting for one; `None` once stopped. For the one worker.
    pub(super) fn pop(&self) -> Option<RelId> {
        loop {
            {
                let mut state = self.0.lock();
                if state.stop {
                    return None;
                }
                if let Some(rel) = state.order.pop_front() {
                    state.waiting.remove(&rel);
                    return Some(rel);
                }
                state.worker = Some(base::park::current());
            }
            base::park::park();
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().stop
    }

    /// Ends the worker after the page it is at.
    pub(super) fn stop(&self) {
        let mut state = self.0.lock();
        state.stop = true;
        state.order.clear();
        state.waiting.clear();
        if let Some(worker) = &state.worker {
            worker.interrupt(base::interrupt::Interrupt::Terminate);
        }
    }
}
