//! Roots, exponentials, logarithms and powers.
//!
//! The scale of each result is chosen as PostgreSQL chooses it (at least sixteen significant
//! digits); the digits are computed with some to spare and rounded once, so that they are right
//! wherever PostgreSQL's are.

use super::arith::{MAX_CHOSEN_SCALE, MIN_SIGNIFICANT_DIGITS, division_by_zero};
use super::{DEC_DIGITS, NBASE, Numeric, Sign, Var, overflow};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::steps::checkpoint;

/// Results with more decimals than this before or after the point are overflow or zero.
const MAX_RESULT_SCALE: f64 = 2000.0;

fn chosen_scale(scale: i32, at_least: i32) -> i32 {
    scale.max(at_least).clamp(0, MAX_CHOSEN_SCALE)
}

#[cold]
fn logarithm_error(of: &str) -> SqlError {
    sql_error!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of {of}")
}

impl Numeric {
    pub fn sqrt(&self) -> Result<Numeric> {
        match self.parts().sign {
            Sign::NaN | Sign::Infinity => return Ok(self.clone()),
            Sign::Negative | Sign::NegInfinity => bail!(
                INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "cannot take square root of a negative number"
            ),
            Sign::Positive => {}
        }
        let var = Var::from_parts(self.parts());
        let weight = (var.weight + 1) * DEC_DIGITS / 2 - 1;
        let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - weight, var.dscale);
        sqrt(&var, scale)?.into_numeric()
    }

    pub fn exp(&self) -> Result<Numeric> {
        match self.parts().sign {
            Sign::NaN | Sign::Infinity => return Ok(self.clone()),
            Sign::NegInfinity => return Ok(Numeric::ZERO),
            _ => {}
        }
        let var = Var::from_parts(self.parts());
        let weight =
            (self.to_f64() * std::f64::consts::LOG10_E).clamp(-MAX_RESULT_SCALE, MAX_RESULT_SCALE);
        let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - weight as i32, var.dscale);
        exp(&var, scale)?.into_numeric()
    }

    pub fn ln(&self) -> Result<Numeric> {
        let var = match self.log_operand()? {
            Ok(var) => var,
            Err(special) => return Ok(special),
        };
        let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - ln_weight(&var), var.dscale);
        ln(&var, scale)?.into_numeric()
    }

    /// A number whose logarithm exists, or the special value that is its own.
    fn log_operand(&self) -> Result<std::result::Result<Var, Numeric>> {
        match self.parts().sign {
            Sign::NaN | Sign::Infinity => Ok(Err(self.clone())),
            Sign::Negative | Sign::NegInfinity => Err(logarithm_error("a negative number")),
            Sign::Positive if self.is_zero() => Err(logarithm_error("zero")),
            Sign::Positive => Ok(Ok(Var::from_parts(self.parts()))),
        }
    }

    /// The logarithm of a number to a base.
    pub fn log(base: &Numeric, number: &Numeric) -> Result<Numeric> {
        if base.is_nan() || number.is_nan() {
            return Ok(Numeric::NAN);
        }
        let infinite = !base.is_finite() || !number.is_finite();
        if infinite && (*base < Numeric::ZERO || *number < Numeric::ZERO) {
            return Err(logarithm_error("a negative number"));
        }
        let (base, number) = match (base.log_operand()?, number.log_operand()?) {
            (Ok(base), Ok(number)) => (base, number),
            // Both infinite.
            (Err(_), Err(_)) => return Ok(Numeric::NAN),
            (Err(_), Ok(_)) => return Ok(Numeric::ZERO),
            (Ok(_), Err(infinite)) => return Ok(infinite),
        };
        let (base_weight, number_weight) = (ln_weight(&base), ln_weight(&number));
        let weight = number_weight - base_weight;
        let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - weight, base.dscale.max(number.dscale));
        let ln_base = ln(&base, (scale + weight - base_weight + 8).max(0))?;
        let ln_number = ln(&number, (scale + weight - number_weight + 8).max(0))?;
        if ln_base.is_zero() {
            return Err(division_by_zero());
        }
        ln_number.div(&ln_base, scale, true).into_numeric()
    }

    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if let (Some(base), Some(exp)) = (self.var(), exponent.var()) {
            if base.is_zero() && exp.negative {
                bail!(
                    INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                    "zero raised to a negative power is undefined"
                );
            }
            if base.negative && !exponent.is_integral() {
                return Err(complex_result());
            }
            return power(&base, &exp)?.into_numeric();
        }
        special_power(self, exponent)
    }

    /// n! for n ≥ 0.
    pub fn factorial(n: i64) -> Result<Numeric> {
        // The factorial of the next number exceeds the format.
        const LARGEST: i64 = 32_177;
        if n < 0 {
            bail!(NUMERIC_VALUE_OUT_OF_RANGE, "factorial of a negative number is undefined");
        }
        if n > LARGEST {
            return Err(overflow());
        }
        let mut product = Var::from_i128(1);
        for i in 2..=n {
            checkpoint()?;
            product = product.mul(&Var::from_i128(i128::from(i)));
        }
        product.into_numeric()
    }
}

#[cold]
fn complex_result() -> SqlError {
    sql_error!(
        INVALID_ARGUMENT_FOR_POWER_FUNCTION,
        "a negative number raised to a non-integer power yields a complex result"
    )
}

/// Powers with NaN or an infinity, by POSIX `pow`.
fn special_power(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    let one = Numeric::from(1);
    if base.is_nan() {
        return Ok(if exponent.is_zero() { one } else { Numeric::NAN });
    }
    if exponent.is_nan() {
        return Ok(if *base == one { one } else { Numeric::NAN });
    }
    let negative_base = *base < Numeric::ZERO;
    if base.is_zero() && *exponent < Numeric::ZERO {
        bail!(INVALID_ARGUMENT_FOR_POWER_FUNCTION, "zero raised to a negative power is undefined");
    }
    if negative_base && exponent.is_finite() && !exponent.is_integral() {
        return Err(complex_result());
    }
    if *base == one || exponent.is_zero() {
        return Ok(one);
    }
    if base.is_zero() {
        return Ok(Numeric::ZERO);
    }
    if !exponent.is_finite() {
        let grows = *exponent > Numeric::ZERO;
        if base.is_finite() {
            let size = base.abs();
            if size == one {
                return Ok(one);
            }
            return Ok(if (size > one) == grows { Numeric::INFINITY } else { Numeric::ZERO });
        }
        return Ok(if grows { Numeric::INFINITY } else { Numeric::ZERO });
    }
    // The base is infinite, the exponent a finite number other than zero.
    if *exponent < Numeric::ZERO {
        return Ok(Numeric::ZERO);
    }
    let odd = exponent.is_integral() && !exponent.rem(&Numeric::from(2))?.is_zero();
    Ok(if negative_base && odd { Numeric::NEG_INFINITY } else { Numeric::INFINITY })
}

impl Var {
    /// The square root, rounded to a scale, of a number that is not negative.
    pub fn sqrt(&self, scale: i32) -> Result<Var> {
        sqrt(self, scale)
    }
}

/// The square root rounded to a scale.
fn sqrt(x: &Var, scale: i32) -> Result<Var> {
    if x.is_zero() {
        return Ok(Var::zero(scale));
    }
    let half_unit = half_of(&power_of_ten(-scale));
    if half_unit.mul(&half_unit).cmp(x).is_gt() {
        return Ok(Var::zero(scale));
    }
    // A first guess good to a dozen digits: the root of the leading digits, with an even power.
    let even = x.weight.div_euclid(2) * 2;
    let lead = Var { weight: x.weight - even, ..x.clone() };
    let mut root = decimal_of_f64(lead.to_f64().sqrt());
    root.weight += even / 2;
    let working = scale + 8;
    let weight_digits = (x.weight / 2 + 1) * DEC_DIGITS;
    let mut digits = 12;
    // Each of Newton's steps doubles the digits that are right; more than those are not computed.
    while digits < working + weight_digits.max(0) {
        checkpoint()?;
        digits *= 2;
        let step = working.min(digits - weight_digits + 8);
        let quotient = x.div(&root, step, true);
        root = root.add(&quotient).mul_rounded(&half(), step);
    }
    root.round(scale);
    root.strip();
    Ok(nearest_root(x, root, scale))
}

/// Moves a root by units of its last place until it is the nearest.
fn nearest_root(x: &Var, mut root: Var, scale: i32) -> Var {
    let unit = power_of_ten(-scale);
    let half_unit = half_of(&unit);
    loop {
        let above = root.add(&half_unit);
        let below = root.sub(&half_unit);
        if above.mul(&above).cmp(x).is_le() {
            root = root.add(&unit);
        } else if below.mul(&below).cmp(x).is_gt() {
            root = root.sub(&unit);
        } else {
            root.dscale = scale;
            return root;
        }
    }
}

fn half() -> Var {
    Var { negative: false, weight: -1, dscale: 1, digits: vec![5000] }
}

fn half_of(x: &Var) -> Var {
    x.mul(&half())
}

/// 10^n.
fn power_of_ten(n: i32) -> Var {
    let weight = n.div_euclid(DEC_DIGITS);
    let digit = 10u16.pow(n.rem_euclid(DEC_DIGITS) as u32);
    Var { negative: false, weight, dscale: (-n).max(0), digits: vec![digit] }
}

/// A finite double, exactly enough to start an iteration from.
fn decimal_of_f64(value: f64) -> Var {
    let text = format!("{value:.17e}");
    Var::from_parts(Numeric::parse(&text).expect("a finite double is a number").parts())
}

/// e^x rounded to a scale.
fn exp(x: &Var, scale: i32) -> Result<Var> {
    let size = x.to_f64();
    if size.abs() >= MAX_RESULT_SCALE * 3.0 {
        return if size > 0.0 { Err(overflow()) } else { Ok(Var::zero(scale)) };
    }
    // Halve until small, sum the series, square back.
    let mut halvings = 0;
    let mut small = size.abs();
    while small > 0.01 {
        small /= 2.0;
        halvings += 1;
    }
    let weight = (size * std::f64::consts::LOG10_E) as i32;
    let significant = (scale + weight).max(0) + 12 + halvings / 2;
    let mut y = x.clone();
    let half = Var { negative: false, weight: -1, dscale: 1, digits: vec![5000] };
    for _ in 0..halvings {
        y = y.mul(&half);
    }
    y.round(significant + 8);
    y.strip();
    let mut sum = Var::from_i128(1);
    let mut term = Var::from_i128(1);
    for n in 1.. {
        checkpoint()?;
        term = term.mul_rounded(&y, significant + 8);
        term = term.div(&Var::from_i128(n), significant + 8, true);
        if term.is_zero() {
            break;
        }
        sum = sum.add(&term);
    }
    for _ in 0..halvings {
        checkpoint()?;
        // Keep the significant digits as the number grows or shrinks.
        let working = significant - 2 * sum.weight * DEC_DIGITS;
        sum = sum.mul_rounded(&sum, working.max(0));
    }
    sum.round(scale);
    sum.strip();
    Ok(sum)
}

/// The natural logarithm of a positive number, rounded to a scale.
fn ln(x: &Var, scale: i32) -> Result<Var> {
    let one = Var::from_i128(1);
    // x = m · 10000^k · with m near 1 after some roots: ln x = 2^r · ln m' + k · ln 10000 is what
    // one could do; roots alone are fewer steps to get right, and powers shrink fast.
    let (low, high) = (decimal(9), decimal(11));
    let guard = 12;
    let mut roots = 0;
    let mut working = scale + guard + 8;
    let estimate = x.weight.abs() + 1;
    // Every root that follows doubles the error of the logarithm.
    working += (estimate as f64).log10() as i32 + 8;
    let mut y = x.clone();
    let mut factor = Var::from_i128(1);
    while y.cmp(&low).is_le() || y.cmp(&high).is_ge() {
        // A tiny number's root needs decimals beyond its own weight.
        let extra = (-y.weight).max(0) * DEC_DIGITS;
        y = sqrt(&y, working + extra)?;
        roots += 1;
        factor = factor.add(&factor);
    }
    // ln y = 2 · artanh z, z = (y − 1) / (y + 1).
    let z = y.sub(&one).div(&y.add(&one), working, true);
    let square = z.mul_rounded(&z, working);
    let mut power = z.clone();
    let mut sum = z;
    for n in (3..).step_by(2) {
        checkpoint()?;
        power = power.mul_rounded(&square, working);
        let term = power.div(&Var::from_i128(n), working, true);
        if term.is_zero() {
            break;
        }
        sum = sum.add(&term);
    }
    debug_assert!(roots < 64);
    let mut result = sum.mul(&factor.add(&factor));
    result.round(scale);
    result.strip();
    Ok(result)
}

/// Tenths.
fn decimal(tenths: u16) -> Var {
    let (whole, tenth) = (tenths / 10, tenths % 10);
    let mut var = Var { negative: false, weight: 0, dscale: 1, digits: vec![whole, tenth * 1000] };
    var.strip();
    var
}

/// The decimal weight of ln x, roughly, for x > 0.
fn ln_weight(x: &Var) -> i32 {
    if x.negative {
        return 0;
    }
    if x.cmp(&decimal(9)).is_ge() && x.cmp(&decimal(11)).is_le() {
        // ln(1 + d) is close to d.
        let distance = x.sub(&Var::from_i128(1));
        return distance
            .digits
            .first()
            .map_or(0, |&digit| distance.weight * DEC_DIGITS + digit.ilog10() as i32);
    }
    let Some(&first) = x.digits.first() else { return 0 };
    let mut digits = f64::from(first);
    let mut weight = x.weight * DEC_DIGITS;
    if let Some(&second) = x.digits.get(1) {
        digits = digits * f64::from(NBASE) + f64::from(second);
        weight -= DEC_DIGITS;
    }
    let ln = digits.ln() + f64::from(weight) * std::f64::consts::LN_10;
    ln.abs().log10() as i32
}

fn power(base: &Var, exp_: &Var) -> Result<Var> {
    let integral = exp_.digits.len() as i32 <= exp_.weight + 1;
    if integral && let Some(n) = exp_.to_i128().and_then(|n| i32::try_from(n).ok()) {
        return power_int(base, n);
    }
    if base.is_zero() {
        return Ok(Var::zero(MIN_SIGNIFICANT_DIGITS));
    }
    let odd = integral
        && exp_.digits.len() as i32 == exp_.weight + 1
        && exp_.digits.last().is_some_and(|digit| digit & 1 == 1);
    let negative = base.negative && odd;
    let base = Var { negative: false, ..base.clone() };

    // A first look with eight digits decides the scale.
    let weight = ln_weight(&base);
    let rough_scale = (8 - weight).max(0);
    let rough = ln(&base, rough_scale)?.mul_rounded(exp_, rough_scale).to_f64();
    if rough.abs() > MAX_RESULT_SCALE * 3.01 {
        if rough > 0.0 {
            return Err(overflow());
        }
        return Ok(Var::zero(MAX_CHOSEN_SCALE));
    }
    let result_weight = (rough * std::f64::consts::LOG10_E) as i32;
    let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - result_weight, base.dscale.max(exp_.dscale));
    let significant = (scale + result_weight).max(0);
    let working = (significant - weight + 8).max(0);
    let product = ln(&base, working)?.mul_rounded(exp_, working);
    let mut result = exp(&product, scale)?;
    result.negative = negative && !result.is_zero();
    Ok(result)
}

/// base^n by squaring, with enough digits for the scale of the result: sixteen decimals, or as
/// many as the base shows.
fn power_int(base: &Var, n: i32) -> Result<Var> {
    let scale = base.dscale.clamp(MIN_SIGNIFICANT_DIGITS, MAX_CHOSEN_SCALE);
    let rounded = |mut var: Var| {
        var.round(scale);
        var.strip();
        var
    };
    match n {
        0 => return Ok(Var { dscale: scale, ..Var::from_i128(1) }),
        1 => return Ok(rounded(base.clone())),
        -1 => return Ok(Var::from_i128(1).div(base, scale, true)),
        2 => return Ok(rounded(base.mul(base))),
        _ if base.is_zero() => {
            return if n < 0 { Err(division_by_zero()) } else { Ok(Var::zero(scale)) };
        }
        _ => {}
    }
    // The result's decimal weight, from the first sixteen digits.
    let mut digits = f64::from(base.digits[0]);
    let mut power = f64::from(base.weight * DEC_DIGITS);
    for &digit in base.digits.iter().skip(1).take(3) {
        digits = digits * f64::from(NBASE) + f64::from(digit);
        power -= f64::from(DEC_DIGITS);
    }
    let weight = (digits.log10() + power) * f64::from(n);
    if weight > f64::from(3 * super::WEIGHT_MAX * DEC_DIGITS) {
        return Err(overflow());
    }
    if weight + 1.0 < -f64::from(scale) || weight + 1.0 < -f64::from(MAX_CHOSEN_SCALE) {
        return Ok(Var::zero(scale));
    }
    let significant = 1 + scale + weight as i32 + f64::from(n.unsigned_abs()).ln() as i32 + 8;
    let mut bits = n.unsigned_abs();
    let mut square = base.clone();
    let mut result = if bits & 1 == 1 { base.clone() } else { Var::from_i128(1) };
    bits >>= 1;
    while bits > 0 {
        let working = significant - 2 * square.weight * DEC_DIGITS;
        let working = working.min(2 * square.dscale).max(0);
        square = square.mul_rounded(&square, working);
        if bits & 1 == 1 {
            let working = significant - (square.weight + result.weight) * DEC_DIGITS;
            let working = working.min(square.dscale + result.dscale).max(0);
            result = result.mul_rounded(&square, working);
        }
        if square.weight > super::WEIGHT_MAX || result.weight > super::WEIGHT_MAX {
            return if n > 0 { Err(overflow()) } else { Ok(Var::zero(scale)) };
        }
        bits >>= 1;
    }
    if n < 0 {
        if result.is_zero() {
            return Err(overflow());
        }
        return Ok(Var::from_i128(1).div(&result, scale, true));
    }
    Ok(rounded(result))
}
