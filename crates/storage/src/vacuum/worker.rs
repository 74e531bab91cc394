//! The background worker: takes tables from the queue and cleans them, unhurriedly.

use super::{Options, Queue, Report, try_vacuum};
use crate::error::{Error, Result};
use crate::heap::HeapRel;
use crate::index::Index;
use base::RelId;
use base::env::{Background, Env};
use base::usage::{self, Role};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A table that can't be cleaned now is looked at again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// Cleans a heap with *all* of its indexes; the last argument tells whether somebody waits for the table.
pub type Clean<'c> = dyn FnMut(&HeapRel, &[Index], &dyn Fn() -> bool) + 'c;

/// Calls its second argument with the heap and the indexes of a table, while none can be added or dropped.
/// Does not wait for locks.
pub type Open = dyn Fn(RelId, &mut Clean<'_>) -> Opened + Send + Sync;

/// What came of opening a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// The table was handed over.
    Yes,
    /// There is no such table any more, or it is not for the worker to clean.
    No,
    /// Somebody keeps it locked; later.
    Busy,
}

/// The worker of one engine.
pub struct Worker {
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    background: Mutex<Option<Background>>,
}

#[derive(Default)]
struct Counters {
    runs: AtomicU64,
    removed: AtomicU64,
    failures: AtomicU64,
}

/// Figures of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerStats {
    /// Tables cleaned.
    pub runs: u64,
    /// Versions removed.
    pub removed: u64,
    /// Runs that ended with an error.
    pub failures: u64,
}

impl Worker {
    /// Starts a worker. `open` gives it tables; `failed` hears of errors, which end one run only.
    pub fn start(
        env: &Env,
        queue: Arc<Queue>,
        open: Box<Open>,
        failed: impl Fn(RelId, &Error) + Send + 'static,
    ) -> Worker {
        let counters = Arc::new(Counters::default());
        let (its_queue, its_counters) = (Arc::clone(&queue), Arc::clone(&counters));
        let background = env.spawn("vacuum", move || {
            let _acting = usage::act_as(Role::Vacuum);
            while let Some(rel) = its_queue.pop() {
                match clean(&open, rel) {
                    Ok(Round::NotNow) => its_queue.push_after(rel, AGAIN),
                    Ok(Round::Gone) => {}
                    Ok(Round::Cleaned(report)) => {
                        its_counters.runs.fetch_add(1, Relaxed);
                        its_counters.removed.fetch_add(report.removed, Relaxed);
                        its_queue.rests(rel);
                        if report.come_back || report.gave_way {
                            its_queue.push_after(rel, AGAIN);
                        }
                    }
                    Err(_) if its_queue.is_stopped() => return,
                    Err(error) => {
                        its_counters.failures.fetch_add(1, Relaxed);
                        failed(rel, &error);
                    }
                }
            }
        });
        Worker { queue, counters, background: Mutex::new(Some(background)) }
    }

    /// Figures, as of now.
    pub fn stats(&self) -> WorkerStats {
        let Counters { runs, removed, failures } = &*self.counters;
        // Relaxed: figures for people.
        WorkerStats {
            runs: runs.load(Relaxed),
            removed: removed.load(Relaxed),
            failures: failures.load(Relaxed),
        }
    }

    /// Ends the worker and waits until it has ended.
    pub fn stop(&self) {
        self.queue.stop();
        let background = self.background.lock().expect("no code panics under it").take();
        if let Some(background) = background {
            background.join();
        }
    }
}

/// What one attempt at a table came to.
enum Round {
    Cleaned(Report),
    NotNow,
    Gone,
}

fn clean(open: &Open, rel: RelId) -> Result<Round> {
    let mut result = Ok(None);
    let opened = open(rel, &mut |heap, indexes, waited_for| {
        if !heap.is_held_back() {
            let options = Options { background: Some(waited_for), ..Options::default() };
            result = try_vacuum(heap, indexes, &options);
        }
    });
    Ok(match (opened, result?) {
        (Opened::No, _) => Round::Gone,
        (_, Some(report)) => Round::Cleaned(report),
        (_, None) => Round::NotNow,
    })
}
