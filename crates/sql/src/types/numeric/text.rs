//! Text in and out.

use std::fmt;

use super::{DEC_DIGITS, Numeric, Parts, Sign, Var};

/// Why a text is no numeric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a number at all.
    Syntax,
    /// A number beyond the format.
    Overflow,
}

impl Numeric {
    /// Reads what PostgreSQL's `numeric_in` reads, blanks around it included.
    pub fn parse(text: &str) -> Result<Numeric, ParseError> {
        let trimmed = trim(text);
        if let Some(special) = parse_special(trimmed) {
            return Ok(special);
        }
        let var = parse_number(trimmed.as_bytes())?;
        var.into_numeric().map_err(|_| ParseError::Overflow)
    }
}

/// Removes what C's `isspace` calls blank.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

fn parse_special(text: &str) -> Option<Numeric> {
    if text.eq_ignore_ascii_case("nan") {
        return Some(Numeric::NAN);
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    (rest.eq_ignore_ascii_case("infinity") || rest.eq_ignore_ascii_case("inf"))
        .then_some(if negative { Numeric::NEG_INFINITY } else { Numeric::INFINITY })
}

/// `[+-] digits [. digits] [e [+-] digits]`, at least one digit on either side of the point.
fn parse_number(text: &[u8]) -> Result<Var, ParseError> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mantissa_len = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let (mantissa, tail) = rest.split_at(mantissa_len);
    let point = mantissa.iter().position(|&b| b == b'.');
    let (int_part, frac_part) = match point {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    if frac_part.contains(&b'.') || (int_part.is_empty() && frac_part.is_empty()) {
        return Err(ParseError::Syntax);
    }
    let exponent = match tail {
        [] => 0,
        [b'e' | b'E', exponent @ ..] => parse_exponent(exponent)?,
        _ => return Err(ParseError::Syntax),
    };
    let decimals = int_part.iter().chain(frac_part).map(|b| u16::from(b - b'0'));
    let count = (int_part.len() + frac_part.len()) as i32;
    // Power of ten that the first decimal counts.
    let first_power = int_part.len() as i32 - 1 + exponent;
    let dscale = (frac_part.len() as i32 - exponent).max(0);
    Ok(group_decimals(negative, decimals, count, first_power, dscale))
}

fn parse_exponent(text: &[u8]) -> Result<i32, ParseError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(ParseError::Syntax);
    }
    let magnitude = digits
        .iter()
        .fold(0i64, |sum, b| (sum * 10 + i64::from(b - b'0')).min(i64::from(i32::MAX)));
    if magnitude >= i64::from(i32::MAX / 2) {
        return Err(ParseError::Overflow);
    }
    Ok(if negative { -(magnitude as i32) } else { magnitude as i32 })
}

/// Packs decimals, the first counting `10^first_power`, into base-10000 digits.
pub(super) fn group_decimals(
    negative: bool,
    decimals: impl Iterator<Item = u16>,
    count: i32,
    first_power: i32,
    dscale: i32,
) -> Var {
    let weight = first_power.div_euclid(DEC_DIGITS);
    // Decimals that precede the first one within its base-10000 digit.
    let lead = DEC_DIGITS - 1 - first_power.rem_euclid(DEC_DIGITS);
    let mut digits = Vec::with_capacity(((count + lead) / DEC_DIGITS + 1) as usize);
    let mut current = 0;
    let mut filled = lead;
    for decimal in decimals {
        current = current * 10 + decimal;
        filled += 1;
        if filled == DEC_DIGITS {
            digits.push(current);
            (current, filled) = (0, 0);
        }
    }
    if filled > 0 {
        digits.push(current * 10u16.pow((DEC_DIGITS - filled) as u32));
    }
    let mut var = Var { negative, weight, dscale, digits };
    var.strip();
    var
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write_text(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("digits are ASCII"))
    }
}

impl Numeric {
    /// Appends the value as `numeric_out` prints it.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let parts = self.parts();
        match parts.sign {
            Sign::NaN => out.extend_from_slice(b"NaN"),
            Sign::Infinity => out.extend_from_slice(b"Infinity"),
            Sign::NegInfinity => out.extend_from_slice(b"-Infinity"),
            Sign::Positive | Sign::Negative => write_finite(parts, out),
        }
    }
}

fn write_finite(parts: Parts<'_>, out: &mut Vec<u8>) {
    if parts.sign == Sign::Negative {
        out.push(b'-');
    }
    let digit = |weight: i32| -> u16 {
        let index = parts.weight - weight;
        if index < 0 { 0 } else { parts.digits.get(index as usize).copied().unwrap_or(0) }
    };
    if parts.weight < 0 || parts.digits.is_empty() {
        out.push(b'0');
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(digit(parts.weight)).as_bytes());
        for weight in (0..parts.weight).rev() {
            out.extend_from_slice(&four_decimals(digit(weight)));
        }
    }
    if parts.dscale > 0 {
        out.push(b'.');
        let mut left = parts.dscale as usize;
        let mut weight = -1;
        while left > 0 {
            let decimals = four_decimals(digit(weight));
            let take = left.min(4);
            out.extend_from_slice(&decimals[..take]);
            left -= take;
            weight -= 1;
        }
    }
}

fn four_decimals(digit: u16) -> [u8; 4] {
    let decimal = |unit: u16| b'0' + (digit / unit % 10) as u8;
    [decimal(1000), decimal(100), decimal(10), decimal(1)]
}
