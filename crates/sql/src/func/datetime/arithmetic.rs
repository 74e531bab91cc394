//! Moments and spans added, subtracted, scaled.

use super::convert::{date_to_timestamp, date_to_timestamptz};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::Context;
use crate::func::bodies::{Bodies, scalars};
use crate::types::datetime::span::{add_to_timestamp, add_to_timestamptz, age, difference};
use crate::types::datetime::{USECS_PER_DAY, out_of_range};
use crate::types::numeric::division_by_zero;
use crate::types::{Date, Datum, Interval, Time, TimeTz, Timestamp, TimestampTz};

pub(super) const ROOMS: &[Bodies] = &[DATES, MOMENTS, TIMES, INTERVALS, CLOCK];

fn move_date(date: Date, days: i64) -> Result<Datum> {
    if !date.is_finite() {
        return Ok(Datum::Date(date));
    }
    Date::from_days(i64::from(date.0) + days).map(Datum::Date).ok_or_else(|| out_of_range("date"))
}

fn date_plus(date: Date, span: Interval) -> Result<Datum> {
    add_to_timestamp(date_to_timestamp(date)?, span).map(Datum::Timestamp)
}

const DATES: Bodies = scalars! {
    "date_pli" => |_, a| move_date(a[0].as_date(), a[1].as_int4().into());
    "sql:2550" => |_, a| move_date(a[1].as_date(), a[0].as_int4().into());
    "date_mii" => |_, a| move_date(a[0].as_date(), -i64::from(a[1].as_int4()));
    "date_mi" => |_, a| {
        let (x, y) = (a[0].as_date(), a[1].as_date());
        if !x.is_finite() || !y.is_finite() {
            bail!(DATETIME_VALUE_OUT_OF_RANGE, "cannot subtract infinite dates");
        }
        Ok(Datum::Int4(x.0 - y.0))
    };
    "date_pl_interval" => |_, a| date_plus(a[0].as_date(), a[1].as_interval());
    "sql:2546" => |_, a| date_plus(a[1].as_date(), a[0].as_interval());
    "date_mi_interval" => |_, a| date_plus(a[0].as_date(), a[1].as_interval().checked_neg()?);
};

/// The end of a moment's arithmetic: either kind stays what it is.
fn plus(cx: &Context<'_>, moment: &Datum, span: Interval) -> Result<Datum> {
    match moment {
        Datum::Timestamp(v) => add_to_timestamp(*v, span).map(Datum::Timestamp),
        other => {
            let zone = &cx.session.format().time_zone;
            add_to_timestamptz(other.as_timestamptz(), span, zone).map(Datum::TimestampTz)
        }
    }
}

fn raw(moment: &Datum) -> i64 {
    match moment {
        Datum::Timestamp(v) => v.0,
        other => other.as_timestamptz().0,
    }
}

const MOMENTS: Bodies = scalars! {
    "timestamp_pl_interval" => |cx, a| plus(cx, &a[0], a[1].as_interval());
    "timestamptz_pl_interval" => |cx, a| plus(cx, &a[0], a[1].as_interval());
    "sql:2548" => |cx, a| plus(cx, &a[1], a[0].as_interval());
    "sql:2549" => |cx, a| plus(cx, &a[1], a[0].as_interval());
    "timestamp_mi_interval" => |cx, a| plus(cx, &a[0], a[1].as_interval().checked_neg()?);
    "timestamptz_mi_interval" => |cx, a| plus(cx, &a[0], a[1].as_interval().checked_neg()?);
    "timestamp_mi" => |_, a| difference(raw(&a[0]), raw(&a[1])).map(Datum::Interval);
    "timestamp_age" => |_, a| timestamp_age(a[0].as_timestamp(), a[1].as_timestamp());
    "timestamptz_age" => |cx, a| {
        timestamptz_age(cx, a[0].as_timestamptz(), a[1].as_timestamptz())
    };
    "sql:2059" => |cx, a| {
        let today = date_to_timestamp(today(cx))?;
        timestamp_age(today, a[0].as_timestamp())
    };
    "sql:1386" => |cx, a| {
        let today = date_to_timestamptz(today(cx), &cx.session.format().time_zone)?;
        timestamptz_age(cx, today, a[0].as_timestamptz())
    };
};

/// `CURRENT_DATE`.
fn today(cx: &Context<'_>) -> Date {
    let (civil, _) = cx.session.format().local(cx.transaction_start);
    Date(civil.days() as i32)
}

fn timestamp_age(x: Timestamp, y: Timestamp) -> Result<Datum> {
    if !x.is_finite() || !y.is_finite() {
        return Err(out_of_range("timestamp"));
    }
    Ok(Datum::Interval(age(&x.civil(), &y.civil(), x < y)))
}

fn timestamptz_age(cx: &Context<'_>, x: TimestampTz, y: TimestampTz) -> Result<Datum> {
    if !x.is_finite() || !y.is_finite() {
        return Err(out_of_range("timestamp"));
    }
    let format = cx.session.format();
    Ok(Datum::Interval(age(&format.local(x).0, &format.local(y).0, x < y)))
}

/// A time of day moved by the time part of a span, around midnight.
fn wrap(time: Time, micros: i64) -> Time {
    Time((i128::from(time.0) + i128::from(micros)).rem_euclid(i128::from(USECS_PER_DAY)) as i64)
}

fn wrap_tz(value: TimeTz, micros: i64) -> Datum {
    Datum::TimeTz(TimeTz { time: wrap(value.time, micros), ..value })
}

fn negated(micros: i64) -> i64 {
    // The one value without a negative is no multiple of a day, so it must not be dropped.
    micros.checked_neg().unwrap_or(-(micros % USECS_PER_DAY))
}

const TIMES: Bodies = scalars! {
    "time_pl_interval" => |_, a| Ok(Datum::Time(wrap(a[0].as_time(), a[1].as_interval().micros)));
    "sql:1848" => |_, a| Ok(Datum::Time(wrap(a[1].as_time(), a[0].as_interval().micros)));
    "time_mi_interval" => |_, a| {
        Ok(Datum::Time(wrap(a[0].as_time(), negated(a[1].as_interval().micros))))
    };
    "time_mi_time" => |_, a| {
        let micros = a[0].as_time().0 - a[1].as_time().0;
        Ok(Datum::Interval(Interval { micros, ..Interval::ZERO }))
    };
    "timetz_pl_interval" => |_, a| Ok(wrap_tz(a[0].as_timetz(), a[1].as_interval().micros));
    "sql:2547" => |_, a| Ok(wrap_tz(a[1].as_timetz(), a[0].as_interval().micros));
    "timetz_mi_interval" => |_, a| {
        Ok(wrap_tz(a[0].as_timetz(), negated(a[1].as_interval().micros)))
    };
};

const INTERVALS: Bodies = scalars! {
    "interval_um" => |_, a| a[0].as_interval().checked_neg().map(Datum::Interval);
    "interval_pl" => |_, a| {
        a[0].as_interval().checked_add(a[1].as_interval()).map(Datum::Interval)
    };
    "interval_mi" => |_, a| {
        a[0].as_interval().checked_sub(a[1].as_interval()).map(Datum::Interval)
    };
    "interval_mul" => |_, a| a[0].as_interval().scale(a[1].as_float8()).map(Datum::Interval);
    "mul_d_interval" => |_, a| a[1].as_interval().scale(a[0].as_float8()).map(Datum::Interval);
    "interval_div" => |_, a| match a[1].as_float8() {
        0.0 => Err(division_by_zero()),
        divisor => a[0].as_interval().divide(divisor).map(Datum::Interval),
    };
    "interval_justify_hours" => |_, a| a[0].as_interval().justify_hours().map(Datum::Interval);
    "interval_justify_days" => |_, a| a[0].as_interval().justify_days().map(Datum::Interval);
    "interval_justify_interval" => |_, a| a[0].as_interval().justify().map(Datum::Interval);
    "date_finite" => |_, a| Ok(Datum::Bool(a[0].as_date().is_finite()));
    "timestamp_finite" => |_, a| Ok(Datum::Bool(Timestamp(raw(&a[0])).is_finite()));
    "interval_finite" => |_, _| Ok(Datum::Bool(true));
    "timestamp_bin" => |_, a| bin(a[0].as_interval(), raw(&a[1]), raw(&a[2]))
        .map(|v| Datum::Timestamp(Timestamp(v)));
    "timestamptz_bin" => |_, a| bin(a[0].as_interval(), raw(&a[1]), raw(&a[2]))
        .map(|v| Datum::TimestampTz(TimestampTz(v)));
};

#[cold]
fn bin_error(message: &str) -> SqlError {
    sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "{message}")
}

/// The start of the stride from `origin` that holds a moment.
fn bin(stride: Interval, moment: i64, origin: i64) -> Result<i64> {
    if !Timestamp(moment).is_finite() {
        return Ok(moment);
    }
    if !Timestamp(origin).is_finite() {
        return Err(bin_error("origin out of range"));
    }
    if stride.months != 0 {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years"
        );
    }
    let micros = i64::from(stride.days)
        .checked_mul(USECS_PER_DAY)
        .and_then(|days| days.checked_add(stride.micros))
        .ok_or_else(|| out_of_range("interval"))?;
    if micros <= 0 {
        return Err(bin_error("stride must be greater than zero"));
    }
    let offset = moment.checked_sub(origin).ok_or_else(|| out_of_range("interval"))?;
    let start = offset - offset.rem_euclid(micros);
    let begin = origin.checked_add(start).and_then(Timestamp::checked);
    begin.map(|t| t.0).ok_or_else(|| out_of_range("timestamp"))
}

const CLOCK: Bodies = scalars! {
    "now" => |cx, _| Ok(Datum::TimestampTz(cx.transaction_start));
    "statement_timestamp" => |cx, _| Ok(Datum::TimestampTz(cx.statement_start));
    "clock_timestamp" => |_, _| Ok(Datum::TimestampTz(TimestampTz::from_clock()));
    "timeofday" => |cx, _| Ok(time_of_day(cx).into());
};

/// The time as Unix programs print it, with microseconds.
fn time_of_day(cx: &Context<'_>) -> String {
    use crate::types::datetime::encode::{MONTHS, WEEKDAYS};
    let now = TimestampTz::from_clock();
    let format = cx.session.format();
    let (civil, _) = format.local(now);
    let weekday = crate::types::datetime::calendar::weekday(civil.days());
    format!(
        "{} {} {:02} {:02}:{:02}:{:02}.{:06} {} {}",
        &WEEKDAYS[weekday as usize][..3],
        &MONTHS[civil.month as usize - 1][..3],
        civil.day,
        civil.hour,
        civil.minute,
        civil.second,
        civil.micros,
        civil.year,
        format.time_zone.at(now.unix_s()).abbreviation
    )
}
