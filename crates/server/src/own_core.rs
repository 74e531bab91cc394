//! Keeping a worker to a core of its own (`worker_core_affinity`).
//!
//! A worker that answers wakes its client, and the system likes to run the client where the worker runs, and later
//! the worker where the client ran that woke it. With clients on the same machine all of them end up on one core for
//! milliseconds while another has nothing to do (docs/decisions/replies.md). A worker that stays where it is draws
//! its clients after it, and the cores stay busy.
//!
//! Only where there are as many workers as cores that this process may use: each core then has its worker. A worker
//! that hears only one client goes wherever the system likes: client and worker take turns, and there is nobody
//! to share cores with.

use std::cell::Cell;
use std::time::Duration;

use base::clock::{self, Instant};
use base::cores::Cores;

/// A worker changes between staying and going no sooner than this after it did so last.
const PAUSE: Duration = Duration::from_millis(100);

/// Where one worker may run.
pub(crate) struct OwnCore {
    /// Its core; `None` leaves everything to the system.
    core: Option<Cores>,
    /// All that the process may use.
    all: Cores,
    is_kept: Cell<bool>,
    changed: Cell<Instant>,
}

impl OwnCore {
    /// For worker `number`, from 0, of `workers`; to be called by its thread.
    pub(crate) fn new(number: usize, workers: usize, is_wanted: bool) -> OwnCore {
        let all = Cores::of_this_thread();
        let may_keep = is_wanted && workers > 1 && workers == all.iter().count();
        let core = may_keep.then(|| all.nth(number)).flatten();
        OwnCore { core, all, is_kept: Cell::new(false), changed: Cell::new(Instant(0)) }
    }

    /// Keeps this thread to its core or lets it go, as suits a worker that hears one client only, or several; to be
    /// called by its thread before it sleeps.
    #[inline]
    pub(crate) fn settle(&self, has_lone_client: bool) {
        if self.is_kept.get() == has_lone_client {
            self.change(!has_lone_client);
        }
    }

    fn change(&self, keep: bool) {
        let Some(core) = &self.core else { return };
        let now = clock::now();
        if now.since(self.changed.get()) < PAUSE {
            return;
        }
        self.changed.set(now);
        let cores = if keep { core } else { &self.all };
        // Refused, because the cores that the process may use were changed: the worker stays where it may run.
        if cores.apply().is_ok() {
            self.is_kept.set(keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `test` in a thread of its own, whose cores nobody else minds.
    fn in_thread(test: impl FnOnce(Cores) + Send + 'static) {
        std::thread::spawn(|| test(Cores::of_this_thread())).join().unwrap();
    }

    fn numbers(cores: Cores) -> Vec<usize> {
        cores.iter().collect()
    }

    #[test]
    fn a_worker_with_several_clients_keeps_its_core_and_lets_it_go_for_one() {
        in_thread(|all| {
            let workers = all.iter().count();
            if workers < 2 {
                return;
            }
            let own = OwnCore::new(1, workers, true);
            own.settle(true);
            assert_eq!(numbers(Cores::of_this_thread()), numbers(all));
            own.settle(false);
            assert_eq!(numbers(Cores::of_this_thread()), [numbers(all)[1]]);
            own.settle(true);
            assert_eq!(
                Cores::of_this_thread().iter().count(),
                1,
                "not so soon after the last change"
            );
            std::thread::sleep(PAUSE);
            own.settle(true);
            assert_eq!(numbers(Cores::of_this_thread()), numbers(all));
        });
    }

    #[test]
    fn nobody_is_kept_unwanted_alone_or_with_other_than_a_worker_for_each_core() {
        in_thread(|all| {
            let cores = all.iter().count();
            for (workers, wanted) in [(cores, false), (cores + 1, true), (1, true)] {
                let own = OwnCore::new(0, workers, wanted);
                own.settle(false);
                assert_eq!(numbers(Cores::of_this_thread()), numbers(all));
            }
        });
    }
}
