//! How much of the device's random reads the buffer cache hands on, with a cache of 1 % of the data.
//!
//! Two sides at the same queue depth, in turns: fibers that read random pages through the cache, each miss evicting
//! a page (checksums verified), and a loop that does nothing but keep as many reads of a page under way. Direct: past
//! the system's cache, so what is measured is the device. Buffered: the data lies in the system's cache, so what is
//! measured is the way there.
//!
//! `eviction [--seconds S] [--rounds N] [--depths 1,8,32] [--threads N] [--data DIR] [--mib N] [--no-record]`

use base::disk::real::RealDisk;
use base::disk::real::ring::{self, ThreadRing};
use base::disk::{Disk, File, Open, Room};
use base::env::Env;
use base::fiber::{Order, Scheduler};
use base::rank::Rank;
use base::{BlockNo, Fork, PageId, RelId};
use bench::options::Words;
use bench::{figures, record};
use io_uring::{IoUring, opcode, types};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::buffer::{Config, Pool, Relation};
use storage::page::{self, PAGE_BYTES, PageBuf, PageBytes, PageKind};
use storage::relfile::{self, RelFiles};

const USAGE: &str = "eviction [--seconds S] [--rounds N] [--depths 1,8,32] [--threads N] [--data DIR] \
                     [--mib N] [--no-record]";
const REL: RelId = RelId(5);
/// The share of the limit that is asked for, at each queue depth.
const ASKED: f64 = 0.8;

struct Options {
    seconds: f64,
    rounds: usize,
    depths: Vec<usize>,
    threads: usize,
    folder: PathBuf,
    mib: usize,
    record: bool,
}

/// Reads done in a round, how long it took, and the process's processor time for each, in microseconds.
#[derive(Clone, Copy)]
struct Round {
    per_second: f64,
    cpu_micros: f64,
}

fn options(mut words: Words) -> Result<Options, String> {
    let mut options = Options {
        seconds: 2.0,
        rounds: 3,
        depths: vec![1, 8, 32, 128],
        threads: std::thread::available_parallelism().map_or(1, usize::from).min(4),
        folder: std::env::temp_dir(),
        mib: 1600,
        record: true,
    };
    while let Some(option) = words.option() {
        match &*option {
            "--seconds" => options.seconds = words.number()?,
            "--rounds" => options.rounds = words.number()?,
            "--depths" => options.depths = words.numbers()?,
            "--threads" => options.threads = words.number()?,
            "--data" => options.folder = words.value()?.into(),
            "--mib" => options.mib = words.number()?,
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    let sensible = options.rounds > 0 && options.threads > 0 && options.mib >= 100;
    if sensible && options.depths.iter().all(|depth| *depth > 0) {
        Ok(options)
    } else {
        Err(format!("at least one round, thread and read at a time, and 100 MiB\n{USAGE}"))
    }
}

fn main() -> ExitCode {
    let done = options(Words::of_process(USAGE)).and_then(|options| {
        let folder = options.folder.join(format!("thalweg-eviction-{}", std::process::id()));
        let outcome = run(&options, &folder);
        let _ = std::fs::remove_dir_all(&folder);
        outcome
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("{complaint}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options, folder: &Path) -> Result<(), String> {
    let told = |e: &dyn std::fmt::Display| e.to_string();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder));
    disk.create_dir("").map_err(|e| told(&e))?;
    let blocks = (options.mib << 20) / PAGE_BYTES;
    fill(&disk, blocks as u32).map_err(|e| told(&e))?;
    let mut text = record::heading("Random reads through a cache of 1 % of the data");
    let Options { mib, threads, rounds, seconds, .. } = options;
    writeln!(
        text,
        "{mib} MiB of pages, {} frames, {threads} threads. Thousand reads a second, medians of {rounds} rounds of \
         {seconds} s in turns; processor time of the process for each read. The limit: a loop over io_uring that \
         only reads pages (direct, or from the system's cache), without checksums.\n",
        blocks / 100
    )
    .expect("strings take writes");
    let columns =
        ["I/O", "reads at a time", "limit", "cache", "share", "CPU of the limit, µs", "CPU, µs"];
    record::table_head(&mut text, columns);
    let mut checks = String::new();
    for direct in [true, false] {
        if direct && let Err(fault) = disk.check_direct("") {
            writeln!(text, "| direct | | not here: {fault} | | | | |")
                .expect("strings take writes");
            continue;
        }
        if !direct {
            warm(&disk, blocks)?;
        }
        let mut shares = Vec::new();
        for depth in &options.depths {
            let (row, share) = compare(options, &disk, direct, *depth, blocks as u32)?;
            text.push_str(&row);
            shares.push((share, *depth));
        }
        if let Some((least, depth)) = shares.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
            let what =
                format!("{}: least share of the limit, {depth} reads at a time", name(direct));
            writeln!(checks, "- {}", figures::check_least(&what, least, ASKED))
                .expect("strings take writes");
        }
    }
    text.push('\n');
    text.push_str(&checks);
    record::print_and_save("eviction", &text, options.record)
}

fn name(direct: bool) -> &'static str {
    if direct { "direct" } else { "buffered" }
}

/// A line of the table, and the cache's share of the limit.
fn compare(
    options: &Options,
    disk: &Arc<dyn Disk>,
    direct: bool,
    depth: usize,
    blocks: u32,
) -> Result<(String, f64), String> {
    let (mut limits, mut caches) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        limits.push(limit(options, disk, direct, depth, blocks)?);
        caches.push(cache(options, disk, direct, depth, blocks)?);
        let (limit, cache) = (limits[limits.len() - 1], caches[caches.len() - 1]);
        eprintln!(
            "direct={direct} depth={depth} limit {:.0}/s cache {:.0}/s",
            limit.per_second, cache.per_second
        );
    }
    let of = |rounds: &[Round], figure: fn(&Round) -> f64| {
        record::median(rounds.iter().map(figure)).expect("at least one round")
    };
    let (limit, cache) = (of(&limits, |r| r.per_second), of(&caches, |r| r.per_second));
    // Pairs of a round, so that a machine that is slow for a while is so for both.
    let shares =
        limits.iter().zip(&caches).map(|(limit, cache)| cache.per_second / limit.per_second);
    let share = record::median(shares).expect("at least one round");
    let row = format!(
        "| {} | {depth} | {:.1} | {:.1} | {:.0} % | {:.1} | {:.1} |\n",
        name(direct),
        limit / 1000.0,
        cache / 1000.0,
        100.0 * share,
        of(&limits, |r| r.cpu_micros),
        of(&caches, |r| r.cpu_micros),
    );
    Ok((row, share))
}

/// A relation of sealed pages, written as they lie.
fn fill(disk: &Arc<dyn Disk>, blocks: u32) -> storage::Result<()> {
    const PAGES: u32 = 128;
    let files = RelFiles::open(Arc::clone(disk), 10)?;
    files.create(REL, false)?;
    let mut bytes = vec![0; PAGES as usize * PAGE_BYTES];
    for first in (0..blocks).step_by(PAGES as usize) {
        let count = PAGES.min(blocks - first);
        for n in 0..count {
            let id = PageId::main(REL, BlockNo(first + n));
            let mut page = PageBuf::new();
            page.page_mut().init(PageKind::Heap, 0);
            page.page_mut().put_u64(64, u64::from(id.block.0));
            let mut copy = PageBytes([0; PAGE_BYTES]);
            page.view().to_bytes(&mut copy);
            page::seal(&mut copy.0, id);
            bytes[n as usize * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&copy.0);
        }
        let page = PageId::main(REL, BlockNo(first));
        files.write(page, &bytes[..count as usize * PAGE_BYTES])?;
    }
    files.sync_all().map(drop)
}

/// Brings the data into the system's cache.
fn warm(disk: &Arc<dyn Disk>, blocks: usize) -> Result<(), String> {
    let file = open(disk, false)?;
    let mut room = Room::new(1 << 20);
    for offset in (0..blocks * PAGE_BYTES).step_by(1 << 20) {
        file.read_at(&mut room, offset as u64).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn open(disk: &Arc<dyn Disk>, direct: bool) -> Result<Arc<dyn File>, String> {
    let path = relfile::path(REL, Fork::Main);
    let opened = match direct {
        true => disk.open_direct(&path, Open::Existing),
        false => disk.open(&path, Open::Existing),
    };
    opened.map_err(|e| format!("{path}: {e}"))
}

/// User and system time of the process, in microseconds.
fn cpu_micros() -> f64 {
    let mut used = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: fills the struct it is given; it can't fail for the process itself.
    let used = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, used.as_mut_ptr());
        used.assume_init()
    };
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    micros(used.ru_utime) + micros(used.ru_stime)
}

/// Runs `work` in each thread, with how many reads it keeps under way and when to stop; it answers how many it did.
fn round(
    options: &Options,
    depth: usize,
    work: impl Fn(usize, u64, &AtomicBool) -> Result<u64, String> + Sync,
) -> Result<Round, String> {
    let threads = options.threads.min(depth);
    let (stop, cpu, begun) = (AtomicBool::new(false), cpu_micros(), Instant::now());
    let done: Result<Vec<u64>, String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|n| {
                let (work, stop) = (&work, &stop);
                let share = depth / threads + usize::from(n < depth % threads);
                scope.spawn(move || work(share, n as u64 + 1, stop))
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(options.seconds));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let done = done?.into_iter().sum::<u64>() as f64;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Round { per_second: done / seconds, cpu_micros: (cpu_micros() - cpu) / done })
}

/// Keeps reads of random pages under way, and does nothing with them.
fn limit(
    options: &Options,
    disk: &Arc<dyn Disk>,
    direct: bool,
    depth: usize,
    blocks: u32,
) -> Result<Round, String> {
    let file = open(disk, direct)?;
    let descriptor = types::Fd(file.raw_fd().ok_or("a file of the machine")?);
    round(options, depth, |share, seed, stop| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut rooms: Vec<Room> = (0..share).map(|_| Room::new(PAGE_BYTES)).collect();
        let entries = (share as u32).next_power_of_two();
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
        let mut ring = ring.or_else(|_| IoUring::new(entries)).map_err(|e| e.to_string())?;
        let (mut idle, mut done): (Vec<usize>, u64) = ((0..share).collect(), 0);
        while !stop.load(Ordering::Relaxed) || idle.len() < share {
            while let Some(at) = idle.pop_if(|_| !stop.load(Ordering::Relaxed)) {
                let offset = u64::from(random.u32(..blocks)) * PAGE_BYTES as u64;
                let to = rooms[at].as_mut_ptr();
                let order = opcode::Read::new(descriptor, to, PAGE_BYTES as u32).offset(offset);
                // SAFETY: the room stays, and is used for nothing else, until the completion.
                let queued = unsafe { ring.submission().push(&order.build().user_data(at as u64)) };
                queued.expect("there are no more orders than entries");
            }
            ring.submit_and_wait(1).map_err(|e| e.to_string())?;
            for completion in ring.completion() {
                if completion.result() != PAGE_BYTES as i32 {
                    // What is under way writes to the rooms: they must stay.
                    std::mem::forget(rooms);
                    return Err(format!("a read ended with {}", completion.result()));
                }
                idle.push(completion.user_data() as usize);
                done += 1;
            }
        }
        Ok(done)
    })
}

/// Reads random pages through the cache, from fibers.
fn cache(
    options: &Options,
    disk: &Arc<dyn Disk>,
    direct: bool,
    depth: usize,
    blocks: u32,
) -> Result<Round, String> {
    let told = |e: storage::Error| e.to_string();
    let env = Env::new(Arc::clone(disk));
    let files = RelFiles::open(Arc::clone(disk), 10).map_err(told)?;
    let files = if direct { files.direct().map_err(told)? } else { files };
    let config = Config { frames: blocks as usize / 100, ..Config::default() };
    let pool = Pool::open(&env, config, Arc::new(files)).map_err(told)?;
    let rel = pool.relation(REL, Rank::HeapPage);
    let outcome = round(options, depth, |share, seed, stop| {
        // The stop flag outlives the fibers, but they can't borrow it.
        let (ending, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let ring = ThreadRing::open().map_err(|e| e.to_string())?;
        let (woken, wake) = UnixStream::pair().map_err(|e| e.to_string())?;
        wake.set_nonblocking(true).map_err(|e| e.to_string())?;
        let scheduler = Scheduler::new(Order::Fifo, move || drop((&wake).write(b"w")));
        for n in 0..share as u64 {
            let (rel, ending, done) = (rel.clone(), Arc::clone(&ending), Arc::clone(&done));
            let job = move || read_at_random(&rel, seed * 1000 + n, blocks, &ending, &done);
            scheduler.spawn(job).map_err(|e| e.to_string())?;
        }
        while scheduler.busy() > 0 {
            ending.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            if !scheduler.run(64) && scheduler.busy() > 0 {
                sleep(&ring, &woken);
            }
        }
        Ok(done.load(Ordering::Relaxed))
    });
    drop(rel);
    pool.stop();
    outcome
}

fn read_at_random(rel: &Relation, seed: u64, blocks: u32, stop: &AtomicBool, done: &AtomicU64) {
    let mut random = fastrand::Rng::with_seed(seed);
    while !stop.load(Ordering::Relaxed) {
        let block = BlockNo(random.u32(..blocks));
        let page = rel.read(Fork::Main, block).expect("the data can be read");
        assert_eq!(page.get_u64(64), u64::from(block.0));
        drop(page);
        // Relaxed: fibers of one thread.
        done.store(done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Pages that the system has cached come without a wait.
        base::park::checkpoint();
    }
}

/// Until a read is complete or another thread has made a fiber ready; not long, for the round to end in time.
fn sleep(ring: &ThreadRing, woken: &UnixStream) {
    if ring::is_ready() {
        return;
    }
    let fds = [ring.as_raw_fd(), woken.as_raw_fd()];
    let mut fds = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: two entries, which outlive the call.
    unsafe { libc::poll(fds.as_mut_ptr(), 2, 10) };
    if fds[0].revents != 0 {
        ring.hush();
    }
    if fds[1].revents != 0 {
        let _ = (&*woken).read(&mut [0; 64]);
    }
}
