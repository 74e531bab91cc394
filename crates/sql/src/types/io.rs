//! Text in and out, for every type.

use std::sync::Arc;

use super::acl::AclItem;
use super::array::{parse_array, write_array, write_vector};
use super::chars::{Excess, to_bpchar, to_name, to_varchar};
use super::context::IoContext;
use super::datetime::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz, encode};
use super::numeric::{Numeric, ParseError, overflow};
use super::scalar::{self, invalid_syntax};
use super::{Datum, Inet, Oid, TypeId, TypeMod, enums, float, json, jsonb, record};
use crate::error::{Result, SqlError, bail};

/// Reads a value as the type's input function does.
///
/// `typmod` restricts the value as an assignment would.
pub fn input(type_id: TypeId, typmod: TypeMod, text: &str, cx: &IoContext<'_>) -> Result<Datum> {
    Ok(match type_id {
        TypeId::BOOL => {
            Datum::Bool(scalar::parse_bool(text).ok_or_else(|| invalid_syntax("boolean", text))?)
        }
        TypeId::INT2 => {
            Datum::Int2(int(text, "smallint", i16::MIN.into(), i16::MAX.into())? as i16)
        }
        TypeId::INT4 => Datum::Int4(int(text, "integer", i32::MIN.into(), i32::MAX.into())? as i32),
        TypeId::INT8 => Datum::Int8(int(text, "bigint", i64::MIN, i64::MAX)?),
        TypeId::FLOAT4 => Datum::Float4(float::parse_f32(text)?),
        TypeId::FLOAT8 => Datum::Float8(float::parse_f64(text)?),
        TypeId::NUMERIC => Datum::Numeric(numeric(text)?.apply_typmod(typmod)?),
        TypeId::VARCHAR => Datum::Text(to_varchar(text.into(), typmod, Excess::Refuse)?),
        TypeId::BPCHAR => Datum::Text(to_bpchar(text.into(), typmod, Excess::Refuse)?),
        TypeId::NAME => Datum::Text(to_name(text.into())),
        TypeId::JSON => {
            json::check(text)?;
            Datum::text(text)
        }
        TypeId::JSONB => Datum::Jsonb(jsonb::parse(text)?.to_stored()?),
        TypeId::TEXT | TypeId::UNKNOWN | TypeId::CSTRING | TypeId::REFCURSOR => Datum::text(text),
        TypeId::ACLITEM => Datum::text(AclItem::parse(text, cx.names)?.stored()),
        TypeId::PG_SNAPSHOT | TypeId::TXID_SNAPSHOT => {
            Datum::text(super::parse_snapshot(text)?.to_string())
        }
        TypeId::VOID => Datum::VOID,
        TypeId::CHAR => Datum::Char(scalar::parse_char(text)),
        TypeId::BYTEA => Datum::bytea(&scalar::parse_bytea(text)?),
        TypeId::INET => Datum::Inet(Inet::parse(text)?),
        TypeId::CIDR => Datum::Inet(Inet::parse_cidr(text)?),
        TypeId::UUID => Datum::Uuid(scalar::parse_uuid(text)?),
        TypeId::DATE => Date::parse(text, cx)?.into(),
        TypeId::TIME => Time::parse(text, typmod, cx)?.into(),
        TypeId::TIMETZ => TimeTz::parse(text, typmod, cx)?.into(),
        TypeId::TIMESTAMP => Timestamp::parse(text, typmod, cx)?.into(),
        TypeId::TIMESTAMPTZ => TimestampTz::parse(text, typmod, cx)?.into(),
        TypeId::INTERVAL => Interval::parse(text, typmod, cx)?.into(),
        TypeId::OID => Datum::Oid(scalar::parse_oid(text)?),
        TypeId::XID | TypeId::CID => Datum::Oid(Oid(scalar::parse_wrapping_u64(text) as u32)),
        TypeId::XID8 => Datum::Int8(scalar::parse_wrapping_u64(text) as i64),
        TypeId::PG_LSN => Datum::Int8(scalar::parse_lsn(text)? as i64),
        TypeId::TID => Datum::Tid(scalar::parse_tid(text)?),
        TypeId::INT2VECTOR => super::array::parse_vector(text, TypeId::INT2)?,
        TypeId::OIDVECTOR => super::array::parse_vector(text, TypeId::OID)?,
        TypeId::RECORD => {
            bail!(FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented")
        }
        _ if is_oid_alias(type_id) => Datum::Oid(oid_alias(type_id, text, cx)?),
        _ if type_id.is_enum() => cx.names.input_user_type(type_id, text, typmod)?,
        _ => match super::type_info(type_id) {
            Some(info) if info.is_array() => {
                Datum::Array(Arc::new(parse_array(text, info.element, typmod, cx)?))
            }
            Some(info) => return Err(no_input(info.name)),
            None => cx.names.input_user_type(type_id, text, typmod)?,
        },
    })
}

fn int(text: &str, type_name: &str, min: i64, max: i64) -> Result<i64> {
    scalar::parse_int(text, type_name, min, max)
}

/// Reads a numeric with the type's errors.
fn numeric(text: &str) -> Result<Numeric> {
    Numeric::parse(text).map_err(|error| match error {
        ParseError::Syntax => invalid_syntax("numeric", text),
        ParseError::Overflow => overflow(),
    })
}

#[cold]
fn no_input(type_name: &str) -> SqlError {
    SqlError::unsupported(format!("cannot accept a value of type {type_name}"))
}

/// Types whose values are OIDs and whose texts are names.
pub fn is_oid_alias(type_id: TypeId) -> bool {
    matches!(
        type_id,
        TypeId::REGPROC
            | TypeId::REGPROCEDURE
            | TypeId::REGOPER
            | TypeId::REGOPERATOR
            | TypeId::REGCLASS
            | TypeId::REGTYPE
            | TypeId::REGROLE
            | TypeId::REGNAMESPACE
            | TypeId::REGCOLLATION
    )
}

fn oid_alias(type_id: TypeId, text: &str, cx: &IoContext<'_>) -> Result<Oid> {
    match text {
        // But an operator is called so.
        "-" if !matches!(type_id, TypeId::REGOPER | TypeId::REGOPERATOR) => Ok(Oid::INVALID),
        _ if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            scalar::parse_oid(text)
        }
        _ => cx.names.object_by_name(type_id, text),
    }
}

/// Appends a value that is not null as the type's output function writes it.
pub fn output(type_id: TypeId, value: &Datum, cx: &IoContext<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut digits = itoa::Buffer::new();
    match value {
        Datum::Null => unreachable!("null has no text"),
        Datum::Bool(v) => out.push(if *v { b't' } else { b'f' }),
        Datum::Char(v) => {
            if *v != 0 {
                write_char(*v, out);
            }
        }
        Datum::Int2(v) => out.extend_from_slice(digits.format(*v).as_bytes()),
        Datum::Int4(v) => out.extend_from_slice(digits.format(*v).as_bytes()),
        Datum::Int8(v) => match type_id {
            TypeId::PG_LSN => {
                let v = *v as u64;
                out.extend_from_slice(format!("{:X}/{:X}", v >> 32, v as u32).as_bytes());
            }
            TypeId::XID8 => out.extend_from_slice(digits.format(*v as u64).as_bytes()),
            _ => out.extend_from_slice(digits.format(*v).as_bytes()),
        },
        Datum::Float4(v) => float::write_f32(*v, cx.format.extra_float_digits, out),
        Datum::Float8(v) => float::write_f64(*v, cx.format.extra_float_digits, out),
        Datum::Oid(v) => {
            if is_oid_alias(type_id) {
                return write_oid_alias(type_id, *v, cx, out);
            }
            if type_id.is_enum() {
                return enums::write_label(type_id, *v, cx.names, out);
            }
            out.extend_from_slice(digits.format(v.0).as_bytes());
        }
        Datum::Tid(v) => out.extend_from_slice(format!("({},{})", v.block, v.slot).as_bytes()),
        Datum::Date(v) => encode::write_date(*v, cx.format, out),
        Datum::Time(v) => encode::write_time(*v, out),
        Datum::TimeTz(v) => encode::write_timetz(*v, out),
        Datum::Timestamp(v) => encode::write_timestamp(*v, cx.format, out),
        Datum::TimestampTz(v) => encode::write_timestamptz(*v, cx.format, out),
        Datum::Interval(v) => encode::write_interval(*v, cx.format.interval_style, out),
        Datum::Uuid(v) => scalar::write_uuid(v, out),
        Datum::Inet(v) if type_id == TypeId::CIDR => {
            out.extend_from_slice(v.with_length().as_bytes());
        }
        Datum::Inet(v) => out.extend_from_slice(v.shown().as_bytes()),
        Datum::Numeric(v) => v.write_text(out),
        // What was made by names, before there were privileges, is shown as it is.
        Datum::Text(v) if type_id == TypeId::ACLITEM => match AclItem::from_stored(v.as_str()) {
            Some(item) => out.extend_from_slice(item.shown(cx.names)?.as_bytes()),
            None => out.extend_from_slice(v.as_bytes()),
        },
        Datum::Text(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Jsonb(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytea(v) => {
            let format = cx.format.bytea_output;
            scalar::room(0, scalar::bytea_length(v, format))?;
            scalar::write_bytea(v, format, out);
        }
        Datum::Array(v) if matches!(type_id, TypeId::INT2VECTOR | TypeId::OIDVECTOR) => {
            write_vector(v, out);
        }
        Datum::Array(v) => write_array(v, cx, out)?,
        Datum::Record(v) => record::write_record(v, cx, out)?,
    }
    Ok(())
}

/// The value's text.
pub fn output_string(type_id: TypeId, value: &Datum, cx: &IoContext<'_>) -> Result<String> {
    let mut out = Vec::new();
    output(type_id, value, cx, &mut out)?;
    Ok(String::from_utf8(out).expect("output functions write UTF-8"))
}

/// A byte beyond ASCII is no character of UTF-8 on its own; it is shown in octal.
fn write_char(byte: u8, out: &mut Vec<u8>) {
    if byte.is_ascii() {
        out.push(byte);
    } else {
        out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
    }
}

fn write_oid_alias(type_id: TypeId, oid: Oid, cx: &IoContext<'_>, out: &mut Vec<u8>) -> Result<()> {
    if !oid.is_valid() {
        // An operator is called like that.
        let operator = matches!(type_id, TypeId::REGOPER | TypeId::REGOPERATOR);
        out.push(if operator { b'0' } else { b'-' });
    } else if let Some(name) = cx.names.object_name(type_id, oid)? {
        out.extend_from_slice(name.as_bytes());
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(oid.0).as_bytes());
    }
    Ok(())
}
