//! Look-ups and inserts of B-tree and hash index in process, side by side: integer keys and texts like uuids, one thread
//! and more. One line for each kind of key, operation and number of threads: operations per second of the clock, processor
//! nanoseconds for each, and, in a build with the feature `lab-counts`, the shared lines that each writes. With `--growth`
//! instead: how long each insert takes, and how many pages it touches, while an index grows from nothing to that many keys.
//!
//! Built with a feature of the laboratory the hash index follows one of the protocols that seed S4 compared
//! (`crates/storage/src/hash/metapage_locks.rs`); the name of what was built leads every line. `bench/index_paths.sh` builds
//! all forms, runs them in turn and records what they print.

mod growth;
mod keys;
mod load;

use base::disk::real::RealDisk;
use base::env::Env;
use base::rank::Rank;
use base::{Persistence, Tid};
use bench::options::{self, Words};
use bench::record::median;
use keys::Kind;
use load::{Made, Operation, Ran, run};
use std::process::ExitCode;
use std::sync::Arc;
use storage::btree::{BTree, NewEntry};
use storage::engine::{Engine, EngineConfig};
use storage::hash::{FILL_PERCENT, HashIndex, build_order, key_hash};
use storage::txn::{Isolation, Txn};

const USAGE: &str = "\
usage: index_paths [--keys 10000000] [--kinds int,text] [--threads 1,2,4,8,16] [--seconds 1] [--rounds 3] [--growth]
       index_paths --circumstances";

struct Options {
    keys: u64,
    kinds: Vec<Kind>,
    threads: Vec<u64>,
    seconds: f64,
    rounds: usize,
    growth: bool,
    /// Only date, machine and commit are printed.
    circumstances: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        keys: 10_000_000,
        kinds: vec![Kind::Int, Kind::Text],
        threads: vec![1, 2, 4, 8, 16],
        seconds: 1.0,
        rounds: 3,
        growth: false,
        circumstances: false,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--keys" => options.keys = words.number()?,
            "--kinds" => options.kinds = words.numbers()?,
            "--threads" => options.threads = words.numbers()?,
            "--seconds" => options.seconds = words.number()?,
            "--rounds" => options.rounds = words.number()?,
            "--growth" => options.growth = true,
            "--circumstances" => options.circumstances = true,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

/// Which protocol the hash index was built with.
fn form() -> &'static str {
    match () {
        () if cfg!(feature = "lab-hash-master") => "master",
        () if cfg!(feature = "lab-hash-patch") => "patch",
        () => "built",
    }
}

fn said(error: storage::error::Error) -> String {
    error.to_string()
}

/// The row of a number.
fn tid(number: u64) -> Tid {
    Tid::from_u64((number / 64) << 16 | (number % 64 + 1))
}

/// An engine in a directory of its own, with room for everything in memory.
struct World {
    engine: Arc<Engine>,
    txn: Txn,
    directory: String,
}

impl World {
    fn new() -> Result<World, String> {
        let path = std::env::temp_dir().join(format!("thalweg-index-{}", std::process::id()));
        let directory = path.to_str().ok_or("a directory with a printable name")?.to_owned();
        let env = Env::new(Arc::new(RealDisk::new(&directory)));
        let config = EngineConfig { shared_buffers: 512 * 1024, ..EngineConfig::default() };
        Engine::create(&config, &env).map_err(said)?;
        let engine = Engine::open(&config, &env).map_err(said)?;
        let txn = Txn::attach(engine.txns(), 1, 1).map_err(said)?;
        txn.begin(Isolation::ReadCommitted);
        Ok(World { engine, txn, directory })
    }

    fn btree(&self) -> Result<BTree, String> {
        let rel = self.engine.create_relation(&self.txn, Persistence::Permanent, Rank::IndexPage);
        Ok(BTree::new(rel.map_err(said)?, self.engine.txns()))
    }

    fn hash(&self) -> Result<HashIndex, String> {
        let rel = self.engine.create_relation(&self.txn, Persistence::Permanent, Rank::IndexPage);
        Ok(HashIndex::new(rel.map_err(said)?, self.engine.txns(), FILL_PERCENT))
    }

    /// Both indexes with the first `count` keys.
    fn made(&self, kind: Kind, count: u64) -> Result<Made, String> {
        let (btree, hash) = (self.btree()?, self.hash()?);
        let mut builder = btree.build().map_err(said)?;
        for number in kind.sorted(count) {
            let key = kind.key(number);
            builder.push(NewEntry::plain(key.bytes(), tid(number))).map_err(said)?;
        }
        builder.finish().map_err(said)?;
        let order = |number| build_order(key_hash(kind.key(number).bytes()));
        let mut entries: Vec<([u8; 8], Tid)> =
            (0..count).map(|number| (order(number), tid(number))).collect();
        entries.sort_unstable();
        let mut builder = hash.build(count, FILL_PERCENT).map_err(said)?;
        for (order, tid) in &entries {
            builder.push_in_order(order, *tid).map_err(said)?;
        }
        builder.finish().map_err(said)?;
        Ok(Made::new(kind, count, btree, hash))
    }

    fn end(self) -> Result<(), String> {
        self.txn.commit().map_err(said)?;
        drop(self.txn);
        self.engine.shutdown().map_err(said)?;
        std::fs::remove_dir_all(&self.directory).map_err(|fault| fault.to_string())
    }
}

/// What is asked for: how many times as fast as the B-tree the hash index is to be.
const HASH_OVER_TREE: [(&str, Operation, Operation, f64); 2] = [
    ("look-ups", Operation::HashLookup, Operation::TreeLookup, 1.2),
    ("inserts", Operation::HashInsert, Operation::TreeInsert, 1.0),
];

fn compare(options: &Options, world: &World, kind: Kind) -> Result<(), String> {
    let made = world.made(kind, options.keys)?;
    // Repetitions outermost: what the machine does meanwhile hits all operations.
    let mut runs: Vec<(Operation, u64, Ran)> = Vec::new();
    for _ in 0..options.rounds {
        for operation in Operation::ALL {
            for &threads in &options.threads {
                let ran = run(&world.engine, &made, operation, threads, options.seconds);
                runs.push((operation, threads, ran));
            }
        }
    }
    let of = |operation: Operation, threads: u64, figure: fn(&Ran) -> f64| {
        let these = runs.iter().filter(|run| (run.0, run.1) == (operation, threads));
        median(these.map(|run| figure(&run.2))).unwrap_or(f64::NAN)
    };
    for operation in Operation::ALL {
        for &threads in &options.threads {
            println!(
                "{:<8} {:<5} {:<14} {threads:>3} {:>12.0} {:>10.0} {:>8.2} {:>8.2}",
                form(),
                kind.name(),
                operation.name(),
                of(operation, threads, |r| r.rate),
                of(operation, threads, |r| r.nanos),
                of(operation, threads, |r| r.shared_lines),
                of(operation, threads, |r| r.page_lines),
            );
        }
    }
    for (what, hash, tree, least) in HASH_OVER_TREE {
        for &threads in &options.threads {
            let over = of(hash, threads, |r| r.rate) / of(tree, threads, |r| r.rate);
            let verdict = if over >= least { "holds" } else { "MISSED" };
            println!(
                "{:<8} {:<5} {what}, hash over B-tree, {threads} threads: {over:.2} (at least {least}: {verdict})",
                form(),
                kind.name(),
            );
        }
    }
    Ok(())
}

fn measure() -> Result<(), String> {
    let options = options()?;
    if options.circumstances {
        println!("{}", bench::record::circumstances());
        return Ok(());
    }
    println!(
        "{:<8} {:<5} {:<14} {:>3} {:>12} {:>10} {:>8} {:>8}",
        "hash", "keys", "operation", "n", "per second", "CPU ns", "lines", "pages'"
    );
    for &kind in &options.kinds {
        let world = World::new()?;
        if options.growth {
            growth::measure(&world, kind, options.keys)?;
        } else {
            compare(&options, &world, kind)?;
        }
        world.end()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    options::end("index_paths", measure())
}
