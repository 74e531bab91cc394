//! The bytes of a B-tree page, read side.
//!
//! ```text
//!  0  page header (24 bytes, see `page/`)
//! 24  right u32   right sibling, 0: none (block 0 is the root, which is nobody's sibling)
//! 28  changes u32 counts the changes to the page's entries; wraps
//! 32  count u16   entries
//! 34  level u8    0: leaf
//! 35  flags u8  split incomplete, deleted, has got entries of its left sibling
//! 36  skip u16    leading bytes that all keys of the page share, stored once
//! 38  high u16    offset of the high key's record, 0: none (rightmost page of its level)
//! 40  upper u16   start of the payload
//! 42  garbage u16 payload bytes that no entry uses
//! 44  prefix u16  offset of the shared bytes if they are more than 16
//! 46  zero u16
//! 48  the shared bytes if they are at most 16
//! 64  entries, 16 bytes each: head u64, slot u64; up to `lower`
//! …   free
//! `upper`  payload, records at multiples of 4, up to the page's end
//! ```
//!
//! A key without the shared bytes is its *rest*. `head` is the first 8 bytes of the rest as a big-endian
//! number, short ones padded with zeros: most comparisons of a search are one load and one integer
//! comparison, and four entries lie on a cache line. `slot` packs
//!
//! ```text
//! bits  0–47  leaf: the TID, of a posting the first; inner page: the child's block
//! bits 48–58  length of the rest if inline (≤ 8 bytes: all of it is in the head), else payload offset / 4
//! bit  59     leaf: the entry carries bytes beside its key, in the payload record
//! bit  60     inner page: the payload record begins with a TID (the separator's tie-breaker)
//! bit  61     leaf: a posting, that stands for several rows; those behind the first are in the payload record
//! bit  62     dead: no transaction can see the row any more, of a posting any row (a hint, never logged)
//! bit  63     external: length and tail of the rest are in the payload
//! ```
//!
//! Payload record of an entry: `rest length u16, [TID 6 bytes,] tail`, the tail being the rest without its
//! first 8 bytes. If it carries bytes: `rest length u16, carried length u16, tail, carried bytes`; of a posting:
//! `rest length u16, list length u16, tail, list` (see `posting.rs`). A posting carries nothing. Record of the
//! high key: `length u16, TID 6 bytes, key` with the whole key.

use super::posting::Rows;
use crate::page::{PAGE_BYTES, PageKind, PageView};
use base::{BlockNo, Tid};
use std::cmp::Ordering;

pub(super) const RIGHT: usize = 24;
pub(super) const CHANGES: usize = 28;
pub(super) const COUNT: usize = 32;
pub(super) const LEVEL: usize = 34;
pub(super) const FLAGS: usize = 35;
pub(super) const SKIP: usize = 36;
pub(super) const HIGH: usize = 38;
pub(super) const UPPER: usize = 40;
pub(super) const GARBAGE: usize = 42;
pub(super) const PREFIX: usize = 44;
pub(super) const INLINE_PREFIX: usize = 48;
pub(super) const ENTRIES: usize = 64;

/// Bytes of one entry without its payload.
pub(super) const ENTRY_BYTES: usize = 16;
/// Bytes that `INLINE_PREFIX` has room for.
pub(super) const INLINE_PREFIX_BYTES: usize = ENTRIES - INLINE_PREFIX;
/// Bytes for entries and payload.
pub(super) const CAPACITY: usize = PAGE_BYTES - ENTRIES;
/// Most entries of a page.
pub(super) const MAX_ENTRIES: usize = CAPACITY / ENTRY_BYTES;
/// Most rows that the entries of a leaf lead to: each takes a byte at least.
pub(super) const MAX_ROWS: usize = CAPACITY;
/// Bytes of the rest that the head holds.
pub(super) const HEAD_BYTES: usize = 8;

/// Longest key, with what an entry carries beside it, or a posting's list. Three of them, one as the high key, fit on a page, which is
/// what a split needs.
pub const MAX_KEY_BYTES: usize = 2640;
const _: () = assert!(3 * (ENTRY_BYTES + align4(8 + MAX_KEY_BYTES)) <= CAPACITY);

/// The page's right sibling has no entry in the parent yet; the next writer adds it.
pub(super) const INCOMPLETE: u8 = 1;
/// Unlinked and empty; waits until nobody can be on the way to it.
pub(super) const DELETED: u8 = 2;
/// The leaf has got entries of its left sibling: see `shift.rs`.
pub(super) const SHIFTED: u8 = 4;
/// Where a deleted page keeps the number of the newest snapshot that may still lead to it.
pub(super) const DELETED_STAMP: usize = ENTRIES;

/// The root's block. It never moves: a root split moves its content down.
pub(super) const ROOT: BlockNo = BlockNo(0);

/// Rounds up to a multiple of 4.
pub(super) const fn align4(len: usize) -> usize {
    (len + 3) & !3
}

/// A place in the order of entries: a key, then a TID as tie-breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place<'k> {
    /// The key's bytes.
    pub key: &'k [u8],
    /// The tie-breaker, [`Tid::to_u64`]; 0 sorts before all entries of the key, [`AFTER`] behind them.
    pub tie: u64,
}

/// A tie-breaker behind every TID.
pub(super) const AFTER: u64 = 1 << 48;

impl<'k> Place<'k> {
    /// Before every entry with this key.
    pub fn before(key: &'k [u8]) -> Place<'k> {
        Place { key, tie: 0 }
    }

    /// Of the entry `key`, `tid`.
    pub fn of(key: &'k [u8], tid: Tid) -> Place<'k> {
        Place { key, tie: tid.to_u64() }
    }

    /// Whether it comes before the other in the order of entries.
    pub fn is_before(self, other: Place<'_>) -> bool {
        (self.key, self.tie) < (other.key, other.tie)
    }

    /// Right behind this place.
    pub fn next(self) -> Place<'k> {
        Place { key: self.key, tie: self.tie.saturating_add(1) }
    }
}

/// The packed second half of an entry; see the module's description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot(pub u64);

const ARG_SHIFT: u32 = 48;
const ARG_MASK: u64 = 0x7FF;
const VALUE_MASK: u64 = (1 << 48) - 1;
pub(super) const CARRIES: u64 = 1 << 59;
pub(super) const PIVOT_TIE: u64 = 1 << 60;
pub(super) const POSTING: u64 = 1 << 61;
pub(super) const DEAD: u64 = 1 << 62;
pub(super) const EXTERNAL: u64 = 1 << 63;

impl Slot {
    /// An entry whose rest is in its head.
    pub fn inline(value: u64, rest_len: usize) -> Slot {
        debug_assert!(value <= VALUE_MASK && rest_len <= HEAD_BYTES, "the parts fit their bits");
        Slot(value | (rest_len as u64) << ARG_SHIFT)
    }

    /// An entry with a payload record at `offset`.
    pub fn external(value: u64, offset: usize, beside: Beside<'_>) -> Slot {
        debug_assert!(value <= VALUE_MASK && offset.is_multiple_of(4), "the parts fit their bits");
        Slot(value | (offset as u64 / 4) << ARG_SHIFT | EXTERNAL | beside.flag())
    }

    /// The TID of a leaf entry, of a posting the first.
    #[inline]
    pub fn tid(self) -> Tid {
        Tid::from_u64(self.0 & VALUE_MASK)
    }

    /// TID or child, packed.
    #[inline]
    pub fn value(self) -> u64 {
        self.0 & VALUE_MASK
    }

    /// The child of an inner entry.
    #[inline]
    pub fn child(self) -> BlockNo {
        BlockNo(self.0 as u32)
    }

    #[inline]
    pub fn is_external(self) -> bool {
        self.0 & EXTERNAL != 0
    }

    #[inline]
    pub fn has_tie(self) -> bool {
        self.0 & PIVOT_TIE != 0
    }

    #[inline]
    pub fn carries(self) -> bool {
        self.0 & CARRIES != 0
    }

    #[inline]
    pub fn is_posting(self) -> bool {
        self.0 & POSTING != 0
    }

    /// Whether the payload record has a second length: of what lies behind the tail.
    #[inline]
    fn has_length(self) -> bool {
        self.0 & (CARRIES | POSTING) != 0
    }

    #[inline]
    pub fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }

    /// Offset of the payload record of an external entry.
    #[inline]
    pub fn record(self) -> usize {
        ((self.0 >> ARG_SHIFT & ARG_MASK) * 4) as usize
    }

    /// Moves the payload record.
    pub fn with_record(self, offset: usize) -> Slot {
        let cleared = self.0 & !(ARG_MASK << ARG_SHIFT);
        Slot(cleared | (offset as u64 / 4) << ARG_SHIFT)
    }

    #[inline]
    fn inline_len(self) -> usize {
        (self.0 >> ARG_SHIFT & ARG_MASK) as usize
    }
}

/// The first 8 bytes of `rest` as a number that compares as they do.
#[inline]
pub(super) fn head_of(rest: &[u8]) -> u64 {
    match rest.first_chunk::<HEAD_BYTES>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; HEAD_BYTES];
            padded[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(padded)
        }
    }
}

/// What an entry's payload record holds beside the rest of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beside<'b> {
    Nothing,
    /// A separator's tie-breaker, which is not 0.
    Tie(u64),
    /// What a leaf entry carries, which is not empty.
    Carried(&'b [u8]),
    /// A posting's rows behind the first, which are not none.
    List(&'b [u8]),
}

impl<'b> Beside<'b> {
    /// A separator's tie-breaker; 0 is none.
    #[inline]
    pub fn tie(tie: u64) -> Beside<'static> {
        if tie == 0 { Beside::Nothing } else { Beside::Tie(tie) }
    }

    /// What a leaf entry carries.
    #[inline]
    pub fn carried(bytes: &'b [u8]) -> Beside<'b> {
        if bytes.is_empty() { Beside::Nothing } else { Beside::Carried(bytes) }
    }

    /// A list of rows; an empty one makes a plain entry.
    #[inline]
    pub fn list(bytes: &'b [u8]) -> Beside<'b> {
        if bytes.is_empty() { Beside::Nothing } else { Beside::List(bytes) }
    }

    /// Bytes that it takes in the record.
    #[inline]
    pub fn bytes(self) -> usize {
        match self {
            Beside::Nothing => 0,
            Beside::Tie(_) => TIE_BYTES,
            Beside::Carried(bytes) | Beside::List(bytes) => carried_bytes(bytes.len()),
        }
    }

    fn flag(self) -> u64 {
        match self {
            Beside::Nothing => 0,
            Beside::Tie(_) => PIVOT_TIE,
            Beside::Carried(_) => CARRIES,
            Beside::List(_) => POSTING,
        }
    }
}

/// Bytes of a tie-breaker.
pub(super) const TIE_BYTES: usize = 6;

/// Bytes in the record for `len` carried bytes, or as many of a list.
#[inline]
pub(super) fn carried_bytes(len: usize) -> usize {
    if len == 0 { 0 } else { 2 + len }
}

/// Bytes of an entry's payload record, 0 if it needs none; `beside` as [`Beside::bytes`] tells it.
#[inline]
pub(super) fn record_bytes(rest_len: usize, beside: usize) -> usize {
    if rest_len <= HEAD_BYTES && beside == 0 {
        return 0;
    }
    align4(2 + beside + rest_len.saturating_sub(HEAD_BYTES))
}

/// Bytes of a high key's record.
pub(super) fn high_bytes(key_len: usize) -> usize {
    align4(8 + key_len)
}

/// Length of the longest common prefix.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Reads a B-tree page. Total: whatever the bytes are, no method panics, so optimistic readers may use it.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(pub PageView<'a>);

impl<'a> Node<'a> {
    #[inline]
    pub fn right(self) -> BlockNo {
        BlockNo(self.0.get_u32(RIGHT))
    }

    /// Differs from before if entries came or went since. For unlogged trees too, whose LSN stands still.
    #[inline]
    pub fn changes(self) -> u32 {
        self.0.get_u32(CHANGES)
    }

    #[inline]
    pub fn count(self) -> usize {
        usize::from(self.0.get_u16(COUNT)).min(MAX_ENTRIES)
    }

    #[inline]
    pub fn level(self) -> u8 {
        self.0.get_u8(LEVEL)
    }

    #[inline]
    pub fn is_leaf(self) -> bool {
        self.level() == 0
    }

    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.0.get_u8(FLAGS) & flag != 0
    }

    /// Whether it is a B-tree page in use.
    #[inline]
    pub fn is_live(self) -> bool {
        self.0.kind() == Some(PageKind::BTree) && !self.has(DELETED)
    }

    #[inline]
    pub fn skip(self) -> usize {
        usize::from(self.0.get_u16(SKIP)).min(MAX_KEY_BYTES)
    }

    #[inline]
    pub fn is_rightmost(self) -> bool {
        self.0.get_u16(HIGH) == 0
    }

    #[inline]
    pub fn upper(self) -> usize {
        usize::from(self.0.get_u16(UPPER))
    }

    #[inline]
    pub fn garbage(self) -> usize {
        usize::from(self.0.get_u16(GARBAGE))
    }

    #[inline]
    pub fn head(self, i: usize) -> u64 {
        self.0.get_u64(ENTRIES + i * ENTRY_BYTES)
    }

    #[inline]
    pub fn slot(self, i: usize) -> Slot {
        Slot(self.0.get_u64(ENTRIES + i * ENTRY_BYTES + 8))
    }

    /// Offset of the `skip` bytes that all keys share.
    #[inline]
    fn prefix_at(self, skip: usize) -> usize {
        if skip <= INLINE_PREFIX_BYTES {
            INLINE_PREFIX
        } else {
            usize::from(self.0.get_u16(PREFIX))
        }
    }

    /// First entry that has a key: the first of an inner page stands for minus infinity.
    #[inline]
    pub fn first_key(self) -> usize {
        usize::from(!self.is_leaf())
    }

    /// Length of the rest of entry `i`.
    #[inline]
    pub fn rest_len(self, i: usize) -> usize {
        let slot = self.slot(i);
        if slot.is_external() {
            usize::from(self.0.get_u16(slot.record())).min(MAX_KEY_BYTES)
        } else {
            slot.inline_len().min(HEAD_BYTES)
        }
    }

    /// Payload bytes of entry `i`.
    pub fn record_bytes(self, i: usize) -> usize {
        let slot = self.slot(i);
        if slot.is_external() { record_bytes(self.rest_len(i), self.beside_bytes(i)) } else { 0 }
    }

    /// Payload bytes of entry `i` that are not its key's.
    pub fn beside_bytes(self, i: usize) -> usize {
        let slot = self.slot(i);
        match slot.has_tie() {
            true => TIE_BYTES,
            false => carried_bytes(self.beside_len(slot)),
        }
    }

    /// Length of what an entry carries, or of its list.
    #[inline]
    fn beside_len(self, slot: Slot) -> usize {
        match slot.has_length() {
            true => usize::from(self.0.get_u16(slot.record() + 2)).min(MAX_KEY_BYTES),
            false => 0,
        }
    }

    /// Where that lies.
    #[inline]
    fn beside_at(self, i: usize, slot: Slot) -> usize {
        Self::tail_at(slot) + self.rest_len(i).saturating_sub(HEAD_BYTES)
    }

    /// Appends the bytes that leaf entry `i` carries.
    pub fn append_carried(self, i: usize, to: &mut Vec<u8>) {
        if self.slot(i).carries() {
            self.append_beside(i, to);
        }
    }

    /// Appends the list of leaf entry `i`; nothing of a plain one.
    pub fn append_list(self, i: usize, to: &mut Vec<u8>) {
        if self.slot(i).is_posting() {
            self.append_beside(i, to);
        }
    }

    fn append_beside(self, i: usize, to: &mut Vec<u8>) {
        let slot = self.slot(i);
        self.0.append_to(self.beside_at(i, slot), self.beside_len(slot), to);
    }

    /// The rows that leaf entry `i` leads to, ascending.
    #[inline]
    pub fn rows(self, i: usize) -> Rows<'a> {
        let slot = self.slot(i);
        match slot.is_posting() {
            true => {
                let at = self.beside_at(i, slot);
                Rows::new(self.0, slot.tid(), at, self.beside_len(slot))
            }
            false => Rows::new(self.0, slot.tid(), 0, 0),
        }
    }

    /// The numbers of a leaf's rows, counted over all entries from 0, that an entry marked dead leads to, or that `is_gone`
    /// names; and how many rows there are.
    pub fn gone_rows(self, mut is_gone: impl FnMut(Tid) -> bool) -> (Vec<u16>, usize) {
        let (mut gone, mut number) = (Vec::new(), 0);
        for i in 0..self.count() {
            let is_dead = self.slot(i).is_dead();
            for row in self.rows(i) {
                if is_dead || is_gone(row) {
                    gone.push(number as u16);
                }
                number += 1;
            }
        }
        (gone, number)
    }

    /// Whether a leaf has the entry `place`; `at` is the first one that is not before it.
    pub fn has_row(self, at: usize, place: Place<'_>) -> bool {
        let begins = at < self.count() && self.tie(at) == place.tie && self.key_is(at, place.key);
        // Among the rows of a posting that begins before it.
        let row = Tid::from_u64(place.tie);
        begins
            || at > 0
                && self.slot(at - 1).is_posting()
                && self.key_is(at - 1, place.key)
                && self.rows(at - 1).gap_for(row).after == Some(row)
    }

    /// The tie-breaker of entry `i`: its TID, of a posting the first; or the separator's.
    #[inline]
    pub fn tie(self, i: usize) -> u64 {
        let slot = self.slot(i);
        if self.is_leaf() {
            slot.value()
        } else if slot.has_tie() {
            self.tie_at(slot.record() + 2)
        } else {
            0
        }
    }

    #[inline]
    fn tie_at(self, offset: usize) -> u64 {
        self.0.get_u64(offset) & VALUE_MASK
    }

    #[inline]
    fn tail_at(slot: Slot) -> usize {
        // Of both flags a page in order has one at most.
        slot.record()
            + 2
            + if slot.has_tie() { TIE_BYTES } else { usize::from(slot.has_length()) * 2 }
    }

    /// Appends the whole key of entry `i`.
    pub fn append_key(self, i: usize, to: &mut Vec<u8>) {
        let (slot, rest_len) = (self.slot(i), self.rest_len(i));
        self.append_prefix(to);
        to.extend_from_slice(&self.head(i).to_be_bytes()[..rest_len.min(HEAD_BYTES)]);
        if rest_len > HEAD_BYTES {
            self.0.append_to(Self::tail_at(slot), rest_len - HEAD_BYTES, to);
        }
    }

    /// Appends the bytes that all keys share.
    pub fn append_prefix(self, to: &mut Vec<u8>) {
        let skip = self.skip();
        self.0.append_to(self.prefix_at(skip), skip, to);
    }

    /// The whole key of entry `i`.
    pub fn key(self, i: usize) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.skip() + self.rest_len(i));
        self.append_key(i, &mut key);
        key
    }

    /// The high key: an upper bound of what belongs here. `None` for the rightmost page.
    pub fn high(self) -> Option<(Vec<u8>, u64)> {
        let mut key = Vec::new();
        let tie = self.append_high(&mut key);
        (!self.is_rightmost()).then_some((key, tie))
    }

    /// Appends the high key's bytes and tells its tie-breaker; nothing and 0 for the rightmost page.
    pub fn append_high(self, to: &mut Vec<u8>) -> u64 {
        let at = usize::from(self.0.get_u16(HIGH));
        if at == 0 {
            return 0;
        }
        let len = usize::from(self.0.get_u16(at)).min(MAX_KEY_BYTES);
        self.0.append_to(at + 8, len, to);
        self.tie_at(at + 2)
    }

    /// Payload bytes of the high key.
    pub fn high_bytes(self) -> usize {
        let at = usize::from(self.0.get_u16(HIGH));
        if at == 0 { 0 } else { high_bytes(usize::from(self.0.get_u16(at))) }
    }

    /// Whether `place` belongs to the right of this page.
    pub fn is_beyond(self, place: Place<'_>) -> bool {
        let at = usize::from(self.0.get_u16(HIGH));
        if at == 0 {
            return false;
        }
        let len = usize::from(self.0.get_u16(at)).min(MAX_KEY_BYTES);
        match self.0.cmp_bytes(at + 8, len, place.key) {
            Ordering::Less => true,
            Ordering::Equal => self.tie_at(at + 2) <= place.tie,
            Ordering::Greater => false,
        }
    }

    /// Whether all that is before `place` and not on this page is to the left: `place` is at most the high key.
    pub fn reaches(self, place: Place<'_>) -> bool {
        let at = usize::from(self.0.get_u16(HIGH));
        if at == 0 {
            return true;
        }
        let len = usize::from(self.0.get_u16(at)).min(MAX_KEY_BYTES);
        let order = self.0.cmp_bytes(at + 8, len, place.key);
        order.then_with(|| self.tie_at(at + 2).cmp(&place.tie)) != Ordering::Less
    }

    /// Whether entries with this key may go on in the right sibling: the high key has the same bytes.
    pub fn may_continue(self, key: &[u8]) -> bool {
        let at = usize::from(self.0.get_u16(HIGH));
        let len = usize::from(self.0.get_u16(at)).min(MAX_KEY_BYTES);
        at != 0 && self.0.cmp_bytes(at + 8, len, key) == Ordering::Equal
    }

    /// How the shared bytes compare with the same number of bytes of `key`; a key that ends within them
    /// sorts first.
    #[inline]
    pub fn prefix_cmp(self, key: &[u8]) -> Ordering {
        self.rest_of(key).1
    }

    /// What of `key` is behind the shared bytes, and how these compare with what is before it
    /// ([`Node::prefix_cmp`]). Their number is read once: where the page changes meanwhile, a second look would
    /// cut the key at another place than was compared.
    #[inline]
    fn rest_of(self, key: &[u8]) -> (&[u8], Ordering) {
        let skip = self.skip();
        if skip == 0 {
            return (key, Ordering::Equal);
        }
        let (shared, rest) = key.split_at(skip.min(key.len()));
        (rest, self.0.cmp_bytes(self.prefix_at(skip), skip, shared))
    }

    /// Bytes free between entries and payload.
    pub fn gap(self) -> usize {
        self.upper().saturating_sub(ENTRIES + self.count() * ENTRY_BYTES)
    }

    /// Bytes that entries, payload and high key take.
    pub fn used(self) -> usize {
        CAPACITY.saturating_sub(self.gap() + self.garbage())
    }

    /// Whether entry `i` has exactly this key.
    #[inline]
    pub fn key_is(self, i: usize, key: &[u8]) -> bool {
        let (rest, shared) = self.rest_of(key);
        if shared != Ordering::Equal {
            return false;
        }
        self.head(i) == head_of(rest) && self.cmp_rest(i, rest) == Ordering::Equal
    }

    /// Whether the keys of leaf entries `i` and `j` are the same.
    pub fn same_key(self, i: usize, j: usize) -> bool {
        let rest_len = self.rest_len(i);
        let same = self.head(i) == self.head(j) && rest_len == self.rest_len(j);
        if !same || rest_len <= HEAD_BYTES {
            return same;
        }
        let mut tail = Vec::with_capacity(rest_len);
        self.0.append_to(Self::tail_at(self.slot(i)), rest_len - HEAD_BYTES, &mut tail);
        let other = Self::tail_at(self.slot(j));
        self.0.cmp_bytes(other, rest_len - HEAD_BYTES, &tail) == Ordering::Equal
    }

    /// Compares entry `i` with a rest whose head is the same.
    #[inline]
    fn cmp_rest(self, i: usize, rest: &[u8]) -> Ordering {
        let rest_len = self.rest_len(i);
        if rest_len <= HEAD_BYTES || rest.len() <= HEAD_BYTES {
            // Equal heads: the shorter one is a prefix of the other.
            return rest_len.cmp(&rest.len());
        }
        self.0.cmp_bytes(Self::tail_at(self.slot(i)), rest_len - HEAD_BYTES, &rest[HEAD_BYTES..])
    }

    /// The first entry, from `first_key` on, that is not before `place`; `count` if there is none.
    #[inline]
    pub fn lower_bound(self, place: Place<'_>) -> usize {
        let (from, count) = (self.first_key(), self.count());
        if from >= count {
            return count;
        }
        let (rest, shared) = self.rest_of(place.key);
        match shared {
            Ordering::Greater => return from,
            Ordering::Less => return count,
            Ordering::Equal => {}
        }
        let head = head_of(rest);
        let at = self.first_head_from(head, from, count);
        if at >= count || self.head(at) != head {
            return at;
        }
        self.lower_bound_among_equal_heads(at, count, rest, head, place.tie)
    }

    /// The first entry in `from..count` whose head is not below `head`.
    #[inline]
    fn first_head_from(self, head: u64, from: usize, count: usize) -> usize {
        let (mut base, mut len) = (from, count - from);
        while len > 1 {
            let half = len / 2;
            // No branch to mispredict: the comparison becomes a conditional move.
            base += if self.head(base + half - 1) < head { half } else { 0 };
            len -= half;
        }
        base + usize::from(len == 1 && self.head(base) < head)
    }

    fn lower_bound_among_equal_heads(
        self,
        from: usize,
        count: usize,
        rest: &[u8],
        head: u64,
        tie: u64,
    ) -> usize {
        let mut end = from + 1;
        if end < count && self.head(end) == head {
            end = match head.checked_add(1) {
                Some(above) => self.first_head_from(above, end, count),
                None => count,
            };
        }
        let (mut low, mut high) = (from, end);
        while low < high {
            let middle = low + (high - low) / 2;
            let order = self.cmp_rest(middle, rest).then_with(|| self.tie(middle).cmp(&tie));
            if order == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
