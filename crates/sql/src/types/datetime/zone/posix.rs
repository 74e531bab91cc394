//! POSIX time zone rules: `CET-1CEST,M3.5.0,M10.5.0/3`.

use std::sync::Arc;

use super::super::calendar::{days_from_civil, is_leap_year};
use super::{Boundary, LocalType, SECS_PER_DAY};

/// A standard time and, for part of each year, a daylight-saving time.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub standard: LocalType,
    pub daylight: Option<Daylight>,
}

#[derive(Clone, Debug)]
pub(super) struct Daylight {
    local: LocalType,
    start: YearDay,
    end: YearDay,
}

/// A day of each year and the wall-clock second on it (possibly negative or past its end).
#[derive(Clone, Copy, Debug)]
struct YearDay {
    day: Day,
    time_s: i64,
}

#[derive(Clone, Copy, Debug)]
enum Day {
    /// `Jn`: 1 to 365, February 29 never counted.
    Julian(i64),
    /// `n`: 0 to 365, February 29 counted.
    Ordinal(i64),
    /// `Mm.w.d`: weekday d of week w (5 the last) of month m.
    Weekday { month: i32, week: i64, weekday: i64 },
}

/// What a daylight-saving rule without dates means.
const DEFAULT_DATES: &str = ",M3.2.0,M11.1.0";
/// Unix day of 2000-01-01.
const UNIX_DAY_2000: i64 = 10_957;

impl Rule {
    /// Parses a whole rule; an empty name is allowed, a missing offset is not.
    pub fn parse(text: &str) -> Option<Rule> {
        let mut cursor = Cursor(text.as_bytes());
        let name = cursor.name()?;
        let west = cursor.offset()?;
        let standard = LocalType { east_s: -west, is_dst: false, abbreviation: name };
        if cursor.0.is_empty() {
            return Some(Rule { standard, daylight: None });
        }
        let name = cursor.name()?;
        if name.is_empty() {
            return None;
        }
        let dst_west = match cursor.0.first() {
            None | Some(b',') => west - 3600,
            Some(_) => cursor.offset()?,
        };
        if cursor.0.is_empty() {
            cursor = Cursor(DEFAULT_DATES.as_bytes());
        }
        let start = cursor.year_day()?;
        let end = cursor.year_day()?;
        if !cursor.0.is_empty() {
            return None;
        }
        let local = LocalType { east_s: -dst_west, is_dst: true, abbreviation: name };
        Some(Rule { standard, daylight: Some(Daylight { local, start, end }) })
    }

    /// The local types that the rule can yield.
    pub fn types(&self) -> impl Iterator<Item = &LocalType> {
        std::iter::once(&self.standard).chain(self.daylight.as_ref().map(|d| &d.local))
    }

    /// Both changes of a year: instant and what holds from it, ascending.
    fn changes<'a>(&'a self, daylight: &'a Daylight, year: i64) -> [(i64, &'a LocalType); 2] {
        let start = daylight.start.unix_local(year) - i64::from(self.standard.east_s);
        let end = daylight.end.unix_local(year) - i64::from(daylight.local.east_s);
        let mut both = [(start, &daylight.local), (end, &self.standard)];
        both.sort_by_key(|change| change.0);
        both
    }

    /// Changes of the years around an instant, ascending.
    fn changes_around<'a>(
        &'a self,
        daylight: &'a Daylight,
        unix_s: i64,
    ) -> impl Iterator<Item = (i64, &'a LocalType)> {
        // A mean Gregorian year; off by less than two days, and a rule's changes may be off by two weeks: hence the margins.
        let year = 1970 + unix_s.div_euclid(31_556_952);
        (year - 2..=year + 2).flat_map(move |year| self.changes(daylight, year))
    }

    pub fn at(&self, unix_s: i64) -> &LocalType {
        let Some(daylight) = &self.daylight else { return &self.standard };
        self.changes_around(daylight, unix_s)
            .take_while(|change| change.0 <= unix_s)
            .last()
            .expect("the years before have changes")
            .1
    }

    pub fn next_boundary(&self, unix_s: i64) -> Option<Boundary<'_>> {
        let daylight = self.daylight.as_ref()?;
        let (at, after) = self.changes_around(daylight, unix_s).find(|change| change.0 > unix_s)?;
        Some(Boundary { at, before: self.at(unix_s), after })
    }
}

impl YearDay {
    /// The moment in a year, as Unix seconds of the wall clock.
    fn unix_local(self, year: i64) -> i64 {
        let leap = is_leap_year(year);
        let month_start = |month| days_from_civil(year, month, 1) + UNIX_DAY_2000;
        let january = month_start(1);
        let day = match self.day {
            Day::Julian(n) => january + n - 1 + i64::from(leap && n >= 60),
            Day::Ordinal(n) => january + n,
            Day::Weekday { month, week, weekday } => {
                let first = month_start(month);
                // Unix day 0 was a Thursday.
                let first_weekday = (first + 4).rem_euclid(7);
                let mut day = first + (weekday - first_weekday).rem_euclid(7) + 7 * (week - 1);
                let next = if month == 12 {
                    january + 365 + i64::from(leap)
                } else {
                    month_start(month + 1)
                };
                while day >= next {
                    day -= 7;
                }
                day
            }
        };
        day * SECS_PER_DAY + self.time_s
    }
}

/// What is left of the text.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.0.first() == Some(&byte);
        if eaten {
            self.0 = &self.0[1..];
        }
        eaten
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a [u8] {
        let len = self.0.iter().take_while(|&&b| accept(b)).count();
        let (head, tail) = self.0.split_at(len);
        self.0 = tail;
        head
    }

    /// `<anything>` or a run without digits, commas and signs.
    fn name(&mut self) -> Option<Arc<str>> {
        let bytes = if self.eat(b'<') {
            let name = self.take_while(|b| b != b'>');
            if !self.eat(b'>') {
                return None;
            }
            name
        } else {
            self.take_while(|b| !b.is_ascii_digit() && !matches!(b, b',' | b'-' | b'+'))
        };
        std::str::from_utf8(bytes).ok().map(Arc::from)
    }

    fn number(&mut self, max: i64) -> Option<i64> {
        let digits = self.take_while(|b| b.is_ascii_digit());
        if digits.is_empty() || digits.len() > 9 {
            return None;
        }
        let value = digits.iter().fold(0, |sum, b| sum * 10 + i64::from(b - b'0'));
        (value <= max).then_some(value)
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    fn signed_time(&mut self) -> Option<i64> {
        let negative = self.eat(b'-');
        if !negative {
            self.eat(b'+');
        }
        let mut seconds = self.number(24 * 7 - 1)? * 3600;
        if self.eat(b':') {
            seconds += self.number(59)? * 60;
            if self.eat(b':') {
                seconds += self.number(60)?;
            }
        }
        Some(if negative { -seconds } else { seconds })
    }

    fn offset(&mut self) -> Option<i32> {
        self.signed_time().map(|seconds| seconds as i32)
    }

    fn year_day(&mut self) -> Option<YearDay> {
        if !self.eat(b',') && !self.eat(b';') {
            return None;
        }
        let day = if self.eat(b'J') {
            Day::Julian(self.number(365).filter(|&n| n >= 1)?)
        } else if self.eat(b'M') {
            let month = self.number(12).filter(|&n| n >= 1)? as i32;
            let week = self.eat(b'.').then(|| self.number(5))?.filter(|&n| n >= 1)?;
            let weekday = self.eat(b'.').then(|| self.number(6))??;
            Day::Weekday { month, week, weekday }
        } else {
            Day::Ordinal(self.number(365)?)
        };
        let time_s = if self.eat(b'/') { self.signed_time()? } else { 2 * 3600 };
        Some(YearDay { day, time_s })
    }
}
