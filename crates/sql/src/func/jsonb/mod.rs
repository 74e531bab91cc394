//! Functions and operators of `jsonb`.
//!
//! A body takes its arguments' texts apart, does its work on the trees, and writes the result's text
//! ([`crate::types::jsonb`]).

mod access;
mod build;
mod change;
mod contain;
mod subscript;
mod unnest;

use super::bodies::{Bodies, comparisons, scalars};
use super::hash::{hash_bytes, hash_numeric};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::jsonb::{self, Json};
use crate::types::{Array, Datum, Numeric, TypeId};

pub(super) use build::AGGREGATES;
pub(crate) use subscript::{json_part, json_with_part};

pub(super) const ROOMS: &[Bodies] = &[
    access::BODIES,
    build::BODIES,
    change::BODIES,
    contain::BODIES,
    unnest::BODIES,
    COMPARE,
    CASTS,
];

const COMPARE: Bodies = comparisons!(JSONB, "jsonb_eq" "jsonb_ne" "jsonb_lt" "jsonb_le" "jsonb_gt"
    "jsonb_ge" "jsonb_cmp");

const CASTS: Bodies = scalars! {
    "jsonb_hash" => |_, a| {
        let value = tree(&a[0])?;
        if value == Json::Array(Vec::new()) || value == Json::Object(Vec::new()) {
            return Ok(Datum::Int4(0));
        }
        let mut hash = if value.is_scalar() { HASH_OF_ARRAY } else { 0 };
        mix_hash(&value, &mut hash);
        Ok(Datum::Int4(hash as i32))
    };
    "jsonb_bool" => |_, a| match tree(&a[0])? {
        Json::Bool(value) => Ok(Datum::Bool(value)),
        other => Err(no_cast(&other, "boolean")),
    };
    "jsonb_numeric" => |_, a| number(&a[0], "numeric").map(Datum::Numeric);
    "jsonb_int2" => |_, a| {
        let value = integer(&a[0], "smallint", i16::MIN.into(), i16::MAX.into())?;
        Ok(Datum::Int2(value as i16))
    };
    "jsonb_int4" => |_, a| {
        let value = integer(&a[0], "integer", i32::MIN.into(), i32::MAX.into())?;
        Ok(Datum::Int4(value as i32))
    };
    "jsonb_int8" => |_, a| integer(&a[0], "bigint", i64::MIN, i64::MAX).map(Datum::Int8);
    "jsonb_float4" => |_, a| {
        let text = number(&a[0], "real")?.to_string();
        crate::types::float::parse_f32(&text).map(Datum::Float4)
    };
    "jsonb_float8" => |_, a| {
        let text = number(&a[0], "double precision")?.to_string();
        crate::types::float::parse_f64(&text).map(Datum::Float8)
    };
};

/// What an array and an object begin with (`JB_FARRAY`, `JB_FOBJECT`).
const HASH_OF_ARRAY: u32 = 0x4000_0000;
const HASH_OF_OBJECT: u32 = 0x2000_0000;

/// PostgreSQL's hash, entry by entry.
fn mix_hash(value: &Json, hash: &mut u32) {
    let mut mix = |scalar: u32| *hash = hash.rotate_left(1) ^ scalar;
    match value {
        Json::Null => mix(1),
        Json::Bool(value) => mix(if *value { 2 } else { 4 }),
        Json::Number(number) => mix(hash_numeric(number)),
        Json::String(text) => mix(hash_bytes(text.as_bytes())),
        Json::Array(elements) => {
            *hash ^= HASH_OF_ARRAY;
            elements.iter().for_each(|element| mix_hash(element, hash));
        }
        Json::Object(pairs) => {
            *hash ^= HASH_OF_OBJECT;
            for (key, value) in pairs {
                *hash = hash.rotate_left(1) ^ hash_bytes(key.as_bytes());
                mix_hash(value, hash);
            }
        }
    }
}

fn number(value: &Datum, wanted: &str) -> Result<Numeric> {
    match tree(value)? {
        Json::Number(number) => Ok(number),
        other => Err(no_cast(&other, wanted)),
    }
}

fn integer(value: &Datum, wanted: &str, min: i64, max: i64) -> Result<i64> {
    number(value, wanted)?.to_int(wanted, min, max)
}

#[cold]
fn no_cast(value: &Json, wanted: &str) -> SqlError {
    let kind = match value {
        Json::Number(_) => "numeric",
        other => kind_name(other),
    };
    sql_error!(INVALID_PARAMETER_VALUE, "cannot cast jsonb {kind} to type {wanted}")
}

/// What `jsonb_typeof` calls it.
fn kind_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// An argument, taken apart.
fn tree(value: &Datum) -> Result<Json> {
    jsonb::take_apart(value.as_jsonb())
}

/// A result.
fn stored(value: &Json) -> Result<Datum> {
    let text = value.to_stored()?;
    super::check_length(text.len())?;
    Ok(Datum::Jsonb(text))
}

/// As `->>` and its kin give it: null for JSON's null, a string without its quotes.
fn as_text(value: &Json) -> Result<Datum> {
    match value {
        Json::Null => Ok(Datum::Null),
        Json::String(text) => Ok(Datum::text(&**text)),
        other => other.to_text().map(Datum::from),
    }
}

/// The elements of an array of texts; `None` for nulls.
fn texts(array: &Array) -> Result<Vec<Option<&str>>> {
    if array.dims.len() > 1 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
    }
    let text = |element| match element {
        &Datum::Null => None,
        text => Some(text.as_text().as_str()),
    };
    Ok(array.elements.iter().map(text).collect())
}

/// A place in an array as paths write it.
fn path_index(text: &str) -> Option<i32> {
    text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']).parse().ok()
}
