//! The background workers: they take tables from the queue, and clean and analyze them, unhurriedly.

use super::{Alone, IndexCleanup, Options, Queue, Report, Unhurried, try_vacuum};
use crate::error::{Error, Result};
use crate::heap::{Due, HeapRel};
use crate::index::Index;
use base::RelId;
use base::env::{Background, Env};
use base::sync::unmodelled::{AtomicU64, Ordering::Relaxed};
use base::usage::{self, Role};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A table that can't be cleaned now is looked at again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// A table that could not be cleaned or analyzed for an error, after so long: that may be the same again, and is told
/// each time.
const AFTER_ERROR: Duration = Duration::from_secs(60);

/// A table for the worker to clean.
pub struct HandedOver<'h> {
    /// Its rows.
    pub heap: &'h HeapRel,
    /// *All* of its indexes.
    pub indexes: &'h [Index],
    /// Whether entries of dead rows are removed from them.
    pub index_cleanup: IndexCleanup,
    /// Whether somebody waits for the table.
    pub waited_for: &'h dyn Fn() -> bool,
    /// How empty pages at its end are given back, if they are to be.
    pub alone: Option<&'h Alone<'h>>,
}

/// Cleans a table. Answers what a whole cleaning has come to, for who writes the table's size down, and tells of it.
pub type Clean<'c> = dyn FnMut(&HandedOver<'_>) -> Option<Report> + 'c;

/// Calls its second argument with the heap and the indexes of a table, while none can be added or dropped.
/// Does not wait for locks.
pub type Open = dyn Fn(RelId, &mut Clean<'_>) -> Opened + Send + Sync;

/// Analyzes a table; the layer above knows what its rows are. Does not wait for locks.
pub type Analyze = dyn Fn(RelId) -> Opened + Send + Sync;

/// What came of opening a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// The table was handed over.
    Yes,
    /// There is no such table any more, or it is not for the worker to clean.
    No,
    /// Somebody keeps it locked; later.
    Busy,
    /// There was an error, which was told; much later.
    Failed,
}

impl Opened {
    /// When to try again.
    fn wait(self) -> Duration {
        if self == Opened::Failed { AFTER_ERROR } else { AGAIN }
    }
}

/// What is told of errors.
type Failed = dyn Fn(RelId, &Error) + Send + Sync;

/// The workers of one engine.
pub struct Workers {
    shared: Arc<Shared>,
    backgrounds: Mutex<Vec<Background>>,
}

/// What they have in common.
struct Shared {
    queue: Arc<Queue>,
    counters: Counters,
    open: Box<Open>,
    analyze: Box<Analyze>,
    failed: Box<Failed>,
}

#[derive(Default)]
struct Counters {
    runs: AtomicU64,
    removed: AtomicU64,
    analyzed: AtomicU64,
    failures: AtomicU64,
}

/// Figures of the workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerStats {
    /// Tables cleaned.
    pub runs: u64,
    /// Versions removed.
    pub removed: u64,
    /// Tables analyzed.
    pub analyzed: u64,
    /// Runs that ended with an error.
    pub failures: u64,
}

impl Counters {
    /// What one table came to; when it is to be looked at again.
    fn add(&self, round: &Round) {
        if let Some(report) = &round.cleaned {
            self.runs.fetch_add(1, Relaxed);
            self.removed.fetch_add(report.removed, Relaxed);
        }
        self.analyzed.fetch_add(u64::from(round.analyzed), Relaxed);
    }
}

impl Workers {
    /// Starts so many workers. `open` gives them tables, `analyze` does what ANALYZE does; `failed` hears of errors,
    /// which end one run only.
    pub fn start(
        env: &Env,
        workers: usize,
        queue: Arc<Queue>,
        open: Box<Open>,
        analyze: Box<Analyze>,
        failed: impl Fn(RelId, &Error) + Send + Sync + 'static,
    ) -> Workers {
        let (counters, failed) = (Counters::default(), Box::new(failed));
        let shared = Arc::new(Shared { queue, counters, open, analyze, failed });
        let one = |_| {
            let shared = Arc::clone(&shared);
            env.spawn("vacuum", move || shared.work())
        };
        let backgrounds = Mutex::new((0..workers).map(one).collect());
        Workers { shared, backgrounds }
    }

    /// Figures, as of now.
    pub fn stats(&self) -> WorkerStats {
        let Counters { runs, removed, analyzed, failures } = &self.shared.counters;
        // Relaxed: figures for people.
        WorkerStats {
            runs: runs.load(Relaxed),
            removed: removed.load(Relaxed),
            analyzed: analyzed.load(Relaxed),
            failures: failures.load(Relaxed),
        }
    }

    /// Ends the workers and waits until they have ended.
    pub fn stop(&self) {
        self.shared.queue.stop();
        let mut backgrounds = self.backgrounds.lock().expect("no code panics under it");
        backgrounds.drain(..).for_each(Background::join);
    }
}

impl Shared {
    /// What a worker does until it is stopped.
    fn work(&self) {
        let _acting = usage::act_as(Role::Vacuum);
        self.queue.enter();
        while let Some(rel) = self.queue.pop() {
            let done = self.look_after(rel);
            if done.is_err() && self.queue.is_stopped() {
                return;
            }
            match done {
                Ok(round) => {
                    self.counters.add(&round);
                    if round.cleaned.is_some() || round.analyzed {
                        self.queue.rests(rel);
                    }
                    if let Some(wait) = round.again {
                        self.queue.push_after(rel, wait);
                    }
                }
                Err(error) => {
                    self.counters.failures.fetch_add(1, Relaxed);
                    (self.failed)(rel, &error);
                    self.queue.push_after(rel, AFTER_ERROR);
                }
            }
            self.queue.done(rel);
        }
    }

    /// Cleans a table, and has it analyzed, as far as that is due.
    fn look_after(&self, rel: RelId) -> Result<Round> {
        let (mut round, mut due) = (Round::default(), Due::default());
        let mut result = Ok(None);
        let opened = (self.open)(rel, &mut |table| {
            due = table.heap.due();
            if due.vacuum && !table.heap.is_held_back() {
                let options = Options {
                    background: Some(Unhurried {
                        waited_for: table.waited_for,
                        queue: &self.queue,
                    }),
                    index_cleanup: table.index_cleanup,
                    alone: table.alone,
                    ..Options::default()
                };
                result = try_vacuum(table.heap, table.indexes, &options);
            }
            let report = result.as_ref().ok().and_then(Option::as_ref);
            report.filter(|report| !report.gave_way).cloned()
        });
        round.cleaned = result?;
        match opened {
            Opened::No => return Ok(round),
            Opened::Busy | Opened::Failed => {
                round.look_again(opened.wait());
                return Ok(round);
            }
            Opened::Yes => {}
        }
        let is_done =
            round.cleaned.as_ref().is_some_and(|report| !report.come_back && !report.gave_way);
        if due.vacuum && !is_done {
            round.look_again(AGAIN);
        }
        match due.analyze {
            None => {}
            Some(Duration::ZERO) => match (self.analyze)(rel) {
                Opened::Yes => round.analyzed = true,
                failed @ (Opened::Busy | Opened::Failed) => round.look_again(failed.wait()),
                Opened::No => {}
            },
            Some(wait) => round.look_again(wait),
        }
        Ok(round)
    }
}

/// What one attempt at a table came to.
#[derive(Default)]
struct Round {
    cleaned: Option<Report>,
    analyzed: bool,
    /// When to look at it again; `None`: when it tells that it is due.
    again: Option<Duration>,
}

impl Round {
    fn look_again(&mut self, after: Duration) {
        self.again = Some(self.again.map_or(after, |wait| wait.min(after)));
    }
}
