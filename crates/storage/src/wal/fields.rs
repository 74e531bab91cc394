//! Taking a record's content apart without trusting it: for those who describe records, intact or not.

use super::view::RecordView;
use std::fmt::{self, Display, Write};

/// Little-endian numbers off the front of some bytes; `None` where there are too few.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        Some(self.number(2)? as u16)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(self.number(4)? as u32)
    }

    /// Six bytes.
    pub fn u48(&mut self) -> Option<u64> {
        self.number(6)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.number(8)
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Some of a list, at most [`LISTED_MAX`]: ` [1, 2, 3]`, or nothing if it is empty.
pub(crate) fn list(out: &mut String, items: impl IntoIterator<Item = impl Display>) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_none() {
        return;
    }
    for (i, item) in items.enumerate() {
        if i == LISTED_MAX {
            out.push_str(", …");
            break;
        }
        put(out, format_args!("{}{item}", if i == 0 { " [" } else { ", " }));
    }
    out.push(']');
}

/// Items of a list that are told one by one.
const LISTED_MAX: usize = 32;

/// Appends to a text.
pub(crate) fn put(out: &mut String, what: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(what);
}

/// Calls `tell` with what the `i`-th page of a record carries, if that is no image; `None` if there is no such page,
/// or `tell` says so.
pub(crate) fn with(
    record: &RecordView<'_>,
    i: usize,
    out: &mut String,
    tell: impl FnOnce(&mut Fields<'_>, &mut String) -> Option<()>,
) -> Option<()> {
    let block = record.blocks().nth(i)?;
    if block.has_image() { Some(()) } else { tell(&mut Fields(block.bytes), out) }
}
