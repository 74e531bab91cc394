//! How much memory rows take, counted without looking at the allocator.

use crate::error::{Result, sql_error};
use crate::types::Datum;

use super::HELD_BYTES_MAX;

/// What one allocation costs beside its bytes.
const ALLOCATION_BYTES: usize = 16;
/// Texts up to this length lie inside their datum.
const INLINE_TEXT_BYTES: usize = 14;
/// Likewise numerics up to so many digits.
const INLINE_DIGITS: usize = 5;

/// Bytes of a row kept as `Box<[Datum]>`, with the box.
pub(in crate::exec) fn row_bytes(row: &[Datum]) -> usize {
    size_of::<Box<[Datum]>>() + ALLOCATION_BYTES + values_bytes(row)
}

/// Bytes of values, with what they refer to. A value that several rows share counts for each.
pub fn values_bytes(values: &[Datum]) -> usize {
    size_of_val(values) + values.iter().map(referred_bytes).sum::<usize>()
}

/// Bytes that a value refers to.
#[inline]
fn referred_bytes(value: &Datum) -> usize {
    match value {
        Datum::Text(text) => beyond(text.len(), INLINE_TEXT_BYTES),
        Datum::Bytea(bytes) => ALLOCATION_BYTES + bytes.len(),
        Datum::Jsonb(text) => ALLOCATION_BYTES + text.len(),
        Datum::Numeric(number) => {
            let digits = number.parts().digits.len();
            if digits <= INLINE_DIGITS { 0 } else { 2 * ALLOCATION_BYTES + 2 * digits }
        }
        Datum::Array(array) => {
            2 * ALLOCATION_BYTES + size_of::<crate::types::Array>() + values_bytes(&array.elements)
        }
        Datum::Record(record) => {
            let fields = record.fields.iter().map(|(_, field)| 8 + referred_bytes(field));
            2 * ALLOCATION_BYTES + record.fields.len() * size_of::<Datum>() + fields.sum::<usize>()
        }
        _ => 0,
    }
}

fn beyond(len: usize, inline: usize) -> usize {
    if len <= inline { 0 } else { ALLOCATION_BYTES + len }
}

/// Refuses to keep more than one node may of what it can't put into a file.
///
/// # Errors
/// `53200`.
#[inline]
pub(in crate::exec) fn check_held(bytes: usize, what: &str) -> Result<()> {
    if bytes <= HELD_BYTES_MAX {
        return Ok(());
    }
    Err(sql_error!(OUT_OF_MEMORY, "out of memory")
        .with_detail(format!("{what} would need more than {} MB.", HELD_BYTES_MAX >> 20))
        .with_hint(
            "It can't be kept in a temporary file: let the query handle fewer rows at a time.",
        ))
}
