//! Threads that look keys up, or insert new ones, for a while.

use crate::keys::Kind;
use crate::tid;
use base::Tid;
use bench::cpu::thread_nanos;
use fastrand::Rng;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use storage::btree::{BTree, NewEntry};
use storage::engine::Engine;
use storage::hash::HashIndex;
use storage::txn::{Isolation, Txn};

/// Indexes of the same keys.
pub struct Made {
    pub kind: Kind,
    pub count: u64,
    pub indexes: Vec<Index>,
}

/// One of them.
pub struct Index {
    /// What leads its lines: `B-tree`, or the hash index's protocol.
    pub name: &'static str,
    tree: Tree,
    /// The next number to insert.
    next: AtomicU64,
}

pub enum Tree {
    BTree(BTree),
    Hash(Box<HashIndex>),
}

impl Index {
    /// One with the keys of the numbers below `count`.
    pub fn new(name: &'static str, tree: Tree, count: u64) -> Index {
        Index { name, tree, next: AtomicU64::new(count) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Lookup,
    Insert,
}

impl Operation {
    pub const ALL: [Operation; 2] = [Operation::Lookup, Operation::Insert];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Lookup => "look-up",
            Operation::Insert => "insert",
        }
    }

    /// Does it once.
    fn step(self, made: &Made, index: &Index, random: &mut Rng, tids: &mut Vec<Tid>) {
        match self {
            Operation::Lookup => {
                let key = made.kind.key(random.u64(..made.count));
                let done = match &index.tree {
                    Tree::BTree(btree) => btree.lookup(key.bytes(), tids),
                    Tree::Hash(hash) => hash.lookup(key.bytes(), tids),
                };
                done.expect("the look-up works");
                assert!(!black_box(&*tids).is_empty(), "every key that is looked up is there");
            }
            Operation::Insert => {
                let number = index.next.fetch_add(1, Relaxed);
                let (key, tid) = (made.kind.key_between(number, made.count), tid(number));
                let done = match &index.tree {
                    Tree::BTree(btree) => btree.insert(NewEntry::plain(key.bytes(), tid)),
                    Tree::Hash(hash) => hash.insert(key.bytes(), tid),
                };
                done.expect("the insert works");
            }
        }
    }
}

/// What a run came to.
pub struct Ran {
    /// Operations per second of the clock.
    pub rate: f64,
    /// Processor nanoseconds for each.
    pub nanos: f64,
    /// Lines that others had used, written for each; of pages' contents apart. Not a number where they are not counted.
    pub shared_lines: f64,
    pub page_lines: f64,
}

/// Does `operation` on an index with some threads for a while.
pub fn run(
    engine: &Arc<Engine>,
    made: &Made,
    index: &Index,
    operation: Operation,
    threads: u64,
    seconds: f64,
) -> Ran {
    let (stop, steps, nanos) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let (began, counts) = (Instant::now(), counted());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (stop, steps, nanos) = (&stop, &steps, &nanos);
            scope.spawn(move || {
                let txn = Txn::attach(engine.txns(), 1, 1).expect("a session");
                txn.begin(Isolation::RepeatableRead);
                let mut random = Rng::new();
                let (mut tids, mut done, cpu) = (Vec::new(), 0, thread_nanos());
                while !stop.load(Relaxed) {
                    for _ in 0..32 {
                        operation.step(made, index, &mut random, &mut tids);
                    }
                    done += 32;
                }
                steps.fetch_add(done, Relaxed);
                nanos.fetch_add(thread_nanos() - cpu, Relaxed);
            });
        }
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Relaxed);
    });
    let steps = steps.load(Relaxed) as f64;
    let after = counted();
    Ran {
        rate: steps / began.elapsed().as_secs_f64(),
        nanos: nanos.load(Relaxed) as f64 / steps,
        shared_lines: (after[0] - counts[0]) / steps,
        page_lines: (after[1] - counts[1]) / steps,
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
