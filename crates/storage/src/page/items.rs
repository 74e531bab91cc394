//! Line pointers and items: variable-length things addressed by a stable slot number from 1.
//!
//! Line pointers grow up from the header, items grow down from the special space; every item starts at a
//! multiple of 8 and its padding is zero, so that the same changes give the same bytes.

use super::header::{FLAG_FREE_LINES, HEADER_BYTES};
use super::words::{PAGE_BYTES, PageMut, PageView};

/// Bytes of one line pointer.
pub const LINE_BYTES: usize = 4;
/// No page has more line pointers.
pub const MAX_LINES: usize = (PAGE_BYTES - HEADER_BYTES) / LINE_BYTES;

/// Rounds up to a multiple of 8.
#[inline]
pub const fn align8(len: usize) -> usize {
    (len + 7) & !7
}

/// What a line pointer stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LineFlags {
    /// Free for reuse.
    Unused = 0,
    /// Names an item.
    Normal = 1,
    /// Stands for another slot of the page (its number is in the offset field).
    Redirect = 2,
    /// The item is gone but something outside may still point here.
    Dead = 3,
}

/// One line pointer: offset in the low 15 bits, flags in two, length in the high 15.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LinePointer(pub u32);

impl std::fmt::Debug for LinePointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}@{}+{}", self.flags(), self.offset(), self.len())
    }
}

impl LinePointer {
    /// Free for reuse.
    pub const UNUSED: LinePointer = LinePointer(0);
    /// Gone, without storage.
    pub const DEAD: LinePointer = LinePointer::new(0, LineFlags::Dead, 0);

    const fn new(offset: usize, flags: LineFlags, len: usize) -> LinePointer {
        LinePointer(offset as u32 | (flags as u32) << 15 | (len as u32) << 17)
    }

    /// Names the item of `len` bytes at `offset`.
    pub const fn normal(offset: usize, len: usize) -> LinePointer {
        LinePointer::new(offset, LineFlags::Normal, len)
    }

    /// Stands for slot `to` of the same page.
    pub const fn redirect(to: u16) -> LinePointer {
        LinePointer::new(to as usize, LineFlags::Redirect, 0)
    }

    /// What it stands for.
    #[inline]
    pub fn flags(self) -> LineFlags {
        match self.0 >> 15 & 3 {
            0 => LineFlags::Unused,
            1 => LineFlags::Normal,
            2 => LineFlags::Redirect,
            _ => LineFlags::Dead,
        }
    }

    /// Byte offset of the item; slot number of a redirect.
    #[inline]
    pub fn offset(self) -> usize {
        (self.0 & 0x7FFF) as usize
    }

    /// Bytes of the item.
    #[inline]
    pub fn len(self) -> usize {
        (self.0 >> 17) as usize
    }

    /// Whether it names no bytes.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The slot that a redirect stands for.
    #[inline]
    pub fn redirect_to(self) -> Option<u16> {
        (self.flags() == LineFlags::Redirect).then_some(self.offset() as u16)
    }
}

/// Where an item lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
}

#[inline]
fn line_at(slot: u16) -> usize {
    HEADER_BYTES - LINE_BYTES + usize::from(slot) * LINE_BYTES
}

impl PageView<'_> {
    /// Number of line pointers; slots are `1..=line_count()`.
    #[inline]
    pub fn line_count(self) -> u16 {
        (self.lower().saturating_sub(HEADER_BYTES) / LINE_BYTES) as u16
    }

    /// Line pointer of `slot` (from 1). A slot past the last one gives bytes that mean nothing.
    #[inline]
    pub fn line(self, slot: u16) -> LinePointer {
        LinePointer(self.get_u32(line_at(slot)))
    }

    /// Like [`PageView::line`], and `None` for a slot that the page does not have.
    #[inline]
    pub fn try_line(self, slot: u16) -> Option<LinePointer> {
        (slot >= 1 && slot <= self.line_count()).then(|| self.line(slot))
    }

    /// The item of `slot` if it is a normal one that lies within the page.
    #[inline]
    pub fn item(self, slot: u16) -> Option<Item> {
        let line = self.try_line(slot)?;
        let (offset, len) = (line.offset(), line.len());
        let inside = offset >= HEADER_BYTES && offset + len <= PAGE_BYTES;
        (line.flags() == LineFlags::Normal && inside).then_some(Item { offset, len })
    }

    /// The lowest unused slot, or the one after the last.
    pub fn free_slot(self) -> u16 {
        let count = self.line_count();
        if self.raw_flags() & FLAG_FREE_LINES != 0
            && let Some(slot) = (1..=count).find(|s| self.line(*s).flags() == LineFlags::Unused)
        {
            return slot;
        }
        count + 1
    }

    /// Bytes that [`PageMut::compact`] would leave free.
    pub fn free_space_compacted(self) -> usize {
        let used: usize = (1..=self.line_count()).map(|s| align8(self.stored_len(s))).sum();
        self.special().saturating_sub(used + self.lower())
    }

    /// Bytes that `slot` occupies.
    fn stored_len(self, slot: u16) -> usize {
        let line = self.line(slot);
        if line.flags() == LineFlags::Redirect { 0 } else { line.len() }
    }
}

impl PageMut<'_> {
    /// Writes the line pointer of an existing slot.
    pub fn set_line(&mut self, slot: u16, line: LinePointer) {
        assert!(slot >= 1 && slot <= self.line_count(), "slot {slot} exists");
        self.put_u32(line_at(slot), line.0);
        if line.flags() == LineFlags::Unused {
            self.set_free_lines(true);
        }
    }

    /// Appends `item` under the lowest free slot; `None` without room (see [`PageMut::compact`]).
    pub fn add_item(&mut self, item: &[u8]) -> Option<u16> {
        let slot = self.free_slot();
        if slot > self.line_count() {
            self.set_free_lines(false);
        }
        self.put_item(slot, item).then_some(slot)
    }

    /// Stores `item` under `slot`, which must be unused or the one after the last. False without room.
    pub fn put_item(&mut self, slot: u16, item: &[u8]) -> bool {
        let Some(offset) = self.reserve(slot, item.len()) else { return false };
        self.store(offset, item);
        true
    }

    /// Makes room for `len` bytes under `slot` (unused, or the one after the last) and returns their
    /// offset; the caller writes the bytes. The bytes up to the next multiple of 8 are zeroed. Other items move only if
    /// no hole ([`PageMut::free_item`]) is long enough. `None` without room.
    pub fn reserve(&mut self, slot: u16, len: usize) -> Option<usize> {
        let count = self.line_count();
        let appended = slot == count + 1;
        assert!(slot >= 1 && slot <= count + 1, "slot {slot} follows the others");
        assert!(appended || self.line(slot).flags() == LineFlags::Unused, "slot {slot} is unused");
        let lower = self.lower() + if appended { LINE_BYTES } else { 0 };
        let at = match self.upper().checked_sub(align8(len)).filter(|u| *u >= lower) {
            Some(upper) => {
                self.set_upper(upper);
                upper
            }
            None => self.reserve_among(len, lower)?,
        };
        self.set_lower(lower);
        self.put_u32(line_at(slot), LinePointer::normal(at, len).0);
        self.zero_padding(at, len);
        Some(at)
    }

    /// Inserts `item` as slot `slot`, moving that slot and the later ones up by one. False without room.
    /// For pages whose slots are in key order.
    pub fn insert_item(&mut self, slot: u16, item: &[u8]) -> bool {
        let count = self.line_count();
        assert!(slot >= 1 && slot <= count + 1, "slot {slot} follows the others");
        let lower = self.lower() + LINE_BYTES;
        let Some(upper) = self.upper().checked_sub(align8(item.len())).filter(|u| *u >= lower)
        else {
            return false;
        };
        let at = line_at(slot);
        self.move_within(at, at + LINE_BYTES, self.lower() - at);
        self.set_lower(lower);
        self.set_upper(upper);
        self.put_u32(at, LinePointer::normal(upper, item.len()).0);
        self.store(upper, item);
        true
    }

    /// Removes `slot` and closes the gap among line pointers and items. For pages in key order.
    pub fn remove_item(&mut self, slot: u16) {
        let line = self.line(slot);
        assert!(slot >= 1 && slot <= self.line_count(), "slot {slot} exists");
        let at = line_at(slot);
        self.move_within(at + LINE_BYTES, at, self.lower() - at - LINE_BYTES);
        self.set_lower(self.lower() - LINE_BYTES);
        self.put_u32(self.lower(), 0);
        self.close_gap(line.offset(), align8(line.len()));
    }

    /// Removes the given slots (ascending) and compacts. For pages in key order.
    pub fn remove_items(&mut self, slots: &[u16]) {
        debug_assert!(slots.is_sorted_by(|a, b| a < b), "slots ascend");
        let count = self.line_count();
        let mut gone = slots.iter().copied().peekable();
        let mut kept = 0;
        for slot in 1..=count {
            if gone.peek() == Some(&slot) {
                gone.next();
            } else {
                kept += 1;
                self.put_u32(line_at(kept), self.line(slot).0);
            }
        }
        assert!(gone.next().is_none(), "every removed slot exists");
        let lower = line_at(kept + 1);
        self.zero(lower, self.lower() - lower);
        self.set_lower(lower);
        self.compact();
    }

    /// Replaces the item of `slot` by one of any length. False without room.
    pub fn replace_item(&mut self, slot: u16, item: &[u8]) -> bool {
        let old = self.item(slot).expect("a replaced item exists");
        let (old_space, space) = (align8(old.len), align8(item.len()));
        if space == old_space {
            self.put_u32(line_at(slot), LinePointer::normal(old.offset, item.len()).0);
            self.store(old.offset, item);
            return true;
        }
        if self.free_space() + old_space < space {
            return false;
        }
        self.close_gap(old.offset, old_space);
        let upper = self.upper() - space;
        self.set_upper(upper);
        self.put_u32(line_at(slot), LinePointer::normal(upper, item.len()).0);
        self.store(upper, item);
        true
    }

    /// Gathers the items at the end of the page, so that all free space is in one piece. Slots stay.
    pub fn compact(&mut self) {
        let mut order = [0u32; MAX_LINES];
        let mut count = 0;
        for slot in 1..=self.line_count() {
            if self.view().stored_len(slot) > 0 {
                order[count] = (self.line(slot).offset() as u32) << 16 | u32::from(slot);
                count += 1;
            }
        }
        let order = &mut order[..count];
        order.sort_unstable_by(|a, b| b.cmp(a));
        // Highest first: each item moves up onto space that its own or an earlier move has vacated.
        let mut upper = self.special();
        for packed in order {
            let slot = *packed as u16;
            let line = self.line(slot);
            upper -= align8(line.len());
            if upper != line.offset() {
                self.move_within(line.offset(), upper, align8(line.len()));
                let moved = LinePointer(line.0 & !0x7FFF | upper as u32);
                self.put_u32(line_at(slot), moved.0);
            }
        }
        assert!(upper >= self.lower(), "items and line pointers do not overlap");
        self.set_holes(false);
        let old_upper = self.upper();
        self.set_upper(upper);
        if old_upper < upper {
            self.zero(old_upper, upper - old_upper);
        }
    }

    /// Gives the unused line pointers at the end back to the free space.
    pub fn truncate_lines(&mut self) {
        let mut count = self.line_count();
        while count > 0 && self.line(count).flags() == LineFlags::Unused {
            count -= 1;
        }
        self.set_lower(line_at(count + 1));
    }

    /// Moves what lies below `offset` up over the `space` bytes there.
    fn close_gap(&mut self, offset: usize, space: usize) {
        if space == 0 {
            return;
        }
        let upper = self.upper();
        self.move_within(upper, upper + space, offset - upper);
        self.zero(upper, space);
        self.set_upper(upper + space);
        for slot in 1..=self.line_count() {
            let line = self.line(slot);
            if self.view().stored_len(slot) > 0 && line.offset() < offset {
                self.put_u32(line_at(slot), line.0 + space as u32);
            }
        }
    }

    fn store(&mut self, offset: usize, item: &[u8]) {
        self.zero_padding(offset, item.len());
        self.write_bytes(offset, item);
    }

    /// Zeroes the last word of an item of `len` bytes when the item does not fill it.
    fn zero_padding(&mut self, offset: usize, len: usize) {
        if !len.is_multiple_of(8) {
            self.put_u64(offset + (len & !7), 0);
        }
    }
}
