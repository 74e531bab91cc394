//! `numeric`: the operators and functions over [`Numeric`]'s arithmetic.

use super::bodies::{Bodies, comparisons, scalars};
use crate::error::{Result, bail};
use crate::types::numeric::int_out_of_range;
use crate::types::{Datum, Numeric, TypeId, TypeMod};

pub(super) const ROOMS: &[Bodies] = &[ARITHMETIC, COMPARE, FUNCTIONS];

/// A function of two numerics.
macro_rules! binary {
    ($f:expr) => {
        |_, a| $f(a[0].as_numeric(), a[1].as_numeric()).map(Datum::Numeric)
    };
}

/// A function of one numeric.
macro_rules! unary {
    ($f:expr) => {
        |_, a| $f(a[0].as_numeric()).map(Datum::Numeric)
    };
}

const ARITHMETIC: Bodies = scalars! {
    "numeric_add" => binary!(Numeric::add);
    "numeric_sub" => binary!(Numeric::sub);
    "numeric_mul" => binary!(Numeric::mul);
    "numeric_div" => binary!(Numeric::div);
    "numeric_div_trunc" => binary!(Numeric::div_trunc);
    "numeric_mod" => binary!(Numeric::rem);
    "numeric_power" => binary!(Numeric::power);
    "numeric_gcd" => binary!(Numeric::gcd);
    "numeric_lcm" => binary!(Numeric::lcm);
    "numeric_log" => binary!(Numeric::log);
    "numeric_uminus" => |_, a| Ok(a[0].as_numeric().neg().into());
    "numeric_uplus" => |_, a| Ok(a[0].clone());
    "numeric_abs" => |_, a| Ok(a[0].as_numeric().abs().into());
    "numeric_sign" => |_, a| Ok(a[0].as_numeric().sign().into());
    "numeric_inc" => unary!(|n: &Numeric| n.add(&Numeric::from(1)));
};

const COMPARE: Bodies = comparisons!(NUMERIC, "numeric_eq" "numeric_ne" "numeric_lt" "numeric_le"
    "numeric_gt" "numeric_ge" "numeric_cmp" "numeric_larger" "numeric_smaller");

const FUNCTIONS: Bodies = scalars! {
    "numeric_sqrt" => unary!(Numeric::sqrt);
    "numeric_exp" => unary!(Numeric::exp);
    "numeric_ln" => unary!(Numeric::ln);
    "sql:1741" => unary!(|n| Numeric::log(&Numeric::from(10), n));
    "sql:1481" => unary!(|n| Numeric::log(&Numeric::from(10), n));
    "numeric_ceil" => unary!(Numeric::ceil);
    "numeric_floor" => unary!(Numeric::floor);
    "numeric_trim_scale" => unary!(Numeric::trim_scale);
    "numeric_round" => |_, a| a[0].as_numeric().round(a[1].as_int4()).map(Datum::Numeric);
    "sql:1708" => unary!(|n: &Numeric| n.round(0));
    "numeric_trunc" => |_, a| a[0].as_numeric().trunc(a[1].as_int4()).map(Datum::Numeric);
    "sql:1710" => unary!(|n: &Numeric| n.trunc(0));
    "numeric_scale" => |_, a| {
        let n = a[0].as_numeric();
        Ok(n.is_finite().then(|| n.dscale()).into())
    };
    "numeric_min_scale" => |_, a| Ok(a[0].as_numeric().min_scale().into());
    "numeric_fac" => |_, a| Numeric::factorial(a[0].as_int8()).map(Datum::Numeric);
    "numeric" => |_, a| {
        a[0].as_numeric().apply_typmod(TypeMod(a[1].as_int4())).map(Datum::Numeric)
    };
    "width_bucket_numeric" => |_, a| {
        let (operand, low, high) = (a[0].as_numeric(), a[1].as_numeric(), a[2].as_numeric());
        width_bucket(operand, low, high, a[3].as_int4()).map(Datum::Int4)
    };
};

/// Which of `count` equal parts between the bounds holds the operand, from 1; 0 and `count + 1`
/// lie outside.
fn width_bucket(operand: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> Result<i32> {
    if count <= 0 {
        bail!(INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, "count must be greater than zero");
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        bail!(
            INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION,
            "operand, lower bound, and upper bound cannot be NaN"
        );
    }
    if !low.is_finite() || !high.is_finite() {
        bail!(INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, "lower and upper bounds must be finite");
    }
    if low == high {
        bail!(INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, "lower bound cannot equal upper bound");
    }
    let ascending = low < high;
    let (before, after) =
        if ascending { (operand < low, operand >= high) } else { (operand > low, operand <= high) };
    if before {
        return Ok(0);
    }
    if after {
        return count.checked_add(1).ok_or_else(|| int_out_of_range("integer"));
    }
    let (offset, width) = if ascending {
        (operand.sub(low)?, high.sub(low)?)
    } else {
        (low.sub(operand)?, low.sub(high)?)
    };
    let bucket = offset.mul(&Numeric::from(count))?.div_trunc(&width)?;
    Ok(bucket.to_int("integer", 0, i64::from(i32::MAX))? as i32 + 1)
}
