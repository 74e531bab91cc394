//! Why date/time text was refused, and PostgreSQL's words for it.

use crate::error::{SqlError, sql_error};

/// What is wrong with a date/time text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DateTimeError {
    BadFormat,
    FieldOverflow,
    /// A month or day out of range, which another order of fields might explain.
    MonthDayOverflow,
    IntervalOverflow,
    /// The fields are fine, their sum does not fit an interval.
    OutOfRange,
    ZoneOverflow,
    UnknownZone(String),
}

impl DateTimeError {
    /// The error for the client; `type_name` as in `invalid input syntax for type …`.
    #[cold]
    pub fn into_sql(self, text: &str, type_name: &str) -> SqlError {
        match self {
            DateTimeError::FieldOverflow => {
                sql_error!(
                    DATETIME_FIELD_OVERFLOW,
                    "date/time field value out of range: \"{text}\""
                )
            }
            DateTimeError::MonthDayOverflow => sql_error!(
                DATETIME_FIELD_OVERFLOW,
                "date/time field value out of range: \"{text}\""
            )
            .with_hint("Perhaps you need a different \"datestyle\" setting."),
            DateTimeError::IntervalOverflow => {
                sql_error!(INTERVAL_FIELD_OVERFLOW, "interval field value out of range: \"{text}\"")
            }
            DateTimeError::OutOfRange => out_of_range("interval"),
            DateTimeError::ZoneOverflow => sql_error!(
                INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                "time zone displacement out of range: \"{text}\""
            ),
            DateTimeError::UnknownZone(zone) => unknown_zone(&zone),
            DateTimeError::BadFormat => sql_error!(
                INVALID_DATETIME_FORMAT,
                "invalid input syntax for type {type_name}: \"{text}\""
            ),
        }
    }
}

/// `22023` for a zone that is neither in the database nor a rule.
#[cold]
pub fn unknown_zone(zone: &str) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "time zone \"{zone}\" not recognized")
}

/// `22008`: a result beyond the range of its type.
#[cold]
pub fn out_of_range(type_name: &str) -> SqlError {
    sql_error!(DATETIME_VALUE_OUT_OF_RANGE, "{type_name} out of range")
}
