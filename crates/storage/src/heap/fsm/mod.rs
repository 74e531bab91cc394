//! The free-space map: where a row of so many bytes may find room. See the README of `heap`.
//!
//! A hint from end to end. It is not logged; an entry may be too high (whoever comes in vain corrects it) or
//! too low (vacuum corrects it). An index entry is raised after its leaf, and lowered only while the index
//! page is latched and the leaf is looked at again, so that a raise is not lost between the two.

mod slots;

use crate::buffer::{Optimistic, Relation, WriteGuard};
use crate::error::Result;
use crate::page::{HEADER_BYTES, PAGE_BYTES, PageKind, PageView};
use base::{BlockNo, Fork};
use slots::{Address, ENTRIES, GROUP, address, category_for, category_of, find, get, heap_block};

/// Free bytes that an index records for a page that is free as a whole.
const WHOLE: usize = PAGE_BYTES;
/// After so many disappointments a search gives up; the caller extends the relation.
const TRIES: usize = 6;

/// A block that probably has `needed` free bytes. `spread` (a session's number, say) lets different callers
/// begin at different places.
pub fn search(rel: &Relation, needed: usize, spread: usize) -> Result<Option<BlockNo>> {
    if rel.blocks(Fork::FreeSpace)? == 0 {
        return Ok(None);
    }
    let wanted = category_for(needed);
    for _ in 0..TRIES {
        match attempt(rel, wanted, spread)? {
            Attempt::Found(block, _) => return Ok(Some(block)),
            Attempt::Misled => {}
            Attempt::Nothing => return Ok(None),
        }
    }
    Ok(None)
}

/// Records that `block` has about `free` bytes.
pub fn record(rel: &Relation, block: BlockNo, free: usize) -> Result<()> {
    let (category, at) = (category_of(free), address(block));
    let blocks = rel.blocks(Fork::FreeSpace)?;
    let mut known = false;
    if blocks > at.leaf.0 {
        known = peek(rel, at.leaf, |page| get(page, at.slot))? == category;
    } else {
        if category == 0 {
            return Ok(());
        }
        rel.ensure_blocks(Fork::FreeSpace, at.leaf.0 + 1)?;
    }
    if !known {
        put(&mut latch(rel, at.leaf)?, at.slot, category);
    }
    // Also where the leaf knew: a crash may have left the two as they were at different times.
    if peek(rel, at.index, |page| get(page, at.index_slot))? < category {
        let mut index = latch(rel, at.index)?;
        if get(index.view(), at.index_slot) < category {
            put(&mut index, at.index_slot, category);
        }
    }
    Ok(())
}

/// Records that the whole page `block` of an index may be used again.
pub fn give_whole(rel: &Relation, block: BlockNo) -> Result<()> {
    record(rel, block, WHOLE)
}

/// Takes a page that was given; the caller still has to see whether it can be used.
pub fn take_whole(rel: &Relation) -> Result<Option<BlockNo>> {
    if rel.blocks(Fork::FreeSpace)? == 0 {
        return Ok(None);
    }
    let whole = category_of(WHOLE);
    for _ in 0..TRIES {
        match attempt(rel, whole, 0)? {
            Attempt::Nothing => return Ok(None),
            Attempt::Misled => {}
            Attempt::Found(block, at) => {
                let mut leaf = latch(rel, at.leaf)?;
                if get(leaf.view(), at.slot) == whole {
                    put(&mut leaf, at.slot, 0);
                    return Ok(Some(block));
                }
            }
        }
    }
    Ok(None)
}

/// Bytes that the map believes to be free in `block`.
pub fn believed(rel: &Relation, block: BlockNo) -> Result<usize> {
    let at = address(block);
    if rel.blocks(Fork::FreeSpace)? <= at.leaf.0 {
        return Ok(0);
    }
    Ok(usize::from(peek(rel, at.leaf, |page| get(page, at.slot))?) * slots::UNIT_BYTES)
}

/// How one search went.
enum Attempt {
    Found(BlockNo, Address),
    /// An entry was too high; it is corrected now.
    Misled,
    Nothing,
}

fn attempt(rel: &Relation, wanted: u8, spread: usize) -> Result<Attempt> {
    let heap_blocks = rel.blocks(Fork::Main)?;
    let groups = u64::from(heap_blocks).div_ceil(GROUP);
    for group in 0..groups {
        let index = BlockNo((group * (ENTRIES as u64 + 1)) as u32);
        if rel.blocks(Fork::FreeSpace)? <= index.0 {
            break;
        }
        let used = (u64::from(heap_blocks) - group * GROUP).min(GROUP) as usize;
        let leaves = used.div_ceil(ENTRIES);
        let Some(leaf) = peek(rel, index, |page| find(page, spread % leaves, wanted))? else {
            continue;
        };
        let leaf_block = BlockNo(index.0 + 1 + leaf as u32);
        if rel.blocks(Fork::FreeSpace)? <= leaf_block.0 {
            continue;
        }
        let within = (used - (leaf * ENTRIES).min(used)).clamp(1, ENTRIES);
        let start = spread.wrapping_mul(31) % within;
        let Some(slot) = peek(rel, leaf_block, |page| find(page, start, wanted))? else {
            lower_index(rel, index, leaf)?;
            return Ok(Attempt::Misled);
        };
        return Ok(match heap_block(group, leaf, slot) {
            Some(block) if block.0 < heap_blocks => Attempt::Found(block, address(block)),
            _ => {
                put(&mut latch(rel, leaf_block)?, slot, 0);
                Attempt::Misled
            }
        });
    }
    Ok(Attempt::Nothing)
}

/// Brings an index entry down to what its leaf has.
fn lower_index(rel: &Relation, index: BlockNo, leaf: usize) -> Result<()> {
    let mut page = latch(rel, index)?;
    let leaf_block = BlockNo(index.0 + 1 + leaf as u32);
    // Without a latch on the leaf: ranks allow no second one. Who raises the leaf after this look raises
    // the index after this latch.
    let largest = rel.optimistic(Fork::FreeSpace, leaf_block, |leaf| Some(slots::largest(leaf)));
    if let Optimistic::Ok(largest) = largest {
        put(&mut page, leaf, largest);
    }
    Ok(())
}

fn peek<T>(rel: &Relation, block: BlockNo, f: impl Fn(PageView<'_>) -> T) -> Result<T> {
    match rel.optimistic(Fork::FreeSpace, block, |page| Some(f(page))) {
        Optimistic::Ok(found) => Ok(found),
        Optimistic::Retry => Ok(f(rel.read(Fork::FreeSpace, block)?.view())),
    }
}

fn latch(rel: &Relation, block: BlockNo) -> Result<WriteGuard<'_>> {
    let mut page = rel.write(Fork::FreeSpace, block)?;
    if page.is_new() {
        page.mark_dirty();
        page.init(PageKind::FreeSpace, PAGE_BYTES - HEADER_BYTES);
    }
    Ok(page)
}

fn put(page: &mut WriteGuard<'_>, slot: usize, category: u8) {
    page.mark_dirty();
    page.put_u8(HEADER_BYTES + slot, category);
}

#[cfg(test)]
mod tests;
