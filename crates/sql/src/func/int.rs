//! Integers: arithmetic with overflow checks, bits, comparisons across widths, conversions.

use super::bodies::{Bodies, comparisons, cross_comparisons, scalars};
use crate::error::{Result, SqlError, sql_error};
use crate::types::numeric::{division_by_zero, int_out_of_range};
use crate::types::row::ValueKind;
use crate::types::{Datum, Numeric, Oid, TypeId};

pub(super) const ROOMS: &[Bodies] = &[
    INT2,
    INT4,
    INT8,
    INT24,
    INT42,
    INT28,
    INT82,
    INT48,
    INT84,
    SMALL,
    MEDIUM,
    BIG,
    COMPARE2,
    COMPARE4,
    COMPARE8,
    COMPARE24,
    COMPARE42,
    COMPARE28,
    COMPARE82,
    COMPARE48,
    COMPARE84,
    CONVERSIONS,
    OIDS,
    COMPARE_OID,
];

const SMALLINT: &str = "smallint";
const INTEGER: &str = "integer";
const BIGINT: &str = "bigint";

/// A checked result of one of the integer types.
macro_rules! checked {
    ($type:ident, $result:expr) => {
        $result.map(Datum::$type).ok_or_else(|| int_out_of_range(width_name!($type)))
    };
}

macro_rules! width_name {
    (Int2) => {
        SMALLINT
    };
    (Int4) => {
        INTEGER
    };
    (Int8) => {
        BIGINT
    };
}

/// Add, subtract, multiply and divide values read by `$l` and `$r`, in the type `$t`.
macro_rules! arithmetic {
    ($l:ident $r:ident $t:ident $type:ident: $add:literal $sub:literal $mul:literal $div:literal) => {
        scalars! {
            $add => |_, a| checked!($type, $t::from(a[0].$l()).checked_add($t::from(a[1].$r())));
            $sub => |_, a| checked!($type, $t::from(a[0].$l()).checked_sub($t::from(a[1].$r())));
            $mul => |_, a| checked!($type, $t::from(a[0].$l()).checked_mul($t::from(a[1].$r())));
            $div => |_, a| {
                let divisor = $t::from(a[1].$r());
                if divisor == 0 {
                    return Err(division_by_zero());
                }
                checked!($type, $t::from(a[0].$l()).checked_div(divisor))
            };
        }
    };
}

const INT2: Bodies = arithmetic!(as_int2 as_int2 i16 Int2: "int2pl" "int2mi" "int2mul" "int2div");
const INT4: Bodies = arithmetic!(as_int4 as_int4 i32 Int4: "int4pl" "int4mi" "int4mul" "int4div");
const INT8: Bodies = arithmetic!(as_int8 as_int8 i64 Int8: "int8pl" "int8mi" "int8mul" "int8div");
const INT24: Bodies =
    arithmetic!(as_int2 as_int4 i32 Int4: "int24pl" "int24mi" "int24mul" "int24div");
const INT42: Bodies =
    arithmetic!(as_int4 as_int2 i32 Int4: "int42pl" "int42mi" "int42mul" "int42div");
const INT28: Bodies =
    arithmetic!(as_int2 as_int8 i64 Int8: "int28pl" "int28mi" "int28mul" "int28div");
const INT82: Bodies =
    arithmetic!(as_int8 as_int2 i64 Int8: "int82pl" "int82mi" "int82mul" "int82div");
const INT48: Bodies =
    arithmetic!(as_int4 as_int8 i64 Int8: "int48pl" "int48mi" "int48mul" "int48div");
const INT84: Bodies =
    arithmetic!(as_int8 as_int4 i64 Int8: "int84pl" "int84mi" "int84mul" "int84div");

/// What each width has by itself: signs, remainder, bits.
macro_rules! single {
    ($as:ident $t:ident $type:ident $shift_mask:literal:
        $neg:literal $plus:literal $abs:literal $rem:literal
        $and:literal $or:literal $xor:literal $not:literal $shl:literal $shr:literal) => {
        scalars! {
            $neg => |_, a| checked!($type, a[0].$as().checked_neg());
            $plus => |_, a| Ok(a[0].clone());
            $abs => |_, a| checked!($type, a[0].$as().checked_abs());
            $rem => |_, a| match a[1].$as() {
                0 => Err(division_by_zero()),
                // The smallest value by -1 would overflow on the way to zero.
                divisor => Ok(Datum::$type(a[0].$as().wrapping_rem(divisor))),
            };
            $and => |_, a| Ok(Datum::$type(a[0].$as() & a[1].$as()));
            $or => |_, a| Ok(Datum::$type(a[0].$as() | a[1].$as()));
            $xor => |_, a| Ok(Datum::$type(a[0].$as() ^ a[1].$as()));
            $not => |_, a| Ok(Datum::$type(!a[0].$as()));
            $shl => |_, a| {
                let shifted = (a[0].$as() as i64).wrapping_shl((a[1].as_int4() & $shift_mask) as u32);
                Ok(Datum::$type(shifted as $t))
            };
            $shr => |_, a| {
                let shifted = (a[0].$as() as i64).wrapping_shr((a[1].as_int4() & $shift_mask) as u32);
                Ok(Datum::$type(shifted as $t))
            };
        }
    };
}

// Sixteen-bit values shift in a 32-bit register, whose shift counts wrap at 32.
const SMALL: Bodies = single!(as_int2 i16 Int2 31: "int2um" "int2up" "int2abs" "int2mod"
    "int2and" "int2or" "int2xor" "int2not" "int2shl" "int2shr");
const MEDIUM: Bodies = single!(as_int4 i32 Int4 31: "int4um" "int4up" "int4abs" "int4mod"
    "int4and" "int4or" "int4xor" "int4not" "int4shl" "int4shr");
const BIG: Bodies = single!(as_int8 i64 Int8 63: "int8um" "int8up" "int8abs" "int8mod"
    "int8and" "int8or" "int8xor" "int8not" "int8shl" "int8shr");

const COMPARE2: Bodies = comparisons!(INT2, "int2eq" "int2ne" "int2lt" "int2le" "int2gt" "int2ge"
    "btint2cmp" "int2larger" "int2smaller");
const COMPARE4: Bodies = &[
    ("int4eq", super::Body::Scalar(|_, a| Ok(Datum::Bool(a[0].as_int4() == a[1].as_int4())))),
    ("int4ne", super::Body::Scalar(|_, a| Ok(Datum::Bool(a[0].as_int4() != a[1].as_int4())))),
    ("int4lt", super::Body::Scalar(|_, a| Ok(Datum::Bool(a[0].as_int4() < a[1].as_int4())))),
    ("int4le", super::Body::Scalar(|_, a| Ok(Datum::Bool(a[0].as_int4() <= a[1].as_int4())))),
    ("int4gt", super::Body::Scalar(|_, a| Ok(Datum::Bool(a[0].as_int4() > a[1].as_int4())))),
    ("int4ge", super::Body::Scalar(|_, a| Ok(Datum::Bool(a[0].as_int4() >= a[1].as_int4())))),
    (
        "btint4cmp",
        super::Body::Scalar(|_, a| Ok(Datum::Int4(a[0].as_int4().cmp(&a[1].as_int4()) as i32))),
    ),
    ("int4larger", super::Body::Scalar(|_, a| Ok(Datum::Int4(a[0].as_int4().max(a[1].as_int4()))))),
    (
        "int4smaller",
        super::Body::Scalar(|_, a| Ok(Datum::Int4(a[0].as_int4().min(a[1].as_int4())))),
    ),
];
const COMPARE8: Bodies = comparisons!(INT8, "int8eq" "int8ne" "int8lt" "int8le" "int8gt" "int8ge"
    "btint8cmp" "int8larger" "int8smaller");

/// Comparison of integers of any width.
fn compare_wide(a: &Datum, b: &Datum) -> std::cmp::Ordering {
    wide(a).cmp(&wide(b))
}

fn wide(value: &Datum) -> i64 {
    match value {
        Datum::Int2(v) => i64::from(*v),
        Datum::Int4(v) => i64::from(*v),
        other => other.as_int8(),
    }
}

const COMPARE24: Bodies = cross_comparisons!(compare_wide, "int24eq" "int24ne" "int24lt" "int24le"
    "int24gt" "int24ge" "btint24cmp");
const COMPARE42: Bodies = cross_comparisons!(compare_wide, "int42eq" "int42ne" "int42lt" "int42le"
    "int42gt" "int42ge" "btint42cmp");
const COMPARE28: Bodies = cross_comparisons!(compare_wide, "int28eq" "int28ne" "int28lt" "int28le"
    "int28gt" "int28ge" "btint28cmp");
const COMPARE82: Bodies = cross_comparisons!(compare_wide, "int82eq" "int82ne" "int82lt" "int82le"
    "int82gt" "int82ge" "btint82cmp");
const COMPARE48: Bodies = cross_comparisons!(compare_wide, "int48eq" "int48ne" "int48lt" "int48le"
    "int48gt" "int48ge" "btint48cmp");
const COMPARE84: Bodies = cross_comparisons!(compare_wide, "int84eq" "int84ne" "int84lt" "int84le"
    "int84gt" "int84ge" "btint84cmp");

fn to_int2(value: i64) -> Result<Datum> {
    i16::try_from(value).map(Datum::Int2).map_err(|_| int_out_of_range(SMALLINT))
}

fn to_int4(value: i64) -> Result<Datum> {
    i32::try_from(value).map(Datum::Int4).map_err(|_| int_out_of_range(INTEGER))
}

/// A double rounded to even, within `[min, max]` before the rounding lets it out.
fn rounded(value: f64, name: &str, min: f64, limit: f64) -> Result<i64> {
    let rounded = value.round_ties_even();
    if rounded.is_nan() || rounded < min || rounded >= limit {
        return Err(int_out_of_range(name));
    }
    Ok(rounded as i64)
}

fn float_to_int2(value: f64) -> Result<Datum> {
    rounded(value, SMALLINT, -32_768.0, 32_768.0).map(|v| Datum::Int2(v as i16))
}

fn float_to_int4(value: f64) -> Result<Datum> {
    rounded(value, INTEGER, -2_147_483_648.0, 2_147_483_648.0).map(|v| Datum::Int4(v as i32))
}

fn float_to_int8(value: f64) -> Result<Datum> {
    rounded(value, BIGINT, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0)
        .map(Datum::Int8)
}

fn gcd(mut a: i64, mut b: i64) -> u64 {
    while b != 0 {
        (a, b) = (b, a.wrapping_rem(b));
    }
    a.unsigned_abs()
}

fn lcm(a: i64, b: i64) -> Option<u64> {
    if a == 0 || b == 0 {
        return Some(0);
    }
    (a.unsigned_abs() / gcd(a, b)).checked_mul(b.unsigned_abs())
}

/// A magnitude as one of the signed types.
macro_rules! fit {
    ($type:ident $t:ident, $value:expr) => {
        checked!($type, $value.and_then(|v| $t::try_from(v).ok()))
    };
}

#[cold]
fn oid_out_of_range() -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range")
}

#[cold]
fn char_out_of_range() -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range")
}

/// `width_bucket` for integers that were widened: which of `count` equal parts holds the operand.
const CONVERSIONS: Bodies = scalars! {
    // Also a `smallint` becomes an `oid` by it, and a `regclass` and so on: PostgreSQL has the same bytes for those.
    "i2toi4" => |cx, a| {
        let value = i32::from(a[0].as_int2());
        Ok(match ValueKind::of_type(cx.result_type) {
            Some(ValueKind::Oid) => Datum::Oid(Oid(value as u32)),
            _ => Datum::Int4(value),
        })
    };
    "i4toi2" => |_, a| to_int2(i64::from(a[0].as_int4()));
    "int28" => |_, a| Ok(Datum::Int8(i64::from(a[0].as_int2())));
    "int82" => |_, a| to_int2(a[0].as_int8());
    "int48" => |_, a| Ok(Datum::Int8(i64::from(a[0].as_int4())));
    "int84" => |_, a| to_int4(a[0].as_int8());
    "i2tod" => |_, a| Ok(Datum::Float8(f64::from(a[0].as_int2())));
    "i4tod" => |_, a| Ok(Datum::Float8(f64::from(a[0].as_int4())));
    "i8tod" => |_, a| Ok(Datum::Float8(a[0].as_int8() as f64));
    "i2tof" => |_, a| Ok(Datum::Float4(f32::from(a[0].as_int2())));
    "i4tof" => |_, a| Ok(Datum::Float4(a[0].as_int4() as f32));
    "i8tof" => |_, a| Ok(Datum::Float4(a[0].as_int8() as f32));
    "dtoi2" => |_, a| float_to_int2(a[0].as_float8());
    "dtoi4" => |_, a| float_to_int4(a[0].as_float8());
    "dtoi8" => |_, a| float_to_int8(a[0].as_float8());
    "ftoi2" => |_, a| float_to_int2(f64::from(a[0].as_float4()));
    "ftoi4" => |_, a| float_to_int4(f64::from(a[0].as_float4()));
    "ftoi8" => |_, a| float_to_int8(f64::from(a[0].as_float4()));
    "int2_numeric" => |_, a| Ok(Numeric::from(a[0].as_int2()).into());
    "int4_numeric" => |_, a| Ok(Numeric::from(a[0].as_int4()).into());
    "int8_numeric" => |_, a| Ok(Numeric::from(a[0].as_int8()).into());
    "numeric_int2" => |_, a| {
        let value = a[0].as_numeric().to_int(SMALLINT, i16::MIN.into(), i16::MAX.into())?;
        to_int2(value)
    };
    "numeric_int4" => |_, a| {
        let value = a[0].as_numeric().to_int(INTEGER, i32::MIN.into(), i32::MAX.into())?;
        to_int4(value)
    };
    "numeric_int8" => |_, a| {
        a[0].as_numeric().to_int(BIGINT, i64::MIN, i64::MAX).map(Datum::Int8)
    };
    "int4_bool" => |_, a| Ok(Datum::Bool(a[0].as_int4() != 0));
    "bool_int4" => |_, a| Ok(Datum::Int4(i32::from(a[0].as_bool())));
    "chartoi4" => |_, a| Ok(Datum::Int4(i32::from(a[0].as_char() as i8)));
    "i4tochar" => |_, a| {
        let value = i8::try_from(a[0].as_int4()).map_err(|_| char_out_of_range())?;
        Ok(Datum::Char(value as u8))
    };
    "int4inc" => |_, a| checked!(Int4, a[0].as_int4().checked_add(1));
    "int8inc" => |_, a| checked!(Int8, a[0].as_int8().checked_add(1));
    "int8dec" => |_, a| checked!(Int8, a[0].as_int8().checked_sub(1));
    "int4gcd" => |_, a| {
        fit!(Int4 i32, Some(gcd(a[0].as_int4().into(), a[1].as_int4().into())))
    };
    "int8gcd" => |_, a| fit!(Int8 i64, Some(gcd(a[0].as_int8(), a[1].as_int8())));
    "int4lcm" => |_, a| fit!(Int4 i32, lcm(a[0].as_int4().into(), a[1].as_int4().into()));
    "int8lcm" => |_, a| fit!(Int8 i64, lcm(a[0].as_int8(), a[1].as_int8()));
};

/// A transaction id, or an integer that stands for one.
fn xid(value: &Datum) -> Oid {
    match value {
        Datum::Int4(v) => Oid(*v as u32),
        other => other.as_oid(),
    }
}

const OIDS: Bodies = scalars! {
    "oidtoi8" => |_, a| Ok(Datum::Int8(i64::from(a[0].as_oid().0)));
    "i8tooid" => |_, a| {
        u32::try_from(a[0].as_int8()).map(|v| Datum::Oid(Oid(v))).map_err(|_| oid_out_of_range())
    };
    "xideq" => |_, a| Ok(Datum::Bool(a[0].as_oid() == xid(&a[1])));
    "xidneq" => |_, a| Ok(Datum::Bool(a[0].as_oid() != xid(&a[1])));
    "cideq" => |_, a| Ok(Datum::Bool(a[0].as_oid() == a[1].as_oid()));
    "xid8toxid" => |_, a| Ok(Datum::Oid(Oid(a[0].as_int8() as u32)));
};

const COMPARE_OID: Bodies = comparisons!(OID, "oideq" "oidne" "oidlt" "oidle" "oidgt" "oidge"
    "btoidcmp" "oidlarger" "oidsmaller");
