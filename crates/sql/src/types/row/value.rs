//! One value to row bytes and back.
//!
//! Fixed-width values are little-endian and unaligned. Arrays and records carry the kind of their
//! elements, so that reading them needs no catalog.

use std::sync::Arc;

use super::varlen::{read_varlen, write_varlen};
use crate::types::array::{Array, Dimension};
use crate::types::datetime::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use crate::types::numeric::{Numeric, Sign};
use crate::types::{Datum, Inet, Oid, Record, Text, Tid, TypeId};

/// The physical form of a type: which `Datum` variant its values are and how rows hold them.
///
/// The numbers are stored in arrays and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValueKind {
    Bool = 1,
    Char = 2,
    Int2 = 3,
    Int4 = 4,
    Int8 = 5,
    Float4 = 6,
    Float8 = 7,
    Oid = 8,
    Tid = 9,
    Date = 10,
    Time = 11,
    TimeTz = 12,
    Timestamp = 13,
    TimestampTz = 14,
    Interval = 15,
    Uuid = 16,
    Numeric = 17,
    Text = 18,
    Bytea = 19,
    Array = 20,
    Record = 21,
    Jsonb = 22,
    Inet = 23,
}

use ValueKind as K;

/// Whether two values of a type are the same in a row, byte by byte.
pub fn is_identical(a: &Datum, b: &Datum) -> bool {
    let image = |value: &Datum| {
        let kind = ValueKind::of_datum(value)?;
        let mut bytes = Vec::new();
        kind.encode(value, &mut bytes);
        Some(bytes)
    };
    image(a) == image(b)
}

impl ValueKind {
    const ALL: [ValueKind; 23] = [
        K::Bool,
        K::Char,
        K::Int2,
        K::Int4,
        K::Int8,
        K::Float4,
        K::Float8,
        K::Oid,
        K::Tid,
        K::Date,
        K::Time,
        K::TimeTz,
        K::Timestamp,
        K::TimestampTz,
        K::Interval,
        K::Uuid,
        K::Numeric,
        K::Text,
        K::Bytea,
        K::Array,
        K::Record,
        K::Jsonb,
        K::Inet,
    ];

    /// The form of a type; `None` for pseudo-types without values and for the row types of tables.
    pub fn of_type(id: TypeId) -> Option<ValueKind> {
        Some(match id {
            TypeId::BOOL => K::Bool,
            TypeId::CHAR => K::Char,
            TypeId::INT2 => K::Int2,
            TypeId::INT4 => K::Int4,
            TypeId::INT8 | TypeId::XID8 | TypeId::PG_LSN => K::Int8,
            TypeId::FLOAT4 => K::Float4,
            TypeId::FLOAT8 => K::Float8,
            TypeId::OID
            | TypeId::REGPROC
            | TypeId::REGPROCEDURE
            | TypeId::REGOPER
            | TypeId::REGOPERATOR
            | TypeId::REGCLASS
            | TypeId::REGTYPE
            | TypeId::REGROLE
            | TypeId::REGNAMESPACE
            | TypeId::REGCOLLATION
            | TypeId::XID
            | TypeId::CID => K::Oid,
            TypeId::TID => K::Tid,
            TypeId::DATE => K::Date,
            TypeId::TIME => K::Time,
            TypeId::TIMETZ => K::TimeTz,
            TypeId::TIMESTAMP => K::Timestamp,
            TypeId::TIMESTAMPTZ => K::TimestampTz,
            TypeId::INTERVAL => K::Interval,
            TypeId::UUID => K::Uuid,
            TypeId::INET | TypeId::CIDR => K::Inet,
            TypeId::NUMERIC => K::Numeric,
            TypeId::TEXT
            | TypeId::VARCHAR
            | TypeId::BPCHAR
            | TypeId::NAME
            | TypeId::JSON
            | TypeId::UNKNOWN
            | TypeId::CSTRING
            | TypeId::REFCURSOR
            | TypeId::PG_NODE_TREE
            | TypeId::PG_SNAPSHOT
            | TypeId::TXID_SNAPSHOT
            | TypeId::ACLITEM
            | TypeId::VOID => K::Text,
            TypeId::BYTEA => K::Bytea,
            TypeId::JSONB => K::Jsonb,
            TypeId::INT2VECTOR | TypeId::OIDVECTOR => K::Array,
            TypeId::RECORD => K::Record,
            _ if id.is_enum() => K::Oid,
            _ if super::super::type_info(id)?.is_array() => K::Array,
            _ => return None,
        })
    }

    /// The form of a value; `None` for null, which has none.
    pub fn of_datum(value: &Datum) -> Option<ValueKind> {
        Some(match value {
            Datum::Null => return None,
            Datum::Bool(_) => K::Bool,
            Datum::Char(_) => K::Char,
            Datum::Int2(_) => K::Int2,
            Datum::Int4(_) => K::Int4,
            Datum::Int8(_) => K::Int8,
            Datum::Float4(_) => K::Float4,
            Datum::Float8(_) => K::Float8,
            Datum::Oid(_) => K::Oid,
            Datum::Tid(_) => K::Tid,
            Datum::Date(_) => K::Date,
            Datum::Time(_) => K::Time,
            Datum::TimeTz(_) => K::TimeTz,
            Datum::Timestamp(_) => K::Timestamp,
            Datum::TimestampTz(_) => K::TimestampTz,
            Datum::Interval(_) => K::Interval,
            Datum::Uuid(_) => K::Uuid,
            Datum::Inet(_) => K::Inet,
            Datum::Numeric(_) => K::Numeric,
            Datum::Text(_) => K::Text,
            Datum::Bytea(_) => K::Bytea,
            Datum::Jsonb(_) => K::Jsonb,
            Datum::Array(_) => K::Array,
            Datum::Record(_) => K::Record,
        })
    }

    pub(super) fn from_byte(byte: u8) -> Option<ValueKind> {
        ValueKind::ALL.get(usize::from(byte).wrapping_sub(1)).copied()
    }

    /// Bytes in a row, or `None` for variable width.
    pub fn fixed_width(self) -> Option<u32> {
        Some(match self {
            K::Bool | K::Char => 1,
            K::Int2 => 2,
            K::Int4 | K::Float4 | K::Oid | K::Date => 4,
            K::Tid => 6,
            K::Int8 | K::Float8 | K::Time | K::Timestamp | K::TimestampTz => 8,
            K::TimeTz => 12,
            K::Interval | K::Uuid => 16,
            K::Inet => Inet::BYTES as u32,
            K::Numeric | K::Text | K::Bytea | K::Array | K::Record | K::Jsonb => {
                return None;
            }
        })
    }

    /// Appends a value of this kind.
    pub(super) fn encode(self, value: &Datum, out: &mut Vec<u8>) {
        debug_assert_eq!(Some(self), ValueKind::of_datum(value), "the binder coerced {value:?}");
        match value {
            Datum::Null => unreachable!("nulls are in the bitmap"),
            Datum::Bool(v) => out.push(u8::from(*v)),
            Datum::Char(v) => out.push(*v),
            Datum::Int2(v) => out.extend_from_slice(&v.to_le_bytes()),
            Datum::Int4(v) => out.extend_from_slice(&v.to_le_bytes()),
            Datum::Int8(v) => out.extend_from_slice(&v.to_le_bytes()),
            Datum::Float4(v) => out.extend_from_slice(&v.to_le_bytes()),
            Datum::Float8(v) => out.extend_from_slice(&v.to_le_bytes()),
            Datum::Oid(v) => out.extend_from_slice(&v.0.to_le_bytes()),
            Datum::Tid(v) => {
                out.extend_from_slice(&v.block.to_le_bytes());
                out.extend_from_slice(&v.slot.to_le_bytes());
            }
            Datum::Date(v) => out.extend_from_slice(&v.0.to_le_bytes()),
            Datum::Time(v) => out.extend_from_slice(&v.0.to_le_bytes()),
            Datum::TimeTz(v) => {
                out.extend_from_slice(&v.time.0.to_le_bytes());
                out.extend_from_slice(&v.zone_west_s.to_le_bytes());
            }
            Datum::Timestamp(v) => out.extend_from_slice(&v.0.to_le_bytes()),
            Datum::TimestampTz(v) => out.extend_from_slice(&v.0.to_le_bytes()),
            Datum::Interval(v) => {
                out.extend_from_slice(&v.micros.to_le_bytes());
                out.extend_from_slice(&v.days.to_le_bytes());
                out.extend_from_slice(&v.months.to_le_bytes());
            }
            Datum::Uuid(v) => out.extend_from_slice(v),
            Datum::Inet(v) => out.extend_from_slice(&v.to_bytes()),
            Datum::Text(v) => write_varlen(v.as_bytes(), out),
            Datum::Bytea(v) => write_varlen(v, out),
            Datum::Jsonb(v) => write_varlen(v.as_bytes(), out),
            Datum::Numeric(v) => write_varlen(&numeric_bytes(v), out),
            Datum::Array(v) => write_varlen(&array_bytes(v), out),
            Datum::Record(v) => write_varlen(&record_bytes(v), out),
        }
    }

    /// The value that starts at `bytes[0]` and the bytes it occupies.
    #[inline]
    pub(super) fn decode(self, bytes: &[u8]) -> (Datum, usize) {
        let value = match self {
            K::Bool => Datum::Bool(bytes[0] != 0),
            K::Char => Datum::Char(bytes[0]),
            K::Int2 => Datum::Int2(i16::from_le_bytes(fixed(bytes, 0))),
            K::Int4 => Datum::Int4(i32::from_le_bytes(fixed(bytes, 0))),
            K::Int8 => Datum::Int8(i64::from_le_bytes(fixed(bytes, 0))),
            K::Float4 => Datum::Float4(f32::from_le_bytes(fixed(bytes, 0))),
            K::Float8 => Datum::Float8(f64::from_le_bytes(fixed(bytes, 0))),
            K::Oid => Datum::Oid(Oid(u32::from_le_bytes(fixed(bytes, 0)))),
            K::Tid => Datum::Tid(Tid {
                block: u32::from_le_bytes(fixed(bytes, 0)),
                slot: u16::from_le_bytes(fixed(bytes, 4)),
            }),
            K::Date => Datum::Date(Date(i32::from_le_bytes(fixed(bytes, 0)))),
            K::Time => Datum::Time(Time(i64::from_le_bytes(fixed(bytes, 0)))),
            K::TimeTz => Datum::TimeTz(TimeTz {
                time: Time(i64::from_le_bytes(fixed(bytes, 0))),
                zone_west_s: i32::from_le_bytes(fixed(bytes, 8)),
            }),
            K::Timestamp => Datum::Timestamp(Timestamp(i64::from_le_bytes(fixed(bytes, 0)))),
            K::TimestampTz => Datum::TimestampTz(TimestampTz(i64::from_le_bytes(fixed(bytes, 0)))),
            K::Interval => Datum::Interval(Interval {
                micros: i64::from_le_bytes(fixed(bytes, 0)),
                days: i32::from_le_bytes(fixed(bytes, 8)),
                months: i32::from_le_bytes(fixed(bytes, 12)),
            }),
            K::Uuid => Datum::Uuid(fixed(bytes, 0)),
            K::Inet => Datum::Inet(Inet::from_bytes(fixed(bytes, 0))),
            K::Text | K::Bytea | K::Numeric | K::Array | K::Record | K::Jsonb => {
                let (stored, used) = read_varlen(bytes);
                return (stored.with_bytes(|raw| self.decode_varlen(raw)), used);
            }
        };
        (value, self.fixed_width().expect("the variable ones returned above") as usize)
    }

    fn decode_varlen(self, raw: &[u8]) -> Datum {
        match self {
            K::Text => Datum::Text(Text::new(stored_str(raw))),
            K::Bytea => Datum::bytea(raw),
            K::Jsonb => Datum::Jsonb(stored_str(raw).into()),
            K::Numeric => Datum::Numeric(read_numeric(raw)),
            K::Array => Datum::Array(Arc::new(read_array(raw))),
            K::Record => Datum::Record(Arc::new(read_record(raw))),
            _ => unreachable!("fixed-width kinds are decoded in place"),
        }
    }
}

/// The bytes of a stored text.
#[inline]
pub(super) fn stored_str(raw: &[u8]) -> &str {
    std::str::from_utf8(raw).expect("text is stored as UTF-8 on checksummed pages")
}

#[inline]
fn fixed<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("N bytes")
}

/// `u16` scale with the sign in its upper two bits (3 for the special values, which then sit in
/// the weight), `i16` weight, digits as `u16`; all little-endian.
fn numeric_bytes(value: &Numeric) -> Vec<u8> {
    let parts = value.parts();
    let (tag, weight) = match parts.sign {
        Sign::Positive => (0u16, parts.weight as i16),
        Sign::Negative => (1, parts.weight as i16),
        Sign::NaN => (3, 0),
        Sign::Infinity => (3, 1),
        Sign::NegInfinity => (3, -1),
    };
    let mut out = Vec::with_capacity(4 + 2 * parts.digits.len());
    out.extend_from_slice(&(tag << 14 | parts.dscale as u16).to_le_bytes());
    out.extend_from_slice(&weight.to_le_bytes());
    for digit in parts.digits {
        out.extend_from_slice(&digit.to_le_bytes());
    }
    out
}

fn read_numeric(raw: &[u8]) -> Numeric {
    let head = u16::from_le_bytes(fixed(raw, 0));
    let weight = i16::from_le_bytes(fixed(raw, 2));
    let sign = match (head >> 14, weight) {
        (0, _) => Sign::Positive,
        (1, _) => Sign::Negative,
        (_, 0) => return Numeric::NAN,
        (_, 1) => return Numeric::INFINITY,
        _ => return Numeric::NEG_INFINITY,
    };
    let mut stack = [0u16; 32];
    let heap: Vec<u16>;
    let count = (raw.len() - 4) / 2;
    let read = |i: usize| u16::from_le_bytes(fixed(raw, 4 + 2 * i));
    let digits = if count <= stack.len() {
        stack.iter_mut().take(count).enumerate().for_each(|(i, digit)| *digit = read(i));
        &stack[..count]
    } else {
        heap = (0..count).map(read).collect();
        &heap
    };
    Numeric::from_parts(sign, i32::from(weight), i32::from(head & 0x3fff), digits)
        .expect("a stored numeric fits the format")
}

/// Element type, element kind (0 when all are null), number of dimensions, dimensions, then per
/// element a null byte and its value.
fn array_bytes(array: &Array) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + 8 * array.dims.len() + 5 * array.elements.len());
    out.extend_from_slice(&array.element_type.0.to_le_bytes());
    out.push(array.elements.iter().find_map(ValueKind::of_datum).map_or(0, |kind| kind as u8));
    out.push(array.dims.len() as u8);
    for dim in &array.dims {
        out.extend_from_slice(&dim.len.to_le_bytes());
        out.extend_from_slice(&dim.lower.to_le_bytes());
    }
    for element in &array.elements {
        out.push(u8::from(!element.is_null()));
        if let Some(kind) = ValueKind::of_datum(element) {
            kind.encode(element, &mut out);
        }
    }
    out
}

fn read_array(raw: &[u8]) -> Array {
    let element_type = TypeId(u32::from_le_bytes(fixed(raw, 0)));
    let kind = ValueKind::from_byte(raw[4]);
    let ndims = usize::from(raw[5]);
    let dims: Vec<Dimension> = (0..ndims)
        .map(|d| Dimension {
            len: i32::from_le_bytes(fixed(raw, 6 + 8 * d)),
            lower: i32::from_le_bytes(fixed(raw, 10 + 8 * d)),
        })
        .collect();
    let count = if ndims == 0 { 0 } else { dims.iter().map(|d| d.len as usize).product() };
    let mut at = 6 + 8 * ndims;
    let elements = (0..count)
        .map(|_| {
            let present = raw[at] != 0;
            at += 1;
            match kind {
                Some(kind) if present => {
                    let (value, used) = kind.decode(&raw[at..]);
                    at += used;
                    value
                }
                _ => Datum::Null,
            }
        })
        .collect();
    Array { element_type, dims, elements }
}

/// Row type, field count, then per field its type, its kind (0 for null) and its value.
fn record_bytes(record: &Record) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + 10 * record.fields.len());
    out.extend_from_slice(&record.type_id.0.to_le_bytes());
    out.extend_from_slice(&(record.fields.len() as u16).to_le_bytes());
    for (type_id, value) in &record.fields {
        out.extend_from_slice(&type_id.0.to_le_bytes());
        let kind = ValueKind::of_datum(value);
        out.push(kind.map_or(0, |kind| kind as u8));
        if let Some(kind) = kind {
            kind.encode(value, &mut out);
        }
    }
    out
}

fn read_record(raw: &[u8]) -> Record {
    let type_id = TypeId(u32::from_le_bytes(fixed(raw, 0)));
    let count = u16::from_le_bytes(fixed(raw, 4));
    let mut at = 6;
    let fields = (0..count)
        .map(|_| {
            let field_type = TypeId(u32::from_le_bytes(fixed(raw, at)));
            let kind = ValueKind::from_byte(raw[at + 4]);
            at += 5;
            let value = kind.map_or(Datum::Null, |kind| {
                let (value, used) = kind.decode(&raw[at..]);
                at += used;
                value
            });
            (field_type, value)
        })
        .collect();
    Record::new(type_id, fields)
}
