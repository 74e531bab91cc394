//! What is in memory of the metapage, so that look-ups and inserts need not touch it: the number of buckets,
//! the first blocks of the extents, and counters of entries.
//!
//! The number of buckets is one word; whoever read an old one learns it from the bucket's stamp (X2). The
//! table of extents is only ever appended to, before the word says that there are buckets in the new one.

use super::page::*;
use super::split::Left;
use super::{HashIndex, first_latch};
use crate::error::{Error, Result};
use base::pad::Padded;
use base::sync::unmodelled::Ordering::{AcqRel, Acquire, Relaxed, Release};
use base::sync::unmodelled::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize};
use base::{BlockNo, Fork};
use std::cell::Cell;

pub(super) struct Directory {
    /// Buckets there are; 0: not known, or none. It only grows.
    buckets: Padded<AtomicU32>,
    target: AtomicU32,
    extents: Box<[AtomicU32]>,
}

impl Directory {
    pub fn new() -> Directory {
        Directory {
            buckets: Padded(AtomicU32::new(0)),
            target: AtomicU32::new(1),
            extents: (0..EXTENTS_MAX).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    #[inline]
    pub fn buckets(&self) -> u32 {
        // Acquire: pairs with the release in `take`: the extents of these buckets are there.
        self.buckets.load(Acquire)
    }

    /// The first page of a bucket, one of those that `buckets` told of.
    #[inline]
    pub fn block_of(&self, bucket: u32) -> BlockNo {
        let spot = extent_of(bucket);
        // Relaxed: see `buckets`.
        BlockNo(self.extents[spot.index].load(Relaxed) + spot.offset)
    }

    /// The first block of an extent, if the metapage told of it: block 0 is the metapage's own.
    pub fn extent(&self, index: usize) -> Option<u32> {
        // Relaxed: see `buckets`.
        Some(self.extents[index].load(Relaxed)).filter(|start| *start != META.0)
    }

    /// Entries per bucket beyond which the index grows.
    pub fn target(&self) -> u32 {
        // Relaxed: set once, before the first number of buckets.
        self.target.load(Relaxed)
    }

    /// Takes over what a latched metapage says.
    pub fn take(&self, meta: Node<'_>) {
        for index in 0..meta.meta_extents() {
            self.extents[index].store(meta.meta_extent(index), Relaxed);
        }
        self.target.store(u32::from(meta.meta_target()), Relaxed);
        // Release: pairs with the acquire in `buckets`. The largest, as a reader of an older state may be late.
        self.buckets.fetch_max(meta.meta_buckets(), Release);
    }
}

/// Shards of the counter.
const SHARDS: usize = 16;
/// Inserts of a shard between two looks at the sum.
const LOOK_EVERY: i64 = 16;

/// The part of the entries by which their number may change before it is put down again: a 64th. Less than a bucket's
/// share it need not be.
const PUT_DOWN_PART: u64 = 64;

/// The number of entries: what the metapage had when the index was opened, and what changed since. After a
/// crash it lacks what came after it was put down last, a 64th or a bucket's share at most.
#[derive(Default)]
pub(super) struct Counters {
    is_loaded: AtomicBool,
    /// What the metapage has.
    on_page: AtomicU64,
    shards: [Padded<AtomicI64>; SHARDS],
}

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Hands out shards to threads.
static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);

fn shard() -> usize {
    SHARD.with(|shard| {
        if shard.get() == usize::MAX {
            // Relaxed: any order will do.
            shard.set(NEXT_SHARD.fetch_add(1, Relaxed) % SHARDS);
        }
        shard.get()
    })
}

impl Counters {
    /// Begins with the metapage's number, the first time; true if this is it.
    pub fn load(&self, entries: u64) -> bool {
        if self.is_loaded.swap(true, AcqRel) {
            return false;
        }
        self.change(entries as i64);
        self.put_down(entries);
        true
    }

    /// Notes what was written to the metapage.
    pub fn put_down(&self, entries: u64) {
        // Relaxed: an estimate.
        self.on_page.store(entries, Relaxed);
    }

    /// Whether the number has moved away from the one on the metapage, by more than `leeway` and a part of it.
    pub fn has_moved(&self, leeway: u64) -> bool {
        // Relaxed: an estimate.
        let on_page = self.on_page.load(Relaxed);
        self.sum().abs_diff(on_page) > leeway.max(on_page / PUT_DOWN_PART)
    }

    /// Notes entries that came (or went).
    pub fn change(&self, by: i64) {
        // Relaxed: an estimate.
        self.shards[shard()].fetch_add(by, Relaxed);
    }

    /// Notes an insert; true if it is time to look at the sum.
    #[inline]
    pub fn inserted(&self) -> bool {
        // Relaxed: an estimate.
        self.shards[shard()].fetch_add(1, Relaxed) % LOOK_EVERY == 0
    }

    pub fn sum(&self) -> u64 {
        // Relaxed: an estimate.
        self.shards.iter().map(|shard| shard.load(Relaxed)).sum::<i64>().max(0) as u64
    }
}

impl HashIndex {
    /// The number of buckets; 0: the index has no page yet.
    #[inline]
    pub(super) fn buckets(&self) -> Result<u32> {
        match self.directory.buckets() {
            0 => self.refresh(),
            known => Ok(known),
        }
    }

    /// Reads the metapage again, and answers with the number of buckets. No latch may be held.
    #[cold]
    pub(super) fn refresh(&self) -> Result<u32> {
        first_latch();
        if self.rel.blocks(Fork::Main)? == 0 {
            return Ok(0);
        }
        let meta = self.rel.read(Fork::Main, META)?;
        let node = Node(meta.view());
        if meta.is_new() {
            return Ok(0);
        }
        if !node.is(role::META) || node.meta_buckets() == 0 {
            return Err(Error::damaged(self.name(), Some(META), "it is no metapage"));
        }
        if self.counters.load(node.meta_entries()) && node.meta_buckets() > 1 {
            // The split of the last bucket may not have been finished. If it was, the first step finds that out.
            self.left.note(Left::Moves(parent_of(node.meta_buckets() - 1)));
        }
        // After a crash the file may be shorter than the extents: nobody must take their blocks for others.
        let end = extents_end(node);
        if self.rel.blocks(Fork::Main)? < end {
            self.rel.ensure_blocks(Fork::Main, end)?;
        }
        self.directory.take(node);
        Ok(self.directory.buckets())
    }

    /// The first page of a bucket.
    #[inline]
    pub(super) fn block_of(&self, bucket: u32) -> BlockNo {
        self.directory.block_of(bucket)
    }
}

/// Where the extents that a metapage tells of end: with that of the last bucket, or with the next one, which a
/// crash has left without a bucket.
fn extents_end(meta: Node<'_>) -> u32 {
    let buckets = meta.meta_buckets();
    let next = (buckets < BUCKETS_MAX).then(|| extent_of(buckets));
    let ahead = next.filter(|spot| spot.index < meta.meta_extents());
    let last = ahead.unwrap_or_else(|| extent_of(buckets - 1));
    meta.meta_extent(last.index) + last.blocks
}
