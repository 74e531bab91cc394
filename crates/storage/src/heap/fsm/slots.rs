//! Categories and the arithmetic of the free-space map.
//!
//! A map page has one byte per entry behind its header. A *leaf* entry is a heap block's free space in units
//! of [`UNIT_BYTES`], rounded down; an *index* entry is the largest byte of a leaf page. Blocks of the fork:
//! every group is one index page followed by as many leaf pages as it has entries.

use crate::page::{HEADER_BYTES, PAGE_BYTES, PageView};
use base::BlockNo;

/// Entries of a map page. A multiple of 8, so that searching goes by words.
pub(super) const ENTRIES: usize = PAGE_BYTES - HEADER_BYTES;
const _: () = assert!(ENTRIES.is_multiple_of(8) && HEADER_BYTES.is_multiple_of(8));

/// Heap blocks that a group covers.
pub(super) const GROUP: u64 = ENTRIES as u64 * ENTRIES as u64;

/// Bytes of free space per unit.
pub(super) const UNIT_BYTES: usize = 32;

/// Free bytes as a category: so many are surely there.
pub(super) fn category_of(free_bytes: usize) -> u8 {
    (free_bytes / UNIT_BYTES).min(255) as u8
}

/// The category whose pages surely have `needed` bytes.
pub(super) fn category_for(needed: usize) -> u8 {
    needed.div_ceil(UNIT_BYTES).clamp(1, 255) as u8
}

/// Where a heap block's byte is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    /// Leaf page's block in the fork.
    pub leaf: BlockNo,
    /// Entry in it.
    pub slot: usize,
    /// Index page's block in the fork.
    pub index: BlockNo,
    /// The leaf's entry there.
    pub index_slot: usize,
}

/// Where `block`'s byte is.
pub(super) fn address(block: BlockNo) -> Address {
    let number = u64::from(block.0);
    let (group, within) = (number / GROUP, number % GROUP);
    let (leaf, slot) = (within / ENTRIES as u64, within % ENTRIES as u64);
    let index = group * (ENTRIES as u64 + 1);
    Address {
        leaf: BlockNo((index + 1 + leaf) as u32),
        slot: slot as usize,
        index: BlockNo(index as u32),
        index_slot: leaf as usize,
    }
}

/// The heap block of entry `slot` of the `leaf`-th leaf page of a group.
pub(super) fn heap_block(group: u64, leaf: usize, slot: usize) -> Option<BlockNo> {
    let number = group * GROUP + (leaf * ENTRIES + slot) as u64;
    u32::try_from(number).ok().map(BlockNo)
}

/// The byte of `slot`.
pub(super) fn get(page: PageView<'_>, slot: usize) -> u8 {
    page.get_u8(HEADER_BYTES + slot)
}

/// The first entry at or after `from`, going around once, of at least `wanted`.
pub(super) fn find(page: PageView<'_>, from: usize, wanted: u8) -> Option<usize> {
    let start = from % ENTRIES / 8;
    let words = ENTRIES / 8;
    (start..words).chain(0..start).find_map(|word| {
        let bytes = page.get_u64(HEADER_BYTES + word * 8).to_le_bytes();
        // Checked as a whole first: most words have nothing.
        let any = bytes.iter().fold(false, |any, byte| any | (*byte >= wanted));
        any.then(|| {
            let at = bytes.iter().position(|byte| *byte >= wanted);
            word * 8 + at.expect("one of the eight is large enough")
        })
    })
}

/// The largest entry.
pub(super) fn largest(page: PageView<'_>) -> u8 {
    let word = |i| page.get_u64(HEADER_BYTES + i * 8).to_le_bytes();
    let max = |a: [u8; 8], b: [u8; 8]| std::array::from_fn(|i| a[i].max(b[i]));
    let folded = (0..ENTRIES / 8).map(word).fold([0; 8], max);
    folded.into_iter().max().expect("eight bytes have a largest")
}
