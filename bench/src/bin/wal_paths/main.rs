//! What the log's paths cost, in nanoseconds per operation, on a disk that forgets at once, by one thread, two, and so on, up
//! to a thread for each processor; small records of two threads by the number of insertion slots, beside copying the same bytes; then what one client's synchronous commit
//! costs on the real disk by each `wal_sync_method` and each `wal_io`, beside a bare write and fdatasync of the same
//! block, and how fast two threads bring a stream of records to the disk. Persistent memory is emulated, where the
//! directory is on a memory file system: nothing is durable there, and the figures are those of an emulation.
//!
//! `cargo run --release -p bench --bin wal_paths [-- DIRECTORY_ON_THE_DISK_TO_MEASURE]`

mod log;

use base::disk::real::RealDisk;
use base::disk::{Disk, SyncMethod};
use base::{BlockNo, Fork, PageId, RelId, Xid};
use bench::record::median;
use log::{Forgetful, RING, open};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Barrier};
use std::time::Instant;
use storage::EngineConfig;
use storage::page::PAGE_BYTES;
use storage::wal::{Kind, Record, Wal, WalIo, record_bound, segment};

const ROUNDS: usize = 9;
const EACH: u64 = 100_000;
/// Commits of one method in one round.
const COMMITS: usize = 400;
/// Ways to a durable record.
const WAYS: [(&str, SyncMethod, WalIo); 6] = [
    ("fdatasync", SyncMethod::Fdatasync, WalIo::File),
    ("open_datasync", SyncMethod::OpenDatasync, WalIo::File),
    ("io_uring", SyncMethod::IoUring, WalIo::File),
    ("mmap", SyncMethod::Fdatasync, WalIo::Mmap),
    ("pmem", SyncMethod::Fdatasync, WalIo::Pmem),
    ("pmem_emulated (an emulation)", SyncMethod::Fdatasync, WalIo::PmemEmulated),
];
/// Bytes of a record of a stream, and of a stream.
const RECORD: usize = 500;
const STREAM: usize = 100 << 20;

/// One step of a path under test: the log, and a row to log.
type Step = fn(&Wal, &[u8]);

fn page() -> PageId {
    PageId { rel: RelId(7), fork: Fork::Main, block: BlockNo(3) }
}

const PATHS: &[(&str, usize, Step)] = &[
    ("claim alone", 0, |wal, _| {
        black_box(&wal.claim(256).expect("there is room"));
    }),
    ("claim and insert, 64 bytes", 64 - 34, insert),
    ("claim and insert, 256 bytes", 256 - 34, insert),
    ("claim and insert, 8 KiB", PAGE_BYTES, insert),
    ("claim, insert and publish a commit", 12, |wal, row| {
        let mut claim = wal.claim(record_bound(1, 0, row.len())).expect("there is room");
        let record = Record::new(Kind::COMMIT, Xid(5)).data(row);
        wal.insert_commit(&mut claim, &record, |csn| {
            black_box(csn);
        });
    }),
    ("published number", 0, |wal, _| {
        black_box(wal.published());
    }),
];

fn insert(wal: &Wal, row: &[u8]) {
    let mut claim = wal.claim(record_bound(1, 1, 2 + row.len())).expect("there is room");
    let record = Record::new(Kind::PAGE_IMAGE, Xid(5)).block(page(), &[1, 2]).more(row);
    black_box(wal.insert(&mut claim, &record));
}

fn nanos(threads: usize, slots: usize, bytes: usize, step: Step) -> f64 {
    let forgetful = Arc::new(Forgetful);
    let wal = open(forgetful, slots, SyncMethod::Fdatasync, WalIo::File).expect("a log opens");
    let row = vec![7; bytes];
    // Of whole pages no more by many threads than by two: a round is not to last ever longer.
    let each = if bytes < PAGE_BYTES { EACH } else { EACH * 2 / threads.max(2) as u64 };
    let together = Barrier::new(threads);
    let one = || {
        together.wait();
        let begin = Instant::now();
        (0..each).for_each(|_| step(&wal, &row));
        (begin, Instant::now())
    };
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        started.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    wal.close();
    let first = spans.iter().map(|span| span.0).min().expect("there is a thread");
    let last = spans.iter().map(|span| span.1).max().expect("there is a thread");
    (last - first).as_nanos() as f64 / each as f64
}

/// One, two, four and so on, up to a thread for each processor.
fn threads() -> impl Iterator<Item = usize> {
    let most = std::thread::available_parallelism().map_or(1, usize::from).max(2);
    (0..).map(|power| 1 << power).take_while(move |threads| *threads <= most)
}

fn middle(all: impl IntoIterator<Item = f64>) -> f64 {
    median(all).expect("there is a round")
}

/// Nanoseconds to copy a record of `bytes` to the next place of a ring, each of two threads into its own.
fn copying(bytes: usize) -> f64 {
    let row = vec![7_u8; bytes];
    let mut rings = [vec![1_u8; RING / 2], vec![1_u8; RING / 2]];
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for ring in &mut rings {
            scope.spawn(|| {
                for place in ring.chunks_exact_mut(bytes).take(EACH as usize) {
                    place.copy_from_slice(black_box(&row));
                }
            });
        }
    });
    begin.elapsed().as_nanos() as f64 / EACH as f64
}

/// Two threads' small records, by the number of slots; the variants take turns.
fn by_slots() {
    for bytes in [64, 256] {
        let variants = [1, 2, 8];
        let mut took = vec![Vec::new(); variants.len() + 1];
        for _ in 0..ROUNDS {
            for (of, slots) in took.iter_mut().zip(variants) {
                of.push(nanos(2, slots, bytes - 34, insert));
            }
            took[variants.len()].push(copying(bytes));
        }
        let names = variants.map(|n| format!("{n} slots")).into_iter().chain(["copied".to_owned()]);
        for (name, took) in names.zip(took) {
            let ns = middle(took);
            // Two threads at the same time.
            let (millions, gigabytes) = (2e3 / ns, 2.0 * bytes as f64 / ns);
            println!("{bytes} bytes, 2 threads, {name:<8} {millions:7.2} M/s {gigabytes:7.2} GB/s");
        }
    }
}

/// Microseconds: p50 and p99 of `one`.
fn latency(mut one: impl FnMut()) -> (f64, f64) {
    let mut all: Vec<f64> = (0..COMMITS)
        .map(|_| {
            let begin = Instant::now();
            one();
            begin.elapsed().as_nanos() as f64 / 1000.0
        })
        .collect();
    all.sort_by(f64::total_cmp);
    (all[COMMITS / 2], all[COMMITS * 99 / 100])
}

/// One client's commits, by each method in turn.
fn commits(directory: &str) {
    let root = format!("{directory}/thalweg-wal-paths-{}", std::process::id());
    let disk = Arc::new(RealDisk::new(&root));
    disk.create_dir("").expect("the directory can be made");
    let bare = std::fs::File::create(format!("{root}/bare")).expect("a file can be made");
    bare.write_all_at(&vec![0; 16 << 20], 0).and_then(|()| bare.sync_all()).expect("room");
    let mut at = 0;
    let mut floor = || {
        at += 64;
        let block = at / 4096 * 4096;
        bare.write_all_at(&[1; 4096], block).and_then(|()| bare.sync_data()).expect("it syncs");
    };
    let logs = logs(&root).into_iter().map(|(name, wal)| (name, wal, Vec::new(), Vec::new()));
    let logs: Vec<_> = logs.collect();
    let (mut logs, mut bare_times) = (logs, (Vec::new(), Vec::new()));
    for _ in 0..ROUNDS {
        let (p50, p99) = latency(&mut floor);
        bare_times.0.push(p50);
        bare_times.1.push(p99);
        for (_, wal, medians, tails) in &mut logs {
            let (p50, p99) = latency(|| {
                let mut claim = wal.claim(record_bound(1, 0, 12)).expect("there is room");
                let record = Record::new(Kind::COMMIT, Xid(5)).data(&[1; 12]);
                let end = wal.insert_commit(&mut claim, &record, |_| ()).end;
                wal.flush(end);
            });
            medians.push(p50);
            tails.push(p99);
        }
    }
    let show = |name: &str, p50: Vec<f64>, p99: Vec<f64>| {
        println!("{name:<32} p50 {:7.1} µs  p99 {:7.1} µs", middle(p50), middle(p99));
    };
    show("bare write and fdatasync", bare_times.0, bare_times.1);
    for (name, wal, p50, p99) in logs {
        show(&format!("one client's commit, {name}"), p50, p99);
        wal.close();
    }
    std::fs::remove_dir_all(root).expect("what was made can be removed");
}

/// A log by each way that there is here, with its name.
fn logs(root: &str) -> Vec<(&'static str, Arc<Wal>)> {
    let mut logs = Vec::new();
    for (name, how, io) in WAYS {
        let disk = Arc::new(RealDisk::new(format!("{root}/{name}")));
        disk.create_dir(segment::DIRECTORY).expect("the directory can be made");
        match open(disk, 8, how, io) {
            Ok(wal) => logs.push((name, wal)),
            Err(refused) => println!("{name}: not here: {refused}"),
        }
    }
    logs
}

/// Two threads' records, as fast as they come, until all are durable.
fn streams(directory: &str) {
    let root = format!("{directory}/thalweg-wal-streams-{}", std::process::id());
    let row = vec![7; RECORD];
    for (name, wal) in logs(&root) {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..STREAM / 2 / RECORD).for_each(|_| insert(&wal, &row)));
            }
        });
        wal.flush(wal.position());
        let rate = STREAM as f64 / 1e6 / begin.elapsed().as_secs_f64();
        println!("a stream, {name:<30} {rate:7.0} MB/s");
        wal.close();
    }
    std::fs::remove_dir_all(root).expect("what was made can be removed");
}

fn main() {
    let temporary = std::env::temp_dir().display().to_string();
    let directory = std::env::args().nth(1).unwrap_or(temporary);
    // As many as the engine makes by itself.
    let slots = EngineConfig::default().wal_insert_slots;
    for (name, bytes, step) in PATHS {
        let of = |threads| middle((0..ROUNDS).map(|_| nanos(threads, slots, *bytes, *step)));
        let each = threads().map(|threads| {
            let plural = if threads == 1 { "" } else { "s" };
            format!("{threads} thread{plural} {:8.1} ns each", of(threads))
        });
        println!("{name:<36} {}", each.collect::<Vec<_>>().join("   "));
    }
    by_slots();
    commits(&directory);
    streams(&directory);
}
