//! Removing entries, and pages that have none left.

use super::page::*;
use super::plan::JOINED_MAX;
use super::{BTree, edit};
use crate::buffer::{Passage, WriteGuard};
use crate::error::Result;
use crate::journal::Journal;
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Csn, Fork, Tid, Xid, sim};

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

/// A page about to be unlinked, and those that change with it.
struct Surroundings {
    left: Option<BlockNo>,
    page: BlockNo,
    parent: BlockNo,
}

/// A leaf that vacuum has cleaned.
struct Cleaned {
    next: Option<BlockNo>,
    /// How many bytes of it are used, if it stays with entries.
    used: Option<usize>,
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
        let mut leaves = vec![false; self.rel.blocks(Fork::Main)? as usize];
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
            if let Some(is_leaf) = leaves.get_mut(block.0 as usize) {
                *is_leaf = true;
            }
            let Some(cleaned) = self.vacuum_page(passage, block, is_dead, &mut done)? else {
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
        self.find_free_pages(passage, &leaves, rest, &mut done)?;
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
        if empty && block != ROOT && self.unlink(passage, block)? {
            done.pages_deleted += 1;
        }
        let stays = live && !empty;
        Ok(Some(Cleaned { next: (next != ROOT).then_some(next), used: stays.then_some(used) }))
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

    /// Takes an empty leaf out of the tree if that is possible in one step. Its key space goes to its right
    /// sibling.
    pub(super) fn unlink(&self, passage: &mut Passage, block: BlockNo) -> Result<bool> {
        let _window = sim::window("btree-page-deleted");
        let Some(around) = self.surroundings(passage, block)? else { return Ok(false) };
        let mut journal = Journal::open(&self.wal, &self.rel, 3, record_bound(1, 3, 32))?;
        let mut left = match around.left {
            Some(left) => Some(passage.write(&self.rel, left)?),
            None => None,
        };
        let mut page = passage.write(&self.rel, around.page)?;
        let mut parent = self.rel.write(Fork::Main, around.parent)?;
        let right = Node(page.view()).right();
        let left_agrees = left.as_ref().is_none_or(|left| {
            let node = Node(left.view());
            node.is_live() && node.is_leaf() && node.right() == block && !node.has(INCOMPLETE)
        });
        let node = Node(page.view());
        let deletable = node.is_live()
            && node.is_leaf()
            && node.count() == 0
            && !node.is_rightmost()
            && !node.has(INCOMPLETE);
        let Some(at) = entry_of(Node(parent.view()), block, right) else { return Ok(false) };
        if !left_agrees || !deletable {
            return Ok(false);
        }
        // Read under the latches: who came here earlier has a snapshot that is not newer.
        let stamp = self.wal.published().0;
        page.mark_dirty();
        parent.mark_dirty();
        edit::unlink(&mut page, stamp);
        absorb(&mut parent, at, right);
        if let Some(left) = &mut left {
            left.mark_dirty();
            edit::set_right(left, right);
        }
        let (stamp_bytes, right) = (stamp.to_le_bytes(), right.0.to_le_bytes());
        let at_bytes = (at as u16).to_le_bytes();
        let at = journal.insert(|terms| {
            let record = terms
                .record(Kind::BTREE_UNLINK, Xid::INVALID)
                .block(&page, &stamp_bytes)
                .block(&parent, &at_bytes)
                .more(&right);
            match &left {
                Some(left) => record.block(left, &right),
                None => record,
            }
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
            parent.set_lsn(at.end);
            if let Some(left) = &mut left {
                left.set_lsn(at.end);
            }
        }
        drop((left, page, parent));
        self.let_wait(Csn(stamp), block);
        Ok(true)
    }

    /// Finds parent and left sibling without latches; all is checked again under them.
    fn surroundings(&self, passage: &mut Passage, block: BlockNo) -> Result<Option<Surroundings>> {
        let high = {
            let page = passage.read(&self.rel, block)?;
            let node = Node(page.view());
            if node.is_live() { node.high() } else { None }
        };
        let Some((key, tie)) = high else { return Ok(None) };
        let place = Place { key: &key, tie };
        let entry = |node: Node<'_>, at: usize| {
            let i = at.saturating_sub(1);
            let sibling = (i > 0).then(|| node.slot(i - 1).child());
            (node.slot(i).child(), i + 1 < node.count(), sibling)
        };
        let Some(parent) = self.before(place, 1, entry)? else { return Ok(None) };
        let (child, has_next, sibling) = parent.found;
        if child != block || !has_next {
            return Ok(None);
        }
        let mut left = match (sibling, &parent.fence) {
            (Some(sibling), _) => Some(sibling),
            (None, None) => None,
            // The first of its parent: the left sibling is under another parent.
            (None, Some((key, tie))) => {
                self.before(Place { key, tie: *tie }, 0, |_, _| ())?.map(|b| b.block)
            }
        };
        while let Some(candidate) = left {
            let right = Node(passage.read(&self.rel, candidate)?.view()).right();
            if right == block {
                break;
            }
            if right == ROOT {
                return Ok(None);
            }
            left = Some(right);
        }
        Ok(Some(Surroundings { left, page: block, parent: parent.block }))
    }
}

/// The root keeps its place when it splits, and is above what it had.
fn is_inner_root(block: BlockNo, node: Node<'_>) -> bool {
    block == ROOT && node.is_live() && !node.is_leaf()
}

/// The parent's entry for `child`, if `right` is in the next one.
pub(super) fn entry_of(parent: Node<'_>, child: BlockNo, right: BlockNo) -> Option<usize> {
    if !parent.is_live() || parent.level() != 1 {
        return None;
    }
    (0..parent.count().saturating_sub(1))
        .find(|i| parent.slot(*i).child() == child)
        .filter(|i| parent.slot(i + 1).child() == right)
}

/// Gives the key space of entry `at` to `right`, the child of the next.
pub(super) fn absorb(parent: &mut crate::page::PageMut<'_>, at: usize, right: BlockNo) {
    edit::set_child(parent, at, right);
    edit::remove(parent, &[at as u16 + 1]);
}
