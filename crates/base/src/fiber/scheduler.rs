//! A worker's fibers: ready queue, timers, stack pool.

use super::{Home, Job, RUNNING, Running, STACK_BYTES, Suspend};
use crate::clock::{self, Instant};
use crate::park::{self, Context, Inner, NOTIFIED, PARKED, Wake};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Fiber = Coroutine<Option<Job>, Suspend, (), DefaultStack>;

/// In which order ready fibers run.
pub enum Order {
    /// First come, first served.
    Fifo,
    /// Drawn from a seeded generator: simulation.
    Seeded(fastrand::Rng),
}

/// The half of a scheduler that other threads reach.
pub(crate) struct Shared {
    remote: Mutex<Vec<u32>>,
    signalled: AtomicBool,
    wake_thread: Box<dyn Fn() + Send + Sync>,
}

thread_local! {
    /// The scheduler whose fibers run on this thread, while it runs.
    static CURRENT: Cell<*const Scheduler> = const { Cell::new(std::ptr::null()) };
}

impl Shared {
    pub(crate) fn make_ready(&self, index: u32) {
        let current = CURRENT.get();
        if !current.is_null() {
            // SAFETY: CURRENT is set only while `Scheduler::run` is on this thread's stack.
            let scheduler = unsafe { &*current };
            if std::ptr::eq(self, Arc::as_ptr(&scheduler.shared)) {
                scheduler.ready.borrow_mut().push_back(index);
                return;
            }
        }
        self.remote.lock().expect("no code panics under it").push(index);
        // AcqRel: pairs with the swap in `drain_remote`; the first to set it wakes the thread, and what
        // was pushed before is seen by the drain that clears it.
        if !self.signalled.swap(true, Ordering::AcqRel) {
            (self.wake_thread)();
        }
    }
}

struct Slot {
    context: Context,
    /// None while it runs.
    fiber: Option<Fiber>,
    /// The job it starts with when first resumed.
    job: Option<Job>,
    /// Its means to suspend, while it is not running.
    running: Running,
    /// Counts parks, so that a timer of an earlier park is recognised as stale.
    parks: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: Instant,
    index: u32,
    park: u64,
}

/// Runs fibers on the thread that owns it. Not `Sync`; contexts may be unparked from anywhere.
pub struct Scheduler {
    shared: Arc<Shared>,
    ready: RefCell<VecDeque<u32>>,
    slots: RefCell<Vec<Slot>>,
    idle: RefCell<Vec<u32>>,
    timers: RefCell<BinaryHeap<Reverse<Timer>>>,
    order: RefCell<Order>,
    busy: Cell<usize>,
}

impl Scheduler {
    /// `wake_thread` is called from other threads when a fiber became ready and the owner may sleep; it
    /// must make the owner call [`Scheduler::run`] soon.
    pub fn new(order: Order, wake_thread: impl Fn() + Send + Sync + 'static) -> Scheduler {
        let shared = Shared {
            remote: Mutex::new(Vec::new()),
            signalled: AtomicBool::new(false),
            wake_thread: Box::new(wake_thread),
        };
        Scheduler {
            shared: Arc::new(shared),
            ready: RefCell::default(),
            slots: RefCell::default(),
            idle: RefCell::default(),
            timers: RefCell::default(),
            order: RefCell::new(order),
            busy: Cell::new(0),
        }
    }

    /// Makes a fiber for `job`; it runs at the next [`Scheduler::run`]. Errors when no stack can be had.
    pub fn spawn(&self, job: impl FnOnce() + 'static) -> io::Result<Context> {
        let (index, context) = self.prepare(Box::new(job))?;
        self.ready.borrow_mut().push_back(index);
        Ok(context)
    }

    /// Makes a fiber for `job` and runs it at once, ahead of all that are ready, until it finishes or
    /// first suspends: a short request is not made to wait behind the time slices of long ones.
    /// Errors when no stack can be had.
    pub fn start(&self, job: impl FnOnce() + 'static) -> io::Result<Context> {
        let (index, context) = self.prepare(Box::new(job))?;
        let before = CURRENT.replace(self);
        self.resume(index);
        CURRENT.set(before);
        Ok(context)
    }

    /// Gives `job` an idle fiber, or a new one.
    fn prepare(&self, job: Job) -> io::Result<(u32, Context)> {
        let index = match self.idle.borrow_mut().pop() {
            Some(index) => index,
            None => self.new_slot()?,
        };
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[index as usize];
        slot.job = Some(job);
        slot.context.0.interrupts.clear();
        slot.context.0.state.store(park::RUNNING, Ordering::Relaxed);
        self.busy.set(self.busy.get() + 1);
        Ok((index, slot.context.clone()))
    }

    fn new_slot(&self) -> io::Result<u32> {
        let mut slots = self.slots.borrow_mut();
        let index = u32::try_from(slots.len()).expect("fewer than 2^32 fibers");
        let home = Home { shared: Arc::clone(&self.shared), index };
        let context = Context(Arc::new(Inner::new(Wake::Fiber(home))));
        let fiber = Coroutine::with_stack(DefaultStack::new(STACK_BYTES)?, fiber_body);
        slots.push(Slot {
            context,
            fiber: Some(fiber),
            job: None,
            running: Running::NONE,
            parks: 0,
        });
        Ok(index)
    }

    /// Fibers that have not finished.
    pub fn busy(&self) -> usize {
        self.busy.get()
    }

    /// Whether a fiber waits for its turn, so that [`Scheduler::run`] has something to do.
    pub fn has_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// When the earliest timer is due, if any fiber waits for time.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.borrow().peek().map(|t| t.0.at)
    }

    /// Runs ready fibers, at most `limit` turns. Tells whether more are ready.
    pub fn run(&self, limit: usize) -> bool {
        let before = CURRENT.replace(self);
        self.drain_remote();
        self.fire_timers();
        for _ in 0..limit {
            let Some(index) = self.pick() else { break };
            self.resume(index);
        }
        self.drain_remote();
        CURRENT.set(before);
        self.has_ready()
    }

    fn drain_remote(&self) {
        // AcqRel: pairs with the swap in `make_ready`. Cleared before the list is taken, so that a push
        // after the taking signals anew. The relaxed peek may miss a push that is under way: its pusher
        // finds the flag clear and wakes the thread.
        if self.shared.signalled.load(Ordering::Relaxed)
            && self.shared.signalled.swap(false, Ordering::AcqRel)
        {
            let mut list = self.shared.remote.lock().expect("no code panics under it");
            self.ready.borrow_mut().extend(list.drain(..));
        }
    }

    fn fire_timers(&self) {
        let mut timers = self.timers.borrow_mut();
        if timers.is_empty() {
            return;
        }
        let now = clock::now();
        while let Some(Reverse(timer)) = timers.peek()
            && timer.at <= now
        {
            let Reverse(timer) = timers.pop().expect("just peeked");
            let slots = self.slots.borrow();
            let slot = &slots[timer.index as usize];
            let state = &slot.context.0.state;
            // Only the park that set the timer is ended by it; leaving PARKED makes us the waker.
            if slot.parks == timer.park
                && state
                    .compare_exchange(PARKED, park::RUNNING, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                self.ready.borrow_mut().push_back(timer.index);
            }
        }
    }

    fn pick(&self) -> Option<u32> {
        let mut ready = self.ready.borrow_mut();
        match &mut *self.order.borrow_mut() {
            Order::Fifo => ready.pop_front(),
            Order::Seeded(_) if ready.is_empty() => None,
            Order::Seeded(rng) => {
                let at = rng.usize(..ready.len());
                ready.swap_remove_front(at)
            }
        }
    }

    fn resume(&self, index: u32) {
        let (mut fiber, job, inner, running) = {
            let mut slots = self.slots.borrow_mut();
            let slot = &mut slots[index as usize];
            let fiber = slot.fiber.take().expect("a ready fiber is not running");
            (fiber, slot.job.take(), Arc::as_ptr(&slot.context.0), slot.running)
        };
        let yielder = running.yielder;
        let outer_running = RUNNING.replace(Running { yielder, ..Running::NONE });
        let outer = park::set_current_fiber(inner);
        let result = fiber.resume(job);
        park::set_current_fiber(outer);
        let running = RUNNING.replace(outer_running);
        let CoroutineResult::Yield(why) = result else {
            unreachable!("a fiber's body never returns")
        };
        self.after(index, fiber, running, why);
    }

    fn after(&self, index: u32, fiber: Fiber, running: Running, why: Suspend) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[index as usize];
        slot.fiber = Some(fiber);
        slot.running = running;
        slot.parks += 1;
        match why {
            Suspend::Yielded => self.ready.borrow_mut().push_back(index),
            Suspend::Parked(None) => {}
            Suspend::Parked(Some(at)) => {
                let timer = Timer { at, index, park: slot.parks };
                self.timers.borrow_mut().push(Reverse(timer));
            }
            Suspend::Idle => {
                // A late unpark of the finished job must not make an idle fiber ready.
                slot.context.0.state.store(NOTIFIED, Ordering::Relaxed);
                self.busy.set(self.busy.get() - 1);
                self.idle.borrow_mut().push(index);
            }
        }
    }

    /// A number drawn from the order's generator; `None` when the order is not seeded.
    pub(crate) fn draw(&self, below: u64) -> Option<u64> {
        match &mut *self.order.borrow_mut() {
            Order::Fifo => None,
            Order::Seeded(rng) => Some(rng.u64(..below)),
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if self.busy.get() > 0 && !std::thread::panicking() {
            eprintln!("invariant broken: a scheduler was dropped with suspended fibers");
            std::process::abort();
        }
        for slot in self.slots.get_mut() {
            let Some(mut fiber) = slot.fiber.take() else { continue };
            if std::thread::panicking() && self.busy.get() > 0 {
                std::mem::forget(fiber);
            } else if fiber.started() {
                // SAFETY: an idle fiber waits at the top of `fiber_body`, where nothing on its stack
                // needs dropping.
                unsafe { fiber.force_reset() };
            }
        }
    }
}

/// Runs one job after another; between jobs it is idle.
fn fiber_body(yielder: &Yielder<Option<Job>, Suspend>, first: Option<Job>) {
    let mut input = first;
    let mut running = RUNNING.get();
    running.yielder = yielder;
    RUNNING.set(running);
    loop {
        let job = input.take().expect("an idle fiber is resumed with a job");
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
            eprintln!("a panic left a fiber's job; the state behind it can't be trusted");
            std::process::abort();
        }
        input = yielder.suspend(Suspend::Idle);
    }
}
