//! What RANGE with an offset reaches: a row's key plus or minus the offset, by the rules of the key's type.
//!
//! As PostgreSQL's `in_range` functions: sums do not overflow where they need not be values of the type, infinite keys
//! and offsets are compared as such.

use std::cmp::Ordering;

use crate::error::{Result, SqlError, sql_error};
use crate::exec::Cx;
use crate::func::{self, Body, Operator};
use crate::types::{Datum, Interval, Numeric, Time, TimeTz, TypeId, compare, compare_f64};

/// An offset, and how keys of a type are moved by it.
pub(super) struct Reach {
    key: TypeId,
    offset: Datum,
    minus: bool,
    /// Where it takes the type's own: with intervals.
    operator: Option<&'static Operator>,
}

/// The last key that is in a frame, or the first.
pub(super) enum Limit {
    Integer(i128),
    Float(f64),
    /// Of the key's type, and a timestamp for dates.
    Value(TypeId, Datum),
    /// Infinity less infinity.
    Undetermined,
}

impl Reach {
    pub(super) fn new(key: TypeId, offset: Datum, minus: bool) -> Reach {
        let mut operators = func::operators(if minus { "-" } else { "+" });
        let operator = operators.find(|op| op.left == key && op.right == TypeId::INTERVAL);
        Reach { key, offset, minus, operator }
    }

    /// What a key, which is not null, reaches.
    ///
    /// # Errors
    /// `22013` for an offset below zero, and whatever the key's type says of a sum that it can't hold.
    pub(super) fn limit(&self, base: &Datum, cx: &mut Cx<'_>) -> Result<Limit> {
        let Reach { key, ref offset, minus, .. } = *self;
        if is_negative(base, offset) {
            return Err(sql_error!(
                INVALID_PRECEDING_OR_FOLLOWING_SIZE,
                "invalid preceding or following size in window function"
            ));
        }
        if let (Some(base), Some(offset)) = (integer(base), integer(offset)) {
            return Ok(Limit::Integer(if minus { base - offset } else { base + offset }));
        }
        if let (Some(base), Some(offset)) = (float(base), float(offset)) {
            let sum = if minus { base - offset } else { base + offset };
            let is_undetermined = sum.is_nan() && !base.is_nan();
            return Ok(if is_undetermined { Limit::Undetermined } else { Limit::Float(sum) });
        }
        match (base, offset) {
            (Datum::Numeric(base), Datum::Numeric(offset)) => numeric(base, offset, minus),
            // The time of day alone, and beyond midnight.
            (Datum::Time(base), Datum::Interval(offset)) => {
                Ok(Limit::Value(key, Datum::Time(moved(*base, *offset, minus))))
            }
            (Datum::TimeTz(base), Datum::Interval(offset)) => {
                let time = moved(base.time, *offset, minus);
                Ok(Limit::Value(key, Datum::TimeTz(TimeTz { time, ..*base })))
            }
            _ => self.by_operator(base, cx),
        }
    }

    fn by_operator(&self, base: &Datum, cx: &mut Cx<'_>) -> Result<Limit> {
        let missing = || SqlError::internal("an offset is of a type that moves the key");
        let operator = self.operator.ok_or_else(missing)?;
        let Body::Scalar(body) = operator.func.body else { return Err(missing()) };
        let (args, types) = ([base.clone(), self.offset.clone()], [self.key, TypeId::INTERVAL]);
        let sum = cx.with_context(&types, operator.result, |context| body(context, &args))?;
        Ok(Limit::Value(operator.result, sum))
    }
}

impl Limit {
    /// How a key, which is not null, compares with it; `None`: nothing tells.
    pub(super) fn compare(&self, key: &Datum) -> Option<Ordering> {
        match self {
            Limit::Integer(limit) => integer(key).map(|key| key.cmp(limit)),
            Limit::Float(limit) => float(key).map(|key| compare_f64(key, *limit)),
            Limit::Value(ty, limit) => Some(match key {
                Datum::Date(date) if *ty == TypeId::TIMESTAMP => {
                    // Later than any timestamp, if it is none.
                    let key = date.to_timestamp().map(Datum::Timestamp);
                    key.map_or(Ordering::Greater, |key| compare(*ty, &key, limit))
                }
                key => compare(*ty, key, limit),
            }),
            // What is not a number is behind everything.
            Limit::Undetermined => is_nan(key).then_some(Ordering::Greater),
        }
    }
}

fn integer(value: &Datum) -> Option<i128> {
    match value {
        Datum::Int2(n) => Some(i128::from(*n)),
        Datum::Int4(n) => Some(i128::from(*n)),
        Datum::Int8(n) => Some(i128::from(*n)),
        _ => None,
    }
}

fn float(value: &Datum) -> Option<f64> {
    match value {
        Datum::Float4(n) => Some(f64::from(*n)),
        Datum::Float8(n) => Some(*n),
        _ => None,
    }
}

fn is_nan(value: &Datum) -> bool {
    match value {
        Datum::Numeric(value) => value.is_nan(),
        value => float(value).is_some_and(f64::is_nan),
    }
}

/// Whether it is below zero, or not a number. A time of day takes of an interval the time alone.
fn is_negative(base: &Datum, offset: &Datum) -> bool {
    match (base, offset) {
        (Datum::Time(_) | Datum::TimeTz(_), Datum::Interval(offset)) => offset.micros < 0,
        (_, Datum::Interval(offset)) => offset.span() < 0,
        (_, Datum::Numeric(offset)) => offset.is_nan() || *offset < Numeric::ZERO,
        (_, offset) => match float(offset) {
            Some(offset) => offset.is_nan() || offset < 0.0,
            None => integer(offset).is_some_and(|offset| offset < 0),
        },
    }
}

fn numeric(base: &Numeric, offset: &Numeric, minus: bool) -> Result<Limit> {
    let sum = if minus { base.sub(offset)? } else { base.add(offset)? };
    Ok(match sum.is_nan() && !base.is_nan() {
        true => Limit::Undetermined,
        false => Limit::Value(TypeId::NUMERIC, Datum::Numeric(sum)),
    })
}

fn moved(time: Time, by: Interval, minus: bool) -> Time {
    let micros = if minus { -by.micros } else { by.micros };
    Time(time.0.saturating_add(micros))
}
