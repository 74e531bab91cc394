//! The visibility map: two bits per heap block, a promise (invariants H4 and H5). See the README of
//! `heap`.

use crate::buffer::{Optimistic, Relation, WriteGuard};
use crate::error::Result;
use crate::page::{HEADER_BYTES, PAGE_BYTES, PageKind, PageMut, PageView};
use base::{BlockNo, Fork};

/// Every version of the block is visible to every snapshot.
pub const ALL_VISIBLE: u8 = 1;
/// And its creator's id need not be remembered.
pub const ALL_FROZEN: u8 = 2;

/// Heap blocks per byte.
const PER_BYTE: u32 = 4;
/// Heap blocks per page.
const PER_PAGE: u32 = (PAGE_BYTES - HEADER_BYTES) as u32 * PER_BYTE;

/// Where a block's bits are: map block, byte offset, shift.
fn place(block: BlockNo) -> (BlockNo, usize, u32) {
    let within = block.0 % PER_PAGE;
    let byte = HEADER_BYTES + (within / PER_BYTE) as usize;
    (BlockNo(block.0 / PER_PAGE), byte, within % PER_BYTE * 2)
}

fn bits(page: PageView<'_>, block: BlockNo) -> u8 {
    let (_, byte, shift) = place(block);
    page.get_u8(byte) >> shift & 3
}

/// Sets exactly `to` of the two bits of heap block `block`; the forward path and redo.
pub(super) fn put(page: &mut PageMut<'_>, block: BlockNo, to: u8) {
    if page.is_new() {
        page.init(PageKind::Visibility, PAGE_BYTES - HEADER_BYTES);
    }
    let (_, byte, shift) = place(block);
    let others = page.get_u8(byte) & !(3 << shift);
    page.put_u8(byte, others | to << shift);
}

/// What the map says of a block. Without latch: true of some moment during the call.
pub fn get(rel: &Relation, block: BlockNo) -> Result<u8> {
    let map = place(block).0;
    if rel.blocks(Fork::Visibility)? <= map.0 {
        return Ok(0);
    }
    match rel.optimistic(Fork::Visibility, map, |page| Some(bits(page, block))) {
        Optimistic::Ok(found) => Ok(found),
        Optimistic::Retry => Ok(bits(rel.read(Fork::Visibility, map)?.view(), block)),
    }
}

/// The map page of heap block `block`, latched, made if it is not there.
pub(super) fn latch(rel: &Relation, block: BlockNo) -> Result<WriteGuard<'_>> {
    let map = place(block).0;
    rel.ensure_blocks(Fork::Visibility, map.0 + 1)?;
    rel.write(Fork::Visibility, map)
}

/// The first block behind the heap's end that the map promises something of: there must be none (H4).
pub fn first_behind(rel: &Relation) -> Result<Option<BlockNo>> {
    let end = rel.blocks(Fork::Main)?;
    let maps = rel.blocks(Fork::Visibility)?;
    for map in end / PER_PAGE..maps {
        let page = rel.read(Fork::Visibility, BlockNo(map))?;
        if page.is_zero() {
            continue;
        }
        let blocks = (map * PER_PAGE).max(end)..(map + 1) * PER_PAGE;
        let mut promised = blocks.map(BlockNo).filter(|block| bits(page.view(), *block) != 0);
        if let Some(block) = promised.next() {
            return Ok(Some(block));
        }
    }
    Ok(None)
}

/// How many blocks are all visible, and all frozen.
pub fn count(rel: &Relation) -> Result<(u32, u32)> {
    let (mut visible, mut frozen) = (0, 0);
    for map in 0..rel.blocks(Fork::Visibility)? {
        let page = rel.read(Fork::Visibility, BlockNo(map))?;
        for offset in (HEADER_BYTES..PAGE_BYTES).step_by(8) {
            let word = page.get_u64(offset);
            visible += (word & 0x5555_5555_5555_5555).count_ones();
            frozen += (word & 0xAAAA_AAAA_AAAA_AAAA).count_ones();
        }
    }
    Ok((visible, frozen))
}
