//! `date_trunc`.

use super::convert::NamedZone;
use super::part::{unit_not_recognized, unit_not_supported};
use crate::error::Result;
use crate::func::Context;
use crate::func::bodies::{Bodies, scalars};
use crate::types::datetime::calendar::{civil_from_days, weekday};
use crate::types::datetime::{
    Civil, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC, Unit, out_of_range, span_unit_by_name,
};
use crate::types::{Datum, Interval, TimestampTz, TypeId};

pub(super) const ROOMS: &[Bodies] = &[TRUNC];

/// A unit by the name that a user wrote, and the name in lower case for messages.
fn parse_unit(name: &str, type_id: TypeId) -> Result<(Unit, String)> {
    let lower = name.to_ascii_lowercase();
    match span_unit_by_name(&lower) {
        Some(unit) => Ok((unit, lower)),
        None => Err(unit_not_recognized(&lower, type_id)),
    }
}

/// Sets everything below a unit to its first value; false for units that moments do not have.
fn truncate(civil: &mut Civil, unit: Unit) -> bool {
    let mut micros = civil.time_micros();
    match unit {
        Unit::Microsecond => {}
        Unit::Millisecond => micros -= micros % 1000,
        Unit::Second => micros -= micros % USECS_PER_SEC,
        Unit::Minute => micros -= micros % USECS_PER_MINUTE,
        Unit::Hour => micros -= micros % USECS_PER_HOUR,
        _ => micros = 0,
    }
    let clock = crate::types::Time(micros).civil();
    (civil.hour, civil.minute) = (clock.hour, clock.minute);
    (civil.second, civil.micros) = (clock.second, clock.micros);
    // Centuries and millennia begin with year 1, and there is no year 0 between the eras.
    let year = civil.year;
    let first_of = |size: i32| {
        if year > 0 {
            (year + size - 1) / size * size - (size - 1)
        } else {
            -((size - 1 - (year - 1)) / size) * size + 1
        }
    };
    match unit {
        Unit::Microsecond
        | Unit::Millisecond
        | Unit::Second
        | Unit::Minute
        | Unit::Hour
        | Unit::Day => return true,
        Unit::Week => {
            let days = civil.days();
            let monday = days - i64::from((weekday(days) + 6) % 7);
            (civil.year, civil.month, civil.day) = civil_from_days(monday);
            return true;
        }
        Unit::Month => {}
        Unit::Quarter => civil.month = (civil.month - 1) / 3 * 3 + 1,
        Unit::Year => civil.month = 1,
        Unit::Decade => {
            civil.year = if year > 0 { year / 10 * 10 } else { -((8 - (year - 1)) / 10) * 10 };
            civil.month = 1;
        }
        Unit::Century => (civil.year, civil.month) = (first_of(100), 1),
        Unit::Millennium => (civil.year, civil.month) = (first_of(1000), 1),
        _ => return false,
    }
    civil.day = 1;
    true
}

/// Whether cutting at a unit can move a moment to another displacement of its zone.
fn changes_day(unit: Unit) -> bool {
    !matches!(
        unit,
        Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour
    )
}

fn trunc_instant(
    name: &str,
    value: TimestampTz,
    east_at: impl Fn(TimestampTz) -> i32,
    east_of_local: impl Fn(i64) -> i32,
) -> Result<Datum> {
    if !value.is_finite() {
        return Ok(Datum::TimestampTz(value));
    }
    let (unit, lower) = parse_unit(name, TypeId::TIMESTAMPTZ)?;
    let mut east_s = east_at(value);
    let mut civil = value.civil_east(east_s);
    if !truncate(&mut civil, unit) {
        return Err(unit_not_supported(&lower, TypeId::TIMESTAMPTZ));
    }
    if changes_day(unit) {
        east_s = east_of_local(civil.unix_local_s());
    }
    civil.instant(east_s).map(Datum::TimestampTz).ok_or_else(|| out_of_range("timestamp"))
}

const TRUNC: Bodies = scalars! {
    "timestamp_trunc" => |_, a| {
        let value = a[1].as_timestamp();
        if !value.is_finite() {
            return Ok(a[1].clone());
        }
        let (unit, lower) = parse_unit(a[0].as_text(), TypeId::TIMESTAMP)?;
        let mut civil = value.civil();
        if !truncate(&mut civil, unit) {
            return Err(unit_not_supported(&lower, TypeId::TIMESTAMP));
        }
        civil.timestamp().map(Datum::Timestamp).ok_or_else(|| out_of_range("timestamp"))
    };
    "timestamptz_trunc" => |cx, a| in_session_zone(cx, a);
    "timestamptz_trunc_zone" => |_, a| {
        if !a[1].as_timestamptz().is_finite() {
            return Ok(a[1].clone());
        }
        let zone = NamedZone::parse(a[2].as_text())?;
        trunc_instant(
            a[0].as_text(),
            a[1].as_timestamptz(),
            |instant| zone.east_at(instant),
            |local_s| zone.east_of_local(local_s),
        )
    };
    "interval_trunc" => |_, a| interval(a[0].as_text(), a[1].as_interval()).map(Datum::Interval);
};

fn in_session_zone(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let zone = &cx.session.format().time_zone;
    trunc_instant(
        args[0].as_text(),
        args[1].as_timestamptz(),
        |instant| zone.at(instant.unix_s()).east_s,
        |local_s| zone.east_of_local(local_s),
    )
}

fn interval(name: &str, value: Interval) -> Result<Interval> {
    let (unit, lower) = parse_unit(name, TypeId::INTERVAL)?;
    let cut = |size: i64| Interval { micros: value.micros - value.micros % size, ..value };
    let months =
        |size: i32| Interval { months: value.months - value.months % size, ..Interval::ZERO };
    Ok(match unit {
        Unit::Microsecond => value,
        Unit::Millisecond => cut(1000),
        Unit::Second => cut(USECS_PER_SEC),
        Unit::Minute => cut(USECS_PER_MINUTE),
        Unit::Hour => cut(USECS_PER_HOUR),
        Unit::Day => Interval { micros: 0, ..value },
        Unit::Month => months(1),
        // The quarter is cut within its year.
        Unit::Quarter => {
            Interval { months: value.months - value.months % 12 % 3, ..Interval::ZERO }
        }
        Unit::Year => months(12),
        Unit::Decade => months(120),
        Unit::Century => months(1200),
        Unit::Millennium => months(12_000),
        Unit::Week => {
            return Err(unit_not_supported(&lower, TypeId::INTERVAL)
                .with_detail("Months usually have fractional weeks."));
        }
        _ => return Err(unit_not_supported(&lower, TypeId::INTERVAL)),
    })
}
