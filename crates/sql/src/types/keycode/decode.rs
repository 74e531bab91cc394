//! Codes back to values, for the types whose codes keep all of the value.

use std::sync::Arc;

use super::{BYTEA_ZERO, END, KeyColumn, VALUE_MARKER};
use crate::types::array::{Array, Dimension};
use crate::types::compare::is_unsigned;
use crate::types::datetime::USECS_PER_SEC;
use crate::types::row::ValueKind;
use crate::types::{
    Date, Datum, Inet, Oid, Text, Tid, Time, TimeTz, Timestamp, TimestampTz, TypeId, type_info,
};

/// Takes codes off the front of a key, undoing the inversion of descending columns.
struct Reader<'a, 'b> {
    bytes: &'a mut &'b [u8],
    /// All ones for descending columns.
    mask: u8,
}

impl Reader<'_, '_> {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes[0] ^ self.mask;
        *self.bytes = &self.bytes[1..];
        byte
    }

    fn peek(&self) -> u8 {
        self.bytes[0] ^ self.mask
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    fn i32(&mut self) -> i32 {
        (self.u32() ^ 1 << 31) as i32
    }

    fn i64(&mut self) -> i64 {
        (self.u64() ^ 1 << 63) as i64
    }
}

/// One column's value; `bytes` moves past it.
pub(super) fn decode_column(column: &KeyColumn, bytes: &mut &[u8]) -> Datum {
    let marker = bytes[0];
    *bytes = &bytes[1..];
    if marker != VALUE_MARKER {
        return Datum::Null;
    }
    let mut reader = Reader { bytes, mask: if column.descending { 0xff } else { 0 } };
    decode_value(column.type_id, column.rules.is_some(), &mut reader)
}

/// `keyed`: texts have sort keys before them.
fn decode_value(type_id: TypeId, keyed: bool, reader: &mut Reader<'_, '_>) -> Datum {
    let kind = ValueKind::of_type(type_id).expect("an indexed type has values");
    match kind {
        ValueKind::Bool => Datum::Bool(reader.byte() != 0),
        ValueKind::Char => Datum::Char(reader.byte()),
        ValueKind::Int2 => Datum::Int2((u16::from_be_bytes(reader.array()) ^ 1 << 15) as i16),
        ValueKind::Int4 => Datum::Int4(reader.i32()),
        ValueKind::Int8 if is_unsigned(type_id) => Datum::Int8(reader.u64() as i64),
        ValueKind::Int8 => Datum::Int8(reader.i64()),
        ValueKind::Oid => Datum::Oid(Oid(reader.u32())),
        ValueKind::Tid => {
            let block = reader.u32();
            Datum::Tid(Tid { block, slot: u16::from_be_bytes(reader.array()) })
        }
        ValueKind::Date => Datum::Date(Date(reader.i32())),
        ValueKind::Time => Datum::Time(Time(reader.i64())),
        ValueKind::TimeTz => {
            let (moment, zone_west_s) = (reader.i64(), reader.i32());
            let time = Time(moment - i64::from(zone_west_s) * USECS_PER_SEC);
            Datum::TimeTz(TimeTz { time, zone_west_s })
        }
        ValueKind::Timestamp => Datum::Timestamp(Timestamp(reader.i64())),
        ValueKind::TimestampTz => Datum::TimestampTz(TimestampTz(reader.i64())),
        ValueKind::Uuid => Datum::Uuid(reader.array()),
        ValueKind::Inet => decode_inet(reader),
        ValueKind::Text => {
            if keyed {
                while reader.byte() != END {}
            }
            decode_text(reader)
        }
        ValueKind::Bytea => decode_bytea(reader),
        ValueKind::Array => decode_array(type_id, keyed, reader),
        ValueKind::Numeric
        | ValueKind::Float4
        | ValueKind::Float8
        | ValueKind::Interval
        | ValueKind::Record
        | ValueKind::Jsonb => unreachable!("{type_id:?} is not lossless"),
    }
}

fn decode_text(reader: &mut Reader<'_, '_>) -> Datum {
    let mut text = Vec::new();
    loop {
        match reader.byte() {
            END => break,
            byte => text.push(byte),
        }
    }
    Datum::Text(Text::new(std::str::from_utf8(&text).expect("a key holds the UTF-8 it was given")))
}

/// The network comes before the address, which has its bits, too.
fn decode_inet(reader: &mut Reader<'_, '_>) -> Datum {
    Datum::Inet(if reader.byte() == 0 {
        let [_, _, _, _, bits] = reader.array();
        Inet::new(&reader.array::<4>(), bits)
    } else {
        let [.., bits] = reader.array::<17>();
        Inet::new(&reader.array::<16>(), bits)
    })
}

fn decode_bytea(reader: &mut Reader<'_, '_>) -> Datum {
    let mut bytes = Vec::new();
    loop {
        let byte = reader.byte();
        if byte == END && reader.byte() != BYTEA_ZERO {
            return Datum::bytea(&bytes);
        }
        bytes.push(byte);
    }
}

fn decode_array(type_id: TypeId, keyed: bool, reader: &mut Reader<'_, '_>) -> Datum {
    let element_type = type_info(type_id).expect("only built-in arrays are lossless").element;
    let mut elements = Vec::new();
    while reader.peek() != END {
        elements.push(match reader.byte() {
            VALUE_MARKER => decode_value(element_type, keyed, reader),
            _ => Datum::Null,
        });
    }
    reader.byte();
    let ndim = reader.byte();
    let lens: Vec<i32> = (0..ndim).map(|_| reader.i32()).collect();
    let dims = lens.into_iter().map(|len| Dimension { len, lower: reader.i32() }).collect();
    Datum::Array(Arc::new(Array { element_type, dims, elements }))
}
