//! Values that a row points to instead of holding them: where they stand in its bytes, and what stands there for them.
//!
//! ```text
//! 0xff | form u8 | stored length u32 | raw length u32 | place: block u32, slot u16       little-endian, 16 bytes
//! ```
//!
//! The form is 1 where the place is that of the whole value, 2 where it is that of a list of pieces
//! ([`crate::toast`]). A raw length other than 0 says that what is stored is an LZ4 block of so many bytes. A row
//! that has such a value says so in its header word.

use std::ops::Range;

use base::ids::{BlockNo, Tid};

use super::varlen::{self, Stored};
use super::{COUNT_MASK, HAS_EXTERNAL, HAS_NULLS, HEADER, RowDesc};

/// Bytes that stand for a value.
pub const EXTERNAL_BYTES: usize = 16;
/// Form of a value in one piece.
const WHOLE: u8 = 1;
/// Form of a value in several.
const LISTED: u8 = 2;

/// Where a value is, and how it is stored there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct External {
    /// Its only piece, or the first list of its pieces.
    pub place: Tid,
    /// Whether that is its only piece.
    pub whole: bool,
    /// Bytes that are stored.
    pub stored_len: u32,
    /// Bytes of the value if what is stored is compressed; else 0.
    pub raw_len: u32,
}

/// A value of variable width in a row.
#[derive(Clone, Debug)]
pub struct Part {
    /// The column, from 0.
    pub column: u16,
    /// Where it stands in the row's bytes, length word and all.
    pub at: Range<usize>,
}

impl External {
    pub(super) fn read(bytes: &[u8]) -> External {
        let four = |at: usize| {
            u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four of sixteen bytes"))
        };
        let block = BlockNo(four(10));
        let offset = u16::from_le_bytes([bytes[14], bytes[15]]);
        External {
            place: Tid { block, offset },
            whole: bytes[1] == WHOLE,
            stored_len: four(2),
            raw_len: four(6),
        }
    }

    /// Appends what stands in a row for the value.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[varlen::EXTERNAL, if self.whole { WHOLE } else { LISTED }]);
        out.extend_from_slice(&self.stored_len.to_le_bytes());
        out.extend_from_slice(&self.raw_len.to_le_bytes());
        out.extend_from_slice(&self.place.block.0.to_le_bytes());
        out.extend_from_slice(&self.place.offset.to_le_bytes());
    }

    /// Appends the value as a row holds it itself. `stored` is what is stored at its place.
    pub fn write_inline(&self, stored: &[u8], out: &mut Vec<u8>) {
        let value = match self.raw_len {
            0 => Stored::Plain(stored),
            raw_len => Stored::Compressed { raw_len: raw_len as usize, block: stored },
        };
        varlen::write_stored(value, out);
    }
}

/// Whether some of a row's values are not in it.
#[inline]
pub fn has_external(row: &[u8]) -> bool {
    u16::from_le_bytes([row[0], row[1]]) & HAS_EXTERNAL != 0
}

impl RowDesc {
    /// A row's values of variable width, in the order of their columns.
    pub fn parts(&self, row: &[u8]) -> Vec<Part> {
        let word = u16::from_le_bytes([row[0], row[1]]);
        let count = usize::from(word & COUNT_MASK);
        let nulls = &row[HEADER..];
        let is_null = |i: usize| word & HAS_NULLS != 0 && nulls[i / 8] & (1 << (i % 8)) != 0;
        let mut at = HEADER + if word & HAS_NULLS != 0 { count.div_ceil(8) } else { 0 };
        let mut parts = Vec::new();
        for (i, column) in self.columns.iter().enumerate().take(count).filter(|(i, _)| !is_null(*i))
        {
            if column.width > 0 {
                at += column.width as usize;
                continue;
            }
            let end = at + varlen::size(&row[at..]);
            parts.push(Part { column: i as u16, at: at..end });
            at = end;
        }
        parts
    }

    /// The columns whose values are not in the row, and where these are.
    pub fn externals(&self, row: &[u8]) -> Vec<(Part, External)> {
        if !has_external(row) {
            return Vec::new();
        }
        let of = |part: Part| {
            let bytes = &row[part.at.clone()];
            (bytes[0] == varlen::EXTERNAL).then(|| External::read(bytes)).map(|e| (part, e))
        };
        self.parts(row).into_iter().filter_map(of).collect()
    }
}

/// A value as it stands in a row, if the row holds it: its bytes, and the raw length if they are compressed, else 0.
pub fn inline_value(part: &[u8]) -> Option<(&[u8], u32)> {
    match varlen::read_varlen(part).0 {
        Stored::Plain(bytes) => Some((bytes, 0)),
        Stored::Compressed { raw_len, block } => Some((block, raw_len as u32)),
        Stored::External(_) => None,
    }
}

/// The row with some of its parts replaced, which are in the order of their places; `external` says whether values
/// are left that are not in it.
pub fn replace_parts(row: &[u8], parts: &[(Range<usize>, Vec<u8>)], external: bool) -> Vec<u8> {
    let more: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
    let mut out = Vec::with_capacity(row.len() + more);
    let mut at = 0;
    for (place, bytes) in parts {
        out.extend_from_slice(&row[at..place.start]);
        out.extend_from_slice(bytes);
        at = place.end;
    }
    out.extend_from_slice(&row[at..]);
    let word = u16::from_le_bytes([out[0], out[1]]) & !HAS_EXTERNAL;
    let word = if external { word | HAS_EXTERNAL } else { word };
    out[..HEADER].copy_from_slice(&word.to_le_bytes());
    out
}
