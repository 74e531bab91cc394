//! Rounding, scales, and conversions to and from the machine's numbers.

use std::fmt::Write;

use super::{DEC_DIGITS, MAX_DISPLAY_SCALE, NBASE, Numeric, Sign, Var};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::float::write_general;

/// No number has a digit so far before the point.
const BEFORE_ALL: i32 = -131_073;

impl Numeric {
    /// Applies `f` to a finite value; the specials stay what they are.
    fn map(&self, f: impl FnOnce(Var) -> Var) -> Result<Numeric> {
        match self.var() {
            Some(var) => f(var).into_numeric(),
            None => Ok(self.clone()),
        }
    }

    /// Rounds half away from zero to `scale` decimals, negative ones before the point.
    pub fn round(&self, scale: i32) -> Result<Numeric> {
        self.map(|mut var| {
            var.round(scale.clamp(BEFORE_ALL, MAX_DISPLAY_SCALE));
            var
        })
    }

    /// Cuts towards zero at `scale` decimals.
    pub fn trunc(&self, scale: i32) -> Result<Numeric> {
        self.map(|mut var| {
            var.trunc(scale.clamp(BEFORE_ALL, MAX_DISPLAY_SCALE));
            var
        })
    }

    pub fn ceil(&self) -> Result<Numeric> {
        self.map(|var| step(var, false))
    }

    pub fn floor(&self) -> Result<Numeric> {
        self.map(|var| step(var, true))
    }

    /// The fewest decimals that show the value exactly; `None` for the specials.
    pub fn min_scale(&self) -> Option<i32> {
        let parts = self.parts();
        if !parts.sign.is_finite() {
            return None;
        }
        let Some(&last) = parts.digits.last() else { return Some(0) };
        let last_weight = parts.weight - parts.digits.len() as i32 + 1;
        let zeros = (0..DEC_DIGITS).take_while(|&i| last % 10u16.pow(i as u32 + 1) == 0).count();
        Some((-last_weight * DEC_DIGITS - zeros as i32).max(0))
    }

    /// The value without decimals that are zero.
    pub fn trim_scale(&self) -> Result<Numeric> {
        let scale = self.min_scale().unwrap_or(0);
        self.map(|mut var| {
            var.dscale = scale;
            var
        })
    }

    pub fn is_integral(&self) -> bool {
        self.min_scale() == Some(0)
    }

    /// The nearest integer; `0A000` for the specials, `22003` beyond the range, in the words for
    /// `type_name`.
    pub fn to_int(&self, type_name: &str, min: i64, max: i64) -> Result<i64> {
        match self.parts().sign {
            Sign::NaN => bail!(FEATURE_NOT_SUPPORTED, "cannot convert NaN to {type_name}"),
            Sign::Infinity | Sign::NegInfinity => {
                bail!(FEATURE_NOT_SUPPORTED, "cannot convert infinity to {type_name}")
            }
            _ => {}
        }
        let mut var = Var::from_parts(self.parts());
        var.round(0);
        var.to_i128()
            .and_then(|value| i64::try_from(value).ok())
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| int_out_of_range(type_name))
    }

    /// The nearest double; too large a value is infinite.
    pub fn to_f64(&self) -> f64 {
        match self.parts().sign {
            Sign::NaN => f64::NAN,
            Sign::Infinity => f64::INFINITY,
            Sign::NegInfinity => f64::NEG_INFINITY,
            _ => self.to_string().parse().expect("a numeric's text is a number"),
        }
    }

    /// The double's first fifteen significant digits.
    pub fn from_f64(value: f64) -> Numeric {
        Numeric::from_float(value, 15)
    }

    /// The float's first six significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        Numeric::from_float(f64::from(value), 6)
    }

    fn from_float(value: f64, digits: i32) -> Numeric {
        if value.is_nan() {
            return Numeric::NAN;
        }
        if value.is_infinite() {
            return if value > 0.0 { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
        }
        let mut text = Vec::with_capacity(24);
        write_general(value, digits, &mut text);
        let text = std::str::from_utf8(&text).expect("digits are ASCII");
        Numeric::parse(text).expect("a finite double is a numeric")
    }
}

/// `22003` for an integer type.
#[cold]
pub fn int_out_of_range(type_name: &str) -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "{type_name} out of range")
}

/// The integer at or next to the value, below it or above it.
fn step(var: Var, down: bool) -> Var {
    let mut whole = var.clone();
    whole.trunc(0);
    whole.strip();
    if var.negative == down && whole.cmp(&var).is_ne() {
        let mut one = Var::from_i128(1);
        one.negative = down;
        whole = whole.add(&one);
    }
    whole.dscale = 0;
    whole
}

impl Var {
    /// The integer part; `None` when it exceeds 128 bits.
    pub fn to_i128(&self) -> Option<i128> {
        let mut value: i128 = 0;
        for i in 0..=self.weight {
            let digit = self.digits.get(i as usize).copied().unwrap_or(0);
            value = value.checked_mul(i128::from(NBASE))?.checked_add(i128::from(digit))?;
        }
        Some(if self.negative { -value } else { value })
    }

    /// The nearest double; too large a value is infinite.
    pub fn to_f64(&self) -> f64 {
        let mut text = String::from(if self.negative { "-0" } else { "0" });
        for digit in &self.digits {
            write!(text, "{digit:04}").expect("a String takes all");
        }
        let last_power = (self.weight + 1 - self.digits.len() as i32) * DEC_DIGITS;
        write!(text, "e{last_power}").expect("a String takes all");
        text.parse().expect("digits and an exponent are a number")
    }
}
