//! Does it matter where the log's control words lie? The thread's question in process, with ever more sessions at
//! once, and nothing of a log but what sessions share: the place for a record of 256 bytes is found under one lock,
//! which covers the copy too, as PostgreSQL's log was at the time; or by one addition, as Thalweg's is, with a slot
//! that says how far the log is whole. Each with its words beside each other (packed), and each on cache lines of its
//! own (padded). Neither makes a header, claims room or writes anything: what Thalweg's own insertion costs with all
//! that, `wal_paths` measures.
//!
//! `cargo run --release -p bench --bin wal_padding`

use base::crc::crc32c;
use base::pad::Padded;
use bench::record::median;
use std::hint::black_box;
use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Barrier, Mutex, MutexGuard};
use std::time::Instant;

const SESSIONS: [usize; 4] = [1, 2, 32, 80];
/// Insertions of all sessions together in one run.
const INSERTIONS: usize = 240_000;
const ROUNDS: usize = 3;
const RECORD: usize = 256;
const PAGE: u64 = 8192;
const SLOTS: usize = 8;
/// A slot that nobody has.
const EMPTY: u64 = u64::MAX;

/// The words that sessions share.
trait Words: Default + Sync {
    /// What inserting is locked by: where the next record goes.
    fn locked(&self) -> &Mutex<u64>;
    /// Where the next record goes, where nothing is locked.
    fn position(&self) -> &AtomicU64;
    /// Lower bounds of what is not copied yet.
    fn slot(&self, number: usize) -> &AtomicU64;
    /// How far the log is asked to be written.
    fn requested(&self) -> &Mutex<u64>;
    /// How far it is written.
    fn written(&self) -> &AtomicU64;
}

/// One behind the other.
#[derive(Default)]
struct Packed<T>(T);

impl<T> Deref for Packed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

macro_rules! words {
    ($name:ident, $place:ident) => {
        #[derive(Default)]
        struct $name {
            locked: $place<Mutex<u64>>,
            position: $place<AtomicU64>,
            slots: [$place<AtomicU64>; SLOTS],
            requested: $place<Mutex<u64>>,
            written: $place<AtomicU64>,
        }

        impl Words for $name {
            fn locked(&self) -> &Mutex<u64> {
                &self.locked
            }
            fn position(&self) -> &AtomicU64 {
                &self.position
            }
            fn slot(&self, number: usize) -> &AtomicU64 {
                &self.slots[number % SLOTS]
            }
            fn requested(&self) -> &Mutex<u64> {
                &self.requested
            }
            fn written(&self) -> &AtomicU64 {
                &self.written
            }
        }
    };
}

words!(PackedWords, Packed);
words!(PaddedWords, Padded);

/// Memory for the records of one run; every record has a place of its own.
struct Ring(Vec<AtomicU64>);

impl Ring {
    fn new() -> Ring {
        // Written once now: nobody shall meet page faults under a lock.
        Ring((0..INSERTIONS * RECORD / 8).map(|n| AtomicU64::new(n as u64)).collect())
    }

    fn put(&self, at: u64, row: &[u64]) {
        let begin = at as usize / 8;
        for (word, value) in self.0[begin..begin + row.len()].iter().zip(row) {
            // Relaxed: whoever reads them goes by the lock or the slot.
            word.store(*value, Relaxed);
        }
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().expect("no code panics under it")
}

/// What every insertion does before: it looks how far the log is written, to see whether a page needs an image,
/// and makes the record's checksum.
fn begin(words: &impl Words, row: &[u64]) {
    // Relaxed: only its cache line matters here.
    black_box(words.written().load(Relaxed));
    black_box(crc32c(&[row[0] as u8; RECORD]));
}

/// Whoever fills a page asks for it to be written.
fn end(words: &impl Words, at: u64) {
    if at.is_multiple_of(PAGE) {
        *held(words.requested()) = at;
        // Relaxed: only its cache line matters here.
        words.written().store(at, Relaxed);
    }
}

fn one_lock(words: &impl Words, ring: &Ring, _: usize, row: &[u64]) {
    begin(words, row);
    let mut position = held(words.locked());
    ring.put(*position, row);
    *position += RECORD as u64;
    let at = *position;
    drop(position);
    end(words, at);
}

fn reservation(words: &impl Words, ring: &Ring, session: usize, row: &[u64]) {
    begin(words, row);
    let mut number = session;
    // Acquire: pairs with the release that empties a slot, so that the slot's next bound comes after it.
    let slot = loop {
        let (slot, bound) = (words.slot(number), words.position().load(Relaxed));
        if slot.compare_exchange(EMPTY, bound, AcqRel, Relaxed).is_ok() {
            break slot;
        }
        number += 1;
        if number.is_multiple_of(SLOTS) {
            std::thread::yield_now();
        }
    };
    // Release: whoever reads the position then finds the bound in its slot.
    let at = words.position().fetch_add(RECORD as u64, Release);
    ring.put(at, row);
    // Release: whoever finds it empty finds the record copied.
    slot.store(EMPTY, Release);
    end(words, at + RECORD as u64);
}

type Insert<W> = fn(&W, &Ring, usize, &[u64]);

/// Nanoseconds of each of so many sessions for one insertion.
fn nanos<W: Words>(sessions: usize, insert: Insert<W>) -> f64 {
    let each = INSERTIONS / sessions;
    let (words, ring, row) = (W::default(), Ring::new(), [7; RECORD / 8]);
    (0..SLOTS).for_each(|number| words.slot(number).store(EMPTY, Relaxed));
    let (start, next) = (Barrier::new(sessions + 1), AtomicUsize::new(0));
    let mut begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..sessions {
            scope.spawn(|| {
                let session = next.fetch_add(1, Relaxed);
                start.wait();
                (0..each).for_each(|_| insert(&words, &ring, session, &row));
            });
        }
        begun = Instant::now();
        start.wait();
    });
    let took = begun.elapsed().as_nanos() as f64 / each as f64;
    let all = (each * sessions * RECORD) as u64;
    // Acquire: as whoever writes the log would read it.
    let end = words.position().load(Acquire).max(*held(words.locked()));
    assert_eq!(end, all, "every record has its place");
    took
}

fn main() {
    type Variant = (&'static str, fn(usize) -> f64);
    let variants: [Variant; 4] = [
        ("one lock, packed", |n| nanos::<PackedWords>(n, one_lock)),
        ("one lock, padded", |n| nanos::<PaddedWords>(n, one_lock)),
        ("reservation, packed", |n| nanos::<PackedWords>(n, reservation)),
        ("reservation, padded", |n| nanos::<PaddedWords>(n, reservation)),
    ];
    let mut took = vec![vec![Vec::new(); SESSIONS.len()]; variants.len()];
    for _ in 0..ROUNDS {
        for (s, &sessions) in SESSIONS.iter().enumerate() {
            for (v, (_, measure)) in variants.iter().enumerate() {
                took[v][s].push(measure(sessions));
            }
        }
    }
    for ((name, _), took) in variants.iter().zip(took) {
        print!("{name:<24}");
        for (sessions, took) in SESSIONS.iter().zip(took) {
            let ns = median(took).expect("there is a round");
            let threads = if *sessions == 1 { "thread " } else { "threads" };
            print!("  {sessions:2} {threads} {ns:9.1} ns");
        }
        println!();
    }
}
