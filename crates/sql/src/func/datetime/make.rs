//! `make_date` and its kin, `to_timestamp(double precision)`.

use super::convert::NamedZone;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::bodies::{Bodies, scalars};
use crate::types::datetime::calendar::{days_in_month, is_valid_julian};
use crate::types::datetime::{
    Civil, TimeZone, USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC, out_of_range,
};
use crate::types::{Date, Datum, Interval, Time, Timestamp, TimestampTz};

pub(super) const ROOMS: &[Bodies] = &[MAKE];

#[cold]
fn date_field(year: i32, month: i32, day: i32) -> SqlError {
    sql_error!(DATETIME_FIELD_OVERFLOW, "date field value out of range: {year}-{month:02}-{day:02}")
}

/// A date from its parts; negative years are BC, and there is no year zero.
fn date(year: i32, month: i32, day: i32) -> Result<Civil> {
    let invalid = || date_field(year, month, day);
    let astronomical = match year {
        0 => return Err(invalid()),
        ..0 => year.checked_add(1).ok_or_else(invalid)?,
        _ => year,
    };
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(astronomical, month) {
        return Err(invalid());
    }
    Ok(Civil { year: astronomical, month, day, ..Civil::default() })
}

/// Seconds as messages show them: six digits at most, two places at least.
fn shown(second: f64) -> String {
    format!("{:0>2}", crate::types::float::shown(second))
}

/// Microseconds since midnight from the parts of a time.
fn time(hour: i32, minute: i32, second: f64) -> Result<i64> {
    let micros = (second * USECS_PER_SEC as f64).round_ties_even();
    let valid = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=60.0 * USECS_PER_SEC as f64).contains(&micros);
    let total = i64::from(hour) * USECS_PER_HOUR
        + i64::from(minute) * USECS_PER_MINUTE
        + if valid { micros as i64 } else { 0 };
    if !valid || total > USECS_PER_DAY {
        let second = shown(second);
        return Err(sql_error!(
            DATETIME_FIELD_OVERFLOW,
            "time field value out of range: {hour}:{minute:02}:{second}"
        ));
    }
    Ok(total)
}

/// Date and time from the first six arguments.
fn moment(args: &[Datum]) -> Result<Timestamp> {
    let (year, month, day) = (args[0].as_int4(), args[1].as_int4(), args[2].as_int4());
    let (hour, minute, second) = (args[3].as_int4(), args[4].as_int4(), args[5].as_float8());
    let civil = date(year, month, day)?;
    if !is_valid_julian(civil.year, civil.month) {
        bail!(DATETIME_VALUE_OUT_OF_RANGE, "date out of range: {year}-{month:02}-{day:02}");
    }
    let micros = time(hour, minute, second)?;
    civil
        .days()
        .checked_mul(USECS_PER_DAY)
        .and_then(|days| days.checked_add(micros))
        .and_then(Timestamp::checked)
        .ok_or_else(|| {
            let second = shown(second);
            sql_error!(
                DATETIME_VALUE_OUT_OF_RANGE,
                "timestamp out of range: {year}-{month:02}-{day:02} {hour}:{minute:02}:{second}"
            )
        })
}

fn instant(local: Timestamp, east_of_local: impl Fn(i64) -> i32) -> Result<Datum> {
    let civil = local.civil();
    civil
        .instant(east_of_local(civil.unix_local_s()))
        .map(Datum::TimestampTz)
        .ok_or_else(|| out_of_range("timestamp"))
}

/// A zone's displacement or name; a displacement needs its sign.
fn zone_argument(text: &str) -> Result<NamedZone> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(sql_error!(
            INVALID_PARAMETER_VALUE,
            "invalid input syntax for type numeric time zone: \"{text}\""
        )
        .with_hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    match TimeZone::displacement(text) {
        Some(Ok(east_s)) => Ok(NamedZone::Fixed(east_s)),
        Some(Err(())) => {
            bail!(INVALID_PARAMETER_VALUE, "numeric time zone \"{text}\" out of range")
        }
        None => NamedZone::parse(text),
    }
}

const MAKE: Bodies = scalars! {
    "make_date" => |_, a| {
        let (year, month, day) = (a[0].as_int4(), a[1].as_int4(), a[2].as_int4());
        let civil = date(year, month, day)?;
        is_valid_julian(civil.year, civil.month)
            .then(|| Date::from_days(civil.days()))
            .flatten()
            .map(Datum::Date)
            .ok_or_else(|| {
                sql_error!(
                    DATETIME_VALUE_OUT_OF_RANGE,
                    "date out of range: {year}-{month:02}-{day:02}"
                )
            })
    };
    "make_time" => |_, a| {
        time(a[0].as_int4(), a[1].as_int4(), a[2].as_float8()).map(|t| Datum::Time(Time(t)))
    };
    "make_timestamp" => |_, a| moment(a).map(Datum::Timestamp);
    "make_timestamptz" => |cx, a| {
        let zone = &cx.session.format().time_zone;
        instant(moment(a)?, |local_s| zone.east_of_local(local_s))
    };
    "make_timestamptz_at_timezone" => |_, a| {
        let local = moment(a)?;
        let zone = zone_argument(a[6].as_text())?;
        instant(local, |local_s| zone.east_of_local(local_s))
    };
    "make_interval" => |_, a| interval(a).map(Datum::Interval);
    "float8_timestamptz" => |_, a| from_unix(a[0].as_float8());
};

fn interval(args: &[Datum]) -> Result<Interval> {
    let overflow = || out_of_range("interval");
    let number = |i: usize| i64::from(args[i].as_int4());
    let seconds = args[6].as_float8();
    if !seconds.is_finite() {
        return Err(overflow());
    }
    let months = number(0) * 12 + number(1);
    let days = number(2) * 7 + number(3);
    let second_micros = (seconds * USECS_PER_SEC as f64).round_ties_even();
    if !(-9.2e18..9.2e18).contains(&second_micros) {
        return Err(overflow());
    }
    let clock = number(4) * USECS_PER_HOUR + number(5) * USECS_PER_MINUTE;
    Ok(Interval {
        months: months.try_into().map_err(|_| overflow())?,
        days: days.try_into().map_err(|_| overflow())?,
        micros: clock.checked_add(second_micros as i64).ok_or_else(overflow)?,
    })
}

/// The instant that many seconds after 1970.
fn from_unix(seconds: f64) -> Result<Datum> {
    if seconds.is_nan() {
        bail!(DATETIME_VALUE_OUT_OF_RANGE, "timestamp cannot be NaN");
    }
    if seconds.is_infinite() {
        let infinite =
            if seconds > 0.0 { TimestampTz::INFINITY } else { TimestampTz::NEG_INFINITY };
        return Ok(Datum::TimestampTz(infinite));
    }
    let epoch_s = crate::types::datetime::calendar::UNIX_EPOCH_OFFSET_S as f64;
    let micros = ((seconds - epoch_s) * USECS_PER_SEC as f64).round_ties_even();
    Some(micros)
        .filter(|micros| micros.abs() < 9.3e18)
        .and_then(|micros| Timestamp::checked(micros as i64))
        .map(|t| Datum::TimestampTz(TimestampTz(t.0)))
        .ok_or_else(|| {
            let shown = crate::types::float::shown(seconds);
            sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "timestamp out of range: \"{shown}\"")
        })
}
