//! Heap rows: datums to bytes and back, one column at a time.
//!
//! The layout is in the README of `types`. What it buys: without nulls, every fixed-width column
//! up to and including the first variable-width one lies at an offset that [`RowDesc`] knows, so
//! a point read touches the header word and the column and nothing else.

mod external;
mod loose;
mod size;
mod value;
mod varlen;
mod wire;

#[cfg(test)]
mod tests;

pub use external::{External, Part, has_external, inline_value, replace_parts};
pub use loose::{read_values, write_values};
pub use size::{MAX_VALUE_BYTES, check_size};
pub use value::{ValueKind, is_identical};
pub use varlen::{Stored, read_varlen};

use std::ops::Range;

use super::datum::Datum;
use crate::error::{Result, sql_error};

/// Columns a table may have, as in PostgreSQL.
pub const MAX_COLUMNS: usize = 1600;
/// Largest encoded row: what an 8 KiB page holds beside its own and the row's storage headers.
pub const MAX_ROW_BYTES: usize = 8000;

/// Bytes of the header word.
const HEADER: usize = 2;
/// Set in the header word when a null bitmap follows.
const HAS_NULLS: u16 = 0x8000;
/// Set in the header word when some value is not in the row.
const HAS_EXTERNAL: u16 = 0x4000;
/// The header word's bits that count columns.
const COUNT_MASK: u16 = 0x07ff;

const _: () = assert!(MAX_COLUMNS <= COUNT_MASK as usize);

/// How the rows of one table are laid out.
#[derive(Clone, Debug)]
pub struct RowDesc {
    columns: Box<[Column]>,
    /// Columns before the first variable-width one; that one's offset is known too.
    fixed_prefix: usize,
}

#[derive(Clone, Debug)]
struct Column {
    kind: ValueKind,
    /// Bytes, 0 for variable width.
    width: u32,
    /// Offset from the start of the data in a row without nulls; valid up to `fixed_prefix`.
    offset: u32,
    /// What rows written before the column existed hold in it.
    missing: Datum,
}

impl RowDesc {
    /// A descriptor of columns without defaults for short rows.
    pub fn new(kinds: impl IntoIterator<Item = ValueKind>) -> RowDesc {
        RowDesc::with_missing(kinds.into_iter().map(|kind| (kind, Datum::Null)))
    }

    /// What rows written before the column (from 0) existed hold in it.
    pub fn missing(&self, column: usize) -> &Datum {
        &self.columns[column].missing
    }

    /// A descriptor in which each column names the value that shorter rows have there.
    pub fn with_missing(columns: impl IntoIterator<Item = (ValueKind, Datum)>) -> RowDesc {
        let mut offset = 0;
        let columns: Box<[Column]> = columns
            .into_iter()
            .map(|(kind, missing)| {
                let width = kind.fixed_width().unwrap_or(0);
                let column = Column { kind, width, offset, missing };
                offset += width;
                column
            })
            .collect();
        assert!(
            columns.len() <= MAX_COLUMNS,
            "the catalog refuses tables of {MAX_COLUMNS} columns"
        );
        let fixed_prefix = columns.iter().take_while(|column| column.width > 0).count();
        RowDesc { columns, fixed_prefix }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub fn kind(&self, column: usize) -> ValueKind {
        self.columns[column].kind
    }

    /// Where a column lies in every row that is plain ([`RowView::is_plain`]), from the row's start; `None`
    /// where that is not the same for all.
    pub fn fixed_place(&self, column: usize) -> Option<Range<usize>> {
        let Column { offset, width, .. } = &self.columns[column];
        let start = HEADER + *offset as usize;
        (column < self.fixed_prefix).then(|| start..start + *width as usize)
    }

    /// Appends one value of a column, not null, as rows hold it.
    #[inline]
    pub fn encode_value(&self, column: usize, value: &Datum, out: &mut Vec<u8>) {
        self.columns[column].kind.encode(value, out);
    }

    /// Appends the encoded row to `out`.
    ///
    /// `values` has one datum per column, each of the column's kind or null. `54000` when the row
    /// would not fit a page even with its large values compressed.
    pub fn encode(&self, values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        self.encode_any(values, &[], out);
        let fits = must_fit(out.len() - start);
        if fits.is_err() {
            out.truncate(start);
        }
        fits
    }

    /// Appends the encoded row, however long it is, of values that [`check_size`] lets pass. Of the columns in `kept`, ascending, it has no values but where
    /// these are.
    pub fn encode_any(&self, values: &[Datum], kept: &[(u16, External)], out: &mut Vec<u8>) {
        assert_eq!(values.len(), self.columns.len(), "one value per column");
        let has_nulls = values.iter().any(Datum::is_null);
        let mut header = values.len() as u16;
        if has_nulls {
            header |= HAS_NULLS;
        }
        if !kept.is_empty() {
            header |= HAS_EXTERNAL;
        }
        out.extend_from_slice(&header.to_le_bytes());
        if has_nulls {
            let bitmap = out.len();
            out.resize(bitmap + values.len().div_ceil(8), 0);
            for (i, value) in values.iter().enumerate() {
                if value.is_null() {
                    out[bitmap + i / 8] |= 1 << (i % 8);
                }
            }
        }
        let mut kept = kept.iter().peekable();
        for (i, (column, value)) in self.columns.iter().zip(values).enumerate() {
            match kept.next_if(|(at, _)| usize::from(*at) == i) {
                Some((_, external)) => external.write(out),
                None if value.is_null() => {}
                None => column.kind.encode(value, out),
            }
        }
    }
}

/// `54000` for a row of so many bytes if no page has room for it.
pub fn must_fit(bytes: usize) -> Result<()> {
    match bytes > MAX_ROW_BYTES {
        false => Ok(()),
        true => Err(sql_error!(
            PROGRAM_LIMIT_EXCEEDED,
            "row is too big: size {bytes}, maximum size {MAX_ROW_BYTES}"
        )),
    }
}

/// A row's bytes under its descriptor.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    desc: &'a RowDesc,
    /// Columns present in the bytes.
    count: usize,
    /// The null bitmap, empty when no column is null.
    nulls: &'a [u8],
    data: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Reads the header. Rows come checksummed from pages that we wrote, so bytes that are no row
    /// are a broken invariant and panic.
    #[inline]
    pub fn new(desc: &'a RowDesc, bytes: &'a [u8]) -> RowView<'a> {
        let header = u16::from_le_bytes([bytes[0], bytes[1]]);
        let count = usize::from(header & COUNT_MASK);
        debug_assert!(count <= desc.columns.len(), "columns are never removed from a descriptor");
        let bitmap_len = if header & HAS_NULLS != 0 { count.div_ceil(8) } else { 0 };
        let (nulls, data) = bytes[HEADER..].split_at(bitmap_len);
        RowView { desc, count, nulls, data }
    }

    /// Number of columns of the descriptor, those that the row is too short for included.
    #[allow(clippy::len_without_is_empty, reason = "a row is not a collection")]
    pub fn len(&self) -> usize {
        self.desc.len()
    }

    /// Whether it has all columns of its descriptor, and no null.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.nulls.is_empty() && self.count == self.desc.columns.len()
    }

    #[inline]
    fn null_bit(&self, i: usize) -> bool {
        !self.nulls.is_empty() && self.nulls[i / 8] & (1 << (i % 8)) != 0
    }

    /// Whether column `i` is null.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        if i < self.count { self.null_bit(i) } else { self.desc.columns[i].missing.is_null() }
    }

    /// The value of column `i`, decoded alone.
    #[inline]
    pub fn get(&self, i: usize) -> Datum {
        match self.locate(i) {
            Located::Null => Datum::Null,
            Located::Missing(value) => value.clone(),
            Located::At(bytes) => self.desc.columns[i].kind.decode(bytes).0,
        }
    }

    /// Decodes the first `out.len()` columns in one pass.
    pub fn decode_prefix(&self, out: &mut [Datum]) {
        let mut rest = self.data;
        for (i, (slot, column)) in out.iter_mut().zip(&self.desc.columns).enumerate() {
            if i >= self.count {
                *slot = column.missing.clone();
            } else if self.null_bit(i) {
                *slot = Datum::Null;
            } else {
                let (value, used) = column.kind.decode(rest);
                *slot = value;
                rest = &rest[used..];
            }
        }
    }

    /// Where column `i` is: the bytes of its value and what follows them.
    #[inline]
    pub fn locate(&self, i: usize) -> Located<'a> {
        let column = &self.desc.columns[i];
        if i >= self.count {
            return Located::Missing(&column.missing);
        }
        if self.nulls.is_empty() {
            if i <= self.desc.fixed_prefix {
                return Located::At(&self.data[column.offset as usize..]);
            }
            let from = self.desc.fixed_prefix;
            return Located::At(self.walk(from, self.desc.columns[from].offset as usize, i));
        }
        if self.null_bit(i) { Located::Null } else { Located::At(self.walk(0, 0, i)) }
    }

    /// Steps over the columns `from..to`, the first of which lies at `offset`.
    fn walk(&self, from: usize, mut offset: usize, to: usize) -> &'a [u8] {
        for j in from..to {
            if self.null_bit(j) {
                continue;
            }
            let width = self.desc.columns[j].width as usize;
            offset += if width > 0 { width } else { varlen::size(&self.data[offset..]) };
        }
        &self.data[offset..]
    }
}

/// The outcome of looking for a column in a row.
#[derive(Clone, Copy, Debug)]
pub enum Located<'a> {
    Null,
    /// The row predates the column.
    Missing(&'a Datum),
    /// The value starts here; its length follows from its kind or its length word.
    At(&'a [u8]),
}
