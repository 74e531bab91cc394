//! Order, equality and hashing of values, as SQL's `<`, `=` and hashing see them.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::array::Array;
use super::chars::without_padding;
use super::numeric::Sign;
use super::{Datum, Record, Rules, TypeId, TypeMod, format_type, jsonb};
use crate::error::{Result, bail};

/// Orders two values of one type as its default B-tree order does; nulls come last and are equal.
///
/// The variants must agree; values of different types never meet here, since the binder has
/// coerced them.
pub fn compare(type_id: TypeId, a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Text(a), Datum::Text(b)) if type_id == TypeId::BPCHAR => {
            without_padding(a).cmp(without_padding(b))
        }
        (Datum::Int8(a), Datum::Int8(b)) if is_unsigned(type_id) => (*a as u64).cmp(&(*b as u64)),
        _ => compare_plain(a, b),
    }
}

/// The order of one type's values, texts by a collation.
#[derive(Clone, Copy, Debug)]
pub struct ValueOrder {
    pub type_id: TypeId,
    pub rules: Option<&'static Rules>,
}

impl ValueOrder {
    pub fn compare(self, a: &Datum, b: &Datum) -> Ordering {
        match self.rules {
            None => compare(self.type_id, a, b),
            Some(rules) => compare_under(rules, self.type_id, a, b),
        }
    }
}

/// [`compare`] under a collation's rules.
pub fn compare_under(rules: &Rules, type_id: TypeId, a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Text(a), Datum::Text(b)) if type_id == TypeId::BPCHAR => {
            rules.compare(without_padding(a), without_padding(b))
        }
        (Datum::Text(a), Datum::Text(b)) => rules.compare(a, b),
        (Datum::Array(a), Datum::Array(b)) => {
            compare_arrays(a, b, |x, y| compare_under(rules, a.element_type, x, y))
        }
        _ => compare(type_id, a, b),
    }
}

/// Types whose `Int8` is an unsigned number.
pub(super) fn is_unsigned(type_id: TypeId) -> bool {
    matches!(type_id, TypeId::XID8 | TypeId::PG_LSN)
}

fn compare_plain(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Greater,
        (_, Datum::Null) => Ordering::Less,
        (Datum::Int4(a), Datum::Int4(b)) => a.cmp(b),
        (Datum::Int8(a), Datum::Int8(b)) => a.cmp(b),
        (Datum::Int2(a), Datum::Int2(b)) => a.cmp(b),
        (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
        (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (Datum::Char(a), Datum::Char(b)) => a.cmp(b),
        (Datum::Float4(a), Datum::Float4(b)) => compare_f64(f64::from(*a), f64::from(*b)),
        (Datum::Float8(a), Datum::Float8(b)) => compare_f64(*a, *b),
        (Datum::Numeric(a), Datum::Numeric(b)) => a.cmp(b),
        (Datum::Oid(a), Datum::Oid(b)) => a.cmp(b),
        (Datum::Tid(a), Datum::Tid(b)) => a.cmp(b),
        (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
        (Datum::Time(a), Datum::Time(b)) => a.cmp(b),
        (Datum::TimeTz(a), Datum::TimeTz(b)) => a.cmp(b),
        (Datum::Timestamp(a), Datum::Timestamp(b)) => a.cmp(b),
        (Datum::TimestampTz(a), Datum::TimestampTz(b)) => a.cmp(b),
        (Datum::Interval(a), Datum::Interval(b)) => a.span().cmp(&b.span()),
        (Datum::Uuid(a), Datum::Uuid(b)) => a.cmp(b),
        (Datum::Inet(a), Datum::Inet(b)) => a.cmp(b),
        (Datum::Bytea(a), Datum::Bytea(b)) => a.cmp(b),
        (Datum::Jsonb(a), Datum::Jsonb(b)) => jsonb::compare(a, b),
        (Datum::Array(a), Datum::Array(b)) => {
            compare_arrays(a, b, |x, y| compare(a.element_type, x, y))
        }
        (Datum::Record(a), Datum::Record(b)) => compare_records(a, b),
        (a, b) => panic!("values of different types are compared: {a:?} and {b:?}"),
    }
}

/// SQL's order of floating-point numbers: NaN is above all and equal to itself, zeros are equal.
pub fn compare_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Element by element, then by length, then by shape.
fn compare_arrays(
    a: &Array,
    b: &Array,
    compare_elements: impl Fn(&Datum, &Datum) -> Ordering,
) -> Ordering {
    for (x, y) in a.elements.iter().zip(&b.elements) {
        let order = compare_elements(x, y);
        if order.is_ne() {
            return order;
        }
    }
    compare_shapes(a, b)
}

fn compare_shapes(a: &Array, b: &Array) -> Ordering {
    let lens = |array: &Array| array.dims.iter().map(|dim| dim.len).collect::<Vec<_>>();
    let lowers = |array: &Array| array.dims.iter().map(|dim| dim.lower).collect::<Vec<_>>();
    a.elements
        .len()
        .cmp(&b.elements.len())
        .then_with(|| a.dims.len().cmp(&b.dims.len()))
        .then_with(|| lens(a).cmp(&lens(b)))
        .then_with(|| lowers(a).cmp(&lowers(b)))
}

/// Field by field. Those of other types are ordered by these, which is for [`compare_alike`] to refuse.
fn compare_records(a: &Record, b: &Record) -> Ordering {
    for ((own, x), (other, y)) in a.fields.iter().zip(&b.fields) {
        let order = own.cmp(other).then_with(|| compare(*own, x, y));
        if order.is_ne() {
            return order;
        }
    }
    a.fields.len().cmp(&b.fields.len())
}

/// [`compare`]; `42804` where rows, or those in arrays, turn out to have columns of other types, or another number of them.
pub fn compare_alike(type_id: TypeId, a: &Datum, b: &Datum) -> Result<Ordering> {
    match (a, b) {
        (Datum::Record(a), Datum::Record(b)) => compare_rows(a, b),
        (Datum::Array(a), Datum::Array(b)) if a.element_type == TypeId::RECORD => {
            for (x, y) in a.elements.iter().zip(&b.elements) {
                let order = compare_alike(TypeId::RECORD, x, y)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ok(compare_shapes(a, b))
        }
        _ => Ok(compare(type_id, a, b)),
    }
}

fn compare_rows(a: &Record, b: &Record) -> Result<Ordering> {
    for (i, ((own, x), (other, y))) in a.fields.iter().zip(&b.fields).enumerate() {
        if own != other {
            bail!(
                DATATYPE_MISMATCH,
                "cannot compare dissimilar column types {} and {} at record column {}",
                format_type(*own, TypeMod::NONE),
                format_type(*other, TypeMod::NONE),
                i + 1
            );
        }
        let order = compare_alike(*own, x, y)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    if a.fields.len() != b.fields.len() {
        bail!(DATATYPE_MISMATCH, "cannot compare record types with different numbers of columns");
    }
    Ok(Ordering::Equal)
}

/// Whether two values are equal as their type's `=` sees it, nulls being equal to each other.
pub fn equals(type_id: TypeId, a: &Datum, b: &Datum) -> bool {
    is_equal_as(a, b, || type_id)
}

/// [`equals`] without the type, for every type but `bpchar`, whose trailing blanks it counts.
pub fn is_equal(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Text(a), Datum::Text(b)) => a == b,
        _ => compare_plain(a, b).is_eq(),
    }
}

/// [`equals`], asking for the type only where it matters.
#[inline]
pub fn is_equal_as(a: &Datum, b: &Datum, type_of: impl FnOnce() -> TypeId) -> bool {
    match (a, b) {
        (Datum::Text(a), Datum::Text(b)) => {
            a == b || (type_of() == TypeId::BPCHAR && without_padding(a) == without_padding(b))
        }
        _ => compare_plain(a, b).is_eq(),
    }
}

/// What null feeds: a number that no column is full of, as one may be of zeros.
const NULL_HASH: u64 = 0x9ae1_6a3b_2f90_404f;

/// Feeds a value to a hasher: equal values feed alike, whatever their type's notion of equality.
///
/// Integers of all widths feed alike, so that they can be joined without conversion; so do both
/// floating-point types.
pub fn hash_datum<H: Hasher>(value: &Datum, state: &mut H) {
    match value {
        Datum::Null => state.write_u64(NULL_HASH),
        Datum::Bool(v) => state.write_u8(u8::from(*v)),
        Datum::Char(v) => state.write_u8(*v),
        Datum::Int2(v) => state.write_i64(i64::from(*v)),
        Datum::Int4(v) => state.write_i64(i64::from(*v)),
        Datum::Int8(v) => state.write_i64(*v),
        Datum::Float4(v) => hash_f64(f64::from(*v), state),
        Datum::Float8(v) => hash_f64(*v, state),
        Datum::Oid(v) => state.write_u32(v.0),
        Datum::Tid(v) => v.hash(state),
        Datum::Date(v) => state.write_i32(v.0),
        Datum::Time(v) => state.write_i64(v.0),
        Datum::TimeTz(v) => v.hash(state),
        Datum::Timestamp(v) => state.write_i64(v.0),
        Datum::TimestampTz(v) => state.write_i64(v.0),
        Datum::Interval(v) => state.write_i128(v.span()),
        Datum::Uuid(v) => state.write(v),
        Datum::Inet(v) => state.write(&v.to_bytes()),
        Datum::Numeric(v) => {
            let parts = v.parts();
            state.write_u8(parts.sign as u8);
            if matches!(parts.sign, Sign::Positive | Sign::Negative) {
                state.write_i32(parts.weight);
                parts.digits.iter().for_each(|digit| state.write_u16(*digit));
            }
        }
        Datum::Text(v) => {
            state.write(without_padding(v).as_bytes());
            state.write_u8(0xff);
        }
        Datum::Bytea(v) => {
            state.write(v);
            state.write_u8(0xff);
        }
        Datum::Jsonb(v) => {
            let mut code = Vec::with_capacity(v.len() + 8);
            jsonb::write_code(v, &mut code);
            state.write(&code);
        }
        Datum::Array(v) => v.elements.iter().for_each(|element| hash_datum(element, state)),
        Datum::Record(v) => v.fields.iter().for_each(|(_, field)| hash_datum(field, state)),
    }
}

fn hash_f64<H: Hasher>(value: f64, state: &mut H) {
    state.write_u64(if value == 0.0 {
        0
    } else if value.is_nan() {
        f64::NAN.to_bits()
    } else {
        value.to_bits()
    });
}
