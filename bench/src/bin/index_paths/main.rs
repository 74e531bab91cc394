//! Look-ups and inserts of B-tree and hash index in process, side by side: integer keys and texts like uuids, one thread
//! and more. One line for each index, kind of key, operation and number of threads: operations per second of the clock,
//! processor nanoseconds for each, and, in a build with the feature `lab-counts`, the shared lines that each writes. With
//! `--paths` instead: a line for each index, operation and kind of key, as the lab reads them. With `--growth` instead: how
//! long each insert takes, and how many pages it touches, while an index grows from nothing to that many keys.
//!
//! Built with the feature `lab-hash-protocols` it has the hash index a second and a third time, under the protocols that
//! seed S4 compared (`crates/storage/src/hash/metapage_locks.rs`). So the lab builds it for `s4-protocols`, and
//! `bench/index_paths.sh`, which records what it prints.

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
use load::{Index, Made, Operation, Ran, Tree, run};
use std::process::ExitCode;
use std::sync::Arc;
use storage::btree::{BTree, NewEntry};
use storage::engine::{Engine, EngineConfig};
use storage::hash::{FILL_PERCENT, HashIndex, build_order, key_hash};
use storage::txn::{Isolation, Txn};

const USAGE: &str = "\
usage: index_paths [--keys 10000000] [--kinds int,text] [--threads 1,2,4,8,16] [--seconds 1] [--rounds 3]
                   [--growth|--paths]
       index_paths --circumstances";

struct Options {
    keys: u64,
    kinds: Vec<Kind>,
    threads: Vec<u64>,
    seconds: f64,
    rounds: usize,
    growth: bool,
    /// Only lines for the lab.
    paths: bool,
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
        paths: false,
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
            "--paths" => options.paths = true,
            "--circumstances" => options.circumstances = true,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

/// A protocol's name, and a new index that follows it.
type Form = (&'static str, fn(HashIndex) -> HashIndex);

/// The one that is built.
const BUILT: &str = "built";

#[cfg(feature = "lab-hash-protocols")]
const FORMS: &[Form] = &[
    (BUILT, |index| index),
    ("patch", |index| index.following(storage::hash::Protocol::Patch)),
    ("master", |index| index.following(storage::hash::Protocol::Master)),
];
#[cfg(not(feature = "lab-hash-protocols"))]
const FORMS: &[Form] = &[(BUILT, |index| index)];

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

    /// The indexes with the first `count` keys.
    fn made(&self, kind: Kind, count: u64) -> Result<Made, String> {
        let btree = self.btree()?;
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
        let mut indexes = vec![Index::new("B-tree", Tree::BTree(btree), count)];
        for (name, following) in FORMS {
            let hash = following(self.hash()?);
            let mut builder = hash.build(count, FILL_PERCENT).map_err(said)?;
            for (order, tid) in &entries {
                builder.push_in_order(order, *tid).map_err(said)?;
            }
            builder.finish().map_err(said)?;
            indexes.push(Index::new(name, Tree::Hash(Box::new(hash)), count));
        }
        Ok(Made { kind, count, indexes })
    }

    fn end(self) -> Result<(), String> {
        self.txn.commit().map_err(said)?;
        drop(self.txn);
        self.engine.shutdown().map_err(said)?;
        std::fs::remove_dir_all(&self.directory).map_err(|fault| fault.to_string())
    }
}

/// What is asked for: how many times as fast as the B-tree the hash index is to be.
const HASH_OVER_TREE: [(Operation, f64); 2] = [(Operation::Lookup, 1.2), (Operation::Insert, 1.0)];

/// Of one kind of keys: every run, by index, operation and threads.
struct Measured {
    kind: Kind,
    indexes: Vec<&'static str>,
    runs: Vec<(&'static str, Operation, u64, Ran)>,
}

impl Measured {
    fn median(
        &self,
        index: &str,
        operation: Operation,
        threads: u64,
        figure: fn(&Ran) -> f64,
    ) -> f64 {
        let these = self.runs.iter().filter(|r| (r.0, r.1, r.2) == (index, operation, threads));
        median(these.map(|run| figure(&run.3))).unwrap_or(f64::NAN)
    }

    /// A line for each run.
    fn print(&self, threads: &[u64]) {
        for &index in &self.indexes {
            for operation in Operation::ALL {
                for &threads in threads {
                    let of =
                        |figure: fn(&Ran) -> f64| self.median(index, operation, threads, figure);
                    println!(
                        "{index:<8} {:<5} {:<14} {threads:>3} {:>12.0} {:>10.0} {:>8.2} {:>8.2}",
                        self.kind.name(),
                        operation.name(),
                        of(|r| r.rate),
                        of(|r| r.nanos),
                        of(|r| r.shared_lines),
                        of(|r| r.page_lines),
                    );
                }
            }
        }
        for (operation, least) in HASH_OVER_TREE {
            for &threads in threads {
                let of = |index| self.median(index, operation, threads, |r| r.rate);
                let over = of(BUILT) / of("B-tree");
                let verdict = if over >= least { "holds" } else { "MISSED" };
                println!(
                    "{:<5} {}s, hash over B-tree, {threads} threads: {over:.2} (at least {least}: {verdict})",
                    self.kind.name(),
                    operation.name(),
                );
            }
        }
    }

    /// Lines `INDEX, OPERATIONS of KEYS  1 thread X ns  2 threads Y ns …`: nanoseconds of each thread, by the clock.
    fn print_paths(&self, threads: &[u64]) {
        for operation in Operation::ALL {
            for &index in &self.indexes {
                let name =
                    if index == "B-tree" { index.to_owned() } else { format!("hash, {index}") };
                let mut line = format!("{name}, {}s of {}", operation.name(), self.kind.plural());
                for &threads in threads {
                    let rate = self.median(index, operation, threads, |r| r.rate);
                    let plural = if threads == 1 { "" } else { "s" };
                    let nanos = threads as f64 * 1e9 / rate;
                    line.push_str(&format!("  {threads} thread{plural} {nanos:.2} ns"));
                }
                println!("{line}");
            }
        }
    }
}

fn compare(options: &Options, world: &World, kind: Kind) -> Result<Measured, String> {
    let made = world.made(kind, options.keys)?;
    // Repetitions outermost, indexes innermost: what the machine does meanwhile hits all of them.
    let mut runs = Vec::new();
    for _ in 0..options.rounds {
        for operation in Operation::ALL {
            for &threads in &options.threads {
                for index in &made.indexes {
                    let ran = run(&world.engine, &made, index, operation, threads, options.seconds);
                    runs.push((index.name, operation, threads, ran));
                }
            }
        }
    }
    Ok(Measured { kind, indexes: made.indexes.iter().map(|index| index.name).collect(), runs })
}

fn measure() -> Result<(), String> {
    let options = options()?;
    if options.circumstances {
        println!("{}", bench::record::circumstances());
        return Ok(());
    }
    if !options.paths && !options.growth {
        println!(
            "{:<8} {:<5} {:<14} {:>3} {:>12} {:>10} {:>8} {:>8}",
            "index", "keys", "operation", "n", "per second", "CPU ns", "lines", "pages'"
        );
    }
    for &kind in &options.kinds {
        let world = World::new()?;
        if options.growth {
            growth::measure(&world, kind, options.keys)?;
        } else {
            let measured = compare(&options, &world, kind)?;
            match options.paths {
                true => measured.print_paths(&options.threads),
                false => measured.print(&options.threads),
            }
        }
        world.end()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    options::end("index_paths", measure())
}
