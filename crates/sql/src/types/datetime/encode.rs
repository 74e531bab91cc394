//! Dates, times and intervals to text, in every `DateStyle` and `IntervalStyle`.

use super::calendar::{Civil, civil_from_days, weekday};
use super::{
    Date, Interval, Time, TimeTz, Timestamp, TimestampTz, USECS_PER_HOUR, USECS_PER_MINUTE,
    USECS_PER_SEC,
};
use crate::types::context::{DateOrder, DateStyle, FormatContext, IntervalStyle};

/// English month names, as in texts.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English weekday names, Sunday first.
pub const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Longest zone abbreviation that is written out.
const ZONE_ABBREVIATION_MAX: usize = 10;

/// Appends an unsigned number of at least `width` digits.
fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value);
    out.resize(out.len() + width.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits.as_bytes());
}

fn push_int(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn push_two(out: &mut Vec<u8>, value: i32) {
    let value = value as u8;
    out.extend_from_slice(&[b'0' + value / 10 % 10, b'0' + value % 10]);
}

/// Two digits of seconds and the fraction without trailing zeros.
fn push_seconds(out: &mut Vec<u8>, second: i32, micros: i32, pad: bool) {
    if pad {
        push_padded(out, u64::from(second.unsigned_abs()), 2);
    } else {
        push_int(out, i64::from(second.abs()));
    }
    push_fraction(out, micros);
}

fn push_fraction(out: &mut Vec<u8>, micros: i32) {
    if micros != 0 {
        out.push(b'.');
        push_padded(out, u64::from(micros.unsigned_abs()), 6);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// The year as written, era apart.
fn shown_year(year: i32) -> u64 {
    if year > 0 { year as u64 } else { (1 - i64::from(year)) as u64 }
}

fn push_clock(out: &mut Vec<u8>, civil: &Civil) {
    push_two(out, civil.hour);
    out.push(b':');
    push_two(out, civil.minute);
    out.push(b':');
    push_two(out, civil.second);
    push_fraction(out, civil.micros);
}

/// The displacement `+hh[:mm[:ss]]`.
fn push_displacement(out: &mut Vec<u8>, east_s: i32) {
    out.push(if east_s < 0 { b'-' } else { b'+' });
    let seconds = east_s.unsigned_abs() as i32;
    push_padded(out, seconds as u64 / 3600, 2);
    let (minute, second) = (seconds / 60 % 60, seconds % 60);
    if minute != 0 || second != 0 {
        out.push(b':');
        push_two(out, minute);
    }
    if second != 0 {
        out.push(b':');
        push_two(out, second);
    }
}

/// The numeric date in a style.
fn push_date(out: &mut Vec<u8>, civil: &Civil, style: DateStyle, order: DateOrder) {
    let year = shown_year(civil.year);
    if style == DateStyle::Iso {
        push_padded(out, year, 4);
        out.push(b'-');
        push_two(out, civil.month);
        out.push(b'-');
        push_two(out, civil.day);
        return;
    }
    let separator = match style {
        DateStyle::Sql => b'/',
        DateStyle::German => b'.',
        _ => b'-',
    };
    let day_first = style == DateStyle::German || order == DateOrder::Dmy;
    let (first, second) =
        if day_first { (civil.day, civil.month) } else { (civil.month, civil.day) };
    push_two(out, first);
    out.push(separator);
    push_two(out, second);
    out.push(separator);
    push_padded(out, year, 4);
}

fn push_era(out: &mut Vec<u8>, civil: &Civil) {
    if civil.year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a date.
pub fn write_date(date: Date, cx: &FormatContext, out: &mut Vec<u8>) {
    match date {
        Date::INFINITY => out.extend_from_slice(b"infinity"),
        Date::NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        Date(days) => {
            let (year, month, day) = civil_from_days(i64::from(days));
            let civil = Civil { year, month, day, ..Civil::default() };
            push_date(out, &civil, cx.date_style, cx.date_order);
            push_era(out, &civil);
        }
    }
}

/// A zone as it is shown after a timestamp.
struct ShownZone<'a> {
    east_s: i32,
    abbreviation: &'a str,
}

fn push_moment(out: &mut Vec<u8>, civil: &Civil, zone: Option<ShownZone<'_>>, cx: &FormatContext) {
    let push_abbreviation = |out: &mut Vec<u8>, zone: &ShownZone<'_>| {
        out.push(b' ');
        let shown = zone.abbreviation.floor_char_boundary(ZONE_ABBREVIATION_MAX);
        out.extend_from_slice(&zone.abbreviation.as_bytes()[..shown]);
    };
    match cx.date_style {
        DateStyle::Postgres => {
            let name = WEEKDAYS[weekday(civil.days()) as usize];
            out.extend_from_slice(&name.as_bytes()[..3]);
            out.push(b' ');
            let month = &MONTHS[civil.month as usize - 1].as_bytes()[..3];
            if cx.date_order == DateOrder::Dmy {
                push_two(out, civil.day);
                out.push(b' ');
                out.extend_from_slice(month);
            } else {
                out.extend_from_slice(month);
                out.push(b' ');
                push_two(out, civil.day);
            }
            out.push(b' ');
            push_clock(out, civil);
            out.push(b' ');
            push_padded(out, shown_year(civil.year), 4);
            if let Some(zone) = zone {
                push_abbreviation(out, &zone);
            }
        }
        style => {
            push_date(out, civil, style, cx.date_order);
            out.push(b' ');
            push_clock(out, civil);
            if let Some(zone) = zone {
                if style == DateStyle::Iso {
                    push_displacement(out, zone.east_s);
                } else {
                    push_abbreviation(out, &zone);
                }
            }
        }
    }
    push_era(out, civil);
}

/// Appends a timestamp.
pub fn write_timestamp(value: Timestamp, cx: &FormatContext, out: &mut Vec<u8>) {
    match value {
        Timestamp::INFINITY => out.extend_from_slice(b"infinity"),
        Timestamp::NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        finite => push_moment(out, &finite.civil(), None, cx),
    }
}

/// Appends a timestamp on the session's clock, with its zone.
pub fn write_timestamptz(value: TimestampTz, cx: &FormatContext, out: &mut Vec<u8>) {
    match value {
        TimestampTz::INFINITY => out.extend_from_slice(b"infinity"),
        TimestampTz::NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        finite => {
            let local = cx.time_zone.at(finite.unix_s());
            let civil = finite.civil_east(local.east_s);
            let zone = ShownZone { east_s: local.east_s, abbreviation: &local.abbreviation };
            push_moment(out, &civil, Some(zone), cx);
        }
    }
}

/// Appends a time of day.
pub fn write_time(value: Time, out: &mut Vec<u8>) {
    push_clock(out, &value.civil());
}

/// Appends a time of day with its displacement.
pub fn write_timetz(value: TimeTz, out: &mut Vec<u8>) {
    push_clock(out, &value.time.civil());
    push_displacement(out, -value.zone_west_s);
}

/// An interval in the fields that are written, each with its own sign.
struct Fields {
    year: i32,
    month: i32,
    day: i32,
    hour: i64,
    minute: i32,
    second: i32,
    micros: i32,
}

impl Fields {
    fn of(value: Interval) -> Fields {
        Fields {
            year: value.months / 12,
            month: value.months % 12,
            day: value.days,
            hour: value.micros / USECS_PER_HOUR,
            minute: (value.micros / USECS_PER_MINUTE % 60) as i32,
            second: (value.micros / USECS_PER_SEC % 60) as i32,
            micros: (value.micros % USECS_PER_SEC) as i32,
        }
    }

    fn time_negative(&self) -> bool {
        self.hour < 0 || self.minute < 0 || self.second < 0 || self.micros < 0
    }

    fn has_time(&self) -> bool {
        self.hour != 0 || self.minute != 0 || self.second != 0 || self.micros != 0
    }

    /// `h:mm:ss.f` without sign, hours of at least `width` digits.
    fn push_time(&self, out: &mut Vec<u8>, width: usize) {
        push_padded(out, self.hour.unsigned_abs(), width);
        out.push(b':');
        push_padded(out, u64::from(self.minute.unsigned_abs()), 2);
        out.push(b':');
        push_seconds(out, self.second, self.micros, true);
    }
}

/// Appends an interval.
pub fn write_interval(value: Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    let fields = Fields::of(value);
    match style {
        IntervalStyle::Postgres => write_postgres(&fields, out),
        IntervalStyle::PostgresVerbose => write_verbose(&fields, out),
        IntervalStyle::SqlStandard => write_sql_standard(&fields, out),
        IntervalStyle::Iso8601 => write_iso8601(&fields, out),
    }
}

fn write_postgres(fields: &Fields, out: &mut Vec<u8>) {
    let mut empty = true;
    let mut previous_negative = false;
    for (value, unit) in [(fields.year, "year"), (fields.month, "mon"), (fields.day, "day")] {
        if value == 0 {
            continue;
        }
        if !empty {
            out.push(b' ');
        }
        if previous_negative && value > 0 {
            out.push(b'+');
        }
        push_int(out, i64::from(value));
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.push(b's');
        }
        previous_negative = value < 0;
        empty = false;
    }
    if empty || fields.has_time() {
        if !empty {
            out.push(b' ');
        }
        if fields.time_negative() {
            out.push(b'-');
        } else if previous_negative {
            out.push(b'+');
        }
        fields.push_time(out, 2);
    }
}

fn write_verbose(fields: &Fields, out: &mut Vec<u8>) {
    out.push(b'@');
    let mut empty = true;
    let mut ago = false;
    let parts = [
        (i64::from(fields.year), "year"),
        (i64::from(fields.month), "mon"),
        (i64::from(fields.day), "day"),
        (fields.hour, "hour"),
        (i64::from(fields.minute), "min"),
    ];
    for (value, unit) in parts {
        if value == 0 {
            continue;
        }
        // The first part decides whether the whole is "ago".
        let shown = if empty {
            ago = value < 0;
            value.abs()
        } else if ago {
            -value
        } else {
            value
        };
        out.push(b' ');
        push_int(out, shown);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if shown != 1 {
            out.push(b's');
        }
        empty = false;
    }
    if fields.second != 0 || fields.micros != 0 {
        out.push(b' ');
        if fields.second < 0 || (fields.second == 0 && fields.micros < 0) {
            if empty {
                ago = true;
            } else if !ago {
                out.push(b'-');
            }
        } else if ago {
            out.push(b'-');
        }
        push_seconds(out, fields.second, fields.micros, false);
        out.extend_from_slice(b" sec");
        if fields.second.abs() != 1 || fields.micros != 0 {
            out.push(b's');
        }
        empty = false;
    }
    if empty {
        out.extend_from_slice(b" 0");
    }
    if ago {
        out.extend_from_slice(b" ago");
    }
}

fn write_sql_standard(fields: &Fields, out: &mut Vec<u8>) {
    let signs = [
        i64::from(fields.year),
        i64::from(fields.month),
        i64::from(fields.day),
        fields.hour,
        i64::from(fields.minute),
        i64::from(fields.second),
        i64::from(fields.micros),
    ];
    let negative = signs.iter().any(|&v| v < 0);
    let positive = signs.iter().any(|&v| v > 0);
    let year_month = fields.year != 0 || fields.month != 0;
    let day_time = fields.day != 0 || fields.has_time();
    let year_abs = u64::from(fields.year.unsigned_abs());
    let month_abs = u64::from(fields.month.unsigned_abs());
    let day_abs = u64::from(fields.day.unsigned_abs());
    if !negative && !positive {
        out.push(b'0');
    } else if (negative && positive) || (year_month && day_time) {
        // No form of the standard: every part gets a sign.
        let sign = |negative: bool| if negative { b'-' } else { b'+' };
        out.push(sign(fields.year < 0 || fields.month < 0));
        push_padded(out, year_abs, 1);
        out.push(b'-');
        push_padded(out, month_abs, 1);
        out.extend_from_slice(&[b' ', sign(fields.day < 0)]);
        push_padded(out, day_abs, 1);
        out.extend_from_slice(&[b' ', sign(fields.time_negative())]);
        fields.push_time(out, 1);
    } else {
        if negative {
            out.push(b'-');
        }
        if year_month {
            push_padded(out, year_abs, 1);
            out.push(b'-');
            push_padded(out, month_abs, 1);
        } else {
            if fields.day != 0 {
                push_padded(out, day_abs, 1);
                out.push(b' ');
            }
            fields.push_time(out, 1);
        }
    }
}

fn write_iso8601(fields: &Fields, out: &mut Vec<u8>) {
    let date = [(fields.year, b'Y'), (fields.month, b'M'), (fields.day, b'D')];
    if date.iter().all(|part| part.0 == 0) && !fields.has_time() {
        out.extend_from_slice(b"PT0S");
        return;
    }
    out.push(b'P');
    let mut push_part = |value: i64, unit: u8| {
        if value != 0 {
            push_int(out, value);
            out.push(unit);
        }
    };
    for (value, unit) in date {
        push_part(i64::from(value), unit);
    }
    if fields.has_time() {
        out.push(b'T');
        let mut push_part = |value: i64, unit: u8| {
            if value != 0 {
                push_int(out, value);
                out.push(unit);
            }
        };
        push_part(fields.hour, b'H');
        push_part(i64::from(fields.minute), b'M');
        if fields.second != 0 || fields.micros != 0 {
            if fields.second < 0 || fields.micros < 0 {
                out.push(b'-');
            }
            push_seconds(out, fields.second, fields.micros, false);
            out.push(b'S');
        }
    }
}
