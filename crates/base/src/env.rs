//! The world an engine is opened in: its disk and its background contexts.

use crate::cores;
use crate::disk::Disk;
use crate::fiber;
use crate::lot;
use crate::sim;
use crate::sync::unmodelled::{AtomicBool, Ordering};
use std::sync::Arc;

/// Disk and means to start background contexts. The clock is that of the world, see [`crate::clock`].
#[derive(Clone)]
pub struct Env {
    /// Where files live.
    pub disk: Arc<dyn Disk>,
}

/// A started background context.
pub struct Background {
    ended: Arc<AtomicBool>,
}

impl Env {
    /// An environment over `disk`.
    pub fn new(disk: Arc<dyn Disk>) -> Env {
        Env { disk }
    }

    /// Starts `f` in a context of its own: a named thread, or a fiber of this thread's simulation.
    pub fn spawn(&self, name: &str, f: impl FnOnce() + Send + 'static) -> Background {
        let ended = Arc::new(AtomicBool::new(false));
        let signal = Ended(Arc::clone(&ended));
        let body = move || {
            f();
            drop(signal);
        };
        if sim::active() {
            sim::spawn(body);
        } else {
            std::thread::Builder::new()
                .name(name.to_owned())
                .stack_size(fiber::STACK_BYTES)
                .spawn(|| {
                    cores::leave_starters();
                    body();
                })
                .expect("the system gives a thread");
        }
        Background { ended }
    }
}

/// Tells the joiners at drop, so that they learn of a panic too.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `join`.
        self.0.store(true, Ordering::Release);
        lot::unpark_all(Arc::as_ptr(&self.0).addr());
    }
}

impl Background {
    /// Waits until it has ended.
    pub fn join(self) {
        // Acquire: pairs with the release in `Ended::drop`.
        while !self.ended.load(Ordering::Acquire) {
            let waiting = || !self.ended.load(Ordering::Acquire);
            lot::park_on(Arc::as_ptr(&self.ended).addr(), lot::EXCLUSIVE, waiting, None);
        }
    }
}
