//! The one way to wait: park the current execution context until it is unparked or a deadline passes.
//!
//! A context is an operating-system thread or a fiber; engine code can't tell which. Parking has a token,
//! as `std::thread::park` has: an unpark that comes first makes the next park return at once. A park may
//! return spuriously, so callers loop over their condition.
//!
//! State of a context: `RUNNING` (no token) → `PARKED` (it waits) → `NOTIFIED` (token there, or on its
//! way to run). Whoever moves it out of `PARKED` — exactly one unparker or the timer — makes it runnable.

use crate::clock::{self, Instant};
use crate::counts::{self, Count};
use crate::fiber;
use crate::interrupt::{self, Interrupt, Pending};
use crate::rank::Held;
use crate::sync::unmodelled::{AtomicPtr, AtomicU32, Ordering};
use crate::usage::Counts;
use crate::wait_event;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const RUNNING: u32 = 0;
pub(crate) const NOTIFIED: u32 = 1;
pub(crate) const PARKED: u32 = 2;

/// A handle to an execution context; cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) state: AtomicU32,
    pub(crate) wake: Wake,
    pub(crate) interrupts: Pending,
    /// Where waits are shown, or null; see [`crate::wait_event`].
    pub(crate) sink: AtomicPtr<AtomicU32>,
    /// What it has used; see [`crate::usage`].
    pub(crate) counts: Counts,
    #[cfg_attr(
        not(debug_assertions),
        allow(dead_code, reason = "ranks are checked in debug builds")
    )]
    pub(crate) held: Held,
}

pub(crate) enum Wake {
    Thread(std::thread::Thread),
    Fiber(fiber::Home),
}

impl Inner {
    pub(crate) fn new(wake: Wake) -> Inner {
        Inner {
            state: AtomicU32::new(RUNNING),
            wake,
            interrupts: Pending::default(),
            sink: AtomicPtr::default(),
            counts: Counts::default(),
            held: Held::default(),
        }
    }
}

thread_local! {
    /// The fiber running on this thread, or null: then the thread itself is the context.
    static FIBER: Cell<*const Inner> = const { Cell::new(std::ptr::null()) };
    static THREAD: OnceCell<Context> = const { OnceCell::new() };
    static THREAD_STACK: (usize, usize) = thread_stack();
}

/// Makes `fiber` (null: the thread itself) the current context; returns the one before.
pub(crate) fn set_current_fiber(fiber: *const Inner) -> *const Inner {
    FIBER.replace(fiber)
}

/// Runs `f` on the current context.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&Inner) -> R) -> R {
    let fiber = FIBER.get();
    if !fiber.is_null() {
        // SAFETY: the scheduler keeps the Arc<Inner> of the running fiber alive while the pointer is set.
        return f(unsafe { &*fiber });
    }
    THREAD.with(|own| f(&own.get_or_init(new_thread_context).0))
}

fn new_thread_context() -> Context {
    Context(Arc::new(Inner::new(Wake::Thread(std::thread::current()))))
}

/// The current context's handle.
pub fn current() -> Context {
    let fiber = FIBER.get();
    if !fiber.is_null() {
        // SAFETY: as in `with_current`; the pointer came from `Arc::as_ptr`, and the count is raised
        // before a second Arc is made of it.
        return Context(unsafe {
            Arc::increment_strong_count(fiber);
            Arc::from_raw(fiber)
        });
    }
    THREAD.with(|own| own.get_or_init(new_thread_context).clone())
}

/// Tells threads apart: contexts that run on one have the same.
#[inline]
pub fn place() -> usize {
    FIBER.with(|own| std::ptr::from_ref(own).addr())
}

/// Whether the current context is a fiber: then nothing may block the thread.
#[inline]
pub fn on_fiber() -> bool {
    !FIBER.get().is_null()
}

impl Context {
    /// Lets the context's current or next park return. What was written before is seen after that park.
    pub fn unpark(&self) {
        // AcqRel: release pairs with the acquire swap in `park_until`; acquire orders the wake after it.
        if self.0.state.swap(NOTIFIED, Ordering::AcqRel) == PARKED {
            match &self.0.wake {
                Wake::Thread(thread) => thread.unpark(),
                Wake::Fiber(home) => home.make_ready(),
            }
        }
    }

    /// Raises an interrupt and unparks. Takes effect where the context checks for interrupts.
    pub fn interrupt(&self, why: Interrupt) {
        self.0.interrupts.raise(why);
        self.unpark();
    }

    /// Whether both name one context.
    pub fn same(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Waits until unparked (or woken spuriously).
pub fn park() {
    park_until(None);
}

/// Waits until unparked or, at the latest, until about `deadline`. Tells whether a token was consumed.
pub fn park_until(deadline: Option<Instant>) -> bool {
    let is_fiber = on_fiber();
    with_current(|me| {
        debug_assert!(!wait_event::is_nameless(me), "a session waits and does not say for what");
        let own = me.interrupts.deadline();
        let deadline = own.into_iter().chain(deadline).min();
        let moved = me.state.compare_exchange(RUNNING, PARKED, Ordering::AcqRel, Ordering::Acquire);
        if moved.is_ok() {
            counts::one(Count::Park);
            if is_fiber {
                fiber::suspend_parked(deadline);
            } else {
                park_thread(me, deadline);
            }
        }
        if own.is_some() {
            me.interrupts.pass_deadline(clock::now());
        }
        // Acquire: pairs with the release in `unpark`.
        me.state.swap(RUNNING, Ordering::AcqRel) == NOTIFIED
    })
}

/// Blocks this thread until its state leaves PARKED or the deadline passes.
fn park_thread(me: &Inner, deadline: Option<Instant>) {
    // Acquire: pairs with the release in `unpark`.
    while me.state.load(Ordering::Acquire) == PARKED {
        match deadline {
            None => std::thread::park(),
            Some(at) => {
                let now = clock::now();
                if now >= at {
                    return;
                }
                std::thread::park_timeout(at.since(now));
            }
        }
    }
}

/// Waits for this long without blocking the thread of a fiber. Interrupts don't end it early.
pub fn sleep(wait: Duration) {
    let deadline = clock::now().after(wait);
    while clock::now() < deadline {
        park_until(Some(deadline));
    }
}

/// Lets others run: other fibers of this worker, or the operating system's choice.
pub fn yield_now() {
    if on_fiber() {
        fiber::suspend_yielding();
    } else {
        std::thread::yield_now();
    }
}

/// To be called in long loops: yields when the fiber's time slice is used up, and raises the context's timeout
/// when it is due. A few instructions otherwise.
#[inline]
pub fn checkpoint() {
    if on_fiber() {
        fiber::checkpoint();
    } else if interrupt::has_deadline() {
        pass_deadline(clock::now());
    }
}

/// Raises the current context's timeout if it is due.
pub(crate) fn pass_deadline(now: Instant) {
    with_current(|me| me.interrupts.pass_deadline(now));
}

/// Runs `f` on the thread's own, large stack: for recursive C code. `f` must not park.
pub fn on_thread_stack<R>(f: impl FnOnce() -> R + Send) -> R {
    if on_fiber() { fiber::on_thread_stack(f) } else { f() }
}

/// How much stack the current context has left, in bytes: for code that recurses as deep as its input
/// nests, and must refuse to before the stack ends.
#[inline]
pub fn stack_left() -> usize {
    stack().0
}

/// Whether more than half of the current context's stack is taken.
#[inline]
pub fn is_stack_half_used() -> bool {
    let (left, whole) = stack();
    left < whole / 2
}

/// What is left of the current context's stack, and the whole of it.
#[inline]
fn stack() -> (usize, usize) {
    let here = std::hint::black_box(0u8);
    let here = (&raw const here).addr();
    if on_fiber()
        && let Some(left) = fiber::stack_left(here)
    {
        return (left, fiber::STACK_BYTES);
    }
    THREAD_STACK.with(|(floor, bytes)| (here.saturating_sub(*floor), *bytes))
}

/// The lowest address of the calling thread's stack, and its size; zeros where the system does not tell.
fn thread_stack() -> (usize, usize) {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut floor, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the calls get a thread that runs, and places to write that live; the attributes are read and
    // destroyed only after the first call has made them.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (0, 0);
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut floor, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    (floor.addr(), size)
}

#[cfg(test)]
mod tests;
