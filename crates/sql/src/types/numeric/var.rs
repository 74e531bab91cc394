//! The working form of a numeric: owned digits, not necessarily stripped, that arithmetic mutates.

use super::{DEC_DIGITS, NBASE, Numeric, Parts, Sign};
use crate::error::Result;

/// A finite number under computation: `±Σ digits[i] · 10000^(weight − i)`.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub negative: bool,
    pub weight: i32,
    pub dscale: i32,
    pub digits: Vec<u16>,
}

impl Var {
    pub fn zero(dscale: i32) -> Var {
        Var { negative: false, weight: 0, dscale, digits: Vec::new() }
    }

    /// The finite value behind these parts.
    pub fn from_parts(parts: Parts<'_>) -> Var {
        debug_assert!(parts.sign.is_finite());
        Var {
            negative: parts.sign == Sign::Negative,
            weight: parts.weight,
            dscale: parts.dscale,
            digits: parts.digits.to_vec(),
        }
    }

    pub fn from_i128(value: i128) -> Var {
        let mut rest = value.unsigned_abs();
        let mut digits = Vec::new();
        while rest > 0 {
            digits.push((rest % NBASE as u128) as u16);
            rest /= NBASE as u128;
        }
        digits.reverse();
        let weight = digits.len() as i32 - 1;
        let mut var = Var { negative: value < 0, weight, dscale: 0, digits };
        var.strip();
        var
    }

    /// Stores the value; `22003` when it does not fit the format.
    pub fn into_numeric(self) -> Result<Numeric> {
        let sign = if self.negative { Sign::Negative } else { Sign::Positive };
        Numeric::from_parts(sign, self.weight, self.dscale, &self.digits)
    }

    pub fn is_zero(&self) -> bool {
        self.digits.iter().all(|&d| d == 0)
    }

    /// Removes zero digits at both ends; zero becomes positive with weight 0.
    pub fn strip(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        let leading = self.digits.iter().take_while(|&&d| d == 0).count();
        if leading > 0 {
            self.digits.drain(..leading);
            self.weight -= leading as i32;
        }
        if self.digits.is_empty() {
            self.weight = 0;
            self.negative = false;
        }
    }

    /// Rounds half away from zero to `rscale` decimal digits after the point (before it when
    /// negative), and sets the display scale to match.
    pub fn round(&mut self, rscale: i32) {
        self.dscale = rscale.max(0);
        // Decimal digits kept, counted from the first digit's first decimal.
        let keep = (self.weight + 1) * DEC_DIGITS + rscale;
        if keep < 0 {
            self.digits.clear();
            self.strip();
            return;
        }
        let whole = (keep / DEC_DIGITS) as usize;
        let part = keep % DEC_DIGITS;
        if whole > self.digits.len() || (whole == self.digits.len() && part == 0) {
            return;
        }
        let carry = if part == 0 {
            let up = self.digits[whole] >= (NBASE / 2) as u16;
            self.digits.truncate(whole);
            up
        } else {
            let unit = 10u16.pow((DEC_DIGITS - part) as u32);
            if whole == self.digits.len() {
                return;
            }
            self.digits.truncate(whole + 1);
            let last = &mut self.digits[whole];
            let extra = *last % unit;
            *last -= extra;
            if extra >= unit / 2 {
                *last += unit;
                let over = *last >= NBASE as u16;
                if over {
                    *last -= NBASE as u16;
                    self.digits.truncate(whole);
                }
                over
            } else {
                false
            }
        };
        if carry {
            self.carry_into_last();
        }
    }

    /// Adds one unit in the last kept digit, growing at the front if need be.
    fn carry_into_last(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            *digit += 1;
            if *digit < NBASE as u16 {
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
        self.weight += 1;
    }

    /// Cuts off what lies beyond `rscale` decimal digits after the point, and sets the display
    /// scale to match.
    pub fn trunc(&mut self, rscale: i32) {
        self.dscale = rscale.max(0);
        let keep = (self.weight + 1) * DEC_DIGITS + rscale;
        if keep <= 0 {
            self.digits.clear();
            self.strip();
            return;
        }
        let whole = (keep / DEC_DIGITS) as usize;
        let part = keep % DEC_DIGITS;
        if whole >= self.digits.len() {
            return;
        }
        if part == 0 {
            self.digits.truncate(whole);
        } else {
            self.digits.truncate(whole + 1);
            let unit = 10u16.pow((DEC_DIGITS - part) as u32);
            self.digits[whole] -= self.digits[whole] % unit;
        }
    }

    /// Decimal digits before the point of a stripped value; negative when the first one stands
    /// that many places behind it.
    pub fn decimals_before_point(&self) -> i32 {
        let first = self.digits.first().copied().unwrap_or(0);
        let decimals = match first {
            1000.. => 4,
            100.. => 3,
            10.. => 2,
            1.. => 1,
            0 => 0,
        };
        self.weight * DEC_DIGITS + decimals
    }
}
