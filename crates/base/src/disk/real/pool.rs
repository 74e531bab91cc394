//! Threads that make blocking calls for fibers. Started at first use, never ended.

use crate::cores;
use crate::park::{self, Context};
use crate::sync::unmodelled::{AtomicBool, Ordering};
use crate::wait_event::{self, Event};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, Once};

/// Enough to keep a solid-state disk's queue filled from a handful of workers.
const THREADS: usize = 16;

enum Task {
    /// Its owner waits for it.
    Awaited(*mut (dyn FnMut() + Send)),
    /// Nobody does.
    Left(Box<dyn FnOnce() + Send>),
}

// SAFETY: the closures are Send; the owner of an awaited one waits (parked) until the pool is done with the
// pointer.
unsafe impl Send for Task {}

static QUEUE: Mutex<VecDeque<Task>> = Mutex::new(VecDeque::new());
static FILLED: Condvar = Condvar::new();
static STARTED: Once = Once::new();

struct Answer<R> {
    value: UnsafeCell<Option<R>>,
    done: AtomicBool,
    asker: Context,
}

// SAFETY: `value` is written by the pool before `done` is set and read by the asker after.
unsafe impl<R: Send> Sync for Answer<R> {}

/// Runs `call` on a pool thread; the current context parks meanwhile.
pub(super) fn run<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    STARTED.call_once(start_threads);
    let answer = Answer {
        value: UnsafeCell::new(None),
        done: AtomicBool::new(false),
        asker: park::current(),
    };
    let mut call = Some(call);
    let shared = &answer;
    let mut task = || {
        let value = call.take().expect("a task runs once")();
        // SAFETY: the asker reads only after `done`.
        unsafe { *shared.value.get() = Some(value) };
        let asker = shared.asker.clone();
        // Release: pairs with the acquire below; from here on the asker may free `answer`.
        shared.done.store(true, Ordering::Release);
        asker.unpark();
    };
    let pointer: *mut (dyn FnMut() + Send + '_) = &raw mut task;
    // SAFETY: only the lifetime is erased; this frame stays until `done` is seen.
    let call = unsafe {
        std::mem::transmute::<*mut (dyn FnMut() + Send + '_), *mut (dyn FnMut() + Send)>(pointer)
    };
    submit(Task::Awaited(call));
    // Acquire: pairs with the release above.
    let _waiting = wait_event::during_unnamed(Event::File);
    while !answer.done.load(Ordering::Acquire) {
        park::park();
    }
    answer.value.into_inner().expect("the value is set before done")
}

/// Has `call` run on a pool thread some time and does not wait for it. Where the pool has not been needed yet
/// it runs at once.
pub(super) fn leave(call: impl FnOnce() + Send + 'static) {
    if STARTED.is_completed() { submit(Task::Left(Box::new(call))) } else { call() }
}

/// Has `call` run on a pool thread soon.
pub(super) fn start(call: impl FnOnce() + Send + 'static) {
    STARTED.call_once(start_threads);
    submit(Task::Left(Box::new(call)));
}

fn submit(task: Task) {
    QUEUE.lock().expect("no code panics under it").push_back(task);
    FILLED.notify_one();
}

fn start_threads() {
    for i in 0..THREADS {
        std::thread::Builder::new()
            .name(format!("io-{i}"))
            .spawn(work)
            .expect("the system gives a thread");
    }
}

fn work() {
    cores::leave_starters();
    loop {
        let task = {
            let mut queue = QUEUE.lock().expect("no code panics under it");
            loop {
                match queue.pop_front() {
                    Some(task) => break task,
                    None => queue = FILLED.wait(queue).expect("no code panics under it"),
                }
            }
        };
        match task {
            // SAFETY: the asker keeps the closure alive until it has run.
            Task::Awaited(call) => unsafe { (*call)() },
            Task::Left(call) => call(),
        }
    }
}
