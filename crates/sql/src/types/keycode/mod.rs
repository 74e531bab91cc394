//! Index keys: values to bytes whose `memcmp` order is the values' SQL order.
//!
//! Each column is a marker byte, which places nulls, and the value's code, inverted for
//! descending columns. Every code is self-delimiting: none is a proper prefix of another of the
//! same type, so columns simply follow each other. The codes are part of the disk format; the
//! README of `types` lists them and says which give their value back.

mod decode;
mod skip;

#[cfg(test)]
mod tests;

pub use skip::CodeLength;

use super::array::Array;
use super::chars::without_padding;
use super::compare::is_unsigned;
use super::numeric::{Numeric, Sign};
use super::row::ValueKind;
use super::{Datum, Inet, Interval, Record, Rules, TypeId};

/// Marker of a null that sorts before values.
const NULL_FIRST: u8 = 0x00;
/// Marker of a value.
pub const VALUE_MARKER: u8 = 0x01;
/// Marker of a null that sorts after values.
const NULL_LAST: u8 = 0x02;
/// Ends a text, an array and a record; below every byte that could follow instead.
const END: u8 = 0x00;
/// After `END` inside `bytea`: the end, and a zero byte that is part of the value.
const BYTEA_END: u8 = 0x01;
const BYTEA_ZERO: u8 = 0xff;

/// First byte of a numeric's code.
mod numeric_class {
    pub const NEG_INFINITY: u8 = 0x10;
    pub const NEGATIVE: u8 = 0x20;
    pub const ZERO: u8 = 0x30;
    pub const POSITIVE: u8 = 0x40;
    pub const INFINITY: u8 = 0x50;
    pub const NAN: u8 = 0x60;
}

/// One column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    pub type_id: TypeId,
    /// What texts are compared by; `None`: by their bytes.
    pub rules: Option<&'static Rules>,
    pub descending: bool,
    pub nulls_first: bool,
}

impl KeyColumn {
    /// `ASC NULLS LAST`.
    pub fn ascending(type_id: TypeId) -> KeyColumn {
        KeyColumn { type_id, rules: None, descending: false, nulls_first: false }
    }

    /// Appends one value of the column.
    #[inline]
    pub fn encode(&self, value: &Datum, out: &mut Vec<u8>) {
        if value.is_null() {
            out.push(if self.nulls_first { NULL_FIRST } else { NULL_LAST });
            return;
        }
        out.push(VALUE_MARKER);
        let start = out.len();
        match self.rules {
            None => encode_value(self.type_id, value, out),
            Some(rules) => encode_under(rules, self.type_id, value, out),
        }
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// The value at the start of `bytes`, which moves past it; for lossless types.
    pub fn decode(&self, bytes: &mut &[u8]) -> Datum {
        decode::decode_column(self, bytes)
    }
}

/// The key of a row: its columns one after the other. Fewer values than columns make a prefix.
pub fn encode_key(columns: &[KeyColumn], values: &[Datum], out: &mut Vec<u8>) {
    for (column, value) in columns.iter().zip(values) {
        column.encode(value, out);
    }
}

/// The values of a key, for an index whose columns are all lossless.
pub fn decode_key(columns: &[KeyColumn], mut key: &[u8]) -> Vec<Datum> {
    columns.iter().map(|column| column.decode(&mut key)).collect()
}

/// The first byte string after all that begin with `prefix`; `None` when there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut bound = prefix[..=last].to_vec();
    bound[last] += 1;
    Some(bound)
}

/// The hash of a row's key for hash indexes: XXH3 (64 bits, seed 0) over the ascending code of
/// its columns. Part of the disk format.
pub fn hash64(columns: &[KeyColumn], values: &[Datum]) -> u64 {
    let mut key = Vec::with_capacity(32);
    for (column, value) in columns.iter().zip(values) {
        // Where equal texts have equal bytes, these are enough.
        let rules = column.rules.filter(|rules| !rules.is_deterministic());
        KeyColumn { rules, ..KeyColumn::ascending(column.type_id) }.encode(value, &mut key);
    }
    xxhash_rust::xxh3::xxh3_64(&key)
}

impl KeyColumn {
    /// Whether values come back from their codes exactly, so that an index alone can answer for them.
    pub fn is_lossless(&self) -> bool {
        self.rules.is_none_or(Rules::is_deterministic) && is_lossless(self.type_id)
    }
}

/// Whether values of a type come back from their codes exactly.
fn is_lossless(type_id: TypeId) -> bool {
    match ValueKind::of_type(type_id) {
        // The scale (of numbers in jsonb, too), the sign of zero, and how a span was split are not in the order.
        Some(
            ValueKind::Numeric
            | ValueKind::Float4
            | ValueKind::Float8
            | ValueKind::Interval
            | ValueKind::Record
            | ValueKind::Jsonb,
        )
        | None => false,
        Some(ValueKind::Array) => {
            super::type_info(type_id).is_some_and(|info| is_lossless(info.element))
        }
        Some(_) => type_id != TypeId::BPCHAR,
    }
}

/// Whether values of a type have a code at all.
pub fn has_order(type_id: TypeId) -> bool {
    match ValueKind::of_type(type_id) {
        Some(ValueKind::Array) => {
            super::type_info(type_id).is_some_and(|info| has_order(info.element))
        }
        Some(_) => !matches!(
            type_id,
            TypeId::JSON
                | TypeId::XID
                | TypeId::CID
                | TypeId::ACLITEM
                | TypeId::PG_SNAPSHOT
                | TypeId::TXID_SNAPSHOT
                | TypeId::PG_NODE_TREE
                | TypeId::REFCURSOR
                | TypeId::CSTRING
                | TypeId::VOID
        ),
        None => false,
    }
}

/// Whether equal values of the type, and no others, have the same code: what a hash index needs.
pub fn has_equality(type_id: TypeId) -> bool {
    has_order(type_id) || matches!(type_id, TypeId::XID | TypeId::CID)
}

/// Likewise under a collation's rules: a text is its sort key, ended like a text, and where the rules are
/// deterministic the text itself.
fn encode_under(rules: &'static Rules, type_id: TypeId, value: &Datum, out: &mut Vec<u8>) {
    match value {
        Datum::Text(text) => {
            let text =
                if type_id == TypeId::BPCHAR { without_padding(text) } else { text.as_str() };
            rules.write_key(text, out);
            out.push(END);
            if rules.is_deterministic() {
                out.extend_from_slice(text.as_bytes());
                out.push(END);
            }
        }
        Datum::Array(array) => encode_array(array, Some(rules), out),
        value => encode_value(type_id, value, out),
    }
}

/// Appends the ascending code of a value.
fn encode_value(type_id: TypeId, value: &Datum, out: &mut Vec<u8>) {
    match value {
        Datum::Null => unreachable!("the marker stands for null"),
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&(*v as u16 ^ 1 << 15).to_be_bytes()),
        Datum::Int4(v) => out.extend_from_slice(&flip_i32(*v)),
        Datum::Int8(v) if is_unsigned(type_id) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int8(v) => out.extend_from_slice(&flip_i64(*v)),
        Datum::Float4(v) => out.extend_from_slice(&float4_bits(*v).to_be_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&float8_bits(*v).to_be_bytes()),
        Datum::Oid(v) => out.extend_from_slice(&v.0.to_be_bytes()),
        Datum::Tid(v) => {
            out.extend_from_slice(&v.block.to_be_bytes());
            out.extend_from_slice(&v.slot.to_be_bytes());
        }
        Datum::Date(v) => out.extend_from_slice(&flip_i32(v.0)),
        Datum::Time(v) => out.extend_from_slice(&flip_i64(v.0)),
        Datum::TimeTz(v) => {
            let zone_micros = i64::from(v.zone_west_s) * super::datetime::USECS_PER_SEC;
            out.extend_from_slice(&flip_i64(v.time.0 + zone_micros));
            out.extend_from_slice(&flip_i32(v.zone_west_s));
        }
        Datum::Timestamp(v) => out.extend_from_slice(&flip_i64(v.0)),
        Datum::TimestampTz(v) => out.extend_from_slice(&flip_i64(v.0)),
        Datum::Interval(v) => encode_interval(*v, out),
        Datum::Uuid(v) => out.extend_from_slice(v),
        Datum::Inet(v) => encode_inet(v, out),
        Datum::Numeric(v) => encode_numeric(v, out),
        Datum::Text(v) => {
            let text = if type_id == TypeId::BPCHAR { without_padding(v) } else { v.as_str() };
            out.extend_from_slice(text.as_bytes());
            out.push(END);
        }
        Datum::Bytea(v) => encode_bytea(v, out),
        Datum::Jsonb(v) => super::jsonb::write_code(v, out),
        Datum::Array(v) => encode_array(v, None, out),
        Datum::Record(v) => encode_record(v, out),
    }
}

fn flip_i32(value: i32) -> [u8; 4] {
    (value as u32 ^ 1 << 31).to_be_bytes()
}

fn flip_i64(value: i64) -> [u8; 8] {
    (value as u64 ^ 1 << 63).to_be_bytes()
}

/// Bits whose unsigned order is the order of floats: negative ones inverted, the rest above them.
fn float4_bits(value: f32) -> u32 {
    let canonical = if value.is_nan() { f32::NAN.abs() } else { value + 0.0 };
    let bits = canonical.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The same for doubles.
fn float8_bits(value: f64) -> u64 {
    let canonical = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = canonical.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The length in microseconds, in 80 bits.
fn encode_interval(value: Interval, out: &mut Vec<u8>) {
    let shifted = (value.span() + (1 << 79)) as u128;
    out.extend_from_slice(&shifted.to_be_bytes()[6..]);
}

/// A class byte; for finite numbers but zero the weight and the digits, each plus one, ended by
/// zero, all inverted for negative ones.
pub(super) fn encode_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let parts = value.parts();
    let class = match parts.sign {
        Sign::NegInfinity => numeric_class::NEG_INFINITY,
        Sign::Infinity => numeric_class::INFINITY,
        Sign::NaN => numeric_class::NAN,
        _ if parts.digits.is_empty() => numeric_class::ZERO,
        Sign::Negative => numeric_class::NEGATIVE,
        Sign::Positive => numeric_class::POSITIVE,
    };
    out.push(class);
    if !matches!(class, numeric_class::NEGATIVE | numeric_class::POSITIVE) {
        return;
    }
    let start = out.len();
    out.extend_from_slice(&(parts.weight as i16 as u16 ^ 1 << 15).to_be_bytes());
    for digit in parts.digits {
        out.extend_from_slice(&(digit + 1).to_be_bytes());
    }
    out.extend_from_slice(&[0, 0]);
    if class == numeric_class::NEGATIVE {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Version, network, bits, address; the last two of 4 or 16 bytes each.
fn encode_inet(value: &Inet, out: &mut Vec<u8>) {
    out.push(u8::from(value.is_v6()));
    out.extend_from_slice(value.network().address());
    out.push(value.bits());
    out.extend_from_slice(value.address());
}

fn encode_bytea(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == END {
            out.push(BYTEA_ZERO);
        }
    }
    out.extend_from_slice(&[END, BYTEA_END]);
}

/// Elements with their markers, the end, then the shape.
fn encode_array(array: &Array, rules: Option<&'static Rules>, out: &mut Vec<u8>) {
    let column = KeyColumn { rules, ..KeyColumn::ascending(array.element_type) };
    array.elements.iter().for_each(|element| column.encode(element, out));
    out.push(END);
    out.push(array.dims.len() as u8);
    array.dims.iter().for_each(|dim| out.extend_from_slice(&flip_i32(dim.len)));
    array.dims.iter().for_each(|dim| out.extend_from_slice(&flip_i32(dim.lower)));
}

fn encode_record(record: &Record, out: &mut Vec<u8>) {
    for (type_id, field) in &record.fields {
        KeyColumn::ascending(*type_id).encode(field, out);
    }
    out.push(END);
}
