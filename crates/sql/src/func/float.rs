//! Floating-point numbers: checked arithmetic, comparisons, mathematics.

use super::bodies::{Bodies, comparisons, cross_comparisons, scalars};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::numeric::{division_by_zero, int_out_of_range};
use crate::types::{Datum, Numeric, TypeId, compare_f64};

pub(super) const ROOMS: &[Bodies] = &[
    DOUBLE,
    SINGLE,
    FLOAT48,
    FLOAT84,
    SIGNS,
    COMPARE4,
    COMPARE8,
    COMPARE48,
    COMPARE84,
    CONVERSIONS,
    MATHEMATICS,
    TRIGONOMETRY,
    DEGREES,
];

/// `22003`: a result that overflows.
#[cold]
pub(super) fn overflow() -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// `22003`: a result that underflows to zero.
#[cold]
fn underflow() -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

#[cold]
fn input_out_of_range() -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// The four operations on values read by `$l` and `$r`, computed and checked in `$t`.
macro_rules! arithmetic {
    ($l:ident $r:ident $t:ident $type:ident: $add:literal $sub:literal $mul:literal $div:literal) => {
        scalars! {
            $add => |_, a| {
                let (x, y) = ($t::from(a[0].$l()), $t::from(a[1].$r()));
                let sum = x + y;
                if sum.is_infinite() && x.is_finite() && y.is_finite() {
                    return Err(overflow());
                }
                Ok(Datum::$type(sum))
            };
            $sub => |_, a| {
                let (x, y) = ($t::from(a[0].$l()), $t::from(a[1].$r()));
                let difference = x - y;
                if difference.is_infinite() && x.is_finite() && y.is_finite() {
                    return Err(overflow());
                }
                Ok(Datum::$type(difference))
            };
            $mul => |_, a| {
                let (x, y) = ($t::from(a[0].$l()), $t::from(a[1].$r()));
                let product = x * y;
                if product.is_infinite() && !x.is_infinite() && !y.is_infinite() {
                    return Err(overflow());
                }
                if product == 0.0 && x != 0.0 && y != 0.0 {
                    return Err(underflow());
                }
                Ok(Datum::$type(product))
            };
            $div => |_, a| {
                let (x, y) = ($t::from(a[0].$l()), $t::from(a[1].$r()));
                if y == 0.0 && !x.is_nan() {
                    return Err(division_by_zero());
                }
                let quotient = x / y;
                if quotient.is_infinite() && !x.is_infinite() {
                    return Err(overflow());
                }
                if quotient == 0.0 && x != 0.0 && !y.is_infinite() {
                    return Err(underflow());
                }
                Ok(Datum::$type(quotient))
            };
        }
    };
}

const DOUBLE: Bodies = arithmetic!(as_float8 as_float8 f64 Float8:
    "float8pl" "float8mi" "float8mul" "float8div");
const SINGLE: Bodies = arithmetic!(as_float4 as_float4 f32 Float4:
    "float4pl" "float4mi" "float4mul" "float4div");
const FLOAT48: Bodies = arithmetic!(as_float4 as_float8 f64 Float8:
    "float48pl" "float48mi" "float48mul" "float48div");
const FLOAT84: Bodies = arithmetic!(as_float8 as_float4 f64 Float8:
    "float84pl" "float84mi" "float84mul" "float84div");

const SIGNS: Bodies = scalars! {
    "float4um" => |_, a| Ok(Datum::Float4(-a[0].as_float4()));
    "float4up" => |_, a| Ok(a[0].clone());
    "float4abs" => |_, a| Ok(Datum::Float4(a[0].as_float4().abs()));
    "float8um" => |_, a| Ok(Datum::Float8(-a[0].as_float8()));
    "float8up" => |_, a| Ok(a[0].clone());
    "float8abs" => |_, a| Ok(Datum::Float8(a[0].as_float8().abs()));
};

const COMPARE4: Bodies = comparisons!(FLOAT4, "float4eq" "float4ne" "float4lt" "float4le"
    "float4gt" "float4ge" "btfloat4cmp" "float4larger" "float4smaller");
const COMPARE8: Bodies = comparisons!(FLOAT8, "float8eq" "float8ne" "float8lt" "float8le"
    "float8gt" "float8ge" "btfloat8cmp" "float8larger" "float8smaller");

fn compare_wide(a: &Datum, b: &Datum) -> std::cmp::Ordering {
    compare_f64(wide(a), wide(b))
}

fn wide(value: &Datum) -> f64 {
    match value {
        Datum::Float4(v) => f64::from(*v),
        other => other.as_float8(),
    }
}

const COMPARE48: Bodies = cross_comparisons!(compare_wide, "float48eq" "float48ne" "float48lt"
    "float48le" "float48gt" "float48ge" "btfloat48cmp");
const COMPARE84: Bodies = cross_comparisons!(compare_wide, "float84eq" "float84ne" "float84lt"
    "float84le" "float84gt" "float84ge" "btfloat84cmp");

const CONVERSIONS: Bodies = scalars! {
    "ftod" => |_, a| Ok(Datum::Float8(f64::from(a[0].as_float4())));
    "dtof" => |_, a| {
        let value = a[0].as_float8();
        let narrow = value as f32;
        if narrow.is_infinite() && value.is_finite() {
            return Err(overflow());
        }
        if narrow == 0.0 && value != 0.0 {
            return Err(underflow());
        }
        Ok(Datum::Float4(narrow))
    };
    "float4_numeric" => |_, a| Ok(Numeric::from_f32(a[0].as_float4()).into());
    "float8_numeric" => |_, a| Ok(Numeric::from_f64(a[0].as_float8()).into());
    "numeric_float4" => |_, a| {
        let text = a[0].as_numeric().to_string();
        crate::types::float::parse_f32(&text).map(Datum::Float4)
    };
    "numeric_float8" => |_, a| {
        let text = a[0].as_numeric().to_string();
        crate::types::float::parse_f64(&text).map(Datum::Float8)
    };
};

/// A function of one double, by itself.
macro_rules! simple {
    ($f:expr) => {
        |_, a| Ok(Datum::Float8($f(a[0].as_float8())))
    };
}

/// A function of one double that may fail.
macro_rules! checked {
    ($f:expr) => {
        |_, a| $f(a[0].as_float8()).map(Datum::Float8)
    };
}

const MATHEMATICS: Bodies = scalars! {
    "dround" => simple!(f64::round_ties_even);
    "dceil" => simple!(f64::ceil);
    "dfloor" => simple!(f64::floor);
    "dtrunc" => simple!(f64::trunc);
    "dsign" => simple!(|x: f64| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 });
    "dcbrt" => simple!(f64::cbrt);
    "dpi" => |_, _| Ok(Datum::Float8(std::f64::consts::PI));
    "dsqrt" => checked!(|x: f64| {
        if x < 0.0 {
            bail!(
                INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "cannot take square root of a negative number"
            );
        }
        Ok(x.sqrt())
    });
    "dexp" => checked!(|x: f64| {
        let result = x.exp();
        if result.is_infinite() && x.is_finite() {
            return Err(overflow());
        }
        if result == 0.0 && x.is_finite() {
            return Err(underflow());
        }
        Ok(result)
    });
    "dlog1" => checked!(|x| logarithm(x).map(f64::ln));
    "dlog10" => checked!(|x| logarithm(x).map(f64::log10));
    "dpow" => |_, a| power(a[0].as_float8(), a[1].as_float8()).map(Datum::Float8);
    "degrees" => checked!(|x: f64| {
        let result = x / RADIANS_PER_DEGREE;
        if result.is_infinite() && x.is_finite() { Err(overflow()) } else { Ok(result) }
    });
    "radians" => checked!(|x: f64| {
        let result = x * RADIANS_PER_DEGREE;
        if result == 0.0 && x != 0.0 { Err(underflow()) } else { Ok(result) }
    });
    "width_bucket_float8" => |_, a| {
        width_bucket(a[0].as_float8(), a[1].as_float8(), a[2].as_float8(), a[3].as_int4())
            .map(Datum::Int4)
    };
};

/// Below this the inverse hyperbolic functions need their full form.
const LARGE: f64 = 268_435_456.0;

fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let value = if size > LARGE {
        size.ln() + std::f64::consts::LN_2
    } else if size > 2.0 {
        (2.0 * size + 1.0 / ((x * x + 1.0).sqrt() + size)).ln()
    } else {
        let square = x * x;
        (size + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    if x.is_nan() { x } else { value.copysign(x) }
}

fn acosh(x: f64) -> f64 {
    if x > LARGE {
        x.ln() + std::f64::consts::LN_2
    } else if x > 2.0 {
        (2.0 * x - 1.0 / (x + (x * x - 1.0).sqrt())).ln()
    } else {
        let above = x - 1.0;
        (above + (2.0 * above + above * above).sqrt()).ln_1p()
    }
}

fn atanh(x: f64) -> f64 {
    let size = x.abs();
    let value = if size < 0.5 {
        let double = size + size;
        0.5 * (double + double * size / (1.0 - size)).ln_1p()
    } else {
        0.5 * ((size + size) / (1.0 - size)).ln_1p()
    };
    if x.is_nan() { x } else { value.copysign(x) }
}

fn logarithm(x: f64) -> Result<f64> {
    if x == 0.0 {
        bail!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero");
    }
    if x < 0.0 {
        bail!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of a negative number");
    }
    Ok(x)
}

/// POSIX `pow` with SQL's errors.
fn power(x: f64, y: f64) -> Result<f64> {
    if x.is_nan() || y.is_nan() {
        return Ok(if y == 0.0 || x == 1.0 { 1.0 } else { f64::NAN });
    }
    if x == 0.0 && y < 0.0 {
        bail!(INVALID_ARGUMENT_FOR_POWER_FUNCTION, "zero raised to a negative power is undefined");
    }
    if x < 0.0 && y.is_finite() && y.floor() != y {
        bail!(
            INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            "a negative number raised to a non-integer power yields a complex result"
        );
    }
    let result = x.powf(y);
    if x.is_finite() && y.is_finite() {
        if result.is_infinite() {
            return Err(overflow());
        }
        if result == 0.0 && x != 0.0 {
            return Err(underflow());
        }
    }
    Ok(result)
}

/// Which of `count` equal parts of `[low, high)` holds the operand, from 1; 0 and `count + 1`
/// lie outside.
fn width_bucket(operand: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    if count <= 0 {
        bail!(INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, "count must be greater than zero");
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        bail!(
            INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION,
            "operand, lower bound, and upper bound cannot be NaN"
        );
    }
    if low.is_infinite() || high.is_infinite() {
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
    // The difference of the bounds may overflow where half of it does not.
    let width = high - low;
    let position = if width.is_finite() {
        (operand - low) / width
    } else {
        (operand / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
    };
    // Rounding must not lift a value inside the bounds out of the last part.
    let bucket = (position * f64::from(count)) as i32;
    Ok(bucket.min(count - 1) + 1)
}

/// Functions of angles do not take infinities.
fn angle(x: f64, f: impl Fn(f64) -> f64) -> Result<f64> {
    if x.is_infinite() {
        return Err(input_out_of_range());
    }
    Ok(f(x))
}

/// Inverse functions take values between bounds.
fn within(x: f64, low: f64, high: f64, f: impl Fn(f64) -> f64) -> Result<f64> {
    if x < low || x > high {
        return Err(input_out_of_range());
    }
    Ok(f(x))
}

const TRIGONOMETRY: Bodies = scalars! {
    "dsin" => checked!(|x| angle(x, f64::sin));
    "dcos" => checked!(|x| angle(x, f64::cos));
    "dtan" => checked!(|x| angle(x, f64::tan));
    "dcot" => checked!(|x| angle(x, |x| 1.0 / x.tan()));
    "dasin" => checked!(|x| within(x, -1.0, 1.0, f64::asin));
    "dacos" => checked!(|x| within(x, -1.0, 1.0, f64::acos));
    "datan" => simple!(f64::atan);
    "datan2" => |_, a| Ok(Datum::Float8(a[0].as_float8().atan2(a[1].as_float8())));
    "dsinh" => simple!(f64::sinh);
    "dcosh" => simple!(f64::cosh);
    "dtanh" => simple!(f64::tanh);
    "dasinh" => simple!(asinh);
    "dacosh" => checked!(|x| within(x, 1.0, f64::INFINITY, acosh));
    "datanh" => checked!(|x| within(x, -1.0, 1.0, atanh));
};

const RADIANS_PER_DEGREE: f64 = std::f64::consts::PI / 180.0;

/// Trigonometry in degrees, exact at the multiples of 30 and 45 degrees because every function is
/// scaled by its own value there.
const DEGREES: Bodies = scalars! {
    "dsind" => checked!(|x| angle(x, sin_degrees));
    "dcosd" => checked!(|x| angle(x, cos_degrees));
    "dtand" => checked!(|x| angle(x, tan_degrees));
    "dcotd" => checked!(|x| angle(x, cot_degrees));
    "dasind" => checked!(|x| within(x, -1.0, 1.0, |x| if x >= 0.0 {
        asin_quadrant(x)
    } else {
        -asin_quadrant(-x)
    }));
    "dacosd" => checked!(|x| within(x, -1.0, 1.0, |x| if x >= 0.0 {
        acos_quadrant(x)
    } else {
        90.0 + asin_quadrant(-x)
    }));
    "datand" => simple!(|x: f64| x.atan() / 1f64.atan() * 45.0);
    "datan2d" => |_, a| {
        let angle = a[0].as_float8().atan2(a[1].as_float8());
        Ok(Datum::Float8(angle / 1f64.atan() * 45.0))
    };
};

fn sin_to_30(x: f64) -> f64 {
    let sin_30 = (30.0 * RADIANS_PER_DEGREE).sin();
    (x * RADIANS_PER_DEGREE).sin() / sin_30 / 2.0
}

fn cos_to_60(x: f64) -> f64 {
    let one_minus_cos_60 = 1.0 - (60.0 * RADIANS_PER_DEGREE).cos();
    1.0 - (1.0 - (x * RADIANS_PER_DEGREE).cos()) / one_minus_cos_60 / 2.0
}

fn sin_quadrant(x: f64) -> f64 {
    if x <= 30.0 { sin_to_30(x) } else { cos_to_60(90.0 - x) }
}

fn cos_quadrant(x: f64) -> f64 {
    if x <= 60.0 { cos_to_60(x) } else { sin_to_30(90.0 - x) }
}

fn sin_degrees(x: f64) -> f64 {
    let mut sign = 1.0;
    let mut x = x % 360.0;
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        x = 180.0 - x;
    }
    sign * sin_quadrant(x)
}

fn cos_degrees(x: f64) -> f64 {
    let mut sign = 1.0;
    let mut x = (x % 360.0).abs();
    if x > 180.0 {
        x = 360.0 - x;
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    sign * cos_quadrant(x)
}

/// Folds an angle for tangent and cotangent into the first quadrant, with the sign.
fn fold_tangent(x: f64) -> (f64, f64) {
    let mut sign = 1.0;
    let mut x = x % 360.0;
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    (x, sign)
}

fn tan_degrees(x: f64) -> f64 {
    let (x, sign) = fold_tangent(x);
    let tan_45 = sin_quadrant(45.0) / cos_quadrant(45.0);
    let result = sign * (sin_quadrant(x) / cos_quadrant(x) / tan_45);
    if result == 0.0 { 0.0 } else { result }
}

fn cot_degrees(x: f64) -> f64 {
    let (x, sign) = fold_tangent(x);
    let cot_45 = cos_quadrant(45.0) / sin_quadrant(45.0);
    let result = sign * (cos_quadrant(x) / sin_quadrant(x) / cot_45);
    if result == 0.0 { 0.0 } else { result }
}

fn asin_quadrant(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - x.acos() / 0.5f64.acos() * 60.0 }
}

fn acos_quadrant(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / 0.5f64.asin() * 30.0 } else { x.acos() / 0.5f64.acos() * 60.0 }
}
