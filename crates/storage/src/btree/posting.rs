//! Lists of rows. A *posting* is a leaf entry that stands for several rows with one key: the first TID is in its slot,
//! the others are a list in its payload record, each told by its distance from the one before.
//!
//! ```text
//! list := step…
//! step := number (blocks << 9 | line), number (line - 512) if that said line 0
//! ```
//!
//! `blocks`: how many blocks behind the TID before. `line`: in the same block how many offsets behind it, in another
//! one the offset plus 1; so never 0, which stands for a line of 512 or more. Numbers are little-endian, 7 bits to a
//! byte, the highest bit set in all bytes but the last. A row in the same block or one of the next few dozen takes
//! 1 or 2 bytes, where its TID has 6.
//!
//! Taking a TID out never makes a list longer: the step over the gap is at most as long as the two it replaces.

use crate::page::PageView;
use base::{BlockNo, Tid};
use std::ops::Range;

/// Bits of a step's first number that hold the line.
const LINE_BITS: u32 = 9;
/// Lines from here on take a second number.
const LONG_LINE: u64 = 1 << LINE_BITS;
/// Bytes of the longest step.
pub(super) const STEP_BYTES_MAX: usize = 9;
/// Set in all bytes of a number but the last.
const MORE: u8 = 0x80;

/// The TIDs of one entry, ascending. Total: whatever the bytes are, it ends and does not panic.
#[derive(Clone)]
pub(super) struct Rows<'a> {
    page: PageView<'a>,
    next: Option<Tid>,
    /// What is left of the list.
    at: usize,
    end: usize,
}

impl<'a> Rows<'a> {
    /// `first`, and those of the `len` bytes of list at `at`.
    #[inline]
    pub fn new(page: PageView<'a>, first: Tid, at: usize, len: usize) -> Rows<'a> {
        Rows { page, next: Some(first), at, end: at + len }
    }

    /// Where `row`, which is behind the first one, is or would be.
    pub fn gap_for(mut self, row: Tid) -> Gap {
        let (begin, mut before) = (self.at, self.next.unwrap_or(Tid::INVALID));
        while self.at < self.end {
            let from = self.at;
            let next = self.step_from(before);
            if next >= row {
                return Gap { before, after: Some(next), step: from - begin..self.at - begin };
            }
            before = next;
        }
        let end = self.at - begin;
        Gap { before, after: None, step: end..end }
    }

    /// Reads a step of the list.
    #[inline]
    fn step_from(&mut self, tid: Tid) -> Tid {
        let step = self.number();
        let line = match step & (LONG_LINE - 1) {
            0 => LONG_LINE + self.number(),
            line => line,
        };
        behind(tid, step >> LINE_BITS, line)
    }

    #[inline]
    fn number(&mut self) -> u64 {
        let (number, len) = number_in(self.page.get_u64(self.at));
        self.at += len;
        number
    }
}

/// Between which rows of a posting a row is or would be.
pub(super) struct Gap {
    /// The last one before it.
    pub before: Tid,
    /// The first one that is not; `None`: it is behind all.
    pub after: Option<Tid>,
    /// The step from the one to the other, in the list.
    pub step: Range<usize>,
}

impl Iterator for Rows<'_> {
    type Item = Tid;

    #[inline]
    fn next(&mut self) -> Option<Tid> {
        let tid = self.next?;
        self.next = None;
        if self.at < self.end {
            self.next = Some(self.step_from(tid));
        }
        Some(tid)
    }
}

/// The TID so far behind another. Wraps where that is none, which is what [`fault`] finds.
#[inline]
fn behind(tid: Tid, blocks: u64, line: u64) -> Tid {
    match blocks {
        0 => Tid { block: tid.block, offset: tid.offset.wrapping_add(line as u16) },
        _ => {
            let block = BlockNo(tid.block.0.wrapping_add(blocks as u32));
            Tid { block, offset: (line as u16).wrapping_sub(1) }
        }
    }
}

/// The number at the beginning of these 8 bytes, and how many it takes.
#[inline]
fn number_in(bytes: u64) -> (u64, usize) {
    let ends = !bytes & (u64::from(MORE) * 0x0101_0101_0101_0101);
    let len = (ends.trailing_zeros() as usize / 8 + 1).min(8);
    let mut number = 0;
    for i in 0..len {
        number |= (bytes >> (8 * i) & 0x7F) << (7 * i);
    }
    (number, len)
}

fn append_number(list: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        list.push(number as u8 | MORE);
        number >>= 7;
    }
    list.push(number as u8);
}

/// Appends the step from `last` to `next`, which is behind it. Of a damaged page it may not be: then some step.
pub(super) fn append(list: &mut Vec<u8>, last: Tid, next: Tid) {
    let blocks = u64::from(next.block.0.wrapping_sub(last.block.0));
    let line = match blocks {
        0 => u64::from(next.offset.wrapping_sub(last.offset)),
        _ => u64::from(next.offset) + 1,
    };
    if line < LONG_LINE {
        append_number(list, blocks << LINE_BITS | line);
    } else {
        append_number(list, blocks << LINE_BITS);
        append_number(list, line - LONG_LINE);
    }
}

/// The rows of an entry, as they are written: the first one, and the list of the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Posting {
    pub first: Tid,
    /// Empty: it is a plain entry.
    pub list: Vec<u8>,
}

impl Posting {
    /// Of these rows, which ascend; at least one.
    pub fn of(rows: &[Tid]) -> Posting {
        let mut list = Vec::new();
        rows.windows(2).for_each(|pair| append(&mut list, pair[0], pair[1]));
        Posting { first: rows[0], list }
    }
}

/// What is wrong with the rows of an entry that says to be a posting: they do not ascend, or the list is not what
/// [`append`] makes of them.
pub(super) fn fault(rows: Rows<'_>, list: &[u8]) -> Option<&'static str> {
    let rows: Vec<Tid> = rows.collect();
    if rows.len() < 2 || !rows.is_sorted_by(|a, b| a < b) {
        return Some("has rows that do not ascend");
    }
    (Posting::of(&rows).list != list).then_some("has a list of rows in another form")
}
