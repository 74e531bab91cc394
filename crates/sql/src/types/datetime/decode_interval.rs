//! Text to intervals: PostgreSQL's, the SQL standard's and ISO 8601's forms.

use super::error::DateTimeError;
use super::keywords::{IntervalWord, Unit, interval_keyword};
use super::lex::{Field, Shape, fields};
use super::parts::{Parts, parse_clock, parse_fraction_f64, split_digits};
use super::{Interval, USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC};
use crate::types::context::{IntervalStyle, IoContext};
use crate::types::typmod::IntervalFields;

type Result<T> = std::result::Result<T, DateTimeError>;

const MONTHS_PER_YEAR: i64 = 12;
const DAYS_PER_MONTH: f64 = 30.0;

/// Decodes an interval. `range` says what a number without a unit at the end means.
pub(super) fn decode_interval(
    text: &str,
    range: IntervalFields,
    cx: &IoContext<'_>,
) -> Result<Interval> {
    let attempt = fields(text).and_then(|fields| decode_fields(&fields, range, cx));
    let result = match attempt {
        Err(DateTimeError::BadFormat) => decode_iso8601(text),
        other => other,
    };
    result.map_err(|error| match error {
        DateTimeError::FieldOverflow => DateTimeError::IntervalOverflow,
        other => other,
    })
}

/// Sums of the fields. Years join the months only at the end, and out of their `i32` range means
/// "interval out of range" where the rest is a field overflow; `years` keeps the two apart.
#[derive(Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

impl Sum {
    /// `value + fraction` times a length in microseconds.
    fn add_micros(&mut self, value: i64, fraction: f64, scale: i64) -> Option<()> {
        self.micros = self.micros.checked_add(value.checked_mul(scale)?)?;
        self.add_micro_fraction(fraction, scale)
    }

    fn add_micro_fraction(&mut self, fraction: f64, scale: i64) -> Option<()> {
        if fraction == 0.0 {
            return Some(());
        }
        let scaled = fraction * scale as f64;
        let mut whole = scaled as i64;
        let rest = scaled - whole as f64;
        if rest > 0.5 {
            whole += 1;
        } else if rest < -0.5 {
            whole -= 1;
        }
        self.micros = self.micros.checked_add(whole)?;
        Some(())
    }

    fn add_days(&mut self, value: i64, scale: i32) -> Option<()> {
        let value = i32::try_from(value).ok()?;
        self.days = self.days.checked_add(value.checked_mul(scale)?)?;
        Some(())
    }

    /// A part of some days: whole days as days, the rest as time.
    fn add_day_fraction(&mut self, fraction: f64, scale: f64) -> Option<()> {
        if fraction == 0.0 {
            return Some(());
        }
        let scaled = fraction * scale;
        let whole = scaled as i32;
        self.days = self.days.checked_add(whole)?;
        self.add_micro_fraction(scaled - f64::from(whole), USECS_PER_DAY)
    }

    fn add_months(&mut self, value: i64) -> Option<()> {
        self.months = self.months.checked_add(i32::try_from(value).ok()?)?;
        Some(())
    }

    fn add_years(&mut self, value: i64, fraction: f64, scale: i32) -> Option<()> {
        let value = i32::try_from(value).ok()?;
        self.years = self.years.checked_add(value.checked_mul(scale)?)?;
        let months =
            (fraction * f64::from(scale) * MONTHS_PER_YEAR as f64).round_ties_even() as i32;
        self.months = self.months.checked_add(months)?;
        Some(())
    }

    fn negate(&mut self) -> Option<()> {
        self.years = self.years.checked_neg()?;
        self.months = self.months.checked_neg()?;
        self.days = self.days.checked_neg()?;
        self.micros = self.micros.checked_neg()?;
        Some(())
    }

    fn finish(self) -> Result<Interval> {
        let months = i64::from(self.years) * MONTHS_PER_YEAR + i64::from(self.months);
        let months = i32::try_from(months).map_err(|_| DateTimeError::OutOfRange)?;
        Ok(Interval { months, days: self.days, micros: self.micros })
    }
}

/// Fields are read from the right: a number's unit is the word after it.
fn decode_fields(fields: &[Field], range: IntervalFields, cx: &IoContext<'_>) -> Result<Interval> {
    let mut decoder = IntervalDecoder {
        sum: Sum::default(),
        range,
        unit: None,
        needs_unit: false,
        // The standard's single leading sign covers all fields, unless others have signs too.
        force_negative: cx.format.interval_style == IntervalStyle::SqlStandard
            && fields.first().is_some_and(|field| field.text.starts_with('-'))
            && !fields[1..].iter().any(|field| field.text.starts_with(['-', '+'])),
        ago: false,
    };
    let mut seen = Parts::NONE;
    for field in fields.iter().rev() {
        let added = decoder.field(field)?;
        if seen.overlaps(added) {
            return Err(DateTimeError::BadFormat);
        }
        seen = seen | added;
    }
    if seen.is_empty() {
        return Err(DateTimeError::BadFormat);
    }
    if decoder.ago {
        decoder.sum.negate().ok_or(DateTimeError::FieldOverflow)?;
    }
    decoder.sum.finish()
}

struct IntervalDecoder {
    sum: Sum,
    range: IntervalFields,
    /// The unit of the next number to the left.
    unit: Option<Unit>,
    /// It is none that the range tells, where there is no other.
    needs_unit: bool,
    force_negative: bool,
    ago: bool,
}

impl IntervalDecoder {
    fn field(&mut self, field: &Field) -> Result<Parts> {
        let text = field.text.as_str();
        match field.shape {
            Shape::Time => {
                let micros = self.clock(text)?;
                self.add_clock(micros)
            }
            Shape::Signed => {
                if text[1..].contains(':')
                    && let Ok(micros) = self.clock(&text[1..])
                {
                    let micros = if text.starts_with('-') { -micros } else { micros };
                    return self.add_clock(micros);
                }
                self.number(text)
            }
            Shape::Date | Shape::Number => self.number(text),
            Shape::Word | Shape::SignedWord => match interval_keyword(text) {
                Some(IntervalWord::Ignore) => Ok(Parts::NONE),
                Some(IntervalWord::Ago) => {
                    // Stands behind a unit or a time: `1 ago` is nothing.
                    (self.ago, self.unit, self.needs_unit) = (true, None, true);
                    Ok(Parts::NONE)
                }
                Some(IntervalWord::Unit(unit)) => {
                    self.unit = Some(unit);
                    Ok(Parts::NONE)
                }
                None => Err(DateTimeError::BadFormat),
            },
        }
    }

    fn clock(&self, text: &str) -> Result<i64> {
        const MINUTE_TO_SECOND: i32 = IntervalFields::MINUTE | IntervalFields::SECOND;
        let clock = parse_clock(text, self.range.0 == MINUTE_TO_SECOND)?;
        let rest = i64::from(clock.minute) * USECS_PER_MINUTE
            + i64::from(clock.second) * USECS_PER_SEC
            + i64::from(clock.micros);
        clock
            .hour
            .checked_mul(USECS_PER_HOUR)
            .and_then(|micros| micros.checked_add(rest))
            .ok_or(DateTimeError::FieldOverflow)
    }

    fn add_clock(&mut self, micros: i64) -> Result<Parts> {
        self.sum.micros = if self.force_negative && micros > 0 { -micros } else { micros };
        // In `1 +02:03` the number to the left counts days.
        self.unit = Some(Unit::Day);
        Ok(Parts::TIME)
    }

    fn number(&mut self, text: &str) -> Result<Parts> {
        let told = (!self.needs_unit).then(|| rightmost_unit(self.range));
        let mut unit = self.unit.or(told);
        let negative = text.starts_with('-');
        let (digits, rest) = split_digits(text.trim_start_matches(['+', '-']));
        let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
        let mut value: i64 = if digits.is_empty() {
            0
        } else {
            signed.parse().map_err(|_| DateTimeError::FieldOverflow)?
        };
        let mut fraction = 0.0;
        match rest.as_bytes() {
            [] => {}
            [b'-', ..] => {
                // The standard's years-months.
                let (months, tail) = split_digits(&rest[1..]);
                let months: i64 = if months.is_empty() {
                    0
                } else {
                    months.parse().map_err(|_| DateTimeError::FieldOverflow)?
                };
                if months >= MONTHS_PER_YEAR {
                    return Err(DateTimeError::FieldOverflow);
                }
                if !tail.is_empty() {
                    return Err(DateTimeError::BadFormat);
                }
                unit = Some(Unit::Month);
                value = value
                    .checked_mul(MONTHS_PER_YEAR)
                    .and_then(|v| v.checked_add(if negative { -months } else { months }))
                    .ok_or(DateTimeError::FieldOverflow)?;
            }
            [b'.', ..] => {
                fraction = parse_fraction_f64(rest)?;
                if negative {
                    fraction = -fraction;
                }
            }
            _ => return Err(DateTimeError::BadFormat),
        }
        if self.force_negative {
            value = if value > 0 { -value } else { value };
            fraction = if fraction > 0.0 { -fraction } else { fraction };
        }
        let unit = unit.ok_or(DateTimeError::BadFormat)?;
        self.unit = Some(unit);
        self.add(unit, value, fraction)
    }

    fn add(&mut self, unit: Unit, value: i64, fraction: f64) -> Result<Parts> {
        let sum = &mut self.sum;
        let (done, parts) = match unit {
            Unit::Microsecond => (sum.add_micros(value, fraction, 1), Parts::MICROSECOND),
            Unit::Millisecond => (sum.add_micros(value, fraction, 1000), Parts::MILLISECOND),
            Unit::Second => (
                sum.add_micros(value, fraction, USECS_PER_SEC),
                if fraction == 0.0 { Parts::SECOND } else { Parts::ALL_SECONDS },
            ),
            Unit::Minute => (sum.add_micros(value, fraction, USECS_PER_MINUTE), Parts::MINUTE),
            Unit::Hour => {
                // A day unit remains for what follows to the left.
                self.unit = Some(Unit::Day);
                (sum.add_micros(value, fraction, USECS_PER_HOUR), Parts::HOUR)
            }
            Unit::Day => (
                sum.add_days(value, 1)
                    .and_then(|()| sum.add_micro_fraction(fraction, USECS_PER_DAY)),
                Parts::DAY,
            ),
            Unit::Week => (
                sum.add_days(value, 7).and_then(|()| sum.add_day_fraction(fraction, 7.0)),
                Parts::WEEK,
            ),
            Unit::Month => (
                sum.add_months(value).and_then(|()| sum.add_day_fraction(fraction, DAYS_PER_MONTH)),
                Parts::MONTH,
            ),
            Unit::Year => (sum.add_years(value, fraction, 1), Parts::YEAR),
            Unit::Decade => (sum.add_years(value, fraction, 10), Parts::DECADE),
            Unit::Century => (sum.add_years(value, fraction, 100), Parts::CENTURY),
            Unit::Millennium => (sum.add_years(value, fraction, 1000), Parts::MILLENNIUM),
            _ => return Err(DateTimeError::BadFormat),
        };
        done.ok_or(DateTimeError::FieldOverflow)?;
        Ok(parts)
    }
}

/// What a number without a unit counts, by the fields that the type keeps.
fn rightmost_unit(range: IntervalFields) -> Unit {
    let bits = range.0;
    if bits == IntervalFields::FULL_RANGE || bits & IntervalFields::SECOND != 0 {
        Unit::Second
    } else if bits & IntervalFields::MINUTE != 0 {
        Unit::Minute
    } else if bits & IntervalFields::HOUR != 0 {
        Unit::Hour
    } else if bits & IntervalFields::DAY != 0 {
        Unit::Day
    } else if bits & IntervalFields::MONTH != 0 {
        Unit::Month
    } else if bits & IntervalFields::YEAR != 0 {
        Unit::Year
    } else {
        Unit::Second
    }
}

/// `P1Y2M3DT4H5M6S` and the alternative forms `P0001-02-03T04:05:06` and `P00010203T040506`.
fn decode_iso8601(text: &str) -> Result<Interval> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty());
    let mut reader = IsoReader { rest: rest.ok_or(DateTimeError::BadFormat)? };
    let mut sum = Sum::default();
    let overflow = DateTimeError::FieldOverflow;
    let mut in_date = true;
    let mut have_field = false;
    while !reader.rest.is_empty() {
        if reader.eat('T') {
            (in_date, have_field) = (false, false);
            continue;
        }
        let number = reader.number()?;
        let unit = reader.rest.chars().next();
        reader.rest = reader.rest.get(unit.map_or(0, char::len_utf8)..).unwrap_or("");
        let (value, fraction) = (number.whole, number.fraction);
        let done = match (in_date, unit) {
            (true, Some('Y')) => sum.add_years(value, fraction, 1),
            (true, Some('M')) => {
                sum.add_months(value).and_then(|()| sum.add_day_fraction(fraction, DAYS_PER_MONTH))
            }
            (true, Some('W')) => {
                sum.add_days(value, 7).and_then(|()| sum.add_day_fraction(fraction, 7.0))
            }
            (true, Some('D')) => sum
                .add_days(value, 1)
                .and_then(|()| sum.add_micro_fraction(fraction, USECS_PER_DAY)),
            (true, Some('T') | None) if number.width == 8 && !have_field => {
                (in_date, have_field) = (false, false);
                sum.add_years(value / 10_000, 0.0, 1)
                    .and_then(|()| sum.add_months(value / 100 % 100))
                    .and_then(|()| sum.add_days(value % 100, 1))
                    .and_then(|()| sum.add_micro_fraction(fraction, USECS_PER_DAY))
                    .ok_or(overflow.clone())?;
                continue;
            }
            (true, Some('-' | 'T') | None) if !have_field => {
                sum.add_years(value, fraction, 1).ok_or(overflow.clone())?;
                if unit == Some('-') {
                    reader.extended_date(&mut sum)?;
                }
                (in_date, have_field) = (false, false);
                continue;
            }
            (false, Some('H')) => sum.add_micros(value, fraction, USECS_PER_HOUR),
            (false, Some('M')) => sum.add_micros(value, fraction, USECS_PER_MINUTE),
            (false, Some('S')) => sum.add_micros(value, fraction, USECS_PER_SEC),
            (false, None) if number.width == 6 && !have_field => sum
                .add_micros(value / 10_000, 0.0, USECS_PER_HOUR)
                .and_then(|()| sum.add_micros(value / 100 % 100, 0.0, USECS_PER_MINUTE))
                .and_then(|()| sum.add_micros(value % 100, 0.0, USECS_PER_SEC))
                .and_then(|()| sum.add_micro_fraction(fraction, 1)),
            (false, Some(':') | None) if !have_field => {
                sum.add_micros(value, fraction, USECS_PER_HOUR).ok_or(overflow.clone())?;
                if unit.is_some() {
                    reader.extended_time(&mut sum)?;
                }
                break;
            }
            _ => return Err(DateTimeError::BadFormat),
        };
        done.ok_or(overflow.clone())?;
        have_field = true;
    }
    sum.finish()
}

struct IsoReader<'a> {
    rest: &'a str,
}

/// A number split at its point, and how many digits stand before it.
struct IsoNumber {
    whole: i64,
    fraction: f64,
    width: usize,
}

impl IsoReader<'_> {
    fn eat(&mut self, expected: char) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Anything that reads as a floating-point number below 10^15.
    fn number(&mut self) -> Result<IsoNumber> {
        let bytes = self.rest.as_bytes();
        if !matches!(bytes.first(), Some(b'0'..=b'9' | b'-' | b'.')) {
            return Err(DateTimeError::BadFormat);
        }
        let digits_from = |from: usize| -> usize {
            from + bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count()
        };
        let sign = usize::from(bytes[0] == b'-');
        let int_end = digits_from(sign);
        let mut end = int_end;
        if bytes.get(end) == Some(&b'.') {
            end = digits_from(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent_end = digits_from(end + 1 + sign);
            if exponent_end > end + 1 + sign {
                end = exponent_end;
            }
        }
        let value: f64 = self.rest[..end].parse().map_err(|_| DateTimeError::BadFormat)?;
        if !(-1.0e15..=1.0e15).contains(&value) {
            return Err(DateTimeError::FieldOverflow);
        }
        self.rest = &self.rest[end..];
        Ok(IsoNumber {
            whole: value.trunc() as i64,
            fraction: value - value.trunc(),
            width: int_end - sign,
        })
    }

    /// `mm[-dd]` after `yyyy-`, up to a `T` or the end.
    fn extended_date(&mut self, sum: &mut Sum) -> Result<()> {
        let months = self.number()?;
        sum.add_months(months.whole)
            .and_then(|()| sum.add_day_fraction(months.fraction, DAYS_PER_MONTH))
            .ok_or(DateTimeError::FieldOverflow)?;
        if self.rest.is_empty() || self.eat('T') {
            return Ok(());
        }
        if !self.eat('-') {
            return Err(DateTimeError::BadFormat);
        }
        let days = self.number()?;
        sum.add_days(days.whole, 1)
            .and_then(|()| sum.add_micro_fraction(days.fraction, USECS_PER_DAY))
            .ok_or(DateTimeError::FieldOverflow)?;
        if self.rest.is_empty() || self.eat('T') { Ok(()) } else { Err(DateTimeError::BadFormat) }
    }

    /// `mm[:ss]` after `hh:`, to the end.
    fn extended_time(&mut self, sum: &mut Sum) -> Result<()> {
        for (i, scale) in [USECS_PER_MINUTE, USECS_PER_SEC].into_iter().enumerate() {
            if i > 0 && !self.eat(':') {
                return Err(DateTimeError::BadFormat);
            }
            let number = self.number()?;
            sum.add_micros(number.whole, number.fraction, scale)
                .ok_or(DateTimeError::FieldOverflow)?;
            if self.rest.is_empty() {
                return Ok(());
            }
        }
        Err(DateTimeError::BadFormat)
    }
}
