//! Arithmetic of moments and spans.

use super::calendar::{civil_from_days, days_in_month};
use super::error::out_of_range;
use super::{Civil, Interval, TimeZone, Timestamp, TimestampTz, USECS_PER_DAY, USECS_PER_SEC};
use crate::error::{Result, SqlError, sql_error};

const DAYS_PER_MONTH: i32 = 30;
const SECS_PER_DAY: f64 = 86_400.0;

#[cold]
fn interval_out_of_range() -> SqlError {
    out_of_range("interval")
}

#[cold]
fn timestamp_out_of_range() -> SqlError {
    out_of_range("timestamp")
}

/// A date some months on; a day that the new month lacks becomes its last.
fn add_months(civil: &mut Civil, months: i32) -> Result<()> {
    let total = i64::from(civil.year) * 12 + i64::from(civil.month - 1) + i64::from(months);
    civil.year = i32::try_from(total.div_euclid(12)).map_err(|_| timestamp_out_of_range())?;
    civil.month = total.rem_euclid(12) as i32 + 1;
    civil.day = civil.day.min(days_in_month(civil.year, civil.month));
    Ok(())
}

/// A date some days on.
fn add_days(civil: &mut Civil, days: i32) {
    let day = civil.days() + i64::from(days);
    (civil.year, civil.month, civil.day) = civil_from_days(day);
}

fn add_micros(micros: i64, span: i64) -> Result<i64> {
    let sum = micros.checked_add(span).ok_or_else(timestamp_out_of_range)?;
    Timestamp::checked(sum).map(|t| t.0).ok_or_else(timestamp_out_of_range)
}

/// Months first, then days, then time.
pub(crate) fn add_to_timestamp(value: Timestamp, span: Interval) -> Result<Timestamp> {
    if !value.is_finite() {
        return Ok(value);
    }
    let mut moment = value;
    if span.months != 0 || span.days != 0 {
        let mut civil = moment.civil();
        add_months(&mut civil, span.months)?;
        if span.days != 0 {
            civil.timestamp().ok_or_else(timestamp_out_of_range)?;
            add_days(&mut civil, span.days);
        }
        moment = civil.timestamp().ok_or_else(timestamp_out_of_range)?;
    }
    add_micros(moment.0, span.micros).map(Timestamp)
}

/// Months and days by the zone's wall clock, time by the real one.
pub(crate) fn add_to_timestamptz(
    value: TimestampTz,
    span: Interval,
    zone: &TimeZone,
) -> Result<TimestampTz> {
    if !value.is_finite() {
        return Ok(value);
    }
    let mut moment = value;
    let instant = |civil: &Civil| {
        civil.instant(zone.east_of_local(civil.unix_local_s())).ok_or_else(timestamp_out_of_range)
    };
    if span.months != 0 {
        let (mut civil, _) = zone.civil(moment);
        add_months(&mut civil, span.months)?;
        moment = instant(&civil)?;
    }
    if span.days != 0 {
        let (mut civil, _) = zone.civil(moment);
        add_days(&mut civil, span.days);
        moment = instant(&civil)?;
    }
    add_micros(moment.0, span.micros).map(TimestampTz)
}

/// The time between two moments, as days and hours.
pub(crate) fn difference(later: i64, earlier: i64) -> Result<Interval> {
    let finite = |micros: i64| Timestamp(micros).is_finite();
    if !finite(later) || !finite(earlier) {
        return Err(sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "cannot subtract infinite timestamps"));
    }
    let micros = later.checked_sub(earlier).ok_or_else(interval_out_of_range)?;
    Interval { micros, ..Interval::ZERO }.justify_hours()
}

/// The difference in calendar terms: years, months and days of the actual months in between.
///
/// `first` and `second` are the two readings, `backwards` tells that the first instant is the
/// earlier one.
pub(crate) fn age(first: &Civil, second: &Civil, backwards: bool) -> Interval {
    let sign = if backwards { -1 } else { 1 };
    let mut micros = sign * (first.micros - second.micros);
    let mut second_part = sign * (first.second - second.second);
    let mut minute = sign * (first.minute - second.minute);
    let mut hour = sign * (first.hour - second.hour);
    let mut day = sign * (first.day - second.day);
    let mut month = sign * (first.month - second.month);
    let mut year = sign * (first.year - second.year);
    let borrow = |low: &mut i32, high: &mut i32, size: i32| {
        while *low < 0 {
            *low += size;
            *high -= 1;
        }
    };
    borrow(&mut micros, &mut second_part, USECS_PER_SEC as i32);
    borrow(&mut second_part, &mut minute, 60);
    borrow(&mut minute, &mut hour, 60);
    borrow(&mut hour, &mut day, 24);
    let earlier = if backwards { first } else { second };
    borrow(&mut day, &mut month, days_in_month(earlier.year, earlier.month));
    borrow(&mut month, &mut year, 12);
    let time = Civil { hour, minute, second: second_part, micros, ..Civil::default() };
    Interval {
        months: sign * (year * 12 + month),
        days: sign * day,
        micros: i64::from(sign) * time.time_micros(),
    }
}

/// Rounds to microseconds, where multiplication leaves noise.
fn to_precision(seconds: f64) -> f64 {
    (seconds * 1e6).round_ties_even() / 1e6
}

impl Interval {
    pub(crate) fn checked_neg(self) -> Result<Interval> {
        let negated = || {
            Some(Interval {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                micros: self.micros.checked_neg()?,
            })
        };
        negated().ok_or_else(interval_out_of_range)
    }

    pub(crate) fn checked_add(self, other: Interval) -> Result<Interval> {
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                micros: self.micros.checked_add(other.micros)?,
            })
        };
        sum().ok_or_else(interval_out_of_range)
    }

    pub(crate) fn checked_sub(self, other: Interval) -> Result<Interval> {
        let difference = || {
            Some(Interval {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                micros: self.micros.checked_sub(other.micros)?,
            })
        };
        difference().ok_or_else(interval_out_of_range)
    }

    pub(crate) fn scale(self, factor: f64) -> Result<Interval> {
        self.scaled(|part| part * factor)
    }

    /// By a divisor that is not zero.
    pub(crate) fn divide(self, divisor: f64) -> Result<Interval> {
        self.scaled(|part| part / divisor)
    }

    /// Applies a factor to each part; what is left of a month goes to the days, what is left of
    /// a day to the time.
    fn scaled(self, apply: impl Fn(f64) -> f64) -> Result<Interval> {
        let whole = |value: f64| -> Result<i32> {
            let fits = value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX);
            if fits { Ok(value as i32) } else { Err(interval_out_of_range()) }
        };
        let months_exact = apply(f64::from(self.months));
        let days_exact = apply(f64::from(self.days));
        let months = whole(months_exact)?;
        let mut days = whole(days_exact)?;
        let month_days =
            to_precision((months_exact - f64::from(months)) * f64::from(DAYS_PER_MONTH));
        let mut seconds = to_precision(
            (days_exact - f64::from(days) + month_days - month_days.trunc()) * SECS_PER_DAY,
        );
        if seconds.abs() >= SECS_PER_DAY {
            let extra = (seconds / SECS_PER_DAY) as i32;
            days = days.checked_add(extra).ok_or_else(interval_out_of_range)?;
            seconds -= f64::from(extra) * SECS_PER_DAY;
        }
        days = days.checked_add(month_days as i32).ok_or_else(interval_out_of_range)?;
        let micros = (apply(self.micros as f64) + seconds * USECS_PER_SEC as f64).round_ties_even();
        let limit = 9_223_372_036_854_775_808.0;
        if !(-limit..limit).contains(&micros) {
            return Err(interval_out_of_range());
        }
        Ok(Interval { months, days, micros: micros as i64 })
    }

    /// Turns every 24 hours into a day, with one sign for both.
    pub(crate) fn justify_hours(self) -> Result<Interval> {
        let mut value = self.carry_hours()?;
        value.align_days_and_time();
        Ok(value)
    }

    fn carry_hours(self) -> Result<Interval> {
        let days = (self.micros / USECS_PER_DAY) as i32;
        Ok(Interval {
            days: self.days.checked_add(days).ok_or_else(interval_out_of_range)?,
            micros: self.micros % USECS_PER_DAY,
            ..self
        })
    }

    fn carry_days(self) -> Result<Interval> {
        let months = self.days / DAYS_PER_MONTH;
        Ok(Interval {
            months: self.months.checked_add(months).ok_or_else(interval_out_of_range)?,
            days: self.days % DAYS_PER_MONTH,
            ..self
        })
    }

    fn align_days_and_time(&mut self) {
        if self.days > 0 && self.micros < 0 {
            self.micros += USECS_PER_DAY;
            self.days -= 1;
        } else if self.days < 0 && self.micros > 0 {
            self.micros -= USECS_PER_DAY;
            self.days += 1;
        }
    }

    /// Turns every 30 days into a month, with one sign for both.
    pub(crate) fn justify_days(self) -> Result<Interval> {
        let mut value = self.carry_days()?;
        if value.months > 0 && value.days < 0 {
            value.days += DAYS_PER_MONTH;
            value.months -= 1;
        } else if value.months < 0 && value.days > 0 {
            value.days -= DAYS_PER_MONTH;
            value.months += 1;
        }
        Ok(value)
    }

    /// Both, with one sign for all three parts.
    pub(crate) fn justify(self) -> Result<Interval> {
        let same_sign = (self.days > 0 && self.micros > 0) || (self.days < 0 && self.micros < 0);
        // Days that could overflow with the hours' are carried first.
        let start = if same_sign { self.carry_days()? } else { self };
        let mut value = start.carry_hours()?.carry_days()?;
        if value.months > 0 && (value.days < 0 || (value.days == 0 && value.micros < 0)) {
            value.days += DAYS_PER_MONTH;
            value.months -= 1;
        } else if value.months < 0 && (value.days > 0 || (value.days == 0 && value.micros > 0)) {
            value.days -= DAYS_PER_MONTH;
            value.months += 1;
        }
        value.align_days_and_time();
        Ok(value)
    }
}
