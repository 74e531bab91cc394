//! Values of settings: reading them with their units, and writing them the same way.

use super::{Kind, Setting, Unit};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Encoding;

/// A setting's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    /// In the setting's unit.
    Integer(i64),
    Real(f64),
    /// Text as it is, or a choice's word as the table spells it.
    Text(Box<str>),
}

impl Value {
    /// The value of a setting that is a truth value.
    ///
    /// # Panics
    /// If the setting is something else: its reader and the table disagree.
    pub fn as_bool(&self) -> bool {
        match self {
            Value::Bool(value) => *value,
            other => panic!("{other:?} is no truth value"),
        }
    }

    /// The value, in the setting's unit, of a setting that is an integer.
    ///
    /// # Panics
    /// If the setting is something else: its reader and the table disagree.
    pub fn as_integer(&self) -> i64 {
        match self {
            Value::Integer(value) => *value,
            other => panic!("{other:?} is no integer"),
        }
    }

    /// The value of a setting that is a number with a fraction.
    ///
    /// # Panics
    /// If the setting is something else: its reader and the table disagree.
    pub fn as_real(&self) -> f64 {
        match self {
            Value::Real(value) => *value,
            other => panic!("{other:?} is no such number"),
        }
    }

    /// The value of a setting that is text or a choice.
    ///
    /// # Panics
    /// If the setting is something else: its reader and the table disagree.
    pub fn as_text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    /// The value as `pg_settings.setting` has it: numbers in the setting's unit.
    pub fn raw(&self) -> String {
        match self {
            Value::Bool(value) => if *value { "on" } else { "off" }.to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => value.to_string(),
            Value::Text(text) => text.to_string(),
        }
    }
}

const BYTES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1024.0),
    ("MB", 1024.0 * 1024.0),
    ("GB", 1024.0 * 1024.0 * 1024.0),
    ("TB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
];

const MILLISECONDS: &[(&str, f64)] = &[
    ("us", 0.001),
    ("ms", 1.0),
    ("s", 1000.0),
    ("min", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

impl Unit {
    /// PostgreSQL's name for the unit.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Unit::Plain => None,
            Unit::KiB => Some("kB"),
            Unit::Pages => Some("8kB"),
            Unit::MiB => Some("MB"),
            Unit::Milliseconds => Some("ms"),
            Unit::Seconds => Some("s"),
        }
    }

    /// The units that may be written, each as a multiple of one thing, and this unit as one.
    fn scale(self) -> (&'static [(&'static str, f64)], f64) {
        match self {
            Unit::Plain => (&[], 1.0),
            Unit::KiB => (BYTES, 1024.0),
            Unit::Pages => (BYTES, 8192.0),
            Unit::MiB => (BYTES, 1024.0 * 1024.0),
            Unit::Milliseconds => (MILLISECONDS, 1.0),
            Unit::Seconds => (MILLISECONDS, 1000.0),
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Unit::Plain => None,
            Unit::KiB | Unit::Pages | Unit::MiB => Some(
                "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
            ),
            Unit::Milliseconds | Unit::Seconds => Some(
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \
                 \"d\".",
            ),
        }
    }
}

pub(super) fn parse(setting: &Setting, text: &str) -> Result<Value> {
    match setting.kind {
        Kind::Bool { .. } => match parse_bool(text) {
            Some(false) if setting.name == "standard_conforming_strings" => {
                Err(backslashes_refused())
            }
            Some(value) => Ok(Value::Bool(value)),
            None => {
                let message = format!("parameter \"{}\" requires a Boolean value", setting.name);
                Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
            }
        },
        Kind::Integer { min, max, unit, .. } => {
            let number = parse_number(text, unit).ok_or_else(|| {
                let hint = unit.hint().filter(|_| begins_with_a_number(text));
                invalid(setting, text, hint.map(str::to_owned))
            })?;
            // A float holds every integer that a setting may have exactly.
            let number = number.round_ties_even() as i64;
            if (min..=max).contains(&number) {
                return Ok(Value::Integer(number));
            }
            let unit = unit.name().map(|name| format!(" {name}")).unwrap_or_default();
            Err(out_of_range(setting, format!("{number}{unit}"), min, max))
        }
        Kind::Real { min, max, .. } => {
            let number: f64 = text.trim().parse().map_err(|_| invalid(setting, text, None))?;
            if number >= min && number <= max {
                return Ok(Value::Real(number));
            }
            Err(out_of_range(setting, short(number), short(min), short(max)))
        }
        // Others read it, whatever their character set.
        Kind::Text { .. } if matches!(setting.name, "application_name" | "cluster_name") => {
            let plain = |byte| if matches!(byte, b' '..=b'~') { char::from(byte) } else { '?' };
            Ok(Value::Text(text.bytes().map(plain).collect::<String>().into()))
        }
        Kind::Text { .. } => Ok(Value::Text(text.into())),
        Kind::Choice { of, .. } => {
            let found = match setting.name {
                "client_encoding" => return encoding(setting, text),
                _ => of.iter().find(|word| word.eq_ignore_ascii_case(text)),
            };
            // Choices that are mostly truth values may be written as any of those.
            let found = found.or_else(|| {
                let word = if parse_bool(text)? { "on" } else { "off" };
                of.iter().find(|choice| **choice == word)
            });
            match found {
                Some(&"serializable") => Err(super::serializable_refused()),
                Some(word) => Ok(Value::Text((*word).into())),
                None => {
                    let words = format!("Available values: {}.", of.join(", "));
                    Err(invalid(setting, text, Some(words)))
                }
            }
        }
    }
}

/// Who says that a backslash escapes in plain literals writes others than would be read.
fn backslashes_refused() -> SqlError {
    SqlError::unsupported("standard_conforming_strings = off is not supported")
        .with_hint("Write literals with backslash escapes as E'...'.")
}

/// Whether what is wrong with this can be what follows a number.
fn begins_with_a_number(text: &str) -> bool {
    let unsigned = text.trim_start().trim_start_matches(['+', '-']);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// A character set by any spelling of its name.
fn encoding(setting: &Setting, text: &str) -> Result<Value> {
    match (Encoding::by_name(text), Encoding::unsupported(text)) {
        (Some(encoding), _) => Ok(Value::Text(encoding.name().into())),
        (None, Some(name)) => Err(SqlError::unsupported(format!(
            "conversion between {name} and UTF8 is not supported"
        ))),
        (None, None) => Err(invalid(setting, text, None)),
    }
}

fn invalid(setting: &Setting, text: &str, hint: Option<String>) -> SqlError {
    let message = format!("invalid value for parameter \"{}\": \"{text}\"", setting.name);
    let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn out_of_range(
    setting: &Setting,
    value: impl std::fmt::Display,
    min: impl std::fmt::Display,
    max: impl std::fmt::Display,
) -> SqlError {
    let name = setting.name;
    let message =
        format!("{value} is outside the valid range for parameter \"{name}\" ({min} .. {max})");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// A number in six digits at most, as C's `%g` has it for those that are not close to zero.
fn short(number: f64) -> String {
    match number.abs() < 1e6 {
        true => number.to_string(),
        false => format!("{number:.5e}").replace('e', "e+"),
    }
}

/// `on`, `true`, `yes`, `1` and their opposites; beginnings that mean one thing suffice.
fn parse_bool(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, at_least: usize| text.len() >= at_least && word.starts_with(&text);
    match &*text {
        "1" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) || begins("on", 2) => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

/// A number with an optional unit, in `unit`.
fn parse_number(text: &str, unit: Unit) -> Option<f64> {
    let text = text.trim();
    let (units, one) = unit.scale();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok().map(|number| number as f64);
    }
    let end = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
    let (number, name) = text.split_at(end);
    let number: f64 = number.trim().parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    if name.is_empty() {
        return Some(number);
    }
    let (_, size) = units.iter().find(|(known, _)| *known == name)?;
    Some(number * size / one)
}

pub(super) fn show(setting: &Setting, value: &Value) -> String {
    let (Kind::Integer { unit, .. }, Value::Integer(number)) = (&setting.kind, value) else {
        return value.raw();
    };
    let (units, one) = unit.scale();
    // Zero and what is below it mean "none" or "off" and carry no unit.
    if *number <= 0 || units.is_empty() {
        return number.to_string();
    }
    let whole = *number as f64 * one;
    let fitting = units.iter().rev().find(|(_, size)| whole % size == 0.0);
    let (name, size) = fitting.expect("the smallest unit divides everything");
    format!("{}{name}", (whole / size) as i64)
}
