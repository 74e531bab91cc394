//! How long latches are held, by rank and manner.

use super::Hold;
use super::counting::{STRIPES, thread};
use crate::pad::Padded;
use crate::rank::Rank;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Ranks by their place here, as people know them.
const RANKS: [&str; 15] = [
    "outer",
    "table",
    "page writer",
    "heap page",
    "index page",
    "free-space page",
    "visibility page",
    "sequence page",
    "status-log bank",
    "lock shard",
    "buffer bookkeeping",
    "file sync",
    "file table",
    "log",
    "leaf",
];
/// Four to each power of two, up to half a minute.
const BUCKETS: usize = 136;

struct Kind {
    nanos: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Kind {
    const fn new() -> Kind {
        Kind { nanos: AtomicU64::new(0), buckets: [const { AtomicU64::new(0) }; BUCKETS] }
    }
}

type Table = [[Kind; 2]; RANKS.len()];

static STRIPE: [Padded<Table>; STRIPES] =
    [const { Padded([const { [const { Kind::new() }; 2] }; RANKS.len()]) }; STRIPES];

fn place(rank: Rank) -> usize {
    match rank {
        Rank::Outer => 0,
        Rank::Table => 1,
        Rank::PageWriter => 2,
        Rank::HeapPage => 3,
        Rank::IndexPage => 4,
        Rank::FsmPage => 5,
        Rank::VmPage => 6,
        Rank::SequencePage => 7,
        Rank::SlruBank => 8,
        Rank::LockShard => 9,
        Rank::BufferMap => 10,
        Rank::RelSync => 11,
        Rank::RelFile => 12,
        Rank::Wal => 13,
        Rank::Leaf => 14,
    }
}

/// A latch of this rank was held so for this long.
pub(super) fn held(rank: Rank, how: Hold, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let kind = &STRIPE[thread() % STRIPES].0[place(rank)][how as usize];
    // Relaxed: sums for people.
    kind.nanos.fetch_add(nanos, Relaxed);
    kind.buckets[bucket(nanos)].fetch_add(1, Relaxed);
}

/// As [`super::told`] says it; kinds that were never held are not in it.
pub(super) fn told() -> String {
    let mut text = String::new();
    for (rank, name) in RANKS.iter().enumerate() {
        for (how, manner) in ["alone", "shared"].into_iter().enumerate() {
            let kinds = || STRIPE.iter().map(|stripe| &stripe.0[rank][how]);
            let sum = |of: &dyn Fn(&Kind) -> u64| kinds().map(of).sum::<u64>();
            let counts: [u64; BUCKETS] =
                std::array::from_fn(|b| sum(&|kind| kind.buckets[b].load(Relaxed)));
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            let nanos = sum(&|kind| kind.nanos.load(Relaxed));
            write!(text, " | {name}, {manner}={nanos}").expect("strings take writes");
            for (b, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                write!(text, " {}:{count}", bound(b)).expect("strings take writes");
            }
        }
    }
    text
}

/// Of four to each power of two, the one that this many nanoseconds belong to.
pub(super) fn bucket(nanos: u64) -> usize {
    if nanos < 4 {
        return nanos as usize;
    }
    let power = nanos.ilog2() as usize;
    let quarter = (nanos >> (power - 2)) as usize & 3;
    ((power - 1) * 4 + quarter).min(BUCKETS - 1)
}

/// What is shorter than this many nanoseconds, and in no bucket before, is in it; and what is longer than all, in the last.
pub(super) fn bound(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64 + 1;
    }
    let (power, quarter) = (bucket / 4 + 1, bucket % 4);
    (5 + quarter as u64) << (power - 2)
}
