//! Operators of the types that only compare: booleans, bytes, identifiers; and of `bytea` what
//! is not text's.

use super::bodies::{Bodies, comparisons, cross_comparisons, scalars};
use super::text::{check_length, overlay_bounds, substring_range};
use crate::error::{Result, bail, sql_error};
use crate::types::{Datum, Numeric, TypeId};

pub(super) const ROOMS: &[Bodies] = &[
    BOOL,
    COMPARE_BOOL,
    COMPARE_CHAR,
    COMPARE_BYTEA,
    COMPARE_UUID,
    COMPARE_TID,
    COMPARE_LSN,
    COMPARE_XID8,
    COMPARE_OIDVECTOR,
    BYTES,
    LSN,
    COMPARE_RECORD,
];

const BOOL: Bodies = scalars! {
    "booltext" => |_, a| Ok(Datum::text(if a[0].as_bool() { "true" } else { "false" }));
    "booland_statefunc" => |_, a| Ok(Datum::Bool(a[0].as_bool() && a[1].as_bool()));
    "boolor_statefunc" => |_, a| Ok(Datum::Bool(a[0].as_bool() || a[1].as_bool()));
};

const COMPARE_BOOL: Bodies = comparisons!(BOOL, "booleq" "boolne" "boollt" "boolle" "boolgt"
    "boolge" "btboolcmp");
const COMPARE_CHAR: Bodies = comparisons!(CHAR, "chareq" "charne" "charlt" "charle" "chargt"
    "charge" "btcharcmp");
const COMPARE_BYTEA: Bodies = comparisons!(BYTEA, "byteaeq" "byteane" "bytealt" "byteale"
    "byteagt" "byteage" "byteacmp");
const COMPARE_UUID: Bodies = comparisons!(UUID, "uuid_eq" "uuid_ne" "uuid_lt" "uuid_le" "uuid_gt"
    "uuid_ge" "uuid_cmp");
const COMPARE_TID: Bodies = comparisons!(TID, "tideq" "tidne" "tidlt" "tidle" "tidgt" "tidge"
    "bttidcmp" "tidlarger" "tidsmaller");
const COMPARE_LSN: Bodies = comparisons!(PG_LSN, "pg_lsn_eq" "pg_lsn_ne" "pg_lsn_lt" "pg_lsn_le"
    "pg_lsn_gt" "pg_lsn_ge" "pg_lsn_cmp" "pg_lsn_larger" "pg_lsn_smaller");
const COMPARE_XID8: Bodies = comparisons!(XID8, "xid8eq" "xid8ne" "xid8lt" "xid8le" "xid8gt"
    "xid8ge" "xid8cmp" "xid8_larger" "xid8_smaller");

/// Vectors compare by length first, unlike arrays.
fn compare_vectors(a: &Datum, b: &Datum) -> std::cmp::Ordering {
    let (x, y) = (&a.as_array().elements, &b.as_array().elements);
    x.len().cmp(&y.len()).then_with(|| crate::types::compare(TypeId::OIDVECTOR, a, b))
}

const COMPARE_OIDVECTOR: Bodies = cross_comparisons!(compare_vectors, "oidvectoreq" "oidvectorne"
    "oidvectorlt" "oidvectorle" "oidvectorgt" "oidvectorge" "btoidvectorcmp");

fn compare_records(a: &Datum, b: &Datum) -> Result<std::cmp::Ordering> {
    crate::types::compare_alike(TypeId::RECORD, a, b)
}

const COMPARE_RECORD: Bodies = scalars! {
    "record_eq" => |_, a| Ok(Datum::Bool(compare_records(&a[0], &a[1])?.is_eq()));
    "record_ne" => |_, a| Ok(Datum::Bool(compare_records(&a[0], &a[1])?.is_ne()));
    "record_lt" => |_, a| Ok(Datum::Bool(compare_records(&a[0], &a[1])?.is_lt()));
    "record_le" => |_, a| Ok(Datum::Bool(compare_records(&a[0], &a[1])?.is_le()));
    "record_gt" => |_, a| Ok(Datum::Bool(compare_records(&a[0], &a[1])?.is_gt()));
    "record_ge" => |_, a| Ok(Datum::Bool(compare_records(&a[0], &a[1])?.is_ge()));
    "btrecordcmp" => |_, a| Ok(Datum::Int4(compare_records(&a[0], &a[1])? as i32));
};

const LSN: Bodies = scalars! {
    "pg_lsn_mi" => |_, a| lsn_distance(a);
    "pg_wal_lsn_diff" => |_, a| lsn_distance(a);
    "numeric_pg_lsn" => |_, a| to_lsn(a[0].as_numeric());
    "sql:5023" => |_, a| move_lsn(a[1].as_int8() as u64, a[0].as_numeric());
    "pg_lsn_pli" => |_, a| move_lsn(a[0].as_int8() as u64, a[1].as_numeric());
    "pg_lsn_mii" => |_, a| move_lsn(a[0].as_int8() as u64, &a[1].as_numeric().neg());
};

fn lsn_distance(a: &[Datum]) -> Result<Datum> {
    let (x, y) = (a[0].as_int8() as u64, a[1].as_int8() as u64);
    Numeric::from(x).sub(&Numeric::from(y)).map(Datum::Numeric)
}

/// The byte position that a number names.
fn to_lsn(value: &Numeric) -> Result<Datum> {
    if value.is_nan() {
        bail!(FEATURE_NOT_SUPPORTED, "cannot convert NaN to pg_lsn");
    }
    let position: Option<u64> = value.round(0)?.to_string().parse().ok();
    position
        .map(|v| Datum::Int8(v as i64))
        .ok_or_else(|| sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "pg_lsn out of range"))
}

fn move_lsn(lsn: u64, by: &Numeric) -> Result<Datum> {
    if by.is_nan() {
        bail!(FEATURE_NOT_SUPPORTED, "cannot add NaN to pg_lsn");
    }
    let sum = Numeric::from(lsn).add(by)?.round(0)?;
    let value: Option<u64> = sum.to_string().parse().ok();
    value
        .map(|v| Datum::Int8(v as i64))
        .ok_or_else(|| sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "pg_lsn out of range"))
}

/// Where byte `n` lies; `2202E` beyond the value.
fn byte_index(bytes: &[u8], n: i64, limit: i64) -> Result<usize> {
    if n < 0 || n >= limit {
        bail!(ARRAY_SUBSCRIPT_ERROR, "index {n} out of valid range, 0..{}", limit - 1);
    }
    debug_assert!(n < limit && bytes.len() as i64 * 8 >= limit);
    Ok(n as usize)
}

const BYTES: Bodies = scalars! {
    "byteaoctetlen" => |_, a| Ok(Datum::Int4(a[0].as_bytea().len() as i32));
    "sql:1810" => |_, a| super::text::bits(a[0].as_bytea().len());
    "byteacat" => |_, a| {
        let (x, y) = (a[0].as_bytea(), a[1].as_bytea());
        check_length(x.len() + y.len())?;
        Ok(Datum::bytea(&[x, y].concat()))
    };
    "bytea_substr" => |_, a| byte_substring(&a[0], a[1].as_int4(), Some(a[2].as_int4()));
    "bytea_substr_no_len" => |_, a| byte_substring(&a[0], a[1].as_int4(), None);
    "byteapos" => |_, a| {
        let (bytes, wanted) = (a[0].as_bytea(), a[1].as_bytea());
        let at = if wanted.is_empty() {
            Some(0)
        } else {
            memchr::memmem::find(bytes, wanted)
        };
        Ok(Datum::Int4(at.map_or(0, |at| at as i32 + 1)))
    };
    "byteaoverlay" => |_, a| overlay(&a[0], &a[1], a[2].as_int4(), a[3].as_int4());
    "byteaoverlay_no_len" => |_, a| {
        overlay(&a[0], &a[1], a[2].as_int4(), a[1].as_bytea().len() as i32)
    };
    "byteatrim" => |_, a| Ok(trim_bytes(&a[0], &a[1], true, true));
    "bytealtrim" => |_, a| Ok(trim_bytes(&a[0], &a[1], true, false));
    "byteartrim" => |_, a| Ok(trim_bytes(&a[0], &a[1], false, true));
    "byteaGetByte" => |_, a| {
        let bytes = a[0].as_bytea();
        let at = byte_index(bytes, i64::from(a[1].as_int4()), bytes.len() as i64)?;
        Ok(Datum::Int4(i32::from(bytes[at])))
    };
    "byteaSetByte" => |_, a| {
        let mut bytes = a[0].as_bytea().to_vec();
        let at = byte_index(&bytes, i64::from(a[1].as_int4()), bytes.len() as i64)?;
        bytes[at] = a[2].as_int4() as u8;
        Ok(Datum::bytea(&bytes))
    };
    "byteaGetBit" => |_, a| {
        let bytes = a[0].as_bytea();
        let at = byte_index(bytes, a[1].as_int8(), bytes.len() as i64 * 8)?;
        Ok(Datum::Int4(i32::from(bytes[at / 8] >> (at % 8) & 1)))
    };
    "byteaSetBit" => |_, a| {
        let mut bytes = a[0].as_bytea().to_vec();
        let at = byte_index(&bytes, a[1].as_int8(), bytes.len() as i64 * 8)?;
        let bit = a[2].as_int4();
        if !(0..=1).contains(&bit) {
            bail!(INVALID_PARAMETER_VALUE, "new bit must be 0 or 1");
        }
        bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | (bit as u8) << (at % 8);
        Ok(Datum::bytea(&bytes))
    };
    "bytea_bit_count" => |_, a| {
        Ok(Datum::Int8(a[0].as_bytea().iter().map(|b| i64::from(b.count_ones())).sum()))
    };
};

fn byte_substring(value: &Datum, start: i32, len: Option<i32>) -> Result<Datum> {
    let bytes = value.as_bytea();
    let (from, to) = substring_range(start, len)?;
    let to = to.map_or(bytes.len(), |to| to.min(bytes.len()));
    Ok(Datum::bytea(bytes.get(from.min(to)..to).unwrap_or(&[])))
}

fn overlay(value: &Datum, replacement: &Datum, start: i32, len: i32) -> Result<Datum> {
    let (bytes, replacement) = (value.as_bytea(), replacement.as_bytea());
    check_length(bytes.len() + replacement.len())?;
    let (head, tail) = overlay_bounds(start, len)?;
    let head = &bytes[..head.min(bytes.len())];
    let tail = &bytes[tail.min(bytes.len())..];
    Ok(Datum::bytea(&[head, replacement, tail].concat()))
}

fn trim_bytes(value: &Datum, set: &Datum, front: bool, back: bool) -> Datum {
    let mut bytes = value.as_bytea();
    let mut is_of_set = [false; 256];
    set.as_bytea().iter().for_each(|b| is_of_set[usize::from(*b)] = true);
    let is_of_set = |b: &u8| is_of_set[usize::from(*b)];
    while front && bytes.first().is_some_and(is_of_set) {
        bytes = &bytes[1..];
    }
    while back && bytes.last().is_some_and(is_of_set) {
        bytes = &bytes[..bytes.len() - 1];
    }
    Datum::bytea(bytes)
}
