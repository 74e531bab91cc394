//! The words of dates, times and intervals.

use super::lex::keyword_prefix;

/// Words are told apart by this many characters.
pub(super) const TOKEN_MAX: usize = 10;

/// A part of a date, a time or an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    DayOfWeek,
    DayOfYear,
    IsoDayOfWeek,
    IsoYear,
    Julian,
    Epoch,
    Zone,
    ZoneHour,
    ZoneMinute,
    /// The `t` of ISO 8601.
    IsoTime,
}

/// A word's role in a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateWord {
    Month(i32),
    Weekday,
    Ad,
    Bc,
    Am,
    Pm,
    /// Labels the number that follows.
    Label(Unit),
    DaylightModifier,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    /// `allballs`: midnight UTC.
    Zulu,
    Epoch,
    Infinity,
    NegInfinity,
    Ignore,
}

/// The role of a lower-case word, perhaps with a sign in front.
pub(super) fn date_keyword(word: &str) -> Option<DateWord> {
    use DateWord::*;
    Some(match keyword_prefix(word) {
        "-infinity" => NegInfinity,
        "infinity" | "+infinity" => Infinity,
        "ad" => Ad,
        "allballs" => Zulu,
        "am" => Am,
        "apr" | "april" => Month(4),
        "at" | "on" => Ignore,
        "aug" | "august" => Month(8),
        "bc" => Bc,
        "d" => Label(Unit::Day),
        "dec" | "december" => Month(12),
        "dow" => Label(Unit::DayOfWeek),
        "doy" => Label(Unit::DayOfYear),
        "dst" => DaylightModifier,
        "epoch" => Epoch,
        "feb" | "february" => Month(2),
        "fri" | "friday" | "mon" | "monday" | "sat" | "saturday" | "sun" | "sunday" | "thu"
        | "thur" | "thurs" | "thursday" | "tue" | "tues" | "tuesday" | "wed" | "wednesday"
        | "weds" => Weekday,
        "h" => Label(Unit::Hour),
        "isodow" => Label(Unit::IsoDayOfWeek),
        "isoyear" => Label(Unit::IsoYear),
        "j" | "jd" | "julian" => Label(Unit::Julian),
        "jan" | "january" => Month(1),
        "jul" | "july" => Month(7),
        "jun" | "june" => Month(6),
        "m" => Label(Unit::Month),
        "mar" | "march" => Month(3),
        "may" => Month(5),
        "mm" => Label(Unit::Minute),
        "nov" | "november" => Month(11),
        "now" => Now,
        "oct" | "october" => Month(10),
        "pm" => Pm,
        "s" => Label(Unit::Second),
        "sep" | "sept" | "september" => Month(9),
        "t" => Label(Unit::IsoTime),
        "today" => Today,
        "tomorrow" => Tomorrow,
        "y" => Label(Unit::Year),
        "yesterday" => Yesterday,
        _ => return None,
    })
}

/// A word's role in an interval, or in the name of a field to extract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntervalWord {
    Unit(Unit),
    Ago,
    Ignore,
}

pub(super) fn interval_keyword(word: &str) -> Option<IntervalWord> {
    use IntervalWord::{Ago, Ignore};
    let unit = match keyword_prefix(word) {
        "@" => return Some(Ignore),
        "ago" => return Some(Ago),
        "c" | "cent" | "centuries" | "century" => Unit::Century,
        "d" | "day" | "days" => Unit::Day,
        "dec" | "decade" | "decades" | "decs" => Unit::Decade,
        "h" | "hour" | "hours" | "hr" | "hrs" => Unit::Hour,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "microsecon" | "us" | "usec" | "usecond" | "useconds" | "usecs" => Unit::Microsecond,
        "mil" | "millennia" | "millennium" | "mils" => Unit::Millennium,
        "millisecon" | "ms" | "msec" | "msecond" | "mseconds" | "msecs" => Unit::Millisecond,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "qtr" | "quarter" => Unit::Quarter,
        "s" | "sec" | "second" | "seconds" | "secs" => Unit::Second,
        "timezone" => Unit::Zone,
        "timezone_h" => Unit::ZoneHour,
        "timezone_m" => Unit::ZoneMinute,
        "w" | "week" | "weeks" => Unit::Week,
        "y" | "year" | "years" | "yr" | "yrs" => Unit::Year,
        _ => return None,
    };
    Some(IntervalWord::Unit(unit))
}

/// The unit that `date_trunc` means by a lower-case word: a word of intervals.
pub fn span_unit_by_name(lower: &str) -> Option<Unit> {
    match interval_keyword(lower)? {
        IntervalWord::Unit(unit) => Some(unit),
        _ => None,
    }
}

/// The unit that `date_part` and `EXTRACT` mean by a lower-case word.
pub fn unit_by_name(lower: &str) -> Option<Unit> {
    match span_unit_by_name(lower) {
        Some(unit) => Some(unit),
        None => match date_keyword(lower) {
            Some(DateWord::Label(Unit::IsoTime)) | None => None,
            Some(DateWord::Label(unit)) => Some(unit),
            Some(DateWord::Epoch) => Some(Unit::Epoch),
            Some(_) => None,
        },
    }
}
