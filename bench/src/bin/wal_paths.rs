//! What the log's paths cost, in nanoseconds per operation, on a disk that forgets at once; then what one
//! client's synchronous commit costs on the real disk, beside a bare write and fdatasync of the same block.
//!
//! `cargo run --release -p bench --bin wal_paths [-- DIRECTORY_ON_THE_DISK_TO_MEASURE]`

use base::disk::real::RealDisk;
use base::disk::{DirectoryLock, Disk, File, Open};
use base::env::Env;
use base::{BlockNo, Fork, Lsn, PageId, RelId, Xid};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;
use storage::wal::{Epoch, Kind, Record, Wal, WalConfig, record_bound, segment};

const SEGMENT: u64 = 16 << 20;
const ROUNDS: usize = 9;
const EACH: u64 = 100_000;
const COMMITS: usize = 2_000;

/// Takes everything, keeps nothing.
struct Forgetful;

impl Disk for Forgetful {
    fn open(&self, _: &str, _: Open) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(Forgetful))
    }
    fn rename_new(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn rename_over(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn create_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn sync_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn list(&self, _: &str) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    fn exists(&self, _: &str) -> io::Result<bool> {
        Ok(false)
    }
    fn lock(&self, _: &str) -> io::Result<DirectoryLock> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl File for Forgetful {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}

fn open(disk: Arc<dyn Disk>) -> Arc<Wal> {
    let start = Lsn(SEGMENT);
    let epoch = Epoch {
        system_id: 1,
        timeline: 1,
        number: 1,
        segment_bytes: SEGMENT,
        start,
        previous_end: start,
    };
    let config = WalConfig { buffer_bytes: 64 << 20, insert_slots: 8, files_bytes_max: 1 << 30 };
    Wal::open(&Env::new(disk), config, epoch).expect("a log opens")
}

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
    ("claim and insert, 8 KiB", 8192, insert),
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

fn nanos(threads: usize, bytes: usize, step: Step) -> f64 {
    let wal = open(Arc::new(Forgetful));
    let row = vec![7; bytes];
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..EACH).for_each(|_| step(&wal, &row)));
        }
    });
    let took = begin.elapsed().as_nanos() as f64;
    wal.close();
    took / EACH as f64
}

fn median(mut of: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..ROUNDS).map(|_| of()).collect();
    all.sort_by(f64::total_cmp);
    all[ROUNDS / 2]
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

fn commits(directory: &str) {
    let root = format!("{directory}/thalweg-wal-paths-{}", std::process::id());
    let disk = Arc::new(RealDisk::new(&root));
    disk.create_dir(segment::DIRECTORY).expect("the directory can be made");
    let bare = std::fs::File::create(format!("{root}/bare")).expect("a file can be made");
    bare.write_all_at(&vec![0; 16 << 20], 0).and_then(|()| bare.sync_all()).expect("room");
    let mut at = 0;
    let floor = latency(|| {
        at += 64;
        let block = at / 4096 * 4096;
        bare.write_all_at(&[1; 4096], block).and_then(|()| bare.sync_data()).expect("it syncs");
    });
    let wal = open(disk);
    let commit = latency(|| {
        let mut claim = wal.claim(record_bound(1, 0, 12)).expect("there is room");
        let record = Record::new(Kind::COMMIT, Xid(5)).data(&[1; 12]);
        let end = wal.insert_commit(&mut claim, &record, |_| ()).end;
        wal.flush(end);
    });
    println!("write and fdatasync:  p50 {:7.1} µs  p99 {:7.1} µs", floor.0, floor.1);
    println!("commit of one client: p50 {:7.1} µs  p99 {:7.1} µs", commit.0, commit.1);
    wal.close();
    std::fs::remove_dir_all(root).expect("what was made can be removed");
}

fn main() {
    for (name, bytes, step) in PATHS {
        let one = median(|| nanos(1, *bytes, *step));
        let two = median(|| nanos(2, *bytes, *step));
        println!("{name:<36} 1 thread {one:8.1} ns   2 threads {two:8.1} ns each");
    }
    let temporary = std::env::temp_dir().display().to_string();
    commits(&std::env::args().nth(1).unwrap_or(temporary));
}
