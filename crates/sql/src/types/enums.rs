//! Enums: the types that users make of a list of labels, and their arrays.
//!
//! An enum's value is the place of its label in the type's order: `pg_enum.enumsortorder`, a positive `float4`, whose bits have the
//! numbers' order. It is a [`Datum::Oid`], so that nothing that stores, orders, hashes or joins it asks a catalog, or knows
//! what it is; only those ask who read and write labels ([`Names`]). A label that comes between two others gets a place between
//! theirs, and no place is ever given to another label, so rows and indexes stay as they are.
//!
//! What a type is made of follows from its OID alone: those of the range below are enums (even), each with its array type behind
//! it (odd). Objects of other kinds get theirs from a counter, which is at 16,384 when a directory is made.

use std::sync::Arc;

use super::context::Names;
use super::oid::{Oid, TypeId};
use super::{Datum, TypeInfo};
use crate::error::{Result, SqlError, sql_error};

/// OIDs of enums and their arrays.
const OIDS: std::ops::Range<u32> = 1 << 30..3 << 29;

/// Stands before a place that is written as a number because there is no label to write; no label begins so.
pub const PLACE_MARK: char = '\u{1}';

impl TypeId {
    /// The enum that is made with the next number of the directory's counter of objects.
    pub fn new_enum(number: Oid) -> TypeId {
        let count = (OIDS.end - OIDS.start) / 2;
        TypeId(OIDS.start + number.0 % count * 2)
    }

    /// The number that it was made with, as far as there is room for it.
    pub fn enum_number(self) -> Oid {
        Oid((self.0 - OIDS.start) / 2)
    }

    pub fn is_enum(self) -> bool {
        OIDS.contains(&self.0) && self.0.is_multiple_of(2)
    }

    /// The enum that a type which a user has made is, or is the array type of; other types are themselves.
    pub fn own_enum(self) -> TypeId {
        self.enum_of_array().unwrap_or(self)
    }

    /// The enum that this is the array type of.
    fn enum_of_array(self) -> Option<TypeId> {
        (OIDS.contains(&self.0) && !self.0.is_multiple_of(2)).then(|| TypeId(self.0 - 1))
    }

    /// Whether a user has made it, or it is the array type of one that a user has made.
    pub fn is_made(self) -> bool {
        OIDS.contains(&self.0)
    }

    /// When it was made, beside other objects: their OIDs come from the same counter.
    pub fn made_at(self) -> Oid {
        Oid((self.0 - OIDS.start) / 2)
    }
}

/// The schema under which stored expressions name enums, by their OIDs: nobody can make one of this name.
pub const BY_OID: &str = "pg_oid";

/// How a stored expression names an enum, whatever that is called.
pub fn expression_name(id: TypeId) -> String {
    format!("{BY_OID}.\"{}\"", id.0)
}

/// What `pg_type` says of an enum or its array type, but for its name.
pub(super) fn made_type_info(id: TypeId) -> Option<TypeInfo> {
    if id.is_enum() {
        return Some(TypeInfo { id, array: TypeId(id.0 + 1), ..ENUM });
    }
    id.enum_of_array().map(|element| TypeInfo { id, element, ..ENUM_ARRAY })
}

const ENUM: TypeInfo = TypeInfo {
    id: TypeId::INVALID,
    name: "???",
    len: 4,
    by_value: true,
    kind: b'e',
    category: b'E',
    preferred: false,
    element: TypeId::INVALID,
    array: TypeId::INVALID,
    input: "enum_in",
    output: "enum_out",
    receive: "enum_recv",
    send: "enum_send",
    typmod_in: "",
    typmod_out: "",
    align: b'i',
    storage: b'p',
    subscript: "",
    collation: Oid::INVALID,
};

const ENUM_ARRAY: TypeInfo = TypeInfo {
    len: -1,
    by_value: false,
    kind: b'b',
    category: b'A',
    input: "array_in",
    output: "array_out",
    receive: "array_recv",
    send: "array_send",
    storage: b'x',
    subscript: "array_subscript_handler",
    ..ENUM
};

/// The value at a place.
pub fn enum_value(place: f32) -> Datum {
    debug_assert!(place > 0.0, "bits have the order of positive numbers");
    Datum::Oid(Oid(place.to_bits()))
}

/// An enum's labels with their values, in their order.
#[derive(Debug, Default)]
pub struct Labels(Vec<(Oid, Arc<str>)>);

impl Labels {
    /// Of rows of `pg_enum`: places and labels.
    pub fn new(rows: impl IntoIterator<Item = (f32, Arc<str>)>) -> Labels {
        let mut labels: Vec<_> =
            rows.into_iter().map(|(place, label)| (Oid(place.to_bits()), label)).collect();
        labels.sort_unstable_by_key(|(value, _)| *value);
        Labels(labels)
    }

    /// The value of a label.
    pub fn value(&self, label: &str) -> Option<Datum> {
        self.0.iter().find(|(_, own)| **own == *label).map(|(value, _)| Datum::Oid(*value))
    }

    /// The label of a value.
    pub fn label(&self, value: Oid) -> Option<&Arc<str>> {
        let at = self.0.binary_search_by_key(&value, |(value, _)| *value).ok()?;
        Some(&self.0[at].1)
    }

    /// All values.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Datum> {
        self.0.iter().map(|(value, _)| Datum::Oid(*value))
    }
}

/// The value that a text means: a label, or what [`write_label`] has written in the place of one.
pub fn read_label(labels: &Labels, text: &str) -> Option<Datum> {
    let Some(place) = text.strip_prefix(PLACE_MARK) else { return labels.value(text) };
    let value = Oid(place.parse().ok()?);
    labels.label(value).map(|_| Datum::Oid(value))
}

/// `22P02`.
pub fn no_label(type_name: &str, text: &str) -> SqlError {
    sql_error!(INVALID_TEXT_REPRESENTATION, "invalid input value for enum {type_name}: \"{text}\"")
}

/// Appends a value's label. Where `names` know none, its place: expressions that are stored have it so, and mean the same under any
/// label.
pub(super) fn write_label(
    type_id: TypeId,
    value: Oid,
    names: &dyn Names,
    out: &mut Vec<u8>,
) -> Result<()> {
    match names.enum_label(type_id, value)? {
        Some(label) => out.extend_from_slice(label.as_bytes()),
        None => out.extend_from_slice(format!("{PLACE_MARK}{value}").as_bytes()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ValueOrder, compare, type_info};

    #[test]
    fn an_enum_and_its_array_know_each_other_by_their_oids() {
        for number in [0, 16_384, 16_385, (1 << 28) - 1, 1 << 28, u32::MAX] {
            let id = TypeId::new_enum(Oid(number));
            assert!(id.is_enum() && id.is_made());
            let array = type_info(id).unwrap().array;
            assert!(!array.is_enum() && array.is_made());
            let info = type_info(array).unwrap();
            assert!(info.is_array() && info.element == id && info.id == array);
            assert_eq!(id.made_at(), Oid(number % (1 << 28)));
        }
        for other in [0, 16_384, OIDS.start - 1, OIDS.end, u32::MAX] {
            assert!(type_info(TypeId(other)).is_none() && !TypeId(other).is_made());
        }
    }

    #[test]
    fn values_have_the_order_of_their_places() {
        let places = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 1e6];
        let labels = Labels::new(places.iter().rev().map(|p| (*p, Arc::from(p.to_string()))));
        let values: Vec<Datum> = labels.values().collect();
        let id = TypeId::new_enum(Oid(16_384));
        let order = ValueOrder { type_id: id, rules: None };
        assert!(values.is_sorted_by(|a, b| order.compare(a, b).is_lt()));
        for (place, value) in places.iter().zip(&values) {
            assert!(compare(id, value, &enum_value(*place)).is_eq());
            let label = labels.label(value.as_oid()).unwrap();
            assert_eq!(**label, *place.to_string());
            assert_eq!(labels.value(label).unwrap().as_oid(), value.as_oid());
        }
    }

    #[test]
    fn what_is_written_without_labels_is_read_with_them() {
        let labels = Labels::new([(1.0, Arc::from("a")), (2.0, Arc::from("b"))]);
        let names = crate::types::testing::NoNames;
        for value in labels.values() {
            let mut text = Vec::new();
            let id = TypeId::new_enum(Oid(16_384));
            write_label(id, value.as_oid(), &names, &mut text).unwrap();
            let read = read_label(&labels, std::str::from_utf8(&text).unwrap()).unwrap();
            assert_eq!(read.as_oid(), value.as_oid());
        }
        assert!(read_label(&labels, "\u{1}77").is_none() && read_label(&labels, "").is_none());
    }
}
