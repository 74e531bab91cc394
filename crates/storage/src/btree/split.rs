//! Making room: dropping marked entries, else merging equal keys, else giving some to the right sibling, else splitting; and
//! entering the new page into the parent.
//!
//! Three steps, each under its own claim, each leaving a correct tree: `split_page` (two pages),
//! `complete` (parent and left page), `split_root` (root and two new pages). None inserts the entry that
//! wanted room; it starts over.

use super::edit::{Draft, High};
use super::page::*;
use super::plan::{Cut, choose_cut, choose_shift, is_cut_within};
use super::search::Latched;
use super::shift::Sibling;
use super::{BTree, INNER_FILL_PERCENT, edit};
use crate::buffer::WriteGuard;
use crate::error::Result;
use crate::journal::Journal;
use crate::page::{PAGE_BYTES, PageBytes};
use crate::wal::{Kind, PageImage, record_bound};
use base::{BlockNo, Fork, Xid, sim};

/// Log bytes of the longest step: a root split carries two pages whole and a key; a merge may have come before.
pub(super) const SPLIT_BYTES: usize =
    record_bound(2, 4, 2 * (PAGE_BYTES + 16) + MAX_KEY_BYTES + 32);

/// Bytes that merging must leave free on a leaf, lest it comes again with every other entry: else it splits at once.
const MERGED_FREE_MIN: usize = 128;

/// Fixed part of a split's record: position, right block, tie-breaker.
pub(super) const SPLIT_HEAD_BYTES: usize = 12;
/// Fixed part of a root split's record: children, level, tie-breaker.
pub(super) const ROOT_HEAD_BYTES: usize = 15;
/// Fixed part of a separator's record: position, child, tie-breaker.
pub(super) const SEPARATOR_HEAD_BYTES: usize = 12;

impl BTree {
    /// Makes room for an entry at `place` on `block` of `level`, if it still needs it there. `beside`: what it has
    /// beside its key ([`Beside::bytes`]).
    pub(super) fn make_room(
        &self,
        block: BlockNo,
        place: Place<'_>,
        beside: usize,
        level: u8,
    ) -> Result<()> {
        let sibling = if level == 0 { self.sibling(block)? } else { None };
        if !self.make_room_beside(block, place, beside, level, sibling)? {
            self.make_room_beside(block, place, beside, level, None)?;
        }
        Ok(())
    }

    /// As [`BTree::make_room`], by the sibling if there is one. False: the sibling can't help, and nothing was done.
    fn make_room_beside(
        &self,
        block: BlockNo,
        place: Place<'_>,
        beside: usize,
        level: u8,
        sibling: Option<Sibling>,
    ) -> Result<bool> {
        let mut journal = Journal::open(&self.wal, &self.rel, 4, SPLIT_BYTES)?;
        let mut page = self.rel.write(Fork::Main, block)?;
        let node = Node(page.view());
        let moved = !node.is_live() || node.level() != level || node.is_beyond(place);
        if moved || node.has(INCOMPLETE) {
            // Somebody else made room, or must be helped first.
            return Ok(true);
        }
        if level == 0 && self.drop_marked(&mut page, &mut journal) {
            return Ok(true);
        }
        if edit::has_room(Node(page.view()), place, beside) {
            return Ok(true);
        }
        let merged = level == 0 && self.merges() && self.merge_equal(&mut page, &mut journal);
        let node = Node(page.view());
        if merged && node.gap() >= MERGED_FREE_MIN && edit::has_room(node, place, beside) {
            return Ok(true);
        }
        match sibling {
            Some(sibling)
                if !sibling.is_full
                    && self.shift(&mut page, sibling.parent, &mut journal, choose_shift)? =>
            {
                return Ok(true);
            }
            Some(sibling) if sibling.is_full && is_cut_within(Node(page.view()), place) => {
                drop((page, journal));
                return self.split_third(sibling.block);
            }
            _ => {}
        }
        let ascending = if level == 0 { self.fill_percent() } else { INNER_FILL_PERCENT };
        let cut = choose_cut(node, place, ascending);
        if block == ROOT {
            self.split_root(page, &mut journal, &cut)?;
            return Ok(true);
        }
        let _window = sim::window("btree-split");
        self.split_page(page, &mut journal, &cut)?;
        drop(journal);
        self.complete(block)?;
        Ok(true)
    }

    /// Removes the entries that readers have marked dead. True if there were some.
    fn drop_marked(&self, page: &mut WriteGuard<'_>, journal: &mut Journal<'_>) -> bool {
        let node = Node(page.view());
        let (gone, _) = node.gone_rows(|_| false);
        if gone.is_empty() {
            return false;
        }
        self.remove_entries(page, journal, &gone);
        true
    }

    /// Moves the upper part of a page to a new right sibling.
    pub(super) fn split_page(
        &self,
        mut left: WriteGuard<'_>,
        journal: &mut Journal<'_>,
        cut: &Cut,
    ) -> Result<()> {
        let mut right = self.allocate()?;
        let _reused = (!right.is_new()).then(|| sim::window("btree-page-reused"));
        let high = Node(left.view()).high();
        let draft = upper_half(Node(left.view()), cut, borrow(&high));
        left.mark_dirty();
        right.mark_dirty();
        right.copy_from(draft.node().0);
        edit::cut(&mut left, cut.at, (&cut.key, cut.tie), right.block());
        let mut head = [0; SPLIT_HEAD_BYTES];
        head[0..2].copy_from_slice(&(cut.at as u16).to_le_bytes());
        head[2..6].copy_from_slice(&right.block().0.to_le_bytes());
        head[6..12].copy_from_slice(&cut.tie.to_le_bytes()[..6]);
        let at = journal.insert(|terms| {
            terms
                .record(Kind::BTREE_SPLIT, Xid::INVALID)
                .block(&left, &head)
                .more(&cut.key)
                .image_block(right.page_id(), image(&draft))
        });
        if let Some(at) = at {
            left.set_lsn(at.end);
            right.set_lsn(at.end);
        }
        Ok(())
    }

    /// Moves the root's content into two new pages below it.
    fn split_root(
        &self,
        mut root: WriteGuard<'_>,
        journal: &mut Journal<'_>,
        cut: &Cut,
    ) -> Result<()> {
        let _window = sim::window("btree-root-split");
        let mut left = self.allocate()?;
        let mut right = self.allocate()?;
        let node = Node(root.view());
        let lower: Vec<usize> = (0..cut.at).collect();
        let mut left_draft = Draft::of(node, &lower, None, Some((&cut.key, cut.tie)));
        edit::set_right(&mut left_draft.page_mut(), right.block());
        let right_draft = upper_half(node, cut, None);
        let level = node.level() + 1;
        let new_root = root_over(level, left.block(), right.block(), (&cut.key, cut.tie));
        root.mark_dirty();
        left.mark_dirty();
        right.mark_dirty();
        left.copy_from(left_draft.node().0);
        right.copy_from(right_draft.node().0);
        new_root.replace(&mut root);
        let mut head = [0; ROOT_HEAD_BYTES];
        head[0..4].copy_from_slice(&left.block().0.to_le_bytes());
        head[4..8].copy_from_slice(&right.block().0.to_le_bytes());
        head[8] = level;
        head[9..15].copy_from_slice(&cut.tie.to_le_bytes()[..6]);
        let at = journal.insert(|terms| {
            terms
                .record(Kind::BTREE_SPLIT_ROOT, Xid::INVALID)
                .init_block(&root, &head)
                .more(&cut.key)
                .image_block(left.page_id(), image(&left_draft))
                .image_block(right.page_id(), image(&right_draft))
        });
        if let Some(at) = at {
            root.set_lsn(at.end);
            left.set_lsn(at.end);
            right.set_lsn(at.end);
        }
        Ok(())
    }

    /// Enters the right sibling of `block` into the parent, if its split is incomplete.
    pub(super) fn complete(&self, block: BlockNo) -> Result<()> {
        loop {
            let split = self.look(block, |node| {
                let open = node.is_live() && node.has(INCOMPLETE);
                open.then(|| (node.high(), node.level()))
            })?;
            let Some((Some((key, tie)), level)) = split else { return Ok(()) };
            let place = Place { key: &key, tie };
            let parent = self.descend(place, level + 1, |_, parent, _| parent)?;
            let Some(parent) = parent else { return Ok(()) };
            match self.try_complete(block, parent, place, level)? {
                Progress::Done => return Ok(()),
                Progress::Again => {}
                Progress::NoRoom(parent) => {
                    self.make_room(parent, place, Beside::tie(tie).bytes(), level + 1)?;
                }
                Progress::Incomplete(parent) => self.complete(parent)?,
            }
        }
    }

    /// Enters `place`, the high key of `block`, into the parent with the right sibling as child.
    fn try_complete(
        &self,
        block: BlockNo,
        parent: BlockNo,
        place: Place<'_>,
        level: u8,
    ) -> Result<Progress> {
        let bytes = record_bound(1, 2, SEPARATOR_HEAD_BYTES + place.key.len());
        let mut journal = Journal::open(&self.wal, &self.rel, 2, bytes)?;
        let mut left = self.rel.write(Fork::Main, block)?;
        let node = Node(left.view());
        if !node.is_live() || !node.has(INCOMPLETE) {
            return Ok(Progress::Done);
        }
        if borrow(&node.high()) != Some((place.key, place.tie)) {
            return Ok(Progress::Again);
        }
        let child = node.right();
        // The parent after its child: the one place where a latch is taken upwards.
        let mut parent = match self.latch_from(parent, place, level + 1)? {
            None => return Ok(Progress::Again),
            Some(Latched::Incomplete(parent)) => return Ok(Progress::Incomplete(parent)),
            Some(Latched::Ready(parent)) => parent,
        };
        let at = Node(parent.view()).lower_bound(place);
        let beside = Beside::tie(place.tie);
        if !edit::insert(&mut parent, at, place.key, u64::from(child.0), beside) {
            return Ok(Progress::NoRoom(parent.block()));
        }
        parent.mark_dirty();
        left.mark_dirty();
        edit::set_flag(&mut left, INCOMPLETE, false);
        let mut head = [0; SEPARATOR_HEAD_BYTES];
        head[0..2].copy_from_slice(&(at as u16).to_le_bytes());
        head[2..6].copy_from_slice(&child.0.to_le_bytes());
        head[6..12].copy_from_slice(&place.tie.to_le_bytes()[..6]);
        let at = journal.insert(|terms| {
            terms
                .record(Kind::BTREE_SEPARATOR, Xid::INVALID)
                .block(&parent, &head)
                .more(place.key)
                .block(&left, &[])
        });
        if let Some(at) = at {
            parent.set_lsn(at.end);
            left.set_lsn(at.end);
        }
        Ok(Progress::Done)
    }
}

/// How far [`BTree::try_complete`] came.
enum Progress {
    Done,
    Again,
    NoRoom(BlockNo),
    Incomplete(BlockNo),
}

/// A high key as the drawing functions want it.
pub(super) fn borrow(high: &Option<(Vec<u8>, u64)>) -> High<'_> {
    high.as_ref().map(|(key, tie)| (key.as_slice(), *tie))
}

/// The right page of a split: it inherits link and flags, but for an incomplete split of its own.
fn upper_half(node: Node<'_>, cut: &Cut, high: High<'_>) -> Draft {
    let upper: Vec<usize> = (cut.at..node.count()).collect();
    Draft::of(node, &upper, None, high)
}

/// The root of `level` over two children.
pub(super) fn root_over(level: u8, left: BlockNo, right: BlockNo, high: (&[u8], u64)) -> Draft {
    let mut draft = Draft::new(level, &[], None);
    draft.push_floor(left);
    draft.push(high.0, u64::from(right.0), Beside::tie(high.1));
    draft.finish();
    draft
}

/// The drawn page for the log.
pub(super) fn image(draft: &Draft) -> PageImage {
    let page = draft.node().0;
    let mut bytes = PageBytes::new();
    page.to_bytes(&mut bytes);
    PageImage::new(&bytes.0, page.lower()..page.upper())
}
