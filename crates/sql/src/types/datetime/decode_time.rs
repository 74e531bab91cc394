//! Text to times of day.

use super::decode::{Decoder, ZoneSpec, local_now};
use super::error::DateTimeError;
use super::keywords::{DateWord, Unit, date_keyword};
use super::lex::{Field, Shape, fields};
use super::parts::{Parts, parse_clock, parse_displacement};
use super::zone::{Abbreviation, TimeZone};
use super::{Time, TimeTz, USECS_PER_DAY};
use crate::types::context::IoContext;

type Result<T> = std::result::Result<T, DateTimeError>;

/// Decodes a time of day with its zone; without one in the text, the session's applies.
pub(super) fn decode_time(text: &str, cx: &IoContext<'_>) -> Result<TimeTz> {
    let fields = fields(text)?;
    let mut decoder = Decoder::new(cx);
    for i in 0..fields.len() {
        let added = decoder.time_field(&fields, i)?;
        decoder.add(added)?;
    }
    decoder.finish_time()
}

impl Decoder<'_, '_> {
    fn time_field(&mut self, fields: &[Field], i: usize) -> Result<Parts> {
        let text = fields[i].text.as_str();
        let ends_in_date = fields.last().is_some_and(|last| last.shape == Shape::Date);
        match fields[i].shape {
            Shape::Date => {
                let followed_by_time =
                    fields.get(1).is_some_and(|second| second.shape == Shape::Time);
                if i == 0 && fields.len() >= 2 && (ends_in_date || followed_by_time) {
                    self.joined_date(text)
                } else {
                    self.time_and_zone(text)
                }
            }
            Shape::Time => {
                if let Some(label) = self.label.take()
                    && label != Unit::IsoTime
                {
                    return Err(DateTimeError::BadFormat);
                }
                let clock = parse_clock(text, false)?;
                self.civil.hour =
                    clock.hour.try_into().map_err(|_| DateTimeError::FieldOverflow)?;
                self.civil.minute = clock.minute;
                self.civil.second = clock.second;
                self.civil.micros = clock.micros;
                Ok(Parts::TIME)
            }
            Shape::Signed => {
                self.zone = ZoneSpec::Fixed(parse_displacement(text)?);
                Ok(Parts::ZONE)
            }
            Shape::Number => self.time_number(text, i == 0 && fields.len() >= 2 && ends_in_date),
            Shape::Word | Shape::SignedWord => self.time_word(text, fields.get(i + 1)),
        }
    }

    /// `hhmmss-zz` or the name of a zone.
    fn time_and_zone(&mut self, text: &str) -> Result<Parts> {
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            let zone =
                TimeZone::named(text).ok_or_else(|| DateTimeError::UnknownZone(text.to_owned()))?;
            self.zone = ZoneSpec::Named(zone);
            return Ok(Parts::ZONE);
        }
        if self.seen.contains(Parts::TIME) {
            return Err(DateTimeError::BadFormat);
        }
        let at = text.find('-').ok_or(DateTimeError::BadFormat)?;
        self.zone = ZoneSpec::Fixed(parse_displacement(&text[at..])?);
        Ok(self.run_together(&text[..at], self.seen | Parts::DATE)? | Parts::ZONE)
    }

    fn time_number(&mut self, text: &str, date_allowed: bool) -> Result<Parts> {
        if let Some(label) = self.label.take() {
            return self.labelled_number(label, text);
        }
        match text.find('.') {
            Some(_) if date_allowed => self.joined_date(text),
            Some(point) if point > 2 => self.run_together(text, self.seen | Parts::DATE),
            Some(_) => Err(DateTimeError::BadFormat),
            None if text.len() > 4 => self.run_together(text, self.seen | Parts::DATE),
            None => self.lone_number(text, self.seen | Parts::DATE),
        }
    }

    fn time_word(&mut self, text: &str, next: Option<&Field>) -> Result<Parts> {
        if let Some(abbreviation) = Abbreviation::find(text) {
            return self.abbreviation(abbreviation, text);
        }
        let Some(word) = date_keyword(text) else {
            let zone = TimeZone::named(text).ok_or(DateTimeError::BadFormat)?;
            self.zone = ZoneSpec::Named(zone);
            return Ok(Parts::ZONE);
        };
        match word {
            DateWord::Now => {
                let (now, _) = local_now(self.cx);
                (self.civil.hour, self.civil.minute) = (now.hour, now.minute);
                (self.civil.second, self.civil.micros) = (now.second, now.micros);
                Ok(Parts::TIME)
            }
            DateWord::Zulu => {
                (self.civil.hour, self.civil.minute) = (0, 0);
                (self.civil.second, self.civil.micros) = (0, 0);
                self.zone = ZoneSpec::Fixed(0);
                Ok(Parts::TIME | Parts::ZONE)
            }
            DateWord::Label(Unit::IsoTime) => {
                let usable = next.is_some_and(|field| {
                    matches!(field.shape, Shape::Number | Shape::Time | Shape::Date)
                });
                if !usable {
                    return Err(DateTimeError::BadFormat);
                }
                self.label = Some(Unit::IsoTime);
                Ok(Parts::NONE)
            }
            DateWord::Weekday => Err(DateTimeError::BadFormat),
            other => self.common_word(other),
        }
    }

    fn finish_time(mut self) -> Result<TimeTz> {
        self.validate_date()?;
        self.apply_meridian()?;
        let civil = self.civil;
        if civil.hour > 24
            || civil.minute > 59
            || civil.second > 60
            || civil.time_micros() > USECS_PER_DAY
        {
            return Err(DateTimeError::FieldOverflow);
        }
        if !self.seen.contains(Parts::TIME) {
            return Err(DateTimeError::BadFormat);
        }
        let east_s = self.time_zone_of_day()?;
        Ok(TimeTz { time: Time(civil.time_micros()), zone_west_s: -east_s })
    }

    /// The displacement east. A zone with more than one needs a date; the session's zone takes
    /// today's.
    fn time_zone_of_day(&mut self) -> Result<i32> {
        let has_date = self.seen.contains(Parts::DATE);
        match &self.zone {
            ZoneSpec::Named(zone) if !self.dst_modifier => {
                if let Some(east_s) = zone.constant_east() {
                    return Ok(east_s);
                }
                if !has_date {
                    return Err(DateTimeError::BadFormat);
                }
            }
            ZoneSpec::Dynamic { .. } if !has_date => return Err(DateTimeError::BadFormat),
            ZoneSpec::None => {
                if !self.seen.overlaps(Parts::DATE) {
                    let (now, _) = local_now(self.cx);
                    (self.civil.year, self.civil.month, self.civil.day) =
                        (now.year, now.month, now.day);
                } else if !has_date {
                    return Err(DateTimeError::BadFormat);
                }
            }
            _ => {}
        }
        self.resolve_zone()
    }
}
