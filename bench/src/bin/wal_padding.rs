//! Does it matter where the log's control words lie? The thread's question in process, with ever more sessions at
//! once, and nothing of a log but what sessions share. The place for a record is found under *one lock*, which covers
//! the copy too, as PostgreSQL's log was at the time; by *locked reservation*, a lock for the place alone and a slot
//! that says how far the log is whole, as PostgreSQL's is since; or by *reservation*, one addition and a slot, as
//! Thalweg's is. Each with its words beside each other (packed), and each word on lines of its own, of 64, 128 and 256
//! bytes (padded: 128).
//!
//! Two loads: records of 256 bytes; and the log of TPC-B, whose transactions insert three updates, a row and a commit
//! of the lengths that `thalweg waldump` shows of pgbench's, and ask for a flush at their end. Neither makes a header,
//! claims room or writes anything, and TPC-B's rows are not there: what Thalweg's own insertion costs with all that,
//! `wal_paths` measures. Medians; the variants take turns.
//!
//! `cargo run --release -p bench --bin wal_padding`

use base::crc::crc32c;
use bench::record::median;
use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Barrier, Mutex, MutexGuard};
use std::time::Instant;

const SESSIONS: [usize; 4] = [1, 2, 32, 80];
/// Log bytes of all sessions together in one run.
const LOG_BYTES: usize = 60 << 20;
const ROUNDS: usize = 5;
const PAGE: u64 = 8192;
/// Slots, where not said otherwise.
const SLOTS: usize = 8;
/// A slot that nobody has.
const EMPTY: u64 = u64::MAX;

/// What sessions do again and again: the lengths of the records that it takes, in bytes.
struct Load {
    records: &'static [usize],
    /// Whether the last is a commit, which asks for a flush.
    commits: bool,
}

const RECORDS: Load = Load { records: &[256], commits: false };
const TPC_B: Load = Load { records: &[64, 64, 64, 96, 32], commits: true };

impl Load {
    fn bytes(&self) -> usize {
        self.records.iter().sum()
    }
}

/// The words that sessions share.
trait Words: Sync {
    fn new(slots: usize) -> Self;
    /// What inserting is locked by: where the next record goes.
    fn locked(&self) -> &Mutex<u64>;
    /// Where the next record goes, where nothing is locked.
    fn position(&self) -> &AtomicU64;
    /// How many bounds there are.
    fn slots(&self) -> usize;
    /// Lower bounds of what is not copied yet.
    fn slot(&self, number: usize) -> &AtomicU64;
    /// How far the log is asked to be written.
    fn requested(&self) -> &Mutex<u64>;
    /// How far it is written.
    fn written(&self) -> &AtomicU64;
}

macro_rules! words {
    ($name:ident, $place:ident $(, $align:literal)?) => {
        #[derive(Default)]
        $(#[repr(align($align))])?
        struct $place<T>(T);

        $(const _: () = assert!(align_of::<$place<AtomicU64>>() == $align);)?

        struct $name {
            locked: $place<Mutex<u64>>,
            position: $place<AtomicU64>,
            slots: Box<[$place<AtomicU64>]>,
            requested: $place<Mutex<u64>>,
            written: $place<AtomicU64>,
        }

        impl Words for $name {
            fn new(slots: usize) -> $name {
                $name {
                    locked: $place::default(),
                    position: $place::default(),
                    slots: (0..slots).map(|_| $place(AtomicU64::new(EMPTY))).collect(),
                    requested: $place::default(),
                    written: $place::default(),
                }
            }
            fn locked(&self) -> &Mutex<u64> {
                &self.locked.0
            }
            fn position(&self) -> &AtomicU64 {
                &self.position.0
            }
            fn slots(&self) -> usize {
                self.slots.len()
            }
            fn slot(&self, number: usize) -> &AtomicU64 {
                &self.slots[number % self.slots.len()].0
            }
            fn requested(&self) -> &Mutex<u64> {
                &self.requested.0
            }
            fn written(&self) -> &AtomicU64 {
                &self.written.0
            }
        }
    };
}

words!(PackedWords, Packed);
words!(Words64, Aligned64, 64);
words!(Words128, Aligned128, 128);
words!(Words256, Aligned256, 256);

/// Memory for the records of one run; every record has a place of its own.
struct Ring(Vec<AtomicU64>);

impl Ring {
    fn new() -> Ring {
        // Written once now: nobody shall meet page faults under a lock.
        Ring((0..LOG_BYTES / 8).map(|n| AtomicU64::new(n as u64)).collect())
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
    let bytes = [row[0] as u8; 256];
    black_box(crc32c(&bytes[..row.len() * 8]));
}

/// Asks for the log to be written.
fn ask(words: &impl Words, at: u64) {
    *held(words.requested()) = at;
    // Relaxed: only its cache line matters here.
    words.written().store(at, Relaxed);
}

/// How a record gets its place and is copied there; where it ends.
type Insert<W> = fn(&W, &Ring, usize, &[u64]) -> u64;

fn one_lock(words: &impl Words, ring: &Ring, _: usize, row: &[u64]) -> u64 {
    let mut position = held(words.locked());
    ring.put(*position, row);
    *position += row.len() as u64 * 8;
    *position
}

/// Takes a slot whose bound is not above the place to come.
fn slot<W: Words>(words: &W, session: usize, bound: impl Fn() -> u64) -> &AtomicU64 {
    let mut number = session;
    loop {
        let slot = words.slot(number);
        // Acquire: pairs with the release that empties a slot, so that the slot's next bound comes after it.
        if slot.compare_exchange(EMPTY, bound(), AcqRel, Relaxed).is_ok() {
            return slot;
        }
        number += 1;
        if number.is_multiple_of(words.slots()) {
            std::thread::yield_now();
        }
    }
}

fn locked_reservation(words: &impl Words, ring: &Ring, session: usize, row: &[u64]) -> u64 {
    // Relaxed: a lower bound.
    let slot = slot(words, session, || words.position().load(Relaxed));
    let mut position = held(words.locked());
    let at = *position;
    *position += row.len() as u64 * 8;
    words.position().store(*position, Relaxed);
    drop(position);
    ring.put(at, row);
    // Release: whoever finds it empty finds the record copied.
    slot.store(EMPTY, Release);
    at + row.len() as u64 * 8
}

fn reservation(words: &impl Words, ring: &Ring, session: usize, row: &[u64]) -> u64 {
    // Relaxed: a lower bound.
    let slot = slot(words, session, || words.position().load(Relaxed));
    // Release: whoever reads the position then finds the bound in its slot.
    let at = words.position().fetch_add(row.len() as u64 * 8, Release);
    ring.put(at, row);
    // Release: whoever finds it empty finds the record copied.
    slot.store(EMPTY, Release);
    at + row.len() as u64 * 8
}

/// Does once what sessions do.
fn perform<W: Words>(load: &Load, words: &W, ring: &Ring, session: usize, insert: Insert<W>) {
    let row = [7; 256 / 8];
    let mut end = 0;
    for bytes in load.records {
        let row = &row[..bytes / 8];
        begin(words, row);
        let before = end;
        end = insert(words, ring, session, row);
        // Whoever fills a page asks for it to be written.
        if before / PAGE != end / PAGE && end % PAGE < *bytes as u64 {
            ask(words, end);
        }
    }
    if load.commits {
        ask(words, end);
    }
}

/// Nanoseconds of each of so many sessions for doing it once.
fn nanos<W: Words>(load: &Load, sessions: usize, slots: usize, insert: Insert<W>) -> f64 {
    let each = LOG_BYTES / load.bytes() / sessions;
    let (words, ring) = (W::new(slots), Ring::new());
    let (start, next) = (Barrier::new(sessions + 1), AtomicUsize::new(0));
    let mut begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..sessions {
            scope.spawn(|| {
                let session = next.fetch_add(1, Relaxed);
                start.wait();
                (0..each).for_each(|_| perform(load, &words, &ring, session, insert));
            });
        }
        begun = Instant::now();
        start.wait();
    });
    let took = begun.elapsed().as_nanos() as f64 / each as f64;
    let all = (each * sessions * load.bytes()) as u64;
    // Acquire: as whoever writes the log would read it.
    let end = words.position().load(Acquire).max(*held(words.locked()));
    assert_eq!(end, all, "every record has its place");
    took
}

/// A way to insert: its name, and what measures it with so many sessions.
type Variant = (&'static str, fn(&Load, usize) -> f64);

const RECORD_VARIANTS: &[Variant] = &[
    ("one lock, packed", |l, n| nanos::<PackedWords>(l, n, SLOTS, one_lock)),
    ("one lock, padded", |l, n| nanos::<Words128>(l, n, SLOTS, one_lock)),
    ("reservation, packed", |l, n| nanos::<PackedWords>(l, n, SLOTS, reservation)),
    ("reservation, padded", |l, n| nanos::<Words128>(l, n, SLOTS, reservation)),
];

const TPC_B_VARIANTS: &[Variant] = &[
    ("TPC-B, one lock, packed", |l, n| nanos::<PackedWords>(l, n, SLOTS, one_lock)),
    ("TPC-B, one lock, aligned to 64", |l, n| nanos::<Words64>(l, n, SLOTS, one_lock)),
    ("TPC-B, one lock, aligned to 128", |l, n| nanos::<Words128>(l, n, SLOTS, one_lock)),
    ("TPC-B, one lock, aligned to 256", |l, n| nanos::<Words256>(l, n, SLOTS, one_lock)),
    ("TPC-B, locked reservation, packed", |l, n| {
        nanos::<PackedWords>(l, n, SLOTS, locked_reservation)
    }),
    ("TPC-B, locked reservation, aligned to 64", |l, n| {
        nanos::<Words64>(l, n, SLOTS, locked_reservation)
    }),
    ("TPC-B, locked reservation, aligned to 128", |l, n| {
        nanos::<Words128>(l, n, SLOTS, locked_reservation)
    }),
    ("TPC-B, locked reservation, aligned to 256", |l, n| {
        nanos::<Words256>(l, n, SLOTS, locked_reservation)
    }),
    ("TPC-B, reservation, packed", |l, n| nanos::<PackedWords>(l, n, SLOTS, reservation)),
    ("TPC-B, reservation, aligned to 64", |l, n| nanos::<Words64>(l, n, SLOTS, reservation)),
    ("TPC-B, reservation, aligned to 128", |l, n| nanos::<Words128>(l, n, SLOTS, reservation)),
    ("TPC-B, reservation, aligned to 256", |l, n| nanos::<Words256>(l, n, SLOTS, reservation)),
    ("TPC-B, reservation, aligned to 128, one slot", |l, n| {
        nanos::<Words128>(l, n, 1, reservation)
    }),
    ("TPC-B, reservation, aligned to 128, two slots", |l, n| {
        nanos::<Words128>(l, n, 2, reservation)
    }),
    ("TPC-B, reservation, aligned to 128, a slot each", |l, n| {
        nanos::<Words128>(l, n, n, reservation)
    }),
];

/// Measures variants in turn, and prints each one's medians on a line.
fn compare(load: &Load, variants: &[Variant], sessions: &[usize]) {
    let mut took = vec![vec![Vec::new(); sessions.len()]; variants.len()];
    for _ in 0..ROUNDS {
        for (s, &sessions) in sessions.iter().enumerate() {
            for (v, (_, measure)) in variants.iter().enumerate() {
                took[v][s].push(measure(load, sessions));
            }
        }
    }
    for ((name, _), took) in variants.iter().zip(took) {
        print!("{name:<48}");
        for (sessions, took) in sessions.iter().zip(took) {
            let ns = median(took).expect("there is a round");
            let threads = if *sessions == 1 { "thread " } else { "threads" };
            print!("  {sessions:2} {threads} {ns:9.1} ns");
        }
        println!();
    }
}

fn main() {
    compare(&RECORDS, RECORD_VARIANTS, &SESSIONS);
    compare(&TPC_B, TPC_B_VARIANTS, &SESSIONS[2..]);
}
