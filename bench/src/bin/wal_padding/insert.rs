//! Ways to insert a record, and sessions that do it.

use crate::words::{EMPTY, Words};
use base::crc::crc32c;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Barrier, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Log bytes of all sessions together in one run, about.
pub const LOG_BYTES: usize = 60 << 20;
/// A page of the log; whoever fills one asks for it to be written.
const PAGE: u64 = 8192;
/// The longest record.
const MOST_BYTES: usize = 256;
/// What the flusher rests between two looks: about as long as a sync takes.
const REST: Duration = Duration::from_micros(50);

/// What sessions do again and again: the lengths of the records that it takes, in bytes.
pub struct Load {
    pub records: &'static [usize],
    /// Whether the last is a commit, which asks for a flush.
    pub commits: bool,
}

impl Load {
    /// Bytes of its records together.
    pub fn bytes(&self) -> usize {
        self.records.iter().sum()
    }
}

/// Memory for the records of a run; every record has a place of its own.
pub struct Ring(Box<[UnsafeCell<u8>]>);

// SAFETY: `put` alone writes, each call to bytes that are its caller's alone; nobody reads them.
unsafe impl Sync for Ring {}

impl Ring {
    /// Written once now: nobody shall meet page faults under a lock.
    pub fn new() -> Ring {
        Ring((0..LOG_BYTES).map(|n| UnsafeCell::new(n as u8)).collect())
    }

    /// Copies a record to its place.
    ///
    /// # Safety
    /// Nobody else copies to these bytes meanwhile.
    unsafe fn put(&self, at: u64, record: &[u8]) {
        let place = &self.0[at as usize..at as usize + record.len()];
        // SAFETY: the bytes are within the ring, and the caller's alone.
        unsafe {
            UnsafeCell::raw_get(place.as_ptr())
                .copy_from_nonoverlapping(record.as_ptr(), record.len())
        };
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().expect("no code panics under it")
}

/// What every insertion does before: it looks how far the log is written, to see whether a page needs an image,
/// and makes the record's checksum.
fn begin(words: &impl Words, record: &[u8]) {
    // Relaxed: only its cache line matters here.
    black_box(words.written().load(Relaxed));
    black_box(crc32c(black_box(record)));
}

/// Asks for the log to be written.
fn ask(words: &impl Words, at: u64) {
    *held(words.requested()) = at;
    // Relaxed: only its cache line matters here.
    words.written().store(at, Relaxed);
}

/// How a record gets its place and is copied there, by which session; where it ends.
pub type Insert<W> = fn(&W, &Ring, usize, &[u8]) -> u64;

/// Under one lock, which covers the copy.
pub fn one_lock(words: &impl Words, ring: &Ring, _: usize, record: &[u8]) -> u64 {
    let mut position = held(words.locked());
    // SAFETY: the position is ours and goes beyond the record before anybody else sees it.
    unsafe { ring.put(*position, record) };
    *position += record.len() as u64;
    // Relaxed: for the flusher's look, which takes nothing from it.
    words.position().store(*position, Relaxed);
    *position
}

/// Takes a slot whose bound is not above the place to come.
fn slot<W: Words>(words: &W, session: usize) -> &AtomicU64 {
    let mut number = session;
    loop {
        let slot = words.slot(number);
        // Relaxed: a lower bound.
        let bound = words.position().load(Relaxed);
        // Acquire: pairs with the release that empties a slot, so that the slot's next bound comes after it.
        if slot.compare_exchange(EMPTY, bound, AcqRel, Relaxed).is_ok() {
            return slot;
        }
        number += 1;
        if number.is_multiple_of(words.slots()) {
            std::thread::yield_now();
        }
    }
}

/// A lock for the place alone, a slot for the copy.
pub fn locked_reservation(words: &impl Words, ring: &Ring, session: usize, record: &[u8]) -> u64 {
    let slot = slot(words, session);
    let mut position = held(words.locked());
    let at = *position;
    *position += record.len() as u64;
    // Relaxed: a lower bound for others.
    words.position().store(*position, Relaxed);
    drop(position);
    // SAFETY: the lock gave this place to nobody else.
    unsafe { ring.put(at, record) };
    // Release: whoever finds it empty finds the record copied.
    slot.store(EMPTY, Release);
    at + record.len() as u64
}

/// One addition, a slot for the copy.
pub fn reservation(words: &impl Words, ring: &Ring, session: usize, record: &[u8]) -> u64 {
    let slot = slot(words, session);
    reserve(words, ring, slot, record)
}

/// One addition; the session's own slot, which nobody else may have.
pub fn own_slot(words: &impl Words, ring: &Ring, session: usize, record: &[u8]) -> u64 {
    assert!(session < words.slots(), "there is a slot for each session");
    let slot = words.slot(session);
    // Relaxed, both: a lower bound, published by the addition.
    slot.store(words.position().load(Relaxed), Relaxed);
    reserve(words, ring, slot, record)
}

fn reserve(words: &impl Words, ring: &Ring, slot: &AtomicU64, record: &[u8]) -> u64 {
    // Release: whoever reads the position then finds the bound in its slot.
    let at = words.position().fetch_add(record.len() as u64, Release);
    // SAFETY: the addition gave this place to nobody else.
    unsafe { ring.put(at, record) };
    // Release: whoever finds it empty finds the record copied.
    slot.store(EMPTY, Release);
    at + record.len() as u64
}

/// Does once what sessions do.
fn perform<W: Words>(load: &Load, words: &W, ring: &Ring, session: usize, insert: Insert<W>) {
    let row = [7; MOST_BYTES];
    let mut end = 0;
    for &bytes in load.records {
        begin(words, &row[..bytes]);
        let before = end;
        end = insert(words, ring, session, &row[..bytes]);
        // Whoever fills a page asks for it to be written.
        if before / PAGE != end / PAGE && end % PAGE < bytes as u64 {
            ask(words, end);
        }
    }
    if load.commits {
        ask(words, end);
    }
}

/// As a flusher does: how far the log is whole, again and again.
fn watch(words: &impl Words, ended: &AtomicBool) {
    let mut whole = 0;
    // Relaxed: when exactly it ends does not matter.
    while !ended.load(Relaxed) {
        // Acquire, both: as whoever writes the log would.
        let reserved = words.position().load(Acquire);
        let bounds = (0..words.slots()).map(|n| words.slot(n).load(Acquire));
        whole = bounds.fold(reserved, u64::min).max(whole);
        black_box(whole);
        std::thread::sleep(REST);
    }
}

/// Nanoseconds of each of so many sessions for doing it once, while another thread looks how far the log is whole.
pub fn nanos<W: Words>(load: &Load, sessions: usize, ring: &Ring, insert: Insert<W>) -> f64 {
    let each = LOG_BYTES / load.bytes() / sessions;
    let words = W::new();
    let took =
        timed(sessions, each, &*words, |session| perform(load, &*words, ring, session, insert));
    let all = (each * sessions * load.bytes()) as u64;
    // Acquire: as whoever writes the log would read it.
    assert_eq!(words.position().load(Acquire), all, "every record has its place");
    assert!((0..words.slots()).all(|n| words.slot(n).load(Acquire) == EMPTY), "and is copied");
    took
}

/// Nanoseconds of each of so many sessions for copying a record behind the one before, and nothing else.
pub fn copying(bytes: usize, sessions: usize, ring: &Ring) -> f64 {
    let each = LOG_BYTES / bytes / sessions;
    let row = [7; MOST_BYTES];
    let next: Vec<AtomicU64> =
        (0..sessions).map(|n| AtomicU64::new((n * each * bytes) as u64)).collect();
    let copy = |session: usize| {
        // Relaxed, both: nobody else's.
        let at = next[session].load(Relaxed);
        // SAFETY: each session has a part of the ring.
        unsafe { ring.put(at, black_box(&row[..bytes])) };
        next[session].store(at + bytes as u64, Relaxed);
    };
    timed(sessions, each, &*crate::words::Words128::<1>::new(), copy)
}

/// Nanoseconds of each session for one of `each`.
fn timed<W: Words>(sessions: usize, each: usize, words: &W, one: impl Fn(usize) + Sync) -> f64 {
    let (start, next) = (Barrier::new(sessions + 1), AtomicUsize::new(0));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flusher = scope.spawn(|| watch(words, &ended));
        let working: Vec<_> = (0..sessions)
            .map(|_| {
                scope.spawn(|| {
                    // Relaxed: only distinctness matters.
                    let session = next.fetch_add(1, Relaxed);
                    start.wait();
                    (0..each).for_each(|_| one(session));
                })
            })
            .collect();
        let begun = Instant::now();
        start.wait();
        working.into_iter().for_each(|session| session.join().expect("a session does not panic"));
        let took = begun.elapsed().as_nanos() as f64;
        ended.store(true, Relaxed);
        flusher.join().expect("the flusher does not panic");
        took / each as f64
    })
}
