//! Where to cut a full page, and the separator that goes up.

use super::edit::prefix_bytes;
use super::page::*;
use std::cmp::Ordering;

/// Share of the left half of a leaf that has one key only, to which rows are added at the end, in percent.
const ONE_KEY_PERCENT: usize = 96;

/// A full leaf with fewer consists of postings, or of long keys.
const FEW_ENTRIES: usize = 64;

/// A cut: entries from `at` on move to the new right sibling, `key` and `tie` separate the halves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub at: usize,
    pub key: Vec<u8>,
    pub tie: u64,
}

/// Chooses the cut of a page on which an entry at `incoming` found no room.
///
/// Cutting does not insert: the entry is tried again on its half afterwards, which may cut again. So the
/// choice needs no proof that the entry fits, only that both halves do. The right half always does: it is a
/// part of what is there, with the same high key. The left half gets a new high key; with an entry moved
/// for each that is missing, it does too, because three of the largest keys fit on a page.
///
/// `ascending`: share of the left half in percent where new keys arrive at the right end.
pub(super) fn choose_cut(node: Node<'_>, incoming: Place<'_>, ascending: usize) -> Cut {
    let count = node.count();
    let at = node.lower_bound(incoming);
    if node.is_leaf() && node.prefix_cmp(incoming.key) != Ordering::Equal {
        // A stranger below or above all others: alone, it leaves them their shared prefix.
        let cut = cut_beside(node, at, incoming);
        if left_fits(node, &cut) {
            return cut;
        }
    }
    let percent = match at == count {
        true if node.is_rightmost() => ascending,
        true if is_of_one_key(node, incoming) => ONE_KEY_PERCENT,
        _ => 50,
    };
    let middle = balanced(node, percent);
    // Somewhat to the side, a shorter separator may be had: it is copied up and compared often. The fewer entries there
    // are the more likely a key's begin and end there.
    let window = count / if count < FEW_ENTRIES { 8 } else { 32 } + 1;
    let (first, last) = limits(node);
    let candidates = middle.saturating_sub(window).max(first)..=(middle + window).min(last);
    let best = candidates.min_by_key(|at| (separator_len(node, *at), at.abs_diff(middle)));
    let mut at = best.expect("a full page has more than one entry");
    loop {
        let cut = cut_between(node, at);
        if at == first || left_fits(node, &cut) {
            return cut;
        }
        at -= 1;
    }
}

/// Whether a leaf has nothing but `incoming`'s key, with rows before it: then rows come in the order of their TIDs most
/// likely, and nothing will come to the left half any more.
fn is_of_one_key(node: Node<'_>, incoming: Place<'_>) -> bool {
    node.is_leaf() && node.key_is(0, incoming.key) && {
        let last = node.rows(node.count() - 1).last();
        last.is_some_and(|last| last.to_u64() < incoming.tie)
    }
}

/// The first and last possible cut among the entries: neither half without an entry, and the right half of
/// an inner page with a floor.
fn limits(node: Node<'_>) -> (usize, usize) {
    (1, node.count() - 1)
}

/// The cut at which the left half holds about `percent` of the bytes.
fn balanced(node: Node<'_>, percent: usize) -> usize {
    let bytes = |i| ENTRY_BYTES + node.record_bytes(i);
    let total: usize = (0..node.count()).map(bytes).sum();
    let wanted = total * percent / 100;
    let mut sum = 0;
    let at = (0..node.count()).position(|i| {
        sum += bytes(i);
        sum > wanted
    });
    let (first, last) = limits(node);
    at.unwrap_or(last).clamp(first, last)
}

/// Length of the separator of a cut, without building it.
fn separator_len(node: Node<'_>, at: usize) -> usize {
    if !node.is_leaf() {
        return node.skip() + node.rest_len(at);
    }
    if node.head(at - 1) != node.head(at) {
        // They differ within the head: as many bytes as it takes to tell.
        let equal = (node.head(at - 1) ^ node.head(at)).leading_zeros() as usize / 8;
        return node.skip() + equal + 1;
    }
    let cut = cut_between(node, at);
    cut.key.len() + Beside::tie(cut.tie).bytes()
}

/// The cut before entry `at`, which has a left neighbour.
fn cut_between(node: Node<'_>, at: usize) -> Cut {
    let mut key = node.key(at);
    if !node.is_leaf() {
        return Cut { at, key, tie: node.tie(at) };
    }
    let tie = truncate_separator(&node.key(at - 1), &mut key, node.tie(at));
    Cut { at, key, tie }
}

/// The cut that gives `incoming` a page of its own: it sorts before or behind all entries.
fn cut_beside(node: Node<'_>, at: usize, incoming: Place<'_>) -> Cut {
    assert!(at == 0 || at == node.count(), "whoever lacks the shared prefix sorts outside");
    if at == 0 {
        let mut key = node.key(0);
        let tie = truncate_separator(incoming.key, &mut key, node.tie(0));
        return Cut { at, key, tie };
    }
    let mut key = incoming.key.to_vec();
    let tie = truncate_separator(&node.key(at - 1), &mut key, incoming.tie);
    Cut { at, key, tie }
}

/// Suffix truncation: cuts `right` to as many bytes as tell it from `left`, the key before it. Returns the
/// tie-breaker: `tie`, the right entry's, if the keys are the same, else none.
pub(super) fn truncate_separator(left: &[u8], right: &mut Vec<u8>, tie: u64) -> u64 {
    if left == right.as_slice() {
        return tie;
    }
    let needed = common_prefix(left, right) + 1;
    debug_assert!(left < right.as_slice() && needed <= right.len(), "entries ascend");
    right.truncate(needed);
    0
}

/// Whether the left half has room for its new high key.
fn left_fits(node: Node<'_>, cut: &Cut) -> bool {
    let entries: usize = (0..cut.at).map(|i| ENTRY_BYTES + node.record_bytes(i)).sum();
    entries + prefix_bytes(node.skip()) + high_bytes(cut.key.len()) <= CAPACITY
}
