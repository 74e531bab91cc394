//! Pages that nobody syncs soon are sent on their way to the device a few at a time.
//!
//! A page in its place is in the system's cache. Files of logged relations are synced about once a second
//! ([`sync`](super::sync)); those of unlogged ones are not until the next checkpoint, and what is written to them would
//! gather until the system brings it to the device all at once, and everybody's reads wait behind that. So whoever writes
//! pages has the system start with them whenever `bgwriter_flush_after` have been written: after a batch, without the
//! writer's latch, for the call waits where the device's queue is full. Nobody waits for its end.
//!
//! Temporary tables are left alone: most are gone before the system would write them.

use super::io::Timed;
use super::pool::Pool;
use crate::complaint::complain;
use base::sync::unmodelled::{AtomicU32, Ordering};
use base::{PageId, Persistence};

/// `bgwriter_flush_after`, in pages: the writing back of so many is started together; 0: of none.
pub(super) struct After(AtomicU32);

impl After {
    pub fn new(pages: u32) -> After {
        After(AtomicU32::new(pages))
    }
}

/// Whether the system is had to start with the page before it is synced.
fn is_started_early(page: PageId) -> bool {
    page.rel.persistence() == Persistence::Unlogged
}

/// Runs of neighbours that are written and not started with; the writer has them.
#[derive(Default)]
pub(super) struct Unstarted {
    runs: Vec<Run>,
    pages: u32,
}

/// So many pages from the first on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    first: PageId,
    pages: u32,
}

impl Unstarted {
    /// Takes all, in file order and neighbours as one, if they are `after` pages or more.
    fn due(&mut self, after: u32) -> Vec<Run> {
        if self.pages < after.max(1) {
            return Vec::new();
        }
        self.pages = 0;
        joined(std::mem::take(&mut self.runs))
    }
}

/// In file order; what touches or overlaps as one.
fn joined(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable_by_key(|run| run.first);
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        let file = |page: PageId| (page.rel, page.fork);
        match joined.last_mut() {
            Some(last)
                if file(last.first) == file(run.first)
                    && run.first.block.0 <= last.first.block.0 + last.pages =>
            {
                let ahead = run.first.block.0 - last.first.block.0;
                last.pages = last.pages.max(ahead + run.pages);
            }
            _ => joined.push(run),
        }
    }
    joined
}

impl Pool {
    /// Another `bgwriter_flush_after`, from now on.
    pub fn set_flush_after(&self, pages: u32) {
        // Relaxed: nothing else goes by it.
        self.flush_after.0.store(pages, Ordering::Relaxed);
    }

    fn flush_after(&self) -> u32 {
        // Past the system's cache there is nothing to write back.
        if self.files.is_direct() { 0 } else { self.flush_after.0.load(Ordering::Relaxed) }
    }

    /// Pages from `first` on are written in place.
    pub(super) fn note_unstarted(&self, unstarted: &mut Unstarted, first: PageId, pages: usize) {
        if is_started_early(first) && self.flush_after() > 0 {
            unstarted.runs.push(Run { first, pages: pages as u32 });
            unstarted.pages += pages as u32;
        }
    }

    /// What is to be started with now.
    pub(super) fn writeback_due(&self, unstarted: &mut Unstarted) -> Vec<Run> {
        match self.flush_after() {
            // It was switched off meanwhile.
            0 => {
                *unstarted = Unstarted::default();
                Vec::new()
            }
            after => unstarted.due(after),
        }
    }

    /// Has the system start with these. The caller holds no latch.
    pub(super) fn start_writeback(&self, runs: &[Run]) {
        for run in runs {
            let timed = Timed::start();
            match self.files.start_writeback(run.first, run.pages) {
                Ok(true) => self.io.writeback(run.first.rel, run.pages, &timed),
                Ok(false) => {}
                // The file is unsynced still, and its sync meets what has become of this.
                Err(error) => complain("writing back", &error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Run, joined};
    use base::{BlockNo, Fork, PageId, RelId};

    #[test]
    fn runs_that_touch_are_joined_within_a_fork() {
        let run = |rel, fork, block, pages| Run {
            first: PageId { rel: RelId(rel), fork, block: BlockNo(block) },
            pages,
        };
        let main = Fork::Main;
        let runs = vec![
            run(7, main, 4, 2),
            run(6, main, 9, 1),
            run(7, main, 6, 3),
            run(7, Fork::Visibility, 9, 1),
            run(7, main, 5, 1),
            run(7, main, 10, 1),
        ];
        let want = [
            run(6, main, 9, 1),
            run(7, main, 4, 5),
            run(7, main, 10, 1),
            run(7, Fork::Visibility, 9, 1),
        ];
        assert_eq!(joined(runs), want);
    }
}
