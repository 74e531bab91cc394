//! Shifting: a leaf that is full gives entries to its right sibling, if that has room, instead of splitting.
//!
//! Keys in no order split leaf after leaf in the middle, and where rows also go, what is half empty stays so. With this a
//! leaf splits only when its neighbour is full, too; and then the two become three of two thirds: the right one is cut
//! after its first third, which so has room for the left one's last. Vacuum makes one leaf of two neighbours that have
//! become rather empty.
//!
//! Leaf, sibling and parent change in one record, so there is no state between. Entries only ever go to the right, as
//! in a split; but here the page that gets them is one that others may be about to read, with what they have read on
//! the left. It has a flag from then on ([`SHIFTED`]), and who comes to it over a right link with entries of the left
//! page in hand goes on behind these, not with its first entry.

use super::BTree;
use super::edit::{self, Draft};
use super::page::*;
use super::plan::{Cut, SHIFT_FREE_MIN, choose_all, choose_third};
use super::search::Latched;
use super::split::SPLIT_BYTES;
use super::unlink::entry_of;
use crate::buffer::{Passage, WriteGuard};
use crate::error::Result;
use crate::journal::Journal;
use crate::page::{PAGE_BYTES, PageBuf, PageBytes, PageMut};
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Xid, sim};

/// Log bytes of a shift: a leaf's entries, and a key twice.
pub(super) const SHIFT_BYTES: usize = record_bound(1, 3, PAGE_BYTES + 2 * (MAX_KEY_BYTES + 16));

/// Fixed part of what a shift's record says of the left leaf, and of the parent: position, tie-breaker.
pub(super) const SHIFT_HEAD_BYTES: usize = 8;

impl BTree {
    /// The right sibling of a leaf and the parent of both, if they have one parent. Looked up without a latch.
    pub(super) fn sibling(&self, block: BlockNo) -> Result<Option<Sibling>> {
        let seen = self.look(block, |node| {
            let gives = node.is_live() && node.is_leaf() && !node.has(INCOMPLETE);
            gives.then(|| (node.high(), node.right()))
        })?;
        let Some((Some((key, tie)), right)) = seen else { return Ok(None) };
        let Some(parent) = self.parent_of(Place { key: &key, tie })? else { return Ok(None) };
        let is_above = self.look(parent, |node| entry_of(node, 1, block, right).is_some())?;
        let is_full = self.look(right, is_full)?;
        Ok(is_above.then_some(Sibling { block: right, parent, is_full }))
    }

    /// Splits a full leaf so that its left sibling, full as well, can then give it a third of its entries: three leaves
    /// of two. Not if merging its equal keys makes room enough, and not before an earlier split is complete. False if it
    /// is as full as before: nothing will make room there.
    pub(super) fn split_third(&self, block: BlockNo) -> Result<bool> {
        let _window = sim::window("btree-split");
        let mut journal = Journal::open(&self.wal, &self.rel, 4, SPLIT_BYTES)?;
        let mut page = self.rel.write(Fork::Main, block)?;
        let node = Node(page.view());
        if !node.is_live() || !node.is_leaf() || !is_full(node) {
            return Ok(true);
        }
        if node.has(INCOMPLETE) {
            drop((page, journal));
            self.complete(block)?;
            return Ok(true);
        }
        // Full of entries that have yet to become postings, perhaps.
        if self.merges() && self.merge_equal(&mut page, &mut journal) && !is_full(Node(page.view()))
        {
            return Ok(true);
        }
        let Some(cut) = choose_third(Node(page.view())) else { return Ok(false) };
        self.split_page(page, &mut journal, &cut)?;
        drop(journal);
        self.complete(block)?;
        Ok(true)
    }

    /// The parent of the leaf responsible for this place.
    fn parent_of(&self, place: Place<'_>) -> Result<Option<BlockNo>> {
        self.descend(place, 1, |_, parent, _| parent)
    }

    /// Moves all entries of the leaf `block` to its right sibling, which was `right` a moment ago, and takes it out of the
    /// tree. False if that can't be done; a leaf that could be emptied and not taken out stays, and goes next time.
    pub(super) fn join(
        &self,
        passage: &mut Passage,
        block: BlockNo,
        right: BlockNo,
    ) -> Result<bool> {
        let high = self.look(block, |node| node.is_live().then(|| node.high()).flatten())?;
        let Some((key, tie)) = high else { return Ok(false) };
        let Some(parent) = self.parent_of(Place { key: &key, tie })? else { return Ok(false) };
        let mut journal = Journal::open(&self.wal, &self.rel, 3, SHIFT_BYTES)?;
        let mut page = passage.write(&self.rel, block)?;
        let node = Node(page.view());
        let agrees = node.is_live() && node.is_leaf() && node.right() == right;
        if !agrees
            || node.has(INCOMPLETE)
            || !self.shift(&mut page, parent, &mut journal, choose_all)?
        {
            return Ok(false);
        }
        drop((page, journal));
        self.unlink(passage, block)
    }

    /// Moves entries of a latched leaf to its right sibling, from where `choose` says on. False if they can't be moved;
    /// then nothing has changed. The journal has a claim for it.
    pub(super) fn shift(
        &self,
        left: &mut WriteGuard<'_>,
        parent: BlockNo,
        journal: &mut Journal<'_>,
        choose: impl Fn(Node<'_>, Node<'_>) -> Option<Cut>,
    ) -> Result<bool> {
        let _window = sim::window("btree-shift");
        let node = Node(left.view());
        let Some((key, tie)) = node.high() else { return Ok(false) };
        let mut right = self.rel.write(Fork::Main, node.right())?;
        let beside = Node(right.view());
        if !beside.is_live() || !beside.is_leaf() || beside.has(INCOMPLETE) {
            return Ok(false);
        }
        let Some(cut) = choose(Node(left.view()), beside) else { return Ok(false) };
        let place = Place { key: &key, tie };
        let Some(Latched::Ready(mut parent)) = self.latch_from(parent, place, 1)? else {
            return Ok(false);
        };
        let above = Node(parent.view());
        let Some(at) = entry_of(above, 1, left.block(), right.block()) else { return Ok(false) };
        // A leaf that gives all keeps some key space, to be taken out with it. Where the first one's begins is not told here.
        let keeps = || at > 0 && (above.key(at), above.tie(at)) < (cut.key.clone(), cut.tie);
        if cut.at == 0 && !keeps() {
            return Ok(false);
        }
        let separator = Place { key: &cut.key, tie: cut.tie };
        // More than enough: the entry that is there goes.
        if !edit::has_room(above, separator, Beside::tie(cut.tie).bytes()) {
            return Ok(false);
        }
        let node = Node(left.view());
        let upper: Vec<usize> = (cut.at..node.count()).collect();
        let given = Draft::of(node, &upper, None, None);
        left.mark_dirty();
        right.mark_dirty();
        parent.mark_dirty();
        edit::give_some(left, cut.at, (&cut.key, cut.tie));
        edit::receive(&mut right, given.node());
        move_separator(&mut parent, at + 1, (&cut.key, cut.tie));
        let (head, head_above) = (head(cut.at, cut.tie), head(at + 1, cut.tie));
        let given = packed(&given);
        let at = journal.insert(|terms| {
            terms
                .record(Kind::BTREE_SHIFT, Xid::INVALID)
                .block(&*left, &head)
                .more(&cut.key)
                .block(&right, &given)
                .block(&parent, &head_above)
                .more(&cut.key)
        });
        if let Some(at) = at {
            left.set_lsn(at.end);
            right.set_lsn(at.end);
            parent.set_lsn(at.end);
        }
        Ok(true)
    }
}

/// What [`BTree::sibling`] finds.
pub(super) struct Sibling {
    pub block: BlockNo,
    pub parent: BlockNo,
    /// It has no room for entries of the left leaf.
    pub is_full: bool,
}

/// Whether a leaf has too little room to be given entries.
fn is_full(node: Node<'_>) -> bool {
    node.gap() + node.garbage() < SHIFT_FREE_MIN
}

fn head(at: usize, tie: u64) -> [u8; SHIFT_HEAD_BYTES] {
    (tie << 16 | at as u64).to_le_bytes()
}

/// Position and tie-breaker, as a record has them.
pub(super) fn read_head(bytes: &[u8]) -> (usize, u64) {
    let head = u64::from_le_bytes(bytes[..SHIFT_HEAD_BYTES].try_into().expect("eight bytes"));
    (usize::from(head as u16), head >> 16)
}

/// Gives entry `at` of an inner page another key.
pub(super) fn move_separator(page: &mut PageMut<'_>, at: usize, key: (&[u8], u64)) {
    let child = Node(page.view()).slot(at).child();
    edit::remove(page, &[at as u16]);
    let done = edit::insert(page, at, key.0, u64::from(child.0), Beside::tie(key.1));
    assert!(done, "there is room for it beside the one that went");
}

/// The bytes of a drawn page without its header and the hole in the middle, which `unpacked` makes a page of again.
fn packed(draft: &Draft) -> Vec<u8> {
    let page = draft.node().0;
    let (lower, upper) = (page.lower(), page.upper());
    let mut bytes = PageBytes::new();
    page.to_bytes(&mut bytes);
    let mut packed = Vec::with_capacity(4 + lower + PAGE_BYTES - upper);
    packed.extend_from_slice(&(lower as u16).to_le_bytes());
    packed.extend_from_slice(&(upper as u16).to_le_bytes());
    packed.extend_from_slice(&bytes.0[RIGHT..lower]);
    packed.extend_from_slice(&bytes.0[upper..]);
    packed
}

/// The page of which [`packed`] told.
pub(super) fn unpacked(packed: &[u8]) -> PageBuf {
    let at = |i: usize| usize::from(u16::from_le_bytes([packed[i], packed[i + 1]]));
    let (lower, upper) = (at(0), at(2));
    let (head, payload) = packed[4..].split_at(lower - RIGHT);
    let mut buf = PageBuf::new();
    let mut page = buf.page_mut();
    page.write_bytes(RIGHT, head);
    page.write_bytes(upper, payload);
    buf
}
