//! Merging: the entries of a full leaf that have one key become postings before the leaf splits.
//!
//! An entry takes 16 bytes and its key, a row of a posting 1 or 2. To put each new row into a posting at once would
//! mean to write a list anew each time; so rows that come behind a posting are entries of their own until the leaf is
//! full, and then one pass over it merges them all. Its record says nothing but that it happened: redo does the same
//! to the same bytes, whatever is marked dead (B6).

use super::BTree;
use super::edit::{self, Draft, Drawn};
use super::page::*;
use super::posting::{self, Posting};
use super::split::borrow;
use super::widen::list_bytes_max;
use crate::buffer::WriteGuard;
use crate::journal::Journal;
use crate::page::PageMut;
use crate::wal::Kind;
use base::{Tid, Xid, sim};

/// Bytes of a list that merging makes. The longer, the less there is of what each posting takes besides; the shorter,
/// the closer to its middle a leaf can be cut, and the less a row that comes among others moves.
const LIST_BYTES: usize = 512;

/// The longest list that merging makes for a key.
pub(super) fn merged_bytes_max(key_len: usize) -> usize {
    list_bytes_max(key_len, LIST_BYTES)
}

impl BTree {
    /// Merges the equal keys of a latched leaf. False if there are none to merge. The journal has a claim for a
    /// record that says nothing.
    pub(super) fn merge_equal(&self, page: &mut WriteGuard<'_>, journal: &mut Journal<'_>) -> bool {
        let Some(runs) = Runs::of(Node(page.view())) else { return false };
        let _window = sim::window("btree-merge");
        page.mark_dirty();
        runs.write(page);
        let at = journal
            .insert(|terms| terms.record(Kind::BTREE_MERGE, Xid::INVALID).block(&*page, &[]));
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
        true
    }
}

/// Merges the equal keys of a leaf. False if there are none to merge; the page is unchanged then.
pub(super) fn merge(page: &mut PageMut<'_>) -> bool {
    let runs = Runs::of(Node(page.view()));
    runs.inspect(|runs| runs.write(page)).is_some()
}

/// Some entries of a leaf with one key that become one, or one that stays what it is.
struct Run {
    /// Where the first is.
    at: usize,
    /// What they become, if there are several or somebody has tried to join.
    posting: Option<(Posting, Tid)>,
    joined: bool,
}

/// All entries of a leaf, in order.
struct Runs(Vec<Run>);

impl Run {
    fn alone(at: usize) -> Run {
        Run { at, posting: None, joined: false }
    }

    /// Takes entry `at`, which has the same key, if the list does not get too long.
    fn join(&mut self, node: Node<'_>, at: usize, list: &mut Vec<u8>) -> bool {
        let (posting, last) = self.posting.get_or_insert_with(|| {
            let mut list = Vec::new();
            node.append_list(self.at, &mut list);
            let first = node.slot(self.at).tid();
            (Posting { first, list }, node.rows(self.at).last().unwrap_or(first))
        });
        list.clear();
        posting::append(list, *last, node.slot(at).tid());
        // Told by distances, so the other's list holds behind any row.
        node.append_list(at, list);
        if posting.list.len() + list.len() > merged_bytes_max(node.skip() + node.rest_len(at)) {
            return false;
        }
        posting.list.extend_from_slice(list);
        *last = node.rows(at).last().unwrap_or(*last);
        self.joined = true;
        true
    }

    fn drawn(&self) -> Drawn<'_> {
        let posting = self.posting.as_ref().filter(|_| self.joined);
        Drawn { at: self.at, posting: posting.map(|(posting, _)| posting) }
    }
}

impl Runs {
    /// `None` if no two entries can become one.
    fn of(node: Node<'_>) -> Option<Runs> {
        let count = node.count();
        let plain = |at: usize| !node.slot(at).carries();
        let same = |at: usize| plain(at - 1) && plain(at) && node.same_key(at - 1, at);
        if !(1..count).any(same) {
            return None;
        }
        let mut runs: Vec<Run> = Vec::with_capacity(count);
        let mut list = Vec::new();
        for at in 0..count {
            let joins = at > 0 && same(at);
            let joined = joins && runs.last_mut().is_some_and(|run| run.join(node, at, &mut list));
            if !joined {
                runs.push(Run::alone(at));
            }
        }
        (runs.len() < count).then_some(Runs(runs))
    }

    /// Draws the leaf anew. It gets no larger: a step takes 9 bytes at most, and what it stands for at least 16.
    fn write(&self, page: &mut PageMut<'_>) {
        let node = Node(page.view());
        let drawn: Vec<Drawn<'_>> = self.0.iter().map(Run::drawn).collect();
        let high = node.high();
        let prefix = edit::shared_prefix(node, &drawn, None);
        Draft::drawn(node, &prefix, &drawn, borrow(&high)).replace(page);
        edit::count_change(page);
    }
}
