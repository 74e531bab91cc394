//! Fibers: stackful coroutines that run engine code on a worker thread and suspend where it must wait.
//!
//! A [`Scheduler`] belongs to one thread. A fiber lives for one job and stays on its thread; its stack
//! (guard page under it) returns to the scheduler's pool. Unparking from the same thread pushes to a plain
//! queue; from elsewhere it goes through a locked list and wakes the thread once by the given callback.
//!
//! A suspended fiber is never dropped or unwound: frames on its stack may hold latches. Dropping a
//! scheduler with suspended fibers aborts the process.

mod scheduler;

pub use scheduler::{Lots, Order, Scheduler};

use crate::clock::Instant;
use crate::park;
use corosensei::Yielder;
use scheduler::Shared;
use std::cell::Cell;
use std::sync::Arc;

/// Usable bytes of a fiber's stack; touched pages only are resident. Half of it is what nested statements
/// may use (see [`park::stack_left`]): enough for the longest chains that are parsed. Frames of a build without
/// optimisation are several times as large.
pub const STACK_BYTES: usize = if cfg!(debug_assertions) { 64 << 20 } else { 16 << 20 };

/// What an idle fiber keeps of its stack once a job has gone deeper.
const KEPT_BYTES: usize = 128 << 10;

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
    /// When the time slice is over; 0 before the first look at the clock.
    pub(crate) slice_end: u64,
    /// When the clock was last looked at.
    pub(crate) looked_at: u64,
    /// Checkpoints until the next look at the clock.
    pub(crate) countdown: u32,
    /// How many there are between two looks, as the last stretch suggests.
    pub(crate) stride: u32,
    pub(crate) on_thread_stack: bool,
    /// The lowest address of its stack.
    pub(crate) floor: usize,
    /// It was seen below the part that an idle fiber keeps.
    pub(crate) deep: bool,
}

impl Running {
    pub(crate) const NONE: Running = Running {
        yielder: std::ptr::null(),
        slice_end: 0,
        looked_at: 0,
        countdown: STRIDE_FIRST,
        stride: STRIDE_FIRST,
        on_thread_stack: false,
        floor: 0,
        deep: false,
    };
}

thread_local! {
    pub(crate) static RUNNING: Cell<Running> = const { Cell::new(Running::NONE) };
}

/// A job's first look at the clock comes after so many checkpoints: most jobs are done by then.
const STRIDE_FIRST: u32 = 16;

/// Most checkpoints between two looks at the clock.
const STRIDE_MAX: u32 = 128;

/// A fiber that never waits gives way to others after this long.
pub const TIME_SLICE_NS: u64 = 1_000_000;

/// The clock is looked at about this often: loops differ by orders of magnitude in what they do between two
/// checkpoints, and a slow one must not overrun its slice a hundredfold.
const LOOK_NS: u64 = TIME_SLICE_NS / 8;
const HALF_LOOK_NS: u64 = LOOK_NS / 2;

/// Bytes between here and the end of the running fiber's stack; `None` on the thread's own.
#[inline]
pub(crate) fn stack_left(here: usize) -> Option<usize> {
    let mut running = RUNNING.get();
    if running.on_thread_stack {
        return None;
    }
    let left = here.saturating_sub(running.floor);
    if left < STACK_BYTES - KEPT_BYTES && !running.deep {
        running.deep = true;
        RUNNING.set(running);
    }
    Some(left)
}

/// Keeps the system from making huge pages of a stack, of which mostly the first few kilobytes are used.
fn keep_small_pages(floor: usize) {
    let start = floor as *mut libc::c_void;
    // SAFETY: the range is a stack that was just mapped, whole pages; the advice changes nothing of what it holds. A
    // failure, where the system knows no huge pages, leaves them as they are.
    let _ = unsafe { libc::madvise(start, STACK_BYTES, libc::MADV_NOHUGEPAGE) };
}

/// Gives the deep part of an idle fiber's stack back to the system.
fn trim(floor: usize) {
    let start = floor as *mut libc::c_void;
    // SAFETY: the range is the lower part of a stack that this scheduler owns (private anonymous memory,
    // both ends on pages), whose fiber waits above it, near its base: nothing there is alive. A failure
    // leaves the pages as they are.
    let _ = unsafe { libc::madvise(start, STACK_BYTES - KEPT_BYTES, libc::MADV_DONTNEED) };
}

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
    let now = crate::clock::now().0;
    let since = now - running.looked_at;
    running.stride = match since {
        // The first look since it was resumed.
        _ if running.looked_at == 0 => running.stride,
        0..HALF_LOOK_NS => (running.stride * 2).min(STRIDE_MAX),
        _ => (u64::from(running.stride) * LOOK_NS / since).clamp(1, STRIDE_MAX.into()) as u32,
    };
    running.countdown = running.stride;
    running.looked_at = now;
    let over = running.slice_end != 0 && now >= running.slice_end;
    if running.slice_end == 0 {
        running.slice_end = now + TIME_SLICE_NS;
    }
    RUNNING.set(running);
    park::pass_deadline(Instant(now));
    if over && !running.on_thread_stack {
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
    let _back = BackOnFiber;
    yielder.on_parent_stack(f)
}

/// The fiber's own stack is in use again, also after a panic.
struct BackOnFiber;

impl Drop for BackOnFiber {
    fn drop(&mut self) {
        let mut running = RUNNING.get();
        running.on_thread_stack = false;
        RUNNING.set(running);
    }
}

#[cfg(test)]
mod tests;
