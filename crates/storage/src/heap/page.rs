//! The bytes of a heap page.
//!
//! Line pointers and items as in `page/`; an item is a [`TupleHeader`] and the row's bytes. The special space
//! is 8 bytes: the *prune hint*, an id of a transaction that ended a version on this page, 0 if none did
//! since the page was last pruned. A line pointer is normal (a version), a redirect (the root of a chain
//! whose first versions are pruned away), dead (the row is gone, index entries may still point here) or
//! unused.

use crate::page::{
    HEADER_BYTES, Item, LINE_BYTES, LineFlags, PAGE_BYTES, PageKind, PageMut, PageView, align8,
};
use crate::txn::{TUPLE_HEADER_BYTES, TupleHeader};
use base::Xid;

const SPECIAL_BYTES: usize = 8;
const PRUNE_HINT: usize = PAGE_BYTES - SPECIAL_BYTES;

/// Page flag: every version here is visible to every snapshot, and the visibility map may say so.
pub(super) const ALL_VISIBLE: u16 = 1;

/// Longest row, in bytes without its header.
pub const MAX_ROW_BYTES: usize =
    ((PAGE_BYTES - HEADER_BYTES - LINE_BYTES - SPECIAL_BYTES) & !7) - TUPLE_HEADER_BYTES;

/// Most line pointers of a heap page: as many as the smallest rows need, and some dead ones.
pub const MAX_LINES: u16 = 291;

/// Makes `page` an empty heap page.
pub(super) fn init(page: &mut PageMut<'_>) {
    page.init(PageKind::Heap, SPECIAL_BYTES);
}

/// The header of the version in `item`.
#[inline]
pub(super) fn header(page: PageView<'_>, item: Item) -> TupleHeader {
    TupleHeader::from_words(page.get_words(item.offset))
}

/// Overwrites the header of the version in `item`.
#[inline]
pub(super) fn set_header(page: &mut PageMut<'_>, item: Item, header: &TupleHeader) {
    for (i, word) in header.to_words().into_iter().enumerate() {
        page.put_u64(item.offset + i * 8, word);
    }
}

/// Where the row's bytes lie; of garbage, something within the page.
#[inline]
pub(super) fn row(item: Item) -> Item {
    Item {
        offset: item.offset + TUPLE_HEADER_BYTES,
        len: item.len.saturating_sub(TUPLE_HEADER_BYTES),
    }
}

/// The version under `offset`, if there is one.
#[inline]
pub(super) fn version(page: PageView<'_>, offset: u16) -> Option<Item> {
    page.item(offset).filter(|item| item.len >= TUPLE_HEADER_BYTES)
}

/// The line that `offset` stands for: itself, or where its redirect leads.
#[inline]
pub(super) fn resolve(page: PageView<'_>, offset: u16) -> Option<u16> {
    let line = page.try_line(offset)?;
    match line.flags() {
        LineFlags::Normal => Some(offset),
        LineFlags::Redirect => line.redirect_to(),
        LineFlags::Unused | LineFlags::Dead => None,
    }
}

/// Whether a row of `len` bytes fits as the page is.
pub(super) fn has_room(page: PageView<'_>, len: usize) -> bool {
    let offset = page.free_slot();
    let line = if offset > page.line_count() { LINE_BYTES } else { 0 };
    let needed = align8(TUPLE_HEADER_BYTES + len) + line;
    offset <= MAX_LINES && (needed <= page.free_space() || needed <= page.free_space_in_all())
}

/// Bytes that a further row may have; 0 if there is no line pointer for it.
pub(super) fn room(page: PageView<'_>) -> usize {
    if page.free_slot() > MAX_LINES {
        return 0;
    }
    page.room_for_item().saturating_sub(TUPLE_HEADER_BYTES)
}

/// Stores a version under `offset`, which must be unused or the one after the last. The page must have room.
pub(super) fn put_version(
    page: &mut PageMut<'_>,
    offset: u16,
    header: &TupleHeader,
    row: &[&[u8]],
) {
    let mut at = put_header(page, offset, header, row.iter().map(|piece| piece.len()).sum());
    for piece in row {
        page.write_bytes(at, piece);
        at += piece.len();
    }
}

/// The same for a row of `row_len` bytes that the caller writes, at the place that is answered. Other versions may move.
pub(super) fn put_header(
    page: &mut PageMut<'_>,
    offset: u16,
    header: &TupleHeader,
    row_len: usize,
) -> usize {
    let len = TUPLE_HEADER_BYTES + row_len;
    let at = page.reserve(offset, len).expect("the page was seen to have room");
    set_header(page, Item { offset: at, len }, header);
    at + TUPLE_HEADER_BYTES
}

/// An id of a transaction that ended a version here since the last pruning; invalid if none did.
#[inline]
pub(super) fn prune_hint(page: PageView<'_>) -> Xid {
    Xid(page.get_u64(PRUNE_HINT))
}

/// Keeps the oldest of the hints: once its end is old, pruning has something to find.
pub(super) fn note_prunable(page: &mut PageMut<'_>, xid: Xid) {
    let old = prune_hint(page.view());
    if old == Xid::INVALID || xid < old {
        page.put_u64(PRUNE_HINT, xid.0);
    }
}

/// Forgets the hint, or sets it to what pruning had to leave.
pub(super) fn set_prune_hint(page: &mut PageMut<'_>, xid: Xid) {
    page.put_u64(PRUNE_HINT, xid.0);
}

#[inline]
pub(super) fn is_all_visible(page: PageView<'_>) -> bool {
    page.flags() & ALL_VISIBLE != 0
}

pub(super) fn set_all_visible(page: &mut PageMut<'_>, on: bool) {
    let others = page.flags() & !ALL_VISIBLE;
    page.set_flags(if on { others | ALL_VISIBLE } else { others });
}
