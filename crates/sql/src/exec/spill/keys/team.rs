//! Helpers of a sort: they sort full batches and write them as runs while the next one is filled.
//!
//! There are never more batches than helpers and one, and the sorter's memory is divided among them. Helpers know nothing of
//! the session: an error of one ends the sort where the session looks next, and a sort that ends early (an error, a
//! cancel) has the helpers stop at their next breath and waits for them, so that nothing of it is left.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::env::{Background, Env};
use base::interrupt::Interrupt;
use base::park::{self, Context};
use base::wait_event::{self, Event};

use crate::error::{Result, SqlError};
use crate::exec::spill::file::SpillFile;
use crate::exec::spill::space::TempSpace;

use super::entry::Batch;
use super::run::Run;

/// What a sort may have for help.
#[derive(Clone)]
pub struct Helpers {
    pub env: Env,
    /// At least one.
    pub count: usize,
}

/// Helpers at work, in the hands of who fills the batches.
pub(super) struct Team {
    work: Arc<Mutex<Work>>,
    size: usize,
    helpers: Vec<Background>,
    space: Arc<TempSpace>,
}

/// What both sides know.
#[derive(Default)]
struct Work {
    /// Full batches.
    waiting: VecDeque<Batch>,
    /// Batches being sorted or written, and the bytes of these and of those that wait.
    busy: usize,
    bytes: usize,
    runs: Vec<Run>,
    /// Empty batches, to be filled again.
    empty: Vec<Batch>,
    failed: Option<SqlError>,
    closed: bool,
    contexts: Vec<Context>,
}

impl Work {
    fn in_hand(&self) -> usize {
        self.waiting.len() + self.busy
    }
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Team {
    /// Starts helpers whose runs lie in `file`. They answer the calling context.
    pub fn start(helpers: &Helpers, file: &Arc<SpillFile>, space: &Arc<TempSpace>) -> Team {
        let work = Arc::<Mutex<Work>>::default();
        let owner = park::current();
        let started = (0..helpers.count).map(|_| {
            let (work, file, owner) = (work.clone(), file.clone(), owner.clone());
            helpers.env.spawn("index sort", move || help(&work, &file, &owner))
        });
        Team { helpers: started.collect(), work, size: helpers.count, space: space.clone() }
    }

    /// Has a full batch sorted and written; an empty one in its place, as soon as there may be one more.
    pub fn take(&self, batch: Batch) -> Result<Batch> {
        self.wait(|work| work.in_hand() < self.size)?;
        let (empty, contexts) = {
            let mut work = lock(&self.work);
            work.bytes += batch.bytes();
            self.space.note_peak(work.bytes);
            work.waiting.push_back(batch);
            (work.empty.pop(), work.contexts.clone())
        };
        // One that has not begun looks before it parks.
        contexts.iter().for_each(Context::unpark);
        Ok(empty.unwrap_or_else(Batch::new))
    }

    /// All batches were handed over; their runs.
    pub fn finish(self) -> Result<Vec<Run>> {
        self.wait(|work| work.in_hand() == 0)?;
        Ok(std::mem::take(&mut lock(&self.work).runs))
    }

    /// Parks until the work is as wanted; fails with what a helper failed with.
    fn wait(&self, is_so: impl Fn(&Work) -> bool) -> Result<()> {
        loop {
            {
                let mut work = lock(&self.work);
                if let Some(error) = work.failed.take() {
                    return Err(error);
                }
                if is_so(&work) {
                    return Ok(());
                }
            }
            base::interrupt::check().map_err(crate::error::interrupted)?;
            let _waiting = wait_event::during(Event::IndexSort);
            park::park();
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        {
            let mut work = lock(&self.work);
            work.closed = true;
            // What is left when a sort ends early is of no use.
            work.waiting.clear();
            work.contexts.iter().for_each(|helper| helper.interrupt(Interrupt::Cancel));
        }
        let _waiting = wait_event::during(Event::IndexSort);
        self.helpers.drain(..).for_each(Background::join);
    }
}

/// Body of a helper's context.
fn help(work: &Mutex<Work>, file: &Arc<SpillFile>, owner: &Context) {
    lock(work).contexts.push(park::current());
    loop {
        let batch = {
            let mut work = lock(work);
            if work.closed {
                return;
            }
            let batch = work.waiting.pop_front();
            work.busy += usize::from(batch.is_some());
            batch
        };
        let Some(mut batch) = batch else {
            park::park();
            continue;
        };
        let at_hand = AtHand { work, owner, bytes: batch.bytes() };
        let made = make_run(&mut batch, file);
        {
            let mut work = lock(work);
            match made {
                Ok(run) => work.runs.push(run),
                Err(error) => work.failed = Some(error),
            }
            batch.clear();
            work.empty.push(batch);
        }
        drop(at_hand);
    }
}

/// A batch that a helper has; put down at drop, even by a panic, of which the owner then learns.
struct AtHand<'w> {
    work: &'w Mutex<Work>,
    owner: &'w Context,
    bytes: usize,
}

impl Drop for AtHand<'_> {
    fn drop(&mut self) {
        {
            let mut work = lock(self.work);
            work.busy -= 1;
            work.bytes -= self.bytes;
            if std::thread::panicking() {
                work.failed = Some(SqlError::internal("a helper of an index's sort has ended"));
            }
        }
        self.owner.unpark();
    }
}

/// Sorts a batch and writes it.
pub(super) fn make_run(batch: &mut Batch, file: &Arc<SpillFile>) -> Result<Run> {
    batch.sort()?;
    let mut run = Run::new(file);
    run.append(batch)?;
    run.seal()?;
    Ok(run)
}
