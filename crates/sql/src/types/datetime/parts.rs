//! Which fields have been seen, and the small numeric formats inside fields.

use std::ops::BitOr;

use super::USECS_PER_SEC;
use super::error::DateTimeError;

type Result<T> = std::result::Result<T, DateTimeError>;

/// A set of date/time parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts(u32);

impl Parts {
    pub const NONE: Parts = Parts(0);
    pub const YEAR: Parts = Parts(1);
    pub const MONTH: Parts = Parts(1 << 1);
    pub const DAY: Parts = Parts(1 << 2);
    pub const HOUR: Parts = Parts(1 << 3);
    pub const MINUTE: Parts = Parts(1 << 4);
    pub const SECOND: Parts = Parts(1 << 5);
    pub const MILLISECOND: Parts = Parts(1 << 6);
    pub const MICROSECOND: Parts = Parts(1 << 7);
    pub const ZONE: Parts = Parts(1 << 8);
    pub const DST_ZONE: Parts = Parts(1 << 9);
    pub const DST_MODIFIER: Parts = Parts(1 << 10);
    pub const DAY_OF_YEAR: Parts = Parts(1 << 11);
    pub const MERIDIAN: Parts = Parts(1 << 12);
    pub const ERA: Parts = Parts(1 << 13);
    pub const WEEKDAY: Parts = Parts(1 << 14);
    pub const WEEK: Parts = Parts(1 << 15);
    pub const DECADE: Parts = Parts(1 << 16);
    pub const CENTURY: Parts = Parts(1 << 17);
    pub const MILLENNIUM: Parts = Parts(1 << 18);

    pub const DATE: Parts = Parts(0b111);
    pub const ALL_SECONDS: Parts = Parts(0b1110_0000);
    pub const TIME: Parts = Parts(0b1111_1000);

    /// Whether all of `other` is in the set.
    pub fn contains(self, other: Parts) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn overlaps(self, other: Parts) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members that are date parts.
    pub fn date_parts(self) -> Parts {
        Parts(self.0 & Parts::DATE.0)
    }

    pub fn without(self, other: Parts) -> Parts {
        Parts(self.0 & !other.0)
    }
}

impl BitOr for Parts {
    type Output = Parts;
    fn bitor(self, other: Parts) -> Parts {
        Parts(self.0 | other.0)
    }
}

/// A clock reading; the hour may exceed a day in intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub hour: i64,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
}

/// `hh:mm[:ss[.f]]` or `mm:ss.f`; `mm:ss` when `minutes_first`.
pub(super) fn parse_clock(text: &str, minutes_first: bool) -> Result<Clock> {
    let (hour, rest) = split_digits(text);
    let hour = parse_long(hour)?;
    let rest = rest.strip_prefix(':').ok_or(DateTimeError::BadFormat)?;
    let (minute, rest) = split_digits(rest);
    let minute = parse_int(minute)?;
    let shifted = |micros| -> Result<Clock> {
        let minutes = hour.try_into().map_err(|_| DateTimeError::FieldOverflow)?;
        Ok(Clock { hour: 0, minute: minutes, second: minute, micros })
    };
    let clock = if rest.is_empty() {
        if minutes_first { shifted(0)? } else { Clock { hour, minute, second: 0, micros: 0 } }
    } else if rest.starts_with('.') {
        shifted(parse_fraction(rest)?)?
    } else {
        let rest = rest.strip_prefix(':').ok_or(DateTimeError::BadFormat)?;
        let (second, fraction) = split_digits(rest);
        let second = parse_int(second)?;
        let micros = match fraction.as_bytes() {
            [] => 0,
            [b'.', ..] => parse_fraction(fraction)?,
            _ => return Err(DateTimeError::BadFormat),
        };
        Clock { hour, minute, second, micros }
    };
    if clock.minute > 59 || clock.second > 60 {
        return Err(DateTimeError::FieldOverflow);
    }
    Ok(clock)
}

/// The leading digits and the rest.
pub(super) fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Digits to an `i32`; none count as zero.
pub(super) fn parse_int(digits: &str) -> Result<i32> {
    parse_long(digits)?.try_into().map_err(|_| DateTimeError::FieldOverflow)
}

/// Digits to an `i64`; none count as zero.
pub(super) fn parse_long(digits: &str) -> Result<i64> {
    if digits.is_empty() {
        return Ok(0);
    }
    digits.parse().map_err(|_| DateTimeError::FieldOverflow)
}

/// `.ddd` as a number below one; a lone point counts as zero.
pub(super) fn parse_fraction_f64(text: &str) -> Result<f64> {
    debug_assert!(text.starts_with('.'));
    if text.len() == 1 {
        return Ok(0.0);
    }
    if !text[1..].bytes().all(|b| b.is_ascii_digit()) {
        return Err(DateTimeError::BadFormat);
    }
    text.parse().map_err(|_| DateTimeError::BadFormat)
}

/// `.ddd` in microseconds, rounded to even.
pub(super) fn parse_fraction(text: &str) -> Result<i32> {
    Ok((parse_fraction_f64(text)? * USECS_PER_SEC as f64).round_ties_even() as i32)
}

/// Largest hour of a displacement from Greenwich.
const MAX_DISPLACEMENT_HOUR: i32 = 15;

/// `±hh`, `±hhmm`, `±hh:mm` or `±hh:mm:ss`, in seconds east.
pub(super) fn parse_displacement(text: &str) -> Result<i32> {
    let negative = match text.as_bytes().first() {
        Some(b'+') => false,
        Some(b'-') => true,
        _ => return Err(DateTimeError::BadFormat),
    };
    let number = |digits: &str| parse_int(digits).map_err(|_| DateTimeError::ZoneOverflow);
    let (hours, mut rest) = split_digits(&text[1..]);
    let (mut hour, mut minute, mut second) = (number(hours)?, 0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        let (minutes, after) = split_digits(after);
        minute = number(minutes)?;
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            let (seconds, after) = split_digits(after);
            second = number(seconds)?;
            rest = after;
        }
    } else if rest.is_empty() && hours.len() > 2 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    if hour > MAX_DISPLACEMENT_HOUR || minute >= 60 || second >= 60 {
        return Err(DateTimeError::ZoneOverflow);
    }
    if !rest.is_empty() {
        return Err(DateTimeError::BadFormat);
    }
    let east = (hour * 60 + minute) * 60 + second;
    Ok(if negative { -east } else { east })
}
