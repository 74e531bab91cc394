//! Bottom-up deletion: before a leaf splits, the table is asked whether the rows behind its entries are gone.
//!
//! An index that is updated and never read collects an entry for each version of a row, and no reader marks those
//! of the dead ones. So the writer whose entry found no room on a leaf looks for itself: it copies the leaf's TIDs,
//! asks the table about some of them with nothing latched, and removes what is gone if the leaf has not changed
//! since. Which to ask about is a guess, as in PostgreSQL's `_bt_bottomupdel_pass`: entries of one key are versions
//! of one row more often than not, and a heap block that many of the leaf's entries lead to answers for many.

use super::BTree;
use super::page::*;
use crate::buffer::Figure;
use crate::error::Result;
use crate::journal::Journal;
use crate::wal::record_bound;
use base::{BlockNo, Fork, Tid, sim};
use std::cmp::Reverse;

/// Tells whether the row behind a TID is gone for every transaction there is or will be, durably. May wait for I/O,
/// is called without any latch.
pub type IsGone<'g> = dyn FnMut(Tid) -> Result<bool> + 'g;

/// Heap blocks that one full leaf may ask for.
const BLOCKS_MAX: usize = 64;
/// Heap blocks without a dead row after which it gives up.
const BARREN_MAX: usize = 8;
/// One entry of so many must go at least. Fewer would make room for a few inserts at the price of asking again for
/// each of them: then the leaf had better split.
const SHARE_MIN: usize = 64;

/// Whose entries are worth asking about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Suspects {
    /// Those of keys that the leaf has several of: in a unique index only versions of a row repeat a key.
    Repeated,
    /// All; those of repeated keys first.
    All,
}

/// The entries of a leaf, copied.
struct Leaf {
    entries: Vec<Suspect>,
    changes: u32,
}

#[derive(Clone, Copy)]
struct Suspect {
    tid: Tid,
    /// Number among the rows of the page.
    number: u16,
    /// Whether another has its key.
    repeats: bool,
}

/// The entries that lead to one heap block.
struct Group {
    entries: std::ops::Range<usize>,
    repeats: usize,
}

impl BTree {
    /// Removes entries from a full leaf whose rows are gone. False if that made no room worth it: the leaf is to
    /// split then.
    pub(super) fn clear_out(
        &self,
        block: BlockNo,
        place: Place<'_>,
        suspects: Suspects,
        is_gone: &mut IsGone<'_>,
    ) -> Result<bool> {
        let copied = self.look(block, |node| Leaf::copy(node, place, suspects))?;
        let Some(mut leaf) = copied else { return Ok(false) };
        let count = leaf.entries.len();
        // The horizon known to all may be older than need be; looking at every session costs less than a split.
        self.txns.refresh();
        let gone = leaf.ask(suspects, is_gone)?;
        self.rel.count(Figure::LeavesAsked, 1);
        if gone.len() * SHARE_MIN < count {
            return Ok(false);
        }
        let _window = sim::window("btree-bottom-up");
        let bytes = record_bound(1, 1, 2 * MAX_ROWS);
        let mut journal = Journal::open(&self.wal, &self.rel, 1, bytes)?;
        let mut page = self.rel.write(Fork::Main, block)?;
        let node = Node(page.view());
        // An entry that has been there all the time kept its line pointer from becoming another row's (H3).
        if !node.is_live() || !node.is_leaf() || node.changes() != leaf.changes {
            return Ok(false);
        }
        self.remove_entries(&mut page, &mut journal, &gone);
        self.rel.count(Figure::EntriesCleared, gone.len() as u64);
        Ok(true)
    }
}

impl Leaf {
    /// Copies the leaf; `None` if there is nothing to ask: it is none any more, has entries marked dead, which are
    /// free to go, nothing that is suspect, or fills at the tree's right end, with new keys.
    fn copy(node: Node<'_>, place: Place<'_>, suspects: Suspects) -> Option<Leaf> {
        let count = node.count();
        let appends = node.is_rightmost() && node.lower_bound(Place::before(place.key)) == count;
        if !node.is_live() || !node.is_leaf() || node.is_beyond(place) || appends {
            return None;
        }
        let mut entries: Vec<Suspect> = Vec::with_capacity(count);
        let mut any = suspects == Suspects::All;
        for at in 0..count {
            let slot = node.slot(at);
            if slot.is_dead() {
                return None;
            }
            let first = entries.len();
            let mut repeats = slot.is_posting();
            if at > 0 && node.same_key(at - 1, at) {
                entries[first - 1].repeats = true;
                repeats = true;
            }
            any |= repeats;
            let suspect = |(i, tid)| Suspect { tid, number: (first + i) as u16, repeats };
            entries.extend(node.rows(at).enumerate().map(suspect));
        }
        any.then(|| Leaf { entries, changes: node.changes() })
    }

    /// Asks about the most promising entries, heap block by heap block; the numbers of the rows that are
    /// gone, ascending.
    fn ask(&mut self, suspects: Suspects, is_gone: &mut IsGone<'_>) -> Result<Vec<u16>> {
        self.entries.sort_unstable_by_key(|suspect| suspect.tid);
        let (mut gone, mut barren) = (Vec::new(), 0);
        for group in self.groups(suspects).into_iter().take(BLOCKS_MAX) {
            let before = gone.len();
            for suspect in &self.entries[group.entries] {
                if is_gone(suspect.tid)? {
                    gone.push(suspect.number);
                }
            }
            barren += usize::from(gone.len() == before);
            if barren == BARREN_MAX {
                break;
            }
        }
        gone.sort_unstable();
        Ok(gone)
    }

    /// The sorted entries by heap block, the most promising first.
    fn groups(&self, suspects: Suspects) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut start = 0;
        for entries in self.entries.chunk_by(|a, b| a.tid.block == b.tid.block) {
            let repeats = entries.iter().filter(|suspect| suspect.repeats).count();
            if repeats > 0 || suspects == Suspects::All {
                groups.push(Group { entries: start..start + entries.len(), repeats });
            }
            start += entries.len();
        }
        groups.sort_by_key(|group| Reverse((group.repeats, group.entries.len())));
        groups
    }
}
