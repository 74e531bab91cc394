//! Conversions between the date and time types, and between zones.

use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::Context;
use crate::func::bodies::{Bodies, scalars};
use crate::types::datetime::zone::{Abbreviation, Meaning};
use crate::types::datetime::{TimeZone, USECS_PER_DAY, USECS_PER_SEC, out_of_range, unknown_zone};
use crate::types::{
    Date, Datum, Interval, Time, TimeTz, Timestamp, TimestampTz, TypeId, TypeMod, format_type,
    output_string,
};

pub(super) const ROOMS: &[Bodies] = &[CASTS, SCALES, ZONES];

#[cold]
fn date_beyond_timestamp() -> SqlError {
    sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "date out of range for timestamp")
}

pub(super) fn date_to_timestamp(date: Date) -> Result<Timestamp> {
    date.to_timestamp().ok_or_else(date_beyond_timestamp)
}

/// A reading of the zone's wall clock as an instant; infinities stay.
pub(super) fn local_to_instant(local: Timestamp, zone: &TimeZone) -> Option<TimestampTz> {
    if !local.is_finite() {
        return Some(TimestampTz(local.0));
    }
    let civil = local.civil();
    civil.instant(zone.east_of_local(civil.unix_local_s()))
}

pub(super) fn date_to_timestamptz(date: Date, zone: &TimeZone) -> Result<TimestampTz> {
    let midnight = date_to_timestamp(date)?;
    local_to_instant(midnight, zone).ok_or_else(date_beyond_timestamp)
}

fn timestamp_to_timestamptz(value: Timestamp, zone: &TimeZone) -> Result<TimestampTz> {
    local_to_instant(value, zone).ok_or_else(|| out_of_range("timestamp"))
}

/// The wall clock of a zone at an instant; infinities stay.
fn instant_to_local(value: TimestampTz, east_s: i32) -> Result<Timestamp> {
    if !value.is_finite() {
        return Ok(Timestamp(value.0));
    }
    Timestamp::checked(value.local(east_s).0).ok_or_else(|| out_of_range("timestamp"))
}

fn session_local(cx: &Context<'_>, value: TimestampTz) -> Result<Timestamp> {
    if !value.is_finite() {
        return Ok(Timestamp(value.0));
    }
    instant_to_local(value, cx.session.format().time_zone.at(value.unix_s()).east_s)
}

pub(super) fn timestamp_to_date(value: Timestamp) -> Datum {
    Datum::Date(match value {
        Timestamp::INFINITY => Date::INFINITY,
        Timestamp::NEG_INFINITY => Date::NEG_INFINITY,
        finite => Date(finite.day() as i32),
    })
}

fn time_of(value: Timestamp) -> Datum {
    if value.is_finite() {
        Datum::Time(Time(value.0.rem_euclid(USECS_PER_DAY)))
    } else {
        Datum::Null
    }
}

fn at_time(date: Date, micros: i64) -> Result<Timestamp> {
    let midnight = date_to_timestamp(date)?;
    if !midnight.is_finite() {
        return Ok(midnight);
    }
    Timestamp::checked(midnight.0 + micros).ok_or_else(|| out_of_range("timestamp"))
}

fn at_timetz(date: Date, time: TimeTz) -> Result<Datum> {
    let micros = time.time.0 + i64::from(time.zone_west_s) * USECS_PER_SEC;
    at_time(date, micros).map(|t| Datum::TimestampTz(TimestampTz(t.0)))
}

const CASTS: Bodies = scalars! {
    "date_timestamp" => |_, a| date_to_timestamp(a[0].as_date()).map(Datum::Timestamp);
    "date_timestamptz" => |cx, a| {
        let zone = &cx.session.format().time_zone;
        date_to_timestamptz(a[0].as_date(), zone).map(Datum::TimestampTz)
    };
    "timestamp_date" => |_, a| Ok(timestamp_to_date(a[0].as_timestamp()));
    "timestamptz_date" => |cx, a| {
        session_local(cx, a[0].as_timestamptz()).map(timestamp_to_date)
    };
    "timestamp_timestamptz" => |cx, a| {
        let zone = &cx.session.format().time_zone;
        timestamp_to_timestamptz(a[0].as_timestamp(), zone).map(Datum::TimestampTz)
    };
    "timestamptz_timestamp" => |cx, a| {
        session_local(cx, a[0].as_timestamptz()).map(Datum::Timestamp)
    };
    "timestamp_time" => |_, a| Ok(time_of(a[0].as_timestamp()));
    "timestamptz_time" => |cx, a| session_local(cx, a[0].as_timestamptz()).map(time_of);
    "timestamptz_timetz" => |cx, a| {
        let value = a[0].as_timestamptz();
        if !value.is_finite() {
            return Ok(Datum::Null);
        }
        let east_s = cx.session.format().time_zone.at(value.unix_s()).east_s;
        let time = Time(value.local(east_s).0.rem_euclid(USECS_PER_DAY));
        Ok(Datum::TimeTz(TimeTz { time, zone_west_s: -east_s }))
    };
    "timetz_time" => |_, a| Ok(Datum::Time(a[0].as_timetz().time));
    "time_timetz" => |cx, a| {
        // The displacement that the session's zone has today at this time.
        let format = cx.session.format();
        let (mut civil, _) = format.local(cx.transaction_start);
        let time = a[0].as_time();
        let clock = time.civil();
        (civil.hour, civil.minute, civil.second) = (clock.hour, clock.minute, clock.second);
        let east_s = format.time_zone.east_of_local(civil.unix_local_s());
        Ok(Datum::TimeTz(TimeTz { time, zone_west_s: -east_s }))
    };
    "time_interval" => |_, a| {
        Ok(Datum::Interval(Interval { micros: a[0].as_time().0, ..Interval::ZERO }))
    };
    "interval_time" => |_, a| {
        Ok(Datum::Time(Time(a[0].as_interval().micros.rem_euclid(USECS_PER_DAY))))
    };
    "datetime_timestamp" => |_, a| {
        at_time(a[0].as_date(), a[1].as_time().0).map(Datum::Timestamp)
    };
    "sql:1296" => |_, a| at_time(a[1].as_date(), a[0].as_time().0).map(Datum::Timestamp);
    "sql:1176" => |cx, a| {
        let local = at_time(a[0].as_date(), a[1].as_time().0)?;
        let zone = &cx.session.format().time_zone;
        timestamp_to_timestamptz(local, zone).map(Datum::TimestampTz)
    };
    "datetimetz_timestamptz" => |_, a| at_timetz(a[0].as_date(), a[1].as_timetz());
    "sql:1298" => |_, a| at_timetz(a[1].as_date(), a[0].as_timetz());
};

const SCALES: Bodies = scalars! {
    "timestamp_scale" => |_, a| {
        Ok(Datum::Timestamp(a[0].as_timestamp().apply_typmod(TypeMod(a[1].as_int4()))))
    };
    "timestamptz_scale" => |_, a| {
        Ok(Datum::TimestampTz(a[0].as_timestamptz().apply_typmod(TypeMod(a[1].as_int4()))))
    };
    "time_scale" => |_, a| Ok(Datum::Time(a[0].as_time().apply_typmod(TypeMod(a[1].as_int4()))));
    "timetz_scale" => |_, a| {
        Ok(Datum::TimeTz(a[0].as_timetz().apply_typmod(TypeMod(a[1].as_int4()))))
    };
    "interval_scale" => |_, a| {
        Ok(Datum::Interval(a[0].as_interval().apply_typmod(TypeMod(a[1].as_int4()))))
    };
};

/// A zone as users name it in expressions.
pub(super) enum NamedZone {
    Fixed(i32),
    /// An abbreviation whose meaning changed over time.
    Dynamic(TimeZone, String),
    Zone(TimeZone),
}

impl NamedZone {
    /// An abbreviation, else a name of the database or a POSIX rule.
    pub fn parse(name: &str) -> Result<NamedZone> {
        let lower = name.to_ascii_lowercase();
        if let Some(abbreviation) = Abbreviation::find(&lower) {
            return Ok(match abbreviation.meaning {
                Meaning::Fixed { east_s, .. } => NamedZone::Fixed(east_s),
                Meaning::Zone(zone) => NamedZone::Dynamic(
                    TimeZone::named(zone).ok_or_else(|| unknown_zone(zone))?,
                    lower,
                ),
            });
        }
        TimeZone::named(name).map(NamedZone::Zone).ok_or_else(|| unknown_zone(name))
    }

    pub fn east_at(&self, instant: TimestampTz) -> i32 {
        let unix_s = instant.unix_s();
        match self {
            NamedZone::Fixed(east_s) => *east_s,
            NamedZone::Zone(zone) => zone.at(unix_s).east_s,
            NamedZone::Dynamic(zone, abbreviation) => zone
                .meaning_of(abbreviation, unix_s)
                .map_or(zone.at(unix_s).east_s, |found| found.0),
        }
    }

    pub fn east_of_local(&self, local_s: i64) -> i32 {
        match self {
            NamedZone::Fixed(east_s) => *east_s,
            NamedZone::Zone(zone) => zone.east_of_local(local_s),
            NamedZone::Dynamic(zone, abbreviation) => {
                zone.east_of_abbreviation(abbreviation, local_s)
            }
        }
    }
}

/// The displacement that an interval stands for as a zone, in seconds east.
fn interval_east(cx: &Context<'_>, zone: Interval) -> Result<i32> {
    if zone.months != 0 || zone.days != 0 {
        let shown = output_string(TypeId::INTERVAL, &Datum::Interval(zone), &cx.io())?;
        bail!(
            INVALID_PARAMETER_VALUE,
            "interval time zone \"{shown}\" must not include months or days"
        );
    }
    Ok((zone.micros / USECS_PER_SEC) as i32)
}

fn shift_timetz(value: TimeTz, east_s: i32) -> Datum {
    let shift = i64::from(value.zone_west_s + east_s) * USECS_PER_SEC;
    let time = Time((value.time.0 + shift).rem_euclid(USECS_PER_DAY));
    Datum::TimeTz(TimeTz { time, zone_west_s: -east_s })
}

/// An instant as a clock shows it so far east. An infinity is one in every zone, which nobody looks up.
fn instant_in(value: TimestampTz, east_s: impl FnOnce() -> Result<i32>) -> Result<Datum> {
    if !value.is_finite() {
        return Ok(Datum::Timestamp(Timestamp(value.0)));
    }
    instant_to_local(value, east_s()?).map(Datum::Timestamp)
}

/// The instant at which a clock so far east shows this; of infinities as [`instant_in`].
fn reading_in(value: Timestamp, east_s: impl FnOnce() -> Result<i32>) -> Result<Datum> {
    if !value.is_finite() {
        return Ok(Datum::TimestampTz(TimestampTz(value.0)));
    }
    let instant = value.civil().instant(east_s()?);
    instant.map(Datum::TimestampTz).ok_or_else(|| out_of_range("timestamp"))
}

/// `AT TIME ZONE`.
const ZONES: Bodies = scalars! {
    "timestamptz_zone" => |_, a| {
        let value = a[1].as_timestamptz();
        instant_in(value, || Ok(NamedZone::parse(a[0].as_text())?.east_at(value)))
    };
    "timestamp_zone" => |_, a| {
        let value = a[1].as_timestamp();
        reading_in(value, || {
            let zone = NamedZone::parse(a[0].as_text())?;
            Ok(zone.east_of_local(value.civil().unix_local_s()))
        })
    };
    "timestamptz_izone" => |cx, a| {
        instant_in(a[1].as_timestamptz(), || interval_east(cx, a[0].as_interval()))
    };
    "timestamp_izone" => |cx, a| {
        reading_in(a[1].as_timestamp(), || interval_east(cx, a[0].as_interval()))
    };
    "timetz_zone" => |cx, a| {
        let zone = NamedZone::parse(a[0].as_text())?;
        Ok(shift_timetz(a[1].as_timetz(), zone.east_at(cx.transaction_start)))
    };
    "timetz_izone" => |cx, a| {
        Ok(shift_timetz(a[1].as_timetz(), interval_east(cx, a[0].as_interval())?))
    };
};

/// The name of a type in messages about units.
pub(super) fn type_name(type_id: TypeId) -> String {
    format_type(type_id, TypeMod::NONE)
}
