//! Taking pages out of the tree: a leaf that is empty, and an inner page above it that has no other child.
//!
//! The key space of a page goes to its right sibling, where a reader who still comes here is led by the right link. That
//! is one change of one record where both have one parent. A leaf that is the last child of its parent has its sibling
//! under another. It stays as long as the parent has other children; when it is the only one left, the parent gives it to
//! its own right sibling, as first child, and is taken out itself: then the leaf is no last child any more. A queue, whose
//! keys come on the right and go on the left, so keeps no page of what has gone through it.

use super::page::*;
use super::{BTree, edit};
use crate::buffer::{Passage, WriteGuard};
use crate::error::Result;
use crate::journal::Journal;
use crate::page::PageMut;
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Csn, Fork, Xid, sim};

/// Fixed part of what a record says of the page that inherits a child: the child, tie-breaker of the key behind it.
pub(super) const HEIR_HEAD_BYTES: usize = 10;

/// A page about to be taken out, and those that change with it. Found without a latch, to be looked at again.
struct Surroundings {
    left: Option<BlockNo>,
    page: BlockNo,
    parent: BlockNo,
    /// Of the page.
    level: u8,
}

/// The same, latched: from left to right, then the parent.
struct Latches<'r> {
    left: Option<WriteGuard<'r>>,
    page: WriteGuard<'r>,
    /// The right sibling of an inner page, which gets its child.
    heir: Option<WriteGuard<'r>>,
    parent: WriteGuard<'r>,
    /// The page's entry in the parent.
    at: usize,
}

impl BTree {
    /// Takes an empty leaf out of the tree, and first the pages above it that have no other child, which are told in
    /// `above`. False if it has to stay.
    pub(super) fn take_out(
        &self,
        passage: &mut Passage,
        leaf: BlockNo,
        above: &mut Vec<BlockNo>,
    ) -> Result<bool> {
        Ok(self.unlink(passage, leaf)?
            || (self.unlink_above(passage, leaf, 0, above)? && self.unlink(passage, leaf)?))
    }

    /// Takes an empty leaf out of the tree if that is possible in one step.
    pub(super) fn unlink(&self, passage: &mut Passage, leaf: BlockNo) -> Result<bool> {
        let Some(around) = self.surroundings(passage, leaf, 0)? else { return Ok(false) };
        self.unlink_page(passage, &around)
    }

    /// Takes the page above `child`, which is of `level`, out of the tree if it has no other child, and first those above
    /// it if there is no other way. False if the child's parent is what it was.
    fn unlink_above(
        &self,
        passage: &mut Passage,
        child: BlockNo,
        level: u8,
        gone: &mut Vec<BlockNo>,
    ) -> Result<bool> {
        let Some(page) = self.only_parent(passage, child, level)? else { return Ok(false) };
        let mut around = self.surroundings(passage, page, level + 1)?;
        if around.is_none() && self.unlink_above(passage, page, level + 1, gone)? {
            around = self.surroundings(passage, page, level + 1)?;
        }
        let Some(around) = around else { return Ok(false) };
        let done = self.unlink_page(passage, &around)?;
        if done {
            gone.push(page);
        }
        Ok(done)
    }

    /// The page that has `child`, of `level`, and no other, nor is the last of its own level.
    fn only_parent(
        &self,
        passage: &mut Passage,
        child: BlockNo,
        level: u8,
    ) -> Result<Option<BlockNo>> {
        let Some((key, tie)) = self.high_of(passage, child)? else { return Ok(None) };
        let is_alone = |node: Node<'_>, _| {
            node.count() == 1 && node.slot(0).child() == child && !node.is_rightmost()
        };
        let parent = self.before(Place { key: &key, tie }, level + 1, is_alone)?;
        Ok(parent.filter(|parent| parent.found).map(|parent| parent.block))
    }

    /// Takes the page out if it is still what it was found to be: an empty leaf, or an inner page with one child that its
    /// right sibling has room for. Its key space goes to that sibling.
    fn unlink_page(&self, passage: &mut Passage, around: &Surroundings) -> Result<bool> {
        let _window = sim::window("btree-page-deleted");
        let bytes = record_bound(1, 4, 32 + HEIR_HEAD_BYTES + MAX_KEY_BYTES);
        let mut journal = Journal::open(&self.wal, &self.rel, 4, bytes)?;
        let Some(mut latches) = self.latch_around(passage, around)? else { return Ok(false) };
        // Read under the latches: who came here earlier has a snapshot that is not newer.
        let stamp = self.wal.published().0;
        let Latches { left, page, heir, parent, at } = &mut latches;
        let node = Node(page.view());
        let (right, high) = (node.right(), node.high());
        page.mark_dirty();
        parent.mark_dirty();
        let mut inherited = Vec::new();
        if let (Some(heir), Some((key, tie))) = (&mut *heir, &high) {
            let child = node.slot(0).child();
            heir.mark_dirty();
            inherit(heir, child, (key, *tie));
            inherited.extend_from_slice(&child.0.to_le_bytes());
            inherited.extend_from_slice(&tie.to_le_bytes()[..6]);
            inherited.extend_from_slice(key);
        }
        edit::unlink(page, stamp);
        absorb(parent, *at, right);
        if let Some(left) = left {
            left.mark_dirty();
            edit::set_right(left, right);
        }
        let kind = if heir.is_some() { Kind::BTREE_UNLINK_INNER } else { Kind::BTREE_UNLINK };
        let (stamp_bytes, right) = (stamp.to_le_bytes(), right.0.to_le_bytes());
        let at_bytes = (*at as u16).to_le_bytes();
        let logged = journal.insert(|terms| {
            let mut record = terms.record(kind, Xid::INVALID).block(&*page, &stamp_bytes);
            record = record.block(&*parent, &at_bytes).more(&right);
            if let Some(heir) = heir {
                record = record.block(&*heir, &inherited);
            }
            match left {
                Some(left) => record.block(&*left, &right),
                None => record,
            }
        });
        if let Some(logged) = logged {
            let changed = [Some(page), Some(parent), heir.as_mut(), left.as_mut()];
            changed.into_iter().flatten().for_each(|page| page.set_lsn(logged.end));
        }
        drop(latches);
        self.let_wait(Csn(stamp), around.page);
        Ok(true)
    }

    /// Latches what changes. `None`: it is not any more what was found, or the sibling has no room.
    fn latch_around(
        &self,
        passage: &mut Passage,
        around: &Surroundings,
    ) -> Result<Option<Latches<'_>>> {
        let level = around.level;
        let is_of_level = |node: Node<'_>| node.is_live() && node.level() == level;
        let left = match around.left {
            Some(left) => Some(passage.write(&self.rel, left)?),
            None => None,
        };
        let left_agrees = left.as_ref().is_none_or(|left| {
            let node = Node(left.view());
            is_of_level(node) && node.right() == around.page && !node.has(INCOMPLETE)
        });
        let page = passage.write(&self.rel, around.page)?;
        let node = Node(page.view());
        let (right, children) = (node.right(), usize::from(level > 0));
        let deletable = is_of_level(node) && node.count() == children && !node.has(INCOMPLETE);
        let Some((key, tie)) = node.high().filter(|_| left_agrees && deletable) else {
            return Ok(None);
        };
        let heir = match level {
            0 => None,
            _ => Some(passage.write(&self.rel, right)?),
        };
        let has_room = heir.as_ref().is_none_or(|heir| {
            let node = Node(heir.view());
            let room = || edit::has_room(node, Place { key: &key, tie }, Beside::tie(tie).bytes());
            is_of_level(node) && node.count() > 0 && room()
        });
        let parent = self.rel.write(Fork::Main, around.parent)?;
        let at = entry_of(Node(parent.view()), level + 1, around.page, right);
        let found = at.filter(|_| has_room);
        Ok(found.map(|at| Latches { left, page, heir, parent, at }))
    }

    /// Finds parent and left sibling of a page without latches; all is checked again under them. `None`: it is the last
    /// of its level, or of its parent's children, or not what it was.
    fn surroundings(
        &self,
        passage: &mut Passage,
        page: BlockNo,
        level: u8,
    ) -> Result<Option<Surroundings>> {
        let Some((key, tie)) = self.high_of(passage, page)? else { return Ok(None) };
        let entry = |node: Node<'_>, at: usize| {
            let i = at.saturating_sub(1);
            let sibling = (i > 0).then(|| node.slot(i - 1).child());
            (node.slot(i).child(), i + 1 < node.count(), sibling)
        };
        let find = || self.before(Place { key: &key, tie }, level + 1, entry);
        let Some(mut parent) = find()? else { return Ok(None) };
        if parent.found.0 != page {
            // It may be the right half of a split whose left half has the entry.
            self.high_of(passage, parent.found.0)?;
            let Some(again) = find()? else { return Ok(None) };
            parent = again;
        }
        let (child, has_next, sibling) = parent.found;
        if child != page || !has_next {
            return Ok(None);
        }
        let mut left = match (sibling, &parent.fence) {
            (Some(sibling), _) => Some(sibling),
            (None, None) => None,
            // The first of its parent: the left sibling is under another parent.
            (None, Some((key, tie))) => {
                self.before(Place { key, tie: *tie }, level, |_, _| ())?.map(|b| b.block)
            }
        };
        while let Some(candidate) = left {
            let right = Node(passage.read(&self.rel, candidate)?.view()).right();
            if right == page {
                break;
            }
            if right == ROOT {
                return Ok(None);
            }
            left = Some(right);
        }
        Ok(Some(Surroundings { left, page, parent: parent.block, level }))
    }

    /// The high key of a page that is in the tree. A split of it that a crash has left is completed first: its parent does
    /// not know all of its children, and nobody else may come by.
    fn high_of(&self, passage: &mut Passage, block: BlockNo) -> Result<Option<(Vec<u8>, u64)>> {
        // Through the ring; to complete one is not, and rare.
        let look = |passage: &mut Passage| -> Result<_> {
            let page = passage.read(&self.rel, block)?;
            let node = Node(page.view());
            let high = if node.is_live() { node.high() } else { None };
            Ok((high, node.is_live() && node.has(INCOMPLETE)))
        };
        let (high, is_open) = look(passage)?;
        if !is_open {
            return Ok(high);
        }
        self.complete(block)?;
        look(passage).map(|(high, _)| high)
    }
}

/// The entry for `child` of a page of `level`, if `right` is in the next one.
pub(super) fn entry_of(
    parent: Node<'_>,
    level: u8,
    child: BlockNo,
    right: BlockNo,
) -> Option<usize> {
    if !parent.is_live() || parent.level() != level {
        return None;
    }
    (0..parent.count().saturating_sub(1))
        .find(|i| parent.slot(*i).child() == child)
        .filter(|i| parent.slot(i + 1).child() == right)
}

/// Gives the key space of entry `at` to `right`, the child of the next.
pub(super) fn absorb(parent: &mut PageMut<'_>, at: usize, right: BlockNo) {
    edit::set_child(parent, at, right);
    edit::remove(parent, &[at as u16 + 1]);
}

/// Puts `child` before the children of an inner page; `key` is where the key space of the one begins that was first.
pub(super) fn inherit(page: &mut PageMut<'_>, child: BlockNo, key: (&[u8], u64)) {
    let first = Node(page.view()).slot(0).child();
    let done = edit::insert(page, 1, key.0, u64::from(first.0), Beside::tie(key.1));
    assert!(done, "there is room for it (B6)");
    edit::set_child(page, 0, child);
}
