//! Sums and averages.

use std::cmp::Ordering;

use super::Aggregates;
use crate::error::Result;
use crate::func::float::overflow;
use crate::func::{Accumulator, Context};
use crate::types::numeric::int_out_of_range;
use crate::types::{Datum, Interval, Numeric};

pub(super) const AGGREGATES: Aggregates = &[
    ("sum(int2)", |_| Box::new(Integers::new(Output::Bigint))),
    ("sum(int4)", |_| Box::new(Integers::new(Output::Bigint))),
    ("sum(int8)", |_| Box::new(Integers::new(Output::Sum))),
    ("avg(int2)", |_| Box::new(Integers::new(Output::Average))),
    ("avg(int4)", |_| Box::new(Integers::new(Output::Average))),
    ("avg(int8)", |_| Box::new(Integers::new(Output::Average))),
    ("sum(numeric)", |_| Box::new(Numerics::new(Output::Sum))),
    ("avg(numeric)", |_| Box::new(Numerics::new(Output::Average))),
    ("sum(float4)", |_| Box::new(FloatSum::<f32>(None))),
    ("sum(float8)", |_| Box::new(FloatSum::<f64>(None))),
    ("sum(interval)", |_| Box::new(Intervals::new(Output::Sum))),
    ("avg(interval)", |_| Box::new(Intervals::new(Output::Average))),
];

/// What comes of a sum in the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    /// The sum, as `bigint`.
    Bigint,
    /// The sum, as `numeric` or in the type summed.
    Sum,
    Average,
}

/// Integers of any width. A sum of 2^63 values of 64 bits fits 128.
struct Integers {
    sum: i128,
    count: i64,
    output: Output,
}

impl Integers {
    fn new(output: Output) -> Integers {
        Integers { sum: 0, count: 0, output }
    }

    /// As for numerics: most of these are not strict, and nulls do not count.
    fn value(args: &[Datum]) -> Option<i128> {
        match &args[0] {
            Datum::Null => None,
            Datum::Int2(v) => Some(i128::from(*v)),
            Datum::Int4(v) => Some(i128::from(*v)),
            other => Some(i128::from(other.as_int8())),
        }
    }
}

impl Accumulator for Integers {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        if let Some(value) = Self::value(args) {
            self.sum += value;
            self.count += 1;
        }
        Ok(())
    }

    fn is_reversible(&self) -> bool {
        true
    }

    fn remove(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<bool> {
        if let Some(value) = Self::value(args) {
            self.sum -= value;
            self.count -= 1;
        }
        Ok(true)
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        match self.output {
            Output::Bigint => {
                i64::try_from(self.sum).map(Datum::Int8).map_err(|_| int_out_of_range("bigint"))
            }
            Output::Sum => Ok(Numeric::from(self.sum).into()),
            Output::Average => {
                Numeric::from(self.sum).div(&Numeric::from(self.count)).map(Datum::Numeric)
            }
        }
    }
}

struct Numerics {
    sum: Numeric,
    count: i64,
    output: Output,
    /// The most digits that a value has after the point, which are those of the sum, and how many have so many.
    scale: i32,
    of_scale: i64,
}

impl Numerics {
    fn new(output: Output) -> Numerics {
        Numerics { sum: Numeric::ZERO, count: 0, output, scale: 0, of_scale: 0 }
    }
}

impl Accumulator for Numerics {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        // Its transition function is not strict: nulls come, and do not count.
        if args[0].is_null() {
            return Ok(());
        }
        let value = args[0].as_numeric();
        self.sum = self.sum.add(value)?;
        self.count += 1;
        match value.dscale().cmp(&self.scale) {
            Ordering::Less => {}
            Ordering::Equal => self.of_scale += 1,
            Ordering::Greater => (self.scale, self.of_scale) = (value.dscale(), 1),
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
        let value = args[0].as_numeric();
        let is_last_of_scale = value.dscale() == self.scale && self.of_scale == 1;
        if !value.is_finite() || !self.sum.is_finite() || (is_last_of_scale && self.scale > 0) {
            return Ok(false);
        }
        self.sum = self.sum.sub(value)?;
        self.count -= 1;
        self.of_scale -= i64::from(value.dscale() == self.scale);
        Ok(true)
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        match (self.count, self.output) {
            (0, _) => Ok(Datum::Null),
            (_, Output::Average) => self.sum.div(&Numeric::from(self.count)).map(Datum::Numeric),
            _ => Ok(Datum::Numeric(self.sum.clone())),
        }
    }
}

/// A floating-point sum, added up in the type's own precision.
struct FloatSum<F>(Option<F>);

impl Accumulator for FloatSum<f32> {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let value = args[0].as_float4();
        let sum = match self.0 {
            None => value,
            Some(before) => {
                let sum = before + value;
                if sum.is_infinite() && before.is_finite() && value.is_finite() {
                    return Err(overflow());
                }
                sum
            }
        };
        self.0 = Some(sum);
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.0.into())
    }
}

impl Accumulator for FloatSum<f64> {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let value = args[0].as_float8();
        let sum = match self.0 {
            None => value,
            Some(before) => {
                let sum = before + value;
                if sum.is_infinite() && before.is_finite() && value.is_finite() {
                    return Err(overflow());
                }
                sum
            }
        };
        self.0 = Some(sum);
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.0.into())
    }
}

struct Intervals {
    sum: Interval,
    count: i64,
    output: Output,
}

impl Intervals {
    fn new(output: Output) -> Intervals {
        Intervals { sum: Interval::ZERO, count: 0, output }
    }
}

impl Accumulator for Intervals {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        self.sum = self.sum.checked_add(args[0].as_interval())?;
        self.count += 1;
        Ok(())
    }

    fn is_reversible(&self) -> bool {
        true
    }

    fn remove(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<bool> {
        // Where what is left is out of range, adding it up says so.
        let Ok(sum) = self.sum.checked_sub(args[0].as_interval()) else { return Ok(false) };
        self.sum = sum;
        self.count -= 1;
        Ok(true)
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        match (self.count, self.output) {
            (0, _) => Ok(Datum::Null),
            (n, Output::Average) => self.sum.divide(n as f64).map(Datum::Interval),
            _ => Ok(Datum::Interval(self.sum)),
        }
    }
}
