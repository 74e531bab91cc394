//! The parking lot: wait queues keyed by address, so that a latch is one word.
//!
//! A waiter checks its condition and joins the queue under the bucket's mutex; a waker changes the state
//! first and looks into the queue after, so no wake-up is lost. Queue nodes live on the waiters' stacks. A
//! node is taken out of the queue by the waker, before it unparks, or by the waiter itself at its deadline.

use crate::clock::{self, Instant};
use crate::pad::{LINE_BYTES, Padded, is_one_line};
use crate::park::{self, Context};
use crate::sync::unmodelled::{AtomicBool, Ordering};
use std::cell::Cell;
use std::ptr;
use std::sync::{Mutex, MutexGuard};

/// A waiter that needs to be alone.
pub const EXCLUSIVE: u32 = 0;
/// A waiter that can go together with its like.
pub const SHARED: u32 = 1;

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// The condition did not hold, nothing was waited for.
    Skipped,
    /// Another context took this one out of the queue.
    Unparked,
    /// The deadline passed first.
    TimedOut,
}

struct Node {
    key: usize,
    tag: u32,
    context: Context,
    next: Cell<*const Node>,
    /// Set by the waker under the bucket's mutex, after the node left the queue.
    woken: AtomicBool,
}

struct Queue {
    head: *const Node,
    tail: *const Node,
}

// SAFETY: nodes are reached only under the bucket's mutex and outlive their stay in the queue.
unsafe impl Send for Queue {}

const BUCKETS: usize = 512;

/// Of its own lines: neighbours in the table have nothing to do with each other.
struct Bucket(Padded<Mutex<Queue>>);

const _: () = assert!(is_one_line::<Mutex<Queue>>() && size_of::<Bucket>() == LINE_BYTES);

static LOT: [Bucket; BUCKETS] =
    [const { Bucket(Padded(Mutex::new(Queue { head: ptr::null(), tail: ptr::null() }))) }; BUCKETS];

fn bucket(key: usize) -> MutexGuard<'static, Queue> {
    // Fibonacci hashing; the low bits of addresses are mostly zero.
    let hash = (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55;
    LOT[hash as usize % BUCKETS].0.lock().expect("no code panics under it")
}

impl Queue {
    fn push(&mut self, node: &Node) {
        if self.head.is_null() {
            self.head = node;
        } else {
            // SAFETY: tail is a queued node, alive while queued.
            unsafe { &*self.tail }.next.set(node);
        }
        self.tail = node;
    }

    /// Takes out the first nodes with `key` that `wants` accepts, until it says stop.
    /// `wants(tag)`: Some(true) take and go on, Some(false) take and stop, None stop.
    fn take(
        &mut self,
        key: usize,
        mut wants: impl FnMut(u32) -> Option<bool>,
    ) -> (*const Node, bool) {
        let (mut taken, mut taken_tail): (*const Node, *const Node) = (ptr::null(), ptr::null());
        let (mut before, mut at) = (ptr::null::<Node>(), self.head);
        let mut stopped = false;
        let mut more = false;
        // SAFETY: queued nodes are alive, and the mutex is held.
        while let Some(node) = unsafe { at.as_ref() } {
            let next = node.next.get();
            if node.key == key {
                let verdict = if stopped { None } else { wants(node.tag) };
                stopped |= verdict != Some(true);
                if verdict.is_none() {
                    more = true;
                    break;
                }
                self.unlink(before, node);
                node.next.set(ptr::null());
                if taken.is_null() {
                    taken = node;
                } else {
                    // SAFETY: the last node taken; its owner waits for `woken`.
                    unsafe { &*taken_tail }.next.set(node);
                }
                taken_tail = node;
            } else {
                before = node;
            }
            at = next;
        }
        (taken, more)
    }

    fn unlink(&mut self, before: *const Node, node: &Node) {
        let next = node.next.get();
        // SAFETY: `before` is null or a queued node.
        match unsafe { before.as_ref() } {
            Some(before) => before.next.set(next),
            None => self.head = next,
        }
        if ptr::eq(self.tail, node) {
            self.tail = before;
        }
    }

    /// Takes `node` out; false when a waker has taken it already.
    fn remove(&mut self, node: &Node) -> bool {
        let (mut before, mut at) = (ptr::null::<Node>(), self.head);
        // SAFETY: queued nodes are alive, and the mutex is held.
        while let Some(here) = unsafe { at.as_ref() } {
            if ptr::eq(here, node) {
                self.unlink(before, node);
                return true;
            }
            before = at;
            at = here.next.get();
        }
        false
    }
}

/// Waits on `key` if `condition` (called under the bucket's mutex: short, no parking, no lot) holds.
pub fn park_on(
    key: usize,
    tag: u32,
    condition: impl FnOnce() -> bool,
    deadline: Option<Instant>,
) -> Wake {
    let node = Node {
        key,
        tag,
        context: park::current(),
        next: Cell::new(ptr::null()),
        woken: AtomicBool::new(false),
    };
    {
        let mut queue = bucket(key);
        if !condition() {
            return Wake::Skipped;
        }
        queue.push(&node);
    }
    let mut deadline = deadline;
    loop {
        park::park_until(deadline);
        // Acquire: pairs with the release in `wake`; after it the waker doesn't touch the node.
        if node.woken.load(Ordering::Acquire) {
            return Wake::Unparked;
        }
        if deadline.is_some_and(|at| clock::now() >= at) {
            if bucket(key).remove(&node) {
                return Wake::TimedOut;
            }
            // A waker holds the node: the wake-up is on its way.
            deadline = None;
        }
    }
}

/// Marks and unparks a list of taken nodes; their owners wait for the mark, also past a deadline.
fn wake(mut list: *const Node) -> usize {
    let mut count = 0;
    // SAFETY: taken nodes stay alive until their owner has seen `woken`.
    while let Some(node) = unsafe { list.as_ref() } {
        let next = node.next.get();
        let context = node.context.clone();
        // Release: pairs with the acquire in `park_on`.
        node.woken.store(true, Ordering::Release);
        context.unpark();
        count += 1;
        list = next;
    }
    count
}

/// Wakes the first waiter on `key`. `then(more)` runs under the mutex and learns whether others still wait.
pub fn unpark_one(key: usize, then: impl FnOnce(bool)) -> usize {
    let mut queue = bucket(key);
    let (list, more) = queue.take(key, |_| Some(false));
    let more = more || queue.has(key);
    then(more);
    drop(queue);
    wake(list)
}

/// Wakes the first waiter and, if it is shared, the shared ones right behind it.
pub fn unpark_group(key: usize, then: impl FnOnce(bool)) -> usize {
    let mut queue = bucket(key);
    let mut first = true;
    let (list, more) = queue.take(key, |tag| {
        let was_first = std::mem::replace(&mut first, false);
        match (was_first, tag) {
            (true, EXCLUSIVE) => Some(false),
            (_, SHARED) => Some(true),
            _ => None,
        }
    });
    let more = more || queue.has(key);
    then(more);
    drop(queue);
    wake(list)
}

/// Wakes all waiters on `key`.
pub fn unpark_all(key: usize) -> usize {
    let mut queue = bucket(key);
    let (list, _) = queue.take(key, |_| Some(true));
    drop(queue);
    wake(list)
}

impl Queue {
    fn has(&self, key: usize) -> bool {
        let mut at = self.head;
        // SAFETY: queued nodes are alive, and the mutex is held.
        while let Some(node) = unsafe { at.as_ref() } {
            if node.key == key {
                return true;
            }
            at = node.next.get();
        }
        false
    }
}

#[cfg(test)]
mod tests;
