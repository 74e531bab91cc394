//! Values that carry their own kinds: rows of running queries on their way to a temporary file and back.
//!
//! Each value is a kind byte (0 for null) and the value as table rows hold it. Nothing tells how many there
//! are: the reader knows where they end.

use super::ValueKind;
use crate::types::Datum;

/// Appends values. None may be larger than a value can be (1 GB).
pub fn write_values(values: &[Datum], out: &mut Vec<u8>) {
    for value in values {
        match ValueKind::of_datum(value) {
            None => out.push(0),
            Some(kind) => {
                out.push(kind as u8);
                kind.encode(value, out);
            }
        }
    }
}

/// Appends all values that `bytes` hold.
///
/// # Panics
/// When `bytes` is not what [`write_values`] wrote.
pub fn read_values(mut bytes: &[u8], out: &mut Vec<Datum>) {
    while let Some((&kind, rest)) = bytes.split_first() {
        let Some(kind) = ValueKind::from_byte(kind) else {
            assert_eq!(kind, 0, "a value begins with its kind");
            out.push(Datum::Null);
            bytes = rest;
            continue;
        };
        let (value, used) = kind.decode(rest);
        out.push(value);
        bytes = &rest[used..];
    }
}
