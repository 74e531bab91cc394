//! Binary in and out (the protocol's format 1), for every type. All big-endian.

use std::sync::Arc;

use super::array::{Array, Dimension, MAX_DIMENSIONS, too_many_dimensions};
use super::chars::{Excess, to_bpchar, to_name, to_varchar};
use super::context::{IoContext, Names};
use super::datetime::{
    Date, Interval, Time, TimeTz, Timestamp, TimestampTz, USECS_PER_DAY, out_of_range,
};
use super::numeric::{MAX_DISPLAY_SCALE, NBASE, Numeric, Sign, Var};
use super::row::ValueKind;
use super::scalar::{check_text, room};
use super::snapshot::parse_snapshot;
use super::{Datum, Inet, Oid, Text, Tid, TypeId, TypeMod, enums, json, jsonb};
use crate::error::{Result, SqlError, bail, sql_error};
use storage::txn::SnapshotXids;

/// Takes fields off a message; `08P01` when it ends too early.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.0.split_at_checked(n) {
            Some((head, tail)) => {
                self.0 = tail;
                Ok(head)
            }
            None => Err(sql_error!(PROTOCOL_VIOLATION, "insufficient data left in message")),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("N bytes"))
    }

    fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Reads a value as the type's receive function does; all of `bytes` must be used.
pub fn receive(
    type_id: TypeId,
    typmod: TypeMod,
    bytes: &[u8],
    cx: &IoContext<'_>,
) -> Result<Datum> {
    let mut reader = Reader(bytes);
    let value = receive_value(type_id, typmod, &mut reader, cx)?;
    if !reader.0.is_empty() {
        bail!(INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
    }
    Ok(value)
}

fn receive_value(
    type_id: TypeId,
    typmod: TypeMod,
    reader: &mut Reader<'_>,
    cx: &IoContext<'_>,
) -> Result<Datum> {
    let kind = ValueKind::of_type(type_id).ok_or_else(|| no_function("input", type_id))?;
    Ok(match kind {
        ValueKind::Bool => Datum::Bool(reader.array::<1>()?[0] != 0),
        ValueKind::Char => Datum::Char(reader.array::<1>()?[0]),
        ValueKind::Int2 => Datum::Int2(reader.i16()?),
        ValueKind::Int4 => Datum::Int4(reader.i32()?),
        ValueKind::Int8 => Datum::Int8(reader.i64()?),
        ValueKind::Float4 => Datum::Float4(f32::from_bits(reader.u32()?)),
        ValueKind::Float8 => Datum::Float8(f64::from_bits(reader.i64()? as u64)),
        ValueKind::Oid if type_id.is_enum() => {
            cx.names.input_user_type(type_id, check_text(reader.rest())?, typmod)?
        }
        ValueKind::Oid => Datum::Oid(Oid(reader.u32()?)),
        ValueKind::Tid => Datum::Tid(Tid { block: reader.u32()?, slot: reader.u16()? }),
        ValueKind::Date => receive_date(reader.i32()?)?,
        ValueKind::Time => Datum::Time(receive_time(reader.i64()?)?.apply_typmod(typmod)),
        ValueKind::TimeTz => {
            let time = receive_time(reader.i64()?)?;
            let zone_west_s = reader.i32()?;
            if zone_west_s.unsigned_abs() >= 16 * 3600 {
                bail!(INVALID_TIME_ZONE_DISPLACEMENT_VALUE, "time zone displacement out of range");
            }
            Datum::TimeTz(TimeTz { time, zone_west_s }.apply_typmod(typmod))
        }
        ValueKind::Timestamp => {
            Datum::Timestamp(receive_timestamp(reader.i64()?)?.apply_typmod(typmod))
        }
        ValueKind::TimestampTz => {
            let value = receive_timestamp(reader.i64()?)?;
            Datum::TimestampTz(TimestampTz(value.0).apply_typmod(typmod))
        }
        ValueKind::Interval => {
            let (micros, days, months) = (reader.i64()?, reader.i32()?, reader.i32()?);
            Datum::Interval(Interval { months, days, micros }.apply_typmod(typmod))
        }
        ValueKind::Uuid => Datum::Uuid(reader.array()?),
        ValueKind::Inet => {
            let head = reader.array()?;
            Datum::Inet(Inet::receive(head, type_id == TypeId::CIDR, |len| reader.take(len))?)
        }
        ValueKind::Numeric => Datum::Numeric(receive_numeric(reader)?.apply_typmod(typmod)?),
        ValueKind::Bytea => Datum::bytea(reader.rest()),
        ValueKind::Text => receive_text(type_id, typmod, reader)?,
        ValueKind::Jsonb => receive_jsonb(reader)?,
        ValueKind::Array => Datum::Array(Arc::new(receive_array(type_id, typmod, reader, cx)?)),
        ValueKind::Record => {
            bail!(FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented")
        }
    })
}

#[cold]
fn no_function(direction: &str, type_id: TypeId) -> SqlError {
    sql_error!(
        UNDEFINED_FUNCTION,
        "no binary {direction} function available for type {}",
        super::type_info(type_id).map_or("???", |info| info.name)
    )
}

fn receive_text(type_id: TypeId, typmod: TypeMod, reader: &mut Reader<'_>) -> Result<Datum> {
    if is_snapshot(type_id) {
        return receive_snapshot(reader);
    }
    let text = Text::new(check_text(reader.rest())?);
    Ok(Datum::Text(match type_id {
        TypeId::VARCHAR => to_varchar(text, typmod, Excess::Refuse)?,
        TypeId::BPCHAR => to_bpchar(text, typmod, Excess::Refuse)?,
        TypeId::NAME => to_name(text),
        TypeId::JSON => {
            json::check(&text)?;
            text
        }
        TypeId::ACLITEM => return Err(no_function("input", type_id)),
        _ => text,
    }))
}

/// What comes before the text.
const JSONB_VERSION: u8 = 1;

fn receive_jsonb(reader: &mut Reader<'_>) -> Result<Datum> {
    let version = reader.array::<1>()?[0];
    if version != JSONB_VERSION {
        bail!(INTERNAL_ERROR, "unsupported jsonb version number {version}");
    }
    Ok(Datum::Jsonb(jsonb::parse(check_text(reader.rest())?)?.to_stored()?))
}

fn is_snapshot(type_id: TypeId) -> bool {
    matches!(type_id, TypeId::PG_SNAPSHOT | TypeId::TXID_SNAPSHOT)
}

/// How many run, the bounds, and those that do.
fn receive_snapshot(reader: &mut Reader<'_>) -> Result<Datum> {
    let bad = || sql_error!(INVALID_BINARY_REPRESENTATION, "invalid external pg_snapshot data");
    let count = usize::try_from(reader.i32()?).map_err(|_| bad())?;
    let (xmin, xmax) = (reader.i64()?, reader.i64()?);
    if count > reader.0.len() / 8 {
        return Err(bad());
    }
    let running = (0..count).map(|_| Ok(reader.i64()?.to_string())).collect::<Result<Vec<_>>>()?;
    let text = format!("{xmin}:{xmax}:{}", running.join(","));
    let snapshot = parse_snapshot(&text).map_err(|_| bad())?;
    Ok(Datum::text(snapshot.to_string()))
}

fn send_snapshot(text: &str, out: &mut Vec<u8>) -> Result<()> {
    let SnapshotXids { xmin, xmax, running } = parse_snapshot(text)?;
    out.extend_from_slice(&(running.len() as i32).to_be_bytes());
    for xid in [xmin, xmax].iter().chain(&running) {
        out.extend_from_slice(&xid.0.to_be_bytes());
    }
    Ok(())
}

fn receive_date(days: i32) -> Result<Datum> {
    let date = Date(days);
    if date.is_finite() && Date::from_days(i64::from(days)).is_none() {
        return Err(out_of_range("date"));
    }
    Ok(Datum::Date(date))
}

fn receive_time(micros: i64) -> Result<Time> {
    if (0..=USECS_PER_DAY).contains(&micros) { Ok(Time(micros)) } else { Err(out_of_range("time")) }
}

fn receive_timestamp(micros: i64) -> Result<Timestamp> {
    let value = Timestamp(micros);
    if value.is_finite() && Timestamp::checked(micros).is_none() {
        return Err(out_of_range("timestamp"));
    }
    Ok(value)
}

const NUMERIC_POSITIVE: u16 = 0x0000;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xc000;
const NUMERIC_INFINITY: u16 = 0xd000;
const NUMERIC_NEG_INFINITY: u16 = 0xf000;

/// Digit count, weight, sign, scale, then base-10000 digits.
fn receive_numeric(reader: &mut Reader<'_>) -> Result<Numeric> {
    let invalid = |what: &str| {
        sql_error!(INVALID_BINARY_REPRESENTATION, "invalid {what} in external \"numeric\" value")
    };
    let count = reader.u16()?;
    let weight = reader.i16()?;
    let sign = reader.u16()?;
    let dscale = reader.u16()?;
    let negative = match sign {
        NUMERIC_POSITIVE => false,
        NUMERIC_NEGATIVE => true,
        NUMERIC_NAN => return Ok(Numeric::NAN),
        NUMERIC_INFINITY => return Ok(Numeric::INFINITY),
        NUMERIC_NEG_INFINITY => return Ok(Numeric::NEG_INFINITY),
        _ => return Err(invalid("sign")),
    };
    if i32::from(dscale) > MAX_DISPLAY_SCALE {
        return Err(invalid("scale"));
    }
    let mut digits = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let digit = reader.u16()?;
        if i32::from(digit) >= NBASE {
            return Err(invalid("digit"));
        }
        digits.push(digit);
    }
    let mut var = Var { negative, weight: i32::from(weight), dscale: 0, digits };
    // Digits beyond the scale are cut, as a client may send more than it declares.
    var.trunc(i32::from(dscale));
    var.into_numeric()
}

fn receive_array(
    type_id: TypeId,
    typmod: TypeMod,
    reader: &mut Reader<'_>,
    cx: &IoContext<'_>,
) -> Result<Array> {
    let ndim = reader.i32()?;
    if ndim < 0 {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid number of dimensions: {ndim}");
    }
    if ndim as usize > MAX_DIMENSIONS {
        return Err(too_many_dimensions(ndim as usize));
    }
    if !matches!(reader.i32()?, 0 | 1) {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid array flags");
    }
    let element_type = TypeId(reader.u32()?);
    let wanted = super::type_info(type_id).map_or(element_type, |info| info.element);
    if element_type != wanted && wanted.is_valid() {
        bail!(
            DATATYPE_MISMATCH,
            "binary data has array element type {} ({}) instead of expected {} ({})",
            element_type.0,
            super::format_type(element_type, TypeMod::NONE),
            wanted.0,
            super::format_type(wanted, TypeMod::NONE)
        );
    }
    let mut dims = Vec::with_capacity(ndim as usize);
    let mut count = 1usize;
    for _ in 0..ndim {
        let dim = Dimension { len: reader.i32()?, lower: reader.i32()? };
        let overflows = dim.len < 0 || dim.lower.checked_add(dim.len).is_none();
        if overflows {
            bail!(PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed (134217727)");
        }
        // Every element takes four bytes of the message at least.
        count = count.saturating_mul(dim.len as usize);
        dims.push(dim);
    }
    if dims.is_empty() || count == 0 {
        return Ok(Array::empty(element_type));
    }
    if count > reader.0.len() / 4 {
        return Err(sql_error!(PROTOCOL_VIOLATION, "insufficient data left in message"));
    }
    let mut elements = Vec::with_capacity(count);
    for i in 0..count {
        elements.push(receive_part(element_type, typmod, reader, cx, || {
            format!("improper binary format in array element {}", i + 1)
        })?);
    }
    Ok(Array { element_type, dims, elements })
}

/// A length and that many bytes of a value, or -1 for null.
fn receive_part(
    type_id: TypeId,
    typmod: TypeMod,
    reader: &mut Reader<'_>,
    cx: &IoContext<'_>,
    describe: impl Fn() -> String,
) -> Result<Datum> {
    let len = reader.i32()?;
    if len == -1 {
        return Ok(Datum::Null);
    }
    let len = usize::try_from(len)
        .map_err(|_| sql_error!(PROTOCOL_VIOLATION, "insufficient data left in message"))?;
    let mut part = Reader(reader.take(len)?);
    let value = receive_value(type_id, typmod, &mut part, cx)?;
    if !part.0.is_empty() {
        return Err(SqlError::new(
            crate::error::SqlState::INVALID_BINARY_REPRESENTATION,
            describe(),
        ));
    }
    Ok(value)
}

/// Appends a value that is not null as the type's send function does.
pub fn send(type_id: TypeId, value: &Datum, names: &dyn Names, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Datum::Null => unreachable!("null has no binary form"),
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int4(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Float4(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Oid(v) if type_id.is_enum() => enums::write_label(type_id, *v, names, out)?,
        Datum::Oid(v) => out.extend_from_slice(&v.0.to_be_bytes()),
        Datum::Tid(v) => {
            out.extend_from_slice(&v.block.to_be_bytes());
            out.extend_from_slice(&v.slot.to_be_bytes());
        }
        Datum::Date(v) => out.extend_from_slice(&v.0.to_be_bytes()),
        Datum::Time(v) => out.extend_from_slice(&v.0.to_be_bytes()),
        Datum::TimeTz(v) => {
            out.extend_from_slice(&v.time.0.to_be_bytes());
            out.extend_from_slice(&v.zone_west_s.to_be_bytes());
        }
        Datum::Timestamp(v) => out.extend_from_slice(&v.0.to_be_bytes()),
        Datum::TimestampTz(v) => out.extend_from_slice(&v.0.to_be_bytes()),
        Datum::Interval(v) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            out.extend_from_slice(&v.days.to_be_bytes());
            out.extend_from_slice(&v.months.to_be_bytes());
        }
        Datum::Uuid(v) => out.extend_from_slice(v),
        Datum::Inet(v) => v.send(type_id == TypeId::CIDR, out),
        Datum::Numeric(v) => send_numeric(v, out),
        Datum::Text(_) if type_id == TypeId::ACLITEM => {
            return Err(no_function("output", type_id));
        }
        Datum::Text(v) if is_snapshot(type_id) => send_snapshot(v, out)?,
        Datum::Text(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytea(v) => out.extend_from_slice(v),
        Datum::Jsonb(v) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(v.as_bytes());
        }
        Datum::Array(v) => send_array(v, names, out)?,
        Datum::Record(v) => {
            let start = out.len();
            out.extend_from_slice(&(v.fields.len() as i32).to_be_bytes());
            for (field_type, field) in &v.fields {
                out.extend_from_slice(&field_type.0.to_be_bytes());
                send_part(*field_type, field, names, out)?;
                room(out.len() - start, 0)?;
            }
        }
    }
    Ok(())
}

fn send_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let parts = value.parts();
    let sign = match parts.sign {
        Sign::Positive => NUMERIC_POSITIVE,
        Sign::Negative => NUMERIC_NEGATIVE,
        Sign::NaN => NUMERIC_NAN,
        Sign::Infinity => NUMERIC_INFINITY,
        Sign::NegInfinity => NUMERIC_NEG_INFINITY,
    };
    out.extend_from_slice(&(parts.digits.len() as u16).to_be_bytes());
    out.extend_from_slice(&(parts.weight as i16).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    // PostgreSQL's infinities have this in place of a scale.
    let dscale = if value.is_finite() || value.is_nan() { parts.dscale as u16 } else { 0x20 };
    out.extend_from_slice(&dscale.to_be_bytes());
    for digit in parts.digits {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

fn send_array(array: &Array, names: &dyn Names, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&(array.dims.len() as i32).to_be_bytes());
    let has_nulls = array.elements.iter().any(Datum::is_null);
    out.extend_from_slice(&i32::from(has_nulls).to_be_bytes());
    out.extend_from_slice(&array.element_type.0.to_be_bytes());
    for dim in &array.dims {
        out.extend_from_slice(&dim.len.to_be_bytes());
        out.extend_from_slice(&dim.lower.to_be_bytes());
    }
    array.elements.iter().try_for_each(|element| {
        send_part(array.element_type, element, names, out)?;
        room(out.len() - start, 0)
    })
}

/// A value behind its length, or -1 for null.
fn send_part(type_id: TypeId, value: &Datum, names: &dyn Names, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return Ok(());
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    send(type_id, value, names, out)?;
    let len = out.len() - at - 4;
    room(len, 0)?;
    out[at..at + 4].copy_from_slice(&(len as i32).to_be_bytes());
    Ok(())
}
