//! `generate_series`.

use super::bodies::Bodies;
use super::{Body, Context, Rows};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::datetime::span::{add_to_timestamp, add_to_timestamptz};
use crate::types::{Datum, Interval, Numeric, TimeZone};

pub(super) const ROOMS: &[Bodies] = &[SERIES];

const SERIES: Bodies = &[
    ("generate_series_int4", Body::Set(|_, a| int4(a))),
    ("generate_series_step_int4", Body::Set(|_, a| int4(a))),
    ("generate_series_int8", Body::Set(|_, a| int8(a))),
    ("generate_series_step_int8", Body::Set(|_, a| int8(a))),
    ("generate_series_numeric", Body::Set(|_, a| numeric(a))),
    ("generate_series_step_numeric", Body::Set(|_, a| numeric(a))),
    ("generate_series_timestamp", Body::Set(|cx, a| moments(cx, a))),
    ("generate_series_timestamptz", Body::Set(|cx, a| moments(cx, a))),
];

#[cold]
fn zero_step() -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// Numbers from `start` to `stop`, both included; ends where the type does.
fn integers(start: i64, stop: i64, step: i64) -> Result<impl Iterator<Item = i64> + Send> {
    if step == 0 {
        return Err(zero_step());
    }
    let in_range = move |n: &i64| if step > 0 { *n <= stop } else { *n >= stop };
    Ok(std::iter::successors(Some(start).filter(in_range), move |n| {
        n.checked_add(step).filter(in_range)
    }))
}

fn int4(args: &[Datum]) -> Result<Rows> {
    let step = args.get(2).map_or(1, Datum::as_int4);
    let numbers = integers(args[0].as_int4().into(), args[1].as_int4().into(), step.into())?;
    Ok(Box::new(numbers.map(|n| Ok(Datum::Int4(n as i32)))))
}

fn int8(args: &[Datum]) -> Result<Rows> {
    let step = args.get(2).map_or(1, Datum::as_int8);
    let numbers = integers(args[0].as_int8(), args[1].as_int8(), step)?;
    Ok(Box::new(numbers.map(|n| Ok(Datum::Int8(n)))))
}

fn numeric(args: &[Datum]) -> Result<Rows> {
    for (name, value) in ["start value", "stop value", "step size"].iter().zip(args) {
        let value = value.as_numeric();
        if value.is_nan() {
            bail!(INVALID_PARAMETER_VALUE, "{name} cannot be NaN");
        }
        if !value.is_finite() {
            bail!(INVALID_PARAMETER_VALUE, "{name} cannot be infinity");
        }
    }
    let step = args.get(2).map_or(Numeric::from(1), |step| step.as_numeric().clone());
    if step.is_zero() {
        return Err(zero_step());
    }
    let stop = args[1].as_numeric().clone();
    let mut next = Some(args[0].as_numeric().clone());
    let ascending = step > Numeric::ZERO;
    Ok(Box::new(std::iter::from_fn(move || {
        let current = next.take()?;
        if if ascending { current > stop } else { current < stop } {
            return None;
        }
        match current.add(&step) {
            Ok(following) => next = Some(following),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(Datum::Numeric(current)))
    })))
}

/// Timestamps with or without a zone, by an interval.
fn moments(cx: &Context<'_>, args: &[Datum]) -> Result<Rows> {
    let step = args[2].as_interval();
    let direction = step.span().signum();
    if direction == 0 {
        return Err(zero_step());
    }
    let zone = cx.session.format().time_zone.clone();
    let stop = micros(&args[1]);
    let mut next = Some(args[0].clone());
    Ok(Box::new(std::iter::from_fn(move || {
        let current = next.take()?;
        let at = micros(&current);
        if if direction > 0 { at > stop } else { at < stop } {
            return None;
        }
        match advance(&current, step, &zone) {
            Ok(following) => next = Some(following),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(current))
    })))
}

fn micros(value: &Datum) -> i64 {
    match value {
        Datum::Timestamp(v) => v.0,
        other => other.as_timestamptz().0,
    }
}

fn advance(value: &Datum, step: Interval, zone: &TimeZone) -> Result<Datum> {
    match value {
        Datum::Timestamp(v) => add_to_timestamp(*v, step).map(Datum::Timestamp),
        other => add_to_timestamptz(other.as_timestamptz(), step, zone).map(Datum::TimestampTz),
    }
}
