//! The first 24 bytes of every page.

use super::items::LINE_BYTES;
use super::words::{PAGE_BYTES, PageMut, PageView};
use base::Lsn;

const LSN: usize = 0;
pub(super) const CHECKSUM: usize = 8;
const FLAGS: usize = 12;
const KIND: usize = 14;
const VERSION: usize = 15;
const LOWER: usize = 16;
const UPPER: usize = 18;
const SPECIAL: usize = 20;

/// Where line pointers begin. Bytes 22 and 23 are zero.
pub const HEADER_BYTES: usize = 24;
/// Version of the page layout, stored in each page that is not zero.
pub const LAYOUT_VERSION: u8 = 1;

/// Flag: some line pointer may be unused; `free_slot` searches only then.
pub(super) const FLAG_FREE_LINES: u16 = 1;
/// Flag: there may be free bytes between items.
pub(super) const FLAG_HOLES: u16 = 2;
/// Flags from this bit up belong to the page's kind.
pub(super) const KIND_FLAGS_SHIFT: u32 = 4;

/// What a page holds, told by the page itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageKind {
    /// All zero: extended, never initialised.
    New = 0,
    /// Rows.
    Heap = 1,
    /// Root pointer and options of a B-tree.
    BTreeMeta = 2,
    /// B-tree page, inner or leaf.
    BTree = 3,
    /// Free-space map.
    FreeSpace = 4,
    /// Visibility map.
    Visibility = 5,
    /// Sequence.
    Sequence = 6,
    /// Hash index: metapage, bucket or overflow page.
    Hash = 7,
}

impl PageKind {
    /// Reads the code of a page back; `None` for a code that no release wrote.
    pub fn from_u8(code: u8) -> Option<PageKind> {
        use PageKind::*;
        [New, Heap, BTreeMeta, BTree, FreeSpace, Visibility, Sequence, Hash]
            .into_iter()
            .find(|k| *k as u8 == code)
    }
}

impl PageView<'_> {
    /// End of the last log record that changed the page.
    #[inline]
    pub fn lsn(self) -> Lsn {
        Lsn(self.get_u64(LSN))
    }

    /// Checksum as last written to or read from disk; stale in memory.
    pub fn checksum(self) -> u32 {
        self.get_u32(CHECKSUM)
    }

    /// What the page says it is; `None` if it says something unknown.
    #[inline]
    pub fn kind(self) -> Option<PageKind> {
        PageKind::from_u8(self.get_u8(KIND))
    }

    /// Layout version; 0 in a new page.
    pub fn version(self) -> u8 {
        self.get_u8(VERSION)
    }

    /// Whether the page was never initialised.
    #[inline]
    pub fn is_new(self) -> bool {
        self.upper() == 0
    }

    /// The twelve flag bits that belong to the page's kind.
    #[inline]
    pub fn flags(self) -> u16 {
        self.get_u16(FLAGS) >> KIND_FLAGS_SHIFT
    }

    #[inline]
    pub(super) fn raw_flags(self) -> u16 {
        self.get_u16(FLAGS)
    }

    /// End of the line pointers.
    #[inline]
    pub fn lower(self) -> usize {
        usize::from(self.get_u16(LOWER))
    }

    /// Start of the items.
    #[inline]
    pub fn upper(self) -> usize {
        usize::from(self.get_u16(UPPER))
    }

    /// Start of the special space, which the page's kind owns; the page's end if there is none.
    #[inline]
    pub fn special(self) -> usize {
        usize::from(self.get_u16(SPECIAL))
    }

    /// Bytes between line pointers and items.
    #[inline]
    pub fn free_space(self) -> usize {
        self.upper().saturating_sub(self.lower())
    }

    #[inline]
    pub(super) fn may_have_holes(self) -> bool {
        self.raw_flags() & FLAG_HOLES != 0
    }

    /// Bytes of the longest item that fits together with a line pointer of its own.
    #[inline]
    pub fn room_for_item(self) -> usize {
        self.free_space_in_all().saturating_sub(LINE_BYTES) & !7
    }

    /// Whether the header's bounds are in order; every initialised page keeps this.
    pub fn header_is_sound(self) -> bool {
        let (lower, upper, special) = (self.lower(), self.upper(), self.special());
        self.version() == LAYOUT_VERSION
            && self.kind().is_some_and(|k| k != PageKind::New)
            && (HEADER_BYTES..=upper).contains(&lower)
            && (lower - HEADER_BYTES).is_multiple_of(LINE_BYTES)
            && upper <= special
            && special <= PAGE_BYTES
            && upper.is_multiple_of(8)
            && special.is_multiple_of(8)
    }
}

impl PageMut<'_> {
    /// Empties the page and makes it one of `kind`, with `special_bytes` (a multiple of 8) at its end.
    pub fn init(&mut self, kind: PageKind, special_bytes: usize) {
        assert!(special_bytes.is_multiple_of(8), "special space is aligned");
        assert!(special_bytes <= PAGE_BYTES - HEADER_BYTES, "special space fits");
        self.clear();
        self.put_u8(KIND, kind as u8);
        self.put_u8(VERSION, LAYOUT_VERSION);
        self.set_lower(HEADER_BYTES);
        self.set_upper(PAGE_BYTES - special_bytes);
        self.put_u16(SPECIAL, (PAGE_BYTES - special_bytes) as u16);
    }

    /// Notes the end of the record that describes the change just made.
    #[inline]
    pub fn set_lsn(&mut self, lsn: Lsn) {
        self.put_u64(LSN, lsn.0);
    }

    /// Sets the flag bits of the page's kind.
    pub fn set_flags(&mut self, flags: u16) {
        assert!(flags < 1 << (16 - KIND_FLAGS_SHIFT), "twelve flag bits");
        let common = self.raw_flags() & ((1 << KIND_FLAGS_SHIFT) - 1);
        self.put_u16(FLAGS, flags << KIND_FLAGS_SHIFT | common);
    }

    pub(super) fn set_free_lines(&mut self, some: bool) {
        self.set_common(FLAG_FREE_LINES, some);
    }

    pub(super) fn set_holes(&mut self, some: bool) {
        self.set_common(FLAG_HOLES, some);
    }

    fn set_common(&mut self, flag: u16, on: bool) {
        let old = self.raw_flags();
        let new = if on { old | flag } else { old & !flag };
        if new != old {
            self.put_u16(FLAGS, new);
        }
    }

    /// Moves the end of the line pointers, or of what a page kind without line pointers stores in order.
    #[inline]
    pub fn set_lower(&mut self, lower: usize) {
        self.put_u16(LOWER, lower as u16);
    }

    /// Moves the start of the items; for redo that lays a page out itself.
    #[inline]
    pub(crate) fn set_upper(&mut self, upper: usize) {
        self.put_u16(UPPER, upper as u16);
    }
}
