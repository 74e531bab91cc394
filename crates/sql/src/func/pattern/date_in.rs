//! Text to dates and timestamps by a pattern.

use super::date::{Convention, Field, Key, Node, ROMAN_MONTHS, is_separator, parse};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::Context;
use crate::types::datetime::calendar::{
    Civil, JULIAN_DAY_2000, civil_from_days, days_from_civil, days_in_month, is_valid_julian,
    iso_week_start,
};
use crate::types::datetime::encode::{MONTHS, WEEKDAYS};
use crate::types::datetime::{DateTimeError, out_of_range};
use crate::types::{Date, Datum};

/// Largest hour of a zone's displacement.
const MAX_ZONE_HOUR: i32 = 15;

/// What the fields of a text said; zero is unset.
#[derive(Default)]
struct Found {
    convention: Option<Convention>,
    hour: i32,
    pm: i32,
    minute: i32,
    second: i32,
    second_of_day: i32,
    /// Day of the week, Sunday being 1.
    weekday: i32,
    day: i32,
    day_of_year: i32,
    month: i32,
    millis: i32,
    year: i32,
    bc: i32,
    week: i32,
    week_of_month: i32,
    century: i32,
    julian: i32,
    micros: i32,
    /// Digits that the year was written with.
    year_digits: u8,
    twelve_hours: bool,
    zone_sign: i32,
    zone_hour: i32,
    zone_minute: i32,
}

#[cold]
fn format_error(message: String) -> SqlError {
    SqlError::new(crate::error::SqlState::INVALID_DATETIME_FORMAT, message)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Blanks and separators skipped beyond what the pattern has.
    extra: i32,
    fixed: bool,
    found: Found,
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_char(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
            self.extra += 1;
        }
    }

    fn read(&mut self, nodes: &[Node]) -> Result<()> {
        for (i, node) in nodes.iter().enumerate() {
            if self.at >= self.text.len() {
                break;
            }
            let is_fx = matches!(node, Node::Field(field) if field.key == Key::Fixed);
            let is_field = matches!(node, Node::Field(_));
            if !self.fixed && !is_fx && (is_field || i == 0) {
                self.skip_blanks();
            }
            match node {
                Node::Space(_) | Node::Separator(_) => {
                    if self.fixed {
                        self.skip_char();
                    } else {
                        self.extra -= 1;
                        if self.peek().is_some_and(|c| is_blank(c) || is_separator(c)) {
                            self.at += 1;
                            self.extra += 1;
                        }
                    }
                }
                Node::Literal(_) => {
                    if !self.fixed && self.extra > 0 {
                        self.extra -= 1;
                    } else {
                        self.skip_char();
                    }
                }
                Node::Field(field) => {
                    self.field(field, nodes.get(i + 1))?;
                    if !self.fixed {
                        self.extra = 0;
                        self.skip_blanks();
                    }
                }
            }
        }
        Ok(())
    }

    fn set_convention(&mut self, convention: Convention) -> Result<()> {
        if convention == Convention::Any {
            return Ok(());
        }
        match self.found.convention {
            Some(before) if before != convention => {
                Err(format_error("invalid combination of date conventions".to_owned()).with_hint(
                    "Do not mix Gregorian and ISO week date conventions in a formatting template.",
                ))
            }
            _ => {
                self.found.convention = Some(convention);
                Ok(())
            }
        }
    }

    fn field(&mut self, field: &Field, next: Option<&Node>) -> Result<()> {
        self.set_convention(field.key.convention())?;
        // A field whose end is plain may have any number of digits.
        let open_end = field.fill_mode || field.ordinal.is_some() || !starts_with_digit(next);
        let own = field.name.len();
        let int = |reader: &mut Self, len: usize| reader.integer(field, len, open_end);
        match field.key {
            Key::Fixed => self.fixed = true,
            Key::Meridian { points, .. } => {
                let words = if points { ["a.m.", "p.m."] } else { ["am", "pm"] };
                let value = self.word(field, &words)?;
                set(&mut self.found.pm, value, field)?;
                self.found.twelve_hours = true;
            }
            Key::Era { points, .. } => {
                let words = if points { ["a.d.", "b.c."] } else { ["ad", "bc"] };
                let value = self.word(field, &words)?;
                set(&mut self.found.bc, value, field)?;
            }
            Key::Hour12 | Key::Hour24 => {
                let (value, _) = int(self, 2)?;
                set(&mut self.found.hour, value, field)?;
                self.found.twelve_hours |= field.key == Key::Hour12;
            }
            Key::Minute => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.minute, value, field)?;
            }
            Key::Second => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.second, value, field)?;
            }
            Key::Millisecond => {
                let (value, len) = int(self, 3)?;
                set(&mut self.found.millis, value, field)?;
                self.found.millis = scale(self.found.millis, len, 3);
            }
            Key::Microsecond | Key::Fraction(_) => {
                let digits = if let Key::Fraction(n) = field.key { n.into() } else { 6 };
                let (value, len) = int(self, digits)?;
                set(&mut self.found.micros, value, field)?;
                self.found.micros = scale(self.found.micros, len, 6);
            }
            Key::SecondOfDay => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.second_of_day, value, field)?;
            }
            Key::ZoneName { .. } | Key::Offset => bail!(
                FEATURE_NOT_SUPPORTED,
                "formatting field \"{}\" is only supported in to_char",
                field.name
            ),
            Key::ZoneHour => self.zone_hour(field, open_end)?,
            Key::ZoneMinute => {
                if self.found.zone_sign == 0 {
                    self.found.zone_sign = 1;
                }
                let (value, _) = int(self, 2)?;
                set(&mut self.found.zone_minute, value, field)?;
            }
            _ => return self.date_field(field, open_end),
        }
        self.skip_ordinal(field);
        Ok(())
    }

    fn skip_ordinal(&mut self, field: &Field) {
        if field.ordinal.is_some() && field.key.is_digits() {
            self.skip_char();
            self.skip_char();
        }
    }

    /// A minus before the hour may have been taken for a separator.
    fn zone_hour(&mut self, field: &Field, open_end: bool) -> Result<()> {
        match self.peek() {
            Some(c @ ('+' | '-' | ' ')) => {
                self.found.zone_sign = if c == '-' { -1 } else { 1 };
                self.at += 1;
            }
            _ => {
                let swallowed = self.extra > 0 && self.text[..self.at].ends_with('-');
                self.found.zone_sign = if swallowed { -1 } else { 1 };
            }
        }
        let (value, _) = self.integer(field, 2, open_end)?;
        set(&mut self.found.zone_hour, value, field)
    }

    fn date_field(&mut self, field: &Field, open_end: bool) -> Result<()> {
        let own = field.name.len();
        let months: Vec<String> = MONTHS.iter().map(|m| m.to_ascii_lowercase()).collect();
        let days: Vec<String> = WEEKDAYS.iter().map(|d| d.to_ascii_lowercase()).collect();
        let short = |names: &[String]| -> Vec<String> {
            names.iter().map(|name| name[..3].to_owned()).collect()
        };
        let int = |reader: &mut Self, len: usize| reader.integer(field, len, open_end);
        match field.key {
            Key::MonthName(_) => {
                let value = self.word(field, &months)?;
                set(&mut self.found.month, value + 1, field)?;
            }
            Key::MonthShort(_) => {
                let value = self.word(field, &short(&months))?;
                set(&mut self.found.month, value + 1, field)?;
            }
            Key::RomanMonth { .. } => {
                let names = ROMAN_MONTHS.map(str::to_ascii_lowercase);
                let value = self.word(field, &names)?;
                set(&mut self.found.month, 12 - value, field)?;
            }
            Key::DayName(_) => {
                let value = self.word(field, &days)?;
                set(&mut self.found.weekday, value, field)?;
                self.found.weekday += 1;
            }
            Key::DayShort(_) => {
                let value = self.word(field, &short(&days))?;
                set(&mut self.found.weekday, value, field)?;
                self.found.weekday += 1;
            }
            Key::Month => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.month, value, field)?;
            }
            Key::Day => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.day, value, field)?;
            }
            Key::DayOfYear => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.day_of_year, value, field)?;
            }
            Key::IsoDayOfYear => {
                let (value, _) = int(self, 3)?;
                set(&mut self.found.day_of_year, value, field)?;
            }
            Key::DayOfWeek => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.weekday, value, field)?;
            }
            Key::IsoDayOfWeek => {
                let (value, _) = int(self, 1)?;
                set(&mut self.found.weekday, value, field)?;
                // Monday is 1 there, Sunday is 1 here.
                self.found.weekday =
                    if self.found.weekday >= 7 { 1 } else { self.found.weekday + 1 };
            }
            Key::Week | Key::IsoWeek => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.week, value, field)?;
            }
            Key::WeekOfMonth => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.week_of_month, value, field)?;
            }
            // Which day of a quarter is meant nobody knows, so it is read and dropped.
            Key::Quarter => drop(int(self, own)?),
            Key::Century => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.century, value, field)?;
            }
            Key::Julian => {
                let (value, _) = int(self, own)?;
                set(&mut self.found.julian, value, field)?;
            }
            Key::YearWithComma => {
                let value = self.year_with_comma()?;
                set(&mut self.found.year, value, field)?;
                self.found.year_digits = 4;
            }
            Key::Year(digits) | Key::IsoYear(digits) => {
                let (value, len) = int(self, own)?;
                set(&mut self.found.year, value, field)?;
                if digits < 4 && len < 4 {
                    self.found.year = near_2020(self.found.year);
                }
                self.found.year_digits = digits;
            }
            _ => unreachable!("the fields of time came before"),
        }
        self.skip_ordinal(field);
        Ok(())
    }

    /// `2,024`.
    fn year_with_comma(&mut self) -> Result<i32> {
        let rest = self.rest();
        let invalid = || format_error("invalid input string for \"Y,YYY\"".to_owned());
        let (thousands, after) = rest.split_once(',').ok_or_else(invalid)?;
        let thousands: i32 = thousands.trim_start().parse().map_err(|_| invalid())?;
        let len = after.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let years: i32 = after[..len].parse().map_err(|_| invalid())?;
        self.at = self.text.len() - after.len() + len;
        Ok(thousands * 1000 + years)
    }

    /// An integer of exactly `len` characters, or of as many as there are; with it how many
    /// characters it took.
    fn integer(&mut self, field: &Field, len: usize, open_end: bool) -> Result<(i32, usize)> {
        let start = self.at;
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
        let rest = self.rest();
        let copy_len = rest.len().min(len);
        let copy = &rest[..rest.floor_char_boundary(copy_len)];
        let digits = if open_end {
            let digits = number_len(rest);
            self.at += digits;
            &rest[..digits]
        } else {
            if rest.len() < len {
                return Err(format_error(format!(
                    "source string too short for \"{}\" formatting field",
                    field.name
                ))
                .with_detail(format!(
                    "Field requires {len} characters, but only {} remain.",
                    rest.len()
                ))
                .with_hint(
                    "If your source string is not fixed-width, try using the \"FM\" modifier.",
                ));
            }
            let used = number_len(copy);
            if used > 0 && used < len {
                return Err(invalid_value(copy, field)
                    .with_detail(format!(
                        "Field requires {len} characters, but only {used} could be parsed."
                    ))
                    .with_hint(
                        "If your source string is not fixed-width, try using the \"FM\" modifier.",
                    ));
            }
            self.at += used;
            &copy[..used]
        };
        if digits.is_empty() {
            return Err(invalid_value(copy, field).with_detail("Value must be an integer."));
        }
        let value = digits.parse::<i32>().map_err(|_| {
            sql_error!(
                DATETIME_VALUE_OUT_OF_RANGE,
                "value for \"{}\" in source string is out of range",
                field.name
            )
            .with_detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        Ok((value, self.at - start))
    }

    /// Which of some words comes next, in any case.
    fn word<S: AsRef<str>>(&mut self, field: &Field, words: &[S]) -> Result<i32> {
        let rest = self.rest();
        let found = words.iter().position(|word| {
            let word = word.as_ref();
            rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        });
        match found {
            Some(index) => {
                self.at += words[index].as_ref().len();
                Ok(index as i32)
            }
            None => {
                let shown = rest.split(is_blank).next().unwrap_or("");
                Err(invalid_value(shown, field).with_detail(
                    "The given value did not match any of the allowed values for this field.",
                ))
            }
        }
    }
}

#[cold]
fn invalid_value(text: &str, field: &Field) -> SqlError {
    format_error(format!("invalid value \"{text}\" for \"{}\"", field.name))
}

/// Bytes of a number with an optional sign, or 0.
fn number_len(text: &str) -> usize {
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { 0 } else { sign + digits }
}

/// Whether what follows a field could be read as more of its digits.
fn starts_with_digit(next: Option<&Node>) -> bool {
    match next {
        None => false,
        Some(Node::Field(field)) => field.key.is_digits(),
        Some(Node::Literal(c) | Node::Separator(c) | Node::Space(c)) => c.is_ascii_digit(),
    }
}

/// Sets a field once; saying the same twice is allowed.
fn set(slot: &mut i32, value: i32, field: &Field) -> Result<()> {
    if *slot != 0 && *slot != value {
        return Err(format_error(format!(
            "conflicting values for \"{}\" field in formatting string",
            field.name
        ))
        .with_detail("This value contradicts a previous setting for the same field type."));
    }
    *slot = value;
    Ok(())
}

/// A fraction of `len` digits in units of 10^-`digits`.
fn scale(value: i32, len: usize, digits: usize) -> i32 {
    value.saturating_mul(10i32.pow(digits.saturating_sub(len) as u32))
}

/// A year of less than four digits, as near to 2020 as it gets.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// The moment that a text says, and the zone's displacement east if it names one.
fn moment(text: &str, template: &str) -> Result<(Civil, Option<i32>)> {
    let nodes = parse(template)?;
    let mut reader = Reader { text, at: 0, extra: 0, fixed: false, found: Found::default() };
    reader.read(&nodes)?;
    let overflow = || DateTimeError::FieldOverflow.into_sql(text, "timestamp");
    let mut found = reader.found;
    let mut civil = Civil { month: 1, day: 1, ..Civil::default() };
    found.set_time(&mut civil)?;
    let checked = found.set_date(&mut civil)?;
    let date_valid = !checked.month || (1..=12).contains(&civil.month);
    let day_valid = !checked.day || (1..=31).contains(&civil.day);
    let all = checked.year && checked.month && checked.day;
    let in_month = !all || !date_valid || civil.day <= days_in_month(civil.year, civil.month);
    if !date_valid || !day_valid || !in_month {
        return Err(overflow());
    }
    let time_valid = (0..24).contains(&civil.hour)
        && (0..60).contains(&civil.minute)
        && (0..60).contains(&civil.second)
        && (0..1_000_000).contains(&civil.micros);
    if !time_valid {
        return Err(overflow());
    }
    if found.zone_sign == 0 {
        return Ok((civil, None));
    }
    if !(0..=MAX_ZONE_HOUR).contains(&found.zone_hour) || !(0..60).contains(&found.zone_minute) {
        return Err(DateTimeError::ZoneOverflow.into_sql(text, "timestamp"));
    }
    let seconds = (found.zone_hour * 60 + found.zone_minute) * 60;
    Ok((civil, Some(found.zone_sign * seconds)))
}

/// Which parts of a date were given and must be checked.
#[derive(Default)]
struct Checked {
    year: bool,
    month: bool,
    day: bool,
}

impl Found {
    fn set_time(&self, civil: &mut Civil) -> Result<()> {
        if self.second_of_day != 0 {
            civil.hour = self.second_of_day / 3600;
            civil.minute = self.second_of_day / 60 % 60;
            civil.second = self.second_of_day % 60;
        }
        if self.second != 0 {
            civil.second = self.second;
        }
        if self.minute != 0 {
            civil.minute = self.minute;
        }
        if self.hour != 0 {
            civil.hour = self.hour;
        }
        if self.twelve_hours {
            if !(1..=12).contains(&civil.hour) {
                return Err(format_error(format!(
                    "hour \"{}\" is invalid for the 12-hour clock",
                    civil.hour
                ))
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            if self.pm != 0 && civil.hour < 12 {
                civil.hour += 12;
            } else if self.pm == 0 && civil.hour == 12 {
                civil.hour = 0;
            }
        }
        civil.micros = self.millis.saturating_mul(1000).saturating_add(self.micros);
        Ok(())
    }

    fn set_year(&mut self, civil: &mut Civil) -> bool {
        if self.bc != 0 {
            self.century = -self.century;
        }
        if self.year != 0 {
            if self.century != 0 && self.year_digits <= 2 {
                // The century gives the rest of a short year; centuries begin with year 1.
                let short = self.year % 100;
                civil.year = match (short, self.century >= 0) {
                    (0, true) => self.century * 100,
                    (0, false) => self.century * 100 + 1,
                    (_, true) => short + (self.century - 1) * 100,
                    (_, false) => (self.century + 1) * 100 - short + 1,
                };
            } else {
                civil.year = if self.bc != 0 { -self.year } else { self.year };
                if civil.year < 0 {
                    civil.year += 1;
                }
            }
            return true;
        }
        if self.century != 0 {
            civil.year = if self.century >= 0 {
                (self.century - 1) * 100 + 1
            } else {
                self.century * 100 + 1
            };
            return true;
        }
        false
    }

    fn set_date(&mut self, civil: &mut Civil) -> Result<Checked> {
        let mut checked = Checked { year: self.set_year(civil), ..Checked::default() };
        let all = Checked { year: true, month: true, day: true };
        let iso = self.convention == Some(Convention::IsoWeek);
        let set_days = |civil: &mut Civil, days: i64| {
            (civil.year, civil.month, civil.day) = civil_from_days(days);
        };
        if self.julian != 0 {
            set_days(civil, i64::from(self.julian) - JULIAN_DAY_2000);
            checked = Checked { year: true, month: true, day: true };
        }
        if self.week != 0 {
            if iso {
                let monday = iso_week_start(civil.year, self.week);
                let offset = match self.weekday {
                    0 => 0,
                    1 => 6,
                    day => i64::from(day) - 2,
                };
                set_days(civil, monday + offset);
                checked = all;
            } else {
                self.day_of_year = (self.week - 1) * 7 + 1;
            }
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month - 1) * 7 + 1;
        }
        if self.day != 0 {
            civil.day = self.day;
            checked.day = true;
        }
        if self.month != 0 {
            civil.month = self.month;
            checked.month = true;
        }
        if self.day_of_year != 0 && (civil.month <= 1 || civil.day <= 1) {
            if civil.year == 0 && self.bc == 0 {
                bail!(
                    INVALID_DATETIME_FORMAT,
                    "cannot calculate day of year without year information"
                );
            }
            if iso {
                let start = iso_week_start(civil.year, 1);
                set_days(civil, start + i64::from(self.day_of_year) - 1);
                return Ok(Checked { year: true, month: true, day: true });
            }
            let first = days_from_civil(civil.year.into(), 1, 1);
            let day = first + i64::from(self.day_of_year) - 1;
            let (year, month, day) = civil_from_days(day);
            // A day beyond the year's end has no month.
            let month = if year == civil.year { month } else { 13 };
            if civil.month <= 1 {
                civil.month = month;
            }
            if civil.day <= 1 {
                civil.day = day;
            }
            (checked.month, checked.day) = (true, true);
        }
        Ok(checked)
    }
}

pub(super) fn to_date(text: &str, template: &str) -> Result<Datum> {
    let (civil, _) = moment(text, template)?;
    is_valid_julian(civil.year, civil.month)
        .then(|| Date::from_days(civil.days()))
        .flatten()
        .map(Datum::Date)
        .ok_or_else(|| sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "date out of range: \"{text}\""))
}

pub(super) fn to_timestamp(cx: &Context<'_>, text: &str, template: &str) -> Result<Datum> {
    let (civil, zone) = moment(text, template)?;
    let east_s =
        zone.unwrap_or_else(|| cx.session.format().time_zone.east_of_local(civil.unix_local_s()));
    civil.instant(east_s).map(Datum::TimestampTz).ok_or_else(|| out_of_range("timestamp"))
}
