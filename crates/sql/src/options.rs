//! Options of statements, `(name value, …)`: what their values mean.

use syntax::ast::{DefOption, OptionValue};

use crate::error::{Result, sql_error};

/// Whether an option is on: without a value, or with a word or a number for yes.
///
/// # Errors
/// `42601` for what is neither yes nor no.
pub fn boolean(option: &DefOption) -> Result<bool> {
    let value = match &option.value {
        None => Some(true),
        Some(OptionValue::Bool(value)) => Some(*value),
        Some(OptionValue::Integer(number @ (0 | 1))) => Some(*number == 1),
        Some(OptionValue::String(text)) => match &*text.to_ascii_lowercase() {
            "true" | "on" => Some(true),
            "false" | "off" => Some(false),
            _ => None,
        },
        Some(_) => None,
    };
    value.ok_or_else(|| sql_error!(SYNTAX_ERROR, "{} requires a Boolean value", option.name))
}
