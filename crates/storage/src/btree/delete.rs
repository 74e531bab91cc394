//! Removing entries: what vacuum does with a tree.

use super::page::*;
use super::plan::JOINED_MAX;
use super::{BTree, edit};
use crate::buffer::{Passage, WriteGuard};
use crate::error::Result;
use crate::journal::Journal;
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Tid, Xid};

/// What cleaning an index did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexCleaning {
    /// Entries looked at.
    pub entries: u64,
    /// Entries removed.
    pub removed: u64,
    /// Leaves looked at.
    pub pages: u64,
    /// Empty pages taken out of the tree.
    pub pages_deleted: u64,
    /// Pages there are, of all kinds.
    pub blocks: u32,
    /// Pages that hold nothing, those taken out now among them.
    pub empty: u64,
    /// Those of them that can be used again; the others have to wait for who may be on the way to them.
    pub reusable: u64,
}

/// A leaf that vacuum has cleaned.
struct Cleaned {
    next: Option<BlockNo>,
    /// How many bytes of it are used, if it stays with entries.
    used: Option<usize>,
    /// Inner pages that were taken out with it.
    above: Vec<BlockNo>,
}

impl BTree {
    /// Removes the entries whose TID `is_dead` names and takes emptied leaves out of the tree. One at a
    /// time per index; foreground work goes on. `is_dead` is called under a latch and must not wait; `rest`
    /// is called between pages, with nothing held, and may end it with an error. Pages that are not in memory go
    /// round in the passage's ring.
    pub fn vacuum(
        &self,
        passage: &mut Passage,
        is_dead: &mut dyn FnMut(Tid) -> bool,
        rest: &mut dyn FnMut() -> Result<()>,
    ) -> Result<IndexCleaning> {
        let mut done = IndexCleaning::default();
        let mut next = self.first_leaf()?;
        let (mut ahead, mut follows) = (passage.ahead(&self.rel), BlockNo(0));
        let mut counted = vec![false; self.rel.blocks(Fork::Main)? as usize];
        let mut before: Option<(BlockNo, usize)> = None;
        while let Some(block) = next {
            rest()?;
            // Leaves that were built, or filled in order, lie side by side; where they do, the next ones are on their way.
            if block != follows {
                ahead = passage.ahead(&self.rel);
            }
            follows = BlockNo(block.0 + 1);
            let places = block.0..self.rel.blocks(Fork::Main)?;
            passage.look(&mut ahead, &self.rel, places, |place| Some(BlockNo(place)));
            let cleaned = self.vacuum_page(passage, block, is_dead, &mut done)?;
            let above = cleaned.iter().flat_map(|cleaned| cleaned.above.iter().copied());
            for block in above.chain([block]) {
                if let Some(is_counted) = counted.get_mut(block.0 as usize) {
                    *is_counted = true;
                }
            }
            let Some(cleaned) = cleaned else {
                // It was all there is, and has split since: its entries are below it now.
                next = self.first_leaf()?;
                continue;
            };
            next = cleaned.next;
            let mut sum = cleaned.used;
            if let (Some((left, left_used)), Some(used)) = (before, cleaned.used)
                && left_used + used <= JOINED_MAX
                && self.join(passage, left, block)?
            {
                done.pages_deleted += 1;
                sum = Some(left_used + used);
            }
            before = sum.map(|used| (block, used));
        }
        self.find_free_pages(passage, &counted, rest, &mut done)?;
        done.empty += done.pages_deleted;
        done.blocks = self.rel.blocks(Fork::Main)?;
        Ok(done)
    }

    fn first_leaf(&self) -> Result<Option<BlockNo>> {
        self.descend(Place::before(&[]), 0, |_, block, _| block)
    }

    /// Cleans one leaf. `None`: it is the root, and a leaf no more; nothing was done.
    fn vacuum_page(
        &self,
        passage: &mut Passage,
        block: BlockNo,
        is_dead: &mut dyn FnMut(Tid) -> bool,
        done: &mut IndexCleaning,
    ) -> Result<Option<Cleaned>> {
        let (found, live, right, count, mut used) = {
            let page = passage.read(&self.rel, block)?;
            let node = Node(page.view());
            if is_inner_root(block, node) {
                return Ok(None);
            }
            let live = node.is_live() && node.is_leaf();
            let (gone, count) = if live { node.gone_rows(&mut *is_dead) } else { (Vec::new(), 0) };
            (!gone.is_empty(), live, node.right(), count, node.used())
        };
        let mut empty = live && count == 0;
        let mut next = right;
        if found {
            let bytes = record_bound(1, 1, 2 * MAX_ROWS);
            let mut journal = Journal::open(&self.wal, &self.rel, 1, bytes)?;
            let mut page = passage.write(&self.rel, block)?;
            let node = Node(page.view());
            if is_inner_root(block, node) {
                return Ok(None);
            }
            if node.is_live() && node.is_leaf() {
                // What came since the look is not dead; what moved right is met there.
                let (gone, count) = node.gone_rows(&mut *is_dead);
                next = node.right();
                empty = gone.len() == count;
                if !gone.is_empty() {
                    done.removed += gone.len() as u64;
                    self.remove_entries(&mut page, &mut journal, &gone);
                }
                used = Node(page.view()).used();
            }
        }
        done.pages += 1;
        done.entries += if live { count as u64 } else { 0 };
        let mut above = Vec::new();
        if empty && block != ROOT {
            let taken = self.take_out(passage, block, &mut above)?;
            done.pages_deleted += above.len() as u64 + u64::from(taken);
        }
        let used = (live && !empty).then_some(used);
        Ok(Some(Cleaned { next: (next != ROOT).then_some(next), used, above }))
    }

    /// Removes rows of a latched leaf, by their numbers ([`Node::gone_rows`]). The journal has a claim for it.
    pub(super) fn remove_entries(
        &self,
        page: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
        gone: &[u16],
    ) {
        page.mark_dirty();
        edit::remove(page, gone);
        let bytes: Vec<u8> = gone.iter().flat_map(|i| i.to_le_bytes()).collect();
        let at = journal
            .insert(|terms| terms.record(Kind::BTREE_REMOVE, Xid::INVALID).block(&*page, &bytes));
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
    }
}

/// The root keeps its place when it splits, and is above what it had.
fn is_inner_root(block: BlockNo, node: Node<'_>) -> bool {
    block == ROOT && node.is_live() && !node.is_leaf()
}
