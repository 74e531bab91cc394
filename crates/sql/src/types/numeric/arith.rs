//! Addition, subtraction, multiplication, division and remainder.

use std::cmp::Ordering;

use super::{DEC_DIGITS, MAX_DISPLAY_SCALE, NBASE, Numeric, Parts, Sign, Var};
use crate::error::{Result, SqlError, sql_error};

/// Significant digits that divisions and irrational functions yield at least.
pub(super) const MIN_SIGNIFICANT_DIGITS: i32 = 16;
/// Largest scale that a division or an irrational function chooses by itself.
pub(super) const MAX_CHOSEN_SCALE: i32 = 1000;

/// `22012`.
#[cold]
pub fn division_by_zero() -> SqlError {
    sql_error!(DIVISION_BY_ZERO, "division by zero")
}

impl Var {
    /// The digit that counts `10000^weight`.
    fn digit_at(&self, weight: i32) -> i32 {
        usize::try_from(self.weight - weight)
            .ok()
            .and_then(|i| self.digits.get(i))
            .map_or(0, |&digit| i32::from(digit))
    }

    /// Weight of the last digit.
    fn last_weight(&self) -> i32 {
        self.weight - self.digits.len() as i32 + 1
    }

    /// Compares absolute values; digits need not be stripped.
    pub fn cmp_abs(&self, other: &Var) -> Ordering {
        let high = self.weight.max(other.weight);
        let low = self.last_weight().min(other.last_weight());
        (low..=high)
            .rev()
            .map(|weight| self.digit_at(weight).cmp(&other.digit_at(weight)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    pub fn cmp(&self, other: &Var) -> Ordering {
        match (self.negative && !self.is_zero(), other.negative && !other.is_zero()) {
            (false, false) => self.cmp_abs(other),
            (true, true) => other.cmp_abs(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    /// The sum; its scale is the larger of the two.
    pub fn add(&self, other: &Var) -> Var {
        let mut sum = if self.negative == other.negative {
            let mut sum = add_abs(self, other);
            sum.negative = self.negative;
            sum
        } else {
            match self.cmp_abs(other) {
                Ordering::Equal => Var::zero(0),
                Ordering::Greater => {
                    let mut sum = sub_abs(self, other);
                    sum.negative = self.negative;
                    sum
                }
                Ordering::Less => {
                    let mut sum = sub_abs(other, self);
                    sum.negative = other.negative;
                    sum
                }
            }
        };
        sum.dscale = self.dscale.max(other.dscale);
        sum.strip();
        sum
    }

    pub fn neg(mut self) -> Var {
        self.negative = !self.negative && !self.is_zero();
        self
    }

    /// The difference; its scale is the larger of the two.
    pub fn sub(&self, other: &Var) -> Var {
        self.add(&other.clone().neg())
    }

    /// The exact product; its scale is the sum of both.
    pub fn mul(&self, other: &Var) -> Var {
        let (long, short) =
            if self.digits.len() >= other.digits.len() { (self, other) } else { (other, self) };
        let dscale = self.dscale + other.dscale;
        if short.digits.is_empty() {
            return Var::zero(dscale);
        }
        // A sum of 10^11 products of two digits stays below 2^64, more than there can be.
        let mut sums = vec![0u64; long.digits.len() + short.digits.len()];
        for (i, &a) in short.digits.iter().enumerate() {
            base::park::checkpoint();
            if a == 0 {
                continue;
            }
            for (sum, &b) in sums[i + 1..].iter_mut().zip(&long.digits) {
                *sum += u64::from(a) * u64::from(b);
            }
        }
        let mut carry = 0;
        let mut digits = vec![0u16; sums.len()];
        for (digit, sum) in digits.iter_mut().zip(&sums).rev() {
            let total = sum + carry;
            *digit = (total % NBASE as u64) as u16;
            carry = total / NBASE as u64;
        }
        debug_assert_eq!(carry, 0);
        let mut product = Var {
            negative: self.negative != other.negative,
            weight: self.weight + other.weight + 1,
            dscale,
            digits,
        };
        product.strip();
        product
    }

    /// The product rounded to a scale.
    pub fn mul_rounded(&self, other: &Var, rscale: i32) -> Var {
        let mut product = self.mul(other);
        product.round(rscale);
        product.strip();
        product
    }

    /// The quotient to `rscale` decimal digits after the point, rounded or cut off; the divisor
    /// is not zero.
    pub fn div(&self, divisor: &Var, rscale: i32, round: bool) -> Var {
        let (mut dividend, mut divisor) = (self.clone(), divisor.clone());
        dividend.strip();
        divisor.strip();
        let negative = dividend.negative != divisor.negative;
        let weight = dividend.weight - divisor.weight;
        // Digits of the quotient from `weight` down to the last wanted, and one more to round by.
        let wanted = weight + 1 + (rscale + DEC_DIGITS).div_euclid(DEC_DIGITS) + 1;
        if dividend.digits.is_empty() || wanted <= 0 {
            return Var::zero(rscale.max(0));
        }
        let digits = divide_digits(&dividend.digits, &divisor.digits, wanted as usize);
        let mut quotient = Var { negative, weight, dscale: 0, digits };
        if round {
            quotient.round(rscale);
        } else {
            quotient.trunc(rscale);
        }
        quotient.strip();
        quotient
    }

    /// The scale that a division gives its result: at least sixteen significant digits, and no
    /// fewer decimals than either operand shows.
    pub fn div_scale(&self, divisor: &Var) -> i32 {
        let first = |var: &Var| {
            let index = var.digits.iter().position(|&digit| digit != 0);
            index.map_or((0, 0), |i| (var.weight - i as i32, var.digits[i]))
        };
        let (weight1, digit1) = first(self);
        let (weight2, digit2) = first(divisor);
        let weight = weight1 - weight2 - i32::from(digit1 <= digit2);
        (MIN_SIGNIFICANT_DIGITS - weight * DEC_DIGITS)
            .max(self.dscale)
            .max(divisor.dscale)
            .clamp(0, MAX_CHOSEN_SCALE)
    }

    /// The remainder of the division that cuts towards zero; the divisor is not zero.
    pub fn rem(&self, divisor: &Var) -> Var {
        let mut quotient = self.div(divisor, 0, false);
        quotient.dscale = 0;
        self.sub(&quotient.mul(divisor))
    }
}

fn add_abs(a: &Var, b: &Var) -> Var {
    let high = a.weight.max(b.weight) + 1;
    let low = a.last_weight().min(b.last_weight());
    let mut digits = vec![0u16; (high - low + 1).max(0) as usize];
    let mut carry = 0;
    for (digit, weight) in digits.iter_mut().rev().zip(low..) {
        let sum = a.digit_at(weight) + b.digit_at(weight) + carry;
        carry = i32::from(sum >= NBASE);
        *digit = (sum - carry * NBASE) as u16;
    }
    Var { negative: false, weight: high, dscale: 0, digits }
}

/// `a − b` for `|a| ≥ |b|`.
fn sub_abs(a: &Var, b: &Var) -> Var {
    let high = a.weight.max(b.weight);
    let low = a.last_weight().min(b.last_weight());
    let mut digits = vec![0u16; (high - low + 1) as usize];
    let mut borrow = 0;
    for (digit, weight) in digits.iter_mut().rev().zip(low..) {
        let difference = a.digit_at(weight) - b.digit_at(weight) - borrow;
        borrow = i32::from(difference < 0);
        *digit = (difference + borrow * NBASE) as u16;
    }
    debug_assert_eq!(borrow, 0, "the larger value comes first");
    Var { negative: false, weight: high, dscale: 0, digits }
}

/// The first `wanted` digits of `a / b`, the first counting `10000^0` when both are seen as
/// `d.ddd…`; cut off, not rounded. Knuth's algorithm D.
fn divide_digits(a: &[u16], b: &[u16], wanted: usize) -> Vec<u16> {
    const BASE: i64 = NBASE as i64;
    if let [single] = *b {
        let divisor = i64::from(single);
        let mut rest = 0;
        return (0..wanted)
            .map(|i| {
                let current = rest * BASE + a.get(i).map_or(0, |&d| i64::from(d));
                rest = current % divisor;
                (current / divisor) as u16
            })
            .collect();
    }
    let scale = BASE / (i64::from(b[0]) + 1);
    let n = b.len();
    let b = scaled(b.iter().copied(), n, scale);
    // One leading zero for the digit being tried, then as many digits as the quotient needs.
    let total = wanted + n;
    let padded = std::iter::once(0).chain(a.iter().copied()).chain(std::iter::repeat(0));
    let mut rest = scaled(padded, total + 1, scale);
    let b = &b[b.len() - n..];
    let rest = &mut rest[1..];
    (0..wanted)
        .map(|i| {
            if i % 64 == 0 {
                base::park::checkpoint();
            }
            let window = &mut rest[i..i + n + 1];
            let two = window[0] * BASE + window[1];
            let mut guess = (two / b[0]).min(BASE - 1);
            while guess * b[1] > (two - guess * b[0]) * BASE + window[2] {
                guess -= 1;
            }
            let mut borrow = 0;
            for (digit, &factor) in window[1..].iter_mut().zip(b).rev() {
                let difference = *digit - guess * factor - borrow;
                *digit = difference.rem_euclid(BASE);
                borrow = -difference.div_euclid(BASE);
            }
            window[0] -= borrow;
            if window[0] < 0 {
                guess -= 1;
                let mut carry = 0;
                for (digit, &factor) in window[1..].iter_mut().zip(b).rev() {
                    let sum = *digit + factor + carry;
                    carry = sum / BASE;
                    *digit = sum % BASE;
                }
                window[0] += carry;
            }
            guess as u16
        })
        .collect()
}

/// `count` digits times a small factor, with one digit more in front.
fn scaled(digits: impl Iterator<Item = u16>, count: usize, factor: i64) -> Vec<i64> {
    let mut out = vec![0; count + 1];
    for (slot, digit) in out[1..].iter_mut().zip(digits) {
        *slot = i64::from(digit) * factor;
    }
    for i in (1..=count).rev() {
        out[i - 1] += out[i] / i64::from(NBASE);
        out[i] %= i64::from(NBASE);
    }
    out
}

/// -1, 0 or 1, infinities included; NaN must not come here.
fn signum(parts: Parts<'_>) -> i32 {
    match parts.sign {
        Sign::NegInfinity => -1,
        Sign::Infinity => 1,
        _ if parts.digits.is_empty() => 0,
        Sign::Negative => -1,
        _ => 1,
    }
}

fn infinity(negative: bool) -> Numeric {
    if negative { Numeric::NEG_INFINITY } else { Numeric::INFINITY }
}

impl Numeric {
    /// The finite value as a working number; `None` for the specials.
    pub(crate) fn var(&self) -> Option<Var> {
        let parts = self.parts();
        parts.sign.is_finite().then(|| Var::from_parts(parts))
    }

    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        if let (Some(a), Some(b)) = (self.var(), other.var()) {
            return a.add(&b).into_numeric();
        }
        Ok(match (self.parts().sign, other.parts().sign) {
            (Sign::NaN, _)
            | (_, Sign::NaN)
            | (Sign::Infinity, Sign::NegInfinity)
            | (Sign::NegInfinity, Sign::Infinity) => Numeric::NAN,
            (a, b) => infinity(a == Sign::NegInfinity || b == Sign::NegInfinity),
        })
    }

    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        self.add(&other.neg())
    }

    pub fn neg(&self) -> Numeric {
        match self.parts().sign {
            Sign::NaN => Numeric::NAN,
            Sign::Infinity => Numeric::NEG_INFINITY,
            Sign::NegInfinity => Numeric::INFINITY,
            _ => Var::from_parts(self.parts())
                .neg()
                .into_numeric()
                .expect("a sign does not change the size"),
        }
    }

    pub fn abs(&self) -> Numeric {
        if signum_or_nan(self) == Some(-1) { self.neg() } else { self.clone() }
    }

    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        if let (Some(a), Some(b)) = (self.var(), other.var()) {
            let mut product = a.mul(&b);
            if product.dscale > MAX_DISPLAY_SCALE {
                product.round(MAX_DISPLAY_SCALE);
            }
            return product.into_numeric();
        }
        let (Some(a), Some(b)) = (signum_or_nan(self), signum_or_nan(other)) else {
            return Ok(Numeric::NAN);
        };
        Ok(if a * b == 0 { Numeric::NAN } else { infinity(a * b < 0) })
    }

    /// What a division that involves NaN or infinities yields; `None` when both are finite.
    fn special_quotient(&self, divisor: &Numeric) -> Result<Option<Numeric>> {
        let (a, b) = (self.parts(), divisor.parts());
        if a.sign.is_finite() && b.sign.is_finite() {
            if b.digits.is_empty() {
                return Err(division_by_zero());
            }
            return Ok(None);
        }
        if a.sign == Sign::NaN || b.sign == Sign::NaN {
            return Ok(Some(Numeric::NAN));
        }
        Ok(Some(match (a.sign.is_finite(), b.sign.is_finite()) {
            (false, false) => Numeric::NAN,
            (true, _) => Numeric::ZERO,
            (false, true) => match signum(b) {
                0 => return Err(division_by_zero()),
                sign => infinity(signum(a) * sign < 0),
            },
        }))
    }

    pub fn div(&self, divisor: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.special_quotient(divisor)? {
            return Ok(special);
        }
        let (a, b) = (Var::from_parts(self.parts()), Var::from_parts(divisor.parts()));
        a.div(&b, a.div_scale(&b), true).into_numeric()
    }

    /// The integer quotient, cut towards zero.
    pub fn div_trunc(&self, divisor: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.special_quotient(divisor)? {
            return Ok(special);
        }
        let (a, b) = (Var::from_parts(self.parts()), Var::from_parts(divisor.parts()));
        a.div(&b, 0, false).into_numeric()
    }

    /// The remainder with the dividend's sign.
    pub fn rem(&self, divisor: &Numeric) -> Result<Numeric> {
        let (a, b) = (self.parts(), divisor.parts());
        if a.sign == Sign::NaN || b.sign == Sign::NaN {
            return Ok(Numeric::NAN);
        }
        if b.sign.is_finite() && b.digits.is_empty() {
            return Err(division_by_zero());
        }
        if !a.sign.is_finite() {
            return Ok(Numeric::NAN);
        }
        if !b.sign.is_finite() {
            return Ok(self.clone());
        }
        Var::from_parts(a).rem(&Var::from_parts(b)).into_numeric()
    }

    /// -1, 0, 1, or NaN.
    pub fn sign(&self) -> Numeric {
        signum_or_nan(self).map_or(Numeric::NAN, Numeric::from)
    }

    /// The greatest common divisor, never negative.
    pub fn gcd(&self, other: &Numeric) -> Result<Numeric> {
        let (Some(mut a), Some(mut b)) = (self.var(), other.var()) else {
            return Ok(Numeric::NAN);
        };
        let dscale = a.dscale.max(b.dscale);
        if a.cmp_abs(&b).is_lt() {
            std::mem::swap(&mut a, &mut b);
        }
        while !b.is_zero() {
            crate::steps::checkpoint()?;
            let rest = a.rem(&b);
            a = std::mem::replace(&mut b, rest);
        }
        a.negative = false;
        a.dscale = dscale;
        a.into_numeric()
    }

    /// The least common multiple, never negative.
    pub fn lcm(&self, other: &Numeric) -> Result<Numeric> {
        let (Some(a), Some(b)) = (self.var(), other.var()) else { return Ok(Numeric::NAN) };
        let dscale = a.dscale.max(b.dscale);
        if a.is_zero() || b.is_zero() {
            return Var::zero(dscale).into_numeric();
        }
        let gcd = Var::from_parts(self.gcd(other)?.parts());
        let mut quotient = a.div(&gcd, 0, false);
        quotient.dscale = 0;
        let mut multiple = quotient.mul(&b);
        multiple.negative = false;
        multiple.dscale = dscale;
        multiple.into_numeric()
    }
}

fn signum_or_nan(value: &Numeric) -> Option<i32> {
    let parts = value.parts();
    (parts.sign != Sign::NaN).then(|| signum(parts))
}
