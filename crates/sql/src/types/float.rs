//! Text forms of floating-point numbers.
//!
//! Output is the shortest decimal that reads back as the same number, with one refinement of
//! PostgreSQL's: a decimal that lies exactly between two numbers does not count, although
//! rounding to even would bring it back, so that readers with other rounding agree too.

use super::scalar::{invalid_syntax, is_space, trim_spaces};
use crate::error::{Result, sql_error};

/// Reads `double precision`.
pub(crate) fn parse_f64(text: &str) -> Result<f64> {
    parse(text, "double precision", |digits| digits.parse::<f64>().ok(), |v| v)
}

/// Reads `real`, rounding once.
pub(crate) fn parse_f32(text: &str) -> Result<f32> {
    parse(text, "real", |digits| digits.parse::<f32>().ok(), |v| v as f32)
}

trait Float: Copy {
    fn is_infinite(self) -> bool;
    fn is_zero(self) -> bool;
}

impl Float for f64 {
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl Float for f32 {
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

fn parse<F: Float>(
    text: &str,
    type_name: &str,
    decimal: impl Fn(&str) -> Option<F>,
    narrow: impl Fn(f64) -> F,
) -> Result<F> {
    let number = trim_spaces(text);
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let sign = if number.starts_with('-') { -1.0 } else { 1.0 };
    let special = match unsigned.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        _ => None,
    };
    if let Some(special) = special {
        return Ok(narrow(special));
    }
    let shown = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let beyond = || {
        let shown = &shown[..number.len()];
        sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "\"{shown}\" is out of range for type {type_name}")
    };
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let exact = parse_hex(hex).ok_or_else(|| invalid_syntax(type_name, text))?;
        let value = narrow(sign * exact.value());
        let is_lost = value.is_zero() && exact.mantissa != 0;
        return if value.is_infinite() || is_lost { Err(beyond()) } else { Ok(value) };
    }
    let plain = unsigned
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let value = plain.then(|| decimal(number)).flatten();
    let value = value.ok_or_else(|| invalid_syntax(type_name, text))?;
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or("");
    let underflow = value.is_zero() && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'));
    if value.is_infinite() || underflow {
        return Err(beyond());
    }
    Ok(value)
}

/// A number in base two: what it is exactly, but for a last bit that stands for all that are left out.
struct Binary {
    mantissa: u64,
    exponent: i64,
}

impl Binary {
    fn value(&self) -> f64 {
        // Beyond that there is nothing but zero and infinity; in steps, since no power of two may be either.
        let mut left = self.exponent.clamp(-2200, 2200) as i32;
        let mut value = self.mantissa as f64;
        while left != 0 {
            let step = left.clamp(-1000, 1000);
            value *= 2f64.powi(step);
            left -= step;
        }
        value
    }
}

/// C's hexadecimal floats, after the `0x`.
fn parse_hex(text: &str) -> Option<Binary> {
    let (mantissa, exponent) = match text.find(['p', 'P']) {
        Some(at) => (&text[..at], power(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut parsed = Binary { mantissa: 0, exponent: exponent - 4 * fraction.len() as i64 };
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if parsed.mantissa < 1 << 58 {
            parsed.mantissa = parsed.mantissa << 4 | digit;
        } else {
            parsed.mantissa |= u64::from(digit != 0);
            parsed.exponent += 4;
        }
    }
    Some(parsed)
}

/// An exponent; one that no number could have is as good as any other such.
fn power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(1 << 40);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Appends a `double precision`.
pub(crate) fn write_f64(value: f64, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(value, out) {
        return;
    }
    if extra_float_digits > 0 {
        let bits = value.abs().to_bits();
        let shortest = Decimal::of_ryu(ryu::Buffer::new().format_finite(value.abs()));
        let exponent = (bits >> 52) as i32;
        let mantissa = bits & ((1 << 52) - 1);
        let exact = shortest.strictly_inside(mantissa, exponent, 52, 1075, |digits| {
            format!("{:.*e}", digits - 1, value.abs())
        });
        write_decimal(value < 0.0 || value.is_sign_negative(), &exact, 15, out);
    } else {
        write_general(value, (15 + extra_float_digits).max(1), out);
    }
}

/// Appends a `real`.
pub(crate) fn write_f32(value: f32, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(f64::from(value), out) {
        return;
    }
    if extra_float_digits > 0 {
        let bits = value.abs().to_bits();
        let shortest = Decimal::of_ryu(ryu::Buffer::new().format_finite(value.abs()));
        let exponent = (bits >> 23) as i32;
        let mantissa = u64::from(bits & ((1 << 23) - 1));
        let exact = shortest.strictly_inside(mantissa, exponent, 23, 150, |digits| {
            format!("{:.*e}", digits - 1, value.abs())
        });
        write_decimal(value.is_sign_negative(), &exact, 6, out);
    } else {
        write_general(f64::from(value), (6 + extra_float_digits).max(1), out);
    }
}

fn write_special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

/// `digits · 10^exponent`, without trailing zeros in the digits.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// Reads what `ryu` and `{:e}` print.
    fn of_ryu(text: &str) -> Decimal {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().expect("an exponent is a number"))
            }
            None => (text, 0),
        };
        let mut decimal = Decimal { digits: 0, exponent };
        let mut after_point = false;
        for b in mantissa.bytes() {
            if b == b'.' {
                after_point = true;
                continue;
            }
            decimal.digits = decimal.digits * 10 + u64::from(b - b'0');
            decimal.exponent -= i32::from(after_point);
        }
        while decimal.digits != 0 && decimal.digits.is_multiple_of(10) {
            decimal.digits /= 10;
            decimal.exponent += 1;
        }
        decimal
    }

    /// This decimal, or a longer one if it lies exactly between two floats.
    ///
    /// `mantissa` and `exponent` are the float's fields, `bits` the mantissa's width, `bias` what
    /// makes the value `full mantissa · 2^(exponent − bias)`.
    fn strictly_inside(
        self,
        mantissa: u64,
        exponent: i32,
        bits: u32,
        bias: i32,
        rounded_to: impl Fn(usize) -> String,
    ) -> Decimal {
        // With an odd mantissa the bounds were never candidates; below, a bound has one bit more
        // than the mantissa, and only then can 10^e with e ≥ 0 be part of it.
        if mantissa & 1 == 1 || !(0..=23).contains(&self.exponent) {
            return self;
        }
        let (full, power) = if exponent == 0 {
            (mantissa, 1 - bias)
        } else {
            (mantissa | 1 << bits, exponent - bias)
        };
        let below_is_closer = mantissa == 0 && exponent > 1;
        let is_bound = |decimal: Decimal| {
            let upper = (u128::from(2 * full + 1), power - 1);
            let lower = if below_is_closer {
                (u128::from(4 * full - 1), power - 2)
            } else {
                (u128::from(2 * full - 1), power - 1)
            };
            decimal.equals_binary(upper) || decimal.equals_binary(lower)
        };
        if !is_bound(self) {
            return self;
        }
        let first = self.digits.ilog10() as usize + 2;
        (first..=17)
            .map(|digits| Decimal::of_ryu(&rounded_to(digits)))
            .find(|decimal| !is_bound(*decimal))
            .expect("seventeen digits name every float")
    }

    /// Whether the value is `odd · 2^power`; for exponents from 0 to 23.
    fn equals_binary(self, (odd, power): (u128, i32)) -> bool {
        if !(0..=23).contains(&self.exponent) {
            return false;
        }
        let scaled = u128::from(self.digits) * 5u128.pow(self.exponent as u32);
        let zeros = scaled.trailing_zeros();
        scaled >> zeros == odd && zeros as i32 + self.exponent == power
    }
}

/// Writes fixed or scientific form, the latter from 10^`max_power` and below 10^-4.
fn write_decimal(negative: bool, decimal: &Decimal, max_power: i32, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(decimal.digits).as_bytes();
    if decimal.digits == 0 {
        out.push(b'0');
        return;
    }
    let power = decimal.exponent + digits.len() as i32 - 1;
    if !(-4..max_power).contains(&power) {
        write_scientific(digits, power, out);
    } else if power < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-1 - power) as usize, b'0');
        out.extend_from_slice(digits);
    } else if decimal.exponent >= 0 {
        out.extend_from_slice(digits);
        out.resize(out.len() + decimal.exponent as usize, b'0');
    } else {
        let (whole, fraction) = digits.split_at(power as usize + 1);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

fn write_scientific(digits: &[u8], power: i32, out: &mut Vec<u8>) {
    out.push(digits[0]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    out.push(b'e');
    out.push(if power < 0 { b'-' } else { b'+' });
    if power.abs() < 10 {
        out.push(b'0');
    }
    out.extend_from_slice(itoa::Buffer::new().format(power.abs()).as_bytes());
}

/// C's `%g`, as messages show a number.
pub(crate) fn shown(value: f64) -> String {
    if !value.is_finite() {
        let infinity = if value < 0.0 { "-Infinity" } else { "Infinity" };
        return if value.is_nan() { "NaN" } else { infinity }.to_owned();
    }
    let mut shown = Vec::new();
    write_general(value, 6, &mut shown);
    String::from_utf8(shown).expect("digits are ASCII")
}

/// C's `%.*g` of a finite number.
pub(crate) fn write_general(value: f64, precision: i32, out: &mut Vec<u8>) {
    let decimal = {
        let text = format!("{:.*e}", precision as usize - 1, value.abs());
        Decimal::of_ryu(&text)
    };
    write_decimal(value.is_sign_negative(), &decimal, precision, out);
}
