//! Does it matter where the log's control words lie? The thread's question in process, with ever more sessions at
//! once: a log behind one lock, as PostgreSQL's was at the time, its words beside each other (packed) or each on
//! cache lines of its own (padded); beside it Thalweg's log, where an insertion reserves its place by one addition.
//! Records have 256 bytes and a checksum; nothing goes to a disk.
//!
//! `cargo run --release -p bench --bin wal_padding`

use base::crc::crc32c;
use base::disk::SyncMethod;
use base::pad::Padded;
use base::{BlockNo, Fork, PageId, RelId, Xid};
use bench::log::{Forgetful, open};
use bench::record::median;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};
use std::time::Instant;
use storage::wal::{Kind, Record, record_bound};

const SESSIONS: [usize; 4] = [1, 2, 32, 80];
/// Insertions of all sessions together in one run.
const INSERTIONS: usize = 240_000;
const ROUNDS: usize = 3;
const RECORD: usize = 256;
const PAGE: u64 = 8192;
const RING: usize = 1 << 20;

/// Where the next record goes, and the memory it goes to.
struct Insert {
    at: u64,
    ring: Vec<u8>,
}

impl Default for Insert {
    fn default() -> Insert {
        Insert { at: 0, ring: vec![1; RING] }
    }
}

/// The words that sessions share: what inserting is locked by, how far the log is asked to be written, how far
/// it is written.
trait Words: Default + Sync {
    fn insert(&self) -> &Mutex<Insert>;
    fn requested(&self) -> &Mutex<u64>;
    fn written(&self) -> &AtomicU64;
}

#[derive(Default)]
struct PackedWords {
    insert: Mutex<Insert>,
    requested: Mutex<u64>,
    written: AtomicU64,
}

#[derive(Default)]
struct PaddedWords {
    insert: Padded<Mutex<Insert>>,
    requested: Padded<Mutex<u64>>,
    written: Padded<AtomicU64>,
}

impl Words for PackedWords {
    fn insert(&self) -> &Mutex<Insert> {
        &self.insert
    }
    fn requested(&self) -> &Mutex<u64> {
        &self.requested
    }
    fn written(&self) -> &AtomicU64 {
        &self.written
    }
}

impl Words for PaddedWords {
    fn insert(&self) -> &Mutex<Insert> {
        &self.insert
    }
    fn requested(&self) -> &Mutex<u64> {
        &self.requested
    }
    fn written(&self) -> &AtomicU64 {
        &self.written
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().expect("no code panics under it")
}

/// Inserts one record under the lock; whoever fills a page asks for it to be written.
fn insert(words: &impl Words, row: &[u8]) {
    // Every insertion looks how far the log is written, as it does to see whether a page needs an image.
    black_box(words.written().load(Relaxed));
    black_box(crc32c(row));
    let mut insert = held(words.insert());
    let begin = insert.at as usize % RING;
    insert.ring[begin..begin + row.len()].copy_from_slice(row);
    insert.at += row.len() as u64;
    let at = insert.at;
    drop(insert);
    if at.is_multiple_of(PAGE) {
        *held(words.requested()) = at;
        // Relaxed: only its cache line matters here.
        words.written().store(at, Relaxed);
    }
}

/// Nanoseconds of each of so many sessions for one `step`.
fn nanos(sessions: usize, step: &(impl Fn() + Sync)) -> f64 {
    let each = INSERTIONS / sessions;
    let start = Barrier::new(sessions + 1);
    let mut begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..sessions {
            scope.spawn(|| {
                start.wait();
                (0..each).for_each(|_| step());
            });
        }
        begin = Instant::now();
        start.wait();
    });
    begin.elapsed().as_nanos() as f64 / each as f64
}

fn one_lock<W: Words>(sessions: usize) -> f64 {
    let (words, row) = (W::default(), [7; RECORD]);
    nanos(sessions, &|| insert(&words, &row))
}

fn thalweg(sessions: usize) -> f64 {
    let slots = (2 * std::thread::available_parallelism().map_or(1, usize::from)).max(8);
    let wal = open(Arc::new(Forgetful), slots, SyncMethod::Fdatasync);
    let row = [7; RECORD - 34];
    let page = PageId { rel: RelId(7), fork: Fork::Main, block: BlockNo(3) };
    let took = nanos(sessions, &|| {
        let mut claim = wal.claim(record_bound(1, 1, 2 + row.len())).expect("there is room");
        let record = Record::new(Kind::PAGE_IMAGE, Xid(5)).block(page, &[1, 2]).more(&row);
        black_box(wal.insert(&mut claim, &record));
    });
    wal.close();
    took
}

fn main() {
    type Variant = (&'static str, fn(usize) -> f64);
    let variants: [Variant; 3] = [
        ("one lock, packed", one_lock::<PackedWords>),
        ("one lock, padded", one_lock::<PaddedWords>),
        ("Thalweg's reservation", thalweg),
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
