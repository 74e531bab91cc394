//! Where to cut a full page, and the separator that goes up.

use super::edit::{joined_prefix, prefix_bytes};
use super::page::*;
use std::cmp::Ordering;

/// Share of the left half of a leaf that has one key only, to which rows are added at the end, in percent.
const ONE_KEY_PERCENT: usize = 96;

/// A full leaf with fewer consists of postings, or of long keys.
const FEW_ENTRIES: usize = 64;

/// Bytes that a leaf's right sibling must have free, lest entries go there for little: the sibling gets half of it.
pub(super) const SHIFT_FREE_MIN: usize = CAPACITY / 10;

/// Bytes that must be free on it afterwards.
const SHIFTED_FREE_MIN: usize = CAPACITY / 24;

/// Bytes of two neighbours up to which vacuum makes them one leaf.
pub(super) const JOINED_MAX: usize = CAPACITY * 5 / 6;

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
    cut_near(node, percent)
}

/// Whether [`choose_cut`] cuts a leaf within, and not so that one key, or a stranger, has a page to itself.
pub(super) fn is_cut_within(node: Node<'_>, incoming: Place<'_>) -> bool {
    node.prefix_cmp(incoming.key) == Ordering::Equal && !is_of_one_key(node, incoming)
}

/// Chooses the cut of a leaf after about a third of it; `None` if it has too few entries.
pub(super) fn choose_third(node: Node<'_>) -> Option<Cut> {
    (node.count() > 2).then(|| cut_near(node, 34))
}

/// The cut at which the left half holds about `percent` of the bytes.
fn cut_near(node: Node<'_>, percent: usize) -> Cut {
    let count = node.count();
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

/// Chooses which entries of a full leaf go to its right sibling: so many that both have as much free. `None` if what
/// goes would not fit there as it does here.
pub(super) fn choose_shift(left: Node<'_>, right: Node<'_>) -> Option<Cut> {
    let count = left.count();
    if count < 2 {
        return None;
    }
    let free = right.gap() + right.garbage();
    if free < SHIFT_FREE_MIN {
        return None;
    }
    let wanted = free / 2;
    let mut sum = 0;
    let goes = (1..count).rev().take_while(|i| {
        sum += ENTRY_BYTES + left.record_bytes(*i);
        sum <= wanted
    });
    let middle = goes.last()?;
    let window = (count - middle) / 4;
    let candidates = middle..=(middle + window).min(count - 1);
    let at = candidates.min_by_key(|at| (separator_len(left, *at), at - middle))?;
    let cut = cut_between(left, at);
    let (_, bytes) = joined_prefix(left, at, right);
    let fits = bytes + right.high_bytes() + SHIFTED_FREE_MIN <= CAPACITY;
    (fits && left_fits(left, &cut)).then_some(cut)
}

/// All entries of a leaf, if they and its right sibling's are few enough for one leaf.
pub(super) fn choose_all(left: Node<'_>, right: Node<'_>) -> Option<Cut> {
    if left.count() == 0 {
        return None;
    }
    let (_, bytes) = joined_prefix(left, 0, right);
    let fits = bytes + right.high_bytes() <= JOINED_MAX;
    // Not truncated: what is left of it is unknown. The separator goes with the leaf.
    let cut = Cut { at: 0, key: left.key(0), tie: left.tie(0) };
    (fits && left_fits(left, &cut)).then_some(cut)
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
