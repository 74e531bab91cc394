//! `EXTRACT` and `date_part`.

use super::convert::{date_to_timestamp, type_name};
use crate::error::{Result, SqlError, sql_error};
use crate::func::Context;
use crate::func::bodies::{Bodies, scalars};
use crate::types::datetime::calendar::{
    JULIAN_DAY_2000, UNIX_EPOCH_OFFSET_S, days_from_civil, iso_week, weekday,
};
use crate::types::datetime::{Civil, USECS_PER_DAY, USECS_PER_SEC, Unit, unit_by_name};
use crate::types::numeric::Var;
use crate::types::{Date, Datum, Interval, Numeric, Time, TimeTz, Timestamp, TypeId};

pub(super) const ROOMS: &[Bodies] = &[EXTRACT, PART];

/// A part's value: an integer over a power of ten, which is how `EXTRACT` shows it.
#[derive(Clone, Debug)]
enum Value {
    /// `value / 10^scale`.
    Scaled(i128, i32),
    /// Microseconds within a minute, shown as seconds or milliseconds.
    Seconds {
        micros: i64,
        millis: bool,
    },
    /// The seconds of an interval.
    Span(Interval),
    /// A Julian date: day and microseconds of the day.
    Julian(i64, i64),
    Infinite {
        negative: bool,
    },
    /// A part that an infinite moment does not have.
    Missing,
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Scaled(i128::from(value), 0)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Scaled(i128::from(value), 0)
    }
}

/// A number of units of 10^-scale as a numeric that shows them all.
fn decimal(value: i128, scale: i32) -> Result<Numeric> {
    let unit = Var::from_i128(10i128.pow(scale as u32));
    Var::from_i128(value).div(&unit, scale, true).into_numeric()
}

impl Value {
    fn numeric(self) -> Result<Datum> {
        Ok(Datum::Numeric(match self {
            Value::Scaled(value, scale) => decimal(value, scale)?,
            Value::Seconds { micros, millis } => {
                decimal(micros.into(), if millis { 3 } else { 6 })?
            }
            Value::Span(span) => {
                // A year counts 365.25 days: in quarters of a day everything is whole.
                let quarter_days = 1461 * i128::from(span.months / 12)
                    + 120 * i128::from(span.months % 12)
                    + 4 * i128::from(span.days);
                let quarter = i128::from(USECS_PER_DAY / 4);
                decimal(quarter_days * quarter + i128::from(span.micros), 6)?
            }
            Value::Julian(day, micros) => {
                let day_part = Numeric::from(micros).div(&Numeric::from(USECS_PER_DAY))?;
                Numeric::from(day).add(&day_part)?
            }
            Value::Infinite { negative: false } => Numeric::INFINITY,
            Value::Infinite { negative: true } => Numeric::NEG_INFINITY,
            Value::Missing => return Ok(Datum::Null),
        }))
    }

    fn float(self) -> Datum {
        Datum::Float8(match self {
            Value::Scaled(value, scale) => value as f64 / 10f64.powi(scale),
            // Whole seconds and the rest are divided apart, as doubles make it show.
            Value::Seconds { micros, millis } => {
                let (second, rest) = (micros / USECS_PER_SEC, micros % USECS_PER_SEC);
                if millis {
                    second as f64 * 1000.0 + rest as f64 / 1000.0
                } else {
                    second as f64 + rest as f64 / 1_000_000.0
                }
            }
            Value::Span(span) => {
                const DAY_S: f64 = 86_400.0;
                let mut seconds = span.micros as f64 / 1_000_000.0;
                seconds += 365.25 * DAY_S * f64::from(span.months / 12);
                seconds += 30.0 * DAY_S * f64::from(span.months % 12);
                seconds + DAY_S * f64::from(span.days)
            }
            Value::Julian(day, micros) => day as f64 + micros as f64 / USECS_PER_DAY as f64,
            Value::Infinite { negative: false } => f64::INFINITY,
            Value::Infinite { negative: true } => f64::NEG_INFINITY,
            Value::Missing => return Datum::Null,
        })
    }
}

#[cold]
pub(super) fn unit_not_supported(unit: &str, type_id: TypeId) -> SqlError {
    sql_error!(
        FEATURE_NOT_SUPPORTED,
        "unit \"{unit}\" not supported for type {}",
        type_name(type_id)
    )
}

#[cold]
pub(super) fn unit_not_recognized(unit: &str, type_id: TypeId) -> SqlError {
    sql_error!(
        INVALID_PARAMETER_VALUE,
        "unit \"{unit}\" not recognized for type {}",
        type_name(type_id)
    )
}

/// A unit by the name that a user wrote, and the name in lower case for messages.
fn parse_unit(name: &str, type_id: TypeId) -> Result<(Unit, String)> {
    let lower = name.to_ascii_lowercase();
    match unit_by_name(&lower) {
        Some(unit) => Ok((unit, lower)),
        None => Err(unit_not_recognized(&lower, type_id)),
    }
}

/// There is no year zero: 0 is 1 BC.
fn shown_year(year: i32) -> i32 {
    if year > 0 { year } else { year - 1 }
}

pub(super) fn decade(year: i32) -> i32 {
    if year >= 0 { year / 10 } else { -((8 - (year - 1)) / 10) }
}

fn century(year: i32) -> i32 {
    if year > 0 { (year + 99) / 100 } else { -((99 - (year - 1)) / 100) }
}

fn millennium(year: i32) -> i32 {
    if year > 0 { (year + 999) / 1000 } else { -((999 - (year - 1)) / 1000) }
}

fn second_micros(civil: &Civil) -> i64 {
    i64::from(civil.second) * USECS_PER_SEC + i64::from(civil.micros)
}

/// Parts of a time of day.
fn time_part(unit: Unit, civil: &Civil) -> Option<Value> {
    let micros = second_micros(civil);
    Some(match unit {
        Unit::Microsecond => micros.into(),
        Unit::Millisecond => Value::Seconds { micros, millis: true },
        Unit::Second => Value::Seconds { micros, millis: false },
        Unit::Minute => civil.minute.into(),
        Unit::Hour => civil.hour.into(),
        _ => return None,
    })
}

/// Parts of a date.
fn date_part(unit: Unit, civil: &Civil) -> Option<Value> {
    let days = civil.days();
    Some(match unit {
        Unit::Day => civil.day.into(),
        Unit::Month => civil.month.into(),
        Unit::Quarter => ((civil.month - 1) / 3 + 1).into(),
        Unit::Week => iso_week(days).1.into(),
        Unit::Year => shown_year(civil.year).into(),
        Unit::Decade => decade(civil.year).into(),
        Unit::Century => century(civil.year).into(),
        Unit::Millennium => millennium(civil.year).into(),
        Unit::IsoYear => shown_year(iso_week(days).0).into(),
        Unit::DayOfWeek => weekday(days).into(),
        Unit::IsoDayOfWeek => ((weekday(days) + 6) % 7 + 1).into(),
        Unit::DayOfYear => (days - days_from_civil(civil.year.into(), 1, 1) + 1).into(),
        _ => return None,
    })
}

/// What an infinite moment yields: parts that grow with time are infinite, others are missing.
fn infinite_part(unit: Unit, negative: bool) -> Option<Value> {
    match unit {
        Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium
        | Unit::Julian
        | Unit::IsoYear
        | Unit::Epoch => Some(Value::Infinite { negative }),
        Unit::IsoTime => None,
        _ => Some(Value::Missing),
    }
}

const UNIX_EPOCH_MICROS: i128 = UNIX_EPOCH_OFFSET_S as i128 * USECS_PER_SEC as i128;

/// Parts of a moment that do not depend on a zone.
fn moment_part(unit: Unit, civil: &Civil, micros: i64) -> Option<Value> {
    match unit {
        Unit::Julian => Some(Value::Julian(civil.days() + JULIAN_DAY_2000, civil.time_micros())),
        Unit::Epoch => Some(Value::Scaled(i128::from(micros) + UNIX_EPOCH_MICROS, 6)),
        _ => time_part(unit, civil).or_else(|| date_part(unit, civil)),
    }
}

/// Parts of a displacement east.
fn zone_part(unit: Unit, east_s: i32) -> Option<Value> {
    Some(match unit {
        Unit::Zone => east_s.into(),
        Unit::ZoneHour => (east_s / 3600).into(),
        Unit::ZoneMinute => (east_s / 60 % 60).into(),
        _ => return None,
    })
}

fn of_timestamp(name: &str, value: Timestamp) -> Result<Value> {
    let (unit, lower) = parse_unit(name, TypeId::TIMESTAMP)?;
    let found = if value.is_finite() {
        moment_part(unit, &value.civil(), value.0)
    } else {
        infinite_part(unit, value == Timestamp::NEG_INFINITY)
    };
    found.ok_or_else(|| unit_not_supported(&lower, TypeId::TIMESTAMP))
}

fn of_timestamptz(cx: &Context<'_>, args: &[Datum]) -> Result<Value> {
    let value = args[1].as_timestamptz();
    let (unit, lower) = parse_unit(args[0].as_text(), TypeId::TIMESTAMPTZ)?;
    let found = if value.is_finite() {
        let (civil, east_s) = cx.session.format().local(value);
        moment_part(unit, &civil, value.0).or_else(|| zone_part(unit, east_s))
    } else {
        infinite_part(unit, value.0 < 0)
    };
    found.ok_or_else(|| unit_not_supported(&lower, TypeId::TIMESTAMPTZ))
}

fn of_date(name: &str, value: Date) -> Result<Value> {
    let (unit, lower) = parse_unit(name, TypeId::DATE)?;
    let supported = !matches!(
        unit,
        Unit::Microsecond
            | Unit::Millisecond
            | Unit::Second
            | Unit::Minute
            | Unit::Hour
            | Unit::Zone
            | Unit::ZoneHour
            | Unit::ZoneMinute
    );
    let found = if !supported {
        None
    } else if !value.is_finite() {
        infinite_part(unit, value == Date::NEG_INFINITY)
    } else {
        let days = i64::from(value.0);
        match unit {
            Unit::Julian => Some((days + JULIAN_DAY_2000).into()),
            Unit::Epoch => Some((days * 86_400 + UNIX_EPOCH_OFFSET_S).into()),
            _ => {
                let (year, month, day) = crate::types::datetime::calendar::civil_from_days(days);
                date_part(unit, &Civil { year, month, day, ..Civil::default() })
            }
        }
    };
    found.ok_or_else(|| unit_not_supported(&lower, TypeId::DATE))
}

fn of_time(name: &str, value: Time) -> Result<Value> {
    let (unit, lower) = parse_unit(name, TypeId::TIME)?;
    match unit {
        Unit::Epoch => Ok(Value::Scaled(value.0.into(), 6)),
        _ => {
            time_part(unit, &value.civil()).ok_or_else(|| unit_not_supported(&lower, TypeId::TIME))
        }
    }
}

fn of_timetz(name: &str, value: TimeTz) -> Result<Value> {
    let (unit, lower) = parse_unit(name, TypeId::TIMETZ)?;
    match unit {
        Unit::Epoch => {
            let zone = i128::from(value.zone_west_s) * i128::from(USECS_PER_SEC);
            Ok(Value::Scaled(i128::from(value.time.0) + zone, 6))
        }
        _ => time_part(unit, &value.time.civil())
            .or_else(|| zone_part(unit, -value.zone_west_s))
            .ok_or_else(|| unit_not_supported(&lower, TypeId::TIMETZ)),
    }
}

fn of_interval(name: &str, value: Interval) -> Result<Value> {
    let (unit, lower) = parse_unit(name, TypeId::INTERVAL)?;
    let (years, months) = (value.months / 12, value.months % 12);
    let second_micros = value.micros % (60 * USECS_PER_SEC);
    Ok(match unit {
        Unit::Microsecond => second_micros.into(),
        Unit::Millisecond => Value::Seconds { micros: second_micros, millis: true },
        Unit::Second => Value::Seconds { micros: second_micros, millis: false },
        Unit::Minute => (value.micros / (60 * USECS_PER_SEC) % 60).into(),
        Unit::Hour => (value.micros / (3600 * USECS_PER_SEC)).into(),
        Unit::Day => value.days.into(),
        Unit::Month => months.into(),
        Unit::Quarter => (months / 3 + 1).into(),
        Unit::Year => years.into(),
        Unit::Decade => (years / 10).into(),
        Unit::Century => (years / 100).into(),
        Unit::Millennium => (years / 1000).into(),
        Unit::Epoch => Value::Span(value),
        _ => return Err(unit_not_supported(&lower, TypeId::INTERVAL)),
    })
}

const EXTRACT: Bodies = scalars! {
    "extract_date" => |_, a| of_date(a[0].as_text(), a[1].as_date())?.numeric();
    "extract_time" => |_, a| of_time(a[0].as_text(), a[1].as_time())?.numeric();
    "extract_timetz" => |_, a| of_timetz(a[0].as_text(), a[1].as_timetz())?.numeric();
    "extract_timestamp" => |_, a| of_timestamp(a[0].as_text(), a[1].as_timestamp())?.numeric();
    "extract_timestamptz" => |cx, a| of_timestamptz(cx, a)?.numeric();
    "extract_interval" => |_, a| of_interval(a[0].as_text(), a[1].as_interval())?.numeric();
};

const PART: Bodies = scalars! {
    "sql:1384" => |_, a| {
        let midnight = date_to_timestamp(a[1].as_date())?;
        Ok(of_timestamp(a[0].as_text(), midnight)?.float())
    };
    "time_part" => |_, a| Ok(of_time(a[0].as_text(), a[1].as_time())?.float());
    "timetz_part" => |_, a| Ok(of_timetz(a[0].as_text(), a[1].as_timetz())?.float());
    "timestamp_part" => |_, a| Ok(of_timestamp(a[0].as_text(), a[1].as_timestamp())?.float());
    "timestamptz_part" => |cx, a| Ok(of_timestamptz(cx, a)?.float());
    "interval_part" => |_, a| Ok(of_interval(a[0].as_text(), a[1].as_interval())?.float());
};
