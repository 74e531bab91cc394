//! Dates, times and intervals to text by a pattern.

use std::fmt::Write;

use super::date::{Case, Field, Key, Node, Ordinal, ROMAN_MONTHS, parse};
use super::ordinal;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::Context;
use crate::types::datetime::calendar::{
    JULIAN_DAY_2000, days_from_civil, iso_week, iso_week_start, weekday,
};
use crate::types::datetime::encode::{MONTHS, WEEKDAYS};
use crate::types::datetime::{USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC};
use crate::types::{Datum, Interval, Timestamp, TimestampTz};

/// The fields of a moment or of an interval.
struct Source<'a> {
    year: i32,
    month: i32,
    day: i32,
    hour: i64,
    minute: i32,
    second: i32,
    micros: i32,
    /// Day of the year, from 1.
    year_day: i32,
    is_interval: bool,
    /// Displacement east, and the zone's abbreviation.
    zone: Option<(i32, &'a str)>,
}

impl Source<'_> {
    /// Days from 2000-01-01.
    fn days(&self) -> i64 {
        days_from_civil(self.year.into(), self.month, self.day)
    }

    /// The year as shown: BC years count from 1.
    fn shown(&self, year: i32) -> i32 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    fn seconds_of_day(&self) -> i64 {
        self.hour * 3600 + i64::from(self.minute) * 60 + i64::from(self.second)
    }
}

fn of_timestamp<'a>(value: Timestamp, zone: Option<(i32, &'a str)>) -> Source<'a> {
    let civil = value.civil();
    let first = days_from_civil(civil.year.into(), 1, 1);
    Source {
        year: civil.year,
        month: civil.month,
        day: civil.day,
        hour: civil.hour.into(),
        minute: civil.minute,
        second: civil.second,
        micros: civil.micros,
        year_day: (civil.days() - first + 1) as i32,
        is_interval: false,
        zone,
    }
}

pub(super) fn timestamp(value: Timestamp, template: &str) -> Result<Datum> {
    if template.is_empty() || !value.is_finite() {
        return Ok(Datum::Null);
    }
    write(&of_timestamp(value, None), template)
}

pub(super) fn timestamptz(cx: &Context<'_>, value: TimestampTz, template: &str) -> Result<Datum> {
    if template.is_empty() || !value.is_finite() {
        return Ok(Datum::Null);
    }
    let local = cx.session.format().time_zone.at(value.unix_s());
    let zone = Some((local.east_s, &*local.abbreviation));
    write(&of_timestamp(value.local(local.east_s), zone), template)
}

pub(super) fn interval(value: Interval, template: &str) -> Result<Datum> {
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    let (year, month) = (value.months / 12, value.months % 12);
    let source = Source {
        year,
        month,
        day: value.days,
        hour: value.micros / USECS_PER_HOUR,
        minute: (value.micros / USECS_PER_MINUTE % 60) as i32,
        second: (value.micros / USECS_PER_SEC % 60) as i32,
        micros: (value.micros % USECS_PER_SEC) as i32,
        year_day: (year * 12 + month) * 30 + value.days,
        is_interval: true,
        zone: None,
    };
    write(&source, template)
}

fn write(source: &Source<'_>, template: &str) -> Result<Datum> {
    let mut out = String::new();
    for node in parse(template)? {
        match node {
            Node::Separator(c) | Node::Space(c) | Node::Literal(c) => out.push(c),
            Node::Field(field) => {
                let start = out.len();
                write_field(source, &field, &mut out)?;
                write_ordinal(&field, start, &mut out)?;
            }
        }
    }
    Ok(out.into())
}

/// Appends `st`, `nd`, … to a field that asks for it and is a number.
fn write_ordinal(field: &Field, start: usize, out: &mut String) -> Result<()> {
    let Some(case) = field.ordinal.filter(|_| takes_ordinal(field.key)) else { return Ok(()) };
    let number = &out[start..];
    if number.is_empty() {
        return Ok(());
    }
    if !number.ends_with(|c: char| c.is_ascii_digit()) {
        bail!(INVALID_TEXT_REPRESENTATION, "\"{number}\" is not a number");
    }
    let ending = ordinal(number);
    match case {
        Ordinal::Upper => out.push_str(&ending.to_ascii_uppercase()),
        Ordinal::Lower => out.push_str(ending),
    }
    Ok(())
}

fn takes_ordinal(key: Key) -> bool {
    key.is_digits() && !matches!(key, Key::ZoneMinute)
}

/// A number of at least `width` places, one more with a minus; no padding in fill mode.
fn number(out: &mut String, field: &Field, width: usize, value: i64) {
    let width = match (field.fill_mode, value < 0) {
        (true, _) => 0,
        (false, true) => width + 1,
        (false, false) => width,
    };
    write!(out, "{value:0width$}").expect("a String takes all");
}

#[cold]
fn not_for_intervals() -> SqlError {
    sql_error!(INVALID_DATETIME_FORMAT, "invalid format specification for an interval value")
        .with_hint("Intervals are not tied to specific calendar dates.")
}

/// A name in some case, padded to nine places unless a modifier says otherwise.
fn name(out: &mut String, field: &Field, text: &str, case: Case, width: usize) {
    let text = match case {
        Case::Upper => text.to_ascii_uppercase(),
        Case::Title => text.to_owned(),
        Case::Lower => text.to_ascii_lowercase(),
    };
    let width = if field.fill_mode || field.localized { 0 } else { width };
    write!(out, "{text:<width$}").expect("a String takes all");
}

fn write_field(source: &Source<'_>, field: &Field, out: &mut String) -> Result<()> {
    let calendar_only = matches!(
        field.key,
        Key::Era { .. }
            | Key::DayName(_)
            | Key::DayShort(_)
            | Key::MonthName(_)
            | Key::MonthShort(_)
            | Key::DayOfWeek
            | Key::IsoDayOfWeek
            | Key::IsoWeek
            | Key::IsoDayOfYear
            | Key::IsoYear(_)
            | Key::Offset
            | Key::ZoneName { .. }
            | Key::ZoneHour
            | Key::ZoneMinute
    );
    if calendar_only && source.is_interval {
        // These two come out as the interval's own numbers.
        if !matches!(field.key, Key::IsoWeek | Key::IsoDayOfYear | Key::IsoYear(_)) {
            return Err(not_for_intervals());
        }
    }
    match field.key {
        Key::Hour24
        | Key::Hour12
        | Key::Minute
        | Key::Second
        | Key::SecondOfDay
        | Key::Fraction(_)
        | Key::Millisecond
        | Key::Microsecond
        | Key::Meridian { .. } => write_time(source, field, out),
        Key::Offset | Key::ZoneName { .. } | Key::ZoneHour | Key::ZoneMinute => {
            write_zone(source, field, out);
        }
        Key::Century | Key::Year(_) | Key::IsoYear(_) | Key::YearWithComma | Key::Era { .. } => {
            write_year(source, field, out)
        }
        Key::Fixed => {}
        _ => write_day(source, field, out),
    }
    Ok(())
}

fn write_time(source: &Source<'_>, field: &Field, out: &mut String) {
    let micros = i64::from(source.micros);
    match field.key {
        Key::Hour24 => number(out, field, 2, source.hour),
        Key::Hour12 => {
            let hour = source.hour % 12;
            number(out, field, 2, if hour == 0 { 12 } else { hour });
        }
        Key::Minute => number(out, field, 2, source.minute.into()),
        Key::Second => number(out, field, 2, source.second.into()),
        Key::SecondOfDay => {
            write!(out, "{}", source.seconds_of_day()).expect("a String takes all");
        }
        Key::Fraction(digits) => {
            let width = usize::from(digits);
            let value = micros / 10i64.pow(6 - u32::from(digits));
            write!(out, "{value:0width$}").expect("a String takes all");
        }
        Key::Millisecond => write!(out, "{:03}", micros / 1000).expect("a String takes all"),
        Key::Microsecond => write!(out, "{micros:06}").expect("a String takes all"),
        Key::Meridian { points, lower } => {
            let afternoon = source.hour % 24 >= 12;
            let text = match (afternoon, points) {
                (false, false) => "AM",
                (false, true) => "A.M.",
                (true, false) => "PM",
                (true, true) => "P.M.",
            };
            out.push_str(&if lower { text.to_ascii_lowercase() } else { text.to_owned() });
        }
        _ => unreachable!("no field of the time"),
    }
}

fn write_zone(source: &Source<'_>, field: &Field, out: &mut String) {
    let (east_s, abbreviation) = source.zone.unwrap_or((0, ""));
    let sign = if east_s < 0 { '-' } else { '+' };
    let (hour, minute) = (east_s.abs() / 3600, east_s.abs() / 60 % 60);
    match field.key {
        Key::ZoneName { lower: true } => out.push_str(&abbreviation.to_ascii_lowercase()),
        Key::ZoneName { lower: false } => out.push_str(abbreviation),
        Key::ZoneHour => write!(out, "{sign}{hour:02}").expect("a String takes all"),
        Key::ZoneMinute => write!(out, "{minute:02}").expect("a String takes all"),
        _ => {
            let width = if field.fill_mode { 0 } else { 2 };
            write!(out, "{sign}{hour:0width$}").expect("a String takes all");
            if minute != 0 {
                write!(out, ":{minute:02}").expect("a String takes all");
            }
        }
    }
}

fn write_year(source: &Source<'_>, field: &Field, out: &mut String) {
    let iso = matches!(field.key, Key::IsoYear(_));
    let year = source.shown(if iso { iso_week(source.days()).0 } else { source.year });
    match field.key {
        Key::Year(digits) | Key::IsoYear(digits) => {
            let cut = if digits == 4 { year } else { year % 10i32.pow(digits.into()) };
            if digits == 1 {
                write!(out, "{cut}").expect("a String takes all");
            } else {
                // The calendar's year decides on the room for a minus, whatever year is shown.
                let width = usize::from(digits) + usize::from(source.shown(source.year) < 0);
                plain(out, field, width, cut.into());
            }
        }
        Key::YearWithComma => {
            write!(out, "{},{:03}", year / 1000, year % 1000).expect("a String takes all");
        }
        Key::Century => {
            let year = source.year;
            let century = if source.is_interval {
                year / 100
            } else if year > 0 {
                (year - 1) / 100 + 1
            } else {
                year / 100 - 1
            };
            if (-99..=99).contains(&century) {
                number(out, field, 2, century.into());
            } else {
                write!(out, "{century}").expect("a String takes all");
            }
        }
        Key::Era { points, lower } => {
            let text = match (source.year <= 0, points) {
                (false, false) => "AD",
                (false, true) => "A.D.",
                (true, false) => "BC",
                (true, true) => "B.C.",
            };
            out.push_str(&if lower { text.to_ascii_lowercase() } else { text.to_owned() });
        }
        _ => unreachable!("no field of the year"),
    }
}

fn write_day(source: &Source<'_>, field: &Field, out: &mut String) {
    let month_name = || MONTHS[source.month as usize - 1];
    let day_name = || WEEKDAYS[weekday(source.days()) as usize];
    match field.key {
        Key::MonthName(case) => name(out, field, month_name(), case, 9),
        Key::MonthShort(case) => name(out, field, &month_name()[..3], case, 0),
        Key::Month => number(out, field, 2, source.month.into()),
        Key::DayName(case) => name(out, field, day_name(), case, 9),
        Key::DayShort(case) => name(out, field, &day_name()[..3], case, 0),
        Key::DayOfYear => plain(out, field, 3, source.year_day.into()),
        Key::IsoDayOfYear => {
            let days = source.days();
            let start = iso_week_start(iso_week(days).0, 1);
            plain(out, field, 3, days - start + 1);
        }
        Key::Day => plain(out, field, 2, source.day.into()),
        Key::DayOfWeek => {
            write!(out, "{}", weekday(source.days()) + 1).expect("a String takes all");
        }
        Key::IsoDayOfWeek => {
            let day = (weekday(source.days()) + 6) % 7 + 1;
            write!(out, "{day}").expect("a String takes all");
        }
        Key::Week => plain(out, field, 2, i64::from((source.year_day - 1) / 7 + 1)),
        Key::IsoWeek => plain(out, field, 2, iso_week(source.days()).1.into()),
        Key::WeekOfMonth => {
            write!(out, "{}", (source.day - 1) / 7 + 1).expect("a String takes all");
        }
        Key::Quarter => {
            if source.month != 0 {
                write!(out, "{}", (source.month - 1) / 3 + 1).expect("a String takes all");
            }
        }
        Key::RomanMonth { lower } => {
            if source.month == 0 && source.year == 0 {
                return;
            }
            // Negative months count back from December.
            let index = match source.month {
                0 if source.year >= 0 => 0,
                0 => 11,
                month if month < 0 => -(month + 1),
                month => 12 - month,
            };
            let text = ROMAN_MONTHS[index as usize];
            let case = if lower { Case::Lower } else { Case::Upper };
            name(out, field, text, case, 4);
        }
        Key::Julian => {
            write!(out, "{}", source.days() + JULIAN_DAY_2000).expect("a String takes all");
        }
        _ => unreachable!("no field of the day"),
    }
}

/// A number padded to a width that a minus counts towards.
fn plain(out: &mut String, field: &Field, width: usize, value: i64) {
    let width = if field.fill_mode { 0 } else { width };
    write!(out, "{value:0width$}").expect("a String takes all");
}
