//! Verifying a tree: structure of every page (B1), links and separators (B2, B3), levels (B4).
//!
//! Takes no latches for longer than a page; on a tree that is written meanwhile it may report what was true
//! only between two of its looks, so run it on a quiet one.

use super::page::*;
use super::{BTree, posting};
use crate::error::Result;
use crate::page::{PAGE_BYTES, PageKind};
use base::hash::HashSet;
use base::{BlockNo, Fork, Tid, sim};

/// What is on one page, in owned form.
struct Seen {
    entries: Vec<SeenEntry>,
    high: Option<(Vec<u8>, u64)>,
    right: BlockNo,
    level: u8,
    incomplete: bool,
    deleted: bool,
}

/// An entry of a page.
struct SeenEntry {
    key: Vec<u8>,
    tie: u64,
    value: u64,
    carried: Vec<u8>,
    /// Of a leaf entry.
    rows: Vec<Tid>,
}

/// What [`BTree::check`] calls with key, carried bytes and TID of every row that a leaf entry leads to.
pub type EachEntry<'e> = dyn FnMut(&[u8], &[u8], Tid) + 'e;

/// A separator (key, tie-breaker) and the child it leads to.
type Downlink = (Vec<u8>, u64, BlockNo);

/// Walks a tree level by level.
struct Walk<'t, 'r> {
    tree: &'t BTree,
    blocks: u32,
    report: &'r mut dyn FnMut(String),
    reached: HashSet<u32>,
}

impl BTree {
    /// Verifies the whole tree, calling `report` with a sentence for everything that is wrong and `entry`
    /// with every leaf entry in order, with a posting once for each of its rows.
    pub fn check(&self, report: &mut dyn FnMut(String), entry: &mut EachEntry<'_>) -> Result<()> {
        let blocks = self.rel.blocks(Fork::Main)?;
        if blocks == 0 || self.rel.read(Fork::Main, ROOT)?.is_new() {
            return Ok(());
        }
        let mut walk = Walk { tree: self, blocks, report, reached: HashSet::default() };
        let root = walk.page(ROOT)?;
        if !root.right.eq(&ROOT) || root.high.is_some() {
            walk.complain(ROOT, "the root has a sibling");
        }
        let mut first = ROOT;
        let mut expected: Option<Vec<Downlink>> = None;
        for level in (0..=root.level).rev() {
            let pages = walk.level(first, level, expected.as_deref(), entry)?;
            let Some(pages) = pages else { return Ok(()) };
            first = pages.first().map_or(ROOT, |(_, _, child)| *child);
            expected = Some(pages);
        }
        for block in (0..blocks).map(BlockNo) {
            walk.unreached(block)?;
        }
        Ok(())
    }
}

impl Walk<'_, '_> {
    fn complain(&mut self, block: BlockNo, what: impl AsRef<str>) {
        (self.report)(format!("{} block {block}: {}", self.tree.name(), what.as_ref()));
    }

    fn page(&mut self, block: BlockNo) -> Result<Seen> {
        let page = self.tree.rel.read(Fork::Main, block)?;
        let node = Node(page.view());
        let mut faults = Vec::new();
        if let Err(fault) = page_fault(node) {
            faults.push(fault);
        }
        let live = node.is_live();
        let is_open = node.has(INCOMPLETE);
        // What a crash has left half made counts among its kinds.
        drop(is_open.then(|| sim::window("left: a split open")));
        let seen = Seen {
            entries: (0..if live { node.count() } else { 0 })
                .map(|i| {
                    let key = if i < node.first_key() { Vec::new() } else { node.key(i) };
                    let tie = if i < node.first_key() { 0 } else { node.tie(i) };
                    let mut carried = Vec::new();
                    node.append_carried(i, &mut carried);
                    let rows = if node.is_leaf() { node.rows(i).collect() } else { Vec::new() };
                    SeenEntry { key, tie, value: node.slot(i).value(), carried, rows }
                })
                .collect(),
            high: node.high(),
            right: node.right(),
            level: node.level(),
            incomplete: is_open,
            deleted: node.has(DELETED),
        };
        drop(page);
        faults.into_iter().for_each(|fault| self.complain(block, fault));
        Ok(seen)
    }

    /// Walks one level from its first page. `expected`: what the level above leads to, in order. Returns the
    /// children of this level with their separators.
    fn level(
        &mut self,
        first: BlockNo,
        level: u8,
        expected: Option<&[Downlink]>,
        entry: &mut EachEntry<'_>,
    ) -> Result<Option<Vec<Downlink>>> {
        let mut below = Vec::new();
        let mut expected = expected.map(|e| e.iter());
        let (mut block, mut low, mut was_incomplete) = (first, None::<(Vec<u8>, u64)>, false);
        loop {
            if block.0 >= self.blocks {
                self.complain(block, "a link leads there, and it does not exist");
                return Ok(None);
            }
            if !self.reached.insert(block.0) {
                self.complain(block, "is reached twice");
                return Ok(None);
            }
            let page = self.page(block)?;
            if page.deleted || page.level != level {
                let what = format!(
                    "level {} where {level} belongs, deleted: {}",
                    page.level, page.deleted
                );
                self.complain(block, what);
                return Ok(None);
            }
            if let Some(expected) = &mut expected
                && !was_incomplete
            {
                let found = (low.clone().unwrap_or_default(), block);
                match expected.next() {
                    Some((key, tie, child)) if ((key.clone(), *tie), *child) == found => {}
                    other => self.complain(
                        block,
                        format!("the parent's entry is {other:?}, page begins at {low:?}"),
                    ),
                }
            }
            self.entries(block, level, &page, &low, &mut below, entry);
            was_incomplete = page.incomplete;
            if page.right == ROOT {
                break;
            }
            if page.high.is_none() {
                self.complain(block, "has a right sibling and no high key");
            }
            (block, low) = (page.right, page.high);
        }
        if let Some(rest) = expected.and_then(|mut e| e.next()) {
            self.complain(rest.2, "is in the parent but not on its level");
        }
        Ok(Some(below))
    }

    fn entries(
        &mut self,
        block: BlockNo,
        level: u8,
        page: &Seen,
        low: &Option<(Vec<u8>, u64)>,
        below: &mut Vec<Downlink>,
        entry: &mut EachEntry<'_>,
    ) {
        let mut last = low.clone();
        for (i, SeenEntry { key, tie, value, carried, rows }) in page.entries.iter().enumerate() {
            if level > 0 && i == 0 {
                let (key, tie) = low.clone().unwrap_or_default();
                below.push((key, tie, BlockNo(*value as u32)));
                continue;
            }
            let here = (key.clone(), *tie);
            let ascends = match &last {
                None => true,
                Some(last) if i == 0 => *last <= here,
                Some(last) => *last < here,
            };
            if !ascends {
                self.complain(block, format!("entry {i} is not above the one before"));
            }
            let end = (key.clone(), rows.last().map_or(*tie, |row| row.to_u64()));
            if page.high.as_ref().is_some_and(|high| end >= *high) {
                self.complain(block, format!("entry {i} is not below the high key"));
            }
            match level {
                0 => rows.iter().for_each(|row| entry(key, carried, *row)),
                _ => below.push((key.clone(), *tie, BlockNo(*value as u32))),
            }
            last = Some(end);
        }
        if level > 0 && page.entries.is_empty() {
            self.complain(block, "an inner page without a child");
        }
    }

    fn unreached(&mut self, block: BlockNo) -> Result<()> {
        if self.reached.contains(&block.0) {
            return Ok(());
        }
        let page = self.tree.rel.read(Fork::Main, block)?;
        let node = Node(page.view());
        let free = node.0.is_new() || node.has(DELETED);
        drop(page);
        if !free {
            self.complain(block, "is in use but not in the tree");
        }
        Ok(())
    }
}

/// What is wrong with entry `i` as a posting.
fn posting_fault(node: Node<'_>, i: usize) -> Option<&'static str> {
    let slot = node.slot(i);
    if !slot.is_posting() {
        return None;
    }
    let is_alone = node.is_leaf() && slot.is_external() && !slot.has_tie() && !slot.carries();
    let mut list = Vec::new();
    node.append_list(i, &mut list);
    if !is_alone || node.skip() + node.rest_len(i) + list.len() > MAX_KEY_BYTES {
        return Some("can't be a posting");
    }
    posting::fault(node.rows(i), &list)
}

/// What is wrong with the bytes of a page.
pub(super) fn page_fault(node: Node<'_>) -> std::result::Result<(), String> {
    let page = node.0;
    let fault = |what: &str| Err(what.to_owned());
    if page.kind() != Some(PageKind::BTree) || !page.header_is_sound() {
        return fault("is not a B-tree page or its header is damaged");
    }
    if node.has(DELETED) {
        return Ok(());
    }
    let (count, upper) = (usize::from(page.get_u16(COUNT)), node.upper());
    if count > MAX_ENTRIES || ENTRIES + count * ENTRY_BYTES > upper || upper > PAGE_BYTES {
        return fault("entries and payload overlap");
    }
    if page.lower() != ENTRIES + count * ENTRY_BYTES || page.upper() != upper & !7 {
        return fault("the two headers disagree");
    }
    let mut used = node.high_bytes() + super::edit::prefix_bytes(node.skip());
    for i in 0..count {
        let slot = node.slot(i);
        let bytes = node.record_bytes(i);
        if slot.is_external() && (slot.record() < upper || slot.record() + bytes > PAGE_BYTES) {
            return Err(format!("entry {i} lies outside the payload"));
        }
        if slot.carries() && (!node.is_leaf() || !slot.is_external() || slot.has_tie()) {
            return Err(format!("entry {i} carries what it can't"));
        }
        if let Some(fault) = posting_fault(node, i) {
            return Err(format!("entry {i} {fault}"));
        }
        let padding = 64 - 8 * node.rest_len(i).min(HEAD_BYTES) as u32;
        if padding > 0 && node.head(i).checked_shl(64 - padding).unwrap_or(0) != 0 {
            return Err(format!("the head of entry {i} goes on behind its key"));
        }
        used += bytes;
    }
    if used + node.garbage() != PAGE_BYTES - upper {
        return Err(format!(
            "payload of {} bytes, accounted for {}",
            PAGE_BYTES - upper,
            used + node.garbage()
        ));
    }
    Ok(())
}
