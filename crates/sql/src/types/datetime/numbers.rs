//! What numbers without a label mean in a date or time.

use super::decode::Decoder;
use super::error::DateTimeError;
use super::keywords::{DateWord, date_keyword};
use super::parts::{Parts, parse_fraction, parse_int, split_digits};
use crate::types::context::DateOrder;

type Result<T> = std::result::Result<T, DateTimeError>;

impl Decoder<'_, '_> {
    /// A date whose parts are joined: `1999-01-08`, `8/jan/99`, `jan.8.1999`.
    pub fn joined_date(&mut self, text: &str) -> Result<Parts> {
        let mut pieces = Vec::with_capacity(3);
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            if rest.is_empty() {
                return Err(DateTimeError::BadFormat);
            }
            let digits = rest.as_bytes()[0].is_ascii_digit();
            let len = rest
                .bytes()
                .take_while(|b| if digits { b.is_ascii_digit() } else { b.is_ascii_alphabetic() })
                .count();
            let (piece, tail) = rest.split_at(len);
            pieces.push(piece);
            // One character between pieces goes, whatever it is.
            rest = tail.get(1..).unwrap_or("");
        }
        let mut added = Parts::NONE;
        // A month name is unambiguous, so it comes first.
        for piece in pieces.iter().filter(|piece| piece.as_bytes()[0].is_ascii_alphabetic()) {
            match date_keyword(piece) {
                Some(DateWord::Ignore) => continue,
                Some(DateWord::Month(month)) => {
                    self.civil.month = month;
                    self.text_month = true;
                }
                _ => return Err(DateTimeError::BadFormat),
            }
            if (self.seen | added).overlaps(Parts::MONTH) {
                return Err(DateTimeError::BadFormat);
            }
            added = added | Parts::MONTH;
        }
        for piece in pieces.iter().filter(|piece| piece.as_bytes()[0].is_ascii_digit()) {
            let part = self.lone_number(piece, self.seen | added)?;
            if (self.seen | added).overlaps(part) {
                return Err(DateTimeError::BadFormat);
            }
            added = added | part;
        }
        if (self.seen | added).without(Parts::DAY_OF_YEAR | Parts::ZONE) != Parts::DATE {
            return Err(DateTimeError::BadFormat);
        }
        Ok(added)
    }

    /// A number on its own: a date with points, a run-together date or time, or one part.
    pub fn bare_number(&mut self, text: &str) -> Result<Parts> {
        let seen = self.seen;
        match text.find('.') {
            Some(_) if !seen.overlaps(Parts::DATE) => self.joined_date(text),
            Some(point) if point > 2 => self.run_together(text, seen),
            _ if text.len() >= 6
                && (!seen.overlaps(Parts::DATE) || !seen.overlaps(Parts::TIME)) =>
            {
                self.run_together(text, seen)
            }
            _ => self.lone_number(text, seen),
        }
    }

    /// `yyyymmdd`, `yymmdd`, `hhmmss[.f]` or `hhmm`, by what is still missing.
    pub fn run_together(&mut self, text: &str, seen: Parts) -> Result<Parts> {
        let (digits, fraction) = match text.find('.') {
            Some(point) => text.split_at(point),
            None => (text, ""),
        };
        let number = |range: std::ops::Range<usize>| parse_int(&digits[range]);
        let len = digits.len();
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(DateTimeError::BadFormat);
        }
        if !fraction.is_empty() {
            self.civil.micros = parse_fraction(fraction)?;
        } else if !seen.contains(Parts::DATE) && len >= 6 {
            self.civil.day = number(len - 2..len)?;
            self.civil.month = number(len - 4..len - 2)?;
            self.civil.year = number(0..len - 4)?;
            if len == 6 {
                self.short_year = true;
            }
            return Ok(Parts::DATE);
        }
        if !seen.contains(Parts::TIME) && (len == 6 || len == 4) {
            self.civil.hour = number(0..2)?;
            self.civil.minute = number(2..4)?;
            self.civil.second = if len == 6 { number(4..6)? } else { 0 };
            return Ok(Parts::TIME);
        }
        Err(DateTimeError::BadFormat)
    }

    /// One part of a date, by position, length and `DateStyle`.
    pub fn lone_number(&mut self, text: &str, seen: Parts) -> Result<Parts> {
        let (digits, fraction) = split_digits(text);
        if digits.is_empty() {
            return Err(DateTimeError::BadFormat);
        }
        let value = parse_int(digits)?;
        if !fraction.is_empty() {
            if !fraction.starts_with('.') {
                return Err(DateTimeError::BadFormat);
            }
            if digits.len() > 2 {
                return self.run_together(text, seen | Parts::DATE);
            }
            self.civil.micros = parse_fraction(fraction)?;
        }
        let long = text.len() >= 3;
        let date = seen.date_parts();
        if text.len() == 3 && date == Parts::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(Parts::DAY_OF_YEAR | Parts::MONTH | Parts::DAY);
        }
        let order = self.cx.format.date_order;
        let year_first = long || order == DateOrder::Ymd;
        let part = if date == Parts::NONE {
            if year_first {
                Parts::YEAR
            } else if order == DateOrder::Dmy {
                Parts::DAY
            } else {
                Parts::MONTH
            }
        } else if date == Parts::YEAR || date == Parts::DAY {
            Parts::MONTH
        } else if date == Parts::MONTH {
            if self.text_month && year_first { Parts::YEAR } else { Parts::DAY }
        } else if date == Parts::YEAR | Parts::MONTH {
            if self.text_month && long && self.short_year {
                // The first number was the day after all: 08-jan-1999 where years come first.
                self.civil.day = self.civil.year;
                self.civil.year = value;
                self.short_year = false;
                return Ok(Parts::DAY);
            }
            Parts::DAY
        } else if date == Parts::MONTH | Parts::DAY {
            Parts::YEAR
        } else if date == Parts::DATE {
            return self.run_together(text, seen);
        } else {
            return Err(DateTimeError::BadFormat);
        };
        match part {
            Parts::YEAR => {
                self.civil.year = value;
                self.short_year = text.len() <= 2;
            }
            Parts::MONTH => self.civil.month = value,
            _ => self.civil.day = value,
        }
        Ok(part)
    }
}
