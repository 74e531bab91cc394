//! `to_char`, `to_number`, `to_date`, `to_timestamp`: values by template patterns.
//!
//! Source of the patterns' meaning: PostgreSQL manual, "Data Type Formatting Functions".

mod date;
mod date_in;
mod date_out;
mod number;
mod number_in;
mod number_out;

#[cfg(test)]
mod tests;

use super::bodies::{Bodies, scalars};
use super::text::check_length;
use crate::error::Result;

pub(super) const ROOMS: &[Bodies] = &[NUMBERS, DATES];

/// Memory that a part of a pattern takes while the pattern is used, and the least that it is written with.
const NODE_BYTES: usize = 32;

/// `54000` for a pattern whose parts would take more memory than a value may.
fn check_pattern(text: &str) -> Result<()> {
    check_length(text.len().saturating_mul(NODE_BYTES))
}

const NUMBERS: Bodies = scalars! {
    "int4_to_char" => |_, a| {
        number_out::integer(i64::from(a[0].as_int4()), a[1].as_text(), true)
    };
    "int8_to_char" => |_, a| number_out::integer(a[0].as_int8(), a[1].as_text(), false);
    "numeric_to_char" => |_, a| number_out::numeric(a[0].as_numeric(), a[1].as_text());
    "float4_to_char" => |_, a| {
        number_out::float(f64::from(a[0].as_float4()), a[1].as_text(), 6)
    };
    "float8_to_char" => |_, a| number_out::float(a[0].as_float8(), a[1].as_text(), 15);
    "numeric_to_number" => |_, a| number_in::to_number(a[0].as_text(), a[1].as_text());
};

const DATES: Bodies = scalars! {
    "timestamp_to_char" => |_, a| date_out::timestamp(a[0].as_timestamp(), a[1].as_text());
    "timestamptz_to_char" => |cx, a| {
        date_out::timestamptz(cx, a[0].as_timestamptz(), a[1].as_text())
    };
    "interval_to_char" => |_, a| date_out::interval(a[0].as_interval(), a[1].as_text());
    "to_date" => |_, a| date_in::to_date(a[0].as_text(), a[1].as_text());
    "to_timestamp" => |cx, a| date_in::to_timestamp(cx, a[0].as_text(), a[1].as_text());
};

/// The ending of an ordinal number by its last digits: `1st`, `2nd`, `11th`.
fn ordinal(digits: &str) -> &'static str {
    let mut last = digits.bytes().rev().map(|b| b.wrapping_sub(b'0'));
    match (last.next(), last.next()) {
        (_, Some(1)) => "th",
        (Some(1), _) => "st",
        (Some(2), _) => "nd",
        (Some(3), _) => "rd",
        _ => "th",
    }
}
