//! The server's log: lines on standard error, each with its time.

use std::fmt;

/// Writes a line to the log.
#[macro_export]
macro_rules! log {
    ($($message:tt)+) => { $crate::log::write(format_args!($($message)+)) };
}

/// Writes a line to the log; [`crate::log!`] calls it.
pub fn write(message: fmt::Arguments<'_>) {
    base::complaint::log(message);
}
