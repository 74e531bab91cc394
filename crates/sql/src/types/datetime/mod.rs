//! Dates, times, timestamps and intervals, in PostgreSQL's units.
//!
//! Text input goes `lex` → `decode*`, output is `encode`, days and calendars convert in
//! `calendar`, offsets come from `zone`.

pub mod calendar;
mod decode;
mod decode_interval;
mod decode_time;
pub mod encode;
mod error;
mod keywords;
mod lex;
mod numbers;
mod parts;
pub(crate) mod span;
pub mod zone;

#[cfg(test)]
mod tests;

pub use calendar::Civil;
use calendar::is_valid_julian;
use decode::{Decoded, decode_moment};
pub use error::{DateTimeError, out_of_range, unknown_zone};
pub use keywords::{Unit, span_unit_by_name, unit_by_name};
pub use zone::TimeZone;

use super::context::IoContext;
use super::typmod::{IntervalFields, MAX_SECOND_PRECISION, TypeMod};
use crate::error::{Result, sql_error};

/// Microseconds in a second, minute, hour and day.
pub const USECS_PER_SEC: i64 = 1_000_000;
pub const USECS_PER_MINUTE: i64 = 60 * USECS_PER_SEC;
pub const USECS_PER_HOUR: i64 = 60 * USECS_PER_MINUTE;
pub const USECS_PER_DAY: i64 = 24 * USECS_PER_HOUR;

/// Days since 2000-01-01; the extremes stand for the infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// Microseconds since 2000-01-01 00:00:00 of no particular zone; the extremes stand for the
/// infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Microseconds since 2000-01-01 00:00:00 UTC; the extremes stand for the infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampTz(pub i64);

/// Microseconds since midnight, 24:00:00 included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A time of day with its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTz {
    pub time: Time,
    /// Seconds *west* of Greenwich, as PostgreSQL stores it.
    pub zone_west_s: i32,
}

/// A span of time: months and days have no fixed length, so the three parts stay apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

macro_rules! infinities {
    ($($type:ident $int:ty;)*) => {
        $(impl $type {
            pub const INFINITY: $type = $type(<$int>::MAX);
            pub const NEG_INFINITY: $type = $type(<$int>::MIN);

            pub fn is_finite(self) -> bool {
                self != Self::INFINITY && self != Self::NEG_INFINITY
            }
        })*
    };
}

infinities! {
    Date i32;
    Timestamp i64;
    TimestampTz i64;
}

/// 1970-01-01.
const UNIX_EPOCH: Timestamp = Timestamp(-calendar::UNIX_EPOCH_OFFSET_S * USECS_PER_SEC);

impl Date {
    /// Reads a date; anything after it that names a time is read and dropped.
    pub fn parse(text: &str, cx: &IoContext<'_>) -> Result<Date> {
        let decoded = decode_moment(text, cx).map_err(|error| error.into_sql(text, "date"))?;
        let civil = match decoded {
            Decoded::Infinity => return Ok(Date::INFINITY),
            Decoded::NegInfinity => return Ok(Date::NEG_INFINITY),
            Decoded::Epoch => UNIX_EPOCH.civil(),
            Decoded::Moment { civil, .. } => civil,
        };
        is_valid_julian(civil.year, civil.month)
            .then(|| Date::from_days(civil.days()))
            .flatten()
            .ok_or_else(|| sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "date out of range: \"{text}\""))
    }
}

impl Timestamp {
    /// Reads a timestamp; a zone in the text is ignored.
    pub fn parse(text: &str, typmod: TypeMod, cx: &IoContext<'_>) -> Result<Timestamp> {
        let decoded = decode_moment(text, cx).map_err(|error| error.into_sql(text, "timestamp"))?;
        let value = match decoded {
            Decoded::Infinity => Timestamp::INFINITY,
            Decoded::NegInfinity => Timestamp::NEG_INFINITY,
            Decoded::Epoch => UNIX_EPOCH,
            Decoded::Moment { civil, .. } => {
                civil.timestamp().ok_or_else(|| timestamp_text_out_of_range(text))?
            }
        };
        Ok(value.apply_typmod(typmod))
    }

    /// Rounds to the precision of `timestamp(p)`.
    #[must_use]
    pub fn apply_typmod(self, typmod: TypeMod) -> Timestamp {
        if self.is_finite() {
            Timestamp(round_micros(self.0, typmod.second_precision()))
        } else {
            self
        }
    }
}

impl TimestampTz {
    /// Reads an instant; without a zone in the text the session's applies.
    pub fn parse(text: &str, typmod: TypeMod, cx: &IoContext<'_>) -> Result<TimestampTz> {
        let decoded = decode_moment(text, cx)
            .map_err(|error| error.into_sql(text, "timestamp with time zone"))?;
        let value = match decoded {
            Decoded::Infinity => TimestampTz::INFINITY,
            Decoded::NegInfinity => TimestampTz::NEG_INFINITY,
            Decoded::Epoch => TimestampTz(UNIX_EPOCH.0),
            Decoded::Moment { civil, east_s } => {
                civil.instant(east_s).ok_or_else(|| timestamp_text_out_of_range(text))?
            }
        };
        Ok(value.apply_typmod(typmod))
    }

    /// Rounds to the precision of `timestamp(p) with time zone`.
    #[must_use]
    pub fn apply_typmod(self, typmod: TypeMod) -> TimestampTz {
        TimestampTz(Timestamp(self.0).apply_typmod(typmod).0)
    }
}

#[cold]
fn timestamp_text_out_of_range(text: &str) -> crate::error::SqlError {
    sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "timestamp out of range: \"{text}\"")
}

impl Time {
    /// Reads a time of day; a zone in the text is ignored.
    pub fn parse(text: &str, typmod: TypeMod, cx: &IoContext<'_>) -> Result<Time> {
        let decoded =
            decode_time::decode_time(text, cx).map_err(|error| error.into_sql(text, "time"))?;
        Ok(decoded.time.apply_typmod(typmod))
    }

    /// Rounds to the precision of `time(p)`.
    #[must_use]
    pub fn apply_typmod(self, typmod: TypeMod) -> Time {
        Time(round_micros(self.0, typmod.second_precision()))
    }
}

impl TimeTz {
    /// Reads a time of day with its zone; without one in the text the session's applies.
    pub fn parse(text: &str, typmod: TypeMod, cx: &IoContext<'_>) -> Result<TimeTz> {
        let decoded = decode_time::decode_time(text, cx)
            .map_err(|error| error.into_sql(text, "time with time zone"))?;
        Ok(decoded.apply_typmod(typmod))
    }

    /// Rounds to the precision of `time(p) with time zone`.
    #[must_use]
    pub fn apply_typmod(self, typmod: TypeMod) -> TimeTz {
        TimeTz { time: self.time.apply_typmod(typmod), ..self }
    }

    /// Microseconds since midnight at Greenwich, which is what orders these values first.
    fn at_greenwich(self) -> i64 {
        self.time.0 + i64::from(self.zone_west_s) * USECS_PER_SEC
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &TimeTz) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By the moment, then by the displacement: values in different zones are never equal.
impl Ord for TimeTz {
    fn cmp(&self, other: &TimeTz) -> std::cmp::Ordering {
        self.at_greenwich()
            .cmp(&other.at_greenwich())
            .then(self.zone_west_s.cmp(&other.zone_west_s))
    }
}

impl Interval {
    pub const ZERO: Interval = Interval { months: 0, days: 0, micros: 0 };

    /// Reads an interval in any of its forms.
    pub fn parse(text: &str, typmod: TypeMod, cx: &IoContext<'_>) -> Result<Interval> {
        let range = typmod
            .interval()
            .map_or(IntervalFields(IntervalFields::FULL_RANGE), |(fields, _)| fields);
        let value = decode_interval::decode_interval(text, range, cx)
            .map_err(|error| error.into_sql(text, "interval"))?;
        Ok(value.apply_typmod(typmod))
    }

    /// Drops what lies below the last field that the type keeps, and rounds the seconds.
    #[must_use]
    pub fn apply_typmod(self, typmod: TypeMod) -> Interval {
        use IntervalFields as F;
        let Some((F(fields), precision)) = typmod.interval() else { return self };
        let mut value = self;
        let keeps = |bits: i32| fields & bits != 0;
        if fields != F::FULL_RANGE {
            if keeps(F::SECOND) {
                // Nothing lies below.
            } else if keeps(F::MINUTE) {
                value.micros -= value.micros % USECS_PER_MINUTE;
            } else if keeps(F::HOUR) {
                value.micros -= value.micros % USECS_PER_HOUR;
            } else if keeps(F::DAY) {
                value.micros = 0;
            } else {
                value.micros = 0;
                value.days = 0;
                if !keeps(F::MONTH) {
                    value.months -= value.months % 12;
                }
            }
        }
        value.micros = round_micros(value.micros, precision);
        value
    }

    /// The length in microseconds, months of 30 days; what orders intervals.
    pub fn span(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(USECS_PER_DAY) + i128::from(self.micros)
    }
}

/// Rounds half away from zero to `precision` digits of a second.
fn round_micros(micros: i64, precision: Option<i32>) -> i64 {
    let Some(precision) = precision.filter(|&p| p < MAX_SECOND_PRECISION) else { return micros };
    let unit = 10i64.pow((MAX_SECOND_PRECISION - precision) as u32);
    let half = unit / 2;
    let shifted = if micros >= 0 { micros + half } else { micros - half };
    shifted / unit * unit
}
