//! A worker's fibers: ready queue, timers, stack pool.

use super::{Home, Job, RUNNING, Running, STACK_BYTES, STRIDE_FIRST, Suspend};
use crate::clock::{self, Instant};
use crate::disk::real::ring;
use crate::park::{self, Context, Inner, NOTIFIED, PARKED, Wake};
use crate::sync::unmodelled::{AtomicBool, Ordering};
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

type Fiber = Coroutine<Option<Job>, Suspend, (), DefaultStack>;

/// In which order ready fibers run.
pub enum Order {
    /// First come, first served.
    Fifo,
    /// Drawn from a seeded generator: simulation.
    Seeded(Lots),
}

/// Draws by a seeded generator. One fiber at a time may fall behind: the others have many turns before its next.
pub struct Lots {
    rng: fastrand::Rng,
    /// Who has fallen behind, and for how many picks more.
    laggard: Option<(u32, u32)>,
}

impl Lots {
    pub fn new(seed: u64) -> Lots {
        Lots { rng: fastrand::Rng::with_seed(seed), laggard: None }
    }

    /// Takes one of those that are ready; one at least is.
    fn take_from(&mut self, ready: &mut VecDeque<u32>) -> Option<u32> {
        let mut at = self.rng.usize(..ready.len());
        if let Some((who, picks)) = self.laggard {
            self.laggard = picks.checked_sub(1).map(|left| (who, left));
            if who == ready[at] {
                at = (at + 1) % ready.len();
            }
        }
        ready.swap_remove_front(at)
    }
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
    /// Until when its last park was to last.
    deadline: Option<Instant>,
    /// Its entry in the scheduler's timers.
    timer: Option<Instant>,
}

/// Runs fibers on the thread that owns it. Not `Sync`; contexts may be unparked from anywhere.
pub struct Scheduler {
    shared: Arc<Shared>,
    ready: RefCell<VecDeque<u32>>,
    slots: RefCell<Vec<Slot>>,
    idle: RefCell<Vec<u32>>,
    /// At most one for each fiber, never later than its park's deadline. Often earlier: an entry stays when the
    /// park it was made for ends, and is put right when its time has come.
    timers: RefCell<BTreeSet<(Instant, u32)>>,
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

    /// Sees to it that so many fibers are idle: then so many jobs find one. Errors when no stack can be had.
    pub fn make_room(&self, count: usize) -> io::Result<()> {
        while self.idle.borrow().len() < count {
            let index = self.new_slot()?;
            self.idle.borrow_mut().push(index);
        }
        Ok(())
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
        let stack = DefaultStack::new(STACK_BYTES)?;
        let floor = stack.base().get() - STACK_BYTES;
        super::keep_small_pages(floor);
        let fiber = Coroutine::with_stack(stack, fiber_body);
        slots.push(Slot {
            context,
            fiber: Some(fiber),
            job: None,
            running: Running { floor, ..Running::NONE },
            deadline: None,
            timer: None,
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

    /// Timers that are set.
    #[cfg(test)]
    pub(crate) fn timers(&self) -> usize {
        self.timers.borrow().len()
    }

    /// When the earliest timer is due, if any fiber waits for time.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.borrow().first().map(|(at, _)| *at)
    }

    /// Runs ready fibers, at most `limit` turns. Tells whether more are ready.
    pub fn run(&self, limit: usize) -> bool {
        let before = CURRENT.replace(self);
        ring::reap();
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
        let mut slots = self.slots.borrow_mut();
        while let Some((at, index)) = timers.first().copied()
            && at <= now
        {
            timers.pop_first();
            let slot = &mut slots[index as usize];
            slot.timer = None;
            let state = &slot.context.0.state;
            // Acquire is not needed: who sees PARKED here sees this thread's own store.
            let Some(deadline) = slot.deadline.filter(|_| state.load(Ordering::Relaxed) == PARKED)
            else {
                continue;
            };
            if deadline > now {
                timers.insert((deadline, index));
                slot.timer = Some(deadline);
            } else if state
                .compare_exchange(PARKED, park::RUNNING, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                // Leaving PARKED made us the waker.
                self.ready.borrow_mut().push_back(index);
            }
        }
    }

    fn pick(&self) -> Option<u32> {
        let mut ready = self.ready.borrow_mut();
        match &mut *self.order.borrow_mut() {
            Order::Fifo => ready.pop_front(),
            Order::Seeded(_) if ready.is_empty() => None,
            Order::Seeded(lots) => lots.take_from(&mut ready),
        }
    }

    fn resume(&self, index: u32) {
        let (mut fiber, job, inner, running) = {
            let mut slots = self.slots.borrow_mut();
            let slot = &mut slots[index as usize];
            let fiber = slot.fiber.take().expect("a ready fiber is not running");
            (fiber, slot.job.take(), Arc::as_ptr(&slot.context.0), slot.running)
        };
        let Running { yielder, stride, floor, deep, .. } = running;
        let now = Running { yielder, stride, countdown: stride, floor, deep, ..Running::NONE };
        let outer_running = RUNNING.replace(now);
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
        match why {
            Suspend::Yielded => self.ready.borrow_mut().push_back(index),
            Suspend::Parked(deadline) => {
                slot.deadline = deadline;
                if let Some(at) = deadline
                    && slot.timer.is_none_or(|timer| timer > at)
                {
                    let mut timers = self.timers.borrow_mut();
                    if let Some(later) = slot.timer.replace(at) {
                        timers.remove(&(later, index));
                    }
                    timers.insert((at, index));
                }
            }
            Suspend::Idle => {
                if std::mem::take(&mut slot.running.deep) {
                    super::trim(slot.running.floor);
                }
                // A late unpark of the finished job must not make an idle fiber ready.
                slot.context.0.state.store(NOTIFIED, Ordering::Relaxed);
                slot.running.stride = STRIDE_FIRST;
                self.busy.set(self.busy.get() - 1);
                self.idle.borrow_mut().push(index);
            }
        }
    }

    /// Has the fiber that runs fall behind for so many picks; no other one does any more. Nothing where the order is not seeded.
    pub(crate) fn fall_behind(&self, picks: u32) {
        let this = park::with_current(|inner| match &inner.wake {
            Wake::Fiber(home) => Some(home.index),
            Wake::Thread(_) => None,
        });
        if let (Order::Seeded(lots), Some(index)) = (&mut *self.order.borrow_mut(), this) {
            lots.laggard = Some((index, picks));
        }
    }

    /// A number drawn from the order's generator; `None` when the order is not seeded.
    pub(crate) fn draw(&self, below: u64) -> Option<u64> {
        match &mut *self.order.borrow_mut() {
            Order::Fifo => None,
            Order::Seeded(lots) => Some(lots.rng.u64(..below)),
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if self.busy.get() > 0 && !std::thread::panicking() {
            crate::log!("invariant broken: a scheduler was dropped with suspended fibers");
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
            crate::log!("a panic left a fiber's job; the state behind it can't be trusted");
            std::process::abort();
        }
        input = yielder.suspend(Suspend::Idle);
    }
}
