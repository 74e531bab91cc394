//! What rows and index entries cost in process, in nanoseconds of processor time: point lookups, row
//! fetches, inserts in ascending and random order, whole TPC-B-like transactions without a client.
//!
//! `cargo run --release -p bench --bin access_paths [-- ROWS [SECONDS_PER_ROUND [NAME_PART]]]`

use base::disk::real::RealDisk;
use base::env::Env;
use base::rank::Rank;
use base::{Persistence, Tid};
use bench::cpu::thread_nanos;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use storage::Result;
use storage::btree::{BTree, NewEntry};
use storage::engine::{Engine, EngineConfig};
use storage::hash::{FILL_PERCENT, HashIndex, build_order, key_hash};
use storage::heap::{Change, Freeze, HeapRel, HeapScan, Outcome, RowBuf};
use storage::txn::{Isolation, Snapshot, Txn};

const ROUNDS: usize = 3;
const BRANCHES: u64 = 10;
const TELLERS: u64 = 100;

/// A table of (key, balance, filler), with its primary key.
struct Table {
    heap: HeapRel,
    index: BTree,
}

struct World {
    engine: Arc<Engine>,
    rows: u64,
    accounts: Table,
    tellers: Table,
    branches: Table,
    history: HeapRel,
    ascending: BTree,
    random: BTree,
    /// The accounts' keys once more.
    hash: HashIndex,
    hash_random: HashIndex,
    next: AtomicU64,
}

/// What a thread has of its own.
struct Session<'w> {
    world: &'w World,
    txn: Txn,
    snapshot: Snapshot,
    buf: RowBuf,
    tids: Vec<Tid>,
    row: Vec<u8>,
    state: u64,
}

type Step = fn(&mut Session<'_>) -> Result<()>;

/// A path, whether it runs within one transaction that sees a snapshot, and one step of it.
const PATHS: &[(&str, bool, Step)] = &[
    ("index lookup, random key", true, |s| {
        let key = key(s.draw(s.world.rows));
        s.world.accounts.index.lookup(&key, &mut s.tids)?;
        assert_eq!(black_box(&s.tids).len(), 1);
        Ok(())
    }),
    ("hash lookup, random key", true, |s| {
        let key = key(s.draw(s.world.rows));
        s.world.hash.lookup(&key, &mut s.tids)?;
        assert!(!black_box(&s.tids).is_empty());
        Ok(())
    }),
    ("index lookup and row fetch, random key", true, |s| {
        let number = s.draw(s.world.rows);
        s.read(&s.world.accounts, number)
    }),
    ("index lookup and row fetch, one of 1000 keys", true, |s| {
        let number = s.draw(1000);
        s.read(&s.world.accounts, number)
    }),
    ("index lookup and row fetch, with a snapshot each", false, |s| {
        let number = s.draw(s.world.rows);
        s.txn.begin(Isolation::ReadCommitted);
        s.snapshot = s.txn.statement_snapshot();
        s.read(&s.world.accounts, number)?;
        s.txn.commit()?;
        Ok(())
    }),
    ("index insert, ascending keys", true, |s| {
        let number = s.world.next.fetch_add(1, Relaxed);
        s.world.ascending.insert(NewEntry::plain(&key(number), tid(number)))
    }),
    ("index insert, random keys", true, |s| {
        let number = s.draw(u64::MAX);
        let tid = tid(s.world.next.fetch_add(1, Relaxed));
        s.world.random.insert(NewEntry::plain(&key(number), tid))
    }),
    ("hash insert, random keys", true, |s| {
        let number = s.draw(u64::MAX);
        s.world.hash_random.insert(&key(number), tid(s.world.next.fetch_add(1, Relaxed)))
    }),
    ("row insert and commit", false, |s| {
        s.txn.begin(Isolation::ReadCommitted);
        s.world.history.insert(&s.txn, &[7; 40])?;
        s.txn.commit()?;
        Ok(())
    }),
    ("row update and commit, random key", false, |s| {
        let number = s.draw(s.world.rows);
        s.txn.begin(Isolation::ReadCommitted);
        s.add(&s.world.accounts, number, 1)?;
        s.txn.commit()?;
        Ok(())
    }),
    ("TPC-B transaction", false, |s| {
        let number = s.draw(s.world.rows);
        let (teller, branch) = (s.draw(TELLERS), s.draw(BRANCHES));
        s.txn.begin(Isolation::ReadCommitted);
        s.add(&s.world.accounts, number, 1)?;
        s.snapshot = s.txn.statement_snapshot();
        s.read(&s.world.accounts, number)?;
        s.add(&s.world.tellers, teller, 1)?;
        s.add(&s.world.branches, branch, 1)?;
        s.world.history.insert(&s.txn, &[7; 40])?;
        s.txn.commit()?;
        Ok(())
    }),
];

fn key(number: u64) -> [u8; 9] {
    let mut key = [1; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

fn tid(number: u64) -> Tid {
    Tid::from_u64((number / 64) << 16 | (number % 64 + 1))
}

fn row(number: u64, to: &mut Vec<u8>) {
    to.clear();
    to.extend_from_slice(&number.to_le_bytes());
    to.extend_from_slice(&0i64.to_le_bytes());
    to.resize(100, b' ');
}

impl Session<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % below
    }

    fn find(&mut self, table: &Table, number: u64) -> Result<()> {
        table.index.lookup(&key(number), &mut self.tids)?;
        for tid in &self.tids {
            if table.heap.fetch(&self.txn, &self.snapshot, *tid, &mut self.buf)? {
                return Ok(());
            }
            if table.heap.is_gone(*tid)? {
                table.index.mark_dead(&key(number), &mut |found| Ok(found == *tid))?;
            }
        }
        panic!("row {number} is there");
    }

    fn read(&mut self, table: &Table, number: u64) -> Result<()> {
        self.find(table, number)?;
        black_box(self.buf.bytes());
        Ok(())
    }

    /// Adds to a balance, as an UPDATE statement under READ COMMITTED does.
    fn add(&mut self, table: &Table, number: u64, by: i64) -> Result<()> {
        self.snapshot = self.txn.statement_snapshot();
        self.find(table, number)?;
        let (mut tid, mut turn) = (self.buf.tid(), None);
        loop {
            self.row.clear();
            self.row.extend_from_slice(self.buf.bytes());
            let field: [u8; 8] = self.row[8..16].try_into().expect("eight bytes");
            let balance = i64::from_le_bytes(field) + by;
            self.row[8..16].copy_from_slice(&balance.to_le_bytes());
            let change = Change { hot: true, key: false };
            match table.heap.update(&self.txn, tid, &self.row, change, turn.take())? {
                Outcome::Done { tid, heap_only } => {
                    if !heap_only {
                        table.index.insert(NewEntry::plain(&key(number), tid))?;
                    }
                    break;
                }
                Outcome::Updated { newest, turn: kept } => {
                    table.heap.fetch_version(newest, &mut self.buf)?;
                    (tid, turn) = (newest, kept);
                }
                other => panic!("{other:?}"),
            }
        }
        self.txn.next_command()?;
        self.txn.release_statement();
        Ok(())
    }
}

impl World {
    fn new(rows: u64, directory: &str) -> Result<World> {
        let env = Env::new(Arc::new(RealDisk::new(directory)));
        let config = EngineConfig { shared_buffers: 96 * 1024, ..EngineConfig::default() };
        Engine::create(&config, &env)?;
        let engine = Engine::open(&config, &env)?;
        let txn = Txn::attach(engine.txns(), 1, 1)?;
        txn.begin(Isolation::ReadCommitted);
        let heap = || -> Result<HeapRel> {
            let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage)?;
            Ok(HeapRel::new(rel, engine.txns(), 100))
        };
        let index = || -> Result<BTree> {
            let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::IndexPage)?;
            Ok(BTree::new(rel, engine.txns()))
        };
        let hash = || -> Result<HashIndex> {
            let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::IndexPage)?;
            Ok(HashIndex::new(rel, engine.txns(), FILL_PERCENT))
        };
        let table = |rows: u64| -> Result<Table> {
            let table = Table { heap: heap()?, index: index()? };
            fill(&table, &txn, rows)?;
            Ok(table)
        };
        let world = World {
            rows,
            accounts: table(rows)?,
            tellers: table(TELLERS)?,
            branches: table(BRANCHES)?,
            history: heap()?,
            ascending: index()?,
            random: index()?,
            hash: filled(hash()?, rows)?,
            hash_random: hash()?,
            next: AtomicU64::new(1),
            engine: Arc::clone(&engine),
        };
        txn.commit()?;
        Ok(world)
    }

    /// Runs a path on some threads; processor nanoseconds per step, and steps per second of the clock.
    fn run(
        &self,
        (_, within, step): &(&str, bool, Step),
        threads: u64,
        wanted: Duration,
    ) -> (f64, f64) {
        let (stop, steps, nanos) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let began = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (stop, steps, nanos) = (&stop, &steps, &nanos);
                scope.spawn(move || {
                    let txn = Txn::attach(self.engine.txns(), 1, 1).expect("a session");
                    txn.set_synchronous(false);
                    let mut session = Session {
                        world: self,
                        txn,
                        snapshot: Snapshot::NOW,
                        buf: RowBuf::new(),
                        tids: Vec::new(),
                        row: Vec::new(),
                        state: 0x9E37_79B9_7F4A_7C15 ^ (thread + 1),
                    };
                    if *within {
                        session.txn.begin(Isolation::RepeatableRead);
                        session.snapshot = session.txn.statement_snapshot();
                    }
                    let (mut done, cpu) = (0, thread_nanos());
                    while !stop.load(Relaxed) {
                        for _ in 0..32 {
                            step(&mut session).expect("the step works");
                        }
                        done += 32;
                    }
                    steps.fetch_add(done, Relaxed);
                    nanos.fetch_add(thread_nanos() - cpu, Relaxed);
                });
            }
            std::thread::sleep(wanted);
            stop.store(true, Relaxed);
        });
        let steps = steps.load(Relaxed) as f64;
        (nanos.load(Relaxed) as f64 / steps, steps / began.elapsed().as_secs_f64())
    }
}

fn fill(table: &Table, txn: &Txn, rows: u64) -> Result<()> {
    const BATCH: u64 = 1000;
    let mut builder = table.index.build()?;
    for first in (0..rows).step_by(BATCH as usize) {
        let batch: Vec<Vec<u8>> = (first..rows.min(first + BATCH))
            .map(|number| {
                let mut bytes = Vec::new();
                row(number, &mut bytes);
                bytes
            })
            .collect();
        let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        let mut tids = Vec::new();
        table.heap.multi_insert(txn, &batch, Freeze::No, None, &mut tids)?;
        for (number, tid) in (first..).zip(tids) {
            builder.push(NewEntry::plain(&key(number), tid))?;
        }
    }
    builder.finish()?;
    Ok(())
}

/// A hash index of the accounts' keys, as CREATE INDEX makes it.
fn filled(index: HashIndex, rows: u64) -> Result<HashIndex> {
    let mut entries: Vec<([u8; 8], Tid)> =
        (0..rows).map(|number| (build_order(key_hash(&key(number))), tid(number))).collect();
    entries.sort_unstable();
    let mut builder = index.build(rows, FILL_PERCENT)?;
    for (order, tid) in &entries {
        builder.push_in_order(order, *tid)?;
    }
    builder.finish()?;
    Ok(index)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(1_000_000, |a| a.parse().expect("ROWS is a number"));
    let seconds = arguments.next().map_or(1.0, |a| a.parse().expect("SECONDS is a number"));
    let wanted = arguments.next().unwrap_or_default();
    let directory = std::env::temp_dir().join(format!("thalweg-access-{}", std::process::id()));
    let directory = directory.to_str().expect("a directory with a printable name").to_owned();
    let began = Instant::now();
    let world = World::new(rows, &directory)?;
    println!("{rows} rows loaded in {:.2} s", began.elapsed().as_secs_f64());
    scan(&world)?;
    println!("{:<52} {:>7} {:>12} {:>14}", "path", "threads", "CPU ns/step", "steps/s");
    for path in PATHS.iter().filter(|path| path.0.contains(&wanted)) {
        for threads in [1, 2] {
            let mut runs: Vec<_> = (0..ROUNDS)
                .map(|_| world.run(path, threads, Duration::from_secs_f64(seconds)))
                .collect();
            runs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (nanos, rate) = runs[ROUNDS / 2];
            println!("{:<52} {threads:>7} {nanos:>12.1} {rate:>14.0}", path.0);
        }
    }
    let engine = Arc::clone(&world.engine);
    drop(world);
    engine.shutdown()?;
    std::fs::remove_dir_all(&directory).expect("the directory is this program's own");
    Ok(())
}

/// Reads every account once, and once more when hints are set.
fn scan(world: &World) -> Result<()> {
    let txn = Txn::attach(world.engine.txns(), 1, 1)?;
    for time in ["first", "second"] {
        txn.begin(Isolation::ReadCommitted);
        let (began, mut rows) = (Instant::now(), 0);
        let mut scan = HeapScan::new(&world.accounts.heap, txn.statement_snapshot())?;
        while let Some(row) = scan.next(&world.accounts.heap, &txn)? {
            black_box(row.bytes);
            rows += 1;
        }
        let nanos = began.elapsed().as_nanos() as f64 / rows as f64;
        println!("sequential scan, {time} time: {rows} rows, {nanos:.1} ns each");
        txn.commit()?;
    }
    Ok(())
}
