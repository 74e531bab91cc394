//! Point lookups on a table that the cache holds, in process: by a B-tree, and by a B-tree and then the row, beside an
//! ordered map in memory (the standard library's B-tree, which nobody may change meanwhile) as the limit. Look-ups per
//! second of all threads together, processor nanoseconds for each; medians of interleaved rounds.
//!
//! In a build with the feature `lab-counts` also the shared lines that each look-up writes; its times are not to be
//! compared, so that both builds are made and run:
//!
//! ```text
//! cargo build --release --locked -p bench --bin point_lookups && target/release/point_lookups
//! cargo build --release --locked -p bench --bin point_lookups --features lab-counts --target-dir target/lab-counts
//! target/lab-counts/release/point_lookups
//! ```

use base::disk::real::RealDisk;
use base::env::Env;
use base::rank::Rank;
use base::{Persistence, Tid};
use bench::cpu::thread_nanos;
use bench::options::{self, Words};
use bench::record::{self, median, table_head};
use bench::servers::Scratch;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use storage::btree::{BTree, NewEntry};
use storage::engine::{Engine, EngineConfig};
use storage::heap::{Freeze, HeapRel, HeapScan, RowBuf};
use storage::txn::{Isolation, Snapshot, Txn};

const USAGE: &str = "\
usage: point_lookups [--rows 10000000] [--threads 1,2] [--seconds 3] [--rounds 5] [--data DIRECTORY] [--no-record]";
/// Of pgbench's accounts, about.
const ROW_BYTES: usize = 100;
const BATCH: u64 = 1000;
/// So many rows of that length with their index entries need less than a page of the cache.
const ROWS_PER_PAGE: u64 = 32;

struct Options {
    rows: u64,
    threads: Vec<usize>,
    seconds: f64,
    rounds: usize,
    data: std::path::PathBuf,
    record: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        rows: 10_000_000,
        threads: vec![1, 2],
        seconds: 3.0,
        rounds: 5,
        data: std::env::temp_dir(),
        record: true,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--rows" => options.rows = words.number::<std::num::NonZero<u64>>()?.get(),
            "--threads" => options.threads = words.numbers()?,
            "--seconds" => options.seconds = words.number()?,
            "--rounds" => options.rounds = words.number::<std::num::NonZero<usize>>()?.get(),
            "--data" => options.data = words.value()?.into(),
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("point_lookups", options().and_then(|options| run(&options)))
}

fn said(error: storage::Error) -> String {
    error.to_string()
}

/// The table, and the same rows in an ordered map.
struct World {
    engine: Arc<Engine>,
    heap: HeapRel,
    index: BTree,
    map: BTreeMap<u64, [u8; ROW_BYTES]>,
    rows: u64,
}

/// What a thread has of its own.
struct Session<'w> {
    world: &'w World,
    txn: Txn,
    snapshot: Snapshot,
    buf: RowBuf,
    tids: Vec<Tid>,
    random: Rng,
}

/// What is compared: a name, and one look-up, which answers the number that the row was made with.
type Way = (&'static str, fn(&mut Session<'_>, u64) -> storage::Result<u64>);

const WAYS: [Way; 3] = [
    ("B-tree", |session, number| {
        session.world.index.lookup(&key(number), &mut session.tids)?;
        assert_eq!(session.tids.len(), 1, "row {number} is there once");
        Ok(number)
    }),
    ("B-tree and row", |session, number| {
        session.world.index.lookup(&key(number), &mut session.tids)?;
        let Session { world, txn, snapshot, buf, tids, .. } = session;
        assert!(world.heap.fetch(txn, snapshot, tids[0], buf)?, "row {number} is visible");
        Ok(number_in(buf.bytes()))
    }),
    ("ordered map in memory", |session, number| Ok(number_in(&session.world.map[&number]))),
];

fn key(number: u64) -> [u8; 9] {
    let mut key = [1; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

fn row(number: u64) -> [u8; ROW_BYTES] {
    let mut row = [b' '; ROW_BYTES];
    row[..8].copy_from_slice(&number.to_le_bytes());
    row
}

fn number_in(row: &[u8]) -> u64 {
    u64::from_le_bytes(row[..8].try_into().expect("eight bytes"))
}

impl World {
    fn new(rows: u64, directory: &Scratch) -> storage::Result<World> {
        let env = Env::new(Arc::new(RealDisk::new(directory.path())));
        let shared_buffers = 4096 + (rows / ROWS_PER_PAGE) as usize;
        let config = EngineConfig { shared_buffers, ..EngineConfig::default() };
        Engine::create(&config, &env)?;
        let engine = Engine::open(&config, &env)?;
        let txn = Txn::attach(engine.txns(), 1, 1)?;
        txn.begin(Isolation::ReadCommitted);
        let heap = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage)?;
        let index = engine.create_relation(&txn, Persistence::Permanent, Rank::IndexPage)?;
        let heap = HeapRel::new(heap, engine.txns(), 100);
        let index = BTree::new(index, engine.txns());
        let mut builder = index.build()?;
        let mut tids = Vec::new();
        for first in (0..rows).step_by(BATCH as usize) {
            let batch: Vec<_> = (first..rows.min(first + BATCH)).map(row).collect();
            let batch: Vec<&[u8]> = batch.iter().map(<[u8; ROW_BYTES]>::as_slice).collect();
            tids.clear();
            heap.multi_insert(&txn, &batch, Freeze::No, None, &mut tids)?;
            for (number, tid) in (first..).zip(&tids) {
                builder.push(NewEntry::plain(&key(number), *tid))?;
            }
        }
        builder.finish()?;
        txn.commit()?;
        let map = (0..rows).map(|number| (number, row(number))).collect();
        let world = World { engine, heap, index, map, rows };
        world.settle()?;
        Ok(world)
    }

    /// Looks at every row, so that all of them are known to be committed; then nothing is left to be written.
    fn settle(&self) -> storage::Result<()> {
        let txn = Txn::attach(self.engine.txns(), 1, 1)?;
        txn.begin(Isolation::ReadCommitted);
        let mut scan = HeapScan::new(&self.heap, txn.statement_snapshot())?;
        let mut seen = 0;
        while let Some(row) = scan.next(&self.heap, &txn)? {
            black_box(row.bytes);
            seen += 1;
        }
        assert_eq!(seen, self.rows);
        txn.commit()?;
        self.engine.checkpoint()
    }

    fn session(&self, seed: u64) -> Session<'_> {
        let txn = Txn::attach(self.engine.txns(), 1, 1).expect("a session");
        txn.begin(Isolation::RepeatableRead);
        let snapshot = txn.statement_snapshot();
        let (buf, tids, random) = (RowBuf::new(), Vec::new(), Rng::with_seed(seed));
        Session { world: self, txn, snapshot, buf, tids, random }
    }

    fn loads(&self) -> u64 {
        self.engine.pool().stats().loads
    }
}

/// What a round came to.
struct Round {
    /// Of all threads, per second of the clock.
    rate: f64,
    /// Processor nanoseconds for each.
    nanos: f64,
    /// Lines that others had used, written for each; of pages' contents apart. Not a number where they are not counted.
    lines: f64,
    page_lines: f64,
}

fn round(world: &World, (_, look_up): &Way, threads: usize, seconds: f64) -> Round {
    let (stop, done, nanos) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let (counts, begun) = (counted(), Instant::now());
    std::thread::scope(|scope| {
        for seed in 0..threads as u64 {
            let (stop, done, nanos) = (&stop, &done, &nanos);
            scope.spawn(move || {
                let mut session = world.session(seed + 1);
                let (mut mine, cpu) = (0, thread_nanos());
                while !stop.load(Relaxed) {
                    for _ in 0..64 {
                        let number = session.random.u64(..world.rows);
                        let found = look_up(&mut session, number).expect("it can be looked up");
                        assert_eq!(found, number);
                    }
                    mine += 64;
                }
                done.fetch_add(mine, Relaxed);
                nanos.fetch_add(thread_nanos() - cpu, Relaxed);
            });
        }
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Relaxed);
    });
    let (took, after) = (begun.elapsed().as_secs_f64(), counted());
    let done = done.into_inner() as f64;
    Round {
        rate: done / took,
        nanos: nanos.into_inner() as f64 / done,
        lines: (after[0] - counts[0]) / done,
        page_lines: (after[1] - counts[1]) / done,
    }
}

/// Shared lines written so far, and those of pages' contents.
#[cfg(feature = "lab-counts")]
fn counted() -> [f64; 2] {
    use base::counts::{Count, so_far};
    [Count::SharedLine, Count::PageLine].map(|what| so_far(what) as f64)
}

/// Other builds count nothing.
#[cfg(not(feature = "lab-counts"))]
fn counted() -> [f64; 2] {
    [f64::NAN; 2]
}

fn run(options: &Options) -> Result<(), String> {
    let directory = Scratch::within(&options.data, "point-lookups")?;
    let world = World::new(options.rows, &directory).map_err(said)?;
    let mut rounds: Vec<Vec<Round>> = Vec::new();
    rounds.resize_with(WAYS.len() * options.threads.len(), Vec::new);
    // Once each before it counts, so that no round is the first to touch the memory.
    for way in &WAYS {
        round(&world, way, 1, options.seconds);
    }
    let read = world.loads();
    for _ in 0..options.rounds {
        for (at, threads) in options.threads.iter().enumerate() {
            for (number, way) in WAYS.iter().enumerate() {
                let round = round(&world, way, *threads, options.seconds);
                rounds[number * options.threads.len() + at].push(round);
            }
        }
    }
    if world.loads() != read {
        return Err(format!("{} pages were read: the cache holds too few", world.loads() - read));
    }
    let text = table(options, &rounds);
    world.engine.shutdown().map_err(said)?;
    let kind = if cfg!(feature = "lab-counts") { "point-lookups-counted" } else { "point-lookups" };
    record::print_and_save(kind, &text, options.record)
}

fn table(options: &Options, rounds: &[Vec<Round>]) -> String {
    let mut text = record::heading("Point look-ups in process");
    let Options { rows, seconds, .. } = options;
    let counts = cfg!(feature = "lab-counts");
    writeln!(
        text,
        "{rows} rows of {ROW_BYTES} bytes, all in the cache, random keys; medians of {} interleaved rounds of {seconds} s. \
         Shared lines: those that another thread had used since this one last wrote them{}.\n",
        options.rounds,
        if counts { "; this build counts them, which takes time" } else { " (this build does not count them)" }
    )
    .expect("strings take writes");
    let columns = ["", "threads", "thousand a second", "of the map's", "CPU ns"];
    let counted = ["shared lines written", "pages' shared lines written"];
    table_head(
        &mut text,
        columns.into_iter().chain(counts.then_some(counted).into_iter().flatten()),
    );
    for (number, (name, _)) in WAYS.iter().enumerate() {
        for (at, threads) in options.threads.iter().enumerate() {
            let of = |number: usize, figure: fn(&Round) -> f64| {
                let rounds = &rounds[number * options.threads.len() + at];
                median(rounds.iter().map(figure)).unwrap_or(f64::NAN)
            };
            let (rate, limit) = (of(number, |r| r.rate), of(WAYS.len() - 1, |r| r.rate));
            write!(
                text,
                "| {name} | {threads} | {:.0} | {:.0} % | {:.0} |",
                rate / 1e3,
                100.0 * rate / limit,
                of(number, |r| r.nanos)
            )
            .expect("strings take writes");
            if counts {
                let [lines, pages] = [of(number, |r| r.lines), of(number, |r| r.page_lines)];
                write!(text, " {lines:.2} | {pages:.2} |").expect("strings take writes");
            }
            text.push('\n');
        }
    }
    text
}
