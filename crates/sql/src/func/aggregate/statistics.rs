//! Variances, deviations, averages of doubles, regressions.
//!
//! Exact types keep exact sums; doubles keep running sums of squared deviations (Youngs and
//! Cramer, 1971), which do not lose small variances beside large means.

use std::cmp::Ordering;

use super::Aggregates;
use crate::error::Result;
use crate::func::float::overflow;
use crate::func::{Accumulator, Context};
use crate::types::numeric::Var;
use crate::types::{Datum, Numeric};

/// Which statistic of one column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statistic {
    Mean,
    VarPop,
    VarSamp,
    DevPop,
    DevSamp,
}

impl Statistic {
    fn is_sample(self) -> bool {
        matches!(self, Statistic::VarSamp | Statistic::DevSamp)
    }

    fn is_deviation(self) -> bool {
        matches!(self, Statistic::DevPop | Statistic::DevSamp)
    }
}

/// A statistic over all numeric types: exact ones and doubles.
macro_rules! families {
    ($($name:literal $statistic:ident)*) => {
        &[
            $(
                (concat!($name, "(int2)"), |_| Exact::start(Statistic::$statistic)),
                (concat!($name, "(int4)"), |_| Exact::start(Statistic::$statistic)),
                (concat!($name, "(int8)"), |_| Exact::start(Statistic::$statistic)),
                (concat!($name, "(numeric)"), |_| Exact::start(Statistic::$statistic)),
                (concat!($name, "(float4)"), |_| Doubles::start(Statistic::$statistic)),
                (concat!($name, "(float8)"), |_| Doubles::start(Statistic::$statistic)),
            )*
        ]
    };
}

pub(super) const FAMILIES: Aggregates = families!(
    "var_pop" VarPop
    "var_samp" VarSamp
    "variance" VarSamp
    "stddev_pop" DevPop
    "stddev_samp" DevSamp
    "stddev" DevSamp
);

pub(super) const REGRESSIONS: Aggregates = &[
    ("avg(float4)", |_| Doubles::start(Statistic::Mean)),
    ("avg(float8)", |_| Doubles::start(Statistic::Mean)),
    ("regr_count(float8,float8)", |_| Pairs::start(|p| Some(p.n))),
    ("regr_sxx(float8,float8)", |_| Pairs::start(|p| p.any().then_some(p.sxx))),
    ("regr_syy(float8,float8)", |_| Pairs::start(|p| p.any().then_some(p.syy))),
    ("regr_sxy(float8,float8)", |_| Pairs::start(|p| p.any().then_some(p.sxy))),
    ("regr_avgx(float8,float8)", |_| Pairs::start(|p| p.any().then(|| p.sx / p.n))),
    ("regr_avgy(float8,float8)", |_| Pairs::start(|p| p.any().then(|| p.sy / p.n))),
    ("covar_pop(float8,float8)", |_| Pairs::start(|p| p.any().then(|| p.sxy / p.n))),
    ("covar_samp(float8,float8)", |_| Pairs::start(|p| (p.n >= 2.0).then(|| p.sxy / (p.n - 1.0)))),
    ("corr(float8,float8)", |_| {
        Pairs::start(|p| {
            let usable = p.any() && p.sxx != 0.0 && p.syy != 0.0;
            usable.then(|| p.sxy / (p.sxx * p.syy).sqrt())
        })
    }),
    ("regr_r2(float8,float8)", |_| {
        Pairs::start(|p| {
            if !p.any() || p.sxx == 0.0 {
                None
            } else if p.syy == 0.0 {
                Some(1.0)
            } else {
                Some((p.sxy * p.sxy) / (p.sxx * p.syy))
            }
        })
    }),
    ("regr_slope(float8,float8)", |_| {
        Pairs::start(|p| (p.any() && p.sxx != 0.0).then(|| p.sxy / p.sxx))
    }),
    ("regr_intercept(float8,float8)", |_| {
        Pairs::start(|p| (p.any() && p.sxx != 0.0).then(|| (p.sy - p.sx * p.sxy / p.sxx) / p.n))
    }),
];

/// Integers and numerics: count, sum, sum of squares.
struct Exact {
    statistic: Statistic,
    count: i64,
    sum: Var,
    squares: Var,
    /// How many of the values are NaN or an infinity.
    specials: i64,
    /// The most digits that a value has after the point, which the result goes by, and how many have so many.
    scale: i32,
    of_scale: i64,
}

impl Exact {
    fn start(statistic: Statistic) -> Box<dyn Accumulator> {
        Box::new(Exact {
            statistic,
            count: 0,
            sum: Var::zero(0),
            squares: Var::zero(0),
            specials: 0,
            scale: 0,
            of_scale: 0,
        })
    }

    /// `None` for NaN and infinities.
    fn value(arg: &Datum) -> Option<Var> {
        match arg {
            Datum::Int2(v) => Some(Var::from_i128(i128::from(*v))),
            Datum::Int4(v) => Some(Var::from_i128(i128::from(*v))),
            Datum::Int8(v) => Some(Var::from_i128(i128::from(*v))),
            other => other.as_numeric().var(),
        }
    }
}

impl Accumulator for Exact {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        // Their transition functions are not strict: nulls come, and do not count.
        if args[0].is_null() {
            return Ok(());
        }
        self.count += 1;
        let Some(value) = Exact::value(&args[0]) else {
            self.specials += 1;
            return Ok(());
        };
        self.squares = self.squares.add(&value.mul(&value));
        self.sum = self.sum.add(&value);
        match value.dscale.cmp(&self.scale) {
            Ordering::Less => {}
            Ordering::Equal => self.of_scale += 1,
            Ordering::Greater => (self.scale, self.of_scale) = (value.dscale, 1),
        }
        Ok(())
    }

    fn is_reversible(&self) -> bool {
        true
    }

    fn remove(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<bool> {
        if args[0].is_null() {
            return Ok(true);
        }
        if let Some(value) = Exact::value(&args[0]) {
            let is_of_scale = value.dscale == self.scale;
            if is_of_scale && self.of_scale == 1 && self.scale > 0 {
                return Ok(false);
            }
            self.squares = self.squares.sub(&value.mul(&value));
            self.sum = self.sum.sub(&value);
            self.of_scale -= i64::from(is_of_scale);
        } else {
            self.specials -= 1;
        }
        self.count -= 1;
        Ok(true)
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        let sample = self.statistic.is_sample();
        if self.count <= i64::from(sample) {
            return Ok(Datum::Null);
        }
        if self.specials > 0 {
            return Ok(Numeric::NAN.into());
        }
        // N · Σx² − (Σx)², over N² or N · (N − 1).
        let n = Var::from_i128(i128::from(self.count));
        let numerator = n.mul(&self.squares).sub(&self.sum.mul(&self.sum));
        if numerator.is_zero() || numerator.negative {
            return Ok(Numeric::ZERO.into());
        }
        let divisor = Var::from_i128(i128::from(self.count - i64::from(sample))).mul(&n);
        let scale = numerator.div_scale(&divisor);
        let variance = numerator.div(&divisor, scale, true);
        let is_deviation = self.statistic.is_deviation();
        let result = if is_deviation { variance.sqrt(scale)? } else { variance };
        result.into_numeric().map(Datum::Numeric)
    }
}

/// Doubles: count, sum, sum of squared deviations from the mean.
struct Doubles {
    statistic: Statistic,
    n: f64,
    sum: f64,
    deviations: f64,
}

impl Doubles {
    fn start(statistic: Statistic) -> Box<dyn Accumulator> {
        Box::new(Doubles { statistic, n: 0.0, sum: 0.0, deviations: 0.0 })
    }
}

impl Accumulator for Doubles {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let value = match &args[0] {
            Datum::Float4(v) => f64::from(*v),
            other => other.as_float8(),
        };
        let sum_before = self.sum;
        self.n += 1.0;
        self.sum += value;
        if self.n > 1.0 {
            let distance = value * self.n - self.sum;
            self.deviations += distance * distance / (self.n * (self.n - 1.0));
            if self.sum.is_infinite() || self.deviations.is_infinite() {
                if !sum_before.is_infinite() && !value.is_infinite() {
                    return Err(overflow());
                }
                self.deviations = f64::NAN;
            }
        } else if !value.is_finite() {
            // Later values must not hide it.
            self.deviations = f64::NAN;
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        let n = self.n;
        let needed = if self.statistic.is_sample() { 2.0 } else { 1.0 };
        if n < needed {
            return Ok(Datum::Null);
        }
        Ok(Datum::Float8(match self.statistic {
            Statistic::Mean => self.sum / n,
            Statistic::VarPop => self.deviations / n,
            Statistic::VarSamp => self.deviations / (n - 1.0),
            Statistic::DevPop => (self.deviations / n).sqrt(),
            Statistic::DevSamp => (self.deviations / (n - 1.0)).sqrt(),
        }))
    }
}

/// Sums over pairs; the first argument of the aggregates is y.
struct Sums {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
}

impl Sums {
    fn any(&self) -> bool {
        self.n >= 1.0
    }
}

struct Pairs {
    sums: Sums,
    result: fn(&Sums) -> Option<f64>,
}

impl Pairs {
    fn start(result: fn(&Sums) -> Option<f64>) -> Box<dyn Accumulator> {
        let sums = Sums { n: 0.0, sx: 0.0, sxx: 0.0, sy: 0.0, syy: 0.0, sxy: 0.0 };
        Box::new(Pairs { sums, result })
    }
}

impl Accumulator for Pairs {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let (y, x) = (args[0].as_float8(), args[1].as_float8());
        let s = &mut self.sums;
        let (sx_before, sy_before) = (s.sx, s.sy);
        s.n += 1.0;
        s.sx += x;
        s.sy += y;
        if s.n > 1.0 {
            let dx = x * s.n - s.sx;
            let dy = y * s.n - s.sy;
            let scale = 1.0 / (s.n * (s.n - 1.0));
            s.sxx += dx * dx * scale;
            s.syy += dy * dy * scale;
            s.sxy += dx * dy * scale;
            let infinite = [s.sx, s.sxx, s.sy, s.syy, s.sxy].iter().any(|v| v.is_infinite());
            if infinite {
                let x_was_finite = !sx_before.is_infinite() && !x.is_infinite();
                let y_was_finite = !sy_before.is_infinite() && !y.is_infinite();
                let overflowed = ((s.sx.is_infinite() || s.sxx.is_infinite()) && x_was_finite)
                    || ((s.sy.is_infinite() || s.syy.is_infinite()) && y_was_finite)
                    || (s.sxy.is_infinite() && x_was_finite && y_was_finite);
                if overflowed {
                    return Err(overflow());
                }
                for sum in [&mut s.sxx, &mut s.syy, &mut s.sxy] {
                    if sum.is_infinite() {
                        *sum = f64::NAN;
                    }
                }
            }
        } else {
            if !x.is_finite() {
                (s.sxx, s.sxy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (s.syy, s.sxy) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Datum> {
        let result = (self.result)(&self.sums);
        Ok(match result {
            // `regr_count` counts.
            Some(n) if cx.result_type == crate::types::TypeId::INT8 => Datum::Int8(n as i64),
            other => other.into(),
        })
    }
}
