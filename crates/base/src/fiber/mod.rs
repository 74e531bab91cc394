//! Fibers: stackful coroutines that run engine code on a worker thread and suspend where it must wait.
//!
//! A [`Scheduler`] belongs to one thread. A fiber lives for one job and stays on its thread; its stack
//! (guard page under it) returns to the scheduler's pool. Unparking from the same thread pushes to a plain
//! queue; from elsewhere it goes through a locked list and wakes the thread once by the given callback.
//!
//! A suspended fiber is never dropped or unwound: frames on its stack may hold latches. Dropping a
//! scheduler with suspended fibers aborts the process.

mod scheduler;

pub use scheduler::{Order, Scheduler};

use crate::clock::Instant;
use crate::park;
use corosensei::Yielder;
use scheduler::Shared;
use std::cell::Cell;
use std::sync::Arc;

/// Usable bytes of a fiber's stack; touched pages only are resident.
pub const STACK_BYTES: usize = 256 << 10;

pub(crate) type Job = Box<dyn FnOnce()>;

/// What a fiber tells the scheduler when it suspends.
pub(crate) enum Suspend {
    /// Waits to be unparked, or for the deadline.
    Parked(Option<Instant>),
    /// Wants to go on, after the others.
    Yielded,
    /// Finished its job.
    Idle,
}

/// Where a fiber lives: its scheduler's shared half and its place there.
pub(crate) struct Home {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: u32,
}

impl Home {
    pub(crate) fn make_ready(&self) {
        self.shared.make_ready(self.index);
    }
}

/// The running fiber's means to suspend, on this thread.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    pub(crate) yielder: *const Yielder<Option<Job>, Suspend>,
    pub(crate) slice_end: u64,
    pub(crate) countdown: u32,
    pub(crate) on_thread_stack: bool,
}

impl Running {
    pub(crate) const NONE: Running = Running {
        yielder: std::ptr::null(),
        slice_end: 0,
        countdown: CHECK_EVERY,
        on_thread_stack: false,
    };
}

thread_local! {
    pub(crate) static RUNNING: Cell<Running> = const { Cell::new(Running::NONE) };
}

/// How many checkpoints pass between two looks at the clock.
const CHECK_EVERY: u32 = 128;

/// A fiber that never waits gives way to others after this long.
pub const TIME_SLICE_NS: u64 = 1_000_000;

fn suspend(why: Suspend) {
    let running = RUNNING.get();
    assert!(!running.on_thread_stack, "parked on the thread's own stack");
    debug_assert!(park::on_fiber());
    // SAFETY: the yielder lives at the base of this fiber's stack as long as the fiber runs, and RUNNING
    // is set by the scheduler right before each resume.
    let yielder = unsafe { &*running.yielder };
    yielder.suspend(why);
}

pub(crate) fn suspend_parked(deadline: Option<Instant>) {
    suspend(Suspend::Parked(deadline));
}

pub(crate) fn suspend_yielding() {
    suspend(Suspend::Yielded);
}

#[inline]
pub(crate) fn checkpoint() {
    let mut running = RUNNING.get();
    running.countdown -= 1;
    if running.countdown > 0 {
        RUNNING.set(running);
        return;
    }
    slice_check(running);
}

#[cold]
fn slice_check(mut running: Running) {
    running.countdown = CHECK_EVERY;
    RUNNING.set(running);
    let now = crate::clock::now().0;
    if running.on_thread_stack {
        return;
    }
    if running.slice_end == 0 {
        running.slice_end = now + TIME_SLICE_NS;
        RUNNING.set(running);
    } else if now >= running.slice_end {
        suspend_yielding();
    }
}

pub(crate) fn on_thread_stack<R>(f: impl FnOnce() -> R + Send) -> R {
    let mut running = RUNNING.get();
    if running.on_thread_stack {
        return f();
    }
    running.on_thread_stack = true;
    RUNNING.set(running);
    // SAFETY: as in `suspend`; the scheduler's own frames on the parent stack stay below what f uses.
    let yielder = unsafe { &*running.yielder };
    let result = yielder.on_parent_stack(f);
    let mut running = RUNNING.get();
    running.on_thread_stack = false;
    RUNNING.set(running);
    result
}

#[cfg(test)]
mod tests;
