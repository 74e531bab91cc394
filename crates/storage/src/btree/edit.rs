//! Changing a B-tree page's bytes. Deterministic: the same calls on the same bytes give the same bytes,
//! which is what redo relies on.
//!
//! Inserting and removing work in place. Whatever changes the shared prefix, drops many entries or squeezes
//! out garbage draws the page anew into a private one ([`Draft`]) and copies it back.

use super::page::*;
use super::posting::Posting;
use super::split::borrow;
use super::widen::Widened;
use crate::page::{PAGE_BYTES, PageBuf, PageKind, PageMut};
use base::BlockNo;
use std::cmp::Ordering;

/// A high key: bytes and tie-breaker.
pub(super) type High<'k> = Option<(&'k [u8], u64)>;

/// Makes `page` an empty B-tree page.
pub(super) fn init(page: &mut PageMut<'_>, level: u8) {
    page.init(PageKind::BTree, 0);
    page.put_u8(LEVEL, level);
    set_bounds(page, 0, PAGE_BYTES);
}

/// Stores the number of entries and the payload's start, in both headers.
pub(super) fn set_bounds(page: &mut PageMut<'_>, count: usize, upper: usize) {
    page.put_u16(COUNT, count as u16);
    page.put_u16(UPPER, upper as u16);
    page.set_lower(ENTRIES + count * ENTRY_BYTES);
    page.set_upper(upper & !7);
}

pub(super) fn set_flag(page: &mut PageMut<'_>, flag: u8, on: bool) {
    let others = page.get_u8(FLAGS) & !flag;
    page.put_u8(FLAGS, if on { others | flag } else { others });
}

pub(super) fn set_right(page: &mut PageMut<'_>, right: BlockNo) {
    page.put_u32(RIGHT, right.0);
}

/// Lets entry `i` of an inner page lead to another child.
pub(super) fn set_child(page: &mut PageMut<'_>, i: usize, child: BlockNo) {
    page.put_u32(ENTRIES + i * ENTRY_BYTES + 8, child.0);
}

pub(super) fn count_change(page: &mut PageMut<'_>) {
    let changes = page.get_u32(CHANGES).wrapping_add(1);
    page.put_u32(CHANGES, changes);
}

/// Takes `bytes` (a multiple of 4) of payload, zeroed at its end, and returns their offset.
fn take_payload(page: &mut PageMut<'_>, bytes: usize) -> usize {
    let upper = usize::from(page.get_u16(UPPER)) - bytes;
    page.put_u32(upper + bytes - 4, 0);
    page.put_u16(UPPER, upper as u16);
    upper
}

/// Writes entry `i` of a page whose shared prefix `rest` was stripped of. There must be room.
pub(super) fn write_entry(
    page: &mut PageMut<'_>,
    i: usize,
    rest: &[u8],
    value: u64,
    beside: Beside<'_>,
) {
    let bytes = record_bytes(rest.len(), beside.bytes());
    let slot = if bytes == 0 {
        Slot::inline(value, rest.len())
    } else {
        let at = take_payload(page, bytes);
        page.put_u16(at, rest.len() as u16);
        let tail = rest.get(HEAD_BYTES..).unwrap_or_default();
        let tail_at = match beside {
            Beside::Nothing => at + 2,
            Beside::Tie(tie) => {
                page.write_bytes(at + 2, &tie.to_le_bytes()[..TIE_BYTES]);
                at + 2 + TIE_BYTES
            }
            Beside::Carried(bytes) | Beside::List(bytes) => {
                page.put_u16(at + 2, bytes.len() as u16);
                page.write_bytes(at + 4 + tail.len(), bytes);
                at + 4
            }
        };
        page.write_bytes(tail_at, tail);
        Slot::external(value, at, beside)
    };
    let at = ENTRIES + i * ENTRY_BYTES;
    page.put_u64(at, head_of(rest));
    page.put_u64(at + 8, slot.0);
}

/// How an entry can get onto a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fit {
    InPlace,
    AfterRedraw,
    No,
}

/// `beside`: what the record takes beside the key ([`Beside::bytes`]).
fn fit(node: Node<'_>, key: &[u8], beside: usize) -> Fit {
    let keys = node.count().saturating_sub(node.first_key());
    let shares = node.prefix_cmp(key) == Ordering::Equal;
    if keys > 0 && shares {
        let needed = ENTRY_BYTES + record_bytes(key.len() - node.skip(), beside);
        return match node.gap() {
            gap if needed <= gap => Fit::InPlace,
            gap if needed <= gap + node.garbage() => Fit::AfterRedraw,
            _ => Fit::No,
        };
    }
    if node.skip() == 0 && node.garbage() == 0 {
        let needed = ENTRY_BYTES + record_bytes(key.len(), beside);
        return if needed <= node.gap() { Fit::InPlace } else { Fit::No };
    }
    let mut prefix = Vec::with_capacity(node.skip());
    node.append_prefix(&mut prefix);
    let skip = if keys == 0 { 0 } else { common_prefix(&prefix, key) };
    let grown = node.skip() - skip;
    let old: usize = (0..node.count())
        .map(|i| match node.slot(i) {
            _ if i < node.first_key() => ENTRY_BYTES,
            _ => ENTRY_BYTES + record_bytes(node.rest_len(i) + grown, node.beside_bytes(i)),
        })
        .sum();
    let own = ENTRY_BYTES + record_bytes(key.len() - skip, beside);
    let fits = old + own + prefix_bytes(skip) + node.high_bytes() <= CAPACITY;
    if fits { Fit::AfterRedraw } else { Fit::No }
}

/// Whether an entry fits, so that [`insert`] will succeed.
pub(super) fn has_room(node: Node<'_>, place: Place<'_>, beside: usize) -> bool {
    match Widened::of(node, node.lower_bound(place), place, beside > 0) {
        Some(widened) => widened.fits(node, beside),
        None => fit(node, place.key, beside) != Fit::No,
    }
}

/// Inserts an entry at position `i`. False without room; the page is unchanged then. A row that belongs among those of
/// the posting before `i` becomes one of them, or parts it: see [`Widened`].
pub(super) fn insert(
    page: &mut PageMut<'_>,
    i: usize,
    key: &[u8],
    value: u64,
    beside: Beside<'_>,
) -> bool {
    let node = Node(page.view());
    if let Some(widened) = Widened::of(node, i, Place { key, tie: value }, beside.bytes() > 0) {
        let done = widened.fits(node, beside.bytes()) && {
            widened.write(page);
            // What carries something comes between the parts.
            beside == Beside::Nothing || insert_alone(page, i, key, value, beside)
        };
        if done && beside == Beside::Nothing {
            count_change(page);
        }
        return done;
    }
    insert_alone(page, i, key, value, beside)
}

/// Inserts an entry of its own.
fn insert_alone(
    page: &mut PageMut<'_>,
    i: usize,
    key: &[u8],
    value: u64,
    beside: Beside<'_>,
) -> bool {
    match fit(Node(page.view()), key, beside.bytes()) {
        Fit::No => return false,
        Fit::AfterRedraw => redraw(page, Some(key), |_| true),
        Fit::InPlace => {}
    }
    let node = Node(page.view());
    let (count, skip) = (node.count(), node.skip());
    assert!(i <= count, "an entry is inserted among the others");
    let at = ENTRIES + i * ENTRY_BYTES;
    page.move_within(at, at + ENTRY_BYTES, (count - i) * ENTRY_BYTES);
    write_entry(page, i, &key[skip..], value, beside);
    let upper = usize::from(page.get_u16(UPPER));
    set_bounds(page, count + 1, upper);
    count_change(page);
    true
}

/// Removes rows of a leaf, counted over all its entries in order from 0 (a posting counts for as many rows as it has),
/// or entries of an inner page; the numbers ascend.
pub(super) fn remove(page: &mut PageMut<'_>, gone: &[u16]) {
    debug_assert!(gone.is_sorted_by(|a, b| a < b), "positions ascend");
    let node = Node(page.view());
    if node.is_leaf() && (0..node.count()).any(|i| node.slot(i).is_posting()) {
        remove_rows(page, gone);
        count_change(page);
        return;
    }
    let (count, upper) = (node.count(), node.upper());
    let freed: usize = gone.iter().map(|i| node.record_bytes(usize::from(*i))).sum();
    let mut next_gone = gone.iter().copied().peekable();
    let mut kept = 0;
    for i in 0..count {
        if next_gone.next_if_eq(&(i as u16)).is_some() {
            continue;
        }
        if kept != i {
            let (from, to) = (ENTRIES + i * ENTRY_BYTES, ENTRIES + kept * ENTRY_BYTES);
            page.move_within(from, to, ENTRY_BYTES);
        }
        kept += 1;
    }
    assert!(next_gone.next().is_none(), "every removed entry exists");
    page.zero(ENTRIES + kept * ENTRY_BYTES, (count - kept) * ENTRY_BYTES);
    page.put_u16(GARBAGE, (node.garbage() + freed) as u16);
    set_bounds(page, kept, upper);
    count_change(page);
    if kept <= usize::from(page.get_u8(LEVEL) != 0) {
        redraw(page, None, |_| true);
    }
}

/// As [`remove`], from a page that has postings: it is drawn anew, since most of them shrink.
fn remove_rows(page: &mut PageMut<'_>, gone: &[u16]) {
    let node = Node(page.view());
    let mut next_gone = gone.iter().map(|row| usize::from(*row)).peekable();
    let (mut row, mut rows) = (0, Vec::new());
    let mut kept: Vec<(usize, Option<Posting>)> = Vec::with_capacity(node.count());
    for i in 0..node.count() {
        let before = row;
        rows.clear();
        rows.extend(node.rows(i).filter(|_| {
            row += 1;
            next_gone.next_if_eq(&(row - 1)).is_none()
        }));
        match rows.len() {
            0 => {}
            all if all == row - before => kept.push((i, None)),
            _ => kept.push((i, Some(Posting::of(&rows)))),
        }
    }
    assert!(next_gone.next().is_none(), "every removed row exists");
    let drawn: Vec<Drawn<'_>> =
        kept.iter().map(|(at, posting)| Drawn { at: *at, posting: posting.as_ref() }).collect();
    let high = node.high();
    let prefix = shared_prefix(node, &drawn, None);
    Draft::drawn(node, &prefix, &drawn, borrow(&high)).replace(page);
}

/// Draws the page anew with the entries that `keep` names and the best shared prefix that `incoming`, about
/// to be inserted, shares too. Links, flags and high key stay.
fn redraw(page: &mut PageMut<'_>, incoming: Option<&[u8]>, keep: impl Fn(usize) -> bool) {
    let node = Node(page.view());
    let kept: Vec<usize> = (0..node.count()).filter(|i| keep(*i)).collect();
    let high = node.high();
    let draft = Draft::of(node, &kept, incoming, borrow(&high));
    draft.replace(page);
}

/// Cuts the page at `at`: entries from there on go, `high` becomes the high key and `right` the sibling.
pub(super) fn cut(page: &mut PageMut<'_>, at: usize, high: (&[u8], u64), right: BlockNo) {
    give(page, at, high);
    set_right(page, right);
    set_flag(page, INCOMPLETE, true);
}

/// Entries from `at` on go, `high` becomes the high key. The page is drawn anew, for the best shared prefix.
pub(super) fn give(page: &mut PageMut<'_>, at: usize, high: (&[u8], u64)) {
    let node = Node(page.view());
    let kept: Vec<usize> = (0..at).collect();
    let draft = Draft::of(node, &kept, None, Some(high));
    draft.replace(page);
    count_change(page);
}

/// Likewise, in place where there is room for the high key: for a few entries of many.
pub(super) fn give_some(page: &mut PageMut<'_>, at: usize, high: (&[u8], u64)) {
    let node = Node(page.view());
    let (count, needed) = (node.count(), high_bytes(high.0.len()));
    if at == 0 || needed > node.gap() + (count - at) * ENTRY_BYTES {
        return give(page, at, high);
    }
    let freed: usize = (at..count).map(|i| node.record_bytes(i)).sum();
    let garbage = node.garbage() + freed + node.high_bytes();
    page.zero(ENTRIES + at * ENTRY_BYTES, (count - at) * ENTRY_BYTES);
    let record = take_payload(page, needed);
    put_high(page, record, high);
    page.put_u16(GARBAGE, garbage as u16);
    let upper = usize::from(page.get_u16(UPPER));
    set_bounds(page, at, upper);
    count_change(page);
}

/// Puts the entries of leaf `given`, which are all before the page's own, in front of these: in place if they have what
/// the page's entries share and there is room.
pub(super) fn receive(page: &mut PageMut<'_>, given: Node<'_>) {
    let node = Node(page.view());
    let (count, more) = (node.count(), given.count());
    match room_for_all(node, given) {
        true => {
            let (mut scratch, skip) = (Vec::new(), node.skip());
            page.move_within(ENTRIES, ENTRIES + more * ENTRY_BYTES, count * ENTRY_BYTES);
            for i in 0..more {
                let entry = Whole::of(given, i, &mut scratch);
                write_entry(page, i, &entry.key[skip..], entry.value, entry.beside);
            }
            let upper = usize::from(page.get_u16(UPPER));
            set_bounds(page, count + more, upper);
        }
        false => {
            let high = node.high();
            Draft::joined(given, node, borrow(&high)).replace(page);
        }
    }
    set_flag(page, SHIFTED, true);
    count_change(page);
}

/// Whether [`receive`] can do without drawing the page anew.
fn room_for_all(node: Node<'_>, given: Node<'_>) -> bool {
    // Keys ascend: what the first has of the shared prefix, all between it and the page's have.
    if node.count() == 0 || node.prefix_cmp(&given.key(0)) != Ordering::Equal {
        return false;
    }
    let bytes = |i| {
        let rest_len = given.skip() + given.rest_len(i) - node.skip();
        ENTRY_BYTES + record_bytes(rest_len, given.beside_bytes(i))
    };
    (0..given.count()).map(bytes).sum::<usize>() <= node.gap()
}

/// A leaf entry with its whole key.
struct Whole<'b> {
    key: &'b [u8],
    value: u64,
    beside: Beside<'b>,
}

impl<'b> Whole<'b> {
    /// Entry `i`; its bytes go to `scratch`.
    fn of(node: Node<'_>, i: usize, scratch: &'b mut Vec<u8>) -> Whole<'b> {
        scratch.clear();
        node.append_key(i, scratch);
        let len = scratch.len();
        let slot = node.slot(i);
        node.append_carried(i, scratch);
        node.append_list(i, scratch);
        let (key, bytes) = scratch.split_at(len);
        let beside = match slot.is_posting() {
            true => Beside::list(bytes),
            false => Beside::carried(bytes),
        };
        Whole { key, value: slot.value(), beside }
    }
}

fn put_high(page: &mut PageMut<'_>, at: usize, (key, tie): (&[u8], u64)) {
    page.put_u16(at, key.len() as u16);
    page.write_bytes(at + 2, &tie.to_le_bytes()[..6]);
    page.write_bytes(at + 8, key);
    page.put_u16(HIGH, at as u16);
}

/// Makes the page one that nobody should come to; its right link stays for who does.
pub(super) fn unlink(page: &mut PageMut<'_>, stamp: u64) {
    let right = Node(page.view()).right();
    let (changes, level) = (page.get_u32(CHANGES), page.get_u8(LEVEL));
    let lsn = page.lsn();
    init(page, level);
    page.set_lsn(lsn);
    page.put_u32(CHANGES, changes);
    set_right(page, right);
    set_flag(page, DELETED, true);
    page.put_u64(DELETED_STAMP, stamp);
    // Inside the bounds of what a page image keeps.
    page.set_lower(DELETED_STAMP + ENTRY_BYTES);
    count_change(page);
}

/// Payload bytes of the shared prefix.
pub(super) fn prefix_bytes(skip: usize) -> usize {
    if skip <= INLINE_PREFIX_BYTES { 0 } else { align4(skip) }
}

/// An entry of a page to be drawn anew.
#[derive(Clone, Copy)]
pub(super) struct Drawn<'p> {
    /// Where it is.
    pub at: usize,
    /// The rows that it gets; `None`: it stays what it is.
    pub posting: Option<&'p Posting>,
}

/// A page under construction in private memory: entries are appended in order.
pub(super) struct Draft {
    page: PageBuf,
    count: usize,
    skip: usize,
}

impl Draft {
    /// An empty page of `level` whose keys will all begin with `prefix`.
    pub fn new(level: u8, prefix: &[u8], high: High<'_>) -> Draft {
        let mut buf = PageBuf::new();
        let mut page = buf.page_mut();
        init(&mut page, level);
        if let Some(high) = high {
            let at = take_payload(&mut page, high_bytes(high.0.len()));
            put_high(&mut page, at, high);
        }
        page.put_u16(SKIP, prefix.len() as u16);
        if prefix.len() <= INLINE_PREFIX_BYTES {
            page.write_bytes(INLINE_PREFIX, prefix);
        } else {
            let at = take_payload(&mut page, align4(prefix.len()));
            page.write_bytes(at, prefix);
            page.put_u16(PREFIX, at as u16);
        }
        let upper = usize::from(page.get_u16(UPPER));
        set_bounds(&mut page, 0, upper);
        Draft { page: buf, count: 0, skip: prefix.len() }
    }

    /// A page like `node` with the entries `kept` (ascending) and `high`; links and flags are copied. The
    /// first kept entry of an inner page becomes its floor: its key is forgotten.
    pub fn of(node: Node<'_>, kept: &[usize], incoming: Option<&[u8]>, high: High<'_>) -> Draft {
        let drawn: Vec<Drawn<'_>> =
            kept.iter().map(|at| Drawn { at: *at, posting: None }).collect();
        let with_key = &drawn[node.first_key().min(kept.len())..];
        let prefix = shared_prefix(node, with_key, incoming);
        Draft::drawn(node, &prefix, &drawn, high)
    }

    /// The same of entries some of which get other rows, with the shared prefix `prefix`: as long as the node's, or what
    /// [`shared_prefix`] chooses.
    pub fn drawn(node: Node<'_>, prefix: &[u8], drawn: &[Drawn<'_>], high: High<'_>) -> Draft {
        let mut draft = Draft::new(node.level(), prefix, high);
        let mut page = draft.page.page_mut();
        page.put_u32(CHANGES, node.changes());
        set_right(&mut page, node.right());
        page.put_u8(FLAGS, node.0.get_u8(FLAGS));
        if !node.is_leaf()
            && let Some(floor) = drawn.first()
        {
            draft.push_floor(node.slot(floor.at).child());
        }
        let mut scratch = Vec::new();
        for &Drawn { at, posting } in &drawn[node.first_key().min(drawn.len())..] {
            if let Some(Posting { first, list }) = posting {
                scratch.clear();
                node.append_key(at, &mut scratch);
                draft.push(&scratch, first.to_u64(), Beside::list(list));
            } else if prefix.len() == node.skip() {
                draft.push_as_is(node, at, &mut scratch);
            } else {
                draft.push_again(node, at, &mut scratch);
            }
        }
        draft.finish();
        draft
    }

    /// The leaf `right` with the entries of `left`, which are all before its own.
    pub fn joined(left: Node<'_>, right: Node<'_>, high: High<'_>) -> Draft {
        let (prefix, _) = joined_prefix(left, 0, right);
        let mut draft = Draft::new(right.level(), &prefix, high);
        let mut page = draft.page.page_mut();
        page.put_u32(CHANGES, right.changes());
        set_right(&mut page, right.right());
        page.put_u8(FLAGS, right.0.get_u8(FLAGS));
        let mut scratch = Vec::new();
        for node in [left, right] {
            for at in 0..node.count() {
                if prefix.len() == node.skip() {
                    draft.push_as_is(node, at, &mut scratch);
                } else {
                    draft.push_again(node, at, &mut scratch);
                }
            }
        }
        draft.finish();
        draft
    }

    /// Appends entry `i` of a page with another shared prefix.
    fn push_again(&mut self, node: Node<'_>, i: usize, scratch: &mut Vec<u8>) {
        let Whole { key, value, beside } = Whole::of(node, i, scratch);
        let beside = if node.is_leaf() { beside } else { Beside::tie(node.tie(i)) };
        self.push(key, value, beside);
    }

    /// Appends an entry; the page must have room.
    pub fn push(&mut self, key: &[u8], value: u64, beside: Beside<'_>) {
        let mut page = self.page.page_mut();
        write_entry(&mut page, self.count, &key[self.skip..], value, beside);
        self.count += 1;
    }

    /// Appends the first entry of an inner page.
    pub fn push_floor(&mut self, child: BlockNo) {
        assert_eq!(self.count, 0, "only the first entry has no key");
        let mut page = self.page.page_mut();
        page.put_u64(ENTRIES + 8, Slot::inline(u64::from(child.0), 0).0);
        self.count = 1;
    }

    /// Appends an entry of a page with the same shared prefix.
    fn push_as_is(&mut self, node: Node<'_>, i: usize, scratch: &mut Vec<u8>) {
        let (mut slot, bytes) = (node.slot(i), node.record_bytes(i));
        let mut page = self.page.page_mut();
        if bytes > 0 {
            let at = take_payload(&mut page, bytes);
            scratch.clear();
            node.0.append_to(slot.record(), bytes, scratch);
            page.write_bytes(at, scratch);
            slot = slot.with_record(at);
        }
        let at = ENTRIES + self.count * ENTRY_BYTES;
        page.put_u64(at, node.head(i));
        page.put_u64(at + 8, slot.0);
        self.count += 1;
    }

    /// Completes the header after the last entry.
    pub fn finish(&mut self) {
        let mut page = self.page.page_mut();
        let upper = usize::from(page.get_u16(UPPER));
        assert!(upper >= ENTRIES + self.count * ENTRY_BYTES, "what is drawn fits");
        set_bounds(&mut page, self.count, upper);
    }

    /// For last touches.
    pub fn page_mut(&mut self) -> PageMut<'_> {
        self.page.page_mut()
    }

    /// To read it.
    pub fn node(&self) -> Node<'_> {
        Node(self.page.view())
    }

    /// Puts it where it belongs, keeping the LSN that is there.
    pub fn replace(&self, page: &mut PageMut<'_>) {
        let lsn = page.lsn();
        page.copy_from(self.page.view());
        page.set_lsn(lsn);
    }
}

/// What the drawn keys are to share: at most what they (and `incoming`) do, and never so that the page gets
/// larger than it is.
pub(super) fn shared_prefix(
    node: Node<'_>,
    with_key: &[Drawn<'_>],
    incoming: Option<&[u8]>,
) -> Vec<u8> {
    let (Some(first), Some(last)) = (with_key.first(), with_key.last()) else {
        return Vec::new();
    };
    // Keys ascend, so what the outermost share, all share.
    let mut prefix = node.key(first.at);
    let shared = common_prefix(&prefix, &node.key(last.at));
    prefix.truncate(shared);
    if let Some(key) = incoming {
        prefix.truncate(common_prefix(&prefix, key));
    }
    let (skip, shared) = (node.skip(), prefix.len());
    if shared > skip {
        let alone = with_key.len() + usize::from(incoming.is_some()) < 2;
        let choices = [shared, shared.min(INLINE_PREFIX_BYTES), skip];
        let sizes = choices.map(|to| drawn_bytes(node, with_key, to));
        let best = (0..3).filter(|i| choices[*i] >= skip).min_by_key(|i| sizes[*i]);
        prefix.truncate(if alone { skip } else { best.map_or(skip, |i| choices[i]) });
    }
    prefix
}

/// What the entries of leaf `left` from `from` on, and all of `right`, which come behind them, are to share on one page;
/// and how many bytes of it they then take, without the high key.
pub(super) fn joined_prefix(left: Node<'_>, from: usize, right: Node<'_>) -> (Vec<u8>, usize) {
    let mut prefix = left.key(from);
    let last = match right.count() {
        0 => left.key(left.count() - 1),
        count => right.key(count - 1),
    };
    prefix.truncate(common_prefix(&prefix, &last));
    let bytes = |node: Node<'_>, from: usize, skip: usize| -> usize {
        let entry = |i| {
            let rest_len = (node.rest_len(i) + node.skip()).saturating_sub(skip);
            ENTRY_BYTES + record_bytes(rest_len, node.beside_bytes(i))
        };
        (from..node.count()).map(entry).sum()
    };
    let sized = [prefix.len(), prefix.len().min(INLINE_PREFIX_BYTES)]
        .map(|skip| (bytes(left, from, skip) + bytes(right, 0, skip) + prefix_bytes(skip), skip));
    let (size, skip) = if sized[0].0 <= sized[1].0 { sized[0] } else { sized[1] };
    prefix.truncate(skip);
    (prefix, size)
}

/// Payload of these entries if `skip` bytes were shared, the shared bytes included.
fn drawn_bytes(node: Node<'_>, with_key: &[Drawn<'_>], skip: usize) -> usize {
    let bytes = |entry: &Drawn<'_>| {
        let beside = match entry.posting {
            Some(posting) => Beside::list(&posting.list).bytes(),
            None => node.beside_bytes(entry.at),
        };
        record_bytes((node.rest_len(entry.at) + node.skip()).saturating_sub(skip), beside)
    };
    with_key.iter().map(bytes).sum::<usize>() + prefix_bytes(skip)
}
