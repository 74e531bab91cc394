//! Arbitrary-precision decimal numbers with a display scale, as PostgreSQL's `numeric`.
//!
//! A finite value is `±Σ digits[i] · 10000^(weight − i)`, shown with `dscale` digits after the
//! point. It is kept without leading or trailing zero digits, so equal values have equal digits
//! whatever their scales.

mod arith;
mod round;
mod text;
mod transcendental;
mod var;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

pub use arith::division_by_zero;
pub use round::int_out_of_range;
pub use text::ParseError;
pub(crate) use var::Var;

use super::typmod::TypeMod;
use crate::error::{Result, sql_error};

/// Decimal digits in one base-10000 digit.
pub const DEC_DIGITS: i32 = 4;
/// The base of the stored digits.
pub const NBASE: i32 = 10000;
/// Largest display scale a value may have.
pub const MAX_DISPLAY_SCALE: i32 = 16383;
/// Largest and smallest weight of a first digit.
const WEIGHT_MAX: i32 = i16::MAX as i32;
const WEIGHT_MIN: i32 = i16::MIN as i32;

const INLINE_DIGITS: usize = 5;

/// Sign, or which of the special values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Sign {
    Positive,
    Negative,
    NaN,
    Infinity,
    NegInfinity,
}

impl Sign {
    /// Zero and positive numbers count as positive; the specials are not finite.
    pub fn is_finite(self) -> bool {
        matches!(self, Sign::Positive | Sign::Negative)
    }

    /// The opposite sign; NaN has none.
    pub fn negated(self) -> Sign {
        match self {
            Sign::Positive => Sign::Negative,
            Sign::Negative => Sign::Positive,
            Sign::NaN => Sign::NaN,
            Sign::Infinity => Sign::NegInfinity,
            Sign::NegInfinity => Sign::Infinity,
        }
    }
}

/// A numeric value: 16 bytes, up to five base-10000 digits inline, larger ones shared.
#[derive(Clone)]
pub struct Numeric(Repr);

#[derive(Clone)]
enum Repr {
    Inline { sign: Sign, len: u8, weight: i16, dscale: u16, digits: [u16; INLINE_DIGITS] },
    Shared(Arc<SharedNumeric>),
}

struct SharedNumeric {
    sign: Sign,
    weight: i16,
    dscale: u16,
    digits: Box<[u16]>,
}

const _: () = assert!(size_of::<Numeric>() == 16);

/// The parts of a numeric, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    pub sign: Sign,
    /// Power of 10000 that the first digit counts; 0 for zero.
    pub weight: i32,
    /// Decimal digits shown after the point.
    pub dscale: i32,
    /// Base-10000 digits, most significant first, without leading or trailing zeros.
    pub digits: &'a [u16],
}

impl Numeric {
    pub const ZERO: Numeric = Numeric::special(Sign::Positive);
    pub const NAN: Numeric = Numeric::special(Sign::NaN);
    pub const INFINITY: Numeric = Numeric::special(Sign::Infinity);
    pub const NEG_INFINITY: Numeric = Numeric::special(Sign::NegInfinity);

    const fn special(sign: Sign) -> Numeric {
        Numeric(Repr::Inline { sign, len: 0, weight: 0, dscale: 0, digits: [0; INLINE_DIGITS] })
    }

    pub fn parts(&self) -> Parts<'_> {
        match &self.0 {
            Repr::Inline { sign, len, weight, dscale, digits } => Parts {
                sign: *sign,
                weight: i32::from(*weight),
                dscale: i32::from(*dscale),
                digits: &digits[..usize::from(*len)],
            },
            Repr::Shared(shared) => Parts {
                sign: shared.sign,
                weight: i32::from(shared.weight),
                dscale: i32::from(shared.dscale),
                digits: &shared.digits,
            },
        }
    }

    /// Builds a finite value, stripping zero digits at both ends.
    ///
    /// `22003` when the weight or the scale exceeds the format.
    pub fn from_parts(sign: Sign, weight: i32, dscale: i32, digits: &[u16]) -> Result<Numeric> {
        debug_assert!(sign.is_finite() && dscale >= 0);
        debug_assert!(digits.iter().all(|&d| i32::from(d) < NBASE));
        let leading = digits.iter().take_while(|&&d| d == 0).count();
        let digits = &digits[leading..];
        let trailing = digits.iter().rev().take_while(|&&d| d == 0).count();
        let digits = &digits[..digits.len() - trailing];
        let (sign, weight) =
            if digits.is_empty() { (Sign::Positive, 0) } else { (sign, weight - leading as i32) };
        if !(WEIGHT_MIN..=WEIGHT_MAX).contains(&weight) || dscale > MAX_DISPLAY_SCALE {
            return Err(overflow());
        }
        let (weight, dscale) = (weight as i16, dscale as u16);
        Ok(Numeric(if digits.len() <= INLINE_DIGITS {
            let mut inline = [0; INLINE_DIGITS];
            inline[..digits.len()].copy_from_slice(digits);
            Repr::Inline { sign, len: digits.len() as u8, weight, dscale, digits: inline }
        } else {
            Repr::Shared(Arc::new(SharedNumeric { sign, weight, dscale, digits: digits.into() }))
        }))
    }

    pub fn is_nan(&self) -> bool {
        self.parts().sign == Sign::NaN
    }

    pub fn is_finite(&self) -> bool {
        self.parts().sign.is_finite()
    }

    pub fn is_zero(&self) -> bool {
        let parts = self.parts();
        parts.sign.is_finite() && parts.digits.is_empty()
    }

    /// Digits shown after the point; 0 for the special values.
    pub fn dscale(&self) -> i32 {
        self.parts().dscale
    }
}

/// The error of a result that the format cannot hold.
#[cold]
pub(crate) fn overflow() -> crate::error::SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// -∞ < numbers < +∞ < NaN, and NaN equals itself; scales do not matter.
impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        fn rank(sign: Sign) -> u8 {
            match sign {
                Sign::NegInfinity => 0,
                Sign::Negative => 1,
                Sign::Positive => 2,
                Sign::Infinity => 3,
                Sign::NaN => 4,
            }
        }
        let (a, b) = (self.parts(), other.parts());
        rank(a.sign).cmp(&rank(b.sign)).then_with(|| match a.sign {
            Sign::Positive => cmp_magnitude(a, b),
            Sign::Negative => cmp_magnitude(b, a),
            _ => Ordering::Equal,
        })
    }
}

/// Compares absolute values; digits are free of zeros at both ends, so weight decides first.
fn cmp_magnitude(a: Parts<'_>, b: Parts<'_>) -> Ordering {
    match (a.digits.is_empty(), b.digits.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.weight.cmp(&b.weight).then_with(|| a.digits.cmp(b.digits)),
    }
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl fmt::Debug for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Every integer type becomes a numeric of scale zero.
macro_rules! from_int {
    ($($type:ty)*) => {
        $(impl From<$type> for Numeric {
            fn from(value: $type) -> Numeric {
                Var::from_i128(i128::from(value)).into_numeric().expect("an integer fits")
            }
        })*
    };
}

from_int!(i16 i32 u32 i64 u64 i128);

impl Numeric {
    /// The value under `numeric(p, s)`: rounded to the scale, `22003` with PostgreSQL's detail
    /// when it has too many digits before the point.
    pub fn apply_typmod(&self, typmod: TypeMod) -> Result<Numeric> {
        let Some((precision, scale)) = typmod.numeric() else { return Ok(self.clone()) };
        let parts = self.parts();
        if !parts.sign.is_finite() {
            return if parts.sign == Sign::NaN {
                Ok(self.clone())
            } else {
                Err(sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(
                    format!(
                        "A field with precision {precision}, scale {scale} cannot hold an infinite \
                         value."
                    ),
                ))
            };
        }
        let mut var = Var::from_parts(parts);
        var.round(scale);
        var.strip();
        let max_digits = precision - scale;
        if var.decimals_before_point() > max_digits && !var.is_zero() {
            let (base, limit) = if max_digits != 0 { ("10^", max_digits) } else { ("", 1) };
            return Err(sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
                .with_detail(format!(
                    "A field with precision {precision}, scale {scale} must round to an absolute \
                     value less than {base}{limit}."
                )));
        }
        var.into_numeric()
    }
}
