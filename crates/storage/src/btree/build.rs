//! Building an index from sorted entries: pages are drawn in private memory and written once, from left to
//! right; each level feeds the one above.
//!
//! The relation was made by the building transaction and nobody else sees it, so pages may lie there before
//! links and parents do. A crash leaves files of a transaction that did not commit; recovery removes them.

use super::edit::{self, Draft, prefix_bytes};
use super::merge::merged_bytes_max;
use super::page::*;
use super::plan::truncate_separator;
use super::{BTree, NewEntry, posting, split};
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::page::PAGE_BYTES;
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Tid, Xid, sim};

/// Inner pages get few inserts.
const INNER_PERCENT: usize = 95;

/// Takes entries in order and makes a tree of them.
pub struct Builder<'t> {
    tree: &'t BTree,
    levels: Vec<Level>,
    /// How full leaves become.
    percent: usize,
    /// Whether equal keys become postings.
    merges: bool,
    entries: u64,
    _window: sim::Window,
}

/// The page in progress of one level.
struct Level {
    /// Where it will go; known from the first page that is full on.
    block: Option<BlockNo>,
    /// Keys, one after the other, each followed by what its entry carries, or by a posting's list.
    keys: Vec<u8>,
    entries: Vec<Item>,
    /// Bytes that all keys share.
    shared: usize,
    /// Payload if just these are shared.
    records: usize,
    /// The separator to the page before: the key of this page's entry in the parent.
    low: (Vec<u8>, u64),
}

struct Item {
    key_end: usize,
    carried_end: usize,
    value: u64,
    /// Tie-breaker: of a leaf entry the value, of a separator its own.
    tie: u64,
    /// Of a posting: its last row.
    last: Option<u64>,
}

/// An entry on its way to a page.
#[derive(Clone, Copy)]
struct Fresh<'k> {
    key: &'k [u8],
    value: u64,
    tie: u64,
    carried: &'k [u8],
}

impl BTree {
    /// Starts building into this tree, which must be empty and unknown to others.
    pub fn build(&self) -> Result<Builder<'_>> {
        let root = self.rel.extend(Fork::Main)?;
        if root.block() != ROOT {
            return Err(Error::damaged(self.name(), Some(ROOT), "the index to build is not empty"));
        }
        drop(root);
        Ok(Builder {
            tree: self,
            levels: vec![Level::new()],
            percent: self.fill_percent(),
            merges: self.merges(),
            entries: 0,
            _window: sim::window("btree-build"),
        })
    }
}

impl Builder<'_> {
    /// Appends an entry; (key, TID) must ascend.
    pub fn push(&mut self, entry: NewEntry<'_>) -> Result<()> {
        super::insert::check_size(entry.key, entry.carried)?;
        let tie = entry.tid.to_u64();
        self.push_at(0, Fresh { key: entry.key, value: tie, tie, carried: entry.carried })?;
        self.entries += 1;
        if self.entries.is_multiple_of(1024) {
            base::interrupt::check()?;
            base::park::checkpoint();
        }
        Ok(())
    }

    /// Writes what is left and makes the root. Returns the number of entries.
    pub fn finish(mut self) -> Result<u64> {
        let mut level = 0;
        while self.levels[level].block.is_some() {
            self.close_page(level, None)?;
            level += 1;
        }
        let draft = self.levels[level].draw(level as u8, None);
        self.tree.write_whole(ROOT, &draft)?;
        Ok(self.entries)
    }

    fn push_at(&mut self, level: usize, entry: Fresh<'_>) -> Result<()> {
        let page = &mut self.levels[level];
        let percent = if level == 0 { self.percent } else { INNER_PERCENT };
        if level == 0 && self.merges && page.join(&entry, percent) {
            return Ok(());
        }
        let sizes = page.sizes_with(level, &entry);
        if !page.is_full_for(level, entry.key, sizes, percent) {
            page.push(&entry, sizes);
            return Ok(());
        }
        self.push_on_next(level, entry)
    }

    /// Closes the page in progress, which is full, and begins the next with this entry.
    fn push_on_next(&mut self, level: usize, entry: Fresh<'_>) -> Result<()> {
        let Fresh { key, tie, .. } = entry;
        let page = &mut self.levels[level];
        if level > 0 && !page.has_room_for_high(key) {
            // A long separator behind short ones: the last of those, for which there is room, takes
            // its place.
            let (last, item) = page.pop();
            self.close_page(level, Some((last.clone(), item.tie)))?;
            let (value, tie) = (item.value, item.tie);
            self.levels[level].begin(level, &Fresh { key: &last, value, tie, carried: &[] });
            return self.push_at(level, entry);
        }
        let mut separator = key.to_vec();
        let separator_tie = match level {
            0 => {
                let (last_key, last_tie) = page.last();
                assert!((last_key, last_tie) < (key, tie), "entries to build from ascend");
                truncate_separator(last_key, &mut separator, tie)
            }
            _ => tie,
        };
        self.close_page(level, Some((separator, separator_tie)))?;
        self.levels[level].begin(level, &entry);
        Ok(())
    }

    /// Writes the page in progress and enters it into the level above; `high` separates it from the next.
    fn close_page(&mut self, level: usize, high: Option<(Vec<u8>, u64)>) -> Result<()> {
        let block = match self.levels[level].block {
            Some(block) => block,
            None => self.tree.extend_for_build()?,
        };
        let next = match high {
            Some(_) => Some(self.tree.extend_for_build()?),
            None => None,
        };
        let mut draft = self.levels[level].draw(level as u8, split::borrow(&high));
        edit::set_right(&mut draft.page_mut(), next.unwrap_or(ROOT));
        self.tree.write_whole(block, &draft)?;
        let low = self.levels[level].restart(next, high);
        if self.levels.len() == level + 1 {
            self.levels.push(Level::new());
        }
        let value = u64::from(block.0);
        self.push_at(level + 1, Fresh { key: &low.0, value, tie: low.1, carried: &[] })
    }
}

impl Level {
    fn new() -> Level {
        Level {
            block: None,
            keys: Vec::new(),
            entries: Vec::new(),
            shared: 0,
            records: 0,
            low: (Vec::new(), 0),
        }
    }

    fn key(&self, i: usize) -> &[u8] {
        let from = if i == 0 { 0 } else { self.entries[i - 1].carried_end };
        &self.keys[from..self.entries[i].key_end]
    }

    fn carried(&self, i: usize) -> &[u8] {
        let Item { key_end, carried_end, .. } = self.entries[i];
        &self.keys[key_end..carried_end]
    }

    /// What the record of entry `i` holds beside the key.
    fn beside(&self, level: usize, i: usize) -> Beside<'_> {
        match level {
            0 if self.entries[i].last.is_some() => Beside::list(self.carried(i)),
            0 => Beside::carried(self.carried(i)),
            _ => Beside::tie(self.entries[i].tie),
        }
    }

    /// Key and tie-breaker of what was added last.
    fn last(&self) -> (&[u8], u64) {
        let last = self.entries.len() - 1;
        let item = &self.entries[last];
        (self.key(last), item.last.unwrap_or(item.tie))
    }

    /// Makes the entry a row of the last one, if that has the same key and both have room for it. False: it does not
    /// belong there.
    fn join(&mut self, entry: &Fresh<'_>, percent: usize) -> bool {
        let Some(i) = self.entries.len().checked_sub(1) else { return false };
        let (key, last) = self.last();
        let carries = |item: &Item| item.last.is_none() && item.carried_end > item.key_end;
        if key != entry.key || !entry.carried.is_empty() || carries(&self.entries[i]) {
            return false;
        }
        assert!(last < entry.tie, "entries to build from ascend");
        let Item { key_end, carried_end, .. } = self.entries[i];
        let rest = entry.key.len() - self.shared;
        let record = |list: usize| record_bytes(rest, carried_bytes(list));
        posting::append(&mut self.keys, Tid::from_u64(last), Tid::from_u64(entry.tie));
        let list = self.keys.len() - key_end;
        let records = self.records - record(carried_end - key_end) + record(list);
        let sizes = (self.shared, records);
        let fits = list <= merged_bytes_max(entry.key.len())
            && !self.is_over(self.entries.len(), entry.key, sizes, percent);
        if !fits {
            self.keys.truncate(carried_end);
            return false;
        }
        self.records = records;
        let item = &mut self.entries[i];
        (item.carried_end, item.last) = (self.keys.len(), Some(entry.tie));
        true
    }

    /// Entries from here on have keys; the first of an inner page stands for minus infinity.
    fn first_key(level: usize) -> usize {
        usize::from(level > 0)
    }

    /// Shared bytes and payload if the entry came to the page.
    fn sizes_with(&self, level: usize, entry: &Fresh<'_>) -> (usize, usize) {
        let (first, key) = (Self::first_key(level), entry.key);
        let beside = match level {
            0 => Beside::carried(entry.carried),
            _ => Beside::tie(entry.tie),
        };
        if self.entries.len() <= first {
            return (key.len(), record_bytes(0, beside.bytes()));
        }
        let shared = common_prefix(&self.key(first)[..self.shared], key);
        let own = record_bytes(key.len() - shared, beside.bytes());
        if shared == self.shared {
            return (shared, self.records + own);
        }
        let records = (first..self.entries.len())
            .map(|i| record_bytes(self.key(i).len() - shared, self.beside(level, i).bytes()));
        (shared, records.sum::<usize>() + own)
    }

    /// Whether `key`, with which its sizes would be these, has to go to the next page.
    fn is_full_for(&self, level: usize, key: &[u8], sizes: (usize, usize), percent: usize) -> bool {
        self.entries.len() > Self::first_key(level)
            && self.is_over(self.entries.len() + 1, key, sizes, percent)
    }

    /// Whether so many entries with these sizes are too much for a page that ends with `key`.
    fn is_over(
        &self,
        count: usize,
        key: &[u8],
        (shared, records): (usize, usize),
        percent: usize,
    ) -> bool {
        let bytes = count * ENTRY_BYTES + records + prefix_bytes(shared);
        // The high key to come is at most one byte longer than what it shares with this key.
        let high = high_bytes((key.len() + 1).min(MAX_KEY_BYTES));
        bytes > CAPACITY * percent / 100 || bytes + high > CAPACITY
    }

    /// Whether the page as it is has room for `key` as its high key.
    fn has_room_for_high(&self, key: &[u8]) -> bool {
        let bytes = self.entries.len() * ENTRY_BYTES + self.records + prefix_bytes(self.shared);
        bytes + high_bytes(key.len()) <= CAPACITY
    }

    /// Takes the last entry of an inner page back. What the others share may be more now; it is good enough.
    fn pop(&mut self) -> (Vec<u8>, Item) {
        let key = self.last().0.to_vec();
        let item = self.entries.pop().expect("a full page has entries");
        self.keys.truncate(self.keys.len() - key.len());
        (key, item)
    }

    /// Adds an entry, with which its sizes are these.
    fn push(&mut self, entry: &Fresh<'_>, sizes: (usize, usize)) {
        (self.shared, self.records) = sizes;
        self.keys.extend_from_slice(entry.key);
        let key_end = self.keys.len();
        self.keys.extend_from_slice(entry.carried);
        let (carried_end, value, tie) = (self.keys.len(), entry.value, entry.tie);
        self.entries.push(Item { key_end, carried_end, value, tie, last: None });
    }

    /// Adds the first entry.
    fn begin(&mut self, level: usize, entry: &Fresh<'_>) {
        let sizes = self.sizes_with(level, entry);
        self.push(entry, sizes);
    }

    fn draw(&self, level: u8, high: edit::High<'_>) -> Draft {
        let first = Self::first_key(usize::from(level));
        let prefix = match self.entries.len() > first {
            true => &self.key(first)[..self.shared],
            false => &[],
        };
        let mut draft = Draft::new(level, prefix, high);
        for (i, item) in self.entries.iter().enumerate() {
            if i < first {
                draft.push_floor(BlockNo(item.value as u32));
            } else {
                draft.push(self.key(i), item.value, self.beside(usize::from(level), i));
            }
        }
        draft.finish();
        draft
    }

    /// Empties the page in progress; it will go to `block`. Returns the low separator it had.
    fn restart(&mut self, block: Option<BlockNo>, low: Option<(Vec<u8>, u64)>) -> (Vec<u8>, u64) {
        self.block = block;
        self.keys.clear();
        self.entries.clear();
        (self.shared, self.records) = (0, 0);
        std::mem::replace(&mut self.low, low.unwrap_or_default())
    }
}

impl BTree {
    fn extend_for_build(&self) -> Result<BlockNo> {
        Ok(self.rel.extend(Fork::Main)?.block())
    }

    /// Writes a drawn page to `block` and logs it whole.
    fn write_whole(&self, block: BlockNo, draft: &Draft) -> Result<()> {
        let mut journal =
            Journal::open(&self.wal, &self.rel, 1, record_bound(1, 1, PAGE_BYTES + 16))?;
        let mut page = self.rel.write(Fork::Main, block)?;
        page.mark_dirty();
        page.copy_from(draft.node().0);
        let at = journal.insert(|terms| {
            terms
                .record(Kind::BTREE_PAGE, Xid::INVALID)
                .image_block(page.page_id(), split::image(draft))
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
        Ok(())
    }
}
