//! How large a value would be in a row, counted before it is encoded.

use super::ValueKind;
use super::varlen::with_length_word;
use crate::error::{Result, sql_error};
use crate::types::Datum;
use crate::types::array::{Array, sum_up_to_limit, too_many_bytes};

/// Most bytes of a value: those that a length word has room for. PostgreSQL's limit, too.
pub const MAX_VALUE_BYTES: usize = (1 << 30) - 1;

/// Refuses a value that no row can hold. What is below is small enough even if nothing of it can be compressed.
///
/// # Errors
/// `54000`.
#[inline]
pub fn check_size(value: &Datum) -> Result<()> {
    match value {
        Datum::Text(_) | Datum::Bytea(_) | Datum::Jsonb(_) | Datum::Array(_) | Datum::Record(_) => {
            if bytes_max(value) > MAX_VALUE_BYTES {
                Err(too_large(value))
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    }
}

#[cold]
fn too_large(value: &Datum) -> crate::error::SqlError {
    match value {
        Datum::Array(_) => too_many_bytes(),
        _ => sql_error!(
            PROGRAM_LIMIT_EXCEEDED,
            "value is too large: {} bytes, the maximum is {MAX_VALUE_BYTES}",
            bytes_max(value)
        ),
    }
}

/// Bytes of a value in a row, its own length word not counted; fewer if a part of it is compressed.
pub(super) fn bytes_max(value: &Datum) -> usize {
    match value {
        Datum::Text(text) => text.len(),
        Datum::Bytea(bytes) => bytes.len(),
        Datum::Jsonb(text) => text.len(),
        Datum::Numeric(number) => 4 + 2 * number.parts().digits.len(),
        Datum::Array(array) => array_bytes_max(array),
        Datum::Record(record) => {
            6 + sum_up_to_limit(record.fields.iter().map(|(_, field)| 5 + within(field)))
        }
        fixed => ValueKind::of_datum(fixed).and_then(ValueKind::fixed_width).unwrap_or(0) as usize,
    }
}

/// The same of a value within another one.
fn within(value: &Datum) -> usize {
    let bytes = bytes_max(value);
    match ValueKind::of_datum(value).map(ValueKind::fixed_width) {
        Some(None) => with_length_word(bytes),
        _ => bytes,
    }
}

fn array_bytes_max(array: &Array) -> usize {
    let elements = match array.fixed_bytes() {
        // The null byte before each.
        Some(bytes) => array.elements.len() + bytes,
        None => sum_up_to_limit(array.elements.iter().map(|element| 1 + within(element))),
    };
    6 + 8 * array.dims.len() + elements
}
