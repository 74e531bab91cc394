//! Indexes built from sorted entries, and the room they take.

use super::{check, index, tid};
use crate::hash::page::*;
use crate::hash::{FILL_PERCENT, HashIndex, build_order, key_hash};
use crate::rig::Rig;
use base::{BlockNo, Fork};

/// An index of so many different keys.
fn built(rig: &Rig, number: u32, entries: u64) -> HashIndex {
    let hash = |key: u64| key_hash(&key.to_le_bytes());
    let mut sorted: Vec<_> = (0..entries).map(|key| (hash(key), tid(key))).collect();
    sorted.sort_by_key(|(hash, _)| build_order(*hash));
    let index = index(rig, number, FILL_PERCENT);
    let mut builder = index.build(entries, FILL_PERCENT).unwrap();
    sorted.into_iter().for_each(|(hash, tid)| builder.push(hash, tid).unwrap());
    assert_eq!(builder.finish().unwrap(), entries);
    index
}

fn blocks(index: &HashIndex) -> u32 {
    index.relation().blocks(Fork::Main).unwrap()
}

/// Extents are filled with buckets to their ends: whatever the number of entries, no block of the file is left new.
#[test]
fn a_build_leaves_no_block_unused() {
    let rig = Rig::new(512);
    let target = u64::from(target_of(FILL_PERCENT));
    // Around the ends of extents, of one block and of many; in halves of a doubling, too.
    let buckets = [0, 1, 2, 3, 4, 5, 8, 9, 33, 64, 65, 129, 192, 193];
    let sizes = buckets.iter().flat_map(|buckets| [buckets * target, buckets * target + 1]);
    for (number, entries) in sizes.enumerate() {
        let index = built(&rig, number as u32 + 1, entries);
        let is_new = |block| index.relation().read(Fork::Main, BlockNo(block)).unwrap().is_new();
        let unused: Vec<u32> = (0..blocks(&index)).filter(|block| is_new(*block)).collect();
        assert!(unused.is_empty(), "{entries} entries: blocks {unused:?} are new");
        assert_eq!(check(&index).len() as u64, entries);
        let buckets = u64::from(index.directory.buckets());
        assert!(buckets * target >= entries, "{entries} entries: no split is due at once");
    }
}

/// Blocks that PostgreSQL 15 builds an index of so many different keys in, with its fillfactor of 75, when no bucket
/// overflows: the metapage, a bitmap, and buckets of 307 entries, rounded up to what it grows by, a doubling up to 512
/// buckets and a quarter of one beyond (`_hash_init`, `_hash_spareindex`).
fn in_postgres(entries: u64) -> u64 {
    let buckets = (entries / 307).max(2);
    let whole = buckets.next_power_of_two();
    let step = if whole <= 512 { whole } else { whole / 8 };
    2 + buckets.next_multiple_of(step)
}

/// 10⁷ entries are as many for each of 32,768 buckets as these are for 128, which is where half of them have an overflow
/// page here and none has one there: 256.01 MiB, and 256.02 there.
#[test]
fn a_build_is_no_larger_than_postgresql_s() {
    let rig = Rig::new(512);
    assert_eq!(in_postgres(10_000_000), 32_770);
    for (number, entries) in [600, 2_400, 9_700, 39_062, 78_125].into_iter().enumerate() {
        let blocks = u64::from(blocks(&built(&rig, number as u32 + 1, entries)));
        let there = in_postgres(entries);
        assert!(blocks <= there, "{entries} entries: {blocks} blocks, PostgreSQL {there}");
    }
}
