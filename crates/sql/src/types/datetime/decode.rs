//! Text to dates and timestamps.
//!
//! The meaning of a field depends on its shape, on the fields before it and on `DateStyle`'s
//! order; the rules are PostgreSQL's (manual, appendix B.1 "Date/Time Input Interpretation").
//! `numbers` holds what a bare number can mean.

use super::USECS_PER_DAY;
use super::calendar::{Civil, JULIAN_DAY_2000, civil_from_days, days_from_civil, days_in_month};
use super::error::DateTimeError;
use super::keywords::{DateWord, Unit, date_keyword};
use super::lex::{Field, Shape, fields};
use super::parts::{self, Parts, parse_displacement, parse_fraction, parse_int};
use super::zone::{Abbreviation, Meaning, TimeZone};
use crate::types::context::IoContext;

type Result<T> = std::result::Result<T, DateTimeError>;

/// What a text says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decoded {
    /// A moment, and the zone's displacement when one was asked for.
    Moment {
        civil: Civil,
        east_s: i32,
    },
    Epoch,
    Infinity,
    NegInfinity,
}

/// How a text named its zone.
#[derive(Clone, Debug)]
pub(super) enum ZoneSpec {
    None,
    /// Seconds east.
    Fixed(i32),
    Named(TimeZone),
    /// An abbreviation whose offset depends on the moment.
    Dynamic {
        zone: TimeZone,
        abbreviation: String,
    },
}

/// Twelve-hour clock, if one was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meridian {
    None,
    Am,
    Pm,
}

/// Fields gathered so far. Shared with the decoder of times of day.
pub(super) struct Decoder<'a, 'c> {
    pub cx: &'a IoContext<'c>,
    pub civil: Civil,
    pub seen: Parts,
    pub zone: ZoneSpec,
    /// `DST` after a zone: an hour east.
    pub dst_modifier: bool,
    pub meridian: Meridian,
    pub bc: bool,
    /// The year had one or two digits.
    pub short_year: bool,
    pub text_month: bool,
    pub is_julian: bool,
    pub day_of_year: i32,
    /// The label that says what the next number is.
    pub label: Option<Unit>,
    pub special: Option<Decoded>,
}

/// Decodes a date, a timestamp or a timestamp with zone.
pub(super) fn decode_moment(text: &str, cx: &IoContext<'_>) -> Result<Decoded> {
    let fields = fields(text)?;
    let mut decoder = Decoder::new(cx);
    for (i, field) in fields.iter().enumerate() {
        let added = decoder.moment_field(field, fields.get(i + 1))?;
        decoder.add(added)?;
    }
    decoder.finish_moment()
}

impl<'a, 'c> Decoder<'a, 'c> {
    pub fn new(cx: &'a IoContext<'c>) -> Decoder<'a, 'c> {
        Decoder {
            cx,
            civil: Civil::default(),
            seen: Parts::NONE,
            zone: ZoneSpec::None,
            dst_modifier: false,
            meridian: Meridian::None,
            bc: false,
            short_year: false,
            text_month: false,
            is_julian: false,
            day_of_year: 0,
            label: None,
            special: None,
        }
    }

    /// Notes what a field gave; nothing may be given twice.
    pub fn add(&mut self, added: Parts) -> Result<()> {
        if self.seen.overlaps(added) {
            return Err(DateTimeError::BadFormat);
        }
        self.seen = self.seen | added;
        Ok(())
    }

    fn moment_field(&mut self, field: &Field, next: Option<&Field>) -> Result<Parts> {
        let text = field.text.as_str();
        match field.shape {
            Shape::Date => self.date_field(text),
            Shape::Time => {
                if let Some(label) = self.label.take()
                    && label != Unit::IsoTime
                {
                    return Err(DateTimeError::BadFormat);
                }
                self.clock_time(text)
            }
            Shape::Signed => {
                self.zone = ZoneSpec::Fixed(parse_displacement(text)?);
                Ok(Parts::ZONE)
            }
            Shape::Number => match self.label.take() {
                Some(label) => self.labelled_number(label, text),
                None => self.bare_number(text),
            },
            Shape::Word | Shape::SignedWord => self.word(text, next),
        }
    }

    /// A time with colons; more than 24:00:00 is refused.
    pub fn clock_time(&mut self, text: &str) -> Result<Parts> {
        let time = parts::parse_clock(text, false)?;
        self.set_time(time.hour.try_into().map_err(|_| DateTimeError::FieldOverflow)?, &time);
        if self.civil.time_micros() > USECS_PER_DAY || time.hour > 24 {
            return Err(DateTimeError::FieldOverflow);
        }
        Ok(Parts::TIME)
    }

    fn set_time(&mut self, hour: i32, time: &parts::Clock) {
        self.civil.hour = hour;
        self.civil.minute = time.minute;
        self.civil.second = time.second;
        self.civil.micros = time.micros;
    }

    /// A field with `-`, `/` or `.` inside: a date, or after a date a zone or a run-together time
    /// with a zone.
    fn date_field(&mut self, text: &str) -> Result<Parts> {
        if self.label == Some(Unit::Julian) {
            // A Julian day with a zone attached.
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let day = parse_int(&text[..digits])?;
            self.set_julian(day);
            self.zone = ZoneSpec::Fixed(parse_displacement(&text[digits..])?);
            self.label = None;
            return Ok(Parts::DATE | Parts::TIME | Parts::ZONE);
        }
        if self.label.is_none() && !self.seen.contains(Parts::MONTH | Parts::DAY) {
            return self.joined_date(text);
        }
        if !text.starts_with(|c: char| c.is_ascii_digit()) && self.label.is_none() {
            return self.named_zone(text);
        }
        if let Some(label) = self.label.take()
            && label != Unit::IsoTime
        {
            return Err(DateTimeError::BadFormat);
        }
        if self.seen.contains(Parts::TIME) {
            return Err(DateTimeError::BadFormat);
        }
        let at = text.find('-').ok_or(DateTimeError::BadFormat)?;
        self.zone = ZoneSpec::Fixed(parse_displacement(&text[at..])?);
        Ok(self.run_together(&text[..at], self.seen)? | Parts::ZONE)
    }

    fn named_zone(&mut self, text: &str) -> Result<Parts> {
        let zone =
            TimeZone::named(text).ok_or_else(|| DateTimeError::UnknownZone(text.to_owned()))?;
        self.zone = ZoneSpec::Named(zone);
        Ok(Parts::ZONE)
    }

    /// A number that the word before it explains.
    pub fn labelled_number(&mut self, label: Unit, text: &str) -> Result<Parts> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let fraction = &text[digits..];
        let value = parse_int(&text[..digits])?;
        let fractions_allowed = matches!(label, Unit::Julian | Unit::IsoTime | Unit::Second);
        if !fraction.is_empty() && !fractions_allowed {
            return Err(DateTimeError::BadFormat);
        }
        match label {
            Unit::Year => {
                self.civil.year = value;
                Ok(Parts::YEAR)
            }
            // `m` after an hour means minutes.
            Unit::Month if self.seen.contains(Parts::MONTH | Parts::HOUR) => {
                self.civil.minute = value;
                Ok(Parts::MINUTE)
            }
            Unit::Month => {
                self.civil.month = value;
                Ok(Parts::MONTH)
            }
            Unit::Day => {
                self.civil.day = value;
                Ok(Parts::DAY)
            }
            Unit::Hour => {
                self.civil.hour = value;
                Ok(Parts::HOUR)
            }
            Unit::Minute => {
                self.civil.minute = value;
                Ok(Parts::MINUTE)
            }
            Unit::Second => {
                self.civil.second = value;
                if fraction.is_empty() {
                    return Ok(Parts::SECOND);
                }
                self.civil.micros = parse_fraction(fraction)?;
                Ok(Parts::ALL_SECONDS)
            }
            Unit::Julian => {
                self.set_julian(value);
                if fraction.is_empty() {
                    return Ok(Parts::DATE);
                }
                let day_part: f64 =
                    format!("0{fraction}").parse().map_err(|_| DateTimeError::BadFormat)?;
                let time = super::Time((day_part * USECS_PER_DAY as f64) as i64).civil();
                (self.civil.hour, self.civil.minute) = (time.hour, time.minute);
                (self.civil.second, self.civil.micros) = (time.second, time.micros);
                Ok(Parts::DATE | Parts::TIME)
            }
            Unit::IsoTime => {
                let added = self.run_together(text, self.seen | Parts::DATE)?;
                if added == Parts::TIME { Ok(added) } else { Err(DateTimeError::BadFormat) }
            }
            _ => Err(DateTimeError::BadFormat),
        }
    }

    pub fn set_julian(&mut self, julian: i32) {
        let days = i64::from(julian) - JULIAN_DAY_2000;
        (self.civil.year, self.civil.month, self.civil.day) = civil_from_days(days);
        self.is_julian = true;
    }

    fn word(&mut self, text: &str, next: Option<&Field>) -> Result<Parts> {
        // Abbreviations of zones take precedence over other words.
        if let Some(abbreviation) = Abbreviation::find(text) {
            return self.abbreviation(abbreviation, text);
        }
        let Some(word) = date_keyword(text) else {
            let zone = TimeZone::named(text).ok_or(DateTimeError::BadFormat)?;
            self.zone = ZoneSpec::Named(zone);
            return Ok(Parts::ZONE);
        };
        match word {
            DateWord::Now => Ok(self.set_now()),
            DateWord::Yesterday => Ok(self.set_day_from_today(-1)),
            DateWord::Today => Ok(self.set_day_from_today(0)),
            DateWord::Tomorrow => Ok(self.set_day_from_today(1)),
            DateWord::Zulu => {
                (self.civil.hour, self.civil.minute) = (0, 0);
                (self.civil.second, self.civil.micros) = (0, 0);
                self.zone = ZoneSpec::Fixed(0);
                Ok(Parts::TIME | Parts::ZONE)
            }
            DateWord::Epoch => Ok(self.set_special(Decoded::Epoch)),
            DateWord::Infinity => Ok(self.set_special(Decoded::Infinity)),
            DateWord::NegInfinity => Ok(self.set_special(Decoded::NegInfinity)),
            DateWord::Month(month) => Ok(self.month_word(month)),
            DateWord::Label(Unit::IsoTime) => {
                let usable = next.is_some_and(|field| {
                    matches!(field.shape, Shape::Number | Shape::Time | Shape::Date)
                });
                if !self.seen.contains(Parts::DATE) || !usable {
                    return Err(DateTimeError::BadFormat);
                }
                self.label = Some(Unit::IsoTime);
                Ok(Parts::NONE)
            }
            other => self.common_word(other),
        }
    }

    /// Words that mean the same in a time of day alone.
    pub fn common_word(&mut self, word: DateWord) -> Result<Parts> {
        match word {
            DateWord::DaylightModifier => {
                self.dst_modifier = true;
                Ok(Parts::DST_ZONE | Parts::DST_MODIFIER)
            }
            DateWord::Am => {
                self.meridian = Meridian::Am;
                Ok(Parts::MERIDIAN)
            }
            DateWord::Pm => {
                self.meridian = Meridian::Pm;
                Ok(Parts::MERIDIAN)
            }
            DateWord::Ad | DateWord::Bc => {
                self.bc = word == DateWord::Bc;
                Ok(Parts::ERA)
            }
            DateWord::Weekday => Ok(Parts::WEEKDAY),
            DateWord::Ignore => Ok(Parts::NONE),
            DateWord::Label(unit) => {
                if self.label.replace(unit).is_some() {
                    return Err(DateTimeError::BadFormat);
                }
                Ok(Parts::NONE)
            }
            _ => Err(DateTimeError::BadFormat),
        }
    }

    pub fn abbreviation(&mut self, found: &Abbreviation, text: &str) -> Result<Parts> {
        match found.meaning {
            Meaning::Fixed { east_s, is_dst } => {
                self.zone = ZoneSpec::Fixed(east_s);
                Ok(Parts::ZONE | if is_dst { Parts::DST_ZONE } else { Parts::NONE })
            }
            Meaning::Zone(name) => {
                let zone = TimeZone::named(name)
                    .ok_or_else(|| DateTimeError::UnknownZone(name.to_owned()))?;
                self.zone = ZoneSpec::Dynamic { zone, abbreviation: text.to_owned() };
                Ok(Parts::ZONE)
            }
        }
    }

    fn month_word(&mut self, month: i32) -> Parts {
        // A number before the first month name was the day, whatever it was taken for.
        let mut added = Parts::MONTH;
        if self.seen.contains(Parts::MONTH)
            && !self.text_month
            && !self.seen.contains(Parts::DAY)
            && (1..=31).contains(&self.civil.month)
        {
            self.civil.day = self.civil.month;
            added = Parts::DAY;
        }
        self.text_month = true;
        self.civil.month = month;
        added
    }

    fn set_special(&mut self, special: Decoded) -> Parts {
        self.special = Some(special);
        Parts::DATE | Parts::TIME | Parts::ZONE
    }

    fn set_now(&mut self) -> Parts {
        self.special = None;
        let (civil, east_s) = local_now(self.cx);
        self.civil = civil;
        self.zone = ZoneSpec::Fixed(east_s);
        Parts::DATE | Parts::TIME | Parts::ZONE
    }

    fn set_day_from_today(&mut self, days: i64) -> Parts {
        self.special = None;
        let (now, _) = local_now(self.cx);
        (self.civil.year, self.civil.month, self.civil.day) = civil_from_days(now.days() + days);
        Parts::DATE
    }

    fn finish_moment(mut self) -> Result<Decoded> {
        if let Some(special) = self.special {
            return Ok(special);
        }
        self.validate_date()?;
        self.apply_meridian()?;
        if !self.seen.contains(Parts::DATE) {
            return Err(DateTimeError::BadFormat);
        }
        let east_s = self.resolve_zone()?;
        Ok(Decoded::Moment { civil: self.civil, east_s })
    }

    /// Makes the year absolute and checks month and day.
    pub fn validate_date(&mut self) -> Result<()> {
        let civil = &mut self.civil;
        if self.seen.contains(Parts::YEAR) && !self.is_julian {
            if self.bc {
                if civil.year <= 0 {
                    return Err(DateTimeError::FieldOverflow);
                }
                civil.year = 1 - civil.year;
            } else if self.short_year {
                civil.year += match civil.year {
                    ..0 => return Err(DateTimeError::FieldOverflow),
                    0..70 => 2000,
                    70..100 => 1900,
                    _ => 0,
                };
            } else if civil.year <= 0 {
                return Err(DateTimeError::FieldOverflow);
            }
        }
        if self.seen.contains(Parts::DAY_OF_YEAR) {
            let days =
                days_from_civil(i64::from(civil.year), 1, 1) + i64::from(self.day_of_year) - 1;
            (civil.year, civil.month, civil.day) = civil_from_days(days);
        }
        if self.seen.contains(Parts::MONTH) && !(1..=12).contains(&civil.month) {
            return Err(DateTimeError::MonthDayOverflow);
        }
        if self.seen.contains(Parts::DAY) && !(1..=31).contains(&civil.day) {
            return Err(DateTimeError::MonthDayOverflow);
        }
        if self.seen.contains(Parts::DATE) && civil.day > days_in_month(civil.year, civil.month) {
            return Err(DateTimeError::FieldOverflow);
        }
        Ok(())
    }

    pub fn apply_meridian(&mut self) -> Result<()> {
        if self.meridian == Meridian::None {
            return Ok(());
        }
        if self.civil.hour > 12 {
            return Err(DateTimeError::FieldOverflow);
        }
        match self.meridian {
            Meridian::Am if self.civil.hour == 12 => self.civil.hour = 0,
            Meridian::Pm if self.civil.hour != 12 => self.civil.hour += 12,
            _ => {}
        }
        Ok(())
    }

    /// The displacement east at the decoded moment.
    pub fn resolve_zone(&self) -> Result<i32> {
        let local_s = self.civil.unix_local_s();
        let base = match &self.zone {
            ZoneSpec::None if self.dst_modifier => return Err(DateTimeError::BadFormat),
            ZoneSpec::None => return Ok(self.cx.format.time_zone.east_of_local(local_s)),
            ZoneSpec::Named(_) | ZoneSpec::Dynamic { .. } if self.dst_modifier => {
                return Err(DateTimeError::BadFormat);
            }
            ZoneSpec::Fixed(east_s) => *east_s,
            ZoneSpec::Named(zone) => zone.east_of_local(local_s),
            ZoneSpec::Dynamic { zone, abbreviation } => {
                zone.east_of_abbreviation(abbreviation, local_s)
            }
        };
        Ok(base + if self.dst_modifier { 3600 } else { 0 })
    }
}

/// The transaction's start on the session's clock, and the displacement east.
pub(super) fn local_now(cx: &IoContext<'_>) -> (Civil, i32) {
    cx.format.local(cx.now)
}
