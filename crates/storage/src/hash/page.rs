//! The bytes of a hash index's pages, read side, and the arithmetic of buckets.
//!
//! ```text
//!  0  page header (24 bytes, see `page/`)
//! 24  next u32    next overflow page of the chain, 0: none (block 0 is the metapage)
//! 28  changes u32 counts the changes to the page's entries; wraps
//! 32  count u16   entries
//! 34  role u8     metapage, bucket, overflow, free
//! 35  state u8    bucket: SPLITTING, FILLING
//! 36  bucket u32  whose entries these are
//! 40  depth u8    bucket: how many low bits all hashes of the bucket share (the stamp, with `bucket`)
//! 44  cursor u32  bucket that is SPLITTING: the page of its chain that is looked through next, 0: none left
//! 48  moves u32   bucket: counts entries moved between pages of the chain, or out of it; wraps
//! 64  entries, 16 bytes each: hash u64, slot u64; ascending; up to `lower`
//! ```
//!
//! `slot` has the TID in bits 0–47, and bit 62 marks the row dead to everybody (a hint, never logged).
//!
//! The metapage, block 0:
//!
//! ```text
//! 34  role u8
//! 36  buckets u32
//! 40  entries u64 as of the last split, build, vacuum, or insert that put it down
//! 48  target u16  entries per bucket beyond which the index grows
//! 50  extents u16 how many there are
//! 64  first block of each extent, u32 each
//! ```

use crate::page::{PAGE_BYTES, PageKind, PageView};
use base::{BlockNo, Tid};

pub(super) const NEXT: usize = 24;
pub(super) const CHANGES: usize = 28;
pub(super) const COUNT: usize = 32;
pub(super) const ROLE: usize = 34;
pub(super) const STATE: usize = 35;
pub(super) const BUCKET: usize = 36;
pub(super) const DEPTH: usize = 40;
pub(super) const CURSOR: usize = 44;
pub(super) const MOVES: usize = 48;
pub(super) const ENTRIES: usize = 64;

pub(super) const META_BUCKETS: usize = 36;
pub(super) const META_ENTRIES: usize = 40;
pub(super) const META_TARGET: usize = 48;
pub(super) const META_EXTENTS: usize = 50;
pub(super) const META_TABLE: usize = 64;

/// Bytes of one entry.
pub(super) const ENTRY_BYTES: usize = 16;
/// Most entries of a page.
pub(super) const MAX_ENTRIES: usize = (PAGE_BYTES - ENTRIES) / ENTRY_BYTES;

/// The metapage's block.
pub(super) const META: BlockNo = BlockNo(0);
/// No page: what a `next` of 0 means.
pub(super) const NONE: BlockNo = BlockNo(0);

/// What a page of the index is for.
pub(super) mod role {
    /// Block 0.
    pub const META: u8 = 1;
    /// The first page of a bucket; its latch is the bucket's.
    pub const BUCKET: u8 = 2;
    /// Another page of a bucket.
    pub const OVERFLOW: u8 = 3;
    /// In nobody's chain; the free-space map knows it.
    pub const FREE: u8 = 4;
}

/// Entries whose hash has the bit below the depth belong to the bucket's new partner, and may still be here.
pub(super) const SPLITTING: u8 = 1;
/// Entries of this bucket may still be in the one that it was split from.
pub(super) const FILLING: u8 = 2;

/// Most buckets: 64 Mi, 512 GiB of bucket pages.
pub(super) const BUCKETS_MAX: u32 = 1 << 26;
/// Doublings up to this one are one extent each, later ones more.
const WHOLE_DOUBLINGS: u32 = 6;
/// Most extents of one doubling, as a power of two: growing takes a 64th of the buckets there are at a time.
const PARTS_LOG2_MAX: u32 = 6;
/// Extents of the largest index.
pub(super) const EXTENTS_MAX: usize = extent_of(BUCKETS_MAX - 1).index + 1;
const _: () = assert!(META_TABLE + 4 * EXTENTS_MAX <= PAGE_BYTES);
/// The last extent ends with the last bucket: whoever fills whole extents has no bucket too many.
const _: () = {
    let last = extent_of(BUCKETS_MAX - 1);
    assert!(last.offset + 1 == last.blocks);
};

const VALUE_MASK: u64 = (1 << 48) - 1;
pub(super) const DEAD: u64 = 1 << 62;

/// Where a bucket's page lies: in which extent, and how far from its first block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub index: usize,
    pub offset: u32,
    /// Blocks of the extent.
    pub blocks: u32,
}

/// Extents of a doubling, as a power of two.
const fn parts_log2(doubling: u32) -> u32 {
    let parts = doubling.saturating_sub(WHOLE_DOUBLINGS);
    if parts < PARTS_LOG2_MAX { parts } else { PARTS_LOG2_MAX }
}

/// Extents before the first of each doubling; bucket 0 is an extent of its own.
const FIRST_EXTENT: [u16; 26] = {
    let mut first = [1; 26];
    let mut doubling = 1;
    while doubling < 26 {
        first[doubling] = first[doubling - 1] + (1 << parts_log2(doubling as u32 - 1));
        doubling += 1;
    }
    first
};

/// The extent of a bucket. Doubling *d* adds the buckets from 2^d up to 2^(d+1).
#[inline]
pub(super) const fn extent_of(bucket: u32) -> Spot {
    if bucket == 0 {
        return Spot { index: 0, offset: 0, blocks: 1 };
    }
    let doubling = bucket.ilog2();
    let part_log2 = doubling - parts_log2(doubling);
    let within = bucket - (1 << doubling);
    Spot {
        index: FIRST_EXTENT[doubling as usize] as usize + (within >> part_log2) as usize,
        offset: within & ((1 << part_log2) - 1),
        blocks: 1 << part_log2,
    }
}

/// Entries per bucket beyond which an index with this fillfactor grows.
pub(super) fn target_of(fill_percent: u8) -> u16 {
    (MAX_ENTRIES * usize::from(fill_percent) / 100) as u16
}

/// The bucket of a hash when there are so many.
#[inline]
pub(super) fn bucket_of(hash: u64, buckets: u32) -> u32 {
    let high = buckets.next_power_of_two() - 1;
    let bucket = hash as u32 & high;
    if bucket < buckets { bucket } else { bucket & (high >> 1) }
}

/// The low bits that all hashes of `bucket` share when there are so many buckets.
pub(super) fn depth_of(bucket: u32, buckets: u32) -> u8 {
    let whole = buckets.ilog2();
    let split = bucket < buckets - (1 << whole) || bucket >= 1 << whole;
    whole as u8 + u8::from(split)
}

/// The bucket that `bucket` is split from.
pub(super) fn parent_of(bucket: u32) -> u32 {
    bucket - (1 << bucket.ilog2())
}

#[inline]
pub(super) fn mask(depth: u8) -> u64 {
    (1 << (depth & 31)) - 1
}

/// The hash of a key, part of the disk format. Chunks of 8 bytes are folded in by a multiplication; the end
/// mixes so that low bits (the bucket) and high bits (the place on the page) are both good.
#[inline]
pub fn key_hash(key: &[u8]) -> u64 {
    let mut state = 0x51ED_2700_9B8F_3D45 ^ key.len() as u64;
    let (chunks, tail) = key.as_chunks::<8>();
    for chunk in chunks {
        state = fold(state, u64::from_le_bytes(*chunk));
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        state = fold(state, u64::from_le_bytes(last));
    }
    // Bijective: what differed before still does.
    state ^= state >> 32;
    state = state.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    state ^ state >> 29
}

#[inline]
fn fold(state: u64, chunk: u64) -> u64 {
    let product = u128::from(state ^ chunk) * 0x9E37_79B9_7F4A_7C15_u128;
    state.rotate_left(29) ^ product as u64 ^ (product >> 64) as u64
}

/// One entry: a hash and a TID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Entry {
    pub hash: u64,
    /// As [`Tid::to_u64`] packs it.
    pub tid: u64,
}

/// The packed second half of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot(pub u64);

impl Slot {
    #[inline]
    pub fn value(self) -> u64 {
        self.0 & VALUE_MASK
    }

    #[inline]
    pub fn tid(self) -> Tid {
        Tid::from_u64(self.value())
    }

    #[inline]
    pub fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }
}

/// After so many steps from the guessed position a search halves what is left.
const LINEAR_STEPS: u32 = 24;

/// Reads a page. Total: whatever the bytes are, no method panics, so optimistic readers may use it.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(pub PageView<'a>);

impl<'a> Node<'a> {
    #[inline]
    pub fn is(self, role: u8) -> bool {
        self.0.kind() == Some(PageKind::Hash) && self.0.get_u8(ROLE) == role
    }

    #[inline]
    pub fn next(self) -> BlockNo {
        BlockNo(self.0.get_u32(NEXT))
    }

    /// Differs from before if entries came or went since.
    #[inline]
    pub fn changes(self) -> u32 {
        self.0.get_u32(CHANGES)
    }

    #[inline]
    pub fn moves(self) -> u32 {
        self.0.get_u32(MOVES)
    }

    #[inline]
    pub fn count(self) -> usize {
        usize::from(self.0.get_u16(COUNT)).min(MAX_ENTRIES)
    }

    /// Entries that find room.
    pub fn room(self) -> usize {
        MAX_ENTRIES - self.count()
    }

    #[inline]
    pub fn state(self) -> u8 {
        self.0.get_u8(STATE)
    }

    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.state() & flag != 0
    }

    #[inline]
    pub fn bucket(self) -> u32 {
        self.0.get_u32(BUCKET)
    }

    #[inline]
    pub fn depth(self) -> u8 {
        self.0.get_u8(DEPTH)
    }

    pub fn cursor(self) -> BlockNo {
        BlockNo(self.0.get_u32(CURSOR))
    }

    /// Whether it is the first page of `bucket`, and the bucket that `hash` belongs to (X2).
    #[inline]
    pub fn is_bucket_for(self, bucket: u32, hash: u64) -> bool {
        self.is(role::BUCKET)
            && self.bucket() == bucket
            && hash & mask(self.depth()) == u64::from(bucket)
    }

    /// Whether it is an overflow page of `bucket`.
    #[inline]
    pub fn is_overflow_of(self, bucket: u32) -> bool {
        self.is(role::OVERFLOW) && self.bucket() == bucket
    }

    #[inline]
    pub fn hash(self, i: usize) -> u64 {
        self.0.get_u64(ENTRIES + i * ENTRY_BYTES)
    }

    #[inline]
    pub fn slot(self, i: usize) -> Slot {
        Slot(self.0.get_u64(ENTRIES + i * ENTRY_BYTES + 8))
    }

    #[inline]
    pub fn entry(self, i: usize) -> Entry {
        Entry { hash: self.hash(i), tid: self.slot(i).value() }
    }

    /// Position of the first entry with a hash not below `hash`. Hashes of a bucket are spread evenly in their
    /// high bits, so the place is guessed, and found a few entries away.
    #[inline]
    pub fn first_of(self, hash: u64) -> usize {
        let count = self.count();
        let mut at = ((u128::from(hash) * count as u128) >> 64) as usize;
        let mut steps = 0;
        if at < count && self.hash(at) < hash {
            while at < count && self.hash(at) < hash {
                at += 1;
                steps += 1;
                if steps == LINEAR_STEPS {
                    return self.halve(hash, at, count);
                }
            }
        } else {
            while at > 0 && self.hash(at - 1) >= hash {
                at -= 1;
                steps += 1;
                if steps == LINEAR_STEPS {
                    return self.halve(hash, 0, at);
                }
            }
        }
        at
    }

    #[cold]
    fn halve(self, hash: u64, mut low: usize, mut high: usize) -> usize {
        while low < high {
            let middle = (low + high) / 2;
            if self.hash(middle) < hash { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Position of the first entry not before `entry`.
    pub fn lower_bound(self, entry: Entry) -> usize {
        let (mut low, mut high) = (self.first_of(entry.hash), self.count());
        if low < high && self.hash(low) != entry.hash {
            return low;
        }
        while low < high {
            let middle = (low + high) / 2;
            if self.entry(middle) < entry { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Appends the TIDs of `hash` that are not known to be dead.
    #[inline]
    pub fn append_equal(self, hash: u64, tids: &mut Vec<Tid>) {
        let count = self.count();
        let mut at = self.first_of(hash);
        while at < count && self.hash(at) == hash {
            let slot = self.slot(at);
            if !slot.is_dead() {
                tids.push(slot.tid());
            }
            at += 1;
        }
    }

    /// Positions of the entries that `wanted` names.
    pub fn positions(self, mut wanted: impl FnMut(u64, Slot) -> bool) -> Vec<u16> {
        (0..self.count())
            .filter(|i| wanted(self.hash(*i), self.slot(*i)))
            .map(|i| i as u16)
            .collect()
    }

    pub fn meta_buckets(self) -> u32 {
        self.0.get_u32(META_BUCKETS).min(BUCKETS_MAX)
    }

    pub fn meta_entries(self) -> u64 {
        self.0.get_u64(META_ENTRIES)
    }

    pub fn meta_target(self) -> u16 {
        self.0.get_u16(META_TARGET).max(1)
    }

    pub fn meta_extents(self) -> usize {
        usize::from(self.0.get_u16(META_EXTENTS)).min(EXTENTS_MAX)
    }

    /// First block of an extent.
    pub fn meta_extent(self, index: usize) -> u32 {
        self.0.get_u32(META_TABLE + 4 * index)
    }
}
